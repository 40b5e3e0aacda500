// SPDX-License-Identifier: MIT OR Apache-2.0

//! Values in messages of the remote API: little endian, lengths in LEB128.

use axum::body::Bytes;
use zonda::bytes::Encoding;
use zonda::qos::{CongestionControl, Priority, Reliability};
use zonda::query::{ConsolidationMode, QueryTarget, ReplyKeyExpr};
use zonda::sample::{Locality, Sample, SampleKind};
use zonda::session::ZenohId;
use zonda::time::{Ntp64, Timestamp};

/// Bit of a kind after which the number of the message follows.
pub(super) const NUMBERED: u8 = 0x80;

/// Length of an id as the server writes it.
const ID_BYTES: usize = 16;

/// Fault of a message that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Malformed {
    /// The message ends within a value.
    #[error("the message ends early")]
    Short,
    /// Bytes follow the last value.
    #[error("{0} bytes too many")]
    Long(usize),
    /// The kind is not one of those that a client sends.
    #[error("{0} is no kind of message")]
    Kind(u8),
    /// A value is not one that its type has.
    #[error("{0} is malformed")]
    Value(&'static str),
}

/// Quality of service of a publication or query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Service {
    pub priority: Priority,
    pub congestion: CongestionControl,
    pub express: bool,
    pub reliability: Reliability,
    pub locality: Locality,
}

/// Options of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asking {
    pub target: QueryTarget,
    pub consolidation: ConsolidationMode,
    pub accept: ReplyKeyExpr,
}

/// Bytes of a message that are still to be read.
pub(super) struct Reader(Bytes);

impl Reader {
    pub fn new(message: Bytes) -> Reader {
        Reader(message)
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// Bytes are left.
    pub fn end(self) -> Result<(), Malformed> {
        match self.0.len() {
            0 => Ok(()),
            left => Err(Malformed::Long(left)),
        }
    }

    fn take(&mut self, count: usize) -> Result<Bytes, Malformed> {
        match count <= self.0.len() {
            true => Ok(self.0.split_to(count)),
            false => Err(Malformed::Short),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let bytes = self.take(N)?;
        <[u8; N]>::try_from(bytes.as_ref()).map_err(|_| Malformed::Short)
    }

    pub fn u8(&mut self) -> Result<u8, Malformed> {
        self.array().map(u8::from_le_bytes)
    }

    fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn bool(&mut self) -> Result<bool, Malformed> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed::Value("a boolean")),
        }
    }

    fn length(&mut self) -> Result<usize, Malformed> {
        let mut length = 0_u64;
        for shift in (0..63).step_by(7) {
            let byte = self.u8()?;
            length |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return usize::try_from(length).map_err(|_| Malformed::Value("a length"));
            }
        }
        Err(Malformed::Value("a length"))
    }

    /// Reads bytes, which share the buffer of the message.
    pub fn bytes(&mut self) -> Result<Bytes, Malformed> {
        let length = self.length()?;
        self.take(length)
    }

    pub fn text(&mut self) -> Result<String, Malformed> {
        let bytes = self.bytes()?;
        let text = std::str::from_utf8(&bytes).map_err(|_| Malformed::Value("a text"))?;
        Ok(text.to_owned())
    }

    pub fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Option<T>, Malformed> {
        self.bool()?.then(|| read(self)).transpose()
    }

    pub fn encoding(&mut self) -> Result<Encoding, Malformed> {
        let (id, schema) = (self.u16()?, self.text()?);
        match schema.len() > Encoding::SCHEMA_BYTES_MAX {
            true => Err(Malformed::Value("an encoding")),
            false => Ok(Encoding::from_id(id, schema)),
        }
    }

    pub fn timestamp(&mut self) -> Result<Timestamp, Malformed> {
        let (time, id) = (self.u64()?, self.bytes()?);
        // Zeros at the end are those of an id that is shorter.
        let length = id
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(0, |at| at + 1);
        let id = id.get(..length).unwrap_or_default();
        let id = ZenohId::from_le_bytes(id).map_err(|_| Malformed::Value("a timestamp"))?;
        Ok(Timestamp::new(Ntp64(time), id))
    }

    pub fn locality(&mut self) -> Result<Locality, Malformed> {
        locality(self.u8()?)
    }

    pub fn service(&mut self) -> Result<Service, Malformed> {
        let bits = self.u8()?;
        let priority = Priority::ALL.get(usize::from(bits & 7));
        let priority = priority.filter(|priority| **priority != Priority::Control);
        Ok(Service {
            priority: *priority.ok_or(Malformed::Value("a priority"))?,
            congestion: match bits >> 3 & 1 {
                0 => CongestionControl::Drop,
                _ => CongestionControl::Block,
            },
            express: bits >> 4 & 1 == 1,
            reliability: match bits >> 5 & 1 {
                0 => Reliability::BestEffort,
                _ => Reliability::Reliable,
            },
            locality: locality(bits >> 6)?,
        })
    }

    pub fn asking(&mut self) -> Result<Asking, Malformed> {
        let bits = self.u8()?;
        let target = match bits & 3 {
            0 => QueryTarget::BestMatching,
            1 => QueryTarget::All,
            2 => QueryTarget::AllComplete,
            _ => return Err(Malformed::Value("a target")),
        };
        let consolidation = match bits >> 2 & 3 {
            0 => ConsolidationMode::Auto,
            1 => ConsolidationMode::None,
            2 => ConsolidationMode::Monotonic,
            _ => ConsolidationMode::Latest,
        };
        let accept = match bits >> 4 {
            0 => ReplyKeyExpr::Any,
            1 => ReplyKeyExpr::MatchingQuery,
            _ => return Err(Malformed::Value("the keys of replies")),
        };
        Ok(Asking {
            target,
            consolidation,
            accept,
        })
    }
}

fn locality(bits: u8) -> Result<Locality, Malformed> {
    match bits {
        0 => Ok(Locality::SessionLocal),
        1 => Ok(Locality::Remote),
        2 => Ok(Locality::Any),
        _ => Err(Malformed::Value("a locality")),
    }
}

/// Message that is written.
pub(super) struct Writer(Vec<u8>);

impl Writer {
    /// Begins a message; `number` is that of the message that it answers.
    pub fn new(kind: u8, number: Option<u32>) -> Writer {
        let writer = Writer(Vec::new());
        match number {
            Some(number) => writer.u8(kind | NUMBERED).u32(number),
            None => writer.u8(kind),
        }
    }

    pub fn finish(self) -> Bytes {
        self.0.into()
    }

    pub fn u8(mut self, value: u8) -> Self {
        self.0.push(value);
        self
    }

    pub fn u16(mut self, value: u16) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    pub fn bool(self, value: bool) -> Self {
        self.u8(u8::from(value))
    }

    pub fn length(mut self, mut value: usize) -> Self {
        while value > 0x7f {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.u8(value as u8)
    }

    pub fn bytes(self, value: &[u8]) -> Self {
        let mut writer = self.length(value.len());
        writer.0.extend_from_slice(value);
        writer
    }

    pub fn text(self, value: &str) -> Self {
        self.bytes(value.as_bytes())
    }

    pub fn id(self, id: &ZenohId) -> Self {
        let padded: [u8; ID_BYTES] = id.to_padded();
        self.bytes(&padded)
    }

    pub fn ids(self, ids: &[ZenohId]) -> Self {
        ids.iter().fold(self.length(ids.len()), Self::id)
    }

    pub fn option<T>(self, value: Option<T>, write: impl FnOnce(Self, T) -> Self) -> Self {
        match value {
            Some(value) => write(self.bool(true), value),
            None => self.bool(false),
        }
    }

    pub fn encoding(self, encoding: &Encoding) -> Self {
        let schema = encoding.schema().unwrap_or_default();
        // A text in this protocol is UTF-8, a schema of the network need not be.
        let schema = String::from_utf8_lossy(schema);
        self.u16(encoding.id()).text(&schema)
    }

    pub fn timestamp(mut self, timestamp: &Timestamp) -> Self {
        self.0.extend(timestamp.time().as_u64().to_le_bytes());
        self.id(&timestamp.id())
    }

    pub fn sample(self, sample: &Sample) -> Self {
        let attachment = sample.attachment().map(|bytes| bytes.as_slice());
        let bits = sample.priority() as u8
            | u8::from(sample.congestion_control() == CongestionControl::Block) << 3
            | u8::from(sample.express()) << 4
            | u8::from(sample.reliability() == Reliability::Reliable) << 5
            | 2 << 6;
        self.text(sample.key_expr().as_str())
            .bytes(sample.payload().as_slice())
            .u8(match sample.kind() {
                SampleKind::Put => 0,
                SampleKind::Delete => 1,
            })
            .encoding(sample.encoding())
            .option(attachment, Self::bytes)
            .option(sample.timestamp(), Self::timestamp)
            .u8(bits)
    }
}
