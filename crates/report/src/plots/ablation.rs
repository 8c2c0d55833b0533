//! What each part of the tool contributed: final times with one part switched off. Must not know how they were run.

use svg::node::element::Group;

use super::{Axis, Drawing, WIDTH, fitted, label, rect, titled, whisker};
use crate::model::Report;
use crate::words;

const LEFT: f64 = 200.0;
const TOP: f64 = 16.0;
const ROW: f64 = 30.0;

pub fn draw(report: &Report) -> Result<Drawing, String> {
    let ablation = report.ablation.known().ok_or_else(|| report.ablation.why().unwrap_or_default().to_owned())?;
    let variants = &ablation.variants;
    let Some(first) = variants.first() else { return Err("the ablation has no variant".to_owned()) };
    let most = variants.iter().map(|v| v.time.ci.map_or(v.time.value, |c| c[1])).fold(0.0, f64::max);
    let axis = Axis::linear(0.0, most, LEFT, WIDTH - 80.0);
    let bottom = TOP + ROW * variants.len() as f64;
    let ratio = first.time.unit == "x";
    let title = if ratio {
        format!("time of the library's kernel over the final time, {}", words::label(&first.time))
    } else {
        format!("final time, {}, {}", words::unit(&first.time.unit), words::label(&first.time))
    };
    let what = if ratio { "Ratio to the library's kernel" } else { "Final time" };
    let says = format!("{what} of {}", words::count(variants.len(), "variant"));
    let mut doc = Drawing::new(bottom + 44.0, &says).add(axis.below(TOP, bottom, &title));
    for (i, variant) in variants.iter().enumerate() {
        let y = TOP + ROW * i as f64;
        let x = axis.at(variant.time.value);
        let class = if i == 0 { "bar best" } else { "bar naive" };
        let mut row = Group::new()
            .add(label(LEFT - 12.0, y + 19.0, "end", "name", fitted(&variant.name, LEFT - 16.0)))
            .add(rect(LEFT, y + 6.0, x - LEFT, ROW - 12.0, class).set("rx", 2));
        let mut end = x;
        if let Some([low, high]) = variant.time.ci {
            end = axis.at(high);
            row = row.add(whisker(axis.at(low), end, y + ROW / 2.0));
        }
        row = row.add(label(end + 8.0, y + 19.0, "start", "value", words::value(&variant.time)));
        doc = doc.add(titled(row, format!("{}: {}", variant.name, words::figure(&variant.time))));
    }
    Ok(doc)
}
