// SPDX-License-Identifier: MIT OR Apache-2.0

//! Traces: records of the messages on some keys as they pass the links of this node.
//!
//! A trace is a filter that lets every message pass. It is first of the filters of messages that
//! come in, and last of those that go out, so it records all that neighbours send, and what the
//! other filters let pass to them. Without a trace there is no such filter.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::SystemTime,
};

use zonda_codec::{KeyExpr, WhatAmI, ZenohId};
use zonda_transport::sync::Mutex;

use crate::config::{Flow, MessageKind};

use super::contract::{BoundFilter, Decision, Effect, Filter, Message, MessageView, Subject};

/// Most records that wait to be taken; more passes are counted only.
const RECORDS_MAX: usize = 1024;

/// Record of a message that passed a link.
#[derive(Debug, Clone)]
pub(crate) struct Pass {
    pub(crate) at: SystemTime,
    pub(crate) flow: Flow,
    pub(crate) kind: MessageKind,
    /// The neighbour.
    pub(crate) zid: ZenohId,
    pub(crate) role: WhatAmI,
    pub(crate) key: Arc<str>,
    /// Bytes of payload and attachment.
    pub(crate) bytes: usize,
}

/// Trace of the messages on keys that intersect one.
#[derive(Debug)]
pub(crate) struct Trace {
    key: KeyExpr<'static>,
    records: Mutex<Vec<Pass>>,
    /// Number of records that wait, read without the lock.
    waiting: AtomicU64,
    unrecorded: AtomicU64,
}

impl Trace {
    pub(super) fn new(key: KeyExpr<'static>) -> Trace {
        Trace {
            key,
            records: Mutex::default(),
            waiting: AtomicU64::new(0),
            unrecorded: AtomicU64::new(0),
        }
    }

    fn note(&self, pass: impl FnOnce() -> Pass) {
        // A full list costs the messages no lock.
        if self.waiting.load(Ordering::Relaxed) >= RECORDS_MAX as u64 {
            self.unrecorded.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let mut records = self.records.lock();
        records.push(pass());
        self.waiting.store(records.len() as u64, Ordering::Relaxed);
    }

    /// Removes the records so far. Returns them, with the number of passes that had no room.
    pub(super) fn take(&self) -> (Vec<Pass>, u64) {
        let records = {
            let mut records = self.records.lock();
            self.waiting.store(0, Ordering::Relaxed);
            std::mem::take(&mut *records)
        };
        (records, self.unrecorded.swap(0, Ordering::Relaxed))
    }
}

/// Filter of a trace, for one direction.
pub(super) struct TraceFilter {
    trace: Arc<Trace>,
    flow: Flow,
}

impl TraceFilter {
    pub(super) fn new(trace: &Arc<Trace>, flow: Flow) -> TraceFilter {
        let trace = Arc::clone(trace);
        TraceFilter { trace, flow }
    }
}

impl Filter for TraceFilter {
    fn bind(
        &self,
        subject: &Subject<'_>,
        flow: Flow,
        key: Option<&KeyExpr<'_>>,
    ) -> Option<Box<dyn BoundFilter>> {
        let key = key.filter(|key| flow == self.flow && self.trace.key.intersects(key))?;
        Some(Box::new(BoundTrace {
            trace: Arc::clone(&self.trace),
            flow,
            zid: subject.peer.zid,
            role: subject.peer.whatami,
            key: Arc::from(key.as_str()),
        }))
    }

    fn explain(&self, _: &Subject<'_>, _: Message<'_>) -> Option<Effect> {
        None
    }
}

/// Trace for one neighbour, direction and key.
struct BoundTrace {
    trace: Arc<Trace>,
    flow: Flow,
    zid: ZenohId,
    role: WhatAmI,
    key: Arc<str>,
}

impl BoundFilter for BoundTrace {
    fn decide(&self, message: &MessageView) -> Decision {
        if !self.lets_all_pass(message.kind) {
            self.trace.note(|| Pass {
                at: SystemTime::now(),
                flow: self.flow,
                kind: message.kind,
                zid: self.zid,
                role: self.role,
                key: Arc::clone(&self.key),
                bytes: message.bytes(),
            });
        }
        Decision::Pass
    }

    /// Messages of data are recorded, declarations are not.
    fn lets_all_pass(&self, kind: MessageKind) -> bool {
        !matches!(
            kind,
            MessageKind::Put | MessageKind::Delete | MessageKind::Query | MessageKind::Reply
        )
    }
}

#[cfg(test)]
mod tests {
    use zonda_codec::Qos;

    use super::*;
    use crate::filter::tests::{put, status, subject};

    #[test]
    fn a_full_list_counts_what_it_does_not_record() {
        let key = KeyExpr::try_from("a/*".to_owned()).expect("a key");
        let trace = Arc::new(Trace::new(key));
        let filter = TraceFilter::new(&trace, Flow::Ingress);
        let (status, key) = (status(), KeyExpr::new("a/b").expect("a key"));
        let bind = |flow, key| filter.bind(&subject(&status, &["tcp"]), flow, Some(key));
        let other = KeyExpr::new("b/b").expect("a key");
        assert!(bind(Flow::Egress, &key).is_none() && bind(Flow::Ingress, &other).is_none());
        let bound = bind(Flow::Ingress, &key).expect("it is traced");
        for _ in 0..RECORDS_MAX + 3 {
            assert_eq!(bound.decide(&put(5, Qos::DATA)), Decision::Pass);
        }
        let (records, unrecorded) = trace.take();
        assert_eq!((records.len(), unrecorded), (RECORDS_MAX, 3));
        let first = &records[0];
        assert_eq!(
            (&*first.key, first.bytes, first.zid),
            ("a/b", 5, status.zid)
        );
        bound.decide(&put(1, Qos::DATA));
        let (records, unrecorded) = trace.take();
        assert_eq!((records.len(), unrecorded), (1, 0));
    }
}
