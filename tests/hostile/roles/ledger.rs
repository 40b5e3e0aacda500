// SPDX-License-Identifier: MIT OR Apache-2.0
//! Observations of one flow by one subscriber: numbers in order, and the times between them.

use std::time::{Duration, Instant};

use crate::world::{Flow, FlowReport};

/// Number of a greeting, which shows that a subscriber is known and is no part of the flow.
pub const GREETING: u64 = u64::MAX;

/// Returns the payload with a number: the number, then bytes that follow from it.
pub fn payload(number: u64, size: usize) -> Vec<u8> {
    let mut payload = vec![filler(number); size];
    payload[..8].copy_from_slice(&number.to_le_bytes());
    payload
}

fn filler(number: u64) -> u8 {
    (number as u8).wrapping_mul(31).wrapping_add(7)
}

/// Returns the number of a payload, or `None` if no honest source made it.
pub fn number_of(payload: &[u8], size: usize) -> Option<u64> {
    let (number, rest) = payload.split_first_chunk()?;
    let number = u64::from_le_bytes(*number);
    let filler = filler(number);
    // of a long payload some bytes are compared, each part of it somewhere
    let step = rest.len() / 1024 + 1;
    let is_ours = payload.len() == size
        && rest.iter().step_by(step).all(|byte| *byte == filler)
        && rest.last().is_none_or(|byte| *byte == filler);
    is_ours.then_some(number)
}

pub struct Ledger {
    period: Duration,
    next: u64,
    last: Option<Instant>,
    report: FlowReport,
    silence: Duration,
    pub greeted: bool,
}

impl Ledger {
    pub fn of(flow: &Flow) -> Ledger {
        let period = match flow.rate {
            0 => Duration::ZERO,
            rate => Duration::from_secs(1) / rate,
        };
        Ledger {
            period,
            next: 0,
            last: None,
            report: FlowReport::default(),
            silence: Duration::ZERO,
            greeted: false,
        }
    }

    pub fn note(&mut self, number: u64, now: Instant) {
        if number == GREETING {
            self.greeted = true;
            return;
        }
        self.pause(now);
        self.last = Some(now);
        self.report.received += 1;
        if number >= self.next {
            self.report.lost += number - self.next;
            self.next = number + 1;
        } else if number + 1 == self.next {
            self.report.doubled += 1;
        } else {
            self.report.reordered += 1;
        }
    }

    /// Counts the time since the last message as a silence.
    fn pause(&mut self, now: Instant) {
        if let Some(last) = self.last {
            let pause = now.saturating_duration_since(last);
            self.silence = self.silence.max(pause.saturating_sub(self.period));
        }
    }

    /// Takes the observations since the last report. A silence that lasts is part of this report
    /// and of the next one.
    pub fn report(&mut self, now: Instant) -> FlowReport {
        self.pause(now);
        let mut report = std::mem::take(&mut self.report);
        report.silence_ms = self.silence.as_millis() as u64;
        self.silence = Duration::ZERO;
        report
    }

    /// Returns true if all messages up to this number came, or were given up.
    pub fn has_all(&self, published: u64) -> bool {
        self.next >= published
    }

    /// Takes the last report: messages that have not come up to now are lost.
    pub fn close(&mut self, published: u64) -> FlowReport {
        self.report.lost += published.saturating_sub(self.next);
        std::mem::take(&mut self.report)
    }
}

#[test]
fn a_ledger_sees_what_is_wrong() {
    let mut ledger = Ledger::of(&Flow::block(8, 100));
    let begin = Instant::now();
    let at = |ms| begin + Duration::from_millis(ms);
    for (number, ms) in [(0, 0), (1, 10), (3, 60), (2, 61), (3, 62), (4, 70)] {
        ledger.note(number, at(ms));
    }
    let report = ledger.report(at(75));
    let seen = (
        report.received,
        report.lost,
        report.doubled,
        report.reordered,
    );
    assert_eq!(seen, (6, 1, 1, 1));
    assert_eq!(report.silence_ms, 40);
    assert_eq!(ledger.report(at(130)).silence_ms, 50);
    assert!(ledger.has_all(5));
    assert_eq!(ledger.close(7).lost, 2);
    for size in [8, 9, 1000, 1 << 20] {
        let mut bytes = payload(77, size);
        assert_eq!(number_of(&bytes, size), Some(77));
        assert_eq!(number_of(&bytes, size + 1), None);
        bytes.pop();
        assert_eq!(number_of(&bytes, size), None);
    }
}
