// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages that the tests publish, and their form at the other end, the same for both
//! implementations.

use std::rc::Rc;

use serde_json::{Value, json};
use zonda::bytes::ZBytes;
use zonda::qos::{CongestionControl, Priority, Reliability};
use zonda::sample::{Sample, SampleKind};
use zonda::timestamp_stack::{InstrumentationTimestamp, TimestampStack};

use crate::reference::Reference;

/// A publication: a put of a pattern of bytes, or a delete.
#[derive(Debug, Clone, Default)]
pub struct Message {
    pub delete: bool,
    pub pattern: Pattern,
    /// Encoding as text, such as `text/plain;utf-8`.
    pub encoding: Option<&'static str>,
    pub attachment: Option<&'static [u8]>,
    /// Seconds from now of the timestamp.
    pub stamp_shift: Option<f64>,
    /// Number of a source info.
    pub source_sn: Option<u32>,
}

impl Message {
    /// Returns a put of this pattern.
    pub fn put(pattern: Pattern) -> Message {
        Message {
            pattern,
            ..Message::default()
        }
    }

    /// Returns a delete.
    pub fn delete() -> Message {
        Message {
            delete: true,
            ..Message::default()
        }
    }

    /// Returns the message as a command for the reference.
    pub fn to_command(&self) -> Value {
        let mut command = json!({
            "kind": if self.delete { "delete" } else { "put" },
            "len": self.pattern.len,
            "seed": self.pattern.seed,
        });
        if let Some(encoding) = self.encoding {
            command["encoding"] = json!(encoding);
        }
        if let Some(attachment) = self.attachment {
            command["attachment"] = json!(hex(attachment));
        }
        if let Some(shift) = self.stamp_shift {
            command["stamp_shift"] = json!(shift);
        }
        if let Some(sn) = self.source_sn {
            command["source_sn"] = json!(sn);
        }
        command
    }
}

/// Bytes that differ everywhere: numbers of 8 bytes, little-endian, counted from `seed`; cut to `len`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pattern {
    pub len: usize,
    pub seed: u64,
}

impl Pattern {
    /// Returns a short pattern.
    pub fn short(seed: u64) -> Pattern {
        Pattern { len: 8, seed }
    }

    /// Returns the bytes.
    pub fn bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len + 8);
        for number in self.seed..=self.seed + self.len as u64 / 8 {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.truncate(self.len);
        bytes
    }
}

/// Quality of service of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Service {
    pub priority: Priority,
    pub congestion: CongestionControl,
    pub express: bool,
    pub reliability: Reliability,
}

impl Service {
    /// Service without drops; all other options are the defaults.
    pub const BLOCK: Service = Service {
        priority: Priority::Data,
        congestion: CongestionControl::Block,
        express: false,
        reliability: Reliability::Reliable,
    };

    /// Returns the pattern as a command for the reference.
    pub fn to_command(self) -> Value {
        json!({
            "priority": self.priority as u8,
            "congestion": if self.congestion == CongestionControl::Block { "block" } else { "drop" },
            "express": self.express,
            "reliability": if self.reliability == Reliability::Reliable { "reliable" } else { "best_effort" },
        })
    }
}

/// A publisher's report about a sent message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// Timestamp of the message.
    pub timestamp: Option<String>,
    /// Id of the publisher in source infos: node, entity.
    pub source: String,
}

/// A sample that arrived.
#[derive(Debug)]
pub struct Seen {
    pub key: String,
    pub delete: bool,
    pub content: Content,
    pub encoding: String,
    pub priority: u8,
    pub express: bool,
    pub block: bool,
    /// Timestamp: `<time>/<node>`
    pub timestamp: Option<String>,
    pub attachment: Option<String>,
    /// Source: `<node>:<entity>:<number>`
    pub source: Option<String>,
    /// Reliability of the sample; the reference does not report it.
    pub reliability: Option<Reliability>,
    /// Records of the time-stamp stack: `<point>/<node>`.
    pub stack: Option<Vec<String>>,
}

/// A payload that arrived.
pub enum Content {
    Bytes(ZBytes),
    /// Digest by the reference, which hashes the received bytes and the expected ones with one
    /// function.
    Digest {
        process: Rc<Reference>,
        len: u64,
        sha256: String,
    },
}

impl Content {
    /// Returns the content of a payload that the reference reports.
    pub fn theirs(process: &Rc<Reference>, told: &Value) -> Content {
        let sha256 = told["sha256"].as_str().expect("a digest").to_owned();
        Content::Digest {
            process: process.clone(),
            len: told["len"].as_u64().expect("a length"),
            sha256,
        }
    }

    /// Returns true if it is this pattern, to the last byte.
    pub fn is(&self, pattern: Pattern) -> bool {
        match self {
            Content::Bytes(bytes) => bytes.as_slice() == pattern.bytes(),
            Content::Digest {
                process,
                len,
                sha256,
            } => {
                let command = json!({"len": pattern.len, "seed": pattern.seed});
                *len == pattern.len as u64 && process.call("hash", command)["sha256"] == **sha256
            }
        }
    }

    /// Returns true if it is this text.
    pub fn is_text(&self, text: &str) -> bool {
        match self {
            Content::Bytes(bytes) => bytes.as_slice() == text.as_bytes(),
            Content::Digest {
                process, sha256, ..
            } => process.call("hash_text", json!({"text": text}))["sha256"] == **sha256,
        }
    }
}

impl Seen {
    pub fn ours(sample: &Sample) -> Seen {
        let source = |s: &zonda::sample::SourceInfo| format!("{}:{}:{}", s.id.zid, s.id.eid, s.sn);
        Seen {
            key: sample.key_expr().to_string(),
            delete: sample.kind() == SampleKind::Delete,
            content: Content::Bytes(sample.payload().clone()),
            encoding: sample.encoding().to_string(),
            priority: sample.priority() as u8,
            express: sample.express(),
            block: sample.congestion_control() == CongestionControl::Block,
            timestamp: sample.timestamp().map(ToString::to_string),
            attachment: sample.attachment().map(|a| hex(a.as_slice())),
            source: sample.source_info().map(source),
            reliability: Some(sample.reliability()),
            stack: sample.timestamp_stack().map(stack_named),
        }
    }

    pub fn theirs(process: &Rc<Reference>, sample: &Value) -> Seen {
        let text = |field: &str| sample[field].as_str().map(str::to_owned);
        let required =
            |field: &str| text(field).unwrap_or_else(|| panic!("no {field} in {sample}"));
        Seen {
            key: required("key"),
            delete: sample["kind"] == "delete",
            content: Content::theirs(process, sample),
            encoding: required("encoding"),
            priority: sample["priority"]
                .as_u64()
                .and_then(|p| p.try_into().ok())
                .expect("a priority"),
            express: sample["express"] == true,
            block: sample["congestion"] == "block",
            timestamp: text("timestamp"),
            attachment: text("attachment"),
            source: text("source"),
            reliability: None,
            stack: stack_of(sample),
        }
    }

    /// Returns true if the payload is this pattern, to the last byte.
    pub fn carries(&self, pattern: Pattern) -> bool {
        self.content.is(pattern)
    }

    /// Returns the node that stamped it.
    pub fn stamped_by(&self) -> Option<&str> {
        let (_, node) = self.timestamp.as_deref()?.split_once('/')?;
        Some(node)
    }
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Content::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
            Content::Digest { len, .. } => write!(f, "{len} bytes"),
        }
    }
}

/// Returns the records of a stack: `<point>/<node>`.
pub fn stack_named(stack: &TimestampStack) -> Vec<String> {
    let named = stack
        .records()
        .iter()
        .map(|record| match record.timestamp() {
            InstrumentationTimestamp::UHLC(time) => format!("{:?}/{}", record.point(), time.id()),
            InstrumentationTimestamp::Custom(time) => format!("{:?} {}", record.point(), hex(time)),
        });
    named.collect()
}

/// Returns the records of a stack that the reference reports.
pub fn stack_of(sample: &Value) -> Option<Vec<String>> {
    let records = sample["stack"].as_array()?.iter();
    Some(
        records
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
    )
}

/// Returns bytes as hexadecimal text.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
