// SPDX-License-Identifier: MIT OR Apache-2.0

//! Service `metrics`: `GET /metrics` returns the counters of the node as OpenMetrics text, or as that
//! of older versions of Prometheus.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::http::header::{ACCEPT, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, get};
use axum::{Extension, Router};
use zonda::key_expr::KeyExpr;
use zonda::session::openmetrics;
use zonda::{Config, Session};

use crate::http::{Client, Counts, Guard, Limits, Server, Serving, Setup};
use crate::values::{address_of, texts_of};
use crate::{Running, Service, Start, StartError};

/// Key of the address, and that of names by which clients may reach it.
const LISTEN: &str = "services/metrics/listen";
const HOSTS: &str = "services/metrics/hosts";

/// Types of the text.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

const INDEX: &str = "\
Zonda, a router of the Zenoh protocol

/metrics   counters of this node, in OpenMetrics text
";

/// The service.
pub(crate) struct Metrics;

impl Service for Metrics {
    fn name(&self) -> &'static str {
        "metrics"
    }

    fn is_wanted(&self, config: &Config) -> Result<bool, StartError> {
        Ok(address(config)?.is_some())
    }

    fn look(&self, config: &Config) -> Result<(), StartError> {
        match address(config)? {
            Some(address) => crate::http::look(address)
                .map_err(|error| StartError::System(format!("`{LISTEN}`: {error}"))),
            None => Ok(()),
        }
    }

    fn start(&self, start: &Start<'_>) -> Result<Box<dyn Running>, StartError> {
        let config = start.config;
        let address =
            address(config)?.ok_or_else(|| StartError::Config(format!("`{LISTEN}` is not set")))?;
        let counts = Arc::new(Counts::default());
        let routes = Router::new()
            .route("/", get(|| async { INDEX }))
            .route("/metrics", route(start, Arc::clone(&counts)))
            .fallback(|| async { (StatusCode::NOT_FOUND, "not found; / lists what is here\n") });
        let guard = Guard {
            hosts: texts_of(config, HOSTS),
            stranger: Client::new(None, "http"),
            ..Guard::default()
        };
        let setup = Setup {
            address,
            guard,
            limits: Limits::default(),
            tls: None,
        };
        let server = Server::start(setup, routes, counts)
            .map_err(|error| StartError::System(format!("`{LISTEN}`: {error}")))?;
        Ok(Box::new(Serving {
            name: self.name(),
            server,
            session: start.session.clone(),
            read: None,
        }))
    }
}

/// Returns the address of the configuration; `None` if it has none.
fn address(config: &Config) -> Result<Option<SocketAddr>, StartError> {
    address_of(config, LISTEN, "127.0.0.1:9090")
}

/// Returns the route of `/metrics`.
pub(crate) fn route<S>(start: &Start<'_>, counts: Arc<Counts>) -> MethodRouter<S>
where
    S: Clone + Send + Sync + 'static,
{
    let (session, others) = (start.session.clone(), start.counters.clone());
    let key = own_key(&session, "/metrics");
    get(move |client: Extension<Client>, headers: HeaderMap| {
        let denied = key.as_ref().map(|key| client.may_read(&session, key));
        if let Some(Err(denied)) = denied {
            return std::future::ready(denied.into_response());
        }
        let mut samples = session.info().metrics();
        samples.extend(counts.samples());
        samples.extend(others.samples());
        let (kind, text) = match prefers_prometheus(&headers) {
            true => (PROMETHEUS, prometheus(&openmetrics(&samples))),
            false => (OPENMETRICS, openmetrics(&samples)),
        };
        let head = [(CONTENT_TYPE, kind), (VARY, "accept")];
        std::future::ready((head, text).into_response())
    })
}

/// Returns the key of the session's node in the admin space with a suffix; `None` if that is no
/// key.
pub(crate) fn own_key(session: &Session, suffix: &str) -> Option<KeyExpr<'static>> {
    let role = session.info().whatami();
    KeyExpr::new(format!("@/{}/{role}{suffix}", session.zid())).ok()
}

/// Returns true if the client asks for plain text more than for OpenMetrics.
fn prefers_prometheus(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter();
    let accepted = accepted.filter_map(|value| value.to_str().ok());
    let ranges: Vec<&str> = accepted.flat_map(|text| text.split(',')).collect();
    let weight = |kind: &str| {
        let matching = ranges.iter().filter_map(|range| {
            let mut parts = range.split(';').map(str::trim);
            let is_it = parts.next()?.eq_ignore_ascii_case(kind);
            let quality = parts.find_map(|part| part.strip_prefix("q="));
            is_it.then(|| quality.map_or(1.0, |q| q.parse::<f32>().unwrap_or(0.0)))
        });
        matching.fold(0.0, f32::max)
    };
    weight("text/plain") > weight("application/openmetrics-text")
}

/// Converts OpenMetrics text to that of Prometheus 0.0.4, where the name of a counter in its
/// description has the suffix of its samples, and facts are gauges.
fn prometheus(text: &str) -> String {
    let mut converted = String::with_capacity(text.len());
    // The name of the metric, and its suffix in the older form.
    let (mut metric, mut suffix) = ("", "");
    for line in text.lines().filter(|line| *line != "# EOF") {
        if let Some((name, kind)) =
            (line.strip_prefix("# TYPE ")).and_then(|rest| rest.split_once(' '))
        {
            metric = name;
            suffix = match kind {
                "counter" => "_total",
                "info" => "_info",
                _ => "",
            };
            // The older form has no type for facts.
            let kind = if kind == "info" { "gauge" } else { kind };
            converted += &format!("# TYPE {name}{suffix} {kind}\n");
            continue;
        }
        let help = line
            .strip_prefix("# HELP ")
            .and_then(|rest| rest.strip_prefix(metric));
        match help {
            Some(help) if help.starts_with(' ') => {
                converted += &format!("# HELP {metric}{suffix}{help}\n");
            }
            _ => {
                converted += line;
                converted.push('\n');
            }
        }
    }
    converted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_in_the_form_that_the_client_prefers() {
        let prefers = |accept: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, accept.parse().expect("a header"));
            prefers_prometheus(&headers)
        };
        assert!(!prefers_prometheus(&HeaderMap::new()) && !prefers("*/*"));
        assert!(prefers("text/plain;version=0.0.4;q=0.5, */*;q=0.1"));
        // The header of Prometheus 2.
        assert!(!prefers(
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
        ));
    }

    #[test]
    fn counters_have_their_suffix_in_the_older_form() {
        let text = "# TYPE a counter\n# HELP a A thing.\na_total{x=\"y\"} 1\n# TYPE b gauge\n# HELP b B.\nb 2\n# EOF\n";
        let older = "# TYPE a_total counter\n# HELP a_total A thing.\na_total{x=\"y\"} 1\n# TYPE b gauge\n# HELP b B.\nb 2\n";
        assert_eq!(prometheus(text), older);
        let facts = "# TYPE c info\n# HELP c C.\nc_info{v=\"1\"} 1\n";
        let older = "# TYPE c_info gauge\n# HELP c_info C.\nc_info{v=\"1\"} 1\n";
        assert_eq!(prometheus(facts), older);
    }
}
