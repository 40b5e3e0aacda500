// SPDX-License-Identifier: MIT OR Apache-2.0
//! Neighbours that read less than they are sent: frozen, slow, reconnecting again and again, with
//! tiny batches. An honest source publishes on the keys that they subscribe to; its other
//! subscribers must hardly notice.

use std::time::Duration;

use zonda_codec::WhatAmI;

use super::words::{
    interest, keep_alive, narrow, no_subscriber, read_all, read_beside, read_for, read_slowly,
    sleep_on, subscriber,
};
use crate::hand::Hand;
use crate::roles::Stage;
use crate::world::{Bounds, Flow, Load, Setup, Verdict, World, seconds};

/// Cost of a stuck subscriber to the other subscribers of its source, at most, once.
pub(super) const STUCK: Bounds = Bounds {
    silence_ms: 600,
    ..Bounds::USUAL
};

/// Returns a load of large messages at speed, and urgent small ones.
fn large() -> Load {
    let flows = vec![Flow::block(1 << 20, 40), Flow::drop(8, 100).priority(1)];
    Load::of("load", flows)
}

/// Returns a load of small messages at speed, and urgent ones.
fn fast() -> Load {
    let flows = vec![Flow::block(1000, 0), Flow::drop(8, 100).priority(1)];
    Load::of("load", flows)
}

fn subscribed(stage: &Stage) -> Hand {
    let mut guest = stage.guest();
    narrow(&guest);
    guest.subscribe(1, "honest/load/*");
    assert!(guest.is_served());
    guest
}

/// Subscribes and never reads. With the argument `and a reader` another guest subscribes afterwards
/// that reads all.
pub fn frozen(stage: &Stage) {
    let frozen = subscribed(stage);
    let reader = (stage.argument == "and a reader").then(|| subscribed(stage));
    if let Some(reader) = &reader {
        keep_alive(stage, reader);
        read_beside(stage, reader);
    }
    stage.say("attacking");
    if sleep_on(stage, &frozen) {
        stage.say("cut off");
    }
    stage.wait();
}

/// Subscribes and reads as many bytes per second as the argument says.
pub fn slow(stage: &Stage) {
    let guest = subscribed(stage);
    keep_alive(stage, &guest);
    stage.say("attacking");
    if read_slowly(stage, &guest.stream, stage.number(60_000)) {
        stage.say("cut off");
    }
    stage.wait();
}

/// Stops reading; as soon as it is closed it reconnects and stops reading again.
pub fn sleeper_that_returns(stage: &Stage) {
    stage.say("attacking");
    stage.while_on(|| {
        let mut guest = stage.visitor();
        if !guest.is_let_in() {
            return !stage.pause(Duration::from_millis(20));
        }
        narrow(&guest);
        guest.frame(&subscriber(1, "honest/load/*"));
        sleep_on(stage, &guest);
        true
    });
}

/// Subscribes with batches as small as the argument says, and reads all.
pub fn tiny_batches(stage: &Stage) {
    let mut guest = stage.visitor();
    guest.parameters.batch_size = stage.number(32) as u16;
    if !guest.is_let_in() {
        stage.say("attacking");
        return stage.wait();
    }
    guest.subscribe(1, "honest/load/*");
    keep_alive(stage, &guest);
    stage.say("attacking");
    read_all(stage, &guest.stream);
    stage.wait();
}

/// Declares and undeclares subscribers as fast as the router takes it.
pub fn churn(stage: &Stage) {
    let mut guest = stage.guest();
    read_beside(stage, &guest);
    let toggles = (0..500).flat_map(|id| [subscriber(id, "news/today"), no_subscriber(id)]);
    let toggles: Vec<Vec<u8>> = toggles.collect();
    stage.say("attacking");
    stage.while_on(|| guest.messages(toggles.iter().cloned()));
    stage.wait();
}

/// Connects as an innocent neighbour on a slow line that is interested in all declarations.
pub fn slow_listener(stage: &Stage) {
    let mut guest = stage.guest();
    narrow(&guest);
    assert!(guest.frame(&interest(1, "news/**", false)));
    assert!(guest.is_served());
    keep_alive(stage, &guest);
    stage.say("listening");
    if read_slowly(stage, &guest.stream, stage.number(100_000)) {
        stage.say("cut off");
    }
    stage.wait();
}

/// Connects to a peer as a peer and never ends its declarations. Reads for three seconds, reports
/// how many bytes came in the last one, and then stops reading.
pub fn peer_without_a_word(stage: &Stage) {
    let mut guest = stage.visitor();
    guest.parameters.whatami = WhatAmI::Peer;
    guest.introduce();
    keep_alive(stage, &guest);
    stage.say("attacking");
    read_for(stage, &guest.stream, seconds(2.0));
    let last = read_for(stage, &guest.stream, seconds(1.0));
    stage.say(&format!("in the last second {last}"));
    stage.wait();
}

/// One frozen neighbour that connected first, and one that reads all.
#[test]
fn s2_large_messages_frozen_first() {
    large_messages("and a reader");
}

#[test]
fn s2_large_messages_frozen_last() {
    large_messages("");
}

#[track_caller]
fn large_messages(argument: &str) {
    let mut world = World::open(Setup::router());
    world.honest(large());
    world.quiet(seconds(2.0));
    let attack = world.attack("frozen", argument);
    attack.said("attacking");
    world.attacked(seconds(3.0));
    world.verdict().holds(&STUCK);
}

#[test]
fn s5_a_slow_reader_of_a_fast_source() {
    stuck(fast(), "slow", "60000");
}

#[test]
fn s5_a_slow_reader_of_large_messages() {
    stuck(large(), "slow", "60000");
}

/// The neighbour needs two seconds for a message of 1 MiB, which uses up the time that its sources
/// wait; but not at a stretch.
#[test]
fn s5_a_reader_at_half_the_pace() {
    let flows = vec![Flow::block(1 << 20, 4), Flow::block(8, 1000).priority(4)];
    let verdict = beside(Load::of("load", flows), "slow", "600000");
    verdict.holds(&Bounds::USUAL);
}

#[test]
fn s5_a_sleeper_that_returns() {
    stuck(fast(), "sleeper_that_returns", "");
}

#[track_caller]
fn stuck(load: Load, attack: &str, argument: &str) {
    beside(load, attack, argument).holds(&STUCK);
}

/// Measures a load during an attack.
pub(super) fn beside(load: Load, attack: &str, argument: &str) -> Verdict {
    let mut world = World::open(Setup::router());
    world.honest(load);
    world.quiet(seconds(2.0));
    let attack = world.attack(attack, argument);
    attack.said("attacking");
    world.attacked(seconds(4.0));
    world.verdict()
}

/// With the reference's behaviour, under which a source waits without limit: a waiting source is
/// not considered dead.
#[test]
fn s7_a_source_that_is_not_read() {
    let patience = "transport/link/tx/queue/congestion_control/block/wait_before_close:3000000";
    let setup = Setup::router()
        .with(patience)
        .own("isolation/slow:\"pause\"");
    let mut world = World::open(setup);
    let flows = vec![Flow::block(1000, 0)];
    world.honest(Load::of("load", flows).configured("transport/link/tx/lease", "1500"));
    world.quiet(seconds(1.0));
    let attack = world.attack("frozen", "");
    attack.said("attacking");
    world.attacked(seconds(6.0));
    let expired = world.router_lines();
    let expired = expired.iter().find(|line| line.contains("lease"));
    assert_eq!(expired, None);
    world.verdict().holds(&Bounds {
        silence_ms: 3500,
        throughput: 0.05,
        ..Bounds::USUAL
    });
}

#[test]
fn s8_a_peer_without_a_word() {
    let load = Load::of("load", vec![Flow::block(1000, 500)]);
    let load = load.configured("routing/interests/timeout", "1000");
    let mut world = World::of_peers(load);
    world.quiet(seconds(1.0));
    let attack = world.attack("peer_without_a_word", "");
    attack.said("attacking");
    world.attacked(seconds(8.0));
    let unasked: u64 = attack
        .said("in the last second ")
        .parse()
        .expect("a number");
    assert!(unasked < 500, "{unasked} bytes that nobody asked for");
    world.verdict().holds(&STUCK);
}

/// A publisher closes a frozen subscriber of its own as a router would.
#[test]
fn s8_a_frozen_peer() {
    let mut world = World::of_peers(large());
    world.quiet(seconds(2.0));
    let attack = world.attack("frozen", "");
    attack.said("attacking");
    world.attacked(seconds(3.0));
    world.verdict().holds(&STUCK);
}

/// Batches of 32 bytes are refused; batches of 1024 bytes cost the honest clients little.
#[test]
fn s9_tiny_batches() {
    for size in ["32", "1024"] {
        let mut world = World::open(Setup::router());
        // A rate that an unoptimised build forwards to three subscribers on two processors with
        // some time to spare.
        let flows = vec![Flow::drop(1000, 10_000), Flow::drop(8, 100).priority(1)];
        world.honest(Load::of("load", flows));
        world.quiet(seconds(2.0));
        let attack = world.attack("tiny_batches", size);
        attack.said("attacking");
        world.attacked(seconds(3.0));
        world.verdict().holds(&Bounds::USUAL);
    }
}

/// The churn of one neighbour does not end another one's link, nor do declarations pile up for it.
#[test]
fn s10_churn_beside_a_slow_listener() {
    let mut world = World::open(Setup::router());
    world.honest(Load::usual());
    world.quiet(seconds(1.0));
    let mut listener = world.attack("slow_listener", "20000");
    listener.said("listening");
    let attack = world.attack("churn", "");
    attack.said("attacking");
    world.attacked(seconds(6.0));
    assert!(listener.is_running());
    assert!(!listener.has_said("cut off"), "the listener was cut off");
    world.verdict().holds(&Bounds {
        growth_mib: 8,
        ..Bounds::USUAL
    });
}
