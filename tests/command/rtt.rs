// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf rtt`: every backend by every protocol for a moment, runs without an answer, and a
//! small matrix with its files. No speed is asserted.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};

use serde_json::Value;
use zonda_testkit::Folder;

use super::program::{Ended, Running, run, zonda};

const BACKENDS: [&str; 6] = [
    "std",
    "tokio",
    "tokio-current",
    "smol",
    "async-std",
    "uring",
];
const COLUMNS: &str = "framework,transport,test,count,rate,payload,tasks,value,unit";

/// Returns backends that are compiled in and that this system can start.
fn backends() -> Vec<&'static str> {
    let starts = |backend: &&str| {
        let arguments = "perf rtt --mode ping --protocol udp --address 127.0.0.1:9 --duration 0";
        let arguments: Vec<&str> = arguments
            .split(' ')
            .chain(["--backend", *backend])
            .collect();
        let ended = run(&zonda(), &arguments);
        let is_refused = ended.code == Some(2) || ended.err.contains("cannot start it");
        assert!(
            *backend == "uring" || ended.code != Some(1) || !is_refused,
            "{ended:?}"
        );
        !is_refused
    };
    BACKENDS.into_iter().filter(starts).collect()
}

/// Starts a pong on a port of its own; returns it with its address.
fn pong(backend: &str, protocol: &str) -> (Running, String) {
    let arguments = [
        "perf",
        "rtt",
        "--json",
        "--mode",
        "pong",
        "--address",
        "127.0.0.1:0",
    ];
    let more = ["--backend", backend, "--protocol", protocol];
    let mut pong = Running::start(&zonda(), &[&arguments[..], &more].concat());
    let ready: Value = serde_json::from_str(&pong.line()).expect("a JSON line");
    let address = ready["listening"][0].as_str().expect("an address");
    (pong, address.to_owned())
}

fn ping(backend: &str, protocol: &str, address: &str, more: &str) -> Ended {
    let arguments = format!(
        "perf rtt --mode ping --backend {backend} --protocol {protocol} --address {address} \
         --duration 0.05 --warm-up 0.01 {more}"
    );
    run(&zonda(), &arguments.split_whitespace().collect::<Vec<_>>())
}

fn outcome(ended: &Ended) -> Value {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{e}: {ended:?}"))
}

fn count(outcome: &Value, name: &str) -> u64 {
    let count = outcome[name].as_u64();
    count.unwrap_or_else(|| panic!("no {name} in {outcome}"))
}

#[test]
fn every_backend_goes_round_by_every_protocol_in_every_way() {
    for backend in backends() {
        for protocol in ["tcp", "udp"] {
            let (_pong, address) = pong(backend, protocol);
            for more in [
                "",
                "--interval 0.001",
                "--interval 0.001 --pacing seed",
                "--pacing seed --quirks",
                "--pipelined --interval 0.0005 --timeout 0.5",
                "--tasks 20 --wait",
                "--tasks 3 --cpu-work 0.2 --interval 0.001 --size 1000",
            ] {
                let ended = ping(backend, protocol, &address, &format!("{more} --json"));
                let outcome = outcome(&ended);
                assert_eq!(outcome["framework"], backend);
                assert_eq!(outcome["transport"], protocol);
                let answered = count(&outcome, "answered");
                assert!(answered > 0, "{more}: {outcome}");
                assert_eq!(count(&outcome, "sent"), answered + count(&outcome, "lost"));
                assert!(
                    protocol == "udp" || count(&outcome, "lost") == 0,
                    "{outcome}"
                );
            }
        }
    }
}

#[test]
fn one_pong_answers_many_at_a_time() {
    for backend in backends() {
        for protocol in ["tcp", "udp"] {
            let (_pong, address) = pong(backend, protocol);
            let arguments = format!(
                "perf rtt --json --mode ping --protocol {protocol} --backend std \
                 --address {address} --duration 0.1 --interval 0.001"
            );
            let arguments: Vec<&str> = arguments.split_whitespace().collect();
            let all: Vec<Running> = (0..5)
                .map(|_| Running::start(&zonda(), &arguments))
                .collect();
            for mut one in all {
                let outcome: Value = serde_json::from_str(&one.line()).expect("JSON");
                assert!(
                    count(&outcome, "answered") > 0,
                    "{backend} {protocol}: {outcome}"
                );
            }
        }
    }
}

#[test]
fn datagrams_that_nobody_answers_are_lost_and_counted() {
    // a socket that receives the pings without answering, and an address without a socket
    let silent = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
    let gone = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
    let addresses = [&silent, &gone].map(|s| s.local_addr().expect("address").to_string());
    drop(gone);
    for backend in backends() {
        for address in &addresses {
            for more in [
                "--timeout 0.03",
                "--timeout 0.03 --pipelined --interval 0.01",
            ] {
                let ended = ping(backend, "udp", address, &format!("{more} --json"));
                assert_eq!(ended.code, Some(1), "{backend} {more}: {ended:?}");
                let outcome: Value = serde_json::from_str(&ended.out).expect("JSON");
                assert!(count(&outcome, "lost") > 0, "{outcome}");
                assert_eq!(count(&outcome, "lost"), count(&outcome, "sent"));
                assert!(
                    ended.err.starts_with("error: all ") && ended.err.contains(address),
                    "{ended:?}"
                );
                assert_eq!(ended.err.lines().count(), 1, "{ended:?}");
            }
        }
    }
}

#[test]
fn answers_that_come_late_are_told_from_those_that_are_due() {
    let pong = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
    pong.set_read_timeout(Some(super::program::DEADLINE))
        .expect("a deadline");
    let address = pong.local_addr().expect("address").to_string();
    for backend in backends() {
        let arguments = format!(
            "perf rtt --json --mode ping --protocol udp --backend {backend} --address {address} \
             --warm-up 0 --duration 0.3 --timeout 0.05"
        );
        let mut ping = Running::start(&zonda(), &arguments.split_whitespace().collect::<Vec<_>>());
        // the first is answered after its time, together with the second; the third never
        let receive = || {
            let mut message = [0; 64];
            let (_, from) = pong.recv_from(&mut message).expect("a message");
            (message, from)
        };
        let (first, from) = receive();
        let (second, _) = receive();
        pong.send_to(&first, from).expect("an answer");
        pong.send_to(&second, from).expect("an answer");
        let (third, _) = receive();
        assert_eq!((first[0], second[0], third[0]), (0, 1, 2), "{backend}");
        let outcome: Value = serde_json::from_str(&ping.line()).expect("JSON");
        assert_eq!(count(&outcome, "late"), 1, "{backend}: {outcome}");
        assert_eq!(count(&outcome, "answered"), 1, "{backend}: {outcome}");
        assert!(count(&outcome, "lost") >= 2, "{backend}: {outcome}");
        // pings that were sent after that do not concern the next backend
        pong.set_nonblocking(true).expect("a socket");
        while pong.recv_from(&mut [0; 64]).is_ok() {}
        pong.set_nonblocking(false).expect("a socket");
    }
}

#[test]
fn a_stream_that_falls_silent_or_ends_is_an_error() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
    let address = listener.local_addr().expect("address").to_string();
    for backend in backends() {
        // the system accepts, but no program answers
        let ended = ping(backend, "tcp", &address, "--timeout 0.05 --json");
        assert_eq!(ended.code, Some(1), "{backend}: {ended:?}");
        assert!(
            ended.err.starts_with("error: no answer within"),
            "{ended:?}"
        );
        drop(listener.accept().expect("the connection of that run"));

        let arguments =
            format!("perf rtt --json --mode ping --backend {backend} --address {address}");
        let mut alone = Running::start(&zonda(), &arguments.split(' ').collect::<Vec<_>>());
        drop(listener.accept().expect("a connection"));
        let error = alone.errors.recv_timeout(super::program::DEADLINE);
        assert!(
            error.is_ok_and(|e| e.contains("closed the connection")),
            "{backend}"
        );
        assert_eq!(alone.end().code(), Some(1));
    }
}

#[test]
fn what_the_user_got_wrong_is_one_line() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
    let taken = listener.local_addr().expect("address").to_string();
    let closed = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
    let closed = closed.local_addr().expect("address").to_string();
    for (arguments, code, words) in [
        ("", 2, "--mode"),
        ("--mode sing", 2, "--mode"),
        ("--mode ping --backend glommio", 2, "this program has std"),
        ("--mode ping --size 7", 2, "8 to"),
        ("--mode ping --protocol udp --size 65508", 2, "65507"),
        ("--mode ping --address nowhere", 2, "IP:PORT"),
        ("--mode ping --interval often", 2, "--interval"),
        ("--mode ping --cpus 3-1", 2, "--cpus"),
        ("--mode ping --cpu-work 0", 2, "share"),
        ("--mode ping --wait --pipelined", 2, "--pipelined"),
        ("--mode pong --protocol icmp", 2, "kernel"),
        ("matrix --rates fast", 2, "1k"),
        ("matrix --backends glommio", 2, "this program has std"),
        ("matrix --protocols icmp", 2, "tcp"),
        ("matrix --quick --full", 2, "--full"),
        ("plot", 2, "FILE"),
        ("plot /no/such/file", 1, "/no/such/file"),
        ("--mode ping --address CLOSED", 1, "--mode pong"),
        ("--mode pong --address TAKEN", 1, "another port"),
        (
            "--mode ping --congestion nonsense --address TAKEN",
            1,
            "--congestion",
        ),
    ] {
        let arguments = format!("perf rtt {arguments}")
            .replace("TAKEN", &taken)
            .replace("CLOSED", &closed);
        let ended = run(&zonda(), &arguments.split_whitespace().collect::<Vec<_>>());
        assert_eq!(ended.code, Some(code), "{arguments}: {ended:?}");
        assert!(
            ended.err.starts_with("error: ") && ended.err.contains(words),
            "{arguments}: {ended:?}"
        );
        let told = ended.err.lines().filter(|line| !line.starts_with("hint: "));
        assert_eq!(told.count(), 1, "{arguments}: {ended:?}");
    }
}

#[test]
fn rows_and_text_say_what_was_measured() {
    let (_pong, address) = pong("std", "tcp");
    let ended = ping("std", "tcp", &address, "--csv --interval 0.001");
    let mut lines = ended.out.lines();
    assert_eq!(lines.next(), Some(COLUMNS));
    let rows: Vec<Vec<&str>> = lines.map(|l| l.split(',').collect()).collect();
    for row in &rows {
        assert_eq!(row[..2], ["std", "tcp"]);
        assert_eq!((row[4], row[5], row[6]), ("1000", "64", "0"));
    }
    let tests: Vec<&str> = rows.iter().map(|row| row[2]).collect();
    let (trips, end) = tests.split_at(tests.len() - 2);
    assert!(
        !trips.is_empty() && trips.iter().all(|t| *t == "rtt"),
        "{ended:?}"
    );
    assert_eq!(end, ["throughput", "lost"]);
    let nanos = rows
        .iter()
        .filter(|r| r[2] == "rtt")
        .map(|r| r[7].parse::<u64>());
    assert!(
        nanos.into_iter().all(|n| n.is_ok_and(|n| n > 0)),
        "{ended:?}"
    );

    let folder = Folder::new("plot");
    let (file, out) = (folder.file("std.csv"), folder.file("out"));
    std::fs::write(&file, &ended.out).expect("a file");
    let plotted = run(
        &zonda(),
        &["perf", "rtt", "plot", &file, &file, "--out", &out],
    );
    assert_eq!(plotted.code, Some(0), "{plotted:?}");
    assert!(
        plotted.out.contains("tcp, exact pacing, 0 tasks, 64 bytes"),
        "{plotted:?}"
    );
    assert!(std::fs::read_to_string(format!("{out}/rtt.html")).is_ok_and(|p| p.contains("<svg")));
    std::fs::write(&file, "std,tcp,rtt\n").expect("a file");
    let refused = run(&zonda(), &["perf", "rtt", "plot", &file, "--out", &out]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("std.csv:1: 3 columns"), "{refused:?}");

    let text = ping("std", "tcp", &address, "--interval 0.01").out;
    assert!(text.contains("wanted 100.0/s, achieved "), "{text}");
    assert!(text.contains("p50 ") && text.contains(" lost "), "{text}");
}

/// The output is readable by the scripts of 2022, and their output is readable here.
#[test]
fn rows_of_the_study_go_out_and_come_in() {
    let (_pong, address) = pong("std", "tcp");
    let ended = ping("std", "tcp", &address, "--format eval2022 --interval 0.001");
    let mut lines = ended.out.lines();
    assert_eq!(lines.next(), Some(COLUMNS));
    let row = |line: &str| -> Vec<String> { line.split(',').map(str::to_owned).collect() };
    let rows: Vec<Vec<String>> = lines.map(row).collect();
    assert!(!rows.is_empty(), "{ended:?}");
    for row in &rows {
        assert_eq!(row[..3], ["std", "tcp", "rtt"]);
        assert_eq!(row[4..7], ["0.001", "64", "0"]);
        assert!(row[7].parse::<u64>().is_ok() && row[8] == "ns", "{row:?}");
    }
    let folder = Folder::new("study");
    let (file, out) = (folder.file("std.csv"), folder.file("out"));
    std::fs::write(&file, &ended.out).expect("a file");
    let plot = ["perf", "rtt", "plot", &file, "--out", &out];
    let plotted = run(
        &zonda(),
        &[&plot[..], &["--format", "net-benchmark"]].concat(),
    );
    assert_eq!(plotted.code, Some(0), "{plotted:?}");
    assert!(plotted.out.contains("1k |"), "{plotted:?}");
    let misread = run(&zonda(), &plot);
    assert!(misread.err.contains("--format eval2022"), "{misread:?}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_was_measured() {
    let pong = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
    pong.set_read_timeout(Some(super::program::DEADLINE))
        .expect("a deadline");
    let address = pong.local_addr().expect("address").to_string();
    for backend in backends() {
        let arguments = format!(
            "perf rtt --mode ping --protocol udp --backend {backend} --address {address} \
             --warm-up 0"
        );
        let mut ping = Running::start(&zonda(), &arguments.split_whitespace().collect::<Vec<_>>());
        let mut message = [0; 64];
        for _ in 0..20 {
            let (length, from) = pong.recv_from(&mut message).expect("a message");
            pong.send_to(&message[..length], from).expect("an answer");
        }
        ping.signal("INT");
        assert_eq!(ping.end().code(), Some(0), "{backend}");
        let counts = ping.line_where(|l| l.starts_with("messages: "));
        assert!(counts.contains(", 0 lost"), "{backend}: {counts}");
    }
}

#[cfg(unix)]
#[test]
fn pong_ends_with_a_signal() {
    for backend in backends() {
        let (mut pong, _) = pong(backend, "tcp");
        pong.signal("TERM");
        assert_eq!(pong.end().code(), Some(0), "{backend}");
    }
}

#[test]
fn the_echo_of_the_kernel_is_measured_or_refused_in_one_line() {
    let ended = run(
        &zonda(),
        &[
            "perf",
            "rtt",
            "--mode",
            "ping",
            "--protocol",
            "icmp",
            "--duration",
            "0.05",
            "--json",
        ],
    );
    match ended.code {
        Some(0) => assert!(count(&outcome(&ended), "answered") > 0, "{ended:?}"),
        _ => assert!(
            ended.err.contains("the system refuses") && ended.err.lines().count() == 1,
            "{ended:?}"
        ),
    }
}

#[test]
fn a_small_matrix_prints_its_table_and_writes_its_files() {
    let folder = Folder::new("matrix");
    let out = folder.file("out");
    let arguments = format!(
        "perf rtt matrix --backends std,smol,std --rates inf,1k --tasks 0,5 --protocols tcp,udp \
         --rounds 2 --seconds 0.03 --out {out}"
    );
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    let ended = run(&zonda(), &arguments);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let headers = ended.out.lines().filter(|l| l.starts_with("| wanted/s"));
    assert_eq!(headers.count(), 2 * 2 * 2, "{}", ended.out);
    for words in [
        "tcp, exact pacing, 0 tasks",
        "udp, seed pacing, 5 tasks",
        "| achieved |",
    ] {
        assert!(ended.out.contains(words), "{words}: {}", ended.out);
    }
    let read = |name: &str| std::fs::read_to_string(format!("{out}/{name}")).expect("a file");
    let json: Value = serde_json::from_str(&read("rtt.json")).expect("JSON");
    let cells = json["cells"].as_array().expect("cells");
    let ours = cells.iter().filter(|c| c["system"] != "icmp");
    for cell in ours.clone() {
        for round in 0..2 {
            let median = cell["metrics"]["p50"]["rounds"][round].as_f64();
            assert!(median.is_some_and(|m| m > 0.0), "{cell}");
        }
        assert_eq!(cell["nanos_times"].as_array().map(Vec::len), Some(2));
    }
    assert_eq!(ours.count(), 2 * 2 * 2 * 2 * 2);
    let csv = read("rtt.csv");
    assert_eq!(csv.lines().next(), Some(COLUMNS));
    for test in ["rtt-exact", "rtt-seed", "throughput-exact", "lost-seed"] {
        assert!(csv.contains(test), "{test}");
    }
    let page = read("rtt.html");
    assert!(page.contains("<svg") && page.ends_with("</html>\n"));
    assert_eq!(page.matches("<section").count(), 2 * 2 * 2);
    assert!(!page.contains("://"), "the page needs another file");
}
