//! What a CUDA file defines: functions with their qualifiers and parameters, macros, constants, structures,
//! instantiations. Knows the tree; must not judge.

use indexmap::IndexMap;
use tree_sitter::Node;

use super::constant::{self, Names};
use super::lex;
use super::syntax::{Source, each, named, squeeze};

/// Where a function runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// `__global__`
    Kernel,
    /// `__device__`, alone or with `__host__`, or `constexpr`.
    Device,
    /// Anything else.
    Host,
}

/// A template parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateParam {
    /// Name; empty when unnamed.
    pub name: String,
    /// `typename T` (as opposed to a value).
    pub is_type: bool,
    /// Declared type of a value parameter.
    pub ty: String,
    /// Default, as written.
    pub default: Option<String>,
}

/// A function parameter.
#[expect(clippy::struct_excessive_bools, reason = "independent facts of the text")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamDecl {
    /// Name; empty when unnamed.
    pub name: String,
    /// Base type as written, without `const`, `*` and the like.
    pub ty: String,
    /// Number of `*` (arrays count as one).
    pub pointers: u32,
    /// A reference.
    pub reference: bool,
    /// The pointee is `const`.
    pub is_const: bool,
    /// `__restrict__`
    pub restrict: bool,
    /// `volatile`
    pub volatile: bool,
    /// First byte.
    pub at: usize,
}

/// A function definition or declaration.
#[derive(Clone, Debug)]
pub struct Function<'t> {
    /// Unqualified name.
    pub name: String,
    /// Enclosing class, for methods.
    pub class: Option<String>,
    /// Where it runs.
    pub space: Space,
    /// Template parameters, in order.
    pub template: Vec<TemplateParam>,
    /// Parameters, in order.
    pub params: Vec<ParamDecl>,
    /// Type it returns, as written.
    pub returns: String,
    /// Arguments of `__launch_bounds__`, as written.
    pub launch_bounds: Vec<String>,
    /// The whole definition, from its qualifiers (or `template`) on.
    pub node: Node<'t>,
    /// Body; `None` for a declaration.
    pub body: Option<Node<'t>>,
}

/// A macro.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Macro {
    /// Parameters of a function-like macro.
    pub params: Option<Vec<String>>,
    /// Replacement, continuation lines joined.
    pub body: String,
    /// First byte.
    pub at: usize,
}

/// A variable at namespace scope.
#[derive(Clone, Debug)]
pub struct Global<'t> {
    /// Name.
    pub name: String,
    /// Qualifiers that CUDA knows: `__constant__`, `__device__`, `__shared__`, `__managed__`.
    pub qualifiers: Vec<String>,
    /// Base type.
    pub ty: String,
    /// Array extents, as written.
    pub extents: Vec<String>,
    /// The declaration.
    pub node: Node<'t>,
}

/// One file, read.
pub struct Unit<'t> {
    /// The text and its tree.
    pub source: &'t Source,
    /// Functions in file order.
    pub functions: Vec<Function<'t>>,
    /// Macros; where one is defined more than once its value is not known.
    pub macros: IndexMap<String, Vec<Macro>>,
    /// Initialisers of constants at namespace or class scope, by name.
    pub constants: IndexMap<String, Vec<String>>,
    /// Type aliases by name.
    pub aliases: IndexMap<String, String>,
    /// Sizes of structures whose fields are all known.
    pub structs: IndexMap<String, i64>,
    /// Template arguments seen per function name: explicit instantiations and calls.
    pub instances: IndexMap<String, Vec<Vec<String>>>,
    /// Variables with CUDA qualifiers.
    pub globals: Vec<Global<'t>>,
    /// Included files as written, with their quotes or brackets.
    pub includes: Vec<(String, usize)>,
}

impl<'t> Unit<'t> {
    /// Reads a parsed file.
    pub fn read(source: &'t Source) -> Self {
        let mut unit = Self {
            source,
            functions: Vec::new(),
            macros: IndexMap::new(),
            constants: IndexMap::new(),
            aliases: IndexMap::new(),
            structs: IndexMap::new(),
            instances: IndexMap::new(),
            globals: Vec::new(),
            includes: Vec::new(),
        };
        unit.scope(source.root(), None);
        unit.calls_with_arguments();
        unit
    }

    /// Kernels with a body, in file order.
    pub fn kernels(&self) -> impl Iterator<Item = &Function<'t>> {
        self.functions.iter().filter(|f| f.space == Space::Kernel && f.body.is_some())
    }

    /// The device function (or kernel) with this name that has a body.
    pub fn device(&self, name: &str) -> Option<&Function<'t>> {
        self.functions.iter().find(|f| f.name == name && f.space != Space::Host && f.body.is_some())
    }

    /// Device functions that `f` can reach through calls, itself first, each once.
    pub fn reachable<'a>(&'a self, f: &'a Function<'t>) -> Vec<&'a Function<'t>> {
        let mut found: Vec<&Function<'t>> = vec![f];
        let mut next = 0;
        while let Some(g) = found.get(next).copied() {
            next += 1;
            let Some(body) = g.body else { continue };
            for token in self.source.tokens_in(body.byte_range()) {
                if token.kind != lex::Kind::Ident {
                    continue;
                }
                let name = token.text(&self.source.text);
                for callee in self.functions.iter().filter(|h| h.name == name && h.space == Space::Device) {
                    if callee.body.is_some() && !found.iter().any(|k| std::ptr::eq(*k, callee)) {
                        found.push(callee);
                    }
                }
            }
        }
        found
    }

    fn scope(&mut self, node: Node<'t>, class: Option<&str>) {
        for child in named(node) {
            self.item(child, child, &[], class);
        }
    }

    /// One declaration; `whole` includes the `template` line.
    fn item(&mut self, node: Node<'t>, whole: Node<'t>, template: &[TemplateParam], class: Option<&str>) {
        match node.kind() {
            "preproc_include" => {
                if let Some(path) = node.child_by_field_name("path") {
                    self.includes.push((self.source.text(path).to_owned(), node.start_byte()));
                }
            }
            "preproc_def" | "preproc_function_def" => self.macro_definition(node),
            "preproc_if"
            | "preproc_ifdef"
            | "preproc_else"
            | "preproc_elif"
            | "namespace_definition"
            | "linkage_specification"
            | "declaration_list"
            | "ERROR"
            | "field_declaration_list" => {
                for child in named(node) {
                    self.item(child, child, &[], class);
                }
            }
            "template_declaration" => {
                let params =
                    node.child_by_field_name("parameters").map(|p| self.template_params(p)).unwrap_or_default();
                for child in named(node) {
                    if child.kind() != "template_parameter_list" {
                        self.item(child, whole, &params, class);
                    }
                }
            }
            "template_instantiation" => self.instantiation(node),
            "function_definition" => self.function(node, whole, template, class),
            "declaration" | "field_declaration" => self.declaration(node, whole, template, class),
            "type_definition" | "alias_declaration" => self.alias(node),
            "struct_specifier" | "class_specifier" | "union_specifier" => self.structure(node, template),
            "enum_specifier" => self.enumeration(node),
            _ => {}
        }
    }

    fn macro_definition(&mut self, node: Node<'t>) {
        let Some(name) = node.child_by_field_name("name") else { return };
        let body = node.child_by_field_name("value").map_or("", |v| self.source.text(v)).replace("\\\n", " ");
        // The grammar keeps a comment that ends the line.
        let end = lex::tokens(&body).last().map_or(0, |t| t.range.end);
        let body = body.get(..end).unwrap_or("").trim().to_owned();
        let params = node.child_by_field_name("parameters").map(|p| {
            let inner = self.source.text(p).trim_matches(['(', ')']);
            inner.split(',').map(|s| s.trim().to_owned()).filter(|s| !s.is_empty()).collect()
        });
        let found = Macro { params, body, at: node.start_byte() };
        self.macros.entry(self.source.text(name).to_owned()).or_default().push(found);
    }

    fn template_params(&self, list: Node<'t>) -> Vec<TemplateParam> {
        let text = |n: Option<Node<'t>>| n.map(|n| self.source.flat(n));
        named(list)
            .into_iter()
            .map(|p| {
                let is_type = p.kind().contains("type_parameter") || p.kind().starts_with("template_template");
                let name = if is_type {
                    p.child_by_field_name("name")
                        .or_else(|| named(p).into_iter().find(|n| n.kind() == "type_identifier"))
                } else {
                    p.child_by_field_name("declarator").map(innermost)
                };
                TemplateParam {
                    name: text(name).unwrap_or_default(),
                    is_type,
                    ty: text(p.child_by_field_name("type")).unwrap_or_default(),
                    default: text(
                        p.child_by_field_name("default_value").or_else(|| p.child_by_field_name("default_type")),
                    ),
                }
            })
            .collect()
    }

    fn function(&mut self, node: Node<'t>, whole: Node<'t>, template: &[TemplateParam], class: Option<&str>) {
        let Some(declarator) = node.child_by_field_name("declarator").and_then(function_declarator) else { return };
        let body = node.child_by_field_name("body");
        // `template <> f<int>(…)` names a template function; its plain name counts.
        let name = declarator.child_by_field_name("declarator").map(|d| plain_name(self.source, d)).unwrap_or_default();
        let head_end = declarator.start_byte();
        let head = self.source.tokens_in(node.start_byte()..head_end.max(node.start_byte()));
        let has = |w: &str| head.iter().any(|t| t.text(&self.source.text) == w);
        let space = if has("__global__") {
            Space::Kernel
        } else if has("__device__") || has("constexpr") {
            Space::Device
        } else {
            Space::Host
        };
        let bounds = named(node).into_iter().chain(named(whole)).find(|n| n.kind() == "launch_bounds");
        let mut launch_bounds: Vec<String> = Vec::new();
        if let Some(bounds) = bounds {
            let tokens = self.source.tokens_in(bounds.byte_range());
            if let Some((args, _)) = constant::arguments(&self.source.text, tokens, 1) {
                launch_bounds = args.iter().map(|a| squeeze(a)).collect();
            }
        }
        let params = declarator
            .child_by_field_name("parameters")
            .map(|list| {
                named(list)
                    .into_iter()
                    .filter(|p| p.kind().contains("parameter_declaration"))
                    .map(|p| self.param(p))
                    .filter(|p| !(p.ty == "void" && p.pointers == 0))
                    .collect()
            })
            .unwrap_or_default();
        let returns = node.child_by_field_name("type").map(|t| self.source.flat(t)).unwrap_or_default();
        self.functions.push(Function {
            name,
            class: class.map(str::to_owned),
            space,
            template: template.to_vec(),
            params,
            returns,
            launch_bounds,
            node: whole,
            body,
        });
    }

    fn param(&self, node: Node<'t>) -> ParamDecl {
        let declarator = node.child_by_field_name("declarator");
        let mut pointers = 0;
        let mut reference = false;
        let mut name = String::new();
        if let Some(d) = declarator {
            each(d, &mut |n| {
                match n.kind() {
                    "pointer_declarator"
                    | "abstract_pointer_declarator"
                    | "array_declarator"
                    | "abstract_array_declarator" => pointers += 1,
                    "reference_declarator" | "abstract_reference_declarator" => reference = true,
                    "identifier" if name.is_empty() => self.source.text(n).clone_into(&mut name),
                    _ => {}
                }
                !matches!(n.kind(), "parameter_list")
            });
        }
        let tokens = self.source.tokens_in(node.byte_range());
        let has = |words: &[&str]| tokens.iter().any(|t| words.contains(&t.text(&self.source.text)));
        ParamDecl {
            name,
            ty: node.child_by_field_name("type").map(|t| self.source.flat(t)).unwrap_or_default(),
            pointers,
            reference,
            is_const: has(&["const"]),
            restrict: has(&["__restrict__", "__restrict", "restrict"]),
            volatile: has(&["volatile"]),
            at: node.start_byte(),
        }
    }

    fn declaration(&mut self, node: Node<'t>, whole: Node<'t>, template: &[TemplateParam], class: Option<&str>) {
        if let Some(ty) = node.child_by_field_name("type") {
            self.item(ty, ty, &[], class);
        }
        let mut cursor = node.walk();
        let declarators: Vec<_> = node.children_by_field_name("declarator", &mut cursor).collect();
        if declarators.iter().any(|d| function_declarator(*d).is_some()) {
            self.function(node, whole, template, class);
            return;
        }
        let tokens = self.source.tokens_in(node.byte_range());
        let words: Vec<&str> = tokens.iter().map(|t| t.text(&self.source.text)).collect();
        let fixed = words.iter().any(|w| matches!(*w, "constexpr" | "const"));
        let cuda = ["__constant__", "__device__", "__shared__", "__managed__"];
        let qualifiers: Vec<String> = words.iter().filter(|w| cuda.contains(w)).map(|w| (*w).to_owned()).collect();
        let ty = node.child_by_field_name("type").map(|t| self.source.flat(t)).unwrap_or_default();
        for d in declarators {
            let name = self.source.text(innermost(d)).to_owned();
            if !qualifiers.is_empty() {
                let extents = extents(self.source, d);
                let ty = ty.clone();
                self.globals.push(Global { name: name.clone(), qualifiers: qualifiers.clone(), ty, extents, node });
            }
            let value = d.child_by_field_name("value").or_else(|| node.child_by_field_name("default_value"));
            if let (true, Some(value)) = (fixed, value) {
                self.constants.entry(name).or_default().push(self.source.flat(value));
            }
        }
    }

    fn alias(&mut self, node: Node<'t>) {
        if let Some(ty) = node.child_by_field_name("type") {
            self.item(ty, ty, &[], None);
            let name = node.child_by_field_name("declarator").or_else(|| node.child_by_field_name("name"));
            if let Some(name) = name.filter(|n| n.kind() == "type_identifier") {
                self.aliases.insert(self.source.text(name).to_owned(), self.source.flat(ty));
            }
        }
    }

    fn structure(&mut self, node: Node<'t>, template: &[TemplateParam]) {
        let name = node.child_by_field_name("name").map(|n| self.source.flat(n)).unwrap_or_default();
        let Some(body) = node.child_by_field_name("body") else { return };
        for child in named(body) {
            self.item(child, child, template, Some(&name));
        }
        if template.is_empty()
            && let Some(size) = self.structure_size(body)
        {
            self.structs.insert(name, size);
        }
    }

    /// Size of a structure of plain fields, with the usual padding.
    fn structure_size(&self, body: Node<'t>) -> Option<i64> {
        let mut size = 0i64;
        let mut align = 1i64;
        for field in named(body).into_iter().filter(|n| n.kind() == "field_declaration") {
            let tokens = self.source.tokens_in(field.byte_range());
            if tokens.iter().any(|t| matches!(t.text(&self.source.text), "static" | "(" | ":" | "alignas")) {
                return None;
            }
            let ty = self.source.flat(field.child_by_field_name("type")?);
            let mut cursor = field.walk();
            for d in field.children_by_field_name("declarator", &mut cursor) {
                let pointer = d.kind() == "pointer_declarator";
                let element = if pointer { 8 } else { constant::type_size(&ty)? };
                // Vector types of CUDA align to their size, except those of three, which align to one element.
                let natural = if ty.ends_with('3') { element / 3 } else { element.min(16) };
                let mut count = 1i64;
                for extent in extents(self.source, d) {
                    count = count.checked_mul(constant::eval(&extent, self)?)?;
                }
                align = align.max(natural);
                size = size.checked_add(natural - 1)? / natural * natural + element.checked_mul(count)?;
            }
        }
        (size > 0).then(|| (size + align - 1) / align * align)
    }

    fn enumeration(&mut self, node: Node<'t>) {
        let Some(body) = node.child_by_field_name("body") else { return };
        let mut last: Option<String> = None;
        for e in named(body).into_iter().filter(|n| n.kind() == "enumerator") {
            let Some(name) = e.child_by_field_name("name") else { continue };
            let value = match (e.child_by_field_name("value"), &last) {
                (Some(v), _) => self.source.flat(v),
                (None, Some(last)) => format!("({last}) + 1"),
                (None, None) => "0".to_owned(),
            };
            self.constants.entry(self.source.text(name).to_owned()).or_default().push(value.clone());
            last = Some(value);
        }
    }

    fn instantiation(&mut self, node: Node<'t>) {
        let mut found = None;
        each(node, &mut |n| {
            if n.kind() == "template_function" && found.is_none() {
                found = Some(n);
            }
            found.is_none()
        });
        if let Some(f) = found {
            self.instance(f);
        }
    }

    fn instance(&mut self, f: Node<'t>) {
        let (Some(name), Some(args)) = (f.child_by_field_name("name"), f.child_by_field_name("arguments")) else {
            return;
        };
        let args = template_arguments(self.source, args);
        let list = self.instances.entry(self.source.text(name).to_owned()).or_default();
        if !list.contains(&args) {
            list.push(args);
        }
    }

    /// Template arguments at calls, launches and where a function's address is taken.
    fn calls_with_arguments(&mut self) {
        let mut found = Vec::new();
        each(self.source.root(), &mut |n| {
            if n.kind() == "template_function" {
                found.push(n);
            }
            true
        });
        for f in found {
            self.instance(f);
        }
    }
}

impl Names for Unit<'_> {
    fn macro_body(&self, name: &str) -> Option<(Option<Vec<String>>, String)> {
        match self.macros.get(name)?.as_slice() {
            [one] if !one.body.is_empty() => Some((one.params.clone(), one.body.clone())),
            [first, rest @ ..] if !first.body.is_empty() && rest.iter().all(|m| m.body == first.body) => {
                Some((first.params.clone(), first.body.clone()))
            }
            _ => None,
        }
    }

    fn value(&self, name: &str) -> Option<String> {
        if let Some(alias) = self.aliases.get(name) {
            return Some(alias.clone());
        }
        match self.constants.get(name)?.as_slice() {
            [one] => Some(one.clone()),
            _ => None,
        }
    }

    fn function(&self, name: &str) -> Option<(Vec<String>, String)> {
        let mut all = self.functions.iter().filter(|f| f.name == name && f.body.is_some());
        let f = all.next()?;
        if all.next().is_some() {
            return None;
        }
        let statements = named(f.body?);
        let [only] = statements.as_slice() else { return None };
        if only.kind() != "return_statement" {
            return None;
        }
        let value = named(*only).into_iter().next()?;
        Some((f.params.iter().map(|p| p.name.clone()).collect(), self.source.flat(value)))
    }

    fn size_of(&self, ty: &str) -> Option<i64> {
        self.structs.get(ty).copied()
    }
}

/// Names of a function on top of those of the file: template parameters with given arguments.
pub struct Bound<'a> {
    /// The file.
    pub outer: &'a dyn Names,
    /// Template parameter or local constant, and its text.
    pub values: Vec<(String, String)>,
    /// Names that a local declaration hides.
    pub hidden: Vec<String>,
}

impl Names for Bound<'_> {
    fn macro_body(&self, name: &str) -> Option<(Option<Vec<String>>, String)> {
        self.outer.macro_body(name)
    }

    fn value(&self, name: &str) -> Option<String> {
        if let Some((_, v)) = self.values.iter().find(|(n, _)| n == name) {
            return Some(v.clone());
        }
        if self.hidden.iter().any(|h| h == name) { None } else { self.outer.value(name) }
    }

    fn function(&self, name: &str) -> Option<(Vec<String>, String)> {
        self.outer.function(name)
    }

    fn size_of(&self, ty: &str) -> Option<i64> {
        self.outer.size_of(ty)
    }
}

/// Texts of template arguments.
pub fn template_arguments(source: &Source, list: Node<'_>) -> Vec<String> {
    named(list).into_iter().map(|a| source.flat(a)).collect()
}

/// The identifier inside a declarator.
pub fn innermost(node: Node<'_>) -> Node<'_> {
    let mut at = node;
    while let Some(next) = at.child_by_field_name("declarator").or_else(|| {
        matches!(at.kind(), "parenthesized_declarator" | "reference_declarator" | "attributed_declarator")
            .then(|| named(at).into_iter().next_back())
            .flatten()
    }) {
        at = next;
    }
    at
}

/// Extents of an array declarator, outermost first.
pub fn extents(source: &Source, declarator: Node<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = Some(declarator);
    while let Some(node) = at {
        if node.kind() == "array_declarator" {
            found.push(node.child_by_field_name("size").map(|s| source.flat(s)).unwrap_or_default());
        }
        at = node.child_by_field_name("declarator");
    }
    found.reverse();
    found
}

fn function_declarator(node: Node<'_>) -> Option<Node<'_>> {
    let mut at = node;
    loop {
        match at.kind() {
            "function_declarator" => return Some(at),
            "pointer_declarator" | "init_declarator" => at = at.child_by_field_name("declarator")?,
            "reference_declarator" => at = named(at).into_iter().next_back()?,
            _ => return None,
        }
    }
}

fn plain_name(source: &Source, node: Node<'_>) -> String {
    match node.kind() {
        "template_function" | "qualified_identifier" => {
            node.child_by_field_name("name").map(|n| plain_name(source, n)).unwrap_or_default()
        }
        _ => source.text(node).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "#include <cuda_fp16.h>\n#define W 4 // four\n#define CEIL(a, b) (((a) + (b) - 1) / (b))\n\
        constexpr int T = W * 32;\nstruct Best { float v; int i; };\nenum E { A = 2, B };\n\
        inline int cdiv(int a, int b) { return (a + b - 1) / b; }\n\
        namespace n { template <typename X, int D = 4> __global__ void __launch_bounds__(T, 2)\n\
        k(const X* __restrict__ a, volatile float* b, int m) { a[0]; g(b); }\n\
        __device__ void g(float* p) { h(p); } __device__ float* h(float* p) { return p; } }\n\
        template __global__ void n::k<half, 8>(const half*, float*, int);\n\
        void host() { n::k<float><<<1, 2>>>(a, b, 3); }\n__constant__ float c[W][2];\n";

    #[test]
    fn everything_a_file_defines_is_found() {
        let source = Source::parse("a.cu", TEXT).unwrap();
        let unit = Unit::read(&source);
        let k = unit.kernels().next().unwrap();
        assert_eq!((k.name.as_str(), k.launch_bounds.join(",").as_str()), ("k", "T,2"));
        assert_eq!(k.template.len(), 2);
        assert_eq!(k.template[1].default.as_deref(), Some("4"));
        let p: Vec<_> = k.params.iter().map(|p| (p.name.as_str(), p.ty.as_str(), p.pointers, p.is_const)).collect();
        assert_eq!(p, [("a", "X", 1, true), ("b", "float", 1, false), ("m", "int", 0, false)]);
        assert!(k.params[0].restrict && k.params[1].volatile);
        let reach: Vec<_> = unit.reachable(k).iter().map(|f| f.name.clone()).collect();
        assert_eq!(reach, ["k", "g", "h"]);
        assert_eq!(unit.instances["k"], [vec!["half", "8"], vec!["float"]]);
        assert_eq!(constant::eval("T + B + sizeof(Best) + cdiv(9, 8) + CEIL(9, 8)", &unit), Some(128 + 3 + 8 + 4));
        assert_eq!(unit.globals[0].extents, ["W", "2"]);
        assert_eq!(unit.includes[0].0, "<cuda_fp16.h>");
    }
}
