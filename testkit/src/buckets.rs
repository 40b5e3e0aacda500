// SPDX-License-Identifier: MIT OR Apache-2.0
//! Server of S3 on this machine, for tests of the long run.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Environment variable with the program `moto_server`, of the package `moto[server]`.
const PROGRAM: &str = "ZONDA_S3_SERVER";
/// Limit of its start, in which it loads much Python.
const START: Duration = Duration::from_secs(120);

/// A server whose buckets are in its memory. Dropping it ends it.
#[derive(Debug)]
pub struct Buckets {
    child: Child,
    address: String,
}

impl Buckets {
    /// Starts the server if the environment variable `ZONDA_S3_SERVER` names its program, or in the
    /// long run (`ZONDA_LONG`) `moto_server` is there; else prints that the test is skipped.
    ///
    /// # Panics
    /// The server does not start in time.
    pub fn start() -> Option<Buckets> {
        let named = std::env::var_os(PROGRAM);
        let is_long = std::env::var_os("ZONDA_LONG").is_some();
        if named.is_none() && !is_long {
            println!("SKIPPED: a test of the long run (ZONDA_LONG=1, or {PROGRAM})");
            return None;
        }
        let program = named.clone().unwrap_or_else(|| "moto_server".into());
        let mut command = Command::new(&program);
        command.args(["-H", "127.0.0.1", "-p", "0"]);
        let command = command.stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = match command.stderr(Stdio::piped()).spawn() {
            Ok(child) => child,
            Err(error) if named.is_none() => {
                println!("SKIPPED: {program:?} does not start ({error}); {PROGRAM} names it");
                return None;
            }
            Err(error) => panic!("{program:?} does not start: {error}"),
        };
        let errors = BufReader::new(child.stderr.take().expect("it is piped"));
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            // Later lines are read and dropped, so that the server does not wait.
            for line in errors.lines().map_while(Result::ok) {
                if let Some((_, address)) = line.split_once("Running on http://") {
                    let address = address.split_whitespace().next().unwrap_or_default();
                    let _ = sender.send(address.to_owned());
                }
            }
        });
        let address = receiver.recv_timeout(START);
        let address = address.expect("the server tells its address");
        Some(Buckets { child, address })
    }

    /// Returns its URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Creates a bucket.
    ///
    /// # Panics
    /// The server does not do so.
    pub fn create(&self, bucket: &str) {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let host = &self.address;
        let request = format!(
            "PUT /{bucket} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

impl Drop for Buckets {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
