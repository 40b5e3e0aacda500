// SPDX-License-Identifier: MIT OR Apache-2.0

//! The admin space's root: who this node is and whom it is connected to, as JSON.

use serde_json::json;
use zonda_codec::{
    Encode, EncodeError, Encoding, EntityGlobalId, PushBody, Put, RawExtensions, Reply, Request,
    Response, ResponseBody, WireExpr, encoding,
};

use crate::forwarding::{Action, FaceId};

use super::shared::{Shared, State};

impl Shared {
    /// Answers a query that reaches the admin space's root. The end of the answer is the table's to send.
    pub(super) fn answer_admin(&self, face: FaceId, request: &Request<'_>) {
        if !self.config.adminspace_enabled() || !self.config.adminspace_readable() {
            return;
        }
        self.update(|state| {
            let root = state.table.admin_key().clone();
            let asked = state.table.key(face, &request.wire_expr);
            if asked.is_some_and(|key| key.intersects(&root)) {
                let text = self.describe(state).to_string();
                if let Ok(bytes) = answer(self, request, root.as_str(), text.as_bytes()) {
                    state.actions.push(Action::Send { face, bytes });
                }
            }
        });
    }

    fn describe(&self, state: &State) -> serde_json::Value {
        let locators: Vec<String> = state
            .listening
            .iter()
            .flat_map(|listening| listening.locators())
            .map(|locator| locator.to_string())
            .collect();
        let mut sessions: Vec<_> = state.faces.values().map(|face| &face.status).collect();
        sessions.sort_by_key(|status| status.zid);
        let sessions: Vec<_> = sessions
            .iter()
            .map(|status| {
                json!({
                    "peer": status.zid.to_string(),
                    "whatami": status.whatami.to_string(),
                    "links": [{ "src": status.local.to_string(), "dst": status.remote.to_string() }],
                })
            })
            .collect();
        json!({
            "zid": self.zid.to_string(),
            "version": concat!("zonda ", env!("CARGO_PKG_VERSION")),
            "metadata": serde_json::from_str(&self.config.metadata()).unwrap_or_else(|_| json!({})),
            "locators": locators,
            "sessions": sessions,
            "endpoints": state.dials.describe(&state.faces),
            "turned_away": self.describe_refusals(),
            "plugins": {},
        })
    }
}

/// The encoded RESPONSE that carries `text` on `key`.
fn answer(
    shared: &Shared,
    request: &Request<'_>,
    key: &str,
    text: &[u8],
) -> Result<Vec<u8>, EncodeError> {
    let json = Encoding {
        id: encoding::id("application/json").unwrap_or_default(),
        schema: None,
    };
    let sample = Put {
        timestamp: None,
        encoding: json,
        source_info: None,
        attachment: None,
        unknown: RawExtensions::default(),
        payload: text,
    };
    let reply = Reply {
        consolidation: Default::default(),
        unknown: RawExtensions::default(),
        payload: PushBody::Put(sample),
    };
    let response = Response {
        rid: request.rid,
        wire_expr: WireExpr::full(key),
        qos: request.qos,
        timestamp: None,
        responder: Some(EntityGlobalId {
            zid: shared.zid,
            eid: 0,
        }),
        ts_stack: None,
        body: ResponseBody::Reply(reply),
    };
    response.to_vec()
}
