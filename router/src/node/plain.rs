// SPDX-License-Identifier: MIT OR Apache-2.0

//! The short way of the message that nearly all are: a put with nothing beside its payload, for other nodes alone. Its
//! head differs from the last one's in the payload's length only, so it is encoded once for each neighbour and copied
//! from then on.

use zonda_codec::{
    CongestionControl, Encode, EncodeError, Encoding, Qos, Reliability, WireExpr, Writer,
};
use zonda_transport::{
    outbox::Refused,
    protocol::tx::{Outgoing, Tail},
};

use super::{
    Outcome, Publication, PublishError, SampleKind, Value, Wait,
    publish::{Head, MESSAGE_BYTES_MAX, body},
    publisher::Way,
    route::{Hop, Route},
    shared::Shared,
    tally::Tally,
};

/// A put with nothing beside its payload.
#[derive(Debug, Clone, Copy)]
pub struct Plain<'a> {
    /// The value.
    pub payload: Value<'a>,
    /// The number of its encoding, which has no schema.
    pub encoding: u16,
    /// Priority, congestion control and express.
    pub qos: Qos,
    /// Whether it may be lost on the way.
    pub reliability: Reliability,
}

impl<'a> From<Plain<'a>> for Publication<'a> {
    fn from(plain: Plain<'a>) -> Self {
        Publication {
            kind: SampleKind::Put,
            payload: plain.payload,
            encoding: Encoding {
                id: plain.encoding,
                schema: None,
            },
            attachment: None,
            timestamp: None,
            source_info: None,
            qos: plain.qos,
            reliability: plain.reliability,
        }
    }
}

/// What became of a message that all neighbours on its route took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passed {
    /// [`Outcome::Sent`].
    Sent,
    /// [`Outcome::Queued`].
    Queued,
}

/// What became of a message, in two registers. A whole [`Outcome`] or [`PublishError`] is written to memory in parts and
/// read back in one piece before the parts are there, which once cost a quarter of a put.
#[derive(Debug)]
#[must_use = "the message may not have been accepted"]
pub struct Passing {
    /// What became of it, if it took the usual course.
    pub passed: Passed,
    /// What became of it otherwise; `passed` then says nothing.
    pub unusual: Option<Box<Result<Outcome, PublishError>>>,
}

impl Passing {
    /// The same as one value.
    #[inline(always)]
    pub fn into_result(self) -> Result<Outcome, PublishError> {
        match self.unusual {
            None => Ok(self.passed.into()),
            Some(unusual) => *unusual,
        }
    }
}

impl From<Passed> for Outcome {
    #[inline(always)]
    fn from(passed: Passed) -> Outcome {
        match passed {
            Passed::Sent => Outcome::Sent,
            Passed::Queued => Outcome::Queued,
        }
    }
}

/// Room for a head up to the payload's length: header, key id, qos, body's header and encoding take at most ten bytes.
const HEAD_BYTES_MAX: usize = 16;

/// The head of one neighbour's copy, without the payload's length at its end.
struct Prepared {
    bytes: [u8; HEAD_BYTES_MAX],
    len: usize,
}

impl Prepared {
    /// `None` for a key that this neighbour has no id for: then the head has a text in it and is written anew each
    /// time.
    fn new(wire_expr: WireExpr<'_>, plain: &Plain<'_>) -> Option<Prepared> {
        let empty = Plain {
            payload: Value::Borrowed(&[]),
            ..*plain
        };
        let head = Head {
            wire_expr,
            qos: plain.qos,
            body: &body(&empty.into(), None),
            payload_len: 0,
        };
        let mut bytes = [0; HEAD_BYTES_MAX];
        let mut writer = Writer::new(&mut bytes);
        head.encode(&mut writer).ok()?;
        // The last byte is the length of the empty payload.
        let len = writer.position().checked_sub(1)?;
        Some(Prepared { bytes, len })
    }
}

/// A prepared head with the length of the payload at hand.
struct Completed<'a> {
    prepared: &'a Prepared,
    payload_len: usize,
}

impl Encode for Completed<'_> {
    #[inline(always)]
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            writer.front_of(&self.prepared.bytes, self.prepared.len)?;
            writer.vle(self.payload_len as u64)
        })
    }
}

/// The prepared heads of one route, in the order of its neighbours.
pub(super) struct Heads {
    qos: Qos,
    encoding: u16,
    prepared: Box<[Prepared]>,
}

impl Heads {
    /// Prepares the heads for messages like `plain`. A route that has no short way gets heads that fit no message.
    pub(super) fn new(shared: &Shared, route: &Route, plain: &Plain<'_>) -> Heads {
        let simple = plain.qos.congestion_control() != CongestionControl::BlockFirst;
        let short = simple && !shared.stamps && route.local.is_empty();
        let prepared: Option<Box<[Prepared]>> = route
            .remote
            .iter()
            .map(|hop| Prepared::new(hop.wire_expr(), plain))
            .collect();
        Heads {
            qos: plain.qos,
            encoding: plain.encoding,
            prepared: prepared.filter(|_| short).unwrap_or_default(),
        }
    }

    /// Whether these are the heads of `plain` on `route`.
    #[inline]
    pub(super) fn fit(&self, route: &Route, plain: &Plain<'_>) -> bool {
        self.qos == plain.qos
            && self.encoding == plain.encoding
            && self.prepared.len() == route.remote.len()
            && route.local.is_empty()
    }
}

impl Shared {
    /// As [`Shared::dispatch`], on a route whose heads [fit](Heads::fit) the message. It is counted.
    #[inline]
    pub(super) fn dispatch_plain(
        &self,
        way: &Way,
        heads: &Heads,
        plain: &Plain<'_>,
        wait: Wait,
    ) -> Passing {
        let route = &way.route;
        let payload = match plain.payload {
            Value::Borrowed(bytes) => Tail::Copy(bytes),
            Value::Shared(payload) => Tail::Shared(payload.as_zslice()),
        };
        let payload_len = payload.bytes().len();
        if self.is_closed() || payload_len > MESSAGE_BYTES_MAX {
            return self.dispatch_unusual(way, plain, wait);
        }
        let mut passed = Passed::Sent;
        for (index, (hop, prepared)) in route.remote.iter().zip(&heads.prepared).enumerate() {
            let message = Outgoing {
                reliability: plain.reliability,
                head: &Completed {
                    prepared,
                    payload_len,
                },
                payload,
            };
            let offered = hop
                .outbox
                .push(plain.qos.priority(), &message)
                .map(|pushed| hop.outbox.settle(pushed, plain.qos.is_express()));
            match offered {
                Ok(true) => {}
                Ok(false) => passed = Passed::Queued,
                Err(refused) => {
                    let rest = route.remote.get(index..).unwrap_or_default();
                    let result = self.dispatch_refused((rest, refused), plain, wait, passed);
                    return unusual(result, plain, &way.tally);
                }
            }
        }
        way.tally.count(passed, payload_len);
        Passing {
            passed,
            unusual: None,
        }
    }

    #[inline(never)]
    pub(super) fn dispatch_unusual(&self, way: &Way, plain: &Plain<'_>, wait: Wait) -> Passing {
        let result = self.dispatch(&way.route, &(*plain).into(), wait);
        unusual(result, plain, &way.tally)
    }

    #[cold]
    fn dispatch_refused(
        &self,
        (rest, refused): (&[Hop], Refused),
        plain: &Plain<'_>,
        wait: Wait,
        passed: Passed,
    ) -> Result<Outcome, PublishError> {
        let publication = (*plain).into();
        self.dispatch_rest((rest, refused), &publication, wait, passed.into())
    }
}

/// The result, counted, in two registers.
#[cold]
fn unusual(result: Result<Outcome, PublishError>, plain: &Plain<'_>, tally: &Tally) -> Passing {
    let bytes = plain.payload.as_slice().len();
    let passed = match result {
        Ok(Outcome::Sent) => Passed::Sent,
        Ok(Outcome::Queued) => Passed::Queued,
        other => {
            tally.count_other(bytes, &other);
            return Passing {
                passed: Passed::Queued,
                unusual: Some(Box::new(other)),
            };
        }
    };
    tally.count(passed, bytes);
    Passing {
        passed,
        unusual: None,
    }
}

#[cfg(test)]
mod tests {
    use zonda_codec::Mapping;

    use super::*;

    fn plain(payload: &[u8], encoding: u16, qos: Qos) -> Plain<'_> {
        Plain {
            payload: Value::Borrowed(payload),
            encoding,
            qos,
            reliability: Reliability::Reliable,
        }
    }

    /// Whatever a prepared head can stand for, it has the bytes of one that was written for its message.
    #[test]
    fn a_completed_head_is_the_head_written_anew() {
        let payload = vec![0; 70_000];
        for scope in [1, 127, 128, 65_535] {
            for mapping in [Mapping::Sender, Mapping::Receiver] {
                for (encoding, qos) in [
                    (0, Qos::DATA),
                    (7, Qos::DECLARE),
                    (65_535, Qos::from_bits(0x1d)),
                ] {
                    let wire_expr = WireExpr {
                        scope,
                        suffix: "",
                        mapping,
                    };
                    let prepared =
                        Prepared::new(wire_expr, &plain(&[], encoding, qos)).expect("room");
                    for payload_len in [0, 1, 127, 128, 16_383, 16_384, 70_000] {
                        let message = plain(&payload[..payload_len], encoding, qos).into();
                        let anew = Head {
                            wire_expr,
                            qos,
                            body: &body(&message, None),
                            payload_len,
                        };
                        let completed = Completed {
                            prepared: &prepared,
                            payload_len,
                        };
                        assert_eq!(completed.to_vec(), anew.to_vec());
                        let mut tight = vec![0; anew.to_vec().expect("a form").len()];
                        assert_eq!(completed.encode(&mut Writer::new(&mut tight)), Ok(()));
                        assert_eq!(Ok(&tight), anew.to_vec().as_ref());
                        tight.pop();
                        let cut = completed.encode(&mut Writer::new(&mut tight));
                        assert_eq!(cut, Err(EncodeError::NoRoom));
                    }
                }
            }
        }
    }

    #[test]
    fn a_key_in_full_has_no_prepared_head() {
        let long = WireExpr::full("a/key/that/has/no/id/here");
        assert!(Prepared::new(long, &plain(&[], 0, Qos::DATA)).is_none());
    }
}
