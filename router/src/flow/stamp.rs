// SPDX-License-Identifier: MIT OR Apache-2.0

//! The one policy of timestamps: what a node that stamps does with a message that has none, or one from too far in the
//! future.

use zonda_codec::{Ntp64, Push, PushBody, PushRun, Put, Timestamp};

use crate::{hlc::TooFarAhead, node::shared::Shared};

/// What becomes of a message's timestamp.
pub(crate) enum Stamp {
    /// It stays, or stays away.
    Keep,
    /// This node gives this one.
    Give(Timestamp),
    /// The message is dropped, as the configuration says.
    Refuse(TooFarAhead),
}

/// Who gives the timestamps of a run.
pub(crate) enum Stamps {
    /// They stay as they are, or stay away.
    Theirs,
    /// This node.
    Ours(Clock),
}

impl Stamps {
    pub(crate) fn clock(&self) -> Option<&Clock> {
        match self {
            Stamps::Theirs => None,
            Stamps::Ours(clock) => Some(clock),
        }
    }
}

/// The timestamps that this node gives to a run.
pub(crate) struct Clock {
    /// That of the first message. Those of the others follow in steps of 1.
    pub(crate) first: Timestamp,
    /// The header byte of a body with a timestamp.
    pub(crate) header: u8,
}

impl Clock {
    /// The time of the message at this place in the run.
    pub(crate) fn time(&self, number: u64) -> u64 {
        self.first.time().0.saturating_add(number)
    }
}

impl Shared {
    /// What becomes of the timestamp of one message, on a node that stamps. One from too far in the future is replaced, or
    /// costs the message where the configuration says so.
    #[inline]
    pub(crate) fn stamp(&self, given: Option<&Timestamp>, now: impl FnOnce() -> Ntp64) -> Stamp {
        let now = now();
        let Some(given) = given else {
            return Stamp::Give(self.clock.new_timestamp(now));
        };
        match self.clock.update(now, given) {
            Ok(()) => Stamp::Keep,
            Err(error) if self.drops_future => Stamp::Refuse(error),
            Err(_) => Stamp::Give(self.clock.new_timestamp(now)),
        }
    }

    /// The same for all messages of a run, which are like `push`; `None` if some of them has a timestamp that this node does
    /// not accept.
    pub(crate) fn stamp_run(
        &self,
        push: &Push<'_>,
        run: &PushRun<'_>,
        now: impl FnOnce() -> Ntp64,
    ) -> Option<Stamps> {
        if !self.stamps {
            return Some(Stamps::Theirs);
        }
        let is_stamped = matches!(&push.body, PushBody::Put(put) if put.timestamp.is_some());
        let latest = match is_stamped {
            true => run.clone().filter_map(|again| again.timestamp).max(),
            false => None,
        };
        if let Some(latest) = latest {
            // The others are not later, and that is all that matters to the clock.
            self.clock.update(now(), &latest).ok()?;
            return Some(Stamps::Theirs);
        }
        let first = self.clock.new_times(now(), run.left() as u64);
        Some(Stamps::Ours(Clock {
            first: Timestamp::new(first, self.clock.id()),
            header: *run.clone().next()?.raw_body.first()? | Put::FLAG_TIMESTAMP,
        }))
    }
}
