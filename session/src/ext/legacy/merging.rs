// SPDX-License-Identifier: MIT OR Apache-2.0

//! Merge of fetched samples and of samples published during the fetch into one stream.

use std::collections::VecDeque;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use zonda_runtime::serial::{SerialQueue, Waiting};

use super::ExtractSample;
use crate::callback_group::{CallbackGroup, InsideCallback};
use crate::ext::intake::{Called, take_turn};
use crate::ext::sources::held::{Budget, Held};
use crate::sample::Sample;
use crate::time::Timestamp;

/// Order of samples while a fetch is under way: fetched samples without a timestamp first, then all
/// with one in its order, each timestamp once, then published samples without one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Fetched(u64),
    At(Timestamp),
    Published(u64),
}

/// Samples that wait for the callback.
pub(super) struct Merged {
    /// Fetches under way.
    fetches: usize,
    /// Counter of samples without timestamps.
    count: u64,
    held: Held<Place>,
    ready: VecDeque<Sample>,
}

impl Merged {
    fn new() -> Merged {
        Merged {
            fetches: 0,
            count: 0,
            held: Held::new(&Budget::default()),
            ready: VecDeque::new(),
        }
    }

    fn take_published(&mut self, sample: Sample) {
        match self.fetches {
            0 => self.ready.push_back(sample),
            _ => self.hold(Place::Published, sample),
        }
    }

    fn take_fetched(&mut self, sample: Sample) {
        self.hold(Place::Fetched, sample);
    }

    /// Holds a sample until no fetch is under way, or there is no room for more.
    fn hold(&mut self, unstamped: fn(u64) -> Place, sample: Sample) {
        self.count += 1;
        let place = sample.timestamp().copied();
        let place = place.map_or_else(|| unstamped(self.count), Place::At);
        self.held.insert(place, sample);
        if self.held.is_full(usize::MAX) {
            self.release();
        }
    }

    fn end_fetch(&mut self) {
        self.fetches -= 1;
        if self.fetches == 0 {
            self.release();
        }
    }

    fn release(&mut self) {
        while let Some((_, sample)) = self.held.pop() {
            self.ready.push_back(sample);
        }
    }
}

impl Waiting for Merged {
    type Item = Sample;

    fn pop(&mut self) -> Option<Sample> {
        self.ready.pop()
    }
}

/// The path of all samples of a subscriber to its callback.
pub(super) struct Merging {
    merged: SerialQueue<Merged>,
    /// The callback; empty once the subscriber has ended.
    callback: ArcSwapOption<Called>,
    /// Completes when the callback is dropped.
    pub gone: CallbackGroup,
}

impl Merging {
    pub fn new(called: Called, gone: CallbackGroup) -> Arc<Merging> {
        Arc::new(Merging {
            merged: SerialQueue::new(Merged::new(), ()),
            callback: ArcSwapOption::from_pointee(called),
            gone,
        })
    }

    /// Handles a published sample.
    pub fn take(&self, sample: Sample) {
        self.change(|merged| merged.take_published(sample));
    }

    /// Begins a fetch, which ends when the returned value is dropped.
    pub fn begin(self: &Arc<Self>) -> Fetch {
        self.change(|merged| merged.fetches += 1);
        Fetch(Arc::clone(self))
    }

    /// Ends the subscriber: nothing is delivered any more, and the callback is dropped.
    pub fn end(&self) {
        drop(self.callback.swap(None));
    }

    fn change(&self, change: impl FnOnce(&mut Merged)) {
        let mut merged = self.merged.lock();
        change(&mut merged);
        let backlog = merged.ready.len();
        let Some(turn) = take_turn(merged, backlog) else {
            return;
        };
        self.merged.drain(
            turn,
            |(), sample| {
                if let Some(called) = self.callback.load_full() {
                    let _inside = InsideCallback::enter();
                    called.callback.call(sample);
                }
            },
            |(), _| tracing::error!("a callback panicked; this sample is lost to it"),
        );
    }
}

/// A fetch under way.
pub(super) struct Fetch(Arc<Merging>);

impl Fetch {
    /// Calls `fetch` with the function that takes the fetched samples.
    pub fn run<T: ExtractSample + 'static>(
        self,
        fetch: impl FnOnce(Box<dyn Fn(T) + Send + Sync>) -> crate::Result<()>,
    ) -> crate::Result<()> {
        fetch(Box::new(move |fetched: T| {
            // Named so that the closure owns the whole of it, and ends the fetch when it is dropped.
            let Fetch(merging) = &self;
            match fetched.extract() {
                Ok(sample) => merging.change(|merged| merged.take_fetched(sample)),
                Err(error) => tracing::debug!("a fetch brought no sample: {error}"),
            }
        }))
    }
}

impl Drop for Fetch {
    fn drop(&mut self) {
        self.0.change(Merged::end_fetch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::SampleBuilder;
    use crate::time::Ntp64;

    fn sample(payload: &'static str, time: u64) -> Sample {
        let key = zonda_codec::KeyExpr::new("a").unwrap();
        let id = "1".parse().unwrap();
        let stamp = (time > 0).then(|| Timestamp::new(Ntp64(time), id));
        SampleBuilder::put(key, payload).timestamp(stamp).into()
    }

    fn ready(merged: &mut Merged) -> String {
        let all = std::iter::from_fn(|| merged.pop());
        all.map(|s| s.payload().try_to_string().unwrap().into_owned())
            .collect()
    }

    #[test]
    fn what_is_fetched_and_published_meanwhile_comes_in_order_and_once() {
        let mut merged = Merged::new();
        merged.take_published(sample("a", 0));
        assert_eq!(ready(&mut merged), "a");
        merged.fetches = 2;
        merged.take_published(sample("z", 0));
        merged.take_published(sample("d", 7));
        merged.take_fetched(sample("d", 7));
        merged.take_fetched(sample("c", 6));
        merged.take_fetched(sample("b", 0));
        merged.end_fetch();
        assert_eq!(ready(&mut merged), "");
        merged.end_fetch();
        merged.take_published(sample("!", 0));
        assert_eq!(ready(&mut merged), "bcdz!");
    }

    #[test]
    fn not_more_is_held_than_there_is_room_for() {
        let mut merged = Merged::new();
        merged.fetches = 1;
        let many = 3 * crate::ext::sources::held::HELD_MAX;
        for _ in 0..many {
            merged.take_published(sample("x", 0));
        }
        assert_eq!(ready(&mut merged).len(), many);
    }
}
