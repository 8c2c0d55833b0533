//! Which family a kernel belongs to, with the reasons. Must not guess: where the signs do not agree it says so.

use super::signals::Signals;
use super::{Classification, Confidence, KernelClass, Reason};

/// Decides from the signs; `line` turns a byte into a line.
pub fn classify(s: &Signals, line: &dyn Fn(usize) -> u32) -> Classification {
    let mut because = Vec::new();
    let mut say = |at: usize, text: &str| because.push(Reason { line: line(at), text: text.to_owned() });

    let softmax = s.exponential.zip(s.maximum);
    let products = s.dots.len() + usize::from(s.weighted.is_some());
    let (class, confidence, note) = if let Some((exp, max)) = softmax {
        say(exp, "takes exponentials");
        say(max, "carries a running maximum");
        if let Some(at) = s.matrix {
            say(at, "multiplies tiles with matrix instructions");
            (KernelClass::AttentionSoftmax, Confidence::High, "attention: matrix products around a softmax")
        } else if products >= 2 {
            if let Some(at) = s.dots.first() {
                say(*at, "sums products of two arrays");
            }
            if let Some(at) = s.weighted {
                say(at, "sums values weighted by exponentials");
            }
            (KernelClass::AttentionSoftmax, Confidence::High, "attention: two products around a softmax")
        } else if products == 1 {
            (KernelClass::AttentionSoftmax, Confidence::Medium, "softmax with one product of arrays beside it")
        } else {
            (KernelClass::AttentionSoftmax, Confidence::High, "softmax without a product of arrays")
        }
    } else if let Some(at) = s.matrix {
        say(at, "multiplies tiles with matrix instructions");
        (KernelClass::MatMul, Confidence::High, "")
    } else if let Some(at) = s.prefix {
        say(at, "combines a value with those of lower positions");
        if let Some(at) = s.recurrence {
            say(at, "carries h = a * h + b");
        }
        (KernelClass::Scan, Confidence::High, "")
    } else if let Some(at) = s.ballot_rank {
        say(at, "counts the ballots of lower lanes");
        (KernelClass::Scan, Confidence::Medium, "ranks lanes: a prefix sum of predicates within a warp")
    } else if let Some(at) = s.neighbours {
        say(at, "reads an element's neighbours on both sides");
        (KernelClass::Stencil, Confidence::High, "")
    } else if let Some(at) = s.scattered_atomic {
        say(at, "updates an element chosen by data, atomically");
        (KernelClass::GatherScatter, Confidence::High, "a histogram or scatter")
    } else if let Some(at) = s.ticketed_store {
        say(at, "stores to a place that an atomic handed out");
        (KernelClass::GatherScatter, Confidence::High, "a compaction: the order of the output follows an atomic")
    } else if let Some(at) = s.reduction {
        say(at, "combines values over lanes or over a halving range");
        if let Some(at) = s.dots.first() {
            say(*at, "sums products of two arrays");
        }
        let note = match (s.selection, s.dots.is_empty()) {
            (Some(_), _) => "stores an integer beside a value: possibly a selection (arg-max, top-k)",
            (None, false) => "of products of two arrays: a dot product or matrix-vector product",
            (None, true) => "",
        };
        (KernelClass::Reduction, Confidence::High, note)
    } else if let (Some(at), false) = (s.recurrence, s.dots.is_empty()) {
        say(at, "carries h = a * h + b");
        (KernelClass::Scan, Confidence::Medium, "a recurrence along a loop")
    } else if let Some(at) = s.dots.first() {
        say(*at, "sums products of two arrays, with no combination over lanes");
        (KernelClass::MatMul, if s.shared { Confidence::High } else { Confidence::Medium }, "")
    } else if let Some(at) = s.recurrence {
        say(at, "carries h = a * h + b");
        (KernelClass::Scan, Confidence::Medium, "a recurrence along a loop")
    } else if let (Some(at), true) = (s.sum, s.stores) {
        say(at, "carries a sum of loaded values through a loop");
        (KernelClass::Reduction, Confidence::Medium, "sums along a loop")
    } else if let Some(at) = s.in_place {
        say(at, "changes each element in its place");
        (KernelClass::Elementwise, Confidence::Medium, "")
    } else if let Some(at) = s.indirect {
        say(at, "goes through an index that was loaded");
        (KernelClass::GatherScatter, Confidence::Medium, "")
    } else if s.loads && s.stores && !s.arithmetic {
        let through = s.shared && s.rearranges;
        let note = if through { "moves data through shared memory: a transpose or permutation" } else { "moves data" };
        (KernelClass::GatherScatter, Confidence::Medium, note)
    } else if s.loads && s.stores && s.same_index && !s.shared {
        (KernelClass::Elementwise, Confidence::High, "every load has the index of a store")
    } else {
        let c = Classification { class: None, confidence: Confidence::Low, note: String::new(), because };
        return Classification { note: "no sign of a known family, or signs that do not fit together".into(), ..c };
    };
    Classification { class: Some(class), confidence, note: note.to_owned(), because }
}
