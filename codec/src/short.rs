// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`Short`]: a few bytes that are kept in place, because copying them costs less than counting references.

use bytemuck::cast_slice;

/// The bytes in words: what is written in words and moved in words does not hold the processor up.
const WORDS: usize = 4;

/// Up to 32 bytes.
///
/// ```
/// use zonda_codec::short::Short;
///
/// let short = Short::new(b"hello").unwrap();
/// assert_eq!(short.as_slice(), b"hello");
/// assert!(Short::new(&[0; 33]).is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Short {
    len: usize,
    words: [u64; WORDS],
}

impl Short {
    /// The most it holds.
    pub const BYTES_MAX: usize = 8 * WORDS;

    /// No bytes.
    pub const EMPTY: Short = Short {
        len: 0,
        words: [0; WORDS],
    };

    /// `None` if there are more than [`Short::BYTES_MAX`].
    #[inline(always)]
    pub fn new(bytes: &[u8]) -> Option<Short> {
        (bytes.len() <= Short::BYTES_MAX).then(|| Short {
            len: bytes.len(),
            words: words(bytes),
        })
    }

    /// The bytes.
    #[inline(always)]
    pub fn as_slice(&self) -> &[u8] {
        cast_slice(&self.words).get(..self.len).unwrap_or(&[])
    }
}

/// Up to 32 bytes as words, the rest zero. Worked out in registers: no call, and no byte is written that is read again
/// as part of a word.
#[inline(always)]
fn words(bytes: &[u8]) -> [u64; WORDS] {
    let (full, rest) = bytes.as_chunks::<8>();
    let last = match bytes.last_chunk::<8>() {
        // The last eight bytes without those that are in a full word already.
        Some(last) => u64::from_le_bytes(*last)
            .checked_shr(64 - 8 * rest.len() as u32)
            .unwrap_or(0),
        None => rest
            .iter()
            .rev()
            .fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    let word = |index: usize| match full.get(index) {
        Some(word) => u64::from_le_bytes(*word).to_le(),
        None if index == full.len() => last.to_le(),
        None => 0,
    };
    [word(0), word(1), word(2), word(3)]
}

#[cfg(test)]
mod tests {
    use super::Short;

    #[test]
    fn every_length_comes_back_as_it_was() {
        let all: Vec<u8> = (1..=64).collect();
        for len in 0..all.len() {
            for start in 0..all.len() - len {
                let part = &all[start..start + len];
                let short = Short::new(part);
                assert_eq!(short.is_some(), len <= Short::BYTES_MAX);
                assert!(short.is_none_or(|short| short.as_slice() == part));
            }
        }
    }
}
