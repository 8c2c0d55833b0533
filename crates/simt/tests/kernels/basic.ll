; ModuleID = 'basic.cl'
source_filename = "basic.cl"
target datalayout = "e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-G1"
target triple = "spir64"

@_ZZ9block_sumE4part = internal unnamed_addr addrspace(3) global [8 x float] undef, align 4
@table = dso_local local_unnamed_addr addrspace(2) constant [5 x float] [float 1.000000e+00, float -2.000000e+00, float 4.000000e+00, float -8.000000e+00, float 1.600000e+01], align 4

; Function Attrs: convergent mustprogress nofree norecurse nounwind willreturn memory(argmem: readwrite)
define dso_local spir_kernel void @saxpy(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef align 4 %1, ptr addrspace(2) nocapture noundef readonly align 4 dereferenceable(4) %2, ptr addrspace(2) nocapture noundef readonly align 4 dereferenceable(4) %3) local_unnamed_addr #0 !dbg !9 !kernel_arg_addr_space !12 !kernel_arg_access_qual !13 !kernel_arg_type !14 !kernel_arg_base_type !15 !kernel_arg_type_qual !16 {
  %5 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #9, !dbg !17
  %6 = load i32, ptr addrspace(2) %3, align 4, !dbg !18, !tbaa !19
  %7 = icmp ult i32 %5, %6, !dbg !23
  br i1 %7, label %8, label %17, !dbg !24

8:                                                ; preds = %4
  %9 = load float, ptr addrspace(2) %2, align 4, !dbg !25, !tbaa !26
  %10 = zext i32 %5 to i64, !dbg !28
  %11 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %10, !dbg !28
  %12 = load float, ptr addrspace(1) %11, align 4, !dbg !28, !tbaa !26
  %13 = fmul nsz arcp contract float %9, %12, !dbg !29
  %14 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %10, !dbg !30
  %15 = load float, ptr addrspace(1) %14, align 4, !dbg !30, !tbaa !26
  %16 = fadd nsz arcp contract float %13, %15, !dbg !31
  store float %16, ptr addrspace(1) %14, align 4, !dbg !32, !tbaa !26
  br label %17, !dbg !33

17:                                               ; preds = %8, %4
  ret void, !dbg !34
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture) #1

; Function Attrs: convergent mustprogress nofree nounwind willreturn memory(none)
declare !dbg !35 dso_local spir_func i32 @__ks_sr(i32 noundef) local_unnamed_addr #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture) #1

; Function Attrs: convergent mustprogress nofree norecurse nounwind memory(argmem: readwrite)
define dso_local spir_kernel void @collatz(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 4 %1) local_unnamed_addr #3 !dbg !37 !kernel_arg_addr_space !38 !kernel_arg_access_qual !39 !kernel_arg_type !40 !kernel_arg_base_type !40 !kernel_arg_type_qual !41 {
  %3 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #9, !dbg !42
  %4 = sext i32 %3 to i64, !dbg !43
  %5 = getelementptr inbounds i32, ptr addrspace(1) %0, i64 %4, !dbg !43
  %6 = load i32, ptr addrspace(1) %5, align 4, !dbg !43, !tbaa !19
  %7 = icmp eq i32 %6, 1, !dbg !44
  br i1 %7, label %19, label %8, !dbg !45

8:                                                ; preds = %2, %8
  %9 = phi i32 [ %17, %8 ], [ 0, %2 ]
  %10 = phi i32 [ %16, %8 ], [ %6, %2 ]
  %11 = and i32 %10, 1, !dbg !46
  %12 = icmp eq i32 %11, 0, !dbg !47
  %13 = lshr exact i32 %10, 1, !dbg !48
  %14 = mul i32 %10, 3, !dbg !48
  %15 = add i32 %14, 1, !dbg !48
  %16 = select i1 %12, i32 %13, i32 %15, !dbg !48
  %17 = add i32 %9, 1, !dbg !49
  %18 = icmp eq i32 %16, 1, !dbg !44
  br i1 %18, label %19, label %8, !dbg !45, !llvm.loop !50

19:                                               ; preds = %8, %2
  %20 = phi i32 [ 0, %2 ], [ %17, %8 ], !dbg !53
  %21 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #9, !dbg !54
  %22 = sext i32 %21 to i64, !dbg !55
  %23 = getelementptr inbounds i32, ptr addrspace(1) %1, i64 %22, !dbg !55
  store i32 %20, ptr addrspace(1) %23, align 4, !dbg !56, !tbaa !19
  ret void, !dbg !57
}

; Function Attrs: convergent mustprogress nofree norecurse nounwind memory(argmem: readwrite)
define dso_local spir_kernel void @nested(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 4 %1) local_unnamed_addr #3 !dbg !58 !kernel_arg_addr_space !38 !kernel_arg_access_qual !39 !kernel_arg_type !59 !kernel_arg_base_type !59 !kernel_arg_type_qual !41 {
  %3 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #9, !dbg !60
  %4 = sext i32 %3 to i64, !dbg !61
  %5 = getelementptr inbounds i32, ptr addrspace(1) %0, i64 %4, !dbg !61
  %6 = load i32, ptr addrspace(1) %5, align 4, !dbg !61, !tbaa !19
  %7 = icmp sgt i32 %6, 0, !dbg !62
  br i1 %7, label %8, label %36, !dbg !63

8:                                                ; preds = %2
  %9 = shl nuw nsw i32 %6, 1
  br label %10, !dbg !63

10:                                               ; preds = %8, %32
  %11 = phi i32 [ 0, %8 ], [ %34, %32 ]
  %12 = phi i32 [ 0, %8 ], [ %33, %32 ]
  %13 = urem i32 %11, 3, !dbg !64
  %14 = icmp eq i32 %13, 0, !dbg !65
  br i1 %14, label %32, label %15, !dbg !66

15:                                               ; preds = %10
  %16 = icmp ult i32 %11, %9, !dbg !67
  br i1 %16, label %20, label %29, !dbg !68

17:                                               ; preds = %26
  %18 = add nuw nsw i32 %21, 3, !dbg !69
  %19 = icmp ult i32 %18, %9, !dbg !67
  br i1 %19, label %20, label %29, !dbg !68, !llvm.loop !70

20:                                               ; preds = %15, %17
  %21 = phi i32 [ %18, %17 ], [ %11, %15 ]
  %22 = phi i32 [ %27, %17 ], [ %12, %15 ]
  %23 = xor i32 %21, %6, !dbg !72
  %24 = urem i32 %23, 7, !dbg !73
  %25 = icmp eq i32 %24, 5, !dbg !74
  br i1 %25, label %29, label %26, !dbg !75

26:                                               ; preds = %20
  %27 = add nsw i32 %21, %22, !dbg !76
  %28 = icmp sgt i32 %27, 1000, !dbg !77
  br i1 %28, label %36, label %17, !dbg !78

29:                                               ; preds = %20, %17, %15
  %30 = phi i32 [ %12, %15 ], [ %27, %17 ], [ %22, %20 ], !dbg !79
  %31 = xor i32 %30, %11, !dbg !80
  br label %32, !dbg !81

32:                                               ; preds = %10, %29
  %33 = phi i32 [ %12, %10 ], [ %31, %29 ], !dbg !79
  %34 = add nuw nsw i32 %11, 1, !dbg !82
  %35 = icmp slt i32 %34, %6, !dbg !62
  br i1 %35, label %10, label %36, !dbg !63, !llvm.loop !83

36:                                               ; preds = %32, %26, %2
  %37 = phi i32 [ 0, %2 ], [ %27, %26 ], [ %33, %32 ], !dbg !84
  %38 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #9, !dbg !85
  %39 = sext i32 %38 to i64, !dbg !86
  %40 = getelementptr inbounds i32, ptr addrspace(1) %1, i64 %39, !dbg !86
  store i32 %37, ptr addrspace(1) %40, align 4, !dbg !87, !tbaa !19
  ret void, !dbg !88
}

; Function Attrs: convergent mustprogress norecurse nounwind
define dso_local spir_kernel void @block_sum(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 4 %1) local_unnamed_addr #4 !dbg !89 !kernel_arg_addr_space !38 !kernel_arg_access_qual !39 !kernel_arg_type !90 !kernel_arg_base_type !90 !kernel_arg_type_qual !41 {
  %3 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #9, !dbg !91
  %4 = sext i32 %3 to i64, !dbg !92
  %5 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %4, !dbg !92
  %6 = load float, ptr addrspace(1) %5, align 4, !dbg !92, !tbaa !26
  %7 = tail call nsz arcp contract spir_func float @__ks_simd_sum_f32(float noundef %6) #10, !dbg !93
  %8 = tail call spir_func i32 @__ks_sr(i32 noundef 12) #9, !dbg !94
  %9 = icmp eq i32 %8, 0, !dbg !95
  br i1 %9, label %10, label %14, !dbg !94

10:                                               ; preds = %2
  %11 = tail call spir_func i32 @__ks_sr(i32 noundef 13) #9, !dbg !96
  %12 = sext i32 %11 to i64, !dbg !97
  %13 = getelementptr inbounds [8 x float], ptr addrspace(3) @_ZZ9block_sumE4part, i64 0, i64 %12, !dbg !97
  store float %7, ptr addrspace(3) %13, align 4, !dbg !98, !tbaa !26
  br label %14, !dbg !97

14:                                               ; preds = %10, %2
  tail call spir_func void @__ks_threadgroup_barrier(i32 noundef 2) #10, !dbg !99
  %15 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #9, !dbg !100
  %16 = icmp eq i32 %15, 0, !dbg !101
  br i1 %16, label %17, label %32, !dbg !100

17:                                               ; preds = %14, %26
  %18 = phi nsz float [ %30, %26 ], [ 0.000000e+00, %14 ], !dbg !102
  %19 = phi i32 [ %31, %26 ], [ 0, %14 ], !dbg !103
  %20 = tail call spir_func i32 @__ks_sr(i32 noundef 14) #9, !dbg !104
  %21 = icmp slt i32 %19, %20, !dbg !105
  br i1 %21, label %26, label %22, !dbg !106

22:                                               ; preds = %17
  %23 = tail call spir_func i32 @__ks_sr(i32 noundef 3) #9, !dbg !107
  %24 = sext i32 %23 to i64, !dbg !108
  %25 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %24, !dbg !108
  store float %18, ptr addrspace(1) %25, align 4, !dbg !109, !tbaa !26
  br label %32, !dbg !110

26:                                               ; preds = %17
  %27 = zext nneg i32 %19 to i64, !dbg !111
  %28 = getelementptr inbounds [8 x float], ptr addrspace(3) @_ZZ9block_sumE4part, i64 0, i64 %27, !dbg !111
  %29 = load float, ptr addrspace(3) %28, align 4, !dbg !111, !tbaa !26
  %30 = fadd nsz arcp contract float %18, %29, !dbg !112
  %31 = add nuw nsw i32 %19, 1, !dbg !113
  br label %17, !dbg !106, !llvm.loop !114

32:                                               ; preds = %22, %14
  ret void, !dbg !116
}

; Function Attrs: convergent nounwind
declare !dbg !117 dso_local spir_func float @__ks_simd_sum_f32(float noundef) local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare !dbg !118 dso_local spir_func void @__ks_threadgroup_barrier(i32 noundef) local_unnamed_addr #5

; Function Attrs: convergent mustprogress norecurse nounwind
define dso_local spir_kernel void @reverse(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 4 %1, ptr addrspace(3) nocapture noundef align 4 %2, ptr addrspace(2) nocapture noundef readonly align 4 dereferenceable(4) %3) local_unnamed_addr #4 !dbg !119 !kernel_arg_addr_space !120 !kernel_arg_access_qual !13 !kernel_arg_type !121 !kernel_arg_base_type !122 !kernel_arg_type_qual !16 {
  %5 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #9, !dbg !123
  %6 = sext i32 %5 to i64, !dbg !124
  %7 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %6, !dbg !124
  %8 = load float, ptr addrspace(1) %7, align 4, !dbg !124, !tbaa !26
  %9 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #9, !dbg !125
  %10 = sext i32 %9 to i64, !dbg !126
  %11 = getelementptr inbounds float, ptr addrspace(3) %2, i64 %10, !dbg !126
  store float %8, ptr addrspace(3) %11, align 4, !dbg !127, !tbaa !26
  tail call spir_func void @__ks_threadgroup_barrier(i32 noundef 2) #10, !dbg !128
  %12 = load i32, ptr addrspace(2) %3, align 4, !dbg !129, !tbaa !19
  %13 = xor i32 %9, -1, !dbg !130
  %14 = add i32 %12, %13, !dbg !130
  %15 = zext i32 %14 to i64, !dbg !131
  %16 = getelementptr inbounds float, ptr addrspace(3) %2, i64 %15, !dbg !131
  %17 = load float, ptr addrspace(3) %16, align 4, !dbg !131, !tbaa !26
  %18 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %6, !dbg !132
  store float %17, ptr addrspace(1) %18, align 4, !dbg !133, !tbaa !26
  ret void, !dbg !134
}

; Function Attrs: convergent mustprogress nofree norecurse nounwind willreturn memory(argmem: readwrite)
define dso_local spir_kernel void @halves(ptr addrspace(1) nocapture noundef readonly align 8 %0, ptr addrspace(1) nocapture noundef readonly align 8 %1, ptr addrspace(1) nocapture noundef writeonly align 8 %2) local_unnamed_addr #0 !dbg !135 !kernel_arg_addr_space !136 !kernel_arg_access_qual !137 !kernel_arg_type !138 !kernel_arg_base_type !139 !kernel_arg_type_qual !140 {
  %4 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #9, !dbg !141
  %5 = sext i32 %4 to i64, !dbg !142
  %6 = getelementptr inbounds <4 x half>, ptr addrspace(1) %0, i64 %5, !dbg !142
  %7 = load <4 x half>, ptr addrspace(1) %6, align 8, !dbg !142, !tbaa !143
  %8 = getelementptr inbounds <4 x half>, ptr addrspace(1) %1, i64 %5, !dbg !144
  %9 = load <4 x half>, ptr addrspace(1) %8, align 8, !dbg !144, !tbaa !143
  %10 = fmul nsz arcp contract <4 x half> %7, %9, !dbg !145
  %11 = fadd nsz arcp contract <4 x half> %10, <half 0xH3800, half 0xH3800, half 0xH3800, half 0xH3800>, !dbg !146
  %12 = getelementptr inbounds <4 x half>, ptr addrspace(1) %2, i64 %5, !dbg !147
  store <4 x half> %11, ptr addrspace(1) %12, align 8, !dbg !148, !tbaa !143
  ret void, !dbg !149
}

; Function Attrs: convergent mustprogress nofree norecurse nounwind memory(argmem: readwrite)
define dso_local spir_kernel void @local_array(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 4 %1, ptr addrspace(2) nocapture noundef readonly align 4 dereferenceable(4) %2) local_unnamed_addr #3 !dbg !150 !kernel_arg_addr_space !151 !kernel_arg_access_qual !137 !kernel_arg_type !152 !kernel_arg_base_type !153 !kernel_arg_type_qual !154 {
  %4 = alloca [8 x float], align 4
  call void @llvm.lifetime.start.p0(i64 32, ptr nonnull %4) #11, !dbg !155
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 4 dereferenceable(32) %4, i8 0, i64 32, i1 false), !dbg !156, !tbaa !26
  %5 = load i32, ptr addrspace(2) %2, align 4, !tbaa !19
  %6 = icmp eq i32 %5, 0, !dbg !157
  br i1 %6, label %37, label %42, !dbg !158

7:                                                ; preds = %42
  %8 = load float, ptr %4, align 4, !dbg !159, !tbaa !26
  %9 = getelementptr inbounds i8, ptr %4, i64 4
  %10 = load float, ptr %9, align 4, !dbg !159, !tbaa !26
  %11 = getelementptr inbounds i8, ptr %4, i64 8
  %12 = load float, ptr %11, align 4, !dbg !159, !tbaa !26
  %13 = getelementptr inbounds i8, ptr %4, i64 12
  %14 = load float, ptr %13, align 4, !dbg !159, !tbaa !26
  %15 = getelementptr inbounds i8, ptr %4, i64 16
  %16 = load float, ptr %15, align 4, !dbg !159, !tbaa !26
  %17 = getelementptr inbounds i8, ptr %4, i64 20
  %18 = load float, ptr %17, align 4, !dbg !159, !tbaa !26
  %19 = getelementptr inbounds i8, ptr %4, i64 24
  %20 = load float, ptr %19, align 4, !dbg !159, !tbaa !26
  %21 = getelementptr inbounds i8, ptr %4, i64 28
  %22 = load float, ptr %21, align 4, !dbg !159, !tbaa !26
  %23 = fmul nsz arcp contract float %10, 2.000000e+00, !dbg !160
  %24 = fadd nsz arcp contract float %8, %23, !dbg !161
  %25 = fmul nsz arcp contract float %12, 3.000000e+00, !dbg !160
  %26 = fadd nsz arcp contract float %24, %25, !dbg !161
  %27 = fmul nsz arcp contract float %14, 4.000000e+00, !dbg !160
  %28 = fadd nsz arcp contract float %26, %27, !dbg !161
  %29 = fmul nsz arcp contract float %16, 5.000000e+00, !dbg !160
  %30 = fadd nsz arcp contract float %28, %29, !dbg !161
  %31 = fmul nsz arcp contract float %18, 6.000000e+00, !dbg !160
  %32 = fadd nsz arcp contract float %30, %31, !dbg !161
  %33 = fmul nsz arcp contract float %20, 7.000000e+00, !dbg !160
  %34 = fadd nsz arcp contract float %32, %33, !dbg !161
  %35 = fmul nsz arcp contract float %22, 8.000000e+00, !dbg !160
  %36 = fadd nsz arcp contract float %34, %35, !dbg !161
  br label %37, !dbg !161

37:                                               ; preds = %7, %3
  %38 = phi float [ %36, %7 ], [ 0.000000e+00, %3 ], !dbg !162
  %39 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #9, !dbg !163
  %40 = sext i32 %39 to i64, !dbg !164
  %41 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %40, !dbg !164
  store float %38, ptr addrspace(1) %41, align 4, !dbg !165, !tbaa !26
  call void @llvm.lifetime.end.p0(i64 32, ptr nonnull %4) #11, !dbg !166
  ret void, !dbg !166

42:                                               ; preds = %3, %42
  %43 = phi i32 [ %55, %42 ], [ 0, %3 ]
  %44 = zext i32 %43 to i64, !dbg !167
  %45 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %44, !dbg !167
  %46 = load float, ptr addrspace(1) %45, align 4, !dbg !167, !tbaa !26
  %47 = mul i32 %43, 5, !dbg !168
  %48 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #9, !dbg !169
  %49 = add i32 %48, %47, !dbg !170
  %50 = and i32 %49, 7, !dbg !171
  %51 = zext nneg i32 %50 to i64, !dbg !172
  %52 = getelementptr inbounds [8 x float], ptr %4, i64 0, i64 %51, !dbg !172
  %53 = load float, ptr %52, align 4, !dbg !173, !tbaa !26
  %54 = fadd nsz arcp contract float %46, %53, !dbg !173
  store float %54, ptr %52, align 4, !dbg !173, !tbaa !26
  %55 = add nuw i32 %43, 1, !dbg !174
  %56 = icmp ult i32 %55, %5, !dbg !157
  br i1 %56, label %42, label %7, !dbg !158, !llvm.loop !175
}

; Function Attrs: convergent mustprogress nofree norecurse nounwind willreturn memory(argmem: readwrite, inaccessiblemem: readwrite)
define dso_local spir_kernel void @histogram(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) noundef align 4 %1) local_unnamed_addr #6 !dbg !177 !kernel_arg_addr_space !38 !kernel_arg_access_qual !39 !kernel_arg_type !40 !kernel_arg_base_type !40 !kernel_arg_type_qual !41 {
  %3 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #9, !dbg !178
  %4 = sext i32 %3 to i64, !dbg !178
  %5 = getelementptr inbounds i32, ptr addrspace(1) %0, i64 %4, !dbg !178
  %6 = load i32, ptr addrspace(1) %5, align 4, !dbg !178, !tbaa !19
  %7 = zext i32 %6 to i64, !dbg !178
  %8 = getelementptr inbounds i32, ptr addrspace(1) %1, i64 %7, !dbg !178
  %9 = atomicrmw volatile add ptr addrspace(1) %8, i32 1 monotonic, align 4, !dbg !178
  ret void, !dbg !179
}

; Function Attrs: convergent mustprogress norecurse nounwind
define dso_local spir_kernel void @shuffles(ptr addrspace(1) nocapture noundef writeonly align 4 %0) local_unnamed_addr #4 !dbg !180 !kernel_arg_addr_space !181 !kernel_arg_access_qual !182 !kernel_arg_type !183 !kernel_arg_base_type !183 !kernel_arg_type_qual !184 {
  %2 = tail call spir_func i32 @__ks_sr(i32 noundef 12) #9, !dbg !185
  %3 = shl nsw i32 %2, 3, !dbg !186
  %4 = sext i32 %3 to i64, !dbg !187
  %5 = getelementptr inbounds i32, ptr addrspace(1) %0, i64 %4, !dbg !187
  %6 = tail call spir_func i32 @__ks_shuffle_xor_i32(i32 noundef %2, i32 noundef 5) #10, !dbg !188
  store i32 %6, ptr addrspace(1) %5, align 4, !dbg !189, !tbaa !19
  %7 = tail call spir_func i32 @__ks_shuffle_up_i32(i32 noundef %2, i32 noundef 3) #10, !dbg !190
  %8 = getelementptr inbounds i8, ptr addrspace(1) %5, i64 4, !dbg !191
  store i32 %7, ptr addrspace(1) %8, align 4, !dbg !192, !tbaa !19
  %9 = tail call spir_func i32 @__ks_shuffle_down_i32(i32 noundef %2, i32 noundef 3) #10, !dbg !193
  %10 = getelementptr inbounds i8, ptr addrspace(1) %5, i64 8, !dbg !194
  store i32 %9, ptr addrspace(1) %10, align 4, !dbg !195, !tbaa !19
  %11 = sub nsw i32 31, %2, !dbg !196
  %12 = tail call spir_func i32 @__ks_shuffle_i32(i32 noundef %2, i32 noundef %11) #10, !dbg !197
  %13 = getelementptr inbounds i8, ptr addrspace(1) %5, i64 12, !dbg !198
  store i32 %12, ptr addrspace(1) %13, align 4, !dbg !199, !tbaa !19
  %14 = tail call spir_func i32 @__ks_simd_sum_i32(i32 noundef %2) #10, !dbg !200
  %15 = getelementptr inbounds i8, ptr addrspace(1) %5, i64 16, !dbg !201
  store i32 %14, ptr addrspace(1) %15, align 4, !dbg !202, !tbaa !19
  %16 = sitofp i32 %2 to float, !dbg !203
  %17 = tail call nsz arcp contract spir_func float @__ks_simd_prefix_exclusive_sum_f32(float noundef %16) #10, !dbg !204
  %18 = fptosi float %17 to i32, !dbg !204
  %19 = getelementptr inbounds i8, ptr addrspace(1) %5, i64 20, !dbg !205
  store i32 %18, ptr addrspace(1) %19, align 4, !dbg !206, !tbaa !19
  %20 = srem i32 %2, 3, !dbg !207
  %21 = icmp eq i32 %20, 0, !dbg !208
  %22 = zext i1 %21 to i32, !dbg !209
  %23 = tail call spir_func i64 @__ks_ballot(i32 noundef %22) #10, !dbg !210
  %24 = trunc i64 %23 to i32, !dbg !210
  %25 = getelementptr inbounds i8, ptr addrspace(1) %5, i64 24, !dbg !211
  store i32 %24, ptr addrspace(1) %25, align 4, !dbg !212, !tbaa !19
  %26 = icmp sgt i32 %2, 6, !dbg !213
  br i1 %26, label %27, label %33, !dbg !214

27:                                               ; preds = %1
  %28 = tail call spir_func i32 @__ks_simd_is_first() #10, !dbg !215
  %29 = tail call nsz arcp contract spir_func float @__ks_broadcast_first_f32(float noundef %16) #10, !dbg !216
  %30 = fptosi float %29 to i32, !dbg !216
  %31 = shl nsw i32 %30, 1, !dbg !217
  %32 = add nsw i32 %31, %28, !dbg !218
  br label %33, !dbg !219

33:                                               ; preds = %1, %27
  %34 = phi i32 [ %32, %27 ], [ -1, %1 ], !dbg !220
  %35 = getelementptr inbounds i8, ptr addrspace(1) %5, i64 28, !dbg !220
  store i32 %34, ptr addrspace(1) %35, align 4, !dbg !220
  ret void, !dbg !221
}

; Function Attrs: convergent nounwind
declare !dbg !222 dso_local spir_func i32 @__ks_shuffle_xor_i32(i32 noundef, i32 noundef) local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare !dbg !223 dso_local spir_func i32 @__ks_shuffle_up_i32(i32 noundef, i32 noundef) local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare !dbg !224 dso_local spir_func i32 @__ks_shuffle_down_i32(i32 noundef, i32 noundef) local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare !dbg !225 dso_local spir_func i32 @__ks_shuffle_i32(i32 noundef, i32 noundef) local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare !dbg !226 dso_local spir_func i32 @__ks_simd_sum_i32(i32 noundef) local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare !dbg !227 dso_local spir_func float @__ks_simd_prefix_exclusive_sum_f32(float noundef) local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare !dbg !228 dso_local spir_func i64 @__ks_ballot(i32 noundef) local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare !dbg !229 dso_local spir_func i32 @__ks_simd_is_first() local_unnamed_addr #5

; Function Attrs: convergent nounwind
declare !dbg !230 dso_local spir_func float @__ks_broadcast_first_f32(float noundef) local_unnamed_addr #5

; Function Attrs: convergent mustprogress norecurse nounwind
define dso_local spir_kernel void @mma(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef readonly align 4 %1, ptr addrspace(1) nocapture noundef writeonly align 4 %2) local_unnamed_addr #4 !dbg !231 !kernel_arg_addr_space !136 !kernel_arg_access_qual !137 !kernel_arg_type !232 !kernel_arg_base_type !232 !kernel_arg_type_qual !140 {
  %4 = tail call spir_func i32 @__ks_sr(i32 noundef 12) #9, !dbg !233
  %5 = sdiv i32 %4, 4, !dbg !234
  %6 = and i32 %5, 4, !dbg !235
  %7 = freeze i32 %4, !dbg !236
  %8 = sdiv i32 %7, 2, !dbg !236
  %9 = srem i32 %8, 4, !dbg !237
  %10 = add nsw i32 %6, %9, !dbg !238
  %11 = mul i32 %8, 2, !dbg !239
  %12 = sub i32 %7, %11, !dbg !239
  %13 = and i32 %5, 2, !dbg !240
  %14 = add nsw i32 %13, %12, !dbg !240
  %15 = shl nsw i32 %14, 1, !dbg !240
  %16 = shl nsw i32 %10, 3, !dbg !241
  %17 = add nsw i32 %16, %15, !dbg !242
  %18 = sext i32 %17 to i64, !dbg !243
  %19 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %18, !dbg !243
  %20 = load float, ptr addrspace(1) %19, align 4, !dbg !243, !tbaa !26
  %21 = insertelement <2 x float> poison, float %20, i64 0, !dbg !244
  %22 = or disjoint i32 %17, 1, !dbg !245
  %23 = sext i32 %22 to i64, !dbg !246
  %24 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %23, !dbg !246
  %25 = load float, ptr addrspace(1) %24, align 4, !dbg !246, !tbaa !26
  %26 = insertelement <2 x float> %21, float %25, i64 1, !dbg !244
  %27 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %18, !dbg !247
  %28 = load float, ptr addrspace(1) %27, align 4, !dbg !247, !tbaa !26
  %29 = insertelement <2 x float> poison, float %28, i64 0, !dbg !248
  %30 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %23, !dbg !249
  %31 = load float, ptr addrspace(1) %30, align 4, !dbg !249, !tbaa !26
  %32 = insertelement <2 x float> %29, float %31, i64 1, !dbg !248
  %33 = tail call nsz arcp contract spir_func <2 x float> @__ks_mma_8x8(<2 x float> noundef %26, <2 x float> noundef %32, <2 x float> noundef zeroinitializer, i32 noundef 0) #10, !dbg !250
  %34 = extractelement <2 x float> %33, i64 0, !dbg !251
  %35 = getelementptr inbounds float, ptr addrspace(1) %2, i64 %18, !dbg !252
  store float %34, ptr addrspace(1) %35, align 4, !dbg !253, !tbaa !26
  %36 = extractelement <2 x float> %33, i64 1, !dbg !254
  %37 = getelementptr inbounds float, ptr addrspace(1) %2, i64 %23, !dbg !255
  store float %36, ptr addrspace(1) %37, align 4, !dbg !256, !tbaa !26
  ret void, !dbg !257
}

; Function Attrs: convergent nounwind
declare !dbg !258 dso_local spir_func <2 x float> @__ks_mma_8x8(<2 x float> noundef, <2 x float> noundef, <2 x float> noundef, i32 noundef) local_unnamed_addr #5

; Function Attrs: convergent mustprogress nofree norecurse nounwind willreturn memory(argmem: readwrite)
define dso_local spir_kernel void @lookup(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 4 %1) local_unnamed_addr #0 !dbg !259 !kernel_arg_addr_space !38 !kernel_arg_access_qual !39 !kernel_arg_type !260 !kernel_arg_base_type !260 !kernel_arg_type_qual !41 {
  %3 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #9, !dbg !261
  %4 = sext i32 %3 to i64, !dbg !262
  %5 = getelementptr inbounds i32, ptr addrspace(1) %0, i64 %4, !dbg !262
  %6 = load i32, ptr addrspace(1) %5, align 4, !dbg !262, !tbaa !19
  %7 = urem i32 %6, 5, !dbg !263
  %8 = zext nneg i32 %7 to i64, !dbg !264
  %9 = getelementptr inbounds [5 x float], ptr addrspace(2) @table, i64 0, i64 %8, !dbg !264
  %10 = load float, ptr addrspace(2) %9, align 4, !dbg !264, !tbaa !26
  %11 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %4, !dbg !265
  store float %10, ptr addrspace(1) %11, align 4, !dbg !266, !tbaa !26
  ret void, !dbg !267
}

; Function Attrs: convergent mustprogress nofree norecurse nounwind willreturn memory(argmem: readwrite)
define dso_local spir_kernel void @calls(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 4 %1) local_unnamed_addr #0 !dbg !268 !kernel_arg_addr_space !38 !kernel_arg_access_qual !39 !kernel_arg_type !90 !kernel_arg_base_type !90 !kernel_arg_type_qual !41 {
  %3 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #9, !dbg !269
  %4 = sext i32 %3 to i64, !dbg !270
  %5 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %4, !dbg !270
  %6 = load float, ptr addrspace(1) %5, align 4, !dbg !270, !tbaa !26
  %7 = tail call nsz arcp contract spir_func noundef float @_ZL4polyff(float noundef %6, float noundef 1.000000e+00) #11, !dbg !271
  %8 = tail call nsz arcp contract spir_func noundef float @_ZL4polyff(float noundef 1.000000e+00, float noundef %6) #11, !dbg !272
  %9 = fadd nsz arcp contract float %7, %8, !dbg !273
  %10 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %4, !dbg !274
  store float %9, ptr addrspace(1) %10, align 4, !dbg !275, !tbaa !26
  ret void, !dbg !276
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(none)
define internal spir_func noundef float @_ZL4polyff(float noundef %0, float noundef %1) unnamed_addr #7 !dbg !277 {
  %3 = fmul nsz arcp contract float %0, %0, !dbg !278
  %4 = fadd nsz arcp contract float %3, %1, !dbg !279
  %5 = fcmp nsz arcp contract ogt float %4, 2.000000e+00, !dbg !280
  %6 = fmul nsz arcp contract float %1, 3.000000e+00, !dbg !281
  %7 = select nsz arcp contract i1 %5, float %0, float %6, !dbg !281
  ret float %7, !dbg !282
}

; Function Attrs: nocallback nofree nounwind willreturn memory(argmem: write)
declare void @llvm.memset.p0.i64(ptr nocapture writeonly, i8, i64, i1 immarg) #8

attributes #0 = { convergent mustprogress nofree norecurse nounwind willreturn memory(argmem: readwrite) "frame-pointer"="all" "no-signed-zeros-fp-math"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "uniform-work-group-size"="true" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { convergent mustprogress nofree nounwind willreturn memory(none) "frame-pointer"="all" "no-signed-zeros-fp-math"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #3 = { convergent mustprogress nofree norecurse nounwind memory(argmem: readwrite) "frame-pointer"="all" "no-signed-zeros-fp-math"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "uniform-work-group-size"="true" }
attributes #4 = { convergent mustprogress norecurse nounwind "frame-pointer"="all" "no-signed-zeros-fp-math"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "uniform-work-group-size"="true" }
attributes #5 = { convergent nounwind "frame-pointer"="all" "no-signed-zeros-fp-math"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #6 = { convergent mustprogress nofree norecurse nounwind willreturn memory(argmem: readwrite, inaccessiblemem: readwrite) "frame-pointer"="all" "no-signed-zeros-fp-math"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "uniform-work-group-size"="true" }
attributes #7 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(none) "frame-pointer"="all" "no-signed-zeros-fp-math"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #8 = { nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #9 = { convergent nounwind willreturn memory(none) }
attributes #10 = { convergent nounwind }
attributes #11 = { nounwind }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3, !4, !5}
!opencl.ocl.version = !{!6}
!opencl.cxx.version = !{!7}
!opencl.spir.version = !{!6}
!llvm.ident = !{!8}

!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !1, producer: "Debian clang version 19.1.7 (3~deb12u1)", isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly, splitDebugInlining: false, nameTableKind: None)
!1 = !DIFile(filename: "basic.cl", directory: ".", checksumkind: CSK_MD5, checksum: "045532a767c4e7536414f7ce67bb262f")
!2 = !{i32 7, !"Dwarf Version", i32 5}
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = !{i32 1, !"wchar_size", i32 4}
!5 = !{i32 7, !"frame-pointer", i32 2}
!6 = !{i32 3, i32 0}
!7 = !{i32 2021, i32 0}
!8 = !{!"Debian clang version 19.1.7 (3~deb12u1)"}
!9 = distinct !DISubprogram(name: "saxpy", scope: !1, file: !1, line: 3, type: !10, scopeLine: 3, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!10 = !DISubroutineType(types: !11)
!11 = !{}
!12 = !{i32 1, i32 1, i32 0, i32 0}
!13 = !{!"none", !"none", !"none", !"none"}
!14 = !{!"float*", !"float*", !"__constant float &", !"__constant uint &"}
!15 = !{!"float*", !"float*", !"__constant float &", !"__constant unsigned int &"}
!16 = !{!"const", !"", !"", !""}
!17 = !DILocation(line: 4, column: 12, scope: !9)
!18 = !DILocation(line: 5, column: 11, scope: !9)
!19 = !{!20, !20, i64 0}
!20 = !{!"int", !21, i64 0}
!21 = !{!"omnipotent char", !22, i64 0}
!22 = !{!"Simple C++ TBAA"}
!23 = !DILocation(line: 5, column: 9, scope: !9)
!24 = !DILocation(line: 5, column: 7, scope: !9)
!25 = !DILocation(line: 5, column: 21, scope: !9)
!26 = !{!27, !27, i64 0}
!27 = !{!"float", !21, i64 0}
!28 = !DILocation(line: 5, column: 25, scope: !9)
!29 = !DILocation(line: 5, column: 23, scope: !9)
!30 = !DILocation(line: 5, column: 32, scope: !9)
!31 = !DILocation(line: 5, column: 30, scope: !9)
!32 = !DILocation(line: 5, column: 19, scope: !9)
!33 = !DILocation(line: 5, column: 14, scope: !9)
!34 = !DILocation(line: 6, column: 1, scope: !9)
!35 = !DISubprogram(name: "__ks_sr", scope: !36, file: !36, line: 6, type: !10, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
!36 = !DIFile(filename: "./ks.h", directory: ".", checksumkind: CSK_MD5, checksum: "3512dbbab6dcc072f34a5aae8488f370")
!37 = distinct !DISubprogram(name: "collatz", scope: !1, file: !1, line: 9, type: !10, scopeLine: 9, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!38 = !{i32 1, i32 1}
!39 = !{!"none", !"none"}
!40 = !{!"uint*", !"uint*"}
!41 = !{!"const", !""}
!42 = !DILocation(line: 10, column: 15, scope: !37)
!43 = !DILocation(line: 10, column: 12, scope: !37)
!44 = !DILocation(line: 11, column: 12, scope: !37)
!45 = !DILocation(line: 11, column: 3, scope: !37)
!46 = !DILocation(line: 12, column: 11, scope: !37)
!47 = !DILocation(line: 12, column: 15, scope: !37)
!48 = !DILocation(line: 12, column: 9, scope: !37)
!49 = !DILocation(line: 13, column: 10, scope: !37)
!50 = distinct !{!50, !45, !51, !52}
!51 = !DILocation(line: 14, column: 3, scope: !37)
!52 = !{!"llvm.loop.mustprogress"}
!53 = !DILocation(line: 0, scope: !37)
!54 = !DILocation(line: 15, column: 7, scope: !37)
!55 = !DILocation(line: 15, column: 3, scope: !37)
!56 = !DILocation(line: 15, column: 12, scope: !37)
!57 = !DILocation(line: 16, column: 1, scope: !37)
!58 = distinct !DISubprogram(name: "nested", scope: !1, file: !1, line: 18, type: !10, scopeLine: 18, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!59 = !{!"int*", !"int*"}
!60 = !DILocation(line: 19, column: 14, scope: !58)
!61 = !DILocation(line: 19, column: 11, scope: !58)
!62 = !DILocation(line: 20, column: 21, scope: !58)
!63 = !DILocation(line: 20, column: 3, scope: !58)
!64 = !DILocation(line: 21, column: 11, scope: !58)
!65 = !DILocation(line: 21, column: 15, scope: !58)
!66 = !DILocation(line: 21, column: 9, scope: !58)
!67 = !DILocation(line: 22, column: 23, scope: !58)
!68 = !DILocation(line: 22, column: 5, scope: !58)
!69 = !DILocation(line: 22, column: 34, scope: !58)
!70 = distinct !{!70, !68, !71, !52}
!71 = !DILocation(line: 26, column: 5, scope: !58)
!72 = !DILocation(line: 23, column: 14, scope: !58)
!73 = !DILocation(line: 23, column: 19, scope: !58)
!74 = !DILocation(line: 23, column: 23, scope: !58)
!75 = !DILocation(line: 23, column: 11, scope: !58)
!76 = !DILocation(line: 24, column: 11, scope: !58)
!77 = !DILocation(line: 25, column: 15, scope: !58)
!78 = !DILocation(line: 25, column: 11, scope: !58)
!79 = !DILocation(line: 0, scope: !58)
!80 = !DILocation(line: 27, column: 9, scope: !58)
!81 = !DILocation(line: 28, column: 3, scope: !58)
!82 = !DILocation(line: 20, column: 27, scope: !58)
!83 = distinct !{!83, !63, !81, !52}
!84 = !DILocation(line: 19, column: 20, scope: !58)
!85 = !DILocation(line: 30, column: 7, scope: !58)
!86 = !DILocation(line: 30, column: 3, scope: !58)
!87 = !DILocation(line: 30, column: 12, scope: !58)
!88 = !DILocation(line: 31, column: 1, scope: !58)
!89 = distinct !DISubprogram(name: "block_sum", scope: !1, file: !1, line: 33, type: !10, scopeLine: 33, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!90 = !{!"float*", !"float*"}
!91 = !DILocation(line: 35, column: 34, scope: !89)
!92 = !DILocation(line: 35, column: 31, scope: !89)
!93 = !DILocation(line: 35, column: 13, scope: !89)
!94 = !DILocation(line: 36, column: 7, scope: !89)
!95 = !DILocation(line: 36, column: 12, scope: !89)
!96 = !DILocation(line: 36, column: 23, scope: !89)
!97 = !DILocation(line: 36, column: 18, scope: !89)
!98 = !DILocation(line: 36, column: 29, scope: !89)
!99 = !DILocation(line: 37, column: 3, scope: !89)
!100 = !DILocation(line: 38, column: 7, scope: !89)
!101 = !DILocation(line: 38, column: 11, scope: !89)
!102 = !DILocation(line: 0, scope: !89)
!103 = !DILocation(line: 40, scope: !89)
!104 = !DILocation(line: 40, column: 25, scope: !89)
!105 = !DILocation(line: 40, column: 23, scope: !89)
!106 = !DILocation(line: 40, column: 5, scope: !89)
!107 = !DILocation(line: 41, column: 9, scope: !89)
!108 = !DILocation(line: 41, column: 5, scope: !89)
!109 = !DILocation(line: 41, column: 16, scope: !89)
!110 = !DILocation(line: 42, column: 3, scope: !89)
!111 = !DILocation(line: 40, column: 42, scope: !89)
!112 = !DILocation(line: 40, column: 39, scope: !89)
!113 = !DILocation(line: 40, column: 33, scope: !89)
!114 = distinct !{!114, !106, !115, !52}
!115 = !DILocation(line: 40, column: 48, scope: !89)
!116 = !DILocation(line: 43, column: 1, scope: !89)
!117 = !DISubprogram(name: "__ks_simd_sum_f32", scope: !36, file: !36, line: 17, type: !10, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
!118 = !DISubprogram(name: "__ks_threadgroup_barrier", scope: !36, file: !36, line: 7, type: !10, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
!119 = distinct !DISubprogram(name: "reverse", scope: !1, file: !1, line: 45, type: !10, scopeLine: 45, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!120 = !{i32 1, i32 1, i32 3, i32 0}
!121 = !{!"float*", !"float*", !"float*", !"__constant uint &"}
!122 = !{!"float*", !"float*", !"float*", !"__constant unsigned int &"}
!123 = !DILocation(line: 46, column: 18, scope: !119)
!124 = !DILocation(line: 46, column: 15, scope: !119)
!125 = !DILocation(line: 46, column: 8, scope: !119)
!126 = !DILocation(line: 46, column: 3, scope: !119)
!127 = !DILocation(line: 46, column: 13, scope: !119)
!128 = !DILocation(line: 47, column: 3, scope: !119)
!129 = !DILocation(line: 48, column: 19, scope: !119)
!130 = !DILocation(line: 48, column: 25, scope: !119)
!131 = !DILocation(line: 48, column: 14, scope: !119)
!132 = !DILocation(line: 48, column: 3, scope: !119)
!133 = !DILocation(line: 48, column: 12, scope: !119)
!134 = !DILocation(line: 49, column: 1, scope: !119)
!135 = distinct !DISubprogram(name: "halves", scope: !1, file: !1, line: 51, type: !10, scopeLine: 51, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!136 = !{i32 1, i32 1, i32 1}
!137 = !{!"none", !"none", !"none"}
!138 = !{!"half4*", !"half4*", !"half4*"}
!139 = !{!"half __attribute__((ext_vector_type(4)))*", !"half __attribute__((ext_vector_type(4)))*", !"half __attribute__((ext_vector_type(4)))*"}
!140 = !{!"const", !"const", !""}
!141 = !DILocation(line: 52, column: 15, scope: !135)
!142 = !DILocation(line: 52, column: 13, scope: !135)
!143 = !{!21, !21, i64 0}
!144 = !DILocation(line: 52, column: 25, scope: !135)
!145 = !DILocation(line: 53, column: 16, scope: !135)
!146 = !DILocation(line: 53, column: 20, scope: !135)
!147 = !DILocation(line: 53, column: 3, scope: !135)
!148 = !DILocation(line: 53, column: 12, scope: !135)
!149 = !DILocation(line: 54, column: 1, scope: !135)
!150 = distinct !DISubprogram(name: "local_array", scope: !1, file: !1, line: 56, type: !10, scopeLine: 56, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!151 = !{i32 1, i32 1, i32 0}
!152 = !{!"float*", !"float*", !"__constant uint &"}
!153 = !{!"float*", !"float*", !"__constant unsigned int &"}
!154 = !{!"const", !"", !""}
!155 = !DILocation(line: 57, column: 3, scope: !150)
!156 = !DILocation(line: 58, column: 38, scope: !150)
!157 = !DILocation(line: 59, column: 22, scope: !150)
!158 = !DILocation(line: 59, column: 3, scope: !150)
!159 = !DILocation(line: 61, column: 36, scope: !150)
!160 = !DILocation(line: 61, column: 43, scope: !150)
!161 = !DILocation(line: 61, column: 3, scope: !150)
!162 = !DILocation(line: 61, column: 33, scope: !150)
!163 = !DILocation(line: 62, column: 7, scope: !150)
!164 = !DILocation(line: 62, column: 3, scope: !150)
!165 = !DILocation(line: 62, column: 12, scope: !150)
!166 = !DILocation(line: 63, column: 1, scope: !150)
!167 = !DILocation(line: 59, column: 58, scope: !150)
!168 = !DILocation(line: 59, column: 39, scope: !150)
!169 = !DILocation(line: 59, column: 45, scope: !150)
!170 = !DILocation(line: 59, column: 43, scope: !150)
!171 = !DILocation(line: 59, column: 50, scope: !150)
!172 = !DILocation(line: 59, column: 32, scope: !150)
!173 = !DILocation(line: 59, column: 55, scope: !150)
!174 = !DILocation(line: 59, column: 28, scope: !150)
!175 = distinct !{!175, !158, !176, !52}
!176 = !DILocation(line: 59, column: 62, scope: !150)
!177 = distinct !DISubprogram(name: "histogram", scope: !1, file: !1, line: 65, type: !10, scopeLine: 65, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!178 = !DILocation(line: 66, column: 3, scope: !177)
!179 = !DILocation(line: 67, column: 1, scope: !177)
!180 = distinct !DISubprogram(name: "shuffles", scope: !1, file: !1, line: 69, type: !10, scopeLine: 69, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!181 = !{i32 1}
!182 = !{!"none"}
!183 = !{!"int*"}
!184 = !{!""}
!185 = !DILocation(line: 70, column: 11, scope: !180)
!186 = !DILocation(line: 71, column: 27, scope: !180)
!187 = !DILocation(line: 71, column: 23, scope: !180)
!188 = !DILocation(line: 72, column: 10, scope: !180)
!189 = !DILocation(line: 72, column: 8, scope: !180)
!190 = !DILocation(line: 73, column: 10, scope: !180)
!191 = !DILocation(line: 73, column: 3, scope: !180)
!192 = !DILocation(line: 73, column: 8, scope: !180)
!193 = !DILocation(line: 74, column: 10, scope: !180)
!194 = !DILocation(line: 74, column: 3, scope: !180)
!195 = !DILocation(line: 74, column: 8, scope: !180)
!196 = !DILocation(line: 75, column: 33, scope: !180)
!197 = !DILocation(line: 75, column: 10, scope: !180)
!198 = !DILocation(line: 75, column: 3, scope: !180)
!199 = !DILocation(line: 75, column: 8, scope: !180)
!200 = !DILocation(line: 76, column: 10, scope: !180)
!201 = !DILocation(line: 76, column: 3, scope: !180)
!202 = !DILocation(line: 76, column: 8, scope: !180)
!203 = !DILocation(line: 77, column: 57, scope: !180)
!204 = !DILocation(line: 77, column: 15, scope: !180)
!205 = !DILocation(line: 77, column: 3, scope: !180)
!206 = !DILocation(line: 77, column: 8, scope: !180)
!207 = !DILocation(line: 78, column: 29, scope: !180)
!208 = !DILocation(line: 78, column: 33, scope: !180)
!209 = !DILocation(line: 78, column: 27, scope: !180)
!210 = !DILocation(line: 78, column: 15, scope: !180)
!211 = !DILocation(line: 78, column: 3, scope: !180)
!212 = !DILocation(line: 78, column: 8, scope: !180)
!213 = !DILocation(line: 79, column: 9, scope: !180)
!214 = !DILocation(line: 79, column: 7, scope: !180)
!215 = !DILocation(line: 79, column: 22, scope: !180)
!216 = !DILocation(line: 79, column: 54, scope: !180)
!217 = !DILocation(line: 79, column: 47, scope: !180)
!218 = !DILocation(line: 79, column: 43, scope: !180)
!219 = !DILocation(line: 79, column: 15, scope: !180)
!220 = !DILocation(line: 79, scope: !180)
!221 = !DILocation(line: 80, column: 1, scope: !180)
!222 = !DISubprogram(name: "__ks_shuffle_xor_i32", scope: !36, file: !36, line: 11, type: !10, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
!223 = !DISubprogram(name: "__ks_shuffle_up_i32", scope: !36, file: !36, line: 12, type: !10, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
!224 = !DISubprogram(name: "__ks_shuffle_down_i32", scope: !36, file: !36, line: 13, type: !10, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
!225 = !DISubprogram(name: "__ks_shuffle_i32", scope: !36, file: !36, line: 10, type: !10, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
!226 = !DISubprogram(name: "__ks_simd_sum_i32", scope: !36, file: !36, line: 20, type: !10, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
!227 = !DISubprogram(name: "__ks_simd_prefix_exclusive_sum_f32", scope: !36, file: !36, line: 19, type: !10, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
!228 = !DISubprogram(name: "__ks_ballot", scope: !36, file: !36, line: 23, type: !10, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
!229 = !DISubprogram(name: "__ks_simd_is_first", scope: !36, file: !36, line: 25, type: !10, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
!230 = !DISubprogram(name: "__ks_broadcast_first_f32", scope: !36, file: !36, line: 16, type: !10, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
!231 = distinct !DISubprogram(name: "mma", scope: !1, file: !1, line: 82, type: !10, scopeLine: 82, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!232 = !{!"float*", !"float*", !"float*"}
!233 = !DILocation(line: 83, column: 11, scope: !231)
!234 = !DILocation(line: 83, column: 16, scope: !231)
!235 = !DILocation(line: 84, column: 14, scope: !231)
!236 = !DILocation(line: 84, column: 27, scope: !231)
!237 = !DILocation(line: 84, column: 32, scope: !231)
!238 = !DILocation(line: 84, column: 19, scope: !231)
!239 = !DILocation(line: 84, column: 63, scope: !231)
!240 = !DILocation(line: 84, column: 55, scope: !231)
!241 = !DILocation(line: 85, column: 18, scope: !231)
!242 = !DILocation(line: 85, column: 22, scope: !231)
!243 = !DILocation(line: 85, column: 14, scope: !231)
!244 = !DILocation(line: 85, column: 13, scope: !231)
!245 = !DILocation(line: 85, column: 44, scope: !231)
!246 = !DILocation(line: 85, column: 30, scope: !231)
!247 = !DILocation(line: 85, column: 56, scope: !231)
!248 = !DILocation(line: 85, column: 55, scope: !231)
!249 = !DILocation(line: 85, column: 72, scope: !231)
!250 = !DILocation(line: 86, column: 7, scope: !231)
!251 = !DILocation(line: 87, column: 20, scope: !231)
!252 = !DILocation(line: 87, column: 3, scope: !231)
!253 = !DILocation(line: 87, column: 18, scope: !231)
!254 = !DILocation(line: 88, column: 24, scope: !231)
!255 = !DILocation(line: 88, column: 3, scope: !231)
!256 = !DILocation(line: 88, column: 22, scope: !231)
!257 = !DILocation(line: 89, column: 1, scope: !231)
!258 = !DISubprogram(name: "__ks_mma_8x8", scope: !36, file: !36, line: 27, type: !10, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
!259 = distinct !DISubprogram(name: "lookup", scope: !1, file: !1, line: 92, type: !10, scopeLine: 92, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!260 = !{!"uint*", !"float*"}
!261 = !DILocation(line: 92, column: 84, scope: !259)
!262 = !DILocation(line: 92, column: 81, scope: !259)
!263 = !DILocation(line: 92, column: 89, scope: !259)
!264 = !DILocation(line: 92, column: 75, scope: !259)
!265 = !DILocation(line: 92, column: 64, scope: !259)
!266 = !DILocation(line: 92, column: 73, scope: !259)
!267 = !DILocation(line: 92, column: 95, scope: !259)
!268 = distinct !DISubprogram(name: "calls", scope: !1, file: !1, line: 95, type: !10, scopeLine: 95, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!269 = !DILocation(line: 96, column: 16, scope: !268)
!270 = !DILocation(line: 96, column: 13, scope: !268)
!271 = !DILocation(line: 97, column: 14, scope: !268)
!272 = !DILocation(line: 97, column: 29, scope: !268)
!273 = !DILocation(line: 97, column: 27, scope: !268)
!274 = !DILocation(line: 97, column: 3, scope: !268)
!275 = !DILocation(line: 97, column: 12, scope: !268)
!276 = !DILocation(line: 98, column: 1, scope: !268)
!277 = distinct !DISubprogram(name: "poly", scope: !1, file: !1, line: 94, type: !10, scopeLine: 94, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!278 = !DILocation(line: 94, column: 74, scope: !277)
!279 = !DILocation(line: 94, column: 78, scope: !277)
!280 = !DILocation(line: 94, column: 82, scope: !277)
!281 = !DILocation(line: 94, column: 72, scope: !277)
!282 = !DILocation(line: 94, column: 65, scope: !277)
