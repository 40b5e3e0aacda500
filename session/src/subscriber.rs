// SPDX-License-Identifier: MIT OR Apache-2.0

//! Subscribers: what comes in on matching keys is given to a handler.

use std::convert::Infallible;
use std::fmt;
use std::future::{IntoFuture, Ready, ready};
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use zonda_codec::{KeyExpr, KeyExprError};
use zonda_router::node::{DeclareError, Delivery, Node, Sink, SubscriberId};

use crate::handlers::{Callback, DefaultHandler, FifoChannelHandler, IntoHandler, Stored};
use crate::sample::Sample;
use crate::session::Session;
use crate::wait::{Done, Wait};

/// A subscriber under construction; made by [`Session::declare_subscriber`].
#[derive(Debug)]
#[must_use = "nothing is declared before .await or .wait()"]
pub struct SubscriberBuilder<'a, 'b, H = DefaultHandler> {
    pub(crate) session: &'a Session,
    pub(crate) key: Result<KeyExpr<'b>, KeyExprError>,
    pub(crate) handler: H,
}

impl<'a, 'b> SubscriberBuilder<'a, 'b, DefaultHandler> {
    /// Calls this function with every sample, inline: on the receiving task, or on the publishing thread for a
    /// publication of this same session. While it runs its link is not read, so keep it short; it may call
    /// anything of the session, but what blocks there blocks that link.
    pub fn callback<F>(self, callback: F) -> SubscriberBuilder<'a, 'b, Callback<Sample>>
    where
        F: Fn(Sample) + Send + Sync + 'static,
    {
        self.with(Callback::new(callback))
    }

    /// Gives every sample to this handler.
    pub fn with<H: IntoHandler<Sample>>(self, handler: H) -> SubscriberBuilder<'a, 'b, H> {
        SubscriberBuilder {
            session: self.session,
            key: self.key,
            handler,
        }
    }
}

impl<'a, 'b> SubscriberBuilder<'a, 'b, Callback<Sample>> {
    /// Declares a subscriber that lives as long as its session: nothing has to be kept.
    pub fn background(self) -> BackgroundSubscriberBuilder<'a, 'b> {
        BackgroundSubscriberBuilder(self)
    }
}

impl<H: IntoHandler<Sample>> Wait for SubscriberBuilder<'_, '_, H> {
    type To = Result<Subscriber<H::Handler>, DeclareError>;

    /// Declares the subscriber; does not block.
    fn wait(self) -> Self::To {
        let key = self.key?.into_owned();
        let node = self.session.node().clone();
        let (callback, handler) = self.handler.into_handler();
        let state = Arc::new(State::default());
        let sink = match H::STORES {
            true => sink(state.clone(), move |sample| {
                callback.call(sample.before_storing())
            }),
            false => sink(state.clone(), move |sample| callback.call(sample)),
        };
        let id = node.declare_subscriber(&key, sink)?;
        Ok(Subscriber {
            entry: Entry {
                node,
                id,
                key,
                state,
            },
            handler,
        })
    }
}

impl<H: IntoHandler<Sample>> IntoFuture for SubscriberBuilder<'_, '_, H> {
    type Output = Result<Subscriber<H::Handler>, DeclareError>;
    type IntoFuture = Ready<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        ready(self.wait())
    }
}

/// A subscriber under construction that will live as long as its session.
#[derive(Debug)]
#[must_use = "nothing is declared before .await or .wait()"]
pub struct BackgroundSubscriberBuilder<'a, 'b>(SubscriberBuilder<'a, 'b, Callback<Sample>>);

impl Wait for BackgroundSubscriberBuilder<'_, '_> {
    type To = Result<(), DeclareError>;

    /// Declares the subscriber; does not block.
    fn wait(self) -> Self::To {
        let subscriber = self.0.wait()?;
        subscriber
            .entry
            .state
            .background
            .store(true, Ordering::Relaxed);
        Ok(())
    }
}

impl IntoFuture for BackgroundSubscriberBuilder<'_, '_> {
    type Output = Result<(), DeclareError>;
    type IntoFuture = Ready<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        ready(self.wait())
    }
}

/// Receives the samples of every key that matches its own. Dropping it undeclares it, without blocking.
///
/// It dereferences to its handler, so that the default one is used like a queue:
///
/// ```
/// use zonda::{Config, Wait};
///
/// let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
/// let subscriber = session.declare_subscriber("demo/**").wait()?;
/// session.put("demo/greeting", "hello").wait()?;
///
/// let sample = subscriber.recv()?;
/// assert_eq!(sample.key_expr().as_str(), "demo/greeting");
/// assert_eq!(sample.payload().try_to_string()?, "hello");
/// # Ok::<(), zonda::Error>(())
/// ```
///
/// A subscriber does not keep its session open: samples end when the last clone of the session is gone.
pub struct Subscriber<H = FifoChannelHandler<Sample>> {
    entry: Entry,
    handler: H,
}

impl<H> Subscriber<H> {
    /// The key expression it was declared with.
    pub fn key_expr(&self) -> &KeyExpr<'static> {
        &self.entry.key
    }

    /// Its handler.
    pub fn handler(&self) -> &H {
        &self.handler
    }

    /// Its handler.
    pub fn handler_mut(&mut self) -> &mut H {
        &mut self.handler
    }

    /// How many samples were lost because the callback panicked on them.
    pub fn panics(&self) -> u64 {
        self.entry.state.panics.load(Ordering::Relaxed)
    }

    /// Undeclares it. The same as dropping it: no call of the handler begins afterwards; one that is under way on
    /// another thread may still end. Never blocks and never fails.
    pub fn undeclare(self) -> Done<Result<(), Infallible>> {
        drop(self);
        Done(Ok(()))
    }
}

impl<H> Deref for Subscriber<H> {
    type Target = H;

    fn deref(&self) -> &H {
        &self.handler
    }
}

impl<H> DerefMut for Subscriber<H> {
    fn deref_mut(&mut self) -> &mut H {
        &mut self.handler
    }
}

impl<H> fmt::Debug for Subscriber<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscriber")
            .field("key", &self.entry.key)
            .finish_non_exhaustive()
    }
}

/// The declaration; undeclares itself when dropped.
struct Entry {
    node: Node,
    id: SubscriberId,
    key: KeyExpr<'static>,
    state: Arc<State>,
}

/// What a subscriber and its sink share.
#[derive(Default)]
struct State {
    /// No call begins any more.
    undeclared: AtomicBool,
    /// Outlives its [`Subscriber`].
    background: AtomicBool,
    /// Calls that panicked.
    panics: AtomicU64,
}

impl Drop for Entry {
    fn drop(&mut self) {
        if !self.state.background.load(Ordering::Relaxed) {
            self.state.undeclared.store(true, Ordering::Release);
            self.node.undeclare_subscriber(self.id);
        }
    }
}

/// Turns deliveries into samples, and keeps panics from harming anybody but the sample they happen on.
fn sink(state: Arc<State>, handle: impl Fn(Sample) + Send + Sync + 'static) -> Sink {
    Arc::new(move |delivery: &Delivery<'_>| {
        if state.undeclared.load(Ordering::Acquire) {
            return;
        }
        let sample = Sample::new(delivery);
        if catch_unwind(AssertUnwindSafe(|| handle(sample))).is_err() {
            state.panics.fetch_add(1, Ordering::Relaxed);
            tracing::error!(key = %delivery.key, "a subscriber's callback panicked; this sample is lost to it");
        }
    })
}
