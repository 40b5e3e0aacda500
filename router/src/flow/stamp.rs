// SPDX-License-Identifier: MIT OR Apache-2.0

//! Policy of timestamps: how a node that stamps treats a message without a timestamp, or with one
//! from too far in the future.

use zonda_codec::{Ntp64, Push, PushBody, PushRun, Timestamp, ZenohId};

use crate::{
    config::Settings,
    hlc::{Hlc, TooFarAhead},
    node::clock::ntp64_now,
};

/// Clock of a node, and its policy of timestamps.
pub(crate) struct Timestamps {
    clock: Hlc,
    /// True if this node stamps the messages that it routes and publishes.
    stamps: bool,
    /// True if this node drops a message with a timestamp from an impossible future; otherwise it
    /// stamps the message anew.
    drops_future: bool,
}

impl Timestamps {
    pub(crate) fn new(zid: ZenohId, settings: &Settings) -> Self {
        Timestamps {
            clock: Hlc::new(zid),
            stamps: settings.timestamping,
            drops_future: settings.drop_future_timestamp,
        }
    }

    /// Returns true if this node stamps the messages that it routes and publishes.
    #[inline]
    pub(crate) fn are_given(&self) -> bool {
        self.stamps
    }

    /// Returns a timestamp that is unique, and later than every one that the clock has seen.
    pub(crate) fn next(&self) -> Timestamp {
        self.clock.new_timestamp(ntp64_now())
    }

    /// Returns the timestamp that a node that stamps gives to a message; `None` if the message
    /// keeps its own. A timestamp from too far in the future is replaced, or makes the node drop
    /// the message if so configured.
    ///
    /// # Errors
    /// The message is to be dropped.
    #[inline]
    pub(crate) fn stamp(
        &self,
        given: Option<&Timestamp>,
        now: impl FnOnce() -> Ntp64,
    ) -> Result<Option<Timestamp>, TooFarAhead> {
        let now = now();
        match self.follow(given, 1, now) {
            Err(_) if !self.drops_future => Ok(Some(self.clock.new_timestamp(now))),
            followed => followed,
        }
    }

    /// Returns the first of the timestamps that this node gives to the messages of a run, which are
    /// like `push`; the further timestamps follow in steps of 1. Returns `None` if the messages
    /// keep their own.
    ///
    /// # Errors
    /// Some message has a timestamp that this node does not accept: the caller handles each by
    /// itself.
    pub(crate) fn stamp_run(
        &self,
        push: &Push<'_>,
        run: &PushRun<'_>,
        now: impl FnOnce() -> Ntp64,
    ) -> Result<Option<Timestamp>, TooFarAhead> {
        if !self.stamps {
            return Ok(None);
        }
        let is_stamped = matches!(&push.body, PushBody::Put(put) if put.timestamp.is_some());
        let latest = match is_stamped {
            true => run.clone().filter_map(|again| again.timestamp).max(),
            false => None,
        };
        // the clock needs only the latest timestamp
        self.follow(latest.as_ref(), run.left() as u64, now())
    }

    /// Advances the clock to the latest timestamp of `count` messages, or takes timestamps for them
    /// if they have none, and returns the first.
    #[inline]
    fn follow(
        &self,
        latest: Option<&Timestamp>,
        count: u64,
        now: Ntp64,
    ) -> Result<Option<Timestamp>, TooFarAhead> {
        match latest {
            None => Ok(Some(self.clock.new_timestamps(now, count))),
            Some(latest) => self.clock.update(now, latest).map(|()| None),
        }
    }
}
