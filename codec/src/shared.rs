// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages whose payloads lie in memory that sender and receiver share.
//!
//! On a link whose ends share memory, a message has in place of its payload a list of slices: bytes, or a
//! [`Descriptor`] of the place where the bytes lie. [`SharedMessage`] takes such a message apart and makes a plain one of
//! it; [`shared_form`] makes it of the head of a plain one. The forms of the payload are those of the reference 1.10:
//!
//! ```text
//! put, reply   extension 0x12 among those of the PUT; count, and for each slice kind, z32 length, bytes
//! query        extension 0x04 before the body (0x43), whose length counts the bytes that are named; then encoding, slices
//! error        extension 0x12, and the plain payload
//! ```

use crate::{
    body::{id as body_id, put, query, reply, shared},
    encoding::Encoding,
    error::DecodeError,
    extension::{self, MORE},
    network::id,
    qos::{Priority, Qos},
    reader::Reader,
    timestamp::Timestamp,
    wire_expr::WireExpr,
    writer::{EncodeError, Writer},
};

/// Most bytes of a descriptor on the wire.
pub const DESCRIPTOR_BYTES_MAX: usize = 24;

/// Bytes that the head of a message grows by at most in its shared form.
pub const GROWTH_MAX: usize = 1 + 1 + 1 + 5 + DESCRIPTOR_BYTES_MAX;

/// Slice kinds.
const BYTES: u8 = 0;
const SHARED: u8 = 1;

/// Largest number of slices of a payload that is read.
const SLICES_MAX: u32 = 1024;

/// Place of a payload in shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptor {
    /// Bytes of the payload.
    pub len: u64,
    /// Metadata segment of its owner.
    pub segment: u16,
    /// Header in that segment.
    pub index: u16,
    /// Number of payloads that the header had before.
    pub generation: u32,
}

impl Descriptor {
    /// Reads a descriptor.
    ///
    /// # Errors
    /// [`DecodeError`] if the bytes are none.
    pub fn read(reader: &mut Reader<'_>) -> Result<Descriptor, DecodeError> {
        Ok(Descriptor {
            len: reader.z64()?,
            segment: reader.z16()?,
            index: reader.z16()?,
            generation: reader.z32()?,
        })
    }

    /// Writes the descriptor.
    ///
    /// # Errors
    /// [`EncodeError`] if it does not fit.
    pub fn write(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.vle(self.len)?;
        writer.vle(u64::from(self.segment))?;
        writer.vle(u64::from(self.index))?;
        writer.vle(u64::from(self.generation))
    }
}

/// Kind of a message with a payload that may be shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A put.
    Put,
    /// A query with a body.
    Query,
    /// A reply that puts.
    Reply,
}

/// Part of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slice<'a> {
    /// Bytes in the message.
    Bytes(&'a [u8]),
    /// Bytes in shared memory; `None` for a descriptor that is none.
    Shared(Option<Descriptor>),
}

/// Message whose payload is a list of slices, taken apart.
#[derive(Debug, Clone, Copy)]
pub struct SharedMessage<'a> {
    places: Places,
    raw: &'a [u8],
    slices: &'a [u8],
    rest: &'a [u8],
}

impl<'a> SharedMessage<'a> {
    /// Reads a network message of which a decoder has reported [`DecodeError::SharedMemory`]. `None` for another one.
    #[must_use]
    pub fn read(raw: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(raw);
        let places = Places::find(&mut reader).ok()?;
        places.marker?;
        let start = reader;
        shared::slices(&mut reader).ok()?;
        let slices = reader.since(start);
        Some(SharedMessage {
            places,
            raw,
            slices,
            rest: reader.rest(),
        })
    }

    /// Returns the priority in its quality of service.
    #[must_use]
    pub fn priority(&self) -> Priority {
        self.places.priority
    }

    /// Returns the kind of message.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.places.kind
    }

    /// Returns the slices of the payload, at most 1024.
    pub fn slices(&self) -> impl Iterator<Item = Slice<'a>> + use<'a> {
        let mut reader = Reader::new(self.slices);
        let count = reader.z32().unwrap_or(0).min(SLICES_MAX);
        (0..count).map_while(move |_| {
            let kind = reader.u8().ok()?;
            let bytes = reader.bytes_z32().ok()?;
            Some(match kind {
                BYTES => Slice::Bytes(bytes),
                SHARED => Slice::Shared(Descriptor::read(&mut Reader::new(bytes)).ok()),
                _ => Slice::Shared(None),
            })
        })
    }

    /// Returns the plain message up to its payload of `payload_len` bytes, and what follows the payload.
    ///
    /// # Errors
    /// [`EncodeError`] if the payload is too long.
    pub fn plain(&self, payload_len: usize) -> Result<(Vec<u8>, &'a [u8]), EncodeError> {
        let (raw, places) = (self.raw, &self.places);
        let Some(marker) = places.marker else {
            return Err(EncodeError::TooLong);
        };
        let mut head = vec![0; places.slices + 16];
        let mut writer = Writer::new(&mut head);
        match places.body {
            Body::Put { .. } => {
                writer.bytes(&raw[..marker])?;
                writer.bytes(&raw[marker + 1..places.slices])?;
                writer.vle(u64::from(
                    u32::try_from(payload_len).map_err(|_| EncodeError::TooLong)?,
                ))?;
            }
            Body::Query { key, encoding } => {
                let encoding = &raw[encoding..places.slices];
                let len = u32::try_from(payload_len + encoding.len());
                writer.bytes(&raw[..marker])?;
                writer.bytes(&raw[marker + 1..=key])?;
                writer.vle(u64::from(len.map_err(|_| EncodeError::TooLong)?))?;
                writer.bytes(encoding)?;
            }
        }
        let written = writer.position();
        head.truncate(written);
        // The marker was the last extension: the one before it is now.
        if let Some(before) = places.before.filter(|_| raw[marker] & MORE == 0) {
            head[before] &= !MORE;
        }
        Ok((head, self.rest))
    }
}

/// Writes the shared form of a message: `head` is everything in front of the payload of `payload_len` bytes, which has one
/// slice that `descriptor` names. Calls `describe` with the priority and the kind of the message once it is
/// known that the message has a shared form. Returns false, with nothing written, for a message without one.
///
/// # Errors
/// [`EncodeError`] if it does not fit; the position is then unchanged.
pub fn shared_form(
    head: &[u8],
    describe: impl FnOnce(Priority, Kind) -> Option<Descriptor>,
    writer: &mut Writer<'_>,
) -> Result<bool, EncodeError> {
    let mut reader = Reader::new(head);
    let places = match Places::find(&mut reader) {
        Ok(places) if places.marker.is_none() => places,
        _ => return Ok(false),
    };
    if writer.remaining() < head.len() + GROWTH_MAX {
        return Err(EncodeError::NoRoom);
    }
    let Some(descriptor) = describe(places.priority, places.kind) else {
        return Ok(false);
    };
    writer.all_or_nothing(|writer| {
        match places.body {
            Body::Put { header, chain } => {
                writer.bytes(&head[..header])?;
                writer.u8(head[header] | MORE)?;
                writer.bytes(&head[header + 1..chain])?;
                writer.u8(shared::KEY | head[header] & MORE)?;
                writer.bytes(&head[chain..places.slices])?;
            }
            Body::Query { key, .. } => {
                writer.bytes(&head[..key])?;
                writer.u8(query::KEY_SHARED_BODY | MORE)?;
                writer.bytes(&head[key..places.slices])?;
            }
        }
        let mut body = [0; DESCRIPTOR_BYTES_MAX];
        let mut inner = Writer::new(&mut body);
        descriptor.write(&mut inner)?;
        writer.vle(1)?;
        writer.u8(SHARED)?;
        writer.bytes_vle(inner.written())
    })?;
    Ok(true)
}

/// Offsets in a message.
#[derive(Debug, Clone, Copy)]
struct Places {
    priority: Priority,
    kind: Kind,
    body: Body,
    /// Extension that announces a shared payload, and the header before it.
    marker: Option<usize>,
    before: Option<usize>,
    /// Count of the slices or, in a plain message, the length of a put's payload, or a query's payload.
    slices: usize,
}

#[derive(Debug, Clone, Copy)]
enum Body {
    /// PUT: its header, and the beginning of its extensions.
    Put { header: usize, chain: usize },
    /// QUERY with a body: the extension of the body, and the encoding in it.
    Query { key: usize, encoding: usize },
}

impl Places {
    /// Finds the payload of a message; the reader then stands in front of it, or of the length of a plain one.
    fn find(reader: &mut Reader<'_>) -> Result<Places, DecodeError> {
        let header = reader.u8()?;
        let message = header & id::MASK;
        if message == id::REQUEST || message == id::RESPONSE {
            reader.z32()?;
        }
        WireExpr::read(header, reader)?;
        let mut priority = Priority::Data;
        let mut more = header;
        while more & MORE != 0 {
            more = reader.u8()?;
            match more & !MORE {
                Qos::KEY => priority = Qos::read(reader)?.priority(),
                _ => skip_any(more, reader)?,
            }
        }
        match message {
            id::PUSH => Places::of_put(priority, Kind::Put, reader),
            id::RESPONSE => {
                let header = reader.u8()?;
                if header & body_id::MASK != body_id::REPLY {
                    return Err(reader.unknown_id("reply", header & body_id::MASK));
                }
                if header & reply::FLAG_CONSOLIDATION != 0 {
                    reader.z64()?;
                }
                let mut more = header;
                while more & MORE != 0 {
                    more = reader.u8()?;
                    skip_any(more, reader)?;
                }
                Places::of_put(priority, Kind::Reply, reader)
            }
            id::REQUEST => Places::of_query(priority, reader),
            other => Err(reader.unknown_id("message with a payload", other)),
        }
    }

    fn of_put(
        priority: Priority,
        kind: Kind,
        reader: &mut Reader<'_>,
    ) -> Result<Places, DecodeError> {
        let at = reader.position();
        let header = reader.u8()?;
        if header & body_id::MASK != body_id::PUT {
            return Err(reader.unknown_id("put", header & body_id::MASK));
        }
        if header & put::Put::FLAG_TIMESTAMP != 0 {
            Timestamp::read(reader)?;
        }
        if header & put::FLAG_ENCODING != 0 {
            Encoding::read(reader)?;
        }
        let chain = reader.position();
        let (mut marker, mut before) = (None, None);
        let (mut more, mut last) = (header, at);
        while more & MORE != 0 {
            let here = reader.position();
            more = reader.u8()?;
            if more & !MORE == shared::KEY {
                (marker, before) = (Some(here), Some(last));
            } else {
                skip_any(more, reader)?;
            }
            last = here;
        }
        Ok(Places {
            priority,
            kind,
            body: Body::Put { header: at, chain },
            marker,
            before,
            slices: reader.position(),
        })
    }

    /// Finds the body of a query. A plain body is expected to be its last field, as the heads of this crate have it.
    fn of_query(priority: Priority, reader: &mut Reader<'_>) -> Result<Places, DecodeError> {
        let header = reader.u8()?;
        if header & body_id::MASK != body_id::QUERY {
            return Err(reader.unknown_id("query", header & body_id::MASK));
        }
        if header & query::FLAG_CONSOLIDATION != 0 {
            reader.z64()?;
        }
        if header & query::FLAG_PARAMETERS != 0 {
            reader.bytes_z64()?;
        }
        let mut marker = None;
        let mut more = header;
        while more & MORE != 0 {
            let key = reader.position();
            more = reader.u8()?;
            match more & !MORE {
                query::KEY_SHARED_BODY => marker = Some(key),
                query::KEY_BODY => {
                    reader.z32()?;
                    let encoding = reader.position();
                    Encoding::read(reader)?;
                    return Ok(Places {
                        priority,
                        kind: Kind::Query,
                        body: Body::Query { key, encoding },
                        marker,
                        before: None,
                        slices: reader.position(),
                    });
                }
                _ => skip_any(more, reader)?,
            }
        }
        Err(reader.unknown_id("query without a body", 0))
    }
}

/// Skips the body of any extension, mandatory or not.
fn skip_any(header: u8, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    extension::skip(header & !extension::MANDATORY, reader)
}

#[cfg(test)]
mod tests;
