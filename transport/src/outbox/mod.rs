// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sending half of the connection to one peer, shared by all senders.
//!
//! Publishers and forwarding faces [`enqueue`](Outbox::enqueue) messages: the sender locks one
//! lane, encodes the messages in place and unlocks it. The election (`election`) then decides
//! which thread writes to the socket, so that no message waits for a needless thread hop:
//! * an express message, a full batch, the end of a received burst: the *caller* writes, without blocking;
//! * a message that finds the link quiet: the caller writes as well, there is nothing to wait for;
//! * a message close behind another one stays in the open batch (the link is *hot*); every [`TICK`] the link's driver
//!   asks the next sender to write the batch, and writes it itself if none comes;
//! * the driver takes what the socket does not take at once, and waits for the peer.
//!
//! Locks: a lane's, held while messages are encoded; the socket writer's, held by the thread that was elected to write.
//! A lane may be locked while the writer is, never the other way round. No lock is held across an await or a callback.

mod arrivals;
mod closing;
mod counts;
mod credit;
#[cfg(all(target_os = "linux", not(test)))]
#[path = "direct/linux.rs"]
mod direct;
#[cfg(all(not(target_os = "linux"), not(test)))]
#[path = "direct/none.rs"]
mod direct;
#[cfg(test)]
#[path = "direct/tests.rs"]
mod direct;
mod discarded;
mod divided;
mod election;
mod enqueue;
mod failover;
mod isolation;
mod mixed;
mod overrun;
mod release;
mod room;
mod signals;
mod spent;
mod tally;
mod transmit;
mod writer;

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use event_listener::Event;
use zonda_codec::{NextSn, Priority, transport::reason};

use crate::{
    clock,
    ended::Ended,
    protocol::{
        compression::Packer,
        options::Framing,
        parameters::Established,
        tx::{Lane, LaneConfig, Pushed, SHARE_BYTES_MIN},
    },
    sync::{Mutex, Rank, SpinMutex},
};

use closing::Closing;
pub use closing::{CLOSE_GRACE, Unsent};
pub use counts::{OutboxCounts, OutboxMemory, PriorityCounts};
pub use direct::DirectSocket;
#[cfg(test)]
pub(crate) use direct::SimulatedSocket;
pub use discarded::Discarded;
pub(crate) use divided::Division;
use election::{Action, Event as Change, WriterElection};
pub use enqueue::{Items, Overflow, Queue, Sent, VisitedLane, Write};
use isolation::Isolated;
pub use isolation::{HeldReader, Waiting, Watching};
use overrun::Overrun;
pub use room::RoomListener;
pub(crate) use signals::{LinkShare, Signals, signal};
pub(crate) use spent::SpentPayloads;
pub use tally::OutboxCounters;
use tally::{Arrivals, Discards, Tally, lane_index};
use writer::SocketWriter;

/// The interval in which the driver looks at the open batches of a link that is hot. A message of a
/// dense stream waits for company until the next sender after a tick, at most for two ticks.
pub const TICK: Duration = Duration::from_micros(100);

/// A message that comes at least this long after the previous one is written by its sender at once.
const QUIET: Duration = Duration::from_micros(50);

/// Poll interval of the driver while a blocked sender, not the driver, writes to the socket.
const MOMENT: Duration = Duration::from_millis(1);

/// The lane is full; nothing was queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The peer does not keep up: the lane holds its limit.
    #[error("the peer does not keep up and the queue of this priority is full")]
    Full,
    /// The connection is closed or closing.
    #[error("the connection is closed")]
    Closed,
    /// A field of the message is longer than the protocol allows; no peer can get it.
    #[error("a field of the message is longer than the protocol allows")]
    TooLong,
}

/// Queues of one connection, and the right to write to its socket.
pub struct Outbox {
    lanes: Box<[SpinMutex<Lane>]>,
    /// Bit for each lane that holds something; set and cleared under the lane's lock.
    ready: AtomicU8,
    /// Set once a lane has waited for credit. A sender that needs room looks for that only then.
    has_withheld: AtomicBool,
    writer: Mutex<SocketWriter>,
    has_direct: bool,
    /// Set once the lanes are divided among several links.
    is_divided: AtomicBool,
    /// Bytes of a whole batch's buffer.
    batch_bytes: usize,
    /// Length from which on payloads are not copied into a batch.
    share_bytes_min: usize,
    /// Elects the thread that writes. Only a thread that it has made the writer writes, with `writer` locked.
    election: WriterElection,
    epoch: Instant,
    last_quiet_ns: AtomicU64,
    last_received_ns: AtomicU64,
    wrote: AtomicBool,
    closed: AtomicBool,
    /// Set once no more messages are taken: the close has begun, or the connection has ended. Read
    /// under the lane's lock, so that a thread that sets it and then locks a lane knows all
    /// messages that this lane will ever hold.
    takes_no_more: AtomicBool,
    /// Set once the outbox has released its socket and its queues.
    released: AtomicBool,
    ended: OnceLock<Ended>,
    closing: Closing,
    arrivals: Arrivals,
    discards: Discards,
    /// The number of times that a priority of the peer was held.
    held: AtomicU64,
    signals: Signals,
    room: room::Room,
    over: Event,
    framing: Framing,
    /// Set if another link takes over when the one that is written to is lost.
    fails_over: bool,
    isolated: Isolated,
    overrun: Overrun,
    counters: OutboxCounters,
    /// Counters of each lane.
    tallies: Box<[Tally]>,
}

impl std::fmt::Debug for Outbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outbox")
            .field("closed", &self.is_closed())
            .field("counters", &self.counters)
            .finish()
    }
}

impl Outbox {
    /// Creates the queues of an established connection. `queue_bytes_max` limits each priority.
    /// With a `direct` socket, senders write by themselves; without one the driver makes every
    /// write.
    #[must_use]
    pub fn new(
        established: &Established,
        queue_bytes_max: usize,
        direct: Option<DirectSocket>,
    ) -> Self {
        Self::with_limits(established, &|_| queue_bytes_max, direct)
    }

    /// Creates the queues like [`Outbox::new`], with a limit for each priority.
    #[must_use]
    pub fn with_limits(
        established: &Established,
        queue_bytes_max: &dyn Fn(Priority) -> usize,
        direct: Option<DirectSocket>,
    ) -> Self {
        let (max, framing) = (established.batch_size, established.options.framing());
        let batch_size = match &direct {
            Some(direct) if !framing.is_bare() => direct.batch_size(max),
            // A bare message may be as long as a batch: there are no fragments.
            _ => max,
        };
        let lane = |priority| {
            SpinMutex::ranked(
                Rank::Lane,
                Lane::new(LaneConfig {
                    priority,
                    batch_size,
                    sn_mask: established.sn_mask,
                    initial_sn: established.initial_sn_tx,
                    queue_bytes_max: queue_bytes_max(priority),
                    framing,
                    share_bytes_min: SHARE_BYTES_MIN,
                })
                .sharing(established.options.shared.clone()),
            )
        };
        let share_bytes_min = Lane::share_bytes_min(established.options.shared.as_ref());
        let lanes: Box<[_]> = if established.qos {
            Box::from(Priority::ALL.map(lane))
        } else {
            Box::from([lane(Priority::Data)])
        };
        let packer = match framing {
            Framing::Compressed => Packer::new(),
            Framing::Plain | Framing::Bare => None,
        };
        Self {
            tallies: lanes.iter().map(|_| Tally::default()).collect(),
            lanes,
            ready: AtomicU8::new(0),
            has_withheld: AtomicBool::new(false),
            has_direct: direct.is_some(),
            is_divided: AtomicBool::new(false),
            election: WriterElection::new(),
            writer: Mutex::ranked(Rank::Writer, SocketWriter::new(direct, packer)),
            batch_bytes: batch_size.into(),
            share_bytes_min,
            epoch: clock::now(),
            last_quiet_ns: AtomicU64::new(0),
            last_received_ns: AtomicU64::new(0),
            wrote: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            takes_no_more: AtomicBool::new(false),
            released: AtomicBool::new(false),
            ended: OnceLock::new(),
            closing: Closing::default(),
            arrivals: Arrivals::default(),
            discards: Discards::default(),
            held: AtomicU64::new(0),
            signals: Signals::default(),
            room: room::Room::default(),
            over: Event::new(),
            framing,
            fails_over: established.options.multilink().is_some(),
            isolated: Isolated::default(),
            overrun: Overrun::of(queue_bytes_max),
            counters: OutboxCounters::default(),
        }
    }

    /// Writes everything that is queued, as far as the socket takes it now; the driver writes the
    /// rest. Never waits for the peer. Another thread that is writing takes this caller's messages
    /// along. True only if the socket has all that was queued before this call.
    pub fn flush(&self) -> bool {
        if !self.has_direct {
            self.election.apply(Change::DemandDriver);
            self.signals.raise(signal::FLUSH);
            return false;
        }
        while self.election.apply(Change::Demand) == Action::Write {
            let (action, spent) = self.write_elected(usize::MAX);
            // The code of a payload's owner may run here, and send.
            drop(spent);
            match action {
                Action::Done => return true,
                Action::Again => {}
                _ => return false,
            }
        }
        false
    }

    /// Returns the most bytes of an encoded message on this link; `None` where longer ones are sent
    /// in fragments.
    #[must_use]
    pub fn message_bytes_max(&self) -> Option<usize> {
        self.lanes[0].lock().message_bytes_max()
    }

    /// Returns true while the lane of this priority takes messages without exceeding its limit.
    #[must_use]
    pub fn has_room(&self, priority: Priority) -> bool {
        self.takes_no_more() || self.lanes[self.lane_index(priority)].lock().has_room()
    }

    /// Returns true while the lane of this priority would take messages without exceeding its
    /// limit, if one of `bytes` is not counted.
    #[must_use]
    pub fn has_room_beside(&self, priority: Priority, bytes: usize) -> bool {
        let lane = self.lanes[self.lane_index(priority)].lock();
        lane.has_room_beside(bytes)
    }

    /// Wakes when a lane has drained or the connection closed. Look at [`Outbox::has_room`] after listening and
    /// before waiting.
    pub fn listen_room(&self) -> RoomListener<'_> {
        self.room.listen()
    }

    /// Ends the connection now, without another message to the peer. The queued messages are lost.
    pub fn abort(&self) {
        self.end(Ended::Local);
        self.signals.raise(signal::ABORT);
    }

    /// Sends Close with this reason as far as the socket takes it without waiting, and ends the
    /// connection now. The queued messages are lost.
    pub fn dismiss(&self, reason: u8) {
        self.signals.set_close_reason(reason);
        self.push_close(Priority::Background);
        self.flush();
        self.abort();
    }

    /// Sends a keep-alive now: a machine that has forgotten the connection answers it with a reset.
    pub fn probe(&self) {
        self.push_keep_alive();
        self.flush();
    }

    /// Ends the connection to a peer that is too far behind, with a Close as far as the socket
    /// takes it without waiting. The queued messages are lost.
    #[cold]
    pub fn give_up(&self) {
        self.signals.set_close_reason(reason::UNRESPONSIVE);
        self.push_close(Priority::Control);
        self.flush();
        self.end(Ended::TooSlow);
        self.signals.raise(signal::ABORT);
    }

    /// Ends the connection to the peer that keeps the most of a node's memory when the memory is
    /// used up, without another message to the peer. The queued messages are lost.
    #[cold]
    pub fn give_way(&self) {
        self.end(Ended::Memory);
        self.signals.raise(signal::ABORT);
    }

    /// Ends a connection whose tasks have ended with their runtime or by a panic: shuts the socket
    /// down, as no task is left for it. The queued messages are lost.
    pub fn abandon(&self) {
        self.end(Ended::Abandoned);
        self.signals.raise(signal::ABORT);
        self.shutdown();
        self.release();
    }

    /// Notes the cause of the end of the connection, if none was noted before, and wakes every task that waits for it.
    pub(crate) fn end(&self, ended: Ended) {
        // The first caller knows the cause; what follows are its consequences.
        let _ = self.ended.set(self.cause(ended));
        self.takes_no_more.store(true, Ordering::SeqCst);
        self.closed.store(true, Ordering::SeqCst);
        self.room.tell_all();
        self.over.notify(usize::MAX);
    }

    /// Returns the cause of the end of the connection, once it has ended.
    #[must_use]
    pub fn ended(&self) -> Option<&Ended> {
        self.ended.get()
    }

    /// Returns true once the connection has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Returns true once messages are refused: the close has begun, or the connection has ended.
    #[inline(always)]
    fn takes_no_more(&self) -> bool {
        self.takes_no_more.load(Ordering::Relaxed)
    }

    /// Returns the counts of what this outbox has done so far.
    #[must_use]
    pub fn counters(&self) -> &OutboxCounters {
        &self.counters
    }

    /// Returns true if the socket does not have all that was queued. False is final once no more
    /// messages are taken.
    #[must_use]
    pub fn has_unsent(&self) -> bool {
        // In this order: batches that leave the lanes between the two checks are being written at
        // the second one.
        self.queued_bytes() > 0
            || !self.election.is_idle()
            || self.is_divided() && self.has_links_under_way()
    }

    /// Returns the sequence numbers of the next frames, by priority.
    pub(crate) fn next_sns(&self) -> Vec<NextSn> {
        self.lanes.iter().map(|l| l.lock().next_sn()).collect()
    }

    /// Returns the bytes that wait in all lanes. A batch that is being written does not count.
    #[must_use]
    pub fn queued_bytes(&self) -> usize {
        self.lanes
            .iter()
            .map(|lane| lane.lock().queued_bytes())
            .sum()
    }

    #[inline]
    fn lane_index(&self, priority: Priority) -> usize {
        lane_index(self.lanes.len(), priority)
    }

    #[inline]
    fn mark_ready(&self, index: usize) {
        let bit = 1 << index;
        if self.ready.load(Ordering::Relaxed) & bit == 0 {
            self.ready.fetch_or(bit, Ordering::SeqCst);
        }
    }

    /// Writes at once if the link was quiet; else starts the driver's ticks for the stream. The
    /// link is not hot.
    #[cold]
    fn write_quiet(&self, pushed: Pushed) -> bool {
        let now = self.now_ns();
        let last = self.last_quiet_ns.swap(now, Ordering::Relaxed);
        if now.saturating_sub(last) >= QUIET.as_nanos() as u64 {
            return self.flush();
        }
        // A full batch is written by itself; only the next ones wait.
        let written = pushed == Pushed::Sealed && self.flush();
        if self.election.apply(Change::BecomeDense) == Action::WakeDriver {
            self.signals.raise(signal::HOT);
        }
        written
    }

    fn now_ns(&self) -> u64 {
        let since = clock::now().saturating_duration_since(self.epoch);
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }
}
