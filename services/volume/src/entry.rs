// SPDX-License-Identifier: MIT OR Apache-2.0

//! Entries of a store, and their form in bytes.

use bytes::Bytes;
use zonda_codec::{Ntp64, Timestamp, ZenohId};

/// The last state of a key, or an update of many keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Time of the last update of the key itself, not of a pattern that covers it.
    pub own: Timestamp,
    /// Time of the update that the state is of: `own`, or that of a newer pattern.
    pub at: Timestamp,
    /// The value; `None` for a deletion.
    pub value: Option<Value>,
}

/// A stored value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Value {
    /// The bytes.
    pub payload: Bytes,
    /// Their encoding as text, such as `application/json;v1`; empty for the default one.
    pub encoding: Box<str>,
}

/// Version of the form in bytes.
const VERSION: u8 = 1;
/// Bit of the flags: there is a value.
const HAS_VALUE: u8 = 1;
/// Bit of the flags: `at` is not `own`.
const HAS_AT: u8 = 2;
/// Bytes of an entry without its value, at most.
const HEAD: usize = 2 + 2 * 25 + 2;

impl Entry {
    /// Creates the entry of an update of the key itself.
    pub fn new(at: Timestamp, value: Option<Value>) -> Entry {
        Entry { own: at, at, value }
    }

    /// Returns about the bytes of memory that it takes.
    pub fn weight(&self) -> usize {
        let value = self.value.as_ref();
        HEAD + value.map_or(0, |value| value.payload.len() + value.encoding.len())
    }

    /// Returns its form in bytes, which [`from_bytes`](Entry::from_bytes) reads.
    ///
    /// ```text
    /// u8 version | u8 flags | own | at, if not own | encoding: u16 length, bytes | payload
    /// time: u64 | u8 length of id | id          all numbers little-endian
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.weight());
        let has_at = self.at != self.own;
        let flags = u8::from(self.value.is_some()) * HAS_VALUE + u8::from(has_at) * HAS_AT;
        bytes.extend([VERSION, flags]);
        write_time(&mut bytes, &self.own);
        if has_at {
            write_time(&mut bytes, &self.at);
        }
        if let Some(value) = &self.value {
            let encoding = value.encoding.as_bytes();
            let length = u16::try_from(encoding.len()).unwrap_or(0);
            bytes.extend(length.to_le_bytes());
            bytes.extend(encoding.iter().take(usize::from(length)));
            bytes.extend_from_slice(&value.payload);
        }
        bytes
    }

    /// Reads the form in bytes.
    ///
    /// # Errors
    /// The reason why the bytes are no entry.
    pub fn from_bytes(mut bytes: &[u8]) -> Result<Entry, &'static str> {
        let [version, flags] = take(&mut bytes)?;
        if version != VERSION {
            return Err("it has a form of a newer version");
        }
        let own = read_time(&mut bytes)?;
        let at = match flags & HAS_AT {
            0 => own,
            _ => read_time(&mut bytes)?,
        };
        let value = match flags & HAS_VALUE {
            0 => None,
            _ => {
                let length = u16::from_le_bytes(take(&mut bytes)?);
                let encoding = cut(&mut bytes, usize::from(length))?;
                let encoding =
                    std::str::from_utf8(encoding).map_err(|_| "its encoding is no text")?;
                Some(Value {
                    payload: Bytes::copy_from_slice(bytes),
                    encoding: encoding.into(),
                })
            }
        };
        Ok(Entry { own, at, value })
    }
}

fn write_time(bytes: &mut Vec<u8>, time: &Timestamp) {
    let id = time.get_id();
    let id = id.as_le_bytes();
    bytes.extend(time.time().as_u64().to_le_bytes());
    bytes.push(u8::try_from(id.len()).unwrap_or(0));
    bytes.extend_from_slice(id);
}

fn read_time(bytes: &mut &[u8]) -> Result<Timestamp, &'static str> {
    let time = Ntp64(u64::from_le_bytes(take(bytes)?));
    let [length] = take(bytes)?;
    let id = cut(bytes, usize::from(length))?;
    let id = ZenohId::from_le_bytes(id).map_err(|_| "the id of its time is none")?;
    Ok(Timestamp::new(time, id))
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], &'static str> {
    let (first, rest) = bytes.split_first_chunk().ok_or("it is too short")?;
    *bytes = rest;
    Ok(*first)
}

fn cut<'a>(bytes: &mut &'a [u8], length: usize) -> Result<&'a [u8], &'static str> {
    let (first, rest) = bytes.split_at_checked(length).ok_or("it is too short")?;
    *bytes = rest;
    Ok(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(time: u64, id: u8) -> Timestamp {
        Timestamp::new(Ntp64(time), ZenohId::from_le_bytes(&[id]).expect("an id"))
    }

    #[test]
    fn every_entry_is_read_as_it_was_written() {
        let value = |payload: &'static [u8], encoding: &str| Value {
            payload: Bytes::from_static(payload),
            encoding: encoding.into(),
        };
        for entry in [
            Entry::new(time(1, 2), None),
            Entry::new(time(u64::MAX, 255), Some(value(b"", ""))),
            Entry {
                own: time(1, 2),
                at: time(3, 4),
                value: Some(value(b"\0payload", "application/json;v1")),
            },
        ] {
            let bytes = entry.to_bytes();
            assert_eq!(Entry::from_bytes(&bytes), Ok(entry.clone()));
            let shortest = bytes.len() - entry.value.map_or(0, |v| v.payload.len());
            for end in 0..shortest {
                assert!(Entry::from_bytes(&bytes[..end]).is_err(), "{end}");
            }
        }
    }

    #[test]
    fn bytes_of_another_form_are_refused() {
        assert!(Entry::from_bytes(&[2; 40]).is_err(), "a newer version");
        let id_of_zero = [&[1, 0][..], &[0; 8], &[1, 0]].concat();
        assert!(Entry::from_bytes(&id_of_zero).is_err());
        let no_text = [&[1, 1][..], &[0; 8], &[1, 7, 1, 0, 0xff]].concat();
        assert!(Entry::from_bytes(&no_text).is_err());
    }
}
