// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`Short`]: a few bytes in place, because copying them costs less than counting references.

use core::fmt;

use bytemuck::cast_slice;

/// The bytes in words: bytes that are written in words and moved in words do not stall the
/// processor.
const WORDS: usize = 4;

/// Bytes, up to 32.
///
/// ```
/// use zonda_codec::short::Short;
///
/// let short = Short::new(b"hello").unwrap();
/// assert_eq!(short.as_slice(), b"hello");
/// assert!(Short::new(&[0; 33]).is_none());
/// ```
#[derive(Clone, Copy)]
pub struct Short {
    len: usize,
    /// The bytes, in little-endian words; bytes behind `len` have no meaning.
    words: [u64; WORDS],
}

impl Short {
    /// Capacity in bytes.
    pub const BYTES_MAX: usize = 8 * WORDS;

    /// An empty value.
    pub const EMPTY: Short = Short {
        len: 0,
        words: [0; WORDS],
    };

    /// Copies the bytes; `None` if there are more than [`Short::BYTES_MAX`].
    #[inline(always)]
    pub fn new(bytes: &[u8]) -> Option<Short> {
        (bytes.len() <= Short::BYTES_MAX).then(|| Short {
            len: bytes.len(),
            words: words(bytes),
        })
    }

    /// Copies the first `len` bytes of `front`; `None` if it has not so many. Cheaper than
    /// [`Short::new`], as it copies the rest as well.
    ///
    /// ```
    /// use zonda_codec::short::Short;
    ///
    /// let short = Short::front_of(&[7; 32], 5).unwrap();
    /// assert_eq!(short.as_slice(), [7; 5]);
    /// assert!(Short::front_of(&[7; 32], 33).is_none());
    /// ```
    #[inline(always)]
    pub fn front_of(front: &[u8; Short::BYTES_MAX], len: usize) -> Option<Short> {
        let (full, _) = front.as_chunks::<8>();
        let word = |index: usize| full.get(index).map_or(0, |word| u64::from_ne_bytes(*word));
        (len <= Short::BYTES_MAX).then(|| Short {
            len,
            words: [word(0), word(1), word(2), word(3)],
        })
    }

    /// Returns the bytes.
    #[inline(always)]
    pub fn as_slice(&self) -> &[u8] {
        cast_slice(&self.words).get(..self.len).unwrap_or(&[])
    }
}

impl PartialEq for Short {
    fn eq(&self, other: &Short) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Short {}

impl fmt::Debug for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Short(\"{}\")", self.as_slice().escape_ascii())
    }
}

/// Converts up to 32 bytes to words, the rest zero. Worked out in registers: no call, and no byte
/// is written that is read again as part of a word.
#[inline(always)]
fn words(bytes: &[u8]) -> [u64; WORDS] {
    let (full, rest) = bytes.as_chunks::<8>();
    let last = match bytes.last_chunk::<8>() {
        // The last eight bytes, without those that are in a full word already.
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
