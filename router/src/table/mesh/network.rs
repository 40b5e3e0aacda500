// SPDX-License-Identifier: MIT OR Apache-2.0

//! The other routers as a router knows them: which there are, and which are linked to each other. Neighbours send each other news,
//! and each counts the changes of its own links, so that old news are recognised.
//!
//! Routers write each other's numbers instead of ids. A number is the place in the sender's own list, and is given to another
//! router once its owner is gone: what a neighbour's number stands for is looked up when a message comes.

mod claims;
mod hearing;
mod news;
mod relaying;

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Instant;

use zonda_codec::{Locator, WhatAmI, ZenohId};

use self::news::{Claim, Pace};
use crate::table::{
    face_id::{Action, FaceId},
    mesh::trees::{Edge, ITSELF, weight},
    scouting::{Host, LOCATORS_MAX},
};

/// Routers of one mesh, this one included. More are ignored and counted.
const ROUTERS_MAX: usize = 1024;

/// Links that all other routers list together, each of the two ends for itself. More are ignored and counted.
const LINKS_MAX: usize = 1 << 16;

/// States in one message. More are ignored and counted: a whole mesh is one state for each router.
const STATES_MAX: usize = 2 * ROUTERS_MAX;

/// Texts of locators that are looked at in one state, and how long one may be.
const TEXTS_MAX: usize = 4 * LOCATORS_MAX;
const TEXT_BYTES_MAX: usize = 512;

/// Counts of changes from here on are those of a router that begins with the time. Others begin with 1 whenever they start.
const CLOCKS_BEGIN: u64 = 1 << 32;

/// A router that is known, or only mentioned by others (then its count of changes is 0).
#[derive(Debug)]
struct Node {
    zid: ZenohId,
    whatami: Option<WhatAmI>,
    locators: Vec<Locator>,
    /// The number of changes of its links.
    sn: u64,
    /// The routers that it says it is linked to, with the weights it gives these links; 0 is none.
    links: BTreeMap<ZenohId, u16>,
}

/// A link to another router.
#[derive(Debug)]
struct Link {
    face: FaceId,
    zid: ZenohId,
    /// The routers behind the numbers that the neighbour uses.
    nodes: HashMap<u16, ZenohId>,
    /// The numbers of this node's own that the neighbour knows.
    told: HashSet<u16>,
    /// Up to which change of its links the neighbour has spoken of them itself.
    said: u64,
    /// The routers whose newest state it is to hear.
    due: BTreeSet<u16>,
    /// The time of the next message to it.
    pace: Pace,
}

/// A router that cannot be reached.
#[derive(Debug)]
struct Lost {
    node: Node,
    /// The number of routers that were lost before it.
    turn: u64,
}

/// The result of a neighbour's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Heard {
    /// A router is there, or has other links than before.
    pub(super) is_news: bool,
    /// A number of the neighbour stands for another router than before.
    pub(super) is_renumbered: bool,
}

/// The routers that this one knows.
#[derive(Debug)]
pub(super) struct Network {
    /// By number; this node is the first.
    nodes: Vec<Option<Node>>,
    numbers: HashMap<ZenohId, u16>,
    /// Routers that could be reached once. Who mentions one again does not say anew what was said of it before.
    lost: HashMap<ZenohId, Lost>,
    /// The number of routers that were lost so far.
    losses: u64,
    /// The oldest first.
    links: Vec<Link>,
    /// The weights that this node gives its links.
    weights: HashMap<ZenohId, u16>,
    /// The number of links that the other routers list, lost routers and claims included.
    listed: usize,
    /// News of a router that are not believed yet, by its number.
    claims: BTreeMap<u16, Claim>,
    /// The neighbours that this node has spoken for lately, and since when.
    vouched: BTreeSet<u16>,
    vouched_since: Option<Instant>,
    /// The time in ms, if it is known.
    clock: Option<u64>,
    /// A router came or went.
    is_peopled: bool,
    /// A link that both its ends list came, went, or leads over another connection.
    is_reshaped: bool,
    /// The states that were ignored because too many routers are known or a number is too large.
    over_limit: u64,
}

impl Network {
    /// Knows nobody but this node.
    pub(super) fn new(zid: ZenohId, whatami: WhatAmI) -> Network {
        let itself = Node {
            zid,
            whatami: Some(whatami),
            locators: Vec::new(),
            sn: 1,
            links: BTreeMap::new(),
        };
        Network {
            nodes: vec![Some(itself)],
            numbers: HashMap::from([(zid, ITSELF)]),
            lost: HashMap::new(),
            losses: 0,
            links: Vec::new(),
            weights: HashMap::new(),
            listed: 0,
            claims: BTreeMap::new(),
            vouched: BTreeSet::new(),
            vouched_since: None,
            clock: None,
            is_peopled: false,
            is_reshaped: false,
            over_limit: 0,
        }
    }

    /// The count of this node's changes begins here. It should be greater than any that the node used before with the same id:
    /// the time is.
    pub(super) fn begin_at(&mut self, sn: u64) {
        self.itself_mut().sn = sn.max(1);
    }

    /// The weights that this node gives its links from now on to links that come up.
    pub(super) fn set_weights(&mut self, weights: HashMap<ZenohId, u16>) {
        self.weights = weights;
    }

    /// Takes the places where this node listens now. Sends them if they are news.
    pub(super) fn set_own(
        &mut self,
        listening: &[Locator],
        host: &Host,
        actions: &mut Vec<Action>,
    ) {
        let locators = host.locators_for(Ipv4Addr::UNSPECIFIED.into(), listening);
        let itself = self.itself_mut();
        if itself.locators != locators {
            itself.locators = locators;
            itself.sn = itself.sn.saturating_add(1);
            self.tell_itself(None, actions);
        }
    }

    /// A link to another router is up. False if there are too many routers.
    pub(super) fn add_link(
        &mut self,
        face: FaceId,
        zid: ZenohId,
        actions: &mut Vec<Action>,
    ) -> bool {
        // It will say all of itself now.
        if let Some(before) = self.lost.remove(&zid) {
            self.listed -= before.node.links.len();
        }
        // Its place does not depend on the routers that other neighbours name.
        let Some(number) = self.meet_among(zid, 2 * ROUTERS_MAX) else {
            return false;
        };
        let own = self.own_zid();
        if let Some(node) = self.node_mut(number) {
            node.whatami = Some(WhatAmI::Router);
            let is_mutual = node.links.contains_key(&own);
            self.is_reshaped |= is_mutual;
        }
        let weight = self.weights.get(&zid).copied().unwrap_or(0);
        let itself = self.itself_mut();
        itself.sn = itself.sn.saturating_add(1);
        itself.links.insert(zid, weight);
        self.links.push(Link {
            face,
            zid,
            nodes: HashMap::new(),
            told: HashSet::new(),
            said: 0,
            due: BTreeSet::new(),
            pace: Pace::Over,
        });
        let all: Vec<u16> = self.all().collect();
        self.tell(self.links.len() - 1, &all, actions);
        self.tell_itself(Some(face), actions);
        true
    }

    /// A link is gone. True if that changes anything.
    pub(super) fn remove_link(&mut self, face: FaceId, actions: &mut Vec<Action>) -> bool {
        let Some(at) = self.links.iter().position(|link| link.face == face) else {
            return false;
        };
        let gone = self.links.remove(at);
        self.end_claims_by(face);
        self.is_reshaped = true;
        if self.link_to(&gone.zid).is_some() {
            return false;
        }
        let itself = self.itself_mut();
        itself.links.remove(&gone.zid);
        itself.sn = itself.sn.saturating_add(1);
        self.forget_unreachable();
        self.tell_itself(None, actions);
        true
    }

    /// The router that a number of a neighbour stands for.
    pub(super) fn node_of(&self, face: FaceId, number: u16) -> Option<ZenohId> {
        let link = self.links.iter().find(|link| link.face == face)?;
        match number {
            ITSELF => Some(link.zid),
            _ => link.nodes.get(&number).copied(),
        }
    }

    /// This node.
    pub(super) fn own_zid(&self) -> ZenohId {
        let itself = self.node(ITSELF);
        itself.expect("this node is never forgotten").zid
    }

    /// The number that this node gives a router.
    pub(super) fn number(&self, zid: &ZenohId) -> Option<u16> {
        self.numbers.get(zid).copied()
    }

    /// The router of a number.
    pub(super) fn zid(&self, number: u16) -> Option<ZenohId> {
        Some(self.node(number)?.zid)
    }

    /// The other routers.
    pub(super) fn others(&self) -> impl Iterator<Item = ZenohId> {
        let others = self.nodes.iter().skip(1).flatten();
        others.map(|node| node.zid)
    }

    /// The neighbour at the other end of a link.
    pub(super) fn neighbour_at(&self, face: FaceId) -> Option<ZenohId> {
        let mut links = self.links.iter();
        links.find(|link| link.face == face).map(|link| link.zid)
    }

    /// The link to a neighbour: the newest, where an old one is about to end.
    pub(super) fn link_to(&self, zid: &ZenohId) -> Option<FaceId> {
        let mut newest = self.links.iter().rev();
        newest.find(|link| link.zid == *zid).map(|link| link.face)
    }

    /// All numbers are below this.
    pub(super) fn size(&self) -> usize {
        self.nodes.len()
    }

    /// Tells if a link that both its ends list has changed since this was asked.
    pub(super) fn take_reshaped(&mut self) -> bool {
        std::mem::take(&mut self.is_reshaped)
    }

    /// Tells if a router has come or gone since this was asked.
    pub(super) fn take_peopled(&mut self) -> bool {
        std::mem::take(&mut self.is_peopled)
    }

    /// Counts the states that were ignored because there is too much.
    #[cfg(test)]
    pub(super) fn over_limit(&self) -> u64 {
        self.over_limit
    }

    /// The links that both ends list, each once.
    pub(super) fn edges(&self) -> Vec<Edge> {
        let mut edges = Vec::new();
        for one in self.all() {
            let Some(node) = self.node(one) else { continue };
            for (zid, set) in &node.links {
                let other = self.number(zid).filter(|other| *other > one);
                let Some((other, back)) = other.and_then(|o| Some((o, self.node(o)?))) else {
                    continue;
                };
                if let Some(set_there) = back.links.get(&node.zid) {
                    edges.push(Edge {
                        ends: [one, other],
                        weight: weight((node.zid, *set), (back.zid, *set_there)),
                    });
                }
            }
        }
        edges
    }

    fn node(&self, number: u16) -> Option<&Node> {
        self.nodes.get(usize::from(number))?.as_ref()
    }

    fn node_mut(&mut self, number: u16) -> Option<&mut Node> {
        self.nodes.get_mut(usize::from(number))?.as_mut()
    }

    fn itself_mut(&mut self) -> &mut Node {
        let itself = self.node_mut(ITSELF);
        itself.expect("this node is never forgotten")
    }

    /// The numbers in use.
    fn all(&self) -> impl Iterator<Item = u16> + use<'_> {
        let used = self.nodes.iter().zip(0..);
        used.filter_map(|(node, number)| node.as_ref().map(|_| number))
    }

    /// The number of a router, which is new perhaps; `None` if there are too many.
    fn meet(&mut self, zid: ZenohId) -> Option<u16> {
        self.meet_among(zid, ROUTERS_MAX)
    }

    /// The number of a router, if there are fewer than so many or it is one of them.
    fn meet_among(&mut self, zid: ZenohId, most: usize) -> Option<u16> {
        if let Some(number) = self.number(&zid) {
            return Some(number);
        }
        // A full list is not looked through: a neighbour may name thousands of routers in one message.
        if self.numbers.len() >= most {
            self.over_limit += 1;
            return None;
        }
        let free = self.nodes.iter().position(Option::is_none);
        let at = free.unwrap_or(self.nodes.len());
        let number = u16::try_from(at).ok()?;
        if free.is_none() {
            self.nodes.push(None);
        }
        let blank = || Node {
            zid,
            whatami: None,
            locators: Vec::new(),
            sn: 0,
            links: BTreeMap::new(),
        };
        let before = self.lost.remove(&zid).map(|lost| lost.node);
        self.nodes[at] = Some(before.unwrap_or_else(blank));
        self.is_peopled = true;
        self.numbers.insert(zid, number);
        Some(number)
    }

    /// Tells if a link comes, goes or has another weight that its other end lists as well, if a router lists these from now on.
    fn moves(&self, number: u16, links: &BTreeMap<ZenohId, u16>) -> bool {
        let Some(node) = self.node(number) else {
            return false;
        };
        let either = node.links.keys().chain(links.keys());
        let mut moved = either.filter(|zid| node.links.get(zid) != links.get(zid));
        moved.any(|zid| {
            let other = self.number(zid).and_then(|number| self.node(number));
            other.is_some_and(|other| other.links.contains_key(&node.zid))
        })
    }

    /// Forgets the routers to which no way leads, be it one that only one end knows of.
    fn forget_unreachable(&mut self) {
        let mut is_reached = vec![false; self.nodes.len()];
        let mut next = vec![ITSELF];
        while let Some(number) = next.pop() {
            if std::mem::replace(&mut is_reached[usize::from(number)], true) {
                continue;
            }
            let links = self.node(number).into_iter().flat_map(|n| n.links.keys());
            let claim = self.claims.get(&number);
            let claimed = claim.into_iter().flat_map(|claim| claim.said.links.keys());
            next.extend(links.chain(claimed).filter_map(|zid| self.number(zid)));
        }
        for (number, is_reached) in (0..).zip(is_reached) {
            if is_reached {
                continue;
            }
            if let Some(gone) = self.nodes[usize::from(number)].take() {
                self.numbers.remove(&gone.zid);
                self.lose(gone);
                self.forget_claim(number);
                self.vouched.remove(&number);
                self.is_peopled = true;
                for link in &mut self.links {
                    link.told.remove(&number);
                    link.due.remove(&number);
                }
            }
        }
        self.forget_lost();
    }

    /// A router cannot be reached any more. What was said of it is kept, if anything was.
    fn lose(&mut self, node: Node) {
        if node.sn == 0 {
            self.listed -= node.links.len();
            return;
        }
        if self.lost.len() >= ROUTERS_MAX {
            self.forget_oldest();
        }
        let turn = self.losses;
        self.losses += 1;
        self.lost.insert(node.zid, Lost { node, turn });
    }

    /// Forgets the lost routers that no neighbour has introduced: who comes to know of one again introduces it anew. Somebody
    /// who invents routers and leaves takes them along.
    fn forget_lost(&mut self) {
        if self.lost.is_empty() {
            return;
        }
        let links = self.links.iter();
        let introduced: HashSet<ZenohId> = links.flat_map(|l| l.nodes.values().copied()).collect();
        let listed = &mut self.listed;
        self.lost.retain(|zid, lost| {
            let is_kept = introduced.contains(zid);
            if !is_kept {
                *listed -= lost.node.links.len();
            }
            is_kept
        });
    }

    /// Forgets the router that was lost first. False if none is.
    fn forget_oldest(&mut self) -> bool {
        let oldest = self.lost.values().min_by_key(|lost| lost.turn);
        let oldest = oldest.map(|lost| lost.node.zid);
        let Some(forgotten) = oldest.and_then(|zid| self.lost.remove(&zid)) else {
            return false;
        };
        self.listed -= forgotten.node.links.len();
        true
    }
}

#[cfg(test)]
mod tests;
