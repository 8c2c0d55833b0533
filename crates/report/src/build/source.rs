//! The best kernel, line by line: what is new against the naive one, and what the verdict says about a line. Must not
//! know how it is drawn.

use ksearch_search::view::best;
use similar::{Algorithm, ChangeTag, TextDiff};

use super::Loaded;
use super::detail::DIFF_PATIENCE;
use crate::model::{AnnotatedSource, Shown, SourceLine};
use crate::text;

/// The main file of the best candidate with remarks.
pub fn annotate(run: &Loaded) -> Shown<AnnotatedSource> {
    let state = &run.view.state;
    let Some(best) = best(state) else { return Shown::missing("no candidate has passed") };
    let Some(record) = state.candidates.get(&best.candidate) else {
        return Shown::missing("the journal does not hold the best candidate");
    };
    let candidate = record.candidate.clone().with_recipe_comment();
    let Some(main) = candidate.files.first() else { return Shown::missing("the best candidate has no file") };
    let shown = text::block(&main.text);
    let naive = state
        .attached(state.world.root())
        .and_then(|r| r.candidate.clone().with_recipe_comment().files.into_iter().next())
        .map(|f| text::block(&f.text));
    let mut lines: Vec<SourceLine> =
        shown.lines().map(|l| SourceLine { text: l.to_owned(), share: None, notes: Vec::new(), new: false }).collect();
    if let Some(naive) = &naive {
        let diff =
            TextDiff::configure().algorithm(Algorithm::Patience).timeout(DIFF_PATIENCE).diff_lines(naive, &shown);
        for change in diff.iter_all_changes().filter(|c| c.tag() == ChangeTag::Insert) {
            if let Some(line) = change.new_index().and_then(|i| lines.get_mut(i)) {
                line.new = true;
            }
        }
    }
    // Positions in a verdict are those of the file as it was judged, before the recipe was written into it.
    let shift = shown.lines().count() as i64
        - text::block(record.candidate.files.first().map_or("", |f| f.text.as_str())).lines().count() as i64;
    if let Some(verdict) = state.any_verdict(&best.candidate) {
        for d in &verdict.diagnostics {
            let Some(pos) = d.pos.as_ref().filter(|p| p.file == main.path) else { continue };
            let index = i64::from(pos.line) - 1 + shift;
            if let Some(line) = usize::try_from(index).ok().and_then(|i| lines.get_mut(i)) {
                line.notes.push(text::line(&d.message));
            }
        }
    }
    let costs = run.line_costs.known();
    for (file, number, share, note) in costs.iter().flat_map(|c| &c.lines) {
        if *file != main.path {
            continue;
        }
        let index = i64::from(*number) - 1 + shift;
        if let Some(line) = usize::try_from(index).ok().and_then(|i| lines.get_mut(i)) {
            line.share = Some(*share);
            line.notes.extend((!note.is_empty()).then(|| text::line(note)));
        }
    }
    let what = if naive.is_some() {
        "Marked lines are not in the naive kernel."
    } else {
        "There is no naive kernel to compare with."
    };
    let how = costs.map_or_else(
        || run.line_costs.why().unwrap_or_default().to_owned(),
        |c| format!("Percentages: {}.", text::line(&c.label)),
    );
    Shown::Known(AnnotatedSource { path: text::line(&main.path), lines, note: format!("{what} {how}") })
}
