// SPDX-License-Identifier: MIT OR Apache-2.0

//! Lost samples, and their listeners.

use std::sync::Arc;

use parking_lot::Mutex;
use zonda_codec::EntityGlobalId;

use crate::callback_group::{CallbackGroup, GroupMembership, InsideCallback};
use crate::handlers::{Patient, Stored};

/// A number of consecutive samples of one publisher that were lost and could not be recovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Miss {
    source: EntityGlobalId,
    nb: u32,
}

impl Miss {
    pub(super) fn new(source: EntityGlobalId, nb: u32) -> Miss {
        Miss { source, nb }
    }

    /// Returns the id of the publisher.
    pub fn source(&self) -> EntityGlobalId {
        self.source
    }

    /// Returns the number of samples.
    pub fn nb(&self) -> u32 {
        self.nb
    }
}

impl Stored for Miss {}

/// The listeners of one subscriber. Clones are the same listeners.
#[derive(Clone)]
pub(super) struct Listeners(Arc<Mutex<Listening>>);

struct Listening {
    /// The group of the subscriber, whose end also waits for the listeners.
    subscriber: CallbackGroup,
    /// Set once the subscriber has ended.
    is_over: bool,
    next: u64,
    all: Vec<(u64, Arc<Told>)>,
}

struct Told {
    listener: Patient<Miss>,
    _here: GroupMembership,
}

impl Listeners {
    pub fn new(subscriber: CallbackGroup) -> Listeners {
        Listeners(Arc::new(Mutex::new(Listening {
            subscriber,
            is_over: false,
            next: 0,
            all: Vec::new(),
        })))
    }

    /// Adds a listener that has entered `gone`; the returned number removes it.
    pub fn add(&self, listener: Patient<Miss>, gone: &CallbackGroup) -> u64 {
        let mut listening = self.0.lock();
        let told = Told {
            listener,
            _here: GroupMembership::of([Some(gone), Some(&listening.subscriber), None]),
        };
        let number = listening.next;
        listening.next += 1;
        if !listening.is_over {
            listening.all.push((number, Arc::new(told)));
            return number;
        }
        drop(listening);
        drop(told);
        number
    }

    pub fn remove(&self, number: u64) {
        let mut listening = self.0.lock();
        let at = listening.all.iter().position(|(n, _)| *n == number);
        let removed = at.map(|at| listening.all.swap_remove(at));
        drop(listening);
        drop(removed);
    }

    /// Ends all listeners, and those that are added later.
    pub fn end(&self) {
        let mut listening = self.0.lock();
        listening.is_over = true;
        let all = std::mem::take(&mut listening.all);
        drop(listening);
        drop(all);
    }

    /// Notifies all listeners. Samples do not wait for a listener: a full one misses this
    /// notification.
    pub fn tell(&self, miss: Miss) {
        let all: Vec<_> = self
            .0
            .lock()
            .all
            .iter()
            .map(|(_, l)| Arc::clone(l))
            .collect();
        for told in all {
            let _inside = InsideCallback::enter();
            if told.listener.call(miss).is_some() {
                tracing::warn!(
                    ?miss,
                    "a listener to missed samples is full and misses this notification"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another thread reports a loss; the end of the listener waits for the call and for the drop
    /// of the callback.
    #[test]
    fn a_listener_to_losses_is_waited_for() {
        let (subscriber, gone) = (CallbackGroup::default(), CallbackGroup::default());
        let listeners = Listeners::new(subscriber.clone());
        let (begun, begins) = std::sync::mpsc::channel();
        let (go, goes) = std::sync::mpsc::channel::<()>();
        let goes = Mutex::new(goes);
        let number = listeners.add(
            Patient::new(move |_| {
                begun.send(()).unwrap();
                goes.lock().recv().ok();
                None
            }),
            &gone,
        );
        let telling = listeners.clone();
        let source = EntityGlobalId {
            zid: zonda_codec::ZenohId::rand(),
            eid: 1,
        };
        let thread = std::thread::spawn(move || telling.tell(Miss::new(source, 1)));
        begins.recv().unwrap();
        listeners.remove(number);
        assert!(
            !gone.is_gone() && !subscriber.is_gone(),
            "it is being called"
        );
        drop(go);
        gone.wait();
        subscriber.wait();
        thread.join().unwrap();
    }
}
