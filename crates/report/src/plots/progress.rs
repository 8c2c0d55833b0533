//! Time against evaluations: every candidate, and the best so far. Must not know how candidates are made.

use svg::node::element::Group;

use super::{Axis, Drawing, WIDTH, circle, label, line, path, titled};
use crate::model::Report;
use crate::words;

const LEFT: f64 = 62.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 284.0;
const RIGHT: f64 = WIDTH - 18.0;
/// More points than this are drawn as a grid of cells, one mark each.
const MOST_POINTS: usize = 1_500;
/// Side of such a cell.
const CELL: f64 = 5.0;

pub fn draw(report: &Report) -> Result<Drawing, String> {
    let passed: Vec<_> = report.trials.iter().filter_map(|t| t.time.as_ref().map(|f| (t, f))).collect();
    let Some(sample) = passed.first().map(|(_, f)| *f) else { return Err("no kernel has passed yet".to_owned()) };
    let head = &report.headline;
    let marks: Vec<(f64, &str, String)> = [
        head.naive.known().map(|n| (n.value, "naive", "naive".to_owned())),
        head.baseline.known().map(|b| (b.time.value, "baseline", b.name.clone())),
        head.floor.known().map(|f| (f.value, "floor", "floor".to_owned())),
    ]
    .into_iter()
    .flatten()
    .collect();
    let intervals = passed.iter().filter_map(|(_, f)| f.ci).flatten();
    let values = passed.iter().map(|(_, f)| f.value).chain(intervals).chain(marks.iter().map(|m| m.0));
    let y = Axis::log(values, BOTTOM - 12.0, TOP);
    let last = report.trials.last().map_or(1, |t| t.number).max(report.run.evaluations);
    let x = Axis::linear(0.0, f64::from(last), LEFT, RIGHT);
    let says = format!(
        "{} against evaluations: {} judged, {} passed",
        "Time",
        words::count(report.trials.len(), "candidate"),
        passed.len()
    );
    let title = format!("time, {}, {} (logarithmic)", words::unit(&sample.unit), words::label(sample));
    let mut doc = Drawing::new(BOTTOM + 44.0, &says)
        .add(y.beside(LEFT, RIGHT, &title))
        .add(x.below(BOTTOM, BOTTOM, "evaluations (full judgements of distinct candidates)"))
        .add(line(LEFT, BOTTOM, RIGHT, BOTTOM, "base"));
    for (value, class, name) in &marks {
        let at = y.at(*value);
        doc = doc.add(line(LEFT, at, RIGHT, at, &format!("mark {class}"))).add(label(
            RIGHT,
            at - 5.0,
            "end",
            "tick",
            super::fitted(name, 200.0),
        ));
    }
    let many = report.trials.len() > MOST_POINTS;
    let mut dots = Group::new();
    let mut cells = std::collections::HashSet::new();
    for trial in &report.trials {
        let at = x.at(f64::from(trial.number));
        if let Some(time) = &trial.time {
            let place = y.at(time.value);
            let cell = ((at / CELL) as i64, (place / CELL) as i64);
            if many && !cells.insert(cell) {
                continue;
            }
            if let (false, Some([low, high])) = (many, time.ci) {
                dots = dots.add(line(at, y.at(low), at, y.at(high), "whisker faint"));
            }
            let dot = circle(at, place, 3.0, "dot").set("data-node", trial.node.as_str());
            if many {
                dots = dots.add(dot);
                continue;
            }
            let hint = format!("{}. {}: {}", trial.number, trial.title, words::figure(time));
            dots = dots.add(titled(dot, hint));
        } else {
            if many && !cells.insert(((at / CELL) as i64, -1)) {
                continue;
            }
            let hint = format!("{}. {}: {}", trial.number, trial.title, trial.status);
            let cross = Group::new()
                .set("class", "cross")
                .set("data-node", trial.node.as_str())
                .add(line(at - 3.0, BOTTOM - 8.0, at + 3.0, BOTTOM - 2.0, ""))
                .add(line(at - 3.0, BOTTOM - 2.0, at + 3.0, BOTTOM - 8.0, ""));
            dots = dots.add(titled(cross, hint));
        }
    }
    // The best at each evaluation, from the candidates themselves: a record is noted when its work is closed.
    let mut best = f64::INFINITY;
    let mut curve: Vec<(f64, f64)> = Vec::new();
    for (trial, time) in &passed {
        if time.value < best {
            let at = x.at(f64::from(trial.number));
            if let Some((_, level)) = curve.last().copied() {
                curve.push((at, level));
            }
            best = time.value;
            curve.push((at, y.at(best)));
        }
    }
    if let Some((_, level)) = curve.last().copied() {
        curve.push((x.at(f64::from(last)), level));
    }
    Ok(doc.add(dots).add(path(&curve, "curve")))
}
