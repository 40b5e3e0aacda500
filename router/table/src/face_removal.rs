// SPDX-License-Identifier: MIT OR Apache-2.0

//! State that is left to remove of neighbours that are gone.

use std::fmt;

use crate::{
    announced::AnnouncedIds, entities::Declarations, interest_records::InterestRecord,
    kind::EntityRef,
};

/// State that is left to remove of one neighbour.
pub(super) struct FaceRemoval {
    /// Slot of the face.
    pub(super) slot: u32,
    pub(super) steps: Box<dyn Iterator<Item = RemovalStep> + Send + Sync>,
}

/// One piece of state to remove.
pub(super) enum RemovalStep {
    Interest(u32, InterestRecord),
    Announced(EntityRef),
    Declared(EntityRef),
}

impl FaceRemoval {
    /// Returns the state of a face that had the slot `slot`.
    pub(super) fn new(
        slot: u32,
        interests: Vec<(u32, InterestRecord)>,
        announced: AnnouncedIds,
        declared: Declarations,
    ) -> Self {
        let interests = interests.into_iter();
        let steps = interests
            .map(|(id, kept)| RemovalStep::Interest(id, kept))
            .chain(announced.into_entities().map(RemovalStep::Announced))
            .chain(declared.into_entities().map(RemovalStep::Declared));
        FaceRemoval {
            slot,
            steps: Box::new(steps),
        }
    }
}

impl fmt::Debug for FaceRemoval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leaving")
            .field("slot", &self.slot)
            .finish_non_exhaustive()
    }
}
