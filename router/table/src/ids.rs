// SPDX-License-Identifier: MIT OR Apache-2.0

//! Key expression ids of one face: those the neighbour declared and those this node declared to it,
//! two separate spaces, distinguished by the mapping bit of each use.
//!
//! This node undeclares none of its ids while the face lives: a U_KEYEXPR travels on the control
//! lane and could overtake data that still uses the id.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use zonda_codec::{Mapping, WireExpr, key_expr};

use crate::key_tree::KeyTree;

/// Number of open interests whose answers confirm ids.
const ASKED_MAX: usize = 1024;

/// Ids in both directions, and the search for the best of them by a text.
#[derive(Debug, Default)]
pub(super) struct KeyIds {
    theirs: HashMap<u16, PeerKeyId>,
    ours: HashMap<u16, Arc<str>>,
    texts: KeyTree<(Mapping, u16)>,
    /// The highest id declared by this node.
    last: u16,
    /// Ids of this node that the neighbour has received, where data may overtake declarations. In a
    /// box, as few faces have it.
    heard: Option<Box<ConfirmedIds>>,
}

/// Ids of this node that the neighbour has confirmed: it answers an interest after it has received
/// all earlier declarations.
#[derive(Debug, Default)]
struct ConfirmedIds {
    /// The last confirmed id; the neighbour has all before it too.
    last: u16,
    /// Interests without an answer, each with the last id that was declared before it.
    asked: VecDeque<(u32, u16)>,
}

/// An id that the neighbour declared.
#[derive(Debug)]
struct PeerKeyId {
    text: Arc<str>,
    /// True if a kept route is spelled with it.
    is_used: bool,
}

/// Spelling of a key: an id, and the byte offset where the text after it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spelling {
    pub(super) scope: u16,
    pub(super) mapping: Mapping,
    pub(super) skip: usize,
}

impl Spelling {
    /// Returns the spelling of a key in full.
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

/// Outcome of the declaration of an id by the neighbour.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Learned {
    New,
    Known,
    /// The id stands for another text already.
    Conflict,
}

impl KeyIds {
    /// Returns the text of an id of either space.
    pub(super) fn text(&self, scope: u16, mapping: Mapping) -> Option<&Arc<str>> {
        match mapping {
            Mapping::Sender => self.theirs.get(&scope).map(|id| &id.text),
            Mapping::Receiver => self.ours.get(&scope),
        }
    }

    /// Counts the ids that the neighbour declared.
    pub(super) fn their_count(&self) -> usize {
        self.theirs.len()
    }

    /// Counts the ids that this node declared.
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
                self.theirs.insert(id, PeerKeyId { text, is_used });
                Learned::New
            }
        }
    }

    /// Removes an id of the neighbour; returns its text, and true if a route is spelled with it.
    pub(super) fn forget(&mut self, id: u16) -> Option<(Arc<str>, bool)> {
        let PeerKeyId { text, is_used } = self.theirs.remove(&id)?;
        self.texts.remove(&text, (Mapping::Receiver, id));
        Some((text, is_used))
    }

    /// Records that a route is spelled with an id of the neighbour.
    pub(super) fn note_used(&mut self, id: u16) {
        if let Some(id) = self.theirs.get_mut(&id) {
            id.is_used = true;
        }
    }

    /// Declares `text` under the next id that neither side uses, if one is left.
    pub(super) fn declare(&mut self, text: &str) -> Option<u16> {
        let id = (self.last.checked_add(1)?..=u16::MAX).find(|id| !self.theirs.contains_key(id))?;
        self.last = id;
        self.texts.insert(text, (Mapping::Sender, id));
        self.ours.insert(id, text.into());
        Some(id)
    }

    /// Requires a confirmation of each id before data uses it, as data may overtake declarations.
    pub(super) fn expect_reordering(&mut self) {
        self.heard.get_or_insert_default();
    }

    /// Records that an interest was sent to the neighbour.
    pub(super) fn note_asked(&mut self, interest: u32) {
        if let Some(heard) = self.heard.as_mut().filter(|heard| heard.last < self.last) {
            heard.asked.push_back((interest, self.last));
            if heard.asked.len() > ASKED_MAX {
                heard.asked.pop_front();
            }
        }
    }

    /// Records that the neighbour has answered an interest, which confirms all ids declared before it.
    pub(super) fn note_answered(&mut self, interest: u32) {
        let Some(heard) = &mut self.heard else {
            return;
        };
        if let Some(at) = heard.asked.iter().position(|(id, _)| *id == interest) {
            let newest = heard.asked.drain(..=at).map(|(_, last)| last).max();
            heard.last = heard.last.max(newest.unwrap_or_default());
        }
    }

    /// Returns the best spelling of a key in data to the neighbour: the longest text that has an
    /// id, and the neighbour's of two ids for that text. Ids that the neighbour has not confirmed
    /// are not used.
    pub(super) fn spell(&self, key: &str) -> Spelling {
        let Some(heard) = &self.heard else {
            return self.spell_with(key, |_| true);
        };
        self.spell_with(key, |(mapping, id)| match mapping {
            Mapping::Receiver => true,
            Mapping::Sender => *id <= heard.last,
        })
    }

    fn spell_with(&self, key: &str, knows: impl Fn(&(Mapping, u16)) -> bool) -> Spelling {
        let Some((skip, ids)) = self.texts.longest_prefix_with(key, &knows) else {
            return Spelling::full();
        };
        match ids.iter().filter(|id| knows(id)).min() {
            Some(&(mapping, scope)) => Spelling {
                scope,
                mapping,
                skip,
            },
            None => Spelling::full(),
        }
    }

    /// Returns the spelling of a key in a declaration: by an id for its whole [`beginning`], or in full.
    pub(super) fn spell_declared(&self, key: &str) -> Spelling {
        let best = self.spell_with(key, |_| true);
        if best.skip >= beginning(key).len() {
            best
        } else {
            Spelling::full()
        }
    }
}

/// Returns the part of a key that an id is declared for: all before its first chunk with a wildcard.
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

    /// Declarations arrive in order, so they may use the id at once.
    #[test]
    fn data_that_may_overtake_is_spelled_with_an_own_id_once_the_neighbour_has_answered() {
        let mut ids = KeyIds::default();
        ids.expect_reordering();
        let full = |key: &str| (0, Mapping::Sender, key.to_owned());
        assert_eq!(ids.declare("a"), Some(1));
        ids.note_asked(10);
        assert_eq!(ids.declare("a/b"), Some(2));
        ids.note_asked(11);
        assert_eq!(ids.declare("c"), Some(3));
        assert_eq!(
            (spell(&ids, "a/b"), spell(&ids, "c")),
            (full("a/b"), full("c"))
        );
        assert_eq!(ids.spell_declared("a/b").scope, 2);
        ids.note_answered(12);
        assert_eq!(spell(&ids, "a/b"), full("a/b"));
        ids.note_answered(10);
        assert_eq!(spell(&ids, "a/b"), (1, Mapping::Sender, "/b".into()));
        assert_eq!(ids.learn(7, "c".into()), Learned::New);
        assert_eq!(spell(&ids, "c/d"), (7, Mapping::Receiver, "/d".into()));
        ids.note_answered(11);
        assert_eq!(spell(&ids, "a/b"), (2, Mapping::Sender, String::new()));
        ids.note_asked(13);
        ids.note_answered(13);
        assert_eq!((ids.forget(7).is_some(), spell(&ids, "c").0), (true, 3));
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
