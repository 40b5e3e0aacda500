// SPDX-License-Identifier: MIT OR Apache-2.0

//! Check of the fuzz target `numbers`: the sources of an advanced subscriber under any order of
//! samples, losses, heartbeats, queries and answers, with a stranger that forges numbers or
//! without one.
//!
//! Without a stranger each number is delivered once, in order, or counted as missed. With one no
//! number is delivered twice, and once the stranger rests the publisher is heard again.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use zonda_codec::{
    EntityGlobalId, KeyExpr, Push, PushBody, Put, Reliability, WireExpr, ZSlice, ZenohId,
};
use zonda_router::node::Delivery;
use zonda_runtime::serial::Waiting;

use super::keys::{self, Source};
use super::sources::{QueriedSources, Rules, SampleOrigin, Sources, Step};
use crate::sample::{Sample, SourceInfo};

/// Samples after which the publisher has to be heard again.
const AGAIN: u32 = 12;

/// Distance of forged numbers, so that two of the publisher's in a row lie between them.
const FORGED_EVERY: u32 = 16;

/// One publisher, its cache, and one subscriber.
struct Scene {
    sources: Sources,
    now: Instant,
    /// Next number of the publisher.
    next: u32,
    /// First and next number that the subscriber has to know about, without a stranger.
    expected: Option<u32>,
    cache: Vec<u32>,
    delivered: BTreeSet<u32>,
    forged: BTreeSet<u32>,
    has_stranger: bool,
    /// Queries under way about all sources, and about the publisher.
    asked: [u32; 2],
}

fn id() -> EntityGlobalId {
    let zid = ZenohId::random_from(0xc1);
    EntityGlobalId { zid, eid: 1 }
}

fn sample(sn: u32) -> Sample {
    let put = Put {
        source_info: Some(SourceInfo { id: id(), sn }),
        ..Put::new(b"x")
    };
    Sample::new(&Delivery {
        key: &KeyExpr::new("adv/x").expect("a key"),
        push: &Push::new(WireExpr::default(), PushBody::Put(put)),
        block: &ZSlice::from(b"x".to_vec()),
        reliability: Reliability::Reliable,
    })
}

impl Scene {
    fn new(rules: Rules, first: u32, has_stranger: bool) -> Scene {
        Scene {
            sources: Sources::new(rules),
            now: Instant::now(),
            next: first,
            expected: None,
            cache: Vec::new(),
            delivered: BTreeSet::new(),
            forged: BTreeSet::new(),
            has_stranger,
            asked: [0; 2],
        }
    }

    /// Carries out the steps that wait.
    fn carry_out(&mut self) {
        while let Some(step) = self.sources.pop() {
            match step {
                Step::Deliver(sample) => {
                    let info = sample.source_info().expect("all are numbered");
                    // A forged number may be the publisher's later.
                    let is_new = self.delivered.insert(info.sn);
                    assert!(
                        is_new || self.forged.contains(&info.sn),
                        "{} comes twice",
                        info.sn
                    );
                    let expected = self.expected.replace(info.sn.wrapping_add(1));
                    assert!(
                        self.has_stranger || expected.is_none_or(|expected| expected == info.sn),
                        "{} comes, but {expected:?} is neither delivered nor missed",
                        info.sn
                    );
                }
                Step::Missed(miss) => {
                    assert!(miss.nb() > 0 && miss.source() == id());
                    self.expected = self.expected.map(|next| next.wrapping_add(miss.nb()));
                }
                Step::Ask(query) => match query.about {
                    QueriedSources::All => self.asked[0] += 1,
                    QueriedSources::One(source) => {
                        assert_eq!(source, Source::Numbered(id()));
                        self.asked[1] += 1;
                    }
                },
            }
        }
    }

    fn take(&mut self, sn: u32, origin: SampleOrigin) {
        self.sources.take(sample(sn), origin, self.now);
        self.carry_out();
    }

    /// Publishes the next sample, which arrives or is lost.
    fn publish(&mut self, arrives: bool) {
        let sn = self.next;
        self.next = sn.wrapping_add(1);
        self.cache.push(sn);
        if arrives {
            self.take(sn, SampleOrigin::Live);
        }
    }

    /// Ends a query about the publisher, or about all sources, if one is under way.
    fn end(&mut self, kind: usize) {
        if self.asked[kind] == 0 {
            return;
        }
        self.asked[kind] -= 1;
        let about = [
            QueriedSources::All,
            QueriedSources::One(Source::Numbered(id())),
        ];
        self.sources.end(about[kind]);
        self.carry_out();
    }

    fn end_all(&mut self) {
        for _ in 0..64 {
            self.end(0);
            self.end(1);
        }
    }

    /// Samples and heartbeats of a stranger, in the publisher's name.
    fn forge(&mut self, kind: u8, far: u8) {
        let step = FORGED_EVERY << (far % 27);
        let sn = self.next.wrapping_add(step) / FORGED_EVERY * FORGED_EVERY;
        if kind.is_multiple_of(2) {
            self.forged.insert(sn);
            // The stranger cannot answer in the name of the cache, and repeats no number.
            if !self.delivered.contains(&sn) {
                self.take(sn, SampleOrigin::Live);
            }
        } else {
            self.beat(sn);
        }
    }

    fn beat(&mut self, newest: u32) {
        let key = KeyExpr::new("adv/x").expect("a key");
        let own = keys::publisher(&key, Source::Numbered(id()), None).expect("a key");
        self.sources.take_heartbeat(&own, newest, self.now);
        self.carry_out();
    }

    /// Handles one step of the input.
    fn step(&mut self, kind: u8, with: u8) {
        match kind % 8 {
            0 | 1 => self.publish(true),
            2 => self.publish(false),
            3 => self.end(usize::from(with % 2)),
            4 if self.has_stranger => self.forge(with, with / 2),
            // The cache answers with one of its samples, while it is asked.
            4 | 5 if self.asked != [0; 2] && !self.has_stranger => {
                let at = usize::from(with) % self.cache.len().max(1);
                if let Some(sn) = self.cache.get(at) {
                    self.take(*sn, SampleOrigin::Answered);
                }
            }
            6 if !self.cache.is_empty() => self.beat(self.next.wrapping_sub(1)),
            7 if with.is_multiple_of(4) => {
                self.sources.ask_everybody();
                self.carry_out();
            }
            _ => {}
        }
    }
}

/// Runs steps of two bytes behind one of rules and one of the first number.
pub fn numbers(data: &[u8]) {
    let Some((&[rules, first], mut steps)) = data.split_first_chunk() else {
        return;
    };
    let has_stranger = rules & 2 != 0;
    let first = match first % 4 {
        0 => 0,
        1 => u32::MAX - u32::from(first),
        2 => 1 << 31,
        _ => u32::from(first),
    };
    let recovery = rules & 1 == 0;
    let rules = Rules {
        recovery,
        depth: usize::MAX,
        retention: Duration::from_secs(60),
    };
    let mut scene = Scene::new(rules, first, has_stranger);
    // A first sample and everything that the input chooses.
    scene.publish(true);
    while let Some((&[kind, with], rest)) = steps.split_first_chunk() {
        steps = rest;
        scene.step(kind, with);
    }
    // The publisher is heard again, whatever has happened.
    for _ in 0..AGAIN {
        scene.publish(true);
        scene.end_all();
    }
    // Behind a forged number that was close ahead, the second sample in a row shows that it goes on.
    let is_heard = |scene: &Scene| scene.delivered.contains(&scene.next.wrapping_sub(1));
    for _ in 0..2 {
        if scene.forged.contains(&scene.next) || !is_heard(&scene) {
            scene.publish(true);
            scene.end_all();
        }
    }
    let last = scene.next.wrapping_sub(1);
    assert!(
        scene.delivered.contains(&last),
        "{last} is not delivered, the source is silenced"
    );
    if !has_stranger {
        assert_eq!(scene.expected, Some(scene.next), "all are known");
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_by_chance() {
        zonda_testkit::by_chance(3000, |random| {
            let length = 2 * random.below(150);
            let data = random.bytes(length, 256);
            println!("{data:?}");
            super::numbers(&data);
        });
    }

    #[test]
    fn the_corpus_of_numbers() {
        assert!(zonda_testkit::replay("numbers", super::numbers) > 3);
    }
}
