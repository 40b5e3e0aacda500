// SPDX-License-Identifier: MIT OR Apache-2.0
//! Peers and pipes that damage their bytes: the link may end, and there is no other effect.

use std::sync::Arc;
use std::time::Duration;

use crate::protocol::handshake::{Acceptor, CookieKey, Opener};
use crate::protocol::parameters::Established;
use crate::protocol::rx::{Flow, Receiver};
use zonda_codec::WhatAmI;
use zonda_codec::ZSlice;

use super::for_seeds;
use super::pipe::Faults;
use super::rng::Rng;
use super::side::node;
use super::traffic::Recorder;
use super::world::World;

fn faults(rng: &mut Rng) -> Faults {
    Faults {
        truncation: rng.pick(&[0, 10, 100]),
        bit_flips: rng.pick(&[0, 10, 100]),
        garbage: rng.pick(&[0, 10, 100]),
        duplication: rng.pick(&[0, 50]),
        loss: rng.pick(&[0, 50]),
        ..Faults::default()
    }
}

#[test]
fn damaged_batches_end_the_link_at_worst() {
    for_seeds(1200, |seed| {
        let mut world = World::new(seed);
        for side in &mut world.sides {
            side.checks_with_oracle = false;
        }
        world.open();
        let faults = faults(&mut world.rng);
        world.set_faults(faults);
        world.load(30, Duration::from_millis(100));
        let limit = world.now + Duration::from_secs(120);
        world.run_until(limit.min(world.now + Duration::from_secs(20)));
        for end in world.ends().into_iter().flatten() {
            assert!(end.is_of_damage(), "{end:?}");
        }
    });
}

#[test]
fn damaged_handshakes_end_in_time() {
    for_seeds(1500, |seed| {
        let mut world = World::new(seed);
        for side in &mut world.sides {
            side.checks_with_oracle = false;
        }
        let faults = faults(&mut world.rng);
        world.set_faults(Faults {
            bit_flips: 400,
            ..faults
        });
        world.begin();
        world.run_until(world.start + Duration::from_secs(25));
        for side in &world.sides {
            assert!(side.end().is_some() || side.is_open(), "undecided");
        }
    });
}

#[test]
fn a_peer_that_sends_garbage_is_dropped_at_once() {
    for_seeds(500, |seed| {
        let mut rng = Rng::new(seed);
        let local = node(7, WhatAmI::Peer, Duration::from_secs(10));
        let mut opener = Opener::new(local.clone(), None);
        let mut acceptor = Acceptor::new(local, Arc::new(CookieKey::new([1; 32])));
        let mut out = Vec::new();
        let count = rng.between(24, 64) as usize;
        opener
            .handle_batch(&rng.bytes(count), &mut out)
            .expect_err("not an answer");
        acceptor
            .handle_batch(&rng.bytes(count), &mut out)
            .expect_err("not a peer");

        let mut receiver = Receiver::new(&plain_link(), 4096);
        let mut recorder = Recorder::default();
        let ended = (0..1000).any(|_| {
            let length = rng.between(1, 200) as usize;
            let block = ZSlice::from(rng.bytes(length));
            let flow = receiver.handle_batch(block.as_slice(), &block, &mut recorder);
            assert!(receiver.defragmenter().buffered_bytes() <= 8192);
            !matches!(flow, Ok(Flow::Open))
        });
        assert!(ended, "garbage for a thousand batches");
    });
}

/// Fragments with all flags and numbers, of random sizes: the worst case for the accounts of the
/// reassembly.
#[test]
fn hostile_fragments_stay_within_the_limits() {
    use zonda_codec::{Encode, Fragment, Priority, Reliability};
    for_seeds(300, |seed| {
        let mut rng = Rng::new(seed);
        let patch = rng.below(2) as u8;
        let established = Established {
            patch,
            sn_mask: 0x7f,
            ..plain_link()
        };
        let mut receiver = Receiver::new(&established, 2000);
        let mut recorder = Recorder::default();
        let mut numbers = [0_u32; 16];
        for _ in 0..300 {
            let channel = rng.below(16) as usize;
            let step = if rng.per_mille(900) {
                1
            } else {
                rng.below(128) as u32
            };
            numbers[channel] = (numbers[channel] + step) & 0x7f;
            let count = rng.below(900) as usize;
            let fragment = Fragment {
                reliability: if channel % 2 == 1 {
                    Reliability::Reliable
                } else {
                    Reliability::BestEffort
                },
                priority: Priority::ALL[channel / 2],
                sn: numbers[channel],
                more: rng.per_mille(900),
                first: rng.per_mille(200),
                drop: rng.per_mille(50),
                payload: &vec![0x5a; count],
            };
            let block = ZSlice::from(fragment.to_vec().expect("it has a wire form"));
            let flow = receiver.handle_batch(block.as_slice(), &block, &mut recorder);
            assert_eq!(flow, Ok(Flow::Open), "fragments alone never cost the link");
            let defragmenter = receiver.defragmenter();
            assert!(defragmenter.buffered_bytes() <= 4000);
            assert!(defragmenter.allocated_bytes() <= 17 * 4096);
        }
    });
}

fn plain_link() -> Established {
    Established::plain(zonda_codec::ZenohId::random_from(1), WhatAmI::Peer)
}
