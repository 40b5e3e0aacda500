// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages to be measured, in our form and in the reference's, with equal bytes.
//!
//! Both sides write into a roomy batch buffer that exists before, and read from a contiguous received
//! buffer, as their transports do.

use std::{hint::black_box, time::Duration};

use zenoh_buffers::{BBuf, ZSlice, buffer::Buffer, writer::HasWriter};
use zenoh_codec::{RCodec, WCodec, Zenoh080};
use zenoh_protocol::core::WireExpr as TheirWireExpr;
use zenoh_protocol::network as theirs;
use zenoh_protocol::network::Mapping as TheirMapping;
use zenoh_protocol::zenoh as their_body;
use zonda_codec::*;

/// A message that is encoded and decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// A Push of 8 bytes on a declared key, with default quality of service.
    Push8,
    /// `Push8` with congestion control Block, as the throughput test sends it.
    Push8Block,
    /// A Push of 1 KiB on a declared key.
    Push1K,
    /// The declaration of a subscriber.
    Declare,
    /// A query with a timeout.
    Request,
}

impl Case {
    /// All cases.
    pub const ALL: [Case; 5] = [
        Case::Push8,
        Case::Push8Block,
        Case::Push1K,
        Case::Declare,
        Case::Request,
    ];

    /// Returns the name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Case::Push8 => "push8",
            Case::Push8Block => "push8-block",
            Case::Push1K => "push1k",
            Case::Declare => "declare",
            Case::Request => "request",
        }
    }

    /// Returns the case of that name.
    #[allow(dead_code, reason = "the benchmark runs all cases")]
    pub fn named(name: &str) -> Option<Case> {
        Case::ALL.into_iter().find(|case| case.name() == name)
    }

    fn payload(self) -> &'static [u8] {
        match self {
            Case::Push1K => &[0x55; 1024],
            _ => &[0x55; 8],
        }
    }

    fn ours(self) -> NetworkMessage<'static> {
        match self {
            Case::Push8 | Case::Push8Block | Case::Push1K => {
                let body = PushBody::Put(Put::new(self.payload()));
                let mut push = Push::new(WireExpr::scoped(1, Mapping::Sender), body);
                if self == Case::Push8Block {
                    push.qos = Qos::REQUEST;
                }
                NetworkMessage::Push(push)
            }
            Case::Declare => NetworkMessage::Declare(Declare::new(Declaration::Subscriber {
                id: 1,
                wire_expr: WireExpr {
                    scope: 1,
                    suffix: "/**",
                    mapping: Mapping::Sender,
                },
            })),
            Case::Request => {
                let query = Query {
                    parameters: "a=1",
                    ..Query::default()
                };
                let mut request = Request::new(1, WireExpr::full("demo/example/*"), query);
                request.timeout = Some(Duration::from_secs(10));
                NetworkMessage::Request(request)
            }
        }
    }

    fn theirs(self) -> theirs::NetworkMessage {
        let expr = |scope, suffix: &'static str| TheirWireExpr {
            scope,
            suffix: suffix.into(),
            mapping: TheirMapping::Sender,
        };
        match self {
            Case::Push8 | Case::Push8Block | Case::Push1K => {
                let put = their_body::Put {
                    payload: self.payload().to_vec().into(),
                    ..their_body::Put::default()
                };
                let mut push = theirs::Push::from(put);
                push.wire_expr = expr(1, "");
                if self == Case::Push8Block {
                    push.ext_qos
                        .set_congestion_control(zenoh_protocol::core::CongestionControl::Block);
                }
                theirs::NetworkBody::Push(push).into()
            }
            Case::Declare => theirs::NetworkBody::Declare(theirs::Declare {
                interest_id: None,
                ext_qos: theirs::declare::ext::QoSType::DECLARE,
                ext_tstamp: None,
                ext_nodeid: theirs::declare::ext::NodeIdType::DEFAULT,
                body: theirs::declare::DeclareBody::DeclareSubscriber(
                    theirs::declare::DeclareSubscriber {
                        id: 1,
                        wire_expr: expr(1, "/**"),
                    },
                ),
            })
            .into(),
            Case::Request => theirs::NetworkBody::Request(theirs::Request {
                id: 1,
                wire_expr: expr(0, "demo/example/*"),
                ext_qos: theirs::request::ext::QoSType::REQUEST,
                ext_tstamp: None,
                ext_nodeid: theirs::request::ext::NodeIdType::DEFAULT,
                ext_target: theirs::request::ext::QueryTarget::DEFAULT,
                ext_budget: None,
                ext_timeout: Some(Duration::from_secs(10)),
                ext_ts_stack: None,
                payload: their_body::RequestBody::Query(their_body::Query {
                    parameters: "a=1".to_owned(),
                    ..their_body::Query::default()
                }),
            })
            .into(),
        }
    }
}

const BATCH: usize = 65535;

/// Our message, its bytes, and a batch to write it into.
pub struct Ours {
    message: NetworkMessage<'static>,
    bytes: Vec<u8>,
    batch: Vec<u8>,
}

impl Ours {
    /// Prepares our side of a case.
    pub fn new(case: Case) -> Self {
        let message = case.ours();
        Ours {
            bytes: message.to_vec().expect("it has a wire form"),
            message,
            batch: vec![0; BATCH],
        }
    }

    /// Writes the message at the start of the batch.
    #[inline(always)]
    pub fn encode(&mut self) -> usize {
        let mut writer = Writer::new(black_box(&mut self.batch));
        let result = black_box(&self.message).encode(&mut writer);
        assert!(result.is_ok());
        writer.position()
    }

    /// Reads the message.
    #[inline(always)]
    pub fn decode(&self) {
        let mut reader = Reader::new(black_box(&self.bytes));
        let message = NetworkMessage::decode(&mut reader);
        assert!(black_box(&message).is_ok());
    }
}

/// The reference's message, its bytes, and a batch to write it into.
pub struct Theirs {
    message: theirs::NetworkMessage,
    slice: ZSlice,
    batch: BBuf,
}

impl Theirs {
    /// Prepares the reference's side of a case.
    pub fn new(case: Case) -> Self {
        let message = case.theirs();
        let mut bytes = Vec::new();
        Zenoh080::new()
            .write(&mut bytes.writer(), &message)
            .expect("a vector grows");
        assert_eq!(
            bytes,
            case.ours().to_vec().expect("it has a wire form"),
            "both sides write the same bytes"
        );
        Theirs {
            message,
            slice: ZSlice::from(bytes),
            batch: BBuf::with_capacity(BATCH),
        }
    }

    /// Writes the message at the start of the batch.
    #[inline(always)]
    pub fn encode(&mut self) -> usize {
        let batch = black_box(&mut self.batch);
        batch.clear();
        let result = Zenoh080::new().write(&mut batch.writer(), black_box(&self.message));
        assert!(result.is_ok());
        batch.len()
    }

    /// Reads the message from a slice of a shared buffer, as the reference's transport does.
    #[inline(always)]
    pub fn decode(&mut self) {
        let mut slice = black_box(&self.slice).clone();
        let message: Result<theirs::NetworkMessage, _> = Zenoh080::new().read(&mut slice);
        assert!(black_box(&message).is_ok());
    }
}
