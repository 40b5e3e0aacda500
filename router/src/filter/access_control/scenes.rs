// SPDX-License-Identifier: MIT OR Apache-2.0

//! Access control in a router between real nodes: the examples of the specification, and the traps.

use std::{path::PathBuf, time::Instant};

use zonda_codec::Target;
use zonda_runtime::block_on;

use crate::{
    config::Config,
    filter::tests::{
        LONG, Lengths, PATIENCE, answer, ask, ask_tokens, key, publication, subscribe, until,
        until_answered,
    },
    metrics::{
        Metric,
        table::{ACCESS_DENIED, ACCESS_MESSAGES},
    },
    model::SampleKind,
    node::Node,
};

/// A router with access control, and its clients.
pub(super) struct Site {
    pub(super) router: Node,
    address: String,
    pub(super) clients: Vec<Node>,
}

impl Site {
    /// Opens a router with these parts of `access_control`.
    pub(super) fn new(parts: &str) -> Site {
        Site::with(parts, Config::router())
    }

    pub(super) fn with(parts: &str, config: Config) -> Site {
        let config = config.listen(["tcp/127.0.0.1:0"]);
        let config = with_access(config, parts);
        let router = block_on(Node::open(config)).expect("it opens");
        let address = router.locators().remove(0).to_string();
        Site {
            router,
            address,
            clients: Vec::new(),
        }
    }

    /// Opens a client with an id; returns its place.
    pub(super) fn client(&mut self, zid: &str) -> usize {
        self.join(Config::default().with("id", &format!("'{zid}'")))
    }

    fn join(&mut self, config: Config) -> usize {
        let config = config.with("mode", "'client'");
        let config = config.connect([self.address.as_str()]);
        self.clients
            .push(block_on(Node::open(config)).expect("it opens"));
        self.clients.len() - 1
    }

    pub(super) fn close(self) {
        for node in self.clients.iter().chain([&self.router]) {
            let _ = node.close_blocking(LONG);
        }
    }

    /// Returns the value of a counter, over its labels that match.
    pub(super) fn count(&self, metric: &Metric, label: &str, value: &str) -> u64 {
        let samples = self.router.metrics();
        let like = samples.iter().filter(|sample| {
            sample.metric().name == metric.name && sample.label(label) == Some(value)
        });
        like.map(|sample| sample.value()).sum()
    }
}

/// Returns a configuration with these parts of `access_control`.
pub(super) fn with_access(mut config: Config, parts: &str) -> Config {
    let text = format!("{{enabled: true, {parts}}}");
    config
        .insert_json5("access_control", &text)
        .expect("it is access control");
    config
}

/// Publishes `bytes` bytes, even if no subscriber is known.
pub(super) fn publish(node: &Node, text: &str, bytes: usize) {
    let publisher = node.declare_publisher(&key(text)).expect("declared");
    let payload = vec![0; bytes];
    let put = publication(SampleKind::Put, &payload);
    publisher.publish(&put, PATIENCE).expect("it is sent");
}

/// Waits until `node` knows a subscriber.
pub(super) fn until_wanted(node: &Node, text: &str) {
    let publisher = node.declare_publisher(&key(text)).expect("declared");
    let has = || publisher.has_matching_subscribers();
    until("a subscriber is known", has);
}

/// Subscribes, and waits until the router has the subscription.
pub(super) fn subscribe_known(site: &Site, client: usize, text: &str) -> Lengths {
    let client = &site.clients[client];
    let got = subscribe(client, text);
    // Declarations of a link keep their order.
    let after = format!("ready/{}", client.zid());
    subscribe(client, &after);
    until_wanted(&site.router, &after);
    got
}

/// Returns true if `node` knows a subscriber.
pub(super) fn is_wanted(node: &Node, text: &str) -> bool {
    let publisher = node.declare_publisher(&key(text)).expect("declared");
    publisher.has_matching_subscribers()
}

/// File with the users `u1` and `u2`.
struct Users(PathBuf);

impl Users {
    fn new() -> Users {
        let name = format!("zonda-access-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, "u1:one\nu2:two\n").expect("it is written");
        Users(path)
    }

    fn router(&self) -> Config {
        let path = serde_json::to_string(&self.0).expect("a path");
        let config = Config::router();
        let config = config.with("transport/auth/usrpwd/dictionary_file", &path);
        config.with("transport/auth/usrpwd/dictionary_file_mode", "'any'")
    }

    /// Returns the configuration of a client that is a user.
    fn client(user: &str, password: &str) -> Config {
        let config = Config::default();
        let config = config.with("transport/auth/usrpwd/user", &format!("'{user}'"));
        config.with("transport/auth/usrpwd/password", &format!("'{password}'"))
    }
}

impl Drop for Users {
    fn drop(&mut self) {
        // a file that stays harms no test
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn example_1_a_user_may_what_its_rules_allow_and_no_more() {
    let users = Users::new();
    let mut site = Site::with(
        "rules: [{id: 'R1', permission: 'allow', messages: ['put', 'declare_subscriber'],
                  key_exprs: ['demo/**']}],
         subjects: [{id: 'S1', usernames: ['u1']}],
         policies: [{rules: ['R1'], subjects: ['S1']}]",
        users.router(),
    );
    let [a, b] = [(); 2].map(|()| site.join(Users::client("u1", "one")));
    let c = site.join(Users::client("u2", "two"));
    // u1 subscribes and puts; of u2 nothing comes
    let got = subscribe(&site.clients[a], "demo/**");
    until_wanted(&site.clients[b], "demo/a");
    publish(&site.clients[c], "demo/a", 9);
    let dropped = |site: &Site, kind| site.count(&ACCESS_MESSAGES, "message", kind);
    publish(&site.clients[b], "demo/a", 5);
    until("it comes", || !got.got().is_empty());
    assert_eq!(got.got(), [5]);
    // wider than the rule
    let refused = dropped(&site, "declare_subscriber");
    subscribe(&site.clients[b], "**");
    until("it is refused", || {
        dropped(&site, "declare_subscriber") > refused
    });
    assert!(!is_wanted(&site.router, "other"));
    // not a right of any rule
    let begin = Instant::now();
    assert_eq!(ask(&site.clients[b], "demo/a"), 0);
    assert!(begin.elapsed() < LONG / 4, "it ends at once");
    site.close();
}

#[test]
fn example_2_a_key_is_kept_from_one_neighbour_at_egress() {
    let mut site = Site::new(
        "default_permission: 'allow',
         rules: [{id: 'R', permission: 'deny', messages: ['put'], flows: ['egress'],
                  key_exprs: ['demo/secret']}],
         subjects: [{id: 'S', zids: ['c5']}],
         policies: [{rules: ['R'], subjects: ['S']}]",
    );
    let [kept, other, source] = ["c5", "d6", "e7"].map(|zid| site.client(zid));
    let [kept, other] = [kept, other].map(|client| subscribe_known(&site, client, "demo/*"));
    until_wanted(&site.clients[source], "demo/secret");
    // from a neighbour, and from the router's own session
    for node in [&site.clients[source], &site.router] {
        publish(node, "demo/secret", 1);
        publish(node, "demo/open", 2);
    }
    until("all come", || {
        other.got().len() == 4 && kept.got().len() >= 2
    });
    assert_eq!(kept.got(), [2, 2]);
    assert_eq!(site.count(&ACCESS_MESSAGES, "flow", "egress"), 2);
    assert_eq!(site.count(&ACCESS_DENIED, "rule", "R"), 2);
    site.close();
}

#[test]
fn example_3_the_rights_of_all_subjects_add_up() {
    let mut site = Site::new(
        "default_permission: 'allow',
         rules: [{id: 'no', permission: 'deny', messages: ['put'], key_exprs: ['demo/**']},
                 {id: 'yes', permission: 'allow', messages: ['put'], key_exprs: ['demo/x']}],
         subjects: [{id: 'A', interfaces: ['lo']}, {id: 'B', zids: ['d7']}],
         policies: [{rules: ['no'], subjects: ['A']}, {rules: ['yes'], subjects: ['B']}]",
    );
    let [both, one] = ["d7", "e8"].map(|zid| site.client(zid));
    let own = subscribe(&site.router, "demo/*");
    for client in [one, both] {
        until_wanted(&site.clients[client], "demo/y");
    }
    publish(&site.clients[one], "demo/x", 1);
    publish(&site.clients[one], "demo/y", 1);
    until("they are refused", || {
        site.count(&ACCESS_DENIED, "rule", "no") == 2
    });
    publish(&site.clients[both], "demo/x", 2);
    publish(&site.clients[both], "demo/y", 3);
    until("both come", || own.got().len() == 2);
    assert_eq!(own.got(), [2, 3], "the router's session gets what passes");
    site.close();
}

#[test]
fn a_wider_subscription_walks_around_a_denied_one() {
    let rule = |flow: &str| {
        format!(
            "default_permission: 'allow',
             rules: [{{id: 'R', permission: 'deny', flows: ['{flow}'], key_exprs: ['a/b'],
                      messages: ['put', 'declare_subscriber', 'query']}}],
             subjects: [{{id: 'S', zids: ['c5']}}],
             policies: [{{rules: ['R'], subjects: ['S']}}]"
        )
    };
    for (flow, arrives) in [("ingress", true), ("egress", false)] {
        let mut site = Site::new(&rule(flow));
        let (reader, source) = (site.client("c5"), site.client("d6"));
        let got = subscribe(&site.clients[reader], "a/*");
        until_wanted(&site.clients[source], "a/b");
        publish(&site.clients[source], "a/b", 1);
        publish(&site.clients[source], "a/c", 2);
        until("the other key comes", || got.got().last() == Some(&2));
        let expected: &[usize] = if arrives { &[1, 2] } else { &[2] };
        assert_eq!(got.got(), expected, "{flow}");
        site.close();
    }
}

#[test]
fn denied_queries_end_at_once() {
    let mut site = Site::new(
        "default_permission: 'allow',
         rules: [{id: 'query', permission: 'deny', messages: ['query'], flows: ['ingress'],
                  key_exprs: ['demo/q']},
                 {id: 'branch', permission: 'deny', messages: ['query'], flows: ['egress'],
                  key_exprs: ['demo/b']},
                 {id: 'reply', permission: 'deny', messages: ['reply'], key_exprs: ['demo/r']},
                 {id: 'tokens', permission: 'deny', messages: ['liveliness_query'],
                  key_exprs: ['demo/t']}],
         subjects: [{id: 'all'}],
         policies: [{rules: ['query', 'branch', 'reply', 'tokens'], subjects: ['all']}]",
    );
    let (asker, queryable) = (site.client("c5"), site.client("d6"));
    for (text, rule) in [
        ("demo/q", "query"),
        ("demo/b", "branch"),
        ("demo/r", "reply"),
    ] {
        answer(&site.clients[queryable], text);
        until_answered(&site.clients[asker], text);
        let begin = Instant::now();
        assert_eq!(ask(&site.clients[asker], text), 0, "{text}");
        assert!(begin.elapsed() < LONG / 4, "{text} ends at once");
        assert_eq!(site.count(&ACCESS_DENIED, "rule", rule), 1);
    }
    answer(&site.clients[queryable], "demo/free");
    until_answered(&site.clients[asker], "demo/free");
    assert_eq!(ask(&site.clients[asker], "demo/free"), 1);
    // the tokens of a key that may not be asked about
    let token = site.clients[queryable].declare_token(&key("demo/t"));
    token.expect("declared");
    until("the token is known", || {
        ask_tokens(&site.router, "demo/t") == 1
    });
    let begin = Instant::now();
    assert_eq!(ask_tokens(&site.clients[asker], "demo/t"), 0);
    assert!(begin.elapsed() < LONG / 4, "it ends at once");
    site.close();
}

#[test]
fn without_rules_and_with_the_default_to_deny_nothing_passes() {
    let mut site = Site::new("rules: [], subjects: [], policies: []");
    let client = site.client("c5");
    let client = &site.clients[client];
    client.declare_token(&key("a")).expect("declared");
    subscribe(client, "a");
    answer(client, "a");
    for kind in [
        "liveliness_token",
        "declare_subscriber",
        "declare_queryable",
    ] {
        until("it is refused", || {
            site.count(&ACCESS_MESSAGES, "message", kind) > 0
        });
    }
    assert_eq!(ask_tokens(&site.router, "a"), 0);
    assert!(!is_wanted(&site.router, "a"));
    let querier = site.router.declare_querier(&key("a")).expect("declared");
    assert!(!querier.has_matching_queryables(Target::BestMatching));
    site.close();
}

#[test]
fn an_audit_counts_what_it_lets_pass() {
    let mut site = Site::new("mode: 'audit', rules: [], subjects: [], policies: []");
    let [a, b] = ["c5", "d6"].map(|zid| site.client(zid));
    let got = subscribe(&site.clients[a], "a");
    until_wanted(&site.clients[b], "a");
    publish(&site.clients[b], "a", 3);
    until("it comes", || got.got() == [3]);
    let metrics = site.router.metrics();
    let denied = metrics
        .iter()
        .find(|one| one.metric().name == ACCESS_DENIED.name);
    let denied = denied.expect("a sample").value();
    // a subscriber in and out, a put in and out
    assert!(denied >= 4, "{denied}");
    assert_eq!(site.count(&ACCESS_MESSAGES, "flow", "ingress"), 0);
    assert_eq!(site.count(&ACCESS_MESSAGES, "flow", "egress"), 0);
    site.close();
}

/// A million denied messages are one line and one count.
#[test]
fn a_flood_of_denied_messages_leaves_other_neighbours_alone() {
    let mut site = Site::new(
        "default_permission: 'allow',
         rules: [{id: 'R', permission: 'deny', messages: ['put'], flows: ['ingress'],
                  key_exprs: ['a']}],
         subjects: [{id: 'S', zids: ['c5']}],
         policies: [{rules: ['R'], subjects: ['S']}]",
    );
    let [flooder, other, reader] = ["c5", "d6", "e7"].map(|zid| site.client(zid));
    let got = subscribe(&site.clients[reader], "a");
    for client in [flooder, other] {
        until_wanted(&site.clients[client], "a");
    }
    const COUNT: usize = 10_000;
    let publisher = site.clients[flooder].declare_publisher(&key("a"));
    let publisher = publisher.expect("declared");
    for _ in 0..COUNT {
        let put = publication(SampleKind::Put, &[0; 8]);
        publisher.publish(&put, PATIENCE).expect("it is sent");
    }
    publish(&site.clients[other], "a", 1);
    until("the other one's comes", || got.got() == [1]);
    until("all are counted", || {
        site.count(&ACCESS_DENIED, "rule", "R") == COUNT as u64
    });
    site.close();
}
