// SPDX-License-Identifier: MIT OR Apache-2.0

//! The routers of the mesh as the table sees them: each has a face of its own, which is the source of what it declares and
//! sends.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use zonda_codec::{WhatAmI, ZenohId};

use crate::table::{
    deadline::Deadline,
    face_id::FaceId,
    few::Few,
    kind::EntityRef,
    mesh::{
        network::Network,
        trees::{ITSELF, Trees},
    },
};

/// How long after the last change of the network everything is declared once more to those below this node: they may have
/// believed for a moment that a router is gone, or comes by another way, when this node did not.
const REPEATED_AFTER: Duration = Duration::from_millis(1500);

/// How long after that a router's declarations are believed that the neighbour above this node has not repeated. Other
/// implementations take a tenth of a second to compute their trees, and do not repeat anything.
const BELIEVED_FOR: Duration = Duration::from_millis(1500);

/// What is to be done because the network has changed.
#[derive(Debug, Clone, Copy)]
enum Settling {
    Nothing,
    /// Nobody has looked at the clock since.
    Begins,
    RepeatsAt(Instant),
    ForgetsAt(Instant),
}

/// What is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Settled {
    Nothing,
    /// Everything is to be declared once more.
    Repeat,
    /// These declarations, each with the face of its router, are true no more.
    Ended(Vec<(FaceId, EntityRef)>),
}

/// Another router.
#[derive(Debug)]
struct Router {
    face: FaceId,
    /// The link to the neighbour above this node in its tree.
    parent: Option<FaceId>,
    /// What it has declared, with the links that it came by.
    told: HashMap<EntityRef, Few<FaceId>>,
}

/// The mesh around this router.
#[derive(Debug)]
pub(in crate::table) struct Mesh {
    pub(super) network: Network,
    trees: Trees,
    routers: HashMap<ZenohId, Router>,
    settling: Settling,
    /// The links that have heard what a router declares, by the router: those to its children in its tree. A link that comes
    /// again is another one, and hears it again.
    heard: HashMap<ZenohId, BTreeSet<FaceId>>,
    /// The face of all other routers together, as long as there is a link to one.
    pub(super) whole: Option<FaceId>,
}

/// What is different after the network has changed.
#[derive(Debug, Default)]
pub(super) struct Reshaped {
    /// The faces of routers that cannot be reached any more.
    pub(super) gone: Vec<FaceId>,
    /// Routers that have none yet.
    pub(super) new: Vec<ZenohId>,
}

impl Mesh {
    pub(in crate::table) fn new(zid: ZenohId, role: WhatAmI) -> Self {
        Mesh {
            network: Network::new(zid, role),
            trees: Trees::default(),
            routers: HashMap::new(),
            settling: Settling::Nothing,
            heard: HashMap::new(),
            whole: None,
        }
    }

    /// Computes the trees anew, and says which routers came and went.
    pub(super) fn reshape(&mut self) -> Reshaped {
        let network = &self.network;
        self.trees = Trees::over(network.size(), &network.edges());
        let mut reshaped = Reshaped::default();
        self.routers.retain(|zid, router| {
            let Some(number) = network.number(zid) else {
                reshaped.gone.push(router.face);
                self.heard.remove(zid);
                return false;
            };
            let parent = self.trees.parent(number);
            let parent = parent.and_then(|parent| network.link_to(&network.zid(parent)?));
            router.parent = parent;
            true
        });
        self.settling = Settling::Begins;
        let others = network.others();
        let new = others.filter(|zid| !self.routers.contains_key(zid));
        reshaped.new = new.collect();
        reshaped
    }

    /// A router has a face now.
    pub(super) fn add_router(&mut self, zid: ZenohId, face: FaceId) {
        let parent = self.network.number(&zid).and_then(|n| self.trees.parent(n));
        let router = Router {
            face,
            parent: parent.and_then(|parent| self.link(parent)),
            told: HashMap::new(),
        };
        self.routers.insert(zid, router);
    }

    /// A neighbour says that a router has something.
    pub(super) fn note_told(&mut self, zid: &ZenohId, entity: EntityRef, link: FaceId) {
        if let Some(router) = self.routers.get_mut(zid) {
            let links = router.told.entry(entity).or_insert(Few::None);
            links.insert_new(link);
        }
    }

    /// A neighbour says that a router has something no more. True if it knows best, or nobody else has said otherwise.
    pub(super) fn note_ended(&mut self, zid: &ZenohId, entity: EntityRef, link: FaceId) -> bool {
        let Some(router) = self.routers.get_mut(zid) else {
            return true;
        };
        let is_parent = router.parent == Some(link);
        let is_last = router.told.get_mut(&entity).is_none_or(|links| {
            links.remove(&link);
            links.as_slice().is_empty()
        });
        if is_parent || is_last {
            router.told.remove(&entity);
        }
        is_parent || is_last
    }

    /// When [`settle`](Self::settle) has something to do.
    pub(in crate::table) fn deadline(&self) -> Option<Deadline> {
        match self.settling {
            Settling::Nothing => None,
            Settling::Begins => Some(Deadline::Now),
            Settling::RepeatsAt(at) | Settling::ForgetsAt(at) => Some(Deadline::At(at)),
        }
    }

    /// What is to be done now that the network is quiet.
    pub(super) fn settle(&mut self, now: Instant) -> Settled {
        match self.settling {
            Settling::Begins => self.settling = Settling::RepeatsAt(now + REPEATED_AFTER),
            Settling::RepeatsAt(at) if at <= now => {
                self.settling = Settling::ForgetsAt(now + BELIEVED_FOR);
                self.heard.clear();
                return Settled::Repeat;
            }
            Settling::ForgetsAt(at) if at <= now => {
                self.settling = Settling::Nothing;
                return Settled::Ended(self.forget_unconfirmed());
            }
            _ => {}
        }
        Settled::Nothing
    }

    /// Forgets what the neighbour above this node has not said of a router.
    fn forget_unconfirmed(&mut self) -> Vec<(FaceId, EntityRef)> {
        let mut ended = Vec::new();
        for router in self.routers.values_mut() {
            let (face, parent) = (router.face, router.parent);
            router.told.retain(|entity, links| {
                let confirmed = parent.filter(|parent| links.as_slice().contains(parent));
                match confirmed {
                    Some(parent) => *links = Few::One(parent),
                    None => ended.push((face, *entity)),
                }
                confirmed.is_some()
            });
        }
        ended.sort_unstable_by_key(|(face, entity)| (*face, entity.kind as u8, entity.index));
        ended
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

    /// The links to those below this node in the tree of a router.
    pub(super) fn children(&self, root: &ZenohId) -> BTreeSet<FaceId> {
        let Some(root) = self.network.number(root) else {
            return BTreeSet::new();
        };
        let children = self.trees.children(root).iter();
        children.filter_map(|child| self.link(*child)).collect()
    }

    /// Those of them that have not heard what the router declares, and count as having heard it from now on.
    pub(super) fn unheard(&mut self, root: ZenohId) -> Vec<FaceId> {
        let children = self.children(&root);
        let heard = self.heard.insert(root, children.clone());
        let heard = heard.unwrap_or_default();
        children.difference(&heard).copied().collect()
    }

    /// The link that leads from the tree of a router, at this node, towards another one.
    pub(super) fn towards(&self, root: &ZenohId, to: &ZenohId) -> Option<FaceId> {
        let (root, to) = (self.network.number(root)?, self.network.number(to)?);
        self.link(self.trees.towards(root, to)?)
    }

    /// How far a router is from this one.
    pub(super) fn distance(&self, to: &ZenohId) -> u16 {
        let to = self.network.number(to);
        to.map_or(u16::MAX, |to| self.trees.distance(to))
    }

    /// The number of a router in messages to neighbours; 0 for this node itself.
    pub(super) fn number(&self, zid: &ZenohId) -> u16 {
        self.network.number(zid).unwrap_or(ITSELF)
    }

    fn link(&self, number: u16) -> Option<FaceId> {
        self.network.link_to(&self.network.zid(number)?)
    }
}
