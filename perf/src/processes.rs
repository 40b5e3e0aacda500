// SPDX-License-Identifier: MIT OR Apache-2.0
//! The processes of one round: at most one router, and any number of receivers and senders, fresh
//! in each round.

use std::thread;
use std::time::{Duration, Instant};

use zonda_program::Failure;

use super::event::Event;
use super::footprint::Footprint;
use super::port::{free_port, is_listening};
use super::process::{Process, Program, ProgramOutput};
use super::roles::{Roles, Side};
use super::scenario::Topology;
use super::system::System;
use super::workers::orders::Order;

/// The time limit until all subscribers have received from all publishers.
const CONTACT: Duration = Duration::from_secs(60);
/// The time limit until a program listens.
const READY: Duration = Duration::from_secs(15);
/// The polling interval of the table of listeners.
const LOOK: Duration = Duration::from_millis(5);

/// The running programs. Dropping it ends them all, the senders first.
#[derive(Debug)]
pub struct Processes {
    /// The publishers, or the asking program.
    pub senders: Vec<Process>,
    /// The subscribers, or the answering program.
    pub receivers: Vec<Process>,
    /// The router, if there is one.
    pub router: Option<Process>,
}

/// The role and the footprint of each program.
pub type Footprints = Vec<(&'static str, Footprint)>;

impl Processes {
    /// Starts all programs in order, each when its peers listen.
    pub fn start(roles: Roles<'_>) -> Result<Self, Failure> {
        let system = roles.system;
        let [publishers, subscribers] = roles.scenario.programs();
        let (mut receivers, mut addresses, mut router) = (Vec::new(), Vec::new(), None);
        let mut back = None;
        // the router, if the scenario has one
        if roles.scenario.topology() == Topology::Routed {
            let (process, of_router) = listening(roles, |at| roles.router(at))?;
            // a relay has one address for each side, a router the same one for both
            back = of_router.last().cloned();
            addresses.push(first(&process, of_router)?);
            router = Some(process);
        }
        // receivers, which connect to the router or listen themselves
        for _ in 0..subscribers {
            let receiver = match &back {
                None => {
                    let receiver = |at: &str| roles.receiver(&Side::Listen(at.to_owned()));
                    let (process, of_receiver) = listening(roles, receiver)?;
                    addresses.push(first(&process, of_receiver)?);
                    process
                }
                Some(back) => {
                    let side = Side::Connect(vec![back.clone()]);
                    let mut process = Process::start(&roles.receiver(&side), roles.interrupt)?;
                    if system.prints_events() {
                        ready(&mut process)?;
                    }
                    process
                }
            };
            receivers.push(receiver);
        }
        // senders connect to the router or to all receivers
        let alone = match subscribers {
            0 => Some(endpoint(system)?),
            _ => None,
        };
        let sender = |number| match &alone {
            Some(endpoint) => roles.both_ends(endpoint),
            None => roles.sender(number, addresses.clone()),
        };
        let senders = (0..publishers)
            .map(|number| Process::start(&sender(number), roles.interrupt))
            .collect::<Result<_, _>>()?;
        let mut processes = Processes {
            senders,
            receivers,
            router,
        };
        // contact between all of them
        if system.is_own() && roles.scenario.flow().is_some() {
            processes.introduce(publishers.into())?;
        }
        Ok(processes)
    }

    /// Waits until every subscriber has received from every publisher, and starts the publishers.
    fn introduce(&mut self, publishers: u64) -> Result<(), Failure> {
        let until = Instant::now() + CONTACT;
        for at in 0..self.receivers.len() {
            self.wait_for(Role::Receiver(at), until, |event| match event {
                Event::Heard { publishers: heard } if heard >= publishers => Some(()),
                _ => None,
            })?;
        }
        self.order_senders(&Order::Hush)?;
        for at in 0..self.senders.len() {
            self.wait_for(Role::Sender(at), until, |e| {
                (e == Event::Hushed).then_some(())
            })?;
        }
        self.order_senders(&Order::Go)
    }

    /// Sends every publisher an order.
    pub fn order_senders(&mut self, order: &Order) -> Result<(), Failure> {
        let mut senders = self.senders.iter_mut();
        senders.try_for_each(|sender| sender.tell(&order.to_line()))
    }

    /// Returns the first event of one program that `take` accepts; other events are skipped.
    pub fn wait_for<T>(
        &mut self,
        role: Role,
        until: Instant,
        take: impl Fn(Event) -> Option<T>,
    ) -> Result<T, Failure> {
        /// The interval at which the other programs are checked.
        const LOOK: Duration = Duration::from_millis(200);
        loop {
            let process = match role {
                Role::Sender(at) => self.senders.get_mut(at),
                Role::Router => self.router.as_mut(),
                Role::Receiver(at) => self.receivers.get_mut(at),
            };
            let process = process.expect("the roles are those of these processes");
            match process.line(until.min(Instant::now() + LOOK))? {
                ProgramOutput::Line(line) => {
                    if let Some(taken) = Event::parse(&line).and_then(&take) {
                        return Ok(taken);
                    }
                }
                ProgramOutput::End => return Err(process.died()),
                ProgramOutput::Nothing if Instant::now() >= until => {
                    return Err(process.late(role.duty(), CONTACT));
                }
                ProgramOutput::Nothing => self.check()?,
            }
        }
    }

    /// Returns the footprint of each program, in the order in which a message passes them.
    pub fn footprints(&self) -> Footprints {
        let senders = self.senders.iter().map(|p| ("sender", p));
        let router = self.router.iter().map(|p| ("router", p));
        let receivers = self.receivers.iter().map(|p| ("receiver", p));
        let all = senders.chain(router).chain(receivers);
        all.map(|(role, program)| (role, Footprint::of(program.pid())))
            .collect()
    }

    /// Returns an error if one of the programs has ended.
    pub fn check(&mut self) -> Result<(), Failure> {
        let all = self.router.iter_mut().chain(&mut self.receivers);
        for program in all.chain(&mut self.senders) {
            if !program.is_running() {
                return Err(program.died());
            }
        }
        Ok(())
    }
}

/// A program that prints [`Event`]s.
#[derive(Clone, Copy, Debug)]
pub enum Role {
    /// A publisher.
    Sender(usize),
    /// The router.
    Router,
    /// A subscriber.
    Receiver(usize),
}

impl Role {
    fn duty(self) -> &'static str {
        match self {
            Role::Sender(_) => "say what it has sent",
            Role::Router => "say what it has dropped",
            Role::Receiver(_) => "say what it has heard",
        }
    }
}

/// Returns the first of a program's addresses.
fn first(program: &Process, addresses: Vec<String>) -> Result<String, Failure> {
    let first = addresses.into_iter().next();
    first.ok_or_else(|| program.nonsense("ready".into(), "an address to connect to"))
}

/// Returns the endpoint for a program of `system` to listen on; the port is 0 for programs that
/// choose one.
fn endpoint(system: &System) -> Result<String, Failure> {
    let port = match system.prints_events() {
        true => 0,
        false => free_port().map_err(|e| Failure::doing("looking for a free port", e))?,
    };
    Ok(system.link.endpoint(port))
}

/// Starts a program that listens on the given endpoint, and returns its addresses once it does.
pub fn listening(
    roles: Roles<'_>,
    program: impl FnOnce(&str) -> Program,
) -> Result<(Process, Vec<String>), Failure> {
    let system = roles.system;
    let endpoint = endpoint(system)?;
    let mut process = Process::start(&program(&endpoint), roles.interrupt)?;
    // workers report their addresses; other programs appear in the table of listeners
    if system.prints_events() {
        let addresses = ready(&mut process)?;
        return Ok((process, addresses));
    }
    let until = Instant::now() + READY;
    while !is_listening(system.link, &endpoint) {
        roles.interrupt.check()?;
        if !process.is_running() {
            return Err(process.died());
        }
        if Instant::now() > until {
            return Err(process.late("start to listen", READY));
        }
        thread::sleep(LOOK);
    }
    Ok((process, vec![endpoint]))
}

/// Waits for a worker's event with its addresses.
pub fn ready(process: &mut Process) -> Result<Vec<String>, Failure> {
    process.reply(
        READY,
        ["start to listen", "its readiness"],
        |line| match Event::parse(line) {
            Some(Event::Ready { listening }) => Some(listening),
            _ => None,
        },
    )
}
