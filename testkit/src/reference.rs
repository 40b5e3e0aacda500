// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reference's messages as JSON, field by field, in the conventions of `json`.

use serde_json::{Map, Value, json};
use zenoh_buffers::{ZBuf, ZSlice, buffer::SplitBuffer};
use zenoh_codec::{RCodec, Zenoh080};
use zenoh_protocol::common::{ZExtBody, ZExtUnknown};
use zenoh_protocol::core::{
    Encoding, EntityGlobalIdProto, Field, Reliability, Resolution, Timestamp, WireExpr,
    ZenohIdProto,
};
use zenoh_protocol::network::declare::DeclareBody;
use zenoh_protocol::network::ext::{QoSType, TimestampType};
use zenoh_protocol::network::interest::InterestMode;
use zenoh_protocol::network::request::ext::QueryTarget;
use zenoh_protocol::network::timestamp_stack::TsStackType;
use zenoh_protocol::network::{Declare, Interest, Mapping, NetworkBody, NetworkMessage, Request};
use zenoh_protocol::scouting::{ScoutingBody, ScoutingMessage};
use zenoh_protocol::transport::{Join, PrioritySn, TransportBody, TransportMessage};
use zenoh_protocol::zenoh::ext::{AttachmentType, SourceInfoType};
use zenoh_protocol::zenoh::{ConsolidationMode, PushBody, Query, RequestBody, ResponseBody};

use zonda_codec::Reader;

use crate::json::{self, hex};

fn buffer(buffer: &ZBuf) -> Value {
    json!(hex(&buffer.contiguous()))
}

fn id(bytes: [u8; 16]) -> String {
    format!("{:x}", u128::from_le_bytes(bytes))
}

fn zid(zid: &ZenohIdProto) -> String {
    id(zid.to_le_bytes())
}

fn timestamp(timestamp: &Option<Timestamp>) -> Value {
    timestamp.as_ref().map_or(Value::Null, |timestamp| {
        let id = id(timestamp.get_id().to_le_bytes());
        json!({"time": timestamp.get_time().as_u64(), "id": id})
    })
}

fn hop_timestamp<const ID: u8>(extension: &Option<TimestampType<ID>>) -> Value {
    timestamp(&extension.map(|extension| extension.timestamp))
}

fn encoding(encoding: &Encoding) -> Value {
    let schema = encoding.schema.as_ref().map(|schema| hex(schema));
    json!({"id": encoding.id, "schema": schema})
}

/// Formats a quality of service by the extension it converts to, as its byte is private.
fn qos<const ID: u8>(qos: QoSType<ID>) -> Value {
    let bits = zenoh_protocol::common::ZExtZ64::<ID>::from(qos).value;
    json!({
        "priority": bits & 7,
        "block": bits & 0x08 != 0,
        "express": bits & 0x10 != 0,
        "block_first": bits & 0x20 != 0,
    })
}

fn wire_expr(expr: &WireExpr<'_>) -> Value {
    let mapping = match expr.mapping {
        Mapping::Receiver => "receiver",
        Mapping::Sender => "sender",
    };
    json!({"scope": expr.scope, "suffix": expr.suffix, "mapping": mapping})
}

fn source_info<const ID: u8>(info: &Option<SourceInfoType<ID>>) -> Value {
    info.as_ref().map_or(Value::Null, |info| {
        let EntityGlobalIdProto { zid: node, eid } = &info.id;
        json!({"zid": zid(node), "eid": eid, "sn": info.sn})
    })
}

fn attachment<const ID: u8>(attachment: &Option<AttachmentType<ID>>) -> Value {
    attachment
        .as_ref()
        .map_or(Value::Null, |attachment| buffer(&attachment.buffer))
}

fn extension_body(body: &ZExtBody) -> (&'static str, Value) {
    match body {
        ZExtBody::Unit => ("unit", Value::Null),
        ZExtBody::Z64(value) => ("z64", json!(value)),
        ZExtBody::ZBuf(bytes) => ("zbuf", buffer(bytes)),
    }
}

fn unknown(extensions: &[ZExtUnknown]) -> Value {
    extensions
        .iter()
        .map(|extension| json!({"id": extension.id & 0x0f, "body": extension_body(&extension.body).1}))
        .collect()
}

fn ts_stack<const ID: u8>(stack: &Option<TsStackType<ID>>) -> Value {
    stack.as_ref().map_or(Value::Null, |extension| {
        let stack = &extension.ts_stack;
        let entries: Vec<Value> = stack
            .stack
            .iter()
            .map(|entry| json!({"flags": entry.flags, "timestamp": hex(&entry.timestamp)}))
            .collect();
        json!({"conf": stack.conf_flags, "stack": entries})
    })
}

fn consolidation(mode: ConsolidationMode) -> &'static str {
    match mode {
        ConsolidationMode::Auto => "auto",
        ConsolidationMode::None => "none",
        ConsolidationMode::Monotonic => "monotonic",
        ConsolidationMode::Latest => "latest",
    }
}

fn push_body(body: &PushBody) -> Value {
    match body {
        PushBody::Put(put) => json!({
            "kind": "Put",
            "timestamp": timestamp(&put.timestamp),
            "encoding": encoding(&put.encoding),
            "source_info": source_info(&put.ext_sinfo),
            "attachment": attachment(&put.ext_attachment),
            "unknown": unknown(&put.ext_unknown),
            "payload": buffer(&put.payload),
        }),
        PushBody::Del(del) => json!({
            "kind": "Del",
            "timestamp": timestamp(&del.timestamp),
            "source_info": source_info(&del.ext_sinfo),
            "attachment": attachment(&del.ext_attachment),
            "unknown": unknown(&del.ext_unknown),
        }),
    }
}

fn query(query: &Query) -> Value {
    let body = query.ext_body.as_ref().map_or(
        Value::Null,
        |body| json!({"encoding": encoding(&body.encoding), "payload": buffer(&body.payload)}),
    );
    json!({
        "kind": "Query",
        "consolidation": consolidation(query.consolidation),
        "parameters": query.parameters,
        "source_info": source_info(&query.ext_sinfo),
        "body": body,
        "attachment": attachment(&query.ext_attachment),
        "unknown": unknown(&query.ext_unknown),
    })
}

fn response_body(body: &ResponseBody) -> Value {
    match body {
        ResponseBody::Reply(reply) => json!({
            "kind": "Reply",
            "consolidation": consolidation(reply.consolidation),
            "unknown": unknown(&reply.ext_unknown),
            "payload": push_body(&reply.payload),
        }),
        ResponseBody::Err(err) => json!({
            "kind": "Err",
            "encoding": encoding(&err.encoding),
            "source_info": source_info(&err.ext_sinfo),
            "unknown": unknown(&err.ext_unknown),
            "payload": buffer(&err.payload),
        }),
    }
}

fn declaration(body: &DeclareBody) -> Value {
    let entity = |kind: &str, id: u32, expr: &WireExpr<'_>| json!({"kind": kind, "id": id, "wire_expr": wire_expr(expr)});
    let end = |kind: &str, id: u32, expr: &WireExpr<'_>| json!({"kind": kind, "id": id, "ext_wire_expr": wire_expr(expr)});
    match body {
        DeclareBody::DeclareKeyExpr(body) => json!({
            "kind": "DeclareKeyExpr",
            "id": body.id,
            "wire_expr": {"scope": body.wire_expr.scope, "suffix": body.wire_expr.suffix},
        }),
        DeclareBody::UndeclareKeyExpr(body) => json!({"kind": "UndeclareKeyExpr", "id": body.id}),
        DeclareBody::DeclareSubscriber(body) => {
            entity("DeclareSubscriber", body.id, &body.wire_expr)
        }
        DeclareBody::UndeclareSubscriber(body) => end(
            "UndeclareSubscriber",
            body.id,
            &body.ext_wire_expr.wire_expr,
        ),
        DeclareBody::DeclareQueryable(body) => {
            let mut value = entity("DeclareQueryable", body.id, &body.wire_expr);
            let info = &body.ext_info;
            value["info"] = json!({"complete": info.complete, "distance": info.distance});
            value
        }
        DeclareBody::UndeclareQueryable(body) => {
            end("UndeclareQueryable", body.id, &body.ext_wire_expr.wire_expr)
        }
        DeclareBody::DeclareToken(body) => entity("DeclareToken", body.id, &body.wire_expr),
        DeclareBody::UndeclareToken(body) => {
            end("UndeclareToken", body.id, &body.ext_wire_expr.wire_expr)
        }
        DeclareBody::DeclareFinal(_) => json!({"kind": "DeclareFinal"}),
    }
}

fn declare(declare: &Declare) -> Value {
    json!({
        "msg": "Declare",
        "interest_id": declare.interest_id,
        "qos": qos(declare.ext_qos),
        "timestamp": hop_timestamp(&declare.ext_tstamp),
        "node_id": declare.ext_nodeid.node_id,
        "body": declaration(&declare.body),
    })
}

fn interest(interest: &Interest) -> Value {
    let mode = match interest.mode {
        InterestMode::Final => "final",
        InterestMode::Current => "current",
        InterestMode::Future => "future",
        InterestMode::CurrentFuture => "current_future",
    };
    let options = json!({
        "keyexprs": interest.options.keyexprs(),
        "subscribers": interest.options.subscribers(),
        "queryables": interest.options.queryables(),
        "tokens": interest.options.tokens(),
        "aggregate": interest.options.aggregate(),
    });
    json!({
        "msg": "Interest",
        "id": interest.id,
        "mode": mode,
        "options": if interest.mode == InterestMode::Final { Value::Null } else { options },
        "wire_expr": interest.wire_expr.as_ref().map_or(Value::Null, wire_expr),
        "qos": qos(interest.ext_qos),
        "timestamp": hop_timestamp(&interest.ext_tstamp),
        "node_id": interest.ext_nodeid.node_id,
    })
}

fn request(request: &Request) -> Value {
    let target = match request.ext_target {
        QueryTarget::BestMatching => "best_matching",
        QueryTarget::All => "all",
        QueryTarget::AllComplete => "all_complete",
    };
    let RequestBody::Query(body) = &request.payload;
    json!({
        "msg": "Request",
        "rid": request.id,
        "wire_expr": wire_expr(&request.wire_expr),
        "qos": qos(request.ext_qos),
        "timestamp": hop_timestamp(&request.ext_tstamp),
        "node_id": request.ext_nodeid.node_id,
        "target": target,
        "budget": request.ext_budget,
        "timeout_ms": request.ext_timeout.map(|timeout| timeout.as_millis() as u64),
        "ts_stack": ts_stack(&request.ext_ts_stack),
        "body": query(body),
    })
}

/// Converts a network message.
pub fn network(message: &NetworkMessage) -> Value {
    match &message.body {
        NetworkBody::Push(push) => json!({
            "msg": "Push",
            "wire_expr": wire_expr(&push.wire_expr),
            "qos": qos(push.ext_qos),
            "timestamp": hop_timestamp(&push.ext_tstamp),
            "node_id": push.ext_nodeid.node_id,
            "ts_stack": ts_stack(&push.ext_ts_stack),
            "body": push_body(&push.payload),
        }),
        NetworkBody::Request(message) => request(message),
        NetworkBody::Response(response) => json!({
            "msg": "Response",
            "rid": response.rid,
            "wire_expr": wire_expr(&response.wire_expr),
            "qos": qos(response.ext_qos),
            "timestamp": hop_timestamp(&response.ext_tstamp),
            "responder": response.ext_respid.as_ref().map(|responder| {
                json!({"zid": zid(&responder.zid), "eid": responder.eid})
            }),
            "ts_stack": ts_stack(&response.ext_ts_stack),
            "body": response_body(&response.payload),
        }),
        NetworkBody::ResponseFinal(message) => json!({
            "msg": "ResponseFinal",
            "rid": message.rid,
            "qos": qos(message.ext_qos),
            "timestamp": hop_timestamp(&message.ext_tstamp),
        }),
        NetworkBody::Declare(message) => declare(message),
        NetworkBody::Interest(message) => interest(message),
        NetworkBody::OAM(oam) => {
            let (body_kind, body) = extension_body(&oam.body);
            json!({
                "msg": "OAM",
                "id": oam.id,
                "qos": qos(oam.ext_qos),
                "timestamp": hop_timestamp(&oam.ext_tstamp),
                "body_kind": body_kind,
                "body": body,
            })
        }
    }
}

fn resolution(resolution: Resolution) -> Value {
    let bits = |field| 8u8 << resolution.get(field) as u8;
    json!({"frame_sn": bits(Field::FrameSN), "request_id": bits(Field::RequestID)})
}

fn put(map: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        map.insert(name.to_owned(), value);
    }
}

fn flag<T>(extension: &Option<T>) -> Option<Value> {
    extension.as_ref().map(|_| json!(true))
}

/// The extensions of both INIT messages, which the reference declares as two structs of equal fields.
macro_rules! init_ext {
    ($init:expr) => {{
        let mut exts = Map::new();
        put(&mut exts, "qos", flag(&$init.ext_qos));
        let link = $init.ext_qos_link.as_ref();
        put(&mut exts, "qos_link", link.map(|link| qos_link(link.value)));
        let auth = $init.ext_auth.as_ref();
        put(&mut exts, "auth", auth.map(|ext| buffer(&ext.value)));
        let multilink = $init.ext_mlink.as_ref();
        put(
            &mut exts,
            "multilink",
            multilink.map(|ext| buffer(&ext.value)),
        );
        put(&mut exts, "lowlatency", flag(&$init.ext_lowlatency));
        put(&mut exts, "compression", flag(&$init.ext_compression));
        let patch = $init.ext_patch.raw();
        put(&mut exts, "patch", (patch != 0).then(|| json!(patch)));
        let name = $init.ext_region_name.as_ref();
        put(&mut exts, "region_name", name.map(|ext| text(&ext.value)));
        exts
    }};
}

macro_rules! open_ext {
    ($open:expr, $multilink:expr) => {{
        let mut exts = Map::new();
        put(&mut exts, "qos", flag(&$open.ext_qos));
        let auth = $open.ext_auth.as_ref();
        put(&mut exts, "auth", auth.map(|ext| buffer(&ext.value)));
        put(&mut exts, "multilink", $multilink);
        put(&mut exts, "lowlatency", flag(&$open.ext_lowlatency));
        put(&mut exts, "compression", flag(&$open.ext_compression));
        let bound = $open.ext_remote_bound.as_ref();
        let name = |value| json!(if value == 0 { "north" } else { "south" });
        put(&mut exts, "remote_bound", bound.map(|ext| name(ext.value)));
        exts
    }};
}

fn text(bytes: &ZBuf) -> Value {
    json!(String::from_utf8(bytes.contiguous().into_owned()).expect("the tests use text"))
}

fn qos_link(bits: u64) -> Value {
    let priorities = (bits & 2 != 0).then(|| json!([bits >> 3 & 0xff, bits >> 11 & 0xff]));
    let name = if bits >> 19 & 1 == 1 {
        "reliable"
    } else {
        "best_effort"
    };
    json!({"priorities": priorities, "reliability": (bits & 4 != 0).then_some(name)})
}

fn next_sn(sn: &PrioritySn) -> Value {
    json!({"reliable": sn.reliable, "best_effort": sn.best_effort})
}

fn join(join: &Join) -> Value {
    let mut exts = Map::new();
    let sns = join.ext_qos.as_ref();
    put(
        &mut exts,
        "qos",
        sns.map(|sns| sns.iter().map(next_sn).collect()),
    );
    put(
        &mut exts,
        "shm",
        join.ext_shm.as_ref().map(|ext| buffer(&ext.value)),
    );
    let patch = join.ext_patch.raw();
    put(&mut exts, "patch", (patch != 0).then(|| json!(patch)));
    json!({
        "msg": "Join",
        "version": join.version,
        "whatami": join.whatami.to_str(),
        "zid": zid(&join.zid),
        "resolution": resolution(join.resolution),
        "batch_size": join.batch_size,
        "lease_ms": join.lease.as_millis() as u64,
        "next_sn": next_sn(&join.next_sn),
        "exts": exts,
    })
}

/// Converts a transport message, with the messages of a frame.
pub fn transport(message: &TransportMessage) -> Value {
    let is_reliable = |reliability| reliability == Reliability::Reliable;
    match &message.body {
        TransportBody::InitSyn(init) => json!({
            "msg": "InitSyn",
            "version": init.version,
            "whatami": init.whatami.to_str(),
            "zid": zid(&init.zid),
            "resolution": resolution(init.resolution),
            "batch_size": init.batch_size,
            "exts": init_ext!(init),
        }),
        TransportBody::InitAck(init) => json!({
            "msg": "InitAck",
            "version": init.version,
            "whatami": init.whatami.to_str(),
            "zid": zid(&init.zid),
            "resolution": resolution(init.resolution),
            "batch_size": init.batch_size,
            "cookie": hex(&init.cookie),
            "exts": init_ext!(init),
        }),
        TransportBody::OpenSyn(open) => json!({
            "msg": "OpenSyn",
            "lease_ms": open.lease.as_millis() as u64,
            "initial_sn": open.initial_sn,
            "cookie": hex(&open.cookie),
            "exts": open_ext!(open, open.ext_mlink.as_ref().map(|ext| buffer(&ext.value))),
        }),
        TransportBody::OpenAck(open) => json!({
            "msg": "OpenAck",
            "lease_ms": open.lease.as_millis() as u64,
            "initial_sn": open.initial_sn,
            "exts": open_ext!(open, flag(&open.ext_mlink)),
        }),
        TransportBody::Close(close) => {
            json!({"msg": "Close", "reason": close.reason, "session": close.session})
        }
        TransportBody::KeepAlive(_) => json!({"msg": "KeepAlive"}),
        TransportBody::Frame(frame) => json!({
            "msg": "Frame",
            "reliable": is_reliable(frame.reliability),
            "priority": frame.ext_qos.priority() as u8,
            "sn": frame.sn,
            "payload": frame.payload.iter().map(network).collect::<Vec<_>>(),
        }),
        TransportBody::Fragment(fragment) => json!({
            "msg": "Fragment",
            "reliable": is_reliable(fragment.reliability),
            "priority": fragment.ext_qos.priority() as u8,
            "sn": fragment.sn,
            "more": fragment.more,
            "first": fragment.ext_first.is_some(),
            "drop": fragment.ext_drop.is_some(),
            "payload": hex(&fragment.payload),
        }),
        TransportBody::Join(message) => join(message),
        TransportBody::OAM(oam) => {
            let (body_kind, body) = extension_body(&oam.body);
            json!({
                "msg": "TransportOAM",
                "id": oam.id,
                "priority": oam.ext_qos.priority() as u8,
                "body_kind": body_kind,
                "body": body,
            })
        }
    }
}

/// Converts a scouting message.
pub fn scouting(message: &ScoutingMessage) -> Value {
    match &message.body {
        ScoutingBody::Scout(scout) => json!({
            "msg": "Scout",
            "version": scout.version,
            "what": u8::from(scout.what) & 0b111,
            "zid": scout.zid.as_ref().map(zid),
        }),
        ScoutingBody::Hello(hello) => json!({
            "msg": "Hello",
            "version": hello.version,
            "whatami": hello.whatami.to_str(),
            "zid": zid(&hello.zid),
            "locators": hello.locators.iter().map(|locator| locator.as_str()).collect::<Vec<_>>(),
        }),
    }
}

/// Checks that the reference decodes the frames of a batch as this project does.
pub fn assert_read_alike(batch: &[u8]) {
    // the reference's messages
    let mut slice = ZSlice::from(batch.to_vec());
    let mut theirs = Vec::new();
    while !slice.is_empty() {
        let message: TransportMessage = Zenoh080::new()
            .read(&mut slice)
            .expect("the reference reads it");
        match message.body {
            TransportBody::Frame(frame) => theirs.extend(frame.payload.iter().map(network)),
            other => panic!("a frame is expected: {other:?}"),
        }
    }
    // this project's messages
    let mut ours = Vec::new();
    let mut reader = Reader::new(batch);
    while !reader.is_empty() {
        zonda_codec::TransportMessage::decode(&mut reader).expect("a frame");
        while reader
            .peek()
            .is_some_and(zonda_codec::NetworkMessage::starts)
        {
            let message = zonda_codec::NetworkMessage::decode(&mut reader).expect("a message");
            ours.push(json::network(&message));
        }
    }
    assert_eq!(theirs, ours);
}
