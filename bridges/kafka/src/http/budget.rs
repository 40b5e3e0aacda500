// SPDX-License-Identifier: MIT OR Apache-2.0
//! One limit for the bodies that all connections together keep while they arrive.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that may be kept, shared by all connections. Clones mean the same budget.
#[derive(Debug, Clone)]
pub struct Budget {
    left: Arc<AtomicUsize>,
}

impl Budget {
    /// A budget of this many bytes.
    pub fn new(bytes: usize) -> Budget {
        Budget {
            left: Arc::new(AtomicUsize::new(bytes)),
        }
    }

    /// What nobody has taken.
    pub fn left(&self) -> usize {
        self.left.load(Ordering::Relaxed)
    }

    /// Takes `bytes`, or nothing.
    fn take(&self, bytes: usize) -> bool {
        let less = |left: usize| left.checked_sub(bytes);
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// A body under way, whose memory is taken from a budget as it grows, and given back when it is dropped.
#[derive(Debug)]
pub(super) struct Body {
    bytes: Vec<u8>,
    taken: usize,
    budget: Budget,
}

/// The least that a body takes at once.
const STEP_BYTES: usize = 4096;

impl Body {
    pub(super) fn new(budget: &Budget) -> Body {
        Body {
            bytes: Vec::new(),
            taken: 0,
            budget: budget.clone(),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends `bytes`; `false` when the budget has not that much left. A body costs what has arrived, at most doubled,
    /// whatever length its sender claims.
    #[must_use]
    pub(super) fn append(&mut self, bytes: &[u8]) -> bool {
        let wanted = self.bytes.len() + bytes.len();
        if wanted > self.taken {
            let generous = wanted.max(2 * self.taken).max(STEP_BYTES);
            let enough = [generous, wanted]
                .into_iter()
                .find(|size| self.budget.take(size - self.taken));
            let Some(size) = enough else { return false };
            self.taken = size;
            self.bytes.reserve_exact(size - self.bytes.len());
        }
        self.bytes.extend_from_slice(bytes);
        true
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        self.budget.give_back(self.taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_share_a_budget_and_give_back_what_they_took() {
        let budget = Budget::new(10_000);
        let (mut first, mut second) = (Body::new(&budget), Body::new(&budget));
        assert!(first.append(&[1; 5000]));
        assert!(second.append(&[2; 4500]));
        assert!(!second.append(&[2; 600]), "more than is left");
        assert!(second.append(&[2; 500]));
        assert_eq!((budget.left(), second.bytes().len()), (0, 5000));
        drop(first);
        assert_eq!(budget.left(), 5000);
        drop(second);
        assert_eq!(budget.left(), 10_000);
    }
}
