// SPDX-License-Identifier: MIT OR Apache-2.0

//! The low-pass filter, which drops messages whose payload and attachment together exceed the
//! smallest limit of the rules that apply.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use zonda_codec::{KeyExpr, Qos};

use crate::{
    config::{Flow, LowPassRule, MessageKind},
    metrics::{
        Sample,
        table::{LOW_PASS_BYTES, LOW_PASS_MESSAGES},
    },
};

use super::{Filter, LinkFacts, MessageView, RouteFilter, scope};

/// Counters of dropped messages and their bytes.
#[derive(Debug, Default)]
struct Dropped {
    messages: AtomicU64,
    bytes: AtomicU64,
}

/// Counters by direction and kind.
type Counters = [[Dropped; MessageKind::ALL.len()]; 2];

const FLOWS: [Flow; 2] = [Flow::Ingress, Flow::Egress];

/// The filter.
#[derive(Debug)]
pub(super) struct LowPassFilter {
    rules: Vec<LowPassRule>,
    counters: Arc<Counters>,
}

impl LowPassFilter {
    /// Creates the filter; `None` without a rule.
    pub(super) fn new(rules: &[LowPassRule]) -> Option<LowPassFilter> {
        (!rules.is_empty()).then(|| LowPassFilter {
            rules: rules.into(),
            counters: Arc::default(),
        })
    }
}

impl Filter for LowPassFilter {
    fn check(
        &self,
        links: &LinkFacts,
        flow: Flow,
        key: Option<&KeyExpr<'_>>,
    ) -> Option<Box<dyn RouteFilter>> {
        let mut limits = [usize::MAX; MessageKind::ALL.len()];
        for rule in self
            .rules
            .iter()
            .filter(|rule| scope::is_in(&rule.scope, links, flow, key))
        {
            // Without a key only an empty message passes.
            let limit = key.map_or(0, |_| rule.size_limit);
            for &kind in &rule.scope.messages {
                let least = &mut limits[kind as usize];
                *least = limit.min(*least);
            }
        }
        let has_limit = limits.iter().any(|limit| *limit != usize::MAX);
        has_limit.then(|| {
            Box::new(Limits {
                limits,
                flow,
                counters: Arc::clone(&self.counters),
            }) as _
        })
    }

    fn samples(&self) -> Vec<Sample> {
        let of = |flow: Flow, kind: MessageKind| {
            let dropped = &self.counters[flow as usize][kind as usize];
            let counts = [
                (&LOW_PASS_MESSAGES, &dropped.messages),
                (&LOW_PASS_BYTES, &dropped.bytes),
            ];
            counts.map(|(metric, count)| {
                let sample = Sample::of(metric, count.load(Ordering::Relaxed));
                sample
                    .with("flow", flow.name())
                    .with("message", kind.name())
            })
        };
        let each = |flow| MessageKind::ALL.map(|kind| of(flow, kind));
        FLOWS.into_iter().flat_map(each).flatten().collect()
    }

    fn needs_interfaces(&self) -> bool {
        self.rules
            .iter()
            .any(|rule| rule.scope.interfaces.is_some())
    }
}

/// The limits for one neighbour and direction on a route, by kind.
struct Limits {
    limits: [usize; MessageKind::ALL.len()],
    flow: Flow,
    counters: Arc<Counters>,
}

impl RouteFilter for Limits {
    #[inline]
    fn carried(&self, seen: MessageView) -> Option<Qos> {
        (seen.bytes() <= self.limits[seen.kind as usize]).then_some(seen.qos)
    }

    fn note_dropped(&self, seen: MessageView) {
        let dropped = &self.counters[self.flow as usize][seen.kind as usize];
        dropped.messages.fetch_add(1, Ordering::Relaxed);
        dropped
            .bytes
            .fetch_add(seen.bytes() as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use zonda_codec::Reliability;

    use super::*;
    use crate::config::Scope;

    fn rule(keys: &[&str], size_limit: usize) -> LowPassRule {
        let key = |key: &&str| KeyExpr::try_from((*key).to_owned()).expect("a key");
        let scope = Scope {
            id: None,
            zids: None,
            interfaces: None,
            protocols: None,
            flows: FLOWS.to_vec(),
            messages: vec![MessageKind::Put],
            keys: Some(keys.iter().map(key).collect()),
        };
        LowPassRule { scope, size_limit }
    }

    fn put(payload: usize) -> MessageView {
        MessageView {
            kind: MessageKind::Put,
            payload,
            attachment: 0,
            qos: Qos::DATA,
            reliability: Reliability::Reliable,
        }
    }

    fn links() -> LinkFacts {
        LinkFacts {
            zid: "a1".parse().expect("an id"),
            protocols: vec!["tcp".into()],
            interfaces: vec!["lo".into()],
        }
    }

    /// Returns the largest put on `key` that passes.
    fn limit(rules: &[LowPassRule], key: Option<&str>) -> Option<usize> {
        let hook = LowPassFilter::new(rules)?;
        let key = key.map(|key| KeyExpr::try_from(key).expect("a key"));
        let check = hook.check(&links(), Flow::Egress, key.as_ref())?;
        (0..1000)
            .rev()
            .find(|&bytes| check.carried(put(bytes)).is_some())
    }

    #[test]
    fn the_smallest_limit_counts_of_rules_whose_key_includes_that_of_the_message() {
        let rules = [rule(&["a/**"], 100), rule(&["a/b", "c/*"], 10)];
        assert_eq!(limit(&rules, Some("a/b")), Some(10));
        assert_eq!(limit(&rules, Some("a/c")), Some(100));
        assert_eq!(limit(&rules, Some("a/*")), Some(100));
        assert_eq!(limit(&rules, Some("c/d")), Some(10));
        assert_eq!(limit(&rules, Some("c/**")), None, "wider than the rule");
        assert_eq!(limit(&rules, Some("d")), None);
        assert_eq!(limit(&rules, None), Some(0), "no key");
    }

    #[test]
    fn rules_are_for_their_links_and_for_their_direction() {
        let with = |interfaces: &[&str], protocols: &[&str]| {
            let texts = |all: &[&str]| Some(all.iter().map(|t| (*t).to_owned()).collect());
            let mut rule = rule(&["**"], 10);
            rule.scope.interfaces = texts(interfaces);
            rule.scope.protocols = texts(protocols);
            rule
        };
        assert_eq!(
            limit(&[with(&["lo", "eth0"], &["tcp"])], Some("a")),
            Some(10)
        );
        assert_eq!(limit(&[with(&["eth0"], &["tcp"])], Some("a")), None);
        assert_eq!(limit(&[with(&["lo"], &["tls"])], Some("a")), None);
        let mut ingress = rule(&["**"], 10);
        ingress.scope.flows = vec![Flow::Ingress];
        assert_eq!(limit(&[ingress], Some("a")), None);
    }

    #[test]
    fn what_is_dropped_is_counted_by_direction_and_kind() {
        let hook = LowPassFilter::new(&[rule(&["**"], 10)]).expect("a rule");
        let key = KeyExpr::try_from("a").expect("a key");
        let check = hook.check(&links(), Flow::Ingress, Some(&key));
        let check = check.expect("a limit");
        check.note_dropped(put(11));
        let samples = hook.samples();
        let counted = samples.iter().filter(|one| one.value() > 0);
        let counted: Vec<_> = counted
            .map(|one| {
                let labels = [one.label("flow"), one.label("message")];
                (
                    one.metric().name,
                    labels.map(Option::unwrap_or_default),
                    one.value(),
                )
            })
            .collect();
        let labels = ["ingress", "put"];
        assert_eq!(
            counted,
            [
                (LOW_PASS_MESSAGES.name, labels, 1),
                (LOW_PASS_BYTES.name, labels, 11)
            ]
        );
    }
}
