// SPDX-License-Identifier: MIT OR Apache-2.0

//! Random histories of declarations, interests, connections and cuts, for each role: after every
//! step, the routes and the state of every neighbour equal those of a model that uses only lists.

mod check;
mod local;
mod questions;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use zonda_codec::key_expr::intersects;
use zonda_codec::{
    Declaration, Interest, InterestMode, Mapping, Qos, QueryableInfo, WhatAmI, WireExpr,
};
use zonda_table::{FaceId, Limits, Relation};

use crate::bench::{Bench, encoded, options};
use questions::Asks;

use crate::model::{Asking, Face, Model, QUERYABLE, SUBSCRIBER, TOKEN, Thing, flows};
use crate::session::Listeners;
use check::Kept;

const SEEDS_PER_ROLE: u64 = 700;
const STEPS: usize = 40;

const KEYS: [&str; 14] = [
    "a", "a/b", "a/b/c", "a/*", "a/**", "*/b", "**", "**/c", "a/b$*", "a/bx", "@v/a", "@v/**",
    "d/e", "d/*/f",
];

#[test]
fn router_agrees_with_the_model() {
    run(WhatAmI::Router);
}

#[test]
fn peer_agrees_with_the_model() {
    run(WhatAmI::Peer);
}

#[test]
fn client_agrees_with_the_model() {
    run(WhatAmI::Client);
}

/// The table forgets lost neighbours in slices, while the remaining ones continue.
#[test]
fn what_is_left_of_neighbours_that_are_gone_misleads_nobody() {
    for role in [WhatAmI::Router, WhatAmI::Peer, WhatAmI::Client] {
        for seed in 0..SEEDS_PER_ROLE / 4 {
            let limits = Limits {
                removal_slice_max: 1,
                ..Limits::default()
            };
            let mut history = History::new(role, seed, limits);
            history.sweeps_at_once = false;
            history.listeners.inexact = true;
            for step in 0..STEPS {
                let what = history.step();
                history.now = format!("{role}, seed {seed}, step {step}, late sweeps: {what}");
                if step % 10 == 9 {
                    history
                        .bench
                        .act(|table, actions| while table.sweep(actions) {});
                } else if history.random.one_in(2) {
                    history.bench.act(|table, actions| table.sweep(actions));
                }
                history.deliver();
                history.hear();
                if history.bench.table.is_sweeping() {
                    history.check_routes();
                } else {
                    history.check();
                }
            }
        }
    }
}

fn run(role: WhatAmI) {
    for seed in 0..SEEDS_PER_ROLE {
        // Neither the number of steps per answer nor per announcement makes a difference to
        // neighbours.
        let answer_slice_max = if seed.is_multiple_of(2) { 1000 } else { 2 };
        let announce_steps_max = if seed.is_multiple_of(3) { 1 } else { 16_384 };
        let limits = Limits {
            answer_slice_max,
            announce_steps_max,
            ..Limits::default()
        };
        let mut history = History::new(role, seed, limits);
        for step in 0..STEPS {
            let what = history.step();
            let bench = &mut history.bench;
            bench.act(|table, actions| while table.sweep(actions) {});
            history.now = format!("{role}, seed {seed}, step {step}: {what}");
            history.deliver();
            history.hear();
            history.check();
            history.check_questions();
        }
    }
}

struct History {
    bench: Bench,
    model: Model,
    random: Random,
    /// Open queries for tokens: gateway and its interest id, asker and its interest id.
    questions: Vec<((FaceId, u32), (FaceId, u32))>,
    next_question: u32,
    sweeps_at_once: bool,
    listeners: Listeners,
    asks: Asks,
    kept: Kept,
    now: String,
}

impl History {
    fn new(role: WhatAmI, seed: u64, limits: Limits) -> Self {
        // The model has no clock for the first declarations of peers whose links come up, and none
        // for the ends of answers to peers.
        let limits = Limits {
            initial_timeout: Duration::from_secs(1 << 30),
            answer_pause: Duration::ZERO,
            ..limits
        };
        let bench = Bench::with_limits(role, limits);
        let mut local = Face::new(Relation::Local, role);
        if role == WhatAmI::Router {
            let admin = (QUERYABLE, "@/a1/router/**".to_owned());
            local.declare(admin, u32::MAX, QueryableInfo::default());
        }
        History {
            model: Model {
                role,
                faces: BTreeMap::from([(bench.local, local)]),
                local: bench.local,
                publishers: BTreeMap::new(),
                listened: Vec::new(),
                queriers: BTreeMap::new(),
            },
            bench,
            random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ role.code() as u64),
            questions: Vec::new(),
            next_question: 1000,
            sweeps_at_once: true,
            listeners: Listeners::default(),
            asks: Asks::default(),
            kept: Kept::default(),
            now: String::new(),
        }
    }

    fn step(&mut self) -> String {
        let remotes = self.remotes();
        if remotes.is_empty() || (remotes.len() < 5 && self.random.one_in(6)) {
            return self.connect();
        }
        let face = self.random.of(&remotes);
        let kinds = if self.sweeps_at_once { 44 } else { 34 };
        match self.random.below(kinds) {
            0 => self.cut(face),
            1..=3 => self.local_subscriber(),
            4..=5 => self.local_publisher(),
            6 => self.declare_key(face),
            7..=11 => self.declare(face),
            12..=14 => self.undeclare(face),
            15..=18 => self.interest(face),
            19 => self.end_interest(face),
            20 => self.question(face),
            21..=23 => self.local_token(),
            24..=26 => self.token_listener(),
            27..=28 => self.matching_listener(),
            29 => self.local_question(),
            30 => self.answer_local(face),
            34..=42 => self.question_step(face),
            43 => self.local_querier(),
            _ => self.finish(face),
        }
    }

    fn remotes(&self) -> Vec<FaceId> {
        let faces = self.model.faces.keys().copied();
        faces.filter(|face| *face != self.model.local).collect()
    }

    fn connect(&mut self) -> String {
        let roles: &[WhatAmI] = match self.model.role {
            WhatAmI::Client => &[WhatAmI::Router, WhatAmI::Peer],
            // Histories of meshes of routers are in the tests of networks.
            WhatAmI::Router => &[WhatAmI::Client, WhatAmI::Client, WhatAmI::Peer],
            WhatAmI::Peer => &[
                WhatAmI::Client,
                WhatAmI::Client,
                WhatAmI::Peer,
                WhatAmI::Router,
            ],
        };
        let role = self.random.of(roles);
        let number = 0xb0 + self.random.next() as u128 % 1000;
        let face = self.bench.connect(number, role);
        self.after_connect(face, number);
        let relation = self.bench.table.relation(face).expect("it is connected");
        let mut new = Face::new(relation, role);
        if relation == Relation::PeerToPeer {
            new.finals.insert(0, 1);
        }
        self.model.faces.insert(face, new);
        self.note_asked(None);
        format!("connect {role} as {face}")
    }

    fn cut(&mut self, face: FaceId) -> String {
        self.deliver();
        self.before_cut(face);
        match self.sweeps_at_once {
            true => self.bench.cut(face),
            false => self.bench.lose(face),
        }
        let before = self.model.sources();
        self.model.faces.remove(&face);
        self.model.forget_unwanted();
        let (gone, open) = std::mem::take(&mut self.questions)
            .into_iter()
            .partition::<Vec<_>, _>(|((gateway, _), _)| *gateway == face);
        self.questions = open;
        self.listeners.cut(face, &self.model);
        for (_, question) in gone {
            self.end_question(question);
        }
        self.model.follow(&before);
        self.deliver();
        self.model.settle();
        format!("cut {face}")
    }

    fn declare_key(&mut self, face: FaceId) -> String {
        let (id, key) = (self.random.below(4) as u16 + 1, self.random.of(&KEYS));
        let open = self.is_open(face);
        let known = self.model.faces.get_mut(&face).expect("it is connected");
        if self.random.one_in(4) {
            known.key_ids.remove(&id);
            let body = Declaration::UndeclareKeyExpr { id };
            self.bench.declare(face, None, body);
            return format!("{face} undeclares id {id}");
        }
        // The table uses ids that are free on both sides; so does this neighbour.
        if open && !known.got.key_ids.contains_key(&id) {
            known.key_ids.entry(id).or_insert(key.to_owned());
        }
        if !known.got.key_ids.contains_key(&id) {
            let wire_expr = WireExpr::full(key);
            let body = Declaration::KeyExpr { id, wire_expr };
            self.bench.declare(face, None, body);
        }
        format!("{face} declares id {id} for {key}")
    }

    fn declare(&mut self, face: FaceId) -> String {
        let (kind, id) = (self.random.below(3), self.random.below(4) as u32);
        let key = self.random.of(&KEYS);
        let info = match kind {
            QUERYABLE => QueryableInfo {
                complete: self.random.one_in(2),
                distance: self.random.below(3) as u16,
            },
            _ => QueryableInfo::default(),
        };
        let written = self.write_key(face, key);
        let wire_expr = written.as_wire_expr();
        let body = match kind {
            SUBSCRIBER => Declaration::Subscriber { id, wire_expr },
            QUERYABLE => Declaration::Queryable {
                id,
                wire_expr,
                info,
            },
            _ => Declaration::Token { id, wire_expr },
        };
        let before = self.model.sources();
        self.bench.declare(face, None, body);
        let thing = (kind, key.to_owned());
        let wanted = self.model.is_wanted(&thing);
        let relation = self.model.faces[&face].relation;
        if self.is_open(face) && (relation != Relation::Upstream || wanted) {
            let face = self.model.faces.get_mut(&face).expect("it is connected");
            face.declare(thing, id, info);
        }
        self.model.follow(&before);
        format!("{face} declares {body:?}, that is {key}")
    }

    fn undeclare(&mut self, face: FaceId) -> String {
        let (kind, id) = (self.random.below(3), self.random.below(4) as u32);
        let body = match kind {
            SUBSCRIBER => Declaration::UndeclareSubscriber { id, key: None },
            QUERYABLE => Declaration::UndeclareQueryable { id, key: None },
            _ => Declaration::UndeclareToken { id, key: None },
        };
        let before = self.model.sources();
        self.bench.declare(face, None, body);
        let known = self.model.faces.get_mut(&face).expect("it is connected");
        known.undeclare(kind, id);
        self.model.follow(&before);
        format!("{face} undeclares {body:?}")
    }

    fn interest(&mut self, face: FaceId) -> String {
        let id = self.random.below(4) as u32 + 1;
        let letters = self
            .random
            .of(&["S", "KS", "SA", "Q", "QA", "T", "KT", "KSQTA", "SQT"]);
        let mode = self
            .random
            .of(&[InterestMode::CurrentFuture, InterestMode::Future]);
        // A neighbour that asks for changes only gets no declaration that has ended and is not yet
        // forgotten when it asks.
        let mode = match self.sweeps_at_once {
            true => mode,
            false => InterestMode::CurrentFuture,
        };
        let key = (!self.random.one_in(5)).then(|| self.random.of(&KEYS).to_owned());
        self.send_interest(face, (id, mode, letters), key.as_deref());
        let before = self.model.sources();
        let known = self.model.faces.get_mut(&face).expect("it is connected");
        let asking = Asking {
            mode,
            options: options(letters),
            key,
            aggregate: letters.contains('A') && known.whatami == WhatAmI::Client,
            pending: true,
        };
        let what = format!("{face} asks {asking:?} as {id}");
        match known.relation {
            Relation::PeerToPeer => *known.finals.entry(id).or_default() += 1,
            Relation::Served => {
                known.interests.insert(id, asking.clone());
                self.forget_uncovered(face);
                self.model.forget_unwanted();
                if mode == InterestMode::CurrentFuture {
                    self.model.answer(face, &asking);
                }
            }
            _ => {}
        }
        self.model.follow(&before);
        self.deliver();
        self.model.settle();
        what
    }

    fn end_interest(&mut self, face: FaceId) -> String {
        let id = self.random.below(4) as u32 + 1;
        self.send_interest(face, (id, InterestMode::Final, ""), None);
        let before = self.model.sources();
        let known = self.model.faces.get_mut(&face).expect("it is connected");
        if known.interests.remove(&id).is_some() {
            self.forget_uncovered(face);
            self.model.forget_unwanted();
        }
        self.model.follow(&before);
        format!("{face} ends interest {id}")
    }

    /// Drops what no interest covers, from what a served face ought to have and from what it has.
    fn forget_uncovered(&mut self, face: FaceId) {
        self.deliver();
        let known = self.model.faces.get_mut(&face).expect("it is connected");
        known.forget_uncovered();
    }

    /// Queries the tokens that exist.
    fn question(&mut self, face: FaceId) -> String {
        self.next_question += 1;
        let id = self.next_question;
        let key = self.random.of(&KEYS);
        self.deliver();
        self.send_interest(face, (id, InterestMode::Current, "T"), Some(key));
        self.deliver();
        let relation = self.model.faces[&face].relation;
        let answers = matches!(relation, Relation::Served | Relation::PeerToPeer);
        let sources = self.model.sources();
        let views = self.model.views(&sources, face);
        // A peer knows its own tokens.
        let knows_own = relation == Relation::Served && {
            let asker = &self.model.faces[&face];
            asker.whatami == WhatAmI::Peer
        };
        let has = |thing: &Thing| sources[thing].iter().any(|(from, _, _)| *from == face);
        let expected: BTreeSet<String> = views
            .into_keys()
            .filter(|thing| answers && thing.0 == TOKEN && intersects(&thing.1, key))
            .filter(|thing| !(knows_own && has(thing)))
            .map(|thing| thing.1)
            .collect();
        let got = self.model.faces[&face].got.answers.get(&id).cloned();
        let got = got.unwrap_or_default();
        if self.bench.table.is_sweeping() {
            // Tokens that have ended may still be announced.
            assert!(got.is_superset(&expected), "{}", self.now);
        } else {
            assert_eq!(got, expected, "{}", self.now);
        }
        let mut open = false;
        for (gateway, known) in &self.model.faces {
            for (asked, interest) in &known.got.asked {
                let is_new = !self
                    .questions
                    .iter()
                    .any(|(at, _)| *at == (*gateway, *asked));
                if interest.want.0 == InterestMode::Current && is_new {
                    self.questions.push(((*gateway, *asked), (face, id)));
                    open = true;
                }
            }
        }
        if answers && !open {
            self.end_question((face, id));
        }
        format!("{face} asks for the tokens on {key} as {id}")
    }

    fn end_question(&mut self, question: (FaceId, u32)) {
        let open = self.questions.iter().any(|(_, other)| *other == question);
        if question.0 == self.model.local {
            return;
        }
        if let (false, Some(asker)) = (open, self.model.faces.get_mut(&question.0)) {
            *asker.finals.entry(question.1).or_default() += 1;
        }
    }

    /// Ends an answer that the neighbour owes.
    fn finish(&mut self, face: FaceId) -> String {
        self.deliver();
        let known = self.model.faces.get_mut(&face).expect("it is connected");
        match known.relation {
            Relation::PeerToPeer => {
                known.final_zero = true;
                self.listeners.final_zero(face);
                self.bench.declare(face, Some(0), Declaration::Final);
            }
            Relation::Upstream => {
                let ids: Vec<u32> = known.got.asked.keys().copied().collect();
                if ids.is_empty() {
                    return "nothing".into();
                }
                let id = self.random.of(&ids);
                if let Some(asked) = known.got.asked.get_mut(&id) {
                    asked.finalised = true;
                    if asked.want.0 == InterestMode::Current {
                        known.got.asked.remove(&id);
                    }
                }
                self.listeners.finished(face, id);
                self.bench.declare(face, Some(id), Declaration::Final);
                let at = self.questions.iter().position(|(at, _)| *at == (face, id));
                if let Some(at) = at {
                    let (_, question) = self.questions.remove(at);
                    self.end_question(question);
                }
                self.model.settle();
            }
            _ => {}
        }
        format!("{face} finishes an answer")
    }

    fn send_interest(
        &mut self,
        face: FaceId,
        (id, mode, letters): (u32, InterestMode, &str),
        key: Option<&str>,
    ) {
        let written = key.map(|key| self.write_key(face, key));
        let interest = Interest {
            id,
            mode,
            options: options(letters),
            wire_expr: written.as_ref().map(Written::as_wire_expr),
            qos: Qos::DECLARE,
            timestamp: None,
            node_id: 0,
        };
        self.bench.receive(face, &encoded(&interest));
    }

    /// Returns a key as the neighbour may write it: in full, or with any id of either side.
    fn write_key(&mut self, face: FaceId, key: &str) -> Written {
        let known = &self.model.faces[&face];
        let theirs = known
            .key_ids
            .iter()
            .map(|(id, text)| (*id, text, Mapping::Sender));
        let ours = known.got.key_ids.iter();
        let ours = ours.map(|(id, text)| (*id, text, Mapping::Receiver));
        let mut choices = vec![Written {
            scope: 0,
            mapping: Mapping::Sender,
            suffix: key.to_owned(),
        }];
        for (scope, text, mapping) in theirs.chain(ours) {
            if let Some(suffix) = key.strip_prefix(text.as_str()) {
                let suffix = suffix.to_owned();
                choices.push(Written {
                    scope,
                    mapping,
                    suffix,
                });
            }
        }
        choices.sort();
        self.random.of(&choices)
    }

    fn is_open(&self, face: FaceId) -> bool {
        let relation = self.model.faces[&face].relation;
        flows(relation, Relation::Local)
    }

    /// Lets every neighbour read its messages.
    fn deliver(&mut self) {
        for face in self.remotes() {
            let bytes = self.bench.bytes(face);
            let known = self.model.faces.get_mut(&face).expect("it is connected");
            known.read(&bytes);
            if known.relation == Relation::Served {
                let interests = known.interests.clone();
                let covered = |(kind, _): &(usize, u32), (key, _): &mut (String, _)| {
                    let thing = (*kind, key.clone());
                    interests.values().any(|asking| asking.covers(&thing))
                };
                known.got.told.retain(covered);
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Written {
    scope: u16,
    mapping: Mapping,
    suffix: String,
}

impl Written {
    fn as_wire_expr(&self) -> WireExpr<'_> {
        WireExpr {
            scope: self.scope,
            suffix: &self.suffix,
            mapping: self.mapping,
        }
    }
}

/// SplitMix64: a small generator that starts well from any seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }
}
