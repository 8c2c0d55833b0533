//! Figures in words: the same digits, units and labels wherever something is shown. Must not know where.

use ksearch_task::Figure;

/// A number with as many digits as carry meaning.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        "–".to_owned()
    } else if size >= 10_000.0 || (size < 0.001 && size > 0.0) {
        format!("{value:.2e}")
    } else {
        let digits = if size >= 100.0 {
            0
        } else if size >= 10.0 {
            1
        } else if size >= 1.0 {
            2
        } else {
            3
        };
        format!("{value:.digits$}")
    }
}

/// Number and unit, without origin: for places that name it once for all.
pub fn value(figure: &Figure) -> String {
    match figure.unit.as_str() {
        "x" => format!("{}×", number(figure.value)),
        unit => format!("{} {}", number(figure.value), self::unit(unit)),
    }
}

/// The unit as people write it.
pub fn unit(unit: &str) -> &str {
    match unit {
        "us" => "µs",
        other => other,
    }
}

/// The interval, where there is one: `[12.1, 13.4]`.
pub fn interval(figure: &Figure) -> Option<String> {
    figure.ci.map(|[low, high]| format!("[{}, {}]", number(low), number(high)))
}

/// Origin: `simulated on m1-max`.
pub fn label(figure: &Figure) -> String {
    format!("{} on {}", figure.kind, crate::text::line(&figure.on))
}

/// Everything: `13.6 µs [13.1, 14.0] simulated on m1-max`.
pub fn figure(figure: &Figure) -> String {
    let interval = interval(figure).map(|i| format!(" {i}")).unwrap_or_default();
    format!("{}{interval} {}", value(figure), label(figure))
}

/// A factor: `2.83×`.
pub fn factor(value: f64) -> String {
    format!("{}×", number(value))
}

/// A duration.
pub fn duration(seconds: f64) -> String {
    let seconds = seconds.max(0.0);
    if seconds < 60.0 {
        format!("{seconds:.0} s")
    } else if seconds < 3600.0 {
        format!("{:.0} min {:02.0} s", (seconds / 60.0).floor(), (seconds % 60.0).floor())
    } else {
        format!("{:.0} h {:02.0} min", (seconds / 3600.0).floor(), (seconds % 3600.0 / 60.0).floor())
    }
}

/// Date and time in UTC, from milliseconds since 1970: `2026-11-30 14:05 UTC`.
pub fn moment(ms: u64) -> String {
    let minutes = ms / 60_000;
    let (year, month, day) = date(minutes / (24 * 60));
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", minutes / 60 % 24, minutes % 60)
}

/// Civil date of a day since 1970-01-01: counts eras of 400 years from 1 March of year 0, as the Gregorian rule repeats.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year + era * 400 + u64::from(month <= 2), month, day)
}

/// `1 candidate`, `2 candidates`.
pub fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_carry_unit_interval_and_origin() {
        let simulated = Figure::simulated_us(13.646, "m1-max");
        assert_eq!(figure(&simulated), "13.6 µs simulated on m1-max");
        let measured = Figure::measured_us(1234.5, "h200", [1200.0, 1300.4]);
        assert_eq!(figure(&measured), "1234 µs [1200, 1300] measured on h200");
        assert_eq!(value(&Figure::ratio(29.497, "m1-max")), "29.5×");
        assert_eq!([0.0, 0.05123, 1.0, 123_456.0].map(number), ["0.000", "0.051", "1.00", "1.23e5"]);
    }

    #[test]
    fn moments_are_civil_dates() {
        assert_eq!(moment(0), "1970-01-01 00:00 UTC");
        assert_eq!(moment(951_782_399_000), "2000-02-28 23:59 UTC");
        assert_eq!(moment(951_782_400_000), "2000-02-29 00:00 UTC");
        assert_eq!(moment(1_796_083_200_000), "2026-12-01 00:00 UTC");
        assert_eq!(duration(59.4), "59 s");
        assert_eq!(duration(3_725.0), "1 h 02 min");
    }
}
