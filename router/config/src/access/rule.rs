// SPDX-License-Identifier: MIT OR Apache-2.0

//! One rule of `access_control/rules`: kinds of messages on keys, which it allows or denies.

use zonda_codec::KeyExpr;

use crate::{
    rule::{Flow, MessageKind, RULE, flow, key, members, named, one_of, text},
    value::Value,
};

use super::{Permission, list, name};

/// A rule. It has an effect on the subjects that a policy applies it to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessRule {
    id: String,
    permission: Permission,
    flows: Vec<Flow>,
    messages: Vec<MessageKind>,
    keys: Vec<KeyExpr<'static>>,
}

impl AccessRule {
    /// Its name, unique among the rules.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The permission for the messages that it is about.
    #[must_use]
    pub fn permission(&self) -> Permission {
        self.permission
    }

    /// The directions, at least one.
    #[must_use]
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// The kinds of messages, at least one.
    #[must_use]
    pub fn messages(&self) -> &[MessageKind] {
        &self.messages
    }

    /// The key expressions, at least one.
    #[must_use]
    pub fn keys(&self) -> &[KeyExpr<'static>] {
        &self.keys
    }
}

/// Reads the rules of a value; `None` if it is null.
///
/// # Errors
/// The form that was expected instead of the first invalid item, in words.
pub fn rules(value: &Value) -> Result<Option<Vec<AccessRule>>, String> {
    list(RULE, value, rule, |rule| Some(&rule.id))
}

fn rule(value: &Value) -> Result<AccessRule, String> {
    let (mut id, mut permission, mut messages, mut keys) = (None, None, None, None);
    let mut flows = vec![Flow::Ingress, Flow::Egress];
    let permissions = [("allow", Permission::Allow), ("deny", Permission::Deny)];
    for (part, member) in members("", value)? {
        let value = &member.value;
        match part {
            "id" => id = Some(name(text(part, member)?)?),
            "permission" => permission = Some(one_of(part, member, &permissions)?),
            "flows" => flows = named(part, value, flow)?,
            "messages" => messages = Some(named(part, value, kind)?),
            "key_exprs" => keys = Some(named(part, value, key)?),
            other => {
                return Err(format!(
                    "{other:?} is none of id, permission, messages, key_exprs, flows"
                ));
            }
        }
    }
    Ok(AccessRule {
        id: id.ok_or("it has no id")?,
        permission: permission.ok_or("it has no permission")?,
        flows,
        messages: messages.ok_or("it has no messages")?,
        keys: keys.ok_or("it has no key_exprs")?,
    })
}

/// Reads a kind of message.
fn kind(text: &str) -> Result<MessageKind, String> {
    let mut all = MessageKind::ALL.into_iter();
    all.find(|kind| kind.name() == text).ok_or_else(|| {
        let names = MessageKind::ALL.map(MessageKind::name).join(", ");
        format!("{text:?} is none of {names}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json5;

    fn read(text: &str) -> Result<Option<Vec<AccessRule>>, String> {
        rules(&json5::parse(text).expect("it is JSON5").value)
    }

    #[test]
    fn a_rule_has_its_parts_and_both_directions() {
        let rules = read(
            "[{id: 'x', permission: 'allow', messages: ['put', 'liveliness_query'], key_exprs: ['a/**']},
              {id: 'y', permission: 'deny', messages: ['reply'], key_exprs: ['b', 'c'], flows: ['egress']}]",
        )
        .expect("they are rules")
        .expect("a list");
        let [first, second] = &rules[..] else {
            panic!("two rules")
        };
        assert_eq!((first.id(), first.permission()), ("x", Permission::Allow));
        assert_eq!(first.flows(), [Flow::Ingress, Flow::Egress]);
        let kinds = [MessageKind::Put, MessageKind::LivelinessQuery];
        assert_eq!(first.messages(), kinds);
        assert_eq!((second.id(), second.permission()), ("y", Permission::Deny));
        assert_eq!(second.flows(), [Flow::Egress]);
        assert_eq!(second.keys().len(), 2);
        assert_eq!(read("null"), Ok(None));
        assert_eq!(read("[]"), Ok(Some(Vec::new())));
    }

    #[test]
    fn every_kind_of_message_has_a_name_here() {
        for kind in MessageKind::ALL {
            let name = kind.name();
            let text = format!(
                "[{{id: 'x', permission: 'deny', messages: ['{name}'], key_exprs: ['a']}}]"
            );
            let rules = read(&text).expect(&text).expect("a list");
            assert_eq!(rules[0].messages(), [kind]);
        }
    }

    #[test]
    fn each_fault_is_named() {
        let whole = "id: 'x', permission: 'deny', messages: ['put'], key_exprs: ['a']";
        for (text, said) in [
            ("{}".to_owned(), "a list of rules"),
            (format!("[{{{whole}}}, 1]"), "rule 2: is not an object"),
            (
                format!("[{{{whole}, key: 'a'}}]"),
                "rule 1: \"key\" is none of",
            ),
            (
                format!("[{{{whole}}}, {{{whole}}}]"),
                "rule 2: the id \"x\" is repeated",
            ),
            (
                format!("[{{{whole}, flows: []}}]"),
                "flows is not a list with at least one",
            ),
            (
                format!("[{{{whole}, flows: ['in']}}]"),
                "neither ingress nor egress",
            ),
            (
                format!("[{{{whole}, messages: ['get']}}]"),
                "\"get\" is none of put, delete, query",
            ),
            (
                format!("[{{{whole}, messages: []}}]"),
                "messages is not a list with at least one",
            ),
            (
                format!("[{{{whole}, key_exprs: []}}]"),
                "key_exprs is not a list with",
            ),
            (format!("[{{{whole}, key_exprs: ['a//b']}}]"), "a//b"),
            (
                format!("[{{{whole}, permission: 'ask'}}]"),
                "\"ask\" is none of allow, deny",
            ),
            (format!("[{{{whole}, id: ' '}}]"), "an empty text"),
            (
                "[{permission: 'deny', messages: ['put'], key_exprs: ['a']}]".into(),
                "it has no id",
            ),
            (
                "[{id: 'x', messages: ['put'], key_exprs: ['a']}]".into(),
                "it has no permission",
            ),
            (
                "[{id: 'x', permission: 'deny', key_exprs: ['a']}]".into(),
                "it has no messages",
            ),
            (
                "[{id: 'x', permission: 'deny', messages: ['put']}]".into(),
                "it has no key_exprs",
            ),
        ] {
            let error = read(&text).expect_err(&text);
            assert!(
                error.contains(said) && !error.contains('\n'),
                "{text}: {error}"
            );
        }
    }
}
