// SPDX-License-Identifier: MIT OR Apache-2.0

//! The newest samples of a publisher, and which of them a query gets.

use std::collections::VecDeque;
use std::time::{SystemTime, UNIX_EPOCH};

use super::cache_config::CacheConfig;
use crate::bytes::{Encoding, ZBytes};
use crate::publication::Message;
use crate::query::{Parameters, TimeRange, ZenohParameters};
use crate::sample::SampleKind;
use crate::time::Timestamp;

/// A sample as it is kept: all of it but its key and its source, which are the publisher's.
#[derive(Debug, Clone)]
pub(super) struct Cached {
    pub kind: SampleKind,
    pub payload: ZBytes,
    pub encoding: Encoding,
    pub attachment: Option<ZBytes>,
    pub timestamp: Option<Timestamp>,
    pub number: Option<u32>,
}

impl Cached {
    fn bytes(&self) -> usize {
        let schema = self.encoding.schema().map_or(0, <[u8]>::len);
        let attached = self.attachment.as_ref().map_or(0, ZBytes::len);
        size_of::<Cached>() + self.payload.len() + attached + schema
    }
}

/// The samples, the oldest first.
#[derive(Debug)]
pub(super) struct Cache {
    samples: VecDeque<Cached>,
    bytes: usize,
    max_samples: usize,
    max_bytes: usize,
}

impl Cache {
    pub fn new(config: &CacheConfig) -> Cache {
        Cache {
            samples: VecDeque::new(),
            bytes: 0,
            max_samples: config.max_samples,
            max_bytes: config.max_bytes,
        }
    }

    /// Keeps one more, in the place of the oldest ones. What it keeps of a message it shares.
    pub fn keep(&mut self, message: &Message, number: Option<u32>) {
        let sample = Cached {
            kind: message.kind,
            payload: message.payload.clone(),
            encoding: message.encoding.clone(),
            attachment: message.attachment.clone(),
            timestamp: message.timestamp,
            number,
        };
        self.bytes += sample.bytes();
        self.samples.push_back(sample);
        while self.samples.len() > self.max_samples || self.bytes > self.max_bytes {
            let Some(oldest) = self.samples.pop_front() else {
                return;
            };
            self.bytes -= oldest.bytes();
        }
    }

    /// What a query with these parameters gets, the oldest first.
    pub fn chosen(&self, parameters: &Parameters<'_>, now: SystemTime) -> Vec<Cached> {
        let filter = Filter::of(parameters, now);
        let newest = self.samples.iter().rev().filter(|s| filter.takes(s));
        let mut chosen: Vec<Cached> = newest.take(filter.max).cloned().collect();
        chosen.reverse();
        chosen
    }
}

/// What the parameters of a query ask for. Those that cannot be read ask for nothing special.
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

    fn takes(&self, sample: &Cached) -> bool {
        let in_numbers = match (self.numbers, sample.number) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some((from, to)), Some(number)) => {
                from.is_none_or(|from| reaches(number, from))
                    && to.is_none_or(|to| reaches(to, number))
            }
        };
        in_numbers
            && match (&self.times, sample.timestamp) {
                (Some(times), Some(timestamp)) => {
                    times.contains(UNIX_EPOCH + timestamp.time().to_unix())
                }
                _ => true,
            }
    }
}

/// Whether `number` is `mark` or behind it, where numbers begin anew behind the last one.
fn reaches(number: u32, mark: u32) -> bool {
    number.wrapping_sub(mark) as i32 >= 0
}

/// Reads `5`, `4..5`, `4..` or `..5`; both ends are included. `None` if there is no end.
fn numbers(text: &str) -> Option<(Option<u32>, Option<u32>)> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let ends = (from.parse().ok(), to.parse().ok());
    (ends != (None, None)).then_some(ends)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::publication::Service;
    use crate::time::Ntp64;

    fn message(payload: impl Into<ZBytes>) -> Message {
        Message::put(payload.into(), Service::default(), Duration::ZERO)
    }

    fn keep(cache: &mut Cache, number: u32) {
        cache.keep(&message(number.to_le_bytes()), Some(number));
    }

    fn cache(config: &CacheConfig, numbers: impl IntoIterator<Item = u32>) -> Cache {
        let mut cache = Cache::new(config);
        numbers.into_iter().for_each(|n| keep(&mut cache, n));
        cache
    }

    fn chosen(cache: &Cache, parameters: &str) -> Vec<u32> {
        let chosen = cache.chosen(&Parameters::from(parameters), SystemTime::now());
        chosen.iter().filter_map(|s| s.number).collect()
    }

    #[test]
    fn the_newest_are_kept() {
        let config = CacheConfig::default();
        assert_eq!(chosen(&cache(&config, 0..5), ""), [4]);
        let one = cache(&config, 0..1).bytes;
        let three = config.max_samples(3);
        assert_eq!(chosen(&cache(&three, 0..5), ""), [2, 3, 4]);
        let two = three.max_bytes(2 * one);
        let mut cache = cache(&two, 0..5);
        assert_eq!(
            (chosen(&cache, ""), cache.bytes),
            (vec![3, 4], two.max_bytes)
        );
        cache.keep(&message(vec![0; two.max_bytes]), Some(5));
        assert_eq!((cache.samples.len(), cache.bytes), (0, 0));
    }

    #[test]
    fn queries_choose_by_number() {
        let cache = cache(&CacheConfig::default().max_samples(9), 0..9);
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
            assert_eq!(chosen(&cache, parameters), expected, "{parameters}");
        }
    }

    #[test]
    fn numbers_begin_anew_behind_the_last() {
        let config = CacheConfig::default().max_samples(4);
        let cache = cache(&config, [u32::MAX - 1, u32::MAX, 0, 1]);
        assert_eq!(
            chosen(&cache, &format!("_sn={}..0", u32::MAX)),
            [u32::MAX, 0]
        );
    }

    #[test]
    fn queries_choose_by_time() {
        let now = SystemTime::now();
        let mut cache = Cache::new(&CacheConfig::default().max_samples(9));
        for age in [60, 10, 1] {
            let time = now.duration_since(UNIX_EPOCH).unwrap() - Duration::from_secs(age);
            let id = "1".parse().unwrap();
            let mut stamped = message("stamped");
            stamped.timestamp = Some(Timestamp::new(Ntp64::from_unix(time), id));
            cache.keep(&stamped, Some(age as u32));
        }
        cache.keep(&message("no number"), None);
        let count = |text: &str| cache.chosen(&Parameters::from(text), now).len();
        // A sample without a time passes, one without a number does not.
        assert_eq!(count("_time=[now(-20s)..]"), 3);
        assert_eq!(count("_time=[now(-20s)..];_sn=0.."), 2);
        assert_eq!(count("_time=[now(-20s)..];_max=1"), 1);
        assert_eq!(count("_sn=0.."), 3);
    }
}
