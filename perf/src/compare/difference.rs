// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures of two records, cell by cell and metric by metric, and the significance of their
//! differences.

use crate::rank;
use crate::record::{Better, Cell, Metric, Record, Spread, is_chosen};

/// Systems that this project does not change: if their figures differ, the machine differs.
const YARDSTICKS: [&str; 3] = ["bare sockets", "bare", "zenoh"];

/// The maximum number of rounds to test: the exact test of more takes long, and a difference that
/// needs more rounds to show is of no use.
const ROUNDS_MAX: usize = 50;

/// The selection of a comparison.
pub struct Choice<'a> {
    /// Names of metrics; all if empty.
    pub metrics: &'a [String],
    /// Words that a cell's name must contain; all cells if empty.
    pub only: &'a [String],
    /// The significance level.
    pub level: f64,
}

/// One metric of one cell in both records.
#[derive(Clone, Debug)]
pub struct Difference<'r> {
    /// The cell in the first record.
    pub cell: &'r Cell,
    /// The metric's name.
    pub metric: &'r str,
    /// The metric's unit.
    pub unit: &'r str,
    /// Middle and ends in the first record.
    pub before: Spread,
    /// Middle and ends in the second.
    pub after: Spread,
    /// The p-value, after Holm's correction.
    pub p: f64,
    /// The conclusion.
    pub change: Change,
    rounds: usize,
}

/// The change of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Not significant.
    None,
    /// Better.
    Better,
    /// Worse.
    Worse,
}

/// The common figures of two records, and the cells of one only.
#[derive(Debug)]
pub struct Comparison<'r> {
    /// Figures of this project's own systems.
    pub own: Vec<Difference<'r>>,
    /// Figures of the yardsticks.
    pub yardsticks: Vec<Difference<'r>>,
    /// Cells that have figures in the first record and none in the second.
    pub broken: Vec<String>,
    /// Cells that are in one record only.
    pub alone: Vec<String>,
    level: f64,
}

impl<'r> Comparison<'r> {
    /// Compares the cells and metrics of `choice`. The yardsticks are a separate family of tests.
    pub fn of(before: &'r Record, after: &'r Record, choice: &Choice<'_>) -> Self {
        let mut comparison = Comparison {
            own: Vec::new(),
            yardsticks: Vec::new(),
            broken: Vec::new(),
            alone: Vec::new(),
            level: choice.level,
        };
        let is_asked = |cell: &&Cell| is_chosen(&cell.to_string(), choice.only);
        let find = |record: &'r Record, cell: &Cell| record.cells.iter().find(|c| is_same(c, cell));
        // compare the cells of both records, and list cells of one record only
        for cell in before.cells.iter().filter(is_asked) {
            match find(after, cell) {
                Some(other) => comparison.add(cell, other, choice),
                None => comparison
                    .alone
                    .push(format!("{cell} is in the first only")),
            }
        }
        for cell in after.cells.iter().filter(is_asked) {
            if find(before, cell).is_none() {
                comparison
                    .alone
                    .push(format!("{cell} is in the second only"));
            }
        }
        // correct each family of tests by itself
        for family in [&mut comparison.own, &mut comparison.yardsticks] {
            judge(family, choice.level);
        }
        comparison
    }

    fn add(&mut self, before: &'r Cell, after: &'r Cell, choice: &Choice<'_>) {
        let is_yardstick = YARDSTICKS.contains(&before.system.as_str());
        if !before.metrics.is_empty() && after.metrics.is_empty() && !is_yardstick {
            let why = after.note.as_deref().unwrap_or("it has no figures");
            self.broken.push(format!("{before}: {why}"));
        }
        let family = match is_yardstick {
            true => &mut self.yardsticks,
            false => &mut self.own,
        };
        for (name, metric) in &before.metrics {
            let is_asked = choice.metrics.is_empty() || choice.metrics.contains(name);
            let Some(other) = after.metrics.get(name).filter(|_| is_asked) else {
                continue;
            };
            family.extend(difference(before, name, metric, other));
        }
    }

    /// Returns true if there was nothing to compare.
    pub fn is_empty(&self) -> bool {
        self.own.is_empty() && self.yardsticks.is_empty() && self.broken.is_empty()
    }

    /// Returns the number of this project's own figures that are worse, or missing.
    pub fn worse(&self) -> usize {
        self.broken.len() + count(&self.own, Change::Worse)
    }

    /// Returns notes for the reader, in addition to the table.
    pub fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self
            .broken
            .iter()
            .map(|b| format!("not measured any more: {b}"))
            .collect();
        notes.extend(self.alone.iter().cloned());
        let moved = self.yardsticks.iter().filter(|d| d.change != Change::None);
        let moved: Vec<&str> = moved.map(|d| d.cell.system.as_str()).collect();
        if let Some(first) = moved.first() {
            notes.push(format!(
                "{} figures of yardsticks have changed (such as {first}): the machine was not the same",
                moved.len()
            ));
        }
        notes.extend(self.too_few());
        notes
    }

    /// Returns a note if the rounds are too few for any difference to be significant.
    fn too_few(&self) -> Option<String> {
        let rounds = self.own.iter().map(|d| d.rounds).min()?;
        let needed = rank::rounds_needed(rounds, self.own.len(), self.level)?;
        if needed == rounds {
            return None;
        }
        Some(format!(
            "{rounds} rounds cannot tell a single one of {} differences from chance: take {needed} \
             rounds or more, or choose with --metrics and --only",
            self.own.len()
        ))
    }
}

/// Returns the number of differences with this conclusion.
pub fn count(all: &[Difference<'_>], change: Change) -> usize {
    all.iter().filter(|d| d.change == change).count()
}

fn is_same(a: &Cell, b: &Cell) -> bool {
    a.system == b.system && a.case == b.case && a.x == b.x
}

/// Compares one metric; its `p` is not corrected yet.
fn difference<'r>(
    cell: &'r Cell,
    name: &'r str,
    before: &'r Metric,
    after: &Metric,
) -> Option<Difference<'r>> {
    if before.better == Better::Neither || before.unit != after.unit {
        return None;
    }
    let (from, to) = (before.spread()?, after.spread()?);
    let has_risen = to.median > from.median;
    let change = match (
        to.median == from.median,
        has_risen == (before.better == Better::Higher),
    ) {
        // ranks may differ where medians do not
        (true, _) => Change::None,
        (false, true) => Change::Better,
        (false, false) => Change::Worse,
    };
    Some(Difference {
        cell,
        metric: name,
        unit: &before.unit,
        before: from,
        after: to,
        p: rank::p_value(first_rounds(before), first_rounds(after)),
        change,
        rounds: first_rounds(before).len().min(first_rounds(after).len()),
    })
}

fn first_rounds(metric: &Metric) -> &[f64] {
    let count = metric.rounds.len().min(ROUNDS_MAX);
    metric.rounds.get(..count).unwrap_or_default()
}

/// Corrects the p-values of a family of tests, and resets the changes that are not significant.
fn judge(family: &mut [Difference<'_>], level: f64) {
    let values: Vec<f64> = family.iter().map(|d| d.p).collect();
    for (difference, p) in family.iter_mut().zip(rank::corrected(&values)) {
        difference.p = p;
        if p >= level {
            difference.change = Change::None;
        }
    }
}
