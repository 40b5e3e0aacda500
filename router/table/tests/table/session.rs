// SPDX-License-Identifier: MIT OR Apache-2.0

//! Model of the session's listeners: the notices that they ought to get, and the state that follows
//! from those they got.

use std::collections::{BTreeMap, BTreeSet};

use zonda_codec::InterestMode;
use zonda_codec::key_expr::{includes, intersects};
use zonda_table::{Counterpart, FaceId, Locality, Notice, Relation};

use crate::bench::{Bench, key_expr};
use crate::model::{Model, QUERYABLE, SUBSCRIBER, TOKEN, flows};

/// The ids of listeners begin here, apart from those of everything else.
const TOKEN_LISTENERS: u32 = 100;
const MATCHING_LISTENERS: u32 = 200;
const QUESTIONS: u32 = 10_000;

/// All listeners and liveliness queries.
#[derive(Debug, Default)]
pub struct Listeners {
    tokens: BTreeMap<u32, TokenListener>,
    matching: BTreeMap<u32, MatchingListener>,
    questions: BTreeMap<u32, Question>,
    alive: BTreeSet<String>,
    next_question: u32,
    /// True if the table forgets in slices, so that a token that ends and returns need not be
    /// announced.
    pub inexact: bool,
}

#[derive(Debug)]
struct TokenListener {
    key: String,
    history: bool,
    believed: BTreeSet<String>,
    expected: BTreeSet<String>,
}

#[derive(Debug)]
struct MatchingListener {
    owner: u32,
    key: String,
    what: Counterpart,
    believed: bool,
}

#[derive(Debug)]
struct Question {
    key: String,
    told: BTreeSet<String>,
    expected: BTreeSet<String>,
    /// The interests by which gateways were queried.
    asked: Vec<(FaceId, u32)>,
    peers: BTreeSet<FaceId>,
    held: bool,
    ended: Option<bool>,
}

impl Listeners {
    /// Returns the keys that the session's listeners need from gateways.
    pub fn wanted(&self) -> Vec<String> {
        self.tokens
            .values()
            .map(|known| known.key.clone())
            .collect()
    }

    pub fn end_listener(&mut self, bench: &mut Bench, number: u32) {
        let (local, id) = (bench.local, TOKEN_LISTENERS + number);
        self.tokens.remove(&id);
        bench.act(|table, actions| table.undeclare_local_listener(local.own(id), actions));
        bench.notices(id);
    }

    pub fn listen(&mut self, bench: &mut Bench, number: u32, (key, history): (&str, bool)) {
        let (local, id) = (bench.local, TOKEN_LISTENERS + number);
        let expected = match history {
            true => matching(&self.alive, key),
            false => BTreeSet::new(),
        };
        let listener = TokenListener {
            key: key.to_owned(),
            history,
            believed: BTreeSet::new(),
            expected,
        };
        self.tokens.insert(id, listener);
        bench.act(|table, actions| {
            table.local_token_listener(local.own(id), &key_expr(key), history, actions);
        });
        bench.act(|table, actions| while table.deliver_on(id, actions) {});
    }

    pub fn match_with(&mut self, bench: &mut Bench, owner: u32, (key, what): (&str, Counterpart)) {
        let (own, id) = (bench.own(owner), MATCHING_LISTENERS + owner);
        let listener = MatchingListener {
            owner,
            key: key.to_owned(),
            what,
            believed: false,
        };
        self.matching.insert(id, listener);
        bench.act(|table, actions| {
            let audience = what.within(Locality::Any);
            table.local_matching(own, id, &key_expr(key), audience, actions);
        });
    }

    pub fn end_match(&mut self, bench: &mut Bench, owner: u32) {
        let (local, id) = (bench.local, MATCHING_LISTENERS + owner);
        self.matching.remove(&id);
        bench.act(|table, actions| table.undeclare_local_listener(local.own(id), actions));
        bench.notices(id);
    }

    /// Checks the end of a publisher's listener.
    pub fn end_owner(&mut self, bench: &mut Bench, owner: u32) {
        let theirs = self.matching.iter().find(|(_, known)| known.owner == owner);
        if let Some(id) = theirs.map(|(id, _)| *id) {
            self.matching.remove(&id);
            let end = Notice::End { complete: true };
            assert_eq!(bench.notices(id).last(), Some(&end));
        }
    }

    /// Sends a liveliness query. `model` has read what all neighbours got before.
    pub fn ask(&mut self, bench: &mut Bench, model: &Model, key: &str) -> u32 {
        self.next_question += 1;
        let (local, id) = (bench.local, QUESTIONS + self.next_question);
        let peers = model
            .faces
            .iter()
            .filter(|(_, face)| face.relation == Relation::PeerToPeer && !face.final_zero);
        let question = Question {
            key: key.to_owned(),
            told: BTreeSet::new(),
            expected: matching(&self.alive, key),
            asked: Vec::new(),
            peers: peers.map(|(id, _)| *id).collect(),
            held: is_client(model) && model.gateways().next().is_none(),
            ended: None,
        };
        self.questions.insert(id, question);
        bench.act(|table, actions| {
            table.local_liveliness_query(local.own(id), &key_expr(key), actions);
        });
        bench.act(|table, actions| while table.deliver_on(id, actions) {});
        id
    }

    /// Ends all liveliness queries by their timeout.
    pub fn time_out(&mut self, bench: &mut Bench) {
        for (id, question) in std::mem::take(&mut self.questions) {
            let own = bench.own(id);
            bench.act(|table, actions| table.undeclare_local_listener(own, actions));
            let end = bench.notices(id).pop();
            let complete = question.ended.is_some();
            let expected = (!complete).then_some(Notice::End { complete: false });
            assert_eq!(end, expected);
        }
    }

    /// Notes the interests by which gateways were just queried for `question`, or for queries that
    /// were held.
    pub fn note_asked(&mut self, new: &[(FaceId, u32, String)], question: Option<u32>) {
        for (gateway, interest, key) in new {
            let asks = self.questions.iter_mut().find(|(id, known)| {
                known.key == *key && question.map_or(known.held, |question| question == **id)
            });
            if let Some((_, known)) = asks {
                known.asked.push((*gateway, *interest));
                known.held = false;
            }
        }
    }

    /// Returns the interests at a gateway that queries wait for, with their keys.
    pub fn open_asks(&self, gateway: FaceId) -> Vec<(u32, String)> {
        let questions = self.questions.values();
        let asks = questions.flat_map(|question| {
            let asked = question.asked.iter();
            let theirs = asked.filter(|(face, _)| *face == gateway);
            theirs.map(|(_, interest)| (*interest, question.key.clone()))
        });
        asks.collect()
    }

    pub fn answered(&mut self, gateway: FaceId, interest: u32, key: &str) {
        for question in self.questions.values_mut() {
            if question.asked.contains(&(gateway, interest)) {
                question.expected.insert(key.to_owned());
            }
        }
    }

    /// Notes that a gateway has answered in full.
    pub fn finished(&mut self, gateway: FaceId, interest: u32) {
        for question in self.questions.values_mut() {
            question.asked.retain(|other| *other != (gateway, interest));
        }
    }

    /// Notes that a peer has declared all it had.
    pub fn final_zero(&mut self, peer: FaceId) {
        for question in self.questions.values_mut() {
            question.peers.remove(&peer);
        }
    }

    pub fn cut(&mut self, face: FaceId, model: &Model) {
        let last = is_client(model) && model.gateways().next().is_none();
        for question in self.questions.values_mut() {
            question.peers.remove(&face);
            let before = question.asked.len();
            question.asked.retain(|(other, _)| *other != face);
            question.held |= last && question.asked.len() < before;
        }
    }

    /// Notes the changes of tokens after a step.
    pub fn follow(&mut self, model: &Model) {
        let sources = model.sources();
        let tokens = sources.keys().filter(|thing| thing.0 == TOKEN);
        let alive: BTreeSet<String> = tokens.map(|thing| thing.1.clone()).collect();
        for listener in self.tokens.values_mut() {
            for key in alive.difference(&self.alive) {
                if intersects(key, &listener.key) {
                    listener.expected.insert(key.clone());
                }
            }
            listener.expected.retain(|key| alive.contains(key));
        }
        for question in self.questions.values_mut() {
            if question.ended.is_none() {
                question.expected.extend(matching(&alive, &question.key));
            }
        }
        self.alive = alive;
    }

    /// Reads the notices, each of which must be a change.
    pub fn read(&mut self, bench: &mut Bench, now: &str) {
        for (id, listener) in &mut self.tokens {
            for notice in bench.notices(*id) {
                let Notice::Token { key, alive } = notice else {
                    panic!("{notice:?} for {id} after {now}");
                };
                let key = key.as_str().to_owned();
                let changes = match alive {
                    true => listener.believed.insert(key),
                    false => listener.believed.remove(&key) || !listener.history,
                };
                assert!(changes, "no change for {id} after {now}");
            }
        }
        for (id, listener) in &mut self.matching {
            for notice in bench.notices(*id) {
                assert_eq!(
                    notice,
                    Notice::Matching(!listener.believed),
                    "{id} after {now}"
                );
                listener.believed = !listener.believed;
            }
        }
        for (id, question) in &mut self.questions {
            for notice in bench.notices(*id) {
                assert_eq!(
                    question.ended, None,
                    "{notice:?} after the end of {id}, {now}"
                );
                match notice {
                    Notice::Token { key, alive: true } => {
                        let new = question.told.insert(key.as_str().to_owned());
                        assert!(new, "{key} twice for {id} after {now}");
                    }
                    Notice::End { complete } => question.ended = Some(complete),
                    other => panic!("{other:?} for {id} after {now}"),
                }
            }
        }
    }

    /// Compares the state of all listeners with the model.
    pub fn check(&self, model: &Model, now: &str) {
        for (id, listener) in &self.tokens {
            let believed = &listener.believed;
            if listener.history {
                let is = matching(&self.alive, &listener.key);
                assert_eq!(*believed, is, "{id} on {} after {now}", listener.key);
            }
            if !self.inexact {
                assert_eq!(*believed, listener.expected, "changes of {id} after {now}");
            }
        }
        for (id, listener) in &self.matching {
            let is = matches(model, &listener.key, listener.what);
            assert_eq!(listener.believed, is, "{id} for {listener:?} after {now}");
        }
        for (id, question) in &self.questions {
            let Question { asked, peers, .. } = question;
            let waits = !asked.is_empty() || !peers.is_empty() || question.held;
            let ended = (!waits).then_some(true);
            assert_eq!(question.ended, ended, "{id}, {question:?} after {now}");
            if !self.inexact {
                assert_eq!(
                    question.told, question.expected,
                    "answers to {id} after {now}"
                );
            }
        }
    }
}

fn is_client(model: &Model) -> bool {
    model.role == zonda_codec::WhatAmI::Client
}

fn matching(keys: &BTreeSet<String>, key: &str) -> BTreeSet<String> {
    let matching = keys.iter().filter(|other| intersects(other, key));
    matching.cloned().collect()
}

/// Returns true if the model has a counterpart on `key`.
fn matches(model: &Model, key: &str, what: Counterpart) -> bool {
    let kind = match what {
        Counterpart::Subscribers => SUBSCRIBER,
        _ => QUERYABLE,
    };
    let complete = what == Counterpart::CompleteQueryables;
    model.faces.values().any(|face| {
        flows(Relation::Local, face.relation)
            && face.declared.iter().any(|declared| {
                let (thing, key_of) = (&declared.thing, &declared.thing.1);
                let promises = face.promises.get(thing).copied().unwrap_or_default();
                thing.0 == kind
                    && intersects(key_of, key)
                    && (!complete || promises.complete && includes(key_of, key))
            })
    })
}

/// Returns the liveliness queries among a gateway's interests.
pub fn token_asks(model: &Model) -> Vec<(FaceId, u32, String)> {
    let gateways = model.faces.iter();
    let asks = gateways.flat_map(|(id, face)| {
        let asked = face.got.asked.iter();
        asked.filter_map(move |(interest, asked)| {
            let (mode, _, key) = &asked.want;
            (*mode == InterestMode::Current)
                .then(|| (*id, *interest, key.clone().unwrap_or_default()))
        })
    });
    asks.collect()
}
