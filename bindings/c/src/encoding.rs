// SPDX-License-Identifier: MIT OR Apache-2.0

//! Encodings. The empty state of a place stands for the default encoding, `zenoh/bytes`.

use std::ptr;

use zonda::bytes::Encoding;

use crate::code::{Code, Failure, INVALID, answer, shielded};
use crate::place::{Loan, Moved, Out, fill, lent, mechanical, place, write};
use crate::text::{self, CText, OwnedString, Start};

place!(
    /// An encoding: the number of a format, and a schema.
    OwnedEncoding = Encoding, size 48, align 8
);

mechanical!(OwnedEncoding:
    null z_internal_encoding_null,
    drop z_encoding_drop,
    loan z_encoding_loan,
    loan_mut z_encoding_loan_mut,
    clone z_encoding_clone,
);

/// Returns the encoding in a place that C lends.
fn encoding(place: Loan<'_, Encoding>) -> &Encoding {
    static DEFAULT: Encoding = Encoding::ZENOH_BYTES;
    lent(place).unwrap_or(&DEFAULT)
}

/// Returns true if the encoding is not the default one.
#[unsafe(no_mangle)]
pub extern "C" fn z_internal_encoding_check(this: Loan<'_, Encoding>) -> bool {
    *encoding(this) != Encoding::ZENOH_BYTES
}

/// Parses an encoding, `name` or `name;schema`; null is the default one.
#[unsafe(no_mangle)]
pub extern "C" fn z_encoding_from_str(this: Out<'_, OwnedEncoding>, text: CText<'_>) -> Code {
    answer(|| write(this, parse(text.bytes().unwrap_or_default())))
}

/// Parses an encoding of so many bytes; null is the default one.
#[unsafe(no_mangle)]
pub extern "C" fn z_encoding_from_substr(
    this: Out<'_, OwnedEncoding>,
    start: Start<'_>,
    len: usize,
) -> Code {
    answer(|| write(this, parse(start.bytes(len).unwrap_or_default())))
}

fn parse(text: &[u8]) -> Result<Encoding, Failure> {
    Ok(Encoding::from(utf8(text)?))
}

fn utf8(text: &[u8]) -> Result<&str, Failure> {
    str::from_utf8(text).map_err(|error| Failure::new(INVALID, format!("argument `s`: {error}")))
}

/// Sets the schema.
#[unsafe(no_mangle)]
pub extern "C" fn z_encoding_set_schema_from_str(
    this: Moved<'_, Encoding>,
    schema: CText<'_>,
) -> Code {
    answer(|| set_schema(this, schema.bytes().unwrap_or_default()))
}

/// Sets a schema of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn z_encoding_set_schema_from_substr(
    this: Moved<'_, Encoding>,
    start: Start<'_>,
    len: usize,
) -> Code {
    answer(|| {
        let schema = start
            .bytes(len)
            .ok_or_else(|| Failure::new(INVALID, "argument `s` is null"))?;
        set_schema(this, schema)
    })
}

fn set_schema(encoding: Moved<'_, Encoding>, schema: &[u8]) -> Result<(), Failure> {
    let schema = utf8(schema)?;
    let encoding = encoding.ok_or_else(|| Failure::null("this_"))?;
    *encoding = Some(encoding.take().unwrap_or_default().with_schema(schema));
    Ok(())
}

/// Writes an encoding as text.
#[unsafe(no_mangle)]
pub extern "C" fn z_encoding_to_string(this: Loan<'_, Encoding>, text: Out<'_, OwnedString>) {
    text::show(text, Some(encoding(this)));
}

/// Returns true if both encodings are the same.
#[unsafe(no_mangle)]
pub extern "C" fn z_encoding_equals(this: Loan<'_, Encoding>, other: Loan<'_, Encoding>) -> bool {
    encoding(this) == encoding(other)
}

/// The parts of an encoding: its number, and its schema, which is null if there is none.
#[repr(C)]
pub struct EncodingData<'a> {
    id: u16,
    schema: Start<'a>,
    schema_len: usize,
}
const _: () = assert!(size_of::<EncodingData<'_>>() == 24);

/// Makes an encoding of its parts.
#[unsafe(no_mangle)]
pub extern "C" fn zc_internal_encoding_from_data(
    this: Out<'_, OwnedEncoding>,
    data: EncodingData<'_>,
) {
    shielded((), || {
        let schema = data.schema.bytes(data.schema_len).unwrap_or_default();
        let schema = String::from_utf8_lossy(schema);
        fill(this, Some(Encoding::from_id(data.id, schema)));
    });
}

/// The parts of an encoding that the library returns.
#[repr(C)]
pub struct ShownEncoding {
    id: u16,
    schema: *const u8,
    schema_len: usize,
}
const _: () = assert!(size_of::<ShownEncoding>() == 24);

/// Returns the parts of an encoding, which must outlive them.
#[unsafe(no_mangle)]
pub extern "C" fn zc_internal_encoding_get_data(this: Loan<'_, Encoding>) -> ShownEncoding {
    let encoding = encoding(this);
    let schema = encoding.schema();
    ShownEncoding {
        id: encoding.id(),
        schema: schema.map_or(ptr::null(), <[u8]>::as_ptr),
        schema_len: schema.map_or(0, <[u8]>::len),
    }
}

/// Exports a function for each well-known encoding, which lends it.
macro_rules! well_known {
    ($($name:ident $constant:ident,)+) => {$(
        /// Lends this well-known encoding.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> &'static OwnedEncoding {
            static ENCODING: OwnedEncoding = Some(Encoding::$constant);
            &ENCODING
        }
    )+};
}

well_known! {
    z_encoding_loan_default ZENOH_BYTES,
    z_encoding_application_cbor APPLICATION_CBOR,
    z_encoding_application_cdr APPLICATION_CDR,
    z_encoding_application_coap_payload APPLICATION_COAP_PAYLOAD,
    z_encoding_application_java_serialized_object APPLICATION_JAVA_SERIALIZED_OBJECT,
    z_encoding_application_json APPLICATION_JSON,
    z_encoding_application_json_patch_json APPLICATION_JSON_PATCH_JSON,
    z_encoding_application_json_seq APPLICATION_JSON_SEQ,
    z_encoding_application_jsonpath APPLICATION_JSONPATH,
    z_encoding_application_jwt APPLICATION_JWT,
    z_encoding_application_mp4 APPLICATION_MP4,
    z_encoding_application_octet_stream APPLICATION_OCTET_STREAM,
    z_encoding_application_openmetrics_text APPLICATION_OPENMETRICS_TEXT,
    z_encoding_application_protobuf APPLICATION_PROTOBUF,
    z_encoding_application_python_serialized_object APPLICATION_PYTHON_SERIALIZED_OBJECT,
    z_encoding_application_soap_xml APPLICATION_SOAP_XML,
    z_encoding_application_sql APPLICATION_SQL,
    z_encoding_application_x_www_form_urlencoded APPLICATION_X_WWW_FORM_URLENCODED,
    z_encoding_application_xml APPLICATION_XML,
    z_encoding_application_yaml APPLICATION_YAML,
    z_encoding_application_yang APPLICATION_YANG,
    z_encoding_audio_aac AUDIO_AAC,
    z_encoding_audio_flac AUDIO_FLAC,
    z_encoding_audio_mp4 AUDIO_MP4,
    z_encoding_audio_ogg AUDIO_OGG,
    z_encoding_audio_vorbis AUDIO_VORBIS,
    z_encoding_image_bmp IMAGE_BMP,
    z_encoding_image_gif IMAGE_GIF,
    z_encoding_image_jpeg IMAGE_JPEG,
    z_encoding_image_png IMAGE_PNG,
    z_encoding_image_webp IMAGE_WEBP,
    z_encoding_text_css TEXT_CSS,
    z_encoding_text_csv TEXT_CSV,
    z_encoding_text_html TEXT_HTML,
    z_encoding_text_javascript TEXT_JAVASCRIPT,
    z_encoding_text_json TEXT_JSON,
    z_encoding_text_json5 TEXT_JSON5,
    z_encoding_text_markdown TEXT_MARKDOWN,
    z_encoding_text_plain TEXT_PLAIN,
    z_encoding_text_xml TEXT_XML,
    z_encoding_text_yaml TEXT_YAML,
    z_encoding_video_h261 VIDEO_H261,
    z_encoding_video_h263 VIDEO_H263,
    z_encoding_video_h264 VIDEO_H264,
    z_encoding_video_h265 VIDEO_H265,
    z_encoding_video_h266 VIDEO_H266,
    z_encoding_video_mp4 VIDEO_MP4,
    z_encoding_video_ogg VIDEO_OGG,
    z_encoding_video_raw VIDEO_RAW,
    z_encoding_video_vp8 VIDEO_VP8,
    z_encoding_video_vp9 VIDEO_VP9,
    z_encoding_zenoh_bytes ZENOH_BYTES,
    z_encoding_zenoh_serialized ZENOH_SERIALIZED,
    z_encoding_zenoh_string ZENOH_STRING,
}
