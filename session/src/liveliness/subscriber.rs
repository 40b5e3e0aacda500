// SPDX-License-Identifier: MIT OR Apache-2.0

//! Subscribers to tokens: they get the tokens that come and go.

use zonda_codec::{KeyExpr, KeyExprError};
use zonda_router::node::DeclareError;
use zonda_router::table::Notice;

use crate::handle::Session;
use crate::handlers::{Callback, DefaultHandler, IntoHandler, handler_setters};
use crate::listening::NoticeHandler;
use crate::namespace::incoming;
use crate::pubsub::Subscriber;
use crate::sample::Sample;
use crate::wait::{Operation, ready_at_once};

/// A liveliness subscriber under construction; made by
/// [`Liveliness::declare_subscriber`](super::Liveliness::declare_subscriber).
#[derive(Debug)]
#[must_use = "nothing is declared before .await or .wait()"]
pub struct LivelinessSubscriberBuilder<'a, 'b, H = DefaultHandler> {
    pub(crate) session: &'a Session,
    pub(crate) key: Result<KeyExpr<'b>, KeyExprError>,
    pub(super) history: bool,
    pub(crate) handler: H,
}

impl<'a, 'b> LivelinessSubscriberBuilder<'a, 'b, DefaultHandler> {
    handler_setters! {
        /// Calls this function with every change, on a task of the session's runtime. Calls do not
        /// overlap and keep the order of the changes. The function may call anything of the
        /// session, and no other task waits for it.
        LivelinessSubscriberBuilder('a, 'b) of Sample keeps session, key, history
    }
}

impl<H> LivelinessSubscriberBuilder<'_, '_, H> {
    /// Chooses whether the tokens that are alive already are delivered too, each as a put. Default:
    /// no.
    ///
    /// ```
    /// # use zonda::{Config, Wait};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// let token = session.liveliness().declare_token("robots/7").wait()?;
    /// let all = session.liveliness().declare_subscriber("robots/*").history(true).wait()?;
    /// assert_eq!(all.recv()?.key_expr().as_str(), "robots/7");
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn history(mut self, history: bool) -> Self {
        self.history = history;
        self
    }
}

impl<'a, 'b> LivelinessSubscriberBuilder<'a, 'b, Callback<Sample>> {
    /// Declares a subscriber that lives as long as its session: the program keeps no handle.
    pub fn background(self) -> BackgroundLivelinessSubscriberBuilder<'a, 'b> {
        BackgroundLivelinessSubscriberBuilder(self)
    }
}

impl<H: IntoHandler<Sample>> Operation for LivelinessSubscriberBuilder<'_, '_, H> {
    type Given = Subscriber<H::Handler>;
    type Refusal = DeclareError;

    /// Declares the subscriber; does not block.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        let key = self.key?.into_owned();
        let (patient, handler) = self.handler.into_patient();
        let namespace = self.session.namespace().cloned();
        // Changes come with the key below the namespace.
        let tell = Box::new(move |notice| match notice {
            Notice::Token { key, alive } => {
                let key = incoming(namespace.as_ref(), key)?;
                patient.call(Sample::of_token(key, alive))
            }
            _ => None,
        });
        // The node knows the whole key.
        let listeners = self.session.listeners();
        let outgoing = self.session.outgoing(&key)?;
        let told = NoticeHandler {
            tell,
            stores: H::STORES,
            group: None,
        };
        let listening = listeners.start(told, |listener| {
            let node = listeners.node();
            node.declare_token_listener(&outgoing, self.history, listener)
        })?;
        drop(outgoing);
        Ok(Subscriber::to_tokens(key, listening, handler))
    }
}

ready_at_once!([H: IntoHandler<Sample>] LivelinessSubscriberBuilder<'_, '_, H>);

/// A liveliness subscriber under construction that will live as long as its session.
#[derive(Debug)]
#[must_use = "nothing is declared before .await or .wait()"]
pub struct BackgroundLivelinessSubscriberBuilder<'a, 'b>(
    LivelinessSubscriberBuilder<'a, 'b, Callback<Sample>>,
);

impl Operation for BackgroundLivelinessSubscriberBuilder<'_, '_> {
    type Given = ();
    type Refusal = DeclareError;

    /// Declares the subscriber; does not block.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        self.0.perform()?.detach();
        Ok(())
    }
}

ready_at_once!([] BackgroundLivelinessSubscriberBuilder<'_, '_>);
