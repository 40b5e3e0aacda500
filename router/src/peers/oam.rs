// SPDX-License-Identifier: MIT OR Apache-2.0

//! OAM messages of neighbours, dispatched by their id. A new one is a row of the table here.

use std::sync::Arc;

use zonda_codec::{Oam, OamBody};

use crate::{node::shared::Shared, peers::finding, table::FaceId};

/// Function that handles the body of an OAM message from a neighbour.
type Handler = fn(&Arc<Shared>, FaceId, &[u8]);

/// Handlers of OAM messages by id; messages with any other id are ignored.
const HANDLERS: [(u16, Handler); 1] = [(Oam::LINK_STATE, finding::hear_link_states)];

/// Handles an OAM message from a neighbour.
pub(crate) fn hear(shared: &Arc<Shared>, face: FaceId, oam: &Oam<'_>) {
    let handler = HANDLERS.iter().find(|(id, _)| *id == oam.id);
    if let (Some((_, handle)), OamBody::Buf(body)) = (handler, oam.body) {
        handle(shared, face, body);
    }
}
