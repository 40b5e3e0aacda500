// SPDX-License-Identifier: MIT OR Apache-2.0
//! Subscribers that read slowly or not at all.

use std::io::{Read, Write};

use super::Game;
use crate::attacks::words::{drop_put, narrow, subscriber};

/// Subscribes to the keys of honest clients and never reads.
pub fn frozen(game: &mut Game<'_>) {
    while game.goes_on() {
        let Some(mut guest) = game.guest() else {
            continue;
        };
        narrow(&guest);
        let key = *game.chance.one_of(&["honest/**", "honest/usual/*", "**"]);
        guest.frame(&subscriber(1, key));
        while game.dawdles(200) && guest.is_kept_alive() {}
    }
}

/// Subscribes to the keys of honest clients and reads a little.
pub fn slow(game: &mut Game<'_>) {
    let Some(mut guest) = game.guest() else {
        return;
    };
    narrow(&guest);
    guest.frame(&subscriber(1, "honest/**"));
    let piece = game.chance.up_to(100_000) + 1;
    let mut buffer = vec![0; piece];
    while game.dawdles(50) && guest.is_kept_alive() {
        let _ = guest.stream.read(&mut buffer);
    }
}

/// Lets the router queue much for it under Drop, does not read it, and leaves.
pub fn leaving_much_behind(game: &mut Game<'_>) {
    let Some(mut publisher) = game.guest() else {
        return;
    };
    while game.goes_on() {
        let Some(mut guest) = game.guest() else {
            continue;
        };
        narrow(&guest);
        guest.frame(&subscriber(1, "attack/much"));
        let length = game.chance.up_to(50_000);
        let message = drop_put("attack/much", &vec![7; length]);
        for _ in 0..100 {
            if !publisher.frame(&message) || !game.goes_on() {
                return;
            }
        }
        let _ = guest.stream.flush();
    }
}
