// SPDX-License-Identifier: MIT OR Apache-2.0

//! Keys of a session's own connections: `@/ZID/session/transport/unicast/PEER` and, below it,
//! `link/NUMBER`. The session alone reads them. Nothing is declared before it asks for one.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Value, json};
use zonda_codec::{KeyExpr, Priority, ZenohId};

use crate::connections::{Link, LinkEvent, Transport, TransportEvent};
use crate::encoding::Encoding;
use crate::handle::{Session, WeakSession};
use crate::query::Query;
use crate::sample::{Locality, SampleKind};
use crate::wait::Wait;

/// Declares the keys if the session asks for one of them for the first time: with a subscriber, a
/// query or a querier on `key`.
#[inline]
pub(crate) fn begin_for(session: &Session, key: &KeyExpr<'_>) {
    // A wildcard does not match the first chunk.
    if key.as_str().starts_with('@') {
        begin(session, key);
    }
}

#[cold]
fn begin(session: &Session, key: &KeyExpr<'_>) {
    let Ok(own) = KeyExpr::new(format!("@/{}/session/**", session.zid())) else {
        return;
    };
    if own.intersects(key) && session.begin_own_space() {
        // A session that closes has no connections to show.
        let _ = answer(session, own);
        let _ = publish_events(session);
    }
}

fn answer(session: &Session, own: KeyExpr<'static>) -> Result<(), crate::Error> {
    let shown = session.downgrade();
    session
        .declare_queryable(own)
        .allowed_origin(Locality::SessionLocal)
        .callback(move |query| reply(&shown, &query))
        .background()
        .wait()?;
    Ok(())
}

/// Replies with each connection and link that the query's key matches.
fn reply(session: &WeakSession, query: &Query) {
    let Some(session) = session.upgrade() else {
        return;
    };
    let own = session.zid();
    let info = session.info();
    let transports = info.transports().wait();
    let transports = transports.map(|one| (transport_key(own, &one), transport_value(&one)));
    let links = info.links().wait();
    let links = links.map(|one| (link_key(own, &one), link_value(&one)));
    for (key, value) in transports.chain(links) {
        if KeyExpr::new(&*key).is_ok_and(|key| query.key_expr().intersects(&key)) {
            // The end of the query is no error of the session.
            let _ = query
                .reply(key, value.to_string())
                .encoding(Encoding::APPLICATION_JSON)
                .wait();
        }
    }
}

/// Publishes each connection and link that comes, and deletes each that goes.
fn publish_events(session: &Session) -> Result<(), crate::Error> {
    let (of_transports, of_links) = (session.downgrade(), session.downgrade());
    session
        .info()
        .transport_events_listener()
        .callback(move |event: TransportEvent| {
            let transport = event.transport();
            publish(&of_transports, event.kind(), |own| {
                (transport_key(own, transport), transport_value(transport))
            });
        })
        .background()
        .wait()?;
    session
        .info()
        .link_events_listener()
        .callback(move |event: LinkEvent| {
            let link = event.link();
            publish(&of_links, event.kind(), |own| {
                (link_key(own, link), link_value(link))
            });
        })
        .background()
        .wait()?;
    Ok(())
}

fn publish(
    session: &WeakSession,
    kind: SampleKind,
    shown: impl FnOnce(ZenohId) -> (String, Value),
) {
    let Some(session) = session.upgrade() else {
        return;
    };
    let (key, value) = shown(session.zid());
    // A put fails if the session closes.
    let _ = match kind {
        SampleKind::Put => session
            .put(key, value.to_string())
            .encoding(Encoding::APPLICATION_JSON)
            .allowed_destination(Locality::SessionLocal)
            .wait(),
        SampleKind::Delete => session
            .delete(key)
            .allowed_destination(Locality::SessionLocal)
            .wait(),
    };
}

fn transport_key(own: ZenohId, transport: &Transport) -> String {
    format!("@/{own}/session/transport/unicast/{}", transport.zid())
}

fn transport_value(transport: &Transport) -> Value {
    json!({
        "zid": transport.zid().to_string(),
        "whatami": transport.whatami().to_string(),
        "is_qos": transport.is_qos(),
        "is_shm": transport.is_shm(),
    })
}

/// Returns the key of a link, which ends with a number that its addresses determine.
fn link_key(own: ZenohId, link: &Link) -> String {
    let mut hasher = DefaultHasher::new();
    (link.src().to_string(), link.dst().to_string()).hash(&mut hasher);
    let (zid, number) = (link.zid(), hasher.finish());
    format!("@/{own}/session/transport/unicast/{zid}/link/{number}")
}

/// Returns a range of priorities by their names.
fn range(first: u8, last: u8) -> Value {
    let name = |number: u8| {
        Priority::try_from(number)
            .map(|priority| format!("{priority:?}"))
            .ok()
    };
    json!({"start": name(first), "end": name(last)})
}

fn link_value(link: &Link) -> Value {
    json!({
        "src": link.src().to_string(),
        "dst": link.dst().to_string(),
        "group": null,
        "mtu": link.mtu(),
        "is_streamed": link.is_streamed(),
        "interfaces": [],
        "auth_identifier": null,
        "priorities": link.priorities().map(|(first, last)| range(first, last)),
        "reliability": link.reliability().map(|kind| format!("{kind:?}")),
    })
}
