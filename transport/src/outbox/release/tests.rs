// SPDX-License-Identifier: MIT OR Apache-2.0
//! A connection that has ended holds neither its socket nor what was queued, however long it is referred to.

use std::{
    io::Read,
    net::{TcpListener, TcpStream},
    sync::{Arc, Weak},
    time::Duration,
};

use socket2::SockRef;
use zonda_codec::{
    Encode, EncodeError, NodeId, Priority, Push, Put, Qos, Reliability, WhatAmI, WireExpr, Writer,
};
use zonda_codec::{SliceBuffer, ZSlice};

use crate::{
    driver::Ended,
    outbox::{DirectSocket, Outbox, Overflow, PriorityCounts, Queue, Refused, Write},
    protocol::{
        parameters::Established,
        tx::{Outgoing, Tail},
    },
};

const PAYLOAD_BYTES: usize = 100_000;

fn established() -> Established {
    Established::plain("a1".parse().expect("a valid id"), WhatAmI::Router)
}

struct Head(usize);

impl Encode for Head {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        Push::encode_head(&WireExpr::full("k"), Qos::DATA, NodeId::ITSELF, writer)?;
        Put::new(&[]).encode_head(self.0, writer)
    }
}

/// Payload whose owner looks at the outbox when it is dropped, as user code may.
#[derive(Debug)]
struct Owned {
    bytes: Vec<u8>,
    outbox: Weak<Outbox>,
}

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(outbox) = self.outbox.upgrade().filter(|outbox| outbox.is_closed()) {
            // Each call would block for ever if its lock were held.
            assert!(outbox.last_priorities().len() == 8);
            let message = message(&Tail::NONE);
            let refused = outbox.enqueue(Priority::Data, Overflow::Keep, Write::Later, &message);
            assert_eq!(refused, Err(Refused::Closed));
        }
    }
}

impl SliceBuffer for Owned {
    fn as_slice(&self) -> &[u8] {
        &self.bytes
    }
}

fn message<'a>(payload: &Tail<'a>) -> Outgoing<'a, Head> {
    const HEADS: [Head; 2] = [Head(0), Head(PAYLOAD_BYTES)];
    Outgoing {
        reliability: Reliability::Reliable,
        head: match payload.bytes().len() {
            0 => &HEADS[0],
            _ => &HEADS[1],
        },
        payload: *payload,
    }
}

/// Queues messages of two priorities, as many as the socket takes and some more; returns the last
/// payload of each.
fn fill(outbox: &Arc<Outbox>) -> Vec<Weak<Owned>> {
    let mut last = Vec::new();
    for priority in [Priority::Data, Priority::Background] {
        for number in 0..40 {
            let owned = Arc::new(Owned {
                bytes: vec![number; PAYLOAD_BYTES],
                outbox: Arc::downgrade(outbox),
            });
            if number == 39 {
                last.push(Arc::downgrade(&owned));
            }
            let slice = ZSlice::new(owned, 0, PAYLOAD_BYTES).expect("within its bounds");
            let message = message(&Tail::Shared(&slice));
            let sent = outbox.enqueue(priority, Overflow::Keep, Write::Now, &message);
            sent.expect("it is open");
        }
    }
    last
}

fn queued(counts: &[PriorityCounts]) -> (u64, usize) {
    let messages = counts.iter().map(|counts| counts.queued).sum();
    (messages, counts.iter().map(|c| c.queued_bytes).sum())
}

#[test]
fn an_ended_connection_holds_no_socket_and_no_payloads_and_counts_them_as_lost() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    // A peer that reads nothing takes only a part of the first messages, whatever the sizes of the
    // system's buffers.
    let sizes = SockRef::from(&listener).set_recv_buffer_size(PAYLOAD_BYTES);
    sizes.expect("accepted sockets have the listener's sizes");
    let stream = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
    let sizes = SockRef::from(&stream).set_send_buffer_size(PAYLOAD_BYTES);
    sizes.expect("a socket");
    let (mut peer, _) = listener.accept().expect("it has come");
    let direct = DirectSocket::beside(&stream).expect("a descriptor");
    if direct.is_none() {
        // The driver makes every write here.
        return;
    }
    let outbox = Arc::new(Outbox::new(&established(), 1 << 20, direct));
    let payloads = fill(&outbox);
    outbox.release();
    assert!(payloads.iter().all(|payload| payload.strong_count() > 0));
    outbox.end(Ended::HungUp);
    let before = outbox.last_priorities();
    assert!(queued(&before).0 > 2 && queued(&before).1 > PAYLOAD_BYTES);
    assert!(!outbox.is_released() && outbox.memory().kept > PAYLOAD_BYTES);
    outbox.release();
    assert!(outbox.is_released() && outbox.memory().kept == 0);
    assert!(payloads.iter().all(|payload| payload.strong_count() == 0));
    assert_eq!(outbox.last_priorities(), before, "what is lost is counted");
    // The peer sees the end once the last descriptor is closed.
    drop(stream);
    peer.set_read_timeout(Some(Duration::from_secs(30)))
        .expect("a socket");
    let mut rest = Vec::new();
    peer.read_to_end(&mut rest).expect("the end, not silence");
    // The closed outbox takes no more messages.
    let one = message(&Tail::NONE);
    let refused = outbox.enqueue(Priority::Data, Overflow::Refuse, Write::Later, &one);
    assert_eq!(refused, Err(Refused::Closed));
    let run = |queue: &mut Queue<'_>| assert!(queue.push(&one));
    let refused = outbox.enqueue(Priority::RealTime, Overflow::Keep, Write::Later, run);
    assert_eq!(refused, Err(Refused::Closed));
    outbox.release();
    assert_eq!(outbox.last_priorities(), before);
}
