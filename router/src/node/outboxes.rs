// SPDX-License-Identifier: MIT OR Apache-2.0

//! The outboxes that got messages and must be written, each once, in the order of their first message.

use std::sync::Arc;

use zonda_transport::outbox::Outbox;

/// A set of outboxes. To add the one behind the one that was added last costs the same however many there are.
#[derive(Default)]
pub(super) struct Outboxes {
    all: Vec<Arc<Outbox>>,
    /// The place behind the one that was added last.
    next: usize,
}

impl Outboxes {
    /// Adds `outbox` if it is not there yet.
    pub(super) fn add(&mut self, outbox: &Arc<Outbox>) {
        let is_it = |known: &Arc<Outbox>| Arc::ptr_eq(known, outbox);
        // The neighbours of a route, or those interested in a key, come in the same order each time.
        let known = match self.all.get(self.next) {
            Some(next) if is_it(next) => self.next,
            _ => {
                let known = self.all.iter().position(is_it);
                known.unwrap_or_else(|| {
                    self.all.push(Arc::clone(outbox));
                    self.all.len() - 1
                })
            }
        };
        self.next = known + 1;
    }

    /// Adds all of `others`.
    pub(super) fn add_all(&mut self, others: &Outboxes) {
        match self.all.is_empty() {
            true => self.all.clone_from(&others.all),
            false => others.all.iter().for_each(|outbox| self.add(outbox)),
        }
    }

    /// Writes what waits in each as far as its socket takes it, and forgets them.
    pub(super) fn flush(&mut self) {
        self.next = 0;
        for outbox in self.all.drain(..) {
            outbox.flush();
        }
    }
}
