// SPDX-License-Identifier: MIT OR Apache-2.0

//! The answer to a request: a query, a put, a delete, or events.

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT, ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_ENCODING, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use http_body_util::LengthLimitError;
use tokio::sync::Semaphore;
use zonda::access::MessageKind;
use zonda::bytes::{Encoding, ZBytes};
use zonda::cancellation::CancellationToken;
use zonda::key_expr::KeyExpr;
use zonda::query::{ConsolidationMode, QueryTarget, Reply, ReplyKeyExpr, Selector};
use zonda::sample::Sample;
use zonda::time::Timestamp;
use zonda::{Outcome, PublishError, Session};

use super::events::Hub;
use super::page::{Log, Pages};
use super::replies::Collector;
use super::select::{Selection, one_line};
use super::{html, json};
use crate::http::{BODY_TIME, Client, Denied, Lasting, Line};

/// Parameter that asks for the body of a reply.
const RAW: &str = "_raw";

/// Parameter that asks for the values that exist before the first event.
const INITIAL: &str = "_initial";

/// Suffix of the keys of caches of advanced publishers.
const CACHES: &str = "@adv/pub/**";

/// Header with which a client comes back to its events.
const LAST_EVENT: &str = "last-event-id";

/// Bytes of all bodies that may be read at the same time, unless one alone may have more.
const BODIES_BYTES: usize = 64 << 20;

/// Bytes that one permit of the room for bodies stands for.
const BODY_UNIT: usize = 1 << 10;

const METHODS: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// Node, events and bounds that all requests share.
pub(super) struct Shared {
    pub session: Session,
    pub hub: Arc<Hub>,
    pub pages: Arc<Pages>,
    /// Key that a client has to have the right to read, to see the page.
    pub page_key: Option<KeyExpr<'static>>,
    /// Log of the program, for clients with that right.
    pub log: Arc<Log>,
    /// Places for explanations that are made at the same time.
    pub explanations: Arc<Semaphore>,
    /// Id of the node, as text.
    pub zid: String,
    pub body_bytes_max: usize,
    /// Room for the bodies of all requests that are read at the same time, in units of
    /// [`BODY_UNIT`].
    pub bodies: Semaphore,
    pub answer_bytes_max: usize,
    pub answer_time: Duration,
}

/// Extent of a query.
pub(super) enum Scope {
    /// The latest value of each key, as queries ask by default.
    Values,
    /// Each value that a storage has.
    History,
    /// Each value that a cache of an advanced publisher has.
    Caches,
    /// Each value that comes within this time.
    Admin(Duration),
}

/// Reason why a request is not answered as it asks.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    text: String,
}

impl Refusal {
    pub fn new(status: StatusCode, text: impl Into<String>) -> Refusal {
        let text = one_line(&text.into());
        Refusal { status, text }
    }

    pub fn bad(text: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::BAD_REQUEST, text)
    }

    pub fn failed(error: &dyn Error) -> Refusal {
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<Denied> for Refusal {
    fn from(denied: Denied) -> Refusal {
        Refusal::new(StatusCode::FORBIDDEN, denied.to_string())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, self.text + "\n").into_response()
    }
}

/// Answers a request on a key.
pub(super) async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let mut response = match shared.respond(parts, body).await {
        Ok(response) => response,
        Err(refusal) => refusal.into_response(),
    };
    response.headers_mut().extend(fresh());
    response
}

/// Returns the room for bodies, each of at most `body_bytes_max` bytes.
pub(super) fn room_for_bodies(body_bytes_max: usize) -> Semaphore {
    let bytes = BODIES_BYTES.max(body_bytes_max);
    Semaphore::new((bytes / BODY_UNIT + 1).min(Semaphore::MAX_PERMITS))
}

impl Shared {
    async fn respond(&self, parts: Parts, body: Body) -> Result<Response, Refusal> {
        if parts.method == Method::OPTIONS {
            return Ok([(ALLOW, METHODS)].into_response());
        }
        let selection = Selection::of(&parts.uri, &self.zid).map_err(Refusal::bad)?;
        let client = client_of(&parts.extensions);
        let key = &selection.key;
        match parts.method {
            Method::GET if accepted(&parts.headers) == "text/event-stream" => {
                self.events(&parts, selection).await
            }
            Method::GET | Method::HEAD | Method::POST => self.query(&parts, selection, body).await,
            Method::PUT | Method::PATCH => {
                client.may_send(&self.session, MessageKind::Put, key)?;
                let encoding = encoding_of(&parts.headers)?;
                let payload = self.body(&parts.headers, body).await?;
                let put = self.session.put(selection.key, payload);
                published(put.encoding(encoding).outcome().await)
            }
            Method::DELETE => {
                client.may_send(&self.session, MessageKind::Delete, key)?;
                published(self.session.delete(selection.key).outcome().await)
            }
            _ => Ok(no_such_method()),
        }
    }

    /// Reads the body of a request.
    async fn body(&self, headers: &HeaderMap, body: Body) -> Result<Bytes, Refusal> {
        let coding = headers.get(CONTENT_ENCODING);
        if coding.is_some_and(|coding| coding != "identity") {
            let text = "send the body without Content-Encoding; it would be lost on the way";
            return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, text));
        }
        if body.is_end_stream() {
            return Ok(Bytes::new());
        }
        let max = self.body_bytes_max;
        let announced = body.size_hint().exact();
        let expected = announced.map_or(max, |bytes| usize::try_from(bytes).unwrap_or(max));
        let units = u32::try_from(expected.min(max) / BODY_UNIT + 1).unwrap_or(u32::MAX);
        let Ok(_room) = self.bodies.try_acquire_many(units) else {
            let text = "too many bodies are being sent at the same time; try again";
            return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, text));
        };
        match tokio::time::timeout(BODY_TIME, to_bytes(body, max)).await {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(error)) if is_too_long(&error) => {
                let text =
                    format!("the body exceeds {max} bytes (services/http/limits/body_bytes)");
                Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, text))
            }
            Ok(Err(_)) => Err(Refusal::bad("the body is malformed or ends early")),
            Err(_) => {
                let text = format!("the body did not come within {} s", BODY_TIME.as_secs());
                Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, text))
            }
        }
    }

    async fn query(
        &self,
        parts: &Parts,
        selection: Selection,
        body: Body,
    ) -> Result<Response, Refusal> {
        let client = client_of(&parts.extensions);
        // The body of a client without the right to ask is not read.
        client.may_ask(&self.session, &selection.key, false)?;
        let payload = self.body(&parts.headers, body).await?;
        if !payload.is_empty() {
            client.may_ask(&self.session, &selection.key, true)?;
        }
        let payload = match payload.is_empty() {
            true => None,
            false => Some((payload, encoding_of(&parts.headers)?)),
        };
        let is_raw = selection.has(RAW);
        let replies = self.replies(&selection, payload, Scope::Values).await?;
        let replies = self.permitted(&client, replies)?;
        Ok(match (is_raw, accepted(&parts.headers)) {
            (true, _) => raw(&replies),
            (false, "text/html") => {
                let types = [
                    (CONTENT_TYPE, "text/html; charset=utf-8"),
                    (CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
                ];
                (types, html::of_replies(&replies)).into_response()
            }
            (false, _) => listed(StatusCode::OK, &replies),
        })
    }

    /// Asks for the values of a selection, or for all that caches and storages have of it.
    async fn replies(
        &self,
        selection: &Selection,
        payload: Option<(Bytes, Encoding)>,
        scope: Scope,
    ) -> Result<Vec<Reply>, Refusal> {
        let token = CancellationToken::default();
        let (key, parameters) = (selection.key.clone(), selection.parameters.as_str());
        let get = match scope {
            Scope::Values => self.session.get(Selector::owned(key, parameters)),
            Scope::History => {
                let get = self.session.get(Selector::owned(key, parameters));
                get.consolidation(ConsolidationMode::None)
            }
            Scope::Admin(_) => {
                let get = self.session.get(Selector::owned(key, parameters));
                get.target(QueryTarget::All)
            }
            Scope::Caches => {
                let key = key.join(CACHES).map_err(|error| Refusal::failed(&error))?;
                let get = self.session.get(Selector::owned(key, parameters));
                let get = get.consolidation(ConsolidationMode::None);
                get.accept_replies(ReplyKeyExpr::Any)
            }
        };
        let get = get.timeout(match scope {
            Scope::Admin(time) => time,
            Scope::Values | Scope::History | Scope::Caches => self.answer_time,
        });
        let get = get.cancellation_token(token.clone());
        let get = match payload {
            Some((payload, encoding)) => get.payload(payload).encoding(encoding),
            None => get,
        };
        let bytes_max = self.answer_bytes_max;
        let replies = get.with(Collector { bytes_max, token }).await;
        let replies = replies.map_err(|error| Refusal::failed(&*error))?;
        replies.all().await.ok_or_else(|| {
            let text = format!(
                "the replies exceed {bytes_max} bytes (services/http/limits/answer_bytes); ask for fewer keys"
            );
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, text)
        })
    }

    /// Keeps the replies that a client may get.
    ///
    /// # Errors
    /// It may get none of them.
    fn permitted(&self, client: &Client, replies: Vec<Reply>) -> Result<Vec<Reply>, Refusal> {
        let mut denied = None;
        let may_get = |reply: &Reply| {
            // An error has no key.
            let Ok(sample) = reply.result() else {
                return true;
            };
            let judged = client.may_get(&self.session, MessageKind::Reply, sample.key_expr());
            judged.map_err(|why| denied = Some(why)).is_ok()
        };
        let replies: Vec<Reply> = { replies }.into_iter().filter(may_get).collect();
        match denied {
            Some(denied) if replies.is_empty() => Err(denied.into()),
            _ => Ok(replies),
        }
    }

    /// Asks for the values that a client may get, or for all that caches and storages have.
    pub async fn values(
        &self,
        client: &Client,
        selection: &Selection,
        scope: Scope,
    ) -> Result<Vec<Reply>, Refusal> {
        client.may_send(&self.session, MessageKind::Query, &selection.key)?;
        let replies = self.replies(selection, None, scope).await?;
        self.permitted(client, replies)
    }

    async fn events(&self, parts: &Parts, selection: Selection) -> Result<Response, Refusal> {
        let client = client_of(&parts.extensions);
        client.may_send(
            &self.session,
            MessageKind::DeclareSubscriber,
            &selection.key,
        )?;
        let lasting = lasting(&parts.extensions)?;
        let line = Arc::clone(lasting.line());
        let joined = self.hub.join(selection.key.clone(), client.clone(), line);
        let mut events = joined.map_err(|error| Refusal::failed(&error))?;
        // The values that exist, or all that are later than what the client has.
        let last = parts.headers.get(LAST_EVENT);
        let last = last.and_then(|id| id.to_str().ok()?.parse::<Timestamp>().ok());
        let replies = match (last, selection.has(INITIAL)) {
            (None, false) => Vec::new(),
            (None, true) => self.values(&client, &selection, Scope::Values).await?,
            (Some(_), _) => {
                let history = self.values(&client, &selection, Scope::History);
                let mut replies = history.await?;
                let caches = self.values(&client, &selection, Scope::Caches);
                replies.extend(caches.await?);
                replies
            }
        };
        let samples = replies.iter().filter_map(|reply| reply.result().ok());
        let is_new = |sample: &&Sample| {
            let is_later = last.is_none() || sample.timestamp() > last.as_ref();
            is_later && selection.key.intersects(sample.key_expr())
        };
        events.begin_with(samples.filter(is_new));
        Ok(event_stream(events, lasting))
    }
}

/// Returns the answer to a method that no key has.
pub(super) fn no_such_method() -> Response {
    let text = format!("this method is none of {METHODS}\n");
    (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, METHODS)], text).into_response()
}

/// Returns the client of a request.
pub(super) fn client_of(extensions: &Extensions) -> Client {
    extensions.get::<Client>().cloned().unwrap_or_default()
}

/// Returns the place of an answer that is events.
///
/// # Errors
/// Too many clients get events.
pub(super) fn lasting(extensions: &Extensions) -> Result<Lasting, Refusal> {
    let line = extensions.get::<Arc<Line>>();
    line.and_then(|line| line.make_last()).ok_or_else(|| {
        let text = "too many clients get events (services/http/limits/event_clients)";
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, text)
    })
}

/// Events, and the place that they take.
struct Placed<S> {
    events: Pin<Box<S>>,
    _place: Lasting,
}

impl<S: Stream> Stream for Placed<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.as_mut().poll_next(cx)
    }
}

/// Returns the answer that events are.
pub(super) fn event_stream<S>(events: S, place: Lasting) -> Response
where
    S: Stream<Item = Result<Bytes, Infallible>> + Send + 'static,
{
    let events = Placed {
        events: Box::pin(events),
        _place: place,
    };
    let head = [(CONTENT_TYPE, "text/event-stream"), (CONNECTION, "close")];
    (head, Body::from_stream(events)).into_response()
}

/// Returns the headers of answers that no cache keeps, and whose type no browser guesses.
pub(super) fn fresh() -> [(HeaderName, HeaderValue); 2] {
    [
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ]
}

/// Returns the first media type that the client accepts, without parameters.
pub(super) fn accepted(headers: &HeaderMap) -> &str {
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let first = accepted.unwrap_or("").split([',', ';']).next();
    first.unwrap_or("").trim()
}

/// Returns the encoding that the content type of a request names.
fn encoding_of(headers: &HeaderMap) -> Result<Encoding, Refusal> {
    let Some(kind) = headers.get(CONTENT_TYPE) else {
        return Ok(Encoding::default());
    };
    let kind = kind.to_str();
    let kind = kind.map_err(|_| Refusal::bad("the content type is no text"))?;
    let (name, schema) = kind.split_once(';').unwrap_or((kind, ""));
    let (name, schema) = (name.trim().to_ascii_lowercase(), schema.trim());
    let encoding = match schema {
        "" => Encoding::from(name),
        schema => Encoding::from(format!("{name};{schema}")),
    };
    let length = encoding.schema().map_or(0, <[u8]>::len);
    match length > Encoding::SCHEMA_BYTES_MAX {
        true => Err(Refusal::bad("the content type is too long for an encoding")),
        false => Ok(encoding),
    }
}

fn is_too_long(error: &axum::Error) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        if error.is::<LengthLimitError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Returns the answer to a publication.
fn published(outcome: Result<Outcome, PublishError>) -> Result<Response, Refusal> {
    let late = |text: String| Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, text));
    match outcome {
        Ok(Outcome::Dropped { peer }) => late(format!("dropped: node {peer} is too slow")),
        Ok(Outcome::LinkLost { peer }) => late(format!("the link to node {peer} was lost")),
        Ok(_) => Ok(StatusCode::OK.into_response()),
        Err(error) => Err(Refusal::failed(&error)),
    }
}

fn listed(status: StatusCode, replies: &[Reply]) -> Response {
    let head = [(CONTENT_TYPE, "application/json")];
    (status, head, json::of_replies(replies)).into_response()
}

/// Returns the body of the one reply; several are a list to choose from.
fn raw(replies: &[Reply]) -> Response {
    let mut values = replies.iter().filter_map(|reply| reply.result().ok());
    let errors = || replies.iter().filter_map(|reply| reply.result().err());
    match (values.next(), values.next(), errors().next()) {
        (Some(_), Some(_), _) => listed(StatusCode::MULTIPLE_CHOICES, replies),
        (Some(sample), None, _) => bare(StatusCode::OK, sample.payload(), sample.encoding()),
        (None, _, Some(error)) => {
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            bare(status, error.payload(), error.encoding())
        }
        (None, _, None) => bare(
            StatusCode::OK,
            &ZBytes::new(),
            &Encoding::APPLICATION_OCTET_STREAM,
        ),
    }
}

/// Returns a payload as it is. A browser runs no script of it.
fn bare(status: StatusCode, payload: &ZBytes, encoding: &Encoding) -> Response {
    let head = [(CONTENT_SECURITY_POLICY, "sandbox")];
    let body = Bytes::copy_from_slice(payload.as_slice());
    let mut response = (status, head, body).into_response();
    let name = encoding.to_string();
    let is_media_type = name.split(';').next().is_some_and(|kind| {
        let parts = kind.split_once('/');
        parts.is_some_and(|(kind, name)| !kind.is_empty() && !name.is_empty())
    });
    response.headers_mut().remove(CONTENT_TYPE);
    if let Some(kind) = HeaderValue::try_from(name).ok().filter(|_| is_media_type) {
        response.headers_mut().insert(CONTENT_TYPE, kind);
    }
    response
}
