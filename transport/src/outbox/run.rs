// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many messages of one priority under one lock of their lane.

use std::sync::atomic::Ordering;

use zonda_codec::{Encode, Priority, Reliability, Writer};

use crate::{
    protocol::tx::{Lane, Outgoing, Pushed},
    sync::BriefGuard,
};

use super::Outbox;

/// What to do with messages that the lane has no room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// They are dropped and counted.
    Drop,
    /// They are queued all the same, as by [`Outbox::push_over`], and the source is to be paused.
    Keep,
    /// The first one is queued, as by [`Outbox::push_first`]; the others are dropped and counted.
    KeepFirst,
}

/// What became of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunQueued {
    /// Something was queued, so [`Outbox::flush`] has to follow.
    Some {
        /// The lane takes more without going over its limit.
        has_room: bool,
        /// A batch is full, so that it is worth writing now.
        sealed: bool,
    },
    /// Nothing was queued: all was dropped, or the connection is closed.
    Nothing,
}

/// The lane of one priority, locked for a run of messages.
#[derive(Debug)]
pub struct Queue<'a> {
    lane: BriefGuard<'a, Lane>,
    overflow: Overflow,
    overrun_bytes: usize,
    queued: u64,
    dropped: u64,
    too_long: u64,
    sealed: bool,
    overrun: bool,
}

impl Queue<'_> {
    /// Queues the next message, or does with it what was agreed for a full lane. `false` once no more can be taken:
    /// the connection is closed or was given up.
    #[inline(always)]
    pub fn push<E: Encode>(&mut self, message: &Outgoing<'_, E>) -> bool {
        if !self.lane.has_room() && !self.squeeze() {
            return !self.overrun;
        }
        match self.lane.push(message) {
            Ok(pushed) => {
                self.queued += 1;
                self.sealed |= pushed == Pushed::Sealed;
            }
            Err(_) => self.too_long += 1,
        }
        true
    }

    /// Has `write` put as many whole messages as fit into the room of the batch that is being filled; it tells how many
    /// these are, and what else it likes. `None` without asking it if there is no such batch, or if the lane is full: then
    /// the next message is one for [`Queue::push`].
    #[inline(always)]
    pub fn extend<T>(
        &mut self,
        reliability: Reliability,
        write: impl FnOnce(&mut Writer<'_>) -> (u64, T),
    ) -> Option<T> {
        if !self.lane.has_room() {
            return None;
        }
        let (count, told) = self.lane.extend(reliability, write)?;
        self.queued += count;
        Some(told)
    }

    /// Whether one more message is queued although the lane is full.
    #[cold]
    fn squeeze(&mut self) -> bool {
        match self.overflow {
            Overflow::KeepFirst if !self.lane.has_guest() => self.lane.begin_guest(),
            Overflow::KeepFirst | Overflow::Drop => {
                self.dropped += 1;
                return false;
            }
            Overflow::Keep => self.overrun = self.lane.queued_bytes_small() > self.overrun_bytes,
        }
        !self.overrun
    }
}

impl Outbox {
    /// Queues the messages that `fill` pushes, under one lock of the lane. Never waits for the peer. `fill` should push
    /// some hundreds at most: other senders of this priority wait meanwhile.
    ///
    /// What a full lane costs is counted, as refused and as dropped. A peer that is too far behind is given up, as by
    /// [`Outbox::push_over`].
    #[inline]
    pub fn push_run(
        &self,
        priority: Priority,
        overflow: Overflow,
        fill: impl FnOnce(&mut Queue<'_>),
    ) -> RunQueued {
        let index = self.lane_index(priority);
        let lane = self.lanes[index].lock();
        if self.is_closed() {
            return RunQueued::Nothing;
        }
        let mut queue = Queue {
            lane,
            overflow,
            overrun_bytes: self.overrun_bytes,
            queued: 0,
            dropped: 0,
            too_long: 0,
            sealed: false,
            overrun: false,
        };
        fill(&mut queue);
        if overflow == Overflow::KeepFirst {
            // Whatever came after it in this run was dropped.
            queue.lane.end_guest();
        }
        if queue.queued > 0 {
            self.mark_ready(index);
        }
        let Queue {
            lane,
            queued,
            dropped,
            too_long,
            sealed,
            overrun,
            ..
        } = queue;
        let has_room = lane.has_room();
        drop(lane);
        if dropped + too_long > 0 || overrun {
            self.account(index, dropped, too_long, overrun);
        }
        match queued {
            0 => RunQueued::Nothing,
            _ => RunQueued::Some { has_room, sealed },
        }
    }

    #[cold]
    fn account(&self, lane: usize, dropped: u64, too_long: u64, overrun: bool) {
        let counters = &self.counters;
        let tally = &self.tallies[lane];
        tally.dropped.fetch_add(dropped, Ordering::Relaxed);
        counters.refused_full.fetch_add(dropped, Ordering::Relaxed);
        counters.dropped.fetch_add(dropped, Ordering::Relaxed);
        counters
            .refused_too_long
            .fetch_add(too_long, Ordering::Relaxed);
        if overrun {
            self.give_up();
        }
    }
}
