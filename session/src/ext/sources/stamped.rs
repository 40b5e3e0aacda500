// SPDX-License-Identifier: MIT OR Apache-2.0

//! Samples that one clock has stamped: delivered in the order of their timestamps, without knowing which ones are missing.

use std::collections::VecDeque;
use std::time::Instant;

use super::held::{Budget, Held};
use super::spans::Spans;
use super::{Forgettable, SampleMoment, SampleOrigin, Step};
use crate::sample::Sample;
use crate::time::Timestamp;

/// The samples of one clock.
pub(super) struct Stamped {
    /// Times of the samples that came before a query began, or in answers to it.
    known: Spans,
    /// Times of all samples that were delivered.
    delivered: Spans,
    /// Set if a query was under way when the last sample came.
    is_asking: bool,
    /// Samples that wait for older ones that are queried.
    held: Held<Timestamp>,
    questions: u32,
    is_alive: bool,
    heard: Instant,
}

impl Forgettable for Stamped {
    fn idle_since(&self) -> Option<Instant> {
        let is_idle = !self.is_alive && self.questions == 0 && self.held.is_empty();
        is_idle.then_some(self.heard)
    }
}

impl Stamped {
    pub fn new(budget: &Budget, now: Instant) -> Stamped {
        Stamped {
            known: Spans::default(),
            delivered: Spans::default(),
            is_asking: false,
            held: Held::new(budget),
            questions: 0,
            is_alive: false,
            heard: now,
        }
    }

    pub fn set_alive(&mut self, is_alive: bool, now: Instant) {
        self.is_alive = is_alive;
        self.heard = now;
        if is_alive {
            self.questions += 1;
        }
    }

    /// Handles a sample. While a query is under way it is held, as the answers may be older, and
    /// samples that were delivered before are not delivered again. Else samples are delivered as
    /// they come: one clock stamps for publishers of many keys and priorities, which overtake each
    /// other.
    pub fn take(
        &mut self,
        timestamp: Timestamp,
        sample: Sample,
        moment: &SampleMoment<'_>,
        steps: &mut VecDeque<Step>,
    ) {
        self.heard = moment.now;
        let was_asking = self.is_asking;
        self.is_asking = moment.is_asked || self.questions > 0;
        // At the begin of a query, the samples delivered so far count as known.
        if self.is_asking && !was_asking {
            self.known = self.delivered.clone();
        }
        // Drop a sample that was delivered, and an answer older than the delivered ones.
        let time = timestamp.time().as_u64();
        let is_known = match moment.heard {
            SampleOrigin::Live => self.known.has(time),
            SampleOrigin::Answered => self.known.is_past(time),
        };
        if is_known {
            return;
        }
        // Without a query, or with a history of one sample, none needs to wait.
        if !self.is_asking {
            self.deliver(timestamp, sample, steps);
            return;
        }
        if moment.rules.depth == 1 {
            self.known.add(time);
            self.deliver(timestamp, sample, steps);
            return;
        }
        // The answers may be older: hold the sample, up to the depth of the history.
        self.held.insert(timestamp, sample);
        if self.held.is_full(moment.rules.depth) {
            self.deliver_all(steps);
        }
    }

    /// Handles the end of one of its queries.
    pub fn end_question(&mut self, is_asked: bool, steps: &mut VecDeque<Step>) {
        self.questions = self.questions.saturating_sub(1);
        if !is_asked {
            self.let_go(steps);
        }
    }

    /// Delivers the held samples, unless a query is under way.
    pub fn let_go(&mut self, steps: &mut VecDeque<Step>) {
        if self.questions == 0 {
            self.deliver_all(steps);
        }
    }

    fn deliver_all(&mut self, steps: &mut VecDeque<Step>) {
        while let Some((timestamp, sample)) = self.held.pop() {
            self.known.add(timestamp.time().as_u64());
            self.deliver(timestamp, sample, steps);
        }
    }

    fn deliver(&mut self, timestamp: Timestamp, sample: Sample, steps: &mut VecDeque<Step>) {
        self.delivered.add(timestamp.time().as_u64());
        steps.push_back(Step::Deliver(sample));
    }
}
