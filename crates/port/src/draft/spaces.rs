//! Where pointers point: CUDA leaves that to the machine, Metal wants it in every declaration. Follows parameters,
//! arrays and initialisers from the kernel into the functions it calls. Must not guess: what it cannot follow stays
//! unknown.

use indexmap::IndexMap;
use tree_sitter::Node;

use crate::cuda::syntax::{Source, each, named};
use crate::cuda::unit::{Function, Unit, innermost};

/// A memory space of Metal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// `device`
    Device,
    /// `threadgroup`
    Threadgroup,
    /// `thread`
    Thread,
    /// `constant`
    Constant,
}

impl Memory {
    /// The qualifier.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Threadgroup => "threadgroup",
            Self::Thread => "thread",
            Self::Constant => "constant",
        }
    }
}

/// Spaces by variable, of one function. `None` where two things disagree.
pub type Variables = IndexMap<String, Option<Memory>>;

/// What is known of the functions that a kernel reaches.
#[derive(Debug, Default)]
pub struct Spaces {
    /// By function name.
    pub functions: IndexMap<String, Variables>,
}

impl Spaces {
    /// Follows pointers through `reachable`, whose first function is the kernel.
    pub fn of(unit: &Unit<'_>, reachable: &[&Function<'_>]) -> Self {
        let mut spaces = Self::default();
        for f in reachable {
            let mut known = Variables::default();
            for g in &unit.globals {
                if g.qualifiers.iter().any(|q| q == "__shared__") {
                    known.insert(g.name.clone(), Some(Memory::Threadgroup));
                } else if g.qualifiers.iter().any(|q| q == "__constant__") {
                    known.insert(g.name.clone(), Some(Memory::Constant));
                }
            }
            spaces.functions.insert(f.name.clone(), known);
        }
        if let Some(kernel) = reachable.first() {
            for p in kernel.params.iter().filter(|p| p.pointers > 0) {
                spaces.meet(&kernel.name, &p.name, Memory::Device);
            }
        }
        // A space moves one call further in each round.
        for _ in 0..=reachable.len() {
            for f in reachable {
                spaces.locals(unit.source, f);
                spaces.calls(unit, f, reachable);
            }
        }
        spaces
    }

    /// Space of a variable of a function.
    pub fn get(&self, function: &str, variable: &str) -> Option<Memory> {
        *self.functions.get(function)?.get(variable)?
    }

    fn meet(&mut self, function: &str, variable: &str, space: Memory) {
        let Some(known) = self.functions.get_mut(function) else { return };
        match known.get(variable) {
            None => {
                known.insert(variable.to_owned(), Some(space));
            }
            Some(Some(old)) if *old != space => {
                known.insert(variable.to_owned(), None);
            }
            Some(_) => {}
        }
    }

    fn locals(&mut self, source: &Source, f: &Function<'_>) {
        let Some(body) = f.body else { return };
        each(body, &mut |n| {
            if n.kind() != "declaration" {
                return true;
            }
            let tokens = source.tokens_in(n.byte_range());
            let shared = tokens.iter().any(|t| t.text(&source.text) == "__shared__");
            let mut cursor = n.walk();
            let declarators: Vec<Node<'_>> = n.children_by_field_name("declarator", &mut cursor).collect();
            for d in declarators {
                let name = source.text(innermost(d)).to_owned();
                let pointer = declares_pointer(d);
                let space = if shared {
                    Some(Memory::Threadgroup)
                } else if pointer {
                    d.child_by_field_name("value").and_then(|v| self.of_expression(source, f, v))
                } else {
                    Some(Memory::Thread)
                };
                if let Some(space) = space {
                    self.meet(&f.name, &name, space);
                }
            }
            true
        });
        for p in f.params.iter().filter(|p| p.pointers == 0 && !p.reference) {
            self.meet(&f.name, &p.name, Memory::Thread);
        }
    }

    fn calls(&mut self, unit: &Unit<'_>, f: &Function<'_>, reachable: &[&Function<'_>]) {
        let Some(body) = f.body else { return };
        each(body, &mut |n| {
            if n.kind() == "call_expression"
                && let (Some(callee), Some(list)) = (callee(unit.source, n), n.child_by_field_name("arguments"))
                && let Some(g) = reachable.iter().find(|g| g.name == callee)
            {
                for (p, argument) in g.params.iter().zip(named(list)) {
                    if (p.pointers > 0 || p.reference)
                        && let Some(space) = self.of_expression(unit.source, f, argument)
                    {
                        self.meet(&g.name, &p.name, space);
                    }
                }
            }
            true
        });
    }

    /// Space of what an expression points to or names: that of the first variable in it whose space is known.
    pub fn of_expression(&self, source: &Source, f: &Function<'_>, e: Node<'_>) -> Option<Memory> {
        let mut found = None;
        each(e, &mut |n| {
            if found.is_some() {
                return false;
            }
            match n.kind() {
                "identifier" => {
                    found = self.get(&f.name, source.text(n));
                    false
                }
                // An index says nothing about what it indexes.
                "subscript_expression" => {
                    if let Some(base) = n.child_by_field_name("argument") {
                        found = self.of_expression(source, f, base);
                    }
                    false
                }
                "template_argument_list" | "type_descriptor" => false,
                "conditional_expression" => {
                    found = ["consequence", "alternative"]
                        .iter()
                        .filter_map(|field| n.child_by_field_name(field))
                        .find_map(|side| self.of_expression(source, f, side));
                    false
                }
                _ => true,
            }
        });
        found
    }
}

/// Does this declarator make a pointer or a reference?
pub fn declares_pointer(declarator: Node<'_>) -> bool {
    let mut found = false;
    each(declarator, &mut |n| {
        match n.kind() {
            "pointer_declarator" | "reference_declarator" => found = true,
            // What follows is the value.
            "init_declarator" | "array_declarator" | "identifier" => {}
            _ => return false,
        }
        !found && n.kind() != "identifier"
    });
    found
}

/// Unqualified name of what a call calls.
pub fn callee<'s>(source: &'s Source, call: Node<'_>) -> Option<&'s str> {
    let mut f = call.child_by_field_name("function")?;
    loop {
        f = match f.kind() {
            "identifier" => return Some(source.text(f)),
            "template_function" | "qualified_identifier" => f.child_by_field_name("name")?,
            _ => return None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_follow_initialisers_and_calls() {
        let text = "__device__ float first(const float* p, float& into) { into = p[0]; return *p; }\n\
                    __global__ void k(const float* x, float* y, int n) {\n\
                    __shared__ float tile[32];\n float own[4]; const float* row = x + n * 3;\n float* t = &tile[n];\n\
                    first(t, own[1]); first(tile, own[0]); float z = row[0]; }\n";
        let source = Source::parse("k.cu", text).unwrap();
        let unit = Unit::read(&source);
        let kernel = unit.kernels().next().unwrap();
        let reachable = unit.reachable(kernel);
        let s = Spaces::of(&unit, &reachable);
        for (f, v, want) in [
            ("k", "x", Memory::Device),
            ("k", "row", Memory::Device),
            ("k", "t", Memory::Threadgroup),
            ("k", "own", Memory::Thread),
            ("k", "z", Memory::Thread),
            ("first", "p", Memory::Threadgroup),
            ("first", "into", Memory::Thread),
        ] {
            assert_eq!(s.get(f, v), Some(want), "{f} {v}");
        }
    }

    #[test]
    fn what_disagrees_is_unknown() {
        let text = "__device__ float first(const float* p) { return *p; }\n\
                    __global__ void k(const float* x) { __shared__ float t[2]; first(x); first(t); }\n";
        let source = Source::parse("k.cu", text).unwrap();
        let unit = Unit::read(&source);
        let kernel = unit.kernels().next().unwrap();
        let s = Spaces::of(&unit, &unit.reachable(kernel));
        assert_eq!(s.get("first", "p"), None);
    }
}
