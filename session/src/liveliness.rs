// SPDX-License-Identifier: MIT OR Apache-2.0

//! Liveliness: [`LivelinessToken`]s, which announce that an entity is alive, and subscribers and
//! gets that find them.
//!
//! A token is alive on a key for as long as its session keeps it, is open and can be reached. A
//! [subscriber](Liveliness::declare_subscriber) gets a put without payload when the first token of
//! a key comes and a delete when the last one goes, whether it was undeclared, its session closed,
//! its process crashed or a link on the way to it was lost. A link that is lost ends all tokens
//! that are known by it alone; when it is back, the tokens that still live come again, as with the
//! reference. A [get](Liveliness::get) returns each key with a token once.
//!
//! Tokens of the same session count like tokens of other ones.
//!
//! ```
//! use zonda::{Config, Wait, sample::SampleKind};
//!
//! let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
//! let subscriber = session.liveliness().declare_subscriber("robots/*").history(true).wait()?;
//! let token = session.liveliness().declare_token("robots/7").wait()?;
//!
//! let sample = subscriber.recv()?;
//! assert_eq!((sample.kind(), sample.key_expr().as_str()), (SampleKind::Put, "robots/7"));
//! let alive = session.liveliness().get("robots/**").wait()?;
//! assert_eq!(alive.recv()?.result().unwrap().key_expr().as_str(), "robots/7");
//! assert!(alive.recv().is_err(), "that was all");
//!
//! token.undeclare().wait()?;
//! assert_eq!(subscriber.recv()?.kind(), SampleKind::Delete);
//! # Ok::<(), zonda::Error>(())
//! ```

mod get;
mod subscriber;
mod token;

pub use get::LivelinessGetBuilder;
pub use subscriber::{BackgroundLivelinessSubscriberBuilder, LivelinessSubscriberBuilder};
pub use token::{LivelinessToken, LivelinessTokenBuilder};

use std::time::Duration;

use zonda_codec::{KeyExpr, KeyExprError};

use crate::handle::Session;
use crate::handlers::DefaultHandler;

/// Default timeout of a query for live tokens.
const GET_LIMIT: Duration = Duration::from_secs(10);

/// The liveliness operations of a session; made by [`Session::liveliness`].
#[derive(Debug, Clone, Copy)]
pub struct Liveliness<'a> {
    pub(crate) session: &'a Session,
}

impl<'a> Liveliness<'a> {
    /// Declares a token: the session is alive on this key until the token is dropped.
    ///
    /// ```
    /// # use zonda::{Config, Wait};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// let token = session.liveliness().declare_token("robots/7").wait()?;
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn declare_token<'b, K>(&self, key: K) -> LivelinessTokenBuilder<'a, 'b>
    where
        K: TryInto<KeyExpr<'b>>,
        K::Error: Into<KeyExprError>,
    {
        LivelinessTokenBuilder {
            session: self.session,
            key: key.try_into().map_err(Into::into),
        }
    }

    /// Declares a subscriber to the tokens on every key that matches `key`: it gets a put without payload when one comes
    /// to life, and a delete when it goes.
    ///
    /// ```
    /// # use zonda::{Config, Wait};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// let robots = session
    ///     .liveliness()
    ///     .declare_subscriber("robots/*")
    ///     .callback(|sample| println!("{} {}", sample.kind(), sample.key_expr()))
    ///     .wait()?;
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn declare_subscriber<'b, K>(&self, key: K) -> LivelinessSubscriberBuilder<'a, 'b>
    where
        K: TryInto<KeyExpr<'b>>,
        K::Error: Into<KeyExprError>,
    {
        LivelinessSubscriberBuilder {
            session: self.session,
            key: key.try_into().map_err(Into::into),
            history: false,
            handler: DefaultHandler::default(),
        }
    }

    /// Queries the live tokens on every key that matches `key`: one reply for each key, a put
    /// without payload.
    ///
    /// ```
    /// # use zonda::{Config, Wait};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// let replies = session.liveliness().get("robots/*").wait()?;
    /// while let Ok(reply) = replies.recv() {
    ///     match reply.result() {
    ///         Ok(sample) => println!("{} is alive", sample.key_expr()),
    ///         Err(error) => println!("not all is known: {error}"),
    ///     }
    /// }
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn get<'b, K>(&self, key: K) -> LivelinessGetBuilder<'a, 'b>
    where
        K: TryInto<KeyExpr<'b>>,
        K::Error: Into<KeyExprError>,
    {
        LivelinessGetBuilder {
            session: self.session,
            key: key.try_into().map_err(Into::into),
            limit: GET_LIMIT,
            cancellation: None,
            handler: DefaultHandler::default(),
        }
    }
}
