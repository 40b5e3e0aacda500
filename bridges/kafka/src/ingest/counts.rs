// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counters of the server: every dropped, refused or abandoned message is counted here.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::http::{Answer, STATUSES};

/// Counters of the server.
#[derive(Debug, Default)]
pub struct Counts {
    /// Connections that were accepted.
    pub accepted: AtomicU64,
    /// Connections that are open.
    pub open: AtomicU64,
    /// Connections that were silent for too long between two requests.
    pub idle: AtomicU64,
    /// Connections that ended or failed in the middle of a request.
    pub broken: AtomicU64,
    /// Connections that did not take their answers in time.
    pub stuck: AtomicU64,
    /// Connections that were closed at once, as their address had used up its share of the places.
    pub refused: AtomicU64,
    /// Times that accepting was paused, because no descriptor or no place was left.
    pub pauses: AtomicU64,
    /// Bytes of bodies that were read.
    pub body_bytes: AtomicU64,
    answers: [AtomicU64; STATUSES],
}

/// Increments a counter.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Counts {
    /// Counts an answer.
    pub fn answer(&self, answer: Answer) {
        count(&self.answers[answer.index()]);
    }

    /// Returns the count of this answer.
    pub fn answered(&self, answer: Answer) -> u64 {
        self.answers[answer.index()].load(Ordering::Relaxed)
    }

    /// Returns the number of acknowledged messages.
    pub fn acknowledged(&self) -> u64 {
        self.answered(Answer::Accepted)
    }

    /// Returns the number of refused requests.
    pub fn refused(&self) -> u64 {
        let refusals = Answer::ALL
            .into_iter()
            .filter(|answer| *answer != Answer::Accepted);
        refusals.map(|answer| self.answered(answer)).sum()
    }

    /// Writes the counters in the format of OpenMetrics, without the line that ends it.
    pub fn write(&self, out: &mut String) {
        // writing to a text does not fail
        let _ = writeln!(out, "# TYPE zonda_kafka_connections_open gauge");
        let open = self.open.load(Ordering::Relaxed);
        let _ = writeln!(out, "zonda_kafka_connections_open {open}");
        for (name, counter) in [
            ("connections", &self.accepted),
            ("connections_idle", &self.idle),
            ("connections_broken", &self.broken),
            ("connections_stuck", &self.stuck),
            ("connections_refused", &self.refused),
            ("accept_pauses", &self.pauses),
            ("body_bytes", &self.body_bytes),
        ] {
            let value = counter.load(Ordering::Relaxed);
            let _ = writeln!(out, "# TYPE zonda_kafka_{name} counter");
            let _ = writeln!(out, "zonda_kafka_{name}_total {value}");
        }
        let _ = writeln!(out, "# TYPE zonda_kafka_answers counter");
        for answer in Answer::ALL {
            let (code, value) = (answer.code(), self.answered(answer));
            let _ = writeln!(
                out,
                "zonda_kafka_answers_total{{status=\"{code}\"}} {value}"
            );
        }
    }
}
