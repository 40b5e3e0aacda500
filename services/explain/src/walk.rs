// SPDX-License-Identifier: MIT OR Apache-2.0
//! The walk along a message's way, from router to router.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::network::Routers;
use crate::words::{denial, plural_of};
use crate::{ExplainError, Message};

/// Most routers on a walk.
const ROUTERS_MAX: usize = 1000;

/// The end of a way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// These nodes get the message.
    Arrives(Vec<String>),
    /// The message stops, for these reasons, a line each.
    Stops(Vec<String>),
}

impl Outcome {
    pub fn arrives(&self) -> bool {
        matches!(self, Outcome::Arrives(_))
    }

    /// Returns it in lines.
    pub fn lines(&self, message: &Message) -> Vec<String> {
        match self {
            Outcome::Arrives(nodes) => {
                vec![format!("{} arrives at {}", message.key, nodes.join(", "))]
            }
            Outcome::Stops(reasons) => reasons.clone(),
        }
    }
}

/// The routers on the way of a message, and its end.
pub struct Walk {
    /// The explanation of each router, in the order of the way.
    pub reports: Vec<Value>,
    pub outcome: Outcome,
}

/// Routers that are still to be asked, and what was found.
struct Search<'m> {
    message: &'m Message,
    /// The router where the message enters the mesh, and those that it comes to: each with the
    /// place of the report before it, and the node that hands the message over.
    next: Vec<(String, Option<usize>, String)>,
    visited: BTreeSet<String>,
    /// Explanations, each with the place of the one before it.
    reports: Vec<(Option<usize>, Value)>,
    /// Places of the reports before an end, and the nodes that get the message there.
    arrivals: Vec<(usize, String)>,
    /// Places of reports in which the message is stopped, with the reason.
    stops: Vec<(usize, String)>,
    silent: Vec<String>,
}

impl Walk {
    /// Follows a message.
    ///
    /// # Errors
    /// The session does not send the queries.
    pub fn of(message: &Message, routers: &dyn Routers) -> Result<Walk, ExplainError> {
        let begins = routers.of(&message.from);
        let Some(first) = begins.first() else {
            let outcome = Outcome::Stops(unconnected(&message.from, routers));
            let reports = Vec::new();
            return Ok(Walk { reports, outcome });
        };
        let mut search = Search {
            message,
            next: Vec::new(),
            visited: BTreeSet::new(),
            reports: Vec::new(),
            arrivals: Vec::new(),
            stops: Vec::new(),
            silent: Vec::new(),
        };
        // A node with several routers hands the message to each.
        for router in &begins {
            search
                .next
                .push((router.clone(), None, message.from.clone()));
        }
        search.run(routers)?;
        search.end(first, routers)
    }
}

impl Search<'_> {
    fn run(&mut self, routers: &dyn Routers) -> Result<(), ExplainError> {
        while let Some((router, before, from)) = self.next.pop() {
            if self.visited.len() >= ROUTERS_MAX || !self.visited.insert(router.clone()) {
                continue;
            }
            // The router where the message enters the mesh is the source for all behind it.
            let source = match before {
                None => from.clone(),
                Some(place) => self.first_on_way(place),
            };
            let report = routers.explain(&router, &from, &source, self.message)?;
            let Some(report) = report else {
                self.silent.push(router);
                continue;
            };
            self.reports.push((before, report.clone()));
            self.take(self.reports.len() - 1, &report);
        }
        Ok(())
    }

    /// Returns the router at which the way begins.
    fn first_on_way(&self, mut place: usize) -> String {
        while let Some((Some(before), _)) = self.reports.get(place) {
            place = *before;
        }
        let first = self.reports.get(place);
        first.map_or_else(String::new, |(_, report)| word(report, "zid"))
    }

    /// Takes note of what a router does with the message.
    fn take(&mut self, place: usize, report: &Value) {
        let (router, from) = (word(report, "zid"), word(report, "from"));
        // The sender's publisher waits for subscribers, which the router may not tell it of.
        let unannounced = &report["unannounced"];
        let is_first = self
            .reports
            .get(place)
            .is_some_and(|(before, _)| before.is_none());
        if let Some(reason) = denial(&unannounced["effects"]).filter(|_| is_first) {
            let (takers, key) = (self.message.takers(), word(unannounced, "key"));
            let line = format!(
                "router {router} does not announce the {takers} {key} to {from}, so {from} sends nothing: {reason}"
            );
            return self.stops.push((place, line));
        }
        if let Some(reason) = denial(&report["ingress"]) {
            let line = format!("router {router} does not take it from {from}: {reason}");
            return self.stops.push((place, line));
        }
        for hop in report["onward"].as_array().into_iter().flatten() {
            let (zid, role) = (word(hop, "zid"), word(hop, "role"));
            let is_destination = self.message.to.as_ref().is_none_or(|to| *to == zid);
            let is_forwarded = role == "router" && hop["own"] != true;
            if !is_destination && !is_forwarded {
                continue;
            }
            match denial(&hop["egress"]) {
                Some(reason) => {
                    let line =
                        format!("router {router} does not send it to {role} {zid}: {reason}");
                    self.stops.push((place, line));
                }
                None if is_forwarded && self.message.to.as_ref() != Some(&zid) => {
                    self.next.push((zid, Some(place), router.clone()));
                }
                None => self.arrivals.push((place, format!("{role} {zid}"))),
            }
        }
    }

    /// Returns the way to the end.
    fn end(self, first: &str, routers: &dyn Routers) -> Result<Walk, ExplainError> {
        if let Some((place, _)) = self.arrivals.first() {
            let place = *place;
            let mut nodes: Vec<String> =
                self.arrivals.iter().map(|(_, node)| node.clone()).collect();
            nodes.sort();
            nodes.dedup();
            let reports = match &self.message.to {
                Some(_) => self.way(place),
                None => self.reports.into_iter().map(|(_, report)| report).collect(),
            };
            let outcome = Outcome::Arrives(nodes);
            return Ok(Walk { reports, outcome });
        }
        if let Some((place, _)) = self.stops.first() {
            let reports = self.way(*place);
            let lines = self.stops.into_iter().map(|(_, line)| line).collect();
            let outcome = Outcome::Stops(lines);
            return Ok(Walk { reports, outcome });
        }
        if let Some(to) = self
            .message
            .to
            .as_ref()
            .filter(|to| routers.of(to).is_empty())
        {
            let outcome = Outcome::Stops(unconnected(to, routers));
            let reports = Vec::new();
            return Ok(Walk { reports, outcome });
        }
        let mut lines = self.untaken(first, routers)?;
        lines.extend(self.silent.iter().map(|router| {
            format!("router {router} does not answer: it may be older, or not let its admin space be read")
        }));
        let reports = self.reports.into_iter().map(|(_, report)| report).collect();
        let outcome = Outcome::Stops(lines);
        Ok(Walk { reports, outcome })
    }

    /// Returns the reports on the way to one of them.
    fn way(&self, place: usize) -> Vec<Value> {
        let mut way = Vec::new();
        let mut next = Some(place);
        while let Some((before, report)) = next.and_then(|place| self.reports.get(place)) {
            way.push(report.clone());
            next = *before;
        }
        way.reverse();
        way
    }

    /// Explains why a message that no rule stops has no receiver, or does not reach the one that
    /// is asked for.
    fn untaken(&self, first: &str, routers: &dyn Routers) -> Result<Vec<String>, ExplainError> {
        let (takers, key) = (self.message.takers(), &self.message.key);
        let Some(to) = &self.message.to else {
            let mut lines = vec![format!("router {first} has no {takers} that matches {key}")];
            lines.extend(self.nearest());
            return Ok(lines);
        };
        let Some(last) = routers.of(to).into_iter().next() else {
            return Ok(unconnected(to, routers));
        };
        // The router of the destination knows what it has declared.
        let known = self
            .reports
            .iter()
            .find(|(_, report)| word(report, "zid") == last);
        let report = match known {
            Some((_, report)) => Some(report.clone()),
            None => routers.explain(&last, &self.message.from, first, self.message)?,
        };
        let Some(report) = report else {
            return Ok(vec![format!("router {last} of {to} does not answer")]);
        };
        let declared = report["declared"].as_array();
        let has_declared = declared.is_some_and(|rows| rows.iter().any(|row| by(row, to)));
        if !has_declared {
            return Ok(undeclared(to, self.message, &report));
        }
        Ok(match last == first {
            true => vec![format!(
                "router {last} does not forward from {} to {to}: they may exchange messages directly",
                self.message.from
            )],
            false => vec![format!(
                "router {last} knows the {takers} of {to}, router {first} does not: the declaration is \
                 on its way, or a router between them refuses it"
            )],
        })
    }

    fn nearest(&self) -> Option<String> {
        let (_, report) = self.reports.first()?;
        nearest_of(report, self.message.takers())
    }
}

/// Explains that a node has no link to any router that answers.
fn unconnected(zid: &str, routers: &dyn Routers) -> Vec<String> {
    let mut lines = vec![format!("{zid} is connected to no router that answers")];
    lines.extend(routers.last_event(zid));
    lines
}

/// Explains that a router has no matching declaration of a node.
fn undeclared(to: &str, message: &Message, report: &Value) -> Vec<String> {
    let (router, takers, key) = (word(report, "zid"), message.takers(), &message.key);
    let refused = report["refused"].as_array().into_iter().flatten();
    let lines = refused.filter_map(|one| {
        let (declared, reason) = (word(one, "key"), denial(&one["effects"])?);
        Some(format!(
            "router {router} has refused the {takers} {declared} of {to}: {reason}"
        ))
    });
    let mut lines: Vec<_> = lines.collect();
    if lines.is_empty() {
        lines.push(format!(
            "{to} has declared no {takers} to router {router} that matches {key}"
        ));
        lines.extend(nearest_of(report, takers));
    }
    lines
}

/// Names the most similar keys, if there are any.
fn nearest_of(report: &Value, takers: &str) -> Option<String> {
    let rows = report["nearest"].as_array()?;
    let keys: Vec<String> = rows.iter().map(|row| word(row, "key")).collect();
    let noun = plural_of(takers, keys.len());
    (!keys.is_empty()).then(|| format!("the most similar {noun}: {}", keys.join(", ")))
}

/// Returns true if a node has declared a key.
fn by(row: &Value, zid: &str) -> bool {
    let lists = ["routers", "peers", "clients"].map(|name| row[name].as_array());
    let mut all = lists.into_iter().flatten().flatten();
    all.any(|one| one == zid)
}

/// Returns a member that is a text.
pub fn word(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or("?").to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    /// Routers by id: the nodes that each is connected to, and its report.
    #[derive(Default)]
    struct Told(BTreeMap<&'static str, (Vec<&'static str>, Value)>);

    impl Routers for Told {
        fn of(&self, zid: &str) -> Vec<String> {
            let has = |(router, (nodes, _)): &(&&str, &(Vec<&str>, Value))| {
                **router == zid || nodes.contains(&zid)
            };
            let all = self.0.iter().filter(has);
            all.map(|(router, _)| (*router).to_owned()).collect()
        }

        fn last_event(&self, zid: &str) -> Option<String> {
            Some(format!("{zid} left"))
        }

        fn explain(
            &self,
            router: &str,
            from: &str,
            _: &str,
            _: &Message,
        ) -> Result<Option<Value>, ExplainError> {
            let report = self.0.get(router).map(|(_, report)| report.clone());
            Ok(report.map(|mut report| {
                report["zid"] = json!(router);
                report["from"] = json!(from);
                report
            }))
        }
    }

    fn message() -> Message {
        Message {
            kind: crate::Kind::Put,
            key: "demo/a".to_owned(),
            from: "c1".to_owned(),
            to: Some("c2".to_owned()),
        }
    }

    fn hop(zid: &str, role: &str, denied: bool) -> Value {
        let egress = json!([{"filter": "access_control", "denied": denied, "text": "denied by rule \"r\"", "hints": []}]);
        json!({"zid": zid, "role": role, "own": false, "egress": egress})
    }

    /// Returns two routers: the first has `c1` and sends on to the second, which has `c2`.
    fn two(second: Value) -> Told {
        let first = json!({"ingress": [], "onward": [hop("b", "router", false)]});
        Told(BTreeMap::from([
            ("a", (vec!["c1"], first)),
            ("b", (vec!["c2"], second)),
        ]))
    }

    fn walked(told: &Told) -> Walk {
        Walk::of(&message(), told).unwrap_or_else(|_| panic!("a test does not fail to ask"))
    }

    #[test]
    fn a_way_goes_over_the_routers_to_its_end() {
        let told = two(
            json!({"ingress": [], "onward": [hop("c2", "client", false), hop("c3", "client", false)]}),
        );
        let walk = walked(&told);
        assert_eq!(walk.outcome, Outcome::Arrives(vec!["client c2".to_owned()]));
        let way: Vec<_> = walk.reports.iter().map(|one| word(one, "zid")).collect();
        assert_eq!(way, ["a", "b"]);
        assert_eq!(walk.reports[1]["from"], "a");
    }

    #[test]
    fn the_router_that_stops_it_is_named() {
        let told = two(json!({"ingress": [], "onward": [hop("c2", "client", true)]}));
        let line = "router b does not send it to client c2: access_control: denied by rule \"r\"";
        assert_eq!(walked(&told).outcome, Outcome::Stops(vec![line.to_owned()]));
        let ingress = hop("x", "client", true)["egress"].clone();
        let told = two(json!({"ingress": ingress, "onward": [hop("c2", "client", false)]}));
        let line = "router b does not take it from a: access_control: denied by rule \"r\"";
        assert_eq!(walked(&told).outcome, Outcome::Stops(vec![line.to_owned()]));
    }

    #[test]
    fn a_node_without_a_matching_declaration_is_told_with_the_most_similar_key() {
        let second =
            json!({"ingress": [], "onward": [], "declared": [], "nearest": [{"key": "demo/b"}]});
        let Outcome::Stops(lines) = walked(&two(second)).outcome else {
            panic!("it does not arrive");
        };
        assert!(
            lines[0].starts_with("c2 has declared no subscriber to router b"),
            "{lines:?}"
        );
        assert_eq!(lines[1], "the most similar subscriber: demo/b");
    }

    #[test]
    fn a_node_without_a_link_is_told_with_its_last_event() {
        let told = Told(BTreeMap::from([(
            "a",
            (vec!["c1"], json!({"ingress": [], "onward": []})),
        )]));
        let expected = ["c2 is connected to no router that answers", "c2 left"];
        let expected = expected.map(str::to_owned).to_vec();
        assert_eq!(walked(&told).outcome, Outcome::Stops(expected));
    }

    #[test]
    fn a_sender_that_hears_of_no_receiver_is_named() {
        let effects = hop("x", "client", true)["egress"].clone();
        let unannounced = json!({"key": "demo/*", "effects": effects});
        let first = json!({"ingress": [], "onward": [hop("c2", "client", false)], "unannounced": unannounced});
        let told = Told(BTreeMap::from([("a", (vec!["c1", "c2"], first))]));
        let line = "router a does not announce the subscriber demo/* to c1, so c1 sends nothing: access_control: \
                    denied by rule \"r\"";
        assert_eq!(walked(&told).outcome, Outcome::Stops(vec![line.to_owned()]));
    }

    #[test]
    fn routers_in_a_circle_are_asked_once() {
        let first = json!({"ingress": [], "onward": [hop("b", "router", false)]});
        let second = json!({"ingress": [], "onward": [hop("a", "router", false)], "declared": [], "nearest": []});
        let told = Told(BTreeMap::from([
            ("a", (vec!["c1"], first)),
            ("b", (vec!["c2"], second)),
        ]));
        assert_eq!(walked(&told).reports.len(), 2);
    }
}
