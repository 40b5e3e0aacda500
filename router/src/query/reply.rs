// SPDX-License-Identifier: MIT OR Apache-2.0

//! Replies of a queryable of this node to the asker, which is a neighbour or this node's own
//! session.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use zonda_codec::{
    Encoding, EntityGlobalId, ErrBody, KeyExpr, Payload, Priority, PushBody, RawExtensions,
    Reliability, Reply, ResponseBody, ResponseHead, TsStack, TsStackBuf, ZSlice, ZenohId,
};
use zonda_transport::{
    outbox::{Outbox, Refused},
    protocol::tx::Outgoing,
};

use crate::{
    flow::{
        backpressure,
        deliver::{keep, offer_later, write},
        head::{MESSAGE_BYTES_MAX, body},
    },
    model::{Outcome, Publication, SampleKind, Value},
    node::{
        shared::{KEY_BYTES_MAX, Shared},
        state::State,
    },
    query::{
        after::{After, Call},
        checked::{Filtered, view_of_reply},
        errors::AnswerError,
        heads::{ReplyHead, may_drop, response},
        incoming::QueryableId,
        open::{Next, OpenQuery},
        outgoing::{IncomingReply, ReplyBody},
        owned::shared,
    },
    send_error::SendError,
    table::{FaceId, QueryOrigin},
};

/// A reply of a queryable of this node on its way out.
pub(crate) struct OutgoingReply<'a> {
    key: &'a KeyExpr<'a>,
    eid: u32,
    body: ResponseBody<'a>,
    payload: Value<'a>,
    /// True once the filters of the asker have let it pass.
    has_passed: bool,
    /// Times collected on the way of the query, and here.
    pub(super) stack: Option<TsStackBuf>,
}

/// The reason why an attempt to reply failed, and the room to wait for.
pub(crate) struct ReplyBlocked {
    pub(crate) error: AnswerError,
    room: Room,
}

pub(crate) enum Room {
    /// Waiting does not help, or is not necessary.
    None,
    Lane(Arc<Outbox>),
    Query(Arc<OpenQuery>),
}

impl Room {
    /// Waits until there is room, at most until `deadline`; returns false if there is none.
    pub(crate) async fn by(&self, node: &Shared, priority: Priority, deadline: Instant) -> bool {
        match self {
            Room::None => false,
            Room::Lane(outbox) => backpressure::room_by(node, outbox, priority, deadline).await,
            Room::Query(query) => node.until(deadline, query.room()).await.is_some(),
        }
    }
}

impl From<AnswerError> for ReplyBlocked {
    fn from(error: AnswerError) -> Self {
        let room = Room::None;
        ReplyBlocked { error, room }
    }
}

impl ReplyBlocked {
    /// Returns the error of a full lane; a reply that may be dropped does not wait for room.
    fn full(peer: ZenohId, asker: &QueryOrigin, room: Room) -> ReplyBlocked {
        let may_drop = may_drop(asker.qos);
        ReplyBlocked {
            error: SendError::full(peer, may_drop).into(),
            room: if may_drop { Room::None } else { room },
        }
    }

    /// Returns true if waiting cannot help.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self.room, Room::None)
    }

    /// Blocks until there is room, at most until `deadline`; returns false if there is none.
    pub(crate) fn wait_room(&self, node: &Shared, priority: Priority, deadline: Instant) -> bool {
        match &self.room {
            Room::None => false,
            Room::Lane(outbox) => backpressure::wait_for_room(node, outbox, priority, deadline),
            Room::Query(query) => query.wait_room(deadline),
        }
    }

    /// Waits like [`ReplyBlocked::wait_room`] without blocking the thread.
    pub(crate) async fn room_by(
        &self,
        node: &Shared,
        priority: Priority,
        deadline: Instant,
    ) -> bool {
        self.room.by(node, priority, deadline).await
    }

    /// Returns the error after a wait of `limit` has found no room.
    pub(crate) fn after(self, limit: Duration) -> AnswerError {
        match self.error {
            AnswerError::WouldBlock { peer } => AnswerError::Timeout { peer, after: limit },
            other => other,
        }
    }
}

impl<'a> OutgoingReply<'a> {
    pub(crate) fn sample(
        key: &'a KeyExpr<'a>,
        queryable: QueryableId,
        sample: &Publication<'a>,
    ) -> Result<Self, AnswerError> {
        let attachment = sample.attachment.map_or(0, <[u8]>::len);
        let payload = match sample.kind {
            SampleKind::Put => sample.payload,
            SampleKind::Delete => Value::Borrowed(&[]),
        };
        let size = payload.size() + attachment;
        check(key, size, &sample.encoding)?;
        let reply = Reply {
            consolidation: Default::default(),
            unknown: RawExtensions::default(),
            payload: body(sample, sample.timestamp),
        };
        Ok(OutgoingReply {
            key,
            eid: queryable.0,
            body: ResponseBody::Reply(reply),
            payload,
            has_passed: false,
            stack: None,
        })
    }

    pub(crate) fn error(
        key: &'a KeyExpr<'a>,
        queryable: QueryableId,
        payload: Value<'a>,
        encoding: Encoding<'a>,
    ) -> Result<Self, AnswerError> {
        check(key, payload.size(), &encoding)?;
        let error = ErrBody {
            encoding,
            source_info: None,
            unknown: RawExtensions::default(),
            payload: payload.as_slice(),
        };
        Ok(OutgoingReply {
            key,
            eid: queryable.0,
            body: ResponseBody::Err(error),
            payload,
            has_passed: false,
            stack: None,
        })
    }

    fn ts_stack(&self) -> Option<TsStack<'_>> {
        self.stack.as_ref().map(TsStackBuf::view)
    }

    fn head(&self, asker: &QueryOrigin, responder: EntityGlobalId) -> ReplyHead<'_> {
        ReplyHead {
            head: ResponseHead {
                ts_stack: self.ts_stack(),
                ..response(asker, self.key.as_str(), Some(responder))
            },
            body: &self.body,
            payload_len: self.payload.as_slice().len(),
        }
    }
}

/// Attempts once to reply, without waiting.
pub(crate) fn try_reply(
    shared: &Shared,
    face: FaceId,
    rid: u32,
    unsaid: &mut OutgoingReply<'_>,
) -> Result<Outcome, ReplyBlocked> {
    shared.may_send().map_err(AnswerError::from)?;
    let responder = EntityGlobalId {
        zid: shared.zid,
        eid: unsaid.eid,
    };
    let mut state = shared.state.lock();
    let asker = state
        .table
        .origin_of_query(face, rid)
        .ok_or(AnswerError::Over)?;
    // The asker is this node's session: its sink is called here, or the reply is queued for it.
    if asker.face == shared.local {
        let query = state.queries.open(asker.rid).cloned();
        let query = query.ok_or(AnswerError::Over)?;
        let local = Local::new(unsaid, responder);
        let enter = |reply: &IncomingReply<'_>| query.enter_with_room(reply);
        let Some(next) = local.lend(unsaid, query.qos(), enter) else {
            // The session's own callback is slow.
            return Err(ReplyBlocked::full(shared.zid, &asker, Room::Query(query)));
        };
        drop(state);
        match next {
            Next::Deliver(turn) => {
                local.lend(unsaid, query.qos(), |reply| query.deliver(turn, reply));
            }
            Next::Drain(turn) => query.drain(turn),
            Next::Nothing | Next::Crowded => return Ok(Outcome::Queued),
        }
        return Ok(Outcome::Sent);
    }
    // The asker is a neighbour: a reply that its filters reject counts as sent.
    if !unsaid.has_passed {
        let filtered = Filtered {
            face: asker.face,
            key: Some(unsaid.key),
            view: view_of_reply(&unsaid.body, unsaid.payload.size(), asker.qos),
        };
        if filtered.egress(&mut state).is_none() {
            return Ok(Outcome::Sent);
        }
        unsaid.has_passed = true;
    }
    let found = state.faces.get(&asker.face).ok_or(AnswerError::Over)?;
    let (outbox, peer) = (Arc::clone(&found.outbox), found.status.zid);
    // The reply is queued under the lock and written without it.
    let message = Outgoing {
        reliability: Reliability::Reliable,
        head: &unsaid.head(&asker, responder),
        payload: unsaid.payload.into(),
    };
    let queued = offer_later(&outbox, asker.qos, &message);
    drop(state);
    match queued {
        Ok(sent) => Ok(write(&outbox, asker.qos, sent).into()),
        Err(Refused::Closed) => Err(AnswerError::Over.into()),
        Err(Refused::TooLong) => Err(AnswerError::FieldTooLong.into()),
        Err(Refused::Full) => Err(ReplyBlocked::full(peer, &asker, Room::Lane(outbox))),
    }
}

/// Replies for the node itself, under the state's lock and without waiting for room. Returns the
/// room to wait for before the next reply.
pub(crate) fn reply_at_once(
    shared: &Shared,
    asker: &QueryOrigin,
    unsaid: &OutgoingReply<'_>,
    state: &mut State,
    after: &mut After,
) -> Room {
    let responder = EntityGlobalId {
        zid: shared.zid,
        eid: unsaid.eid,
    };
    // The session's sink is called later, without the lock; a neighbour's lane is filled beyond
    // its limit rather than waited for.
    if asker.face == shared.local {
        let Some(query) = state.queries.open(asker.rid) else {
            return Room::None;
        };
        let local = Local::new(unsaid, responder);
        let next = local.lend(unsaid, query.qos(), |reply| query.push(reply));
        if let Next::Drain(turn) = next {
            after.calls.push(Call::Drain(Arc::clone(query), turn));
        }
        return match query.is_crowded() {
            true => Room::Query(Arc::clone(query)),
            false => Room::None,
        };
    }
    let Some(found) = state.faces.get(&asker.face) else {
        return Room::None;
    };
    let (head, payload) = (unsaid.head(asker, responder), unsaid.payload.into());
    let (touched, priority) = (&mut after.touched, asker.qos.priority());
    match keep(touched, &found.outbox, priority, &head, payload) {
        Some(false) => Room::Lane(Arc::clone(&found.outbox)),
        Some(true) | None => Room::None,
    }
}

/// A reply for this node's own session.
struct Local {
    responder: EntityGlobalId,
    /// The payload, shared.
    block: Payload,
}

impl Local {
    fn new(unsaid: &OutgoingReply<'_>, responder: EntityGlobalId) -> Self {
        let block = shared(unsaid.payload);
        Local { responder, block }
    }

    fn lend<T>(
        &self,
        unsaid: &OutgoingReply<'_>,
        qos: zonda_codec::Qos,
        with: impl FnOnce(&IncomingReply<'_>) -> T,
    ) -> T {
        let block: &ZSlice = self.block.as_zslice();
        // Only a put has a payload, which is shared with the sink.
        let sample: PushBody<'_>;
        let body = match unsaid.body {
            ResponseBody::Reply(reply) => {
                sample = match reply.payload {
                    PushBody::Put(put) => PushBody::Put(zonda_codec::Put {
                        payload: block.as_slice(),
                        ..put
                    }),
                    PushBody::Del(del) => PushBody::Del(del),
                };
                ReplyBody::Sample(&sample)
            }
            ResponseBody::Err(error) => ReplyBody::Error {
                encoding: error.encoding,
                payload: block.as_slice(),
            },
        };
        with(&IncomingReply {
            key: unsaid.key,
            responder: Some(self.responder),
            body,
            block,
            qos,
            is_inside_query: false,
            ts_stack: unsaid.ts_stack(),
        })
    }
}

fn check(key: &KeyExpr<'_>, size: usize, encoding: &Encoding<'_>) -> Result<(), SendError> {
    SendError::check(key.as_str().len(), KEY_BYTES_MAX, None)?;
    SendError::check(size, MESSAGE_BYTES_MAX, Some(encoding))
}
