// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda reload`: rules of a file that a running router takes over.

use super::acl::File;
use super::examples::free_address;
use super::program::{Running, run, zonda};

#[test]
fn a_running_router_takes_over_the_rules_of_a_file() {
    let file = File::new("reload", "{}");
    let path = file.0.to_str().expect("text");
    let given = |text: &str| std::fs::write(&file.0, text).expect("it is written");
    let address = free_address();
    let start = |writable: &str| {
        let flags = [
            "router", "-l", &address, "--cfg", "id:'a1'", "--cfg", writable,
        ];
        let mut router = Running::start(&zonda(), &flags);
        router.after("listening on ");
        router
    };
    let reload = || run(&zonda(), &["reload", path, "-m", "client", "-e", &address]);
    let key = |path: &str| {
        let key = format!("@/a1/router/config/{path}");
        run(
            &zonda(),
            &["get", &key, "--raw", "-m", "client", "-e", &address],
        )
        .out
    };

    // Without the right, and with a faulty file, nothing changes.
    let closed = start("adminspace/permissions/write:false");
    let limit = "[{size_limit: 9, flows: ['ingress'], messages: ['put'], key_exprs: ['a']}]";
    given(&format!("{{mode: 'router', low_pass_filter: {limit}}}"));
    let ended = reload();
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""));
    assert!(
        ended.err.contains("router a1 refuses the rules: "),
        "{}",
        ended.err
    );
    assert!(
        ended.err.contains("adminspace/permissions/write is false"),
        "{}",
        ended.err
    );
    given("{low_pass_filter: [{}]}");
    let ended = reload();
    assert_eq!(
        (ended.code, ended.err.lines().count()),
        (Some(2), 1),
        "{}",
        ended.err
    );
    drop(closed);

    // With it, the file's rules are in force, and those that it no longer has are not.
    let _open = start("adminspace/permissions/write:true");
    given(&format!("{{mode: 'router', low_pass_filter: {limit}}}"));
    assert_eq!(reload().out, "router a1: in force now: low_pass_filter");
    assert!(
        key("low_pass_filter").contains("\"size_limit\":9"),
        "{}",
        key("low_pass_filter")
    );
    let ended = reload();
    assert!(
        ended.out.starts_with("router a1: nothing has changed"),
        "{}",
        ended.out
    );
    given("{}");
    assert_eq!(reload().out, "router a1: in force now: low_pass_filter");
    assert_eq!(key("low_pass_filter"), "[]");
}
