/* ksearch
[[dispatch]]
kernel = "scaled_add_reference"
grid = ["ceil_div(R * C, 64)", 1, 1]
threadgroup = [64, 1, 1]
*/
// The exact answer: the Metal Shading Language with `double`. Speed does not matter here, clarity does: one thread per
// element of the output. Parameters are bound by name to tensors (as double), symbols and scalar arguments.

kernel void scaled_add_reference(
    device const double* x [[buffer(0)]],
    device const double* w [[buffer(1)]],
    device double* out [[buffer(2)]],
    constant uint& R [[buffer(3)]],
    constant uint& C [[buffer(4)]],
    constant double& alpha [[buffer(5)]],
    uint i [[thread_position_in_grid]])
{
    if (i < R * C) {
        out[i] = alpha * x[i] + w[i % C];
    }
}
