//! The terminal's view of a run, as lines of text: the same while it is worked on and when it is done. Must not know
//! how lines get onto the terminal; colours and redrawing are its caller's.

use ksearch_search::record::Event;
use ksearch_search::state::RunState;
use ksearch_search::view::best;
use ksearch_world::WorldEvent;

use crate::{text, words};

/// The narrowest terminal that is drawn for; below that lines are cut all the same.
const NARROW: usize = 64;

/// What is said of a run at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Live {
    /// `attention on sim:m1-max`.
    pub head: String,
    /// Evaluations used and allowed.
    pub used: (u32, u32),
    /// Best so far with its label.
    pub best: String,
    /// Against naive and baseline.
    pub against: String,
    /// Current action.
    pub action: String,
    /// What is done for it right now.
    pub activity: String,
    /// The actions that may come next.
    pub frontier: String,
    /// The last verdicts, newest last.
    pub verdicts: Vec<String>,
    /// Seconds used over all sessions.
    pub elapsed_s: f64,
    /// Is the search over? Then nothing is left to be waited for.
    pub ended: bool,
}

impl Live {
    /// Takes what an event changes.
    pub fn record(&mut self, event: &Event, state: &RunState) {
        self.count(state);
        self.follow(event, state);
        // Only these change the best or the frontier; both take a walk over the tree.
        if matches!(
            event,
            Event::Tree { change: WorldEvent::Seeded { .. } | WorldEvent::Edited { .. } }
                | Event::Best { .. }
                | Event::Selected { .. }
                | Event::Finished { .. }
        ) {
            self.standing(state);
        }
    }

    /// The view of a run that was not followed: its events, and the state they led to.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>, state: &RunState) -> Self {
        let mut live = Self::default();
        for event in events {
            live.follow(event, state);
        }
        live.count(state);
        live.standing(state);
        live
    }

    fn count(&mut self, state: &RunState) {
        self.head = format!("{} on {}", text::line(&state.config.task), text::line(&state.config.target));
        self.used = (state.evaluations, state.config.budget.evaluations);
        self.elapsed_s = state.elapsed_s;
        self.ended = state.stop.is_some();
    }

    fn follow(&mut self, event: &Event, state: &RunState) {
        match event {
            Event::Selected { selection, .. } => {
                self.action = state.world.get(selection.node).map(|n| text::line(n.title())).unwrap_or_default();
            }
            Event::Judged { verdict, stage: ksearch_search::Stage::Full, .. } => {
                let line = match &verdict.time {
                    Some(time) => format!("✓ {}  {}", words::value(time), self.action),
                    None => format!("✗ {}  {}", verdict.status.name().replace('_', " "), self.action),
                };
                self.verdicts.push(line);
                let surplus = self.verdicts.len().saturating_sub(3);
                self.verdicts.drain(..surplus);
            }
            Event::Closed { .. } => self.activity.clear(),
            Event::Finished { .. } | Event::Stopped { .. } => {
                self.action.clear();
                self.activity.clear();
            }
            _ => {}
        }
    }

    fn standing(&mut self, state: &RunState) {
        if let Some(b) = best(state) {
            self.best = words::figure(&b.time);
            let naive = b.speedup_vs_naive.map(|s| format!("{} naive", words::factor(s)));
            let baseline = match (&state.premises.baseline, b.ratio_vs_baseline) {
                (Some(baseline), Some(r)) => format!("{} {}", words::factor(r), text::line(&baseline.name)),
                _ => "no baseline".to_owned(),
            };
            self.against = naive.into_iter().chain([baseline]).collect::<Vec<_>>().join(", ");
        }
        let mut next: Vec<_> = state.world.frontier().collect();
        let count = next.len();
        next.sort_by(|a, b| b.rating.total_cmp(&a.rating).then(a.id.cmp(&b.id)));
        let titles: Vec<String> = next.iter().take(3).map(|n| text::line(n.title())).collect();
        self.frontier = if count == 0 { "none".to_owned() } else { format!("{count}: {}", titles.join(", ")) };
    }

    /// At most eight lines of at most `columns` each.
    pub fn lines(&self, columns: usize) -> Vec<String> {
        let (used, allowed) = self.used;
        let width = if columns >= NARROW { 20 } else { 8 };
        let filled = (used as usize * width).checked_div(allowed as usize).unwrap_or(0).min(width);
        let bar = format!("{}{}", "━".repeat(filled), "┄".repeat(width - filled));
        let left = match (used, allowed.saturating_sub(used)) {
            _ if self.ended => String::new(),
            (0, _) | (_, 0) => String::new(),
            (used, left) => {
                format!(", at most {} left", words::duration(self.elapsed_s / f64::from(used) * f64::from(left)))
            }
        };
        let mut lines = vec![
            self.head.clone(),
            format!("{bar} {used} of {allowed} judged, {}{left}", words::duration(self.elapsed_s)),
        ];
        let mut row = |name: &str, value: &str| {
            if !value.is_empty() {
                lines.push(if columns >= NARROW { format!("{name:<9} {value}") } else { value.to_owned() });
            }
        };
        if columns >= NARROW {
            row(
                "best",
                &[self.best.as_str(), self.against.as_str()]
                    .iter()
                    .filter(|s| !s.is_empty())
                    .copied()
                    .collect::<Vec<_>>()
                    .join(", "),
            );
        } else {
            row("best", &self.best);
            row("", &self.against);
        }
        let now = match (self.action.is_empty(), self.activity.is_empty()) {
            (false, false) => format!("{}: {}", self.action, self.activity),
            _ => format!("{}{}", self.action, self.activity),
        };
        row("now", &now);
        row("verdicts", &self.verdicts.join("   "));
        row("open", &self.frontier);
        lines.truncate(8);
        lines.iter().map(|l| text::fit(l, columns)).collect()
    }
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;

    fn live() -> Live {
        Live {
            head: "attention on sim:m1-max".into(),
            used: (15, 60),
            best: "13.6 µs simulated on m1-max".into(),
            against: "29.5× naive, no baseline".into(),
            action: "Several keys per step".into(),
            activity: "judging (full)".into(),
            frontier: "12: Tiles, Split the keys, Mask only blocks on an edge".into(),
            verdicts: vec!["✓ 13.6 µs  Matrices".into(), "✗ wrong answer  Split the keys".into()],
            elapsed_s: 75.0,
            ended: false,
        }
    }

    #[test]
    fn a_wide_terminal_has_names_before_values() {
        insta::assert_snapshot!(live().lines(100).join("\n"));
    }

    #[test]
    fn a_narrow_terminal_has_values_only() {
        insta::assert_snapshot!(live().lines(36).join("\n"));
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for columns in [0, 1, 10, 36, 63, 64, 200] {
            assert!(live().lines(columns).iter().all(|l| l.width() <= columns), "{columns}");
        }
    }
}
