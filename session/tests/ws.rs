// SPDX-License-Identifier: MIT OR Apache-2.0

//! Links over WebSocket: all traffic passes them, and a client that is let in late delays no other
//! one.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::traffic::{check_traffic, port};
use zonda::{Config, Session, Wait};

fn listener(at: &str, settings: &[(&str, &str)]) -> Session {
    let config = with(Config::peer().listen([at]), settings);
    zonda::open(config).wait().expect("it listens")
}

fn with(config: Config, settings: &[(&str, &str)]) -> Config {
    settings
        .iter()
        .fold(config, |config, (key, value)| config.with(key, value))
}

fn dial(to: &str, settings: &[(&str, &str)]) -> Result<Session, String> {
    let config = with(Config::client([to]), settings).with("connect/timeout_ms", "0");
    let opened = zonda::open(config).wait();
    opened.map_err(|error| error.to_string())
}

const ALL_SIZES: &[usize] = &[0, 8, 125, 5000, 65_000, 70_000, 1 << 20, 9];

#[test]
fn everything_passes_a_link() {
    for listen in ["ws/127.0.0.1:0", "ws/[::1]:0"] {
        let far = listener(listen, &[]);
        let to = far.info().locators().remove(0).to_string();
        assert!(to.starts_with("ws/"), "{to}");
        let near = dial(&to, &[]).expect(&to);
        let remote = near.info().links()[0].remote.to_string();
        assert_eq!(remote, to);
        check_traffic(&near, &far, ALL_SIZES);
    }
}

#[test]
fn who_does_not_speak_websocket_delays_nobody() {
    let far = listener("ws/127.0.0.1:0", &[]);
    let at: SocketAddr = ([127, 0, 0, 1], port(&far)).into();
    let connect = || TcpStream::connect(at).expect("it listens");
    let silent: Vec<_> = (0..50).map(|_| connect()).collect();
    let mut noisy: Vec<_> = (0..50).map(|_| connect()).collect();
    let long = ["GET / HTTP/1.1\r\nX: ", &"y".repeat(9000)].concat();
    let starts = [
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n",
        "\x16\x03\x01",
        &long,
        "PUT / HTTP/1.1\r\n\r\n",
    ];
    for (stream, start) in noisy.iter_mut().zip(starts.iter().cycle()) {
        stream.write_all(start.as_bytes()).expect("it takes it");
    }
    let begin = Instant::now();
    let near = dial(&format!("ws/{at}"), &[]).expect("in time");
    assert!(
        begin.elapsed() < Duration::from_secs(5),
        "{:?}",
        begin.elapsed()
    );
    for index in [0, 2, 3, 4] {
        let mut answer = Vec::new();
        match noisy[index].read_to_end(&mut answer) {
            Ok(_) => assert!(answer.starts_with(b"HTTP/1.1 400 "), "{index}: {answer:?}"),
            // The system discarded the answer because of the bytes that the listener had not read.
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
    }
    drop((near, silent));
    let refused = dial(&format!("tcp/{at}"), &[]).expect_err("it is a WebSocket");
    assert!(refused.contains(&format!("tcp/{at}")), "{refused}");
}

#[test]
fn what_answers_otherwise_is_said() {
    for (answer, expected) in [
        ("220 mail.example ready\r\n", "does not speak WebSocket"),
        (
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
            "the answer is 404 Not Found",
        ),
        (
            "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: none\r\n\r\n",
            "for another request",
        ),
        ("", "hung up"),
    ] {
        let plain = TcpListener::bind("127.0.0.1:0").expect("a port");
        let at = plain.local_addr().expect("bound");
        let server = std::thread::spawn(move || {
            let (mut stream, _) = plain.accept().expect("a connection");
            let mut request = [0; 1000];
            let count = stream.read(&mut request).expect("a request");
            let _ = stream.write_all(answer.as_bytes());
            String::from_utf8_lossy(&request[..count]).into_owned()
        });
        let text = dial(&format!("ws/{at}"), &[]).expect_err(expected);
        assert!(
            text.contains(expected) && text.contains(&at.to_string()),
            "{text}"
        );
        let request = server.join().expect("it ends");
        assert!(request.starts_with("GET / HTTP/1.1\r\n"), "{request}");
        assert!(request.contains(&format!("Host: {at}\r\n")), "{request}");
    }
}

/// The example of RFC 6455.
const REQUEST: &str = "GET /any?path HTTP/1.1\r\nHost: somewhere\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\
                       Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/// Connects a client that is not of this project: it has requested a WebSocket and sent `behind`
/// right after that.
fn stranger(to: &Session, behind: &[u8]) -> TcpStream {
    let at: SocketAddr = ([127, 0, 0, 1], port(to)).into();
    let mut stream = TcpStream::connect(at).expect("it listens");
    let start = [REQUEST.as_bytes(), behind].concat();
    stream.write_all(&start).expect("it takes it");
    stream
}

/// Returns a frame of a client whose mask is 0.
fn frame(first: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).expect("a short one");
    [&[first, 0x80 | length, 0, 0, 0, 0], content].concat()
}

/// A peer that breaks the rules of RFC 6455 gets the RFC's code for that, and the listener closes
/// the link.
#[test]
fn a_violation_is_answered_with_its_code() {
    let far = listener("ws/127.0.0.1:0", &[]);
    let too_long = [&[0x82, 0xff][..], &(1_u64 << 40).to_be_bytes(), &[0; 4]].concat();
    let in_parts = [frame(0x02, b"a"), frame(0x82, b"b")].concat();
    for (name, sent, code) in [
        ("without a mask", b"\x82\x01x".to_vec(), 1002_u16),
        ("of an extension", frame(0xc2, b"x"), 1002),
        ("a continuation of nothing", frame(0x80, b"x"), 1002),
        ("a message in another one", in_parts, 1002),
        ("a ping in parts", frame(0x09, b"x"), 1002),
        (
            "a ping of 126 bytes",
            [&b"\x89\xfe\0\x7e\0\0\0\0"[..], &[0; 126]].concat(),
            1002,
        ),
        ("text", frame(0x81, b"hello"), 1003),
        ("too long", too_long, 1009),
        ("the end", frame(0x88, &1000_u16.to_be_bytes()), 1000),
    ] {
        let mut answer = Vec::new();
        // The system discards the end of the answer now and then, because of the bytes that the
        // listener has not read.
        let ended = stranger(&far, &sent).read_to_end(&mut answer);
        let close = [&[0x88, 2][..], &code.to_be_bytes()].concat();
        let is_told = answer.ends_with(&close);
        assert!(is_told || ended.is_err(), "{name}: {answer:?}");
        assert!(answer.starts_with(b"HTTP/1.1 101 "), "{name}");
    }
}

/// A first message in several frames, a ping between them, is understood; its answer is one binary message without a mask.
#[test]
fn a_message_in_parts_is_put_together() {
    // InitSyn of a client with the id 1, at the defaults
    let init_syn = b"\x01\x09\x02\x01";
    let far = listener("ws/127.0.0.1:0", &[]);
    let parts = [
        frame(0x02, &init_syn[..1]),
        frame(0x89, b"ping"),
        frame(0x00, &init_syn[1..3]),
        frame(0x80, &init_syn[3..]),
    ]
    .concat();
    let mut stream = stranger(&far, &parts);
    let mut found = Vec::new();
    let has = |found: &[u8], part: &[u8]| found.windows(part.len()).any(|at| at == part);
    let is_answered = |found: &[u8]| {
        let head = found.windows(4).position(|at| at == b"\r\n\r\n");
        let frames = head.map_or(&[][..], |at| &found[at + 4..]);
        // a final binary frame whose content begins as InitAck does
        has(frames, b"\x8a\x04ping")
            && frames
                .windows(3)
                .any(|at| at[0] == 0x82 && at[2] & 0x3f == 0x21)
    };
    while !is_answered(&found) {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("an answer");
        found.push(byte[0]);
    }
}

/// A proxy or a library of WebSocket may ping this end, also before any other message.
#[test]
fn a_ping_before_the_introduction_is_answered() {
    let far = listener("ws/127.0.0.1:0", &[]);
    let mut stream = stranger(&far, b"\x89\x85\0\0\0\0hello");
    let mut found = Vec::new();
    while !found.ends_with(b"\x8a\x05hello") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("an answer");
        found.push(byte[0]);
    }
    let answer = String::from_utf8_lossy(&found).to_lowercase();
    assert!(answer.starts_with("http/1.1 101 "), "{answer}");
    assert!(
        answer.contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=\r\n"),
        "{answer}"
    );
}
