// SPDX-License-Identifier: MIT OR Apache-2.0
//! Attacks with declarations and interests.

use zonda_codec::{Interest, InterestMode, InterestOptions, Qos, WireExpr};

use super::Game;
use crate::attacks::words::{interest, no_subscriber, put, queryable, request, subscriber, token};
use crate::hand::bytes;

/// Declares and undeclares everything.
pub fn churn(game: &mut Game<'_>) {
    let Some(mut guest) = game.guest() else {
        return;
    };
    while game.goes_on() {
        let messages: Vec<Vec<u8>> = (0..200).map(|_| game.message()).collect();
        if !guest.messages(messages.into_iter().filter(|m| m.len() < 60_000)) {
            return;
        }
        guest.swallow();
    }
}

/// Declares keys with as many chunks and wildcards as fit, each against all of the rest.
pub fn wild_keys(game: &mut Game<'_>) {
    let Some(mut guest) = game.guest() else {
        return;
    };
    let chunks = [20, 60, 120, 250, 1000, 8000][game.chance.below(6)];
    let part = *game
        .chance
        .one_of(&["**/a", "*/**", "a/**/$*b$*", "$*a/**", "a"]);
    let chain = vec![part; chunks / part.split('/').count()].join("/");
    for number in 0.. {
        let key = format!("**/attack{number}/{chain}/x{}", game.chance.below(3));
        let message = match number % 3 {
            0 => subscriber(number, &key),
            1 => put(&key, b"x"),
            _ => request(number, &key),
        };
        if !game.goes_on() || !guest.frame(&message) {
            return;
        }
        guest.swallow();
    }
}

/// Sends interests in everything, one declaration for all, again and again.
pub fn interests(game: &mut Game<'_>) {
    let Some(mut guest) = game.guest() else {
        return;
    };
    let Some(mut other) = game.guest() else {
        return;
    };
    for id in 0.. {
        let (key, aggregate) = (game.key(), game.chance.one_in(2));
        let asked = guest.frame(&interest(id, &key, aggregate));
        let told = other.frame(&subscriber(id % 50, &key)) && other.frame(&no_subscriber(id % 50));
        if !game.goes_on() || !asked || !told {
            return;
        }
        other.swallow();
        if !game.chance.one_in(20) {
            guest.swallow();
        }
    }
}

/// Declares many entities, and interests of the same guest in them: wide and narrow, for each and
/// for all, ended or not.
pub fn interests_in_oneself(game: &mut Game<'_>) {
    let Some(mut guest) = game.guest() else {
        return;
    };
    // Entities of all kinds.
    let own = game.chance.up_to(4000) as u32;
    let declared = (0..own).map(|id| match id % 8 {
        0 => queryable(id, &format!("attack/own/{id}")),
        1 => token(id, &format!("attack/own/{id}")),
        _ => subscriber(id, &format!("attack/own/{id}")),
    });
    if !guest.messages(declared) {
        return;
    }
    for id in 0.. {
        // An interest in keys that include the own entities or not.
        let key = match game.chance.below(4) {
            0 => "attack/own/*".to_owned(),
            1 => "**".to_owned(),
            2 => format!("attack/own/{}", game.chance.up_to(4000)),
            _ => game.key(),
        };
        let modes = [
            InterestMode::Current,
            InterestMode::Future,
            InterestMode::CurrentFuture,
        ];
        let asked = Interest {
            id,
            mode: *game.chance.one_of(&modes),
            options: InterestOptions::from_bits(game.chance.next() as u8),
            wire_expr: (!game.chance.one_in(20)).then(|| WireExpr::full(&key)),
            qos: Qos::DECLARE,
            timestamp: None,
            node_id: 0,
        };
        // The end of this interest or of an earlier one.
        let end = Interest {
            id: id.saturating_sub(game.chance.up_to(200) as u32),
            mode: InterestMode::Final,
            ..asked
        };
        let is_sent = guest.frame(&bytes(&asked)) && (id % 2 == 0 || guest.frame(&bytes(&end)));
        if !is_sent || !game.goes_on() {
            return;
        }
        if !game.chance.one_in(50) {
            guest.swallow();
        }
    }
}
