// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registration of a socket with tokio's poller at its first wait, and not before. The only test of
//! this program, because it inspects the descriptors of the process.
#![forbid(unsafe_code)]
#![cfg(all(feature = "tokio", target_os = "linux"))]

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use zonda_runtime::{LinkRead, LinkWrite, Runtime, RuntimeOptions, RxBuf, TokioRuntime, oneshot};

/// Returns true if a poller of this process waits for the descriptor.
fn is_registered(descriptor: i32) -> bool {
    let all = std::fs::read_dir("/proc/self/fdinfo").expect("listed");
    all.flatten().any(|entry| {
        // the descriptor may be closed by now
        let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
        text.lines()
            .filter_map(|line| line.strip_prefix("tfd:"))
            .filter_map(|line| line.split_whitespace().next())
            .any(|number| number == descriptor.to_string())
    })
}

fn until(holds: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < end, "not in time");
        thread::yield_now();
    }
}

#[test]
fn a_stream_is_registered_with_the_first_wait() {
    let runtime = TokioRuntime::start_multi_thread(&RuntimeOptions::default()).expect("threads");
    let (near, mut far) = UnixStream::pair().expect("a pair");
    let descriptor = near.as_raw_fd();
    far.write_all(b"asked").expect("room");
    let (ended, end) = oneshot::channel();
    let (answered, answer) = oneshot::channel();
    let inside = runtime.clone();
    runtime.spawn("link", move || async move {
        let (mut read, mut write) = inside.adopt(near.into()).expect("adopted");
        let (received, mut buf) = read.read(RxBuf::new(100)).await;
        assert_eq!((received.ok(), buf.filled()), (Some(5), &b"asked"[..]));
        let (written, _) = write.write_all(vec![b"told"]).await;
        written.expect("room");
        answered.send(is_registered(descriptor));
        for byte in [b'1', b'2', b'3'] {
            buf.clear();
            let received = read.read(buf).await;
            buf = received.1;
            assert_eq!((received.0.ok(), buf.filled()), (Some(1), &[byte][..]));
            write.write_all(vec![[byte]]).await.0.expect("room");
        }
        ended.send(());
    });
    let was_registered = runtime.block_on(answer);
    assert_eq!(was_registered, Some(false), "nobody had to wait");
    far.read_exact(&mut [0; 4]).expect("an answer");
    until(|| is_registered(descriptor));
    for byte in [b'1', b'2', b'3'] {
        far.write_all(&[byte]).expect("room");
        let mut told = [0];
        far.read_exact(&mut told).expect("an answer");
        assert_eq!(told, [byte]);
    }
    assert_eq!(runtime.block_on(end), Some(()));
    until(|| !is_registered(descriptor));
}
