// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is left to forget of a neighbour that is gone.

use std::fmt;

use crate::table::{announced::AnnouncedIds, entities::Declarations, kept::Kept, kind::EntityRef};

/// What is left to forget of one neighbour.
pub(super) struct Leaving {
    /// Where the face stood.
    pub(super) slot: u32,
    pub(super) steps: Box<dyn Iterator<Item = Step> + Send + Sync>,
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
