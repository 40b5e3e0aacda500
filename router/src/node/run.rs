// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a connection's reading task does with messages that are alike but for payload and time: one look at the route,
//! one lock of each neighbour's lane, and the head of the copies is written once for all of them.

use std::sync::Arc;

use zonda_codec::{
    CongestionControl, Encode, EncodeError, Push, PushBody, PushRun, Put, Qos, WireExpr, Writer,
};
use zonda_transport::{
    outbox::{Overflow, Queue, RunQueued},
    protocol::{
        rx::Context,
        tx::{Outgoing, Tail},
    },
};

use super::{
    Delivery,
    inbound::Burst,
    publish::call,
    route::{Hop, Route},
    shared::Shared,
};

/// Room for a neighbour's key id, the QoS and the headers around them: eight bytes at most.
const ID_FRONT_BYTES_MAX: usize = 16;

/// Room for all that with a text of usual length behind the id.
const TEXT_FRONT_BYTES_MAX: usize = 64;

/// Room for the id of a clock and its length: 17 bytes at most.
const CLOCK_BYTES_MAX: usize = 24;

/// A few bytes that are the same in each message, in a buffer of fixed size: it is copied without a look at the length.
struct Fixed<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Fixed<N> {
    /// `None` if they are too many.
    fn new(write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>) -> Option<Self> {
        let mut bytes = [0; N];
        let mut writer = Writer::new(&mut bytes);
        write(&mut writer).ok()?;
        let len = writer.position();
        Some(Fixed { bytes, len })
    }

    #[inline(always)]
    fn write(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.front_of(&self.bytes, self.len)
    }
}

/// The timestamps that this node gives to a run.
struct Clock {
    /// The header byte of a body with a timestamp.
    header: u8,
    first: u64,
    id: Fixed<CLOCK_BYTES_MAX>,
}

/// The beginning of a copy, field by field.
struct Beginning<'a> {
    wire_expr: WireExpr<'a>,
    qos: Qos,
    /// The header byte of the body, if this node's timestamp follows it.
    header: Option<u8>,
}

impl Encode for Beginning<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            Push::encode_head(&self.wire_expr, self.qos, 0, writer)?;
            self.header.map_or(Ok(()), |header| writer.u8(header))
        })
    }
}

/// What the copies for one neighbour begin with: up to the body, and with a clock its header byte as well.
enum Lead {
    /// The key is an id.
    Id(Fixed<ID_FRONT_BYTES_MAX>),
    /// The key is a text.
    Text(Fixed<TEXT_FRONT_BYTES_MAX>),
    /// The key is a long text.
    Long(Vec<u8>),
}

impl Lead {
    /// `None` if it has no form.
    fn new(beginning: &Beginning<'_>) -> Option<Lead> {
        let write = |writer: &mut Writer<'_>| beginning.encode(writer);
        Fixed::new(write)
            .map(Lead::Id)
            .or_else(|| Fixed::new(write).map(Lead::Text))
            .or_else(|| beginning.to_vec().ok().map(Lead::Long))
    }

    #[inline(always)]
    fn write(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        match self {
            Lead::Id(fixed) => fixed.write(writer),
            Lead::Text(fixed) => fixed.write(writer),
            Lead::Long(bytes) => writer.bytes(bytes),
        }
    }
}

/// What the copies for one neighbour begin with.
struct Front<'a> {
    lead: Lead,
    clock: Option<&'a Clock>,
}

/// One copy, up to its payload.
struct Copy<'a> {
    front: &'a Front<'a>,
    /// What comes after the front, and after the timestamp if there is one.
    rest: &'a [u8],
    /// Its place in the run.
    number: u64,
}

impl Encode for Copy<'_> {
    #[inline(always)]
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            self.front.lead.write(writer)?;
            if let Some(clock) = self.front.clock {
                writer.vle_long(clock.first.saturating_add(self.number))?;
                clock.id.write(writer)?;
            }
            match self.rest {
                [length] => writer.u8(*length),
                rest => writer.bytes(rest),
            }
        })
    }
}

/// Messages like `push`, on their way through this node.
pub(super) struct Alike<'r, 'a> {
    pub(super) push: &'r Push<'a>,
    pub(super) context: &'r Context<'r>,
    pub(super) shared: &'r Shared,
}

/// Who gives the timestamps of a run.
enum Stamps {
    /// They stay as they are, or stay away.
    Theirs,
    /// This node.
    Ours(Clock),
}

impl Stamps {
    fn clock(&self) -> Option<&Clock> {
        match self {
            Stamps::Theirs => None,
            Stamps::Ours(clock) => Some(clock),
        }
    }
}

impl<'a> Alike<'_, 'a> {
    /// Queues the messages of `run` for every neighbour on the route. If they need more than a new head they are left in
    /// it.
    pub(super) fn forward(&self, route: &Route, run: &mut PushRun<'a>, burst: &mut Burst) {
        let simple = self.push.timestamp.is_none() && self.push.ts_stack.is_none();
        let Some(stamps) = simple.then(|| self.stamps(run, burst)).flatten() else {
            return;
        };
        let clock = stamps.clock();
        let before = run.left();
        let mut end = None;
        for hop in &route.remote {
            let mut copies = run.clone();
            if let Some(front) = self.front(hop, clock)
                && self.queue(hop, &front, &mut copies, burst)
            {
                end = Some(copies);
            }
        }
        match end {
            Some(end) => *run = end,
            // Nobody took all of them.
            None => run.by_ref().for_each(drop),
        }
        burst.worked((before - run.left()) * route.remote.len());
    }

    /// Gives the messages of `run` to the subscribers of a route that leads to them alone. They come one by one, so that a
    /// change of the routes is seen by the next: what is left is on other ways.
    pub(super) fn deliver(&self, route: &Arc<Route>, run: &mut PushRun<'a>, burst: &mut Burst) {
        let mut push = *self.push;
        let before = run.left();
        while self.shared.generation() == route.generation {
            let Some(again) = run.next() else { break };
            again.write_to(&mut push);
            let delivery = Delivery {
                key: &route.key,
                push: &push,
                block: self.context.block,
                reliability: self.context.reliability,
            };
            call(burst.open(route), &delivery);
        }
        burst.worked((before - run.left()) * route.local.len());
    }

    /// `None` if some message has a timestamp that this node does not accept.
    fn stamps(&self, run: &PushRun<'a>, burst: &mut Burst) -> Option<Stamps> {
        let shared = self.shared;
        if !shared.stamps {
            return Some(Stamps::Theirs);
        }
        let mut latest = None;
        if self.is_stamped() {
            latest = run.clone().filter_map(|again| again.timestamp).max();
        }
        if let Some(latest) = latest {
            // The others are not later, and that is all that matters to the clock.
            shared.clock.update(burst.now(), &latest).ok()?;
            return Some(Stamps::Theirs);
        }
        let first = shared.clock.new_times(burst.now(), run.left() as u64).0;
        let header = *run.clone().next()?.raw_body.first()? | Put::FLAG_TIMESTAMP;
        let id = Fixed::new(|writer| shared.clock.id().write_sized(writer))?;
        Some(Stamps::Ours(Clock { header, first, id }))
    }

    fn is_stamped(&self) -> bool {
        matches!(&self.push.body, PushBody::Put(put) if put.timestamp.is_some())
    }

    /// What the copies for `hop` begin with; `None` if that has no form.
    fn front<'c>(&self, hop: &Hop, clock: Option<&'c Clock>) -> Option<Front<'c>> {
        let lead = Lead::new(&Beginning {
            wire_expr: hop.wire_expr(),
            qos: self.push.qos,
            header: clock.map(|clock| clock.header),
        })?;
        Some(Front { lead, clock })
    }

    /// Queues `copies` for one neighbour. `false` if not all of them were looked at.
    fn queue(
        &self,
        hop: &Hop,
        front: &Front<'_>,
        copies: &mut PushRun<'a>,
        burst: &mut Burst,
    ) -> bool {
        let qos = self.push.qos;
        let overflow = match qos.congestion_control() {
            CongestionControl::Block => Overflow::Keep,
            CongestionControl::BlockFirst => Overflow::KeepFirst,
            CongestionControl::Drop => Overflow::Drop,
        };
        let mut whole = false;
        let queued = hop.outbox.push_run(qos.priority(), overflow, |queue| {
            whole = self.fill(queue, front, copies);
        });
        if let RunQueued::Some { has_room, sealed } = queued {
            if sealed {
                // A batch is written while the processor still has it at hand, not when all have been made.
                hop.outbox.flush();
            }
            if overflow == Overflow::Keep && !has_room {
                burst.congest(&hop.outbox, qos.priority());
            }
            burst.touch(&hop.outbox);
        }
        whole
    }

    #[inline(always)]
    fn fill(&self, queue: &mut Queue<'_>, front: &Front<'_>, copies: &mut PushRun<'a>) -> bool {
        let skip = usize::from(front.clock.is_some());
        for (number, again) in (0..).zip(copies) {
            let head = again.raw_body.len().saturating_sub(again.payload.len());
            let rest = again.raw_body.get(skip..head).unwrap_or(&[]);
            let message = Outgoing {
                reliability: self.context.reliability,
                head: &Copy {
                    front,
                    rest,
                    number,
                },
                payload: Tail::Part {
                    block: self.context.block,
                    part: again.payload,
                },
            };
            if !queue.push(&message) {
                return false;
            }
        }
        true
    }
}
