// Attention as MLX 0.32.4 launches it: every head size, element type and mask type. Templates are MLX's.
#include "mlx/backend/metal/kernels/utils.h"
#include "mlx/backend/metal/kernels/steel/attn/kernels/steel_attention.h"

#define ATTENTION(T, BK, D, MASK) \
  instantiate_kernel("attention_" #T "_" #D "_" #MASK, attention, T, 32, BK, D, D, 4, 1, MASK, float)
#define SIZES(T, MASK) \
  ATTENTION(T, 16, 256, MASK) ATTENTION(T, 16, 192, MASK) ATTENTION(T, 16, 128, MASK) ATTENTION(T, 32, 96, MASK) \
  ATTENTION(T, 32, 80, MASK) ATTENTION(T, 32, 72, MASK) ATTENTION(T, 32, 64, MASK)

SIZES(half, half) SIZES(half, bool)
SIZES(bfloat16_t, bfloat16_t) SIZES(bfloat16_t, bool)
SIZES(float, float) SIZES(float, bool)

// Two simdgroups side by side on one row of keys.
instantiate_kernel("attention_half_256_wide", attention, half, 32, 32, 256, 128, 4, 2, half, float)
