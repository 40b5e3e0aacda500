// SPDX-License-Identifier: MIT OR Apache-2.0

//! Links over WebSocket: that everything passes them, and that nobody who is let in late delays others.

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
        begin.elapsed() < Duration::from_secs(2),
        "{:?}",
        begin.elapsed()
    );
    for index in [0, 2, 3, 4] {
        let mut answer = Vec::new();
        match noisy[index].read_to_end(&mut answer) {
            Ok(_) => assert!(answer.starts_with(b"HTTP/1.1 400 "), "{index}: {answer:?}"),
            // What it had not read made the system forget the answer.
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

/// A proxy or a library of WebSocket may ask whether this end is there, also while nothing else is said.
#[test]
fn a_ping_before_the_introduction_is_answered() {
    let far = listener("ws/127.0.0.1:0", &[]);
    let at: SocketAddr = ([127, 0, 0, 1], port(&far)).into();
    let mut stream = TcpStream::connect(at).expect("it listens");
    let request = "GET /any?path HTTP/1.1\r\nHost: somewhere\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\
                   Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    // the example of RFC 6455, with a Ping right behind it
    let ping = b"\x89\x85\0\0\0\0hello";
    let start = [request.as_bytes(), ping].concat();
    stream.write_all(&start).expect("it takes it");
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
