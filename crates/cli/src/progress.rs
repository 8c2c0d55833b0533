//! The live view of a search: one line of state, and a line for every improvement. Knows the run's events, draws only.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use ksearch_search::{Activity, Event, Observer, Recorded, RunState};

use crate::context::show_figure;
use crate::printer::{Printer, Tone};

/// Follows a run on a terminal; silent where there is none.
pub struct Progress {
    bar: ProgressBar,
    printer: Printer,
    began: Instant,
    last: Mutex<Last>,
}

#[derive(Default)]
struct Last {
    action: String,
    activity: String,
    best: String,
}

impl Progress {
    /// A view of a run with this budget.
    pub fn new(printer: Printer, evaluations: u32) -> Self {
        let bar = if printer.progress() { ProgressBar::new(u64::from(evaluations)) } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template("{bar:20} {pos}/{len} {wide_msg}") {
            bar.set_style(style.progress_chars("━╸ "));
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, printer, began: Instant::now(), last: Mutex::new(Last::default()) }
    }

    /// Takes the line away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn draw(&self, last: &Last) {
        let done = self.bar.position();
        let left = self.bar.length().unwrap_or(0).saturating_sub(done);
        let eta = if done == 0 {
            String::new()
        } else {
            let seconds = self.began.elapsed().as_secs_f64() / done as f64 * left as f64;
            format!(" · at most {} left", duration(seconds))
        };
        self.bar.set_message(format!("{} · {} · {}{eta}", last.best, last.action, last.activity));
    }
}

/// A duration for people.
pub fn duration(seconds: f64) -> String {
    if seconds < 60.0 {
        format!("{seconds:.0} s")
    } else {
        format!("{:.0} min {:02.0} s", (seconds / 60.0).floor(), seconds % 60.0)
    }
}

/// What is going on, in a few words.
fn doing(activity: &Activity) -> String {
    match activity {
        Activity::Planning { purpose } => format!("planning ({purpose})"),
        Activity::Coding { attempt, step, .. } => format!("coding (attempt {attempt}, {step})"),
        Activity::Judging { stage, .. } => format!("judging ({})", stage.name()),
        Activity::Sweeping { done, total, .. } => format!("sweeping tunables {done}/{total}"),
    }
}

impl Observer for Progress {
    fn recorded(&self, event: &Recorded, state: &RunState) {
        let Ok(mut last) = self.last.lock() else { return };
        self.bar.set_position(u64::from(state.evaluations));
        self.bar.set_length(u64::from(state.config.budget.evaluations));
        match &event.event {
            Event::Selected { selection, .. } => {
                last.action = state.world.get(selection.node).map(|n| n.title().to_owned()).unwrap_or_default();
            }
            Event::Best { time, speedup, node, .. } => {
                let title = state.world.get(*node).map(|n| n.title().to_owned()).unwrap_or_default();
                let times = speedup.map(|s| format!("{s:.2}x naive")).unwrap_or_default();
                last.best = format!("best {} ({times})", show_figure(time));
                if self.printer.progress() {
                    let mark = Tone::Good.paint("better");
                    self.bar.println(format!("{mark} {:>24}  {times:>14}  {title}", show_figure(time)));
                }
            }
            Event::Closed { .. } => last.activity.clear(),
            _ => {}
        }
        self.draw(&last);
    }

    fn activity(&self, activity: &Activity) {
        let Ok(mut last) = self.last.lock() else { return };
        last.activity = doing(activity);
        self.draw(&last);
    }

    fn stalled(&self, seconds: f64, activity: Option<&Activity>) {
        let Ok(mut last) = self.last.lock() else { return };
        let what = activity.map_or_else(|| "nothing".to_owned(), doing);
        last.activity = format!("{what}, waiting for {}", duration(seconds));
        self.draw(&last);
    }
}
