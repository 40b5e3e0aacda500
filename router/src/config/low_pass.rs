// SPDX-License-Identifier: MIT OR Apache-2.0

//! The rules of `low_pass_filter`: messages above a size are dropped, by key, kind, direction and link.

use zonda_codec::KeyExpr;

use crate::config::{
    rule::{Flow, MessageKind, flow, key, kind, named, text, texts},
    value::Value,
};

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LowPassRule {
    /// The interfaces of the links that it is for; `None` for all.
    pub interfaces: Option<Vec<String>>,
    /// The protocols of the links that it is for; `None` for all.
    pub protocols: Option<Vec<String>>,
    /// The directions that it is for.
    pub flows: Vec<Flow>,
    /// The kinds of messages that it is for.
    pub messages: Vec<MessageKind>,
    /// It is for the keys that one of these includes.
    pub keys: Vec<KeyExpr<'static>>,
    /// Bytes of payload and attachment that pass.
    pub size_limit: usize,
}

/// The rules of a value.
///
/// # Errors
/// What is wrong with the first rule that is none, in words: what was expected.
pub fn rules(value: &Value) -> Result<Vec<LowPassRule>, String> {
    let Value::List(items) = value else {
        return Err("a list of rules".into());
    };
    let mut rules = Vec::new();
    let mut ids = Vec::new();
    for (number, item) in items.iter().enumerate() {
        let at = |what: String| format!("rules (rule {}: {what})", number + 1);
        let (id, rule) = rule(&item.value).map_err(at)?;
        if let Some(id) = id {
            if ids.contains(&id) {
                return Err(at(format!("the id {id:?} is taken already")));
            }
            ids.push(id);
        }
        rules.push(rule);
    }
    Ok(rules)
}

fn rule(value: &Value) -> Result<(Option<String>, LowPassRule), String> {
    let Value::Object(members) = value else {
        return Err("is not an object".into());
    };
    let mut id = None;
    let mut rule = LowPassRule {
        interfaces: None,
        protocols: None,
        flows: vec![Flow::Ingress, Flow::Egress],
        messages: Vec::new(),
        keys: Vec::new(),
        size_limit: 0,
    };
    let mut limit = None;
    for (name, member) in members {
        let value = &member.value;
        if matches!(value, Value::Null) {
            // As if it were not there: so the reference writes what is not set.
            continue;
        }
        match name.as_str() {
            "id" => id = Some(text(name, member)?.to_owned()),
            "interfaces" => rule.interfaces = Some(texts(name, value)?),
            "link_protocols" => rule.protocols = Some(texts(name, value)?),
            "flows" => rule.flows = named(name, value, flow)?,
            "messages" => rule.messages = named(name, value, kind)?,
            "key_exprs" => rule.keys = named(name, value, key)?,
            "size_limit" => limit = Some(size(value)?),
            other => return Err(format!("{other:?} is not a part of a rule")),
        }
    }
    if rule.messages.is_empty() {
        return Err("it has no messages".into());
    }
    if rule.keys.is_empty() {
        return Err("it has no key_exprs".into());
    }
    rule.size_limit = limit.ok_or("it has no size_limit")?;
    Ok((id, rule))
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
    use crate::config::json5;

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
        assert_eq!(rules[0].flows, [Flow::Ingress, Flow::Egress]);
        assert_eq!(rules[0].messages, [MessageKind::Put, MessageKind::Reply]);
        assert_eq!((rules[0].size_limit, rules[0].keys.len()), (10, 1));
        assert_eq!((&rules[0].interfaces, &rules[0].protocols), (&None, &None));
        assert_eq!(rules[1].flows, [Flow::Egress]);
        assert_eq!(rules[1].interfaces.as_deref(), Some(&["lo".to_owned()][..]));
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
                "the id \"x\" is taken already",
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
