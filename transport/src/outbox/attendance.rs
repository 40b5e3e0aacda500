// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who waits for a full socket: one sender that needs room, on its own thread, or the driver. Not both, and not all senders.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a sender sees to the socket. Races between its changes cost a moment's wait or a wake-up too many.
#[derive(Debug, Default)]
pub(super) struct Attendance {
    /// A sender waits for the socket.
    present: AtomicBool,
    /// One has waited since the driver looked last.
    was_present: AtomicBool,
    /// The driver looks again by itself.
    driver_looks: AtomicBool,
}

/// A sender that waits for the socket, until it is dropped.
#[derive(Debug)]
pub(super) struct Attending<'a>(&'a Attendance);

impl Attendance {
    /// The right to wait for the socket; `None` if another sender has it.
    pub(super) fn enter(&self) -> Option<Attending<'_>> {
        if self.present.swap(true, Ordering::SeqCst) {
            return None;
        }
        self.was_present.store(true, Ordering::SeqCst);
        Some(Attending(self))
    }

    /// Whether a sender waits for the socket or has done so since this was asked last.
    pub(super) fn is_attended(&self) -> bool {
        self.was_present.swap(false, Ordering::SeqCst) || self.present.load(Ordering::SeqCst)
    }

    /// The driver will look again soon without a signal, or (false) does not any more.
    pub(super) fn driver_looks_in(&self, looks: bool) {
        self.driver_looks.store(looks, Ordering::SeqCst);
    }

    /// Whether the driver looks again without a signal.
    pub(super) fn driver_will_look(&self) -> bool {
        self.driver_looks.load(Ordering::SeqCst)
    }
}

impl Drop for Attending<'_> {
    fn drop(&mut self) {
        self.0.present.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::Attendance;

    #[test]
    fn one_waits_at_a_time_and_the_driver_trusts_it_once_more() {
        let attendance = Attendance::default();
        assert!(!attendance.is_attended());
        let first = attendance.enter();
        assert!(first.is_some() && attendance.enter().is_none());
        assert!(attendance.is_attended() && attendance.is_attended());
        drop(first);
        assert!(!attendance.is_attended());
        drop(attendance.enter());
        assert!(attendance.is_attended() && !attendance.is_attended());
    }
}
