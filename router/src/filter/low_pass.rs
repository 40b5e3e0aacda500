// SPDX-License-Identifier: MIT OR Apache-2.0

//! The low-pass filter, which drops messages whose payload and attachment together exceed the
//! smallest limit of the rules that apply.

use zonda_codec::KeyExpr;

use crate::config::{Flow, LowPassRule, MessageKind};

use super::{
    contract::{BoundFilter, Decision, Effect, Filter, Message, MessageView, Reason, Subject},
    scope,
};

/// The filter.
#[derive(Debug)]
pub(super) struct LowPassFilter {
    rules: Vec<LowPassRule>,
}

impl LowPassFilter {
    /// Creates the filter; `None` without a rule.
    pub(super) fn new(rules: &[LowPassRule]) -> Option<LowPassFilter> {
        let rules = rules.to_vec();
        (!rules.is_empty()).then_some(LowPassFilter { rules })
    }
}

impl Filter for LowPassFilter {
    fn bind(
        &self,
        subject: &Subject<'_>,
        flow: Flow,
        key: Option<&KeyExpr<'_>>,
    ) -> Option<Box<dyn BoundFilter>> {
        let mut limits = SizeLimits([usize::MAX; MessageKind::ALL.len()]);
        for rule in self
            .rules
            .iter()
            .filter(|rule| scope::is_in(&rule.scope, subject, flow, key))
        {
            // Without a key only an empty message passes.
            let limit = key.map_or(0, |_| rule.size_limit);
            for &kind in &rule.scope.messages {
                let least = &mut limits.0[kind as usize];
                *least = limit.min(*least);
            }
        }
        let has_limit = limits.0.iter().any(|limit| *limit != usize::MAX);
        has_limit.then(|| Box::new(limits) as _)
    }

    fn explain(&self, subject: &Subject<'_>, message: Message<'_>) -> Option<Effect> {
        let Message { flow, kind, key } = message;
        let here = self.rules.iter().enumerate().filter(|(_, rule)| {
            rule.scope.messages.contains(&kind)
                && scope::is_in(&rule.scope, subject, flow, Some(key))
        });
        let (number, least) = here.min_by_key(|(_, rule)| rule.size_limit)?;
        let (limit, name) = (least.size_limit, scope::name_of(&least.scope, number));
        Some(Effect {
            key: "low_pass_filter",
            is_denied: false,
            text: format!("payload and attachment have at most {limit} bytes, by {name}"),
            hints: Vec::new(),
        })
    }

    fn reason(&self) -> Option<Reason> {
        Some(Reason::Size)
    }

    fn needs_interfaces(&self) -> bool {
        self.rules
            .iter()
            .any(|rule| rule.scope.interfaces.is_some())
    }
}

/// The limits for one neighbour, direction and key, by kind.
struct SizeLimits([usize; MessageKind::ALL.len()]);

impl BoundFilter for SizeLimits {
    #[inline]
    fn decide(&self, message: &MessageView) -> Decision {
        match message.bytes() <= self.0[message.kind as usize] {
            true => Decision::Pass,
            false => Decision::Drop(Reason::Size),
        }
    }

    fn lets_all_pass(&self, kind: MessageKind) -> bool {
        self.0[kind as usize] == usize::MAX
    }
}

#[cfg(test)]
mod tests {
    use zonda_codec::Qos;

    use super::*;
    use crate::{
        config::Scope,
        filter::tests::{put, status, subject},
    };

    fn rule(keys: &[&str], size_limit: usize) -> LowPassRule {
        let key = |key: &&str| KeyExpr::try_from((*key).to_owned()).expect("a key");
        let scope = Scope {
            id: None,
            zids: None,
            interfaces: None,
            protocols: None,
            flows: vec![Flow::Ingress, Flow::Egress],
            messages: vec![MessageKind::Put],
            keys: Some(keys.iter().map(key).collect()),
        };
        LowPassRule { scope, size_limit }
    }

    /// Returns the largest put on `key` that passes.
    fn limit(rules: &[LowPassRule], key: Option<&str>) -> Option<usize> {
        let (filter, status) = (LowPassFilter::new(rules)?, status());
        let key = key.map(|key| KeyExpr::try_from(key).expect("a key"));
        let bound = filter.bind(&subject(&status, &["tcp"]), Flow::Egress, key.as_ref())?;
        let passes = |&bytes: &usize| bound.decide(&put(bytes, Qos::DATA)) == Decision::Pass;
        (0..1000).rev().find(passes)
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
}
