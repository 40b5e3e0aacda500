// SPDX-License-Identifier: MIT OR Apache-2.0
//! The yardstick of throughput. A message on the wire is a tag (4 bytes), a length (4 bytes) and
//! the payload:
//!
//! ```text
//! +--------+------------+-----------------+
//! | tag    | length le  | payload         |
//! +--------+------------+-----------------+
//! ```
//!
//! The sender packs small messages into blocks, copying each as any publisher must, and writes a
//! large one without a copy. Where the protocol below has messages, each of them is one block. The
//! receiver finds every message and reads its first byte.

use std::hint::black_box;
use std::io::{self, IoSlice, Write};

use super::wire::Wire;

/// Bytes before the payload of a message.
pub const HEADER: usize = 8;
const TAG: [u8; 4] = [0x7a, 1, 0, 1];
/// Bytes of small messages per write.
const BLOCK: usize = 64 * 1024;
/// The size from which a message is written without a copy.
const LARGE: usize = 32 * 1024;
/// Bytes of large messages per write.
const VECTORED: usize = 512 * 1024;
/// The size from which a message is read exactly to its end.
const HUGE: usize = 256 * 1024;
/// The maximum size of a read.
const READ: usize = 1 << 20;

/// Outgoing messages of one size.
pub struct Outgoing {
    header: [u8; HEADER],
    payload: Vec<u8>,
    block: Vec<u8>,
    /// The maximum size of a block, unless a single message is larger.
    room: usize,
    is_packed: bool,
}

impl Outgoing {
    /// Creates messages of `size` bytes, packed into blocks of at most `batch` bytes where each
    /// block is a message of the link.
    pub fn new(size: usize, batch: Option<usize>) -> io::Result<Self> {
        Ok(Outgoing {
            header: header(size)?,
            payload: vec![7; size],
            block: Vec::with_capacity(BLOCK),
            room: batch.unwrap_or(BLOCK).min(BLOCK),
            is_packed: batch.is_some() || size < LARGE,
        })
    }

    /// Packs a block of small messages; large ones are not copied.
    pub fn fill(&mut self) {
        let size = self.payload.len();
        if !self.is_packed {
            return;
        }
        self.block.clear();
        loop {
            self.block.extend_from_slice(black_box(&self.header));
            self.block.extend_from_slice(black_box(&self.payload));
            if self.block.len() + HEADER + size > self.room {
                return;
            }
        }
    }

    /// Writes the packed block, or large messages.
    pub fn write_to(&self, wire: &mut Wire) -> io::Result<()> {
        match self.is_packed {
            true => wire.write_all(&self.block),
            false => write_large(wire, black_box(&self.header), black_box(&self.payload)),
        }
    }
}

/// Returns the header of a message of `size` bytes.
pub fn header(size: usize) -> io::Result<[u8; HEADER]> {
    let length = u32::try_from(size).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut header = [0; HEADER];
    header[..4].copy_from_slice(&TAG);
    header[4..].copy_from_slice(&length.to_le_bytes());
    Ok(header)
}

/// Writes as many large messages at a time as make an efficient system call.
fn write_large(wire: &mut Wire, header: &[u8], payload: &[u8]) -> io::Result<()> {
    let messages = (VECTORED / payload.len()).max(1);
    let mut parts: Vec<IoSlice<'_>> = (0..messages)
        .flat_map(|_| [IoSlice::new(header), IoSlice::new(payload)])
        .collect();
    let mut parts = parts.as_mut_slice();
    while !parts.is_empty() {
        match wire.write_vectored(parts)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            n => IoSlice::advance_slices(&mut parts, n),
        }
    }
    Ok(())
}

/// Received bytes that are not processed yet: `bytes[head..tail]`, of which the first message needs
/// `wanted`.
pub struct Window {
    bytes: Vec<u8>,
    head: usize,
    tail: usize,
    wanted: usize,
}

impl Window {
    /// Creates an empty window.
    pub fn new() -> Self {
        Window {
            bytes: vec![0; READ],
            head: 0,
            tail: 0,
            wanted: HEADER,
        }
    }

    /// Returns the space for the next read. A huge message in progress is read exactly to its end,
    /// so that the next one starts in an empty window and no byte is ever moved.
    pub fn room(&mut self) -> &mut [u8] {
        if self.head == self.tail {
            (self.head, self.tail) = (0, 0);
        }
        // make room for the whole message
        let end = self.head + self.wanted;
        if end > self.bytes.len() {
            self.bytes.copy_within(self.head..self.tail, 0);
            (self.head, self.tail) = (0, self.tail - self.head);
            let needed = self.wanted.max(self.bytes.len());
            self.bytes.resize(needed, 0);
        }
        // a huge message ends the read
        let end = if self.wanted >= HUGE {
            self.head + self.wanted
        } else {
            self.bytes.len()
        };
        &mut self.bytes[self.tail..end]
    }

    /// Adds `bytes` bytes that were read into the room.
    pub fn filled(&mut self, bytes: usize) {
        self.tail += bytes;
    }

    /// Reads the first byte of every whole message, and returns their number.
    pub fn look_through(&mut self) -> u64 {
        let (mut seen, mut messages) = (0, 0);
        while let Some(payload) = self.next() {
            seen ^= payload.first().copied().unwrap_or(0);
            messages += 1;
        }
        black_box(seen);
        messages
    }

    /// Returns the next whole message.
    fn next(&mut self) -> Option<&[u8]> {
        let filled = &self.bytes[self.head..self.tail];
        self.wanted = HEADER;
        let length = filled.get(4..HEADER)?;
        let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
        self.wanted = HEADER + length;
        let payload = filled.get(HEADER..self.wanted)?;
        self.head += self.wanted;
        self.wanted = HEADER;
        Some(payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(sizes: &[usize], chunk: usize) -> Vec<usize> {
        let mut wire = Vec::new();
        for &size in sizes {
            wire.extend_from_slice(&TAG);
            wire.extend_from_slice(&(size as u32).to_le_bytes());
            wire.extend(std::iter::repeat_n(7, size));
        }
        let mut window = Window {
            bytes: vec![0; 64],
            head: 0,
            tail: 0,
            wanted: HEADER,
        };
        let mut found = Vec::new();
        let mut rest = wire.as_slice();
        while !rest.is_empty() {
            let room = window.room();
            assert!(!room.is_empty());
            let n = chunk.min(room.len()).min(rest.len());
            room[..n].copy_from_slice(&rest[..n]);
            window.tail += n;
            rest = &rest[n..];
            while let Some(payload) = window.next() {
                found.push(payload.len());
            }
        }
        found
    }

    #[test]
    fn messages_are_found_however_the_bytes_arrive() {
        let sizes = [0, 8, 1, 70_000, 8, 33, 300_000, 32_768, 0, 5];
        for chunk in [1, 3, 7, 8, 64, 1000, 1 << 20] {
            assert_eq!(feed(&sizes, chunk), sizes, "in pieces of {chunk}");
        }
    }
}
