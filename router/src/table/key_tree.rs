// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`KeyTree`]: values under key expressions, found by intersection with a key that may itself hold
//! wildcards on its side.
//!
//! A node is one chunk below its parent. All edges live in one hash table of node numbers, keyed by
//! (parent, chunk); the children of a node are also two linked lists, those with wildcards apart, so a
//! search for plain text looks at few nodes. A search comes to each node at most once, with the set of the positions in
//! the searched key that match there (`pattern`): no key and no content, however hostile, costs more than
//! nodes × (1 + chunks / 64) steps, chunks with `$*` apart, and depth × chunks / 8 bytes while it lasts. Every search counts
//! its steps, may be bounded, and may be left and gone on with (`walk`).

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;

use hashbrown::HashTable;

use crate::table::{few::Few, slots::Slots};
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
/// Bytes of an edge in the hash table, which is half empty at times: a number and a byte that tells whether it is there.
const EDGE_BYTES: usize = 2 * (size_of::<u32>() + 1);
/// Room for so many edges is kept, however few there are.
const EDGES_KEPT: usize = 4096;
const ANY: &str = "**";

/// A set of (key, value) pairs.
#[derive(Debug)]
pub struct KeyTree<V> {
    nodes: Slots<Node<V>>,
    /// The node without a parent; [`NONE`] while the tree is empty.
    root: u32,
    edges: HashTable<u32>,
    hasher: RandomState,
    /// Bytes of the chunks that are kept outside of their nodes.
    text_bytes: usize,
    /// How many nodes have gone, or have another place among their siblings.
    displaced: u64,
    /// What searches have cost.
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
    /// The face that alone has all that is here and below.
    owner: Owner,
    /// The other end of its run, for the first and the last of one.
    run: u32,
    values: Few<V>,
}

impl<V: Copy + Eq> KeyTree<V> {
    /// Empty, without an allocation.
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

    /// Bytes of memory that its content takes, without what lists of more than one add.
    pub(super) fn memory(&self) -> usize {
        self.nodes.memory() + self.edges.len() * EDGE_BYTES + self.text_bytes
    }

    /// Tells if nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.root == NONE
    }

    /// Puts `value` under `key`, which must be canonical. False if it was there already.
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

    /// Takes `value` from under `key`. False if it was not there.
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

    /// The values under exactly `key`.
    pub fn get(&self, key: &str) -> &[V] {
        match self.find(key).and_then(|at| self.nodes.get(at)) {
            Some(node) => node.values.as_slice(),
            None => &[],
        }
    }

    /// The longest beginning of `key`, up to a `/` or its end, that has values: its length in bytes and the
    /// values. Wildcards are compared as text.
    pub fn longest_prefix(&self, key: &str) -> Option<(usize, &[V])> {
        self.longest_prefix_with(key, |_| true)
    }

    /// The same, where at least one of the values has to be accepted.
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

    /// The same as far as the steps reach; false if there is more to look at.
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

    /// Tells if `found` accepts any value whose key intersects `key`; stops at the first.
    pub fn any<F: FnMut(V) -> bool>(&self, key: &str, found: &mut F) -> bool {
        self.any_within(key, &Steps::unlimited(), found) == Some(true)
    }

    /// The same as far as the steps reach; `None` if there is more to look at.
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

    /// Calls `found` with the values at `key` and below it, `key` being compared as text; false if there is more to look at.
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

    /// Calls `found` with all values but those that `except` alone has, of which it may get some; false if there is more to
    /// look at.
    pub(super) fn each_except<F: FnMut(V)>(
        &self,
        except: Option<Owner>,
        steps: &Steps,
        found: &mut F,
    ) -> bool {
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

    /// What all searches so far have cost.
    pub(super) fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// Adds to that.
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

    /// The children of one list, each with its chunk.
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

    /// Removes `at` and its ancestors as far as they hold nothing.
    fn prune(&mut self, mut at: u32, owner_of: &impl Fn(V) -> Owner) {
        self.shrink();
        while let Some(node) = self.nodes.get(at) {
            if !node.values.as_slice().is_empty() || node.children != [NONE; 2] {
                return self.settle_owner(at, owner_of);
            }
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

    /// Gives memory back that few of the edges there once were need.
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

/// Which list of children a chunk belongs to. A verbatim chunk only ever equals itself, whatever is in it.
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
