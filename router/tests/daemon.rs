// SPDX-License-Identifier: MIT OR Apache-2.0

//! The program `zondad` itself: start, what it prints, and how it ends. Its flags are tested beside their
//! code, and more of its behaviour through `zonda router`, which is the same function.

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

/// A daemon under way. Dropping it ends it.
struct Daemon(Child);

impl Daemon {
    fn start(arguments: &[&str]) -> Daemon {
        let child = Command::new(env!("CARGO_BIN_EXE_zondad"))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        Daemon(child.expect("the daemon is built beside this test"))
    }

    /// Its lines up to the last address, and that address.
    fn address(&mut self) -> SocketAddr {
        let out = self.0.stdout.as_mut().expect("it is piped");
        for line in BufReader::new(out).lines() {
            let line = line.expect("text");
            if let Some(address) = line.strip_prefix("listening on tcp/") {
                return address.parse().expect("an address");
            }
            assert!(line.starts_with("zid "), "{line}");
        }
        panic!("it ended without an address: {}", self.errors())
    }

    /// All of its standard error, once it has ended.
    fn errors(&mut self) -> String {
        let mut text = String::new();
        let err = self.0.stderr.as_mut().expect("it is piped");
        err.read_to_string(&mut text).expect("text");
        text
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // an error means that it has ended already
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(unix)]
#[test]
fn it_listens_until_it_is_asked_to_end() {
    let arguments = [
        "-l",
        "tcp/127.0.0.1:0",
        "--no-multicast-scouting",
        "--rest-http-port",
        "none",
    ];
    let mut daemon = Daemon::start(&arguments);
    let address = daemon.address();
    assert_ne!(address.port(), 0);
    TcpStream::connect(address).expect("it listens there");
    let pid = daemon.0.id().to_string();
    let sent = Command::new("kill").args(["-TERM", &pid]).status();
    assert!(sent.is_ok_and(|s| s.success()));
    assert_eq!(daemon.0.wait().expect("it is our child").code(), Some(0));
    assert_eq!(daemon.errors(), "");
}

#[test]
fn a_port_in_use_is_one_line() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
    let taken = format!("tcp/{}", listener.local_addr().expect("address"));
    let mut daemon = Daemon::start(&["-l", &taken]);
    assert_eq!(daemon.0.wait().expect("it is our child").code(), Some(1));
    let errors = daemon.errors();
    assert!(
        errors.starts_with("error: ") && errors.contains(&taken),
        "{errors}"
    );
    assert_eq!(errors.lines().count(), 1, "{errors}");
}

#[test]
fn bad_usage_is_one_line() {
    let mut daemon = Daemon::start(&["--listen"]);
    assert_eq!(daemon.0.wait().expect("it is our child").code(), Some(2));
    let errors = daemon.errors();
    assert!(
        errors.starts_with("error: ") && errors.contains("--listen"),
        "{errors}"
    );
    assert_eq!(errors.lines().count(), 1, "{errors}");
}

/// A build without TLS and WebSocket says what brings them.
#[cfg(not(any(feature = "tls", feature = "ws")))]
#[test]
fn a_kind_of_link_that_is_not_built_in_names_its_feature() {
    for kind in ["tls", "ws"] {
        let at = format!("{kind}/127.0.0.1:0");
        let mut daemon = Daemon::start(&["-l", &at, "--no-multicast-scouting"]);
        let said = daemon.errors();
        let expected = format!(
            "links of kind {kind} are not in this build; build it with the feature `{kind}`"
        );
        assert!(said.contains(&at) && said.contains(&expected), "{said}");
    }
}
