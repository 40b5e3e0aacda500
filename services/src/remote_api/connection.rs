// SPDX-License-Identifier: MIT OR Apache-2.0

//! The WebSocket of a remote session, from its handshake to its end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header::{
    CONNECTION, HeaderName, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::sync::OwnedSemaphorePermit;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Bytes as WsBytes, Error};
use zonda_transport::log_limit::LogLimit;

use super::api::RemoteApi;
use super::counts::add;
use super::message;
use super::outlet::{self, Waiting};
use super::remote::Remote;
use super::rights::Rights;
use crate::http::Client;

/// Time for a client to send its first message.
const OPEN_TIME: Duration = Duration::from_secs(10);

/// Time between two pings of the server.
const PING_TIME: Duration = Duration::from_secs(20);

/// Time in which a client has to send something, an answer to a ping at least.
const SILENCE_TIME: Duration = Duration::from_secs(60);

/// Time for a client to take the last frame.
const CLOSE_TIME: Duration = Duration::from_secs(1);

/// Bytes that are read from, and written to, a socket at once.
const BUFFER_BYTES: usize = 16 << 10;

type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// Reason why a remote session ends.
enum End {
    /// The client has closed it, or its connection was lost.
    Closed,
    /// The client does not read its messages in time.
    Slow,
    /// The client sent nothing in time.
    Silent,
    /// A message is larger than the limit.
    Large,
    /// A message is malformed.
    Malformed(String),
    /// A message is not binary.
    NotBinary,
}

impl End {
    /// Returns the code and the reason of the last frame.
    fn frame(&self) -> Option<CloseFrame> {
        let (code, reason) = match self {
            End::Closed => return None,
            End::Slow => (CloseCode::Policy, "messages are not read in time"),
            End::Silent => (CloseCode::Policy, "nothing was sent in time"),
            End::Large => (CloseCode::Size, "a message is too large"),
            End::NotBinary => (CloseCode::Unsupported, "messages have to be binary"),
            End::Malformed(reason) => (CloseCode::Invalid, reason.as_str()),
        };
        Some(CloseFrame {
            code,
            reason: reason.into(),
        })
    }
}

/// Returns true if a request asks for a WebSocket.
pub(crate) fn is_upgrade(headers: &HeaderMap) -> bool {
    has_token(headers, &UPGRADE, "websocket")
}

/// Returns true if a header has this token among those of its list.
fn has_token(headers: &HeaderMap, name: &HeaderName, token: &str) -> bool {
    let values = headers.get_all(name).iter();
    let mut tokens = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    tokens.any(|one| one.trim().eq_ignore_ascii_case(token))
}

/// Answers the handshake of a WebSocket, and serves the remote session on it.
pub(crate) fn open(api: &Arc<RemoteApi>, mut request: Request) -> Response {
    let headers = request.headers();
    let is_asked = is_upgrade(headers) && has_token(headers, &CONNECTION, "upgrade");
    if request.method() != Method::GET || !is_asked {
        let head = [(UPGRADE, "websocket"), (CONNECTION, "upgrade")];
        let text = "this is the remote API: use a WebSocket\n";
        return (StatusCode::UPGRADE_REQUIRED, head, text).into_response();
    }
    if headers
        .get(SEC_WEBSOCKET_VERSION)
        .is_none_or(|version| version != "13")
    {
        let head = [(SEC_WEBSOCKET_VERSION, "13")];
        let text = "the version of WebSocket is 13\n";
        return (StatusCode::BAD_REQUEST, head, text).into_response();
    }
    // A key has 16 bytes in base64.
    let key = headers.get(SEC_WEBSOCKET_KEY).filter(|key| key.len() == 24);
    let Some(accept) = key.map(|key| derive_accept_key(key.as_bytes())) else {
        return (StatusCode::BAD_REQUEST, "Sec-WebSocket-Key is malformed\n").into_response();
    };
    let Ok(place) = Arc::clone(&api.room).try_acquire_owned() else {
        add(&api.counts.refused);
        let text = "too many remote sessions are open (services/http/limits/remote_sessions)\n";
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    };
    let client = request.extensions().get::<Client>().cloned();
    let client = client.unwrap_or_default();
    let upgrade = hyper::upgrade::on(&mut request);
    let api = Arc::clone(api);
    tokio::spawn(async move {
        // An error means that the client left before the answer.
        if let Ok(upgraded) = upgrade.await {
            serve(api, upgraded, client, place).await;
        }
    });
    let head = [
        (UPGRADE, "websocket"),
        (CONNECTION, "upgrade"),
        (SEC_WEBSOCKET_ACCEPT, accept.as_str()),
    ];
    (StatusCode::SWITCHING_PROTOCOLS, head, Body::empty()).into_response()
}

/// Serves a remote session until it ends.
async fn serve(
    api: Arc<RemoteApi>,
    upgraded: Upgraded,
    client: Client,
    _place: OwnedSemaphorePermit,
) {
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES)
        .max_message_size(Some(api.limits.message_bytes))
        .max_frame_size(Some(api.limits.message_bytes));
    let io = TokioIo::new(upgraded);
    let socket: Socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
    let (mut sink, mut stream) = socket.split();
    let session = match (api.sessions)() {
        Ok(session) => session,
        Err(error) => {
            tracing::warn!("a remote session was refused: {error}");
            add(&api.counts.refused);
            let frame = CloseFrame {
                code: CloseCode::Error,
                reason: "the node is closed".into(),
            };
            close(&mut sink, Some(frame)).await;
            return;
        }
    };
    add(&api.counts.sessions);
    let (out, mut waiting) = outlet::queue(api.limits.waiting_bytes);
    let rights = Rights::new(session.clone(), &client);
    let mut remote = Remote::new(session, rights, out.clone(), api.limits.declarations);
    let end = tokio::select! {
        end = read(&api, &mut stream, &mut remote) => end,
        end = write(&mut sink, &mut waiting) => end,
        () = out.is_over() => End::Slow,
    };
    let session = remote.session.clone();
    drop(remote);
    // A failure is ignored: the node may be closed already.
    let _ = session.close().await;
    api.counts.sessions.fetch_sub(1, Ordering::Relaxed);
    report(&api, &end);
    close(&mut sink, end.frame()).await;
}

/// Takes the messages of the client.
async fn read(api: &RemoteApi, stream: &mut SplitStream<Socket>, remote: &mut Remote) -> End {
    let mut limit = OPEN_TIME;
    loop {
        let Ok(next) = tokio::time::timeout(limit, stream.next()).await else {
            return End::Silent;
        };
        let bytes = match next {
            Some(Ok(Message::Binary(bytes))) => bytes,
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
            Some(Ok(Message::Text(_) | Message::Frame(_))) => return End::NotBinary,
            None | Some(Ok(Message::Close(_))) => return End::Closed,
            Some(Err(Error::Capacity(_))) => return End::Large,
            Some(Err(Error::Protocol(error))) => return End::Malformed(error.to_string()),
            Some(Err(_)) => return End::Closed,
        };
        limit = SILENCE_TIME;
        add(&api.counts.received);
        let message = match message::read(bytes) {
            Ok(message) => message,
            Err(fault) => return End::Malformed(fault.to_string()),
        };
        let kind = message.kind;
        if let Err(reason) = remote.take(message).await {
            add(&api.counts.failed);
            tracing::debug!("a message of kind {kind} of a remote session failed: {reason}");
        }
    }
}

/// Sends the messages that wait, and pings.
async fn write(sink: &mut SplitSink<Socket, Message>, waiting: &mut Waiting) -> End {
    let mut pings = tokio::time::interval(PING_TIME);
    loop {
        let sent = tokio::select! {
            message = waiting.next() => match message {
                Some(message) => send_all(sink, waiting, message).await,
                None => return End::Closed,
            },
            _ = pings.tick() => sink.send(Message::Ping(WsBytes::new())).await,
        };
        if sent.is_err() {
            return End::Closed;
        }
    }
}

/// Sends a message, and those that wait behind it.
async fn send_all(
    sink: &mut SplitSink<Socket, Message>,
    waiting: &mut Waiting,
    first: Bytes,
) -> Result<(), Error> {
    let mut next = Some(first);
    while let Some(message) = next {
        let length = message.len();
        sink.feed(Message::Binary(message)).await?;
        waiting.sent(length);
        next = waiting.try_next();
    }
    sink.flush().await
}

/// Sends the last frame to a client that takes it.
async fn close(sink: &mut SplitSink<Socket, Message>, frame: Option<CloseFrame>) {
    let closing = async {
        let _ = sink.send(Message::Close(frame)).await;
        let _ = sink.close().await;
    };
    let _ = tokio::time::timeout(CLOSE_TIME, closing).await;
}

/// Counts a session that was dropped, and logs it.
fn report(api: &RemoteApi, end: &End) {
    static LIMIT: LogLimit = LogLimit::new();
    let (counter, why) = match end {
        End::Closed => return,
        End::Slow => (
            &api.counts.slow,
            "does not read its messages in time (services/http/limits/remote_bytes)",
        ),
        End::Silent => (&api.counts.silent, "sent nothing in time"),
        End::Large => (
            &api.counts.malformed,
            "sent a message above services/http/limits/body_bytes",
        ),
        End::NotBinary => (&api.counts.malformed, "sent a message that is not binary"),
        End::Malformed(reason) => (&api.counts.malformed, reason.as_str()),
    };
    add(counter);
    if let Some(left_out) = LIMIT.admit(Instant::now()) {
        tracing::warn!("dropped a remote session whose client misbehaved: {why}{left_out}");
    }
}
