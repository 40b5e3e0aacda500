// SPDX-License-Identifier: MIT OR Apache-2.0

//! Services that run for a test, and clients that write bytes.

#![allow(dead_code, reason = "no test program uses all of it")]

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use zonda::{Config, Session, Wait};
use zonda_services::{Running, StartError, start_all};
use zonda_transport::log_ring::LogRing;

/// A limit for steps that take no time.
pub const SOON: Duration = Duration::from_secs(20);

pub struct Served {
    pub running: Vec<Box<dyn Running>>,
    pub address: SocketAddr,
    pub session: Session,
}

impl Served {
    pub fn stop(self) {
        self.running.into_iter().for_each(Running::stop);
    }
}

pub fn alone() -> Session {
    alone_with("timestamping/enabled", "true")
}

/// The log of the program, in which tests write lines.
pub static LOG: LogRing = LogRing::new();

/// Opens a node whose configuration has one more value.
pub fn alone_with(key: &str, value: &str) -> Session {
    let config = Config::peer().listen(["tcp/127.0.0.1:0"]);
    let config = config.with("scouting/multicast/enabled", "false");
    let config = config.with("timestamping/enabled", "true");
    let config = config.with(key, value);
    zonda::open(config).wait().unwrap()
}

/// Returns a function that hands out one session.
pub fn sharing(
    session: &Session,
) -> impl Fn() -> Result<Session, zonda::Error> + Send + Sync + use<> {
    let session = session.clone();
    move || Ok(session.clone())
}

pub fn started(config: &Config) -> Result<Served, StartError> {
    started_on(config, alone())
}

/// Starts the services on a node.
pub fn started_on(config: &Config, session: Session) -> Result<Served, StartError> {
    let running = start_all(config, sharing(&session), Some(&LOG))?;
    let status = running[0].status();
    let (_, address) = status.split_once(" on ").unwrap();
    let address = address.parse().unwrap();
    Ok(Served {
        running,
        address,
        session,
    })
}

/// Sends bytes, and returns all that comes until the end of the connection.
pub fn exchange(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    // An error means that the server has refused the rest.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
    }
    String::from_utf8(answer).unwrap()
}

pub fn get(address: SocketAddr, path: &str, host: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    exchange(address, request.as_bytes())
}

pub fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("none")
}

/// Answer to a request.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn of(text: &str) -> Answer {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        Answer {
            status: status(head).parse().unwrap_or(0),
            head: head.to_ascii_lowercase(),
            body: body.to_owned(),
        }
    }
}

/// Sends a request with these lines of a head, and returns the answer.
pub fn ask(served: &Served, request: &str, head: &[&str], body: &str) -> Answer {
    let mut text = format!("{request} HTTP/1.1\r\nConnection: close\r\n");
    if !head.iter().any(|line| line.starts_with("Host:")) {
        text += "Host: localhost\r\n";
    }
    for line in head {
        text += &format!("{line}\r\n");
    }
    if !body.is_empty() {
        text += &format!("Content-Length: {}\r\n", body.len());
    }
    Answer::of(&exchange(
        served.address,
        format!("{text}\r\n{body}").as_bytes(),
    ))
}

/// Waits until a condition holds.
pub fn until(what: &str, condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < SOON, "{what}");
        std::thread::yield_now();
    }
}

/// Returns the value of a counter, with its labels.
pub fn count(served: &Served, name: &str) -> u64 {
    let samples = served.running[0].metrics();
    let text = zonda::session::openmetrics(&samples);
    let value = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok();
    text.lines().find_map(value).expect(name)
}
