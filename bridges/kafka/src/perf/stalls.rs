// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measurement of stalls of accepting: all servers at the same time, each with clients that open a
//! connection for each request.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use zonda_perf::Progress;
use zonda_program::{Failure, Interrupt, print, print_lines};

use super::arguments::PerfArgs;
use super::load::{Load, Mode, Way};
use super::system::{Broker, Order, Server};
use crate::ingest::{Ack, On};

/// Topic of the messages.
const TOPIC: &str = "stalls";
/// Number of progress reports.
const PARTS: u32 = 20;

/// Observations of the clients of one server.
#[derive(Default)]
struct Watch {
    answered: AtomicU64,
    refused: AtomicU64,
    failed: AtomicU64,
    /// Time of the latest answer to any client, in microseconds from the start.
    last: AtomicU64,
    /// Longest time without an answer, in microseconds.
    longest: AtomicU64,
    /// Number of gaps that are stalls.
    stalls: AtomicU64,
}

/// State shared by all clients.
struct Course {
    start: Instant,
    stall: u64,
    is_over: AtomicBool,
}

impl Course {
    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

impl Watch {
    /// Ends the current time without an answer.
    fn gap(&self, course: &Course) {
        let now = course.now();
        let gap = now.saturating_sub(self.last.fetch_max(now, Ordering::Relaxed));
        self.longest.fetch_max(gap, Ordering::Relaxed);
        if gap >= course.stall {
            self.stalls.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn ask(&self, load: &Load, course: &Course) {
        let mut way = Way::new(load);
        while !course.is_over.load(Ordering::Relaxed) {
            let counter = match way.request() {
                Ok(202) => &self.answered,
                Ok(_) => &self.refused,
                Err(_) => {
                    self.failed.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
            };
            counter.fetch_add(1, Ordering::Relaxed);
            self.gap(course);
        }
    }
}

/// Loads every server for `span`; fails if one of the project's servers stalled.
pub(super) fn run(args: &PerfArgs, span: Duration, interrupt: &Interrupt) -> Result<(), Failure> {
    let broker = Broker::of(args, interrupt)?;
    let servers = args.servers().into_iter().map(|on| {
        let order = Order {
            on,
            ack: Ack::Queue,
            topic: TOPIC,
        };
        Ok((
            on,
            Server::start(order, args, &broker, interrupt)?,
            Watch::default(),
        ))
    });
    let servers: Vec<_> = servers.collect::<Result<_, Failure>>()?;
    let loads: Vec<Load> = servers
        .iter()
        .map(|(_, server, _)| load(args, server))
        .collect();
    let course = Course {
        start: Instant::now(),
        stall: u64::from(args.stall_ms) * 1000,
        is_over: AtomicBool::new(false),
    };
    let result = thread::scope(|scope| {
        for ((_, _, watch), load) in servers.iter().zip(&loads) {
            for _ in 0..load.clients {
                scope.spawn(|| watch.ask(load, &course));
            }
        }
        let result = pass(span, course.start, interrupt);
        // before the last answers, so that a server that no longer answers is counted as well
        for (_, _, watch) in &servers {
            watch.gap(&course);
        }
        course.is_over.store(true, Ordering::Relaxed);
        result
    });
    let watched: Vec<_> = servers.iter().map(|(on, _, watch)| (*on, watch)).collect();
    show(&watched, args, course.start.elapsed());
    result?;
    let is_ours = |on: On| matches!(on, On::Runtime(_));
    let stalls = watched.iter().filter(|(on, _)| is_ours(*on));
    match stalls
        .map(|(_, watch)| watch.stalls.load(Ordering::Relaxed))
        .sum::<u64>()
    {
        0 => Ok(()),
        stalls => Err(Failure::Run(format!("accepting stalled {stalls} times"))),
    }
}

fn load(args: &PerfArgs, server: &Server) -> Load {
    Load {
        address: server.address,
        clients: args.crowd(),
        mode: Mode::Close,
        body: usize::from(args.body),
        rate: None,
    }
}

/// Sleeps until `span` has passed since `start`, and reports progress.
fn pass(span: Duration, start: Instant, interrupt: &Interrupt) -> Result<(), Failure> {
    let mut progress = Progress::new(PARTS as usize);
    for part in 1..=PARTS {
        interrupt.rest_until(start + span * part / PARTS)?;
        let passed = format!("{:.1} minutes", start.elapsed().as_secs_f64() / 60.0);
        progress.reach(part as usize, &passed);
    }
    Ok(())
}

fn show(watched: &[(On, &Watch)], args: &PerfArgs, took: Duration) {
    print(format_args!(
        "all servers at the same time for {:.1} minutes, {} clients each, a connection per request",
        took.as_secs_f64() / 60.0,
        args.crowd()
    ));
    let stalls = format!("stalls of {} ms", args.stall_ms);
    let heads = ["server", "202", "503", "failed", "longest gap ms", &stalls];
    let rows = watched.iter().map(|(on, watch)| {
        let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed).to_string();
        let longest = watch.longest.load(Ordering::Relaxed) as f64 / 1e3;
        vec![
            on.to_string(),
            number(&watch.answered),
            number(&watch.refused),
            number(&watch.failed),
            format!("{longest:.1}"),
            number(&watch.stalls),
        ]
    });
    print_lines(format_args!("{}", zonda_program::table(heads, rows, 1..)));
}
