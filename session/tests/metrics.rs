// SPDX-License-Identifier: MIT OR Apache-2.0

//! Every declared metric is reported.

use std::collections::HashSet;

use zonda::{Config, Session, Wait};
use zonda_router::node::METRICS;

use crate::pair::{alone, blocking, connected_to, until};

/// Metrics that have samples only once a node was turned away, and in a multicast group.
const LATER: [&str; 6] = [
    "zonda_turned_away",
    "zonda_group_members",
    "zonda_group_sent_bytes",
    "zonda_group_received_bytes",
    "zonda_group_received_messages",
    "zonda_group_ignored",
];

fn reported(session: &Session) -> HashSet<&'static str> {
    let samples = session.info().metrics();
    samples.iter().map(|sample| sample.metric().name).collect()
}

/// True if this build shares memory.
const HAS_SHM: bool = cfg!(feature = "shm");

#[test]
fn every_metric_that_is_declared_has_samples() {
    let first = alone();
    let mut config = Config::peer().listen(["tcp/127.0.0.1:0"]);
    let rules = "[{messages: ['put'], key_exprs: ['a'], size_limit: 1}]";
    config
        .insert_json5("low_pass_filter", rules)
        .expect("they are rules");
    let rates = "[{messages: ['put'], rules: [{key_expr: 'a', freq: 1}]}]";
    config
        .insert_json5("downsampling", rates)
        .expect("they are items");
    let access =
        "{enabled: true, default_permission: 'allow', rules: [], subjects: [], policies: []}";
    config
        .insert_json5("access_control", access)
        .expect("it is complete");
    let second = connected_to(&first, config);
    let reported = reported(&second);
    let missing = METRICS.iter().map(|metric| metric.name);
    let is_built = |name: &&str| HAS_SHM || !name.starts_with("zonda_shm_");
    let missing = missing.filter(is_built);
    let missing: Vec<_> = missing.filter(|name| !reported.contains(name)).collect();
    assert_eq!(
        missing, LATER,
        "declared in metrics/table.rs, pushed by nobody"
    );
    for session in [second, first] {
        session.close().wait().expect("it closes");
    }
}

/// Returns the messages of each priority and the bytes that one end has sent, and those that have
/// come to the other one.
fn sent_and_received(from: &Session, to: &Session) -> [(Vec<u64>, u64); 2] {
    let link = |session: &Session| session.info().links().into_iter().next();
    let (from, to) = (link(from).expect("a link"), link(to).expect("a link"));
    let mut sent = vec![0; 8];
    for counts in &from.priorities {
        sent[counts.priority as usize] = counts.sent;
    }
    let received = to.received.messages.to_vec();
    [(sent, from.sent.bytes), (received, to.received.bytes)]
}

/// Kinds of connection by their settings, and if this build has them.
const KINDS: [(bool, &[(&str, &str)]); 6] = [
    (true, &[]),
    (true, &[("transport/shared_memory/enabled", "false")]),
    (true, &[("transport/unicast/qos/enabled", "false")]),
    (
        true,
        &[
            ("transport/unicast/lowlatency", "true"),
            ("transport/unicast/qos/enabled", "false"),
        ],
    ),
    (
        cfg!(feature = "compression"),
        &[("transport/unicast/compression/enabled", "true")],
    ),
    (
        cfg!(feature = "multilink"),
        &[("transport/unicast/max_links", "2")],
    ),
];

#[test]
fn both_ends_of_a_link_count_the_same() {
    for (_, settings) in KINDS.iter().filter(|(is_built, _)| *is_built) {
        let with = |config: Config| {
            let all = settings.iter();
            all.fold(config, |config, (key, json)| config.with(key, json))
        };
        let first = zonda::open(with(Config::peer().listen(["tcp/127.0.0.1:0"])));
        let first = first.wait().expect("it opens");
        let second = connected_to(&first, with(Config::peer().listen([] as [&str; 0])));
        let subscriber = first.declare_subscriber("demo").wait().expect("open");
        let publisher = blocking(&second);
        // Many short messages in one batch, and some that take several batches.
        let sizes = std::iter::repeat_n(8, 1000).chain([60_000, 8, 60_000]);
        let count = sizes.clone().count();
        for size in sizes {
            publisher.put(vec![7; size]).wait().expect("it is taken");
        }
        for _ in 0..count {
            subscriber.recv().expect("it arrives");
        }
        until("both ends count the same", || {
            [(&first, &second), (&second, &first)]
                .iter()
                .all(|(from, to)| {
                    let [sent, received] = sent_and_received(from, to);
                    sent == received
                })
        });
        let [_, (messages, bytes)] = sent_and_received(&second, &first);
        let data = messages[zonda::qos::Priority::Data as usize];
        assert!(data >= count as u64, "{settings:?}: {messages:?}");
        let shares = first
            .info()
            .transports()
            .wait()
            .any(|transport| transport.is_shm());
        let is_compressed = settings.iter().any(|(key, _)| key.contains("compression"));
        assert!(
            bytes > 128_000 || shares || is_compressed,
            "{settings:?}: {bytes}"
        );
    }
}

/// Members of a group have no links of their own, so the group counts.
#[test]
fn a_group_counts_what_comes() {
    let free = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("bound").port();
    let member = || {
        let config = Config::peer().listen([format!("udp/224.0.0.225:{port}#iface=lo")]);
        let config = config.with("transport/multicast/join_interval", "200");
        zonda::open(config).wait().expect("it is in the group")
    };
    let (first, second) = (member(), member());
    until("both know each other", || {
        [&first, &second]
            .iter()
            .all(|one| !one.info().links().is_empty())
    });
    let subscriber = second.declare_subscriber("demo").wait().expect("open");
    until("it arrives", || {
        first.put("demo", "value").wait().expect("open");
        subscriber.try_recv().expect("open").is_some()
    });
    let value = |name: &str| {
        let samples = second.info().metrics();
        let sample = samples.iter().find(|sample| sample.metric().name == name);
        sample.map_or(0, |sample| sample.value())
    };
    until("it is counted", || {
        value("zonda_group_received_messages") > 0
    });
    assert!(value("zonda_group_received_bytes") > 0);
}
