//! How a measured program was launched: buffers, dispatches and sizes of one task, read from TOML. Knows expressions and
//! recipes of launches; must not know who measured what.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use ksearch_task::file::TomlFile;
use ksearch_task::{DType, Expr, ExprError, FileError, Value};
use serde::Deserialize;

/// Launch geometry of one task.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// Name of the task.
    pub name: String,
    /// Sizes by label: the symbols of each.
    pub sizes: IndexMap<String, IndexMap<String, i64>>,
    /// Device buffers by name.
    pub buffers: IndexMap<String, BufferSpec>,
    /// Dispatches, in order.
    pub dispatch: Vec<DispatchSpec>,
}

/// A device buffer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BufferSpec {
    /// Element type.
    pub dtype: DType,
    /// Elements.
    pub count: Expr,
    /// What it holds at the start; zeros by default.
    #[serde(default)]
    pub fill: Fill,
    /// Row length of an identity matrix.
    pub row: Option<Expr>,
}

/// Contents of a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fill {
    /// Zeros.
    #[default]
    Zero,
    /// Uniform on 0 to 1; small integers for integer types.
    Uniform,
    /// Gaussian.
    Normal,
    /// 0, 1, 2, …
    Ramp,
    /// Ones on the diagonal of rows of `row` elements.
    Identity,
}

/// One dispatch, maybe repeated.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DispatchSpec {
    /// Entry point.
    pub kernel: String,
    /// Threads of the grid per axis, rounded up to whole threadgroups as the host does. Alternative: `groups`.
    #[serde(default)]
    pub threads: Vec<Expr>,
    /// Threadgroups per axis.
    #[serde(default)]
    pub groups: Vec<Expr>,
    /// Threads per threadgroup per axis. May use `max_threads`, what the pipeline allows.
    pub threadgroup: Vec<Expr>,
    /// Times in a row (default once); `step` counts them in arguments.
    pub repeat: Option<Expr>,
    /// Arguments by buffer index.
    pub args: Vec<ArgSpec>,
    /// Function constants by name or index, as C++ literals.
    #[serde(default)]
    pub constants: BTreeMap<String, String>,
}

/// One argument.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum ArgSpec {
    /// A buffer.
    Buffer(String),
    /// Buffers that take turns from step to step.
    Turns(Vec<String>),
    /// Something else.
    Other(Box<OtherArg>),
}

/// An argument that is not simply a buffer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherArg {
    /// A 32-bit unsigned scalar.
    pub uint: Option<Expr>,
    /// A 32-bit signed scalar.
    pub int: Option<Expr>,
    /// A 32-bit real scalar.
    pub float: Option<Expr>,
    /// A buffer at `offset`.
    pub buffer: Option<String>,
    /// Bytes into the buffer.
    pub offset: Option<Expr>,
    /// Bytes of threadgroup memory.
    pub threadgroup: Option<Expr>,
}

/// An argument with its value.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// A buffer at a byte offset.
    Buffer(String, u64),
    /// The bytes of a scalar.
    Bytes(Vec<u8>),
    /// Threadgroup memory.
    Threadgroup(u32),
}

/// One dispatch on one size.
#[derive(Clone, Debug, PartialEq)]
pub struct Launched {
    /// Threadgroups per axis.
    pub groups: [u32; 3],
    /// Threads per threadgroup per axis.
    pub threads: [u32; 3],
    /// Times in a row.
    pub repeat: u32,
    /// Arguments of the first time.
    pub args: Vec<Arg>,
}

/// A geometry that cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum GeometryError {
    /// The file.
    #[error(transparent)]
    File(#[from] FileError),
    /// An expression.
    #[error(transparent)]
    Expr(#[from] ExprError),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl Geometry {
    /// What a launch of any size follows from, as text: two geometries with the same fingerprint launch alike.
    pub fn fingerprint(&self) -> String {
        format!("{:?} {:?} {:?}", self.sizes, self.buffers, self.dispatch)
    }

    /// Reads a geometry file.
    pub fn parse(file: &str, text: &str) -> Result<Self, FileError> {
        TomlFile::new(file, text).parse()
    }

    fn scope(&self, size: &str) -> Result<IndexMap<String, Value>, GeometryError> {
        let values = self.sizes.get(size).ok_or_else(|| {
            let known: Vec<_> = self.sizes.keys().map(String::as_str).collect();
            GeometryError::Other(format!("task `{}` has no size `{size}`; it has {}", self.name, known.join(", ")))
        })?;
        Ok(values.iter().map(|(k, v)| (k.clone(), Value::Int(*v))).collect())
    }

    /// Elements of each buffer, and row length where it has one.
    pub fn buffers(&self, size: &str) -> Result<Vec<(&str, &BufferSpec, usize, usize)>, GeometryError> {
        let scope = self.scope(size)?;
        let positive = |e: &Expr| -> Result<usize, GeometryError> {
            usize::try_from(e.eval_int(&scope)?).map_err(|_| GeometryError::Other(format!("`{e}` is negative")))
        };
        self.buffers
            .iter()
            .map(|(name, b)| {
                let row = b.row.as_ref().map(&positive).transpose()?.unwrap_or(0);
                Ok((name.as_str(), b, positive(&b.count)?, row))
            })
            .collect()
    }

    /// Dispatch `at` on a size, for a pipeline that allows `max_threads`; arguments as of its first time.
    pub fn launch(&self, at: usize, size: &str, max_threads: u32) -> Result<Launched, GeometryError> {
        let spec =
            self.dispatch.get(at).ok_or_else(|| GeometryError::Other(format!("there is no dispatch number {at}")))?;
        let mut scope = self.scope(size)?;
        scope.insert("max_threads".into(), Value::Int(i64::from(max_threads)));
        scope.insert("step".into(), Value::Int(0));
        let number = |e: &Expr| -> Result<u32, GeometryError> {
            let v = e.eval_int(&scope)?;
            u32::try_from(v).map_err(|_| GeometryError::Other(format!("`{e}` is {v}, which is no 32-bit count")))
        };
        let axes = |list: &[Expr]| -> Result<[u32; 3], GeometryError> {
            let mut out = [1; 3];
            for (o, e) in out.iter_mut().zip(list) {
                *o = number(e)?;
            }
            Ok(out)
        };
        let threads = axes(&spec.threadgroup)?;
        let groups = if spec.groups.is_empty() {
            let grid = axes(&spec.threads)?;
            std::array::from_fn(|k| grid[k].div_ceil(threads[k].max(1)))
        } else {
            axes(&spec.groups)?
        };
        let repeat = spec.repeat.as_ref().map(&number).transpose()?.unwrap_or(1);
        let mut args = Vec::new();
        for a in &spec.args {
            args.push(match a {
                ArgSpec::Buffer(name) => self.buffer(name, 0)?,
                ArgSpec::Turns(names) => {
                    let first = names.first().ok_or_else(|| GeometryError::Other("an empty list of buffers".into()))?;
                    self.buffer(first, 0)?
                }
                ArgSpec::Other(o) => self.other(o, &scope, &number)?,
            });
        }
        Ok(Launched { groups, threads, repeat, args })
    }

    fn buffer(&self, name: &str, offset: u64) -> Result<Arg, GeometryError> {
        if self.buffers.contains_key(name) {
            return Ok(Arg::Buffer(name.to_owned(), offset));
        }
        Err(GeometryError::Other(format!(
            "an argument names buffer `{name}`, which task `{}` does not have",
            self.name
        )))
    }

    fn other(
        &self,
        o: &OtherArg,
        scope: &IndexMap<String, Value>,
        number: &dyn Fn(&Expr) -> Result<u32, GeometryError>,
    ) -> Result<Arg, GeometryError> {
        if let Some(e) = &o.uint {
            return Ok(Arg::Bytes(number(e)?.to_le_bytes().to_vec()));
        }
        if let Some(e) = &o.int {
            return Ok(Arg::Bytes((e.eval_int(scope)? as i32).to_le_bytes().to_vec()));
        }
        if let Some(e) = &o.float {
            return Ok(Arg::Bytes((e.eval_real(scope)? as f32).to_le_bytes().to_vec()));
        }
        if let Some(e) = &o.threadgroup {
            return Ok(Arg::Threadgroup(number(e)?));
        }
        if let Some(name) = &o.buffer {
            let offset = o.offset.as_ref().map(number).transpose()?.unwrap_or(0);
            return self.buffer(name, u64::from(offset));
        }
        Err(GeometryError::Other("an argument is none of uint, int, float, buffer, threadgroup".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
name = "toy"
[sizes]
small = { n = 100, steps = 7 }
[buffers]
a = { dtype = "f32", count = "n", fill = "uniform" }
b = { dtype = "f32", count = "n" }
[[dispatch]]
kernel = "k"
threads = ["n", 3]
threadgroup = ["min(max_threads, 32)", 2]
repeat = "steps"
args = [["a", "b"], "b", { uint = "n" }, { float = 0.5 }, { buffer = "a", offset = "4 * step" }, { threadgroup = 64 }]
"#;

    #[test]
    fn a_launch_is_resolved_on_a_size() {
        let g = Geometry::parse("toy.toml", TEXT).expect("a geometry");
        let l = g.launch(0, "small", 1024).expect("a launch");
        assert_eq!((l.groups, l.threads, l.repeat), ([4, 2, 1], [32, 2, 1], 7));
        assert_eq!(l.args[0], Arg::Buffer("a".into(), 0));
        assert_eq!(l.args[2], Arg::Bytes(vec![100, 0, 0, 0]));
        assert_eq!(l.args[5], Arg::Threadgroup(64));
        assert_eq!(g.launch(0, "small", 16).expect("a launch").groups, [7, 2, 1]);
        assert_eq!(g.buffers("small").expect("buffers")[0].2, 100);
    }

    #[test]
    fn mistakes_are_named() {
        let g = Geometry::parse("toy.toml", TEXT).expect("a geometry");
        assert!(g.launch(0, "large", 1).unwrap_err().to_string().contains("it has small"));
        let bad = TEXT.replace("args = [[\"a\", \"b\"]", "args = [[\"z\"]");
        let g = Geometry::parse("toy.toml", &bad).expect("a geometry");
        assert!(g.launch(0, "small", 64).unwrap_err().to_string().contains("`z`"));
        let e = Geometry::parse("toy.toml", "name = 3").unwrap_err();
        assert_eq!((e.line, e.file.as_str()), (1, "toy.toml"));
    }
}
