// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`Reply`], which a get receives.

use std::fmt;

use zonda_codec::{EntityGlobalId, Push, Reliability, WireExpr};
use zonda_router::node::{Delivery, IncomingReply, LostLink, ReplyBody};

use crate::bytes::{Encoding, ZBytes};
use crate::handlers::Stored;
use crate::namespace::Namespace;
use crate::sample::Sample;
use crate::timestamp_stack::TimestampStack;

/// A reply to a query: a sample, or an error.
///
/// ```
/// fn show(reply: &zonda::query::Reply) {
///     match reply.result() {
///         Ok(sample) => println!("{} = {:?}", sample.key_expr(), sample.payload()),
///         Err(error) => println!("no answer: {error}"),
///     }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Reply {
    result: Result<Sample, ReplyError>,
    replier: Option<EntityGlobalId>,
}

impl Reply {
    /// Returns the sample or the error.
    pub fn result(&self) -> Result<&Sample, &ReplyError> {
        self.result.as_ref()
    }

    /// Returns the sample or the error, mutably.
    pub fn result_mut(&mut self) -> Result<&mut Sample, &mut ReplyError> {
        self.result.as_mut()
    }

    /// Converts to the sample or the error.
    pub fn into_result(self) -> Result<Sample, ReplyError> {
        self.result
    }

    /// Returns the id of the queryable and node that replied, if it is known. Errors of nodes on
    /// the way have none.
    pub fn replier_id(&self) -> Option<EntityGlobalId> {
        self.replier
    }

    /// Returns true for the error by which a node reports that the link to a queried node was lost.
    /// Zenoh's nodes send no such error; a get of theirs ends without a reply.
    pub fn tells_lost_link(&self) -> bool {
        // Nodes have no entity id; an id of another one is that of a queryable.
        let by_a_node = self.replier.is_none_or(|id| id.eid == 0);
        let tells = |error: &ReplyError| {
            error.encoding == Encoding::ZENOH_STRING
                && LostLink::is_told_by(&error.payload.to_bytes())
        };
        by_a_node && self.result.as_ref().is_err_and(tells)
    }

    /// Shares the reply's buffer; copies only what is small.
    pub(super) fn new(reply: &IncomingReply<'_>) -> Reply {
        let result = match &reply.body {
            ReplyBody::Sample(body) => {
                let mut push = Push::new(WireExpr::default(), **body);
                push.qos = reply.qos;
                push.ts_stack = reply.ts_stack;
                let key = reply.key.clone().into_cloneable();
                Ok(Sample::new(&Delivery {
                    key: &key,
                    push: &push,
                    block: reply.block,
                    reliability: Reliability::Reliable,
                }))
            }
            ReplyBody::Error { encoding, payload } => Err(ReplyError {
                payload: ZBytes::of_block(reply.block, payload),
                encoding: Encoding::of_block(reply.block, *encoding),
                stack: stack_of(reply),
            }),
        };
        let replier = reply.responder;
        Reply { result, replier }
    }

    /// Creates a reply of a sample that was not published: a live liveliness token.
    pub(crate) fn of_sample(sample: Sample) -> Reply {
        let result = Ok(sample);
        let replier = None;
        Reply { result, replier }
    }

    /// Creates the error that replaces the missing replies after the timeout.
    pub(crate) fn timeout() -> Reply {
        let error = ReplyError::new(ZBytes::from("Timeout"), Encoding::ZENOH_STRING);
        Reply::failed(error, None)
    }

    /// Returns the reply with its key below the namespace; `None` for a key outside of it.
    pub(super) fn below(self, namespace: &Namespace) -> Option<Reply> {
        let Reply { result, replier } = self;
        let result = match result {
            Ok(sample) => {
                let key = namespace.incoming(sample.key_expr())?;
                Ok(sample.renamed(key))
            }
            Err(error) => Err(error),
        };
        Some(Reply { result, replier })
    }

    pub(super) fn failed(error: ReplyError, replier: Option<EntityGlobalId>) -> Reply {
        let result = Err(error);
        Reply { result, replier }
    }

    /// Returns about how much memory it holds.
    pub(super) fn held_bytes(&self) -> usize {
        let beside = size_of::<Reply>();
        let held = |stack: Option<&TimestampStack>| stack.map_or(0, TimestampStack::held_bytes);
        match &self.result {
            Ok(sample) => {
                let attached = sample.attachment().map_or(0, ZBytes::len);
                let beside = beside + held(sample.timestamp_stack());
                beside + sample.key_expr().as_str().len() + sample.payload().len() + attached
            }
            Err(error) => beside + error.payload.len() + held(error.timestamp_stack()),
        }
    }
}

impl From<Reply> for Result<Sample, ReplyError> {
    fn from(reply: Reply) -> Self {
        reply.result
    }
}

impl Stored for Reply {
    const ASKS: bool = true;

    /// Copies small parts into their own buffers, as for samples.
    fn before_storing(self) -> Reply {
        let Reply { result, replier } = self;
        let result = result
            .map(Stored::before_storing)
            .map_err(Stored::before_storing);
        Reply { result, replier }
    }
}

/// An error that a queryable replied, or that replaces a missing reply: `Timeout`, or
/// `the link to <id> was lost`, by this session or by the router in between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyError {
    payload: ZBytes,
    encoding: Encoding,
    stack: Option<Box<TimestampStack>>,
}

fn stack_of(reply: &IncomingReply<'_>) -> Option<Box<TimestampStack>> {
    let stack = reply.ts_stack?;
    Some(Box::new(TimestampStack::read(stack)))
}

impl ReplyError {
    pub(super) fn new(payload: ZBytes, encoding: Encoding) -> ReplyError {
        ReplyError {
            payload,
            encoding,
            stack: None,
        }
    }

    /// Returns the payload, which describes the error.
    pub fn payload(&self) -> &ZBytes {
        &self.payload
    }

    /// Returns the payload, mutably.
    pub fn payload_mut(&mut self) -> &mut ZBytes {
        &mut self.payload
    }

    /// Returns the encoding of the payload.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// Returns the [times](crate::timestamp_stack) at which the query and this reply passed nodes,
    /// if the get asked for them.
    pub fn timestamp_stack(&self) -> Option<&TimestampStack> {
        self.stack.as_deref()
    }
}

impl fmt::Display for ReplyError {
    /// Writes the payload if it is text, else its length and encoding.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.payload.try_to_string() {
            Ok(text) => f.write_str(&text),
            Err(_) => write!(f, "{} bytes of {}", self.payload.len(), self.encoding),
        }
    }
}

impl std::error::Error for ReplyError {}

impl Stored for ReplyError {
    fn before_storing(mut self) -> ReplyError {
        self.payload = self.payload.detached();
        self.encoding.detach();
        self
    }
}

#[cfg(test)]
impl Reply {
    /// Creates the reply of a put.
    pub(super) fn of_test(
        key: &'static str,
        timestamp: Option<crate::time::Timestamp>,
        payload: &str,
    ) -> Reply {
        let mut put = zonda_codec::Put::new(payload.as_bytes());
        put.timestamp = timestamp;
        let block = zonda_codec::ZSlice::from(payload.as_bytes().to_vec());
        let push = Push::new(WireExpr::default(), zonda_codec::PushBody::Put(put));
        let key = zonda_codec::KeyExpr::new(key).expect("a key").into_owned();
        let sample = Sample::new(&Delivery {
            key: &key,
            push: &push,
            block: &block,
            reliability: Reliability::Reliable,
        });
        Reply {
            result: Ok(sample),
            replier: None,
        }
    }
}
