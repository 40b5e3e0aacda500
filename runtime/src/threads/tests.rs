// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests particular to threads: their blocking calls, the sharing by brief tasks, and their end.

use std::future::{Future, pending, poll_fn};
use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::net::{RecvFlags, recv};
use socket2::Socket;

use super::wait::{self, CallMode, Source};
use super::{ThreadsRuntime, task};
use crate::{
    LinkRead, LinkWrite, Runtime, RuntimeOptions, RxBuf, block_on, block_on_until, oneshot,
};

const LONG: Duration = Duration::from_secs(30);

fn runtime() -> ThreadsRuntime {
    ThreadsRuntime::start(&RuntimeOptions::default()).expect("a runtime")
}

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let near = TcpStream::connect(listener.local_addr().expect("bound")).expect("loopback");
    (near, listener.accept().expect("loopback").0)
}

fn within<F: Future>(future: F) -> F::Output {
    block_on_until(Instant::now() + LONG, future).expect("in time")
}

/// Runs a task and returns a receiver of its outcome.
fn outcome_of<T, F>(
    runtime: &ThreadsRuntime,
    make: impl FnOnce() -> F + Send + 'static,
) -> oneshot::Receiver<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let (sender, outcome) = oneshot::channel();
    runtime.spawn("zonda-test", move || {
        let work = make();
        async move { sender.send(work.await) }
    });
    outcome
}

/// Receives one byte, and returns the kinds of call that were made.
async fn receive(runtime: &ThreadsRuntime, socket: &Arc<Socket>) -> Vec<CallMode> {
    let mut calls = Vec::new();
    let call = |how| {
        calls.push(how);
        let flags = match how {
            CallMode::AtOnce => RecvFlags::DONTWAIT,
            CallMode::Waiting => RecvFlags::empty(),
        };
        Ok(recv(&**socket, &mut [0; 1], flags)?.0)
    };
    let received = wait::call(
        &runtime.core,
        Source {
            socket,
            flags: PollFlags::IN,
        },
        false,
        call,
    )
    .await;
    assert_eq!(received.expect("readable"), 1);
    calls
}

fn run<T>(future: impl Future<Output = T>) -> T {
    task::run(None, future).expect("nothing stops it")
}

#[test]
fn a_read_waits_in_its_call_exactly_if_nothing_else_can_end_the_wait() {
    let runtime = runtime();
    let (mut near, far) = pair();
    let far = Arc::new(Socket::from(far));
    let far = &far;
    near.write_all(&[1; 3]).expect("writable");
    // Two calls in a row, in one poll of the task.
    run(async {
        assert_eq!(receive(&runtime, far).await, [CallMode::Waiting]);
        assert_eq!(receive(&runtime, far).await, [CallMode::Waiting]);
    });
    // With a deadline, the read does not block.
    run(async {
        let deadline = Instant::now() + LONG;
        let calls = runtime.timeout_at(deadline, receive(&runtime, far)).await;
        assert_eq!(calls.expect("in time"), [CallMode::AtOnce]);
        near.write_all(&[1]).expect("writable");
        assert_eq!(receive(&runtime, far).await, [CallMode::Waiting]);
    });
    // While another owner holds the waker, and not before or after.
    run(async {
        let (ring, mut rung) = oneshot::channel::<()>();
        let writer = near.try_clone().expect("a descriptor");
        let calls = {
            let mut reading = pin!(receive(&runtime, far));
            let mut polls = 0;
            poll_fn(|context| {
                polls += 1;
                if polls == 3 {
                    (&writer).write_all(&[1]).expect("writable");
                }
                assert!(pin!(&mut rung).poll(context).is_pending() || polls > 3);
                if polls < 3 {
                    context.waker().wake_by_ref();
                }
                reading.as_mut().poll(context)
            })
            .await
        };
        assert!(calls.iter().all(|how| *how == CallMode::AtOnce));
        near.write_all(&[1; 2]).expect("writable");
        // Dropping them wakes the task once more, without effect.
        drop((ring, rung));
        receive(&runtime, far).await;
        assert_eq!(receive(&runtime, far).await, [CallMode::Waiting]);
    });
}

#[test]
fn a_busy_poll_asks_for_a_while_and_then_waits_in_one_call() {
    let options = |spin| RuntimeOptions {
        spin,
        ..RuntimeOptions::default()
    };
    for (spin, asks) in [(Duration::ZERO, false), (Duration::from_micros(300), true)] {
        let runtime = ThreadsRuntime::start(&options(spin)).expect("a runtime");
        let (near, far) = pair();
        let far = Arc::new(Socket::from(far));
        let mut calls = Vec::new();
        // No byte is there before the blocking call, so the poll has ended by then, however long it
        // took.
        let call = |how| {
            calls.push(how);
            match how {
                CallMode::AtOnce => Ok(recv(&*far, &mut [0; 1], RecvFlags::DONTWAIT)?.0),
                CallMode::Waiting => {
                    (&near).write_all(&[1]).expect("writable");
                    Ok(recv(&*far, &mut [0; 1], RecvFlags::empty())?.0)
                }
            }
        };
        let source = Source {
            socket: &far,
            flags: PollFlags::IN,
        };
        let received = run(wait::call_spinning(&runtime.core, source, call));
        assert_eq!(received.expect("readable"), 1);
        assert_eq!(calls.pop(), Some(CallMode::Waiting));
        assert!(calls.iter().all(|how| *how == CallMode::AtOnce));
        assert_eq!(!calls.is_empty(), asks, "{} calls", calls.len());
    }
}

#[test]
fn what_comes_during_a_busy_poll_needs_no_call_that_waits() {
    let options = RuntimeOptions {
        spin: LONG,
        ..RuntimeOptions::default()
    };
    let runtime = ThreadsRuntime::start(&options).expect("a runtime");
    let (near, far) = pair();
    let far = Arc::new(Socket::from(far));
    let mut asked = 0;
    let call = |how| {
        assert_eq!(how, CallMode::AtOnce);
        asked += 1;
        if asked == 10 {
            (&near).write_all(&[1]).expect("writable");
        }
        Ok(recv(&*far, &mut [0; 1], RecvFlags::DONTWAIT)?.0)
    };
    let received = run(wait::call_spinning(
        &runtime.core,
        Source {
            socket: &far,
            flags: PollFlags::IN,
        },
        call,
    ));
    assert_eq!(received.expect("readable"), 1);
    assert!(asked >= 10);
}

#[test]
fn a_dropped_runtime_ends_a_busy_poll() {
    let options = RuntimeOptions {
        spin: LONG * 100,
        ..RuntimeOptions::default()
    };
    let runtime = ThreadsRuntime::start(&options).expect("a runtime");
    let (_near, far) = pair();
    let (mut read, write) = runtime.adopt(far.into()).expect("adopted");
    let outcome = outcome_of(&runtime, move || async move {
        let _write = write;
        read.read(RxBuf::new(10)).await.0.expect_err("it is over");
    });
    drop(runtime);
    within(outcome);
}

#[test]
fn a_waker_ends_the_wait_for_a_socket() {
    let runtime = runtime();
    let (_near, far) = pair();
    let (wake, mut woken) = oneshot::channel();
    let tasks = runtime.clone();
    let outcome = outcome_of(&runtime, move || async move {
        let (mut read, _write) = tasks.adopt(far.into()).expect("adopted");
        let mut reading = pin!(read.read(RxBuf::new(10)));
        poll_fn(|context| match reading.as_mut().poll(context) {
            Poll::Ready(_) => Poll::Ready("nothing was sent"),
            Poll::Pending => pin!(&mut woken).poll(context).map(|_| "woken"),
        })
        .await
    });
    wake.send(());
    assert_eq!(within(outcome), Some("woken"));
}

#[test]
fn a_shut_down_socket_ends_a_read_that_waits_in_its_call() {
    let runtime = runtime();
    let (_near, far) = pair();
    let second = far.try_clone().expect("a descriptor");
    let tasks = runtime.clone();
    let outcome = outcome_of(&runtime, move || async move {
        let (mut read, _write) = tasks.adopt(far.into()).expect("adopted");
        read.read(RxBuf::new(10)).await.0
    });
    second.shutdown(Shutdown::Both).expect("connected");
    assert_eq!(within(outcome).expect("it ends").expect("the end"), 0);
}

#[test]
fn a_dropped_runtime_ends_a_task_that_waits_in_a_call() {
    let runtime = runtime();
    let (_near, far) = pair();
    let (mut read, write) = runtime.adopt(far.into()).expect("adopted");
    let outcome = outcome_of(&runtime, move || async move {
        let _write = write;
        let (result, buf) = read.read(RxBuf::new(10)).await;
        result.expect_err("the runtime is gone");
        drop(buf);
        pending::<()>().await;
    });
    drop(runtime);
    assert_eq!(within(outcome), None);
}

#[test]
fn waits_of_strangers_share_one_thread() {
    let runtime = runtime();
    let (mut near, far) = pair();
    let (mut read, mut write) = runtime.adopt(far.into()).expect("adopted");
    // Polled by no executor: this thread only parks.
    let never: Vec<_> = (0..100)
        .map(|_| {
            let mut sleep = Box::pin(runtime.sleep_until(Instant::now() + LONG * 100));
            assert!(within(poll_fn(|context| {
                Poll::Ready(sleep.as_mut().poll(context).is_pending())
            })));
            sleep
        })
        .collect();
    let writer = thread::spawn(move || {
        near.write_all(b"x").expect("writable");
        near
    });
    let (result, _) = within(read.read(RxBuf::new(1)));
    assert_eq!(result.expect("readable"), 1);
    assert!(within(write.write_all(vec![b"y"])).0.is_ok());
    within(write.writable()).expect("there is room");
    // Other tests may have a thread of this name too.
    assert!(count_threads("zonda-wait") < 10);
    drop(never);
    let near = writer.join().expect("written");
    // A cancelled wait does not keep the stream from being released.
    let soon = Instant::now() + Duration::from_millis(1);
    assert!(within(runtime.timeout_at(soon, read.read(RxBuf::new(1)))).is_none());
    let back = runtime.release(read, write).expect("both halves");
    let back = back.peer_addr().ok().and_then(|at| at.as_socket());
    assert_eq!(back, near.local_addr().ok());
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_thread_that_has_ended_its_task_takes_the_next_one() {
    const LABEL: &str = "zonda-test";
    let runtime = runtime();
    let own = || outcome_of(&runtime, || async { thread::current().id() });
    let id = |outcome: oneshot::Receiver<thread::ThreadId>| within(outcome).expect("an outcome");
    let mut last = id(own());
    until("a thread takes the next task", || {
        let this = id(own());
        std::mem::replace(&mut last, this) == this
    });
    let (stop, stopped) = oneshot::channel::<()>();
    let waits = outcome_of(&runtime, || async {
        stopped.await;
        thread::current().id()
    });
    let other = id(own());
    drop(stop);
    assert_ne!(id(waits), other, "two at once have two threads");
    let panics = outcome_of::<(), _>(&runtime, || async { panic!("a test of panics") });
    assert_eq!(within(panics), None);
    id(own());
    let core = Arc::clone(&runtime.core);
    drop(runtime);
    assert_eq!(core.idle(LABEL), 0);
    until("the threads end", || Arc::strong_count(&core) == 1);
}

/// Returns the number of threads of this process with that name.
#[cfg(target_os = "linux")]
fn count_threads(name: &str) -> usize {
    let threads = std::fs::read_dir("/proc/self/task").expect("Linux tells");
    let names =
        threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("comm")).ok());
    names.filter(|found| found.trim_end() == name).count()
}

#[cfg(not(target_os = "linux"))]
fn count_threads(_name: &str) -> usize {
    1
}

#[test]
fn brief_tasks_share_a_thread_and_a_panic_is_its_own() {
    const TASKS: usize = 500;
    let runtime = runtime();
    let (sender, receiver) = std::sync::mpsc::channel();
    let (begin, begun) = oneshot::channel();
    let mut begin = Some(begin);
    let mut wakers = Vec::new();
    for number in 0..TASKS {
        let (sender, tasks) = (sender.clone(), runtime.clone());
        let (wake, woken) = oneshot::channel::<()>();
        wakers.push(wake);
        let begin = begin.take();
        runtime.spawn_brief("zonda-brief", move || {
            drop(begin);
            assert!(number != 7, "a panic on purpose");
            async move {
                let _dropped = sender.clone();
                tasks.precise_sleep(Duration::from_millis(1)).await;
                assert!(number != 8, "a panic on purpose");
                woken.await;
                let thread = thread::current();
                sender.send(thread.name() == Some("zonda-brief")).ok();
            }
        });
    }
    drop(sender);
    let _: Option<()> = within(begun);
    assert_eq!(count_threads("zonda-brief"), 1);
    drop(wakers);
    let named: Vec<bool> = receiver.iter().collect();
    assert_eq!(named, [true; TASKS - 2]);
}

#[test]
fn a_nested_wait_inside_of_a_task_is_not_mistaken_for_the_tasks_own() {
    let runtime = runtime();
    let (mut near, far) = pair();
    let (mut inner_near, inner_far) = pair();
    near.write_all(b"a").expect("writable");
    inner_near.write_all(b"b").expect("writable");
    let tasks = runtime.clone();
    let outcome = outcome_of(&runtime, move || async move {
        let (mut read, _write) = tasks.adopt(far.into()).expect("adopted");
        let (mut inner, _inner_write) = tasks.adopt(inner_far.into()).expect("adopted");
        let mut bytes = Vec::new();
        let (_, buf) = read.read(RxBuf::new(1)).await;
        bytes.extend_from_slice(buf.filled());
        // A callback may wait by the runtime or by parking only.
        let (_, mut buf) = tasks.block_on(inner.read(RxBuf::new(1)));
        bytes.extend_from_slice(buf.filled());
        inner_near.write_all(b"c").expect("writable");
        buf.clear();
        let (_, buf) = block_on(inner.read(buf));
        bytes.extend_from_slice(buf.filled());
        near.write_all(b"d").expect("writable");
        let (_, buf) = read.read(RxBuf::new(1)).await;
        bytes.extend_from_slice(buf.filled());
        bytes
    });
    assert_eq!(within(outcome).as_deref(), Some(&b"abcd"[..]));
}
