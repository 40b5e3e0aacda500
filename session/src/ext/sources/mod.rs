// SPDX-License-Identifier: MIT OR Apache-2.0

//! Sources of an advanced subscriber: the samples that were delivered of each, the ones that are
//! held until a gap is filled, and the ones that are queried. Decides in which order samples are
//! delivered, which ones are missed, and which ones are queried; carries nothing out and reads no
//! clock.

pub(super) mod held;
mod late;
mod lines;
mod numbered;
mod spans;
mod stamped;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use zonda_codec::{EntityGlobalId, KeyExpr, ZenohId};
use zonda_runtime::serial::Waiting;

use self::held::Budget;
use self::numbered::Numbered;
use self::stamped::Stamped;
use super::keys::Source;
use super::miss::Miss;
use crate::sample::{Sample, SourceInfo};

/// A step that the subscriber has to carry out, in this order.
#[derive(Debug)]
pub(super) enum Step {
    Deliver(Sample),
    Missed(Miss),
    Ask(CacheQuery),
}

/// A query to caches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CacheQuery {
    pub about: QueriedSources,
    /// The key of the one cache that gets the query, if it is known.
    pub key: Option<KeyExpr<'static>>,
    pub wanted: RequestedSamples,
}

/// Sources of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueriedSources {
    /// All sources.
    All,
    /// This source.
    One(Source),
}

/// Samples that a query requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestedSamples {
    /// The samples that the subscriber's history configuration names.
    History,
    /// The samples with these numbers, both ends included.
    Numbers { from: Option<u32>, to: Option<u32> },
}

/// Configuration of a subscriber.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// Set if missing samples are queried.
    pub recovery: bool,
    /// Samples of each source that are queried at the beginning.
    pub depth: usize,
    /// Time for which a source is known after its last sample.
    pub retention: Duration,
}

/// Origin of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SampleOrigin {
    /// The publisher sent it now.
    Live,
    /// The answer of a cache.
    Answered,
}

/// Time and circumstances of a sample.
struct SampleMoment<'a> {
    now: Instant,
    heard: SampleOrigin,
    /// Set while a query about all sources is under way.
    is_asked: bool,
    rules: &'a Rules,
}

/// All sources of one subscriber.
pub(super) struct Sources {
    rules: Rules,
    /// Queries about all sources that are under way.
    questions: u32,
    numbered: Known<EntityGlobalId, Numbered>,
    stamped: Known<ZenohId, Stamped>,
    steps: VecDeque<Step>,
    budgets: Budgets,
}

/// Bytes that all sources hold. Overtaken samples have a budget of their own, so that forged ones take no room from recovery.
#[derive(Default)]
struct Budgets {
    held: Budget,
    late: Budget,
}

/// A source that may be forgotten.
trait Forgettable {
    /// Returns the time of the last sample; `None` if the source must not be forgotten now.
    fn idle_since(&self) -> Option<Instant>;
}

/// Sources of one kind.
struct Known<K, S> {
    all: HashMap<K, S>,
    /// Number of sources from which on a new one evicts the old ones.
    look_at: usize,
}

/// Number of sources from which on old ones are evicted first.
const FEW: usize = 64;

/// Number of sources from which on all idle ones are evicted, however new their last sample is.
const MANY: usize = 1 << 16;

impl<K: Eq + std::hash::Hash, S: Forgettable> Known<K, S> {
    fn new() -> Self {
        let (all, look_at) = (HashMap::new(), FEW);
        Known { all, look_at }
    }

    /// Returns the source of this key, `new` if it is not known or has been idle for too long.
    fn get(&mut self, key: K, now: Instant, new: impl FnOnce() -> S, rules: &Rules) -> &mut S {
        let is_old = |source: &S| {
            let idle = source.idle_since();
            idle.is_some_and(|since| now.saturating_duration_since(since) > rules.retention)
        };
        if self.all.len() >= self.look_at {
            self.all.retain(|_, source| !is_old(source));
            if self.all.len() >= MANY {
                self.all.retain(|_, source| source.idle_since().is_none());
                tracing::warn!(
                    "an advanced subscriber receives from {MANY} sources: idle ones are forgotten"
                );
            }
            self.look_at = (2 * self.all.len()).max(FEW);
        }
        if self.all.get(&key).is_some_and(is_old) {
            self.all.remove(&key);
        }
        self.all.entry(key).or_insert_with(new)
    }
}

impl Sources {
    pub fn new(rules: Rules) -> Sources {
        Sources {
            rules,
            questions: 0,
            numbered: Known::new(),
            stamped: Known::new(),
            steps: VecDeque::new(),
            budgets: Budgets::default(),
        }
    }

    /// Returns the number of steps that wait.
    pub fn backlog(&self) -> usize {
        self.steps.len()
    }

    /// Queries the history of all sources.
    pub fn ask_history(&mut self) {
        self.questions += 1;
        self.steps.push_back(Step::Ask(CacheQuery {
            about: QueriedSources::All,
            key: None,
            wanted: RequestedSamples::History,
        }));
    }

    /// Handles a sample.
    pub fn take(&mut self, sample: Sample, heard: SampleOrigin, now: Instant) {
        let (rules, budgets) = (&self.rules, &self.budgets);
        let moment = SampleMoment {
            now,
            heard,
            is_asked: self.questions > 0,
            rules,
        };
        // Numbers distinguish best, timestamps second; a sample without either is delivered at
        // once.
        match (sample.source_info(), sample.timestamp()) {
            (Some(&SourceInfo { id, sn }), _) => {
                let source = self
                    .numbered
                    .get(id, now, || Numbered::new(id, budgets, now), rules);
                source.take(sn, sample, &moment, &mut self.steps);
            }
            (None, Some(&timestamp)) => {
                let zid = timestamp.id();
                let source = self
                    .stamped
                    .get(zid, now, || Stamped::new(&budgets.held, now), rules);
                source.take(timestamp, sample, &moment, &mut self.steps);
            }
            (None, None) => self.steps.push_back(Step::Deliver(sample)),
        }
    }

    /// Handles a heartbeat: the publisher on this key sends that its newest sample has this number.
    pub fn take_heartbeat(&mut self, key: &KeyExpr<'static>, newest: u32, now: Instant) {
        let Some(Source::Numbered(id)) = Source::of_key(key) else {
            return;
        };
        let (rules, budgets) = (&self.rules, &self.budgets);
        let source = self
            .numbered
            .get(id, now, || Numbered::new(id, budgets, now), rules);
        if let Some(wanted) = source.take_heartbeat(newest, self.questions > 0, now) {
            self.steps.push_back(Step::Ask(CacheQuery {
                about: QueriedSources::One(Source::Numbered(id)),
                key: Some(key.clone()),
                wanted,
            }));
        }
    }

    /// Handles the token of a publisher, which came to life or went.
    pub fn take_token(&mut self, key: &KeyExpr<'static>, is_alive: bool, now: Instant) {
        let (rules, budgets) = (&self.rules, &self.budgets);
        let source = Source::of_key(key);
        // A token whose key names no source leads to a query of all sources.
        match source {
            Some(Source::Numbered(id)) => {
                let source = self
                    .numbered
                    .get(id, now, || Numbered::new(id, budgets, now), rules);
                source.set_alive(is_alive, now);
            }
            Some(Source::Stamped(zid)) => {
                let source = self
                    .stamped
                    .get(zid, now, || Stamped::new(&budgets.held, now), rules);
                source.set_alive(is_alive, now);
            }
            None if is_alive => self.questions += 1,
            None => {}
        }
        // A publisher that has come is queried for its history.
        if is_alive {
            self.steps.push_back(Step::Ask(CacheQuery {
                about: source.map_or(QueriedSources::All, QueriedSources::One),
                key: Some(key.clone()),
                wanted: RequestedSamples::History,
            }));
        }
    }

    /// Queries every numbered source for samples that may have been lost.
    pub fn ask_everybody(&mut self) {
        for (id, source) in &mut self.numbered.all {
            if let Some(wanted) = source.ask_rest(self.questions > 0) {
                self.steps.push_back(Step::Ask(CacheQuery {
                    about: QueriedSources::One(Source::Numbered(*id)),
                    key: None,
                    wanted,
                }));
            }
        }
    }

    /// Handles the end of a query, with or without answers.
    pub fn end(&mut self, about: QueriedSources) {
        // Sources deliver what they hold once no query about them is under way.
        let (rules, steps) = (&self.rules, &mut self.steps);
        match about {
            QueriedSources::All => {
                self.questions = self.questions.saturating_sub(1);
                if self.questions > 0 {
                    return;
                }
                for source in self.numbered.all.values_mut() {
                    source.let_go(rules, steps);
                }
                for source in self.stamped.all.values_mut() {
                    source.let_go(steps);
                }
            }
            QueriedSources::One(Source::Numbered(id)) => {
                if let Some(source) = self.numbered.all.get_mut(&id) {
                    source.end_question(self.questions > 0, rules, steps);
                }
            }
            QueriedSources::One(Source::Stamped(zid)) => {
                if let Some(source) = self.stamped.all.get_mut(&zid) {
                    source.end_question(self.questions > 0, steps);
                }
            }
        }
    }
}

impl Waiting for Sources {
    type Item = Step;

    fn pop(&mut self) -> Option<Step> {
        let step = self.steps.pop_front();
        if self.steps.is_empty() && self.steps.capacity() > FEW {
            // A burst that is over keeps no memory.
            self.steps = VecDeque::new();
        }
        step
    }
}
