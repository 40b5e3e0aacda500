// SPDX-License-Identifier: MIT OR Apache-2.0
//! PUSHes in a row that have the same head. The stream of one publisher is mostly such a row, so
//! the head is read once and compared from then on.

mod likeness;

use crate::{body::PushBody, network::Push, reader::Reader, short::Short, timestamp::Timestamp};

use likeness::{Likeness, WORD_BYTES};

/// Bytes whose comparison rules out a different message cheaply.
const GLANCE_BYTES: usize = 4;

/// The fields of one message of a run that differ from the first message.
#[derive(Debug, Clone, Copy)]
pub struct RunItem<'a> {
    /// Time of the publication, if the messages of the run have one.
    pub timestamp: Option<Timestamp>,
    /// The value.
    pub payload: &'a [u8],
    /// Bytes that begin with the value and may extend into the next message. `None` near the end of
    /// the batch.
    front: Option<&'a [u8; Short::BYTES_MAX]>,
    /// The PUT as it came, from the header byte to the payload's end.
    pub raw_body: &'a [u8],
}

impl<'a> RunItem<'a> {
    /// Returns a copy of the value, if it is short.
    #[inline(always)]
    pub fn short(&self) -> Option<Short> {
        match self.front {
            Some(front) => Short::front_of(front, self.payload.len()),
            None => Short::new(self.payload),
        }
    }

    /// Turns `push`, an earlier message of the run, into this one.
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
/// The run reads them as it advances, and it may be cloned to iterate over them more than once.
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
/// let run = PushRun::following(start, &push, raw, reader).unwrap();
/// assert_eq!(run.map(|again| again.payload).collect::<Vec<_>>(), [&b"another one"[..], b"the last"]);
/// ```
#[derive(Debug, Clone)]
pub struct PushRun<'a> {
    like: Likeness<'a>,
    /// Timestamp of the message that was read last.
    timestamp: Option<Timestamp>,
    reader: Reader<'a>,
    left: usize,
}

impl<'a> PushRun<'a> {
    /// Returns the run that follows `push` in `rest`. `start` is the position of `push`, `raw_body`
    /// its body as it came.
    ///
    /// `None` if the next message is another one. Some are not recognised although they are alike,
    /// as the last ones of a batch; they have to be read one by one.
    #[inline(always)]
    pub fn following(
        start: Reader<'a>,
        push: &Push<'a>,
        raw_body: &'a [u8],
        rest: Reader<'a>,
    ) -> Option<Self> {
        if start.front::<GLANCE_BYTES>() != rest.front::<GLANCE_BYTES>() {
            return None;
        }
        let front = u128::from_le_bytes(*start.front()?);
        PushRun::recognise(front, rest.since(start), push, raw_body, rest)
    }

    #[inline(never)]
    fn recognise(
        front: u128,
        message: &'a [u8],
        push: &Push<'a>,
        raw_body: &'a [u8],
        rest: Reader<'a>,
    ) -> Option<Self> {
        // each message of a run would need a stack of its own
        let PushBody::Put(put) = &push.body else {
            return None;
        };
        if push.ts_stack.is_some() {
            return None;
        }
        let like = Likeness::of(front, message, put, raw_body)?;
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

    /// Returns the number of messages it may still yield before its [limit](PushRun::limit).
    #[inline]
    pub fn left(&self) -> usize {
        self.left
    }

    /// Returns a reader behind the last message that it yielded.
    #[inline]
    pub fn reader(&self) -> Reader<'a> {
        self.reader
    }

    /// Returns the timestamp of the last message that it yielded: to be copied from here where
    /// [`RunItem::timestamp`] is not needed separately.
    #[inline]
    pub fn timestamp(&self) -> &Option<Timestamp> {
        &self.timestamp
    }

    /// Returns true if the next message continues with `tail` behind its first word.
    #[inline(always)]
    fn goes_on(&self, tail: &[u8]) -> bool {
        tail.is_empty() || self.has_tail(tail)
    }

    #[inline(never)]
    fn has_tail(&self, tail: &[u8]) -> bool {
        let mut reader = self.reader;
        reader.take(WORD_BYTES).is_ok() && reader.take(tail.len()) == Ok(tail)
    }

    /// Reads the timestamp of the next message; returns true if the message begins alike and has
    /// the usual size and clock.
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

    /// Returns the offset and the length of the payload of the next message, for messages whose
    /// length, or a timestamp in front of it, has to be read.
    #[inline(never)]
    fn look(&mut self, front: u128) -> Option<(usize, usize)> {
        let like = &self.like;
        let mut reader = self.reader;
        if !like.head.begins(front) || !self.goes_on(like.tail) {
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
    type Item = RunItem<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<RunItem<'a>> {
        let front = u128::from_le_bytes(*self.reader.front::<WORD_BYTES>()?);
        if self.left == 0 {
            return None;
        }
        // Comparison with the usual size; else the length is read.
        let like = &self.like;
        let is_sized = like.size.word.begins(front) && self.goes_on(like.size.tail)
            || like.stamp.is_some() && self.goes_on(like.tail) && self.has_stamp(front);
        let (payload_at, payload_len) = match is_sized {
            true => (self.like.size.payload_at, self.like.size.payload_len),
            false => self.look(front)?,
        };
        // Split off the payload, and note where the message ends.
        let mut reader = self.reader;
        reader.take(payload_at).ok()?;
        let front = reader.front();
        let payload = reader.take(payload_len).ok()?;
        let message = reader.since(self.reader);
        self.reader = reader;
        self.left -= 1;
        Some(RunItem {
            timestamp: self.timestamp,
            payload,
            front,
            raw_body: message.get(self.like.body_at..).unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests;
