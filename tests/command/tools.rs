// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of `zonda sub|pub|put|delete|info`, peer to peer and through `zonda router`.

use serde_json::{Value, json};

use super::program::{Running, run, zonda};

fn listening(running: &mut Running) -> String {
    let line: Value = serde_json::from_str(&running.line()).expect("a JSON line");
    assert_eq!(line["event"], "ready");
    line["listening"][0].as_str().unwrap_or_default().to_owned()
}

fn sample(running: &mut Running) -> Value {
    serde_json::from_str(&running.line()).expect("a JSON line")
}

#[test]
fn limits_are_a_table() {
    let told = run(
        &zonda(),
        &[
            "info",
            "--limits",
            "-l",
            "tcp/127.0.0.1:0",
            "--cfg",
            "limits/tokens:7",
        ],
    );
    let line = |key: &str| {
        let lines = told.out.lines();
        let mut found = lines.filter(|line| line.contains(key));
        found.next().unwrap_or_else(|| panic!("{key}: {told:?}"))
    };
    let cells: Vec<&str> = line("limits/tokens").split('|').map(str::trim).collect();
    assert_eq!(cells[1..5], ["limits/tokens", "7", "0", "0"], "{told:?}");
    line("transport/unicast/max_sessions");
    line("limits/lease_max_ms");
    let widest = told.out.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{widest:?} columns: {told:?}");
}

#[test]
fn a_put_reaches_a_subscriber_directly() {
    let arguments = [
        "sub",
        "-k",
        "demo/**",
        "-n",
        "2",
        "--json",
        "-l",
        "tcp/127.0.0.1:0",
    ];
    let mut sub = Running::start(&zonda(), &arguments);
    let address = listening(&mut sub);
    let put = run(
        &zonda(),
        &[
            "put", "-k", "demo/a", "-p", "hello", "-a", "note", "-e", &address, "-m", "client",
        ],
    );
    assert_eq!((put.code, put.err.as_str()), (Some(0), ""));
    let got = sample(&mut sub);
    assert_eq!(got["kind"], "PUT");
    assert_eq!(got["key"], "demo/a");
    assert_eq!(got["payload"], "hello");
    assert_eq!(got["attachment"], "note");
    assert_eq!(got["encoding"], "text/plain");
    let delete = run(
        &zonda(),
        &["delete", "-k", "demo/a", "-e", &address, "-m", "client"],
    );
    assert_eq!((delete.code, delete.own_errors()), (Some(0), vec![]));
    assert_eq!(sample(&mut sub)["kind"], "DELETE");
    assert_eq!(sub.end().code(), Some(0));
}

/// The links are given a lease so long that no keep-alive flushes a message that was left in a
/// buffer.
#[test]
fn lines_of_the_input_go_through_a_router() {
    let patient = ["--json", "--cfg", "transport/link/tx/lease:600000"];
    let arguments = [&["router", "-l", "tcp/127.0.0.1:0"], &patient[..]].concat();
    let mut router = Running::start(&zonda(), &arguments);
    let address = listening(&mut router);
    let client = [&["-m", "client", "-e", &address], &patient[..]].concat();
    for _ in 0..8 {
        let arguments = [&["sub", "-k", "line/*", "-n", "3"], &client[..]].concat();
        let mut sub = Running::start(&zonda(), &arguments);
        let _ = listening(&mut sub);
        let arguments = [&["pub", "-k", "line/x", "--express"], &client[..]].concat();
        let mut publisher = Running::start(&zonda(), &arguments);
        let mut input = publisher.input.take().expect("it is piped");
        std::io::Write::write_all(&mut input, b"one\ntwo\nthree\n").expect("it reads");
        drop(input);
        // it ends at once, and its last messages arrive together with its Close
        assert_eq!(publisher.end().code(), Some(0));
        for line in ["one", "two", "three"] {
            let got = sample(&mut sub);
            assert_eq!(
                (&got["payload"], &got["express"]),
                (&json!(line), &json!(true))
            );
        }
        assert_eq!(sub.end().code(), Some(0));
    }
}

/// Each line is valid in the format, and known events are counted.
#[test]
fn info_prints_metrics() {
    let mut router = Running::start(&zonda(), &["router", "--json", "-l", "tcp/127.0.0.1:0"]);
    let line: Value = serde_json::from_str(&router.line()).expect("a JSON line");
    let address = line["listening"][0].as_str().expect("an address");
    let told = run(
        &zonda(),
        &["info", "--metrics", "-m", "client", "-e", address],
    )
    .out;
    assert!(told.trim_end().ends_with("# EOF"), "{told}");
    let mut family = String::new();
    for line in told.lines().filter(|line| *line != "# EOF") {
        if let Some(about) = line.strip_prefix("# TYPE ") {
            family = about.split(' ').next().unwrap_or_default().to_owned();
        } else if !line.starts_with("# HELP ") {
            assert!(line.starts_with(&family), "{line:?} in {family}");
            let (_, value) = line.rsplit_once(' ').expect("a value");
            assert!(value.parse::<u64>().is_ok(), "{line:?}");
        }
    }
    assert!(told.contains("zonda_links{role=\"client\"} 1\n"), "{told}");
    assert!(
        told.contains("zonda_limit_used{key=\"transport/unicast/max_sessions\"} 1\n"),
        "{told}"
    );
}

#[test]
fn info_names_version_runtimes_and_links() {
    let alone = run(&zonda(), &["info", "--json"]);
    let facts: Value = serde_json::from_str(&alone.out).expect("JSON");
    assert_eq!(facts["version"], env!("CARGO_PKG_VERSION"));
    assert!(
        facts["runtimes"]
            .as_array()
            .is_some_and(|r| r.contains(&json!("tokio"))),
        "{facts}"
    );
    let kinds = facts["link_kinds"].as_array();
    for kind in ["tcp", "tls", "quic", "ws"] {
        assert!(kinds.is_some_and(|k| k.contains(&json!(kind))), "{facts}");
    }
    assert_eq!(facts["zid"], Value::Null);
    let runtime = json!({"asked": "tokio", "runs": "tokio", "why": "the default of this program"});
    assert_eq!(facts["runtime"], runtime);

    let mut router = Running::start(&zonda(), &["router", "--json", "-l", "tcp/127.0.0.1:0"]);
    let line: Value = serde_json::from_str(&router.line()).expect("a JSON line");
    let address = line["listening"][0].as_str().expect("an address");
    let linked = run(&zonda(), &["info", "--json", "-m", "client", "-e", address]);
    let facts: Value = serde_json::from_str(&linked.out).expect("JSON");
    assert_eq!(facts["links"][0]["zid"], line["zid"]);
    assert_eq!(facts["links"][0]["role"], "router");
    assert_eq!(facts["runtime"]["runs"], "tokio");
}

#[cfg(target_os = "linux")]
#[test]
fn info_follows_what_happens_to_connections() {
    let free = "tcp/127.0.0.1:0";
    let arguments = [
        "info",
        "--watch",
        "--json",
        "-l",
        free,
        "--cfg",
        "metadata:{name:'here'}",
    ];
    let mut info = Running::start(&zonda(), &arguments);
    let facts: serde_json::Value = serde_json::from_str(&info.line()).expect("JSON");
    assert_eq!(facts["metadata"]["name"], "here");
    let address = facts["listening"][0]
        .as_str()
        .expect("an address")
        .to_owned();
    let put = ["put", "-k", "a", "-p", "b", "-m", "client", "-e", &address];
    assert_eq!(run(&zonda(), &put).code, Some(0));
    for (name, kind) in [("connected", None), ("lost", Some("closed-by-peer"))] {
        let event: serde_json::Value = serde_json::from_str(&info.line()).expect("JSON");
        assert_eq!(event["event"], name);
        assert_eq!(event["link"]["role"], "client");
        assert_eq!(event["reason"]["kind"].as_str(), kind);
    }
    drop(info);

    let arguments = ["info", "--watch", "-e", "tcp/name.invalid:7447", "-l", free];
    let mut info = Running::start(&zonda(), &arguments);
    let line = info.line_where(|line| line.starts_with("cannot connect"));
    assert!(
        line.contains("name.invalid") && line.contains("the next in"),
        "{line}"
    );
}

#[test]
fn info_is_for_people_unless_json_is_asked_for() {
    let alone = run(&zonda(), &["info"]);
    let names = |out: &str| -> Vec<String> {
        // The names are in a column of eleven characters.
        let first = |line: &str| line.get(..11).unwrap_or_default().trim().to_owned();
        out.lines().map(first).collect()
    };
    assert_eq!(
        names(&alone.out),
        ["program", "runtime", "runtimes", "protocols"],
        "{alone:?}"
    );
    let mut router = Running::start(&zonda(), &["router", "--json", "-l", "tcp/127.0.0.1:0"]);
    let address = listening(&mut router);
    let linked = run(&zonda(), &["info", "-m", "client", "-e", &address]);
    let link = linked.out.lines().find(|line| line.starts_with("link "));
    let link = link.unwrap_or_else(|| panic!("{linked:?}"));
    assert!(
        link.contains("router ") && link.contains(&address),
        "{link}"
    );
    assert!(linked.out.contains("unreached  none"), "{linked:?}");
}

#[test]
fn info_says_what_runs_where_io_uring_was_asked_for() {
    // Both programs agree on whether the system has it, and there is a reason.
    let told = run(&zonda(), &["info", "--json", "--runtime", "uring"]);
    let told: Value = serde_json::from_str(&told.out).expect("JSON");
    let mut node = Running::start(
        &zonda(),
        &[
            "router",
            "--json",
            "--runtime",
            "uring",
            "-l",
            "tcp/127.0.0.1:0",
        ],
    );
    let line: Value = serde_json::from_str(&node.line()).expect("a JSON line");
    let address = line["listening"][0].as_str().expect("an address");
    let arguments = [
        "info",
        "--json",
        "--runtime",
        "uring",
        "-m",
        "client",
        "-e",
        address,
    ];
    let running = run(&zonda(), &arguments);
    let running: Value = serde_json::from_str(&running.out).expect("JSON");
    assert_eq!(running["runtime"], told["runtime"]);
    assert_eq!(told["runtime"]["asked"], "uring");
    assert!(
        told["runtime"]["why"]
            .as_str()
            .is_some_and(|why| !why.is_empty())
    );
    assert_eq!(running["links"][0]["zid"], line["zid"]);
}

#[cfg(unix)]
#[test]
fn tools_that_wait_end_on_ctrl_c() {
    for arguments in [
        &["sub"][..],
        &["pub", "-k", "a"],
        &["pub", "-k", "a", "-p", "b", "--interval", "0.01"],
    ] {
        let all = [arguments, &["--json", "-l", "tcp/127.0.0.1:0"]].concat();
        let mut tool = Running::start(&zonda(), &all);
        // kept open: only the signal may end it
        let mut input = tool.input.take().expect("it is piped");
        let _ = std::io::Write::write_all(&mut input, b"one line\n");
        let _ = tool.line();
        tool.signal("INT");
        assert_eq!(tool.end().code(), Some(0), "{arguments:?}");
    }
}

/// A message of an attacker against the reader's terminal: it moves the cursor, forges a line and
/// reverses the text.
const FORGED: &str = "x\nPUT plant/valve: closed\u{1b}[2J\u{9b}31m\u{202e}\u{200b}";

#[test]
fn nothing_of_others_acts_on_the_terminal() {
    let mut router = Running::start(&zonda(), &["router", "-l", "tcp/127.0.0.1:0", "--json"]);
    let address = listening(&mut router);
    let client = ["-m", "client", "-e", &address];
    let key = format!("demo/{FORGED}");
    let publish = [
        "pub",
        "-k",
        &key,
        "-p",
        FORGED,
        "-a",
        FORGED,
        "--interval",
        "0.05",
    ];
    let mut publisher = Running::start(&zonda(), &[&publish, &client[..]].concat());
    for more in [&[][..], &["--json"]] {
        let sub = ["sub", "-k", "demo/**", "-n", "2"];
        let said = run(&zonda(), &[&sub, &client[..], more].concat());
        assert_eq!(said.code, Some(0), "{}", said.err);
        let acts = |c: &char| c.is_control() && *c != '\n' || "\u{202e}\u{200b}".contains(*c);
        assert_eq!(said.out.chars().find(acts), None, "{}", said.out);
        let forged = said.out.lines().find(|line| line.starts_with("PUT plant"));
        assert_eq!(forged, None, "{}", said.out);
        let seen = said.out.lines().filter(|line| line.contains("plant/valve"));
        assert_eq!(seen.clone().count(), 2, "{}", said.out);
        if !more.is_empty() {
            for line in seen {
                let got: Value = serde_json::from_str(line).expect("a JSON line");
                assert_eq!(
                    (&got["payload"], &got["key"]),
                    (&json!(FORGED), &json!(key))
                );
            }
        }
    }
    publisher.stop();
}
