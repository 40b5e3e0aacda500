// SPDX-License-Identifier: MIT OR Apache-2.0
//! Equality of the three ways to enqueue, single messages, short cut and runs: the same bytes, the
//! same counts.

use crate::protocol::tx::SHARE_BYTES_MIN;
use proptest::prelude::*;
use zonda_codec::ZSlice;
use zonda_codec::{ShortHead, WhatAmI};

use super::*;
use crate::{
    outbox::{OutboxCounts, PriorityCounts},
    protocol::{
        options::{Framing, LinkOptions},
        parameters::Established,
        tx::Tail,
    },
};

const BATCH_BYTES: u16 = 4_000;
/// Limit below the overrun bound, so that peers are given up as well.
const QUEUE_BYTES_MAX: usize = 3_000;

fn outbox(framing: Framing, qos: bool) -> Outbox {
    let established = Established {
        batch_size: match framing {
            Framing::Bare => u16::MAX,
            Framing::Plain | Framing::Compressed => BATCH_BYTES,
        },
        qos,
        options: LinkOptions {
            low_latency: framing.is_bare(),
            compression: framing == Framing::Compressed,
            ..LinkOptions::default()
        },
        ..Established::plain("a1".parse().expect("a valid id"), WhatAmI::Router)
    };
    Outbox::new(&established, QUEUE_BYTES_MAX, None)
}

/// Message to send.
#[derive(Debug, Clone)]
struct Message {
    head: Vec<u8>,
    payload: ZSlice,
    reliability: Reliability,
}

impl Message {
    fn head(&self) -> ShortHead {
        ShortHead::new(|writer| writer.bytes(&self.head)).expect("it is short")
    }
}

/// Messages of one priority, and their treatment where they find no room.
#[derive(Debug, Clone)]
struct Burst {
    priority: Priority,
    overflow: Overflow,
    messages: Vec<Message>,
    /// Number of batches that leave before the burst.
    leave: usize,
}

fn message() -> impl Strategy<Value = Message> {
    let payload = prop_oneof![
        8 => prop::collection::vec(any::<u8>(), 0..40),
        4 => prop::collection::vec(any::<u8>(), 200..1_200),
        1 => (3_900_usize..4_100).prop_map(|len| vec![7; len]),
        1 => (SHARE_BYTES_MIN - 1..SHARE_BYTES_MIN + 2).prop_map(|len| vec![8; len]),
    ];
    let head = prop::collection::vec(any::<u8>(), 1..ShortHead::BYTES_MAX);
    (head, payload, prop::bool::weighted(0.9)).prop_map(|(head, payload, is_reliable)| Message {
        head,
        payload: ZSlice::from(payload),
        reliability: match is_reliable {
            true => Reliability::Reliable,
            false => Reliability::BestEffort,
        },
    })
}

fn burst() -> impl Strategy<Value = Burst> {
    let overflow = prop::sample::select(vec![
        Overflow::Refuse,
        Overflow::Drop,
        Overflow::Keep,
        Overflow::Pass,
        Overflow::KeepFirst,
    ]);
    let priority = prop::sample::select(vec![Priority::RealTime, Priority::Data]);
    let messages = prop::collection::vec(message(), 1..12);
    (priority, overflow, messages, 0_usize..4).prop_map(|(priority, overflow, messages, leave)| {
        Burst {
            priority,
            overflow,
            messages,
            leave,
        }
    })
}

/// Way in which a burst is enqueued.
#[derive(Debug, Clone, Copy)]
enum Way {
    Short,
    OneByOne,
    Run,
}

impl Way {
    /// Enqueues messages up to the first refused one, after which all are refused until a batch
    /// leaves; returns the refusal.
    fn enqueue(self, outbox: &Outbox, burst: &Burst) -> Option<Refused> {
        let (priority, overflow) = (burst.priority, burst.overflow);
        let mut first = None;
        if let Way::Run = self {
            let all = |queue: &mut Queue<'_>| {
                for message in &burst.messages {
                    let head = message.head();
                    if !queue.push(&outgoing(message, &head)) {
                        break;
                    }
                }
            };
            return outbox.enqueue(priority, overflow, Write::Later, all).err();
        }
        let mut queued = false;
        for message in &burst.messages {
            let head = message.head();
            let bytes = message.payload.as_slice();
            let append =
                || outbox.append(priority, Write::Later, message.reliability, &head, bytes);
            let visit = match self {
                Way::Short => append().err(),
                Way::OneByOne | Way::Run => Some(VisitedLane(None)),
            };
            let Some(visit) = visit else {
                queued = true;
                continue;
            };
            let one = outgoing(message, &head);
            let sent = outbox.enqueue_in(visit, priority, overflow, Write::Later, &one);
            match sent {
                Ok(_) => queued = true,
                Err(refused) => {
                    first.get_or_insert(refused);
                    if overflow == Overflow::Refuse || refused == Refused::Closed {
                        break;
                    }
                }
            }
        }
        first.filter(|_| !queued)
    }
}

fn outgoing<'a>(message: &'a Message, head: &'a ShortHead) -> Outgoing<'a, ShortHead> {
    Outgoing {
        reliability: message.reliability,
        head,
        payload: Tail::Shared(&message.payload),
    }
}

/// Takes `batches` batches out of each lane, as the writer does.
fn take(outbox: &Outbox, batches: usize, wire: &mut Vec<u8>) {
    for lane in &outbox.lanes {
        for _ in 0..batches {
            let Some(batch) = lane.lock().pop(&mut Vec::new()) else {
                break;
            };
            wire.extend_from_slice(batch.head());
            wire.extend_from_slice(batch.tail().map_or(&[], |tail| tail.as_slice()));
        }
    }
}

/// Observable state of an outbox.
#[derive(Debug, PartialEq)]
struct Seen {
    refused: Vec<Option<Refused>>,
    wire: Vec<u8>,
    priorities: Vec<PriorityCounts>,
    counts: OutboxCounts,
    is_closed: bool,
}

fn seen(way: Way, framing: Framing, qos: bool, bursts: &[Burst]) -> Seen {
    let outbox = outbox(framing, qos);
    let mut wire = Vec::new();
    let refused = bursts.iter().map(|burst| {
        take(&outbox, burst.leave, &mut wire);
        way.enqueue(&outbox, burst)
    });
    let refused = refused.collect();
    let (priorities, counts) = (outbox.priorities(), outbox.counters().snapshot());
    take(&outbox, usize::MAX, &mut wire);
    Seen {
        refused,
        wire,
        priorities,
        counts,
        is_closed: outbox.is_closed(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_way_queues_the_same(
        bursts in prop::collection::vec(burst(), 1..30),
        framing in prop::sample::select(vec![Framing::Plain, Framing::Compressed, Framing::Bare]),
        qos in any::<bool>(),
    ) {
        let one_by_one = seen(Way::OneByOne, framing, qos && !framing.is_bare(), &bursts);
        for way in [Way::Short, Way::Run] {
            let other = seen(way, framing, qos && !framing.is_bare(), &bursts);
            prop_assert_eq!(&other.refused, &one_by_one.refused, "{:?}", way);
            prop_assert!(other == one_by_one, "{:?}", way);
        }
    }
}
