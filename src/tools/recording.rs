// SPDX-License-Identifier: MIT OR Apache-2.0
//! The format of a recording: JSON, one object in a line. The first line has the format and the
//! start time, each other one is a message and the seconds after the start at which it came.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use zonda::bytes::ZBytes;
use zonda::key_expr::KeyExpr;
use zonda::qos::Priority;
use zonda::sample::{Sample, SampleKind};
use zonda_program::build::VERSION;

use super::form::{Form, base64};
use super::show::time;

/// The number of this format.
pub const FORMAT: u32 = 1;

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
pub struct Head {
    /// The number of the format.
    pub zonda_recording: u32,
    /// The key expression of the subscriber.
    pub key: String,
    /// The wall clock at 0 seconds, in UTC. Recordings without it begin with their first message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// The program that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}

impl Head {
    /// Creates the head of a recording that begins now.
    pub fn new(key: &KeyExpr<'_>) -> Self {
        let now = humantime::format_rfc3339_micros(SystemTime::now());
        Head {
            zonda_recording: FORMAT,
            key: key.to_string(),
            started: Some(now.to_string()),
            program: Some(format!("zonda {VERSION}")),
        }
    }
}

/// A message.
#[derive(Debug, Serialize, Deserialize)]
pub struct Message {
    /// Seconds from the beginning. Written by [`Message::line`], with six decimals.
    #[serde(skip_serializing)]
    pub at: f64,
    /// The key.
    pub key: String,
    /// Set if it deletes the value of the key.
    #[serde(default, skip_serializing_if = "is_false")]
    pub delete: bool,
    /// The payload, if that is text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload_base64: Option<String>,
    /// The encoding of the payload.
    #[serde(default)]
    pub encoding: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attachment_base64: Option<String>,
    /// The time of its publication, by the clock that stamped it: `time/id`, as the protocol has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timestamp: Option<String>,
    /// The date and time in UTC, for people who read the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time: Option<String>,
    /// 1 (most urgent) to 7 (least).
    #[serde(default = "usual_priority")]
    pub priority: u8,
    /// Set if it was sent at once instead of in a batch.
    #[serde(default, skip_serializing_if = "is_false")]
    pub express: bool,
}

/// Formats a number of messages in words.
pub fn messages(count: u64) -> String {
    match count {
        1 => "1 message".to_owned(),
        _ => format!("{count} messages"),
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn usual_priority() -> u8 {
    Priority::default() as u8
}

impl Message {
    /// Records a sample that came so many seconds after the beginning.
    pub fn new(sample: &Sample, at: f64) -> Self {
        let bytes = sample.payload().to_bytes();
        let text = std::str::from_utf8(&bytes).ok();
        Message {
            at,
            key: sample.key_expr().to_string(),
            delete: sample.kind() == SampleKind::Delete,
            payload: text.map(str::to_owned),
            payload_base64: text.is_none().then(|| base64(&bytes)),
            encoding: sample.encoding().to_string(),
            attachment_base64: sample.attachment().map(|bytes| base64(&bytes.to_bytes())),
            timestamp: sample.timestamp().map(ToString::to_string),
            time: sample.timestamp().map(time),
            priority: sample.priority() as u8,
            express: sample.express(),
        }
    }

    /// Returns its line in the file. Times are in decimals everywhere, never in powers of ten.
    ///
    /// # Errors
    /// The errors of serde.
    pub fn line(&self) -> serde_json::Result<String> {
        let others = serde_json::to_string(self)?;
        let others = others.strip_prefix('{').unwrap_or(&others);
        Ok(format!("{{\"at\":{:.6},{others}", self.at))
    }

    /// Returns the payload.
    ///
    /// # Errors
    /// A line that reports no payload, two of them, or the fault of the base64.
    pub fn payload(&self) -> Result<Vec<u8>, String> {
        match (&self.payload, &self.payload_base64) {
            (Some(text), None) => Ok(text.clone().into_bytes()),
            (None, Some(text)) => Form::Base64.read(text.clone().into_bytes()),
            _ => Err("expected either payload or payload_base64".to_owned()),
        }
    }

    /// Returns the attachment.
    ///
    /// # Errors
    /// A line about the fault of the base64.
    pub fn attachment(&self) -> Result<Option<ZBytes>, String> {
        let text = self.attachment_base64.clone();
        let bytes = text.map(|text| Form::Base64.read(text.into_bytes()));
        Ok(bytes.transpose()?.map(ZBytes::from))
    }
}
