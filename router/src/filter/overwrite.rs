// SPDX-License-Identifier: MIT OR Apache-2.0

//! Changes of QoS by the rules of `qos/network`. Rules apply in order, each to the result of the
//! one before.

use std::sync::Arc;

use zonda_codec::{KeyExpr, Qos};

use crate::config::{Flow, MessageKind, NetworkRule, Overwrite};

use super::{
    contract::{BoundFilter, Decision, Effect, Filter, Message, MessageView, Subject},
    scope,
};

/// The rules of a node.
#[derive(Debug)]
pub(super) struct OverwriteFilter {
    rules: Vec<Arc<NetworkRule>>,
}

impl OverwriteFilter {
    /// Creates the filter; `None` without a rule.
    pub(super) fn new(rules: &[NetworkRule]) -> Option<OverwriteFilter> {
        (!rules.is_empty()).then(|| OverwriteFilter {
            rules: rules.iter().cloned().map(Arc::new).collect(),
        })
    }
}

impl Filter for OverwriteFilter {
    fn bind(
        &self,
        subject: &Subject<'_>,
        flow: Flow,
        key: Option<&KeyExpr<'_>>,
    ) -> Option<Box<dyn BoundFilter>> {
        // Rules cannot be selected without a key, so the message stays unchanged.
        key?;
        let here = self
            .rules
            .iter()
            .filter(|rule| scope::is_in(&rule.scope, subject, flow, key));
        let here: Vec<_> = here.cloned().collect();
        (!here.is_empty()).then(|| Box::new(Rules(here)) as _)
    }

    fn explain(&self, subject: &Subject<'_>, message: Message<'_>) -> Option<Effect> {
        let Message { flow, kind, key } = message;
        let here = self.rules.iter().enumerate().filter(|(_, rule)| {
            rule.scope.messages.contains(&kind)
                && scope::is_in(&rule.scope, subject, flow, Some(key))
        });
        let names: Vec<_> = here
            .map(|(number, rule)| scope::name_of(&rule.scope, number))
            .collect();
        (!names.is_empty()).then(|| Effect {
            key: "qos/network",
            is_denied: false,
            text: format!("the QoS may change, by {}", names.join(" and ")),
            hints: Vec::new(),
        })
    }

    fn needs_interfaces(&self) -> bool {
        self.rules
            .iter()
            .any(|rule| rule.scope.interfaces.is_some())
    }
}

/// The rules for one neighbour, direction and key.
struct Rules(Vec<Arc<NetworkRule>>);

impl BoundFilter for Rules {
    fn decide(&self, message: &MessageView) -> Decision {
        let mut seen = *message;
        for rule in &self.0 {
            if is_for(rule, seen) {
                seen.qos = changed(&rule.overwrite, seen.qos);
            }
        }
        Decision::PassAs(seen.qos)
    }

    fn lets_all_pass(&self, kind: MessageKind) -> bool {
        let mut rules = self.0.iter();
        !rules.any(|rule| rule.scope.messages.contains(&kind))
    }
}

/// Returns true if a rule applies to a message whose links and key match.
fn is_for(rule: &NetworkRule, seen: MessageView) -> bool {
    let (carried, qos) = (&rule.carried, seen.qos);
    let congestion_control = carried.congestion_control;
    rule.scope.messages.contains(&seen.kind)
        && rule.payload_bytes.contains(&(seen.payload as u64))
        && carried.priority.is_none_or(|own| own == qos.priority())
        && congestion_control.is_none_or(|own| own == qos.congestion_control())
        && carried.express.is_none_or(|own| own == qos.is_express())
        && carried
            .reliability
            .is_none_or(|own| own == seen.reliability)
}

/// Returns the QoS after the changes of a rule.
fn changed(by: &Overwrite, before: Qos) -> Qos {
    let (priority, congestion_control) = (before.priority(), before.congestion_control());
    Qos::new(
        by.priority.map_or(priority, |change| change.of(priority)),
        by.congestion_control.unwrap_or(congestion_control),
        by.express.unwrap_or(before.is_express()),
    )
}

#[cfg(test)]
mod tests {
    use zonda_codec::{CongestionControl, Priority};

    use super::*;
    use crate::{
        config::Config,
        filter::tests::{put, status, subject},
    };

    const BEFORE: Qos = Qos::new(Priority::DataLow, CongestionControl::Drop, false);

    /// Returns the QoS after these rules of a put on `key` with `payload` bytes.
    fn carried(rules: &str, key: &str, payload: usize) -> Qos {
        let mut config = Config::default();
        config
            .insert_json5("qos/network", rules)
            .expect("they are rules");
        let filter = OverwriteFilter::new(&config.settings().network_rules).expect("rules");
        let (key, status) = (KeyExpr::try_from(key).expect("a key"), status());
        let subject = subject(&status, &["tcp", "tls"]);
        let Some(bound) = filter.bind(&subject, Flow::Egress, Some(&key)) else {
            return BEFORE;
        };
        match bound.decide(&put(payload, BEFORE)) {
            Decision::PassAs(qos) => qos,
            other => panic!("all pass: {other:?}"),
        }
    }

    #[test]
    fn a_rule_says_what_it_names_and_leaves_the_rest() {
        let all = "[{messages: ['put'], overwrite: {priority: 'real_time', congestion_control: 'block', express: true}}]";
        let everything = Qos::new(Priority::RealTime, CongestionControl::Block, true);
        assert_eq!(carried(all, "a", 0), everything);
        let express = "[{messages: ['put'], overwrite: {express: true}}]";
        let alone = Qos::new(Priority::DataLow, CongestionControl::Drop, true);
        assert_eq!(carried(express, "a", 0), alone);
    }

    #[test]
    fn a_rule_is_for_what_all_of_its_parts_are_for() {
        let rule = |part: &str| {
            format!("[{{messages: ['put', 'query'], overwrite: {{express: true}}, {part}}}]")
        };
        for (part, is_for) in [
            ("key_exprs: ['a/**', 'b']", true),
            ("key_exprs: ['b/**']", false),
            ("zids: ['a1', 'b2']", true),
            ("zids: ['b2']", false),
            ("link_protocols: ['tls']", true),
            ("link_protocols: ['quic']", false),
            ("interfaces: ['lo', 'eth0']", true),
            ("interfaces: ['eth0']", false),
            ("flows: ['egress']", true),
            ("flows: ['ingress']", false),
            ("messages: ['delete']", false),
            ("payload_size: '10..'", true),
            ("payload_size: '..10'", true),
            ("payload_size: '11..'", false),
            (
                "qos: {priority: 'data_low', congestion_control: 'drop'}",
                true,
            ),
            ("qos: {priority: 'data'}", false),
            ("qos: {congestion_control: 'block'}", false),
            ("qos: {express: false}", true),
            ("qos: {express: true}", false),
            ("qos: {reliability: 'reliable'}", true),
            ("qos: {reliability: 'best_effort'}", false),
        ] {
            let is_express = carried(&rule(part), "a/b", 10).is_express();
            assert_eq!(is_express, is_for, "{part}");
        }
    }

    #[test]
    fn rules_apply_to_what_the_ones_before_have_made() {
        let rules = "[{messages: ['put'], overwrite: {priority: 'data'}},
                      {messages: ['put'], qos: {priority: 'data'}, overwrite: {priority: -1}},
                      {messages: ['put'], qos: {priority: 'data_low'}, overwrite: {express: true}}]";
        let after = Qos::new(Priority::DataHigh, CongestionControl::Drop, false);
        assert_eq!(carried(rules, "a", 0), after);
    }
}
