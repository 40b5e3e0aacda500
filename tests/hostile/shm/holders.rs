// SPDX-License-Identifier: MIT OR Apache-2.0
//! Neighbours that take and never give back: memory is bounded, and payloads go over links where it is used up.

use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use zonda::{Config, Wait};

use super::files::{METADATA, path};
use super::stage::next;
use super::{Forgery, Liar, Segments, Stage};
use crate::scene::until;
use crate::world::Setup;

const COPIED: &str = "zonda_shm_payloads_total{way=\"copied_in\"}";

/// A subscriber that reads and counts nothing down: a bounded number of descriptors is on its way, then bytes.
#[test]
fn a_neighbour_that_never_counts_down() {
    let mut stage = Stage::open();
    let mut liar = Liar::guest(stage.address);
    liar.hand.subscribe(1, "busy/**");
    assert!(liar.hand.is_served());
    liar.read_beside();
    let before = stage.memory();
    stage.publish_plain("busy/flow", 10_000);
    until("all is passed on", || {
        stage.metric(COPIED) + stage.metric("zonda_shm_pool_full_total") >= 4096
    });
    let grown = stage.memory().saturating_sub(before);
    assert!(grown < 96 << 20, "{grown} bytes");
    stage.is_well();
    drop(liar);
    stage.until_metric("zonda_shm_links", |links| links == 2);
    // what it never took is free again
    let copied = stage.metric(COPIED);
    let heard = stage.overheard();
    until("payloads are copied into the pool again", || {
        stage.publish_plain("attack/after", 1);
        next(&heard);
        stage.metric(COPIED) > copied
    });
}

/// A subscriber that takes all, counts it down, and confirms for ever that it uses all.
#[test]
fn a_neighbour_that_keeps_the_pool() {
    let pool = "transport/shared_memory/transport_optimization/pool_size:1048576";
    let mut stage = Stage::of(Setup::router().with(pool));
    let mut liar = Liar::guest(stage.address);
    liar.hand.subscribe(1, "busy/**");
    assert!(liar.hand.is_served());
    liar.read_beside();
    stage.publish_plain("busy/flow", 10);
    let metadata = stage.mapped().into_iter().filter_map(Forgery::open);
    let metadata = metadata.filter(|file| file.metadata().is_ok_and(|data| data.len() == METADATA));
    let metadata: Vec<_> = metadata.collect();
    let counters = Forgery::open(liar.router).expect("the router's file");
    let is_over = Arc::new(AtomicBool::new(false));
    let confirming = {
        let is_over = Arc::clone(&is_over);
        std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                for file in &metadata {
                    let _ = file.write_all_at(&[0xff; 4096], 1_048_576);
                }
                let _ = counters.write_all_at(&[0; 4 * 2810], 1048);
                std::thread::sleep(Duration::from_millis(20));
            }
        })
    };
    stage.publish_plain("busy/flow", 1000);
    stage.until_metric("zonda_shm_pool_full_total", |count| count > 0);
    let heard = stage.overheard();
    stage.publish_plain("attack/beside", 50);
    for _ in 0..50 {
        let sample = next(&heard);
        assert_eq!(sample.payload().len(), 5000);
        assert!(!sample.payload().is_shm(), "over the link");
    }
    // loans of other nodes are not in this pool
    stage.is_well();
    drop(liar);
    is_over.store(true, Ordering::Relaxed);
    confirming.join().expect("it writes");
    until("the pool is free again", || {
        stage.publish_plain("attack/after", 1);
        next(&heard).payload().is_shm()
    });
    stage.until_metric("zonda_shm_reclaimed_total", |count| count > 0);
}

/// A pool with room for one payload.
#[test]
fn a_pool_that_is_full() {
    let pool = "transport/shared_memory/transport_optimization/pool_size:8192";
    let mut stage = Stage::of(Setup::router().with(pool));
    let heard = stage.overheard();
    stage.publish_plain("attack/first", 3);
    let held: Vec<_> = (0..3).map(|_| next(&heard)).collect();
    let shared = held.iter().map(|sample| sample.payload().is_shm());
    assert_eq!(shared.collect::<Vec<_>>(), [true, false, false]);
    stage.until_metric("zonda_shm_pool_full_total", |count| count > 0);
    drop(held);
    until("there is room", || {
        stage.publish_plain("attack/second", 1);
        next(&heard).payload().is_shm()
    });
    stage.is_well();
}

/// More segments than a neighbour may have mapped, each as large as one may be, and payloads of all their bytes.
#[test]
fn more_and_larger_segments_than_there_may_be() {
    let mut stage = Stage::open();
    let near = stage.overheard();
    let mut liar = Liar::guest(stage.address);
    let segments = Segments::new();
    let before = stage.memory();
    // sparse files: they take no memory
    let large: Vec<_> = (0..40).map(|_| Forgery::data(1 << 32)).collect();
    for (index, data) in (0..).zip(&large) {
        let mut header = segments.header();
        (header.segment, header.capacity) = (data.id, 1 << 32);
        segments.put(index, header);
        liar.put("attack/large", &segments.descriptor(index, 3 << 30));
        liar.put("attack/large", &segments.descriptor(index, 100));
    }
    // many small ones
    let many: Vec<_> = (0..200).map(|_| Segments::new()).collect();
    for one in &many {
        one.put(0, one.header());
        liar.put("attack/many", &one.descriptor(0, 100));
    }
    until("all are there", || {
        let sample = next(&near);
        sample.key_expr().as_str() == "attack/many"
    });
    assert!(liar.hand.is_served());
    let mapped = stage.mapped().len();
    assert!(mapped <= 2 * 64 + 8, "{mapped} segments");
    let grown = stage.memory().saturating_sub(before);
    assert!(grown < 32 << 20, "{grown} bytes");
    stage.is_well();
    drop(liar);
    stage.until_metric("zonda_shm_links", |links| links == 2);
    stage.until_metric("zonda_shm_segments", |segments| segments <= 8);
}

/// Payloads that cost their sender nothing and are copied for a subscriber without shared memory.
#[test]
fn sparse_payloads_for_a_subscriber_without_shared_memory() {
    let mut stage = Stage::open();
    let far = stage.overheard_far();
    let mut liar = Liar::guest(stage.address);
    liar.read_beside();
    let segments = Segments::new();
    let large = Forgery::data(1 << 30);
    let before = stage.memory();
    for index in 0..200 {
        let mut header = segments.header();
        (header.segment, header.capacity) = (large.id, 1 << 30);
        segments.put(index, header);
        liar.put("attack/sparse", &segments.descriptor(index, 64 << 20));
    }
    let mut most = 0;
    until("the last one is passed on", || {
        most = most.max(stage.memory().saturating_sub(before));
        liar.put("attack/end", &segments.descriptor(201, 0));
        while far.try_recv().expect("open").is_some() {}
        segments.references(199) == 0
    });
    assert!(most < 512 << 20, "{most} bytes");
    stage.is_well();
}

/// Files of a neighbour that was killed: the router releases them, and the next node that opens removes them. Those of a
/// router that was killed are removed likewise, unless a neighbour has them locked.
#[test]
fn segments_of_dead_processes() {
    let stage = Stage::open();
    let near = stage.overheard();
    let mut liar = Liar::guest(stage.address);
    let mut segments = Segments::new();
    (0..2).for_each(|index| segments.put(index, segments.header()));
    liar.put("attack/last", &segments.descriptor(0, 100));
    let held = next(&near);
    let ids = [liar.auth.id, segments.meta.id, segments.data.id];
    let exists = |id: &u32| std::path::Path::new(&path(*id)).exists();
    assert!(ids.iter().all(exists) && ids.iter().all(|id| stage.mapped().contains(id)));
    // it ends without a word; its files stay
    for forged in [&mut liar.auth, &mut segments.meta, &mut segments.data] {
        forged.file.unlock().expect("a file");
        let old = SystemTime::now() - Duration::from_secs(60);
        forged.file.set_modified(old).expect("a file");
        forged.stays = true;
    }
    drop((liar, segments));
    until("the router lets go", || {
        let mapped = stage.mapped();
        ids.iter().all(|id| !mapped.contains(id))
    });
    assert_eq!(held.payload().to_bytes(), [9; 100].as_slice());
    drop((held, near));
    drop(zonda::open(Config::peer()).wait().expect("it opens"));
    assert!(!ids.iter().any(exists), "they are removed");
    let mapped = stage.killed();
    assert!(mapped.iter().any(exists));
    let swept = || {
        for id in mapped.iter().filter_map(|id| Forgery::open(*id)) {
            let old = SystemTime::now() - Duration::from_secs(60);
            let _ = id.set_modified(old);
        }
        drop(zonda::open(Config::peer()).wait().expect("it opens"));
        !mapped.iter().any(exists)
    };
    until("those of the router are removed", swept);
}
