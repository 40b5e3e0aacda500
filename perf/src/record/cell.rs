// SPDX-License-Identifier: MIT OR Apache-2.0
//! One system in one case: its metrics with the figure of each round.

use std::collections::BTreeMap;
use std::fmt;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::spread::Spread;
use crate::histogram::histogram_of;

/// Pairs of nanoseconds and count, ascending.
pub type Pairs = Vec<(u64, u64)>;

/// One system in one case at one x.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The system: `zonda`, `zenoh`, `bare sockets`, `node`.
    pub system: String,
    /// The case: `p2p`, `routed`, `routed fan-out 50`.
    pub case: String,
    /// The place on the x axis of a curve, if the case has one.
    pub x: Option<X>,
    /// The figures by name; none if the cell could not be measured.
    pub metrics: BTreeMap<String, Metric>,
    /// The reason of a failure, or a note for the reader.
    pub note: Option<String>,
    /// The latencies of each round, where they are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nanos_times: Vec<Pairs>,
    /// (nanoseconds, messages) at the receiver since it began, for each reading of each round, where they are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages_at_nanos: Vec<Pairs>,
}

/// Figures of one round.
#[derive(Clone, Debug, Default)]
pub struct Round {
    figures: Vec<(String, &'static str, Better, f64)>,
    /// The recorded latencies.
    pub nanos_times: Pairs,
    /// The readings of the receiver's count.
    pub messages_at_nanos: Pairs,
    /// Lost, duplicated or reordered messages, if there were any.
    pub fault: Option<String>,
}

impl Round {
    /// Creates a round with these latencies.
    pub fn of_latencies(nanos_times: Pairs) -> Self {
        Round {
            nanos_times,
            ..Round::default()
        }
    }

    /// Creates a round with these readings of the receiver's count.
    pub fn of_readings(messages_at_nanos: Pairs) -> Self {
        Round {
            messages_at_nanos,
            ..Round::default()
        }
    }

    /// Adds a figure.
    pub fn add(
        &mut self,
        name: impl Into<String>,
        unit: &'static str,
        better: Better,
        figure: f64,
    ) {
        self.figures.push((name.into(), unit, better, figure));
    }

    /// Adds a figure of a program, if it is known.
    pub fn add_of(
        &mut self,
        program: [&str; 2],
        unit: &'static str,
        better: Better,
        figure: Option<f64>,
    ) {
        if let Some(figure) = figure {
            self.add(program.join("_"), unit, better, figure);
        }
    }

    /// Returns the figure of that name.
    pub fn figure(&self, name: &str) -> Option<f64> {
        let found = self.figures.iter().find(|(of, ..)| of == name);
        found.map(|(_, _, _, figure)| *figure)
    }

    /// Formats these figures in one line, or all figures if `names` is empty.
    pub fn line(&self, names: &[&str]) -> String {
        let is_shown = |name: &str| names.is_empty() || names.contains(&name);
        let shown = self.figures.iter().filter(|(name, ..)| is_shown(name));
        let texts: Vec<String> = shown
            .map(|(name, unit, _, figure)| {
                // Records use ASCII only; texts for readers use the usual unit.
                let unit = if *unit == "us" { "µs" } else { *unit };
                format!("{name} {figure:.1} {unit}")
            })
            .collect();
        texts.join(", ")
    }
}

/// A place on an x axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct X {
    /// The quantity that varies: `size`, `rate`, `connections`.
    pub name: String,
    /// The quantity's unit.
    pub unit: String,
    /// The value.
    pub value: f64,
}

/// One kind of figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// The figures' unit.
    pub unit: String,
    /// The direction in which it improves.
    pub better: Better,
    /// The figure of each round, in the order of the rounds.
    pub rounds: Vec<f64>,
}

/// The direction in which a figure improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// A description of the run, which is not compared.
    Neither,
}

impl Cell {
    /// Creates a cell without an x and without figures.
    pub fn new(system: impl Into<String>, case: impl Into<String>) -> Self {
        Cell {
            system: system.into(),
            case: case.into(),
            x: None,
            metrics: BTreeMap::new(),
            note: None,
            nanos_times: Vec::new(),
            messages_at_nanos: Vec::new(),
        }
    }

    /// Places the cell on an x axis.
    #[cfg(test)]
    pub fn at(mut self, name: &str, unit: &str, value: f64) -> Self {
        self.x = Some(X::new(name, unit, value));
        self
    }

    /// Appends the figures of a round; the first fault of all rounds is kept.
    pub fn append(&mut self, round: Round) {
        for (name, unit, better, figure) in round.figures {
            self.add(&name, unit, better, figure);
        }
        if let Some(fault) = round.fault {
            self.note.get_or_insert(fault);
        }
        for (kept, pairs) in [
            (&mut self.nanos_times, round.nanos_times),
            (&mut self.messages_at_nanos, round.messages_at_nanos),
        ] {
            if !pairs.is_empty() {
                kept.push(pairs);
            }
        }
    }

    /// Appends the figure of one round. A figure that is not finite is left out, because a file
    /// cannot hold it. The unit and the direction are those of the first round.
    pub fn add(&mut self, metric: &str, unit: &str, better: Better, figure: f64) {
        if !figure.is_finite() {
            return;
        }
        let metric = self.metrics.entry(metric.to_owned());
        let metric = metric.or_insert_with(|| Metric {
            unit: unit.to_owned(),
            better,
            rounds: Vec::new(),
        });
        metric.rounds.push(figure);
    }

    /// Marks the cell as not measurable, with the reason.
    pub fn fail(&mut self, why: impl Into<String>) {
        self.metrics.clear();
        self.nanos_times.clear();
        self.messages_at_nanos.clear();
        self.note = Some(why.into());
    }

    /// Returns the figures of a metric, by rounds.
    pub fn rounds(&self, metric: &str) -> &[f64] {
        self.metrics.get(metric).map_or(&[], |m| &m.rounds)
    }

    /// Returns the sum of a metric over the rounds.
    pub fn sum(&self, metric: &str) -> f64 {
        // the sum of no figures is -0
        self.rounds(metric).iter().sum::<f64>() + 0.0
    }

    /// Returns the latencies of all rounds together, if there are some.
    pub fn latencies(&self) -> Option<Histogram<u64>> {
        let all = histogram_of(self.nanos_times.iter().flatten().copied());
        (!all.is_empty()).then_some(all)
    }

    /// Returns the median and the range of a metric over the rounds.
    pub fn spread(&self, metric: &str) -> Option<Spread> {
        self.metrics.get(metric)?.spread()
    }

    /// Returns the number of rounds that were measured.
    pub fn measured(&self) -> usize {
        let each = self.metrics.values().map(|metric| metric.rounds.len());
        each.max().unwrap_or(0)
    }

    /// Returns the median of a metric over the rounds.
    pub fn median(&self, metric: &str) -> Option<f64> {
        self.spread(metric).map(|s| s.median)
    }
}

impl X {
    /// Creates a place.
    pub fn new(name: &str, unit: &str, value: f64) -> Self {
        X {
            name: name.to_owned(),
            unit: unit.to_owned(),
            value,
        }
    }
}

impl Metric {
    /// Returns the median and the range over the rounds.
    pub fn spread(&self) -> Option<Spread> {
        Spread::of(self.rounds.iter().copied())
    }
}

/// Returns true if every word of one of the `filters`, if there are any, is part of a cell's
/// `name`.
pub fn is_chosen(name: &str, filters: &[String]) -> bool {
    let name = name.to_lowercase();
    let has_all = |filter: &String| {
        let mut words = filter.split_whitespace();
        words.all(|word| name.contains(&word.to_lowercase()))
    };
    filters.is_empty() || filters.iter().any(has_all)
}

/// The name of a cell in lists: `zonda p2p size 8 B`.
impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.system, self.case)?;
        match &self.x {
            Some(x) => write!(f, " {x}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for X {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.name, self.value, self.unit)
    }
}
