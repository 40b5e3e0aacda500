// SPDX-License-Identifier: MIT OR Apache-2.0

//! Peers that are linked to this router, a1, and to another router of its mesh.

use std::time::{Duration, Instant};

use zonda_codec::InterestMode::{Current, CurrentFuture, Future};
use zonda_codec::WhatAmI::{self, Client, Peer, Router};
use zonda_codec::{
    Declaration, LinkState, LinkStates, NodeId, Numbers, Oam, OamBody, Qos, WireExpr,
};
use zonda_table::{Deadline, FaceId, Limits};

use crate::bench::{Bench, encoded, key_expr, none, token, zid};

const OWN: u128 = 0xa1;
const LESSER: u128 = 0x05;
const GREATER: u128 = 0xb2;
const FAR: u128 = 0xe6;
const PEER: u128 = 0xc3;

/// Sends the link states of a neighbour, the first of `nodes`, with links to the rest.
fn says(bench: &mut Bench, face: FaceId, sn: u64, nodes: &[(u128, WhatAmI)]) {
    let links: Vec<u64> = (1..nodes.len() as u64).collect();
    let states = nodes
        .iter()
        .zip(0..)
        .map(|((number, role), psid)| LinkState {
            psid,
            sn: if psid == 0 { sn } else { 0 },
            zid: Some(zid(*number)),
            whatami: Some(*role),
            links: Numbers::new(if psid == 0 { &links } else { &[] }),
            ..LinkState::default()
        });
    let states: Vec<LinkState<'_>> = states.collect();
    let body = encoded(&LinkStates(&states));
    let oam = Oam {
        id: Oam::LINK_STATE,
        qos: Qos::DECLARE,
        timestamp: None,
        body: OamBody::Buf(&body),
    };
    bench.receive(face, &encoded(&oam));
}

/// Connects another router of the mesh, and computes the trees.
fn router(bench: &mut Bench, number: u128) -> FaceId {
    let face = bench.connect(number, Router);
    says(bench, face, 9, &[(number, Router), (OWN, Router)]);
    let now = Instant::now();
    for seconds in 0..3 {
        let now = now + Duration::from_secs(seconds);
        bench.act(|table, actions| table.expire(now, actions));
    }
    face
}

/// Sends a peer's list of the routers that it is linked to.
fn lists(bench: &mut Bench, peer: FaceId, routers: &[u128]) {
    let routers = routers.iter().map(|number| (*number, Router));
    let nodes: Vec<_> = [(PEER, Peer)].into_iter().chain(routers).collect();
    says(bench, peer, 1, &nodes);
}

fn to(bench: &Bench, from: FaceId, key: &str) -> Vec<FaceId> {
    let (hops, _) = bench.route(from, key, None);
    hops.into_iter().map(|(face, _)| face).collect()
}

/// Returns the hops of a message that entered the mesh at the neighbour `link`.
fn from_mesh(bench: &Bench, link: FaceId, key: &str) -> Vec<FaceId> {
    let route = bench.table.route_from(link, NodeId::ITSELF, &key_expr(key));
    let hops = route.expect("a router that is known").hops;
    hops.into_iter().map(|hop| hop.face).collect()
}

/// Returns the number of lines with this word.
fn count(lines: &[String], word: &str) -> usize {
    let begins = |line: &&String| line.split(' ').any(|part| part == word);
    lines.iter().filter(begins).count()
}

#[test]
fn a_lesser_gateway_leaves_what_a_peer_sends_and_takes_over() {
    let mut bench = Bench::new(Router);
    let (client, peer) = (bench.connect(0xd4, Client), bench.connect(PEER, Peer));
    let greater = router(&mut bench, GREATER);
    bench.subscribe(client, 1, "demo/a");
    bench.subscribe(peer, 1, "demo/p");
    bench.interest(peer, 1, CurrentFuture, "S", Some("demo/*"));
    assert_eq!(count(&bench.lines(peer), "sub"), 1);
    let kept = |bench: &mut Bench| {
        let key = key_expr("demo/a").into_owned();
        let mut search = bench.table.begin_route(peer, key, None);
        while bench.table.search_route(&mut search).is_none() {}
        search.validity()
    };
    let before = kept(&mut bench);
    assert_eq!(to(&bench, peer, "demo/a"), [client]);

    lists(&mut bench, peer, &[OWN, GREATER]);
    assert!(!before.holds());
    assert_eq!(to(&bench, peer, "demo/a"), []);
    assert_eq!(bench.lines(peer), ["unsub 1"], "it need not send that here");
    assert_eq!(to(&bench, client, "demo/p"), [peer]);
    assert_eq!(from_mesh(&bench, greater, "demo/p"), []);

    let left = kept(&mut bench);
    bench.cut(greater);
    assert!(!left.holds());
    assert_eq!(to(&bench, peer, "demo/a"), [client]);
    assert_eq!(count(&bench.lines(peer), "sub"), 1);

    // The other router is back, the peer's link to it is not; then the link is back, too.
    let greater = router(&mut bench, GREATER);
    lists(&mut bench, peer, &[OWN]);
    assert_eq!(to(&bench, peer, "demo/a"), [client]);
    assert_eq!(from_mesh(&bench, greater, "demo/p"), [peer]);
    let taken = kept(&mut bench);
    lists(&mut bench, peer, &[OWN, GREATER]);
    assert!(!taken.holds());
    assert_eq!(to(&bench, peer, "demo/a"), []);
}

#[test]
fn the_greatest_gateway_passes_on_and_leaves_what_entered_at_the_other() {
    let mut bench = Bench::new(Router);
    let (client, peer) = (bench.connect(0xd4, Client), bench.connect(PEER, Peer));
    let [lesser, far] = [LESSER, FAR].map(|number| router(&mut bench, number));
    bench.subscribe(client, 1, "demo/a");
    bench.subscribe(peer, 1, "demo/p");
    bench.interest(peer, 1, CurrentFuture, "S", Some("demo/*"));
    bench.bytes(peer);
    lists(&mut bench, peer, &[OWN, LESSER]);
    assert_eq!(bench.lines(peer), none());
    assert_eq!(to(&bench, peer, "demo/a"), [client]);
    assert_eq!(from_mesh(&bench, lesser, "demo/p"), []);
    assert_eq!(from_mesh(&bench, far, "demo/p"), [peer]);
    // An unreachable router does not count, however great its id.
    lists(&mut bench, peer, &[OWN, LESSER, 0xff]);
    assert_eq!(to(&bench, peer, "demo/a"), [client]);
    lists(&mut bench, peer, &[OWN, LESSER, FAR]);
    assert_eq!(to(&bench, peer, "demo/a"), []);
}

#[test]
fn tokens_come_from_the_gateway_where_they_are_or_from_the_greatest() {
    let mut bench = Bench::new(Router);
    let (client, peer) = (bench.connect(0xd4, Client), bench.connect(PEER, Peer));
    let [greater, far] = [GREATER, 0x91].map(|number| router(&mut bench, number));
    lists(&mut bench, peer, &[OWN, GREATER]);
    bench.interest(peer, 1, CurrentFuture, "T", Some("alive/*"));
    bench.bytes(peer);
    bench.declare(client, None, token(1, "alive/client"));
    assert_eq!(count(&bench.lines(peer), "token"), 1);
    bench.declare(greater, None, token(0, "alive/greater"));
    bench.declare(far, None, token(0, "alive/far"));
    // Of two tokens on one key, the peer gets its own gateway's, even if it is the second.
    bench.declare(greater, None, token(0, "alive/both"));
    assert_eq!(bench.lines(peer), none());
    bench.declare(client, None, token(2, "alive/both"));
    assert_eq!(count(&bench.lines(peer), "token"), 1);
    bench.declare(
        client,
        None,
        Declaration::UndeclareToken { id: 2, key: None },
    );
    assert_eq!(count(&bench.lines(peer), "untoken"), 1);
    bench.cut(greater);
    assert_eq!(count(&bench.lines(peer), "token"), 1, "the one that is far");
}

#[test]
fn only_the_gateway_that_tells_of_a_token_tells_of_its_end() {
    let mut bench = Bench::new(Router);
    let (client, peer) = (bench.connect(0xd4, Client), bench.connect(PEER, Peer));
    let greater = router(&mut bench, GREATER);
    bench.declare(client, None, token(1, "alive/client"));
    bench.declare(greater, None, token(0, "alive/greater"));
    lists(&mut bench, peer, &[OWN, GREATER]);
    bench.interest(peer, 1, Future, "T", Some("alive/*"));
    bench.bytes(peer);
    let key = Some(WireExpr::full("alive/greater"));
    bench.declare(greater, None, Declaration::UndeclareToken { id: 0, key });
    assert_eq!(bench.lines(peer), none());
    bench.declare(
        client,
        None,
        Declaration::UndeclareToken { id: 1, key: None },
    );
    assert_eq!(bench.lines(peer), ["untoken 0 alive/client"]);
}

#[test]
fn much_that_a_peer_is_to_hear_no_more_or_again_is_said_in_slices() {
    let limits = Limits {
        answer_slice_max: 10,
        ..Limits::default()
    };
    let mut bench = Bench::with_limits(Router, limits);
    let (client, peer) = (bench.connect(0xd4, Client), bench.connect(PEER, Peer));
    let greater = router(&mut bench, GREATER);
    for id in 1..=100 {
        bench.subscribe(client, id, &format!("demo/{id}"));
    }
    bench.interest(peer, 1, CurrentFuture, "S", None);
    assert_eq!(count(&bench.lines(peer), "sub"), 100);
    let sweep = |bench: &mut Bench| {
        bench.act(|table, actions| while table.sweep(actions) {});
        let lines = bench.lines(peer);
        (count(&lines, "sub"), count(&lines, "unsub"))
    };
    lists(&mut bench, peer, &[OWN, GREATER]);
    let first = count(&bench.lines(peer), "unsub");
    assert!((1..=10).contains(&first), "{first} in a slice");
    // The router takes over again before all ends are announced.
    bench.lose(greater);
    let (again, ended) = sweep(&mut bench);
    assert_eq!(first + ended, again, "it knows what it knew before");
    assert_eq!(sweep(&mut bench), (0, 0));
    let _greater = router(&mut bench, GREATER);
    let soon = count(&bench.lines(peer), "unsub");
    assert_eq!(sweep(&mut bench), (0, 100 - soon));
}

/// Returns the number of tokens in the answer to a neighbour's query for current ones.
fn told_now(bench: &mut Bench, face: FaceId, interest: u32) -> usize {
    bench.lines(face);
    bench.interest(face, interest, Current, "T", Some("live/*"));
    count(&bench.lines(face), "token")
}

/// A peer of the reference adds up the tokens of its own side, of the peers that it is linked to,
/// and of one gateway.
#[test]
fn a_peer_that_asks_for_tokens_is_told_what_it_does_not_know_by_itself() {
    const OTHER: u128 = 0xe5;
    let mut bench = Bench::new(Router);
    let (client, peer) = (bench.connect(0xd4, Client), bench.connect(PEER, Peer));
    let other = bench.connect(OTHER, Peer);
    for (face, key) in [(client, "live/c"), (peer, "live/p"), (other, "live/o")] {
        bench.declare(face, None, token(1, key));
    }
    assert_eq!(told_now(&mut bench, peer, 1), 2, "all but its own");
    says(&mut bench, peer, 1, &[(PEER, Peer)]);
    says(&mut bench, other, 1, &[(OTHER, Peer), (PEER, Peer)]);
    assert_eq!(
        told_now(&mut bench, peer, 5),
        2,
        "the peer has not reported the new link, so it may lack the tokens behind it"
    );
    says(&mut bench, peer, 2, &[(PEER, Peer), (OTHER, Peer)]);
    assert_eq!(
        told_now(&mut bench, peer, 2),
        1,
        "the other peer tells it of its own"
    );
    assert_eq!(told_now(&mut bench, other, 2), 1);
    assert_eq!(told_now(&mut bench, client, 2), 3);
    // Both have a token on the key, which the peer already knows.
    bench.declare(client, None, token(2, "live/o"));
    assert_eq!(told_now(&mut bench, peer, 3), 1);
    says(&mut bench, other, 2, &[(OTHER, Peer)]);
    assert_eq!(told_now(&mut bench, peer, 6), 1, "it still has them");
    says(&mut bench, peer, 3, &[(PEER, Peer)]);
    assert_eq!(
        told_now(&mut bench, peer, 4),
        2,
        "they are not linked any more"
    );
}

/// A peer of the reference passes the tokens that it knows by itself to its query after it has sent
/// the interest, and discards them if the end of the answer comes before.
#[test]
fn the_end_of_an_answer_to_a_peer_that_asks_for_tokens_waits_for_a_moment() {
    let mut bench = Bench::new(Router);
    let (client, peer) = (bench.connect(0xd4, Client), bench.connect(PEER, Peer));
    bench.declare(client, None, token(1, "live/c"));
    bench.lines(peer);
    bench.interest(peer, 1, Current, "T", Some("live/*"));
    let lines = bench.lines(peer);
    assert_eq!((count(&lines, "token"), count(&lines, "final")), (1, 0));
    let (pause, now) = (Limits::default().answer_pause, Instant::now());
    let ends = |bench: &mut Bench, now| {
        bench.act(|table, actions| table.expire(now, actions));
        count(&bench.lines(peer), "final")
    };
    assert_eq!(bench.table.alarm(), Some(Deadline::Now));
    assert_eq!(ends(&mut bench, now), 0);
    assert_eq!(bench.table.alarm(), Some(Deadline::At(now + pause)));
    assert_eq!(ends(&mut bench, now + pause), 1);
    assert_eq!(bench.table.alarm(), None);
    // A client knows no tokens of other nodes by itself.
    bench.interest(client, 1, Current, "T", Some("live/*"));
    assert_eq!(count(&bench.lines(client), "final"), 1);
}

/// The peer queries any one of its gateways.
#[test]
fn a_gateway_that_is_asked_for_tokens_leaves_none_to_another() {
    let mut bench = Bench::new(Router);
    let (client, peer) = (bench.connect(0xd4, Client), bench.connect(PEER, Peer));
    let greater = router(&mut bench, GREATER);
    bench.declare(client, None, token(1, "live/c"));
    bench.declare(greater, None, token(1, "live/g"));
    assert_eq!(told_now(&mut bench, peer, 1), 2);
    lists(&mut bench, peer, &[OWN, GREATER]);
    assert_eq!(told_now(&mut bench, peer, 2), 2);
}
