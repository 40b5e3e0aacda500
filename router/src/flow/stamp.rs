// SPDX-License-Identifier: MIT OR Apache-2.0

//! Policy of timestamps: how a node that stamps treats a message without a timestamp, or with one
//! from too far in the future.

use zonda_codec::{Ntp64, Push, PushBody, PushRun, Timestamp};

use crate::{hlc::TooFarAhead, node::shared::Shared};

impl Shared {
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
