// SPDX-License-Identifier: MIT OR Apache-2.0

//! The serialization that all implementations of the protocol share: fields one after another, without tags or a version.
//!
//! | value | bytes |
//! |---|---|
//! | integer, float | its width, little-endian |
//! | `bool` | one byte, 0 or 1 |
//! | [`VarInt`] | LEB128 |
//! | text, bytes | the length as a `VarInt`, then the bytes |
//! | sequence, array, set, map | the count as a `VarInt`, then the items; of a map key and value each time |
//! | tuple | its fields |

mod values;

#[cfg(test)]
mod tests;

use std::fmt;
use std::marker::PhantomData;

use crate::bytes::ZBytes;

pub use values::VarInt;

/// Bytes do not have the expected form: they are too few or too many, or no such value.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("deserialization error")]
pub struct ZDeserializeError;

zonda_codec::debug_as_text!(ZDeserializeError);

/// A value that can be serialized.
///
/// ```
/// use zonda::ext::{Serialize, ZSerializer, z_serialize};
///
/// struct Point {
///     x: i16,
///     y: i16,
/// }
///
/// impl Serialize for Point {
///     fn serialize(&self, serializer: &mut ZSerializer) {
///         serializer.serialize(self.x);
///         serializer.serialize(self.y);
///     }
/// }
///
/// assert_eq!(z_serialize(&Point { x: 1, y: -1 }).as_slice(), [1, 0, 255, 255]);
/// ```
pub trait Serialize {
    /// Appends the value to the serialized bytes.
    fn serialize(&self, serializer: &mut ZSerializer);

    /// Appends these values, without their count.
    #[doc(hidden)]
    fn serialize_n(slice: &[Self], serializer: &mut ZSerializer)
    where
        Self: Sized,
    {
        for value in slice {
            value.serialize(serializer);
        }
    }
}

impl<T: Serialize + ?Sized> Serialize for &T {
    fn serialize(&self, serializer: &mut ZSerializer) {
        T::serialize(self, serializer);
    }
}

/// A value that can be read back.
///
/// ```
/// use zonda::ext::{Deserialize, ZDeserializeError, ZDeserializer, z_deserialize};
///
/// #[derive(Debug, PartialEq)]
/// struct Point {
///     x: i16,
///     y: i16,
/// }
///
/// impl Deserialize for Point {
///     fn deserialize(deserializer: &mut ZDeserializer) -> Result<Self, ZDeserializeError> {
///         Ok(Point { x: deserializer.deserialize()?, y: deserializer.deserialize()? })
///     }
/// }
///
/// let bytes = [1, 0, 255, 255].into();
/// assert_eq!(z_deserialize(&bytes), Ok(Point { x: 1, y: -1 }));
/// ```
pub trait Deserialize: Sized {
    /// Reads the next value.
    ///
    /// # Errors
    /// The remaining bytes do not begin with such a value.
    fn deserialize(deserializer: &mut ZDeserializer) -> Result<Self, ZDeserializeError>;

    /// Reads so many values.
    #[doc(hidden)]
    fn deserialize_n(
        count: usize,
        deserializer: &mut ZDeserializer,
    ) -> Result<Vec<Self>, ZDeserializeError> {
        let mut values = Vec::with_capacity(deserializer.believed::<Self>(count));
        for value in Items::new(count, deserializer) {
            values.push(value?);
        }
        Ok(values)
    }
}

/// Serializes a value.
///
/// ```
/// use zonda::ext::{z_deserialize, z_serialize};
///
/// let bytes = z_serialize(&(500u16, "test"));
/// assert_eq!(bytes.as_slice(), [0xf4, 0x01, 4, b't', b'e', b's', b't']);
/// assert_eq!(z_deserialize::<(u16, String)>(&bytes)?, (500, "test".to_owned()));
/// # Ok::<(), zonda::Error>(())
/// ```
pub fn z_serialize<T: Serialize + ?Sized>(value: &T) -> ZBytes {
    let mut serializer = ZSerializer::new();
    value.serialize(&mut serializer);
    serializer.finish()
}

/// Reads a value that takes all of the bytes.
///
/// # Errors
/// The bytes are no such value, or more than one.
pub fn z_deserialize<T: Deserialize>(bytes: &ZBytes) -> Result<T, ZDeserializeError> {
    let mut deserializer = ZDeserializer::new(bytes);
    let value = T::deserialize(&mut deserializer)?;
    match deserializer.done() {
        true => Ok(value),
        false => Err(ZDeserializeError),
    }
}

/// A serializer of values one after another, whose result is that of a tuple of them.
///
/// ```
/// use zonda::ext::{ZSerializer, z_deserialize};
///
/// let mut serializer = ZSerializer::new();
/// serializer.serialize(42i32);
/// serializer.serialize_iter(["a", "b"]);
/// let bytes = serializer.finish();
/// let back: (i32, Vec<String>) = z_deserialize(&bytes)?;
/// assert_eq!(back, (42, vec!["a".to_owned(), "b".to_owned()]));
/// # Ok::<(), zonda::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct ZSerializer {
    bytes: Vec<u8>,
}

impl ZSerializer {
    /// Creates a serializer without values.
    pub fn new() -> Self {
        ZSerializer::default()
    }

    /// Appends a value.
    pub fn serialize<T: Serialize>(&mut self, value: T) {
        value.serialize(self);
    }

    /// Appends values as a sequence: their count, then each of them.
    pub fn serialize_iter<T: Serialize, I: IntoIterator<Item = T>>(&mut self, values: I)
    where
        I::IntoIter: ExactSizeIterator,
    {
        let values = values.into_iter();
        VarInt(values.len()).serialize(self);
        for value in values {
            value.serialize(self);
        }
    }

    /// Returns the serialized bytes, without a copy.
    pub fn finish(self) -> ZBytes {
        ZBytes::from(self.bytes)
    }
}

impl From<ZSerializer> for ZBytes {
    fn from(serializer: ZSerializer) -> ZBytes {
        serializer.finish()
    }
}

/// A deserializer of values one after another.
///
/// ```
/// use zonda::ext::{ZDeserializer, z_serialize};
///
/// let bytes = z_serialize(&(42i32, vec![1u8, 2]));
/// let mut deserializer = ZDeserializer::new(&bytes);
/// assert_eq!(deserializer.deserialize::<i32>()?, 42);
/// let rest: Result<Vec<u8>, _> = deserializer.deserialize_iter()?.collect();
/// assert_eq!(rest?, [1, 2]);
/// assert!(deserializer.done());
/// # Ok::<(), zonda::Error>(())
/// ```
#[derive(Debug)]
pub struct ZDeserializer<'a> {
    rest: &'a [u8],
}

impl<'a> ZDeserializer<'a> {
    /// Creates a deserializer at the first byte.
    pub fn new(bytes: &'a ZBytes) -> Self {
        ZDeserializer {
            rest: bytes.as_slice(),
        }
    }

    /// Returns true if no byte is left.
    pub fn done(&self) -> bool {
        self.rest.is_empty()
    }

    /// Reads a value.
    ///
    /// # Errors
    /// The remaining bytes do not begin with such a value.
    pub fn deserialize<T: Deserialize>(&mut self) -> Result<T, ZDeserializeError> {
        T::deserialize(self)
    }

    /// Reads the values of a sequence. Values that were not read before the iterator is dropped are
    /// skipped.
    ///
    /// # Errors
    /// The rest does not begin with a count, or with one that it cannot hold.
    pub fn deserialize_iter<'b, T: Deserialize>(
        &'b mut self,
    ) -> Result<ZReadIter<'a, 'b, T>, ZDeserializeError> {
        let VarInt(count) = VarInt::<usize>::deserialize(self)?;
        match count > self.rest.len().max(EMPTY_MAX) {
            true => Err(ZDeserializeError),
            false => Ok(ZReadIter(Items::new(count, self))),
        }
    }

    /// Returns for how many of `count` values memory may be reserved at once. The count is the
    /// sender's: no more memory is reserved than there are bytes.
    fn believed<T>(&self, count: usize) -> usize {
        count.min(self.rest.len() / size_of::<T>().max(1))
    }

    /// Takes the next `count` bytes.
    fn take(&mut self, count: usize) -> Result<&'a [u8], ZDeserializeError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(ZDeserializeError)?;
        self.rest = rest;
        Ok(taken)
    }
}

/// Limit of the values without any bytes that a sequence may claim to have: reading them takes time
/// that no bytes pay for.
const EMPTY_MAX: usize = 1 << 16;

/// The values of a sequence that are still to be read.
struct Items<'a, 'b, T> {
    deserializer: &'b mut ZDeserializer<'a>,
    left: usize,
    value: PhantomData<fn() -> T>,
}

impl<'a, 'b, T> Items<'a, 'b, T> {
    fn new(count: usize, deserializer: &'b mut ZDeserializer<'a>) -> Self {
        Items {
            deserializer,
            left: count,
            value: PhantomData,
        }
    }
}

impl<T: Deserialize> Iterator for Items<'_, '_, T> {
    type Item = Result<T, ZDeserializeError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let before = self.deserializer.rest.len();
        let value = match T::deserialize(self.deserializer) {
            Ok(_) if before == self.deserializer.rest.len() && self.left > EMPTY_MAX => {
                Err(ZDeserializeError)
            }
            other => other,
        };
        if value.is_err() {
            // Nothing behind it can be found.
            self.left = 0;
        }
        Some(value)
    }
}

/// The values of a sequence; made by [`ZDeserializer::deserialize_iter`]. It ends with the first error.
pub struct ZReadIter<'a, 'b, T: Deserialize>(Items<'a, 'b, T>);

impl<T: Deserialize> Iterator for ZReadIter<'_, '_, T> {
    type Item = Result<T, ZDeserializeError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }

    /// Returns as lower bound a count that the remaining bytes have room for, as collections
    /// reserve memory by it, and as upper bound the sender's count.
    fn size_hint(&self) -> (usize, Option<usize>) {
        let Items {
            deserializer, left, ..
        } = &self.0;
        (deserializer.believed::<Self::Item>(*left), Some(*left))
    }
}

impl<T: Deserialize> ExactSizeIterator for ZReadIter<'_, '_, T> {
    /// Returns the number of values that are left by the sender's count; 0 after an error.
    fn len(&self) -> usize {
        self.0.left
    }
}

impl<T: Deserialize> Drop for ZReadIter<'_, '_, T> {
    fn drop(&mut self) {
        self.by_ref().for_each(drop);
    }
}

impl<T: Deserialize> fmt::Debug for ZReadIter<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZReadIter")
            .field("left", &self.0.left)
            .finish_non_exhaustive()
    }
}
