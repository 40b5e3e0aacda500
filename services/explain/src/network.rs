// SPDX-License-Identifier: MIT OR Apache-2.0
//! The routers that answer, and the nodes that are connected to them.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde_json::Value;

use crate::{Admin, ExplainError, Message};

/// Source of explanations: the routers, or a test.
pub trait Routers {
    /// Returns the routers that a node is connected to, or the node itself if it is a router.
    fn of(&self, zid: &str) -> Vec<String>;

    /// Returns the latest event of a node's connections, in words.
    fn last_event(&self, zid: &str) -> Option<String>;

    /// Returns the explanation of a router for a message that `from` hands to it, and that entered
    /// the mesh at `source`; `None` if it does not answer.
    fn explain(
        &self,
        router: &str,
        from: &str,
        source: &str,
        message: &Message,
    ) -> Result<Option<Value>, ExplainError>;
}

/// The routers of a network.
pub struct Network<'a> {
    admin: &'a dyn Admin,
    /// The description of each router.
    roots: BTreeMap<String, Value>,
    events: Vec<(String, Value)>,
}

impl<'a> Network<'a> {
    /// Asks all routers for what they are connected to.
    pub fn ask(admin: &'a dyn Admin) -> Result<Network<'a>, ExplainError> {
        let read = |(zid, text): (String, String)| {
            let value: Value = serde_json::from_str(&text).unwrap_or_default();
            (zid, value)
        };
        let roots = admin.ask("@/*/router")?.into_iter().map(read);
        let roots: BTreeMap<String, Value> = roots.collect();
        if roots.is_empty() {
            return Err(ExplainError::Untold);
        }
        let events = admin.ask("@/*/router/events")?;
        Ok(Network {
            admin,
            roots,
            events: events.into_iter().map(read).collect(),
        })
    }
}

impl Routers for Network<'_> {
    fn of(&self, zid: &str) -> Vec<String> {
        if self.roots.contains_key(zid) {
            return vec![zid.to_owned()];
        }
        let has = |root: &Value| {
            let sessions = root["sessions"].as_array();
            sessions.is_some_and(|all| all.iter().any(|one| one["peer"] == zid))
        };
        let all = self.roots.iter().filter(|(_, root)| has(root));
        all.map(|(router, _)| router.clone()).collect()
    }

    fn last_event(&self, zid: &str) -> Option<String> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0.0, |now| now.as_secs_f64());
        let of_router = |(router, report): &(String, Value)| {
            let events = report["events"].as_array()?.iter();
            let event = events.rev().find(|event| event["link"]["zid"] == zid)?;
            let at = event["at"].as_f64()?;
            let (text, age) = (event["text"].as_str()?, (now - at).max(0.0));
            Some((at, format!("router {router}, {age:.0} s ago: {text}")))
        };
        let all = self.events.iter().filter_map(of_router);
        let last = all.max_by(|(one, _), (other, _)| one.total_cmp(other));
        last.map(|(_, line)| line)
    }

    fn explain(
        &self,
        router: &str,
        from: &str,
        source: &str,
        message: &Message,
    ) -> Result<Option<Value>, ExplainError> {
        // The id comes from the report of another router.
        if router.is_empty() || !router.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let to = message.to.as_ref().map(|to| format!("to={to};"));
        let selector = format!(
            "@/{router}/router/explain?from={from};source={source};{}kind={};key={}",
            to.unwrap_or_default(),
            message.kind.name(),
            message.key
        );
        let found = self.admin.ask(&selector)?.into_iter().next();
        Ok(found.map(|(_, text)| serde_json::from_str(&text).unwrap_or_default()))
    }
}
