// SPDX-License-Identifier: MIT OR Apache-2.0

//! An explanation of the way of a message through this node: the filters that decide about it, the
//! neighbours that get it, and the keys that are declared. Made step by step, each with the node's
//! lock held briefly.

use std::sync::Arc;

use serde_json::{Value, json};
use zonda_codec::{KeyExpr, ZenohId};
use zonda_transport::text::distance;

use crate::{
    admin::question::{AdminReply, JSON},
    config::{Flow, MessageKind},
    filter::{Effect, Message, Neighbourhood, refused_keys},
    node::{shared::Shared, state::State},
    table::{FaceId, Kind, Listed, OnwardSearch},
};

/// Most bytes of the parameters of a query for an explanation: a key, and some ids.
const PARAMETERS_MAX: usize = 66_000;

/// Number of entities and nodes that are looked at in a step.
const STEPS: usize = 512;

/// Most neighbours that a reply describes.
const ONWARD_MAX: usize = 256;

/// Most declared keys that a reply names.
const DECLARED_MAX: usize = 64;

/// Most keys that are compared with the key of a message which no declared key meets.
const COMPARED_MAX: usize = 1024;

/// Longest key that is compared.
const COMPARED_LENGTH_MAX: usize = 128;

/// Number of the most similar keys that a reply names.
const NEAREST: usize = 3;

/// Returns true for the key of explanations on any node: `@/ID/ROLE/explain`.
pub(crate) fn is_explanation(key: &KeyExpr<'_>) -> bool {
    let mut chunks = key.as_str().split('/');
    let ends = [chunks.next(), chunks.nth(2), chunks.next()];
    ends == [Some("@"), Some("explain"), None]
}

/// Returns the part of the parameters that a query keeps until its turn.
pub(crate) fn kept_parameters(parameters: &str) -> &str {
    match parameters.len() <= PARAMETERS_MAX {
        true => parameters,
        false => "",
    }
}

/// A message whose way is asked for.
#[derive(Debug, Clone)]
struct Asked {
    kind: MessageKind,
    key: KeyExpr<'static>,
    /// The neighbour that the message comes from; this node, for its own session.
    from: ZenohId,
    /// The node where the message entered the mesh: `from`, unless that is a router which forwards.
    source: ZenohId,
    /// The node whose declared keys count if none meets that of the message.
    to: Option<ZenohId>,
}

impl Asked {
    /// Reads the parameters `from=ID;source=ID;to=ID;kind=NAME;key=KEY`. The key comes last, as it
    /// may contain any of these characters.
    fn read(parameters: &str) -> Result<Asked, String> {
        const FORM: &str = "an explanation needs the parameters from=ID;source=ID;to=ID;kind=NAME;\
                            key=KEY, of which source, to and kind may be absent, in this order";
        let (mut before, key) = match parameters.split_once("key=") {
            Some((before, key)) if before.is_empty() || before.ends_with(';') => (before, key),
            _ => return Err(FORM.into()),
        };
        let mut next = |name: &str| {
            let rest = before.strip_prefix(name)?.strip_prefix('=')?;
            let (value, rest) = rest.split_once(';')?;
            before = rest;
            Some(value)
        };
        let id = |text: &str| {
            text.parse::<ZenohId>()
                .map_err(|_| format!("{text:?} is no id"))
        };
        let from = id(next("from").ok_or(FORM)?)?;
        let source = next("source").map_or(Ok(from), id)?;
        let to = next("to").map(id).transpose()?;
        let kind = next("kind").unwrap_or("put");
        if !before.is_empty() {
            return Err(FORM.into());
        }
        let kind = match kind {
            "put" => MessageKind::Put,
            "delete" => MessageKind::Delete,
            "query" => MessageKind::Query,
            other => return Err(format!("kind {other:?} is neither put, delete nor query")),
        };
        let key = KeyExpr::try_from(key.to_owned()).map_err(|error| error.to_string())?;
        Ok(Asked {
            kind,
            key,
            from,
            source,
            to,
        })
    }

    /// Returns the kind of entities that get the message.
    fn takers(&self) -> Kind {
        match self.kind {
            MessageKind::Query => Kind::Queryable,
            _ => Kind::Subscriber,
        }
    }

    /// Returns the kind of declarations by which entities ask for it.
    fn declarations(&self) -> MessageKind {
        match self.kind {
            MessageKind::Query => MessageKind::DeclareQueryable,
            _ => MessageKind::DeclareSubscriber,
        }
    }

    fn message(&self, flow: Flow) -> Message<'_> {
        let (kind, key) = (self.kind, &self.key);
        Message { flow, kind, key }
    }
}

/// The next step of an explanation.
enum Step {
    /// Search for the neighbours that get the message.
    Onward(OnwardSearch),
    /// Look through the declared keys from this number on.
    Declared(u32),
    /// Explain the filters of the neighbours that are left.
    Filters(Vec<FaceId>),
    /// Explain those of the sender about the declared key with this number.
    Announced(usize),
}

/// Explanation that is under way.
pub(crate) struct Explaining {
    asked: Asked,
    step: Step,
    /// The neighbours that get the message.
    onward: Vec<FaceId>,
    /// Description of each of them.
    described: Vec<Value>,
    /// The declared keys that meet the key of the message.
    declared: Vec<Value>,
    /// The most similar ones of the other keys, each with its distance.
    nearest: Vec<(usize, Value)>,
    compared: usize,
    /// The first of the declared keys, while the filters keep all of them from the sender, whose
    /// publisher or querier then sends nothing.
    unannounced: Option<Value>,
}

impl Explaining {
    /// Begins an explanation.
    ///
    /// # Errors
    /// The fault of the parameters.
    pub(crate) fn begin(node: &Shared, parameters: &str) -> Result<Explaining, String> {
        let asked = Asked::read(parameters)?;
        let state = node.state.lock();
        let source = state.table.face_of_node(&asked.source);
        let step = match source {
            Some(source) => {
                let (kind, key) = (asked.takers(), asked.key.clone());
                Step::Onward(state.table.begin_onward(source, kind, key))
            }
            // A message from there does not come here.
            None => Step::Declared(0),
        };
        Ok(Explaining {
            asked,
            step,
            onward: Vec::new(),
            described: Vec::new(),
            declared: Vec::new(),
            nearest: Vec::new(),
            compared: 0,
            unannounced: None,
        })
    }

    /// Does the next step; returns the reply at the end.
    pub(crate) fn next(&mut self, node: &Arc<Shared>, root: &KeyExpr<'_>) -> Option<AdminReply> {
        match &mut self.step {
            Step::Onward(search) => {
                let found = node.state.lock().table.search_onward(search);
                if let Some(found) = found {
                    self.onward = found;
                    self.step = Step::Declared(0);
                }
            }
            Step::Declared(from) => {
                let (from, kind) = (*from, self.asked.takers());
                let part = node.state.lock().table.list_entities(kind, from, STEPS);
                for row in part.rows {
                    self.take(&row);
                }
                self.step = match part.next {
                    Some(from) => Step::Declared(from),
                    None => Step::Filters(self.described_faces()),
                };
            }
            Step::Filters(left) => match left.pop() {
                Some(face) => {
                    let described = self.describe(node, face);
                    self.described.extend(described);
                }
                None => self.step = Step::Announced(0),
            },
            Step::Announced(place) => {
                let place = *place;
                let Some(row) = self.declared.get(place) else {
                    return self.reply(node, root);
                };
                let denied = self.denied_announcement(node, row);
                self.step = Step::Announced(match denied {
                    Some(_) => place + 1,
                    None => DECLARED_MAX,
                });
                self.unannounced = denied.map(|one| self.unannounced.take().unwrap_or(one));
            }
        }
        None
    }

    /// Returns the neighbours to describe, the first one last.
    fn described_faces(&self) -> Vec<FaceId> {
        let first = self.onward.iter().take(ONWARD_MAX);
        first.copied().rev().collect()
    }

    /// Takes note of a declared key.
    fn take(&mut self, row: &Listed) {
        let by = &row.by;
        let asked = &self.asked;
        let mut nodes = by.routers.iter().chain(&by.peers).chain(&by.clients);
        let is_by_destination = asked.to.is_none_or(|to| nodes.any(|zid| *zid == to));
        let Ok(key) = KeyExpr::new(row.key.as_str()) else {
            return;
        };
        if key.intersects(&asked.key) {
            if self.declared.len() < DECLARED_MAX {
                self.declared.push(declared_json(row));
            }
            return;
        }
        // A similar key of the destination may be the one that was meant.
        let is_short = |key: &str| key.len() <= COMPARED_LENGTH_MAX;
        let is_compared = is_by_destination && !row.key.starts_with('@');
        let is_room = self.compared < COMPARED_MAX && is_short(asked.key.as_str());
        if is_compared && is_room && is_short(&row.key) {
            self.compared += 1;
            let steps = distance(&row.key, asked.key.as_str());
            self.nearest.push((steps, declared_json(row)));
            self.nearest.sort_by_key(|(steps, _)| *steps);
            self.nearest.truncate(NEAREST);
        }
    }

    /// Describes one of the nodes that get the message.
    fn describe(&self, node: &Shared, face: FaceId) -> Option<Value> {
        if face == node.local {
            let (zid, role) = (node.zid.to_string(), node.role.to_string());
            return Some(json!({"zid": zid, "role": role, "own": true, "egress": []}));
        }
        let found = Neighbourhood::of(&node.state.lock(), face)?;
        let waiting = found.waiting();
        Some(json!({
            "zid": found.peer.zid.to_string(),
            "role": found.peer.whatami.to_string(),
            "own": false,
            "queued_bytes": waiting.iter().map(|one| one.queued_bytes).sum::<usize>(),
            "dropped": waiting.iter().map(|one| one.dropped).sum::<u64>(),
            "egress": effects_json(found.effects(self.asked.message(Flow::Egress))),
        }))
    }

    /// Describes declarations of the destination that meet the key, and that the filters have
    /// refused.
    fn refused(&self, node: &Shared) -> Vec<Value> {
        let (found, keys) = {
            let state = node.state.lock();
            let face = self.asked.to.and_then(|to| face_of(&state, &to));
            let Some(face) = face else { return Vec::new() };
            let Some(found) = Neighbourhood::of(&state, face) else {
                return Vec::new();
            };
            (found, refused_keys(&state, face, self.asked.takers()))
        };
        let keys = keys.iter().filter_map(|key| KeyExpr::new(&**key).ok());
        let meeting = keys.filter(|key| key.intersects(&self.asked.key));
        let described = meeting.take(NEAREST).map(|key| {
            let (flow, kind) = (Flow::Ingress, self.asked.declarations());
            let effects = found.effects(Message {
                flow,
                kind,
                key: &key,
            });
            json!({"key": key.as_str(), "effects": effects_json(effects)})
        });
        described.collect()
    }

    /// Describes a declared key if the filters keep it from the sender.
    fn denied_announcement(&self, node: &Shared, row: &Value) -> Option<Value> {
        let from = neighbour(&node.state.lock(), &self.asked.from)?;
        let key = KeyExpr::new(row["key"].as_str()?).ok()?;
        let effects = from.effects(Message {
            flow: Flow::Egress,
            kind: self.asked.declarations(),
            key: &key,
        });
        let is_denied = effects.iter().any(|effect| effect.is_denied);
        is_denied.then(|| json!({"key": key.as_str(), "effects": effects_json(effects)}))
    }

    fn reply(&mut self, node: &Shared, root: &KeyExpr<'_>) -> Option<AdminReply> {
        let asked = &self.asked;
        let from = neighbour(&node.state.lock(), &asked.from);
        let ingress = from
            .as_ref()
            .map(|from| from.effects(asked.message(Flow::Ingress)));
        let nearest = self.nearest.drain(..).map(|(_, row)| row);
        let nearest: Vec<_> = nearest.filter(|_| self.declared.is_empty()).collect();
        let text = json!({
            "zid": node.zid.to_string(),
            "role": node.role.to_string(),
            "kind": asked.kind.name(),
            "key": asked.key.as_str(),
            "from": asked.from.to_string(),
            "from_is_known": from.is_some() || asked.from == node.zid,
            "ingress": effects_json(ingress.unwrap_or_default()),
            "onward": self.described,
            "onward_left_out": self.onward.len().saturating_sub(ONWARD_MAX),
            "declared": self.declared,
            "nearest": nearest,
            "refused": self.refused(node),
            "unannounced": self.unannounced,
        });
        Some(AdminReply {
            key: root.join("explain").ok()?,
            text: text.to_string().into(),
            encoding: JSON,
        })
    }
}

/// Returns the face of a neighbour.
fn face_of(state: &State, zid: &ZenohId) -> Option<FaceId> {
    let mut faces = state.faces.iter();
    let found = faces.find(|(_, face)| face.status.zid == *zid && !face.is_group());
    found.map(|(face, _)| *face)
}

/// Copies what is known of a neighbour.
fn neighbour(state: &State, zid: &ZenohId) -> Option<Neighbourhood> {
    Neighbourhood::of(state, face_of(state, zid)?)
}

fn declared_json(row: &Listed) -> Value {
    let list = |zids: &[ZenohId]| -> Vec<String> { zids.iter().map(ToString::to_string).collect() };
    json!({
        "key": row.key,
        "routers": list(&row.by.routers),
        "peers": list(&row.by.peers),
        "clients": list(&row.by.clients),
    })
}

fn effects_json(effects: Vec<Effect>) -> Vec<Value> {
    let json = |effect: Effect| {
        json!({
            "filter": effect.key,
            "denied": effect.is_denied,
            "text": effect.text,
            "hints": effect.hints,
        })
    };
    effects.into_iter().map(json).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_in_their_order() {
        let read = |text| Asked::read(text);
        let whole =
            read("from=a1;source=b2;to=c3;kind=query;key=a/key=b;c/**").expect("it is whole");
        assert_eq!(whole.key.as_str(), "a/key=b;c/**");
        assert_eq!(
            (whole.from, whole.source),
            ("a1".parse().unwrap(), "b2".parse().unwrap())
        );
        assert_eq!(
            (whole.to, whole.kind),
            (Some("c3".parse().unwrap()), MessageKind::Query)
        );
        let short = read("from=a1;key=a").expect("the rest may be absent");
        assert_eq!(
            (short.source, short.to, short.kind),
            (short.from, None, MessageKind::Put)
        );
    }

    #[test]
    fn a_fault_of_the_parameters_is_named() {
        for (text, fault) in [
            ("", "an explanation needs the parameters"),
            ("key=a", "an explanation needs the parameters"),
            (
                "from=a1;to=b2;source=c3;key=a",
                "an explanation needs the parameters",
            ),
            ("from=xyz;key=a", "\"xyz\" is no id"),
            (
                "from=a1;kind=reply;key=a",
                "kind \"reply\" is neither put, delete nor query",
            ),
            ("from=a1;key=a//b", "empty"),
        ] {
            let error = Asked::read(text).expect_err(text);
            assert!(error.contains(fault), "{text}: {error}");
        }
    }

    #[test]
    fn one_key_of_each_node_has_explanations() {
        for (key, expected) in [
            ("@/a1/router/explain", true),
            ("@/*/*/explain", true),
            ("@/a1/router/**", false),
            ("@/a1/router/explain/more", false),
            ("a/a1/router/explain", false),
        ] {
            assert_eq!(
                is_explanation(&KeyExpr::new(key).expect(key)),
                expected,
                "{key}"
            );
        }
    }
}
