// SPDX-License-Identifier: MIT OR Apache-2.0

//! The session's steps in random histories: declarations and their ends, listeners, queries, and
//! notices.

use zonda_codec::key_expr::intersects;
use zonda_codec::{Declaration, QueryableInfo, WireExpr};
use zonda_table::{Counterpart, FaceId, Kind, Own};

use super::{History, KEYS};
use crate::bench::key_expr;
use crate::model::{SUBSCRIBER, TOKEN};
use crate::session::token_asks;

impl History {
    pub(super) fn local_subscriber(&mut self) -> String {
        let (local, id) = (self.model.local, self.random.below(4) as u32);
        let key = self.random.of(&KEYS);
        let before = self.model.sources();
        let face = self.model.faces.get_mut(&local).expect("it stays");
        let end = self.random.one_in(3);
        face.undeclare(SUBSCRIBER, id);
        if end {
            self.bench.act(|table, actions| {
                table.local_undeclare(local.own(id), Kind::Subscriber, actions)
            });
        } else {
            let thing = (SUBSCRIBER, key.to_owned());
            face.declare(thing, id, QueryableInfo::default());
            self.bench.act(|table, actions| {
                table.local_declare(local.own(id), Own::SUBSCRIBER, &key_expr(key), actions)
            });
        }
        self.model.follow(&before);
        format!("local subscriber {id} on {key}, end {end}")
    }

    pub(super) fn local_publisher(&mut self) -> String {
        let (local, id) = (self.model.local, self.random.below(3) as u32);
        let key = self.random.of(&KEYS);
        let before = self.model.sources();
        let end = self.random.one_in(3);
        self.model.publishers.remove(&id);
        self.model.forget_unwanted();
        if end {
            self.bench
                .act(|table, actions| table.undeclare_local_sender(local.own(id), actions));
        } else {
            self.bench.act(|table, actions| {
                table.local_sender(local.own(id), Kind::Subscriber, &key_expr(key), actions)
            });
            self.model.publishers.insert(id, key.to_owned());
        }
        self.kept.forget(id);
        self.listeners.end_owner(&mut self.bench, id);
        self.model.follow(&before);
        format!("local publisher {id} on {key}, end {end}")
    }

    pub(super) fn local_token(&mut self) -> String {
        let (local, id) = (self.model.local, self.random.below(4) as u32);
        let (key, end) = (self.random.of(&KEYS), self.random.one_in(2));
        let before = self.model.sources();
        let face = self.model.faces.get_mut(&local).expect("it stays");
        face.undeclare(TOKEN, id);
        if end {
            self.bench
                .act(|table, actions| table.local_undeclare(local.own(id), Kind::Token, actions));
        } else {
            face.declare((TOKEN, key.to_owned()), id, QueryableInfo::default());
            self.bench.act(|table, actions| {
                table.local_declare(local.own(id), Own::TOKEN, &key_expr(key), actions)
            });
        }
        self.model.follow(&before);
        format!("local token {id} on {key}, end {end}")
    }

    pub(super) fn token_listener(&mut self) -> String {
        let number = self.random.below(3) as u32;
        let (key, history) = (self.random.of(&KEYS), self.random.one_in(2));
        let before = self.model.sources();
        self.listeners.end_listener(&mut self.bench, number);
        self.model.listened = self.listeners.wanted();
        self.model.forget_unwanted();
        self.model.follow(&before);
        self.listeners.follow(&self.model);
        let begin = !self.random.one_in(4);
        if begin {
            self.listeners
                .listen(&mut self.bench, number, (key, history));
            self.model.listened = self.listeners.wanted();
        }
        format!("token listener {number} on {key}, history {history}, begin {begin}")
    }

    pub(super) fn matching_listener(&mut self) -> String {
        let owner = self.random.below(5) as u32;
        self.listeners.end_match(&mut self.bench, owner);
        let what = self.random.of(&[
            Counterpart::Subscribers,
            Counterpart::Queryables,
            Counterpart::CompleteQueryables,
        ]);
        let key = self.random.of(&KEYS);
        let publisher = self.model.publishers.get(&owner).cloned();
        let key = publisher.as_deref().unwrap_or(key);
        if !self.random.one_in(5) {
            self.listeners
                .match_with(&mut self.bench, owner, (key, what));
        }
        format!("{what:?} of {owner} on {key}")
    }

    /// Lets the session query the tokens that exist.
    pub(super) fn local_question(&mut self) -> String {
        self.deliver();
        if self.random.one_in(4) {
            self.listeners.time_out(&mut self.bench);
            return "the time of all local questions is over".into();
        }
        let key = self.random.of(&KEYS);
        let asked = self.listeners.ask(&mut self.bench, &self.model, key);
        self.note_asked(Some(asked));
        format!("the session asks for the tokens on {key}")
    }

    /// Lets a gateway answer a query of the session.
    pub(super) fn answer_local(&mut self, gateway: FaceId) -> String {
        let asks = self.listeners.open_asks(gateway);
        if asks.is_empty() {
            return "nothing".into();
        }
        let (interest, key) = self.random.of(&asks);
        let answers: Vec<&str> = KEYS
            .into_iter()
            .filter(|other| intersects(other, &key))
            .collect();
        let answer = self.random.of(&answers);
        self.listeners.answered(gateway, interest, answer);
        let wire_expr = WireExpr::full(answer);
        let body = Declaration::Token { id: 0, wire_expr };
        self.bench.declare(gateway, Some(interest), body);
        format!("{gateway} answers {interest} with {answer}")
    }

    /// Notes the gateways that were just asked for a query of the session, or for those that waited
    /// for a gateway.
    pub(super) fn note_asked(&mut self, question: Option<u32>) {
        self.deliver();
        let known = &self.questions;
        let mut new = token_asks(&self.model);
        new.retain(|(gateway, asked, _)| !known.iter().any(|(at, _)| *at == (*gateway, *asked)));
        self.listeners.note_asked(&new, question);
        let asker = (self.model.local, 0);
        let new = new.iter();
        self.questions
            .extend(new.map(|(gateway, asked, _)| ((*gateway, *asked), asker)));
    }

    /// Lets the session's listeners read their notices.
    pub(super) fn hear(&mut self) {
        self.listeners.follow(&self.model);
        self.listeners.read(&mut self.bench, &self.now);
    }
}
