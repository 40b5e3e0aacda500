// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queries of `zonda info` to a running router: the reports in its admin space, and its events as
//! they happen.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zonda::config::{WhatAmI, ZenohId};
use zonda::query::QueryTarget;
use zonda::{Session, Wait};
use zonda_program::{Failure, Interrupt, complain, print};

/// Time limit of a router's answer.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Time between two looks at the events of a router.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The routers that get the query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whom {
    /// Each reachable router.
    Any,
    /// The node with this id.
    Node(ZenohId),
}

impl FromStr for Whom {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "any" => Ok(Whom::Any),
            _ => text.parse().map(Whom::Node).map_err(|_| {
                "expected `any` or the id of a node, as `zonda info -e ..` and `zonda scout` print it".to_owned()
            }),
        }
    }
}

impl Whom {
    /// Returns the router that a session is connected to, if it is the only neighbour.
    pub fn only_neighbour(session: &Session) -> Option<Whom> {
        let links: Vec<_> = session.info().links().into_iter().collect();
        let first = links.first()?;
        let is_only = links.iter().all(|link| link.zid == first.zid);
        (is_only && first.whatami == WhatAmI::Router).then_some(Whom::Node(first.zid))
    }

    /// Queries the reports of this name, each with the id of its node.
    ///
    /// # Blocking
    /// Until all have answered, five seconds at most.
    pub fn reports(&self, session: &Session, name: &str) -> Result<Vec<(String, String)>, Failure> {
        let below = match name {
            "" => String::new(),
            name => format!("/{name}"),
        };
        let selector = match self {
            Whom::Any => format!("@/*/router{below}"),
            Whom::Node(zid) => format!("@/{zid}/*{below}"),
        };
        replies(session, &selector)
    }

    /// Queries the reports of this name; fails if there is none.
    pub fn insist(&self, session: &Session, name: &str) -> Result<Vec<(String, String)>, Failure> {
        let found = self.reports(session, name)?;
        if !found.is_empty() {
            return Ok(found);
        }
        let (node, verb) = match self {
            Whom::Any => ("no router".to_owned(), "tells"),
            Whom::Node(zid) => (format!("node {zid}"), "does not tell"),
        };
        let name = if name.is_empty() { "state" } else { name };
        Err(Failure::Run(format!(
            "{node} {verb} its {name}: it is not reached, does not let its admin space be read (adminspace/*, or a rule of \
             access control), or does not know the question"
        )))
    }

    /// Prints events of the connections of the routers, until Ctrl-C: first the open links.
    pub fn follow(&self, session: &Session, as_json: bool) -> Result<(), Failure> {
        let interrupt = Interrupt::listen()?;
        let mut followed = Followed {
            own: session.zid().to_string(),
            as_json,
            routers: BTreeMap::new(),
        };
        let mut answers = self.insist(session, "events")?;
        for (zid, text) in &answers {
            followed.begin(zid, text);
        }
        for (zid, text) in self.reports(session, "")? {
            followed.show_open(&zid, &text);
        }
        loop {
            if interrupt.wait_until(Instant::now() + LOOK_EVERY) {
                return Ok(());
            }
            answers = self.reports(session, "events")?;
            followed.look(&answers);
        }
    }
}

/// Returns the routers that a flag names, or the only neighbour.
///
/// # Errors
/// There is no flag, and not one router as the only neighbour.
pub fn chosen(flag: Option<&Whom>, session: &Session) -> Result<Whom, Failure> {
    let whom = flag.cloned().or_else(|| Whom::only_neighbour(session));
    whom.ok_or_else(|| {
        let none = "no router to ask: give the endpoint of one with -e, or its id with --router";
        Failure::Run(none.to_owned())
    })
}

/// Queries admin spaces. Returns the text of each reply, with the id of its node.
///
/// # Blocking
/// Until all have answered, five seconds at most.
pub fn replies(session: &Session, selector: &str) -> Result<Vec<(String, String)>, Failure> {
    let get = session.get(selector).target(QueryTarget::All);
    let replies = get.timeout(PATIENCE).wait()?;
    let mut found = Vec::new();
    while let Ok(reply) = replies.recv() {
        let Ok(sample) = reply.result() else { continue };
        let zid = sample.key_expr().as_str().split('/').nth(1);
        let text = String::from_utf8_lossy(&sample.payload().to_bytes()).into_owned();
        found.push((zid.unwrap_or_default().to_owned(), text));
    }
    found.sort();
    Ok(found)
}

/// Events of a router that are known.
#[derive(Default)]
struct Known {
    /// Begin of counting.
    began: Value,
    last: u64,
    is_silent: bool,
}

/// The routers whose events are printed.
struct Followed {
    /// The id of the querying node, whose own link is no news.
    own: String,
    as_json: bool,
    routers: BTreeMap<String, Known>,
}

impl Followed {
    /// Begins behind this report: only later events are printed.
    fn begin(&mut self, zid: &str, text: &str) {
        let report: Value = serde_json::from_str(text).unwrap_or_default();
        let known = Known {
            began: report["began"].clone(),
            last: report["last"].as_u64().unwrap_or(0),
            is_silent: false,
        };
        self.routers.insert(zid.to_owned(), known);
    }

    /// Prints the links that a router describes.
    fn show_open(&self, zid: &str, text: &str) {
        let root: Value = serde_json::from_str(text).unwrap_or_default();
        for open in root["sessions"].as_array().into_iter().flatten() {
            let (peer, role) = (&open["peer"], &open["whatami"]);
            let remote = &open["links"][0]["dst"];
            let word = |value: &Value| value.as_str().unwrap_or("?").to_owned();
            let line = format!(
                "connected to {} {} at {}",
                word(role),
                word(peer),
                word(remote)
            );
            let link = json!({"zid": peer, "role": role, "remote": remote});
            self.show(
                zid,
                &json!({"event": "connected", "link": link, "text": line}),
            );
        }
    }

    fn look(&mut self, answers: &[(String, String)]) {
        let mut news = Vec::new();
        // New events of each router; one that has restarted counts anew.
        for (zid, text) in answers {
            let report: Value = serde_json::from_str(text).unwrap_or_default();
            let known = self.routers.entry(zid.clone()).or_default();
            if std::mem::take(&mut known.is_silent) {
                complain(format_args!("router {zid} answers again"));
            }
            if known.began != report["began"] {
                (known.began, known.last) = (report["began"].clone(), 0);
            }
            for event in report["events"].as_array().into_iter().flatten() {
                let number = event["number"].as_u64().unwrap_or(0);
                if number > known.last {
                    news.push((zid.clone(), event.clone()));
                }
            }
            known.last = report["last"].as_u64().unwrap_or(known.last);
        }
        // Print them after all reports are read.
        for (zid, event) in news {
            self.show(&zid, &event);
        }
        // Report routers that have fallen silent, once.
        for (zid, known) in &mut self.routers {
            let is_there = answers.iter().any(|(other, _)| other == zid);
            if !is_there && !std::mem::replace(&mut known.is_silent, true) {
                complain(format_args!("router {zid} does not answer"));
            }
        }
    }

    fn show(&self, zid: &str, event: &Value) {
        if event["link"]["zid"] == self.own.as_str() {
            return;
        }
        if self.as_json {
            let mut event = event.clone();
            event["router"] = json!(zid);
            return print(format_args!("{event}"));
        }
        let text = event["text"].as_str().unwrap_or_default();
        match self.routers.len() {
            1 => print(format_args!("{text}")),
            _ => print(format_args!("{zid}: {text}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whom_to_ask_is_any_or_an_id() {
        assert_eq!("any".parse(), Ok(Whom::Any));
        let zid: ZenohId = "a1b2".parse().expect("an id");
        assert_eq!("a1b2".parse(), Ok(Whom::Node(zid)));
        assert!("router 7".parse::<Whom>().is_err());
    }
}
