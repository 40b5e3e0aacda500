// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limits that all connections share, and that one address cannot use up: the bytes of arriving
//! bodies, and the connections themselves.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zonda_transport::link::AddressGroup;

/// An address takes more only while it has at most this many times what stays free. One address gets three quarters of everything,
/// the next three quarters of the rest.
const TIMES_FREE: usize = 3;

/// An amount, of bytes or places, that all connections take from. Clones share one budget.
#[derive(Debug, Clone)]
pub struct Budget(Arc<Mutex<Books>>);

#[derive(Debug)]
struct Books {
    left: usize,
    /// Amount that each address has; an address without anything has no entry.
    taken: HashMap<AddressGroup, usize>,
}

impl Budget {
    /// Creates a budget of this size.
    pub fn new(size: usize) -> Budget {
        let taken = HashMap::new();
        Budget(Arc::new(Mutex::new(Books { left: size, taken })))
    }

    /// Returns the free part of the budget.
    pub fn left(&self) -> usize {
        self.books().left
    }

    /// Returns the share for connections from one address.
    pub fn share(&self, group: AddressGroup) -> Share {
        let budget = self.clone();
        Share { budget, group }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Part of a [`Budget`] that connections from one address take.
#[derive(Debug, Clone)]
pub struct Share {
    budget: Budget,
    group: AddressGroup,
}

impl Share {
    /// Returns the address group.
    pub fn group(&self) -> AddressGroup {
        self.group
    }

    /// Takes `size`, or nothing.
    #[must_use]
    pub fn take(&self, size: usize) -> bool {
        let mut books = self.budget.books();
        let Some(free) = books.left.checked_sub(size) else {
            return false;
        };
        let has = books.taken.get(&self.group).copied().unwrap_or(0);
        // An address without anything may take all that is free, also the last of it.
        if has > 0 && has.saturating_add(size) > free.saturating_mul(TIMES_FREE) {
            return false;
        }
        books.left = free;
        books.taken.insert(self.group, has + size);
        true
    }

    /// Returns bytes to the budget.
    pub fn give_back(&self, size: usize) {
        let mut books = self.budget.books();
        books.left += size;
        if let Some(has) = books.taken.get_mut(&self.group) {
            *has -= size;
            if *has == 0 {
                books.taken.remove(&self.group);
            }
        }
    }
}

/// A partial body, whose memory is taken from a budget as it grows, and returned when it is
/// dropped.
#[derive(Debug)]
pub(super) struct Body {
    bytes: Vec<u8>,
    taken: usize,
    share: Share,
}

/// Minimum bytes that a body takes at once.
const STEP_BYTES: usize = 4096;

impl Body {
    pub(super) fn new(share: &Share) -> Body {
        Body {
            bytes: Vec::new(),
            taken: 0,
            share: share.clone(),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends `bytes`; returns false if the share of its address is used up. A body costs the
    /// bytes that have arrived, at most doubled, whatever length its sender claims.
    #[must_use]
    pub(super) fn append(&mut self, bytes: &[u8]) -> bool {
        let wanted = self.bytes.len() + bytes.len();
        if wanted > self.taken {
            let generous = wanted.max(2 * self.taken).max(STEP_BYTES);
            let enough = [generous, wanted]
                .into_iter()
                .find(|size| self.share.take(size - self.taken));
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
        self.share.give_back(self.taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(last: u8) -> AddressGroup {
        AddressGroup::of([192, 0, 2, last].into())
    }

    #[test]
    fn bodies_share_a_budget_and_give_back_what_they_took() {
        let budget = Budget::new(10_000);
        let [mut first, mut second] = [1, 2].map(|last| Body::new(&budget.share(group(last))));
        assert!(first.append(&[1; 5000]));
        assert!(second.append(&[2; 3000]));
        assert!(!second.append(&[2; 2100]), "more than is left");
        assert_eq!((budget.left(), second.bytes().len()), (904, 3000));
        drop(first);
        assert_eq!(budget.left(), 5904);
        drop(second);
        assert_eq!(budget.left(), 10_000);
        assert!(budget.books().taken.is_empty());
    }

    #[test]
    fn no_address_takes_all() {
        let budget = Budget::new(1000);
        let mut taken = Vec::new();
        for last in 1..=3 {
            let share = budget.share(group(last));
            taken.push((0..1000).take_while(|_| share.take(1)).count());
        }
        assert_eq!(taken, [750, 187, 47]);
        assert_eq!(budget.left(), 16);
        budget.share(group(1)).give_back(750);
        assert!(budget.share(group(2)).take(400));
    }

    #[test]
    fn the_last_place_is_for_an_address_that_has_none() {
        let budget = Budget::new(2);
        let [first, second] = [1, 2].map(|last| budget.share(group(last)));
        assert!(first.take(1) && !first.take(1));
        assert!(second.take(1) && !second.take(1));
        assert_eq!(budget.left(), 0);
    }
}
