// SPDX-License-Identifier: MIT OR Apache-2.0

//! How a node's own subscribers get what comes in: one message at a time, or a run of messages that are alike at once.

use std::sync::Arc;

use zonda_codec::{Again, KeyExpr, Push, PushRun, Reliability, Timestamp, ZSlice};

use crate::table::Validity;

/// One message for a local subscriber, as it came in. Lives only during the call of the [`Sink`].
#[derive(Debug, Clone, Copy)]
pub struct Delivery<'a> {
    /// The full key the message was published on.
    pub key: &'a KeyExpr<'static>,
    /// The decoded message; its byte fields borrow from `block`.
    pub push: &'a Push<'a>,
    /// The buffer that `push` borrows from, to share parts of it without a copy.
    pub block: &'a ZSlice,
    /// Whether the message came on the reliable channel.
    pub reliability: Reliability,
}

/// Messages in a row that differ in payload and time only. They end early once the routes have changed: who gets
/// the rest is to be found out anew.
pub struct Deliveries<'r, 'a> {
    pub(crate) run: &'r mut PushRun<'a>,
    /// That of the route on which the subscriber is.
    pub(crate) validity: &'r Validity,
}

impl<'a> Iterator for Deliveries<'_, 'a> {
    type Item = Again<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Again<'a>> {
        match self.validity.holds() {
            true => self.run.next(),
            false => None,
        }
    }
}

impl Deliveries<'_, '_> {
    /// The timestamp of the last one; copying it from here costs less than taking it out of [`Again`].
    #[inline(always)]
    pub fn timestamp(&self) -> &Option<Timestamp> {
        self.run.timestamp()
    }

    /// Calls `take` with each as a message of its own. `like` is one of those before.
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

/// Who takes the messages of a subscriber: any function, or what has a shorter way for many that are alike.
///
/// It is called inline on the receiving task (or on the publishing thread, for a message of this same node), with no
/// lock held, and may be called from several threads at once.
pub trait Take: Send + Sync {
    /// Takes one message.
    fn take(&self, delivery: &Delivery<'_>);

    /// Takes messages that are like an earlier one. What is left of them comes one by one, as after a panic.
    fn take_run(&self, like: &Delivery<'_>, run: &mut Deliveries<'_, '_>) {
        run.one_by_one(like, |delivery| self.take(delivery));
    }
}

impl<F: Fn(&Delivery<'_>) + Send + Sync> Take for F {
    fn take(&self, delivery: &Delivery<'_>) {
        self(delivery);
    }
}

/// What a node calls with the deliveries of a subscriber.
pub type Opened = Arc<Box<dyn Take>>;

/// A subscriber as the node keeps it. It may keep it for a while after it was undeclared (in a remembered route), so
/// what belongs to the user is asked for anew with every burst of messages.
pub trait Receive: Send + Sync {
    /// What to call; `None` once the subscriber has ended. The node lets go of it when the burst is over.
    fn open(&self) -> Option<Opened>;
}

/// A shared [`Receive`].
pub type Sink = Arc<dyn Receive>;
