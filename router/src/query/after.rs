// SPDX-License-Identifier: MIT OR Apache-2.0

//! Work that a change of the table leaves for after the lock: batches to write, user code to call.

use std::sync::Arc;

use zonda_runtime::{AnyRuntime, guard::caught};
use zonda_transport::{log_limit::LogLimit, outbox::Outbox};

use crate::{
    flow::outboxes::{InOrder, Outboxes},
    node::log::{log, log_panic},
    notify::listeners::NoticeTask,
    query::{
        held::HeldQuery,
        incoming::{IncomingQuery, SharedQuerySink},
        open::{DrainTurn, OpenQuery},
        queries::EndedQuery,
    },
    table::Note,
};

/// Work that a change of the state leaves to do without its lock.
#[derive(Default)]
#[must_use = "its callers and neighbours wait for this work"]
pub(crate) struct After {
    /// Outboxes that got messages and must be written.
    pub(crate) touched: Outboxes,
    /// Declarations that the change sent to neighbours that are behind.
    pub(crate) declared: Declared,
    /// Listeners with notices to deliver, and the runtime that delivers them.
    pub(crate) told: Option<(AnyRuntime, Vec<NoticeTask>)>,
    pub(crate) calls: Vec<Call>,
    pub(crate) notes: Vec<Note>,
    /// Values that are not needed any more. Dropping them may run user code, so it must happen
    /// without the lock.
    pub(super) ended: Vec<EndedQuery>,
    pub(super) asked: Vec<HeldQuery>,
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

/// Declarations that a change has sent to neighbours that are behind.
#[derive(Default)]
pub(crate) struct Declared(InOrder<Behind>);

/// Neighbour whose control lane is over its limit.
struct Behind {
    outbox: Arc<Outbox>,
    /// Bytes of the change's declarations for it.
    bytes: usize,
}

impl Declared {
    /// Notes declarations for a neighbour; `has_room` is false if they exceed the limit of its
    /// control lane.
    pub(crate) fn note(&mut self, outbox: &Arc<Outbox>, bytes: usize, has_room: bool) {
        if !has_room {
            let behind = self.0.add(
                |known| Arc::ptr_eq(&known.outbox, outbox),
                || Behind {
                    outbox: Arc::clone(outbox),
                    bytes: 0,
                },
            );
            behind.bytes += bytes;
        }
    }

    /// Returns the largest number of bytes for one of these neighbours; `None` if no neighbour is
    /// behind. Their number does not count: a source that declares little waits for none of them.
    pub(crate) fn most_bytes(&self) -> Option<usize> {
        self.0.iter().map(|behind| behind.bytes).max()
    }

    /// Returns the neighbours that are behind.
    pub(crate) fn behind(&self) -> impl Iterator<Item = &Arc<Outbox>> {
        self.0.iter().map(|behind| &behind.outbox)
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
fn ask_all(mut query: IncomingQuery, sinks: &[SharedQuerySink]) {
    query.record_receive();
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
