// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared forms: captured messages of the reference 1.10.2, and plain messages there and back.

use super::*;
use crate::{
    DecodeError, Encode, ErrBody, NetworkMessage, Push, PushBody, Put, Query, QueryBody, Reply,
    Request, Response, ResponseBody,
};

const DESCRIPTOR: Descriptor = Descriptor {
    len: 100,
    segment: 13193,
    index: 0,
    generation: 0,
};

/// A put of 100 bytes.
const PUT: &[u8] = b"\x7d\x00\x05shm/t\x81\x12\x01\x01\x05\x64\x89\x67\x00\x00";
/// A captured put of 200 bytes, with an attachment.
const PUT_ATTACHED: &[u8] =
    b"\x7d\x00\x05shm/t\x81\x92\x43\x02\xaa\xbb\x01\x01\x06\xc8\x01\x89\x67\x01\x00";
/// A captured query with 50 bytes and an attachment: the length of the body is 52, and 9 bytes follow.
const QUERY: &[u8] =
    b"\x1c\x01\x01\x83\x84\xc3\x34\x00\x01\x01\x05\x32\xaa\x3e\x00\x00\x45\x03\x45\x45\x45";

fn read(raw: &[u8]) -> SharedMessage<'_> {
    let decoded = NetworkMessage::decode(&mut Reader::new(raw));
    assert_eq!(decoded, Err(DecodeError::SharedMemory { end: raw.len() }));
    SharedMessage::read(raw).unwrap()
}

/// Returns the plain form with this payload.
fn plain(raw: &[u8], payload: &[u8]) -> Vec<u8> {
    let (mut message, rest) = read(raw).plain(payload.len()).unwrap();
    message.extend_from_slice(payload);
    message.extend_from_slice(rest);
    message
}

fn shared(head: &[u8]) -> Option<Vec<u8>> {
    let mut buffer = [0; 256];
    let mut writer = Writer::new(&mut buffer);
    let describe = |_, _| Some(DESCRIPTOR);
    let has_form = shared_form(head, describe, &mut writer).unwrap();
    has_form.then(|| writer.written().to_vec())
}

fn response(body: ResponseBody<'_>) -> Response<'_> {
    Response {
        rid: 7,
        wire_expr: WireExpr::full("a/b"),
        qos: Qos::REQUEST,
        timestamp: None,
        responder: None,
        ts_stack: None,
        body,
    }
}

#[test]
fn captured_puts_are_read() {
    let slices: Vec<_> = read(PUT).slices().collect();
    assert_eq!(slices, [Slice::Shared(Some(DESCRIPTOR))]);
    assert_eq!(read(PUT).kind(), Kind::Put);
    assert_eq!(read(PUT).priority(), Priority::Data);
    let message = plain(PUT, b"abc");
    let put = Put::new(b"abc");
    let expected = Push::new(WireExpr::full("shm/t"), PushBody::Put(put));
    let decoded = NetworkMessage::decode(&mut Reader::new(&message));
    assert_eq!(decoded, Ok(NetworkMessage::Push(expected)));
    let message = plain(PUT_ATTACHED, b"abc");
    let Ok(NetworkMessage::Push(push)) = NetworkMessage::decode(&mut Reader::new(&message)) else {
        panic!("{message:02x?}");
    };
    let expected = Put {
        attachment: Some(b"\xaa\xbb"),
        ..put
    };
    assert_eq!(push.body, PushBody::Put(expected));
}

#[test]
fn a_captured_query_is_read_in_spite_of_its_length() {
    let message = plain(QUERY, b"abc");
    let mut reader = Reader::new(&message);
    let Ok(NetworkMessage::Request(request)) = NetworkMessage::decode(&mut reader) else {
        panic!("{message:02x?}");
    };
    assert!(reader.is_empty());
    assert_eq!(request.body.body.unwrap().payload, b"abc");
    assert_eq!(request.body.attachment, Some(&b"EEE"[..]));
}

#[test]
fn an_error_has_plain_bytes_behind_the_extension() {
    let raw = b"\x1b\x01\x00\x85\x12\x03abc";
    let Ok(NetworkMessage::Response(response)) = NetworkMessage::decode(&mut Reader::new(raw))
    else {
        panic!();
    };
    let expected = ErrBody {
        payload: b"abc",
        ..ErrBody::default()
    };
    assert_eq!(response.body, ResponseBody::Err(expected));
}

#[test]
fn plain_messages_come_back_from_their_shared_forms() {
    let put = Put {
        encoding: Encoding {
            id: 3,
            schema: Some(b"s"),
        },
        attachment: Some(b"with"),
        payload: b"payload",
        ..Put::default()
    };
    let reply = Reply {
        consolidation: crate::Consolidation::None,
        unknown: crate::RawExtensions::NONE,
        payload: PushBody::Put(put),
    };
    let query = Query {
        parameters: "a=b",
        body: Some(QueryBody {
            encoding: Encoding::BYTES,
            payload: b"payload",
        }),
        ..Query::default()
    };
    let key = WireExpr::full("a/b");
    let reply = response(ResponseBody::Reply(reply));
    let messages = [
        Push::new(key, PushBody::Put(put)).to_vec().unwrap(),
        Push::new(key, PushBody::Put(Put::new(b"payload")))
            .to_vec()
            .unwrap(),
        reply.to_vec().unwrap(),
        Request::new(7, key, query).to_vec().unwrap(),
    ];
    for message in messages {
        let head = message.strip_suffix(b"payload").unwrap();
        let form = shared(head).unwrap();
        assert!(form.len() <= head.len() + GROWTH_MAX);
        assert_eq!(plain(&form, b"payload"), message, "{form:02x?}");
        let slices: Vec<_> = read(&form).slices().collect();
        assert_eq!(slices, [Slice::Shared(Some(DESCRIPTOR))]);
    }
}

#[test]
fn other_messages_have_no_shared_form() {
    let error = ErrBody {
        payload: b"x",
        ..ErrBody::default()
    };
    let error = response(ResponseBody::Err(error));
    let message = error.to_vec().unwrap();
    assert_eq!(shared(&message[..message.len() - 1]), None);
    let question = Request::new(7, WireExpr::full("a"), Query::default());
    assert_eq!(shared(&question.to_vec().unwrap()), None);
    assert_eq!(shared(&[]), None);
    // A form that does not fit changes nothing, and asks for no descriptor.
    let mut writer = [0; 8];
    let mut writer = Writer::new(&mut writer);
    let head = b"\x7d\x00\x05shm/t\x01\x64";
    let never = |_, _| panic!("described in vain");
    assert!(shared_form(head, never, &mut writer).is_err());
    assert_eq!(writer.position(), 0);
}

#[test]
fn strange_slices_are_told() {
    let message = b"\x7d\x00\x05shm/t\x81\x12\x04\x00\x01x\x01\x00\x09\x02ab\x01\x01\xff";
    let slices: Vec<_> = read(message).slices().collect();
    let none = Slice::Shared(None);
    assert_eq!(slices, [Slice::Bytes(b"x"), none, none, none]);
    assert!(SharedMessage::read(b"\x7d\x00\x05shm/t\x01\x01x").is_none());
}
