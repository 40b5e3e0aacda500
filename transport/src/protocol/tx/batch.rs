// SPDX-License-Identifier: MIT OR Apache-2.0
//! Unit of a write: a length prefix, the encoded messages, and at most one shared payload behind
//! them.

use zonda_codec::ZSlice;
use zonda_codec::{Priority, payload::shared_part};

use crate::protocol::{options::Framing, shared::own_copy};

/// Bytes of the length prefix that every batch of a streamed link starts with.
pub(crate) const PREFIX_BYTES: usize = 2;

/// Batch of its own bytes, prefix first, and optionally a shared slice that the prefix counts as
/// well.
#[derive(Debug)]
pub struct Batch {
    bytes: Box<[u8]>,
    /// Length in 32 bits, to share a word with the next fields: batches are moved often.
    len: u32,
    tail: Option<ZSlice>,
    /// Offset of the messages.
    start: u8,
    /// Set if it holds a piece of a message that fits in no batch.
    is_fragment: bool,
    /// Set if the batch is sent as it is: its content was already replaced by a shorter one, or
    /// cannot be made shorter.
    is_settled: bool,
    /// Priority of its lane; known once it is sealed.
    priority: Priority,
    /// Number of the last message that ends in it, counted by its lane from 1; known once it is
    /// sealed.
    last_message: u64,
}

impl Batch {
    /// Creates an empty batch of a plain link over `bytes`, whose length is the most this batch may
    /// hold.
    #[must_use]
    pub fn over(bytes: Box<[u8]>) -> Self {
        Self::framed(bytes, Framing::Plain)
    }

    /// Creates an empty batch like [`Batch::over`], for any kind of link.
    #[must_use]
    #[inline]
    pub fn framed(bytes: Box<[u8]>, framing: Framing) -> Self {
        let start = framing.prefix_bytes();
        debug_assert!(bytes.len() > start, "a batch has room beyond its prefix");
        Self {
            bytes,
            len: start as u32,
            tail: None,
            start: start as u8,
            is_fragment: false,
            is_settled: false,
            priority: Priority::Data,
            last_message: 0,
        }
    }

    /// Returns true while the batch holds nothing but its prefix.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == self.start() && self.tail.is_none()
    }

    /// Returns the bytes that count on the wire, prefix included.
    #[must_use]
    pub fn wire_len(&self) -> usize {
        self.len() + self.tail.as_ref().map_or(0, ZSlice::len)
    }

    /// Returns the prefix and the encoded messages.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        &self.bytes[..self.len()]
    }

    /// Returns the shared payload that follows [`Batch::head`] on the wire, if there is one.
    #[must_use]
    pub fn tail(&self) -> Option<&ZSlice> {
        self.tail.as_ref()
    }

    /// Returns its own bytes without the head in front of the messages: the content of a datagram,
    /// if there is no tail.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.bytes[self.start()..self.len()]
    }

    /// Returns the bytes of its own buffer, used or not.
    #[inline]
    pub(super) fn capacity(&self) -> usize {
        self.bytes.len()
    }

    /// Replaces its buffer by one of the size of its content, if that is a small part; returns the
    /// old one.
    pub(super) fn tighten(&mut self) -> Option<Box<[u8]>> {
        (self.len() <= self.capacity() / 4).then(|| {
            let bytes = self.head().into();
            std::mem::replace(&mut self.bytes, bytes)
        })
    }

    #[inline]
    fn len(&self) -> usize {
        self.len as usize
    }

    #[inline]
    fn start(&self) -> usize {
        usize::from(self.start)
    }

    #[inline]
    pub(super) fn room(&self) -> usize {
        self.bytes.len() - self.len()
    }

    #[inline]
    pub(super) fn spare(&mut self) -> &mut [u8] {
        let len = self.len();
        &mut self.bytes[len..]
    }

    #[inline]
    pub(super) fn commit(&mut self, written: usize) {
        self.len += written as u32;
        debug_assert!(
            self.len() <= self.bytes.len(),
            "a batch never outgrows its buffer"
        );
    }

    /// Returns true if it holds a piece of a message that fits in no batch.
    pub(super) fn is_fragment(&self) -> bool {
        self.is_fragment
    }

    /// Returns true if its content was [replaced](Batch::replace), or is to [stay](Batch::settle).
    #[cfg_attr(not(feature = "compression"), allow(dead_code))]
    pub(crate) fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// Marks the content as final: no shorter form was found.
    #[cfg_attr(not(feature = "compression"), allow(dead_code))]
    pub(crate) fn settle(&mut self) {
        self.is_settled = true;
    }

    pub(super) fn mark_fragment(&mut self) {
        self.is_fragment = true;
    }

    pub(super) fn attach(&mut self, tail: ZSlice) {
        self.tail = Some(tail);
    }

    /// Returns the number of messages of its lane that are sent once this batch is, including all
    /// before it.
    pub(crate) fn last_message(&self) -> u64 {
        self.last_message
    }

    /// Returns the priority of its lane.
    pub(crate) fn priority(&self) -> Priority {
        self.priority
    }

    /// Writes the length prefix: the batch is complete.
    #[inline]
    pub(super) fn seal(&mut self, priority: Priority, last_message: u64) {
        self.priority = priority;
        self.last_message = last_message;
        self.write_length();
    }

    /// Notes that another message was appended to the sealed batch.
    pub(super) fn extended(&mut self, last_message: u64) {
        self.last_message = last_message;
    }

    #[inline]
    fn write_length(&mut self) {
        if self.start() != PREFIX_BYTES {
            return self.seal_framed();
        }
        self.put_prefix();
    }

    #[inline]
    fn put_prefix(&mut self) {
        let counted = self.wire_len() - PREFIX_BYTES;
        let prefix =
            u16::try_from(counted).expect("a batch is at most 65535 bytes, prefix included");
        self.bytes[..PREFIX_BYTES].copy_from_slice(&prefix.to_le_bytes());
    }

    /// Writes the head on links that are not plain: no flags, as the content is not compressed; no
    /// head for bare messages.
    #[cold]
    #[inline(never)]
    fn seal_framed(&mut self) {
        let start = self.start();
        if start > PREFIX_BYTES {
            self.put_prefix();
            self.bytes[PREFIX_BYTES..start].fill(0);
        }
    }

    /// Replaces the content by the shorter `content`, under `flags`. The batch gets another buffer
    /// of `buffer_bytes` if its own is too small, as it may be next to a shared payload. Returns
    /// the shared payload.
    #[cfg_attr(not(feature = "compression"), allow(dead_code))]
    pub(crate) fn replace(
        &mut self,
        flags: u8,
        content: &[u8],
        free: &mut Vec<Box<[u8]>>,
        buffer_bytes: usize,
    ) -> Option<ZSlice> {
        let start = self.start();
        let len = start + content.len();
        if self.bytes.len() < len {
            self.bytes = match free.pop() {
                Some(buffer) if buffer.len() >= len => buffer,
                _ => vec![0; buffer_bytes.max(len)].into_boxed_slice(),
            };
        }
        let payload = self.tail.take();
        self.len = len as u32;
        self.bytes[start..len].copy_from_slice(content);
        self.write_length();
        self.bytes[PREFIX_BYTES..start].fill(flags);
        self.is_settled = true;
        payload
    }

    /// Truncates the batch to its first `len` bytes.
    pub(super) fn rewind(&mut self, len: usize) {
        self.len = len.max(self.start()) as u32;
    }

    /// Overwrites bytes that were written before.
    pub(super) fn patch(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Returns the buffer for the next batch, and drops the tail.
    #[must_use]
    pub fn into_buffer(self) -> Box<[u8]> {
        self.bytes
    }

    /// Returns buffer and tail, for callers that must not drop a payload at once.
    #[inline]
    pub(crate) fn into_parts(self) -> (Box<[u8]>, Option<ZSlice>) {
        (self.bytes, self.tail)
    }
}

/// Place of the payload of an outgoing message, which decides if it can be sent without copying.
#[derive(Debug, Clone, Copy)]
pub enum Tail<'a> {
    /// Bytes that must be copied: the caller does not keep them after the call.
    Copy(&'a [u8]),
    /// A payload that is already reference-counted.
    Shared(&'a ZSlice),
    /// A part of the receive block that it arrived in.
    Part {
        /// The block that `part` was decoded from.
        block: &'a ZSlice,
        /// The payload inside `block`.
        part: &'a [u8],
    },
}

impl<'a> Tail<'a> {
    /// No payload: the encoded head is the whole message.
    pub const NONE: Tail<'static> = Tail::Copy(&[]);

    /// Returns the payload's bytes.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        match self {
            Tail::Copy(bytes) => bytes,
            Tail::Shared(slice) => slice.as_slice(),
            Tail::Part { part, .. } => part,
        }
    }

    /// Returns the number of bytes, without touching them.
    #[must_use]
    #[inline]
    pub fn size(&self) -> usize {
        match self {
            Tail::Shared(slice) => slice.len(),
            Tail::Copy(bytes) | Tail::Part { part: bytes, .. } => bytes.len(),
        }
    }

    /// Returns the payload's bytes from `start` to `end` as a slice that outlives the call, without copying them.
    /// `None` if they can only be copied.
    pub(super) fn share(&self, start: usize, end: usize) -> Option<ZSlice> {
        match self {
            Tail::Copy(_) => None,
            Tail::Shared(slice) => {
                own_copy(slice, start, end).or_else(|| slice.subslice(start..end))
            }
            Tail::Part { block, part } => {
                let bytes = part.get(start..end)?;
                let own = (part.as_ptr() == block.as_ptr()).then(|| own_copy(block, start, end));
                Some(own.flatten().unwrap_or_else(|| shared_part(block, bytes)))
            }
        }
    }

    /// Returns the payload as a slice that outlives the call, wherever its bytes lie; copies bytes that have no owner.
    pub(super) fn slice(&self) -> ZSlice {
        match self {
            Tail::Copy(bytes) => ZSlice::from(bytes.to_vec()),
            Tail::Shared(slice) => (*slice).clone(),
            Tail::Part { block, part } => shared_part(block, part),
        }
    }
}
