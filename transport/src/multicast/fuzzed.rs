// SPDX-License-Identifier: MIT OR Apache-2.0

//! Check of the fuzz target `group`: datagrams of three addresses in a multicast group, among them
//! those of an honest member.
//!
//! The honest member keeps its place, and each of its messages is delivered once, in order. What
//! the group delivers from an address is what a group of that address alone delivers. A group
//! with fewer places than addresses keeps its limits and publishes the members that it has.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use event_listener::Event;
use zonda_codec::{
    Encode, FrameHeader, Join, NetworkMessage, NextSn, PROTOCOL_VERSION, Priority, Push, PushBody,
    Put, Reliability, Resolution, WhatAmI, WireExpr, Writer, ZSlice, ZenohId,
};

use super::counts::Counters;
use super::members::Members;
use super::other_routers::OtherRouters;
use super::{GROUP_BATCH_SIZE, Group, GroupHandler, Member, Presence};
use crate::driver::Handler;
use crate::ended::Ended;
use crate::ledger::{Ledger, Share};
use crate::link::AddressGroup;
use crate::protocol::parameters::LocalParameters;
use crate::protocol::rx::{Context, Deliver};
use crate::sync::Mutex;

/// Addresses of the group: that of the honest member, and two of others.
const ADDRESSES: [&str; 3] = ["192.0.2.1:7446", "192.0.2.2:7446", "192.0.2.2:7447"];

/// Time between two JOINs of the honest member.
const JOIN_INTERVAL: Duration = Duration::from_secs(2);

/// Unit of the steps of time.
const TICK: Duration = Duration::from_millis(40);

/// Lease of the honest member: longer than the time between two of its JOINs.
const LEASE: Duration = Duration::from_secs(20);

/// Number of messages after which a handler asks for a pause.
const PAUSE_AFTER: usize = 3;

/// Handler that keeps what it is given, and pauses now and then.
#[derive(Default)]
struct Seen {
    messages: Vec<Vec<u8>>,
    since_pause: usize,
}

impl Deliver for Seen {
    fn push(&mut self, push: &Push<'_>, raw_body: &[u8], _context: &Context<'_>) {
        assert_eq!(push.wire_expr.scope, 0, "only whole keys pass a group");
        let mut message = push.wire_expr.suffix.as_bytes().to_vec();
        message.extend_from_slice(raw_body);
        self.messages.push(message);
        self.since_pause += 1;
    }

    fn message(&mut self, message: NetworkMessage<'_>, _context: &Context<'_>) {
        panic!("a group passes data only, and not {message:?}");
    }

    fn wants_pause(&self) -> bool {
        self.since_pause >= PAUSE_AFTER
    }
}

impl Handler for Seen {
    async fn burst_end(&mut self) {}

    fn closed(&mut self, _ended: Ended) {}
}

impl GroupHandler for Seen {
    fn hears_otherwise(&self, _member: &ZenohId) -> bool {
        false
    }

    fn members_changed(&mut self, _members: &[Member]) {}

    fn members_came(&mut self) {}
}

/// Group, and the messages that it has delivered from each address.
struct Scene {
    members: Members,
    group: Arc<Group>,
    seen: HashMap<SocketAddr, Seen>,
    members_max: usize,
    per_address: usize,
}

impl Scene {
    fn new(members_max: usize, per_address: usize, now: Instant) -> Scene {
        let zid = ZenohId::random_from(0xa1);
        let mut local = LocalParameters::new(zid, WhatAmI::Peer);
        local.batch_size = GROUP_BATCH_SIZE;
        local.message_size_max = 1 << 16;
        let presence = Presence {
            local,
            join_interval: JOIN_INTERVAL,
            members_max,
            members_per_address: per_address,
            unfinished_max: 1 << 17,
            // No deadline by the machine's clock: each run of an input is the same.
            unfinished_time: Duration::from_secs(1 << 20),
        };
        let group = Arc::new(Group {
            endpoint: "udp/224.0.0.224:7446".parse().expect("an endpoint"),
            members: Mutex::new(Vec::new()),
            counters: Counters::default(),
            news: Event::new(),
            quiet: Mutex::new(OtherRouters::at_first(zid, false, JOIN_INTERVAL, now)),
        });
        let share = Share::of(&Ledger::new(1 << 24, false));
        Scene {
            members: Members::new(&presence, share, Arc::clone(&group)),
            group,
            seen: HashMap::new(),
            members_max,
            per_address,
        }
    }

    fn hear(&mut self, from: SocketAddr, datagram: &[u8], now: Instant) {
        if self.members.hear(from, datagram, now, |_| false) {
            let block = ZSlice::from(datagram.to_vec());
            let seen = self.seen.entry(from).or_default();
            let mut pause = None;
            loop {
                pause = self.members.deliver(from, &block, pause, seen);
                seen.since_pause = 0;
                if pause.is_none() {
                    break;
                }
            }
        }
        self.keeps_its_limits();
    }

    fn expire(&mut self, now: Instant) {
        self.members.expire(now);
        self.keeps_its_limits();
    }

    /// Asserts the limits on members in all and of each address.
    fn keeps_its_limits(&self) {
        let members = self.group.members();
        assert!(members.len() <= self.members_max);
        let mut of_address: HashMap<AddressGroup, usize> = HashMap::new();
        for member in &members {
            let at = member.address.socket_address().expect("an address");
            *of_address.entry(AddressGroup::of(at.ip())).or_default() += 1;
        }
        let most = of_address.values().max().copied().unwrap_or_default();
        assert!(most <= self.per_address);
    }

    fn has(&self, at: SocketAddr) -> bool {
        let members = self.group.members();
        members
            .iter()
            .any(|m| m.address.socket_address() == Some(at))
    }

    fn messages(&self, from: SocketAddr) -> &[Vec<u8>] {
        self.seen.get(&from).map_or(&[], |seen| &seen.messages)
    }
}

fn bytes(message: &impl Encode) -> Vec<u8> {
    let mut buffer = [0; 1 << 10];
    let mut writer = Writer::new(&mut buffer);
    message.encode(&mut writer).expect("room");
    writer.written().to_vec()
}

/// Returns a JOIN. `choices` are role, lease, resolution and version.
fn join(zid: ZenohId, next_sn: u32, choices: u8) -> Vec<u8> {
    let next_sn = NextSn {
        reliable: next_sn,
        best_effort: next_sn,
    };
    bytes(&Join {
        version: PROTOCOL_VERSION ^ u8::from(choices & 0x1f == 0x1f),
        whatami: [WhatAmI::Peer, WhatAmI::Router][usize::from(choices & 1)],
        zid,
        resolution: match choices & 6 {
            6 => Resolution::from_bits(choices >> 4),
            _ => Resolution::default(),
        },
        batch_size: GROUP_BATCH_SIZE,
        lease: LEASE / (1 + u32::from(choices >> 5)),
        next_sn,
        qos: (choices & 8 != 0).then_some([next_sn; 8]),
        shm: None,
        patch: choices >> 4 & 1,
    })
}

/// Returns the header of a frame with room for `messages` behind it.
fn frame(sn: u32, messages: &[u8]) -> Vec<u8> {
    let mut frame = bytes(&FrameHeader {
        reliability: Reliability::Reliable,
        priority: Priority::Data,
        sn,
    });
    frame.extend_from_slice(messages);
    frame
}

/// Honest member: its number, and the time of its last JOIN.
struct Honest {
    at: SocketAddr,
    next_sn: u32,
    joined: Instant,
    sent: u32,
}

impl Honest {
    fn join(&mut self, now: Instant) -> Vec<u8> {
        self.joined = now;
        join(ZenohId::random_from(0xb1), self.next_sn, 0)
    }

    /// Returns a datagram with `count` messages, each of which bears its number.
    fn frame(&mut self, count: u8) -> Vec<u8> {
        let mut messages = Vec::new();
        for _ in 0..count {
            let number = self.sent.to_le_bytes();
            let body = PushBody::Put(Put::new(&number));
            messages.extend(bytes(&Push::new(WireExpr::full("honest"), body)));
            self.sent += 1;
        }
        let sn = self.next_sn;
        self.next_sn = sn.wrapping_add(1) & Resolution::default().frame_sn_mask();
        frame(sn, &messages)
    }
}

/// Address of another node, and the next number of its frames.
struct Other {
    at: SocketAddr,
    next_sn: u32,
}

/// One group for all addresses, one for each, and one with too few places.
struct Scenes {
    all: Scene,
    alone: HashMap<SocketAddr, Scene>,
    small: Scene,
}

impl Scenes {
    fn hear(&mut self, from: SocketAddr, datagram: &[u8], now: Instant) {
        self.all.hear(from, datagram, now);
        self.small.hear(from, datagram, now);
        let alone = self.alone.get_mut(&from);
        alone.expect("a scene").hear(from, datagram, now);
    }

    fn expire(&mut self, now: Instant) {
        let alone = self.alone.values_mut();
        for scene in alone.chain([&mut self.all, &mut self.small]) {
            scene.expire(now);
        }
    }

    /// Asserts that no address has an effect on the deliveries of another, nor on its place.
    fn are_equal(&self) {
        for (at, alone) in &self.alone {
            assert_eq!(self.all.messages(*at), alone.messages(*at), "from {at}");
            assert_eq!(self.all.has(*at), alone.has(*at), "{at} as a member");
        }
    }
}

/// Receives the datagrams that `data` describes: steps of two bytes, some of them followed by as
/// many bytes as the second says.
pub fn group(data: &[u8]) {
    let addresses = ADDRESSES.map(|text| text.parse().expect("an address"));
    let mut now = Instant::now();
    let mut scenes = Scenes {
        all: Scene::new(8, 8, now),
        alone: addresses.map(|at| (at, Scene::new(8, 8, now))).into(),
        small: Scene::new(2, 1, now),
    };
    let mut honest = Honest {
        at: addresses[0],
        next_sn: u32::from(data.first().copied().unwrap_or_default()),
        joined: now,
        sent: 0,
    };
    let mut others = [1, 2].map(|which| Other {
        at: addresses[which],
        next_sn: 0,
    });
    scenes.hear(honest.at, &honest.join(now), now);
    // Every step of the input.
    let mut steps = data;
    while let Some((&[kind, with], rest)) = steps.split_first_chunk() {
        steps = rest;
        let other = &mut others[usize::from(kind >> 3 & 1)];
        let (from, datagram) = match kind & 7 {
            0 => (honest.at, honest.frame(with % 6)),
            1 => {
                now += TICK * u32::from(with);
                scenes.expire(now);
                if now < honest.joined + JOIN_INTERVAL {
                    continue;
                }
                (honest.at, honest.join(now))
            }
            2 => {
                other.next_sn = u32::from(kind >> 6) << 12;
                let zid = ZenohId::random_from(0xb1 + u128::from(kind >> 4 & 3));
                (other.at, join(zid, other.next_sn, with))
            }
            kind => {
                let length = usize::from(with).min(rest.len());
                let (content, rest) = rest.split_at(length);
                steps = rest;
                let mut datagram = content.to_vec();
                if kind == 3 {
                    datagram = frame(other.next_sn, content);
                    other.next_sn = other.next_sn.wrapping_add(1);
                }
                (other.at, datagram)
            }
        };
        scenes.hear(from, &datagram, now);
    }
    // The honest member has lost nothing, and each address is on its own.
    for scene in [&scenes.all, &scenes.small] {
        assert!(scene.has(honest.at), "the honest member has lost its place");
        let messages = scene.messages(honest.at);
        assert_eq!(messages.len(), honest.sent as usize);
        for (number, message) in (0_u32..).zip(messages) {
            assert!(
                message.ends_with(&number.to_le_bytes()),
                "{number} is not in its place"
            );
        }
    }
    scenes.are_equal();
}

#[cfg(test)]
mod tests {
    #[test]
    fn groups_by_chance() {
        zonda_testkit::by_chance(2000, |random| {
            let length = random.below(600);
            // Many bytes are small: raw datagrams are short then, and an input has many steps.
            let byte = |_| random.below(256) as u8 >> random.below(6);
            let data: Vec<u8> = (0..length).map(byte).collect();
            println!("{data:?}");
            super::group(&data);
        });
    }

    #[test]
    fn the_corpus_of_groups() {
        assert!(zonda_testkit::replay("group", super::group) > 3);
    }
}
