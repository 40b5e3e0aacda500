// SPDX-License-Identifier: MIT OR Apache-2.0

//! Downsampling: messages above a rate are dropped.
//!
//! An item applies to a neighbour all of whose links match. Its first rule whose key intersects the
//! key of a message counts, and a message has to pass every item. A rule has one clock for each
//! neighbour and direction, which all keys and kinds of messages share; with `per_key`, one for each
//! key.

mod clocks;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod scenes;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Instant};

use zonda_codec::KeyExpr;

use crate::config::{DownsamplingItem, Flow, MessageKind};

use super::{
    contract::{BoundFilter, Decision, Effect, Filter, Message, MessageView, Reason, Subject},
    scope,
};

use clocks::{Clock, Clocks, Interval, OfNeighbour};

/// A clock that never goes back.
pub(super) trait Time: Send + Sync + 'static {
    /// Returns the nanoseconds since a fixed time.
    fn nanos(&self) -> u64;
}

/// The clock of the system; the fixed time is its creation.
pub(super) struct Monotonic(Instant);

impl Time for Monotonic {
    fn nanos(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// The filter.
pub(super) struct DownsamplingFilter<T = Monotonic> {
    items: Box<[Item]>,
    /// Number of rules of all items.
    rules: usize,
    clocks: Clocks,
    time: Arc<T>,
}

/// An item, and the number of its first rule among those of all items.
struct Item {
    given: DownsamplingItem,
    first_rule: usize,
    kinds: Kinds,
}

/// A set of kinds of messages.
#[derive(Debug, Clone, Copy)]
struct Kinds(u16);

impl Kinds {
    fn new(kinds: &[MessageKind]) -> Kinds {
        Kinds(kinds.iter().fold(0, |set, kind| set | 1 << *kind as u16))
    }

    fn contains(self, kind: MessageKind) -> bool {
        self.0 & 1 << kind as u16 != 0
    }
}

impl DownsamplingFilter {
    /// Creates the filter; `None` without an item.
    fn new(items: &[DownsamplingItem]) -> Option<DownsamplingFilter> {
        DownsamplingFilter::with(items, Arc::new(Monotonic(Instant::now())))
    }

    /// Returns the filter `before` if it has these items, so that its clocks go on; else a new one.
    pub(super) fn again(
        items: &[DownsamplingItem],
        before: &Option<Arc<DownsamplingFilter>>,
    ) -> Option<Arc<DownsamplingFilter>> {
        let has_these = |filter: &&Arc<DownsamplingFilter>| {
            filter.items.iter().map(|item| &item.given).eq(items)
        };
        match before.as_ref().filter(has_these) {
            Some(same) => Some(Arc::clone(same)),
            None => DownsamplingFilter::new(items).map(Arc::new),
        }
    }
}

impl<T: Time> DownsamplingFilter<T> {
    fn with(given: &[DownsamplingItem], time: Arc<T>) -> Option<DownsamplingFilter<T>> {
        let mut rules = 0;
        let item = |given: &DownsamplingItem| {
            let first_rule = rules;
            rules += given.rules.len();
            Item {
                kinds: Kinds::new(&given.scope.messages),
                given: given.clone(),
                first_rule,
            }
        };
        let items: Box<[_]> = given.iter().map(item).collect();
        (!items.is_empty()).then(|| DownsamplingFilter {
            items,
            rules,
            clocks: Clocks::default(),
            time,
        })
    }

    /// Returns the rate that an item sets for a key; `None` if it sets none.
    fn rate(&self, item: &Item, of: &OfNeighbour, key: &KeyExpr<'_>, now: u64) -> Option<Rate> {
        let mut rules = item.given.rules.iter().enumerate();
        let (number, rule) = rules.find(|(_, rule)| rule.key.intersects(key))?;
        let number = item.first_rule + number;
        let clock = match rule.per_key {
            true => of.of_key(number, key.as_str(), now),
            false => of.of_rule(number),
        };
        Some(Rate {
            kinds: item.kinds,
            interval: Interval::of(rule.freq),
            clock: clock?,
        })
    }
}

impl<T: Time> Filter for DownsamplingFilter<T> {
    fn bind(
        &self,
        subject: &Subject<'_>,
        flow: Flow,
        key: Option<&KeyExpr<'_>>,
    ) -> Option<Box<dyn BoundFilter>> {
        // a message without a key is under no rule
        let key = key?;
        let now = self.time.nanos();
        let of = self.clocks.of(subject.peer.zid, flow, self.rules, now);
        let is_for = |item: &&Item| scope::is_for_all_links(&item.given.scope, subject, flow);
        let items = self.items.iter().filter(is_for);
        let rates: Box<[_]> = items
            .filter_map(|item| self.rate(item, &of, key, now))
            .collect();
        (!rates.is_empty()).then(|| {
            Box::new(Rates {
                rates,
                time: Arc::clone(&self.time),
                _of: of,
            }) as _
        })
    }

    fn explain(&self, subject: &Subject<'_>, message: Message<'_>) -> Option<Effect> {
        let Message { flow, kind, key } = message;
        let here = self.items.iter().enumerate().filter(|(_, item)| {
            item.kinds.contains(kind) && scope::is_for_all_links(&item.given.scope, subject, flow)
        });
        let rates = here.filter_map(|(place, item)| {
            let rule = item
                .given
                .rules
                .iter()
                .find(|rule| rule.key.intersects(key))?;
            Some((rule, scope::name_of(&item.given.scope, place)))
        });
        // Each item has to let a message pass, so the lowest rate counts.
        let (least, name) = rates.min_by(|(one, _), (other, _)| one.freq.total_cmp(&other.freq))?;
        let (freq, of) = (least.freq, &least.key);
        let each = if least.per_key { " of each key" } else { "" };
        Some(Effect {
            key: "downsampling",
            is_denied: freq == 0.0,
            text: match freq == 0.0 {
                true => format!("no message on {of} passes, by {name}"),
                false => format!("at most {freq} a second{each} on {of} pass, by {name}"),
            },
            hints: Vec::new(),
        })
    }

    fn reason(&self) -> Option<Reason> {
        Some(Reason::Rate)
    }

    fn needs_interfaces(&self) -> bool {
        let mut items = self.items.iter();
        items.any(|item| item.given.scope.interfaces.is_some())
    }
}

/// The rates for one neighbour, direction and key.
struct Rates<T> {
    rates: Box<[Rate]>,
    time: Arc<T>,
    /// Keeps the clocks known.
    _of: Arc<OfNeighbour>,
}

/// A rate of some kinds of messages.
struct Rate {
    kinds: Kinds,
    interval: Interval,
    clock: Arc<Clock>,
}

impl<T: Time> BoundFilter for Rates<T> {
    #[inline]
    fn decide(&self, message: &MessageView) -> Decision {
        let mut now = None;
        for rate in &self.rates {
            if !rate.kinds.contains(message.kind) {
                continue;
            }
            let now = *now.get_or_insert_with(|| self.time.nanos());
            if !rate.clock.passes(now, rate.interval) {
                return Decision::Drop(Reason::Rate);
            }
        }
        Decision::Pass
    }

    fn lets_all_pass(&self, kind: MessageKind) -> bool {
        !self.rates.iter().any(|rate| rate.kinds.contains(kind))
    }
}
