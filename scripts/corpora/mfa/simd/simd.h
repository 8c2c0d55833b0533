// As much of Apple's <simd/simd.h> as the kernel generators use, on clang's vectors. Knows nothing of them.
#pragma once
#include <cstdint>
#include <limits>

namespace simd {
typedef unsigned char uchar3 __attribute__((ext_vector_type(3)));
typedef unsigned char uchar4 __attribute__((ext_vector_type(4)));
typedef unsigned short ushort2 __attribute__((ext_vector_type(2)));
typedef unsigned short ushort3 __attribute__((ext_vector_type(3)));
typedef unsigned short ushort4 __attribute__((ext_vector_type(4)));
typedef unsigned short ushort8 __attribute__((ext_vector_type(8)));
typedef unsigned long ulong2 __attribute__((ext_vector_type(2)));
typedef unsigned int uint2 __attribute__((ext_vector_type(2)));
typedef unsigned int uint3 __attribute__((ext_vector_type(3)));
typedef unsigned int uint4 __attribute__((ext_vector_type(4)));
}  // namespace simd

inline simd::ushort4 simd_make_ushort4(simd::ushort3 v, unsigned short w = 0) { return {v[0], v[1], v[2], w}; }

/// Is every lane of a comparison true?
template <typename V>
bool simd_all(V v) {
  return __builtin_reduce_and(v) != 0;
}
