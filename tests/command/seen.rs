// SPDX-License-Identifier: MIT OR Apache-2.0
//! A running router and its clients as an operator sees them: the router's answers and log, and the
//! messages of a program that loses its link or its messages.

use std::io::Write;
use std::time::Instant;

use serde_json::Value;

use super::program::{DEADLINE, Running, run, zonda};

/// Starts a router with a log; returns it with its id and its address.
fn router(more: &[&str]) -> (Running, String, String) {
    let arguments = [&["router", "--json", "-l", "tcp/127.0.0.1:0"], more].concat();
    let mut router = Running::start(&zonda(), &arguments);
    let ready: Value = serde_json::from_str(&router.line()).expect("JSON");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let (zid, address) = (text(&ready["zid"]), text(&ready["listening"][0]));
    (router, zid, address)
}

/// Returns the first line on standard error that has all of these words.
fn said(program: &mut Running, words: &[&str]) -> String {
    loop {
        let line = program.error();
        if words.iter().all(|word| line.contains(word)) {
            return line;
        }
    }
}

#[test]
fn a_router_tells_its_metrics_and_limits() {
    let (_router, zid, address) = router(&["--cfg", "limits/tokens:7"]);
    let reached = ["-m", "client", "-e", &address];
    let ask = |more: &[&str]| run(&zonda(), &[&["info"], more, &reached].concat());

    let own = ask(&["--metrics", "--own"]).out;
    assert!(own.contains("zonda_links{role=\"router\"} 1\n"), "{own}");
    for whom in [&[][..], &["--router", &zid], &["--router", "any"]] {
        let told = ask(&[&["--metrics"], whom].concat()).out;
        assert!(told.contains("zonda_links{role=\"client\"} 1\n"), "{told}");
        assert!(told.contains("zonda_links_ended_total"), "{told}");
        assert!(told.trim_end().ends_with("# EOF"), "{told}");
        let limits = ask(&[&["--limits"], whom].concat()).out;
        let line = limits.lines().find(|line| line.contains("limits/tokens"));
        let cells: Vec<_> = line.expect("a row").split('|').map(str::trim).collect();
        assert_eq!(cells[1..5], ["limits/tokens", "7", "0", "0"], "{limits}");
    }
    let as_json = ask(&["--limits", "--json"]).out;
    let told: Value = serde_json::from_str(&as_json).expect("JSON");
    assert_eq!(told["router"], zid.as_str());
    assert!(told["limits"].as_array().is_some_and(|all| all.len() > 20));
    let asked = ["get", &format!("@/{zid}/router/metrics")];
    let got = run(&zonda(), &[&asked[..], &reached].concat());
    assert!(got.out.contains("zonda_links"), "{got:?}");
}

/// A client of one router asks another one of the mesh.
#[test]
fn a_router_of_the_mesh_is_asked_by_way_of_another_one() {
    let (_far, far_zid, far) = router(&["--cfg", "limits/tokens:7"]);
    let (_near, near_zid, near) = router(&["-e", &far]);
    let limit = |whom: &str| {
        let arguments = [
            "info", "--limits", "--router", whom, "-m", "client", "-e", &near,
        ];
        let told = run(&zonda(), &arguments);
        let line = told.out.lines().find(|line| line.contains("limits/tokens"));
        line.and_then(|line| line.split('|').nth(2).map(|cell| cell.trim().to_owned()))
    };
    let begin = Instant::now();
    while limit(&far_zid).as_deref() != Some("7") {
        assert!(begin.elapsed() < DEADLINE, "it does not hear of {far_zid}");
    }
    assert!(limit(&near_zid).is_some_and(|limit| limit != "7"));
}

#[test]
fn a_router_that_keeps_its_admin_space_to_itself_is_a_failure() {
    let (_router, zid, address) = router(&["--adminspace-permissions", "none"]);
    for whom in [&zid, "any"] {
        let arguments = [
            "info", "--limits", "--router", whom, "-m", "client", "-e", &address,
        ];
        let told = run(&zonda(), &arguments);
        assert_eq!((told.code, told.out.as_str()), (Some(1), ""), "{told:?}");
        assert!(
            told.err.contains("limits") && told.err.contains("adminspace"),
            "{told:?}"
        );
    }
    let alone = run(&zonda(), &["info", "--router", "any", "-e", &address]);
    assert_eq!(alone.code, Some(2), "{alone:?}");
    assert!(
        alone.err.contains("--metrics, --limits or --watch"),
        "{alone:?}"
    );
}

#[test]
fn each_link_of_a_router_is_seen_to_come_and_go() {
    let (_router, zid, address) = router(&[]);
    let reached = ["-m", "client", "-e", &address];
    let _other = Running::start(&zonda(), &[&["live"][..], &reached].concat());
    for as_json in [false, true] {
        let more: &[&str] = if as_json { &["--json"] } else { &[] };
        let arguments = [&["info", "--watch"], more, &reached].concat();
        let mut watch = Running::start(&zonda(), &arguments);
        let open = watch.line();
        assert!(
            open.contains("client") && open.contains("connected"),
            "{open}"
        );
        let put = ["put", "a", "b", "-m", "client", "-e", &address];
        assert_eq!(run(&zonda(), &put).code, Some(0));
        // The client of `live` may connect between the two.
        let mut came = vec![watch.line()];
        let went = loop {
            let line = watch.line();
            match line.contains("lost") {
                true => break line,
                false => came.push(line),
            }
        };
        if as_json {
            let event = |line: &str| serde_json::from_str::<Value>(line).expect("JSON");
            let went = event(&went);
            let is_its_start = |line: &String| {
                let came = event(line);
                came["event"] == "connected" && came["link"] == went["link"]
            };
            assert!(came.iter().any(is_its_start), "{came:?}");
            assert_eq!(
                (&went["event"], &went["reason"], &went["router"]),
                (
                    &"lost".into(),
                    &"closed-by-peer".into(),
                    &zid.as_str().into()
                )
            );
        } else {
            let is_start = |line: &String| line.starts_with("connected to client ");
            assert!(came.iter().all(is_start), "{came:?}");
            assert!(
                went.starts_with("lost client ") && went.ends_with(": closed by the peer"),
                "{went}"
            );
        }
    }
}

#[test]
#[cfg(unix)]
fn a_router_that_any_router_may_join_warns_of_it() {
    let beyond = ["-l", "tcp/[::]:0"];
    let none = ["--cfg", "routing/router/trusted:[]"];
    for (arguments, warnings) in [
        (beyond.to_vec(), 1),
        (Vec::new(), 0),
        ([beyond, none].concat(), 0),
    ] {
        let (mut router, ..) = router(&arguments);
        router.signal("TERM");
        assert!(router.end().success());
        let lines: Vec<String> = router.errors.iter().collect();
        let is_warning = |line: &&String| line.contains("may join as a router");
        let warned: Vec<&String> = lines.iter().filter(is_warning).collect();
        assert_eq!(warned.len(), warnings, "{arguments:?}: {lines:?}");
        let names = |line: &&String| {
            line.contains("tcp/[::]:0") && line.contains("routing/router/trusted, [] for none")
        };
        assert!(warned.iter().all(names), "{warned:?}");
    }
}

/// A second endpoint of a node that is connected already is no fault: no line at the default level.
#[test]
fn a_second_endpoint_of_one_node_is_no_warning() {
    let (mut router, _, first) = router(&["-l", "tcp/127.0.0.1:0"]);
    let start = said(&mut router, &["it is reached at"]);
    let second = start.rsplit("tcp/").next().unwrap_or_default();
    let second = format!("tcp/{second}");
    assert_ne!(first, second);
    let arguments = [
        "info", "--watch", "--own", "-vv", "-e", &first, "-e", &second,
    ];
    let mut info = Running::start(&zonda(), &arguments);
    let mut lines = Vec::new();
    while !lines
        .iter()
        .any(|l: &String| l.contains("connected already"))
    {
        lines.push(info.error());
    }
    let is_alarm = |line: &&String| line.contains(" WARN ") || line.contains("cannot connect");
    assert_eq!(lines.iter().filter(is_alarm).count(), 0, "{lines:#?}");
}

#[test]
fn a_router_logs_its_start_and_who_comes_and_goes() {
    let (mut router, zid, address) = router(&[]);
    let start = said(&mut router, &[" INFO ", "starts"]);
    assert!(
        start.contains(env!("CARGO_PKG_VERSION")) && start.contains(&zid),
        "{start}"
    );
    assert!(
        start.ends_with(&format!("it is reached at {address}")),
        "{start}"
    );
    let put = ["put", "a", "b", "-m", "client", "-e", &address];
    assert_eq!(run(&zonda(), &put).code, Some(0));
    said(
        &mut router,
        &[" INFO ", "client ", " at tcp/127.0.0.1:", " has connected"],
    );
    said(
        &mut router,
        &[" INFO ", " has gone after ", ": closed by the peer"],
    );
}

#[test]
fn a_subscriber_says_that_its_router_is_lost_and_back() {
    let (mut first, _, address) = router(&[]);
    let arguments = ["sub", "demo/**", "-m", "client", "-e", &address];
    let mut sub = Running::start(&zonda(), &arguments);
    assert!(sub.error().starts_with("connected to router "));
    first.stop();
    let lost = said(&mut sub, &["WARN", "lost the link to router ", &address]);
    assert!(lost.ends_with("; trying again"), "{lost}");
    let _second = Running::start(&zonda(), &["router", "-l", &address]);
    said(
        &mut sub,
        &["WARN", &format!("connected to {address} again after ")],
    );
}

/// Lines of 101 bytes: more than sockets and queues hold.
const LINES: usize = 150_000;

/// A subscriber that is stopped while messages come loses messages, and all three programs report
/// it.
#[cfg(unix)]
#[test]
fn all_three_hear_of_a_slow_consumer() {
    let short = "transport/link/tx/queue/congestion_control/block/wait_before_close:500000";
    let (mut router, _, address) =
        router(&["--cfg", short, "--cfg", "isolation/backlog_bytes:65536"]);
    let reached = ["-m", "client", "-e", &address];
    let mut sub = Running::start(&zonda(), &[&["sub", "demo/t"][..], &reached].concat());
    assert!(sub.error().starts_with("connected to router "));
    let arguments = [
        &["pub", "demo/t"][..],
        &reached,
        &[
            "--cfg",
            "transport/link/tx/queue/congestion_control/block/wait_before_close:60000000",
        ],
    ]
    .concat();
    let mut publisher = Running::start(&zonda(), &arguments);
    let mut input = publisher.input.take().expect("it is piped");
    input.write_all(b"first\n").expect("it reads");
    assert_eq!(sub.line(), "PUT demo/t: first");
    sub.signal("STOP");
    let line = [&[b'x'; 100][..], b"\n"].concat();
    for _ in 0..LINES {
        input.write_all(&line).expect("it reads");
    }
    drop(input);
    assert_eq!(publisher.end().code(), Some(0));
    let sum = said(&mut publisher, &["published "]);
    assert!(
        sum.starts_with(&format!("published {}: ", LINES + 1)),
        "{sum}"
    );
    assert!(
        sum.contains(" sent, ") && sum.ends_with(" no subscriber"),
        "{sum}"
    );
    let slow = said(&mut router, &["WARN", "slow consumer"]);
    assert!(
        slow.contains(" messages (") && slow.contains(" that waited for it are lost"),
        "{slow}"
    );
    sub.signal("CONT");
    let lost = said(&mut sub, &["WARN", "lost the link to router "]);
    assert!(lost.contains("trying again"), "{lost}");
    said(&mut sub, &["WARN", "again after "]);
}
