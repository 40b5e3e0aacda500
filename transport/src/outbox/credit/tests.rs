// SPDX-License-Identifier: MIT OR Apache-2.0
//! Credit by the readings of a gauge, and by the lanes that write.

use super::*;

const ALARM: u8 = 2;
const IMAGE: u8 = 5;
const WINDOW: u32 = 6_000_000;

fn mixed(now: Instant) -> Mixed {
    let mut mixed = Mixed::new(ALARM, now);
    assert_eq!(mixed.settle(backlog(0, 0), now), 0, "nothing is unread");
    mixed
}

/// Returns the state of a connection whose peer has left `unread` of all bytes.
fn backlog(read: u64, unread: u32) -> Backlog {
    Backlog {
        acked: read + u64::from(unread),
        window: WINDOW - unread,
        held: 0,
    }
}

#[test]
fn lanes_close_only_beyond_what_a_peer_may_leave_unread() {
    let now = Instant::now();
    let mut mixed = mixed(now);
    assert_eq!(mixed.settle(backlog(0, 200_000), now), 0);
    assert_eq!(mixed.left, UNREAD_MAX - 200_000);
    let closed = mixed.settle(backlog(0, 300_000), now);
    assert_eq!(
        closed, 0b1111_1000,
        "all that are less urgent than the alarm"
    );
    assert!(mixed.until >= now + PAUSE_MIN && mixed.until <= now + PAUSE_MAX);
    // what this system still holds counts as well
    let held = Backlog {
        held: 300_000,
        ..backlog(0, 0)
    };
    assert_ne!(mixed.settle(held, now), 0);
}

#[test]
fn a_small_window_is_bound_enough() {
    let now = Instant::now();
    let mut mixed = Mixed::new(ALARM, now);
    let full = Backlog {
        acked: 1,
        window: SMALL_WINDOW,
        held: 10_000_000,
    };
    assert_eq!(mixed.settle(full, now), 0);
    assert_eq!(mixed.left, UNREAD_MAX);
}

#[test]
fn a_pause_is_as_long_as_the_peer_needs() {
    let begin = Instant::now();
    let mut mixed = mixed(begin);
    let (mut now, mut read) = (begin, 0);
    for _ in 0..50 {
        now += Duration::from_millis(2);
        read += 1_000_000; // 500 MB/s
        mixed.settle(backlog(read, 800_000), now);
    }
    let pause = mixed.until - now;
    let needed = Duration::from_nanos((800_000 - UNREAD_MAX / 2) * 2);
    assert!(pause >= needed && pause < needed * 5 / 4, "{pause:?}");
    // no reading makes it longer than it may be
    now += Duration::from_secs(1);
    mixed.settle(backlog(read, 5_000_000), now);
    assert!(mixed.until <= now + PAUSE_MAX);
}

#[test]
fn no_lane_waits_long_for_a_peer_that_does_not_read() {
    let mut now = Instant::now();
    let mut mixed = mixed(now);
    let (mut unread, mut pauses) = (1_000_000, 0);
    while mixed.settle(backlog(0, unread), now) != 0 {
        now += PAUSE_MAX;
        unread = (unread + STEP as u32).min(WINDOW);
        pauses += 1;
    }
    assert!((2..10).contains(&pauses), "{pauses} pauses");
    // lanes wait again once the peer reads on
    let mut read = 0;
    while mixed.settle(backlog(read, 1_000_000), now) == 0 {
        now += Duration::from_millis(1);
        read += 1_000_000;
        assert!(read < 10_000_000, "{mixed:?}");
    }
}

#[test]
fn a_window_that_stays_small_is_the_widest_one_later() {
    let mut now = Instant::now();
    let mut mixed = mixed(now);
    assert_ne!(mixed.settle(backlog(0, 5_000_000), now), 0);
    for _ in 0..2 {
        now += WINDOW_FOR;
        mixed.settle(backlog(0, 5_000_000), now);
    }
    assert_eq!(mixed.settle(backlog(0, 5_000_000), now), 0);
}

#[test]
fn a_link_with_one_priority_has_no_credit() {
    let mut credit = Credit::default();
    let never = || -> Instant { panic!("the clock is not needed") };
    credit.note_lanes(1 << IMAGE, Instant::now);
    for _ in 0..3 {
        credit.note_lanes(1 << IMAGE, never);
        credit.charge(IMAGE, 10_000_000, never);
    }
    // the protocol's own messages are on every link
    credit.note_lanes(1, Instant::now);
    credit.note_lanes(1 << IMAGE, never);
    assert!(!credit.is_mixed());
    assert_eq!(credit.permits(u8::MAX), u8::MAX);
}

#[test]
fn credit_ends_some_time_after_the_last_urgent_message() {
    let mut now = Instant::now();
    let mut credit = Credit::default();
    credit.note_lanes(1 << IMAGE, || now);
    credit.note_lanes(1 << ALARM, || now);
    assert!(credit.is_mixed());
    credit.closed = less_urgent(ALARM);
    let none = || None;
    now += URGENT_FOR / 2;
    credit.note_lanes(1 << ALARM, || now);
    now += URGENT_FOR / 2;
    credit.prepare(now, false, none);
    assert!(credit.is_mixed(), "another alarm has come");
    credit.note_lanes(1 << IMAGE, || now);
    now += URGENT_FOR / 2;
    credit.prepare(now, false, none);
    assert!(!credit.is_mixed());
    assert_eq!(credit.permits(u8::MAX), u8::MAX);
}

#[test]
fn closed_lanes_open_after_their_pause_or_for_a_close() {
    let now = Instant::now();
    for (wait, ends, is_open) in [
        (PAUSE_MIN / 2, false, false),
        (PAUSE_MAX, false, true),
        (Duration::ZERO, true, true),
    ] {
        let mut credit = Credit::default();
        credit.note_lanes(1 << ALARM, || now);
        credit.note_lanes(1 << IMAGE, || now);
        let mixed = credit.mixed.as_mut().expect("two priorities");
        mixed.window.note(WINDOW, now);
        credit.closed = mixed.settle(backlog(0, 3_000_000), now);
        assert_eq!(credit.withholds(u8::MAX), 0b1111_1000);
        assert_eq!(credit.permits(0b10_0100), 0b100, "alarms are never closed");
        credit.prepare(now + wait, ends, || None);
        assert_eq!(credit.permits(u8::MAX) == u8::MAX, is_open, "{wait:?}");
    }
}

/// Without a gauge, as on another system, no lane ever waits.
#[test]
fn no_lane_closes_where_the_system_does_not_answer() {
    let now = Instant::now();
    let mut credit = Credit::default();
    credit.note_lanes(1 << ALARM, || now);
    credit.note_lanes(1 << IMAGE, || now);
    for _ in 0..3 {
        credit.prepare(now, false, || None);
        credit.charge(IMAGE, 100_000_000, || now);
        assert_eq!(credit.permits(u8::MAX), u8::MAX);
    }
}
