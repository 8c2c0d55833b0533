; ModuleID = 'bugs.cl'
source_filename = "bugs.cl"
target datalayout = "e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-G1"
target triple = "spir64"

@_ZZ9past_tileE4tile = internal unnamed_addr addrspace(3) global [64 x float] undef, align 4
@_ZZ15missing_barrierE4tile = internal unnamed_addr addrspace(3) global [128 x float] undef, align 4
@_ZZ21reuse_without_barrierE4part = internal unnamed_addr addrspace(3) global [32 x float] undef, align 4
@_ZZ10weak_fenceE4part = internal unnamed_addr addrspace(3) global [32 x float] undef, align 4
@_ZZ12early_returnE4part = internal unnamed_addr addrspace(3) global [8 x float] undef, align 4
@_ZZ17divergent_barrierE4tile = internal unnamed_addr addrspace(3) global [64 x float] undef, align 4
@_ZZ12two_barriersE4tile = internal unnamed_addr addrspace(3) global [64 x float] undef, align 4
@_ZZ18uninitialised_tileE4tile = internal unnamed_addr addrspace(3) global [64 x float] undef, align 4
@_ZZ21lanes_without_barrierE4tile = internal unnamed_addr addrspace(3) global [64 x float] undef, align 4

; Function Attrs: convergent mustprogress nofree norecurse nounwind memory(argmem: readwrite)
define dso_local spir_kernel void @off_by_one(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 4 %1, ptr addrspace(2) nocapture noundef readonly align 4 dereferenceable(4) %2) local_unnamed_addr #0 !dbg !9 !kernel_arg_addr_space !12 !kernel_arg_access_qual !13 !kernel_arg_type !14 !kernel_arg_base_type !15 !kernel_arg_type_qual !16 {
  %4 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !17
  %5 = load i32, ptr addrspace(2) %2, align 4, !tbaa !18
  %6 = icmp ugt i32 %4, %5, !dbg !22
  br i1 %6, label %7, label %8, !dbg !23

7:                                                ; preds = %8, %3
  ret void, !dbg !24

8:                                                ; preds = %3, %8
  %9 = phi i32 [ %15, %8 ], [ %4, %3 ]
  %10 = zext i32 %9 to i64, !dbg !25
  %11 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %10, !dbg !25
  %12 = load float, ptr addrspace(1) %11, align 4, !dbg !25, !tbaa !26
  %13 = fmul nsz arcp contract float %12, 2.000000e+00, !dbg !28
  %14 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %10, !dbg !29
  store float %13, ptr addrspace(1) %14, align 4, !dbg !30, !tbaa !26
  %15 = add i32 %9, 64, !dbg !31
  %16 = icmp ugt i32 %15, %5, !dbg !22
  br i1 %16, label %7, label %8, !dbg !23, !llvm.loop !32
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture) #1

; Function Attrs: convergent mustprogress nofree nounwind willreturn memory(none)
declare !dbg !35 dso_local spir_func i32 @__ks_sr(i32 noundef) local_unnamed_addr #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture) #1

; Function Attrs: convergent mustprogress norecurse nounwind
define dso_local spir_kernel void @past_tile(ptr addrspace(1) nocapture noundef writeonly align 4 %0) local_unnamed_addr #3 !dbg !37 !kernel_arg_addr_space !38 !kernel_arg_access_qual !39 !kernel_arg_type !40 !kernel_arg_base_type !40 !kernel_arg_type_qual !41 {
  %2 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #8, !dbg !42
  %3 = add nsw i32 %2, 1, !dbg !43
  %4 = sext i32 %3 to i64, !dbg !44
  %5 = getelementptr inbounds [64 x float], ptr addrspace(3) @_ZZ9past_tileE4tile, i64 0, i64 %4, !dbg !44
  store float 1.000000e+00, ptr addrspace(3) %5, align 4, !dbg !45, !tbaa !26
  tail call spir_func void @__ks_threadgroup_barrier(i32 noundef 2) #9, !dbg !46
  %6 = sext i32 %2 to i64, !dbg !47
  %7 = getelementptr inbounds [64 x float], ptr addrspace(3) @_ZZ9past_tileE4tile, i64 0, i64 %6, !dbg !47
  %8 = load float, ptr addrspace(3) %7, align 4, !dbg !47, !tbaa !26
  %9 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !48
  %10 = sext i32 %9 to i64, !dbg !49
  %11 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %10, !dbg !49
  store float %8, ptr addrspace(1) %11, align 4, !dbg !50, !tbaa !26
  ret void, !dbg !51
}

; Function Attrs: convergent nounwind
declare !dbg !52 dso_local spir_func void @__ks_threadgroup_barrier(i32 noundef) local_unnamed_addr #4

; Function Attrs: convergent mustprogress nofree norecurse nounwind willreturn memory(readwrite, inaccessiblemem: none)
define dso_local spir_kernel void @missing_barrier(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 4 %1) local_unnamed_addr #5 !dbg !53 !kernel_arg_addr_space !54 !kernel_arg_access_qual !55 !kernel_arg_type !56 !kernel_arg_base_type !56 !kernel_arg_type_qual !57 {
  %3 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !58
  %4 = sext i32 %3 to i64, !dbg !59
  %5 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %4, !dbg !59
  %6 = load float, ptr addrspace(1) %5, align 4, !dbg !59, !tbaa !26
  %7 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #8, !dbg !60
  %8 = sext i32 %7 to i64, !dbg !61
  %9 = getelementptr inbounds [128 x float], ptr addrspace(3) @_ZZ15missing_barrierE4tile, i64 0, i64 %8, !dbg !61
  store float %6, ptr addrspace(3) %9, align 4, !dbg !62, !tbaa !26
  %10 = sub nsw i32 127, %7, !dbg !63
  %11 = sext i32 %10 to i64, !dbg !64
  %12 = getelementptr inbounds [128 x float], ptr addrspace(3) @_ZZ15missing_barrierE4tile, i64 0, i64 %11, !dbg !64
  %13 = load float, ptr addrspace(3) %12, align 4, !dbg !64, !tbaa !26
  %14 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %4, !dbg !65
  store float %13, ptr addrspace(1) %14, align 4, !dbg !66, !tbaa !26
  ret void, !dbg !67
}

; Function Attrs: convergent mustprogress norecurse nounwind
define dso_local spir_kernel void @reuse_without_barrier(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 4 %1) local_unnamed_addr #3 !dbg !68 !kernel_arg_addr_space !54 !kernel_arg_access_qual !55 !kernel_arg_type !56 !kernel_arg_base_type !56 !kernel_arg_type_qual !57 {
  %3 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !69
  %4 = sext i32 %3 to i64, !dbg !70
  %5 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %4, !dbg !70
  %6 = load float, ptr addrspace(1) %5, align 4, !dbg !70, !tbaa !26
  %7 = tail call nsz arcp contract spir_func float @__ks_simd_sum_f32(float noundef %6) #9, !dbg !71
  %8 = tail call spir_func i32 @__ks_sr(i32 noundef 12) #8, !dbg !72
  %9 = icmp eq i32 %8, 0, !dbg !73
  br i1 %9, label %10, label %14, !dbg !72

10:                                               ; preds = %2
  %11 = tail call spir_func i32 @__ks_sr(i32 noundef 13) #8, !dbg !74
  %12 = sext i32 %11 to i64, !dbg !75
  %13 = getelementptr inbounds [32 x float], ptr addrspace(3) @_ZZ21reuse_without_barrierE4part, i64 0, i64 %12, !dbg !75
  store float %7, ptr addrspace(3) %13, align 4, !dbg !76, !tbaa !26
  br label %14, !dbg !75

14:                                               ; preds = %10, %2
  tail call spir_func void @__ks_threadgroup_barrier(i32 noundef 2) #9, !dbg !77
  br label %15, !dbg !78

15:                                               ; preds = %28, %14
  %16 = phi i32 [ 0, %14 ], [ %33, %28 ], !dbg !79
  %17 = phi nsz float [ 0.000000e+00, %14 ], [ %32, %28 ], !dbg !80
  %18 = tail call spir_func i32 @__ks_sr(i32 noundef 14) #8, !dbg !81
  %19 = icmp slt i32 %16, %18, !dbg !82
  br i1 %19, label %28, label %20, !dbg !83

20:                                               ; preds = %15
  %21 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !84
  %22 = sext i32 %21 to i64, !dbg !85
  %23 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %22, !dbg !85
  %24 = load float, ptr addrspace(1) %23, align 4, !dbg !85, !tbaa !26
  %25 = tail call nsz arcp contract spir_func float @__ks_simd_max_f32(float noundef %24) #9, !dbg !86
  %26 = tail call spir_func i32 @__ks_sr(i32 noundef 12) #8, !dbg !87
  %27 = icmp eq i32 %26, 0, !dbg !88
  br i1 %27, label %34, label %38, !dbg !87

28:                                               ; preds = %15
  %29 = zext nneg i32 %16 to i64, !dbg !89
  %30 = getelementptr inbounds [32 x float], ptr addrspace(3) @_ZZ21reuse_without_barrierE4part, i64 0, i64 %29, !dbg !89
  %31 = load float, ptr addrspace(3) %30, align 4, !dbg !89, !tbaa !26
  %32 = fadd nsz arcp contract float %17, %31, !dbg !90
  %33 = add nuw nsw i32 %16, 1, !dbg !91
  br label %15, !dbg !83, !llvm.loop !92

34:                                               ; preds = %20
  %35 = tail call spir_func i32 @__ks_sr(i32 noundef 13) #8, !dbg !94
  %36 = sext i32 %35 to i64, !dbg !95
  %37 = getelementptr inbounds [32 x float], ptr addrspace(3) @_ZZ21reuse_without_barrierE4part, i64 0, i64 %36, !dbg !95
  store float %25, ptr addrspace(3) %37, align 4, !dbg !96, !tbaa !26
  br label %38, !dbg !95

38:                                               ; preds = %34, %20
  tail call spir_func void @__ks_threadgroup_barrier(i32 noundef 2) #9, !dbg !97
  br label %39, !dbg !98

39:                                               ; preds = %49, %38
  %40 = phi nsz float [ 0.000000e+00, %38 ], [ %53, %49 ], !dbg !80
  %41 = phi i32 [ 0, %38 ], [ %54, %49 ], !dbg !99
  %42 = tail call spir_func i32 @__ks_sr(i32 noundef 14) #8, !dbg !100
  %43 = icmp slt i32 %41, %42, !dbg !101
  br i1 %43, label %49, label %44, !dbg !102

44:                                               ; preds = %39
  %45 = fadd nsz arcp contract float %17, %40, !dbg !103
  %46 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !104
  %47 = sext i32 %46 to i64, !dbg !105
  %48 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %47, !dbg !105
  store float %45, ptr addrspace(1) %48, align 4, !dbg !106, !tbaa !26
  ret void, !dbg !107

49:                                               ; preds = %39
  %50 = zext nneg i32 %41 to i64, !dbg !108
  %51 = getelementptr inbounds [32 x float], ptr addrspace(3) @_ZZ21reuse_without_barrierE4part, i64 0, i64 %50, !dbg !108
  %52 = load float, ptr addrspace(3) %51, align 4, !dbg !108, !tbaa !26
  %53 = fadd nsz arcp contract float %40, %52, !dbg !109
  %54 = add nuw nsw i32 %41, 1, !dbg !110
  br label %39, !dbg !102, !llvm.loop !111
}

; Function Attrs: convergent nounwind
declare !dbg !113 dso_local spir_func float @__ks_simd_sum_f32(float noundef) local_unnamed_addr #4

; Function Attrs: convergent nounwind
declare !dbg !114 dso_local spir_func float @__ks_simd_max_f32(float noundef) local_unnamed_addr #4

; Function Attrs: convergent mustprogress norecurse nounwind
define dso_local spir_kernel void @weak_fence(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 4 %1) local_unnamed_addr #3 !dbg !115 !kernel_arg_addr_space !54 !kernel_arg_access_qual !55 !kernel_arg_type !56 !kernel_arg_base_type !56 !kernel_arg_type_qual !57 {
  %3 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !116
  %4 = sext i32 %3 to i64, !dbg !117
  %5 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %4, !dbg !117
  %6 = load float, ptr addrspace(1) %5, align 4, !dbg !117, !tbaa !26
  %7 = tail call nsz arcp contract spir_func float @__ks_simd_sum_f32(float noundef %6) #9, !dbg !118
  %8 = tail call spir_func i32 @__ks_sr(i32 noundef 12) #8, !dbg !119
  %9 = icmp eq i32 %8, 0, !dbg !120
  br i1 %9, label %10, label %14, !dbg !119

10:                                               ; preds = %2
  %11 = tail call spir_func i32 @__ks_sr(i32 noundef 13) #8, !dbg !121
  %12 = sext i32 %11 to i64, !dbg !122
  %13 = getelementptr inbounds [32 x float], ptr addrspace(3) @_ZZ10weak_fenceE4part, i64 0, i64 %12, !dbg !122
  store float %7, ptr addrspace(3) %13, align 4, !dbg !123, !tbaa !26
  br label %14, !dbg !122

14:                                               ; preds = %10, %2
  tail call spir_func void @__ks_threadgroup_barrier(i32 noundef 0) #9, !dbg !124
  %15 = load float, ptr addrspace(3) @_ZZ10weak_fenceE4part, align 4, !dbg !125, !tbaa !26
  %16 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !126
  %17 = sext i32 %16 to i64, !dbg !127
  %18 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %17, !dbg !127
  store float %15, ptr addrspace(1) %18, align 4, !dbg !128, !tbaa !26
  ret void, !dbg !129
}

; Function Attrs: convergent mustprogress norecurse nounwind
define dso_local spir_kernel void @early_return(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 4 %1, ptr addrspace(2) nocapture noundef readonly align 4 dereferenceable(4) %2) local_unnamed_addr #3 !dbg !130 !kernel_arg_addr_space !12 !kernel_arg_access_qual !13 !kernel_arg_type !14 !kernel_arg_base_type !15 !kernel_arg_type_qual !16 {
  %4 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #8, !dbg !131
  %5 = load i32, ptr addrspace(2) %2, align 4, !dbg !132, !tbaa !18
  %6 = icmp ult i32 %4, %5, !dbg !133
  br i1 %6, label %7, label %24, !dbg !131

7:                                                ; preds = %3
  %8 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !134
  %9 = sext i32 %8 to i64, !dbg !135
  %10 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %9, !dbg !135
  %11 = load float, ptr addrspace(1) %10, align 4, !dbg !135, !tbaa !26
  %12 = tail call nsz arcp contract spir_func float @__ks_simd_sum_f32(float noundef %11) #9, !dbg !136
  %13 = tail call spir_func i32 @__ks_sr(i32 noundef 12) #8, !dbg !137
  %14 = icmp eq i32 %13, 0, !dbg !138
  br i1 %14, label %15, label %19, !dbg !137

15:                                               ; preds = %7
  %16 = tail call spir_func i32 @__ks_sr(i32 noundef 13) #8, !dbg !139
  %17 = sext i32 %16 to i64, !dbg !140
  %18 = getelementptr inbounds [8 x float], ptr addrspace(3) @_ZZ12early_returnE4part, i64 0, i64 %17, !dbg !140
  store float %12, ptr addrspace(3) %18, align 4, !dbg !141, !tbaa !26
  br label %19, !dbg !140

19:                                               ; preds = %15, %7
  tail call spir_func void @__ks_threadgroup_barrier(i32 noundef 2) #9, !dbg !142
  %20 = load float, ptr addrspace(3) @_ZZ12early_returnE4part, align 4, !dbg !143, !tbaa !26
  %21 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !144
  %22 = sext i32 %21 to i64, !dbg !145
  %23 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %22, !dbg !145
  store float %20, ptr addrspace(1) %23, align 4, !dbg !146, !tbaa !26
  br label %24, !dbg !147

24:                                               ; preds = %3, %19
  ret void, !dbg !147
}

; Function Attrs: convergent mustprogress norecurse nounwind
define dso_local spir_kernel void @divergent_barrier(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 4 %1) local_unnamed_addr #3 !dbg !148 !kernel_arg_addr_space !54 !kernel_arg_access_qual !55 !kernel_arg_type !56 !kernel_arg_base_type !56 !kernel_arg_type_qual !57 {
  %3 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #8, !dbg !149
  %4 = sext i32 %3 to i64, !dbg !150
  %5 = getelementptr inbounds [64 x float], ptr addrspace(3) @_ZZ17divergent_barrierE4tile, i64 0, i64 %4, !dbg !150
  store float 0.000000e+00, ptr addrspace(3) %5, align 4, !dbg !151, !tbaa !26
  tail call spir_func void @__ks_threadgroup_barrier(i32 noundef 2) #9, !dbg !152
  %6 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !153
  %7 = sext i32 %6 to i64, !dbg !154
  %8 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %7, !dbg !154
  %9 = load float, ptr addrspace(1) %8, align 4, !dbg !154, !tbaa !26
  %10 = fcmp nsz arcp contract ogt float %9, 0.000000e+00, !dbg !155
  br i1 %10, label %11, label %19, !dbg !154

11:                                               ; preds = %2
  %12 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !156
  %13 = sext i32 %12 to i64, !dbg !157
  %14 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %13, !dbg !157
  %15 = load float, ptr addrspace(1) %14, align 4, !dbg !157, !tbaa !26
  %16 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #8, !dbg !158
  %17 = sext i32 %16 to i64, !dbg !159
  %18 = getelementptr inbounds [64 x float], ptr addrspace(3) @_ZZ17divergent_barrierE4tile, i64 0, i64 %17, !dbg !159
  store float %15, ptr addrspace(3) %18, align 4, !dbg !160, !tbaa !26
  tail call spir_func void @__ks_threadgroup_barrier(i32 noundef 2) #9, !dbg !161
  br label %19, !dbg !162

19:                                               ; preds = %11, %2
  %20 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #8, !dbg !163
  %21 = sext i32 %20 to i64, !dbg !164
  %22 = getelementptr inbounds [64 x float], ptr addrspace(3) @_ZZ17divergent_barrierE4tile, i64 0, i64 %21, !dbg !164
  %23 = load float, ptr addrspace(3) %22, align 4, !dbg !164, !tbaa !26
  %24 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !165
  %25 = sext i32 %24 to i64, !dbg !166
  %26 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %25, !dbg !166
  store float %23, ptr addrspace(1) %26, align 4, !dbg !167, !tbaa !26
  ret void, !dbg !168
}

; Function Attrs: convergent mustprogress norecurse nounwind
define dso_local spir_kernel void @two_barriers(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 4 %1) local_unnamed_addr #3 !dbg !169 !kernel_arg_addr_space !54 !kernel_arg_access_qual !55 !kernel_arg_type !56 !kernel_arg_base_type !56 !kernel_arg_type_qual !57 {
  %3 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !170
  %4 = sext i32 %3 to i64, !dbg !171
  %5 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %4, !dbg !171
  %6 = load float, ptr addrspace(1) %5, align 4, !dbg !171, !tbaa !26
  %7 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #8, !dbg !172
  %8 = sext i32 %7 to i64, !dbg !173
  %9 = getelementptr inbounds [64 x float], ptr addrspace(3) @_ZZ12two_barriersE4tile, i64 0, i64 %8, !dbg !173
  store float %6, ptr addrspace(3) %9, align 4, !dbg !174, !tbaa !26
  %10 = tail call spir_func i32 @__ks_sr(i32 noundef 13) #8, !dbg !175
  %11 = icmp eq i32 %10, 0, !dbg !176
  br i1 %11, label %12, label %19, !dbg !175

12:                                               ; preds = %2
  tail call spir_func void @__ks_threadgroup_barrier(i32 noundef 2) #9, !dbg !177
  %13 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #8, !dbg !178
  %14 = sub nsw i32 63, %13, !dbg !179
  %15 = sext i32 %14 to i64, !dbg !180
  %16 = getelementptr inbounds [64 x float], ptr addrspace(3) @_ZZ12two_barriersE4tile, i64 0, i64 %15, !dbg !180
  %17 = load float, ptr addrspace(3) %16, align 4, !dbg !180, !tbaa !26
  %18 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !181
  br label %26, !dbg !182

19:                                               ; preds = %2
  tail call spir_func void @__ks_threadgroup_barrier(i32 noundef 2) #9, !dbg !183
  %20 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #8, !dbg !184
  %21 = sext i32 %20 to i64, !dbg !185
  %22 = getelementptr inbounds [64 x float], ptr addrspace(3) @_ZZ12two_barriersE4tile, i64 0, i64 %21, !dbg !185
  %23 = load float, ptr addrspace(3) %22, align 4, !dbg !185, !tbaa !26
  %24 = fmul nsz arcp contract float %23, 2.000000e+00, !dbg !186
  %25 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !187
  br label %26

26:                                               ; preds = %19, %12
  %27 = phi i32 [ %25, %19 ], [ %18, %12 ]
  %28 = phi float [ %24, %19 ], [ %17, %12 ]
  %29 = sext i32 %27 to i64, !dbg !188
  %30 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %29, !dbg !188
  store float %28, ptr addrspace(1) %30, align 4, !dbg !188, !tbaa !26
  ret void, !dbg !189
}

; Function Attrs: convergent mustprogress norecurse nounwind
define dso_local spir_kernel void @uninitialised_tile(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 4 %1, ptr addrspace(2) nocapture noundef readonly align 4 dereferenceable(4) %2) local_unnamed_addr #3 !dbg !190 !kernel_arg_addr_space !12 !kernel_arg_access_qual !13 !kernel_arg_type !14 !kernel_arg_base_type !15 !kernel_arg_type_qual !16 {
  %4 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #8, !dbg !191
  %5 = load i32, ptr addrspace(2) %2, align 4, !dbg !192, !tbaa !18
  %6 = icmp ult i32 %4, %5, !dbg !193
  br i1 %6, label %7, label %15, !dbg !191

7:                                                ; preds = %3
  %8 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !194
  %9 = sext i32 %8 to i64, !dbg !195
  %10 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %9, !dbg !195
  %11 = load float, ptr addrspace(1) %10, align 4, !dbg !195, !tbaa !26
  %12 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #8, !dbg !196
  %13 = sext i32 %12 to i64, !dbg !197
  %14 = getelementptr inbounds [64 x float], ptr addrspace(3) @_ZZ18uninitialised_tileE4tile, i64 0, i64 %13, !dbg !197
  store float %11, ptr addrspace(3) %14, align 4, !dbg !198, !tbaa !26
  br label %15, !dbg !197

15:                                               ; preds = %7, %3
  tail call spir_func void @__ks_threadgroup_barrier(i32 noundef 2) #9, !dbg !199
  %16 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #8, !dbg !200
  %17 = sub nsw i32 63, %16, !dbg !201
  %18 = sext i32 %17 to i64, !dbg !202
  %19 = getelementptr inbounds [64 x float], ptr addrspace(3) @_ZZ18uninitialised_tileE4tile, i64 0, i64 %18, !dbg !202
  %20 = load float, ptr addrspace(3) %19, align 4, !dbg !202, !tbaa !26
  %21 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !203
  %22 = sext i32 %21 to i64, !dbg !204
  %23 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %22, !dbg !204
  store float %20, ptr addrspace(1) %23, align 4, !dbg !205, !tbaa !26
  ret void, !dbg !206
}

; Function Attrs: convergent mustprogress nofree norecurse nounwind willreturn memory(argmem: readwrite)
define dso_local spir_kernel void @uninitialised_local(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 4 %1, ptr addrspace(2) nocapture noundef readonly align 4 dereferenceable(4) %2) local_unnamed_addr #6 !dbg !207 !kernel_arg_addr_space !12 !kernel_arg_access_qual !13 !kernel_arg_type !14 !kernel_arg_base_type !15 !kernel_arg_type_qual !16 {
  %4 = alloca [16 x float], align 4
  call void @llvm.lifetime.start.p0(i64 64, ptr nonnull %4) #10, !dbg !208
  %5 = load i32, ptr addrspace(2) %2, align 4, !tbaa !18
  %6 = icmp eq i32 %5, 0, !dbg !209
  br i1 %6, label %10, label %7, !dbg !210

7:                                                ; preds = %3
  %8 = zext i32 %5 to i64, !dbg !210
  %9 = shl nuw nsw i64 %8, 2, !dbg !210
  call void @llvm.memcpy.p0.p1.i64(ptr nonnull align 4 %4, ptr addrspace(1) align 4 %0, i64 %9, i1 false), !dbg !211, !tbaa !26
  br label %10, !dbg !212

10:                                               ; preds = %7, %3
  %11 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !213
  %12 = and i32 %11, 15, !dbg !214
  %13 = zext nneg i32 %12 to i64, !dbg !215
  %14 = getelementptr inbounds [16 x float], ptr %4, i64 0, i64 %13, !dbg !215
  %15 = load float, ptr %14, align 4, !dbg !215, !tbaa !26
  %16 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !213
  %17 = add i32 %16, 1, !dbg !216
  %18 = and i32 %17, 15, !dbg !214
  %19 = zext nneg i32 %18 to i64, !dbg !215
  %20 = getelementptr inbounds [16 x float], ptr %4, i64 0, i64 %19, !dbg !215
  %21 = load float, ptr %20, align 4, !dbg !215, !tbaa !26
  %22 = fadd nsz arcp contract float %15, %21, !dbg !217
  %23 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !213
  %24 = add i32 %23, 2, !dbg !216
  %25 = and i32 %24, 15, !dbg !214
  %26 = zext nneg i32 %25 to i64, !dbg !215
  %27 = getelementptr inbounds [16 x float], ptr %4, i64 0, i64 %26, !dbg !215
  %28 = load float, ptr %27, align 4, !dbg !215, !tbaa !26
  %29 = fadd nsz arcp contract float %22, %28, !dbg !217
  %30 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !213
  %31 = add i32 %30, 3, !dbg !216
  %32 = and i32 %31, 15, !dbg !214
  %33 = zext nneg i32 %32 to i64, !dbg !215
  %34 = getelementptr inbounds [16 x float], ptr %4, i64 0, i64 %33, !dbg !215
  %35 = load float, ptr %34, align 4, !dbg !215, !tbaa !26
  %36 = fadd nsz arcp contract float %29, %35, !dbg !217
  %37 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !213
  %38 = add i32 %37, 4, !dbg !216
  %39 = and i32 %38, 15, !dbg !214
  %40 = zext nneg i32 %39 to i64, !dbg !215
  %41 = getelementptr inbounds [16 x float], ptr %4, i64 0, i64 %40, !dbg !215
  %42 = load float, ptr %41, align 4, !dbg !215, !tbaa !26
  %43 = fadd nsz arcp contract float %36, %42, !dbg !217
  %44 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !213
  %45 = add i32 %44, 5, !dbg !216
  %46 = and i32 %45, 15, !dbg !214
  %47 = zext nneg i32 %46 to i64, !dbg !215
  %48 = getelementptr inbounds [16 x float], ptr %4, i64 0, i64 %47, !dbg !215
  %49 = load float, ptr %48, align 4, !dbg !215, !tbaa !26
  %50 = fadd nsz arcp contract float %43, %49, !dbg !217
  %51 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !213
  %52 = add i32 %51, 6, !dbg !216
  %53 = and i32 %52, 15, !dbg !214
  %54 = zext nneg i32 %53 to i64, !dbg !215
  %55 = getelementptr inbounds [16 x float], ptr %4, i64 0, i64 %54, !dbg !215
  %56 = load float, ptr %55, align 4, !dbg !215, !tbaa !26
  %57 = fadd nsz arcp contract float %50, %56, !dbg !217
  %58 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !213
  %59 = add i32 %58, 7, !dbg !216
  %60 = and i32 %59, 15, !dbg !214
  %61 = zext nneg i32 %60 to i64, !dbg !215
  %62 = getelementptr inbounds [16 x float], ptr %4, i64 0, i64 %61, !dbg !215
  %63 = load float, ptr %62, align 4, !dbg !215, !tbaa !26
  %64 = fadd nsz arcp contract float %57, %63, !dbg !217
  %65 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !213
  %66 = and i32 %65, 15, !dbg !214
  %67 = xor i32 %66, 8, !dbg !214
  %68 = zext nneg i32 %67 to i64, !dbg !215
  %69 = getelementptr inbounds [16 x float], ptr %4, i64 0, i64 %68, !dbg !215
  %70 = load float, ptr %69, align 4, !dbg !215, !tbaa !26
  %71 = fadd nsz arcp contract float %64, %70, !dbg !217
  %72 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !213
  %73 = add i32 %72, 9, !dbg !216
  %74 = and i32 %73, 15, !dbg !214
  %75 = zext nneg i32 %74 to i64, !dbg !215
  %76 = getelementptr inbounds [16 x float], ptr %4, i64 0, i64 %75, !dbg !215
  %77 = load float, ptr %76, align 4, !dbg !215, !tbaa !26
  %78 = fadd nsz arcp contract float %71, %77, !dbg !217
  %79 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !213
  %80 = add i32 %79, 10, !dbg !216
  %81 = and i32 %80, 15, !dbg !214
  %82 = zext nneg i32 %81 to i64, !dbg !215
  %83 = getelementptr inbounds [16 x float], ptr %4, i64 0, i64 %82, !dbg !215
  %84 = load float, ptr %83, align 4, !dbg !215, !tbaa !26
  %85 = fadd nsz arcp contract float %78, %84, !dbg !217
  %86 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !213
  %87 = add i32 %86, 11, !dbg !216
  %88 = and i32 %87, 15, !dbg !214
  %89 = zext nneg i32 %88 to i64, !dbg !215
  %90 = getelementptr inbounds [16 x float], ptr %4, i64 0, i64 %89, !dbg !215
  %91 = load float, ptr %90, align 4, !dbg !215, !tbaa !26
  %92 = fadd nsz arcp contract float %85, %91, !dbg !217
  %93 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !213
  %94 = add i32 %93, 12, !dbg !216
  %95 = and i32 %94, 15, !dbg !214
  %96 = zext nneg i32 %95 to i64, !dbg !215
  %97 = getelementptr inbounds [16 x float], ptr %4, i64 0, i64 %96, !dbg !215
  %98 = load float, ptr %97, align 4, !dbg !215, !tbaa !26
  %99 = fadd nsz arcp contract float %92, %98, !dbg !217
  %100 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !213
  %101 = add i32 %100, 13, !dbg !216
  %102 = and i32 %101, 15, !dbg !214
  %103 = zext nneg i32 %102 to i64, !dbg !215
  %104 = getelementptr inbounds [16 x float], ptr %4, i64 0, i64 %103, !dbg !215
  %105 = load float, ptr %104, align 4, !dbg !215, !tbaa !26
  %106 = fadd nsz arcp contract float %99, %105, !dbg !217
  %107 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !213
  %108 = add i32 %107, 14, !dbg !216
  %109 = and i32 %108, 15, !dbg !214
  %110 = zext nneg i32 %109 to i64, !dbg !215
  %111 = getelementptr inbounds [16 x float], ptr %4, i64 0, i64 %110, !dbg !215
  %112 = load float, ptr %111, align 4, !dbg !215, !tbaa !26
  %113 = fadd nsz arcp contract float %106, %112, !dbg !217
  %114 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !213
  %115 = add i32 %114, 15, !dbg !216
  %116 = and i32 %115, 15, !dbg !214
  %117 = zext nneg i32 %116 to i64, !dbg !215
  %118 = getelementptr inbounds [16 x float], ptr %4, i64 0, i64 %117, !dbg !215
  %119 = load float, ptr %118, align 4, !dbg !215, !tbaa !26
  %120 = fadd nsz arcp contract float %113, %119, !dbg !217
  %121 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !218
  %122 = sext i32 %121 to i64, !dbg !219
  %123 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %122, !dbg !219
  store float %120, ptr addrspace(1) %123, align 4, !dbg !220, !tbaa !26
  call void @llvm.lifetime.end.p0(i64 64, ptr nonnull %4) #10, !dbg !221
  ret void, !dbg !221
}

; Function Attrs: convergent mustprogress nofree norecurse nounwind willreturn memory(argmem: readwrite)
define dso_local spir_kernel void @accumulates_unwritten(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef align 4 %1) local_unnamed_addr #6 !dbg !222 !kernel_arg_addr_space !54 !kernel_arg_access_qual !55 !kernel_arg_type !56 !kernel_arg_base_type !56 !kernel_arg_type_qual !57 {
  %3 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !223
  %4 = sext i32 %3 to i64, !dbg !224
  %5 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %4, !dbg !224
  %6 = load float, ptr addrspace(1) %5, align 4, !dbg !224, !tbaa !26
  %7 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %4, !dbg !225
  %8 = load float, ptr addrspace(1) %7, align 4, !dbg !226, !tbaa !26
  %9 = fadd nsz arcp contract float %6, %8, !dbg !226
  store float %9, ptr addrspace(1) %7, align 4, !dbg !226, !tbaa !26
  ret void, !dbg !227
}

; Function Attrs: convergent mustprogress norecurse nounwind
define dso_local spir_kernel void @groups_race(ptr addrspace(1) nocapture noundef align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 4 %1) local_unnamed_addr #3 !dbg !228 !kernel_arg_addr_space !54 !kernel_arg_access_qual !55 !kernel_arg_type !56 !kernel_arg_base_type !56 !kernel_arg_type_qual !229 {
  %3 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #8, !dbg !230
  %4 = icmp eq i32 %3, 0, !dbg !231
  br i1 %4, label %5, label %10, !dbg !230

5:                                                ; preds = %2
  %6 = tail call spir_func i32 @__ks_sr(i32 noundef 3) #8, !dbg !232
  %7 = sitofp i32 %6 to float, !dbg !232
  %8 = sext i32 %6 to i64, !dbg !233
  %9 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %8, !dbg !233
  store float %7, ptr addrspace(1) %9, align 4, !dbg !234, !tbaa !26
  br label %10, !dbg !233

10:                                               ; preds = %5, %2
  tail call spir_func void @__ks_threadgroup_barrier(i32 noundef 3) #9, !dbg !235
  %11 = tail call spir_func i32 @__ks_sr(i32 noundef 3) #8, !dbg !236
  %12 = xor i32 %11, 1, !dbg !237
  %13 = sext i32 %12 to i64, !dbg !238
  %14 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %13, !dbg !238
  %15 = load float, ptr addrspace(1) %14, align 4, !dbg !238, !tbaa !26
  %16 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !239
  %17 = sext i32 %16 to i64, !dbg !240
  %18 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %17, !dbg !240
  store float %15, ptr addrspace(1) %18, align 4, !dbg !241, !tbaa !26
  ret void, !dbg !242
}

; Function Attrs: convergent mustprogress nofree norecurse nounwind memory(argmem: readwrite)
define dso_local spir_kernel void @endless(ptr addrspace(1) nocapture noundef align 4 %0) local_unnamed_addr #0 !dbg !243 !kernel_arg_addr_space !38 !kernel_arg_access_qual !39 !kernel_arg_type !40 !kernel_arg_base_type !40 !kernel_arg_type_qual !41 {
  %2 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !244
  %3 = sext i32 %2 to i64, !dbg !245
  %4 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %3, !dbg !245
  %5 = load float, ptr addrspace(1) %4, align 4, !dbg !245, !tbaa !26
  %6 = fcmp nsz arcp contract olt float %5, 2.000000e+00, !dbg !246
  br i1 %6, label %7, label %14, !dbg !247

7:                                                ; preds = %1, %7
  %8 = phi float [ %9, %7 ], [ %5, %1 ]
  %9 = fmul nsz arcp contract float %8, 5.000000e-01, !dbg !248
  %10 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !249
  %11 = sext i32 %10 to i64, !dbg !250
  %12 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %11, !dbg !250
  store float %9, ptr addrspace(1) %12, align 4, !dbg !251, !tbaa !26
  %13 = fcmp nsz arcp contract olt float %9, 2.000000e+00, !dbg !246
  br i1 %13, label %7, label %14, !dbg !247, !llvm.loop !252

14:                                               ; preds = %7, %1
  ret void, !dbg !254
}

; Function Attrs: convergent mustprogress nofree norecurse nounwind willreturn memory(argmem: readwrite)
define dso_local spir_kernel void @misaligned(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 16 %1) local_unnamed_addr #6 !dbg !255 !kernel_arg_addr_space !54 !kernel_arg_access_qual !55 !kernel_arg_type !256 !kernel_arg_base_type !257 !kernel_arg_type_qual !57 {
  %3 = getelementptr inbounds i8, ptr addrspace(1) %0, i64 4, !dbg !258
  %4 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !259
  %5 = sext i32 %4 to i64, !dbg !260
  %6 = getelementptr inbounds <4 x float>, ptr addrspace(1) %3, i64 %5, !dbg !260
  %7 = load <4 x float>, ptr addrspace(1) %6, align 16, !dbg !260, !tbaa !261
  %8 = getelementptr inbounds <4 x float>, ptr addrspace(1) %1, i64 %5, !dbg !262
  store <4 x float> %7, ptr addrspace(1) %8, align 16, !dbg !263, !tbaa !261
  ret void, !dbg !264
}

; Function Attrs: convergent mustprogress nofree norecurse nounwind willreturn memory(argmem: readwrite)
define dso_local spir_kernel void @write_input(ptr addrspace(1) nocapture noundef align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 4 %1) local_unnamed_addr #6 !dbg !265 !kernel_arg_addr_space !54 !kernel_arg_access_qual !55 !kernel_arg_type !56 !kernel_arg_base_type !56 !kernel_arg_type_qual !229 {
  %3 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !266
  %4 = sext i32 %3 to i64, !dbg !267
  %5 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %4, !dbg !267
  %6 = load float, ptr addrspace(1) %5, align 4, !dbg !267, !tbaa !26
  %7 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %4, !dbg !268
  store float %6, ptr addrspace(1) %7, align 4, !dbg !269, !tbaa !26
  store float 0.000000e+00, ptr addrspace(1) %5, align 4, !dbg !270, !tbaa !26
  ret void, !dbg !271
}

; Function Attrs: convergent mustprogress nofree norecurse nounwind willreturn memory(readwrite, inaccessiblemem: none)
define dso_local spir_kernel void @lanes_without_barrier(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 4 %1) local_unnamed_addr #5 !dbg !272 !kernel_arg_addr_space !54 !kernel_arg_access_qual !55 !kernel_arg_type !56 !kernel_arg_base_type !56 !kernel_arg_type_qual !57 {
  %3 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #8, !dbg !273
  %4 = sext i32 %3 to i64, !dbg !274
  %5 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %4, !dbg !274
  %6 = load float, ptr addrspace(1) %5, align 4, !dbg !274, !tbaa !26
  %7 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #8, !dbg !275
  %8 = sext i32 %7 to i64, !dbg !276
  %9 = getelementptr inbounds [64 x float], ptr addrspace(3) @_ZZ21lanes_without_barrierE4tile, i64 0, i64 %8, !dbg !276
  store float %6, ptr addrspace(3) %9, align 4, !dbg !277, !tbaa !26
  %10 = xor i32 %7, 1, !dbg !278
  %11 = sext i32 %10 to i64, !dbg !279
  %12 = getelementptr inbounds [64 x float], ptr addrspace(3) @_ZZ21lanes_without_barrierE4tile, i64 0, i64 %11, !dbg !279
  %13 = load float, ptr addrspace(3) %12, align 4, !dbg !279, !tbaa !26
  %14 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %4, !dbg !280
  store float %13, ptr addrspace(1) %14, align 4, !dbg !281, !tbaa !26
  ret void, !dbg !282
}

; Function Attrs: nocallback nofree nounwind willreturn memory(argmem: readwrite)
declare void @llvm.memcpy.p0.p1.i64(ptr noalias nocapture writeonly, ptr addrspace(1) noalias nocapture readonly, i64, i1 immarg) #7

attributes #0 = { convergent mustprogress nofree norecurse nounwind memory(argmem: readwrite) "frame-pointer"="all" "no-signed-zeros-fp-math"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "uniform-work-group-size"="true" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { convergent mustprogress nofree nounwind willreturn memory(none) "frame-pointer"="all" "no-signed-zeros-fp-math"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #3 = { convergent mustprogress norecurse nounwind "frame-pointer"="all" "no-signed-zeros-fp-math"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "uniform-work-group-size"="true" }
attributes #4 = { convergent nounwind "frame-pointer"="all" "no-signed-zeros-fp-math"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #5 = { convergent mustprogress nofree norecurse nounwind willreturn memory(readwrite, inaccessiblemem: none) "frame-pointer"="all" "no-signed-zeros-fp-math"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "uniform-work-group-size"="true" }
attributes #6 = { convergent mustprogress nofree norecurse nounwind willreturn memory(argmem: readwrite) "frame-pointer"="all" "no-signed-zeros-fp-math"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "uniform-work-group-size"="true" }
attributes #7 = { nocallback nofree nounwind willreturn memory(argmem: readwrite) }
attributes #8 = { convergent nounwind willreturn memory(none) }
attributes #9 = { convergent nounwind }
attributes #10 = { nounwind }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3, !4, !5}
!opencl.ocl.version = !{!6}
!opencl.cxx.version = !{!7}
!opencl.spir.version = !{!6}
!llvm.ident = !{!8}

!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !1, producer: "Debian clang version 19.1.7 (3~deb12u1)", isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly, splitDebugInlining: false, nameTableKind: None)
!1 = !DIFile(filename: "bugs.cl", directory: ".", checksumkind: CSK_MD5, checksum: "8d64183185776b0ac3a08a2a861695b5")
!2 = !{i32 7, !"Dwarf Version", i32 5}
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = !{i32 1, !"wchar_size", i32 4}
!5 = !{i32 7, !"frame-pointer", i32 2}
!6 = !{i32 3, i32 0}
!7 = !{i32 2021, i32 0}
!8 = !{!"Debian clang version 19.1.7 (3~deb12u1)"}
!9 = distinct !DISubprogram(name: "off_by_one", scope: !1, file: !1, line: 3, type: !10, scopeLine: 3, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!10 = !DISubroutineType(types: !11)
!11 = !{}
!12 = !{i32 1, i32 1, i32 0}
!13 = !{!"none", !"none", !"none"}
!14 = !{!"float*", !"float*", !"__constant uint &"}
!15 = !{!"float*", !"float*", !"__constant unsigned int &"}
!16 = !{!"const", !"", !""}
!17 = !DILocation(line: 4, column: 17, scope: !9)
!18 = !{!19, !19, i64 0}
!19 = !{!"int", !20, i64 0}
!20 = !{!"omnipotent char", !21, i64 0}
!21 = !{!"Simple C++ TBAA"}
!22 = !DILocation(line: 4, column: 24, scope: !9)
!23 = !DILocation(line: 4, column: 3, scope: !9)
!24 = !DILocation(line: 6, column: 1, scope: !9)
!25 = !DILocation(line: 5, column: 14, scope: !9)
!26 = !{!27, !27, i64 0}
!27 = !{!"float", !20, i64 0}
!28 = !DILocation(line: 5, column: 20, scope: !9)
!29 = !DILocation(line: 5, column: 5, scope: !9)
!30 = !DILocation(line: 5, column: 12, scope: !9)
!31 = !DILocation(line: 4, column: 32, scope: !9)
!32 = distinct !{!32, !23, !33, !34}
!33 = !DILocation(line: 5, column: 22, scope: !9)
!34 = !{!"llvm.loop.mustprogress"}
!35 = !DISubprogram(name: "__ks_sr", scope: !36, file: !36, line: 6, type: !10, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
!36 = !DIFile(filename: "./ks.h", directory: ".", checksumkind: CSK_MD5, checksum: "0e8dc3fd852547a75e1f09f74de41f48")
!37 = distinct !DISubprogram(name: "past_tile", scope: !1, file: !1, line: 8, type: !10, scopeLine: 8, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!38 = !{i32 1}
!39 = !{!"none"}
!40 = !{!"float*"}
!41 = !{!""}
!42 = !DILocation(line: 10, column: 8, scope: !37)
!43 = !DILocation(line: 10, column: 12, scope: !37)
!44 = !DILocation(line: 10, column: 3, scope: !37)
!45 = !DILocation(line: 10, column: 17, scope: !37)
!46 = !DILocation(line: 11, column: 3, scope: !37)
!47 = !DILocation(line: 12, column: 14, scope: !37)
!48 = !DILocation(line: 12, column: 7, scope: !37)
!49 = !DILocation(line: 12, column: 3, scope: !37)
!50 = !DILocation(line: 12, column: 12, scope: !37)
!51 = !DILocation(line: 13, column: 1, scope: !37)
!52 = !DISubprogram(name: "__ks_threadgroup_barrier", scope: !36, file: !36, line: 7, type: !10, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
!53 = distinct !DISubprogram(name: "missing_barrier", scope: !1, file: !1, line: 15, type: !10, scopeLine: 15, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!54 = !{i32 1, i32 1}
!55 = !{!"none", !"none"}
!56 = !{!"float*", !"float*"}
!57 = !{!"const", !""}
!58 = !DILocation(line: 17, column: 18, scope: !53)
!59 = !DILocation(line: 17, column: 15, scope: !53)
!60 = !DILocation(line: 17, column: 8, scope: !53)
!61 = !DILocation(line: 17, column: 3, scope: !53)
!62 = !DILocation(line: 17, column: 13, scope: !53)
!63 = !DILocation(line: 18, column: 23, scope: !53)
!64 = !DILocation(line: 18, column: 14, scope: !53)
!65 = !DILocation(line: 18, column: 3, scope: !53)
!66 = !DILocation(line: 18, column: 12, scope: !53)
!67 = !DILocation(line: 19, column: 1, scope: !53)
!68 = distinct !DISubprogram(name: "reuse_without_barrier", scope: !1, file: !1, line: 21, type: !10, scopeLine: 21, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!69 = !DILocation(line: 23, column: 34, scope: !68)
!70 = !DILocation(line: 23, column: 31, scope: !68)
!71 = !DILocation(line: 23, column: 13, scope: !68)
!72 = !DILocation(line: 24, column: 7, scope: !68)
!73 = !DILocation(line: 24, column: 12, scope: !68)
!74 = !DILocation(line: 24, column: 23, scope: !68)
!75 = !DILocation(line: 24, column: 18, scope: !68)
!76 = !DILocation(line: 24, column: 29, scope: !68)
!77 = !DILocation(line: 25, column: 3, scope: !68)
!78 = !DILocation(line: 27, column: 8, scope: !68)
!79 = !DILocation(line: 27, scope: !68)
!80 = !DILocation(line: 0, scope: !68)
!81 = !DILocation(line: 27, column: 23, scope: !68)
!82 = !DILocation(line: 27, column: 21, scope: !68)
!83 = !DILocation(line: 27, column: 3, scope: !68)
!84 = !DILocation(line: 28, column: 34, scope: !68)
!85 = !DILocation(line: 28, column: 31, scope: !68)
!86 = !DILocation(line: 28, column: 13, scope: !68)
!87 = !DILocation(line: 29, column: 7, scope: !68)
!88 = !DILocation(line: 29, column: 12, scope: !68)
!89 = !DILocation(line: 27, column: 44, scope: !68)
!90 = !DILocation(line: 27, column: 41, scope: !68)
!91 = !DILocation(line: 27, column: 31, scope: !68)
!92 = distinct !{!92, !83, !93, !34}
!93 = !DILocation(line: 27, column: 50, scope: !68)
!94 = !DILocation(line: 29, column: 23, scope: !68)
!95 = !DILocation(line: 29, column: 18, scope: !68)
!96 = !DILocation(line: 29, column: 29, scope: !68)
!97 = !DILocation(line: 30, column: 3, scope: !68)
!98 = !DILocation(line: 32, column: 8, scope: !68)
!99 = !DILocation(line: 32, scope: !68)
!100 = !DILocation(line: 32, column: 23, scope: !68)
!101 = !DILocation(line: 32, column: 21, scope: !68)
!102 = !DILocation(line: 32, column: 3, scope: !68)
!103 = !DILocation(line: 33, column: 20, scope: !68)
!104 = !DILocation(line: 33, column: 7, scope: !68)
!105 = !DILocation(line: 33, column: 3, scope: !68)
!106 = !DILocation(line: 33, column: 12, scope: !68)
!107 = !DILocation(line: 34, column: 1, scope: !68)
!108 = !DILocation(line: 32, column: 40, scope: !68)
!109 = !DILocation(line: 32, column: 37, scope: !68)
!110 = !DILocation(line: 32, column: 31, scope: !68)
!111 = distinct !{!111, !102, !112, !34}
!112 = !DILocation(line: 32, column: 46, scope: !68)
!113 = !DISubprogram(name: "__ks_simd_sum_f32", scope: !36, file: !36, line: 17, type: !10, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
!114 = !DISubprogram(name: "__ks_simd_max_f32", scope: !36, file: !36, line: 18, type: !10, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
!115 = distinct !DISubprogram(name: "weak_fence", scope: !1, file: !1, line: 36, type: !10, scopeLine: 36, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!116 = !DILocation(line: 38, column: 34, scope: !115)
!117 = !DILocation(line: 38, column: 31, scope: !115)
!118 = !DILocation(line: 38, column: 13, scope: !115)
!119 = !DILocation(line: 39, column: 7, scope: !115)
!120 = !DILocation(line: 39, column: 12, scope: !115)
!121 = !DILocation(line: 39, column: 23, scope: !115)
!122 = !DILocation(line: 39, column: 18, scope: !115)
!123 = !DILocation(line: 39, column: 29, scope: !115)
!124 = !DILocation(line: 40, column: 3, scope: !115)
!125 = !DILocation(line: 41, column: 14, scope: !115)
!126 = !DILocation(line: 41, column: 7, scope: !115)
!127 = !DILocation(line: 41, column: 3, scope: !115)
!128 = !DILocation(line: 41, column: 12, scope: !115)
!129 = !DILocation(line: 42, column: 1, scope: !115)
!130 = distinct !DISubprogram(name: "early_return", scope: !1, file: !1, line: 44, type: !10, scopeLine: 44, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!131 = !DILocation(line: 46, column: 7, scope: !130)
!132 = !DILocation(line: 46, column: 14, scope: !130)
!133 = !DILocation(line: 46, column: 11, scope: !130)
!134 = !DILocation(line: 47, column: 34, scope: !130)
!135 = !DILocation(line: 47, column: 31, scope: !130)
!136 = !DILocation(line: 47, column: 13, scope: !130)
!137 = !DILocation(line: 48, column: 7, scope: !130)
!138 = !DILocation(line: 48, column: 12, scope: !130)
!139 = !DILocation(line: 48, column: 23, scope: !130)
!140 = !DILocation(line: 48, column: 18, scope: !130)
!141 = !DILocation(line: 48, column: 29, scope: !130)
!142 = !DILocation(line: 49, column: 3, scope: !130)
!143 = !DILocation(line: 50, column: 14, scope: !130)
!144 = !DILocation(line: 50, column: 7, scope: !130)
!145 = !DILocation(line: 50, column: 3, scope: !130)
!146 = !DILocation(line: 50, column: 12, scope: !130)
!147 = !DILocation(line: 51, column: 1, scope: !130)
!148 = distinct !DISubprogram(name: "divergent_barrier", scope: !1, file: !1, line: 53, type: !10, scopeLine: 53, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!149 = !DILocation(line: 55, column: 8, scope: !148)
!150 = !DILocation(line: 55, column: 3, scope: !148)
!151 = !DILocation(line: 55, column: 13, scope: !148)
!152 = !DILocation(line: 56, column: 3, scope: !148)
!153 = !DILocation(line: 57, column: 10, scope: !148)
!154 = !DILocation(line: 57, column: 7, scope: !148)
!155 = !DILocation(line: 57, column: 15, scope: !148)
!156 = !DILocation(line: 58, column: 20, scope: !148)
!157 = !DILocation(line: 58, column: 17, scope: !148)
!158 = !DILocation(line: 58, column: 10, scope: !148)
!159 = !DILocation(line: 58, column: 5, scope: !148)
!160 = !DILocation(line: 58, column: 15, scope: !148)
!161 = !DILocation(line: 59, column: 5, scope: !148)
!162 = !DILocation(line: 60, column: 3, scope: !148)
!163 = !DILocation(line: 61, column: 19, scope: !148)
!164 = !DILocation(line: 61, column: 14, scope: !148)
!165 = !DILocation(line: 61, column: 7, scope: !148)
!166 = !DILocation(line: 61, column: 3, scope: !148)
!167 = !DILocation(line: 61, column: 12, scope: !148)
!168 = !DILocation(line: 62, column: 1, scope: !148)
!169 = distinct !DISubprogram(name: "two_barriers", scope: !1, file: !1, line: 64, type: !10, scopeLine: 64, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!170 = !DILocation(line: 66, column: 18, scope: !169)
!171 = !DILocation(line: 66, column: 15, scope: !169)
!172 = !DILocation(line: 66, column: 8, scope: !169)
!173 = !DILocation(line: 66, column: 3, scope: !169)
!174 = !DILocation(line: 66, column: 13, scope: !169)
!175 = !DILocation(line: 67, column: 7, scope: !169)
!176 = !DILocation(line: 67, column: 12, scope: !169)
!177 = !DILocation(line: 68, column: 5, scope: !169)
!178 = !DILocation(line: 69, column: 26, scope: !169)
!179 = !DILocation(line: 69, column: 24, scope: !169)
!180 = !DILocation(line: 69, column: 16, scope: !169)
!181 = !DILocation(line: 69, column: 9, scope: !169)
!182 = !DILocation(line: 70, column: 3, scope: !169)
!183 = !DILocation(line: 71, column: 5, scope: !169)
!184 = !DILocation(line: 72, column: 21, scope: !169)
!185 = !DILocation(line: 72, column: 16, scope: !169)
!186 = !DILocation(line: 72, column: 26, scope: !169)
!187 = !DILocation(line: 72, column: 9, scope: !169)
!188 = !DILocation(line: 0, scope: !169)
!189 = !DILocation(line: 74, column: 1, scope: !169)
!190 = distinct !DISubprogram(name: "uninitialised_tile", scope: !1, file: !1, line: 76, type: !10, scopeLine: 76, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!191 = !DILocation(line: 78, column: 7, scope: !190)
!192 = !DILocation(line: 78, column: 13, scope: !190)
!193 = !DILocation(line: 78, column: 11, scope: !190)
!194 = !DILocation(line: 78, column: 31, scope: !190)
!195 = !DILocation(line: 78, column: 28, scope: !190)
!196 = !DILocation(line: 78, column: 21, scope: !190)
!197 = !DILocation(line: 78, column: 16, scope: !190)
!198 = !DILocation(line: 78, column: 26, scope: !190)
!199 = !DILocation(line: 79, column: 3, scope: !190)
!200 = !DILocation(line: 80, column: 24, scope: !190)
!201 = !DILocation(line: 80, column: 22, scope: !190)
!202 = !DILocation(line: 80, column: 14, scope: !190)
!203 = !DILocation(line: 80, column: 7, scope: !190)
!204 = !DILocation(line: 80, column: 3, scope: !190)
!205 = !DILocation(line: 80, column: 12, scope: !190)
!206 = !DILocation(line: 81, column: 1, scope: !190)
!207 = distinct !DISubprogram(name: "uninitialised_local", scope: !1, file: !1, line: 83, type: !10, scopeLine: 83, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!208 = !DILocation(line: 84, column: 3, scope: !207)
!209 = !DILocation(line: 85, column: 22, scope: !207)
!210 = !DILocation(line: 85, column: 3, scope: !207)
!211 = !DILocation(line: 85, column: 37, scope: !207)
!212 = !DILocation(line: 87, column: 3, scope: !207)
!213 = !DILocation(line: 87, column: 45, scope: !207)
!214 = !DILocation(line: 87, column: 50, scope: !207)
!215 = !DILocation(line: 87, column: 38, scope: !207)
!216 = !DILocation(line: 87, column: 43, scope: !207)
!217 = !DILocation(line: 87, column: 35, scope: !207)
!218 = !DILocation(line: 88, column: 7, scope: !207)
!219 = !DILocation(line: 88, column: 3, scope: !207)
!220 = !DILocation(line: 88, column: 12, scope: !207)
!221 = !DILocation(line: 89, column: 1, scope: !207)
!222 = distinct !DISubprogram(name: "accumulates_unwritten", scope: !1, file: !1, line: 91, type: !10, scopeLine: 91, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!223 = !DILocation(line: 92, column: 18, scope: !222)
!224 = !DILocation(line: 92, column: 15, scope: !222)
!225 = !DILocation(line: 92, column: 3, scope: !222)
!226 = !DILocation(line: 92, column: 12, scope: !222)
!227 = !DILocation(line: 93, column: 1, scope: !222)
!228 = distinct !DISubprogram(name: "groups_race", scope: !1, file: !1, line: 95, type: !10, scopeLine: 95, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!229 = !{!"", !""}
!230 = !DILocation(line: 96, column: 7, scope: !228)
!231 = !DILocation(line: 96, column: 11, scope: !228)
!232 = !DILocation(line: 96, column: 39, scope: !228)
!233 = !DILocation(line: 96, column: 17, scope: !228)
!234 = !DILocation(line: 96, column: 30, scope: !228)
!235 = !DILocation(line: 97, column: 3, scope: !228)
!236 = !DILocation(line: 98, column: 20, scope: !228)
!237 = !DILocation(line: 98, column: 26, scope: !228)
!238 = !DILocation(line: 98, column: 14, scope: !228)
!239 = !DILocation(line: 98, column: 7, scope: !228)
!240 = !DILocation(line: 98, column: 3, scope: !228)
!241 = !DILocation(line: 98, column: 12, scope: !228)
!242 = !DILocation(line: 99, column: 1, scope: !228)
!243 = distinct !DISubprogram(name: "endless", scope: !1, file: !1, line: 101, type: !10, scopeLine: 101, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!244 = !DILocation(line: 102, column: 17, scope: !243)
!245 = !DILocation(line: 102, column: 13, scope: !243)
!246 = !DILocation(line: 103, column: 12, scope: !243)
!247 = !DILocation(line: 103, column: 3, scope: !243)
!248 = !DILocation(line: 104, column: 11, scope: !243)
!249 = !DILocation(line: 105, column: 9, scope: !243)
!250 = !DILocation(line: 105, column: 5, scope: !243)
!251 = !DILocation(line: 105, column: 14, scope: !243)
!252 = distinct !{!252, !247, !253, !34}
!253 = !DILocation(line: 106, column: 3, scope: !243)
!254 = !DILocation(line: 107, column: 1, scope: !243)
!255 = distinct !DISubprogram(name: "misaligned", scope: !1, file: !1, line: 109, type: !10, scopeLine: 109, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!256 = !{!"float*", !"float4*"}
!257 = !{!"float*", !"float __attribute__((ext_vector_type(4)))*"}
!258 = !DILocation(line: 110, column: 54, scope: !255)
!259 = !DILocation(line: 111, column: 16, scope: !255)
!260 = !DILocation(line: 111, column: 14, scope: !255)
!261 = !{!20, !20, i64 0}
!262 = !DILocation(line: 111, column: 3, scope: !255)
!263 = !DILocation(line: 111, column: 12, scope: !255)
!264 = !DILocation(line: 112, column: 1, scope: !255)
!265 = distinct !DISubprogram(name: "write_input", scope: !1, file: !1, line: 114, type: !10, scopeLine: 114, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!266 = !DILocation(line: 115, column: 17, scope: !265)
!267 = !DILocation(line: 115, column: 14, scope: !265)
!268 = !DILocation(line: 115, column: 3, scope: !265)
!269 = !DILocation(line: 115, column: 12, scope: !265)
!270 = !DILocation(line: 116, column: 11, scope: !265)
!271 = !DILocation(line: 117, column: 1, scope: !265)
!272 = distinct !DISubprogram(name: "lanes_without_barrier", scope: !1, file: !1, line: 119, type: !10, scopeLine: 119, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!273 = !DILocation(line: 121, column: 18, scope: !272)
!274 = !DILocation(line: 121, column: 15, scope: !272)
!275 = !DILocation(line: 121, column: 8, scope: !272)
!276 = !DILocation(line: 121, column: 3, scope: !272)
!277 = !DILocation(line: 121, column: 13, scope: !272)
!278 = !DILocation(line: 122, column: 23, scope: !272)
!279 = !DILocation(line: 122, column: 14, scope: !272)
!280 = !DILocation(line: 122, column: 3, scope: !272)
!281 = !DILocation(line: 122, column: 12, scope: !272)
!282 = !DILocation(line: 123, column: 1, scope: !272)
