// SPDX-License-Identifier: MIT OR Apache-2.0

//! Declarations and interests of neighbours, which filters decide about before the table handles
//! them. Their QoS is fixed, so that only a drop has an effect.

use zonda_codec::{
    Declaration, Declare, Interest, InterestMode, InterestOptions, KeyExpr, Qos, QueryableInfo,
    Reliability,
};

use crate::{
    config::{Flow, MessageKind},
    node::state::State,
    table::{FaceId, Kind, Relation},
};

use super::{
    bind::bound,
    bound::decide,
    contract::MessageView,
    refused::{RefusedBody, RefusedId, forget, remember},
};

impl MessageView {
    /// Returns the view of a declaration or an interest.
    pub(super) fn of_control(kind: MessageKind, qos: Qos) -> MessageView {
        MessageView {
            kind,
            payload: 0,
            attachment: 0,
            qos,
            reliability: Reliability::Reliable,
        }
    }
}

/// Handles a DECLARE from a neighbour, unless its filters drop it.
pub(crate) fn take_declare(state: &mut State, face: FaceId, declare: &Declare<'_>) {
    if state.filters.is_empty() || passes(state, face, declare) {
        let State { table, actions, .. } = state;
        table.handle_declare(face, declare, actions);
    }
}

/// Returns true if the filters of a neighbour let its declaration pass. Ids of keys always do, and
/// ends of declarations unless the declaration did not.
fn passes(state: &mut State, face: FaceId, declare: &Declare<'_>) -> bool {
    let none = QueryableInfo::default();
    let end = |kind, id, key| (kind, id, key, None);
    let (kind, id, expr, info) = match declare.body {
        Declaration::Subscriber { id, wire_expr } => {
            (Kind::Subscriber, id, Some(wire_expr), Some(none))
        }
        Declaration::Queryable {
            id,
            wire_expr,
            info,
        } => (Kind::Queryable, id, Some(wire_expr), Some(info)),
        Declaration::Token { id, wire_expr } => (Kind::Token, id, Some(wire_expr), Some(none)),
        Declaration::UndeclareSubscriber { id, key } => end(Kind::Subscriber, id, key),
        Declaration::UndeclareQueryable { id, key } => end(Kind::Queryable, id, key),
        Declaration::UndeclareToken { id, key } => end(Kind::Token, id, key),
        _ => return true,
    };
    // the end of a refused declaration ends nothing in the table
    let place = RefusedId::Entity(kind, id);
    if info.is_none() && forget(state, face, place) {
        return false;
    }
    // the table counts a key that cannot be used
    let Some(key) = expr.and_then(|expr| state.table.key(face, &expr)) else {
        return true;
    };
    let passes = is_entity_permitted(state, face, kind, &key, declare.qos);
    // a router of the mesh relays the declarations of others, whose ids are not its own
    let of_mesh = state.table.relation(face) == Some(Relation::RouterToRouter);
    if let Some(info) = info.filter(|_| !of_mesh) {
        match passes {
            true => drop(forget(state, face, place)),
            false => {
                let key = key.as_str().into();
                remember(state, face, place, RefusedBody::Entity { key, info });
            }
        }
    }
    passes
}

/// Returns true if the filters of a neighbour let a declaration of it pass.
pub(super) fn is_entity_permitted(
    state: &mut State,
    face: FaceId,
    kind: Kind,
    key: &KeyExpr<'_>,
    qos: Qos,
) -> bool {
    let kind = match kind {
        Kind::Subscriber => MessageKind::DeclareSubscriber,
        Kind::Queryable => MessageKind::DeclareQueryable,
        Kind::Token => MessageKind::LivelinessToken,
    };
    let bound = bound(state, face, Flow::Ingress, Some(key));
    decide(&bound, MessageView::of_control(kind, qos)).is_some()
}

/// Handles an INTEREST from a neighbour, without the tokens if its filters drop the interest in
/// them. An interest in nothing else ends at once.
pub(crate) fn take_interest(state: &mut State, face: FaceId, interest: &Interest<'_>) {
    if state.filters.is_empty() || sees_tokens(state, face, interest) {
        let State { table, actions, .. } = state;
        return table.handle_interest(face, interest, actions);
    }
    let options = interest.options.without(InterestOptions::TOKENS);
    let State { table, actions, .. } = state;
    match is_in_data(options) {
        true => table.handle_interest(
            face,
            &Interest {
                options,
                ..*interest
            },
            actions,
        ),
        false => table.refuse_interest(face, interest, actions),
    }
}

/// Returns true if an interest with these options is in subscribers or queryables.
pub(super) fn is_in_data(options: InterestOptions) -> bool {
    options.contains(InterestOptions::SUBSCRIBERS) || options.contains(InterestOptions::QUERYABLES)
}

/// Returns false if an interest is in tokens and the filters of the neighbour drop it. The refused
/// interest is kept for other filters.
fn sees_tokens(state: &mut State, face: FaceId, interest: &Interest<'_>) -> bool {
    let id = RefusedId::Interest(interest.id);
    forget(state, face, id);
    let is_final = interest.mode == InterestMode::Final;
    if is_final || !interest.options.contains(InterestOptions::TOKENS) {
        return true;
    }
    // the table counts a key that cannot be used
    let key = match &interest.wire_expr {
        Some(expr) => match state.table.key(face, expr) {
            None => return true,
            known => known,
        },
        None => None,
    };
    let permitted = is_interest_permitted(state, face, interest.mode, key.as_ref(), interest.qos);
    if !permitted && interest.mode != InterestMode::Current {
        let body = RefusedBody::Interest {
            key: key.map(|key| key.as_str().into()),
            mode: interest.mode,
            options: interest.options,
        };
        remember(state, face, id, body);
    }
    permitted
}

/// Returns true if the filters of a neighbour let an interest of it in tokens pass. Without a key
/// it is in all keys.
pub(super) fn is_interest_permitted(
    state: &mut State,
    face: FaceId,
    mode: InterestMode,
    key: Option<&KeyExpr<'_>>,
    qos: Qos,
) -> bool {
    let all = KeyExpr::new("**").ok();
    let bound = bound(state, face, Flow::Ingress, key.or(all.as_ref()));
    let view = MessageView::of_control(kind_of_interest(mode), qos);
    decide(&bound, view).is_some()
}

/// Returns the kind of an interest in tokens.
fn kind_of_interest(mode: InterestMode) -> MessageKind {
    match mode {
        InterestMode::Current => MessageKind::LivelinessQuery,
        _ => MessageKind::DeclareLivelinessSubscriber,
    }
}
