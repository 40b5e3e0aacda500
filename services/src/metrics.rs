// SPDX-License-Identifier: MIT OR Apache-2.0

//! Service `metrics`: `GET /metrics` returns the counters of the node as OpenMetrics text.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use zonda::session::{Sample, openmetrics};
use zonda::{Config, Session, Wait};

use crate::http::{Counts, Server};
use crate::{Running, Service, StartError};

/// Key of the address, and that of names by which clients may reach it.
const LISTEN: &str = "services/metrics/listen";
const HOSTS: &str = "services/metrics/hosts";

/// Type of the text.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const INDEX: &str = "\
Zonda, a router of the Zenoh protocol

/metrics   counters of this node, in OpenMetrics text
";

/// The service.
pub(crate) struct Metrics;

/// The service while it runs.
struct Serving {
    server: Server,
    session: Session,
}

impl Service for Metrics {
    fn name(&self) -> &'static str {
        "metrics"
    }

    fn is_wanted(&self, config: &Config) -> Result<bool, StartError> {
        Ok(address(config)?.is_some())
    }

    fn start(&self, session: &Session, config: &Config) -> Result<Box<dyn Running>, StartError> {
        let address =
            address(config)?.ok_or_else(|| StartError::Config(format!("`{LISTEN}` is not set")))?;
        let counts = Arc::new(Counts::default());
        let (of, own) = (session.clone(), Arc::clone(&counts));
        let routes = Router::new().route("/", get(|| async { INDEX })).route(
            "/metrics",
            get(move || {
                let mut samples = of.info().metrics();
                samples.extend(own.samples());
                let text = openmetrics(&samples);
                async move { ([(CONTENT_TYPE, OPENMETRICS)], text) }
            }),
        );
        let server = Server::start(address, hosts(config), routes, counts)
            .map_err(|error| StartError::System(format!("`{LISTEN}`: {error}")))?;
        Ok(Box::new(Serving {
            server,
            session: session.clone(),
        }))
    }
}

impl Running for Serving {
    fn name(&self) -> &'static str {
        Metrics.name()
    }

    fn status(&self) -> String {
        format!("HTTP on {}", self.server.address())
    }

    fn metrics(&self) -> Vec<Sample> {
        self.server.counts().samples()
    }

    fn stop(self: Box<Self>) {
        let Serving { server, session } = *self;
        server.stop();
        // A failure is ignored: the node may be closed already.
        let _ = session.close().wait();
    }
}

/// Returns the address of the configuration; `None` if it has none.
fn address(config: &Config) -> Result<Option<SocketAddr>, StartError> {
    if !config.is_set(LISTEN) {
        return Ok(None);
    }
    let json = config.get_json(LISTEN).unwrap_or_default();
    let text = json.trim_matches('"');
    match text.parse() {
        _ if text == "null" => Ok(None),
        Ok(address) => Ok(Some(address)),
        Err(_) => Err(StartError::Config(format!(
            "`{LISTEN}`: {json} is no ADDRESS:PORT, such as \"127.0.0.1:9090\""
        ))),
    }
}

/// Returns the names by which clients may reach the server.
fn hosts(config: &Config) -> Vec<String> {
    let json = config.get_json(HOSTS).unwrap_or_default();
    let names = json.trim_matches(['[', ']']).split(',');
    let names = names.map(|name| name.trim().trim_matches('"').to_ascii_lowercase());
    names.filter(|name| !name.is_empty()).collect()
}
