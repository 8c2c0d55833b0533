; ModuleID = 'right.cl'
source_filename = "right.cl"
target datalayout = "e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-G1"
target triple = "spir64"

@_ZZ13simd_exchangeE4tile = internal unnamed_addr addrspace(3) global [64 x float] undef, align 4
@_ZZ15same_value_flagE5found = internal unnamed_addr addrspace(3) global i32 undef, align 4
@_ZZ7handoffE4data = internal unnamed_addr addrspace(3) global [32 x float] undef, align 4
@_ZZ7handoffE4flag = internal addrspace(3) global i32 undef, align 4
@_ZZ7paddingE4tile = internal unnamed_addr addrspace(3) global [64 x float] undef, align 4
@_ZZ13double_bufferE4tile = internal unnamed_addr addrspace(3) global [2 x [64 x float]] undef, align 4
@_ZZ10last_groupE4last = internal unnamed_addr addrspace(3) global i32 undef, align 4
@_ZZ5bytesE1t = internal unnamed_addr addrspace(3) global [64 x i8] undef, align 1

; Function Attrs: convergent mustprogress norecurse nounwind
define dso_local spir_kernel void @simd_exchange(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 4 %1) local_unnamed_addr #0 !dbg !9 !kernel_arg_addr_space !12 !kernel_arg_access_qual !13 !kernel_arg_type !14 !kernel_arg_base_type !14 !kernel_arg_type_qual !15 {
  %3 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #5, !dbg !16
  %4 = sext i32 %3 to i64, !dbg !17
  %5 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %4, !dbg !17
  %6 = load float, ptr addrspace(1) %5, align 4, !dbg !17, !tbaa !18
  %7 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #5, !dbg !22
  %8 = sext i32 %7 to i64, !dbg !23
  %9 = getelementptr inbounds [64 x float], ptr addrspace(3) @_ZZ13simd_exchangeE4tile, i64 0, i64 %8, !dbg !23
  store float %6, ptr addrspace(3) %9, align 4, !dbg !24, !tbaa !18
  tail call spir_func void @__ks_simdgroup_barrier(i32 noundef 2) #6, !dbg !25
  %10 = xor i32 %7, 1, !dbg !26
  %11 = sext i32 %10 to i64, !dbg !27
  %12 = getelementptr inbounds [64 x float], ptr addrspace(3) @_ZZ13simd_exchangeE4tile, i64 0, i64 %11, !dbg !27
  %13 = load float, ptr addrspace(3) %12, align 4, !dbg !27, !tbaa !18
  tail call spir_func void @__ks_simdgroup_barrier(i32 noundef 2) #6, !dbg !28
  %14 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %4, !dbg !29
  store float %13, ptr addrspace(1) %14, align 4, !dbg !30, !tbaa !18
  %15 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #5, !dbg !16
  %16 = sext i32 %15 to i64, !dbg !17
  %17 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %16, !dbg !17
  %18 = load float, ptr addrspace(1) %17, align 4, !dbg !17, !tbaa !18
  %19 = fadd nsz arcp contract float %18, 1.000000e+00, !dbg !31
  %20 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #5, !dbg !22
  %21 = sext i32 %20 to i64, !dbg !23
  %22 = getelementptr inbounds [64 x float], ptr addrspace(3) @_ZZ13simd_exchangeE4tile, i64 0, i64 %21, !dbg !23
  store float %19, ptr addrspace(3) %22, align 4, !dbg !24, !tbaa !18
  tail call spir_func void @__ks_simdgroup_barrier(i32 noundef 2) #6, !dbg !25
  %23 = xor i32 %20, 1, !dbg !26
  %24 = sext i32 %23 to i64, !dbg !27
  %25 = getelementptr inbounds [64 x float], ptr addrspace(3) @_ZZ13simd_exchangeE4tile, i64 0, i64 %24, !dbg !27
  %26 = load float, ptr addrspace(3) %25, align 4, !dbg !27, !tbaa !18
  tail call spir_func void @__ks_simdgroup_barrier(i32 noundef 2) #6, !dbg !28
  %27 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %16, !dbg !29
  store float %26, ptr addrspace(1) %27, align 4, !dbg !30, !tbaa !18
  %28 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #5, !dbg !16
  %29 = sext i32 %28 to i64, !dbg !17
  %30 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %29, !dbg !17
  %31 = load float, ptr addrspace(1) %30, align 4, !dbg !17, !tbaa !18
  %32 = fadd nsz arcp contract float %31, 2.000000e+00, !dbg !31
  %33 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #5, !dbg !22
  %34 = sext i32 %33 to i64, !dbg !23
  %35 = getelementptr inbounds [64 x float], ptr addrspace(3) @_ZZ13simd_exchangeE4tile, i64 0, i64 %34, !dbg !23
  store float %32, ptr addrspace(3) %35, align 4, !dbg !24, !tbaa !18
  tail call spir_func void @__ks_simdgroup_barrier(i32 noundef 2) #6, !dbg !25
  %36 = xor i32 %33, 1, !dbg !26
  %37 = sext i32 %36 to i64, !dbg !27
  %38 = getelementptr inbounds [64 x float], ptr addrspace(3) @_ZZ13simd_exchangeE4tile, i64 0, i64 %37, !dbg !27
  %39 = load float, ptr addrspace(3) %38, align 4, !dbg !27, !tbaa !18
  tail call spir_func void @__ks_simdgroup_barrier(i32 noundef 2) #6, !dbg !28
  %40 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %29, !dbg !29
  store float %39, ptr addrspace(1) %40, align 4, !dbg !30, !tbaa !18
  %41 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #5, !dbg !16
  %42 = sext i32 %41 to i64, !dbg !17
  %43 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %42, !dbg !17
  %44 = load float, ptr addrspace(1) %43, align 4, !dbg !17, !tbaa !18
  %45 = fadd nsz arcp contract float %44, 3.000000e+00, !dbg !31
  %46 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #5, !dbg !22
  %47 = sext i32 %46 to i64, !dbg !23
  %48 = getelementptr inbounds [64 x float], ptr addrspace(3) @_ZZ13simd_exchangeE4tile, i64 0, i64 %47, !dbg !23
  store float %45, ptr addrspace(3) %48, align 4, !dbg !24, !tbaa !18
  tail call spir_func void @__ks_simdgroup_barrier(i32 noundef 2) #6, !dbg !25
  %49 = xor i32 %46, 1, !dbg !26
  %50 = sext i32 %49 to i64, !dbg !27
  %51 = getelementptr inbounds [64 x float], ptr addrspace(3) @_ZZ13simd_exchangeE4tile, i64 0, i64 %50, !dbg !27
  %52 = load float, ptr addrspace(3) %51, align 4, !dbg !27, !tbaa !18
  tail call spir_func void @__ks_simdgroup_barrier(i32 noundef 2) #6, !dbg !28
  %53 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %42, !dbg !29
  store float %52, ptr addrspace(1) %53, align 4, !dbg !30, !tbaa !18
  ret void, !dbg !32
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture) #1

; Function Attrs: convergent mustprogress nofree nounwind willreturn memory(none)
declare !dbg !33 dso_local spir_func i32 @__ks_sr(i32 noundef) local_unnamed_addr #2

; Function Attrs: convergent nounwind
declare !dbg !35 dso_local spir_func void @__ks_simdgroup_barrier(i32 noundef) local_unnamed_addr #3

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture) #1

; Function Attrs: convergent mustprogress norecurse nounwind
define dso_local spir_kernel void @same_value_flag(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 4 %1) local_unnamed_addr #0 !dbg !36 !kernel_arg_addr_space !12 !kernel_arg_access_qual !13 !kernel_arg_type !37 !kernel_arg_base_type !37 !kernel_arg_type_qual !15 {
  %3 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #5, !dbg !38
  %4 = icmp eq i32 %3, 0, !dbg !39
  br i1 %4, label %5, label %6, !dbg !38

5:                                                ; preds = %2
  store i32 0, ptr addrspace(3) @_ZZ15same_value_flagE5found, align 4, !dbg !40, !tbaa !41
  br label %6, !dbg !43

6:                                                ; preds = %5, %2
  tail call spir_func void @__ks_threadgroup_barrier(i32 noundef 2) #6, !dbg !44
  %7 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #5, !dbg !45
  %8 = sext i32 %7 to i64, !dbg !46
  %9 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %8, !dbg !46
  %10 = load float, ptr addrspace(1) %9, align 4, !dbg !46, !tbaa !18
  %11 = fcmp nsz arcp contract ogt float %10, 5.000000e-01, !dbg !47
  br i1 %11, label %12, label %13, !dbg !46

12:                                               ; preds = %6
  store i32 1, ptr addrspace(3) @_ZZ15same_value_flagE5found, align 4, !dbg !48, !tbaa !41
  br label %13, !dbg !49

13:                                               ; preds = %12, %6
  tail call spir_func void @__ks_threadgroup_barrier(i32 noundef 2) #6, !dbg !50
  %14 = load i32, ptr addrspace(3) @_ZZ15same_value_flagE5found, align 4, !dbg !51, !tbaa !41
  %15 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #5, !dbg !52
  %16 = sext i32 %15 to i64, !dbg !53
  %17 = getelementptr inbounds i32, ptr addrspace(1) %1, i64 %16, !dbg !53
  store i32 %14, ptr addrspace(1) %17, align 4, !dbg !54, !tbaa !41
  ret void, !dbg !55
}

; Function Attrs: convergent nounwind
declare !dbg !56 dso_local spir_func void @__ks_threadgroup_barrier(i32 noundef) local_unnamed_addr #3

; Function Attrs: convergent mustprogress norecurse nounwind
define dso_local spir_kernel void @handoff(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 4 %1) local_unnamed_addr #0 !dbg !57 !kernel_arg_addr_space !12 !kernel_arg_access_qual !13 !kernel_arg_type !14 !kernel_arg_base_type !14 !kernel_arg_type_qual !15 {
  %3 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #5, !dbg !58
  %4 = icmp eq i32 %3, 0, !dbg !59
  br i1 %4, label %5, label %6, !dbg !58

5:                                                ; preds = %2
  store atomic volatile i32 0, ptr addrspace(3) @_ZZ7handoffE4flag monotonic, align 4, !dbg !60
  br label %6, !dbg !60

6:                                                ; preds = %5, %2
  tail call spir_func void @__ks_threadgroup_barrier(i32 noundef 2) #6, !dbg !61
  %7 = tail call spir_func i32 @__ks_sr(i32 noundef 13) #5, !dbg !62
  %8 = icmp eq i32 %7, 0, !dbg !63
  br i1 %8, label %9, label %18, !dbg !62

9:                                                ; preds = %6
  %10 = tail call spir_func i32 @__ks_sr(i32 noundef 12) #5, !dbg !64
  %11 = sext i32 %10 to i64, !dbg !65
  %12 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %11, !dbg !65
  %13 = load float, ptr addrspace(1) %12, align 4, !dbg !65, !tbaa !18
  %14 = fmul nsz arcp contract float %13, 3.000000e+00, !dbg !66
  %15 = getelementptr inbounds [32 x float], ptr addrspace(3) @_ZZ7handoffE4data, i64 0, i64 %11, !dbg !67
  store float %14, ptr addrspace(3) %15, align 4, !dbg !68, !tbaa !18
  tail call spir_func void @__ks_simdgroup_barrier(i32 noundef 2) #6, !dbg !69
  %16 = icmp eq i32 %10, 0, !dbg !70
  br i1 %16, label %17, label %30, !dbg !71

17:                                               ; preds = %9
  store atomic volatile i32 1, ptr addrspace(3) @_ZZ7handoffE4flag monotonic, align 4, !dbg !72
  br label %30, !dbg !72

18:                                               ; preds = %6
  %19 = tail call spir_func i32 @__ks_sr(i32 noundef 13) #5, !dbg !73
  %20 = icmp eq i32 %19, 1, !dbg !74
  br i1 %20, label %21, label %30, !dbg !73

21:                                               ; preds = %18, %21
  %22 = load atomic volatile i32, ptr addrspace(3) @_ZZ7handoffE4flag monotonic, align 4, !dbg !75
  %23 = icmp eq i32 %22, 0, !dbg !76
  br i1 %23, label %21, label %24, !dbg !77, !llvm.loop !78

24:                                               ; preds = %21
  tail call spir_func void @__ks_simdgroup_barrier(i32 noundef 2) #6, !dbg !81
  %25 = tail call spir_func i32 @__ks_sr(i32 noundef 12) #5, !dbg !82
  %26 = sext i32 %25 to i64, !dbg !83
  %27 = getelementptr inbounds [32 x float], ptr addrspace(3) @_ZZ7handoffE4data, i64 0, i64 %26, !dbg !83
  %28 = load float, ptr addrspace(3) %27, align 4, !dbg !83, !tbaa !18
  %29 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %26, !dbg !84
  store float %28, ptr addrspace(1) %29, align 4, !dbg !85, !tbaa !18
  br label %30, !dbg !86

30:                                               ; preds = %18, %24, %9, %17
  ret void, !dbg !87
}

; Function Attrs: convergent mustprogress norecurse nounwind
define dso_local spir_kernel void @padding(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 4 %1, ptr addrspace(2) nocapture noundef readonly align 4 dereferenceable(4) %2) local_unnamed_addr #0 !dbg !88 !kernel_arg_addr_space !89 !kernel_arg_access_qual !90 !kernel_arg_type !91 !kernel_arg_base_type !92 !kernel_arg_type_qual !93 {
  %4 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #5, !dbg !94
  %5 = load i32, ptr addrspace(2) %2, align 4, !dbg !95, !tbaa !41
  %6 = icmp ult i32 %4, %5, !dbg !96
  br i1 %6, label %7, label %15, !dbg !94

7:                                                ; preds = %3
  %8 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #5, !dbg !97
  %9 = sext i32 %8 to i64, !dbg !98
  %10 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %9, !dbg !98
  %11 = load float, ptr addrspace(1) %10, align 4, !dbg !98, !tbaa !18
  %12 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #5, !dbg !99
  %13 = sext i32 %12 to i64, !dbg !100
  %14 = getelementptr inbounds [64 x float], ptr addrspace(3) @_ZZ7paddingE4tile, i64 0, i64 %13, !dbg !100
  store float %11, ptr addrspace(3) %14, align 4, !dbg !101, !tbaa !18
  br label %15, !dbg !100

15:                                               ; preds = %7, %3
  tail call spir_func void @__ks_threadgroup_barrier(i32 noundef 2) #6, !dbg !102
  %16 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #5, !dbg !103
  %17 = sub nsw i32 63, %16, !dbg !104
  %18 = sext i32 %17 to i64, !dbg !105
  %19 = getelementptr inbounds [64 x float], ptr addrspace(3) @_ZZ7paddingE4tile, i64 0, i64 %18, !dbg !105
  %20 = load float, ptr addrspace(3) %19, align 4, !dbg !105, !tbaa !18
  %21 = fmul nsz arcp contract float %20, %20, !dbg !106
  %22 = sext i32 %16 to i64, !dbg !107
  %23 = getelementptr inbounds [64 x float], ptr addrspace(3) @_ZZ7paddingE4tile, i64 0, i64 %22, !dbg !107
  %24 = load float, ptr addrspace(3) %23, align 4, !dbg !107, !tbaa !18
  %25 = fadd nsz arcp contract float %21, %24, !dbg !108
  %26 = fmul nsz arcp contract float %25, 5.000000e-01, !dbg !109
  %27 = fadd nsz arcp contract float %20, %26, !dbg !110
  %28 = fmul nsz arcp contract float %27, 5.000000e-01, !dbg !109
  %29 = fadd nsz arcp contract float %20, %28, !dbg !110
  %30 = fmul nsz arcp contract float %29, 5.000000e-01, !dbg !109
  %31 = fadd nsz arcp contract float %20, %30, !dbg !110
  %32 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #5, !dbg !111
  %33 = sub nsw i32 63, %32, !dbg !112
  %34 = load i32, ptr addrspace(2) %2, align 4, !dbg !113, !tbaa !41
  %35 = icmp ult i32 %33, %34, !dbg !114
  br i1 %35, label %36, label %43, !dbg !115

36:                                               ; preds = %15
  %37 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #5, !dbg !116
  %38 = icmp ult i32 %37, %34, !dbg !117
  br i1 %38, label %39, label %43, !dbg !118

39:                                               ; preds = %36
  %40 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #5, !dbg !119
  %41 = sext i32 %40 to i64, !dbg !120
  %42 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %41, !dbg !120
  store float %31, ptr addrspace(1) %42, align 4, !dbg !121, !tbaa !18
  br label %43, !dbg !120

43:                                               ; preds = %39, %36, %15
  ret void, !dbg !122
}

; Function Attrs: convergent mustprogress norecurse nounwind
define dso_local spir_kernel void @tail_vote(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 4 %1, ptr addrspace(2) nocapture noundef readonly align 4 dereferenceable(4) %2) local_unnamed_addr #0 !dbg !123 !kernel_arg_addr_space !89 !kernel_arg_access_qual !90 !kernel_arg_type !124 !kernel_arg_base_type !125 !kernel_arg_type_qual !93 {
  %4 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #5, !dbg !126
  %5 = load i32, ptr addrspace(2) %2, align 4, !dbg !127, !tbaa !41
  %6 = icmp ult i32 %4, %5, !dbg !128
  br i1 %6, label %7, label %17, !dbg !126

7:                                                ; preds = %3
  %8 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #5, !dbg !129
  %9 = sext i32 %8 to i64, !dbg !130
  %10 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %9, !dbg !130
  %11 = load float, ptr addrspace(1) %10, align 4, !dbg !130, !tbaa !18
  %12 = fcmp nsz arcp contract ogt float %11, 0.000000e+00, !dbg !131
  %13 = zext i1 %12 to i32, !dbg !130
  %14 = tail call spir_func i64 @__ks_ballot(i32 noundef %13) #6, !dbg !132
  %15 = trunc i64 %14 to i32, !dbg !133
  %16 = getelementptr inbounds i32, ptr addrspace(1) %1, i64 %9, !dbg !134
  store i32 %15, ptr addrspace(1) %16, align 4, !dbg !135, !tbaa !41
  br label %17, !dbg !136

17:                                               ; preds = %3, %7
  ret void, !dbg !136
}

; Function Attrs: convergent nounwind
declare !dbg !137 dso_local spir_func i64 @__ks_ballot(i32 noundef) local_unnamed_addr #3

; Function Attrs: convergent mustprogress norecurse nounwind
define dso_local spir_kernel void @double_buffer(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 4 %1, ptr addrspace(2) nocapture noundef readonly align 4 dereferenceable(4) %2) local_unnamed_addr #0 !dbg !138 !kernel_arg_addr_space !89 !kernel_arg_access_qual !90 !kernel_arg_type !91 !kernel_arg_base_type !92 !kernel_arg_type_qual !93 {
  %4 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #5, !dbg !139
  %5 = sext i32 %4 to i64, !dbg !140
  %6 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %5, !dbg !140
  %7 = load float, ptr addrspace(1) %6, align 4, !dbg !140, !tbaa !18
  %8 = getelementptr inbounds [64 x float], ptr addrspace(3) @_ZZ13double_bufferE4tile, i64 0, i64 %5, !dbg !141
  store float %7, ptr addrspace(3) %8, align 4, !dbg !142, !tbaa !18
  %9 = load i32, ptr addrspace(2) %2, align 4, !dbg !143, !tbaa !41
  %10 = icmp eq i32 %9, 0, !dbg !144
  br i1 %10, label %11, label %16, !dbg !145

11:                                               ; preds = %33, %3
  %12 = phi float [ 0.000000e+00, %3 ], [ %41, %33 ], !dbg !146
  %13 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #5, !dbg !147
  %14 = sext i32 %13 to i64, !dbg !148
  %15 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %14, !dbg !148
  store float %12, ptr addrspace(1) %15, align 4, !dbg !149, !tbaa !18
  ret void, !dbg !150

16:                                               ; preds = %3, %33
  %17 = phi i32 [ %19, %33 ], [ 0, %3 ]
  %18 = phi float [ %41, %33 ], [ 0.000000e+00, %3 ]
  tail call spir_func void @__ks_threadgroup_barrier(i32 noundef 2) #6, !dbg !151
  %19 = add nuw i32 %17, 1, !dbg !152
  %20 = load i32, ptr addrspace(2) %2, align 4, !dbg !153, !tbaa !41
  %21 = icmp ult i32 %19, %20, !dbg !154
  br i1 %21, label %22, label %33, !dbg !155

22:                                               ; preds = %16
  %23 = shl i32 %19, 6, !dbg !156
  %24 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #5, !dbg !157
  %25 = add i32 %24, %23, !dbg !158
  %26 = zext i32 %25 to i64, !dbg !159
  %27 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %26, !dbg !159
  %28 = load float, ptr addrspace(1) %27, align 4, !dbg !159, !tbaa !18
  %29 = and i32 %19, 1, !dbg !160
  %30 = zext nneg i32 %29 to i64, !dbg !161
  %31 = sext i32 %24 to i64, !dbg !161
  %32 = getelementptr inbounds [2 x [64 x float]], ptr addrspace(3) @_ZZ13double_bufferE4tile, i64 0, i64 %30, i64 %31, !dbg !161
  store float %28, ptr addrspace(3) %32, align 4, !dbg !162, !tbaa !18
  br label %33, !dbg !161

33:                                               ; preds = %22, %16
  %34 = and i32 %17, 1, !dbg !163
  %35 = zext nneg i32 %34 to i64, !dbg !164
  %36 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #5, !dbg !165
  %37 = sub nsw i32 63, %36, !dbg !166
  %38 = sext i32 %37 to i64, !dbg !164
  %39 = getelementptr inbounds [2 x [64 x float]], ptr addrspace(3) @_ZZ13double_bufferE4tile, i64 0, i64 %35, i64 %38, !dbg !164
  %40 = load float, ptr addrspace(3) %39, align 4, !dbg !164, !tbaa !18
  %41 = fadd nsz arcp contract float %18, %40, !dbg !167
  br i1 %21, label %16, label %11, !dbg !145, !llvm.loop !168
}

; Function Attrs: convergent mustprogress norecurse nounwind
define dso_local spir_kernel void @last_group(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef align 4 %1, ptr addrspace(1) noundef align 4 %2, ptr addrspace(1) nocapture noundef writeonly align 4 %3) local_unnamed_addr #0 !dbg !170 !kernel_arg_addr_space !171 !kernel_arg_access_qual !172 !kernel_arg_type !173 !kernel_arg_base_type !173 !kernel_arg_type_qual !174 {
  %5 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #5, !dbg !175
  %6 = sext i32 %5 to i64, !dbg !176
  %7 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %6, !dbg !176
  %8 = load float, ptr addrspace(1) %7, align 4, !dbg !176, !tbaa !18
  %9 = tail call nsz arcp contract spir_func float @__ks_simd_sum_f32(float noundef %8) #6, !dbg !177
  %10 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #5, !dbg !178
  %11 = icmp eq i32 %10, 0, !dbg !179
  br i1 %11, label %12, label %21, !dbg !178

12:                                               ; preds = %4
  %13 = tail call spir_func i32 @__ks_sr(i32 noundef 3) #5, !dbg !180
  %14 = sext i32 %13 to i64, !dbg !181
  %15 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %14, !dbg !181
  store float %9, ptr addrspace(1) %15, align 4, !dbg !182, !tbaa !18
  tail call spir_func void @__ks_fence(i32 noundef 1, i32 noundef 5, i32 noundef 2) #6, !dbg !183
  %16 = atomicrmw volatile add ptr addrspace(1) %2, i32 1 monotonic, align 4, !dbg !184
  %17 = tail call spir_func i32 @__ks_sr(i32 noundef 9) #5, !dbg !185
  %18 = add nsw i32 %17, -1, !dbg !186
  %19 = icmp eq i32 %16, %18, !dbg !187
  %20 = zext i1 %19 to i32, !dbg !184
  store i32 %20, ptr addrspace(3) @_ZZ10last_groupE4last, align 4, !dbg !188, !tbaa !41
  br label %21, !dbg !189

21:                                               ; preds = %12, %4
  tail call spir_func void @__ks_threadgroup_barrier(i32 noundef 3) #6, !dbg !190
  %22 = load i32, ptr addrspace(3) @_ZZ10last_groupE4last, align 4, !dbg !191, !tbaa !41
  %23 = icmp eq i32 %22, 0, !dbg !191
  br i1 %23, label %39, label %24, !dbg !192

24:                                               ; preds = %21
  %25 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #5, !dbg !193
  %26 = icmp eq i32 %25, 0, !dbg !194
  br i1 %26, label %27, label %39, !dbg !191

27:                                               ; preds = %24, %33
  %28 = phi nsz float [ %37, %33 ], [ 0.000000e+00, %24 ], !dbg !195
  %29 = phi i32 [ %38, %33 ], [ 0, %24 ], !dbg !196
  %30 = tail call spir_func i32 @__ks_sr(i32 noundef 9) #5, !dbg !197
  %31 = icmp slt i32 %29, %30, !dbg !198
  br i1 %31, label %33, label %32, !dbg !199

32:                                               ; preds = %27
  store float %28, ptr addrspace(1) %3, align 4, !dbg !200, !tbaa !18
  br label %39, !dbg !201

33:                                               ; preds = %27
  %34 = zext nneg i32 %29 to i64, !dbg !202
  %35 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %34, !dbg !202
  %36 = load float, ptr addrspace(1) %35, align 4, !dbg !202, !tbaa !18
  %37 = fadd nsz arcp contract float %28, %36, !dbg !203
  %38 = add nuw nsw i32 %29, 1, !dbg !204
  br label %27, !dbg !199, !llvm.loop !205

39:                                               ; preds = %32, %24, %21
  ret void, !dbg !207
}

; Function Attrs: convergent nounwind
declare !dbg !208 dso_local spir_func float @__ks_simd_sum_f32(float noundef) local_unnamed_addr #3

; Function Attrs: convergent nounwind
declare !dbg !209 dso_local spir_func void @__ks_fence(i32 noundef, i32 noundef, i32 noundef) local_unnamed_addr #3

; Function Attrs: convergent mustprogress nofree norecurse nounwind memory(argmem: readwrite)
define dso_local spir_kernel void @scratch(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 4 %1) local_unnamed_addr #4 !dbg !210 !kernel_arg_addr_space !12 !kernel_arg_access_qual !13 !kernel_arg_type !211 !kernel_arg_base_type !211 !kernel_arg_type_qual !15 {
  %3 = alloca [32 x i32], align 4
  call void @llvm.lifetime.start.p0(i64 128, ptr nonnull %3) #7, !dbg !212
  %4 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #5, !dbg !213
  %5 = sext i32 %4 to i64, !dbg !214
  %6 = getelementptr inbounds i32, ptr addrspace(1) %0, i64 %5, !dbg !214
  %7 = load i32, ptr addrspace(1) %6, align 4, !dbg !214, !tbaa !41
  %8 = and i32 %7, 31, !dbg !215
  br label %9, !dbg !216

9:                                                ; preds = %2, %9
  %10 = phi i32 [ 0, %2 ], [ %14, %9 ]
  %11 = mul nuw nsw i32 %10, %10, !dbg !217
  %12 = zext nneg i32 %10 to i64, !dbg !218
  %13 = getelementptr inbounds [32 x i32], ptr %3, i64 0, i64 %12, !dbg !218
  store i32 %11, ptr %13, align 4, !dbg !219, !tbaa !41
  %14 = add nuw nsw i32 %10, 1, !dbg !220
  %15 = icmp ult i32 %10, %8, !dbg !221
  br i1 %15, label %9, label %20, !dbg !216, !llvm.loop !222

16:                                               ; preds = %20
  %17 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #5, !dbg !224
  %18 = sext i32 %17 to i64, !dbg !225
  %19 = getelementptr inbounds i32, ptr addrspace(1) %1, i64 %18, !dbg !225
  store i32 %26, ptr addrspace(1) %19, align 4, !dbg !226, !tbaa !41
  call void @llvm.lifetime.end.p0(i64 128, ptr nonnull %3) #7, !dbg !227
  ret void, !dbg !227

20:                                               ; preds = %9, %20
  %21 = phi i32 [ %27, %20 ], [ 0, %9 ]
  %22 = phi i32 [ %26, %20 ], [ 0, %9 ]
  %23 = zext nneg i32 %21 to i64, !dbg !228
  %24 = getelementptr inbounds [32 x i32], ptr %3, i64 0, i64 %23, !dbg !228
  %25 = load i32, ptr %24, align 4, !dbg !228, !tbaa !41
  %26 = add i32 %25, %22, !dbg !229
  %27 = add nuw nsw i32 %21, 1, !dbg !230
  %28 = icmp ult i32 %21, %8, !dbg !231
  br i1 %28, label %20, label %16, !dbg !232, !llvm.loop !233
}

; Function Attrs: convergent mustprogress norecurse nounwind
define dso_local spir_kernel void @bytes(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 1 %1) local_unnamed_addr #0 !dbg !235 !kernel_arg_addr_space !12 !kernel_arg_access_qual !13 !kernel_arg_type !236 !kernel_arg_base_type !236 !kernel_arg_type_qual !15 {
  %3 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #5, !dbg !237
  %4 = sext i32 %3 to i64, !dbg !238
  %5 = getelementptr inbounds i32, ptr addrspace(1) %0, i64 %4, !dbg !238
  %6 = load i32, ptr addrspace(1) %5, align 4, !dbg !238, !tbaa !41
  %7 = trunc i32 %6 to i8, !dbg !238
  %8 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #5, !dbg !239
  %9 = sext i32 %8 to i64, !dbg !240
  %10 = getelementptr inbounds [64 x i8], ptr addrspace(3) @_ZZ5bytesE1t, i64 0, i64 %9, !dbg !240
  store i8 %7, ptr addrspace(3) %10, align 1, !dbg !241, !tbaa !242
  tail call spir_func void @__ks_threadgroup_barrier(i32 noundef 2) #6, !dbg !243
  %11 = sub nsw i32 63, %8, !dbg !244
  %12 = sext i32 %11 to i64, !dbg !245
  %13 = getelementptr inbounds [64 x i8], ptr addrspace(3) @_ZZ5bytesE1t, i64 0, i64 %12, !dbg !245
  %14 = load i8, ptr addrspace(3) %13, align 1, !dbg !245, !tbaa !242
  %15 = getelementptr inbounds i8, ptr addrspace(1) %1, i64 %4, !dbg !246
  store i8 %14, ptr addrspace(1) %15, align 1, !dbg !247, !tbaa !242
  ret void, !dbg !248
}

attributes #0 = { convergent mustprogress norecurse nounwind "frame-pointer"="all" "no-signed-zeros-fp-math"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "uniform-work-group-size"="true" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { convergent mustprogress nofree nounwind willreturn memory(none) "frame-pointer"="all" "no-signed-zeros-fp-math"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #3 = { convergent nounwind "frame-pointer"="all" "no-signed-zeros-fp-math"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #4 = { convergent mustprogress nofree norecurse nounwind memory(argmem: readwrite) "frame-pointer"="all" "no-signed-zeros-fp-math"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "uniform-work-group-size"="true" }
attributes #5 = { convergent nounwind willreturn memory(none) }
attributes #6 = { convergent nounwind }
attributes #7 = { nounwind }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3, !4, !5}
!opencl.ocl.version = !{!6}
!opencl.cxx.version = !{!7}
!opencl.spir.version = !{!6}
!llvm.ident = !{!8}

!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !1, producer: "Debian clang version 19.1.7 (3~deb12u1)", isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly, splitDebugInlining: false, nameTableKind: None)
!1 = !DIFile(filename: "right.cl", directory: ".", checksumkind: CSK_MD5, checksum: "5923495d1d9bf7ec9ff8499572b50867")
!2 = !{i32 7, !"Dwarf Version", i32 5}
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = !{i32 1, !"wchar_size", i32 4}
!5 = !{i32 7, !"frame-pointer", i32 2}
!6 = !{i32 3, i32 0}
!7 = !{i32 2021, i32 0}
!8 = !{!"Debian clang version 19.1.7 (3~deb12u1)"}
!9 = distinct !DISubprogram(name: "simd_exchange", scope: !1, file: !1, line: 5, type: !10, scopeLine: 5, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!10 = !DISubroutineType(types: !11)
!11 = !{}
!12 = !{i32 1, i32 1}
!13 = !{!"none", !"none"}
!14 = !{!"float*", !"float*"}
!15 = !{!"const", !""}
!16 = !DILocation(line: 8, column: 20, scope: !9)
!17 = !DILocation(line: 8, column: 17, scope: !9)
!18 = !{!19, !19, i64 0}
!19 = !{!"float", !20, i64 0}
!20 = !{!"omnipotent char", !21, i64 0}
!21 = !{!"Simple C++ TBAA"}
!22 = !DILocation(line: 8, column: 10, scope: !9)
!23 = !DILocation(line: 8, column: 5, scope: !9)
!24 = !DILocation(line: 8, column: 15, scope: !9)
!25 = !DILocation(line: 9, column: 5, scope: !9)
!26 = !DILocation(line: 10, column: 24, scope: !9)
!27 = !DILocation(line: 10, column: 15, scope: !9)
!28 = !DILocation(line: 11, column: 5, scope: !9)
!29 = !DILocation(line: 12, column: 5, scope: !9)
!30 = !DILocation(line: 12, column: 14, scope: !9)
!31 = !DILocation(line: 8, column: 25, scope: !9)
!32 = !DILocation(line: 14, column: 1, scope: !9)
!33 = !DISubprogram(name: "__ks_sr", scope: !34, file: !34, line: 6, type: !10, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
!34 = !DIFile(filename: "./ks.h", directory: ".", checksumkind: CSK_MD5, checksum: "0e8dc3fd852547a75e1f09f74de41f48")
!35 = !DISubprogram(name: "__ks_simdgroup_barrier", scope: !34, file: !34, line: 8, type: !10, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
!36 = distinct !DISubprogram(name: "same_value_flag", scope: !1, file: !1, line: 17, type: !10, scopeLine: 17, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!37 = !{!"float*", !"uint*"}
!38 = !DILocation(line: 19, column: 7, scope: !36)
!39 = !DILocation(line: 19, column: 11, scope: !36)
!40 = !DILocation(line: 19, column: 23, scope: !36)
!41 = !{!42, !42, i64 0}
!42 = !{!"int", !20, i64 0}
!43 = !DILocation(line: 19, column: 17, scope: !36)
!44 = !DILocation(line: 20, column: 3, scope: !36)
!45 = !DILocation(line: 21, column: 10, scope: !36)
!46 = !DILocation(line: 21, column: 7, scope: !36)
!47 = !DILocation(line: 21, column: 15, scope: !36)
!48 = !DILocation(line: 21, column: 29, scope: !36)
!49 = !DILocation(line: 21, column: 23, scope: !36)
!50 = !DILocation(line: 22, column: 3, scope: !36)
!51 = !DILocation(line: 23, column: 14, scope: !36)
!52 = !DILocation(line: 23, column: 7, scope: !36)
!53 = !DILocation(line: 23, column: 3, scope: !36)
!54 = !DILocation(line: 23, column: 12, scope: !36)
!55 = !DILocation(line: 24, column: 1, scope: !36)
!56 = !DISubprogram(name: "__ks_threadgroup_barrier", scope: !34, file: !34, line: 7, type: !10, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
!57 = distinct !DISubprogram(name: "handoff", scope: !1, file: !1, line: 27, type: !10, scopeLine: 27, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!58 = !DILocation(line: 30, column: 7, scope: !57)
!59 = !DILocation(line: 30, column: 11, scope: !57)
!60 = !DILocation(line: 30, column: 17, scope: !57)
!61 = !DILocation(line: 31, column: 3, scope: !57)
!62 = !DILocation(line: 32, column: 7, scope: !57)
!63 = !DILocation(line: 32, column: 12, scope: !57)
!64 = !DILocation(line: 33, column: 21, scope: !57)
!65 = !DILocation(line: 33, column: 18, scope: !57)
!66 = !DILocation(line: 33, column: 27, scope: !57)
!67 = !DILocation(line: 33, column: 5, scope: !57)
!68 = !DILocation(line: 33, column: 16, scope: !57)
!69 = !DILocation(line: 34, column: 5, scope: !57)
!70 = !DILocation(line: 35, column: 14, scope: !57)
!71 = !DILocation(line: 35, column: 9, scope: !57)
!72 = !DILocation(line: 35, column: 20, scope: !57)
!73 = !DILocation(line: 36, column: 14, scope: !57)
!74 = !DILocation(line: 36, column: 19, scope: !57)
!75 = !DILocation(line: 37, column: 12, scope: !57)
!76 = !DILocation(line: 37, column: 34, scope: !57)
!77 = !DILocation(line: 37, column: 5, scope: !57)
!78 = distinct !{!78, !77, !79, !80}
!79 = !DILocation(line: 37, column: 41, scope: !57)
!80 = !{!"llvm.loop.mustprogress"}
!81 = !DILocation(line: 38, column: 5, scope: !57)
!82 = !DILocation(line: 39, column: 22, scope: !57)
!83 = !DILocation(line: 39, column: 17, scope: !57)
!84 = !DILocation(line: 39, column: 5, scope: !57)
!85 = !DILocation(line: 39, column: 15, scope: !57)
!86 = !DILocation(line: 40, column: 3, scope: !57)
!87 = !DILocation(line: 41, column: 1, scope: !57)
!88 = distinct !DISubprogram(name: "padding", scope: !1, file: !1, line: 44, type: !10, scopeLine: 44, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!89 = !{i32 1, i32 1, i32 0}
!90 = !{!"none", !"none", !"none"}
!91 = !{!"float*", !"float*", !"__constant uint &"}
!92 = !{!"float*", !"float*", !"__constant unsigned int &"}
!93 = !{!"const", !"", !""}
!94 = !DILocation(line: 46, column: 7, scope: !88)
!95 = !DILocation(line: 46, column: 13, scope: !88)
!96 = !DILocation(line: 46, column: 11, scope: !88)
!97 = !DILocation(line: 46, column: 31, scope: !88)
!98 = !DILocation(line: 46, column: 28, scope: !88)
!99 = !DILocation(line: 46, column: 21, scope: !88)
!100 = !DILocation(line: 46, column: 16, scope: !88)
!101 = !DILocation(line: 46, column: 26, scope: !88)
!102 = !DILocation(line: 47, column: 3, scope: !88)
!103 = !DILocation(line: 48, column: 23, scope: !88)
!104 = !DILocation(line: 48, column: 21, scope: !88)
!105 = !DILocation(line: 48, column: 13, scope: !88)
!106 = !DILocation(line: 49, column: 15, scope: !88)
!107 = !DILocation(line: 49, column: 21, scope: !88)
!108 = !DILocation(line: 49, column: 19, scope: !88)
!109 = !DILocation(line: 50, column: 37, scope: !88)
!110 = !DILocation(line: 50, column: 44, scope: !88)
!111 = !DILocation(line: 51, column: 12, scope: !88)
!112 = !DILocation(line: 51, column: 10, scope: !88)
!113 = !DILocation(line: 51, column: 18, scope: !88)
!114 = !DILocation(line: 51, column: 16, scope: !88)
!115 = !DILocation(line: 51, column: 20, scope: !88)
!116 = !DILocation(line: 51, column: 23, scope: !88)
!117 = !DILocation(line: 51, column: 27, scope: !88)
!118 = !DILocation(line: 51, column: 7, scope: !88)
!119 = !DILocation(line: 51, column: 36, scope: !88)
!120 = !DILocation(line: 51, column: 32, scope: !88)
!121 = !DILocation(line: 51, column: 41, scope: !88)
!122 = !DILocation(line: 52, column: 1, scope: !88)
!123 = distinct !DISubprogram(name: "tail_vote", scope: !1, file: !1, line: 55, type: !10, scopeLine: 55, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!124 = !{!"float*", !"uint*", !"__constant uint &"}
!125 = !{!"float*", !"uint*", !"__constant unsigned int &"}
!126 = !DILocation(line: 56, column: 7, scope: !123)
!127 = !DILocation(line: 56, column: 14, scope: !123)
!128 = !DILocation(line: 56, column: 11, scope: !123)
!129 = !DILocation(line: 57, column: 28, scope: !123)
!130 = !DILocation(line: 57, column: 25, scope: !123)
!131 = !DILocation(line: 57, column: 33, scope: !123)
!132 = !DILocation(line: 57, column: 13, scope: !123)
!133 = !DILocation(line: 58, column: 20, scope: !123)
!134 = !DILocation(line: 58, column: 3, scope: !123)
!135 = !DILocation(line: 58, column: 12, scope: !123)
!136 = !DILocation(line: 59, column: 1, scope: !123)
!137 = !DISubprogram(name: "__ks_ballot", scope: !34, file: !34, line: 23, type: !10, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
!138 = distinct !DISubprogram(name: "double_buffer", scope: !1, file: !1, line: 62, type: !10, scopeLine: 62, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!139 = !DILocation(line: 65, column: 21, scope: !138)
!140 = !DILocation(line: 65, column: 18, scope: !138)
!141 = !DILocation(line: 65, column: 3, scope: !138)
!142 = !DILocation(line: 65, column: 16, scope: !138)
!143 = !DILocation(line: 66, column: 24, scope: !138)
!144 = !DILocation(line: 66, column: 22, scope: !138)
!145 = !DILocation(line: 66, column: 3, scope: !138)
!146 = !DILocation(line: 0, scope: !138)
!147 = !DILocation(line: 71, column: 7, scope: !138)
!148 = !DILocation(line: 71, column: 3, scope: !138)
!149 = !DILocation(line: 71, column: 12, scope: !138)
!150 = !DILocation(line: 72, column: 1, scope: !138)
!151 = !DILocation(line: 67, column: 5, scope: !138)
!152 = !DILocation(line: 68, column: 11, scope: !138)
!153 = !DILocation(line: 68, column: 17, scope: !138)
!154 = !DILocation(line: 68, column: 15, scope: !138)
!155 = !DILocation(line: 68, column: 9, scope: !138)
!156 = !DILocation(line: 68, column: 56, scope: !138)
!157 = !DILocation(line: 68, column: 63, scope: !138)
!158 = !DILocation(line: 68, column: 61, scope: !138)
!159 = !DILocation(line: 68, column: 45, scope: !138)
!160 = !DILocation(line: 68, column: 33, scope: !138)
!161 = !DILocation(line: 68, column: 20, scope: !138)
!162 = !DILocation(line: 68, column: 43, scope: !138)
!163 = !DILocation(line: 69, column: 19, scope: !138)
!164 = !DILocation(line: 69, column: 12, scope: !138)
!165 = !DILocation(line: 69, column: 29, scope: !138)
!166 = !DILocation(line: 69, column: 27, scope: !138)
!167 = !DILocation(line: 69, column: 9, scope: !138)
!168 = distinct !{!168, !145, !169, !80}
!169 = !DILocation(line: 70, column: 3, scope: !138)
!170 = distinct !DISubprogram(name: "last_group", scope: !1, file: !1, line: 75, type: !10, scopeLine: 75, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!171 = !{i32 1, i32 1, i32 1, i32 1}
!172 = !{!"none", !"none", !"none", !"none"}
!173 = !{!"float*", !"float*", !"uint*", !"float*"}
!174 = !{!"const", !"", !"", !""}
!175 = !DILocation(line: 77, column: 34, scope: !170)
!176 = !DILocation(line: 77, column: 31, scope: !170)
!177 = !DILocation(line: 77, column: 13, scope: !170)
!178 = !DILocation(line: 78, column: 7, scope: !170)
!179 = !DILocation(line: 78, column: 11, scope: !170)
!180 = !DILocation(line: 79, column: 10, scope: !170)
!181 = !DILocation(line: 79, column: 5, scope: !170)
!182 = !DILocation(line: 79, column: 17, scope: !170)
!183 = !DILocation(line: 80, column: 5, scope: !170)
!184 = !DILocation(line: 81, column: 12, scope: !170)
!185 = !DILocation(line: 81, column: 43, scope: !170)
!186 = !DILocation(line: 81, column: 54, scope: !170)
!187 = !DILocation(line: 81, column: 33, scope: !170)
!188 = !DILocation(line: 81, column: 10, scope: !170)
!189 = !DILocation(line: 82, column: 3, scope: !170)
!190 = !DILocation(line: 83, column: 3, scope: !170)
!191 = !DILocation(line: 84, column: 7, scope: !170)
!192 = !DILocation(line: 84, column: 12, scope: !170)
!193 = !DILocation(line: 84, column: 15, scope: !170)
!194 = !DILocation(line: 84, column: 19, scope: !170)
!195 = !DILocation(line: 0, scope: !170)
!196 = !DILocation(line: 86, scope: !170)
!197 = !DILocation(line: 86, column: 25, scope: !170)
!198 = !DILocation(line: 86, column: 23, scope: !170)
!199 = !DILocation(line: 86, column: 5, scope: !170)
!200 = !DILocation(line: 87, column: 12, scope: !170)
!201 = !DILocation(line: 88, column: 3, scope: !170)
!202 = !DILocation(line: 86, column: 47, scope: !170)
!203 = !DILocation(line: 86, column: 44, scope: !170)
!204 = !DILocation(line: 86, column: 38, scope: !170)
!205 = distinct !{!205, !199, !206, !80}
!206 = !DILocation(line: 86, column: 53, scope: !170)
!207 = !DILocation(line: 89, column: 1, scope: !170)
!208 = !DISubprogram(name: "__ks_simd_sum_f32", scope: !34, file: !34, line: 17, type: !10, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
!209 = !DISubprogram(name: "__ks_fence", scope: !34, file: !34, line: 9, type: !10, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
!210 = distinct !DISubprogram(name: "scratch", scope: !1, file: !1, line: 92, type: !10, scopeLine: 92, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!211 = !{!"uint*", !"uint*"}
!212 = !DILocation(line: 93, column: 3, scope: !210)
!213 = !DILocation(line: 94, column: 15, scope: !210)
!214 = !DILocation(line: 94, column: 12, scope: !210)
!215 = !DILocation(line: 94, column: 20, scope: !210)
!216 = !DILocation(line: 95, column: 3, scope: !210)
!217 = !DILocation(line: 95, column: 42, scope: !210)
!218 = !DILocation(line: 95, column: 33, scope: !210)
!219 = !DILocation(line: 95, column: 38, scope: !210)
!220 = !DILocation(line: 95, column: 29, scope: !210)
!221 = !DILocation(line: 95, column: 22, scope: !210)
!222 = distinct !{!222, !216, !223, !80}
!223 = !DILocation(line: 95, column: 44, scope: !210)
!224 = !DILocation(line: 98, column: 7, scope: !210)
!225 = !DILocation(line: 98, column: 3, scope: !210)
!226 = !DILocation(line: 98, column: 12, scope: !210)
!227 = !DILocation(line: 99, column: 1, scope: !210)
!228 = !DILocation(line: 97, column: 38, scope: !210)
!229 = !DILocation(line: 97, column: 35, scope: !210)
!230 = !DILocation(line: 97, column: 29, scope: !210)
!231 = !DILocation(line: 97, column: 22, scope: !210)
!232 = !DILocation(line: 97, column: 3, scope: !210)
!233 = distinct !{!233, !232, !234, !80}
!234 = !DILocation(line: 97, column: 41, scope: !210)
!235 = distinct !DISubprogram(name: "bytes", scope: !1, file: !1, line: 102, type: !10, scopeLine: 102, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!236 = !{!"uint*", !"uchar*"}
!237 = !DILocation(line: 104, column: 22, scope: !235)
!238 = !DILocation(line: 104, column: 19, scope: !235)
!239 = !DILocation(line: 104, column: 5, scope: !235)
!240 = !DILocation(line: 104, column: 3, scope: !235)
!241 = !DILocation(line: 104, column: 10, scope: !235)
!242 = !{!20, !20, i64 0}
!243 = !DILocation(line: 105, column: 3, scope: !235)
!244 = !DILocation(line: 106, column: 19, scope: !235)
!245 = !DILocation(line: 106, column: 14, scope: !235)
!246 = !DILocation(line: 106, column: 3, scope: !235)
!247 = !DILocation(line: 106, column: 12, scope: !235)
!248 = !DILocation(line: 107, column: 1, scope: !235)
