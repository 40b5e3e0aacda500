// SPDX-License-Identifier: MIT OR Apache-2.0

//! Errors: one enum per operation, and [`Error`] for programs that only want `?`.

use std::convert::Infallible;

pub use zonda_codec::{EndpointError, KeyExprError};
pub use zonda_router::config::ConfigError;
pub use zonda_router::hlc::TooFarAhead;
pub use zonda_router::node::{
    AnswerError, CloseError, DeclareError, GetError, Lost, OpenError, PublishError,
};
pub use zonda_router::table::KeyOverLimit;

pub use crate::encoding::EncodingError;
pub use crate::handlers::RecvError;
use crate::query::ReplyError;
pub use crate::query::TimeRangeError;
pub use crate::scouting::ScoutError;

/// Any error of this crate, for programs that do not tell them apart:
///
/// ```
/// use zonda::Wait;
///
/// fn main() -> zonda::Result<()> {
///     let session = zonda::open(zonda::Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
///     session.put("demo/key", "value").wait()?;
///     session.close().wait()?;
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A session could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A configuration was refused.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A publisher, subscriber, querier or queryable could not be declared.
    #[error(transparent)]
    Declare(#[from] DeclareError),
    /// A publication was refused.
    #[error(transparent)]
    Publish(#[from] PublishError),
    /// A question was not asked.
    #[error(transparent)]
    Get(#[from] GetError),
    /// A query was not answered.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// The answer to a query is an error.
    #[error(transparent)]
    Reply(#[from] ReplyError),
    /// Nothing can be received any more.
    #[error(transparent)]
    Recv(#[from] RecvError),
    /// Nobody can be looked for.
    #[error(transparent)]
    Scout(#[from] ScoutError),
    /// A session did not close cleanly.
    #[error(transparent)]
    Close(#[from] CloseError),
    /// A text is not a key expression.
    #[error(transparent)]
    Key(#[from] KeyExprError),
    /// A text is not a time range.
    #[error(transparent)]
    TimeRange(#[from] TimeRangeError),
    /// A text is not an encoding.
    #[error(transparent)]
    Encoding(#[from] EncodingError),
    /// A text is not an endpoint.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// A payload is not text.
    #[error(transparent)]
    Text(#[from] std::str::Utf8Error),
}

impl From<Infallible> for Error {
    fn from(never: Infallible) -> Error {
        match never {}
    }
}

/// What most functions of a program give.
pub type Result<T, E = Error> = std::result::Result<T, E>;
