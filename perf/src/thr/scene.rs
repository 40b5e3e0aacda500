// SPDX-License-Identifier: MIT OR Apache-2.0
//! The programs of one round of a flow: one router at most, and any number of subscribers and
//! publishers, each a process of its own, fresh in each round.

use std::time::{Duration, Instant};

use zonda_program::Interrupt;

use super::command::Command;
use super::orders::{Order, Word};
use crate::case::Topology;
use crate::footprint::Footprint;
use crate::process::{Process, Said};
use crate::stage::{first, listening, ready};
use crate::system::{Side, System};
use crate::trouble::Trouble;

/// How long all may take until everybody has heard of everybody.
const CONTACT: Duration = Duration::from_secs(60);

/// The running programs. Dropping it ends them all, the publishers first.
#[derive(Debug)]
pub struct Scene {
    /// The publishers.
    pub senders: Vec<Process>,
    /// The subscribers.
    pub receivers: Vec<Process>,
    /// The router, if there is one.
    pub router: Option<Process>,
}

/// Role and footprint of each program.
pub type Footprints = Vec<(&'static str, Footprint)>;

impl Scene {
    /// Starts everything in order, each when what it connects to is there.
    pub fn set(command: Command<'_>, interrupt: &Interrupt) -> Result<Self, Trouble> {
        let (system, flow) = (command.system, command.flow);
        let (mut receivers, mut addresses) = (Vec::new(), Vec::new());
        let mut router = None;
        let mut back = None;
        if flow.topology == Topology::Routed {
            let (process, of_router) = listening(system, |port| command.router(port), interrupt)?;
            // a relay has one address for each side, a router the same for both
            back = of_router.last().cloned();
            addresses.push(first(&process, of_router)?);
            router = Some(process);
        }
        for _ in 0..flow.subscribers {
            let receiver = match &back {
                None => {
                    let receiver = |port| command.receiver(&Side::Listen(port));
                    let (process, of_receiver) = listening(system, receiver, interrupt)?;
                    addresses.push(first(&process, of_receiver)?);
                    process
                }
                Some(back) => {
                    let side = Side::Connect(back.clone());
                    let mut process = Process::start(&command.receiver(&side))?;
                    if system.tells_events() {
                        ready(system, &mut process, interrupt)?;
                    }
                    process
                }
            };
            receivers.push(receiver);
        }
        let senders = (0..flow.publishers)
            .map(|number| Process::start(&command.sender(number, &addresses)))
            .collect::<Result<_, _>>()?;
        let mut scene = Scene {
            senders,
            receivers,
            router,
        };
        if matches!(system, System::Zonda { .. }) {
            scene.introduce(flow.publishers.into(), interrupt)?;
        }
        Ok(scene)
    }

    /// Waits until every subscriber has heard every publisher, and lets these go.
    fn introduce(&mut self, publishers: u64, interrupt: &Interrupt) -> Result<(), Trouble> {
        let until = Instant::now() + CONTACT;
        for at in 0..self.receivers.len() {
            let mut heard = 0;
            while heard < publishers {
                if let Word::Heard { publishers } =
                    self.word(Role::Receiver(at), until, interrupt)?
                {
                    heard = publishers;
                }
            }
        }
        self.tell_senders(&Order::Hush)?;
        for at in 0..self.senders.len() {
            while self.word(Role::Sender(at), until, interrupt)? != (Word::Hushed {}) {}
        }
        self.tell_senders(&Order::Go)
    }

    /// Gives every publisher an order.
    pub fn tell_senders(&mut self, order: &Order) -> Result<(), Trouble> {
        let mut senders = self.senders.iter_mut();
        senders.try_for_each(|sender| sender.tell(&order.to_line()))
    }

    /// The next word of one program; other lines are passed over.
    pub fn word(
        &mut self,
        role: Role,
        until: Instant,
        interrupt: &Interrupt,
    ) -> Result<Word, Trouble> {
        /// How often the others are looked after.
        const LOOK: Duration = Duration::from_millis(200);
        loop {
            let process = match role {
                Role::Sender(at) => self.senders.get_mut(at),
                Role::Router => self.router.as_mut(),
                Role::Receiver(at) => self.receivers.get_mut(at),
            };
            let process = process.expect("the roles are those of this scene");
            match process.line(until.min(Instant::now() + LOOK), interrupt)? {
                Said::Line(line) => {
                    if let Some(word) = Word::parse(&line) {
                        return Ok(word);
                    }
                }
                Said::End => return Err(process.died()),
                Said::Nothing if Instant::now() >= until => {
                    return Err(Trouble::Late {
                        program: process.name().to_owned(),
                        what: role.duty(),
                        after: CONTACT,
                    });
                }
                Said::Nothing => self.check()?,
            }
        }
    }

    /// What each program uses, in the order in which a message meets them.
    pub fn footprints(&self) -> Footprints {
        let senders = self.senders.iter().map(|p| ("sender", p));
        let router = self.router.iter().map(|p| ("router", p));
        let receivers = self.receivers.iter().map(|p| ("receiver", p));
        let all = senders.chain(router).chain(receivers);
        all.map(|(role, program)| (role, Footprint::of(program.pid())))
            .collect()
    }

    /// The trouble if one of the programs has ended.
    pub fn check(&mut self) -> Result<(), Trouble> {
        let all = self.router.iter_mut().chain(&mut self.receivers);
        for program in all.chain(&mut self.senders) {
            if !program.is_running() {
                return Err(program.died());
            }
        }
        Ok(())
    }
}

/// One of the programs that speak [`Word`]s.
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
