//! Candidates against what the chip can do: arithmetic rate over arithmetic per byte. Must not know how the figures
//! were counted.

use svg::node::element::Group;

use super::{Axis, Drawing, WIDTH, circle, label, path, titled};
use crate::model::Report;
use crate::words;

const LEFT: f64 = 62.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 300.0;
const RIGHT: f64 = WIDTH - 18.0;
const MOST_POINTS: usize = 1_500;

pub fn draw(report: &Report) -> Result<Drawing, String> {
    let roof = report.roofline.known().ok_or_else(|| report.roofline.why().unwrap_or_default().to_owned())?;
    let points: Vec<_> = report.trials.iter().filter_map(|t| t.point.map(|p| (t, p))).collect();
    let ridge = roof.peak / roof.bandwidth;
    let x = Axis::log(points.iter().map(|(_, p)| p.0).chain([ridge]), LEFT, RIGHT);
    let y = Axis::log(points.iter().map(|(_, p)| p.1).chain([roof.peak]), BOTTOM, TOP);
    let says = format!("Roofline with {}", words::count(points.len(), "candidate"));
    let level = match roof.level.as_str() {
        "dram" => "main memory",
        "slc" => "the system-level cache",
        "l2" => "the second-level cache",
        other => other,
    };
    let mut doc = Drawing::new(BOTTOM + 44.0, &says)
        .add(y.beside(LEFT, RIGHT, "arithmetic executed, GFLOP/s (logarithmic)"))
        .add(x.below(TOP, BOTTOM, &format!("arithmetic per byte that reaches {level}, FLOP/byte (logarithmic)")));
    let (low, high) = x.ends();
    let (floor, _) = y.ends();
    let from = low.max(floor / roof.bandwidth);
    let slope =
        [(x.at(from), y.at(from * roof.bandwidth)), (x.at(ridge), y.at(roof.peak)), (x.at(high), y.at(roof.peak))];
    let slope_label = from.max(low) * (ridge / from).powf(0.5);
    doc = doc
        .add(path(&slope, "roof"))
        .add(label(
            x.at(high),
            y.at(roof.peak) - 6.0,
            "end",
            "tick",
            format!("peak {} GFLOP/s", words::number(roof.peak)),
        ))
        .add(label(
            x.at(slope_label) - 8.0,
            y.at(slope_label * roof.bandwidth) - 6.0,
            "end",
            "tick",
            format!("main memory {} GB/s", words::number(roof.bandwidth)),
        ));
    let best = report.headline.best.known().map(|b| b.candidate.as_str());
    let first = report.trials.first().map(|t| t.candidate.as_str());
    let mut cells = std::collections::HashSet::new();
    let mut dots = Group::new();
    let mut named = Group::new();
    for (trial, (intensity, rate)) in &points {
        let (px, py) = (x.at(*intensity), y.at(*rate));
        let name = match trial.candidate.as_str() {
            c if Some(c) == best => Some(("dot best", "best")),
            c if Some(c) == first => Some(("dot first", "naive")),
            _ => None,
        };
        if name.is_none() && points.len() > MOST_POINTS && !cells.insert(((px / 4.0) as i64, (py / 4.0) as i64)) {
            continue;
        }
        let time = trial.time.as_ref().map(words::figure).unwrap_or_default();
        let hint = format!(
            "{}. {}: {time}; {} GFLOP/s at {} FLOP/byte",
            trial.number,
            trial.title,
            words::number(*rate),
            words::number(*intensity)
        );
        let node = trial.node.as_str();
        match name {
            None => dots = dots.add(titled(circle(px, py, 3.0, "dot").set("data-node", node), hint)),
            Some((class, text)) => {
                named = named.add(titled(circle(px, py, 5.0, class).set("data-node", node), hint)).add(label(
                    px + 9.0,
                    py + 4.0,
                    "start",
                    "value",
                    text,
                ));
            }
        }
    }
    Ok(doc.add(dots).add(named))
}
