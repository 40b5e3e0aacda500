// SPDX-License-Identifier: MIT OR Apache-2.0

//! Two routers that have just been linked.

use zonda_codec::WhatAmI::{Client, Peer, Router};
use zonda_codec::{Declaration, InterestMode};
use zonda_table::{FaceId, FaceInfo, FaceKind, Limits};

use crate::bench::{Bench, key_expr, token, zid};

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

/// Two linked routers, and a client of the far one.
struct Pair {
    far: Bench,
    client: FaceId,
    to_near: FaceId,
    near: Bench,
    to_far: FaceId,
}

impl Pair {
    fn new() -> Pair {
        let (mut far, mut near) = (Bench::new(Router), Bench::named(0xb1, Router));
        let client = far.connect(0xc5, Client);
        let (to_near, to_far) = (far.connect(0xb1, Router), near.connect(0xa1, Router));
        let mut pair = Pair {
            far,
            client,
            to_near,
            near,
            to_far,
        };
        while pair.exchange() > 0 {}
        pair
    }

    /// Delivers what the routers have for each other; returns the most steps of one message at the
    /// near router, and at least 1 if there was any message.
    fn exchange(&mut self) -> u64 {
        let mut most = 0;
        self.far.act(|table, actions| while table.sweep(actions) {});
        for message in self.far.messages(self.to_near) {
            let before = self.near.table.steps();
            self.near.receive(self.to_far, &message);
            most = most.max(1 + self.near.table.steps() - before);
        }
        for message in self.near.messages(self.to_far) {
            self.far.receive(self.to_near, &message);
            most = most.max(1);
        }
        most
    }

    fn subscribe(&mut self, id: u32, key: &str) -> u64 {
        self.far.subscribe(self.client, id, key);
        self.exchange()
    }

    fn unsubscribe(&mut self, id: u32) -> u64 {
        self.far.unsubscribe(self.client, id);
        self.exchange()
    }

    fn sweep(&mut self) {
        self.near
            .act(|table, actions| while table.sweep(actions) {});
    }

    /// Connects a client of the near router with many interests.
    fn asker(&mut self, interests: u32) -> FaceId {
        let asker = self.near.connect(0xd7, Client);
        for id in 0..interests {
            let (mode, key) = (InterestMode::CurrentFuture, format!("attack/**/n{id}/**"));
            let letters = if id % 2 == 0 { "S" } else { "SA" };
            self.near.interest(asker, id + 1, mode, letters, Some(&key));
        }
        self.near.bytes(asker);
        asker
    }
}

/// Messages of all nodes behind a router wait for its declarations: one costs less than a slice,
/// however many interests cover it, and what has come and gone in between is not announced at all.
#[test]
fn a_change_of_a_router_is_announced_beside_its_link() {
    const INTERESTS: usize = 2000;
    let mut pair = Pair::new();
    let asker = pair.asker(INTERESTS as u32);
    let most = Limits::default().announce_steps_max as u64;
    for _ in 0..200 {
        let steps = pair.subscribe(1, "attack/**").max(pair.unsubscribe(1));
        assert!(steps < most, "{steps} steps");
    }
    pair.sweep();
    assert_eq!(pair.near.lines(asker), [""; 0], "nothing is new");
    assert!(!pair.near.table.is_sweeping());
    // An entity that stays is announced, and its end.
    pair.subscribe(2, "attack/**");
    pair.sweep();
    let begun = pair.near.lines(asker);
    assert_eq!(begun.len(), 1 + INTERESTS / 2, "one, and each group");
    pair.unsubscribe(2);
    pair.sweep();
    let ended = pair.near.lines(asker);
    assert!(ended.iter().all(|line| line.starts_with("unsub ")));
    assert_eq!(ended.len(), begun.len());
}

/// An entity that an aggregated interest got as an example before its announcement is taken back
/// there, too.
#[test]
fn a_change_of_a_router_that_a_new_interest_saw_is_taken_back() {
    let mut pair = Pair::new();
    pair.asker(2000);
    pair.subscribe(1, "attack/**");
    let late = pair.near.connect(0xe9, Client);
    let mode = InterestMode::CurrentFuture;
    let wanted = Some("attack/late");
    pair.near.interest(late, 1, mode, "S", wanted);
    pair.near.interest(late, 2, mode, "SA", wanted);
    let begun = |line: &&String| line.contains("sub ");
    let begun = pair.near.lines(late).iter().filter(begun).count();
    assert_eq!(begun, 2, "the entity and the group");
    pair.unsubscribe(1);
    pair.sweep();
    let ended = pair.near.lines(late);
    assert!(ended.iter().all(|line| line.starts_with("unsub ")));
    assert_eq!(ended.len(), begun);
}

/// A link to a router is held only while thousands of its changes are being announced.
#[test]
fn so_many_changes_of_a_router_may_wait() {
    let mut pair = Pair::new();
    pair.asker(1000);
    let (mut id, to_far) = (0, pair.to_far);
    while !pair.near.table.is_busy(to_far) {
        id += 1;
        assert!(id < 10_000, "without a bound");
        pair.subscribe(id, &format!("attack/x{id}/**"));
    }
    assert!(id > 1000, "{id}");
    let more = |pair: &mut Pair| {
        pair.near
            .act(|table, actions| table.work_on(to_far, actions))
    };
    assert!((0..1_000_000).any(|_| !more(&mut pair)), "it goes on");
    assert!(pair.near.table.is_sweeping());
}

/// A multicast group, to which nothing is ever undeclared, gets a key once, and again for a member
/// that has joined.
#[test]
fn a_key_is_declared_to_a_group_once() {
    let mut pair = Pair::new();
    let info = FaceInfo {
        zid: zid(0xf1),
        whatami: Peer,
        kind: FaceKind::Group,
    };
    let near = &mut pair.near;
    let group = near.act(|table, actions| table.add_group(info, None, actions));
    for _ in 0..3 {
        pair.subscribe(1, "attack/a");
        pair.unsubscribe(1);
    }
    assert_eq!(pair.near.lines(group), ["sub 0 attack/a"]);
    pair.subscribe(1, "attack/b");
    assert_eq!(pair.near.lines(group), ["sub 0 attack/b"]);
    let near = &mut pair.near;
    near.act(|table, actions| table.announce_to_group(group, actions));
    assert_eq!(near.lines(group), ["sub 0 attack/b"]);
    pair.subscribe(2, "attack/a");
    pair.subscribe(3, "attack/b");
    assert_eq!(
        pair.near.lines(group),
        ["sub 0 attack/a"],
        "the member is new"
    );
}
