// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers in a form for readers.

/// Formats with one decimal place.
pub fn tenths(figure: f64) -> String {
    format!("{figure:.1}")
}

/// Returns a count with its noun: one cell, two cells.
pub fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// Names the statistic of this many rounds, in words.
pub fn of_rounds(rounds: u32) -> String {
    match rounds {
        1 => "one round".to_owned(),
        n => format!("median of {n} rounds"),
    }
}

/// Formats a number with a space between groups of three digits.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Formats three significant digits with a unit: 2.93M, 870k, 12.0.
pub fn short(figure: f64) -> String {
    let (value, unit) = match figure {
        f if f >= 999.5e3 => (f / 1e6, "M"),
        f if f >= 999.5 => (f / 1e3, "k"),
        f => (f, ""),
    };
    match value {
        v if v >= 99.95 => format!("{v:.0}{unit}"),
        v if v >= 9.995 => format!("{v:.1}{unit}"),
        v => format!("{v:.2}{unit}"),
    }
}

/// Formats a time in microseconds for an axis.
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

/// Formats a time in nanoseconds, in three digits with its unit.
pub fn time(nanos: f64) -> String {
    let (number, unit) = match nanos {
        v if v >= 999.5e6 => (v / 1e9, "s"),
        v if v >= 999.5e3 => (v / 1e6, "ms"),
        v if v >= 999.5 => (v / 1e3, "µs"),
        v => (v, "ns"),
    };
    format!("{} {unit}", trimmed(number))
}

/// The unit of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
    /// Bytes, with marks at powers of two.
    Bytes,
    /// Multiples of 1024 bytes.
    Kibibytes,
    /// A count, with k, M or G.
    Count,
}

impl Unit {
    /// Returns the unit of that name in a record.
    pub fn named(unit: &str) -> Unit {
        match unit {
            "us" | "µs" => Unit::Micros,
            "B" => Unit::Bytes,
            "KiB" => Unit::Kibibytes,
            _ if unit == "ns" || unit.starts_with("ns/") => Unit::Nanos,
            _ => Unit::Count,
        }
    }

    /// Formats a value for an axis.
    pub fn label(self, value: f64) -> String {
        match self {
            Unit::Micros => micros(value),
            Unit::Nanos if value < 999.5 => format!("{} ns", trimmed(value)),
            Unit::Nanos => micros(value / 1e3),
            Unit::Bytes => bytes(value),
            Unit::Kibibytes => bytes(value * 1024.0),
            Unit::Count => count(value),
        }
    }
}

/// Formats a number with k, M, G or T.
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

/// Formats a number of bytes in powers of two.
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

/// Formats at most three significant digits, without zeros after the point.
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
    fn figures_are_short() {
        for (figure, text) in [
            (2_930_000.0, "2.93M"),
            (118_400_000.0, "118M"),
            (999_900.0, "1.00M"),
            (870_400.0, "870k"),
            (12_000.0, "12.0k"),
            (99.96, "100"),
            (7.0, "7.00"),
        ] {
            assert_eq!(short(figure), text);
        }
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
            (Unit::named("KiB"), 10_240.0, "10 MiB"),
        ] {
            assert_eq!(unit.label(value), label);
        }
    }

    #[test]
    fn large_numbers_are_read_in_groups() {
        let numbers = [0, 12, 999, 1000, 4_491_630];
        assert_eq!(
            numbers.map(thousands),
            ["0", "12", "999", "1 000", "4 491 630"]
        );
    }

    #[test]
    fn one_of_something_is_not_plural() {
        assert_eq!(
            (counted(1, "cell"), counted(2, "cell")),
            ("1 cell".into(), "2 cells".into())
        );
        assert_eq!(
            (of_rounds(1), of_rounds(3)),
            ("one round".into(), "median of 3 rounds".into())
        );
    }

    #[test]
    fn times_have_three_digits() {
        for (nanos, text) in [
            (41.6, "41.6 ns"),
            (18_540.0, "18.5 µs"),
            (722_770.0, "723 µs"),
            (2.5e6, "2.5 ms"),
        ] {
            assert_eq!(time(nanos), text);
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
