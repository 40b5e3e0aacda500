// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tests of gossip without sockets: messages on the wire, and networks of many nodes on a virtual
//! clock in which links break and nodes restart.

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use proptest::prelude::{ProptestConfig, any, prop, prop_assert, prop_assert_eq, proptest};
use zonda_codec::{Encode, Roles};
use zonda_codec::{
    LinkState, LinkStateList, LinkStates, Locator, Locators, NetworkMessage, OamBody, Reader,
    WhatAmI, ZenohId,
};

use crate::{
    Action, FaceId,
    gossip::nodes::{Gossip, GossipOptions},
    scouting::{
        Address, Attempt, Autoconnect, CandidateLimits, Candidates, Found, Host, Interface, Link,
        LinkEnding,
    },
};

fn zid(number: u128) -> ZenohId {
    ZenohId::random_from(number)
}

fn face(index: u32) -> FaceId {
    FaceId {
        index,
        generation: 0,
    }
}

fn locator(text: &str) -> Locator {
    text.parse().expect("a locator")
}

/// Returns a machine with one address in addition to loopback.
fn host(own: &str) -> Host {
    let address = |ip: &str| Address {
        ip: ip.parse().expect("an address"),
        mask: None,
    };
    Host(vec![Interface {
        name: "eth0".to_owned(),
        index: 1,
        is_loopback: false,
        addresses: vec![address(own), address("127.0.0.1")],
    }])
}

/// Returns the states in one action, node by node: `psid:sn:zid:role[locators]>links`; a gateway of
/// the sender is a `gateway-router`.
fn lines(action: &Action) -> (FaceId, Vec<String>) {
    let Action::Send { face, bytes } = action else {
        panic!("{action:?} is no gossip");
    };
    let message = NetworkMessage::decode(&mut Reader::new(bytes)).expect("a message");
    let NetworkMessage::Oam(oam) = message else {
        panic!("{message:?} is no gossip");
    };
    let OamBody::Buf(body) = oam.body else {
        panic!("{:?} has no states", oam.body);
    };
    let states = LinkStateList::decode(&mut Reader::new(body)).expect("states");
    let line = |state: LinkState<'_>| {
        let zid = state.zid.expect("it is always told");
        let role = state.whatami.expect("it is always told");
        let locators: Vec<&str> = state.locators.iter().flat_map(Locators::iter).collect();
        let links: Vec<u64> = state.links.iter().collect();
        let (psid, sn) = (state.psid, state.sn);
        let mark = if state.is_gateway { "gateway-" } else { "" };
        format!("{psid}:{sn}:{zid}:{mark}{role}{locators:?}>{links:?}")
    };
    (*face, states.iter().map(line).collect())
}

fn said(actions: &mut Vec<Action>) -> Vec<(FaceId, Vec<String>)> {
    let said = actions.iter().map(lines).collect();
    actions.clear();
    said
}

/// A node whose messages a test checks.
struct Speaker {
    gossip: Gossip,
    actions: Vec<Action>,
    found: Vec<Found>,
    now: Instant,
}

impl Speaker {
    fn new(role: WhatAmI, options: GossipOptions) -> Self {
        let mut speaker = Speaker {
            gossip: Gossip::new(zid(0xa1), role, 9, options),
            actions: Vec::new(),
            found: Vec::new(),
            now: Instant::now(),
        };
        let listening = vec![locator("tcp/10.0.0.1:7447"), locator("tcp/127.0.0.1:7447")];
        let actions = &mut speaker.actions;
        speaker.gossip.set_own(listening, host("10.0.0.1"), actions);
        speaker
    }

    fn link(&mut self, index: u32, number: u128, role: WhatAmI, remote: &str) {
        let remote: IpAddr = remote.parse().expect("an address");
        let (zid, actions) = (zid(number), &mut self.actions);
        self.gossip
            .add_link(face(index), zid, role, Some(remote), actions);
    }

    fn hear(&mut self, index: u32, states: &[LinkState<'_>]) {
        let bytes = LinkStates(states).to_vec().expect("room");
        let list = LinkStateList::decode(&mut Reader::new(&bytes)).expect("states");
        let (found, actions) = (&mut self.found, &mut self.actions);
        self.gossip
            .handle(face(index), &list, self.now, found, actions);
    }

    fn said(&mut self) -> Vec<(FaceId, Vec<String>)> {
        said(&mut self.actions)
    }
}

fn state<'a>(psid: u64, sn: u64, number: u128, texts: &'a [&'a str]) -> LinkState<'a> {
    LinkState {
        psid,
        sn,
        zid: Some(zid(number)),
        whatami: Some(WhatAmI::Peer),
        locators: Some(Locators::new(texts)),
        ..LinkState::default()
    }
}

const OWN: &str = "\"tcp/10.0.0.1:7447\"";

#[test]
fn a_new_link_hears_of_all_and_routers_hear_of_links() {
    let mut node = Speaker::new(WhatAmI::Peer, GossipOptions::default());
    node.link(0, 0xb2, WhatAmI::Peer, "10.0.0.2");
    assert_eq!(
        node.said(),
        [(
            face(0),
            vec![
                "1:0:b2:peer[]>[]".to_owned(),
                format!("0:11:a1:peer[{OWN}]>[]")
            ]
        )]
    );
    node.hear(0, &[state(0, 7, 0xb2, &["tcp/10.0.0.2:1"])]);
    assert_eq!(node.said(), [], "nobody else is there");
    node.link(1, 0x77, WhatAmI::Router, "10.0.0.7");
    assert_eq!(
        node.said(),
        [(
            face(1),
            vec![
                "1:7:b2:peer[\"tcp/10.0.0.2:1\"]>[]".to_owned(),
                "2:0:77:gateway-router[]>[]".to_owned(),
                format!("0:12:a1:peer[{OWN}]>[1, 2]"),
            ]
        )]
    );
    // a third one: the router receives the link, the peer receives the node once it has sent its locators
    node.link(2, 0xc3, WhatAmI::Peer, "10.0.0.3");
    let router = &node.said()[0];
    assert_eq!(router.0, face(1));
    assert_eq!(
        router.1,
        [
            "3:0:c3:peer[]>[]".to_owned(),
            format!("0:13:a1:peer[{OWN}]>[1, 2, 3]")
        ]
    );
    node.hear(2, &[state(0, 4, 0xc3, &["tcp/10.0.0.3:1"])]);
    let news = vec!["3:4:c3:peer[\"tcp/10.0.0.3:1\"]>[]".to_owned()];
    assert_eq!(node.said(), [(face(0), news.clone()), (face(1), news)]);
    // the link breaks: its number is free for the next one
    node.gossip.remove_link(face(0), &mut node.actions);
    let line = format!("0:14:a1:peer[{OWN}]>[2, 3]");
    assert_eq!(node.said(), [(face(1), vec![line])]);
    node.link(3, 0xd4, WhatAmI::Peer, "10.0.0.4");
    let to_router = node.said().remove(0).1;
    assert_eq!(to_router[0], "1:0:d4:peer[]>[]");
}

#[test]
fn old_news_are_ignored_and_a_new_link_begins_anew() {
    let mut node = Speaker::new(WhatAmI::Router, GossipOptions::default());
    node.link(0, 0xb2, WhatAmI::Peer, "10.0.0.2");
    node.link(1, 0xc3, WhatAmI::Peer, "10.0.0.3");
    node.said();
    node.hear(0, &[state(0, 7, 0xb2, &["tcp/10.0.0.2:1"])]);
    assert_eq!(node.said().len(), 1);
    node.hear(0, &[state(0, 7, 0xb2, &["tcp/10.0.0.2:2"])]);
    node.hear(0, &[state(0, 6, 0xb2, &["tcp/10.0.0.2:3"])]);
    node.hear(0, &[state(0, 8, 0xb2, &["tcp/10.0.0.2:1"])]);
    assert_eq!(node.said(), [], "old, old, and the same again");
    // the node was restarted, and counts from the beginning
    node.link(2, 0xb2, WhatAmI::Peer, "10.0.0.2");
    node.gossip.remove_link(face(0), &mut node.actions);
    node.said();
    node.hear(2, &[state(0, 1, 0xb2, &["tcp/10.0.0.2:4"])]);
    assert_eq!(node.said().len(), 1);
    assert_eq!(node.gossip.len(), 2, "the old link took nobody along");
}

#[test]
fn loopback_stays_on_its_machine() {
    let mut node = Speaker::new(WhatAmI::Peer, GossipOptions::default());
    node.link(0, 0xb2, WhatAmI::Peer, "127.0.0.1");
    let here = format!("0:11:a1:peer[\"tcp/127.0.0.1:7447\", {OWN}]>[]");
    assert_eq!(node.said()[0].1[1], here);
    let texts = ["tcp/127.0.0.1:5", "tcp/10.0.0.1:5"];
    node.hear(0, &[state(0, 1, 0xb2, &texts)]);
    assert_eq!(node.found.pop().map(|f| f.locators.len()), Some(2));
    // from another machine a loopback address is invalid, and to another machine it is not sent
    node.link(1, 0xc3, WhatAmI::Peer, "10.0.0.3");
    assert_eq!(node.said()[0].1[0], "1:1:b2:peer[\"tcp/10.0.0.1:5\"]>[]");
    node.hear(
        1,
        &[state(0, 1, 0xc3, &["tcp/127.0.0.1:6", "tcp/10.0.0.3:6"])],
    );
    let found = node.found.pop().expect("it can be reached");
    assert_eq!(found.locators, [locator("tcp/10.0.0.3:6")]);
    node.link(2, 0xd4, WhatAmI::Peer, "10.0.0.1");
    let told = node.said().remove(1).1;
    assert!(told.contains(&"1:1:b2:peer[\"tcp/127.0.0.1:5\", \"tcp/10.0.0.1:5\"]>[]".to_owned()));
}

#[test]
fn clients_and_fellow_routers_are_left_out_and_so_is_who_is_not_meant() {
    let mut router = Speaker::new(WhatAmI::Router, GossipOptions::default());
    router.link(0, 0xb2, WhatAmI::Client, "10.0.0.2");
    router.link(1, 0xc3, WhatAmI::Router, "10.0.0.3");
    assert_eq!(router.said(), []);
    router.hear(1, &[state(0, 1, 0xc3, &["tcp/10.0.0.3:6"])]);
    assert_eq!(router.found, []);
    let options = GossipOptions {
        target: Roles::from(WhatAmI::Router),
        ..GossipOptions::default()
    };
    let mut peer = Speaker::new(WhatAmI::Peer, options);
    peer.link(0, 0xb2, WhatAmI::Peer, "10.0.0.2");
    assert_eq!(peer.said(), []);
    peer.link(1, 0x77, WhatAmI::Router, "10.0.0.7");
    assert_eq!(peer.said().len(), 1);
}

#[test]
fn what_a_neighbour_can_make_grow_is_bounded() {
    let options = GossipOptions {
        nodes_max: 10,
        multihop: true,
        ..GossipOptions::default()
    };
    let mut node = Speaker::new(WhatAmI::Peer, options);
    node.link(0, 0xb2, WhatAmI::Peer, "10.0.0.2");
    node.link(1, 0xc3, WhatAmI::Peer, "10.0.0.3");
    for number in 1..1000u64 {
        node.hear(
            0,
            &[state(
                number,
                1,
                0x1000 + u128::from(number),
                &["tcp/10.0.0.9:1"],
            )],
        );
    }
    assert_eq!(node.gossip.len(), 10);
    assert!(node.gossip.counts().over_limit >= 980);
    node.hear(
        0,
        &[LinkState {
            psid: 5000,
            sn: 3,
            ..LinkState::default()
        }],
    );
    assert_eq!(node.gossip.counts().unknown, 1);
    // a node that changes its state without end does not make this node send without end
    node.said();
    for sn in 2..2000u64 {
        let text = format!("tcp/10.0.0.2:{sn}");
        node.hear(0, &[state(0, sn, 0xb2, &[&text])]);
    }
    assert!(node.said().len() <= 64);
    assert!(node.gossip.has_late_news());
    node.gossip.tick(&mut node.actions);
    let last = node.said();
    assert_eq!(last.len(), 1);
    assert!(last[0].1[0].contains("tcp/10.0.0.2:1999"), "{last:?}");
}

/// A network of nodes that find each other, on a virtual clock.
struct World {
    now: Instant,
    nodes: Vec<Simulated>,
    /// Both ends of each link: the faces at the lesser and the greater node.
    links: BTreeMap<(usize, usize), (FaceId, FaceId)>,
    /// The other end of each end of a link.
    ends: BTreeMap<FaceId, (usize, FaceId)>,
    /// Messages under way: the receiver, and its link.
    wire: VecDeque<(usize, FaceId, Vec<u8>)>,
    faces: u32,
    messages: usize,
    starts: u64,
}

struct Simulated {
    zid: ZenohId,
    role: WhatAmI,
    gossip: Gossip,
    candidates: Candidates,
    port: u64,
}

const EAGER: Autoconnect = Autoconnect {
    roles: Roles::ALL,
    to_router: crate::scouting::Strategy::Always,
    to_peer: crate::scouting::Strategy::Always,
};

impl World {
    /// Returns a world in which all other nodes know node 0.
    fn new(first: WhatAmI, count: usize) -> World {
        let mut world = World {
            now: Instant::now(),
            nodes: Vec::new(),
            links: BTreeMap::new(),
            ends: BTreeMap::new(),
            wire: VecDeque::new(),
            faces: 0,
            messages: 0,
            starts: 0,
        };
        for at in 0..count {
            let role = if at == 0 { first } else { WhatAmI::Peer };
            let node = world.started(at, role);
            world.nodes.push(node);
        }
        world
    }

    /// Returns a node with an unused port.
    fn started(&mut self, at: usize, role: WhatAmI) -> Simulated {
        self.starts += 1;
        let zid = zid(at as u128 * 7919 + 1);
        let sn = self.starts * 1000;
        let mut gossip = Gossip::new(zid, role, sn, GossipOptions::default());
        let port = self.starts;
        let listening = vec![locator(&format!("tcp/{}:{port}", address(at)))];
        gossip.set_own(listening, host(&address(at)), &mut Vec::new());
        Simulated {
            zid,
            role,
            gossip,
            candidates: Candidates::new(zid, CandidateLimits::default()),
            port,
        }
    }

    fn restart(&mut self, at: usize) {
        let gone: Vec<(usize, usize)> = self.links.keys().copied().collect();
        for link in gone.into_iter().filter(|(a, b)| *a == at || *b == at) {
            self.cut(link);
        }
        let role = self.nodes[at].role;
        self.nodes[at] = self.started(at, role);
    }

    fn connect(&mut self, one: usize, other: usize) {
        let link = (one.min(other), one.max(other));
        if one == other || self.links.contains_key(&link) {
            return;
        }
        let faces = (face(self.faces), face(self.faces + 1));
        self.faces += 2;
        self.links.insert(link, faces);
        self.ends.insert(faces.0, (link.1, faces.1));
        self.ends.insert(faces.1, (link.0, faces.0));
        for (at, own, to) in [(link.0, faces.0, link.1), (link.1, faces.1, link.0)] {
            let remote = address(to).parse().ok();
            let (zid, role) = (self.nodes[to].zid, self.nodes[to].role);
            let mut actions = Vec::new();
            let gossip = &mut self.nodes[at].gossip;
            gossip.add_link(own, zid, role, remote, &mut actions);
            self.post(actions);
        }
    }

    fn cut(&mut self, link: (usize, usize)) {
        let Some(faces) = self.links.remove(&link) else {
            return;
        };
        self.wire
            .retain(|(_, face, _)| *face != faces.0 && *face != faces.1);
        for (at, own, to) in [(link.0, faces.0, link.1), (link.1, faces.1, link.0)] {
            let (zid, now) = (self.nodes[to].zid, self.now);
            let mut actions = Vec::new();
            self.nodes[at].gossip.remove_link(own, &mut actions);
            self.nodes[at]
                .candidates
                .lost(&zid, LinkEnding::Broken, now);
            self.post(actions);
        }
    }

    fn post(&mut self, actions: Vec<Action>) {
        for action in actions {
            if let Action::Send { face, bytes } = action
                && let Some(&(to, there)) = self.ends.get(&face)
            {
                self.messages += 1;
                self.wire.push_back((to, there, bytes));
            }
        }
    }

    fn deliver(&mut self) {
        while let Some((to, face, bytes)) = self.wire.pop_front() {
            let message = NetworkMessage::decode(&mut Reader::new(&bytes)).expect("a message");
            let NetworkMessage::Oam(oam) = message else {
                continue;
            };
            let OamBody::Buf(body) = oam.body else {
                continue;
            };
            let states = LinkStateList::decode(&mut Reader::new(body)).expect("states");
            let (mut found, mut actions) = (Vec::new(), Vec::new());
            let node = &mut self.nodes[to];
            node.gossip
                .handle(face, &states, self.now, &mut found, &mut actions);
            for found in found {
                if node.role == WhatAmI::Peer && EAGER.permits(node.zid, found.zid, found.whatami) {
                    node.candidates.hear(found, self.now);
                }
            }
            self.post(actions);
        }
    }

    /// Lets a second pass: nodes that know only the first node connect to it, attempts are made.
    fn second(&mut self) {
        self.now += Duration::from_secs(1);
        for at in 1..self.nodes.len() {
            self.connect(0, at);
        }
        self.deliver();
        for at in 0..self.nodes.len() {
            let mut actions = Vec::new();
            self.nodes[at].gossip.tick(&mut actions);
            self.post(actions);
            let linked: BTreeSet<ZenohId> = self.linked(at).collect();
            let link = |node: &ZenohId| match linked.contains(node) {
                true => Link::Up,
                false => Link::None,
            };
            let attempts = self.nodes[at].candidates.due(self.now, link);
            for Attempt { zid, locators } in attempts {
                let there = self.listens(zid, &locators);
                if let Some(to) = there {
                    self.connect(at, to);
                }
                let (link, now) = (there.map_or(Link::None, |_| Link::Up), self.now);
                self.nodes[at].candidates.ended(&zid, link, now);
            }
            self.deliver();
        }
    }

    /// Returns the node at one of these locators, if it has the expected id.
    fn listens(&self, zid: ZenohId, locators: &[Locator]) -> Option<usize> {
        let at = self.nodes.iter().position(|node| node.zid == zid)?;
        let own = locator(&format!("tcp/{}:{}", address(at), self.nodes[at].port));
        locators.contains(&own).then_some(at)
    }

    fn linked(&self, at: usize) -> impl Iterator<Item = ZenohId> {
        let others = self.links.keys().filter_map(move |(a, b)| match at {
            at if at == *a => Some(*b),
            at if at == *b => Some(*a),
            _ => None,
        });
        others.map(|other| self.nodes[other].zid)
    }

    fn is_mesh(&self) -> bool {
        let count = self.nodes.len();
        self.links.len() == count * (count - 1) / 2
    }
}

fn address(at: usize) -> String {
    format!("10.0.{}.{}", at / 200, at % 200 + 1)
}

#[derive(Debug, Clone, Copy)]
enum Mishap {
    Cut(usize, usize),
    Restart(usize),
    Quiet,
}

fn mishap(count: usize, dice: (u8, usize, usize)) -> Mishap {
    let (one, other) = (dice.1 % count, dice.2 % count);
    match dice.0 % 4 {
        0 => Mishap::Restart(one),
        1 => Mishap::Quiet,
        _ => Mishap::Cut(one.min(other), one.max(other)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// However links break and nodes restart: two minutes later all nodes are linked to each other,
    /// and the network is quiet.
    #[test]
    fn nodes_find_each_other_after_whatever_happened(
        is_router in any::<bool>(),
        count in 2usize..12,
        dice in prop::collection::vec(any::<(u8, usize, usize)>(), 0..40),
    ) {
        let first = if is_router { WhatAmI::Router } else { WhatAmI::Peer };
        let mut world = World::new(first, count);
        for dice in dice {
            match mishap(count, dice) {
                Mishap::Cut(one, other) => world.cut((one, other)),
                Mishap::Restart(at) => world.restart(at),
                Mishap::Quiet => {}
            }
            world.second();
        }
        for _ in 0..120 {
            world.second();
        }
        prop_assert!(world.is_mesh(), "{:?}", world.links.keys().collect::<Vec<_>>());
        for node in &world.nodes {
            prop_assert_eq!(node.gossip.len(), count - 1);
        }
        let before = world.messages;
        world.second();
        prop_assert_eq!(world.messages, before, "nobody has anything left to say");
    }
}

#[test]
fn fifty_nodes_that_start_together_say_little() {
    let mut world = World::new(WhatAmI::Router, 50);
    let mut seconds = 0;
    while !world.is_mesh() {
        world.second();
        seconds += 1;
        assert!(seconds < 30, "{} links", world.links.len());
    }
    // each link brings two introductions and two updates for the router; the rest comes in a few batches
    let links = world.links.len();
    assert!(
        seconds <= 12 && world.messages <= 16 * links,
        "{} messages for {links} links in {seconds} s",
        world.messages
    );
}
