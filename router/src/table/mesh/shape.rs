// SPDX-License-Identifier: MIT OR Apache-2.0

//! The network as it was when trees were computed last. Routers that came since are in no tree, and numbers may stand for others
//! since then: ids lead into the trees and out of them.

use std::collections::HashMap;

use zonda_codec::ZenohId;

use crate::table::mesh::{
    network::Network,
    trees::{ITSELF, Trees},
};

/// The place of this node in the tree of a router.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlaceInTree {
    /// The router above it, where what the root declares and sends comes from.
    pub parent: Option<ZenohId>,
    /// The routers below it.
    pub children: Vec<ZenohId>,
}

/// The trees, and who is in them.
#[derive(Debug, Default)]
pub(super) struct Shape {
    trees: Trees,
    numbers: HashMap<ZenohId, u16>,
    zids: Vec<Option<ZenohId>>,
}

impl Shape {
    /// Of the network as it is.
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

    /// The cost of computing a tree, about, in steps.
    pub(super) const fn cost(&self) -> usize {
        self.trees.cost()
    }

    /// The neighbour above this node in the tree of a router.
    pub(super) fn parent(&self, root: &ZenohId) -> Option<ZenohId> {
        self.zid(self.trees.parent(self.number(root)?)?)
    }

    /// The routers below this node in the tree of a router.
    pub(super) fn children(&self, root: &ZenohId) -> impl Iterator<Item = ZenohId> {
        let root = self.number(root);
        let children = root.map_or(&[][..], |root| self.trees.children(root));
        children.iter().filter_map(|child| self.zid(*child))
    }

    /// The neighbour below this node that leads from the tree of a router towards another one.
    pub(super) fn towards(&self, root: &ZenohId, to: &ZenohId) -> Option<ZenohId> {
        let (root, to) = (self.number(root)?, self.number(to)?);
        self.zid(self.trees.towards(root, to)?)
    }

    /// The neighbour that a message of this node takes towards another router.
    pub(super) fn next_hop(&self, to: &ZenohId) -> Option<ZenohId> {
        self.zid(self.trees.towards(ITSELF, self.number(to)?)?)
    }

    /// Gives the distance of a router from this one.
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
