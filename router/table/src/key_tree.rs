// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`KeyTree`]: values under key expressions, found by intersection with a key that may have
//! wildcards too.
//!
//! A node is one chunk below its parent. All edges are in one hash table of node numbers, keyed by
//! (parent, chunk); the children of a node also form two linked lists, with wildcards and without,
//! so a search for plain text visits few nodes. A search visits each node at most once, with the
//! set of the positions in the searched key that match there (`pattern`): no key and no content,
//! however hostile, costs more than nodes × (1 + chunks / 64) steps, chunks with `$*` apart, and
//! depth × chunks / 8 bytes while it lasts. Every search counts its steps, may be bounded, and may
//! be suspended and resumed (`walk`).

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;

use hashbrown::HashTable;

use crate::{few::Few, slots::Slots};
use chunk::Chunk;
use owner::Owner;
use pattern::Pattern;
use steps::Steps;
use walk::{Reached, Walk};

mod chunk;
pub(super) mod owner;
pub(super) mod pattern;
mod place;
pub(super) mod steps;
pub(super) mod walk;

const NONE: u32 = u32::MAX;
/// Bytes of an edge in the hash table, which is half empty at times: a number and a control byte.
const EDGE_BYTES: usize = 2 * (size_of::<u32>() + 1);
/// Capacity in edges below which the hash table does not shrink.
const EDGES_KEPT: usize = 4096;
const ANY: &str = "**";

/// Set of (key, value) pairs.
#[derive(Debug)]
pub struct KeyTree<V> {
    nodes: Slots<Node<V>>,
    /// The node without a parent; [`NONE`] while the tree is empty.
    root: u32,
    edges: HashTable<u32>,
    hasher: RandomState,
    /// Bytes of the chunks that are stored outside of their nodes.
    text_bytes: usize,
    /// Number of nodes that were removed, or moved among their siblings.
    displaced: u64,
    /// Cost of all searches.
    steps: Cell<u64>,
}

#[derive(Debug)]
struct Node<V> {
    chunk: Chunk,
    parent: u32,
    /// Heads of the lists of children: `[plain and verbatim, with wildcards]`.
    children: [u32; 2],
    next: u32,
    previous: u32,
    /// The face that alone has all values here and below.
    owner: Owner,
    /// The other end of its run, for the first and the last node of a run.
    run: u32,
    values: Few<V>,
}

impl<V: Copy + Eq> KeyTree<V> {
    /// Returns an empty tree, without an allocation.
    pub fn new() -> Self {
        KeyTree {
            nodes: Slots::new(),
            root: NONE,
            edges: HashTable::new(),
            hasher: RandomState::new(),
            text_bytes: 0,
            displaced: 0,
            steps: Cell::new(0),
        }
    }

    /// Returns the bytes of memory of its content, without those of lists with more than one value.
    pub(super) fn memory(&self) -> usize {
        self.nodes.memory() + self.edges.len() * EDGE_BYTES + self.text_bytes
    }

    /// Returns true if it has no values.
    pub fn is_empty(&self) -> bool {
        self.root == NONE
    }

    /// Inserts `value` under `key`, which must be canonical. False if it was present already.
    pub fn insert(&mut self, key: &str, value: V) -> bool {
        let at = self.find_or_add(key);
        match self.nodes.get_mut(at) {
            Some(node) => node.values.insert_new(value),
            None => false,
        }
    }

    fn find_or_add(&mut self, key: &str) -> u32 {
        if self.root == NONE {
            self.root = self.nodes.insert(Node::new("", NONE));
        }
        let mut at = self.root;
        for chunk in key.split('/') {
            at = match self.child(at, chunk) {
                Some(child) => child,
                None => self.add_child(at, chunk),
            };
        }
        at
    }

    /// Removes `value` from `key`. False if it was absent.
    pub fn remove(&mut self, key: &str, value: V) -> bool {
        let Some(at) = self.find(key) else {
            return false;
        };
        let removed = match self.nodes.get_mut(at) {
            Some(node) => node.values.remove(&value),
            None => false,
        };
        if removed {
            self.prune(at, &|_| Owner::NOBODY);
        }
        removed
    }

    /// Returns the values under exactly `key`.
    pub fn get(&self, key: &str) -> &[V] {
        match self.find(key).and_then(|at| self.nodes.get(at)) {
            Some(node) => node.values.as_slice(),
            None => &[],
        }
    }

    /// Returns the longest beginning of `key`, up to a `/` or its end, that has values: its length
    /// in bytes and the values. Wildcards are compared as text.
    pub fn longest_prefix(&self, key: &str) -> Option<(usize, &[V])> {
        self.longest_prefix_with(key, |_| true)
    }

    /// Returns the longest beginning of `key` with at least one value that `accepts` returns true for.
    pub fn longest_prefix_with(
        &self,
        key: &str,
        accepts: impl Fn(&V) -> bool,
    ) -> Option<(usize, &[V])> {
        let mut at = (self.root != NONE).then_some(self.root)?;
        let (mut end, mut best) = (0, None);
        for chunk in key.split('/') {
            let Some(child) = self.child(at, chunk) else {
                break;
            };
            end += chunk.len();
            if let Some(node) = self.nodes.get(child)
                && node.values.as_slice().iter().any(&accepts)
            {
                best = Some((end, node.values.as_slice()));
            }
            end += 1;
            at = child;
        }
        best
    }

    /// Calls `found` with each value whose key intersects `key`: once per (key, value) pair, in no
    /// particular order.
    pub fn matches<F: FnMut(V)>(&self, key: &str, found: &mut F) {
        self.matches_within(key, &Steps::unlimited(), found);
    }

    /// Calls `found` like [`matches`](Self::matches), as far as the steps reach; false if more
    /// nodes are left.
    pub(super) fn matches_within<F: FnMut(V)>(
        &self,
        key: &str,
        steps: &Steps,
        found: &mut F,
    ) -> bool {
        let mut found = |values: &[V]| {
            values.iter().for_each(|value| found(*value));
            ControlFlow::Continue(())
        };
        let (pattern, mut walk) = (Pattern::new(key), Walk::default());
        self.search(&pattern, &mut walk, steps, &mut found) == Reached::End
    }

    /// Returns true if `found` accepts any value whose key intersects `key`; stops at the first.
    pub fn any<F: FnMut(V) -> bool>(&self, key: &str, found: &mut F) -> bool {
        self.any_within(key, &Steps::unlimited(), found) == Some(true)
    }

    /// Searches like [`any`](Self::any), as far as the steps reach; `None` if more nodes are left.
    pub(super) fn any_within<F: FnMut(V) -> bool>(
        &self,
        key: &str,
        steps: &Steps,
        found: &mut F,
    ) -> Option<bool> {
        let mut accepted = false;
        let mut found = |values: &[V]| {
            accepted = values.iter().any(|value| found(*value));
            match accepted {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        let (pattern, mut walk) = (Pattern::new(key), Walk::default());
        let reached = self.search(&pattern, &mut walk, steps, &mut found);
        (accepted || reached == Reached::End).then_some(accepted)
    }

    /// Calls `found` with the values at `key` and below it, with `key` compared as text; false if
    /// more nodes are left.
    pub(super) fn each_below<F: FnMut(V)>(&self, key: &str, steps: &Steps, found: &mut F) -> bool {
        let mut stack = Vec::from_iter(self.find(key));
        while let Some(at) = stack.pop() {
            let Some(node) = self.nodes.get(at) else {
                continue;
            };
            if steps.are_over() {
                return false;
            }
            steps.spend(1);
            node.values
                .as_slice()
                .iter()
                .for_each(|value| found(*value));
            for list in [PLAIN, WILD] {
                stack.extend(self.children(at, list).map(|(child, _)| child));
            }
        }
        true
    }

    /// Calls `found` with all values but the ones that `except` alone has, of which it may get some;
    /// false if more nodes are left.
    pub(super) fn each_except<F: FnMut(V)>(
        &self,
        except: Option<Owner>,
        steps: &Steps,
        found: &mut F,
    ) -> bool {
        // The stack holds the rest of each list on the path, by its next child.
        let mut stack = vec![self.root];
        while let Some(at) = stack.pop() {
            let Some(node) = self.nodes.get(at) else {
                continue;
            };
            if steps.are_over() {
                return false;
            }
            steps.spend(1);
            stack.push(match at == self.root {
                true => NONE,
                false => self.behind(node, except),
            });
            // Values of `except` alone are passed over with their subtree.
            if except != Some(node.owner) {
                node.values
                    .as_slice()
                    .iter()
                    .for_each(|value| found(*value));
                stack.extend(node.children);
            }
        }
        true
    }

    /// Returns the cost of all searches so far.
    pub(super) fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// Adds `steps` to the cost of all searches.
    pub(super) fn count(&self, steps: u64) {
        self.steps.set(self.steps.get() + steps);
    }

    /// Calls `found` with each (key, value) pair's value.
    pub fn for_each<F: FnMut(V)>(&self, found: &mut F) {
        let mut stack = Vec::from_iter((self.root != NONE).then_some(self.root));
        while let Some(at) = stack.pop() {
            let Some(node) = self.nodes.get(at) else {
                continue;
            };
            node.values
                .as_slice()
                .iter()
                .for_each(|value| found(*value));
            for list in [PLAIN, WILD] {
                stack.extend(self.children(at, list).map(|(child, _)| child));
            }
        }
    }

    fn find(&self, key: &str) -> Option<u32> {
        let mut at = (self.root != NONE).then_some(self.root)?;
        for chunk in key.split('/') {
            at = self.child(at, chunk)?;
        }
        Some(at)
    }

    fn child(&self, parent: u32, chunk: &str) -> Option<u32> {
        self.edges
            .find(self.hash(parent, chunk), |&child| {
                self.nodes.get(child).is_some_and(|node| {
                    node.parent == parent && node.chunk.as_bytes() == chunk.as_bytes()
                })
            })
            .copied()
    }

    fn hash(&self, parent: u32, chunk: &str) -> u64 {
        self.hasher.hash_one((parent, chunk.as_bytes()))
    }

    /// Returns the children in one list, each with its chunk.
    fn children(&self, parent: u32, list: usize) -> Children<'_, V> {
        Children {
            nodes: &self.nodes,
            at: self
                .nodes
                .get(parent)
                .map_or(NONE, |node| node.children[list]),
        }
    }

    fn add_child(&mut self, parent: u32, chunk: &str) -> u32 {
        let child = self.nodes.insert(Node::new(chunk, parent));
        self.text_bytes += self
            .nodes
            .get(child)
            .map_or(0, |node| node.chunk.heap_bytes());
        self.link(child);
        let hash = self.hash(parent, chunk);
        let (nodes, hasher) = (&self.nodes, &self.hasher);
        self.edges.insert_unique(hash, child, |&other| {
            nodes.get(other).map_or(0, |node| {
                hasher.hash_one((node.parent, node.chunk.as_bytes()))
            })
        });
        child
    }

    /// Removes `at` and its ancestors as far as they have no values.
    fn prune(&mut self, mut at: u32, owner_of: &impl Fn(V) -> Owner) {
        self.shrink();
        while let Some(node) = self.nodes.get(at) {
            // A node in use ends the removal; its owner may have changed.
            if !node.values.as_slice().is_empty() || node.children != [NONE; 2] {
                return self.settle_owner(at, owner_of);
            }
            // Take the node out of the hash table, its list and the arena.
            let hash = self.hash(node.parent, node.chunk.as_str());
            if let Ok(edge) = self.edges.find_entry(hash, |&child| child == at) {
                edge.remove();
            }
            self.unlink(at);
            let Some(node) = self.nodes.remove(at) else {
                return;
            };
            self.text_bytes -= node.chunk.heap_bytes();
            self.displaced += 1;
            // The last node leaves an empty tree, which keeps its counts.
            if at == self.root {
                *self = KeyTree {
                    displaced: self.displaced,
                    steps: self.steps.take().into(),
                    ..KeyTree::new()
                };
                return;
            }
            at = node.parent;
        }
    }

    /// Shrinks the hash table when it holds few of the edges it once had.
    fn shrink(&mut self) {
        if self.edges.capacity() > EDGES_KEPT.max(8 * self.edges.len()) {
            let (nodes, hasher) = (&self.nodes, &self.hasher);
            self.edges.shrink_to(2 * self.edges.len(), |&child| {
                nodes.get(child).map_or(0, |node| {
                    hasher.hash_one((node.parent, node.chunk.as_bytes()))
                })
            });
        }
    }
}

impl<V: Copy + Eq> Default for KeyTree<V> {
    fn default() -> Self {
        KeyTree::new()
    }
}

const PLAIN: usize = 0;
const WILD: usize = 1;

/// Returns the list of children a chunk belongs to. A verbatim chunk only ever equals itself,
/// whatever its characters are.
fn list_of(chunk: &str) -> usize {
    if !is_verbatim(chunk) && chunk.contains('*') {
        WILD
    } else {
        PLAIN
    }
}

fn is_verbatim(chunk: &str) -> bool {
    chunk.starts_with('@')
}

struct Children<'t, V> {
    nodes: &'t Slots<Node<V>>,
    at: u32,
}

impl<'t, V> Iterator for Children<'t, V> {
    type Item = (u32, &'t str);

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at;
        let node = self.nodes.get(at)?;
        self.at = node.next;
        Some((at, node.chunk.as_str()))
    }
}

impl<V> Node<V> {
    fn new(chunk: &str, parent: u32) -> Self {
        Node {
            chunk: Chunk::new(chunk),
            parent,
            children: [NONE; 2],
            next: NONE,
            previous: NONE,
            owner: Owner::NOBODY,
            run: NONE,
            values: Few::None,
        }
    }
}

#[cfg(test)]
mod tests;
