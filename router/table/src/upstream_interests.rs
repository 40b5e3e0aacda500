// SPDX-License-Identifier: MIT OR Apache-2.0

//! Interests of this node towards its gateways, for its session and for the nodes it serves, and
//! the answers that it still waits for.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use zonda_codec::{InterestMode, InterestOptions};

use crate::{
    face_id::{FaceId, OwnRef},
    interest_records::InterestRef,
    key_tree::KeyTree,
    kind::Kind,
    slots::Slots,
};

/// Description of a want: mode, kinds and keys.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct UpstreamInterestKey {
    pub(super) mode: InterestMode,
    pub(super) options: InterestOptions,
    /// All keys if `None`.
    pub(super) key: Option<Arc<str>>,
}

impl UpstreamInterestKey {
    /// Returns the want of all present and future entities of a kind on `key`.
    pub(super) fn lasting(kind: Kind, key: Arc<str>) -> Self {
        UpstreamInterestKey {
            mode: InterestMode::CurrentFuture,
            options: InterestOptions::KEYEXPRS | kind.option(),
            key: Some(key),
        }
    }
}

/// User of a want, except held queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum UpstreamInterestUser {
    /// Publisher or querier of the session.
    Sender(OwnRef),
    /// Listener of the session.
    Listener(OwnRef),
    /// Interest of a served node.
    Interest(InterestRef),
}

/// Interest of this node at all its gateways. Users of the same description share it.
#[derive(Debug)]
struct UpstreamInterest {
    what: UpstreamInterestKey,
    users: BTreeSet<UpstreamInterestUser>,
    /// Number of held queries of the session that use it.
    held: usize,
}

/// All wants of this node, and the interests that gateways have not answered.
#[derive(Debug, Default)]
pub(super) struct UpstreamInterests {
    wants: Slots<UpstreamInterest>,
    by_key: HashMap<UpstreamInterestKey, u32>,
    tree: KeyTree<u32>,
    in_all: HashSet<u32>,
    by_user: HashMap<UpstreamInterestUser, u32>,
    /// Interests sent and not yet answered by D_FINAL, with the time at which the wait ends.
    unanswered: HashMap<(FaceId, u32), Option<Instant>>,
    /// Current interests of served nodes in tokens, relayed to a gateway: (gateway, interest id) to
    /// (the asking node, its interest id).
    relays: HashMap<(FaceId, u32), (FaceId, u32)>,
    told: RelayedKeys,
}

/// Keys of unfinished relayed answers, so that a served node gets each of them once.
#[derive(Debug, Default)]
struct RelayedKeys {
    /// Hashes of keys, by the asking node and its interest id.
    keys: HashMap<(FaceId, u32), HashSet<u64>>,
    /// Number of keys in all answers.
    count: usize,
    hasher: RandomState,
}

impl UpstreamInterests {
    /// Returns the bytes of memory of the keys.
    pub(super) fn memory(&self) -> usize {
        self.tree.memory()
    }

    /// Returns the cost of all searches so far.
    pub(super) fn steps(&self) -> u64 {
        self.tree.steps()
    }

    /// Returns the want of this description; true with it if it is new.
    pub(super) fn find_or_add(&mut self, what: UpstreamInterestKey) -> (u32, bool) {
        if let Some(&want) = self.by_key.get(&what) {
            return (want, false);
        }
        let want = self.wants.insert(UpstreamInterest {
            what: what.clone(),
            users: BTreeSet::new(),
            held: 0,
        });
        match &what.key {
            Some(key) => drop(self.tree.insert(key, want)),
            None => drop(self.in_all.insert(want)),
        }
        self.by_key.insert(what, want);
        (want, true)
    }

    pub(super) fn what(&self, want: u32) -> Option<&UpstreamInterestKey> {
        Some(&self.wants.get(want)?.what)
    }

    /// Returns the numbers of all wants, in order.
    pub(super) fn all(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.by_key.values().copied().collect();
        all.sort_unstable();
        all
    }

    /// Adds a user to a want; returns the user's previous want.
    pub(super) fn add_user(&mut self, want: u32, user: UpstreamInterestUser) -> Option<u32> {
        let before = match self.of(user) {
            Some(before) if before == want => return None,
            _ => self.remove_user(user),
        };
        if let Some(found) = self.wants.get_mut(want) {
            found.users.insert(user);
            self.by_user.insert(user, want);
        }
        before
    }

    /// Returns the want of a user.
    pub(super) fn of(&self, user: UpstreamInterestUser) -> Option<u32> {
        self.by_user.get(&user).copied()
    }

    /// Removes a user from its want; returns that want.
    pub(super) fn remove_user(&mut self, user: UpstreamInterestUser) -> Option<u32> {
        let want = self.by_user.remove(&user)?;
        if let Some(found) = self.wants.get_mut(want) {
            found.users.remove(&user);
        }
        Some(want)
    }

    /// Counts a held query that uses a want, or its release.
    pub(super) fn hold(&mut self, want: u32, is_held: bool) {
        if let Some(found) = self.wants.get_mut(want) {
            match is_held {
                true => found.held += 1,
                false => found.held -= 1,
            }
        }
    }

    /// Removes a want without users; returns its description. `None` if it has any.
    pub(super) fn remove_unused(&mut self, want: u32) -> Option<UpstreamInterestKey> {
        let found = self.wants.get(want)?;
        if found.held > 0 || !found.users.is_empty() {
            return None;
        }
        let what = self.wants.remove(want)?.what;
        match &what.key {
            Some(key) => drop(self.tree.remove(key, want)),
            None => drop(self.in_all.remove(&want)),
        }
        self.by_key.remove(&what);
        Some(what)
    }

    /// Returns the interests of served nodes that use a want, in order.
    pub(super) fn served(&self, want: u32) -> Vec<InterestRef> {
        let users = self
            .wants
            .get(want)
            .into_iter()
            .flat_map(|found| &found.users);
        let served = users.filter_map(|user| match user {
            UpstreamInterestUser::Interest(interest) => Some(*interest),
            UpstreamInterestUser::Sender(_) | UpstreamInterestUser::Listener(_) => None,
        });
        served.collect()
    }

    /// Returns true if entities of a kind on keys that intersect this one are wanted.
    pub(super) fn is_wanted(&self, kind: Kind, key: &str) -> bool {
        let wants = |want| {
            let what = self.what(want);
            what.is_some_and(|what| what.options.contains(kind.option()))
        };
        self.in_all.iter().any(|want| wants(*want)) || self.tree.any(key, &mut |want| wants(want))
    }

    /// Returns the wants of present and future entities of a kind on exactly `key`.
    pub(super) fn lasting_on(&self, kind: Kind, key: &str) -> impl Iterator<Item = u32> {
        let wants = self.tree.get(key).iter().copied();
        wants.filter(move |want| {
            self.wants.get(*want).is_some_and(|found| {
                !found.users.is_empty()
                    && found.what.mode == InterestMode::CurrentFuture
                    && found.what.options.contains(kind.option())
            })
        })
    }

    /// Returns the publishers and queriers of a session that have a want, in order.
    pub(super) fn senders_of(&self, face: FaceId) -> BTreeSet<UpstreamInterestUser> {
        let users = self.by_user.keys().copied();
        let is_of = |user: &UpstreamInterestUser| matches!(user, UpstreamInterestUser::Sender(own) if own.face == face);
        users.filter(is_of).collect()
    }

    /// Waits for an answer of `face` to this interest. The time begins with the next call of `overdue`.
    pub(super) fn wait_for(&mut self, face: FaceId, interest: u32) {
        self.unanswered.insert((face, interest), None);
    }

    /// Ends the wait for this answer.
    pub(super) fn stop_waiting(&mut self, face: FaceId, interest: u32) {
        self.unanswered.remove(&(face, interest));
    }

    /// Returns the interests whose answers are overdue, in order. `limit` returns the time for an
    /// answer to an interest of this id, and `goes_on` true if the face is still declaring, so that
    /// it gets the same time again.
    pub(super) fn overdue(
        &mut self,
        now: Instant,
        limit: impl Fn(u32) -> Duration,
        mut goes_on: impl FnMut(FaceId, u32) -> bool,
    ) -> Vec<(FaceId, u32)> {
        let mut overdue = Vec::new();
        for (&(face, interest), deadline) in &mut self.unanswered {
            let deadline = deadline.get_or_insert(now + limit(interest));
            if *deadline > now {
                continue;
            }
            match goes_on(face, interest) {
                true => *deadline = now + limit(interest),
                false => overdue.push((face, interest)),
            }
        }
        overdue.sort_unstable();
        overdue
    }

    /// Returns the times at which answers are overdue, one by one; `None` if the time has not begun.
    pub(super) fn deadlines(&self) -> impl Iterator<Item = Option<Instant>> {
        self.unanswered.values().copied()
    }

    /// Returns the number of interests that are relayed to gateways.
    pub(super) fn relays(&self) -> usize {
        self.relays.len()
    }

    /// Records that a current interest sent to a gateway relays that of a node.
    pub(super) fn add_relay(&mut self, sent: (FaceId, u32), origin: (FaceId, u32)) {
        self.relays.insert(sent, origin);
    }

    /// Returns the interest that this one, sent to a gateway, relays.
    pub(super) fn relayed(&self, sent: (FaceId, u32)) -> Option<(FaceId, u32)> {
        self.relays.get(&sent).copied()
    }

    pub(super) fn remove_relay(&mut self, sent: (FaceId, u32)) -> Option<(FaceId, u32)> {
        self.relays.remove(&sent)
    }

    /// Returns true if any gateway still has to answer this interest.
    pub(super) fn is_relayed(&self, origin: (FaceId, u32)) -> bool {
        self.relays.values().any(|other| *other == origin)
    }

    /// Records that an answer has this key. False if the key was recorded before; beyond `max` keys
    /// in all answers nothing is recorded.
    pub(super) fn tell(&mut self, origin: (FaceId, u32), key: &str, max: usize) -> bool {
        let RelayedKeys {
            keys,
            count,
            hasher,
        } = &mut self.told;
        let (hash, told) = (hasher.hash_one(key), keys.entry(origin).or_default());
        if *count >= max {
            return !told.contains(&hash);
        }
        let is_new = told.insert(hash);
        *count += usize::from(is_new);
        is_new
    }

    /// Removes the recorded keys of an answer that has ended.
    pub(super) fn forget_told(&mut self, origin: (FaceId, u32)) {
        let told = self.told.keys.remove(&origin);
        self.told.count -= told.map_or(0, |told| told.len());
    }

    /// Removes the relays for a node that is gone.
    pub(super) fn remove_relays_for(&mut self, face: FaceId) {
        let RelayedKeys { keys, count, .. } = &mut self.told;
        keys.retain(|(asker, _), told| {
            let stays = *asker != face;
            *count -= if stays { 0 } else { told.len() };
            stays
        });
        self.relays.retain(|_, (other, _)| *other != face);
    }

    /// Removes a gateway that is gone from all waits; returns the interests that were relayed to
    /// it, in order.
    pub(super) fn remove_gateway(&mut self, gateway: FaceId) -> Vec<(FaceId, u32)> {
        self.unanswered.retain(|(face, _), _| *face != gateway);
        let mut origins = Vec::new();
        self.relays.retain(|(face, _), origin| {
            let stays = *face != gateway;
            origins.extend((!stays).then_some(*origin));
            stays
        });
        origins.sort_unstable();
        origins
    }
}

/// Wants that one gateway was sent as interests.
#[derive(Debug, Default)]
pub(super) struct SentInterests {
    by_want: HashMap<u32, SentInterest>,
    by_id: HashMap<u32, u32>,
    /// The highest interest id sent to it.
    last: u32,
}

#[derive(Debug)]
struct SentInterest {
    id: u32,
    /// True once the gateway has declared all it had.
    finalised: bool,
}

impl SentInterests {
    /// Returns a fresh id for an interest: none of one that has not ended.
    pub(super) fn next_id(&mut self) -> u32 {
        loop {
            self.last = self.last.wrapping_add(1).max(1);
            if !self.by_id.contains_key(&self.last) {
                return self.last;
            }
        }
    }

    /// Records that a want was sent as the interest `id`.
    pub(super) fn insert(&mut self, want: u32, id: u32) {
        let finalised = false;
        self.by_want.insert(want, SentInterest { id, finalised });
        self.by_id.insert(id, want);
    }

    /// Removes a want; returns the interest's id.
    pub(super) fn remove(&mut self, want: u32) -> Option<u32> {
        let sent = self.by_want.remove(&want)?;
        self.by_id.remove(&sent.id);
        Some(sent.id)
    }

    /// Records that the gateway has answered an interest in full; returns the interest's want.
    pub(super) fn finalise(&mut self, id: u32) -> Option<u32> {
        let want = *self.by_id.get(&id)?;
        if let Some(sent) = self.by_want.get_mut(&want) {
            sent.finalised = true;
        }
        Some(want)
    }

    /// Returns true if the gateway has answered a want in full; `None` if it was not sent.
    pub(super) fn is_finalised(&self, want: u32) -> Option<bool> {
        Some(self.by_want.get(&want)?.finalised)
    }

    /// Returns the interest of a want that the gateway still has to answer.
    pub(super) fn open(&self, want: u32) -> Option<u32> {
        let sent = self.by_want.get(&want);
        sent.filter(|sent| !sent.finalised).map(|sent| sent.id)
    }

    /// Returns true if the gateway keeps an interest of this id.
    pub(super) fn has(&self, id: u32) -> bool {
        self.by_id.contains_key(&id)
    }

    /// Returns the wants that were sent, in order.
    pub(super) fn wants(&self) -> Vec<u32> {
        let mut wants: Vec<u32> = self.by_want.keys().copied().collect();
        wants.sort_unstable();
        wants
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_want_lives_as_long_as_it_has_a_user() {
        let mut wants = UpstreamInterests::default();
        let what = UpstreamInterestKey::lasting(Kind::Subscriber, "a/*".into());
        let (want, is_new) = wants.find_or_add(what.clone());
        assert_eq!(
            (is_new, wants.find_or_add(what.clone())),
            (true, (want, false))
        );
        let face = FaceId {
            index: 0,
            generation: 0,
        };
        let interest = UpstreamInterestUser::Interest(InterestRef { slot: 1, id: 2 });
        let is_lasting =
            |wants: &UpstreamInterests| wants.lasting_on(Kind::Subscriber, "a/*").count() == 1;
        for user in [UpstreamInterestUser::Sender(face.own(2)), interest] {
            assert_eq!(wants.add_user(want, user), None);
            assert_eq!(
                (wants.of(user), wants.remove_unused(want)),
                (Some(want), None)
            );
            assert!(wants.is_wanted(Kind::Subscriber, "a/b") && is_lasting(&wants));
            assert!(!wants.is_wanted(Kind::Token, "a/b"));
            let (other, _) =
                wants.find_or_add(UpstreamInterestKey::lasting(Kind::Token, "a".into()));
            assert_eq!(wants.add_user(other, user), Some(want));
            assert_eq!(wants.remove_user(user), Some(other));
            assert!(wants.remove_unused(other).is_some() && !is_lasting(&wants));
        }
        wants.hold(want, true);
        assert_eq!(wants.remove_unused(want), None);
        assert!(wants.is_wanted(Kind::Subscriber, "a/b") && !is_lasting(&wants));
        wants.hold(want, false);
        assert_eq!(wants.remove_unused(want), Some(what));
        assert!(wants.all().is_empty() && !wants.is_wanted(Kind::Subscriber, "a/b"));
    }

    #[test]
    fn interests_in_use_keep_their_ids() {
        let mut sent = SentInterests::default();
        let id = sent.next_id();
        sent.insert(7, id);
        assert_eq!(
            (sent.open(7), sent.is_finalised(7)),
            (Some(id), Some(false))
        );
        assert_eq!((sent.finalise(id), sent.open(7)), (Some(7), None));
        sent.last = u32::MAX - 1;
        assert_eq!((sent.next_id(), sent.next_id()), (u32::MAX, id + 1));
        assert_eq!((sent.remove(7), sent.has(id)), (Some(id), false));
    }
}
