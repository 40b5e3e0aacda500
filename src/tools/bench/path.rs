// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nodes between two ends, as far as known: the links of both ends, and the links that routers
//! list in their admin space.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use zonda::{Session, Wait};

/// Limit of the wait for admin spaces.
const PATIENCE: Duration = Duration::from_secs(1);

/// The node at the other end of a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbour {
    /// The id.
    pub zid: String,
    /// The role.
    pub role: String,
    /// The address at the other end of the link.
    pub remote: String,
}

/// Returns the links of this node.
pub fn neighbours(session: &Session) -> Vec<Neighbour> {
    let links = session.info().links();
    let of = links.into_iter().map(|link| Neighbour {
        zid: link.zid.to_string(),
        role: link.whatami.to_string(),
        remote: link.remote.to_string(),
    });
    of.collect()
}

/// Neighbours of each node.
type Known = BTreeMap<String, Vec<Neighbour>>;

/// A path from this node to another one: each node on it, the last one being the destination; empty
/// if it is not known.
#[derive(Debug, PartialEq, Eq)]
pub struct Path(Vec<Neighbour>);

/// Returns the shortest path to the node with this id and these links.
pub fn path(session: &Session, to: &str, links: &[Neighbour]) -> Path {
    let own = session.zid().to_string();
    let mut known = Known::from([(own.clone(), neighbours(session))]);
    if let Some(path) = shortest(&known, &own, to) {
        return path;
    }
    for neighbour in links {
        let other = Neighbour {
            zid: to.to_owned(),
            role: "node that serves".to_owned(),
            remote: String::new(),
        };
        known.entry(neighbour.zid.clone()).or_default().push(other);
    }
    for (zid, sessions) in administered(session) {
        known.entry(zid).or_default().extend(sessions);
    }
    shortest(&known, &own, to).unwrap_or(Path(Vec::new()))
}

/// Returns the sessions that routers list.
fn administered(session: &Session) -> Known {
    let mut known = Known::new();
    let Ok(replies) = session.get("@/*/router").timeout(PATIENCE).wait() else {
        return known;
    };
    for reply in replies {
        let Ok(sample) = reply.result() else { continue };
        let told = serde_json::from_slice::<Value>(&sample.payload().to_bytes());
        let told = told.unwrap_or_default();
        if let Some(zid) = told["zid"].as_str() {
            known.insert(zid.to_owned(), sessions(&told));
        }
    }
    known
}

/// Returns the sessions in the reply of a router of Zonda or Zenoh.
fn sessions(told: &Value) -> Vec<Neighbour> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = told["sessions"].as_array().into_iter().flatten();
    let of = all.map(|session| Neighbour {
        zid: text(&session["peer"]),
        role: text(&session["whatami"]),
        remote: text(&session["links"][0]["dst"]),
    });
    of.collect()
}

fn shortest(known: &Known, from: &str, to: &str) -> Option<Path> {
    let mut ways = VecDeque::from([(from.to_owned(), Vec::new())]);
    let mut seen = vec![from.to_owned()];
    while let Some((at, way)) = ways.pop_front() {
        for next in known.get(&at).into_iter().flatten() {
            if seen.contains(&next.zid) {
                continue;
            }
            seen.push(next.zid.clone());
            let mut longer: Vec<Neighbour> = way.clone();
            longer.push(next.clone());
            if next.zid == to {
                return Some(Path(longer));
            }
            ways.push_back((next.zid.clone(), longer));
        }
    }
    None
}

impl Path {
    /// Formats in words.
    pub fn words(&self) -> String {
        if self.0.is_empty() {
            return "by a way that no admin space tells".to_owned();
        }
        let hop = |hop: &Neighbour| match hop.remote.is_empty() {
            true => format!("{} {}", hop.role, hop.zid),
            false => format!("{} {} ({})", hop.role, hop.zid, hop.remote),
        };
        let hops: Vec<String> = self.0.iter().map(hop).collect();
        format!("this node -> {}", hops.join(" -> "))
    }

    /// Formats as JSON: the nodes on the path, in order.
    pub fn to_json(&self) -> Value {
        json!(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(zid: &str) -> Neighbour {
        Neighbour {
            zid: zid.to_owned(),
            role: "router".to_owned(),
            remote: String::new(),
        }
    }

    #[test]
    fn the_way_with_the_fewest_hops_is_found() {
        let known = Known::from([
            ("me".to_owned(), vec![node("a"), node("b")]),
            ("a".to_owned(), vec![node("me"), node("c")]),
            ("c".to_owned(), vec![node("you")]),
            ("b".to_owned(), vec![node("you")]),
        ]);
        let found = shortest(&known, "me", "you").expect("there is one");
        assert_eq!(found.words(), "this node -> router b -> router you");
        assert_eq!(shortest(&known, "me", "nobody"), None);
    }

    #[test]
    fn sessions_are_read_as_routers_tell_them() {
        let told = json!({"zid": "a", "sessions": [
            {"peer": "b", "whatami": "client", "links": [{"src": "x", "dst": "tcp/h:1"}]},
        ]});
        let [only] = &sessions(&told)[..] else {
            panic!("one session");
        };
        assert_eq!((only.zid.as_str(), only.remote.as_str()), ("b", "tcp/h:1"));
        assert!(sessions(&json!({})).is_empty());
    }
}
