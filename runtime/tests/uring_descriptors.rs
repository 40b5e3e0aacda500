// SPDX-License-Identifier: MIT OR Apache-2.0
//! Release of all resources of a runtime on io_uring: no descriptor and no thread is left, whatever
//! was in progress. The only test of this program, because it counts the resources of the process.
#![forbid(unsafe_code)]
#![cfg(all(feature = "uring", target_os = "linux"))]

use std::future::{Future, poll_fn};
use std::net::{TcpListener, TcpStream};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use zonda_runtime::{LinkRead, LinkWrite, Runtime, RuntimeOptions, RxBuf, UringRuntime, oneshot};

fn count(what: &str) -> usize {
    std::fs::read_dir(format!("/proc/self/{what}"))
        .expect("listed")
        .count()
}

/// Reads from silent peers and floods them, in tasks.
fn keep_busy(runtime: &UringRuntime, peers: &mut Vec<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("bound");
    let (begun, all_begun) = oneshot::channel::<()>();
    let begun = Arc::new(begun);
    for _ in 0..20 {
        let near = TcpStream::connect(at).expect("loopback");
        peers.push(listener.accept().expect("loopback").0);
        let (inside, begun) = (runtime.clone(), begun.clone());
        runtime.spawn("link", move || async move {
            let (mut read, mut write) = inside.adopt(near.into()).expect("adopted");
            drop((inside, begun));
            let mut reading = pin!(read.read(RxBuf::new(100_000)));
            let mut writing = pin!(write.write_all(vec![vec![0u8; 50_000_000]]));
            poll_fn(|context| {
                assert!(reading.as_mut().poll(context).is_pending());
                assert!(writing.as_mut().poll(context).is_pending());
                Poll::<()>::Pending
            })
            .await;
        });
    }
    drop(begun);
    runtime.block_on(all_begun);
}

#[test]
fn nothing_is_left_of_a_runtime() {
    let options = RuntimeOptions {
        threads: Some(3),
        ..RuntimeOptions::default()
    };
    let before = (count("fd"), count("task"));
    for _ in 0..5 {
        let runtime = UringRuntime::start(&options).expect("this system has io_uring");
        let mut peers = Vec::new();
        keep_busy(&runtime, &mut peers);
        assert!(count("fd") >= before.0 + 40);
        drop(runtime);
    }
    let deadline = Instant::now() + Duration::from_secs(20);
    while (count("fd"), count("task")) != before {
        let now = (count("fd"), count("task"));
        assert!(Instant::now() < deadline, "{now:?} instead of {before:?}");
        thread::yield_now();
    }
}
