// SPDX-License-Identifier: MIT OR Apache-2.0

//! What searches cost, counted rather than timed: the same table costs the same on every machine.

use std::cell::Cell;

/// Products of the lengths of two keys that count for a step.
const COMPARED_BYTES: usize = 1024;

/// A budget of steps. A step is a node of a tree or an entity that is looked at; each 64 positions of the searched key, and
/// each 16 bytes of a chunk with `$*`, count for one more. A step takes some 20 to 60 ns.
#[derive(Debug)]
pub(in crate::table) struct Steps {
    left: Cell<usize>,
    spent: Cell<usize>,
}

impl Steps {
    /// So many.
    pub(in crate::table) const fn new(max: usize) -> Self {
        Steps {
            left: Cell::new(max),
            spent: Cell::new(0),
        }
    }

    /// As many as it takes.
    pub(in crate::table) const fn unlimited() -> Self {
        Steps::new(usize::MAX)
    }

    /// Counts some.
    pub(in crate::table) fn spend(&self, steps: usize) {
        self.left.set(self.left.get().saturating_sub(steps));
        self.spent.set(self.spent.get().saturating_add(steps));
    }

    /// Counts the comparison of two keys, whose time the product of their lengths bounds.
    pub(in crate::table) fn spend_comparing(&self, one: &str, other: &str) {
        self.spend(one.len() * other.len() / COMPARED_BYTES);
    }

    /// Whether none is left. What was begun may be ended nevertheless.
    pub(in crate::table) fn are_over(&self) -> bool {
        self.left.get() == 0
    }

    /// How many were counted.
    pub(in crate::table) fn spent(&self) -> usize {
        self.spent.get()
    }
}
