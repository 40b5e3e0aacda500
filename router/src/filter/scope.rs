// SPDX-License-Identifier: MIT OR Apache-2.0

//! Matching of rules and messages.

use zonda_codec::KeyExpr;

use crate::config::{Flow, Scope};

use super::contract::Subject;

/// Returns true if a rule may apply to messages on `key` between `subject` and this node in
/// direction `flow`. Without a key, the message may be on any key.
pub(super) fn is_in(
    scope: &Scope,
    subject: &Subject<'_>,
    flow: Flow,
    key: Option<&KeyExpr<'_>>,
) -> bool {
    let zids = scope.zids.as_ref();
    scope.flows.contains(&flow)
        && zids.is_none_or(|zids| zids.contains(&subject.peer.zid))
        && has_one_of(&scope.protocols, &subject.protocols)
        && has_one_of(&scope.interfaces, &subject.interfaces)
        && has_key(scope, key)
}

/// Returns true if a rule applies to messages between `subject` and this node in direction `flow`,
/// whatever their keys. All links to the neighbour have to match.
pub(super) fn is_for_all_links(scope: &Scope, subject: &Subject<'_>, flow: Flow) -> bool {
    let zids = scope.zids.as_ref();
    let links = subject.protocols.len();
    scope.flows.contains(&flow)
        && zids.is_none_or(|zids| zids.contains(&subject.peer.zid))
        && has_all(&scope.protocols, &subject.protocols, links)
        // a link whose interface is unknown matches no list
        && has_all(&scope.interfaces, &subject.interfaces, links)
}

/// Names a rule: by its id, or by its place in the list.
pub(super) fn name_of(scope: &Scope, place: usize) -> String {
    match &scope.id {
        Some(id) => format!("rule {id:?}"),
        None => format!("rule {}", place + 1),
    }
}

fn has_all(listed: &Option<Vec<String>>, own: &[String], links: usize) -> bool {
    let Some(listed) = listed else {
        return true;
    };
    own.len() == links && own.iter().all(|name| listed.contains(name))
}

fn has_key(scope: &Scope, key: Option<&KeyExpr<'_>>) -> bool {
    let (Some(keys), Some(key)) = (&scope.keys, key) else {
        return true;
    };
    keys.iter().any(|own| own.includes(key))
}

fn has_one_of(listed: &Option<Vec<String>>, own: &[String]) -> bool {
    let Some(listed) = listed else {
        return true;
    };
    own.iter().any(|name| listed.contains(name))
}
