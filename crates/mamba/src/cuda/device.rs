//! A thin layer over the driver, NVRTC and cuBLASLt: memory that frees itself, kernels, products, one stream. Must not know
//! models. All libraries are loaded at run time; a machine without them gets an error that says so.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::rc::Rc;

use cudarc::cublaslt::{result as lt, sys as lts};
use cudarc::driver::{result as cu, sys};
use cudarc::nvrtc::{result as nvrtc, sys as nvrtc_sys};

use crate::error::{Error, Result};
use crate::weights::WeightType;

/// Room that cuBLASLt may use for a product.
const WORKSPACE: usize = 64 << 20;

pub(super) fn failed(reason: impl Into<String>) -> Error {
    Error::Unsupported { backend: "cuda", reason: reason.into() }
}

/// Turns a failure of the driver into an error that says what was being done.
fn driver<T>(what: &str, result: std::result::Result<T, cu::DriverError>) -> Result<T> {
    result.map_err(|e| failed(format!("{what}: {e:?}")))
}

fn blas<T>(what: &str, result: std::result::Result<T, lt::CublasError>) -> Result<T> {
    result.map_err(|e| failed(format!("{what}: {e:?}")))
}

/// One GPU with one stream.
pub(super) struct Device {
    ordinal: sys::CUdevice,
    context: sys::CUcontext,
    stream: sys::CUstream,
    blas: lts::cublasLtHandle_t,
    workspace: RefCell<Option<Memory>>,
    plans: RefCell<HashMap<Product, Plan>>,
    /// Name and compute capability.
    pub(super) name: String,
    pub(super) capability: (i32, i32),
}

/// A product's sizes and types: what a plan depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Product {
    pub(super) rows: usize,
    pub(super) outputs: usize,
    pub(super) depth: usize,
    /// Elements between rows of the input.
    pub(super) pitch: usize,
    /// Elements between rows of the output.
    pub(super) out_pitch: usize,
    /// Whether the output is f32 (else of the weights' type).
    pub(super) wide: bool,
}

struct Plan {
    desc: lts::cublasLtMatmulDesc_t,
    a: lts::cublasLtMatrixLayout_t,
    b: lts::cublasLtMatrixLayout_t,
    d: lts::cublasLtMatrixLayout_t,
    algo: lts::cublasLtMatmulAlgo_t,
}

impl Device {
    /// Opens the first GPU.
    pub(super) fn open() -> Result<Rc<Self>> {
        // SAFETY: only loads libraries and looks for them.
        let (has_driver, has_nvrtc, has_blas) =
            unsafe { (sys::is_culib_present(), nvrtc_sys::is_culib_present(), lts::is_culib_present()) };
        for (there, what) in [
            (has_driver, "no NVIDIA driver (libcuda) on this machine"),
            (has_nvrtc, "no NVRTC (libnvrtc); install the CUDA toolkit or put its lib folder on LD_LIBRARY_PATH"),
            (has_blas, "no cuBLASLt (libcublasLt); install the CUDA toolkit or put its lib folder on LD_LIBRARY_PATH"),
        ] {
            if !there {
                return Err(failed(what));
            }
        }
        driver("starting the driver", cu::init())?;
        let device = driver("opening GPU 0", cu::device::get(0))?;
        let name = driver("naming GPU 0", cu::device::get_name(device))?;
        // SAFETY: `device` is valid; the attributes exist on every GPU; the context is released in `drop`.
        unsafe {
            let attribute = |a| driver("asking GPU 0", cu::device::get_attribute(device, a));
            use sys::CUdevice_attribute::{
                CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as MAJOR,
                CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR as MINOR,
            };
            let capability = (attribute(MAJOR)?, attribute(MINOR)?);
            if capability.0 < 9 {
                return Err(failed(format!("{name} has compute capability {capability:?}; 9.0 or newer is needed")));
            }
            let context = driver("opening a context", cu::primary_ctx::retain(device))?;
            driver("opening a context", cu::ctx::set_current(context))?;
            let stream = driver("opening a stream", cu::stream::create(cu::stream::StreamKind::NonBlocking))?;
            let blas = blas("starting cuBLASLt", lt::create_handle())?;
            let (workspace, plans) = (RefCell::new(None), RefCell::new(HashMap::new()));
            let device = Rc::new(Self { ordinal: device, context, stream, blas, workspace, plans, name, capability });
            *device.workspace.borrow_mut() = Some(device.memory(WORKSPACE, "the products' workspace")?);
            Ok(device)
        }
    }

    /// Makes this thread use the device.
    pub(super) fn enter(&self) -> Result<()> {
        // SAFETY: the context lives as long as `self`.
        driver("entering the context", unsafe { cu::ctx::set_current(self.context) })
    }

    /// Zeroed memory.
    pub(super) fn memory(&self, bytes: usize, what: &str) -> Result<Memory> {
        let bytes = bytes.max(16);
        // SAFETY: the pointer is owned by the returned value.
        let pointer = unsafe { cu::malloc_sync(bytes) }.map_err(|e| {
            if e.0 != sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY {
                return failed(format!("taking memory for {what}: {e:?}"));
            }
            let available = cu::mem_get_info().map_or(0, |(free, _)| free as u64);
            Error::OutOfMemory { what: format!("{what} (GPU)"), needed: bytes as u64, available }
        })?;
        let memory = Memory { pointer, bytes };
        // SAFETY: the memory is `bytes` long.
        driver("clearing memory", unsafe { cu::memset_d8_async(pointer, 0, bytes, self.stream) })?;
        Ok(memory)
    }

    /// Memory with these contents.
    pub(super) fn upload<T: bytemuck::Pod>(&self, values: &[T], what: &str) -> Result<Memory> {
        let memory = self.memory(size_of_val(values), what)?;
        self.write(&memory, values)?;
        Ok(memory)
    }

    /// Overwrites the beginning of `memory`, after all queued work.
    pub(super) fn write<T: bytemuck::Pod>(&self, memory: &Memory, values: &[T]) -> Result<()> {
        if size_of_val(values) > memory.bytes {
            return Err(failed("a copy is larger than its target"));
        }
        // On our own stream and waited for: the driver's synchronous copy may return before the bytes have arrived, and our
        // stream does not wait for the default one.
        // SAFETY: both sides are long enough, and `values` outlives the wait.
        driver("copying to the GPU", unsafe { cu::memcpy_htod_async(memory.pointer, values, self.stream) })?;
        self.wait()
    }

    /// Reads the beginning of `memory`, after all queued work.
    pub(super) fn read<T: bytemuck::Pod>(&self, memory: &Memory, values: &mut [T]) -> Result<()> {
        if size_of_val(values) > memory.bytes {
            return Err(failed("a copy is larger than its source"));
        }
        self.wait()?;
        // SAFETY: as above.
        driver("copying from the GPU", unsafe { cu::memcpy_dtoh_sync(values, memory.pointer) })
    }

    /// Waits for all queued work.
    pub(super) fn wait(&self) -> Result<()> {
        // SAFETY: the stream lives as long as `self`.
        driver("running kernels", unsafe { cu::stream::synchronize(self.stream) })
    }

    /// Compiles kernels.
    pub(super) fn compile(&self, source: &str, defines: &[(&str, String)]) -> Result<Module> {
        let source = CString::new(source).map_err(|_| failed("the kernels hold a NUL byte"))?;
        let mut options = vec![format!("--gpu-architecture=compute_{}{}", self.capability.0, self.capability.1)];
        options.extend(defines.iter().map(|(k, v)| format!("-D{k}={v}")));
        let error = |what: &str, e: nvrtc::NvrtcError| failed(format!("{what}: {e:?}"));
        let program = nvrtc::create_program(&source, Some(c"kernels.cu")).map_err(|e| error("starting NVRTC", e))?;
        // SAFETY: the program is valid until it is destroyed at the end; the log and PTX are NUL-terminated strings.
        let ptx = unsafe {
            let compiled = nvrtc::compile_program(program, &options);
            let ptx = if compiled.is_ok() {
                nvrtc::get_ptx(program).map_err(|e| error("reading the kernels' PTX", e))
            } else {
                let log = nvrtc::get_program_log(program).unwrap_or_default();
                let bytes: Vec<u8> = log.iter().map(|&c| c as u8).take_while(|&c| c != 0).collect();
                Err(failed(format!("compiling the kernels: {}", String::from_utf8_lossy(&bytes))))
            };
            nvrtc::destroy_program(program).map_err(|e| error("ending NVRTC", e))?;
            ptx?
        };
        // SAFETY: `get_ptx` ends the text with NUL.
        let module = driver("loading the kernels", unsafe { cu::module::load_data(ptx.as_ptr().cast()) })?;
        Ok(Module(module))
    }

    /// Queues a kernel. `early` lets it start before the work ahead has ended, which it must wait for itself.
    ///
    /// # Safety
    /// The arguments are those of the kernel, and their memory covers what it touches.
    pub(super) unsafe fn launch(
        &self,
        kernel: Kernel,
        grid: (usize, usize, usize),
        threads: u32,
        early: bool,
        arguments: &[Argument],
    ) -> Result<()> {
        let mut pointers: Vec<*mut c_void> = arguments.iter().map(Argument::pointer).collect();
        let mut attributes = [sys::CUlaunchAttribute {
            id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: [0; 4],
            value: sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
        }];
        let size = |n: usize| u32::try_from(n).map_err(|_| failed("the launch is too large"));
        let config = sys::CUlaunchConfig {
            gridDimX: size(grid.0)?,
            gridDimY: size(grid.1)?,
            gridDimZ: size(grid.2)?,
            blockDimX: threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            hStream: self.stream,
            attrs: attributes.as_mut_ptr(),
            numAttrs: u32::from(early),
        };
        // SAFETY: the caller's promise; config, attributes and pointers outlive the call.
        let status =
            unsafe { sys::cuLaunchKernelEx(&raw const config, kernel.0, pointers.as_mut_ptr(), std::ptr::null_mut()) };
        driver("launching a kernel", status.result())
    }

    /// Queues `out = x Wᵀ` (`+=` with `accumulate`), all row-major.
    ///
    /// # Safety
    /// The three pointers cover the product's matrices.
    pub(super) unsafe fn multiply(
        &self,
        kind: WeightType,
        product: Product,
        w: &Memory,
        x: sys::CUdeviceptr,
        out: sys::CUdeviceptr,
        accumulate: bool,
    ) -> Result<()> {
        let mut plans = self.plans.borrow_mut();
        let plan = match plans.entry(product) {
            std::collections::hash_map::Entry::Occupied(e) => e.into_mut(),
            std::collections::hash_map::Entry::Vacant(e) => e.insert(self.plan(kind, product)?),
        };
        let workspace = self.workspace.borrow().as_ref().map_or(0, |m| m.pointer);
        let (alpha, beta) = (1.0f32, if accumulate { 1.0f32 } else { 0.0 });
        // SAFETY: the caller's promise; the plan's handles are valid; the stream's type is the runtime's name for the
        // driver's.
        let status = unsafe {
            lt::matmul(
                self.blas,
                plan.desc,
                (&raw const alpha).cast(),
                (&raw const beta).cast(),
                w.pointer as *const c_void,
                plan.a,
                x as *const c_void,
                plan.b,
                out as *const c_void,
                plan.d,
                out as *mut c_void,
                plan.d,
                &raw const plan.algo,
                workspace as *mut c_void,
                WORKSPACE,
                self.stream.cast(),
            )
        };
        blas(&format!("multiplying {product:?}"), status)
    }

    /// cuBLASLt thinks in columns: a row-major matrix is its transpose, so `out = x Wᵀ` becomes `outᵀ = W xᵀ`.
    fn plan(&self, kind: WeightType, p: Product) -> Result<Plan> {
        let narrow = match kind {
            WeightType::F32 => lts::cudaDataType::CUDA_R_32F,
            WeightType::F16 => lts::cudaDataType::CUDA_R_16F,
            WeightType::Bf16 => lts::cudaDataType::CUDA_R_16BF,
        };
        let out = if p.wide { lts::cudaDataType::CUDA_R_32F } else { narrow };
        let what = format!("planning {p:?}");
        let layout = |kind, rows: usize, columns: usize, pitch: usize| {
            blas(&what, lt::create_matrix_layout(kind, rows as u64, columns as u64, pitch as i64))
        };
        let compute = lts::cublasComputeType_t::CUBLAS_COMPUTE_32F;
        let desc = blas(&what, lt::create_matmul_desc(compute, lts::cudaDataType::CUDA_R_32F))?;
        let a = layout(narrow, p.depth, p.outputs, p.depth)?;
        let b = layout(narrow, p.depth, p.rows, p.pitch)?;
        let d = layout(out, p.outputs, p.rows, p.out_pitch)?;
        // CUBLAS_OP_T of `cublas_api.h`.
        let transpose = 1i32;
        // SAFETY: handles are fresh; each attribute is given its documented type.
        unsafe {
            let attribute = lts::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_TRANSA;
            let size = size_of_val(&transpose);
            blas(&what, lt::set_matmul_desc_attribute(desc, attribute, (&raw const transpose).cast(), size))?;
            let preference = blas(&what, lt::create_matmul_pref())?;
            let most = WORKSPACE;
            let attribute = lts::cublasLtMatmulPreferenceAttributes_t::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
            let pointer = (&raw const most).cast();
            blas(&what, lt::set_matmul_pref_attribute(preference, attribute, pointer, size_of::<usize>()))?;
            let found = lt::get_matmul_algo_heuristic(self.blas, desc, a, b, d, d, preference);
            blas(&what, lt::destroy_matmul_pref(preference))?;
            Ok(Plan { desc, a, b, d, algo: blas(&what, found)?.algo })
        }
    }

    /// Records what `queue` queues as a graph that can be replayed.
    pub(super) fn capture(&self, queue: impl FnOnce() -> Result<()>) -> Result<Graph> {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is ours; a capture that was begun is ended whatever happens in between; handles are fresh.
        unsafe {
            driver("recording", cu::stream::begin_capture(self.stream, mode))?;
            let queued = queue();
            let graph = driver("recording", cu::stream::end_capture(self.stream));
            queued?;
            let graph = graph?;
            let mut executable: sys::CUgraphExec = std::ptr::null_mut();
            let status = sys::cuGraphInstantiateWithFlags(&raw mut executable, graph, 0);
            driver("recording", cu::graph::destroy(graph))?;
            driver("recording", status.result())?;
            Ok(Graph(executable))
        }
    }

    /// Queues a recorded graph.
    pub(super) fn replay(&self, graph: &Graph) -> Result<()> {
        // SAFETY: both handles are valid.
        driver("replaying", unsafe { cu::graph::launch(graph.0, self.stream) })
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // Nothing can be done about a failure here, and the process' end frees everything anyway.
        // SAFETY: each handle was made by this value and is not used again.
        unsafe {
            for plan in self.plans.get_mut().values() {
                let _ = lt::destroy_matmul_desc(plan.desc);
                for layout in [plan.a, plan.b, plan.d] {
                    let _ = lt::destroy_matrix_layout(layout);
                }
            }
            self.workspace.get_mut().take();
            let _ = lt::destroy_handle(self.blas);
            let _ = cu::stream::destroy(self.stream);
            let _ = cu::primary_ctx::release(self.ordinal);
        }
    }
}

/// Memory on the GPU.
pub(super) struct Memory {
    pointer: sys::CUdeviceptr,
    bytes: usize,
}

impl Memory {
    pub(super) fn at(&self) -> sys::CUdeviceptr {
        self.pointer
    }

    /// The address of byte `offset`.
    pub(super) fn after(&self, offset: usize) -> sys::CUdeviceptr {
        self.pointer + offset as u64
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: owned, and freed once. A failure means that the context is gone, and the memory with it.
        let _ = unsafe { cu::free_sync(self.pointer) };
    }
}

/// Compiled kernels. Not unloaded: they live as long as the process' context.
pub(super) struct Module(sys::CUmodule);

impl Module {
    pub(super) fn kernel(&self, name: &CStr) -> Result<Kernel> {
        // SAFETY: the module is loaded.
        let found = unsafe { cu::module::get_function(self.0, name.to_owned()) };
        driver(&format!("finding the kernel {}", name.to_string_lossy()), found).map(Kernel)
    }
}

/// A kernel.
#[derive(Clone, Copy)]
pub(super) struct Kernel(sys::CUfunction);

/// An argument of a kernel.
pub(super) enum Argument {
    Pointer(sys::CUdeviceptr),
    Int(i32),
}

impl Argument {
    fn pointer(&self) -> *mut c_void {
        match self {
            Self::Pointer(p) => std::ptr::from_ref(p).cast_mut().cast(),
            Self::Int(i) => std::ptr::from_ref(i).cast_mut().cast(),
        }
    }
}

impl From<&Memory> for Argument {
    fn from(memory: &Memory) -> Self {
        Self::Pointer(memory.pointer)
    }
}

/// A recorded graph.
pub(super) struct Graph(sys::CUgraphExec);

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: owned, and destroyed once.
        let _ = unsafe { cu::graph::exec_destroy(self.0) };
    }
}
