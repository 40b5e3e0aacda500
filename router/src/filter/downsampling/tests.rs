// SPDX-License-Identifier: MIT OR Apache-2.0

//! Decisions of the filter at times that the test sets.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use zonda_codec::Qos;

use crate::{
    config::{Config, Flow, MessageKind},
    filter::{
        Filters,
        bound::decide,
        contract::{Decision, Filter, MessageView},
        tests::{key, put, status, subject},
    },
};

use super::{DownsamplingFilter, Time};

/// Time that a test sets.
#[derive(Default)]
pub(super) struct Manual(pub(super) AtomicU64);

impl Time for Manual {
    fn nanos(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A filter with its time.
struct Bench {
    filter: DownsamplingFilter<Manual>,
    time: Arc<Manual>,
}

/// A message: the neighbour's id, the direction, the kind and the key.
type Sent = (&'static str, Flow, MessageKind, &'static str);

/// A put from the neighbour `a1`.
fn incoming(key: &'static str) -> Sent {
    ("a1", Flow::Ingress, MessageKind::Put, key)
}

impl Bench {
    fn new(items: &str) -> Bench {
        let config = Config::default().with("downsampling", items);
        let time = Arc::new(Manual::default());
        let items = config.settings().downsampling;
        let filter = DownsamplingFilter::with(&items, Arc::clone(&time)).expect("an item");
        Bench { filter, time }
    }

    /// Returns true if a message passes at a time in milliseconds.
    fn passes(&self, at_ms: u64, sent: Sent) -> bool {
        self.passes_over(at_ms, sent, &["tcp"])
    }

    /// Returns true if a message passes whose neighbour has these links.
    fn passes_over(&self, at_ms: u64, sent: Sent, protocols: &[&str]) -> bool {
        let (zid, flow, kind, text) = sent;
        self.time.0.store(at_ms * 1_000_000, Ordering::Relaxed);
        let mut peer = status();
        peer.zid = zid.parse().expect("an id");
        let subject = subject(&peer, protocols);
        let Some(bound) = self.filter.bind(&subject, flow, Some(&key(text))) else {
            return true;
        };
        let message = MessageView {
            kind,
            ..put(8, Qos::DATA)
        };
        bound.decide(&message) == Decision::Pass
    }
}

#[test]
fn keys_and_kinds_share_a_clock_and_neighbours_and_directions_do_not() {
    let bench = Bench::new(
        "[{messages: ['put', 'reply'], rules: [{key_expr: 'a/**', freq: 1}, {key_expr: 'b', freq: 1}]}]",
    );
    let other = |change: fn(&mut Sent)| {
        let mut sent = incoming("a/x");
        change(&mut sent);
        sent
    };
    assert!(bench.passes(0, incoming("a/x")));
    for sent in [
        incoming("a/y"),
        other(|sent| sent.2 = MessageKind::Reply),
        // intersects, and is not included
        incoming("*/y"),
    ] {
        assert!(!bench.passes(10, sent), "{sent:?}");
    }
    for sent in [
        other(|sent| sent.0 = "b2"),
        other(|sent| sent.1 = Flow::Egress),
        incoming("b"),
        incoming("c"),
        // of no kind that the item names
        other(|sent| sent.2 = MessageKind::Delete),
        other(|sent| sent.2 = MessageKind::Query),
        other(|sent| sent.2 = MessageKind::DeclareSubscriber),
    ] {
        assert!(bench.passes(20, sent), "{sent:?}");
    }
    // from the last message that passed, not from the last one
    assert!(!bench.passes(999, incoming("a/x")));
    assert!(bench.passes(1000, incoming("a/y")));
}

#[test]
fn of_rules_that_fit_the_first_in_the_list_counts() {
    let bench = Bench::new(
        "[{messages: ['put'], rules: [{key_expr: 'a/b', freq: 0}, {key_expr: 'a/*', freq: 1e9},
                                      {key_expr: 'a/c', freq: 0}]}]",
    );
    assert!(!bench.passes(0, incoming("a/b")));
    assert!(!bench.passes(1, incoming("a/*")), "intersects both");
    assert!(bench.passes(2, incoming("a/c")));
    assert!(bench.passes(3, incoming("a/c")));
}

/// The rate of the first item is used up by what the second one drops.
#[test]
fn every_item_has_to_let_a_message_pass_in_their_order() {
    let bench = Bench::new(
        "[{messages: ['put'], rules: [{key_expr: '**', freq: 1}]},
          {messages: ['put'], rules: [{key_expr: 'a', freq: 0.1}]}]",
    );
    assert!(bench.passes(0, incoming("a")));
    assert!(!bench.passes(1000, incoming("a")), "by the second item");
    assert!(!bench.passes(1500, incoming("b")), "by the first item");
    assert!(bench.passes(2000, incoming("b")));
    assert!(bench.passes(10_000, incoming("a")));
}

#[test]
fn with_per_key_each_key_has_a_clock() {
    let bench =
        Bench::new("[{messages: ['put'], rules: [{key_expr: 'a/*', freq: 1, per_key: true}]}]");
    assert!(bench.passes(0, incoming("a/x")));
    assert!(bench.passes(1, incoming("a/y")));
    assert!(!bench.passes(999, incoming("a/x")));
    assert!(!bench.passes(1000, incoming("a/y")));
    assert!(bench.passes(1000, incoming("a/x")));
}

#[test]
fn an_item_is_for_a_neighbour_all_of_whose_links_match() {
    let bench = Bench::new(
        "[{messages: ['put'], link_protocols: ['tcp', 'udp'], rules: [{key_expr: '**', freq: 1}]}]",
    );
    let passes = |at_ms, protocols: &[&str]| bench.passes_over(at_ms, incoming("a"), protocols);
    assert!(passes(0, &["tcp"]));
    assert!(!passes(1, &["tcp", "udp"]), "a new link keeps the clock");
    assert!(passes(2, &["tcp", "tls"]), "one of the links is another");
    assert!(!passes(3, &["tcp"]));
}

#[test]
fn rates_decide_before_the_other_filters() {
    let mut config = Config::default();
    for (key, value) in [
        (
            "downsampling",
            "[{messages: ['put'], rules: [{key_expr: '**', freq: 0}]}]",
        ),
        (
            "low_pass_filter",
            "[{messages: ['put'], key_exprs: ['**'], size_limit: 1}]",
        ),
        (
            "access_control",
            "{enabled: true, rules: [], subjects: [], policies: []}",
        ),
    ] {
        config.insert_json5(key, value).expect("it is valid");
    }
    let filters = Filters::new(&config.settings());
    let status = status();
    let bound = filters.bind(&subject(&status, &["tcp"]), Flow::Ingress, Some(&key("a")));
    assert!(decide(&bound, put(8, Qos::DATA)).is_none());
    let counted = filters.samples().into_iter().filter(|one| one.value() > 0);
    let names: Vec<_> = counted.map(|one| one.metric().name).collect();
    assert_eq!(
        names,
        [
            "zonda_downsampling_dropped_messages",
            "zonda_downsampling_dropped_bytes"
        ]
    );
}
