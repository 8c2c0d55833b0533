//! The Metal API through `objc2-metal`. Must not know anything but the API. Type-checked on Linux by
//! `scripts/check-macos.sh`; it runs on macOS only.

#![allow(unsafe_code)] // Pointers and lengths that go into the API are made here, next to each other.

use std::ffi::c_void;
use std::ptr::NonNull;

use objc2::rc::Retained;
use objc2::runtime::ProtocolObject;
use objc2_foundation::NSString;
use objc2_metal::{
    MTLBuffer, MTLCommandBuffer, MTLCommandBufferStatus, MTLCommandEncoder, MTLCommandQueue, MTLCompileOptions,
    MTLComputeCommandEncoder, MTLComputePipelineState, MTLCreateSystemDefaultDevice, MTLDevice, MTLGPUFamily,
    MTLLibrary, MTLResourceOptions, MTLSize,
};

use super::gpu::{Argument, Device, Encoded, Gpu, Limits};

/// The system's default GPU with one command queue.
pub struct SystemGpu {
    device: Retained<ProtocolObject<dyn MTLDevice>>,
    queue: Retained<ProtocolObject<dyn MTLCommandQueue>>,
}

// SAFETY: Metal devices and queues may be used from any thread; this type is owned by one target.
unsafe impl Send for SystemGpu {}

/// A pipeline that may move between threads.
pub struct Pipeline(Retained<ProtocolObject<dyn MTLComputePipelineState>>);
// SAFETY: pipeline states are immutable and may be used from any thread.
unsafe impl Send for Pipeline {}

/// A shared buffer.
pub struct Buffer(Retained<ProtocolObject<dyn MTLBuffer>>);

/// Families from the newest on.
const FAMILIES: [(MTLGPUFamily, &str); 4] = [
    (MTLGPUFamily::Apple9, "Apple9"),
    (MTLGPUFamily::Apple8, "Apple8"),
    (MTLGPUFamily::Apple7, "Apple7"),
    (MTLGPUFamily::Mac2, "Mac2"),
];

impl SystemGpu {
    /// The default device; `Err` says why there is none.
    pub fn new() -> Result<Self, String> {
        let device = MTLCreateSystemDefaultDevice().ok_or("this machine has no Metal device")?;
        let queue = device.newCommandQueue().ok_or("the Metal device gives no command queue")?;
        Ok(Self { device, queue })
    }
}

fn size([x, y, z]: [u32; 3]) -> MTLSize {
    MTLSize { width: x as usize, height: y as usize, depth: z as usize }
}

impl Gpu for SystemGpu {
    type Pipeline = Pipeline;
    type Buffer = Buffer;

    fn device(&self) -> Device {
        let family = FAMILIES.iter().find(|(f, _)| self.device.supportsFamily(*f)).map_or("unknown", |(_, n)| n);
        Device {
            name: self.device.name().to_string(),
            family: family.to_owned(),
            max_threads: self.device.maxThreadsPerThreadgroup().width as u32,
            threadgroup_memory: self.device.maxThreadgroupMemoryLength() as u32,
        }
    }

    fn pipeline(&self, source: &str, name: &str) -> Result<Pipeline, String> {
        let options = MTLCompileOptions::new();
        let library = self
            .device
            .newLibraryWithSource_options_error(&NSString::from_str(source), Some(&options))
            .map_err(|e| e.localizedDescription().to_string())?;
        let function = library
            .newFunctionWithName(&NSString::from_str(name))
            .ok_or_else(|| format!("the compiled library has no kernel `{name}`"))?;
        self.device
            .newComputePipelineStateWithFunction_error(&function)
            .map(Pipeline)
            .map_err(|e| e.localizedDescription().to_string())
    }

    fn limits(&self, pipeline: &Pipeline) -> Limits {
        Limits {
            max_threads: pipeline.0.maxTotalThreadsPerThreadgroup() as u32,
            simd_width: pipeline.0.threadExecutionWidth() as u32,
            threadgroup_memory: pipeline.0.staticThreadgroupMemoryLength() as u32,
        }
    }

    fn buffer(&self, bytes: &[u8]) -> Result<Buffer, String> {
        // The API refuses empty buffers; nobody may touch the byte of one.
        let bytes = if bytes.is_empty() { &[0_u8][..] } else { bytes };
        let start = NonNull::from(bytes).cast::<c_void>();
        // SAFETY: pointer and length are of one slice, which the call copies.
        let made = unsafe {
            self.device.newBufferWithBytes_length_options(start, bytes.len(), MTLResourceOptions::StorageModeShared)
        };
        made.map(Buffer).ok_or_else(|| format!("no buffer of {} bytes can be had", bytes.len()))
    }

    fn write(&self, buffer: &mut Buffer, bytes: &[u8]) {
        let length = bytes.len().min(buffer.0.length());
        // SAFETY: both sides are at least `length` long, and no command buffer runs meanwhile.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.0.contents().cast().as_ptr(), length) };
    }

    fn read(&self, buffer: &Buffer, bytes: &mut [u8]) {
        let length = bytes.len().min(buffer.0.length());
        // SAFETY: as in `write`.
        unsafe { std::ptr::copy_nonoverlapping(buffer.0.contents().cast().as_ptr(), bytes.as_mut_ptr(), length) };
    }

    fn submit(&self, dispatches: &[Encoded<'_, Pipeline, Buffer>]) -> Result<f64, String> {
        let commands = self.queue.commandBuffer().ok_or("no command buffer can be had")?;
        // A serial encoder: each dispatch sees the writes of those before it.
        let encoder = commands.computeCommandEncoder().ok_or("no encoder can be had")?;
        for dispatch in dispatches {
            encoder.setComputePipelineState(&dispatch.pipeline.0);
            for argument in &dispatch.arguments {
                // SAFETY: indices are those of the kernel's signature; bytes are copied, buffers retained.
                unsafe {
                    match argument {
                        Argument::Buffer(index, buffer) => {
                            encoder.setBuffer_offset_atIndex(Some(&buffer.0), 0, *index as usize);
                        }
                        Argument::Bytes(index, bytes) => {
                            let start = NonNull::from(*bytes).cast::<c_void>();
                            encoder.setBytes_length_atIndex(start, bytes.len(), *index as usize);
                        }
                        Argument::Threadgroup(index, bytes) => {
                            encoder.setThreadgroupMemoryLength_atIndex(*bytes as usize, *index as usize);
                        }
                    }
                }
            }
            encoder.dispatchThreadgroups_threadsPerThreadgroup(size(dispatch.groups), size(dispatch.threads));
        }
        encoder.endEncoding();
        commands.commit();
        commands.waitUntilCompleted();
        if commands.status() == MTLCommandBufferStatus::Error {
            let why = commands.error().map(|e| e.localizedDescription().to_string());
            return Err(why.unwrap_or_else(|| "the command buffer failed".into()));
        }
        Ok(commands.GPUEndTime() - commands.GPUStartTime())
    }
}
