// SPDX-License-Identifier: MIT OR Apache-2.0

//! The routers of the mesh as the table sees them: each has a face of its own, which is the source of what it declares and
//! sends.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use zonda_codec::{LinkStateList, WhatAmI, ZenohId};

use crate::table::{
    deadline::Deadline,
    face_id::{Action, FaceId},
    few::Few,
    kind::EntityRef,
    mesh::{
        charges::{Charge, Charges, Item},
        endings::Endings,
        network::{Heard, Network},
        shape::{PlaceInTree, Shape},
        throttle::Throttle,
        trees::ITSELF,
        unheard::Unheard,
    },
};

/// The time from the last change of the network until everything is declared once more to the routers below this node: they may have
/// believed for a moment that a router is gone, or comes by another way, when this node did not.
const REPEATED_AFTER: Duration = Duration::from_millis(1500);

/// The longest delay of that where the network does not come to rest, from its first change on.
const UNREST_MAX: Duration = Duration::from_secs(10);

/// The time for which messages are taken as well that come the way of the trees before: they were on their way.
const FORMER_FOR: Duration = Duration::from_millis(500);

/// The most that a look at trees may cost that are not due yet, in steps.
const NEXT_COST_MAX: usize = 4096;

/// The time after that for which a router's declarations are believed that the neighbour above this node has not repeated. Other
/// implementations take a tenth of a second to compute their trees, and do not repeat anything.
const BELIEVED_FOR: Duration = Duration::from_millis(1500);

/// The work that is left because the network has changed.
#[derive(Debug, Clone, Copy)]
enum Settling {
    Nothing,
    /// The clock was not looked at since.
    Begins,
    RepeatsAt(Instant),
    ForgetsAt(Instant),
}

/// By which links it was heard that a router has something, and how that counts.
#[derive(Debug)]
struct Told {
    links: Few<FaceId>,
    item: Item,
}

/// Another router.
#[derive(Debug)]
struct Router {
    face: FaceId,
    /// Its declarations.
    told: HashMap<EntityRef, Told>,
    /// The declarations of it that came over each link.
    charges: Charges,
}

/// The mesh around this router.
#[derive(Debug)]
pub(in crate::table) struct Mesh {
    pub(super) network: Network,
    throttle: Throttle,
    shape: Shape,
    /// The trees before these, if the network was quiet when they changed.
    former: Option<Former>,
    /// The network was quiet before the change that these trees follow.
    was_settled: bool,
    /// The trees that are to come, if a route was looked for.
    next: OnceLock<Shape>,
    /// A route was made that leads on what does not come the way of the trees.
    is_lenient: bool,
    /// A route to nowhere was made for what does not come the way of the trees.
    is_strict: bool,
    /// A neighbour that is not above this node declared something for a router while its claims were in doubt.
    is_unproven: bool,
    /// The number of times that it was computed.
    reshaped: u64,
    routers: HashMap<ZenohId, Router>,
    settling: Settling,
    /// Since when the network changes without everything having been declared once more.
    unrest: Option<Instant>,
    /// The links that have heard what a router declares, by the router: those to its children in its tree. A link that comes
    /// again is another one, and hears it again.
    heard: HashMap<ZenohId, BTreeSet<FaceId>>,
    /// The declarations that are still to be said there.
    pub(super) unheard: Unheard,
    pub(super) endings: Endings,
    /// The declarations of all routers over each link.
    charges: Charges,
    /// The face of all other routers together, if this node is a router.
    pub(in crate::table) whole: Option<FaceId>,
}

/// The trees as they were.
#[derive(Debug)]
struct Former {
    shape: Shape,
    /// `None` as long as the clock was not looked at.
    until: Option<Instant>,
}

/// The reach of a message that came from a neighbour and belongs to another router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::table) enum Passage {
    /// To the own side, and on to other routers.
    All,
    /// To the own side only: it did not come from above in the tree of its router, but the trees may be about to change.
    OwnSide,
    /// Nowhere.
    Nothing,
}

/// The routers that have come and gone.
#[derive(Debug, Default)]
pub(super) struct Followed {
    /// The faces of routers that cannot be reached any more.
    pub(super) gone: Vec<FaceId>,
    /// Routers that have none yet.
    pub(super) new: Vec<ZenohId>,
}

impl Mesh {
    pub(in crate::table) fn new(zid: ZenohId, role: WhatAmI) -> Self {
        Mesh {
            network: Network::new(zid, role),
            throttle: Throttle::new(),
            shape: Shape::default(),
            former: None,
            was_settled: false,
            next: OnceLock::new(),
            is_lenient: false,
            is_strict: false,
            is_unproven: false,
            reshaped: 0,
            routers: HashMap::new(),
            settling: Settling::Nothing,
            unrest: None,
            heard: HashMap::new(),
            unheard: Unheard::default(),
            endings: Endings::default(),
            charges: Charges::default(),
            whole: None,
        }
    }

    /// Says which routers came and went.
    pub(super) fn follow(&mut self) -> Followed {
        if !self.network.take_peopled() {
            return Followed::default();
        }
        let (network, charges) = (&self.network, &mut self.charges);
        let mut followed = Followed::default();
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

    /// Tells if trees are to be computed now, as the network has changed. If it is too soon for that,
    /// [`look`](Self::look) says when.
    pub(super) fn is_to_reshape(&mut self) -> bool {
        if !self.network.take_reshaped() {
            return false;
        }
        self.next = OnceLock::new();
        let was_settled = self.is_settled();
        // Whatever was to be settled is so once the trees are those of this network.
        self.settling = Settling::Nothing;
        let is_due = self.throttle.note_change();
        self.was_settled = is_due && was_settled;
        is_due
    }

    /// The next change is the loss of a link of this node: the trees follow it at once.
    pub(super) fn note_loss(&mut self) {
        self.throttle.note_loss();
    }

    /// Looks at the clock. True if trees are to be computed now.
    pub(super) fn look(&mut self, now: Instant) -> bool {
        self.throttle.look(now)
    }

    /// Takes in what a neighbour says of the routers.
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

    /// Believes what the new trees confirm.
    pub(super) fn regard_claims(&mut self, actions: &mut Vec<Action>) -> Heard {
        let shape = &self.shape;
        let leads = |zid: &ZenohId| shape.next_hop(zid);
        self.network.regard_claims(leads, actions)
    }

    /// Computes the trees anew.
    pub(super) fn reshape(&mut self) {
        let shape = std::mem::replace(&mut self.shape, Shape::of(&self.network));
        if std::mem::take(&mut self.was_settled) && self.former.is_none() {
            self.former = Some(Former { shape, until: None });
        }
        self.is_lenient = false;
        self.is_strict = false;
        self.is_unproven = false;
        self.reshaped += 1;
        self.settling = Settling::Begins;
        self.begin_round();
    }

    /// Begins to say the declarations of all routers to the routers that are new below this node in the trees.
    fn begin_round(&mut self) {
        let mut roots = VecDeque::from([self.network.own_zid()]);
        roots.extend(self.routers().into_iter().map(|(zid, _)| zid));
        for root in self.unheard.begin(roots) {
            // Nobody has looked since the trees before these were computed, in which others were below this node.
            self.heard.remove(&root);
        }
        if let Some(root) = self.unheard.under_way() {
            let children = self.children(&root);
            self.unheard.keep_links(|link| children.contains(link));
        }
    }

    /// Tells if something has changed that the trees do not know of yet.
    pub(super) const fn is_pending(&self) -> bool {
        self.throttle.is_pending()
    }

    /// Counts the times that the trees were computed.
    pub(super) const fn reshaped(&self) -> u64 {
        self.reshaped
    }

    /// Gives the place of this node in the tree of a router.
    pub(super) fn place_in_tree(&self, root: &ZenohId) -> PlaceInTree {
        PlaceInTree {
            parent: self.shape.parent(root),
            children: self.shape.children(root).collect(),
        }
    }

    /// Tells if nothing has changed for so long that all routers know the same.
    pub(super) fn is_quiet(&self) -> bool {
        self.is_settled() && !self.network.is_in_doubt()
    }

    const fn is_settled(&self) -> bool {
        matches!(self.settling, Settling::Nothing) && !self.is_pending()
    }

    /// Tells how far a message of a router goes that came by a link. It comes from above in the tree of that router, so a message
    /// goes in no circle. While routers may see different trees it also comes from above in the tree before, as it was on its way
    /// then, and from a neighbour that claims another way; from everywhere else it goes to the own side only.
    pub(super) fn passage(&self, root: &ZenohId, link: FaceId) -> Passage {
        let neighbour = self.network.neighbour_at(link);
        if neighbour.is_some() && neighbour == self.shape.parent(root) {
            return Passage::All;
        }
        let former = self.former.as_ref();
        let before = former.and_then(|former| former.shape.parent(root));
        if neighbour.is_some() && neighbour == before || self.network.has_claim_by(link) {
            return Passage::All;
        }
        if neighbour.is_some() && neighbour == self.next_parent(root) {
            return Passage::All;
        }
        match self.is_quiet() {
            true => Passage::Nothing,
            false => Passage::OwnSide,
        }
    }

    /// Gives the router that will be above this node in the tree of a router, if trees are to be computed and it costs little to look.
    fn next_parent(&self, root: &ZenohId) -> Option<ZenohId> {
        let is_cheap = self.is_pending() && self.shape.cost() <= NEXT_COST_MAX;
        let next = is_cheap.then(|| self.next.get_or_init(|| Shape::of(&self.network)))?;
        next.parent(root)
    }

    /// Tells if a neighbour's declarations for a router are taken: they come from above in the tree of that router, or there may be
    /// another tree.
    pub(super) fn takes_declarations(&self, root: &ZenohId, link: FaceId) -> bool {
        !self.is_quiet() || self.network.neighbour_at(link) == self.shape.parent(root)
    }

    /// A route is being made for what a router sends by a link.
    pub(super) fn note_route(&mut self, root: &ZenohId, link: FaceId) {
        let parent = self.shape.parent(root);
        if parent.is_some() && self.network.neighbour_at(link) == parent {
            return;
        }
        match self.passage(root, link) {
            Passage::Nothing => self.is_strict = true,
            Passage::All | Passage::OwnSide => self.is_lenient = true,
        }
    }

    /// Tells once if routes to nowhere were made that may lead somewhere now.
    pub(super) fn take_strict(&mut self) -> bool {
        !self.is_quiet() && std::mem::take(&mut self.is_strict)
    }

    /// Tells if the routes of messages that do not come the way of the trees hold no more.
    pub(super) fn take_lenient(&mut self, now: Instant) -> bool {
        if let Some(former) = &mut self.former {
            let until = *former.until.get_or_insert(now + FORMER_FOR);
            if until > now {
                return false;
            }
            self.former = None;
        } else if !self.is_quiet() {
            return false;
        }
        std::mem::take(&mut self.is_lenient)
    }

    /// Tells if something is still to be said to the routers that are new below this node.
    pub(in crate::table) fn is_telling(&self) -> bool {
        !self.unheard.is_empty() || self.endings.is_saying()
    }

    /// A router has a face now.
    pub(super) fn add_router(&mut self, zid: ZenohId, face: FaceId) {
        let router = Router {
            face,
            told: HashMap::new(),
            charges: Charges::default(),
        };
        self.routers.insert(zid, router);
    }

    /// The face of a router.
    pub(super) fn face_of(&self, zid: &ZenohId) -> Option<FaceId> {
        self.routers.get(zid).map(|router| router.face)
    }

    /// A link is gone, and with it what counts as its own.
    pub(super) fn end_charges(&mut self, link: FaceId) {
        self.charges.end(link);
        for router in self.routers.values_mut() {
            router.charges.end(link);
        }
    }

    /// Returns the charge of the routers behind a link.
    pub(in crate::table) fn charge(&self, link: FaceId) -> Option<&Charge> {
        self.charges.of(link)
    }

    /// Bytes of memory that it takes to know by which links everything was heard.
    pub(in crate::table) fn memory(&self) -> usize {
        self.charges.memory()
    }

    /// The cost of a look at the tree of one router, in steps.
    pub(super) const fn tree_cost(&self) -> usize {
        self.shape.cost()
    }

    /// Tells if a neighbour has said that a router has something; without a neighbour, if any has.
    pub(super) fn is_told(&self, zid: &ZenohId, entity: EntityRef, link: Option<FaceId>) -> bool {
        let router = self.routers.get(zid);
        let told = router.and_then(|router| router.told.get(&entity));
        told.is_some_and(|told| link.is_none_or(|link| told.links.as_slice().contains(&link)))
    }

    /// A neighbour says that a router has something.
    pub(super) fn note_told(&mut self, zid: &ZenohId, entity: EntityRef, link: FaceId, item: Item) {
        let Some(router) = self.routers.get_mut(zid) else {
            return;
        };
        let told = router.told.entry(entity).or_insert(Told {
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

    /// A neighbour says that a router has something no more. True if it knows best, or nobody else has said otherwise.
    pub(super) fn note_ended(&mut self, zid: &ZenohId, entity: EntityRef, link: FaceId) -> bool {
        let is_parent = self.parent(zid) == Some(link);
        let Some(router) = self.routers.get_mut(zid) else {
            return true;
        };
        let Some(told) = router.told.get_mut(&entity) else {
            return true;
        };
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
        for link in silent.as_slice() {
            router.charges.take(*link, item);
            self.charges.take(*link, item);
        }
        is_over
    }

    /// When [`settle`](Self::settle) has something to do.
    pub(in crate::table) fn deadline(&self) -> Option<Deadline> {
        let settles = match self.settling {
            Settling::Nothing => None,
            Settling::Begins => Some(Deadline::Now),
            Settling::RepeatsAt(at) | Settling::ForgetsAt(at) => Some(Deadline::At(at)),
        };
        settles.into_iter().chain(self.look_deadline()).min()
    }

    /// When the clock is to be looked at the latest.
    pub(in crate::table) fn look_deadline(&self) -> Option<Deadline> {
        let former = self.former.as_ref().map(|former| match former.until {
            None => Deadline::Now,
            Some(until) => Deadline::At(until),
        });
        let is_over = self.is_lenient && former.is_none() || self.is_unproven;
        let doubt = (is_over && self.is_quiet()).then_some(Deadline::Now);
        let others = [
            self.throttle.deadline(),
            self.network.deadline(),
            former,
            doubt,
        ];
        others.into_iter().flatten().min()
    }

    /// Does the work that is due now that the network is quiet.
    pub(super) fn settle(&mut self, now: Instant) {
        if matches!(self.settling, Settling::Begins) {
            let first = *self.unrest.get_or_insert(now);
            let at = (now + REPEATED_AFTER).min(first + UNREST_MAX);
            self.settling = Settling::RepeatsAt(at);
        }
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

    /// Forgets what the neighbour above this node has not said of a router.
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

    /// The routers and their faces, in an order that does not depend on chance.
    pub(super) fn routers(&self) -> Vec<(ZenohId, FaceId)> {
        let routers = self.routers.iter();
        let mut routers: Vec<_> = routers.map(|(zid, router)| (*zid, router.face)).collect();
        routers.sort_unstable_by_key(|(_, face)| *face);
        routers
    }

    /// The face of the router that a neighbour means by a number; `None` if it has introduced none under it.
    pub(super) fn router(&self, link: FaceId, number: u16) -> Option<FaceId> {
        let zid = self.network.node_of(link, number)?;
        self.routers.get(&zid).map(|router| router.face)
    }

    /// The link to the neighbour above this node in the tree of a router.
    fn parent(&self, root: &ZenohId) -> Option<FaceId> {
        self.network.link_to(&self.shape.parent(root)?)
    }

    /// The links to those below this node in the tree of a router.
    pub(super) fn children(&self, root: &ZenohId) -> BTreeSet<FaceId> {
        let children = self.shape.children(root);
        children
            .filter_map(|child| self.network.link_to(&child))
            .collect()
    }

    /// The children that do not know the router's declarations yet; from now on they count as knowing them.
    pub(super) fn unheard(&mut self, root: ZenohId) -> Vec<FaceId> {
        let children = self.children(&root);
        let heard = self.heard.insert(root, children.clone());
        let heard = heard.unwrap_or_default();
        children.difference(&heard).copied().collect()
    }

    /// Tells if messages of a router come here: it is there, and this node is in its tree.
    pub(in crate::table) fn is_reached(&self, root: &ZenohId) -> bool {
        self.network.number(root).is_some() && self.shape.parent(root).is_some()
    }

    /// The link that leads from the tree of a router, at this node, towards another one.
    pub(super) fn towards(&self, root: &ZenohId, to: &ZenohId) -> Option<FaceId> {
        self.network.link_to(&self.shape.towards(root, to)?)
    }

    /// Gives the distance of a router from this one.
    pub(super) fn distance(&self, to: &ZenohId) -> u16 {
        self.shape.distance(to)
    }

    /// The number of a router in messages to neighbours; 0 for this node itself.
    pub(super) fn number(&self, zid: &ZenohId) -> u16 {
        self.network.number(zid).unwrap_or(ITSELF)
    }
}
