// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda top`: the table of a router's neighbours, and the line that names a slow one.

use serde_json::Value;

use super::examples::{free_address, router};
use super::program::{Running, run, zonda};

#[test]
fn one_table_has_a_row_for_each_neighbour_but_the_program() {
    let (_router, address) = router();
    let reached = ["-m", "client", "-e", &address];
    let mut sub = Running::start(
        &zonda(),
        &[&["sub", "demo/t", "--cfg", "id:'ab12'"][..], &reached].concat(),
    );
    assert!(sub.error().starts_with("connected to router "));
    let once = ["top", "--once", "--interval", "0.1"];
    let ended = run(&zonda(), &[&once[..], &reached].concat());
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let lines: Vec<&str> = ended.out.lines().collect();
    assert!(lines[0].starts_with("router "), "{}", ended.out);
    assert_eq!(lines.len(), 4, "{}", ended.out);
    assert!(lines[3].starts_with("| ab12 "), "{}", ended.out);

    let ended = run(&zonda(), &[&once[..], &["--json"], &reached].concat());
    let told: Value = serde_json::from_str(&ended.out).expect("JSON");
    assert_eq!(told["neighbours"][0]["zid"], "ab12");
    let ended = run(&zonda(), &[&once[..], &["--why"], &reached].concat());
    assert_eq!(ended.out, "nothing stalls");
}

#[test]
fn without_a_router_it_is_one_line_and_exit_code_1() {
    let nobody = free_address();
    let (_router, address) = router();
    for flags in [
        &["-m", "client", "-e", &nobody][..],
        &["-m", "client", "-e", &address, "--router", "dead"],
    ] {
        let ended = run(&zonda(), &[&["top", "--once"], flags].concat());
        assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""));
        assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
    }
}

/// A subscriber that is stopped while messages come is named, while it stalls or once it is closed.
#[cfg(unix)]
#[test]
fn a_slow_consumer_is_named() {
    use std::io::Write;
    use std::time::Instant;

    use super::program::DEADLINE;

    let backlog = "isolation/backlog_bytes:65536";
    let arguments = ["router", "-l", "tcp/127.0.0.1:0", "--cfg", backlog];
    let mut router = Running::start(&zonda(), &arguments);
    let address = router.after("listening on ");
    let reached = ["-m", "client", "-e", &address];
    let mut sub = Running::start(
        &zonda(),
        &[&["sub", "demo/t", "--cfg", "id:'ab12'"][..], &reached].concat(),
    );
    assert!(sub.error().starts_with("connected to router "));
    let mut publisher = Running::start(&zonda(), &[&["pub", "demo/t"][..], &reached].concat());
    let mut input = publisher.input.take().expect("it is piped");
    input.write_all(b"first\n").expect("it reads");
    assert_eq!(sub.line(), "PUT demo/t: first");
    sub.signal("STOP");
    // Ends with an error when the publisher is dropped.
    std::thread::spawn(move || {
        let line = [&[b'x'; 4000][..], b"\n"].concat();
        while input.write_all(&line).is_ok() {}
    });

    let begin = Instant::now();
    let why = ["top", "--once", "--why", "--interval", "0.3"];
    loop {
        let ended = run(&zonda(), &[&why[..], &reached].concat());
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
        if ended.out.contains("client ab12 at tcp/127.0.0.1:")
            || ended.out.contains("slow consumer ab12 was closed ")
        {
            assert_eq!(ended.out.lines().count(), 1, "{}", ended.out);
            return;
        }
        assert!(begin.elapsed() < DEADLINE, "{}", ended.out);
    }
}
