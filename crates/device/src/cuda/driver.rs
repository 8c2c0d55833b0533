//! A thin layer over the driver and NVRTC: compile, load, memory with guard zones, launches, events. Runs in the worker
//! process only. Must not know candidates or tasks. All libraries are loaded at run time.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_void};

use cudarc::driver::{result as cu, sys};
use cudarc::nvrtc::{result as nvrtc, sys as nvrtc_sys};

use super::wire::{Facts, Trouble};

/// Bytes around every buffer that no kernel may touch.
pub const GUARD: usize = 4096;
/// What guard zones hold: NaN in every float type, so that reads beyond a buffer show in the results.
pub const GUARD_BYTE: u8 = 0xff;

/// A failure, and whether the context is still good.
#[derive(Debug)]
pub struct DriverFailure {
    /// What failed.
    pub trouble: Trouble,
    /// Is the context lost?
    pub lost: bool,
}

type Result<T> = std::result::Result<T, DriverFailure>;

/// A failure of the machine.
pub fn machine(message: impl Into<String>) -> DriverFailure {
    DriverFailure { trouble: Trouble::Machine(message.into()), lost: false }
}

/// What a driver's error means while `doing`.
fn driver<T>(doing: &str, result: std::result::Result<T, cu::DriverError>) -> Result<T> {
    use sys::CUresult as R;
    result.map_err(|e| {
        let fault = |kind: &str, what: &str| DriverFailure {
            trouble: Trouble::Fault(kind.to_owned(), what.to_owned()),
            lost: true,
        };
        match e.0 {
            R::CUDA_ERROR_ILLEGAL_ADDRESS => {
                fault("out_of_bounds", "the kernel accessed an address that belongs to no buffer")
            }
            R::CUDA_ERROR_MISALIGNED_ADDRESS => fault(
                "misaligned",
                "the kernel accessed memory at an address that is not a multiple of the access' size",
            ),
            R::CUDA_ERROR_ILLEGAL_INSTRUCTION | R::CUDA_ERROR_INVALID_PC => {
                fault("unsupported", "the kernel executed an instruction that this GPU refuses")
            }
            R::CUDA_ERROR_INVALID_ADDRESS_SPACE | R::CUDA_ERROR_HARDWARE_STACK_ERROR | R::CUDA_ERROR_LAUNCH_FAILED => {
                fault("out_of_bounds", "the kernel broke off: an access outside shared or local memory, or its stack")
            }
            R::CUDA_ERROR_ASSERT => fault("assert", "an assertion of the kernel failed"),
            R::CUDA_ERROR_LAUNCH_TIMEOUT => fault("runaway", "the driver stopped the kernel for running too long"),
            R::CUDA_ERROR_OUT_OF_MEMORY => machine(format!("{doing}: the GPU has not enough memory")),
            R::CUDA_ERROR_INVALID_VALUE
            | R::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
            | R::CUDA_ERROR_INVALID_CLUSTER_SIZE
                if doing == LAUNCHING =>
            {
                DriverFailure {
                    trouble: Trouble::Launch(
                        format!("the driver refuses the launch: {e:?}"),
                        "Check grid, block, cluster and shared memory against the limits of the GPU.".into(),
                    ),
                    lost: false,
                }
            }
            _ => DriverFailure { trouble: Trouble::Machine(format!("{doing}: {e:?}")), lost: true },
        }
    })
}

const LAUNCHING: &str = "launching a kernel";

/// The first GPU with one stream.
pub struct Gpu {
    stream: sys::CUstream,
    device: sys::CUdevice,
    /// What it is.
    pub facts: Facts,
}

/// Is there a driver here, and NVRTC? The reason why not.
pub fn present() -> std::result::Result<(), String> {
    // SAFETY: only loads libraries and looks for them.
    let (has_driver, has_nvrtc) = unsafe { (sys::is_culib_present(), nvrtc_sys::is_culib_present()) };
    if !has_driver {
        return Err("no NVIDIA driver (libcuda) on this machine".into());
    }
    if !has_nvrtc {
        return Err("no NVRTC (libnvrtc); install the CUDA toolkit or put its lib folder on LD_LIBRARY_PATH".into());
    }
    Ok(())
}

impl Gpu {
    /// Opens the first GPU.
    pub fn open() -> Result<Self> {
        present().map_err(machine)?;
        driver("starting the driver", cu::init())?;
        let device = driver("opening GPU 0", cu::device::get(0))?;
        let name = driver("naming GPU 0", cu::device::get_name(device))?;
        use sys::CUdevice_attribute as A;
        // SAFETY: `device` is valid, and these attributes exist on every GPU.
        let ask = |a| driver("asking GPU 0", unsafe { cu::device::get_attribute(device, a) });
        let clock_mhz = f64::from(ask(A::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?) / 1e3;
        // Two transfers a clock.
        let memory_gbs = 2.0
            * f64::from(ask(A::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?)
            * 1e3
            * f64::from(ask(A::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?)
            / 8.0
            / 1e9;
        let mut version = 0;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: the out pointers are valid.
        unsafe {
            driver("asking the driver", sys::cuDriverGetVersion(&raw mut version).result())?;
            nvrtc_sys::nvrtcVersion(&raw mut major, &raw mut minor)
                .result()
                .map_err(|e| machine(format!("asking NVRTC: {e:?}")))?;
        }
        let facts = Facts {
            name,
            capability: (
                ask(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                ask(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            ),
            multiprocessors: ask(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32,
            clock_mhz,
            memory_gbs,
            l2_bytes: ask(A::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)? as u64,
            shared_optin: ask(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)? as u32,
            driver: format!("{}.{}", version / 1000, version % 1000 / 10),
            nvrtc: format!("{major}.{minor}"),
        };
        // SAFETY: the context and stream live as long as the process.
        let stream = unsafe {
            let context = driver("opening a context", cu::primary_ctx::retain(device))?;
            driver("opening a context", cu::ctx::set_current(context))?;
            driver("opening a stream", cu::stream::create(cu::stream::StreamKind::NonBlocking))?
        };
        Ok(Self { stream, device, facts })
    }

    /// Waits for all queued work.
    pub fn wait(&self) -> Result<()> {
        // SAFETY: the stream is ours.
        driver("running kernels", unsafe { cu::stream::synchronize(self.stream) })
    }

    /// A buffer with guard zones.
    pub fn buffer(&self, bytes: usize) -> Result<Buffer> {
        let bytes = bytes.max(1);
        let padded = bytes.next_multiple_of(256);
        // SAFETY: the memory is owned by the returned value and `padded + 2 GUARD` long.
        unsafe {
            let base = driver("taking memory", cu::malloc_sync(padded + 2 * GUARD))?;
            let buffer = Buffer { base, bytes };
            driver("clearing memory", cu::memset_d8_async(base, GUARD_BYTE, padded + 2 * GUARD, self.stream))?;
            Ok(buffer)
        }
    }

    /// Fills a buffer with one byte.
    pub fn fill(&self, buffer: &Buffer, byte: u8) -> Result<()> {
        // SAFETY: inside the buffer.
        driver("filling memory", unsafe { cu::memset_d8_async(buffer.at(), byte, buffer.bytes, self.stream) })
    }

    /// Copies to the device, after all queued work.
    pub fn write(&self, buffer: &Buffer, bytes: &[u8]) -> Result<()> {
        if bytes.len() > buffer.bytes {
            return Err(machine("a copy is larger than its target"));
        }
        // SAFETY: both sides are long enough, and `bytes` outlives the wait.
        driver("copying to the GPU", unsafe { cu::memcpy_htod_async(buffer.at(), bytes, self.stream) })?;
        self.wait()
    }

    /// Copies from one buffer to another of the same size.
    pub fn copy(&self, to: &Buffer, from: &Buffer) -> Result<()> {
        let bytes = to.bytes.min(from.bytes);
        // SAFETY: inside both buffers.
        driver("copying on the GPU", unsafe { cu::memcpy_dtod_async(to.at(), from.at(), bytes, self.stream) })
    }

    /// Copies from the device, after all queued work.
    pub fn read(&self, buffer: &Buffer) -> Result<Vec<u8>> {
        self.wait()?;
        let mut bytes = vec![0u8; buffer.bytes];
        // SAFETY: both sides are `bytes` long.
        driver("copying from the GPU", unsafe { cu::memcpy_dtoh_sync(&mut bytes, buffer.at()) })?;
        Ok(bytes)
    }

    /// Are the guard zones of a buffer as they were? Bytes before and after it that changed, if any.
    pub fn trespass(&self, buffer: &Buffer) -> Result<Option<i64>> {
        self.wait()?;
        let slack = buffer.bytes.next_multiple_of(256) - buffer.bytes;
        let mut before = vec![0u8; GUARD];
        let mut after = vec![0u8; GUARD + slack];
        // SAFETY: inside the allocation.
        unsafe {
            driver("copying from the GPU", cu::memcpy_dtoh_sync(&mut before, buffer.base))?;
            driver("copying from the GPU", cu::memcpy_dtoh_sync(&mut after, buffer.at() + buffer.bytes as u64))?;
        }
        let first = before.iter().position(|b| *b != GUARD_BYTE).map(|n| n as i64 - GUARD as i64);
        let beyond = after.iter().position(|b| *b != GUARD_BYTE).map(|n| (buffer.bytes + n) as i64);
        Ok(first.or(beyond))
    }

    /// Queues a launch.
    ///
    /// # Safety
    /// What the kernel touches is its own affair: the worker holds nothing but what it was given.
    pub fn launch(
        &self,
        kernel: Kernel,
        (grid, block, cluster): ([u32; 3], [u32; 3], [u32; 3]),
        shared: u32,
        arguments: &mut [Vec<u8>],
    ) -> Result<()> {
        let mut pointers: Vec<*mut c_void> = arguments.iter_mut().map(|a| a.as_mut_ptr().cast()).collect();
        // SAFETY: the union's member is the one its id names.
        let mut value: sys::CUlaunchAttributeValue = unsafe { std::mem::zeroed() };
        value.clusterDim =
            sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x: cluster[0], y: cluster[1], z: cluster[2] };
        let mut attributes = [sys::CUlaunchAttribute {
            id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
            pad: [0; 4],
            value,
        }];
        let config = sys::CUlaunchConfig {
            gridDimX: grid[0],
            gridDimY: grid[1],
            gridDimZ: grid[2],
            blockDimX: block[0],
            blockDimY: block[1],
            blockDimZ: block[2],
            sharedMemBytes: shared,
            hStream: self.stream,
            attrs: attributes.as_mut_ptr(),
            numAttrs: u32::from(cluster != [1; 3]),
        };
        // SAFETY: config, attributes and arguments outlive the call; each argument has its parameter's size.
        let status =
            unsafe { sys::cuLaunchKernelEx(&raw const config, kernel.0, pointers.as_mut_ptr(), std::ptr::null_mut()) };
        driver(LAUNCHING, status.result())
    }

    /// A new event.
    pub fn event() -> Result<Event> {
        driver("making an event", cu::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT)).map(Event)
    }

    /// Queues an event.
    pub fn record(&self, event: &Event) -> Result<()> {
        // SAFETY: both are ours.
        driver("recording an event", unsafe { cu::event::record(event.0, self.stream) })
    }

    /// Microseconds between two events that have passed.
    pub fn between(start: &Event, end: &Event) -> Result<f64> {
        // SAFETY: both are ours.
        let ms = unsafe {
            driver("running kernels", cu::event::synchronize(end.0))?;
            driver("reading an event", cu::event::elapsed(start.0, end.0))?
        };
        Ok(f64::from(ms) * 1e3)
    }

    /// Loads a cubin or PTX text (with its NUL).
    pub fn load(image: &[u8]) -> Result<Module> {
        let mut log = vec![0u8; 16 << 10];
        let mut options =
            [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), log.len() as *mut c_void];
        let mut module = std::ptr::null_mut();
        // SAFETY: the image is whole (PTX ends with NUL), and the log outlives the call.
        let status = unsafe {
            sys::cuModuleLoadDataEx(
                &raw mut module,
                image.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        let said: Vec<u8> = log.into_iter().take_while(|b| *b != 0).collect();
        if status != sys::CUresult::CUDA_SUCCESS && !said.is_empty() {
            let text = String::from_utf8_lossy(&said).into_owned();
            return Err(DriverFailure { trouble: Trouble::Compile(text), lost: false });
        }
        driver("loading code", status.result())?;
        Ok(Module(module))
    }

    /// Threads, registers and so on of a kernel; `None` for what the driver does not say.
    pub fn attribute(kernel: Kernel, which: sys::CUfunction_attribute) -> u32 {
        // SAFETY: the kernel is loaded.
        unsafe { cu::function::get_function_attribute(kernel.0, which) }.map_or(0, |v| v.max(0) as u32)
    }

    /// Allows a kernel this much dynamic shared memory.
    pub fn allow_shared(&self, kernel: Kernel, bytes: u32) -> Result<()> {
        let which = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the kernel is loaded.
        unsafe { cu::function::set_function_attribute(kernel.0, which, bytes as i32) }.map_err(|_| DriverFailure {
            trouble: Trouble::Launch(
                format!("the kernel asks for {bytes} bytes of shared memory; a block has {}", self.facts.shared_optin),
                "Use smaller tiles or fewer stages.".into(),
            ),
            lost: false,
        })
    }

    /// Blocks of this size that are resident on a multiprocessor.
    pub fn resident(kernel: Kernel, threads: u32, shared: u32) -> u32 {
        // SAFETY: the kernel is loaded.
        unsafe { cu::occupancy::max_active_block_per_multiprocessor(kernel.0, threads as i32, shared as usize) }
            .map_or(0, |n| n.max(0) as u32)
    }

    /// Most warps resident on a multiprocessor.
    pub fn most_warps(&self) -> u32 {
        let which = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR;
        // SAFETY: the device is valid.
        unsafe { cu::device::get_attribute(self.device, which) }.map_or(64, |t| (t / 32).max(1) as u32)
    }
}

/// Memory on the GPU between two guard zones.
pub struct Buffer {
    base: sys::CUdeviceptr,
    bytes: usize,
}

impl Buffer {
    /// Its address.
    pub fn at(&self) -> u64 {
        self.base + GUARD as u64
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: owned, and freed once. A failure means that the context is gone, and the memory with it.
        let _ = unsafe { cu::free_sync(self.base) };
    }
}

/// An event of the stream.
pub struct Event(sys::CUevent);

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: owned, and destroyed once.
        let _ = unsafe { cu::event::destroy(self.0) };
    }
}

/// Loaded code.
pub struct Module(sys::CUmodule);

impl Module {
    /// The kernel of this symbol.
    pub fn kernel(&self, symbol: &str) -> Option<Kernel> {
        let name = CString::new(symbol).ok()?;
        // SAFETY: the module is loaded.
        unsafe { cu::module::get_function(self.0, name) }.ok().map(Kernel)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: owned, and unloaded once, when none of its kernels is used again.
        let _ = unsafe { cu::module::unload(self.0) };
    }
}

/// A kernel of a module that is loaded.
#[derive(Clone, Copy)]
pub struct Kernel(sys::CUfunction);

/// What NVRTC made of a source.
pub struct Compiled {
    /// Machine code.
    pub cubin: Vec<u8>,
    /// PTX text.
    pub ptx: String,
    /// Symbols in the order of the kernels asked for.
    pub symbols: Vec<String>,
    /// What it said.
    pub log: String,
}

/// Compiles CUDA C++. `headers` are name and text of files that can be included.
pub fn compile(
    main: (&str, &str),
    headers: &[(String, String)],
    options: &[String],
    kernels: &[String],
) -> Result<Compiled> {
    let refuse = |text: String| DriverFailure { trouble: Trouble::Compile(text), lost: false };
    let c = |text: &str| CString::new(text).map_err(|_| refuse("the source holds a NUL byte".into()));
    let (name, text) = (c(main.0)?, c(main.1)?);
    let header_names = headers.iter().map(|(n, _)| c(n)).collect::<Result<Vec<_>>>()?;
    let header_texts = headers.iter().map(|(_, t)| c(t)).collect::<Result<Vec<_>>>()?;
    let names: Vec<*const c_char> = header_names.iter().map(|n| n.as_ptr()).collect();
    let texts: Vec<*const c_char> = header_texts.iter().map(|t| t.as_ptr()).collect();
    let wanted = kernels.iter().map(|k| c(k)).collect::<Result<Vec<_>>>()?;
    for option in options {
        c(option)?;
    }
    let failed = |what: &str, e: nvrtc::NvrtcError| machine(format!("{what}: {e:?}"));
    let mut program: nvrtc_sys::nvrtcProgram = std::ptr::null_mut();
    // SAFETY: all strings outlive the calls; the program is destroyed once, at the end; its texts are NUL-terminated.
    unsafe {
        nvrtc_sys::nvrtcCreateProgram(
            &raw mut program,
            text.as_ptr(),
            name.as_ptr(),
            headers.len() as i32,
            texts.as_ptr(),
            names.as_ptr(),
        )
        .result()
        .map_err(|e| failed("starting NVRTC", e))?;
        for kernel in &wanted {
            nvrtc_sys::nvrtcAddNameExpression(program, kernel.as_ptr())
                .result()
                .map_err(|e| failed("naming a kernel", e))?;
        }
        let compiled = nvrtc::compile_program(program, options);
        let log = nvrtc::get_program_log(program).map(|l| text_of(&l)).unwrap_or_default();
        let result = (|| {
            if compiled.is_err() {
                return Err(refuse(if log.is_empty() { format!("{compiled:?}") } else { log.clone() }));
            }
            let mut symbols = Vec::new();
            for kernel in &wanted {
                let mut symbol: *const c_char = std::ptr::null();
                nvrtc_sys::nvrtcGetLoweredName(program, kernel.as_ptr(), &raw mut symbol)
                    .result()
                    .map_err(|e| failed("naming a kernel", e))?;
                symbols.push(CStr::from_ptr(symbol).to_string_lossy().into_owned());
            }
            let mut size = 0;
            nvrtc_sys::nvrtcGetCUBINSize(program, &raw mut size)
                .result()
                .map_err(|e| failed("reading machine code", e))?;
            let mut cubin = vec![0u8; size];
            nvrtc_sys::nvrtcGetCUBIN(program, cubin.as_mut_ptr().cast())
                .result()
                .map_err(|e| failed("reading machine code", e))?;
            let ptx = nvrtc::get_ptx(program).map(|p| text_of(&p)).unwrap_or_default();
            Ok(Compiled { cubin, ptx, symbols, log })
        })();
        nvrtc::destroy_program(program).map_err(|e| failed("ending NVRTC", e))?;
        result
    }
}

fn text_of(chars: &[c_char]) -> String {
    let bytes: Vec<u8> = chars.iter().map(|&c| c as u8).take_while(|&c| c != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
