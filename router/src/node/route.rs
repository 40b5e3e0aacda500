// SPDX-License-Identifier: MIT OR Apache-2.0

//! The table's answers, resolved: outboxes instead of face ids, callbacks instead of subscriber ids.

use std::sync::Arc;

use zonda_codec::{KeyExpr, Mapping, WireExpr, ZenohId};
use zonda_transport::outbox::Outbox;

use crate::forwarding;

use super::{Sink, key_cache::KeyCache};

/// Where messages on one key from one source go, for as long as the table's generation does not change.
pub(super) struct Route {
    pub(super) generation: u64,
    pub(super) key: KeyExpr<'static>,
    pub(super) remote: Box<[Hop]>,
    pub(super) local: Box<[Sink]>,
}

/// One neighbour on a route.
pub(super) struct Hop {
    pub(super) outbox: Arc<Outbox>,
    pub(super) zid: ZenohId,
    spelling: forwarding::Hop,
}

impl Hop {
    pub(super) fn new(outbox: Arc<Outbox>, zid: ZenohId, spelling: forwarding::Hop) -> Self {
        Self {
            outbox,
            zid,
            spelling,
        }
    }

    /// The key as this neighbour reads it.
    #[inline]
    pub(super) fn wire_expr(&self) -> WireExpr<'_> {
        self.spelling.wire_expr()
    }
}

/// The routes of what one connection sends: an index for declared ids, bounded maps for everything else.
#[derive(Default)]
pub(super) struct RouteCache {
    /// By mapping, then by scope, for keys that are an id and nothing else.
    by_id: [Vec<Option<Arc<Route>>>; 2],
    /// The keys in full.
    by_key: KeyCache,
    /// The other keys, by mapping, scope and suffix in one text.
    by_text: KeyCache,
    /// Reused to build the text.
    text: String,
}

impl RouteCache {
    /// The route for `expr` if it is known and still valid.
    #[inline]
    pub(super) fn get(&mut self, expr: &WireExpr<'_>, generation: u64) -> Option<&Arc<Route>> {
        if expr.suffix.is_empty() {
            let routes = &self.by_id[mapping_index(expr.mapping)];
            let route = routes.get(usize::from(expr.scope))?.as_ref();
            return route.filter(|route| route.generation == generation);
        }
        if expr.scope == 0 {
            return self.by_key.get(expr.suffix, generation);
        }
        write_text(&mut self.text, expr);
        self.by_text.get(&self.text, generation)
    }

    /// Remembers a route.
    pub(super) fn put(&mut self, expr: &WireExpr<'_>, route: Arc<Route>) {
        if expr.suffix.is_empty() {
            let routes = &mut self.by_id[mapping_index(expr.mapping)];
            let index = usize::from(expr.scope);
            if routes.len() <= index {
                routes.resize(index + 1, None);
            }
            routes[index] = Some(route);
        } else if expr.scope == 0 {
            drop(self.by_key.put(expr.suffix, route));
        } else {
            write_text(&mut self.text, expr);
            drop(self.by_text.put(&self.text, route));
        }
    }
}

fn mapping_index(mapping: Mapping) -> usize {
    match mapping {
        Mapping::Receiver => 0,
        Mapping::Sender => 1,
    }
}

/// Mapping and scope as two fixed characters in front of the suffix: every expression has one text of its own.
fn write_text(text: &mut String, expr: &WireExpr<'_>) {
    text.clear();
    text.push(if expr.mapping == Mapping::Sender {
        's'
    } else {
        'r'
    });
    // Scopes have 16 bits; the shift keeps clear of the range that is no character.
    text.push(char::from_u32(u32::from(expr.scope) + 0x1_0000).unwrap_or('\0'));
    text.push_str(expr.suffix);
}
