// SPDX-License-Identifier: MIT OR Apache-2.0
//! One point of a curve: a throughput of `perf thr` or a latency of `perf lat`.

use zonda_program::{Failure, Interrupt};

use crate::lat;
use crate::record::Cell;
use crate::run::turns;
use crate::system::Span;
use crate::thr;

/// For starting and ending the programs of a round, in seconds.
const AROUND: f64 = 0.5;

/// One system at one size or rate.
#[derive(Clone, Debug)]
pub enum Part {
    /// Messages per second at a size.
    Throughput(thr::plan::Entry, Span),
    /// Round trips at a rate.
    Latency(lat::plan::Entry, Span),
}

impl Part {
    /// Its name in lists.
    pub fn name(&self) -> String {
        match self {
            Part::Throughput(entry, _) => format!("throughput {entry}"),
            Part::Latency(entry, _) => format!("latency {}", entry.name()),
        }
    }

    /// How long one round takes.
    pub fn seconds(&self) -> f64 {
        let (Part::Throughput(_, span) | Part::Latency(_, span)) = self;
        span.warm_up + span.seconds + AROUND
    }

    /// One round.
    ///
    /// # Errors
    /// Only if the user interrupts.
    pub fn round(&mut self, interrupt: &Interrupt) -> Result<String, Failure> {
        match self {
            Part::Throughput(entry, span) => entry.round(*span, interrupt),
            Part::Latency(entry, span) => {
                let express = lat::is_express(entry.case.rate);
                Ok(entry.round(*span, express, interrupt))
            }
        }
    }

    /// The figures so far. The kinds of measurement are distinguished by the names of their cases.
    pub fn cell(&self) -> Cell {
        let (kind, cell) = match self {
            Part::Throughput(entry, _) => ("throughput", &entry.cell),
            Part::Latency(entry, _) => ("latency", &entry.cell),
        };
        Cell {
            case: format!("{kind} {}", cell.case),
            ..cell.clone()
        }
    }

    /// Why it could not be measured, or what was wrong with its messages.
    pub fn trouble(&self) -> Option<String> {
        match self {
            Part::Throughput(entry, _) => entry.cell.note.clone(),
            Part::Latency(entry, _) => entry.cell.note.clone().or_else(|| entry.fault()),
        }
    }

    fn is_beside(&self, other: &Part) -> bool {
        match (self, other) {
            (Part::Throughput(a, _), Part::Throughput(b, _)) => a.flow == b.flow,
            (Part::Latency(a, _), Part::Latency(b, _)) => a.case == b.case,
            _ => false,
        }
    }
}

/// The order of a round: case by case, and in each another system first.
pub fn order(parts: &[Part], round: usize) -> Vec<usize> {
    turns(parts, round, Part::is_beside)
}
