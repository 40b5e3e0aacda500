// SPDX-License-Identifier: MIT OR Apache-2.0
//! Connections that are not admitted.

use std::time::{Duration, Instant};

use zonda::Config;
use zonda_codec::{
    InitExt, InitSyn, OpenSyn, Reader, Resolution, TransportMessage, WhatAmI, transport::reason,
};

use crate::hand::{Hand, bytes};
use crate::scene::{Scene, router};

/// Returns the configuration of a router with short time limits for handshakes.
fn impatient() -> Config {
    router().with("transport/unicast/accept_timeout", "300")
}

fn init_syn(stranger: &Hand, version: u8) -> Vec<u8> {
    bytes(&InitSyn {
        version,
        whatami: WhatAmI::Client,
        zid: stranger.zid(),
        resolution: Resolution::default(),
        batch_size: u16::MAX,
        ext: InitExt::default(),
    })
}

fn close_reason(batch: &[u8]) -> Option<u8> {
    match TransportMessage::decode(&mut Reader::new(batch)) {
        Ok(TransportMessage::Close(close)) => Some(close.reason),
        _ => None,
    }
}

#[test]
fn those_who_speak_something_else() {
    let scene = Scene::of(impatient());
    let noise: Vec<u8> = (0..4096_u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let greetings: [&[u8]; 7] = [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        &noise,
        &[0; 512],
        &[0xff; 512],
        &[3, 0, 0x04, 0x05, 0x06],
    ];
    for greeting in greetings {
        let mut stranger = scene.visitor();
        stranger.raw(greeting);
        assert!(stranger.is_hung_up_on());
    }
    scene.is_well();
}

#[test]
fn another_version_of_the_protocol() {
    let scene = Scene::open();
    for version in [0, 8, 10, 255] {
        let mut stranger = scene.visitor();
        let syn = init_syn(&stranger, version);
        stranger.send(&syn);
        let answer = stranger.receive().expect("a Close");
        assert_eq!(close_reason(&answer), Some(reason::INVALID));
        assert!(stranger.is_hung_up_on());
    }
    scene.is_well();
}

#[test]
fn the_routers_own_id() {
    let scene = Scene::open();
    let mut stranger = scene.visitor();
    stranger.parameters.zid = scene.node.zid();
    let syn = init_syn(&stranger, 9);
    stranger.send(&syn);
    let ack = stranger.receive().expect("an InitAck");
    let Ok(TransportMessage::InitAck(ack)) = TransportMessage::decode(&mut Reader::new(&ack))
    else {
        panic!("no InitAck: {ack:02x?}");
    };
    let lease = Duration::from_secs(10);
    stranger.send(&bytes(&OpenSyn {
        lease,
        initial_sn: 1,
        cookie: ack.cookie,
        ext: Default::default(),
    }));
    let refusal = stranger.receive().expect("a Close");
    assert_eq!(close_reason(&refusal), Some(reason::CONNECTION_TO_SELF));
    assert!(stranger.is_hung_up_on());
    scene.is_well();
}

#[test]
fn an_id_that_is_connected_already() {
    let scene = Scene::open();
    let mut first = scene.guest();
    for _ in 0..10 {
        let mut second = scene.visitor();
        second.parameters.zid = first.zid();
        let refusal = second.try_introduce().expect_err("that id is taken");
        assert_eq!(close_reason(&refusal), Some(reason::MAX_LINKS));
        assert!(second.is_hung_up_on());
    }
    assert!(first.is_served(), "the one who was there first");
    for link in scene.node.links() {
        let mut second = scene.visitor();
        second.parameters.zid = link.zid;
        assert!(second.try_introduce().is_err());
    }
    scene.is_well();
}

#[test]
fn a_cookie_that_nobody_gave_out() {
    let scene = Scene::open();
    let mut stranger = scene.visitor();
    let open = OpenSyn {
        lease: Duration::from_secs(10),
        initial_sn: 1,
        cookie: &[7; 3000],
        ext: Default::default(),
    };
    let syn = init_syn(&stranger, 9);
    stranger.send(&syn);
    assert!(stranger.receive().is_some(), "an InitAck");
    stranger.send(&bytes(&open));
    let answer = stranger.receive().expect("a Close");
    assert_eq!(close_reason(&answer), Some(reason::INVALID));
    assert!(stranger.is_hung_up_on());
    scene.is_well();
}

#[test]
fn half_an_introduction_then_a_reset() {
    let scene = Scene::open();
    for number in 0..200 {
        let mut stranger = scene.visitor();
        let syn = init_syn(&stranger, 9);
        match number % 3 {
            0 => {}
            1 => stranger.send(&syn),
            _ => {
                stranger.send(&syn);
                assert!(stranger.receive().is_some(), "an InitAck");
            }
        }
        stranger.reset();
    }
    let guests: Vec<Hand> = (0..20).map(|_| scene.guest()).collect();
    guests.into_iter().for_each(Hand::reset);
    scene.is_well();
}

#[test]
fn one_byte_at_a_time() {
    let scene = Scene::of(impatient());
    let mut stranger = scene.visitor();
    let mut greeting = vec![0xff, 0xff];
    greeting.resize(4096, 0x01);
    let begin = Instant::now();
    for byte in greeting {
        if !stranger.try_raw(&[byte]) {
            break;
        }
        assert!(
            begin.elapsed() < Duration::from_secs(10),
            "drip-feeding buys no time"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(stranger.is_hung_up_on());
    scene.is_well();
}
