//! How MLX launches its kernels: template parameters, function constants, grids and arguments of its host code
//! (ml-explore/mlx 846d1762: `scaled_dot_product_attention.cpp`, `softmax.cpp`, `normalization.cpp`, `scan.cpp`; which
//! instantiations exist, by the names in the wheel's own library, version 0.32.4). Knows shapes; must not know chips' times.

use ksearch_task::{DType, Scope, Value};

/// An operation that MLX has a kernel for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `mx.fast.scaled_dot_product_attention`.
    Attention,
    /// `mx.softmax` over the last axis.
    Softmax,
    /// `mx.fast.rms_norm`.
    RmsNorm,
    /// `mx.cumsum` along the last axis.
    Scan,
}

impl Operation {
    /// By its name on the command line.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "attention" => Some(Self::Attention),
            "softmax" => Some(Self::Softmax),
            "rms_norm" => Some(Self::RmsNorm),
            "scan" => Some(Self::Scan),
            _ => None,
        }
    }

    /// The one that tasks of this family compute.
    pub fn of_task(family: &str) -> Option<Self> {
        [Self::Attention, Self::Softmax, Self::RmsNorm, Self::Scan].into_iter().find(|o| o.family() == family)
    }

    /// Family of tasks whose workloads it takes.
    pub const fn family(self) -> &'static str {
        match self {
            Self::Attention => "attention",
            Self::Softmax => "softmax",
            Self::RmsNorm => "gated_rms_norm",
            Self::Scan => "prefix_sum",
        }
    }

    /// The shipped task whose workloads are taken where none is named.
    pub const fn task(self) -> &'static str {
        match self {
            Self::RmsNorm => "rms_norm",
            other => other.family(),
        }
    }
}

/// Why there is no baseline for a workload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoKernel {
    /// The workload lacks a symbol.
    #[error("the workload has no `{0}`")]
    Symbol(&'static str),
    /// MLX has no fused kernel for the shape.
    #[error("MLX has no kernel for {0}")]
    Shape(String),
    /// The wheel carries headers, and this kernel is not in one.
    #[error(
        "the mlx-metal wheel has MLX's {0} kernel in compiled form only (`{1}` is no header); set KSEARCH_MLX to a checkout of ml-explore/mlx, which has the source"
    )]
    NotInWheel(&'static str, &'static str),
}

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A buffer by number of [`Launches::buffers`].
    Buffer(usize),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// One dispatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// Name of the kernel in MLX.
    pub kernel: String,
    /// Includes and instantiation.
    pub source: String,
    /// Function constants by index.
    pub constants: Vec<(u32, String)>,
    /// Arguments by buffer index.
    pub arguments: Vec<(u32, Argument)>,
    /// Threadgroups.
    pub groups: [u32; 3],
    /// Threads per threadgroup.
    pub threads: [u32; 3],
}

/// All dispatches of an operation on a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launches {
    /// Bytes of each buffer.
    pub buffers: Vec<u64>,
    /// Element type of the buffers that hold values, for sensible contents.
    pub dtype: DType,
    /// Dispatches, in order.
    pub dispatches: Vec<Dispatch>,
}

/// Sizes of a workload, by name.
struct Sizes<'a>(&'a dyn Scope);

impl Sizes<'_> {
    fn int(&self, name: &'static str) -> Result<i64, NoKernel> {
        self.0.get(name).and_then(Value::as_int).filter(|v| *v >= 0).ok_or(NoKernel::Symbol(name))
    }

    fn real(&self, name: &'static str) -> Result<f64, NoKernel> {
        self.0.get(name).and_then(Value::as_f64).ok_or(NoKernel::Symbol(name))
    }

    fn dtype(&self, name: &'static str) -> Result<DType, NoKernel> {
        match self.0.get(name) {
            Some(Value::Type(t)) => Ok(t),
            _ => Err(NoKernel::Symbol(name)),
        }
    }
}

/// What MLX would launch for `operation` on a workload. `architecture` is the last letter of Metal's architecture name:
/// `g` base, `s` max, `d` ultra.
pub fn launches(operation: Operation, workload: &dyn Scope, architecture: char) -> Result<Launches, NoKernel> {
    let sizes = Sizes(workload);
    match operation {
        Operation::Attention => attention(&sizes, architecture),
        Operation::Softmax => softmax(&sizes),
        Operation::RmsNorm => rms_norm(&sizes),
        Operation::Scan => scan(&sizes),
    }
}

fn metal(t: DType) -> &'static str {
    match t {
        DType::F16 => "half",
        DType::BF16 => "bfloat16_t",
        _ => "float",
    }
}

fn instantiate(headers: &[&str], name: &str, template: &str) -> String {
    let mut out = String::new();
    for h in headers {
        out.push_str("#include \"mlx/backend/metal/kernels/");
        out.push_str(h);
        out.push_str("\"\n");
    }
    out.extend(["instantiate_kernel(\"", name, "\", ", template, ")\n"]);
    out
}

/// Numbers of the attention buffers.
const Q: usize = 0;
const K: usize = 1;
const V: usize = 2;
const OUT: usize = 3;
const PARTIAL: usize = 4;
const SUMS: usize = 5;
const MAXS: usize = 6;

struct Shape {
    b: i64,
    hq: i64,
    hkv: i64,
    lq: i64,
    lk: i64,
    d: i64,
    scale: f32,
    causal: bool,
    t: DType,
}

fn attention(s: &Sizes<'_>, architecture: char) -> Result<Launches, NoKernel> {
    let shape = Shape {
        b: s.int("B")?,
        hq: s.int("Hq")?,
        hkv: s.int("Hkv")?,
        lq: s.int("Lq")?,
        lk: s.int("Lk")?,
        d: s.int("D")?,
        scale: s.real("scale")? as f32,
        causal: s.int("causal")? != 0,
        t: s.dtype("T")?,
    };
    let (rows, keys) = ((shape.b * shape.hq * shape.lq) as u64, (shape.b * shape.hkv * shape.lk) as u64);
    let bytes = shape.t.bytes() as u64 * shape.d as u64;
    let mut out = Launches {
        buffers: vec![rows * bytes, keys * bytes, keys * bytes, rows * bytes],
        dtype: shape.t,
        dispatches: vec![],
    };
    // Few queries go to the vector kernels, many to the matrix one; each takes its own head sizes.
    if shape.lq <= 8 {
        if ![64, 96, 128, 256].contains(&shape.d) {
            return Err(NoKernel::Shape(format!("decoding with head dimension {}", shape.d)));
        }
        let large = matches!(architecture, 's' | 'd');
        if (large && shape.lk >= 1024) || (shape.hkv < shape.hq && shape.lk >= 4096) {
            two_pass(&shape, architecture, &mut out);
        } else {
            out.dispatches.push(vector(&shape));
        }
    } else if [64, 72, 80, 96, 128, 192, 256].contains(&shape.d) {
        out.dispatches.push(steel(&shape));
    } else {
        return Err(NoKernel::Shape(format!("attention with head dimension {}", shape.d)));
    }
    Ok(out)
}

fn buffers(list: &[(u32, usize)]) -> Vec<(u32, Argument)> {
    list.iter().map(|(i, b)| (*i, Argument::Buffer(*b))).collect()
}

fn int(v: i64) -> Argument {
    Argument::Bytes((v as i32).to_le_bytes().to_vec())
}

fn size(v: i64) -> Argument {
    Argument::Bytes(v.to_le_bytes().to_vec())
}

/// The matrix kernel: 32 queries a threadgroup, 32 keys a step (16 from head dimension 128 on), four simdgroups, which from
/// head dimension 256 on are eight that halve the head between them.
fn steel(s: &Shape) -> Dispatch {
    let (bq, bk) = (32, if s.d < 128 { 32 } else { 16 });
    let t = metal(s.t);
    let (wm, wn) = (4, if s.d < 256 { 1 } else { 2 });
    let name = format!("steel_attention_{t}_bq{bq}_bk{bk}_bd{0}_bv{0}_wm{wm}_wn{wn}", s.d);
    let headers = ["utils.h", "steel/attn/kernels/steel_attention.h"];
    let template = format!("attention, {t}, {bq}, {bk}, {0}, {0}, {wm}, {wn}, {t}, float", s.d);
    let mut params = Vec::new();
    let mut word = |v: i64| params.extend_from_slice(&(v as i32).to_le_bytes());
    let (nq, nk) = ((s.lq + bq - 1) / bq, (s.lk + bk - 1) / bk);
    for v in [s.b, s.hq, s.d, s.lq, s.lk, s.hq / s.hkv.max(1)] {
        word(v);
    }
    word(i64::from(s.scale.to_bits() as i32));
    for v in [nq, nk, s.lq / bq, s.lk / bk, s.lq % bq, s.lk % bk, s.lk - s.lq] {
        word(v);
    }
    let strides = |h: i64, l: i64| [h * l * s.d, l * s.d, s.d];
    for list in [strides(s.hq, s.lq), strides(s.hkv, s.lk), strides(s.hkv, s.lk), strides(s.hq, s.lq)] {
        for v in list {
            params.extend_from_slice(&v.to_le_bytes());
        }
    }
    let mut arguments = buffers(&[(0, Q), (1, K), (2, V), (3, OUT)]);
    arguments.push((4, Argument::Bytes(params)));
    Dispatch {
        source: instantiate(&headers, &name, &template),
        kernel: name,
        constants: vec![
            (200, (s.lq % bq == 0).to_string()),
            (201, (s.lk % bk == 0).to_string()),
            (300, "false".into()),
            (301, s.causal.to_string()),
            (302, "false".into()),
            (303, "false".into()),
        ],
        arguments,
        groups: [nq as u32, s.hq as u32, s.b as u32],
        threads: [32, wm, wn],
    }
}

fn vector_constants(s: &Shape) -> Vec<(u32, String)> {
    let causal = s.causal && s.lq > 1;
    [(20, false), (21, false), (22, causal), (23, false), (24, false), (25, false)]
        .map(|(i, v): (u32, bool)| (i, v.to_string()))
        .to_vec()
}

fn vector(s: &Shape) -> Dispatch {
    let t = metal(s.t);
    let name = format!("sdpa_vector_{t}_{0}_{0}", s.d);
    let mut arguments = buffers(&[(0, Q), (1, K), (2, V), (3, OUT)]);
    let head = s.lk * s.d;
    arguments.extend([
        (4, int(s.hq / s.hkv.max(1))),
        (5, int(s.lk)),
        (6, size(head)),
        (7, size(s.d)),
        (8, size(head)),
        (9, size(s.d)),
        (10, Argument::Bytes(s.scale.to_le_bytes().to_vec())),
    ]);
    Dispatch {
        source: instantiate(&["utils.h", "sdpa_vector.h"], &name, &format!("sdpa_vector, {t}, {0}, {0}", s.d)),
        kernel: name,
        constants: vector_constants(s),
        arguments,
        groups: [(s.b * s.hq) as u32, s.lq as u32, 1],
        threads: [1024, 1, 1],
    }
}

/// Blocks of keys that the two-pass kernel splits its work into.
fn blocks(s: &Shape, architecture: char) -> i64 {
    let simds = s.hq / s.hkv.max(1) * s.lq;
    match architecture {
        's' if s.lk > 1024 && simds > 4 => match s.lk {
            ..=8192 => 128,
            8193..=32768 => 256,
            32769..=65536 => 512,
            _ => 1024,
        },
        's' => 64,
        'd' if simds <= 2 && s.lk > 8192 => 256,
        'd' if simds >= 6 && s.lk >= 65536 => 1024,
        'd' if simds >= 6 && s.lk >= 16384 => 512,
        'd' => 128,
        _ if simds >= 4 => 64,
        _ => 32,
    }
}

fn two_pass(s: &Shape, architecture: char, out: &mut Launches) {
    let t = metal(s.t);
    let blocks = blocks(s, architecture);
    let rows = (s.b * s.hq * s.lq * blocks) as u64;
    out.buffers.extend([rows * (s.d as u64) * s.t.bytes() as u64, rows * 4, rows * 4]);
    let name = format!("sdpa_vector_2pass_1_{t}_{0}_{0}", s.d);
    let head = s.lk * s.d;
    let mut arguments = buffers(&[(0, Q), (1, K), (2, V), (3, PARTIAL), (4, SUMS), (5, MAXS)]);
    arguments.extend([
        (7, int(s.lk)),
        (8, size(head)),
        (9, size(s.d)),
        (10, size(head)),
        (11, size(s.d)),
        (12, Argument::Bytes(s.scale.to_le_bytes().to_vec())),
    ]);
    let mut constants = vector_constants(s);
    constants.push((26, blocks.to_string()));
    let headers = ["utils.h", "sdpa_vector.h"];
    out.dispatches.push(Dispatch {
        source: instantiate(&headers, &name, &format!("sdpa_vector_2pass_1, {t}, {0}, {0}", s.d)),
        kernel: name,
        constants,
        arguments,
        groups: [s.hkv as u32, s.b as u32, blocks as u32],
        threads: [32, (s.hq / s.hkv.max(1)) as u32, s.lq as u32],
    });
    let name = format!("sdpa_vector_2pass_2_{t}_{}", s.d);
    let mut arguments = buffers(&[(0, PARTIAL), (1, SUMS), (2, MAXS), (3, OUT)]);
    arguments.push((4, int(blocks)));
    out.dispatches.push(Dispatch {
        source: instantiate(&headers, &name, &format!("sdpa_vector_2pass_2, {t}, {}", s.d)),
        kernel: name,
        constants: vec![],
        arguments,
        groups: [(s.b * s.hq) as u32, s.lq as u32, 1],
        threads: [1024, 1, 1],
    });
}

/// Elements that a thread of the softmax kernel reads, and the longest row that one threadgroup keeps.
const SOFTMAX_READS: i64 = 4;
const SOFTMAX_LOOPED: i64 = 4096;

fn softmax(s: &Sizes<'_>) -> Result<Launches, NoKernel> {
    let (rows, n, t) = (s.int("R")?, s.int("C")?, s.dtype("T")?);
    let looped = n > SOFTMAX_LOOPED;
    let name = format!("{}_softmax_{}", if looped { "looped" } else { "block" }, metal(t));
    let function = if looped { "softmax_looped" } else { "softmax_single_row" };
    let needed = (n + SOFTMAX_READS - 1) / SOFTMAX_READS;
    let threads = if looped { 1024 } else { (needed + 31) / 32 * 32 };
    let mut arguments = buffers(&[(0, 0), (1, 1)]);
    arguments.push((2, int(n)));
    let bytes = (rows * n) as u64 * t.bytes() as u64;
    Ok(Launches {
        buffers: vec![bytes, bytes],
        dtype: t,
        dispatches: vec![Dispatch {
            source: instantiate(&["utils.h", "softmax.h"], &name, &format!("{function}, {}", metal(t))),
            kernel: name,
            constants: vec![],
            arguments,
            groups: [rows as u32, 1, 1],
            threads: [threads as u32, 1, 1],
        }],
    })
}

/// File of the RMS norm kernels, which are in no header.
pub const RMS_NORM: &str = "mlx/backend/metal/kernels/rms_norm.metal";

/// The RMS norm takes rows as softmax does, with as many reads a thread and the same longest row of one threadgroup.
fn rms_norm(s: &Sizes<'_>) -> Result<Launches, NoKernel> {
    let (rows, n, t, eps) = (s.int("R")?, s.int("C")?, s.dtype("T")?, s.real("eps")?);
    if s.int("has_z")? != 0 {
        return Err(NoKernel::Shape("a gated RMS norm".into()));
    }
    let looped = n > SOFTMAX_LOOPED;
    let type_name = match t {
        DType::F16 => "float16",
        DType::BF16 => "bfloat16",
        _ => "float32",
    };
    let needed = (n + SOFTMAX_READS - 1) / SOFTMAX_READS;
    let threads = if looped { 1024 } else { (needed + 31) / 32 * 32 };
    let mut arguments = buffers(&[(0, 0), (1, 1), (2, 2)]);
    arguments.extend([(3, Argument::Bytes((eps as f32).to_le_bytes().to_vec())), (4, int(n)), (5, int(1))]);
    let row = n as u64 * t.bytes() as u64;
    Ok(Launches {
        buffers: vec![rows as u64 * row, row, rows as u64 * row],
        dtype: t,
        dispatches: vec![Dispatch {
            source: format!("#include \"{RMS_NORM}\"\n"),
            kernel: format!("rms{}{type_name}", if looped { "_looped" } else { "" }),
            constants: vec![(20, "true".into())],
            arguments,
            groups: [rows as u32, 1, 1],
            threads: [threads as u32, 1, 1],
        }],
    })
}

/// Elements that a thread of the scan reads in a row.
const SCAN_READS: i64 = 4;

fn scan(s: &Sizes<'_>) -> Result<Launches, NoKernel> {
    let (rows, n, t) = (s.int("R")?, s.int("C")?, s.dtype("T")?);
    if t != DType::F32 {
        return Err(NoKernel::Shape(format!("a prefix sum of {}", t.name())));
    }
    let simds = |n: i64| (n + SCAN_READS * 32 - 1) / (SCAN_READS * 32) * 32;
    let threads = match n {
        n if n <= SCAN_READS * 1024 => simds(n),
        n if n <= SCAN_READS * 2048 => simds(n / 2),
        _ => 1024,
    };
    let name = "contig_scan_inclusive_sum_float32_float32".to_owned();
    let mut arguments = buffers(&[(0, 0), (1, 1)]);
    arguments.push((2, size(n)));
    let bytes = (rows * n) as u64 * t.bytes() as u64;
    let template = format!("contiguous_scan, float, float, CumSum<float>, {SCAN_READS}, true, false");
    Ok(Launches {
        buffers: vec![bytes, bytes],
        dtype: t,
        dispatches: vec![Dispatch {
            source: instantiate(&["utils.h", "scan.h"], &name, &template),
            kernel: name,
            constants: vec![],
            arguments,
            groups: [1, rows as u32, 1],
            threads: [threads.min(1024) as u32, 1, 1],
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use indexmap::IndexMap;

    fn workload(lq: i64, lk: i64, d: i64) -> IndexMap<String, Value> {
        let ints = [("B", 2), ("Hq", 8), ("Hkv", 4), ("Lq", lq), ("Lk", lk), ("D", d), ("causal", 1)];
        let mut out: IndexMap<String, Value> = ints.iter().map(|(k, v)| ((*k).to_owned(), Value::Int(*v))).collect();
        out.insert("scale".into(), Value::Real(0.125));
        out.insert("T".into(), Value::Type(DType::F16));
        out
    }

    #[test]
    fn long_queries_take_the_matrix_kernel_as_mlx_launches_it() {
        let l = launches(Operation::Attention, &workload(100, 128, 64), 's').expect("launches");
        let d = &l.dispatches[0];
        assert!(d.kernel.starts_with("steel_attention_half_bq32_bk32_bd64"), "{}", d.kernel);
        assert_eq!((d.groups, d.threads), ([4, 8, 2], [32, 4, 1]));
        assert_eq!(d.constants[0], (200, "false".to_owned()));
        assert_eq!(d.constants[3], (301, "true".to_owned()));
        let Argument::Bytes(params) = &d.arguments[4].1 else { panic!("parameters") };
        assert_eq!(params.len(), 152);
        assert_eq!(params[24..28], 0.125f32.to_le_bytes());
        assert_eq!(params[52..56], 28i32.to_le_bytes());
        assert_eq!(params[56..64], (8 * 100 * 64i64).to_le_bytes());
        let wide = launches(Operation::Attention, &workload(64, 64, 128), 's').expect("launches");
        assert!(wide.dispatches[0].kernel.contains("bk16"));
    }

    #[test]
    fn decoding_takes_one_pass_or_two() {
        let one = launches(Operation::Attention, &workload(1, 333, 128), 's').expect("launches");
        assert_eq!((one.dispatches.len(), one.dispatches[0].threads), (1, [1024, 1, 1]));
        let two = launches(Operation::Attention, &workload(1, 4000, 128), 's').expect("launches");
        assert_eq!(two.dispatches.len(), 2);
        assert_eq!((two.dispatches[0].groups, two.dispatches[0].threads), ([4, 2, 64], [32, 2, 1]));
        assert_eq!(two.buffers.len(), 7);
        assert_eq!(launches(Operation::Attention, &workload(1, 2000, 128), 'g').expect("launches").dispatches.len(), 1);
    }

    fn rows(r: i64, c: i64, has_z: i64, t: DType) -> IndexMap<String, Value> {
        let mut out: IndexMap<String, Value> =
            [("R", r), ("C", c), ("has_z", has_z)].iter().map(|(k, v)| ((*k).to_owned(), Value::Int(*v))).collect();
        out.insert("eps".into(), Value::Real(1e-5));
        out.insert("T".into(), Value::Type(t));
        out
    }

    #[test]
    fn norms_and_scans_take_a_threadgroup_a_row() {
        let norm = launches(Operation::RmsNorm, &rows(7, 1000, 0, DType::F16), 's').expect("launches");
        let d = &norm.dispatches[0];
        assert_eq!((d.kernel.as_str(), d.groups, d.threads), ("rmsfloat16", [7, 1, 1], [256, 1, 1]));
        assert_eq!(norm.buffers, [14000, 2000, 14000]);
        let long = launches(Operation::RmsNorm, &rows(7, 5000, 0, DType::F32), 's').expect("launches");
        assert_eq!(long.dispatches[0].kernel, "rms_loopedfloat32");
        let gated = launches(Operation::RmsNorm, &rows(7, 5000, 1, DType::F32), 's').unwrap_err();
        assert!(gated.to_string().contains("gated"), "{gated}");
        let threads = |c: i64| {
            let l = launches(Operation::Scan, &rows(3, c, 0, DType::F32), 's').expect("launches");
            assert_eq!(l.dispatches[0].groups, [1, 3, 1]);
            l.dispatches[0].threads[0]
        };
        assert_eq!([1, 129, 4096, 4098, 8192, 9000].map(threads), [32, 64, 1024, 544, 1024, 1024]);
        assert!(launches(Operation::Scan, &rows(3, 9, 0, DType::F16), 's').is_err());
    }

    #[test]
    fn what_is_not_there_says_why() {
        let e = launches(Operation::Attention, &workload(64, 64, 50), 's').unwrap_err();
        assert!(e.to_string().contains("head dimension 50"));
        assert_eq!(launches(Operation::Softmax, &workload(1, 1, 1), 's').unwrap_err(), NoKernel::Symbol("R"));
    }
}
