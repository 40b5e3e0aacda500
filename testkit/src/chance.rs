// SPDX-License-Identifier: MIT OR Apache-2.0
//! Inputs by chance for the check of a fuzz target, in an ordinary test.

/// Source of the same numbers in each run.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// Returns a number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    /// Returns so many bytes, each below `bound`.
    pub fn bytes(&mut self, count: usize, bound: usize) -> Vec<u8> {
        (0..count).map(|_| self.below(bound) as u8).collect()
    }
}

/// Runs a check so many times, a hundred times as often in the long run (`ZONDA_LONG`).
pub fn by_chance(times: u64, mut check: impl FnMut(&mut Random)) {
    let factor = match std::env::var_os("ZONDA_LONG") {
        Some(_) => 100,
        None => 1,
    };
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..times * factor {
        check(&mut random);
    }
}
