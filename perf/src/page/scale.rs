// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a value stands on an axis, and what is written beside it.

/// An axis on which the same distance is the same factor.
#[derive(Clone, Copy, Debug)]
pub struct Logarithmic {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Logarithmic {
    /// From `low` at the place `from` to `high` at the place `to`. Values must be above zero.
    pub fn new(low: f64, high: f64, from: f64, to: f64) -> Self {
        let low = low.max(f64::MIN_POSITIVE);
        Logarithmic {
            low,
            high: high.max(low * 1.01),
            from,
            to,
        }
    }

    /// The place of a value; those beyond an end are at that end.
    pub fn at(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        self.from + share * (self.to - self.from)
    }

    /// 1, 2 and 5 times each power of ten in the range, `apart` or more from each other; powers of ten
    /// only if there is no room for the others.
    pub fn marks(&self, apart: f64) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let of_two = (self.to - self.from).abs() / decades * 2_f64.log10();
        let steps: &[f64] = if of_two < apart {
            &[1.0]
        } else {
            &[1.0, 2.0, 5.0]
        };
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().ceil() as i32;
        let all = (first..=last).flat_map(|e| steps.iter().map(move |s| s * 10_f64.powi(e)));
        let slack = 1e-9;
        all.filter(|v| *v >= self.low * (1.0 - slack) && *v <= self.high * (1.0 + slack))
            .collect()
    }
}

/// A time as it is written on an axis.
pub fn micros(value: f64) -> String {
    let (number, unit) = match value {
        v if v >= 999_999.5 => (v / 1e6, "s"),
        v if v >= 999.5 => (v / 1e3, "ms"),
        v => (v, "µs"),
    };
    let number = format!("{number:.2}");
    let number = number.trim_end_matches('0').trim_end_matches('.');
    format!("{number} {unit}")
}

/// What stands on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
    /// Bytes, marked at powers of two.
    Bytes,
    /// A number of anything, with k, M or G.
    Count,
}

impl Unit {
    /// The unit of that name in a record.
    pub fn named(unit: &str) -> Unit {
        match unit {
            "us" | "µs" => Unit::Micros,
            "B" => Unit::Bytes,
            _ if unit == "ns" || unit.starts_with("ns/") => Unit::Nanos,
            _ => Unit::Count,
        }
    }

    /// A value as it is written on an axis.
    pub fn label(self, value: f64) -> String {
        match self {
            Unit::Micros => micros(value),
            Unit::Nanos if value < 999.5 => format!("{} ns", trimmed(value)),
            Unit::Nanos => micros(value / 1e3),
            Unit::Bytes => bytes(value),
            Unit::Count => count(value),
        }
    }
}

/// A number with k, M, G or T.
pub fn count(value: f64) -> String {
    let (number, unit) = match value {
        v if v >= 999.5e9 => (v / 1e12, "T"),
        v if v >= 999.5e6 => (v / 1e9, "G"),
        v if v >= 999.5e3 => (v / 1e6, "M"),
        v if v >= 999.5 => (v / 1e3, "k"),
        v => (v, ""),
    };
    format!("{}{unit}", trimmed(number))
}

/// A number of bytes in powers of two.
pub fn bytes(value: f64) -> String {
    const KIB: f64 = 1024.0;
    let (number, unit) = match value {
        v if v >= KIB * KIB * KIB => (v / (KIB * KIB * KIB), "GiB"),
        v if v >= KIB * KIB => (v / (KIB * KIB), "MiB"),
        v if v >= KIB => (v / KIB, "KiB"),
        v => (v, "B"),
    };
    format!("{} {unit}", trimmed(number))
}

/// Three significant digits at most, no zeros behind the point.
fn trimmed(number: f64) -> String {
    let digits = match number.abs() {
        n if n >= 99.95 => 0,
        n if n >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{number:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_distances() {
        let axis = Logarithmic::new(1.0, 100.0, 0.0, 200.0);
        assert!((axis.at(1.0) - 0.0).abs() < 1e-9);
        assert!((axis.at(10.0) - 100.0).abs() < 1e-9);
        assert!((axis.at(1e9) - 200.0).abs() < 1e-9);
        assert!(axis.at(0.0).is_finite());
    }

    #[test]
    fn an_axis_may_go_down_or_be_short() {
        let up = Logarithmic::new(1.0, 10.0, 300.0, 20.0);
        assert!((up.at(10.0) - 20.0).abs() < 1e-9);
        assert!(Logarithmic::new(5.0, 5.0, 0.0, 1.0).at(5.0).is_finite());
    }

    #[test]
    fn marks_are_round_numbers() {
        let marks = |low, high| Logarithmic::new(low, high, 0.0, 400.0).marks(50.0);
        let near = |a: Vec<f64>, b: &[f64]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6)
        };
        assert!(near(marks(4.0, 60.0), &[5.0, 10.0, 20.0, 50.0]));
        assert!(near(marks(1.0, 1e5), &[1.0, 10.0, 100.0, 1e3, 1e4, 1e5]));
    }

    #[test]
    fn numbers_have_their_unit() {
        for (unit, value, label) in [
            (Unit::named("msg/s"), 2_930_000.0, "2.93M"),
            (Unit::named("bit/s"), 45e9, "45G"),
            (Unit::named("ns/msg"), 35.4, "35.4 ns"),
            (Unit::named("ns/msg"), 266_000.0, "266 µs"),
            (Unit::named("us"), 0.5, "0.5 µs"),
            (Unit::named("B"), 65_536.0, "64 KiB"),
            (Unit::named("B"), 8.0, "8 B"),
            (Unit::named("B"), 1_610_612_736.0, "1.5 GiB"),
            (Unit::named("%"), 100.0, "100"),
        ] {
            assert_eq!(unit.label(value), label);
        }
    }

    #[test]
    fn labels_are_true() {
        for (value, label) in [
            (0.5, "0.5 µs"),
            (10.0, "10 µs"),
            (999.0, "999 µs"),
            (1000.0, "1 ms"),
            (2500.0, "2.5 ms"),
            (1e6, "1 s"),
        ] {
            assert_eq!(micros(value), label);
        }
    }
}
