target triple = "spir64"
define spir_kernel void @k(ptr addrspace(1) %p, ptr addrspace(2) %n) {
entry:
  %len = load i32, ptr addrspace(2) %n, align 4
  %id = call spir_func i32 @__ks_sr(i32 19)
  br label %head
head:
  %i = phi i32 [ %id, %entry ], [ %next, %head ]
  %wide = zext i32 %i to i64
  %at = getelementptr inbounds float, ptr addrspace(1) %p, i64 %wide
  %x = load float, ptr addrspace(1) %at, align 4
  %y = fmul contract float %x, 2.000000e+00
  store float %y, ptr addrspace(1) %at, align 4
  %next = add i32 %i, 32
  %more = icmp ult i32 %next, %len
  br i1 %more, label %head, label %done
done:
  ret void
}
declare spir_func i32 @__ks_sr(i32)
