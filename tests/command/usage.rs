// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of help, bad usage, and failures: exit codes and single lines.

use std::net::{Ipv4Addr, TcpListener};

use super::program::{example, run, run_unread, zonda};

const TOOLS: [&str; 12] = [
    "router",
    "sub",
    "pub",
    "put",
    "delete",
    "get",
    "queryable",
    "info",
    "live",
    "scout",
    "bench",
    "perf",
];
const EXAMPLES: [&str; 11] = [
    "pub_thr",
    "sub_thr",
    "ping",
    "pong",
    "pub",
    "sub",
    "put",
    "delete",
    "get",
    "queryable",
    "querier",
];

#[test]
fn help_is_there_for_everything() {
    for tool in TOOLS {
        let shown = run(&zonda(), &[tool, "--help"]);
        assert_eq!(shown.code, Some(0), "{tool}");
        assert!(shown.out.contains("Usage: zonda"), "{tool}: {}", shown.out);
        let teaches = tool == "perf" || shown.out.contains("\nExample");
        assert!(teaches, "{tool}: {}", shown.out);
        let says_how_it_ends = tool == "perf" || shown.out.contains("Exit code: 0");
        assert!(says_how_it_ends, "{tool}: {}", shown.out);
        assert_eq!(shown.err, "");
    }
    let overview = run(&zonda(), &["--help"]);
    for tool in TOOLS {
        assert!(
            overview.out.contains(&format!("\n  {tool} ")),
            "{tool} is missing"
        );
    }
    for name in EXAMPLES {
        let shown = run(&example(name), &["--help"]);
        assert_eq!(shown.code, Some(0), "{name}");
        assert!(
            shown.out.contains("--no-multicast-scouting"),
            "{name}: {}",
            shown.out
        );
    }
}

#[test]
fn what_is_needed_is_shown_as_needed() {
    for (tool, needed) in [
        ("pub", "KEY [VALUE]"),
        ("put", "KEY VALUE"),
        ("delete", "KEY"),
        ("get", "SELECTOR"),
        ("queryable", "KEY VALUE"),
    ] {
        let shown = run(&zonda(), &[tool, "-h"]);
        let usage = format!("Usage: zonda {tool} [OPTIONS] {needed}\n");
        assert!(shown.out.contains(&usage), "{tool}: {}", shown.out);
    }
    let shown = run(&zonda(), &["pub", "-h"]);
    assert!(shown.out.contains("-i, --interval"), "{}", shown.out);
}

#[test]
fn log_lines_in_a_file_have_no_colours() {
    let unknown = ["--cfg", "transport/link/tx/threads:3"];
    let listening = [&["info", "-l", "tcp/127.0.0.1:0"][..], &unknown].concat();
    let ended = run(&zonda(), &listening);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.err.contains("has no effect"), "{}", ended.err);
    assert!(!ended.err.contains('\x1b'), "{:?}", ended.err);
    let quiet = run(&zonda(), &[&listening[..], &["-q"]].concat());
    assert_eq!((quiet.code, quiet.err.as_str()), (Some(0), ""));
}

#[test]
fn nothing_asked_shows_the_help_as_an_error() {
    let shown = run(&zonda(), &[]);
    assert_eq!(shown.code, Some(2));
    assert!(shown.err.contains("perf quick"), "{}", shown.err);
}

fn refused(shown: &super::program::Ended, code: i32, words: &str) {
    assert_eq!(shown.code, Some(code), "{shown:?}");
    assert!(
        shown.err.starts_with("error: ") && shown.err.contains(words),
        "{shown:?}"
    );
    let hints = shown.err.lines().filter(|line| line.starts_with("hint: "));
    assert!(shown.err.lines().count() - hints.count() == 1, "{shown:?}");
    assert_eq!(shown.out, "", "{shown:?}");
}

#[test]
fn bad_usage_is_one_line_and_exit_code_two() {
    for (arguments, words) in [
        ("bogus", "bogus"),
        ("sub --key", "--key"),
        ("sub --keyy a", "--key"),
        ("sub -k a//b", "a//b"),
        ("sub -k a/$*b*", "a/$*b*"),
        ("put -k a", "by -p"),
        ("put -k a -p b --priority 0", "--priority"),
        ("put -k a -p b -e 127.0.0.1:7447", "127.0.0.1:7447"),
        ("put -k a -p b -e tcp/127.0.0.1", "--connect"),
        ("put -k a -p b -e tcp/127.0.0.1", "has no port"),
        ("pub -k a -e tcp/127.0.0.1:x", "0..=65535"),
        ("sub -l tcp/::1:7447", "without brackets"),
        ("sub -l tcp/[::]:0#so_sndbuf=many", "so_sndbuf=many"),
        ("sub -e tcp/[::1]:7447#exit_on_failure=x", "exit_on_failure"),
        ("sub --cfg listen/endpoints:['tcp/h']", "listen/endpoints"),
        ("put -k a -p b -m boss", "boss"),
        ("put -k a -p b --runtime none", "none"),
        ("put -k a -p b --cfg nonsense", "key/path:value"),
        (
            "put -k a -p b --cfg conect/endpoints:[]",
            "connect/endpoints",
        ),
        ("put -k a -p b -c /no/such/file", "/no/such/file"),
        ("put -k a -p b -m client", "connect"),
        ("get -s a//b?x", "a//b"),
        ("get -s a --target some", "all-complete"),
        ("get -s a --consolidation some", "monotonic"),
        ("get -s a --timeout x", "--timeout"),
        ("get -p b", "by -s"),
        ("queryable -k a", "by -p"),
        ("queryable -k a//b -p c", "a//b"),
        ("router -l nonsense", "nonsense"),
        ("router -l tcp/127.0.0.1", "--listen"),
        ("router -e tcp/127.0.0.1", "has no port"),
        ("router -i xyz", "xyz"),
        ("router --cfg mode:7", "mode"),
        ("router --adminspace-permissions x", "x"),
        ("perf quick --rounds 0", "--rounds"),
        ("perf quick --seconds x", "--seconds"),
        ("perf quick --only nothing", "nothing"),
        ("perf quick --with-zenoh /no/such/folder", "/no/such/folder"),
        ("perf bare-pub 8", "--connect"),
    ] {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        refused(&run(&zonda(), &arguments), 2, words);
    }
}

#[test]
fn what_can_never_work_is_bad_usage() {
    for (arguments, words) in [
        (
            "sub -e http/127.0.0.1:1",
            "is http/127.0.0.1:1, expected one of the protocols",
        ),
        (
            "put -k a -p b -e http/h:1",
            "--connect: `connect/endpoints`",
        ),
        (
            "queryable a b -l pigeon/roof",
            "--listen: `listen/endpoints`",
        ),
        ("router -e http/h:1", "tcp, "),
        (
            "router --cfg access_control/enabled:true",
            "`access_control/rules` is absent",
        ),
        (
            "router --cfg runtime_cpus:[9999]",
            "cpu 9999 does not exist",
        ),
        (
            "router --cfg mode:7 --cfg id:'x'",
            "(and 1 more: --check-config lists them)",
        ),
        ("perf quick --seconds 0", "no time"),
        ("perf quick --runtime foo", "compiled in"),
        ("perf scale --runtime foo", "compiled in"),
        ("scout -e tcp/127.0.0.1:7447", "leave out -e and -l"),
        ("scout -l tcp/127.0.0.1:0", "leave out -e and -l"),
    ] {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        refused(&run(&zonda(), &arguments), 2, words);
    }
}

#[test]
fn examples_refuse_in_one_line_too() {
    for (name, arguments, words) in [
        ("pub_thr", "", "SIZE"),
        ("pub_thr", "8 -p 9", "--priority"),
        ("pub_thr", "8 -e nonsense", "nonsense"),
        ("sub_thr", "-n 0", "--number"),
        ("sub_thr", "-l tcp/127.0.0.1", "has no port"),
        ("put", "-e tcp/127.0.0.1", "--connect"),
        ("ping", "64 -w x", "--warmup"),
        ("pub", "-k /a", "/a"),
        ("put", "--cfg a", "--cfg"),
        ("get", "-s a//b", "a//b"),
        ("get", "-t some", "expected best"),
        ("querier", "-o x", "--timeout"),
        ("queryable", "-k /a", "/a"),
        ("sub", "-e http/h:1", "expected one of the protocols"),
    ] {
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        refused(&run(&example(name), &arguments), 2, words);
    }
}

#[test]
fn a_malformed_endpoint_in_a_file_is_told_with_its_key() {
    let file = std::env::temp_dir().join(format!("zonda-usage-{}.json5", std::process::id()));
    std::fs::write(
        &file,
        "{\n  connect: {\n    endpoints: [\"tcp/127.0.0.1\"] } }",
    )
    .expect("written");
    let name = file.to_str().expect("a plain name");
    for words in ["line 3: `connect/endpoints`", "has no port", name] {
        refused(&run(&zonda(), &["router", "-c", name]), 2, words);
        refused(&run(&zonda(), &["sub", "-c", name]), 2, words);
        refused(&run(&example("sub"), &["-c", name]), 2, words);
    }
    std::fs::remove_file(&file).expect("it was there");
}

#[test]
fn failures_at_run_time_are_one_line_and_exit_code_one() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind");
    let taken = format!("tcp/{}", listener.local_addr().expect("address"));
    refused(&run(&zonda(), &["sub", "-l", &taken]), 1, &taken);
    drop(listener);
    let arguments = ["put", "-k", "a", "-p", "b", "-m", "client", "-e", &taken];
    refused(&run(&zonda(), &arguments), 1, &taken);
    let arguments = ["perf", "quick", "--json", "/no/such/folder/file"];
    refused(&run(&zonda(), &arguments), 1, "/no/such/folder/file");
}

#[test]
fn a_closed_pipe_ends_programs_quietly() {
    for arguments in [
        ["info", "--json"],
        ["--help", "--help"],
        ["router", "--check-config"],
    ] {
        let ended = run_unread(&zonda(), &arguments);
        assert_eq!(
            (ended.code, ended.err.as_str()),
            (Some(0), ""),
            "{arguments:?}"
        );
    }
    let ended = run_unread(&example("put"), &["-l", "tcp/127.0.0.1:0"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
}

#[test]
fn a_slip_in_an_option_is_seen_through() {
    let ended = run(&zonda(), &["sub", "--kye", "a"]);
    assert_eq!(ended.code, Some(2));
    let said = "error: unexpected argument '--kye' found\nhint: did you mean '--key'?";
    assert_eq!(ended.err, said);
}

#[test]
fn hidden_commands_are_not_proposed() {
    for (word, hidden) in [("latency", "lat-one-way"), ("runtime", "'router'")] {
        let ended = run(&zonda(), &["perf", word]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(!ended.err.contains(hidden), "{ended:?}");
    }
    let listed = run(&zonda(), &["perf", "quick", "--list"]);
    assert!(listed.out.contains("8B"), "{listed:?}");
    let listed = run(&zonda(), &["perf", "links", "--list"]);
    assert!(
        listed.code == Some(0) && !listed.out.contains("(0 s)"),
        "{listed:?}"
    );
}

#[test]
fn examples_have_their_comments_above() {
    let shown = run(&zonda(), &["perf", "--help"]);
    let at = shown.out.find("# start here").expect("a comment");
    assert!(
        shown.out[at..].contains("\n  zonda perf quick\n"),
        "{shown:?}"
    );
    let (short, long) = (
        run(&zonda(), &["sub", "-h"]),
        run(&zonda(), &["sub", "--help"]),
    );
    assert!(!short.out.contains("--print-config") && long.out.contains("--print-config"));
}
