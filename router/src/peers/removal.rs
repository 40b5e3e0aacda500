// SPDX-License-Identifier: MIT OR Apache-2.0

//! Work at the end of a connection.

use std::{sync::Arc, time::Instant};

use zonda_transport::driver::Ended;

use crate::{
    node::{
        sessions::UndeclaredRoutes,
        shared::Shared,
        state::{Face, State},
    },
    peers::{connection_log::EndedConnection, finding, reasons::Loss, state::Peers},
    table::{FaceId, scouting::Link as LinkTo},
};

/// State of a connection that was removed, and the work that is left.
struct Removed {
    face: Option<Face>,
    /// Routes of the session that may lead to it. Dropping them may run user code, so it must
    /// happen without the lock.
    routes: UndeclaredRoutes,
    /// True if a task must remove the rest of its declarations.
    sweeps: bool,
    /// True if no neighbour is left.
    is_alone: bool,
    /// True if this node opened the connection and has no other one to that neighbour.
    is_missed: bool,
    is_slow_news: bool,
}

/// Removes a connection and its declarations; many declarations are removed in slices afterwards.
pub(crate) fn remove_face(shared: &Arc<Shared>, id: FaceId, ended: &Ended) {
    shared.note_departed();
    let removed = shared.update(|state| remove(shared, state, id, ended));
    drop(removed.routes);
    // find a replacement, sweep, and report
    if removed.is_alone {
        finding::ask_again(shared);
    }
    if removed.sweeps {
        Shared::start_sweeping(shared);
    }
    let loss = || Loss::of(ended, shared.is_closed());
    shared.events.tell_lost(id, loss);
    if shared.is_closed() && shared.events.has_declared_all() {
        shared.events.end_listeners();
    }
    if let Some(face) = &removed.face {
        let gone = EndedConnection {
            link: &face.status,
            stood: face.since.elapsed(),
            ended,
            unsent: face.outbox.unsent(),
            is_missed: removed.is_missed,
            is_slow_news: removed.is_slow_news,
        };
        shared.lines.log_going(&gone, shared.is_closed());
    }
    shared.changed.notify(usize::MAX);
}

fn remove(shared: &Shared, state: &mut State, id: FaceId, ended: &Ended) -> Removed {
    // count it and release its place
    let face = state.faces.remove(&id);
    let mut is_slow_news = false;
    if let Some(face) = &face {
        let zid = face.status.zid;
        is_slow_news = *ended == Ended::TooSlow && state.peers.note_slow(face);
        if state.peers.neighbours.face(&zid) == Some(id) {
            state.peers.neighbours.remove(&zid);
            if face.dialed && !shared.is_closed() {
                state.table.expect_back(zid, Instant::now());
            }
        }
        // account for the messages that it did not take
        state.peers.ended.add(&face.outbox);
        let protocol = face.status.remote.proto().to_owned();
        let traffic = state.peers.ended_traffic.entry(protocol).or_default();
        traffic.add(&face.outbox);
        state.peers.note_away(shared.role, &face.status);
        shared.note_lost(state, zid, &face.outbox, ended);
    }
    // the table removes its entities and announces that
    state.table.remove_face(id, &mut state.actions);
    let zid = face.as_ref().map(|face| face.status.zid);
    let is_alone = zid.is_some_and(|zid| state.lose(id, zid, ended));
    let is_left = zid.is_some_and(|zid| state.peers.link_to(&zid) == LinkTo::None);
    let is_missed = is_left && state.peers.dials.opened(id).is_some();
    let routes = state.routes.take_undeclared();
    let sweeps = state.begin_sweep();
    if shared.is_closed() {
        // this node also closes its other connections, where declarations would be lost, and
        // counted as such
        state.actions.clear();
    }
    Removed {
        face,
        routes,
        sweeps,
        is_alone,
        is_missed,
        is_slow_news,
    }
}

impl Peers {
    /// Counts a neighbour that was too slow; returns true if that is worth a line in the log.
    fn note_slow(&mut self, face: &Face) -> bool {
        let (zid, debt) = (face.status.zid, face.outbox.stall_debt());
        let group = self.neighbours.group(&zid);
        self.slow.note(Instant::now(), zid, group, debt)
    }
}
