// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`Encoding`], the format of a payload: a number for the well-known ones, plus a free schema.

use std::fmt;
use std::str::FromStr;

use zonda_codec::payload::shared_part;
use zonda_codec::{ZSlice, encoding as wire};

/// The format of a payload. It travels with the payload and is never interpreted on the way.
///
/// The text form is `name` or `name;schema`. A name that is not well known travels as text.
///
/// ```
/// use zonda::bytes::Encoding;
///
/// assert_eq!(Encoding::TEXT_PLAIN.with_schema("utf-8").to_string(), "text/plain;utf-8");
/// assert_eq!(Encoding::from("application/json"), Encoding::APPLICATION_JSON);
/// assert_eq!(Encoding::from("my/own;v2").to_string(), "my/own;v2");
/// ```
#[derive(Clone, Default)]
pub struct Encoding {
    id: u16,
    schema: Option<ZSlice>,
}

/// Error of a text that cannot be an encoding.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "an encoding schema of {len} bytes exceeds the limit of {} bytes",
    Encoding::SCHEMA_BYTES_MAX
)]
pub struct EncodingError {
    /// Length of the schema in bytes.
    pub len: usize,
}

zonda_codec::debug_as_text!(EncodingError);

/// The well-known encodings.
impl Encoding {
    /// `zenoh/bytes`, the default: bytes of unknown meaning.
    pub const ZENOH_BYTES: Encoding = Encoding::known(0);
    /// `zenoh/string`.
    pub const ZENOH_STRING: Encoding = Encoding::known(1);
    /// `zenoh/serialized`.
    pub const ZENOH_SERIALIZED: Encoding = Encoding::known(2);
    /// `application/octet-stream`.
    pub const APPLICATION_OCTET_STREAM: Encoding = Encoding::known(3);
    /// `text/plain`.
    pub const TEXT_PLAIN: Encoding = Encoding::known(4);
    /// `application/json`.
    pub const APPLICATION_JSON: Encoding = Encoding::known(5);
    /// `text/json`.
    pub const TEXT_JSON: Encoding = Encoding::known(6);
    /// `application/cdr`.
    pub const APPLICATION_CDR: Encoding = Encoding::known(7);
    /// `application/cbor`.
    pub const APPLICATION_CBOR: Encoding = Encoding::known(8);
    /// `application/yaml`.
    pub const APPLICATION_YAML: Encoding = Encoding::known(9);
    /// `text/yaml`.
    pub const TEXT_YAML: Encoding = Encoding::known(10);
    /// `text/json5`.
    pub const TEXT_JSON5: Encoding = Encoding::known(11);
    /// `application/python-serialized-object`.
    pub const APPLICATION_PYTHON_SERIALIZED_OBJECT: Encoding = Encoding::known(12);
    /// `application/protobuf`.
    pub const APPLICATION_PROTOBUF: Encoding = Encoding::known(13);
    /// `application/java-serialized-object`.
    pub const APPLICATION_JAVA_SERIALIZED_OBJECT: Encoding = Encoding::known(14);
    /// `application/openmetrics-text`.
    pub const APPLICATION_OPENMETRICS_TEXT: Encoding = Encoding::known(15);
    /// `image/png`.
    pub const IMAGE_PNG: Encoding = Encoding::known(16);
    /// `image/jpeg`.
    pub const IMAGE_JPEG: Encoding = Encoding::known(17);
    /// `image/gif`.
    pub const IMAGE_GIF: Encoding = Encoding::known(18);
    /// `image/bmp`.
    pub const IMAGE_BMP: Encoding = Encoding::known(19);
    /// `image/webp`.
    pub const IMAGE_WEBP: Encoding = Encoding::known(20);
    /// `application/xml`.
    pub const APPLICATION_XML: Encoding = Encoding::known(21);
    /// `application/x-www-form-urlencoded`.
    pub const APPLICATION_X_WWW_FORM_URLENCODED: Encoding = Encoding::known(22);
    /// `text/html`.
    pub const TEXT_HTML: Encoding = Encoding::known(23);
    /// `text/xml`.
    pub const TEXT_XML: Encoding = Encoding::known(24);
    /// `text/css`.
    pub const TEXT_CSS: Encoding = Encoding::known(25);
    /// `text/javascript`.
    pub const TEXT_JAVASCRIPT: Encoding = Encoding::known(26);
    /// `text/markdown`.
    pub const TEXT_MARKDOWN: Encoding = Encoding::known(27);
    /// `text/csv`.
    pub const TEXT_CSV: Encoding = Encoding::known(28);
    /// `application/sql`.
    pub const APPLICATION_SQL: Encoding = Encoding::known(29);
    /// `application/coap-payload`.
    pub const APPLICATION_COAP_PAYLOAD: Encoding = Encoding::known(30);
    /// `application/json-patch+json`.
    pub const APPLICATION_JSON_PATCH_JSON: Encoding = Encoding::known(31);
    /// `application/json-seq`.
    pub const APPLICATION_JSON_SEQ: Encoding = Encoding::known(32);
    /// `application/jsonpath`.
    pub const APPLICATION_JSONPATH: Encoding = Encoding::known(33);
    /// `application/jwt`.
    pub const APPLICATION_JWT: Encoding = Encoding::known(34);
    /// `application/mp4`.
    pub const APPLICATION_MP4: Encoding = Encoding::known(35);
    /// `application/soap+xml`.
    pub const APPLICATION_SOAP_XML: Encoding = Encoding::known(36);
    /// `application/yang`.
    pub const APPLICATION_YANG: Encoding = Encoding::known(37);
    /// `audio/aac`.
    pub const AUDIO_AAC: Encoding = Encoding::known(38);
    /// `audio/flac`.
    pub const AUDIO_FLAC: Encoding = Encoding::known(39);
    /// `audio/mp4`.
    pub const AUDIO_MP4: Encoding = Encoding::known(40);
    /// `audio/ogg`.
    pub const AUDIO_OGG: Encoding = Encoding::known(41);
    /// `audio/vorbis`.
    pub const AUDIO_VORBIS: Encoding = Encoding::known(42);
    /// `video/h261`.
    pub const VIDEO_H261: Encoding = Encoding::known(43);
    /// `video/h263`.
    pub const VIDEO_H263: Encoding = Encoding::known(44);
    /// `video/h264`.
    pub const VIDEO_H264: Encoding = Encoding::known(45);
    /// `video/h265`.
    pub const VIDEO_H265: Encoding = Encoding::known(46);
    /// `video/h266`.
    pub const VIDEO_H266: Encoding = Encoding::known(47);
    /// `video/mp4`.
    pub const VIDEO_MP4: Encoding = Encoding::known(48);
    /// `video/ogg`.
    pub const VIDEO_OGG: Encoding = Encoding::known(49);
    /// `video/raw`.
    pub const VIDEO_RAW: Encoding = Encoding::known(50);
    /// `video/vp8`.
    pub const VIDEO_VP8: Encoding = Encoding::known(51);
    /// `video/vp9`.
    pub const VIDEO_VP9: Encoding = Encoding::known(52);

    const fn known(id: u16) -> Encoding {
        Encoding { id, schema: None }
    }
}

impl Encoding {
    /// The longest schema that the protocol can carry.
    pub const SCHEMA_BYTES_MAX: usize = 255;

    /// Returns the encoding with this number on the wire. Publishing fails when the schema is longer
    /// than [`SCHEMA_BYTES_MAX`](Encoding::SCHEMA_BYTES_MAX).
    ///
    /// ```
    /// use zonda::bytes::Encoding;
    ///
    /// assert_eq!(Encoding::from_id(4, ""), Encoding::TEXT_PLAIN);
    /// assert_eq!(Encoding::from_id(4, "utf-8").to_string(), "text/plain;utf-8");
    /// ```
    pub fn from_id(id: u16, schema: impl Into<String>) -> Encoding {
        let schema = schema.into();
        let schema = (!schema.is_empty()).then(|| ZSlice::from(schema.into_bytes()));
        Encoding::from_parts(id, schema)
    }

    /// Returns the number of the encoding on the wire; 65535 when the whole name is in the schema.
    pub fn id(&self) -> u16 {
        self.id
    }

    /// Returns the schema, if any.
    pub fn schema(&self) -> Option<&[u8]> {
        self.schema.as_ref().map(ZSlice::as_slice)
    }

    /// Replaces the schema. Publishing fails when the schema is longer than
    /// [`SCHEMA_BYTES_MAX`](Encoding::SCHEMA_BYTES_MAX).
    #[must_use]
    pub fn with_schema(mut self, schema: impl Into<String>) -> Encoding {
        let schema = schema.into();
        if self.id == wire::CUSTOM {
            let name = String::from_utf8_lossy(self.schema().unwrap_or_default()).into_owned();
            let name = name.split(';').next().unwrap_or("");
            self.schema = Some(ZSlice::from(format!("{name};{schema}").into_bytes()));
        } else {
            self.schema = (!schema.is_empty()).then(|| ZSlice::from(schema.into_bytes()));
        }
        self
    }

    /// Shares the schema's bytes.
    pub(crate) fn from_parts(id: u16, schema: Option<ZSlice>) -> Encoding {
        Encoding { id, schema }
    }

    /// Copies the number, and shares the schema with the receive block.
    pub(crate) fn of_block(block: &ZSlice, encoding: zonda_codec::Encoding<'_>) -> Encoding {
        let schema = encoding.schema.map(|part| shared_part(block, part));
        Encoding::from_parts(encoding.id, schema)
    }

    /// Copies the encoding with its schema.
    pub(crate) fn copied(encoding: zonda_codec::Encoding<'_>) -> Encoding {
        let schema = encoding.schema.map(|schema| ZSlice::from(schema.to_vec()));
        Encoding::from_parts(encoding.id, schema)
    }

    /// Copies the schema into its own buffer.
    pub(crate) fn detach(&mut self) {
        if let Some(schema) = &mut self.schema {
            *schema = ZSlice::from(schema.as_slice().to_vec());
        }
    }

    /// Returns the number, if there is no schema.
    #[inline(always)]
    pub(crate) fn plain_id(&self) -> Option<u16> {
        self.schema.is_none().then_some(self.id)
    }

    pub(crate) fn wire(&self) -> zonda_codec::Encoding<'_> {
        zonda_codec::Encoding {
            id: self.id,
            schema: self.schema(),
        }
    }

    fn parse(text: &str) -> Encoding {
        if text.is_empty() {
            return Encoding::default();
        }
        let (name, schema) = text.split_once(';').unwrap_or((text, ""));
        let bytes = |text: &str| (!text.is_empty()).then(|| ZSlice::from(text.as_bytes().to_vec()));
        match wire::id(name) {
            Some(id) => Encoding {
                id,
                schema: bytes(schema),
            },
            None => Encoding {
                id: wire::CUSTOM,
                schema: bytes(text),
            },
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schema = self.schema().map(String::from_utf8_lossy);
        match (self.id, wire::name(self.id), schema) {
            (_, Some(name), None) => f.write_str(name),
            (_, Some(name), Some(schema)) => write!(f, "{name};{schema}"),
            (wire::CUSTOM, None, schema) => f.write_str(&schema.unwrap_or_default()),
            (id, None, None) => write!(f, "unknown({id})"),
            (id, None, Some(schema)) => write!(f, "unknown({id});{schema}"),
        }
    }
}

impl fmt::Debug for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Encoding({self})")
    }
}

impl PartialEq for Encoding {
    fn eq(&self, other: &Encoding) -> bool {
        self.id == other.id && self.schema() == other.schema()
    }
}

impl Eq for Encoding {}

impl std::hash::Hash for Encoding {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.id.hash(state);
        self.schema().hash(state);
    }
}

impl FromStr for Encoding {
    type Err = EncodingError;

    fn from_str(text: &str) -> Result<Encoding, EncodingError> {
        let encoding = Encoding::parse(text);
        match encoding.schema().map_or(0, <[u8]>::len) {
            len if len > Encoding::SCHEMA_BYTES_MAX => Err(EncodingError { len }),
            _ => Ok(encoding),
        }
    }
}

impl From<&str> for Encoding {
    /// Parses a text. Never fails; publishing does when the schema is too long.
    fn from(text: &str) -> Encoding {
        Encoding::parse(text)
    }
}

impl From<String> for Encoding {
    /// Parses a text. Never fails; publishing does when the schema is too long.
    fn from(text: String) -> Encoding {
        Encoding::parse(&text)
    }
}

impl From<&Encoding> for Encoding {
    fn from(encoding: &Encoding) -> Encoding {
        encoding.clone()
    }
}

impl From<Encoding> for std::borrow::Cow<'static, str> {
    fn from(encoding: Encoding) -> Self {
        encoding.to_string().into()
    }
}

impl From<&Encoding> for std::borrow::Cow<'static, str> {
    fn from(encoding: &Encoding) -> Self {
        encoding.to_string().into()
    }
}

impl From<Encoding> for String {
    fn from(encoding: Encoding) -> String {
        encoding.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_have_the_numbers_of_the_protocol() {
        for (encoding, id, name) in [
            (Encoding::ZENOH_BYTES, 0, "zenoh/bytes"),
            (Encoding::TEXT_PLAIN, 4, "text/plain"),
            (Encoding::APPLICATION_JSON, 5, "application/json"),
            (
                Encoding::APPLICATION_JSON_PATCH_JSON,
                31,
                "application/json-patch+json",
            ),
            (Encoding::VIDEO_VP9, 52, "video/vp9"),
        ] {
            assert_eq!(encoding.id(), id);
            assert_eq!(encoding.to_string(), name);
            assert_eq!(name.parse(), Ok(encoding));
        }
    }

    #[test]
    fn texts_round_trip() {
        for text in [
            "zenoh/bytes",
            "text/plain;utf-8",
            "my/own",
            "my/own;v2",
            "text/plain;a;b",
        ] {
            assert_eq!(Encoding::from(text).to_string(), text);
        }
        assert_eq!(Encoding::from(""), Encoding::ZENOH_BYTES);
        assert_eq!(Encoding::from("text/plain;"), Encoding::TEXT_PLAIN);
        assert_eq!(
            Encoding::from("my/own;v1").with_schema("v2").to_string(),
            "my/own;v2"
        );
        assert_eq!(Encoding::from_parts(900, None).to_string(), "unknown(900)");
    }

    #[test]
    fn a_schema_that_is_too_long_is_refused() {
        let long = "x".repeat(256);
        assert_eq!(long.parse::<Encoding>(), Err(EncodingError { len: 256 }));
        assert_eq!(
            format!("text/plain;{long}").parse::<Encoding>(),
            Err(EncodingError { len: 256 })
        );
    }
}
