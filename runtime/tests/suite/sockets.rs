// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams and listeners.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use socket2::{SockRef, Socket};
use zonda_runtime::{LinkRead, LinkWrite, Runtime, RxBuf};

use super::{
    Backend, echo, in_task, internet_socket, outcome_of, pair, pattern, read_exactly, read_to_end,
    within,
};

pub fn echo_with_owned_buffers<R: Runtime>(backend: &Backend<R>) {
    let (runtime, _running) = backend.running();
    let (near, far) = pair();
    let echoed = outcome_of(&runtime, |runtime| echo(runtime, far));
    in_task(&runtime, |runtime| async move {
        let (mut read, mut write) = runtime.adopt(near.into()).expect("adopted");
        for size in [1, 2, 999, 1000, 1001, 5000] {
            let (result, sent) = write.write_all(vec![pattern(size)]).await;
            result.expect("writable");
            assert_eq!(read_exactly(&mut read, size).await, sent[0]);
        }
        write.shutdown().await.expect("open");
        assert_eq!(read_to_end(&mut read).await, b"");
    });
    assert_eq!(within(echoed), Some(()));
}

pub fn what_is_written_last_arrives_before_the_end<R: Runtime>(backend: &Backend<R>) {
    let (runtime, _running) = backend.running();
    // the second is more than a socket takes at once
    for sizes in [vec![3], vec![1, 0, 3_000_000, 7]] {
        let segments: Vec<Vec<u8>> = sizes.into_iter().map(pattern).collect();
        let expected = segments.concat();
        let (near, mut far) = pair();
        let last = outcome_of(&runtime, |runtime| async move {
            let (_read, mut write) = runtime.adopt(near.into()).expect("adopted");
            write.write_last(segments).await.0.expect("writable");
        });
        let mut received = Vec::new();
        far.read_to_end(&mut received).expect("the end");
        assert!(received == expected, "{} bytes", received.len());
        assert_eq!(within(last), Some(()));
    }
}

pub fn a_slow_reader_gets_every_byte<R: Runtime>(backend: &Backend<R>) {
    const ROUNDS: usize = 3;
    let (runtime, _running) = backend.running();
    let sizes = [0, 1, 70_000, 16, 65_519, 0, 3, 1_000_000, 7];
    // more segments than one system call takes
    let segments: Vec<Vec<u8>> = (0..100)
        .map(|i| pattern(sizes[i % sizes.len()] / (1 + i / 20)))
        .collect();
    let expected = segments.concat();
    let (near, mut far) = pair();
    let flood = outcome_of(&runtime, |runtime| async move {
        let (_read, mut write) = runtime.adopt(near.into()).expect("adopted");
        let mut segments = segments;
        for _ in 0..ROUNDS {
            let (result, sent) = write.write_all(segments).await;
            result.expect("writable");
            segments = sent;
        }
        write.shutdown().await.expect("open");
    });
    let (mut chunk, mut received) = (vec![0; 3001], Vec::new());
    loop {
        thread::yield_now();
        match far.read(&mut chunk).expect("readable") {
            0 => break,
            n => received.extend_from_slice(&chunk[..n]),
        }
    }
    assert_eq!(received.len(), ROUNDS * expected.len());
    let mut rounds = received.chunks(expected.len());
    assert!(rounds.all(|round| round == expected));
    assert_eq!(within(flood), Some(()));
}

pub fn a_streaming_peer_is_read_completely<R: Runtime>(backend: &Backend<R>) {
    let (runtime, _running) = backend.running();
    let (mut near, far) = pair();
    let total = 8 << 20;
    let writer = thread::spawn(move || near.write_all(&pattern(total)).expect("writable"));
    let all = in_task(&runtime, |runtime| async move {
        let (mut read, _write) = runtime.adopt(far.into()).expect("adopted");
        read_to_end(&mut read).await
    });
    assert!(all == pattern(total));
    writer.join().expect("the writer ends");
}

pub fn a_full_buffer_is_not_the_end<R: Runtime>(backend: &Backend<R>) {
    let (runtime, _running) = backend.running();
    let (_near, far) = pair();
    let result = in_task(&runtime, |runtime| async move {
        let (mut read, _write) = runtime.adopt(far.into()).expect("adopted");
        read.read(RxBuf::default()).await.0
    });
    assert_eq!(result.expect_err("refused").kind(), ErrorKind::InvalidInput);
}

pub fn one_direction_ends_and_the_other_goes_on<R: Runtime>(backend: &Backend<R>) {
    let (runtime, _running) = backend.running();
    let (near, mut far) = pair();
    let received = outcome_of(&runtime, |runtime| async move {
        let (mut read, mut write) = runtime.adopt(near.into()).expect("adopted");
        write.write_all(&b"last words"[..]).await.0.expect("open");
        write.shutdown().await.expect("open");
        // the reading half still works without its writing half
        drop(write);
        read_to_end(&mut read).await
    });
    let mut heard = Vec::new();
    far.read_to_end(&mut heard).expect("the end");
    assert_eq!(heard, b"last words");
    far.write_all(&pattern(100_000)).expect("still open");
    drop(far);
    assert_eq!(within(received), Some(pattern(100_000)));
}

pub fn a_reset_is_an_error<R: Runtime>(backend: &Backend<R>) {
    let (runtime, _running) = backend.running();
    let (near, far) = pair();
    let ended = outcome_of(&runtime, |runtime| async move {
        let (mut read, mut write) = runtime.adopt(near.into()).expect("adopted");
        let (result, _) = read.read(RxBuf::new(10)).await;
        let error = result.expect_err("reset").kind();
        let broken = write.write_all(&b"nobody hears it"[..]).await.0;
        (error, broken.is_err())
    });
    SockRef::from(&far)
        .set_linger(Some(std::time::Duration::ZERO))
        .expect("an option of TCP");
    drop(far);
    assert_eq!(within(ended), Some((ErrorKind::ConnectionReset, true)));
}

pub fn writable_waits_for_room<R: Runtime>(backend: &Backend<R>) {
    let (runtime, _running) = backend.running();
    let (near, mut far) = pair();
    let past_the_runtime = near.try_clone().expect("a descriptor");
    let (told, full) = std::sync::mpsc::channel();
    let writable = outcome_of(&runtime, |runtime| async move {
        let (_read, mut write) = runtime.adopt(near.into()).expect("adopted");
        write.writable().await.expect("room at first");
        past_the_runtime
            .set_nonblocking(true)
            .expect("a mode of sockets");
        let mut sent = 0;
        while let Ok(n) = (&past_the_runtime).write(&[7; 65536]) {
            sent += n;
        }
        let early = runtime.timeout_at(Instant::now(), write.writable()).await;
        told.send(sent).expect("the test waits");
        write.writable().await.expect("room again");
        early.is_none()
    });
    let sent = full.recv_timeout(super::LONG).expect("the task runs");
    far.read_exact(&mut vec![0; sent]).expect("readable");
    assert_eq!(within(writable), Some(true));
}

pub fn a_stream_is_handed_from_task_to_task<R: Runtime>(backend: &Backend<R>) {
    let (first, _running) = backend.running();
    let (second, _also_running) = backend.running();
    let (mut near, far) = pair();
    near.write_all(b"onetwo").expect("writable");
    let take_three = |stream: Arc<Socket>| {
        move |runtime: R| async move {
            let (mut read, write) = runtime.adopt_shared(stream).expect("adopted");
            let heard = read_exactly(&mut read, 3).await;
            (heard, runtime.release(read, write).expect("both halves"))
        }
    };
    let (heard, stream) = in_task(&first, take_three(Arc::new(far.into())));
    assert_eq!(heard, b"one");
    let (heard, stream) = in_task(&first, take_three(stream));
    assert_eq!(heard, b"two");
    drop(first);
    near.write_all(b"six").expect("writable");
    let (heard, stream) = in_task(&second, take_three(stream));
    assert_eq!(heard, b"six");
    // Halves of different streams are refused.
    let mismatch = in_task(&second, |runtime| async move {
        let (read, _write) = runtime.adopt_shared(stream).expect("adopted");
        let (_read, write) = runtime.adopt(near.into()).expect("adopted");
        runtime.release(read, write).map(drop)
    });
    let refused = mismatch.expect_err("refused");
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
}

/// Checks that an owner can write to a socket that the runtime drives, through the runtime's one
/// descriptor.
#[cfg(target_os = "linux")]
pub fn a_shared_stream_has_one_descriptor<R: Runtime>(backend: &Backend<R>) {
    use std::os::fd::AsRawFd;

    let (runtime, _running) = backend.running();
    let (mut near, far) = pair();
    let shared = Arc::new(Socket::from(far));
    let open = |number| std::fs::read_link(format!("/proc/self/fd/{number}")).ok();
    let inode = open(shared.as_raw_fd()).expect("it is open");
    let count = move || {
        let all = std::fs::read_dir("/proc/self/fd").expect("listed");
        let targets = all.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
        targets.filter(|target| *target == inode).count()
    };
    let (theirs, counted) = (Arc::clone(&shared), count.clone());
    let heard = outcome_of(&runtime, |runtime| async move {
        let (mut read, mut write) = runtime.adopt_shared(theirs).expect("adopted");
        write
            .write_all(vec![b"way".to_vec()])
            .await
            .0
            .expect("open");
        (read_exactly(&mut read, 3).await, counted())
    });
    let mut bytes = [0; 3];
    near.read_exact(&mut bytes).expect("readable");
    assert_eq!(&bytes, b"way");
    (&*shared).write_all(b"out").expect("room");
    near.read_exact(&mut bytes).expect("readable");
    assert_eq!(&bytes, b"out");
    near.write_all(b"one").expect("writable");
    assert_eq!(within(heard), Some((b"one".to_vec(), 1)));
    // the halves are dropped, and have not closed the descriptor
    near.set_nonblocking(true).expect("a socket");
    let silent = near.read(&mut bytes).expect_err("it is open");
    assert_eq!((silent.kind(), count()), (ErrorKind::WouldBlock, 1));
    drop(shared);
    near.set_nonblocking(false).expect("a socket");
    assert_eq!(near.read(&mut bytes).expect("its end"), 0);
}

/// Tests nothing: this system does not list a process's descriptors.
#[cfg(not(target_os = "linux"))]
pub fn a_shared_stream_has_one_descriptor<R: Runtime>(_backend: &Backend<R>) {}

/// Checks that a socket of the Unix family is listened on, accepted from and driven like any other.
#[cfg(unix)]
pub fn unix_sockets_are_streams_as_well<R: Runtime>(backend: &Backend<R>) {
    let (runtime, _running) = backend.running();
    let name = format!("zonda-runtime-{}-{}", std::process::id(), runtime.name());
    let path = std::env::temp_dir().join(name);
    let listener = std::os::unix::net::UnixListener::bind(&path).expect("a name of its own");
    let near = std::os::unix::net::UnixStream::connect(&path).expect("the queue takes it");
    std::fs::remove_file(&path).expect("it was bound");
    in_task(&runtime, move |runtime| async move {
        let mut listener = runtime.listen(listener.into()).expect("registered");
        let (far, from) = runtime.accept(&mut listener).await.expect("a connection");
        assert_eq!(from, None);
        let (mut near_read, mut near_write) = runtime.adopt(near.into()).expect("adopted");
        let (mut far_read, mut far_write) = runtime.adopt(far).expect("adopted");
        let there = near_write.write_all(vec![pattern(9), pattern(7)]).await;
        there.0.expect("open");
        let both = [pattern(9), pattern(7)].concat();
        assert_eq!(read_exactly(&mut far_read, 16).await, both);
        far_write.write_all(vec![pattern(5)]).await.0.expect("open");
        assert_eq!(read_exactly(&mut near_read, 5).await, pattern(5));
        far_write.shutdown().await.expect("open");
        let (end, _) = near_read.read(RxBuf::new(10)).await;
        assert_eq!(end.expect("no error"), 0);
    });
}

pub fn connects_and_accepts<R: Runtime>(backend: &Backend<R>) {
    let (runtime, _running) = backend.running();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("bound");
    in_task(&runtime, move |runtime| async move {
        let mut listener = runtime.listen(listener.into()).expect("registered");
        for prepared in [false, true] {
            let socket = internet_socket();
            socket.set_tcp_nodelay(prepared).expect("an option of TCP");
            let near = runtime.connect(socket, at).await.expect("accepted");
            assert_eq!(near.tcp_nodelay().expect("an option of TCP"), prepared);
            let (far, from) = runtime.accept(&mut listener).await.expect("a connection");
            let own = near.local_addr().expect("connected");
            assert_eq!(from, own.as_socket());
            let there = far.local_addr().expect("connected");
            assert_eq!(there.as_socket(), Some(at));
            let (mut read, _write) = runtime.adopt(near).expect("adopted");
            let (_read, mut write) = runtime.adopt(far).expect("adopted");
            write.write_all(vec![pattern(9)]).await.0.expect("open");
            assert_eq!(read_exactly(&mut read, 9).await, pattern(9));
        }
        drop(listener);
        let refused = runtime
            .connect(internet_socket(), at)
            .await
            .expect_err("nobody listens");
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    });
}

pub fn giving_up_an_accept_loses_no_connection<R: Runtime>(backend: &Backend<R>) {
    const CONNECTIONS: usize = 40;
    let (runtime, _running) = backend.running();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("bound");
    let accepted = outcome_of(&runtime, |runtime| async move {
        let mut listener = runtime.listen(listener.into()).expect("registered");
        let (mut accepted, mut given_up) = (Vec::new(), 0);
        while accepted.len() < CONNECTIONS {
            let wait = std::time::Duration::from_micros(given_up % 300);
            let accept = runtime.accept(&mut listener);
            match runtime.timeout_at(Instant::now() + wait, accept).await {
                Some(connection) => accepted.push(connection.expect("a connection").1),
                None => given_up += 1,
            }
        }
        (accepted, given_up)
    });
    let near: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let near = within(runtime.connect(internet_socket(), at)).expect("accepted");
            thread::yield_now();
            near
        })
        .collect();
    let (accepted, _given_up) = within(accepted).expect("no panic");
    let expected: Vec<_> = near
        .iter()
        .map(|near| near.local_addr().expect("connected").as_socket())
        .collect();
    assert_eq!(accepted, expected);
}

pub fn names_are_resolved<R: Runtime>(backend: &Backend<R>) {
    let (runtime, _running) = backend.running();
    let addresses = within(runtime.resolve("localhost".into(), 7)).expect("known everywhere");
    assert!(
        addresses
            .iter()
            .all(|a| a.ip().is_loopback() && a.port() == 7)
    );
    assert!(within(runtime.resolve("name.invalid".into(), 1)).is_err());
}
