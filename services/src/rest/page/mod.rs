// SPDX-License-Identifier: MIT OR Apache-2.0

//! The live page: its files, and updates about the node for all browsers that show it.

mod explain;
mod log;
mod sample;
mod updates;

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, VARY};
use axum::http::{Extensions, HeaderValue, StatusCode};
use axum::response::{AppendHeaders, IntoResponse, Response};

use super::answer::{Refusal, Shared, client_of, event_stream, fresh, lasting};

pub(super) use explain::{EXPLANATIONS_MAX, explain};
pub(super) use log::Log;
pub(super) use sample::sampler;
pub(super) use updates::Pages;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'";

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Returns the page.
pub(super) fn index() -> Response {
    let text = include_str!("index.html");
    let mut response = of_file("text/html; charset=utf-8", text);
    let vary = HeaderValue::from_static("accept");
    response.headers_mut().insert(VARY, vary);
    response
}

/// Scripts of the page, by name.
const SCRIPTS: [(&str, &str); 9] = [
    ("explain.js", include_str!("explain.js")),
    ("forms.js", include_str!("forms.js")),
    ("graph.js", include_str!("graph.js")),
    ("keys.js", include_str!("keys.js")),
    ("log.js", include_str!("log.js")),
    ("page.js", include_str!("page.js")),
    ("rates.js", include_str!("rates.js")),
    ("rows.js", include_str!("rows.js")),
    ("tree.js", include_str!("tree.js")),
];

/// Returns a file of the page.
pub(super) async fn file(Path(name): Path<String>) -> Response {
    if name == "page.css" {
        return of_file("text/css; charset=utf-8", include_str!("page.css"));
    }
    let script = SCRIPTS.iter().find(|(known, _)| *known == name);
    match script {
        Some((_, text)) => of_file(SCRIPT, text),
        None => (StatusCode::NOT_FOUND, "the page has no such file\n").into_response(),
    }
}

fn of_file(kind: &'static str, text: &'static str) -> Response {
    let head = [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
    ];
    (head, AppendHeaders(fresh()), text).into_response()
}

/// Returns updates about the node, as events.
pub(super) async fn updates(
    State(shared): State<Arc<Shared>>,
    extensions: Extensions,
) -> Result<Response, Refusal> {
    let client = client_of(&extensions);
    if let Some(key) = &shared.page_key {
        client.may_read(&shared.session, key)?;
    }
    let lasting = lasting(&extensions)?;
    let log = shared.log.open(client);
    let updates = shared.pages.join(Arc::clone(lasting.line()), log);
    let mut response = event_stream(updates, lasting);
    response.headers_mut().extend(fresh());
    Ok(response)
}
