// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zenoh.ext` and `zonda::ext` with each other: history, recovery, losses, late publishers,
//! serialized values.
//!
//! A publisher whose samples go to its own session only stands for a link that loses them: its
//! cache, its heartbeats and its token arrive all the same, and single samples are sent in its
//! name.

use std::rc::Rc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::json;
use zonda::ext::{
    AdvancedPublisher, AdvancedPublisherBuilderExt, AdvancedSubscriber,
    AdvancedSubscriberBuilderExt, CacheConfig, HistoryConfig, Miss, MissDetectionConfig,
    RecoveryConfig, z_serialize,
};
use zonda::sample::{Locality, Sample, SourceInfo};
use zonda::{Session, Wait};

use crate::environment;
use crate::party::Party;
use crate::reference::Reference;
use crate::scene::{self, Scene};
use crate::wait::LONG;

/// Time after which replies that came have ended.
const ANSWERS_END: Duration = Duration::from_millis(500);
const KEY: &str = "advanced/key";
const BEAT: f64 = 0.05;

enum Publishing {
    Ours(Session, Box<AdvancedPublisher<'static>>),
    Theirs(Rc<Reference>, String, String),
}

/// Options of a publisher.
#[derive(Clone, Copy)]
struct Manner {
    kept: usize,
    beats: bool,
    mute: bool,
}

impl Publishing {
    fn declare(party: &Party, manner: Manner) -> Publishing {
        let Manner { kept, beats, mute } = manner;
        match party {
            // a mute publisher reaches its own session only
            Party::Ours(session) => {
                let detection = MissDetectionConfig::default();
                let publisher = session
                    .declare_publisher(KEY)
                    .allowed_destination(match mute {
                        true => Locality::SessionLocal,
                        false => Locality::Any,
                    })
                    .cache(CacheConfig::default().max_samples(kept))
                    .sample_miss_detection(match beats {
                        true => detection.heartbeat(Duration::from_secs_f64(BEAT)),
                        false => detection,
                    });
                Publishing::Ours(
                    session.clone(),
                    Box::new(publisher.wait().expect("it is open")),
                )
            }
            Party::Theirs(theirs) => {
                let (process, name) = (theirs.process.clone(), theirs.process.fresh("advanced"));
                let command = json!({
                    "name": name, "key": KEY, "kept": kept, "mute": mute,
                    "heartbeat": beats.then_some(BEAT),
                });
                let answer = process.call("advanced_publisher", theirs.command(command));
                let id = answer["id"].as_str().expect("an id").to_owned();
                Publishing::Theirs(process, name, id)
            }
        }
    }

    fn put(&self, texts: &[&str]) {
        for text in texts {
            match self {
                Publishing::Ours(_, publisher) => publisher.put(*text).wait().expect("it is open"),
                Publishing::Theirs(process, name, _) => {
                    process.call("advanced_put", json!({"name": name, "text": text}));
                }
            }
        }
    }

    /// Sends one sample in the name of the publisher.
    fn send(&self, sn: u32) {
        let text = sn.to_string();
        match self {
            Publishing::Ours(session, publisher) => {
                let info = SourceInfo::new(publisher.id(), sn);
                let put = session.put(KEY, text).source_info(info);
                put.wait().expect("it is open");
            }
            Publishing::Theirs(process, name, _) => {
                let command = json!({"name": name, "sn": sn, "text": text});
                process.call("advanced_send", command);
            }
        }
    }

    /// Returns the key of its cache, its heartbeats and its token.
    fn own_key(&self) -> String {
        let id = match self {
            Publishing::Ours(_, publisher) => {
                format!("{}/{}", publisher.id().zid, publisher.id().eid)
            }
            Publishing::Theirs(.., id) => id.replace(':', "/"),
        };
        format!("{KEY}/@adv/pub/{id}/_")
    }
}

enum Hearing {
    Ours {
        _subscriber: Box<AdvancedSubscriber<()>>,
        texts: Receiver<String>,
    },
    Theirs(Rc<Reference>, String),
}

impl Hearing {
    /// Declares a subscriber that reports samples as their text and losses as `-2`.
    fn declare(party: &Party, history: bool, recovery: &str) -> Hearing {
        match party {
            Party::Ours(session) => {
                let (arrived, texts) = channel();
                let lost = arrived.clone();
                let subscriber = session.declare_subscriber(KEY).advanced();
                let subscriber = match history {
                    true => subscriber.history(HistoryConfig::default().detect_late_publishers()),
                    false => subscriber,
                };
                let subscriber = match recovery {
                    "" => subscriber,
                    "heartbeat" => subscriber.recovery(RecoveryConfig::default().heartbeat()),
                    _ => subscriber.recovery(RecoveryConfig::default()),
                };
                let take = move |sample: Sample| {
                    let text = sample.payload().try_to_string().expect("text").into_owned();
                    // an error means that the test has all that it needs
                    let _ = arrived.send(text);
                };
                let miss = move |miss: Miss| {
                    let _ = lost.send(format!("-{}", miss.nb()));
                };
                let subscriber = subscriber.callback(take).wait().expect("it is open");
                let listener = subscriber.sample_miss_listener().callback(miss);
                listener.background().wait().expect("it is open");
                Hearing::Ours {
                    _subscriber: Box::new(subscriber),
                    texts,
                }
            }
            Party::Theirs(theirs) => {
                let (process, name) = (theirs.process.clone(), theirs.process.fresh("advanced"));
                let command =
                    json!({"name": name, "key": KEY, "history": history, "recovery": recovery});
                process.call("advanced_subscriber", theirs.command(command));
                Hearing::Theirs(process, name)
            }
        }
    }

    fn hears(&self, expected: &[&str]) {
        for (place, expected) in expected.iter().enumerate() {
            let text = match self {
                Hearing::Ours { texts, .. } => texts.recv_timeout(LONG).ok(),
                Hearing::Theirs(process, name) => process
                    .sample(name, Instant::now() + LONG)
                    .and_then(|sample| sample["text"].as_str().map(str::to_owned)),
            };
            assert_eq!(text.as_deref(), Some(*expected), "number {place}");
        }
    }
}

impl Drop for Hearing {
    fn drop(&mut self) {
        if let (Hearing::Theirs(process, name), false) = (self, std::thread::panicking()) {
            process.call("unsubscribe", json!({"name": name}));
        }
    }
}

fn history_comes_first(scene: &Scene) {
    let manner = Manner {
        kept: 3,
        beats: false,
        mute: true,
    };
    let publishing = Publishing::declare(&scene.from, manner);
    publishing.put(&["0", "1", "2", "3", "4"]);
    scene.settles_back();
    let late = Hearing::declare(&scene.to, true, "");
    late.hears(&["2", "3", "4"]);
    scene.settles();
    publishing.put(&["5"]);
    publishing.send(5);
    late.hears(&["5"]);
}

fn gaps_are_filled_and_the_rest_is_missed(scene: &Scene) {
    let manner = Manner {
        kept: 2,
        beats: false,
        mute: true,
    };
    let publishing = Publishing::declare(&scene.from, manner);
    scene.settles_back();
    let hearing = Hearing::declare(&scene.to, false, "gaps");
    scene.settles();
    publishing.put(&["0", "1", "2"]);
    publishing.send(0);
    hearing.hears(&["0"]);
    publishing.send(2);
    hearing.hears(&["1", "2"]);
    if matches!(hearing, Hearing::Theirs(..)) {
        // A gap that the reference finds before the replies to its last query have ended is lost
        // without a query.
        std::thread::sleep(ANSWERS_END);
    }
    publishing.put(&["3", "4", "5", "6"]);
    publishing.send(6);
    hearing.hears(&["-2", "5", "6"]);
}

fn heartbeats_find_the_last(scene: &Scene) {
    let manner = Manner {
        kept: 9,
        beats: true,
        mute: true,
    };
    let hearing = Hearing::declare(&scene.to, false, "heartbeat");
    scene.settles();
    let publishing = Publishing::declare(&scene.from, manner);
    scene.settles_back();
    publishing.put(&["0"]);
    hearing.hears(&["0"]);
    publishing.put(&["1", "2"]);
    hearing.hears(&["1", "2"]);
}

fn late_publishers_are_asked(scene: &Scene) {
    let manner = Manner {
        kept: 2,
        beats: false,
        mute: true,
    };
    let hearing = Hearing::declare(&scene.to, true, "");
    scene.settles();
    let publishing = Publishing::declare(&scene.from, manner);
    publishing.put(&["0", "1", "2"]);
    scene.settles_back();
    // its samples are in the cache when the token is found
    let token = scene.from.token(&publishing.own_key());
    hearing.hears(&["1", "2"]);
    token.undeclare();
}

fn plays(open: fn() -> Scene) {
    if environment::python().is_none() {
        return;
    }
    let cases = [
        history_comes_first,
        gaps_are_filled_and_the_rest_is_missed,
        heartbeats_find_the_last,
        late_publishers_are_asked,
    ];
    for case in cases {
        let scene = open();
        case(&scene);
        // reports about samples that the test dropped on purpose
        scene.complains_only_of(&["Sample missed"]);
    }
}

#[test]
fn ours_to_theirs_at_our_router() {
    plays(scene::ours_our_router_theirs);
}

#[test]
fn theirs_to_ours_at_our_router() {
    plays(scene::theirs_our_router_ours);
}

#[test]
fn ours_to_theirs_at_their_router() {
    plays(scene::ours_their_router_theirs);
}

#[test]
fn theirs_to_ours_at_their_router() {
    plays(scene::theirs_their_router_ours);
}

#[test]
fn theirs_to_theirs_at_our_router() {
    plays(scene::theirs_our_router_theirs);
}

#[test]
fn ours_to_ours_at_their_router() {
    plays(scene::ours_their_router_ours);
}

#[test]
fn ours_to_theirs_without_a_router() {
    plays(scene::ours_dials_theirs);
}

#[test]
fn theirs_to_ours_without_a_router() {
    plays(scene::theirs_dials_ours);
}

#[test]
fn values_are_the_same_bytes() {
    if environment::python().is_none() {
        return;
    }
    let hex = |bytes: zonda::bytes::ZBytes| {
        let digits = bytes.as_slice().iter().map(|byte| format!("{byte:02x}"));
        digits.collect::<Vec<_>>().concat()
    };
    let map = std::collections::BTreeMap::from([("key", vec![1i32, 2])]);
    let ours = [
        z_serialize(&1_234_566i32),
        z_serialize(&-1i128),
        z_serialize(&255u8),
        z_serialize(&1234.0f32),
        z_serialize(&true),
        z_serialize("test"),
        z_serialize(b"bytes"),
        z_serialize(&[-100i64, 500]),
        z_serialize(&(500u16, 0.5f64, "x")),
        z_serialize(&[("s1", 10i16), ("s2", -10_000)]),
        z_serialize(&map),
        z_serialize(&"long".repeat(100)),
    ]
    .map(hex);
    let theirs = Reference::start().call("serialize", json!({"bytes": ours}));
    let values = theirs["values"].as_array().expect("a list");
    assert_eq!(values.len(), ours.len());
    for (value, ours) in values.iter().zip(ours) {
        assert_eq!(*value, json!({"bytes": ours, "reads": true}));
    }
}

crate::environment::against_older! {
    ours_to_theirs_at_our_router
    theirs_to_ours_at_our_router
    ours_to_theirs_at_their_router
    theirs_to_ours_at_their_router
    theirs_to_theirs_at_our_router
    ours_to_ours_at_their_router
    ours_to_theirs_without_a_router
    theirs_to_ours_without_a_router
    values_are_the_same_bytes
}
