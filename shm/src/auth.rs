// SPDX-License-Identifier: MIT OR Apache-2.0
//! Authentication segments: a challenge that only a process of the same host and user can read, and the counters by which
//! a receiver tells that descriptors have arrived.
//!
//! ```text
//! 0     u64        number of kinds of memory
//! 8     u64        challenge
//! 16    u64        version
//! 24    u32[256]   kinds; 0 is this one
//! 1048  u32[2810]  counters
//! ```

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rustix::io;

use crate::{
    Refusal,
    file::File,
    segment::{self, Segment},
};

/// Size of the segment.
pub(crate) const BYTES: usize = 12288;

/// Number of counters.
pub(crate) const COUNTERS: u16 = 2810;

const CHALLENGE: usize = 8;
const VERSION: usize = 16;
const VERSION_NUMBER: u64 = 2;
const COUNTERS_AT: usize = 1048;

/// Authentication segment of this node or, once proved, of a neighbour.
#[derive(Debug)]
pub(crate) struct Auth(Segment);

impl Auth {
    /// Creates a segment with a random challenge; returns the challenge, too.
    pub(crate) fn create() -> io::Result<(Auth, u64)> {
        let segment = Segment::create(BYTES, u32::MAX)?;
        segment.reserve(0..BYTES)?;
        let challenge = segment::random();
        for (offset, value) in [(0, 1), (CHALLENGE, challenge), (VERSION, VERSION_NUMBER)] {
            if let Some(word) = segment.map().word64(offset) {
                word.store(value, Relaxed);
            }
        }
        Ok((Auth(segment), challenge))
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.0.is_whole()
    }

    /// Returns true if bytes were missing at some time.
    pub(crate) fn is_lost(&self) -> bool {
        self.0.is_lost()
    }

    /// Returns a counter, if there is one of that number.
    pub(crate) fn counter(&self, number: u16) -> Option<&AtomicU32> {
        let offset = COUNTERS_AT + 4 * usize::from(number);
        let map = self.0.map();
        (number < COUNTERS).then(|| map.word32(offset)).flatten()
    }
}

/// A neighbour's authentication segment before its proof: nothing of it is mapped.
#[derive(Debug)]
pub struct Candidate {
    id: u32,
    file: File,
    challenge: u64,
}

impl Candidate {
    /// Opens the segment and reads its challenge.
    pub(crate) fn open(id: u32) -> Result<Candidate, Refusal> {
        let (file, size) = segment::open_file(id, true)?;
        if size != BYTES as u64 {
            return Err(Refusal::Size(size));
        }
        let mut challenge = [0; 8];
        match file.read_at(&mut challenge, CHALLENGE as u64)? {
            8 => Ok(Candidate {
                id,
                file,
                challenge: u64::from_ne_bytes(challenge),
            }),
            _ => Err(Refusal::Size(0)),
        }
    }

    /// Returns the challenge.
    #[must_use]
    pub fn challenge(&self) -> u64 {
        self.challenge
    }

    /// Maps the segment of a neighbour that has proved to be of this host and user.
    pub(crate) fn prove(self) -> Result<Auth, Refusal> {
        let known = Some((BYTES, true));
        let (size, _) = self.file.size()?;
        let segment = Segment::adopt(self.id, self.file, size, known)?;
        segment.reserve(0..BYTES)?;
        Ok(Auth(segment))
    }
}
