// SPDX-License-Identifier: MIT OR Apache-2.0
//! Neighbours whose batches, frames and fragments are malformed.

use std::time::Duration;

use zonda_codec::{Fragment, Priority, Push, PushBody, Put, Reliability, WireExpr};

use crate::hand::{Hand, bytes};
use crate::scene::{Scene, router};

fn push(key: &str) -> Vec<u8> {
    bytes(&Push::new(
        WireExpr::full(key),
        PushBody::Put(Put::new(b"x")),
    ))
}

/// Sends a fragment that is not the last.
fn part(guest: &mut Hand, priority: Priority, first: bool, payload: &[u8]) -> bool {
    let sn = guest.sn(priority);
    let reliability = Reliability::Reliable;
    guest.fragment(&Fragment {
        reliability,
        priority,
        sn,
        more: true,
        first,
        drop: false,
        payload,
    })
}

#[test]
fn noise_after_a_proper_introduction() {
    let scene = Scene::open();
    for seed in 1..20_u32 {
        let mut guest = scene.guest();
        // 0x1f at the start of a batch is the id of no transport message.
        let noise =
            (1..2000_u32).map(|at| (at.wrapping_mul(seed).wrapping_mul(2_654_435_761) >> 11) as u8);
        let batch: Vec<u8> = std::iter::once(0x1f).chain(noise).collect();
        guest.send(&batch);
        scene.is_rid_of(&mut guest);
    }
}

#[test]
fn a_batch_that_is_never_finished() {
    let scene = Scene::open();
    let mut guest = scene.visitor();
    guest.parameters.lease = Duration::from_millis(400);
    guest.introduce();
    guest.raw(&60_000_u16.to_le_bytes());
    guest.raw(&[5; 10]);
    scene.is_rid_of(&mut guest);
}

#[test]
fn a_batch_of_nothing_means_nothing() {
    let scene = Scene::open();
    let mut guest = scene.guest();
    guest.raw(&[0; 2000]);
    assert!(guest.is_served());
    scene.is_well();
}

#[test]
fn a_batch_larger_than_agreed() {
    let scene = Scene::open();
    let mut guest = scene.visitor();
    guest.parameters.batch_size = 1100;
    guest.introduce();
    assert_eq!(guest.agreed().batch_size, 1100);
    let messages = push("some/key").repeat(200);
    assert!(messages.len() > 1000);
    guest.frame(&messages);
    scene.is_rid_of(&mut guest);
}

#[test]
fn messages_that_cannot_be_read() {
    let scene = Scene::open();
    let whole = push("some/key");
    let cut = &whole[..whole.len() - 1];
    let not_utf8 = push("\u{7f}")
        .iter()
        .map(|&byte| if byte == 0x7f { 0xff } else { byte })
        .collect::<Vec<u8>>();
    let declare_of_nothing_known = [0x1e, 0x1c];
    for messages in [cut, &not_utf8, &declare_of_nothing_known] {
        let mut guest = scene.guest();
        guest.frame(&[&whole, messages].concat());
        scene.is_rid_of(&mut guest);
    }
}

#[test]
fn an_extension_that_must_be_understood() {
    let scene = Scene::open();
    let mut message = push("some/key");
    message[0] |= 0x80;
    // PUSH: header, scope, suffix length, suffix; the extension comes next.
    let at = 3 + "some/key".len();
    let optional = 0x0d;
    message.insert(at, optional);
    let mut tolerated = scene.guest();
    tolerated.frame(&message);
    assert!(tolerated.is_served(), "what may be skipped is skipped");
    message[at] = optional | 0x10;
    let mut guest = scene.guest();
    guest.frame(&message);
    scene.is_rid_of(&mut guest);
}

#[test]
fn fragments_without_an_end_on_every_channel() {
    let scene = Scene::of(router().with("transport/link/rx/max_message_size", "1000000"));
    let mut guest = scene.guest();
    for round in 0..50 {
        for priority in Priority::ALL {
            assert!(part(&mut guest, priority, round == 0, &[7; 60_000]));
        }
    }
    assert!(
        guest.is_served(),
        "the messages are given up, the link is not"
    );
    scene.is_well();
    for priority in Priority::ALL {
        for _ in 0..50 {
            assert!(
                part(&mut guest, priority, true, &[7; 60_000]),
                "every one starts anew"
            );
        }
    }
    assert!(guest.is_served());
    scene.is_well();
}

#[test]
fn fragments_in_disorder() {
    let scene = Scene::open();
    let mut guest = scene.guest();
    let message = push("some/key");
    let (front, back) = message.split_at(4);
    let reliability = Reliability::Reliable;
    let priority = Priority::DataLow;
    let piece = |guest: &mut Hand, skip: u32, (first, more): (bool, bool), payload: &[u8]| {
        for _ in 0..skip {
            guest.sn(priority);
        }
        let sn = guest.sn(priority);
        assert!(guest.fragment(&Fragment {
            reliability,
            priority,
            sn,
            more,
            first,
            drop: false,
            payload
        }));
    };
    // An end without a beginning, a gap in the middle, two beginnings, noise as a whole message, nothing at all.
    piece(&mut guest, 0, (false, false), back);
    piece(&mut guest, 0, (true, true), front);
    piece(&mut guest, 5, (false, false), back);
    piece(&mut guest, 0, (true, true), front);
    piece(&mut guest, 0, (true, true), front);
    piece(&mut guest, 0, (false, false), back);
    piece(&mut guest, 0, (true, true), &[0xff; 100]);
    piece(&mut guest, 0, (false, false), &[0xff; 100]);
    piece(&mut guest, 0, (true, false), &[]);
    assert!(guest.is_served());
    scene.is_well();
}

#[test]
fn numbers_out_of_line() {
    let scene = Scene::open();
    let mut guest = scene.guest();
    let (mask, next) = (guest.agreed().sn_mask, guest.sn(Priority::Data));
    let message = push("some/key");
    for away in [0, 0, mask / 2 + 10, mask, mask - 5, 1 << 20] {
        assert!(guest.frame_numbered(&message, Some(next.wrapping_add(away) & mask)));
    }
    // The number of the last accepted frame is the one to continue from.
    let on = next.wrapping_add((1 << 20) + 1) & mask;
    assert!(guest.frame_numbered(&message, Some(on)));
    let mut beyond = scene.guest();
    beyond.frame_numbered(&message, Some(mask + 1));
    scene.is_rid_of(&mut beyond);
    assert!(
        scene.link(guest.zid()).is_some(),
        "the first one only lost its frames"
    );
}

#[test]
fn gone_in_the_middle_of_a_large_message() {
    let scene = Scene::open();
    for round in 0..3 {
        let mut guest = scene.guest();
        for number in 0..40 {
            assert!(part(&mut guest, Priority::Data, number == 0, &[1; 60_000]));
        }
        guest.raw(&[0xff]);
        let zid = guest.zid();
        crate::scene::until("the guest is known", || scene.link(zid).is_some());
        if round == 0 {
            drop(guest)
        } else {
            guest.reset()
        }
        crate::scene::until("the face is forgotten", || scene.link(zid).is_none());
    }
    scene.is_well();
}
