// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries in random histories: each goes where lists and linear scans say and ends exactly once,
//! correctly, and nothing arrives for it afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use zonda_codec::key_expr::{includes, intersects};
use zonda_codec::{Qos, QueryableInfo, Target, WhatAmI};
use zonda_table::{
    Branches, Ended, Ending, FaceId, Kind, NewQuery, Own, QueryDispatch, QueryOrigin, Reach,
    Relation,
};

use super::{History, KEYS};
use crate::bench::{key_expr, zid};
use crate::model::{Model, QUERYABLE, flows};

/// Time for which a lost neighbour is expected back.
const ABSENCE: Duration = Duration::from_secs(10);

/// Time for which nodes behind a returned gateway are waited for.
const SETTLING: Duration = Duration::from_secs(5);

/// The queries of a history.
pub struct Asks {
    now: Instant,
    open: Vec<Open>,
    /// Ends that askers ought to get.
    ended: Vec<Ended>,
    /// The ids of neighbours, as numbers.
    pub numbers: BTreeMap<FaceId, u128>,
    absent: Vec<(u128, Instant)>,
    /// True while a gateway is expected back.
    lacks_gateway: bool,
    settles_until: Option<Instant>,
    /// The session's queryables, with the completeness of each.
    own: BTreeMap<u32, (String, bool)>,
}

/// An open query.
#[derive(Debug, Clone)]
struct Open {
    asker: QueryOrigin,
    key: String,
    target: Target,
    querier: Option<u32>,
    deadline: Instant,
    branches: BTreeSet<(FaceId, u32)>,
    lost: Option<u128>,
    held: bool,
}

/// Destinations that a query ought to have: faces, and whether each declared a matching queryable.
type Destinations = BTreeMap<FaceId, bool>;

impl Default for Asks {
    fn default() -> Self {
        Asks {
            now: Instant::now(),
            open: Vec::new(),
            ended: Vec::new(),
            numbers: BTreeMap::new(),
            absent: Vec::new(),
            lacks_gateway: false,
            settles_until: None,
            own: BTreeMap::new(),
        }
    }
}

impl History {
    pub fn question_step(&mut self, face: FaceId) -> String {
        let asker = match self.random.one_in(3) {
            true => self.model.local,
            false => face,
        };
        match self.random.below(10) {
            0..=3 => self.ask(asker),
            4..=6 => self.end_branch(face),
            7 => self.local_queryable(),
            8 => self.forget(asker),
            _ => {
                let wait = self.random.of(&[1, 40, 900, 6000]);
                self.asks.now += Duration::from_millis(wait);
                format!("{wait} ms pass")
            }
        }
    }

    fn ask(&mut self, face: FaceId) -> String {
        let (rid, key) = (self.random.below(6) as u32 + 1, self.random.of(&KEYS));
        let target = self
            .random
            .of(&[Target::BestMatching, Target::All, Target::AllComplete]);
        let queriers: Vec<u32> = self.model.queriers.keys().copied().collect();
        let asks_as = face == self.model.local && !queriers.is_empty() && self.random.one_in(2);
        let querier = asks_as.then(|| self.random.of(&queriers));
        let key = querier.map_or(key.to_owned(), |id| self.model.queriers[&id].clone());
        let timeout = Duration::from_millis(self.random.of(&[0, 30, 500, 20_000]));
        let expr = key_expr(&key);
        let ask = NewQuery {
            rid,
            key: &expr,
            target,
            qos: Qos::from_bits(rid as u8),
            timeout,
            querier,
            destination: Reach::ANY,
            hears_of_losses: true,
        };
        let table = &mut self.bench.table;
        let disposal = table.handle_query(face, &ask, self.asks.now);
        let what =
            format!("{face} asks {target:?} for {key} as {rid} of {querier:?}: {disposal:?}");
        let qos = ask.qos;
        let mut open = Open {
            asker: QueryOrigin {
                face,
                rid,
                qos,
                hears_of_losses: true,
            },
            key: key.clone(),
            target,
            querier,
            deadline: self.asks.now + timeout,
            branches: BTreeSet::new(),
            lost: None,
            held: false,
        };
        let repeated = self.asks.open.iter().any(|other| other.asker == open.asker);
        let goes = self.model.destinations(&open);
        if repeated || !flows(self.model.faces[&face].relation, Relation::Local) {
            assert_eq!(disposal, QueryDispatch::Ignored, "{what}");
        } else if self.asks.holds(&self.model, &open, &goes) {
            assert_eq!(disposal, QueryDispatch::Held, "{what}");
            open.held = true;
            self.asks.open.push(open);
        } else if goes.is_empty() {
            assert_eq!(disposal, QueryDispatch::Ended, "{what}");
            let (asker, how) = (open.asker, Ending::Complete);
            self.asks.ended.push(Ended { origin: asker, how });
        } else {
            let QueryDispatch::Sent(branches) = disposal else {
                panic!("{what}, but it goes to {goes:?}, after {}", self.now);
            };
            self.enter(open, &branches, &goes);
        }
        what
    }

    /// Notes the branches of a query that was sent.
    fn enter(&mut self, mut open: Open, branches: &Branches, goes: &Destinations) {
        let now = format!("{open:?} after {}", self.now);
        for hop in &branches.hops {
            let face = &self.model.faces[&hop.face];
            let expr = hop.wire_expr(&open.key);
            assert_eq!(face.read_key(&expr), open.key, "{now}");
            open.branches.insert((hop.face, hop.rid));
        }
        for branch in &branches.local {
            open.branches.insert((branch.face, branch.rid));
            let matching = self.asks.own.iter().filter(|(_, (key, complete))| {
                intersects(key, &open.key) && (*complete || open.target != Target::AllComplete)
            });
            let matching: Vec<u32> = matching.map(|(id, _)| *id).collect();
            assert_eq!(branch.queryables, matching, "{now}");
        }
        let faces: Vec<FaceId> = open.branches.iter().map(|(face, _)| *face).collect();
        let expected: Vec<FaceId> = goes.keys().copied().collect();
        assert_eq!(faces, expected, "{now}");
        for other in &self.asks.open {
            assert!(open.branches.is_disjoint(&other.branches), "{now}");
        }
        self.asks.open.push(open);
    }

    /// Replies from a face, whether or not it has a branch, and may end the branch.
    fn end_branch(&mut self, face: FaceId) -> String {
        let all = self.asks.open.iter().flat_map(|open| &open.branches);
        let all: Vec<(FaceId, u32)> = all.copied().collect();
        let (face, rid) = match all.is_empty() || self.random.one_in(4) {
            true => (face, self.random.below(8) as u32),
            false => self.random.of(&all),
        };
        let at = (face, rid);
        let mut open = self.asks.open.iter();
        let found = open.position(|open| open.branches.contains(&at));
        let asker = found.map(|index| self.asks.open[index].asker);
        let table = &mut self.bench.table;
        assert_eq!(table.origin_of_reply(face, rid), asker, "{}", self.now);
        if self.random.one_in(3) {
            return format!("{face} answers {rid}");
        }
        table.finish_branch(face, rid);
        if let Some(index) = found {
            self.asks.open[index].branches.remove(&at);
            self.asks.end_finished(index);
        }
        format!("{face} ends {rid}")
    }

    fn forget(&mut self, face: FaceId) -> String {
        let rid = self.random.below(6) as u32 + 1;
        let is_it = |open: &Open| (open.asker.face, open.asker.rid) == (face, rid);
        let known = self.asks.open.iter().position(is_it);
        let forgotten = self.bench.table.forget_query(face, rid);
        assert_eq!(forgotten, known.is_some(), "{}", self.now);
        if let Some(index) = known {
            self.asks.open.remove(index);
        }
        format!("{face} forgets {rid}")
    }

    fn local_queryable(&mut self) -> String {
        let (local, id) = (self.model.local, self.random.below(4) as u32);
        let (key, complete) = (self.random.of(&KEYS), self.random.one_in(2));
        let before = self.model.sources();
        let end = self.random.one_in(3);
        let face = self.model.faces.get_mut(&local).expect("it stays");
        face.undeclare(QUERYABLE, id);
        self.asks.own.remove(&id);
        let info = QueryableInfo::default();
        if end {
            self.bench.act(|table, actions| {
                table.local_undeclare(local.own(id), Kind::Queryable, actions)
            });
        } else {
            face.declare((QUERYABLE, key.to_owned()), id, info);
            self.asks.own.insert(id, (key.to_owned(), complete));
            let key = &key_expr(key);
            self.bench.act(|table, actions| {
                table.local_declare(local.own(id), Own::queryable(complete), key, actions);
            });
        }
        let promises = face.promises.iter_mut();
        for (thing, info) in promises.filter(|(thing, _)| thing.0 == QUERYABLE) {
            let mut own = self.asks.own.values();
            info.complete = own.any(|(key, complete)| *key == thing.1 && *complete);
        }
        self.model.follow(&before);
        format!("local queryable {id} on {key}, complete {complete}, end {end}")
    }

    pub fn local_querier(&mut self) -> String {
        let (local, id) = (self.model.local, 100 + self.random.below(3) as u32);
        let (key, end) = (self.random.of(&KEYS), self.random.one_in(3));
        let before = self.model.sources();
        self.model.queriers.remove(&id);
        self.model.forget_unwanted();
        if end {
            self.bench
                .act(|table, actions| table.undeclare_local_sender(local.own(id), actions));
        } else {
            self.bench.act(|table, actions| {
                table.local_sender(local.own(id), Kind::Queryable, &key_expr(key), actions)
            });
            self.model.queriers.insert(id, key.to_owned());
        }
        self.model.follow(&before);
        format!("local querier {id} on {key}, end {end}")
    }

    /// Notes before a cut that the neighbour may be expected back.
    pub fn before_cut(&mut self, face: FaceId) {
        let Some(number) = self
            .asks
            .numbers
            .remove(&face)
            .filter(|_| self.sweeps_at_once)
        else {
            return;
        };
        if self.random.one_in(2) {
            self.bench.table.expect_back(zid(number), self.asks.now);
            self.asks.absent.retain(|(other, _)| *other != number);
            self.asks.absent.push((number, self.asks.now + ABSENCE));
            if self.bench.table.relation(face) == Some(Relation::Upstream) {
                self.asks.lacks_gateway = true;
            }
        }
        self.asks.lose(face, number);
    }

    /// Notes that a neighbour has connected.
    pub fn after_connect(&mut self, face: FaceId, number: u128) {
        self.asks.numbers.insert(face, number);
        self.asks.absent.retain(|(other, _)| *other != number);
        let is_gateway = self.bench.table.relation(face) == Some(Relation::Upstream);
        if is_gateway && std::mem::take(&mut self.asks.lacks_gateway) {
            self.asks.settles_until = Some(self.asks.now + SETTLING);
        }
    }

    /// Checks after every step: expires and releases queries, and compares their ends.
    pub fn check_questions(&mut self) {
        let now = self.asks.now;
        self.bench.act(|table, actions| table.expire(now, actions));
        self.asks.expire();
        let mut released = BTreeMap::new();
        if self.bench.table.may_release_held() {
            released = self.bench.table.release_held(now).into_iter().collect();
        }
        self.release(&mut released);
        assert!(released.is_empty(), "{released:?} after {}", self.now);
        let mut told: Vec<String> = lines(&self.bench.table.take_ended());
        let mut expected = lines(&std::mem::take(&mut self.asks.ended));
        told.sort();
        expected.sort();
        assert_eq!(told, expected, "after {}", self.now);
        let table = &self.bench.table;
        assert_eq!(table.open_queries(), self.asks.open.len());
        for open in &self.asks.open {
            for &(face, rid) in &open.branches {
                assert_eq!(
                    table.origin_of_query(face, rid),
                    Some(open.asker),
                    "{}",
                    self.now
                );
            }
        }
        let deadline = self.asks.open.iter().map(|open| open.deadline).min();
        assert_eq!(table.query_deadline(), deadline);
    }

    /// Releases queries that need not be held any longer.
    fn release(&mut self, released: &mut BTreeMap<u32, Branches>) {
        let held: Vec<Open> = self.asks.open.extract_if(.., |open| open.held).collect();
        for mut open in held {
            let goes = self.model.destinations(&open);
            open.held = self.asks.holds(&self.model, &open, &goes);
            if open.held {
                self.asks.open.push(open);
            } else if goes.is_empty() {
                let (asker, how) = (open.asker, Ending::Complete);
                self.asks.ended.push(Ended { origin: asker, how });
            } else {
                let branches = released.remove(&open.asker.rid);
                let branches = branches.unwrap_or_else(|| panic!("{open:?} after {}", self.now));
                self.enter(open, &branches, &goes);
            }
        }
    }
}

fn lines(ended: &[Ended]) -> Vec<String> {
    ended.iter().map(|ended| format!("{ended:?}")).collect()
}

impl Asks {
    /// Returns true if a query of the session is held.
    fn holds(&self, model: &Model, open: &Open, goes: &Destinations) -> bool {
        if open.asker.face != model.local {
            return false;
        }
        let is_client = model.role == WhatAmI::Client;
        if is_client && model.gateways().next().is_none() {
            return goes.is_empty();
        }
        if goes.values().all(|known| !known) && self.settles_until.is_some() {
            return true;
        }
        let unsure = |(face, known): (&FaceId, &bool)| {
            !known && model.faces[face].relation != Relation::Upstream
        };
        !is_client && goes.iter().all(unsure) && !self.absent.is_empty()
    }

    fn expire(&mut self) {
        let now = self.now;
        self.absent.retain(|(_, until)| *until > now);
        self.settles_until = self.settles_until.filter(|until| *until > now);
        for open in self.open.extract_if(.., |open| open.deadline <= now) {
            let how = Ending::TimedOut(open.branches.len().max(1));
            let asker = open.asker;
            self.ended.push(Ended { origin: asker, how });
        }
    }

    /// Removes a lost neighbour: its queries, and the branches to it.
    fn lose(&mut self, face: FaceId, number: u128) {
        self.open.retain(|open| open.asker.face != face);
        for index in (0..self.open.len()).rev() {
            let open = &mut self.open[index];
            let before = open.branches.len();
            open.branches.retain(|(other, _)| *other != face);
            if open.branches.len() < before {
                open.lost.get_or_insert(number);
                self.end_finished(index);
            }
        }
    }

    fn end_finished(&mut self, index: usize) {
        if !self.open[index].branches.is_empty() {
            return;
        }
        let Open { asker, lost, .. } = self.open.remove(index);
        let how = lost.map_or(Ending::Complete, |number| Ending::LinkLost(zid(number)));
        self.ended.push(Ended { origin: asker, how });
    }
}

impl Model {
    /// Returns the destinations of a query.
    fn destinations(&self, open: &Open) -> Destinations {
        let Open {
            asker, key, target, ..
        } = open;
        let source = self.faces[&asker.face].relation;
        let mut known = BTreeMap::new();
        let mut unsure = Vec::new();
        for (&id, face) in &self.faces {
            let itself = id == asker.face && id != self.local;
            if itself || !flows(source, face.relation) {
                continue;
            }
            let things = face.declared.iter().map(|declared| &declared.thing);
            let matching: Vec<_> = things
                .filter(|thing| thing.0 == QUERYABLE && intersects(&thing.1, key))
                .collect();
            let complete = matching.iter().filter_map(|thing| {
                let info = face.promises.get(thing)?;
                let distance = match face.relation {
                    Relation::Local => 0,
                    Relation::Served => 1,
                    _ => 1 + u32::from(info.distance),
                };
                (info.complete && includes(&thing.1, key)).then_some(distance)
            });
            if !matching.is_empty() {
                known.insert(id, complete.min());
            }
            match face.relation {
                Relation::PeerToPeer if !face.final_zero => unsure.push(id),
                Relation::Upstream if !self.knows(face, (QUERYABLE, key), open.querier) => {
                    unsure.push(id);
                }
                _ => {}
            }
        }
        let complete = known.iter().filter_map(|(id, at)| Some((at.as_ref()?, id)));
        if *target == Target::BestMatching
            && let Some((_, nearest)) = complete.min()
        {
            return BTreeMap::from([(*nearest, true)]);
        }
        known.retain(|_, at| *target != Target::AllComplete || at.is_some());
        let known = known.into_keys().map(|id| (id, true));
        unsure
            .into_iter()
            .map(|id| (id, false))
            .chain(known)
            .collect()
    }
}
