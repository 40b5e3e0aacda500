// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of `--json` of the tools that publish, query and watch: an object on each line, and a
//! silent end when the reader has left.

use std::time::Instant;

use serde_json::Value;
use zonda::{Config, Session, Wait};

#[cfg(target_os = "linux")]
use super::program::run_full;
use super::program::{DEADLINE, Running, run, run_unread, zonda};

/// Tools, each with arguments that make it print messages.
const TOOLS: [&str; 8] = [
    "sub -k all/**",
    "pub -k all/a -p b --interval 0",
    "put -k all/a -p b",
    "delete -k all/a",
    "get -s all/*",
    "queryable -k other/** -p b",
    "live --history -k all/*",
    "live --get -k all/*",
];

/// Opens a session with a queryable and a token; returns it with its endpoint.
fn neighbour() -> (Session, String) {
    let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"]));
    let session = session.wait().expect("a peer opens");
    let answering = session
        .declare_queryable("all/**")
        .callback(|query| drop(query.reply("all/x", "found").wait()));
    answering.background().wait().expect("declared");
    let address = session.info().locators().remove(0).to_string();
    (session, address)
}

fn words<'a>(tool: &'a str, more: &'a str, address: &'a str) -> Vec<&'a str> {
    let connection = ["--json", "-m", "client", "-e", address];
    let words = tool.split(' ').chain(more.split_whitespace());
    words.chain(connection).collect()
}

fn is_an_object(line: &str) -> bool {
    serde_json::from_str(line).is_ok_and(|line: Value| line.is_object())
}

#[test]
fn each_line_is_an_object() {
    let (session, address) = neighbour();
    let _token = session.liveliness().declare_token("all/t").wait();
    for (tool, more, count) in [
        (TOOLS[1], "-n 3", 3),
        (TOOLS[2], "", 1),
        (TOOLS[3], "", 1),
        (TOOLS[4], "", 1),
        (TOOLS[6], "-n 1", 2),
        (TOOLS[7], "", 1),
    ] {
        let ended = run(&zonda(), &words(tool, more, &address));
        assert_eq!((ended.code, &*ended.err), (Some(0), ""), "{tool}");
        let lines: Vec<&str> = ended.out.lines().collect();
        assert_eq!(lines.len(), count, "{tool}: {lines:?}");
        assert!(lines.iter().all(|line| is_an_object(line)), "{lines:?}");
    }
    for tool in [TOOLS[0], TOOLS[5]] {
        let mut running = Running::start(&zonda(), &words(tool, "-n 1", &address));
        assert!(is_an_object(&running.line()), "it is ready");
        let publisher = session.declare_publisher("all/a").wait().expect("declared");
        let querier = session.declare_querier("other/a").wait().expect("declared");
        let begin = Instant::now();
        let line = loop {
            publisher.put("b").wait().expect("it is open");
            let replies = querier.get().wait().expect("it is open");
            replies.iter().for_each(drop);
            if let Ok(line) = running.lines.try_recv() {
                break line;
            }
            assert!(begin.elapsed() < DEADLINE, "{tool} prints nothing");
        };
        assert!(is_an_object(&line), "{line}");
        assert_eq!(running.end().code(), Some(0), "{tool}");
    }
}

#[test]
fn a_pipe_that_nobody_reads_ends_each_tool_quietly() {
    let (session, address) = neighbour();
    let _token = session.liveliness().declare_token("all/t").wait();
    for tool in TOOLS {
        let ended = run_unread(&zonda(), &words(tool, "", &address));
        assert_eq!((ended.code, &*ended.err), (Some(0), ""), "{tool}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_each_tool_with_one_line() {
    let (session, address) = neighbour();
    let _token = session.liveliness().declare_token("all/t").wait();
    let client = ["-e", &address, "-m", "client"];
    let tools = TOOLS.iter().map(|tool| words(tool, "", &address));
    let others = ["info", "record"].map(|tool| [&[tool], &client[..]].concat());
    let router = vec!["router", "-l", "tcp/127.0.0.1:0"];
    let help = vec!["--help"];
    for arguments in tools.chain(others).chain([router, help]) {
        let ended = run_full(&zonda(), &arguments);
        let line = "error: cannot write to standard output: No space left on device (os error 28)";
        let said = ended.err.lines().filter(|line| line.starts_with("error: "));
        assert_eq!(
            (ended.code, said.collect::<Vec<_>>()),
            (Some(1), vec![line]),
            "{arguments:?}: {ended:?}"
        );
    }
}
