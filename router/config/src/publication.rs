// SPDX-License-Identifier: MIT OR Apache-2.0

//! The rules of `qos/publication`, which override the QoS of a session's publications by key.

use zonda_codec::KeyExpr;

use crate::{
    rule::{self, key, members, named, one_of},
    service::ServiceGiven,
    value::Value,
};
use zonda_table::Locality;

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicationRule {
    /// Condition: one of these expressions includes the key.
    pub keys: Vec<KeyExpr<'static>>,
    /// QoS that overrides the program's.
    pub service: ServiceGiven,
    /// Destination of the publication: subscribers of the session, of other nodes, or both; `None`
    /// keeps the program's.
    pub destination: Option<Locality>,
}

/// Reads the rules of a value.
///
/// # Errors
/// The form that was expected instead of the first invalid rule, in words.
pub fn rules(value: &Value) -> Result<Vec<PublicationRule>, String> {
    rule::rules(value, rule)
}

fn rule(value: &Value) -> Result<PublicationRule, String> {
    // The keys, and the object with the overrides.
    let (mut keys, mut config) = (Vec::new(), None);
    for (name, member) in members("", value)? {
        match name {
            "key_exprs" => keys = named(name, &member.value, key)?,
            "config" => config = Some(&member.value),
            other => return Err(format!("{other:?} is not a part of a rule")),
        }
    }
    if keys.is_empty() {
        return Err("it has no key_exprs".into());
    }
    // The overrides.
    let (mut service, mut destination) = (ServiceGiven::default(), None);
    for (name, member) in members("config ", config.ok_or("it has no config")?)? {
        match name {
            "allowed_destination" => destination = Some(one_of(name, member, &DESTINATIONS)?),
            _ if service.take(name, member)? => {}
            other => return Err(format!("{other:?} is not a part of config")),
        }
    }
    Ok(PublicationRule {
        keys,
        service,
        destination,
    })
}

const DESTINATIONS: [(&str, Locality); 3] = [
    ("session_local", Locality::SessionLocal),
    ("remote", Locality::Remote),
    ("any", Locality::Any),
];

#[cfg(test)]
mod tests {
    use zonda_codec::{CongestionControl, Priority, Reliability};

    use super::*;
    use crate::json5;

    fn read(text: &str) -> Result<Vec<PublicationRule>, String> {
        rules(&json5::parse(text).expect("it is JSON5").value)
    }

    #[test]
    fn a_rule_gives_what_it_names_and_leaves_the_rest() {
        let rules = read(
            "[{key_exprs: ['a/**', 'b'], config: {priority: 'real_time', congestion_control: 'block_first',
               express: false, reliability: 'best_effort', allowed_destination: 'session_local'}},
              {key_exprs: ['c'], config: {express: null, priority: 'background'}}]",
        )
        .expect("they are rules");
        assert_eq!(rules[0].keys.len(), 2);
        let all = ServiceGiven {
            priority: Some(Priority::RealTime),
            congestion_control: Some(CongestionControl::BlockFirst),
            express: Some(false),
            reliability: Some(Reliability::BestEffort),
        };
        assert_eq!(rules[0].service, all);
        assert_eq!(rules[0].destination, Some(Locality::SessionLocal));
        let priority = Some(Priority::Background);
        let one = ServiceGiven {
            priority,
            ..ServiceGiven::default()
        };
        assert_eq!(rules[1].service, one);
    }

    #[test]
    fn what_is_no_rule_says_which_and_why() {
        for (text, said) in [
            ("{}", "a list of rules"),
            ("[1]", "rule 1: is not an object"),
            ("[{config: {}}]", "it has no key_exprs"),
            ("[{key_exprs: ['a']}]", "it has no config"),
            ("[{key_exprs: ['a'], config: 1}]", "config is not an object"),
            (
                "[{key_exprs: ['a'], qos: {}}]",
                "\"qos\" is not a part of a rule",
            ),
            (
                "[{key_exprs: ['a'], config: {}}, {key_exprs: ['a'], config: {priorty: 'data'}}]",
                "rule 2: \"priorty\" is not a part of config",
            ),
            (
                "[{key_exprs: ['a'], config: {priority: 'high'}}]",
                "priority \"high\" is none of real_time, ",
            ),
            (
                "[{key_exprs: ['a'], config: {express: 'yes'}}]",
                "express is a text, not true or false",
            ),
            (
                "[{key_exprs: ['a'], config: {reliability: 1}}]",
                "reliability is a number, not a text",
            ),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
