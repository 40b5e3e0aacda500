// SPDX-License-Identifier: MIT OR Apache-2.0

//! Access control that is reloaded while neighbours are connected.

use zonda_codec::Target;

use crate::{
    config::{Config, Flow, MessageKind},
    filter::tests::{
        PATIENCE, answer, ask_tokens, key, publication, subscribe, until, until_answered,
    },
    filter::{Message, Neighbour},
    metrics::table::{ACCESS_DENIED, ACCESS_MESSAGES},
    model::SampleKind,
    node::Reloaded,
};

use super::scenes::{Site, is_wanted, publish, subscribe_known, until_wanted, with_access};

const EVERYTHING: &str = "default_permission: 'allow', rules: [], subjects: [], policies: []";

/// Time for the end of a client.
const PATIENCE_OF_CLOSE: std::time::Duration = std::time::Duration::from_secs(10);

/// Returns access control that denies these messages to the client `c5` in one direction.
fn denies(messages: &str, flow: &str, key: &str) -> String {
    format!(
        "default_permission: 'allow',
         rules: [{{id: 'R', permission: 'deny', flows: ['{flow}'], messages: [{messages}],
                  key_exprs: ['{key}']}}],
         subjects: [{{id: 'S', zids: ['c5']}}],
         policies: [{{rules: ['R'], subjects: ['S']}}]"
    )
}

impl Site {
    fn reload(&self, parts: &str) -> Reloaded {
        let config = with_access(Config::router().listen(["tcp/127.0.0.1:0"]), parts);
        self.router.reload(&config).expect("it is right")
    }

    fn connected(&self) -> usize {
        self.router.links().len()
    }
}

#[test]
fn messages_are_decided_about_by_the_new_rules_at_once() {
    let mut site = Site::new(EVERYTHING);
    let [c5, d6] = ["c5", "d6"].map(|zid| site.client(zid));
    let got = subscribe_known(&site, d6, "a/*");
    until_wanted(&site.clients[c5], "a/b");
    publish(&site.clients[c5], "a/b", 1);
    until("the first comes", || got.got() == [1]);
    // The next one is denied, and the one after it not any more.
    let reloaded = site.reload(&denies("'put'", "ingress", "a/b"));
    let rules = [
        "access_control/rules",
        "access_control/subjects",
        "access_control/policies",
    ];
    assert!(
        rules
            .iter()
            .all(|key| reloaded.changed.iter().any(|one| one == key))
    );
    assert!(reloaded.needs_restart.is_empty(), "{reloaded:?}");
    publish(&site.clients[c5], "a/b", 2);
    until("it is denied", || {
        site.count(&ACCESS_DENIED, "rule", "R") == 1
    });
    assert_eq!(
        site.reload(&denies("'put'", "ingress", "a/b")).changed,
        [""; 0]
    );
    site.reload(EVERYTHING);
    publish(&site.clients[c5], "a/b", 3);
    until("the third comes", || got.got() == [1, 3]);
    // Counters go on, and a rule that returns continues its own.
    assert_eq!(site.count(&ACCESS_MESSAGES, "message", "put"), 1);
    site.reload(&denies("'put'", "ingress", "a/b"));
    publish(&site.clients[c5], "a/b", 4);
    until("it is counted", || {
        site.count(&ACCESS_MESSAGES, "message", "put") == 2
    });
    assert_eq!(site.connected(), 2, "no link has ended");
    site.close();
}

#[test]
fn declarations_of_a_neighbour_are_decided_about_again() {
    let mut site = Site::new(EVERYTHING);
    let [c5, d6] = ["c5", "d6"].map(|zid| site.client(zid));
    subscribe_known(&site, c5, "a/b");
    subscribe_known(&site, c5, "a/c");
    answer(&site.clients[c5], "q");
    site.clients[c5].declare_token(&key("t")).expect("declared");
    until_wanted(&site.clients[d6], "a/b");
    until_answered(&site.clients[d6], "q");
    until("the token is known", || {
        ask_tokens(&site.clients[d6], "t") == 1
    });
    // All of it is refused, and forgotten by the other neighbour.
    let all = "'declare_subscriber', 'declare_queryable', 'liveliness_token'";
    site.reload(&denies(all, "ingress", "**"));
    assert!(!is_wanted(&site.router, "a/b"));
    assert_eq!(ask_tokens(&site.router, "t"), 0);
    let querier = site.clients[d6]
        .declare_querier(&key("q"))
        .expect("declared");
    let has = || querier.has_matching_queryables(Target::BestMatching);
    until("the queryable is taken back", || !has());
    until("the subscriber is taken back", || {
        !is_wanted(&site.clients[d6], "a/b")
    });
    // The neighbour ends one declaration and makes another while the rules refuse them.
    let ended = site.clients[c5]
        .declare_token(&key("t/2"))
        .expect("declared");
    site.clients[c5].undeclare_token(ended);
    subscribe(&site.clients[c5], "a/d");
    until("it is refused", || {
        site.count(&ACCESS_MESSAGES, "message", "declare_subscriber") >= 4
    });
    // Without the rules, all that the neighbour still declares is in force.
    site.reload(EVERYTHING);
    for text in ["a/b", "a/c", "a/d"] {
        assert!(is_wanted(&site.router, text), "{text}");
        until_wanted(&site.clients[d6], text);
    }
    until("the queryable is back", has);
    assert_eq!(ask_tokens(&site.router, "t"), 1);
    assert_eq!(ask_tokens(&site.router, "t/2"), 0);
    assert_eq!(site.connected(), 2, "no link has ended");
    site.close();
}

#[test]
fn declarations_to_a_neighbour_are_decided_about_again() {
    let secret = denies(
        "'declare_subscriber', 'declare_queryable', 'liveliness_token'",
        "egress",
        "**",
    );
    let mut site = Site::new(&secret);
    let [c5, d6] = ["c5", "d6"].map(|zid| site.client(zid));
    subscribe_known(&site, d6, "a/b");
    answer(&site.clients[d6], "q");
    site.clients[d6].declare_token(&key("t")).expect("declared");
    until("the token is known", || ask_tokens(&site.router, "t") == 1);
    let publisher = site.clients[c5]
        .declare_publisher(&key("a/b"))
        .expect("declared");
    let querier = site.clients[c5]
        .declare_querier(&key("q"))
        .expect("declared");
    let sees = || {
        publisher.has_matching_subscribers()
            && querier.has_matching_queryables(Target::BestMatching)
    };
    until("the interests are known", || {
        site.count(&ACCESS_MESSAGES, "message", "declare_queryable") > 0
            && site.count(&ACCESS_MESSAGES, "message", "declare_subscriber") > 0
    });
    assert!(!publisher.has_matching_subscribers());
    for _ in 0..2 {
        site.reload(EVERYTHING);
        until("both are declared", sees);
        assert_eq!(ask_tokens(&site.clients[c5], "t"), 1);
        site.reload(&secret);
        until("both are taken back", || {
            !publisher.has_matching_subscribers()
                && !querier.has_matching_queryables(Target::BestMatching)
        });
        assert_eq!(ask_tokens(&site.clients[c5], "t"), 0);
    }
    site.close();
}

#[test]
fn a_wrong_configuration_changes_nothing() {
    let mut site = Site::new(&denies("'put'", "ingress", "a"));
    let [c5, d6] = ["c5", "d6"].map(|zid| site.client(zid));
    let got = subscribe_known(&site, d6, "a");
    let wrong = "rules: [], subjects: [], policies: [{rules: ['R'], subjects: ['S']}]";
    let config = with_access(Config::router(), wrong);
    let error = site.router.reload(&config).expect_err("it is wrong");
    assert!(
        error.to_string().contains("is not in access_control/rules"),
        "{error}"
    );
    publish(&site.clients[c5], "a", 1);
    until("it is denied", || {
        site.count(&ACCESS_DENIED, "rule", "R") == 1
    });
    assert!(got.got().is_empty());
    // Keys that need a restart are named, and do not hold up the others.
    let config = Config::router().listen(["tcp/127.0.0.1:0"]);
    let config = with_access(
        config.with("transport/link/tx/batch_size", "9000"),
        EVERYTHING,
    );
    let reloaded = site.router.reload(&config).expect("it is right");
    assert_eq!(reloaded.needs_restart, ["transport/link/tx/batch_size"]);
    publish(&site.clients[c5], "a", 2);
    until("it comes", || got.got() == [2]);
    site.close();
}

/// Rules that are about other keys change nothing for a flow of messages.
#[test]
fn a_reload_loses_and_doubles_no_message() {
    const MESSAGES: usize = 20_000;
    let mut site = Site::new(EVERYTHING);
    let [c5, d6] = ["c5", "d6"].map(|zid| site.client(zid));
    let got = subscribe_known(&site, d6, "a/*");
    until_wanted(&site.clients[c5], "a/b");
    let rules: Vec<_> = (0..1_000)
        .map(|n| {
            format!(
                "{{id: 'R{n}', permission: 'deny', messages: ['put', 'declare_subscriber'],
                   key_exprs: ['b/{n}/**']}}"
            )
        })
        .collect();
    let names: Vec<_> = (0..1_000).map(|n| format!("'R{n}'")).collect();
    let many = format!(
        "default_permission: 'allow', rules: [{}], subjects: [{{id: 'S'}}],
         policies: [{{rules: [{}], subjects: ['S']}}]",
        rules.join(","),
        names.join(",")
    );
    let len = |n: usize| n % 977;
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let publisher = site.clients[c5].declare_publisher(&key("a/b"));
            let publisher = publisher.expect("declared");
            for n in 0..MESSAGES {
                let payload = vec![0; len(n)];
                let put = publication(SampleKind::Put, &payload);
                publisher.publish(&put, PATIENCE).expect("it is sent");
            }
        });
        let mut reloads = 0;
        while !sender.is_finished() || reloads < 4 {
            for parts in [&many[..], EVERYTHING] {
                site.reload(parts);
                reloads += 1;
            }
        }
    });
    until("all come", || got.got().len() >= MESSAGES);
    let expected: Vec<_> = (0..MESSAGES).map(len).collect();
    assert!(got.got() == expected, "each once, in order");
    assert_eq!(site.connected(), 2);
    site.close();
}

/// A neighbour without any right that declares without end costs a bounded memory, which counts as
/// its own and is free once it has gone.
#[test]
fn refused_declarations_take_a_bounded_memory() {
    let mut site = Site::new("rules: [], subjects: [], policies: []");
    let c5 = site.client("c5");
    let remembered = |site: &Site| {
        let state = site.router.shared.state.lock();
        let refused = state.faces.values().map(|face| face.refused.bytes());
        (refused.sum::<usize>(), state.table.memory())
    };
    let before = remembered(&site).1;
    const KEYS: u64 = 4_000;
    let long = "a/long/key".repeat(30);
    for n in 0..KEYS {
        subscribe(&site.clients[c5], &format!("{long}/{n}"));
    }
    until("all are refused", || {
        site.count(&ACCESS_MESSAGES, "message", "declare_subscriber") >= KEYS
    });
    let (bytes, held) = remembered(&site);
    assert!((1_000_000..=1 << 20).contains(&bytes), "{bytes}");
    assert!(held - before >= bytes, "{held}");
    let usage = site.router.usage();
    assert!(usage.largest.tables >= bytes, "{usage:?}");
    // A reload names a neighbour of which not all is remembered.
    assert_eq!(site.reload(EVERYTHING).forgotten, 1);
    let gone = site.clients.remove(c5);
    let _ = gone.close_blocking(PATIENCE_OF_CLOSE);
    until("its memory is free", || remembered(&site).1 <= before);
    site.close();
}

/// A client of a service is decided about once for each key, without the node's lock, until the
/// rules change.
#[test]
fn the_rights_of_a_client_of_a_service_end_with_the_rules() {
    let site = Site::new(EVERYTHING);
    let zid = Some("c5".parse().expect("an id"));
    let client = Neighbour {
        zid,
        ..Neighbour::default()
    };
    let rights = site.router.rights_of(client.clone());
    let (own, other) = (key("a/b"), key("a/c"));
    let put = |key| Message {
        flow: Flow::Ingress,
        kind: MessageKind::Put,
        key,
    };
    assert_eq!(rights.refusal(put(&own)), None);
    site.reload(&denies("'put'", "ingress", "a/b"));
    let refusal = site.router.refusal_to(&client, put(&own));
    assert!(refusal.is_some());
    for _ in 0..3 {
        assert_eq!(rights.refusal(put(&own)), refusal);
        assert_eq!(rights.refusal(put(&other)), None);
    }
    // A build with debug assertions panics if the lock is taken twice.
    let state = site.router.shared.state.lock();
    assert_eq!(rights.refusal(put(&own)), refusal);
    drop(state);
    assert_eq!(site.count(&ACCESS_DENIED, "rule", "R"), 5);
    assert_eq!(site.count(&ACCESS_MESSAGES, "message", "put"), 5);
    site.reload(EVERYTHING);
    assert_eq!(rights.refusal(put(&own)), None);
    site.close();
}
