// SPDX-License-Identifier: MIT OR Apache-2.0

//! Network as it was at some time, with its trees. Routers that came later are in no tree, and
//! numbers may have been reused since: callers use ids only.

use std::collections::{BTreeSet, HashMap};

use zonda_codec::ZenohId;

use crate::mesh::{
    mark::{Mark, MarkedLink, UNMARKED},
    network::Network,
    trees::{Edge, ITSELF, Trees},
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
    /// Mark of messages that go along the trees.
    mark: u16,
    /// The links; none if there are too many to be compared.
    links: BTreeSet<MarkedLink>,
}

/// Largest number of links that are compared with those of other trees.
const LINKS_MAX: usize = 2048;

impl Shape {
    /// Returns the trees of the network as it is.
    pub(super) fn of(network: &Network) -> Shape {
        let numbers = (0..network.size()).map_while(|number| u16::try_from(number).ok());
        let zids: Vec<_> = numbers.map(|number| network.zid(number)).collect();
        let numbered = (0..).zip(&zids);
        let edges = network.edges();
        let mut mark = Mark::default();
        edges.iter().for_each(|edge| mark.add(edge.weight));
        let linked = |edge: &Edge| {
            let [one, other] = edge.ends.map(|end| network.zid(end));
            MarkedLink::new([one?, other?], edge.weight)
        };
        let marks = network.marks_trees();
        Shape {
            trees: Trees::over(zids.len(), &edges),
            mark: if marks { mark.folded() } else { UNMARKED },
            links: match marks && edges.len() <= LINKS_MAX {
                true => edges.iter().filter_map(linked).collect(),
                false => BTreeSet::new(),
            },
            numbers: numbered
                .filter_map(|(number, zid)| Some(((*zid)?, number)))
                .collect(),
            zids,
        }
    }

    /// Returns the trees over these links, as the router `own` sees them.
    pub(super) fn over(own: ZenohId, links: BTreeSet<MarkedLink>) -> Shape {
        // This node is the first, as in a network.
        let mut zids = vec![Some(own)];
        let mut numbers = HashMap::from([(own, ITSELF)]);
        let mut mark = Mark::default();
        let mut edges = Vec::with_capacity(links.len());
        for link in &links {
            mark.add(link.weight());
            let mut number = |zid| {
                *numbers.entry(zid).or_insert_with(|| {
                    zids.push(Some(zid));
                    u16::try_from(zids.len() - 1).unwrap_or(u16::MAX)
                })
            };
            edges.push(Edge {
                ends: link.ends().map(&mut number),
                weight: link.weight(),
            });
        }
        Shape {
            trees: Trees::over(zids.len(), &edges),
            mark: mark.folded(),
            links,
            numbers,
            zids,
        }
    }

    /// Returns the links; none if there are too many to be compared.
    pub(super) const fn links(&self) -> &BTreeSet<MarkedLink> {
        &self.links
    }

    /// Returns the mark of messages that go along these trees.
    pub(super) const fn mark(&self) -> u16 {
        self.mark
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
