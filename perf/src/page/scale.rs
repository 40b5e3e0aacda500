// SPDX-License-Identifier: MIT OR Apache-2.0
//! Axes of a figure.

use crate::numbers::Unit;

/// An axis on which equal distances are equal factors.
#[derive(Clone, Copy, Debug)]
pub struct Logarithmic {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Logarithmic {
    /// Creates an axis from `low` at `from` to `high` at `to`. Values must be above zero.
    pub fn new(low: f64, high: f64, from: f64, to: f64) -> Self {
        let low = low.max(f64::MIN_POSITIVE);
        Logarithmic {
            low,
            high: high.max(low * 1.01),
            from,
            to,
        }
    }

    /// Returns the place of a value; values beyond an end are clamped to it.
    pub fn at(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        self.from + share * (self.to - self.from)
    }

    /// Returns 1, 2 and 5 times each power of ten in the range, at least `apart` from each other;
    /// only powers of ten if there is no room for all. A range with fewer than two of these gets
    /// round numbers at equal distances.
    pub fn marks(&self, apart: f64) -> Vec<f64> {
        let marks = self.marks_by_factor(apart);
        match marks.len() {
            0 | 1 => self.marks_by_step(),
            _ => marks,
        }
    }

    /// Returns [`marks`](Self::marks) at round numbers of the labels' unit: memory is counted in
    /// powers of 1024.
    pub fn marks_in(&self, unit: Unit, apart: f64) -> Vec<f64> {
        let bytes = match unit {
            Unit::Kibibytes => 1024.0,
            _ => return self.marks(apart),
        };
        let mut one = 1.0 / bytes;
        while one * 1024.0 <= self.high {
            one *= 1024.0;
        }
        let scaled = Logarithmic::new(self.low / one, self.high / one, self.from, self.to);
        let marks = scaled.marks(apart).into_iter();
        marks.map(|mark| mark * one).collect()
    }

    fn marks_by_step(&self) -> Vec<f64> {
        let least = (self.high - self.low) / 5.0;
        let power = 10_f64.powf(least.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
        let step = step.into_iter().find(|step| *step >= least);
        let step = step.unwrap_or(least);
        let first = (self.low / step).ceil();
        let all = (0..6).map(|n| (first + f64::from(n)) * step);
        all.filter(|value| *value <= self.high).collect()
    }

    fn marks_by_factor(&self, apart: f64) -> Vec<f64> {
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
    fn marks_of_memory_are_round_in_their_unit() {
        let axis = Logarithmic::new(9_000.0, 19_000.0, 300.0, 0.0);
        let marks = axis.marks_in(Unit::Kibibytes, 18.0);
        let labels: Vec<_> = marks
            .iter()
            .map(|mark| Unit::Kibibytes.label(*mark))
            .collect();
        assert!(
            labels
                .iter()
                .all(|label| !label.contains('.') && label.ends_with(" MiB")),
            "{labels:?}"
        );
        assert!(labels.len() > 1, "{labels:?}");
    }

    #[test]
    fn marks_are_round_numbers() {
        let marks = |low, high| Logarithmic::new(low, high, 0.0, 400.0).marks(50.0);
        let near = |a: Vec<f64>, b: &[f64]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6)
        };
        assert!(near(marks(4.0, 60.0), &[5.0, 10.0, 20.0, 50.0]));
        assert!(near(marks(1.0, 1e5), &[1.0, 10.0, 100.0, 1e3, 1e4, 1e5]));
        assert!(near(
            marks(8300.0, 12_300.0),
            &[9000.0, 10_000.0, 11_000.0, 12_000.0]
        ));
        assert!(marks(110.0, 140.0).len() > 2);
    }
}
