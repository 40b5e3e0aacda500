// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of `zonda acl`: decisions about messages, and the rules that a router enforces.

use std::path::PathBuf;

use super::program::{run, zonda};

const PARTS: &str = "{access_control: {enabled: true,
    rules: [
        {id: 'data', permission: 'allow', messages: ['put', 'declare_subscriber'], key_exprs: ['demo/**']},
        {id: 'secret', permission: 'deny', messages: ['put'], flows: ['egress'], key_exprs: ['demo/secret']}],
    subjects: [{id: 's', usernames: ['u1']}],
    policies: [{id: 'p', rules: ['data', 'secret'], subjects: ['s']}]}}";

/// File that is removed with the value.
pub struct File(pub PathBuf);

impl File {
    pub fn new(name: &str, text: &str) -> File {
        let name = format!("zonda-acl-{name}-{}.json5", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).expect("a folder for temporary files");
        File(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // a file that stays does no harm
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Returns the exit code and the output of `zonda acl test`.
fn test(file: &File, arguments: &[&str]) -> (Option<i32>, String, String) {
    let path = file.0.to_str().expect("text");
    let ended = run(&zonda(), &[&["acl", "test", path], arguments].concat());
    (ended.code, ended.out, ended.err)
}

#[test]
fn a_decision_names_rule_policy_and_subject() {
    let file = File::new("decision", PARTS);
    let (code, out, _) = test(&file, &["--user", "u1", "put", "demo/secret"]);
    assert_eq!(code, Some(1));
    assert_eq!(
        out,
        "ingress: allowed by rule \"data\" of policy \"p\" for subject \"s\"\n\
         \x20 subjects of the neighbour: \"s\"\n\
         egress: denied by rule \"secret\" of policy \"p\" for subject \"s\"\n\
         \x20 subjects of the neighbour: \"s\"\n\
         \x20 a denial wins over the other rights of the same subjects: take put or the key out of \"secret\""
    );
    let allowed = ["--user", "u1", "--flow", "ingress", "put", "demo/secret"];
    assert_eq!(test(&file, &allowed).0, Some(0));
    let (code, out, _) = test(&file, &["--flow", "ingress", "--json", "put", "demo/a"]);
    assert_eq!(code, Some(1));
    let line: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(line["allowed"], false);
    let hint = line["hints"][0].as_str().expect("a hint");
    assert!(
        hint.contains("\"s\" would, but for its usernames"),
        "{hint}"
    );
}

#[test]
fn a_bad_call_or_file_is_an_error_in_one_line() {
    let good = File::new("good", PARTS);
    let off = File::new("off", "{mode: 'router'}");
    let wrong = File::new("wrong", "{access_control: {enabled: true}}");
    for (file, arguments, said) in [
        (&off, &["put", "a"], "access_control/enabled is not true"),
        (&wrong, &["put", "a"], "a list of rules"),
        (&good, &["publish", "a"], "it is none of put, delete"),
        (&good, &["put", "a//b"], "a//b"),
    ] {
        let (code, _, error) = test(file, arguments);
        assert_eq!(code, Some(2), "{error}");
        assert!(error.contains(said), "{error}");
    }
    let missing = File(PathBuf::from("no-such-file.json5"));
    let (code, _, error) = test(&missing, &["put", "a"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("no-such-file.json5"), "{error}");
}

/// The key of the topic `/chatter` as rmw_zenoh makes it.
const CHATTER: &str = "0/chatter/std_msgs::msg::dds_::String_/RIHS01_df66";

#[test]
fn a_ros_2_node_gets_the_rights_of_what_it_does_and_no_others() {
    let flags = [
        "--node",
        "/robot/talker",
        "--domain",
        "0",
        "--publishes",
        "/chatter",
        "--acts",
        "move",
        "--user",
        "u1",
    ];
    let ended = run(&zonda(), &[&["acl", "ros2"][..], &flags].concat());
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let file = File::new("ros2", &ended.out);
    let path = file.0.to_str().expect("text");
    let checked = run(&zonda(), &["router", "-c", path, "--check-config"]);
    assert_eq!((checked.code, checked.err.as_str()), (Some(0), ""));
    let goal = "0/robot/move/_action/send_goal/tutorial::action::dds_::Move_SendGoal_/RIHS01_a1";
    let cache = format!("{CHATTER}/@adv/pub/a1/7/_");
    let graph = "@ros2_lv/0/a1/0/0/NN/%/%robot/talker";
    for (flow, kind, key, allowed) in [
        ("ingress", "put", CHATTER, true),
        ("egress", "declare_subscriber", CHATTER, true),
        ("egress", "put", CHATTER, false),
        ("ingress", "declare_subscriber", CHATTER, false),
        ("ingress", "declare_queryable", &*cache, true),
        ("ingress", "query", &*cache, false),
        ("ingress", "declare_queryable", goal, true),
        ("egress", "query", goal, true),
        ("ingress", "query", goal, false),
        (
            "ingress",
            "put",
            "0/rosout/rcl_interfaces::msg::dds_::Log_/RIHS01_1",
            true,
        ),
        (
            "ingress",
            "put",
            "1/chatter/std_msgs::msg::dds_::String_/RIHS01_df66",
            false,
        ),
        ("ingress", "liveliness_token", graph, true),
        ("egress", "liveliness_token", graph, true),
    ] {
        let (code, out, _) = test(&file, &["--user", "u1", "--flow", flow, kind, key]);
        assert_eq!(
            code,
            Some(i32::from(!allowed)),
            "{flow} {kind} {key}: {out}"
        );
    }
    // A second user does not have them.
    assert_eq!(
        test(
            &file,
            &["--user", "u2", "--flow", "ingress", "put", CHATTER]
        )
        .0,
        Some(1)
    );
}

#[test]
fn a_wrong_name_of_ros_2_is_one_line() {
    for (flags, fault) in [
        (
            &["--node", "/talker", "--publishes", "/a*"][..],
            "is no name of ROS 2",
        ),
        (&["--node", "talker/"], "expected the full name of a node"),
        (&["--node", "/talker", "--domain", "233"], "0..=232"),
    ] {
        let ended = run(&zonda(), &[&["acl", "ros2"][..], flags].concat());
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{flags:?}");
        assert!(ended.err.contains(fault), "{}", ended.err);
        assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
    }
    // A warning says that the rules are for every neighbour.
    let ended = run(&zonda(), &["acl", "ros2", "--node", "/talker", "--minimal"]);
    assert_eq!(ended.code, Some(0));
    assert!(
        ended
            .err
            .starts_with("warning: the rules are for every neighbour"),
        "{}",
        ended.err
    );
}
