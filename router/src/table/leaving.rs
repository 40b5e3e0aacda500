// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is left to forget of a neighbour that is gone.

use std::collections::hash_map;
use std::vec;

use crate::table::{
    announced::{Announced, AnnouncedIds},
    entities::{Declarations, IntoDeclared},
    kept::Kept,
    kind::{EntityRef, Kind, PerKind},
};

/// What is left to forget of one neighbour.
#[derive(Debug)]
pub(super) struct Leaving {
    slot: u32,
    interests: vec::IntoIter<(u32, Kept)>,
    announced: PerKind<hash_map::IntoKeys<u32, Announced>>,
    declared: IntoDeclared,
}

/// One thing to forget.
pub(super) enum Step {
    Interest(u32, Kept),
    Announced(EntityRef),
    Declared(EntityRef),
}

impl Leaving {
    /// Of a face that stood at `slot`.
    pub(super) fn new(
        slot: u32,
        interests: Vec<(u32, Kept)>,
        announced: AnnouncedIds,
        declared: Declarations,
    ) -> Self {
        Leaving {
            slot,
            interests: interests.into_iter(),
            announced: announced.into_entities(),
            declared: declared.into_declared(),
        }
    }

    /// Where the face stood.
    pub(super) const fn slot(&self) -> u32 {
        self.slot
    }
}

impl Iterator for Leaving {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if let Some((id, kept)) = self.interests.next() {
            return Some(Step::Interest(id, kept));
        }
        Kind::ALL.into_iter().find_map(|kind| {
            if let Some(index) = self.announced.of_mut(kind).next() {
                return Some(Step::Announced(EntityRef { kind, index }));
            }
            let index = self.declared.next_of(kind)?;
            Some(Step::Declared(EntityRef { kind, index }))
        })
    }
}
