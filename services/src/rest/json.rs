// SPDX-License-Identifier: MIT OR Apache-2.0

//! Samples as the JSON that the reference's REST interface has.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::value::RawValue;
use zonda::bytes::{Encoding, ZBytes};
use zonda::query::Reply;
use zonda::sample::Sample;

/// Key of a reply that is an error.
const ERROR: &str = "ERROR";

/// One value, with its members in the reference's order.
#[derive(Serialize)]
struct Item<'a> {
    key: &'a str,
    value: Shown<'a>,
    encoding: String,
    timestamp: Option<String>,
}

/// A payload in JSON.
#[derive(Serialize)]
#[serde(untagged)]
enum Shown<'a> {
    Nothing,
    Json(&'a RawValue),
    Text(Cow<'a, str>),
}

/// Kind of a payload, by its encoding.
#[derive(PartialEq)]
enum Form {
    Json,
    Text,
    Bytes,
}

/// Returns a sample as one line of JSON.
pub(super) fn of_sample(sample: &Sample) -> String {
    one_line(&item(sample))
}

/// Returns replies as a list in JSON.
pub(super) fn of_replies(replies: &[Reply]) -> String {
    let items = replies.iter().map(|reply| match reply.result() {
        Ok(sample) => item(sample),
        Err(error) => Item {
            key: ERROR,
            value: shown(error.payload(), error.encoding()),
            encoding: error.encoding().to_string(),
            timestamp: None,
        },
    });
    let items: Vec<Item<'_>> = items.collect();
    // Texts and checked JSON can always be written.
    serde_json::to_string(&items).unwrap_or_default()
}

fn item(sample: &Sample) -> Item<'_> {
    Item {
        key: sample.key_expr().as_str(),
        value: shown(sample.payload(), sample.encoding()),
        encoding: sample.encoding().to_string(),
        timestamp: sample.timestamp().map(ToString::to_string),
    }
}

/// Writes an item without line breaks, which in JSON are white space between its parts.
fn one_line(item: &Item<'_>) -> String {
    let text = serde_json::to_string(item).unwrap_or_default();
    match text.contains(['\n', '\r']) {
        true => text.replace(['\n', '\r'], " "),
        false => text,
    }
}

fn shown<'a>(payload: &'a ZBytes, encoding: &Encoding) -> Shown<'a> {
    let bytes = payload.as_slice();
    let text = || std::str::from_utf8(bytes).ok();
    let base64 = || Shown::Text(STANDARD.encode(bytes).into());
    match form(encoding) {
        _ if bytes.is_empty() => Shown::Nothing,
        Form::Json => {
            let value = text().and_then(|text| serde_json::from_str(text).ok());
            value.map_or_else(base64, Shown::Json)
        }
        Form::Text => text().map_or_else(base64, |text| Shown::Text(text.into())),
        Form::Bytes => base64(),
    }
}

/// Returns the form of payloads with this encoding. A schema, such as `charset=utf-8`, changes it
/// only if it names another charset.
fn form(encoding: &Encoding) -> Form {
    let of_id = |known: &[Encoding]| known.iter().any(|known| known.id() == encoding.id());
    let is_foreign = encoding.schema().is_some_and(|schema| {
        let schema = String::from_utf8_lossy(schema).to_ascii_lowercase();
        let mut parts = schema.split(';').map(str::trim);
        let charset = parts.find_map(|part| part.strip_prefix("charset="));
        let charset = charset.map(|name| name.trim_matches('"'));
        charset.is_some_and(|name| !["utf-8", "utf8", "us-ascii"].contains(&name))
    });
    const JSON: [Encoding; 3] = [
        Encoding::APPLICATION_JSON,
        Encoding::TEXT_JSON,
        Encoding::TEXT_JSON5,
    ];
    match () {
        () if is_foreign => Form::Bytes,
        () if of_id(&JSON) => Form::Json,
        () if of_id(&[Encoding::TEXT_PLAIN, Encoding::ZENOH_STRING]) => Form::Text,
        () => Form::Bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(payload: &[u8], encoding: &str) -> String {
        let payload = ZBytes::from(payload);
        let value = shown(&payload, &Encoding::from(encoding));
        serde_json::to_string(&value).expect("it can be written")
    }

    #[test]
    fn values_are_shown_by_their_encoding() {
        for (payload, encoding, expected) in [
            ("", "text/plain", "null"),
            ("hello", "text/plain", "\"hello\""),
            ("hello", "zenoh/string", "\"hello\""),
            ("a\"<\n", "text/plain;charset=UTF-8", r#""a\"<\n""#),
            ("hello", "text/plain;charset=\"utf-8\"", "\"hello\""),
            ("hello", "text/plain;charset=utf-16", "\"aGVsbG8=\""),
            (
                "{\"b\": 1, \"a\": 2.50}",
                "application/json",
                "{\"b\": 1, \"a\": 2.50}",
            ),
            (
                "12345678901234567890123",
                "text/json;charset=utf-8",
                "12345678901234567890123",
            ),
            ("[1]", "text/json5", "[1]"),
            ("{a: 1}", "text/json5", "\"e2E6IDF9\""),
            ("{", "application/json", "\"ew==\""),
            ("hello", "zenoh/bytes", "\"aGVsbG8=\""),
            ("a=b", "application/x-www-form-urlencoded", "\"YT1i\""),
        ] {
            assert_eq!(json(payload.as_bytes(), encoding), expected, "{encoding}");
        }
        assert_eq!(json(b"\xff", "text/plain"), "\"/w==\"");
        assert_eq!(json(b"\xff", "application/json"), "\"/w==\"");
    }

    #[test]
    fn deep_nesting_is_passed_on_without_a_stack() {
        let deep = "[".repeat(1 << 20) + &"]".repeat(1 << 20);
        assert_eq!(json(deep.as_bytes(), "application/json").len(), deep.len());
    }
}
