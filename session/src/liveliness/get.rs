// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries for live tokens.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use zonda_codec::{KeyExpr, KeyExprError};
use zonda_router::node::DeclareError;
use zonda_router::table::Notice;

use crate::cancellation::CancellationToken;
use crate::handle::Session;
use crate::handlers::{DefaultHandler, IntoHandler, handler_setters};
use crate::listening::NoticeHandler;
use crate::namespace::incoming;
use crate::query::Reply;
use crate::sample::Sample;
use crate::wait::{Operation, ready_at_once};

/// A query for live tokens, under construction; made by
/// [`Liveliness::get`](super::Liveliness::get).
///
/// The replies end when all are delivered: among peers at once, and with a router when it has
/// answered. A client that has lost its router waits for the next one. Missing replies are reported
/// after the timeout by one error, `Timeout`, as the last reply.
#[derive(Debug)]
#[must_use = "nothing is asked before .await or .wait()"]
pub struct LivelinessGetBuilder<'a, 'b, H = DefaultHandler> {
    pub(super) session: &'a Session,
    pub(super) key: Result<KeyExpr<'b>, KeyExprError>,
    pub(super) limit: Duration,
    pub(super) cancellation: Option<CancellationToken>,
    pub(super) handler: H,
}

impl<'a, 'b> LivelinessGetBuilder<'a, 'b, DefaultHandler> {
    handler_setters! {
        /// Calls this function with every reply, on a task of the session's runtime.
        LivelinessGetBuilder('a, 'b) of Reply keeps session, key, limit, cancellation
    }
}

impl<H> LivelinessGetBuilder<'_, '_, H> {
    /// Sets the timeout of the replies. Default: 10 s.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use zonda::{Config, Wait};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// let get = session.liveliness().get("robots/*").timeout(Duration::from_millis(500));
    /// for reply in &get.wait()? {
    ///     println!("{reply:?}");
    /// }
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Sets a token that can end the get early. Default: none.
    ///
    /// ```
    /// # use zonda::{Config, Wait, cancellation::CancellationToken};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// let token = CancellationToken::default();
    /// let get = session.liveliness().get("robots/*").cancellation_token(token.clone());
    /// let replies = get.wait()?;
    /// token.cancel().wait()?;
    /// assert!(replies.recv().is_err());
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn cancellation_token(mut self, token: CancellationToken) -> Self {
        self.cancellation = Some(token);
        self
    }
}

/// A get that removes its entry from a cancellation token once it has ended.
struct Watched {
    token: CancellationToken,
    number: Arc<OnceLock<u64>>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(number) = self.number.get() {
            self.token.forget(*number);
        }
    }
}

impl<H: IntoHandler<Reply>> Operation for LivelinessGetBuilder<'_, '_, H> {
    type Given = H::Handler;
    type Refusal = DeclareError;

    /// Sends the query; does not wait for the replies.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        let key = self.key?;
        let outgoing = self.session.outgoing(&key)?;
        let namespace = self.session.namespace().cloned();
        let (patient, handler) = self.handler.into_patient();
        let group = match &self.cancellation {
            Some(token) if token.is_cancelled() => return Err(DeclareError::Cancelled),
            Some(token) if !H::STORES => Some(token.callbacks()),
            _ => None,
        };
        let number = Arc::new(OnceLock::new());
        let watched = self.cancellation.clone().map(|token| Watched {
            token,
            number: Arc::clone(&number),
        });
        let tell = Box::new(move |notice| {
            // Dropped with this closure.
            let _watched = &watched;
            match notice {
                Notice::Token { key, .. } => {
                    let key = incoming(namespace.as_ref(), key)?;
                    patient.call(Reply::of_sample(Sample::of_token(key, true)))
                }
                Notice::End { complete: false } => patient.call(Reply::timeout()),
                _ => None,
            }
        });
        let listeners = self.session.listeners();
        let told = NoticeHandler {
            tell,
            stores: H::STORES,
            group: group.as_ref(),
        };
        let question = listeners.start(told, |listener| {
            listeners.node().ask_tokens(&outgoing, self.limit, listener)
        })?;
        let end = question.into_end();
        if let Some(token) = self.cancellation {
            let open = token.on_cancel(Box::new(move || end.now()));
            let open = open.ok_or(DeclareError::Cancelled)?;
            if number.set(open).is_err() || Arc::strong_count(&number) == 1 {
                // The replies have all come already, so that their end does not remove this entry.
                token.forget(open);
            }
        }
        Ok(handler)
    }
}

ready_at_once!([H: IntoHandler<Reply>] LivelinessGetBuilder<'_, '_, H>);
