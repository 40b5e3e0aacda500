// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda trace`: the messages that pass a router, with the neighbours on both sides, and where
//! their time went.

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

/// Starts a router with the id a1.
fn router() -> (Running, String) {
    let address = free_address();
    let flags = ["router", "-l", &address, "--cfg", "id:'a1'"];
    let mut router = Running::start(&zonda(), &flags);
    router.after("listening on ");
    (router, address)
}

#[test]
fn a_stack_shows_each_hop_over_a_router() {
    let (_router, address) = router();
    let reached = ["-m", "client", "-e", &address];
    let traces = ["trace", "--stack", "demo/*", "-n", "2", "--cfg", "id:'c2'"];
    let mut trace = Running::start(&zonda(), &[&traces, &reached[..]].concat());
    assert!(trace.error().starts_with("connected to router a1"));
    let put = |more: &[&str]| {
        let flags = ["put", "demo/a", "12345", "--cfg", "id:'c1'"];
        let ended = run(&zonda(), &[&flags, more, &reached].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.err);
    };
    put(&[]);
    assert!(trace.error().contains("without a time-stamp stack"));
    put(&["--stack"]);
    let head = trace.line();
    assert!(
        head.starts_with("PUT demo/a  5 B  c1 -> a1 -> c2  "),
        "{head}"
    );
    let rows: Vec<String> = (0..6).map(|_| trace.line()).collect();
    for (row, step) in rows[2..].iter().zip([
        "c1: from the application",
        "c1 -> a1",
        "a1 -> c2",
        "c2: to the application",
    ]) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert_eq!(cells[1], step);
        let took: f64 = cells[2].parse().expect("a number of microseconds");
        // one clock, that of this machine
        assert!((0.0..30e6).contains(&took), "{row}");
    }
    put(&["--stack"]);
    assert_eq!(trace.end().code(), Some(0));
    let text: Vec<String> = trace.lines.iter().collect();
    let summary = text.iter().position(|line| line == "2 messages");
    let last = text
        .iter()
        .rev()
        .find(|line| !line.is_empty())
        .expect("a line");
    assert!(summary.is_some() && last.starts_with("| all "), "{text:?}");
}

#[test]
fn a_stack_of_a_query_goes_there_and_back() {
    let (_router, address) = router();
    let reached = ["-m", "client", "-e", &address];
    let ask = [
        "trace", "--stack", "--ask", "demo/a", "--json", "--cfg", "id:'c2'",
    ];
    let ask = [&ask, &reached[..]].concat();
    let unanswered = run(&zonda(), &ask);
    assert_eq!(unanswered.code, Some(1));
    assert!(
        unanswered
            .err
            .contains("no queryable has answered on demo/a"),
        "{}",
        unanswered.err
    );

    let answers = ["queryable", "demo/a", "42", "--cfg", "id:'c1'"];
    let mut queryable = Running::start(&zonda(), &[&answers, &reached[..]].concat());
    assert!(queryable.error().starts_with("connected to router a1"));
    let ended = run(&zonda(), &[&ask[..], &["-n", "3"]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let lines: Vec<serde_json::Value> = ended
        .out
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 3);
    for line in &lines {
        assert_eq!(line["kind"], "REPLY");
        assert_eq!(line["stack"]["way"], "c2 -> a1 -> c1 -> a1 -> c2");
        assert_eq!(
            line["stack"]["records"].as_array().expect("records").len(),
            10
        );
        assert!(
            line["stack"]["took_us"]
                .as_f64()
                .is_some_and(|took| took > 0.0)
        );
    }
}
