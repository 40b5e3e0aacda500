// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of `zonda get|queryable` and the examples of these names, peer to peer and through `zonda
//! router`.

use serde_json::{Value, json};
use zonda::Wait;

use super::examples::{free_address, router};
use super::program::{Ended, Running, example, run, zonda};

fn json_line(running: &mut Running) -> Value {
    serde_json::from_str(&running.line()).expect("a JSON line")
}

/// Starts a queryable that is ready; returns it with its endpoint, if it listens.
fn queryable(arguments: &[&str]) -> (Running, String) {
    let mut running = Running::start(&zonda(), &[&["queryable", "--json"], arguments].concat());
    let line = json_line(&mut running);
    assert_eq!(line["event"], "ready");
    let address = line["listening"][0].as_str().unwrap_or_default().to_owned();
    (running, address)
}

/// Queries until an answer comes: a declaration may still be on its way to a router.
fn get_until_answered(arguments: &[&str]) -> Ended {
    let begin = std::time::Instant::now();
    loop {
        let got = run(&zonda(), &[&["get"], arguments].concat());
        if !got.err.starts_with("note: no queryable has an answer") {
            return got;
        }
        assert!(begin.elapsed() < super::program::DEADLINE, "nobody answers");
    }
}

/// Splits a text at spaces, and appends more words.
fn words<'a>(text: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    text.split(' ').chain(more.iter().copied()).collect()
}

#[test]
fn a_get_is_answered_directly() {
    let flags = "-k demo/* -p hello --complete --encoding application/json -a note -n 2";
    let (mut queryable, address) = queryable(&words(flags, &["-l", "tcp/127.0.0.1:0"]));
    let client = ["-e", &address, "-m", "client"];
    let flags = "get -s demo/a?x=1;y -p body -a beside --target all-complete";
    let got = run(&zonda(), &words(flags, &client));
    assert_eq!((got.code, got.err.as_str()), (Some(0), ""));
    assert_eq!(got.out, "PUT demo/a: hello (note)");
    let query = json_line(&mut queryable);
    assert_eq!(
        query,
        json!({
            "key": "demo/a",
            "parameters": "x=1;y",
            "payload": "body",
            "encoding": "text/plain",
            "attachment": "beside",
            "any_key": false,
        })
    );

    let flags = "get -s demo/b --consolidation none --any-key --json";
    let got = run(&zonda(), &words(flags, &client));
    let mut reply: Value = serde_json::from_str(&got.out).expect("JSON");
    let replier = reply["replier"].take();
    assert!(replier.as_str().is_some_and(|id| !id.is_empty()), "{got:?}");
    assert_eq!(
        reply,
        json!({
            "kind": "PUT",
            "key": "demo/b",
            "payload": "hello",
            "encoding": "application/json",
            "attachment": "note",
            "time": null,
            "timestamp": null,
            "replier": null,
        })
    );
    let query = json_line(&mut queryable);
    assert_eq!(query["payload"], Value::Null);
    assert_eq!(query["any_key"], true);
    assert_eq!(queryable.end().code(), Some(0));
}

#[test]
fn a_get_is_answered_through_a_router_by_many() {
    let (_router, address) = router();
    let client = ["-e", &address, "-m", "client"];
    let answering: Vec<_> = ["a", "b", "c"]
        .map(|name| {
            let key = format!("many/{name}");
            queryable(&[&["-k", &key, "-p", name], &client[..]].concat())
        })
        .into();
    let arguments = [&["-s", "many/*", "--target", "all"], &client[..]].concat();
    let begin = std::time::Instant::now();
    let mut got = get_until_answered(&arguments);
    while got.out.lines().count() < 3 {
        assert!(begin.elapsed() < super::program::DEADLINE, "{got:?}");
        got = get_until_answered(&arguments);
    }
    assert_eq!((got.code, got.err.as_str()), (Some(0), ""));
    let mut lines: Vec<&str> = got.out.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["PUT many/a: a", "PUT many/b: b", "PUT many/c: c"]);
    drop(answering);
}

#[test]
fn a_get_that_fails_says_why_and_one_without_answers_is_none() {
    let (_router, address) = router();
    let client = ["-e", &address, "-m", "client"];
    let got = run(
        &zonda(),
        &[&["get", "-s", "nobody/answers"], &client[..]].concat(),
    );
    assert_eq!(
        (got.code, got.out.as_str(), got.err.as_str()),
        (
            Some(1),
            "",
            "note: no queryable has an answer to nobody/answers"
        )
    );

    let session = zonda::open(zonda::Config::peer().listen(["tcp/127.0.0.1:0"]));
    let session = session.wait().expect("a peer opens");
    let address = session.info().locators().remove(0).to_string();
    let client = ["-e", &address, "-m", "client"];
    let held = session.declare_queryable("held").wait().expect("declared");
    let got = run(
        &zonda(),
        &[&["get", "-s", "held", "-o", "0.2"], &client[..]].concat(),
    );
    assert_eq!(
        (got.code, got.out.as_str()),
        (Some(1), "ERROR: Timeout"),
        "{got:?}"
    );
    assert_eq!(got.err, "error: not all have answered within 200ms");
    drop(held);
    let refusing = session.declare_queryable("refused/*").callback(|query| {
        let refused = match query.key_expr().as_str() {
            "refused/a" => query.reply_err("no such unit").wait(),
            _ => query
                .reply("refused/b", "found")
                .wait()
                .and(query.reply_err("and more").wait()),
        };
        refused.expect("it waits");
    });
    let _refusing = refusing.wait().expect("declared");
    let got = run(
        &zonda(),
        &[&["get", "-s", "refused/a"], &client[..]].concat(),
    );
    assert_eq!(
        (got.code, got.out.as_str()),
        (Some(1), "ERROR: no such unit"),
        "{got:?}"
    );
    assert_eq!(got.err, "error: answered with an error: no such unit");
    let got = run(
        &zonda(),
        &[&["get", "-s", "refused/b"], &client[..]].concat(),
    );
    assert_eq!(got.out, "ERROR: and more\nPUT refused/b: found", "{got:?}");
    assert_eq!(
        (got.code, got.err.as_str()),
        (Some(0), "note: answered with an error: and more")
    );
    let taken = free_address();
    let got = run(&zonda(), &["get", "-s", "a", "-e", &taken]);
    assert_eq!((got.code, got.out.as_str()), (Some(1), ""), "{got:?}");
    assert!(got.err.contains(&taken), "{got:?}");
}

#[test]
fn examples_ask_and_answer() {
    let address = free_address();
    let listen = ["-l", &address, "--no-multicast-scouting"];
    let connect = ["-m", "client", "-e", &address, "--no-multicast-scouting"];
    let key = ["-k", "demo/example/x", "-p", "hello", "--complete"];
    let mut answering = Running::start(&example("queryable"), &[&key[..], &listen].concat());
    assert_eq!(
        answering.line(),
        "Declaring Queryable on 'demo/example/x'..."
    );
    assert_eq!(answering.line(), "Press CTRL-C to quit...");

    let arguments = [
        "-s",
        "demo/example/**?a=1",
        "-p",
        "body",
        "-t",
        "ALL",
        "-o",
        "5000",
    ];
    let got = run(&example("get"), &[&arguments[..], &connect].concat());
    assert_eq!((got.code, got.err.as_str()), (Some(0), ""));
    let expected =
        "Sending Query 'demo/example/**?a=1'...\n>> Received ('demo/example/x': 'hello')";
    assert_eq!(got.out, expected);
    assert_eq!(
        answering.line(),
        ">> [Queryable ] Received Query 'demo/example/**?a=1' with payload 'body'"
    );
    assert_eq!(
        answering.line(),
        ">> [Queryable ] Responding ('demo/example/x': 'hello')"
    );

    let arguments = [
        "-s",
        "demo/example/x?b",
        "-p",
        "body",
        "-t",
        "ALL_COMPLETE",
        "-n",
        "2",
        "--interval",
        "0.01",
    ];
    let got = run(&example("querier"), &[&arguments[..], &connect].concat());
    assert_eq!((got.code, got.err.as_str()), (Some(0), ""));
    let lines: Vec<&str> = got.out.lines().collect();
    assert_eq!(lines[0], "Declaring Querier on 'demo/example/x'...");
    assert_eq!(
        lines[2],
        "Querying 'demo/example/x?b' with payload: '[   0] body'..."
    );
    assert_eq!(
        lines.last(),
        Some(&">> Received ('demo/example/x': 'hello')"),
        "{lines:?}"
    );
    assert_eq!(
        answering.line(),
        ">> [Queryable ] Received Query 'demo/example/x?b' with payload '[   0] body'"
    );
}

#[cfg(unix)]
#[test]
fn a_get_that_waits_ends_on_ctrl_c() {
    let session = zonda::open(zonda::Config::peer().listen(["tcp/127.0.0.1:0"]));
    let session = session.wait().expect("a peer opens");
    let address = session.info().locators().remove(0).to_string();
    let held = session.declare_queryable("held").wait().expect("declared");
    let arguments = [
        "get", "-s", "held", "-o", "600", "-e", &address, "-m", "client",
    ];
    let mut getting = Running::start(&zonda(), &arguments);
    let query = held.recv_timeout(super::program::DEADLINE);
    // Dropping it would end the get with no answer.
    let query = query.expect("it is open").expect("it is asked");
    getting.signal("INT");
    assert_eq!(getting.end().code(), Some(0));
    drop(query);
}
