// SPDX-License-Identifier: MIT OR Apache-2.0

//! Messages that a rule about links applies to: by neighbour, link, direction, kind and key.

use zonda_codec::{KeyExpr, ZenohId};

use crate::{
    rule::{self, Flow, MessageKind, flow, id, key, kind, named, text, texts},
    value::{Located, Value},
};

/// The messages that a rule applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The name of the rule, unique in its list.
    pub id: Option<String>,
    /// The neighbours; `None` for all.
    pub zids: Option<Vec<ZenohId>>,
    /// Interfaces, one of which a link to the neighbour uses; `None` for all.
    pub interfaces: Option<Vec<String>>,
    /// Protocols, one of which a link to the neighbour has; `None` for all.
    pub protocols: Option<Vec<String>>,
    /// The directions.
    pub flows: Vec<Flow>,
    /// The kinds of messages.
    pub messages: Vec<MessageKind>,
    /// Key expressions, one of which includes the message's key; `None` for all.
    pub keys: Option<Vec<KeyExpr<'static>>>,
}

impl Scope {
    /// Creates a scope of both directions without any kind of message.
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

    /// Reads a member of a rule; returns false if it does not belong to the scope.
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

    /// Returns the scope of a complete rule.
    ///
    /// # Errors
    /// The rule has no messages.
    pub(super) fn checked(self) -> Result<Scope, String> {
        match self.messages.is_empty() {
            true => Err("it has no messages".into()),
            false => Ok(self),
        }
    }
}

/// Reads the rules of a list, each with `read`. Ids must be unique.
///
/// # Errors
/// The form that was expected instead of the first invalid item, in words.
pub(super) fn rules<R>(
    value: &Value,
    read: impl Fn(&Value) -> Result<R, String>,
    scope: impl Fn(&R) -> &Scope,
) -> Result<Vec<R>, String> {
    rule::unique_items(rule::RULE, value, read, |rule| scope(rule).id.as_deref())
}
