// SPDX-License-Identifier: MIT OR Apache-2.0
//! The requirements on every backend, written once. `suite!` makes a module of tests for one
//! backend.

pub mod contexts;
pub mod lifetime;
pub mod sockets;
pub mod tasks;
pub mod timers;

use std::any::Any;
use std::future::Future;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};
use zonda_runtime::{LinkRead, LinkWrite, Runtime, RuntimeOptions, RxBuf, block_on_until, oneshot};

/// A time limit longer than any step of these tests takes on a busy machine.
pub const LONG: Duration = Duration::from_secs(30);

/// A runtime, with the value that keeps it running.
pub type Running<R> = (R, Box<dyn Any>);

/// A backend under test.
pub struct Backend<R> {
    /// Starts the runtime, or wraps an application's runtime.
    pub start: fn(&RuntimeOptions) -> io::Result<Running<R>>,
    /// True if the runtime starts threads of its own, which it names and places.
    pub own_threads: bool,
    /// True if the last clone's drop ends the tasks.
    pub ends_tasks: bool,
}

impl<R: Runtime> Backend<R> {
    /// Starts the backend with two threads, if it has a choice.
    pub fn running(&self) -> Running<R> {
        self.with_threads(2)
    }

    pub fn with_threads(&self, threads: usize) -> Running<R> {
        let options = RuntimeOptions {
            threads: Some(threads),
            ..RuntimeOptions::default()
        };
        (self.start)(&options).expect("a runtime")
    }
}

/// Runs `future` to its end, which must come within `LONG`.
pub fn within<F: Future>(future: F) -> F::Output {
    block_on_until(Instant::now() + LONG, future).expect("in time")
}

/// Runs a task to its end and returns its outcome. A panic of the task fails the test.
pub fn in_task<R, T, M, F>(runtime: &R, make: M) -> T
where
    R: Runtime,
    T: Send + 'static,
    M: FnOnce(R) -> F + Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    within(outcome_of(runtime, make)).expect("the task ends without a panic")
}

/// Starts a task and returns a receiver of its outcome.
pub fn outcome_of<R, T, M, F>(runtime: &R, make: M) -> oneshot::Receiver<T>
where
    R: Runtime,
    T: Send + 'static,
    M: FnOnce(R) -> F + Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let (sender, outcome) = oneshot::channel();
    let inside = runtime.clone();
    runtime.spawn("zonda-task", move || {
        let work = make(inside);
        async move { sender.send(work.await) }
    });
    outcome
}

/// Creates an unconnected socket.
pub fn internet_socket() -> Socket {
    Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket")
}

/// Returns the two ends of a connection.
pub fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let near = TcpStream::connect(listener.local_addr().expect("bound")).expect("loopback");
    let far = listener.accept().expect("loopback").0;
    for end in [&near, &far] {
        end.set_nodelay(true).expect("an option of TCP");
    }
    (near, far)
}

/// Returns bytes that differ from position to position.
pub fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 31 + (i >> 8) * 7) as u8).collect()
}

/// Sends every received byte back, until the peer ends; then ends too.
pub async fn echo<R: Runtime>(runtime: R, stream: TcpStream) {
    let (mut read, mut write) = runtime.adopt(stream.into()).expect("adopted");
    let mut buf = RxBuf::new(1000);
    loop {
        let (result, received) = read.read(buf).await;
        if result.expect("readable") == 0 {
            return write.shutdown().await.expect("open");
        }
        let (result, mut sent) = write.write_all(received).await;
        result.expect("writable");
        sent.clear();
        buf = sent;
    }
}

/// Reads exactly `length` bytes.
pub async fn read_exactly(read: &mut impl LinkRead, length: usize) -> Vec<u8> {
    let mut buf = RxBuf::new(length);
    while buf.filled().len() < length {
        let (result, received) = read.read(buf).await;
        buf = received;
        assert!(result.expect("readable") > 0, "the stream ended early");
    }
    buf.filled().to_vec()
}

/// Reads to the end of the stream.
pub async fn read_to_end(read: &mut impl LinkRead) -> Vec<u8> {
    let (mut buf, mut all) = (RxBuf::new(100_000), Vec::new());
    loop {
        let (result, received) = read.read(buf).await;
        buf = received;
        if result.expect("readable") == 0 {
            return all;
        }
        all.extend_from_slice(buf.filled());
        buf.clear();
    }
}

/// Makes a module with every test of the suite for one backend.
#[macro_export]
macro_rules! suite {
    ($(#[$attribute:meta])* $name:ident: $backend:expr) => {
        $(#[$attribute])*
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            suite!(@tests $backend;
                sockets: echo_with_owned_buffers, what_is_written_last_arrives_before_the_end,
                    a_slow_reader_gets_every_byte,
                    a_streaming_peer_is_read_completely, a_full_buffer_is_not_the_end,
                    one_direction_ends_and_the_other_goes_on, a_reset_is_an_error,
                    writable_waits_for_room, a_stream_is_handed_from_task_to_task,
                    a_shared_stream_has_one_descriptor,
                    connects_and_accepts, unix_sockets_are_streams_as_well, giving_up_an_accept_loses_no_connection,
                    names_are_resolved;
                tasks: many_tasks_end, a_panicking_task_takes_nobody_along,
                    a_busy_peer_does_not_starve_other_tasks,
                    whoever_yields_lets_the_sockets_be_looked_at, tasks_run_on_named_threads,
                    threads_run_on_the_cpus_that_were_asked_for, a_cpu_that_does_not_exist_is_an_error;
                timers: timers_complete_and_timeouts_end_a_wait, short_waits_are_precise,
                    a_sleep_of_the_past_and_of_the_far_future;
                lifetime: dropping_inside_of_async_code_neither_panics_nor_blocks,
                    dropping_the_runtime_drops_its_tasks, dropping_the_runtime_ends_its_threads,
                    the_last_clone_dropped_in_an_own_task;
                contexts: waits_work_everywhere, blocking_inside_of_async_code_does_not_panic,
            );
        }
    };
    (@tests $backend:expr; $($module:ident: $($test:ident),+ $(,)?);+ $(;)?) => {
        $($(
            #[test]
            fn $test() {
                $crate::suite::$module::$test(&$backend);
            }
        )+)+
    };
}
