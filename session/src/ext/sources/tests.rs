// SPDX-License-Identifier: MIT OR Apache-2.0

//! Decisions of sources, one event after another, and at random.

use std::collections::BTreeSet;

use zonda_codec::{Push, PushBody, Put, Reliability, WireExpr, ZSlice};
use zonda_router::node::Delivery;

use super::held::HELD_MAX;
use super::*;
use crate::ext::keys;
use crate::time::{Ntp64, Timestamp};

const RULES: Rules = Rules {
    recovery: true,
    depth: usize::MAX,
    retention: Duration::from_secs(60),
};

fn id(eid: u32) -> EntityGlobalId {
    let zid = "c1".parse().unwrap();
    EntityGlobalId { zid, eid }
}

fn sample(source_info: Option<SourceInfo>, timestamp: Option<Timestamp>) -> Sample {
    sample_of(b"x", source_info, timestamp)
}

fn sample_of(
    payload: &[u8],
    source_info: Option<SourceInfo>,
    timestamp: Option<Timestamp>,
) -> Sample {
    let put = Put {
        source_info,
        timestamp,
        ..Put::new(payload)
    };
    Sample::new(&Delivery {
        key: &KeyExpr::new("adv/x").unwrap(),
        push: &Push::new(WireExpr::default(), PushBody::Put(put)),
        block: &ZSlice::from(payload.to_vec()),
        reliability: Reliability::Reliable,
    })
}

/// Steps that an operation makes a subscriber take, as text: `5` for a sample, `-2` for two that
/// are missed, `?3..` for a query.
struct Scene {
    sources: Sources,
    now: Instant,
}

impl Scene {
    fn new(rules: Rules) -> Scene {
        let (sources, now) = (Sources::new(rules), Instant::now());
        Scene { sources, now }
    }

    fn done(&mut self) -> String {
        let steps = std::iter::from_fn(|| self.sources.pop());
        let text = |number: Option<u32>| number.map_or(String::new(), |n| n.to_string());
        let texts: Vec<String> = steps
            .map(|step| match step {
                Step::Deliver(sample) => match (sample.source_info(), sample.timestamp()) {
                    (Some(info), _) => info.sn.to_string(),
                    (None, Some(timestamp)) => format!("t{}", timestamp.time()),
                    (None, None) => "plain".into(),
                },
                Step::Missed(miss) => format!("-{}", miss.nb()),
                Step::Ask(CacheQuery { wanted, .. }) => match wanted {
                    RequestedSamples::History => "?".into(),
                    RequestedSamples::Numbers { from, to } => {
                        format!("?{}..{}", text(from), text(to))
                    }
                },
            })
            .collect();
        texts.join(" ")
    }

    fn take(&mut self, sn: u32) -> String {
        self.take_of(1, sn)
    }

    fn take_of(&mut self, eid: u32, sn: u32) -> String {
        let info = SourceInfo { id: id(eid), sn };
        let sample = sample(Some(info), None);
        self.sources.take(sample, SampleOrigin::Live, self.now);
        self.done()
    }

    /// Handles a sample of this number from a cache.
    fn answer(&mut self, sn: u32) -> String {
        let info = SourceInfo { id: id(1), sn };
        let sample = sample(Some(info), None);
        self.sources.take(sample, SampleOrigin::Answered, self.now);
        self.done()
    }

    fn take_stamped(&mut self, time: u64) -> String {
        let timestamp = Timestamp::new(Ntp64(time), id(1).zid);
        let sample = sample(None, Some(timestamp));
        self.sources.take(sample, SampleOrigin::Live, self.now);
        self.done()
    }

    fn answer_stamped(&mut self, time: u64) -> String {
        let timestamp = Timestamp::new(Ntp64(time), id(1).zid);
        let sample = sample(None, Some(timestamp));
        self.sources.take(sample, SampleOrigin::Answered, self.now);
        self.done()
    }

    fn beat(&mut self, newest: u32) -> String {
        let own = keys::publisher(
            &KeyExpr::new("adv/x").unwrap(),
            Source::Numbered(id(1)),
            None,
        );
        self.sources.take_heartbeat(&own.unwrap(), newest, self.now);
        self.done()
    }

    fn end(&mut self) -> String {
        self.sources
            .end(QueriedSources::One(Source::Numbered(id(1))));
        self.done()
    }

    fn end_all(&mut self) -> String {
        self.sources.end(QueriedSources::All);
        self.done()
    }

    fn ask_history(&mut self) {
        self.sources.ask_history();
        assert_eq!(self.done(), "?");
    }
}

#[test]
fn without_recovery_what_is_missing_is_missed() {
    let mut scene = Scene::new(Rules {
        recovery: false,
        ..RULES
    });
    // The first sample is the first, whatever its number.
    assert_eq!(scene.take(5), "5");
    assert_eq!(scene.take(6), "6");
    assert_eq!(scene.take(9), "-2 9");
    assert_eq!(scene.take(7), "");
    assert_eq!(scene.take(9), "");
    assert_eq!(scene.take_of(2, 0), "0");
    assert_eq!(scene.beat(9), "");
    let plain = sample(None, None);
    scene.sources.take(plain, SampleOrigin::Live, scene.now);
    assert_eq!(scene.done(), "plain");
}

#[test]
fn a_gap_is_asked_for_and_filled() {
    let mut scene = Scene::new(RULES);
    assert_eq!(scene.take(0), "0");
    assert_eq!(scene.take(1), "1");
    assert_eq!(scene.take(3), "?2..");
    assert_eq!(scene.take(4), "");
    assert_eq!(scene.take(2), "2 3 4");
    assert_eq!(scene.take(3), "");
    assert_eq!(scene.end(), "");
    assert_eq!(scene.take(5), "5");
}

#[test]
fn what_answers_do_not_have_is_missed() {
    let mut scene = Scene::new(RULES);
    assert_eq!(scene.take(0), "0");
    assert_eq!(scene.take(4), "?1..");
    assert_eq!(scene.take(3), "");
    assert_eq!(scene.end(), "-2 3 4");
    // A gap that is younger than the query is queried by itself.
    assert_eq!(scene.take(6), "?5..");
    assert_eq!(scene.take(9), "");
    assert_eq!(scene.end(), "-1 6 ?7..");
    assert_eq!(scene.end(), "-2 9");
}

#[test]
fn numbers_begin_anew_behind_the_last() {
    let mut scene = Scene::new(RULES);
    assert_eq!(scene.take(u32::MAX - 1), "4294967294");
    assert_eq!(scene.take(1), "?4294967295..");
    assert_eq!(scene.take(0), "");
    assert_eq!(scene.take(u32::MAX), "4294967295 0 1");
    assert_eq!(scene.take(u32::MAX), "");
}

#[test]
fn heartbeats_tell_that_the_newest_are_missing() {
    let mut scene = Scene::new(RULES);
    assert_eq!(scene.beat(0), "?..0");
    assert_eq!(scene.beat(0), "", "one question at a time");
    assert_eq!(scene.take(0), "");
    assert_eq!(scene.end(), "0");
    assert_eq!(scene.beat(0), "");
    assert_eq!(scene.beat(2), "?1..2");
    assert_eq!(scene.take(2), "");
    assert_eq!(scene.end(), "-1 2");
    // A publisher that has sent nothing sends the number before 0 in its heartbeat.
    let mut scene = Scene::new(RULES);
    assert_eq!(scene.beat(u32::MAX), "");
}

#[test]
fn what_was_asked_for_in_vain_is_asked_for_more_and_more_seldom() {
    let mut scene = Scene::new(RULES);
    let mut asked = Vec::new();
    for beat in 0..40 {
        if scene.beat(7) == "?..7" {
            asked.push(beat);
            assert_eq!(scene.end(), "");
        }
    }
    assert_eq!(asked, [0, 1, 3, 7, 15, 31]);
    assert_eq!(scene.beat(8), "?..8", "there is more to be had");
}

#[test]
fn periodic_questions_go_to_everybody_who_is_not_asked_already() {
    let mut scene = Scene::new(RULES);
    assert_eq!(scene.take(4), "4");
    assert_eq!(scene.take_of(2, 0), "0");
    assert_eq!(scene.take_of(2, 2), "?1..");
    scene.sources.ask_everybody();
    assert_eq!(scene.done(), "?5..");
    scene.sources.ask_everybody();
    assert_eq!(scene.done(), "");
}

#[test]
fn history_comes_before_what_is_published_meanwhile() {
    let mut scene = Scene::new(RULES);
    scene.ask_history();
    assert_eq!(scene.take(4), "");
    assert_eq!(scene.beat(4), "", "the answers will tell");
    for old in [2, 3, 4] {
        assert_eq!(scene.take(old), "");
    }
    assert_eq!(scene.end_all(), "2 3 4");
    // The subscriber asks for samples between the answers and the first live one.
    let mut scene = Scene::new(RULES);
    scene.ask_history();
    assert_eq!(
        (scene.take(6), scene.take(3)),
        (String::new(), String::new())
    );
    assert_eq!(scene.end_all(), "3 ?4..");
    assert_eq!(scene.take(4), "4");
    assert_eq!(scene.end(), "-1 6");
}

#[test]
fn history_of_one_is_delivered_at_once_and_more_when_there_are_enough() {
    let rules = Rules {
        recovery: false,
        ..RULES
    };
    let mut scene = Scene::new(Rules { depth: 1, ..rules });
    scene.ask_history();
    assert_eq!(scene.take(4), "4");
    assert_eq!(
        (scene.take(3), scene.end_all()),
        (String::new(), String::new())
    );
    let mut scene = Scene::new(Rules { depth: 3, ..rules });
    scene.ask_history();
    assert_eq!(
        (scene.take(4), scene.take(5)),
        (String::new(), String::new())
    );
    assert_eq!(scene.take(7), "4 5");
    assert_eq!(scene.take(8), "");
    assert_eq!(scene.take(9), "-1 7 8 9");
    assert_eq!(
        (scene.take(11), scene.end_all()),
        (String::new(), "-1 11".into())
    );
}

#[test]
fn late_publishers_are_asked_and_remembered() {
    let mut scene = Scene::new(RULES);
    let key = KeyExpr::new("adv/x/@adv/pub/c1/1/_").unwrap();
    scene.sources.take_token(&key, true, scene.now);
    assert_eq!(scene.done(), "?");
    assert_eq!(
        (scene.take(1), scene.take(0)),
        (String::new(), String::new())
    );
    assert_eq!(scene.end(), "0 1");
    // The source is alive, however long it is silent.
    scene.now += 10 * RULES.retention;
    assert_eq!(scene.take(3), "?2..");
    assert_eq!(scene.end(), "-1 3");
    scene.sources.take_token(&key, false, scene.now);
    assert_eq!(scene.done(), "");
    scene.now += 2 * RULES.retention;
    assert_eq!(scene.take(9), "9", "it was forgotten, so this is its first");
    // A token that names no source makes the subscriber ask for the history of all.
    let strange = KeyExpr::new("adv/x/@adv/pub/c1/_/_").unwrap();
    scene.sources.take_token(&strange, true, scene.now);
    assert_eq!(scene.done(), "?");
    assert_eq!(scene.take_of(7, 3), "");
    assert_eq!(scene.end_all(), "3");
}

#[test]
fn timestamps_put_samples_in_order_while_there_are_questions() {
    let mut scene = Scene::new(RULES);
    assert_eq!(
        (scene.take_stamped(5), scene.take_stamped(4)),
        ("t5".into(), "t4".into()),
        "publishers of other keys and priorities have the same clock"
    );
    scene.ask_history();
    assert_eq!(scene.take_stamped(4), "", "an answer");
    assert_eq!(
        (scene.take_stamped(9), scene.take_stamped(7)),
        (String::new(), String::new())
    );
    assert_eq!(scene.take_stamped(9), "");
    assert_eq!(scene.end_all(), "t7 t9");
    assert_eq!(scene.take_stamped(9), "");
    let key = KeyExpr::new("adv/x/@adv/pub/c1/uhlc/_").unwrap();
    scene.sources.take_token(&key, true, scene.now);
    assert_eq!(scene.done(), "?");
    assert_eq!(
        (scene.take_stamped(11), scene.take_stamped(10)),
        (String::new(), String::new())
    );
    scene
        .sources
        .end(QueriedSources::One(Source::Stamped(id(1).zid)));
    assert_eq!(scene.done(), "t10 t11");
    let late = (scene.take_stamped(11), scene.take_stamped(13));
    assert_eq!(late, (String::new(), "t13".into()));
    assert_eq!(scene.take_stamped(12), "t12");
}

#[test]
fn what_is_held_is_bounded() {
    let mut scene = Scene::new(RULES);
    assert_eq!((scene.take(0), scene.take(2)), ("0".into(), "?1..".into()));
    for sn in 3..HELD_MAX as u32 + 1 {
        assert_eq!(scene.take(sn), "");
    }
    let all = scene.take(HELD_MAX as u32 + 1);
    assert!(all.starts_with("-1 2 3 4 "), "{all:.20}");
    assert_eq!(all.split(' ').count(), HELD_MAX + 1);
    assert_eq!(scene.end(), "");
}

#[test]
fn sources_that_are_silent_are_forgotten() {
    let mut scene = Scene::new(RULES);
    for eid in 0..1000 {
        scene.now += RULES.retention / 10;
        assert_eq!(scene.take_of(eid, 0), "0");
    }
    assert!(scene.sources.numbered.all.len() <= FEW);
}

/// Whatever is lost and comes twice or late: samples are delivered in order, each once, and each is delivered or missed.
#[test]
fn random_losses_and_answers_leave_no_sample_untold() {
    let mut seed = 7u64;
    let mut random = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    for _ in 0..200 {
        let mut scene = Scene::new(RULES);
        let (mut told, mut cache) = (String::from(" 0"), BTreeSet::new());
        assert_eq!(scene.take(0), "0");
        let mut sent = 0;
        for _ in 0..60 {
            let new = match random(6) {
                0 => scene.beat(sent),
                1 => scene.end(),
                2 | 3 => {
                    sent += 1;
                    cache.insert(sent);
                    scene.take(sent)
                }
                4 => {
                    sent += 1;
                    String::new()
                }
                _ => scene.answer(random(u64::from(sent) + 1) as u32),
            };
            told = format!("{told} {new}");
        }
        sent += 1;
        told = format!("{told} {}", scene.take(sent));
        for _ in 0..3 {
            told = format!("{told} {}", scene.end());
        }
        let mut next = 0;
        for word in told
            .split_whitespace()
            .filter(|word| !word.starts_with('?'))
        {
            match word.strip_prefix('-') {
                Some(missed) => next += missed.parse::<u32>().unwrap(),
                None => {
                    assert_eq!(word.parse(), Ok(next), "{told}");
                    next += 1;
                }
            }
        }
        assert_eq!(next, sent + 1, "{told}");
    }
}

/// Returns the farthest number that counts as ahead of this one.
fn farthest(sn: u32) -> u32 {
    sn + (1 << 31) - 1
}

#[test]
fn one_forged_number_silences_no_publisher() {
    let plain = Rules {
        recovery: false,
        ..RULES
    };
    let mut scene = Scene::new(plain);
    for forged in [farthest(1), 1 + 5000, 1_000_000, u32::MAX - 5000] {
        assert_eq!((scene.take(0), scene.take(1)), ("0".into(), "1".into()));
        assert_eq!(scene.take(forged), forged.to_string(), "no loss is told");
        assert_eq!((scene.take(2), scene.take(3)), ("2".into(), "3".into()));
        assert_eq!(scene.take(2), "", "each once");
        assert_eq!(scene.take(6), "-2 6", "losses are told as before");
        // A stranger may go on.
        assert_eq!(scene.take(forged + 1), (forged + 1).to_string());
        assert_eq!((scene.take(7), scene.take(8)), ("7".into(), "8".into()));
        scene = Scene::new(plain);
    }
    // Close ahead, where a late sample would be out of order: the line continues with the second
    // one in a row.
    assert_eq!((scene.take(0), scene.take(1)), ("0".into(), "1".into()));
    assert_eq!(scene.take(4000), "-3998 4000");
    assert_eq!((scene.take(2), scene.take(3)), ("".into(), "2 3".into()));
    assert_eq!((scene.take(4), scene.take(4000)), ("4".into(), "".into()));
    // The forged one is the first that arrives.
    for forged in [farthest(10), 3000, u32::MAX - 5] {
        let mut scene = Scene::new(plain);
        assert_eq!(scene.take(forged), forged.to_string());
        let begin = format!("{}{}", scene.take(10), scene.take(11));
        assert!(begin.ends_with("1011") || begin == "10 11", "{begin}");
        assert_eq!(scene.take(12), "12");
    }
}

#[test]
fn forged_numbers_again_and_again_silence_no_publisher() {
    let mut scene = Scene::new(Rules {
        recovery: false,
        ..RULES
    });
    assert_eq!(scene.take(0), "0");
    let mut forged = 0u32;
    for sn in 1..200 {
        for step in [farthest(0), 5000, 77_777, 1 << 30] {
            forged = forged.wrapping_add(step);
            scene.take(forged);
            scene.take(forged + 1);
        }
        let told = scene.take(sn);
        assert!(told.ends_with(&sn.to_string()), "{sn}: {told}");
    }
}

/// A forger whose samples come between the source's keeps none of them back, and takes no memory beyond the budget.
#[test]
fn forged_numbers_between_the_honest_ones_silence_no_publisher() {
    let mut scene = Scene::new(Rules {
        recovery: false,
        ..RULES
    });
    assert_eq!((scene.take(0), scene.take(1)), ("0".into(), "1".into()));
    assert_eq!(scene.take(4000), "-3998 4000");
    let mut honest = Vec::new();
    for sn in 2..100 {
        honest.push(scene.take(sn));
        for forged in [2000, 3000] {
            scene.take(forged + 2 * sn);
        }
    }
    let first = honest.iter().position(|told| !told.is_empty());
    assert_eq!(first, Some(1), "{honest:?}");
    assert_eq!((honest[1].as_str(), honest[97].as_str()), ("2 3", "99"));
}

#[test]
fn overtaken_samples_of_many_sources_are_bounded() {
    let mut scene = Scene::new(RULES);
    let payload = vec![7; 1 << 20];
    for eid in 0..100 {
        assert_eq!(scene.take_of(eid, 100), "100");
        let info = SourceInfo {
            id: id(eid),
            sn: 50,
        };
        let late = sample_of(&payload, Some(info), None);
        scene.sources.take(late, SampleOrigin::Live, scene.now);
    }
    let budgets = &scene.sources.budgets;
    assert!(budgets.late.bytes() < held::ALL_BYTES_MAX);
    assert_eq!(budgets.held.bytes(), 0);
    // A source that was overtaken continues all the same, without the sample that there was no room
    // for.
    assert!(scene.take_of(0, 51).ends_with("50 51"));
    assert!(scene.take_of(99, 51).ends_with("51"));
}

#[test]
fn a_forged_number_leaves_recovery_as_it_was() {
    let mut scene = Scene::new(RULES);
    assert_eq!((scene.take(0), scene.take(1)), ("0".into(), "1".into()));
    let forged = farthest(1);
    assert_eq!(scene.take(forged), "?2..", "the cache is asked");
    assert_eq!(scene.take(2), "2", "the publisher goes on meanwhile");
    assert_eq!(scene.take(4), "", "and may lose one");
    assert_eq!(scene.end(), "?3..");
    assert_eq!(scene.answer(3), "3 4");
    assert_eq!(scene.end(), forged.to_string());
    assert_eq!((scene.take(5), scene.take(7)), ("5".into(), "?6..".into()));
    assert_eq!((scene.answer(6), scene.end()), ("6 7".into(), "".into()));
    scene.sources.ask_everybody();
    assert_eq!(scene.done(), "?8..");
    assert_eq!((scene.answer(8), scene.end()), ("8".into(), "".into()));
}

/// More forged numbers than lines are remembered, ahead of the publisher's and behind them.
#[test]
fn after_forged_numbers_a_cache_brings_nothing_twice() {
    for recovery in [true, false] {
        let mut scene = Scene::new(Rules { recovery, ..RULES });
        for sn in 0..200 {
            assert_eq!(scene.take(sn), sn.to_string());
        }
        for sn in 200..240 {
            for row in 1..12 {
                let forged = row * 300_000_000 + sn * 10_000;
                scene.take(forged);
                scene.take(forged + 1);
            }
            while scene.end().contains('?') {}
            let told = scene.take(sn);
            assert!(
                told.split(' ').any(|one| one == sn.to_string()),
                "{sn}: {told}"
            );
            for old in sn - 100..=sn {
                assert_eq!(scene.answer(old), "", "behind {sn}");
            }
        }
    }
}

#[test]
fn a_forged_heartbeat_makes_nothing_lost() {
    let mut scene = Scene::new(RULES);
    assert_eq!(scene.take(0), "0");
    let forged = farthest(0);
    assert_eq!(scene.beat(forged), format!("?1..{forged}"));
    assert_eq!(scene.take(2), "");
    assert_eq!(scene.end(), "?1..", "what was not lost then may still come");
    assert_eq!((scene.answer(1), scene.end()), ("1 2".into(), "".into()));
    assert_eq!(scene.beat(3), "?3..3");
}

/// A source that has really lost so many: all samples are delivered as before, and the next one reports the loss.
#[test]
fn a_jump_that_is_true_is_told_by_the_second_sample() {
    let mut scene = Scene::new(Rules {
        recovery: false,
        ..RULES
    });
    assert_eq!(
        (scene.take(0), scene.take(10_000)),
        ("0".into(), "10000".into())
    );
    assert_eq!(scene.take(10_001), "-9999 10001");
    let mut scene = Scene::new(RULES);
    assert_eq!(
        (scene.take(0), scene.take(10_000)),
        ("0".into(), "?1..".into())
    );
    assert_eq!(
        (scene.answer(9_999), scene.take(10_001)),
        ("".into(), "".into())
    );
    assert_eq!(scene.end(), "9999 -9998 10000 10001");
    // Answers of a cache begin no line and continue none that was left.
    assert_eq!((scene.answer(1), scene.answer(2)), ("".into(), "".into()));
}

#[test]
fn a_forged_timestamp_silences_no_clock() {
    const SECOND: u64 = 1 << 32;
    let mut scene = Scene::new(RULES);
    assert_eq!(
        scene.take_stamped(5 * SECOND),
        format!("t{}", Ntp64(5 * SECOND))
    );
    let forged = 1 << 60;
    scene.take_stamped(forged);
    scene.ask_history();
    assert_eq!(scene.answer_stamped(5 * SECOND), "");
    assert_eq!(scene.answer_stamped(forged), "");
    assert_eq!(scene.take_stamped(6 * SECOND), "");
    assert_eq!(scene.end_all(), format!("t{}", Ntp64(6 * SECOND)));
    // While a query is under way, too.
    scene.ask_history();
    scene.take_stamped(forged + 9 * SECOND);
    assert!(scene.end_all().starts_with('t'));
    assert_eq!(scene.take_stamped(6 * SECOND), "");
    assert_eq!(
        scene.take_stamped(7 * SECOND),
        format!("t{}", Ntp64(7 * SECOND))
    );
}
