// SPDX-License-Identifier: MIT OR Apache-2.0

//! The rules of `qos/publication`: how the publications of a session are carried, whatever the program says, by key.

use zonda_codec::{CongestionControl, KeyExpr, Priority, Reliability};

use crate::config::{
    rule::{key, named, text},
    value::{Located, Value},
};
use crate::table::Locality;

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicationRule {
    /// It is for the keys that one of these includes.
    pub keys: Vec<KeyExpr<'static>>,
    /// What it has in the place of what the program asked for.
    pub service: ServiceGiven,
}

/// How a publication is carried, as far as a rule says it: `None` for what is left to the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServiceGiven {
    /// Which messages go first.
    pub priority: Option<Priority>,
    /// What happens when a neighbour is slow.
    pub congestion_control: Option<CongestionControl>,
    /// Whether a message is not to wait for company in a batch.
    pub express: Option<bool>,
    /// Whether hops may lose a message.
    pub reliability: Option<Reliability>,
    /// Whether subscribers of the session get it, those of others, or both.
    pub destination: Option<Locality>,
}

/// The rules of a value.
///
/// # Errors
/// What is wrong with the first rule that is none, in words: what was expected.
pub fn rules(value: &Value) -> Result<Vec<PublicationRule>, String> {
    let Value::List(items) = value else {
        return Err("a list of rules".into());
    };
    let each = items.iter().enumerate();
    let read = |(number, item): (usize, &Located)| {
        rule(&item.value).map_err(|what| format!("rules (rule {}: {what})", number + 1))
    };
    each.map(read).collect()
}

fn rule(value: &Value) -> Result<PublicationRule, String> {
    let Value::Object(members) = value else {
        return Err("is not an object".into());
    };
    let (mut keys, mut given) = (Vec::new(), None);
    for (name, member) in members {
        match name.as_str() {
            "key_exprs" => keys = named(name, &member.value, key)?,
            "config" => given = Some(service(&member.value)?),
            other => return Err(format!("{other:?} is not a part of a rule")),
        }
    }
    if keys.is_empty() {
        return Err("it has no key_exprs".into());
    }
    let service = given.ok_or("it has no config")?;
    Ok(PublicationRule { keys, service })
}

fn service(value: &Value) -> Result<ServiceGiven, String> {
    let Value::Object(members) = value else {
        return Err("config is not an object".into());
    };
    let mut given = ServiceGiven::default();
    for (name, member) in members {
        if matches!(member.value, Value::Null) {
            // As if it were not there: so the reference writes what is not set.
            continue;
        }
        match name.as_str() {
            "priority" => given.priority = Some(one_of(name, member, &PRIORITIES)?),
            "congestion_control" => {
                given.congestion_control = Some(one_of(name, member, &CONGESTION_CONTROLS)?);
            }
            "express" => given.express = Some(yes_or_no(name, member)?),
            "reliability" => given.reliability = Some(one_of(name, member, &RELIABILITIES)?),
            "allowed_destination" => {
                given.destination = Some(one_of(name, member, &DESTINATIONS)?);
            }
            other => return Err(format!("{other:?} is not a part of config")),
        }
    }
    Ok(given)
}

const PRIORITIES: [(&str, Priority); 7] = [
    ("real_time", Priority::RealTime),
    ("interactive_high", Priority::InteractiveHigh),
    ("interactive_low", Priority::InteractiveLow),
    ("data_high", Priority::DataHigh),
    ("data", Priority::Data),
    ("data_low", Priority::DataLow),
    ("background", Priority::Background),
];

const CONGESTION_CONTROLS: [(&str, CongestionControl); 3] = [
    ("drop", CongestionControl::Drop),
    ("block", CongestionControl::Block),
    ("block_first", CongestionControl::BlockFirst),
];

const RELIABILITIES: [(&str, Reliability); 2] = [
    ("best_effort", Reliability::BestEffort),
    ("reliable", Reliability::Reliable),
];

const DESTINATIONS: [(&str, Locality); 3] = [
    ("session_local", Locality::SessionLocal),
    ("remote", Locality::Remote),
    ("any", Locality::Any),
];

/// What a text means.
fn one_of<T: Copy>(name: &str, member: &Located, meanings: &[(&str, T)]) -> Result<T, String> {
    let said = text(name, member)?;
    let found = meanings.iter().find(|(meaning, _)| *meaning == said);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<_> = meanings.iter().map(|(meaning, _)| *meaning).collect();
        format!("{name} {said:?} is none of {}", names.join(", "))
    })
}

fn yes_or_no(name: &str, member: &Located) -> Result<bool, String> {
    match &member.value {
        Value::Bool(value) => Ok(*value),
        other => Err(format!("{name} is {}, not true or false", other.kind())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::json5;

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
            destination: Some(Locality::SessionLocal),
        };
        assert_eq!(rules[0].service, all);
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
