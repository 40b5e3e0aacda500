// SPDX-License-Identifier: MIT OR Apache-2.0

//! HTTP server of the services, for HTTP/1.1 and HTTP/2: one thread with a runtime of its own, whatever the node runs on.
//!
//! Every resource of a client is bounded: the number of connections, the size and time of a request
//! head, the size of a body, the time of an answer and of a whole connection. A request whose `Host`
//! is a name that is not known here is refused: a page from elsewhere may have made its own name
//! lead to this address (DNS rebinding). A connection of events lasts; those have a bound of their
//! own.

mod client;
mod connection;
mod counts;
mod credentials;
mod guard;
mod line;
mod serving;
#[cfg_attr(not(feature = "https"), path = "http/no_tls.rs")]
mod tls;

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::Response;
use tokio::sync::{Semaphore, oneshot};
use tower_http::compression::CompressionLayer;
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::timeout::TimeoutLayer;
use zonda::Config;

pub use client::{Client, Denied, Judge};
pub use counts::Counts;
pub use credentials::Credentials;
pub use guard::Guard;
pub use line::{Lasting, Line};
pub(crate) use serving::{ReadCredentials, Serving};
pub use tls::Tls;

use connection::Connection;
use guard::RequestHead;

/// Most connections at the same time, if the configuration does not say; more are closed at once.
pub const CONNECTIONS_MAX: usize = 64;

/// Most bytes of a request head.
pub const HEAD_BYTES_MAX: usize = 16 << 10;

/// Most bytes of a request body, if the configuration does not say.
pub const BODY_BYTES_MAX: usize = 64 << 10;

/// Time for a client to send a request head, from the connection or the last answer on.
pub const HEAD_TIME: Duration = Duration::from_secs(5);

/// Time for a client to send a request body.
pub const BODY_TIME: Duration = Duration::from_secs(10);

/// Time for an answer to be made, if the configuration does not say.
const ANSWER_TIME: Duration = Duration::from_secs(10);

/// Time of a connection, with all its requests; ends clients that do not read.
const CONNECTION_TIME: Duration = Duration::from_secs(60);

/// Most requests of an HTTP/2 connection at the same time.
pub const STREAMS_MAX: u32 = 16;

/// Pause after an accept that failed, as without free descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Bounds of what clients may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at the same time, without those that last.
    pub connections: usize,
    /// Connections that last.
    pub lasting: usize,
    /// Bytes of a request body.
    pub body_bytes: usize,
    /// Time for an answer to be made, once the request has come.
    pub answer: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: CONNECTIONS_MAX,
            lasting: 0,
            body_bytes: BODY_BYTES_MAX,
            answer: ANSWER_TIME,
        }
    }
}

/// Settings of a server.
#[derive(Debug)]
pub struct Setup {
    /// The address to listen on.
    pub address: SocketAddr,
    /// The check of each request.
    pub guard: Guard,
    /// The bounds.
    pub limits: Limits,
    /// The certificate, for HTTPS.
    pub tls: Option<Tls>,
}

/// An HTTP server that runs. Dropping it stops it.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    tls: Option<Arc<Tls>>,
    counts: Arc<Counts>,
    guard: Arc<Guard>,
    /// Dropped to stop the thread.
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens, and serves `routes`.
    ///
    /// # Errors
    /// The address cannot be listened on, or the system starts no thread.
    pub fn start(mut setup: Setup, routes: Router, counts: Arc<Counts>) -> io::Result<Server> {
        // The port is taken here, so that the caller gets the error.
        let address = setup.address;
        let listener = bind(address).map_err(|error| refused(address, error))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let tls = setup.tls.take().map(Arc::new);
        let guard = Arc::new(setup.guard);
        let acceptor = Acceptor {
            tls: tls.clone(),
            room: Arc::new(Semaphore::new(setup.limits.connections)),
            lasting: Arc::new(Semaphore::new(setup.limits.lasting)),
            routes: limited(routes, &guard, setup.limits, Arc::clone(&counts)),
            counts: Arc::clone(&counts),
        };
        let (end, ended) = oneshot::channel();
        let thread = std::thread::Builder::new().name("zonda-http".into());
        let thread = thread.spawn(move || {
            runtime.block_on(async {
                tokio::spawn(acceptor.accept_all(listener));
                // An error is the end, too: the sender was dropped.
                let _ = ended.await;
            });
            // Tasks of connections end here, without waiting for their clients.
            runtime.shutdown_background();
        })?;
        Ok(Server {
            address,
            tls,
            counts,
            guard,
            end: Some(end),
            thread: Some(thread),
        })
    }

    /// Describes in one line where it is reached.
    pub fn status(&self) -> String {
        let scheme = if self.tls.is_some() { "HTTPS" } else { "HTTP" };
        format!("{scheme} on {}", self.address)
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its counters.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Takes over the certificate of another configuration, for later connections.
    ///
    /// # Errors
    /// The reason why it cannot be used; the previous one stays.
    ///
    /// # Blocking
    /// Reads the files of the certificate.
    pub fn renew(&self, config: &Config) -> Result<(), String> {
        self.tls.as_ref().map_or(Ok(()), |tls| tls.renew(config))
    }

    /// Takes over other credentials, for later requests, if the server has some. Returns the number
    /// of them.
    pub fn replace_credentials(&self, credentials: Credentials) -> usize {
        let count = credentials.count();
        self.guard.replace(credentials);
        count
    }

    /// Stops it; open connections are cut.
    ///
    /// # Blocking
    /// Until its thread has ended, some milliseconds.
    pub fn stop(mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed by the standard library.
            let _ = thread.join();
        }
    }
}

/// Listens on an address. Every interface is every one of IPv4 where the system has no IPv6.
fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let is_every_one = address.ip() == Ipv6Addr::UNSPECIFIED;
    TcpListener::bind(address).or_else(|error| match error.kind() {
        ErrorKind::AddrInUse | ErrorKind::PermissionDenied => Err(error),
        _ if is_every_one => TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())),
        _ => Err(error),
    })
}

/// Checks that this machine has an address, without taking its port.
///
/// # Errors
/// It cannot be listened on.
pub fn look(address: SocketAddr) -> io::Result<()> {
    let bound = bind(SocketAddr::new(address.ip(), 0));
    bound.map(drop).map_err(|error| refused(address, error))
}

/// Returns the error of an address that cannot be listened on.
fn refused(address: SocketAddr, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot listen on {address}: {error}"))
}

/// Adds the limits of a request to the routes.
fn limited(routes: Router, guard: &Arc<Guard>, limits: Limits, counts: Arc<Counts>) -> Router {
    let cors = guard.cors();
    let guard = Arc::clone(guard);
    let check = move |mut request: Request<Body>, next: Next| {
        counts.add_request();
        let head = RequestHead {
            method: request.method(),
            uri: request.uri(),
            headers: request.headers(),
            version: request.version(),
        };
        let (admitted, counts) = (guard.admit(&head), Arc::clone(&counts));
        async move {
            let answer: Response = match admitted {
                Err(refusal) => refusal,
                Ok(client) => {
                    request.extensions_mut().insert(client);
                    next.run(request).await
                }
            };
            counts.add_answer(answer.status().as_u16());
            answer
        }
    };
    let routes = routes
        .layer(RequestBodyLimitLayer::new(limits.body_bytes))
        .layer(TimeoutLayer::with_status_code(
            StatusCode::SERVICE_UNAVAILABLE,
            BODY_TIME + limits.answer,
        ))
        // It leaves events and short answers as they are.
        .layer(CompressionLayer::new().gzip(true));
    let routes = match cors {
        Some(cors) => routes.layer(cors),
        None => routes,
    };
    routes.layer(middleware::from_fn(check))
}

/// The parts that accept connections.
struct Acceptor {
    tls: Option<Arc<Tls>>,
    routes: Router,
    room: Arc<Semaphore>,
    lasting: Arc<Semaphore>,
    counts: Arc<Counts>,
}

impl Acceptor {
    /// Accepts connections until the task ends with its runtime.
    async fn accept_all(self, listener: TcpListener) {
        let listener = match tokio::net::TcpListener::from_std(listener) {
            Ok(listener) => listener,
            Err(error) => return tracing::error!("the HTTP server does not accept: {error}"),
        };
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            };
            let Some(line) = Line::new(&self.room, &self.lasting) else {
                self.counts.add_refused();
                continue;
            };
            // An error means that the connection has ended; its task sees that.
            let _ = stream.set_nodelay(true);
            let connection = Connection {
                line: Arc::new(line),
                routes: self.routes.clone(),
                counts: Arc::clone(&self.counts),
            };
            let tls = self.tls.clone();
            tokio::spawn(async move {
                match tls {
                    Some(tls) => connection.serve_tls(stream, &tls).await,
                    None => connection.serve_plain(stream).await,
                }
            });
        }
    }
}
