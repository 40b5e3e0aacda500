// SPDX-License-Identifier: MIT OR Apache-2.0
//! The asking worker of a node, which receives answers in the subscriber's callback, so that no
//! thread is between the link and the clock, or from the subscriber's queue, as many programs do.
//! Back to back, the callback also sends the next message; on a schedule, the main thread sends
//! each message when it is due, however many are in flight.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clap::Args;
use zonda::Wait;
use zonda::qos::{CongestionControl, Reliability};
use zonda_codec::Qos;
use zonda_program::{Connection, Failure};

use super::answer::{KEY_PING, KEY_PONG, Quality};
use super::closed_loop::{ClosedLoop, Step, Trip, go_round};
use super::level::{OpenNode, Publisher};
use super::load::{Load, Mark};
use super::open_loop::{RealTime, Run, settle};
use super::recorder::{Answer, COUNTED, Recorder, WARM};
use super::report::Report;
use super::sequence_check::STAMP;
use super::stamper::Stamper;
use super::timing::Timing;
use crate::event::Event;
use crate::schedule::Timetable;

/// The time after which an unanswered first message is repeated.
const RETRY: Duration = Duration::from_millis(50);
/// The time limit for the other side's first answer.
const CONTACT: Duration = Duration::from_secs(15);
/// The time limit for an answer.
const ANSWER: Duration = Duration::from_secs(10);

/// Flags of the asking worker.
#[derive(Args, Clone, Debug)]
pub struct Asking {
    /// Payload of a message in bytes, 8 at least
    #[arg(value_parser = stamped_size)]
    size: usize,
    #[command(flatten)]
    timing: Timing,
    #[command(flatten)]
    quality: Quality,
    /// Use the node below the session, without one
    #[arg(long, conflicts_with_all = ["load", "queue"])]
    node: bool,
    /// Take the answers from the subscriber's queue, in the main thread
    #[arg(long, conflicts_with_all = ["load", "rate"])]
    queue: bool,
    /// Saturate the same link with samples of this many bytes at priority 5
    #[arg(long, value_name = "BYTES")]
    load: Option<usize>,
    #[command(flatten)]
    connection: Connection,
}

/// Parses a size with room for a stamp.
pub fn stamped_size(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(size) if size >= STAMP => Ok(size),
        _ => Err(format!("expected {STAMP} bytes or more")),
    }
}

/// Measures as the flags request, and prints the result.
pub fn ask(asking: &Asking) -> Result<(), Failure> {
    let door = OpenNode::open(&asking.connection, asking.node)?;
    if asking.queue {
        by_queue(asking, &door)?.hand_over();
        return Ok(());
    }
    // answers arrive in the callback
    let (tell, words) = channel();
    let line = Arc::new(Line {
        publisher: publisher(&door, asking)?,
        tell,
        state: Mutex::new(AnswerState {
            warm: Stamper::new(WARM, asking.size),
            course: AnswerPath::Single,
        }),
    });
    let at_answer = Arc::clone(&line);
    let _answers = door.subscribe(KEY_PONG, move |payload| at_answer.answered(payload))?;
    // contact, then the load, then the measurement
    door.ready();
    contact(
        || line.send_warm(),
        |patience| Ok(next(&words, patience)?.is_some()),
    )?;
    let load = asking.load.zip(door.session());
    let load = load.map(|(size, session)| Load::start(session, size));
    let load = load.transpose()?;
    let main = Main {
        line: &line,
        words: &words,
        timing: &asking.timing,
        counted: Stamper::new(COUNTED, asking.size),
        load: load.as_ref(),
        mark: None,
    };
    main.run()?.hand_over();
    Ok(())
}

/// Sends one message at a time from the main thread, which waits at the subscriber's queue.
fn by_queue(asking: &Asking, door: &OpenNode) -> Result<Report, Failure> {
    let Some(session) = door.session() else {
        return Err(Failure::Usage("--queue needs a session".into()));
    };
    let answers = session.declare_subscriber(KEY_PONG).wait()?;
    let publisher = publisher(door, asking)?;
    door.ready();
    let mut warm = Stamper::new(WARM, asking.size);
    contact(
        || Ok(publisher.put(warm.payload()).map(drop)?),
        |patience| Ok(answers.recv_timeout(patience)?.is_some()),
    )?;
    let counted = Stamper::new(COUNTED, asking.size);
    one_by_one(&asking.timing, &publisher, counted, || {
        let answer = answers.recv_timeout(ANSWER)?;
        let came = Instant::now();
        Ok(answer.map(|answer| (came, first_bytes(answer.payload().as_slice()))))
    })
}

/// Sends each message when it is due and the previous answer has arrived; `receive` waits for an
/// answer.
fn one_by_one(
    timing: &Timing,
    publisher: &Publisher,
    mut counted: Stamper,
    receive: impl Fn() -> Result<Option<(Instant, [u8; STAMP])>, Failure>,
) -> Result<Report, Failure> {
    go_round(timing, |_| {
        let payload = counted.payload();
        let sent = Instant::now();
        publisher.put(payload)?;
        loop {
            let (came, stamp) = receive()?.ok_or_else(|| silence(ANSWER))?;
            if Answer::read(&stamp) != Answer::Warm {
                return Ok(Trip { sent, came, stamp });
            }
        }
    })
}

fn publisher(door: &OpenNode, asking: &Asking) -> Result<Publisher, Failure> {
    let quality = asking.quality;
    let priority = quality.priority.unwrap_or_default();
    let qos = Qos::new(priority, CongestionControl::Block, !quality.no_express);
    door.publisher(KEY_PING, qos, Reliability::Reliable)
}

/// Repeats the first message until an answer arrives, and waits for the answers to the repeats.
/// `is_answered` waits for an answer at most as long as its argument.
fn contact(
    mut send: impl FnMut() -> Result<(), Failure>,
    is_answered: impl Fn(Duration) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let start = Instant::now();
    let mut unanswered = 0;
    loop {
        send()?;
        if is_answered(RETRY)? {
            break;
        }
        unanswered += 1;
        if start.elapsed() > CONTACT {
            return Err(silence(CONTACT));
        }
    }
    while unanswered > 0 && is_answered(RETRY)? {
        unanswered -= 1;
    }
    Ok(())
}

/// Returns the callback's next word to the main thread; `None` if none arrives within `patience`.
fn next(
    words: &Receiver<CallbackMessage>,
    patience: Duration,
) -> Result<Option<CallbackMessage>, Failure> {
    match words.recv_timeout(patience) {
        Ok(word) => Ok(Some(word)),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => Err(Failure::Run("the session has ended".into())),
    }
}

/// Returns the error of a missing answer.
fn silence(patience: Duration) -> Failure {
    Failure::Run(format!("no answer on {KEY_PONG} within {patience:?}"))
}

fn first_bytes(payload: &[u8]) -> [u8; STAMP] {
    // an answer without a stamp matches no message
    payload.first_chunk().copied().unwrap_or([u8::MAX; STAMP])
}

/// The state of the main thread.
struct Main<'a> {
    line: &'a Line,
    words: &'a Receiver<CallbackMessage>,
    timing: &'a Timing,
    counted: Stamper,
    load: Option<&'a Load>,
    /// The amount of load at the beginning of the recording.
    mark: Option<Mark>,
}

impl Main<'_> {
    fn run(mut self) -> Result<Report, Failure> {
        let mut report = match (self.timing.rate, self.timing.interval) {
            (Some(rate), _) => self.on_schedule(rate)?,
            (None, Some(_)) => {
                let publisher = &self.line.publisher;
                return one_by_one(self.timing, publisher, self.counted, || {
                    match next(self.words, ANSWER)? {
                        Some(CallbackMessage::Answer(came, stamp)) => Ok(Some((came, stamp))),
                        _ => Ok(None),
                    }
                });
            }
            (None, None) => self.back_to_back()?,
        };
        let moved = self.load.zip(self.mark.as_ref());
        report.load_bytes_per_second = moved.map(|(load, mark)| load.rate_since(mark));
        Ok(report)
    }

    /// Reports the beginning of the recording.
    fn measuring(&mut self) {
        Event::Measuring.say();
        self.mark = self.load.map(Load::mark);
    }

    /// Sends one message; the callback sends all further messages.
    fn back_to_back(&mut self) -> Result<Report, Failure> {
        let counted = std::mem::replace(&mut self.counted, Stamper::new(COUNTED, 0));
        self.line.state().course = AnswerPath::Closed(ClosedLoop::new(counted, self.timing));
        self.line.send_first()?;
        let patience = self.timing.warm_up + self.timing.seconds + ANSWER;
        loop {
            match next(self.words, patience)? {
                Some(CallbackMessage::Measuring) => self.measuring(),
                Some(CallbackMessage::Over(report)) => return Ok(report),
                // an answer to a message from before the loop
                Some(CallbackMessage::Answer(..)) => {}
                Some(CallbackMessage::Failed(failure)) => return Err(failure),
                None => return Err(silence(patience)),
            }
        }
    }

    /// Sends each message when it is due.
    fn on_schedule(&mut self, rate: f64) -> Result<Report, Failure> {
        // warm up and plan the run
        let (run, recorder) = Run::begin(self.timing, rate, || {
            self.line.send_warm()?;
            let came = next(self.words, ANSWER)?;
            came.map(drop).ok_or_else(|| silence(ANSWER))
        })?;
        // send each message when it is due, and record the answers in the callback
        let clock = RealTime::on_this_thread();
        self.line.state().course = AnswerPath::Open(run.table, recorder);
        let sent = run.send(&clock, |numbers| {
            for number in numbers {
                if number == run.first {
                    self.measuring();
                }
                self.line.publisher.put(self.counted.payload())?;
            }
            Ok::<(), Failure>(())
        })?;
        let end = Instant::now();
        // wait for the last answers
        settle(sent, || match &self.line.state().course {
            AnswerPath::Open(_, recorder) => recorder.answers(),
            _ => sent,
        });
        let state = self.line.state();
        let AnswerPath::Open(_, recorder) = &state.course else {
            return Err(silence(ANSWER));
        };
        Ok(run.report(recorder, sent, end))
    }
}

/// A message from the callback to the main thread.
enum CallbackMessage {
    /// An answer that arrived then and begins with this stamp; the callback sent no message.
    Answer(Instant, [u8; STAMP]),
    /// The end of the warm-up.
    Measuring,
    /// The result of the finished recording.
    Over(Report),
    /// The failure to send the next message.
    Failed(Failure),
}

/// State shared by the main thread and the callback.
struct Line {
    publisher: Publisher,
    tell: Sender<CallbackMessage>,
    state: Mutex<AnswerState>,
}

struct AnswerState {
    warm: Stamper,
    course: AnswerPath,
}

/// The way answers are handled.
enum AnswerPath {
    /// The callback passes the answer to the main thread.
    Single,
    /// The callback sends the next message.
    Closed(ClosedLoop),
    /// The callback records the answer.
    Open(Timetable, Recorder),
}

impl Line {
    fn state(&self) -> MutexGuard<'_, AnswerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message that is not measured.
    fn send_warm(&self) -> Result<(), Failure> {
        let payload = {
            let mut state = self.state();
            state.course = AnswerPath::Single;
            state.warm.payload()
        };
        self.publisher.put(payload)?;
        Ok(())
    }

    /// Sends the first message of a closed loop.
    fn send_first(&self) -> Result<(), Failure> {
        let payload = match &mut self.state().course {
            AnswerPath::Closed(closed) => closed.message(),
            _ => return Ok(()),
        };
        self.publisher.put(payload)?;
        Ok(())
    }

    /// Handles an answer; there is one link, whose task alone calls this.
    fn answered(&self, payload: &[u8]) {
        let now = Instant::now();
        let mut state = self.state();
        // handle the answer by the current course
        let (word, next) = match &mut state.course {
            AnswerPath::Single => (
                Some(CallbackMessage::Answer(now, first_bytes(payload))),
                None,
            ),
            AnswerPath::Closed(closed) => match closed.answered(payload, now) {
                Step::Next(next) => (None, Some(next)),
                Step::First(next) => (Some(CallbackMessage::Measuring), Some(next)),
                Step::Over(report) => (Some(CallbackMessage::Over(report)), None),
                Step::Nothing => (None, None),
            },
            AnswerPath::Open(table, recorder) => {
                let since = match Answer::read(payload) {
                    Answer::To(number) => table.due(number),
                    Answer::Warm | Answer::Strange => now,
                };
                recorder.answered(payload, since, now);
                (None, None)
            }
        };
        // the lock is released before the message leaves
        drop(state);
        if let Some(payload) = next
            && let Err(error) = self.publisher.put(payload)
        {
            self.tell(CallbackMessage::Failed(error.into()));
        }
        if let Some(word) = word {
            self.tell(word);
        }
    }

    fn tell(&self, word: CallbackMessage) {
        // the main thread may have ended
        let _ = self.tell.send(word);
    }
}
