// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frames that wait for a full socket, and control frames between batches.

#[cfg(target_os = "linux")]
use std::io::{self, IoSlice};

use super::frames as ws_frames;
use super::*;
#[cfg(target_os = "linux")]
use crate::link::tests::Narrow;

// The check names private types of this crate, so that the fuzzer and these tests compile it each.
#[path = "../../../../fuzz/src/ws.rs"]
mod corpus;

#[test]
fn the_corpus_of_frames() {
    assert!(zonda_testkit::replay("ws", corpus::ws) > 20);
}

#[test]
fn a_host_is_named_as_in_the_endpoint() {
    for (address, expected) in [
        ("router.lan:7447", "router.lan:7447"),
        ("[::1]:7447", "[::1]:7447"),
        ("[fe80::1%eth0]:7447", "[fe80::1]:7447"),
    ] {
        assert_eq!(host(address), expected);
    }
}

/// Returns a WebSocket, and the other end of its socket.
#[cfg(target_os = "linux")]
fn server() -> (std::sync::Arc<Session>, std::os::unix::net::UnixStream) {
    let (near, far) = std::os::unix::net::UnixStream::pair().expect("two sockets");
    let stream = zonda_runtime::Socket::from(near).into();
    (Session::new(Side::Server, &stream, b""), far)
}

/// Returns a batch of `size` bytes.
#[cfg(target_os = "linux")]
fn batch_of(size: u16) -> Vec<u8> {
    let mut batch = size.to_le_bytes().to_vec();
    batch.resize(usize::from(size) + 2, 7);
    batch
}

#[cfg(target_os = "linux")]
#[test]
fn frames_that_wait_for_the_socket_keep_their_last_byte_under_way() {
    let (session, far) = server();
    session.agree(false);
    let mut socket = Narrow {
        room: 1000,
        ..Narrow::default()
    };
    let batch = batch_of(5000);
    let slices = [IoSlice::new(&batch[..100]), IoSlice::new(&batch[100..])];
    let sent = session.send(&slices, &mut socket).expect("a part of it");
    assert_eq!(sent, 5001, "all but one byte");
    assert!(session.held() >= 5002, "{}", session.held());
    // The owner passes the byte that is left, and perhaps more behind it.
    let slices = [IoSlice::new(&batch[5001..]), IoSlice::new(b"\x01\0x")];
    let waits = session.send(&slices, &mut socket).expect_err("it is full");
    assert_eq!(waits.kind(), io::ErrorKind::WouldBlock);
    socket.room = 100_000;
    assert_eq!(session.send(&slices, &mut socket).expect("room"), 1);
    let slices = [IoSlice::new(b"\x01\0x")];
    assert_eq!(session.send(&slices, &mut socket).expect("room"), 3);
    let expected = [&b"\x82\x7e\x13\x88"[..], &[7; 5000], b"\x82\x01x"].concat();
    assert!(socket.taken == expected, "{} bytes", socket.taken.len());
    // A single byte that does not fit counts once it is sent.
    socket.room = 0;
    let single = |socket: &mut Narrow| session.send(&[IoSlice::new(b"\x01")], socket);
    assert_eq!(single(&mut socket).expect("a length, so far"), 1);
    let rest = |socket: &mut Narrow| session.send(&[IoSlice::new(b"\0")], socket);
    rest(&mut socket).expect_err("the header does not fit");
    socket.room = 100;
    assert_eq!(rest(&mut socket).expect("room"), 1);
    assert_eq!(socket.taken[expected.len()..], b"\x82\x01"[..]);
    drop(far);
}

#[cfg(target_os = "linux")]
#[test]
fn the_memory_of_frames_is_used_again_while_much_is_sent() {
    let (session, _far) = server();
    session.agree(false);
    let mut socket = Narrow {
        room: 1_000_000,
        ..Narrow::default()
    };
    let mut memory = Vec::new();
    for size in [50_000_u16, 40_000, 20_000, 10] {
        let batch = batch_of(size);
        let sent = session.send(&[IoSlice::new(&batch)], &mut socket);
        assert_eq!(sent.expect("room"), batch.len());
        memory.push(session.held());
    }
    assert!(memory[0] >= 50_000, "{memory:?}");
    assert_eq!(memory[1..], [memory[0], memory[0], 0]);
}

/// The runtime returns the memory of the frames that it has written.
#[cfg(target_os = "linux")]
#[test]
fn the_memory_of_frames_comes_back_from_a_runtime() {
    use zonda_runtime::{LinkWrite, Segments, block_on};

    /// A socket that always has room.
    struct Wide;

    impl LinkWrite for Wide {
        async fn write_all<S: Segments>(&mut self, segments: S) -> (io::Result<()>, S) {
            (Ok(()), segments)
        }

        async fn writable(&mut self) -> io::Result<()> {
            Ok(())
        }

        async fn shutdown(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let (session, _far) = server();
    session.agree(false);
    let mut writing = Writing::new(Wide, std::sync::Arc::clone(&session));
    let memory = [50_000, 40_000, 10].map(|size| {
        let (written, _) = block_on(writing.write_all(vec![batch_of(size)]));
        written.expect("room");
        session.held()
    });
    assert!(memory[0] >= 50_000, "{memory:?}");
    assert_eq!(memory[1..], [memory[0], 0]);
}

/// Pings are answered and the Close is sent on the socket directly, if the link has no frame under
/// way.
#[cfg(target_os = "linux")]
#[test]
fn what_is_said_between_batches_waits_for_nobody() {
    use std::io::Read;
    let (session, mut far) = server();
    session.answer(b"ping".to_vec());
    let mut found = [0; 6];
    far.read_exact(&mut found).expect("the answer");
    assert_eq!(&found, b"\x8a\x04ping");
    // No control frame can be sent within a batch.
    let mut socket = Narrow {
        room: 100,
        ..Narrow::default()
    };
    let begun = session.send(&[IoSlice::new(b"\x02\0a")], &mut socket);
    assert_eq!(begun.expect("room"), 3);
    session.answer(b"later".to_vec());
    let slices = [IoSlice::new(b"b"), IoSlice::new(b"\x01\0c")];
    assert_eq!(session.send(&slices, &mut socket).expect("room"), 4);
    assert_eq!(socket.taken, b"\x82\x02ab\x8a\x05later\x82\x01c");
    session.say_close(1000);
    session.say_close(1000);
    drop(session);
    let mut rest = Vec::new();
    far.read_to_end(&mut rest).expect("the end");
    assert_eq!(rest, b"\x88\x02\x03\xe8");
}
