// SPDX-License-Identifier: MIT OR Apache-2.0
//! A neighbour that subscribes to a flood and never reads: under `Drop` it misses messages, which
//! are counted; under `Block` its source waits for it until a time limit. Other sources do not
//! notice either way; how long the other subscribers of the same source wait is measured in
//! `attacks/pace.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use zonda::bytes::ZBytes;
use zonda::pubsub::Publisher;
use zonda::qos::CongestionControl;
use zonda::{Session, Wait};
use zonda_codec::NetworkMessage;

use crate::hand::Hand;
use crate::scene::{LONG, Scene, client, router, until};

/// A publisher of `flood/x` with a subscriber that keeps up, and a guest that subscribed and does
/// not read.
struct Flood {
    source: Session,
    _witness: Session,
    witnessed: Arc<AtomicU64>,
    guest: Hand,
}

impl Flood {
    fn over(scene: &Scene) -> Flood {
        let witness = client(scene.address);
        let witnessed = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&witnessed);
        let count = move |_| {
            seen.fetch_add(1, Ordering::Relaxed);
        };
        witness
            .declare_subscriber("flood/*")
            .callback(count)
            .background()
            .wait()
            .expect("open");
        let mut guest = scene.guest();
        guest.subscribe(1, "flood/**");
        assert!(guest.is_served());
        Flood {
            source: client(scene.address),
            _witness: witness,
            witnessed,
            guest,
        }
    }

    fn publisher(&self, control: CongestionControl) -> Publisher<'static> {
        let publisher = self
            .source
            .declare_publisher("flood/x")
            .congestion_control(control)
            .wait()
            .expect("open");
        until("the flood is wanted", || {
            let status = publisher.matching_status().wait().unwrap();
            status.matching()
        });
        publisher
    }
}

#[test]
fn under_drop_it_misses_messages_and_they_are_counted() {
    let scene = Scene::open();
    let mut flood = Flood::over(&scene);
    let publisher = flood.publisher(CongestionControl::Drop);
    let payload = ZBytes::from(vec![1; 10_000]);
    let zid = flood.guest.zid();
    let dropped = || scene.link(zid).expect("it stays connected").sent.dropped;
    let begin = Instant::now();
    let mut puts = 0;
    while dropped() < 100 {
        publisher
            .put(&payload)
            .wait()
            .expect("a dropping put never fails");
        puts += 1;
        assert!(
            begin.elapsed() < LONG,
            "after {puts} puts nothing was dropped"
        );
    }
    scene.is_well();
    assert!(
        flood.witnessed.load(Ordering::Relaxed) > 0,
        "the one who reads is served"
    );
    // The messages that were queued for the guest are still there once it reads, and later ones
    // arrive as well.
    let last = flood
        .source
        .declare_publisher("flood/last")
        .congestion_control(CongestionControl::Block);
    let last = last.wait().expect("open");
    let sender = std::thread::spawn(move || last.put("the last").wait());
    let arrived = flood.guest.read_until(|message| match message {
        NetworkMessage::Push(push) => {
            push.wire_expr.suffix.ends_with("last") || payload_is(push, b"the last")
        }
        _ => false,
    });
    assert!(arrived);
    assert!(sender.join().expect("no panic").is_ok());
    scene.is_well();
}

fn payload_is(push: &zonda_codec::Push<'_>, expected: &[u8]) -> bool {
    matches!(&push.body, zonda_codec::PushBody::Put(put) if put.payload == expected)
}

#[test]
fn under_block_its_source_waits_and_then_it_is_cut_off() {
    let config = router().with(
        "transport/link/tx/queue/congestion_control/block/wait_before_close",
        "500000",
    );
    let scene = Scene::of(config);
    let mut flood = Flood::over(&scene);
    let publisher = flood.publisher(CongestionControl::Block);
    let payload = ZBytes::from(vec![1; 10_000]);
    let zid = flood.guest.zid();
    let mut puts = 0_u64;
    let begin = Instant::now();
    while scene.link(zid).is_some() {
        publisher
            .put(&payload)
            .timeout(LONG)
            .wait()
            .expect("a patient put waits for the router");
        puts += 1;
        assert!(
            begin.elapsed() < LONG,
            "after {puts} puts it is still connected"
        );
    }
    assert!(
        begin.elapsed() >= Duration::from_millis(500),
        "it had its time"
    );
    for _ in 0..1000 {
        publisher
            .put(&payload)
            .timeout(LONG)
            .wait()
            .expect("the way is free");
        puts += 1;
    }
    until("the one who reads has them all", || {
        flood.witnessed.load(Ordering::Relaxed) == puts
    });
    scene.is_rid_of(&mut flood.guest);
}

/// Several of them at once, each slowing the same source.
#[test]
fn a_row_of_sleepers() {
    let config = router().with(
        "transport/link/tx/queue/congestion_control/block/wait_before_close",
        "300000",
    );
    let scene = Scene::of(config);
    let flood = Flood::over(&scene);
    let sleepers: Vec<Hand> = (0..5)
        .map(|_| {
            let mut guest = scene.guest();
            guest.subscribe(1, "flood/*");
            assert!(guest.is_served());
            guest
        })
        .collect();
    let publisher = flood.publisher(CongestionControl::Block);
    let payload = ZBytes::from(vec![1; 10_000]);
    let begin = Instant::now();
    let mut puts = 0_u64;
    while sleepers
        .iter()
        .chain([&flood.guest])
        .any(|guest| scene.link(guest.zid()).is_some())
    {
        publisher
            .put(&payload)
            .timeout(LONG)
            .wait()
            .expect("a patient put waits for the router");
        puts += 1;
        assert!(
            begin.elapsed() < LONG,
            "after {puts} puts they are still connected"
        );
    }
    until("the one who reads has them all", || {
        flood.witnessed.load(Ordering::Relaxed) == puts
    });
    scene.is_well();
}
