//! Copies out of `constant` memory. C++ for OpenCL gives records no constructor or assignment that takes a `__constant`
//! source, so every record is given both. Records stay aggregates and trivially copyable: the constructors are defaulted.

use std::fmt::Write;

use super::scan::{Outline, Record};
use super::unit::Unit;

/// A copy has no debug location of its own: it happens where the user copies.
const QUIET: &str = "__attribute__((nodebug))";

/// Asks for the constructors.
pub fn add_copies(unit: &mut Unit, outline: &Outline) {
    for (n, record) in outline.records.iter().enumerate() {
        add(unit, record, n);
    }
}

fn add(u: &mut Unit, record: &Record, n: usize) {
    let (open, close) = record.body;
    let name = if let Some(name) = &record.name {
        name.clone()
    } else {
        // `typedef struct { .. } Name;` may carry the name in both places; a record without any other name that
        // declares a member must stay anonymous.
        let typedef = u.prev(record.keyword_at).is_some_and(|p| u.is_ident(p, "typedef"));
        let alias = u.next(close);
        if let Some(alias) = u.ident(alias).filter(|_| typedef) {
            let name = alias.to_owned();
            u.insert_after(record.keyword_at, format!(" {name}"));
            name
        } else {
            if u.is(alias, ";") {
                return;
            }
            let name = format!("ks_unnamed_{n}");
            u.insert_after(record.keyword_at, format!(" {name}"));
            name
        }
    };
    let copies: Vec<&(usize, usize)> = record
        .constructors
        .iter()
        .filter(|(a, b)| {
            u.split(a + 1, *b).len() == 1 && (*a..*b).any(|i| u.is_ident(i, &name)) && (*a..*b).any(|i| u.is(i, "&"))
        })
        .collect();
    let from_constant = copies.iter().any(|(a, b)| (*a..*b).any(|i| u.is_ident(i, "constant")));
    let mut text = String::new();
    if record.constructors.is_empty() {
        let _ = write!(text, "{name}() = default; ");
    }
    if copies.is_empty() {
        let _ = write!(text, "{QUIET} {name}(const {name}&) = default; ");
    }
    if !from_constant {
        let _ = write!(text, "{QUIET} {name}(const __constant {name}&) = default; ");
        // Objects in `constant` memory, made from others there or from a value.
        let _ = write!(text, "{QUIET} {name}(const __constant {name}&) __constant = default; ");
        let _ = write!(text, "{QUIET} {name}(const {name}&) __constant = default; ");
    }
    // A template, so that a converted value does not fit it; a local record can have none.
    if !record.assigns && !record.local {
        let _ = write!(
            text,
            "template <class Q, typename __ks_same<Q, {name}>::type = 0> {QUIET} {name}& operator=(const __constant Q& o) \
             {{ return *this = Q(o); }}"
        );
    }
    let text = if record.keyword == "class" { format!(" public: {text} private:") } else { format!(" {text}") };
    u.insert_after(open, text);
}
