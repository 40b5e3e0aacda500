// SPDX-License-Identifier: MIT OR Apache-2.0

//! Listeners of an advanced subscriber: to lost samples, and to publishers that come and go.

use std::fmt;

use super::error::AdvancedError;
use super::intake::Intake;
use super::keys::publishers;
use super::miss::{Listeners, Miss};
use crate::callback_group::{CallbackGroup, Ended};
use crate::error::DeclareError;
use crate::handlers::{
    Callback, DefaultHandler, FifoChannelHandler, IntoHandler, handler_setters, used_as_handler,
};
use crate::pubsub::Subscriber;
use crate::sample::Sample;
use crate::wait::{Operation, ready_at_once};

/// A listener to lost samples under construction; made by
/// [`AdvancedSubscriber::sample_miss_listener`](super::AdvancedSubscriber::sample_miss_listener).
#[must_use = "nothing is declared before .await or .wait()"]
pub struct SampleMissListenerBuilder<'a, H = DefaultHandler> {
    listeners: &'a Listeners,
    handler: H,
}

impl<'a> SampleMissListenerBuilder<'a, DefaultHandler> {
    pub(super) fn new(listeners: &'a Listeners) -> Self {
        SampleMissListenerBuilder {
            listeners,
            handler: DefaultHandler::default(),
        }
    }

    handler_setters! {
        /// Calls this function with every loss, between the samples before and behind it. The samples wait for it.
        SampleMissListenerBuilder('a) of Miss keeps listeners
    }
}

impl<'a> SampleMissListenerBuilder<'a, Callback<Miss>> {
    /// Declares a listener that lives as long as its subscriber: the program keeps no handle.
    pub fn background(self) -> BackgroundSampleMissListenerBuilder<'a> {
        BackgroundSampleMissListenerBuilder(self)
    }
}

impl<H: IntoHandler<Miss>> Operation for SampleMissListenerBuilder<'_, H> {
    type Given = SampleMissListener<H::Handler>;
    type Refusal = DeclareError;

    /// Declares the listener; does not block.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        let (listener, handler) = self.handler.into_patient();
        let gone = CallbackGroup::default();
        let number = self.listeners.add(listener, &gone);
        let listeners = Some(self.listeners.clone());
        Ok(SampleMissListener {
            listeners,
            number,
            handler,
            gone,
        })
    }
}

ready_at_once!([H: IntoHandler<Miss>] SampleMissListenerBuilder<'_, H>);

impl<H> fmt::Debug for SampleMissListenerBuilder<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SampleMissListenerBuilder")
            .finish_non_exhaustive()
    }
}

/// A listener to lost samples under construction that will live as long as its subscriber.
#[derive(Debug)]
#[must_use = "nothing is declared before .await or .wait()"]
pub struct BackgroundSampleMissListenerBuilder<'a>(SampleMissListenerBuilder<'a, Callback<Miss>>);

impl Operation for BackgroundSampleMissListenerBuilder<'_> {
    type Given = ();
    type Refusal = DeclareError;

    /// Declares the listener; does not block.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        let mut listener = self.0.perform()?;
        listener.listeners = None;
        Ok(())
    }
}

ready_at_once!([] BackgroundSampleMissListenerBuilder<'_>);

/// A receiver of the losses of a subscriber. Dropping it ends it, without blocking.
///
/// The listener dereferences to its handler. Samples do not wait for a handler that is full: a miss
/// without room in it is dropped.
#[must_use = "it is undeclared at once: keep it in a variable, or call .background() before .await or .wait()"]
pub struct SampleMissListener<H = FifoChannelHandler<Miss>> {
    /// The listeners to leave at the end; `None` if it outlives this.
    listeners: Option<Listeners>,
    number: u64,
    handler: H,
    gone: CallbackGroup,
}

impl<H> SampleMissListener<H> {
    /// Ends it, as dropping it does; waiting for the returned [`Ended`] waits until no call of its
    /// callback runs any more and the callback has been dropped.
    pub fn undeclare(self) -> Ended {
        let gone = self.gone.clone();
        drop(self);
        Ended::waiting(gone)
    }
}

used_as_handler!(SampleMissListener);

impl<H> Drop for SampleMissListener<H> {
    fn drop(&mut self) {
        if let Some(listeners) = &self.listeners {
            listeners.remove(self.number);
        }
    }
}

impl<H> fmt::Debug for SampleMissListener<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SampleMissListener").finish_non_exhaustive()
    }
}

/// A liveliness subscriber to advanced publishers under construction; made by
/// [`AdvancedSubscriber::detect_publishers`](super::AdvancedSubscriber::detect_publishers).
#[must_use = "nothing is declared before .await or .wait()"]
pub struct PublisherDetectionBuilder<'a, H = DefaultHandler> {
    intake: &'a Intake,
    history: bool,
    handler: H,
}

impl<'a> PublisherDetectionBuilder<'a, DefaultHandler> {
    pub(super) fn new(intake: &'a Intake) -> Self {
        PublisherDetectionBuilder {
            intake,
            history: false,
            handler: DefaultHandler::default(),
        }
    }

    handler_setters! {
        /// Calls this function with every change, on a task of the session's runtime. Calls do not overlap and keep the order
        /// of the changes.
        PublisherDetectionBuilder('a) of Sample keeps intake, history
    }
}

impl<H> PublisherDetectionBuilder<'_, H> {
    /// Chooses whether the publishers that are alive already are delivered too. Default: no.
    pub fn history(mut self, history: bool) -> Self {
        self.history = history;
        self
    }
}

impl<'a> PublisherDetectionBuilder<'a, Callback<Sample>> {
    /// Declares a liveliness subscriber that lives as long as its session: the program keeps no
    /// handle.
    pub fn background(self) -> BackgroundPublisherDetectionBuilder<'a> {
        BackgroundPublisherDetectionBuilder(self)
    }
}

impl<H: IntoHandler<Sample>> Operation for PublisherDetectionBuilder<'_, H> {
    type Given = Subscriber<H::Handler>;
    type Refusal = AdvancedError;

    /// Declares the liveliness subscriber; does not block.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        let session = self.intake.session.upgrade();
        let session = session.ok_or(DeclareError::Closed)?;
        let subscriber = session
            .liveliness()
            .declare_subscriber(publishers(&self.intake.key)?)
            .history(self.history)
            .with(self.handler)
            .perform()?;
        Ok(subscriber)
    }
}

ready_at_once!([H: IntoHandler<Sample>] PublisherDetectionBuilder<'_, H>);

impl<H> fmt::Debug for PublisherDetectionBuilder<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublisherDetectionBuilder")
            .finish_non_exhaustive()
    }
}

/// A liveliness subscriber to advanced publishers under construction that will live as long as its session.
#[derive(Debug)]
#[must_use = "nothing is declared before .await or .wait()"]
pub struct BackgroundPublisherDetectionBuilder<'a>(PublisherDetectionBuilder<'a, Callback<Sample>>);

impl Operation for BackgroundPublisherDetectionBuilder<'_> {
    type Given = ();
    type Refusal = AdvancedError;

    /// Declares the liveliness subscriber; does not block.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        self.0.perform()?.detach();
        Ok(())
    }
}

ready_at_once!([] BackgroundPublisherDetectionBuilder<'_>);
