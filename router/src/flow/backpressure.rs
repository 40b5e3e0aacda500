// SPDX-License-Identifier: MIT OR Apache-2.0

//! Back-pressure: a source pauses for the neighbours whose queues it fills, all of them at the same
//! time, and only while each of them keeps pace.
//!
//! Messages under `Block` go into a neighbour's lane beyond its limit. The source then pauses for
//! [`MOMENT`], in which a neighbour that keeps up makes room. For a neighbour that does not keep
//! up, the outbox parks the messages, up to `isolation/backlog_bytes`, while the source continues.
//! Beyond that the source waits, and the neighbour uses up its stall budget
//! ([`Isolation`](zonda_transport::protocol::patience::Isolation)) unless it keeps pace, because
//! other nodes wait behind the source. Where the source has nothing for any other node, the
//! neighbour only has to make progress. One large message may be more than a neighbour takes in a
//! second at the required pace: after a tenth of a second the source continues with its next
//! messages, so that its other neighbours get them, and waits again; up to four backlogs.

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
    node::{shared::Shared, state::State},
    table::{FaceId, Recipients},
};

/// Pause of a source for a lane over its limit before the outbox parks the messages.
const MOMENT: Duration = Duration::from_millis(5);

/// Interval at which waiting sources check a neighbour's pace.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Bytes of declarations that a source may cause at once before it has to wait for slow neighbours.
const ALLOWANCE_BYTES: usize = 256 * 1024;

/// Bytes of declarations per second that a source may cause once [`ALLOWANCE_BYTES`] are spent.
const ALLOWANCE_RATE: f64 = 64.0 * 1024.0;

/// Recent declarations that a source has caused. A source that declares little need not wait for a
/// neighbour that another source has flooded.
#[derive(Default)]
pub(crate) struct Allowance {
    spent: usize,
    since: Option<Instant>,
}

impl Allowance {
    /// Adds bytes of declarations; returns true if they exceed the allowance.
    pub(crate) fn spend(&mut self, bytes: usize) -> bool {
        self.spent = self.spent.saturating_add(bytes);
        if self.spent <= ALLOWANCE_BYTES {
            return false;
        }
        // refill by the time since the last excess
        let now = Instant::now();
        let since = self.since.replace(now);
        let idle = since.map_or(Duration::MAX, |since| now - since);
        let refilled = idle.as_secs_f64() * ALLOWANCE_RATE;
        self.spent = self.spent.saturating_sub(refilled as usize).max(bytes);
        self.spent > ALLOWANCE_BYTES
    }
}

/// Wait of a source for a neighbour, which has to meet a higher demand once other neighbours wait
/// behind the same source.
struct Wait<'a> {
    demand: Demand,
    waiting: Waiting<'a>,
}

impl<'a> Wait<'a> {
    fn new(outbox: &'a Outbox, demand: Demand) -> Self {
        let waiting = outbox.begin_wait(demand);
        Wait { demand, waiting }
    }

    /// Gives the neighbour up if its stall budget under `demand` is used up; returns true if so.
    fn gives_up(&mut self, outbox: &'a Outbox, demand: Demand) -> bool {
        if demand != self.demand {
            *self = Wait::new(outbox, demand);
        }
        let is_over = self.waiting.look(Instant::now());
        if is_over {
            outbox.give_up();
        }
        is_over
    }
}

/// Neighbour that a source waits for.
struct Awaited<'a> {
    full: &'a Full,
    wait: Wait<'a>,
    _watching: Watching<'a>,
}

impl<'a> Awaited<'a> {
    fn new(full: &'a Full, demand: Demand) -> Self {
        Awaited {
            full,
            wait: Wait::new(&full.outbox, demand),
            _watching: full.outbox.watch(),
        }
    }
}

/// Pauses `source`, the neighbour behind `own`, until every neighbour that it overwhelms has
/// room again or is given up, or until `source` itself is gone. The pause does not count as
/// silence of the source.
pub(crate) async fn ease(shared: &Shared, congestion: Congestion, source: FaceId, own: &Outbox) {
    let _held = own.hold_reader();
    let Congestion(mut full) = congestion;
    pause_for_a_moment(shared, &full).await;
    // neighbours that keep up make room at once
    let begin = Instant::now();
    full.retain(|full| !full.lets_go_on_after(Duration::ZERO, Demand::Progress));
    let demands = demands_of(shared, source, full.iter());
    let awaited = full.iter().zip(demands);
    // only neighbours beyond their backlog use up their stall budgets
    let mut awaited: Vec<_> = awaited
        .map(|(full, demand)| Awaited::new(full, demand))
        .collect();
    loop {
        let outboxes = awaited.iter().map(|awaited| &*awaited.full.outbox);
        let mut changes: Vec<_> = outboxes.chain([own]).map(Outbox::listen_room).collect();
        let waited = begin.elapsed();
        // listen before the check, so that no change is missed
        awaited.retain(|awaited| {
            let demand = awaited.wait.demand;
            !awaited.full.lets_go_on_after(waited, demand)
        });
        if awaited.is_empty() || own.is_closed() || own.is_closing() {
            return;
        }
        let demands = demands_of(shared, source, awaited.iter().map(|awaited| awaited.full));
        for (awaited, demand) in awaited.iter_mut().zip(demands) {
            awaited.wait.gives_up(&awaited.full.outbox, demand);
        }
        // a single slow neighbour must make progress only; the demand grows with the nodes that
        // wait behind the source
        let look = Instant::now() + LOOK_EVERY;
        shared.until(look, any(&mut changes)).await;
    }
}

/// Returns the demand that a source makes of each neighbour that it has filled.
fn demands_of<'f>(
    shared: &Shared,
    source: FaceId,
    full: impl Iterator<Item = &'f Full>,
) -> Vec<Demand> {
    let state = shared.state.lock();
    let takers = state.table.takers_beside(source);
    full.map(|full| match full.load.demand() {
        Demand::Pace if state.is_alone(takers, &full.outbox) => Demand::Progress,
        demand => demand,
    })
    .collect()
}

/// Waits [`MOMENT`] for lanes that have just exceeded their limit; begins to park the messages
/// of neighbours that make no room in that time.
async fn pause_for_a_moment(shared: &Shared, full: &InOrder<Full>) {
    let now = Instant::now();
    for full in full.iter() {
        if full.outbox.is_parking() {
            full.outbox.note_congested(now);
            continue;
        }
        let moment = MOMENT.min(full.outbox.stall_left());
        if !room_until(shared, &full.outbox, full.priority, now + moment).await {
            full.outbox.begin_parking();
            full.outbox.note_congested(now);
        }
    }
}

/// Waits until a lane has room or its connection is closed (true), at most until `deadline`.
async fn room_until(
    shared: &Shared,
    outbox: &Outbox,
    priority: Priority,
    deadline: Instant,
) -> bool {
    let room = async {
        loop {
            let room = outbox.listen_room();
            if outbox.has_room(priority) {
                return;
            }
            room.await;
        }
    };
    shared.until(deadline, room).await.is_some()
}

/// Blocks this node's own session until a lane has room or the connection is closed (true), at
/// most until `deadline`. A neighbour that does not keep pace is given up.
pub(crate) fn wait_for_room(
    shared: &Shared,
    outbox: &Outbox,
    priority: Priority,
    deadline: Instant,
) -> bool {
    let mut patience = Patience::of(shared, outbox, deadline);
    loop {
        if outbox.wait_room(priority, patience.next_look()) {
            return true;
        }
        if patience.is_over() {
            return false;
        }
    }
}

/// Waits asynchronously, otherwise like [`wait_for_room`](wait_for_room).
pub(crate) async fn room_by(
    shared: &Shared,
    outbox: &Outbox,
    priority: Priority,
    deadline: Instant,
) -> bool {
    let mut patience = Patience::of(shared, outbox, deadline);
    loop {
        let look = patience.next_look();
        if room_until(shared, outbox, priority, look).await {
            return true;
        }
        if patience.is_over() {
            return false;
        }
    }
}

/// Returns the demand that this node's own session makes of a neighbour that it waits for.
fn own_demand(shared: &Shared, outbox: &Outbox) -> Demand {
    let state = shared.state.lock();
    let takers = || state.table.takers_beside(shared.local);
    match state.faces.len() < 2 || state.is_alone(takers(), outbox) {
        true => Demand::Progress,
        false => Demand::Pace,
    }
}

impl State {
    /// Returns true if no node waits but the one behind `outbox`.
    fn is_alone(&self, takers: Recipients, outbox: &Outbox) -> bool {
        match takers {
            Recipients::None => true,
            Recipients::One(face) => {
                let face = self.faces.get(&face);
                face.is_some_and(|face| std::ptr::eq(&*face.outbox, outbox))
            }
            Recipients::Several => false,
        }
    }
}

/// Time for which this node's own session waits for a neighbour.
struct Patience<'a> {
    shared: &'a Shared,
    outbox: &'a Outbox,
    wait: Wait<'a>,
    deadline: Instant,
}

impl<'a> Patience<'a> {
    fn of(shared: &'a Shared, outbox: &'a Outbox, deadline: Instant) -> Self {
        Patience {
            shared,
            outbox,
            wait: Wait::new(outbox, own_demand(shared, outbox)),
            deadline,
        }
    }

    fn next_look(&self) -> Instant {
        self.deadline.min(Instant::now() + LOOK_EVERY)
    }

    /// Gives the neighbour up if its stall budget is used up; otherwise returns true if the
    /// deadline has passed.
    fn is_over(&mut self) -> bool {
        let demand = own_demand(self.shared, self.outbox);
        !self.wait.gives_up(self.outbox, demand) && Instant::now() >= self.deadline
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
