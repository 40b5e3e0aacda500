// SPDX-License-Identifier: MIT OR Apache-2.0

//! Consolidation: the merge of the replies of several queryables before the asker gets them.

use std::collections::HashMap;

use zonda_codec::KeyExpr;

use super::reply::Reply;
use crate::time::Timestamp;

pub use zonda_codec::Consolidation as ConsolidationMode;

/// Mode in which the replies of several queryables are merged. Default:
/// [`AUTO`](QueryConsolidation::AUTO).
///
/// | mode | what the asker gets | when |
/// |---|---|---|
/// | `None` | every reply | at once |
/// | `Monotonic` | every reply but those that are older than one he has got for the same key | at once |
/// | `Latest` | the newest reply of each key | when all have answered |
/// | `Auto` | as `Latest`; as `None` if the parameters hold `_time` | |
///
/// Timestamps decide which reply is newer; a reply without one is older than any other, and of two
/// that are equally old the one that comes later wins. Errors are never merged.
///
/// Merging needs memory, and queryables decide how much. A get merges at most
/// [`KEYS_MAX`](QueryConsolidation::KEYS_MAX) keys and holds at most
/// [`BYTES_MAX`](QueryConsolidation::BYTES_MAX) bytes: a reply with one more key is delivered as
/// under `None`, one with too many bytes as under `Monotonic`. Nothing is lost.
/// [`GetEnd::unmerged`](super::GetEnd::unmerged) counts them.
///
/// ```
/// use zonda::query::{ConsolidationMode, QueryConsolidation};
///
/// assert_eq!(QueryConsolidation::from(ConsolidationMode::Latest).mode(), ConsolidationMode::Latest);
/// assert_eq!(QueryConsolidation::default(), QueryConsolidation::AUTO);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct QueryConsolidation {
    mode: ConsolidationMode,
}

impl QueryConsolidation {
    /// Mode that suits the query.
    pub const AUTO: QueryConsolidation = QueryConsolidation {
        mode: ConsolidationMode::Auto,
    };
    /// Equal to [`AUTO`](Self::AUTO).
    pub const DEFAULT: QueryConsolidation = QueryConsolidation::AUTO;
    /// Limit of the keys that one get merges.
    pub const KEYS_MAX: usize = 65_536;
    /// Limit of the bytes of replies that one get holds back.
    pub const BYTES_MAX: usize = 256 << 20;

    /// Returns the mode.
    pub fn mode(&self) -> ConsolidationMode {
        self.mode
    }

    /// Resolves the mode for these parameters; never `Auto`.
    pub(crate) fn resolved(self, asks_for_time: bool) -> ConsolidationMode {
        match self.mode {
            ConsolidationMode::Auto if asks_for_time => ConsolidationMode::None,
            ConsolidationMode::Auto => ConsolidationMode::Latest,
            other => other,
        }
    }
}

impl From<ConsolidationMode> for QueryConsolidation {
    fn from(mode: ConsolidationMode) -> Self {
        QueryConsolidation { mode }
    }
}

/// The replies of one get that are held back, and the timestamps of the delivered ones.
#[derive(Debug)]
pub(super) struct Merging {
    mode: ConsolidationMode,
    places: HashMap<KeyExpr<'static>, usize>,
    /// Keys in the order in which they came first.
    keys: Vec<Known>,
    /// Bytes of the held replies.
    bytes: usize,
    unmerged: u64,
    limits: ConsolidationLimits,
}

#[derive(Debug, Clone, Copy)]
struct ConsolidationLimits {
    keys: usize,
    bytes: usize,
}

/// State of a key.
#[derive(Debug)]
struct Known {
    /// Timestamp of the newest reply.
    timestamp: Option<Timestamp>,
    /// The newest reply, unless it was delivered.
    held: Option<Reply>,
}

impl Merging {
    pub fn new(mode: ConsolidationMode) -> Merging {
        Merging {
            mode,
            places: HashMap::new(),
            keys: Vec::new(),
            bytes: 0,
            unmerged: 0,
            limits: ConsolidationLimits {
                keys: QueryConsolidation::KEYS_MAX,
                bytes: QueryConsolidation::BYTES_MAX,
            },
        }
    }

    /// Takes a reply and returns the one that is to be delivered now.
    pub fn take(&mut self, reply: Reply) -> Option<Reply> {
        if matches!(self.mode, ConsolidationMode::None | ConsolidationMode::Auto) {
            return Some(reply);
        }
        let Ok(sample) = reply.result() else {
            return Some(reply);
        };
        let timestamp = sample.timestamp().copied();
        let Some(place) = self.place(sample.key_expr()) else {
            self.unmerged += 1;
            return Some(reply);
        };
        let known = self.keys.get_mut(place)?;
        // A new key has no timestamp, which is older than any.
        if timestamp < known.timestamp {
            return None;
        }
        known.timestamp = timestamp;
        self.bytes -= known.held.take().map_or(0, |older| older.held_bytes());
        if self.mode == ConsolidationMode::Monotonic {
            return Some(reply);
        }
        let bytes = self.bytes + reply.held_bytes();
        if bytes > self.limits.bytes {
            self.unmerged += 1;
            return Some(reply);
        }
        self.bytes = bytes;
        known.held = Some(reply);
        None
    }

    /// Returns the index of the key; `None` if there is no room for another key.
    fn place(&mut self, key: &KeyExpr<'static>) -> Option<usize> {
        if let Some(place) = self.places.get(key) {
            return Some(*place);
        }
        let place = self.keys.len();
        if place >= self.limits.keys {
            return None;
        }
        self.places.insert(key.clone(), place);
        self.keys.push(Known {
            timestamp: None,
            held: None,
        });
        Some(place)
    }

    /// Returns the replies that were held back, and the number of replies that were delivered
    /// unmerged for want of room.
    pub fn finish(self) -> (impl Iterator<Item = Reply>, u64) {
        let held = self.keys.into_iter().filter_map(|known| known.held);
        (held, self.unmerged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::ReplyError;
    use crate::time::Ntp64;

    fn reply(key: &'static str, time: u64, payload: &str) -> Reply {
        let id = crate::config::ZenohId::random_from(7);
        let timestamp = (time > 0).then(|| Timestamp::new(Ntp64(time), id));
        Reply::of_test(key, timestamp, payload)
    }

    fn text(reply: &Reply) -> String {
        let sample = reply.result().expect("a sample");
        sample.payload().try_to_string().expect("text").into_owned()
    }

    fn run(mut merging: Merging, replies: &[(&'static str, u64, &str)]) -> (String, String, u64) {
        let mut at_once = String::new();
        for (key, time, payload) in replies {
            let now = merging.take(reply(key, *time, payload));
            at_once.extend(now.iter().map(text));
        }
        let (held, unmerged) = merging.finish();
        (at_once, held.map(|r| text(&r)).collect(), unmerged)
    }

    const SOME: [(&str, u64, &str); 7] = [
        ("k", 5, "a"),
        ("l", 0, "b"),
        ("k", 4, "c"),
        ("k", 5, "d"),
        ("l", 0, "e"),
        ("k", 0, "f"),
        ("l", 1, "g"),
    ];

    #[test]
    fn each_mode_keeps_what_it_says() {
        for (mode, at_once, held) in [
            (ConsolidationMode::None, "abcdefg", ""),
            (ConsolidationMode::Monotonic, "abdeg", ""),
            (ConsolidationMode::Latest, "", "dg"),
        ] {
            let expected = (at_once.to_owned(), held.to_owned(), 0);
            assert_eq!(run(Merging::new(mode), &SOME), expected, "{mode:?}");
        }
    }

    #[test]
    fn auto_depends_on_the_question() {
        let auto = QueryConsolidation::AUTO;
        assert_eq!(auto.resolved(false), ConsolidationMode::Latest);
        assert_eq!(auto.resolved(true), ConsolidationMode::None);
        let monotonic = QueryConsolidation::from(ConsolidationMode::Monotonic);
        assert_eq!(monotonic.resolved(true), ConsolidationMode::Monotonic);
    }

    #[test]
    fn errors_pass() {
        let mut merging = Merging::new(ConsolidationMode::Latest);
        let error = ReplyError::new("no".into(), Default::default());
        let passed = merging.take(Reply::failed(error.clone(), None));
        assert_eq!(passed.map(|r| r.into_result().unwrap_err()), Some(error));
    }

    #[test]
    fn beyond_its_limits_it_passes_replies_on() {
        let limited = |keys, bytes| Merging {
            limits: ConsolidationLimits { keys, bytes },
            ..Merging::new(ConsolidationMode::Latest)
        };
        let replies = [("k", 1, "a"), ("l", 1, "b"), ("l", 0, "c"), ("k", 2, "d")];
        let (at_once, held, unmerged) = run(limited(1, 1000), &replies);
        assert_eq!((at_once.as_str(), held.as_str(), unmerged), ("bc", "d", 2));
        // Two bytes of key and payload are room for one small reply; what is too large supersedes what was held.
        let replies = [
            ("k", 1, "a"),
            ("l", 2, "b"),
            ("l", 1, "c"),
            ("k", 2, "long"),
            ("l", 3, "e"),
        ];
        let room = reply("k", 1, "a").held_bytes();
        let (at_once, held, unmerged) = run(limited(9, room), &replies);
        assert_eq!(
            (at_once.as_str(), held.as_str(), unmerged),
            ("blong", "e", 2)
        );
    }
}
