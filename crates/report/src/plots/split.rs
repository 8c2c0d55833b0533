//! Where the time goes, by limiter, before and after. Must not know what a limiter is.

use svg::node::element::Group;

use super::{Axis, Drawing, WIDTH, fitted, label, line, rect, titled};
use crate::model::Report;
use crate::words;

const LEFT: f64 = 132.0;
const TOP: f64 = 40.0;
const ROW: f64 = 40.0;

pub fn draw(report: &Report) -> Result<Drawing, String> {
    let split = report.split.known().ok_or_else(|| report.split.why().unwrap_or_default().to_owned())?;
    let bottom = TOP + ROW * split.terms.len() as f64;
    let (before, after) = split.total;
    let values = split.terms.iter().flat_map(|t| [t.1, t.2]).chain([before, after]);
    let axis = Axis::log(values.filter(|v| *v > 0.01), LEFT, WIDTH - 76.0);
    let says = format!("Time by limiter: before {}, after {}", words::number(before), words::number(after));
    let mut doc = Drawing::new(bottom + 44.0, &says).add(axis.below(
        TOP - 4.0,
        bottom,
        &format!("time, {} (logarithmic)", split.label),
    ));
    for (value, class, name) in [(before, "naive", "naive, all"), (after, "best", "best, all")] {
        let x = axis.at(value);
        doc = doc.add(line(x, TOP - 4.0, x, bottom, &format!("mark {class}"))).add(label(
            x,
            TOP - 10.0,
            "middle",
            "tick",
            format!("{name} {}", words::number(value)),
        ));
    }
    for (i, (name, before, after)) in split.terms.iter().enumerate() {
        let y = TOP + ROW * i as f64 + 6.0;
        let mut row =
            Group::new().add(label(LEFT - 12.0, y + 18.0, "end", "name", fitted(&name.replace('_', " "), LEFT - 16.0)));
        for (value, dy, class) in [(*before, 0.0, "bar naive"), (*after, 14.0, "bar best")] {
            let x = axis.at(value);
            let width = if value > 0.0 { (x - LEFT).max(1.5) } else { 0.0 };
            row = row.add(rect(LEFT, y + dy, width, 12.0, class).set("rx", 1.5)).add(label(
                LEFT + width + 6.0,
                y + dy + 10.0,
                "start",
                "value",
                words::number(value),
            ));
        }
        doc = doc.add(titled(row, format!("{name}: naive {}, best {}", words::number(*before), words::number(*after))));
    }
    Ok(doc)
}
