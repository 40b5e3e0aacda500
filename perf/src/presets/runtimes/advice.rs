// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which runtime to take for what, and whether it can be distinguished from the others. In each round a runtime
//! has one score: the geometric mean of its figures over the cases of the question. The best median wins;
//! the others are compared with it round against round.

use serde_json::{Value, json};

use crate::campaign::Entry;
use crate::measure::ROLES;
use crate::rank;
use crate::record::{Cell, Spread};
use crate::scenario::rates::Pace;
use crate::scenario::{Receiving, Scenario, distinct};

/// A difference is no chance below this probability.
pub const LEVEL: f64 = 0.05;

/// What one may want.
#[derive(Debug)]
pub struct Question {
    /// What for.
    pub name: &'static str,
    /// Unit of its figures.
    pub unit: &'static str,
    /// Whether more is better.
    pub is_more_better: bool,
    /// The cases it looks at.
    asks: fn(&Scenario) -> bool,
    /// What it looks at there.
    figures: fn(&Cell) -> Vec<f64>,
}

/// Those that are answered.
pub const QUESTIONS: [Question; 4] = [
    Question {
        name: "latency, p50",
        unit: "µs",
        is_more_better: false,
        asks: is_by_callback,
        figures: |cell| cell.rounds("p50").to_vec(),
    },
    Question {
        name: "latency, p99",
        unit: "µs",
        is_more_better: false,
        asks: is_by_callback,
        figures: |cell| cell.rounds("p99").to_vec(),
    },
    Question {
        name: "throughput",
        unit: "msg/s",
        is_more_better: true,
        asks: |scenario| scenario.flow().is_some(),
        figures: |cell| cell.rounds("rate").to_vec(),
    },
    Question {
        name: "CPU",
        unit: "s per million",
        is_more_better: false,
        // between slow round trips the asking worker waits actively, which is no cost of the runtime
        asks: is_dense,
        figures: seconds_per_million,
    },
];

fn is_by_callback(scenario: &Scenario) -> bool {
    let trips = scenario.trips();
    trips.is_some_and(|trips| trips.receiving == Some(Receiving::Callback))
}

/// Whether nothing waits for the next message to be due.
pub fn is_dense(scenario: &Scenario) -> bool {
    let trips = scenario.trips();
    trips.is_none_or(|trips| trips.pace == Pace::BackToBack)
}

/// CPU seconds that all programs together use for a million messages, in each round.
pub fn seconds_per_million(cell: &Cell) -> Vec<f64> {
    /// Seconds in a nanosecond, times a million messages.
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
    pub question: &'static Question,
    /// The best first.
    pub standings: Vec<Standing>,
    /// Rounds that were compared.
    pub rounds: usize,
}

/// How one runtime did.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The runtime's name.
    pub runtime: String,
    /// Its score in each round.
    pub scores: Vec<f64>,
    /// The middle and the ends of these.
    pub score: Spread,
    /// How many times worse than the best one.
    pub times_worse: f64,
    /// The probability that it is as good as the best one, by [`rank`]; of the best one 1.
    pub p: f64,
}

impl Standing {
    /// Whether the difference to the best one is no chance.
    pub fn is_behind(&self) -> bool {
        self.p < LEVEL
    }
}

impl Advice {
    /// Rounds that are needed to tell so many runtimes apart, if these are too few.
    pub fn rounds_needed(&self) -> Option<usize> {
        let others = self.standings.len().saturating_sub(1);
        let needed = rank::rounds_needed(self.rounds, others, LEVEL)?;
        (needed > self.rounds).then_some(needed)
    }
}

/// An answer to each question that at least two runtimes have figures for.
pub fn advice(entries: &[Entry]) -> Vec<Advice> {
    let answers = QUESTIONS.iter().filter_map(|q| answer(q, entries));
    answers.collect()
}

fn answer(question: &'static Question, entries: &[Entry]) -> Option<Advice> {
    let nodes = entries.iter().filter(|entry| entry.system.is_own());
    let asked: Vec<&Entry> = nodes.filter(|e| (question.asks)(&e.scenario)).collect();
    let scenarios = distinct(asked.iter().map(|entry| entry.scenario));
    let runtimes = distinct(asked.iter().map(|entry| entry.system.name.clone()));
    let mut scored: Vec<(String, Vec<f64>)> = runtimes
        .into_iter()
        .filter_map(|runtime| {
            let scores = scores(question, &asked, &scenarios, &runtime)?;
            Some((runtime, scores))
        })
        .collect();
    // a run that was ended early has more rounds of some than of others
    let rounds = scored.iter().map(|(_, s)| s.len()).min()?;
    scored.iter_mut().for_each(|(_, s)| s.truncate(rounds));
    (scored.len() >= 2).then(|| Advice {
        question,
        standings: standings(question, scored),
        rounds,
    })
}

/// The score of each round in which there is a figure for every scenario; `None` without any.
fn scores(
    question: &Question,
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

fn standings(question: &Question, scored: Vec<(String, Vec<f64>)>) -> Vec<Standing> {
    let standing = |(runtime, scores): (String, Vec<f64>)| {
        let score = Spread::of(scores.iter().copied())?;
        Some(Standing {
            runtime,
            scores,
            score,
            times_worse: 1.0,
            p: 1.0,
        })
    };
    let mut standings: Vec<Standing> = scored.into_iter().filter_map(standing).collect();
    standings.sort_by(|a, b| a.score.median.total_cmp(&b.score.median));
    if question.is_more_better {
        standings.reverse();
    }
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
    /// As it stands in the record.
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
            "standings": self.standings.iter().map(Standing::to_json).collect::<Vec<_>>(),
        })
    }
}

impl Standing {
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
