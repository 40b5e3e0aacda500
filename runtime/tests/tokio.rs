// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tokio backend in its three flavours: sockets with owned buffers, timers, tasks, and what dropping does.
#![cfg(feature = "tokio")]
#![forbid(unsafe_code)]

use std::future::{Future, pending};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use zonda_runtime::{
    AnyRuntime, LinkRead, LinkWrite, PreciseTimer, Runtime, RuntimeKind, RuntimeOptions, RxBuf,
    TokioRuntime, block_on_until, oneshot,
};

/// Runs `future` to its end, which must come soon.
fn within<F: Future>(future: F) -> F::Output {
    block_on_until(Instant::now() + Duration::from_secs(20), future).expect("in time")
}

fn multi_thread() -> TokioRuntime {
    let options = RuntimeOptions {
        threads: Some(2),
        ..RuntimeOptions::default()
    };
    TokioRuntime::start_multi_thread(&options).expect("a runtime")
}

fn current_thread() -> TokioRuntime {
    TokioRuntime::start_current_thread(&RuntimeOptions::default()).expect("a runtime")
}

fn application() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime")
}

/// Calls `test` with each flavour.
fn in_each_flavour(test: impl Fn(&TokioRuntime)) {
    test(&multi_thread());
    test(&current_thread());
    let application = application();
    test(&TokioRuntime::from_handle(application.handle().clone()));
}

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let near = TcpStream::connect(listener.local_addr().expect("bound")).expect("loopback");
    (near, listener.accept().expect("loopback").0)
}

/// Sends everything back that arrives, until the peer ends.
fn spawn_echo(runtime: &TokioRuntime, stream: TcpStream) {
    let tasks = runtime.clone();
    runtime.spawn("echo", move || async move {
        let (mut read, mut write) = tasks.adopt_tcp(stream).expect("adopted");
        let mut buf = RxBuf::new(1000);
        loop {
            let (result, received) = read.read(buf).await;
            if result.expect("readable") == 0 {
                write.shutdown().await.expect("open");
                return;
            }
            let (result, mut sent) = write.write_all(received).await;
            result.expect("writable");
            sent.clear();
            buf = sent;
        }
    });
}

/// Bytes that differ from place to place.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 31 + (i >> 8) * 7) as u8).collect()
}

#[test]
fn echo_with_owned_buffers() {
    in_each_flavour(|runtime| {
        let (near, far) = pair();
        spawn_echo(runtime, far);
        let (done, outcome) = oneshot::channel();
        let tasks = runtime.clone();
        runtime.spawn("ping", move || async move {
            let (mut read, mut write) = tasks.adopt_tcp(near).expect("adopted");
            let mut buf = RxBuf::new(10_000);
            for size in [1, 2, 999, 1000, 1001, 5000] {
                let (result, sent) = write.write_all(vec![pattern(size)]).await;
                result.expect("writable");
                while buf.filled().len() < size {
                    let (result, received) = read.read(buf).await;
                    buf = received;
                    assert!(result.expect("readable") > 0);
                }
                assert_eq!(buf.filled(), sent[0]);
                buf.clear();
            }
            write.shutdown().await.expect("open");
            let (result, buf) = read.read(buf).await;
            assert_eq!((result.expect("the end"), buf.filled().len()), (0, 0));
            done.send(());
        });
        assert_eq!(within(outcome), Some(()));
    });
}

#[test]
fn a_slow_reader_gets_every_byte_of_large_vectored_writes() {
    const ROUNDS: usize = 3;
    in_each_flavour(|runtime| {
        let sizes = [0, 1, 70_000, 16, 65_519, 0, 3, 1_000_000, 7];
        // More segments than one system call takes.
        let segments: Vec<Vec<u8>> = (0..100)
            .map(|i| pattern(sizes[i % sizes.len()] / (1 + i / 20)))
            .collect();
        let (near, mut far) = pair();
        let expected = segments.concat();
        let (done, outcome) = oneshot::channel();
        let tasks = runtime.clone();
        runtime.spawn("flood", move || async move {
            let (_read, mut write) = tasks.adopt_tcp(near).expect("adopted");
            let mut segments = segments;
            for _ in 0..ROUNDS {
                let (result, sent) = write.write_all(segments).await;
                result.expect("writable");
                segments = sent;
            }
            write.shutdown().await.expect("open");
            done.send(());
        });
        let mut chunk = vec![0; 3001];
        let mut received = Vec::new();
        loop {
            thread::yield_now();
            match far.read(&mut chunk).expect("readable") {
                0 => break,
                n => received.extend_from_slice(&chunk[..n]),
            }
        }
        assert_eq!(received.len(), ROUNDS * expected.len());
        assert!(
            received
                .chunks(expected.len())
                .all(|round| round == expected)
        );
        assert_eq!(within(outcome), Some(()));
    });
}

#[test]
fn a_streaming_peer_is_read_completely() {
    in_each_flavour(|runtime| {
        let (mut near, far) = pair();
        let total = 8 << 20;
        let writer = thread::spawn(move || near.write_all(&pattern(total)).expect("writable"));
        let (done, outcome) = oneshot::channel();
        let tasks = runtime.clone();
        runtime.spawn("sink", move || async move {
            let (mut read, _write) = tasks.adopt_tcp(far).expect("adopted");
            let (mut buf, mut all) = (RxBuf::new(100_000), Vec::new());
            loop {
                let (result, mut received) = read.read(buf).await;
                if result.expect("readable") == 0 {
                    break;
                }
                all.extend_from_slice(received.filled());
                received.clear();
                buf = received;
            }
            done.send(all);
        });
        assert!(within(outcome).expect("the sink ends") == pattern(total));
        writer.join().expect("the writer ends");
    });
}

#[test]
fn a_full_buffer_is_not_the_end_of_the_stream() {
    let runtime = current_thread();
    let (_near, far) = pair();
    let (result, _) = within(async {
        let (mut read, _write) = runtime.adopt_tcp(far).expect("adopted");
        read.read(RxBuf::default()).await
    });
    assert_eq!(result.expect_err("refused").kind(), ErrorKind::InvalidInput);
}

#[test]
fn a_stream_is_taken_back_and_adopted_by_another_runtime() {
    let (first, second) = (multi_thread(), current_thread());
    let (mut near, far) = pair();
    near.write_all(b"onetwo").expect("writable");
    let (mut read, write) = first.adopt_tcp(far).expect("adopted");
    let mut buf = RxBuf::new(3);
    let (result, buf_back) = within(read.read(buf));
    (_, buf) = (result.expect("readable"), buf_back);
    assert_eq!(buf.filled(), b"one");
    let stream = first.release_tcp(read, write).expect("both halves");
    drop(first);
    let (mut read, write) = second.adopt_tcp(stream).expect("adopted");
    buf.clear();
    let (result, buf) = within(read.read(buf));
    assert_eq!((result.expect("readable"), buf.filled()), (3, &b"two"[..]));
    // Halves of different streams are refused.
    let (other, _) = second.adopt_tcp(near).expect("adopted");
    let mismatch = second.release_tcp(other, write);
    drop(read);
    assert_eq!(
        mismatch.expect_err("refused").kind(),
        ErrorKind::InvalidInput
    );
}

#[test]
fn connects_and_accepts() {
    in_each_flavour(|runtime| {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let at = listener.local_addr().expect("bound");
        let mut listener = runtime.listen_tcp(listener).expect("registered");
        // An accept that is given up loses nothing.
        let given_up = runtime.timeout_at(Instant::now(), runtime.accept(&mut listener));
        assert!(within(given_up).is_none());
        let near = within(runtime.connect_tcp(at)).expect("accepted");
        let (far, from) = within(runtime.accept(&mut listener)).expect("a connection");
        assert_eq!(from, near.local_addr().expect("connected"));
        assert_eq!(far.local_addr().expect("connected"), at);
        drop(listener);
        let refused = within(runtime.connect_tcp(at)).expect_err("nobody listens");
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    });
}

#[test]
fn tasks_run_on_named_threads() {
    for (runtime, prefix) in [
        (multi_thread(), "zonda-net-"),
        (current_thread(), "zonda-net"),
    ] {
        let (sender, name) = oneshot::channel();
        runtime.spawn("who", move || async move {
            sender.send(thread::current().name().map(str::to_owned));
        });
        let name = within(name)
            .expect("the task runs")
            .expect("the thread has a name");
        assert!(name.starts_with(prefix), "{name}");
    }
}

#[test]
fn a_panicking_task_takes_nobody_along() {
    in_each_flavour(|runtime| {
        let (near, far) = pair();
        spawn_echo(runtime, far);
        let (dropped, panicked) = oneshot::channel::<()>();
        runtime.spawn("panics", move || async move {
            let _dropped = dropped;
            panic!("a panic on purpose");
        });
        assert_eq!(within(panicked), None);
        let mut near = near;
        near.write_all(b"still there").expect("writable");
        let mut answer = [0; 11];
        near.read_exact(&mut answer).expect("echoed");
        assert_eq!(&answer, b"still there");
    });
}

#[test]
fn timers_complete_and_timeouts_end_a_wait() {
    in_each_flavour(|runtime| {
        // On a thread of its own and on a thread without runtime.
        let tasks = runtime.clone();
        let (done, outcome) = oneshot::channel();
        let waits = |runtime: TokioRuntime| async move {
            let mut timer = runtime.precise_timer();
            for micros in [0, 1, 50, 1000] {
                timer.wait(Duration::from_micros(micros)).await;
            }
            // A wait that is given up leaves the timer usable.
            let long = timer.wait(Duration::from_secs(3600));
            assert!(runtime.timeout_at(Instant::now(), long).await.is_none());
            timer.wait(Duration::from_micros(10)).await;
            runtime.precise_sleep(Duration::from_micros(10)).await;
            runtime
                .sleep_until(Instant::now() + Duration::from_millis(1))
                .await;
            let never = runtime.timeout_at(Instant::now(), pending::<()>());
            assert_eq!(never.await, None);
            let at_once = runtime.timeout_at(Instant::now(), async { 7 });
            assert_eq!(at_once.await, Some(7));
        };
        within(waits(runtime.clone()));
        runtime.spawn("waits", move || async move {
            waits(tasks).await;
            done.send(());
        });
        assert_eq!(within(outcome), Some(()));
    });
}

#[test]
fn dropping_inside_of_async_code_neither_panics_nor_blocks() {
    for make in [multi_thread, current_thread] {
        // Inside of tasks of another runtime, of both kinds, with a task of its own still under way.
        let foreign = application();
        let victim = make();
        victim.spawn("endless", pending);
        foreign.block_on(async move { drop(victim) });
        let victim = make();
        let current = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime");
        current.block_on(async move { drop(victim) });
        // Inside of its own task, as the last clone.
        let victim = make();
        let tasks = victim.clone();
        let (start, started) = oneshot::channel::<()>();
        let (done, outcome) = oneshot::channel();
        victim.spawn("last", move || async move {
            started.await;
            drop(tasks);
            done.send(());
        });
        drop(victim);
        start.send(());
        assert_eq!(within(outcome), Some(()));
    }
}

#[test]
fn dropping_the_runtime_drops_its_tasks() {
    for make in [multi_thread, current_thread] {
        let runtime = make();
        let (held, dropped) = oneshot::channel::<()>();
        let (start, started) = oneshot::channel();
        runtime.spawn("endless", move || async move {
            let _held = held;
            start.send(());
            pending::<()>().await;
        });
        assert_eq!(within(started), Some(()));
        drop(runtime);
        assert_eq!(within(dropped), None);
    }
}

#[test]
fn blocking_inside_of_a_tokio_context_does_not_panic() {
    in_each_flavour(|runtime| {
        let foreign = application();
        let runtime = runtime.clone();
        foreign.block_on(async move {
            // More polls than tokio's budget for one turn of a task.
            let tasks = runtime.clone();
            let waited = runtime.block_on(async move {
                let mut timer = tasks.precise_timer();
                for _ in 0..300 {
                    timer.wait(Duration::from_micros(1)).await;
                }
                tasks
                    .sleep_until(Instant::now() + Duration::from_millis(1))
                    .await;
                5
            });
            assert_eq!(waited, 5);
        });
    });
}

#[test]
fn an_application_that_drops_its_runtime_first_meets_no_panic() {
    let application = application();
    let runtime = TokioRuntime::from_handle(application.handle().clone());
    let (near, _far) = pair();
    let (mut read, mut write) = runtime.adopt_tcp(near).expect("adopted");
    let mut timer = runtime.precise_timer();
    let sleep = runtime.sleep_until(Instant::now() + Duration::from_secs(3600));
    application.shutdown_background();
    within(sleep);
    within(timer.wait(Duration::from_secs(3600)));
    within(runtime.sleep_until(Instant::now() + Duration::from_secs(3600)));
    runtime.spawn("never", pending);
    let (result, _) = within(read.read(RxBuf::new(10)));
    assert!(result.is_err());
    drop(within(write.write_all(vec![pattern(10)])));
    assert!(within(runtime.connect_tcp("127.0.0.1:1".parse().expect("an address"))).is_err());
}

#[test]
fn kinds_are_chosen_by_name() {
    for kind in ["tokio", "tokio-current"] {
        let kind: RuntimeKind = kind.parse().expect("compiled in");
        let options = RuntimeOptions {
            threads: Some(1),
            ..RuntimeOptions::default()
        };
        let runtime = AnyRuntime::start(kind, &options).expect("started");
        assert_eq!(runtime.name(), kind.name());
        assert_eq!(runtime.block_on(async { 1 }), 1);
    }
    let unknown = "uring".parse::<RuntimeKind>().expect_err("not compiled in");
    let text =
        "runtime \"uring\" is unknown or not compiled in (compiled in: tokio, tokio-current)";
    assert_eq!(unknown.to_string(), text);
}
