// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries to the admin space, which the node answers itself.
//!
//! A task for each asker makes the answers in parts: each takes the node's lock briefly, and pauses
//! follow it, so that an answer of many thousand replies delays no other work.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use zonda_codec::{Encoding, KeyExpr, Qos, Reliability, WhatAmI, ZenohId};
use zonda_runtime::{Runtime, with_runtime};

use crate::{
    admin::{
        self,
        answer::Answer,
        asker::Asker,
        config_space::{apart, config_path, kept, may_block, write_config},
        explanation::{Explaining, is_explanation, kept_parameters},
        graph,
        question::{AdminQuestion, AdminReply, sets},
        report_cache::Report,
        root,
        tracing::{AskedTrace, REPLY_EVERY, is_trace, reply},
        waiting::Pushed,
    },
    filter::{Neighbourhood, Tracing},
    metrics,
    model::{Publication, SampleKind, Value},
    node::{
        handle::Node,
        limits::{Limit, Reached},
        shared::Shared,
        state::State,
    },
    query::{
        After, Call, QueryableId,
        answering::AskedBranch,
        reply::{self, OutgoingReply, Room},
    },
    table::{FaceId, NetworkGraph},
};

/// Time between two looks at a query whose asker takes no more replies.
const LOOK_AFTER: Duration = Duration::from_secs(1);

/// Text of the reply to a refused query.
const REFUSED: &str = "too many queries to the admin space wait for an answer: ask again later";

impl Shared {
    /// Queues a query that reaches the admin space for its answer; ends its branch at once if the
    /// admin space may not be read.
    pub(crate) fn answer_admin(
        &self,
        asked: &AskedBranch<'_>,
        state: &mut State,
        after: &mut After,
    ) {
        let branch = asked.branch;
        let is_write = asked.payload.is_some() && config_path(asked.key).is_some();
        let settings = &self.settings;
        let may = settings.adminspace_readable || (is_write && settings.adminspace_writable);
        let answers = settings.adminspace_enabled && may;
        let asker = state.table.origin_of_query(branch.face, branch.rid);
        let asker = asker.filter(|_| answers);
        let (Some(node), Some(asker)) = (self.this.upgrade(), asker) else {
            state.table.finish_branch(branch.face, branch.rid);
            return;
        };
        let asked = AdminQuestion {
            branch: branch.clone(),
            key: asked.key.clone().into_owned(),
            omits_descriptors: sets(asked.parameters, "descriptors", false),
            omits_neighbours: sets(asked.parameters, "per_transport", false),
            wants_stats: sets(asked.parameters, "_stats", true),
            written: (asked.payload.filter(|_| is_write))
                .map(|payload| kept(payload, settings).into()),
            about: (is_explanation(asked.key) || is_trace(asked.key))
                .then(|| kept_parameters(asked.parameters).into()),
        };
        // The task is started without the lock.
        let run = move || match node.admin_questions.push(asker.face, asked) {
            Pushed::First => start_answering(node, asker.face),
            Pushed::Next => (),
            Pushed::Refused(asked) => node.refuse(&asked),
        };
        after.calls.push(Call::Later(Box::new(run)));
    }

    /// Ends a query of which too many wait with an error reply.
    fn refuse(&self, asked: &AdminQuestion) {
        let who = self.say_error(asked, REFUSED);
        let branch = &asked.branch;
        self.update(|state| state.table.finish_branch(branch.face, branch.rid));
        self.limits.note(&Reached {
            limit: Limit::AdminQueries,
            who: who.map_or_else(|| "this node".into(), |zid| zid.to_string()),
        });
    }

    /// Sends an error reply to a query. Returns the id of the neighbour that gets it.
    fn say_error(&self, asked: &AdminQuestion, text: &str) -> Option<ZenohId> {
        let AdminQuestion { branch, key, .. } = asked;
        let payload = Value::Borrowed(text.as_bytes());
        let mut who = None;
        let change = |state: &mut State, after: &mut After| {
            let asker = state.table.origin_of_query(branch.face, branch.rid);
            let unsaid = OutgoingReply::error(key, QueryableId(0), payload, Encoding::default());
            if let (Some(asker), Ok(unsaid)) = (asker, unsaid) {
                reply::reply_at_once(self, &asker, &unsaid, state, after);
                who = state.faces.get(&asker.face).map(|face| face.status.zid);
            }
        };
        self.change(change).finish();
        who
    }

    /// Sends replies to a query. Returns the room to wait for before the next ones.
    fn say(&self, asked: &AdminQuestion, replies: &[AdminReply]) -> Room {
        let mut room = Room::None;
        let change = |state: &mut State, after: &mut After| {
            let branch = &asked.branch;
            let Some(asker) = state.table.origin_of_query(branch.face, branch.rid) else {
                return;
            };
            for told in replies {
                let sample = sample_of(told);
                if let Ok(unsaid) = OutgoingReply::sample(&told.key, QueryableId(0), &sample) {
                    room = reply::reply_at_once(self, &asker, &unsaid, state, after);
                }
            }
        };
        self.change(change).finish();
        room
    }

    /// Waits for room for more replies. False if the query is over first.
    async fn await_room(&self, asked: &AdminQuestion, room: &Room) -> bool {
        let branch = &asked.branch;
        loop {
            let asker = (self.state.lock().table).origin_of_query(branch.face, branch.rid);
            let Some(asker) = asker.filter(|_| !self.is_closed()) else {
                return false;
            };
            let look = zonda_runtime::after(LOOK_AFTER);
            let priority = asker.qos.priority();
            if matches!(room, Room::None) || room.by(self, priority, look).await {
                return true;
            }
        }
    }

    /// Describes the node that sent a query; `None` if it is gone.
    fn asker(&self, asked: &AdminQuestion) -> Option<Asker> {
        let branch = &asked.branch;
        let state = self.state.lock();
        let asker = state.table.origin_of_query(branch.face, branch.rid)?;
        Some(Asker::new(match asker.face == self.local {
            true => None,
            false => Some(Neighbourhood::of(&state, asker.face)?),
        }))
    }

    /// Returns the node that asks for a trace, if it may see it; else it gets the reason.
    fn asker_of_trace(&self, asked: &AdminQuestion, wanted: &AskedTrace) -> Option<Asker> {
        let asker = self.asker(asked)?;
        if let Some(denied) = asker.denied_to_subscribe(&wanted.key) {
            let needed = "a trace needs the right to subscribe to its key";
            self.say_error(asked, &format!("{needed}: {denied}"));
            return None;
        }
        Some(asker)
    }

    /// Returns the text of a report, perhaps a recent one; empty if this node has none.
    pub(crate) fn admin_report(self: &Arc<Self>, report: Report) -> Arc<str> {
        self.admin_reports.text(report, || self.report(report))
    }

    fn report(self: &Arc<Self>, report: Report) -> String {
        let node = Node {
            shared: Arc::clone(self),
            session: Arc::default(),
        };
        match report {
            Report::Root | Report::RootWithStats => {
                let overview = self.overview(report == Report::RootWithStats);
                root::text(overview, &self.settings.metadata, self.refusals.describe())
            }
            Report::Metrics => metrics::text(&metrics::node::brief(&node.snapshot())),
            Report::Limits => admin::limits_text(&node.limits()),
            Report::Events => self.events.recent().to_string(),
            Report::NorthGraph => graph::text(&self.north_graph()),
            Report::PeerGraph => graph::text(&self.south_graph()),
        }
    }

    fn north_graph(&self) -> NetworkGraph {
        match self.role {
            WhatAmI::Router => self.state.lock().table.mesh_graph(),
            WhatAmI::Peer => self.state.lock().table.peer_graph(),
            WhatAmI::Client => NetworkGraph::default(),
        }
    }

    /// Returns the network of a router's peers; nothing for other nodes.
    fn south_graph(&self) -> NetworkGraph {
        match self.role {
            WhatAmI::Router => self.state.lock().table.peer_graph(),
            WhatAmI::Peer | WhatAmI::Client => NetworkGraph::default(),
        }
    }

    /// Returns the routers of the mesh, this one first.
    pub(crate) fn routers(&self) -> Vec<ZenohId> {
        if self.role != WhatAmI::Router {
            return Vec::new();
        }
        let mut others: Vec<_> = self.state.lock().table.routers().collect();
        others.sort_unstable();
        others.insert(0, self.zid);
        others
    }
}

/// Starts the task that answers the queries of an asker, one after the other.
fn start_answering(node: Arc<Shared>, asker: FaceId) {
    let runtime = node.runtime.clone();
    let answer = move || async move {
        while let Some(asked) = node.admin_questions.pop(asker) {
            let branch = asked.branch.clone();
            answer(&node, asked).await;
            node.update(|state| state.table.finish_branch(branch.face, branch.rid));
        }
    };
    with_runtime!(&runtime, runtime => runtime.spawn_brief("zonda-admin", answer));
}

async fn answer(node: &Arc<Shared>, asked: AdminQuestion) {
    let root = node.state.lock().table.admin_key().clone();
    if asked.written.is_some() {
        let Some(asker) = node.asker(&asked) else {
            return;
        };
        let written = match may_block(node, &asked.key) {
            true => {
                let (node, asked) = (Arc::clone(node), asked.clone());
                apart(move || write_config(&node, &asked, &root, &asker)).await
            }
            false => write_config(node, &asked, &root, &asker),
        };
        return match written {
            Ok(reply) => drop(node.say(&asked, &[reply])),
            Err(error) => drop(node.say_error(&asked, &error)),
        };
    }
    if let Some(about) = asked.about.as_ref().filter(|_| is_trace(&asked.key)) {
        return match AskedTrace::read(about) {
            Ok(wanted) => trace(node, &asked, &wanted, &root).await,
            Err(error) => drop(node.say_error(&asked, &error)),
        };
    }
    let mut answer = match &asked.about {
        None => Answer::begin(asked, root),
        Some(about) => match Explaining::begin(node, about) {
            Ok(way) => Answer::explain(asked, root, way),
            Err(error) => {
                node.say_error(&asked, &error);
                return;
            }
        },
    };
    let mut room = Room::None;
    // A query whose asker is gone costs no more work.
    while node.await_room(answer.asked(), &room).await {
        if let Some(until) = node.admin_questions.pause(Instant::now()) {
            node.runtime.sleep_until(until).await;
        }
        // One part is made and sent.
        let begin = Instant::now();
        let Some(replies) = answer.next(node) else {
            return;
        };
        room = node.say(answer.asked(), &replies);
        node.admin_questions.note_work(begin, Instant::now());
        with_runtime!(&node.runtime, runtime => runtime.yield_now().await);
    }
}

/// Replies with the messages that pass the links of this node, until the time or the query is over.
async fn trace(node: &Arc<Shared>, asked: &AdminQuestion, wanted: &AskedTrace, root: &KeyExpr<'_>) {
    if node.asker_of_trace(asked, wanted).is_none() {
        return;
    }
    let Some(tracing) = Tracing::begin(node, wanted.key.clone()) else {
        node.say_error(asked, "too many traces run on this node: try again later");
        return;
    };
    let end = Instant::now() + wanted.time;
    // An empty reply says that the trace runs.
    let mut room = node.say(asked, reply(root, &[], 0).as_slice());
    while node.await_room(asked, &room).await && Instant::now() < end {
        let next = (Instant::now() + REPLY_EVERY).min(end);
        node.runtime.sleep_until(next).await;
        // The rules may have changed.
        let Some(asker) = node.asker_of_trace(asked, wanted) else {
            return;
        };
        let (passes, unrecorded) = tracing.take();
        let passes = asker.receives(passes);
        if !passes.is_empty() || unrecorded > 0 {
            let told = reply(root, &passes, unrecorded);
            room = node.say(asked, told.as_slice());
        }
    }
}

fn sample_of(told: &AdminReply) -> Publication<'_> {
    Publication {
        kind: SampleKind::Put,
        payload: Value::Borrowed(told.text.as_bytes()),
        encoding: told.encoding(),
        attachment: None,
        timestamp: None,
        source_info: None,
        qos: Qos::REQUEST,
        reliability: Reliability::Reliable,
        points: 0,
    }
}
