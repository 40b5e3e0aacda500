// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rule of the receiving side for sequence numbers: newer than the last, by at most half the range.

/// Last sequence number accepted on one channel.
///
/// Gaps are accepted on reliable channels too: reliability comes from the link below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    mask: u32,
    last: u32,
}

impl Sequence {
    /// Creates a channel whose first number will be `initial`; numbers use the bits of `mask`.
    pub fn new(initial: u32, mask: u32) -> Self {
        Sequence {
            mask,
            last: initial.wrapping_sub(1) & mask,
        }
    }

    /// Returns the last number accepted.
    pub fn last(&self) -> u32 {
        self.last
    }

    /// Accepts `sn` if it is newer than the last one, and returns how many numbers were skipped, 0
    /// in the usual case. `None` if it is old or repeated: the caller drops its frame or fragment.
    #[inline]
    pub fn accept(&mut self, sn: u32) -> Option<u32> {
        let gap = sn.wrapping_sub(self.last) & self.mask;
        if gap == 0 || gap > self.mask / 2 {
            return None;
        }
        self.last = sn;
        Some(gap - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_is_the_initial_one() {
        for mask in [0x7f, 0x3fff, 0x0fff_ffff, u32::MAX] {
            for initial in [0, 1, mask / 2, mask] {
                let mut sequence = Sequence::new(initial, mask);
                assert_eq!(sequence.accept(initial), Some(0), "{initial} of {mask:#x}");
                assert_eq!(sequence.accept(initial), None, "a repetition");
                assert_eq!(sequence.accept(initial.wrapping_add(1) & mask), Some(0));
            }
        }
    }

    #[test]
    fn half_of_the_range_is_newer() {
        let mask = 0x7f_u32;
        for last in 0..=mask {
            for sn in 0..=mask {
                let mut sequence = Sequence { mask, last };
                let ahead = (0..=mask).find(|gap| (last + gap) & mask == sn).unwrap();
                let newer = (1..=63).contains(&ahead);
                assert_eq!(
                    sequence.accept(sn),
                    newer.then(|| ahead - 1),
                    "{sn} after {last}"
                );
                assert_eq!(sequence.last(), if newer { sn } else { last });
            }
        }
    }
}
