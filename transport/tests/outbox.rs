// SPDX-License-Identifier: MIT OR Apache-2.0
//! Outbox of a link over a real socket, without its driver.
#![forbid(unsafe_code)]
#![cfg(target_os = "linux")] // elsewhere every write is the driver's

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
    mpsc,
};
use std::time::{Duration, Instant};

use zonda_codec::{
    Encode, EncodeError, NodeId, Priority, Push, PushBody, Put, Qos, Reliability, WhatAmI,
    WireExpr, Writer,
};
use zonda_codec::{SliceBuffer, ZSlice};
use zonda_transport::outbox::{DirectSocket, Outbox, Overflow, Refused, Sent, Write};
use zonda_transport::protocol::parameters::Established;
use zonda_transport::protocol::patience::Isolation;
use zonda_transport::protocol::tx::{Outgoing, Tail};

fn established() -> Established {
    Established::plain("a1".parse().expect("a valid id"), WhatAmI::Router)
}

/// Queues a message that waits for a flush.
fn push<E: Encode>(
    outbox: &Outbox,
    priority: Priority,
    message: &Outgoing<'_, E>,
) -> Result<Sent, Refused> {
    outbox.enqueue(priority, Overflow::Refuse, Write::Later, message)
}

/// Queues messages of 64 KiB until the lane is full, without a flush.
fn fill(outbox: &Outbox, priority: Priority) {
    let payload = vec![7; 1 << 16];
    let head = Push::new(WireExpr::full("a"), PushBody::Put(Put::new(&payload)));
    let message = Outgoing {
        reliability: Reliability::Reliable,
        head: &head,
        payload: Tail::NONE,
    };
    while push(outbox, priority, &message).is_ok() {}
    assert!(!outbox.has_room(priority));
}

fn outbox(queue_bytes_max: usize) -> (Outbox, TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let stream = TcpStream::connect(listener.local_addr().expect("bound")).expect("loopback");
    let (peer, _) = listener.accept().expect("a connection");
    let direct = DirectSocket::beside(&stream).expect("a descriptor");
    (
        Outbox::new(&established(), queue_bytes_max, direct),
        stream,
        peer,
    )
}

/// A peer whose window stays shut still answers, and would keep the bytes that a link leaves with
/// the system.
#[test]
fn what_a_link_leaves_with_the_system_has_a_time() {
    let (outbox, stream, _peer) = outbox(1 << 20);
    let socket = socket2::SockRef::from(&stream);
    let limit = || socket.tcp_user_timeout().expect("a socket");
    assert_eq!(limit(), None, "a neighbour may be slow");
    outbox.abandon();
    assert_eq!(limit(), Some(Duration::from_secs(30)));
}

/// A peer that was given up before gets all of the time again if its sources only require progress.
#[test]
fn a_peer_owes_what_it_used_up_where_it_has_to_keep_pace() {
    let owed = Duration::from_millis(400);
    for (min_rate, left) in [(1000, 100), (0, 500)] {
        let policy = Isolation {
            min_rate,
            stall: Duration::from_millis(500),
            ..Isolation::default()
        };
        let outbox = Outbox::new(&established(), 1 << 20, None);
        let outbox = outbox.with_isolation(policy).with_stall_debt(owed);
        assert_eq!(
            outbox.stall_left(),
            Duration::from_millis(left),
            "{min_rate}"
        );
    }
}

#[test]
fn each_priority_has_a_limit_of_its_own() {
    let (urgent, usual) = (Priority::RealTime, Priority::Data);
    let limit = |priority| if priority == usual { 1 << 20 } else { 1 };
    let outbox = Outbox::with_limits(&established(), &limit, None);
    // More than a batch, so that one is complete.
    let payload = vec![7; 1 << 17];
    let head = Push::new(WireExpr::full("a"), PushBody::Put(Put::new(&payload)));
    let message = Outgoing {
        reliability: Reliability::Reliable,
        head: &head,
        payload: Tail::NONE,
    };
    for priority in [urgent, usual] {
        assert!(push(&outbox, priority, &message).is_ok());
    }
    assert!(!outbox.has_room(urgent));
    assert!(outbox.has_room(usual));
}

/// A thread that reads an outbox's memory does not hold back a message that a sender writes at the
/// same time.
#[test]
fn a_look_at_what_it_holds_keeps_no_message_back() {
    let (outbox, _stream, mut peer) = outbox(1 << 20);
    let over = AtomicBool::new(false);
    let head = Push::new(WireExpr::full("a"), PushBody::Put(Put::new(b"x")));
    let message = Outgoing {
        reliability: Reliability::Reliable,
        head: &head,
        payload: Tail::NONE,
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                assert!(outbox.memory().own > 0 && outbox.priorities().len() == 8);
            }
        });
        let reading = scope.spawn(move || while matches!(peer.read(&mut [0; 4096]), Ok(1..)) {});
        let stays = (0..200_000).find(|_| {
            let sent = outbox.enqueue(Priority::Data, Overflow::Refuse, Write::Now, &message);
            assert!(sent.is_ok());
            let deadline = Instant::now() + Duration::from_millis(500);
            while outbox.has_unsent() && Instant::now() < deadline {
                std::thread::yield_now();
            }
            outbox.has_unsent()
        });
        over.store(true, Ordering::Relaxed);
        outbox.abandon();
        reading.join().expect("no panic");
        assert_eq!(stays, None, "this message was written by nobody");
    });
}

/// A large message under way does not make a peer count as slow, although as many bytes of small
/// messages would.
#[test]
fn large_messages_on_their_way_do_not_cost_a_peer_its_link() {
    let queue_bytes_max = 1 << 14;
    let far_behind = 64 * queue_bytes_max;
    let (outbox, _stream, _peer) = outbox(queue_bytes_max);
    let payload = vec![7; 2 * far_behind];
    let large = Push::new(WireExpr::full("a"), PushBody::Put(Put::new(&payload)));
    let small = Push::new(
        WireExpr::full("a"),
        PushBody::Put(Put::new(&payload[..1 << 14])),
    );
    let outgoing = |head| Outgoing {
        reliability: Reliability::Reliable,
        head,
        payload: Tail::NONE,
    };
    for _ in 0..2 {
        let queued = outbox.enqueue(
            Priority::Data,
            Overflow::Keep,
            Write::Later,
            &outgoing(&large),
        );
        assert!(queued.is_ok_and(|sent| !sent.has_room), "{queued:?}");
    }
    let mut taken = 0;
    let keep = |head| {
        outbox.enqueue(
            Priority::Data,
            Overflow::Keep,
            Write::Later,
            &outgoing(head),
        )
    };
    while keep(&small).is_ok() {
        taken += 1;
        assert!(taken < 1000, "the bound for small ones holds");
    }
    assert!(taken >= 60, "only {taken} small messages were taken");
    assert!(outbox.is_closed());
}

/// A sender that waits for room may be the only thread left to make it: the driver, which wanted to
/// write the rest, may have found the waiting sender elected, and left, so that the socket is free
/// and the lanes full. Messages that are queued without a flush are the same state. With a look at
/// the socket alone, which is not full, the wait never ended.
#[test]
fn waiting_for_room_writes_what_nobody_else_will() {
    let (outbox, stream, mut peer) = outbox(1 << 18);
    let reading = std::thread::spawn(move || {
        let (mut bytes, mut buffer) = (0, vec![0; 1 << 16]);
        while let Ok(count @ 1..) = peer.read(&mut buffer) {
            bytes += count;
        }
        bytes
    });
    let deadline = Instant::now() + Duration::from_secs(10);
    for _ in 0..20 {
        fill(&outbox, Priority::Data);
        assert!(
            outbox.wait_room(Priority::Data, deadline),
            "the peer reads, so there is room soon"
        );
    }
    assert!(outbox.queued_bytes() < 1 << 18);
    drop((outbox, stream));
    assert!(reading.join().expect("no panic") > 20 << 17);
}

/// PUSH up to its payload of so many bytes.
struct Head(usize);

impl Encode for Head {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        Push::encode_head(&WireExpr::full("k"), Qos::DATA, NodeId::ITSELF, writer)?;
        Put::new(&[]).encode_head(self.0, writer)
    }
}

/// Payload whose owner sends when it is dropped, until there is no room, and then waits for room.
#[derive(Debug)]
struct Sender {
    outbox: Arc<Outbox>,
    done: mpsc::Sender<bool>,
    bytes: Vec<u8>,
}

impl SliceBuffer for Sender {
    fn as_slice(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        fill(&self.outbox, Priority::Data);
        let deadline = Instant::now() + Duration::from_secs(5);
        let room = self.outbox.wait_room(Priority::Data, deadline);
        // The test has failed if no receiver is left.
        let _ = self.done.send(room);
    }
}

/// The owner of a payload would wait for itself if the writer were locked during the drop of the payload.
#[test]
fn the_owner_of_a_payload_may_send_when_it_is_out() {
    let (outbox, stream, mut peer) = outbox(1 << 18);
    let outbox = Arc::new(outbox);
    let (done, told) = mpsc::channel();
    let reading = std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while matches!(peer.read(&mut buffer), Ok(1..)) {}
    });
    let sending = Arc::clone(&outbox);
    let writing = std::thread::spawn(move || {
        for _ in 0..2 {
            let owner = Sender {
                outbox: Arc::clone(&sending),
                done: done.clone(),
                bytes: vec![7; 1 << 15],
            };
            let payload = ZSlice::from(owner);
            let message = Outgoing {
                reliability: Reliability::Reliable,
                head: &Head(1 << 15),
                payload: Tail::Shared(&payload),
            };
            push(&sending, Priority::Data, &message).expect("there is room");
            drop(payload);
            // The thread that writes drops the last reference: this flush, or the wait of the
            // previous payload.
            sending.flush();
        }
    });
    for _ in 0..2 {
        let room = told.recv_timeout(Duration::from_secs(20));
        assert_eq!(room, Ok(true), "the payload's owner found room");
    }
    writing.join().expect("no panic");
    drop((outbox, stream));
    reading.join().expect("no panic");
}

/// Four senders, each with a priority of its own, so that each knows how many messages its lane has
/// accepted. A count that one sender read while another one was still writing was wrong.
#[test]
fn what_is_said_to_be_with_the_socket_is_there() {
    const PUSHES: u64 = 20_000;
    let (outbox, stream, mut peer) = outbox(1 << 20);
    let reading = std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while matches!(peer.read(&mut buffer), Ok(1..)) {}
    });
    let priorities = [
        Priority::RealTime,
        Priority::DataHigh,
        Priority::Data,
        Priority::Background,
    ];
    let deadline = Instant::now() + Duration::from_secs(60);
    let said: u64 = std::thread::scope(|scope| {
        let senders = priorities.map(|priority| {
            let outbox = &outbox;
            scope.spawn(move || {
                let head = Push::new(WireExpr::full("a"), PushBody::Put(Put::new(b"x")));
                let message = Outgoing {
                    reliability: Reliability::Reliable,
                    head: &head,
                    payload: Tail::NONE,
                };
                let mut said = 0;
                for number in 1..=PUSHES {
                    while push(outbox, priority, &message).is_err() {
                        assert!(outbox.wait_room(priority, deadline), "the peer reads");
                    }
                    if outbox.flush() {
                        said += 1;
                        let counts = outbox.priorities();
                        let lane = counts.iter().find(|lane| lane.priority == priority);
                        assert_eq!(lane.expect("it has a lane").sent, number);
                    }
                }
                said
            })
        });
        senders
            .into_iter()
            .map(|sender| sender.join().expect("no panic"))
            .sum()
    });
    assert!(said > 0, "nobody ever wrote");
    drop((outbox, stream));
    reading.join().expect("no panic");
}
