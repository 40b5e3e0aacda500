// SPDX-License-Identifier: MIT OR Apache-2.0
//! PUSHes in a row that have the same head. One publisher's stream is little else, so the head is read once and
//! compared from then on.

use crate::{
    body::{self, PushBody, Put},
    id::ZenohId,
    network::Push,
    reader::Reader,
    short::Short,
    timestamp::{Ntp64, Timestamp},
};

/// Bytes that are compared at once: all of a head whose key is an id.
const WORD_BYTES: usize = 16;

/// The usual timestamp: nine bytes of time, and the id of a clock with all of its bytes.
const TIME_BYTES: usize = 9;
const CLOCK_BYTES: usize = 16;

/// What is compared behind the time: the clock's length and bytes, and the payload's length.
const STAMP_BYTES: usize = 24;

/// Bytes that tell cheaply that the next message is another one.
const GLANCE_BYTES: usize = 4;

/// The bytes that all messages of a run begin with.
#[derive(Debug, Clone, Copy)]
struct Likeness<'a> {
    head: Word,
    /// What a longer head has behind the word.
    tail: &'a [u8],
    len: usize,
    /// Where the PUT begins.
    body_at: usize,
    /// A timestamp stands between the head and the payload.
    stamped: bool,
    size: Size,
    stamp: Option<Stamp>,
}

/// The first bytes of a message.
#[derive(Debug, Clone, Copy)]
struct Word {
    bytes: u128,
    mask: u128,
}

impl Word {
    /// Nothing begins like this.
    const NEVER: Word = Word { bytes: 1, mask: 0 };

    /// Up to `len` bytes of `front`.
    fn new(front: u128, len: usize) -> Word {
        let mask = u128::MAX >> (8 * WORD_BYTES.saturating_sub(len));
        Word {
            bytes: front & mask,
            mask,
        }
    }

    #[inline(always)]
    fn begins(&self, front: u128) -> bool {
        front & self.mask == self.bytes
    }
}

/// Most streams have values of one size. Then the length is compared together with the head, and not read.
#[derive(Debug, Clone, Copy)]
struct Size {
    /// Head and length.
    word: Word,
    /// Where the payload begins.
    payload_at: usize,
    payload_len: usize,
}

/// What comes behind the time where clock and size are the usual ones. Then the time is all that is read.
#[derive(Debug, Clone, Copy)]
struct Stamp {
    id: ZenohId,
    front: u128,
    back: u64,
    back_mask: u64,
}

impl Stamp {
    /// Of what stands between the head and the payload.
    fn of(between: &[u8], id: ZenohId) -> Option<Stamp> {
        let mut reader = Reader::new(between);
        reader.z64_full()?;
        let behind = reader.rest();
        // More could be another spelling of less.
        if usize::from(*behind.first()?) != CLOCK_BYTES {
            return None;
        }
        let mut bytes = [0; STAMP_BYTES];
        bytes.get_mut(..behind.len())?.copy_from_slice(behind);
        Some(Stamp {
            id,
            front: u128::from_le_bytes(*bytes.first_chunk()?),
            back: u64::from_le_bytes(*bytes.last_chunk()?),
            back_mask: u64::MAX.checked_shr(8 * (STAMP_BYTES - behind.len()) as u32)?,
        })
    }

    /// The timestamp that `bytes` begin with, if clock and size are these.
    #[inline(always)]
    fn read(&self, bytes: &[u8; TIME_BYTES + STAMP_BYTES]) -> Option<Timestamp> {
        let (time, behind) = bytes.split_first_chunk::<TIME_BYTES>()?;
        let alike = u128::from_le_bytes(*behind.first_chunk()?) == self.front
            && u64::from_le_bytes(*behind.last_chunk()?) & self.back_mask == self.back;
        let time = Reader::new(time).z64_full().filter(|_| alike)?;
        Some(Timestamp::new(Ntp64(time), self.id))
    }
}

impl<'a> Likeness<'a> {
    /// What `message` can be recognised by. With a timestamp the head ends in front of it, without one in front of the
    /// payload's length, so that an encoding and extensions belong to it.
    #[inline]
    fn of(
        front: u128,
        message: &'a [u8],
        (put, raw_body): (&Put<'_>, &[u8]),
    ) -> Option<Likeness<'a>> {
        let body_at = message.len().checked_sub(raw_body.len())?;
        let header = *raw_body.first()?;
        let stamped = header & Put::FLAG_TIMESTAMP != 0;
        let len = if stamped {
            (header == body::id::PUT | Put::FLAG_TIMESTAMP).then_some(body_at + 1)?
        } else {
            let value_bytes = crate::writer::vle_len(put.payload.len() as u64) + put.payload.len();
            message.len().checked_sub(value_bytes)?
        };
        let mut value = Reader::new(message.get(len..)?);
        if stamped {
            Timestamp::read(&mut value).ok()?;
        }
        // A length may be written longer than it needs to be; then the head does not end where it seems to.
        let whole = value.bytes_z32().ok()?.len() == put.payload.len() && value.is_empty();
        if !whole {
            return None;
        }
        let payload_at = message.len().checked_sub(put.payload.len())?;
        let sized = !stamped && payload_at <= WORD_BYTES;
        let clock = put.timestamp.filter(|_| stamped && len <= WORD_BYTES);
        Some(Likeness {
            head: Word::new(front, len),
            tail: message.get(WORD_BYTES..len).unwrap_or(&[]),
            len,
            body_at,
            stamped,
            size: Size {
                word: match sized {
                    true => Word::new(front, payload_at),
                    false => Word::NEVER,
                },
                payload_at,
                payload_len: put.payload.len(),
            },
            stamp: match clock {
                Some(clock) => Stamp::of(message.get(len..payload_at)?, clock.id()),
                None => None,
            },
        })
    }
}

/// What one message of a run has of its own.
#[derive(Debug, Clone, Copy)]
pub struct Again<'a> {
    /// When it was published, where the messages of the run tell.
    pub timestamp: Option<Timestamp>,
    /// The value.
    pub payload: &'a [u8],
    /// What begins with the value; the next message may be in it. `None` near the end of the batch.
    front: Option<&'a [u8; Short::BYTES_MAX]>,
    /// Its PUT as it came, from the header byte to the payload's end.
    pub raw_body: &'a [u8],
}

impl<'a> Again<'a> {
    /// A copy of the value, if it is short.
    #[inline(always)]
    pub fn short(&self) -> Option<Short> {
        match self.front {
            Some(front) => Short::front_of(front, self.payload.len()),
            None => Short::new(self.payload),
        }
    }

    /// Makes `push`, an earlier message of the run, into this one.
    #[inline(always)]
    pub fn write_to(&self, push: &mut Push<'a>) {
        if let PushBody::Put(put) = &mut push.body {
            put.timestamp = self.timestamp;
            put.payload = self.payload;
        }
    }
}

/// The messages after a PUSH of a PUT that differ from it in the payload and the time only, in the order they came.
///
/// It reads them as it goes, and it may be cloned to go over them more than once.
///
/// ```
/// use zonda_codec::{Encode, Push, PushBody, PushRun, Put, Reader, WireExpr};
///
/// let one = |payload| Push::new(WireExpr::full("key"), PushBody::Put(Put::new(payload)));
/// let bytes = [one(b"some value"), one(b"another one"), one(b"the last")]
///     .map(|push| push.to_vec().unwrap())
///     .concat();
///
/// let mut reader = Reader::new(&bytes);
/// let start = reader;
/// let (push, raw) = Push::decode_with_raw(&mut reader).unwrap();
/// let run = PushRun::following(start, (&push, raw), reader).unwrap();
/// assert_eq!(run.map(|again| again.payload).collect::<Vec<_>>(), [&b"another one"[..], b"the last"]);
/// ```
#[derive(Debug, Clone)]
pub struct PushRun<'a> {
    like: Likeness<'a>,
    /// Of the message that was read last.
    timestamp: Option<Timestamp>,
    reader: Reader<'a>,
    left: usize,
}

impl<'a> PushRun<'a> {
    /// What follows `push` in `rest`. `start` is where it began, `raw_body` its body as it came.
    ///
    /// `None` if the next message is another one. Some are not recognised although they are alike, as the last ones of a
    /// batch; they have to be read one by one.
    #[inline(always)]
    pub fn following(
        start: Reader<'a>,
        (push, raw_body): (&Push<'a>, &'a [u8]),
        rest: Reader<'a>,
    ) -> Option<Self> {
        if start.front::<GLANCE_BYTES>() != rest.front::<GLANCE_BYTES>() {
            return None;
        }
        let front = u128::from_le_bytes(*start.front()?);
        PushRun::recognise((front, rest.since(start)), (push, raw_body), rest)
    }

    #[inline(never)]
    fn recognise(
        (front, message): (u128, &'a [u8]),
        (push, raw_body): (&Push<'a>, &'a [u8]),
        rest: Reader<'a>,
    ) -> Option<Self> {
        let PushBody::Put(put) = &push.body else {
            return None;
        };
        let like = Likeness::of(front, message, (put, raw_body))?;
        let mut run = PushRun {
            like,
            timestamp: put.timestamp,
            reader: rest,
            left: usize::MAX,
        };
        run.next()?;
        run.timestamp = put.timestamp;
        run.reader = rest;
        run.left = usize::MAX;
        Some(run)
    }

    /// Ends the run after `count` more messages.
    #[inline]
    pub fn limit(&mut self, count: usize) {
        self.left = count;
    }

    /// How many messages it may still bring before its [limit](PushRun::limit).
    #[inline]
    pub fn left(&self) -> usize {
        self.left
    }

    /// Behind the last message that it brought.
    #[inline]
    pub fn reader(&self) -> Reader<'a> {
        self.reader
    }

    /// That of the last message that it brought: to be copied from here where [`Again::timestamp`] is not needed apart.
    #[inline]
    pub fn timestamp(&self) -> &Option<Timestamp> {
        &self.timestamp
    }

    #[inline(never)]
    fn has_tail(&self, mut reader: Reader<'a>) -> bool {
        let head = reader.take(self.like.len).unwrap_or(&[]);
        head.get(WORD_BYTES..) == Some(self.like.tail)
    }

    /// Reads the timestamp of the next message, if that has the usual size and clock.
    #[inline(never)]
    fn has_stamp(&mut self, front: u128) -> bool {
        let read = || {
            let stamp = self.like.stamp.as_ref()?;
            let mut reader = self.reader;
            reader.take(self.like.len).ok()?;
            stamp.read(reader.front().filter(|_| self.like.head.begins(front))?)
        };
        let read = read();
        if read.is_some() {
            self.timestamp = read;
        }
        read.is_some()
    }

    /// Where the payload of the next message begins and how long it is, if the length has to be read, or a timestamp in
    /// front of that.
    #[inline(never)]
    fn look(&mut self, front: u128) -> Option<(usize, usize)> {
        let like = &self.like;
        let mut reader = self.reader;
        if !like.head.begins(front) || !like.tail.is_empty() && !self.has_tail(reader) {
            return None;
        }
        reader.take(like.len).ok()?;
        if like.stamped {
            self.timestamp = Some(Timestamp::read(&mut reader).ok()?);
        }
        let len = usize::try_from(reader.z32().ok()?).ok()?;
        Some((reader.since(self.reader).len(), len))
    }
}

impl<'a> Iterator for PushRun<'a> {
    type Item = Again<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Again<'a>> {
        let front = u128::from_le_bytes(*self.reader.front::<WORD_BYTES>()?);
        if self.left == 0 {
            return None;
        }
        let like = &self.like;
        let (payload_at, payload_len) =
            if like.size.word.begins(front) || like.stamp.is_some() && self.has_stamp(front) {
                (self.like.size.payload_at, self.like.size.payload_len)
            } else {
                self.look(front)?
            };
        let mut reader = self.reader;
        reader.take(payload_at).ok()?;
        let front = reader.front();
        let payload = reader.take(payload_len).ok()?;
        let message = reader.since(self.reader);
        self.reader = reader;
        self.left -= 1;
        Some(Again {
            timestamp: self.timestamp,
            payload,
            front,
            raw_body: message.get(self.like.body_at..).unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests;
