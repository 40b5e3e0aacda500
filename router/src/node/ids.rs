// SPDX-License-Identifier: MIT OR Apache-2.0

//! Numbers for the declarations of this node's session.

use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers from 1, each in use for one declaration at a time.
pub(crate) struct Ids(AtomicU64);

impl Default for Ids {
    fn default() -> Self {
        Ids(AtomicU64::new(1))
    }
}

impl Ids {
    /// Returns the next number. Once all were used, skips numbers for which `is_used` returns true.
    pub(crate) fn next(&self, is_used: impl Fn(u32) -> bool) -> u32 {
        loop {
            let number = self.0.fetch_add(1, Ordering::Relaxed);
            let id = number as u32;
            let is_first_round = u64::from(id) == number;
            if id != 0 && (is_first_round || !is_used(id)) {
                return id;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_use_are_left_out_after_the_last() {
        let ids = Ids::default();
        let never = |_| panic!("the first round needs no check");
        assert_eq!([ids.next(never), ids.next(never)], [1, 2]);
        ids.0.store(u64::from(u32::MAX), Ordering::Relaxed);
        let used = |id| id < 5;
        assert_eq!([ids.next(used), ids.next(used)], [u32::MAX, 5]);
    }
}
