//! Metal kernels on a Mac's GPU: one queue, one command buffer until something is read or written. Compiled on macOS
//! only, and type-checked elsewhere (`scripts/check-macos.sh`). Must not know models.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt::Write as _;
use std::ptr::NonNull;

use objc2::rc::Retained;
use objc2::runtime::ProtocolObject;
use objc2_foundation::NSString;
use objc2_metal::{
    MTLBuffer, MTLCommandBuffer, MTLCommandBufferStatus, MTLCommandEncoder, MTLCommandQueue, MTLComputeCommandEncoder,
    MTLComputePipelineState, MTLCreateSystemDefaultDevice, MTLDevice, MTLLibrary, MTLResourceOptions, MTLSize,
};

use super::runtime::{Argument, Launch, Runtime};
use crate::error::{Error, Result};

type Shared<T> = Retained<ProtocolObject<T>>;

/// The system's default GPU with one compiled source.
pub struct Gpu {
    device: Shared<dyn MTLDevice>,
    queue: Shared<dyn MTLCommandQueue>,
    library: Shared<dyn MTLLibrary>,
    pipelines: RefCell<HashMap<&'static str, Shared<dyn MTLComputePipelineState>>>,
    /// Launches that have not been waited for. A serial encoder orders them.
    open: RefCell<Option<Open>>,
}

struct Open {
    buffer: Shared<dyn MTLCommandBuffer>,
    encoder: Shared<dyn MTLComputeCommandEncoder>,
}

/// Memory that both sides see.
pub struct GpuMemory(Shared<dyn MTLBuffer>);

fn failed(reason: impl Into<String>) -> Error {
    Error::Unsupported { backend: "metal", reason: reason.into() }
}

impl Gpu {
    fn pipeline(&self, kernel: &'static str) -> Result<Shared<dyn MTLComputePipelineState>> {
        if let Some(known) = self.pipelines.borrow().get(kernel) {
            return Ok(known.clone());
        }
        let function = self
            .library
            .newFunctionWithName(&NSString::from_str(kernel))
            .ok_or_else(|| failed(format!("the source has no kernel `{kernel}`")))?;
        let made = self
            .device
            .newComputePipelineStateWithFunction_error(&function)
            .map_err(|e| failed(format!("kernel `{kernel}`: {}", e.localizedDescription())))?;
        self.pipelines.borrow_mut().insert(kernel, made.clone());
        Ok(made)
    }

    fn encoder(&self) -> Result<Shared<dyn MTLComputeCommandEncoder>> {
        let mut open = self.open.borrow_mut();
        if let Some(open) = &*open {
            return Ok(open.encoder.clone());
        }
        let buffer = self.queue.commandBuffer().ok_or_else(|| failed("Metal gives no command buffer"))?;
        let encoder = buffer.computeCommandEncoder().ok_or_else(|| failed("Metal gives no command encoder"))?;
        *open = Some(Open { buffer, encoder: encoder.clone() });
        Ok(encoder)
    }

    /// Waits for all launches.
    fn wait(&self) -> Result<()> {
        let Some(open) = self.open.borrow_mut().take() else { return Ok(()) };
        open.encoder.endEncoding();
        open.buffer.commit();
        open.buffer.waitUntilCompleted();
        if open.buffer.status() == MTLCommandBufferStatus::Error {
            let why = open.buffer.error().map_or_else(String::new, |e| e.localizedDescription().to_string());
            return Err(failed(format!("running kernels: {why}")));
        }
        Ok(())
    }
}

impl Runtime for Gpu {
    type Memory = GpuMemory;

    fn open(source: &str, defines: &[(&'static str, String)]) -> Result<Self> {
        let device = MTLCreateSystemDefaultDevice().ok_or_else(|| failed("this Mac has no Metal GPU"))?;
        let queue = device.newCommandQueue().ok_or_else(|| failed("Metal gives no command queue"))?;
        let mut text = String::new();
        for (name, value) in defines {
            // Writing into a string does not fail.
            let _ = writeln!(text, "#define {name} {value}");
        }
        text.push_str("#line 1\n");
        text.push_str(source);
        let library = device
            .newLibraryWithSource_options_error(&NSString::from_str(&text), None)
            .map_err(|e| failed(format!("compiling the kernels: {}", e.localizedDescription())))?;
        Ok(Self { device, queue, library, pipelines: RefCell::default(), open: RefCell::default() })
    }

    fn name(&self) -> String {
        self.device.name().to_string()
    }

    fn memory(&self, bytes: usize, what: &str) -> Result<GpuMemory> {
        let needed = bytes.max(16);
        let made = self.device.newBufferWithLength_options(needed, MTLResourceOptions::StorageModeShared);
        let buffer = made.ok_or_else(|| Error::OutOfMemory {
            what: format!("{what} (GPU)"),
            needed: needed as u64,
            available: self
                .device
                .recommendedMaxWorkingSetSize()
                .saturating_sub(self.device.currentAllocatedSize() as u64),
        })?;
        // Metal zeroes new buffers.
        Ok(GpuMemory(buffer))
    }

    fn write(&self, memory: &GpuMemory, bytes: &[u8]) -> Result<()> {
        self.wait()?;
        if bytes.len() > memory.0.length() {
            return Err(failed("a copy is larger than its target"));
        }
        // SAFETY: the buffer is shared memory of at least that length, and no launch is in flight.
        unsafe { memory.0.contents().cast::<u8>().copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
        Ok(())
    }

    fn read(&self, memory: &GpuMemory, bytes: &mut [u8]) -> Result<()> {
        self.wait()?;
        if bytes.len() > memory.0.length() {
            return Err(failed("a copy is larger than its source"));
        }
        // SAFETY: as above.
        unsafe {
            memory.0.contents().cast::<u8>().copy_to_nonoverlapping(NonNull::from(&mut *bytes).cast(), bytes.len());
        }
        Ok(())
    }

    fn launch(&self, launch: &Launch<'_, GpuMemory>) -> Result<()> {
        let pipeline = self.pipeline(launch.kernel)?;
        let most = pipeline.maxTotalThreadsPerThreadgroup();
        if launch.threads > most {
            let (kernel, threads) = (launch.kernel, launch.threads);
            return Err(failed(format!("kernel `{kernel}` takes {most} threads here, {threads} are needed")));
        }
        let encoder = self.encoder()?;
        encoder.setComputePipelineState(&pipeline);
        for (index, argument) in launch.arguments.iter().enumerate() {
            // SAFETY: buffers live as long as the model; words are copied by the call.
            unsafe {
                match argument {
                    Argument::Memory(m) => encoder.setBuffer_offset_atIndex(Some(&m.0), 0, index),
                    Argument::Words(words) => {
                        let start: NonNull<c_void> = NonNull::from(*words).cast();
                        encoder.setBytes_length_atIndex(start, size_of_val(*words), index);
                    }
                }
            }
        }
        let [width, height, depth] = launch.groups;
        encoder.dispatchThreadgroups_threadsPerThreadgroup(
            MTLSize { width, height, depth },
            MTLSize { width: launch.threads, height: 1, depth: 1 },
        );
        Ok(())
    }
}
