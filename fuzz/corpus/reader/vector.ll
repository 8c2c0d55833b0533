@tile = internal unnamed_addr addrspace(3) global [32 x <4 x half>] undef, align 8
define spir_kernel void @k(ptr addrspace(1) %p) {
  %id = call spir_func i32 @__ks_sr(i32 0)
  %wide = zext i32 %id to i64
  %at = getelementptr inbounds [32 x <4 x half>], ptr addrspace(3) @tile, i64 0, i64 %wide
  store <4 x half> <half 0xH3C00, half 0xH0000, half 0xH8000, half 0xH7C00>, ptr addrspace(3) %at, align 8
  call spir_func void @__ks_threadgroup_barrier(i32 2)
  %v = load <4 x half>, ptr addrspace(3) %at, align 8
  %w = shufflevector <4 x half> %v, <4 x half> poison, <4 x i32> <i32 3, i32 2, i32 1, i32 0>
  %out = getelementptr inbounds <4 x half>, ptr addrspace(1) %p, i64 %wide
  store <4 x half> %w, ptr addrspace(1) %out, align 8
  ret void
}
declare spir_func i32 @__ks_sr(i32)
declare spir_func void @__ks_threadgroup_barrier(i32)
