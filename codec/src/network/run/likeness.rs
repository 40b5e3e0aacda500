// SPDX-License-Identifier: MIT OR Apache-2.0
//! Common bytes of the messages of a run, in the form in which they are compared fastest: whole
//! words.

use crate::{
    body::{self, Put},
    id::ZenohId,
    reader::Reader,
    timestamp::{Ntp64, Timestamp},
    writer::vle_len,
};

/// Bytes that are compared at once: all of a head whose key is an id.
pub(super) const WORD_BYTES: usize = 16;

/// The usual timestamp: nine bytes of time, and the id of a clock with all of its bytes.
const TIME_BYTES: usize = 9;
const CLOCK_BYTES: usize = 16;

/// Bytes that are compared behind the time: the clock's length and bytes, and the payload's length.
const STAMP_BYTES: usize = 24;

/// The bytes that all messages of a run begin with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Likeness<'a> {
    pub head: Word,
    /// The bytes of a longer head behind the word.
    pub tail: &'a [u8],
    pub len: usize,
    /// Offset of the PUT.
    pub body_at: usize,
    /// Set if a timestamp stands between the head and the payload.
    pub stamped: bool,
    pub size: Size<'a>,
    /// The usual stamp of a run with timestamps.
    pub stamp: Option<Stamp>,
}

/// The first bytes of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word {
    bytes: u128,
    mask: u128,
}

impl Word {
    /// A word that no message begins with.
    const NEVER: Word = Word { bytes: 1, mask: 0 };

    /// Creates a word of up to `len` bytes of `front`.
    fn new(front: u128, len: usize) -> Word {
        let mask = u128::MAX >> (8 * WORD_BYTES.saturating_sub(len));
        Word {
            bytes: front & mask,
            mask,
        }
    }

    #[inline(always)]
    pub fn begins(&self, front: u128) -> bool {
        front & self.mask == self.bytes
    }
}

/// The usual size: most streams have values of one size, so that the length is compared together
/// with the head, and not read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size<'a> {
    /// Head and length, where no timestamp stands between them.
    pub word: Word,
    /// The bytes behind the word.
    pub tail: &'a [u8],
    /// Offset of the payload.
    pub payload_at: usize,
    pub payload_len: usize,
}

/// The bytes behind the time, where clock and size are the usual ones. Then the time is all that is
/// read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stamp {
    id: ZenohId,
    /// The first bytes behind the time.
    front: u128,
    /// The last bytes behind the time.
    back: u64,
    back_mask: u64,
}

impl Stamp {
    /// Creates the stamp from the bytes between the head and the payload.
    fn of(between: &[u8], id: ZenohId) -> Option<Stamp> {
        let mut reader = Reader::new(between);
        reader.z64_full()?;
        let behind = reader.rest();
        // A longer one could be another spelling of a shorter one.
        if usize::from(*behind.first()?) != CLOCK_BYTES {
            return None;
        }
        let mut bytes = [0; STAMP_BYTES];
        bytes.get_mut(..behind.len())?.copy_from_slice(behind);
        Some(Stamp {
            id,
            front: u128::from_le_bytes(*bytes.first_chunk()?),
            back: u64::from_le_bytes(*bytes.last_chunk()?),
            back_mask: u64::MAX.checked_shr(8 * (STAMP_BYTES - behind.len()) as u32)?,
        })
    }

    /// Returns the timestamp that `bytes` begin with, if clock and size are the usual ones.
    #[inline(always)]
    pub fn read(&self, bytes: &[u8; TIME_BYTES + STAMP_BYTES]) -> Option<Timestamp> {
        let (time, behind) = bytes.split_first_chunk::<TIME_BYTES>()?;
        let alike = u128::from_le_bytes(*behind.first_chunk()?) == self.front
            && u64::from_le_bytes(*behind.last_chunk()?) & self.back_mask == self.back;
        let time = Reader::new(time).z64_full().filter(|_| alike)?;
        Some(Timestamp::new(Ntp64(time), self.id))
    }
}

impl<'a> Likeness<'a> {
    /// Returns the bytes that `message` can be recognised by. With a timestamp the head ends in
    /// front of it, without one in front of the payload's length, so that an encoding and
    /// extensions belong to it. The offsets come from reading the message, not from the length of
    /// its fields when they are written anew: a peer may spell them longer.
    #[inline]
    pub fn of(
        front: u128,
        message: &'a [u8],
        put: &Put<'_>,
        raw_body: &'a [u8],
    ) -> Option<Likeness<'a>> {
        let body_at = message.len().checked_sub(raw_body.len())?;
        let length_at = body_at + Put::length_at(raw_body)?;
        let payload_at = message.len().checked_sub(put.payload.len())?;
        // A length may be written longer than it needs to be. Such a message belongs to no run.
        if payload_at.checked_sub(length_at)? != vle_len(put.payload.len() as u64) {
            return None;
        }
        let header = *raw_body.first()?;
        let stamped = header & Put::FLAG_TIMESTAMP != 0;
        let len = match stamped {
            true => (header == body::id::PUT | Put::FLAG_TIMESTAMP).then_some(body_at + 1)?,
            false => length_at,
        };
        Some(Likeness {
            head: Word::new(front, len),
            tail: message.get(WORD_BYTES..len).unwrap_or(&[]),
            len,
            body_at,
            stamped,
            size: Size {
                word: match stamped {
                    true => Word::NEVER,
                    false => Word::new(front, payload_at),
                },
                tail: message.get(WORD_BYTES..payload_at).unwrap_or(&[]),
                payload_at,
                payload_len: put.payload.len(),
            },
            stamp: match put.timestamp {
                Some(clock) => Stamp::of(message.get(len..payload_at)?, clock.id()),
                None => None,
            },
        })
    }
}
