// SPDX-License-Identifier: MIT OR Apache-2.0
//! Credit of the less urgent lanes of a link that carries urgent messages as well.
//!
//! A system takes megabytes for a peer that does not read at the moment, and an urgent message has
//! to wait until the peer has read them. So as long as urgent messages come, the writer asks the
//! system now and then how much the peer has left unread, and lets the less urgent lanes have
//! [`UNREAD_MAX`] of that. Beyond it these lanes stay behind until the peer should have read enough,
//! by its recent rate; a step of them then shows its state anew: a peer's system reports its window
//! only with the confirmation of new bytes.
//!
//! A link with messages of a single priority, the protocol's own aside, has nothing of this, nor has
//! one whose system does not answer.

use std::time::{Duration, Instant};

use crate::link::{Backlog, BacklogGauge};

/// Bytes of less urgent lanes that a peer may leave unread: about a quarter of a millisecond of a
/// link within a machine.
const UNREAD_MAX: u64 = 256 * 1024;

/// Largest window of a peer that bounds what is unread by itself, as that of a node of this project
/// on the same machine: no lane waits for such a peer.
const SMALL_WINDOW: u32 = 512 * 1024;

/// Bytes that less urgent lanes may send after a pause. More than two segments of a link within a
/// machine, so that the peer's system confirms them at once.
const STEP: u64 = 128 * 1024;

/// Shortest and longest pause of the less urgent lanes. The longest one bounds what a wrong reading
/// can cost: they send 26 MB/s at least.
const PAUSE_MIN: Duration = Duration::from_micros(150);
const PAUSE_MAX: Duration = Duration::from_millis(5);

/// Time without an urgent message after which all lanes send freely again.
const URGENT_FOR: Duration = Duration::from_secs(1);

/// Shortest and longest time over which the peer's rate is measured.
const RATE_OVER: Duration = Duration::from_millis(1);
const RATE_WITHIN: Duration = Duration::from_millis(100);

/// Rate in bytes a second until the first measurement.
const RATE_AT_FIRST: u64 = 100_000_000;

/// Lowest rate of a peer that lanes wait for, that of a [`STEP`] after each longest pause. For a
/// slower one no pause would be long enough, and only keep in this process what the systems hold.
const RATE_MIN: u64 = 26_000_000;

/// Time for which the largest window that the peer has granted is believed, twice at most: a peer
/// may have less memory later.
const WINDOW_FOR: Duration = Duration::from_secs(10);

/// Credit of one link.
#[derive(Debug, Default)]
pub(super) struct Credit {
    /// Lanes that wait for credit, as bits.
    closed: u8,
    /// Lanes whose messages change nothing, as bits: the one of the protocol's own, which are few and
    /// urgent on every link, and that of the first other message while no lane but this one sends.
    known: u8,
    /// State while messages of several priorities are sent.
    mixed: Option<Box<Mixed>>,
}

#[derive(Debug)]
struct Mixed {
    /// The most urgent lane of late, and when it was last sent.
    urgent: u8,
    at: Instant,
    gauge: Gauge,
    /// Bytes that the less urgent lanes may send before the next reading.
    left: u64,
    /// End of the pause of the lanes that are closed.
    until: Instant,
    window: WidestWindow,
    rate: ReadRate,
}

/// Gauge of the link.
#[derive(Debug)]
enum Gauge {
    /// Not made yet.
    Wanted,
    Works(BacklogGauge),
    /// There is none here.
    Absent,
}

/// The largest window that the peer has granted.
#[derive(Debug)]
struct WidestWindow {
    since: Instant,
    /// The largest of the present and of the previous period.
    bytes: [u32; 2],
}

/// Rate at which the peer reads.
#[derive(Debug)]
struct ReadRate {
    at: Option<Instant>,
    /// Bytes that the peer had read by then.
    read: u64,
    bytes_per_second: u64,
}

impl Credit {
    /// Returns these lanes, as bits, without those that have to wait for credit.
    #[inline(always)]
    pub(super) fn permits(&self, lanes: u8) -> u8 {
        lanes & !self.closed
    }

    /// Returns those of these lanes, as bits, that have to wait for credit.
    #[inline(always)]
    pub(super) fn withholds(&self, lanes: u8) -> u8 {
        lanes & self.closed
    }

    /// Returns true if the next write needs [`Credit::prepare`].
    #[inline(always)]
    pub(super) fn is_mixed(&self) -> bool {
        self.mixed.is_some()
    }

    /// Prepares a write: opens the closed lanes once their pause is over, or if `ends` because the
    /// connection is closing. `make` makes the link's gauge when it is first needed.
    #[cold]
    pub(super) fn prepare(
        &mut self,
        now: Instant,
        ends: bool,
        make: impl FnOnce() -> Option<BacklogGauge>,
    ) {
        let Some(mixed) = &mut self.mixed else { return };
        if now.saturating_duration_since(mixed.at) >= URGENT_FOR {
            *self = Credit::default();
            return;
        }
        if let Gauge::Wanted = mixed.gauge {
            mixed.gauge = make().map_or(Gauge::Absent, Gauge::Works);
        }
        if ends || mixed.until <= now {
            self.closed = 0;
        }
    }

    /// Notes the lanes of a write, as bits. It costs one comparison while no other lane sends.
    #[inline(always)]
    pub(super) fn note_lanes(&mut self, lanes: u8, now: impl FnOnce() -> Instant) {
        if lanes & !self.known != 0 {
            self.note_others(lanes, now());
        }
    }

    #[cold]
    fn note_others(&mut self, lanes: u8, now: Instant) {
        self.known |= 1;
        let lanes = lanes & !1;
        let most_urgent = |lanes: u8| lanes.trailing_zeros() as u8;
        match &mut self.mixed {
            _ if lanes == 0 => {}
            Some(mixed) => {
                let first = most_urgent(lanes);
                if first <= mixed.urgent {
                    (mixed.urgent, mixed.at) = (first, now);
                }
            }
            None => {
                let all = (self.known | lanes) & !1;
                self.known |= lanes;
                if !all.is_power_of_two() {
                    self.mixed = Some(Box::new(Mixed::new(most_urgent(all), now)));
                    self.known = 1;
                }
            }
        }
    }

    /// Counts bytes that a write sends, the least urgent ones of this lane. Closes the less urgent
    /// lanes when the peer has left too much unread.
    pub(super) fn charge(&mut self, lane: u8, bytes: usize, now: impl FnOnce() -> Instant) {
        if let Some(mixed) = &mut self.mixed
            && lane > mixed.urgent
        {
            self.closed |= mixed.charge(bytes as u64, now);
        }
    }
}

impl Mixed {
    fn new(urgent: u8, now: Instant) -> Mixed {
        Mixed {
            urgent,
            at: now,
            gauge: Gauge::Wanted,
            left: UNREAD_MAX,
            until: now,
            window: WidestWindow {
                since: now,
                bytes: [0; 2],
            },
            rate: ReadRate {
                at: None,
                read: 0,
                bytes_per_second: RATE_AT_FIRST,
            },
        }
    }

    /// Counts bytes; returns the lanes to be closed, as bits.
    #[cold]
    fn charge(&mut self, bytes: u64, now: impl FnOnce() -> Instant) -> u8 {
        self.left = self.left.saturating_sub(bytes);
        let Gauge::Works(gauge) = &self.gauge else {
            return 0;
        };
        if self.left > 0 {
            return 0;
        }
        match gauge.read() {
            Some(backlog) => self.settle(backlog, now()),
            None => {
                self.gauge = Gauge::Absent;
                0
            }
        }
    }

    /// Grants new credit by the state of the connection, or begins a pause; returns the lanes to be
    /// closed, as bits.
    fn settle(&mut self, backlog: Backlog, now: Instant) -> u8 {
        let window = self.window.note(backlog.window, now);
        if window <= SMALL_WINDOW {
            self.left = UNREAD_MAX;
            return 0;
        }
        let unread = u64::from(window - backlog.window.min(window));
        self.rate
            .note(backlog.acked.saturating_sub(unread), unread > 0, now);
        let rate = self.rate.bytes_per_second;
        if rate < RATE_MIN {
            self.left = UNREAD_MAX;
            return 0;
        }
        let waiting = unread + u64::from(backlog.held);
        self.left = UNREAD_MAX.saturating_sub(waiting);
        if self.left > 0 {
            return 0;
        }
        // The peer should have read all but a half of what it may leave unread.
        let excess = waiting - UNREAD_MAX / 2;
        let pause = Duration::from_nanos(excess.saturating_mul(1_000_000_000) / rate);
        self.until = now + pause.clamp(PAUSE_MIN, PAUSE_MAX);
        self.left = STEP;
        less_urgent(self.urgent)
    }
}

/// Returns the lanes that are less urgent than this one, as bits.
fn less_urgent(lane: u8) -> u8 {
    0xfe_u8.checked_shl(lane.into()).unwrap_or(0)
}

impl WidestWindow {
    /// Notes a window; returns the largest one of late.
    fn note(&mut self, window: u32, now: Instant) -> u32 {
        if now.saturating_duration_since(self.since) >= WINDOW_FOR {
            *self = WidestWindow {
                since: now,
                bytes: [0, self.bytes[0]],
            };
        }
        self.bytes[0] = self.bytes[0].max(window);
        self.bytes[0].max(self.bytes[1])
    }
}

impl ReadRate {
    /// Notes the bytes that the peer has read in all. While it has nothing to read, the rate is that
    /// of the sender, and does not count unless it is higher; nor does that of a time in which the
    /// sender was idle.
    fn note(&mut self, read: u64, has_unread: bool, now: Instant) {
        let Some(at) = self.at else {
            (self.at, self.read) = (Some(now), read);
            return;
        };
        let time = now.saturating_duration_since(at);
        if time < RATE_OVER {
            return;
        }
        let is_measured = time <= RATE_WITHIN;
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX).max(1);
        let rate = read.saturating_sub(self.read).saturating_mul(1_000_000) / micros;
        (self.at, self.read) = (Some(now), read);
        if is_measured && (has_unread || rate > self.bytes_per_second) {
            self.bytes_per_second = (self.bytes_per_second / 5 * 4).saturating_add(rate / 5);
        }
    }
}

#[cfg(test)]
mod tests;
