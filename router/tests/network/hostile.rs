// SPDX-License-Identifier: MIT OR Apache-2.0

//! One router with hostile neighbours: what their messages cost is bounded.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use zonda_codec::{
    Declaration, Declare, Encode, KeyExpr, LinkState, LinkStateList, LinkStates, NetworkMessage,
    NodeId, Numbers, Reader, WhatAmI, WireExpr, ZenohId,
};
use zonda_router::table::{
    Action, Deadline, FaceId, FaceInfo, FaceKind, ForwardingTable, Kind, Limits, Route, Validity,
};

/// A router whose neighbours are routers, too.
struct Victim {
    table: ForwardingTable,
    actions: Vec<Action>,
}

fn id(number: usize) -> ZenohId {
    ZenohId::random_from(number as u128 + 1)
}

/// The link state of a router.
struct Said {
    number: usize,
    sn: u64,
    links: Vec<u64>,
}

fn said(number: usize, sn: u64, links: &[u64]) -> Said {
    Said {
        number,
        sn,
        links: links.to_vec(),
    }
}

impl Victim {
    fn new(limits: Limits) -> Victim {
        let own = ZenohId::random_from(u128::MAX);
        let mut table = ForwardingTable::with_limits(own, WhatAmI::Router, limits);
        table.set_mesh(1, HashMap::new());
        Victim {
            table,
            actions: Vec::new(),
        }
    }

    /// Creates a quiet mesh: routers 1 and 2 are neighbours, router 3 is behind router 1, and
    /// router 2 knows of it. Returns it with the links, and a time at which it is quiet.
    fn between() -> (Victim, [FaceId; 2], Instant) {
        let mut victim = Victim::new(Limits::default());
        let links = [1, 2].map(|number| victim.link(number));
        victim.hear(links[1], &[said(2, 1, &[9999]), said(3, 0, &[])]);
        victim.hear(links[0], &[said(1, 1, &[9999, 3]), said(3, 1, &[1])]);
        let quiet = victim.rest(Instant::now());
        (victim, links, quiet)
    }

    /// Lets the table's clock run for ten seconds.
    fn rest(&mut self, from: Instant) -> Instant {
        for tenth in 0..100 {
            self.look(from + Duration::from_millis(tenth * 100));
            self.sweep();
        }
        from + Duration::from_secs(10)
    }

    /// Caches a route for messages that a router sends by a link.
    fn keep_route(&mut self, link: FaceId, router: u16) -> (Arc<Validity>, Route) {
        let key = KeyExpr::new("of/2").expect("a key expression");
        let search = self
            .table
            .begin_route_from(link, NodeId::of(router), key.into_owned());
        let mut search = search.expect("the neighbour has introduced the router");
        let validity = search.validity();
        let route = self.table.search_route(&mut search);
        (validity, route.expect("there is little to look at"))
    }

    fn link(&mut self, number: usize) -> FaceId {
        let info = FaceInfo {
            zid: id(number),
            whatami: WhatAmI::Router,
            kind: FaceKind::Remote,
        };
        self.table.add_face(info, &mut self.actions)
    }

    /// Receives link states from a neighbour. It calls router `n` by the number `n`, itself 0, and
    /// this router 9999.
    fn hear(&mut self, link: FaceId, said: &[Said]) {
        let states: Vec<LinkState<'_>> = said
            .iter()
            .map(|said| LinkState {
                psid: said.number as u64,
                sn: said.sn,
                zid: Some(id(said.number)),
                whatami: Some(WhatAmI::Router),
                links: Numbers::new(&said.links),
                ..LinkState::default()
            })
            .chain([LinkState {
                psid: 9999,
                zid: Some(ZenohId::random_from(u128::MAX)),
                ..LinkState::default()
            }])
            .collect();
        let bytes = LinkStates(&states).to_vec().expect("it has a wire form");
        let states = LinkStateList::decode(&mut Reader::new(&bytes)).expect("link states");
        self.table
            .handle_link_states(link, &states, &mut self.actions);
    }

    fn subscribe(&mut self, link: FaceId, router: usize, key: &str) {
        let declare = Declare {
            node_id: router as u16,
            ..Declare::new(Declaration::Subscriber {
                id: 0,
                wire_expr: WireExpr::full(key),
            })
        };
        self.table.handle_declare(link, &declare, &mut self.actions);
    }

    /// Does the work that is due at this time.
    fn look(&mut self, now: Instant) {
        while self.table.next_deadline().is_some_and(|due| match due {
            Deadline::Now => true,
            Deadline::At(at) => at <= now,
        }) {
            self.table.expire(now, &mut self.actions);
        }
    }

    fn sweep(&mut self) {
        while self.table.sweep(&mut self.actions) {}
    }
}

/// Returns the link states of routers in a grid, the first of which is the neighbour.
fn grid(count: usize, sn: u64) -> Vec<Said> {
    let row = (1..).find(|row| row * row >= count).expect("a square");
    let links = |at: usize| {
        let mut links = Vec::new();
        if !at.is_multiple_of(row) {
            links.push(at - 1);
        }
        if !(at + 1).is_multiple_of(row) {
            links.push(at + 1);
        }
        links.extend(at.checked_sub(row));
        links.push(at + row);
        let mut links: Vec<u64> = links
            .into_iter()
            .filter(|other| *other < count)
            .map(|other| other as u64)
            .collect();
        if at == 0 || at + 1 == count {
            links.push(9999);
        }
        links
    };
    let said = |number| Said {
        number,
        sn,
        links: links(number),
    };
    (0..count).map(said).collect()
}

/// The two neighbours are corners of a mesh, with 1000 routers in the long run.
#[test]
fn the_trees_of_a_large_mesh_are_computed_in_slices() {
    let count = match std::env::var_os("ZONDA_LONG") {
        Some(_) => 1000,
        None => 250,
    };
    let mut victim = Victim::new(Limits::default());
    let [near, far] = [0, count - 1].map(|number| victim.link(number));
    let begin = Instant::now();
    victim.hear(near, &grid(count, 1));
    let heard = begin.elapsed();
    assert_eq!(
        (victim.table.routers().count(), victim.table.mesh_reshaped()),
        (count, 1)
    );
    let (mut slices, mut longest) = (0_u32, Duration::ZERO);
    let begin = Instant::now();
    loop {
        let slice = Instant::now();
        victim.actions.clear();
        let more = victim.table.sweep(&mut victim.actions);
        longest = longest.max(slice.elapsed());
        slices += 1;
        if !more {
            break;
        }
    }
    println!(
        "{count} routers: heard in {heard:?}, {count} trees in {:?}, {slices} slices, the longest {longest:?}",
        begin.elapsed()
    );
    // A slice ends after the tree that brings it to 4096 steps: with 1000 routers after each tree.
    assert!(
        slices as usize * 4096 > count * count / 4,
        "{slices} slices"
    );
    let below = (0..count).filter(|root| {
        let place = victim.table.place_in_tree(&id(*root));
        assert!(place.parent.is_some(), "everybody is linked to everybody");
        !place.children.is_empty()
    });
    assert!(below.count() > 0, "it is on the way between some");
    for router in 1..count {
        victim.subscribe(near, router, &format!("of/{router}"));
    }
    let declared = victim
        .table
        .keys_of_router(&id(count / 2), Kind::Subscriber);
    assert_eq!(declared, [format!("of/{}", count / 2)]);
    victim.table.remove_face(near, &mut victim.actions);
    victim.table.remove_face(far, &mut victim.actions);
    victim.sweep();
    assert_eq!(victim.table.routers().count(), 0);
}

/// A neighbour reports a link and its loss every millisecond for 20 s.
#[test]
fn a_router_that_flaps_has_trees_computed_seldom() {
    let mut victim = Victim::new(Limits::default());
    let link = victim.link(0);
    let start = Instant::now();
    for step in 1..20_000_u64 {
        let now = start + Duration::from_millis(step);
        let links = match step % 2 {
            0 => vec![9999],
            _ => vec![9999, 1],
        };
        let said = [
            Said {
                number: 0,
                sn: step,
                links,
            },
            Said {
                number: 1,
                sn: step,
                links: vec![0],
            },
        ];
        victim.hear(link, &said);
        victim.look(now);
        victim.actions.clear();
    }
    let computed = victim.table.mesh_reshaped();
    assert!((10..25).contains(&computed), "computed {computed} times");
}

/// One neighbour reports a link and its loss each second for a minute. The other one still gets the
/// periodic repetitions.
#[test]
fn a_router_that_flaps_keeps_nobody_from_repeating_what_there_is() {
    let mut victim = Victim::new(Limits::default());
    let [near, other] = [1, 2].map(|number| victim.link(number));
    victim.hear(other, &[said(2, 1, &[9999])]);
    let start = Instant::now();
    let mut told = 0;
    for second in 0..60 {
        let links: &[u64] = match second % 2 {
            0 => &[9999, 3],
            _ => &[9999],
        };
        victim.hear(near, &[said(1, second + 1, links), said(3, 1, &[1])]);
        if second == 0 {
            victim.subscribe(near, 1, "of/1");
        }
        for tenth in 0..10 {
            victim.look(start + Duration::from_millis(second * 1000 + tenth * 100));
            victim.sweep();
        }
        told += victim
            .actions
            .drain(..)
            .filter(|action| is_subscriber(action, other))
            .count();
    }
    assert!((5..8).contains(&told), "said {told} times");
}

/// Router 3 is behind neighbour 1. Messages from neighbour 2 in the name of that router are dropped
/// once the network is quiet, and so are their queries; messages from neighbour 1 go to neighbour
/// 2, which has a subscriber.
#[test]
fn what_does_not_come_from_above_goes_nowhere() {
    let (mut victim, [near, other], _) = Victim::between();
    victim.subscribe(other, 2, "of/2");
    let key = KeyExpr::new("of/2").expect("a key expression");
    let hops = |victim: &Victim, link, number| {
        let route = victim.table.route_from(link, NodeId::of(number), &key);
        route.expect("it has introduced the router").hops.len()
    };
    assert_eq!(hops(&victim, near, 3), 1, "it comes from above");
    assert_eq!(hops(&victim, other, 3), 0, "it does not");
    victim.subscribe(other, 3, "of/3");
    let declared = victim.table.keys_of_router(&id(3), Kind::Subscriber);
    assert!(declared.is_empty(), "{declared:?}");
    victim.subscribe(near, 3, "of/3");
    let declared = victim.table.keys_of_router(&id(3), Kind::Subscriber);
    assert_eq!(declared, ["of/3"]);
}

/// A neighbour that sends in the name of a router to which it does not lead has its messages
/// dropped; the cached routes of all other messages stay valid.
#[test]
fn what_goes_nowhere_costs_no_route() {
    let (mut victim, [near, other], quiet) = Victim::between();
    victim.subscribe(other, 2, "of/2");
    let quiet = victim.rest(quiet);
    let (honest, route) = victim.keep_route(near, 3);
    assert_eq!(route.hops.len(), 1);
    let (forged, route) = victim.keep_route(other, 3);
    assert_eq!(route.hops.len(), 0);
    victim.look(quiet + Duration::from_secs(1));
    assert!(honest.holds() && forged.holds());
    // Router 3 may have moved: its messages may arrive from this neighbour from now on.
    victim.hear(other, &[said(3, 2, &[1, 2])]);
    assert!(!forged.holds());
}

/// A neighbour claims a link of a router to which it does not lead, and declares for that router
/// before it refutes the claim. The declaration is removed with the claim.
#[test]
fn what_was_declared_behind_a_claim_goes_with_the_claim() {
    let (mut victim, [near, other], quiet) = Victim::between();
    victim.subscribe(near, 3, "of/3");
    let of_3 = |victim: &Victim| victim.table.keys_of_router(&id(3), Kind::Subscriber);
    victim.hear(other, &[said(3, 2, &[2])]);
    victim.subscribe(other, 3, "forged");
    assert_eq!(of_3(&victim), ["forged", "of/3"], "it may be true");
    victim.hear(near, &[said(3, 3, &[1])]);
    victim.rest(quiet);
    assert_eq!(of_3(&victim), ["of/3"]);
    // A claim that no router refutes is believed, with the declarations behind it.
    victim.hear(other, &[said(2, 2, &[9999, 3]), said(3, 4, &[2])]);
    victim.subscribe(other, 3, "moved");
    victim.hear(near, &[said(1, 2, &[9999])]);
    victim.rest(quiet + Duration::from_secs(10));
    assert_eq!(of_3(&victim), ["moved"]);
}

/// A router changes every millisecond: this one reports it to the other neighbour every 50 ms.
#[test]
fn changes_of_a_router_are_told_together() {
    let (mut victim, [near, other], quiet) = Victim::between();
    victim.actions.clear();
    // One change per millisecond for a second.
    for step in 0..1000 {
        let links: &[u64] = if step % 2 == 0 { &[] } else { &[1] };
        victim.hear(near, &[said(3, 2 + step, links)]);
        victim.look(quiet + Duration::from_millis(step));
    }
    let told = victim.actions.iter();
    let told = told.filter(|action| matches!(action, Action::Send { face, .. } if *face == other));
    assert!((10..60).contains(&told.count()), "one each 50 ms");
}

/// Returns true if the action declares a subscriber to a neighbour.
fn is_subscriber(action: &Action, to: FaceId) -> bool {
    let Action::Send { face, bytes } = action else {
        return false;
    };
    let message = NetworkMessage::decode(&mut Reader::new(bytes)).expect("a message");
    let NetworkMessage::Declare(declare) = message else {
        return false;
    };
    *face == to && matches!(declare.body, Declaration::Subscriber { .. })
}

/// A neighbour invents routers, each with as many declarations as a router may have.
#[test]
fn what_routers_declare_counts_as_the_link_s_and_goes_with_it() {
    let limits = Limits {
        subscribers_max: 100,
        ..Limits::default()
    };
    let mut victim = Victim::new(limits);
    let before = victim.table.memory();
    let link = victim.link(0);
    let all: Vec<u64> = (1..10).chain([9999]).collect();
    let mut said = vec![Said {
        number: 0,
        sn: 1,
        links: all,
    }];
    said.extend((1..10).map(|number| Said {
        number,
        sn: 1,
        links: vec![0],
    }));
    victim.hear(link, &said);
    for router in 0..10 {
        for key in 0..50 {
            victim.subscribe(link, router, &format!("of/{router}/{key}"));
        }
    }
    let counters = victim.table.counters(link).expect("it is up");
    assert_eq!(counters.over_limit, 400);
    assert_eq!(victim.table.most().subscribers, 100);
    assert!(victim.table.memory_of(link) > 100 * 64);
    // An undeclared subscriber makes room.
    let end = Declare {
        node_id: 1,
        ..Declare::new(Declaration::UndeclareSubscriber {
            id: 0,
            key: Some(WireExpr::full("of/1/7")),
        })
    };
    victim.table.handle_declare(link, &end, &mut victim.actions);
    victim.subscribe(link, 5, "of/5");
    let kept = victim.table.keys_of_router(&id(5), Kind::Subscriber);
    assert_eq!(kept, ["of/5"]);
    victim.table.remove_face(link, &mut victim.actions);
    victim.sweep();
    assert_eq!(victim.table.memory_of(link), 0);
    assert!(victim.table.memory() <= before + 4096);
}

/// Returns the link states of 1000 invented routers, each with as many links as allowed.
fn invented(neighbour: usize) -> Vec<Said> {
    let links = |number: usize| {
        let others = (1..70).map(|step| ((number + step) % 1000) as u64);
        others.collect::<Vec<u64>>()
    };
    let mut said: Vec<Said> = (0..1000)
        .map(|number| Said {
            number,
            sn: 1,
            links: links(number),
        })
        .collect();
    let own = said.iter_mut().find(|said| said.number == neighbour);
    own.expect("it is one of them").links.push(9999);
    said
}

/// Returns the link states of four routers in a line, the first of which is the neighbour.
fn line(sn: u64) -> Vec<Said> {
    let links: [&[u64]; 4] = [&[9999, 2001], &[2000, 2002], &[2001, 2003], &[2002]];
    let said = (2000..).zip(links);
    said.map(|(number, links)| Said {
        number,
        sn,
        links: links.to_vec(),
    })
    .collect()
}

#[test]
fn an_inventor_of_routers_who_leaves_takes_them_along() {
    let mut victim = Victim::new(Limits::default());
    for sn in 1..4 {
        let inventor = victim.link(0);
        victim.hear(inventor, &invented(0));
        assert_eq!(victim.table.routers().count(), 1000);
        victim.table.remove_face(inventor, &mut victim.actions);
        assert_eq!(victim.table.routers().count(), 0);
        let honest = victim.link(2000);
        victim.hear(honest, &line(sn));
        assert_eq!(victim.table.routers().count(), 4);
        victim.table.remove_face(honest, &mut victim.actions);
    }
}

/// A neighbour reports as many routers as the table may have. A router that connects then takes
/// part in the mesh, and stays when they are removed.
#[test]
fn an_inventor_of_routers_keeps_no_neighbour_out() {
    let mut victim = Victim::new(Limits::default());
    let inventor = victim.link(0);
    let mut said = invented(0);
    said.extend((1000..1100).map(|number| Said {
        number,
        sn: 1,
        links: vec![0],
    }));
    let own = said.first_mut().expect("it is the first");
    own.links.extend(1000..1100);
    victim.hear(inventor, &said);
    assert_eq!(victim.table.routers().count(), 1023);
    let honest = victim.link(2000);
    victim.hear(honest, &line(1));
    assert_eq!(victim.table.routers().count(), 1024);
    victim.table.remove_face(inventor, &mut victim.actions);
    victim.hear(honest, &line(2));
    assert_eq!(victim.table.routers().count(), 4);
}

/// The neighbour that reported the invented routers stays.
#[test]
fn routers_that_somebody_far_away_invented_make_room_once_they_are_lost() {
    let mut victim = Victim::new(Limits::default());
    let honest = victim.link(2000);
    victim.hear(honest, &line(1));
    let mut said = line(2);
    said[3].links.push(0);
    said.extend(invented(0));
    victim.hear(honest, &said);
    assert_eq!(victim.table.routers().count(), 1004);
    victim.hear(honest, &line(3));
    assert_eq!(victim.table.routers().count(), 4);
    let mut said = line(4);
    said[3].links.push(2004);
    said.push(Said {
        number: 2004,
        sn: 1,
        links: vec![2003, 2005],
    });
    said.push(Said {
        number: 2005,
        sn: 1,
        links: vec![2004],
    });
    victim.hear(honest, &said);
    assert_eq!(victim.table.routers().count(), 6);
}
