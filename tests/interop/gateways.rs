// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two routers that are linked to each other, and two peers that are linked to both of them and to
//! each other: each message comes once to every other node.
//!
//! A reference's router with the lesser id forwards again what ours, the greater one, has
//! forwarded to it: messages of peers to its side are not checked there.

use std::iter;
use std::time::Instant;

use zonda::config::WhatAmI::Peer;

use crate::answers::Answering;
use crate::environment::python;
use crate::mesh::Mesh;
use crate::mesh::Side::{self, Ours, Theirs};
use crate::message::{Message, Pattern, Seen, Service};
use crate::party::{Count, Party, Setup};
use crate::questions::{Conditions, Consolidation, Question};
use crate::router::free_endpoint;
use crate::scene::settles;
use crate::wait::{LONG, until};

/// Ids of the routers, in the order of the protocol.
const IDS: [&str; 2] = ["a1", "b2"];

/// Number of messages in a round.
const MESSAGES: u64 = 100;

/// A pair of routers, and the nodes behind it.
struct Pair {
    mesh: Mesh,
    /// Parties: a client of the lesser router, one of the greater, and the peers of both.
    everyone: Vec<Party>,
    /// True if the lesser router is the reference's.
    repeats: bool,
    /// True if one of the routers is the reference's.
    is_mixed: bool,
}

/// Indices of the nodes behind the pair.
const LESSER: usize = 0;
const GREATER: usize = 1;
const PEERS: [usize; 2] = [2, 3];

impl Pair {
    fn new(routers: [Side; 2], peers: [Side; 2]) -> Pair {
        // two linked routers
        let mesh = Mesh::new().with_id(routers[0], Some(IDS[0]), &[]);
        let mesh = mesh.with_id(routers[1], Some(IDS[1]), &[0]);
        let gateways = mesh.routers.iter().map(|(_, endpoint)| endpoint.clone());
        let gateways: Vec<String> = gateways.collect();
        let place = free_endpoint();
        // two peers that are linked to both routers and to each other
        let peer = |side: Side, listen: Vec<String>, others: &[String]| {
            side.open(&Setup {
                role: Peer,
                listen,
                connect: [&gateways, others].concat(),
                zid: None,
                options: vec![],
            })
        };
        let one = peer(peers[0], vec![place.clone()], &[]);
        let other = peer(peers[1], vec![], &[place]);
        // all links exist before the test begins
        let linked = |one: &Party, other: &Party| {
            one.linked().contains(&other.zid()) && other.linked().contains(&one.zid())
        };
        until("the peers are linked", || linked(&one, &other));
        for (router, _) in &mesh.routers {
            until("the peers have their gateways", || {
                linked(router, &one) && linked(router, &other)
            });
        }
        Pair {
            everyone: vec![mesh.client(Ours, 0), mesh.client(Theirs, 1), one, other],
            repeats: routers[0] == Theirs,
            is_mixed: routers.contains(&Theirs),
            mesh,
        }
    }

    /// Returns the receivers that get a message of `from` once.
    fn others(&self, from: usize) -> Vec<usize> {
        let is_repeated = |to: usize| self.repeats && PEERS.contains(&from) && to == LESSER;
        let all = 0..self.everyone.len();
        all.filter(|to| *to != from && !is_repeated(*to)).collect()
    }

    /// Waits until all earlier declarations are known to this node.
    fn settle(&self, hearer: usize) {
        for speaker in self.others(hearer) {
            settles(&self.everyone[speaker], &self.everyone[hearer]);
        }
    }

    /// Counts how often each message of one node came to each receiver: once to all of them if the
    /// mesh is correct.
    fn counted(&self, from: usize, key: &str) -> Vec<Option<u64>> {
        let count = |key: &str| -> Vec<Count> {
            let others = self.others(from).into_iter();
            others.map(|to| self.everyone[to].count(key)).collect()
        };
        let all = count(key);
        let after: Vec<(usize, String, Vec<Count>)> = [from, LESSER, GREATER]
            .iter()
            .map(|by| (*by, format!("{key}/after/{by}")))
            .map(|(by, key)| (by, key.clone(), count(&key)))
            .collect();
        for hearer in [from, LESSER, GREATER] {
            self.settle(hearer);
        }
        let publisher = self.everyone[from].publisher(key, Service::BLOCK);
        until("it is matched", || publisher.is_matched());
        publisher.publish_numbered(MESSAGES, 8).done();
        // a copy by another path arrives before later messages
        for (by, key, counts) in &after {
            let publisher = self.everyone[*by].publisher(key, Service::BLOCK);
            until("it is matched", || publisher.is_matched());
            publisher.publish_numbered(1, 8).done();
            let others = self.others(from);
            until("what is sent behind it comes", || {
                let mut counts = counts.iter().zip(&others);
                counts.all(|(count, to)| to == by || count.now().count > 0)
            });
        }
        let counted = all.iter().map(Count::now);
        counted
            .map(|counted| counted.disorder.is_none().then_some(counted.count))
            .collect()
    }

    /// Asserts that messages of each node come once. The routers must know first which of them the
    /// peers are linked to.
    fn messages_come_once(&self, what: &str) {
        for from in 0..self.everyone.len() {
            let once = vec![Some(MESSAGES); self.others(from).len()];
            let begin = Instant::now();
            let mut round = 0;
            loop {
                let counted = self.counted(from, &format!("{what}/{from}/{round}"));
                if counted == once {
                    break;
                }
                assert!(begin.elapsed() < LONG, "{what}, of {from}: {counted:?}");
                round += 1;
            }
            let counted = self.counted(from, &format!("{what}/{from}/again"));
            assert_eq!(counted, once, "{what}, of {from}");
        }
    }

    /// Asserts that each queryable receives each query once.
    fn queries_are_answered_once(&self) {
        for from in 0..self.everyone.len() {
            // a queryable at each other node
            let others = self.others(from).into_iter();
            let queryables: Vec<(String, Answering)> = others
                .map(|to| format!("once/{from}/{to}"))
                .map(|key| (key.clone(), key))
                .zip(self.others(from))
                .map(|((key, declared), to)| (key, self.everyone[to].queryable(&declared)))
                .collect();
            self.settle(from);
            // one query for all of them, with a reply from each
            let everything = Conditions::consolidated(Consolidation::None);
            let asked =
                self.everyone[from].ask(&format!("once/{from}/*"), everything, Question::PLAIN);
            for (key, queryable) in &queryables {
                let question = queryable.next();
                question.reply(key, &Message::put(Pattern::short(1)));
                question.finish();
            }
            let keys: Vec<String> = queryables.iter().map(|(key, _)| key.clone()).collect();
            assert_eq!(asked.keys(), keys, "asked by {from}");
            // no second copy has arrived
            for (key, queryable) in queryables {
                assert!(queryable.try_next().is_none(), "{key} is asked twice");
                queryable.undeclare();
            }
        }
    }

    /// Asserts that each watcher sees each token appear once and vanish once. The reference's
    /// routers send a peer the end of a token again that another gateway has sent it, and its
    /// sessions report it as new. The two peers learn of each other by their own link and by the
    /// gateways, in any order, so that a token may seem to come back there: only the final state is
    /// checked.
    fn tokens_come_and_go_once(&self) {
        for from in 0..self.everyone.len() {
            let key = |number| format!("alive/{from}/{number}");
            let others = self.others(from).into_iter();
            let watchers: Vec<_> = others
                .map(|to| {
                    (
                        to,
                        self.everyone[to].watch(&format!("alive/{from}/*"), false),
                    )
                })
                .collect();
            for hearer in self.others(from) {
                settles(&self.everyone[hearer], &self.everyone[from]);
            }
            let first = self.everyone[from].token(&key(1));
            let sees = |number, is_alive: bool| {
                for (to, watcher) in &watchers {
                    let expected = (key(number), !is_alive);
                    let is_theirs = matches!(self.everyone[*to], Party::Theirs(_));
                    let among_peers = PEERS.contains(&from) && PEERS.contains(to);
                    let is_repeated = |seen: &Seen| {
                        let is_other = (&seen.key, seen.delete) != (&expected.0, expected.1);
                        is_other && (among_peers || self.is_mixed && is_theirs && seen.delete)
                    };
                    let mut seen = iter::repeat_with(|| watcher.next());
                    let seen = seen.find(|seen| !is_repeated(seen)).expect("the next");
                    assert_eq!((seen.key, seen.delete), expected, "of {from} at {to}");
                }
            };
            sees(1, true);
            let second = self.everyone[from].token(&key(2));
            sees(2, true);
            // The lesser router receives a peer's token from the peer and from the other router.
            // Its client sees a token twice that the peer undeclares before the other router has
            // announced it, so the test waits for the announcement.
            settles(&self.everyone[GREATER], &self.everyone[LESSER]);
            first.undeclare();
            sees(1, false);
            second.undeclare();
            sees(2, false);
            let _last = self.everyone[from].token(&key(3));
            sees(3, true);
        }
    }
}

fn everything_comes_once(routers: [Side; 2], peers: [Side; 2]) {
    if python().is_none() {
        return;
    }
    let pair = Pair::new(routers, peers);
    pair.messages_come_once("sent");
    pair.queries_are_answered_once();
    pair.tokens_come_and_go_once();
    assert_eq!(pair.mesh.complaints(), [""; 0]);
}

#[test]
fn two_of_ours_with_ours_and_theirs() {
    everything_comes_once([Ours, Ours], [Ours, Theirs]);
}

#[test]
fn two_of_ours_with_two_of_theirs() {
    everything_comes_once([Ours, Ours], [Theirs, Theirs]);
}

#[test]
fn ours_is_the_lesser() {
    everything_comes_once([Ours, Theirs], [Ours, Theirs]);
}

#[test]
fn ours_is_the_greater() {
    everything_comes_once([Theirs, Ours], [Ours, Theirs]);
}

/// When the router that forwards is gone the other one forwards.
#[test]
fn the_lesser_takes_over() {
    if python().is_none() {
        return;
    }
    let mut pair = Pair::new([Ours, Ours], [Ours, Theirs]);
    pair.messages_come_once("before");
    // another client of the lesser router replaces that of the greater one
    pair.everyone[GREATER] = pair.mesh.client(Theirs, 0);
    let (gone, _) = pair.mesh.routers.remove(1);
    let zid = gone.zid();
    gone.close();
    until("it is gone", || {
        let router = [&pair.mesh.routers[0].0].into_iter();
        let mut all = router.chain(&pair.everyone);
        all.all(|left| !left.linked().contains(&zid))
    });
    pair.messages_come_once("after");
    pair.queries_are_answered_once();
    pair.tokens_come_and_go_once();
}

crate::environment::against_older! {
    two_of_ours_with_ours_and_theirs
    two_of_ours_with_two_of_theirs
    the_lesser_takes_over;
    v1_9:
    ours_is_the_lesser
    ours_is_the_greater
}
