// SPDX-License-Identifier: MIT OR Apache-2.0

//! Questions in a network: sent on, answered, ended.

use std::time::Duration;

use zonda_codec::{KeyExpr, Qos, Target};
use zonda_router::table::{Branches, FaceId, Locality, NewQuery, QueryDispatch, QuerySearch};

use crate::link::Message;
use crate::node::key_expr;
use crate::world::World;

/// The time that a question waits for its answers.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The longest time that a session takes to answer.
const THINKING: Duration = Duration::from_millis(500);

/// A question of a session, and its answers.
pub struct Question {
    pub key: &'static str,
    /// The nodes and queryables that answered.
    pub answers: Vec<(usize, u32)>,
    pub ended: bool,
}

/// A session that is asked and will answer.
pub struct Asked {
    node: usize,
    starts: u32,
    face: FaceId,
    rid: u32,
    queryables: Vec<u32>,
}

impl World {
    /// The session of a node asks everybody; gives the question's number.
    pub fn ask(&mut self, node: usize, key: &'static str) -> u32 {
        let asker = &mut self.nodes[node];
        let (face, rid) = (asker.local, asker.table.next_query_id(asker.local));
        let question = Question {
            key,
            answers: Vec::new(),
            ended: false,
        };
        asker.questions.insert(rid, question);
        self.question(node, (face, rid, 0), key);
        self.settle(node);
        rid
    }

    fn question(&mut self, node: usize, (face, rid, node_id): (FaceId, u32, u16), key: &str) {
        let expr: KeyExpr<'_> = key_expr(key);
        let ask = NewQuery {
            rid,
            key: &expr,
            target: Target::All,
            qos: Qos::REQUEST,
            timeout: TIMEOUT,
            querier: None,
            destination: Locality::Any,
            hears_of_losses: true,
        };
        let now = self.now();
        let table = &mut self.nodes[node].table;
        let mut search = QuerySearch::with_node_id(node_id);
        let dispatch = loop {
            if let Some(dispatch) = table.search_query(face, &ask, now, &mut search) {
                break dispatch;
            }
        };
        if let QueryDispatch::Sent(branches) = dispatch {
            self.branch_out(node, branches, key);
        }
    }

    fn branch_out(&mut self, node: usize, branches: Branches, key: &str) {
        for hop in branches.hops {
            let question = Message::Question {
                rid: hop.rid,
                key: key.to_owned(),
                node_id: hop.node_id,
            };
            self.post(node, hop.face, question);
        }
        for local in branches.local {
            let due = self.now() + self.up_to(THINKING);
            let asked = Asked {
                node,
                starts: self.nodes[node].starts,
                face: local.face,
                rid: local.rid,
                queryables: local.queryables,
            };
            self.asked.push((due, asked));
        }
    }

    /// A session has thought.
    pub fn answer(&mut self, asked: Asked) {
        let Asked { node, face, .. } = asked;
        if self.nodes[node].starts != asked.starts {
            return;
        }
        for queryable in asked.queryables {
            self.pass_on(node, (face, asked.rid), (node, queryable));
        }
        self.nodes[node].table.finish_branch(face, asked.rid);
        self.settle(node);
    }

    /// An answer goes to the face that asked.
    pub fn pass_on(&mut self, node: usize, (face, rid): (FaceId, u32), by: (usize, u32)) {
        let found = &mut self.nodes[node];
        let Some(asker) = found.table.origin_of_reply(face, rid) else {
            return;
        };
        if asker.face == found.local {
            let question = found.questions.get_mut(&asker.rid).expect("it asked");
            assert!(!question.ended, "an answer after the end");
            question.answers.push(by);
        } else if self.link_of(node, asker.face).is_some() {
            // Else whoever asked is gone, and the table has yet to forget the question.
            let rid = asker.rid;
            self.post(node, asker.face, Message::Answer { rid, by });
        }
    }

    /// Takes a message of a question.
    pub fn asked_or_told(&mut self, node: usize, face: FaceId, message: Message) {
        match message {
            Message::Question { rid, key, node_id } => {
                self.question(node, (face, rid, node_id), &key);
            }
            Message::Answer { rid, by } => self.pass_on(node, (face, rid), by),
            Message::Final { rid } => self.nodes[node].table.finish_branch(face, rid),
            Message::Data { number, node_id } => self.carry(node, (face, node_id), number),
            Message::Control(_) => unreachable!("it is for the table"),
        }
        self.settle(node);
    }

    /// Asks what was held and can be asked now, and ends what has ended.
    pub fn settle(&mut self, node: usize) {
        while self.nodes[node].table.may_release_held() {
            let now = self.now();
            for (rid, branches) in self.nodes[node].table.release_held(now) {
                let key = self.nodes[node].questions[&rid].key;
                self.branch_out(node, branches, key);
            }
        }
        let mut actions = Vec::new();
        self.nodes[node].table.watch_held(&mut actions);
        self.post_all(node, actions);
        for ended in self.nodes[node].table.take_ended() {
            let asker = ended.origin;
            if asker.face == self.nodes[node].local {
                let question = self.nodes[node].questions.get_mut(&asker.rid);
                let question = question.expect("it asked");
                assert!(!question.ended, "a question ends once");
                question.ended = true;
            } else if self.link_of(node, asker.face).is_some() {
                // Else nobody is there any more to be told.
                self.post(node, asker.face, Message::Final { rid: asker.rid });
            }
        }
        self.plan_look(node);
    }
}
