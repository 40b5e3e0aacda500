// SPDX-License-Identifier: MIT OR Apache-2.0

//! Other routers and the links between them. Neighbours send each other changes, and each router
//! counts the changes of its own links, so that outdated states are recognised.
//!
//! Routers name each other by numbers instead of ids. A number is the index in the sender's own
//! list, and is reused once its owner is gone: the meaning of a neighbour's number is looked up
//! when a message arrives.

mod claims;
mod hearing;
mod news;
mod relaying;

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Instant;

use zonda_codec::{Locator, WhatAmI, ZenohId};

use self::news::{Claim, Pace};
use crate::{
    face_id::{Action, FaceId},
    mesh::{
        graph::LinkWeights,
        trees::{Edge, ITSELF, base_weight, weight},
    },
    scouting::{Host, LOCATORS_MAX},
};

/// Number of routers of one mesh, this one included. More are ignored and counted.
const ROUTERS_MAX: usize = 1024;

/// Number of links in the lists of all other routers together, each link counted at both ends. More
/// are ignored and counted.
const LINKS_MAX: usize = 1 << 16;

/// Number of states in one message. More are ignored and counted: a whole mesh is one state for
/// each router.
const STATES_MAX: usize = 2 * ROUTERS_MAX;

/// Number of locators read from one state, and the longest text of one.
const TEXTS_MAX: usize = 4 * LOCATORS_MAX;
const TEXT_BYTES_MAX: usize = 512;

/// First count of changes of a router that begins with the time. Other routers begin with 1
/// whenever they start.
const CLOCKS_BEGIN: u64 = 1 << 32;

/// Router that is known, or only listed by another router (then its count of changes is 0).
#[derive(Debug)]
struct Node {
    zid: ZenohId,
    whatami: Option<WhatAmI>,
    locators: Vec<Locator>,
    /// Count of the changes of its links.
    sn: u64,
    /// True if it marks messages with its trees.
    marks_trees: bool,
    /// Routers in its list of links, with the weights it gives these links; 0 is none.
    links: BTreeMap<ZenohId, u16>,
}

/// Link to another router.
#[derive(Debug)]
struct Link {
    face: FaceId,
    zid: ZenohId,
    /// Routers behind the numbers that the neighbour uses.
    nodes: HashMap<u16, ZenohId>,
    /// Numbers of this node that the neighbour knows.
    told: HashSet<u16>,
    /// Count in the last state that the neighbour sent of itself.
    said: u64,
    /// Routers whose newest state is to be sent to it.
    due: BTreeSet<u16>,
    /// Time of the next message to it.
    pace: Pace,
}

/// Router that cannot be reached.
#[derive(Debug)]
struct Lost {
    node: Node,
    /// Number of routers that were lost before it.
    turn: u64,
}

/// Effect of a neighbour's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Heard {
    /// True if a router is new, or has other links than before.
    pub(super) is_news: bool,
    /// True if a number of the neighbour stands for another router than before.
    pub(super) is_renumbered: bool,
}

/// The routers that this one knows.
#[derive(Debug)]
pub(super) struct Network {
    /// Routers by number; this node is the first.
    nodes: Vec<Option<Node>>,
    numbers: HashMap<ZenohId, u16>,
    /// Routers that were reachable before. A neighbour that lists one again need not repeat its state.
    lost: HashMap<ZenohId, Lost>,
    /// Number of routers that were lost so far.
    losses: u64,
    /// Links to neighbours, the oldest first.
    links: Vec<Link>,
    /// Weights that this node gives its links.
    weights: HashMap<ZenohId, u16>,
    /// Number of links that the other routers list, lost routers and claims included.
    listed: usize,
    /// Claims about routers, by their numbers.
    claims: BTreeMap<u16, Claim>,
    /// Neighbours whose states this node has corrected lately, and the time of the first correction.
    vouched: BTreeSet<u16>,
    vouched_since: Option<Instant>,
    /// Time in ms, if it is known.
    clock: Option<u64>,
    /// True if a router was added or removed.
    is_peopled: bool,
    /// True if a link that both its ends list was added or removed, or leads over another connection.
    is_reshaped: bool,
    /// Number of states that were ignored because too many routers are known or a number is too large.
    over_limit: u64,
}

impl Network {
    /// Returns a network with this node only.
    pub(super) fn new(zid: ZenohId, whatami: WhatAmI) -> Network {
        let itself = Node {
            zid,
            whatami: Some(whatami),
            locators: Vec::new(),
            sn: 1,
            marks_trees: true,
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

    /// Sets the initial count of this node's changes. It should be greater than any that the node
    /// has used with the same id: the time is.
    pub(super) fn begin_at(&mut self, sn: u64) {
        self.itself_mut().sn = sn.max(1);
    }

    /// Sets the weights that this node gives to links that come up from now on.
    pub(super) fn set_weights(&mut self, weights: HashMap<ZenohId, u16>) {
        self.weights = weights;
    }

    /// Sets the locators that this node listens on. Sends them if they have changed.
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

    /// Adds a link to another router. False if there are too many routers.
    pub(super) fn add_link(
        &mut self,
        face: FaceId,
        zid: ZenohId,
        actions: &mut Vec<Action>,
    ) -> bool {
        // The router sends all of its state now.
        if let Some(before) = self.lost.remove(&zid) {
            self.listed -= before.node.links.len();
        }
        // Room for it does not depend on the routers that other neighbours list.
        let Some(number) = self.meet_among(zid, 2 * ROUTERS_MAX) else {
            return false;
        };
        let own = self.own_zid();
        if let Some(node) = self.node_mut(number) {
            node.whatami = Some(WhatAmI::Router);
            let is_mutual = node.links.contains_key(&own);
            self.is_reshaped |= is_mutual;
        }
        // The link belongs to this node's own state from now on.
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
        // The neighbour receives every state, the rest of the mesh this node's new one.
        let all: Vec<u16> = self.all().collect();
        self.tell(self.links.len() - 1, &all, actions);
        self.tell_itself(Some(face), actions);
        true
    }

    /// Removes a link. True if that changes anything.
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

    /// Returns the router that a number of a neighbour stands for.
    pub(super) fn node_of(&self, face: FaceId, number: u16) -> Option<ZenohId> {
        let link = self.links.iter().find(|link| link.face == face)?;
        match number {
            ITSELF => Some(link.zid),
            _ => link.nodes.get(&number).copied(),
        }
    }

    /// Returns the id of this node.
    pub(super) fn own_zid(&self) -> ZenohId {
        let itself = self.node(ITSELF);
        itself.expect("this node is never forgotten").zid
    }

    /// Returns the number that this node gives a router.
    pub(super) fn number(&self, zid: &ZenohId) -> Option<u16> {
        self.numbers.get(zid).copied()
    }

    /// Returns the router of a number.
    pub(super) fn zid(&self, number: u16) -> Option<ZenohId> {
        Some(self.node(number)?.zid)
    }

    /// Returns the other routers.
    pub(super) fn others(&self) -> impl Iterator<Item = ZenohId> {
        let others = self.nodes.iter().skip(1).flatten();
        others.map(|node| node.zid)
    }

    /// Returns the neighbour at the other end of a link.
    pub(super) fn neighbour_at(&self, face: FaceId) -> Option<ZenohId> {
        let mut links = self.links.iter();
        links.find(|link| link.face == face).map(|link| link.zid)
    }

    /// Returns the link to a neighbour: the newest, where an old one is about to end.
    pub(super) fn link_to(&self, zid: &ZenohId) -> Option<FaceId> {
        let mut newest = self.links.iter().rev();
        newest.find(|link| link.zid == *zid).map(|link| link.face)
    }

    /// Returns a bound: all numbers are below it.
    pub(super) fn size(&self) -> usize {
        self.nodes.len()
    }

    /// Returns true if a link that both its ends list has changed since the last call.
    pub(super) fn take_reshaped(&mut self) -> bool {
        std::mem::take(&mut self.is_reshaped)
    }

    /// Returns true if a router was added or removed since the last call.
    pub(super) fn take_peopled(&mut self) -> bool {
        std::mem::take(&mut self.is_peopled)
    }

    /// Returns the number of states that were ignored because of a limit.
    #[cfg(test)]
    pub(super) fn over_limit(&self) -> u64 {
        self.over_limit
    }

    /// Returns true if every router that has sent a state marks messages with its trees.
    pub(super) fn marks_trees(&self) -> bool {
        let mut known = self.nodes.iter().flatten().filter(|node| node.sn > 0);
        known.all(|node| node.marks_trees)
    }

    /// Returns the links that both ends list, each once.
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

    /// Returns the weights of the link to a neighbour; `None` if not both ends list it.
    pub(super) fn link_weights(&self, zid: &ZenohId) -> Option<LinkWeights> {
        let (own, other) = (self.node(ITSELF)?, self.node(self.number(zid)?)?);
        let (ours, theirs) = (*own.links.get(zid)?, *other.links.get(&own.zid)?);
        let set = |weight| (weight != 0).then_some(weight);
        Some(LinkWeights {
            own: set(ours),
            theirs: set(theirs),
            actual: base_weight(ours, theirs),
        })
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

    /// Returns the numbers in use.
    fn all(&self) -> impl Iterator<Item = u16> + use<'_> {
        let used = self.nodes.iter().zip(0..);
        used.filter_map(|(node, number)| node.as_ref().map(|_| number))
    }

    /// Returns the number of a router, inserted if it is new; `None` if there are too many.
    fn meet(&mut self, zid: ZenohId) -> Option<u16> {
        self.meet_among(zid, ROUTERS_MAX)
    }

    /// Returns the number of a router, inserted if there are fewer than `most`.
    fn meet_among(&mut self, zid: ZenohId, most: usize) -> Option<u16> {
        if let Some(number) = self.number(&zid) {
            return Some(number);
        }
        // A full list is not searched: a neighbour may list thousands of routers in one message.
        if self.numbers.len() >= most {
            self.over_limit += 1;
            return None;
        }
        // The router takes the first free number, and the state it had before it was lost.
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
            marks_trees: false,
            links: BTreeMap::new(),
        };
        let before = self.lost.remove(&zid).map(|lost| lost.node);
        self.nodes[at] = Some(before.unwrap_or_else(blank));
        self.is_peopled = true;
        self.numbers.insert(zid, number);
        Some(number)
    }

    /// Returns true if a list of links for a router adds, removes or reweighs a link that its other
    /// end lists as well.
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

    /// Removes the routers that no way leads to, not even a link that only one end lists.
    fn forget_unreachable(&mut self) {
        // Mark every router that a listed or claimed link leads to from this node.
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
        // Remove the rest, and their numbers from all links.
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

    /// Stores the state of a router that cannot be reached any more, if it has one.
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

    /// Removes the lost routers that no neighbour has introduced: a neighbour that learns of one
    /// again introduces it again. The routers that a neighbour invents end with its link.
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

    /// Removes the router that was lost first. False if there is none.
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
