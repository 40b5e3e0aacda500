// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda trace`: the messages that pass a router, with the neighbours on both sides.

use super::examples::free_address;
use super::program::{Running, run, zonda};

#[test]
fn messages_are_traced_with_both_sides() {
    let address = free_address();
    let limit = "low_pass_filter:[{size_limit: 9, flows: ['egress'], messages: ['put'], key_exprs: ['demo/**']}]";
    let flags = ["router", "-l", &address, "--cfg", "id:'a1'", "--cfg", limit];
    let mut router = Running::start(&zonda(), &flags);
    router.after("listening on ");
    let reached = ["-m", "client", "-e", &address];
    let client = |begin: &[&str]| {
        let mut client = Running::start(&zonda(), &[begin, &reached].concat());
        assert!(client.error().starts_with("connected to router "));
        client
    };
    let _subscriber = client(&["sub", "demo/*", "--cfg", "id:'c2'"]);
    let flags = [&["trace", "demo/**", "-n", "2", "--json"][..], &reached].concat();
    let mut trace = Running::start(&zonda(), &flags);
    assert_eq!(trace.error(), "router a1 traces");
    let put = |key: &str, value: &str| {
        let flags = [&["put", key, value, "--cfg", "id:'c1'"][..], &reached].concat();
        assert_eq!(run(&zonda(), &flags).code, Some(0));
    };
    let mut line = || -> serde_json::Value { serde_json::from_str(&trace.line()).expect("JSON") };
    let short = |line: &serde_json::Value| {
        let word = |name: &str| line[name].as_str().unwrap_or("?").to_owned();
        format!(
            "{} {} {} {}",
            word("kind"),
            word("key"),
            word("way"),
            word("zid")
        )
    };
    put("demo/a", "12345");
    let first = line();
    assert_eq!(short(&first), "put demo/a from c1");
    assert_eq!(
        (&first["bytes"], &first["router"]),
        (&5.into(), &"a1".into())
    );
    assert_eq!(short(&line()), "put demo/a to c2");
    drop(trace);

    // A message that a rule stops is seen from its sender only.
    let flags = [
        &["trace", "demo/b", "--seconds", "2", "--json"][..],
        &reached,
    ]
    .concat();
    let ended = std::thread::scope(|scope| {
        let ended = scope.spawn(|| run(&zonda(), &flags));
        while !ended.is_finished() {
            put("demo/b", "too long for the rule");
            put("demo/c", "1");
        }
        ended.join().expect("it does not panic")
    });
    assert_eq!(
        (ended.code, ended.err.as_str()),
        (Some(0), "router a1 traces")
    );
    let lines = ended
        .out
        .lines()
        .map(|text| serde_json::from_str(text).expect("JSON"));
    let lines: Vec<_> = lines.map(|line| short(&line)).collect();
    assert!(!lines.is_empty());
    assert_eq!(
        lines.iter().find(|line| *line != "put demo/b from c1"),
        None
    );
}

#[test]
fn a_router_that_does_not_trace_is_one_line() {
    let address = free_address();
    let closed = "adminspace/permissions/read:false";
    let mut router = Running::start(&zonda(), &["router", "-l", &address, "--cfg", closed]);
    router.after("listening on ");
    let ended = run(
        &zonda(),
        &["trace", "demo/a", "-m", "client", "-e", &address],
    );
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""));
    assert!(ended.err.contains("no router traces: "), "{}", ended.err);
}

/// A trace shows the keys of messages, so it takes the right to subscribe to them.
#[test]
fn a_trace_needs_the_right_to_subscribe() {
    let address = free_address();
    let denied = "access_control: {enabled: true, default_permission: 'allow', \
        rules: [{id: 'secret', permission: 'deny', flows: ['ingress'], messages: ['declare_subscriber'], \
            key_exprs: ['demo/secret/**']}, \
            {id: 'hidden', permission: 'deny', flows: ['egress'], messages: ['put'], key_exprs: ['demo/hidden/**']}], \
        subjects: [{id: 'all'}], policies: [{rules: ['secret', 'hidden'], subjects: ['all']}]}";
    let flags = ["router", "-l", &address, "--cfg", denied];
    let mut router = Running::start(&zonda(), &flags);
    router.after("listening on ");
    for (key, by) in [("demo/secret/a", "secret"), ("demo/hidden/a", "hidden")] {
        let ended = run(&zonda(), &["trace", key, "-m", "client", "-e", &address]);
        assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""), "{key}");
        let is_told =
            ended.err.contains("the right to subscribe to its key") && ended.err.contains(by);
        assert!(is_told, "{key}: {}", ended.err);
    }
    // Of wider keys it shows what a subscriber would get.
    let reached = ["-m", "client", "-e", &address];
    let flags = [
        &["trace", "demo/**", "--seconds", "2", "--json"][..],
        &reached,
    ]
    .concat();
    let mut subscriber = Running::start(&zonda(), &[&["sub", "demo/**"][..], &reached].concat());
    assert!(subscriber.error().starts_with("connected to router "));
    let ended = std::thread::scope(|scope| {
        let ended = scope.spawn(|| run(&zonda(), &flags));
        while !ended.is_finished() {
            for key in ["demo/hidden/a", "demo/open/a"] {
                run(&zonda(), &[&["put", key, "1"][..], &reached].concat());
            }
        }
        ended.join().expect("it does not panic")
    });
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.out.contains("demo/open/a"), "{}", ended.out);
    assert!(!ended.out.contains("hidden"), "{}", ended.out);
}
