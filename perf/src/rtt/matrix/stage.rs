// SPDX-License-Identifier: MIT OR Apache-2.0
//! One measurement: starts pong, waits for its address, starts ping, takes its result, ends both.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use zonda_program::Interrupt;

use super::namespaces::Namespaces;
use super::plan::{Framework, Key};
use crate::cell_error::CellError;
use crate::cpu::coarse_cpu_time;
use crate::event::Event;
use crate::process::{Process, Program, Said};
use crate::rtt::arguments::Transport;
use crate::rtt::outcome::Outcome;
use crate::rtt::place::machine_busy;

/// How long pong may take until it listens.
const READY: Duration = Duration::from_secs(15);
/// Beyond the time of the measurement itself, for starting and slow machines.
const PATIENCE: Duration = Duration::from_secs(20);
/// Seconds after which a message is lost. A thousand threads on one processor take their time.
const TIMEOUT: u32 = 5;
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

/// One of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Pong,
    Ping,
}

impl Setting {
    /// How long a cell is measured.
    pub fn seconds(&self, key: &Key) -> f64 {
        self.seconds.max(SAMPLES * key.case.rate.interval())
    }

    /// Measures one cell, and how many processors other programs used meanwhile.
    pub fn measure(
        &self,
        key: &Key,
        interrupt: &Interrupt,
    ) -> Result<(Outcome, Option<f64>), CellError> {
        let (pong, address) = match key.framework {
            Framework::Icmp => (None, format!("{}:0", self.host())),
            Framework::Runs(_) => {
                let mut pong = Process::start(&self.pong(key))?;
                let address = ready(&mut pong, interrupt)?;
                (Some(pong), address)
            }
        };
        let pong_pid = pong.as_ref().map(Process::pid);
        let begin = Instant::now();
        let (machine, answering) = (machine_busy(), pong_pid.and_then(coarse_cpu_time));
        let mut ping = Process::start(&self.ping(key, &address))?;
        let outcome = self.outcome(&mut ping, key, interrupt)?;
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
        Ok((outcome, others))
    }

    fn outcome(
        &self,
        ping: &mut Process,
        key: &Key,
        interrupt: &Interrupt,
    ) -> Result<Outcome, CellError> {
        let patience = PATIENCE + Duration::from_secs_f64(self.seconds(key) * 3.0);
        match ping.line(Instant::now() + patience, interrupt)? {
            Said::Line(line) => Outcome::from_json(&line).ok_or_else(|| CellError::Nonsense {
                program: ping.name().to_owned(),
                line,
                expected: "its figures",
            }),
            Said::End => Err(ping.died()),
            Said::Nothing => Err(CellError::Late {
                program: ping.name().to_owned(),
                what: "finish its round trips",
                after: patience,
            }),
        }
    }

    fn host(&self) -> &str {
        self.namespaces
            .as_ref()
            .map_or("127.0.0.1", |n| n.address())
    }

    fn pong(&self, key: &Key) -> Program {
        let address = format!("{}:0", self.host());
        let cpu = self.cpus.map(|(pong, _)| pong);
        self.program(Side::Pong, key, cpu, vec!["--address".into(), address])
    }

    fn ping(&self, key: &Key, address: &str) -> Program {
        // beside the kernel's echo there is no runtime for them
        let tasks = match key.framework {
            Framework::Icmp => 0,
            Framework::Runs(_) => key.case.tasks,
        };
        let mut arguments: Vec<String> = [
            ("--address", address.to_owned()),
            ("--size", self.size.to_string()),
            ("--interval", format!("{:.9}", key.case.rate.interval())),
            ("--duration", format!("{:.3}", self.seconds(key))),
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

    fn program(&self, side: Side, key: &Key, cpu: Option<usize>, more: Vec<String>) -> Program {
        let mode = match side {
            Side::Pong => "pong",
            Side::Ping => "ping",
        };
        let words = ["perf", "rtt", "--json", "--end-with-input", "--mode", mode];
        let mut arguments: Vec<String> = words.map(String::from).into();
        match key.framework {
            Framework::Icmp => arguments.extend(["--protocol".into(), Transport::Icmp.to_string()]),
            Framework::Runs(backend) => arguments.extend([
                "--protocol".into(),
                key.case.transport.to_string(),
                "--backend".into(),
                backend.to_string(),
            ]),
        }
        if let Some(cpu) = cpu {
            arguments.extend(["--cpus".into(), cpu.to_string()]);
        }
        arguments.extend(self.flags.iter().cloned());
        arguments.extend(more);
        let program = Program {
            name: format!("{mode} ({key})"),
            executable: self.executable.clone(),
            arguments,
        };
        match &self.namespaces {
            Some(namespaces) => namespaces.inside(side == Side::Pong, program),
            None => program,
        }
    }
}

/// Waits for the worker's word, which names its address.
fn ready(pong: &mut Process, interrupt: &Interrupt) -> Result<String, CellError> {
    match pong.line(Instant::now() + READY, interrupt)? {
        Said::Line(line) => match Event::parse(&line) {
            Some(Event::Ready { listening }) if listening.len() == 1 => Ok(listening.concat()),
            _ => Err(CellError::Nonsense {
                program: pong.name().to_owned(),
                line,
                expected: "its readiness",
            }),
        },
        Said::End => Err(pong.died()),
        Said::Nothing => Err(CellError::Late {
            program: pong.name().to_owned(),
            what: "start to listen",
            after: READY,
        }),
    }
}
