// SPDX-License-Identifier: MIT OR Apache-2.0
//! One system in one case: its metrics with the figure of each round.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::result::Spread;

/// One system in one case at one x.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Who was measured: `zonda`, `zenoh`, `bare sockets`, `node`.
    pub system: String,
    /// What was measured: `p2p`, `routed`, `routed fan-out 50`.
    pub case: String,
    /// Where on the x axis of a curve, if the case has one.
    pub x: Option<X>,
    /// The figures by name; none if the cell could not be measured.
    pub metrics: BTreeMap<String, Metric>,
    /// Why it could not be measured, or what a reader should know.
    pub note: Option<String>,
}

/// A place on an x axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct X {
    /// What varies: `size`, `rate`, `connections`.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Where.
    pub value: f64,
}

/// One kind of figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Its unit.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// The figure of each round, in the order of the rounds.
    pub rounds: Vec<f64>,
}

/// Which way a figure gets better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// The more the better.
    Higher,
    /// The less the better.
    Lower,
    /// It describes the run and is not compared.
    Neither,
}

impl Cell {
    /// A cell without an x and without figures.
    pub fn new(system: impl Into<String>, case: impl Into<String>) -> Self {
        Cell {
            system: system.into(),
            case: case.into(),
            x: None,
            metrics: BTreeMap::new(),
            note: None,
        }
    }

    /// The same at a place on an x axis.
    pub fn at(mut self, name: &str, unit: &str, value: f64) -> Self {
        self.x = Some(X {
            name: name.to_owned(),
            unit: unit.to_owned(),
            value,
        });
        self
    }

    /// Appends the figure of one round. A figure that is not finite is left out, as a file could not
    /// hold it. The unit and the direction are those of the first round.
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

    /// The cell could not be measured, and why.
    pub fn fail(&mut self, why: impl Into<String>) {
        self.metrics.clear();
        self.note = Some(why.into());
    }

    /// Middle and ends of a metric over the rounds.
    pub fn spread(&self, metric: &str) -> Option<Spread> {
        self.metrics.get(metric)?.spread()
    }

    /// The median of a metric over the rounds.
    pub fn median(&self, metric: &str) -> Option<f64> {
        self.spread(metric).map(|s| s.median)
    }
}

impl Metric {
    /// Middle and ends over the rounds.
    pub fn spread(&self) -> Option<Spread> {
        Spread::of(self.rounds.iter().copied())
    }
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
