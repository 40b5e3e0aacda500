// SPDX-License-Identifier: MIT OR Apache-2.0
//! Latency as `zonda perf lat` measures it: answers are taken in the subscriber's callback; back to back it also sends the
//! next message; on a schedule the main thread sends each message when it is due, and its latency counts from there. The
//! result is one line of JSON.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use peers_report::{LINGER, rounded};
use serde_json::json;
use zenoh::Wait;
use zenoh::pubsub::Publisher;
use zenoh::qos::{CongestionControl, Priority};
use zenoh::{Session, bytes::ZBytes};

use crate::{KEY_PING, KEY_PONG, fail, line, payload};

/// Key of the load.
pub const KEY_LOAD: &str = "test/load";

/// Pause before a first message without an answer is sent again.
const RETRY: Duration = Duration::from_millis(100);
/// Time limit for the other side to appear.
const CONTACT: Duration = Duration::from_secs(15);
/// Time limit for an answer.
const ANSWER: Duration = Duration::from_secs(5);
/// Minimum number of messages in the warm-up of a schedule that warms up by itself.
const LEAD_MIN: f64 = 10.0;
/// Time after which late messages are no longer sent, in addition to half of the time of the run.
const GRACE: Duration = Duration::from_millis(500);
/// Time by which a sleep ends early; the rest is spent yielding to other threads.
const MARGIN: Duration = Duration::from_micros(60);
/// Stamp of messages that are not measured.
const WARM: u64 = 1 << 48;

/// Parameters of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Payload in bytes, 8 at least.
    pub size: usize,
    /// Time of recording.
    pub seconds: Duration,
    /// Time of round trips before the recording.
    pub warm_up: Duration,
    /// Messages per second; `None` is back to back.
    pub rate: Option<f64>,
    /// Payload of the samples that fill the same link.
    pub load: Option<usize>,
    /// True to send each message at once.
    pub express: bool,
    /// Priority of the messages.
    pub priority: Priority,
}

/// State shared by the callback and the main thread.
struct Shared {
    publisher: Publisher<'static>,
    template: Vec<u8>,
    tell: Sender<()>,
    next: AtomicU64,
    state: Mutex<State>,
}

enum Course {
    /// The main thread waits for each answer.
    Single,
    /// The callback sends the next message. Holds when the last one was sent.
    Circle(Instant),
    /// The callback records the latency. Holds when message 0 was due, and nanoseconds between two.
    Open(Instant, f64),
    /// No more messages are recorded.
    Over,
}

struct State {
    course: Course,
    /// Number of the first message that is recorded.
    first: u64,
    nanos: Vec<u64>,
    expected: u64,
    missing: HashSet<u64>,
    duplicated: u64,
    reordered: u64,
    answers: u64,
    last: Instant,
}

impl State {
    /// Checks that the answer has the expected number.
    fn check(&mut self, number: u64) {
        if number >= self.expected {
            self.missing.extend(self.expected..number);
            self.expected = number + 1;
            self.answers += 1;
        } else if self.missing.remove(&number) {
            self.reordered += 1;
            self.answers += 1;
        } else {
            self.duplicated += 1;
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, stamp: u64) {
        let mut bytes = self.template.clone();
        bytes[..8].copy_from_slice(&stamp.to_le_bytes());
        if let Err(e) = self.publisher.put(ZBytes::from(bytes)).wait() {
            fail("put on test/ping", e);
        }
    }

    fn answered(&self, stamp: u64) {
        let now = Instant::now();
        let mut state = self.state();
        let mut next = None;
        // the course decides about the use of an answer
        match state.course {
            Course::Single => drop(self.tell.send(())),
            _ if stamp >= WARM => {}
            // back to back: the answer releases the next message
            Course::Circle(sent) => {
                state.check(stamp);
                if stamp >= state.first {
                    state.nanos.push((now - sent).as_nanos() as u64);
                }
                if stamp + 1 == self.next.load(Ordering::Relaxed) {
                    next = Some(stamp + 1);
                    self.next.store(stamp + 2, Ordering::Relaxed);
                    state.course = Course::Circle(Instant::now());
                }
            }
            // on a schedule: the time counts from when the message was due
            Course::Open(start, interval) => {
                state.check(stamp);
                if stamp >= state.first {
                    let due = start + Duration::from_nanos((stamp as f64 * interval) as u64);
                    let took = now.saturating_duration_since(due);
                    state.nanos.push(took.as_nanos() as u64);
                    state.last = now;
                }
            }
            Course::Over => {}
        }
        // the put runs without the lock
        drop(state);
        if let Some(stamp) = next {
            self.send(stamp);
        }
    }

    fn single(&self, told: &Receiver<()>, patience: Duration) -> bool {
        self.send(WARM);
        told.recv_timeout(patience).is_ok()
    }
}

/// Measures, prints the result and stays for a while.
pub fn measure(session: &Session, plan: Plan) {
    let (tell, told) = channel();
    // publisher and subscriber, with the state that they share
    let publisher = session
        .declare_publisher(KEY_PING)
        .congestion_control(CongestionControl::Block)
        .priority(plan.priority)
        .express(plan.express)
        .wait()
        .unwrap_or_else(|e| fail("cannot declare the publisher of test/ping", e));
    let shared = Arc::new(Shared {
        publisher,
        template: payload(plan.size.max(8)),
        tell,
        next: AtomicU64::new(0),
        state: Mutex::new(State {
            course: Course::Single,
            first: u64::MAX,
            nanos: Vec::new(),
            expected: 0,
            missing: HashSet::new(),
            duplicated: 0,
            reordered: 0,
            answers: 0,
            last: Instant::now(),
        }),
    });
    let at_answer = Arc::clone(&shared);
    let _answers = session
        .declare_subscriber(KEY_PONG)
        .callback(move |sample| {
            let bytes = sample.payload().to_bytes();
            if let Some(stamp) = bytes.first_chunk() {
                at_answer.answered(u64::from_le_bytes(*stamp));
            }
        })
        .wait()
        .unwrap_or_else(|e| fail("cannot subscribe to test/pong", e));
    // contact, then the measurement on its course
    contact(&shared, &told);
    let load = plan.load.map(|size| start_load(session, size));
    let outcome = match plan.rate {
        None => circle(&shared, plan, load.as_deref()),
        Some(rate) => open(&shared, &told, plan, rate, load.as_deref()),
    };
    report(&shared, &outcome);
    thread::sleep(LINGER);
}

/// Waits until the first message comes back, then lets late answers to its repeats run out.
fn contact(shared: &Shared, told: &Receiver<()>) {
    let start = Instant::now();
    let mut unanswered = 0;
    while !shared.single(told, RETRY) {
        unanswered += 1;
        if start.elapsed() > CONTACT {
            fail(
                "no answer on test/pong within 15 s",
                "is z_pong running and reachable?",
            );
        }
    }
    while unanswered > 0 && told.recv_timeout(RETRY).is_ok() {
        unanswered -= 1;
    }
}

/// Publishes samples as long as the process lives; returns the counter of their bytes.
fn start_load(session: &Session, size: usize) -> Arc<AtomicU64> {
    let publisher = session
        .declare_publisher(KEY_LOAD)
        .congestion_control(CongestionControl::Block)
        .priority(Priority::Data)
        .wait()
        .unwrap_or_else(|e| fail("cannot declare the publisher of test/load", e));
    let bytes = Arc::new(AtomicU64::new(0));
    let moved = Arc::clone(&bytes);
    let sample = ZBytes::from(payload(size));
    thread::spawn(move || {
        while publisher.put(sample.clone()).wait().is_ok() {
            moved.fetch_add(size as u64, Ordering::Relaxed);
        }
    });
    bytes
}

struct Outcome {
    seconds: f64,
    planned: u64,
    sent: u64,
    load: Option<f64>,
}

/// Prints that recording begins; returns the time and the load moved until then.
fn measuring(load: Option<&AtomicU64>) -> (Instant, u64) {
    line(format_args!("{}", json!({"event": "measuring"})));
    (
        Instant::now(),
        load.map_or(0, |l| l.load(Ordering::Relaxed)),
    )
}

fn load_rate(load: Option<&AtomicU64>, mark: (Instant, u64)) -> Option<f64> {
    let (since, before) = mark;
    let moved = load?.load(Ordering::Relaxed) - before;
    Some(moved as f64 / since.elapsed().as_secs_f64())
}

fn circle(shared: &Shared, plan: Plan, load: Option<&AtomicU64>) -> Outcome {
    shared.state().course = Course::Circle(Instant::now());
    shared.next.store(1, Ordering::Relaxed);
    shared.send(0);
    thread::sleep(plan.warm_up);
    let mark = measuring(load);
    let begun = Instant::now();
    {
        let mut state = shared.state();
        state.first = shared.next.load(Ordering::Relaxed);
    }
    thread::sleep(plan.seconds);
    let mut state = shared.state();
    state.course = Course::Over;
    let seconds = begun.elapsed().as_secs_f64();
    let sent = shared.next.load(Ordering::Relaxed);
    // the last message is on its way
    Outcome {
        seconds,
        planned: sent,
        sent: sent.min(state.expected),
        load: load_rate(load, mark),
    }
}

fn open(
    shared: &Shared,
    told: &Receiver<()>,
    plan: Plan,
    rate: f64,
    load: Option<&AtomicU64>,
) -> Outcome {
    // warm-up: on the schedule if it is dense, one by one otherwise
    let is_dense = rate * plan.warm_up.as_secs_f64() >= LEAD_MIN;
    let lead = if is_dense {
        plan.warm_up
    } else {
        Duration::ZERO
    };
    let warm = Instant::now();
    while !is_dense && warm.elapsed() < plan.warm_up {
        shared.single(told, ANSWER);
    }
    // the schedule, and a cutoff for a peer that does not keep up
    let interval = 1e9 / rate;
    let start = Instant::now();
    let due = |number: u64| start + Duration::from_nanos((number as f64 * interval) as u64);
    let first = (lead.as_secs_f64() * rate).ceil() as u64;
    let length = lead + plan.seconds;
    let planned = ((length.as_secs_f64() * rate) as u64).max(1);
    let cutoff = due(planned) + length / 2 + GRACE;
    {
        let mut state = shared.state();
        (state.first, state.course) = (first, Course::Open(start, interval));
    }
    let (mut sent, mut mark) = (0, (start, 0));
    // sleep until shortly before the due time, then yield
    while sent < planned {
        let now = Instant::now();
        if now >= cutoff {
            break;
        }
        let left = due(sent).saturating_duration_since(now);
        if left > MARGIN {
            thread::sleep(left - MARGIN);
        } else if !left.is_zero() {
            thread::yield_now();
        } else {
            if sent == first {
                mark = measuring(load);
            }
            shared.send(sent);
            sent += 1;
        }
    }
    // late answers are awaited, and the rate counts until the last one
    let end = Instant::now();
    let load = load_rate(load, mark);
    settle(shared, sent);
    let over = shared.state().last.max(end).max(due(sent));
    let seconds = over.saturating_duration_since(due(first)).as_secs_f64();
    Outcome {
        seconds,
        planned,
        sent,
        load,
    }
}

/// Waits until all messages are answered, or no more answers come.
fn settle(shared: &Shared, sent: u64) {
    let (mut so_far, mut last) = (0, Instant::now());
    while last.elapsed() < ANSWER {
        let now = shared.state().answers;
        if now >= sent {
            return;
        }
        if now > so_far {
            (so_far, last) = (now, Instant::now());
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn report(shared: &Shared, outcome: &Outcome) {
    let state = shared.state();
    let mut times = BTreeMap::new();
    for nanos in &state.nanos {
        *times.entry(rounded(*nanos)).or_insert(0_u64) += 1;
    }
    let lost = state.missing.len() as u64 + outcome.sent.saturating_sub(state.expected);
    let told = json!({
        "event": "latency",
        "seconds": outcome.seconds,
        "planned": outcome.planned,
        "sent": outcome.sent,
        "lost": lost,
        "duplicated": state.duplicated,
        "reordered": state.reordered,
        "nanos_times": times.into_iter().collect::<Vec<_>>(),
        "load_bytes_per_second": outcome.load,
    });
    drop(state);
    line(format_args!("{told}"));
}
