// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages of attackers and ways of reading, as building blocks.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use zonda_codec::transport::KeepAlive;
use zonda_codec::{
    CongestionControl, Declaration, Declare, Fragment, Interest, InterestMode, InterestOptions,
    LinkState, LinkStates, Oam, OamBody, Priority, Push, PushBody, Put, Qos, Query, Reliability,
    Request, WireExpr,
};
use zonda_transport::framing::frame;

use crate::hand::{Hand, bytes};
use crate::roles::Stage;

/// Period of keep-alives, shorter than every lease.
const KEEP_ALIVE: Duration = Duration::from_millis(400);

pub fn subscriber(id: u32, key: &str) -> Vec<u8> {
    declare(Declaration::Subscriber {
        id,
        wire_expr: WireExpr::full(key),
    })
}

pub fn no_subscriber(id: u32) -> Vec<u8> {
    declare(Declaration::UndeclareSubscriber { id, key: None })
}

pub fn queryable(id: u32, key: &str) -> Vec<u8> {
    declare(Declaration::Queryable {
        id,
        wire_expr: WireExpr::full(key),
        info: Default::default(),
    })
}

pub fn token(id: u32, key: &str) -> Vec<u8> {
    declare(Declaration::Token {
        id,
        wire_expr: WireExpr::full(key),
    })
}

pub fn key_id(id: u16, key: &str) -> Vec<u8> {
    declare(Declaration::KeyExpr {
        id,
        wire_expr: WireExpr::full(key),
    })
}

pub fn declare(body: Declaration<'_>) -> Vec<u8> {
    bytes(&Declare::new(body))
}

/// Returns an interest in all subscribers on a key, one declaration for each or one for all.
pub fn interest(id: u32, key: &str, aggregate: bool) -> Vec<u8> {
    let one = if aggregate {
        InterestOptions::AGGREGATE
    } else {
        InterestOptions::default()
    };
    bytes(&Interest {
        id,
        mode: InterestMode::CurrentFuture,
        options: InterestOptions::SUBSCRIBERS | InterestOptions::KEYEXPRS | one,
        wire_expr: Some(WireExpr::full(key)),
        qos: Qos::DECLARE,
        timestamp: None,
        node_id: 0,
    })
}

/// Returns a publication under Block with the usual priority.
pub fn put(key: &str, payload: &[u8]) -> Vec<u8> {
    let mut push = Push::new(WireExpr::full(key), PushBody::Put(Put::new(payload)));
    push.qos = Qos::new(Priority::Data, CongestionControl::Block, false);
    bytes(&push)
}

/// Returns a put under Drop.
pub fn drop_put(key: &str, payload: &[u8]) -> Vec<u8> {
    bytes(&Push::new(
        WireExpr::full(key),
        PushBody::Put(Put::new(payload)),
    ))
}

pub fn request(rid: u32, key: &str) -> Vec<u8> {
    bytes(&Request::new(rid, WireExpr::full(key), Query::default()))
}

/// Returns link states in one message.
pub fn link_states(states: &[LinkState<'_>]) -> Vec<u8> {
    link_states_of(&bytes(&LinkStates(states)))
}

/// Returns a message of link states with this body.
pub fn link_states_of(body: &[u8]) -> Vec<u8> {
    bytes(&Oam {
        id: Oam::LINK_STATE,
        qos: Qos::DECLARE,
        timestamp: None,
        body: OamBody::Buf(body),
    })
}

/// Sends one message in as many fragments as it needs. Returns false if the router closed the link.
pub fn in_parts(hand: &mut Hand, message: &[u8], priority: Priority) -> bool {
    let parts = message.chunks(60_000);
    let last = parts.len() - 1;
    parts.enumerate().all(|(number, payload)| {
        let sn = hand.sn(priority);
        hand.fragment(&Fragment {
            reliability: Reliability::Reliable,
            priority,
            sn,
            more: number < last,
            first: number == 0,
            drop: false,
            payload,
        })
    })
}

/// Sends keep-alives on a link until the case ends or the link does.
pub fn keep_alive(stage: &Stage, hand: &Hand) {
    let mut other = hand.other();
    let stage = stage.clone();
    std::thread::spawn(move || while other.is_kept_alive() && !stage.pause(KEEP_ALIVE) {});
}

/// Sets a small receive buffer: unread messages then wait at the router.
pub fn narrow(hand: &Hand) {
    let socket = socket2::SockRef::from(&hand.stream);
    socket.set_recv_buffer_size(32 * 1024).expect("a socket");
}

/// Reads at this pace at most until the case or the link ends; returns true if the link did.
pub fn read_slowly(stage: &Stage, stream: &TcpStream, bytes_per_second: u64) -> bool {
    let begin = Instant::now();
    let mut total = 0_u64;
    let mut buffer = vec![0; (bytes_per_second / 20).clamp(1, 1 << 16) as usize];
    loop {
        match read(stage, stream, &mut buffer) {
            Some(0) => return true,
            Some(read) => total += read as u64,
            None => return false,
        }
        let due = begin + Duration::from_secs_f64(total as f64 / bytes_per_second as f64);
        if stage.pause(due.saturating_duration_since(Instant::now())) {
            return false;
        }
    }
}

/// Reads all input until the case or the link ends; returns true if the link did.
pub fn read_all(stage: &Stage, stream: &TcpStream) -> bool {
    let mut buffer = vec![0; 1 << 18];
    loop {
        match read(stage, stream, &mut buffer) {
            Some(0) => return true,
            Some(_) => {}
            None => return false,
        }
    }
}

/// Reads all input for `length`; returns the number of bytes.
pub fn read_for(stage: &Stage, stream: &TcpStream, length: Duration) -> u64 {
    let deadline = Instant::now() + length;
    let mut buffer = vec![0; 1 << 16];
    let mut total = 0;
    while Instant::now() < deadline && !stage.is_over() {
        stream
            .set_read_timeout(Some(Duration::from_millis(50)))
            .expect("a socket");
        total += (&*stream).read(&mut buffer).unwrap_or(0) as u64;
    }
    total
}

/// Reads all input, on a thread of its own.
pub fn read_beside(stage: &Stage, hand: &Hand) {
    let stream = hand.stream.try_clone().expect("a socket");
    let stage = stage.clone();
    std::thread::spawn(move || read_all(&stage, &stream));
}

/// Reads some bytes; returns 0 if the link ended, `None` if the case did.
fn read(stage: &Stage, mut stream: &TcpStream, buffer: &mut [u8]) -> Option<usize> {
    stream
        .set_read_timeout(Some(Duration::from_millis(200)))
        .expect("a socket");
    loop {
        match stream.read(buffer) {
            Ok(read) => return Some(read),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => return Some(0),
        }
        if stage.is_over() {
            return None;
        }
    }
}

/// Waits without reading until the router closes the link or the case ends; returns true if the
/// router did.
pub fn sleep_on(stage: &Stage, hand: &Hand) -> bool {
    let mut other = hand.other();
    while other.is_kept_alive() {
        if stage.pause(Duration::from_millis(20)) {
            return false;
        }
    }
    true
}

/// Runs many guests; one thread sends keep-alives for all of them and reads their input.
pub fn crowd(stage: &Stage, guests: Vec<Hand>) {
    for guest in &guests {
        guest.stream.set_nonblocking(true).expect("a socket");
    }
    let stage = stage.clone();
    let mut batch = Vec::new();
    frame(&bytes(&KeepAlive), &mut batch);
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        let mut due = Instant::now();
        while !stage.pause(Duration::from_millis(2)) {
            let speaks = due <= Instant::now();
            if speaks {
                due += KEEP_ALIVE;
            }
            for guest in &guests {
                while matches!((&guest.stream).read(&mut buffer), Ok(1..)) {}
                if speaks {
                    // a closed guest stays in the crowd
                    let _ = (&guest.stream).write(&batch);
                }
            }
        }
    });
}
