// SPDX-License-Identifier: MIT OR Apache-2.0

//! The admin space as sessions read it: each key, its encoding and the form of its value.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::{Value, json};
use zonda::query::QueryTarget;
use zonda::{Config, Session, Wait};

use crate::pair::{LONG, connected_to, until};

/// A value of the admin space.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Told {
    encoding: String,
    text: String,
}

impl Told {
    fn json(&self) -> Value {
        assert_eq!(self.encoding, "application/json", "{self:?}");
        serde_json::from_str(&self.text).expect("JSON")
    }
}

fn opened(config: Config) -> Session {
    zonda::open(config).wait().expect("it opens")
}

/// Opens a router as `zondad` does, with this id.
fn router(zid: &str) -> Config {
    let config = Config::router().listen(["tcp/127.0.0.1:0"]);
    let config = config.with("id", &format!("'{zid}'"));
    config.with("adminspace/enabled", "true")
}

fn client(zid: &str) -> Config {
    Config::client([] as [&str; 0]).with("id", &format!("'{zid}'"))
}

/// Returns all replies by their keys.
fn asked(session: &Session, selector: &str) -> BTreeMap<String, Told> {
    let get = session.get(selector).target(QueryTarget::All);
    let replies = get.timeout(LONG).wait().expect("a selector");
    let mut all = BTreeMap::new();
    while let Ok(reply) = replies.recv() {
        let sample = reply.result().expect("no error");
        let told = Told {
            encoding: sample.encoding().to_string(),
            text: String::from_utf8(sample.payload().to_bytes().into_owned()).expect("a text"),
        };
        let known = all.insert(sample.key_expr().to_string(), told);
        assert_eq!(known, None, "{} twice", sample.key_expr());
    }
    all
}

fn keys(session: &Session, selector: &str) -> Vec<String> {
    asked(session, selector).into_keys().collect()
}

fn one(session: &Session, key: &str) -> Told {
    let all = asked(session, key);
    assert_eq!(all.keys().collect::<Vec<_>>(), [key]);
    all.into_values().next().expect("one")
}

/// True if nodes of this build share memory within a host.
const SHARES_MEMORY: bool = cfg!(all(feature = "shm", target_os = "linux"));

#[test]
fn the_root_counts_what_was_sent_and_received_for_those_who_ask() {
    let first = opened(router("a1"));
    let asker = connected_to(&first, client("c3"));
    let gone = connected_to(&first, client("c4"));
    gone.close().wait().expect("it closes");
    until("it is gone", || first.info().links().len() == 1);
    let root = || {
        let told = asked(&asker, "@/a1/router?_stats=true");
        told.get("@/a1/router").map(Told::json).expect("the root")
    };
    let count = |stats: &Value, name: &str| match &stats[name] {
        Value::Object(kinds) => kinds["net"].as_u64(),
        number => number.as_u64(),
    };
    // The text may be one of a moment ago.
    until("both directions are counted", || {
        let root = root();
        let stats = &root["sessions"][0]["stats"];
        [
            "rx_bytes",
            "tx_bytes",
            "rx_t_msgs",
            "rx_n_msgs",
            "tx_n_msgs",
        ]
        .iter()
        .all(|name| count(stats, name) > Some(0))
    });
    let root = root();
    let (all, one) = (&root["stats"], &root["sessions"][0]["stats"]);
    // The Close of the client that is gone counts, too.
    assert!(count(all, "rx_t_msgs") > count(one, "rx_t_msgs"), "{root}");
    assert_eq!(count(all, "tx_n_dropped"), Some(0));
    let brief = self::one(&asker, "@/a1/router").json();
    assert_eq!(
        (&brief["stats"], &brief["sessions"][0]["stats"]),
        (&Value::Null, &Value::Null)
    );
}

#[test]
fn the_root_has_the_members_of_the_reference() {
    let weights = "[{dst_zid: 'b2', weight: 7}]";
    let first = router("a1")
        .with("metadata", "{room: 'kitchen', private: 'hunter2'}")
        .with("routing/router/linkstate/transport_weights", weights);
    let first = opened(first);
    let second = connected_to(&first, router("b2"));
    let asker = connected_to(&first, client("c3"));
    let peer = connected_to(
        &first,
        Config::peer().with("id", "'d4'").listen([] as [&str; 0]),
    );
    let is_weighed = |root: &Value| root["sessions"][0]["weight"].is_object();
    until("all sessions are there", || {
        let root = one(&asker, "@/a1/router").json();
        root["sessions"].as_array().map(Vec::len) == Some(3) && is_weighed(&root)
    });
    let told = one(&asker, "@/a1/router");
    assert!(!told.text.contains("hunter2"), "{}", told.text);
    let root = told.json();
    assert_eq!(root["zid"], "a1");
    assert!(
        root["version"]
            .as_str()
            .is_some_and(|v| v.starts_with("zonda "))
    );
    assert_eq!(root["metadata"]["room"], "kitchen");
    assert_eq!(
        root["locators"],
        json!([first.info().locators()[0].to_string()])
    );
    assert_eq!(root["plugins"], Value::Null);
    let sessions = root["sessions"].as_array().expect("a list");
    let regions = [
        ("b2", "router", "north"),
        ("c3", "client", "south:0:client"),
        ("d4", "peer", "south:0:peer"),
    ];
    for (session, (zid, role, region)) in sessions.iter().zip(regions) {
        let members: Vec<_> = session.as_object().expect("an object").keys().collect();
        assert_eq!(
            members,
            ["links", "peer", "region", "shm", "weight", "whatami"]
        );
        assert_eq!(
            (&session["peer"], &session["whatami"]),
            (&zid.into(), &role.into())
        );
        assert_eq!(
            (&session["region"], &session["shm"]),
            (&region.into(), &SHARES_MEMORY.into())
        );
        let links = session["links"].as_array().expect("a list");
        assert_eq!(links.len(), 1, "{session}");
        for end in ["src", "dst"] {
            let at = links[0][end].as_str().expect("a locator");
            assert!(at.starts_with("tcp/127.0.0.1:"), "{session}");
        }
    }
    let weight = json!({"src_weight": 7, "dst_weight": null, "actual_weight": 7});
    assert_eq!(sessions[0]["weight"], weight);
    assert_eq!(sessions[1]["weight"], Value::Null);
    // Every router answers, and no other node.
    assert_eq!(keys(&peer, "@/*/router"), ["@/a1/router", "@/b2/router"]);
    assert_eq!(keys(&peer, "@/*/peer"), [""; 0]);
    for session in [asker, peer, second, first] {
        session.close().wait().expect("it closes");
    }
}

#[test]
fn an_admin_space_that_may_not_be_read_sends_only_a_final() {
    let closed = opened(router("a1").with("adminspace/permissions/read", "false"));
    let asker = connected_to(&closed, client("c3"));
    let begin = Instant::now();
    for selector in ["@/a1/router", "@/**", "@/*/router/metrics"] {
        for session in [&asker, &closed] {
            // A session always reads its own connections.
            let mut told = keys(session, selector);
            told.retain(|key| !key.starts_with(&format!("@/{}/session/", session.zid())));
            assert_eq!(told, [""; 0], "{selector}");
        }
    }
    assert!(begin.elapsed() < LONG, "a query without an end");
    for session in [asker, closed] {
        session.close().wait().expect("it closes");
    }
}

/// Queries with a value; returns the reply, or the text of the error.
fn written(session: &Session, selector: &str, value: &str) -> Result<Value, String> {
    let get = session.get(selector).payload(value).timeout(LONG);
    let reply = get.wait().expect("a selector").recv().expect("a reply");
    let text = |bytes: &zonda::bytes::ZBytes| bytes.try_to_string().expect("a text").into_owned();
    match reply.result() {
        Ok(sample) => Ok(serde_json::from_str(&text(sample.payload())).expect("JSON")),
        Err(error) => Err(text(error.payload())),
    }
}

#[test]
fn the_configuration_is_read_without_its_secrets() {
    let config = router("a1")
        .with("transport/auth/usrpwd/user", "'zoe'")
        .with("transport/auth/usrpwd/password", "'hush'")
        .with("metadata", "{site: 'north', private: {pin: 4711}}");
    let router = opened(config);
    let session = connected_to(&router, client("c5"));
    let all = asked(&session, "@/a1/router/config/**");
    let value = |path: &str| all[&format!("@/a1/router/config/{path}")].json();
    assert_eq!(value("mode"), "router");
    assert_eq!(value("transport/auth/usrpwd/user"), "zoe");
    assert_eq!(value("transport/auth/usrpwd/password"), "(hidden)");
    assert_eq!(value("metadata")["site"], "north");
    assert_eq!(value("low_pass_filter"), json!([]));
    let texts: String = all.values().map(|told| &*told.text).collect();
    assert!(
        !texts.contains("hush") && !texts.contains("4711"),
        "{texts}"
    );
    assert!(all.len() > 100, "{}", all.len());
    // One key, and those below one.
    assert_eq!(
        keys(&session, "@/*/router/config/mode"),
        ["@/a1/router/config/mode"]
    );
    let below = keys(&session, "@/a1/router/config/adminspace/**");
    assert_eq!(below.len(), 3, "{below:?}");
}

#[test]
fn the_configuration_is_written_where_the_right_and_the_key_allow_it() {
    let rule = "[{size_limit: 4, flows: ['ingress'], messages: ['put'], key_exprs: ['a/**']}]";
    let key = "@/a1/router/config/low_pass_filter";
    // By default there is no right.
    let closed = opened(router("a1"));
    let session = connected_to(&closed, client("c5"));
    let error = written(&session, key, rule).expect_err("there is no right");
    assert!(
        error.contains("adminspace/permissions/write is false"),
        "{error}"
    );
    assert_eq!(asked(&session, key)[key].json(), json!([]));
    closed.close().wait().expect("it is open");
    // With it, a value is in force when the reply comes.
    let open = opened(router("a1").with("adminspace/permissions/write", "true"));
    let session = connected_to(&open, client("c5"));
    let other = connected_to(&open, client("d6"));
    let subscriber = other.declare_subscriber("a/**").wait().expect("it is open");
    let publisher = session.declare_publisher("a/b").wait().expect("it is open");
    until("a subscriber is known", || {
        publisher
            .matching_status()
            .wait()
            .expect("it is open")
            .matching()
    });
    publisher.put("12345").wait().expect("it is open");
    let reply = written(&session, key, rule).expect("it is written");
    assert_eq!(reply["changed"], json!(["low_pass_filter"]));
    publisher.put("56789").wait().expect("it is open");
    publisher.put("last").wait().expect("it is open");
    let texts = [(); 2].map(|()| {
        let sample = subscriber.recv().expect("a sample");
        sample
            .payload()
            .try_to_string()
            .expect("a text")
            .into_owned()
    });
    assert_eq!(texts, ["12345", "last"]);
    assert_eq!(asked(&session, key)[key].json()[0]["size_limit"], 4);
    // A faulty write changes nothing, and its reply names the fault.
    for (path, value, said) in [
        ("low_pass_filter", "[{size: 4}]", "rule 1"),
        ("low_pas_filter", "[]", "did you mean `low_pass_filter`?"),
        ("mode", "'peer'", "mode needs a restart"),
        ("*", "1", "without wildcards"),
        ("low_pass_filter", "[", "low_pass_filter"),
    ] {
        let selector = format!("@/a1/router/config/{path}");
        let error = written(&session, &selector, value).expect_err(value);
        assert!(
            error.contains(said) && !error.contains('\n'),
            "{path}: {error}"
        );
    }
    assert_eq!(asked(&session, key)[key].json()[0]["size_limit"], 4);
}

#[test]
fn an_object_writes_several_keys_as_a_whole() {
    let open = opened(router("a1").with("adminspace/permissions/write", "true"));
    let session = connected_to(&open, client("c5"));
    let whole = "@/a1/router/config";
    let rule = "{size_limit: 4, flows: ['ingress'], messages: ['put'], key_exprs: ['a/**']}";
    let rate = "{messages: ['put'], rules: [{key_expr: 'b', freq: 1}]}";
    let both = format!("{{low_pass_filter: [{rule}], downsampling: [{rate}]}}");
    let reply = written(&session, whole, &both).expect("it is written");
    let mut changed: Vec<_> = reply["changed"].as_array().expect("a list").clone();
    changed.sort_by_key(ToString::to_string);
    assert_eq!(changed, [json!("downsampling"), json!("low_pass_filter")]);
    // One key that needs a restart, or one fault, keeps all as it is.
    let limits = || one(&session, "@/a1/router/config/low_pass_filter").json();
    for (value, said) in [
        (
            "{low_pass_filter: [], mode: 'peer'}",
            "a restart is needed for mode",
        ),
        ("{low_pass_filter: [], downsampling: [{}]}", "downsampling"),
        ("{low_pass_filter: [], what: 1}", "unknown key `what`"),
        ("[]", "object"),
    ] {
        let error = written(&session, whole, value).expect_err(value);
        assert!(
            error.contains(said) && !error.contains('\n'),
            "{value}: {error}"
        );
        assert_eq!(limits()[0]["size_limit"], 4, "{value}");
    }
    // Keys that the object does not name stay.
    let reply = written(&session, whole, "{low_pass_filter: []}").expect("it is written");
    assert_eq!(reply["changed"], json!(["low_pass_filter"]));
    let rates = one(&session, "@/a1/router/config/downsampling").json();
    assert_eq!(rates[0]["rules"][0]["freq"].as_f64(), Some(1.0));
}

#[test]
fn a_write_needs_the_right_to_put() {
    let rules = |messages: &str| {
        format!(
            "{{enabled: true, default_permission: 'deny',
               rules: [{{id: 'ask', permission: 'allow', messages: [{messages}], key_exprs: ['@/**']}}],
               subjects: [{{id: 'all'}}], policies: [{{rules: ['ask'], subjects: ['all']}}]}}"
        )
    };
    let key = "@/a1/router/config/low_pass_filter";
    for (messages, may) in [
        ("'query', 'reply'", false),
        ("'query', 'reply', 'put'", true),
    ] {
        let config = router("a1").with("adminspace/permissions/write", "true");
        let open = opened(config.with("access_control", &rules(messages)));
        let session = connected_to(&open, client("c5"));
        assert_eq!(asked(&session, key)[key].json(), json!([]));
        let outcome = written(&session, key, "[]");
        match may {
            true => assert_eq!(outcome.expect("it is written")["changed"], json!([])),
            false => {
                let error = outcome.expect_err("it may not put");
                assert!(error.contains("the right to put"), "{error}");
            }
        }
        open.close().wait().expect("it is open");
    }
}

/// Writes of two sessions at once: none undoes the other one. The values are long, so that both
/// take a while.
#[test]
fn writes_at_once_are_all_in_force() {
    const RULES: usize = 500;
    let open = opened(router("a1").with("adminspace/permissions/write", "true"));
    let list = |rule: &dyn Fn(usize) -> String| {
        let rules: Vec<_> = (0..RULES).map(rule).collect();
        format!("[{}]", rules.join(","))
    };
    let limits = list(&|n| {
        format!("{{size_limit: {n}, flows: ['ingress'], messages: ['put'], key_exprs: ['a/{n}']}}")
    });
    let rates =
        list(&|n| format!("{{messages: ['put'], rules: [{{key_expr: 'b/{n}', freq: 1}}]}}"));
    let writes = [("low_pass_filter", limits), ("downsampling", rates)];
    let sessions = ["b1", "b2"].map(|zid| connected_to(&open, client(zid)));
    let write = |session: &Session, key: &str, value: &str| {
        let selector = format!("@/a1/router/config/{key}");
        written(session, &selector, value).expect("it is written");
    };
    for round in 0..5 {
        std::thread::scope(|scope| {
            for ((key, value), session) in writes.iter().zip(&sessions) {
                scope.spawn(move || write(session, key, value));
            }
        });
        for (key, _) in &writes {
            let path = format!("@/a1/router/config/{key}");
            let found = asked(&sessions[0], &path)[&path].json();
            let count = found.as_array().map_or(0, Vec::len);
            assert_eq!(count, RULES, "round {round}: {key}");
            write(&sessions[0], key, "[]");
        }
    }
}

/// A value that is too long is refused, with or without the right to write.
#[test]
fn a_value_that_is_too_long_is_refused() {
    let key = "@/a1/router/config/low_pass_filter";
    let long = format!("[] // {}", "x".repeat(3 << 20));
    for (right, said) in [
        ("true", "at most 1048576 bytes"),
        ("false", "write is false"),
    ] {
        let router = opened(router("a1").with("adminspace/permissions/write", right));
        let session = connected_to(&router, client("c5"));
        let error = written(&session, key, &long).expect_err("it is refused");
        assert!(error.contains(said), "{error}");
        router.close().wait().expect("it is open");
    }
}

/// Waits until the value in force of a key of the session's own node is this one; `None` for no
/// such key.
fn await_value(session: &Session, key: &str, expected: Option<&str>) {
    until(key, || {
        session.config().get(key).ok().as_deref() == expected
    });
}

/// Returns the number of writes with a result.
fn writes(session: &Session, node: &str, result: &str) -> u64 {
    let metrics = format!("@/{node}/router/metrics");
    let text = one(session, &metrics).text;
    let name = format!("zonda_config_writes_total{{result=\"{result}\"}} ");
    let count = text.lines().find_map(|line| line.strip_prefix(&name));
    count.expect("a counter").parse().expect("a number")
}

#[test]
fn a_publication_writes_the_configuration() {
    let open = opened(router("a1").with("adminspace/permissions/write", "true"));
    let session = connected_to(&open, client("c5"));
    let rule =
        "{id: 'r', size_limit: 4, flows: ['ingress'], messages: ['put'], key_exprs: ['a/**']}";
    let limits = || one(&open, "@/a1/router/config/low_pass_filter").json();
    let put = |key: &str, value: &str| session.put(key, value).wait().expect("it is open");
    let delete = |key: &str| session.delete(key).wait().expect("it is open");
    let count = |expected| {
        until("the rules are there", || {
            limits().as_array().map(Vec::len) == Some(expected)
        });
    };
    // The id and the role may be wildcards; one item of a list has a key of its own.
    put("@/*/router/config/low_pass_filter", &format!("[{rule}]"));
    count(1);
    put(
        "@/a1/*/config/low_pass_filter/id=s",
        &rule.replace("'r'", "'s'"),
    );
    count(2);
    delete("@/a1/router/config/low_pass_filter/id=r");
    count(1);
    assert_eq!(limits()[0]["id"], "s");
    // An object writes several keys.
    put(
        "@/a1/router/config",
        "{low_pass_filter: [], downsampling: []}",
    );
    count(0);
    put("@/a1/router/config/low_pass_filter", &format!("[{rule}]"));
    count(1);
    delete("@/a1/router/config/low_pass_filter");
    count(0);
    // The writes are applied in order, so the first ones have been refused when the last one is in
    // force.
    let before = [
        writes(&session, "a1", "applied"),
        writes(&session, "a1", "refused"),
    ];
    put("@/a1/router/config/low_pass_filter", "[{size: 4}]");
    put("@/a1/router/config/mode", "'peer'");
    put("@/a1/router/config/**", "1");
    put("@/a1/router/config/low_pas_filter", "[]");
    put("@/a1/router/config/low_pass_filter", "\u{1}");
    put("@/b2/router/config/low_pass_filter", "[]");
    delete("@/a1/router/config");
    delete("@/a1/router/config/mod");
    put("@/a1/router/config/low_pass_filter", &format!("[{rule}]"));
    count(1);
    let after = [
        writes(&session, "a1", "applied"),
        writes(&session, "a1", "refused"),
    ];
    assert_eq!(after, [before[0] + 1, before[1] + 7]);
    assert_eq!(one(&open, "@/a1/router/config/mode").json(), "router");
}

/// Keys and values of the reference's own test.
#[test]
fn a_plugin_s_values_are_written_by_publications() {
    let open = opened(router("a1").with("adminspace/permissions/write", "true"));
    let key = "plugins/adminspace_wildcard/value";
    let below = |root: &str| format!("{root}/config/{key}");
    open.put(below("@/*/router"), "1")
        .wait()
        .expect("it is open");
    await_value(&open, key, Some("1"));
    let deletion = open.delete("@/a1/*/config/plugins/adminspace_wildcard");
    deletion.wait().expect("it is open");
    await_value(&open, key, None);
    await_value(&open, "plugins/adminspace_wildcard", None);
    open.put(below("@/*/*"), "2").wait().expect("it is open");
    await_value(&open, key, Some("2"));
}

#[test]
fn a_publication_needs_the_right_to_write() {
    let rules = "{enabled: true, default_permission: 'allow',
        rules: [{id: 'no', permission: 'deny', messages: ['put'], flows: ['ingress'], key_exprs: ['@/a1/router/config/**']}],
        subjects: [{id: 'c5', zids: ['c5']}], policies: [{rules: ['no'], subjects: ['c5']}]}";
    let writable = router("a1").with("adminspace/permissions/write", "true");
    let open = opened(writable.with("access_control", rules));
    let [denied, allowed] = ["c5", "c6"].map(|zid| connected_to(&open, client(zid)));
    let key = "@/a1/router/config/downsampling";
    let rate = |n: u32| format!("[{{messages: ['put'], rules: [{{key_expr: 'b', freq: {n}}}]}}]");
    let freq = || one(&open, key).json()[0]["rules"][0]["freq"].as_f64();
    for key in [
        key,
        "@/*/router/config/downsampling",
        "@/a1/*/config/downsampling",
    ] {
        denied.put(key, rate(1)).wait().expect("it is open");
    }
    // A reply comes behind the publication on the same connection.
    let _ = asked(&denied, key);
    assert_eq!(writes(&open, "a1", "applied"), 0);
    allowed.put(key, rate(2)).wait().expect("it is open");
    until("the allowed one is in force", || freq() == Some(2.0));
    // A write is counted once it is in force.
    until("the allowed one is counted", || {
        writes(&open, "a1", "applied") == 1
    });
    let closed = opened(router("b2"));
    let session = connected_to(&closed, client("c7"));
    let key = "@/b2/router/config/downsampling";
    session.put(key, rate(3)).wait().expect("it is open");
    assert_eq!(one(&session, key).json(), json!([]));
    let publisher = session.declare_publisher(key).wait().expect("it is open");
    let status = publisher.matching_status().wait().expect("it is open");
    assert!(!status.matching(), "no subscriber takes it");
}
