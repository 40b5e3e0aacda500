// SPDX-License-Identifier: MIT OR Apache-2.0

//! The replies to a query to the admin space, made part by part.

use std::sync::Arc;

use zonda_codec::{KeyExpr, ZenohId};

use crate::{
    admin::{
        config_space::config_replies,
        explanation::Explaining,
        question::{AdminQuestion, AdminReply, JSON},
        report_cache::Report,
    },
    metrics::reference::without_neighbours,
    node::shared::Shared,
    table::{Declarers, Kind, Listed, SenderPlace},
};

/// Number of entities and nodes that are copied while the node is locked once.
const STEPS: usize = 512;

/// An answer that is under way.
pub(crate) struct Answer {
    asked: AdminQuestion,
    root: KeyExpr<'static>,
    /// Sections that are left, the next one last.
    sections: Vec<Section>,
}

/// Keys of one form, and the place of the next part.
enum Section {
    /// One key, with a text that may be reused.
    Report(Report),
    /// The keys of the entities of a kind.
    Entities { kind: Kind, from: u32 },
    /// The keys of the publishers or queriers that send to entities of a kind.
    Senders { kind: Kind, from: SenderPlace },
    /// The keys of the configuration.
    Config,
    /// The next routers on all ways of the mesh, by the root of the way.
    Successors { routers: Vec<ZenohId> },
    /// The way of one message, only in answer to a query for it.
    Explanation(Box<Explaining>),
}

/// A part of a section, and the section's rest.
struct Part {
    replies: Vec<AdminReply>,
    rest: Option<Section>,
}

impl Answer {
    /// Begins an answer with the sections that the query's key intersects.
    pub(crate) fn begin(asked: AdminQuestion, root: KeyExpr<'static>) -> Answer {
        let senders = |kind| Section::Senders {
            kind,
            from: SenderPlace::FIRST,
        };
        let entities = |kind| Section::Entities { kind, from: 0 };
        // In the order in which they are answered.
        let unwanted = match asked.wants_stats {
            true => Report::Root,
            false => Report::RootWithStats,
        };
        let reports = Report::ALL.into_iter().filter(|one| *one != unwanted);
        let mut sections: Vec<_> = reports.map(Section::Report).collect();
        sections.extend([
            entities(Kind::Subscriber),
            senders(Kind::Subscriber),
            entities(Kind::Queryable),
            senders(Kind::Queryable),
            entities(Kind::Token),
            Section::Config,
            Section::Successors {
                routers: Vec::new(),
            },
        ]);
        sections.retain(|section| section.is_meant(&asked.key, &root));
        sections.reverse();
        Answer {
            asked,
            root,
            sections,
        }
    }

    /// Begins an answer that explains the way of a message.
    pub(crate) fn explain(asked: AdminQuestion, root: KeyExpr<'static>, way: Explaining) -> Answer {
        Answer {
            asked,
            root,
            sections: vec![Section::Explanation(Box::new(way))],
        }
    }

    /// Returns the query.
    pub(crate) fn asked(&self) -> &AdminQuestion {
        &self.asked
    }

    /// Returns the next replies, perhaps none; `None` at the end.
    pub(crate) fn next(&mut self, node: &Arc<Shared>) -> Option<Vec<AdminReply>> {
        let section = self.sections.pop()?;
        let Part { mut replies, rest } = section.part(node, &self.root, &self.asked.key);
        self.sections.extend(rest);
        replies.retain(|reply| self.asked.key.intersects(&reply.key));
        let metrics = Report::Metrics.encoding();
        for reply in replies.iter_mut().filter(|reply| reply.encoding == metrics) {
            if self.asked.omits_neighbours {
                reply.text = without_neighbours(&reply.text).into();
            }
            if self.asked.omits_descriptors {
                reply.text = without_descriptors(&reply.text);
            }
        }
        Some(replies)
    }
}

impl Section {
    /// Returns true if the section may have keys that intersect `key`.
    fn is_meant(&self, key: &KeyExpr<'_>, root: &KeyExpr<'_>) -> bool {
        let below = match self {
            Section::Report(report) => {
                return report.key(root).is_some_and(|own| own.intersects(key));
            }
            Section::Entities { kind, .. } => format!("{}/**", entity_family(*kind)),
            Section::Senders { kind, .. } => format!("{}/**", sender_family(*kind)),
            Section::Config => "config/**".to_owned(),
            Section::Successors { .. } => "route/successor/src/*/dst/*".to_owned(),
            Section::Explanation(_) => "explain".to_owned(),
        };
        // Declared keys may have verbatim chunks, which no wildcard matches.
        let is_named = || {
            let fixed = root.join(below.trim_end_matches("/**")).ok();
            fixed.is_some_and(|fixed| begins_like(key, &fixed))
        };
        root.join(&below).is_ok_and(|own| own.intersects(key)) || is_named()
    }

    fn part(self, node: &Arc<Shared>, root: &KeyExpr<'_>, asked: &KeyExpr<'_>) -> Part {
        match self {
            Section::Report(report) => Part {
                replies: report_reply(node, report, root).into_iter().collect(),
                rest: None,
            },
            Section::Entities { kind, from } => {
                let part = node.state.lock().table.list_entities(kind, from, STEPS);
                Part {
                    replies: declared(root, entity_family(kind), part.rows),
                    rest: part.next.map(|from| Section::Entities { kind, from }),
                }
            }
            Section::Senders { kind, from } => {
                let part = node.state.lock().table.list_senders(kind, &from, STEPS);
                Part {
                    replies: declared(root, sender_family(kind), part.rows),
                    rest: part.next.map(|from| Section::Senders { kind, from }),
                }
            }
            Section::Config => Part {
                replies: config_replies(node, root),
                rest: None,
            },
            Section::Successors { routers } => successors(node, root, asked, routers),
            Section::Explanation(mut way) => {
                let reply = way.next(node, root);
                let rest = reply.is_none().then_some(Section::Explanation(way));
                let replies = reply.into_iter().collect();
                Part { replies, rest }
            }
        }
    }
}

/// Returns the name of a kind of entities in keys.
const fn entity_family(kind: Kind) -> &'static str {
    match kind {
        Kind::Subscriber => "subscriber",
        Kind::Queryable => "queryable",
        Kind::Token => "token",
    }
}

/// Returns the name of those that send to a kind of entities in keys. Tokens get no messages.
const fn sender_family(kind: Kind) -> &'static str {
    match kind {
        Kind::Subscriber | Kind::Token => "publisher",
        Kind::Queryable => "querier",
    }
}

/// Returns true if the first chunks of `key` intersect all of `prefix`.
fn begins_like(key: &KeyExpr<'_>, prefix: &KeyExpr<'_>) -> bool {
    let count = prefix.chunks().count();
    let mut ends = key.as_str().match_indices('/').map(|(at, _)| at);
    let begin = ends.nth(count - 1).and_then(|end| key.as_str().get(..end));
    let begin = begin.and_then(|begin| KeyExpr::new(begin).ok());
    begin.is_some_and(|begin| begin.intersects(prefix))
}

fn report_reply(node: &Arc<Shared>, report: Report, root: &KeyExpr<'_>) -> Option<AdminReply> {
    let text = node.admin_report(report);
    (!text.is_empty()).then_some(AdminReply {
        key: report.key(root)?,
        text,
        encoding: report.encoding(),
    })
}

/// Returns metrics without their descriptions.
fn without_descriptors(text: &str) -> Arc<str> {
    let lines = text.split_inclusive('\n');
    let samples: String = lines.filter(|line| !line.starts_with('#')).collect();
    samples.into()
}

/// Returns the replies for declared keys.
fn declared(root: &KeyExpr<'_>, family: &str, rows: Vec<Listed>) -> Vec<AdminReply> {
    let reply = |row: Listed| {
        Some(AdminReply {
            key: root.join(&format!("{family}/{}", row.key)).ok()?,
            text: declarers_text(&row.by).into(),
            encoding: JSON,
        })
    };
    rows.into_iter().filter_map(reply).collect()
}

/// Returns nodes as JSON, in the order of the reference.
fn declarers_text(by: &Declarers) -> String {
    let list = |zids: &[ZenohId]| {
        let zids: Vec<_> = zids.iter().map(|zid| format!("\"{zid}\"")).collect();
        zids.join(",")
    };
    format!(
        "{{\"routers\":[{}],\"peers\":[{}],\"clients\":[{}]}}",
        list(&by.routers),
        list(&by.peers),
        list(&by.clients)
    )
}

/// Returns the next routers in the tree of one router, the last of `routers`; the others are the
/// rest. An empty list is filled first.
fn successors(
    node: &Arc<Shared>,
    root: &KeyExpr<'_>,
    asked: &KeyExpr<'_>,
    mut routers: Vec<ZenohId>,
) -> Part {
    // Roots that the query does not ask for cost nothing but a comparison.
    let all = node.routers();
    if routers.is_empty() {
        let below = |zid: &ZenohId| root.join(&format!("route/successor/src/{zid}/dst/*")).ok();
        let is_meant = |zid: &ZenohId| below(zid).is_some_and(|key| key.intersects(asked));
        routers = all.iter().copied().filter(is_meant).collect();
    }
    let Some(source) = routers.pop() else {
        let (replies, rest) = (Vec::new(), None);
        return Part { replies, rest };
    };
    // One tree is computed under the lock at a time.
    let next = node.state.lock().table.successors(&source, &all);
    let reply = |(to, next): (&ZenohId, Option<ZenohId>)| {
        let below = format!("route/successor/src/{source}/dst/{to}");
        Some(AdminReply {
            key: root.join(&below).ok()?,
            text: format!("\"{}\"", next?).into(),
            encoding: JSON,
        })
    };
    let replies = all.iter().zip(next).filter_map(reply).collect();
    let rest = (!routers.is_empty()).then_some(Section::Successors { routers });
    Part { replies, rest }
}
