// SPDX-License-Identifier: MIT OR Apache-2.0
//! End of a simulated link: first a handshake, then the outbox and the driver of the library,
//! senders with a list of messages, and a handler that checks the messages that it receives.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use socket2::{Domain, Socket as Descriptor, Type};
use zonda_codec::{NetworkMessage, Priority, Push, WhatAmI};
use zonda_runtime::Runtime;

use crate::clock;
use crate::driver::{self, Drive, Ended, Handler};
use crate::outbox::{DirectSocket, Outbox};
use crate::protocol::handshake::{
    AcceptStep, Acceptor, CookieKey, HandshakeError, OpenStep, Opener, STEP_TIMEOUT,
};
use crate::protocol::options::Framing;
use crate::protocol::parameters::{BATCH_SIZE_MIN, Established, LocalParameters};
use crate::protocol::rx::{Context, Deliver, Received, Receiver};
use crate::protocol::timers::Timers;

use super::contents::{Contents, Cutter};
use super::executor::{Executor, WRITING_TASK};
use super::ledger::Ledger;
use super::link::{Beside, Reader, Socket, Writer};
use super::oracle::Oracle;
use super::pipe::{Pipe, SharedPipe};
use super::rng::Rng;
use super::sender::Sender;
use super::traffic::{Note, Recorder};

/// Bytes that a lane queues before its sender has to wait.
pub const QUEUE_BYTES_MAX: usize = 3000;

/// Maximum time of a close.
const CLOSE_MAX: Duration = Duration::from_secs(60);

/// Cause of the end of a side.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    Handshake(HandshakeError),
    Link(Ended),
}

impl End {
    /// Returns true if a peer may cause this end by damaging its bytes.
    pub fn is_of_damage(&self) -> bool {
        let End::Link(ended) = self else { return false };
        matches!(
            ended,
            Ended::Misbehaved(_) | Ended::Expired | Ended::Remote(_) | Ended::HungUp
        )
    }
}

enum State {
    Opening(Box<Opener>),
    Accepting(Box<Acceptor>),
    Open,
    Ended(End),
}

/// Properties of a side, in addition to its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// True if its senders write by themselves.
    pub direct: bool,
    /// True if its handler sometimes wants a pause.
    pub pauses: bool,
    /// True if other tasks run during a write.
    pub beside: bool,
    /// True if senders that wait for room block their threads.
    pub blocks: bool,
}

pub struct Side {
    pub index: usize,
    pub manner: Manner,
    state: State,
    local: LocalParameters,
    step_deadline: Instant,
    pub established: Option<Established>,
    pub outbox: Option<Arc<Outbox>>,
    recorder: Arc<Mutex<Recorder>>,
    /// Oracle; absent where the pipe damages batches.
    pub oracle: Option<Oracle>,
    pub checks_with_oracle: bool,
    /// Messages to send, each with its earliest time.
    pub outgoing: VecDeque<(Instant, Note)>,
    /// Number of messages that the senders still have to send.
    pending: Arc<AtomicUsize>,
    sent: Arc<Mutex<Vec<Note>>>,
    pub ledger: Ledger,
    /// Times at which batches were sent.
    pub batch_times: Vec<Instant>,
    pub opened_at: Option<Instant>,
    pub ended_at: Option<Instant>,
    /// True if the side closes when everything is sent.
    pub closes: bool,
    contents: Contents,
    /// Splitter of the bytes read, during the handshake and for the oracle.
    cutter: Cutter,
}

/// Surroundings of a side.
pub struct Around<'w> {
    pub executor: &'w Executor,
    pub out: &'w SharedPipe,
    pub back: &'w SharedPipe,
    pub rng: &'w mut Rng,
}

impl fmt::Debug for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Side")
            .field("index", &self.index)
            .field("manner", &self.manner)
            .field("end", &self.end())
            .field("pending", &self.pending)
            .field("sent", &self.sent().len())
            .field("received", &self.recorder().received)
            .field("outbox", &self.outbox)
            .field(
                "queued",
                &self.outbox.as_ref().map(|outbox| outbox.queued_bytes()),
            )
            .field(
                "unsent",
                &self.outbox.as_ref().map(|outbox| outbox.has_unsent()),
            )
            .finish_non_exhaustive()
    }
}

impl Side {
    pub fn new(local: LocalParameters, opens: bool, manner: Manner) -> Self {
        let state = match opens {
            true => State::Opening(Box::new(Opener::new(local.clone(), None))),
            false => {
                let key = Arc::new(CookieKey::new([local.batch_size as u8; 32]));
                State::Accepting(Box::new(Acceptor::new(local.clone(), key)))
            }
        };
        Side {
            index: usize::from(!opens),
            manner,
            state,
            local,
            step_deadline: clock::now() + STEP_TIMEOUT,
            established: None,
            outbox: None,
            recorder: Arc::default(),
            oracle: None,
            checks_with_oracle: true,
            outgoing: VecDeque::new(),
            pending: Arc::default(),
            sent: Arc::default(),
            ledger: Ledger::default(),
            batch_times: Vec::new(),
            opened_at: None,
            ended_at: None,
            closes: false,
            contents: Contents::new(Framing::Plain),
            cutter: Cutter::new(),
        }
    }

    /// Sets the largest message that this side reassembles, before the link opens.
    pub fn limit_messages(&mut self, bytes: usize) {
        self.local.message_size_max = bytes;
        if let State::Opening(_) = self.state {
            self.state = State::Opening(Box::new(Opener::new(self.local.clone(), None)));
        }
    }

    /// Sets its lease, before the link opens.
    pub fn lend_for(&mut self, lease: Duration) {
        let local = LocalParameters {
            lease,
            ..self.local.clone()
        };
        *self = Side::new(local, self.index == 0, self.manner);
    }

    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Open)
    }

    pub fn end(&self) -> Option<&End> {
        match &self.state {
            State::Ended(end) => Some(end),
            _ => None,
        }
    }

    pub fn recorder(&self) -> MutexGuard<'_, Recorder> {
        self.recorder.lock()
    }

    /// Returns the counts of the receiver of an open link.
    pub fn received(&self) -> Received {
        assert!(self.is_open(), "{:?}", self.end());
        self.recorder().received
    }

    /// Returns the messages given to the outbox, in the order of each channel.
    pub fn sent(&self) -> Vec<Note> {
        self.sent.lock().clone()
    }

    /// Returns the numbers of a channel that were given to the outbox, in order.
    pub fn numbers_sent(&self, channel: usize) -> Vec<u32> {
        numbers(&self.sent(), channel)
    }

    /// Returns the numbers of a channel that were received, in order.
    pub fn numbers(&self, channel: usize) -> Vec<u32> {
        numbers(&self.recorder().notes, channel)
    }

    /// Returns true if the socket has all messages to send.
    pub fn has_sent_all(&self) -> bool {
        let unsent = |outbox: &Arc<Outbox>| outbox.has_unsent();
        self.is_unburdened() && !self.outbox.as_ref().is_some_and(unsent)
    }

    fn is_unburdened(&self) -> bool {
        self.outgoing.is_empty() && self.pending.load(Ordering::Relaxed) == 0
    }

    /// Sends the opener's first message.
    pub fn start(&mut self, out: &mut Pipe) {
        if let State::Opening(opener) = &mut self.state {
            let mut bytes = Vec::new();
            opener.start(&mut bytes);
            out.send(clock::now(), &bytes);
        }
    }

    /// Returns the time at which the world has to call this side at the latest.
    pub fn deadline(&self) -> Option<Instant> {
        let acts = !self.outgoing.is_empty() || self.closes && self.is_unburdened();
        match &self.state {
            State::Opening(_) | State::Accepting(_) => Some(self.step_deadline),
            State::Open if acts => Some(clock::now()),
            State::Open | State::Ended(_) => None,
        }
    }

    /// Returns true if the world reads for this side.
    pub fn is_polled(&self) -> bool {
        matches!(self.state, State::Opening(_) | State::Accepting(_))
            || matches!(self.state, State::Ended(End::Handshake(_)))
    }

    fn finish(&mut self, end: End) {
        self.state = State::Ended(end);
        self.ended_at = Some(clock::now());
    }

    /// Processes the received part of the handshake, and opens the link at its end.
    pub fn receive(&mut self, around: &mut Around<'_>) {
        while self.is_polled() {
            let Some(bytes) = around.back.lock().arrive(clock::now()) else {
                return;
            };
            self.cutter.hold(&bytes);
            while self.is_polled()
                && let Some(batch) = self.cutter.next_whole()
            {
                self.receive_batch(&batch, around);
            }
        }
    }

    fn receive_batch(&mut self, batch: &[u8], around: &mut Around<'_>) {
        let mut bytes = Vec::new();
        let result = match &mut self.state {
            State::Opening(opener) => match opener.handle_batch(batch, &mut bytes) {
                Ok(OpenStep::Continue) => Ok(None),
                Ok(OpenStep::Done(established)) => Ok(Some(established)),
                Err(error) => Err(error),
            },
            State::Accepting(acceptor) => match acceptor.handle_batch(batch, &mut bytes) {
                Ok(AcceptStep::Continue) => Ok(None),
                Ok(AcceptStep::Admit(established)) => {
                    acceptor.admit(&mut bytes);
                    Ok(Some(established))
                }
                Err(error) => Err(error),
            },
            State::Open | State::Ended(_) => return,
        };
        if !bytes.is_empty() {
            around.out.lock().send(clock::now(), &bytes);
        }
        match result {
            Ok(None) => self.step_deadline = clock::now() + STEP_TIMEOUT,
            Ok(Some(established)) => self.open(established, around),
            Err(error) => self.finish(End::Handshake(error)),
        }
    }

    /// Starts outbox and driver.
    fn open(&mut self, established: Established, around: &mut Around<'_>) {
        let now = clock::now();
        let framing = established.options.framing();
        let (out, back) = (around.out, around.back);
        let beside = self.manner.beside.then(|| Beside {
            executor: around.executor.clone(),
            pipes: [out.clone(), back.clone()],
        });
        let direct = self.manner.direct.then(|| {
            DirectSocket::Simulated(Arc::new(Socket {
                out: out.clone(),
                back: back.clone(),
                beside,
            }))
        });
        let outbox = Arc::new(Outbox::new(&established, QUEUE_BYTES_MAX, direct));
        let (lease, divisor) = (self.local.lease, self.local.keep_alive_divisor);
        let halves = (Reader(back.clone()), Writer(out.clone()));
        let runtime = around.executor.on(self.index, halves);
        let drive = Drive {
            // The driver passes it to the runtime, which replaces it by the simulated one.
            stream: Descriptor::new(Domain::IPV4, Type::STREAM, None)
                .expect("a descriptor")
                .into(),
            unread: self.cutter.rest().to_vec(),
            receiver: Receiver::new(&established, self.local.message_size_max),
            timers: Timers::new(now, lease, divisor, established.remote_lease),
            outbox: Arc::clone(&outbox),
        };
        let pauses = self.manner.pauses.then(|| around.rng.fork());
        let handler = Hearing {
            recorder: Arc::clone(&self.recorder),
            executor: around.executor.clone(),
            message_size_max: self.local.message_size_max,
            pauses,
            is_pausing: false,
        };
        driver::spawn(&runtime, drive, handler);
        if framing == Framing::Bare {
            out.lock().be_bare();
        }
        self.recorder().qos_agreed = established.qos;
        self.contents = Contents::new(framing);
        if self.checks_with_oracle && framing != Framing::Bare {
            let (sn, mask) = (established.initial_sn_rx, established.sn_mask);
            let max = self.local.message_size_max;
            self.oracle = Some(Oracle::new(sn, mask, established.patch, max));
        }
        self.outbox = Some(outbox);
        self.established = Some(established);
        self.opened_at = Some(now);
        self.state = State::Open;
    }

    /// Performs the work that is due: the end of a handshake that takes too long, senders, the
    /// close.
    pub fn act(&mut self, around: &mut Around<'_>) {
        let step = match &self.state {
            State::Opening(opener) => opener.step(),
            State::Accepting(acceptor) => acceptor.step(),
            State::Open => return self.act_open(around),
            State::Ended(_) => return,
        };
        if clock::now() >= self.step_deadline {
            self.finish(End::Handshake(HandshakeError::Timeout { step }));
        }
    }

    fn act_open(&mut self, around: &mut Around<'_>) {
        let Some(outbox) = &self.outbox else { return };
        if !self.outgoing.is_empty() {
            self.pending.store(self.outgoing.len(), Ordering::Relaxed);
            let senders = around.rng.between(1, 4) as usize;
            for number in 0..senders {
                let of_sender = |(_, note): &&(Instant, Note)| note.channel % senders == number;
                let sender = Sender {
                    outbox: Arc::clone(outbox),
                    executor: around.executor.clone(),
                    rng: around.rng.fork(),
                    notes: self.outgoing.iter().filter(of_sender).copied().collect(),
                    pending: Arc::clone(&self.pending),
                    sent: Arc::clone(&self.sent),
                    blocks: self.manner.blocks,
                };
                around.executor.spawn("sender", move || sender.run());
            }
            self.outgoing.clear();
        }
        if self.closes && self.is_unburdened() {
            self.closes = false;
            outbox.close(0, clock::now() + CLOSE_MAX);
        }
    }

    /// Checks the state after an event.
    pub fn look(&mut self, around: &mut Around<'_>) {
        let Some(outbox) = self.outbox.clone() else {
            return;
        };
        for (at, batch) in std::mem::take(&mut around.out.lock().departed) {
            self.batch_times.push(at);
            if let Some(plain) = self.contents.plain(&batch) {
                self.ledger.enter(&plain);
            }
        }
        let read = std::mem::take(&mut around.back.lock().read);
        if let Some(oracle) = &mut self.oracle {
            for batch in self.cutter.take(&read) {
                oracle.take(&self.contents.plain(&batch).expect("undamaged"));
            }
        }
        if self.is_open() {
            self.check_queues(&outbox);
            if let Some(ended) = outbox.ended() {
                self.finish(End::Link(ended.clone()));
            } else {
                self.check_right_to_write(&outbox, around);
            }
        }
    }

    /// Checks that each lane holds at most its limit, an admitted message above it, and messages of
    /// the link itself.
    fn check_queues(&self, outbox: &Outbox) {
        let batch = self.established.as_ref().map_or(0, |link| link.batch_size);
        let message = usize::from(batch) + 33_000 + 4096;
        let most = Priority::ALL.len() * (QUEUE_BYTES_MAX + message);
        assert!(outbox.queued_bytes() <= most, "queues are bounded");
    }

    /// Checks that a thread will write the unwritten messages when only the time can cause the next
    /// event: the driver, which waits for the full socket, or looks again within a moment.
    fn check_right_to_write(&self, outbox: &Outbox, around: &Around<'_>) {
        if !outbox.has_unsent() || around.out.lock().is_awaited() {
            return;
        }
        let looks_at = around.executor.next_timer_of(WRITING_TASK, self.index);
        let soon = clock::now() + Duration::from_millis(1);
        assert!(
            looks_at.is_some_and(|at| at <= soon),
            "a message waits, and nobody is to write it: {self:?}"
        );
    }
}

fn numbers(notes: &[Note], channel: usize) -> Vec<u32> {
    let of_channel = notes.iter().filter(|note| note.channel == channel);
    of_channel.map(|note| note.number).collect()
}

/// Handler that checks and keeps the messages that arrive.
struct Hearing {
    recorder: Arc<Mutex<Recorder>>,
    executor: Executor,
    message_size_max: usize,
    pauses: Option<Rng>,
    is_pausing: bool,
}

impl Hearing {
    fn maybe_pause(&mut self) {
        if let Some(rng) = &mut self.pauses {
            self.is_pausing |= rng.per_mille(50);
        }
    }
}

impl Deliver for Hearing {
    fn push(&mut self, push: &Push<'_>, raw_body: &[u8], context: &Context<'_>) {
        self.recorder.lock().push(push, raw_body, context);
        self.maybe_pause();
    }

    fn message(&mut self, message: NetworkMessage<'_>, context: &Context<'_>) {
        self.recorder.lock().message(message, context);
        self.maybe_pause();
    }

    fn wants_pause(&self) -> bool {
        self.is_pausing
    }
}

impl Handler for Hearing {
    fn burst_end(&mut self) -> impl Future<Output = ()> + Send {
        let is_pausing = std::mem::take(&mut self.is_pausing);
        let pause = is_pausing.then(|| self.pauses.as_mut().map_or(0, |rng| rng.below(2000)));
        let executor = self.executor.clone();
        async move {
            if let Some(pause) = pause {
                let until = clock::now() + Duration::from_micros(pause);
                executor.sleep_until(until).await;
            }
        }
    }

    fn received(&mut self, receiver: &Receiver) {
        let max = self.message_size_max;
        self.recorder.lock().look(receiver, max);
    }

    fn closed(&mut self, _ended: Ended) {}
}

/// Returns the parameters of a simulated node.
pub fn node(zid: u128, whatami: WhatAmI, lease: Duration) -> LocalParameters {
    let zid = zonda_codec::ZenohId::random_from(zid);
    LocalParameters {
        lease,
        // Far below a node's default, so that every message arrives in many pieces.
        batch_size_min: BATCH_SIZE_MIN,
        ..LocalParameters::new(zid, whatami)
    }
}
