// SPDX-License-Identifier: MIT OR Apache-2.0
//! The asking worker of a node. Answers are taken in the subscriber's callback, so that no thread stands between the link
//! and the clock. Back to back, the callback also sends the next message; on a schedule, the main thread sends each when
//! it is due, however many are under way.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use zonda::qos::{CongestionControl, Reliability};
use zonda_codec::Qos;
use zonda_program::Failure;

use super::book::{Answer, Book, COUNTED, WARM};
use super::circle::{Circle, Step};
use super::drive::{RealTime, Run, lead, settle};
use super::load::{Load, Mark};
use super::told::Told;
use super::worker::{Asking, Pace};
use crate::event::Event;
use crate::level::{Door, Level, Publisher};
use crate::schedule::Timetable;
use crate::thr::stamper::Stamper;
use crate::worker::{ANSWER, KEY_PING, KEY_PONG, contact, next, silence};

/// Measures as the flags say, and hands the result over.
pub fn ask(asking: &Asking) -> Result<(), Failure> {
    let door = Door::open(&asking.connection, Level::of_flag(asking.node))?;
    let (tell, told) = channel();
    let line = Arc::new(Line {
        publisher: publisher(&door, asking)?,
        tell,
        state: Mutex::new(State {
            warm: Stamper::new(WARM, asking.size),
            course: Course::Single,
        }),
    });
    let at_answer = Arc::clone(&line);
    let _answers = door.subscribe(KEY_PONG, move |payload| at_answer.answered(payload))?;
    door.ready();
    contact(
        || line.send_warm(),
        |patience| Ok(next(&told, patience)?.is_some()),
    )?;
    let load = asking.load.zip(door.session());
    let load = load.map(|(size, session)| Load::start(session, size));
    let load = load.transpose()?;
    let counted = Stamper::new(COUNTED, asking.size);
    let mut outcome = match asking.pace.rate {
        None => circle(&line, &told, counted, &asking.pace, load.as_ref())?,
        Some(rate) => Schedule {
            line: &line,
            told: &told,
            pace: &asking.pace,
            rate,
        }
        .run(counted, load.as_ref())?,
    };
    outcome.told.load_bytes_per_second = load
        .zip(outcome.mark)
        .map(|(load, mark)| load.rate_since(&mark));
    outcome.told.hand_over();
    Ok(())
}

fn publisher(door: &Door, asking: &Asking) -> Result<Publisher, Failure> {
    let manner = asking.manner;
    let control = CongestionControl::Block;
    let qos = Qos::new(manner.priority(), control, !manner.no_express);
    door.publisher(KEY_PING, qos, Reliability::Reliable)
}

/// A result, and how much load had been moved when recording began.
struct Outcome {
    told: Told,
    mark: Option<Mark>,
}

/// Says that recording begins.
fn measuring(load: Option<&Load>) -> Option<Mark> {
    Event::Measuring.say();
    load.map(Load::mark)
}

/// The main thread sends one message, and the callback all others.
fn circle(
    line: &Line,
    told: &Receiver<Word>,
    counted: Stamper,
    pace: &Pace,
    load: Option<&Load>,
) -> Result<Outcome, Failure> {
    line.state().course = Course::Circle(Circle::new(counted, pace));
    line.send_first()?;
    let mut mark = None;
    let patience = pace.warm_up + pace.seconds + ANSWER;
    loop {
        match next(told, patience)? {
            Some(Word::Measuring) => mark = measuring(load),
            Some(Word::Over(told)) => return Ok(Outcome { told, mark }),
            // one that was asked for before the circle began
            Some(Word::Answer) => {}
            Some(Word::Failed(failure)) => return Err(failure),
            None => return Err(silence(patience)),
        }
    }
}

/// A run on a schedule.
struct Schedule<'a> {
    line: &'a Line,
    told: &'a Receiver<Word>,
    pace: &'a Pace,
    rate: f64,
}

impl Schedule<'_> {
    fn run(&self, mut counted: Stamper, load: Option<&Load>) -> Result<Outcome, Failure> {
        let lead = lead(self.rate, self.pace.warm_up);
        if lead.is_zero() {
            self.warm_up()?;
        }
        let clock = RealTime::on_this_thread();
        let first = (lead.as_secs_f64() * self.rate).ceil() as u64;
        let run = Run::new(Instant::now(), self.rate, lead + self.pace.seconds);
        let mut book = Book::default();
        book.count_from(first);
        self.line.state().course = Course::Open(run.table, book);
        let mut mark = None;
        let sent = run.send(&clock, |numbers| {
            for number in numbers {
                if number == first {
                    mark = measuring(load);
                }
                self.line.publisher.put(counted.payload())?;
            }
            Ok::<(), Failure>(())
        })?;
        let end = Instant::now();
        settle(sent, || match &self.line.state().course {
            Course::Open(_, book) => book.answers(),
            _ => sent,
        });
        let state = self.line.state();
        let Course::Open(_, book) = &state.course else {
            return Err(silence(ANSWER));
        };
        // the wait for what is lost is no part of the run
        let over = book.last().map_or(end, |last| last.max(end));
        let told = book.tell(run.planned, sent, run.length(first, sent, over));
        Ok(Outcome { told, mark })
    }

    /// Goes round by the main thread, one message at a time.
    fn warm_up(&self) -> Result<(), Failure> {
        let start = Instant::now();
        while start.elapsed() < self.pace.warm_up {
            self.line.send_warm()?;
            if next(self.told, ANSWER)?.is_none() {
                return Err(silence(ANSWER));
            }
        }
        Ok(())
    }
}

/// What the callback tells the main thread.
enum Word {
    /// An answer came, and nothing was sent.
    Answer,
    /// The warm-up is over.
    Measuring,
    /// Everything is recorded.
    Over(Told),
    /// The next message could not be sent.
    Failed(Failure),
}

/// What the main thread and the callback share.
struct Line {
    publisher: Publisher,
    tell: Sender<Word>,
    state: Mutex<State>,
}

struct State {
    warm: Stamper,
    course: Course,
}

/// What is done with an answer.
enum Course {
    /// The main thread waits for it.
    Single,
    /// The next message is sent.
    Circle(Circle),
    /// It is written down.
    Open(Timetable, Book),
}

impl Line {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message that is not measured.
    fn send_warm(&self) -> Result<(), Failure> {
        let payload = {
            let mut state = self.state();
            state.course = Course::Single;
            state.warm.payload()
        };
        self.publisher.put(payload)?;
        Ok(())
    }

    /// Sends the first message of a circle.
    fn send_first(&self) -> Result<(), Failure> {
        let payload = match &mut self.state().course {
            Course::Circle(circle) => circle.message(),
            _ => return Ok(()),
        };
        self.publisher.put(payload)?;
        Ok(())
    }

    /// Called with each answer; there is one link, whose task alone calls this.
    fn answered(&self, payload: &[u8]) {
        let now = Instant::now();
        let mut state = self.state();
        let (word, next) = match &mut state.course {
            Course::Single => (Some(Word::Answer), None),
            Course::Circle(circle) => match circle.answered(payload, now) {
                Step::Next(next) => (None, Some(next)),
                Step::First(next) => (Some(Word::Measuring), Some(next)),
                Step::Over(told) => (Some(Word::Over(told)), None),
                Step::Nothing => (None, None),
            },
            Course::Open(table, book) => {
                let since = match Answer::read(payload) {
                    Answer::To(number) => table.due(number),
                    Answer::Warm | Answer::Strange => now,
                };
                book.answered(payload, since, now);
                (None, None)
            }
        };
        // the lock is free again before the message leaves
        drop(state);
        if let Some(payload) = next
            && let Err(error) = self.publisher.put(payload)
        {
            self.tell(Word::Failed(error.into()));
        }
        if let Some(word) = word {
            self.tell(word);
        }
    }

    fn tell(&self, word: Word) {
        // a main thread that has gone away needs to know nothing
        let _ = self.tell.send(word);
    }
}
