// SPDX-License-Identifier: MIT OR Apache-2.0

//! Gossip dissemination: each node sends its neighbours its own locators and those of its other
//! neighbours, so that nodes with a common neighbour find each other. To a router, which forwards
//! between peers, it also sends the list of its links.
//!
//! Sans-IO like the table, and independent of it: gossip does not decide where data goes.

use core::net::{IpAddr, Ipv4Addr};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Instant;

use zonda_codec::{LinkState, LinkStateList, Locator, Roles, WhatAmI, ZenohId};

use crate::{
    Action, FaceId,
    link_states::{Entry, OutgoingLinkStates},
    scouting::{Found, Host, LOCATORS_MAX, is_loopback},
};

/// Number of this node in its own list.
const ITSELF: u64 = 0;

/// States in one message; a long list goes in several.
const STATES_MAX: usize = 256;

/// Messages per second by which states of neighbours are relayed at once. The rest is put off to
/// the next [`tick`](Gossip::tick), and sent together then: when many nodes start at the same time,
/// each is named to each other one by all the rest.
const RELAYS_PER_SECOND_MAX: usize = 64;

/// Options of gossip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GossipOptions {
    /// Roles of the nodes that it gossips to. Default: routers and peers. Never clients.
    pub target: Roles,
    /// True if it relays states of nodes that are not its neighbours. Default: false.
    pub multihop: bool,
    /// Number of known nodes, and of nodes that one neighbour may name. Default 10 000. More are
    /// ignored and counted.
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

/// Counts of gossip.
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
    /// States whose relay was put off because there were many.
    pub put_off: u64,
}

/// Link with gossip.
#[derive(Debug)]
struct Link {
    zid: ZenohId,
    whatami: WhatAmI,
    /// Address at its other end.
    remote: IpAddr,
    /// True if that address is one of this machine's own.
    is_here: bool,
    /// Nodes behind the numbers that the neighbour uses.
    nodes: HashMap<u64, ZenohId>,
    /// Numbers of this node that the neighbour knows.
    told: BTreeSet<u64>,
}

/// Node that is known.
#[derive(Debug)]
struct Node {
    zid: ZenohId,
    whatami: WhatAmI,
    sn: u64,
    locators: Vec<Locator>,
    /// True if it is on this machine, so that its loopback addresses are valid here.
    is_here: bool,
    /// Links on which its state was received.
    from: BTreeSet<FaceId>,
}

/// State of a node as a neighbour sent it.
struct Heard {
    zid: ZenohId,
    whatami: WhatAmI,
    sn: u64,
    /// Locators that are reachable from here, if the state has any.
    locators: Option<Vec<Locator>>,
}

/// Known nodes, and the states that were sent of them.
#[derive(Debug)]
pub struct Gossip {
    zid: ZenohId,
    role: WhatAmI,
    options: GossipOptions,
    /// Count of the changes of this node's own state.
    sn: u64,
    listening: Vec<Locator>,
    host: Host,
    /// Nodes by number; a number is free when its node is removed.
    nodes: BTreeMap<u64, Node>,
    numbers: HashMap<ZenohId, u64>,
    links: BTreeMap<FaceId, Link>,
    /// Nodes whose relay was put off.
    late: BTreeSet<u64>,
    /// Begin of the current second of relays, and the number of messages in it.
    relayed: Option<(Instant, usize)>,
    counts: GossipCounts,
}

impl Gossip {
    /// Returns gossip without any known node. `first_sn` should be greater than any count this node
    /// has used with the same id: the time in seconds is.
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

    /// Sets the locators that this node listens on, and its machine. Sends them if they have changed.
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

    /// Adds a link. `remote` is the address at its other end.
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
            // the node's own state replaces what other nodes sent of it
            node.sn = 0;
            node.is_here = is_here;
        }
        self.links.insert(face, link);
        self.sn += 1;
        self.tell_of_links(Some(face), actions);
        self.tell_everything(face, actions);
    }

    /// Removes a link.
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

    /// Handles the states of a neighbour. Appends the nodes that can be connected to.
    pub fn handle(
        &mut self,
        face: FaceId,
        states: &LinkStateList<'_>,
        now: Instant,
        found: &mut Vec<Found>,
        actions: &mut Vec<Action>,
    ) {
        // The state names a node by id, or by a number that was introduced before.
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
            // Store and relay the state, and report the node's locators.
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

    /// Sends the states that were put off. Called about once a second.
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

    /// Returns true if a state was put off to the next [`tick`](Gossip::tick).
    pub fn has_late_news(&self) -> bool {
        !self.late.is_empty()
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> GossipCounts {
        self.counts
    }

    /// Returns the number of known nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns true if no node is known.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns true if there is gossip with nodes of this role. Routers exchange the shape of their
    /// mesh instead.
    fn speaks_to(&self, whatami: WhatAmI) -> bool {
        let among_routers = self.role == WhatAmI::Router && whatami == WhatAmI::Router;
        whatami != WhatAmI::Client
            && self.role != WhatAmI::Client
            && !among_routers
            && self.options.target.contains(whatami)
    }

    /// Returns the number of a node, inserted if it is new.
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
        // the least free number, so that numbers stay small
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

    /// Returns the node that a neighbour's state is about.
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

    /// Returns the locators of a state that are reachable from here.
    fn usable(&self, face: FaceId, state: &LinkState<'_>) -> Option<Vec<Locator>> {
        let is_here = self.links.get(&face)?.is_here;
        let texts = state.locators?;
        let parsed = texts.iter().filter_map(|text| text.parse().ok());
        let usable = parsed.filter(|locator| is_here || !is_loopback(locator));
        Some(usable.take(LOCATORS_MAX).collect())
    }

    /// Stores a neighbour's state, and those of other nodes if multihop is on; relays a state that
    /// has changed.
    fn learn(&mut self, face: FaceId, heard: &Heard, now: Instant, actions: &mut Vec<Action>) {
        let Some(link) = self.links.get(&face) else {
            return;
        };
        // A node's own state outweighs those that other nodes send of it.
        let zid = heard.zid;
        let (is_neighbour, is_here) = (link.zid == zid, link.is_here);
        let speaks_for_itself = |link: &Link| link.zid == zid;
        if !is_neighbour && (!self.options.multihop || self.links.values().any(speaks_for_itself)) {
            return;
        }
        // Only a newer state counts, and only new locators are relayed.
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
        // Too many relays in a second are put off to the next tick.
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

    /// Sends the state of one node on all links but the one that it came by and the node's own.
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

    /// Sends the states of all nodes on a new link.
    fn tell_everything(&mut self, face: FaceId, actions: &mut Vec<Action>) {
        let all: Vec<u64> = self.nodes.keys().copied().collect();
        self.tell(face, &all, true, actions);
    }

    fn tell_itself(&mut self, face: FaceId, actions: &mut Vec<Action>) {
        let linked = self.not_told_of_links(face);
        self.tell(face, &linked, true, actions);
    }

    /// Sends this node's own state, with its links, to the neighbours that need the links.
    fn tell_of_links(&mut self, except: Option<FaceId>, actions: &mut Vec<Action>) {
        let interested = self.links.iter();
        let interested =
            interested.filter(|(face, link)| Some(**face) != except && self.lists_links(link));
        let interested: Vec<FaceId> = interested.map(|(face, _)| *face).collect();
        for face in interested {
            self.tell_itself(face, actions);
        }
    }

    /// Returns true if this node's links are sent on a link: routers need the links of peers, peers
    /// do not.
    fn lists_links(&self, link: &Link) -> bool {
        link.whatami == WhatAmI::Router || self.options.multihop
    }

    /// Returns true if a node is a gateway of this one: routers with a peer in common decide by
    /// that which of them forwards for it.
    fn is_gateway(&self, node: &Node) -> bool {
        self.role == WhatAmI::Peer
            && node.whatami == WhatAmI::Router
            && self.links.values().any(|link| link.zid == node.zid)
    }

    /// Returns the numbers of the neighbours.
    fn linked(&self) -> Vec<u64> {
        let numbers = self.links.values().filter_map(|l| self.numbers.get(&l.zid));
        let mut numbers: Vec<u64> = numbers.copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// Returns the neighbours that are not yet introduced on the link at `face`, if this node's
    /// links are sent there.
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
        // Loopback addresses are sent within this machine only.
        let mut telling = OutgoingLinkStates::default();
        for number in numbers {
            let Some(node) = self.nodes.get(number) else {
                continue;
            };
            let leads_there = |l: &&Locator| (node.is_here && link.is_here) || !is_loopback(l);
            telling.add(Entry {
                marks_trees: false,
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
        // The node's own state has its links where the neighbour needs them.
        if own {
            telling.add(Entry {
                marks_trees: false,
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
        // The neighbour knows these numbers now.
        self.counts.told += telling.send(face, STATES_MAX, actions);
        if let Some(link) = self.links.get_mut(&face) {
            link.told.extend(numbers);
        }
    }
}
