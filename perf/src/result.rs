// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the rounds of one cell showed together.

use super::case::{Case, Kind};
use super::footprint::{Cost, Costs};
use super::latency::{PERCENTILES, Trips};
use super::throughput::Flow;

/// One round of one cell.
#[derive(Clone, Debug)]
pub enum Round {
    /// Throughput.
    Flow(Flow),
    /// Round trips.
    Trips(Trips),
}

impl Round {
    /// Messages, or round trips, per second.
    pub fn rate(&self) -> f64 {
        match self {
            Round::Flow(flow) => flow.rate,
            Round::Trips(trips) => trips.rate,
        }
    }

    /// What each program used per message.
    pub fn costs(&self) -> &Costs {
        match self {
            Round::Flow(flow) => &flow.costs,
            Round::Trips(trips) => &trips.costs,
        }
    }
}

/// All rounds of one system in one case.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The case.
    pub case: Case,
    /// The system's name.
    pub system: &'static str,
    /// The rounds that went well.
    pub rounds: Vec<Round>,
    /// Why the others did not.
    pub trouble: Option<String>,
}

/// Middle and ends of several figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The middle one, or the mean of the two in the middle.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// Of any number of figures; `None` of none.
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

impl Cell {
    /// Messages, or round trips, per second.
    pub fn rate(&self) -> Option<Spread> {
        Spread::of(self.rounds.iter().map(Round::rate))
    }

    /// Payload moved, in bits per second; no figure for round trips, which do not try to fill the link.
    pub fn bits(&self) -> Option<f64> {
        (self.case.kind == Kind::Throughput).then_some(())?;
        Some(self.rate()?.median * self.case.size as f64 * 8.0)
    }

    /// The median of each program's CPU time per message, in nanoseconds.
    pub fn cpu(&self) -> Vec<(&'static str, Option<f64>)> {
        self.cost(|cost| cost.cpu_nanos)
    }

    /// The median of one figure of each program.
    pub fn cost(&self, figure: fn(&Cost) -> Option<f64>) -> Vec<(&'static str, Option<f64>)> {
        let Some(first) = self.rounds.first() else {
            return Vec::new();
        };
        let median = |role: &str| {
            let all = self
                .rounds
                .iter()
                .flat_map(|r| r.costs())
                .filter(|(of, _)| *of == role);
            Spread::of(all.filter_map(|(_, cost)| figure(cost))).map(|s| s.median)
        };
        let roles = first.costs().iter().map(|(role, _)| *role);
        roles.map(|role| (role, median(role))).collect()
    }

    /// The percentiles of the table and then the longest, in microseconds; empty for throughput.
    pub fn micros(&self) -> Vec<(&'static str, Spread)> {
        let of = |value: &dyn Fn(&Trips) -> f64| {
            Spread::of(self.rounds.iter().filter_map(|round| match round {
                Round::Trips(trips) => Some(value(trips)),
                Round::Flow(_) => None,
            }))
        };
        let mut all: Vec<_> = PERCENTILES
            .iter()
            .filter_map(|(name, p)| Some((*name, of(&|trips| trips.micros(*p))?)))
            .collect();
        all.extend(of(&Trips::max_micros).map(|s| ("max", s)));
        all
    }

    /// How many times better this cell is than `other`: messages per second, or for round trips the
    /// other's median time over this one's.
    pub fn times_better(&self, other: &Cell) -> Option<f64> {
        let middle = |cell: &Cell| cell.micros().first().map(|(_, s)| s.median);
        match (middle(self), middle(other)) {
            (Some(own), Some(others)) => Some(others / own),
            _ => Some(self.rate()?.median / other.rate()?.median),
        }
    }
}

/// The cell of another system in the same case.
pub fn beside<'a>(cells: &'a [Cell], cell: &Cell, system: &str) -> Option<&'a Cell> {
    cells
        .iter()
        .find(|c| c.case == cell.case && c.system == system)
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
