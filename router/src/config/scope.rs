// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which messages a rule about what passes a link is for: by neighbour, link, direction, kind and key.

use std::collections::HashSet;

use zonda_codec::{KeyExpr, ZenohId};

use crate::config::{
    rule::{self, Flow, MessageKind, flow, id, key, kind, named, text, texts},
    value::{Located, Value},
};

/// Which messages a rule is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The name of the rule; no two of a list have the same one.
    pub id: Option<String>,
    /// The neighbours; `None` for all.
    pub zids: Option<Vec<ZenohId>>,
    /// The interfaces, of which a link to the neighbour uses one; `None` for all.
    pub interfaces: Option<Vec<String>>,
    /// The protocols, of which a link to the neighbour has one; `None` for all.
    pub protocols: Option<Vec<String>>,
    /// The directions.
    pub flows: Vec<Flow>,
    /// The kinds of messages.
    pub messages: Vec<MessageKind>,
    /// The keys, of which one includes that of the message; `None` for all.
    pub keys: Option<Vec<KeyExpr<'static>>>,
}

impl Scope {
    /// Messages of no kind yet, both ways.
    pub(super) fn new() -> Scope {
        Scope {
            id: None,
            zids: None,
            interfaces: None,
            protocols: None,
            flows: vec![Flow::Ingress, Flow::Egress],
            messages: Vec::new(),
            keys: None,
        }
    }

    /// Takes a member of a rule; false if it is about something else.
    pub(super) fn take(&mut self, name: &str, member: &Located) -> Result<bool, String> {
        let value = &member.value;
        match name {
            "id" => self.id = Some(text(name, member)?.to_owned()),
            "zids" => self.zids = Some(named(name, value, id)?),
            "interfaces" => self.interfaces = Some(texts(name, value)?),
            "link_protocols" => self.protocols = Some(texts(name, value)?),
            "flows" => self.flows = named(name, value, flow)?,
            "messages" => self.messages = named(name, value, kind)?,
            "key_exprs" => self.keys = Some(named(name, value, key)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The scope of a whole rule.
    ///
    /// # Errors
    /// It has no messages.
    pub(super) fn checked(self) -> Result<Scope, String> {
        match self.messages.is_empty() {
            true => Err("it has no messages".into()),
            false => Ok(self),
        }
    }
}

/// The rules of a list, each read by `read`. No two have the same id.
///
/// # Errors
/// The form that was expected instead of the first item that is none, in words.
pub(super) fn rules<R>(
    value: &Value,
    read: impl Fn(&Value) -> Result<R, String>,
    scope: impl Fn(&R) -> &Scope,
) -> Result<Vec<R>, String> {
    let mut ids = HashSet::new();
    rule::rules(value, |value| {
        let rule = read(value)?;
        match &scope(&rule).id {
            Some(id) if !ids.insert(id.clone()) => Err(format!("the id {id:?} is repeated")),
            _ => Ok(rule),
        }
    })
}
