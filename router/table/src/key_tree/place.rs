// SPDX-License-Identifier: MIT OR Apache-2.0

//! Keys by the number of their place in the tree, for owners that store the number instead of the
//! text: the chunks up to the root are the text.

use crate::{
    key_tree::{KeyTree, Node, owner::Owner},
    limits::memory_of,
};

impl<V: Copy + Eq> KeyTree<V> {
    /// Returns the place of a key, inserted if needed; valid while the place has a value.
    pub(crate) fn place(&mut self, key: &str) -> u32 {
        self.find_or_add(key)
    }

    /// Returns the first value at a place.
    pub(crate) fn first_at(&self, place: u32) -> Option<V> {
        self.nodes.get(place)?.values.as_slice().first().copied()
    }

    /// Inserts a value at a place. False if it was present already.
    pub(crate) fn insert_at(&mut self, place: u32, value: V) -> bool {
        let node = self.nodes.get_mut(place);
        node.is_some_and(|node| node.values.insert_new(value))
    }

    /// Removes a value from a place. False if it was absent.
    pub(crate) fn remove_at(
        &mut self,
        place: u32,
        value: V,
        owner_of: impl Fn(V) -> Owner,
    ) -> bool {
        let node = self.nodes.get_mut(place);
        let removed = node.is_some_and(|node| node.values.remove(&value));
        if removed {
            self.prune(place, &owner_of);
        }
        removed
    }

    /// Writes the key of a place to `text`, replacing its content.
    pub(crate) fn write_key(&self, place: u32, text: &mut String) {
        text.clear();
        let mut chunks = vec![];
        chunks.extend(self.upwards(place));
        for chunk in chunks.into_iter().rev() {
            if !text.is_empty() {
                text.push('/');
            }
            text.push_str(chunk);
        }
    }

    /// Returns the memory that the key of a place counts as: see
    /// [`limits::key_memory`](crate::limits::key_memory).
    pub(crate) fn key_memory(&self, place: u32) -> usize {
        let sizes = self.upwards(place).map(|chunk| chunk.len() + 1);
        let (chunks, bytes) = sizes.fold((0, 0), |(chunks, sum), size| (chunks + 1, sum + size));
        memory_of(chunks, bytes.saturating_sub(1))
    }

    /// Returns true if the key of a place has wildcards.
    pub(crate) fn is_wild(&self, place: u32) -> bool {
        self.upwards(place).any(|chunk| chunk.contains('*'))
    }

    /// Returns true if `key` is the key of a place.
    pub(crate) fn is_key_of(&self, place: u32, key: &str) -> bool {
        self.upwards(place).eq(key.rsplit('/'))
    }

    /// Returns the chunks of the key of a place, the last one first.
    fn upwards(&self, place: u32) -> impl Iterator<Item = &str> {
        let above_root = |node: &&Node<V>| node.parent != crate::key_tree::NONE;
        let first = self.nodes.get(place).filter(above_root);
        let path = std::iter::successors(first, move |node| {
            self.nodes.get(node.parent).filter(above_root)
        });
        path.map(|node| node.chunk.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::key_memory;

    #[test]
    fn places_have_the_keys_they_were_made_for() {
        let mut tree: KeyTree<u32> = KeyTree::new();
        let keys = [
            "a",
            "a/b",
            "a/b/c",
            "*/b",
            "@v/a",
            "a/a_chunk_that_is_not_kept_in_place",
        ];
        let places: Vec<u32> = (0..)
            .zip(keys)
            .map(|(value, key)| {
                let place = tree.place(key);
                assert!(tree.insert_at(place, value));
                place
            })
            .collect();
        let mut text = "something else".to_owned();
        for ((value, key), &place) in (0..).zip(keys).zip(&places) {
            tree.write_key(place, &mut text);
            assert_eq!(
                (text.as_str(), tree.key_memory(place)),
                (key, key_memory(key))
            );
            assert_eq!(tree.first_at(place), Some(value));
            for other in keys.iter().chain(&["", "b", "x/a/b", "a/"]) {
                assert_eq!(tree.is_key_of(place, other), *other == key, "{other} {key}");
            }
        }
        for (value, &place) in (0..).zip(&places) {
            let mut remove = || tree.remove_at(place, value, |_| Owner::NOBODY);
            assert!(remove() && !remove());
        }
        assert!(tree.is_empty());
    }
}
