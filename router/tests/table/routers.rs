// SPDX-License-Identifier: MIT OR Apache-2.0

//! Two routers that have just been linked.

use zonda_codec::WhatAmI::{Client, Router};
use zonda_codec::{Declaration, InterestMode};

use crate::bench::{Bench, key_expr, token};

/// A router marks the end of its first declarations: what a listener without history gets from then
/// on is new.
#[test]
fn a_router_says_where_that_ends_which_it_had_when_another_came() {
    let (mut old, mut new) = (Bench::new(Router), Bench::named(0xb1, Router));
    let client = old.connect(0xc5, Client);
    for id in 0..3000 {
        old.declare(client, None, token(id, &format!("live/old/{id}")));
    }
    let (to_new, to_old) = (old.connect(0xb1, Router), new.connect(0xa1, Router));
    let mut listens = false;
    loop {
        old.act(|table, actions| table.sweep(actions));
        let (said, answered) = (old.messages(to_new), new.messages(to_old));
        if said.is_empty() && answered.is_empty() && !old.table.is_sweeping() {
            break;
        }
        for message in answered {
            old.receive(to_new, &message);
        }
        for message in said {
            new.receive(to_old, &message);
            if !listens && new.table.has_declared_all(to_old) {
                listens = true;
                let local = new.local;
                new.act(|table, actions| {
                    table.local_token_listener(local.own(1), &key_expr("**"), false, actions);
                });
            }
        }
    }
    assert!(listens, "it has said where the end is");
    assert_eq!(new.told(1), [""; 0], "nothing is new");
    old.declare(client, None, token(5000, "live/new"));
    for message in old.messages(to_new) {
        new.receive(to_old, &message);
    }
    assert_eq!(new.told(1), ["+live/new"]);
    let counters = |bench: &Bench, face| bench.table.counters(face).expect("it is linked");
    assert_eq!(counters(&new, to_old).misplaced, 0);
    assert_eq!(counters(&old, to_new).misplaced, 0);
}

/// A router does not send interests to another one, so a final between the two is misplaced.
#[test]
fn the_end_of_an_answer_between_routers_is_misplaced() {
    let mut bench = Bench::new(Router);
    let other = bench.connect(0xb1, Router);
    bench.declare(other, Some(1), Declaration::Final);
    bench.interest(other, 1, InterestMode::Current, "T", None);
    assert!(!bench.table.has_declared_all(other));
    let counters = bench.table.counters(other).expect("it is linked");
    assert_eq!(counters.misplaced, 2);
}
