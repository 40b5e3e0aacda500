// SPDX-License-Identifier: MIT OR Apache-2.0

//! Owners of parts of the tree, so that a search for one face skips the face's own values, however
//! many they are.
//!
//! Each node records which face alone has the values at it and below it, if there is one. Adjacent
//! children of a list with the same owner are a run; the first and the last node of a run point to
//! each other, so a search skips a run in one step. Between two runs of a face there is a child
//! with a value of another face, so there is at most one more run than such children.

use crate::key_tree::{KeyTree, NONE, Node, PLAIN, WILD, list_of};

/// The face that alone has some values, by its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner(u32);

impl Owner {
    /// No face: there are no values.
    pub(crate) const NOBODY: Owner = Owner(u32::MAX);
    /// Several faces.
    pub(crate) const SEVERAL: Owner = Owner(u32::MAX - 1);

    /// Returns the owner for the face at this slot.
    pub(crate) const fn face(slot: u32) -> Self {
        Owner(slot)
    }

    /// Returns the slot of the face.
    pub(crate) const fn place(self) -> u32 {
        self.0
    }

    /// Joins the owners of two sets of values.
    fn and(self, other: Owner) -> Owner {
        match (self, other) {
            (Owner::NOBODY, owner) | (owner, Owner::NOBODY) => owner,
            (one, other) if one == other => one,
            _ => Owner::SEVERAL,
        }
    }
}

impl<V: Copy + Eq> KeyTree<V> {
    /// Updates the owners from a place upwards after the values there have another owner, or the
    /// node has lost a child.
    pub(crate) fn settle_owner(&mut self, mut at: u32, owner_of: impl Fn(V) -> Owner) {
        while let Some(node) = self.nodes.get(at) {
            let owner = self.owner_from(node, &owner_of);
            if owner == node.owner {
                return;
            }
            let parent = node.parent;
            self.label(at, owner);
            at = parent;
        }
    }

    /// Returns the owner of all values at and below a node, from its values and its children.
    fn owner_from(&self, node: &Node<V>, owner_of: &impl Fn(V) -> Owner) -> Owner {
        let values = node.values.as_slice().iter();
        let own = values.fold(Owner::NOBODY, |owner, value| owner.and(owner_of(*value)));
        [PLAIN, WILD].into_iter().fold(own, |owner, list| {
            let first = node.children.get(list).and_then(|at| self.nodes.get(*at));
            first.map_or(owner, |first| {
                let last = self.nodes.get(first.run);
                match last.is_some_and(|last| last.next == NONE) {
                    true => owner.and(first.owner),
                    false => Owner::SEVERAL,
                }
            })
        })
    }

    /// Sets the owner of a node. The node keeps its position in its list unless it is in the middle
    /// of a run.
    fn label(&mut self, at: u32, owner: Owner) {
        let Some(node) = self.nodes.get(at) else {
            return;
        };
        let (previous, next) = (node.previous, node.next);
        // A node in the middle of a run moves to the head of the list instead of splitting the run.
        if !self.is_first(node) && !self.is_last(node) {
            self.unlink(at);
            if let Some(node) = self.nodes.get_mut(at) {
                node.owner = owner;
            }
            self.link(at);
            // A suspended search may have passed the old position and not yet the new one.
            self.displaced += 1;
            return;
        }
        // At either end of its run, the node joins the runs of its new owner on both sides.
        self.leave_run(at);
        if let Some(node) = self.nodes.get_mut(at) {
            node.owner = owner;
        }
        let end = |beside: u32| {
            let beside = self.nodes.get(beside);
            beside.filter(|beside| beside.owner == owner).map(|b| b.run)
        };
        let (first, last) = (end(previous).unwrap_or(at), end(next).unwrap_or(at));
        self.join(first, last);
    }

    /// Inserts a node in front of the children of its parent.
    pub(super) fn link(&mut self, at: u32) {
        let Some(node) = self.nodes.get(at) else {
            return;
        };
        let (owner, parent, list) = (node.owner, node.parent, list_of(node.chunk.as_str()));
        let mut head = NONE;
        if let Some(parent) = self.nodes.get_mut(parent) {
            head = std::mem::replace(&mut parent.children[list], at);
        }
        let mut last = at;
        if let Some(head) = self.nodes.get_mut(head) {
            head.previous = at;
            if head.owner == owner {
                last = head.run;
            }
        }
        if let Some(node) = self.nodes.get_mut(at) {
            (node.previous, node.next) = (NONE, head);
        }
        self.join(at, last);
    }

    /// Removes a node from the list of its parent.
    pub(super) fn unlink(&mut self, at: u32) {
        let Some(node) = self.nodes.get(at) else {
            return;
        };
        let (previous, next, parent) = (node.previous, node.next, node.parent);
        let list = list_of(node.chunk.as_str());
        let was_alone = self.is_first(node) && self.is_last(node);
        self.leave_run(at);
        if let Some(next) = self.nodes.get_mut(next) {
            next.previous = previous;
        }
        if let Some(previous) = self.nodes.get_mut(previous) {
            previous.next = next;
        } else if let Some(parent) = self.nodes.get_mut(parent) {
            parent.children[list] = next;
        }
        // The two runs that the node divided are one now.
        if was_alone
            && let (Some(before), Some(after)) = (self.nodes.get(previous), self.nodes.get(next))
            && before.owner == after.owner
        {
            self.join(before.run, after.run);
        }
    }

    /// Updates the ends of a node's run for the rest of the run.
    fn leave_run(&mut self, at: u32) {
        let Some(node) = self.nodes.get(at) else {
            return;
        };
        match (self.is_first(node), self.is_last(node)) {
            (true, false) => self.join(node.next, node.run),
            (false, true) => self.join(node.run, node.previous),
            _ => {}
        }
    }

    /// Records the two ends of a run.
    fn join(&mut self, first: u32, last: u32) {
        for (end, other) in [(first, last), (last, first)] {
            if let Some(end) = self.nodes.get_mut(end) {
                end.run = other;
            }
        }
    }

    fn is_first(&self, node: &Node<V>) -> bool {
        let previous = self.nodes.get(node.previous);
        previous.is_none_or(|previous| previous.owner != node.owner)
    }

    fn is_last(&self, node: &Node<V>) -> bool {
        let next = self.nodes.get(node.next);
        next.is_none_or(|next| next.owner != node.owner)
    }

    /// Returns the next child; behind a run of `except`, if this child is the first of one.
    pub(super) fn behind(&self, node: &Node<V>, except: Option<Owner>) -> u32 {
        if except == Some(node.owner) && self.is_first(node) {
            return self.nodes.get(node.run).map_or(NONE, |last| last.next);
        }
        node.next
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::key_tree::{pattern::Pattern, steps::Steps, walk::Walk};

    type Sources = Vec<Vec<u32>>;

    fn owner_of(sources: &Sources, value: u32) -> Owner {
        match sources[value as usize].as_slice() {
            [] => Owner::NOBODY,
            [one] => Owner::face(*one),
            _ => Owner::SEVERAL,
        }
    }

    /// Returns a key of up to three chunks of `a` to `c` or a wildcard.
    fn key(number: u32) -> String {
        let chunks =
            (0..=number % 3).map(|at| ["a", "b", "c", "*"][(number >> (2 * at)) as usize % 4]);
        chunks.collect::<Vec<_>>().join("/")
    }

    /// A tree and the faces that have each of its values.
    #[derive(Default)]
    struct Owned {
        tree: KeyTree<u32>,
        sources: Sources,
    }

    impl Owned {
        fn toggle(&mut self, value: u32, face: u32) {
            self.sources.resize(64.max(self.sources.len()), Vec::new());
            let place = self.tree.place(&key(value));
            self.tree.insert_at(place, value);
            let sources = &mut self.sources[value as usize];
            match sources.iter().position(|source| *source == face) {
                Some(at) => drop(sources.remove(at)),
                None => sources.push(face),
            }
            let sources = &self.sources;
            match sources[value as usize].is_empty() {
                true => drop(
                    self.tree
                        .remove_at(place, value, |value| owner_of(sources, value)),
                ),
                false => self
                    .tree
                    .settle_owner(place, |value| owner_of(sources, value)),
            }
        }

        fn found(&self, except: Option<Owner>) -> (Vec<u32>, usize) {
            let (mut walk, steps, mut all) = (Walk::except(except), Steps::unlimited(), Vec::new());
            let found = &mut |values: &[u32]| {
                all.extend_from_slice(values);
                ControlFlow::Continue(())
            };
            self.tree
                .search(&Pattern::new("**"), &mut walk, &steps, found);
            all.sort_unstable();
            (all, steps.spent())
        }
    }

    proptest! {
        /// A search finds all values that another face has, and a face's own values cost it no steps.
        #[test]
        fn a_search_passes_over_what_one_face_has_alone(
            toggles in vec((0..64_u32, 0..3_u32), 1..200)
        ) {
            let mut owned = Owned::default();
            for (value, face) in toggles {
                owned.toggle(value, face);
                let all: Vec<u32> = (0..64).filter(|v| !owned.sources[*v as usize].is_empty()).collect();
                prop_assert_eq!(&owned.found(None).0, &all);
                let others = |v: &&u32| owned.sources[**v as usize] != [face];
                let others: Vec<u32> = all.iter().filter(others).copied().collect();
                let (found, steps) = owned.found(Some(Owner::face(face)));
                prop_assert!(others.iter().all(|value| found.contains(value)));
                let own_on_the_way = found.len() - others.len();
                let paths = 8 * (others.len() + 1);
                prop_assert!(own_on_the_way <= paths && steps <= 2 * paths, "{steps} {others:?}");
            }
        }
    }

    /// Keys of another face between those of one, in one list, inserted and removed.
    #[test]
    fn what_stands_between_is_not_left_out() {
        let mut tree: KeyTree<u32> = KeyTree::new();
        let owner = |value: u32| Owner::face(u32::from(value.is_multiple_of(100)));
        let places: Vec<u32> = (0..1000)
            .map(|value| {
                let place = tree.place(&format!("a/{value}"));
                tree.insert_at(place, value);
                tree.settle_owner(place, owner);
                place
            })
            .collect();
        let steps = |tree: &KeyTree<u32>, face: u32| {
            let (mut walk, steps) = (Walk::except(Some(Owner::face(face))), Steps::unlimited());
            let mut all = 0;
            let found = &mut |values: &[u32]| {
                all += values.len();
                ControlFlow::Continue(())
            };
            tree.search(&Pattern::new("a/*"), &mut walk, &steps, found);
            (all, steps.spent())
        };
        let (found, spent) = steps(&tree, 0);
        assert!(found == 10 && spent < 50, "{spent} steps for {found}");
        for value in (0..1000).step_by(100) {
            assert!(tree.remove_at(places[value], value as u32, owner));
        }
        let (found, spent) = steps(&tree, 0);
        assert!(found == 0 && spent < 5, "{spent} steps for {found}");
        assert_eq!(steps(&tree, 1).0, 990);
    }
}
