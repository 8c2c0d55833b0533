//! The live view of a search: a block of lines on a terminal and a line for every improvement; plain lines elsewhere.
//! Knows the run's events, draws only.

use std::sync::Mutex;

use indicatif::{ProgressBar, ProgressStyle};
use ksearch_report::terminal::Live;
use ksearch_report::text;
use ksearch_search::{Activity, Event, Observer, Recorded, RunState, view};

use crate::context::show_figure;
use crate::printer::{Printer, Tone};

/// Follows a run: a calm block of lines on a terminal, plain lines elsewhere, nothing under `--quiet`.
pub struct Progress {
    bar: ProgressBar,
    printer: Printer,
    live: Mutex<Live>,
}

impl Progress {
    /// A view of a run with this budget.
    pub fn new(printer: Printer, evaluations: u32) -> Self {
        let bar = if printer.progress() { ProgressBar::new(u64::from(evaluations)) } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Self { bar, printer, live: Mutex::default() }
    }

    /// Takes the block away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn draw(&self, live: &Live) {
        if self.bar.is_hidden() {
            return;
        }
        // Asked each time: the window may have been resized. One column less, as some terminals wrap a full line.
        let columns = console::Term::stderr().size().1 as usize;
        let lines = live.lines(columns.saturating_sub(1));
        let painted: Vec<String> =
            lines.iter().enumerate().map(|(i, l)| if i == 0 { Tone::Strong.paint(l) } else { l.clone() }).collect();
        self.bar.set_message(painted.join("\n"));
        self.bar.tick();
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
        let Ok(mut live) = self.live.lock() else { return };
        live.record(&event.event, state);
        if self.bar.is_hidden() {
            if let Some(line) = view::line(&event.event, state) {
                self.printer.note(text::line(&line));
            }
        } else if let Event::Best { time, speedup, node, .. } = &event.event {
            let title = state.world.get(*node).map(|n| text::line(n.title())).unwrap_or_default();
            let times = speedup.map(|s| format!("{s:.2}x naive")).unwrap_or_default();
            self.bar.println(format!("{} {:>24}  {times:>14}  {title}", Tone::Good.paint("better"), show_figure(time)));
        }
        self.draw(&live);
    }

    fn activity(&self, activity: &Activity) {
        let Ok(mut live) = self.live.lock() else { return };
        live.activity = doing(activity);
        self.draw(&live);
    }

    fn stalled(&self, seconds: f64, activity: Option<&Activity>) {
        let Ok(mut live) = self.live.lock() else { return };
        let what = activity.map_or_else(|| "nothing".to_owned(), doing);
        live.activity = format!("{what}, waiting for {}", duration(seconds));
        if self.bar.is_hidden() {
            self.printer.note(&live.activity);
        }
        self.draw(&live);
    }
}
