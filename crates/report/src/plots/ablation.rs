//! What each part of the tool contributed: final times with one part switched off, and what each strategy of the best
//! kernel brings. Must not know how they were run.

use svg::node::element::{Element, Group};

use super::{Axis, Drawing, WIDTH, fitted, label, rect, titled, whisker};
use crate::model::{Named, Report};
use crate::words;

const LEFT: f64 = 260.0;
const TOP: f64 = 16.0;
const ROW: f64 = 30.0;
const HEAD: f64 = 34.0;

pub fn draw(report: &Report) -> Result<Drawing, String> {
    let ablation = report.ablation.known().ok_or_else(|| report.ablation.why().unwrap_or_default().to_owned())?;
    let groups: Vec<(&str, &[Named])> = [
        ("", ablation.variants.as_slice()),
        ("The best kernel, built up a strategy at a time", ablation.ladder.as_slice()),
        ("The best kernel without one strategy", ablation.without.as_slice()),
    ]
    .into_iter()
    .filter(|(_, rows)| !rows.is_empty())
    .collect();
    let all = || groups.iter().flat_map(|(_, rows)| rows.iter());
    let Some(first) = all().next() else { return Err("the ablation has no variant".to_owned()) };
    let most = all().map(|v| v.time.ci.map_or(v.time.value, |c| c[1])).fold(0.0, f64::max);
    let axis = Axis::linear(0.0, most, LEFT, WIDTH - 80.0);
    let height = |(head, rows): &(&str, &[Named])| rows.len() as f64 * ROW + if head.is_empty() { 0.0 } else { HEAD };
    let bottom = TOP + groups.iter().map(height).sum::<f64>();
    let ratio = first.time.unit == "x";
    let other =
        if ablation.against.is_empty() { "the library's kernel".to_owned() } else { fitted(&ablation.against, 170.0) };
    let title = if ratio {
        format!("time of {other} over the time, {}", words::label(&first.time))
    } else {
        format!("final time, {}, {}", words::unit(&first.time.unit), words::label(&first.time))
    };
    let what = if ratio { format!("Ratio to {other}") } else { "Final time".to_owned() };
    let says = format!("{what} of {}", words::count(all().count(), "variant"));
    let mut doc = Drawing::new(bottom + 44.0, &says).add(axis.below(TOP, bottom, &title));
    let mut y = TOP;
    for (head, rows) in &groups {
        if !head.is_empty() {
            doc = doc.add(label(12.0, y + HEAD - 10.0, "start", "name", *head));
            y += HEAD;
        }
        for variant in *rows {
            let class = if std::ptr::eq(variant, first) { "bar best" } else { "bar naive" };
            doc = doc.add(row(variant, y, class, &axis));
            y += ROW;
        }
    }
    Ok(doc)
}

fn row(variant: &Named, y: f64, class: &str, axis: &Axis) -> Element {
    let x = axis.at(variant.time.value);
    let mut row = Group::new()
        .add(label(LEFT - 12.0, y + 19.0, "end", "name", fitted(&variant.name, LEFT - 16.0)))
        .add(rect(LEFT, y + 6.0, x - LEFT, ROW - 12.0, class).set("rx", 2));
    let mut end = x;
    if let Some([low, high]) = variant.time.ci {
        end = axis.at(high);
        row = row.add(whisker(axis.at(low), end, y + ROW / 2.0));
    }
    row = row.add(label(end + 8.0, y + 19.0, "start", "value", words::value(&variant.time)));
    titled(row, format!("{}: {}", variant.name, words::figure(&variant.time)))
}
