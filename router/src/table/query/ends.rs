// SPDX-License-Identifier: MIT OR Apache-2.0

//! How questions end: with their last branch, with a link, with the time.

use std::collections::hash_map;
use std::time::Instant;

use zonda_codec::ZenohId;

use crate::table::{
    query::{
        Ended, Ending,
        pending::{Branch, FaceQuestions, Pending},
    },
    table::ForwardingTable,
};

/// Questions that time out in one go; the next ones follow when others had their turn.
const EXPIRED_SLICE_MAX: usize = 1000;

/// What is left to end of a neighbour that is gone: the questions it was asked, and those it asked.
#[derive(Debug)]
pub(in crate::table) struct LeavingQuestions {
    slot: u32,
    zid: ZenohId,
    branches: hash_map::IntoIter<u32, u32>,
    asked: hash_map::IntoIter<u32, u32>,
}

impl LeavingQuestions {
    /// Of a face that stood at `slot`; `None` if there are none.
    pub(in crate::table) fn new(slot: u32, zid: ZenohId, questions: FaceQuestions) -> Option<Self> {
        let FaceQuestions {
            branches, asked, ..
        } = questions;
        let any = !(branches.is_empty() && asked.is_empty());
        any.then(|| LeavingQuestions {
            slot,
            zid,
            branches: branches.into_iter(),
            asked: asked.into_iter(),
        })
    }
}

impl ForwardingTable {
    /// Ends the questions whose time is over, at most [`EXPIRED_SLICE_MAX`] in one go.
    pub(in crate::table) fn expire_questions(&mut self, now: Instant) {
        for _ in 0..EXPIRED_SLICE_MAX {
            let Some(&(deadline, question)) = self.questions.deadlines.first() else {
                return;
            };
            if deadline > now {
                return;
            }
            if let Some(pending) = self.close_question(question) {
                let open = pending.branches.as_slice().len().max(1);
                self.questions.ended.push(Ended {
                    asker: pending.asker(),
                    how: Ending::TimedOut(open),
                });
            }
        }
    }

    /// Goes on with ending what neighbours had to do with questions that are gone; false if there was nothing left.
    pub(in crate::table) fn sweep_questions(&mut self) -> bool {
        let Some(mut leaving) = self.leaving_questions.pop_front() else {
            return false;
        };
        for _ in 0..self.limits.removal_slice_max.max(1) {
            if let Some((rid, question)) = leaving.branches.next() {
                let slot = leaving.slot;
                self.lose_branch(question, Branch { slot, rid }, leaving.zid);
            } else if let Some((rid, question)) = leaving.asked.next() {
                self.drop_asked(leaving.slot, rid, question);
            } else {
                return true;
            }
        }
        self.leaving_questions.push_front(leaving);
        true
    }

    /// One of those asked has answered in full, and its face does not list the branch any more.
    pub(super) fn end_branch(&mut self, question: u32, branch: Branch) {
        let Some(pending) = self.questions.open.get_mut(question) else {
            return;
        };
        if !pending.branches.remove(branch) || !pending.branches.as_slice().is_empty() {
            return;
        }
        if let Some(pending) = self.close_question(question) {
            self.questions.ended.push(Ended {
                asker: pending.asker(),
                how: pending.ending(),
            });
        }
    }

    /// Forgets a question, and that its branches are asked.
    pub(super) fn close_question(&mut self, question: u32) -> Option<Pending> {
        let pending = self.questions.remove(question)?;
        for branch in pending.branches.as_slice() {
            if let Some(face) = self.faces.get_mut(branch.slot) {
                face.questions.branches.remove(&branch.rid);
            }
        }
        let asker = pending.asker();
        if let Some(face) = self.face_mut(asker.face) {
            face.questions.asked.remove(&asker.rid);
        }
        Some(pending)
    }

    fn lose_branch(&mut self, question: u32, branch: Branch, zid: ZenohId) {
        let Some(pending) = self.questions.open.get_mut(question) else {
            return;
        };
        if !pending.branches.as_slice().contains(&branch) {
            return;
        }
        if pending.lost.is_none() {
            pending.lost = Some(Box::new(zid));
        }
        self.end_branch(question, branch);
    }

    /// Nobody waits for the answers to this question any more.
    fn drop_asked(&mut self, slot: u32, rid: u32, question: u32) {
        let asker = self.questions.open.get(question).map(Pending::asker);
        if asker.is_some_and(|asker| asker.face.index == slot && asker.rid == rid) {
            self.close_question(question);
        }
    }
}
