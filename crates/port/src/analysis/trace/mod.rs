//! A kernel as a tree of what it does: loops, branches, accesses, arithmetic, barriers. Device functions are put in at
//! their calls. Knows syntax and types as far as they are written; must not judge.

mod expressions;
pub mod math;
mod statements;
mod types;

use std::collections::HashMap;

use tree_sitter::Node;

use crate::cuda::constant;
use crate::cuda::host::locals;
use crate::cuda::unit::{Bound, Function, Unit};

/// Where an array lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Behind a pointer parameter of the kernel.
    Global,
    /// `__shared__`
    Shared,
    /// `__constant__`
    Constant,
    /// A local array.
    Local,
    /// Not known.
    Unknown,
}

/// One access to memory.
#[expect(clippy::struct_excessive_bools, reason = "independent facts of the text")]
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// Name of the array (of the allocation, where a pointer was followed).
    pub array: String,
    /// Name of the pointer or array it goes through: two parts of one allocation have two views.
    pub view: String,
    /// Where it lives.
    pub space: Space,
    /// Index as written, white space squeezed; empty for a scalar.
    pub index: String,
    /// Store (as opposed to load).
    pub write: bool,
    /// Part of an atomic operation.
    pub atomic: bool,
    /// Bytes moved by one thread, if the type is known.
    pub bytes: Option<i64>,
    /// The element is an integer.
    pub integer: bool,
    /// Through a `volatile` pointer or array.
    pub volatile: bool,
    /// The index differs between threads of a block, as far as can be seen.
    pub by_thread: bool,
    /// The index holds a value that was itself loaded from memory.
    pub indirect: bool,
    /// First byte.
    pub at: usize,
    /// First byte of the statement it stands in.
    pub statement: usize,
}

/// How a loop's trip count is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trip {
    /// This many times per thread.
    Known(f64),
    /// The variable is halved or doubled each time: the logarithm of something.
    Logarithmic,
    /// Not known.
    Unknown,
}

/// What is done.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A loop.
    Loop {
        /// Trip count.
        trip: Trip,
        /// Loop variable, where there is one.
        variable: Option<String>,
        /// The variable is halved or doubled.
        geometric: bool,
        /// Loops forever unless broken out of, or waits on memory that others write.
        header: String,
        /// Body.
        body: Vec<Item>,
        /// First byte.
        at: usize,
    },
    /// A branch.
    If {
        /// Condition as written.
        condition: String,
        /// Differs between threads of a block, as far as can be seen.
        by_thread: bool,
        /// Taken.
        then: Vec<Item>,
        /// Not taken.
        otherwise: Vec<Item>,
    },
    /// A load or store.
    Access(Access),
    /// Floating-point additions, multiplications and comparisons.
    Flops(u32),
    /// A call of something the file does not define, with its arguments.
    Call {
        /// Unqualified name.
        name: String,
        /// Arguments as written.
        args: Vec<String>,
        /// The result is used.
        used: bool,
        /// An argument points into global memory.
        global: bool,
        /// First byte.
        at: usize,
    },
    /// `left op= right` or `left = …` on a floating scalar or local array.
    Update {
        /// Left side as written.
        target: String,
        /// Right side as written.
        value: String,
        /// Operator.
        operator: String,
        /// Declared outside the innermost loop.
        carried: bool,
        /// First byte.
        at: usize,
    },
    /// The thread leaves the kernel.
    Return {
        /// First byte.
        at: usize,
    },
    /// A local array.
    Array {
        /// Name.
        name: String,
        /// Bytes per thread, if known.
        bytes: Option<i64>,
    },
    /// Assignment of an integer scalar or declaration with a value.
    Scalar {
        /// Name.
        name: String,
        /// Value as written.
        value: String,
    },
}

/// What is known of a name.
#[expect(clippy::struct_excessive_bools, reason = "independent facts of the text")]
#[derive(Clone, Debug)]
struct Variable {
    space: Space,
    /// Allocation that a pointer was traced to.
    origin: String,
    /// Part of it, by the name it goes by.
    view: String,
    bytes: Option<i64>,
    float: bool,
    array: bool,
    volatile: bool,
    by_thread: bool,
    loaded: bool,
    depth: usize,
    /// Value of an integer that has not been assigned since its declaration, if it is known.
    fixed: Option<i64>,
}

/// What a pointer expression leads to.
#[derive(Clone, Debug)]
struct Base {
    origin: String,
    view: String,
    space: Space,
    bytes: Option<i64>,
    volatile: bool,
}

/// Calls inside one another at most.
const MAX_INLINE: usize = 12;
/// Passes that a loop is taken to make when its limit is a lane's or warp's number.
const A_FEW: f64 = 4.0;
/// Items at most; a kernel beyond that is not followed further.
const MAX_ITEMS: usize = 200_000;

/// Traces `kernel` of `unit`. `values` gives its template parameters and, where a launch tells, `blockDim.x` and its kin.
pub fn trace<'t>(unit: &Unit<'t>, kernel: &Function<'t>, values: &[(String, String)]) -> Vec<Item> {
    let mut tracer = Tracer {
        unit,
        scopes: vec![HashMap::new()],
        stack: Vec::new(),
        names: Vec::new(),
        items: 0,
        statement: 0,
        loops: 0,
    };
    for g in &unit.globals {
        let space = if g.qualifiers.iter().any(|q| q == "__constant__") { Space::Constant } else { Space::Global };
        let v = tracer.variable(&g.ty, space, &g.name, true, false);
        tracer.declare(&g.name, v);
    }
    tracer.function(kernel, values.to_vec(), &[])
}

struct Tracer<'a, 't> {
    unit: &'a Unit<'t>,
    scopes: Vec<HashMap<String, Variable>>,
    stack: Vec<String>,
    names: Vec<Bound<'a>>,
    items: usize,
    statement: usize,
    loops: usize,
}

impl<'a, 't> Tracer<'a, 't> {
    fn text(&self, node: Node<'_>) -> &'a str {
        self.unit.source.text.get(node.byte_range()).unwrap_or("")
    }

    fn flat(&self, node: Node<'_>) -> String {
        self.unit.source.flat(node)
    }

    fn lookup(&self, name: &str) -> Option<&Variable> {
        self.scopes.iter().rev().find_map(|s| s.get(name))
    }

    fn declare(&mut self, name: &str, v: Variable) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), v);
        }
    }

    fn function(&mut self, f: &Function<'t>, values: Vec<(String, String)>, args: &[Option<Variable>]) -> Vec<Item> {
        let Some(body) = f.body else { return Vec::new() };
        self.stack.push(f.name.clone());
        let mut bound = locals(self.unit, Some(f));
        bound.values.extend(values);
        // The launch's extents hold in every function.
        let extents =
            self.names.first().map(|n| n.values.iter().filter(|(n, _)| n.contains('.')).cloned().collect::<Vec<_>>());
        bound.values.extend(extents.unwrap_or_default());
        self.names.push(bound);
        self.scopes.push(HashMap::new());
        let is_kernel = args.is_empty() && self.stack.len() == 1;
        for (i, p) in f.params.iter().enumerate() {
            let given = args.get(i).cloned().flatten();
            let pointer = p.pointers > 0;
            let space = match (is_kernel, pointer) {
                (true, true) => Space::Global,
                (false, true) => Space::Unknown,
                (_, false) => Space::Local,
            };
            let mut v = self.variable(&p.ty, space, &p.name, pointer, false);
            v.volatile = p.volatile;
            if let Some(given) = given {
                v.by_thread = given.by_thread;
                v.loaded = given.loaded;
                if pointer || p.reference {
                    (v.space, v.origin, v.view) = (given.space, given.origin, given.view);
                    v.array = given.array || pointer;
                    v.bytes = v.bytes.or(given.bytes);
                }
            } else if !is_kernel {
                v.by_thread = true;
            }
            self.declare(&p.name, v);
        }
        let mut out = Vec::new();
        self.block_of(body, &mut out);
        self.scopes.pop();
        self.names.pop();
        self.stack.pop();
        out
    }

    fn push(&mut self, out: &mut Vec<Item>, item: Item) {
        if self.items < MAX_ITEMS {
            self.items += 1;
            out.push(item);
        }
    }

    fn number(&self, text: &str) -> Option<i64> {
        constant::eval(text, self.names.last()?)
    }
}
