// SPDX-License-Identifier: MIT OR Apache-2.0

//! The one policy of timestamps: what a node that stamps does with a message that has none, or one from too far in the
//! future.

use zonda_codec::{Ntp64, Push, PushBody, PushRun, Timestamp};

use crate::{hlc::TooFarAhead, node::shared::Shared};

impl Shared {
    /// The timestamp that a node that stamps gives to a message; `None` if the message keeps the one that it has. One from
    /// too far in the future is replaced, or costs the message where the configuration says so.
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

    /// The first of the timestamps that this node gives to the messages of a run, which are like `push`; those of the others
    /// follow in steps of 1. `None` if the messages keep what they have.
    ///
    /// # Errors
    /// Some message has a timestamp that this node does not accept: each is to be taken for itself.
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
        // The others are not later, and that is all that matters to the clock.
        self.follow(latest.as_ref(), run.left() as u64, now())
    }

    /// Has the clock follow the latest timestamp of `count` messages, or take times for them if they have none: the first
    /// of these is returned.
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
