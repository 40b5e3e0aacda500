// SPDX-License-Identifier: MIT OR Apache-2.0
//! Going round back to back: first warm, then recorded, then over.

use std::time::{Duration, Instant};

use zonda::bytes::ZBytes;

use super::book::{Answer, Book};
use super::told::Told;
use super::worker::Pace;
use crate::thr::stamper::Stamper;

/// One message at a time.
pub struct Circle {
    stamper: Stamper,
    warm_up: Duration,
    seconds: Duration,
    begun: Instant,
    sent: Instant,
    book: Book,
    is_over: bool,
}

/// What follows from an answer.
pub enum Step {
    /// The next message is to be sent.
    Next(ZBytes),
    /// The next message is to be sent, and recorded like all that follow.
    First(ZBytes),
    /// Everything is recorded.
    Over(Told),
    /// Nothing: it was not the answer that is waited for, or all is over.
    Nothing,
}

impl Circle {
    /// To be begun by [`Circle::message`].
    pub fn new(stamper: Stamper, pace: &Pace) -> Self {
        let now = Instant::now();
        Circle {
            stamper,
            warm_up: pace.warm_up,
            seconds: pace.seconds,
            begun: now,
            sent: now,
            book: Book::default(),
            is_over: false,
        }
    }

    /// The next message, which is sent now.
    pub fn message(&mut self) -> ZBytes {
        let payload = self.stamper.payload();
        self.sent = Instant::now();
        payload
    }

    /// Takes an answer that came at `now`.
    pub fn answered(&mut self, payload: &[u8], now: Instant) -> Step {
        self.book.answered(payload, self.sent, now);
        let awaited = Answer::To(self.stamper.made().wrapping_sub(1));
        if self.is_over || Answer::read(payload) != awaited {
            return Step::Nothing;
        }
        let elapsed = now.saturating_duration_since(self.begun);
        if !self.book.counts() {
            if elapsed < self.warm_up {
                return Step::Next(self.message());
            }
            self.book.count_from(self.stamper.made());
            self.begun = now;
            return Step::First(self.message());
        }
        if elapsed < self.seconds {
            return Step::Next(self.message());
        }
        self.is_over = true;
        let sent = self.stamper.made();
        Step::Over(self.book.tell(sent, sent, elapsed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lat::book::COUNTED;
    use crate::thr::tally::stamp;

    #[test]
    fn a_circle_warms_up_records_and_ends() {
        let micros = Duration::from_micros;
        let pace = Pace {
            seconds: micros(100),
            warm_up: micros(50),
            rate: None,
        };
        let mut circle = Circle::new(Stamper::new(COUNTED, 64), &pace);
        let start = circle.begun;
        let mut answer = |number, at| circle.answered(&stamp(COUNTED, number), start + micros(at));
        assert!(matches!(answer(0, 5), Step::Nothing), "it was not sent");
        let mut circle = Circle::new(Stamper::new(COUNTED, 64), &pace);
        let start = circle.begun;
        circle.message();
        let mut answer = |number, at| circle.answered(&stamp(COUNTED, number), start + micros(at));
        assert!(matches!(answer(0, 10), Step::Next(_)));
        assert!(matches!(answer(0, 20), Step::Nothing), "a duplicate");
        assert!(matches!(answer(1, 60), Step::First(_)));
        assert!(matches!(answer(2, 100), Step::Next(_)));
        let Step::Over(told) = answer(3, 160) else {
            panic!("the time is over");
        };
        let times: u64 = told.nanos_times.iter().map(|(_, times)| times).sum();
        assert_eq!((times, told.seconds, told.sent), (2, 1e-4, 4));
        assert_eq!((told.lost, told.duplicated), (0, 1));
        assert!(matches!(answer(4, 170), Step::Nothing));
    }
}
