// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the examples' flags and output lines, which scripts depend on.

use super::program::{Running, example, run, zonda};

/// Returns an address that a peer example can listen on. Examples do not print theirs, so this
/// function binds a free one, reads it and releases it.
pub fn free_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("bind");
    format!("tcp/{}", listener.local_addr().expect("address"))
}

pub fn router() -> (Running, String) {
    let mut router = Running::start(&zonda(), &["router", "-l", "tcp/127.0.0.1:0"]);
    let address = router.after("listening on ");
    (router, address)
}

pub fn is_rate(line: &str) -> bool {
    line.strip_suffix(" msg/s")
        .is_some_and(|n| n.parse::<u64>().is_ok())
}

#[test]
fn throughput_peer_to_peer() {
    let address = free_address();
    let mut sub = Running::start(
        &example("sub_thr"),
        &[
            "-m",
            "peer",
            "-l",
            &address,
            "--no-multicast-scouting",
            "-s",
            "3",
            "-n",
            "500",
        ],
    );
    let mut publisher = Running::start(
        &example("pub_thr"),
        &[
            "8",
            "-m",
            "peer",
            "-e",
            &address,
            "--no-multicast-scouting",
            "-t",
            "-n",
            "1000",
        ],
    );
    for _ in 0..3 {
        let line = sub.line();
        assert!(is_rate(&line), "{line}");
    }
    assert_eq!(sub.end().code(), Some(0));
    assert!(is_rate(&publisher.line()));
}

#[cfg(unix)]
#[test]
fn throughput_through_a_router_until_ctrl_c() {
    let (_router, address) = router();
    let client = ["-m", "client", "-e", &address, "--no-multicast-scouting"];
    let rounds = ["-n", "200", "-s", "1000000000"];
    let mut sub = Running::start(&example("sub_thr"), &[&client[..], &rounds].concat());
    let arguments = [&["1024", "-p", "2", "--express"], &client[..]].concat();
    let mut publisher = Running::start(&example("pub_thr"), &arguments);
    assert!(is_rate(&sub.line()));
    for program in [&mut publisher, &mut sub] {
        program.signal("INT");
        assert_eq!(program.end().code(), Some(0));
    }
}

/// Checks `<size> bytes: seq=<i> rtt=<x>µs lat=<x/2>µs`.
pub fn check_sample(line: &str, seq: usize) {
    let rest = line
        .strip_prefix(&format!("64 bytes: seq={seq} rtt="))
        .unwrap_or_default();
    let numbers = rest.split_once("µs lat=").and_then(|(rtt, lat)| {
        Some((
            rtt.parse::<f64>().ok()?,
            lat.strip_suffix("µs")?.parse::<f64>().ok()?,
        ))
    });
    let (rtt, lat) = numbers.unwrap_or_else(|| panic!("{line}"));
    assert!(rtt > 0.0 && (rtt / 2.0 - lat).abs() <= 0.11, "{line}");
}

#[test]
fn round_trips() {
    let (_router, address) = router();
    let direct = free_address();
    for (mode, side, to) in [("client", "-e", &address), ("peer", "-l", &direct)] {
        let common = ["-m", mode, "--no-multicast-scouting"];
        let _pong = Running::start(&example("pong"), &[&common[..], &[side, to]].concat());
        let arguments = [&["64", "-n", "20", "-w", "0.01", "-e", to], &common[..]].concat();
        let ended = run(&example("ping"), &arguments);
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
        let lines: Vec<&str> = ended.out.lines().collect();
        assert_eq!(lines.len(), 21, "{lines:?}");
        lines[..20]
            .iter()
            .enumerate()
            .for_each(|(seq, line)| check_sample(line, seq));
        for name in ["64 bytes: p50=", " p90=", " p99=", " p99.9=", " max="] {
            assert!(lines[20].contains(name), "{}", lines[20]);
        }
    }
}

#[test]
fn round_trips_on_a_schedule() {
    let (_router, address) = router();
    let client = ["-m", "client", "-e", &address];
    let _pong = Running::start(&example("pong"), &client);
    let arguments = [
        &["64", "-n", "20", "-w", "0", "--interval", "0.002", "--json"],
        &client[..],
    ]
    .concat();
    let ended = run(&example("ping"), &arguments);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let last = ended.out.lines().last().expect("a summary");
    let summary: serde_json::Value = serde_json::from_str(last).expect("JSON");
    let rate = summary["per_s"].as_f64().expect("a rate");
    // the schedule is an upper limit; a busy machine stays below it by an amount that this test
    // does not bound
    assert!(rate > 0.0 && rate < 560.0, "{summary}");
}

#[test]
fn values_come_and_go() {
    let address = free_address();
    let listen = ["-m", "peer", "-l", &address, "--no-multicast-scouting"];
    let connect = ["-m", "client", "-e", &address, "--no-multicast-scouting"];
    let mut sub = Running::start(&example("sub"), &[&listen[..], &["-k", "demo/**"]].concat());
    assert_eq!(sub.line(), "Declaring Subscriber on 'demo/**'...");
    sub.line_where(|l| l.starts_with("Press CTRL-C"));

    let arguments = [
        &["-k", "demo/n", "-v", "x", "-n", "2", "--interval", "0"],
        &connect[..],
    ];
    let ended = run(&example("pub"), &arguments.concat());
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    assert!(
        ended.out.contains("Putting Data ('demo/n': '[   1] x')..."),
        "{}",
        ended.out
    );
    assert_eq!(
        sub.line(),
        ">> [Subscriber] Received PUT ('demo/n': '[   0] x')"
    );
    assert_eq!(
        sub.line(),
        ">> [Subscriber] Received PUT ('demo/n': '[   1] x')"
    );

    let arguments = [&["-k", "demo/p", "-p", "y", "-a", "z"], &connect[..]].concat();
    assert_eq!(run(&example("put"), &arguments).code, Some(0));
    assert_eq!(
        sub.line(),
        ">> [Subscriber] Received PUT ('demo/p': 'y') (z)"
    );

    let arguments = [&["-k", "demo/p"], &connect[..]].concat();
    assert_eq!(run(&example("delete"), &arguments).code, Some(0));
    assert_eq!(sub.line(), ">> [Subscriber] Received DELETE ('demo/p': '')");
}
