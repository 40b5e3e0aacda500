// SPDX-License-Identifier: MIT OR Apache-2.0

//! Common part of a get and a querier: the target, the manner, and the parts of a query other than
//! its selector.

use std::time::Duration;

use zonda_codec::{CongestionControl, Priority, Qos, SourceInfo, Target};
use zonda_router::node::Value;

use super::consolidation::QueryConsolidation;
use super::end::GetEnd;
use super::parameters::{ANY_KEY, Parameters};
use crate::bytes::{Encoding, ZBytes};
use crate::cancellation::CancellationToken;
use crate::error::GetError;
use crate::sample::Locality;
use crate::timestamp_stack::TimestampInstrumentation;

/// Keys on which replies are accepted.
///
/// ```
/// use zonda::query::ReplyKeyExpr;
/// use zonda::{Config, Wait};
///
/// let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
/// let _twin = session
///     .declare_queryable("demo/twin")
///     .callback(|query| {
///         // Another key than the one asked for.
///         let reply = query.reply("demo/other", "as good").wait();
///         assert_eq!(reply.is_ok(), query.accepts_replies() == ReplyKeyExpr::Any);
///     })
///     .wait()?;
/// let get = session.get("demo/twin").accept_replies(ReplyKeyExpr::Any);
/// assert_eq!(get.wait()?.iter().count(), 1);
/// assert_eq!(session.get("demo/twin").wait()?.iter().count(), 0);
/// # Ok::<(), zonda::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ReplyKeyExpr {
    /// Any key; the parameter `_anyke` informs the queryable.
    Any,
    /// Keys that intersect the query's.
    #[default]
    MatchingQuery,
}

/// The target of a query, and its other options.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueryOptions {
    pub target: Target,
    pub consolidation: QueryConsolidation,
    /// The timeout; the session's default if `None`.
    pub timeout: Option<Duration>,
    pub accept: ReplyKeyExpr,
    pub priority: Priority,
    pub congestion_control: CongestionControl,
    pub express: bool,
    pub destination: Locality,
}

impl Default for QueryOptions {
    fn default() -> Self {
        QueryOptions {
            target: Target::default(),
            consolidation: QueryConsolidation::default(),
            timeout: None,
            accept: ReplyKeyExpr::default(),
            priority: Priority::default(),
            congestion_control: CongestionControl::Block,
            express: false,
            destination: Locality::default(),
        }
    }
}

impl QueryOptions {
    pub fn qos(&self) -> Qos {
        Qos::new(self.priority, self.congestion_control, self.express)
    }

    /// Returns the parameters as they are sent.
    pub fn parameters<'a>(&self, parameters: Parameters<'a>) -> Parameters<'a> {
        let mut parameters = parameters;
        if self.accept == ReplyKeyExpr::Any && !parameters.contains_key(ANY_KEY) {
            parameters.insert(ANY_KEY, "");
        }
        parameters
    }
}

/// The parts of a query other than its selector, and the function that is called at its end.
#[derive(Default)]
pub(super) struct QueryParts {
    pub payload: Option<ZBytes>,
    pub encoding: Option<Encoding>,
    pub attachment: Option<ZBytes>,
    pub source_info: Option<SourceInfo>,
    pub token: Option<CancellationToken>,
    pub on_end: Option<OnEnd>,
    /// Points at which times are recorded.
    pub instrumentation: TimestampInstrumentation,
}

/// Function that is called once with the end of a get.
pub(super) type OnEnd = Box<dyn FnOnce(&GetEnd) + Send>;

impl QueryParts {
    /// Returns payload and encoding in the node's form.
    ///
    /// # Errors
    /// The schema is too long for the protocol.
    pub fn body(&self) -> Result<Option<(Value<'_>, zonda_codec::Encoding<'_>)>, GetError> {
        let encoding = self.encoding.as_ref().map(Encoding::wire);
        let schema = encoding.and_then(|e| e.schema).map_or(0, <[u8]>::len);
        if schema > Encoding::SCHEMA_BYTES_MAX {
            return Err(GetError::SchemaTooLong { len: schema });
        }
        let payload = self.payload.as_ref().map(ZBytes::value);
        Ok(match (payload, encoding) {
            (None, None) => None,
            (payload, encoding) => Some((
                payload.unwrap_or(Value::Borrowed(&[])),
                encoding.unwrap_or_default(),
            )),
        })
    }
}

impl std::fmt::Debug for QueryParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Matter")
            .field("payload", &self.payload)
            .field("encoding", &self.encoding)
            .field("attachment", &self.attachment)
            .field("source_info", &self.source_info)
            .finish_non_exhaustive()
    }
}

/// Defines the setters of builders with a [`QueryOptions`] at the given place.
macro_rules! manner_setters {
    ($($manner:tt)+) => {
        /// Sets which queryables get the query. Default: the nearest complete one, or all if none
        /// is complete.
        pub fn target(mut self, target: $crate::query::QueryTarget) -> Self {
            self.$($manner)+.target = target;
            self
        }

        /// Sets how the replies of several queryables are merged. Default: the newest of each key,
        /// at the end.
        pub fn consolidation(
            mut self,
            consolidation: impl Into<$crate::query::QueryConsolidation>,
        ) -> Self {
            self.$($manner)+.consolidation = consolidation.into();
            self
        }

        /// Sets the timeout of the replies. Default: the configuration's `queries_default_timeout`,
        /// 10 s.
        pub fn timeout(mut self, limit: std::time::Duration) -> Self {
            self.$($manner)+.timeout = Some(limit);
            self
        }

        /// Chooses whether this session's own queryables get the query, those of other sessions, or
        /// both. Default: both.
        pub fn allowed_destination(mut self, destination: $crate::sample::Locality) -> Self {
            self.$($manner)+.destination = destination;
            self
        }

        /// Sets the keys on which replies are accepted. Default: those that intersect the query's.
        pub fn accept_replies(mut self, accept: $crate::query::ReplyKeyExpr) -> Self {
            self.$($manner)+.accept = accept;
            self
        }

        /// Sets the priority of the query and its replies. Default: `Data`.
        pub fn priority(mut self, priority: $crate::qos::Priority) -> Self {
            self.$($manner)+.priority = priority;
            self
        }

        /// Sets the congestion control of the query and its replies. Default: `Block`.
        pub fn congestion_control(mut self, control: $crate::qos::CongestionControl) -> Self {
            self.$($manner)+.congestion_control = control;
            self
        }

        /// Chooses whether query and replies are sent at once instead of in a common batch.
        /// Default: no.
        pub fn express(mut self, express: bool) -> Self {
            self.$($manner)+.express = express;
            self
        }
    };
}

/// Defines the setters of builders with a [`QueryParts`] at the given place.
macro_rules! matter_setters {
    ($($matter:tt)+) => {
        /// Sets a payload for the queryables. Default: none.
        pub fn payload(mut self, payload: impl Into<$crate::bytes::ZBytes>) -> Self {
            self.$($matter)+.payload = Some(payload.into());
            self
        }

        /// Sets the encoding of the payload. Default: plain bytes.
        pub fn encoding(mut self, encoding: impl Into<$crate::bytes::Encoding>) -> Self {
            self.$($matter)+.encoding = Some(encoding.into());
            self
        }

        /// Sets the application's own bytes that accompany the payload.
        pub fn attachment(mut self, attachment: impl Into<$crate::bytes::OptionZBytes>) -> Self {
            self.$($matter)+.attachment = attachment.into().into();
            self
        }

        /// Sets the source of the query, and its number in that source.
        pub fn source_info(
            mut self,
            source_info: impl Into<Option<$crate::sample::SourceInfo>>,
        ) -> Self {
            self.$($matter)+.source_info = source_info.into();
            self
        }

        $crate::timestamp_stack::instrumentation_setter!($($matter)+);

        /// Ends the get when this token is cancelled.
        pub fn cancellation_token(
            mut self,
            token: $crate::cancellation::CancellationToken,
        ) -> Self {
            self.$($matter)+.token = Some(token);
            self
        }

        /// Calls this function once when the get has ended, after the handler got its last reply
        /// and before the handler ends.
        ///
        /// ```
        /// use std::sync::mpsc::channel;
        /// use zonda::query::EndReason;
        /// use zonda::{Config, Wait};
        ///
        /// let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
        /// let (sender, receiver) = channel();
        /// let get = session.get("demo/unanswered").on_end(move |end| {
        ///     let _ = sender.send(*end);
        /// });
        /// assert_eq!(get.wait()?.iter().count(), 0);
        /// assert_eq!(receiver.recv().unwrap().reason(), EndReason::Complete);
        /// # Ok::<(), zonda::Error>(())
        /// ```
        pub fn on_end(mut self, tell: impl FnOnce(&$crate::query::GetEnd) + Send + 'static) -> Self {
            self.$($matter)+.on_end = Some(Box::new(tell));
            self
        }
    };
}

pub(super) use {manner_setters, matter_setters};
