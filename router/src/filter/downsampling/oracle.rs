// SPDX-License-Identifier: MIT OR Apache-2.0

//! Random items and schedules: the filter and a naive evaluation let the same messages pass.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::Ordering},
};

use proptest::{
    collection::vec,
    option,
    prelude::*,
    sample::{select, subsequence},
};
use zonda_codec::{KeyExpr, Qos};

use crate::{
    config::{Config, DownsamplingItem, Flow, MessageKind},
    filter::{
        contract::{Decision, Filter, MessageView, Reason, Subject},
        tests::{put, status},
    },
};

use super::{DownsamplingFilter, tests::Manual};

const KEYS: [&str; 10] = [
    "a", "a/b", "a/b/c", "a/*", "a/**", "**", "*/b", "b", "@x", "@x/**",
];
const FREQUENCIES: [f64; 6] = [0.0, 0.5, 1.0, 3.0, 10.0, 1e9];
const PROTOCOLS: [&str; 2] = ["tcp", "tls"];
const INTERFACES: [&str; 2] = ["lo", "eth0"];
const FLOWS: [Flow; 2] = [Flow::Ingress, Flow::Egress];

/// A neighbour: its id and the interfaces and protocols of its links.
const NEIGHBOURS: [(&str, &[&str], &[&str]); 4] = [
    ("a1", &["lo"], &["tcp"]),
    ("b2", &["lo", "eth0"], &["tcp", "tcp"]),
    ("c3", &["eth0", "eth0"], &["tcp", "tls"]),
    ("d4", &["lo"], &["tcp", "tls"]),
];

/// A message of a schedule.
#[derive(Debug, Clone)]
struct Step {
    /// Milliseconds since the message before.
    pause: u64,
    neighbour: usize,
    flow: Flow,
    kind: MessageKind,
    key: &'static str,
}

fn step() -> impl Strategy<Value = Step> {
    let pause = select(vec![0, 1, 99, 100, 333, 334, 999, 1000, 2000]);
    let kind = select(MessageKind::ALL.to_vec());
    let parts = (pause, 0..4usize, select(FLOWS.to_vec()), kind);
    (parts, select(KEYS.to_vec())).prop_map(|((pause, neighbour, flow, kind), key)| Step {
        pause,
        neighbour,
        flow,
        kind,
        key,
    })
}

/// Returns a list as JSON5, if there is one.
fn listed<T: AsRef<str> + Clone + std::fmt::Debug + 'static>(
    name: &'static str,
    all: Vec<T>,
) -> impl Strategy<Value = String> {
    let count = all.len();
    option::of(subsequence(all, 1..=count)).prop_map(move |some| {
        some.map_or(String::new(), |some| {
            let texts: Vec<_> = some.iter().map(AsRef::as_ref).collect();
            format!("{name}: {texts:?},")
        })
    })
}

fn rule() -> impl Strategy<Value = String> {
    let parts = (select(KEYS.to_vec()), select(FREQUENCIES.to_vec()));
    (parts, any::<bool>()).prop_map(|((key, freq), per_key)| {
        format!("{{key_expr: '{key}', freq: {freq}, per_key: {per_key}}}")
    })
}

fn item() -> impl Strategy<Value = String> {
    let kinds = MessageKind::DATA.map(MessageKind::name).to_vec();
    let messages = subsequence(kinds, 1..=4);
    (
        messages,
        vec(rule(), 1..4),
        listed("flows", vec!["ingress", "egress"]),
        listed("link_protocols", PROTOCOLS.to_vec()),
        listed("interfaces", INTERFACES.to_vec()),
    )
        .prop_map(|(messages, rules, flows, protocols, interfaces)| {
            let rules = rules.join(", ");
            format!("{{messages: {messages:?}, {flows} {protocols} {interfaces} rules: [{rules}]}}")
        })
}

/// Naive evaluation: the time of the last message that passed, by neighbour, direction, item, rule
/// and, if the rate is for each key, key.
#[derive(Default)]
struct Oracle(HashMap<(usize, bool, usize, usize, Option<&'static str>), u64>);

impl Oracle {
    fn passes(&mut self, items: &[DownsamplingItem], step: &Step, now: u64) -> bool {
        let key = KeyExpr::new(step.key).expect("a key");
        for (number, item) in items.iter().enumerate() {
            if !is_for(item, step) {
                continue;
            }
            let first = item.rules.iter().position(|r| r.key.intersects(&key));
            let Some(rule) = first else {
                continue;
            };
            let own = item.rules[rule].per_key.then_some(step.key);
            let place = (step.neighbour, step.flow == Flow::Egress, number, rule, own);
            let freq = item.rules[rule].freq;
            let last = self.0.get(&place);
            let is_late = last.is_none_or(|last| now - last >= (1e9 / freq) as u64);
            if freq == 0.0 || !is_late {
                return false;
            }
            self.0.insert(place, now);
        }
        true
    }
}

fn is_for(item: &DownsamplingItem, step: &Step) -> bool {
    let (_, interfaces, protocols) = NEIGHBOURS[step.neighbour];
    let scope = &item.scope;
    let on = |listed: &Option<Vec<String>>, own: &[&str]| {
        let Some(listed) = listed else {
            return true;
        };
        // every link has a protocol; one of the last neighbour's has no interface
        (0..protocols.len()).all(|link| {
            let of_link = own.get(link);
            of_link.is_some_and(|one| listed.iter().any(|name| name == one))
        })
    };
    scope.messages.contains(&step.kind)
        && scope.flows.contains(&step.flow)
        && on(&scope.protocols, protocols)
        && on(&scope.interfaces, interfaces)
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

proptest! {
    #[test]
    fn the_same_messages_pass_as_in_a_naive_evaluation(
        items in vec(item(), 1..4),
        steps in vec(step(), 0..120),
    ) {
        let mut config = Config::default();
        let text = format!("[{}]", items.join(", "));
        config.insert_json5("downsampling", &text).expect("they are items");
        let items = config.settings().downsampling;
        let time = Arc::new(Manual::default());
        let filter = DownsamplingFilter::with(&items, Arc::clone(&time)).expect("there are items");
        let (mut oracle, mut now) = (Oracle::default(), 0);
        for (number, step) in steps.iter().enumerate() {
            now += step.pause * 1_000_000;
            time.0.store(now, Ordering::Relaxed);
            let (zid, interfaces, protocols) = NEIGHBOURS[step.neighbour];
            let mut peer = status();
            peer.zid = zid.parse().expect("an id");
            let subject = Subject {
                peer: &peer,
                protocols: owned(protocols),
                interfaces: owned(interfaces),
            };
            let key = KeyExpr::new(step.key).expect("a key");
            // bound anew each time: the clocks are the filter's
            let bound = filter.bind(&subject, step.flow, Some(&key));
            let message = MessageView { kind: step.kind, ..put(8, Qos::DATA) };
            let decision = bound.map_or(Decision::Pass, |bound| bound.decide(&message));
            let expected = match oracle.passes(&items, step, now) {
                true => Decision::Pass,
                false => Decision::Drop(Reason::Rate),
            };
            prop_assert_eq!(decision, expected, "message {} of {:?}", number, steps);
        }
    }
}

#[test]
fn a_message_without_a_key_passes() {
    let items = "[{messages: ['reply'], rules: [{key_expr: '**', freq: 0}]}]";
    let config = Config::default().with("downsampling", items);
    let filter = DownsamplingFilter::new(&config.settings().downsampling).expect("an item");
    let peer = status();
    let subject = super::super::tests::subject(&peer, &["tcp"]);
    assert!(filter.bind(&subject, Flow::Egress, None).is_none());
}
