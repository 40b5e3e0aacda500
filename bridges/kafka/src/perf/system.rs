// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs of a measurement: the server under test and the broker.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use zonda_perf::tools::{Process, Program, ProgramOutput, cpu_time};
use zonda_program::{Failure, Interrupt};

use super::arguments::PerfArgs;
use super::workers::END;
use crate::ingest::{Ack, On, SinkKind};

/// Time that a program may take to start on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time that a server may take to flush acknowledged messages; the server sets its own limit.
const ENDING: Duration = Duration::from_secs(600);

/// Broker that the servers publish to.
pub(super) struct Broker {
    /// Address of the broker.
    pub brokers: String,
    /// Its process id, if it is known.
    pub pid: Option<u32>,
    _process: Option<Process>,
}

impl Broker {
    /// Returns the broker of the arguments, or starts the client library's own.
    pub(super) fn of(args: &PerfArgs, interrupt: &Interrupt) -> Result<Broker, Failure> {
        if !args.mock {
            return Ok(Broker {
                brokers: args.producer.brokers.clone(),
                pid: args.broker_pid,
                _process: None,
            });
        }
        let mut process = start("the broker", vec!["perf-broker".to_owned()], interrupt)?;
        let brokers = process.reply(PATIENCE, ["start", "an address"], |line| {
            line.contains(':').then(|| line.to_owned())
        })?;
        Ok(Broker {
            brokers,
            pid: Some(process.pid()),
            _process: Some(process),
        })
    }
}

/// A server as a process of its own.
pub(super) struct Server {
    process: Process,
    /// Address of the server.
    pub address: SocketAddr,
}

/// Options that a server is started with.
#[derive(Clone, Copy)]
pub(super) struct Order<'a> {
    /// Runtime of the server.
    pub on: On,
    /// Time at which it acknowledges.
    pub ack: Ack,
    /// Topic of the messages.
    pub topic: &'a str,
}

impl Server {
    /// Starts a server, and waits until it listens.
    pub(super) fn start(
        order: Order<'_>,
        args: &PerfArgs,
        broker: &Broker,
        interrupt: &Interrupt,
    ) -> Result<Server, Failure> {
        // The command line of the server.
        let mut arguments: Vec<String> = ["perf-server", "--listen", "127.0.0.1:0", "--runtime"]
            .map(str::to_owned)
            .to_vec();
        arguments.push(order.on.to_string());
        let sink = match args.sink {
            SinkKind::Kafka => "kafka",
            SinkKind::Zonda => "zonda",
            SinkKind::Nowhere => "nowhere",
        };
        let ack = match order.ack {
            Ack::Queue => "queue",
            Ack::Broker => "broker",
        };
        arguments.extend(["--sink", sink, "--ack", ack, "--topic", order.topic].map(str::to_owned));
        arguments.extend(["--end-seconds".to_owned(), ENDING.as_secs().to_string()]);
        // The producer's options, with the address of the broker in use.
        let producer = crate::producer::ProducerArgs {
            brokers: broker.brokers.clone(),
            ..args.producer.clone()
        };
        arguments.extend(producer.to_arguments());
        // The process, and its address once it listens.
        let name = format!("the server on {}", order.on);
        let mut process = start(&name, arguments, interrupt)?;
        let address = process.reply(PATIENCE, ["listen", "its address"], |line| {
            let address = line.strip_prefix("listening on ")?;
            address.split(' ').next()?.parse().ok()
        })?;
        Ok(Server { process, address })
    }

    /// Returns its process id.
    pub(super) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Ends the server as a user does; returns the lines that it prints then.
    pub(super) fn end(mut self) -> Result<Vec<String>, Failure> {
        self.process.tell(END)?;
        let until = Instant::now() + ENDING + PATIENCE;
        let mut lines = Vec::new();
        loop {
            match self.process.line(until)? {
                ProgramOutput::Line(line) => lines.push(line),
                ProgramOutput::End => return Ok(lines),
                ProgramOutput::Nothing => return Err(self.process.late("end", ENDING)),
            }
        }
    }

    /// Kills it as `kill -9` does.
    pub(super) fn kill(self) {
        drop(self.process);
    }
}

fn start(name: &str, arguments: Vec<String>, interrupt: &Interrupt) -> Result<Process, Failure> {
    let executable: PathBuf =
        std::env::current_exe().map_err(|error| Failure::doing("finding this program", error))?;
    let program = Program {
        name: name.to_owned(),
        executable,
        arguments,
    };
    Process::start(&program, interrupt)
}

/// CPU time of the server, the broker and the clients so far.
#[derive(Clone, Copy, Default)]
pub(super) struct Spent([Option<Duration>; 3]);

impl Spent {
    /// Returns the time that these processes have spent; the clients are this process.
    pub(super) fn now(server: u32, broker: Option<u32>) -> Spent {
        let own = std::process::id();
        Spent([Some(server), broker, Some(own)].map(|pid| pid.and_then(cpu_time)))
    }

    /// Returns the time spent since an earlier moment, in microseconds.
    pub(super) fn since(self, earlier: Spent) -> [Option<f64>; 3] {
        let mut spent = [None; 3];
        for (at, spent) in spent.iter_mut().enumerate() {
            let both = self.0[at].zip(earlier.0[at]);
            *spent = both.map(|(now, then)| now.saturating_sub(then).as_secs_f64() * 1e6);
        }
        spent
    }
}
