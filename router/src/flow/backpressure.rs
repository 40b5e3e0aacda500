// SPDX-License-Identifier: MIT OR Apache-2.0

//! Back-pressure: a source pauses for the neighbours whose queues it fills, all of them at the same time, and only while
//! each of them keeps pace.
//!
//! Messages under `Block` go into a neighbour's lane beyond its limit. The source then pauses for [`MOMENT`], in which a
//! neighbour that keeps up makes room. One that does not has its messages parked, up to `isolation/backlog_bytes`, while the
//! source goes on. Beyond that the source waits, and the neighbour uses up its stall budget
//! ([`Isolation`](zonda_transport::protocol::patience::Isolation)) unless it keeps pace. One large message may be more than
//! a neighbour takes in a second at the pace it has to keep: after a tenth of a second the source goes on with what it has
//! next, so that its other neighbours hear of it, and waits again; up to four backlogs.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
    time::{Duration, Instant},
};

use zonda_codec::Priority;
use zonda_transport::{
    outbox::{Outbox, RoomListener, Waiting, Watching},
    protocol::patience::Demand,
};

use crate::{
    flow::{
        congestion::{Congestion, Full},
        outboxes::InOrder,
    },
    node::shared::Shared,
};

/// How long a source pauses for a lane over its limit before it parks what it has for it.
const MOMENT: Duration = Duration::from_millis(5);

/// How often waiting sources look at a neighbour's pace.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Bytes of declarations that a source may cause at once before it has to wait for neighbours that do not keep up.
const ALLOWANCE_BYTES: usize = 256 * 1024;

/// Bytes of declarations that it may cause per second from then on.
const ALLOWANCE_RATE: f64 = 64.0 * 1024.0;

/// How much a source has had declared of late. One that declares little need not wait for a neighbour that another source
/// has flooded.
#[derive(Default)]
pub(crate) struct Allowance {
    spent: usize,
    since: Option<Instant>,
}

impl Allowance {
    /// Notes bytes of declarations; true if they are more than is free.
    pub(crate) fn spend(&mut self, bytes: usize) -> bool {
        self.spent = self.spent.saturating_add(bytes);
        if self.spent <= ALLOWANCE_BYTES {
            return false;
        }
        let now = Instant::now();
        let since = self.since.replace(now);
        let idle = since.map_or(Duration::MAX, |since| now - since);
        let refilled = idle.as_secs_f64() * ALLOWANCE_RATE;
        self.spent = self.spent.saturating_sub(refilled as usize).max(bytes);
        self.spent > ALLOWANCE_BYTES
    }
}

/// A neighbour that a source waits for.
struct Awaited<'a> {
    full: &'a Full,
    waiting: Waiting<'a>,
    _watching: Watching<'a>,
}

impl<'a> Awaited<'a> {
    fn new(full: &'a Full) -> Self {
        Awaited {
            full,
            waiting: full.outbox.begin_wait(full.load.demand()),
            _watching: full.outbox.watch(),
        }
    }
}

impl Shared {
    /// Pauses the source behind `own` until every neighbour that it overwhelms has room again or is given up, or until
    /// the source itself is gone. The source is not judged silent meanwhile.
    pub(crate) async fn ease(&self, congestion: Congestion, own: &Outbox) {
        let _held = own.hold_reader();
        let Congestion(mut full) = congestion;
        self.pause_for_a_moment(&full).await;
        let begin = Instant::now();
        full.retain(|full| !full.lets_go_on_after(Duration::ZERO));
        let mut awaited: Vec<_> = full.iter().map(Awaited::new).collect();
        loop {
            let outboxes = awaited.iter().map(|awaited| &*awaited.full.outbox);
            let mut changes: Vec<_> = outboxes.chain([own]).map(Outbox::listen_room).collect();
            let waited = begin.elapsed();
            awaited.retain(|awaited| !awaited.full.lets_go_on_after(waited));
            if awaited.is_empty() || own.is_closed() || own.is_closing() {
                return;
            }
            let now = Instant::now();
            for awaited in &awaited {
                if awaited.waiting.look(now) {
                    awaited.full.outbox.give_up();
                }
            }
            self.until(now + LOOK_EVERY, any(&mut changes)).await;
        }
    }

    /// Gives lanes that have just gone over their limit the time that a neighbour needs that keeps up.
    async fn pause_for_a_moment(&self, full: &InOrder<Full>) {
        let now = Instant::now();
        for full in full.iter() {
            if full.outbox.is_parking() {
                full.outbox.note_congested(now);
                continue;
            }
            let moment = MOMENT.min(full.outbox.stall_left());
            if !self
                .room_until(&full.outbox, full.priority, now + moment)
                .await
            {
                full.outbox.begin_parking();
                full.outbox.note_congested(now);
            }
        }
    }

    /// Waits, at most until `deadline`, until a lane has room or its connection is closed (true).
    async fn room_until(&self, outbox: &Outbox, priority: Priority, deadline: Instant) -> bool {
        let room = async {
            loop {
                let room = outbox.listen_room();
                if outbox.has_room(priority) {
                    return;
                }
                room.await;
            }
        };
        self.until(deadline, room).await.is_some()
    }

    /// Has this node's own session wait for room in a lane, at most until `deadline`; true if there is room or the connection
    /// is closed. A neighbour that does not keep pace is given up meanwhile.
    ///
    /// # Blocking
    /// The calling thread, until then.
    pub(crate) fn wait_for_room(
        &self,
        outbox: &Outbox,
        priority: Priority,
        deadline: Instant,
    ) -> bool {
        let patience = Patience::of(self, outbox, deadline);
        loop {
            if outbox.wait_room(priority, patience.next_look()) {
                return true;
            }
            if patience.is_over() {
                return false;
            }
        }
    }

    /// The same by waker.
    pub(crate) async fn room_by(
        &self,
        outbox: &Outbox,
        priority: Priority,
        deadline: Instant,
    ) -> bool {
        let patience = Patience::of(self, outbox, deadline);
        loop {
            let look = patience.next_look();
            if self.room_until(outbox, priority, look).await {
                return true;
            }
            if patience.is_over() {
                return false;
            }
        }
    }

    /// What this node's own session asks of a neighbour that it waits for. Where there is no other, nobody else waits.
    fn own_demand(&self) -> Demand {
        match self.state.lock().faces.len() {
            0 | 1 => Demand::Progress,
            _ => Demand::Pace,
        }
    }
}

/// How long this node's own session waits for a neighbour.
struct Patience<'a> {
    waiting: Waiting<'a>,
    deadline: Instant,
}

impl<'a> Patience<'a> {
    fn of(shared: &Shared, outbox: &'a Outbox, deadline: Instant) -> Self {
        Patience {
            waiting: outbox.begin_wait(shared.own_demand()),
            deadline,
        }
    }

    fn next_look(&self) -> Instant {
        self.deadline.min(Instant::now() + LOOK_EVERY)
    }

    /// Gives the neighbour up if it has used up its time; whether the deadline has passed otherwise.
    fn is_over(&self) -> bool {
        let now = Instant::now();
        if self.waiting.look(now) {
            self.waiting.outbox().give_up();
            return false;
        }
        now >= self.deadline
    }
}

/// Waits for the first of several events.
async fn any(events: &mut [RoomListener<'_>]) {
    poll_fn(|context| {
        let mut polled = events
            .iter_mut()
            .map(|event| Pin::new(event).poll(context).is_ready());
        match polled.any(|is_ready| is_ready) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
}
