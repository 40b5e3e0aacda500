// SPDX-License-Identifier: MIT OR Apache-2.0

//! Errors: one enum per operation, and [`Error`] for programs that only want `?`.

pub use zonda_codec::{EndpointError, KeyExprError};
pub use zonda_router::config::ConfigError;
pub use zonda_router::hlc::TooFarAhead;
pub use zonda_router::node::{
    AnswerError, CloseError, DeclareError, GetError, Lost, OpenError, PublishError,
};
pub use zonda_router::table::KeyOverLimit;

pub use crate::encoding::EncodingError;
pub use crate::gone::UndeclareError;
pub use crate::handlers::RecvError;
pub use crate::query::ReplyError;
pub use crate::query::TimeRangeError;
pub use crate::scouting::ScoutError;

/// Any error, of this crate or not: `?` turns each into it, and so does `.into()` a text. The typed one is still inside:
///
/// ```
/// use zonda::{PublishError, Wait};
///
/// fn port(text: &str) -> zonda::Result<u16> {
///     match text.parse()? {
///         0 => Err("port 0 is no port".into()),
///         port => Ok(port),
///     }
/// }
///
/// fn main() -> zonda::Result<()> {
///     assert!(port("7447").is_ok() && port("0").is_err() && port("x").is_err());
///     let session = zonda::open(zonda::Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
///     session.put("demo/key", "value").wait()?;
///     session.close().wait()?;
///     let refused: zonda::Error = session.put("demo/key", "value").wait().unwrap_err().into();
///     assert_eq!(refused.downcast_ref(), Some(&PublishError::Closed));
///     Ok(())
/// }
/// ```
pub type Error = Box<dyn std::error::Error + Send + Sync + 'static>;

/// What most functions of a program give.
pub type Result<T, E = Error> = std::result::Result<T, E>;
