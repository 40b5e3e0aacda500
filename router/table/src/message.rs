// SPDX-License-Identifier: MIT OR Apache-2.0

//! Control messages that the table sends, encoded and addressed.

use zonda_codec::{Declaration, Declare, Encode, QueryableInfo, WireExpr, Writer};

use crate::{
    face_id::{Action, FaceId},
    kind::Kind,
};

/// Longest key that can be encoded.
pub(super) const WIRE_KEY_MAX: usize = u16::MAX as usize;

/// Returns the declaration of an entity.
pub(super) fn declaration(
    kind: Kind,
    id: u32,
    wire_expr: WireExpr<'_>,
    info: QueryableInfo,
) -> Declaration<'_> {
    match kind {
        Kind::Subscriber => Declaration::Subscriber { id, wire_expr },
        Kind::Queryable => Declaration::Queryable {
            id,
            wire_expr,
            info,
        },
        Kind::Token => Declaration::Token { id, wire_expr },
    }
}

/// Returns the undeclaration of an entity.
pub(super) fn undeclaration(kind: Kind, id: u32) -> Declaration<'static> {
    match kind {
        Kind::Subscriber => Declaration::UndeclareSubscriber { id, key: None },
        Kind::Queryable => Declaration::UndeclareQueryable { id, key: None },
        Kind::Token => Declaration::UndeclareToken { id, key: None },
    }
}

/// Returns the undeclaration of an entity that is identified by its key.
pub(super) fn undeclaration_of(kind: Kind, key: WireExpr<'_>) -> Declaration<'_> {
    let (id, key) = (0, Some(key));
    match kind {
        Kind::Subscriber => Declaration::UndeclareSubscriber { id, key },
        Kind::Queryable => Declaration::UndeclareQueryable { id, key },
        Kind::Token => Declaration::UndeclareToken { id, key },
    }
}

/// Sends a declaration of the router that has this number.
pub(super) fn declare_of(
    face: FaceId,
    node_id: u16,
    body: Declaration<'_>,
    actions: &mut Vec<Action>,
) {
    let declare = Declare {
        node_id,
        ..Declare::new(body)
    };
    send(face, &declare, actions);
}

/// Sends a declaration, as an answer to an interest or on its own.
pub(super) fn declare(
    face: FaceId,
    interest_id: Option<u32>,
    body: Declaration<'_>,
    actions: &mut Vec<Action>,
) {
    let declare = Declare {
        interest_id,
        ..Declare::new(body)
    };
    send(face, &declare, actions);
}

/// Encodes a message into exactly as many bytes as it needs.
pub(super) fn send(face: FaceId, message: &impl Encode, actions: &mut Vec<Action>) {
    let mut room = [0; 256];
    let mut writer = Writer::new(&mut room);
    let bytes = match message.encode(&mut writer) {
        Ok(()) => Ok(writer.written().to_vec()),
        Err(_) => message.to_vec(),
    };
    // Keys are validated before, so every message can be encoded.
    if let Ok(bytes) = bytes {
        actions.push(Action::Send { face, bytes });
    }
}
