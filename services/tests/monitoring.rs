// SPDX-License-Identifier: MIT OR Apache-2.0

//! The dashboard and the alert rules in `packaging/monitoring`, beside the metrics of a router.

use std::collections::{BTreeMap, BTreeSet};

use zonda::{Config, Wait};
use zonda_services::{Running, start_all};

use crate::served::{SOON, get, sharing};

const DASHBOARD: &str = include_str!("../../packaging/monitoring/zonda-dashboard.json");
const ALERTS: &str = include_str!("../../packaging/monitoring/zonda-alerts.yml");

/// Labels that the scraper adds.
const OF_SCRAPER: [&str; 2] = ["instance", "job"];

/// Rules that deny one key, so that their counters are there.
const RULES: &str = "{enabled: true, default_permission: 'allow', \
    rules: [{id: 'no', permission: 'deny', flows: ['ingress'], messages: ['put'], key_exprs: ['denied']}], \
    subjects: [{id: 'all'}], policies: [{rules: ['no'], subjects: ['all']}]}";

/// Label names of each metric.
type Metrics = BTreeMap<String, BTreeSet<String>>;

/// Returns the metrics of a router with a neighbour, rules and a storage.
fn metrics_of_a_router() -> Metrics {
    let config = Config::router()
        .listen(["tcp/127.0.0.1:0"])
        .with("scouting/multicast/enabled", "false")
        .with("access_control", RULES)
        .with(
            "plugins/storage_manager",
            "{storages: {mem: {key_expr: 'demo/**', volume: 'memory'}}}",
        )
        .with("services/metrics/listen", "'127.0.0.1:0'");
    let session = zonda::open(config.clone()).wait().unwrap();
    let running = start_all(&config, sharing(&session), None).unwrap();
    let metrics = running.iter().find(|service| service.name() == "metrics");
    let status = metrics.unwrap().status();
    let address = status.strip_prefix("HTTP on ").unwrap().parse().unwrap();
    let place = [session.info().locators()[0].to_string()];
    let client = Config::client(&place).with("id", "'c1'");
    let refused = client.clone();
    let client = zonda::open(client).wait().unwrap();
    let refused = zonda::open(refused).wait();
    assert!(refused.is_err(), "the router knows this id");
    let subscriber = session.declare_subscriber("*").wait().unwrap();
    // The denial is counted before the message behind it arrives. An answer with an error is counted, too.
    client.put("denied", "1").wait().unwrap();
    client.put("allowed", "1").wait().unwrap();
    let first = subscriber.recv_timeout(SOON).unwrap();
    assert_eq!(first.unwrap().key_expr().as_str(), "allowed");
    assert!(get(address, "/nowhere", "localhost").contains(" 404 "));
    let answer = get(address, "/metrics", "localhost");
    running.into_iter().for_each(Running::stop);
    let mut metrics = Metrics::new();
    for line in answer.lines().filter(|line| line.starts_with("zonda_")) {
        let (head, _value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = head.split_once('{').unwrap_or((head, ""));
        let known = metrics.entry(name.to_owned()).or_default();
        let pairs = labels.trim_end_matches('}').split("\",");
        let names = pairs.filter_map(|pair| pair.split_once("=\""));
        known.extend(names.map(|(label, _)| label.to_owned()));
    }
    metrics
}

/// Returns the words of an expression that are no strings.
fn words(expression: &str) -> Vec<&str> {
    let code = expression.split('"').step_by(2);
    code.flat_map(|part| part.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
        .filter(|word| !word.is_empty())
        .collect()
}

/// Asserts that an expression names metrics that the router has, and labels that they have.
fn check(metrics: &Metrics, place: &str, expression: &str) {
    let used: Vec<&str> = words(expression)
        .into_iter()
        .filter(|word| word.starts_with("zonda_"))
        .collect();
    assert!(!used.is_empty(), "{place}: {expression}");
    let mut labels = BTreeSet::from(OF_SCRAPER);
    for name in &used {
        let known = metrics.get(*name);
        let known = known.unwrap_or_else(|| panic!("{place}: the router has no metric {name}"));
        labels.extend(known.iter().map(String::as_str));
    }
    // Labels stand in braces, and in parentheses behind `by` and `on`.
    let lists = ["{", " by (", " on ("].iter().flat_map(|open| {
        let parts = expression.split(open).skip(1);
        parts.map(|part| part.split(['}', ')']).next().unwrap_or(part))
    });
    for list in lists {
        for label in words(list) {
            assert!(
                labels.contains(label),
                "{place}: no metric has a label {label}: {expression}"
            );
        }
    }
}

#[test]
fn a_dashboard_and_alerts_use_metrics_that_a_router_has() {
    let metrics = metrics_of_a_router();
    let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).unwrap();
    assert_eq!(dashboard["schemaVersion"], 39);
    let panels = dashboard["panels"].as_array().unwrap();
    let mut ids = BTreeSet::new();
    let mut expressions = 0;
    for panel in panels {
        let title = panel["title"].as_str().unwrap();
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{title}");
        if panel["type"] == "row" {
            continue;
        }
        assert_eq!(panel["type"], "timeseries", "{title}");
        assert!(
            panel["description"].as_str().unwrap().ends_with('.'),
            "{title}"
        );
        assert!(
            panel["fieldConfig"]["defaults"]["unit"].is_string(),
            "{title}"
        );
        for target in panel["targets"].as_array().unwrap() {
            check(&metrics, title, target["expr"].as_str().unwrap());
            expressions += 1;
        }
    }
    assert!(expressions > 16, "{expressions}");
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        if let Some(query) = variable["query"]["query"].as_str() {
            let metric = query.trim_start_matches("label_values(");
            let end = metric.find(['{', ',']).unwrap();
            assert!(metrics.contains_key(&metric[..end]), "{query}");
        }
    }
    let mut alerts = 0;
    let mut name = "";
    for line in ALERTS.lines().map(str::trim) {
        if let Some(alert) = line.strip_prefix("- alert: ") {
            name = alert;
        }
        if let Some(expression) = line.strip_prefix("expr: ") {
            check(&metrics, name, expression);
            alerts += 1;
        }
    }
    assert_eq!(alerts, ALERTS.matches("- alert: ").count());
    assert!(alerts > 8);
}

#[test]
#[should_panic(expected = "no metric zonda_linkz")]
fn an_unknown_metric_is_found() {
    check(&Metrics::new(), "panel", "rate(zonda_linkz[1m])");
}

#[test]
#[should_panic(expected = "a label colour")]
fn an_unknown_label_is_found() {
    let metrics = Metrics::from([(
        "zonda_links".to_owned(),
        BTreeSet::from(["role".to_owned()]),
    )]);
    check(
        &metrics,
        "panel",
        "sum by (instance, role) (zonda_links{role=\"peer\"})",
    );
    check(&metrics, "panel", "sum by (colour) (zonda_links)");
}
