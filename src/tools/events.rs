// SPDX-License-Identifier: MIT OR Apache-2.0
//! Connections and their events, as JSON.

use serde_json::{Value, json};
use zonda::session::{ConnectionEvent, EndpointStatus, Link, Loss, Refusal, TurnedAway};

/// Formats a link as JSON.
pub fn link(link: &Link) -> Value {
    json!({
        "zid": link.zid.to_string(),
        "role": link.whatami.to_string(),
        "local": link.local.to_string(),
        "remote": link.remote.to_string(),
        "opened_by": if link.dialed { "this node" } else { "the other" },
        "batch_size": link.batch_size,
        "priorities": link.is_qos,
        "priority_range": link.priorities(),
        "reliability": link.reliability().map(|kind| format!("{kind:?}")),
        "options": link.options.names(),
    })
}

/// Formats a configured endpoint as JSON.
pub fn endpoint(endpoint: &EndpointStatus) -> Value {
    json!({
        "endpoint": endpoint.endpoint.to_string(),
        "connected": endpoint.connected,
        "attempts": endpoint.attempts,
        "last_failure": endpoint.last_failure.as_ref().map(refusal),
        "next_retry_s": endpoint.next_retry.map(|wait| wait.as_secs_f64()),
    })
}

/// Formats the counts of peers turned away for one kind of reason.
pub fn turned_away(known: &TurnedAway) -> Value {
    json!({
        "reason": refusal(&known.reason),
        "count": known.count,
        "last": known.last.as_ref().map(|remote| remote.to_string()),
    })
}

/// Formats an event, on one line.
pub fn event(event: &ConnectionEvent) -> Value {
    // Fields by kind of event; a kind unknown here is a text.
    let mut object = match event {
        ConnectionEvent::Connected(open) => json!({ "link": link(open) }),
        ConnectionEvent::Lost { link: gone, reason } => {
            json!({ "link": link(gone), "reason": loss(reason) })
        }
        ConnectionEvent::Failed {
            endpoint,
            reason,
            attempts,
            next_retry,
        } => json!({
            "endpoint": endpoint.to_string(),
            "reason": refusal(reason),
            "attempts": attempts,
            "next_retry_s": next_retry.map(|wait| wait.as_secs_f64()),
        }),
        ConnectionEvent::Refused {
            listener,
            remote,
            reason,
        } => json!({
            "listener": listener.to_string(),
            "remote": remote.as_ref().map(|remote| remote.to_string()),
            "reason": refusal(reason),
        }),
        _ => json!({ "text": event.to_string() }),
    };
    object["event"] = json!(event.name());
    object
}

fn refusal(reason: &Refusal) -> Value {
    json!({ "kind": reason.kind.name(), "text": reason.text })
}

fn loss(reason: &Loss) -> Value {
    json!({ "kind": reason.kind.name(), "text": reason.text })
}
