// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recommended runtimes, and the significance of their differences. In each round a runtime has one
//! score: the geometric mean of its figures over the cases of the question. The best median wins;
//! every other runtime is compared with it round by round.

use serde_json::{Value, json};

use crate::campaign::Entry;
use crate::measure::ROLES;
use crate::rank;
use crate::record::{Cell, Spread};
use crate::scenario::rates::Pace;
use crate::scenario::{Receiving, Scenario, distinct};

/// The significance level.
pub const LEVEL: f64 = 0.05;

/// A purpose for which a runtime is recommended.
#[derive(Debug)]
pub struct AdvicePurpose {
    /// The purpose.
    pub name: &'static str,
    /// Unit of its figures.
    pub unit: &'static str,
    /// True if more is better.
    pub is_more_better: bool,
    /// A filter of the cases.
    asks: fn(&Scenario) -> bool,
    /// The figures of a case, by rounds.
    figures: fn(&Cell) -> Vec<f64>,
}

/// All questions.
pub const QUESTIONS: [AdvicePurpose; 4] = [
    AdvicePurpose {
        name: "latency, p50",
        unit: "µs",
        is_more_better: false,
        asks: is_by_callback,
        figures: |cell| cell.rounds("p50").to_vec(),
    },
    AdvicePurpose {
        name: "latency, p99",
        unit: "µs",
        is_more_better: false,
        asks: is_by_callback,
        figures: |cell| cell.rounds("p99").to_vec(),
    },
    AdvicePurpose {
        name: "throughput",
        unit: "msg/s",
        is_more_better: true,
        asks: |scenario| scenario.flow().is_some(),
        figures: |cell| cell.rounds("rate").to_vec(),
    },
    AdvicePurpose {
        name: "CPU",
        unit: "s per million",
        is_more_better: false,
        // between slow round trips the asking worker polls actively, which is not the runtime's
        // cost
        asks: is_dense,
        figures: seconds_per_million,
    },
];

fn is_by_callback(scenario: &Scenario) -> bool {
    let trips = scenario.trips();
    trips.is_some_and(|trips| trips.receiving == Some(Receiving::Callback))
}

/// Returns true if messages follow each other without a pause.
pub fn is_dense(scenario: &Scenario) -> bool {
    let trips = scenario.trips();
    trips.is_none_or(|trips| trips.pace == Pace::BackToBack)
}

/// Returns the CPU seconds of all programs for a million messages, by rounds.
pub fn seconds_per_million(cell: &Cell) -> Vec<f64> {
    /// Seconds per nanosecond, times a million messages.
    const SCALE: f64 = 1e-3;
    let of_roles = ROLES.map(|role| cell.rounds(&format!("cpu_{role}")));
    let known = of_roles.iter().filter(|rounds| !rounds.is_empty());
    let rounds = known.clone().map(|rounds| rounds.len()).min().unwrap_or(0);
    let sum = |round: usize| {
        known
            .clone()
            .filter_map(|rounds| rounds.get(round))
            .sum::<f64>()
    };
    (0..rounds)
        .map(|round| sum(round) * SCALE)
        .filter(|s| *s > 0.0)
        .collect()
}

/// The answer to a question.
#[derive(Debug)]
pub struct Advice {
    /// The question.
    pub question: &'static AdvicePurpose,
    /// The runtimes, the best first.
    pub standings: Vec<RuntimeResult>,
    /// Rounds that were compared.
    pub rounds: usize,
}

/// The result of one runtime.
#[derive(Clone, Debug)]
pub struct RuntimeResult {
    /// The runtime's name.
    pub runtime: String,
    /// The runtime's score in each round.
    pub scores: Vec<f64>,
    /// The median and the range of the scores.
    pub score: Spread,
    /// The factor by which it is worse than the best one.
    pub times_worse: f64,
    /// The p-value of its difference from the best one, by [`rank`]; 1 for the best one.
    pub p: f64,
}

impl RuntimeResult {
    /// Returns true if the difference from the best one is significant.
    pub fn is_behind(&self) -> bool {
        self.p < LEVEL
    }
}

impl Advice {
    /// Returns the number of rounds needed to distinguish this many runtimes, if there were too
    /// few.
    pub fn rounds_needed(&self) -> Option<usize> {
        let others = self.standings.len().saturating_sub(1);
        let needed = rank::rounds_needed(self.rounds, others, LEVEL)?;
        (needed > self.rounds).then_some(needed)
    }
}

/// Returns an answer to each question for which at least two runtimes have figures.
pub fn advice(entries: &[Entry]) -> Vec<Advice> {
    let answers = QUESTIONS.iter().filter_map(|q| answer(q, entries));
    answers.collect()
}

fn answer(question: &'static AdvicePurpose, entries: &[Entry]) -> Option<Advice> {
    let nodes = entries.iter().filter(|entry| entry.system.is_own());
    let asked: Vec<&Entry> = nodes.filter(|e| (question.asks)(&e.scenario)).collect();
    // scores of all runtimes over the same scenarios
    let scenarios = distinct(asked.iter().map(|entry| entry.scenario));
    let runtimes = distinct(asked.iter().map(|entry| entry.system.name.clone()));
    let mut scored: Vec<(String, Vec<f64>)> = runtimes
        .into_iter()
        .filter_map(|runtime| {
            let scores = scores(question, &asked, &scenarios, &runtime)?;
            Some((runtime, scores))
        })
        .collect();
    // a run that was ended early has more rounds of some runtimes
    let rounds = scored.iter().map(|(_, s)| s.len()).min()?;
    scored.iter_mut().for_each(|(_, s)| s.truncate(rounds));
    (scored.len() >= 2).then(|| Advice {
        question,
        standings: standings(question, scored),
        rounds,
    })
}

/// Returns the score of each round that has a figure for every scenario; `None` without any.
fn scores(
    question: &AdvicePurpose,
    asked: &[&Entry],
    scenarios: &[Scenario],
    runtime: &str,
) -> Option<Vec<f64>> {
    let figures = |scenario: &Scenario| {
        let mut entries = asked.iter();
        let entry = entries.find(|e| e.scenario == *scenario && e.system.name == runtime)?;
        Some((question.figures)(&entry.cell))
    };
    let figures: Option<Vec<Vec<f64>>> = scenarios.iter().map(figures).collect();
    let figures = figures?;
    let rounds = figures.iter().map(Vec::len).min()?;
    let score = |round: usize| {
        let sum: f64 = figures
            .iter()
            .filter_map(|f| f.get(round))
            .map(|f| f.ln())
            .sum();
        (sum / figures.len() as f64).exp()
    };
    (rounds > 0).then(|| (0..rounds).map(score).collect())
}

fn standings(question: &AdvicePurpose, scored: Vec<(String, Vec<f64>)>) -> Vec<RuntimeResult> {
    let standing = |(runtime, scores): (String, Vec<f64>)| {
        let score = Spread::of(scores.iter().copied())?;
        Some(RuntimeResult {
            runtime,
            scores,
            score,
            times_worse: 1.0,
            p: 1.0,
        })
    };
    // order by score
    let mut standings: Vec<RuntimeResult> = scored.into_iter().filter_map(standing).collect();
    standings.sort_by(|a, b| a.score.median.total_cmp(&b.score.median));
    if question.is_more_better {
        standings.reverse();
    }
    // compare each other runtime with the best
    let Some((best, others)) = standings.split_first_mut() else {
        return standings;
    };
    let values: Vec<f64> = others
        .iter()
        .map(|other| rank::p_value(&best.scores, &other.scores))
        .collect();
    for (other, p) in others.iter_mut().zip(rank::corrected(&values)) {
        let ratio = other.score.median / best.score.median;
        other.times_worse = ratio.max(1.0 / ratio);
        other.p = p;
    }
    standings
}

impl Advice {
    /// Returns the advice in the form of a record.
    pub fn to_json(&self) -> Value {
        json!({
            "for": self.question.name,
            "unit": self.question.unit,
            "take": self.standings.first().map(|s| &s.runtime),
            "score": "geometric mean over the cases of the question, one for each round",
            "test": "Mann-Whitney, exact, two-sided, each runtime against the best, corrected after Holm",
            "level": LEVEL,
            "rounds": self.rounds,
            "rounds_needed": self.rounds_needed(),
            "standings": self.standings.iter().map(RuntimeResult::to_json).collect::<Vec<_>>(),
        })
    }
}

impl RuntimeResult {
    fn to_json(&self) -> Value {
        let Spread { median, min, max } = self.score;
        json!({
            "runtime": self.runtime,
            "scores": self.scores,
            "score": {"median": median, "min": min, "max": max},
            "times_worse": self.times_worse,
            "p": self.p,
            "is_behind": self.is_behind(),
        })
    }
}

#[cfg(test)]
#[path = "advice/tests.rs"]
pub mod tests;
