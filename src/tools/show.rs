// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the tools that receive something print alike.

use serde_json::json;
use zonda::Session;
use zonda::bytes::ZBytes;
use zonda_program::print;

/// Says where the node listens, now that everything is declared.
pub fn ready(session: &Session) {
    let locators = session.info().locators();
    let listening: Vec<String> = locators.iter().map(ToString::to_string).collect();
    let line = json!({"event": "ready", "listening": listening});
    print(format_args!("{line}"));
}

/// Bytes as text, as well as they can be read as such.
pub fn text(bytes: &ZBytes) -> String {
    String::from_utf8_lossy(&bytes.to_bytes()).into_owned()
}

/// An attachment behind everything else.
pub fn behind(attachment: Option<&ZBytes>) -> String {
    attachment.map_or(String::new(), |a| format!(" ({})", text(a)))
}
