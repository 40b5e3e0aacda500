// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the tools that receive something print alike.

use std::time::Duration;

use serde_json::{Value, json};
use zonda::Session;
use zonda::bytes::ZBytes;
use zonda::sample::Sample;
use zonda_program::{Failure, Interrupt, print};

/// How soon Ctrl-C is noticed.
pub const NOTICE: Duration = Duration::from_millis(50);

/// Shows each value that `next` gives within a time, until Ctrl-C or so many of them.
pub fn each<T, E>(
    number: Option<u64>,
    interrupt: &Interrupt,
    next: impl Fn(Duration) -> Result<Option<T>, E>,
    mut show: impl FnMut(T) -> Result<(), Failure>,
) -> Result<(), Failure>
where
    Failure: From<E>,
{
    let mut left = number.unwrap_or(u64::MAX);
    while left > 0 && !interrupt.happened() {
        if let Some(value) = next(NOTICE)? {
            show(value)?;
            left -= 1;
        }
    }
    Ok(())
}

/// What a sample says, as JSON.
pub fn sample(sample: &Sample) -> Value {
    json!({
        "kind": sample.kind().to_string(),
        "key": sample.key_expr().as_str(),
        "payload": text(sample.payload()),
        "encoding": sample.encoding().to_string(),
        "attachment": sample.attachment().map(text),
        "timestamp": sample.timestamp().map(ToString::to_string),
    })
}

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
