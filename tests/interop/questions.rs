// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queries of either implementation: gets, queriers, and the replies that they receive.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zonda::cancellation::CancellationToken;
use zonda::query::{ConsolidationMode, Querier, QueryTarget, Reply, ReplyKeyExpr};
use zonda::sample::{EntityGlobalId, SourceInfo};
use zonda::{Session, Wait};

use crate::message::{Content, Pattern, Seen, Service, hex};
use crate::party::{Party, joined};
use crate::reference::Reference;
use crate::wait::LONG;

/// Sets the conditions of a builder of ours.
macro_rules! given {
    ($builder:expr, $conditions:expr) => {{
        let (mut builder, conditions) = ($builder, $conditions);
        if let Some(target) = conditions.target {
            builder = builder.target(target.ours());
        }
        if let Some(consolidation) = conditions.consolidation {
            builder = builder.consolidation(consolidation.ours());
        }
        if let Some(timeout) = conditions.timeout {
            builder = builder.timeout(timeout);
        }
        if conditions.any_key {
            builder = builder.accept_replies(ReplyKeyExpr::Any);
        }
        if let Some(service) = conditions.service {
            builder = builder
                .priority(service.priority)
                .congestion_control(service.congestion)
                .express(service.express);
        }
        builder
    }};
}

/// Sets the content of a query on a builder of ours.
macro_rules! carrying {
    ($builder:expr, $question:expr, $source:expr, $token:expr) => {{
        let (mut builder, question) = ($builder, $question);
        if let Some(body) = question.body {
            builder = builder.payload(body.bytes());
        }
        if let Some(encoding) = question.encoding {
            builder = builder.encoding(encoding);
        }
        if question.cancellable {
            builder = builder.cancellation_token($token);
        }
        let source = question.source_sn.map(|sn| SourceInfo { id: $source, sn });
        builder.attachment(question.attachment).source_info(source)
    }};
}

/// Queryables that are to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    BestMatching,
    All,
    AllComplete,
}

impl Target {
    fn ours(self) -> QueryTarget {
        match self {
            Target::BestMatching => QueryTarget::BestMatching,
            Target::All => QueryTarget::All,
            Target::AllComplete => QueryTarget::AllComplete,
        }
    }
}

/// Consolidation of the replies on one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consolidation {
    Auto,
    None,
    Monotonic,
    Latest,
}

impl Consolidation {
    fn ours(self) -> ConsolidationMode {
        match self {
            Consolidation::Auto => ConsolidationMode::Auto,
            Consolidation::None => ConsolidationMode::None,
            Consolidation::Monotonic => ConsolidationMode::Monotonic,
            Consolidation::Latest => ConsolidationMode::Latest,
        }
    }
}

/// Conditions of queries: the options of a querier.
#[derive(Debug, Clone, Copy, Default)]
pub struct Conditions {
    pub target: Option<Target>,
    pub consolidation: Option<Consolidation>,
    pub timeout: Option<Duration>,
    /// True if replies may have any key.
    pub any_key: bool,
    pub service: Option<Service>,
}

impl Conditions {
    pub fn of(target: Target) -> Conditions {
        let target = Some(target);
        Conditions {
            target,
            ..Conditions::default()
        }
    }

    pub fn consolidated(consolidation: Consolidation) -> Conditions {
        let consolidation = Some(consolidation);
        Conditions {
            consolidation,
            ..Conditions::default()
        }
    }

    /// Returns the value for the reference.
    fn to_command(self) -> Value {
        let mut command = match self.service {
            Some(service) => service.to_command(),
            None => json!({}),
        };
        if let Some(target) = self.target {
            command["target"] = json!(match target {
                Target::BestMatching => "best_matching",
                Target::All => "all",
                Target::AllComplete => "all_complete",
            });
        }
        if let Some(consolidation) = self.consolidation {
            command["consolidation"] = json!(match consolidation {
                Consolidation::Auto => "auto",
                Consolidation::None => "none",
                Consolidation::Monotonic => "monotonic",
                Consolidation::Latest => "latest",
            });
        }
        if let Some(timeout) = self.timeout {
            command["timeout"] = json!(timeout.as_secs_f64());
        }
        command["any_key"] = json!(self.any_key);
        command
    }
}

/// Content of a single query.
#[derive(Debug, Clone, Copy, Default)]
pub struct Question {
    pub body: Option<Pattern>,
    /// Encoding as text, such as `text/plain;utf-8`.
    pub encoding: Option<&'static str>,
    pub attachment: Option<&'static [u8]>,
    /// Number of a source info.
    pub source_sn: Option<u32>,
    /// True if it can be [cancelled](Asking::cancel).
    pub cancellable: bool,
}

impl Question {
    pub const PLAIN: Question = Question {
        body: None,
        encoding: None,
        attachment: None,
        source_sn: None,
        cancellable: false,
    };

    pub fn with(body: Pattern) -> Question {
        Question {
            body: Some(body),
            ..Question::PLAIN
        }
    }

    /// Returns the value for the reference.
    fn to_command(self) -> Value {
        let mut command = json!({"cancellable": self.cancellable});
        if let Some(body) = self.body {
            command["len"] = json!(body.len);
            command["seed"] = json!(body.seed);
        }
        if let Some(encoding) = self.encoding {
            command["encoding"] = json!(encoding);
        }
        if let Some(attachment) = self.attachment {
            command["attachment"] = json!(hex(attachment));
        }
        if let Some(sn) = self.source_sn {
            command["source_sn"] = json!(sn);
        }
        command
    }
}

/// An event of a get.
#[derive(Debug)]
pub enum Heard {
    Reply(Replied),
    Fault(Fault),
    End,
}

/// A reply to a query.
#[derive(Debug)]
pub struct Replied {
    pub sample: Seen,
    /// Replier: `<node>:<entity>`
    pub replier: Option<String>,
}

/// A reply with an error.
#[derive(Debug)]
pub struct Fault {
    pub content: Content,
    pub encoding: String,
    /// Replier: `<node>:<entity>`
    pub replier: Option<String>,
}

impl Heard {
    fn ours(reply: Reply) -> Heard {
        let replier = reply.replier_id();
        let replier = replier.map(|id| format!("{}:{}", id.zid, id.eid));
        match reply.into_result() {
            Ok(sample) => Heard::Reply(Replied {
                sample: Seen::ours(&sample),
                replier,
            }),
            Err(error) => Heard::Fault(Fault {
                content: Content::Bytes(error.payload().clone()),
                encoding: error.encoding().to_string(),
                replier,
            }),
        }
    }

    fn theirs(process: &Rc<Reference>, told: &Value) -> Heard {
        let replier = told["replier"].as_str().map(str::to_owned);
        if told["end"] == true {
            Heard::End
        } else if told["reply"] == true {
            let sample = Seen::theirs(process, told);
            Heard::Reply(Replied { sample, replier })
        } else {
            let fault = &told["fault"];
            let encoding = fault["encoding"].as_str().expect("an encoding").to_owned();
            Heard::Fault(Fault {
                content: Content::theirs(process, fault),
                encoding,
                replier,
            })
        }
    }
}

/// Source of the next event, within some time; it is disconnected after the last one.
type Hear = Box<dyn Fn(Duration) -> Result<Heard, RecvTimeoutError>>;

/// A pending query.
pub enum Asking {
    Ours {
        hear: Hear,
        source: EntityGlobalId,
        token: Option<CancellationToken>,
        /// True after the end of the get.
        over: Cell<bool>,
    },
    Theirs {
        process: Rc<Reference>,
        name: String,
        /// Id of the querying entity in source infos: `<node>:<entity>`.
        source: String,
    },
}

impl Asking {
    fn ours(session: &Session, hear: Hear, token: Option<CancellationToken>) -> Asking {
        Asking::Ours {
            hear,
            source: entity(session),
            token,
            over: Cell::new(false),
        }
    }

    /// Returns the next event.
    pub fn next(&self) -> Heard {
        self.next_within(LONG)
            .unwrap_or_else(|| panic!("nothing within {LONG:?}"))
    }

    /// Returns an event that has come already.
    pub fn try_next(&self) -> Option<Heard> {
        self.next_within(Duration::ZERO)
    }

    fn next_within(&self, limit: Duration) -> Option<Heard> {
        match self {
            Asking::Ours { over, .. } if over.get() => None,
            Asking::Ours { hear, over, .. } => match hear(limit) {
                Ok(heard) => Some(heard),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => {
                    over.set(true);
                    Some(Heard::End)
                }
            },
            Asking::Theirs { process, name, .. } => {
                let told = process.sample(name, Instant::now() + limit)?;
                Some(Heard::theirs(process, &told))
            }
        }
    }

    /// Returns the next event, which must be a reply.
    pub fn reply(&self) -> Replied {
        match self.next() {
            Heard::Reply(reply) => reply,
            other => panic!("a reply was to come, and not {other:?}"),
        }
    }

    /// Returns the next event, which must be an error.
    pub fn fault(&self) -> Fault {
        match self.next() {
            Heard::Fault(fault) => fault,
            other => panic!("an error was to come, and not {other:?}"),
        }
    }

    /// Asserts that the next event is the end, and that nothing follows.
    pub fn ends(&self) {
        match self.next() {
            Heard::End => {}
            other => panic!("the end was to come, and not {other:?}"),
        }
        assert!(self.try_next().is_none(), "something came after the end");
    }

    /// Returns all replies until the end.
    pub fn replies(&self) -> Vec<Replied> {
        let mut replies = Vec::new();
        loop {
            match self.next() {
                Heard::Reply(reply) => replies.push(reply),
                Heard::Fault(fault) => panic!("there was to be no error: {fault:?}"),
                Heard::End => return replies,
            }
        }
    }

    /// Returns the keys of all replies until the end, sorted.
    pub fn keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = self.replies().into_iter().map(|r| r.sample.key).collect();
        keys.sort_unstable();
        keys
    }

    /// Returns the id of the querying entity in source infos: `<node>:<entity>`.
    pub fn source(&self) -> String {
        match self {
            Asking::Ours { source, .. } => format!("{}:{}", source.zid, source.eid),
            Asking::Theirs { source, .. } => source.clone(),
        }
    }

    pub fn cancel(&self) {
        match self {
            Asking::Ours { token, .. } => {
                let token = token.as_ref().expect("it can be cancelled");
                token.cancel().wait().expect("it was not before");
            }
            Asking::Theirs { process, name, .. } => {
                process.call("cancel", json!({"name": name}));
            }
        }
    }
}

/// A declared querier.
pub enum Querying {
    Ours {
        querier: Box<Querier<'static>>,
        session: Session,
    },
    Theirs {
        process: Rc<Reference>,
        name: String,
    },
}

impl Querying {
    pub fn ask(&self, parameters: &str, question: Question) -> Asking {
        match self {
            Querying::Ours { querier, session } => {
                let (heard, what) = channel();
                let get = querier.get().parameters(parameters);
                let token = CancellationToken::default();
                let get = carrying!(get, question, entity(session), token.clone());
                let asked = get.callback(move |reply| {
                    // an error means that the test has all that it needs
                    let _ = heard.send(reply);
                });
                asked.wait().expect("it is open");
                let hear = move |limit| what.recv_timeout(limit).map(Heard::ours);
                Asking::ours(session, Box::new(hear), Some(token))
            }
            Querying::Theirs { process, name } => {
                let asking = process.fresh("question");
                let mut command = json!({"name": asking, "querier": name});
                if !parameters.is_empty() {
                    command["parameters"] = json!(parameters);
                }
                let command = joined(command, question.to_command());
                let answer = process.call("querier_ask", command);
                theirs(process, asking, &answer)
            }
        }
    }

    /// Returns true if it knows of a queryable.
    pub fn is_matched(&self) -> bool {
        match self {
            Querying::Ours { querier, .. } => {
                let status = querier.matching_status().wait().unwrap();
                status.matching()
            }
            Querying::Theirs { process, name } => {
                process.call("matching", json!({"name": name}))["matching"] == true
            }
        }
    }
}

impl Party {
    /// Queries without a declared querier. The selector is a key with parameters: `a/*?b=c`.
    pub fn ask(&self, selector: &str, conditions: Conditions, question: Question) -> Asking {
        match self {
            Party::Ours(session) => {
                let (heard, what) = channel();
                let get = given!(session.get(selector), conditions);
                let token = CancellationToken::default();
                let get = carrying!(get, question, entity(session), token.clone());
                let asked = get.callback(move |reply| {
                    // an error means that the test has all that it needs
                    let _ = heard.send(reply);
                });
                asked.wait().expect("it is open");
                let hear = move |limit| what.recv_timeout(limit).map(Heard::ours);
                Asking::ours(session, Box::new(hear), Some(token))
            }
            Party::Theirs(party) => {
                let name = party.process.fresh("question");
                let command = json!({"name": name, "selector": selector});
                let command = joined(command, conditions.to_command());
                let command = party.command(joined(command, question.to_command()));
                let answer = party.process.call("ask", command);
                theirs(&party.process, name, &answer)
            }
        }
    }

    /// Queries the existing tokens.
    pub fn alive(&self, key: &str) -> Asking {
        match self {
            Party::Ours(session) => {
                let (heard, what) = channel();
                let asked = session.liveliness().get(key).callback(move |reply| {
                    // an error means that the test has all that it needs
                    let _ = heard.send(reply);
                });
                asked.wait().expect("it is open");
                let hear = move |limit| what.recv_timeout(limit).map(Heard::ours);
                Asking::ours(session, Box::new(hear), None)
            }
            Party::Theirs(party) => {
                let name = party.process.fresh("question");
                let command = party.command(json!({"name": name, "key": key}));
                party.process.call("alive", command);
                theirs(&party.process, name, &json!({"source": ""}))
            }
        }
    }

    pub fn querier(&self, key: &str, conditions: Conditions) -> Querying {
        match self {
            Party::Ours(session) => {
                let querier = given!(session.declare_querier(key.to_owned()), conditions);
                Querying::Ours {
                    querier: Box::new(querier.wait().expect("it is open")),
                    session: session.clone(),
                }
            }
            Party::Theirs(party) => {
                let name = party.process.fresh("querier");
                let command = json!({"name": name, "key": key});
                let command = party.command(joined(command, conditions.to_command()));
                party.process.call("querier", command);
                Querying::Theirs {
                    process: party.process.clone(),
                    name,
                }
            }
        }
    }
}

/// Returns the id of the querying entity in the source infos of this session.
fn entity(session: &Session) -> EntityGlobalId {
    EntityGlobalId {
        zid: session.zid(),
        eid: 78,
    }
}

fn theirs(process: &Rc<Reference>, name: String, answer: &Value) -> Asking {
    let source = answer["source"].as_str().expect("an entity").to_owned();
    Asking::Theirs {
        process: process.clone(),
        name,
        source,
    }
}
