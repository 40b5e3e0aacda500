// SPDX-License-Identifier: MIT OR Apache-2.0
//! The writing task against a socket that takes nothing for a while.

use std::future::ready;

use zonda_codec::{Priority, Push, PushBody, Put, Reliability, WhatAmI, WireExpr};
use zonda_runtime::{RuntimeOptions, Segments, TokioRuntime};

use super::*;
use crate::{
    outbox::{Overflow, Refused, Unsent, Write},
    protocol::{
        parameters::Established,
        tx::{Outgoing, Tail},
    },
};

/// Polls of the socket by the writing task before the socket takes its bytes.
const LOOKS: u32 = 20;

/// Socket that is full until it was polled a number of times.
#[derive(Default)]
struct Slow {
    looks: u32,
    writes: u32,
}

impl LinkWrite for Slow {
    async fn write_all<S: Segments>(&mut self, segments: S) -> (io::Result<()>, S) {
        self.writes += 1;
        poll_fn(|_| {
            self.looks += 1;
            match self.looks < LOOKS {
                true => Poll::Pending,
                false => Poll::Ready(()),
            }
        })
        .await;
        (Ok(()), segments)
    }

    fn writable(&mut self) -> impl Future<Output = io::Result<()>> + Send {
        ready(Ok(()))
    }

    fn shutdown(&mut self) -> impl Future<Output = io::Result<()>> + Send {
        ready(Ok(()))
    }
}

fn established() -> Established {
    Established {
        remote_lease: Duration::from_secs(60),
        ..Established::plain("a1".parse().expect("a valid id"), WhatAmI::Router)
    }
}

/// Only the timer makes the task poll again, so the socket is full for as many keep-alive
/// intervals.
#[test]
fn no_keep_alive_waits_for_a_full_socket() {
    let runtime = TokioRuntime::start_current_thread(&RuntimeOptions::default()).expect("one");
    let established = established();
    let outbox = Arc::new(Outbox::new(&established, 1 << 20, None));
    let lease = Duration::from_millis(4);
    let timers = Timers::new(Instant::now(), lease, 4, established.remote_lease);
    let head = Push::new(WireExpr::full("a"), PushBody::Put(Put::new(b"x")));
    let message = Outgoing {
        reliability: Reliability::Reliable,
        head: &head,
        payload: Tail::NONE,
    };
    outbox
        .enqueue(Priority::Data, Overflow::Refuse, Write::Later, &message)
        .expect("there is room");
    outbox.note_received(Instant::now());
    let mut writing = WriteTask::new(runtime.clone(), Arc::clone(&outbox), timers);
    let mut socket = Slow::default();
    let drained = runtime.block_on(writing.drain(&mut socket));
    assert!(drained.is_ok());
    assert_eq!(
        (socket.looks, socket.writes, outbox.queued_bytes()),
        (LOOKS, 1, 0),
        "what was queued went out, and nothing had come to it"
    );
}

/// Socket that takes a batch only some time after the write began.
struct Lazy {
    runtime: TokioRuntime,
    rest: Duration,
    written: Vec<u8>,
}

impl LinkWrite for Lazy {
    async fn write_all<S: Segments>(&mut self, segments: S) -> (io::Result<()>, S) {
        self.runtime.sleep_until(Instant::now() + self.rest).await;
        for index in 0..segments.count() {
            self.written.extend_from_slice(segments.segment(index));
        }
        (Ok(()), segments)
    }

    fn writable(&mut self) -> impl Future<Output = io::Result<()>> + Send {
        ready(Ok(()))
    }

    fn shutdown(&mut self) -> impl Future<Output = io::Result<()>> + Send {
        ready(Ok(()))
    }
}

/// Closes a link with a large message for a peer that takes a batch every `rest`; returns what the
/// peer has not got, whether it got the Close behind it, and the time that all of it took.
fn close_within(limit: Duration, rest: Duration) -> (Unsent, bool, Duration) {
    let runtime = TokioRuntime::start_current_thread(&RuntimeOptions::default()).expect("one");
    let outbox = Arc::new(Outbox::new(&established(), 1 << 20, None));
    let lease = Duration::from_secs(10);
    let payload = vec![7; 1 << 20];
    let head = Push::new(WireExpr::full("a"), PushBody::Put(Put::new(&payload)));
    let message = Outgoing {
        reliability: Reliability::Reliable,
        head: &head,
        payload: Tail::NONE,
    };
    outbox
        .enqueue(Priority::Data, Overflow::Refuse, Write::Later, &message)
        .expect("there is room");
    outbox.note_received(Instant::now());
    let timers = Timers::new(Instant::now(), lease, 4, lease);
    let mut writing = WriteTask::new(runtime.clone(), Arc::clone(&outbox), timers);
    let mut socket = Lazy {
        runtime: runtime.clone(),
        rest,
        written: Vec::new(),
    };
    let begin = Instant::now();
    outbox.flush();
    outbox.close(7, begin + limit);
    let ended = runtime.block_on(writing.serve(&mut socket));
    assert_eq!(ended, Some(Ended::Local));
    outbox.end(Ended::Local);
    let said_close = socket.written.ends_with(&[0x03, 7]);
    (outbox.unsent(), said_close, begin.elapsed())
}

/// Socket that gives another sender its turn during the first write.
struct Shared {
    outbox: Arc<Outbox>,
    late: Vec<Option<Refused>>,
    written: Vec<u8>,
}

impl LinkWrite for Shared {
    async fn write_all<S: Segments>(&mut self, segments: S) -> (io::Result<()>, S) {
        let head = Push::new(WireExpr::full("late"), PushBody::Put(Put::new(b"x")));
        let late = Outgoing {
            reliability: Reliability::Reliable,
            head: &head,
            payload: Tail::NONE,
        };
        let late = |overflow| {
            let sent = self
                .outbox
                .enqueue(Priority::Data, overflow, Write::Now, &late);
            sent.err()
        };
        if self.late.is_empty() {
            self.late = [Overflow::Refuse, Overflow::Drop, Overflow::Keep]
                .map(late)
                .to_vec();
        }
        for index in 0..segments.count() {
            self.written.extend_from_slice(segments.segment(index));
        }
        (Ok(()), segments)
    }

    fn writable(&mut self) -> impl Future<Output = io::Result<()>> + Send {
        ready(Ok(()))
    }

    fn shutdown(&mut self) -> impl Future<Output = io::Result<()>> + Send {
        ready(Ok(()))
    }
}

/// A message that comes during the close is refused: it would be behind the Close, or left.
#[test]
fn a_close_takes_no_more_messages_and_leaves_none() {
    let runtime = TokioRuntime::start_current_thread(&RuntimeOptions::default()).expect("one");
    let outbox = Arc::new(Outbox::new(&established(), 1 << 20, None));
    let head = Push::new(WireExpr::full("early"), PushBody::Put(Put::new(b"x")));
    let early = Outgoing {
        reliability: Reliability::Reliable,
        head: &head,
        payload: Tail::NONE,
    };
    outbox
        .enqueue(Priority::Data, Overflow::Refuse, Write::Later, &early)
        .expect("there is room");
    outbox.note_received(Instant::now());
    let lease = Duration::from_secs(10);
    let timers = Timers::new(Instant::now(), lease, 4, lease);
    let mut writing = WriteTask::new(runtime.clone(), Arc::clone(&outbox), timers);
    let mut socket = Shared {
        outbox: Arc::clone(&outbox),
        late: Vec::new(),
        written: Vec::new(),
    };
    outbox.close(7, Instant::now() + Duration::from_secs(20));
    assert!(outbox.has_room(Priority::Data), "no sender waits for room");
    let ended = runtime.block_on(writing.serve(&mut socket));
    assert_eq!(ended, Some(Ended::Local));
    outbox.end(Ended::Local);
    let unsent = outbox.unsent();
    assert!(unsent.is_nothing(), "{unsent:?}");
    assert_eq!(socket.late, [Some(Refused::Closed); 3]);
    let has = |text: &[u8]| socket.written.windows(text.len()).any(|at| at == text);
    assert!(has(b"early") && !has(b"late") && socket.written.ends_with(&[0x03, 7]));
}

/// A megabyte is written in five goes of at most 256 KiB.
#[test]
fn a_close_waits_as_long_as_it_says_and_no_longer() {
    let (unsent, said_close, took) = close_within(Duration::from_secs(20), LINGERS);
    assert!(unsent.is_nothing() && said_close, "{unsent:?}");
    assert!(took > CLOSE_GRACE, "the peer needs {took:?}");

    let (limit, long) = (CLOSE_GRACE + LINGERS, Duration::from_secs(600));
    let (unsent, said_close, took) = close_within(limit, long);
    assert!(took >= limit && took < long, "{took:?}");
    assert_eq!((unsent.messages, said_close), (1, false), "{unsent:?}");
}

/// Time of one write: all of them together take longer than [`CLOSE_GRACE`].
const LINGERS: Duration = Duration::from_millis(300);

/// The socket takes all bytes at once, and the peer, whose own system holds little, reads or does
/// not.
#[cfg(target_os = "linux")]
#[test]
fn a_close_waits_for_the_system_of_the_peer() {
    use std::io::Read;

    for reads in [true, false] {
        let runtime = TokioRuntime::start_multi_thread(&RuntimeOptions::default()).expect("one");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        socket2::SockRef::from(&listener)
            .set_recv_buffer_size(1 << 14)
            .expect("a socket");
        let stream = std::net::TcpStream::connect(listener.local_addr().expect("bound"));
        let stream = stream.expect("loopback");
        socket2::SockRef::from(&stream)
            .set_send_buffer_size(1 << 22)
            .expect("a socket");
        let (peer, _) = listener.accept().expect("a connection");
        let direct = crate::outbox::DirectSocket::beside(&stream).expect("a descriptor");
        let outbox = Arc::new(Outbox::new(&established(), 1 << 20, direct));
        let lease = Duration::from_secs(10);
        let timers = Timers::new(Instant::now(), lease, 4, lease);
        outbox.note_received(Instant::now());
        let payload = vec![7; 1 << 16];
        let head = Push::new(WireExpr::full("a"), PushBody::Put(Put::new(&payload)));
        let message = Outgoing {
            reliability: Reliability::Reliable,
            head: &head,
            payload: Tail::NONE,
        };
        // More than the peer's system takes while the peer does not read, and less than this one
        // holds.
        let bytes = 16 * payload.len();
        for _ in 0..16 {
            let sent = outbox.enqueue(Priority::Data, Overflow::Refuse, Write::Now, &message);
            let sent = sent.expect("there is room");
            assert!(sent.is_written, "the socket takes everything");
        }
        let reader = std::thread::spawn({
            let mut peer = peer.try_clone().expect("a descriptor");
            move || {
                let mut all = Vec::new();
                if reads {
                    peer.read_to_end(&mut all).expect("it is closed in order");
                }
                all.len()
            }
        });
        let limit = Duration::from_millis(if reads { 20_000 } else { 300 });
        let begin = Instant::now();
        outbox.close(0, begin + limit);
        let (writing, sent) = (Arc::clone(&outbox), runtime.clone());
        let (done, ended) = zonda_runtime::oneshot::channel();
        runtime.spawn("closing", move || async move {
            let (_read, mut write) = sent.adopt(stream.into()).expect("a socket");
            let mut writing = WriteTask::new(sent, writing, timers);
            let ended = writing.serve(&mut write).await;
            write.shutdown().await.expect("a socket");
            done.send(ended);
        });
        let ended = runtime.block_on(ended).expect("it ends");
        assert_eq!(ended, Some(Ended::Local));
        let unsent = outbox.unsent();
        assert_eq!((unsent.messages, unsent.is_unconfirmed), (0, !reads));
        let read = reader.join().expect("no panic");
        match reads {
            true => assert!(read > bytes),
            false => assert!(begin.elapsed() >= limit),
        }
        drop(peer);
    }
}

/// The driver writes until the queues are empty where no sender writes by itself.
#[test]
fn a_driver_writes_on_until_nothing_waits() {
    let runtime = TokioRuntime::start_current_thread(&RuntimeOptions::default()).expect("one");
    let established = established();
    let outbox = Arc::new(Outbox::new(&established, 1 << 20, None));
    let timers = Timers::new(clock::now(), Duration::from_secs(60), 4, Duration::MAX);
    let payload = vec![7; 1 << 20];
    let head = Push::new(WireExpr::full("a"), PushBody::Put(Put::new(&payload)));
    let message = Outgoing {
        reliability: Reliability::Reliable,
        head: &head,
        payload: Tail::NONE,
    };
    outbox
        .enqueue(Priority::Data, Overflow::Refuse, Write::Now, &message)
        .expect("there is room");
    let mut writing = WriteTask::new(runtime.clone(), Arc::clone(&outbox), timers);
    let mut socket = Slow {
        looks: LOOKS,
        writes: 0,
    };
    let drained = runtime.block_on(writing.drain(&mut socket));
    assert!(drained.is_ok() && socket.writes > 1);
    assert!(!outbox.has_unsent(), "{} bytes", outbox.queued_bytes());
}
