// SPDX-License-Identifier: MIT OR Apache-2.0

//! A loop of operations that never have to wait leaves timers and other tasks their turn.

use std::future::Future;
use std::time::{Duration, Instant};

use zonda::qos::CongestionControl;
use zonda::{Session, Wait};

use crate::pair::{LONG, alone};

/// Runs a loop on a runtime of one thread until a timer ends it, which has no turn while the loop never waits.
fn ended_by_a_timer<F: Future<Output = ()>>(mut step: impl FnMut() -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    runtime.unwrap().block_on(async {
        let begun = Instant::now();
        let endless = async {
            loop {
                step().await;
                assert!(begun.elapsed() < LONG, "the timer had no turn");
            }
        };
        tokio::select! {
            biased;
            () = endless => unreachable!(),
            () = tokio::time::sleep(Duration::from_millis(5)) => {}
        }
    });
}

fn publisher(session: &Session, control: CongestionControl) -> zonda::pubsub::Publisher<'_> {
    let publisher = session.declare_publisher("demo/key");
    publisher.congestion_control(control).wait().unwrap()
}

#[test]
fn puts_leave_a_timer_its_turn() {
    let session = alone();
    for control in [CongestionControl::Drop, CongestionControl::Block] {
        let publisher = publisher(&session, control);
        ended_by_a_timer(|| async { publisher.put("x").await.unwrap() });
        ended_by_a_timer(|| async {
            let put = session.put("demo/key", "x").congestion_control(control);
            put.await.unwrap();
        });
    }
}

#[test]
fn what_is_received_leaves_a_timer_its_turn() {
    let session = alone();
    let publisher = publisher(&session, CongestionControl::Drop);
    let subscriber = session.declare_subscriber("demo/key").wait().unwrap();
    ended_by_a_timer(|| async {
        publisher.put("x").wait().unwrap();
        subscriber.recv_async().await.unwrap();
    });
    let ring = zonda::handlers::RingChannel::new(1);
    let latest = session.declare_subscriber("demo/key").with(ring).wait();
    let latest = latest.unwrap();
    drop(subscriber);
    ended_by_a_timer(|| async {
        publisher.put("x").wait().unwrap();
        latest.recv_async().await.unwrap();
    });
}
