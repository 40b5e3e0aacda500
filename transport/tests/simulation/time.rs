// SPDX-License-Identifier: MIT OR Apache-2.0
//! Leases, keep-alives and the deadlines of the handshake, to the nanosecond of the virtual clock.

use std::time::{Duration, Instant};

use crate::driver::Ended;
use crate::protocol::handshake::{HandshakeError, STEP_TIMEOUT, Step};
use crate::protocol::timers::{TimerEvent, Timers};

use super::for_seeds;
use super::side::End;
use super::world::World;

#[test]
fn keep_alives_flow_in_silence() {
    for_seeds(100, |seed| {
        let mut world = World::new(seed);
        for side in &mut world.sides {
            side.manner.pauses = false;
        }
        world.open();
        let from = world.now;
        for index in 0..2 {
            let mut pipe = world.pipe(index);
            pipe.carriage.latency = Duration::from_millis(1);
            pipe.splits = 0;
        }
        world.run_until(from + Duration::from_secs(60));
        assert_eq!(world.ends(), [None, None]);
        for index in 0..2 {
            let peer = world.sides[1 - index].established.as_ref().expect("open");
            let interval = peer.remote_lease / 4;
            let times = &world.sides[index].batch_times;
            let count = Duration::from_secs(60).as_nanos() / interval.as_nanos();
            assert!(
                times.len() as u128 >= count - 1,
                "{} of {count}",
                times.len()
            );
            let regular = times.windows(2).all(|pair| pair[1] - pair[0] == interval);
            assert!(regular, "one each quarter of the lease");
        }
    });
}

#[test]
fn a_lease_expires_on_time() {
    for_seeds(300, |seed| {
        let mut world = World::new(seed);
        for side in &mut world.sides {
            side.manner.pauses = false;
        }
        world.open();
        world.load(20, Duration::from_millis(100));
        let until = world.now + Duration::from_millis(world.rng.below(30_000));
        world.run_until(until);
        for index in 0..2 {
            world.pipe(index).cut = true;
        }
        let limit = world.now + Duration::from_secs(60);
        world.run_until(limit);
        for (side, away) in world.sides.iter().zip([1, 0]) {
            assert_eq!(side.end(), Some(&End::Link(Ended::Expired)));
            let lease = side.established.as_ref().expect("was open").remote_lease;
            let last_read = world.pipe(away).last_read.max(side.opened_at);
            let expiry = last_read.map(|at| at + lease);
            assert_eq!(side.ended_at, expiry, "exactly then");
        }
    });
}

#[test]
fn a_silent_peer_times_the_handshake_out() {
    for silent in 0..4 {
        let mut world = World::new(silent);
        world.begin();
        // The message before which the link goes dead: InitSyn, InitAck, OpenSyn, OpenAck.
        for _ in 0..silent {
            world.step();
        }
        for index in 0..2 {
            world.pipe(index).cut = true;
        }
        let start = world.now;
        world.run_until(start + Duration::from_secs(60));
        for side in &world.sides {
            let Some(End::Handshake(HandshakeError::Timeout { step })) = side.end() else {
                assert_eq!(
                    side.end(),
                    Some(&End::Link(Ended::Expired)),
                    "the side that was open already"
                );
                continue;
            };
            assert_ne!(*step, Step::Finished);
            assert!(side.ended_at.expect("a time") <= start + STEP_TIMEOUT);
        }
    }
}

#[test]
fn timers_do_what_they_say() {
    let start = Instant::now();
    let ms = |count| start + Duration::from_millis(count);
    let second = Duration::from_secs(1);
    let mut timers = Timers::new(start, second, 4, second * 2);
    assert_eq!(timers.poll_timeout(), ms(250));
    assert_eq!(timers.handle_timeout(ms(249)), None);
    assert_eq!(
        timers.handle_timeout(ms(250)),
        Some(TimerEvent::SendKeepAlive)
    );
    assert_eq!(timers.handle_timeout(ms(250)), None, "it counts as sent");
    timers.on_sent(ms(400));
    assert_eq!(timers.poll_timeout(), ms(650));
    timers.on_received(ms(100));
    timers.on_sent(ms(2000));
    assert_eq!(timers.poll_timeout(), ms(2100));
    assert_eq!(timers.handle_timeout(ms(2099)), None);
    assert_eq!(timers.handle_timeout(ms(2100)), Some(TimerEvent::Expired));
    assert_eq!(
        timers.handle_timeout(ms(2100)),
        Some(TimerEvent::Expired),
        "for good"
    );
}

/// On an overloaded machine, bytes that the peer sent in time may lie unread while its lease seems
/// over.
#[test]
fn a_late_look_at_the_lease_gives_the_reader_as_much_time_again() {
    let start = Instant::now();
    let ms = |count| start + Duration::from_millis(count);
    let second = Duration::from_secs(1);
    let late = || {
        let mut timers = Timers::new(start, second * 10, 4, second);
        assert_eq!(timers.handle_timeout(ms(1300)), None);
        assert_eq!(timers.poll_timeout(), ms(1600));
        timers
    };
    let mut timers = late();
    assert_eq!(timers.handle_timeout(ms(1599)), None);
    assert_eq!(timers.handle_timeout(ms(1600)), Some(TimerEvent::Expired));
    let mut timers = late();
    timers.on_received(ms(1500));
    assert_eq!(timers.handle_timeout(ms(2499)), None);
    assert_eq!(timers.handle_timeout(ms(2500)), Some(TimerEvent::Expired));
    let mut timers = late();
    assert_eq!(
        timers.handle_timeout(ms(5000)),
        Some(TimerEvent::Expired),
        "only once"
    );
}

#[test]
fn absurd_leases_do_no_harm() {
    let start = Instant::now();
    let mut timers = Timers::new(start, Duration::ZERO, 0, Duration::MAX);
    assert_eq!(timers.poll_timeout(), start + Duration::from_millis(1));
    assert_eq!(timers.handle_timeout(start), None);
    let timers = Timers::new(start, Duration::MAX, u32::MAX, Duration::MAX);
    assert!(timers.poll_timeout() > start + Duration::from_secs(3600));
}
