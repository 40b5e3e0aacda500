// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda explain`: the way of a message over two routers, and each of the reasons that stop it.

use super::examples::free_address;
use super::program::{Ended, Running, run, zonda};

/// Rules of the second router.
const RULES: &str = "{enabled: true, default_permission: 'allow',
    rules: [{id: 'secret', permission: 'deny', messages: ['put'], flows: ['egress'], key_exprs: ['demo/secret']},
            {id: 'hidden', permission: 'deny', messages: ['declare_subscriber'], key_exprs: ['hidden/**']}],
    subjects: [{id: 'all'}], policies: [{rules: ['secret', 'hidden'], subjects: ['all']}]}";

/// Two linked routers `a1` and `b2`, a client `c1` at the first, and subscribers `c2` and `d3` at the
/// second.
struct Scene {
    address: String,
    _running: Vec<Running>,
}

fn scene() -> Scene {
    let rules = format!("access_control:{RULES}");
    let rate = "downsampling:[{messages: ['put'], flows: ['egress'], rules: [{key_expr: 'demo/slow', freq: 1}]}]";
    let quiet = "scouting/multicast/enabled:false";
    let router = |flags: &[&str]| {
        let begin = ["router", "--cfg", quiet, "-l"];
        Running::start(&zonda(), &[&begin[..], flags].concat())
    };
    let (one, two) = (free_address(), free_address());
    let mut first = router(&[&one, "--cfg", "id:'a1'"]);
    first.after("listening on ");
    let flags = [
        &two, "-e", &one, "--cfg", "id:'b2'", "--cfg", &rules, "--cfg", rate,
    ];
    let mut second = router(&flags);
    second.after("listening on ");
    let client = |begin: &[&str], address: &str, id: &str| {
        let flags = ["-m", "client", "-e", address, "--cfg", id];
        let mut client = Running::start(&zonda(), &[begin, &flags].concat());
        assert!(client.error().starts_with("connected to router "));
        client
    };
    let sender = client(&["sub", "idle"], &one, "id:'c1'");
    let subscriber = client(&["sub", "demo/*"], &two, "id:'c2'");
    let refused = client(&["sub", "hidden/x"], &two, "id:'d3'");
    Scene {
        address: one,
        _running: vec![first, second, sender, subscriber, refused],
    }
}

impl Scene {
    fn explained(&self, flags: &[&str]) -> Ended {
        let reached = ["-m", "client", "-e", &self.address];
        run(&zonda(), &[&["explain"][..], flags, &reached].concat())
    }

    /// Asks until the last line of the answer is this one.
    fn ends(&self, flags: &[&str], line: &str, code: i32) -> Ended {
        let begin = std::time::Instant::now();
        loop {
            let ended = self.explained(flags);
            if ended.out.lines().any(|one| one == line) {
                assert_eq!((ended.code, &*ended.err), (Some(code), ""), "{}", ended.out);
                return ended;
            }
            assert!(
                begin.elapsed() < super::program::DEADLINE,
                "{}{}",
                ended.out,
                ended.err
            );
        }
    }
}

#[test]
fn the_way_and_the_reasons_that_stop_a_message_are_told() {
    let scene = scene();
    let both = ["--from", "c1", "--to", "c2"];
    let ends = |key: &str, line: &str, code: i32| {
        scene.ends(&[&[key][..], &both].concat(), line, code).out
    };
    let way = ends("demo/a", "demo/a arrives at client c2", 0);
    let routers: Vec<_> = way
        .lines()
        .filter(|line| line.starts_with("router "))
        .collect();
    assert_eq!(
        routers,
        ["router a1 gets it from c1", "router b2 gets it from a1"]
    );
    let way = ends("demo/slow", "demo/slow arrives at client c2", 0);
    assert!(
        way.contains("at most 1 a second on demo/slow pass, by rule 1"),
        "{way}"
    );
    let line = "router b2 does not send it to client c2: access_control: denied by rule \"secret\" of policy \
                \"policy 1\" for subject \"all\"";
    ends("demo/secret", line, 1);
    let line = "router b2 has refused the subscriber hidden/x of d3: access_control: denied by rule \"hidden\" of \
                policy \"policy 1\" for subject \"all\"";
    scene.ends(&["hidden/x", "--from", "c1", "--to", "d3"], line, 1);
    let line = "c2 has declared no subscriber to router b2 that matches demos/a";
    let way = ends("demos/a", line, 1);
    assert!(
        way.ends_with("the most similar subscriber: demo/*"),
        "{way}"
    );
    // Without a destination all receivers are named; without a sender it is this program.
    scene.ends(&["demo/a"], "demo/a arrives at client c2", 0);
    scene.ends(
        &["other"],
        "router a1 has no subscriber that matches other",
        1,
    );
    scene.ends(
        &["demo/a", "--from", "c1", "--to", "dead"],
        "dead is connected to no router that answers",
        1,
    );
    let told = scene.explained(&["demo/a", "--from", "c1", "--to", "c2", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&told.out).expect("JSON");
    assert_eq!(told["arrives"], true);
    assert_eq!(told["path"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_query_goes_to_queryables() {
    let address = free_address();
    let mut router = Running::start(&zonda(), &["router", "-l", &address, "--cfg", "id:'a1'"]);
    router.after("listening on ");
    let reached = ["-m", "client", "-e", &address];
    let flags = [
        &["queryable", "demo/answer", "42", "--cfg", "id:'d4'"][..],
        &reached,
    ]
    .concat();
    let mut queryable = Running::start(&zonda(), &flags);
    assert!(queryable.error().starts_with("connected to router "));
    let scene = Scene {
        address: address.clone(),
        _running: vec![router, queryable],
    };
    let query = ["demo/**", "--kind", "query", "--to", "d4"];
    scene.ends(&query, "demo/** arrives at client d4", 0);
    let put = ["demo/answer", "--to", "d4"];
    scene.ends(
        &put,
        "d4 has declared no subscriber to router a1 that matches demo/answer",
        1,
    );
}
