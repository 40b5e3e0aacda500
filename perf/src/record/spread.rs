// SPDX-License-Identifier: MIT OR Apache-2.0
//! Median and range of the figures of several rounds.

/// The median and the range of several figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The middle figure, or the mean of the two in the middle.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// Computes the spread of any number of figures; `None` if there are none.
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = figures.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let upper = sorted.get(sorted.len() / 2)?;
        let lower = sorted.get((sorted.len() - 1) / 2)?;
        Some(Spread {
            median: (lower + upper) / 2.0,
            min,
            max,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_of_few_figures() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(
            Spread::of([3.0]),
            Some(Spread {
                median: 3.0,
                min: 3.0,
                max: 3.0
            })
        );
        assert_eq!(
            Spread::of([4.0, 1.0]),
            Some(Spread {
                median: 2.5,
                min: 1.0,
                max: 4.0
            })
        );
        assert_eq!(
            Spread::of([9.0, 1.0, 2.0]),
            Some(Spread {
                median: 2.0,
                min: 1.0,
                max: 9.0
            })
        );
    }
}
