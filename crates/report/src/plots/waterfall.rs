//! How the time fell: one bar per step from the naive kernel to the best. Must not know what a step is.

use svg::node::element::Group;

use super::{Axis, Drawing, WIDTH, fitted, label, line, rect, round, titled, whisker};
use crate::model::Report;
use crate::words;

const ROW: f64 = 30.0;
const LEFT: f64 = 232.0;
const TOP: f64 = 30.0;

pub fn draw(report: &Report) -> Result<Drawing, String> {
    let steps = &report.steps;
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
        return Err("no kernel has passed yet".to_owned());
    };
    let bottom = TOP + ROW * steps.len() as f64;
    let marks: Vec<(f64, &str, String)> = [
        report.headline.baseline.known().map(|b| (b.time.value, "baseline", b.name.clone())),
        report.headline.floor.known().map(|f| (f.value, "floor", "floor".to_owned())),
    ]
    .into_iter()
    .flatten()
    .collect();
    let intervals = steps.iter().filter_map(|s| s.time.ci).flatten();
    let values = steps.iter().map(|s| s.time.value).chain(intervals).chain(marks.iter().map(|m| m.0));
    let axis = Axis::log(values, LEFT, WIDTH - 92.0);
    let says = format!(
        "How the time fell in {}: from {} to {}",
        words::count(steps.len().saturating_sub(1), "step"),
        words::figure(&first.time),
        words::figure(&last.time)
    );
    let title = format!("time, {}, {} (logarithmic)", words::unit(&last.time.unit), words::label(&last.time));
    let mut doc = Drawing::new(bottom + 44.0, &says).add(axis.below(TOP - 6.0, bottom, &title));
    for (value, class, name) in &marks {
        let x = axis.at(*value);
        doc = doc.add(line(x, TOP - 6.0, x, bottom, &format!("mark {class}"))).add(label(
            x,
            TOP - 12.0,
            "middle",
            "tick",
            fitted(name, 150.0),
        ));
    }
    let mut before = None;
    for (i, step) in steps.iter().enumerate() {
        let y = TOP + ROW * i as f64;
        let middle = y + ROW / 2.0;
        let x = axis.at(step.time.value);
        let mut row = Group::new().set("data-node", step.node.as_str()).set("class", "row");
        row = row.add(label(LEFT - 12.0, middle + 4.0, "end", "name", fitted(&step.title, LEFT - 16.0)));
        match before {
            None => row = row.add(rect(x - 2.0, y + 6.0, 4.0, ROW - 12.0, "bar start")),
            Some(from) => {
                let worse = x > from;
                let class = if worse { "bar worse" } else { "bar better" };
                row = row
                    .add(line(from, y - 9.0, from, y + 6.0, "link"))
                    .add(rect(x.min(from), y + 6.0, (from - x).abs().max(1.5), ROW - 12.0, class).set("rx", 2));
            }
        }
        if let Some([low, high]) = step.time.ci {
            row = row.add(whisker(axis.at(low), axis.at(high), middle));
        }
        let gain = step.gain.map(|g| format!("\u{2003}{}", words::factor(g))).unwrap_or_default();
        let end = step.time.ci.map_or(x, |[_, high]| axis.at(high));
        let right = before.unwrap_or(x).max(x).max(end);
        let hint = match (step.gain, step.predicted) {
            (Some(g), Some(p)) => format!("{}: {}, predicted {}", step.title, words::factor(g), words::factor(p)),
            _ => format!("{}: {}", step.title, words::figure(&step.time)),
        };
        row = row.add(label(
            round(right) + 8.0,
            middle + 4.0,
            "start",
            "value",
            format!("{}{gain}", words::value(&step.time)),
        ));
        doc = doc.add(titled(row, hint));
        before = Some(x);
    }
    Ok(doc)
}
