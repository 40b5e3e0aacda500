// SPDX-License-Identifier: MIT OR Apache-2.0
//! Format of a payload: a number for the well-known encodings, with an optional schema.
//!
//! ```text
//! z32 (id << 1 | S) | if S: u8 length, schema
//! ```

use crate::{
    error::DecodeError,
    reader::Reader,
    writer::{EncodeError, Writer, vle_len},
};

/// The id whose schema holds the whole name of an encoding that has no number.
pub const CUSTOM: u16 = 65535;

/// An encoding in wire form. The default, id 0 without schema, is plain bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Encoding<'a> {
    /// The number; [`name`] knows the well-known ones.
    pub id: u16,
    /// The text behind the `;` in the text form; at most 255 bytes.
    pub schema: Option<&'a [u8]>,
}

impl<'a> Encoding<'a> {
    /// Plain bytes.
    pub const BYTES: Encoding<'static> = Encoding {
        id: 0,
        schema: None,
    };

    /// Text in UTF-8.
    pub const ZENOH_STRING: Encoding<'static> = Encoding {
        id: 1,
        schema: None,
    };

    /// Returns true if it is plain bytes, which is not written.
    #[inline]
    pub const fn is_default(&self) -> bool {
        self.id == 0 && self.schema.is_none()
    }

    /// Reads the wire form.
    ///
    /// # Errors
    /// If the input is cut or the number exceeds 32 bits.
    #[inline]
    pub fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let number = reader.z32()?;
        let schema = if number & 1 != 0 {
            Some(reader.bytes_z8()?)
        } else {
            None
        };
        Ok(Encoding {
            id: (number >> 1) as u16,
            schema,
        })
    }

    /// Writes the wire form; on [`EncodeError`] part of it may have been written.
    ///
    /// # Errors
    /// [`EncodeError`] if it does not fit or the schema exceeds the 255 bytes that the protocol allows.
    #[inline]
    pub fn write(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        let number = u64::from(self.id) << 1;
        match self.schema {
            None => writer.vle(number),
            Some(schema) => {
                writer.vle(number | 1)?;
                writer.bytes_vle_at_most(schema, u64::from(u8::MAX))
            }
        }
    }

    /// Returns the length of the wire form.
    #[inline]
    pub(crate) fn wire_len(&self) -> usize {
        let number = vle_len(u64::from(self.id) << 1);
        match self.schema {
            None => number,
            Some(schema) => number + vle_len(schema.len() as u64) + schema.len(),
        }
    }
}

/// Returns the name of a well-known encoding.
pub fn name(id: u16) -> Option<&'static str> {
    NAMES.get(usize::from(id)).copied()
}

/// Returns the number of a well-known encoding.
pub fn id(name: &str) -> Option<u16> {
    NAMES
        .iter()
        .position(|known| *known == name)
        .map(|index| index as u16)
}

/// Names by number.
const NAMES: [&str; 53] = [
    "zenoh/bytes",
    "zenoh/string",
    "zenoh/serialized",
    "application/octet-stream",
    "text/plain",
    "application/json",
    "text/json",
    "application/cdr",
    "application/cbor",
    "application/yaml",
    "text/yaml",
    "text/json5",
    "application/python-serialized-object",
    "application/protobuf",
    "application/java-serialized-object",
    "application/openmetrics-text",
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/bmp",
    "image/webp",
    "application/xml",
    "application/x-www-form-urlencoded",
    "text/html",
    "text/xml",
    "text/css",
    "text/javascript",
    "text/markdown",
    "text/csv",
    "application/sql",
    "application/coap-payload",
    "application/json-patch+json",
    "application/json-seq",
    "application/jsonpath",
    "application/jwt",
    "application/mp4",
    "application/soap+xml",
    "application/yang",
    "audio/aac",
    "audio/flac",
    "audio/mp4",
    "audio/ogg",
    "audio/vorbis",
    "video/h261",
    "video/h263",
    "video/h264",
    "video/h265",
    "video/h266",
    "video/mp4",
    "video/ogg",
    "video/raw",
    "video/vp8",
    "video/vp9",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        assert_eq!(name(0), Some("zenoh/bytes"));
        assert_eq!(id("text/plain"), Some(4));
        assert_eq!(name(52), Some("video/vp9"));
        assert_eq!(
            (name(53), name(CUSTOM), id("what/ever")),
            (None, None, None)
        );
        for (index, known) in NAMES.iter().enumerate() {
            assert_eq!(id(known), Some(index as u16));
        }
    }
}
