// SPDX-License-Identifier: MIT OR Apache-2.0

//! Outboxes that a burst touches, each once, in the order of their first use.

use std::sync::Arc;

use zonda_transport::outbox::Outbox;

/// Set in the order of insertion. The neighbours of a route, or those interested in a key, come in
/// the same order each time, so the search for an element begins behind the previous one and takes
/// constant time.
pub(crate) struct InOrder<T> {
    all: Vec<T>,
    /// Index behind the element that was added last.
    next: usize,
}

impl<T> Default for InOrder<T> {
    fn default() -> Self {
        InOrder {
            all: Vec::new(),
            next: 0,
        }
    }
}

impl<T> InOrder<T> {
    /// Adds the result of `make` unless an element satisfies `is_it`; returns that element.
    pub(crate) fn add(&mut self, is_it: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> &mut T {
        let known = match self.all.get(self.next) {
            Some(next) if is_it(next) => self.next,
            _ => self.all.iter().position(is_it).unwrap_or_else(|| {
                self.all.push(make());
                self.all.len() - 1
            }),
        };
        self.next = known + 1;
        &mut self.all[known]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.all.iter()
    }

    /// Removes all elements; the set keeps its memory.
    pub(crate) fn drain(&mut self) -> std::vec::Drain<'_, T> {
        self.next = 0;
        self.all.drain(..)
    }

    pub(crate) fn retain(&mut self, keeps: impl FnMut(&T) -> bool) {
        self.next = 0;
        self.all.retain(keeps);
    }
}

/// Outboxes that got messages and must be flushed.
#[derive(Default)]
pub(crate) struct Outboxes(InOrder<Arc<Outbox>>);

impl Outboxes {
    /// Adds `outbox` if it is absent.
    #[inline]
    pub(crate) fn add(&mut self, outbox: &Arc<Outbox>) {
        self.0
            .add(|known| Arc::ptr_eq(known, outbox), || Arc::clone(outbox));
    }

    /// Adds every outbox of another set.
    pub(crate) fn add_all(&mut self, others: &Outboxes) {
        others.0.iter().for_each(|outbox| self.add(outbox));
    }

    /// Flushes each outbox as far as its socket takes it, and removes them all.
    pub(crate) fn flush(&mut self) {
        for outbox in self.0.drain() {
            outbox.flush();
        }
    }
}
