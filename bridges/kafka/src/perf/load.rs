// SPDX-License-Identifier: MIT OR Apache-2.0
//! Load by many clients at once: as many requests as the server serves, or a schedule that hides no
//! delay.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use hdrhistogram::Histogram;
use zonda_perf::tools::{Schedule, WaitMethod, histogram};

use super::client::{Client, post};

/// Pause of a client after a failure, so that it does not retry in a busy loop while the server is
/// down.
const REST: Duration = Duration::from_millis(10);
/// Stack size of a client's thread.
const STACK: usize = 256 << 10;

/// Lifetime of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// One connection for all requests of a client
    KeepAlive,
    /// A connection for each request, which the server ends
    Close,
}

impl Mode {
    /// Returns its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Mode::KeepAlive => "keep-alive",
            Mode::Close => "connection per request",
        }
    }
}

/// Clients of one server.
#[derive(Debug, Clone)]
pub struct Load {
    /// Address of the server.
    pub address: SocketAddr,
    /// Number of clients, a thread each.
    pub clients: usize,
    /// Use of a connection by the clients.
    pub mode: Mode,
    /// Bytes of each body.
    pub body: usize,
    /// Requests per second of all clients together; `None` for as many as possible.
    pub rate: Option<f64>,
}

/// Outcomes of requests.
#[derive(Debug)]
pub struct Outcomes {
    /// Requests that were answered 202.
    pub accepted: u64,
    /// Requests with another answer.
    pub refused: u64,
    /// Requests without an answer, by the reason.
    pub failed: BTreeMap<String, u64>,
    /// Requests of the schedule that could not be sent in time.
    pub unsent: u64,
    /// Times from the due time of a request, or from its start without a rate, to its answer, in
    /// nanoseconds.
    pub latencies: Histogram<u64>,
}

impl Default for Outcomes {
    fn default() -> Self {
        Outcomes {
            accepted: 0,
            refused: 0,
            failed: BTreeMap::new(),
            unsent: 0,
            latencies: histogram(),
        }
    }
}

impl Outcomes {
    /// Returns the number of requests without an answer.
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    fn count(&mut self, result: &std::io::Result<u16>, took: Duration) {
        match result {
            Ok(202) => self.accepted += 1,
            Ok(_) => self.refused += 1,
            Err(error) => *self.failed.entry(error.to_string()).or_default() += 1,
        }
        if result.is_ok() {
            let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
            self.latencies.saturating_record(nanos);
        }
    }

    fn add(&mut self, other: &Outcomes) {
        self.accepted += other.accepted;
        self.refused += other.refused;
        self.unsent += other.unsent;
        for (reason, count) in &other.failed {
            *self.failed.entry(reason.clone()).or_default() += count;
        }
        // both have the same bounds
        let _ = self.latencies.add(&other.latencies);
    }
}

/// Time in which requests are counted.
#[derive(Debug, Clone, Copy)]
struct Window {
    start: Instant,
    begin: Instant,
    end: Instant,
}

impl Load {
    /// Sends requests for `warm_up`, then counts them for `span`. `at` is called when counting begins and when it ends.
    ///
    /// # Panics
    /// The system has no thread left.
    ///
    /// # Blocking
    /// For both times, and until the last answers are there.
    pub fn run(&self, warm_up: Duration, span: Duration, mut at: impl FnMut()) -> Outcomes {
        let start = Instant::now();
        let begin = start + warm_up;
        let end = begin + span;
        let window = Window { start, begin, end };
        self.each(
            |load, number| load.work(number, window),
            || {
                for moment in [begin, end] {
                    thread::sleep(moment.saturating_duration_since(Instant::now()));
                    at();
                }
            },
        )
    }

    /// Sends `requests` requests, as many as possible at once; returns the outcomes and the time
    /// this took.
    ///
    /// # Panics
    /// The system has no thread left.
    ///
    /// # Blocking
    /// Until they are answered.
    pub fn send(&self, requests: u64) -> (Outcomes, Duration) {
        let start = Instant::now();
        let clients = self.clients as u64;
        let part =
            |number: usize| requests / clients + u64::from((number as u64) < requests % clients);
        let work = |load: &Load, number: usize| {
            let mut way = Way::new(load);
            let mut seen = Outcomes::default();
            for _ in 0..part(number) {
                let begun = Instant::now();
                let result = way.request();
                seen.count(&result, begun.elapsed());
            }
            seen
        };
        let all = self.each(work, || {});
        (all, start.elapsed())
    }

    fn each(
        &self,
        work: impl Fn(&Load, usize) -> Outcomes + Sync,
        meanwhile: impl FnOnce(),
    ) -> Outcomes {
        let mut all = Outcomes::default();
        thread::scope(|scope| {
            let work = &work;
            let threads: Vec<_> = (0..self.clients)
                .map(|number| {
                    let builder = thread::Builder::new().stack_size(STACK);
                    let thread = builder.spawn_scoped(scope, move || work(self, number));
                    thread.expect("a thread for each client")
                })
                .collect();
            meanwhile();
            for thread in threads {
                all.add(&thread.join().expect("a client does not panic"));
            }
        });
        all
    }

    fn work(&self, number: usize, window: Window) -> Outcomes {
        let mut way = Way::new(self);
        let mut seen = Outcomes::default();
        // the clients take turns
        let interval = self.rate.map(|rate| self.clients as f64 / rate);
        let first = interval.map(|all| all * number as f64 / self.clients as f64);
        let mut schedule = interval.zip(first).map(|(interval, first)| {
            let first = window.start + Duration::from_secs_f64(first);
            Schedule::new(first, Duration::from_secs_f64(interval))
        });
        // a due request that cannot be sent is given up as long after the end as the window is
        let last = window.end + (window.end - window.start);
        loop {
            let due = schedule.as_mut().map(Schedule::due);
            let due = due.unwrap_or_else(Instant::now);
            if due >= window.end {
                return seen;
            }
            let is_counted = due >= window.begin;
            if Instant::now() > last {
                seen.unsent += u64::from(is_counted);
                continue;
            }
            wait(due);
            let result = way.request();
            let done = Instant::now();
            // without a schedule an answer after the window is not counted
            if is_counted && (self.rate.is_some() || done <= window.end) {
                seen.count(&result, done - due);
            }
        }
    }
}

fn wait(due: Instant) {
    loop {
        match Schedule::rest(Instant::now(), due) {
            WaitMethod::Go => return,
            WaitMethod::Yield => thread::yield_now(),
            WaitMethod::Sleep(duration) => thread::sleep(duration),
        }
    }
}

/// Connection of one client, made when it is needed.
pub(super) struct Way<'l> {
    load: &'l Load,
    request: Vec<u8>,
    client: Option<Client>,
}

impl<'l> Way<'l> {
    pub(super) fn new(load: &'l Load) -> Self {
        let body = vec![b'a'; load.body];
        Way {
            load,
            request: post(&body, load.mode == Mode::Close),
            client: None,
        }
    }

    /// Returns the status of the next request; pauses after a failure.
    pub(super) fn request(&mut self) -> std::io::Result<u16> {
        let result = self.attempt();
        if result.is_err() {
            thread::sleep(REST);
        }
        result
    }

    /// Sends a request; a connection that failed is not used again.
    fn attempt(&mut self) -> std::io::Result<u16> {
        let mut client = match self.client.take() {
            Some(client) => client,
            None => Client::connect(self.load.address)?,
        };
        let status = client.request(&self.request)?;
        match self.load.mode {
            Mode::KeepAlive => self.client = Some(client),
            Mode::Close => client.await_end()?,
        }
        Ok(status)
    }
}
