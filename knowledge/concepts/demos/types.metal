// What stands for CUDA's number types: each kernel with its CUDA form in types.cu, where there is one.
#include <metal_stdlib>
using namespace metal;

kernel void halves(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], uint t [[thread_position_in_grid]])
{
    half a = half(x[t]), b = half(0.1f);
    y[t] = float(a * b) + float(a + b);
}

kernel void pairs(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], uint t [[thread_position_in_grid]])
{
    half2 a = half2(half(x[t]), half(x[63 - t]));
    half2 s = a + half2(0.5h, 0.25h);
    y[t] = float(s.x) * 4.0f + float(s.y);
}

// Before Metal 3.1: the upper half of a float, rounded to nearest even.
kernel void brain(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], uint t [[thread_position_in_grid]])
{
    uint bits = as_type<uint>(x[t] * 0.37f);
    ushort stored = ushort((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
    y[t] = as_type<float>(uint(stored) << 16);
}

// e4m3: a sign, four bits of exponent (bias 7), three of mantissa.
kernel void eight_bits(device const uchar* code [[buffer(0)]], device float* y [[buffer(1)]], uint t [[thread_position_in_grid]])
{
    uint c = code[t];
    int exponent = int(c >> 3 & 15), mantissa = int(c & 7);
    float v = exponent == 0 ? ldexp(float(mantissa), -9) : ldexp(float(8 + mantissa), exponent - 10);
    y[t] = c & 128 ? -v : v;
}

// A sum that float alone gets wrong: one large value and many small ones, with the error carried along.
kernel void compensated(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], uint t [[thread_position_in_grid]])
{
    #pragma clang fp reassociate(off)
    float sum = 16777216.0f, lost = 0;
    for (uint i = 0; i < 64; ++i) {
        float term = 0.125f + 0.0f * x[i];
        float next = sum + term;
        lost += term - (next - sum);
        sum = next;
    }
    y[t] = (sum - 16777216.0f) + lost;
}

kernel void wide(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], uint t [[thread_position_in_grid]])
{
    long product = long(100000 + t) * 100000l;
    y[t] = float(product / 1000000l) + 0.0f * x[t];
}

kernel void dot_of_bytes(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], uint t [[thread_position_in_grid]])
{
    int a = 0x01fe03fc + int(t), b = 0x02030405;
    char4 u = as_type<char4>(a), v = as_type<char4>(b);
    int sum = 7;
    for (int k = 0; k < 4; ++k) sum += int(u[k]) * int(v[k]);
    y[t] = float(sum) + 0.0f * x[t];
}
