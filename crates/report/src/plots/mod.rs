//! Plots as SVG, one look for report, dashboard and documentation. Colours and type come from `assets/plots.css`, which
//! a plot that stands alone carries within. Must not know where a plot is shown.

mod ablation;
mod axis;
mod progress;
mod roofline;
mod split;
mod waterfall;

use std::fmt::Write as _;

use svg::node::element::{Circle, Element, Group, Line, Path, Rectangle, Style, Text, Title};
use svg::{Document, Node as _};

use crate::model::Report;
use axis::Axis;

/// Width of every plot in its own units; heights follow from the content.
const WIDTH: f64 = 640.0;

/// Colours and type of plots.
pub const STYLE: &str = include_str!("../assets/plots.css");

/// The plots there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plot {
    /// How the time fell, strategy by strategy.
    Waterfall,
    /// Time against evaluations.
    Progress,
    /// Candidates against the limits of the chip.
    Roofline,
    /// Time by limiter, before and after.
    Split,
    /// What each part of the tool contributed.
    Ablation,
}

impl Plot {
    /// All of them, in the order of a report.
    pub const ALL: [Self; 5] = [Self::Waterfall, Self::Progress, Self::Roofline, Self::Split, Self::Ablation];

    /// Name on the command line and in addresses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waterfall => "waterfall",
            Self::Progress => "progress",
            Self::Roofline => "roofline",
            Self::Split => "split",
            Self::Ablation => "ablation",
        }
    }

    /// The plot with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|p| p.name() == name)
    }

    /// The drawing, for a page that carries [`STYLE`]; or why there is none.
    pub fn draw(self, report: &Report) -> Result<String, String> {
        let drawing = self.drawing(report)?;
        Ok(drawing.document().set("class", "plot").add(drawing.body).to_string())
    }

    /// The drawing with its style, as a file of its own.
    pub fn stand_alone(self, report: &Report) -> Result<String, String> {
        let drawing = self.drawing(report)?;
        let document = drawing
            .document()
            .set("class", "plot")
            .set("width", WIDTH)
            .set("height", drawing.height)
            .add(Style::new(STYLE))
            .add(rect(0.0, 0.0, WIDTH, drawing.height, "ground"))
            .add(drawing.body);
        Ok(format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{document}\n"))
    }

    fn drawing(self, report: &Report) -> Result<Drawing, String> {
        match self {
            Self::Waterfall => waterfall::draw(report),
            Self::Progress => progress::draw(report),
            Self::Roofline => roofline::draw(report),
            Self::Split => split::draw(report),
            Self::Ablation => ablation::draw(report),
        }
    }
}

/// What is drawn, before it becomes a document.
struct Drawing {
    height: f64,
    says: String,
    body: Group,
}

impl Drawing {
    /// A plot of this height; `says` is what a screen reader reads instead.
    fn new(height: f64, says: impl Into<String>) -> Self {
        Self { height, says: says.into(), body: Group::new() }
    }

    fn add(mut self, node: impl Into<Box<dyn svg::Node>>) -> Self {
        self.body = self.body.add(node);
        self
    }

    fn document(&self) -> Document {
        Document::new()
            .set("viewBox", format!("0 0 {WIDTH} {}", self.height))
            .set("role", "img")
            .set("aria-label", self.says.as_str())
    }
}

fn round(v: f64) -> f64 {
    (v * 10.0).round() / 10.0
}

fn line(x1: f64, y1: f64, x2: f64, y2: f64, class: &str) -> Line {
    Line::new().set("class", class).set("x1", round(x1)).set("y1", round(y1)).set("x2", round(x2)).set("y2", round(y2))
}

fn rect(x: f64, y: f64, width: f64, height: f64, class: &str) -> Rectangle {
    Rectangle::new()
        .set("class", class)
        .set("x", round(x))
        .set("y", round(y))
        .set("width", round(width.max(0.0)))
        .set("height", round(height.max(0.0)))
}

fn circle(x: f64, y: f64, r: f64, class: &str) -> Circle {
    Circle::new().set("class", class).set("cx", round(x)).set("cy", round(y)).set("r", round(r))
}

fn path(points: &[(f64, f64)], class: &str) -> Path {
    let mut d = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        let _ = write!(d, "{}{} {}", if i == 0 { "M" } else { "L" }, round(*x), round(*y));
    }
    Path::new().set("class", class).set("d", d)
}

/// Text; `anchor` is `start`, `middle` or `end`.
fn label(x: f64, y: f64, anchor: &str, class: &str, text: impl Into<String>) -> Text {
    Text::new(text.into()).set("class", class).set("x", round(x)).set("y", round(y)).set("text-anchor", anchor)
}

/// What a pointer that rests on the element is told.
fn titled(element: impl Into<Element>, text: impl Into<String>) -> Element {
    let mut element = element.into();
    element.append(Title::new(text.into()));
    element
}

/// A whisker from `low` to `high` along x at height `y`.
fn whisker(low: f64, high: f64, y: f64) -> Group {
    Group::new()
        .set("class", "whisker")
        .add(line(low, y, high, y, ""))
        .add(line(low, y - 4.0, low, y + 4.0, ""))
        .add(line(high, y - 4.0, high, y + 4.0, ""))
}

/// A title cut to what fits into `pixels` at the size of labels, whose characters are at most about 6.8 wide.
fn fitted(text: &str, pixels: f64) -> String {
    crate::text::fit(text, (pixels / 6.8).max(1.0) as usize)
}
