; ModuleID = 'bench.cl'
source_filename = "bench.cl"
target datalayout = "e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-G1"
target triple = "spir64"

@_ZZ15attention_tiledE2kt = internal unnamed_addr addrspace(3) global [32 x [16 x <4 x float>]] undef, align 16
@_ZZ15attention_tiledE2vt = internal unnamed_addr addrspace(3) global [32 x [16 x <4 x float>]] undef, align 16

; Function Attrs: convergent mustprogress nofree norecurse nounwind memory(argmem: readwrite)
define dso_local spir_kernel void @fma_loop(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef writeonly align 4 %1, ptr addrspace(2) nocapture noundef readonly align 4 dereferenceable(4) %2) local_unnamed_addr #0 !dbg !9 !kernel_arg_addr_space !12 !kernel_arg_access_qual !13 !kernel_arg_type !14 !kernel_arg_base_type !15 !kernel_arg_type_qual !16 {
  %4 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #6, !dbg !17
  %5 = sext i32 %4 to i64, !dbg !18
  %6 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %5, !dbg !18
  %7 = load float, ptr addrspace(1) %6, align 4, !dbg !18, !tbaa !19
  %8 = load i32, ptr addrspace(2) %2, align 4, !tbaa !23
  %9 = icmp eq i32 %8, 0, !dbg !25
  br i1 %9, label %79, label %10, !dbg !26

10:                                               ; preds = %3, %10
  %11 = phi i32 [ %77, %10 ], [ 0, %3 ]
  %12 = phi float [ %76, %10 ], [ %7, %3 ]
  %13 = fmul nsz arcp contract float %12, 0x3FEFF7CEE0000000, !dbg !27
  %14 = fadd nsz arcp contract float %13, 2.500000e-01, !dbg !28
  %15 = fmul nsz arcp contract float %14, 0x3FEFF7CEE0000000, !dbg !27
  %16 = fadd nsz arcp contract float %15, 2.500000e-01, !dbg !28
  %17 = fmul nsz arcp contract float %16, 0x3FEFF7CEE0000000, !dbg !27
  %18 = fadd nsz arcp contract float %17, 2.500000e-01, !dbg !28
  %19 = fmul nsz arcp contract float %18, 0x3FEFF7CEE0000000, !dbg !27
  %20 = fadd nsz arcp contract float %19, 2.500000e-01, !dbg !28
  %21 = fmul nsz arcp contract float %20, 0x3FEFF7CEE0000000, !dbg !27
  %22 = fadd nsz arcp contract float %21, 2.500000e-01, !dbg !28
  %23 = fmul nsz arcp contract float %22, 0x3FEFF7CEE0000000, !dbg !27
  %24 = fadd nsz arcp contract float %23, 2.500000e-01, !dbg !28
  %25 = fmul nsz arcp contract float %24, 0x3FEFF7CEE0000000, !dbg !27
  %26 = fadd nsz arcp contract float %25, 2.500000e-01, !dbg !28
  %27 = fmul nsz arcp contract float %26, 0x3FEFF7CEE0000000, !dbg !27
  %28 = fadd nsz arcp contract float %27, 2.500000e-01, !dbg !28
  %29 = fmul nsz arcp contract float %28, 0x3FEFF7CEE0000000, !dbg !27
  %30 = fadd nsz arcp contract float %29, 2.500000e-01, !dbg !28
  %31 = fmul nsz arcp contract float %30, 0x3FEFF7CEE0000000, !dbg !27
  %32 = fadd nsz arcp contract float %31, 2.500000e-01, !dbg !28
  %33 = fmul nsz arcp contract float %32, 0x3FEFF7CEE0000000, !dbg !27
  %34 = fadd nsz arcp contract float %33, 2.500000e-01, !dbg !28
  %35 = fmul nsz arcp contract float %34, 0x3FEFF7CEE0000000, !dbg !27
  %36 = fadd nsz arcp contract float %35, 2.500000e-01, !dbg !28
  %37 = fmul nsz arcp contract float %36, 0x3FEFF7CEE0000000, !dbg !27
  %38 = fadd nsz arcp contract float %37, 2.500000e-01, !dbg !28
  %39 = fmul nsz arcp contract float %38, 0x3FEFF7CEE0000000, !dbg !27
  %40 = fadd nsz arcp contract float %39, 2.500000e-01, !dbg !28
  %41 = fmul nsz arcp contract float %40, 0x3FEFF7CEE0000000, !dbg !27
  %42 = fadd nsz arcp contract float %41, 2.500000e-01, !dbg !28
  %43 = fmul nsz arcp contract float %42, 0x3FEFF7CEE0000000, !dbg !27
  %44 = fadd nsz arcp contract float %43, 2.500000e-01, !dbg !28
  %45 = fmul nsz arcp contract float %44, 0x3FEFF7CEE0000000, !dbg !27
  %46 = fadd nsz arcp contract float %45, 2.500000e-01, !dbg !28
  %47 = fmul nsz arcp contract float %46, 0x3FEFF7CEE0000000, !dbg !27
  %48 = fadd nsz arcp contract float %47, 2.500000e-01, !dbg !28
  %49 = fmul nsz arcp contract float %48, 0x3FEFF7CEE0000000, !dbg !27
  %50 = fadd nsz arcp contract float %49, 2.500000e-01, !dbg !28
  %51 = fmul nsz arcp contract float %50, 0x3FEFF7CEE0000000, !dbg !27
  %52 = fadd nsz arcp contract float %51, 2.500000e-01, !dbg !28
  %53 = fmul nsz arcp contract float %52, 0x3FEFF7CEE0000000, !dbg !27
  %54 = fadd nsz arcp contract float %53, 2.500000e-01, !dbg !28
  %55 = fmul nsz arcp contract float %54, 0x3FEFF7CEE0000000, !dbg !27
  %56 = fadd nsz arcp contract float %55, 2.500000e-01, !dbg !28
  %57 = fmul nsz arcp contract float %56, 0x3FEFF7CEE0000000, !dbg !27
  %58 = fadd nsz arcp contract float %57, 2.500000e-01, !dbg !28
  %59 = fmul nsz arcp contract float %58, 0x3FEFF7CEE0000000, !dbg !27
  %60 = fadd nsz arcp contract float %59, 2.500000e-01, !dbg !28
  %61 = fmul nsz arcp contract float %60, 0x3FEFF7CEE0000000, !dbg !27
  %62 = fadd nsz arcp contract float %61, 2.500000e-01, !dbg !28
  %63 = fmul nsz arcp contract float %62, 0x3FEFF7CEE0000000, !dbg !27
  %64 = fadd nsz arcp contract float %63, 2.500000e-01, !dbg !28
  %65 = fmul nsz arcp contract float %64, 0x3FEFF7CEE0000000, !dbg !27
  %66 = fadd nsz arcp contract float %65, 2.500000e-01, !dbg !28
  %67 = fmul nsz arcp contract float %66, 0x3FEFF7CEE0000000, !dbg !27
  %68 = fadd nsz arcp contract float %67, 2.500000e-01, !dbg !28
  %69 = fmul nsz arcp contract float %68, 0x3FEFF7CEE0000000, !dbg !27
  %70 = fadd nsz arcp contract float %69, 2.500000e-01, !dbg !28
  %71 = fmul nsz arcp contract float %70, 0x3FEFF7CEE0000000, !dbg !27
  %72 = fadd nsz arcp contract float %71, 2.500000e-01, !dbg !28
  %73 = fmul nsz arcp contract float %72, 0x3FEFF7CEE0000000, !dbg !27
  %74 = fadd nsz arcp contract float %73, 2.500000e-01, !dbg !28
  %75 = fmul nsz arcp contract float %74, 0x3FEFF7CEE0000000, !dbg !27
  %76 = fadd nsz arcp contract float %75, 2.500000e-01, !dbg !28
  %77 = add nuw i32 %11, 1, !dbg !29
  %78 = icmp ult i32 %77, %8, !dbg !25
  br i1 %78, label %10, label %79, !dbg !26, !llvm.loop !30

79:                                               ; preds = %10, %3
  %80 = phi float [ %7, %3 ], [ %76, %10 ], !dbg !33
  %81 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #6, !dbg !34
  %82 = sext i32 %81 to i64, !dbg !35
  %83 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %82, !dbg !35
  store float %80, ptr addrspace(1) %83, align 4, !dbg !36, !tbaa !19
  ret void, !dbg !37
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture) #1

; Function Attrs: convergent mustprogress nofree nounwind willreturn memory(none)
declare !dbg !38 dso_local spir_func i32 @__ks_sr(i32 noundef) local_unnamed_addr #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture) #1

; Function Attrs: convergent mustprogress nofree norecurse nounwind memory(argmem: readwrite)
define dso_local spir_kernel void @attention_naive(ptr addrspace(1) nocapture noundef readonly align 4 %0, ptr addrspace(1) nocapture noundef readonly align 4 %1, ptr addrspace(1) nocapture noundef readonly align 4 %2, ptr addrspace(1) nocapture noundef writeonly align 4 %3, ptr addrspace(2) nocapture noundef readonly align 4 dereferenceable(4) %4) local_unnamed_addr #0 !dbg !40 !kernel_arg_addr_space !41 !kernel_arg_access_qual !42 !kernel_arg_type !43 !kernel_arg_base_type !44 !kernel_arg_type_qual !45 {
  %6 = alloca [64 x float], align 4
  %7 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #6, !dbg !46
  %8 = load i32, ptr addrspace(2) %4, align 4, !tbaa !23
  %9 = icmp eq i32 %8, 0, !dbg !47
  br i1 %9, label %10, label %11, !dbg !48

10:                                               ; preds = %5
  call void @llvm.lifetime.start.p0(i64 256, ptr nonnull %6) #7, !dbg !49
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 4 dereferenceable(256) %6, i8 0, i64 256, i1 false), !dbg !50, !tbaa !19
  br label %18, !dbg !51

11:                                               ; preds = %5
  %12 = shl i32 %7, 6
  br label %13, !dbg !48

13:                                               ; preds = %11, %20
  %14 = phi float [ 0xFFF0000000000000, %11 ], [ %22, %20 ]
  %15 = phi i32 [ 0, %11 ], [ %23, %20 ]
  %16 = shl i32 %15, 6
  br label %25, !dbg !52

17:                                               ; preds = %20
  call void @llvm.lifetime.start.p0(i64 256, ptr nonnull %6) #7, !dbg !49
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 4 dereferenceable(256) %6, i8 0, i64 256, i1 false), !dbg !50, !tbaa !19
  br i1 %9, label %18, label %40, !dbg !51

18:                                               ; preds = %10, %17
  %19 = shl i32 %7, 6
  br label %46, !dbg !51

20:                                               ; preds = %25
  %21 = fcmp nsz arcp contract ogt float %14, %37, !dbg !53
  %22 = select nsz arcp contract i1 %21, float %14, float %37, !dbg !54
  %23 = add nuw i32 %15, 1, !dbg !55
  %24 = icmp ult i32 %23, %8, !dbg !47
  br i1 %24, label %13, label %17, !dbg !48, !llvm.loop !56

25:                                               ; preds = %13, %25
  %26 = phi i32 [ 0, %13 ], [ %38, %25 ]
  %27 = phi float [ 0.000000e+00, %13 ], [ %37, %25 ]
  %28 = add nuw nsw i32 %26, %12, !dbg !58
  %29 = zext i32 %28 to i64, !dbg !59
  %30 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %29, !dbg !59
  %31 = load float, ptr addrspace(1) %30, align 4, !dbg !59, !tbaa !19
  %32 = add nuw nsw i32 %26, %16, !dbg !60
  %33 = zext i32 %32 to i64, !dbg !61
  %34 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %33, !dbg !61
  %35 = load float, ptr addrspace(1) %34, align 4, !dbg !61, !tbaa !19
  %36 = fmul nsz arcp contract float %31, %35, !dbg !62
  %37 = fadd nsz arcp contract float %27, %36, !dbg !63
  %38 = add nuw nsw i32 %26, 1, !dbg !64
  %39 = icmp ult i32 %26, 63, !dbg !65
  br i1 %39, label %25, label %20, !dbg !52, !llvm.loop !66

40:                                               ; preds = %17
  %41 = shl i32 %7, 6
  br label %42, !dbg !51

42:                                               ; preds = %40, %68
  %43 = phi i32 [ 0, %40 ], [ %70, %68 ]
  %44 = phi float [ 0.000000e+00, %40 ], [ %69, %68 ]
  %45 = shl i32 %43, 6
  br label %53, !dbg !68

46:                                               ; preds = %68, %18
  %47 = phi i32 [ %19, %18 ], [ %41, %68 ]
  %48 = phi float [ 0.000000e+00, %18 ], [ %69, %68 ], !dbg !69
  %49 = fdiv nsz arcp contract float 1.000000e+00, %48
  br label %86, !dbg !70

50:                                               ; preds = %53
  %51 = fsub nsz arcp contract float %65, %22, !dbg !71
  %52 = tail call nsz arcp contract spir_func float @__ks_exp_f32(float noundef %51) #6, !dbg !72
  br label %72, !dbg !73

53:                                               ; preds = %42, %53
  %54 = phi i32 [ 0, %42 ], [ %66, %53 ]
  %55 = phi float [ 0.000000e+00, %42 ], [ %65, %53 ]
  %56 = add nuw nsw i32 %54, %41, !dbg !74
  %57 = zext i32 %56 to i64, !dbg !75
  %58 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %57, !dbg !75
  %59 = load float, ptr addrspace(1) %58, align 4, !dbg !75, !tbaa !19
  %60 = add nuw nsw i32 %54, %45, !dbg !76
  %61 = zext i32 %60 to i64, !dbg !77
  %62 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %61, !dbg !77
  %63 = load float, ptr addrspace(1) %62, align 4, !dbg !77, !tbaa !19
  %64 = fmul nsz arcp contract float %59, %63, !dbg !78
  %65 = fadd nsz arcp contract float %55, %64, !dbg !79
  %66 = add nuw nsw i32 %54, 1, !dbg !80
  %67 = icmp ult i32 %54, 63, !dbg !81
  br i1 %67, label %53, label %50, !dbg !68, !llvm.loop !82

68:                                               ; preds = %72
  %69 = fadd nsz arcp contract float %44, %52, !dbg !84
  %70 = add nuw i32 %43, 1, !dbg !85
  %71 = icmp ult i32 %70, %8, !dbg !86
  br i1 %71, label %42, label %46, !dbg !51, !llvm.loop !87

72:                                               ; preds = %50, %72
  %73 = phi i32 [ 0, %50 ], [ %83, %72 ]
  %74 = add nuw nsw i32 %73, %45, !dbg !89
  %75 = zext i32 %74 to i64, !dbg !90
  %76 = getelementptr inbounds float, ptr addrspace(1) %2, i64 %75, !dbg !90
  %77 = load float, ptr addrspace(1) %76, align 4, !dbg !90, !tbaa !19
  %78 = fmul nsz arcp contract float %52, %77, !dbg !91
  %79 = zext nneg i32 %73 to i64, !dbg !92
  %80 = getelementptr inbounds [64 x float], ptr %6, i64 0, i64 %79, !dbg !92
  %81 = load float, ptr %80, align 4, !dbg !93, !tbaa !19
  %82 = fadd nsz arcp contract float %81, %78, !dbg !93
  store float %82, ptr %80, align 4, !dbg !93, !tbaa !19
  %83 = add nuw nsw i32 %73, 1, !dbg !94
  %84 = icmp ult i32 %73, 63, !dbg !95
  br i1 %84, label %72, label %68, !dbg !73, !llvm.loop !96

85:                                               ; preds = %86
  call void @llvm.lifetime.end.p0(i64 256, ptr nonnull %6) #7, !dbg !98
  ret void, !dbg !98

86:                                               ; preds = %46, %86
  %87 = phi i32 [ 0, %46 ], [ %95, %86 ]
  %88 = zext nneg i32 %87 to i64, !dbg !99
  %89 = getelementptr inbounds [64 x float], ptr %6, i64 0, i64 %88, !dbg !99
  %90 = load float, ptr %89, align 4, !dbg !99, !tbaa !19
  %91 = fmul nsz arcp contract float %90, %49, !dbg !100
  %92 = add nuw nsw i32 %87, %47, !dbg !101
  %93 = zext i32 %92 to i64, !dbg !102
  %94 = getelementptr inbounds float, ptr addrspace(1) %3, i64 %93, !dbg !102
  store float %91, ptr addrspace(1) %94, align 4, !dbg !103, !tbaa !19
  %95 = add nuw nsw i32 %87, 1, !dbg !104
  %96 = icmp ult i32 %87, 63, !dbg !105
  br i1 %96, label %86, label %85, !dbg !70, !llvm.loop !106
}

; Function Attrs: convergent mustprogress nofree nounwind willreturn memory(none)
declare !dbg !108 dso_local spir_func float @__ks_exp_f32(float noundef) local_unnamed_addr #2

; Function Attrs: convergent mustprogress norecurse nounwind
define dso_local spir_kernel void @attention_tiled(ptr addrspace(1) nocapture noundef readonly align 16 %0, ptr addrspace(1) nocapture noundef readonly align 16 %1, ptr addrspace(1) nocapture noundef readonly align 16 %2, ptr addrspace(1) nocapture noundef writeonly align 16 %3, ptr addrspace(2) nocapture noundef readonly align 4 dereferenceable(4) %4) local_unnamed_addr #3 !dbg !109 !kernel_arg_addr_space !41 !kernel_arg_access_qual !42 !kernel_arg_type !110 !kernel_arg_base_type !111 !kernel_arg_type_qual !45 {
  %6 = tail call spir_func i32 @__ks_sr(i32 noundef 19) #6, !dbg !112
  %7 = shl i32 %6, 4
  %8 = zext i32 %7 to i64, !dbg !113
  %9 = load i32, ptr addrspace(2) %4, align 4, !dbg !114, !tbaa !23
  %10 = icmp eq i32 %9, 0, !dbg !115
  br i1 %10, label %119, label %11, !dbg !116

11:                                               ; preds = %5
  %12 = shl nuw nsw i64 %8, 4, !dbg !113
  %13 = getelementptr i8, ptr addrspace(1) %0, i64 %12, !dbg !113
  %14 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 240, !dbg !117
  %15 = load <4 x float>, ptr addrspace(1) %14, align 16, !dbg !117, !tbaa !118
  %16 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 224, !dbg !117
  %17 = load <4 x float>, ptr addrspace(1) %16, align 16, !dbg !117, !tbaa !118
  %18 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 208, !dbg !117
  %19 = load <4 x float>, ptr addrspace(1) %18, align 16, !dbg !117, !tbaa !118
  %20 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 192, !dbg !117
  %21 = load <4 x float>, ptr addrspace(1) %20, align 16, !dbg !117, !tbaa !118
  %22 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 176, !dbg !117
  %23 = load <4 x float>, ptr addrspace(1) %22, align 16, !dbg !117, !tbaa !118
  %24 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 160, !dbg !117
  %25 = load <4 x float>, ptr addrspace(1) %24, align 16, !dbg !117, !tbaa !118
  %26 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 144, !dbg !117
  %27 = load <4 x float>, ptr addrspace(1) %26, align 16, !dbg !117, !tbaa !118
  %28 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 128, !dbg !117
  %29 = load <4 x float>, ptr addrspace(1) %28, align 16, !dbg !117, !tbaa !118
  %30 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 112, !dbg !117
  %31 = load <4 x float>, ptr addrspace(1) %30, align 16, !dbg !117, !tbaa !118
  %32 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 96, !dbg !117
  %33 = load <4 x float>, ptr addrspace(1) %32, align 16, !dbg !117, !tbaa !118
  %34 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 80, !dbg !117
  %35 = load <4 x float>, ptr addrspace(1) %34, align 16, !dbg !117, !tbaa !118
  %36 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 64, !dbg !117
  %37 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 48, !dbg !117
  %38 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 32, !dbg !117
  %39 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 16, !dbg !117
  %40 = load float, ptr addrspace(1) %13, align 16
  %41 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 4
  %42 = load float, ptr addrspace(1) %41, align 4
  %43 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 8
  %44 = load float, ptr addrspace(1) %43, align 8
  %45 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 12
  %46 = load float, ptr addrspace(1) %45, align 4
  %47 = load float, ptr addrspace(1) %39, align 16
  %48 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 20
  %49 = load float, ptr addrspace(1) %48, align 4
  %50 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 24
  %51 = load float, ptr addrspace(1) %50, align 8
  %52 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 28
  %53 = load float, ptr addrspace(1) %52, align 4
  %54 = load float, ptr addrspace(1) %38, align 16
  %55 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 36
  %56 = load float, ptr addrspace(1) %55, align 4
  %57 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 40
  %58 = load float, ptr addrspace(1) %57, align 8
  %59 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 44
  %60 = load float, ptr addrspace(1) %59, align 4
  %61 = load float, ptr addrspace(1) %37, align 16
  %62 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 52
  %63 = load float, ptr addrspace(1) %62, align 4
  %64 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 56
  %65 = load float, ptr addrspace(1) %64, align 8
  %66 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 60
  %67 = load float, ptr addrspace(1) %66, align 4
  %68 = load float, ptr addrspace(1) %36, align 16
  %69 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 68
  %70 = load float, ptr addrspace(1) %69, align 4
  %71 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 72
  %72 = load float, ptr addrspace(1) %71, align 8
  %73 = getelementptr inbounds i8, ptr addrspace(1) %13, i64 76
  %74 = load float, ptr addrspace(1) %73, align 4
  %75 = extractelement <4 x float> %35, i64 0
  %76 = extractelement <4 x float> %35, i64 1
  %77 = extractelement <4 x float> %35, i64 2
  %78 = extractelement <4 x float> %35, i64 3
  %79 = extractelement <4 x float> %33, i64 0
  %80 = extractelement <4 x float> %33, i64 1
  %81 = extractelement <4 x float> %33, i64 2
  %82 = extractelement <4 x float> %33, i64 3
  %83 = extractelement <4 x float> %31, i64 0
  %84 = extractelement <4 x float> %31, i64 1
  %85 = extractelement <4 x float> %31, i64 2
  %86 = extractelement <4 x float> %31, i64 3
  %87 = extractelement <4 x float> %29, i64 0
  %88 = extractelement <4 x float> %29, i64 1
  %89 = extractelement <4 x float> %29, i64 2
  %90 = extractelement <4 x float> %29, i64 3
  %91 = extractelement <4 x float> %27, i64 0
  %92 = extractelement <4 x float> %27, i64 1
  %93 = extractelement <4 x float> %27, i64 2
  %94 = extractelement <4 x float> %27, i64 3
  %95 = extractelement <4 x float> %25, i64 0
  %96 = extractelement <4 x float> %25, i64 1
  %97 = extractelement <4 x float> %25, i64 2
  %98 = extractelement <4 x float> %25, i64 3
  %99 = extractelement <4 x float> %23, i64 0
  %100 = extractelement <4 x float> %23, i64 1
  %101 = extractelement <4 x float> %23, i64 2
  %102 = extractelement <4 x float> %23, i64 3
  %103 = extractelement <4 x float> %21, i64 0
  %104 = extractelement <4 x float> %21, i64 1
  %105 = extractelement <4 x float> %21, i64 2
  %106 = extractelement <4 x float> %21, i64 3
  %107 = extractelement <4 x float> %19, i64 0
  %108 = extractelement <4 x float> %19, i64 1
  %109 = extractelement <4 x float> %19, i64 2
  %110 = extractelement <4 x float> %19, i64 3
  %111 = extractelement <4 x float> %17, i64 0
  %112 = extractelement <4 x float> %17, i64 1
  %113 = extractelement <4 x float> %17, i64 2
  %114 = extractelement <4 x float> %17, i64 3
  %115 = extractelement <4 x float> %15, i64 0
  %116 = extractelement <4 x float> %15, i64 1
  %117 = extractelement <4 x float> %15, i64 2
  %118 = extractelement <4 x float> %15, i64 3
  br label %202, !dbg !116

119:                                              ; preds = %614, %5
  %120 = phi nsz <4 x float> [ zeroinitializer, %5 ], [ %610, %614 ], !dbg !119
  %121 = phi nsz <4 x float> [ zeroinitializer, %5 ], [ %605, %614 ], !dbg !119
  %122 = phi nsz <4 x float> [ zeroinitializer, %5 ], [ %600, %614 ], !dbg !119
  %123 = phi nsz <4 x float> [ zeroinitializer, %5 ], [ %595, %614 ], !dbg !119
  %124 = phi nsz <4 x float> [ zeroinitializer, %5 ], [ %590, %614 ], !dbg !119
  %125 = phi nsz <4 x float> [ zeroinitializer, %5 ], [ %585, %614 ], !dbg !119
  %126 = phi nsz <4 x float> [ zeroinitializer, %5 ], [ %580, %614 ], !dbg !119
  %127 = phi nsz <4 x float> [ zeroinitializer, %5 ], [ %575, %614 ], !dbg !119
  %128 = phi nsz <4 x float> [ zeroinitializer, %5 ], [ %570, %614 ], !dbg !119
  %129 = phi nsz <4 x float> [ zeroinitializer, %5 ], [ %565, %614 ], !dbg !119
  %130 = phi nsz <4 x float> [ zeroinitializer, %5 ], [ %560, %614 ], !dbg !119
  %131 = phi nsz <4 x float> [ zeroinitializer, %5 ], [ %555, %614 ], !dbg !119
  %132 = phi nsz <4 x float> [ zeroinitializer, %5 ], [ %550, %614 ], !dbg !119
  %133 = phi nsz <4 x float> [ zeroinitializer, %5 ], [ %545, %614 ], !dbg !119
  %134 = phi nsz <4 x float> [ zeroinitializer, %5 ], [ %540, %614 ], !dbg !119
  %135 = phi nsz <4 x float> [ zeroinitializer, %5 ], [ %535, %614 ], !dbg !119
  %136 = phi float [ 0.000000e+00, %5 ], [ %611, %614 ], !dbg !120
  %137 = fdiv nsz arcp contract float 1.000000e+00, %136
  %138 = insertelement <4 x float> poison, float %137, i64 0
  %139 = shufflevector <4 x float> %138, <4 x float> poison, <4 x i32> zeroinitializer
  %140 = fmul nsz arcp contract <4 x float> %135, %139, !dbg !121
  %141 = getelementptr inbounds <4 x float>, ptr addrspace(1) %3, i64 %8, !dbg !122
  store <4 x float> %140, ptr addrspace(1) %141, align 16, !dbg !123, !tbaa !118
  %142 = fmul nsz arcp contract <4 x float> %134, %139, !dbg !121
  %143 = or disjoint i32 %7, 1, !dbg !124
  %144 = zext i32 %143 to i64, !dbg !122
  %145 = getelementptr inbounds <4 x float>, ptr addrspace(1) %3, i64 %144, !dbg !122
  store <4 x float> %142, ptr addrspace(1) %145, align 16, !dbg !123, !tbaa !118
  %146 = fmul nsz arcp contract <4 x float> %133, %139, !dbg !121
  %147 = or disjoint i32 %7, 2, !dbg !124
  %148 = zext i32 %147 to i64, !dbg !122
  %149 = getelementptr inbounds <4 x float>, ptr addrspace(1) %3, i64 %148, !dbg !122
  store <4 x float> %146, ptr addrspace(1) %149, align 16, !dbg !123, !tbaa !118
  %150 = fmul nsz arcp contract <4 x float> %132, %139, !dbg !121
  %151 = or disjoint i32 %7, 3, !dbg !124
  %152 = zext i32 %151 to i64, !dbg !122
  %153 = getelementptr inbounds <4 x float>, ptr addrspace(1) %3, i64 %152, !dbg !122
  store <4 x float> %150, ptr addrspace(1) %153, align 16, !dbg !123, !tbaa !118
  %154 = fmul nsz arcp contract <4 x float> %131, %139, !dbg !121
  %155 = or disjoint i32 %7, 4, !dbg !124
  %156 = zext i32 %155 to i64, !dbg !122
  %157 = getelementptr inbounds <4 x float>, ptr addrspace(1) %3, i64 %156, !dbg !122
  store <4 x float> %154, ptr addrspace(1) %157, align 16, !dbg !123, !tbaa !118
  %158 = fmul nsz arcp contract <4 x float> %130, %139, !dbg !121
  %159 = or disjoint i32 %7, 5, !dbg !124
  %160 = zext i32 %159 to i64, !dbg !122
  %161 = getelementptr inbounds <4 x float>, ptr addrspace(1) %3, i64 %160, !dbg !122
  store <4 x float> %158, ptr addrspace(1) %161, align 16, !dbg !123, !tbaa !118
  %162 = fmul nsz arcp contract <4 x float> %129, %139, !dbg !121
  %163 = or disjoint i32 %7, 6, !dbg !124
  %164 = zext i32 %163 to i64, !dbg !122
  %165 = getelementptr inbounds <4 x float>, ptr addrspace(1) %3, i64 %164, !dbg !122
  store <4 x float> %162, ptr addrspace(1) %165, align 16, !dbg !123, !tbaa !118
  %166 = fmul nsz arcp contract <4 x float> %128, %139, !dbg !121
  %167 = or disjoint i32 %7, 7, !dbg !124
  %168 = zext i32 %167 to i64, !dbg !122
  %169 = getelementptr inbounds <4 x float>, ptr addrspace(1) %3, i64 %168, !dbg !122
  store <4 x float> %166, ptr addrspace(1) %169, align 16, !dbg !123, !tbaa !118
  %170 = fmul nsz arcp contract <4 x float> %127, %139, !dbg !121
  %171 = or disjoint i32 %7, 8, !dbg !124
  %172 = zext i32 %171 to i64, !dbg !122
  %173 = getelementptr inbounds <4 x float>, ptr addrspace(1) %3, i64 %172, !dbg !122
  store <4 x float> %170, ptr addrspace(1) %173, align 16, !dbg !123, !tbaa !118
  %174 = fmul nsz arcp contract <4 x float> %126, %139, !dbg !121
  %175 = or disjoint i32 %7, 9, !dbg !124
  %176 = zext i32 %175 to i64, !dbg !122
  %177 = getelementptr inbounds <4 x float>, ptr addrspace(1) %3, i64 %176, !dbg !122
  store <4 x float> %174, ptr addrspace(1) %177, align 16, !dbg !123, !tbaa !118
  %178 = fmul nsz arcp contract <4 x float> %125, %139, !dbg !121
  %179 = or disjoint i32 %7, 10, !dbg !124
  %180 = zext i32 %179 to i64, !dbg !122
  %181 = getelementptr inbounds <4 x float>, ptr addrspace(1) %3, i64 %180, !dbg !122
  store <4 x float> %178, ptr addrspace(1) %181, align 16, !dbg !123, !tbaa !118
  %182 = fmul nsz arcp contract <4 x float> %124, %139, !dbg !121
  %183 = or disjoint i32 %7, 11, !dbg !124
  %184 = zext i32 %183 to i64, !dbg !122
  %185 = getelementptr inbounds <4 x float>, ptr addrspace(1) %3, i64 %184, !dbg !122
  store <4 x float> %182, ptr addrspace(1) %185, align 16, !dbg !123, !tbaa !118
  %186 = fmul nsz arcp contract <4 x float> %123, %139, !dbg !121
  %187 = or disjoint i32 %7, 12, !dbg !124
  %188 = zext i32 %187 to i64, !dbg !122
  %189 = getelementptr inbounds <4 x float>, ptr addrspace(1) %3, i64 %188, !dbg !122
  store <4 x float> %186, ptr addrspace(1) %189, align 16, !dbg !123, !tbaa !118
  %190 = fmul nsz arcp contract <4 x float> %122, %139, !dbg !121
  %191 = or disjoint i32 %7, 13, !dbg !124
  %192 = zext i32 %191 to i64, !dbg !122
  %193 = getelementptr inbounds <4 x float>, ptr addrspace(1) %3, i64 %192, !dbg !122
  store <4 x float> %190, ptr addrspace(1) %193, align 16, !dbg !123, !tbaa !118
  %194 = fmul nsz arcp contract <4 x float> %121, %139, !dbg !121
  %195 = or disjoint i32 %7, 14, !dbg !124
  %196 = zext i32 %195 to i64, !dbg !122
  %197 = getelementptr inbounds <4 x float>, ptr addrspace(1) %3, i64 %196, !dbg !122
  store <4 x float> %194, ptr addrspace(1) %197, align 16, !dbg !123, !tbaa !118
  %198 = fmul nsz arcp contract <4 x float> %120, %139, !dbg !121
  %199 = or disjoint i32 %7, 15, !dbg !124
  %200 = zext i32 %199 to i64, !dbg !122
  %201 = getelementptr inbounds <4 x float>, ptr addrspace(1) %3, i64 %200, !dbg !122
  store <4 x float> %198, ptr addrspace(1) %201, align 16, !dbg !123, !tbaa !118
  ret void, !dbg !125

202:                                              ; preds = %11, %614
  %203 = phi nsz <4 x float> [ zeroinitializer, %11 ], [ %610, %614 ], !dbg !119
  %204 = phi nsz <4 x float> [ zeroinitializer, %11 ], [ %605, %614 ], !dbg !119
  %205 = phi nsz <4 x float> [ zeroinitializer, %11 ], [ %600, %614 ], !dbg !119
  %206 = phi nsz <4 x float> [ zeroinitializer, %11 ], [ %595, %614 ], !dbg !119
  %207 = phi nsz <4 x float> [ zeroinitializer, %11 ], [ %590, %614 ], !dbg !119
  %208 = phi nsz <4 x float> [ zeroinitializer, %11 ], [ %585, %614 ], !dbg !119
  %209 = phi nsz <4 x float> [ zeroinitializer, %11 ], [ %580, %614 ], !dbg !119
  %210 = phi nsz <4 x float> [ zeroinitializer, %11 ], [ %575, %614 ], !dbg !119
  %211 = phi nsz <4 x float> [ zeroinitializer, %11 ], [ %570, %614 ], !dbg !119
  %212 = phi nsz <4 x float> [ zeroinitializer, %11 ], [ %565, %614 ], !dbg !119
  %213 = phi nsz <4 x float> [ zeroinitializer, %11 ], [ %560, %614 ], !dbg !119
  %214 = phi nsz <4 x float> [ zeroinitializer, %11 ], [ %555, %614 ], !dbg !119
  %215 = phi nsz <4 x float> [ zeroinitializer, %11 ], [ %550, %614 ], !dbg !119
  %216 = phi nsz <4 x float> [ zeroinitializer, %11 ], [ %545, %614 ], !dbg !119
  %217 = phi nsz <4 x float> [ zeroinitializer, %11 ], [ %540, %614 ], !dbg !119
  %218 = phi nsz <4 x float> [ zeroinitializer, %11 ], [ %535, %614 ], !dbg !119
  %219 = phi float [ 0xFFF0000000000000, %11 ], [ %521, %614 ]
  %220 = phi float [ 0.000000e+00, %11 ], [ %611, %614 ]
  %221 = phi i32 [ 0, %11 ], [ %615, %614 ]
  tail call spir_func void @__ks_threadgroup_barrier(i32 noundef 2) #8, !dbg !126
  %222 = tail call spir_func i32 @__ks_sr(i32 noundef 0) #6, !dbg !127
  %223 = icmp ult i32 %222, 512, !dbg !128
  br i1 %223, label %224, label %226, !dbg !129

224:                                              ; preds = %202
  %225 = shl i32 %221, 4
  br label %227, !dbg !129

226:                                              ; preds = %227, %202
  tail call spir_func void @__ks_threadgroup_barrier(i32 noundef 2) #8, !dbg !130
  br label %244, !dbg !131

227:                                              ; preds = %224, %227
  %228 = phi i32 [ %222, %224 ], [ %242, %227 ]
  %229 = add nuw nsw i32 %228, %225, !dbg !132
  %230 = zext i32 %229 to i64, !dbg !133
  %231 = getelementptr inbounds <4 x float>, ptr addrspace(1) %1, i64 %230, !dbg !133
  %232 = load <4 x float>, ptr addrspace(1) %231, align 16, !dbg !133, !tbaa !118
  %233 = lshr i32 %228, 4, !dbg !134
  %234 = zext nneg i32 %233 to i64, !dbg !135
  %235 = and i32 %228, 15, !dbg !136
  %236 = zext nneg i32 %235 to i64, !dbg !135
  %237 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2kt, i64 0, i64 %234, i64 %236, !dbg !135
  store <4 x float> %232, ptr addrspace(3) %237, align 16, !dbg !137, !tbaa !118
  %238 = getelementptr inbounds <4 x float>, ptr addrspace(1) %2, i64 %230, !dbg !138
  %239 = load <4 x float>, ptr addrspace(1) %238, align 16, !dbg !138, !tbaa !118
  %240 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2vt, i64 0, i64 %234, i64 %236, !dbg !139
  store <4 x float> %239, ptr addrspace(3) %240, align 16, !dbg !140, !tbaa !118
  %241 = tail call spir_func i32 @__ks_sr(i32 noundef 6) #6, !dbg !141
  %242 = add i32 %241, %228, !dbg !142
  %243 = icmp ult i32 %242, 512, !dbg !128
  br i1 %243, label %227, label %226, !dbg !129, !llvm.loop !143

244:                                              ; preds = %226, %244
  %245 = phi nsz <4 x float> [ %203, %226 ], [ %610, %244 ], !dbg !119
  %246 = phi nsz <4 x float> [ %204, %226 ], [ %605, %244 ], !dbg !119
  %247 = phi nsz <4 x float> [ %205, %226 ], [ %600, %244 ], !dbg !119
  %248 = phi nsz <4 x float> [ %206, %226 ], [ %595, %244 ], !dbg !119
  %249 = phi nsz <4 x float> [ %207, %226 ], [ %590, %244 ], !dbg !119
  %250 = phi nsz <4 x float> [ %208, %226 ], [ %585, %244 ], !dbg !119
  %251 = phi nsz <4 x float> [ %209, %226 ], [ %580, %244 ], !dbg !119
  %252 = phi nsz <4 x float> [ %210, %226 ], [ %575, %244 ], !dbg !119
  %253 = phi nsz <4 x float> [ %211, %226 ], [ %570, %244 ], !dbg !119
  %254 = phi nsz <4 x float> [ %212, %226 ], [ %565, %244 ], !dbg !119
  %255 = phi nsz <4 x float> [ %213, %226 ], [ %560, %244 ], !dbg !119
  %256 = phi nsz <4 x float> [ %214, %226 ], [ %555, %244 ], !dbg !119
  %257 = phi nsz <4 x float> [ %215, %226 ], [ %550, %244 ], !dbg !119
  %258 = phi nsz <4 x float> [ %216, %226 ], [ %545, %244 ], !dbg !119
  %259 = phi nsz <4 x float> [ %217, %226 ], [ %540, %244 ], !dbg !119
  %260 = phi nsz <4 x float> [ %218, %226 ], [ %535, %244 ], !dbg !119
  %261 = phi float [ %219, %226 ], [ %521, %244 ]
  %262 = phi float [ %220, %226 ], [ %611, %244 ]
  %263 = phi i32 [ 0, %226 ], [ %612, %244 ]
  %264 = zext nneg i32 %263 to i64
  %265 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2kt, i64 0, i64 %264, i64 0, !dbg !145
  %266 = load float, ptr addrspace(3) %265, align 16, !dbg !146
  %267 = fmul nsz arcp contract float %40, %266, !dbg !147
  %268 = getelementptr inbounds i8, ptr addrspace(3) %265, i64 4, !dbg !148
  %269 = load float, ptr addrspace(3) %268, align 4, !dbg !148
  %270 = fmul nsz arcp contract float %42, %269, !dbg !149
  %271 = fadd nsz arcp contract float %270, %267, !dbg !150
  %272 = getelementptr inbounds i8, ptr addrspace(3) %265, i64 8, !dbg !151
  %273 = load float, ptr addrspace(3) %272, align 8, !dbg !151
  %274 = fmul nsz arcp contract float %44, %273, !dbg !152
  %275 = fadd nsz arcp contract float %274, %271, !dbg !153
  %276 = getelementptr inbounds i8, ptr addrspace(3) %265, i64 12, !dbg !154
  %277 = load float, ptr addrspace(3) %276, align 4, !dbg !154
  %278 = fmul nsz arcp contract float %46, %277, !dbg !155
  %279 = fadd nsz arcp contract float %278, %275, !dbg !156
  %280 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2kt, i64 0, i64 %264, i64 1, !dbg !145
  %281 = load float, ptr addrspace(3) %280, align 16, !dbg !146
  %282 = fmul nsz arcp contract float %47, %281, !dbg !147
  %283 = fadd nsz arcp contract float %279, %282, !dbg !157
  %284 = getelementptr inbounds i8, ptr addrspace(3) %280, i64 4, !dbg !148
  %285 = load float, ptr addrspace(3) %284, align 4, !dbg !148
  %286 = fmul nsz arcp contract float %49, %285, !dbg !149
  %287 = fadd nsz arcp contract float %286, %283, !dbg !150
  %288 = getelementptr inbounds i8, ptr addrspace(3) %280, i64 8, !dbg !151
  %289 = load float, ptr addrspace(3) %288, align 8, !dbg !151
  %290 = fmul nsz arcp contract float %51, %289, !dbg !152
  %291 = fadd nsz arcp contract float %290, %287, !dbg !153
  %292 = getelementptr inbounds i8, ptr addrspace(3) %280, i64 12, !dbg !154
  %293 = load float, ptr addrspace(3) %292, align 4, !dbg !154
  %294 = fmul nsz arcp contract float %53, %293, !dbg !155
  %295 = fadd nsz arcp contract float %294, %291, !dbg !156
  %296 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2kt, i64 0, i64 %264, i64 2, !dbg !145
  %297 = load float, ptr addrspace(3) %296, align 16, !dbg !146
  %298 = fmul nsz arcp contract float %54, %297, !dbg !147
  %299 = fadd nsz arcp contract float %295, %298, !dbg !157
  %300 = getelementptr inbounds i8, ptr addrspace(3) %296, i64 4, !dbg !148
  %301 = load float, ptr addrspace(3) %300, align 4, !dbg !148
  %302 = fmul nsz arcp contract float %56, %301, !dbg !149
  %303 = fadd nsz arcp contract float %302, %299, !dbg !150
  %304 = getelementptr inbounds i8, ptr addrspace(3) %296, i64 8, !dbg !151
  %305 = load float, ptr addrspace(3) %304, align 8, !dbg !151
  %306 = fmul nsz arcp contract float %58, %305, !dbg !152
  %307 = fadd nsz arcp contract float %306, %303, !dbg !153
  %308 = getelementptr inbounds i8, ptr addrspace(3) %296, i64 12, !dbg !154
  %309 = load float, ptr addrspace(3) %308, align 4, !dbg !154
  %310 = fmul nsz arcp contract float %60, %309, !dbg !155
  %311 = fadd nsz arcp contract float %310, %307, !dbg !156
  %312 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2kt, i64 0, i64 %264, i64 3, !dbg !145
  %313 = load float, ptr addrspace(3) %312, align 16, !dbg !146
  %314 = fmul nsz arcp contract float %61, %313, !dbg !147
  %315 = fadd nsz arcp contract float %311, %314, !dbg !157
  %316 = getelementptr inbounds i8, ptr addrspace(3) %312, i64 4, !dbg !148
  %317 = load float, ptr addrspace(3) %316, align 4, !dbg !148
  %318 = fmul nsz arcp contract float %63, %317, !dbg !149
  %319 = fadd nsz arcp contract float %318, %315, !dbg !150
  %320 = getelementptr inbounds i8, ptr addrspace(3) %312, i64 8, !dbg !151
  %321 = load float, ptr addrspace(3) %320, align 8, !dbg !151
  %322 = fmul nsz arcp contract float %65, %321, !dbg !152
  %323 = fadd nsz arcp contract float %322, %319, !dbg !153
  %324 = getelementptr inbounds i8, ptr addrspace(3) %312, i64 12, !dbg !154
  %325 = load float, ptr addrspace(3) %324, align 4, !dbg !154
  %326 = fmul nsz arcp contract float %67, %325, !dbg !155
  %327 = fadd nsz arcp contract float %326, %323, !dbg !156
  %328 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2kt, i64 0, i64 %264, i64 4, !dbg !145
  %329 = load float, ptr addrspace(3) %328, align 16, !dbg !146
  %330 = fmul nsz arcp contract float %68, %329, !dbg !147
  %331 = fadd nsz arcp contract float %327, %330, !dbg !157
  %332 = getelementptr inbounds i8, ptr addrspace(3) %328, i64 4, !dbg !148
  %333 = load float, ptr addrspace(3) %332, align 4, !dbg !148
  %334 = fmul nsz arcp contract float %70, %333, !dbg !149
  %335 = fadd nsz arcp contract float %334, %331, !dbg !150
  %336 = getelementptr inbounds i8, ptr addrspace(3) %328, i64 8, !dbg !151
  %337 = load float, ptr addrspace(3) %336, align 8, !dbg !151
  %338 = fmul nsz arcp contract float %72, %337, !dbg !152
  %339 = fadd nsz arcp contract float %338, %335, !dbg !153
  %340 = getelementptr inbounds i8, ptr addrspace(3) %328, i64 12, !dbg !154
  %341 = load float, ptr addrspace(3) %340, align 4, !dbg !154
  %342 = fmul nsz arcp contract float %74, %341, !dbg !155
  %343 = fadd nsz arcp contract float %342, %339, !dbg !156
  %344 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2kt, i64 0, i64 %264, i64 5, !dbg !145
  %345 = load float, ptr addrspace(3) %344, align 16, !dbg !146
  %346 = fmul nsz arcp contract float %75, %345, !dbg !147
  %347 = fadd nsz arcp contract float %343, %346, !dbg !157
  %348 = getelementptr inbounds i8, ptr addrspace(3) %344, i64 4, !dbg !148
  %349 = load float, ptr addrspace(3) %348, align 4, !dbg !148
  %350 = fmul nsz arcp contract float %76, %349, !dbg !149
  %351 = fadd nsz arcp contract float %350, %347, !dbg !150
  %352 = getelementptr inbounds i8, ptr addrspace(3) %344, i64 8, !dbg !151
  %353 = load float, ptr addrspace(3) %352, align 8, !dbg !151
  %354 = fmul nsz arcp contract float %77, %353, !dbg !152
  %355 = fadd nsz arcp contract float %354, %351, !dbg !153
  %356 = getelementptr inbounds i8, ptr addrspace(3) %344, i64 12, !dbg !154
  %357 = load float, ptr addrspace(3) %356, align 4, !dbg !154
  %358 = fmul nsz arcp contract float %78, %357, !dbg !155
  %359 = fadd nsz arcp contract float %358, %355, !dbg !156
  %360 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2kt, i64 0, i64 %264, i64 6, !dbg !145
  %361 = load float, ptr addrspace(3) %360, align 16, !dbg !146
  %362 = fmul nsz arcp contract float %79, %361, !dbg !147
  %363 = fadd nsz arcp contract float %359, %362, !dbg !157
  %364 = getelementptr inbounds i8, ptr addrspace(3) %360, i64 4, !dbg !148
  %365 = load float, ptr addrspace(3) %364, align 4, !dbg !148
  %366 = fmul nsz arcp contract float %80, %365, !dbg !149
  %367 = fadd nsz arcp contract float %366, %363, !dbg !150
  %368 = getelementptr inbounds i8, ptr addrspace(3) %360, i64 8, !dbg !151
  %369 = load float, ptr addrspace(3) %368, align 8, !dbg !151
  %370 = fmul nsz arcp contract float %81, %369, !dbg !152
  %371 = fadd nsz arcp contract float %370, %367, !dbg !153
  %372 = getelementptr inbounds i8, ptr addrspace(3) %360, i64 12, !dbg !154
  %373 = load float, ptr addrspace(3) %372, align 4, !dbg !154
  %374 = fmul nsz arcp contract float %82, %373, !dbg !155
  %375 = fadd nsz arcp contract float %374, %371, !dbg !156
  %376 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2kt, i64 0, i64 %264, i64 7, !dbg !145
  %377 = load float, ptr addrspace(3) %376, align 16, !dbg !146
  %378 = fmul nsz arcp contract float %83, %377, !dbg !147
  %379 = fadd nsz arcp contract float %375, %378, !dbg !157
  %380 = getelementptr inbounds i8, ptr addrspace(3) %376, i64 4, !dbg !148
  %381 = load float, ptr addrspace(3) %380, align 4, !dbg !148
  %382 = fmul nsz arcp contract float %84, %381, !dbg !149
  %383 = fadd nsz arcp contract float %382, %379, !dbg !150
  %384 = getelementptr inbounds i8, ptr addrspace(3) %376, i64 8, !dbg !151
  %385 = load float, ptr addrspace(3) %384, align 8, !dbg !151
  %386 = fmul nsz arcp contract float %85, %385, !dbg !152
  %387 = fadd nsz arcp contract float %386, %383, !dbg !153
  %388 = getelementptr inbounds i8, ptr addrspace(3) %376, i64 12, !dbg !154
  %389 = load float, ptr addrspace(3) %388, align 4, !dbg !154
  %390 = fmul nsz arcp contract float %86, %389, !dbg !155
  %391 = fadd nsz arcp contract float %390, %387, !dbg !156
  %392 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2kt, i64 0, i64 %264, i64 8, !dbg !145
  %393 = load float, ptr addrspace(3) %392, align 16, !dbg !146
  %394 = fmul nsz arcp contract float %87, %393, !dbg !147
  %395 = fadd nsz arcp contract float %391, %394, !dbg !157
  %396 = getelementptr inbounds i8, ptr addrspace(3) %392, i64 4, !dbg !148
  %397 = load float, ptr addrspace(3) %396, align 4, !dbg !148
  %398 = fmul nsz arcp contract float %88, %397, !dbg !149
  %399 = fadd nsz arcp contract float %398, %395, !dbg !150
  %400 = getelementptr inbounds i8, ptr addrspace(3) %392, i64 8, !dbg !151
  %401 = load float, ptr addrspace(3) %400, align 8, !dbg !151
  %402 = fmul nsz arcp contract float %89, %401, !dbg !152
  %403 = fadd nsz arcp contract float %402, %399, !dbg !153
  %404 = getelementptr inbounds i8, ptr addrspace(3) %392, i64 12, !dbg !154
  %405 = load float, ptr addrspace(3) %404, align 4, !dbg !154
  %406 = fmul nsz arcp contract float %90, %405, !dbg !155
  %407 = fadd nsz arcp contract float %406, %403, !dbg !156
  %408 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2kt, i64 0, i64 %264, i64 9, !dbg !145
  %409 = load float, ptr addrspace(3) %408, align 16, !dbg !146
  %410 = fmul nsz arcp contract float %91, %409, !dbg !147
  %411 = fadd nsz arcp contract float %407, %410, !dbg !157
  %412 = getelementptr inbounds i8, ptr addrspace(3) %408, i64 4, !dbg !148
  %413 = load float, ptr addrspace(3) %412, align 4, !dbg !148
  %414 = fmul nsz arcp contract float %92, %413, !dbg !149
  %415 = fadd nsz arcp contract float %414, %411, !dbg !150
  %416 = getelementptr inbounds i8, ptr addrspace(3) %408, i64 8, !dbg !151
  %417 = load float, ptr addrspace(3) %416, align 8, !dbg !151
  %418 = fmul nsz arcp contract float %93, %417, !dbg !152
  %419 = fadd nsz arcp contract float %418, %415, !dbg !153
  %420 = getelementptr inbounds i8, ptr addrspace(3) %408, i64 12, !dbg !154
  %421 = load float, ptr addrspace(3) %420, align 4, !dbg !154
  %422 = fmul nsz arcp contract float %94, %421, !dbg !155
  %423 = fadd nsz arcp contract float %422, %419, !dbg !156
  %424 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2kt, i64 0, i64 %264, i64 10, !dbg !145
  %425 = load float, ptr addrspace(3) %424, align 16, !dbg !146
  %426 = fmul nsz arcp contract float %95, %425, !dbg !147
  %427 = fadd nsz arcp contract float %423, %426, !dbg !157
  %428 = getelementptr inbounds i8, ptr addrspace(3) %424, i64 4, !dbg !148
  %429 = load float, ptr addrspace(3) %428, align 4, !dbg !148
  %430 = fmul nsz arcp contract float %96, %429, !dbg !149
  %431 = fadd nsz arcp contract float %430, %427, !dbg !150
  %432 = getelementptr inbounds i8, ptr addrspace(3) %424, i64 8, !dbg !151
  %433 = load float, ptr addrspace(3) %432, align 8, !dbg !151
  %434 = fmul nsz arcp contract float %97, %433, !dbg !152
  %435 = fadd nsz arcp contract float %434, %431, !dbg !153
  %436 = getelementptr inbounds i8, ptr addrspace(3) %424, i64 12, !dbg !154
  %437 = load float, ptr addrspace(3) %436, align 4, !dbg !154
  %438 = fmul nsz arcp contract float %98, %437, !dbg !155
  %439 = fadd nsz arcp contract float %438, %435, !dbg !156
  %440 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2kt, i64 0, i64 %264, i64 11, !dbg !145
  %441 = load float, ptr addrspace(3) %440, align 16, !dbg !146
  %442 = fmul nsz arcp contract float %99, %441, !dbg !147
  %443 = fadd nsz arcp contract float %439, %442, !dbg !157
  %444 = getelementptr inbounds i8, ptr addrspace(3) %440, i64 4, !dbg !148
  %445 = load float, ptr addrspace(3) %444, align 4, !dbg !148
  %446 = fmul nsz arcp contract float %100, %445, !dbg !149
  %447 = fadd nsz arcp contract float %446, %443, !dbg !150
  %448 = getelementptr inbounds i8, ptr addrspace(3) %440, i64 8, !dbg !151
  %449 = load float, ptr addrspace(3) %448, align 8, !dbg !151
  %450 = fmul nsz arcp contract float %101, %449, !dbg !152
  %451 = fadd nsz arcp contract float %450, %447, !dbg !153
  %452 = getelementptr inbounds i8, ptr addrspace(3) %440, i64 12, !dbg !154
  %453 = load float, ptr addrspace(3) %452, align 4, !dbg !154
  %454 = fmul nsz arcp contract float %102, %453, !dbg !155
  %455 = fadd nsz arcp contract float %454, %451, !dbg !156
  %456 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2kt, i64 0, i64 %264, i64 12, !dbg !145
  %457 = load float, ptr addrspace(3) %456, align 16, !dbg !146
  %458 = fmul nsz arcp contract float %103, %457, !dbg !147
  %459 = fadd nsz arcp contract float %455, %458, !dbg !157
  %460 = getelementptr inbounds i8, ptr addrspace(3) %456, i64 4, !dbg !148
  %461 = load float, ptr addrspace(3) %460, align 4, !dbg !148
  %462 = fmul nsz arcp contract float %104, %461, !dbg !149
  %463 = fadd nsz arcp contract float %462, %459, !dbg !150
  %464 = getelementptr inbounds i8, ptr addrspace(3) %456, i64 8, !dbg !151
  %465 = load float, ptr addrspace(3) %464, align 8, !dbg !151
  %466 = fmul nsz arcp contract float %105, %465, !dbg !152
  %467 = fadd nsz arcp contract float %466, %463, !dbg !153
  %468 = getelementptr inbounds i8, ptr addrspace(3) %456, i64 12, !dbg !154
  %469 = load float, ptr addrspace(3) %468, align 4, !dbg !154
  %470 = fmul nsz arcp contract float %106, %469, !dbg !155
  %471 = fadd nsz arcp contract float %470, %467, !dbg !156
  %472 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2kt, i64 0, i64 %264, i64 13, !dbg !145
  %473 = load float, ptr addrspace(3) %472, align 16, !dbg !146
  %474 = fmul nsz arcp contract float %107, %473, !dbg !147
  %475 = fadd nsz arcp contract float %471, %474, !dbg !157
  %476 = getelementptr inbounds i8, ptr addrspace(3) %472, i64 4, !dbg !148
  %477 = load float, ptr addrspace(3) %476, align 4, !dbg !148
  %478 = fmul nsz arcp contract float %108, %477, !dbg !149
  %479 = fadd nsz arcp contract float %478, %475, !dbg !150
  %480 = getelementptr inbounds i8, ptr addrspace(3) %472, i64 8, !dbg !151
  %481 = load float, ptr addrspace(3) %480, align 8, !dbg !151
  %482 = fmul nsz arcp contract float %109, %481, !dbg !152
  %483 = fadd nsz arcp contract float %482, %479, !dbg !153
  %484 = getelementptr inbounds i8, ptr addrspace(3) %472, i64 12, !dbg !154
  %485 = load float, ptr addrspace(3) %484, align 4, !dbg !154
  %486 = fmul nsz arcp contract float %110, %485, !dbg !155
  %487 = fadd nsz arcp contract float %486, %483, !dbg !156
  %488 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2kt, i64 0, i64 %264, i64 14, !dbg !145
  %489 = load float, ptr addrspace(3) %488, align 16, !dbg !146
  %490 = fmul nsz arcp contract float %111, %489, !dbg !147
  %491 = fadd nsz arcp contract float %487, %490, !dbg !157
  %492 = getelementptr inbounds i8, ptr addrspace(3) %488, i64 4, !dbg !148
  %493 = load float, ptr addrspace(3) %492, align 4, !dbg !148
  %494 = fmul nsz arcp contract float %112, %493, !dbg !149
  %495 = fadd nsz arcp contract float %494, %491, !dbg !150
  %496 = getelementptr inbounds i8, ptr addrspace(3) %488, i64 8, !dbg !151
  %497 = load float, ptr addrspace(3) %496, align 8, !dbg !151
  %498 = fmul nsz arcp contract float %113, %497, !dbg !152
  %499 = fadd nsz arcp contract float %498, %495, !dbg !153
  %500 = getelementptr inbounds i8, ptr addrspace(3) %488, i64 12, !dbg !154
  %501 = load float, ptr addrspace(3) %500, align 4, !dbg !154
  %502 = fmul nsz arcp contract float %114, %501, !dbg !155
  %503 = fadd nsz arcp contract float %502, %499, !dbg !156
  %504 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2kt, i64 0, i64 %264, i64 15, !dbg !145
  %505 = load float, ptr addrspace(3) %504, align 16, !dbg !146
  %506 = fmul nsz arcp contract float %115, %505, !dbg !147
  %507 = fadd nsz arcp contract float %503, %506, !dbg !157
  %508 = getelementptr inbounds i8, ptr addrspace(3) %504, i64 4, !dbg !148
  %509 = load float, ptr addrspace(3) %508, align 4, !dbg !148
  %510 = fmul nsz arcp contract float %116, %509, !dbg !149
  %511 = fadd nsz arcp contract float %510, %507, !dbg !150
  %512 = getelementptr inbounds i8, ptr addrspace(3) %504, i64 8, !dbg !151
  %513 = load float, ptr addrspace(3) %512, align 8, !dbg !151
  %514 = fmul nsz arcp contract float %117, %513, !dbg !152
  %515 = fadd nsz arcp contract float %514, %511, !dbg !153
  %516 = getelementptr inbounds i8, ptr addrspace(3) %504, i64 12, !dbg !154
  %517 = load float, ptr addrspace(3) %516, align 4, !dbg !154
  %518 = fmul nsz arcp contract float %118, %517, !dbg !155
  %519 = fadd nsz arcp contract float %518, %515, !dbg !156
  %520 = fcmp nsz arcp contract ogt float %261, %519, !dbg !158
  %521 = select nsz arcp contract i1 %520, float %261, float %519, !dbg !159
  %522 = fsub nsz arcp contract float %261, %521, !dbg !160
  %523 = tail call nsz arcp contract spir_func float @__ks_exp_f32(float noundef %522) #6, !dbg !161
  %524 = fsub nsz arcp contract float %519, %521, !dbg !162
  %525 = tail call nsz arcp contract spir_func float @__ks_exp_f32(float noundef %524) #6, !dbg !163
  %526 = fmul nsz arcp contract float %262, %523, !dbg !164
  %527 = insertelement <4 x float> poison, float %523, i64 0
  %528 = shufflevector <4 x float> %527, <4 x float> poison, <4 x i32> zeroinitializer
  %529 = insertelement <4 x float> poison, float %525, i64 0
  %530 = shufflevector <4 x float> %529, <4 x float> poison, <4 x i32> zeroinitializer
  %531 = fmul nsz arcp contract <4 x float> %528, %260, !dbg !165
  %532 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2vt, i64 0, i64 %264, i64 0, !dbg !166
  %533 = load <4 x float>, ptr addrspace(3) %532, align 16, !dbg !166, !tbaa !118
  %534 = fmul nsz arcp contract <4 x float> %530, %533, !dbg !167
  %535 = fadd nsz arcp contract <4 x float> %531, %534, !dbg !168
  %536 = fmul nsz arcp contract <4 x float> %528, %259, !dbg !165
  %537 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2vt, i64 0, i64 %264, i64 1, !dbg !166
  %538 = load <4 x float>, ptr addrspace(3) %537, align 16, !dbg !166, !tbaa !118
  %539 = fmul nsz arcp contract <4 x float> %530, %538, !dbg !167
  %540 = fadd nsz arcp contract <4 x float> %536, %539, !dbg !168
  %541 = fmul nsz arcp contract <4 x float> %528, %258, !dbg !165
  %542 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2vt, i64 0, i64 %264, i64 2, !dbg !166
  %543 = load <4 x float>, ptr addrspace(3) %542, align 16, !dbg !166, !tbaa !118
  %544 = fmul nsz arcp contract <4 x float> %530, %543, !dbg !167
  %545 = fadd nsz arcp contract <4 x float> %541, %544, !dbg !168
  %546 = fmul nsz arcp contract <4 x float> %528, %257, !dbg !165
  %547 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2vt, i64 0, i64 %264, i64 3, !dbg !166
  %548 = load <4 x float>, ptr addrspace(3) %547, align 16, !dbg !166, !tbaa !118
  %549 = fmul nsz arcp contract <4 x float> %530, %548, !dbg !167
  %550 = fadd nsz arcp contract <4 x float> %546, %549, !dbg !168
  %551 = fmul nsz arcp contract <4 x float> %528, %256, !dbg !165
  %552 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2vt, i64 0, i64 %264, i64 4, !dbg !166
  %553 = load <4 x float>, ptr addrspace(3) %552, align 16, !dbg !166, !tbaa !118
  %554 = fmul nsz arcp contract <4 x float> %530, %553, !dbg !167
  %555 = fadd nsz arcp contract <4 x float> %551, %554, !dbg !168
  %556 = fmul nsz arcp contract <4 x float> %528, %255, !dbg !165
  %557 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2vt, i64 0, i64 %264, i64 5, !dbg !166
  %558 = load <4 x float>, ptr addrspace(3) %557, align 16, !dbg !166, !tbaa !118
  %559 = fmul nsz arcp contract <4 x float> %530, %558, !dbg !167
  %560 = fadd nsz arcp contract <4 x float> %556, %559, !dbg !168
  %561 = fmul nsz arcp contract <4 x float> %528, %254, !dbg !165
  %562 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2vt, i64 0, i64 %264, i64 6, !dbg !166
  %563 = load <4 x float>, ptr addrspace(3) %562, align 16, !dbg !166, !tbaa !118
  %564 = fmul nsz arcp contract <4 x float> %530, %563, !dbg !167
  %565 = fadd nsz arcp contract <4 x float> %561, %564, !dbg !168
  %566 = fmul nsz arcp contract <4 x float> %528, %253, !dbg !165
  %567 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2vt, i64 0, i64 %264, i64 7, !dbg !166
  %568 = load <4 x float>, ptr addrspace(3) %567, align 16, !dbg !166, !tbaa !118
  %569 = fmul nsz arcp contract <4 x float> %530, %568, !dbg !167
  %570 = fadd nsz arcp contract <4 x float> %566, %569, !dbg !168
  %571 = fmul nsz arcp contract <4 x float> %528, %252, !dbg !165
  %572 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2vt, i64 0, i64 %264, i64 8, !dbg !166
  %573 = load <4 x float>, ptr addrspace(3) %572, align 16, !dbg !166, !tbaa !118
  %574 = fmul nsz arcp contract <4 x float> %530, %573, !dbg !167
  %575 = fadd nsz arcp contract <4 x float> %571, %574, !dbg !168
  %576 = fmul nsz arcp contract <4 x float> %528, %251, !dbg !165
  %577 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2vt, i64 0, i64 %264, i64 9, !dbg !166
  %578 = load <4 x float>, ptr addrspace(3) %577, align 16, !dbg !166, !tbaa !118
  %579 = fmul nsz arcp contract <4 x float> %530, %578, !dbg !167
  %580 = fadd nsz arcp contract <4 x float> %576, %579, !dbg !168
  %581 = fmul nsz arcp contract <4 x float> %528, %250, !dbg !165
  %582 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2vt, i64 0, i64 %264, i64 10, !dbg !166
  %583 = load <4 x float>, ptr addrspace(3) %582, align 16, !dbg !166, !tbaa !118
  %584 = fmul nsz arcp contract <4 x float> %530, %583, !dbg !167
  %585 = fadd nsz arcp contract <4 x float> %581, %584, !dbg !168
  %586 = fmul nsz arcp contract <4 x float> %528, %249, !dbg !165
  %587 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2vt, i64 0, i64 %264, i64 11, !dbg !166
  %588 = load <4 x float>, ptr addrspace(3) %587, align 16, !dbg !166, !tbaa !118
  %589 = fmul nsz arcp contract <4 x float> %530, %588, !dbg !167
  %590 = fadd nsz arcp contract <4 x float> %586, %589, !dbg !168
  %591 = fmul nsz arcp contract <4 x float> %528, %248, !dbg !165
  %592 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2vt, i64 0, i64 %264, i64 12, !dbg !166
  %593 = load <4 x float>, ptr addrspace(3) %592, align 16, !dbg !166, !tbaa !118
  %594 = fmul nsz arcp contract <4 x float> %530, %593, !dbg !167
  %595 = fadd nsz arcp contract <4 x float> %591, %594, !dbg !168
  %596 = fmul nsz arcp contract <4 x float> %528, %247, !dbg !165
  %597 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2vt, i64 0, i64 %264, i64 13, !dbg !166
  %598 = load <4 x float>, ptr addrspace(3) %597, align 16, !dbg !166, !tbaa !118
  %599 = fmul nsz arcp contract <4 x float> %530, %598, !dbg !167
  %600 = fadd nsz arcp contract <4 x float> %596, %599, !dbg !168
  %601 = fmul nsz arcp contract <4 x float> %528, %246, !dbg !165
  %602 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2vt, i64 0, i64 %264, i64 14, !dbg !166
  %603 = load <4 x float>, ptr addrspace(3) %602, align 16, !dbg !166, !tbaa !118
  %604 = fmul nsz arcp contract <4 x float> %530, %603, !dbg !167
  %605 = fadd nsz arcp contract <4 x float> %601, %604, !dbg !168
  %606 = fmul nsz arcp contract <4 x float> %528, %245, !dbg !165
  %607 = getelementptr inbounds [32 x [16 x <4 x float>]], ptr addrspace(3) @_ZZ15attention_tiledE2vt, i64 0, i64 %264, i64 15, !dbg !166
  %608 = load <4 x float>, ptr addrspace(3) %607, align 16, !dbg !166, !tbaa !118
  %609 = fmul nsz arcp contract <4 x float> %530, %608, !dbg !167
  %610 = fadd nsz arcp contract <4 x float> %606, %609, !dbg !168
  %611 = fadd nsz arcp contract float %526, %525, !dbg !169
  %612 = add nuw nsw i32 %263, 1, !dbg !170
  %613 = icmp ult i32 %263, 31, !dbg !171
  br i1 %613, label %244, label %614, !dbg !131, !llvm.loop !172

614:                                              ; preds = %244
  %615 = add i32 %221, 32, !dbg !174
  %616 = load i32, ptr addrspace(2) %4, align 4, !dbg !114, !tbaa !23
  %617 = icmp ult i32 %615, %616, !dbg !115
  br i1 %617, label %202, label %119, !dbg !116, !llvm.loop !175
}

; Function Attrs: convergent nounwind
declare !dbg !177 dso_local spir_func void @__ks_threadgroup_barrier(i32 noundef) local_unnamed_addr #4

; Function Attrs: nocallback nofree nounwind willreturn memory(argmem: write)
declare void @llvm.memset.p0.i64(ptr nocapture writeonly, i8, i64, i1 immarg) #5

attributes #0 = { convergent mustprogress nofree norecurse nounwind memory(argmem: readwrite) "frame-pointer"="all" "no-signed-zeros-fp-math"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "uniform-work-group-size"="true" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { convergent mustprogress nofree nounwind willreturn memory(none) "frame-pointer"="all" "no-signed-zeros-fp-math"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #3 = { convergent mustprogress norecurse nounwind "frame-pointer"="all" "no-signed-zeros-fp-math"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "uniform-work-group-size"="true" }
attributes #4 = { convergent nounwind "frame-pointer"="all" "no-signed-zeros-fp-math"="true" "no-trapping-math"="true" "stack-protector-buffer-size"="8" }
attributes #5 = { nocallback nofree nounwind willreturn memory(argmem: write) }
attributes #6 = { convergent nounwind willreturn memory(none) }
attributes #7 = { nounwind }
attributes #8 = { convergent nounwind }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3, !4, !5}
!opencl.ocl.version = !{!6}
!opencl.cxx.version = !{!7}
!opencl.spir.version = !{!6}
!llvm.ident = !{!8}

!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !1, producer: "Debian clang version 19.1.7 (3~deb12u1)", isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly, splitDebugInlining: false, nameTableKind: None)
!1 = !DIFile(filename: "bench.cl", directory: ".", checksumkind: CSK_MD5, checksum: "524d45da54296e342035b1cc2113a127")
!2 = !{i32 7, !"Dwarf Version", i32 5}
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = !{i32 1, !"wchar_size", i32 4}
!5 = !{i32 7, !"frame-pointer", i32 2}
!6 = !{i32 3, i32 0}
!7 = !{i32 2021, i32 0}
!8 = !{!"Debian clang version 19.1.7 (3~deb12u1)"}
!9 = distinct !DISubprogram(name: "fma_loop", scope: !1, file: !1, line: 4, type: !10, scopeLine: 4, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!10 = !DISubroutineType(types: !11)
!11 = !{}
!12 = !{i32 1, i32 1, i32 0}
!13 = !{!"none", !"none", !"none"}
!14 = !{!"float*", !"float*", !"__constant uint &"}
!15 = !{!"float*", !"float*", !"__constant unsigned int &"}
!16 = !{!"const", !"", !""}
!17 = !DILocation(line: 5, column: 16, scope: !9)
!18 = !DILocation(line: 5, column: 13, scope: !9)
!19 = !{!20, !20, i64 0}
!20 = !{!"float", !21, i64 0}
!21 = !{!"omnipotent char", !22, i64 0}
!22 = !{!"Simple C++ TBAA"}
!23 = !{!24, !24, i64 0}
!24 = !{!"int", !21, i64 0}
!25 = !DILocation(line: 6, column: 22, scope: !9)
!26 = !DILocation(line: 6, column: 3, scope: !9)
!27 = !DILocation(line: 8, column: 40, scope: !9)
!28 = !DILocation(line: 8, column: 44, scope: !9)
!29 = !DILocation(line: 6, column: 28, scope: !9)
!30 = distinct !{!30, !26, !31, !32}
!31 = !DILocation(line: 9, column: 3, scope: !9)
!32 = !{!"llvm.loop.mustprogress"}
!33 = !DILocation(line: 5, column: 9, scope: !9)
!34 = !DILocation(line: 10, column: 7, scope: !9)
!35 = !DILocation(line: 10, column: 3, scope: !9)
!36 = !DILocation(line: 10, column: 12, scope: !9)
!37 = !DILocation(line: 11, column: 1, scope: !9)
!38 = !DISubprogram(name: "__ks_sr", scope: !39, file: !39, line: 6, type: !10, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
!39 = !DIFile(filename: "./ks.h", directory: ".", checksumkind: CSK_MD5, checksum: "0e8dc3fd852547a75e1f09f74de41f48")
!40 = distinct !DISubprogram(name: "attention_naive", scope: !1, file: !1, line: 14, type: !10, scopeLine: 15, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!41 = !{i32 1, i32 1, i32 1, i32 1, i32 0}
!42 = !{!"none", !"none", !"none", !"none", !"none"}
!43 = !{!"float*", !"float*", !"float*", !"float*", !"__constant uint &"}
!44 = !{!"float*", !"float*", !"float*", !"float*", !"__constant unsigned int &"}
!45 = !{!"const", !"const", !"const", !"", !""}
!46 = !DILocation(line: 16, column: 14, scope: !40)
!47 = !DILocation(line: 18, column: 22, scope: !40)
!48 = !DILocation(line: 18, column: 3, scope: !40)
!49 = !DILocation(line: 24, column: 3, scope: !40)
!50 = !DILocation(line: 25, column: 40, scope: !40)
!51 = !DILocation(line: 26, column: 3, scope: !40)
!52 = !DILocation(line: 20, column: 5, scope: !40)
!53 = !DILocation(line: 21, column: 17, scope: !40)
!54 = !DILocation(line: 21, column: 12, scope: !40)
!55 = !DILocation(line: 18, column: 30, scope: !40)
!56 = distinct !{!56, !48, !57, !32}
!57 = !DILocation(line: 22, column: 3, scope: !40)
!58 = !DILocation(line: 20, column: 51, scope: !40)
!59 = !DILocation(line: 20, column: 40, scope: !40)
!60 = !DILocation(line: 20, column: 67, scope: !40)
!61 = !DILocation(line: 20, column: 58, scope: !40)
!62 = !DILocation(line: 20, column: 56, scope: !40)
!63 = !DILocation(line: 20, column: 37, scope: !40)
!64 = !DILocation(line: 20, column: 31, scope: !40)
!65 = !DILocation(line: 20, column: 24, scope: !40)
!66 = distinct !{!66, !52, !67, !32}
!67 = !DILocation(line: 20, column: 70, scope: !40)
!68 = !DILocation(line: 28, column: 5, scope: !40)
!69 = !DILocation(line: 0, scope: !40)
!70 = !DILocation(line: 33, column: 3, scope: !40)
!71 = !DILocation(line: 29, column: 30, scope: !40)
!72 = !DILocation(line: 29, column: 15, scope: !40)
!73 = !DILocation(line: 31, column: 5, scope: !40)
!74 = !DILocation(line: 28, column: 51, scope: !40)
!75 = !DILocation(line: 28, column: 40, scope: !40)
!76 = !DILocation(line: 28, column: 67, scope: !40)
!77 = !DILocation(line: 28, column: 58, scope: !40)
!78 = !DILocation(line: 28, column: 56, scope: !40)
!79 = !DILocation(line: 28, column: 37, scope: !40)
!80 = !DILocation(line: 28, column: 31, scope: !40)
!81 = !DILocation(line: 28, column: 24, scope: !40)
!82 = distinct !{!82, !68, !83, !32}
!83 = !DILocation(line: 28, column: 70, scope: !40)
!84 = !DILocation(line: 30, column: 9, scope: !40)
!85 = !DILocation(line: 26, column: 30, scope: !40)
!86 = !DILocation(line: 26, column: 22, scope: !40)
!87 = distinct !{!87, !51, !88, !32}
!88 = !DILocation(line: 32, column: 3, scope: !40)
!89 = !DILocation(line: 31, column: 58, scope: !40)
!90 = !DILocation(line: 31, column: 49, scope: !40)
!91 = !DILocation(line: 31, column: 47, scope: !40)
!92 = !DILocation(line: 31, column: 35, scope: !40)
!93 = !DILocation(line: 31, column: 42, scope: !40)
!94 = !DILocation(line: 31, column: 31, scope: !40)
!95 = !DILocation(line: 31, column: 24, scope: !40)
!96 = distinct !{!96, !73, !97, !32}
!97 = !DILocation(line: 31, column: 61, scope: !40)
!98 = !DILocation(line: 34, column: 1, scope: !40)
!99 = !DILocation(line: 33, column: 51, scope: !40)
!100 = !DILocation(line: 33, column: 58, scope: !40)
!101 = !DILocation(line: 33, column: 44, scope: !40)
!102 = !DILocation(line: 33, column: 33, scope: !40)
!103 = !DILocation(line: 33, column: 49, scope: !40)
!104 = !DILocation(line: 33, column: 29, scope: !40)
!105 = !DILocation(line: 33, column: 22, scope: !40)
!106 = distinct !{!106, !70, !107, !32}
!107 = !DILocation(line: 33, column: 60, scope: !40)
!108 = !DISubprogram(name: "__ks_exp_f32", scope: !39, file: !39, line: 28, type: !10, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
!109 = distinct !DISubprogram(name: "attention_tiled", scope: !1, file: !1, line: 37, type: !10, scopeLine: 38, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!110 = !{!"float4*", !"float4*", !"float4*", !"float4*", !"__constant uint &"}
!111 = !{!"float __attribute__((ext_vector_type(4)))*", !"float __attribute__((ext_vector_type(4)))*", !"float __attribute__((ext_vector_type(4)))*", !"float __attribute__((ext_vector_type(4)))*", !"__constant unsigned int &"}
!112 = !DILocation(line: 40, column: 14, scope: !109)
!113 = !DILocation(line: 42, column: 3, scope: !109)
!114 = !DILocation(line: 45, column: 24, scope: !109)
!115 = !DILocation(line: 45, column: 22, scope: !109)
!116 = !DILocation(line: 45, column: 3, scope: !109)
!117 = !DILocation(line: 42, column: 38, scope: !109)
!118 = !{!21, !21, i64 0}
!119 = !DILocation(line: 0, scope: !109)
!120 = !DILocation(line: 44, column: 27, scope: !109)
!121 = !DILocation(line: 67, column: 57, scope: !109)
!122 = !DILocation(line: 67, column: 32, scope: !109)
!123 = !DILocation(line: 67, column: 48, scope: !109)
!124 = !DILocation(line: 67, column: 43, scope: !109)
!125 = !DILocation(line: 68, column: 1, scope: !109)
!126 = !DILocation(line: 46, column: 5, scope: !109)
!127 = !DILocation(line: 47, column: 19, scope: !109)
!128 = !DILocation(line: 47, column: 26, scope: !109)
!129 = !DILocation(line: 47, column: 5, scope: !109)
!130 = !DILocation(line: 51, column: 5, scope: !109)
!131 = !DILocation(line: 52, column: 5, scope: !109)
!132 = !DILocation(line: 48, column: 37, scope: !109)
!133 = !DILocation(line: 48, column: 28, scope: !109)
!134 = !DILocation(line: 48, column: 12, scope: !109)
!135 = !DILocation(line: 48, column: 7, scope: !109)
!136 = !DILocation(line: 48, column: 20, scope: !109)
!137 = !DILocation(line: 48, column: 26, scope: !109)
!138 = !DILocation(line: 49, column: 28, scope: !109)
!139 = !DILocation(line: 49, column: 7, scope: !109)
!140 = !DILocation(line: 49, column: 26, scope: !109)
!141 = !DILocation(line: 47, column: 42, scope: !109)
!142 = !DILocation(line: 47, column: 39, scope: !109)
!143 = distinct !{!143, !129, !144, !32}
!144 = !DILocation(line: 50, column: 5, scope: !109)
!145 = !DILocation(line: 56, column: 31, scope: !109)
!146 = !DILocation(line: 57, column: 20, scope: !109)
!147 = !DILocation(line: 57, column: 18, scope: !109)
!148 = !DILocation(line: 57, column: 36, scope: !109)
!149 = !DILocation(line: 57, column: 34, scope: !109)
!150 = !DILocation(line: 57, column: 27, scope: !109)
!151 = !DILocation(line: 57, column: 52, scope: !109)
!152 = !DILocation(line: 57, column: 50, scope: !109)
!153 = !DILocation(line: 57, column: 43, scope: !109)
!154 = !DILocation(line: 57, column: 68, scope: !109)
!155 = !DILocation(line: 57, column: 66, scope: !109)
!156 = !DILocation(line: 57, column: 59, scope: !109)
!157 = !DILocation(line: 57, column: 11, scope: !109)
!158 = !DILocation(line: 59, column: 22, scope: !109)
!159 = !DILocation(line: 59, column: 17, scope: !109)
!160 = !DILocation(line: 60, column: 35, scope: !109)
!161 = !DILocation(line: 60, column: 17, scope: !109)
!162 = !DILocation(line: 60, column: 60, scope: !109)
!163 = !DILocation(line: 60, column: 45, scope: !109)
!164 = !DILocation(line: 61, column: 17, scope: !109)
!165 = !DILocation(line: 63, column: 52, scope: !109)
!166 = !DILocation(line: 63, column: 58, scope: !109)
!167 = !DILocation(line: 63, column: 67, scope: !109)
!168 = !DILocation(line: 63, column: 56, scope: !109)
!169 = !DILocation(line: 61, column: 21, scope: !109)
!170 = !DILocation(line: 52, column: 30, scope: !109)
!171 = !DILocation(line: 52, column: 23, scope: !109)
!172 = distinct !{!172, !131, !173, !32}
!173 = !DILocation(line: 65, column: 5, scope: !109)
!174 = !DILocation(line: 45, column: 31, scope: !109)
!175 = distinct !{!175, !116, !176, !32}
!176 = !DILocation(line: 66, column: 3, scope: !109)
!177 = !DISubprogram(name: "__ks_threadgroup_barrier", scope: !39, file: !39, line: 7, type: !10, flags: DIFlagPrototyped, spFlags: DISPFlagOptimized)
