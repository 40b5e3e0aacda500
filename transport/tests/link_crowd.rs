// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thousand peers that send nothing, garbage or half of a handshake do not delay an honest peer.
#![forbid(unsafe_code)]
#![cfg(unix)]

#[cfg(any(feature = "tls", feature = "ws"))]
#[path = "link_crowd/doors.rs"]
mod doors;
#[macro_use]
#[path = "link/peers.rs"]
mod peers;

use std::sync::{Mutex, MutexGuard, PoisonError};

use std::time::{Duration, Instant};

use peers::{Event, Hand, House, eventually, node, opener, tcp};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, Socket, Type};
use zonda_runtime::{Runtime, block_on_until};
use zonda_transport::dial::open_link;
use zonda_transport::listen::ListenOptions;
use zonda_transport::protocol::handshake::OpenStep;

/// Maximum time of an honest peer next to the crowd. Alone it takes well below a millisecond.
const PATIENCE: Duration = Duration::from_secs(2);

const CROWD: usize = 1000;

/// Maximum number of threads, as a crowd costs none: those of the test and of the runtime, and a
/// few of other tests that are ending.
const THREADS_MAX: usize = 40;

/// Takes the lock that admits one crowd at a time: descriptors and threads are counted, and waits
/// are measured.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the number of threads of this process, where the system reports it.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

/// Raises the limit of open descriptors as far as possible; both ends of each connection are in
/// this process.
fn room_for_a_crowd() -> usize {
    let limit = getrlimit(Resource::Nofile);
    // The old limit stays if this process has no right to raise it.
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    );
    let room = getrlimit(Resource::Nofile)
        .current
        .map_or(usize::MAX, |room| room as usize);
    let crowd = CROWD.min(room.saturating_sub(200) / 3);
    if crowd < CROWD {
        eprintln!("REDUCED: a crowd of {crowd}, since only {room} descriptors may be open");
    }
    crowd
}

/// Connects a peer of the kind that its number selects.
fn stranger(house: &House, number: usize) -> Hand {
    let mut hand = house.visit();
    let mut out = Vec::new();
    opener(99).start(&mut out);
    match number % 5 {
        0 | 1 => {}
        2 => {
            // The listener may hang up during this write.
            let _ = std::io::Write::write_all(&mut hand.0, &[number as u8 | 0x18; 2000]);
        }
        3 => hand.raw(&[out.len() as u8, 0, out[0], out[1]]),
        _ => hand.send(&out),
    }
    hand
}

/// Opens `count` links one after the other, each in time.
fn honest_links<R: Runtime>(runtime: &R, house: &House, count: usize) {
    for _ in 0..count {
        let deadline = Instant::now() + PATIENCE;
        let (to, own) = (tcp(house.address()), node(2));
        let attempt = open_link(runtime, &to, &own, PATIENCE);
        let link = block_on_until(deadline, attempt)
            .expect("in time")
            .expect("a link");
        assert_eq!(link.established.zid, node(1).zid);
    }
}

/// Returns the number of honest links that the listener reported; the crowd's handshakes only
/// failed.
fn accepted(house: &House) -> usize {
    house
        .events
        .try_iter()
        .filter(|event| matches!(event, Event::Accepted(_)))
        .count()
}

#[test]
fn an_honest_peer_gets_in_past_the_crowd() {
    let _alone = alone();
    let crowd = room_for_a_crowd();
    each_runtime!(runtime => a_crowd_at_the_door(runtime, crowd));
}

fn a_crowd_at_the_door<R: Runtime>(runtime: &R, crowd: usize) {
    let patient = ListenOptions {
        accept_timeout: Duration::from_secs(3600),
        ..ListenOptions::default()
    };

    // None of the crowd is evicted or admitted.
    let house = House::at(runtime, "tcp/127.0.0.1:0", patient.clone());
    let strangers: Vec<_> = (0..crowd).map(|number| stranger(&house, number)).collect();
    honest_links(runtime, &house, 5);
    let garbage = (0..crowd).filter(|number| number % 5 == 2).count();
    eventually("garbage is noticed", || {
        house.listening.counts().malformed as usize == garbage
    });
    eventually("the rest is pending", || {
        house.listening.pending() == crowd - garbage
    });
    assert!(threads() < THREADS_MAX, "{} threads", threads());
    // The listener's side may be notified of a link a moment after the opener's.
    let mut links = 0;
    eventually("five links", || {
        links += accepted(&house);
        links == 5
    });
    assert_eq!(house.listening.counts().evicted, 0);
    drop(strangers);
    eventually("they are gone", || house.listening.pending() == 0);
    drop(house);

    // The crowd exceeds the maximum: the oldest are evicted, and the honest peer is still admitted.
    let house = House::at(
        runtime,
        "tcp/127.0.0.1:0",
        ListenOptions {
            pending_max: 50,
            ..patient
        },
    );
    let strangers: Vec<_> = (0..crowd).map(|number| stranger(&house, number)).collect();
    honest_links(runtime, &house, 5);
    eventually("five links", || house.listening.counts().accepted == 5);
    assert!(house.listening.pending() <= 50);
    let counts = house.listening.counts();
    let gone = counts.evicted + counts.malformed + counts.io;
    assert!(gone as usize >= crowd - 50, "{counts:?}");
    drop(strangers);
}

/// Connects from this address of the machine.
fn from(ip: [u8; 4], to: std::net::SocketAddr) -> Hand {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    let local = std::net::SocketAddr::from((ip, 0));
    socket.bind(&local.into()).expect("a loopback address");
    socket.connect(&to.into()).expect("somebody listens");
    Hand(socket.into())
}

/// Opens enough silent connections to evict every connection that is not protected.
fn flood(house: &House, pending_max: usize) {
    let before = house.listening.counts().evicted;
    let strangers: Vec<Hand> = (0..3 * pending_max).map(|_| house.visit()).collect();
    eventually("most of them gave way", || {
        house.listening.counts().evicted >= before + 2 * pending_max as u64
    });
    drop(strangers);
}

/// A peer that is slow in each step is admitted, while between its steps more connections arrive
/// than the listener holds: from another address at any time, from its own address once the peer
/// has sent a message.
#[test]
fn a_slow_peer_gets_in_past_a_flood() {
    let _alone = alone();
    let pending_max = 20;
    let options = ListenOptions {
        pending_max,
        accept_timeout: Duration::from_secs(3600),
        ..ListenOptions::default()
    };
    let runtime = peers::runtimes().next().expect("one is compiled in");
    zonda_runtime::with_runtime!(&runtime, runtime => {
        let house = House::at(runtime, "tcp/127.0.0.1:0", options);
        for (ip, floods_first) in [([127, 0, 0, 2], true), ([127, 0, 0, 1], false)] {
            let mut honest = from(ip, house.address());
            if floods_first {
                flood(&house, pending_max);
            }
            let (mut opener, mut out) = (opener(7), Vec::new());
            opener.start(&mut out);
            honest.send(&out);
            let answer = honest.receive();
            flood(&house, pending_max);
            opener.handle_batch(&answer, &mut out).expect("an InitAck");
            honest.send(&out);
            let answer = honest.receive();
            let done = opener.handle_batch(&answer, &mut out).expect("an OpenAck");
            assert!(matches!(done, OpenStep::Done(_)), "{done:?}");
        }
    });
}
