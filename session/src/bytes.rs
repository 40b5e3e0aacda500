// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`ZBytes`], the payload of samples and queries, and [`Encoding`], its format.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::str::Utf8Error;

use bytes::Bytes;
use zonda_codec::payload::{Block, shared_part};
use zonda_codec::short::Short;
use zonda_codec::{Payload, RunItem, ZSlice};
use zonda_router::node::Value;

pub use crate::encoding::{Encoding, EncodingError};

/// A payload or an attachment: contiguous shared bytes. A clone shares the buffer; only a few
/// bytes, which need no buffer, are copied.
///
/// The payload of a received sample shares the buffer that the network filled. A program that keeps
/// many small payloads could therefore keep large buffers; queues
/// ([`FifoChannel`](crate::handlers::FifoChannel), ...) copy small payloads out of them, and
/// [`ZBytes::detached`] does so for your own collections.
///
/// ```
/// use zonda::bytes::ZBytes;
///
/// let bytes = ZBytes::from("hello");
/// assert_eq!(bytes.len(), 5);
/// assert_eq!(bytes.try_to_string().unwrap(), "hello");
/// assert_eq!(ZBytes::from(vec![1, 2, 3]).to_bytes(), [1, 2, 3].as_slice());
/// ```
#[derive(Clone)]
pub struct ZBytes(Repr);

#[derive(Clone)]
enum Repr {
    /// A few bytes in place: without buffer and reference count.
    Small(Short),
    /// A share of a buffer.
    Shared(Payload),
}

impl ZBytes {
    /// Creates an empty payload.
    #[inline]
    pub const fn new() -> ZBytes {
        ZBytes(Repr::Small(Short::EMPTY))
    }

    /// Stores the bytes in place, if they are few enough.
    #[inline]
    fn small(bytes: &[u8]) -> Option<ZBytes> {
        Short::new(bytes).map(|short| ZBytes(Repr::Small(short)))
    }

    /// Returns a part of a receive block: copied if it is small, else shared.
    #[inline(always)]
    pub(crate) fn of_block(block: &ZSlice, part: &[u8]) -> ZBytes {
        match Short::new(part) {
            Some(short) => ZBytes(Repr::Small(short)),
            None => ZBytes(Repr::Shared(shared_part(block, part).into())),
        }
    }

    /// Returns the payload of a message of a run that came in this block: copied if it is small,
    /// else shared.
    #[inline(always)]
    pub(crate) fn of_run(block: &Block<'_>, again: &RunItem<'_>) -> ZBytes {
        match again.short() {
            Some(short) => ZBytes(Repr::Small(short)),
            None => ZBytes(Repr::Shared(block.part(again.payload).into())),
        }
    }

    /// Returns the payload of a message of a run in a form to be stored: copied up to
    /// [`ZBytes::DETACHED_BYTES_MAX`], else shared.
    #[inline(always)]
    pub(crate) fn detached_of_run(block: &Block<'_>, again: &RunItem<'_>) -> ZBytes {
        let len = again.payload.len();
        match len > Short::BYTES_MAX && len <= Self::DETACHED_BYTES_MAX {
            true => ZBytes(Repr::Shared(again.payload.into())),
            false => ZBytes::of_run(block, again),
        }
    }

    /// Returns the length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.0 {
            Repr::Small(short) => short.as_slice().len(),
            Repr::Shared(payload) => payload.as_zslice().len(),
        }
    }

    /// Returns true if the length is 0.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes, borrowed: the bytes of Zonda are always contiguous.
    pub fn to_bytes(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(self.as_slice())
    }

    /// Returns the bytes.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        match &self.0 {
            Repr::Small(short) => short.as_slice(),
            Repr::Shared(payload) => payload.as_slice(),
        }
    }

    /// Returns the bytes as text.
    ///
    /// # Errors
    /// The bytes are not UTF-8.
    pub fn try_to_string(&self) -> Result<Cow<'_, str>, Utf8Error> {
        std::str::from_utf8(self.as_slice()).map(Cow::Borrowed)
    }

    /// Returns the bytes in pieces; Zonda always has one piece, or none when empty.
    pub fn slices(&self) -> ZBytesSliceIterator<'_> {
        Some(self.as_slice()).filter(|s| !s.is_empty()).into_iter()
    }

    /// Reads the bytes through [`std::io::Read`] and [`std::io::Seek`].
    pub fn reader(&self) -> ZBytesReader<'_> {
        ZBytesReader(io::Cursor::new(self.as_slice()))
    }

    /// Reads a reader to its end.
    ///
    /// # Errors
    /// Errors of the reader.
    ///
    /// # Blocking
    /// Until the reader is at its end.
    pub fn from_reader<R: io::Read>(mut reader: R) -> io::Result<ZBytes> {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes)?;
        Ok(bytes.into())
    }

    /// Builds bytes through [`std::io::Write`].
    ///
    /// ```
    /// use std::io::Write;
    /// let mut writer = zonda::bytes::ZBytes::writer();
    /// write!(writer, "{} {}", 1, 2).unwrap();
    /// assert_eq!(writer.finish(), zonda::bytes::ZBytes::from("1 2"));
    /// ```
    pub fn writer() -> ZBytesWriter {
        ZBytesWriter(Vec::new())
    }

    /// Returns the bytes in their own buffer if there are so few (at most
    /// [`DETACHED_BYTES_MAX`](ZBytes::DETACHED_BYTES_MAX)) that sharing a large buffer could cost
    /// more memory than the copy; else returns a clone that shares the buffer.
    #[must_use]
    pub fn detached(&self) -> ZBytes {
        if self.is_empty() || self.len() > Self::DETACHED_BYTES_MAX {
            self.clone()
        } else {
            ZBytes::from(self.as_slice())
        }
    }

    /// Limit of the bytes that [`ZBytes::detached`] copies.
    pub const DETACHED_BYTES_MAX: usize = 1024;

    /// Replaces these bytes by a clone of `other` and returns its length; moves the payload that
    /// was shared before into `spilled`.
    #[cfg(feature = "ext")]
    #[inline(always)]
    pub(crate) fn become_clone(&mut self, other: &ZBytes, spilled: &mut Option<Payload>) -> usize {
        let len = match &other.0 {
            Repr::Small(short) => {
                let len = short.as_slice().len();
                if let Repr::Small(before) = &mut self.0 {
                    *before = *short;
                    return len;
                }
                len
            }
            Repr::Shared(payload) => payload.as_zslice().len(),
        };
        if let Repr::Shared(payload) = std::mem::replace(&mut self.0, other.0.clone()) {
            *spilled = Some(payload);
        }
        len
    }

    /// Returns these bytes, shared even if they are few.
    pub(crate) fn of_payload(payload: Payload) -> ZBytes {
        ZBytes(Repr::Shared(payload))
    }

    /// Returns the share of a buffer; `None` for a few bytes in place.
    pub(crate) fn payload(&self) -> Option<&Payload> {
        match &self.0 {
            Repr::Small(_) => None,
            Repr::Shared(payload) => Some(payload),
        }
    }

    /// Returns the share of a buffer, mutably; `None` for a few bytes in place.
    pub(crate) fn payload_mut(&mut self) -> Option<&mut Payload> {
        match &mut self.0 {
            Repr::Small(_) => None,
            Repr::Shared(payload) => Some(payload),
        }
    }

    /// Returns the value in the node's form.
    #[inline(always)]
    pub(crate) fn value(&self) -> Value<'_> {
        match &self.0 {
            Repr::Small(_) => Value::Borrowed(self.as_slice()),
            Repr::Shared(payload) => Value::Shared(payload),
        }
    }
}

/// The pieces of a [`ZBytes`]; from [`ZBytes::slices`].
pub type ZBytesSliceIterator<'a> = std::option::IntoIter<&'a [u8]>;

/// Reads a [`ZBytes`]; from [`ZBytes::reader`].
///
/// ```
/// use std::io::Read;
/// use zonda::bytes::ZBytes;
///
/// let bytes = ZBytes::from_reader(&b"hello"[..])?;
/// let mut reader = bytes.reader();
/// reader.read_exact(&mut [0; 2])?;
/// assert_eq!((reader.remaining(), reader.is_empty()), (3, false));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ZBytesReader<'a>(io::Cursor<&'a [u8]>);

impl ZBytesReader<'_> {
    /// Returns the number of bytes that are still to be read.
    pub fn remaining(&self) -> usize {
        let position = usize::try_from(self.0.position()).unwrap_or(usize::MAX);
        self.0.get_ref().len().saturating_sub(position)
    }

    /// Returns true if all bytes are read.
    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }
}

impl io::Read for ZBytesReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl io::BufRead for ZBytesReader<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.0.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.0.consume(count);
    }
}

impl io::Seek for ZBytesReader<'_> {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

/// Collects bytes for a [`ZBytes`]; see [`ZBytes::writer`].
#[derive(Debug, Default)]
pub struct ZBytesWriter(Vec<u8>);

impl ZBytesWriter {
    /// Adds these bytes.
    ///
    /// ```
    /// use zonda::bytes::ZBytes;
    ///
    /// let mut writer = ZBytes::writer();
    /// writer.append("to".into());
    /// writer.append("gether".into());
    /// assert_eq!(writer.finish(), ZBytes::from("together"));
    /// ```
    pub fn append(&mut self, bytes: ZBytes) {
        match self.0.is_empty() {
            true => self.0 = bytes.to_bytes().into_owned(),
            false => self.0.extend_from_slice(bytes.as_slice()),
        }
    }

    /// Returns the bytes written so far, without a copy.
    pub fn finish(self) -> ZBytes {
        ZBytes::from(self.0)
    }
}

impl io::Write for ZBytesWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for ZBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&Payload::from(self.clone()), f)
    }
}

impl Default for ZBytes {
    fn default() -> Self {
        ZBytes::new()
    }
}

impl PartialEq for ZBytes {
    fn eq(&self, other: &ZBytes) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for ZBytes {}

impl From<Vec<u8>> for ZBytes {
    /// Takes the vector over; no copy.
    fn from(bytes: Vec<u8>) -> Self {
        ZBytes::small(&bytes).unwrap_or_else(|| ZBytes(Repr::Shared(bytes.into())))
    }
}

impl From<&[u8]> for ZBytes {
    /// **Copies** the bytes.
    #[inline]
    fn from(bytes: &[u8]) -> Self {
        ZBytes::small(bytes).unwrap_or_else(|| ZBytes(Repr::Shared(bytes.into())))
    }
}

impl<const N: usize> From<[u8; N]> for ZBytes {
    /// **Copies** the bytes.
    #[inline]
    fn from(bytes: [u8; N]) -> Self {
        ZBytes::from(bytes.as_slice())
    }
}

impl<const N: usize> From<&[u8; N]> for ZBytes {
    /// **Copies** the bytes.
    #[inline]
    fn from(bytes: &[u8; N]) -> Self {
        ZBytes::from(bytes.as_slice())
    }
}

impl From<&Vec<u8>> for ZBytes {
    /// **Copies** the bytes.
    fn from(bytes: &Vec<u8>) -> Self {
        ZBytes::from(bytes.as_slice())
    }
}

impl From<String> for ZBytes {
    /// Takes the text over; no copy.
    fn from(text: String) -> Self {
        ZBytes::from(text.into_bytes())
    }
}

impl From<&String> for ZBytes {
    /// **Copies** the text.
    fn from(text: &String) -> Self {
        ZBytes::from(text.as_str())
    }
}

impl From<&str> for ZBytes {
    /// **Copies** the text.
    fn from(text: &str) -> Self {
        ZBytes::from(text.as_bytes())
    }
}

impl From<Cow<'_, [u8]>> for ZBytes {
    /// Copies only what is borrowed.
    fn from(bytes: Cow<'_, [u8]>) -> Self {
        ZBytes::from(bytes.into_owned())
    }
}

impl From<Cow<'_, str>> for ZBytes {
    /// Copies only what is borrowed.
    fn from(text: Cow<'_, str>) -> Self {
        ZBytes::from(text.into_owned())
    }
}

impl From<Bytes> for ZBytes {
    /// Shares the bytes; no copy. The thread that sends the last of them drops their owner, with no
    /// lock held: the drop may publish, but delays the link for its duration.
    fn from(bytes: Bytes) -> Self {
        ZBytes::small(&bytes).unwrap_or_else(|| ZBytes(Repr::Shared(bytes.into())))
    }
}

impl From<ZBytes> for Bytes {
    /// Shares the bytes; copies at most 32 that had no buffer.
    fn from(bytes: ZBytes) -> Self {
        Payload::from(bytes).into()
    }
}

impl From<ZBytes> for ZSlice {
    /// Shares the bytes; copies at most 32 that had no buffer.
    fn from(bytes: ZBytes) -> Self {
        Payload::from(bytes).into()
    }
}

impl From<Payload> for ZBytes {
    /// Shares the bytes; no copy.
    fn from(payload: Payload) -> Self {
        ZBytes(Repr::Shared(payload))
    }
}

impl From<ZBytes> for Payload {
    /// Shares the bytes; copies at most 32 that had no buffer.
    fn from(bytes: ZBytes) -> Self {
        match bytes.0 {
            Repr::Small(_) => Payload::from(bytes.as_slice()),
            Repr::Shared(payload) => payload,
        }
    }
}

impl From<&ZBytes> for ZBytes {
    /// Shares the bytes; no copy.
    fn from(bytes: &ZBytes) -> Self {
        bytes.clone()
    }
}

impl AsRef<[u8]> for ZBytes {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

/// An attachment: built from anything that can be a payload, or from an option of it.
///
/// ```
/// use zonda::bytes::{OptionZBytes, ZBytes};
/// let none: Option<ZBytes> = OptionZBytes::from(None::<&str>).into();
/// let some: Option<ZBytes> = OptionZBytes::from("text").into();
/// assert_eq!((none, some), (None, Some(ZBytes::from("text"))));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OptionZBytes(Option<ZBytes>);

impl<T: Into<ZBytes>> From<T> for OptionZBytes {
    fn from(bytes: T) -> Self {
        OptionZBytes(Some(bytes.into()))
    }
}

impl<T: Into<ZBytes>> From<Option<T>> for OptionZBytes {
    fn from(bytes: Option<T>) -> Self {
        OptionZBytes(bytes.map(Into::into))
    }
}

impl<T> From<&Option<T>> for OptionZBytes
where
    for<'a> &'a T: Into<ZBytes>,
{
    fn from(bytes: &Option<T>) -> Self {
        OptionZBytes(bytes.as_ref().map(Into::into))
    }
}

impl From<OptionZBytes> for Option<ZBytes> {
    fn from(option: OptionZBytes) -> Self {
        option.0
    }
}

#[cfg(test)]
mod tests {
    use super::{Short, ZBytes};

    #[test]
    fn short_and_long_come_back_as_they_were() {
        for len in 0..80 {
            let bytes = vec![0xa5; len];
            assert_eq!(ZBytes::from(bytes.as_slice()).as_slice(), bytes);
            assert_eq!(ZBytes::from(bytes.clone()).as_slice(), bytes);
        }
        assert_eq!(size_of::<ZBytes>(), Short::BYTES_MAX + 16);
    }
}
