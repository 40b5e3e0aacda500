// SPDX-License-Identifier: MIT OR Apache-2.0
//! Publishing without a listener: the program reports it, and fails if an endpoint was given.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use socket2::{Domain, Socket, Type};

use super::program::{Running, example, run, zonda};

/// Returns an endpoint without a listener, which no other program can take as long as the socket is
/// held.
fn nobody() -> (Socket, String) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    let any: SocketAddr = (Ipv4Addr::LOCALHOST, 0).into();
    socket.bind(&any.into()).expect("bind");
    let address = socket.local_addr().expect("address").as_socket();
    (socket, format!("tcp/{}", address.expect("IPv4")))
}

/// Returns every program that publishes a value and ends.
fn publishers() -> Vec<(PathBuf, Vec<&'static str>)> {
    let once = ["-n", "1", "--interval", "0"];
    vec![
        (zonda(), vec!["put", "-k", "a", "-p", "b"]),
        (zonda(), vec!["delete", "-k", "a"]),
        (
            zonda(),
            [&["pub", "-k", "a", "-p", "b"], &once[..]].concat(),
        ),
        (example("put"), vec!["-k", "a"]),
        (example("delete"), vec!["-k", "a"]),
        (example("pub"), [&["-k", "a"], &once[..]].concat()),
    ]
}

#[test]
fn an_endpoint_that_is_not_reached_is_a_failure() {
    let (_held, address) = nobody();
    let line = format!("error: cannot connect to {address}: connection refused");
    for (program, mut arguments) in publishers() {
        let goes_on = arguments.contains(&"-n");
        arguments.extend(["-e", &address]);
        let ended = run(&program, &arguments);
        assert_eq!(ended.code, Some(1), "{arguments:?}: {ended:?}");
        // Examples log a second attempt, for which a slow machine leaves time.
        let is_log = |line: &&str| line.contains(" WARN zonda_router::peers::connect: ");
        let mut errors = ended.err.lines().filter(|line| !is_log(line));
        if goes_on {
            // The endpoint might have been reached later, so the values were published as they
            // came.
            let note = errors.next().unwrap_or_default();
            assert!(note.starts_with("note: no node is connected"), "{ended:?}");
            assert!(note.contains(&address), "{ended:?}");
        } else {
            assert_eq!(ended.out, "", "{ended:?}");
        }
        assert!(
            errors.next().is_some_and(|e| e.starts_with(&line)),
            "{ended:?}"
        );
        assert_eq!(errors.next(), None, "{ended:?}");
    }
}

#[test]
fn an_endpoint_of_a_configuration_is_one_too() {
    let (_held, address) = nobody();
    let cfg = format!("connect/endpoints:[\"{address}\"]");
    let ended = run(&zonda(), &["put", "-k", "a", "-p", "b", "--cfg", &cfg]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""), "{ended:?}");
    assert!(ended.err.contains(&address), "{ended:?}");
}

#[test]
fn to_be_alone_without_one_is_worth_a_line() {
    for (program, mut arguments) in publishers() {
        arguments.extend(["-l", "tcp/127.0.0.1:0"]);
        let ended = run(&program, &arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:?}");
        // the environment of the tests keeps nodes from looking for other ones
        let why =
            "no nodes are looked for: the environment variable ZONDA_MULTICAST_SCOUTING is off";
        assert_eq!(
            ended.err,
            format!("note: no node is connected, so this reaches no subscriber ({why})"),
            "{arguments:?}"
        );
    }
}

#[test]
fn who_is_reached_gets_the_value_and_who_is_not_is_named() {
    let arguments = ["sub", "--json", "-n", "6", "-l", "tcp/127.0.0.1:0"];
    let mut sub = Running::start(&zonda(), &arguments);
    let line: serde_json::Value = serde_json::from_str(&sub.line()).expect("a JSON line");
    let there = line["listening"][0].as_str().expect("an address");
    for (program, mut arguments) in publishers() {
        arguments.extend(["-e", there]);
        let ended = run(&program, &arguments);
        // a tool that keeps running first prints the nodes it is connected to
        let goes_on = program == zonda() && arguments.contains(&"pub");
        let lines = ended.own_errors();
        assert_eq!(
            (ended.code, lines.len()),
            (Some(0), usize::from(goes_on)),
            "{ended:?}"
        );
        let is_connected = |line: &&str| line.starts_with("connected to peer ");
        assert!(lines.iter().all(is_connected), "{ended:?}");
    }
    for _ in 0..6 {
        sub.line();
    }
    assert_eq!(sub.end().code(), Some(0));

    let mut sub = Running::start(
        &zonda(),
        &["sub", "--json", "-n", "2", "-l", "tcp/127.0.0.1:0"],
    );
    let line: serde_json::Value = serde_json::from_str(&sub.line()).expect("a JSON line");
    let there = line["listening"][0].as_str().expect("an address");
    let (_held, missing) = nobody();
    let ended = run(
        &zonda(),
        &["put", "-k", "a", "-p", "b", "-e", there, "-e", &missing],
    );
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended
            .err
            .starts_with(&format!("error: cannot connect to {missing}"))
    );
    assert!(!ended.err.contains(there), "{ended:?}");
    assert!(sub.line().contains("\"payload\":\"b\""));
    // A client needs only one of its endpoints.
    let arguments = ["router", "--json", "-l", "tcp/127.0.0.1:0"];
    let mut router = Running::start(&zonda(), &arguments);
    let line: serde_json::Value = serde_json::from_str(&router.line()).expect("a JSON line");
    let there = line["listening"][0].as_str().expect("an address");
    let arguments = [
        "put", "-m", "client", "-k", "a", "-p", "b", "-e", &missing, "-e", there,
    ];
    let ended = run(&zonda(), &arguments);
    let note = "note: no subscriber to a";
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), note));
}

/// A message without a subscriber counts as not sent; a query without an answer is still a query.
#[test]
fn what_nobody_wants_is_said_to_reach_nobody() {
    let arguments = ["router", "--json", "-l", "tcp/127.0.0.1:0"];
    let mut router = Running::start(&zonda(), &arguments);
    let line: serde_json::Value = serde_json::from_str(&router.line()).expect("a JSON line");
    let there = line["listening"][0].as_str().expect("an address");
    let client = ["-m", "client", "-e", there];
    let put = [&["put", "lonely/a", "b"][..], &client].concat();
    let ended = run(&zonda(), &[&put[..], &["--json"]].concat());
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    assert!(
        ended.out.contains("\"outcome\":\"NoSubscriber\""),
        "{ended:?}"
    );
    let ended = run(&zonda(), &[&put[..], &["-v"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let has = |text: &str| ended.err.lines().any(|line| line.contains(text));
    assert!(has("note: no subscriber to lonely/a"), "{ended:?}");
    assert!(has("INFO") && has("connected to router"), "{ended:?}");
    let ended = run(&zonda(), &[&["get", "lonely/a"][..], &client].concat());
    let note = "note: no queryable has an answer to lonely/a";
    assert_eq!((ended.code, ended.err.as_str()), (Some(1), note));
    let mut sub = Running::start(
        &zonda(),
        &[&["sub", "lonely/**", "--json"][..], &client].concat(),
    );
    sub.line();
    // the program prints that it listens before the router has received its subscriber
    let delete = [&["delete", "lonely/a", "--json"][..], &client].concat();
    let is_sent = |_: &u32| {
        let ended = run(&zonda(), &delete);
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
        ended.out.contains("\"outcome\":\"Sent\"")
    };
    assert!((0..50).find(is_sent).is_some(), "nobody gets it");
}

#[test]
fn the_help_says_so() {
    for (program, arguments) in publishers() {
        let tool = arguments.first().filter(|first| !first.starts_with('-'));
        let asked: Vec<&str> = tool.into_iter().copied().chain(["--help"]).collect();
        let shown = run(&program, &asked);
        assert!(
            shown.out.contains("Exit code: 0"),
            "{asked:?}: {}",
            shown.out
        );
    }
}

#[test]
fn a_router_that_ends_while_values_go_to_it_is_a_failure() {
    let mut router = Running::start(&zonda(), &["router", "-l", "tcp/127.0.0.1:0", "--json"]);
    let ready: serde_json::Value = serde_json::from_str(&router.line()).expect("JSON");
    let address = ready["listening"][0]
        .as_str()
        .expect("a locator")
        .to_owned();
    let value = [
        "pub",
        "-k",
        "a",
        "-p",
        "b",
        "--interval",
        "0.01",
        "-e",
        &address,
    ];
    let mut publisher = Running::start(&zonda(), &[&value[..], &["--json"]].concat());
    publisher.line_where(|line| line.contains("\"put\""));
    router.stop();
    let lost = publisher.error();
    assert!(lost.contains("lost the link to router "), "{lost}");
    let note = publisher.error();
    assert!(note.starts_with("note: no node is connected"), "{note}");
    publisher.signal("INT");
    assert_eq!(publisher.end().code(), Some(1));
}

#[test]
fn a_publisher_says_to_which_node_it_is_connected_and_that_nobody_subscribes() {
    let mut router = Running::start(&zonda(), &["router", "-l", "tcp/127.0.0.1:0", "--json"]);
    let ready: serde_json::Value = serde_json::from_str(&router.line()).expect("JSON");
    let (zid, at) = (&ready["zid"], &ready["listening"][0]);
    let (zid, at) = (
        zid.as_str().expect("an id"),
        at.as_str().expect("a locator"),
    );
    let value = [
        "pub",
        "quiet/a",
        "b",
        "-n",
        "3",
        "--interval",
        "0",
        "-m",
        "client",
        "-e",
        at,
    ];
    let ended = run(&zonda(), &value);
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), ""), "{ended:?}");
    let said = format!(
        "connected to router {zid} ({at})\nnote: no subscriber to quiet/a\npublished 3: 3 no subscriber"
    );
    assert_eq!(ended.err, said);
    let ended = run(&zonda(), &[&value[..], &["--json"]].concat());
    assert_eq!(ended.err, "", "the outcome says it");
}

#[test]
fn an_endpoint_that_is_not_reached_is_told_when_others_are_connected() {
    let mut router = Running::start(&zonda(), &["router", "-l", "tcp/127.0.0.1:0", "--json"]);
    let ready: serde_json::Value = serde_json::from_str(&router.line()).expect("JSON");
    let at = ready["listening"][0].as_str().expect("a locator");
    let (_held, nobody) = nobody();
    for tool in [
        &["sub", "x"][..],
        &["queryable", "x", "1"],
        &["pub", "x", "1"],
    ] {
        let both = ["-l", "tcp/127.0.0.1:0", "-e", at, "-e", &nobody];
        let mut tool = Running::start(&zonda(), &[tool, &both[..]].concat());
        let said = loop {
            let said = tool.error();
            if !said.starts_with("connected to router ") && !said.starts_with("note: no sub") {
                break said;
            }
        };
        let refused = format!("cannot connect to {nobody}: connection refused");
        assert!(said.starts_with(&refused), "{said}");
        assert!(said.ends_with("; trying again"), "{said}");
    }
}
