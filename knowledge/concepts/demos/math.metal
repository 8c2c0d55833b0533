// What stands for CUDA's functions of numbers: each kernel with its CUDA form in math.cu.
#include <metal_stdlib>
using namespace metal;

#define ELEMENT device const float* x [[buffer(0)]], device float* y [[buffer(1)]], uint t [[thread_position_in_grid]]

kernel void fast_functions(ELEMENT)
{
    y[t] = fast::exp(x[t]) + fast::log(x[t] + 2.0f) + fast::sin(x[t]);
}

kernel void functions(ELEMENT)
{
    float v = x[t];
    // log1p(exp(v)) without log1p.
    float softplus = fmax(v, 0.0f) + precise::log(1.0f + precise::exp(-fabs(v)));
    y[t] = precise::tanh(v) + rsqrt(v + 2.0f) + softplus + fma(v, v, 1.0f);
}

kernel void rounded(ELEMENT)
{
    float v = x[t] * 3.7f;
    y[t] = float(int(rint(v)) + 10 * int(floor(v)) + 100 * int(ceil(v)) + 1000 * int(v));
}

kernel void bits(ELEMENT)
{
    uint v = t * 2654435761u;
    uint first = v == 0 ? 0u : ctz(v) + 1;
    y[t] = float(popcount(v) + 100 * clz(v) + 10000 * first + (reverse_bits(v) & 7u)) + 0.0f * x[t];
}

kernel void products(ELEMENT)
{
    uint v = t * 2654435761u;
    y[t] = float(mulhi(v, 40503u) % 1000u + 1000u * ((v & 0xffffffu) * (t & 0xffffffu) % 1000u)) + 0.0f * x[t];
}

kernel void bits_as_number(ELEMENT)
{
    uint bits = as_type<uint>(x[t]);
    y[t] = as_type<float>(bits ^ 0x80000000u) + float(bits >> 23 & 255u);
}
