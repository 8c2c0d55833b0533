//! Which concepts of the knowledge base a text uses, found by the words that each lists. Must not know any concept.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;

use super::Use;
use crate::cuda::lex::{self, Kind, Token};
use crate::cuda::syntax::each;
use crate::cuda::unit::{Function, Space, Unit, innermost};
use crate::knowledge::{Detect, Entry, Knowledge, Support, Topic};

/// Uses of a kernel and the device functions it reaches.
pub fn of_kernel(unit: &Unit<'_>, reachable: &[&Function<'_>], knowledge: &Knowledge) -> Vec<Use> {
    let mut counter = Counter::new(unit, knowledge);
    for f in reachable {
        counter.declared = declared(unit, f);
        counter.tokens(unit.source.tokens_in(f.node.byte_range()), &unit.source.text, None, 0);
    }
    counter.finish()
}

/// Uses of host code: launches, streams and libraries.
pub fn of_host(unit: &Unit<'_>, knowledge: &Knowledge) -> Vec<Use> {
    let mut counter = Counter::with(unit, knowledge, |e| matches!(e.topic, Topic::Launch | Topic::Library));
    for f in unit.functions.iter().filter(|f| f.space == Space::Host) {
        counter.declared = declared(unit, f);
        counter.tokens(unit.source.tokens_in(f.node.byte_range()), &unit.source.text, None, 0);
    }
    for (include, at) in &unit.includes {
        let matches = |d: &Detect| d.headers.iter().any(|h| include.starts_with(h.as_str()));
        for entry in knowledge.iter().filter(|e| e.topic == Topic::Library && matches(&e.detect)) {
            counter.count(entry, include, *at);
        }
    }
    counter.finish()
}

/// Names of variables and parameters: a variable called `half` is no use of the type.
fn declared(unit: &Unit<'_>, f: &Function<'_>) -> HashSet<String> {
    let mut names = HashSet::new();
    each(f.node, &mut |n| {
        if matches!(n.kind(), "declaration" | "parameter_declaration" | "optional_parameter_declaration") {
            let mut cursor = n.walk();
            for d in n.children_by_field_name("declarator", &mut cursor) {
                let inner = innermost(d);
                if inner.kind() == "identifier" {
                    names.insert(unit.source.text(inner).to_owned());
                }
            }
        }
        true
    });
    names
}

struct Counter<'u, 'k> {
    unit: &'u Unit<'u>,
    knowledge: &'k Knowledge,
    /// Entries by a word that names them outright.
    exact: HashMap<&'k str, Vec<&'k Entry>>,
    /// Entries with patterns, or with words to find in assembly.
    others: Vec<&'k Entry>,
    declared: HashSet<String>,
    found: IndexMap<&'k str, (&'k Entry, Vec<String>, usize, usize)>,
}

impl<'u, 'k> Counter<'u, 'k> {
    fn new(unit: &'u Unit<'u>, knowledge: &'k Knowledge) -> Self {
        Self::with(unit, knowledge, |_| true)
    }

    /// Looks for the entries that `wanted` lets through.
    fn with(unit: &'u Unit<'u>, knowledge: &'k Knowledge, wanted: impl Fn(&Entry) -> bool) -> Self {
        let mut exact: HashMap<&str, Vec<&Entry>> = HashMap::new();
        let mut others = Vec::new();
        for e in knowledge.iter().filter(|e| !e.detect.is_empty() && wanted(e)) {
            let plain = |n: &&String| !n.starts_with('.') && !n.ends_with(['*', ':']);
            for n in e.detect.names.iter().filter(plain) {
                exact.entry(n).or_default().push(e);
            }
            if !e.detect.ptx.is_empty() || e.detect.names.iter().any(|n| !plain(&n)) {
                others.push(e);
            }
        }
        Self { unit, knowledge, exact, others, declared: HashSet::new(), found: IndexMap::new() }
    }

    fn count(&mut self, entry: &'k Entry, word: &str, at: usize) {
        let slot = self.found.entry(&entry.id).or_insert_with(|| (entry, Vec::new(), 0, at));
        if !slot.1.iter().any(|w| w == word) {
            slot.1.push(word.to_owned());
        }
        slot.2 += 1;
        slot.3 = slot.3.min(at);
    }

    /// Counts words; `place` is where a macro that is looked into was used.
    fn tokens(&mut self, tokens: &[Token], text: &str, place: Option<usize>, depth: u32) {
        for (i, t) in tokens.iter().enumerate() {
            let at = place.unwrap_or(t.range.start);
            let word = t.text(text);
            match t.kind {
                Kind::Ident if self.declared.contains(word) => {}
                Kind::Ident => {
                    let before = i.checked_sub(1).and_then(|j| tokens.get(j)).map_or("", |p| p.text(text));
                    let after = tokens.get(i + 1).map_or("", |n| n.text(text));
                    // Sized by the launch or not: the word before tells.
                    let word = if word == "__shared__" && before == "extern" { "extern __shared__" } else { word };
                    let mut hits = self.exact.get(word).cloned().unwrap_or_default();
                    if matches!(before, "." | "->") {
                        hits.clear();
                    }
                    hits.extend(
                        self.others
                            .iter()
                            .filter(|e| e.detect.names.iter().any(|n| n != word && named(n, word, before, after))),
                    );
                    for entry in hits {
                        self.count(entry, word, at);
                    }
                    if depth < 4 && before != "." && before != "->" {
                        for m in self.unit.macros.get(word).into_iter().flatten() {
                            let body = m.body.clone();
                            self.tokens(&lex::tokens(&body), &body, Some(at), depth + 1);
                        }
                    }
                }
                Kind::Str => {
                    for entry in self.others.clone() {
                        for ptx in &entry.detect.ptx {
                            if instructions(word).any(|line| line.starts_with(ptx.as_str())) {
                                self.count(entry, ptx, at);
                            }
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn finish(self) -> Vec<Use> {
        let mut uses: Vec<Use> = self
            .found
            .into_values()
            .map(|(e, words, count, at)| Use {
                concept: e.id.clone(),
                title: e.title.clone(),
                words,
                count,
                pos: self.unit.source.pos(at),
                support: e.support,
                metal: e.metal.clone(),
                how: if e.support == Support::Direct { String::new() } else { e.how.clone() },
                limits: e.limits.clone(),
            })
            .collect();
        let topic = |id: &str| self.knowledge.get(id).map_or(Topic::Launch, |e| e.topic);
        uses.sort_by_key(|u| (topic(&u.concept), u.pos.line));
        uses
    }
}

/// Does `pattern` name `word`, which stands between `before` and `after`?
fn named(pattern: &str, word: &str, before: &str, after: &str) -> bool {
    if let Some(member) = pattern.strip_prefix('.') {
        return matches!(before, "." | "->") && member == word && matches!(after, "(" | "<");
    }
    // A member with the name of a function of the library is another thing.
    if matches!(before, "." | "->") {
        return false;
    }
    if let Some(namespace) = pattern.strip_suffix("::") {
        return after == "::" && namespace == word;
    }
    match pattern.strip_suffix('*') {
        Some(stem) => word.starts_with(stem),
        None => pattern == word,
    }
}

/// Instructions of an assembly string.
fn instructions(literal: &str) -> impl Iterator<Item = &str> {
    literal
        .trim_start_matches('R')
        .trim_matches('"')
        .split([';', '{', '}'])
        .flat_map(|s| s.split("\\n"))
        .map(|s| s.trim_start_matches("\\t").trim())
        .filter(|s| !s.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_matched_as_the_patterns_say() {
        assert!(named("__shfl_sync", "__shfl_sync", "", "("));
        assert!(!named("__shfl", "__shfl_sync", "", "("));
        assert!(named("tex2D*", "tex2DLod", "", "("));
        assert!(named("cub::", "cub", "", "::") && !named("cub::", "cub", "", ";"));
        assert!(named(".shfl_xor", "shfl_xor", ".", "(") && !named(".shfl_xor", "shfl_xor", "", "("));
        assert!(!named("half", "half", ".", ";"));
        let asm = "\"{\\n\\tcp.async.cg.shared [%0];\\n mma.sync.aligned;}\"";
        assert_eq!(instructions(asm).collect::<Vec<_>>(), ["cp.async.cg.shared [%0]", "mma.sync.aligned"]);
    }
}
