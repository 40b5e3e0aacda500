// SPDX-License-Identifier: MIT OR Apache-2.0

//! The rules of `low_pass_filter`, which drop messages above a size, by key, kind, direction and
//! link.

use crate::{
    rule::members,
    scope::{self, Scope},
    value::Value,
};

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LowPassRule {
    /// The messages that the rule applies to.
    pub scope: Scope,
    /// Maximum bytes of payload and attachment together.
    pub size_limit: usize,
}

/// Reads the rules of a value.
///
/// # Errors
/// The form that was expected instead of the first invalid item, in words.
pub fn rules(value: &Value) -> Result<Vec<LowPassRule>, String> {
    scope::rules(value, rule, |rule| &rule.scope)
}

fn rule(value: &Value) -> Result<LowPassRule, String> {
    let (mut scope, mut limit) = (Scope::new(), None);
    for (name, member) in members("", value)? {
        match name {
            "size_limit" => limit = Some(size(&member.value)?),
            _ if scope.take(name, member)? => {}
            other => return Err(format!("{other:?} is not a part of a rule")),
        }
    }
    let scope = scope.checked()?;
    if scope.keys.is_none() {
        return Err("it has no key_exprs".into());
    }
    let size_limit = limit.ok_or("it has no size_limit")?;
    Ok(LowPassRule { scope, size_limit })
}

fn size(value: &Value) -> Result<usize, String> {
    match value {
        Value::Number(n) if n.fract() == 0.0 && (0.0..=9.0e15).contains(n) => Ok(*n as usize),
        other => Err(format!(
            "size_limit is {other}, not a whole number of bytes"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flow, MessageKind, json5};

    fn read(text: &str) -> Result<Vec<LowPassRule>, String> {
        rules(&json5::parse(text).expect("it is JSON5").value)
    }

    #[test]
    fn a_rule_has_what_it_says_and_defaults() {
        let rules = read(
            "[{messages: ['put', 'reply'], key_exprs: ['a/**'], size_limit: 10, id: null, interfaces: null},
              {id: 'x', flows: ['egress'], interfaces: ['lo'], link_protocols: ['tcp'], messages: ['query'],
               key_exprs: ['b', 'c/*'], size_limit: 0}]",
        )
        .expect("they are rules");
        let [first, second] = &rules[..] else {
            panic!("two rules")
        };
        assert_eq!((first.size_limit, second.size_limit), (10, 0));
        let (first, second) = (&first.scope, &second.scope);
        assert_eq!(first.flows, [Flow::Ingress, Flow::Egress]);
        assert_eq!(first.messages, [MessageKind::Put, MessageKind::Reply]);
        assert_eq!(first.keys.as_ref().map(Vec::len), Some(1));
        assert_eq!((&first.interfaces, &first.protocols), (&None, &None));
        assert_eq!(second.flows, [Flow::Egress]);
        assert_eq!(second.interfaces.as_deref(), Some(&["lo".to_owned()][..]));
    }

    #[test]
    fn what_is_no_rule_says_which_and_why() {
        let whole = "messages: ['put'], key_exprs: ['a'], size_limit: 1";
        for (text, said) in [
            ("{}".to_owned(), "a list of rules"),
            ("[1]".to_owned(), "rule 1: is not an object"),
            (
                "[{messages: ['put'], key_exprs: ['a']}]".to_owned(),
                "it has no size_limit",
            ),
            (
                "[{key_exprs: ['a'], size_limit: 1}]".to_owned(),
                "it has no messages",
            ),
            (
                "[{messages: ['put'], size_limit: 1}]".to_owned(),
                "it has no key_exprs",
            ),
            (
                format!("[{{{whole}}}, {{{whole}, flow: ['egress']}}]"),
                "rule 2: \"flow\" is not a part",
            ),
            (
                format!("[{{{whole}, flows: ['out']}}]"),
                "\"out\" is neither ingress nor egress",
            ),
            (
                format!("[{{{whole}, interfaces: []}}]"),
                "interfaces is not a list with at least one",
            ),
            (
                format!("[{{id: 'x', {whole}}}, {{id: 'x', {whole}}}]"),
                "the id \"x\" is repeated",
            ),
            (
                "[{messages: ['push'], key_exprs: ['a'], size_limit: 1}]".to_owned(),
                "none of put, delete",
            ),
            (
                "[{messages: ['put'], key_exprs: ['a//b'], size_limit: 1}]".to_owned(),
                "a//b",
            ),
            (
                "[{messages: ['put'], key_exprs: ['a'], size_limit: -1}]".to_owned(),
                "not a whole number",
            ),
        ] {
            let error = read(&text).expect_err(&text);
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
