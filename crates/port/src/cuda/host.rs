//! What host code does with kernels: launches, allocations, copies. Knows the CUDA runtime's names; runs nothing.

use tree_sitter::Node;

use super::lex::Kind;
use super::syntax::{each, named};
use super::unit::{Bound, Function, Unit, innermost, template_arguments};

/// One launch of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Unqualified name of the kernel.
    pub kernel: String,
    /// Template arguments, as written.
    pub template_args: Vec<String>,
    /// Blocks per axis, as written; `None` when they come from something that cannot be followed.
    pub grid: Option<[String; 3]>,
    /// Threads per block and axis, likewise.
    pub block: Option<[String; 3]>,
    /// Bytes of dynamic shared memory, as written.
    pub shared: Option<String>,
    /// Stream, as written.
    pub stream: Option<String>,
    /// Arguments as written; `None` when they pass through an array.
    pub args: Option<Vec<String>>,
    /// `cudaLaunchCooperativeKernel` and its kin.
    pub cooperative: bool,
    /// Index of the host (or device) function it stands in.
    pub function: Option<usize>,
    /// First byte.
    pub at: usize,
}

/// Direction of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Host to device.
    ToDevice,
    /// Device to host.
    ToHost,
    /// Within the device, or not known.
    Other,
}

/// What host code does to device memory, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryCall {
    /// `cudaMalloc(&variable, bytes)`
    Allocate {
        /// Pointer variable.
        variable: String,
        /// Bytes, as written.
        bytes: String,
    },
    /// `cudaMemcpy(to, from, bytes, direction)`
    Copy {
        /// Destination.
        to: String,
        /// Source.
        from: String,
        /// Bytes, as written.
        bytes: String,
        /// Direction.
        direction: Direction,
    },
    /// `cudaMemset(variable, value, bytes)`
    Set {
        /// Pointer variable.
        variable: String,
        /// Byte value, as written.
        value: String,
        /// Bytes, as written.
        bytes: String,
    },
}

/// Host side of a file.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// Launches in file order.
    pub launches: Vec<Launch>,
    /// Memory calls with the index of their function, in file order.
    pub memory: Vec<(Option<usize>, MemoryCall)>,
    /// `cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)`: kernel, bytes.
    pub shared_opt_in: Vec<(String, String)>,
}

impl Host {
    /// Reads the host side of `unit`.
    pub fn read(unit: &Unit<'_>) -> Self {
        let mut host = Self::default();
        each(unit.source.root(), &mut |n| {
            if n.kind() == "call_expression" {
                host.call(unit, n);
            }
            true
        });
        host
    }

    /// Launches of one kernel.
    pub fn launches_of<'a>(&'a self, kernel: &'a str) -> impl Iterator<Item = &'a Launch> {
        self.launches.iter().filter(move |l| l.kernel == kernel)
    }

    fn call(&mut self, unit: &Unit<'_>, node: Node<'_>) {
        let Some(callee) = node.child_by_field_name("function") else { return };
        let Some(list) = node.child_by_field_name("arguments") else { return };
        let function = enclosing(unit, node);
        let mut cursor = node.walk();
        let chevrons = node.children(&mut cursor).find(|n| n.kind() == "kernel_call_syntax");
        if let Some(chevrons) = chevrons {
            self.chevron_launch(unit, node, callee, chevrons, list, function);
            return;
        }
        let args = named(list);
        let text = |i: usize| args.get(i).map(|a| unit.source.flat(*a)).unwrap_or_default();
        let name = unit.source.text(callee);
        let name = name.strip_prefix("hip").map_or_else(|| name.to_owned(), |rest| format!("cuda{rest}"));
        match name.as_str() {
            "cudaMalloc" | "cudaMallocManaged" | "cudaMallocAsync" => {
                let call = MemoryCall::Allocate { variable: variable(&text(0)), bytes: text(1) };
                self.memory.push((function, call));
            }
            "cudaMemcpy" | "cudaMemcpyAsync" => {
                let direction = match text(3).rsplit("::").next().unwrap_or("") {
                    d if d.ends_with("MemcpyHostToDevice") => Direction::ToDevice,
                    d if d.ends_with("MemcpyDeviceToHost") => Direction::ToHost,
                    _ => Direction::Other,
                };
                let (to, from) = (variable(&text(0)), variable(&text(1)));
                self.memory.push((function, MemoryCall::Copy { to, from, bytes: text(2), direction }));
            }
            "cudaMemset" | "cudaMemsetAsync" => {
                let call = MemoryCall::Set { variable: variable(&text(0)), value: text(1), bytes: text(2) };
                self.memory.push((function, call));
            }
            "cudaFuncSetAttribute" if text(1).ends_with("MaxDynamicSharedMemorySize") => {
                if let Some((kernel, _)) = args.first().and_then(|a| kernel_name(unit, *a)) {
                    self.shared_opt_in.push((kernel, text(2)));
                }
            }
            "cudaLaunchKernel" | "cudaLaunchCooperativeKernel" | "cudaLaunchKernelExC" => {
                let Some((kernel, template_args)) = args.first().and_then(|a| kernel_name(unit, *a)) else { return };
                let ex = name == "cudaLaunchKernelExC";
                let dims = |i: usize| if ex { None } else { dimensions(unit, *args.get(i)?, function) };
                self.launches.push(Launch {
                    kernel,
                    template_args,
                    grid: dims(1),
                    block: dims(2),
                    shared: (!ex).then(|| text(4)).filter(|s| !s.is_empty()),
                    stream: (!ex).then(|| text(5)).filter(|s| !s.is_empty()),
                    args: None,
                    cooperative: name == "cudaLaunchCooperativeKernel",
                    function,
                    at: node.start_byte(),
                });
            }
            _ => {}
        }
    }

    fn chevron_launch(
        &mut self,
        unit: &Unit<'_>,
        node: Node<'_>,
        callee: Node<'_>,
        chevrons: Node<'_>,
        list: Node<'_>,
        function: Option<usize>,
    ) {
        let Some((kernel, template_args)) = kernel_name(unit, callee) else { return };
        let config = named(chevrons);
        let text = |i: usize| config.get(i).map(|a| unit.source.flat(*a)).filter(|t| !t.is_empty());
        self.launches.push(Launch {
            kernel,
            template_args,
            grid: config.first().and_then(|n| dimensions(unit, *n, function)),
            block: config.get(1).and_then(|n| dimensions(unit, *n, function)),
            shared: text(2).filter(|t| t != "0"),
            stream: text(3).filter(|t| t != "0"),
            args: Some(named(list).into_iter().map(|a| unit.source.flat(a)).collect()),
            cooperative: false,
            function,
            at: node.start_byte(),
        });
    }
}

/// `&x`, `(void**)&x`, `x` → `x`.
fn variable(text: &str) -> String {
    let text = text.rsplit(')').next().unwrap_or(text);
    text.trim_start_matches(['&', ' ']).trim().to_owned()
}

/// Name and template arguments of the kernel that `node` names.
fn kernel_name(unit: &Unit<'_>, node: Node<'_>) -> Option<(String, Vec<String>)> {
    match node.kind() {
        "identifier" | "type_identifier" | "field_identifier" => Some((unit.source.text(node).to_owned(), Vec::new())),
        "template_function" => {
            let name = node.child_by_field_name("name")?;
            let args = template_arguments(unit.source, node.child_by_field_name("arguments")?);
            Some((unit.source.text(name).to_owned(), args))
        }
        "qualified_identifier" => kernel_name(unit, node.child_by_field_name("name")?),
        "cast_expression" => kernel_name(unit, node.child_by_field_name("value")?),
        "pointer_expression" => kernel_name(unit, node.child_by_field_name("argument")?),
        "parenthesized_expression" => kernel_name(unit, named(node).into_iter().next()?),
        _ => None,
    }
}

fn enclosing(unit: &Unit<'_>, node: Node<'_>) -> Option<usize> {
    let at = node.start_byte();
    unit.functions.iter().rposition(|f| f.body.is_some_and(|b| b.byte_range().contains(&at)))
}

/// The three extents that an expression of a launch stands for.
fn dimensions(unit: &Unit<'_>, node: Node<'_>, function: Option<usize>) -> Option<[String; 3]> {
    let three = |args: Vec<String>| {
        let mut it = args.into_iter();
        let mut next = || it.next().unwrap_or_else(|| "1".to_owned());
        Some([next(), next(), next()])
    };
    let texts = |list: Node<'_>| named(list).into_iter().map(|a| unit.source.flat(a)).collect::<Vec<_>>();
    match node.kind() {
        "call_expression" if unit.source.text(node.child_by_field_name("function")?) == "dim3" => {
            three(texts(node.child_by_field_name("arguments")?))
        }
        "compound_literal_expression" => three(texts(node.child_by_field_name("value")?)),
        "initializer_list" => three(texts(node)),
        "identifier" => {
            let name = unit.source.text(node);
            let body = function.and_then(|i| unit.functions.get(i)?.body);
            let Some(local) = body.and_then(|b| declared(unit, b, name)) else { return three(vec![name.to_owned()]) };
            if !is_dim3(unit, local) {
                return three(vec![name.to_owned()]);
            }
            if changed(unit, body?, name) {
                return None;
            }
            // `dim3 block(T, T);` reads as the declaration of a function to the grammar.
            let value = local.child_by_field_name("value").or_else(|| local.child_by_field_name("parameters"))?;
            match value.kind() {
                "parameter_list" => three(texts(value)),
                "argument_list" | "initializer_list" => three(texts(value)),
                "call_expression" | "compound_literal_expression" => dimensions(unit, value, None),
                "number_literal" => three(vec![unit.source.flat(value)]),
                _ => None,
            }
        }
        _ => three(vec![unit.source.flat(node)]),
    }
}

fn is_dim3(unit: &Unit<'_>, init: Node<'_>) -> bool {
    let declared = init.parent().and_then(|p| p.child_by_field_name("type")).map(|t| unit.source.text(t));
    let built = init.child_by_field_name("value").is_some_and(|v| unit.source.text(v).starts_with("dim3"));
    declared.is_some_and(|t| t == "dim3" || t == "::dim3") || built
}

/// The only declarator of `name` in `body` that has an initialiser.
fn declared<'t>(unit: &Unit<'t>, body: Node<'t>, name: &str) -> Option<Node<'t>> {
    let mut found = Vec::new();
    each(body, &mut |n| {
        if matches!(n.kind(), "init_declarator" | "function_declarator")
            && n.child_by_field_name("declarator").is_some_and(|d| unit.source.text(innermost(d)) == name)
        {
            found.push(n);
        }
        true
    });
    match found.as_slice() {
        [one] => Some(*one),
        _ => None,
    }
}

/// Is `name` (or a member of it) assigned after its declaration?
fn changed(unit: &Unit<'_>, body: Node<'_>, name: &str) -> bool {
    let text = &unit.source.text;
    let tokens = unit.source.tokens_in(body.byte_range());
    tokens.iter().enumerate().any(|(i, t)| {
        if t.kind != Kind::Ident || t.text(text) != name {
            return false;
        }
        let word = |k: usize| tokens.get(k).map_or("", |t| t.text(text));
        let after = if matches!(word(i + 1), "." | "->") { word(i + 3) } else { word(i + 1) };
        let is_member = i > 0 && matches!(word(i - 1), "." | "->");
        let declaration = matches!(tokens.get(i.wrapping_sub(1)).map(|t| t.kind), Some(Kind::Ident))
            || matches!(word(i.wrapping_sub(1)), "*" | "&" | ",");
        let assigned =
            matches!(after, "+=" | "-=" | "*=" | "/=" | "%=" | "<<=" | ">>=" | "&=" | "|=" | "^=" | "++" | "--")
                || (after == "=" && !(declaration && word(i + 1) == "="))
                || matches!(word(i.wrapping_sub(1)), "++" | "--");
        assigned && !is_member
    })
}

/// Names of a function's scope whose value never changes, for [`super::constant`].
pub fn locals<'a>(unit: &'a Unit<'_>, function: Option<&Function<'_>>) -> Bound<'a> {
    let mut bound = Bound { outer: unit, values: Vec::new(), hidden: Vec::new() };
    let Some(f) = function else { return bound };
    bound.hidden.extend(f.params.iter().map(|p| p.name.clone()));
    let Some(body) = f.body else { return bound };
    let mut inits = Vec::new();
    each(body, &mut |n| {
        if n.kind() == "init_declarator" {
            inits.push(n);
        }
        true
    });
    for init in inits {
        let Some(d) = init.child_by_field_name("declarator") else { continue };
        let name = unit.source.text(innermost(d)).to_owned();
        let once = declared(unit, body, &name).is_some();
        // A loop's own variable changes by definition; so does what a lambda or pointer may reach, which is not followed.
        let in_loop = init.parent().and_then(|p| p.parent()).is_some_and(|p| p.kind() == "for_statement");
        let integer = init.parent().and_then(|p| p.child_by_field_name("type")).is_some_and(|t| {
            let t = unit.source.text(t);
            t == "auto" || (super::constant::type_size(t).is_some() && !matches!(t, "float" | "double" | "half"))
        });
        match init.child_by_field_name("value") {
            Some(value) if once && !in_loop && d.kind() == "identifier" && integer && !changed(unit, body, &name) => {
                let mut text = unit.source.flat(value);
                if matches!(value.kind(), "argument_list" | "initializer_list") {
                    text = text.trim_matches(['(', ')', '{', '}']).into();
                }
                bound.values.push((name, text));
            }
            _ => bound.hidden.push(name),
        }
    }
    bound
}

#[cfg(test)]
mod tests {
    use super::super::constant::eval;
    use super::super::syntax::Source;
    use super::*;

    #[test]
    fn launches_are_followed_to_their_extents() {
        let text = "template <int D> __global__ void k(float* a, int n) {}\n\
            void f(float* h, int n) { float* d; cudaMalloc((void**)&d, n * sizeof(float));\n\
            const int T = 16; int moving = 3; moving += 1; dim3 block(T, T); dim3 grid = dim3((n + T - 1) / T);\n\
            cudaMemcpy(d, h, n * 4, cudaMemcpyHostToDevice); cudaMemset(d, 0, 4);\n\
            k<64><<<grid, block, 2 * T * sizeof(float), stream>>>(d, n);\n\
            dim3 moved(1); moved.x = 2; k<8><<<moved, moving>>>(d, n);\n\
            cudaLaunchCooperativeKernel((void*)k<4>, 3, block, args, 0, 0); }\n";
        let source = Source::parse("a.cu", text).unwrap();
        let unit = Unit::read(&source);
        let host = Host::read(&unit);
        let [a, b, c] = host.launches.as_slice() else { panic!("{:?}", host.launches) };
        assert_eq!((a.kernel.as_str(), a.template_args.join(",").as_str()), ("k", "64"));
        assert_eq!(a.grid.as_ref().unwrap()[0], "(n + T - 1) / T");
        assert_eq!(a.block.as_ref().unwrap()[1], "T");
        assert_eq!(a.stream.as_deref(), Some("stream"));
        assert_eq!(b.grid, None, "a changed dim3 is not known");
        assert!(c.cooperative && c.args.is_none());
        let names = locals(&unit, a.function.and_then(|i| unit.functions.get(i)));
        assert_eq!(eval(a.shared.as_ref().unwrap(), &names), Some(128));
        assert_eq!(eval("moving", &names), None);
        let names: Vec<_> = host.memory.iter().map(|(_, m)| m.clone()).collect();
        assert_eq!(names[0], MemoryCall::Allocate { variable: "d".into(), bytes: "n * sizeof(float)".into() });
        assert!(matches!(&names[1], MemoryCall::Copy { direction: Direction::ToDevice, .. }));
        assert!(matches!(&names[2], MemoryCall::Set { value, .. } if value == "0"));
    }
}
