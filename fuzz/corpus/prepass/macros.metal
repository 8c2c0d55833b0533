#define KERNEL(T) kernel void add_##T(device T* x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] += T(1); }
#if defined(__METAL_VERSION__) && __METAL_VERSION__ >= 300
KERNEL(float)
#else
KERNEL(half)
#endif
