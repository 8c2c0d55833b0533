//! A small harness: buffers in, one launch, buffers out.
#![allow(dead_code)]

use ksearch_simt::{ArgValue, Buffer, Launch, Limits, Memory, Mode, Outcome, Program};

/// Plain data.
pub trait Pod: Copy {
    fn put(self, out: &mut Vec<u8>);
}
macro_rules! pod {
    ($($t:ty)*) => {$(impl Pod for $t { fn put(self, out: &mut Vec<u8>) { out.extend(self.to_le_bytes()) } })*};
}
pod!(f64 f32 i32 u32 u16 u8 u64);

pub struct Test {
    pub program: Program,
    pub entry: String,
    pub memory: Memory,
    pub args: Vec<ArgValue>,
    pub limits: Limits,
}

pub struct Ran(pub Outcome);

impl Ran {
    /// Asserts that no fault was found.
    #[track_caller]
    pub fn clean(&self) {
        assert!(self.0.faults.is_empty(), "{:#?}", self.0.faults);
    }
}

pub fn run(ir: &str, entry: &str) -> Test {
    let program = Program::from_ir(ir, [(entry, entry)]).expect("the IR is readable");
    Test { program, entry: entry.to_owned(), memory: Memory::default(), args: Vec::new(), limits: Limits::default() }
}

impl Test {
    pub fn buffer<T: Pod>(mut self, name: &str, data: &[T]) -> Self {
        let mut bytes = Vec::new();
        for x in data {
            x.put(&mut bytes);
        }
        let id = self.memory.add(Buffer { name: name.to_owned(), bytes, written: None, read_only: false });
        self.args.push(ArgValue::Buffer(id, 0));
        self
    }

    /// A buffer that nothing has written.
    pub fn fresh(mut self, name: &str, bytes: usize) -> Self {
        let id = self.memory.add(Buffer {
            name: name.to_owned(),
            bytes: vec![0; bytes],
            written: Some(vec![false; bytes]),
            read_only: false,
        });
        self.args.push(ArgValue::Buffer(id, 0));
        self
    }

    pub fn bytes<T: Pod>(mut self, x: &T) -> Self {
        let mut b = Vec::new();
        x.put(&mut b);
        self.args.push(ArgValue::Bytes(b));
        self
    }

    #[track_caller]
    pub fn launch(&mut self, groups: [u32; 3], threads: [u32; 3], mode: Mode) -> Ran {
        let launch = Launch::new(groups, threads, self.args.clone());
        Ran(self.program.run(&self.entry, &launch, &mut self.memory, &self.limits, mode).expect("the launch runs"))
    }

    pub fn bytes_of(&self, k: usize) -> &[u8] {
        &self.memory.buffers[k].bytes
    }
}

pub fn floats(b: &[u8]) -> Vec<f32> {
    b.chunks_exact(4).map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}

pub fn uints(b: &[u8]) -> Vec<u32> {
    b.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
}
