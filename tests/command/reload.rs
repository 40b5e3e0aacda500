// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda reload`: rules of a file that a running router takes over.

use super::acl::File;
use super::examples::free_address;
use super::program::{Ended, Running, run, zonda};

const LIMIT: &str = "[{size_limit: 9, flows: ['ingress'], messages: ['put'], key_exprs: ['a']}]";

/// A router `a1`, and a file of rules.
struct Scene {
    address: String,
    file: File,
    _router: Running,
}

impl Scene {
    fn new(name: &str, writable: bool) -> Scene {
        let address = free_address();
        let right = format!("adminspace/permissions/write:{writable}");
        let flags = [
            "router", "-l", &address, "--cfg", "id:'a1'", "--cfg", &right,
        ];
        let mut router = Running::start(&zonda(), &flags);
        router.after("listening on ");
        Scene {
            address,
            file: File::new(name, "{}"),
            _router: router,
        }
    }

    /// Gives the router a file with this text.
    fn reload(&self, text: &str, flags: &[&str]) -> Ended {
        std::fs::write(&self.file.0, text).expect("it is written");
        let path = self.file.0.to_str().expect("text");
        let begin = ["reload", path, "-m", "client", "-e", &self.address];
        run(&zonda(), &[&begin[..], flags].concat())
    }

    /// Returns the value of a key in force.
    fn value(&self, path: &str) -> String {
        let key = format!("@/a1/router/config/{path}");
        let flags = ["get", &key, "--raw", "-m", "client", "-e", &self.address];
        run(&zonda(), &flags).out
    }
}

#[test]
fn without_the_right_and_with_a_faulty_file_nothing_changes() {
    let scene = Scene::new("closed", false);
    let ended = scene.reload(
        &format!("{{mode: 'router', low_pass_filter: {LIMIT}}}"),
        &[],
    );
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""));
    for part in [
        "router a1 refuses the rules: ",
        "adminspace/permissions/write is false",
    ] {
        assert!(ended.err.contains(part), "{}", ended.err);
    }
    let ended = scene.reload("{low_pass_filter: [{}]}", &[]);
    assert_eq!(
        (ended.code, ended.err.lines().count()),
        (Some(2), 1),
        "{}",
        ended.err
    );
    assert_eq!(scene.value("low_pass_filter"), "[]");
}

#[test]
fn a_running_router_takes_over_the_rules_of_a_file() {
    let scene = Scene::new("open", true);
    let text = format!("{{mode: 'router', low_pass_filter: {LIMIT}}}");
    let ended = scene.reload(&text, &[]);
    assert_eq!(
        ended.out, "router a1: in force now: low_pass_filter",
        "{}",
        ended.err
    );
    let value = scene.value("low_pass_filter");
    assert!(value.contains("\"size_limit\":9"), "{value}");
    let ended = scene.reload(&text, &[]);
    assert!(
        ended.out.starts_with("router a1: nothing has changed"),
        "{}",
        ended.out
    );
    // Rules that the file no longer has are not in force.
    let ended = scene.reload("{}", &[]);
    assert_eq!(
        ended.out, "router a1: in force now: low_pass_filter",
        "{}",
        ended.err
    );
    assert_eq!(scene.value("low_pass_filter"), "[]");
}

#[test]
fn a_file_without_access_control_does_not_switch_it_off_by_accident() {
    let scene = Scene::new("access", true);
    let rules = "{access_control: {enabled: true, default_permission: 'allow', rules: [], subjects: [], policies: []}}";
    let ended = scene.reload(rules, &[]);
    assert!(
        ended.out.contains("access_control/enabled"),
        "{}{}",
        ended.out,
        ended.err
    );
    let ended = scene.reload("{}", &[]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""));
    assert!(
        ended.err.contains("--without-access-control"),
        "{}",
        ended.err
    );
    assert_eq!(scene.value("access_control/enabled"), "true");
    assert_eq!(
        scene.reload("{}", &["--without-access-control"]).code,
        Some(0)
    );
    assert_eq!(scene.value("access_control/enabled"), "false");
}
