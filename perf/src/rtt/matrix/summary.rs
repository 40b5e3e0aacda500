// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the rounds of one cell come to together.

use std::collections::BTreeMap;

use crate::histogram::{histogram_of, micros};
use crate::record::{Cell, Spread};
use crate::rtt::outcome::PERCENTILES;

/// Other programs used more than this much of a processor: the figures are flagged.
pub const DISTURBED: f64 = 0.25;
/// Points of a distribution function.
const POINTS: usize = 60;
/// Classes of a density in a factor of ten.
const CLASSES: f64 = 20.0;

/// The figures of a cell. Times are in microseconds.
#[derive(Clone, Debug)]
pub struct Summary {
    /// At the percentiles of [`PERCENTILES`], of all rounds together.
    pub micros: Vec<(&'static str, f64)>,
    /// Round trips per second, where that is known.
    pub achieved: Option<Spread>,
    /// Messages sent.
    pub sent: u64,
    /// Messages without an answer in time.
    pub lost: u64,
    /// Processors that other programs used, in the worst round.
    pub others: Option<f64>,
    /// The distribution function: time, and the share of round trips that were not slower.
    pub distribution: Vec<(f64, f64)>,
    /// The density: the middle of a class of times, and the share of round trips in it.
    pub density: Vec<(f64, f64)>,
}

impl Summary {
    /// The time at one of [`PERCENTILES`].
    pub fn at(&self, name: &str) -> f64 {
        let found = self.micros.iter().find(|(n, _)| *n == name);
        found.map_or(f64::NAN, |(_, micros)| *micros)
    }

    /// Whether other programs were busy.
    pub fn is_disturbed(&self) -> bool {
        self.others.is_some_and(|others| others > DISTURBED)
    }

    /// The share of messages lost, in percent.
    pub fn loss_percent(&self) -> f64 {
        self.lost as f64 * 100.0 / self.sent.max(1) as f64
    }
}

/// The figures of a cell; `None` if there was no round trip.
pub fn summary(cell: &Cell) -> Option<Summary> {
    let all = histogram_of(cell.nanos_times.iter().flatten().copied());
    if all.is_empty() {
        return None;
    }
    let sum = |metric| cell.rounds(metric).iter().sum::<f64>() as u64;
    Some(Summary {
        micros: PERCENTILES
            .iter()
            .map(|(n, p)| (*n, micros(&all, *p)))
            .collect(),
        achieved: cell.spread("rate"),
        sent: sum("sent"),
        lost: sum("lost"),
        others: cell.spread("others").map(|others| others.max),
        distribution: (0..=POINTS)
            .map(|at| at as f64 / POINTS as f64)
            .map(|share| (all.value_at_quantile(share) as f64 / 1e3, share))
            .collect(),
        density: density(cell.nanos_times.iter().flatten()),
    })
}

/// The shares in classes of the same width on a logarithmic axis, with those between them that are empty.
fn density<'p>(pairs: impl Iterator<Item = &'p (u64, u64)>) -> Vec<(f64, f64)> {
    let mut classes: BTreeMap<i64, u64> = BTreeMap::new();
    for (nanos, times) in pairs {
        let micros = (*nanos).max(1) as f64 / 1e3;
        *classes
            .entry((micros.log10() * CLASSES).floor() as i64)
            .or_default() += times;
    }
    let total: u64 = classes.values().sum();
    let ends = classes.keys().next().zip(classes.keys().next_back());
    let Some((first, last)) = ends else {
        return Vec::new();
    };
    let share = |class| classes.get(&class).copied().unwrap_or(0) as f64 / total.max(1) as f64;
    (first - 1..=last + 1)
        .map(|class| (10_f64.powf((class as f64 + 0.5) / CLASSES), share(class)))
        .collect()
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::record::{Better, Round};

    /// A cell with one round for each list of microseconds.
    pub fn cell(rounds: &[&[u64]]) -> Cell {
        let mut cell = Cell::new("smol", "tcp exact 0 tasks");
        for micros in rounds {
            let mut round = Round::of_latencies(micros.iter().map(|m| (m * 1000, 1)).collect());
            for (name, figure) in [
                ("rate", micros.len() as f64),
                ("sent", micros.len() as f64 + 1.0),
                ("lost", 1.0),
                ("others", 0.1),
            ] {
                round.add(name, "", Better::Neither, figure);
            }
            cell.append(round);
        }
        cell
    }

    #[test]
    fn rounds_come_together() {
        let cell = cell(&[&[10, 11, 12], &[20, 30, 40, 50]]);
        let summary = summary(&cell).expect("seven round trips");
        assert!((summary.at("p50") - 20.0).abs() < 0.1, "{summary:?}");
        assert_eq!((summary.sent, summary.lost), (9, 2));
        assert!((summary.loss_percent() - 22.2).abs() < 0.1);
        assert!(!summary.is_disturbed());
        assert!(summary.distribution.is_sorted());
        let (last, all) = summary.distribution.last().expect("points");
        assert!((last - 50.0).abs() < 0.1 && *all == 1.0);
    }

    #[test]
    fn a_density_has_the_gaps_too() {
        let density = density([(10_000, 3), (12_590, 1)].iter());
        let shares: Vec<f64> = density.iter().map(|(_, share)| *share).collect();
        assert_eq!(shares, [0.0, 0.75, 0.0, 0.25, 0.0]);
        assert!(density[1].0 > 10.0 && density[1].0 < 11.3, "{density:?}");
    }

    #[test]
    fn no_round_no_figures() {
        assert!(summary(&cell(&[])).is_none());
    }
}
