// SPDX-License-Identifier: MIT OR Apache-2.0

//! Delivery of connection events to the listeners.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use crate::{
    model::LinkStatus,
    node::handle::Node,
    peers::{
        events::{ConnectionEvent, ConnectionListener, Events, Tell},
        reasons::Loss,
    },
    table::{FaceId, SessionNumber},
};

impl Events {
    /// Reports an event to all listeners. The order of calls is the order of events. The caller
    /// must not hold the state's lock.
    pub(crate) fn tell(&self, event: impl FnOnce() -> ConnectionEvent) {
        self.tell_with(|_| Some(event()));
    }

    /// Reports that a neighbour is connected, by a first link.
    pub(crate) fn tell_connected(&self, face: FaceId, link: &LinkStatus) {
        self.tell_with(|open| {
            open.insert(face, vec![(0, link.clone())]);
            Some(ConnectionEvent::Connected(link.clone()))
        });
    }

    /// Reports that one more link to a neighbour is open.
    pub(crate) fn tell_joined(&self, face: FaceId, number: u64, link: LinkStatus) {
        self.tell_with(|open| {
            open.get_mut(&face)?.push((number, link.clone()));
            Some(ConnectionEvent::LinkAdded(link))
        });
    }

    /// Reports that a link has ended, unless it was the last one: the connection ends with that.
    pub(crate) fn tell_link_lost(&self, face: FaceId, number: u64, reason: impl FnOnce() -> Loss) {
        self.tell_with(|open| {
            let links = open.get_mut(&face).filter(|links| links.len() > 1)?;
            let index = links.iter().position(|(other, _)| *other == number)?;
            let (_, link) = links.remove(index);
            let reason = reason();
            Some(ConnectionEvent::LinkLost { link, reason })
        });
    }

    /// Reports that a neighbour is no longer connected.
    pub(crate) fn tell_lost(&self, face: FaceId, reason: impl FnOnce() -> Loss) {
        self.tell_with(|open| {
            let (_, link) = open.remove(&face)?.pop()?;
            let reason = reason();
            Some(ConnectionEvent::Lost { link, reason })
        });
    }

    fn tell_with(
        &self,
        event: impl FnOnce(&mut BTreeMap<FaceId, Vec<(u64, LinkStatus)>>) -> Option<ConnectionEvent>,
    ) {
        let mut known = self.0.lock();
        let Some(event) = event(&mut known.open) else {
            return;
        };
        known.recent.add(&event);
        let all: Vec<Arc<ConnectionListener>> = known.listeners.clone();
        for listener in &all {
            listener.put(event.clone());
        }
        drop(known);
        all.iter().for_each(ConnectionListener::call);
    }

    /// Returns true if the ends of all links were reported.
    pub(crate) fn has_declared_all(&self) -> bool {
        self.0.lock().open.is_empty()
    }

    /// Ends the listeners after they have received the waiting events.
    pub(crate) fn end_listeners(&self) {
        self.finish_listeners(|_| true);
    }

    /// Ends the listeners of a session likewise.
    pub(crate) fn end_listeners_of(&self, session: SessionNumber) {
        self.finish_listeners(|listener| listener.session == session);
    }

    fn finish_listeners(&self, is: impl Fn(&ConnectionListener) -> bool) {
        let mut known = self.0.lock();
        let listeners: Vec<_> = known.listeners.extract_if(.., |one| is(one)).collect();
        drop(known);
        for listener in &listeners {
            listener.finish();
            listener.call();
        }
    }

    /// Adds a listener, which gets the open links first if `history` is true. A node that
    /// `is_closed` reports nothing further.
    fn listen(
        &self,
        session: SessionNumber,
        tell: Tell,
        history: bool,
        is_closed: impl FnOnce() -> bool,
    ) -> Arc<ConnectionListener> {
        // events that come from here on wait for this lock, and then find the listener
        let mut known = self.0.lock();
        // open links come first, in the order in which they were opened
        let links = known.open.values().filter(|_| history);
        let links = links.flat_map(|links| {
            links.iter().enumerate().map(|(at, (_, link))| match at {
                0 => ConnectionEvent::Connected(link.clone()),
                _ => ConnectionEvent::LinkAdded(link.clone()),
            })
        });
        let listener = ConnectionListener::new(session, tell, links.collect());
        match is_closed() {
            true => listener.finish(),
            false => known.listeners.push(Arc::clone(&listener)),
        }
        drop(known);
        listener.call();
        listener
    }

    fn remove(&self, listener: &Arc<ConnectionListener>) {
        let mut known = self.0.lock();
        let index = known
            .listeners
            .iter()
            .position(|other| Arc::ptr_eq(other, listener));
        let removed = index.map(|index| known.listeners.swap_remove(index));
        drop(known);
        // the user's closure may be dropped with it, so no lock is held
        drop(removed);
    }
}

impl Node {
    /// Calls `tell` for every event of connections from now on, and with `history` before that for
    /// every link that is open. Ends with [`Node::unlisten`].
    pub fn listen_to_connections(&self, tell: Tell, history: bool) -> Arc<ConnectionListener> {
        let (session, events) = (self.session.number, &self.shared.events);
        if self.is_forked() {
            let listener = ConnectionListener::new(session, tell, VecDeque::new());
            listener.end();
            return listener;
        }
        events.listen(session, tell, history, || self.is_closed())
    }

    /// Ends a listener: no call of its function begins afterwards; a call under way may still be
    /// running.
    pub fn unlisten(&self, listener: &Arc<ConnectionListener>) {
        listener.end();
        if !self.is_forked() {
            self.shared.events.remove(listener);
        }
    }
}
