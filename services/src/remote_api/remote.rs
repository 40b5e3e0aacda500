// SPDX-License-Identifier: MIT OR Apache-2.0

//! A remote session: the requests of one client, done in a session of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use zonda::access::MessageKind;
use zonda::bytes::ZBytes;
use zonda::query::{Query, ReplyKeyExpr};
use zonda::sample::Sample;
use zonda::session::{Link, Transport, ZenohId};
use zonda::{Session, Wait};

use super::asking::{self, key_of, text};
use super::codec::{Service, Writer};
use super::entities::{Entities, Entity, Queries};
use super::message::answer;
use super::message::{About, Answer, Change, Declaration, Listening, Message, Request, Sort};
use super::outlet::Outlet;
use super::rights::Rights;

/// The state of a client.
pub(super) struct Remote {
    pub session: Session,
    rights: Rights,
    pub out: Outlet,
    entities: Entities,
    queries: Queries,
    /// Questions of the client that are not answered yet.
    asked: Arc<AtomicUsize>,
    asked_max: usize,
    name: String,
}

impl Remote {
    /// Creates the state of a client that has declared nothing yet.
    pub fn new(session: Session, rights: Rights, out: Outlet, count_max: usize) -> Remote {
        Remote {
            session,
            rights,
            out,
            entities: Entities::new(count_max),
            queries: Queries::default(),
            asked: Arc::default(),
            asked_max: count_max,
            name: random_name(),
        }
    }

    /// Does what a message asks for, and answers it if it has a number.
    ///
    /// # Errors
    /// The reason why it could not be done, which the client has got if the message has a number.
    pub async fn take(&mut self, message: Message) -> Result<(), String> {
        let Message {
            kind,
            number,
            request,
        } = message;
        let done = self.perform(number, request).await;
        let (answer, done) = match done {
            Ok(Some(answer)) => (answer, Ok(())),
            Ok(None) => (Writer::new(answer::OK, number).u8(kind), Ok(())),
            Err(reason) => {
                let answer = Writer::new(answer::ERROR, number).text(&reason);
                (answer, Err(reason))
            }
        };
        if number.is_some() {
            self.out.send(answer);
        }
        done
    }

    /// Does it; returns the answer if that is more than success.
    async fn perform(
        &mut self,
        number: Option<u32>,
        request: Request,
    ) -> Result<Option<Writer>, String> {
        match request {
            Request::Declare { id, key, what } => self.declare(id, &key, what).await?,
            Request::Undeclare { id, sort } => drop(self.entities.remove(sort, id)?),
            Request::Listen { id, to } => self.listen(id, to).await?,
            Request::Publish {
                key,
                change,
                service,
            } => self.publish(&key, change, service).await?,
            Request::PublishBy { publisher, change } => self.publish_by(publisher, change).await?,
            Request::Ask { id, question } => {
                let asked = asking::Asked::new(self.out.clone(), id, Arc::clone(&self.asked));
                if self.asked.load(Ordering::Relaxed) > self.asked_max {
                    let reason = "too many questions (services/http/limits/remote_declarations)";
                    asked.fail(reason);
                    return Err(reason.to_owned());
                }
                let by = asking::Asker {
                    session: &self.session,
                    rights: &self.rights,
                    entities: &self.entities,
                };
                by.ask(asked, question).await?;
            }
            Request::Answer { query, answer } => self.answer(query, answer).await?,
            Request::Tell(about) => return self.tell(number, about).await.map(Some),
        }
        Ok(None)
    }

    async fn declare(&mut self, id: u32, key: &str, what: Declaration) -> Result<(), String> {
        let sort = match what {
            Declaration::Publisher { .. } => Sort::Publisher,
            Declaration::Subscriber(_) | Declaration::LivelinessSubscriber { .. } => {
                Sort::Subscriber
            }
            Declaration::Queryable { .. } => Sort::Queryable,
            Declaration::Querier { .. } => Sort::Querier,
            Declaration::Token => Sort::Token,
        };
        self.entities.check(sort, id)?;
        let key = key_of(key)?;
        if let Some(kind) = judged_as(&what) {
            self.rights.may_send(kind, &key)?;
        }
        let (session, out, rights) = (&self.session, self.out.clone(), self.rights.clone());
        let entity = match what {
            Declaration::Publisher { encoding, service } => {
                let publisher = session.declare_publisher(key).encoding(encoding);
                let publisher = publisher.allowed_destination(service.locality);
                let publisher = publisher
                    .priority(service.priority)
                    .express(service.express);
                let publisher = publisher.congestion_control(service.congestion);
                let publisher = publisher.reliability(service.reliability);
                Entity::Publisher(publisher.await.map_err(text)?)
            }
            Declaration::Subscriber(origin) => {
                let subscriber = session.declare_subscriber(key).allowed_origin(origin);
                let subscriber = subscriber.callback(samples(id, rights, out, Rights::gets_sample));
                Entity::other(subscriber.await.map_err(text)?)
            }
            Declaration::LivelinessSubscriber { history } => {
                let subscriber = session.liveliness().declare_subscriber(key);
                let subscriber = subscriber.history(history);
                let subscriber = subscriber.callback(samples(id, rights, out, Rights::gets_token));
                Entity::other(subscriber.await.map_err(text)?)
            }
            Declaration::Queryable { complete, locality } => {
                let queries = self.queries.clone();
                let queryable = session.declare_queryable(key).complete(complete);
                let queryable = queryable.allowed_origin(locality).callback(move |query| {
                    if rights.gets_query(&query) {
                        out.send(query_of(id, queries.add(query.clone()), &query));
                    }
                });
                Entity::other(queryable.await.map_err(text)?)
            }
            Declaration::Querier {
                service,
                asking,
                timeout,
            } => {
                let querier = session.declare_querier(key).target(asking.target);
                let querier = querier.consolidation(asking.consolidation);
                let querier = querier.accept_replies(asking.accept).timeout(timeout);
                let querier = querier.priority(service.priority).express(service.express);
                let querier = querier.congestion_control(service.congestion);
                let querier = querier.allowed_destination(service.locality);
                Entity::Querier(querier.await.map_err(text)?)
            }
            Declaration::Token => {
                let token = session.liveliness().declare_token(key);
                Entity::other(token.await.map_err(text)?)
            }
        };
        self.entities.add(sort, id, entity);
        Ok(())
    }

    async fn listen(&mut self, id: u32, to: Listening) -> Result<(), String> {
        let sort = match to {
            Listening::Publisher(_) | Listening::Querier(_) => Sort::Matching,
            Listening::Transports { .. } => Sort::Transports,
            Listening::Links { .. } => Sort::Links,
        };
        self.entities.check(sort, id)?;
        let out = self.out.clone();
        let entity = match to {
            Listening::Publisher(_) | Listening::Querier(_) => {
                let listener = match to {
                    Listening::Publisher(of) => self.entities.publisher(of)?.matching_listener(),
                    Listening::Querier(of) => self.entities.querier(of)?.matching_listener(),
                    _ => return Err("no such listener".to_owned()),
                };
                let listener = listener.callback(move |status| {
                    let message = Writer::new(answer::MATCHING_UPDATE, None).u32(id);
                    out.send(message.bool(status.matching()));
                });
                Entity::other(listener.await.map_err(text)?)
            }
            Listening::Transports { history } => {
                self.rights.may_see_neighbours()?;
                let listener = self.session.info().transport_events_listener();
                let listener = listener.history(history).callback(move |event| {
                    let message = Writer::new(answer::TRANSPORT_EVENT, None).u32(id);
                    out.send(transport(message.u8(event.kind() as u8), event.transport()));
                });
                Entity::other(listener.await.map_err(text)?)
            }
            Listening::Links { history } => {
                self.rights.may_see_neighbours()?;
                let listener = self.session.info().link_events_listener();
                let listener = listener.history(history).callback(move |event| {
                    let message = Writer::new(answer::LINK_EVENT, None).u32(id);
                    out.send(link(message.u8(event.kind() as u8), event.link()));
                });
                Entity::other(listener.await.map_err(text)?)
            }
        };
        self.entities.add(sort, id, entity);
        Ok(())
    }

    async fn publish(&self, key: &str, change: Change, service: Service) -> Result<(), String> {
        let (key, value) = (key_of(key)?, change.value);
        self.rights.may_publish(value.payload.is_some(), &key)?;
        macro_rules! publish {
            ($builder:expr) => {
                $builder
                    .attachment(value.attachment)
                    .timestamp(change.timestamp)
                    .priority(service.priority)
                    .congestion_control(service.congestion)
                    .express(service.express)
                    .reliability(service.reliability)
                    .allowed_destination(service.locality)
                    .await
                    .map(drop)
                    .map_err(text)
            };
        }
        match value.payload {
            Some(payload) => {
                let encoding = value.encoding.unwrap_or_default();
                publish!(self.session.put(key, payload).encoding(encoding))
            }
            None => publish!(self.session.delete(key)),
        }
    }

    async fn publish_by(&self, publisher: u32, change: Change) -> Result<(), String> {
        let publisher = self.entities.publisher(publisher)?;
        let value = change.value;
        let is_put = value.payload.is_some();
        self.rights.may_publish(is_put, publisher.key_expr())?;
        match value.payload {
            Some(payload) => {
                let put = publisher.put(payload).attachment(value.attachment);
                let put = put.timestamp(change.timestamp);
                match value.encoding {
                    Some(encoding) => put.encoding(encoding).await,
                    None => put.await,
                }
            }
            None => {
                let delete = publisher.delete().attachment(value.attachment);
                delete.timestamp(change.timestamp).await
            }
        }
        .map_err(text)
    }

    async fn answer(&self, number: u32, answer: Answer) -> Result<(), String> {
        match answer {
            Answer::Final => self.queries.remove(number).map(drop),
            Answer::Error { payload, encoding } => {
                let query = self.queries.get(number)?;
                self.rights.may_send(MessageKind::Reply, query.key_expr())?;
                let reply = query.reply_err(payload).encoding(encoding);
                reply.await.map_err(text)
            }
            Answer::Reply { key, change } => {
                let (query, key, value) = (self.queries.get(number)?, key_of(&key)?, change.value);
                self.rights.may_send(MessageKind::Reply, &key)?;
                let done = match value.payload {
                    Some(payload) => {
                        let reply = query.reply(key, payload).attachment(value.attachment);
                        let reply = reply.timestamp(change.timestamp);
                        reply.encoding(value.encoding.unwrap_or_default()).await
                    }
                    None => {
                        let reply = query.reply_del(key).attachment(value.attachment);
                        reply.timestamp(change.timestamp).await
                    }
                };
                done.map_err(text)
            }
        }
    }

    async fn tell(&self, number: Option<u32>, about: About) -> Result<Writer, String> {
        let info = self.session.info();
        Ok(match about {
            About::Ping => Writer::new(answer::PING_ACK, number).text(&self.name),
            About::Time => {
                let message = Writer::new(answer::TIMESTAMP, number);
                message.timestamp(&self.session.new_timestamp())
            }
            About::Session => {
                self.rights.may_see_neighbours()?;
                let routers: Vec<ZenohId> = info.routers_zid().wait().collect();
                let peers: Vec<ZenohId> = info.peers_zid().wait().collect();
                let message = Writer::new(answer::SESSION_INFO, number);
                let message = message.id(&self.session.zid());
                message.ids(&routers).ids(&peers)
            }
            About::PublisherMatches(id) => {
                let status = self.entities.publisher(id)?.matching_status();
                let status = status.await.map_err(text)?;
                Writer::new(answer::MATCHING_STATUS, number).bool(status.matching())
            }
            About::QuerierMatches(id) => {
                let status = self.entities.querier(id)?.matching_status();
                let status = status.await.map_err(text)?;
                Writer::new(answer::MATCHING_STATUS, number).bool(status.matching())
            }
            About::Transports => {
                self.rights.may_see_neighbours()?;
                let all: Vec<Transport> = info.transports().wait().collect();
                let message = Writer::new(answer::TRANSPORTS, number).length(all.len());
                all.iter().fold(message, transport)
            }
            About::Links => {
                self.rights.may_see_neighbours()?;
                let all: Vec<Link> = info.links().wait().collect();
                let message = Writer::new(answer::LINKS, number).length(all.len());
                all.iter().fold(message, link)
            }
        })
    }
}

/// Returns the callback of the subscriber `id`, for the samples that its client gets.
fn samples(
    id: u32,
    rights: Rights,
    out: Outlet,
    gets: fn(&Rights, &Sample) -> bool,
) -> impl Fn(Sample) + Send + Sync + 'static {
    move |sample| {
        if gets(&rights, &sample) {
            out.send(Writer::new(answer::SAMPLE, None).u32(id).sample(&sample));
        }
    }
}

/// Returns the kind of message that rules judge a declaration as; `None` if none is sent for it.
fn judged_as(what: &Declaration) -> Option<MessageKind> {
    match what {
        Declaration::Publisher { .. } | Declaration::Querier { .. } => None,
        Declaration::Subscriber(_) => Some(MessageKind::DeclareSubscriber),
        Declaration::LivelinessSubscriber { .. } => Some(MessageKind::DeclareLivelinessSubscriber),
        Declaration::Queryable { .. } => Some(MessageKind::DeclareQueryable),
        Declaration::Token => Some(MessageKind::LivelinessToken),
    }
}

/// Returns a name for a client, in the form of a random UUID.
fn random_name() -> String {
    let random = u128::from_le_bytes(ZenohId::rand().to_padded());
    let marked = random & !(0xf << 76) & !(3 << 62) | 4 << 76 | 2 << 62;
    let hex = format!("{marked:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    let parts = [
        part(0, 8),
        part(8, 12),
        part(12, 16),
        part(16, 20),
        part(20, 32),
    ];
    parts.join("-")
}

/// Writes a query for the queryable `id`.
fn query_of(id: u32, number: u32, query: &Query) -> Writer {
    Writer::new(answer::QUERY, None)
        .u32(id)
        .u32(number)
        .text(query.key_expr().as_str())
        .text(query.parameters().as_str())
        .option(query.payload().map(ZBytes::as_slice), Writer::bytes)
        .option(query.encoding(), Writer::encoding)
        .option(query.attachment().map(ZBytes::as_slice), Writer::bytes)
        .u8(match query.accepts_replies() {
            ReplyKeyExpr::Any => 0,
            ReplyKeyExpr::MatchingQuery => 1,
        })
}

fn transport(message: Writer, transport: &Transport) -> Writer {
    message
        .id(transport.zid())
        .u8(1 << transport.whatami().code())
        .bool(transport.is_qos())
        .bool(transport.is_multicast())
}

/// Writes a link. The node knows no group, interfaces or name of a user of it.
fn link(message: Writer, link: &Link) -> Writer {
    let none = None::<&str>;
    message
        .id(link.zid())
        .text(link.src().as_ref())
        .text(link.dst().as_ref())
        .option(none, Writer::text)
        .u16(link.mtu())
        .bool(link.is_streamed())
        .length(0)
        .option(none, Writer::text)
        .option(None::<(u8, u8)>, |message, (low, high)| {
            message.u8(low).u8(high)
        })
        .option(link.reliability(), |message, reliability| {
            message.u8(reliability as u8)
        })
}
