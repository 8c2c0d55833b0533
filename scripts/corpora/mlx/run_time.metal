// Families that MLX instantiates while it runs. Templates are MLX's.
#include "mlx/backend/metal/kernels/utils.h"
#include "mlx/backend/metal/kernels/atomic.h"
#include "mlx/backend/metal/kernels/reduction/ops.h"
#include "mlx/backend/metal/kernels/indexing/gather.h"
#include "mlx/backend/metal/kernels/indexing/gather_axis.h"
#include "mlx/backend/metal/kernels/indexing/gather_front.h"
#include "mlx/backend/metal/kernels/indexing/scatter.h"
#include "mlx/backend/metal/kernels/indexing/scatter_axis.h"
#include "mlx/backend/metal/kernels/indexing/masked_scatter.h"
#include "mlx/backend/metal/kernels/cross_entropy.h"

instantiate_kernel("gather_axis", gather_axis, float, int, int, true, false)
instantiate_kernel("gather_front", gather_front, half, uint, int64_t, 2)
instantiate_kernel("scatter_axis", scatter_axis, float, int, int, Sum<float>, true, true)
instantiate_kernel("masked_assign", masked_assign_impl, bfloat16_t, true)
instantiate_kernel("cross_entropy", cross_entropy, half)
instantiate_kernel("cross_entropy_vjp", cross_entropy_vjp, float)

kernel void gather2(
    const device half* src [[buffer(0)]],
    device half* out [[buffer(1)]],
    const constant int* src_shape [[buffer(2)]],
    const constant int64_t* src_strides [[buffer(3)]],
    const constant size_t& src_ndim [[buffer(4)]],
    const constant int* slice_sizes [[buffer(5)]],
    const constant int* axes [[buffer(6)]],
    const constant int* idx_shapes [[buffer(7)]],
    const constant int64_t* idx_strides [[buffer(8)]],
    const constant bool* idx_contigs [[buffer(9)]],
    const constant int& idx_ndim [[buffer(10)]],
    const device int* a [[buffer(20)]],
    const device int* b [[buffer(21)]],
    uint3 index [[thread_position_in_grid]],
    uint3 grid [[threads_per_grid]]) {
  Indices<int, 2> both{{{a, b}}, idx_shapes, idx_strides, idx_contigs, idx_ndim};
  gather_impl<half, int, 2, 1, int>(
      src, out, src_shape, src_strides, src_ndim, slice_sizes, axes, both, index, grid);
}
