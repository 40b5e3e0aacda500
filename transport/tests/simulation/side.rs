// SPDX-License-Identifier: MIT OR Apache-2.0
//! One end of a simulated link: first a handshake, then a connection that sends what it is told to
//! and checks what it receives.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use zenoh_buffers::ZSlice;
use zonda_codec::{CongestionControl, Priority, Qos, Reliability, WhatAmI};
use zonda_transport::protocol::connection::Connection;
use zonda_transport::protocol::handshake::{
    AcceptStep, Acceptor, CookieKey, HandshakeError, OpenStep, Opener, STEP_TIMEOUT,
};
use zonda_transport::protocol::options::Framing;
use zonda_transport::protocol::parameters::{BATCH_SIZE_MIN, Established, LocalParameters};
use zonda_transport::protocol::rx::{Flow, PeerMisbehaved};
use zonda_transport::protocol::tx::{Outgoing, Tail};

use super::contents::Contents;
use super::ledger::Ledger;
use super::oracle::Oracle;
use super::pipe::Pipe;
use super::rng::Rng;
use super::traffic::{Channel, Note, PushHead, Recorder, other};

/// Bytes a lane queues before its sender has to wait.
pub const QUEUE_BYTES_MAX: usize = 3000;

/// Why a side is no longer open.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    Handshake(HandshakeError),
    Misbehaved(PeerMisbehaved),
    Closed(u8),
    Expired,
}

enum State {
    Opening(Box<Opener>),
    Accepting(Box<Acceptor>),
    Open(Box<Connection>),
    Ended(End),
}

pub struct Side {
    state: State,
    local: LocalParameters,
    step_deadline: Instant,
    /// Bytes of a stream that do not make a batch yet.
    partial: Vec<u8>,
    pub established: Option<Established>,
    pub recorder: Recorder,
    /// The second opinion; absent where the pipe damages batches.
    pub oracle: Option<Oracle>,
    pub checks_with_oracle: bool,
    /// Messages to send, with the time from which on each may be.
    pub outgoing: VecDeque<(Instant, Note)>,
    pub sent: Vec<Note>,
    pub ledger: Ledger,
    /// When batches were sent.
    pub batch_times: Vec<Instant>,
    pub last_received: Instant,
    pub ended_at: Option<Instant>,
    /// Close when everything is sent.
    pub closes: bool,
    contents: Contents,
}

impl Side {
    pub fn new(local: LocalParameters, opens: bool, now: Instant) -> Self {
        let state = match opens {
            true => State::Opening(Box::new(Opener::new(local.clone(), None))),
            false => {
                let key = Arc::new(CookieKey::new([local.batch_size as u8; 32]));
                State::Accepting(Box::new(Acceptor::new(local.clone(), key)))
            }
        };
        Side {
            state,
            local,
            step_deadline: now + STEP_TIMEOUT,
            partial: Vec::new(),
            established: None,
            recorder: Recorder::default(),
            oracle: None,
            checks_with_oracle: true,
            outgoing: VecDeque::new(),
            sent: Vec::new(),
            ledger: Ledger::default(),
            batch_times: Vec::new(),
            last_received: now,
            ended_at: None,
            closes: false,
            contents: Contents::new(Framing::Plain),
        }
    }

    /// Sets the largest message this side puts together, before the link opens.
    pub fn limit_messages(&mut self, bytes: usize) {
        self.local.message_size_max = bytes;
        if let State::Opening(_) = self.state {
            self.state = State::Opening(Box::new(Opener::new(self.local.clone(), None)));
        }
    }

    pub fn connection(&self) -> Option<&Connection> {
        match &self.state {
            State::Open(connection) => Some(connection),
            _ => None,
        }
    }

    pub fn end(&self) -> Option<&End> {
        match &self.state {
            State::Ended(end) => Some(end),
            _ => None,
        }
    }

    /// The opener's first word.
    pub fn start(&mut self, now: Instant, pipe: &mut Pipe, rng: &mut Rng) {
        if let State::Opening(opener) = &mut self.state {
            let mut out = Vec::new();
            opener.start(&mut out);
            pipe.send(now, &out, rng);
        }
    }

    /// When this side wants to be called without anything having arrived.
    pub fn deadline(&self, pipe: &Pipe) -> Option<Instant> {
        match &self.state {
            State::Opening(_) | State::Accepting(_) => Some(self.step_deadline),
            State::Open(connection) => {
                let timeout = connection.poll_timeout();
                let next = self.outgoing.front().filter(|_| pipe.is_writable());
                Some(next.map_or(timeout, |(at, _)| timeout.min(*at)))
            }
            State::Ended(_) => None,
        }
    }

    fn finish(&mut self, now: Instant, end: End) {
        self.state = State::Ended(end);
        self.ended_at = Some(now);
    }

    /// Bytes from the peer: a batch, or a chunk of a stream.
    pub fn receive(&mut self, chunk: Vec<u8>, stream: bool, back: &mut Link<'_>) {
        let now = back.now;
        self.last_received = now;
        if !stream {
            self.receive_batch(&chunk, back);
            return;
        }
        self.partial.extend_from_slice(&chunk);
        while self.connection().is_none() && self.end().is_none() {
            let Some((prefix, rest)) = self.partial.split_first_chunk::<2>() else {
                return;
            };
            let length = usize::from(u16::from_le_bytes(*prefix));
            let Some(batch) = rest.get(..length).map(<[u8]>::to_vec) else {
                return;
            };
            self.partial.drain(..length + 2);
            self.receive_batch(&batch, back);
        }
        let State::Open(connection) = &mut self.state else {
            return;
        };
        let block = ZSlice::from(self.partial.clone());
        match connection.handle_bytes(now, &block, &mut self.recorder) {
            Ok(progress) => {
                self.consult_oracle(progress.consumed);
                self.partial.drain(..progress.consumed);
                if let Flow::Closed { reason } = progress.flow {
                    self.finish(now, End::Closed(reason));
                }
            }
            Err(misbehaved) => self.finish(now, End::Misbehaved(misbehaved)),
        }
        self.check_memory();
    }

    fn consult_oracle(&mut self, consumed: usize) {
        let Some(oracle) = &mut self.oracle else {
            return;
        };
        let mut rest = &self.partial[..consumed];
        while let Some((prefix, behind)) = rest.split_first_chunk::<2>() {
            let (batch, behind) = behind.split_at(u16::from_le_bytes(*prefix).into());
            oracle.take(&self.contents.plain(batch).expect("undamaged"));
            rest = behind;
        }
    }

    fn receive_batch(&mut self, batch: &[u8], back: &mut Link<'_>) {
        if self.connection().is_some() {
            return self.receive_open(batch, back.now);
        }
        let now = back.now;
        let mut out = Vec::new();
        let result = match &mut self.state {
            State::Opening(opener) => match opener.handle_batch(batch, &mut out) {
                Ok(OpenStep::Continue) => Ok(None),
                Ok(OpenStep::Done(established)) => Ok(Some(established)),
                Err(error) => Err(error),
            },
            State::Accepting(acceptor) => match acceptor.handle_batch(batch, &mut out) {
                Ok(AcceptStep::Continue) => Ok(None),
                Ok(AcceptStep::Admit(established)) => {
                    acceptor.admit(&mut out);
                    Ok(Some(established))
                }
                Err(error) => Err(error),
            },
            State::Open(_) | State::Ended(_) => return,
        };
        if !out.is_empty() {
            back.pipe.send(now, &out, back.rng);
        }
        match result {
            Ok(None) => self.step_deadline = now + STEP_TIMEOUT,
            Ok(Some(established)) => self.open(now, established),
            Err(error) => self.finish(now, End::Handshake(error)),
        }
    }

    fn receive_open(&mut self, batch: &[u8], now: Instant) {
        let State::Open(connection) = &mut self.state else {
            return;
        };
        let block = ZSlice::from(batch.to_vec());
        let flow = connection.handle_batch(now, block.as_slice(), &block, &mut self.recorder);
        if let Some(oracle) = &mut self.oracle {
            oracle.take(&self.contents.plain(batch).expect("undamaged"));
        }
        match flow {
            Ok(Flow::Open) => {}
            Ok(Flow::Paused(_)) => unreachable!("a connection makes no pauses"),
            Ok(Flow::Closed { reason }) => self.finish(now, End::Closed(reason)),
            Err(misbehaved) => self.finish(now, End::Misbehaved(misbehaved)),
        }
        self.check_memory();
    }

    fn open(&mut self, now: Instant, established: Established) {
        let connection = Connection::new(&self.local, &established, QUEUE_BYTES_MAX, now);
        self.recorder.qos_agreed = established.qos;
        self.contents = Contents::new(established.options.framing());
        if self.checks_with_oracle && !established.options.low_latency {
            let (sn, mask) = (established.initial_sn_rx, established.sn_mask);
            self.oracle = Some(Oracle::new(
                sn,
                mask,
                established.patch,
                self.local.message_size_max,
            ));
        }
        self.established = Some(established);
        self.last_received = now;
        self.state = State::Open(Box::new(connection));
    }

    fn check_memory(&self) {
        let Some(connection) = self.connection() else {
            return;
        };
        let (max, defragmenter) = (
            self.local.message_size_max,
            connection.receiver().defragmenter(),
        );
        assert!(
            defragmenter.buffered_bytes() <= 2 * max,
            "the total limit holds"
        );
        let allocated = 18 * (2 * max).max(4096);
        assert!(
            defragmenter.allocated_bytes() <= allocated,
            "allocations follow what arrived"
        );
    }

    /// Deadlines, new messages, and as much sending as the pipe takes.
    pub fn act(&mut self, back: &mut Link<'_>) {
        let now = back.now;
        let late = now >= self.step_deadline;
        let step = match &self.state {
            State::Opening(opener) => opener.step(),
            State::Accepting(acceptor) => acceptor.step(),
            State::Open(_) => return self.act_open(back),
            State::Ended(_) => return,
        };
        if late {
            self.finish(now, End::Handshake(HandshakeError::Timeout { step }));
        }
    }

    fn act_open(&mut self, back: &mut Link<'_>) {
        let now = back.now;
        let State::Open(connection) = &mut self.state else {
            return;
        };
        if connection.handle_timeout(now).is_err() {
            return self.finish(now, End::Expired);
        }
        loop {
            while let Some((at, note)) = self.outgoing.front() {
                if *at > now || !connection.has_room(channel_of(note).priority) {
                    break;
                }
                push(connection, note, back.rng);
                self.sent.push(*note);
                self.outgoing.pop_front();
            }
            if !back.pipe.is_writable() {
                break;
            }
            let Some(batch) = connection.poll_transmit(now) else {
                break;
            };
            let bytes = self.contents.outgoing(&batch);
            self.batch_times.push(now);
            if let Some(plain) = self.contents.plain(&bytes) {
                self.ledger.enter(&plain);
            }
            connection.recycle(batch);
            back.pipe.send(now, &bytes, back.rng);
        }
        if self.closes && self.outgoing.is_empty() && back.pipe.is_writable() {
            self.closes = false;
            connection.close(0);
            while let Some(batch) = connection.poll_transmit(now) {
                let bytes = self.contents.outgoing(&batch);
                back.pipe.send(now, &bytes, back.rng);
            }
            self.finish(now, End::Closed(0));
        }
    }
}

/// The way back to the peer.
pub struct Link<'w> {
    pub now: Instant,
    pub pipe: &'w mut Pipe,
    pub rng: &'w mut Rng,
}

fn channel_of(note: &Note) -> Channel {
    let priority = Priority::ALL[note.channel / 2];
    let reliable = note.channel % 2 == 1;
    let reliability = if reliable {
        Reliability::Reliable
    } else {
        Reliability::BestEffort
    };
    Channel {
        priority,
        reliability,
    }
}

fn push(connection: &mut Connection, note: &Note, rng: &mut Rng) {
    let Channel {
        priority,
        reliability,
    } = channel_of(note);
    if !note.is_push() {
        let message = other(note);
        let outgoing = Outgoing {
            reliability,
            head: &message,
            payload: Tail::NONE,
        };
        connection
            .push(priority, &outgoing)
            .expect("it has a wire form");
        return;
    }
    let qos = Qos::new(priority, CongestionControl::Block, rng.per_mille(100));
    let head = PushHead {
        key: note.key(),
        qos,
        payload_bytes: note.size,
    };
    if note.size >= 16 * 1024 && rng.per_mille(800) {
        let slice = ZSlice::from(note.payload().to_vec());
        let outgoing = Outgoing {
            reliability,
            head: &head,
            payload: Tail::Shared(&slice),
        };
        connection
            .push(priority, &outgoing)
            .expect("it has a wire form");
    } else {
        let outgoing = Outgoing {
            reliability,
            head: &head,
            payload: Tail::Copy(note.payload()),
        };
        connection
            .push(priority, &outgoing)
            .expect("it has a wire form");
    }
}

/// A node to simulate.
pub fn node(zid: u128, whatami: WhatAmI, lease: Duration) -> LocalParameters {
    let zid = zonda_codec::ZenohId::random_from(zid);
    LocalParameters {
        lease,
        // far below what a node accepts by default, so that everything comes in many pieces
        batch_size_min: BATCH_SIZE_MIN,
        ..LocalParameters::new(zid, whatami)
    }
}
