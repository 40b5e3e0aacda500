// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contents of the bytes of each kind of link: the ends of its batches, and their messages.

use crate::protocol::compression::{Content, Unpacker};
use crate::protocol::options::Framing;

/// Splitter of a byte stream into batches or bare messages.
#[derive(Debug)]
pub struct Cutter {
    /// Set if messages have their own lengths.
    pub bare: bool,
    partial: Vec<u8>,
}

impl Cutter {
    pub fn new() -> Self {
        Cutter {
            bare: false,
            partial: Vec::new(),
        }
    }

    /// Takes more bytes; returns the items that they complete: batches without their prefix, bare
    /// messages with their lengths.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        self.hold(bytes);
        std::iter::from_fn(|| self.next_whole()).collect()
    }

    /// Appends bytes.
    pub fn hold(&mut self, bytes: &[u8]) {
        self.partial.extend_from_slice(bytes);
    }

    /// Returns the first complete item.
    pub fn next_whole(&mut self) -> Option<Vec<u8>> {
        let (prefix, length) = self.next(&self.partial)?;
        let mut whole: Vec<u8> = self.partial.drain(..prefix + length).collect();
        if !self.bare {
            whole.drain(..prefix);
        }
        Some(whole)
    }

    /// Returns the bytes of the prefix, and of the complete item behind it.
    fn next(&self, bytes: &[u8]) -> Option<(usize, usize)> {
        let (prefix, length) = match self.bare {
            true => (4, u32::from_le_bytes(*bytes.first_chunk()?) as usize),
            false => (2, u16::from_le_bytes(*bytes.first_chunk()?).into()),
        };
        (bytes.len() >= prefix + length).then_some((prefix, length))
    }

    /// Returns the incomplete rest.
    pub fn rest(&self) -> &[u8] {
        &self.partial
    }
}

pub struct Contents {
    framing: Framing,
    unpacker: Unpacker,
}

impl Contents {
    pub fn new(framing: Framing) -> Self {
        Contents {
            framing,
            unpacker: Unpacker::default(),
        }
    }

    /// Returns the messages of a batch; `None` if it is no batch.
    pub fn plain(&mut self, batch: &[u8]) -> Option<Vec<u8>> {
        match self.framing {
            Framing::Plain => Some(batch.to_vec()),
            Framing::Bare => None,
            Framing::Compressed => match self.unpacker.open(batch).ok()? {
                Content::Plain => Some(batch.get(1..).unwrap_or(&[]).to_vec()),
                Content::Unpacked(unpacked) => Some(unpacked.as_slice().to_vec()),
            },
        }
    }
}
