// SPDX-License-Identifier: MIT OR Apache-2.0
//! The members of a group: who was introduced by which address, and what each has begun to say.
//!
//! The other implementation leaves a group for good when it meets a datagram that it does not understand, or a JOIN that
//! contradicts an earlier one. Here the former is counted, and the latter begins the member anew: it was restarted.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use zonda_codec::ZSlice;
use zonda_codec::{
    Join, NetworkMessage, PROTOCOL_VERSION, Priority, Push, PushRun, Reader, Resolution,
    TransportMessage, WhatAmI, ZenohId,
};

use super::{Group, GroupHandler, Presence, of_priority};
use crate::ledger::Share;
use crate::link::{LinkAddress, Protocol};
use crate::log_limit::LogLimit;
use crate::protocol::options::LinkOptions;
use crate::protocol::parameters::{Established, PATCH};
use crate::protocol::rx::{Context, Deliver, Flow, Pause, PeerMisbehaved, Receiver};

/// A member that announces a number so far behind the last one heard was restarted at its old address.
const RESTART: u32 = 1024;

/// Another node in a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its id.
    pub zid: ZenohId,
    /// Its role.
    pub whatami: WhatAmI,
    /// Where its datagrams come from.
    pub address: LinkAddress,
}

macro_rules! counters {
    ($($(#[$help:meta])* $name:ident,)+) => {
        /// What was heard in a group and not taken.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct GroupCounts {
            $($(#[$help])* pub $name: u64,)+
        }

        #[derive(Debug, Default)]
        pub(super) struct Counters {
            $(pub(super) $name: AtomicU64,)+
        }

        impl Counters {
            pub(super) fn snapshot(&self) -> GroupCounts {
                GroupCounts {
                    $($name: self.$name.load(Ordering::Relaxed),)+
                }
            }
        }
    };
}

counters! {
    /// Datagrams of those who have not introduced themselves.
    unknown,
    /// Datagrams that are not what the protocol allows, or not to their end; also those whose payload is in shared memory.
    malformed,
    /// Introductions of nodes that cannot be members with this one: clients, routers where this one is a router, other
    /// versions of the protocol, this node's own id.
    refused,
    /// Introductions of nodes for which there was no room (`transport/multicast/max_sessions`).
    over_limit,
    /// Members that were silent for their whole lease.
    expired,
    /// Messages that have no place in a group, such as questions, and keys that are not written out.
    misplaced,
    /// What members declare: everything is sent to the group anyway, and no questions pass it.
    declarations,
    /// Datagrams of members to which there is a link, by which the same comes.
    repeated,
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// What a member announces. It stays the same as long as the member runs.
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

/// A member, and what it has said so far.
struct Present {
    identity: Identity,
    receiver: Receiver,
    /// When it was heard last.
    heard: Instant,
    lease: Duration,
}

/// The members of a group, by the addresses that they send from.
pub(super) struct Members {
    presence: Presence,
    share: Arc<Share>,
    group: Arc<Group>,
    present: HashMap<SocketAddr, Present>,
    /// How often somebody has come or gone.
    changes: u64,
    /// How often somebody has come.
    came: u64,
    log_malformed: LogLimit,
    log_refused: LogLimit,
}

impl Members {
    pub(super) fn new(presence: &Presence, share: Arc<Share>, group: Arc<Group>) -> Members {
        Members {
            presence: presence.clone(),
            share,
            group,
            present: HashMap::new(),
            changes: 0,
            came: 0,
            log_malformed: LogLimit::new(),
            log_refused: LogLimit::new(),
        }
    }

    /// Looks at a datagram from `from`: an introduction is dealt with here. Tells whether there is more in it, for
    /// [`deliver`](Self::deliver).
    pub(super) fn hear(&mut self, from: SocketAddr, datagram: &[u8], now: Instant) -> bool {
        if datagram.is_empty() {
            return false;
        }
        let mut reader = Reader::new(datagram);
        let decoded = TransportMessage::decode(&mut reader);
        if let Ok(TransportMessage::Join(join)) = &decoded {
            self.introduced(from, join, now);
            if reader.is_empty() {
                return false;
            }
        }
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

    /// Takes a JOIN. One that contradicts an earlier one from the same address is that of a node that was restarted.
    fn introduced(&mut self, from: SocketAddr, join: &Join<'_>, now: Instant) {
        if let Some(problem) = self.problem_with(join) {
            count(&self.group.counters.refused);
            if let Some(left_out) = self.log_refused.admit(now) {
                let (endpoint, zid) = (&self.group.endpoint, join.zid);
                tracing::warn!(
                    "{} {zid} at {from} is not heard in {endpoint}: {problem}{left_out}",
                    join.whatami
                );
            }
            return;
        }
        let identity = Identity::of(join);
        if let Some(member) = self.present.get_mut(&from) {
            let last = member.receiver.next_sn(Priority::Data);
            let behind = last.wrapping_sub(join.next_sn.reliable) & identity.mask();
            let is_restarted = behind > RESTART && behind <= identity.mask() / 2;
            if member.identity == identity && !is_restarted {
                member.heard = now;
                return;
            }
        } else if self.present.len() >= self.presence.members_max {
            return count(&self.group.counters.over_limit);
        }
        let own = self.presence.local.batch_size.min(super::GROUP_BATCH_SIZE);
        if join.batch_size != own {
            tracing::warn!(
                "{} {} at {from} announces a batch size of {}, and this node one of {own} (transport/link/tx/batch_size): it may not hear this node",
                join.whatami,
                join.zid,
                join.batch_size,
            );
        }
        let lease = self.presence.local.accepted_lease(join.lease);
        let present = Present {
            identity,
            receiver: self.receiver(join),
            heard: now,
            lease,
        };
        self.present.insert(from, present);
        self.came += 1;
        self.publish();
        self.group.news.notify(usize::MAX);
    }

    /// Why a node cannot be a member, if it cannot.
    fn problem_with(&self, join: &Join<'_>) -> Option<&'static str> {
        let local = &self.presence.local;
        if join.version != PROTOCOL_VERSION {
            return Some("it speaks another version of the protocol");
        }
        if join.zid == local.zid {
            return Some("it has this node's own id");
        }
        match (local.whatami, join.whatami) {
            (_, WhatAmI::Client) => Some("a client cannot be in a group"),
            (WhatAmI::Router, WhatAmI::Router) => {
                let lease = local.accepted_lease(join.lease);
                self.group.quiet.lock().hear_router(lease);
                Some("a group has one router: this one keeps quiet as long as the other is there")
            }
            _ => None,
        }
    }

    fn receiver(&self, join: &Join<'_>) -> Receiver {
        let established = Established {
            zid: join.zid,
            whatami: join.whatami,
            batch_size: u16::MAX,
            sn_mask: join.resolution.frame_sn_mask(),
            qos: join.qos.is_some(),
            patch: join.patch.min(PATCH),
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

    /// Hands the messages of a datagram on, from where a pause interrupted that. `None` when that is done.
    pub(super) fn deliver<H: GroupHandler>(
        &mut self,
        from: SocketAddr,
        datagram: &ZSlice,
        pause: Option<Pause>,
        handler: &mut H,
    ) -> Option<Pause> {
        let counters = &self.group.counters;
        let member = self.present.get_mut(&from)?;
        let is_muted = handler.hears_otherwise(&member.identity.zid);
        if is_muted && pause.is_none() {
            count(&counters.repeated);
        }
        let mut sieve = Sieve {
            handler,
            is_muted,
            counters,
        };
        let bytes = datagram.as_slice();
        let receiver = &mut member.receiver;
        let flow = match pause {
            None => receiver.handle_batch(bytes, datagram, &mut sieve),
            Some(pause) => receiver.resume_batch(pause, bytes, datagram, &mut sieve),
        };
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
        if let Some(left_out) = self.log_malformed.admit(Instant::now()) {
            let endpoint = &self.group.endpoint;
            tracing::warn!("a datagram from {from} in {endpoint} is left out: {error}{left_out}");
        }
    }

    /// A member whose unfinished message has no room is begun anew with its next introduction.
    fn give_up_hopeless(&mut self, from: SocketAddr) {
        let member = self.present.get_mut(&from);
        if member.is_some_and(|member| member.receiver.hopeless(Instant::now).is_some()) {
            self.remove(from);
        }
    }

    fn remove(&mut self, from: SocketAddr) {
        if self.present.remove(&from).is_some() {
            self.publish();
        }
    }

    /// Lets those go that were silent for their whole lease at `now`.
    pub(super) fn expire(&mut self, now: Instant) {
        let before = self.present.len();
        self.present
            .retain(|_, member| now.saturating_duration_since(member.heard) < member.lease);
        let gone = before - self.present.len();
        if gone > 0 {
            let counter = &self.group.counters.expired;
            counter.fetch_add(gone as u64, Ordering::Relaxed);
            self.publish();
        }
    }

    /// How often somebody has come.
    pub(super) fn came(&self) -> u64 {
        self.came
    }

    /// How often somebody has come or gone.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// Makes the list that others see.
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

impl Identity {
    fn mask(&self) -> u32 {
        self.resolution.frame_sn_mask()
    }
}

/// Lets through what has a place in a group: data with its whole key.
struct Sieve<'a, H> {
    handler: &'a mut H,
    is_muted: bool,
    counters: &'a Counters,
}

impl<H: GroupHandler> Sieve<'_, H> {
    fn takes(&self, push: &Push<'_>) -> bool {
        if self.is_muted {
            return false;
        }
        let takes = push.wire_expr.scope == 0;
        if !takes {
            count(&self.counters.misplaced);
        }
        takes
    }
}

impl<H: GroupHandler> Deliver for Sieve<'_, H> {
    fn push(&mut self, push: &Push<'_>, raw_body: &[u8], context: &Context<'_>) {
        if self.takes(push) {
            self.handler.push(push, raw_body, context);
        }
    }

    fn run<'a>(&mut self, push: &Push<'a>, run: &mut PushRun<'a>, context: &Context<'_>) {
        if self.takes(push) {
            self.handler.run(push, run, context);
        }
    }

    /// Declarations say what a member wants; everything is sent to the group anyway. Nothing else belongs here.
    fn message(&mut self, message: NetworkMessage<'_>, _context: &Context<'_>) {
        if !matches!(message, NetworkMessage::Declare(_)) {
            return count(&self.counters.misplaced);
        }
        if self.counters.declarations.fetch_add(1, Ordering::Relaxed) == 0 {
            tracing::info!(
                "members of a multicast group declare what they want or have; that changes nothing, as everything is sent to the \
                 group anyway, and no questions pass it"
            );
        }
    }

    fn wants_pause(&self) -> bool {
        self.handler.wants_pause()
    }
}
