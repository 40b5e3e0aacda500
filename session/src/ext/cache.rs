// SPDX-License-Identifier: MIT OR Apache-2.0

//! The newest samples of a publisher, and their selection for a query.

use std::mem;
use std::time::{SystemTime, UNIX_EPOCH};

use zonda_codec::Payload;

use super::cache_config::CacheConfig;
use crate::bytes::{Encoding, ZBytes};
use crate::publication::Message;
use crate::query::{Parameters, TimeRange, ZenohParameters};
use crate::sample::SampleKind;
use crate::time::Timestamp;

/// A cached sample, without the data that are common to the publisher's samples, and without its
/// number, which follows from its slot.
#[derive(Debug, Default)]
struct Cached {
    payload: ZBytes,
    beside: SampleExtras,
    /// Memory that it takes, in bytes.
    bytes: usize,
}

/// The parts of a sample other than its payload: none usually.
#[derive(Debug, Default)]
pub(super) struct SampleExtras {
    timestamp: Option<Timestamp>,
    rest: Option<Box<Rest>>,
}

/// Parts of a sample that differ from its publisher's puts.
#[derive(Debug, Clone)]
struct Rest {
    kind: SampleKind,
    encoding: Encoding,
    attachment: Option<ZBytes>,
}

impl SampleExtras {
    /// Returns no parts. A constant would be copied as a whole.
    #[inline(always)]
    pub fn nothing() -> SampleExtras {
        SampleExtras {
            timestamp: None,
            rest: None,
        }
    }

    /// Returns the parts of a message of a publisher whose puts have this encoding. The payload is
    /// shared.
    pub fn of(message: &Message, encoding: &Encoding) -> SampleExtras {
        let is_usual = message.kind == SampleKind::Put
            && message.attachment.is_none()
            && message.encoding == *encoding;
        let rest = || Rest {
            kind: message.kind,
            encoding: message.encoding.clone(),
            attachment: message.attachment.clone(),
        };
        SampleExtras {
            timestamp: message.timestamp,
            rest: (!is_usual).then(|| Box::new(rest())),
        }
    }

    #[inline(always)]
    fn bytes(&self) -> usize {
        self.rest.as_deref().map_or(0, Rest::bytes)
    }
}

impl Rest {
    fn bytes(&self) -> usize {
        let schema = self.encoding.schema().map_or(0, <[u8]>::len);
        let attached = self.attachment.as_ref().map_or(0, ZBytes::len);
        size_of::<Rest>() + attached + schema
    }
}

/// A sample that a query gets.
#[derive(Debug)]
pub(super) struct Chosen {
    pub kind: SampleKind,
    pub payload: ZBytes,
    pub encoding: Encoding,
    pub attachment: Option<ZBytes>,
    pub timestamp: Option<Timestamp>,
    pub number: Option<u32>,
}

impl Chosen {
    /// Approximate bytes that sending it takes.
    pub fn bytes(&self) -> usize {
        let attached = self.attachment.as_ref().map_or(0, ZBytes::len);
        size_of::<Cached>() + self.payload.len() + attached
    }
}

/// Samples evicted for a new one. Their payloads may run users' code when they are dropped, so no lock is held then.
#[derive(Debug, Default)]
pub(super) struct EvictedSamples {
    /// The payload of the oldest sample, which the new one has replaced, if it may be shared.
    payload: Option<Payload>,
    /// Samples that had more than a payload, or were evicted for want of bytes.
    others: Option<Box<Others>>,
}

#[derive(Debug, Default)]
struct Others(Vec<Cached>);

impl EvictedSamples {
    #[cold]
    fn take(&mut self, rest: Box<Rest>) {
        let beside = SampleExtras {
            timestamp: None,
            rest: Some(rest),
        };
        self.add(Cached {
            beside,
            ..Cached::default()
        });
    }

    fn add(&mut self, sample: Cached) {
        self.others.get_or_insert_default().0.push(sample);
    }

    /// Drops the samples: usually there are none, so it is inline.
    #[inline(always)]
    pub fn let_go(self) {
        if let Some(payload) = self.payload {
            drop(payload);
        }
        if let Some(others) = self.others {
            drop(others);
        }
    }
}

/// The samples, in a ring that grows up to its limit and then reuses its slots.
#[derive(Debug)]
pub(super) struct Cache {
    encoding: Encoding,
    slots: Vec<Cached>,
    /// The slot of the oldest sample.
    oldest: usize,
    /// The number of samples.
    count: usize,
    bytes: usize,
    max_samples: usize,
    max_bytes: usize,
}

impl Cache {
    /// Creates the cache of a publisher whose puts have this encoding. One for no samples keeps
    /// none.
    pub fn new(config: &CacheConfig, encoding: &Encoding) -> Cache {
        Cache {
            encoding: encoding.clone(),
            slots: Vec::new(),
            oldest: 0,
            count: 0,
            bytes: 0,
            max_samples: config.max_samples,
            max_bytes: config.max_bytes,
        }
    }

    /// Inserts a sample, and evicts the oldest ones. Its payload is shared.
    #[inline(always)]
    pub fn keep(&mut self, payload: &ZBytes, beside: SampleExtras, spilled: &mut EvictedSamples) {
        let place = match self.count == self.max_samples {
            true => self.oldest(),
            false => self.free(),
        };
        let Some(slot) = self.slots.get_mut(place) else {
            return;
        };
        let len = (slot.payload).become_clone(payload, &mut spilled.payload);
        let bytes = size_of::<Cached>() + len + beside.bytes();
        let all = self.bytes + bytes - mem::replace(&mut slot.bytes, bytes);
        self.bytes = all;
        let before = mem::replace(&mut slot.beside, beside);
        if let Some(rest) = before.rest {
            spilled.take(rest);
        }
        if all > self.max_bytes {
            self.spill(spilled);
        }
    }

    /// Returns the slot of the oldest sample, which becomes that of the newest one.
    #[inline(always)]
    fn oldest(&mut self) -> usize {
        let oldest = self.oldest;
        self.oldest = match oldest + 1 {
            end if end == self.slots.len() => 0,
            next => next,
        };
        oldest
    }

    /// Returns a free slot, which becomes that of the newest sample.
    #[cold]
    fn free(&mut self) -> usize {
        if self.count == self.slots.len() {
            self.slots.rotate_left(self.oldest);
            self.oldest = 0;
            let twice = (2 * self.count).max(4).min(self.max_samples);
            self.slots.resize_with(twice, Cached::default);
        }
        let place = self.place(self.count);
        self.count += 1;
        place
    }

    /// Returns the slot of the sample that is `distance` after the oldest one.
    #[inline(always)]
    fn place(&self, distance: usize) -> usize {
        let place = self.oldest + distance;
        match place.checked_sub(self.slots.len()) {
            Some(wrapped) => wrapped,
            None => place,
        }
    }

    /// Evicts the oldest samples until the rest has few enough bytes.
    #[cold]
    fn spill(&mut self, spilled: &mut EvictedSamples) {
        while self.bytes > self.max_bytes && self.count > 0 {
            let place = self.oldest();
            let Some(slot) = self.slots.get_mut(place) else {
                break;
            };
            let oldest = mem::take(slot);
            self.bytes -= oldest.bytes;
            self.count -= 1;
            spilled.add(oldest);
        }
    }

    /// Returns the samples for a query with these parameters, the oldest first; `next` is the
    /// number of the sample to come if there are numbers.
    pub fn chosen(
        &self,
        parameters: &Parameters<'_>,
        now: SystemTime,
        next: Option<u32>,
    ) -> Vec<Chosen> {
        let filter = Filter::of(parameters, now);
        let picked = self.picked(&filter, next);
        let mut chosen: Vec<Chosen> = picked
            .map(|(one, number)| self.whole(one, number))
            .collect();
        chosen.reverse();
        chosen
    }

    /// Returns the bytes that sending the [chosen](Self::chosen) samples takes.
    pub fn weigh(&self, parameters: &Parameters<'_>, now: SystemTime, next: Option<u32>) -> usize {
        let filter = Filter::of(parameters, now);
        self.picked(&filter, next).map(|(one, _)| one.bytes).sum()
    }

    /// Returns the limit of bytes.
    pub fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Returns the samples that a filter accepts, the newest first.
    fn picked(
        &self,
        filter: &Filter,
        next: Option<u32>,
    ) -> impl Iterator<Item = (&Cached, Option<u32>)> {
        let back = 1..=self.count;
        let newest = back.filter_map(move |back| {
            let sample = self.slots.get(self.place(self.count - back))?;
            let number = next.map(|next| next.wrapping_sub(back as u32));
            let is_chosen = filter.takes(number, sample.beside.timestamp);
            is_chosen.then_some((sample, number))
        });
        newest.take(filter.max)
    }

    fn whole(&self, sample: &Cached, number: Option<u32>) -> Chosen {
        let rest = sample.beside.rest.as_deref();
        Chosen {
            kind: rest.map_or(SampleKind::Put, |rest| rest.kind),
            payload: sample.payload.clone(),
            encoding: rest.map_or(&self.encoding, |rest| &rest.encoding).clone(),
            attachment: rest.and_then(|rest| rest.attachment.clone()),
            timestamp: sample.beside.timestamp,
            number,
        }
    }
}

/// The choice that the parameters of a query make. Parameters that cannot be read make none.
struct Filter {
    numbers: Option<(Option<u32>, Option<u32>)>,
    times: Option<TimeRange<SystemTime>>,
    max: usize,
}

impl Filter {
    fn of(parameters: &Parameters<'_>, now: SystemTime) -> Filter {
        let max = parameters.get("_max").and_then(|max| max.parse().ok());
        let times = parameters.time_range().and_then(Result::ok);
        Filter {
            numbers: parameters.get("_sn").and_then(numbers),
            times: times.map(|times| times.resolve_at(now)),
            max: max.unwrap_or(usize::MAX),
        }
    }

    fn takes(&self, number: Option<u32>, timestamp: Option<Timestamp>) -> bool {
        let in_numbers = match (self.numbers, number) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some((from, to)), Some(number)) => {
                from.is_none_or(|from| reaches(number, from))
                    && to.is_none_or(|to| reaches(to, number))
            }
        };
        in_numbers
            && match (&self.times, timestamp) {
                (Some(times), Some(timestamp)) => {
                    times.contains(UNIX_EPOCH + timestamp.time().to_unix())
                }
                _ => true,
            }
    }
}

/// Compares numbers that wrap around: returns true if `number` is `mark` or behind it.
fn reaches(number: u32, mark: u32) -> bool {
    number.wrapping_sub(mark) as i32 >= 0
}

/// Parses `5`, `4..5`, `4..` or `..5`; both ends are included. `None` if no end can be read.
fn numbers(text: &str) -> Option<(Option<u32>, Option<u32>)> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let ends = (from.parse().ok(), to.parse().ok());
    (ends != (None, None)).then_some(ends)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::time::Duration;

    use super::*;
    use crate::publication::MessageQos;
    use crate::time::Ntp64;

    fn message(payload: impl Into<ZBytes>) -> Message {
        Message::put(payload.into(), MessageQos::default(), Duration::ZERO)
    }

    fn empty(config: &CacheConfig) -> Cache {
        Cache::new(config, &Encoding::default())
    }

    /// Caches a put that has a payload only; returns the payloads of the evicted samples.
    fn put(cache: &mut Cache, payload: impl Into<ZBytes>) -> Vec<ZBytes> {
        let mut spilled = EvictedSamples::default();
        cache.keep(&payload.into(), SampleExtras::nothing(), &mut spilled);
        let one = spilled.payload.map(ZBytes::from);
        let others = spilled.others.map_or_else(Vec::new, |others| others.0);
        let others = others.into_iter().map(|sample| sample.payload);
        one.into_iter().chain(others).collect()
    }

    fn keep(cache: &mut Cache, message: &Message, usual: &Encoding) {
        let beside = SampleExtras::of(message, usual);
        cache.keep(&message.payload, beside, &mut EvictedSamples::default());
    }

    /// Returns a cache with the samples of the numbers from 0 on.
    fn cache(config: &CacheConfig, count: u32) -> Cache {
        let mut cache = empty(config);
        (0..count).for_each(|n| drop(put(&mut cache, n.to_le_bytes())));
        cache
    }

    /// Returns the numbers of the samples that a query gets; the next sample has the number `next`.
    fn chosen(cache: &Cache, next: u32, parameters: &str) -> Vec<u32> {
        let parameters = Parameters::from(parameters);
        let chosen = cache.chosen(&parameters, SystemTime::now(), Some(next));
        chosen.iter().filter_map(|s| s.number).collect()
    }

    #[test]
    fn the_newest_are_kept() {
        let config = CacheConfig::default();
        assert_eq!(chosen(&cache(&config, 5), 5, ""), [4]);
        let one = cache(&config, 1).bytes;
        let three = config.max_samples(3);
        assert_eq!(chosen(&cache(&three, 5), 5, ""), [2, 3, 4]);
        let two = three.max_bytes(2 * one);
        let mut cache = cache(&two, 5);
        assert_eq!(
            (chosen(&cache, 5, ""), cache.bytes),
            (vec![3, 4], two.max_bytes)
        );
        let large = ZBytes::from(vec![0; two.max_bytes]);
        assert!(put(&mut cache, large.clone()).contains(&large));
        assert_eq!((cache.count, cache.bytes), (0, 0));
        put(&mut cache, 6_u32.to_le_bytes());
        assert_eq!((chosen(&cache, 7, ""), cache.bytes), (vec![6], one));
    }

    #[test]
    fn queries_choose_by_number() {
        let cache = cache(&CacheConfig::default().max_samples(9), 9);
        for (parameters, expected) in [
            ("_sn=4..5;_anyke", vec![4, 5]),
            ("_sn=7..", vec![7, 8]),
            ("_sn=..1", vec![0, 1]),
            ("_sn=3", vec![3]),
            ("_sn=9..", vec![]),
            ("_sn=2..6;_max=2", vec![5, 6]),
            ("_max=1", vec![8]),
            ("_max=0", vec![]),
            ("_max=x;_sn=y;_time=z", (0..9).collect()),
            ("_sn=..", (0..9).collect()),
        ] {
            assert_eq!(chosen(&cache, 9, parameters), expected, "{parameters}");
        }
    }

    #[test]
    fn numbers_begin_anew_behind_the_last() {
        let config = CacheConfig::default().max_samples(4);
        let cache = cache(&config, 4);
        assert_eq!(
            chosen(&cache, 2, &format!("_sn={}..0", u32::MAX)),
            [u32::MAX, 0]
        );
    }

    #[test]
    fn queries_choose_by_time() {
        let now = SystemTime::now();
        let mut cache = empty(&CacheConfig::default().max_samples(9));
        for age in [60, 10, 1] {
            let time = now.duration_since(UNIX_EPOCH).unwrap() - Duration::from_secs(age);
            let id = "1".parse().unwrap();
            let mut stamped = message("stamped");
            stamped.timestamp = Some(Timestamp::new(Ntp64::from_unix(time), id));
            keep(&mut cache, &stamped, &Encoding::default());
        }
        put(&mut cache, "no time");
        let count = |text: &str, next| cache.chosen(&Parameters::from(text), now, next).len();
        // A sample without a time passes, one without a number does not.
        assert_eq!(count("_time=[now(-20s)..]", Some(4)), 3);
        assert_eq!(count("_time=[now(-20s)..];_sn=2..", Some(4)), 2);
        assert_eq!(count("_time=[now(-20s)..];_max=1", Some(4)), 1);
        assert_eq!(count("_sn=0..", Some(4)), 4);
        assert_eq!(count("_sn=0..", None), 0);
    }

    #[test]
    fn what_a_sample_has_of_its_own_comes_back() {
        let usual = Encoding::TEXT_PLAIN.with_schema("utf-8");
        let mut cache = Cache::new(&CacheConfig::default().max_samples(9), &usual);
        let mut put = message("usual");
        put.encoding = usual.clone();
        let mut all = vec![put.clone()];
        put.attachment = Some("beside".into());
        all.push(put.clone());
        put.encoding = Encoding::APPLICATION_JSON;
        put.attachment = None;
        all.push(put);
        all.push(Message::delete(MessageQos::default(), Duration::ZERO));
        let mut bytes = Vec::new();
        for message in &all {
            let before = cache.bytes;
            keep(&mut cache, message, &usual);
            bytes.push(cache.bytes - before - message.payload.len());
        }
        let (slot, rest) = (size_of::<Cached>(), size_of::<Rest>());
        let beside = "beside".len() + "utf-8".len();
        assert_eq!(
            bytes,
            [slot, slot + rest + beside, slot + rest, slot + rest]
        );
        let chosen = cache.chosen(&Parameters::from(""), SystemTime::now(), None);
        assert_eq!(chosen.len(), all.len());
        for (chosen, message) in chosen.iter().zip(&all) {
            assert_eq!((chosen.kind, chosen.number), (message.kind, None));
            assert_eq!(chosen.payload, message.payload);
            assert_eq!(chosen.encoding, message.encoding);
            assert_eq!(chosen.attachment, message.attachment);
        }
    }

    /// The ring is compared with a list from which the oldest are removed, for many sizes in a
    /// random order.
    #[test]
    fn the_ring_keeps_what_a_list_would() {
        let limits = (1..12).flat_map(|samples| [0, 90, 700, 3000].map(|bytes| (samples, bytes)));
        for (max_samples, max_bytes) in limits {
            let config = CacheConfig::default()
                .max_samples(max_samples)
                .max_bytes(max_bytes);
            let mut cache = empty(&config);
            let mut list = VecDeque::new();
            for number in 1..200_usize {
                let size = 1 + number * number * 7 % [40, 1000][number / 16 % 2];
                let payload = ZBytes::from(vec![number as u8; size]);
                list.push_back(payload.clone());
                let mut gone = put(&mut cache, payload);
                let mut expected = Vec::new();
                while list.len() > max_samples || bytes(&list) > max_bytes {
                    expected.extend(list.pop_front());
                }
                // Short ones in place are overwritten.
                let is_shared = |payload: &ZBytes| payload.len() > 32;
                gone.retain(is_shared);
                expected.retain(is_shared);
                assert_eq!((gone, cache.bytes), (expected, bytes(&list)));
                assert!(cache.slots.len() <= max_samples);
                let chosen = cache.chosen(&Parameters::from(""), SystemTime::now(), None);
                let chosen = chosen.into_iter().map(|sample| sample.payload);
                assert!(chosen.eq(list.iter().cloned()));
            }
        }
    }

    fn bytes(list: &VecDeque<ZBytes>) -> usize {
        let each = list
            .iter()
            .map(|payload| size_of::<Cached>() + payload.len());
        each.sum()
    }
}
