// SPDX-License-Identifier: MIT OR Apache-2.0
//! One round of a flow: deliveries per second in a window that opens after the warm-up, the
//! resources that every process used in it, and the account of all offered messages.

use std::thread;
use std::time::{Duration, Instant};

use zonda_program::Failure;

use super::account::{Account, Receipt};
use super::add_usage;
use super::counter::{Counter, rate};
use crate::event::{Count, Event};
use crate::process::ProgramOutput;
use crate::processes::{Processes, Role};
use crate::record::{Better, Pairs, Round};
use crate::roles::{Roles, round_messages};
use crate::scenario::flow::{Congestion, Flow};
use crate::workers::orders::Order;

/// The time limit of a standstill, and of the first message.
const PATIENCE: Duration = Duration::from_secs(60);
/// The interval at which the receivers' output is read.
const LOOK: Duration = Duration::from_millis(5);
/// The silence after which missing messages count as lost, where no message may be lost.
const QUIET: Duration = Duration::from_secs(10);
/// The silence after which missing messages count as lost where messages are dropped, as the last
/// ones may be.
const QUIET_DROP: Duration = Duration::from_millis(500);

/// Runs the programs and watches them.
pub fn measure(roles: Roles<'_>, flow: &Flow) -> Result<Round, Failure> {
    let mut processes = Processes::start(roles)?;
    // wait for the first messages, then warm up
    let mut gauges = Gauges::new(&processes, round_messages(flow));
    gauges.watch(&mut processes, |gauges, _| gauges.have_all_begun())?;
    let warm = Instant::now() + Duration::from_secs_f64(roles.span.warm_up);
    gauges.watch(&mut processes, |_, now| now >= warm)?;
    // the window
    gauges.open();
    let opened = Instant::now();
    let before = processes.footprints();
    let size = flow.size as u64;
    let close = opened + Duration::from_secs_f64(roles.span.seconds);
    gauges.watch(&mut processes, |gauges, now| {
        now >= close && gauges.have_all_moved() && gauges.moved() * size >= roles.span.bytes
    })?;
    let after = processes.footprints();
    let seconds = opened.elapsed().as_secs_f64();
    processes.check()?;
    // rate and usage of the window
    let rate = gauges.rate();
    let deliveries = rate * seconds;
    let puts = deliveries / f64::from(flow.subscribers);
    let mut round = Round::of_readings(gauges.readings());
    round.add("rate", "msg/s", Better::Higher, rate);
    add_usage(&mut round, &before, &after, |role| match role {
        "sender" => puts,
        _ => deliveries,
    });
    // only this project's programs keep an account
    if roles.system.is_own() {
        let is_lossy = roles.system.link.is_lossy();
        let account = account(&mut processes, flow, is_lossy)?;
        add_account(&mut round, &account, flow, is_lossy);
    }
    Ok(round)
}

/// Stops the publishers, waits until their messages have arrived, and adds up the account.
fn account(processes: &mut Processes, flow: &Flow, is_lossy: bool) -> Result<Account, Failure> {
    // the publishers end, and report what they put
    processes.order_senders(&Order::Stop)?;
    let mut offers = Vec::new();
    for at in 0..processes.senders.len() {
        let until = Instant::now() + PATIENCE + QUIET;
        offers.push(
            processes.wait_for(Role::Sender(at), until, |event| match event {
                Event::Offered { offered, dropped } => Some((offered, dropped)),
                _ => None,
            })?,
        );
    }
    // the subscribers wait for all of it, or until no more messages arrive
    let quiet = match flow.service.congestion {
        Congestion::Block if !is_lossy => QUIET,
        _ => QUIET_DROP,
    };
    let offered = offers.iter().map(|(offered, _)| *offered).collect();
    let report = Order::Report { offered, quiet };
    for receiver in &mut processes.receivers {
        receiver.tell(&report.to_line())?;
    }
    let mut receipts = Vec::new();
    for at in 0..processes.receivers.len() {
        let until = Instant::now() + 10 * QUIET;
        receipts.push(
            processes.wait_for(Role::Receiver(at), until, |event| match event {
                Event::Tally { seen, unstamped } => Some(Receipt { seen, unstamped }),
                _ => None,
            })?,
        );
    }
    // the missing messages must be those that the nodes report as dropped
    let mut behind = 0;
    if let Some(router) = &mut processes.router {
        router.tell(&report.to_line())?;
        let until = Instant::now() + PATIENCE;
        behind = processes.wait_for(Role::Router, until, |event| match event {
            Event::Dropped { dropped } => Some(dropped),
            _ => None,
        })?;
    }
    Ok(Account::of(flow, &offers, behind, &receipts))
}

fn add_account(round: &mut Round, account: &Account, flow: &Flow, is_lossy: bool) {
    // the number of lost messages depends on speed where messages may be dropped or lost
    let loss = match flow.service.congestion {
        Congestion::Block if !is_lossy => Better::Lower,
        _ => Better::Neither,
    };
    for (name, count) in account.figures() {
        let better = match name {
            "lost" => loss,
            "duplicated" | "reordered" => Better::Lower,
            _ => Better::Neither,
        };
        round.add(name, "msg", better, count as f64);
    }
    round.fault = account.fault(flow, is_lossy);
}

/// The gauges of all receivers.
struct Gauges(Vec<Gauge>);

struct Gauge {
    counter: Counter,
    /// The count when the window opened.
    mark: Count,
    readings: Pairs,
}

impl Gauges {
    fn new(processes: &Processes, round: u64) -> Self {
        let gauge = |_| {
            let counter = Counter::new(round);
            Gauge {
                mark: counter.last,
                counter,
                readings: Vec::new(),
            }
        };
        Gauges(processes.receivers.iter().map(gauge).collect())
    }

    fn have_all_begun(&self) -> bool {
        self.0.iter().all(|g| g.counter.last.messages > 0)
    }

    fn open(&mut self) {
        for gauge in &mut self.0 {
            gauge.mark = gauge.counter.last;
            gauge.readings = vec![(gauge.mark.nanos, gauge.mark.messages)];
        }
    }

    fn have_all_moved(&self) -> bool {
        self.0.iter().all(|g| g.rate() > 0.0)
    }

    /// Returns the messages since the window opened, at the slowest receiver.
    fn moved(&self) -> u64 {
        let moved = self
            .0
            .iter()
            .map(|g| g.counter.last.messages - g.mark.messages);
        moved.min().unwrap_or_default()
    }

    fn rate(&self) -> f64 {
        self.0.iter().map(Gauge::rate).sum()
    }

    /// Takes the readings of the first receiver in the window.
    fn readings(&mut self) -> Pairs {
        let first = self.0.first_mut();
        first.map_or_else(Vec::new, |gauge| std::mem::take(&mut gauge.readings))
    }

    /// Reads counts until `is_done`; fails if a program ends, or if a receiver stands still for too
    /// long.
    fn watch(
        &mut self,
        processes: &mut Processes,
        is_done: impl Fn(&Gauges, Instant) -> bool,
    ) -> Result<(), Failure> {
        let mut moved = vec![Instant::now(); self.0.len()];
        loop {
            // read the output of all receivers
            for (at, gauge) in self.0.iter_mut().enumerate() {
                let receiver = &mut processes.receivers[at];
                loop {
                    match receiver.line(Instant::now())? {
                        ProgramOutput::Line(line) => {
                            if gauge.has_moved(&line) {
                                moved[at] = Instant::now();
                            }
                        }
                        ProgramOutput::Nothing => break,
                        ProgramOutput::End => return Err(receiver.died()),
                    }
                }
            }
            // done, or too late
            let now = Instant::now();
            if is_done(self, now) {
                return Ok(());
            }
            processes.check()?;
            for (receiver, moved) in processes.receivers.iter().zip(&moved) {
                if now > *moved + PATIENCE {
                    return Err(receiver.late("receive another message", PATIENCE));
                }
            }
            thread::sleep(LOOK);
        }
    }
}

impl Gauge {
    fn rate(&self) -> f64 {
        rate(&[self.mark, self.counter.last])
    }

    /// Returns true if a line of the receiver is a higher count.
    fn has_moved(&mut self, line: &str) -> bool {
        let before = self.counter.last.messages;
        let Some(count) = self.counter.read(line) else {
            return false;
        };
        self.readings.push((count.nanos, count.messages));
        count.messages > before
    }
}
