// SPDX-License-Identifier: MIT OR Apache-2.0

//! Shortest-path trees: one for each router as the root. All routers of a mesh compute the same
//! trees from the same links, and a message goes down the tree of the router where it entered the mesh.
//!
//! A tree is computed when it is first used. In a large mesh all of them together take longer than
//! the table may be locked.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::OnceLock;

use zonda_codec::ZenohId;

/// The number of this node among those of its network.
pub(super) const ITSELF: u16 = 0;

/// Weight of a link without a weight at either end.
const DEFAULT_WEIGHT: u16 = 100;

/// Largest relative increase of the weight of a link, so that no two ways are equally long.
const JITTER: f64 = 0.01;

/// Mark of a node that no way leads to.
const NOWHERE: u16 = u16::MAX;

/// A link between two routers that both of them list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Edge {
    pub(super) ends: [u16; 2],
    pub(super) weight: f64,
}

/// Returns the weight of a link whose ends give it these weights or 0, without the part that depends
/// on their ids.
pub(super) const fn base_weight(one: u16, other: u16) -> u16 {
    match (one, other) {
        (0, 0) => DEFAULT_WEIGHT,
        _ if one > other => one,
        _ => other,
    }
}

/// Returns the weight of the link between two routers, each of which gives it a weight or 0. All
/// routers get the same: the greater one, and a little more that depends on the two ids.
pub(super) fn weight(one: (ZenohId, u16), other: (ZenohId, u16)) -> f64 {
    let base = base_weight(one.1, other.1);
    let (one, other) = (one.0.to_le_bytes(), other.0.to_le_bytes());
    // SipHash-1-3 with the key 0, as in the reference.
    let mut hasher = DefaultHasher::new();
    hasher.write(&one.min(other));
    hasher.write(&one.max(other));
    #[expect(clippy::cast_possible_truncation, reason = "the low half is meant")]
    let low = hasher.finish() as u32;
    f64::from(base) * (1.0 + JITTER * f64::from(low) / f64::from(u32::MAX))
}

/// Tree of one root, as far as this node needs it.
#[derive(Debug, Clone, Default)]
struct Tree {
    /// The neighbour above this node.
    parent: Option<u16>,
    /// The neighbours below this node.
    children: Vec<u16>,
    /// The child that leads to each node, by the node's number.
    towards: Vec<u16>,
    /// Distance of each node from the root, by number: of this node's own tree only.
    distances: Vec<f64>,
}

/// The trees of all roots, as this node sees them.
#[derive(Debug, Default)]
pub(super) struct Trees {
    /// The links of each node, by its number, with their weights.
    links: Vec<Vec<(u16, f64)>>,
    /// Trees by the number of the root.
    trees: Vec<OnceLock<Tree>>,
    /// Approximate cost of computing one tree, in steps.
    cost: usize,
}

impl Trees {
    /// Returns the trees over nodes whose numbers are below `size`. Numbers without a node have no links.
    pub(super) fn over(size: usize, edges: &[Edge]) -> Trees {
        let mut links: Vec<Vec<(u16, f64)>> = vec![Vec::new(); size];
        for &Edge { ends, weight } in edges {
            for (end, other) in [(ends[0], ends[1]), (ends[1], ends[0])] {
                if let Some(links) = links.get_mut(usize::from(end)) {
                    links.push((other, weight));
                }
            }
        }
        let trees = (0..size).map(|_| OnceLock::new()).collect();
        let cost = size + 2 * edges.len();
        Trees { links, trees, cost }
    }

    /// Returns the approximate cost of computing a tree, in steps.
    pub(super) const fn cost(&self) -> usize {
        self.cost
    }

    fn tree(&self, root: u16) -> Option<&Tree> {
        let computed = self.trees.get(usize::from(root))?;
        Some(computed.get_or_init(|| tree(root, &self.links)))
    }

    /// Returns the neighbour above this node in the tree of `root`: declarations and messages of
    /// that router come from there.
    pub(super) fn parent(&self, root: u16) -> Option<u16> {
        self.tree(root)?.parent
    }

    /// Returns the neighbours below this node in the tree of `root`.
    pub(super) fn children(&self, root: u16) -> &[u16] {
        self.tree(root).map_or(&[], |tree| &tree.children)
    }

    /// Returns the neighbour below this node that a message which entered at `root` takes towards
    /// `to`; `None` if `to` is not below this node in that tree.
    pub(super) fn towards(&self, root: u16, to: u16) -> Option<u16> {
        let next = *self.tree(root)?.towards.get(usize::from(to))?;
        (next != NOWHERE).then_some(next)
    }

    /// Returns the distance of a node from this one, to choose the nearest.
    pub(super) fn distance(&self, to: u16) -> u16 {
        let own = self.tree(ITSELF);
        let distance = own.and_then(|own| own.distances.get(usize::from(to)));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a cast of floats saturates"
        )]
        distance.map_or(u16::MAX, |distance| *distance as u16)
    }
}

/// Computes the tree of one root. Sums begin at the root, so that all routers get the same ones to
/// the last bit.
fn tree(root: u16, links: &[Vec<(u16, f64)>]) -> Tree {
    let mut distances = vec![f64::INFINITY; links.len()];
    let mut above = vec![NOWHERE; links.len()];
    let mut tree = Tree {
        parent: None,
        children: Vec::new(),
        towards: vec![NOWHERE; links.len()],
        distances: Vec::new(),
    };
    let mut is_done = vec![false; links.len()];
    // The bits of floats that are not negative have the order of the floats.
    let mut next = BinaryHeap::from([Reverse((0_u64, root))]);
    if let Some(distance) = distances.get_mut(usize::from(root)) {
        *distance = 0.0;
    }
    while let Some(Reverse((bits, node))) = next.pop() {
        let at = usize::from(node);
        if std::mem::replace(&mut is_done[at], true) {
            continue;
        }
        // A node is below the same child as its parent.
        tree.towards[at] = match above[at] {
            NOWHERE => NOWHERE,
            ITSELF => node,
            parent => tree.towards[usize::from(parent)],
        };
        if above[at] == ITSELF {
            tree.children.push(node);
        }
        // Relax the links of the node.
        for &(other, weight) in &links[at] {
            let sum = f64::from_bits(bits) + weight;
            let known = &mut distances[usize::from(other)];
            if sum < *known {
                *known = sum;
                above[usize::from(other)] = node;
                next.push(Reverse((sum.to_bits(), other)));
            }
        }
    }
    tree.parent = above.first().copied().filter(|above| *above != NOWHERE);
    if root == ITSELF {
        tree.distances = distances;
    }
    tree
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(byte: u8) -> ZenohId {
        ZenohId::from_le_bytes(&[byte]).expect("an id")
    }

    const A1: u8 = 0xa1;
    const B2: u8 = 0xb2;
    const C3: u8 = 0xc3;
    const D4: u8 = 0xd4;

    /// Returns the square of four routers that real routers agreed on, numbered by one of them,
    /// which is 0.
    fn square(order: [u8; 4]) -> Trees {
        let number = |byte| order.iter().zip(0..).find(|(b, _)| **b == byte);
        let edge = |one, other| Edge {
            ends: [one, other].map(|byte| number(byte).expect("one of them").1),
            weight: weight((id(one), 0), (id(other), 0)),
        };
        Trees::over(4, &[edge(A1, B2), edge(B2, C3), edge(C3, D4), edge(D4, A1)])
    }

    #[test]
    fn weights_are_those_of_real_routers() {
        let between = |one, other| weight((id(one), 0), (id(other), 0));
        assert_eq!(between(A1, B2), 100.521_922_272_518_72);
        assert_eq!(between(B2, A1), 100.521_922_272_518_72);
        assert_eq!(between(B2, C3), 100.223_971_047_025_16);
        assert_eq!(between(C3, D4), 100.500_304_282_293_73);
        assert_eq!(between(D4, A1), 100.887_328_110_609_05);
        let set = weight((id(A1), 7), (id(B2), 9));
        assert_eq!(set, 9.046_973_004_526_686);
        assert_eq!(weight((id(A1), 9), (id(B2), 0)), set);
    }

    #[test]
    fn trees_are_those_of_real_routers() {
        let trees = square([A1, B2, C3, D4]);
        let (b2, c3, d4) = (1, 2, 3);
        assert_eq!(
            trees.tree(ITSELF).expect("its own").distances[c3 as usize],
            200.745_893_319_543_88
        );
        assert_eq!(trees.distance(c3), 200);
        assert_eq!(trees.children(ITSELF), [b2, d4]);
        assert_eq!(trees.towards(ITSELF, b2), Some(b2));
        assert_eq!(trees.towards(ITSELF, c3), Some(b2));
        assert_eq!(trees.towards(ITSELF, d4), Some(d4));
        assert!(
            [b2, c3, d4]
                .iter()
                .all(|root| trees.children(*root).is_empty())
        );

        let trees = square([B2, A1, C3, D4]);
        let (a1, c3, d4) = (1, 2, 3);
        assert_eq!(
            trees.tree(ITSELF).expect("its own").distances[d4 as usize],
            200.724_275_329_318_89
        );
        assert_eq!(trees.children(a1), [c3]);
        assert_eq!(trees.towards(a1, c3), Some(c3));
        assert_eq!(trees.towards(a1, d4), None);
        assert_eq!(trees.children(ITSELF), [c3, a1]);
        assert_eq!(trees.towards(ITSELF, d4), Some(c3));
        assert_eq!(trees.children(c3), [a1]);
        assert!(trees.children(d4).is_empty());

        let trees = square([C3, A1, B2, D4]);
        let (a1, b2, d4) = (1, 2, 3);
        assert_eq!(trees.children(b2), [d4]);
        assert_eq!(trees.children(d4), [b2]);
        assert!(trees.children(a1).is_empty());
    }

    /// Computes `above[node]` with Bellman-Ford, as the reference does.
    fn naive(root: usize, size: usize, edges: &[Edge]) -> Vec<Option<usize>> {
        let (mut sums, mut above) = (vec![f64::INFINITY; size], vec![None; size]);
        sums[root] = 0.0;
        for _ in 0..size {
            for edge in edges {
                let [one, other] = edge.ends.map(usize::from);
                for (from, to) in [(one, other), (other, one)] {
                    if sums[from] + edge.weight < sums[to] {
                        sums[to] = sums[from] + edge.weight;
                        above[to] = Some(from);
                    }
                }
            }
        }
        above
    }

    #[test]
    fn random_trees_are_those_of_the_naive_model() {
        let mut seed = 1_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        for _ in 0..200 {
            let size = 1 + random(12) as u16;
            let mut edges = Vec::new();
            for one in 0..size {
                for other in one + 1..size {
                    let set = [0, 1, 7, 65_535][random(4) as usize];
                    if random(3) == 0 {
                        let named = |number: u16| id(1 + number as u8);
                        let weight = weight((named(one), set), (named(other), 0));
                        let ends = [one, other];
                        edges.push(Edge { ends, weight });
                    }
                }
            }
            let trees = Trees::over(size.into(), &edges);
            for root in 0..size {
                let above = naive(root.into(), size.into(), &edges);
                for to in 0..size {
                    let (mut at, mut below) = (usize::from(to), None);
                    while let Some(parent) = above[at] {
                        if parent == usize::from(ITSELF) {
                            below = Some(at as u16);
                        }
                        at = parent;
                    }
                    assert_eq!(trees.towards(root, to), below, "{root} to {to}: {edges:?}");
                    let parent = above[usize::from(ITSELF)].map(|parent| parent as u16);
                    assert_eq!(trees.parent(root), parent);
                    let is_child = above[usize::from(to)] == Some(usize::from(ITSELF));
                    assert_eq!(trees.children(root).contains(&to), is_child);
                }
            }
        }
    }

    #[test]
    fn a_long_line_saturates() {
        let named = |number: u16| ZenohId::random_from(u128::from(number) + 1);
        let edge = |one: u16| Edge {
            ends: [one, one + 1],
            weight: weight((named(one), 0), (named(one + 1), 0)),
        };
        let edges: Vec<Edge> = (0..699).map(edge).collect();
        let trees = Trees::over(700, &edges);
        assert_eq!(trees.towards(ITSELF, 699), Some(1));
        assert_eq!(trees.distance(699), u16::MAX);
    }
}
