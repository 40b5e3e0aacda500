// SPDX-License-Identifier: MIT OR Apache-2.0

//! Counterparts of publishers and queriers, and listeners to their coming and going.

use std::fmt;
use std::sync::Arc;

use zonda_router::node::{DeclareError, Listen, ListenerId};
use zonda_router::table::Notice;

use crate::callback_group::{CallbackGroup, Ended};
use crate::handlers::{
    Callback, DefaultHandler, FifoChannelHandler, IntoHandler, Stored, handler_setters,
    used_as_handler,
};
use crate::listening::{Listeners, Listening, NoticeHandler};
use crate::wait::{Operation, ready_at_once};

/// Existence of counterparts: for a publisher, subscribers; for a querier, matching queryables (if
/// its target is all complete ones, only these).
///
/// Counterparts of the same session count too. The status is this node's present knowledge: a
/// subscriber elsewhere is known a moment after its declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MatchingStatus {
    matching: bool,
}

impl MatchingStatus {
    pub(crate) fn new(matching: bool) -> MatchingStatus {
        MatchingStatus { matching }
    }

    /// Returns true if there is at least one.
    ///
    /// ```
    /// # use zonda::{Config, Wait};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// let publisher = session.declare_publisher("demo/a").wait()?;
    /// assert!(!publisher.matching_status().wait()?.matching());
    /// let subscriber = session.declare_subscriber("demo/*").wait()?;
    /// assert!(publisher.matching_status().wait()?.matching());
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn matching(&self) -> bool {
        self.matching
    }
}

impl Stored for MatchingStatus {}

/// A declaration that has a matching status.
pub(crate) trait Matched: Sync {
    /// Declares a listener at the node.
    fn listen(&self, listener: Arc<dyn Listen>) -> Result<ListenerId, DeclareError>;
}

/// A matching listener under construction; made by
/// [`Publisher::matching_listener`](crate::pubsub::Publisher::matching_listener) and
/// [`Querier::matching_listener`](crate::query::Querier::matching_listener).
#[must_use = "nothing is declared before .await or .wait()"]
pub struct MatchingListenerBuilder<'a, H = DefaultHandler> {
    matched: &'a dyn Matched,
    listeners: &'a Arc<Listeners>,
    group: &'a CallbackGroup,
    handler: H,
}

impl<'a> MatchingListenerBuilder<'a, DefaultHandler> {
    /// Creates a builder; `group` has the callbacks of the publisher or querier.
    pub(crate) fn new(
        matched: &'a dyn Matched,
        listeners: &'a Arc<Listeners>,
        group: &'a CallbackGroup,
    ) -> Self {
        MatchingListenerBuilder {
            matched,
            listeners,
            group,
            handler: DefaultHandler::default(),
        }
    }

    handler_setters! {
        /// Calls this function with every change, on a task of the session's runtime. It may call anything of the session.
        MatchingListenerBuilder('a) of MatchingStatus keeps matched, listeners, group
    }
}

impl<'a> MatchingListenerBuilder<'a, Callback<MatchingStatus>> {
    /// Declares a listener that lives as long as its publisher or querier: the program keeps no
    /// handle.
    pub fn background(self) -> BackgroundMatchingListenerBuilder<'a> {
        BackgroundMatchingListenerBuilder(self)
    }
}

impl<H: IntoHandler<MatchingStatus>> Operation for MatchingListenerBuilder<'_, H> {
    type Given = MatchingListener<H::Handler>;
    type Refusal = DeclareError;

    /// Declares the listener; does not block.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        let (patient, handler) = self.handler.into_patient();
        let tell = Box::new(move |notice| match notice {
            Notice::Matching(matching) => patient.call(MatchingStatus::new(matching)),
            _ => None,
        });
        let told = NoticeHandler {
            tell,
            stores: H::STORES,
            group: Some(self.group),
        };
        let listening = self
            .listeners
            .start(told, |listener| self.matched.listen(listener))?;
        Ok(MatchingListener { listening, handler })
    }
}

ready_at_once!([H: IntoHandler<MatchingStatus>] MatchingListenerBuilder<'_, H>);

impl<H> fmt::Debug for MatchingListenerBuilder<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MatchingListenerBuilder")
            .finish_non_exhaustive()
    }
}

/// A matching listener under construction that will live as long as its publisher or querier.
#[derive(Debug)]
#[must_use = "nothing is declared before .await or .wait()"]
pub struct BackgroundMatchingListenerBuilder<'a>(
    MatchingListenerBuilder<'a, Callback<MatchingStatus>>,
);

impl Operation for BackgroundMatchingListenerBuilder<'_> {
    type Given = ();
    type Refusal = DeclareError;

    /// Declares the listener; does not block.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        let mut listener = self.0.perform()?;
        listener.set_background(true);
        Ok(())
    }
}

ready_at_once!([] BackgroundMatchingListenerBuilder<'_>);

/// A receiver of the coming of the first counterpart (also if it exists already) and the going of
/// the last one. Dropping it ends it, without blocking; so does the end of its publisher or
/// querier.
///
/// The listener begins without a counterpart, and never repeats a status. It dereferences to its
/// handler:
///
/// ```
/// # use zonda::{Config, Wait};
/// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
/// let publisher = session.declare_publisher("demo/a").wait()?;
/// let listener = publisher.matching_listener().wait()?;
/// let subscriber = session.declare_subscriber("demo/*").wait()?;
/// assert!(listener.recv()?.matching());
/// drop(subscriber);
/// assert!(!listener.recv()?.matching());
/// # Ok::<(), zonda::Error>(())
/// ```
#[must_use = "it is undeclared at once: keep it in a variable, or call .background() before .await or .wait()"]
pub struct MatchingListener<H = FifoChannelHandler<MatchingStatus>> {
    listening: Listening,
    handler: H,
}

impl<H> MatchingListener<H> {
    /// Returns the handler.
    pub fn handler(&self) -> &H {
        &self.handler
    }

    /// Returns the handler, mutably.
    pub fn handler_mut(&mut self) -> &mut H {
        &mut self.handler
    }

    /// Chooses whether it lives on when this is dropped, until its publisher or querier ends.
    /// Default: no.
    pub fn set_background(&mut self, background: bool) {
        self.listening.set_background(background);
    }

    /// Returns the number of changes that were lost because the callback panicked on them.
    pub fn panics(&self) -> u64 {
        self.listening.panics()
    }

    /// Returns the number of changes that were not delivered because later ones reverted them while
    /// the callback was busy with older ones. 0 as long as no more than 16384 wait for it.
    pub fn cancelled(&self) -> u64 {
        self.listening.cancelled()
    }

    /// Undeclares it, also if it is in the background: no call of the handler begins afterwards. One
    /// that runs on another thread may still be running; waiting for the returned [`Ended`] waits for
    /// it. Never fails.
    pub fn undeclare(mut self) -> Ended {
        self.set_background(false);
        let ended = self.listening.ended();
        drop(self);
        ended
    }
}

used_as_handler!(MatchingListener);

impl<H> fmt::Debug for MatchingListener<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MatchingListener").finish_non_exhaustive()
    }
}
