// SPDX-License-Identifier: MIT OR Apache-2.0
//! Attacks on an advanced publisher and its subscriber: numbers far from the publisher's,
//! publishers that do not exist, queryables that never reply, and queries to the cache. Numbers
//! close to the publisher's are not used: by the protocol any client may send them.

use zonda_codec::{
    EntityGlobalId, NetworkMessage, Push, PushBody, Put, SourceInfo, WireExpr, ZenohId,
};

use super::Game;
use crate::attacks::words::{queryable, request, subscriber, token};
use crate::hand::{Hand, bytes};
use crate::world::ADVANCED;

/// Lower bound of numbers that no honest publisher reaches.
const FAR: u32 = 1 << 24;

/// Returns a sample with a source of the attacker's choice.
fn sample(key: &str, id: EntityGlobalId, sn: u32, payload: &[u8]) -> Vec<u8> {
    let put = Put {
        source_info: Some(SourceInfo::new(id, sn)),
        ..Put::new(payload)
    };
    bytes(&Push::new(WireExpr::full(key), PushBody::Put(put)))
}

/// Connects and receives a sample of the honest publisher; returns the connection and the
/// publisher's id.
fn witness(game: &mut Game<'_>) -> Option<(Hand, EntityGlobalId)> {
    let mut guest = game.guest()?;
    guest.frame(&subscriber(1, ADVANCED));
    let mut seen = None;
    guest.read_until(|message| {
        if let NetworkMessage::Push(push) = message
            && let PushBody::Put(put) = &push.body
        {
            let source = put.source_info.map(|info| info.id);
            seen = source.filter(|id| game.ids.contains(&id.zid));
        }
        seen.is_some()
    });
    Some((guest, seen?))
}

/// Sends numbers far ahead of the honest publisher's, alone and in rows, also in heartbeats.
pub fn forged_numbers(game: &mut Game<'_>) {
    let Some((mut guest, id)) = witness(game) else {
        return;
    };
    let beats = format!("{ADVANCED}/@adv/pub/{}/{}/_", id.zid, id.eid);
    while game.goes_on() {
        let mut messages = Vec::new();
        // Rows of numbers, none of which is near the publisher's.
        for _ in 0..game.chance.up_to(50) {
            let first = FAR.max(game.chance.next() as u32 / 2).max(FAR);
            let first = first.saturating_add(game.chance.up_to(1 << 31) as u32);
            let row = game.chance.below(4) as u32 + 1;
            for sn in first.min(u32::MAX - FAR)..first.min(u32::MAX - FAR) + row {
                messages.push(sample(ADVANCED, id, sn, b"x"));
            }
            // A heartbeat that announces the same.
            if game.chance.one_in(4) {
                let beat = sample(&beats, id, 0, &first.to_le_bytes());
                messages.push(beat);
            }
        }
        if !guest.messages(messages) || !game.dawdles(20) {
            return;
        }
        guest.swallow();
    }
}

/// Sends samples, tokens and heartbeats of publishers that do not exist.
pub fn false_sources(game: &mut Game<'_>) {
    let Some(mut guest) = game.guest() else {
        return;
    };
    while game.goes_on() {
        let mut messages = Vec::new();
        // Each message comes from another source.
        for _ in 0..game.chance.up_to(100) {
            let id = EntityGlobalId {
                zid: ZenohId::random_from(u128::from(game.chance.next())),
                eid: game.chance.up_to(1 << 20) as u32,
            };
            let sn = game.chance.next() as u32;
            let key = format!("{ADVANCED}/@adv/pub/{}/{}/_", id.zid, id.eid);
            let number = game.chance.up_to(500) as u32;
            messages.push(match game.chance.below(4) {
                0 => token(number, &key),
                1 => sample(&key, id, 0, &sn.to_le_bytes()),
                _ => sample(ADVANCED, id, sn, b"x"),
            });
        }
        if !guest.messages(messages) || !game.dawdles(20) {
            return;
        }
        guest.swallow();
    }
}

/// Declares queryables for histories that never reply, and sends numbers that make subscribers
/// query.
pub fn mute_answerers(game: &mut Game<'_>) {
    // Queryables for the history that never reply.
    let mut mute = Vec::new();
    for _ in 0..=game.chance.below(4) {
        let Some(mut guest) = game.guest() else {
            return;
        };
        let keys = [format!("{ADVANCED}/@adv/**"), "**/@adv/**".to_owned()];
        guest.frame(&queryable(1, &game.chance.one_of(&keys)[..]));
        mute.push(guest);
    }
    // Numbers with gaps that make subscribers query them.
    let Some((mut guest, id)) = witness(game) else {
        return;
    };
    while game.dawdles(50) {
        let sn = FAR + game.chance.up_to(1 << 31) as u32;
        if !guest.frame(&sample(ADVANCED, id, sn, b"x")) {
            return;
        }
        guest.swallow();
        for guest in &mut mute {
            guest.is_kept_alive();
            guest.swallow();
        }
    }
}

/// Queries the honest publisher's cache, with the replies read or left. Each query returns a
/// hundred samples: an unoptimised publisher can answer only a few hundred queries a second in
/// addition to its flows, and its share for a neighbour has a test of its own.
pub fn questions_to_caches(game: &mut Game<'_>) {
    let Some(mut guest) = game.guest() else {
        return;
    };
    let reads = game.chance.one_in(2);
    let keys = [
        format!("{ADVANCED}/@adv/**"),
        "**/@adv/**".to_owned(),
        format!("{ADVANCED}/@adv/pub/*/*/**"),
    ];
    for round in 0.. {
        let count = game.chance.up_to(20) as u32;
        let key = game.chance.one_of(&keys);
        let questions = (0..count).map(|number| request(round * 20 + number, key));
        if !guest.messages(questions) || !game.dawdles(200) {
            return;
        }
        if reads {
            guest.swallow();
        }
    }
}
