// SPDX-License-Identifier: MIT OR Apache-2.0

//! Work that a change of the table leaves for after the lock: batches to write, user code to call.

use std::{sync::Arc, time::Instant};

use zonda_codec::{
    Encoding, EntityGlobalId, ErrBody, RawExtensions, Response, ResponseBody, ResponseFinal,
    ZenohId,
};
use zonda_runtime::{AnyRuntime, guard::caught};
use zonda_transport::{log_limit::LogLimit, outbox::Outbox, protocol::tx::Tail};

use crate::{
    flow::{deliver::keep, outboxes::Outboxes},
    node::{
        log::{log, log_panic},
        shared::Shared,
        state::State,
    },
    notify::listeners::NoticeTask,
    query::{
        heads::response,
        held::HeldQuery,
        incoming::{IncomingQuery, SharedQuerySink},
        open::{DrainTurn, Next, OpenQuery},
        outgoing::{QueryEnd, TIMEOUT_TEXT},
    },
    table::{Ended, Ending, Note, QueryOrigin},
};

/// Work that a change of the state leaves to do without its lock.
#[derive(Default)]
#[must_use = "its callers and neighbours wait for this work"]
pub(crate) struct After {
    /// Outboxes that got messages and must be written.
    pub(crate) touched: Outboxes,
    /// Size of the declarations that the change sent to neighbours, and the lanes that they filled.
    pub(crate) declared: Declared,
    /// Listeners with notices to deliver, and the runtime that delivers them.
    pub(crate) told: Option<(AnyRuntime, Vec<NoticeTask>)>,
    pub(crate) calls: Vec<Call>,
    pub(crate) notes: Vec<Note>,
    /// Values that are not needed any more. Dropping them may run user code, so it must happen
    /// without the lock.
    ended: Vec<(Arc<OpenQuery>, Option<HeldQuery>)>,
    asked: Vec<HeldQuery>,
}

/// A call to make without the lock, mostly of user code.
pub(crate) enum Call {
    /// Delivery of the queued events of a session's query.
    Drain(Arc<OpenQuery>, DrainTurn),
    /// Delivery of a query to the node's own queryables.
    Ask(IncomingQuery, Vec<SharedQuerySink>),
    /// Any other call.
    Later(Box<dyn FnOnce() + Send>),
}

/// The declarations that a change has caused.
#[derive(Default)]
pub(crate) struct Declared {
    /// Bytes of all of them.
    pub(crate) bytes: usize,
    /// Neighbours whose control lane is over its limit.
    pub(crate) full: Vec<Arc<Outbox>>,
}

impl Declared {
    pub(crate) fn note(&mut self, outbox: &Arc<Outbox>, bytes: usize, has_room: bool) {
        self.bytes += bytes;
        // Messages for one neighbour usually follow each other; a duplicate entry does no harm.
        let is_last = |last: &Arc<Outbox>| Arc::ptr_eq(last, outbox);
        if !has_room && !self.full.last().is_some_and(is_last) {
            self.full.push(Arc::clone(outbox));
        }
    }
}

impl After {
    /// Writes the batches and makes the calls. The caller must not hold a lock.
    #[inline]
    pub(crate) fn finish(mut self) {
        self.touched.flush();
        self.run();
    }

    /// Makes the calls; the caller writes the batches.
    #[inline]
    pub(crate) fn run(self) {
        if let Some((runtime, tasks)) = self.told {
            for task in tasks {
                task.start(&runtime);
            }
        }
        log(self.notes);
        if !self.calls.is_empty() {
            self.calls.into_iter().for_each(Call::run);
        }
    }

    /// Adds listeners with notices to deliver.
    pub(crate) fn tell(&mut self, runtime: &AnyRuntime, tasks: Vec<NoticeTask>) {
        if !tasks.is_empty() {
            let told = self
                .told
                .get_or_insert_with(|| (runtime.clone(), Vec::new()));
            told.1.extend(tasks);
        }
    }
}

impl Call {
    pub(crate) fn run(self) {
        match self {
            Call::Drain(query, turn) => query.drain(turn),
            Call::Ask(query, sinks) => ask_all(query, &sinks),
            Call::Later(run) => run(),
        }
    }
}

/// Calls each queryable with the query. The last one gets the query itself, without a clone left
/// here: its callback may reply and drop the node before this thread continues.
fn ask_all(query: IncomingQuery, sinks: &[SharedQuerySink]) {
    let key = query.key().clone();
    let mut query = Some(query);
    let mut all = sinks.iter().filter_map(|sink| sink.open()).peekable();
    while let Some(opened) = all.next() {
        let asked = match all.peek() {
            Some(_) => query.clone(),
            None => query.take(),
        };
        let Some(asked) = asked else { return };
        if caught(move || opened(asked)).is_err() {
            static PANICKED: LogLimit = LogLimit::new();
            log_panic(
                &PANICKED,
                format_args!("a queryable's callback on {key} panicked; the query is lost for it"),
            );
        }
    }
}

impl Shared {
    /// Ends queries in the table's list of ended ones, and sends those that were held and have a
    /// queryable now.
    #[inline]
    pub(crate) fn settle_queries(&self, state: &mut State, after: &mut After) {
        if state.table.may_release_held() || state.table.may_watch_held() {
            self.release_held(state, after);
        }
        if state.table.has_ended() {
            self.end_queries(state, after);
        }
    }

    #[cold]
    fn release_held(&self, state: &mut State, after: &mut After) {
        for (rid, branches) in state.table.release_held(Instant::now()) {
            if let Some(held) = state.queries.held.remove(&rid) {
                held.lend(|query| self.send_to_all(&branches, query, state, after));
                after.asked.push(held);
            }
        }
        let State { table, actions, .. } = &mut *state;
        table.watch_held(actions);
        self.carry_out(state, after);
    }

    #[inline(never)]
    fn end_queries(&self, state: &mut State, after: &mut After) {
        for Ended { origin: asker, how } in state.table.take_ended() {
            // The asker is this node's session: its sink gets the end.
            if asker.face == self.local {
                let Some(query) = state.queries.open.remove(&asker.rid) else {
                    continue;
                };
                let held = state.queries.held.remove(&asker.rid);
                let (end, timeouts) = match how {
                    Ending::Complete => (QueryEnd::Complete, 0),
                    Ending::LinkLost(peer) => (QueryEnd::LinkLost { peer }, 0),
                    Ending::TimedOut(open) => (QueryEnd::TimedOut, open),
                };
                if let Next::Drain(turn) = query.end(end, timeouts) {
                    after.calls.push(Call::Drain(Arc::clone(&query), turn));
                }
                after.ended.push((query, held));
            // The asker is a neighbour: it gets an error for each unfinished branch, then the end.
            } else if let Some(face) = state.faces.get(&asker.face) {
                let (outbox, priority) = (&face.outbox, asker.qos.priority());
                match how {
                    Ending::Complete => {}
                    Ending::LinkLost(_) if !self.tells_losses(&asker) => {}
                    Ending::LinkLost(peer) => {
                        let text = lost_text(peer);
                        let error = self.error(&asker, text.as_bytes(), Encoding::ZENOH_STRING);
                        keep(&mut after.touched, outbox, priority, &error, Tail::NONE);
                    }
                    Ending::TimedOut(open) => {
                        let error = self.error(&asker, TIMEOUT_TEXT, Encoding::BYTES);
                        for _ in 0..open {
                            keep(&mut after.touched, outbox, priority, &error, Tail::NONE);
                        }
                    }
                }
                let end = ResponseFinal {
                    rid: asker.rid,
                    qos: asker.qos,
                    timestamp: None,
                };
                keep(&mut after.touched, outbox, priority, &end, Tail::NONE);
            }
        }
    }

    /// Returns true if the asker gets an error when the link to a queried node is lost. A node of
    /// another implementation gets the end alone, as from a router of its own.
    fn tells_losses(&self, asker: &QueryOrigin) -> bool {
        asker.hears_of_losses || self.settings.query_losses_for_all
    }

    /// Returns the error reply for branches that will not answer.
    fn error<'a>(
        &self,
        asker: &QueryOrigin,
        payload: &'a [u8],
        encoding: Encoding<'a>,
    ) -> Response<'a> {
        let responder = EntityGlobalId {
            zid: self.zid,
            eid: 0,
        };
        let error = ErrBody {
            encoding,
            source_info: None,
            unknown: RawExtensions::default(),
            payload,
        };
        let head = response(asker, "", Some(responder));
        head.with_body(ResponseBody::Err(error))
    }
}

/// Returns the text for an asker that cannot detect the loss of the link itself; this node's
/// sessions use the same text.
fn lost_text(peer: ZenohId) -> String {
    format!("the link to {peer} was lost")
}
