// SPDX-License-Identifier: MIT OR Apache-2.0
//! Connections of several links: priorities that wait, a silent peer, and the end of all links at
//! once.

use std::io::Write;
use std::net::{TcpListener, TcpStream};

use zonda_codec::WhatAmI;
use zonda_runtime::{RuntimeOptions, Socket, TokioRuntime};

use super::*;
use crate::driver::read::tests::{Waiting, declared_id, put_on_an_id};
use crate::ledger::{Ledger, Share};
use crate::protocol::parameters::Established;

/// The longest silence of a peer in the middle of a message.
const IDLE_MAX: Duration = Duration::from_millis(50);

/// The longest wait for something that happens.
const SOON: Duration = Duration::from_secs(20);

fn connected() -> (TcpStream, JoiningLink, impl Fn() -> u8) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("bound");
    let far = TcpStream::connect(at).expect("it listens");
    let (near, _) = listener.accept().expect("it has come");
    near.set_nonblocking(true).expect("a socket");
    let (stream, look) = LinkStream::carried(Socket::from(near));
    let joining = JoiningLink {
        stream,
        unread: Vec::new(),
        timers: Timers::new(clock::now(), SOON, 4, 10 * SOON),
        direct: None,
        qos_link: None,
    };
    (far, joining, look)
}

/// Each priority has one link: the smallest range that has it, else the oldest link without a range.
#[test]
fn each_priority_has_the_link_that_fits_it_best() {
    let range = |first: u8, last: u8, reliability| {
        let [first, last] = [first, last].map(|number| Priority::ALL[usize::from(number)]);
        Some(QosLink::new(Some((first, last)), reliability))
    };
    let (lossy, sure) = (Some(Reliability::BestEffort), Some(Reliability::Reliable));
    let of = |links: &[Option<QosLink>]| lanes_of(links);
    assert_eq!(of(&[None, None]), [0xff, 0]);
    assert_eq!(of(&[range(1, 3, sure), range(4, 7, sure)]), [0x0f, 0xf0]);
    assert_eq!(of(&[range(4, 7, None), range(1, 3, None)]), [0xf1, 0x0e]);
    assert_eq!(of(&[None, range(1, 3, None)]), [0xf1, 0x0e]);
    assert_eq!(of(&[range(0, 7, None), range(2, 2, None)]), [0xfb, 0x04]);
    assert_eq!(of(&[range(5, 5, None), None]), [0x20, 0xdf]);
    // A link that may lose messages is the last choice.
    assert_eq!(of(&[Some(QosLink::new(None, lossy)), None]), [0, 0xff]);
    assert_eq!(of(&[range(1, 3, lossy), range(1, 7, sure)]), [0x01, 0xfe]);
    // Numbers that a hostile peer names are no range.
    let reversed = QosLink::from_bits(0b010 | 7 << 3 | 1 << 11);
    assert_eq!(of(&[Some(reversed), None]), [0, 0xff]);
    assert_eq!(
        of(&[Some(QosLink::from_bits(0b010 | 255 << 3 | 255 << 11))]),
        [0xff]
    );
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + SOON;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::yield_now();
    }
}

/// Connection of two links whose handler waits for ids.
struct Scene {
    _runtime: TokioRuntime,
    outbox: Arc<Outbox>,
    given_up: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
    /// The other ends.
    far: [TcpStream; 2],
    /// The priorities that each carrier is to stop.
    looks: [Box<dyn Fn() -> u8>; 2],
}

impl Scene {
    fn open() -> Scene {
        let runtime = TokioRuntime::start_current_thread(&RuntimeOptions::default()).expect("one");
        let established = Established::plain("a1".parse().expect("an id"), WhatAmI::Peer);
        let outbox = Arc::new(Outbox::new(&established, 1 << 20, None));
        let share = Share::of(&Ledger::new(1 << 30, false));
        let receiver = Receiver::new(&established, 1 << 20).within(share, 1 << 21, IDLE_MAX);
        let handler = Waiting::for_each_id(10 * SOON);
        let (given_up, over) = (Arc::clone(&handler.given_up), Arc::clone(&handler.over));
        let bundle = Bundle::new(Arc::clone(&outbox), receiver, handler, |_| {});
        let [(first, one, look), (second, other, look_too)] = [connected(), connected()];
        for joining in [one, other] {
            bundle.join(&runtime, joining).expect("it is open");
        }
        Scene {
            _runtime: runtime,
            outbox,
            given_up,
            over,
            far: [first, second],
            looks: [Box::new(look), Box::new(look_too)],
        }
    }

    fn is_held_on_both(&self, held: u8) -> bool {
        self.looks.iter().all(|look| look() == held)
    }
}

#[test]
fn a_priority_that_waits_is_stopped_on_every_link() {
    let mut scene = Scene::open();
    scene.far[0].write_all(&put_on_an_id()).expect("it is sent");
    let held = 1 << zonda_codec::Priority::Data as u8;
    wait_until("both are stopped", || scene.is_held_on_both(held));
    scene.far[1].write_all(&declared_id()).expect("it is sent");
    wait_until("both go on", || scene.is_held_on_both(0));
    assert!(!scene.given_up.load(Ordering::SeqCst));
}

/// A message waits for its id, and no link is left to bring the declaration: the handler gets the
/// message a last time, so that its loss is counted.
#[test]
fn links_that_end_together_leave_nothing_that_waits() {
    let mut scene = Scene::open();
    scene.far[0].write_all(&put_on_an_id()).expect("it is sent");
    wait_until("the message waits", || scene.outbox.held() == 1);
    let Scene {
        far,
        given_up,
        over,
        ..
    } = scene;
    drop(far);
    wait_until("the connection ends", || over.load(Ordering::SeqCst));
    assert!(given_up.load(Ordering::SeqCst));
}

#[test]
fn silence_in_the_middle_of_a_message_has_its_time() {
    let mut scene = Scene::open();
    // A fragment that is the first of more.
    let fragment = [&[8, 0, 0xe6, 0, 0x02][..], &[7; 5]].concat();
    scene.far[0].write_all(&fragment).expect("it is sent");
    wait_until("the connection ends", || scene.outbox.ended().is_some());
    let ended = scene.outbox.ended().cloned();
    assert!(
        matches!(&ended, Some(Ended::Misbehaved(why)) if why.contains("50ms")),
        "{ended:?}"
    );
}
