// SPDX-License-Identifier: MIT OR Apache-2.0
//! Segments that lose their bytes: those of a neighbour, and the router's own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use zonda_codec::NetworkMessage;

use super::files::{DATA, METADATA};
use super::liar::{AUTHENTICATION, shared_query};
use super::stage::next;
use super::{Forgery, Liar, Segments, Stage, shared_put};
use crate::attacks::words::queryable;
use crate::hand::Hand;
use crate::scene::until;

#[test]
fn segments_of_a_neighbour_that_are_truncated() {
    let mut stage = Stage::open();
    let near = stage.overheard();
    let mut liar = Liar::guest(stage.address);
    let segments = Segments::new();
    for index in 0..8 {
        segments.put(index, segments.header());
    }
    let put = |liar: &mut Liar, index| {
        let descriptor = segments.descriptor(index, 100);
        liar.put("attack/truncated", &descriptor);
    };
    // data, while a subscriber holds a payload of them
    put(&mut liar, 0);
    let held = next(&near);
    segments.data.truncate(0);
    put(&mut liar, 1);
    until("it is refused", || stage.refused("size") == 1);
    drop(held);
    segments.data.truncate(DATA);
    // the counters, as a whole and in part
    for len in [0, 1048, 4096] {
        liar.auth.truncate(len);
        put(&mut liar, 2);
        next(&near);
    }
    liar.auth.truncate(AUTHENTICATION);
    // metadata, while a subscriber holds a payload of them
    put(&mut liar, 3);
    let held = next(&near);
    segments.meta.truncate(0);
    drop(held);
    put(&mut liar, 4);
    until("it is refused", || stage.refused("size") == 2);
    segments.meta.truncate(METADATA);
    // the router has looked at the empty metadata several times
    std::thread::sleep(Duration::from_millis(200));
    assert!(liar.hand.is_served(), "its link goes on");
    stage.is_well();
    assert_eq!(stage.lines_about_refused(), 1, "{:#?}", stage.lines());
}

/// Data that are truncated to and fro while the router copies them: for a subscriber without shared memory, as the body of a
/// query, and as one of several pieces.
#[test]
fn data_whose_size_changes_while_they_are_copied() {
    let mut stage = Stage::open();
    let _far = stage.overheard_far();
    let mut answering = Hand::connected(stage.address);
    answering.frame(&queryable(1, "attack/asked"));
    assert!(answering.is_served());
    let mut other = answering.other();
    std::thread::spawn(move || {
        while other.read_until(|message| !matches!(message, NetworkMessage::Push(_))) {}
    });
    let mut liar = Liar::guest(stage.address);
    liar.read_beside();
    let mut segments = Segments::new();
    segments.data = Forgery::data(1 << 20);
    let segments = Arc::new(segments);
    let is_over = Arc::new(AtomicBool::new(false));
    let changing = {
        let (segments, is_over) = (Arc::clone(&segments), Arc::clone(&is_over));
        std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                segments.data.truncate(0);
                segments.data.truncate(1 << 20);
            }
        })
    };
    let start = Instant::now();
    let mut header = segments.header();
    header.capacity = 1 << 20;
    for round in 0.. {
        if start.elapsed() > Duration::from_secs(3) {
            break;
        }
        for index in 0..8 {
            segments.put(index, header);
        }
        let all: Vec<_> = (0..8)
            .map(|index| segments.descriptor(index, 100_000))
            .collect();
        liar.put("attack/changing", &all[0]);
        liar.hand.frame(&shared_put("attack/changing", &all[1..4]));
        liar.hand
            .frame(&shared_query(round as u8, "attack/asked", &all[4..5]));
    }
    is_over.store(true, Ordering::Relaxed);
    changing.join().expect("it writes");
    until("it is counted", || stage.refused("size") > 0);
    stage.is_well();
    assert_eq!(stage.lines_about_refused(), 1, "{:#?}", stage.lines());
}

/// Another process truncates what the router itself has made: its payloads go over links from then on.
#[test]
fn the_routers_own_segments_are_truncated() {
    let mut stage = Stage::open();
    let mut liar = Liar::guest(stage.address);
    liar.read_beside();
    liar.hand.subscribe(1, "busy/**");
    assert_eq!(stage.metric("zonda_shm_pools"), 0);
    until("it has a pool", || {
        stage.publish_plain("busy/flow", 1);
        stage.metric("zonda_shm_pools") == 1
    });
    let own = |len: u64| {
        let mapped = stage.mapped().into_iter().filter_map(Forgery::open);
        let mut files = mapped.filter(|file| file.metadata().is_ok_and(|data| data.len() == len));
        files.next()
    };
    let pool = own(16 << 20).expect("a pool");
    pool.set_len(0).expect("a file");
    until("it is given up", || {
        let lines = stage.lines();
        lines
            .iter()
            .any(|line| line.contains("has truncated a pool"))
    });
    stage.publish_plain("busy/flow", 100);
    let copied = "zonda_shm_payloads_total{way=\"copied_in\"}";
    let full = stage.metric("zonda_shm_pool_full_total");
    stage.publish_plain("busy/flow", 100);
    stage.until_metric("zonda_shm_pool_full_total", |count| count > full);
    let before = stage.metric(copied);
    let full = stage.metric("zonda_shm_pool_full_total");
    stage.publish_plain("busy/flow", 100);
    stage.until_metric("zonda_shm_pool_full_total", |count| count > full);
    assert_eq!(stage.metric(copied), before, "no payload is copied into it");
    stage.is_well();
    // its counters: no descriptor leaves it from now on
    let counters = Forgery::open(liar.router).expect("the router's file");
    counters.set_len(0).expect("a file");
    // a node looks at its own files in intervals, not at each access
    std::thread::sleep(Duration::from_millis(500));
    until("it is given up", || stage.honest_pass() == 0);
    stage.publish_plain("busy/flow", 100);
    let mut late = Liar::visitor(stage.address);
    assert!(late.is_let_in(|_| ()) && !late.shares());
    assert_eq!(stage.honest_pass(), 0, "all go over links");
}
