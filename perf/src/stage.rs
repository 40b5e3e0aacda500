// SPDX-License-Identifier: MIT OR Apache-2.0
//! Brings the programs of one measurement up in order: the router, the receiver, then the sender, each
//! when the one before it is ready.

use std::thread;
use std::time::{Duration, Instant};

use zonda_program::Interrupt;

use super::case::{Case, Topology};
use super::event::Event;
use super::footprint::Footprint;
use super::port::{free_port, is_listening};
use super::process::{Process, Program, Said};
use super::system::{Side, Span, System};
use super::trouble::Trouble;

/// How long a program may take until it listens.
const READY: Duration = Duration::from_secs(15);
/// How often the table of listeners is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// The programs of a measurement by their roles.
pub trait Cast {
    /// The program between the two others.
    fn router(&self, port: u16) -> Program;

    /// The subscriber or the one who answers.
    fn receiver(&self, side: &Side) -> Program;

    /// The publisher or the one who asks, which connects to an address.
    fn sender(&self, to: &str) -> Program;
}

/// The programs of a case.
struct Usual<'a> {
    system: &'a System,
    case: &'a Case,
    span: Span,
}

impl Cast for Usual<'_> {
    fn router(&self, port: u16) -> Program {
        self.system.router(port)
    }

    fn receiver(&self, side: &Side) -> Program {
        self.system.receiver(self.case, side)
    }

    fn sender(&self, to: &str) -> Program {
        self.system.sender(self.case, to, self.span)
    }
}

/// The running programs. Dropping it ends them all.
#[derive(Debug)]
pub struct Stage {
    /// The publisher, or the one who asks. First, so that it is ended first.
    pub sender: Process,
    /// The subscriber, or the one who answers.
    pub receiver: Process,
    /// The router, if there is one.
    pub router: Option<Process>,
}

impl Stage {
    /// Starts everything that `case` needs of `system`.
    pub fn set(
        system: &System,
        case: &Case,
        span: Span,
        interrupt: &Interrupt,
    ) -> Result<Self, Trouble> {
        let usual = Usual { system, case, span };
        Stage::play(system, case.topology, &usual, interrupt)
    }

    /// Starts the programs of `cast`, which are of `system`.
    pub fn play(
        system: &System,
        topology: Topology,
        cast: &dyn Cast,
        interrupt: &Interrupt,
    ) -> Result<Self, Trouble> {
        let starter = Starter { system, interrupt };
        let (router, receiver, address) = match topology {
            Topology::PeerToPeer => {
                let (receiver, addresses) =
                    starter.listening(|port| cast.receiver(&Side::Listen(port)))?;
                let front = first(&receiver, addresses)?;
                (None, receiver, front)
            }
            Topology::Routed => {
                let (router, addresses) = starter.listening(|port| cast.router(port))?;
                // a relay has one address for each side, a router the same for both
                let back = addresses.last().cloned();
                let front = first(&router, addresses)?;
                let side = Side::Connect(back.unwrap_or_else(|| front.clone()));
                let mut receiver = Process::start(&cast.receiver(&side))?;
                if system.tells_events() {
                    starter.ready(&mut receiver)?;
                }
                (Some(router), receiver, front)
            }
        };
        let sender = Process::start(&cast.sender(&address))?;
        Ok(Stage {
            sender,
            receiver,
            router,
        })
    }

    /// Role and program, in the order in which a message meets them.
    pub fn programs(&self) -> Vec<(&'static str, &Process)> {
        let mut all = vec![("sender", &self.sender)];
        all.extend(self.router.as_ref().map(|r| ("router", r)));
        all.push(("receiver", &self.receiver));
        all
    }

    /// What each program uses, by its role.
    pub fn footprints(&self) -> Vec<(&'static str, Footprint)> {
        let programs = self.programs().into_iter();
        programs
            .map(|(role, program)| (role, Footprint::of(program.pid())))
            .collect()
    }

    /// The trouble if one of the programs has ended.
    pub fn check(&mut self) -> Result<(), Trouble> {
        let all = self
            .router
            .iter_mut()
            .chain([&mut self.receiver, &mut self.sender]);
        for program in all {
            if !program.is_running() {
                return Err(program.died());
            }
        }
        Ok(())
    }
}

/// The first of a program's addresses.
pub fn first(program: &Process, addresses: Vec<String>) -> Result<String, Trouble> {
    addresses
        .into_iter()
        .next()
        .ok_or_else(|| Trouble::Nonsense {
            program: program.name().to_owned(),
            line: "ready".into(),
            expected: "an address to connect to",
        })
}

/// Starts one program of `system` that listens on the port it is given, and its addresses once it does.
pub fn listening(
    system: &System,
    program: impl FnOnce(u16) -> Program,
    interrupt: &Interrupt,
) -> Result<(Process, Vec<String>), Trouble> {
    Starter { system, interrupt }.listening(program)
}

/// Waits until a worker of `system` is set up.
pub fn ready(
    system: &System,
    process: &mut Process,
    interrupt: &Interrupt,
) -> Result<Vec<String>, Trouble> {
    Starter { system, interrupt }.ready(process)
}

struct Starter<'a> {
    system: &'a System,
    interrupt: &'a Interrupt,
}

impl Starter<'_> {
    /// Starts a program that listens, and its addresses once it does.
    fn listening(
        &self,
        program: impl FnOnce(u16) -> Program,
    ) -> Result<(Process, Vec<String>), Trouble> {
        if self.system.tells_events() {
            let mut process = Process::start(&program(0))?;
            let addresses = self.ready(&mut process)?;
            return Ok((process, addresses));
        }
        let port = free_port().map_err(|error| Trouble::Own {
            what: "looking for a free port",
            error,
        })?;
        let mut process = Process::start(&program(port))?;
        let until = Instant::now() + READY;
        while !is_listening(port) {
            if self.interrupt.happened() {
                return Err(Trouble::Interrupted);
            }
            if !process.is_running() {
                return Err(process.died());
            }
            if Instant::now() > until {
                return Err(late(&process));
            }
            thread::sleep(LOOK);
        }
        Ok((process, vec![format!("tcp/127.0.0.1:{port}")]))
    }

    /// Waits for the worker's word, which names its addresses.
    fn ready(&self, process: &mut Process) -> Result<Vec<String>, Trouble> {
        let until = Instant::now() + READY;
        match process.line(until, self.interrupt)? {
            Said::Line(line) => match Event::parse(&line) {
                Some(Event::Ready { listening }) => Ok(listening),
                _ => Err(Trouble::Nonsense {
                    program: process.name().to_owned(),
                    line,
                    expected: "its readiness",
                }),
            },
            Said::Nothing => Err(late(process)),
            Said::End => Err(process.died()),
        }
    }
}

fn late(process: &Process) -> Trouble {
    Trouble::Late {
        program: process.name().to_owned(),
        what: "start to listen",
        after: READY,
    }
}
