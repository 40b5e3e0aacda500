// SPDX-License-Identifier: MIT OR Apache-2.0

//! Answers to interests: what exists and matches, sent in slices, so that no answer keeps the others waiting for long,
//! however much there is to tell. Between two slices the table may change; what it then tells by itself and what the
//! rest of the answer tells is together what is true at the end.

use zonda_codec::{Declaration, InterestMode, InterestOptions};

use crate::table::{
    face_id::{Action, FaceId},
    forwarding::ForwardingTable,
    kept::{Answer, Asking, GroupKey, InterestRef, Rest},
    key_tree::{pattern::Pattern, steps::Steps},
    kind::{EntityRef, Kind},
    message,
    policy::Relation,
    search::{SLICE_LOOKS, Search},
    topology::Topology,
};

/// Bytes of declarations after which a slice ends, however few they are.
const SLICE_BYTES: usize = 256 * 1024;

/// The rest of a slice.
struct Slice {
    tells: usize,
    looks: usize,
    /// The place of the next action to be weighed.
    weighed: usize,
    bytes: usize,
}

impl Slice {
    fn is_over(&mut self, actions: &[Action]) -> bool {
        for action in actions.get(self.weighed..).unwrap_or(&[]) {
            self.bytes += action.weight();
        }
        self.weighed = actions.len();
        self.tells == 0 || self.looks == 0 || self.bytes >= SLICE_BYTES
    }
}

impl ForwardingTable {
    /// Goes on with an answer that was too long for one slice; true if there is more to tell. While there is, no other
    /// message of this neighbour should be handled: an interest would be kept waiting for the whole of it.
    pub fn answer_on(&mut self, face: FaceId, actions: &mut Vec<Action>) -> bool {
        if self.face(face).is_none() {
            return false;
        }
        let Some(answer) = self.interests.take_answer(face.index) else {
            return false;
        };
        self.answer_slice(face, *answer, actions);
        self.is_answering(face)
    }

    /// Tells if [`answer_on`](Self::answer_on) has something to do.
    pub fn is_answering(&self, face: FaceId) -> bool {
        self.face(face).is_some() && self.interests.is_answering(face.index)
    }

    /// Tells what is known and matches, as answers to the interest, or the first part of it, and ends it if it can.
    pub(super) fn answer(&mut self, face: FaceId, asking: Asking, actions: &mut Vec<Action>) {
        let answer = Answer {
            asking,
            kinds: &Kind::ALL,
            rest: None,
        };
        self.answer_slice(face, answer, actions);
    }

    fn answer_slice(&mut self, face: FaceId, mut answer: Answer, actions: &mut Vec<Action>) {
        let mut slice = Slice {
            tells: self.limits.answer_slice_max.max(1),
            looks: SLICE_LOOKS,
            weighed: actions.len(),
            bytes: 0,
        };
        while let Some((&kind, kinds)) = answer.kinds.split_first() {
            if slice.is_over(actions) {
                if self.face(face).is_some() {
                    self.interests.put_answer(face.index, answer);
                }
                return;
            }
            if !answer.asking.options.contains(kind.option())
                || !self.answer_some(face, kind, &mut answer, &mut slice, actions)
            {
                (answer.kinds, answer.rest) = (kinds, None);
            }
        }
        self.end_answer(face, answer.asking, actions);
    }

    /// Tells of some entities of a kind; false if it was the last of them.
    fn answer_some(
        &mut self,
        face: FaceId,
        kind: Kind,
        answer: &mut Answer,
        slice: &mut Slice,
        actions: &mut Vec<Action>,
    ) -> bool {
        let asking = &answer.asking;
        let rest = match &mut answer.rest {
            Some(rest) => rest,
            None => {
                let (slot, id) = (face.index, asking.id);
                let kept = self.interests.get(InterestRef { slot, id });
                let group = kept.and_then(|kept| kept.group_key(kind).cloned());
                let group = group.filter(|_| asking.mode != InterestMode::Current);
                answer.rest.insert(match group {
                    Some(key) => Rest::Group(key, Search::except(slot)),
                    None => {
                        let asker = self.topology.face(face);
                        let hides = |asker| Topology::hides_own(kind, asking.mode, asker);
                        let except = asker.is_some_and(hides).then_some(slot);
                        let key = asking.key.as_deref();
                        let entities = self.entities.of(kind);
                        Rest::Each(entities.list(key, except, &mut slice.looks))
                    }
                })
            }
        };
        match rest {
            Rest::Group(key, search) => {
                let (slot, id, key) = (face.index, asking.id, key.clone());
                let (asker, group) = (InterestRef { slot, id }, GroupKey { kind, key });
                let steps = Steps::new(slice.looks);
                let done = self.answer_group(asker, group, search, &steps, actions);
                slice.looks = slice.looks.saturating_sub(steps.spent());
                !done
            }
            Rest::Each(listing) => {
                let pattern = asking.key.as_deref().map(Pattern::new);
                loop {
                    let entities = self.entities(kind);
                    let next = entities.next_listed(listing, pattern.as_ref(), &mut slice.looks);
                    let Some(index) = next else {
                        break;
                    };
                    let entity = EntityRef { kind, index };
                    let is_told = self.answer_one(face, entity, asking, actions);
                    slice.tells -= usize::from(is_told);
                    if slice.is_over(actions) {
                        break;
                    }
                }
                listing.next_number(self.entities(kind)).is_some()
            }
        }
    }

    /// Tells of one entity if the asker may see it.
    fn answer_one(
        &mut self,
        face: FaceId,
        entity: EntityRef,
        asking: &Asking,
        actions: &mut Vec<Action>,
    ) -> bool {
        let Some(asker) = self.face(face) else {
            return false;
        };
        let EntityRef { kind, index } = entity;
        let sources = self.entities(kind).sources(index);
        if asking.mode == InterestMode::Current {
            let is_told = self.topology.tells_now(sources, asker);
            if is_told && let Some(key) = self.entities(kind).key(index) {
                self.announce_current(face, asking.id, &key, actions);
            }
            return is_told;
        }
        let Some(info) = self.topology.visible(kind, sources, asker) else {
            return false;
        };
        self.announce(entity, info, face.index, Some(asking.id), actions);
        true
    }

    /// One token of an answer that is not kept, once for each key, whether this node or a gateway knows of it.
    pub(super) fn announce_current(
        &mut self,
        face: FaceId,
        interest_id: u32,
        key: &str,
        actions: &mut Vec<Action>,
    ) {
        // Without gateways there is no other to tell of it.
        let may_be_told_again = !self.topology.gateways().is_empty();
        let told_max = self.limits.tokens_max;
        if !may_be_told_again || self.wants.tell((face, interest_id), key, told_max) {
            self.announce_token(face, interest_id, key, actions);
        }
    }

    /// The id of a token of an answer that is not kept means nothing and is 0.
    fn announce_token(
        &mut self,
        face: FaceId,
        interest_id: u32,
        key: &str,
        actions: &mut Vec<Action>,
    ) {
        if let Some(asker) = self.face(face) {
            let expr = asker.ids.spell_declared(key).wire_expr(key);
            let body = Declaration::Token {
                id: 0,
                wire_expr: expr,
            };
            message::declare(face, Some(interest_id), body, actions);
        }
    }

    /// All that this node knows by itself has been sent.
    fn end_answer(&mut self, face: FaceId, asking: Asking, actions: &mut Vec<Action>) {
        let id = asking.id;
        let relation = self.relation(face);
        let is_served = relation == Some(Relation::Served);
        let waits = if asking.mode == InterestMode::Current {
            let waits = is_served && self.ask_current(face, id, asking.key, actions);
            if !waits {
                self.wants.forget_told((face, id));
            }
            waits
        } else {
            let slot = face.index;
            match self.interests.get_mut(InterestRef { slot, id }) {
                Some(kept) => {
                    kept.answering = false;
                    kept.unanswered
                }
                // A served node's interest that is not kept any more has nothing to end.
                None => is_served,
            }
        };
        if !waits {
            message::declare(face, Some(id), Declaration::Final, actions);
        }
    }

    /// Current alone is served for tokens only; the reference answers nothing else.
    pub(super) fn answers_current(options: InterestOptions) -> bool {
        options.contains(InterestOptions::TOKENS)
            && !options.contains(InterestOptions::SUBSCRIBERS)
            && !options.contains(InterestOptions::QUERYABLES)
    }
}
