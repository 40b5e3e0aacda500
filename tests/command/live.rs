// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda live` and the examples of liveliness: tokens that appear, are undeclared, and vanish in a
//! crash.

use serde_json::{Value, json};

use super::examples::{free_address, router};
use super::program::{Running, example, run, zonda};

fn json_line(running: &mut Running) -> Value {
    serde_json::from_str(&running.line()).expect("a JSON line")
}

/// Starts a program that prints changes of this key as JSON; returns when it listens.
fn watching(arguments: &[&str]) -> Running {
    let all = [&["live", "--json", "-k", "live/*"], arguments].concat();
    let mut live = Running::start(&zonda(), &all);
    assert_eq!(json_line(&mut live)["event"], "ready");
    live
}

#[test]
fn tokens_come_and_go_and_a_crash_is_noticed() {
    let (_router, address) = router();
    let client = ["-m", "client", "-e", &address];
    let mut early = watching(&client);
    let token = ["--token", "live/a", "--token", "live/b", "-k", "none"];
    let mut holder = Running::start(
        &zonda(),
        &[&["live", "--json"], &token[..], &client].concat(),
    );
    let both = [json_line(&mut early), json_line(&mut early)];
    let alive = ["live/a", "live/b"].map(|key| json!({"event": "alive", "key": key}));
    assert_eq!(both, alive);

    let mut late = watching(&[&["--history", "-n", "4"], &client[..]].concat());
    assert_eq!([json_line(&mut late), json_line(&mut late)], alive);
    let get = run(
        &zonda(),
        &[&["live", "--get", "-k", "live/a"], &client[..]].concat(),
    );
    assert_eq!(
        (get.code, get.out.as_str(), get.err.as_str()),
        (Some(0), "alive live/a", "")
    );
    let own = [
        &["live", "--get", "--token", "live/me", "-k", "live/*"],
        &client[..],
    ]
    .concat();
    let mut own: Vec<String> = run(&zonda(), &own).out.lines().map(str::to_owned).collect();
    own.sort();
    assert_eq!(own, ["alive live/a", "alive live/b", "alive live/me"]);
    let me = [json_line(&mut late), json_line(&mut late)];
    assert_eq!(me[0], json!({"event": "alive", "key": "live/me"}));
    assert_eq!(me[1], json!({"event": "gone", "key": "live/me"}));
    assert_eq!(late.end().code(), Some(0));

    let _ = [json_line(&mut early), json_line(&mut early)];
    holder.stop();
    let both = [json_line(&mut early), json_line(&mut early)];
    let gone = ["live/a", "live/b"].map(|key| json!({"event": "gone", "key": key}));
    assert_eq!(both, gone, "the killed one said no goodbye");
    let get = run(&zonda(), &[&["live", "--get"], &client[..]].concat());
    assert_eq!((get.code, get.out.as_str()), (Some(0), ""));
}

#[test]
fn bad_usage_and_unreachable_neighbours_are_one_line() {
    for bad in [
        &["live", "--get", "--history"][..],
        &["live", "-k", "a//b"],
        &["live", "--get", "--timeout", "soon"],
    ] {
        let ended = run(&zonda(), bad);
        assert_eq!(
            (ended.code, ended.err.lines().count()),
            (Some(2), 1),
            "{}",
            ended.err
        );
    }
    let nobody = free_address();
    let ended = run(&zonda(), &["live", "--get", "-e", &nobody]);
    assert_eq!(
        (ended.code, ended.err.lines().count()),
        (Some(1), 1),
        "{}",
        ended.err
    );
    assert!(ended.err.contains(&nobody), "{}", ended.err);
}

#[cfg(unix)]
#[test]
fn the_examples_show_the_same() {
    let address = free_address();
    let listen = ["-m", "peer", "-l", &address, "--no-multicast-scouting"];
    let connect = ["-m", "client", "-e", &address, "--no-multicast-scouting"];
    let mut token = Running::start(
        &example("liveliness_token"),
        &[&["-k", "group1/a"], &listen[..]].concat(),
    );
    assert_eq!(token.line(), "Declaring LivelinessToken on 'group1/a'...");
    token.line_where(|line| line.starts_with("Press CTRL-C"));
    let mut subscriber = Running::start(
        &example("liveliness_subscriber"),
        &[&["--history"], &connect[..]].concat(),
    );
    assert_eq!(
        subscriber.line(),
        "Declaring Liveliness Subscriber on 'group1/**'..."
    );
    subscriber.line_where(|line| line.starts_with("Press CTRL-C"));
    assert_eq!(
        subscriber.line(),
        ">> [LivelinessSubscriber] New alive token ('group1/a')"
    );
    let get = run(&example("liveliness_get"), &connect);
    let expected = "Sending Liveliness Query 'group1/**'...\n>> Alive token ('group1/a')";
    assert_eq!(
        (get.code, get.out.as_str(), get.err.as_str()),
        (Some(0), expected, "")
    );
    token.signal("INT");
    assert_eq!(token.end().code(), Some(0));
    assert_eq!(
        subscriber.line(),
        ">> [LivelinessSubscriber] Dropped token ('group1/a')"
    );
    subscriber.signal("INT");
    assert_eq!(subscriber.end().code(), Some(0));
}
