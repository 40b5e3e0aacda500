// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two deadlines of an open link: send a keep-alive before the peer's lease for this node is over,
//! and give the peer up when nothing arrived from it for its lease.

use std::time::{Duration, Instant};

/// Keep-alives that a peer sends in its lease, unless it is configured otherwise.
const KEEP_ALIVES: u32 = 4;

/// Event of a deadline that has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerEvent {
    /// Send a keep-alive; it counts as sent from here on.
    SendKeepAlive,
    /// The peer's lease is over: drop the link, without a Close.
    Expired,
}

/// Deadlines of one open link. The owner passes in the time; the timers read no clock.
#[derive(Clone, Debug)]
pub struct Timers {
    keep_alive_interval: Duration,
    remote_lease: Duration,
    last_sent: Instant,
    last_received: Instant,
    /// Extended end of the peer's lease, if it seemed over and this node looked late.
    reprieve: Option<Instant>,
    /// Set if keep-alives are due whatever else is sent.
    is_steady: bool,
}

impl Timers {
    /// Delay of a look at the deadlines above which the machine was overloaded. Bytes of the peer
    /// may then wait unread as well.
    const LATE: Duration = Duration::from_millis(50);

    /// Minimum interval between keep-alives, whatever the lease.
    const INTERVAL_MIN: Duration = Duration::from_millis(1);

    /// Creates the timers of a link that opened at `now`. This node announced `lease_local`, and
    /// allows itself a silence of a `divisor`-th part of it; `lease_remote` is the peer's.
    pub fn new(now: Instant, lease_local: Duration, divisor: u32, lease_remote: Duration) -> Self {
        let interval = lease_local / divisor.max(1);
        Timers {
            keep_alive_interval: interval.max(Self::INTERVAL_MIN),
            remote_lease: lease_remote,
            last_sent: now,
            last_received: now,
            reprieve: None,
            is_steady: false,
        }
    }

    /// Makes keep-alives due at each interval, whatever else is sent, as on links of bare messages.
    #[must_use]
    pub fn steady(self, is_steady: bool) -> Self {
        Timers { is_steady, ..self }
    }

    /// Returns the interval of keep-alives of a peer with its lease, in this implementation and the
    /// reference.
    pub fn remote_keep_alive(&self) -> Duration {
        self.remote_lease / KEEP_ALIVES
    }

    /// Notes that bytes came from the peer: any bytes refresh its lease.
    #[inline]
    pub fn on_received(&mut self, now: Instant) {
        if now > self.last_received {
            self.reprieve = None;
        }
        self.last_received = now;
    }

    /// Notes that a batch was sent: no keep-alive is due for another interval.
    #[inline]
    pub fn on_sent(&mut self, now: Instant) {
        if !self.is_steady {
            self.last_sent = now;
        }
    }

    /// Returns the latest time for the next call of [`handle_timeout`](Timers::handle_timeout).
    pub fn poll_timeout(&self) -> Instant {
        self.expiry().min(self.keep_alive())
    }

    /// Returns an event that is due at `now`, one per call; `None` if nothing is.
    pub fn handle_timeout(&mut self, now: Instant) -> Option<TimerEvent> {
        let expiry = self.expiry();
        if now >= expiry {
            // The reader gets the delay of this look as additional time.
            let late = now - expiry;
            if self.reprieve.is_some() || late <= Self::LATE {
                return Some(TimerEvent::Expired);
            }
            self.reprieve = Some(after(now, late));
        }
        if now >= self.keep_alive() {
            self.last_sent = now;
            return Some(TimerEvent::SendKeepAlive);
        }
        None
    }

    fn expiry(&self) -> Instant {
        self.reprieve
            .unwrap_or_else(|| after(self.last_received, self.remote_lease))
    }

    fn keep_alive(&self) -> Instant {
        after(self.last_sent, self.keep_alive_interval)
    }
}

/// Returns `start + wait`, or a year from `start` where the clock cannot represent that.
fn after(start: Instant, wait: Duration) -> Instant {
    start
        .checked_add(wait)
        .unwrap_or(start + crate::protocol::parameters::LEASE_MAX)
}
