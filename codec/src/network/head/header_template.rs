// SPDX-License-Identifier: MIT OR Apache-2.0
//! Templates of the messages of a run for one neighbour: all begin alike, so their common bytes are
//! prepared once.

use crate::{
    body::Put,
    network::{PassedHead, PushHead, PushRun, RunItem, head::front_of},
    timestamp::{Ntp64, Timestamp},
    writer::{EncodeError, LongNumber, Writer},
};

use super::HeadBlock;

/// Room for a key id, a quality of service, the headers around them and a timestamp: 36 bytes at
/// most.
const ID_BYTES_MAX: usize = 48;

/// Room for the same fields with a text of usual length behind the id.
const TEXT_BYTES_MAX: usize = 96;

/// A prepared head for the messages of a run.
#[derive(Debug, Clone, Copy)]
pub struct HeaderTemplate<'f> {
    head: PushHead<'f>,
    /// The timestamp of the first message, if the node gives them. The next ones follow in steps of
    /// 1.
    first: Option<Timestamp>,
    form: Form,
}

#[derive(Debug, Clone, Copy)]
enum Form {
    /// The key is an id.
    Id(Block<ID_BYTES_MAX>),
    /// The key is a text.
    Text(Block<TEXT_BYTES_MAX>),
    /// The key is a long text.
    Long,
}

/// Progress of a [`HeaderTemplate`].
#[derive(Debug, Clone, Copy)]
pub struct Copied<'a> {
    /// The place of the next message in the run.
    pub number: u64,
    /// The next message, if it is to be written by itself.
    pub left: Option<RunItem<'a>>,
}

impl<'f> HeaderTemplate<'f> {
    /// Bytes of the head of one copy, where the key is an id.
    pub const ID_BYTES_MAX: usize = ID_BYTES_MAX;

    pub(super) fn new(
        head: PushHead<'f>,
        first: Option<Timestamp>,
        payload_max: usize,
        run: &PushRun<'_>,
    ) -> Self {
        let stamp = first.map(|first| (first, stamped_header(run)));
        let form = Block::new(&head, stamp, payload_max).map(Form::Id);
        let form = form.or_else(|| Block::new(&head, stamp, payload_max).map(Form::Text));
        HeaderTemplate {
            head,
            first,
            form: form.unwrap_or(Form::Long),
        }
    }

    /// Writes the next messages of `run`, of which the first has the place `number` in it, as long as they fit and have
    /// short payloads.
    #[inline(always)]
    pub fn copy<'r>(
        &self,
        number: u64,
        writer: &mut Writer<'_>,
        run: &mut PushRun<'r>,
    ) -> Copied<'r> {
        match &self.form {
            Form::Id(block) => block.copy(self.first.as_ref(), number, writer, run),
            Form::Text(block) => block.copy(self.first.as_ref(), number, writer, run),
            Form::Long => Copied {
                number,
                left: run.next(),
            },
        }
    }

    /// Returns the head of the message that has the place `number` in the run.
    pub fn one<'m>(&'m self, message: &RunItem<'m>, number: u64) -> PassedHead<'m> {
        let stamp = |first: &Timestamp| Timestamp::new(Ntp64(time(first, number)), first.id());
        PassedHead {
            head: self.head,
            raw: front_of(message.raw_body, message.payload).unwrap_or(message.raw_body),
            stamp: self.first.as_ref().map(stamp),
            push: None,
        }
    }
}

/// Returns the header byte that the PUTs of a run have behind them once they have a timestamp.
fn stamped_header(run: &PushRun<'_>) -> u8 {
    let next = run.clone().next();
    let header = next.and_then(|message| message.raw_body.first().copied());
    header.unwrap_or_default() | Put::FLAG_TIMESTAMP
}

/// Returns the time of the message at this place in the run.
#[inline(always)]
fn time(first: &Timestamp, number: u64) -> u64 {
    first.time().0.saturating_add(number)
}

/// The common beginning of the copies in a block of fixed size, which is copied without a look at
/// the length.
#[derive(Debug, Clone, Copy)]
struct Block<const N: usize> {
    front: HeadBlock<N>,
    /// Offset of the time of the timestamp.
    time_at: usize,
    /// The length from which on the caller sends a payload itself, without a copy.
    payload_max: usize,
}

impl<const N: usize> Block<N> {
    /// Creates the block; `None` if it is too long, or if the time is one of the early ones that
    /// are shorter.
    fn new(
        head: &PushHead<'_>,
        stamp: Option<(Timestamp, u8)>,
        payload_max: usize,
    ) -> Option<Self> {
        let mut time_at = 0;
        if let Some((first, _)) = &stamp {
            LongNumber::new(first.time().0)?;
        }
        let front = HeadBlock::new(|writer| {
            head.write(writer)?;
            let Some((first, header)) = &stamp else {
                return Ok(());
            };
            writer.u8(*header)?;
            time_at = writer.position();
            first.write(writer)
        })?;
        Some(Block {
            front,
            time_at,
            payload_max,
        })
    }

    /// Writes copies as long as they fit; `number` is the place of the first one in the run.
    #[inline(never)]
    fn copy<'a>(
        &self,
        first: Option<&Timestamp>,
        number: u64,
        writer: &mut Writer<'_>,
        run: &mut PushRun<'a>,
    ) -> Copied<'a> {
        // Local copies, so that no loop has to load the fields.
        let Block {
            front: HeadBlock { bytes, len },
            time_at,
            payload_max,
        } = *self;
        let Some(first) = first else {
            return copy_each(number, payload_max, run, |message| {
                writer.all_or_nothing(|writer| {
                    writer.front_of(&bytes, len)?;
                    writer.bytes(message.raw_body)
                })
            });
        };
        let Some(mut time) = LongNumber::new(time(first, number)).filter(|_| len <= N) else {
            let left = run.next();
            return Copied { number, left };
        };
        copy_each(number, payload_max, run, |message| {
            writer.all_or_nothing(|writer| {
                writer.front_around(&bytes, len, time_at, time)?;
                time = time.next();
                writer.bytes(message.raw_body.get(1..).unwrap_or(&[]))
            })
        })
    }
}

/// Calls `copy` for the messages of `run` until it cannot write one or one is too long.
#[inline(always)]
fn copy_each<'a>(
    mut number: u64,
    payload_max: usize,
    run: &mut PushRun<'a>,
    mut copy: impl FnMut(&RunItem<'a>) -> Result<(), EncodeError>,
) -> Copied<'a> {
    for message in run {
        if message.payload.len() >= payload_max || copy(&message).is_err() {
            let left = Some(message);
            return Copied { number, left };
        }
        number += 1;
    }
    let left = None;
    Copied { number, left }
}
