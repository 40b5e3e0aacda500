// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages of queries in two parts: a head that is written anew, and a body or a payload that is
//! copied.

use std::time::Duration;

use zonda_codec::{
    Consolidation, Del, Encode, Encoding, EntityGlobalId, ErrBody, NetworkMessage, PushBody, Put,
    Qos, Query, QueryBody, RawExtensions, Reader, Reply, Request, Response, ResponseBody,
    ResponseHead, SourceInfo, Target, WireExpr, Writer, ZenohId,
};

fn source() -> SourceInfo {
    SourceInfo {
        id: EntityGlobalId {
            zid: ZenohId::random_from(0xabc),
            eid: 300,
        },
        sn: 70_000,
    }
}

fn queries() -> Vec<Query<'static>> {
    let body = QueryBody {
        encoding: Encoding {
            id: 5,
            schema: Some(b"schema"),
        },
        payload: b"the payload",
    };
    let mut queries = vec![Query::default()];
    for shape in 0..32_u8 {
        let has = |bit: u8| shape & (1 << bit) != 0;
        queries.push(Query {
            consolidation: match has(0) {
                true => Consolidation::Latest,
                false => Consolidation::Auto,
            },
            parameters: if has(1) { "a=1;b" } else { "" },
            source_info: has(2).then(source),
            body: has(3).then_some(body),
            attachment: has(4).then_some(b"attachment"),
            unknown: RawExtensions::default(),
        });
    }
    queries
}

fn written(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut room = vec![0; 4096];
    let mut writer = Writer::new(&mut room);
    write(&mut writer);
    writer.written().to_vec()
}

#[test]
fn a_request_is_its_head_and_its_raw_body() {
    for query in queries() {
        let request = Request {
            target: Target::All,
            timeout: Some(Duration::from_millis(1234)),
            ..Request::new(70_001, WireExpr::full("a/*"), query)
        };
        let whole = request.to_vec().expect("it has a wire form");
        let mut reader = Reader::new(&whole);
        let (read, raw) = Request::decode_with_raw(&mut reader).expect("a request");
        assert_eq!((read, reader.is_empty()), (request, true));
        let mut parts = written(|writer| read.encode_head(writer).expect("room"));
        parts.extend_from_slice(raw);
        assert_eq!(parts, whole);
    }
}

/// The payload is written last, behind all other fields; a reader sees no difference.
#[test]
fn a_query_is_its_head_and_its_payload() {
    for query in queries() {
        let payload = query.body.map_or(&b""[..], |body| body.payload);
        let mut bytes = written(|writer| {
            Request::new(1, WireExpr::full("k"), Query::default())
                .encode_head(writer)
                .expect("room");
            query.encode_head(payload.len(), writer).expect("room");
        });
        bytes.extend_from_slice(payload);
        let mut reader = Reader::new(&bytes);
        let (read, _) = Request::decode_with_raw(&mut reader).expect("a request");
        assert_eq!((read.body, reader.is_empty()), (query, true));
    }
}

fn bodies() -> Vec<ResponseBody<'static>> {
    let put = Put {
        encoding: Encoding {
            id: 4,
            schema: None,
        },
        source_info: Some(source()),
        attachment: Some(b"attachment"),
        ..Put::new(b"the payload")
    };
    let del = Del {
        timestamp: None,
        source_info: None,
        attachment: Some(b"attachment"),
        unknown: RawExtensions::default(),
    };
    let error = ErrBody {
        encoding: Encoding {
            id: 4,
            schema: Some(b"x"),
        },
        source_info: Some(source()),
        unknown: RawExtensions::default(),
        payload: b"the reason",
    };
    let reply = |payload| {
        ResponseBody::Reply(Reply {
            consolidation: Consolidation::Monotonic,
            unknown: RawExtensions::default(),
            payload,
        })
    };
    vec![
        reply(PushBody::Put(put)),
        reply(PushBody::Put(Put::new(b""))),
        reply(PushBody::Del(del)),
        ResponseBody::Err(error),
        ResponseBody::Err(ErrBody::default()),
    ]
}

#[test]
fn a_response_is_its_head_and_the_rest() {
    let head = ResponseHead {
        rid: 9,
        wire_expr: WireExpr::full("a/b"),
        qos: Qos::REQUEST,
        timestamp: None,
        responder: Some(source().id),
        ts_stack: None,
    };
    for body in bodies() {
        let response = head.with_body(body);
        let whole = response.to_vec().expect("it has a wire form");
        let mut reader = Reader::new(&whole);
        let (read, raw) = Response::decode_with_raw(&mut reader).expect("a response");
        assert_eq!(
            (read, read.head(), reader.is_empty()),
            (response, head, true)
        );
        let mut passed_on = written(|writer| read.head().encode(writer).expect("room"));
        passed_on.extend_from_slice(raw);
        assert_eq!(passed_on, whole);
        let payload = match &body {
            ResponseBody::Reply(reply) => match &reply.payload {
                PushBody::Put(put) => put.payload,
                PushBody::Del(_) => b"",
            },
            ResponseBody::Err(error) => error.payload,
        };
        let mut said = written(|writer| {
            head.encode(writer).expect("room");
            match &body {
                ResponseBody::Reply(reply) => reply.encode_head(payload.len(), writer),
                ResponseBody::Err(error) => error.encode_head(payload.len(), writer),
            }
            .expect("room");
        });
        said.extend_from_slice(payload);
        assert_eq!(said, whole);
    }
}

#[test]
fn other_messages_are_no_requests_and_no_responses() {
    let request = Request::new(1, WireExpr::full("k"), Query::default());
    let request = request.to_vec().expect("it has a wire form");
    assert!(Response::decode_with_raw(&mut Reader::new(&request)).is_err());
    assert!(Request::decode_with_raw(&mut Reader::new(&[0x9a, 1, 0x21, 0x0d])).is_err());
    assert!(Request::decode_with_raw(&mut Reader::new(&[])).is_err());
    for end in 0..request.len() {
        let cut = Request::decode_with_raw(&mut Reader::new(&request[..end]));
        assert!(cut.is_err(), "cut at {end}");
    }
    assert!(NetworkMessage::decode(&mut Reader::new(&request)).is_ok());
}
