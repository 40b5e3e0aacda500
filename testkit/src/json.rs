// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages as JSON, in the conventions of the golden vectors: byte strings in hex, ids and
//! timestamp ids as hex numbers, leases in milliseconds, absent fields as null.

use serde_json::{Map, Value, json};
use zonda_codec::extension::ExtensionBody;
use zonda_codec::*;

/// Returns every golden vector.
pub fn golden_vectors() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/vectors.json");
    let text = std::fs::read_to_string(path).expect("the golden vectors are part of the project");
    serde_json::from_str(&text).expect("the golden vectors are JSON")
}

/// Formats as lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the bytes of a hex text.
pub fn unhex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "odd hex {text}");
    (0..text.len() / 2)
        .map(|index| u8::from_str_radix(&text[2 * index..2 * index + 2], 16).expect("hex digits"))
        .collect()
}

fn optional_hex(bytes: Option<&[u8]>) -> Value {
    bytes.map_or(Value::Null, |bytes| json!(hex(bytes)))
}

/// Converts a timestamp.
pub fn timestamp(timestamp: &Timestamp) -> Value {
    json!({"time": timestamp.time().0, "id": timestamp.id().to_string()})
}

fn optional_timestamp(value: &Option<Timestamp>) -> Value {
    value.as_ref().map_or(Value::Null, timestamp)
}

/// Converts an encoding.
pub fn encoding(encoding: &Encoding<'_>) -> Value {
    json!({"id": encoding.id, "schema": optional_hex(encoding.schema)})
}

/// Converts a quality of service; bits without a meaning are left out.
pub fn qos(qos: Qos) -> Value {
    json!({
        "priority": qos.priority() as u8,
        "block": qos.bits() & 0x08 != 0,
        "express": qos.is_express(),
        "block_first": qos.bits() & 0x20 != 0,
    })
}

fn mapping(mapping: Mapping) -> &'static str {
    match mapping {
        Mapping::Receiver => "receiver",
        Mapping::Sender => "sender",
    }
}

/// Converts a key expression as it is on the wire.
pub fn wire_expr(expr: &WireExpr<'_>) -> Value {
    json!({"scope": expr.scope, "suffix": expr.suffix, "mapping": mapping(expr.mapping)})
}

fn source_info(info: &Option<SourceInfo>) -> Value {
    info.map_or(
        Value::Null,
        |info| json!({"zid": info.id.zid.to_string(), "eid": info.id.eid, "sn": info.sn}),
    )
}

fn unknown(extensions: &RawExtensions<'_>) -> Value {
    extensions
        .iter()
        .map(|extension| {
            let body = match extension.body {
                ExtensionBody::Unit => Value::Null,
                ExtensionBody::Number(value) => json!(value),
                ExtensionBody::Bytes(bytes) => json!(hex(bytes)),
            };
            json!({"id": extension.id(), "body": body})
        })
        .collect()
}

fn ts_stack(stack: &Option<TsStack<'_>>) -> Value {
    stack.map_or(Value::Null, |stack| {
        let entries: Vec<Value> = stack
            .entries()
            .map(|(flags, timestamp)| json!({"flags": flags, "timestamp": hex(timestamp)}))
            .collect();
        json!({"conf": stack.conf(), "stack": entries})
    })
}

fn consolidation(mode: Consolidation) -> &'static str {
    match mode {
        Consolidation::Auto => "auto",
        Consolidation::None => "none",
        Consolidation::Monotonic => "monotonic",
        Consolidation::Latest => "latest",
    }
}

fn push_body(body: &PushBody<'_>) -> Value {
    match body {
        PushBody::Put(put) => json!({
            "kind": "Put",
            "timestamp": optional_timestamp(&put.timestamp),
            "encoding": encoding(&put.encoding),
            "source_info": source_info(&put.source_info),
            "attachment": optional_hex(put.attachment),
            "unknown": unknown(&put.unknown),
            "payload": hex(put.payload),
        }),
        PushBody::Del(del) => json!({
            "kind": "Del",
            "timestamp": optional_timestamp(&del.timestamp),
            "source_info": source_info(&del.source_info),
            "attachment": optional_hex(del.attachment),
            "unknown": unknown(&del.unknown),
        }),
    }
}

fn query(query: &Query<'_>) -> Value {
    let body = query.body.map_or(
        Value::Null,
        |body| json!({"encoding": encoding(&body.encoding), "payload": hex(body.payload)}),
    );
    json!({
        "kind": "Query",
        "consolidation": consolidation(query.consolidation),
        "parameters": query.parameters,
        "source_info": source_info(&query.source_info),
        "body": body,
        "attachment": optional_hex(query.attachment),
        "unknown": unknown(&query.unknown),
    })
}

fn response_body(body: &ResponseBody<'_>) -> Value {
    match body {
        ResponseBody::Reply(reply) => json!({
            "kind": "Reply",
            "consolidation": consolidation(reply.consolidation),
            "unknown": unknown(&reply.unknown),
            "payload": push_body(&reply.payload),
        }),
        ResponseBody::Err(err) => json!({
            "kind": "Err",
            "encoding": encoding(&err.encoding),
            "source_info": source_info(&err.source_info),
            "unknown": unknown(&err.unknown),
            "payload": hex(err.payload),
        }),
    }
}

fn declaration(body: &Declaration<'_>) -> Value {
    let entity = |kind: &str, id: u32, expr: &WireExpr<'_>| json!({"kind": kind, "id": id, "wire_expr": wire_expr(expr)});
    let end = |kind: &str, id: u32, key: &Option<WireExpr<'_>>| json!({"kind": kind, "id": id, "ext_wire_expr": wire_expr(&key.unwrap_or_default())});
    match body {
        Declaration::KeyExpr { id, wire_expr } => json!({
            "kind": "DeclareKeyExpr",
            "id": id,
            "wire_expr": {"scope": wire_expr.scope, "suffix": wire_expr.suffix},
        }),
        Declaration::UndeclareKeyExpr { id } => json!({"kind": "UndeclareKeyExpr", "id": id}),
        Declaration::Subscriber { id, wire_expr } => entity("DeclareSubscriber", *id, wire_expr),
        Declaration::UndeclareSubscriber { id, key } => end("UndeclareSubscriber", *id, key),
        Declaration::Queryable {
            id,
            wire_expr,
            info,
        } => {
            let mut value = entity("DeclareQueryable", *id, wire_expr);
            value["info"] = json!({"complete": info.complete, "distance": info.distance});
            value
        }
        Declaration::UndeclareQueryable { id, key } => end("UndeclareQueryable", *id, key),
        Declaration::Token { id, wire_expr } => entity("DeclareToken", *id, wire_expr),
        Declaration::UndeclareToken { id, key } => end("UndeclareToken", *id, key),
        Declaration::Final => json!({"kind": "DeclareFinal"}),
    }
}

fn interest(interest: &Interest<'_>) -> Value {
    let mode = match interest.mode {
        InterestMode::Final => "final",
        InterestMode::Current => "current",
        InterestMode::Future => "future",
        InterestMode::CurrentFuture => "current_future",
    };
    let has = |option| interest.options.contains(option);
    let options = json!({
        "keyexprs": has(InterestOptions::KEYEXPRS),
        "subscribers": has(InterestOptions::SUBSCRIBERS),
        "queryables": has(InterestOptions::QUERYABLES),
        "tokens": has(InterestOptions::TOKENS),
        "aggregate": has(InterestOptions::AGGREGATE),
    });
    json!({
        "msg": "Interest",
        "id": interest.id,
        "mode": mode,
        "options": if interest.mode == InterestMode::Final { Value::Null } else { options },
        "wire_expr": interest.wire_expr.as_ref().map_or(Value::Null, wire_expr),
        "qos": qos(interest.qos),
        "timestamp": optional_timestamp(&interest.timestamp),
        "node_id": interest.node_id,
    })
}

fn request(request: &Request<'_>) -> Value {
    let target = match request.target {
        Target::BestMatching => "best_matching",
        Target::All => "all",
        Target::AllComplete => "all_complete",
    };
    json!({
        "msg": "Request",
        "rid": request.rid,
        "wire_expr": wire_expr(&request.wire_expr),
        "qos": qos(request.qos),
        "timestamp": optional_timestamp(&request.timestamp),
        "node_id": request.node_id.router(),
        "target": target,
        "budget": request.budget,
        "timeout_ms": request.timeout.map(|timeout| timeout.as_millis() as u64),
        "ts_stack": ts_stack(&request.ts_stack),
        "body": query(&request.body),
    })
}

fn oam_body(body: &OamBody<'_>) -> (&'static str, Value) {
    match body {
        OamBody::Unit => ("unit", Value::Null),
        OamBody::Z64(value) => ("z64", json!(value)),
        OamBody::Buf(bytes) => ("zbuf", json!(hex(bytes))),
    }
}

/// Converts a network message.
pub fn network(message: &NetworkMessage<'_>) -> Value {
    match message {
        NetworkMessage::Push(push) => json!({
            "msg": "Push",
            "wire_expr": wire_expr(&push.wire_expr),
            "qos": qos(push.qos),
            "timestamp": optional_timestamp(&push.timestamp),
            "node_id": push.node_id.router(),
            "ts_stack": ts_stack(&push.ts_stack),
            "body": push_body(&push.body),
        }),
        NetworkMessage::Request(message) => request(message),
        NetworkMessage::Response(response) => json!({
            "msg": "Response",
            "rid": response.rid,
            "wire_expr": wire_expr(&response.wire_expr),
            "qos": qos(response.qos),
            "timestamp": optional_timestamp(&response.timestamp),
            "responder": response.responder.map(|responder| {
                json!({"zid": responder.zid.to_string(), "eid": responder.eid})
            }),
            "ts_stack": ts_stack(&response.ts_stack),
            "body": response_body(&response.body),
        }),
        NetworkMessage::ResponseFinal(message) => json!({
            "msg": "ResponseFinal",
            "rid": message.rid,
            "qos": qos(message.qos),
            "timestamp": optional_timestamp(&message.timestamp),
        }),
        NetworkMessage::Declare(declare) => json!({
            "msg": "Declare",
            "interest_id": declare.interest_id,
            "qos": qos(declare.qos),
            "timestamp": optional_timestamp(&declare.timestamp),
            "node_id": declare.node_id,
            "body": declaration(&declare.body),
        }),
        NetworkMessage::Interest(message) => interest(message),
        NetworkMessage::Oam(oam) => {
            let (body_kind, body) = oam_body(&oam.body);
            json!({
                "msg": "OAM",
                "id": oam.id,
                "qos": qos(oam.qos),
                "timestamp": optional_timestamp(&oam.timestamp),
                "body_kind": body_kind,
                "body": body,
            })
        }
    }
}

fn resolution(resolution: Resolution) -> Value {
    json!({
        "frame_sn": resolution.frame_sn_bits(),
        "request_id": resolution.request_id_bits(),
    })
}

fn put_bytes(map: &mut Map<String, Value>, name: &str, bytes: Option<&[u8]>) {
    if let Some(bytes) = bytes {
        map.insert(name.to_owned(), json!(hex(bytes)));
    }
}

fn put_flag(map: &mut Map<String, Value>, name: &str, flag: bool) {
    if flag {
        map.insert(name.to_owned(), json!(true));
    }
}

fn init_ext(ext: &InitExt<'_>) -> Value {
    let mut map = Map::new();
    put_flag(&mut map, "qos", ext.qos);
    if let Some(link) = ext.qos_link {
        let reliability = link.reliability().map(|reliability| match reliability {
            Reliability::BestEffort => "best_effort",
            Reliability::Reliable => "reliable",
        });
        let priorities = link.priorities().map(|(first, last)| json!([first, last]));
        map.insert(
            "qos_link".to_owned(),
            json!({"priorities": priorities, "reliability": reliability}),
        );
    }
    put_bytes(&mut map, "shm", ext.shm);
    put_bytes(&mut map, "auth", ext.auth);
    put_bytes(&mut map, "multilink", ext.multilink);
    put_flag(&mut map, "lowlatency", ext.low_latency);
    put_flag(&mut map, "compression", ext.compression);
    if ext.patch != 0 {
        map.insert("patch".to_owned(), json!(ext.patch));
    }
    if let Some(name) = ext.region_name {
        map.insert("region_name".to_owned(), json!(name));
    }
    Value::Object(map)
}

fn open_ext(ext: &OpenExt<'_>, ack: bool) -> Value {
    let mut map = Map::new();
    put_flag(&mut map, "qos", ext.qos);
    put_bytes(&mut map, "shm", ext.shm);
    put_bytes(&mut map, "auth", ext.auth);
    if ack {
        put_flag(&mut map, "multilink", ext.multilink.is_some());
    } else {
        put_bytes(&mut map, "multilink", ext.multilink);
    }
    put_flag(&mut map, "lowlatency", ext.low_latency);
    put_flag(&mut map, "compression", ext.compression);
    if let Some(bound) = ext.remote_bound {
        let bound = match bound {
            RemoteBound::North => "north",
            RemoteBound::South => "south",
        };
        map.insert("remote_bound".to_owned(), json!(bound));
    }
    Value::Object(map)
}

fn next_sn(sn: &NextSn) -> Value {
    json!({"reliable": sn.reliable, "best_effort": sn.best_effort})
}

fn join(join: &Join<'_>) -> Value {
    let mut exts = Map::new();
    if let Some(sns) = &join.qos {
        exts.insert("qos".to_owned(), sns.iter().map(next_sn).collect());
    }
    put_bytes(&mut exts, "shm", join.shm);
    if join.patch != 0 {
        exts.insert("patch".to_owned(), json!(join.patch));
    }
    json!({
        "msg": "Join",
        "version": join.version,
        "whatami": join.whatami.as_str(),
        "zid": join.zid.to_string(),
        "resolution": resolution(join.resolution),
        "batch_size": join.batch_size,
        "lease_ms": join.lease.as_millis() as u64,
        "next_sn": next_sn(&join.next_sn),
        "exts": exts,
    })
}

/// Converts a transport message; the caller fills a frame's `payload`.
pub fn transport(message: &TransportMessage<'_>) -> Value {
    let is_reliable = |reliability| reliability == Reliability::Reliable;
    match message {
        TransportMessage::InitSyn(init) => json!({
            "msg": "InitSyn",
            "version": init.version,
            "whatami": init.whatami.as_str(),
            "zid": init.zid.to_string(),
            "resolution": resolution(init.resolution),
            "batch_size": init.batch_size,
            "exts": init_ext(&init.ext),
        }),
        TransportMessage::InitAck(init) => json!({
            "msg": "InitAck",
            "version": init.version,
            "whatami": init.whatami.as_str(),
            "zid": init.zid.to_string(),
            "resolution": resolution(init.resolution),
            "batch_size": init.batch_size,
            "cookie": hex(init.cookie),
            "exts": init_ext(&init.ext),
        }),
        TransportMessage::OpenSyn(open) => json!({
            "msg": "OpenSyn",
            "lease_ms": open.lease.as_millis() as u64,
            "initial_sn": open.initial_sn,
            "cookie": hex(open.cookie),
            "exts": open_ext(&open.ext, false),
        }),
        TransportMessage::OpenAck(open) => json!({
            "msg": "OpenAck",
            "lease_ms": open.lease.as_millis() as u64,
            "initial_sn": open.initial_sn,
            "exts": open_ext(&open.ext, true),
        }),
        TransportMessage::Close(close) => {
            json!({"msg": "Close", "reason": close.reason, "session": close.session})
        }
        TransportMessage::KeepAlive => json!({"msg": "KeepAlive"}),
        TransportMessage::Frame(frame) => json!({
            "msg": "Frame",
            "reliable": is_reliable(frame.reliability),
            "priority": frame.priority as u8,
            "sn": frame.sn,
            "payload": [],
        }),
        TransportMessage::Fragment(fragment) => json!({
            "msg": "Fragment",
            "reliable": is_reliable(fragment.reliability),
            "priority": fragment.priority as u8,
            "sn": fragment.sn,
            "more": fragment.more,
            "first": fragment.first,
            "drop": fragment.drop,
            "payload": hex(fragment.payload),
        }),
        TransportMessage::Join(message) => join(message),
        TransportMessage::Oam(oam) => {
            let (body_kind, body) = oam_body(&oam.body);
            json!({
                "msg": "TransportOAM",
                "id": oam.id,
                "priority": oam.priority as u8,
                "body_kind": body_kind,
                "body": body,
            })
        }
    }
}

/// Converts a scouting message.
pub fn scouting(message: &ScoutingMessage<'_>) -> Value {
    match message {
        ScoutingMessage::Scout(scout) => json!({
            "msg": "Scout",
            "version": scout.version,
            "what": scout.what.bits(),
            "zid": scout.zid.map(|zid| zid.to_string()),
        }),
        ScoutingMessage::Hello(hello) => json!({
            "msg": "Hello",
            "version": hello.version,
            "whatami": hello.whatami.as_str(),
            "zid": hello.zid.to_string(),
            "locators": hello.locators.iter().collect::<Vec<_>>(),
        }),
    }
}

/// Converts a link state; `options` follows from the other fields.
pub fn link_state(state: &LinkState<'_>) -> Value {
    let mut options = 0;
    for (bit, present) in [
        (0x01, state.zid.is_some()),
        (0x02, state.whatami.is_some()),
        (0x04, state.locators.is_some()),
        (0x08, state.weights.is_some()),
        (0x10, state.is_gateway),
    ] {
        if present {
            options |= bit;
        }
    }
    let weights = state.weights.map(|weights| {
        weights
            .iter()
            .map(|weight| weight & 0xffff)
            .collect::<Vec<_>>()
    });
    json!({
        "options": options,
        "psid": state.psid,
        "sn": state.sn,
        "zid": state.zid.map(|zid| zid.to_string()),
        "whatami": state.whatami.map(WhatAmI::as_str),
        "locators": state.locators.map(|locators| locators.iter().collect::<Vec<_>>()),
        "is_gateway": state.is_gateway,
        "links": state.links.iter().collect::<Vec<_>>(),
        "weights": weights,
    })
}
