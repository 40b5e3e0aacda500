// SPDX-License-Identifier: MIT OR Apache-2.0

//! Every declared metric is reported.

use std::collections::HashSet;

use zonda::{Config, Session, Wait};
use zonda_router::node::METRICS;

use crate::pair::{alone, connected_to};

/// Metrics that have samples only once a node was turned away, and in a multicast group.
const LATER: [&str; 4] = [
    "zonda_turned_away",
    "zonda_group_members",
    "zonda_group_sent_bytes",
    "zonda_group_ignored",
];

fn reported(session: &Session) -> HashSet<&'static str> {
    let samples = session.info().metrics();
    samples.iter().map(|sample| sample.metric().name).collect()
}

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
    let missing: Vec<_> = missing.filter(|name| !reported.contains(name)).collect();
    assert_eq!(
        missing, LATER,
        "declared in metrics/table.rs, pushed by nobody"
    );
    for session in [second, first] {
        session.close().wait().expect("it closes");
    }
}
