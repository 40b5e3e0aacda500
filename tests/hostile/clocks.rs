// SPDX-License-Identifier: MIT OR Apache-2.0
//! Neighbours that send little: silence in the middle of a message, few bytes that are many
//! messages, and datagrams in the name of another address.

use std::net::UdpSocket;
use std::sync::Arc;
use std::time::{Duration, Instant};

use zonda::Wait;
use zonda_codec::{
    Close, Encode, Fragment, InitExt, InitSyn, Priority, Push, PushBody, Put, Reliability,
    Resolution, WhatAmI, WireExpr, ZenohId,
};
use zonda_transport::framing::frame;
use zonda_transport::protocol::options::LocalOptions;

use crate::hand::bytes;
use crate::lies::{LEASE, Stage};
use crate::scene::{LONG, Scene, router, until};

/// Number of messages in a batch of keep-alives, each of which is one byte.
const KEEP_ALIVES: usize = 65_000;

/// Opens a scene whose router has this value of a key.
fn scene(key: &str, value: &str) -> Scene {
    let mut config = router();
    config.set_json5(key, value).expect("a key and its value");
    Scene::of(config)
}

/// A neighbour that begins a message and then falls silent keeps its bytes for
/// `limits/unfinished_ms`, however long its lease.
#[test]
fn s35_silence_in_the_middle_of_a_message() {
    let scene = scene("limits/unfinished_ms", "500");
    let mut guest = scene.visitor();
    guest.parameters.lease = 2 * LONG;
    guest.introduce();
    let sn = guest.sn(Priority::Data);
    guest.fragment(&Fragment {
        reliability: Reliability::Reliable,
        priority: Priority::Data,
        sn,
        more: true,
        first: true,
        drop: false,
        payload: &[7; 60_000],
    });
    scene.is_rid_of(&mut guest);
}

/// Returns a batch of keep-alives, compressed.
fn packed_keep_alives() -> Vec<u8> {
    // A literal, and its repetition: the block format of LZ4.
    let mut block = vec![0x1f, 0x04, 1, 0];
    let mut left = KEEP_ALIVES - 1 - 19 - 12;
    while left >= 255 {
        block.push(255);
        left -= 255;
    }
    block.push(left as u8);
    block.push(12 << 4);
    block.extend([0x04; 12]);
    let mut framed = Vec::new();
    frame(&[&[1], &block[..]].concat(), &mut framed);
    framed
}

/// Maximum silence that honest neighbours see, without the machine's share. A read of such batches
/// takes seconds in a debug build.
const SILENCE_MAX: Duration = Duration::from_secs(1);

#[test]
fn s33_few_bytes_that_are_many_messages() {
    let scene = scene("transport/unicast/compression/enabled", "true");
    let mut guest = scene.visitor();
    guest.parameters.options = Arc::new(LocalOptions {
        compression: true,
        ..LocalOptions::default()
    });
    guest.introduce();
    assert!(guest.agreed().options.compression);
    let batches = packed_keep_alives().repeat(500);
    guest.raw(&batches);
    let begun = Instant::now();
    let silence = scene.longest_silence(|| begun.elapsed() > Duration::from_secs(3));
    assert!(
        silence < SILENCE_MAX,
        "honest messages stood for {silence:?}"
    );
    scene.is_well();
}

/// Returns the smallest InitSyn.
fn small_init_syn() -> Vec<u8> {
    let zid: ZenohId = "a".parse().expect("an id");
    let whole = InitSyn {
        version: 9,
        whatami: WhatAmI::Client,
        zid,
        resolution: Resolution::default(),
        batch_size: u16::MAX,
        ext: InitExt::default(),
    };
    whole.to_vec().expect("it has a wire form")
}

/// An address without a cookie gets few answers, whatever is sent in its name; links and new
/// connections are not affected.
#[test]
fn s37_answers_to_an_address_that_proves_nothing() {
    const SENT: usize = 20_000;
    let stage = Stage::of("udp");
    let stranger = UdpSocket::bind("127.0.0.1:0").expect("a port");
    stranger.set_nonblocking(true).expect("a socket");
    let (asked, begun) = (small_init_syn(), Instant::now());
    let (mut heard, mut buffer) = (0, [0; 2048]);
    for number in 0..SENT {
        stranger.send_to(&asked, stage.place()).expect("it is sent");
        while let Ok(count) = stranger.recv(&mut buffer) {
            heard += count;
        }
        if number % 20 == 0 {
            std::thread::yield_now();
        }
    }
    // The last answer comes after all earlier ones.
    let deadline = Instant::now() + Duration::from_millis(500);
    while Instant::now() < deadline {
        while let Ok(count) = stranger.recv(&mut buffer) {
            heard += count;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    // 128 KiB at once and 32 KiB a second.
    let most = 128 * 1024 + begun.elapsed().as_millis() as usize * 32 * 1024 / 1000;
    println!("{heard} bytes for {} of the question", SENT * asked.len());
    assert!(heard <= most, "{heard} bytes, {most} at most");
    stage.honest_pass("strangers that ask");
    // A new peer repeats its InitSyn until it is answered.
    drop(stage.liar(LEASE));
    stage.honest_pass("a newcomer beside them");
}

/// A Close from the address of a peer that continues to send is not the peer's.
#[test]
fn s37_a_close_in_the_name_of_a_peer_that_goes_on() {
    let stage = Stage::of("udp");
    let subscriber = stage.honest.declare_subscriber("close/after").wait();
    let subscriber = subscriber.expect("a subscriber");
    let mut peer = stage.liar(LEASE);
    until("the peer is known", || stage.scene.link(peer.zid).is_some());
    peer.say(&bytes(&Close {
        reason: 0,
        session: true,
    }));
    let closed = Instant::now();
    let mut said = Duration::ZERO;
    until("what was said long after the Close arrives", || {
        if closed.elapsed() > said + Duration::from_millis(20) {
            said = closed.elapsed();
            let number = said.as_millis() as u64;
            let payload = number.to_le_bytes();
            let put = PushBody::Put(Put::new(&payload));
            let on = Push::new(WireExpr::full("close/after"), put);
            let on = peer.frame(&bytes(&on));
            peer.say(&on);
        }
        let heard = subscriber.try_recv().expect("open");
        heard.is_some_and(|sample| {
            let payload = sample.payload().as_slice().try_into();
            payload.is_ok_and(|number| u64::from_le_bytes(number) > 6000)
        })
    });
    assert!(stage.scene.link(peer.zid).is_some(), "its link goes on");
}

/// A peer that has sent a Close and is silent is removed, also where its system does not report the
/// end.
#[test]
fn s37_a_close_of_a_peer_that_is_silent() {
    let stage = Stage::of("udp");
    let mut peer = stage.liar(LEASE);
    until("the peer is known", || stage.scene.link(peer.zid).is_some());
    peer.say(&bytes(&Close {
        reason: 0,
        session: true,
    }));
    until("it is gone", || stage.scene.link(peer.zid).is_none());
    drop(peer);
}
