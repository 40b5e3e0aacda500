// SPDX-License-Identifier: MIT OR Apache-2.0

//! Change from one set of trees to the next, which the routers of a mesh do not make at the same
//! time.
//!
//! A message goes along the trees of the router where it entered the mesh. That router marks
//! messages with its trees while these change, and every router keeps its former trees for a while,
//! so that each message goes down one tree and reaches every router once. A message without a mark
//! goes along the trees that a mesh at rest had before the change.

use std::time::{Duration, Instant};

use crate::{deadline::Deadline, mesh::shape::Shape};

/// Time for which replaced trees are kept: longer than a message is under way, and than it takes
/// until a router far away has heard of the same change.
const KEPT_FOR: Duration = Duration::from_secs(2);

/// Time from the last change of the trees for which messages are marked. It is longer than any
/// router keeps the trees before that change, even if that router pauses before it computes its own.
const MARKED_FOR: Duration = Duration::from_secs(6);

/// Largest number of trees that are kept.
const KEPT_MAX: usize = 6;

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
}

impl Transition {
    /// Records that trees were replaced by others.
    pub(super) fn replace(&mut self, shape: Shape) {
        self.changed = Some(Since::Now);
        self.keep(shape, self.replaced.is_empty());
    }

    /// Keeps trees that this node has not used itself, as other routers may.
    pub(super) fn note_skipped(&mut self, shape: Shape) {
        self.keep(shape, false);
    }

    /// Returns true if more trees are kept without removing others.
    pub(super) fn has_room(&self) -> bool {
        self.replaced.len() < KEPT_MAX
    }

    fn keep(&mut self, shape: Shape, is_unmarked: bool) {
        // The first ones are those of messages without a mark.
        if self.replaced.len() >= KEPT_MAX {
            self.replaced.remove(1);
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
        let first = self.replaced.first();
        first
            .filter(|first| first.is_unmarked)
            .map(|first| &first.shape)
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
