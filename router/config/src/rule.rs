// SPDX-License-Identifier: MIT OR Apache-2.0

//! Fields that rules have in common (directions, kinds of messages, keys) and their readers.

use std::collections::HashSet;

use zonda_codec::{KeyExpr, ZenohId};

use crate::value::{Located, Value};

/// Direction in which a message passes a link, from this node's view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// From the neighbour to this node.
    Ingress,
    /// From this node to the neighbour.
    Egress,
}

impl Flow {
    /// Its name in a configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Flow::Ingress => "ingress",
            Flow::Egress => "egress",
        }
    }
}

/// Kinds of messages that rules distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    /// A publication with a value.
    Put,
    /// A publication that removes a value.
    Delete,
    /// A query.
    Query,
    /// A reply with a value or an error.
    Reply,
    /// A declaration of a subscriber.
    DeclareSubscriber,
    /// A declaration of a queryable.
    DeclareQueryable,
    /// A declaration of a liveliness token.
    LivelinessToken,
    /// An interest in liveliness tokens that come and go.
    DeclareLivelinessSubscriber,
    /// A query for the liveliness tokens that exist.
    LivelinessQuery,
}

impl MessageKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [MessageKind; 9] = [
        MessageKind::Put,
        MessageKind::Delete,
        MessageKind::Query,
        MessageKind::Reply,
        MessageKind::DeclareSubscriber,
        MessageKind::DeclareQueryable,
        MessageKind::LivelinessToken,
        MessageKind::DeclareLivelinessSubscriber,
        MessageKind::LivelinessQuery,
    ];

    /// Kinds with a payload: those that rules about sizes and QoS name.
    pub const DATA: [MessageKind; 4] = [
        MessageKind::Put,
        MessageKind::Delete,
        MessageKind::Query,
        MessageKind::Reply,
    ];

    /// Its name in a configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            MessageKind::Put => "put",
            MessageKind::Delete => "delete",
            MessageKind::Query => "query",
            MessageKind::Reply => "reply",
            MessageKind::DeclareSubscriber => "declare_subscriber",
            MessageKind::DeclareQueryable => "declare_queryable",
            MessageKind::LivelinessToken => "liveliness_token",
            MessageKind::DeclareLivelinessSubscriber => "declare_liveliness_subscriber",
            MessageKind::LivelinessQuery => "liveliness_query",
        }
    }
}

/// First word of an error about a rule in a list.
pub(super) const RULE: &str = "rule";

/// First word of an error about a subject of access control.
pub(super) const SUBJECT: &str = "subject";

/// First word of an error about a policy of access control.
pub(super) const POLICY: &str = "policy";

/// First word of an error about an item that has rules of its own.
pub(super) const ITEM: &str = "item";

/// Returns true if an error is about one item of a list, by its number.
pub(super) fn is_about_item(error: &str) -> bool {
    let mut words = [RULE, ITEM, SUBJECT, POLICY].into_iter();
    words.any(|word| error.starts_with(word))
}

/// Reads the rules of a list, each with `read`.
///
/// # Errors
/// The fault of the first invalid item, after its number; or the form that was expected instead of
/// a list.
pub(super) fn rules<R>(
    value: &Value,
    read: impl FnMut(&Value) -> Result<R, String>,
) -> Result<Vec<R>, String> {
    items(RULE, value, read)
}

/// Reads the items of a list, each with `read`. `word` is the name of an item in errors.
///
/// # Errors
/// The errors of [`rules`].
pub(super) fn items<R>(
    word: &str,
    value: &Value,
    mut read: impl FnMut(&Value) -> Result<R, String>,
) -> Result<Vec<R>, String> {
    let Value::List(items) = value else {
        let all = match word.strip_suffix('y') {
            Some(stem) => format!("{stem}ies"),
            None => format!("{word}s"),
        };
        return Err(format!("a list of {all}"));
    };
    let each = items.iter().enumerate();
    let read = |(number, item): (usize, &Located)| {
        read(&item.value).map_err(|what| format!("{word} {}: {what}", number + 1))
    };
    each.map(read).collect()
}

/// Reads the items of a list, each with `read`. `word` is the name of an item in errors, `id`
/// returns the id of one.
///
/// # Errors
/// The errors of [`items`]; an item with the id of an earlier one is invalid.
pub(super) fn unique_items<R>(
    word: &str,
    value: &Value,
    read: impl Fn(&Value) -> Result<R, String>,
    id: impl Fn(&R) -> Option<&str>,
) -> Result<Vec<R>, String> {
    let mut ids = HashSet::new();
    items(word, value, |value| {
        let item = read(value)?;
        match id(&item) {
            Some(id) if !ids.insert(id.to_owned()) => Err(format!("the id {id:?} is repeated")),
            _ => Ok(item),
        }
    })
}

/// Returns the members of an object without those that are null, which the reference writes for
/// unset ones. `name` is the object's name in errors, followed by a space.
pub(super) fn members<'v>(
    name: &str,
    value: &'v Value,
) -> Result<impl Iterator<Item = (&'v str, &'v Located)>, String> {
    let Value::Object(members) = value else {
        return Err(format!("{name}is not an object"));
    };
    let set = members
        .iter()
        .filter(|(_, member)| !matches!(member.value, Value::Null));
    Ok(set.map(|(name, member)| (name.as_str(), member)))
}

/// Returns the meaning of a text in `meanings`.
pub(super) fn one_of<T: Copy>(
    name: &str,
    member: &Located,
    meanings: &[(&str, T)],
) -> Result<T, String> {
    let said = text(name, member)?;
    let found = meanings.iter().find(|(meaning, _)| *meaning == said);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<_> = meanings.iter().map(|(meaning, _)| *meaning).collect();
        format!("{name} {said:?} is none of {}", names.join(", "))
    })
}

/// Reads a boolean.
pub(super) fn yes_or_no(name: &str, member: &Located) -> Result<bool, String> {
    match &member.value {
        Value::Bool(value) => Ok(*value),
        other => Err(format!("{name} is {}, not true or false", other.kind())),
    }
}

/// Reads a text.
pub(super) fn text<'v>(name: &str, member: &'v Located) -> Result<&'v str, String> {
    match &member.value {
        Value::Text(text) => Ok(text),
        other => Err(format!("{name} is {}, not a text", other.kind())),
    }
}

/// Reads a non-empty list of texts.
pub(super) fn texts(name: &str, value: &Value) -> Result<Vec<String>, String> {
    named(name, value, |text| Ok(text.to_owned()))
}

/// Reads a non-empty list of texts, each with `read`.
pub(super) fn named<T>(
    name: &str,
    value: &Value,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let items = match value {
        Value::List(items) if !items.is_empty() => items,
        _ => return Err(format!("{name} is not a list with at least one text")),
    };
    let read = |item: &Located| text(name, item).and_then(&read);
    items.iter().map(read).collect()
}

/// Reads a direction.
pub(super) fn flow(text: &str) -> Result<Flow, String> {
    match text {
        "ingress" => Ok(Flow::Ingress),
        "egress" => Ok(Flow::Egress),
        other => Err(format!("{other:?} is neither ingress nor egress")),
    }
}

/// Reads a kind of message with a payload.
pub(super) fn kind(text: &str) -> Result<MessageKind, String> {
    let found = MessageKind::DATA
        .into_iter()
        .find(|kind| kind.name() == text);
    found.ok_or_else(|| format!("{text:?} is none of put, delete, query, reply"))
}

/// Reads a key expression.
pub(super) fn key(text: &str) -> Result<KeyExpr<'static>, String> {
    KeyExpr::try_from(text.to_owned()).map_err(|error| error.to_string())
}

/// Reads the id of a node.
pub(super) fn id(text: &str) -> Result<ZenohId, String> {
    text.parse().map_err(|_| format!("{text:?} is no id"))
}
