// SPDX-License-Identifier: MIT OR Apache-2.0

//! Messages of the remote API that a client sends.

use std::time::Duration;

use axum::body::Bytes;
use zonda::bytes::Encoding;
use zonda::sample::Locality;
use zonda::time::Timestamp;

use super::codec::{Asking, Malformed, NUMBERED, Reader, Service};

/// Kinds of messages that the server sends.
pub(super) mod answer {
    pub(in super::super) const PING_ACK: u8 = 0;
    pub(in super::super) const OK: u8 = 1;
    pub(in super::super) const ERROR: u8 = 2;
    pub(in super::super) const TIMESTAMP: u8 = 3;
    pub(in super::super) const SESSION_INFO: u8 = 4;
    pub(in super::super) const SAMPLE: u8 = 5;
    pub(in super::super) const QUERY: u8 = 6;
    pub(in super::super) const REPLY: u8 = 7;
    pub(in super::super) const FINAL: u8 = 8;
    pub(in super::super) const MATCHING_STATUS: u8 = 9;
    pub(in super::super) const MATCHING_UPDATE: u8 = 10;
    pub(in super::super) const TRANSPORTS: u8 = 11;
    pub(in super::super) const LINKS: u8 = 12;
    pub(in super::super) const TRANSPORT_EVENT: u8 = 13;
    pub(in super::super) const LINK_EVENT: u8 = 14;
}

/// Message of a client.
#[derive(Debug)]
pub(super) struct Message {
    pub kind: u8,
    /// Number with which it is answered; a message without one is not.
    pub number: Option<u32>,
    pub request: Request,
}

/// Value with its description, as a query or its answer has it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub payload: Option<Bytes>,
    pub encoding: Option<Encoding>,
    pub attachment: Option<Bytes>,
}

/// Value that is published or replied; without a payload, a deletion.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub value: Value,
    pub timestamp: Option<Timestamp>,
}

/// Entity of a session that a client names by a number of its own.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Declaration {
    Publisher {
        encoding: Encoding,
        service: Service,
    },
    Subscriber(Locality),
    Queryable {
        complete: bool,
        locality: Locality,
    },
    Querier {
        service: Service,
        asking: Asking,
        timeout: Duration,
    },
    Token,
    LivelinessSubscriber {
        history: bool,
    },
}

/// Sort of entity that is undeclared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Sort {
    Publisher,
    Subscriber,
    Queryable,
    Querier,
    Token,
    Matching,
    Transports,
    Links,
}

/// Request for events, declared with a number.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Listening {
    /// Matches of a publisher.
    Publisher(u32),
    /// Matches of a querier.
    Querier(u32),
    Transports {
        history: bool,
    },
    Links {
        history: bool,
    },
}

/// Question to the network.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Question {
    Get {
        key: String,
        parameters: String,
        value: Value,
        service: Service,
        asking: Asking,
        timeout: Duration,
    },
    OfQuerier {
        querier: u32,
        parameters: String,
        value: Value,
    },
    Liveliness {
        key: String,
        timeout: Duration,
    },
}

/// Answer to a query that the client got.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Reply { key: String, change: Change },
    Error { payload: Bytes, encoding: Encoding },
    Final,
}

/// Question to the node.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum About {
    Session,
    Time,
    Ping,
    PublisherMatches(u32),
    QuerierMatches(u32),
    Transports,
    Links,
}

/// Body of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    Declare {
        id: u32,
        key: String,
        what: Declaration,
    },
    Undeclare {
        id: u32,
        sort: Sort,
    },
    Listen {
        id: u32,
        to: Listening,
    },
    Publish {
        key: String,
        change: Change,
        service: Service,
    },
    PublishBy {
        publisher: u32,
        change: Change,
    },
    Ask {
        id: u32,
        question: Question,
    },
    Answer {
        query: u32,
        answer: Answer,
    },
    Tell(About),
}

/// Reads a message.
///
/// # Errors
/// It is malformed, or none that a client sends.
pub(super) fn read(bytes: Bytes) -> Result<Message, Malformed> {
    let mut reader = Reader::new(bytes);
    let head = reader.u8()?;
    let kind = head & !NUMBERED;
    let number = match head & NUMBERED {
        0 => None,
        _ => Some(reader.u32()?),
    };
    let request = match kind {
        0 | 2 | 4 | 6 | 8 | 10 => declare(kind, &mut reader)?,
        1 | 3 | 5 | 7 | 9 | 11 | 27 | 34 | 36 => Request::Undeclare {
            id: reader.u32()?,
            sort: sort(kind)?,
        },
        14..=17 => publish(kind, &mut reader)?,
        18..=20 => Request::Ask {
            id: reader.u32()?,
            question: question(kind, &mut reader)?,
        },
        21..=24 => Request::Answer {
            query: reader.u32()?,
            answer: answer(kind, &mut reader)?,
        },
        26 | 29 | 33 | 35 => Request::Listen {
            id: reader.u32()?,
            to: listening(kind, &mut reader)?,
        },
        _ => Request::Tell(about(kind, &mut reader)?),
    };
    reader.end()?;
    Ok(Message {
        kind,
        number,
        request,
    })
}

fn declare(kind: u8, reader: &mut Reader) -> Result<Request, Malformed> {
    let (id, key) = (reader.u32()?, reader.text()?);
    let what = match kind {
        0 => Declaration::Publisher {
            encoding: reader.encoding()?,
            service: reader.service()?,
        },
        2 => Declaration::Subscriber(reader.locality()?),
        4 => Declaration::Queryable {
            complete: reader.bool()?,
            locality: reader.locality()?,
        },
        6 => Declaration::Querier {
            service: reader.service()?,
            asking: reader.asking()?,
            timeout: timeout(reader)?,
        },
        8 => Declaration::Token,
        10 => Declaration::LivelinessSubscriber {
            history: reader.bool()?,
        },
        _ => return Err(Malformed::Kind(kind)),
    };
    Ok(Request::Declare { id, key, what })
}

fn sort(kind: u8) -> Result<Sort, Malformed> {
    Ok(match kind {
        1 => Sort::Publisher,
        // Subscribers of liveliness share the numbers of the others.
        3 | 11 => Sort::Subscriber,
        5 => Sort::Queryable,
        7 => Sort::Querier,
        9 => Sort::Token,
        27 => Sort::Matching,
        34 => Sort::Transports,
        36 => Sort::Links,
        _ => return Err(Malformed::Kind(kind)),
    })
}

fn publish(kind: u8, reader: &mut Reader) -> Result<Request, Malformed> {
    Ok(match kind {
        14 => Request::Publish {
            key: reader.text()?,
            change: put(reader)?,
            service: reader.service()?,
        },
        15 => Request::Publish {
            key: reader.text()?,
            change: delete(reader)?,
            service: reader.service()?,
        },
        16 => {
            let publisher = reader.u32()?;
            let payload = Some(reader.bytes()?);
            let encoding = reader.option(Reader::encoding)?;
            let change = described(reader, payload, encoding)?;
            Request::PublishBy { publisher, change }
        }
        17 => Request::PublishBy {
            publisher: reader.u32()?,
            change: delete(reader)?,
        },
        _ => return Err(Malformed::Kind(kind)),
    })
}

fn put(reader: &mut Reader) -> Result<Change, Malformed> {
    let (payload, encoding) = (reader.bytes()?, reader.encoding()?);
    described(reader, Some(payload), Some(encoding))
}

fn delete(reader: &mut Reader) -> Result<Change, Malformed> {
    described(reader, None, None)
}

/// Reads the attachment and the timestamp.
fn described(
    reader: &mut Reader,
    payload: Option<Bytes>,
    encoding: Option<Encoding>,
) -> Result<Change, Malformed> {
    let attachment = reader.option(Reader::bytes)?;
    let timestamp = reader.option(Reader::timestamp)?;
    let value = Value {
        payload,
        encoding,
        attachment,
    };
    Ok(Change { value, timestamp })
}

fn question(kind: u8, reader: &mut Reader) -> Result<Question, Malformed> {
    Ok(match kind {
        18 => Question::Get {
            key: reader.text()?,
            parameters: reader.text()?,
            value: value(reader)?,
            service: reader.service()?,
            asking: reader.asking()?,
            timeout: timeout(reader)?,
        },
        19 => Question::OfQuerier {
            querier: reader.u32()?,
            parameters: reader.text()?,
            value: value(reader)?,
        },
        20 => Question::Liveliness {
            key: reader.text()?,
            timeout: timeout(reader)?,
        },
        _ => return Err(Malformed::Kind(kind)),
    })
}

fn value(reader: &mut Reader) -> Result<Value, Malformed> {
    Ok(Value {
        payload: reader.option(Reader::bytes)?,
        encoding: reader.option(Reader::encoding)?,
        attachment: reader.option(Reader::bytes)?,
    })
}

fn answer(kind: u8, reader: &mut Reader) -> Result<Answer, Malformed> {
    // The network gives a reply the quality of service of its query.
    let reply = |key: String, change: Change, reader: &mut Reader| {
        reader.service()?;
        Ok(Answer::Reply { key, change })
    };
    match kind {
        21 => reply(reader.text()?, put(reader)?, reader),
        22 => reply(reader.text()?, delete(reader)?, reader),
        23 => Ok(Answer::Error {
            payload: reader.bytes()?,
            encoding: reader.encoding()?,
        }),
        24 => Ok(Answer::Final),
        _ => Err(Malformed::Kind(kind)),
    }
}

fn listening(kind: u8, reader: &mut Reader) -> Result<Listening, Malformed> {
    Ok(match kind {
        26 => Listening::Publisher(reader.u32()?),
        29 => Listening::Querier(reader.u32()?),
        33 => Listening::Transports {
            history: reader.bool()?,
        },
        35 => Listening::Links {
            history: reader.bool()?,
        },
        _ => return Err(Malformed::Kind(kind)),
    })
}

fn about(kind: u8, reader: &mut Reader) -> Result<About, Malformed> {
    Ok(match kind {
        12 => About::Session,
        13 => About::Time,
        25 => About::Ping,
        28 => About::PublisherMatches(reader.u32()?),
        30 => About::QuerierMatches(reader.u32()?),
        31 => About::Transports,
        32 => About::Links,
        _ => return Err(Malformed::Kind(kind)),
    })
}

fn timeout(reader: &mut Reader) -> Result<Duration, Malformed> {
    reader.u32().map(u64::from).map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: &[u8]) -> Result<Message, Malformed> {
        read(Bytes::copy_from_slice(bytes))
    }

    #[test]
    fn a_put_is_read_with_all_that_it_has() {
        let bytes = [
            &[14, 3][..],
            b"a/b",
            &[2],
            b"hi",
            &[4, 0, 5],
            b"utf-8",
            &[1, 1, b'x', 1],
            &7_u64.to_le_bytes(),
            &[16, 0x12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0b0111_1100],
        ]
        .concat();
        let message = message(&bytes).unwrap();
        assert_eq!((message.kind, message.number), (14, None));
        let Request::Publish {
            key,
            change,
            service,
        } = message.request
        else {
            panic!("no publication");
        };
        assert_eq!(key, "a/b");
        assert_eq!(change.value.payload.as_deref(), Some(&b"hi"[..]));
        assert_eq!(change.value.attachment.as_deref(), Some(&b"x"[..]));
        let encoding = change.value.encoding.unwrap();
        assert_eq!(encoding.to_string(), "text/plain;utf-8");
        assert_eq!(change.timestamp.unwrap().to_string(), "7/12");
        assert_eq!(service.priority, zonda::qos::Priority::DataHigh);
        assert!(service.express && service.locality == Locality::Remote);
    }

    #[test]
    fn a_number_follows_the_kind_whose_bit_is_set() {
        let message = message(&[0x80 | 3, 1, 2, 0, 0, 9, 0, 0, 0]).unwrap();
        assert_eq!((message.kind, message.number), (3, Some(0x201)));
        let (id, sort) = (9, Sort::Subscriber);
        assert_eq!(message.request, Request::Undeclare { id, sort });
    }

    #[test]
    fn each_message_that_is_cut_or_too_long_is_malformed() {
        for kind in (0..=36).filter(|kind| ![12, 13, 25, 31, 32].contains(kind)) {
            assert_eq!(message(&[kind]).unwrap_err(), Malformed::Short, "{kind}");
        }
        for kind in [12, 13, 25, 31, 32] {
            assert!(message(&[kind]).is_ok());
            assert_eq!(message(&[kind, 0]).unwrap_err(), Malformed::Long(1));
        }
        for kind in 37..=127 {
            assert_eq!(message(&[kind]).unwrap_err(), Malformed::Kind(kind));
        }
        assert_eq!(message(&[]).unwrap_err(), Malformed::Short);
    }

    #[test]
    fn values_that_a_type_does_not_have_are_malformed() {
        let subscriber = |locality| message(&[2, 0, 0, 0, 0, 1, b'a', locality]);
        assert!((0..3).all(|locality| subscriber(locality).is_ok()));
        assert_eq!(subscriber(3).unwrap_err(), Malformed::Value("a locality"));
        let delete = |service| message(&[15, 1, b'a', 0, 0, service]).map(drop);
        assert_eq!(delete(0x85), Ok(()));
        assert_eq!(delete(0x80), Err(Malformed::Value("a priority")));
        let endless = [&[8, 0, 0, 0, 0][..], &[0xff; 12]].concat();
        assert_eq!(message(&endless).unwrap_err(), Malformed::Value("a length"));
    }
}
