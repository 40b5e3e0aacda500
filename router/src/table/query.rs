// SPDX-License-Identifier: MIT OR Apache-2.0

//! Questions on their way: from the asker to all nodes that may answer, and the answers back.
//!
//! A question has one branch for each face that is asked, under a number of its own there. It is open until every branch
//! has ended (by its final, with its face, or by the timeout); then it [has ended](Ended), once, and whatever
//! still comes under those numbers is nobody's. The table does not see what is asked and answered: messages go
//! from face to face with another number and another key.

mod destinations;
mod ends;
mod held;
mod own;
mod pending;

use std::time::{Duration, Instant};

use zonda_codec::{KeyExpr, Mapping, Qos, Target, WireExpr, ZenohId};

use crate::table::{
    FaceId, FaceKind, face::Face, key_tree::steps::Steps, locality::Locality, policy::Relation,
    search::SLICE_STEPS, table::ForwardingTable,
};

pub use destinations::QuestionSearch;
pub(super) use ends::LeavingQuestions;
pub(super) use pending::{FaceQuestions, Questions};

use destinations::Destination;
use pending::{Branch, Pending};

/// The longest that a question waits, whatever it asks for.
const TIMEOUT_MAX: Duration = Duration::from_secs(7 * 24 * 3600);

/// A question that arrives.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// Its number; the asker's choice.
    pub rid: u32,
    /// The keys asked for, in full.
    pub key: &'a KeyExpr<'a>,
    /// Which queryables are to be asked.
    pub target: Target,
    /// How the question, and so its answers, are to be treated.
    pub qos: Qos,
    /// How long the asker waits; a week at most.
    pub timeout: Duration,
    /// The id of the declared querier it comes from, if it comes from a local one.
    pub querier: Option<u32>,
    /// Where it goes, if it comes from the session.
    pub destination: Locality,
}

/// What becomes of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disposal {
    /// It is to be sent to these.
    Asked(Branches),
    /// It waits for somebody to ask: see [`ForwardingTable::release_held`].
    Held,
    /// It has ended already, and is among the [ended](ForwardingTable::take_ended).
    Ended,
    /// It is ignored, and counted: its number is that of an open question of the same face, or the face may not ask.
    Ignored,
}

/// The destinations of a question.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Branches {
    /// One per neighbour, ordered by face; never the asker.
    pub hops: Vec<QueryHop>,
    /// The faces of this node itself that are asked: its session, its admin space.
    pub local: Vec<LocalBranch>,
}

/// One neighbour that is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryHop {
    /// The neighbour.
    pub face: FaceId,
    /// The question's number there.
    pub rid: u32,
    /// A declared key expression id, or 0.
    pub scope: u16,
    /// Whose id the scope is.
    pub mapping: Mapping,
    /// From which byte of the key on text follows the scope.
    pub skip: usize,
}

impl QueryHop {
    /// `key`, which is the question's, as it is written to this neighbour.
    pub fn wire_expr<'k>(&self, key: &'k str) -> WireExpr<'k> {
        WireExpr {
            scope: self.scope,
            suffix: key.get(self.skip..).unwrap_or(""),
            mapping: self.mapping,
        }
    }
}

/// A face of this node itself that is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalBranch {
    /// The session, or the admin space.
    pub face: FaceId,
    /// The question's number there.
    pub rid: u32,
    /// The session's queryables that are asked, each by its id.
    pub queryables: Vec<u32>,
}

/// Who asked a question, and under which number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asker {
    /// The face it came from.
    pub face: FaceId,
    /// Its number there.
    pub rid: u32,
    /// How it is to be treated, and so its answers.
    pub qos: Qos,
}

/// A question that has ended. The asker is to hear of it, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Who asked.
    pub asker: Asker,
    /// How it ended.
    pub how: Ending,
}

/// How a question ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Everybody has answered, or there was nobody to ask.
    Complete,
    /// This neighbour was lost before it had answered in full; everybody else has.
    LinkLost(ZenohId),
    /// So many, at least one, had not answered in full when the time was over.
    TimedOut(usize),
}

impl ForwardingTable {
    /// A question from `face`, be it a neighbour or the session. The same number may be used again once the question
    /// has ended.
    pub fn handle_question(&mut self, face: FaceId, ask: &Ask<'_>, now: Instant) -> Disposal {
        let mut search = QuestionSearch::default();
        loop {
            if let Some(disposal) = self.search_question(face, ask, now, &mut search) {
                return disposal;
            }
        }
    }

    /// The same for [`SLICE_STEPS`] of the search for those to ask; `None` if there is more to look at. To be called again
    /// then, with the same question.
    pub fn search_question(
        &mut self,
        face: FaceId,
        ask: &Ask<'_>,
        now: Instant,
        search: &mut QuestionSearch,
    ) -> Option<Disposal> {
        if let Some(refused) = self.refuse(face, ask) {
            return Some(refused);
        }
        self.tell_time(now);
        let steps = Steps::new(SLICE_STEPS);
        let found = self.search_destinations(face, ask, search, &steps)?;
        let is_own = self.is_local(face);
        let holds = is_own && ask.destination.is_beyond() && self.is_to_hold(&found, now);
        if found.is_empty() && !holds {
            return Some(self.end_unasked(face, ask));
        }
        let question = self.open_question(face, ask, now);
        if holds {
            self.hold(question, ask);
            return Some(Disposal::Held);
        }
        let branches = self.branch_out(question, ask.key, ask.target, &found);
        Some(Disposal::Asked(branches))
    }

    /// What becomes of a question that is not to be asked.
    fn refuse(&mut self, face: FaceId, ask: &Ask<'_>) -> Option<Disposal> {
        let limit = self.limits.questions_max;
        let Some(source) = self.face_mut(face) else {
            return Some(Disposal::Ignored);
        };
        let is_own = source.info.kind == FaceKind::Local;
        if !source.relation.conduct().open {
            source.counters.misplaced += 1;
            return Some(Disposal::Ignored);
        }
        if source.questions.asked.contains_key(&ask.rid) {
            source.counters.repeated_questions += 1;
            return Some(Disposal::Ignored);
        }
        if source.questions.asked.len() >= limit && !is_own {
            source.counters.questions_refused += 1;
            let note = source.note_of_refused_question(limit);
            self.notes.extend(note);
            return Some(self.end_unasked(face, ask));
        }
        None
    }

    /// Whose question `face` answers under `rid`. `None` if that question has ended, or never was; counted.
    pub fn answered(&mut self, face: FaceId, rid: u32) -> Option<Asker> {
        let asker = self.asker_of(face, rid);
        if asker.is_none()
            && let Some(source) = self.face_mut(face)
        {
            source.counters.unknown_answers += 1;
        }
        asker
    }

    /// The same, without counting.
    pub fn asker_of(&self, face: FaceId, rid: u32) -> Option<Asker> {
        let question = *self.face(face)?.questions.branches.get(&rid)?;
        Some(self.questions.open.get(question)?.asker())
    }

    /// A question whose key makes no sense: it ends at once.
    pub fn refuse_question(&mut self, asker: Asker) {
        let known = self.face(asker.face).map(|face| &face.questions.asked);
        if known.is_some_and(|asked| !asked.contains_key(&asker.rid)) {
            let how = Ending::Complete;
            self.questions.ended.push(Ended { asker, how });
        }
    }

    /// `face` has answered question `rid` in full. Ignored and counted if that question has ended, or never was.
    pub fn finish_branch(&mut self, face: FaceId, rid: u32) {
        let Some(source) = self.face_mut(face) else {
            return;
        };
        match source.questions.branches.remove(&rid) {
            Some(question) => {
                let slot = face.index;
                self.end_branch(question, Branch { slot, rid });
            }
            None => source.counters.unknown_answers += 1,
        }
    }

    /// The asker does not want to know any more; tells whether the question was open. It is not among the
    /// [ended](Self::take_ended).
    pub fn forget_question(&mut self, face: FaceId, rid: u32) -> bool {
        let asked = self.face(face).map(|source| &source.questions.asked);
        let question = asked.and_then(|asked| asked.get(&rid).copied());
        question.is_some_and(|question| self.close_question(question).is_some())
    }

    /// The questions that have ended since the last call, in that order. The caller tells the askers.
    pub fn take_ended(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.questions.ended)
    }

    /// Whether [`take_ended`](Self::take_ended) has something to give.
    #[inline]
    pub fn has_ended(&self) -> bool {
        !self.questions.ended.is_empty()
    }

    /// How many questions are open.
    pub fn open_questions(&self) -> usize {
        self.questions.open_count
    }

    /// When the first open question times out.
    pub fn question_deadline(&self) -> Option<Instant> {
        Some(self.questions.deadlines.first()?.0)
    }

    /// A number for a question of the session that no open one has.
    pub fn next_question_id(&mut self, face: FaceId) -> u32 {
        let questions = self.face_mut(face).map(|face| &mut face.questions);
        questions.map_or(0, FaceQuestions::next_asked_id)
    }

    /// A question that ends before it has begun.
    fn end_unasked(&mut self, face: FaceId, ask: &Ask<'_>) -> Disposal {
        let (rid, qos) = (ask.rid, ask.qos);
        self.questions.ended.push(Ended {
            asker: Asker { face, rid, qos },
            how: Ending::Complete,
        });
        Disposal::Ended
    }

    fn open_question(&mut self, face: FaceId, ask: &Ask<'_>, now: Instant) -> u32 {
        let deadline = now + ask.timeout.min(TIMEOUT_MAX);
        let question = self.questions.insert(Pending::new(
            Asker {
                face,
                rid: ask.rid,
                qos: ask.qos,
            },
            deadline,
        ));
        if let Some(source) = self.face_mut(face) {
            source.questions.asked.insert(ask.rid, question);
        }
        question
    }

    /// Gives a question its branches.
    fn branch_out(
        &mut self,
        question: u32,
        key: &KeyExpr<'_>,
        target: Target,
        destinations: &[Destination],
    ) -> Branches {
        let mut branches = Branches::default();
        for &Destination { slot, .. } in destinations {
            let Some(face) = self.faces.get_mut(slot) else {
                continue;
            };
            let rid = face.questions.next_branch_id();
            face.questions.branches.insert(rid, question);
            match face.info.kind {
                FaceKind::Remote => branches.hops.push(hop(face, rid, key)),
                FaceKind::Local => branches.local.push(LocalBranch {
                    face: face.id,
                    rid,
                    queryables: Vec::new(),
                }),
            }
            if let Some(pending) = self.questions.open.get_mut(question) {
                pending.branches.insert(Branch { slot, rid });
            }
        }
        let asker = self.questions.open.get(question).map(Pending::asker);
        let is_own = asker.is_some_and(|asker| self.is_local(asker.face));
        for branch in &mut branches.local {
            let complete_only = target == Target::AllComplete;
            branch.queryables = self.own_queryables(branch.face, is_own, key, complete_only);
        }
        branches
    }
}

fn hop(face: &Face, rid: u32, key: &KeyExpr<'_>) -> QueryHop {
    let spelling = face.ids.spell(key.as_str());
    QueryHop {
        face: face.id,
        rid,
        scope: spelling.scope,
        mapping: spelling.mapping,
        skip: spelling.skip,
    }
}

/// How far away what a face declares is: the session itself, a served node, somebody further off.
fn distance(relation: Relation, announced: u16) -> u32 {
    match relation {
        Relation::Local => 0,
        Relation::Served => 1,
        _ => 1 + u32::from(announced),
    }
}
