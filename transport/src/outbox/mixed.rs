// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes of links that carry messages of several priorities: the less urgent lanes wait for
//! [`Credit`].

use std::sync::atomic::Ordering;

use zonda_codec::Priority;

use crate::{clock, sync::MutexGuard};

use super::{
    Action, Change, DirectSocket, Outbox, SpentPayloads,
    credit::Credit,
    election::WriteEnd,
    signal,
    transmit::Transmit,
    writer::{ALL_LANES, SocketWriter, drop_guarded},
};

impl Outbox {
    /// Writes like [`Outbox::write_elected`] while messages of several priorities are sent.
    #[cold]
    #[inline(never)]
    pub(super) fn write_mixed(
        &self,
        mut writer: MutexGuard<'_, SocketWriter>,
        turn: usize,
    ) -> (Action, Option<SpentPayloads>) {
        let SocketWriter {
            direct,
            transmit,
            buffers,
            credit,
            ..
        } = &mut *writer;
        let end = match direct {
            Some(direct) => {
                self.prepare_credit(credit, direct);
                let send = |transmit: &Transmit| direct.send(transmit);
                self.write_by::<true>(transmit, buffers, credit, turn, send)
            }
            None => WriteEnd::Ended,
        };
        let action = self.finish(end);
        let action = self.wait_for_credit(action, credit.withholds(ALL_LANES));
        (action, drop_guarded(writer))
    }

    /// Prepares a write with the credit of its link.
    #[inline(always)]
    pub(super) fn prepare_credit(&self, credit: &mut Credit, direct: &DirectSocket) {
        if credit.is_mixed() {
            credit.prepare(clock::now(), self.is_closing(), || direct.gauge());
        }
    }

    /// Makes the driver tick if one of these lanes, as bits, has something to write: its ticks end
    /// the wait for credit. Returns the next step of the thread that has ended its write with this
    /// action.
    #[cold]
    pub(super) fn wait_for_credit(&self, action: Action, withheld: u8) -> Action {
        if self.ready.load(Ordering::SeqCst) & withheld == 0 {
            return action;
        }
        self.has_withheld.store(true, Ordering::Relaxed);
        if self.election.apply(Change::BecomeDense) == Action::WakeDriver {
            self.signals.raise(signal::HOT);
        }
        match action {
            // some of what was queued is not written
            Action::Done => Action::Leave,
            action => action,
        }
    }

    /// Returns true if the lane of this priority waits for credit.
    pub(super) fn is_withheld(&self, priority: Priority) -> bool {
        if !self.has_withheld.load(Ordering::Relaxed) {
            return false;
        }
        let lane = 1 << self.lane_index(priority);
        let writer = self.writer.lock();
        let mut links = writer.links.iter();
        writer.credit.withholds(lane) != 0
            || links.any(|link| link.credit.withholds(lane & link.lanes) != 0)
    }
}
