// SPDX-License-Identifier: MIT OR Apache-2.0

//! Model of the table with nothing but lists and linear scans, and the state of each neighbour
//! according to the bytes it got.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use zonda_codec::key_expr::intersects;
use zonda_codec::{
    Declaration, InterestMode, InterestOptions, Mapping, NetworkMessage, QueryableInfo, Reader,
    WhatAmI, WireExpr,
};
use zonda_table::{FaceId, Relation};

pub const SUBSCRIBER: usize = 0;
pub const QUERYABLE: usize = 1;
pub const TOKEN: usize = 2;

const OPTIONS: [InterestOptions; 3] = [
    InterestOptions::SUBSCRIBERS,
    InterestOptions::QUERYABLES,
    InterestOptions::TOKENS,
];

/// A kind and a key.
pub type Thing = (usize, String);

/// Mode, options without aggregation, key.
pub type Want = (InterestMode, InterestOptions, Option<String>);

/// A declaration of a face.
#[derive(Debug, Clone)]
pub struct Declared {
    pub thing: Thing,
    /// `None` once the id was reused for another key.
    pub id: Option<u32>,
}

#[derive(Debug, Clone)]
pub struct Asking {
    pub mode: InterestMode,
    pub options: InterestOptions,
    pub key: Option<String>,
    pub aggregate: bool,
    /// True while its final waits for the gateways.
    pub pending: bool,
}

impl Asking {
    pub fn covers(&self, thing: &Thing) -> bool {
        self.options.contains(OPTIONS[thing.0])
            && self
                .key
                .as_ref()
                .is_none_or(|key| intersects(key, &thing.1))
    }

    fn group(&self, kind: usize) -> Option<&String> {
        let wanted = self.aggregate && kind != TOKEN && self.options.contains(OPTIONS[kind]);
        self.key.as_ref().filter(|_| wanted)
    }

    fn want(&self) -> Want {
        let bits = self.options.bits() & !InterestOptions::AGGREGATE.bits();
        let options = InterestOptions::from_bits(bits);
        (self.mode, options, self.key.clone())
    }
}

/// An interest that a gateway got.
#[derive(Debug, Clone)]
pub struct Asked {
    pub want: Want,
    pub finalised: bool,
}

/// One face: its declarations, what it ought to know, and what it got.
#[derive(Debug, Clone)]
pub struct Face {
    pub relation: Relation,
    pub whatami: WhatAmI,
    pub declared: Vec<Declared>,
    pub promises: BTreeMap<Thing, QueryableInfo>,
    pub key_ids: BTreeMap<u16, String>,
    pub interests: BTreeMap<u32, Asking>,
    pub final_zero: bool,
    /// Declarations that a served face ought to have got, one by one and aggregated.
    pub known: BTreeSet<Thing>,
    pub known_groups: BTreeSet<Thing>,
    /// Queryables that the face asked about too late, or no longer one by one: it may get changes
    /// of their sources, but need not.
    pub maybe_known: BTreeSet<Thing>,
    /// Number of finals that it ought to have got, by interest.
    pub finals: BTreeMap<u32, usize>,
    pub got: Got,
}

/// State of a face after the bytes it got.
#[derive(Debug, Clone, Default)]
pub struct Got {
    pub key_ids: HashMap<u16, String>,
    pub told: BTreeMap<(usize, u32), (String, QueryableInfo)>,
    pub finals: BTreeMap<u32, usize>,
    /// Tokens announced with id 0, by interest.
    pub answers: BTreeMap<u32, BTreeSet<String>>,
    pub asked: BTreeMap<u32, Asked>,
}

impl Face {
    pub fn new(relation: Relation, whatami: WhatAmI) -> Self {
        Face {
            relation,
            whatami,
            declared: Vec::new(),
            promises: BTreeMap::new(),
            key_ids: BTreeMap::new(),
            interests: BTreeMap::new(),
            final_zero: false,
            known: BTreeSet::new(),
            known_groups: BTreeSet::new(),
            maybe_known: BTreeSet::new(),
            finals: BTreeMap::new(),
            got: Got::default(),
        }
    }

    pub fn declare(&mut self, thing: Thing, id: u32, info: QueryableInfo) {
        let same_id =
            |declared: &&mut Declared| declared.id == Some(id) && declared.thing.0 == thing.0;
        self.promises.insert(thing.clone(), info);
        match self.declared.iter_mut().find(same_id) {
            Some(declared) if declared.thing == thing => return,
            Some(declared) => declared.id = None,
            None => {}
        }
        let id = Some(id);
        self.declared.push(Declared { thing, id });
    }

    pub fn undeclare(&mut self, kind: usize, id: u32) {
        self.declared
            .retain(|declared| declared.id != Some(id) || declared.thing.0 != kind);
    }

    /// Returns the full key of an expression that the table wrote to this face.
    pub fn read_key(&self, expr: &WireExpr<'_>) -> String {
        let text = match (expr.scope, expr.mapping) {
            (0, _) => "",
            (scope, Mapping::Sender) => &self.got.key_ids[&scope],
            (scope, Mapping::Receiver) => &self.key_ids[&scope],
        };
        format!("{text}{}", expr.suffix)
    }

    /// Reads messages of the table.
    pub fn read(&mut self, bytes: &[u8]) {
        let mut reader = Reader::new(bytes);
        while !reader.is_empty() {
            match NetworkMessage::decode(&mut reader).expect("a message") {
                NetworkMessage::Declare(declare) => {
                    self.read_declaration(declare.interest_id, &declare.body);
                }
                NetworkMessage::Interest(interest) if interest.mode == InterestMode::Final => {
                    let ended = self.got.asked.remove(&interest.id);
                    assert!(ended.is_some(), "the end of an interest that never was");
                }
                NetworkMessage::Interest(interest) => {
                    let key = interest.wire_expr.map(|expr| self.read_key(&expr));
                    let want = (interest.mode, interest.options, key);
                    let finalised = false;
                    let new = Asked { want, finalised };
                    let old = self.got.asked.insert(interest.id, new);
                    assert!(old.is_none(), "an interest id used twice");
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn read_declaration(&mut self, interest: Option<u32>, body: &Declaration<'_>) {
        let plain = QueryableInfo::default();
        match body {
            Declaration::KeyExpr { id, wire_expr } => {
                assert_eq!(wire_expr.scope, 0, "ids are declared in full");
                let old = self.got.key_ids.insert(*id, wire_expr.suffix.into());
                assert!(old.is_none() && !self.key_ids.contains_key(id));
                let may = self.relation != Relation::Served
                    || self.interests.values().any(|asking| {
                        asking.options.contains(InterestOptions::KEYEXPRS)
                            && asking
                                .key
                                .as_ref()
                                .is_none_or(|key| intersects(key, wire_expr.suffix))
                    });
                assert!(may, "an id nobody asked for");
            }
            Declaration::Subscriber { id, wire_expr } => {
                self.hear((SUBSCRIBER, *id), wire_expr, plain);
            }
            Declaration::Queryable {
                id,
                wire_expr,
                info,
            } => self.hear((QUERYABLE, *id), wire_expr, *info),
            Declaration::Token { id: 0, wire_expr } => {
                let interest = interest.expect("id 0 is for answers");
                let key = self.read_key(wire_expr);
                self.got.answers.entry(interest).or_default().insert(key);
            }
            Declaration::Token { id, wire_expr } => self.hear((TOKEN, *id), wire_expr, plain),
            Declaration::UndeclareSubscriber { id, .. } => self.unhear((SUBSCRIBER, *id)),
            Declaration::UndeclareQueryable { id, .. } => self.unhear((QUERYABLE, *id)),
            Declaration::UndeclareToken { id, .. } => self.unhear((TOKEN, *id)),
            Declaration::Final => {
                let interest = interest.expect("a final ends something");
                *self.got.finals.entry(interest).or_default() += 1;
            }
            other => panic!("{other:?}"),
        }
    }

    fn hear(&mut self, id: (usize, u32), expr: &WireExpr<'_>, info: QueryableInfo) {
        let key = self.read_key(expr);
        if let Some((old, _)) = self.got.told.get(&id) {
            assert_eq!(*old, key, "an id for two keys");
        }
        self.got.told.insert(id, (key, info));
    }

    fn unhear(&mut self, id: (usize, u32)) {
        let known = self.got.told.remove(&id).is_some();
        assert!(
            known || self.relation == Relation::Served,
            "the end of nothing"
        );
    }

    /// Adds what the face got without need to what it ought to have.
    pub fn learn(&mut self) {
        for thing in std::mem::take(&mut self.maybe_known) {
            let told = self.got.told.iter();
            let told = told.filter(|((kind, _), (key, _))| (*kind, key) == (thing.0, &thing.1));
            let others = usize::from(self.known_groups.contains(&thing));
            if !self.known.contains(&thing) && told.count() > others {
                self.known.insert(thing);
            }
        }
    }

    /// Removes what no interest covers any more, as clients do.
    pub fn forget_uncovered(&mut self) {
        let interests: Vec<Asking> = self.interests.values().cloned().collect();
        let covered = |thing: &Thing| interests.iter().any(|asking| asking.covers(thing));
        let grouped = |thing: &Thing| {
            interests
                .iter()
                .any(|asking| asking.group(thing.0) == Some(&thing.1))
        };
        self.known.retain(covered);
        self.maybe_known.retain(covered);
        self.known_groups.retain(grouped);
    }
}

/// All faces, including the session's.
#[derive(Debug, Clone)]
pub struct Model {
    pub role: WhatAmI,
    pub faces: BTreeMap<FaceId, Face>,
    pub local: FaceId,
    pub publishers: BTreeMap<u32, String>,
    /// Keys of the session's token listeners.
    pub listened: Vec<String>,
    pub queriers: BTreeMap<u32, String>,
}

/// Faces that declared each thing, with its completeness and distance.
type Sources = BTreeMap<Thing, Vec<(FaceId, bool, QueryableInfo)>>;

impl Model {
    pub fn sources(&self) -> Sources {
        let mut sources = Sources::new();
        for (&id, face) in &self.faces {
            let south = is_south(face.relation);
            let things: BTreeSet<&Thing> = face
                .declared
                .iter()
                .map(|declared| &declared.thing)
                .collect();
            for thing in things {
                let info = face.promises.get(thing).copied().unwrap_or_default();
                let entry = sources.entry(thing.clone()).or_default();
                entry.push((id, south, info));
            }
        }
        sources
    }

    /// Returns the declaration of `thing` that a face may see.
    fn view(&self, sources: &Sources, thing: &Thing, to: FaceId) -> Option<QueryableInfo> {
        let south = is_south(self.faces[&to].relation);
        let mut seen = sources.get(thing)?.iter().filter(|(from, from_south, _)| {
            (*from_south || south) && (*from != to || thing.0 == TOKEN)
        });
        let mut merged = seen.next()?.2;
        for (_, _, info) in seen {
            merged.complete |= info.complete;
            merged.distance = merged.distance.min(info.distance);
        }
        Some(merged)
    }

    pub fn views(&self, sources: &Sources, to: FaceId) -> BTreeMap<Thing, QueryableInfo> {
        let view = |thing: &Thing| Some((thing.clone(), self.view(sources, thing, to)?));
        sources.keys().filter_map(view).collect()
    }

    /// Notes what served faces ought to get after the sources changed from `before`.
    pub fn follow(&mut self, before: &Sources) {
        let after = self.sources();
        let things: BTreeSet<&Thing> = before.keys().chain(after.keys()).collect();
        for id in self.faces.keys().copied().collect::<Vec<_>>() {
            if self.faces[&id].relation != Relation::Served {
                continue;
            }
            let now = self.views(&after, id);
            let mut face = self.faces[&id].clone();
            let seen_before = |thing: &Thing| self.view(before, thing, id).is_some();
            for &thing in &things {
                if seen_before(thing) && !now.contains_key(thing) {
                    face.known.remove(thing);
                    face.maybe_known.remove(thing);
                }
            }
            let sees_any = |group: &Thing| {
                let mut things = now.keys();
                things.any(|thing| thing.0 == group.0 && intersects(&thing.1, &group.1))
            };
            face.known_groups.retain(sees_any);
            for &thing in &things {
                let came = !seen_before(thing) && now.contains_key(thing);
                let changed = thing.0 == QUERYABLE
                    && now.contains_key(thing)
                    && before.get(thing) != after.get(thing);
                for asking in face.interests.values() {
                    match asking.group(thing.0) {
                        _ if !asking.covers(thing) => {}
                        Some(key) if came => {
                            face.known_groups.insert((thing.0, key.clone()));
                        }
                        None if came => {
                            face.known.insert(thing.clone());
                        }
                        _ if changed && !came => {
                            face.maybe_known.insert(thing.clone());
                        }
                        _ => {}
                    }
                }
            }
            self.faces.insert(id, face);
        }
    }

    /// Notes what the answer to a kept interest has.
    pub fn answer(&mut self, id: FaceId, asking: &Asking) {
        let now = self.views(&self.sources(), id);
        let face = self.faces.get_mut(&id).expect("it is connected");
        for thing in now.into_keys().filter(|thing| asking.covers(thing)) {
            match asking.group(thing.0) {
                Some(key) => face.known_groups.insert((thing.0, key.clone())),
                None => face.known.insert(thing),
            };
        }
    }

    /// Returns the interests that this node ought to have at its gateways.
    pub fn wants(&self) -> BTreeMap<String, Want> {
        let about = |kind: usize| {
            let options = InterestOptions::KEYEXPRS | OPTIONS[kind];
            move |key: &String| (InterestMode::CurrentFuture, options, Some(key.clone()))
        };
        let publishers = self.publishers.values().map(about(SUBSCRIBER));
        let own = publishers.chain(self.queriers.values().map(about(QUERYABLE)));
        let listened = self.listened.iter().map(about(TOKEN));
        let served = self.faces.values().flat_map(|face| face.interests.values());
        let all = own.chain(listened).chain(served.map(Asking::want));
        match self.role {
            WhatAmI::Router => BTreeMap::new(),
            _ => all.map(|want| (format!("{want:?}"), want)).collect(),
        }
    }

    pub fn is_wanted(&self, thing: &Thing) -> bool {
        self.wants().values().any(|(_, options, key)| {
            options.contains(OPTIONS[thing.0])
                && key.as_ref().is_none_or(|key| intersects(key, &thing.1))
        })
    }

    /// Removes what gateways declared under interests that have ended.
    pub fn forget_unwanted(&mut self) {
        let snapshot = self.clone();
        for face in self.faces.values_mut() {
            if face.relation == Relation::Upstream {
                face.declared
                    .retain(|declared| snapshot.is_wanted(&declared.thing));
            }
        }
    }

    pub fn gateways(&self) -> impl Iterator<Item = &Face> {
        let faces = self.faces.values();
        faces.filter(|face| face.relation == Relation::Upstream)
    }

    fn waits(&self, want: &Want) -> bool {
        self.gateways().any(|gateway| {
            let mut asked = gateway.got.asked.values();
            asked.any(|asked| asked.want == *want && !asked.finalised)
        })
    }

    /// Notes the finals that are due after a change of the gateways' state.
    pub fn settle(&mut self) {
        let snapshot = self.clone();
        for face in self.faces.values_mut() {
            for (id, asking) in &mut face.interests {
                if asking.pending && !snapshot.waits(&asking.want()) {
                    asking.pending = false;
                    *face.finals.entry(*id).or_default() += 1;
                }
            }
        }
    }

    /// Returns the neighbours that a message goes to.
    pub fn hops(&self, from: FaceId, key: &str, publisher: Option<u32>) -> Vec<FaceId> {
        let source = self.faces[&from].relation;
        let goes = |(id, face): &(&FaceId, &Face)| {
            let matches = face.declared.iter().any(|declared| {
                declared.thing.0 == SUBSCRIBER && intersects(&declared.thing.1, key)
            });
            let unfiltered = match face.relation {
                Relation::PeerToPeer => !face.final_zero,
                Relation::Upstream => !self.knows(face, (SUBSCRIBER, key), publisher),
                _ => false,
            };
            **id != from && flows(source, face.relation) && (matches || unfiltered)
        };
        let remote = self.faces.iter().filter(|(id, _)| **id != self.local);
        remote.filter(goes).map(|(id, _)| *id).collect()
    }

    /// Returns true if a gateway's declarations of a kind are known, to the publisher or querier
    /// `own` or to all.
    pub fn knows(&self, gateway: &Face, (kind, key): (usize, &str), own: Option<u32>) -> bool {
        let own = own.and_then(|id| self.publishers.get(&id).or(self.queriers.get(&id)));
        let key = own.map_or(key, String::as_str);
        gateway.got.asked.values().any(|asked| {
            let (mode, options, about) = &asked.want;
            let shape = match own {
                Some(_) => *options == InterestOptions::KEYEXPRS | OPTIONS[kind],
                None => options.contains(OPTIONS[kind]),
            };
            let is_kept = *mode == InterestMode::CurrentFuture;
            asked.finalised && shape && is_kept && about.as_deref() == Some(key)
        })
    }

    pub fn hears(&self, from: FaceId, key: &str) -> bool {
        let source = self.faces[&from].relation;
        self.faces.iter().any(|(id, face)| {
            flows(source, face.relation)
                && (*id != from || *id == self.local)
                && face.declared.iter().any(|declared| {
                    declared.thing.0 == SUBSCRIBER && intersects(&declared.thing.1, key)
                })
        })
    }
}

fn is_south(relation: Relation) -> bool {
    matches!(relation, Relation::Local | Relation::Served)
}

pub fn flows(from: Relation, to: Relation) -> bool {
    let closed = |relation| matches!(relation, Relation::RouterToRouter | Relation::Unrelated);
    !closed(from) && !closed(to) && (is_south(from) || is_south(to))
}
