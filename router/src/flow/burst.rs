// SPDX-License-Identifier: MIT OR Apache-2.0

//! What one read's worth of messages leaves to do at its end.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use zonda_codec::{Ntp64, Priority};

use crate::{
    flow::{
        backpressure::Allowance, congestion::Load, deliver::Downstream, publish::let_go,
        receiving::Opened, route::Route,
    },
    node::clock::ntp64_now,
    query::{After, OpenQuery},
};

/// What one read's worth of messages leaves to do.
#[derive(Default)]
pub(crate) struct Burst {
    /// What is to be written, and the lanes that went over their limits.
    pub(crate) downstream: Downstream,
    /// Questions of this node's own whose callbacks do not keep up: the source waits for them before the next read.
    pub(crate) crowded: Vec<Arc<OpenQuery>>,
    /// The clock, read once per burst.
    pub(crate) now: Option<Ntp64>,
    /// The subscribers of the route that was used last, opened once for all its messages of the burst.
    opened: Vec<Opened>,
    /// The address of that route.
    opened_for: usize,
    /// Room to write the messages of a run once for several neighbours, if there are such.
    pub(crate) paper: Vec<u8>,
    /// Messages handed on since the last pause, and [`WORK_MAX`] once anything else took too long.
    pub(crate) work: usize,
    /// When the first message came that takes time of its own.
    pub(crate) busy_since: Option<Instant>,
    /// What this source may have declared to others before it waits for those who do not keep up.
    pub(crate) allowance: Allowance,
}

/// Messages handed on, counted for each who gets them, before other tasks have their turn.
pub(crate) const WORK_MAX: usize = 16_384;

/// How long questions to the table and changes of it may take together before other tasks have their turn.
const BUSY_MAX: Duration = Duration::from_millis(2);

impl Burst {
    /// The subscribers of `route`.
    #[inline]
    pub(crate) fn open(&mut self, route: &Arc<Route>) -> &[Opened] {
        let address = Arc::as_ptr(route) as usize;
        if self.opened_for != address {
            self.close();
            self.opened
                .extend(route.local.iter().filter_map(|sink| sink.open()));
            self.opened_for = address;
        }
        &self.opened
    }

    /// Lets go of the subscribers. Also needed before a route may be dropped: another could get its address.
    pub(crate) fn close(&mut self) {
        let_go(&mut self.opened);
        self.opened_for = 0;
    }

    pub(crate) fn now(&mut self) -> Ntp64 {
        *self.now.get_or_insert_with(ntp64_now)
    }

    /// Notes that more answers wait for a callback than should.
    pub(crate) fn crowd(&mut self, query: &Arc<OpenQuery>) {
        if !self.crowded.iter().any(|known| Arc::ptr_eq(known, query)) {
            self.crowded.push(Arc::clone(query));
        }
    }

    /// Does what a change of the state leaves to do; what must be written waits for the end of the burst.
    pub(crate) fn follow(&mut self, after: After) {
        self.downstream.touched.add_all(&after.touched);
        after.run();
    }

    /// The same after a declaration or an interest. A source that has much declared waits for the neighbours that do not
    /// keep up with it.
    pub(crate) fn follow_declaration(&mut self, after: After) {
        let declared = &after.declared;
        if self.allowance.spend(declared.bytes) && !declared.full.is_empty() {
            for outbox in &declared.full {
                let control = Priority::Control;
                let congestion = &mut self.downstream.congestion;
                congestion.note(outbox, control, Load::Declarations);
            }
        }
        self.follow(after);
    }

    /// Counts messages handed on.
    pub(crate) fn worked(&mut self, count: usize) {
        self.work += count;
    }

    /// Before something that takes time of its own. The clock is read for these only, never for a message on a known route.
    pub(crate) fn begin_work(&mut self) {
        self.busy_since.get_or_insert_with(Instant::now);
    }

    /// After it.
    pub(crate) fn end_work(&mut self) {
        if self
            .busy_since
            .is_some_and(|since| since.elapsed() >= BUSY_MAX)
        {
            self.work = WORK_MAX;
        }
    }
}
