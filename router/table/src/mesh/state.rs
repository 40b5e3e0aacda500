// SPDX-License-Identifier: MIT OR Apache-2.0

//! Routers of the mesh in the table: each has a face of its own, which is the source of its
//! declarations and messages.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use zonda_codec::{LinkStateList, NodeId, WhatAmI, ZenohId};

use crate::{
    deadline::Deadline,
    face_id::{Action, FaceId},
    few::Few,
    kind::EntityRef,
    mesh::{
        charges::{Charge, Charges, Item},
        endings::Endings,
        mark::{UNMARKED, links_of},
        network::{Heard, Network},
        shape::{PlaceInTree, Shape},
        throttle::Throttle,
        transition::Transition,
        trees::ITSELF,
        unsynced_routers::UnsyncedRouters,
    },
};

/// Time from the last change of the network until everything is declared again to the routers below
/// this node: they may have removed a router for a moment, or reached it by another way, when this
/// node did not.
const REPEATED_AFTER: Duration = Duration::from_millis(1500);

/// Longest delay of that in a network that does not become quiet, from its first change on.
const UNREST_MAX: Duration = Duration::from_secs(10);

/// Largest cost of computing trees that are not due yet, in steps.
const NEXT_COST_MAX: usize = 4096;

/// Time after that until declarations of a router are removed that the neighbour above this node
/// has not repeated. Other implementations take a tenth of a second to compute their trees, and
/// repeat nothing.
const BELIEVED_FOR: Duration = Duration::from_millis(1500);

/// Work that is left because the network has changed.
#[derive(Debug, Clone, Copy)]
enum Settling {
    Nothing,
    /// The deadline is set by the next call with a time.
    Begins,
    RepeatsAt(Instant),
    ForgetsAt(Instant),
}

/// Links by which an entity of a router was declared, and its share of the limits.
#[derive(Debug)]
struct DeclaredLinks {
    links: Few<FaceId>,
    item: Item,
}

/// Another router of the mesh.
#[derive(Debug)]
struct Router {
    face: FaceId,
    /// Its declarations.
    told: HashMap<EntityRef, DeclaredLinks>,
    /// Memory and counts of its declarations over each link.
    charges: Charges,
}

/// State of the mesh on this router.
#[derive(Debug)]
pub(crate) struct Mesh {
    pub(super) network: Network,
    throttle: Throttle,
    shape: Shape,
    /// The trees before the current ones.
    transition: Transition,
    /// The trees that are due next, if a route needed them.
    next: OnceLock<Shape>,
    /// True if a route forwards messages that do not come along the trees.
    is_lenient: bool,
    /// True if a route to nowhere was built for messages that do not come along the trees.
    is_strict: bool,
    /// True if a neighbour that is not above this node declared an entity of a router while its
    /// claims were in doubt.
    is_unproven: bool,
    /// Number of times that the trees were computed.
    reshaped: u64,
    routers: HashMap<ZenohId, Router>,
    settling: Settling,
    /// Time since which the network has changed without a repetition of all declarations.
    unrest: Option<Instant>,
    /// Links that have received the declarations of a router, by the router: those to its children
    /// in its tree. A link that is opened again is a new one, and receives them again.
    heard: HashMap<ZenohId, BTreeSet<FaceId>>,
    /// Declarations that are still to be sent to the children.
    pub(super) unheard: UnsyncedRouters,
    pub(super) endings: Endings,
    /// Memory and counts of the declarations of all routers over each link.
    charges: Charges,
    /// Face of all other routers together, if this node is a router.
    pub(crate) whole: Option<FaceId>,
}

/// Arrival of a message of another router at this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// The link that it came by.
    pub(crate) link: FaceId,
    /// Mark of the trees that it goes along, or 0.
    pub(crate) trees: u16,
}

impl Arrival {
    pub(crate) const fn new(link: FaceId, context: NodeId) -> Self {
        Arrival {
            link,
            trees: context.trees(),
        }
    }
}

/// Reach of a message of another router that came from a neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForwardingReach {
    /// To the own side, and on to other routers.
    All,
    /// To the own side only: it did not come from above in the tree of its router, but the trees
    /// may be about to change.
    OwnSide,
    /// Nowhere.
    Nothing,
}

/// Routers that were added or removed.
#[derive(Debug, Default)]
pub(super) struct RouterChanges {
    /// Faces of routers that cannot be reached any more.
    pub(super) gone: Vec<FaceId>,
    /// Routers that have no face yet.
    pub(super) new: Vec<ZenohId>,
}

impl Mesh {
    pub(crate) fn new(zid: ZenohId, role: WhatAmI) -> Self {
        Mesh {
            network: Network::new(zid, role),
            throttle: Throttle::new(),
            shape: Shape::default(),
            transition: Transition::default(),
            next: OnceLock::new(),
            is_lenient: false,
            is_strict: false,
            is_unproven: false,
            reshaped: 0,
            routers: HashMap::new(),
            settling: Settling::Nothing,
            unrest: None,
            heard: HashMap::new(),
            unheard: UnsyncedRouters::default(),
            endings: Endings::default(),
            charges: Charges::default(),
            whole: None,
        }
    }

    /// Returns the routers that were added or removed since the last call.
    pub(super) fn follow(&mut self) -> RouterChanges {
        if !self.network.take_peopled() {
            return RouterChanges::default();
        }
        let (network, charges) = (&self.network, &mut self.charges);
        let mut followed = RouterChanges::default();
        self.routers.retain(|zid, router| {
            let is_there = network.number(zid).is_some();
            if !is_there {
                followed.gone.push(router.face);
                self.heard.remove(zid);
                charges.take_all(&router.charges);
            }
            is_there
        });
        followed.gone.sort_unstable();
        let others = network.others();
        let new = others.filter(|zid| !self.routers.contains_key(zid));
        followed.new = new.collect();
        followed
    }

    /// Returns true if trees are to be computed now, as the network has changed. If it is too soon
    /// for that, [`look`](Self::look) returns true later.
    pub(super) fn is_to_reshape(&mut self) -> bool {
        if !self.network.take_reshaped() {
            return false;
        }
        if let Some(skipped) = self.next.take() {
            self.transition.note_skipped(skipped);
        }
        // Pending work is replaced by that of the trees of this network.
        self.settling = Settling::Nothing;
        let is_due = self.throttle.note_change();
        // Other routers may use the trees of this moment, which this node skips.
        if !is_due && self.transition.has_room() {
            self.next();
        }
        is_due
    }

    /// Makes the trees follow the next change, the loss of a link of this node, at once.
    pub(super) fn note_loss(&mut self) {
        self.throttle.note_loss();
    }

    /// Returns true if trees are to be computed at this time.
    pub(super) fn look(&mut self, now: Instant) -> bool {
        self.throttle.look(now)
    }

    /// Handles the link states of a neighbour.
    pub(super) fn hear(
        &mut self,
        link: FaceId,
        states: &LinkStateList<'_>,
        actions: &mut Vec<Action>,
    ) -> Heard {
        let shape = &self.shape;
        let leads = |zid: &ZenohId| shape.next_hop(zid);
        self.network.hear(link, states, leads, actions)
    }

    /// Accepts the claims that the new trees confirm.
    pub(super) fn regard_claims(&mut self, actions: &mut Vec<Action>) -> Heard {
        let shape = &self.shape;
        let leads = |zid: &ZenohId| shape.next_hop(zid);
        self.network.regard_claims(leads, actions)
    }

    /// Computes the trees again.
    pub(super) fn reshape(&mut self) {
        let next = self.next.take();
        let next = next.unwrap_or_else(|| Shape::of(&self.network));
        let before = std::mem::replace(&mut self.shape, next);
        self.transition.replace(before);
        self.is_lenient = false;
        self.is_strict = false;
        self.is_unproven = false;
        self.reshaped += 1;
        self.settling = Settling::Begins;
        self.begin_round();
    }

    /// Begins to declare the entities of all routers to the routers that are new below this node in
    /// the trees.
    fn begin_round(&mut self) {
        let mut roots = VecDeque::from([self.network.own_zid()]);
        roots.extend(self.routers().into_iter().map(|(zid, _)| zid));
        for root in self.unheard.begin(roots) {
            // The previous trees were not used for this router, so the links below this node are unknown.
            self.heard.remove(&root);
        }
        if let Some(root) = self.unheard.under_way() {
            let children = self.children(&root);
            self.unheard.keep_links(|link| children.contains(link));
        }
    }

    /// Returns true if a change of the network is not in the trees yet.
    pub(super) const fn is_pending(&self) -> bool {
        self.throttle.is_pending()
    }

    /// Returns the number of times that the trees were computed.
    pub(super) const fn reshaped(&self) -> u64 {
        self.reshaped
    }

    /// Returns the place of this node in the tree of a router.
    pub(super) fn place_in_tree(&self, root: &ZenohId) -> PlaceInTree {
        PlaceInTree {
            parent: self.shape.parent(root),
            children: self.shape.children(root).collect(),
        }
    }

    /// Returns true if nothing has changed for so long that all routers have the same state.
    pub(super) fn is_quiet(&self) -> bool {
        self.is_settled() && !self.network.is_in_doubt()
    }

    const fn is_settled(&self) -> bool {
        matches!(self.settling, Settling::Nothing) && !self.is_pending()
    }

    /// Returns how far a message of a router goes. Only messages from above in the tree of that
    /// router are forwarded, so that no message goes in circles: in the tree that the message is
    /// marked with, if this node knows it. While routers may have different trees, other messages
    /// from above in the former tree are forwarded too, as they may have been under way, and those
    /// of a neighbour that claims another way; any other message goes to the own side only.
    pub(super) fn passage(&self, root: &ZenohId, arrival: Arrival) -> ForwardingReach {
        let neighbour = self.network.neighbour_at(arrival.link);
        if let Some(marked) = self.trees_of(arrival.trees) {
            if neighbour.is_some() && neighbour == marked.parent(root) {
                return ForwardingReach::All;
            }
            if arrival.trees != UNMARKED {
                return ForwardingReach::Nothing;
            }
        }
        if neighbour.is_some() && neighbour == self.shape.parent(root) {
            return ForwardingReach::All;
        }
        let former = self.transition.unmarked();
        let before = former.and_then(|former| former.parent(root));
        if neighbour.is_some() && neighbour == before || self.network.has_claim_by(arrival.link) {
            return ForwardingReach::All;
        }
        if neighbour.is_some() && neighbour == self.next_parent(root) {
            return ForwardingReach::All;
        }
        match self.is_quiet() {
            true => ForwardingReach::Nothing,
            false => ForwardingReach::OwnSide,
        }
    }

    /// Returns the trees that messages with a mark go along. `None` if this node does not know
    /// them, or if a message without a mark may go along any.
    fn trees_of(&self, mark: u16) -> Option<&Shape> {
        if self.shape.mark() == UNMARKED {
            return None;
        }
        if mark == UNMARKED {
            let former = self.transition.unmarked();
            return former.filter(|former| former.mark() != UNMARKED);
        }
        if mark == self.shape.mark() {
            return Some(&self.shape);
        }
        let next = self.next().filter(|next| next.mark() == mark);
        next.or_else(|| self.transition.with_mark(mark))
    }

    /// Finds the trees that messages with a mark go along. False if this node does not know them:
    /// not even as those over some of the links that have changed lately, of which the router that
    /// gave the mark has heard in another order.
    pub(crate) fn find_trees(&mut self, arrival: Arrival) -> bool {
        let mark = arrival.trees;
        if mark == UNMARKED || self.trees_of(mark).is_some() {
            return true;
        }
        if !self.transition.seeks(arrival) {
            return false;
        }
        let known = [&self.shape].into_iter().chain(self.next());
        let known: Vec<_> = known.chain(self.transition.replaced()).collect();
        let links: Vec<_> = known.iter().map(|shape| shape.links()).collect();
        let Some(links) = links_of(mark, &links) else {
            return false;
        };
        let found = Shape::over(self.network.own_zid(), links);
        self.transition.note_skipped(found);
        true
    }

    /// Returns the mark of messages that enter the mesh at this node; 0 in a mesh at rest.
    pub(super) const fn own_mark(&self) -> u16 {
        match self.transition.marks() {
            true => self.shape.mark(),
            false => UNMARKED,
        }
    }

    /// Returns the trees that are due, if there are any and they are cheap to compute.
    fn next(&self) -> Option<&Shape> {
        let is_cheap = self.is_pending() && self.shape.cost() <= NEXT_COST_MAX;
        is_cheap.then(|| self.next.get_or_init(|| Shape::of(&self.network)))
    }

    /// Returns the router that will be above this node in the tree of a router, if trees are due
    /// and cheap to compute.
    fn next_parent(&self, root: &ZenohId) -> Option<ZenohId> {
        self.next()?.parent(root)
    }

    /// Returns true if a neighbour's declarations for a router are accepted: they come from above
    /// in the tree of that router, or the tree may be about to change.
    pub(super) fn takes_declarations(&self, root: &ZenohId, link: FaceId) -> bool {
        !self.is_quiet() || self.network.neighbour_at(link) == self.shape.parent(root)
    }

    /// Records that a route is being built for messages of a router.
    pub(super) fn note_route(&mut self, root: &ZenohId, arrival: Arrival) {
        let parent = self.shape.parent(root);
        let is_usual = parent.is_some() && self.network.neighbour_at(arrival.link) == parent;
        if is_usual || arrival.trees != UNMARKED {
            return;
        }
        match self.passage(root, arrival) {
            ForwardingReach::Nothing => self.is_strict = true,
            ForwardingReach::All | ForwardingReach::OwnSide => self.is_lenient = true,
        }
    }

    /// Returns true once if routes to nowhere were built that may lead somewhere now.
    pub(super) fn take_strict(&mut self) -> bool {
        !self.is_quiet() && std::mem::take(&mut self.is_strict)
    }

    /// Returns true if the routes of messages that do not come along the trees are outdated.
    pub(super) fn take_lenient(&mut self, now: Instant) -> bool {
        let is_over = self.transition.look(now);
        (is_over || self.is_quiet()) && (std::mem::take(&mut self.is_lenient) | is_over)
    }

    /// Returns true if declarations or ends are still to be sent to the routers below this node.
    pub(crate) fn is_telling(&self) -> bool {
        !self.unheard.is_empty() || self.endings.is_saying()
    }

    /// Inserts a router with its face.
    pub(super) fn add_router(&mut self, zid: ZenohId, face: FaceId) {
        let router = Router {
            face,
            told: HashMap::new(),
            charges: Charges::default(),
        };
        self.routers.insert(zid, router);
    }

    /// Returns the face of a router.
    pub(crate) fn face_of(&self, zid: &ZenohId) -> Option<FaceId> {
        self.routers.get(zid).map(|router| router.face)
    }

    /// Removes a link, and the declarations that count as its own.
    pub(super) fn end_charges(&mut self, link: FaceId) {
        self.charges.end(link);
        for router in self.routers.values_mut() {
            router.charges.end(link);
        }
    }

    /// Returns the charge of the routers behind a link.
    pub(crate) fn charge(&self, link: FaceId) -> Option<&Charge> {
        self.charges.of(link)
    }

    /// Returns the bytes of memory of the record of links by which entities were declared.
    pub(crate) fn memory(&self) -> usize {
        self.charges.memory()
    }

    /// Returns the cost of computing the tree of one router, in steps.
    pub(super) const fn tree_cost(&self) -> usize {
        self.shape.cost()
    }

    /// Returns true if a neighbour has declared an entity of a router; without a link, if any
    /// neighbour has.
    pub(super) fn is_told(&self, zid: &ZenohId, entity: EntityRef, link: Option<FaceId>) -> bool {
        let router = self.routers.get(zid);
        let told = router.and_then(|router| router.told.get(&entity));
        told.is_some_and(|told| link.is_none_or(|link| told.links.as_slice().contains(&link)))
    }

    /// Records that a neighbour has declared an entity of a router.
    pub(super) fn note_told(&mut self, zid: &ZenohId, entity: EntityRef, link: FaceId, item: Item) {
        let Some(router) = self.routers.get_mut(zid) else {
            return;
        };
        let told = router.told.entry(entity).or_insert(DeclaredLinks {
            links: Few::None,
            item,
        });
        if told.links.insert_new(link) {
            router.charges.add(link, item);
            self.charges.add(link, item);
        }
        let is_proven = self.network.neighbour_at(link) == self.shape.parent(zid);
        self.is_unproven |= self.is_settled() && !is_proven;
    }

    /// Records that a neighbour has undeclared an entity of a router. True if that neighbour is
    /// above this node, or no other one has declared it.
    pub(super) fn note_ended(&mut self, zid: &ZenohId, entity: EntityRef, link: FaceId) -> bool {
        let is_parent = self.parent(zid) == Some(link);
        let Some(router) = self.routers.get_mut(zid) else {
            return true;
        };
        let Some(told) = router.told.get_mut(&entity) else {
            return true;
        };
        // The declaration ends on this link, or on all if the neighbour above this node ends it.
        let mut silent = Few::None;
        if told.links.remove(&link) {
            silent = Few::One(link);
        }
        let is_over = is_parent || told.links.as_slice().is_empty();
        let item = told.item;
        if is_over && let Some(told) = router.told.remove(&entity) {
            for other in told.links.as_slice() {
                silent.push(*other);
            }
        }
        // The declaration no longer counts as the link's.
        for link in silent.as_slice() {
            router.charges.take(*link, item);
            self.charges.take(*link, item);
        }
        is_over
    }

    /// Returns the time at which [`settle`](Self::settle) has work to do.
    pub(crate) fn deadline(&self) -> Option<Deadline> {
        let settles = match self.settling {
            Settling::Nothing => None,
            Settling::Begins => Some(Deadline::Now),
            Settling::RepeatsAt(at) | Settling::ForgetsAt(at) => Some(Deadline::At(at)),
        };
        settles.into_iter().chain(self.look_deadline()).min()
    }

    /// Returns the latest time of the next call of [`look`](Self::look) or
    /// [`take_lenient`](Self::take_lenient).
    pub(crate) fn look_deadline(&self) -> Option<Deadline> {
        let is_over = self.is_lenient || self.is_unproven;
        let doubt = (is_over && self.is_quiet()).then_some(Deadline::Now);
        let others = [
            self.throttle.deadline(),
            self.network.deadline(),
            self.transition.deadline(),
            doubt,
        ];
        others.into_iter().flatten().min()
    }

    /// Does the work that is due now that the network is quiet.
    pub(super) fn settle(&mut self, now: Instant) {
        // Schedule the repetition after the last change, but not too long after the first.
        if matches!(self.settling, Settling::Begins) {
            let first = *self.unrest.get_or_insert(now);
            let at = (now + REPEATED_AFTER).min(first + UNREST_MAX);
            self.settling = Settling::RepeatsAt(at);
        }
        // Repeat all declarations, then remove those that no neighbour has repeated.
        match self.settling {
            Settling::RepeatsAt(at) if at <= now => {
                self.unrest = None;
                self.settling = Settling::ForgetsAt(now + BELIEVED_FOR);
                self.heard.clear();
                self.endings.begin();
                self.begin_round();
            }
            Settling::ForgetsAt(at) if at <= now => {
                self.settling = Settling::Nothing;
                self.is_unproven = false;
                self.forget_unconfirmed();
            }
            _ if self.is_unproven && self.is_quiet() => {
                self.is_unproven = false;
                self.forget_unconfirmed();
            }
            _ => {}
        }
    }

    /// Removes declarations of routers that the neighbour above this node has not made.
    fn forget_unconfirmed(&mut self) {
        let (network, shape) = (&self.network, &self.shape);
        let mut ended = Vec::new();
        for (zid, router) in &mut self.routers {
            let parent = shape.parent(zid).and_then(|zid| network.link_to(&zid));
            let (own, all) = (&mut router.charges, &mut self.charges);
            router.told.retain(|entity, told| {
                let confirmed = parent.filter(|parent| told.links.as_slice().contains(parent));
                for link in told.links.as_slice() {
                    if confirmed != Some(*link) {
                        own.take(*link, told.item);
                        all.take(*link, told.item);
                    }
                }
                match confirmed {
                    Some(parent) => told.links = Few::One(parent),
                    None => ended.push((*zid, *entity)),
                }
                confirmed.is_some()
            });
        }
        ended.sort_unstable_by_key(|(zid, entity)| (*zid, entity.kind as u8, entity.index));
        self.unheard.end(ended);
    }

    /// Returns the routers and their faces, in a deterministic order.
    pub(super) fn routers(&self) -> Vec<(ZenohId, FaceId)> {
        let routers = self.routers.iter();
        let mut routers: Vec<_> = routers.map(|(zid, router)| (*zid, router.face)).collect();
        routers.sort_unstable_by_key(|(_, face)| *face);
        routers
    }

    /// Returns the face of the router that a neighbour names by a number; `None` if it has
    /// introduced none under it.
    pub(super) fn router(&self, link: FaceId, number: u16) -> Option<FaceId> {
        let zid = self.network.node_of(link, number)?;
        self.routers.get(&zid).map(|router| router.face)
    }

    /// Returns the link to the neighbour above this node in the tree of a router.
    fn parent(&self, root: &ZenohId) -> Option<FaceId> {
        self.network.link_to(&self.shape.parent(root)?)
    }

    /// Returns the links to the neighbours below this node in the tree of a router.
    pub(super) fn children(&self, root: &ZenohId) -> BTreeSet<FaceId> {
        let children = self.shape.children(root);
        children
            .filter_map(|child| self.network.link_to(&child))
            .collect()
    }

    /// Returns the children that have not received the router's declarations; from now on they
    /// count as having received them.
    pub(super) fn unheard(&mut self, root: ZenohId) -> Vec<FaceId> {
        let children = self.children(&root);
        let heard = self.heard.insert(root, children.clone());
        let heard = heard.unwrap_or_default();
        children.difference(&heard).copied().collect()
    }

    /// Returns true if messages of a router reach this node: the router is known, and this node is
    /// in its tree.
    pub(crate) fn is_reached(&self, root: &ZenohId) -> bool {
        self.network.number(root).is_some() && self.shape.parent(root).is_some()
    }

    /// Returns the link that leads from this node towards a router, in the tree of another one: in
    /// the trees that a message goes along which has come from there, else in the current ones.
    pub(super) fn towards(
        &self,
        root: &ZenohId,
        to: &ZenohId,
        arrival: Option<Arrival>,
    ) -> Option<FaceId> {
        let marked = arrival.and_then(|arrival| {
            let neighbour = self.network.neighbour_at(arrival.link)?;
            let marked = self.trees_of(arrival.trees)?;
            (marked.parent(root) == Some(neighbour)).then_some(marked)
        });
        let shape = marked.unwrap_or(&self.shape);
        self.network.link_to(&shape.towards(root, to)?)
    }

    /// Returns the neighbour that a message in the tree of `root` goes to from here on its way to a
    /// router: the one below this node that leads there, else the one above.
    pub(super) fn successor(&self, root: &ZenohId, to: &ZenohId) -> Option<ZenohId> {
        if *to == self.network.own_zid() || self.network.number(to).is_none() {
            return None;
        }
        let below = self.shape.towards(root, to);
        below.or_else(|| self.shape.parent(root))
    }

    /// Returns the distance of a router from this one.
    pub(super) fn distance(&self, to: &ZenohId) -> u16 {
        self.shape.distance(to)
    }

    /// Returns the number of a router in messages to neighbours; 0 for this node itself.
    pub(super) fn number(&self, zid: &ZenohId) -> u16 {
        self.network.number(zid).unwrap_or(ITSELF)
    }
}
