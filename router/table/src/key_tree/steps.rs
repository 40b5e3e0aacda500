// SPDX-License-Identifier: MIT OR Apache-2.0

//! Cost of searches, counted rather than timed: the same table costs the same on every machine.

use std::cell::Cell;

/// Product of the lengths of two keys whose comparison counts as a step.
const COMPARED_BYTES: usize = 1024;

/// Budget of steps. A step is a visit of a tree node or an entity; each 64 positions of the
/// searched key, and each 16 bytes of a chunk with `$*`, count for one more. A step takes some 20
/// to 60 ns.
#[derive(Debug)]
pub(crate) struct Steps {
    left: Cell<usize>,
    spent: Cell<usize>,
}

impl Steps {
    /// Returns a budget of `max` steps.
    pub(crate) const fn new(max: usize) -> Self {
        Steps {
            left: Cell::new(max),
            spent: Cell::new(0),
        }
    }

    /// Returns a budget without a bound.
    pub(crate) const fn unlimited() -> Self {
        Steps::new(usize::MAX)
    }

    /// Counts `steps`.
    pub(crate) fn spend(&self, steps: usize) {
        self.left.set(self.left.get().saturating_sub(steps));
        self.spent.set(self.spent.get().saturating_add(steps));
    }

    /// Counts the comparison of two keys, whose time the product of their lengths bounds.
    pub(crate) fn spend_comparing(&self, one: &str, other: &str) {
        self.spend(one.len() * other.len() / COMPARED_BYTES);
    }

    /// Returns true if no step is left. Work that has begun may still end.
    pub(crate) fn are_over(&self) -> bool {
        self.left.get() == 0
    }

    /// Returns the number of steps counted.
    pub(crate) fn spent(&self) -> usize {
        self.spent.get()
    }
}
