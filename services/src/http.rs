// SPDX-License-Identifier: MIT OR Apache-2.0

//! HTTP server of the services: one thread with a runtime of its own, whatever the node runs on.
//!
//! Every resource of a client is bounded: the number of connections, the size and time of a request
//! head, the size of a body, the time of an answer and of a whole connection. A request whose `Host`
//! is a name that is not known here is refused: a page from elsewhere may have made its own name
//! lead to this address (DNS rebinding).

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header::HOST};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::sync::{Semaphore, oneshot};
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::timeout::TimeoutLayer;
use zonda::session::{Kind, Metric, Sample};

/// Most connections at the same time; more are closed at once.
pub const CONNECTIONS_MAX: usize = 64;

/// Most bytes of a request head.
pub const HEAD_BYTES_MAX: usize = 16 << 10;

/// Most bytes of a request body.
pub const BODY_BYTES_MAX: usize = 64 << 10;

/// Time for a client to send a request head, from the connection or the last answer on.
pub const HEAD_TIME: Duration = Duration::from_secs(5);

/// Time for an answer to be made.
const ANSWER_TIME: Duration = Duration::from_secs(10);

/// Time of a connection, with all its requests; ends clients that do not read.
const CONNECTION_TIME: Duration = Duration::from_secs(60);

/// Pause after an accept that failed, as without free descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

static REQUESTS: Metric = Metric {
    name: "zonda_http_requests",
    kind: Kind::Counter,
    help: "Requests to the HTTP server, refused ones included.",
};

static REFUSED: Metric = Metric {
    name: "zonda_http_connections_refused",
    kind: Kind::Counter,
    help: "Connections to the HTTP server that were closed because too many were open.",
};

/// Counters of a server.
#[derive(Debug, Default)]
pub struct Counts {
    requests: AtomicU64,
    refused: AtomicU64,
}

impl Counts {
    /// Returns them as samples.
    pub fn samples(&self) -> Vec<Sample> {
        vec![
            Sample::of(&REQUESTS, self.requests.load(Ordering::Relaxed)),
            Sample::of(&REFUSED, self.refused.load(Ordering::Relaxed)),
        ]
    }
}

/// An HTTP server that runs. Dropping it stops it.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    counts: Arc<Counts>,
    /// Dropped to stop the thread.
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens on `address` and serves `routes`. Clients may name the server by an address, as
    /// `localhost`, or by one of `hosts`.
    ///
    /// # Errors
    /// The address cannot be listened on, or the system starts no thread.
    pub fn start(
        address: SocketAddr,
        hosts: Vec<String>,
        routes: Router,
        counts: Arc<Counts>,
    ) -> io::Result<Server> {
        // The port is taken here, so that the caller gets the error.
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("cannot listen on {address}: {error}"))
        };
        let listener = TcpListener::bind(address).map_err(named)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let routes = limited(routes, hosts, Arc::clone(&counts));
        let (end, ended) = oneshot::channel();
        let of_thread = Arc::clone(&counts);
        let thread = std::thread::Builder::new().name("zonda-http".into());
        let thread = thread.spawn(move || {
            runtime.block_on(async {
                tokio::spawn(accept_all(listener, routes, of_thread));
                // An error is the end, too: the sender was dropped.
                let _ = ended.await;
            });
            // Tasks of connections end here, without waiting for their clients.
            runtime.shutdown_background();
        })?;
        Ok(Server {
            address,
            counts,
            end: Some(end),
            thread: Some(thread),
        })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its counters.
    pub fn counts(&self) -> &Counts {
        &self.counts
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

/// Adds the limits of a request to the routes.
fn limited(routes: Router, hosts: Vec<String>, counts: Arc<Counts>) -> Router {
    let hosts: Arc<[String]> = hosts.into();
    let check = move |request: Request<Body>, next: Next| {
        counts.requests.fetch_add(1, Ordering::Relaxed);
        let known = is_known_host(request.headers(), &hosts);
        async move {
            match known {
                true => next.run(request).await,
                false => refusal(),
            }
        }
    };
    routes
        .fallback(|| async { (StatusCode::NOT_FOUND, "not found; / lists what is here\n") })
        .layer(RequestBodyLimitLayer::new(BODY_BYTES_MAX))
        .layer(TimeoutLayer::with_status_code(
            StatusCode::SERVICE_UNAVAILABLE,
            ANSWER_TIME,
        ))
        .layer(middleware::from_fn(check))
}

fn refusal() -> Response {
    let text = "this name is not known here: use an address, or list it in services/NAME/hosts\n";
    (StatusCode::FORBIDDEN, text).into_response()
}

/// Returns true if the one `Host` is an address, `localhost`, or a name of `hosts`.
fn is_known_host(headers: &HeaderMap, hosts: &[String]) -> bool {
    let mut all = headers.get_all(HOST).iter();
    let (Some(host), None) = (all.next(), all.next()) else {
        return false;
    };
    let Ok(host) = host.to_str() else {
        return false;
    };
    // The port is not looked at: it may be that of a tunnel.
    let (name, is_bracketed) = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, _)) => (address, true),
            None => return false,
        },
        None => (host.split_once(':').map_or(host, |(name, _)| name), false),
    };
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    match name.parse::<IpAddr>() {
        Ok(address) => address.is_ipv6() == is_bracketed,
        Err(_) => !is_bracketed && (name == "localhost" || hosts.contains(&name)),
    }
}

/// Accepts connections until the task ends with its runtime.
async fn accept_all(listener: TcpListener, routes: Router, counts: Arc<Counts>) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!("the HTTP server does not accept: {error}"),
    };
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let Ok(place) = Arc::clone(&room).try_acquire_owned() else {
            counts.refused.fetch_add(1, Ordering::Relaxed);
            continue;
        };
        let service = TowerToHyperService::new(routes.clone());
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME)
            .max_buf_size(HEAD_BYTES_MAX)
            .serve_connection(TokioIo::new(stream), service);
        tokio::spawn(async move {
            // Errors are those of the client: an invalid request, or the end of its connection.
            let _ = tokio::time::timeout(CONNECTION_TIME, connection).await;
            drop(place);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_elsewhere_are_refused() {
        let known = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(HOST, value.parse().expect("a header"));
            }
            is_known_host(&headers, &["router.lan".to_owned()])
        };
        for host in [
            "127.0.0.1",
            "127.0.0.1:9090",
            "[::1]:9090",
            "LocalHost:1",
            "localhost.",
            "Router.lan:80",
        ] {
            assert!(known(&[host]), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example:80",
            "[localhost]",
            "[::1",
            "::1",
            "",
        ] {
            assert!(!known(&[host]), "{host}");
        }
        assert!(!known(&[]) && !known(&["localhost", "localhost"]));
    }
}
