// SPDX-License-Identifier: MIT OR Apache-2.0
//! Members of a group: the identity of each address, and the receive state of its messages.
//!
//! The reference leaves a group for good when it receives a datagram that it does not understand,
//! or a JOIN that contradicts an earlier one. This implementation counts the former, and restarts
//! the member for the latter: at most once in an interval between JOINs.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use zonda_codec::{
    Join, PROTOCOL_VERSION, Priority, Reader, Resolution, TransportMessage, WhatAmI, ZSlice,
    ZenohId,
};

use super::admission::{MemberDecision, MemberLimits};
use super::counts::count;
use super::other_routers::RouterJoin;
use super::whole_key_filter::WholeKeyFilter;
use super::{Group, GroupHandler, Presence, of_priority};
use crate::ledger::Share;
use crate::link::{LinkAddress, Protocol};
use crate::log_limit::LogLimit;
use crate::protocol::options::LinkOptions;
use crate::protocol::parameters::{Established, PATCH};
use crate::protocol::rx::{Arrived, Flow, Pause, PeerMisbehaved, Receiver};

/// Distance of an announced number behind the last received one from which on the member was
/// restarted at its old address.
const RESTART: u32 = 1024;

/// Intervals between JOINs after which a silent member is evicted for a newcomer.
const SILENT: f32 = 1.5;

/// Another node in a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Id of the node.
    pub zid: ZenohId,
    /// Role of the node.
    pub whatami: WhatAmI,
    /// Source address of its datagrams.
    pub address: LinkAddress,
}

/// Announcement of a member, constant as long as the member runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    zid: ZenohId,
    whatami: WhatAmI,
    resolution: Resolution,
    batch_size: u16,
    lease: Duration,
    has_qos: bool,
}

impl Identity {
    fn of(join: &Join<'_>) -> Identity {
        Identity {
            zid: join.zid,
            whatami: join.whatami,
            resolution: join.resolution,
            batch_size: join.batch_size,
            lease: join.lease,
            has_qos: join.qos.is_some(),
        }
    }
}

/// Member with its receive state.
struct Present {
    identity: Identity,
    receiver: Receiver,
    /// Time of the last datagram.
    heard: Instant,
    /// Time at which its numbers were last taken from a JOIN.
    begun: Instant,
    lease: Duration,
}

/// Members of a group, by their source addresses.
pub(super) struct Members {
    presence: Presence,
    share: Arc<Share>,
    group: Arc<Group>,
    present: HashMap<SocketAddr, Present>,
    places: MemberLimits,
    /// Number of times that a member has come or gone.
    changes: u64,
    /// Number of times that a member has come.
    came: u64,
    arrived: Arrived,
    logs: Logs,
}

/// Limits of log lines that unauthenticated nodes can cause, one for each cause.
#[derive(Default)]
struct Logs {
    malformed: LogLimit,
    refused: LogLimit,
    full: LogLimit,
    evicted: LogLimit,
    batch_size: LogLimit,
}

impl Members {
    pub(super) fn new(presence: &Presence, share: Arc<Share>, group: Arc<Group>) -> Members {
        Members {
            presence: presence.clone(),
            share,
            group,
            present: HashMap::new(),
            places: MemberLimits::new(
                presence.members_max,
                presence.members_per_address,
                presence.join_interval.mul_f32(SILENT),
            ),
            changes: 0,
            came: 0,
            arrived: Arrived::default(),
            logs: Logs::default(),
        }
    }

    /// Examines a datagram from `from`, and processes a JOIN in it. Returns true if it has more
    /// content, for [`deliver`](Self::deliver). `is_linked` returns true for a node with a link to
    /// this one.
    pub(super) fn hear(
        &mut self,
        from: SocketAddr,
        datagram: &[u8],
        now: Instant,
        is_linked: impl Fn(&ZenohId) -> bool,
    ) -> bool {
        if datagram.is_empty() {
            return false;
        }
        // Process a JOIN, which may be followed by other messages.
        let mut reader = Reader::new(datagram);
        let decoded = TransportMessage::decode(&mut reader);
        if let Ok(TransportMessage::Join(join)) = &decoded {
            match self.problem_with(join, now, is_linked) {
                Some(problem) => self.refuse(from, join, now, problem),
                None => self.introduced(from, join, now),
            }
            if reader.is_empty() {
                return false;
            }
        }
        // Other messages are for members only.
        let counters = &self.group.counters;
        match (decoded, self.present.get_mut(&from)) {
            (Ok(_), Some(member)) => {
                member.heard = now;
                true
            }
            (Err(error), _) => {
                count(&counters.malformed);
                self.say_malformed(from, &error.to_string());
                false
            }
            (Ok(_), None) => {
                count(&counters.unknown);
                false
            }
        }
    }

    fn refuse(&self, from: SocketAddr, join: &Join<'_>, now: Instant, problem: &str) {
        count(&self.group.counters.refused);
        if let Some(left_out) = self.logs.refused.admit(now) {
            let (endpoint, zid) = (&self.group.endpoint, join.zid);
            tracing::warn!(
                "{} {zid} at {from} is ignored in {endpoint}: {problem}{left_out}",
                join.whatami
            );
        }
    }

    /// Processes a JOIN. One that contradicts an earlier one from the same address comes from a
    /// restarted node.
    fn introduced(&mut self, from: SocketAddr, join: &Join<'_>, now: Instant) {
        let identity = Identity::of(join);
        let mut has_come = true;
        // A known address: refresh the member, or restart it if the JOIN contradicts the earlier
        // one.
        if let Some(member) = self.present.get_mut(&from) {
            if !member.contradicts(&identity, join) {
                member.heard = now;
                return;
            }
            if now.saturating_duration_since(member.begun) < self.presence.join_interval {
                return count(&self.group.counters.contradicting);
            }
            has_come = member.identity.zid != identity.zid;
        } else if !self.make_room(from, join.zid, now) {
            return;
        }
        // Add the member with a new receive state.
        self.compare_batch_size(from, join, now);
        let present = Present {
            identity,
            receiver: self.receiver(join),
            heard: now,
            begun: now,
            lease: self.presence.local.accepted_lease(join.lease),
        };
        if self.present.insert(from, present).is_none() {
            self.places.take(from);
        }
        // Notify the other tasks, and send a JOIN to the newcomer soon.
        self.came += 1;
        if has_come {
            self.publish();
        }
        self.group.news.notify(usize::MAX);
    }

    /// Makes room for a newcomer; false if there is none.
    fn make_room(&mut self, from: SocketAddr, zid: ZenohId, now: Instant) -> bool {
        let present = self.present.iter();
        let heard = present.map(|(at, member)| (*at, member.heard));
        let endpoint = &self.group.endpoint;
        match self.places.find(from, heard, now) {
            MemberDecision::Free => true,
            // Evict a member.
            MemberDecision::Of(other) => {
                count(&self.group.counters.evicted);
                if let Some(left_out) = self.logs.evicted.admit(now) {
                    tracing::warn!(
                        "{endpoint} is full (transport/multicast/max_sessions, limits/sessions_per_address): the member at \
                         {other} gives way to {zid} at {from}{left_out}"
                    );
                }
                self.take_out(other);
                true
            }
            // Refuse the newcomer.
            MemberDecision::None => {
                count(&self.group.counters.over_limit);
                if let Some(left_out) = self.logs.full.admit(now) {
                    tracing::warn!(
                        "{zid} at {from} is ignored in {endpoint}: there is no place left, or none for its address \
                         (transport/multicast/max_sessions, limits/sessions_per_address){left_out}"
                    );
                }
                false
            }
        }
    }

    /// Logs that a member may not receive this node's batches, as the reference takes only batches
    /// of its own size.
    fn compare_batch_size(&self, from: SocketAddr, join: &Join<'_>, now: Instant) {
        let own = self.presence.local.batch_size.min(super::GROUP_BATCH_SIZE);
        if join.batch_size == own {
            return;
        }
        if let Some(left_out) = self.logs.batch_size.admit(now) {
            tracing::warn!(
                "{} {} at {from} announces a batch size of {}, and this node one of {own} (transport/link/tx/batch_size): it may \
                 not hear this node{left_out}",
                join.whatami,
                join.zid,
                join.batch_size,
            );
        }
    }

    /// Returns the reason why a node cannot be a member, if there is one.
    fn problem_with(
        &self,
        join: &Join<'_>,
        now: Instant,
        is_linked: impl Fn(&ZenohId) -> bool,
    ) -> Option<&'static str> {
        let local = &self.presence.local;
        // Other versions and this node itself are no members.
        if join.version != PROTOCOL_VERSION {
            return Some("it speaks another version of the protocol");
        }
        if join.zid == local.zid {
            return Some("it has this node's own id");
        }
        // Roles that cannot be in one group.
        match (local.whatami, join.whatami) {
            (_, WhatAmI::Client) => Some("a client cannot be in a group"),
            (WhatAmI::Router, WhatAmI::Router) => {
                let claim = RouterJoin {
                    zid: join.zid,
                    lease: local.accepted_lease(join.lease),
                    is_linked: is_linked(&join.zid),
                };
                Some(match self.group.quiet.lock().hear_router(claim, now) {
                    true => {
                        "a group has one router: this one keeps quiet as long as the other is there"
                    }
                    false => "a group has one router: this one was there before, and goes on",
                })
            }
            _ => None,
        }
    }

    fn receiver(&self, join: &Join<'_>) -> Receiver {
        // A JOIN replaces the handshake.
        let established = Established {
            zid: join.zid,
            whatami: join.whatami,
            batch_size: u16::MAX,
            sn_mask: join.resolution.frame_sn_mask(),
            qos: join.qos.is_some(),
            patch: join.patch.min(PATCH),
            lease: self.presence.local.lease,
            remote_lease: join.lease,
            initial_sn_tx: 0,
            initial_sn_rx: 0,
            options: LinkOptions::default(),
        };
        let Presence {
            local,
            unfinished_max,
            unfinished_time,
            ..
        } = &self.presence;
        // Without priorities one lane serves all.
        let one = [join.next_sn];
        let lanes = join.qos.as_ref().map_or(&one[..], |lanes| &lanes[..]);
        let next = |priority| of_priority(lanes, priority).unwrap_or_default();
        Receiver::new(&established, local.message_size_max)
            .within(
                Share::of(self.share.ledger()),
                *unfinished_max,
                *unfinished_time,
            )
            .starting_at(next)
    }

    /// Returns the counts of what members have sent, without those whose own link brings the same.
    pub(super) fn arrived(&self) -> &Arrived {
        &self.arrived
    }

    /// Delivers the messages of a datagram, from the point where a pause interrupted it. `None`
    /// when all are delivered.
    pub(super) fn deliver<H: GroupHandler>(
        &mut self,
        from: SocketAddr,
        datagram: &ZSlice,
        pause: Option<Pause>,
        handler: &mut H,
    ) -> Option<Pause> {
        // Messages of a member with its own link are filtered out.
        let counters = &self.group.counters;
        let member = self.present.get_mut(&from)?;
        let is_muted = handler.hears_otherwise(&member.identity.zid);
        if is_muted && pause.is_none() {
            count(&counters.repeated);
        }
        let mut sieve = WholeKeyFilter {
            handler,
            is_muted,
            counters,
        };
        // Decode the datagram, or the rest of it after a pause.
        let bytes = datagram.as_slice();
        let receiver = &mut member.receiver;
        let before = receiver.arrived();
        if pause.is_none() {
            receiver.note_bytes(bytes.len());
        }
        let flow = match pause {
            None => receiver.handle_batch(bytes, datagram, &mut sieve),
            Some(pause) => receiver.resume_batch(pause, bytes, datagram, &mut sieve),
        };
        if !is_muted {
            self.arrived.add(&receiver.arrived().since(&before));
        }
        // Remove a member that has left or violated the protocol.
        match flow {
            Ok(Flow::Paused(pause)) => return Some(pause),
            Ok(Flow::Open) => {}
            Ok(Flow::Closed { .. }) => self.remove(from),
            Err(error) => {
                count(&counters.malformed);
                self.misbehaved(from, &error);
            }
        }
        self.give_up_hopeless(from);
        None
    }

    #[cold]
    fn misbehaved(&self, from: SocketAddr, error: &PeerMisbehaved) {
        self.say_malformed(from, &error.to_string());
    }

    fn say_malformed(&self, from: SocketAddr, error: &str) {
        if let Some(left_out) = self.logs.malformed.admit(Instant::now()) {
            let endpoint = &self.group.endpoint;
            tracing::warn!("a datagram from {from} in {endpoint} is left out: {error}{left_out}");
        }
    }

    /// Removes a member whose unfinished message has no room; its next JOIN adds it again.
    fn give_up_hopeless(&mut self, from: SocketAddr) {
        let member = self.present.get_mut(&from);
        if member.is_some_and(|member| member.receiver.hopeless(Instant::now).is_some()) {
            self.remove(from);
        }
    }

    fn remove(&mut self, from: SocketAddr) {
        if self.take_out(from) {
            self.publish();
        }
    }

    fn take_out(&mut self, from: SocketAddr) -> bool {
        let was_there = self.present.remove(&from).is_some();
        if was_there {
            self.places.give_back(from);
        }
        was_there
    }

    /// Removes members that were silent for their whole lease at `now`.
    pub(super) fn expire(&mut self, now: Instant) {
        let before = self.present.len();
        let places = &mut self.places;
        self.present.retain(|at, member| {
            let is_alive = now.saturating_duration_since(member.heard) < member.lease;
            if !is_alive {
                places.give_back(*at);
            }
            is_alive
        });
        let gone = before - self.present.len();
        if gone > 0 {
            let counter = &self.group.counters.expired;
            counter.fetch_add(gone as u64, Ordering::Relaxed);
            self.publish();
        }
    }

    /// Returns the number of times that a member has come.
    pub(super) fn came(&self) -> u64 {
        self.came
    }

    /// Returns the number of times that a member has come or gone.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// Updates the list that other tasks read.
    fn publish(&mut self) {
        self.changes += 1;
        let member = |(from, present): (&SocketAddr, &Present)| Member {
            zid: present.identity.zid,
            whatami: present.identity.whatami,
            address: LinkAddress::internet(Protocol::Udp, *from),
        };
        *self.group.members.lock() = self.present.iter().map(member).collect();
    }

    pub(super) fn list(&self) -> Vec<Member> {
        self.group.members()
    }
}

impl Present {
    /// Returns true if a JOIN comes from another node, or from one that was restarted.
    fn contradicts(&self, identity: &Identity, join: &Join<'_>) -> bool {
        let last = self.receiver.next_sn(Priority::Data);
        let behind = last.wrapping_sub(join.next_sn.reliable) & identity.mask();
        let is_restarted = behind > RESTART && behind <= identity.mask() / 2;
        self.identity != *identity || is_restarted
    }
}

impl Identity {
    fn mask(&self) -> u32 {
        self.resolution.frame_sn_mask()
    }
}
