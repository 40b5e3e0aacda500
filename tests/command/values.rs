// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of values of all bytes as input and output of the tools: as words, text, digits, base64,
//! files and standard input.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::program::{Running, run, zonda};

/// A payload that is no text.
const BYTES: [u8; 4] = [0, 255, 254, 1];

/// Starts a subscriber as its own program; returns it with its endpoint.
fn subscriber(number: usize) -> (Running, String) {
    let number = number.to_string();
    let arguments = [
        "sub",
        "demo/**",
        "-n",
        &number,
        "--json",
        "-l",
        "tcp/127.0.0.1:0",
    ];
    let mut running = Running::start(&zonda(), &arguments);
    let ready: Value = serde_json::from_str(&running.line()).expect("a JSON line");
    let address = ready["listening"][0].as_str().expect("it listens");
    (running, address.to_owned())
}

fn put(arguments: &[&str], address: &str, input: &[u8]) {
    let mut command = Command::new(zonda());
    command
        .arg("put")
        .args(arguments)
        .args(["-m", "client", "-e", address]);
    let mut child = command.stdin(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(input).expect("it reads");
    drop(stdin);
    assert!(child.wait().expect("it ends").success(), "{arguments:?}");
}

#[test]
fn every_way_in_gives_the_same_bytes() {
    let file = std::env::temp_dir().join(format!("zonda-value-{}", std::process::id()));
    std::fs::write(&file, BYTES).expect("a file");
    let name = file.to_str().expect("a name");
    let ways: [(&[&str], &[u8]); 6] = [
        (&["demo/a", "--hex", "00 ff fe 01"], b""),
        (&["-k", "demo/a", "-p", "AP/+AQ==", "--base64"], b""),
        (&["-k", "demo/a", "00fffe01", "--hex"], b""),
        (&["demo/a", "-f", name], b""),
        (&["demo/a", "-f", "-"], &BYTES),
        (&["demo/a", "-f", "-", "--hex"], b"00ff\nfe01\n"),
    ];
    let (mut sub, address) = subscriber(ways.len());
    for (arguments, input) in ways {
        put(arguments, &address, input);
        let got: Value = serde_json::from_str(&sub.line()).expect("a JSON line");
        let seen = (&got["payload"], &got["payload_base64"], &got["encoding"]);
        assert_eq!(
            seen,
            (&Value::Null, &json!("AP/+AQ=="), &json!("zenoh/bytes")),
            "{arguments:?}"
        );
    }
    assert_eq!(sub.end().code(), Some(0));
    std::fs::remove_file(&file).expect("it is ours");
}

#[test]
fn a_negative_number_is_a_value() {
    let (mut sub, address) = subscriber(2);
    for arguments in [&["demo/t", "-5.5"][..], &["-k", "demo/t", "-p", "-5.5"]] {
        put(arguments, &address, b"");
        let got: Value = serde_json::from_str(&sub.line()).expect("a JSON line");
        assert_eq!(
            (&got["payload"], &got["encoding"]),
            (&json!("-5.5"), &json!("text/plain"))
        );
    }
    assert_eq!(sub.end().code(), Some(0));
}

#[test]
fn lines_of_any_bytes_are_published() {
    let (mut sub, address) = subscriber(2);
    let mut publisher =
        Running::start(&zonda(), &["pub", "demo/l", "-m", "client", "-e", &address]);
    let mut input = publisher.input.take().expect("it is piped");
    input.write_all(b"\x00\xff\r\ntext\n").expect("it reads");
    drop(input);
    let mut line = || serde_json::from_str::<Value>(&sub.line()).expect("a JSON line");
    assert_eq!(line()["payload_base64"], "AP8=");
    assert_eq!(line()["payload"], "text");
    assert_eq!(publisher.end().code(), Some(0));
    assert_eq!(sub.end().code(), Some(0));
}

/// Starts `zonda queryable` with these bytes as its answer, and queries it with these flags.
fn asked(flags: &[&str]) -> Vec<u8> {
    let arguments = [
        "queryable",
        "demo/q",
        "--hex",
        "00fffe01",
        "--json",
        "-l",
        "tcp/127.0.0.1:0",
    ];
    let mut queryable = Running::start(&zonda(), &arguments);
    let ready: Value = serde_json::from_str(&queryable.line()).expect("a JSON line");
    let address = ready["listening"][0].as_str().expect("it listens");
    let mut get = Command::new(zonda());
    get.args(["get", "demo/q", "-m", "client", "-e", address])
        .args(flags);
    let got = get.output().expect("it runs");
    assert!(got.status.success(), "{got:?}");
    got.stdout
}

#[test]
fn raw_bytes_and_dumps_come_out() {
    assert_eq!(asked(&["--raw"]), BYTES);
    let dump = String::from_utf8(asked(&["--hexdump"])).expect("text");
    let place = format!("00000000  00 ff fe 01{}  |....|", " ".repeat(36));
    assert_eq!(
        dump.lines().collect::<Vec<_>>(),
        ["PUT demo/q 4 bytes", &place]
    );
    let text = String::from_utf8(asked(&[])).expect("text");
    assert_eq!(text.trim_end(), "PUT demo/q: <4 bytes: 00 ff fe 01>");
}

#[test]
fn what_is_given_wrongly_is_said_in_a_line() {
    let cases: [(&[&str], &str); 9] = [
        (&["put"], "there is no key"),
        (&["put", "demo/a"], "there is no value"),
        (&["put", "demo/a", "1", "-p", "2"], "there are two values"),
        (&["put", "demo/a", "1", "-f", "x"], "there are two values"),
        (
            &["put", "-k", "demo/a", "demo/b", "1"],
            "there are two keys",
        ),
        (&["put", "demo//a", "1"], "key \"demo//a\""),
        (&["put", "demo/a", "0g", "--hex"], "character 2 is 'g'"),
        (
            &["put", "demo/a", "-f", "/nowhere/to/be/found"],
            "cannot read /nowhere",
        ),
        (&["get"], "nothing to ask for"),
    ];
    for (arguments, text) in cases {
        let ended = run(&zonda(), arguments);
        assert!(
            ended.err.starts_with("error: ") && ended.err.contains(text),
            "{arguments:?}: {ended:?}"
        );
        assert_eq!(ended.err.lines().count(), 1, "{arguments:?}: {ended:?}");
        let code = if text.starts_with("cannot") { 1 } else { 2 };
        assert_eq!(ended.code, Some(code), "{arguments:?}");
    }
}

#[test]
fn a_tool_that_waits_says_for_what_and_then_to_which_node_it_is_connected() {
    let mut sub = Running::start(
        &zonda(),
        &["sub", "demo/**", "-n", "1", "-l", "tcp/127.0.0.1:0"],
    );
    let waits = sub.error();
    let listening = waits.strip_prefix("no node is connected yet; listening on ");
    let address = listening.and_then(|rest| rest.split(';').next());
    let address = address.unwrap_or_else(|| panic!("{waits}"));
    assert!(
        waits.contains("ZONDA_MULTICAST_SCOUTING is off"),
        "nobody is looked for, and that is said: {waits}"
    );
    let arguments = ["live", "-m", "client", "-e", address];
    let mut client = Running::start(&zonda(), &arguments);
    let connected = client.error();
    assert!(connected.starts_with("connected to peer "), "{connected}");
    let connected = sub.error();
    assert!(connected.starts_with("connected to client "), "{connected}");
    put(&["demo/a", "1"], address, b"");
    assert_eq!(sub.line(), "PUT demo/a: 1");
    assert_eq!(sub.end().code(), Some(0));
}
