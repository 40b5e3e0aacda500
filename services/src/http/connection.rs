// SPDX-License-Identifier: MIT OR Apache-2.0

//! A connection of a client: HTTP/1.1, or HTTP/2 where the client chooses it, in the handshake of
//! TLS or by its first bytes.

use std::error::Error;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tower_http::add_extension::AddExtension;

use super::counts::Counts;
use super::line::{End, Line};
use super::tls::Tls;
use super::{CONNECTION_TIME, HEAD_BYTES_MAX, HEAD_TIME, STREAMS_MAX};

/// First bytes of a connection over HTTP/2.
const PREFACE: &[u8; 16] = b"PRI * HTTP/2.0\r\n";

/// Time between two looks at a part of the preface.
const PREFACE_PAUSE: Duration = Duration::from_millis(5);

/// Bytes of a request body that a client may send before they are read, for a request and for all
/// of a connection.
const WINDOW_BYTES: u32 = 64 << 10;
const CONNECTION_WINDOW_BYTES: u32 = 256 << 10;

/// Bytes of answers that wait for a client, for a request.
const SEND_BYTES_MAX: usize = 64 << 10;

/// Requests that a client may take back before the server has looked at them.
const RESETS_MAX: usize = 32;

/// Socket of a client, below or within TLS.
trait Io: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send + 'static> Io for T {}

/// The parts that serve a connection.
pub(super) struct Connection {
    pub line: Arc<Line>,
    pub routes: Router,
    pub counts: Arc<Counts>,
}

/// Service that answers the requests of a connection.
type Service = TowerToHyperService<AddExtension<Router, Arc<Line>>>;

impl Connection {
    /// Serves a connection without TLS until it ends.
    pub async fn serve_plain(self, stream: TcpStream) {
        match tokio::time::timeout(HEAD_TIME, begins_http2(&stream)).await {
            Ok(is_http2) => self.serve(stream, is_http2).await,
            Err(_) => self.counts.add_head(),
        }
    }

    /// Serves a connection within TLS until it ends.
    pub async fn serve_tls(self, stream: TcpStream, tls: &Tls) {
        match tokio::time::timeout(HEAD_TIME, tls.accept(stream)).await {
            Ok(Ok((stream, is_http2))) => self.serve(stream, is_http2).await,
            Ok(Err(_)) | Err(_) => self.counts.add_head(),
        }
    }

    async fn serve(self, stream: impl Io, is_http2: bool) {
        match is_http2 {
            true => self.serve_http2(stream).await,
            false => self.serve_http1(stream).await,
        }
    }

    fn service(&self) -> Service {
        let routes = AddExtension::new(self.routes.clone(), Arc::clone(&self.line));
        TowerToHyperService::new(routes)
    }

    async fn serve_http1(self, stream: impl Io) {
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME)
            .max_buf_size(HEAD_BYTES_MAX)
            .serve_connection(TokioIo::new(stream), self.service())
            .with_upgrades();
        tokio::select! {
            // Other errors are the end of a client's connection.
            served = connection => {
                let is_of_head = |error: &hyper::Error| error.is_parse() || error.is_timeout();
                if served.is_err_and(|error| is_of_head(&error)) {
                    self.counts.add_head();
                }
            }
            _ = self.line.ended(CONNECTION_TIME) => {}
        }
    }

    async fn serve_http2(self, stream: impl Io) {
        let head_bytes = u32::try_from(HEAD_BYTES_MAX).unwrap_or(u32::MAX);
        let connection = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            // A client that answers no ping has gone.
            .keep_alive_interval(HEAD_TIME)
            .keep_alive_timeout(HEAD_TIME)
            .max_header_list_size(head_bytes)
            .max_concurrent_streams(STREAMS_MAX)
            .max_pending_accept_reset_streams(RESETS_MAX)
            .max_local_error_reset_streams(RESETS_MAX)
            .initial_stream_window_size(WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .max_send_buf_size(SEND_BYTES_MAX)
            .serve_connection(TokioIo::new(stream), self.service());
        let mut connection = pin!(connection);
        let served = tokio::select! {
            served = connection.as_mut() => served,
            end = self.line.ended(CONNECTION_TIME) => {
                if end == End::Time {
                    // Requests that have come get their answers.
                    connection.as_mut().graceful_shutdown();
                    // An error means that the client takes no part; the connection is cut.
                    let _ = tokio::time::timeout(HEAD_TIME, connection).await;
                }
                return;
            }
        };
        // An error of the socket is the end of a client's connection.
        let is_of_socket = |error: &hyper::Error| {
            let cause = error.source();
            cause.is_some_and(|cause| cause.is::<io::Error>())
        };
        if served.is_err_and(|error| !is_of_socket(&error)) {
            self.counts.add_head();
        }
    }
}

/// Returns true if a client begins with the preface of HTTP/2.
async fn begins_http2(stream: &TcpStream) -> bool {
    let mut bytes = [0; PREFACE.len()];
    loop {
        // An error means that the connection has ended; the code that serves it sees that.
        let count = stream.peek(&mut bytes).await.unwrap_or(0);
        let begun = bytes.get(..count).unwrap_or_default();
        if count == 0 || !PREFACE.starts_with(begun) {
            return false;
        }
        if count == PREFACE.len() {
            return true;
        }
        tokio::time::sleep(PREFACE_PAUSE).await;
    }
}
