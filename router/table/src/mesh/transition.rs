// SPDX-License-Identifier: MIT OR Apache-2.0

//! Change from one set of trees to the next, which the routers of a mesh do not make at the same
//! time.
//!
//! A message goes along the trees of the router where it entered the mesh. That router marks
//! messages with its trees while these change, and every router keeps its former trees for a while,
//! so that each message goes down one tree and reaches every router once. A message without a mark
//! goes along the trees that a mesh at rest had before the change.

use std::time::{Duration, Instant};

use crate::{
    deadline::Deadline,
    face_id::FaceId,
    mesh::{shape::Shape, state::Arrival},
};

/// Time for which replaced trees are kept: longer than a message is under way, and than it takes
/// until a router far away has heard of the same change.
const KEPT_FOR: Duration = Duration::from_secs(2);

/// Time from the last change of the trees for which messages are marked. It is longer than any
/// router keeps the trees before that change, even if that router pauses before it computes its own.
const MARKED_FOR: Duration = Duration::from_secs(6);

/// Largest number of trees that are kept.
const KEPT_MAX: usize = 6;

/// Largest number of marks of one neighbour that this node looks for between two changes, and does
/// not find.
const SOUGHT_MAX: usize = 8;

/// Time of a change.
#[derive(Debug, Clone, Copy, Default)]
enum Since {
    /// The next call with a time sets it.
    #[default]
    Now,
    At(Instant),
}

impl Since {
    /// Sets the time, if it is not set.
    fn begin(&mut self, now: Instant) -> Instant {
        match *self {
            Since::At(at) => at,
            Since::Now => {
                *self = Since::At(now);
                now
            }
        }
    }

    fn deadline(self, after: Duration) -> Deadline {
        match self {
            Since::Now => Deadline::Now,
            Since::At(at) => Deadline::At(at + after),
        }
    }
}

/// Trees that were replaced.
#[derive(Debug)]
struct Replaced {
    shape: Shape,
    /// True if routers did not mark messages along them.
    is_unmarked: bool,
    since: Since,
}

/// The trees before the current ones, and the time for which messages are marked.
#[derive(Debug, Default)]
pub(super) struct Transition {
    /// The oldest first.
    replaced: Vec<Replaced>,
    /// Time of the last change; `None` if it is long past.
    changed: Option<Since>,
    /// Marks that this node has looked for since the last change, with the links that they came by.
    sought: Vec<(FaceId, u16)>,
}

impl Transition {
    /// Records that the current trees were replaced. The first ones are those of messages without a
    /// mark.
    pub(super) fn replace(&mut self, shape: Shape) {
        self.changed = Some(Since::Now);
        self.keep(shape, self.unmarked().is_none());
    }

    /// Keeps trees that this node has not used itself, as other routers may.
    pub(super) fn note_skipped(&mut self, shape: Shape) {
        self.keep(shape, false);
    }

    /// Returns true if trees with a mark that this node does not know are worth a search: trees
    /// change, and neither this mark nor many others of the neighbour were sought in vain.
    pub(super) fn seeks(&mut self, arrival: Arrival) -> bool {
        let of_link = self.sought.iter().filter(|(link, _)| *link == arrival.link);
        let sought = (arrival.link, arrival.trees);
        let is_worth = !self.replaced.is_empty()
            && self.has_room()
            && of_link.count() < SOUGHT_MAX
            && !self.sought.contains(&sought);
        if is_worth {
            self.sought.push(sought);
        }
        is_worth
    }

    /// Returns true if one more set of trees can be kept without removing any.
    pub(super) fn has_room(&self) -> bool {
        self.replaced.len() < KEPT_MAX
    }

    fn keep(&mut self, shape: Shape, is_unmarked: bool) {
        self.sought.clear();
        let mut marked = self.replaced.iter();
        let oldest = marked.position(|replaced| !replaced.is_unmarked);
        if let Some(oldest) = oldest.filter(|_| !self.has_room()) {
            self.replaced.remove(oldest);
        }
        self.replaced.push(Replaced {
            shape,
            is_unmarked,
            since: Since::Now,
        });
    }

    /// Returns true if messages that enter the mesh are marked.
    pub(super) const fn marks(&self) -> bool {
        self.changed.is_some()
    }

    /// Returns the trees of messages without a mark, if they are not the current ones.
    pub(super) fn unmarked(&self) -> Option<&Shape> {
        let mut replaced = self.replaced.iter();
        let unmarked = replaced.find(|replaced| replaced.is_unmarked);
        unmarked.map(|unmarked| &unmarked.shape)
    }

    /// Returns the replaced trees with a mark.
    pub(super) fn with_mark(&self, mark: u16) -> Option<&Shape> {
        self.replaced().find(|shape| shape.mark() == mark)
    }

    /// Returns the replaced trees, the oldest first.
    pub(super) fn replaced(&self) -> impl Iterator<Item = &Shape> {
        self.replaced.iter().map(|replaced| &replaced.shape)
    }

    /// Removes trees whose time is over, and ends the marking of messages. True if routes depend on
    /// that.
    pub(super) fn look(&mut self, now: Instant) -> bool {
        let before = self.replaced.len();
        self.replaced
            .retain_mut(|replaced| replaced.since.begin(now) + KEPT_FOR > now);
        let is_over = |changed: &mut Since| changed.begin(now) + MARKED_FOR <= now;
        let ends = self.changed.as_mut().is_some_and(is_over);
        if ends {
            self.changed = None;
        }
        ends || self.replaced.len() < before
    }

    /// Returns the time at which [`look`](Self::look) has work to do.
    pub(super) fn deadline(&self) -> Option<Deadline> {
        let kept = self.replaced.iter();
        let kept = kept.map(|replaced| replaced.since.deadline(KEPT_FOR));
        let marked = self.changed.map(|changed| changed.deadline(MARKED_FOR));
        kept.chain(marked).min()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use zonda_codec::ZenohId;

    use super::*;
    use crate::mesh::mark::MarkedLink;

    fn shape(weight: u32) -> Shape {
        let [one, other] = [1, 2].map(ZenohId::random_from);
        let link = MarkedLink::new([one, other], f64::from(weight)).expect("two ends");
        Shape::over(one, BTreeSet::from([link]))
    }

    #[test]
    fn messages_without_a_mark_go_along_the_trees_before_all_changes() {
        let (mut transition, start) = (Transition::default(), Instant::now());
        // Trees that this node has skipped are not those of messages without a mark.
        transition.note_skipped(shape(1));
        assert!(transition.unmarked().is_none());
        for weight in 2..20 {
            transition.replace(shape(weight));
            assert!(transition.replaced().count() <= KEPT_MAX);
            let unmarked = transition.unmarked().expect("the trees before");
            assert_eq!(unmarked.mark(), shape(2).mark());
        }
        assert!(transition.with_mark(shape(19).mark()).is_some());
        assert!(transition.with_mark(shape(3).mark()).is_none());
        // Kept trees end before messages lose their marks.
        assert!(!transition.look(start) && transition.marks());
        assert!(transition.look(start + KEPT_FOR));
        assert!(transition.unmarked().is_none() && transition.marks());
        assert!(transition.look(start + MARKED_FOR) && !transition.marks());
        assert!(transition.deadline().is_none());
    }

    #[test]
    fn a_neighbour_that_invents_marks_costs_few_searches() {
        let link = |index| FaceId {
            index,
            generation: 0,
        };
        let arrival = |index, trees| Arrival {
            link: link(index),
            trees,
        };
        let mut transition = Transition::default();
        assert!(!transition.seeks(arrival(1, 7)), "no trees change");
        transition.replace(shape(1));
        let sought = (1..1000).filter(|mark| transition.seeks(arrival(1, *mark)));
        assert_eq!(sought.count(), SOUGHT_MAX);
        assert!(transition.seeks(arrival(2, 7)), "others are sought");
        assert!(!transition.seeks(arrival(2, 7)), "once");
        transition.replace(shape(2));
        assert!(transition.seeks(arrival(1, 7)), "it may be known now");
    }
}
