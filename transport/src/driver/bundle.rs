// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several links that are one connection: one outbox, one receiver, one handler.
//!
//! All batches are sent on the oldest link; the other links stand by with keep-alives. If links are
//! for different priorities, each priority is sent on the link that fits it best, as in the
//! reference. When a link that sends is lost, another one takes over, beginning with the batch that
//! the socket had not taken as a whole: batches that the lost link had taken and not delivered are
//! lost, as with any link. Batches are received from every link. A reading task that has a batch
//! takes the [`ReceiveState`] of the receiver and the handler, delivers with no lock held, and puts the seat back: one link
//! delivers at a time, and the sequence numbers identify new frames. The connection ends with its
//! last link.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use event_listener::{Event, EventListener};
use zonda_codec::{Priority, QosLink, Reliability};
use zonda_runtime::Runtime;

use crate::{
    clock,
    link::{LinkStream, PriorityPause},
    outbox::{DirectSocket, Division, LinkShare, Outbox},
    protocol::{rx::Receiver, timers::Timers},
    sync::{Mutex, Rank},
};

use super::{Ended, Handler, read::bundled, write::standby};

/// Parts that a link needs to join a connection.
#[derive(Debug)]
pub struct JoiningLink {
    /// The connected socket.
    pub stream: LinkStream,
    /// Bytes that were read behind the handshake.
    pub unread: Vec<u8>,
    /// Lease and keep-alive of this link.
    pub timers: Timers,
    /// The way to write to the socket without waiting, where the platform has one.
    pub direct: Option<DirectSocket>,
    /// The priorities and the reliability that the link is for, as far as its ends agreed on any.
    pub qos_link: Option<QosLink>,
}

/// Receive state, held by one link's reader at a time while it delivers.
pub(super) struct ReceiveState<H> {
    pub(super) receiver: Receiver,
    pub(super) handler: H,
}

/// Link of a connection.
pub(super) struct BundleLink {
    id: u64,
    direct: Option<DirectSocket>,
    qos_link: Option<QosLink>,
    share: Arc<LinkShare>,
    valve: PriorityPause,
    since: Instant,
    last_received_ns: AtomicU64,
    /// Set once the reading task of the link has ended.
    is_over: AtomicBool,
    ended: OnceLock<Ended>,
}

impl BundleLink {
    pub(super) fn note_received(&self) {
        let at = u64::try_from(
            clock::now()
                .saturating_duration_since(self.since)
                .as_nanos(),
        )
        .unwrap_or(u64::MAX);
        self.last_received_ns.store(at, Ordering::Relaxed);
    }

    pub(super) fn last_received(&self) -> Instant {
        self.since + Duration::from_nanos(self.last_received_ns.load(Ordering::Relaxed))
    }

    /// Returns its part in the sending of divided lanes.
    pub(super) fn share(&self) -> &Arc<LinkShare> {
        &self.share
    }

    /// Returns the cause of the end of the reading task, once it has ended.
    pub(super) fn ended(&self) -> Option<Ended> {
        let is_over = self.is_over.load(Ordering::SeqCst);
        is_over.then(|| self.ended.get().cloned().unwrap_or(Ended::HungUp))
    }

    /// Shuts both directions of its socket down, which also ends its reading.
    pub(super) fn shutdown(&self) {
        if let Some(direct) = &self.direct {
            direct.shutdown();
        }
    }
}

struct Members<H> {
    /// `None` while a link delivers.
    seat: Option<ReceiveState<H>>,
    /// Links of the connection, oldest first: all batches are sent on the first one.
    members: Vec<Arc<BundleLink>>,
    next_id: u64,
    /// Bits of the priorities that wait for declarations.
    held: u8,
    /// Links that are read.
    readers: usize,
    /// Tasks at work, two for each link.
    tasks: usize,
}

/// Callback for each link that joins and, with its id and the cause, for each link that is lost;
/// called with no lock held.
type LinkCallback = Box<dyn Fn(Option<(u64, &Ended)>) + Send + Sync>;

/// A connection of several links.
pub struct Bundle<H> {
    outbox: Arc<Outbox>,
    state: Mutex<Members<H>>,
    changed: Event,
    told: LinkCallback,
}

impl<H> std::fmt::Debug for Bundle<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bundle")
            .field("links", &self.links())
            .finish()
    }
}

impl<H> Bundle<H> {
    /// Returns the ids of the current links, oldest first.
    #[must_use]
    pub fn links(&self) -> Vec<u64> {
        let state = self.state.lock();
        state.members.iter().map(|member| member.id).collect()
    }

    pub(super) fn outbox(&self) -> &Arc<Outbox> {
        &self.outbox
    }

    /// Returns true if all batches are sent on this link.
    pub(super) fn is_first(&self, member: &BundleLink) -> bool {
        let state = self.state.lock();
        state
            .members
            .first()
            .is_some_and(|first| first.id == member.id)
    }

    /// Returns the time of the last arrival on any of the links.
    pub(super) fn last_received(&self) -> Instant {
        let state = self.state.lock();
        let times = state.members.iter().map(|member| member.last_received());
        times.max().unwrap_or_else(clock::now)
    }

    /// Wakes when a link has come or gone, or the seat is free.
    pub(super) fn listen(&self) -> EventListener {
        self.changed.listen()
    }

    /// Waits for the seat; `None` once the connection is closed.
    pub(super) async fn take_seat(&self) -> Option<ReceiveState<H>> {
        loop {
            let changed = self.changed.listen();
            if let Some(seat) = self.state.lock().seat.take() {
                return Some(seat);
            }
            if self.outbox.is_closed() {
                return None;
            }
            changed.await;
        }
    }

    /// Puts the seat back. Held priorities are stopped on all links that can stop single
    /// priorities.
    pub(super) fn put_back(&self, seat: ReceiveState<H>) {
        let held = seat.receiver.held_lanes();
        let mut state = self.state.lock();
        if std::mem::replace(&mut state.held, held) != held {
            state.members.iter().for_each(|m| m.valve.hold(held));
        }
        state.seat = Some(seat);
        drop(state);
        self.changed.notify(usize::MAX);
    }

    /// Decrements the number of read links; true if none is left.
    pub(super) fn leaves_no_reader(&self) -> bool {
        let mut state = self.state.lock();
        state.readers -= 1;
        state.readers == 0
    }

    /// Notes that the reading task of a link has ended; the link's writing task handles the
    /// consequences.
    pub(super) fn reading_is_over(&self, member: &BundleLink, ended: Ended) {
        // the first caller knows the cause
        let _ = member.ended.set(ended);
        member.is_over.store(true, Ordering::SeqCst);
        let state = self.state.lock();
        let is_first = state.members.first().is_some_and(|m| m.id == member.id);
        if is_first && !self.outbox.is_divided() {
            self.outbox.raise_lost();
        }
        drop(state);
        self.changed.notify(usize::MAX);
    }

    /// Removes a link. The next link sends from now on; the connection ends if there is none.
    pub(super) fn lose(&self, member: &BundleLink, ended: Ended) {
        // the first caller knows the cause
        let _ = member.ended.set(ended);
        let mut state = self.state.lock();
        let was_first = state.members.first().is_some_and(|m| m.id == member.id);
        state.members.retain(|other| other.id != member.id);
        let next = state.members.first().map(Arc::clone);
        if let (false, Some(next)) = (self.outbox.is_closed(), &next) {
            match self.outbox.is_divided() {
                true => self.divide(&state.members),
                false if was_first => self.outbox.switch(next.direct.clone()),
                false => {}
            }
        }
        drop(state);
        if self.outbox.is_divided() {
            self.outbox.flush();
        }
        let ended = member.ended.get().cloned().unwrap_or(Ended::HungUp);
        if next.is_none() {
            self.outbox.end(ended.clone());
        }
        self.changed.notify(usize::MAX);
        (self.told)(Some((member.id, &ended)));
    }
}

impl<H> Bundle<H> {
    /// Divides the lanes among the links by what these are for, once they are for different ones.
    fn divide(&self, members: &[Arc<BundleLink>]) {
        let terms: Vec<_> = members.iter().map(|member| member.qos_link).collect();
        let lanes = lanes_of(&terms);
        let is_whole = lanes.first().is_none_or(|first| *first == u8::MAX);
        let is_first_time = !self.outbox.is_divided();
        if !self.outbox.can_divide() || is_first_time && (is_whole || self.outbox.is_closing()) {
            return;
        }
        let division = |(member, lanes): (&Arc<BundleLink>, &u8)| {
            Some(Division {
                share: Arc::clone(&member.share),
                direct: member.direct.clone()?,
                lanes: *lanes,
            })
        };
        let links = members.iter().zip(&lanes).map(division);
        if let Some(links) = links.collect() {
            self.outbox.divide(links);
        }
    }
}

/// Returns the lanes of each link, as bits: a priority is sent on the link with the smallest range
/// that has it, else on the oldest one without a range, else on the oldest one. A link that is for
/// messages which may be lost comes last: a lane also has messages that may not.
fn lanes_of(links: &[Option<QosLink>]) -> Vec<u8> {
    let mut lanes = vec![0; links.len()];
    for priority in Priority::ALL {
        let rank = |terms: &Option<QosLink>| {
            let reliability = terms.and_then(QosLink::reliability);
            let is_lossy = reliability == Some(Reliability::BestEffort);
            match terms.and_then(QosLink::priorities) {
                None => (is_lossy, u16::from(u8::MAX)),
                Some((first, last)) if (first..=last).contains(&(priority as u8)) => {
                    (is_lossy, u16::from(last - first))
                }
                Some(_) => (true, u16::MAX),
            }
        };
        let best = links
            .iter()
            .enumerate()
            .min_by_key(|(_, terms)| rank(terms));
        if let Some(link) = best.and_then(|(place, _)| lanes.get_mut(place)) {
            *link |= 1 << priority as u8;
        }
    }
    lanes
}

impl<H: Handler> Bundle<H> {
    /// Creates a connection without links; the first one [joins](Bundle::join) like any later one.
    /// `told` is called for each link that joins and, with its id and the cause, for each link that
    /// is lost.
    pub fn new(
        outbox: Arc<Outbox>,
        receiver: Receiver,
        handler: H,
        told: impl Fn(Option<(u64, &Ended)>) + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Bundle {
            outbox,
            state: Mutex::ranked(
                Rank::Links,
                Members {
                    seat: Some(ReceiveState { receiver, handler }),
                    members: Vec::new(),
                    next_id: 0,
                    held: 0,
                    readers: 0,
                    tasks: 0,
                },
            ),
            changed: Event::new(),
            told: Box::new(told),
        })
    }

    /// Adds a link, starts its tasks and returns its id. If the connection is over, drops the link
    /// and returns `None`.
    pub fn join<R: Runtime>(self: &Arc<Self>, runtime: &R, joining: JoiningLink) -> Option<u64> {
        let JoiningLink {
            stream,
            unread,
            timers,
            direct,
            qos_link,
        } = joining;
        // A connection that has lost its last link takes no new one.
        let mut state = self.state.lock();
        let had_links = state.next_id > 0;
        if self.outbox.is_closed() || (had_links && state.members.is_empty()) {
            return None;
        }
        // Add the link and count its tasks.
        let member = Arc::new(BundleLink {
            id: state.next_id,
            direct,
            qos_link,
            share: Arc::default(),
            valve: stream.valve(),
            since: clock::now(),
            last_received_ns: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            ended: OnceLock::new(),
        });
        state.next_id += 1;
        state.readers += 1;
        state.tasks += 2;
        state.members.push(Arc::clone(&member));
        member.valve.hold(state.held);
        self.divide(&state.members);
        drop(state);
        // The lease begins with the first link.
        if !had_links {
            self.outbox.note_received(clock::now());
        }
        let (id, bundle, tasks) = (member.id, Arc::clone(self), runtime.clone());
        let timers = timers.steady(false);
        runtime.spawn("zonda-rx", move || async move {
            // Adopt the socket on the task's own thread.
            let valid_until = stream.valid_until();
            let (read, write) = match stream.adopt(&tasks) {
                Ok(halves) => halves,
                Err(error) => {
                    bundle.leaves_no_reader();
                    bundle.lose(&member, Ended::Io(error.kind()));
                    bundle.finish_task();
                    return bundle.finish_task();
                }
            };
            // Start the writing task, and continue as the reading task.
            let (shared, own) = (Arc::clone(&bundle), Arc::clone(&member));
            let standing = standby::StandbyWriter::new(tasks.clone(), shared, own, timers);
            let standing = standing.valid_until(valid_until);
            tasks.spawn("zonda-tx", move || standing.run(write));
            bundled::BundledReadTask::new(tasks, bundle, member)
                .run(read, unread)
                .await;
        });
        if self.outbox.is_divided() {
            self.outbox.flush();
        }
        self.changed.notify(usize::MAX);
        (self.told)(None);
        Some(id)
    }

    /// Notes the end of a task of a link. The last task calls the handler's `closed`.
    pub(super) fn finish_task(&self) {
        let mut state = self.state.lock();
        state.tasks -= 1;
        let seat = match state.tasks {
            0 => state.seat.take(),
            _ => None,
        };
        drop(state);
        if let Some(ReceiveState { mut handler, .. }) = seat {
            let ended = self.outbox.ended().cloned();
            handler.closed(ended.unwrap_or(Ended::Local));
            self.outbox.release();
        }
    }
}

#[cfg(test)]
mod tests;
