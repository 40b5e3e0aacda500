// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ends of programs: within their time limits, and with correct counts of lost messages. Each in a
//! process of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use socket2::SockRef;
use zonda::Wait;
use zonda::bytes::ZBytes;
use zonda::qos::CongestionControl;

use crate::closing::deaf_router;
use crate::hand::Hand;
use crate::scene::{LONG, client, until};

/// Time limit that exceeds the time of a link that is closed on its own.
const LIMIT: Duration = Duration::from_millis(1500);

/// A running program; dropping it ends it.
struct Program(Child);

impl Program {
    fn start(arguments: &[&str]) -> Program {
        let child = Command::new(env!("CARGO_BIN_EXE_zonda"))
            .args(arguments)
            .env_remove("ZENOH_CONFIG")
            .env_remove("ZONDA_CFG")
            .env("RUST_LOG", "warn")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        Program(child.expect("it is built beside this test"))
    }

    /// Starts a router with small socket buffers; returns it with its address.
    fn router(more: &[&str]) -> (Program, SocketAddr) {
        let fixed = [
            "router",
            "-l",
            "tcp/127.0.0.1:0",
            "--no-multicast-scouting",
            "--cfg",
            "transport/link/tcp/so_sndbuf:65536",
        ];
        let mut router = Program::start(&[&fixed, more].concat());
        let out = router.0.stdout.take().expect("it is piped");
        let address = BufReader::new(out).lines().find_map(|line| {
            let line = line.expect("text");
            let address = line.strip_prefix("listening on tcp/")?.to_owned();
            Some(address.parse().expect("an address"))
        });
        (router, address.expect("it listens"))
    }

    fn signal(&self, name: &str) {
        let pid = self.0.id().to_string();
        let sent = Command::new("kill").args([name, &pid]).status();
        assert!(sent.is_ok_and(|status| status.success()));
    }

    /// Returns the exit code and the text on standard error.
    fn ended(mut self) -> (Option<i32>, String) {
        let mut errors = String::new();
        let err = self.0.stderr.as_mut().expect("it is piped");
        err.read_to_string(&mut errors).expect("text");
        let status = self.0.wait().expect("it is our child");
        (status.code(), errors)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // an error means that it has ended already
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Connects a subscriber that does not read, and publishes more than its sockets hold.
fn sleeper(address: SocketAddr) -> Hand {
    let mut hand = Hand::connected(address);
    SockRef::from(&hand.stream)
        .set_recv_buffer_size(1 << 16)
        .expect("a socket");
    hand.subscribe(1, "news");
    assert!(hand.is_served(), "the router has heard that");
    let session = client(address);
    let publisher = session
        .declare_publisher("news")
        .congestion_control(CongestionControl::Drop)
        .wait()
        .unwrap();
    until("the publisher is matched", || {
        let status = publisher.matching_status().wait().unwrap();
        status.matching()
    });
    // many times the capacity of the queue and all sockets: messages without room are dropped
    let payload = ZBytes::from(vec![7; 1 << 15]);
    for _ in 0..256 {
        publisher.put(&payload).wait().unwrap();
    }
    session.close().wait().expect("the router reads");
    hand
}

/// Reading the content of the router and the sockets takes some three seconds.
#[test]
fn a_router_drains_for_as_long_as_it_says() {
    let (router, address) = Program::router(&[]);
    let mut hand = sleeper(address);
    router.signal("-TERM");
    let begin = Instant::now();
    let mut last = Vec::new();
    while let Some(batch) = hand.receive() {
        thread::sleep(SLOW.mul_f64(batch.len() as f64));
        last = batch;
    }
    assert!(begin.elapsed() > LIMIT, "it took {:?}", begin.elapsed());
    assert_eq!(last.first().map(|id| id & 0x1f), Some(CLOSE));
    assert_eq!(router.ended(), (Some(0), String::new()));
}

/// Time of a slow reader for a byte: some 200 kB in a second.
const SLOW: Duration = Duration::from_micros(5);

/// Id of a Close.
const CLOSE: u8 = 3;

#[test]
fn a_router_says_what_is_lost() {
    let limit = format!("close_timeout_ms:{}", LIMIT.as_millis());
    let (router, address) = Program::router(&["--cfg", &limit]);
    let hand = sleeper(address);
    let begin = Instant::now();
    router.signal("-TERM");
    let (code, errors) = router.ended();
    assert!(begin.elapsed() >= LIMIT && begin.elapsed() < LONG / 2);
    assert_eq!(code, Some(1), "{errors}");
    let lines: Vec<&str> = errors.lines().collect();
    assert_eq!(lines.len(), 1, "{errors}");
    let peer = hand.zid().to_string();
    assert!(
        lines[0].starts_with("error: ") && lines[0].contains(&peer),
        "{errors}"
    );
    assert!(lines[0].contains(" messages, "), "{errors}");
}

#[test]
fn a_second_signal_ends_a_router_at_once() {
    let (mut router, address) = Program::router(&["--cfg", "close_timeout_ms:600000"]);
    let _hand = sleeper(address);
    router.signal("-TERM");
    // it no longer listens
    until("it closes", || TcpStream::connect(address).is_err());
    assert!(router.0.try_wait().expect("it is our child").is_none());
    router.signal("-TERM");
    assert_eq!(router.ended().0, Some(128 + 15));
}

/// Number of lines of ten thousand bytes each for `zonda pub`: more than sockets hold, less than
/// its queue.
const LINES: usize = 40;

/// Returns a line for `zonda pub`.
fn line() -> String {
    format!("{}\n", "\u{7f}".repeat(9_999))
}

/// Starts `zonda pub` with `lines` lines of input, in front of a router that has read nothing yet.
fn publishing(lines: usize, more: &[&str]) -> (Program, TcpStream) {
    let command = [&["pub", "-k", "demo"], more].concat();
    before_a_deaf_router(&command, &line().repeat(lines))
}

/// Starts a program with all of this input, in front of a router that has read nothing yet.
fn before_a_deaf_router(command: &[&str], input: &str) -> (Program, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    SockRef::from(&listener)
        .set_recv_buffer_size(1 << 14)
        .expect("a socket");
    let place = format!("tcp/{}", listener.local_addr().expect("bound"));
    let fixed = [
        "-m",
        "client",
        "-e",
        &place,
        "--cfg",
        "transport/link/tcp/so_sndbuf:65536",
    ];
    let mut program = Program::start(&[command, &fixed].concat());
    let mut stdin = program.0.stdin.take().expect("it is piped");
    let stream = thread::scope(|scope| {
        // Some programs read before they connect.
        scope.spawn(move || stdin.write_all(input.as_bytes()).expect("it reads"));
        deaf_router(&listener, "demo")
    });
    (program, stream)
}

#[test]
fn a_publisher_at_the_end_of_its_input_delivers_all_of_it() {
    let (program, mut stream) = publishing(LINES, &[]);
    let begin = Instant::now();
    let mut buffer = vec![0; 1 << 13];
    let mut bytes = 0;
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        thread::sleep(SLOW.mul_f64(count as f64));
        bytes += buffer[..count].iter().filter(|byte| **byte == 0x7f).count();
    }
    assert!(begin.elapsed() > LIMIT, "it took {:?}", begin.elapsed());
    let (code, errors) = program.ended();
    assert_eq!(code, Some(0), "{errors}");
    // A sequence number may have such a byte as well, in each frame; a lost message has ten
    // thousand.
    let more = (bytes + 1).saturating_sub(LINES * 9_999);
    assert!((1..1000).contains(&more), "{bytes} bytes: {errors}");
}

#[test]
fn a_publisher_says_what_is_lost_at_the_end_of_its_input() {
    let limit = format!("close_timeout_ms:{}", LIMIT.as_millis());
    let (program, _stream) = publishing(LINES, &["--cfg", &limit]);
    let (code, errors) = program.ended();
    assert_eq!(code, Some(1), "{errors}");
    assert_eq!(errors.matches("error: ").count(), 1, "{errors}");
    assert!(errors.contains(" messages, "), "{errors}");
    // Its one count of outcomes agrees with the error, and no log line reports the loss twice.
    let lost = between(&errors, "lost: ", " messages, ").rsplit_once('(');
    let lost = lost.map_or("", |(_, count)| count);
    assert!(
        errors.contains(&format!(", {lost} lost with a link")),
        "{errors}"
    );
    assert!(!errors.contains("WARN"), "{errors}");
}

/// Returns the text after the first `begin`, up to the next `end`.
fn between<'t>(text: &'t str, begin: &str, end: &str) -> &'t str {
    let after = text.split_once(begin).map_or("", |(_, after)| after);
    after.split_once(end).map_or("", |(between, _)| between)
}

/// Number of lines of which `zonda pub` has queued more than its sockets hold when it has read most
/// of them: it reads 64 ahead.
const MANY_LINES: usize = 110;

#[test]
fn a_publisher_whose_router_leaves_says_what_is_lost() {
    let (program, stream) = publishing(MANY_LINES, &[]);
    drop(stream);
    says_what_left_with_the_router(program);
}

#[test]
fn a_replay_whose_router_leaves_says_what_is_lost() {
    let head = "{\"zonda_recording\":1,\"key\":\"demo\"}\n";
    let message = format!(
        "{{\"at\":0,\"key\":\"demo\",\"payload\":\"{}\"}}\n",
        "x".repeat(9_999)
    );
    let input = [head, &message.repeat(60)].concat();
    let (program, stream) = before_a_deaf_router(&["replay", "-", "--fast"], &input);
    drop(stream);
    says_what_left_with_the_router(program);
}

fn says_what_left_with_the_router(program: Program) {
    let (code, errors) = program.ended();
    assert_eq!(code, Some(1), "{errors}");
    let failures: Vec<&str> = errors
        .lines()
        .filter(|line| line.starts_with("error: "))
        .collect();
    assert_eq!(failures.len(), 1, "{errors}");
    assert!(
        failures[0].ends_with(
            " messages were lost with their link: the neighbour left before it had taken them"
        ),
        "{errors}"
    );
}
