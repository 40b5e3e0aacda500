// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`KeBoxTree`]: values by key expression, found by the keys that intersect another one.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use super::{KeyExpr, intersects, keyexpr};

type OwnedKeyExpr = KeyExpr<'static>;

/// The reference's choice of the container for the nodes below a node. Trees here have one
/// container, whatever is named.
#[derive(Debug, Clone, Copy, Default)]
pub struct KeyedSetProvider(());

/// The reference's name of a tree without wildcards. A tree here always knows whether it has some.
#[derive(Debug, Clone, Copy, Default)]
pub struct NonWild(());

/// The reference's name of a tree that does not know whether it has wildcards. A tree here always knows.
#[derive(Debug, Clone, Copy, Default)]
pub struct UnknownWildness(());

/// Values by key expression. Besides the value of one key, [`IKeyExprTree`] finds the values of all
/// keys that intersect, belong to or contain another.
///
/// Only branches that can intersect the key are searched. Keys come in alphabetic order, each
/// before those below it.
///
/// ```
/// use zonda_codec::key_expr::tree::{IKeyExprTree, IKeyExprTreeMut, KeBoxTree};
/// use zonda_codec::keyexpr;
///
/// let mut rooms: KeBoxTree<u32> = KeBoxTree::new();
/// rooms.insert(keyexpr::new("house/kitchen")?, 1);
/// rooms.insert(keyexpr::new("house/bath")?, 2);
/// let found: Vec<_> = rooms.intersecting_keys(keyexpr::new("house/*")?).collect();
/// assert_eq!(found, ["house/bath", "house/kitchen"]);
/// assert_eq!(rooms.weight_at(keyexpr::new("house/bath")?), Some(&2));
/// # Ok::<(), zonda_codec::KeyExprError>(())
/// ```
pub struct KeBoxTree<Weight, Wildness = bool, Children = KeyedSetProvider> {
    below: Below<Weight>,
    /// Set once a key with a wildcard was inserted.
    is_wild: bool,
    named: PhantomData<fn() -> (Wildness, Children)>,
}

type Below<Weight> = BTreeMap<Box<str>, Node<Weight>>;

/// A node of a [`KeBoxTree`], with or without a value.
#[derive(Debug, Clone)]
pub struct Node<Weight> {
    key: OwnedKeyExpr,
    weight: Option<Weight>,
    below: Below<Weight>,
    /// Set once a chunk that no wildcard matches (`@..`) was inserted below it.
    has_verbatim: bool,
}

impl<Weight> Node<Weight> {
    fn new(key: OwnedKeyExpr) -> Self {
        Node {
            key,
            weight: None,
            below: BTreeMap::new(),
            has_verbatim: false,
        }
    }

    /// Returns the key of the node.
    pub fn keyexpr(&self) -> OwnedKeyExpr {
        self.key.clone()
    }

    /// Returns the value, if there is one.
    pub fn weight(&self) -> Option<&Weight> {
        self.weight.as_ref()
    }

    /// Returns the value, mutably.
    pub fn weight_mut(&mut self) -> Option<&mut Weight> {
        self.weight.as_mut()
    }

    /// Removes and returns the value.
    pub fn take_weight(&mut self) -> Option<Weight> {
        self.weight.take()
    }

    /// Inserts a value, and returns the previous one.
    pub fn insert_weight(&mut self, weight: Weight) -> Option<Weight> {
        self.weight.replace(weight)
    }

    /// Returns the nodes one chunk below this one.
    pub fn children(&self) -> Children<'_, Weight> {
        Children(&self.below)
    }

    /// Returns true if a node that intersects `key` may be below.
    fn leads_to(&self, key: &keyexpr) -> bool {
        self.has_verbatim || intersects(&format!("{}/**", self.key), key.as_str())
    }
}

/// The nodes one chunk below a [`Node`].
#[derive(Debug)]
pub struct Children<'a, Weight>(&'a Below<Weight>);

impl<'a, Weight> Children<'a, Weight> {
    /// Returns true if no node is below.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Counts the nodes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Iterates over the nodes in alphabetic order.
    pub fn iter(&self) -> impl Iterator<Item = &'a Node<Weight>> + use<'a, Weight> {
        self.0.values()
    }
}

/// A node of a [`KeBoxTree`] whose value may be changed while the places below it are visited.
#[derive(Debug)]
pub struct NodeMut<'a, Weight> {
    key: &'a OwnedKeyExpr,
    weight: &'a mut Option<Weight>,
}

impl<Weight> NodeMut<'_, Weight> {
    /// Clones the key of the node.
    pub fn keyexpr(&self) -> OwnedKeyExpr {
        self.key.clone()
    }

    /// Returns the value, if there is one.
    pub fn weight(&self) -> Option<&Weight> {
        self.weight.as_ref()
    }

    /// Returns the value, mutably.
    pub fn weight_mut(&mut self) -> Option<&mut Weight> {
        self.weight.as_mut()
    }

    /// Removes and returns the value.
    pub fn take_weight(&mut self) -> Option<Weight> {
        self.weight.take()
    }

    /// Inserts a value and returns the previous one.
    pub fn insert_weight(&mut self, weight: Weight) -> Option<Weight> {
        self.weight.replace(weight)
    }
}

/// Read access to a tree of keys.
///
/// The reference's traits also name the types of iterators.
pub trait IKeyExprTree<'a, Weight: 'a> {
    /// A node in the tree, mutably.
    type Node: 'a;

    /// Returns the node of this key, if it was ever made; the key is no pattern here.
    fn node(&'a self, key: &keyexpr) -> Option<&'a Self::Node>;

    /// Returns the value of this key; the key is no pattern here.
    fn weight_at(&'a self, key: &keyexpr) -> Option<&'a Weight>;

    /// Returns every node, also without a value.
    fn tree_iter(&'a self) -> impl Iterator<Item = &'a Self::Node>;

    /// Returns every key that has a value, with it.
    fn key_value_pairs(&'a self) -> impl Iterator<Item = (OwnedKeyExpr, &'a Weight)>;

    /// Returns the nodes whose keys intersect `key`, also without a value.
    fn intersecting_nodes(&'a self, key: &'a keyexpr) -> impl Iterator<Item = &'a Self::Node>;

    /// Returns the keys that have a value and intersect `key`.
    fn intersecting_keys(&'a self, key: &'a keyexpr) -> impl Iterator<Item = OwnedKeyExpr>;

    /// Returns the nodes whose keys `key` includes, also without a value.
    fn included_nodes(&'a self, key: &'a keyexpr) -> impl Iterator<Item = &'a Self::Node>;

    /// Returns the keys that have a value and that `key` includes.
    fn included_keys(&'a self, key: &'a keyexpr) -> impl Iterator<Item = OwnedKeyExpr>;

    /// Returns the nodes whose keys include `key`, also without a value.
    fn nodes_including(&'a self, key: &'a keyexpr) -> impl Iterator<Item = &'a Self::Node>;

    /// Returns the keys that have a value and include `key`.
    fn keys_including(&'a self, key: &'a keyexpr) -> impl Iterator<Item = OwnedKeyExpr>;
}

/// Write access to a tree of keys.
pub trait IKeyExprTreeMut<'a, Weight: 'a>: IKeyExprTree<'a, Weight> {
    /// Returns the node of this key, if it was ever made; the key is no pattern here.
    fn node_mut<'b>(&'b mut self, key: &keyexpr) -> Option<&'b mut Self::Node>;

    /// Returns the value of this key, mutably.
    fn weight_at_mut<'b>(&'b mut self, key: &keyexpr) -> Option<&'b mut Weight>
    where
        'a: 'b;

    /// Returns the node of this key, which is created if it is absent.
    fn node_mut_or_create<'b>(&'b mut self, key: &keyexpr) -> &'b mut Self::Node;

    /// Returns every node, also without a value, for changing values.
    fn tree_iter_mut(&'a mut self) -> impl Iterator<Item = NodeMut<'a, Weight>>;

    /// Returns the nodes whose keys intersect `key`, also without a value, for changing values.
    fn intersecting_nodes_mut(
        &'a mut self,
        key: &'a keyexpr,
    ) -> impl Iterator<Item = NodeMut<'a, Weight>>;

    /// Returns the nodes whose keys `key` includes, also without a value, for changing values.
    fn included_nodes_mut(
        &'a mut self,
        key: &'a keyexpr,
    ) -> impl Iterator<Item = NodeMut<'a, Weight>>;

    /// Returns the nodes whose keys include `key`, also without a value, for changing values.
    fn nodes_including_mut(
        &'a mut self,
        key: &'a keyexpr,
    ) -> impl Iterator<Item = NodeMut<'a, Weight>>;

    /// Inserts a value, and returns the previous one of the key.
    fn insert(&mut self, key: &keyexpr, weight: Weight) -> Option<Weight>;

    /// Removes the value of this key. Its node stays until [`prune`](Self::prune).
    fn remove(&mut self, key: &keyexpr) -> Option<Weight>;

    /// Removes nodes for which the predicate returns true and which have no child; lowest first.
    fn prune_where<F: FnMut(&mut Self::Node) -> bool>(&mut self, predicate: F);

    /// Removes nodes without a value below which there is none.
    fn prune(&mut self);
}

impl<Weight, Wildness, Children> KeBoxTree<Weight, Wildness, Children> {
    /// Creates an empty tree.
    pub fn new() -> Self {
        Self::default()
    }

    fn find<'a>(
        &'a self,
        key: &'a keyexpr,
        is_wanted: impl Fn(&keyexpr) -> bool + 'a,
    ) -> impl Iterator<Item = &'a Node<Weight>> {
        // Without wildcards on either side there is one node to look at.
        let is_plain = !self.is_wild && !key.is_wild();
        let one = is_plain.then(|| self.place(key)).flatten();
        let walk = (!is_plain).then(|| Walk::new(&self.below, Some(key)));
        let found = walk.into_iter().flatten();
        one.into_iter()
            .chain(found.filter(move |node| is_wanted(&node.key)))
    }

    fn place(&self, key: &keyexpr) -> Option<&Node<Weight>> {
        let mut chunks = key.chunks();
        let first = self.below.get(chunks.next()?.as_str())?;
        chunks.try_fold(first, |node, chunk| node.below.get(chunk.as_str()))
    }
}

/// Iterator over the nodes that can intersect a key, or over all, each before those below it.
struct Walk<'a, Weight> {
    key: Option<&'a keyexpr>,
    open: Vec<std::collections::btree_map::Values<'a, Box<str>, Node<Weight>>>,
}

impl<'a, Weight> Walk<'a, Weight> {
    fn new(below: &'a Below<Weight>, key: Option<&'a keyexpr>) -> Self {
        Walk {
            key,
            open: vec![below.values()],
        }
    }
}

impl<'a, Weight> Iterator for Walk<'a, Weight> {
    type Item = &'a Node<Weight>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(level) = self.open.last_mut() {
            let Some(node) = level.next() else {
                self.open.pop();
                continue;
            };
            if !node.below.is_empty() && self.key.is_none_or(|key| node.leads_to(key)) {
                self.open.push(node.below.values());
            }
            return Some(node);
        }
        None
    }
}

/// Iterator like [`Walk`], for changing values.
struct WalkMut<'a, Weight> {
    key: Option<&'a keyexpr>,
    open: Vec<std::collections::btree_map::ValuesMut<'a, Box<str>, Node<Weight>>>,
}

impl<'a, Weight> WalkMut<'a, Weight> {
    fn new(below: &'a mut Below<Weight>, key: Option<&'a keyexpr>) -> Self {
        WalkMut {
            key,
            open: vec![below.values_mut()],
        }
    }
}

impl<'a, Weight> Iterator for WalkMut<'a, Weight> {
    type Item = NodeMut<'a, Weight>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(level) = self.open.last_mut() {
            let Some(node) = level.next() else {
                self.open.pop();
                continue;
            };
            let may_be_below = self.key.is_none_or(|key| node.leads_to(key));
            let Node {
                key, weight, below, ..
            } = node;
            if !below.is_empty() && may_be_below {
                self.open.push(below.values_mut());
            }
            return Some(NodeMut { key, weight });
        }
        None
    }
}

fn valued<'a, Weight: 'a>(
    nodes: impl Iterator<Item = &'a Node<Weight>>,
) -> impl Iterator<Item = OwnedKeyExpr> {
    nodes
        .filter(|node| node.weight.is_some())
        .map(Node::keyexpr)
}

impl<'a, Weight: 'a, Wildness: 'a, Children: 'a> IKeyExprTree<'a, Weight>
    for KeBoxTree<Weight, Wildness, Children>
{
    type Node = Node<Weight>;

    fn node(&'a self, key: &keyexpr) -> Option<&'a Node<Weight>> {
        self.place(key)
    }

    fn weight_at(&'a self, key: &keyexpr) -> Option<&'a Weight> {
        self.place(key)?.weight()
    }

    fn tree_iter(&'a self) -> impl Iterator<Item = &'a Node<Weight>> {
        Walk::new(&self.below, None)
    }

    fn key_value_pairs(&'a self) -> impl Iterator<Item = (OwnedKeyExpr, &'a Weight)> {
        self.tree_iter()
            .filter_map(|node| Some((node.keyexpr(), node.weight()?)))
    }

    fn intersecting_nodes(&'a self, key: &'a keyexpr) -> impl Iterator<Item = &'a Node<Weight>> {
        self.find(key, |other| other.intersects(key))
    }

    fn intersecting_keys(&'a self, key: &'a keyexpr) -> impl Iterator<Item = OwnedKeyExpr> {
        valued(self.intersecting_nodes(key))
    }

    fn included_nodes(&'a self, key: &'a keyexpr) -> impl Iterator<Item = &'a Node<Weight>> {
        self.find(key, |other| key.includes(other))
    }

    fn included_keys(&'a self, key: &'a keyexpr) -> impl Iterator<Item = OwnedKeyExpr> {
        valued(self.included_nodes(key))
    }

    fn nodes_including(&'a self, key: &'a keyexpr) -> impl Iterator<Item = &'a Node<Weight>> {
        self.find(key, |other| other.includes(key))
    }

    fn keys_including(&'a self, key: &'a keyexpr) -> impl Iterator<Item = OwnedKeyExpr> {
        valued(self.nodes_including(key))
    }
}

impl<'a, Weight: 'a, Wildness: 'a, Children: 'a> IKeyExprTreeMut<'a, Weight>
    for KeBoxTree<Weight, Wildness, Children>
{
    fn node_mut<'b>(&'b mut self, key: &keyexpr) -> Option<&'b mut Node<Weight>> {
        let mut chunks = key.chunks();
        let first = self.below.get_mut(chunks.next()?.as_str())?;
        chunks.try_fold(first, |node, chunk| node.below.get_mut(chunk.as_str()))
    }

    fn weight_at_mut<'b>(&'b mut self, key: &keyexpr) -> Option<&'b mut Weight>
    where
        'a: 'b,
    {
        self.node_mut(key)?.weight_mut()
    }

    fn node_mut_or_create<'b>(&'b mut self, key: &keyexpr) -> &'b mut Node<Weight> {
        self.is_wild |= key.is_wild();
        let has_verbatim = key.as_str().contains('@');
        let (text, mut end) = (key.as_str(), 0);
        let first = text.split('/').next().unwrap_or(text);
        end += first.len();
        let whole = || Node::new(KeyExpr::from(keyexpr::from_str_unchecked(first)).into_owned());
        let mut node = self.below.entry(first.into()).or_insert_with(whole);
        while end < text.len() {
            node.has_verbatim |= has_verbatim;
            let rest = &text[end + 1..];
            let chunk = rest.split('/').next().unwrap_or(rest);
            end += 1 + chunk.len();
            let whole =
                || Node::new(KeyExpr::from(keyexpr::from_str_unchecked(&text[..end])).into_owned());
            node = node.below.entry(chunk.into()).or_insert_with(whole);
        }
        node
    }

    fn tree_iter_mut(&'a mut self) -> impl Iterator<Item = NodeMut<'a, Weight>> {
        WalkMut::new(&mut self.below, None)
    }

    fn intersecting_nodes_mut(
        &'a mut self,
        key: &'a keyexpr,
    ) -> impl Iterator<Item = NodeMut<'a, Weight>> {
        let walk = WalkMut::new(&mut self.below, Some(key));
        walk.filter(|place| place.key.intersects(key))
    }

    fn included_nodes_mut(
        &'a mut self,
        key: &'a keyexpr,
    ) -> impl Iterator<Item = NodeMut<'a, Weight>> {
        let walk = WalkMut::new(&mut self.below, Some(key));
        walk.filter(|place| key.includes(place.key))
    }

    fn nodes_including_mut(
        &'a mut self,
        key: &'a keyexpr,
    ) -> impl Iterator<Item = NodeMut<'a, Weight>> {
        let walk = WalkMut::new(&mut self.below, Some(key));
        walk.filter(|place| place.key.includes(key))
    }

    fn insert(&mut self, key: &keyexpr, weight: Weight) -> Option<Weight> {
        self.node_mut_or_create(key).insert_weight(weight)
    }

    fn remove(&mut self, key: &keyexpr) -> Option<Weight> {
        self.node_mut(key)?.take_weight()
    }

    fn prune_where<F: FnMut(&mut Node<Weight>) -> bool>(&mut self, mut predicate: F) {
        prune(&mut self.below, &mut predicate);
    }

    fn prune(&mut self) {
        self.prune_where(|node| node.weight.is_none());
    }
}

/// Removes nodes recursively, as deep as the longest key has chunks.
fn prune<Weight>(below: &mut Below<Weight>, predicate: &mut impl FnMut(&mut Node<Weight>) -> bool) {
    below.retain(|_, node| {
        prune(&mut node.below, predicate);
        !(node.below.is_empty() && predicate(node))
    });
}

impl<Weight, Wildness, Children> Default for KeBoxTree<Weight, Wildness, Children> {
    fn default() -> Self {
        KeBoxTree {
            below: BTreeMap::new(),
            is_wild: false,
            named: PhantomData,
        }
    }
}

impl<Weight: Clone, Wildness, Children> Clone for KeBoxTree<Weight, Wildness, Children> {
    fn clone(&self) -> Self {
        KeBoxTree {
            below: self.below.clone(),
            is_wild: self.is_wild,
            named: PhantomData,
        }
    }
}

impl<Weight: fmt::Debug, Wildness, Children> fmt::Debug for KeBoxTree<Weight, Wildness, Children> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes = Walk::new(&self.below, None);
        let pairs = nodes.filter_map(|node| Some((node.key.as_str(), node.weight()?)));
        f.debug_map().entries(pairs).finish()
    }
}

#[cfg(test)]
mod tests;
