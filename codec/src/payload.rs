// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`Payload`]: the bytes that a user sends and receives, shared without copying from the socket's
//! buffer to the callback.
//!
//! A payload is a [`ZSlice`] of a reference-counted buffer. It becomes [`bytes::Bytes`] and is made from it
//! without a copy, in both directions.

use std::fmt;
use std::ops::{Deref, RangeBounds};
use std::str::Utf8Error;
use std::sync::OnceLock;

use bytes::Bytes;

use crate::{SliceBuffer, ZSlice};

/// Contiguous shared bytes. A clone counts a reference and copies nothing.
///
/// ```
/// use zonda_codec::Payload;
/// let payload = Payload::from(vec![1, 2, 3, 4]);
/// let tail = payload.subslice(2..).unwrap();
/// assert_eq!(&tail[..], [3, 4]);
/// assert_eq!(bytes::Bytes::from(tail).as_ref(), [3, 4]);
/// ```
#[derive(Clone)]
pub struct Payload(ZSlice);

impl Payload {
    /// Returns no bytes; allocates nothing after the first call in the process.
    pub fn empty() -> Self {
        static EMPTY: OnceLock<ZSlice> = OnceLock::new();
        Self(EMPTY.get_or_init(ZSlice::empty).clone())
    }

    /// Returns the bytes.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        self.0.as_slice()
    }

    /// Returns the bytes as text.
    ///
    /// # Errors
    /// The bytes are not UTF-8.
    pub fn to_str(&self) -> Result<&str, Utf8Error> {
        std::str::from_utf8(self)
    }

    /// Returns the shared slice itself.
    #[inline]
    pub fn as_zslice(&self) -> &ZSlice {
        &self.0
    }

    /// Returns the buffer, mutably, if it is a `T` and no other payload shares it.
    pub fn downcast_mut<T: SliceBuffer>(&mut self) -> Option<&mut T> {
        self.0.downcast_mut()
    }

    /// Returns a part of the payload that shares its buffer; `None` when the range is not inside
    /// it.
    pub fn subslice(&self, range: impl RangeBounds<usize>) -> Option<Self> {
        self.0.subslice(range).map(Self)
    }
}

/// Returns the part of `block` that is `part`, sharing the block's buffer.
///
/// `part` is expected to be borrowed from `block`, as decoded messages are; then nothing is copied.
/// Any other slice is copied into its own buffer.
///
/// ```
/// use zonda_codec::{ZSlice, payload::shared_part};
/// let block = ZSlice::from(vec![1, 2, 3, 4]);
/// let part = shared_part(&block, &block.as_slice()[1..3]);
/// assert_eq!(part.as_slice().as_ptr(), block.as_slice()[1..].as_ptr());
/// ```
#[inline]
pub fn shared_part(block: &ZSlice, part: &[u8]) -> ZSlice {
    Block::new(block).part(part)
}

/// A block of which many parts are shared: its address is determined once.
#[derive(Clone, Copy)]
pub struct Block<'a> {
    slice: &'a ZSlice,
    address: usize,
}

impl<'a> Block<'a> {
    /// Creates the block of this buffer.
    #[inline]
    pub fn new(slice: &'a ZSlice) -> Self {
        let address = slice.as_slice().as_ptr().addr();
        Block { slice, address }
    }

    /// Makes a payload of [`shared_part`].
    #[inline]
    pub fn part(&self, part: &[u8]) -> ZSlice {
        let offset = part.as_ptr().addr().checked_sub(self.address);
        let inside =
            offset.and_then(|start| self.slice.subslice(start..start.checked_add(part.len())?));
        inside.unwrap_or_else(|| copied(part))
    }
}

#[cold]
fn copied(part: &[u8]) -> ZSlice {
    ZSlice::from(part.to_vec())
}

/// A `Bytes` as the buffer of a payload.
#[derive(Debug)]
struct BytesBuffer(Bytes);

impl SliceBuffer for BytesBuffer {
    fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

/// The slice of a payload as the owner of the memory of a `Bytes`.
struct SliceOwner(ZSlice);

impl AsRef<[u8]> for SliceOwner {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

impl From<Bytes> for Payload {
    /// Shares the bytes; no copy.
    fn from(bytes: Bytes) -> Self {
        Self(ZSlice::from(BytesBuffer(bytes)))
    }
}

impl From<Payload> for Bytes {
    /// Shares the bytes; no copy.
    fn from(Payload(slice): Payload) -> Self {
        match slice.downcast_ref::<BytesBuffer>() {
            Some(BytesBuffer(bytes)) => bytes.slice_ref(slice.as_slice()),
            None => Bytes::from_owner(SliceOwner(slice)),
        }
    }
}

impl From<ZSlice> for Payload {
    #[inline]
    fn from(slice: ZSlice) -> Self {
        Self(slice)
    }
}

impl From<Payload> for ZSlice {
    #[inline]
    fn from(Payload(slice): Payload) -> Self {
        slice
    }
}

impl From<Vec<u8>> for Payload {
    /// Takes the vector over; no copy.
    fn from(bytes: Vec<u8>) -> Self {
        Self(ZSlice::from(bytes))
    }
}

impl From<Box<[u8]>> for Payload {
    /// Takes the box over; no copy.
    fn from(bytes: Box<[u8]>) -> Self {
        Self(ZSlice::from(bytes))
    }
}

impl From<String> for Payload {
    /// Takes the text over; no copy.
    fn from(text: String) -> Self {
        Self::from(text.into_bytes())
    }
}

impl From<&[u8]> for Payload {
    /// **Copies** the bytes once.
    fn from(bytes: &[u8]) -> Self {
        Self::from(bytes.to_vec())
    }
}

impl<const N: usize> From<&[u8; N]> for Payload {
    /// **Copies** the bytes once.
    fn from(bytes: &[u8; N]) -> Self {
        Self::from(bytes.to_vec())
    }
}

impl From<&str> for Payload {
    /// **Copies** the text once.
    fn from(text: &str) -> Self {
        Self::from(text.as_bytes())
    }
}

impl Default for Payload {
    fn default() -> Self {
        Self::empty()
    }
}

impl Deref for Payload {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl AsRef<[u8]> for Payload {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl<T: AsRef<[u8]> + ?Sized> PartialEq<T> for Payload {
    fn eq(&self, other: &T) -> bool {
        self.as_slice() == other.as_ref()
    }
}

impl Eq for Payload {}

/// Limit of the bytes of a payload that `Debug` shows.
const SHOWN_BYTES_MAX: usize = 32;

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.chunks(SHOWN_BYTES_MAX).next().unwrap_or_default();
        let more = if shown.len() < self.len() { "..." } else { "" };
        write!(
            f,
            "Payload({} bytes, \"{}\"{more})",
            self.len(),
            shown.escape_ascii()
        )
    }
}
