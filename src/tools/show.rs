// SPDX-License-Identifier: MIT OR Apache-2.0
//! Common output of the receiving tools.

use std::time::{Duration, SystemTime};

use clap::Args;
use serde_json::{Value, json};
use zonda::bytes::ZBytes;
use zonda::sample::{Sample, SampleKind};
use zonda::time::Timestamp;
use zonda_program::{Failure, Interrupt, print, write};

use super::form::{base64, dump, text};

/// Delay within which Ctrl-C is noticed.
pub const NOTICE: Duration = Duration::from_millis(50);

/// Shows each value that `next` returns within a time, until Ctrl-C or so many of them.
pub fn each<T, E>(
    number: Option<u64>,
    interrupt: &Interrupt,
    mut next: impl FnMut(Duration) -> Result<Option<T>, E>,
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

/// Form of a sample for people.
#[derive(Args, Clone, Copy, Debug)]
pub struct Look {
    /// Write the bytes of the values as they are, one behind the other, and nothing else
    #[arg(long, conflicts_with_all = ["hexdump", "json"])]
    raw: bool,
    /// Show the bytes of the values in hexadecimal digits, with the characters beside them
    #[arg(long, conflicts_with = "json")]
    hexdump: bool,
}

impl Look {
    /// Print nothing but values.
    pub fn is_raw(self) -> bool {
        self.raw
    }

    /// Prints a sample.
    pub fn show(self, sample: &Sample) {
        let bytes = sample.payload().to_bytes();
        let what = format!("{} {}", sample.kind(), sample.key_expr());
        let behind = behind(sample.attachment());
        if self.raw {
            write(&bytes);
        } else if self.hexdump {
            print(format_args!("{what} {} bytes{behind}", bytes.len()));
            dump(&bytes)
                .iter()
                .for_each(|line| print(format_args!("{line}")));
        } else if sample.kind() == SampleKind::Delete && bytes.is_empty() {
            print(format_args!("{what}{behind}"));
        } else {
            print(format_args!("{what}: {}{behind}", text(sample.payload())));
        }
    }
}

/// Formats a sample as JSON.
pub fn sample(sample: &Sample) -> Value {
    let mut line = json!({
        "kind": sample.kind().to_string(),
        "key": sample.key_expr().as_str(),
        "encoding": sample.encoding().to_string(),
        "timestamp": sample.timestamp().map(ToString::to_string),
        "time": sample.timestamp().map(time),
    });
    add_bytes(&mut line, "payload", Some(sample.payload()));
    add_bytes(&mut line, "attachment", sample.attachment());
    line
}

/// Formats the time of a timestamp for people, in UTC.
pub fn time(stamp: &Timestamp) -> String {
    let time = SystemTime::UNIX_EPOCH + stamp.time().to_unix();
    humantime::format_rfc3339_micros(time).to_string()
}

/// Adds bytes under that name: as text if they are text, else as `null`, and in base64 under the name with `_base64`.
pub fn add_bytes(line: &mut Value, name: &str, bytes: Option<&ZBytes>) {
    let bytes = bytes.map(ZBytes::to_bytes);
    let as_text = bytes.as_deref().map(str::from_utf8);
    line[name] = json!(as_text.and_then(Result::ok));
    if let (Some(Err(_)), Some(bytes)) = (as_text, &bytes) {
        line[format!("{name}_base64")] = json!(base64(bytes));
    }
}

/// Formats an attachment behind everything else.
pub fn behind(attachment: Option<&ZBytes>) -> String {
    attachment.map_or(String::new(), |a| format!(" ({})", text(a)))
}
