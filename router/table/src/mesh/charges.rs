// SPDX-License-Identifier: MIT OR Apache-2.0

//! Memory of this node that the routers behind a link take. It counts as the link's own, since its
//! neighbour could have invented all of them, and is released with the link.

use std::collections::HashMap;

use crate::{
    face_id::FaceId,
    kind::{Kind, PerKind},
};

/// Bytes of memory of the record of a link by which an entity was declared.
const HEARD_BYTES: usize = 64;

/// Share of a router's declaration in the limits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub(super) kind: Kind,
    /// Bytes of memory of its key.
    pub(super) memory: usize,
    /// True if its key has wildcards.
    pub(super) is_wild: bool,
}

/// Sum of the declarations that came over one link.
#[derive(Debug, Default)]
pub(crate) struct Charge {
    counts: PerKind<usize>,
    memory: usize,
    wild_keys: usize,
}

impl Charge {
    fn add(&mut self, item: Item) {
        *self.counts.of_mut(item.kind) += 1;
        self.memory += item.memory + HEARD_BYTES;
        self.wild_keys += usize::from(item.is_wild);
    }

    fn take(&mut self, item: Item) {
        let mut one = Charge::default();
        one.add(item);
        self.take_all(&one);
    }

    fn take_all(&mut self, other: &Charge) {
        for kind in Kind::ALL {
            let count = self.counts.of_mut(kind);
            *count = count.saturating_sub(*other.counts.of(kind));
        }
        self.memory = self.memory.saturating_sub(other.memory);
        self.wild_keys = self.wild_keys.saturating_sub(other.wild_keys);
    }

    pub(crate) fn count(&self, kind: Kind) -> usize {
        *self.counts.of(kind)
    }

    pub(crate) const fn memory(&self) -> usize {
        self.memory
    }

    pub(crate) const fn wild_keys(&self) -> usize {
        self.wild_keys
    }
}

/// Sums of the declarations that came over each link.
#[derive(Debug, Default)]
pub(super) struct Charges(HashMap<FaceId, Charge>);

impl Charges {
    pub(super) fn add(&mut self, link: FaceId, item: Item) {
        self.0.entry(link).or_default().add(item);
    }

    pub(super) fn take(&mut self, link: FaceId, item: Item) {
        if let Some(charge) = self.0.get_mut(&link) {
            charge.take(item);
        }
    }

    /// Subtracts the declarations of one router on all links.
    pub(super) fn take_all(&mut self, others: &Charges) {
        for (link, gone) in &others.0 {
            if let Some(charge) = self.0.get_mut(link) {
                charge.take_all(gone);
            }
        }
    }

    /// Removes a link that is gone.
    pub(super) fn end(&mut self, link: FaceId) {
        self.0.remove(&link);
    }

    pub(super) fn of(&self, link: FaceId) -> Option<&Charge> {
        self.0.get(&link)
    }

    /// Returns the bytes of memory of the record of links by which entities were declared.
    pub(super) fn memory(&self) -> usize {
        let counts = self.0.values().flat_map(|charge| charge.counts.values());
        counts.sum::<usize>() * HEARD_BYTES
    }
}
