// SPDX-License-Identifier: MIT OR Apache-2.0

//! State that is left to remove of neighbours that are gone.

use std::fmt;

use crate::table::{announced::AnnouncedIds, entities::Declarations, kept::Kept, kind::EntityRef};

/// State that is left to remove of one neighbour.
pub(super) struct Leaving {
    /// Slot of the face.
    pub(super) slot: u32,
    pub(super) steps: Box<dyn Iterator<Item = Step> + Send + Sync>,
}

/// One piece of state to remove.
pub(super) enum Step {
    Interest(u32, Kept),
    Announced(EntityRef),
    Declared(EntityRef),
}

impl Leaving {
    /// Returns the state of a face that had the slot `slot`.
    pub(super) fn new(
        slot: u32,
        interests: Vec<(u32, Kept)>,
        announced: AnnouncedIds,
        declared: Declarations,
    ) -> Self {
        let interests = interests.into_iter();
        let steps = interests
            .map(|(id, kept)| Step::Interest(id, kept))
            .chain(announced.into_entities().map(Step::Announced))
            .chain(declared.into_entities().map(Step::Declared));
        Leaving {
            slot,
            steps: Box::new(steps),
        }
    }
}

impl fmt::Debug for Leaving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leaving")
            .field("slot", &self.slot)
            .finish_non_exhaustive()
    }
}
