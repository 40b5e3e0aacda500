// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limit of the work that one address can cause by handshakes. Each costs the listener a signature
//! and a key, and the opener next to nothing: without a limit a single machine takes all processors
//! of a node, and the node's links stall.
//!
//! An address gets a part of one processor. Handshakes beyond that part wait and are not refused;
//! handshakes of other addresses do not wait for them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use zonda_runtime::Runtime;

use crate::link::AddressGroup;

/// Divisor of a processor's time for the part of an address.
const PARTS: u32 = 4;

/// Time by which an address may be ahead of its part: simultaneous handshakes, as after a restart
/// of the listener, do not wait.
const AHEAD: Duration = Duration::from_millis(250);

/// Assumed cost of a handshake before the first measurement.
const FIRST_COST: Duration = Duration::from_micros(500);

/// Minimum assumed cost of a handshake.
const COST_MIN: Duration = Duration::from_micros(20);

/// Maximum time charged at once; a longer time was spent by other threads on the processor.
const COST_MAX: Duration = Duration::from_millis(5);

/// Number of remembered addresses from which on those without debt are removed.
const LOOK_FROM: usize = 64;

/// Work of one listener for handshakes, divided by address.
#[derive(Debug)]
pub(super) struct Shares {
    table: Mutex<Table>,
}

#[derive(Debug)]
struct Table {
    /// Mean cost of handshakes.
    cost: Duration,
    /// End of each address's charged time.
    taken: HashMap<AddressGroup, Instant>,
    /// Number of addresses at which the past ones are removed.
    look_at: usize,
}

/// Charge for one handshake. Refunded if it is dropped before any work.
#[derive(Debug)]
pub(super) struct HandshakeCharge {
    shares: Arc<Shares>,
    group: AddressGroup,
    /// Assumed cost of the handshake; zero once the cost is known.
    guessed: Duration,
}

/// Budget that the work of a handshake is charged to.
#[derive(Debug)]
pub(super) enum Budget {
    /// Budget of the node itself, which is the opener.
    Own,
    /// Part of the address that the handshake comes from.
    Shared(Arc<Shares>, AddressGroup),
    /// Charge in that part.
    Taken(HandshakeCharge),
}

impl Budget {
    /// Waits for the address's part, on the first call.
    pub(super) async fn wait<R: Runtime>(&mut self, runtime: &R) {
        if let Budget::Shared(shares, group) = self {
            let now = Instant::now();
            let (turn, wait) = shares.take_turn(*group, now);
            *self = Budget::Taken(turn);
            if !wait.is_zero() {
                runtime.sleep_until(now + wait).await;
            }
        }
    }

    /// Works for the handshake.
    pub(super) fn work<T>(&mut self, work: impl FnOnce() -> T) -> T {
        match self {
            Budget::Taken(turn) => turn.work(work),
            Budget::Own | Budget::Shared(..) => work(),
        }
    }
}

impl Shares {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Shares {
            table: Mutex::new(Table {
                cost: FIRST_COST,
                taken: HashMap::new(),
                look_at: LOOK_FROM,
            }),
        })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Charges a handshake of this address, and returns its wait.
    fn take_turn(
        self: &Arc<Self>,
        group: AddressGroup,
        now: Instant,
    ) -> (HandshakeCharge, Duration) {
        let mut table = self.table();
        let guessed = table.cost.max(COST_MIN);
        if table.taken.len() > table.look_at {
            table.taken.retain(|_, until| *until > now);
            table.look_at = LOOK_FROM.max(2 * table.taken.len());
        }
        let until = table.taken.entry(group).or_insert(now);
        let from = (*until).max(now);
        *until = from + guessed * PARTS;
        drop(table);
        let turn = HandshakeCharge {
            shares: Arc::clone(self),
            group,
            guessed,
        };
        (turn, (from - now).saturating_sub(AHEAD))
    }
}

impl HandshakeCharge {
    fn work<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let begin = worked();
        let result = work();
        self.charge(worked().saturating_sub(begin));
        result
    }

    /// Charges the measured time to the address's part, in place of the assumed cost.
    fn charge(&mut self, cost: Duration) {
        let cost = cost.min(COST_MAX);
        let mut table = self.shares.table();
        let guessed = std::mem::take(&mut self.guessed);
        if !guessed.is_zero() {
            table.cost = (table.cost * 15 + cost) / 16;
        }
        if let Some(until) = table.taken.get_mut(&self.group) {
            *until += cost * PARTS;
            *until = until.checked_sub(guessed * PARTS).unwrap_or(*until);
        }
    }
}

impl Drop for HandshakeCharge {
    fn drop(&mut self) {
        let mut table = self.shares.table();
        if let Some(until) = table.taken.get_mut(&self.group) {
            *until = until.checked_sub(self.guessed * PARTS).unwrap_or(*until);
        }
    }
}

/// Returns the processor time of this thread.
#[cfg(unix)]
fn worked() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Returns the elapsed time, as an approximation, where the system does not report the thread's
/// time.
#[cfg(not(unix))]
fn worked() -> Duration {
    static BEGIN: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    BEGIN.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Duration = Duration::ZERO;

    fn group(last: u8) -> AddressGroup {
        AddressGroup::of([192, 0, 2, last].into())
    }

    /// Returns how many of `count` charges now do not wait, and the wait of the last one.
    fn take(shares: &Arc<Shares>, last: u8, count: u32, now: Instant) -> (u32, Duration) {
        take_at(FIRST_COST, shares, last, count, now)
    }

    fn take_at(
        cost: Duration,
        shares: &Arc<Shares>,
        last: u8,
        count: u32,
        now: Instant,
    ) -> (u32, Duration) {
        let (mut at_once, mut longest) = (0, NONE);
        for _ in 0..count {
            let (mut turn, wait) = shares.take_turn(group(last), now);
            at_once += u32::from(wait.is_zero());
            longest = longest.max(wait);
            turn.charge(cost);
        }
        (at_once, longest)
    }

    #[test]
    fn an_address_gets_its_part_and_others_do_not_wait_for_it() {
        let (shares, now) = (Shares::new(), Instant::now());
        let price = FIRST_COST * PARTS;
        let (at_once, longest) = take(&shares, 1, 1000, now);
        assert_eq!(at_once, 126, "a quarter of a second's worth");
        assert_eq!(longest, price * 999 - AHEAD);
        assert_eq!(take(&shares, 2, 10, now), (10, NONE));
        // The address starts anew when its time is over.
        let later = now + price * 1000;
        assert_eq!(take(&shares, 1, 1000, later), (at_once, longest));
    }

    #[test]
    fn a_place_that_was_not_used_is_given_back() {
        let (shares, now) = (Shares::new(), Instant::now());
        for _ in 0..10 {
            let waiting: Vec<_> = (0..1000).map(|_| shares.take_turn(group(1), now)).collect();
            assert!(!waiting[999].1.is_zero());
        }
        assert_eq!(take(&shares, 1, 10, now), (10, NONE));
    }

    #[test]
    fn handshakes_that_cost_more_are_fewer() {
        let (shares, now) = (Shares::new(), Instant::now());
        let (at_once, _) = take_at(COST_MAX, &shares, 1, 100, now);
        assert_eq!(at_once, 13, "a quarter of a second's worth");
    }

    #[test]
    fn addresses_that_owe_nothing_are_forgotten() {
        let (shares, mut now) = (Shares::new(), Instant::now());
        for number in 0..10_000_u32 {
            let group = AddressGroup::of(std::net::Ipv4Addr::from_bits(number).into());
            shares.take_turn(group, now).0.charge(FIRST_COST);
            now += FIRST_COST * PARTS;
        }
        assert!(shares.table().taken.len() < 3 * LOOK_FROM);
    }
}
