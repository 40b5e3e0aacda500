// SPDX-License-Identifier: MIT OR Apache-2.0
//! Histograms of nanoseconds, and their form as pairs in lines and files.

use hdrhistogram::Histogram;

/// The longest time that is distinguished, in nanoseconds.
const LONGEST: u64 = 60_000_000_000;
/// Significant digits of a recorded value.
const DIGITS: u8 = 3;

/// Returns an empty histogram.
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST, DIGITS).expect("the bounds are constants in order")
}

/// Returns the histogram of pairs, (nanoseconds, count).
pub fn histogram_of(pairs: impl IntoIterator<Item = (u64, u64)>) -> Histogram<u64> {
    let mut all = histogram();
    for (nanos, times) in pairs {
        all.saturating_record_n(nanos, times);
    }
    all
}

/// Returns the pairs of a histogram, (nanoseconds, count), ascending.
pub fn pairs(histogram: &Histogram<u64>) -> Vec<(u64, u64)> {
    let recorded = histogram.iter_recorded();
    recorded
        .map(|v| (v.value_iterated_to(), v.count_at_value()))
        .collect()
}

/// Returns the time at a percentile (0 to 100), in microseconds.
pub fn micros(histogram: &Histogram<u64>, percentile: f64) -> f64 {
    histogram.value_at_quantile(percentile / 100.0) as f64 / 1e3
}
