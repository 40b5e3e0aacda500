// SPDX-License-Identifier: MIT OR Apache-2.0

//! Form of an entry as an object: the payload is the content, and the rest is metadata.

use std::time::Duration;

use bytes::Bytes;
use object_store::{Attribute, Attributes, ObjectMeta};
use zonda_codec::{Ntp64, Timestamp, ZenohId};

use crate::{Entry, Value};

/// Metadata with the times and the encoding of an entry, in hexadecimal digits.
const HEAD: &str = "zonda";
/// Longest encoding: servers take 2 KiB of metadata.
pub const ENCODING_MAX: usize = 512;
/// Identity in the time of an object that another program has written.
const BY_HAND: [u8; 1] = [1];

/// Returns the content of an object and its metadata.
pub fn parts_of(entry: &Entry) -> (Bytes, Attributes) {
    let payload = entry.value.as_ref().map(|value| value.payload.clone());
    let head = Entry {
        value: entry.value.as_ref().map(|value| Value {
            payload: Bytes::new(),
            encoding: value.encoding.clone(),
        }),
        ..*entry
    };
    let head = head.to_bytes();
    let digits: String = head.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut attributes = Attributes::new();
    attributes.insert(Attribute::Metadata(HEAD.into()), digits.into());
    let encoding = entry.value.as_ref().map_or("", |value| &value.encoding);
    if encoding.contains('/') && encoding.bytes().all(|byte| byte.is_ascii_graphic()) {
        attributes.insert(Attribute::ContentType, encoding.to_owned().into());
    }
    (payload.unwrap_or_default(), attributes)
}

/// Returns the entry of an object.
///
/// # Errors
/// The reason why its metadata is none of an entry.
pub fn entry_of(
    meta: &ObjectMeta,
    attributes: &Attributes,
    content: Bytes,
) -> Result<Entry, &'static str> {
    let Some(digits) = attributes.get(&Attribute::Metadata(HEAD.into())) else {
        return Ok(by_hand(meta, attributes, content));
    };
    let mut entry = Entry::from_bytes(&bytes_of(digits).ok_or("its metadata is no entry")?)?;
    if let Some(value) = &mut entry.value {
        value.payload = content;
    }
    Ok(entry)
}

fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.map(byte).collect()
}

/// Returns the entry of an object that another program has written, with the time of the server.
fn by_hand(meta: &ObjectMeta, attributes: &Attributes, content: Bytes) -> Entry {
    let millis = u64::try_from(meta.last_modified.timestamp_millis()).unwrap_or(0);
    let time = Ntp64::from_unix(Duration::from_millis(millis));
    let id = ZenohId::from_le_bytes(&BY_HAND).unwrap_or_default();
    let encoding = attributes.get(&Attribute::ContentType);
    let encoding = encoding.map_or("", |it| it.as_ref());
    let is_default = matches!(encoding, "binary/octet-stream" | "application/octet-stream");
    let value = Value {
        payload: content,
        encoding: if is_default { "" } else { encoding }.into(),
    };
    Entry::new(Timestamp::new(time, id), Some(value))
}
