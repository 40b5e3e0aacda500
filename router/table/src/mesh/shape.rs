// SPDX-License-Identifier: MIT OR Apache-2.0

//! Network as it was when trees were computed last. Routers that came later are in no tree, and
//! numbers may have been reused since: callers use ids only.

use std::collections::HashMap;

use zonda_codec::ZenohId;

use crate::mesh::{
    network::Network,
    trees::{ITSELF, Trees},
};

/// Place of this node in the tree of a router.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlaceInTree {
    /// The router above it, which forwards the root's declarations and messages.
    pub parent: Option<ZenohId>,
    /// The routers below it.
    pub children: Vec<ZenohId>,
}

/// Trees, with the routers that are in them.
#[derive(Debug, Default)]
pub(super) struct Shape {
    trees: Trees,
    numbers: HashMap<ZenohId, u16>,
    zids: Vec<Option<ZenohId>>,
}

impl Shape {
    /// Returns the trees of the network as it is.
    pub(super) fn of(network: &Network) -> Shape {
        let numbers = (0..network.size()).map_while(|number| u16::try_from(number).ok());
        let zids: Vec<_> = numbers.map(|number| network.zid(number)).collect();
        let numbered = (0..).zip(&zids);
        Shape {
            trees: Trees::over(zids.len(), &network.edges()),
            numbers: numbered
                .filter_map(|(number, zid)| Some(((*zid)?, number)))
                .collect(),
            zids,
        }
    }

    /// Returns the approximate cost of computing a tree, in steps.
    pub(super) const fn cost(&self) -> usize {
        self.trees.cost()
    }

    /// Returns the neighbour above this node in the tree of a router.
    pub(super) fn parent(&self, root: &ZenohId) -> Option<ZenohId> {
        self.zid(self.trees.parent(self.number(root)?)?)
    }

    /// Returns the routers below this node in the tree of a router.
    pub(super) fn children(&self, root: &ZenohId) -> impl Iterator<Item = ZenohId> {
        let root = self.number(root);
        let children = root.map_or(&[][..], |root| self.trees.children(root));
        children.iter().filter_map(|child| self.zid(*child))
    }

    /// Returns the neighbour below this node that leads from the tree of a router towards another one.
    pub(super) fn towards(&self, root: &ZenohId, to: &ZenohId) -> Option<ZenohId> {
        let (root, to) = (self.number(root)?, self.number(to)?);
        self.zid(self.trees.towards(root, to)?)
    }

    /// Returns the neighbour that a message of this node takes towards another router.
    pub(super) fn next_hop(&self, to: &ZenohId) -> Option<ZenohId> {
        self.zid(self.trees.towards(ITSELF, self.number(to)?)?)
    }

    /// Returns the distance of a router from this one.
    pub(super) fn distance(&self, to: &ZenohId) -> u16 {
        let to = self.number(to);
        to.map_or(u16::MAX, |to| self.trees.distance(to))
    }

    fn number(&self, zid: &ZenohId) -> Option<u16> {
        self.numbers.get(zid).copied()
    }

    fn zid(&self, number: u16) -> Option<ZenohId> {
        *self.zids.get(usize::from(number))?
    }
}
