// SPDX-License-Identifier: MIT OR Apache-2.0

//! Fingerprints of the events of a replica by the time of the events.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use twox_hash::XxHash3_64;
use zonda::time::Timestamp;
use zonda_volume::{Entry, Table};

use super::Eras;
use super::wire::{
    Action, Difference, Digest, Event, Fingerprint, Interval, Part, PartPrints, Parts, id_bytes,
};

/// Limit of the recent events that are kept whole.
const RECENT_MAX: usize = 1 << 16;

/// Fingerprints of the events of a part of an interval.
#[derive(Debug, Default)]
struct Cell {
    /// Fingerprint of the values.
    live: Fingerprint,
    /// Fingerprint of the deletions and of the updates with wildcards, which are forgotten after some time.
    passing: Fingerprint,
    count: usize,
}

/// The events of a replica.
pub struct Index {
    eras: Eras,
    /// Fingerprint of the settings.
    settings: Fingerprint,
    lifespan: Duration,
    cells: BTreeMap<(Interval, Part), Cell>,
    /// Events from `recent_from` on, so that their parts are found without a search of the store.
    recent: BTreeMap<(Interval, Part), BTreeMap<(Table, String), Event>>,
    recent_from: Interval,
    recent_count: usize,
}

/// Returns the event of an entry; `None` for one that replicas do not share.
pub fn event_of(table: Table, name: &str, entry: &Entry) -> Option<Event> {
    let (name, action) = match table {
        Table::Live => (name, Action::Put),
        Table::Deleted => (name, Action::Delete),
        Table::Patterns => match name.split_at_checked(2)? {
            ("P/", key) => (key, Action::WildPut(key.to_owned())),
            ("D/", key) => (key, Action::WildDelete(key.to_owned())),
            _ => return None,
        },
        Table::Past => return None,
    };
    Some(Event {
        name: (!name.is_empty()).then(|| name.to_owned()),
        at: entry.at,
        own: (table != Table::Patterns).then_some(entry.own),
        action,
    })
}

fn fingerprint(event: &Event) -> Fingerprint {
    let mut bytes = event.name.clone().unwrap_or_default().into_bytes();
    bytes.extend(event.at.time().as_u64().to_le_bytes());
    bytes.extend(id_bytes(&event.at));
    XxHash3_64::oneshot(&bytes)
}

/// Returns the milliseconds from 1970 to a time.
fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

impl Index {
    pub fn new(eras: Eras, settings: Fingerprint, lifespan: Duration) -> Index {
        let mut index = Index {
            eras,
            settings,
            lifespan,
            cells: BTreeMap::new(),
            recent: BTreeMap::new(),
            recent_from: 0,
            recent_count: 0,
        };
        index.recent_from = index.hot_from(index.now());
        index
    }

    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    fn interval_ms(&self) -> u64 {
        u64::try_from(self.eras.interval.as_millis()).map_or(u64::MAX, |ms| ms.max(1))
    }

    /// Returns the present interval.
    pub fn now(&self) -> Interval {
        milliseconds(SystemTime::now()) / self.interval_ms()
    }

    /// Returns the time until the next interval begins.
    pub fn until_next(&self) -> Duration {
        let length = self.interval_ms();
        Duration::from_millis(length - milliseconds(SystemTime::now()) % length)
    }

    fn place(&self, at: &Timestamp) -> (Interval, Part) {
        let (time, length) = (milliseconds(at.time().to_system_time()), self.interval_ms());
        let part = (length / self.eras.parts.max(1)).max(1);
        (time / length, time % length / part)
    }

    fn hot_from(&self, now: Interval) -> Interval {
        (now + 1).saturating_sub(self.eras.hot)
    }

    fn warm_from(&self, now: Interval) -> Interval {
        self.hot_from(now).saturating_sub(self.eras.warm)
    }

    /// Returns the interval from which on deletions and updates with wildcards count: all replicas
    /// forget older ones, each at its own time.
    fn passing_from(&self) -> Interval {
        let lifespan = u64::try_from(self.lifespan.as_millis()).unwrap_or(u64::MAX);
        let first = milliseconds(SystemTime::now()).saturating_sub(lifespan);
        (first / self.interval_ms()).saturating_add(1)
    }

    /// Returns true if replicas share an event; false if it is about to be forgotten.
    pub fn counts(&self, event: &Event) -> bool {
        event.action == Action::Put || self.place(&event.at).0 >= self.passing_from()
    }

    pub fn add(&mut self, table: Table, name: &str, entry: &Entry) {
        if let Some(event) = event_of(table, name, entry) {
            self.add_event(table, name, event);
        }
    }

    pub fn add_event(&mut self, table: Table, name: &str, event: Event) {
        let place = self.place(&event.at);
        let cell = self.cells.entry(place).or_default();
        cell.count += 1;
        match event.action {
            Action::Put => cell.live ^= fingerprint(&event),
            _ => cell.passing ^= fingerprint(&event),
        }
        if place.0 >= self.recent_from {
            let events = self.recent.entry(place).or_default();
            let former = events.insert((table, name.to_owned()), event);
            self.recent_count += usize::from(former.is_none());
            self.forget_recent();
        }
    }

    pub fn remove(&mut self, table: Table, name: &str, entry: &Entry) {
        let Some(event) = event_of(table, name, entry) else {
            return;
        };
        let place = self.place(&event.at);
        if let Some(cell) = self.cells.get_mut(&place) {
            cell.count = cell.count.saturating_sub(1);
            match event.action {
                Action::Put => cell.live ^= fingerprint(&event),
                _ => cell.passing ^= fingerprint(&event),
            }
            if cell.count == 0 {
                self.cells.remove(&place);
            }
        }
        if let Some(events) = self.recent.get_mut(&place) {
            let gone = events.remove(&(table, name.to_owned()));
            self.recent_count -= usize::from(gone.is_some());
        }
    }

    /// Drops recent events that are not hot any more, and the oldest ones if there are too many.
    fn forget_recent(&mut self) {
        let hot = self.hot_from(self.now());
        while let Some(first) = self.recent.first_entry() {
            let interval = first.key().0;
            if interval >= hot && self.recent_count <= RECENT_MAX {
                break;
            }
            self.recent_count -= first.get().len();
            first.remove();
            // Parts of one interval are kept or dropped together.
            self.recent_from = self.recent_from.max(interval + 1);
        }
        self.recent_from = self.recent_from.max(hot);
        while let Some(first) = self.recent.first_entry() {
            if first.key().0 >= self.recent_from {
                break;
            }
            self.recent_count -= first.get().len();
            first.remove();
        }
    }

    /// Returns the events of these parts if all of them are recent.
    pub fn recent_events(&self, parts: &Parts) -> Option<Vec<Event>> {
        let is_recent = parts.keys().all(|interval| *interval >= self.recent_from);
        is_recent.then(|| {
            let places = parts
                .iter()
                .flat_map(|(interval, parts)| parts.iter().map(move |part| (*interval, *part)));
            let events = places.filter_map(|place| self.recent.get(&place));
            let events = events.flat_map(BTreeMap::values);
            events.filter(|event| self.counts(event)).cloned().collect()
        })
    }

    /// Returns true if an event lies in one of these parts.
    pub fn is_in(&self, event: &Event, parts: &Parts) -> bool {
        let (interval, part) = self.place(&event.at);
        parts
            .get(&interval)
            .is_some_and(|parts| parts.contains(&part))
    }

    fn print(&self, interval: Interval, cell: &Cell, passing_from: Interval) -> Fingerprint {
        match interval >= passing_from {
            true => cell.live ^ cell.passing,
            false => cell.live,
        }
    }

    /// Returns the fingerprints of the intervals in a range that have events.
    fn prints(&self, range: std::ops::Range<Interval>) -> BTreeMap<Interval, Fingerprint> {
        let passing_from = self.passing_from();
        let mut prints = BTreeMap::new();
        for ((interval, _), cell) in self.cells.range((range.start, 0)..(range.end, 0)) {
            *prints.entry(*interval).or_default() ^= self.print(*interval, cell, passing_from);
        }
        prints.retain(|_, print| *print != 0);
        prints
    }

    /// Returns the fingerprints of the parts of these intervals.
    pub fn part_prints(&self, intervals: impl IntoIterator<Item = Interval>) -> PartPrints {
        let passing_from = self.passing_from();
        let mut all = PartPrints::new();
        for interval in intervals {
            let cells = self.cells.range((interval, 0)..=(interval, Part::MAX));
            let prints = cells.map(|((_, part), cell)| {
                let print = self.print(interval, cell, passing_from);
                (*part, print)
            });
            let prints: BTreeMap<_, _> = prints.filter(|(_, print)| *print != 0).collect();
            if !prints.is_empty() {
                all.insert(interval, prints);
            }
        }
        all
    }

    /// Returns the fingerprints of the cold intervals.
    pub fn cold(&self) -> BTreeMap<Interval, Fingerprint> {
        self.prints(0..self.warm_from(self.now()))
    }

    /// Returns the summary of all events up to the present interval.
    pub fn digest(&self) -> Digest {
        let now = self.now();
        let (warm_from, hot_from) = (self.warm_from(now), self.hot_from(now));
        let hot = self.cells.range((hot_from, 0)..(now + 1, 0));
        let hot: BTreeSet<_> = hot.map(|((interval, _), _)| *interval).collect();
        let cold = self.prints(0..warm_from);
        Digest {
            settings: self.settings,
            cold: cold.values().fold(0, |all, print| all ^ print),
            warm: self.prints(warm_from..hot_from),
            hot: self.part_prints(hot),
        }
    }

    /// Returns the intervals of another replica that have other fingerprints here, or none.
    pub fn other_intervals(&self, theirs: &BTreeMap<Interval, Fingerprint>) -> BTreeSet<Interval> {
        let end = theirs
            .keys()
            .next_back()
            .map_or(0, |last| last.saturating_add(1));
        let ours = self.prints(0..end);
        let other = theirs
            .iter()
            .filter(|(interval, print)| ours.get(interval) != Some(print));
        other.map(|(interval, _)| *interval).collect()
    }

    /// Returns the parts of another replica that have other fingerprints here, or none.
    pub fn other_parts(&self, theirs: &PartPrints) -> Parts {
        other_parts(&self.part_prints(theirs.keys().copied()), theirs)
    }
}

fn other_parts(ours: &PartPrints, theirs: &PartPrints) -> Parts {
    let mut other = Parts::new();
    for (interval, prints) in theirs {
        let known = ours.get(interval);
        let is_other = |part: &Part, print: &Fingerprint| {
            known.and_then(|known| known.get(part)) != Some(print)
        };
        let parts = prints.iter().filter(|(part, print)| is_other(part, print));
        let parts: BTreeSet<_> = parts.map(|(part, _)| *part).collect();
        if !parts.is_empty() {
            other.insert(*interval, parts);
        }
    }
    other
}

impl Digest {
    /// Returns the intervals in which another replica has events that this one may lack.
    pub fn difference(&self, theirs: &Digest) -> Option<Difference> {
        let warm = theirs
            .warm
            .iter()
            .filter(|(interval, print)| self.warm.get(interval) != Some(print));
        let difference = Difference {
            cold: self.cold != theirs.cold,
            warm: warm.map(|(interval, _)| *interval).collect(),
            hot: other_parts(&self.hot, &theirs.hot),
        };
        (difference != Difference::default()).then_some(difference)
    }
}
