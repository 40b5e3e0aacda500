// SPDX-License-Identifier: MIT OR Apache-2.0
//! The line that the querying examples print for a reply.

use zonda::bytes::ZBytes;
use zonda::query::Reply;

/// Formats as `>> Received ('<key>': '<payload>')`, or the error.
pub fn received(reply: &Reply) -> String {
    let text = |bytes: &ZBytes| String::from_utf8_lossy(bytes.as_slice()).into_owned();
    match reply.result() {
        Ok(sample) => format!(
            ">> Received ('{}': '{}')",
            sample.key_expr(),
            text(sample.payload())
        ),
        Err(error) => format!(">> Received (ERROR: '{}')", text(error.payload())),
    }
}
