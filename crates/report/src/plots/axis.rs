//! An axis: values to places, and where to put ticks. Must not know what is plotted.

use svg::node::element::Group;

use super::{label, line};
use crate::words;

/// An axis from `low` to `high`, drawn from `from` to `to`.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    log: bool,
}

impl Axis {
    /// A linear axis that holds these values.
    pub fn linear(low: f64, high: f64, from: f64, to: f64) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        Self { low, high, from, to, log: false }
    }

    /// A logarithmic axis that holds these values, with a little room at both ends.
    pub fn log(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) = values
            // No time or rate is outside of this; what is would only overflow below.
            .filter(|v| (1e-30..1e30).contains(v))
            .fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
        let (low, high) = if low > high { (1.0, 10.0) } else { (low, high) };
        let room = (high / low).powf(0.06).max(1.15);
        Self { low: low / room, high: high * room, from, to, log: true }
    }

    /// Where `value` lies.
    pub fn at(&self, value: f64) -> f64 {
        let share = if self.log {
            (value.clamp(self.low, self.high) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value.clamp(self.low, self.high) - self.low) / (self.high - self.low)
        };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Is it within?
    pub fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// The ends.
    pub fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// Round values, at most about eight.
    pub fn ticks(&self) -> Vec<f64> {
        if self.log { self.log_ticks() } else { self.linear_ticks() }
    }

    fn log_ticks(&self) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let steps: &[f64] = match decades {
            d if d > 5.0 => &[1.0],
            d if d > 2.2 => &[1.0, 3.0],
            d if d > 0.7 => &[1.0, 2.0, 5.0],
            _ => &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0],
        };
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        (first..=last)
            .flat_map(|e| steps.iter().map(move |s| s * 10.0_f64.powi(e)))
            .filter(|v| self.holds(*v))
            .collect()
    }

    fn linear_ticks(&self) -> Vec<f64> {
        let raw = (self.high - self.low) / 6.0;
        let size = 10.0_f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|s| s * size).find(|s| *s >= raw).unwrap_or(raw);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|i| i as f64 * step).collect()
    }

    /// Ticks and grid below a plot that reaches from `top` to `bottom`.
    pub fn below(&self, top: f64, bottom: f64, title: &str) -> Group {
        let mut group = Group::new();
        for tick in self.ticks() {
            let x = self.at(tick);
            group =
                group.add(line(x, top, x, bottom, "grid")).add(label(x, bottom + 16.0, "middle", "tick", shown(tick)));
        }
        group.add(label(f64::midpoint(self.from, self.to), bottom + 34.0, "middle", "axis", title))
    }

    /// Ticks and grid beside a plot that reaches from `left` to `right`.
    pub fn beside(&self, left: f64, right: f64, title: &str) -> Group {
        let mut group = Group::new();
        for tick in self.ticks() {
            let y = self.at(tick);
            group =
                group.add(line(left, y, right, y, "grid")).add(label(left - 8.0, y + 4.0, "end", "tick", shown(tick)));
        }
        group.add(label(left - 44.0, self.to.min(self.from) - 12.0, "start", "axis", title))
    }
}

/// A tick's text: round numbers without a tail.
fn shown(tick: f64) -> String {
    if tick == 0.0 {
        "0".to_owned()
    } else if (0.01..100_000.0).contains(&tick.abs()) {
        let text = format!("{tick:.3}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        words::number(tick)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(Axis::linear(0.0, 60.0, 0.0, 1.0).ticks(), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
        let axis = Axis::log([13.6, 402.0].into_iter(), 0.0, 100.0);
        assert_eq!(axis.ticks(), [20.0, 50.0, 100.0, 200.0]);
        assert_eq!(
            ["0", "0.2", "500", "2.00e5"],
            [0.0, 0.2, 500.0, 200_000.0].map(shown).each_ref().map(String::as_str)
        );
    }

    proptest! {
        #[test]
        fn every_value_has_a_place(values in proptest::collection::vec(any::<f64>(), 0..9), value in any::<f64>()) {
            let axis = Axis::log(values.into_iter(), 10.0, 90.0);
            if !value.is_nan() {
                prop_assert!((10.0..=90.0).contains(&axis.at(value)));
            }
            prop_assert!(axis.ticks().len() < 1_000);
        }
    }
}
