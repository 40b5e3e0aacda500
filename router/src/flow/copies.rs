// SPDX-License-Identifier: MIT OR Apache-2.0

//! How the messages of a run are written for one neighbour: all begin alike, so what they begin with is prepared once.

use zonda_codec::{Again, Encode, EncodeError, LongNumber, Push, PushRun, Qos, WireExpr, Writer};
use zonda_transport::protocol::tx::SHARE_BYTES_MIN;

use crate::flow::stamp::Clock;

/// Room for a neighbour's key id, the QoS, the headers around them and a timestamp: 36 bytes at most.
pub(crate) const ID_FRONT_BYTES_MAX: usize = 48;

/// Room for all that with a text of usual length behind the id.
const TEXT_FRONT_BYTES_MAX: usize = 96;

/// Most bytes of the copies that are written once for several neighbours: small ones of all messages of a run.
pub(crate) const SHEET_BYTES_MAX: usize = 32 * 1024;

/// How many times as long as a message its copy is at most, as a rule.
const LONGER_MAX: usize = 8;

/// What the copies for one neighbour begin with.
#[derive(Clone, Copy)]
pub(crate) struct Front<'a> {
    pub(crate) wire_expr: WireExpr<'a>,
    pub(crate) qos: Qos,
    /// Who gives the timestamps, if it is this node.
    pub(crate) clock: Option<&'a Clock>,
}

impl Front<'_> {
    /// Up to the body, and with a clock up to the timestamp in it.
    fn encode_lead(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        Push::encode_head(&self.wire_expr, self.qos, 0, writer)?;
        match self.clock {
            Some(clock) => writer.u8(clock.header),
            None => Ok(()),
        }
    }
}

/// The bytes of a front in a block of fixed size, which is copied without a look at the length.
struct Block<const N: usize> {
    bytes: [u8; N],
    len: usize,
    /// Where the time of the timestamp lies.
    time_at: usize,
}

impl<const N: usize> Block<N> {
    /// `None` if they are too many, or if the time is one of the early ones that are shorter.
    fn new(front: &Front<'_>) -> Option<Self> {
        let mut bytes = [0; N];
        let mut writer = Writer::new(&mut bytes);
        front.encode_lead(&mut writer).ok()?;
        let time_at = writer.position();
        if let Some(Clock { first, .. }) = front.clock {
            LongNumber::new(first.time().0)?;
            first.write(&mut writer).ok()?;
        }
        let len = writer.position();
        Some(Block {
            bytes,
            len,
            time_at,
        })
    }

    /// Writes copies as long as they fit; `first` is the place of the first one in the run.
    #[inline(never)]
    fn copy<'a>(
        &self,
        clock: Option<&Clock>,
        first: u64,
        writer: &mut Writer<'_>,
        run: &mut PushRun<'a>,
    ) -> Copied<'a> {
        // As values of this function, which no loop has to look up.
        let Block {
            bytes,
            len,
            time_at,
        } = *self;
        let Some(clock) = clock else {
            return copy_each(first, writer, run, |again, writer| {
                writer.front_of(&bytes, len)?;
                writer.bytes(again.raw_body)
            });
        };
        let Some(mut time) = LongNumber::new(clock.time(first)).filter(|_| len <= N) else {
            let left = run.next();
            return Copied {
                number: first,
                left,
            };
        };
        copy_each(first, writer, run, |again, writer| {
            writer.front_around(&bytes, len, time_at, time)?;
            time = time.next();
            writer.bytes(again.raw_body.get(1..).unwrap_or(&[]))
        })
    }
}

/// Has `copy` write the messages of `run` until it cannot write one. A long payload is left to others: it need not be copied.
#[inline(always)]
fn copy_each<'a>(
    first: u64,
    writer: &mut Writer<'_>,
    run: &mut PushRun<'a>,
    mut copy: impl FnMut(&Again<'a>, &mut Writer<'_>) -> Result<(), EncodeError>,
) -> Copied<'a> {
    let mut number = first;
    for again in run {
        let is_long = again.payload.len() >= SHARE_BYTES_MIN;
        if is_long
            || writer
                .all_or_nothing(|writer| copy(&again, writer))
                .is_err()
        {
            let left = Some(again);
            return Copied { number, left };
        }
        number += 1;
    }
    let left = None;
    Copied { number, left }
}

pub(crate) struct Copied<'a> {
    /// The place of the next message in the run.
    pub(crate) number: u64,
    /// The next message, if it is to be written in another way.
    pub(crate) left: Option<Again<'a>>,
}

/// A front made ready for many copies.
pub(crate) struct Stencil<'f> {
    clock: Option<&'f Clock>,
    form: Form,
}

enum Form {
    /// The key is an id.
    Id(Block<ID_FRONT_BYTES_MAX>),
    /// The key is a text.
    Text(Block<TEXT_FRONT_BYTES_MAX>),
    /// The key is a long text.
    Long,
}

impl<'f> Stencil<'f> {
    pub(crate) fn new(front: &Front<'f>) -> Self {
        let form = Block::new(front).map(Form::Id);
        let form = form.or_else(|| Block::new(front).map(Form::Text));
        Stencil {
            clock: front.clock,
            form: form.unwrap_or(Form::Long),
        }
    }

    #[inline(always)]
    pub(crate) fn copy<'r>(
        &self,
        number: u64,
        writer: &mut Writer<'_>,
        run: &mut PushRun<'r>,
    ) -> Copied<'r> {
        match &self.form {
            Form::Id(block) => block.copy(self.clock, number, writer, run),
            Form::Text(block) => block.copy(self.clock, number, writer, run),
            Form::Long => Copied {
                number,
                left: run.next(),
            },
        }
    }
}

/// The copies of all messages of a run, as they are for every neighbour that spells the key alike.
pub(crate) struct Sheet<'f, 'a> {
    wire_expr: WireExpr<'f>,
    bytes: &'f [u8],
    count: u64,
    /// Behind the last message.
    pub(crate) end: PushRun<'a>,
}

impl<'f, 'a> Sheet<'f, 'a> {
    /// `None` if the copies are too long.
    pub(crate) fn write(
        front: Front<'f>,
        mut run: PushRun<'a>,
        paper: &'f mut Vec<u8>,
    ) -> Option<Self> {
        // Copies may be longer than what came, by a timestamp.
        let most = run.reader().remaining().saturating_mul(LONGER_MAX);
        paper.resize(paper.len().max(most.min(SHEET_BYTES_MAX)), 0);
        let mut writer = Writer::new(paper);
        let Copied { number, left } = Stencil::new(&front).copy(0, &mut writer, &mut run);
        let written = writer.position();
        left.is_none().then_some(Sheet {
            wire_expr: front.wire_expr,
            bytes: paper.get(..written).unwrap_or(&[]),
            count: number,
            end: run,
        })
    }

    pub(crate) fn is_for(&self, front: &Front<'_>) -> bool {
        self.wire_expr == front.wire_expr
    }

    /// Copies all of them if they fit, else none. Tells how many, and whether they did.
    #[inline]
    pub(crate) fn copy(&self, writer: &mut Writer<'_>) -> (u64, bool) {
        match writer.bytes(self.bytes) {
            Ok(()) => (self.count, true),
            Err(_) => (0, false),
        }
    }
}

/// One copy, up to its payload.
pub(crate) struct Copy<'f, 'a> {
    pub(crate) front: &'f Front<'f>,
    pub(crate) message: &'f Again<'a>,
    /// Its place in the run.
    pub(crate) number: u64,
}

impl Encode for Copy<'_, '_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            self.front.encode_lead(writer)?;
            let mut rest = self.message.raw_body;
            if let Some(clock) = self.front.clock {
                writer.vle_long(clock.time(self.number))?;
                clock.first.id().write_sized(writer)?;
                rest = rest.get(1..).unwrap_or(&[]);
            }
            let head = rest.len().saturating_sub(self.message.payload.len());
            writer.bytes(rest.get(..head).unwrap_or(&[]))
        })
    }
}

#[cfg(test)]
mod tests;
