// SPDX-License-Identifier: MIT OR Apache-2.0

//! Implementations for values: numbers, texts, collections, tuples.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, Hash};

use super::{Deserialize, Serialize, ZDeserializeError, ZDeserializer, ZSerializer};
use crate::bytes::ZBytes;

/// A number in as few bytes as it needs: LEB128, seven bits a byte, the lowest first.
///
/// ```
/// use zonda::ext::{VarInt, z_serialize};
///
/// assert_eq!(z_serialize(&VarInt(300usize)).as_slice(), [0xac, 0x02]);
/// ```
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VarInt<T>(pub T);

impl Serialize for VarInt<usize> {
    fn serialize(&self, serializer: &mut ZSerializer) {
        let mut left = self.0;
        while left > 0x7f {
            serializer.bytes.push(left as u8 | 0x80);
            left >>= 7;
        }
        serializer.bytes.push(left as u8);
    }
}

impl Deserialize for VarInt<usize> {
    fn deserialize(deserializer: &mut ZDeserializer) -> Result<Self, ZDeserializeError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = u8::deserialize(deserializer)?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(ZDeserializeError);
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                let value = usize::try_from(value).map_err(|_| ZDeserializeError)?;
                return Ok(VarInt(value));
            }
        }
        Err(ZDeserializeError)
    }
}

macro_rules! numbers {
    ($($number:ty)+) => {$(
        impl Serialize for $number {
            fn serialize(&self, serializer: &mut ZSerializer) {
                serializer.bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn serialize_n(slice: &[Self], serializer: &mut ZSerializer) {
                serializer.bytes.reserve(size_of_val(slice));
                for value in slice {
                    serializer.bytes.extend_from_slice(&value.to_le_bytes());
                }
            }
        }

        impl Deserialize for $number {
            fn deserialize(deserializer: &mut ZDeserializer) -> Result<Self, ZDeserializeError> {
                let bytes = deserializer.take(size_of::<Self>())?;
                let bytes = bytes.try_into().map_err(|_| ZDeserializeError)?;
                Ok(<$number>::from_le_bytes(bytes))
            }

            fn deserialize_n(
                count: usize,
                deserializer: &mut ZDeserializer,
            ) -> Result<Vec<Self>, ZDeserializeError> {
                const SIZE: usize = size_of::<$number>();
                let len = count.checked_mul(SIZE).ok_or(ZDeserializeError)?;
                let chunks = deserializer.take(len)?.chunks_exact(SIZE);
                let number = |chunk: &[u8]| {
                    let mut bytes = [0; SIZE];
                    bytes.copy_from_slice(chunk);
                    <$number>::from_le_bytes(bytes)
                };
                Ok(chunks.map(number).collect())
            }
        }
    )+};
}

numbers!(i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64);

impl Serialize for bool {
    fn serialize(&self, serializer: &mut ZSerializer) {
        serializer.bytes.push(u8::from(*self));
    }
}

impl Deserialize for bool {
    fn deserialize(deserializer: &mut ZDeserializer) -> Result<Self, ZDeserializeError> {
        match u8::deserialize(deserializer)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(ZDeserializeError),
        }
    }
}

impl Serialize for ZBytes {
    fn serialize(&self, serializer: &mut ZSerializer) {
        self.as_slice().serialize(serializer);
    }
}

impl<T: Serialize> Serialize for [T] {
    fn serialize(&self, serializer: &mut ZSerializer) {
        VarInt(self.len()).serialize(serializer);
        T::serialize_n(self, serializer);
    }
}

impl<T: Serialize, const N: usize> Serialize for [T; N] {
    fn serialize(&self, serializer: &mut ZSerializer) {
        self.as_slice().serialize(serializer);
    }
}

impl<'a, T: Serialize + 'a> Serialize for Cow<'a, [T]>
where
    [T]: ToOwned,
{
    fn serialize(&self, serializer: &mut ZSerializer) {
        self.as_ref().serialize(serializer);
    }
}

impl<T: Serialize> Serialize for Box<[T]> {
    fn serialize(&self, serializer: &mut ZSerializer) {
        self.as_ref().serialize(serializer);
    }
}

impl<T: Serialize> Serialize for Vec<T> {
    fn serialize(&self, serializer: &mut ZSerializer) {
        self.as_slice().serialize(serializer);
    }
}

impl<T: Deserialize> Deserialize for Vec<T> {
    fn deserialize(deserializer: &mut ZDeserializer) -> Result<Self, ZDeserializeError> {
        let VarInt(count) = VarInt::<usize>::deserialize(deserializer)?;
        T::deserialize_n(count, deserializer)
    }
}

impl<T: Deserialize> Deserialize for Box<[T]> {
    fn deserialize(deserializer: &mut ZDeserializer) -> Result<Self, ZDeserializeError> {
        Vec::deserialize(deserializer).map(Vec::into_boxed_slice)
    }
}

impl<T: Deserialize, const N: usize> Deserialize for [T; N] {
    fn deserialize(deserializer: &mut ZDeserializer) -> Result<Self, ZDeserializeError> {
        let VarInt(count) = VarInt::<usize>::deserialize(deserializer)?;
        if count != N {
            return Err(ZDeserializeError);
        }
        let values = T::deserialize_n(N, deserializer)?;
        values.try_into().map_err(|_| ZDeserializeError)
    }
}

/// Implements collections, which are serialized as sequences, and read by collecting.
macro_rules! collections {
    ($([$($param:tt)+] [$($read:tt)+] $collection:ty;)+) => {$(
        impl<$($param)+> Serialize for $collection {
            fn serialize(&self, serializer: &mut ZSerializer) {
                serializer.serialize_iter(self);
            }
        }

        impl<$($read)+> Deserialize for $collection {
            fn deserialize(deserializer: &mut ZDeserializer) -> Result<Self, ZDeserializeError> {
                deserializer.deserialize_iter()?.collect()
            }
        }
    )+};
}

collections! {
    [T: Serialize + Eq + Hash, S] [T: Deserialize + Eq + Hash, S: BuildHasher + Default] HashSet<T, S>;
    [T: Serialize + Ord] [T: Deserialize + Ord] BTreeSet<T>;
    [K: Serialize + Eq + Hash, V: Serialize, S]
        [K: Deserialize + Eq + Hash, V: Deserialize, S: BuildHasher + Default] HashMap<K, V, S>;
    [K: Serialize + Ord, V: Serialize] [K: Deserialize + Ord, V: Deserialize] BTreeMap<K, V>;
}

impl Serialize for str {
    fn serialize(&self, serializer: &mut ZSerializer) {
        self.as_bytes().serialize(serializer);
    }
}

impl Serialize for Cow<'_, str> {
    fn serialize(&self, serializer: &mut ZSerializer) {
        self.as_bytes().serialize(serializer);
    }
}

impl Serialize for String {
    fn serialize(&self, serializer: &mut ZSerializer) {
        self.as_bytes().serialize(serializer);
    }
}

impl Deserialize for String {
    fn deserialize(deserializer: &mut ZDeserializer) -> Result<Self, ZDeserializeError> {
        String::from_utf8(Vec::deserialize(deserializer)?).map_err(|_| ZDeserializeError)
    }
}

/// Implements tuples of all lengths up to that of the list.
macro_rules! tuples {
    ($($name:ident $place:tt),*) => {
        tuples!(@ []; [$($name $place),*]);
    };
    (@ [$($name:ident $place:tt),*]; []) => {
        tuples!(@one $($name $place),*);
    };
    (@ [$($name:ident $place:tt),*]; [$next:ident $at:tt $(, $rest:ident $rest_at:tt)*]) => {
        tuples!(@one $($name $place),*);
        tuples!(@ [$($name $place,)* $next $at]; [$($rest $rest_at),*]);
    };
    (@one $($name:ident $place:tt),*) => {
        impl<$($name: Serialize),*> Serialize for ($($name,)*) {
            fn serialize(&self, _serializer: &mut ZSerializer) {
                $(self.$place.serialize(_serializer);)*
            }
        }

        impl<$($name: Deserialize),*> Deserialize for ($($name,)*) {
            fn deserialize(_deserializer: &mut ZDeserializer) -> Result<Self, ZDeserializeError> {
                Ok(($($name::deserialize(_deserializer)?,)*))
            }
        }
    };
}

tuples!(
    T0 0, T1 1, T2 2, T3 3, T4 4, T5 5, T6 6, T7 7, T8 8, T9 9, T10 10, T11 11, T12 12, T13 13, T14 14,
    T15 15
);
