// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests particular to io_uring: operations belong to threads, and the kernel holds sockets of
//! cancelled operations.
#![forbid(unsafe_code)]
#![cfg(all(feature = "uring", target_os = "linux"))]

use std::future::{Future, pending, poll_fn};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::task::Poll;
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};
use zonda_runtime::{
    LinkRead, LinkWrite, Runtime, RuntimeOptions, RxBuf, UringRuntime, block_on_until, oneshot,
};

const LONG: Duration = Duration::from_secs(30);

fn start(threads: usize) -> UringRuntime {
    let options = RuntimeOptions {
        threads: Some(threads),
        ..RuntimeOptions::default()
    };
    UringRuntime::start(&options).expect("this system has io_uring")
}

fn internet_socket() -> Socket {
    Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket")
}

fn within<F: Future>(future: F) -> F::Output {
    block_on_until(Instant::now() + LONG, future).expect("in time")
}

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let near = TcpStream::connect(listener.local_addr().expect("bound")).expect("loopback");
    near.set_read_timeout(Some(LONG)).expect("an option");
    (near, listener.accept().expect("loopback").0)
}

type Reading = Pin<Box<dyn Future<Output = (std::io::Result<usize>, RxBuf)> + Send>>;

/// Returns a read of one message, which owns both halves.
fn reading(runtime: &UringRuntime, stream: TcpStream) -> Reading {
    let (mut read, write) = runtime.adopt(stream.into()).expect("adopted");
    Box::pin(async move {
        let _write = write;
        read.read(RxBuf::new(100)).await
    })
}

/// Polls a read once, which must be pending.
async fn begin(reading: &mut Reading) {
    poll_fn(|context| {
        assert!(reading.as_mut().poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
}

/// Returns a read that a task has begun, and that is still in progress.
fn begun_in_a_task(runtime: &UringRuntime, stream: TcpStream) -> Reading {
    let (sender, receiver) = mpsc::channel();
    let inside = runtime.clone();
    runtime.spawn("begins", move || async move {
        let mut reading = reading(&inside, stream);
        begin(&mut reading).await;
        // the kernel has the operation by the end of this turn
        sender.send(reading).expect("the test waits");
    });
    receiver.recv_timeout(LONG).expect("begun")
}

#[test]
fn a_read_begun_in_a_task_ends_on_another_thread() {
    let runtime = start(2);
    let (mut near, far) = pair();
    let reading = begun_in_a_task(&runtime, far);
    near.write_all(b"hello").expect("writable");
    let (result, buf) = within(reading);
    assert_eq!((result.expect("read"), buf.filled()), (5, &b"hello"[..]));
}

#[test]
fn a_read_begun_elsewhere_ends_in_a_task() {
    let runtime = start(1);
    let (mut near, far) = pair();
    let mut reading = reading(&runtime, far);
    within(begin(&mut reading));
    let (sender, outcome) = oneshot::channel();
    runtime.spawn("ends", move || async move { sender.send(reading.await) });
    near.write_all(b"hello").expect("writable");
    let (result, buf) = within(outcome).expect("the task ends");
    assert_eq!((result.expect("read"), buf.filled()), (5, &b"hello"[..]));
}

#[test]
fn a_read_that_is_dropped_anywhere_is_cancelled_and_the_socket_closed() {
    let runtime = start(2);
    let in_task: fn(&UringRuntime, TcpStream) -> Reading = begun_in_a_task;
    let here: fn(&UringRuntime, TcpStream) -> Reading = |runtime, stream| {
        let mut reading = reading(runtime, stream);
        within(begin(&mut reading));
        reading
    };
    for begin in [in_task, here] {
        let (mut near, far) = pair();
        drop(begin(&runtime, far));
        assert_eq!(near.read(&mut [0; 8]).expect("the end"), 0);
    }
    // and within a task
    let (mut near, far) = pair();
    let inside = runtime.clone();
    runtime.spawn("drops", move || async move {
        let mut reading = reading(&inside, far);
        begin(&mut reading).await;
    });
    assert_eq!(near.read(&mut [0; 8]).expect("the end"), 0);
}

#[test]
fn a_read_outlives_its_runtime_as_an_error() {
    for begin in [begun_in_a_task, |runtime: &UringRuntime, stream| {
        let mut reading = reading(runtime, stream);
        within(begin(&mut reading));
        reading
    }] {
        let runtime = start(1);
        let (_near, far) = pair();
        let reading = begin(&runtime, far);
        drop(runtime);
        let (result, buf) = within(reading);
        result.expect_err("nobody reads any more");
        assert!(buf.filled().is_empty());
    }
}

#[test]
fn calls_on_what_is_left_of_a_runtime_end() {
    let runtime = start(1);
    let (near, _far) = pair();
    let (mut read, mut write) = runtime.adopt(near.into()).expect("adopted");
    drop(runtime);
    // its thread ends soon; until then the calls may still work
    let deadline = Instant::now() + LONG;
    while within(write.write_all(vec![b"x".to_vec()])).0.is_ok() {
        assert!(Instant::now() < deadline, "the thread goes on");
    }
    let (result, _) = within(read.read(RxBuf::new(8)));
    assert_eq!(
        result.expect_err("no thread").kind(),
        ErrorKind::NotConnected
    );
    within(write.writable()).expect_err("no thread");
    within(write.shutdown()).expect("needs no thread");
}

#[test]
fn a_port_is_free_as_soon_as_its_listener_is_dropped() {
    let runtime = start(2);
    let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = socket.local_addr().expect("bound");
    let mut listener = Some(runtime.listen(socket.into()).expect("registered"));
    for _ in 0..50 {
        let mut given_up = listener.take().expect("one at a time");
        // the kernel has started the wait when it is cancelled
        let wait = runtime.timeout_at(Instant::now() + Duration::from_micros(200), {
            let (runtime, listener) = (runtime.clone(), &mut given_up);
            async move { runtime.accept(listener).await }
        });
        assert!(within(wait).is_none());
        drop(given_up);
        let socket = TcpListener::bind(at).expect("free at once");
        listener = Some(runtime.listen(socket.into()).expect("registered"));
    }
    let mut listener = listener.expect("the last");
    let near = within(runtime.connect(internet_socket(), at)).expect("it listens");
    let (_far, from) = within(runtime.accept(&mut listener)).expect("a connection");
    assert_eq!(from, near.local_addr().expect("connected").as_socket());
}

#[test]
fn two_runtimes_use_the_sockets_of_each_other() {
    let (first, second) = (start(1), start(1));
    let (mut near, far) = pair();
    let reading = begun_in_a_task(&first, far);
    let (sender, outcome) = oneshot::channel();
    second.spawn("foreign", move || async move { sender.send(reading.await) });
    near.write_all(b"hello").expect("writable");
    let (result, buf) = within(outcome).expect("the task ends");
    assert_eq!((result.expect("read"), buf.filled()), (5, &b"hello"[..]));
}

#[test]
fn waits_are_late_by_microseconds() {
    let runtime = start(1);
    let inside = runtime.clone();
    let (sender, outcome) = oneshot::channel();
    runtime.spawn("waits", move || async move {
        let mut late: Vec<Duration> = Vec::new();
        for _ in 0..200 {
            let deadline = Instant::now() + Duration::from_micros(300);
            inside.sleep_until(deadline).await;
            late.push(Instant::now().duration_since(deadline));
        }
        late.sort();
        sender.send(late);
    });
    let late = within(outcome).expect("the task ends");
    // the median depends on the timer; the tail, on the machine's other load
    println!("late by {:?} (median) to {:?}", late[100], late[199]);
    assert!(late[100] < Duration::from_millis(1), "{late:?}");
}

#[test]
fn a_thread_that_is_blocked_in_a_task_keeps_its_own_deadlines() {
    let runtime = start(1);
    let inside = runtime.clone();
    let (sender, outcome) = oneshot::channel();
    runtime.spawn("blocks", move || async move {
        let soon = Instant::now() + Duration::from_millis(2);
        inside.block_on(inside.sleep_until(soon));
        let soon = Instant::now() + Duration::from_millis(2);
        let never = inside.timeout_at(soon, pending::<()>());
        sender.send(block_on_until(soon + LONG, never));
    });
    assert_eq!(within(outcome), Some(Some(None)));
}

#[test]
fn a_thread_that_is_held_up_gets_no_new_tasks() {
    let runtime = start(2);
    let (let_go, held) = mpsc::channel::<()>();
    let (begun, begins) = oneshot::channel();
    runtime.spawn("holds", move || async move {
        begun.send(());
        let _ = held.recv_timeout(LONG);
    });
    within(begins).expect("it runs");
    // a task that runs for less than this time counts as busy, not as stuck
    let noticed = Instant::now() + Duration::from_millis(25);
    within(runtime.timeout_at(noticed, pending::<()>()));
    let (done, all_done) = mpsc::channel();
    for _ in 0..100 {
        let done = done.clone();
        runtime.spawn(
            "quick",
            move || async move { done.send(()).expect("awaited") },
        );
    }
    for _ in 0..100 {
        all_done
            .recv_timeout(LONG / 2)
            .expect("not behind the one that holds");
    }
    drop(let_go);
}

#[test]
fn what_a_blocked_thread_waits_for_is_done_by_the_others() {
    let runtime = start(2);
    assert!(!runtime.is_driven_here_only());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("bound");
    let peer = std::thread::spawn(move || {
        let (mut far, _) = listener.accept().expect("a connection");
        let mut word = [0; 5];
        far.read_exact(&mut word).expect("readable");
        far.write_all(&word).expect("writable");
    });
    let inside = runtime.clone();
    let (sender, outcome) = oneshot::channel();
    runtime.spawn("blocks", move || async move {
        let answer = block_on_until(Instant::now() + LONG, async {
            let stream = inside
                .connect(internet_socket(), at)
                .await
                .expect("it listens");
            let (mut read, mut write) = inside.adopt(stream).expect("adopted");
            let (result, _) = write.write_all(vec![b"hello".to_vec()]).await;
            result.expect("writable");
            read.read(RxBuf::new(5)).await.1.filled().to_vec()
        });
        sender.send((answer, inside.is_driven_here_only()));
    });
    let (answer, alone) = within(outcome).expect("the task ends");
    assert_eq!((answer.as_deref(), alone), (Some(&b"hello"[..]), false));
    peer.join().expect("no panic");
    // with one thread nothing could be done
    let single = start(1);
    let (inside, (sender, outcome)) = (single.clone(), oneshot::channel());
    single.spawn("asks", move || async move {
        sender.send(inside.is_driven_here_only())
    });
    assert_eq!(within(outcome), Some(true));
    assert!(!single.is_driven_here_only());
}

#[test]
fn whoever_yields_goes_behind_what_the_ring_has_completed() {
    let runtime = start(1);
    let (mut near, far) = pair();
    let (started, start) = oneshot::channel();
    let heard = Arc::new(AtomicBool::new(false));
    let (tell, hears) = (Arc::clone(&heard), heard);
    let reader = runtime.clone();
    runtime.spawn("zonda-test", move || async move {
        let (mut read, _write) = reader.adopt(far.into()).expect("adopted");
        started.send(());
        read.read(RxBuf::new(9)).await.0.expect("readable");
        tell.store(true, Ordering::SeqCst);
    });
    assert_eq!(within(start), Some(()));
    let (done, yields) = oneshot::channel();
    let yielding = runtime.clone();
    runtime.spawn("zonda-test", move || async move {
        near.write_all(b"now").expect("writable");
        let mut yields = 0;
        while !hears.load(Ordering::SeqCst) {
            yielding.yield_now().await;
            yields += 1;
        }
        done.send(yields);
    });
    let yields = within(yields).expect("the task ends");
    assert!((1..=4).contains(&yields), "heard after {yields} turns");
    // without a ring to return to, a yield does not wait for one
    within(runtime.yield_now());
    runtime.block_on(runtime.yield_now());
    let (done, blocked) = oneshot::channel();
    let inner = runtime.clone();
    runtime.spawn("zonda-test", move || async move {
        inner.block_on(inner.yield_now());
        done.send(());
    });
    assert_eq!(within(blocked), Some(()));
}
