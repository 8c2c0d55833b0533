//! The calibration plot: measured time across, simulated time up, both logarithmic, one colour a task. Knows SVG.

use std::fmt::Write;

use crate::score::{Clocks, Point};

const SIDE: f64 = 640.0;
const MARGIN: f64 = 64.0;
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#000000"];

/// Draws points as SVG. `title` says what on.
pub fn calibration(points: &[Point], title: &str) -> String {
    let times = || points.iter().flat_map(|p| [p.top(Clocks::Two), p.simulated]).filter(|t| *t > 0.0);
    let low = times().fold(f64::INFINITY, f64::min).log10().floor();
    let high = times().fold(0.0f64, f64::max).log10().ceil();
    let (low, high) = if low.is_finite() && high.is_finite() { (low, high.max(low + 1.0)) } else { (-5.0, -1.0) };
    let at = |t: f64| (t.max(1e-12).log10() - low) / (high - low) * (SIDE - 2.0 * MARGIN);
    let (x, y) = (|t: f64| MARGIN + at(t), |t: f64| SIDE - MARGIN - at(t));
    let mut s = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {SIDE} {SIDE}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{SIDE}\" height=\"{SIDE}\" fill=\"white\"/>\n<text x=\"{}\" y=\"24\" text-anchor=\"middle\" font-size=\"14\">{}</text>\n",
        SIDE / 2.0,
        escape(title)
    );
    // Writing to a string cannot fail.
    let mut line = |x1: f64, y1: f64, x2: f64, y2: f64, style: &str| {
        let _infallible =
            writeln!(s, "<path d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\" stroke=\"{style}\" fill=\"none\"/>");
    };
    let (first, last) = (10f64.powf(low), 10f64.powf(high));
    for k in low as i32..=high as i32 {
        let t = 10f64.powi(k);
        line(x(t), y(first), x(t), y(last), "#dddddd");
        line(x(first), y(t), x(last), y(t), "#dddddd");
    }
    line(x(first), y(first), x(last), y(last), "#444444");
    line(x(first), y(first * 2.0), x(last / 2.0), y(last), "#bbbbbb");
    line(x(first * 2.0), y(first), x(last), y(last / 2.0), "#bbbbbb");
    for k in low as i32..=high as i32 {
        let t = 10f64.powi(k);
        let label = match k {
            ..=-4 => format!("{:.0} us", t * 1e6),
            -3..=-1 => format!("{:.0} ms", t * 1e3),
            _ => format!("{t:.0} s"),
        };
        let _infallible = writeln!(
            s,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            x(t),
            SIDE - MARGIN + 18.0
        );
        let _infallible =
            writeln!(s, "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>", MARGIN - 6.0, y(t) + 4.0);
    }
    let _infallible = writeln!(
        s,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">measured</text>\n<text x=\"16\" y=\"{}\" text-anchor=\"middle\" transform=\"rotate(-90 16 {})\">simulated</text>",
        SIDE / 2.0,
        SIDE - 16.0,
        SIDE / 2.0,
        SIDE / 2.0
    );
    let mut tasks: Vec<&str> = points.iter().map(|p| p.task.as_str()).collect();
    tasks.sort_unstable();
    tasks.dedup();
    for (k, task) in tasks.iter().enumerate() {
        let colour = COLOURS[k % COLOURS.len()];
        let _infallible = writeln!(
            s,
            "<circle cx=\"{}\" cy=\"{}\" r=\"4\" fill=\"{colour}\"/><text x=\"{}\" y=\"{}\">{}</text>",
            MARGIN + 12.0,
            MARGIN + 12.0 + 16.0 * k as f64,
            MARGIN + 22.0,
            MARGIN + 16.0 + 16.0 * k as f64,
            escape(task)
        );
        for p in points.iter().filter(|p| p.task == **task) {
            let _infallible = writeln!(
                s,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.5\" fill=\"{colour}\" fill-opacity=\"0.6\"/>",
                x(p.top(Clocks::Two)),
                y(p.simulated)
            );
        }
    }
    s.push_str("</svg>\n");
    s
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_has_a_mark_for_each_point_and_survives_none() {
        let point = |task: &str, t: f64| Point {
            task: task.into(),
            size: "s".into(),
            name: String::new(),
            measured: t,
            simulated: t * 1.2,
            low_clock: t * 2.0,
            work: 0,
        };
        let svg = calibration(&[point("a<b", 1e-3), point("a<b", 1e-2), point("c", 5e-2)], "on m1-pro");
        assert_eq!(svg.matches("r=\"2.5\"").count(), 3);
        assert!(svg.contains("a&lt;b") && svg.contains("10 ms") && svg.ends_with("</svg>\n"));
        assert!(calibration(&[], "nothing").contains("</svg>"));
    }
}
