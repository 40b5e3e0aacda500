// SPDX-License-Identifier: MIT OR Apache-2.0

//! Decisions of the compiled rules that are easily mistaken, and the modes.

use zonda_codec::KeyExpr;

use crate::{
    config::{Config, Flow, MessageKind},
    filter::{
        Filters,
        contract::{Decision, Filter, Subject},
        decide,
        tests::{put, status, subject},
    },
};
use zonda_codec::Qos;

use super::{AccessFilter, identity::Identity, policy::Policy};

fn config(parts: &str) -> Config {
    let mut config = Config::default();
    let text = format!("{{enabled: true, {parts}}}");
    config.insert_json5("access_control", &text).expect(&text);
    assert_eq!(config.validate(), Ok(()), "{text}");
    config
}

fn policy(parts: &str) -> Policy {
    let control = config(parts).settings().access_control();
    Policy::new(control.expect("it is complete").expect("it is on"))
}

fn key(text: &str) -> KeyExpr<'_> {
    KeyExpr::new(text).expect("a key expression")
}

/// Returns true if a message of user `u1` over the interface `lo` passes on its way in.
fn passes(policy: &Policy, kind: MessageKind, text: &str) -> bool {
    let interfaces = ["lo".to_owned()];
    let who = Identity {
        user: Some("u1"),
        interfaces: &interfaces,
        ..Identity::default()
    };
    let verdict = policy.judge(&who, Flow::Ingress, Some(&key(text)));
    verdict.cause(kind).is_none()
}

#[test]
fn wider_keys_than_an_allowed_one_are_refused() {
    let policy = policy(
        "rules: [{id: 'r', permission: 'allow', messages: ['declare_subscriber'],
                  key_exprs: ['a/*']}],
         subjects: [{id: 's', usernames: ['u1']}], policies: [{rules: ['r'], subjects: ['s']}]",
    );
    let passes = |text| passes(&policy, MessageKind::DeclareSubscriber, text);
    assert!(passes("a/b") && passes("a/*"));
    assert!(!passes("a/**") && !passes("a/b/c") && !passes("*/b"));
}

#[test]
fn keys_with_verbatim_chunks_need_rules_of_their_own() {
    let rule = |keys: &str| {
        policy(&format!(
            "rules: [{{id: 'r', permission: 'allow', messages: ['put'], key_exprs: [{keys}]}}],
             subjects: [{{id: 's'}}], policies: [{{rules: ['r'], subjects: ['s']}}]"
        ))
    };
    let all = rule("'**'");
    for text in ["@/a1/router", "a/@adv/pub/b"] {
        assert!(!passes(&all, MessageKind::Put, text), "{text}");
    }
    assert!(passes(&all, MessageKind::Put, "a/adv/pub/b"));
    let more = rule("'**', '@/**', '**/@adv/**'");
    for text in ["@/a1/router", "a/@adv/pub/b"] {
        assert!(passes(&more, MessageKind::Put, text), "{text}");
    }
}

#[test]
fn a_second_subject_without_the_denial_lifts_it() {
    let text = |mode: &str| {
        format!(
            "default_permission: 'allow', mode: '{mode}',
             rules: [{{id: 'no', permission: 'deny', messages: ['put'], key_exprs: ['secret/**']}},
                     {{id: 'any', permission: 'deny', messages: ['put'], key_exprs: ['else']}}],
             subjects: [{{id: 'X', usernames: ['u1']}}, {{id: 'Y', interfaces: ['lo']}}],
             policies: [{{rules: ['no'], subjects: ['X']}}, {{rules: ['any'], subjects: ['Y']}}]"
        )
    };
    assert!(passes(
        &policy(&text("normal")),
        MessageKind::Put,
        "secret/a"
    ));
    assert!(!passes(
        &policy(&text("strict")),
        MessageKind::Put,
        "secret/a"
    ));
}

#[test]
fn subjects_with_the_same_combination_share_their_rules() {
    // of two subjects that name the same user, the denial of one counts for both
    let policy = policy(
        "default_permission: 'allow',
         rules: [{id: 'no', permission: 'deny', messages: ['put'], key_exprs: ['a']}],
         subjects: [{id: 'X', usernames: ['u1', 'u2']}, {id: 'Y', usernames: ['u1']}],
         policies: [{rules: ['no'], subjects: ['X']}]",
    );
    assert!(!passes(&policy, MessageKind::Put, "a"));
}

#[test]
fn denial_beats_permission_within_a_subject_whatever_the_order() {
    for rules in ["['yes', 'no']", "['no', 'yes']"] {
        let policy = policy(&format!(
            "rules: [{{id: 'yes', permission: 'allow', messages: ['put'], key_exprs: ['a/b']}},
                     {{id: 'no', permission: 'deny', messages: ['put'], key_exprs: ['a/**']}}],
             subjects: [{{id: 's'}}], policies: [{{rules: {rules}, subjects: ['s']}}]"
        ));
        assert!(!passes(&policy, MessageKind::Put, "a/b"));
    }
}

#[test]
fn strict_denies_where_a_key_intersects() {
    let text = |mode: &str| {
        format!(
            "default_permission: 'allow', mode: '{mode}',
             rules: [{{id: 'no', permission: 'deny', messages: ['declare_subscriber'],
                       key_exprs: ['a/b']}}],
             subjects: [{{id: 's'}}], policies: [{{rules: ['no'], subjects: ['s']}}]"
        )
    };
    let (normal, strict) = (policy(&text("normal")), policy(&text("strict")));
    for (text, in_normal, in_strict) in [
        ("a/b", false, false),
        ("a/*", true, false),
        ("**", true, false),
        ("a/c", true, true),
    ] {
        let kind = MessageKind::DeclareSubscriber;
        assert_eq!(passes(&normal, kind, text), in_normal, "{text}");
        assert_eq!(passes(&strict, kind, text), in_strict, "{text}");
    }
}

#[test]
fn a_wildcard_does_not_lead_around_the_denial_for_one_node() {
    let policy = policy(
        "default_permission: 'allow',
         rules: [{id: 'no', permission: 'deny', messages: ['put', 'query'],
                  key_exprs: ['@/a1/router/config/**']}],
         subjects: [{id: 's'}], policies: [{rules: ['no'], subjects: ['s']}]",
    );
    for kind in [MessageKind::Put, MessageKind::Query] {
        for text in [
            "@/a1/router/config/qos",
            "@/*/router/config/qos",
            "@/a1/*/config/qos",
            "@/a$*/router/config/qos",
            "@/*/*/config",
        ] {
            assert!(!passes(&policy, kind, text), "{text}");
        }
        for text in [
            "@/b2/router/config/qos",
            "@/*/peer/config/qos",
            "@/*/router/metrics",
        ] {
            assert!(passes(&policy, kind, text), "{text}");
        }
    }
}

/// Returns true if a put passes the filter.
fn put_passes(parts: &str, who: &Subject<'_>, flow: Flow, text: Option<&str>) -> bool {
    let control = config(parts).settings().access_control();
    let filter = AccessFilter::new(control.expect("complete").expect("it is on"), None);
    let key = text.map(key);
    let bound = filter.bind(who, flow, key.as_ref());
    let decision = bound.map(|bound| bound.decide(&put(1, Qos::DATA)));
    decision.is_none_or(|decision| decision == Decision::Pass)
}

const INGRESS: &str = "default_permission: 'allow',
    rules: [{id: 'r', permission: 'deny', messages: ['put'], key_exprs: ['a'], flows: ['ingress']}],
    subjects: [{id: 's', zids: ['a1'], interfaces: ['lo'], link_protocols: ['tcp']}],
    policies: [{rules: ['r'], subjects: ['s']}]";

#[test]
fn a_key_that_is_unknown_is_denied_where_rules_decide() {
    let status = status();
    let who = subject(&status, &["tcp"]);
    assert!(!put_passes(INGRESS, &who, Flow::Ingress, None));
    assert!(put_passes(INGRESS, &who, Flow::Egress, None), "no rule");
    let none = "rules: [], subjects: [], policies: []";
    assert!(!put_passes(none, &who, Flow::Egress, None));
}

#[test]
fn a_neighbour_is_what_its_links_are() {
    let status = status();
    let passes = |protocols: &[&str]| {
        let who = subject(&status, protocols);
        put_passes(INGRESS, &who, Flow::Ingress, Some("a"))
    };
    assert!(!passes(&["tcp"]));
    assert!(!passes(&["udp", "tcp"]), "one of the links");
    assert!(passes(&["udp"]));
}

#[test]
fn groups_are_decided_about_on_request() {
    let mut status = status();
    status.remote = "udp/224.0.0.7:7447".parse().expect("a locator");
    let who = subject(&status, &["udp"]);
    for (option, is_judged) in [
        ("", false),
        ("multicast: false,", false),
        ("multicast: true,", true),
    ] {
        let parts = format!("{option} rules: [], subjects: [], policies: []");
        let passes = put_passes(&parts, &who, Flow::Egress, Some("a"));
        assert_eq!(passes, !is_judged, "{option}");
    }
    // a group has no id
    let by_zid = "multicast: true,
        rules: [{id: 'r', permission: 'allow', messages: ['put'], key_exprs: ['a']}],
        subjects: [{id: 's', zids: ['a1']}, {id: 't', link_protocols: ['udp']}],
        policies: [{rules: ['r'], subjects: ['s']}]";
    assert!(!put_passes(by_zid, &who, Flow::Egress, Some("a")));
    let by_protocol = by_zid.replace("subjects: ['s']", "subjects: ['t']");
    assert!(put_passes(&by_protocol, &who, Flow::Egress, Some("a")));
}

#[test]
fn access_control_decides_before_the_other_filters() {
    let mut config = config("rules: [], subjects: [], policies: []");
    let limit = "[{messages: ['put'], key_exprs: ['**'], size_limit: 0}]";
    config
        .insert_json5("low_pass_filter", limit)
        .expect("rules");
    let filters = Filters::new(&config.settings());
    let status = status();
    let bound = filters.bind(&subject(&status, &["tcp"]), Flow::Ingress, Some(&key("a")));
    assert!(decide(&bound, put(1, Qos::DATA)).is_none());
    let samples = filters.samples();
    let by = |part: &str| {
        let like = samples
            .iter()
            .filter(|one| one.metric().name.contains(part));
        like.map(|one| one.value()).sum::<u64>()
    };
    assert_eq!(by("access_control_dropped_messages"), 1);
    assert_eq!(by("low_pass"), 0);
}
