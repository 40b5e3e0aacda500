// SPDX-License-Identifier: MIT OR Apache-2.0

//! Samples of one source that a jump has overtaken. The next number in a row proves that such a sample is the source's own, and
//! not a late copy.

use std::collections::VecDeque;

use super::held::{Budget, Held};
use crate::sample::Sample;

/// Limit of the remembered places of one source: the newest ones. A forger has to send as many
/// samples for each of the source's to have them forgotten.
const PLACES_MAX: usize = 8;

/// Places that were overtaken, in the order in which they came, and their samples as far as the budget has room for them.
pub(super) struct LateSamples {
    places: VecDeque<i64>,
    samples: Held<i64>,
}

impl LateSamples {
    pub fn new(budget: &Budget) -> LateSamples {
        LateSamples {
            places: VecDeque::new(),
            samples: Held::new(budget),
        }
    }

    /// Inserts a place, and its sample if there is room.
    pub fn insert(&mut self, place: i64, sample: Sample) {
        if self.places.contains(&place) {
            return;
        }
        if self.places.len() >= PLACES_MAX
            && let Some(oldest) = self.places.pop_front()
        {
            self.samples.remove(oldest);
        }
        self.places.push_back(place);
        self.samples.insert(place, sample);
        if self.samples.is_full(usize::MAX) {
            self.samples.remove(place);
        }
    }

    /// Removes a place and returns its sample if that was kept; `None` if the place is not here.
    pub fn remove(&mut self, place: i64) -> Option<Option<Sample>> {
        let at = self.places.iter().position(|kept| *kept == place)?;
        self.places.remove(at);
        Some(self.samples.remove(place))
    }
}
