// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`KeyTree`]: values under key expressions, found by intersection with a key that may itself hold
//! wildcards on its side.
//!
//! A node is one chunk below its parent. All edges live in one hash table of node numbers, keyed by
//! (parent, chunk); the children of a node are also two linked lists, those with wildcards apart, so a
//! search for plain text looks at few nodes. A search walks pairs (node, position in the searched key). Once a
//! `**` of either side makes several ways to the same pair possible, visited pairs are remembered: no key and no
//! content, however hostile, costs more than nodes × chunks steps.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;

use hashbrown::HashTable;
use zonda_codec::key_expr;

use super::slots::Slots;
use chunk::Chunk;

mod chunk;

const NONE: u32 = u32::MAX;
const ANY: &str = "**";

/// A set of (key, value) pairs.
#[derive(Debug)]
pub struct KeyTree<V> {
    nodes: Slots<Node<V>>,
    /// The node without a parent; [`NONE`] while the tree is empty.
    root: u32,
    edges: HashTable<u32>,
    hasher: RandomState,
}

#[derive(Debug)]
struct Node<V> {
    chunk: Chunk,
    parent: u32,
    /// Heads of the lists of children: `[plain and verbatim, with wildcards]`.
    children: [u32; 2],
    next: u32,
    previous: u32,
    values: Values<V>,
}

#[derive(Debug)]
enum Values<V> {
    None,
    One(V),
    /// Boxed, so that the usual case stays small.
    #[expect(
        clippy::box_collection,
        reason = "a vector inside would double the size of every node"
    )]
    Many(Box<Vec<V>>),
}

/// A pair of the search: the node's own chunk is matched, and so are the first `position` chunks of the key.
#[derive(Clone, Copy)]
struct State {
    node: u32,
    position: u32,
    /// Another way may lead to the same pair.
    ambiguous: bool,
}

impl<V: Copy + Eq> KeyTree<V> {
    /// Empty, without an allocation.
    pub fn new() -> Self {
        KeyTree {
            nodes: Slots::new(),
            root: NONE,
            edges: HashTable::new(),
            hasher: RandomState::new(),
        }
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.root == NONE
    }

    /// Puts `value` under `key`, which must be canonical. False if it was there already.
    pub fn insert(&mut self, key: &str, value: V) -> bool {
        let at = self.find_or_add(key);
        match self.nodes.get_mut(at) {
            Some(node) => node.values.insert(value),
            None => false,
        }
    }

    /// The first value under `key`, which must be canonical; if there is none, what `make` makes.
    pub fn first_or_insert(&mut self, key: &str, make: impl FnOnce() -> V) -> V {
        let at = self.find_or_add(key);
        let Some(node) = self.nodes.get_mut(at) else {
            return make();
        };
        if let Some(first) = node.values.as_slice().first() {
            return *first;
        }
        let value = make();
        node.values.insert(value);
        value
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
            Some(node) => node.values.remove(value),
            None => false,
        };
        if removed {
            self.prune(at);
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
        let mut at = (self.root != NONE).then_some(self.root)?;
        let (mut end, mut best) = (0, None);
        for chunk in key.split('/') {
            let Some(child) = self.child(at, chunk) else {
                break;
            };
            end += chunk.len();
            if let Some(node) = self.nodes.get(child)
                && !node.values.as_slice().is_empty()
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
        let mut found = |values: &[V]| {
            values.iter().for_each(|value| found(*value));
            ControlFlow::Continue(())
        };
        self.search(key, &mut found);
    }

    /// Whether `found` accepts any value whose key intersects `key`; stops at the first.
    pub fn any<F: FnMut(V) -> bool>(&self, key: &str, found: &mut F) -> bool {
        let mut accepted = false;
        self.search(key, &mut |values: &[V]| {
            accepted = values.iter().any(|value| found(*value));
            if accepted {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        accepted
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

    /// The search behind [`matches`](Self::matches); returns how many pairs and children it looked at.
    fn search<F>(&self, key: &str, found: &mut F) -> usize
    where
        F: FnMut(&[V]) -> ControlFlow<()>,
    {
        let mut walk = Walk {
            tree: self,
            key: key.split('/').collect(),
            stack: Vec::new(),
            visited: HashSet::new(),
            steps: 0,
        };
        if self.root != NONE {
            walk.push(self.root, 0, false);
        }
        while let Some(state) = walk.stack.pop() {
            walk.steps += 1;
            if let Some(values) = walk.advance(state)
                && !values.is_empty()
                && found(values).is_break()
            {
                break;
            }
        }
        walk.steps
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
        let list = list_of(chunk);
        let mut head = NONE;
        if let Some(node) = self.nodes.get_mut(parent) {
            head = std::mem::replace(&mut node.children[list], child);
        }
        if let Some(node) = self.nodes.get_mut(child) {
            node.next = head;
        }
        if let Some(node) = self.nodes.get_mut(head) {
            node.previous = child;
        }
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
    fn prune(&mut self, mut at: u32) {
        while let Some(node) = self.nodes.get(at) {
            if !node.values.as_slice().is_empty() || node.children != [NONE; 2] {
                return;
            }
            let hash = self.hash(node.parent, node.chunk.as_str());
            if let Ok(edge) = self.edges.find_entry(hash, |&child| child == at) {
                edge.remove();
            }
            let Some(node) = self.nodes.remove(at) else {
                return;
            };
            if let Some(next) = self.nodes.get_mut(node.next) {
                next.previous = node.previous;
            }
            if let Some(previous) = self.nodes.get_mut(node.previous) {
                previous.next = node.next;
            } else if let Some(parent) = self.nodes.get_mut(node.parent) {
                parent.children[list_of(node.chunk.as_str())] = node.next;
            }
            if at == self.root {
                *self = KeyTree::new();
                return;
            }
            at = node.parent;
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

/// Whether two chunks, neither verbatim nor `**`, have a name in common.
fn chunks_meet(a: &str, b: &str) -> bool {
    a == "*" || b == "*" || key_expr::intersects(a, b)
}

struct Walk<'t, 'k, V> {
    tree: &'t KeyTree<V>,
    key: Vec<&'k str>,
    stack: Vec<State>,
    visited: HashSet<(u32, u32)>,
    steps: usize,
}

impl<'t, V: Copy + Eq> Walk<'t, '_, V> {
    fn push(&mut self, node: u32, position: u32, ambiguous: bool) {
        if !ambiguous || self.visited.insert((node, position)) {
            self.stack.push(State {
                node,
                position,
                ambiguous,
            });
        }
    }

    /// Pushes what follows from `state`; returns the node's values if the whole key is matched there.
    fn advance(&mut self, state: State) -> Option<&'t [V]> {
        let node = self.tree.nodes.get(state.node)?;
        let Some(&chunk) = self.key.get(state.position as usize) else {
            self.skip_to_any(state);
            return Some(node.values.as_slice());
        };
        let is_last = state.position as usize + 1 == self.key.len();
        if chunk == ANY {
            return self.advance_any(state, node, is_last);
        }
        let verbatim = is_verbatim(chunk);
        if node.chunk.as_bytes() == ANY.as_bytes() && !verbatim {
            self.push(state.node, state.position + 1, true);
        }
        self.skip_to_any(state);
        if list_of(chunk) == PLAIN {
            if let Some(child) = self.tree.child(state.node, chunk) {
                self.push(child, state.position + 1, state.ambiguous);
            }
        } else {
            self.meet_children(state, chunk, PLAIN);
        }
        if !verbatim {
            self.meet_children(state, chunk, WILD);
        }
        None
    }

    /// The key goes on with `**`: it may end here, or cover any child and stay.
    fn advance_any(&mut self, state: State, node: &'t Node<V>, is_last: bool) -> Option<&'t [V]> {
        // A `**` at the key's end matches all that is below. Each node is then reached by its only path, unless
        // there were several ways to here.
        let ambiguous = state.ambiguous || !is_last;
        let tree = self.tree;
        for list in [PLAIN, WILD] {
            for (child, chunk) in tree.children(state.node, list) {
                self.steps += 1;
                if !is_verbatim(chunk) {
                    self.push(child, state.position, ambiguous);
                }
            }
        }
        if is_last {
            return Some(node.values.as_slice());
        }
        self.push(state.node, state.position + 1, true);
        None
    }

    /// A child `**` matches no chunk at all, so it is reached without a step in the key.
    fn skip_to_any(&mut self, state: State) {
        if let Some(node) = self.tree.nodes.get(state.node)
            && node.children[WILD] != NONE
            && let Some(child) = self.tree.child(state.node, ANY)
        {
            self.push(child, state.position, true);
        }
    }

    fn meet_children(&mut self, state: State, chunk: &str, list: usize) {
        let tree = self.tree;
        for (child, other) in tree.children(state.node, list) {
            self.steps += 1;
            if other != ANY && !is_verbatim(other) && chunks_meet(other, chunk) {
                self.push(child, state.position + 1, state.ambiguous);
            }
        }
    }
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
            values: Values::None,
        }
    }
}

impl<V: Copy + Eq> Values<V> {
    fn as_slice(&self) -> &[V] {
        match self {
            Values::None => &[],
            Values::One(value) => std::slice::from_ref(value),
            Values::Many(values) => values,
        }
    }

    fn insert(&mut self, value: V) -> bool {
        if self.as_slice().contains(&value) {
            return false;
        }
        match self {
            Values::None => *self = Values::One(value),
            Values::One(first) => *self = Values::Many(Box::new(vec![*first, value])),
            Values::Many(values) => values.push(value),
        }
        true
    }

    fn remove(&mut self, value: V) -> bool {
        let Some(place) = self.as_slice().iter().position(|other| *other == value) else {
            return false;
        };
        match self {
            Values::None => {}
            Values::One(_) => *self = Values::None,
            Values::Many(values) => {
                values.swap_remove(place);
                if let [last] = values[..] {
                    *self = Values::One(last);
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests;
