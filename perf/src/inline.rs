// SPDX-License-Identifier: MIT OR Apache-2.0
//! The asking worker without a queue: the answer is taken, timed and, back to back, followed by the next
//! message in the subscriber's callback. A raw ping-pong has no other thread to hand its answer to; with
//! this, the node has none either.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use zonda::Wait;
use zonda::bytes::ZBytes;
use zonda::pubsub::Publisher;
use zonda_program::{Connection, Failure, pattern};

use super::event::{Event, RoundTrips};
use super::round_trips::{Pace, hand_over, histogram, measure_taken};
use super::worker::{ANSWER, KEY_PONG, asking, contact, next, ready, silence};

/// Measures round trips of `size` bytes.
pub fn ping(connection: &Connection, size: usize, pace: &Pace) -> Result<(), Failure> {
    let session = connection.open()?;
    let (tell, told) = channel();
    let line = Arc::new(Line {
        publisher: asking(&session)?,
        message: ZBytes::from(pattern(size)),
        tell,
        state: Mutex::new(State {
            sent: Instant::now(),
            circle: None,
        }),
    });
    let at_answer = Arc::clone(&line);
    let _answers = session
        .declare_subscriber(KEY_PONG)
        .callback(move |_sample| at_answer.answered())
        .wait()?;
    ready(&session);
    contact(
        || line.send(),
        |patience| Ok(taken(&told, patience)?.is_some()),
    )?;
    match pace.interval {
        Some(_) => measure_taken(pace, || {
            line.send()?;
            taken(&told, ANSWER)?.ok_or_else(|| silence(ANSWER))
        }),
        None => back_to_back(&line, &told, pace),
    }
}

/// Sends one message, and the callback the others.
fn back_to_back(line: &Line, told: &Receiver<Told>, pace: &Pace) -> Result<(), Failure> {
    line.state().circle = Some(Circle::new(pace));
    line.send()?;
    let patience = pace.warm_up + pace.seconds + ANSWER;
    loop {
        match next(told, patience)? {
            Some(Told::Measuring) => Event::Measuring.say(),
            Some(Told::Over(result)) => {
                hand_over(&Event::RoundTrips(result).to_line());
                return Ok(());
            }
            // one that was asked for before the circle began
            Some(Told::Answer(_)) => {}
            Some(Told::Failed(failure)) => return Err(failure),
            None => return Err(silence(patience)),
        }
    }
}

/// How long the next answer took, if it comes within `patience`.
fn taken(told: &Receiver<Told>, patience: Duration) -> Result<Option<Duration>, Failure> {
    match next(told, patience)? {
        Some(Told::Answer(took)) => Ok(Some(took)),
        Some(Told::Failed(failure)) => Err(failure),
        _ => Ok(None),
    }
}

/// What the callback tells the main thread.
enum Told {
    /// An answer came after this time, and nothing was sent.
    Answer(Duration),
    /// The warm-up is over.
    Measuring,
    /// Everything is recorded.
    Over(RoundTrips),
    /// The next message could not be sent.
    Failed(Failure),
}

/// What the main thread and the callback share.
struct Line {
    publisher: Publisher<'static>,
    message: ZBytes,
    tell: Sender<Told>,
    state: Mutex<State>,
}

struct State {
    sent: Instant,
    circle: Option<Circle>,
}

impl Line {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self) -> Result<(), Failure> {
        // the lock is free again before the message leaves
        self.state().sent = Instant::now();
        self.publisher.put(self.message.clone()).wait()?;
        Ok(())
    }

    /// Called with each answer; there is one link, whose task alone calls this.
    fn answered(&self) {
        let now = Instant::now();
        let mut state = self.state();
        let took = now.saturating_duration_since(state.sent);
        let (told, is_next) = match &mut state.circle {
            None => (Some(Told::Answer(took)), false),
            Some(circle) => circle.answered(now, took),
        };
        drop(state);
        if is_next && let Err(failure) = self.send() {
            self.tell(Told::Failed(failure));
        }
        if let Some(told) = told {
            self.tell(told);
        }
    }

    fn tell(&self, told: Told) {
        // a main thread that has gone away needs to know nothing
        let _ = self.tell.send(told);
    }
}

/// Going round back to back: first warm, then recorded, then over.
struct Circle {
    warm_up: Duration,
    seconds: Duration,
    begun: Instant,
    /// `None` during the warm-up.
    recorded: Option<Histogram<u64>>,
    is_over: bool,
}

impl Circle {
    fn new(pace: &Pace) -> Self {
        Circle {
            warm_up: pace.warm_up,
            seconds: pace.seconds,
            begun: Instant::now(),
            recorded: None,
            is_over: false,
        }
    }

    /// Takes one answer: what is to be reported of it, and whether the next message is to be sent.
    fn answered(&mut self, now: Instant, took: Duration) -> (Option<Told>, bool) {
        let elapsed = now.saturating_duration_since(self.begun);
        match &mut self.recorded {
            _ if self.is_over => (None, false),
            None if elapsed < self.warm_up => (None, true),
            None => {
                self.recorded = Some(histogram());
                self.begun = now;
                (Some(Told::Measuring), true)
            }
            Some(recorded) => {
                recorded.saturating_record(took.as_nanos() as u64);
                if elapsed < self.seconds {
                    return (None, true);
                }
                self.is_over = true;
                let result = RoundTrips::of(recorded, elapsed);
                (Some(Told::Over(result)), false)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_warms_up_records_and_ends() {
        let micros = Duration::from_micros;
        let pace = Pace {
            seconds: micros(100),
            warm_up: micros(50),
            interval: None,
        };
        let mut circle = Circle::new(&pace);
        let start = circle.begun;
        assert!(matches!(
            circle.answered(start + micros(10), micros(10)),
            (None, true)
        ));
        assert!(matches!(
            circle.answered(start + micros(60), micros(50)),
            (Some(Told::Measuring), true)
        ));
        assert!(matches!(
            circle.answered(start + micros(100), micros(40)),
            (None, true)
        ));
        let (Some(Told::Over(result)), false) = circle.answered(start + micros(160), micros(60))
        else {
            panic!("the time is over");
        };
        let times: Vec<u64> = result.histogram.iter().map(|(_, times)| *times).collect();
        assert_eq!((times, result.seconds), (vec![1, 1], 1e-4));
        assert!(matches!(
            circle.answered(start + micros(170), micros(10)),
            (None, false)
        ));
    }
}
