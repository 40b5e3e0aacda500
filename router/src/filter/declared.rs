// SPDX-License-Identifier: MIT OR Apache-2.0

//! Declarations and interests of neighbours, which filters decide about before the table handles
//! them. Their QoS is fixed, so that only a drop has an effect.

use zonda_codec::{
    Declaration, Declare, Interest, InterestMode, InterestOptions, KeyExpr, Qos, Reliability,
};

use crate::{
    config::{Flow, MessageKind},
    node::state::State,
    table::FaceId,
};

use super::{bind::bound, bound::decide, contract::MessageView, filters::Filters};

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
pub(crate) fn take_declare(
    filters: &Filters,
    state: &mut State,
    face: FaceId,
    declare: &Declare<'_>,
) {
    if filters.is_empty() || passes(filters, state, face, declare) {
        let State { table, actions, .. } = state;
        table.handle_declare(face, declare, actions);
    }
}

/// Returns true if the filters of a neighbour let its declaration pass. Ids of keys and ends of
/// declarations without a key always do.
fn passes(filters: &Filters, state: &mut State, face: FaceId, declare: &Declare<'_>) -> bool {
    let (kind, expr) = match &declare.body {
        Declaration::Subscriber { wire_expr, .. } => {
            (MessageKind::DeclareSubscriber, Some(wire_expr))
        }
        Declaration::Queryable { wire_expr, .. } => {
            (MessageKind::DeclareQueryable, Some(wire_expr))
        }
        Declaration::Token { wire_expr, .. } => (MessageKind::LivelinessToken, Some(wire_expr)),
        Declaration::UndeclareSubscriber { key, .. } => {
            (MessageKind::DeclareSubscriber, key.as_ref())
        }
        Declaration::UndeclareQueryable { key, .. } => {
            (MessageKind::DeclareQueryable, key.as_ref())
        }
        Declaration::UndeclareToken { key, .. } => (MessageKind::LivelinessToken, key.as_ref()),
        _ => return true,
    };
    let Some(expr) = expr else {
        return true;
    };
    // the table counts a key that cannot be used
    let Some(key) = state.table.key(face, expr) else {
        return true;
    };
    let bound = bound(filters, state, face, Flow::Ingress, Some(&key));
    decide(&bound, MessageView::of_control(kind, declare.qos)).is_some()
}

/// Handles an INTEREST from a neighbour, without the tokens if its filters drop the interest in
/// them. An interest in nothing else ends at once.
pub(crate) fn take_interest(
    filters: &Filters,
    state: &mut State,
    face: FaceId,
    interest: &Interest<'_>,
) {
    if filters.is_empty() || sees_tokens(filters, state, face, interest) {
        let State { table, actions, .. } = state;
        return table.handle_interest(face, interest, actions);
    }
    let options = interest.options.without(InterestOptions::TOKENS);
    let State { table, actions, .. } = state;
    match options.contains(InterestOptions::SUBSCRIBERS)
        || options.contains(InterestOptions::QUERYABLES)
    {
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

/// Returns false if an interest is in tokens and the filters of the neighbour drop it.
fn sees_tokens(
    filters: &Filters,
    state: &mut State,
    face: FaceId,
    interest: &Interest<'_>,
) -> bool {
    let is_final = interest.mode == InterestMode::Final;
    if is_final || !interest.options.contains(InterestOptions::TOKENS) {
        return true;
    }
    // without a key it is in all keys; the table counts a key that cannot be used
    let key = match &interest.wire_expr {
        Some(expr) => state.table.key(face, expr),
        None => KeyExpr::new("**").ok(),
    };
    let Some(key) = key else {
        return true;
    };
    let bound = bound(filters, state, face, Flow::Ingress, Some(&key));
    let view = MessageView::of_control(kind_of_interest(interest.mode), interest.qos);
    decide(&bound, view).is_some()
}

/// Returns the kind of an interest in tokens.
fn kind_of_interest(mode: InterestMode) -> MessageKind {
    match mode {
        InterestMode::Current => MessageKind::LivelinessQuery,
        _ => MessageKind::DeclareLivelinessSubscriber,
    }
}
