// SPDX-License-Identifier: MIT OR Apache-2.0

//! Messages between replicas, in the reference's form: numbers are little-endian, lengths have
//! eight bytes, tags of variants four.

use std::collections::{BTreeMap, BTreeSet};

use zonda::session::ZenohId;
use zonda::time::{Ntp64, Timestamp};

/// Index of an interval of time since 1970.
pub type Interval = u64;
/// Index of a part of an interval.
pub type Part = u64;
/// Hash of a set of events: the exclusive or of theirs.
pub type Fingerprint = u64;

/// Parts of intervals.
pub type Parts = BTreeMap<Interval, BTreeSet<Part>>;
/// Fingerprints of parts of intervals.
pub type PartPrints = BTreeMap<Interval, BTreeMap<Part, Fingerprint>>;

/// The last update of a key, or an update with wildcards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The stored name, or the key expression of an update with wildcards; `None` for the prefix
    /// itself.
    pub name: Option<String>,
    /// Time of the update in force.
    pub at: Timestamp,
    /// Time of the last update of the key itself.
    pub own: Option<Timestamp>,
    pub action: Action,
}

/// Kind of an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Put,
    Delete,
    /// A put or a deletion of all keys that a key expression covers.
    WildPut(String),
    WildDelete(String),
}

/// Summary of all that a replica has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Digest {
    /// Fingerprint of the settings, which all replicas share.
    pub settings: Fingerprint,
    pub cold: Fingerprint,
    pub warm: BTreeMap<Interval, Fingerprint>,
    pub hot: PartPrints,
}

/// Intervals in which another replica has other events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Difference {
    pub cold: bool,
    pub warm: BTreeSet<Interval>,
    pub hot: Parts,
}

/// A question to another replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// The replica's id.
    Discovery,
    /// All events, with their values.
    All,
    Difference(Difference),
    /// Fingerprints of the parts of intervals.
    Intervals(BTreeSet<Interval>),
    /// Events of these parts.
    Parts(Parts),
    /// Values of these events.
    Events(Vec<Event>),
}

/// An answer of another replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Discovery(String),
    Intervals(BTreeMap<Interval, Fingerprint>),
    Parts(PartPrints),
    Events(Vec<Event>),
    /// One event; its value is the reply's.
    Value(Event),
}

/// Bytes that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the message of a replica has another form")]
pub struct Malformed;

type Read<T> = Result<T, Malformed>;

/// A value with a form in bytes.
pub trait Wire: Sized {
    /// Length of the shortest form.
    const SHORTEST: usize;

    fn put_to(&self, to: &mut Vec<u8>);

    /// # Errors
    /// The bytes end early, or have no such value.
    fn take_from(from: &mut &[u8]) -> Read<Self>;

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.put_to(&mut bytes);
        bytes
    }

    /// # Errors
    /// The bytes end early, have no such value, or go on behind it.
    fn from_bytes(mut bytes: &[u8]) -> Read<Self> {
        let value = Self::take_from(&mut bytes)?;
        bytes.is_empty().then_some(value).ok_or(Malformed)
    }
}

fn take<const N: usize>(from: &mut &[u8]) -> Read<[u8; N]> {
    let (first, rest) = from.split_first_chunk().ok_or(Malformed)?;
    *from = rest;
    Ok(*first)
}

/// Reads a number of values that the bytes have room for.
fn count<T: Wire>(from: &mut &[u8]) -> Read<usize> {
    let count = usize::try_from(u64::take_from(from)?).map_err(|_| Malformed)?;
    let room = from.len() / T::SHORTEST;
    (count <= room).then_some(count).ok_or(Malformed)
}

fn write_count(count: usize, to: &mut Vec<u8>) {
    to.extend((count as u64).to_le_bytes());
}

impl Wire for u64 {
    const SHORTEST: usize = 8;

    fn put_to(&self, to: &mut Vec<u8>) {
        to.extend(self.to_le_bytes());
    }

    fn take_from(from: &mut &[u8]) -> Read<Self> {
        take(from).map(u64::from_le_bytes)
    }
}

impl Wire for bool {
    const SHORTEST: usize = 1;

    fn put_to(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }

    fn take_from(from: &mut &[u8]) -> Read<Self> {
        match take(from)? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(Malformed),
        }
    }
}

impl Wire for String {
    const SHORTEST: usize = 8;

    fn put_to(&self, to: &mut Vec<u8>) {
        write_count(self.len(), to);
        to.extend(self.as_bytes());
    }

    fn take_from(from: &mut &[u8]) -> Read<Self> {
        let length = count::<bool>(from)?;
        let (text, rest) = from.split_at_checked(length).ok_or(Malformed)?;
        *from = rest;
        let text = std::str::from_utf8(text).map_err(|_| Malformed)?;
        Ok(text.to_owned())
    }
}

impl Wire for Timestamp {
    const SHORTEST: usize = 24;

    fn put_to(&self, to: &mut Vec<u8>) {
        self.time().as_u64().put_to(to);
        to.extend(id_bytes(self));
    }

    fn take_from(from: &mut &[u8]) -> Read<Self> {
        let time = Ntp64(u64::take_from(from)?);
        let id: [u8; 16] = take(from)?;
        let length = id.iter().rposition(|byte| *byte != 0).ok_or(Malformed)?;
        let id = id.get(..=length).ok_or(Malformed)?;
        let id = ZenohId::from_le_bytes(id).map_err(|_| Malformed)?;
        Ok(Timestamp::new(time, id))
    }
}

/// Returns the id of a time in sixteen bytes, the lowest first.
pub fn id_bytes(time: &Timestamp) -> [u8; 16] {
    let id = time.get_id();
    let mut bytes = [0; 16];
    for (to, from) in bytes.iter_mut().zip(id.as_le_bytes()) {
        *to = *from;
    }
    bytes
}

impl<T: Wire> Wire for Option<T> {
    const SHORTEST: usize = 1;

    fn put_to(&self, to: &mut Vec<u8>) {
        self.is_some().put_to(to);
        if let Some(value) = self {
            value.put_to(to);
        }
    }

    fn take_from(from: &mut &[u8]) -> Read<Self> {
        match bool::take_from(from)? {
            true => T::take_from(from).map(Some),
            false => Ok(None),
        }
    }
}

impl<T: Wire> Wire for Vec<T> {
    const SHORTEST: usize = 8;

    fn put_to(&self, to: &mut Vec<u8>) {
        write_count(self.len(), to);
        self.iter().for_each(|value| value.put_to(to));
    }

    fn take_from(from: &mut &[u8]) -> Read<Self> {
        (0..count::<T>(from)?).map(|_| T::take_from(from)).collect()
    }
}

impl<T: Wire + Ord> Wire for BTreeSet<T> {
    const SHORTEST: usize = 8;

    fn put_to(&self, to: &mut Vec<u8>) {
        write_count(self.len(), to);
        self.iter().for_each(|value| value.put_to(to));
    }

    fn take_from(from: &mut &[u8]) -> Read<Self> {
        (0..count::<T>(from)?).map(|_| T::take_from(from)).collect()
    }
}

impl<K: Wire + Ord, V: Wire> Wire for BTreeMap<K, V> {
    const SHORTEST: usize = 8;

    fn put_to(&self, to: &mut Vec<u8>) {
        write_count(self.len(), to);
        for (key, value) in self {
            key.put_to(to);
            value.put_to(to);
        }
    }

    fn take_from(from: &mut &[u8]) -> Read<Self> {
        let count = count::<K>(from)?;
        let pair = |_| Ok((K::take_from(from)?, V::take_from(from)?));
        (0..count).map(pair).collect()
    }
}

fn write_tag(tag: u32, to: &mut Vec<u8>) {
    to.extend(tag.to_le_bytes());
}

fn read_tag(from: &mut &[u8]) -> Read<u32> {
    take(from).map(u32::from_le_bytes)
}

/// Declares the form of a struct: that of its fields, in this order.
macro_rules! fields {
    ($name:ident: $($field:ident $kind:ty),*) => {
        impl Wire for $name {
            const SHORTEST: usize = 0 $(+ <$kind>::SHORTEST)*;

            fn put_to(&self, to: &mut Vec<u8>) {
                $(self.$field.put_to(to);)*
            }

            fn take_from(from: &mut &[u8]) -> Read<Self> {
                $(let $field = <$kind>::take_from(from)?;)*
                Ok($name { $($field),* })
            }
        }
    };
}

/// Declares the form of an enum: the number of the variant, and its value.
macro_rules! variants {
    ($name:ident: $($tag:literal $variant:ident $(($kind:ty))?),*) => {
        impl Wire for $name {
            const SHORTEST: usize = 4;

            fn put_to(&self, to: &mut Vec<u8>) {
                match self {
                    $(variants!(@pattern $variant value $($kind)?) => {
                        write_tag($tag, to);
                        $(<$kind as Wire>::put_to(value, to);)?
                    })*
                }
            }

            fn take_from(from: &mut &[u8]) -> Read<Self> {
                match read_tag(from)? {
                    $($tag => Ok($name::$variant $((<$kind>::take_from(from)?))?),)*
                    _ => Err(Malformed),
                }
            }
        }
    };
    (@pattern $variant:ident $value:ident) => { Self::$variant };
    (@pattern $variant:ident $value:ident $kind:ty) => { Self::$variant($value) };
}

fields!(Event: name Option<String>, at Timestamp, own Option<Timestamp>, action Action);
fields!(Digest: settings Fingerprint, cold Fingerprint, warm BTreeMap<Interval, Fingerprint>, hot PartPrints);
fields!(Difference: cold bool, warm BTreeSet<Interval>, hot Parts);
variants!(Action: 0 Put, 1 Delete, 2 WildPut(String), 3 WildDelete(String));
variants!(Question:
    0 Discovery, 1 All, 2 Difference(Difference), 3 Intervals(BTreeSet<Interval>), 4 Parts(Parts),
    5 Events(Vec<Event>));
variants!(Answer:
    0 Discovery(String), 1 Intervals(BTreeMap<Interval, Fingerprint>), 2 Parts(PartPrints),
    3 Events(Vec<Event>), 4 Value(Event));
