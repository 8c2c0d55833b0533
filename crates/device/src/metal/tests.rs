//! The order of API calls, on a fake that records them and copies its first buffer to its second.

use std::sync::{Arc, Mutex};

use ksearch_apple::Chips;
use ksearch_task::{SourceFile, Tensor, builtin};

use super::gpu::Limits;
use super::*;
use crate::target::Slot;

#[derive(Default)]
struct Fake {
    log: Arc<Mutex<Vec<String>>>,
    room: u32,
}

impl Fake {
    fn note(&self, what: String) {
        self.log.lock().unwrap().push(what);
    }
}

impl Gpu for Fake {
    type Pipeline = String;
    type Buffer = Mutex<Vec<u8>>;

    fn device(&self) -> Device {
        Device { name: "Apple M2 Pro".into(), family: "Apple8".into(), max_threads: 1024, threadgroup_memory: 32768 }
    }

    fn pipeline(&self, source: &str, name: &str) -> Result<String, String> {
        assert!(source.starts_with("#define T float\n#line 1 \"k.metal\"\n"), "{source}");
        self.note(format!("pipeline {name}"));
        Ok(name.to_owned())
    }

    fn limits(&self, pipeline: &String) -> Limits {
        self.note(format!("limits {pipeline}"));
        Limits { max_threads: self.room, simd_width: 32, threadgroup_memory: 0 }
    }

    fn buffer(&self, bytes: &[u8]) -> Result<Mutex<Vec<u8>>, String> {
        self.note("buffer".into());
        Ok(Mutex::new(bytes.to_vec()))
    }

    fn write(&self, buffer: &mut Mutex<Vec<u8>>, bytes: &[u8]) {
        *buffer.get_mut().unwrap() = bytes.to_vec();
    }

    fn read(&self, buffer: &Mutex<Vec<u8>>, bytes: &mut [u8]) {
        self.note("read".into());
        bytes.copy_from_slice(&buffer.lock().unwrap());
    }

    fn submit(&self, dispatches: &[Encoded<'_, String, Mutex<Vec<u8>>>]) -> Result<f64, String> {
        for d in dispatches {
            self.note(format!(
                "dispatch {} {:?} {:?} {} arguments",
                d.pipeline,
                d.groups,
                d.threads,
                d.arguments.len()
            ));
            let buffers: Vec<_> = d
                .arguments
                .iter()
                .filter_map(|a| if let Argument::Buffer(_, b) = a { Some(*b) } else { None })
                .collect();
            let from = buffers[0].lock().unwrap().clone();
            *buffers[1].lock().unwrap() = from;
        }
        self.note("wait".into());
        Ok(1e-4)
    }
}

fn setup(room: u32) -> (MetalTarget<Fake>, Arc<Mutex<Vec<String>>>) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let chip = Chips::embedded().unwrap().get("m1").unwrap();
    (MetalTarget::new(Fake { log: Arc::clone(&log), room }, chip).unwrap(), log)
}

fn build(target: &MetalTarget<Fake>) -> Result<(Box<dyn Runnable>, Slots), Failure> {
    let text = "/* ksearch\n[defines]\nT = { type = \"x\" }\n[[dispatch]]\nkernel = \"k\"\ngrid = [\"R\"]\nthreadgroup = [64]\n*/\n\
                #include <metal_stdlib>\nkernel void k(device const T* x [[buffer(0)]], device T* out [[buffer(1)]], \
                constant uint& C [[buffer(2)]], uint i [[thread_position_in_grid]]) { out[i % C] = x[i % C]; }\n";
    let files = [SourceFile { path: "k.metal".into(), text: text.into() }];
    let candidate = Candidate::from_texts("k.metal", &files).unwrap();
    let task = builtin::task("softmax").unwrap();
    let workload = task.workloads.iter().find(|w| w.label.contains("f32")).unwrap();
    let resolved = candidate.resolve(&task, &workload.env).unwrap();
    let inputs = task.inputs(workload, 1).unwrap();
    let slot = |tensor: Tensor, writable: bool| {
        let written = writable.then(|| vec![false; tensor.bytes.len()]);
        Slot { tensor, writable, written }
    };
    let x = inputs["x"].clone();
    let out = Tensor { bytes: vec![1; x.bytes.len()], ..x.clone() };
    let slots = Slots::from_iter([("x".to_owned(), slot(x, false)), ("out".to_owned(), slot(out, true))]);
    Ok((target.build(&candidate, &resolved)?, slots))
}

#[test]
fn the_device_fills_the_chip_record() {
    let (target, _) = setup(1024);
    assert_eq!((target.chip.name.as_str(), target.chip.family.as_str()), ("m2-pro", "Apple8"));
    assert_eq!(target.facts().max_threads, 1024);
}

#[test]
fn a_watched_run_asks_the_api_in_order() {
    let (target, log) = setup(1024);
    let (mut runnable, mut slots) = build(&target).unwrap();
    runnable.run(&mut slots, Purpose::Check).unwrap();
    assert_eq!(slots["out"].tensor.bytes, slots["x"].tensor.bytes);
    assert!(slots["out"].written.as_ref().unwrap().iter().all(|w| *w));
    let dispatch = "dispatch k [256, 1, 1] [64, 1, 1] 3 arguments";
    let once = ["buffer", "buffer", dispatch, "wait", "read", "read"];
    let expected: Vec<&str> = ["pipeline k", "limits k"].into_iter().chain(once).chain(once).collect();
    assert_eq!(*log.lock().unwrap(), expected);
}

#[test]
fn a_timed_run_has_a_sample_for_each_command_buffer() {
    let (target, log) = setup(1024);
    let (mut runnable, mut slots) = build(&target).unwrap();
    let before = slots["x"].clone();
    let profile = runnable.run(&mut slots, Purpose::Measure).unwrap().profile.unwrap();
    assert!((profile.time.value - 100.0).abs() < 1e-9);
    assert_eq!(slots["x"], before, "the judged answer belongs to the judged inputs");
    assert_eq!(log.lock().unwrap().iter().filter(|l| *l == "wait").count(), WARM_UP + SAMPLES);
}

#[test]
fn a_threadgroup_that_registers_leave_no_room_for_is_refused() {
    let (target, _) = setup(32);
    let failure = build(&target).map(|_| ()).unwrap_err();
    assert!(
        matches!(&failure, Failure::Launch { message, .. } if message.contains("64") && message.contains("32")),
        "{failure}"
    );
}
