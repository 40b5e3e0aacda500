// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the rounds of one cell showed, and what they come to together.

use std::collections::BTreeMap;

use super::plan::Key;
use crate::histogram::{histogram_of, micros, pairs};
use crate::record::Spread;
use crate::rtt::outcome::{Outcome, PERCENTILES};

/// Other programs used more than this much of a processor: the figures are flagged.
pub const DISTURBED: f64 = 0.25;
/// Points of a distribution function.
const POINTS: usize = 60;
/// Classes of a density in a factor of ten.
const CLASSES: f64 = 20.0;

/// One round.
#[derive(Clone, Debug)]
pub struct Round {
    /// Round trips per second, where that is known.
    pub achieved: Option<f64>,
    /// Messages sent.
    pub sent: u64,
    /// Messages without an answer in time.
    pub lost: u64,
    /// CPU time of the asking side for each round trip, in nanoseconds.
    pub cpu_nanos: Option<f64>,
    /// Times that a thread of the asking side went to sleep, for each round trip.
    pub sleeps: Option<f64>,
    /// Processors that other programs used meanwhile, such as 0.5.
    pub others: Option<f64>,
    /// (nanoseconds, how often), ascending.
    pub pairs: Vec<(u64, u64)>,
}

impl Round {
    /// A run's result, in little memory.
    pub fn of(outcome: &Outcome, others: Option<f64>) -> Self {
        Round {
            achieved: Some(outcome.achieved),
            sent: outcome.sent,
            lost: outcome.lost,
            cpu_nanos: outcome.cpu_nanos,
            sleeps: outcome.sleeps,
            others,
            pairs: pairs(&outcome.histogram),
        }
    }
}

/// All rounds of one cell.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Which one.
    pub key: Key,
    /// Those that went well.
    pub rounds: Vec<Round>,
    /// Why the others did not.
    pub trouble: Option<String>,
}

/// The figures of a cell. Times are in microseconds.
#[derive(Clone, Debug)]
pub struct Summary {
    /// At the percentiles of [`PERCENTILES`], of all rounds together.
    pub micros: Vec<(&'static str, f64)>,
    /// The medians of the rounds.
    pub medians: Spread,
    /// Round trips per second, where that is known.
    pub achieved: Option<Spread>,
    /// Messages sent.
    pub sent: u64,
    /// Messages without an answer in time.
    pub lost: u64,
    /// CPU time of the asking side for each round trip.
    pub cpu_micros: Option<f64>,
    /// Times that a thread of the asking side went to sleep, for each round trip.
    pub sleeps: Option<f64>,
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

impl Cell {
    /// The figures; `None` if there was no round trip.
    pub fn summary(&self) -> Option<Summary> {
        let all = histogram_of(self.rounds.iter().flat_map(|r| &r.pairs).copied());
        if all.is_empty() {
            return None;
        }
        let median = |figure: fn(&Round) -> Option<f64>| {
            Spread::of(self.rounds.iter().filter_map(figure)).map(|s| s.median)
        };
        let others = self.rounds.iter().filter_map(|r| r.others);
        Some(Summary {
            micros: PERCENTILES
                .iter()
                .map(|(n, p)| (*n, micros(&all, *p)))
                .collect(),
            medians: Spread::of(self.rounds.iter().filter_map(median_of))?,
            achieved: Spread::of(self.rounds.iter().filter_map(|r| r.achieved)),
            sent: self.rounds.iter().map(|r| r.sent).sum(),
            lost: self.rounds.iter().map(|r| r.lost).sum(),
            cpu_micros: median(|r| r.cpu_nanos).map(|n| n / 1e3),
            sleeps: median(|r| r.sleeps),
            others: others.max_by(f64::total_cmp),
            distribution: (0..=POINTS)
                .map(|at| at as f64 / POINTS as f64)
                .map(|share| (all.value_at_quantile(share) as f64 / 1e3, share))
                .collect(),
            density: density(self.rounds.iter().flat_map(|r| &r.pairs)),
        })
    }
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

/// In microseconds.
fn median_of(round: &Round) -> Option<f64> {
    let total: u64 = round.pairs.iter().map(|(_, times)| times).sum();
    let mut seen = 0;
    let middle = round.pairs.iter().find(|(_, times)| {
        seen += times;
        seen * 2 >= total
    });
    middle.map(|(nanos, _)| *nanos as f64 / 1e3)
}

#[cfg(test)]
pub mod tests {
    use super::super::plan::{Case, Framework};
    use super::super::rate::Rate;
    use super::*;
    use crate::rtt::arguments::Transport;
    use crate::rtt::backend::Backend;
    use crate::rtt::pacing::Pacing;

    /// A cell with one round for each list of microseconds.
    pub fn cell(backend: Backend, rate: Rate, rounds: &[&[u64]]) -> Cell {
        let round = |micros: &&[u64]| Round {
            achieved: Some(micros.len() as f64),
            sent: micros.len() as u64 + 1,
            lost: 1,
            cpu_nanos: Some(2_000.0),
            sleeps: None,
            others: Some(0.1),
            pairs: micros.iter().map(|m| (m * 1000, 1)).collect(),
        };
        Cell {
            key: Key {
                framework: Framework::Runs(backend),
                case: Case {
                    transport: Transport::Tcp,
                    pacing: Pacing::Exact,
                    tasks: 0,
                    rate,
                },
            },
            rounds: rounds.iter().map(round).collect(),
            trouble: None,
        }
    }

    #[test]
    fn rounds_come_together() {
        let cell = cell(
            Backend::Std,
            Rate::Infinite,
            &[&[10, 11, 12], &[20, 30, 40, 50]],
        );
        let summary = cell.summary().expect("seven round trips");
        assert!((summary.at("p50") - 20.0).abs() < 0.1, "{summary:?}");
        assert_eq!((summary.medians.min, summary.medians.max), (11.0, 30.0));
        assert_eq!((summary.sent, summary.lost), (9, 2));
        assert!((summary.loss_percent() - 22.2).abs() < 0.1);
        assert_eq!(summary.cpu_micros, Some(2.0));
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
        assert!(cell(Backend::Std, Rate::Infinite, &[]).summary().is_none());
    }
}
