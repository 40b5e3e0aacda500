// SPDX-License-Identifier: MIT OR Apache-2.0

//! Interface between the node and its own subscribers: one message at a time, or a run of messages
//! that are alike at once.

use std::sync::Arc;

use zonda_codec::{KeyExpr, Push, PushRun, Reliability, RunItem, Timestamp, ZSlice};

use crate::table::Validity;

/// Message for a local subscriber, as it came in. Lives only during the call of the [`Sink`].
#[derive(Debug, Clone, Copy)]
pub struct Delivery<'a> {
    /// Full key the message was published on.
    pub key: &'a KeyExpr<'static>,
    /// Decoded message; its byte fields borrow from `block`.
    pub push: &'a Push<'a>,
    /// Buffer that `push` borrows from, to share parts of it without a copy.
    pub block: &'a ZSlice,
    /// Channel on which the message came.
    pub reliability: Reliability,
}

/// Messages in a row that differ in payload and time only. The iterator ends early once the routes
/// have changed: the node then resolves the route of the rest anew.
pub struct Deliveries<'r, 'a> {
    pub(crate) run: &'r mut PushRun<'a>,
    /// Validity of the subscriber's route.
    pub(crate) validity: &'r Validity,
}

impl<'a> Iterator for Deliveries<'_, 'a> {
    type Item = RunItem<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<RunItem<'a>> {
        match self.validity.holds() {
            true => self.run.next(),
            false => None,
        }
    }
}

impl Deliveries<'_, '_> {
    /// Returns the timestamp of the last message; copying it from here costs less than taking it
    /// out of [`RunItem`].
    #[inline(always)]
    pub fn timestamp(&self) -> &Option<Timestamp> {
        self.run.timestamp()
    }

    /// Calls `take` with each as a message of its own. `like` is one of the messages before.
    pub fn one_by_one(&mut self, like: &Delivery<'_>, mut take: impl FnMut(&Delivery<'_>)) {
        let mut push = *like.push;
        for again in self {
            again.write_to(&mut push);
            take(&Delivery {
                push: &push,
                ..*like
            });
        }
    }
}

/// Callback of a subscriber: any function, or a type with a faster way for many messages that are
/// alike.
///
/// The node calls it inline on the receiving task (or on the publishing thread, for a message of
/// this same node), with no lock held, possibly from several threads at once.
pub trait Take: Send + Sync {
    /// Takes one message.
    fn take(&self, delivery: &Delivery<'_>);

    /// Takes messages that are like an earlier one. The node delivers the rest of them one by one,
    /// as after a panic.
    fn take_run(&self, like: &Delivery<'_>, run: &mut Deliveries<'_, '_>) {
        run.one_by_one(like, |delivery| self.take(delivery));
    }
}

impl<F: Fn(&Delivery<'_>) + Send + Sync> Take for F {
    fn take(&self, delivery: &Delivery<'_>) {
        self(delivery);
    }
}

/// Callback that a node has opened for a burst.
pub type Opened = Arc<Box<dyn Take>>;

/// Subscriber as the node keeps it. The node may keep it for a while after it was undeclared (in a
/// cached route), so it opens the user's callback anew with every burst of messages.
pub trait Receive: Send + Sync {
    /// Returns the callback; `None` once the subscriber has ended. The node releases the callback
    /// at the end of the burst.
    fn open(&self) -> Option<Opened>;
}

/// Shared [`Receive`].
pub type Sink = Arc<dyn Receive>;
