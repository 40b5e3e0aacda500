// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of `zonda perf links`, and of the option `--link` of the other measurements: every
//! transport has its row, its figures and its place in the record.

use std::thread;
use std::time::Instant;

use serde_json::Value;
use zonda_testkit::Folder;

use super::program::{DEADLINE, Ended, Running, run, zonda};

const HAS_TLS: bool = cfg!(feature = "tls");
const HAS_QUIC: bool = cfg!(all(feature = "quic", feature = "tokio"));
const HAS_WS: bool = cfg!(feature = "ws");

/// Returns the transports that this build has.
fn transports() -> Vec<&'static str> {
    let mut all = vec!["udp", "tcp", "framed"];
    all.extend(HAS_WS.then_some("ws"));
    all.extend(HAS_TLS.then_some("tls"));
    all.extend(HAS_QUIC.then_some("quic"));
    all.extend(cfg!(unix).then_some("unix"));
    all
}

/// Runs a sub-command with a record; returns its end and the record.
fn measured(name: &str, arguments: &str) -> (Ended, Value) {
    let folder = Folder::new(&format!("links-{name}"));
    let file = folder.file("record.json");
    let words = ["perf"].into_iter().chain(arguments.split_whitespace());
    let ended = run(
        &zonda(),
        &words.chain(["--json", &file]).collect::<Vec<_>>(),
    );
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    (ended, serde_json::from_str(&text).unwrap_or_default())
}

fn cells(record: &Value) -> &[Value] {
    record["cells"].as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn every_transport_has_a_row_in_both_tables() {
    let transports = transports();
    let arguments = format!(
        "links --rounds 1 --bytes 1M --seconds 0.02 --transports {}",
        transports.join(",")
    );
    let (ended, record) = measured("all", &arguments);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(record["tool"], "links");
    // one flow and one way each, by the native protocol, by zonda, and one way by threads
    assert_eq!(cells(&record).len(), transports.len() * 5);
    let rows = ended.out.lines().filter(|line| line.starts_with('|'));
    let rows: Vec<Vec<&str>> = rows
        .map(|row| row.split('|').map(str::trim).collect())
        .collect();
    assert_eq!(rows.len(), 2 * (2 + transports.len()), "{}", ended.out);
    for row in rows.iter().filter(|row| row[1] == "ws" || row[1] == "tcp") {
        assert!(
            row[2].parse::<f64>().is_ok_and(|native| native > 0.0),
            "{row:?}"
        );
        assert!(row[3].contains('('), "{row:?}");
        let last = row.len() - 2;
        assert_eq!(row[last - 1..=last], ["not asked"; 2], "{row:?}");
    }
    for cell in cells(&record) {
        assert_eq!(cell["note"], Value::Null, "{cell}");
        let metric = ["rate", "p50"].map(|name| cell["metrics"][name]["rounds"][0].as_f64());
        assert!(
            metric.iter().flatten().any(|figure| *figure > 0.0),
            "{cell}"
        );
    }
}

#[test]
fn other_measurements_take_links() {
    for (name, arguments, cases) in [
        (
            "thr",
            "thr --link udp --rounds 1 --seconds 0.1 --sizes 1000",
            4,
        ),
        (
            "lat",
            "lat --link tls --rounds 1 --seconds 0.1 --warm-up 0.02 --rates 1k,max",
            8,
        ),
        (
            "quick",
            "quick --link ws --rounds 1 --seconds 0.05 --only 1KiB --only ping",
            8,
        ),
        #[cfg(unix)]
        (
            "scale",
            "scale --link unix --rounds 1 --seconds 0.1 --connections 10",
            1,
        ),
        (
            "runtimes",
            "runtimes --link udp --rounds 1 --seconds 0.05 --runtimes tokio --only callback",
            10,
        ),
    ] {
        let has = |link: &str, there: bool| there || !arguments.contains(link);
        if !has("--link tls", HAS_TLS) || !has("--link ws", HAS_WS) {
            continue;
        }
        let (ended, record) = measured(name, arguments);
        assert_eq!(ended.code, Some(0), "{name}: {ended:?}");
        assert_eq!(cells(&record).len(), cases, "{name}: {ended:?}");
        let link = arguments.split_whitespace().nth(2).unwrap_or_default();
        assert_eq!(record["settings"]["link"], link, "{name}");
    }
}

/// Both ends of a connection, and the sockets below them, are served by the thread that sends and receives.
#[cfg(all(target_os = "linux", feature = "tokio"))]
#[test]
fn one_thread_serves_all_sockets_where_the_runtime_is_the_callers() {
    let arguments = [
        "perf",
        "lat-one-way",
        "1",
        "-l",
        "tcp/127.0.0.1:0",
        "--no-multicast-scouting",
    ];
    let timing = ["--warm-up", "0.05", "--seconds", "0.3"];
    let mut worker = Running::start(&zonda(), &[&arguments[..], &timing].concat());
    assert!(worker.line().contains("measuring"));
    // The other thread reads standard input, whose end ends a worker. A thread that opening has used
    // may still be ending.
    let tasks = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", worker.pid()));
        tasks.expect("Linux tells").count()
    };
    let deadline = Instant::now() + DEADLINE;
    while tasks() != 2 {
        assert!(Instant::now() < deadline, "{} threads", tasks());
        thread::yield_now();
    }
    assert!(worker.line().contains("latency"));
}

#[test]
fn what_udp_loses_is_said() {
    let (ended, record) = measured(
        "lost",
        "thr --link udp --rounds 1 --seconds 0.1 --sizes 8 --topology p2p --pace 20k",
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("lost %"), "{}", ended.out);
    let own = cells(&record)
        .iter()
        .filter(|cell| cell["system"] == "zonda");
    for cell in own {
        let sum = |name: &str| cell["metrics"][name]["rounds"][0].as_f64().unwrap_or(-1.0);
        assert_eq!(sum("offered"), sum("delivered") + sum("lost"), "{cell}");
    }
}

#[test]
fn programs_that_are_not_there_are_named() {
    for (flag, missing) in [("--with-message-io", "mio_pub"), ("--with-zenoh", "zenohd")] {
        let ended = run(&zonda(), &["perf", "links", flag, "/nowhere"]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.err.contains(missing), "{ended:?}");
    }
}

/// A browser lets a page of any host connect to a router on the user's machine, and sends the
/// page's origin.
#[cfg(feature = "ws")]
#[test]
fn a_web_page_of_another_host_gets_a_reason() {
    use std::io::{Read, Write};
    let answer = |more: &[&str], origin: Option<&str>, is_refused: bool| {
        let arguments = [&["router", "-l", "ws/127.0.0.1:0"][..], more].concat();
        let mut router = Running::start(&zonda(), &arguments);
        let place = router.after("listening on ws/");
        let mut page = std::net::TcpStream::connect(&place).expect("it listens");
        let origin = origin.map_or(String::new(), |origin| format!("Origin: {origin}\r\n"));
        let head = format!(
            "GET / HTTP/1.1\r\nHost: {place}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n{origin}\r\n"
        );
        page.write_all(head.as_bytes()).expect("it takes it");
        let mut answer = vec![0; 12];
        page.read_exact(&mut answer).expect("an answer");
        if is_refused {
            page.read_to_end(&mut answer).expect("the reason");
        }
        String::from_utf8_lossy(&answer).into_owned()
    };
    let evil = Some("http://evil.example");
    let refused = answer(&[], evil, true);
    let (_, close) = refused.split_once("\r\n\r\n").expect("a head");
    assert!(
        close.contains("pages of http://evil.example may not connect"),
        "{refused}"
    );
    assert!(refused.contains("transport/link/ws/origins"), "{refused}");
    for (more, origin) in [
        (&[][..], None),
        (&[], Some("http://localhost:5173")),
        (
            &["--cfg", "transport/link/ws/origins:['http://evil.example']"],
            evil,
        ),
        (&["--cfg", "transport/link/ws/origins:['*']"], evil),
    ] {
        assert_eq!(
            answer(more, origin, false),
            "HTTP/1.1 101",
            "{more:?} {origin:?}"
        );
    }
}
