// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which runtime to take for what, and whether it can be distinguished from the others. In each round a runtime
//! has one score: the geometric mean of its figures over the cases of the question. The best median wins;
//! the others are compared with it round against round.

use crate::case::{Case, Kind, Receiving};
use crate::rank;
use crate::result::{Round, Spread};

use super::plan::{Contender, Entry};

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
    asks: fn(&Case) -> bool,
    /// What it looks at there.
    figure: fn(&Round) -> Option<f64>,
}

/// Those that are answered.
pub const QUESTIONS: [Question; 4] = [
    Question {
        name: "latency, p50",
        unit: "µs",
        is_more_better: false,
        asks: is_by_callback,
        figure: |round| micros(round, 50.0),
    },
    Question {
        name: "latency, p99",
        unit: "µs",
        is_more_better: false,
        asks: is_by_callback,
        figure: |round| micros(round, 99.0),
    },
    Question {
        name: "throughput",
        unit: "msg/s",
        is_more_better: true,
        asks: |case| case.kind == Kind::Throughput,
        figure: |round| Some(round.rate()),
    },
    Question {
        name: "CPU",
        unit: "s per million",
        is_more_better: false,
        // between slow round trips the asking worker waits actively, which is no cost of the runtime
        asks: |case| case.manner.is_none_or(|m| m.hertz.is_none()),
        figure: |round| seconds_per_million(round),
    },
];

fn is_by_callback(case: &Case) -> bool {
    case.manner
        .is_some_and(|m| m.receiving == Receiving::Callback)
}

fn micros(round: &Round, percentile: f64) -> Option<f64> {
    match round {
        Round::Trips(trips) => Some(trips.micros(percentile)),
        Round::Flow(_) => None,
    }
}

/// CPU seconds that all programs together use for a million messages.
pub fn seconds_per_million(round: &Round) -> Option<f64> {
    /// Seconds in a nanosecond, times a million messages.
    const SCALE: f64 = 1e-3;
    let costs = round.costs();
    let nanos: Option<f64> = costs.iter().map(|(_, cost)| cost.cpu_nanos).sum();
    nanos.filter(|n| *n > 0.0).map(|n| n * SCALE)
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
    pub runtime: &'static str,
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
        let tells = |rounds: &usize| rank::p_value_min(*rounds) * (others as f64) < LEVEL;
        (!tells(&self.rounds)).then(|| (self.rounds..).find(tells))?
    }
}

/// An answer to each question that at least two runtimes have figures for.
pub fn advice(entries: &[Entry]) -> Vec<Advice> {
    let answers = QUESTIONS.iter().filter_map(|q| answer(q, entries));
    answers.collect()
}

fn answer(question: &'static Question, entries: &[Entry]) -> Option<Advice> {
    let asked: Vec<&Entry> = entries
        .iter()
        .filter(|e| matches!(e.contender, Contender::Node(_)) && (question.asks)(&e.cell.case))
        .collect();
    let mut cases: Vec<Case> = Vec::new();
    let mut runtimes: Vec<&'static str> = Vec::new();
    for entry in &asked {
        if !cases.contains(&entry.cell.case) {
            cases.push(entry.cell.case);
        }
        if !runtimes.contains(&entry.contender.runtime()) {
            runtimes.push(entry.contender.runtime());
        }
    }
    let mut scored: Vec<(&'static str, Vec<f64>)> = runtimes
        .into_iter()
        .filter_map(|runtime| Some((runtime, scores(question, &asked, &cases, runtime)?)))
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

/// The score of each round in which there is a figure for every case; `None` without any.
fn scores(
    question: &Question,
    asked: &[&Entry],
    cases: &[Case],
    runtime: &str,
) -> Option<Vec<f64>> {
    let of_runtime = |case: &&Case| {
        let mut entries = asked.iter();
        let entry = entries.find(|e| e.cell.case == **case && e.contender.runtime() == runtime)?;
        entry.cell.trouble.is_none().then_some(&entry.cell.rounds)
    };
    let cells: Option<Vec<&Vec<Round>>> = cases.iter().map(|case| of_runtime(&case)).collect();
    let cells = cells?;
    let rounds = cells.iter().map(|rounds| rounds.len()).min()?;
    let score = |round: usize| {
        let logarithms = cells
            .iter()
            .map(|rounds| (question.figure)(rounds.get(round)?).map(f64::ln));
        let sum: Option<f64> = logarithms.sum();
        sum.map(|sum| (sum / cells.len() as f64).exp())
    };
    let scores: Option<Vec<f64>> = (0..rounds).map(score).collect();
    scores.filter(|s| !s.is_empty())
}

fn standings(question: &Question, scored: Vec<(&'static str, Vec<f64>)>) -> Vec<Standing> {
    let standing = |(runtime, scores): (&'static str, Vec<f64>)| {
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

#[cfg(test)]
#[path = "advice/tests.rs"]
pub mod tests;
