// SPDX-License-Identifier: MIT OR Apache-2.0
//! One measurement: starts pong, waits for its address, starts ping, takes its result, and ends
//! both.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use zonda_program::{Failure, Interrupt};

use super::namespaces::Namespaces;
use super::plan::ECHO;
use crate::campaign::Entry;
use crate::cpu::coarse_cpu_time;
use crate::histogram::{histogram_of, micros};
use crate::process::{Process, Program};
use crate::processes::ready;
use crate::record::Better::{Higher, Lower, Neither};
use crate::record::Round;
use crate::rtt::outcome::{Outcome, PERCENTILES};
use crate::rtt::place::machine_busy;
use crate::scenario::raw::{Raw, Transport};
use crate::system::Span;

/// Time in addition to the measurement itself, for start and slow machines.
const PATIENCE: Duration = Duration::from_secs(20);
/// Seconds after which a message is lost. A thousand threads on one processor need this time.
const TIMEOUT: u32 = 5;
/// The default warm-up of ping.
const WARM_UP: f64 = 0.1;
/// The number of round trips for which a slow rate is measured.
const SAMPLES: f64 = 12.0;

/// The common settings of all cells.
#[derive(Debug)]
pub struct Setting {
    /// The executable of both sides.
    pub executable: PathBuf,
    /// Bytes of a message.
    pub size: usize,
    /// Duration of the measurement, extended for slow rates.
    pub seconds: f64,
    /// The share of a processor that the tasks use together; without it they only have timers.
    pub cpu_work: Option<f64>,
    /// Processor of pong and of ping.
    pub cpus: Option<(usize, usize)>,
    /// Flags for both sides.
    pub flags: Vec<String>,
    /// Two networks, used instead of loopback.
    pub namespaces: Option<Namespaces>,
}

/// A function that selects the processor of a side from [`Setting::cpus`].
type Side = fn(&(usize, usize)) -> usize;

impl Setting {
    /// Returns the duration of a cell.
    pub fn span(&self, case: &Raw) -> Span {
        Span::new(WARM_UP, self.seconds.max(SAMPLES * case.interval()))
    }

    /// Measures one cell, and the processor time that other programs used during it.
    pub fn measure(&self, entry: &Entry, interrupt: &Interrupt) -> Result<Round, Failure> {
        let case = entry.scenario.raw().expect("a matrix has no others");
        // the kernel's echo needs no pong
        let mut address = format!("{}:0", self.host());
        let mut pong = None;
        if entry.system.name != ECHO {
            let mut process = Process::start(&self.pong(entry, case, &address), interrupt)?;
            address = ready(&mut process)?.concat();
            pong = Some(process);
        }
        // processor time before, the measurement, processor time after
        let used = |process: Option<&Process>| {
            let used = process.and_then(|process| coarse_cpu_time(process.pid()));
            used.unwrap_or_default().as_secs_f64()
        };
        let (begin, busy) = (Instant::now(), machine_busy());
        let answering = used(pong.as_ref());
        let mut ping = Process::start(&self.ping(entry, case, &address), interrupt)?;
        let outcome = outcome(&mut ping, entry.span)?;
        let seconds = begin.elapsed().as_secs_f64();
        let ours = used(Some(&ping)) + used(pong.as_ref()) - answering;
        let others = machine_busy()
            .zip(busy)
            .map(|(after, before)| ((after - before - ours) / seconds).max(0.0));
        Ok(round(outcome, others))
    }

    fn host(&self) -> &str {
        self.namespaces
            .as_ref()
            .map_or("127.0.0.1", |n| n.address())
    }

    fn pong(&self, entry: &Entry, case: &Raw, address: &str) -> Program {
        let arguments = flags([("--mode", "pong".into()), ("--address", address.into())]);
        let program = self.program(entry, case, |(pong, _)| *pong, arguments);
        match &self.namespaces {
            Some(namespaces) => namespaces.inside(true, program),
            None => program,
        }
    }

    fn ping(&self, entry: &Entry, case: &Raw, address: &str) -> Program {
        // there is no runtime for background tasks with the kernel's echo
        let tasks = match entry.system.name == ECHO {
            true => 0,
            false => case.tasks,
        };
        let mut arguments = flags([
            ("--mode", "ping".into()),
            ("--address", address.into()),
            ("--size", self.size.to_string()),
            ("--interval", format!("{:.9}", case.interval())),
            ("--duration", format!("{:.3}", entry.span.seconds)),
            ("--tasks", tasks.to_string()),
            ("--timeout", TIMEOUT.to_string()),
            ("--pacing", case.pacing.name().into()),
        ]);
        if let Some(share) = self.cpu_work {
            arguments.extend(flags([("--cpu-work", share.to_string())]));
        }
        let program = self.program(entry, case, |(_, ping)| *ping, arguments);
        match &self.namespaces {
            Some(namespaces) => namespaces.inside(false, program),
            None => program,
        }
    }

    fn program(&self, entry: &Entry, case: &Raw, side: Side, more: Vec<String>) -> Program {
        let words = ["perf", "rtt", "--json", "--end-with-input"];
        let mut arguments: Vec<String> = words.map(String::from).into();
        let name = &entry.system.name;
        arguments.extend(match name == ECHO {
            true => flags([("--protocol", Transport::Icmp.to_string())]),
            false => flags([
                ("--protocol", case.transport.to_string()),
                ("--backend", name.clone()),
            ]),
        });
        if let Some(cpu) = self.cpus.as_ref().map(side) {
            arguments.extend(flags([("--cpus", cpu.to_string())]));
        }
        arguments.extend(self.flags.iter().cloned());
        arguments.extend(more);
        Program {
            name: entry.to_string(),
            executable: self.executable.clone(),
            arguments,
        }
    }
}

fn flags<const N: usize>(of: [(&str, String); N]) -> Vec<String> {
    let words = of
        .into_iter()
        .flat_map(|(flag, value)| [flag.to_owned(), value]);
    words.collect()
}

/// Returns ping's output at the end of its span.
fn outcome(ping: &mut Process, span: Span) -> Result<Outcome, Failure> {
    let patience = PATIENCE + Duration::from_secs_f64(span.seconds * 3.0);
    ping.reply(
        patience,
        ["finish its round trips", "its figures"],
        |line| serde_json::from_str(line).ok(),
    )
}

/// Returns the figures of a run, and the number of processors that other programs used during it.
fn round(outcome: Outcome, others: Option<f64>) -> Round {
    let histogram = histogram_of(outcome.nanos_times.iter().copied());
    let mut round = Round::of_latencies(outcome.nanos_times);
    // latencies
    for (name, percentile) in PERCENTILES {
        round.add(name, "us", Lower, micros(&histogram, percentile));
    }
    // rate and losses
    round.add("rate", "msg/s", Higher, outcome.achieved_per_second);
    round.add("sent", "msg", Neither, outcome.sent as f64);
    round.add("lost", "msg", Lower, outcome.lost as f64);
    // resources
    round.add_of(
        ["cpu", "sender"],
        "ns/msg",
        Lower,
        outcome.cpu_ns_per_round_trip,
    );
    round.add_of(
        ["sleeps", "sender"],
        "1/msg",
        Neither,
        outcome.sleeps_per_round_trip,
    );
    if let Some(others) = others {
        round.add("others", "processors", Neither, others);
    }
    round
}
