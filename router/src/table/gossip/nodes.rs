// SPDX-License-Identifier: MIT OR Apache-2.0

//! Gossip dissemination: each node tells its neighbours where it can be reached itself and where its other neighbours
//! can, so that nodes with a common neighbour find each other. To a router, which passes data between peers on, it also
//! tells which nodes it is linked to.
//!
//! Sans-IO like the table, and beside it: nothing in here decides where data goes.

use core::net::{IpAddr, Ipv4Addr};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Instant;

use zonda_codec::{LinkState, LinkStateList, Locator, Roles, WhatAmI, ZenohId};

use crate::table::{
    Action, FaceId,
    link_states::{Entry, Telling},
    scouting::{Found, Host, LOCATORS_MAX, is_loopback},
};

/// The number of this node in its own list.
const ITSELF: u64 = 0;

/// States in one message; a long list goes in several.
const STATES_MAX: usize = 256;

/// Messages in a second by which news of neighbours are passed on at once. More of them are put off to the next
/// [`tick`](Gossip::tick), and sent together then: when many nodes start at the same time, each hears of each other from
/// all the rest.
const RELAYS_PER_SECOND_MAX: usize = 64;

/// How a node gossips.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GossipOptions {
    /// The kinds of nodes that it gossips to. Default: routers and peers. Never clients.
    pub target: Roles,
    /// Whether it passes on what it heard of nodes that are not its neighbours. Default: no.
    pub multihop: bool,
    /// Nodes that are known at most, and that one neighbour may speak of. Default 10 000. More are ignored and counted.
    pub nodes_max: usize,
}

impl Default for GossipOptions {
    fn default() -> Self {
        GossipOptions {
            target: WhatAmI::Router | WhatAmI::Peer,
            multihop: false,
            nodes_max: 10_000,
        }
    }
}

/// What happened to gossip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GossipCounts {
    /// Messages sent.
    pub told: u64,
    /// States of nodes received.
    pub heard: u64,
    /// States that were ignored because too many nodes are known.
    pub over_limit: u64,
    /// States of nodes that were not introduced.
    pub unknown: u64,
    /// News that were put off because there were many.
    pub put_off: u64,
}

/// A link that is gossiped on.
#[derive(Debug)]
struct Link {
    zid: ZenohId,
    whatami: WhatAmI,
    /// The address at its other end.
    remote: IpAddr,
    /// That address is one of this machine's own.
    is_here: bool,
    /// The nodes behind the numbers that the neighbour uses.
    nodes: HashMap<u64, ZenohId>,
    /// The numbers of this node's own that the neighbour knows.
    told: BTreeSet<u64>,
}

/// A node that is known.
#[derive(Debug)]
struct Node {
    zid: ZenohId,
    whatami: WhatAmI,
    sn: u64,
    locators: Vec<Locator>,
    /// It is on this machine, so that its loopback addresses mean something here.
    is_here: bool,
    /// The links it was heard of on.
    from: BTreeSet<FaceId>,
}

/// What a neighbour says of a node.
struct Heard {
    zid: ZenohId,
    whatami: WhatAmI,
    sn: u64,
    /// Those that can lead anywhere from here, if it says any.
    locators: Option<Vec<Locator>>,
}

/// What this node knows of others and has sent of that.
#[derive(Debug)]
pub struct Gossip {
    zid: ZenohId,
    role: WhatAmI,
    options: GossipOptions,
    /// How often this node's own state changed.
    sn: u64,
    listening: Vec<Locator>,
    host: Host,
    /// By number; a number is free when its node is forgotten.
    nodes: BTreeMap<u64, Node>,
    numbers: HashMap<ZenohId, u64>,
    links: BTreeMap<FaceId, Link>,
    /// Nodes whose news were put off.
    late: BTreeSet<u64>,
    /// Messages with news that were sent in the second that began then.
    relayed: Option<(Instant, usize)>,
    counts: GossipCounts,
}

impl Gossip {
    /// Knows nobody yet. `first_sn` should be greater than any number this node used before with the same id: the time in
    /// seconds is.
    pub fn new(zid: ZenohId, role: WhatAmI, first_sn: u64, options: GossipOptions) -> Self {
        Gossip {
            zid,
            role,
            options,
            sn: first_sn.max(1),
            listening: Vec::new(),
            host: Host::default(),
            nodes: BTreeMap::new(),
            numbers: HashMap::new(),
            links: BTreeMap::new(),
            late: BTreeSet::new(),
            relayed: None,
            counts: GossipCounts::default(),
        }
    }

    /// Where this node listens now, and on which machine. Sent if it is news.
    pub fn set_own(&mut self, listening: Vec<Locator>, host: Host, actions: &mut Vec<Action>) {
        if self.listening == listening && self.host == host {
            return;
        }
        (self.listening, self.host) = (listening, host);
        self.sn += 1;
        let faces: Vec<FaceId> = self.links.keys().copied().collect();
        for face in faces {
            self.tell_itself(face, actions);
        }
    }

    /// A link is up. `remote` is the address at its other end.
    pub fn add_link(
        &mut self,
        face: FaceId,
        zid: ZenohId,
        whatami: WhatAmI,
        remote: Option<IpAddr>,
        actions: &mut Vec<Action>,
    ) {
        if !self.speaks_to(whatami) {
            return;
        }
        let remote = remote.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let is_here = self.host.is_here(remote);
        let link = Link {
            zid,
            whatami,
            remote,
            is_here,
            nodes: HashMap::new(),
            told: BTreeSet::new(),
        };
        if let Some(number) = self.meet(zid, whatami, face)
            && let Some(node) = self.nodes.get_mut(&number)
        {
            // what it says itself from now on counts, whatever others said of it before
            node.sn = 0;
            node.is_here = is_here;
        }
        self.links.insert(face, link);
        self.sn += 1;
        self.tell_of_links(Some(face), actions);
        self.tell_everything(face, actions);
    }

    /// A link is gone.
    pub fn remove_link(&mut self, face: FaceId, actions: &mut Vec<Action>) {
        let Some(gone) = self.links.remove(&face) else {
            return;
        };
        let is_linked = self.links.values().any(|link| link.zid == gone.zid);
        let mut forgotten = Vec::new();
        for (&number, node) in &mut self.nodes {
            node.from.remove(&face);
            let was_neighbour = node.zid == gone.zid && !is_linked && !self.options.multihop;
            if node.from.is_empty() || was_neighbour {
                forgotten.push(number);
            }
        }
        for number in forgotten {
            self.forget(number);
        }
        self.sn += 1;
        self.tell_of_links(None, actions);
    }

    /// What a neighbour says. Appends the nodes that can be connected to.
    pub fn handle(
        &mut self,
        face: FaceId,
        states: &LinkStateList<'_>,
        now: Instant,
        found: &mut Vec<Found>,
        actions: &mut Vec<Action>,
    ) {
        for state in states.iter() {
            self.counts.heard += 1;
            let Some(zid) = self.identify(face, &state) else {
                continue;
            };
            if zid == self.zid {
                continue;
            }
            let teller = self.links.get(&face).map(|link| link.zid);
            let heard = Heard {
                zid,
                whatami: state.whatami.unwrap_or(WhatAmI::Router),
                sn: state.sn,
                locators: self.usable(face, &state),
            };
            self.learn(face, &heard, now, actions);
            if let Some(locators) = heard.locators
                && !locators.is_empty()
            {
                found.push(Found {
                    zid,
                    whatami: heard.whatami,
                    locators,
                    teller,
                });
            }
        }
    }

    /// Tells what was put off. To be called about once a second.
    pub fn tick(&mut self, actions: &mut Vec<Action>) {
        let late = std::mem::take(&mut self.late);
        let faces: Vec<(FaceId, ZenohId)> = self.links.iter().map(|(f, l)| (*f, l.zid)).collect();
        for (face, zid) in faces {
            let itself = self.numbers.get(&zid);
            let others = late.iter().filter(|number| Some(*number) != itself);
            let others: Vec<u64> = others.copied().collect();
            self.tell(face, &others, false, actions);
        }
    }

    /// Whether something was put off to the next [`tick`](Gossip::tick).
    pub fn has_late_news(&self) -> bool {
        !self.late.is_empty()
    }

    /// What happened so far.
    pub fn counts(&self) -> GossipCounts {
        self.counts
    }

    /// How many nodes are known.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether no node is known.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Routers do not gossip among themselves: what they tell each other is the shape of their network.
    fn speaks_to(&self, whatami: WhatAmI) -> bool {
        let among_routers = self.role == WhatAmI::Router && whatami == WhatAmI::Router;
        whatami != WhatAmI::Client
            && self.role != WhatAmI::Client
            && !among_routers
            && self.options.target.contains(whatami)
    }

    /// The number of a node, which is new to this link perhaps.
    fn meet(&mut self, zid: ZenohId, whatami: WhatAmI, face: FaceId) -> Option<u64> {
        if let Some(&number) = self.numbers.get(&zid) {
            let node = self.nodes.get_mut(&number)?;
            node.from.insert(face);
            node.whatami = whatami;
            return Some(number);
        }
        if self.nodes.len() >= self.options.nodes_max {
            self.counts.over_limit += 1;
            return None;
        }
        // the least that is free, so that numbers stay small
        let free = self.nodes.keys().zip(ITSELF + 1..).find(|(n, i)| **n != *i);
        let number = free.map_or(self.nodes.len() as u64 + 1, |(_, i)| i);
        let node = Node {
            zid,
            whatami,
            sn: 0,
            locators: Vec::new(),
            is_here: false,
            from: BTreeSet::from([face]),
        };
        self.nodes.insert(number, node);
        self.numbers.insert(zid, number);
        Some(number)
    }

    fn forget(&mut self, number: u64) {
        if let Some(node) = self.nodes.remove(&number) {
            self.numbers.remove(&node.zid);
        }
        self.late.remove(&number);
        for link in self.links.values_mut() {
            link.told.remove(&number);
        }
    }

    /// The node that a neighbour means.
    fn identify(&mut self, face: FaceId, state: &LinkState<'_>) -> Option<ZenohId> {
        let link = self.links.get_mut(&face)?;
        match state.zid {
            Some(zid) => {
                let is_full = link.nodes.len() >= self.options.nodes_max;
                if is_full && zid != link.zid && !link.nodes.contains_key(&state.psid) {
                    self.counts.over_limit += 1;
                    return None;
                }
                link.nodes.insert(state.psid, zid);
                Some(zid)
            }
            None => {
                let known = link.nodes.get(&state.psid).copied();
                self.counts.unknown += u64::from(known.is_none());
                known
            }
        }
    }

    /// The locators of a state that can lead anywhere from here.
    fn usable(&self, face: FaceId, state: &LinkState<'_>) -> Option<Vec<Locator>> {
        let is_here = self.links.get(&face)?.is_here;
        let texts = state.locators?;
        let parsed = texts.iter().filter_map(|text| text.parse().ok());
        let usable = parsed.filter(|locator| is_here || !is_loopback(locator));
        Some(usable.take(LOCATORS_MAX).collect())
    }

    /// Remembers a neighbour's state, and of others if they are passed on; tells the rest if it is news.
    fn learn(&mut self, face: FaceId, heard: &Heard, now: Instant, actions: &mut Vec<Action>) {
        let Some(link) = self.links.get(&face) else {
            return;
        };
        let zid = heard.zid;
        let (is_neighbour, is_here) = (link.zid == zid, link.is_here);
        let speaks_for_itself = |link: &Link| link.zid == zid;
        if !is_neighbour && (!self.options.multihop || self.links.values().any(speaks_for_itself)) {
            return;
        }
        let Some(number) = self.meet(zid, heard.whatami, face) else {
            return;
        };
        let Some(node) = self.nodes.get_mut(&number) else {
            return;
        };
        if heard.sn <= node.sn {
            return;
        }
        node.sn = heard.sn;
        node.is_here = is_here;
        let Some(locators) = &heard.locators else {
            return;
        };
        if node.locators == *locators {
            return;
        }
        node.locators.clone_from(locators);
        match self.may_relay(now) {
            true => self.relay(number, face, actions),
            false => {
                self.late.insert(number);
                self.counts.put_off += 1;
            }
        }
    }

    fn may_relay(&mut self, now: Instant) -> bool {
        let fresh = (now, 0);
        let (since, count) = self.relayed.unwrap_or(fresh);
        let is_over = now.saturating_duration_since(since).as_secs() >= 1;
        let (since, count) = if is_over { fresh } else { (since, count) };
        let count = count.saturating_add(self.links.len().saturating_sub(1));
        self.relayed = Some((since, count));
        count <= RELAYS_PER_SECOND_MAX
    }

    /// Tells of one node on all links but the one that the news came by and the node's own.
    fn relay(&mut self, number: u64, from: FaceId, actions: &mut Vec<Action>) {
        let Some(node) = self.nodes.get(&number) else {
            return;
        };
        let zid = node.zid;
        let others = self.links.iter();
        let others = others.filter(|(face, link)| **face != from && link.zid != zid);
        let others: Vec<FaceId> = others.map(|(face, _)| *face).collect();
        for face in others {
            self.tell(face, &[number], false, actions);
        }
    }

    /// Everything there is to tell on a new link.
    fn tell_everything(&mut self, face: FaceId, actions: &mut Vec<Action>) {
        let all: Vec<u64> = self.nodes.keys().copied().collect();
        self.tell(face, &all, true, actions);
    }

    fn tell_itself(&mut self, face: FaceId, actions: &mut Vec<Action>) {
        let linked = self.not_told_of_links(face);
        self.tell(face, &linked, true, actions);
    }

    /// Tells the neighbours that ask for it which nodes this node is linked to.
    fn tell_of_links(&mut self, except: Option<FaceId>, actions: &mut Vec<Action>) {
        let interested = self.links.iter();
        let interested =
            interested.filter(|(face, link)| Some(**face) != except && self.lists_links(link));
        let interested: Vec<FaceId> = interested.map(|(face, _)| *face).collect();
        for face in interested {
            self.tell_itself(face, actions);
        }
    }

    /// A router must know which peers reach each other without it; peers do not care.
    fn lists_links(&self, link: &Link) -> bool {
        link.whatami == WhatAmI::Router || self.options.multihop
    }

    /// Whether a node is a gateway of this one: routers that have a peer in common agree by that which of them passes on what it sends.
    fn is_gateway(&self, node: &Node) -> bool {
        self.role == WhatAmI::Peer
            && node.whatami == WhatAmI::Router
            && self.links.values().any(|link| link.zid == node.zid)
    }

    /// The numbers of the neighbours.
    fn linked(&self) -> Vec<u64> {
        let numbers = self.links.values().filter_map(|l| self.numbers.get(&l.zid));
        let mut numbers: Vec<u64> = numbers.copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// Those of them that the neighbour at `face` has to be introduced to, if it hears of links at all.
    fn not_told_of_links(&self, face: FaceId) -> Vec<u64> {
        match self.links.get(&face) {
            Some(link) if self.lists_links(link) => {
                let mut linked = self.linked();
                linked.retain(|number| !link.told.contains(number));
                linked
            }
            _ => Vec::new(),
        }
    }

    /// Sends the states of these nodes, and of this node itself if `own`.
    fn tell(&mut self, face: FaceId, numbers: &[u64], own: bool, actions: &mut Vec<Action>) {
        let Some(link) = self.links.get(&face) else {
            return;
        };
        let lists_links = self.lists_links(link);
        let mut telling = Telling::default();
        for number in numbers {
            let Some(node) = self.nodes.get(number) else {
                continue;
            };
            let leads_there = |l: &&Locator| (node.is_here && link.is_here) || !is_loopback(l);
            telling.add(Entry {
                psid: *number,
                sn: node.sn,
                zid: Some(node.zid),
                whatami: Some(node.whatami),
                locators: node.locators.iter().filter(leads_there).cloned().collect(),
                links: Vec::new(),
                is_gateway: self.is_gateway(node),
                weights: Vec::new(),
            });
        }
        if own {
            telling.add(Entry {
                psid: ITSELF,
                sn: self.sn,
                zid: Some(self.zid),
                whatami: Some(self.role),
                locators: self.host.locators_for(link.remote, &self.listening),
                links: match lists_links {
                    true => self.linked(),
                    false => Vec::new(),
                },
                is_gateway: false,
                weights: Vec::new(),
            });
        }
        self.counts.told += telling.send(face, STATES_MAX, actions);
        if let Some(link) = self.links.get_mut(&face) {
            link.told.extend(numbers);
        }
    }
}
