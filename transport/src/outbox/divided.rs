// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lanes that are divided among several links: each lane is sent on one link.
//!
//! The elected writer serves the links in turn, each with a write that does not wait. A link whose
//! socket is full is left out until its task finds that the socket takes bytes again, so that it
//! delays no other link. A connection with undivided lanes has none of this: its writer finds no
//! socket of its own once the lanes are divided, and continues here.
//!
//! Frames that leave on another link than those before them may overtake these, and the receiver
//! then drops the late ones. A lane therefore moves to the link that is for it only while nothing
//! of it can be under way: before its first batch, after some time without one, or when its own
//! link is lost.

use std::{
    io,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use zonda_codec::{Priority, TransportMessage};

use crate::{clock, sync::MutexGuard};

use super::{
    Action, Change, DirectSocket, LinkShare, Outbox, SpentPayloads,
    election::WriteEnd,
    signal,
    writer::{Buffers, DrainedLanes, Look, SendingLink, SocketWriter, drop_guarded},
};

/// Time without a batch of a lane after which its receiver is taken to have all earlier ones.
const SETTLED: Duration = Duration::from_secs(1);

/// Link and the lanes that it is for, as bits.
pub(crate) struct Division {
    pub(crate) share: Arc<LinkShare>,
    pub(crate) direct: DirectSocket,
    pub(crate) lanes: u8,
}

impl Outbox {
    /// Returns true if the lanes can be divided: there is one for each priority, and senders write
    /// by themselves.
    pub(crate) fn can_divide(&self) -> bool {
        self.has_direct && self.lanes.len() == Priority::ALL.len()
    }

    /// Returns true once the lanes are divided among links, which they stay.
    pub(crate) fn is_divided(&self) -> bool {
        self.is_divided.load(Ordering::SeqCst)
    }

    /// Divides the lanes among these links. The first one has sent all lanes if they were not
    /// divided before. A lane in use stays on its link until [`Outbox::settle_lanes`] moves it. What a
    /// link that is not among these links has not sent goes back to its lanes. The caller has to
    /// flush, with no lock held.
    pub(crate) fn divide(&self, links: Vec<Division>) {
        let mut writer = self.writer.lock();
        let mut before = std::mem::take(&mut writer.links);
        let sole = writer.direct.take().is_some();
        for division in links {
            let same = |link: &SendingLink| Arc::ptr_eq(&link.share, &division.share);
            let mut link = match before.iter().position(same) {
                Some(place) => before.swap_remove(place),
                None => SendingLink::new(&division.share, &division.direct),
            };
            link.wanted = division.lanes;
            if sole && writer.links.is_empty() {
                link.lanes = u8::MAX;
                link.transmit = std::mem::take(&mut writer.transmit);
                link.credit = std::mem::take(&mut writer.credit);
                if !link.transmit.is_empty() {
                    link.wait();
                }
            }
            writer.links.push(link);
        }
        // a lost link has taken a part of a batch at most, which another one sends from its start
        let mut drained = DrainedLanes::default();
        for mut gone in before {
            gone.transmit.rewind();
            self.put_back(&mut gone.transmit, &mut drained);
        }
        self.move_lanes(&mut writer.links, |lane| self.sent_bytes(lane) == 0);
        writer.look = Look::default();
        self.is_divided.store(true, Ordering::SeqCst);
        self.election.apply(Change::Reset);
        self.signals.raise(signal::DIVIDED);
        drop(writer);
    }

    /// Moves the lanes that have sent nothing for [`SETTLED`] to the links that are for them. The
    /// tasks of the links call it from time to time.
    pub(crate) fn settle_lanes(&self, now: Instant) {
        let mut writer = self.writer.lock();
        let SocketWriter { links, look, .. } = &mut *writer;
        if links.iter().all(|link| link.lanes == link.wanted) {
            return;
        }
        let before = look.sent;
        match look.at {
            Some(at) if now.saturating_duration_since(at) < SETTLED => return,
            Some(_) => self.move_lanes(links, |lane| self.sent_bytes(lane) == before[lane]),
            None => {}
        }
        *look = Look {
            at: Some(now),
            sent: std::array::from_fn(|lane| self.sent_bytes(lane)),
        };
        drop(writer);
        self.flush();
    }

    fn sent_bytes(&self, lane: usize) -> u64 {
        let tally = self.tallies.get(lane);
        tally.map_or(0, |tally| tally.sent_bytes.load(Ordering::Relaxed))
    }

    /// Moves each lane to the link that is for it if the lane has no link, or if `is_settled` is
    /// true for it and nothing of it waits.
    fn move_lanes(&self, links: &mut [SendingLink], is_settled: impl Fn(usize) -> bool) {
        for (number, lane) in self.lanes.iter().enumerate() {
            let bit = 1_u8 << number;
            let has_nothing_under_way =
                |link: &SendingLink| !link.is_full && link.transmit.is_empty();
            let owner = links.iter_mut().find(|link| link.lanes & bit != 0);
            let may_move = owner.as_ref().is_none_or(|owner| {
                has_nothing_under_way(owner) && is_settled(number) && lane.lock().is_empty()
            });
            if !may_move {
                continue;
            }
            if let Some(owner) = owner {
                owner.lanes &= !bit;
            }
            let wanted = links.iter_mut().find(|link| link.wanted & bit != 0);
            if let Some(link) = wanted {
                link.lanes |= bit;
            }
        }
    }

    /// Writes like [`Outbox::write_elected`] where the lanes are divided.
    #[cold]
    #[inline(never)]
    pub(super) fn write_divided(
        &self,
        mut writer: MutexGuard<'_, SocketWriter>,
    ) -> (Action, Option<SpentPayloads>) {
        let SocketWriter { links, buffers, .. } = &mut *writer;
        let end = match self.is_closed() || links.is_empty() {
            true => WriteEnd::Ended,
            false => {
                let mut drained = DrainedLanes::default();
                for link in links.iter_mut() {
                    self.write_link(link, buffers, &mut drained);
                }
                self.tell_room(&mut drained);
                WriteEnd::Done
            }
        };
        let is_any_full = links.iter().any(|link| link.is_full);
        let withheld = links.iter().filter(|link| !link.is_full);
        let withheld = withheld.fold(0, |all, link| all | link.credit.withholds(link.lanes));
        let action = match self.finish(end) {
            // some of what was queued waits for a socket
            Action::Done if is_any_full => Action::Leave,
            action => action,
        };
        let action = self.wait_for_credit(action, withheld);
        (action, drop_guarded(writer))
    }

    /// Writes the lanes of a link until its socket is full or has all that is ready.
    fn write_link(
        &self,
        link: &mut SendingLink,
        buffers: &mut Buffers,
        drained: &mut DrainedLanes,
    ) {
        self.prepare_credit(&mut link.credit, &link.direct);
        while !link.is_full {
            let lanes = link.credit.permits(link.lanes);
            let all = self.gather(lanes, &mut link.transmit, buffers, drained);
            if link.transmit.is_empty() {
                return;
            }
            link.credit
                .note_lanes(drained.taken() & link.lanes, clock::now);
            if link.credit.is_mixed() {
                let (lane, bytes) = (link.transmit.last_lane(), link.transmit.bytes());
                link.credit.charge(lane, bytes, clock::now);
            }
            match link.direct.send(&link.transmit) {
                Ok(count) => {
                    link.share.note_written();
                    self.count_write(count, &self.counters.writes_direct);
                    link.transmit.advance(count, buffers, &self.tallies);
                    match link.transmit.is_empty() {
                        true if all => return,
                        true => continue,
                        false => {}
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => link.share.raise(signal::LOST),
            }
            self.put_back(&mut link.transmit, drained);
            link.wait();
        }
    }

    /// Continues with a link whose socket takes bytes again.
    pub(crate) fn resume_link(&self, share: &Arc<LinkShare>) {
        let mut writer = self.writer.lock();
        let mut links = writer.links.iter_mut();
        if let Some(link) = links.find(|link| Arc::ptr_eq(&link.share, share)) {
            link.is_full = false;
        }
        drop(writer);
        self.flush();
    }

    /// Queues a keep-alive for a link, and writes it; false if the link sends no lane.
    pub(crate) fn keep_link_alive(&self, share: &Arc<LinkShare>) -> bool {
        let writer = self.writer.lock();
        let mut links = writer.links.iter();
        let link = links.find(|link| Arc::ptr_eq(&link.share, share));
        let lane = link.map_or(self.lanes.len(), |l| l.lanes.trailing_zeros() as usize);
        drop(writer);
        if lane >= self.lanes.len() {
            return false;
        }
        self.lanes[lane].lock().trim();
        self.enqueue_own(lane, &TransportMessage::KeepAlive);
        self.flush();
        true
    }

    /// Waits for at most `left`, on the sender's thread, until the link of a priority takes bytes,
    /// and continues with it; false at once if no link sends the priority.
    pub(super) fn wait_for_link(&self, priority: Priority, left: Duration) -> bool {
        let lane = 1 << self.lane_index(priority);
        let writer = self.writer.lock();
        let mut links = writer.links.iter();
        let link = links.find(|link| link.lanes & lane != 0);
        let Some((share, direct)) = link.map(|l| (Arc::clone(&l.share), l.direct.clone())) else {
            return false;
        };
        drop(writer);
        if direct.wait_writable(left) {
            self.resume_link(&share);
        }
        true
    }

    /// Returns true if a link has taken a part of a batch.
    pub(super) fn has_links_under_way(&self) -> bool {
        // a thread that has the lock is writing
        let writer = self.writer.try_lock();
        let is_under_way = |link: &SendingLink| !link.transmit.is_empty();
        writer.is_none_or(|writer| writer.links.iter().any(is_under_way))
    }

    /// Returns the lanes that hold something which a socket may take, as bits.
    pub(super) fn waiting_lanes(&self) -> u8 {
        let ready = self.ready.load(Ordering::SeqCst);
        if ready == 0 || !self.is_divided() {
            return ready;
        }
        let writer = self.writer.lock();
        let full = writer.links.iter().filter(|link| link.is_full);
        full.fold(ready, |ready, link| ready & !link.lanes)
    }

    /// Raises signals again that a task took and another one has to handle.
    pub(crate) fn raise_again(&self, flags: u8) {
        self.signals.raise(flags);
    }
}
