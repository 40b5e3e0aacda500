// SPDX-License-Identifier: MIT OR Apache-2.0
//! Attacks in a multicast group that the router is in, on the loopback interface.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use socket2::{Domain, Socket, Type};
use zonda_codec::transport::{Join, KeepAlive, NextSn};
use zonda_codec::{FrameHeader, Priority, Reliability, Resolution, WhatAmI, ZenohId};

use super::Game;
use crate::attacks::chance::Chance;
use crate::hand::bytes;

/// Opens a socket of a member, at an address of its own.
fn member(from: &str) -> Option<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).ok()?;
    socket.set_multicast_if_v4(&Ipv4Addr::LOCALHOST).ok()?;
    let from: Ipv4Addr = from.parse().expect("an address");
    socket.bind(&SocketAddr::from((from, 0)).into()).ok()?;
    Some(socket.into())
}

fn join(chance: &mut Chance, zid: ZenohId) -> Vec<u8> {
    let roles = [WhatAmI::Router, WhatAmI::Peer, WhatAmI::Client];
    let sn = |chance: &mut Chance| NextSn {
        reliable: chance.next() as u32 >> 4,
        best_effort: chance.next() as u32 >> 4,
    };
    let next_sn = sn(chance);
    let qos = chance
        .one_in(2)
        .then(|| std::array::from_fn(|_| sn(chance)));
    bytes(&Join {
        version: if chance.one_in(8) {
            chance.next() as u8
        } else {
            9
        },
        whatami: *chance.one_of(&roles),
        zid,
        resolution: match chance.one_in(8) {
            true => Resolution::from_bits(chance.next() as u8),
            false => Resolution::default(),
        },
        batch_size: [8192, 8192, 1024, 0, 65_535][chance.below(5)],
        lease: Duration::from_millis(chance.up_to(1 << 36) as u64),
        next_sn,
        qos,
        shm: None,
        patch: chance.below(3) as u8,
    })
}

/// Returns a datagram of a member or of a node that never joined.
fn datagram(game: &mut Game<'_>, zid: ZenohId) -> Vec<u8> {
    match game.chance.below(8) {
        0 => {
            let length = game.chance.up_to(8000);
            game.chance.bytes(length)
        }
        1 => {
            let mut frame = bytes(&FrameHeader {
                reliability: *game
                    .chance
                    .one_of(&[Reliability::Reliable, Reliability::BestEffort]),
                priority: Priority::ALL[game.chance.below(8)],
                sn: game.chance.up_to(1 << 28) as u32,
            });
            frame.extend(game.message().into_iter().take(8000));
            frame
        }
        2 => bytes(&KeepAlive),
        3 => vec![0x03, 0x00],
        _ => join(&mut game.chance, zid),
    }
}

/// Sends Joins of a few nodes that contradict each other, and frames between them.
pub fn contradicting_members(game: &mut Game<'_>) {
    let members: Vec<_> = ["127.0.0.1", "127.66.0.1", "127.66.0.2"]
        .into_iter()
        .filter_map(member)
        .collect();
    let ids: Vec<ZenohId> = (0..4)
        .map(|_| ZenohId::random_from(u128::from(game.chance.next())))
        .chain(game.ids.iter().copied())
        .collect();
    while !members.is_empty() && game.goes_on() {
        for _ in 0..game.chance.up_to(50) {
            let zid = *game.chance.one_of(&ids);
            let said = datagram(game, zid);
            // A full socket loses it, as the network may.
            let _ = game
                .chance
                .one_of(&members)
                .send_to(&said, game.field.group);
        }
        game.dawdles(10);
    }
}

/// Sends Joins of members that do not exist, each under an id of its own, as fast as possible.
pub fn flood_of_joins(game: &mut Game<'_>) {
    let from = *game.chance.one_of(&["127.0.0.1", "127.66.0.1"]);
    let Some(member) = member(from) else {
        return;
    };
    while game.goes_on() {
        for _ in 0..100 {
            let zid = ZenohId::random_from(u128::from(game.chance.next()));
            let said = join(&mut game.chance, zid);
            let _ = member.send_to(&said, game.field.group);
        }
        game.dawdles(3);
    }
}
