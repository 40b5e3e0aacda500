// SPDX-License-Identifier: MIT OR Apache-2.0

//! Encodings.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use zonda::bytes::Encoding as Inner;

/// The format of a payload: one of the well-known ones, a text, each with a schema or without.
#[pyclass(module = "zonda", frozen)]
#[derive(Clone)]
pub struct Encoding(pub Inner);

/// Reads an argument: an encoding or a text.
pub fn encoding(value: &Bound<'_, PyAny>) -> PyResult<Inner> {
    if let Ok(encoding) = value.cast::<Encoding>() {
        return Ok(encoding.get().0.clone());
    }
    let text: &str = &value
        .extract::<pyo3::pybacked::PyBackedStr>()
        .map_err(|_| PyTypeError::new_err("encoding: an Encoding or a str"))?;
    Ok(Inner::from(text))
}

#[pymethods]
impl Encoding {
    #[new]
    #[pyo3(signature = (encoding=None))]
    fn new(encoding: Option<&str>) -> Self {
        Encoding(encoding.map_or_else(Inner::default, Inner::from))
    }

    /// Returns this encoding with a schema, which is a text of the application.
    fn with_schema(&self, schema: String) -> Self {
        Encoding(self.0.clone().with_schema(schema))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        encoding(other).is_ok_and(|other| other == self.0)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        hasher.finish()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Encoding({:?})", self.0.to_string())
    }

    #[classattr]
    #[pyo3(name = "ZENOH_BYTES")]
    fn zenoh_bytes() -> Encoding {
        Encoding(Inner::ZENOH_BYTES)
    }

    #[classattr]
    #[pyo3(name = "ZENOH_STRING")]
    fn zenoh_string() -> Encoding {
        Encoding(Inner::ZENOH_STRING)
    }

    #[classattr]
    #[pyo3(name = "ZENOH_SERIALIZED")]
    fn zenoh_serialized() -> Encoding {
        Encoding(Inner::ZENOH_SERIALIZED)
    }

    #[classattr]
    #[pyo3(name = "APPLICATION_OCTET_STREAM")]
    fn application_octet_stream() -> Encoding {
        Encoding(Inner::APPLICATION_OCTET_STREAM)
    }

    #[classattr]
    #[pyo3(name = "TEXT_PLAIN")]
    fn text_plain() -> Encoding {
        Encoding(Inner::TEXT_PLAIN)
    }

    #[classattr]
    #[pyo3(name = "APPLICATION_JSON")]
    fn application_json() -> Encoding {
        Encoding(Inner::APPLICATION_JSON)
    }

    #[classattr]
    #[pyo3(name = "TEXT_JSON")]
    fn text_json() -> Encoding {
        Encoding(Inner::TEXT_JSON)
    }

    #[classattr]
    #[pyo3(name = "APPLICATION_CDR")]
    fn application_cdr() -> Encoding {
        Encoding(Inner::APPLICATION_CDR)
    }

    #[classattr]
    #[pyo3(name = "APPLICATION_CBOR")]
    fn application_cbor() -> Encoding {
        Encoding(Inner::APPLICATION_CBOR)
    }

    #[classattr]
    #[pyo3(name = "APPLICATION_YAML")]
    fn application_yaml() -> Encoding {
        Encoding(Inner::APPLICATION_YAML)
    }

    #[classattr]
    #[pyo3(name = "TEXT_YAML")]
    fn text_yaml() -> Encoding {
        Encoding(Inner::TEXT_YAML)
    }

    #[classattr]
    #[pyo3(name = "TEXT_JSON5")]
    fn text_json5() -> Encoding {
        Encoding(Inner::TEXT_JSON5)
    }

    #[classattr]
    #[pyo3(name = "APPLICATION_PYTHON_SERIALIZED_OBJECT")]
    fn application_python_serialized_object() -> Encoding {
        Encoding(Inner::APPLICATION_PYTHON_SERIALIZED_OBJECT)
    }

    #[classattr]
    #[pyo3(name = "APPLICATION_PROTOBUF")]
    fn application_protobuf() -> Encoding {
        Encoding(Inner::APPLICATION_PROTOBUF)
    }

    #[classattr]
    #[pyo3(name = "APPLICATION_JAVA_SERIALIZED_OBJECT")]
    fn application_java_serialized_object() -> Encoding {
        Encoding(Inner::APPLICATION_JAVA_SERIALIZED_OBJECT)
    }

    #[classattr]
    #[pyo3(name = "APPLICATION_OPENMETRICS_TEXT")]
    fn application_openmetrics_text() -> Encoding {
        Encoding(Inner::APPLICATION_OPENMETRICS_TEXT)
    }

    #[classattr]
    #[pyo3(name = "IMAGE_PNG")]
    fn image_png() -> Encoding {
        Encoding(Inner::IMAGE_PNG)
    }

    #[classattr]
    #[pyo3(name = "IMAGE_JPEG")]
    fn image_jpeg() -> Encoding {
        Encoding(Inner::IMAGE_JPEG)
    }

    #[classattr]
    #[pyo3(name = "IMAGE_GIF")]
    fn image_gif() -> Encoding {
        Encoding(Inner::IMAGE_GIF)
    }

    #[classattr]
    #[pyo3(name = "IMAGE_BMP")]
    fn image_bmp() -> Encoding {
        Encoding(Inner::IMAGE_BMP)
    }

    #[classattr]
    #[pyo3(name = "IMAGE_WEBP")]
    fn image_webp() -> Encoding {
        Encoding(Inner::IMAGE_WEBP)
    }

    #[classattr]
    #[pyo3(name = "APPLICATION_XML")]
    fn application_xml() -> Encoding {
        Encoding(Inner::APPLICATION_XML)
    }

    #[classattr]
    #[pyo3(name = "APPLICATION_X_WWW_FORM_URLENCODED")]
    fn application_x_www_form_urlencoded() -> Encoding {
        Encoding(Inner::APPLICATION_X_WWW_FORM_URLENCODED)
    }

    #[classattr]
    #[pyo3(name = "TEXT_HTML")]
    fn text_html() -> Encoding {
        Encoding(Inner::TEXT_HTML)
    }

    #[classattr]
    #[pyo3(name = "TEXT_XML")]
    fn text_xml() -> Encoding {
        Encoding(Inner::TEXT_XML)
    }

    #[classattr]
    #[pyo3(name = "TEXT_CSS")]
    fn text_css() -> Encoding {
        Encoding(Inner::TEXT_CSS)
    }

    #[classattr]
    #[pyo3(name = "TEXT_JAVASCRIPT")]
    fn text_javascript() -> Encoding {
        Encoding(Inner::TEXT_JAVASCRIPT)
    }

    #[classattr]
    #[pyo3(name = "TEXT_MARKDOWN")]
    fn text_markdown() -> Encoding {
        Encoding(Inner::TEXT_MARKDOWN)
    }

    #[classattr]
    #[pyo3(name = "TEXT_CSV")]
    fn text_csv() -> Encoding {
        Encoding(Inner::TEXT_CSV)
    }

    #[classattr]
    #[pyo3(name = "APPLICATION_SQL")]
    fn application_sql() -> Encoding {
        Encoding(Inner::APPLICATION_SQL)
    }

    #[classattr]
    #[pyo3(name = "APPLICATION_COAP_PAYLOAD")]
    fn application_coap_payload() -> Encoding {
        Encoding(Inner::APPLICATION_COAP_PAYLOAD)
    }

    #[classattr]
    #[pyo3(name = "APPLICATION_JSON_PATCH_JSON")]
    fn application_json_patch_json() -> Encoding {
        Encoding(Inner::APPLICATION_JSON_PATCH_JSON)
    }

    #[classattr]
    #[pyo3(name = "APPLICATION_JSON_SEQ")]
    fn application_json_seq() -> Encoding {
        Encoding(Inner::APPLICATION_JSON_SEQ)
    }

    #[classattr]
    #[pyo3(name = "APPLICATION_JSONPATH")]
    fn application_jsonpath() -> Encoding {
        Encoding(Inner::APPLICATION_JSONPATH)
    }

    #[classattr]
    #[pyo3(name = "APPLICATION_JWT")]
    fn application_jwt() -> Encoding {
        Encoding(Inner::APPLICATION_JWT)
    }

    #[classattr]
    #[pyo3(name = "APPLICATION_MP4")]
    fn application_mp4() -> Encoding {
        Encoding(Inner::APPLICATION_MP4)
    }

    #[classattr]
    #[pyo3(name = "APPLICATION_SOAP_XML")]
    fn application_soap_xml() -> Encoding {
        Encoding(Inner::APPLICATION_SOAP_XML)
    }

    #[classattr]
    #[pyo3(name = "APPLICATION_YANG")]
    fn application_yang() -> Encoding {
        Encoding(Inner::APPLICATION_YANG)
    }

    #[classattr]
    #[pyo3(name = "AUDIO_AAC")]
    fn audio_aac() -> Encoding {
        Encoding(Inner::AUDIO_AAC)
    }

    #[classattr]
    #[pyo3(name = "AUDIO_FLAC")]
    fn audio_flac() -> Encoding {
        Encoding(Inner::AUDIO_FLAC)
    }

    #[classattr]
    #[pyo3(name = "AUDIO_MP4")]
    fn audio_mp4() -> Encoding {
        Encoding(Inner::AUDIO_MP4)
    }

    #[classattr]
    #[pyo3(name = "AUDIO_OGG")]
    fn audio_ogg() -> Encoding {
        Encoding(Inner::AUDIO_OGG)
    }

    #[classattr]
    #[pyo3(name = "AUDIO_VORBIS")]
    fn audio_vorbis() -> Encoding {
        Encoding(Inner::AUDIO_VORBIS)
    }

    #[classattr]
    #[pyo3(name = "VIDEO_H261")]
    fn video_h261() -> Encoding {
        Encoding(Inner::VIDEO_H261)
    }

    #[classattr]
    #[pyo3(name = "VIDEO_H263")]
    fn video_h263() -> Encoding {
        Encoding(Inner::VIDEO_H263)
    }

    #[classattr]
    #[pyo3(name = "VIDEO_H264")]
    fn video_h264() -> Encoding {
        Encoding(Inner::VIDEO_H264)
    }

    #[classattr]
    #[pyo3(name = "VIDEO_H265")]
    fn video_h265() -> Encoding {
        Encoding(Inner::VIDEO_H265)
    }

    #[classattr]
    #[pyo3(name = "VIDEO_H266")]
    fn video_h266() -> Encoding {
        Encoding(Inner::VIDEO_H266)
    }

    #[classattr]
    #[pyo3(name = "VIDEO_MP4")]
    fn video_mp4() -> Encoding {
        Encoding(Inner::VIDEO_MP4)
    }

    #[classattr]
    #[pyo3(name = "VIDEO_OGG")]
    fn video_ogg() -> Encoding {
        Encoding(Inner::VIDEO_OGG)
    }

    #[classattr]
    #[pyo3(name = "VIDEO_RAW")]
    fn video_raw() -> Encoding {
        Encoding(Inner::VIDEO_RAW)
    }

    #[classattr]
    #[pyo3(name = "VIDEO_VP8")]
    fn video_vp8() -> Encoding {
        Encoding(Inner::VIDEO_VP8)
    }

    #[classattr]
    #[pyo3(name = "VIDEO_VP9")]
    fn video_vp9() -> Encoding {
        Encoding(Inner::VIDEO_VP9)
    }
}
