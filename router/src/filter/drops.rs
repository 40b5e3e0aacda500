// SPDX-License-Identifier: MIT OR Apache-2.0

//! Counters of messages that filters dropped.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{
    config::{Flow, MessageKind},
    metrics::{
        Metric, Sample,
        table::{
            ACCESS_BYTES, ACCESS_MESSAGES, DOWNSAMPLING_BYTES, DOWNSAMPLING_MESSAGES,
            LOW_PASS_BYTES, LOW_PASS_MESSAGES,
        },
    },
};

use super::contract::{MessageView, Reason};

impl Reason {
    /// Returns the metrics of dropped messages and of their bytes.
    fn metrics(self) -> [&'static Metric; 2] {
        match self {
            Reason::Size => [&LOW_PASS_MESSAGES, &LOW_PASS_BYTES],
            Reason::Access => [&ACCESS_MESSAGES, &ACCESS_BYTES],
            Reason::Rate => [&DOWNSAMPLING_MESSAGES, &DOWNSAMPLING_BYTES],
        }
    }

    /// Returns the kinds of messages that are dropped for this reason.
    fn kinds(self) -> &'static [MessageKind] {
        match self {
            Reason::Size | Reason::Rate => &MessageKind::DATA,
            Reason::Access => &MessageKind::ALL,
        }
    }
}

/// Messages of one kind and direction that were dropped for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub(crate) reason: Reason,
    pub(crate) flow: Flow,
    pub(crate) kind: MessageKind,
    pub(crate) messages: u64,
    /// Bytes of their payloads and attachments.
    pub(crate) bytes: u64,
}

/// Numbers of dropped messages and of their bytes, by reason, direction and kind.
#[derive(Debug, Default)]
pub(super) struct Drops([[[[AtomicU64; 2]; MessageKind::ALL.len()]; 2]; Reason::COUNT]);

impl Drops {
    pub(super) fn count(&self, reason: Reason, flow: Flow, message: &MessageView) {
        let [messages, bytes] = &self.0[reason as usize][flow as usize][message.kind as usize];
        messages.fetch_add(1, Ordering::Relaxed);
        bytes.fetch_add(message.bytes() as u64, Ordering::Relaxed);
    }

    /// Returns the counts of a reason.
    pub(super) fn dropped(&self, reason: Reason) -> impl Iterator<Item = Dropped> {
        let of = move |flow: Flow, kind: MessageKind| {
            let counts = self.0[reason as usize][flow as usize][kind as usize].each_ref();
            let [messages, bytes] = counts.map(|count| count.load(Ordering::Relaxed));
            Dropped {
                reason,
                flow,
                kind,
                messages,
                bytes,
            }
        };
        let flows = [Flow::Ingress, Flow::Egress].into_iter();
        flows.flat_map(move |flow| reason.kinds().iter().map(move |kind| of(flow, *kind)))
    }

    /// Returns the counters of a reason.
    pub(super) fn samples(&self, reason: Reason) -> impl Iterator<Item = Sample> {
        self.dropped(reason).flat_map(move |dropped| {
            let counts = [dropped.messages, dropped.bytes];
            let counts = reason.metrics().into_iter().zip(counts);
            counts.map(move |(metric, count)| {
                let sample = Sample::of(metric, count).with("flow", dropped.flow.name());
                sample.with("message", dropped.kind.name())
            })
        })
    }
}
