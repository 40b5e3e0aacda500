// SPDX-License-Identifier: MIT OR Apache-2.0
//! The format of a recording: JSON, one object in a line. The first line has the format and the
//! start time, each other one is a message and the seconds after the start at which it came.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use zonda::bytes::{Encoding, ZBytes};
use zonda::key_expr::KeyExpr;
use zonda::qos::Priority;
use zonda::sample::{Sample, SampleKind};
use zonda::time::Timestamp;
use zonda_program::Failure;
use zonda_program::build::VERSION;

use super::form::{Form, base64};
use super::show::time;

/// The number of this format.
const FORMAT: u32 = 1;

/// Limit of the time of a message, in seconds: ten years.
const LONGEST: f64 = 315_360_000.0;

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
        Head::at(key, SystemTime::now())
    }

    /// Creates the head of a recording that begins at a time.
    pub fn at(key: &KeyExpr<'_>, started: SystemTime) -> Self {
        let started = humantime::format_rfc3339_micros(started);
        Head {
            zonda_recording: FORMAT,
            key: key.to_string(),
            started: Some(started.to_string()),
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
        let (key, encoding) = (sample.key_expr(), sample.encoding());
        let bytes = sample.payload().to_bytes();
        Message {
            delete: sample.kind() == SampleKind::Delete,
            attachment_base64: sample.attachment().map(|bytes| base64(&bytes.to_bytes())),
            timestamp: sample.timestamp().map(ToString::to_string),
            time: sample.timestamp().map(time),
            priority: sample.priority() as u8,
            express: sample.express(),
            ..Message::put(key, &bytes, encoding, at)
        }
    }

    /// Records what a storage has: a value with its time or, without a value, the time of a deletion.
    pub fn stored(
        key: &KeyExpr<'_>,
        stamp: &Timestamp,
        value: Option<(&[u8], Encoding)>,
        at: f64,
    ) -> Self {
        let delete = value.is_none();
        let (bytes, encoding) = value.unwrap_or_default();
        Message {
            delete,
            timestamp: Some(stamp.to_string()),
            time: Some(time(stamp)),
            ..Message::put(key, bytes, &encoding, at.clamp(0.0, LONGEST))
        }
    }

    fn put(key: &KeyExpr<'_>, bytes: &[u8], encoding: &Encoding, at: f64) -> Self {
        let text = std::str::from_utf8(bytes).ok();
        Message {
            at,
            key: key.to_string(),
            delete: false,
            payload: text.map(str::to_owned),
            payload_base64: text.is_none().then(|| base64(bytes)),
            encoding: encoding.to_string(),
            attachment_base64: None,
            timestamp: None,
            time: None,
            priority: usual_priority(),
            express: false,
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

    /// Returns the time of its publication.
    ///
    /// # Errors
    /// A line about the fault of the text.
    pub fn stamp(&self) -> Result<Option<Timestamp>, String> {
        let stamp = self.timestamp.as_deref().map(str::parse);
        stamp.transpose().map_err(|error| format!("{error}"))
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

/// A recording that is being read, line by line.
pub struct Recording {
    name: String,
    lines: io::Lines<Box<dyn BufRead>>,
    /// The number of the line that was read last.
    line: u64,
    /// Seconds at which the replay begins: the time of the first message, where the wall clock of 0
    /// is known; else 0.
    first: Option<f64>,
    /// The wall clock at 0 seconds.
    started: Option<SystemTime>,
}

impl Recording {
    /// Opens a recording, and reads its head; - is standard input.
    ///
    /// # Errors
    /// The file cannot be read, or is no recording.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        // `-` is standard input.
        let input: Box<dyn BufRead> = match path == Path::new("-") {
            true => Box::new(BufReader::new(io::stdin())),
            false => {
                let file = File::open(path);
                Box::new(BufReader::new(file.map_err(|e| {
                    Failure::doing(format_args!("cannot read {name}"), e)
                })?))
            }
        };
        let mut recording = Recording {
            name,
            lines: input.lines(),
            line: 0,
            first: Some(0.0),
            started: None,
        };
        // The head is the first line. If it has a start time, times count from the first message.
        let head: Option<Head> = recording.read()?;
        match head {
            Some(head) if head.zonda_recording == FORMAT => {
                if let Some(started) = head.started {
                    recording.first = None;
                    recording.started = humantime::parse_rfc3339(&started).ok();
                }
                Ok(recording)
            }
            Some(head) => Err(recording.wrong(format_args!(
                "format {}, this program knows {FORMAT}",
                head.zonda_recording
            ))),
            None => Err(recording.wrong("it is empty, and no recording")),
        }
    }

    /// Returns the wall clock at the time of a message, where the recording has it.
    pub fn clock(&self, message: &Message) -> Option<SystemTime> {
        let at = Duration::try_from_secs_f64(message.at).ok()?;
        self.started?.checked_add(at)
    }

    /// Returns the seconds after the beginning of the replay for a message at `at`, which is never
    /// before it.
    pub fn since_first(&mut self, at: f64) -> f64 {
        (at - *self.first.get_or_insert(at)).max(0.0)
    }

    /// Reads the next message.
    pub fn next(&mut self) -> Result<Option<Message>, Failure> {
        let message: Option<Message> = self.read()?;
        match message {
            Some(message) if !(0.0..=LONGEST).contains(&message.at) => {
                Err(self.wrong(format_args!("{} is no time", message.at)))
            }
            message => Ok(message),
        }
    }

    fn read<T: serde::de::DeserializeOwned>(&mut self) -> Result<Option<T>, Failure> {
        self.line += 1;
        match self.lines.next() {
            None => Ok(None),
            Some(Err(error)) => Err(self.wrong(error)),
            Some(Ok(line)) => serde_json::from_str(&line)
                .map(Some)
                .map_err(|error| self.wrong(error)),
        }
    }

    /// Creates a failure because of the line that was read last.
    pub fn wrong(&self, what: impl std::fmt::Display) -> Failure {
        Failure::Run(format!("{}:{}: {what}", self.name, self.line))
    }
}
