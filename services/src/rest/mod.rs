// SPDX-License-Identifier: MIT OR Apache-2.0

//! Service `http`: keys over HTTP as the reference's REST interface has them, events, the counters
//! of the node, the live page, and probes.

mod answer;
mod events;
mod html;
mod json;
mod page;
mod replies;
mod select;
mod settings;

use std::sync::Arc;

use axum::Router;
#[cfg(feature = "remote-api")]
use axum::extract::Request;
use axum::extract::State;
use axum::http::header::{ALLOW, CONTENT_TYPE};
use axum::http::{HeaderMap, Method, StatusCode};
#[cfg(feature = "remote-api")]
use axum::middleware::{self, Next};
use axum::response::{AppendHeaders, IntoResponse, Response};
use axum::routing::{any, get};
use tokio::sync::Semaphore;
use zonda::Config;

use crate::http::{Counts, Server, Serving};
#[cfg(feature = "remote-api")]
use crate::remote_api::{self, RemoteApi, is_upgrade, open};
use crate::{Running, Service, Start, StartError, metrics};
use answer::{Shared, accepted, answer, fresh, no_such_method, room_for_bodies};
use events::Hub;
use settings::Settings;

#[cfg(feature = "remote-api")]
pub(crate) use settings::{
    ANY, HOSTS, ORIGINS, Reach, USERS, address_of_port, credentials, reader,
};

const INDEX: &str = "\
Zonda, a router of the Zenoh protocol

/KEY       GET or POST asks, PUT publishes, DELETE deletes; with Accept: text/event-stream, events
/@/local/router   this node
/metrics   counters of this node
/openapi.json   this interface as OpenAPI 3.0
/healthz   200 while this server answers
/readyz    200 while the node takes part in the network
";

/// The service.
pub(crate) struct Rest;

impl Service for Rest {
    fn name(&self) -> &'static str {
        "http"
    }

    fn is_wanted(&self, config: &Config) -> Result<bool, StartError> {
        Ok(Settings::read(config)?.is_some())
    }

    fn is_required(&self, config: &Config) -> bool {
        settings::is_required(config)
    }

    fn warnings(&self, config: &Config) -> Vec<String> {
        let settings = Settings::read(config).ok().flatten();
        let open = settings.map_or(Vec::new(), |settings| settings.warnings(config));
        [open, settings::idle_members(config)].concat()
    }

    fn look(&self, config: &Config) -> Result<(), StartError> {
        match Settings::read(config)? {
            Some(settings) => crate::http::look(settings.setup.address)
                .map_err(|error| StartError::System(format!("`{}`: {error}", settings.key))),
            None => Ok(()),
        }
    }

    fn start(&self, start: &Start<'_>) -> Result<Box<dyn Running>, StartError> {
        let settings = Settings::read(start.config)?
            .ok_or_else(|| StartError::Config("`services/http/listen` is not set".to_owned()))?;
        let key = settings.key;
        let counts = Arc::new(Counts::default());
        let routes = routes(start, &settings, &counts);
        let server = Server::start(settings.setup, routes, counts)
            .map_err(|error| StartError::System(format!("`{key}`: {error}")))?;
        Ok(Box::new(Serving {
            name: self.name(),
            server,
            session: start.session.clone(),
            read: settings.read,
        }))
    }
}

fn routes(start: &Start<'_>, settings: &Settings, counts: &Arc<Counts>) -> Router {
    let session = start.session;
    let limits = settings.setup.limits;
    let hub = Hub::new(session.clone(), Arc::clone(counts), settings.event_bytes);
    let log = Arc::new(page::Log::new(start.log, session, start.config));
    let shared = Shared {
        session: session.clone(),
        hub: Arc::new(hub),
        page_key: metrics::own_key(session, ""),
        pages: page::Pages::new(page::sampler(
            session.clone(),
            settings.setup.guard.own_page_publishes,
        )),
        log,
        explanations: Arc::new(Semaphore::new(page::EXPLANATIONS_MAX)),
        zid: session.zid().to_string(),
        body_bytes_max: limits.body_bytes,
        bodies: room_for_bodies(limits.body_bytes),
        answer_bytes_max: settings.answer_bytes,
        answer_time: limits.answer,
    };
    let routes = Router::new()
        .route("/", any(index))
        .route("/@page/updates", get(page::updates))
        .route("/@page/explain", get(page::explain))
        .route("/@page/{file}", get(page::file))
        .route("/metrics", metrics::route(start, Arc::clone(counts)))
        .route("/openapi.json", get(openapi))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .fallback(answer)
        .with_state(Arc::new(shared));
    with_remote_api(routes, start, settings)
}

/// Adds the remote API, at its path and for a WebSocket at `/`, if the configuration asks for it.
#[cfg(feature = "remote-api")]
fn with_remote_api(routes: Router, start: &Start<'_>, settings: &Settings) -> Router {
    if !settings.has_remote_api {
        return routes;
    }
    let api = RemoteApi::new(start, Rest.name());
    let at_root = {
        let api = Arc::clone(&api);
        move |request: Request, next: Next| {
            let api = Arc::clone(&api);
            async move {
                match request.uri().path() == "/" && is_upgrade(request.headers()) {
                    true => open(&api, request),
                    false => next.run(request).await,
                }
            }
        }
    };
    remote_api::route(&api, routes, "/remote-api").layer(middleware::from_fn(at_root))
}

/// Leaves the routes as they are: this build has no remote API.
#[cfg(not(feature = "remote-api"))]
fn with_remote_api(routes: Router, _start: &Start<'_>, _settings: &Settings) -> Router {
    routes
}

/// Answers a request on no key: a browser gets the live page.
async fn index(method: Method, headers: HeaderMap) -> Response {
    match method {
        Method::GET | Method::HEAD if accepted(&headers) == "text/html" => page::index(),
        Method::GET | Method::HEAD => INDEX.into_response(),
        Method::OPTIONS => StatusCode::OK.into_response(),
        Method::POST | Method::PUT | Method::PATCH | Method::DELETE => {
            let allowed = [(ALLOW, "GET, HEAD, OPTIONS")];
            (
                StatusCode::METHOD_NOT_ALLOWED,
                allowed,
                "there is no key here\n",
            )
                .into_response()
        }
        _ => no_such_method(),
    }
}

/// Returns the description of the interface.
async fn openapi() -> Response {
    let head = [(CONTENT_TYPE, "application/json")];
    (head, AppendHeaders(fresh()), include_str!("openapi.json")).into_response()
}

/// Answers the probe of the node's readiness.
async fn ready(State(shared): State<Arc<Shared>>) -> Response {
    match shared.session.is_closed() {
        false => "ready\n".into_response(),
        true => (StatusCode::SERVICE_UNAVAILABLE, "the node is closed\n").into_response(),
    }
}
