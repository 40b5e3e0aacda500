// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages of ours made from random bytes, which they borrow from: proptest shrinks the bytes.

use std::time::Duration;

use zonda_codec::extension::RawExtensions;
use zonda_codec::*;

/// A supply of choices; when it runs out, every choice is the first.
pub struct Dice<'a> {
    bytes: &'a [u8],
}

impl<'a> Dice<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Dice { bytes }
    }

    fn byte(&mut self) -> u8 {
        let Some((&byte, rest)) = self.bytes.split_first() else {
            return 0;
        };
        self.bytes = rest;
        byte
    }

    fn coin(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// Returns a number of any magnitude: half of them are small.
    fn number(&mut self) -> u64 {
        let width = self.byte() % 9;
        (0..width).fold(0, |number, _| number << 8 | u64::from(self.byte()))
    }

    fn bytes(&mut self, most: usize) -> &'a [u8] {
        let length = (usize::from(self.byte()) % (most + 1)).min(self.bytes.len());
        let (bytes, rest) = self.bytes.split_at(length);
        self.bytes = rest;
        bytes
    }

    /// Returns a text: the random bytes up to the first that is not ASCII.
    fn text(&mut self, most: usize) -> &'a str {
        let bytes = self.bytes(most);
        let ascii = bytes.iter().take_while(|byte| byte.is_ascii()).count();
        std::str::from_utf8(&bytes[..ascii]).expect("ASCII is UTF-8")
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.coin().then(|| make(self))
    }

    fn zid(&mut self) -> ZenohId {
        let high = u128::from(self.number());
        ZenohId::random_from(high << 64 | u128::from(self.number()))
    }

    fn timestamp(&mut self) -> Timestamp {
        Timestamp::new(Ntp64(self.number()), self.zid())
    }

    /// Returns a stack of up to 255 records with times of up to 30 bytes. It is leaked, because a
    /// message only borrows it.
    fn ts_stack(&mut self) -> TsStack<'a> {
        let mut stack = TsStackBuf::new(self.byte().max(1)).expect("it has a point");
        for _ in 0..self.number() % 256 {
            assert!(stack.push(self.byte(), self.bytes(30)));
        }
        Box::leak(Box::new(stack)).view()
    }

    fn entity(&mut self) -> EntityGlobalId {
        EntityGlobalId {
            zid: self.zid(),
            eid: self.number() as u32,
        }
    }

    fn source_info(&mut self) -> SourceInfo {
        SourceInfo {
            id: self.entity(),
            sn: self.number() as u32,
        }
    }

    fn encoding(&mut self) -> Encoding<'a> {
        Encoding {
            id: self.number() as u16,
            schema: self.maybe(|dice| dice.bytes(255)),
        }
    }

    fn wire_expr(&mut self) -> WireExpr<'a> {
        WireExpr {
            scope: self.number() as u16,
            suffix: self.text(100),
            mapping: if self.coin() {
                Mapping::Sender
            } else {
                Mapping::Receiver
            },
        }
    }

    fn key(&mut self) -> Option<WireExpr<'a>> {
        self.maybe(Self::wire_expr)
            .filter(|key| *key != WireExpr::default())
    }

    fn qos(&mut self) -> Qos {
        Qos::from_bits(self.byte())
    }

    fn consolidation(&mut self) -> Consolidation {
        match self.byte() % 4 {
            0 => Consolidation::Auto,
            1 => Consolidation::None,
            2 => Consolidation::Monotonic,
            _ => Consolidation::Latest,
        }
    }

    fn put(&mut self) -> Put<'a> {
        Put {
            timestamp: self.maybe(Self::timestamp),
            encoding: self.encoding(),
            source_info: self.maybe(Self::source_info),
            attachment: self.maybe(|dice| dice.bytes(40)),
            unknown: RawExtensions::NONE,
            payload: self.bytes(200),
        }
    }

    fn push_body(&mut self) -> PushBody<'a> {
        if self.coin() {
            return PushBody::Put(self.put());
        }
        PushBody::Del(Del {
            timestamp: self.maybe(Self::timestamp),
            source_info: self.maybe(Self::source_info),
            attachment: self.maybe(|dice| dice.bytes(40)),
            unknown: RawExtensions::NONE,
        })
    }

    fn query(&mut self) -> Query<'a> {
        Query {
            consolidation: self.consolidation(),
            parameters: self.text(40),
            source_info: self.maybe(Self::source_info),
            body: self.maybe(|dice| QueryBody {
                encoding: dice.encoding(),
                payload: dice.bytes(100),
            }),
            attachment: self.maybe(|dice| dice.bytes(40)),
            unknown: RawExtensions::NONE,
        }
    }

    fn response_body(&mut self) -> ResponseBody<'a> {
        if self.coin() {
            return ResponseBody::Reply(Reply {
                consolidation: self.consolidation(),
                unknown: RawExtensions::NONE,
                payload: self.push_body(),
            });
        }
        ResponseBody::Err(ErrBody {
            encoding: self.encoding(),
            source_info: self.maybe(Self::source_info),
            unknown: RawExtensions::NONE,
            payload: self.bytes(100),
        })
    }

    fn declaration(&mut self) -> Declaration<'a> {
        let id = self.number() as u32;
        match self.byte() % 9 {
            0 => Declaration::KeyExpr {
                id: id as u16,
                wire_expr: WireExpr {
                    mapping: Mapping::Sender,
                    ..self.wire_expr()
                },
            },
            1 => Declaration::UndeclareKeyExpr { id: id as u16 },
            2 => Declaration::Subscriber {
                id,
                wire_expr: self.wire_expr(),
            },
            3 => Declaration::UndeclareSubscriber {
                id,
                key: self.key(),
            },
            4 => Declaration::Queryable {
                id,
                wire_expr: self.wire_expr(),
                info: QueryableInfo {
                    complete: self.coin(),
                    distance: self.number() as u16,
                },
            },
            5 => Declaration::UndeclareQueryable {
                id,
                key: self.key(),
            },
            6 => Declaration::Token {
                id,
                wire_expr: self.wire_expr(),
            },
            7 => Declaration::UndeclareToken {
                id,
                key: self.key(),
            },
            _ => Declaration::Final,
        }
    }

    fn interest(&mut self) -> Interest<'a> {
        let mode = match self.byte() % 4 {
            0 => InterestMode::Final,
            1 => InterestMode::Current,
            2 => InterestMode::Future,
            _ => InterestMode::CurrentFuture,
        };
        let is_final = mode == InterestMode::Final;
        let options = InterestOptions::from_bits(if is_final { 0 } else { self.byte() });
        Interest {
            id: self.number() as u32,
            mode,
            options,
            wire_expr: self.maybe(Self::wire_expr).filter(|_| !is_final),
            qos: self.qos(),
            timestamp: self.maybe(Self::timestamp),
            node_id: self.number() as u16,
        }
    }

    fn node_id(&mut self) -> NodeId {
        NodeId::marked(self.number() as u16, self.number() as u16)
    }

    fn request(&mut self) -> Request<'a> {
        Request {
            rid: self.number() as u32,
            wire_expr: self.wire_expr(),
            qos: self.qos(),
            timestamp: self.maybe(Self::timestamp),
            node_id: self.node_id(),
            target: match self.byte() % 3 {
                0 => Target::BestMatching,
                1 => Target::All,
                _ => Target::AllComplete,
            },
            budget: self.maybe(|dice| (dice.number() as u32).max(1)),
            timeout: self.maybe(|dice| Duration::from_millis(dice.number())),
            ts_stack: self.maybe(Self::ts_stack),
            hears_of_losses: self.byte().is_multiple_of(4),
            body: self.query(),
        }
    }

    pub fn network(&mut self) -> NetworkMessage<'a> {
        match self.byte() % 7 {
            0 => NetworkMessage::Push(Push {
                wire_expr: self.wire_expr(),
                qos: self.qos(),
                timestamp: self.maybe(Self::timestamp),
                node_id: self.node_id(),
                ts_stack: self.maybe(Self::ts_stack),
                body: self.push_body(),
            }),
            1 => NetworkMessage::Request(self.request()),
            2 => NetworkMessage::Response(Response {
                rid: self.number() as u32,
                wire_expr: self.wire_expr(),
                qos: self.qos(),
                timestamp: self.maybe(Self::timestamp),
                responder: self.maybe(Self::entity),
                ts_stack: self.maybe(Self::ts_stack),
                body: self.response_body(),
            }),
            3 => NetworkMessage::ResponseFinal(ResponseFinal {
                rid: self.number() as u32,
                qos: self.qos(),
                timestamp: self.maybe(Self::timestamp),
            }),
            4 => NetworkMessage::Declare(Declare {
                interest_id: self.maybe(|dice| dice.number() as u32),
                qos: self.qos(),
                timestamp: self.maybe(Self::timestamp),
                node_id: self.number() as u16,
                body: self.declaration(),
            }),
            5 => NetworkMessage::Interest(self.interest()),
            _ => NetworkMessage::Oam(Oam {
                id: self.number() as u16,
                qos: self.qos(),
                timestamp: self.maybe(Self::timestamp),
                body: match self.byte() % 3 {
                    0 => OamBody::Unit,
                    1 => OamBody::Z64(self.number()),
                    _ => OamBody::Buf(self.bytes(100)),
                },
            }),
        }
    }
}
