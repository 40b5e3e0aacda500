// SPDX-License-Identifier: MIT OR Apache-2.0

//! Work that a reading task collects while it handles one read's worth of messages, and does at the
//! end.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use zonda_codec::{Ntp64, Priority};

use crate::{
    flow::{
        backpressure::Allowance, congestion::Load, deliver::EgressWork, publish::let_go,
        receiving::Opened, route::Route,
    },
    node::clock::ntp64_now,
    query::{After, OpenQuery},
};

/// Work collected during one read's worth of messages.
#[derive(Default)]
pub(crate) struct ReadCycle {
    /// Outboxes to flush, and the lanes that exceeded their limits.
    pub(crate) downstream: EgressWork,
    /// Queries of this node's own whose callbacks do not keep up: the source waits for them before
    /// the next read.
    pub(crate) crowded: Vec<Arc<OpenQuery>>,
    /// Current time, read from the clock once per burst.
    pub(crate) now: Option<Ntp64>,
    /// Subscribers of the route that was used last, opened once for all its messages of the burst.
    opened: Vec<Opened>,
    /// Address of the route of `opened`; 0 if there is none.
    opened_for: usize,
    /// Buffer in which the messages of a run are encoded once for several neighbours.
    pub(crate) paper: Vec<u8>,
    /// Messages forwarded since the last pause; set to [`WORK_MAX`] once other work has taken too
    /// long.
    pub(crate) work: usize,
    /// Start of the first work of this burst that is timed.
    pub(crate) busy_since: Option<Instant>,
    /// Start of a router's turn, once its messages have waited for a search or an answer.
    turn_since: Option<Instant>,
    /// Declarations that this source may still cause before it waits for slow neighbours.
    pub(crate) allowance: Allowance,
    /// True if the source sends for all nodes behind it.
    is_router: bool,
}

/// Number of messages forwarded, counted per destination, before the reading task yields to other
/// tasks.
pub(crate) const WORK_MAX: usize = 16_384;

/// Total time for queries and changes of the table before the reading task yields to other tasks.
const BUSY_MAX: Duration = Duration::from_millis(2);

/// [`BUSY_MAX`] for a router, and its time for searches and answers that its messages wait for. All
/// nodes behind it share one turn, and their messages one connection: what the turn does not reach
/// delays the messages behind it.
const ROUTER_BUSY_MAX: Duration = Duration::from_millis(16);

impl ReadCycle {
    /// Returns the read cycle of a router if `is_router`, else of another neighbour.
    pub(crate) fn of(is_router: bool) -> ReadCycle {
        ReadCycle {
            is_router,
            ..ReadCycle::default()
        }
    }

    /// Returns the subscribers of `route`, opened.
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

    /// Releases the subscribers. Callers must do so before a route may be dropped: another route
    /// could get its address.
    pub(crate) fn close(&mut self) {
        let_go(&mut self.opened);
        self.opened_for = 0;
    }

    pub(crate) fn now(&mut self) -> Ntp64 {
        *self.now.get_or_insert_with(ntp64_now)
    }

    /// Notes a query with too many replies waiting for its callback.
    pub(crate) fn crowd(&mut self, query: &Arc<OpenQuery>) {
        if !self.crowded.iter().any(|known| Arc::ptr_eq(known, query)) {
            self.crowded.push(Arc::clone(query));
        }
    }

    /// Runs the work that a change of the state returned; outboxes are flushed at the end of the
    /// burst.
    pub(crate) fn follow(&mut self, after: After) {
        self.downstream.touched.add_all(&after.touched);
        after.run();
    }

    /// Runs the work that a declaration or an interest returned. A source that has declared much
    /// waits for the neighbours that do not keep up with it.
    pub(crate) fn follow_declaration(&mut self, after: After) {
        let declared = &after.declared;
        if declared
            .most_bytes()
            .is_some_and(|bytes| self.allowance.spend(bytes))
        {
            for outbox in declared.behind() {
                let control = Priority::Control;
                let congestion = &mut self.downstream.congestion;
                congestion.note(outbox, control, Load::Declarations);
            }
        }
        self.follow(after);
    }

    /// Returns the kind of the answers to the source. A router does not ask for itself, and messages
    /// of other nodes are behind the queries that it passes on: a full backlog only makes it wait.
    pub(crate) fn load_of_answers(&self) -> Load {
        match self.is_router {
            true => Load::Declarations,
            false => Load::Answers,
        }
    }

    /// Counts forwarded messages.
    pub(crate) fn worked(&mut self, count: usize) {
        self.work += count;
    }

    /// Returns true if the reading task has to let other tasks run before it goes on with what its
    /// messages wait for. A router has a turn of [`ROUTER_BUSY_MAX`] for that, another neighbour one
    /// slice of work.
    pub(crate) fn ends_turn(&mut self) -> bool {
        if !self.is_router {
            return true;
        }
        let now = Instant::now();
        let since = *self.turn_since.get_or_insert(now);
        let is_over = self.work >= WORK_MAX || now.duration_since(since) >= ROUTER_BUSY_MAX;
        if is_over {
            self.turn_since = None;
        }
        is_over
    }

    /// Starts the timer for work that may take long. The clock is read for such work only, never
    /// for a message on a known route.
    pub(crate) fn begin_work(&mut self) {
        self.busy_since.get_or_insert_with(Instant::now);
    }

    /// Ends the burst's work if such work has taken [`BUSY_MAX`] in total, or a router's
    /// [`ROUTER_BUSY_MAX`].
    pub(crate) fn end_work(&mut self) {
        let most = match self.is_router {
            true => ROUTER_BUSY_MAX,
            false => BUSY_MAX,
        };
        if self.busy_since.is_some_and(|since| since.elapsed() >= most) {
            self.work = WORK_MAX;
        }
    }
}

#[cfg(test)]
mod tests {
    use zonda_codec::{ResponseFinal, ZSlice};
    use zonda_transport::protocol::{patience::Demand, tx::Tail};

    use super::*;
    use crate::flow::{congestion::Full, deliver::keep, outboxes::Outboxes, route::tests::outbox};

    /// A router searches for a turn before other tasks run, another neighbour for a slice.
    #[test]
    fn a_router_has_a_turn_for_what_its_messages_wait_for() {
        let mut router = ReadCycle::of(true);
        assert!(!router.ends_turn());
        router.turn_since = router.turn_since.map(|since| since - ROUTER_BUSY_MAX);
        assert!(router.ends_turn() && !router.ends_turn());
        router.work = WORK_MAX;
        assert!(router.ends_turn());
        let mut client = ReadCycle::of(false);
        assert!(client.ends_turn() && client.ends_turn());
    }

    /// The number of neighbours that are behind makes no source wait for them, but its own rate does.
    #[test]
    fn a_source_that_declares_little_does_not_wait() {
        let crowd: Vec<_> = (0..200).map(|_| outbox()).collect();
        let declares = |bytes, times: usize| {
            let mut cycle = ReadCycle::default();
            for _ in 0..times {
                let mut after = After::default();
                for outbox in &crowd {
                    after.declared.note(outbox, bytes, false);
                }
                cycle.follow_declaration(after);
            }
            !cycle.downstream.congestion.is_empty()
        };
        assert!(!declares(100, 100));
        assert!(declares(100, 10_000));
        assert!(declares(1 << 20, 1));
    }

    /// A lane full of answers stops a client that asks, but not a router, whose link brings messages
    /// of other nodes as well.
    #[test]
    fn a_router_does_not_wait_for_the_answers_that_it_passes_on() {
        let outbox = outbox();
        let head = ResponseFinal {
            rid: 1,
            qos: zonda_codec::Qos::REQUEST,
            timestamp: None,
        };
        let payload = ZSlice::from(vec![0; 1 << 20]);
        let priority = Priority::Data;
        let mut touched = Outboxes::default();
        let mut answer = || {
            let payload = Tail::Shared(&payload);
            keep(&mut touched, &outbox, priority, &head, payload)
        };
        let goes_on = |is_router| {
            let full = Full {
                outbox: Arc::clone(&outbox),
                priority,
                load: ReadCycle::of(is_router).load_of_answers(),
            };
            full.lets_go_on_after(Duration::ZERO, Demand::Pace)
        };
        while answer() == Some(true) {}
        assert!(goes_on(true) && !goes_on(false));
        for _ in 0..8 {
            answer();
        }
        assert!(!goes_on(true), "its answers are bounded, too");
    }
}
