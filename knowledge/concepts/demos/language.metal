// What stands for parts of CUDA C++ that Metal lacks: each kernel with its CUDA form in language.cu, where there is one.
#include <metal_stdlib>
using namespace metal;

// A lambda becomes a structure with a call operator; what it captured are its members.
struct Scaled {
    int by;
    int operator()(int v) const { return v * by + 1; }
};
template <typename F> void apply(F f, device const int* x, device int* y, uint t) { y[t] = f(x[t]); }

kernel void function_object(device const int* x [[buffer(0)]], device int* y [[buffer(1)]], uint t [[thread_position_in_grid]])
{
    apply(Scaled{3}, x, y, t);
}

// sum(n) = n + sum(n / 2), without calling itself.
kernel void loop_for_recursion(device const int* x [[buffer(0)]], device int* y [[buffer(1)]], uint t [[thread_position_in_grid]])
{
    int sum = 0;
    for (int n = x[t] + int(t); n > 0; n /= 2) sum += n;
    y[t] = sum;
}

// assert(x < 12) becomes a code in a buffer that the host reads.
kernel void error_code(device const int* x [[buffer(0)]], device int* y [[buffer(1)]], device atomic_int* error [[buffer(2)]],
                       uint t [[thread_position_in_grid]])
{
    if (x[t] >= 12) atomic_fetch_max_explicit(error, 12, memory_order_relaxed);
    y[t] = x[t];
}

// What `lop3.b32 d, a, b, c, 0x96` does, written out: the exclusive or of three words.
kernel void written_out(device const int* x [[buffer(0)]], device int* y [[buffer(1)]], uint t [[thread_position_in_grid]])
{
    y[t] = x[t] ^ int(t) ^ 21;
}

kernel void hints(device const int* x [[buffer(0)]], device int* y [[buffer(1)]], uint t [[thread_position_in_grid]])
{
    int sum = 0;
    #pragma unroll
    for (uint i = 0; i < 8; ++i) sum += x[(t + i) % 64];
    __builtin_assume(sum >= 0);
    y[t] = sum / 2;
}
