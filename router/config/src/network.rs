// SPDX-License-Identifier: MIT OR Apache-2.0

//! The rules of `qos/network`, which change the QoS of messages that pass a link, by key, kind,
//! direction, link, size and current QoS.

use std::ops::RangeInclusive;

use zonda_codec::{CongestionControl, Priority};

use crate::{
    rule::{MessageKind, members, one_of, text},
    scope::{self, Scope},
    service::{PRIORITIES, ServiceGiven},
    value::{Located, Value},
};

/// Largest number of steps by which a priority may change.
const STEPS_MAX: f64 = 7.0;

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkRule {
    /// The messages that the rule applies to.
    pub scope: Scope,
    /// Condition: the current QoS of the message.
    pub carried: ServiceGiven,
    /// Condition: the number of payload bytes.
    pub payload_bytes: RangeInclusive<u64>,
    /// The new QoS.
    pub overwrite: Overwrite,
}

/// The QoS of messages from this link on; `None` keeps the message's own value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overwrite {
    /// Change of the priority.
    pub priority: Option<PriorityChange>,
    /// Behaviour when a neighbour is slow.
    pub congestion_control: Option<CongestionControl>,
    /// True if the message is sent without waiting for more messages in its batch.
    pub express: Option<bool>,
}

/// Change of a priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriorityChange {
    /// Sets this priority.
    To(Priority),
    /// Adds these steps: positive to less urgent, negative to more urgent priorities.
    By(i8),
}

impl PriorityChange {
    /// Returns the new priority of a message. No change leads to the priority of the protocol's own
    /// messages.
    #[must_use]
    pub fn of(self, before: Priority) -> Priority {
        match self {
            PriorityChange::To(priority) => priority,
            PriorityChange::By(steps) => {
                let number = (before as i8).saturating_add(steps);
                let (first, last) = (Priority::RealTime as i8, Priority::Background as i8);
                Priority::ALL[usize::from(number.clamp(first, last).unsigned_abs())]
            }
        }
    }
}

/// Reads the rules of a value.
///
/// # Errors
/// The form that was expected instead of the first invalid item, in words.
pub fn rules(value: &Value) -> Result<Vec<NetworkRule>, String> {
    scope::rules(value, rule, |rule| &rule.scope)
}

fn rule(value: &Value) -> Result<NetworkRule, String> {
    let mut scope = Scope::new();
    let mut carried = ServiceGiven::default();
    let mut payload_bytes = 0..=u64::MAX;
    let mut given = None;
    // Scope, conditions and overrides may come in any order.
    for (name, member) in members("", value)? {
        match name {
            "qos" => carried = service(member)?,
            "payload_size" => payload_bytes = range(member)?,
            "overwrite" => given = Some(overwrite(member)?),
            _ if scope.take(name, member)? => {}
            other => return Err(format!("{other:?} is not a part of a rule")),
        }
    }
    let scope = scope.checked()?;
    if scope.messages.contains(&MessageKind::Reply) {
        return Err("messages has \"reply\", but replies are carried as their query was".into());
    }
    Ok(NetworkRule {
        scope,
        carried,
        payload_bytes,
        overwrite: given.ok_or("it has no overwrite")?,
    })
}

fn service(member: &Located) -> Result<ServiceGiven, String> {
    let mut carried = ServiceGiven::default();
    for (name, member) in members("qos ", &member.value)? {
        if !carried.take(name, member)? {
            return Err(format!("{name:?} is not a part of qos"));
        }
    }
    Ok(carried)
}

fn overwrite(member: &Located) -> Result<Overwrite, String> {
    let (mut given, mut priority) = (ServiceGiven::default(), None);
    for (name, member) in members("overwrite ", &member.value)? {
        match name {
            "priority" => priority = Some(change(member)?),
            "congestion_control" | "express" => drop(given.take(name, member)?),
            other => return Err(format!("{other:?} is not a part of overwrite")),
        }
    }
    Ok(Overwrite {
        priority,
        congestion_control: given.congestion_control,
        express: given.express,
    })
}

fn change(member: &Located) -> Result<PriorityChange, String> {
    match &member.value {
        Value::Number(n) if n.fract() == 0.0 && n.abs() <= STEPS_MAX => {
            Ok(PriorityChange::By(*n as i8))
        }
        Value::Number(n) => Err(format!("priority is {n}, not a whole number from -7 to 7")),
        _ => one_of("priority", member, &PRIORITIES).map(PriorityChange::To),
    }
}

/// Parses a range as `1000..`, `..1000` or `10..1000`, both ends included.
fn range(member: &Located) -> Result<RangeInclusive<u64>, String> {
    let said = text("payload_size", member)?;
    let wrong = || format!("payload_size {said:?} is no range such as \"1000..\" or \"10..1000\"");
    let (first, last) = said.split_once("..").ok_or_else(wrong)?;
    let end = |text: &str, open: u64| match text {
        "" => Ok(open),
        text => text.parse().map_err(|_| wrong()),
    };
    Ok(end(first, 0)?..=end(last, u64::MAX)?)
}

#[cfg(test)]
mod tests {
    use zonda_codec::Reliability;

    use super::*;
    use crate::{Flow, json5};

    fn read(text: &str) -> Result<Vec<NetworkRule>, String> {
        rules(&json5::parse(text).expect("it is JSON5").value)
    }

    #[test]
    fn a_rule_has_what_it_says_and_defaults() {
        let rules = read(
            "[{messages: ['put'], overwrite: {priority: 'real_time', congestion_control: 'block', express: true}},
              {id: 'x', zids: ['a1'], messages: ['query', 'delete'], flows: ['egress'], key_exprs: ['a/**'],
               qos: {priority: 'data', reliability: 'best_effort', express: null}, payload_size: '10..1000',
               overwrite: {priority: -2}}]",
        )
        .expect("they are rules");
        let [first, second] = &rules[..] else {
            panic!("two rules")
        };
        assert_eq!((&first.scope.keys, first.scope.flows.len()), (&None, 2));
        assert_eq!(first.payload_bytes, 0..=u64::MAX);
        assert_eq!(first.carried, ServiceGiven::default());
        let overwrite = Overwrite {
            priority: Some(PriorityChange::To(Priority::RealTime)),
            congestion_control: Some(CongestionControl::Block),
            express: Some(true),
        };
        assert_eq!(first.overwrite, overwrite);
        assert_eq!(second.scope.flows, [Flow::Egress]);
        assert_eq!(second.scope.zids.as_ref().map(Vec::len), Some(1));
        assert_eq!(second.payload_bytes, 10..=1000);
        assert_eq!(second.carried.priority, Some(Priority::Data));
        assert_eq!(second.carried.reliability, Some(Reliability::BestEffort));
        let overwrite = Overwrite {
            priority: Some(PriorityChange::By(-2)),
            ..Overwrite::default()
        };
        assert_eq!(second.overwrite, overwrite);
    }

    #[test]
    fn a_priority_moves_within_those_of_users() {
        for (before, steps, after) in [
            (Priority::Data, 1, Priority::DataLow),
            (Priority::Data, -2, Priority::InteractiveLow),
            (Priority::Data, 7, Priority::Background),
            (Priority::Data, -7, Priority::RealTime),
            (Priority::RealTime, -1, Priority::RealTime),
            (Priority::Data, 0, Priority::Data),
        ] {
            assert_eq!(PriorityChange::By(steps).of(before), after, "{steps}");
        }
        let to = PriorityChange::To(Priority::DataHigh);
        assert_eq!(to.of(Priority::Background), Priority::DataHigh);
    }

    #[test]
    fn what_is_no_rule_says_which_and_why() {
        let rest = "messages: ['put'], overwrite: {express: true}";
        for (text, said) in [
            ("{}".to_owned(), "a list of rules"),
            ("[1]".to_owned(), "rule 1: is not an object"),
            ("[{overwrite: {}}]".to_owned(), "it has no messages"),
            (
                "[{messages: [], overwrite: {}}]".to_owned(),
                "messages is not a list with at least one",
            ),
            ("[{messages: ['put']}]".to_owned(), "it has no overwrite"),
            (
                "[{messages: ['reply'], overwrite: {}}]".to_owned(),
                "replies are carried as their query",
            ),
            (
                format!("[{{{rest}}}, {{{rest}, key: 'a'}}]"),
                "rule 2: \"key\" is not a part",
            ),
            (
                format!("[{{id: 'x', {rest}}}, {{id: 'x', {rest}}}]"),
                "the id \"x\" is repeated",
            ),
            (
                format!("[{{{rest}, flows: ['down']}}]"),
                "\"down\" is neither ingress nor egress",
            ),
            (format!("[{{{rest}, flows: []}}]"), "flows is not a list"),
            (format!("[{{{rest}, zids: ['xyz']}}]"), "\"xyz\" is no id"),
            (
                format!("[{{{rest}, payload_size: '10'}}]"),
                "\"10\" is no range",
            ),
            (
                format!("[{{{rest}, payload_size: 'a..'}}]"),
                "\"a..\" is no range",
            ),
            (format!("[{{{rest}, qos: 1}}]"), "qos is not an object"),
            (
                format!("[{{{rest}, qos: {{deadline: 1}}}}]"),
                "\"deadline\" is not a part of qos",
            ),
            (
                "[{messages: ['put'], overwrite: {reliability: 'reliable'}}]".to_owned(),
                "\"reliability\" is not a part of overwrite",
            ),
            (
                "[{messages: ['put'], overwrite: {priority: 8}}]".to_owned(),
                "priority is 8, not a whole number from -7 to 7",
            ),
            (
                "[{messages: ['put'], overwrite: {priority: 'control'}}]".to_owned(),
                "priority \"control\" is none of real_time, ",
            ),
        ] {
            let error = read(&text).expect_err(&text);
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
