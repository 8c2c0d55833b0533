// MLX 0.32.4's kernels for floating-point quantised matrices in its three modes. Templates are MLX's.
#include "mlx/backend/metal/kernels/utils.h"
#include "mlx/backend/metal/kernels/steel/gemm/gemm.h"
#include "mlx/backend/metal/kernels/quantized_utils.h"
#include "mlx/backend/metal/kernels/fp_quantized.h"

#define MODE(T, GS, B) \
  instantiate_kernel("quantize_" #T #GS #B, fp_quantize, T, GS, B, false) \
  instantiate_kernel("dequantize_" #T #GS #B, fp_dequantize, T, GS, B, false) \
  instantiate_kernel("qmv_fast_" #T #GS #B, fp_qmv_fast, T, GS, B, false, false, false, 4) \
  instantiate_kernel("qmv_fast_batch_" #T #GS #B, fp_qmv_fast, T, GS, B, true, false, false, 2) \
  instantiate_kernel("qmv_" #T #GS #B, fp_qmv, T, GS, B, false) \
  instantiate_kernel("qvm_" #T #GS #B, fp_qvm, T, GS, B, false) \
  instantiate_kernel("qmm_n_" #T #GS #B, fp_qmm_n, T, GS, B, false) \
  instantiate_kernel("qmm_t_" #T #GS #B, fp_qmm_t, T, GS, B, true, false) \
  instantiate_kernel("qmv_quad_" #T #GS #B, fp_qmv_quad, T, GS, B, 64, false) \
  instantiate_kernel("qmv_wide_" #T #GS #B, fp_qmv_wide, T, GS, B, 3, 16, false) \
  instantiate_kernel("gather_qmv_" #T #GS #B, fp_gather_qmv, T, GS, B) \
  instantiate_kernel("gather_qvm_" #T #GS #B, fp_gather_qvm, T, GS, B) \
  instantiate_kernel("gather_qmm_n_" #T #GS #B, fp_gather_qmm_n, T, GS, B) \
  instantiate_kernel("gather_qmm_t_" #T #GS #B, fp_gather_qmm_t, T, GS, B, true) \
  instantiate_kernel("gather_rhs_" #T #GS #B, fp_gather_qmm_rhs, T, GS, B, 16, 32, 32, 1, 2, true)
#define MODES(T) MODE(T, 16, 4) MODE(T, 32, 8) MODE(T, 32, 4)

MODES(float)
MODES(half)
MODES(bfloat16_t)
