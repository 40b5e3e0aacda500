// SPDX-License-Identifier: MIT OR Apache-2.0
//! Election of the thread that writes to the socket, and when: the decisions of an outbox as one
//! state word and a table of transitions.
//!
//! [`ElectionWord::next`] is the table, a function without side effects. [`WriterElection`] applies it to
//! one atomic word, each event in one step, which `loom/` checks. The actors are the senders of
//! messages, the driver (the link's writing task), and the writer: the sender or the driver that
//! has the right to write.
//!
//! The word holds three things:
//! * whether a thread writes, and whether another one has demanded a write since ([`Event::Demand`]
//!   to [`Event::Reset`]);
//! * which thread waits for a full socket, a sender that needs room or the driver, so that not both do
//!   ([`Event::Attend`] to [`Event::DriverWoke`]);
//! * how dense the stream is, and whether its open batch is due ([`Event::Turn`] to
//!   [`Event::CoolDown`]). In a dense stream the driver only sets a flag: at a tick the open batch
//!   becomes due, and the sender of the next message writes it, in whose cache the batch is. The
//!   driver writes by itself only if no sender has come by the tick after.

#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU32, Ordering};

/// Bits of the writer's state, the two lowest ones.
const PHASE: u32 = 0b11;
/// No thread writes.
const IDLE: u32 = 0;
/// One thread writes, and does not wait for the socket.
const WRITING: u32 = 1;
/// The socket is full, the driver's turn is over, or it has the batches: no sender writes.
const BLOCKED: u32 = 2;
/// A write was demanded; the next writer must make it.
const DEMANDED: u32 = 1 << 2;
/// A sender waits for the socket.
const ATTENDED: u32 = 1 << 3;
/// A sender has waited for the socket since the driver looked last.
const WAS_ATTENDED: u32 = 1 << 4;
/// The driver looks at the socket again without a signal.
const DRIVER_LOOKS: u32 = 1 << 5;
/// A full batch was written since the last tick.
const WROTE_FULL: u32 = 1 << 6;
/// Bits of the density of the stream.
const DENSITY: u32 = 0b11 << 8;
/// Messages come one by one; each is written at once.
const QUIET: u32 = 0;
/// Messages follow each other closely; the driver ticks.
const DENSE: u32 = 1 << 8;
/// The stream is dense and its open batch is due: the next sender writes it.
const DUE: u32 = 2 << 8;

/// Event of the state machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// A sender wants what is queued written now.
    Demand,
    /// A sender wants what is queued written now, where only the driver writes.
    DemandDriver,
    /// The writer ends.
    Finish(WriteEnd),
    /// The socket takes bytes again, or may do so.
    Resume,
    /// The driver takes batches over, where only it writes.
    Take,
    /// The driver has written the batches.
    HandBack,
    /// Another link takes over with the batches that a lost one has not taken.
    Reset,
    /// A sender wants to wait for the socket.
    Attend,
    /// The sender does not wait for the socket any more.
    Depart,
    /// The driver is about to wait for the socket.
    DriverWaits,
    /// The driver looks at the socket after a wait for the sender that attends it.
    DriverWoke,
    /// A sender has put a message into the open batch.
    Turn,
    /// A sender is about to write a full batch.
    FullBatch,
    /// Messages follow each other closely.
    BecomeDense,
    /// The driver's periodic check of a dense stream that has something queued.
    Tick,
    /// The stream has ended.
    CoolDown,
}

/// Outcome of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteEnd {
    /// The socket has everything.
    Done,
    /// The socket is full, or the driver's turn is over.
    Full,
    /// The link is lost, and another link may take over.
    Lost,
    /// The connection has ended.
    Ended,
}

/// Next step of the thread that caused an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Nothing: another thread has the task, or there is none.
    Leave,
    /// Write. The thread is the writer until its [`Event::Finish`], or has the batches until
    /// [`Event::HandBack`].
    Write,
    /// Wait for the socket on this thread.
    Wait,
    /// Look again in a moment: a sender waits for the socket.
    LookAgain,
    /// Report that all demanded batches are written.
    Done,
    /// Demand again: another thread has demanded a write that this writer did not make.
    Again,
    /// Wake the driver.
    WakeDriver,
    /// Find out whether the stream has become dense.
    Measure,
}

/// State word.
#[derive(Clone, Copy, PartialEq, Eq)]
struct ElectionWord(u32);

impl ElectionWord {
    /// Applies the table of transitions.
    #[inline(always)]
    fn next(self, event: Event) -> (ElectionWord, Action) {
        match event {
            Event::Demand
            | Event::DemandDriver
            | Event::Finish(_)
            | Event::Resume
            | Event::Take
            | Event::HandBack
            | Event::Reset => self.next_writer(event),
            Event::Attend | Event::Depart | Event::DriverWaits | Event::DriverWoke => {
                self.next_attendant(event)
            }
            Event::Turn | Event::FullBatch | Event::BecomeDense | Event::Tick | Event::CoolDown => {
                self.next_density(event)
            }
        }
    }

    /// Applies the part of the table that elects the writer.
    #[inline(always)]
    fn next_writer(self, event: Event) -> (ElectionWord, Action) {
        match (event, self.0 & PHASE) {
            (Event::Demand, IDLE) => (self.phase(WRITING).without(DEMANDED), Action::Write),
            (Event::Demand | Event::DemandDriver, _) => (self.with(DEMANDED), Action::Leave),

            // The next demand is a new election: a written payload may belong to a user, whose code
            // runs before.
            (Event::Finish(WriteEnd::Done), WRITING) if self.has(DEMANDED) => {
                (self.phase(IDLE).without(DEMANDED), Action::Again)
            }
            (Event::Finish(WriteEnd::Done), WRITING) => (self.phase(IDLE), Action::Done),
            (Event::Finish(WriteEnd::Full), WRITING) if self.has(DRIVER_LOOKS) => {
                (self.phase(BLOCKED), Action::Leave)
            }
            (Event::Finish(WriteEnd::Full), WRITING) => (self.phase(BLOCKED), Action::WakeDriver),
            (Event::Finish(WriteEnd::Lost), WRITING) => (self.phase(BLOCKED), Action::Leave),
            (Event::Finish(WriteEnd::Ended), WRITING) => {
                (self.phase(IDLE).without(DEMANDED), Action::Leave)
            }

            // This write also covers the writes that were demanded while the socket was full.
            (Event::Resume, BLOCKED) => (self.phase(WRITING).without(DEMANDED), Action::Write),
            (Event::Take, IDLE | BLOCKED) => (self.phase(BLOCKED).without(DEMANDED), Action::Write),
            (Event::HandBack, BLOCKED) if self.has(DEMANDED) => (self, Action::Again),
            (Event::HandBack, BLOCKED) => (self.phase(IDLE), Action::Done),
            // The driver of the old link has gone, even if it meant to look at the socket again.
            (Event::Reset, BLOCKED) => (self.phase(IDLE).without_driver(), Action::Leave),
            // A sender that is writing continues with the new link.
            (Event::Reset, _) => (self.without_driver(), Action::Leave),
            (Event::Resume | Event::Take | Event::HandBack | Event::Finish(_), _) => {
                (self, Action::Leave)
            }
            _ => unreachable!("an event of another table"),
        }
    }

    /// Applies the part of the table that chooses the thread that waits for a full socket.
    #[inline(always)]
    fn next_attendant(self, event: Event) -> (ElectionWord, Action) {
        match event {
            Event::Attend if self.has(ATTENDED) => (self, Action::Leave),
            Event::Attend => (self.with(ATTENDED | WAS_ATTENDED), Action::Wait),
            Event::Depart => (self.without(ATTENDED), Action::Leave),
            // The driver trusts a sender that has gone for one more look: the sender usually
            // returns soon.
            Event::DriverWaits if self.has(ATTENDED | WAS_ATTENDED) => (
                self.without(WAS_ATTENDED).with(DRIVER_LOOKS),
                Action::LookAgain,
            ),
            Event::DriverWaits => (self, Action::Wait),
            Event::DriverWoke => (self.without(DRIVER_LOOKS), Action::Leave),
            _ => unreachable!("an event of another table"),
        }
    }

    /// Applies the part of the table that decides when the open batch is written.
    #[inline(always)]
    fn next_density(self, event: Event) -> (ElectionWord, Action) {
        match (event, self.0 & DENSITY) {
            (Event::Turn, QUIET) => (self, Action::Measure),
            (Event::Turn, DENSE) => (self, Action::Leave),
            (Event::Turn, _) => (self.density(DENSE), Action::Write),

            // The full batch also takes along the batch that was due.
            (Event::FullBatch, DUE) => (self.density(DENSE).with(WROTE_FULL), Action::Leave),
            (Event::FullBatch, _) => (self.with(WROTE_FULL), Action::Leave),

            (Event::BecomeDense, QUIET) => (self.density(DENSE), Action::WakeDriver),
            (Event::BecomeDense, _) => (self, Action::Leave),

            (Event::Tick, _) if self.has(WROTE_FULL) => (self.without(WROTE_FULL), Action::Leave),
            (Event::Tick, DENSE) => (self.density(DUE), Action::Leave),
            // No sender has come since it became due.
            (Event::Tick, DUE) => (self.density(DENSE), Action::Write),
            (Event::Tick, _) => (self, Action::Write),
            (Event::CoolDown, _) => (self.density(QUIET), Action::Leave),
            _ => unreachable!("an event of another table"),
        }
    }

    /// Clears the driver's flags: no driver ticks or looks at the socket.
    fn without_driver(self) -> ElectionWord {
        self.without(DRIVER_LOOKS).density(QUIET)
    }

    fn has(self, any: u32) -> bool {
        self.0 & any != 0
    }

    fn with(self, bits: u32) -> ElectionWord {
        ElectionWord(self.0 | bits)
    }

    fn without(self, bits: u32) -> ElectionWord {
        ElectionWord(self.0 & !bits)
    }

    fn phase(self, phase: u32) -> ElectionWord {
        self.without(PHASE).with(phase)
    }

    fn density(self, density: u32) -> ElectionWord {
        self.without(DENSITY).with(density)
    }
}

/// State word of one outbox.
#[derive(Debug)]
pub(super) struct WriterElection {
    word: AtomicU32,
}

impl WriterElection {
    pub(super) fn new() -> Self {
        Self {
            word: AtomicU32::new(IDLE | QUIET),
        }
    }

    /// Applies an event; returns the next step of the thread that caused it.
    ///
    /// An event that changes nothing writes the word as well: a sender that leaves its message to
    /// the current writer is seen, with the message, by that writer's next event. Inlined, so that
    /// the compiler keeps only the part of the table for this event.
    #[inline(always)]
    pub(super) fn apply(&self, event: Event) -> Action {
        let mut seen = self.word.load(Ordering::Relaxed);
        loop {
            let (next, action) = ElectionWord(seen).next(event);
            let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
            match self
                .word
                .compare_exchange_weak(seen, next.0, success, failure)
            {
                Ok(_) => return action,
                Err(other) => seen = other,
            }
        }
    }

    /// Applies [`Event::Turn`], which in a dense stream only reads the word: nearly every message
    /// causes it.
    #[inline(always)]
    pub(super) fn turn(&self) -> Action {
        match self.word.load(Ordering::Relaxed) & DENSITY {
            DENSE => Action::Leave,
            QUIET => Action::Measure,
            _ => self.apply(Event::Turn),
        }
    }

    /// Applies [`Event::FullBatch`], which changes the word once in a tick.
    pub(super) fn full_batch(&self) {
        let seen = self.word.load(Ordering::Relaxed);
        if seen & WROTE_FULL == 0 || seen & DENSITY == DUE {
            self.apply(Event::FullBatch);
        }
    }

    /// Returns the right to wait for the socket, for a sender; `None` if another sender has it.
    pub(super) fn attend(&self) -> Option<SocketWaiter<'_>> {
        let attends = self.apply(Event::Attend) == Action::Wait;
        attends.then_some(SocketWaiter(self))
    }

    /// Returns true while the socket is full, or the driver has the batches.
    pub(super) fn is_blocked(&self) -> bool {
        self.word.load(Ordering::Acquire) & PHASE == BLOCKED
    }

    /// Returns true while no thread writes, and no write that was begun waits.
    pub(super) fn is_idle(&self) -> bool {
        self.word.load(Ordering::Acquire) & PHASE == IDLE
    }
}

/// Right of a sender to wait for the socket, until it is dropped.
#[derive(Debug)]
pub(super) struct SocketWaiter<'a>(&'a WriterElection);

impl Drop for SocketWaiter<'_> {
    fn drop(&mut self) {
        self.0.apply(Event::Depart);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the action of each event, from the initial state.
    fn history(events: &[Event]) -> Vec<Action> {
        let mut state = ElectionWord(IDLE | QUIET);
        let step = |event: &Event| {
            let (next, action) = state.next(*event);
            state = next;
            action
        };
        events.iter().map(step).collect()
    }

    #[test]
    fn the_next_sender_writes_once_when_a_batch_is_due() {
        let events = [
            Event::Turn,
            Event::BecomeDense,
            Event::BecomeDense,
            Event::Turn,
            Event::Tick,
            Event::Turn,
            Event::Turn,
        ];
        let (leave, wake) = (Action::Leave, Action::WakeDriver);
        let expected = [
            Action::Measure,
            wake,
            leave,
            leave,
            leave,
            Action::Write,
            leave,
        ];
        assert_eq!(history(&events), expected);
    }

    #[test]
    fn the_driver_writes_what_no_sender_has_written() {
        let (tick, leave) = (Event::Tick, Action::Leave);
        let events = [Event::BecomeDense, tick, tick, Event::Turn, tick];
        let expected = [Action::WakeDriver, leave, Action::Write, leave, leave];
        assert_eq!(history(&events), expected);
        // A full batch takes the due batch along, and counts as the write of its tick.
        let events = [Event::BecomeDense, tick, Event::FullBatch, tick, tick, tick];
        let expected = [
            Action::WakeDriver,
            leave,
            leave,
            leave,
            leave,
            Action::Write,
        ];
        assert_eq!(history(&events), expected);
        let events = [Event::BecomeDense, tick, Event::CoolDown, Event::Turn];
        assert_eq!(history(&events)[3], Action::Measure);
    }

    #[test]
    fn one_sender_waits_for_the_socket_and_the_driver_trusts_it_once_more() {
        let (waits, woke) = (Event::DriverWaits, Event::DriverWoke);
        let events = [
            waits,
            Event::Attend,
            Event::Attend,
            waits,
            woke,
            waits,
            woke,
        ];
        let (leave, again) = (Action::Leave, Action::LookAgain);
        let expected = [
            Action::Wait,
            Action::Wait,
            leave,
            again,
            leave,
            again,
            leave,
        ];
        assert_eq!(history(&events), expected);
        let events = [Event::Attend, Event::Depart, waits, woke, waits];
        let expected = [Action::Wait, leave, again, leave, Action::Wait];
        assert_eq!(history(&events), expected);
    }

    #[test]
    fn a_driver_that_looks_again_needs_no_signal() {
        let full = Event::Finish(WriteEnd::Full);
        let alone = [Event::Demand, full];
        assert_eq!(history(&alone)[1], Action::WakeDriver);
        let attended = [Event::Attend, Event::DriverWaits, Event::Demand, full];
        assert_eq!(history(&attended)[3], Action::Leave);
        // Unless the link of the writer is lost.
        let lost = [
            Event::Attend,
            Event::DriverWaits,
            Event::Reset,
            Event::Demand,
            full,
        ];
        assert_eq!(history(&lost)[4], Action::WakeDriver);
    }

    #[test]
    fn what_was_demanded_meanwhile_is_demanded_again_or_goes_along() {
        let (demand, done) = (Event::Demand, Event::Finish(WriteEnd::Done));
        let (write, leave) = (Action::Write, Action::Leave);
        let events = [demand, demand, done, demand, done];
        let expected = [write, leave, Action::Again, write, Action::Done];
        assert_eq!(history(&events), expected);
        let full = Event::Finish(WriteEnd::Full);
        let events = [demand, full, demand, Event::Resume, done];
        let expected = [write, Action::WakeDriver, leave, write, Action::Done];
        assert_eq!(history(&events), expected);
    }
}
