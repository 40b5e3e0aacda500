// SPDX-License-Identifier: MIT OR Apache-2.0

//! Checks after every step of a random history: the state of neighbours, queries and routes equal
//! those of the model.

use std::sync::Arc;

use zonda_codec::key_expr::{includes, intersects};
use zonda_codec::{InterestMode, Mapping};
use zonda_table::{Counterpart, FaceId, Locality, Relation, Route, Validity};

use super::{History, KEYS};
use crate::bench::key_expr;
use crate::model::{Face, QUERYABLE, SUBSCRIBER, Thing, flows};

/// Routes that were computed, as publishers and connections cache them.
#[derive(Default)]
pub(super) struct Kept {
    routes: Vec<(Asked, Route, Arc<Validity>)>,
}

/// Source, key and publisher of a route.
type Asked = (FaceId, String, Option<u32>);

impl Kept {
    /// Drops the routes of a publisher that has ended.
    pub(super) fn forget(&mut self, ended: u32) {
        let is_theirs = |publisher: &Option<u32>| *publisher == Some(ended);
        self.routes
            .retain(|((.., publisher), ..)| !is_theirs(publisher));
    }
}

impl History {
    /// Checks that each cached route is correct while its validity holds and its source is there.
    fn check_kept(&mut self) {
        let (table, faces) = (&self.bench.table, &self.model.faces);
        self.kept
            .routes
            .retain(|((from, ..), _, validity)| validity.holds() && faces.contains_key(from));
        for ((from, key, publisher), kept, _) in &self.kept.routes {
            let route = table.route(*from, &key_expr(key), *publisher);
            assert_eq!(*kept, route, "{key} from {from} after {}", self.now);
        }
    }

    pub(super) fn check(&mut self) {
        self.model.faces.values_mut().for_each(Face::learn);
        let sources = self.model.sources();
        for (id, face) in &self.model.faces {
            let now = &self.now;
            assert_eq!(face.got.finals, face.finals, "finals of {id} after {now}");
            let views = self.model.views(&sources, *id);
            let mut believed: Vec<Thing> = Vec::new();
            for ((kind, _), (key, info)) in &face.got.told {
                let thing = (*kind, key.clone());
                if face.known.contains(&thing) && !face.known_groups.contains(&thing) {
                    assert_eq!(
                        Some(info),
                        views.get(&thing),
                        "{thing:?} of {id} after {now}"
                    );
                }
                if thing.0 == QUERYABLE
                    && face.known_groups.contains(&thing)
                    && !face.known.contains(&thing)
                    && !face.maybe_known.contains(&thing)
                {
                    let complete = views.iter().any(|((kind, of), info)| {
                        *kind == QUERYABLE && info.complete && includes(of, key)
                    });
                    assert_eq!(info.complete, complete, "{thing:?} of {id} after {now}");
                }
                believed.push(thing);
            }
            believed.sort();
            let mut expected: Vec<Thing> = match face.relation {
                Relation::Upstream | Relation::PeerToPeer => views.keys().cloned().collect(),
                _ => face
                    .known
                    .iter()
                    .chain(&face.known_groups)
                    .cloned()
                    .collect(),
            };
            expected.sort();
            assert_eq!(
                believed, expected,
                "beliefs of {id}, which asked {:?}, after {now}",
                face.interests
            );
            if face.relation == Relation::Upstream {
                let asked = face.got.asked.values();
                let kept = asked.filter(|asked| asked.want.0 != InterestMode::Current);
                let mut asked: Vec<String> =
                    kept.map(|asked| format!("{:?}", asked.want)).collect();
                asked.sort();
                let wants: Vec<String> = self.model.wants().into_keys().collect();
                assert_eq!(asked, wants, "questions to {id} after {now}");
            }
        }
        self.listeners.check(&self.model, &self.now);
        self.check_routes();
    }

    pub(super) fn check_routes(&mut self) {
        self.check_kept();
        for _ in 0..3 {
            self.check_route();
        }
    }

    fn check_route(&mut self) {
        let faces: Vec<FaceId> = self.model.faces.keys().copied().collect();
        let (from, key) = (self.random.of(&faces), self.random.of(&KEYS));
        let publishers: Vec<(u32, String)> = self.model.publishers.clone().into_iter().collect();
        let (publisher, key) = match publishers.is_empty() || from != self.model.local {
            true => (None, key.to_owned()),
            false => {
                let (id, key) = self.random.of(&publishers);
                (Some(id), key)
            }
        };
        let now = format!("{key} from {from} after {}", self.now);
        let route = self.bench.table.route(from, &key_expr(&key), publisher);
        let hops: Vec<FaceId> = route.hops.iter().map(|hop| hop.face).collect();
        assert_eq!(hops, self.model.hops(from, &key, publisher), "{now}");
        for hop in &route.hops {
            let face = &self.model.faces[&hop.face];
            let expr = hop.wire_expr();
            assert_eq!(face.read_key(&expr), key, "{now}");
            let texts = face.key_ids.values().chain(face.got.key_ids.values());
            let usable = |text: &&String| {
                let rest = key.strip_prefix(text.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            let longest = texts.filter(usable).map(String::len).max().unwrap_or(0);
            assert_eq!(key.len() - hop.suffix.len(), longest, "{now}");
            let theirs = face.key_ids.values().any(|text| *text == key[..longest]);
            assert_eq!(hop.mapping == Mapping::Receiver, theirs, "{now}");
        }
        let local = &self.model.faces[&self.model.local];
        let open = flows(self.model.faces[&from].relation, Relation::Local);
        let mut ids: Vec<u32> = local
            .declared
            .iter()
            .filter(|declared| open && declared.thing.0 == SUBSCRIBER)
            .filter(|declared| intersects(&declared.thing.1, &key))
            .filter_map(|declared| declared.id)
            .collect();
        ids.sort_unstable();
        assert_eq!(route.local, ids, "{now}");
        let table = &self.bench.table;
        let audience = Counterpart::Subscribers.within(Locality::Any);
        assert_eq!(
            table.has_counterpart(from, &key, audience),
            self.model.hears(from, &key),
            "{now}"
        );
        let table = &mut self.bench.table;
        let mut search = table.begin_route(from, key_expr(&key).into_owned(), publisher);
        assert_eq!(table.search_route(&mut search), Some(route.clone()));
        let asked = (from, key, publisher);
        self.kept.routes.push((asked, route, search.validity()));
    }
}
