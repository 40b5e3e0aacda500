// SPDX-License-Identifier: MIT OR Apache-2.0

//! Replies as a list in HTML. Keys and values are escaped.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zonda::bytes::ZBytes;
use zonda::query::Reply;

/// Returns replies as a list in HTML.
pub(super) fn of_replies(replies: &[Reply]) -> String {
    let mut html = String::from("<dl>\n");
    for reply in replies {
        let (key, payload) = match reply.result() {
            Ok(sample) => (sample.key_expr().as_str(), sample.payload()),
            Err(error) => ("ERROR", error.payload()),
        };
        html += &format!(
            "<dt>{}</dt>\n<dd>{}</dd>\n",
            escaped(key),
            escaped(&text(payload))
        );
    }
    html + "</dl>\n"
}

fn text(payload: &ZBytes) -> String {
    match payload.try_to_string() {
        Ok(text) => text.into_owned(),
        Err(_) => STANDARD.encode(payload.as_slice()),
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_value_is_markup() {
        let expected = "&lt;script src=&quot;x&quot;&gt;&amp;&#39;&lt;/script&gt;";
        assert_eq!(escaped("<script src=\"x\">&'</script>"), expected);
        assert_eq!(text(&ZBytes::from(&b"\xff<"[..])), "/zw=");
        assert_eq!(of_replies(&[]), "<dl>\n</dl>\n");
    }
}
