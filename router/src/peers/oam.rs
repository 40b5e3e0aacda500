// SPDX-License-Identifier: MIT OR Apache-2.0

//! OAM messages of neighbours, dispatched by their id. A new one is a row of the table here.

use std::sync::Arc;

use zonda_codec::{Oam, OamBody};

use crate::{node::shared::Shared, table::FaceId};

/// Handles the body of an OAM message from a neighbour.
type Handler = fn(&Arc<Shared>, FaceId, &[u8]);

/// The OAM messages that this node understands, by id; others are ignored.
const HANDLERS: [(u16, Handler); 1] = [(Oam::LINK_STATE, Shared::hear_link_states)];

impl Shared {
    /// An OAM message from a neighbour.
    pub(crate) fn hear_oam(shared: &Arc<Self>, face: FaceId, oam: &Oam<'_>) {
        let handler = HANDLERS.iter().find(|(id, _)| *id == oam.id);
        if let (Some((_, handle)), OamBody::Buf(body)) = (handler, oam.body) {
            handle(shared, face, body);
        }
    }
}
