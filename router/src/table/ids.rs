// SPDX-License-Identifier: MIT OR Apache-2.0

//! Key expression ids of one face: those the neighbour declared and those this node declared to it, two
//! separate spaces, distinguished by the mapping bit of each use.
//!
//! Ids this node declared are never taken back while the face lives: an U_KEYEXPR travels on the control lane and could
//! overtake data that still uses the id.

use std::collections::HashMap;
use std::sync::Arc;

use zonda_codec::{Mapping, WireExpr, key_expr};

use crate::table::key_tree::KeyTree;

/// The ids in both directions, and the way from a text to the best of them.
#[derive(Debug, Default)]
pub(super) struct KeyIds {
    theirs: HashMap<u16, Theirs>,
    ours: HashMap<u16, Arc<str>>,
    texts: KeyTree<(Mapping, u16)>,
    /// The highest id given out by this node.
    last: u16,
}

/// An id the neighbour declared.
#[derive(Debug)]
struct Theirs {
    text: Arc<str>,
    /// A route that somebody keeps is spelled with it.
    is_used: bool,
}

/// How to write a key: an id, and from which byte on the text follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spelling {
    pub(super) scope: u16,
    pub(super) mapping: Mapping,
    pub(super) skip: usize,
}

impl Spelling {
    /// All as text.
    pub(super) const fn full() -> Self {
        Spelling {
            scope: 0,
            mapping: Mapping::Sender,
            skip: 0,
        }
    }

    pub(super) fn wire_expr(self, key: &str) -> WireExpr<'_> {
        WireExpr {
            scope: self.scope,
            suffix: key.get(self.skip..).unwrap_or(""),
            mapping: self.mapping,
        }
    }
}

/// What became of a declaration of an id by the neighbour.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Learned {
    New,
    Known,
    /// The id stands for another text already.
    Conflict,
}

impl KeyIds {
    /// The text of an id of either space.
    pub(super) fn text(&self, scope: u16, mapping: Mapping) -> Option<&Arc<str>> {
        match mapping {
            Mapping::Sender => self.theirs.get(&scope).map(|id| &id.text),
            Mapping::Receiver => self.ours.get(&scope),
        }
    }

    /// How many ids the neighbour declared.
    pub(super) fn their_count(&self) -> usize {
        self.theirs.len()
    }

    /// How many ids this node declared.
    pub(super) fn our_count(&self) -> usize {
        self.ours.len()
    }

    /// Records an id the neighbour declared.
    pub(super) fn learn(&mut self, id: u16, text: Arc<str>) -> Learned {
        match self.theirs.get(&id) {
            Some(known) if known.text == text => Learned::Known,
            Some(_) => Learned::Conflict,
            None => {
                self.texts.insert(&text, (Mapping::Receiver, id));
                let is_used = false;
                self.theirs.insert(id, Theirs { text, is_used });
                Learned::New
            }
        }
    }

    /// Forgets an id of the neighbour; gives back its text, and whether a route is spelled with it.
    pub(super) fn forget(&mut self, id: u16) -> Option<(Arc<str>, bool)> {
        let Theirs { text, is_used } = self.theirs.remove(&id)?;
        self.texts.remove(&text, (Mapping::Receiver, id));
        Some((text, is_used))
    }

    /// Notes that a route is spelled with an id of the neighbour.
    pub(super) fn note_used(&mut self, id: u16) {
        if let Some(id) = self.theirs.get_mut(&id) {
            id.is_used = true;
        }
    }

    /// Takes the next id that neither side uses for `text`, if one is left.
    pub(super) fn declare(&mut self, text: &str) -> Option<u16> {
        let id = (self.last.checked_add(1)?..=u16::MAX).find(|id| !self.theirs.contains_key(id))?;
        self.last = id;
        self.texts.insert(text, (Mapping::Sender, id));
        self.ours.insert(id, text.into());
        Some(id)
    }

    /// The best spelling of a key towards the neighbour: by the longest text that has an id, of two for the
    /// same text by the neighbour's.
    pub(super) fn spell(&self, key: &str) -> Spelling {
        let Some((skip, ids)) = self.texts.longest_prefix(key) else {
            return Spelling::full();
        };
        match ids.iter().min() {
            Some(&(mapping, scope)) => Spelling {
                scope,
                mapping,
                skip,
            },
            None => Spelling::full(),
        }
    }

    /// The spelling of a key in a declaration: by an id for its whole [`beginning`], or in full.
    pub(super) fn spell_declared(&self, key: &str) -> Spelling {
        let best = self.spell(key);
        if best.skip >= beginning(key).len() {
            best
        } else {
            Spelling::full()
        }
    }
}

/// The part of a key that an id is declared for: all before its first chunk with a wildcard.
pub(super) fn beginning(key: &str) -> &str {
    key_expr::literal_prefix(key).0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spell(ids: &KeyIds, key: &str) -> (u16, Mapping, String) {
        let spelling = ids.spell(key);
        let written = spelling.wire_expr(key);
        (written.scope, written.mapping, written.suffix.to_owned())
    }

    #[test]
    fn the_longest_text_wins_and_then_the_neighbours_id() {
        let mut ids = KeyIds::default();
        assert_eq!(spell(&ids, "a/b"), (0, Mapping::Sender, "a/b".into()));
        assert_eq!(ids.declare("a"), Some(1));
        assert_eq!(spell(&ids, "a/b"), (1, Mapping::Sender, "/b".into()));
        assert_eq!(ids.learn(7, "a".into()), Learned::New);
        assert_eq!(spell(&ids, "a/b"), (7, Mapping::Receiver, "/b".into()));
        assert_eq!(ids.declare("a/b"), Some(2));
        assert_eq!(spell(&ids, "a/b"), (2, Mapping::Sender, String::new()));
        assert_eq!(spell(&ids, "ab"), (0, Mapping::Sender, "ab".into()));
        assert!(ids.forget(7).is_some());
        assert_eq!(spell(&ids, "a/c"), (1, Mapping::Sender, "/c".into()));
    }

    #[test]
    fn an_id_keeps_its_text_until_it_is_undeclared() {
        let mut ids = KeyIds::default();
        assert_eq!(ids.learn(1, "a".into()), Learned::New);
        assert_eq!(ids.learn(1, "a".into()), Learned::Known);
        assert_eq!(ids.learn(1, "b".into()), Learned::Conflict);
        assert_eq!(ids.text(1, Mapping::Sender).map(|text| &**text), Some("a"));
        assert_eq!(ids.text(1, Mapping::Receiver), None);
        ids.forget(1);
        assert_eq!(ids.learn(1, "b".into()), Learned::New);
    }

    #[test]
    fn own_ids_avoid_those_of_the_neighbour_and_end_some_day() {
        let mut ids = KeyIds::default();
        ids.learn(1, "a".into());
        ids.learn(2, "b".into());
        assert_eq!(ids.declare("c"), Some(3));
        for id in 4..=u16::MAX {
            assert_eq!(ids.declare(&format!("k/{id}")), Some(id));
        }
        assert_eq!(ids.declare("too/many"), None);
        assert_eq!(ids.our_count(), 65_533);
    }
}
