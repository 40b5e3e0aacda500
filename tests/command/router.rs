// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of `zonda router`, which is `zondad` under another name.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};

use super::program::{Running, run, run_unread, zonda};

fn address(listening: &str) -> SocketAddr {
    let address = listening.strip_prefix("tcp/").unwrap_or(listening);
    address
        .parse()
        .unwrap_or_else(|e| panic!("{listening}: {e}"))
}

#[cfg(unix)]
#[test]
fn prints_what_it_bound_and_ends_on_a_signal() {
    for signal in ["TERM", "INT"] {
        let arguments = [
            "router",
            "-l",
            "tcp/127.0.0.1:0",
            "-l",
            "tcp/127.0.0.1:0",
            "-i",
            "a1",
        ];
        let mut router = Running::start(&zonda(), &arguments);
        assert_eq!(router.after("zid "), "a1");
        let bound = [router.after("listening on "), router.after("listening on ")];
        assert_ne!(bound[0], bound[1]);
        for bound in bound.iter().map(|b| address(b)) {
            assert_ne!(bound.port(), 0);
            TcpStream::connect(bound).expect("somebody listens there");
        }
        router.signal(signal);
        assert_eq!(router.end().code(), Some(0), "{signal}");
    }
}

/// Memory of large messages returns to the system, under the process id of the start.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn it_fixes_what_the_c_library_keeps() {
    let mut router = Running::start(&zonda(), &["router", "-l", "tcp/127.0.0.1:0"]);
    router.after("listening on ");
    let environment = std::fs::read(format!("/proc/{}/environ", router.pid()));
    let environment = String::from_utf8_lossy(&environment.expect("it runs")).into_owned();
    let variables: Vec<_> = environment.split('\0').collect();
    assert!(variables.contains(&"MALLOC_MMAP_THRESHOLD_=1048576"));
    assert!(variables.contains(&"MALLOC_TRIM_THRESHOLD_=8388608"));
    router.signal("TERM");
    assert_eq!(router.end().code(), Some(0));
}

/// Waiting for a neighbour may take for ever, so the first signal ends it.
#[cfg(unix)]
#[test]
fn a_signal_ends_it_while_it_waits_for_a_connection() {
    let arguments = [
        "router",
        "-l",
        "tcp/127.0.0.1:0",
        "-e",
        "tcp/127.0.0.1:1",
        "--cfg",
        "connect/exit_on_failure:true",
    ];
    let mut router = Running::start(&zonda(), &arguments);
    let told = router
        .errors
        .recv_timeout(super::program::DEADLINE)
        .expect("a line");
    assert!(
        told.contains("cannot connect to tcp/127.0.0.1:1") && told.contains("waiting for it"),
        "{told}"
    );
    router.signal("TERM");
    assert!(!router.end().success());
    assert!(router.lines.try_recv().is_err(), "it was not ready");
}

/// The router logs failed attempts once, and the connection after them once.
#[test]
fn failed_attempts_are_said_once_and_then_the_connection() {
    let held = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
    let there = format!("tcp/{}", held.local_addr().expect("address"));
    drop(held);
    let often = "connect/retry:{period_init_ms:20,period_max_ms:20}";
    let arguments = [
        "router",
        "-l",
        "tcp/127.0.0.1:0",
        "-e",
        &there,
        "--cfg",
        often,
    ];
    let mut router = Running::start(&zonda(), &arguments);
    let mut warning = || loop {
        let line = router.error();
        if line.contains("WARN") {
            return line;
        }
    };
    let told = warning();
    assert!(
        told.contains(&there) && told.ends_with("; trying again"),
        "{told}"
    );
    let _other = Running::start(&zonda(), &["router", "-l", &there]);
    let told = warning();
    assert!(
        told.contains(&format!("connected to {there} after ")),
        "{told}"
    );
}

#[test]
fn a_start_line_for_programs() {
    let mut router = Running::start(&zonda(), &["router", "--json", "-l", "tcp/127.0.0.1:0"]);
    let line: serde_json::Value = serde_json::from_str(&router.line()).expect("a JSON line");
    assert_eq!(line["event"], "ready");
    assert!(
        line["zid"].as_str().is_some_and(|z| !z.is_empty()),
        "{line}"
    );
    assert_ne!(
        address(line["listening"][0].as_str().expect("an address")).port(),
        0
    );
}

#[test]
fn a_port_in_use_is_one_line() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
    let taken = format!("tcp/{}", listener.local_addr().expect("address"));
    let ended = run(&zonda(), &["router", "-l", &taken]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.err.starts_with("error: ") && ended.err.contains(&taken),
        "{ended:?}"
    );
    assert_eq!(ended.err.lines().count(), 1, "{ended:?}");
}

#[test]
fn the_references_flags_never_stop_it() {
    let arguments = [
        "router",
        "-l",
        "tcp/127.0.0.1:0",
        "--rest-http-port",
        "127.0.0.1:0",
        "-P",
        "rest",
        "--plugin-search-dir",
        "/tmp",
        "--no-timestamp",
        "--no-multicast-scouting",
        "--adminspace-permissions",
        "rw",
        "--stats",
    ];
    let mut router = Running::start(&zonda(), &arguments);
    router.after("listening on ");
    router.stop();
    let warnings: Vec<String> = router.errors.iter().collect();
    for flag in ["--plugin rest", "--plugin-search-dir", "--stats"] {
        let about = warnings
            .iter()
            .filter(|w| w.starts_with(&format!("warning: {flag}")))
            .count();
        assert_eq!(about, 1, "{flag}: {warnings:?}");
    }
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    let ended = run_unread(&zonda(), &["router", "-l", "tcp/127.0.0.1:0"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
}

/// A supervisor takes a leftover socket for a running router.
#[cfg(target_os = "linux")]
#[test]
fn what_a_listener_has_made_is_gone_when_the_router_has_ended() {
    let folder = std::env::temp_dir().join(format!("zonda-files-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("made");
    for kind in ["unixsock-stream", "unixpipe"] {
        for round in 0..10 {
            let endpoint = format!("{kind}/{}/{kind}", folder.display());
            let mut router = Running::start(&zonda(), &["router", "-l", &endpoint]);
            router.after("listening on ");
            let is_there = || std::fs::read_dir(&folder).expect("a folder").count();
            assert!(is_there() > 0, "{kind}: nothing is made");
            router.signal("TERM");
            assert_eq!(router.end().code(), Some(0));
            assert_eq!(is_there(), 0, "{kind}, round {round}: files are left");
        }
    }
    std::fs::remove_dir(&folder).expect("it is empty");
}
