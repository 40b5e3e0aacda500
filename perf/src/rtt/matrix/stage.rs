// SPDX-License-Identifier: MIT OR Apache-2.0
//! One measurement: starts pong, waits for its address, starts ping, takes its result, ends both.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use zonda_program::{Failure, Interrupt};

use super::namespaces::Namespaces;
use super::plan::ECHO;
use crate::campaign::Entry;
use crate::cpu::coarse_cpu_time;
use crate::histogram::pairs;
use crate::process::{Process, Program, Said};
use crate::processes::ready;
use crate::record::Better::{Higher, Lower, Neither};
use crate::record::Round;
use crate::rtt::outcome::{Outcome, PERCENTILES};
use crate::rtt::place::machine_busy;
use crate::scenario::raw::{Raw, Transport};
use crate::system::Span;

/// Beyond the time of the measurement itself, for starting and slow machines.
const PATIENCE: Duration = Duration::from_secs(20);
/// Seconds after which a message is lost. A thousand threads on one processor take their time.
const TIMEOUT: u32 = 5;
/// The warm-up that ping makes by itself.
const WARM_UP: f64 = 0.1;
/// Round trips that a slow rate is given time for.
const SAMPLES: f64 = 12.0;

/// What all cells have in common.
#[derive(Debug)]
pub struct Setting {
    /// This program.
    pub executable: PathBuf,
    /// Bytes of a message.
    pub size: usize,
    /// How long to measure, if that is enough for the rate.
    pub seconds: f64,
    /// Share of a processor that the tasks use together; without it they only have timers.
    pub cpu_work: Option<f64>,
    /// Processor of pong and of ping.
    pub cpus: Option<(usize, usize)>,
    /// Flags for both sides.
    pub flags: Vec<String>,
    /// Two networks of their own, instead of loopback.
    pub namespaces: Option<Namespaces>,
}

/// What both sides are started for.
struct Key<'a> {
    framework: &'a str,
    case: &'a Raw,
}

/// One of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Pong,
    Ping,
}

impl Setting {
    /// How long a cell is measured.
    pub fn span(&self, case: &Raw) -> Span {
        Span::new(WARM_UP, self.seconds.max(SAMPLES * case.interval()))
    }

    /// Measures one cell, and how many processors other programs used meanwhile.
    pub fn measure(&self, entry: &Entry, interrupt: &Interrupt) -> Result<Round, Failure> {
        let case = entry.scenario.raw().expect("a matrix has no others");
        let key = &Key {
            framework: &entry.system.name,
            case,
        };
        let (pong, address) = match key.framework == ECHO {
            true => (None, format!("{}:0", self.host())),
            false => {
                let mut pong = Process::start(&self.pong(key), interrupt)?;
                let address = ready(&mut pong)?.concat();
                (Some(pong), address)
            }
        };
        let pong_pid = pong.as_ref().map(Process::pid);
        let begin = Instant::now();
        let (machine, answering) = (machine_busy(), pong_pid.and_then(coarse_cpu_time));
        let mut ping = Process::start(&self.ping(key, &address), interrupt)?;
        let outcome = self.outcome(&mut ping, case)?;
        let seconds = begin.elapsed().as_secs_f64();
        let ours = coarse_cpu_time(ping.pid())
            .unwrap_or_default()
            .as_secs_f64()
            + pong_pid
                .and_then(coarse_cpu_time)
                .unwrap_or_default()
                .as_secs_f64()
            - answering.unwrap_or_default().as_secs_f64();
        let busy = machine_busy()
            .zip(machine)
            .map(|(after, before)| after - before);
        let others = busy.map(|busy| ((busy - ours) / seconds).max(0.0));
        Ok(round(&outcome, others))
    }

    fn outcome(&self, ping: &mut Process, case: &Raw) -> Result<Outcome, Failure> {
        let patience = PATIENCE + Duration::from_secs_f64(self.span(case).seconds * 3.0);
        match ping.line(Instant::now() + patience)? {
            Said::Line(line) => match Outcome::from_json(&line) {
                Some(outcome) => Ok(outcome),
                None => Err(ping.nonsense(line, "its figures")),
            },
            Said::End => Err(ping.died()),
            Said::Nothing => Err(ping.late("finish its round trips", patience)),
        }
    }

    fn host(&self) -> &str {
        self.namespaces
            .as_ref()
            .map_or("127.0.0.1", |n| n.address())
    }

    fn pong(&self, key: &Key<'_>) -> Program {
        let address = format!("{}:0", self.host());
        let cpu = self.cpus.map(|(pong, _)| pong);
        self.program(Side::Pong, key, cpu, vec!["--address".into(), address])
    }

    fn ping(&self, key: &Key<'_>, address: &str) -> Program {
        // beside the kernel's echo there is no runtime for them
        let tasks = match key.framework == ECHO {
            true => 0,
            false => key.case.tasks,
        };
        let mut arguments: Vec<String> = [
            ("--address", address.to_owned()),
            ("--size", self.size.to_string()),
            ("--interval", format!("{:.9}", key.case.interval())),
            ("--duration", format!("{:.3}", self.span(key.case).seconds)),
            ("--tasks", tasks.to_string()),
            ("--timeout", TIMEOUT.to_string()),
            ("--pacing", key.case.pacing.name().to_owned()),
        ]
        .into_iter()
        .flat_map(|(flag, value)| [flag.to_owned(), value])
        .collect();
        if let Some(share) = self.cpu_work {
            arguments.extend(["--cpu-work".into(), share.to_string()]);
        }
        let cpu = self.cpus.map(|(_, ping)| ping);
        self.program(Side::Ping, key, cpu, arguments)
    }

    fn program(&self, side: Side, key: &Key<'_>, cpu: Option<usize>, more: Vec<String>) -> Program {
        let mode = match side {
            Side::Pong => "pong",
            Side::Ping => "ping",
        };
        let words = ["perf", "rtt", "--json", "--end-with-input", "--mode", mode];
        let mut arguments: Vec<String> = words.map(String::from).into();
        match key.framework == ECHO {
            true => arguments.extend(["--protocol".into(), Transport::Icmp.to_string()]),
            false => arguments.extend([
                "--protocol".into(),
                key.case.transport.to_string(),
                "--backend".into(),
                key.framework.to_owned(),
            ]),
        }
        if let Some(cpu) = cpu {
            arguments.extend(["--cpus".into(), cpu.to_string()]);
        }
        arguments.extend(self.flags.iter().cloned());
        arguments.extend(more);
        let program = Program {
            name: format!("{mode} ({} {})", key.framework, key.case),
            executable: self.executable.clone(),
            arguments,
        };
        match &self.namespaces {
            Some(namespaces) => namespaces.inside(side == Side::Pong, program),
            None => program,
        }
    }
}

/// The figures of a run, and how many processors other programs used meanwhile.
fn round(outcome: &Outcome, others: Option<f64>) -> Round {
    let mut round = Round::of_latencies(pairs(&outcome.histogram));
    for (name, percentile) in PERCENTILES {
        round.add(name, "us", Lower, outcome.micros(percentile));
    }
    round.add("rate", "msg/s", Higher, outcome.achieved);
    round.add("sent", "msg", Neither, outcome.sent as f64);
    round.add("lost", "msg", Lower, outcome.lost as f64);
    round.add_of(["cpu", "sender"], "ns/msg", Lower, outcome.cpu_nanos);
    round.add_of(["sleeps", "sender"], "1/msg", Neither, outcome.sleeps);
    if let Some(others) = others {
        round.add("others", "processors", Neither, others);
    }
    round
}
