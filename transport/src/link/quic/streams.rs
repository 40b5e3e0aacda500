// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams of a connection: one in both directions, and in addition, if the two ends have agreed on
//! it, one each way for each priority but the first.

use std::io;
use std::slice;
use std::task::Poll;

use bytes::Bytes;
use quinn_proto::{Connection, Dir, ReadError, StreamId, VarInt, WriteError};

use super::block_pool::BlockPool;
use super::terms::STREAMS;

/// Streams of a connection.
#[derive(Debug, Default)]
pub(super) struct Streams {
    /// Stream in both directions; present once the two ends have it.
    link: Option<StreamId>,
    /// Set once the peer has ended the stream.
    is_over: bool,
    /// Streams that this end opened; none unless both ends have them.
    out: Vec<StreamId>,
    /// Streams of the peer that have not ended.
    back: [Option<StreamId>; STREAMS - 1],
    has_lanes: bool,
    /// Streams whose end the peer has not confirmed, once this end sends no more.
    finishing: Option<Vec<StreamId>>,
    /// Memory for copies of written bytes.
    recycled: BlockPool,
}

/// Result of reading a stream.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) chunks: Vec<Bytes>,
    pub(super) bytes: usize,
    /// Set at the end of the stream.
    pub(super) is_end: bool,
}

fn broken() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}

impl Streams {
    /// Opens this end's streams, as the two ends have agreed.
    pub(super) fn open(&mut self, proto: &mut Connection, has_lanes: bool) {
        self.has_lanes = has_lanes;
        if proto.side().is_client() {
            self.link = proto.streams().open(Dir::Bi);
        }
        if !has_lanes {
            return;
        }
        // Priorities for which the peer permits no stream share the first one.
        while self.out.len() < STREAMS - 1
            && let Some(stream) = proto.streams().open(Dir::Uni)
        {
            self.out.push(stream);
            let urgency = -(self.out.len() as i32);
            // The stream was just opened.
            let _ = proto.send_stream(stream).set_priority(urgency);
        }
    }

    /// Accepts the streams that the peer has opened. A stream beyond the agreed ones is refused:
    /// none of its bytes are kept.
    pub(super) fn accept(&mut self, proto: &mut Connection) {
        if self.link.is_none() && proto.side().is_server() {
            self.link = proto.streams().accept(Dir::Bi);
        }
        while let Some(stream) = proto.streams().accept(Dir::Uni) {
            let place = usize::try_from(stream.index()).ok();
            let place = place.filter(|_| self.has_lanes);
            match place.and_then(|place| self.back.get_mut(place)) {
                Some(place) => *place = Some(stream),
                // A stream that has ended already needs no stop.
                None => drop(proto.recv_stream(stream).stop(VarInt::from_u32(0))),
            }
        }
    }

    /// Returns true if there is a link.
    pub(super) fn is_open(&self) -> bool {
        self.link.is_some()
    }

    /// Returns true if each priority has a stream.
    pub(super) fn has_lanes(&self) -> bool {
        self.has_lanes
    }

    /// Sends as many bytes as may wait for the peer, and removes them from the buffer.
    pub(super) fn write(
        &self,
        proto: &mut Connection,
        stream: usize,
        bytes: &mut Bytes,
    ) -> Poll<io::Result<usize>> {
        let Some(id) = self.id(stream) else {
            return Poll::Ready(Err(broken()));
        };
        match proto.send_stream(id).write_chunks(slice::from_mut(bytes)) {
            Ok(written) => Poll::Ready(Ok(written.bytes)),
            Err(WriteError::Blocked) => Poll::Pending,
            Err(_) => Poll::Ready(Err(broken())),
        }
    }

    /// Returns the stream of a priority, or the only one.
    fn id(&self, stream: usize) -> Option<StreamId> {
        let beside = stream.checked_sub(1).and_then(|at| self.out.get(at));
        beside.copied().or(self.link)
    }

    /// Returns the memory that holds unconfirmed bytes.
    pub(super) fn recycled(&mut self) -> &mut BlockPool {
        &mut self.recycled
    }

    /// Takes received bytes of a stream, at most `most`.
    ///
    /// # Errors
    /// The peer has reset the stream. Returned after the bytes received before.
    pub(super) fn read(
        &mut self,
        proto: &mut Connection,
        stream: usize,
        room: usize,
    ) -> io::Result<Read> {
        let mut read = Read {
            is_end: stream == 0 && self.is_over,
            ..Read::default()
        };
        let place = match stream.checked_sub(1) {
            None => &mut self.link,
            Some(at) => &mut self.back[at],
        };
        let Some(id) = place.filter(|_| !read.is_end) else {
            return Ok(read);
        };
        let mut received = proto.recv_stream(id);
        let mut chunks = received.read(true).map_err(|_| broken())?;
        let mut is_reset = false;
        while read.bytes < room {
            match chunks.next(room - read.bytes) {
                Ok(Some(chunk)) => {
                    read.bytes += chunk.bytes.len();
                    read.chunks.push(chunk.bytes);
                }
                Ok(None) => {
                    read.is_end = true;
                    break;
                }
                Err(ReadError::Blocked) => break,
                Err(ReadError::Reset(_)) => {
                    is_reset = true;
                    break;
                }
            }
        }
        // The resulting packets for the peer are sent with the next ones.
        let _ = chunks.finalize();
        if is_reset && read.chunks.is_empty() {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        match stream {
            0 => self.is_over = read.is_end,
            _ if read.is_end => *place = None,
            _ => {}
        }
        Ok(read)
    }

    /// Ends the sending direction.
    pub(super) fn finish(&mut self, proto: &mut Connection) {
        let mut finishing = Vec::new();
        for stream in self.link.into_iter().chain(self.out.iter().copied()) {
            // The call fails if the peer has stopped the stream.
            if proto.send_stream(stream).finish().is_ok() {
                finishing.push(stream);
            }
        }
        self.finishing = Some(finishing);
    }

    /// Notes that the peer has all of a stream, or has stopped it.
    pub(super) fn note_finished(&mut self, stream: StreamId) {
        if let Some(finishing) = &mut self.finishing {
            finishing.retain(|one| *one != stream);
        }
    }

    /// Returns true if the peer has all that was written.
    pub(super) fn is_finished(&self) -> bool {
        self.finishing.as_ref().is_some_and(Vec::is_empty)
    }
}
