// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries in a network: forwarded, answered, ended.

use std::time::Duration;

use zonda_codec::{KeyExpr, NodeId, Qos, Target};
use zonda_router::table::{Branches, FaceId, NewQuery, QueryDispatch, QuerySearch, Reach};

use crate::link::Message;
use crate::node::key_expr;
use crate::world::World;

/// Timeout of a query.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Longest time that a session takes to answer.
const THINKING: Duration = Duration::from_millis(500);

/// A query of a session, and its replies.
pub struct Question {
    pub key: &'static str,
    /// The nodes and queryables that replied.
    pub answers: Vec<(usize, u32)>,
    pub ended: bool,
}

/// A session that got a query and will reply.
pub struct Asked {
    node: usize,
    starts: u32,
    face: FaceId,
    rid: u32,
    queryables: Vec<u32>,
}

impl World {
    /// Sends a query from a node's session to all queryables; returns the query's number.
    pub fn ask(&mut self, node: usize, key: &'static str) -> u32 {
        let asker = &mut self.nodes[node];
        let (face, rid) = (asker.local, asker.table.next_query_id(asker.local));
        let question = Question {
            key,
            answers: Vec::new(),
            ended: false,
        };
        asker.questions.insert(rid, question);
        self.question(node, (face, rid, NodeId::ITSELF), key);
        self.settle(node);
        rid
    }

    fn question(&mut self, node: usize, (face, rid, node_id): (FaceId, u32, NodeId), key: &str) {
        let expr: KeyExpr<'_> = key_expr(key);
        let ask = NewQuery {
            rid,
            key: &expr,
            target: Target::All,
            qos: Qos::REQUEST,
            timeout: TIMEOUT,
            querier: None,
            destination: Reach::ANY,
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

    /// Sends the replies of a session after its delay.
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

    /// Passes a reply to the face that asked.
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
            // Otherwise the asking face is gone, and the table has yet to remove the query.
            let rid = asker.rid;
            self.post(node, asker.face, Message::Answer { rid, by });
        }
    }

    /// Handles a message about a query.
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

    /// Sends held queries that can be sent now, and ends those that the table has ended.
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
                // Otherwise the asking face is gone, so no final is sent.
                self.post(node, asker.face, Message::Final { rid: asker.rid });
            }
        }
        self.plan_look(node);
    }
}
