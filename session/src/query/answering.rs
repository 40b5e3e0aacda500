// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`Query`], which a queryable receives and replies to.

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use zonda_codec::{CongestionControl, KeyExpr, KeyExprError, Priority, SourceInfo};
use zonda_router::node::{IncomingQuery, QueryableId, Wait as Limit};

use super::options::ReplyKeyExpr;
use super::parameters::Parameters;
use super::reply_builder::{
    ReplyBuilder, ReplyBuilderDelete, ReplyBuilderPut, ReplyErrBuilder, ReplySample,
};
use super::selector::Selector;
use crate::bytes::{Encoding, ZBytes};
use crate::handlers::Stored;
use crate::namespace::Namespace;
use crate::publication::{Message, MessageQos};
use crate::sample::Sample;
use crate::timestamp_stack::TimestampStack;

/// A query to answer: with any number of replies, or with an error.
///
/// The asker knows that no more replies come when this query and every clone of it are dropped. The
/// query may be kept and answered later, from any thread; a reply after the end of the query fails
/// with an error that names this reason.
///
/// ```
/// fn answer(query: zonda::query::Query) -> zonda::Result<()> {
///     use zonda::Wait;
///     match query.parameters().get("unit") {
///         Some("celsius") | None => query.reply(query.key_expr(), "21.5").wait()?,
///         Some(other) => query.reply_err(format!("no such unit: {other}")).wait()?,
///     }
///     Ok(())
/// }
/// ```
#[derive(Clone)]
pub struct Query {
    asked: IncomingQuery,
    key: KeyExpr<'static>,
    place: std::sync::Arc<AnsweringQueryable>,
    parameters: Parameters<'static>,
    payload: Option<ZBytes>,
    encoding: Option<Encoding>,
    attachment: Option<ZBytes>,
    stack: Option<std::sync::Arc<TimestampStack>>,
}

/// The queryable that got a query.
pub(super) struct AnsweringQueryable {
    /// The id, known once the queryable is declared.
    pub id: OnceLock<QueryableId>,
    /// Default limit of the wait of a reply.
    pub limit: Duration,
    /// The namespace of its session.
    pub namespace: Option<std::sync::Arc<Namespace>>,
}

impl Query {
    /// Wraps a query; `key` is its key as the session knows it.
    pub(super) fn new(
        asked: IncomingQuery,
        key: KeyExpr<'static>,
        place: std::sync::Arc<AnsweringQueryable>,
    ) -> Query {
        let parameters = match asked.parameters() {
            "" => Parameters::empty(),
            text => Parameters::from(text.to_owned()),
        };
        Query {
            parameters,
            payload: asked.payload().map(|payload| payload.clone().into()),
            encoding: asked.encoding().map(Encoding::copied),
            attachment: asked.attachment().map(|payload| payload.clone().into()),
            stack: asked
                .ts_stack()
                .map(|stack| TimestampStack::read(stack).into()),
            asked,
            key,
            place,
        }
    }

    /// Returns the keys and parameters of the query.
    pub fn selector(&self) -> Selector<'_> {
        Selector::borrowed(self.key_expr(), &self.parameters)
    }

    /// Returns the keys of the query.
    pub fn key_expr(&self) -> &KeyExpr<'static> {
        &self.key
    }

    /// Returns the parameters.
    pub fn parameters(&self) -> &Parameters<'static> {
        &self.parameters
    }

    /// Returns the payload, if the asker sent one.
    pub fn payload(&self) -> Option<&ZBytes> {
        self.payload.as_ref()
    }

    /// Returns the payload, mutably; other queryables and clones keep theirs.
    pub fn payload_mut(&mut self) -> Option<&mut ZBytes> {
        self.payload.as_mut()
    }

    /// Returns the encoding of the payload, if there is one.
    pub fn encoding(&self) -> Option<&Encoding> {
        self.encoding.as_ref()
    }

    /// Returns the asker's own bytes that accompany the payload.
    pub fn attachment(&self) -> Option<&ZBytes> {
        self.attachment.as_ref()
    }

    /// Returns the asker's own bytes that accompany the payload, mutably.
    pub fn attachment_mut(&mut self) -> Option<&mut ZBytes> {
        self.attachment.as_mut()
    }

    /// Returns the source of the query, if the query names it.
    pub fn source_info(&self) -> Option<SourceInfo> {
        self.asked.source_info()
    }

    /// Returns the [times](crate::timestamp_stack) at which the query passed nodes, if the asker
    /// asked for them. Its replies continue this stack.
    pub fn timestamp_stack(&self) -> Option<&TimestampStack> {
        self.stack.as_deref()
    }

    /// Returns the neighbour that the query came from, for itself or for a node behind it; `None`
    /// for a query of this session, and for one that has ended.
    #[cfg(feature = "ext")]
    pub(crate) fn neighbour(&self) -> Option<zonda_codec::ZenohId> {
        self.asked.neighbour()
    }

    /// Returns the keys on which replies are accepted.
    pub fn accepts_replies(&self) -> ReplyKeyExpr {
        match self.asked.accepts_any_key() {
            true => ReplyKeyExpr::Any,
            false => ReplyKeyExpr::MatchingQuery,
        }
    }

    /// Returns the priority of the query; its replies have the same.
    pub fn priority(&self) -> Priority {
        self.asked.qos().priority()
    }

    /// Returns the congestion control of the replies.
    pub fn congestion_control(&self) -> CongestionControl {
        self.asked.qos().congestion_control()
    }

    /// Returns true if the replies are sent at once instead of in a common batch.
    pub fn express(&self) -> bool {
        self.asked.qos().is_express()
    }

    /// Replies with a value. The key has to intersect the query's, unless the query
    /// [accepts](Query::accepts_replies) any.
    pub fn reply<'b, K>(
        &self,
        key: K,
        payload: impl Into<ZBytes>,
    ) -> ReplyBuilder<'_, 'b, ReplyBuilderPut>
    where
        K: TryInto<KeyExpr<'b>>,
        K::Error: Into<KeyExprError>,
    {
        let message = Message::put(payload.into(), MessageQos::default(), self.place.limit);
        ReplyBuilder::new(self, key.try_into().map_err(Into::into), message)
    }

    /// Replies that a key has no value any more.
    pub fn reply_del<'b, K>(&self, key: K) -> ReplyBuilder<'_, 'b, ReplyBuilderDelete>
    where
        K: TryInto<KeyExpr<'b>>,
        K::Error: Into<KeyExprError>,
    {
        let message = Message::delete(MessageQos::default(), self.place.limit);
        ReplyBuilder::new(self, key.try_into().map_err(Into::into), message)
    }

    /// Replies with an error.
    pub fn reply_err(&self, payload: impl Into<ZBytes>) -> ReplyErrBuilder<'_> {
        ReplyErrBuilder::new(self, payload.into(), self.place.limit)
    }

    /// Replies with a sample as it is, for example one that was kept from a subscriber.
    pub fn reply_sample(&self, sample: Sample) -> ReplySample<'_> {
        ReplySample::new(self, sample, self.place.limit)
    }

    /// Returns a key of the session as other nodes know it.
    pub(super) fn outgoing<'k>(
        &self,
        key: &'k KeyExpr<'_>,
    ) -> Result<Cow<'k, KeyExpr<'k>>, KeyExprError> {
        match &self.place.namespace {
            None => Ok(Cow::Borrowed(key)),
            Some(namespace) => namespace.outgoing(key).map(Cow::Owned),
        }
    }

    pub(super) fn asked(&self) -> &IncomingQuery {
        &self.asked
    }

    /// Returns the queryable that got it; waits while the queryable is still being declared.
    pub(super) fn queryable(&self) -> QueryableId {
        *self.place.id.wait()
    }
}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query")
            .field("selector", &self.selector())
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.selector(), f)
    }
}

impl<'a> From<&'a Query> for Selector<'a> {
    fn from(query: &'a Query) -> Self {
        query.selector()
    }
}

impl Stored for Query {
    const ASKS: bool = true;

    /// Copies small parts into their own buffers, as for samples.
    fn before_storing(mut self) -> Query {
        self.payload = self.payload.map(|payload| payload.detached());
        self.attachment = self.attachment.map(|attachment| attachment.detached());
        self
    }

    /// Replies to the asker with an error, without waiting.
    fn turn_away(self) {
        let reason = ZBytes::from("the queue of the queryable is full");
        let encoding = Encoding::ZENOH_STRING;
        let told = self.asked.reply_error(
            self.queryable(),
            reason.value(),
            encoding.wire(),
            Limit::Never,
        );
        if let Err(error) = told {
            tracing::debug!(query = %self, "a query found no room and the error reply was not sent: {error}");
        }
    }
}
