// SPDX-License-Identifier: MIT OR Apache-2.0
//! One round of one system in one flow: deliveries per second in a window that opens after the flow has
//! begun and warmed up, what every process used meanwhile, and whether all that was offered has come.

use std::thread;
use std::time::{Duration, Instant};

use zonda_program::Interrupt;

use super::check::{Check, Receipt};
use super::command::Command;
use super::flow::{Congestion, Flow};
use super::orders::{Order, Word};
use super::scene::{Footprints, Role, Scene};
use crate::event::Count;
use crate::process::Said;
use crate::record::{Better, Cell};
use crate::system::{Span, System};
use crate::table::ROLES;
use crate::throughput::{Counter, rate};
use crate::trouble::Trouble;

/// How long the flow may stand still, and how long the first message may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often what the receivers say is read.
const LOOK: Duration = Duration::from_millis(5);
/// How long nothing must have come until the rest counts as lost, where nothing may be lost.
const QUIET: Duration = Duration::from_secs(10);
/// The same where messages are dropped, which happens to the last ones too.
const QUIET_DROP: Duration = Duration::from_millis(500);

/// What one round showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// Deliveries per second, of all subscribers together.
    pub rate: f64,
    /// CPU time in nanoseconds: of the publishers for a message put, of the router and the subscribers
    /// for a message delivered.
    pub cpu: Vec<(&'static str, Option<f64>)>,
    /// The most resident memory of any process of the role, in KiB.
    pub peak_kib: Vec<(&'static str, Option<u64>)>,
    /// The account of every message, from the first to the last and not of the window alone; only of
    /// this project's own programs.
    pub check: Option<Check>,
}

/// Runs the programs and watches them for `span`.
pub fn measure(command: Command<'_>, span: Span, interrupt: &Interrupt) -> Result<Round, Trouble> {
    let mut scene = Scene::set(command, interrupt)?;
    let mut gauges = Gauges::new(&scene, command.round_messages());
    gauges.watch(&mut scene, interrupt, |gauges, _| gauges.have_all_begun())?;
    let warm = Instant::now() + Duration::from_secs_f64(span.warm_up);
    gauges.watch(&mut scene, interrupt, |_, now| now >= warm)?;
    gauges.open();
    let opened = Instant::now();
    let before = scene.footprints();
    let close = opened + Duration::from_secs_f64(span.seconds);
    gauges.watch(&mut scene, interrupt, |gauges, now| {
        now >= close && gauges.have_all_moved()
    })?;
    let after = scene.footprints();
    let seconds = opened.elapsed().as_secs_f64();
    scene.check()?;
    let rate = gauges.rate();
    let deliveries = rate * seconds;
    let puts = deliveries / f64::from(command.flow.subscribers);
    let check = match command.system {
        System::Zonda { .. } => Some(account(&mut scene, command, interrupt)?),
        _ => None,
    };
    let per_message = |role| if role == "sender" { puts } else { deliveries };
    Ok(Round {
        rate,
        cpu: by_role(&after, |role| cpu(role, &before, &after, per_message(role))),
        peak_kib: by_role(&after, |role| peak(role, &after)),
        check,
    })
}

fn by_role<T>(
    footprints: &Footprints,
    figure: impl Fn(&'static str) -> Option<T>,
) -> Vec<(&'static str, Option<T>)> {
    let is_there = |role: &&str| footprints.iter().any(|(of, _)| of == role);
    let roles = ROLES.into_iter().filter(is_there);
    roles.map(|role| (role, figure(role))).collect()
}

fn cpu(role: &str, before: &Footprints, after: &Footprints, messages: f64) -> Option<f64> {
    let both = before.iter().zip(after).filter(|((of, _), _)| *of == role);
    both.map(|((_, before), (_, after))| after.since(before, messages).cpu_nanos)
        .sum()
}

fn peak(role: &str, footprints: &Footprints) -> Option<u64> {
    let of_role = footprints.iter().filter(|(of, _)| *of == role);
    of_role
        .filter_map(|(_, footprint)| footprint.peak_kib)
        .max()
}

/// Stops the publishers, waits until what they sent has come, and adds it all up.
fn account(
    scene: &mut Scene,
    command: Command<'_>,
    interrupt: &Interrupt,
) -> Result<Check, Trouble> {
    scene.tell_senders(&Order::Stop)?;
    let mut offers = Vec::new();
    for at in 0..scene.senders.len() {
        let until = Instant::now() + PATIENCE + QUIET;
        let offer = loop {
            if let Word::Offered { offered, dropped } =
                scene.word(Role::Sender(at), until, interrupt)?
            {
                break (offered, dropped);
            }
        };
        offers.push(offer);
    }
    let quiet = match command.flow.service.congestion {
        Congestion::Block => QUIET,
        Congestion::Drop => QUIET_DROP,
    };
    let offered = offers.iter().map(|(offered, _)| *offered).collect();
    let report = Order::Report { offered, quiet };
    for receiver in &mut scene.receivers {
        receiver.tell(&report.to_line())?;
    }
    let mut receipts = Vec::new();
    for at in 0..scene.receivers.len() {
        let until = Instant::now() + 10 * QUIET;
        let receipt = loop {
            if let Word::Tally { seen, unstamped } =
                scene.word(Role::Receiver(at), until, interrupt)?
            {
                break Receipt { seen, unstamped };
            }
        };
        receipts.push(receipt);
    }
    let behind = match &mut scene.router {
        None => 0,
        Some(router) => {
            router.tell(&report.to_line())?;
            let until = Instant::now() + PATIENCE;
            loop {
                let word = scene.word(Role::Router, until, interrupt)?;
                if let Word::Dropped { dropped } = word {
                    break dropped;
                }
            }
        }
    };
    Ok(Check::of(command.flow, &offers, behind, &receipts))
}

/// The counts of all receivers.
struct Gauges(Vec<Gauge>);

struct Gauge {
    counter: Counter,
    /// The count when the window opened.
    mark: Count,
}

impl Gauges {
    fn new(scene: &Scene, round: u64) -> Self {
        let gauge = |_| {
            let counter = Counter::new(round);
            Gauge {
                mark: counter.last,
                counter,
            }
        };
        Gauges(scene.receivers.iter().map(gauge).collect())
    }

    fn have_all_begun(&self) -> bool {
        self.0.iter().all(|g| g.counter.last.messages > 0)
    }

    fn open(&mut self) {
        for gauge in &mut self.0 {
            gauge.mark = gauge.counter.last;
        }
    }

    fn have_all_moved(&self) -> bool {
        self.0.iter().all(|g| g.rate() > 0.0)
    }

    fn rate(&self) -> f64 {
        self.0.iter().map(Gauge::rate).sum()
    }

    /// Reads counts until `is_done`; the trouble if a program ends, or if a receiver stands still for
    /// too long.
    fn watch(
        &mut self,
        scene: &mut Scene,
        interrupt: &Interrupt,
        is_done: impl Fn(&Gauges, Instant) -> bool,
    ) -> Result<(), Trouble> {
        let mut moved = vec![Instant::now(); self.0.len()];
        loop {
            for (at, gauge) in self.0.iter_mut().enumerate() {
                let receiver = &mut scene.receivers[at];
                loop {
                    match receiver.line(Instant::now(), interrupt)? {
                        Said::Line(line) => {
                            let before = gauge.counter.last.messages;
                            gauge.counter.read(&line);
                            if gauge.counter.last.messages > before {
                                moved[at] = Instant::now();
                            }
                        }
                        Said::Nothing => break,
                        Said::End => return Err(receiver.died()),
                    }
                }
            }
            let now = Instant::now();
            if is_done(self, now) {
                return Ok(());
            }
            scene.check()?;
            for (receiver, moved) in scene.receivers.iter().zip(&moved) {
                if now > *moved + PATIENCE {
                    return Err(Trouble::Late {
                        program: receiver.name().to_owned(),
                        what: "receive another message",
                        after: PATIENCE,
                    });
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
}

impl Round {
    /// Adds the figures to the cell of a record.
    pub fn add_to(&self, cell: &mut Cell, flow: &Flow) {
        cell.add("rate", "msg/s", Better::Higher, self.rate);
        for (role, nanos) in &self.cpu {
            if let Some(nanos) = nanos {
                cell.add(&format!("cpu_{role}"), "ns/msg", Better::Lower, *nanos);
            }
        }
        for (role, kib) in &self.peak_kib {
            if let Some(kib) = kib {
                cell.add(&format!("rss_{role}"), "KiB", Better::Lower, *kib as f64);
            }
        }
        let Some(check) = &self.check else {
            return;
        };
        // where messages may be dropped, how many is a matter of speeds
        let loss = match flow.service.congestion {
            Congestion::Block => Better::Lower,
            Congestion::Drop => Better::Neither,
        };
        for (name, better, count) in [
            ("offered", Better::Neither, check.offered),
            ("delivered", Better::Neither, check.delivered),
            ("dropped", Better::Neither, check.dropped),
            ("lost", loss, check.lost),
            ("duplicated", Better::Lower, check.duplicated),
            ("reordered", Better::Lower, check.reordered),
        ] {
            cell.add(name, "msg", better, count as f64);
        }
    }
}
