// SPDX-License-Identifier: MIT OR Apache-2.0

//! Answers to interests: existing entities that match, sent in slices, so that the table's lock is
//! held for a short time however long an answer is. The table may change between two slices; the
//! changes that are announced and the rest of the answer together give the state at the end.

use zonda_codec::{Declaration, InterestMode, InterestOptions};

use crate::{
    face_id::{Action, FaceId},
    forwarding::ForwardingTable,
    gate::GatedKind,
    interest_records::{Answer, GroupKey, InterestRef, ResolvedInterest, Rest},
    key_tree::{pattern::Pattern, steps::Steps},
    kind::{EntityRef, Kind},
    message,
    policy::Relation,
    search::{SLICE_LOOKS, Search},
    topology::Topology,
};

/// Bytes of declarations after which a slice ends, however few the declarations are.
const SLICE_BYTES: usize = 256 * 1024;

/// Budget of a slice that is left.
struct Slice {
    tells: usize,
    looks: usize,
    /// Index of the next action whose bytes are to be counted.
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
    /// Continues an answer that was too long for one slice; true if more is left. While it is, no
    /// other message of this neighbour should be handled: an interest would wait for the whole answer.
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

    /// Returns true if [`answer_on`](Self::answer_on) has something to send.
    pub fn is_answering(&self, face: FaceId) -> bool {
        self.face(face).is_some() && self.interests.is_answering(face.index)
    }

    /// Sends the entities that match an interest, or the first slice of them, as answers, and ends
    /// the answer if it can.
    pub(super) fn answer(
        &mut self,
        face: FaceId,
        asking: ResolvedInterest,
        actions: &mut Vec<Action>,
    ) {
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

    /// Sends some entities of a kind; false if the last of them was sent.
    fn answer_some(
        &mut self,
        face: FaceId,
        kind: Kind,
        answer: &mut Answer,
        slice: &mut Slice,
        actions: &mut Vec<Action>,
    ) -> bool {
        // The first slice of a kind chooses between the group of the interest and the list of entities.
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
        // Send what is left of it, up to the end of the slice.
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

    /// Sends one entity if the asking face may see it.
    fn answer_one(
        &mut self,
        face: FaceId,
        entity: EntityRef,
        asking: &ResolvedInterest,
        actions: &mut Vec<Action>,
    ) -> bool {
        let Some(asker) = self.face(face) else {
            return false;
        };
        let EntityRef { kind, index } = entity;
        // A current interest has no ids; each key is sent once.
        let sources = self.entities(kind).sources(index);
        if asking.mode == InterestMode::Current {
            let is_told = self.topology.tells_now(sources, asker);
            if is_told && let Some(key) = self.entities(kind).key(index) {
                self.announce_current(face, asking.id, &key, actions);
            }
            return is_told;
        }
        // Any other interest gets the entity under an id.
        let Some(info) = self.topology.visible(kind, sources, asker) else {
            return false;
        };
        self.announce(entity, info, face.index, Some(asking.id), actions);
        true
    }

    /// Sends one token of a current answer, once per key, even if a gateway sends it as well.
    pub(super) fn announce_current(
        &mut self,
        face: FaceId,
        interest_id: u32,
        key: &str,
        actions: &mut Vec<Action>,
    ) {
        // Without gateways no other node sends the same token.
        let may_be_told_again = !self.topology.gateways().is_empty();
        let told_max = self.limits.tokens_max;
        if !may_be_told_again || self.wants.tell((face, interest_id), key, told_max) {
            self.announce_token(face, interest_id, key, actions);
        }
    }

    /// Sends a token of a current answer. Its id has no meaning and is 0.
    fn announce_token(
        &mut self,
        face: FaceId,
        interest_id: u32,
        key: &str,
        actions: &mut Vec<Action>,
    ) {
        if self.permits(face.index, GatedKind::Entity(Kind::Token), key)
            && let Some(asker) = self.face(face)
        {
            let expr = asker.ids.spell_declared(key).wire_expr(key);
            let body = Declaration::Token {
                id: 0,
                wire_expr: expr,
            };
            message::declare(face, Some(interest_id), body, actions);
        }
    }

    /// Ends an answer when everything that this node has was sent; gateways may still have to answer.
    fn end_answer(&mut self, face: FaceId, asking: ResolvedInterest, actions: &mut Vec<Action>) {
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
                // The interest of a served node that is gone has no answer to end.
                None => is_served,
            }
        };
        match asking.mode {
            _ if waits => {}
            InterestMode::Current => self.end_current_answer(face, id, actions),
            _ => message::declare(face, Some(id), Declaration::Final, actions),
        }
    }

    /// Returns true if a current interest with these options is answered: for tokens only, as in
    /// the reference.
    pub(super) fn answers_current(options: InterestOptions) -> bool {
        options.contains(InterestOptions::TOKENS)
            && !options.contains(InterestOptions::SUBSCRIBERS)
            && !options.contains(InterestOptions::QUERYABLES)
    }
}
