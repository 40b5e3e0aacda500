// SPDX-License-Identifier: MIT OR Apache-2.0

//! Errors: one enum per operation, and [`Error`] for programs that only want `?`.

pub use zonda_codec::{EndpointError, KeyExprError};
pub use zonda_router::config::ConfigError;
pub use zonda_router::hlc::TooFarAhead;
pub use zonda_router::node::{
    AnswerError, CloseError, DeclareError, GetError, Lost, OpenError, PublishError,
};
pub use zonda_router::table::KeyOverLimit;

pub use crate::callback_group::UndeclareError;
pub use crate::encoding::EncodingError;
pub use crate::handlers::RecvError;
pub use crate::query::ReplyError;
pub use crate::query::TimeRangeError;
pub use crate::scouting::ScoutError;

/// Any error, of this crate or not: `?` turns each into it, and so does `.into()` a text. The
/// operation's own error is inside (a [`SessionClosedError`](crate::session::SessionClosedError) if
/// the session is closed), and [`typed`](crate::Operation::typed) returns that alone:
///
/// ```
/// use zonda::{Config, OpenError, Operation, PublishError, Wait};
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
///     assert_eq!(session.put("demo/key", "value").typed().wait(), Err(PublishError::Closed));
///     let refused: zonda::Error = zonda::open(Config::client([] as [&str; 0]).with("scouting/multicast/enabled", "false")).wait().unwrap_err();
///     assert_eq!(refused.downcast_ref(), Some(&OpenError::NoEndpoint));
///     Ok(())
/// }
/// ```
pub type Error = Box<dyn std::error::Error + Send + Sync + 'static>;

/// Result of most functions of a program.
pub type Result<T> = std::result::Result<T, Error>;

/// The session has been closed. Every operation that is refused for this reason returns this error,
/// except with the operation's [own](crate::Operation::typed) one.
///
/// ```
/// # use zonda::{Config, Wait};
/// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
/// session.close().wait()?;
/// let error = session.put("demo/key", "value").wait().unwrap_err();
/// assert!(error.is::<zonda::session::SessionClosedError>());
/// # Ok::<(), zonda::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the session is closed")]
pub struct SessionClosedError;

zonda_codec::debug_as_text!(SessionClosedError);

/// Error of an operation that was not carried out.
pub trait Refusal: std::error::Error + Send + Sync + Sized + 'static {
    /// Returns true if the reason is that the session is closed.
    fn is_closed(&self) -> bool;

    /// Converts it to any error.
    #[cold]
    fn into_any(self) -> Error {
        match self.is_closed() {
            true => Box::new(SessionClosedError),
            false => Box::new(self),
        }
    }
}

/// Implements [`Refusal`]: `error: pattern that means closed`.
macro_rules! refusals {
    ($($error:ty: $closed:pat,)+) => {
        $(impl Refusal for $error {
            fn is_closed(&self) -> bool {
                matches!(self, $closed)
            }
        })+
    };
}

refusals! {
    AnswerError: AnswerError::Closed,
    DeclareError: DeclareError::Closed,
    GetError: GetError::Closed,
    PublishError: PublishError::Closed,
}

/// Implements [`Refusal`] for errors that never report a closed session.
macro_rules! other_refusals {
    ($($error:ty,)+) => {
        $(impl Refusal for $error {
            fn is_closed(&self) -> bool {
                false
            }
        })+
    };
}

other_refusals!(CloseError, OpenError, ScoutError,);
