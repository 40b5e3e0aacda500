// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one address may have a listener work for handshakes. Each costs the listener a signature and a key, and the one that asks
//! for it next to nothing: without a limit a single machine takes all processors of a node, and its links stand still.
//!
//! An address gets a part of one processor. What it asks for beyond waits, it is not refused; others do not wait for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use zonda_runtime::Runtime;

use crate::link::AddressGroup;

/// An address gets one of so many parts of a processor.
const PARTS: u32 = 4;

/// How far an address may be ahead of its part: what comes at once, as after a restart of the listener, does not wait.
const AHEAD: Duration = Duration::from_millis(250);

/// What a handshake is taken to cost before one was seen.
const FIRST_COST: Duration = Duration::from_micros(500);

/// None is taken to cost less.
const COST_MIN: Duration = Duration::from_micros(20);

/// None works longer at a time; beyond it something else had the processor.
const COST_MAX: Duration = Duration::from_millis(5);

/// So many addresses are remembered before those that owe nothing are looked for.
const LOOK_FROM: usize = 64;

/// The work of one listener for handshakes, shared out by address.
#[derive(Debug)]
pub(super) struct Shares {
    table: Mutex<Table>,
}

#[derive(Debug)]
struct Table {
    /// The mean of what handshakes cost.
    cost: Duration,
    /// Until when the work that an address has asked for takes its part.
    taken: HashMap<AddressGroup, Instant>,
    /// How many there may be before those of the past are taken out.
    look_at: usize,
}

/// The place of one handshake. Given back if it is dropped before there was work for it.
#[derive(Debug)]
pub(super) struct Turn {
    shares: Arc<Shares>,
    group: AddressGroup,
    /// What the handshake is taken to cost; nothing once that is known.
    guessed: Duration,
}

/// What the work of a handshake is taken from.
#[derive(Debug)]
pub(super) enum Budget {
    /// The node's own: it has asked for the handshake.
    Own,
    /// The part of the address that it comes from.
    Shared(Arc<Shares>, AddressGroup),
    /// A place in that part.
    Taken(Turn),
}

impl Budget {
    /// Waits for a place, the first time.
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

    /// A place for a handshake of this address, and how long it has to wait.
    fn take_turn(self: &Arc<Self>, group: AddressGroup, now: Instant) -> (Turn, Duration) {
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
        let turn = Turn {
            shares: Arc::clone(self),
            group,
            guessed,
        };
        (turn, (from - now).saturating_sub(AHEAD))
    }
}

impl Turn {
    fn work<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let begin = worked();
        let result = work();
        self.charge(worked().saturating_sub(begin));
        result
    }

    /// Takes what was worked from the address's part, in place of what was guessed.
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

impl Drop for Turn {
    fn drop(&mut self) {
        let mut table = self.shares.table();
        if let Some(until) = table.taken.get_mut(&self.group) {
            *until = until.checked_sub(self.guessed * PARTS).unwrap_or(*until);
        }
    }
}

/// How long this thread has had a processor.
#[cfg(unix)]
fn worked() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// The same, about, where the system does not tell: how long anything has had.
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

    /// How many of so many turns taken now do not wait, and how long the last one waits.
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
        // When its time is over it begins anew.
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
