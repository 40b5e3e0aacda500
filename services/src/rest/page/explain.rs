// SPDX-License-Identifier: MIT OR Apache-2.0

//! The way of a message, as `zonda explain` tells it, with the rights of the client.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::extract::State;
use axum::http::{Extensions, StatusCode, Uri};
use axum::response::{AppendHeaders, IntoResponse, Response};
use percent_encoding::percent_decode_str;
use tokio::runtime::Handle;
use zonda::config::ZenohId;
use zonda::key_expr::KeyExpr;
use zonda::query::Reply;
use zonda_explain::{Admin, ExplainError, Explanation, Message};

use crate::http::Client;
use crate::rest::answer::{Refusal, Scope, Shared, client_of, fresh};
use crate::rest::select::Selection;

/// Explanations that are made at the same time, each on a thread.
pub(in crate::rest) const EXPLANATIONS_MAX: usize = 4;

/// Returns the way of the message that the parameters `key`, `from`, `to` and `kind` describe.
pub(in crate::rest) async fn explain(
    State(shared): State<Arc<Shared>>,
    extensions: Extensions,
    uri: Uri,
) -> Result<Response, Refusal> {
    let message = message(uri.query().unwrap_or(""), &shared.zid).map_err(Refusal::bad)?;
    let client = client_of(&extensions);
    let Ok(place) = Arc::clone(&shared.explanations).try_acquire_owned() else {
        let text = "too many explanations are being made; try again";
        return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, text));
    };
    let runtime = Handle::current();
    let made = tokio::task::spawn_blocking(move || {
        let _place = place;
        let asker = Asker {
            until: Instant::now() + shared.answer_time,
            shared,
            client,
            runtime,
            refusal: Mutex::default(),
        };
        let explanation = Explanation::of(&message, &asker);
        let refusal = asker.refusal.into_inner();
        explanation.map_err(|error| {
            let refusal = refusal.unwrap_or_else(PoisonError::into_inner);
            refusal
                .unwrap_or_else(|| Refusal::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string()))
        })
    });
    let explanation = made.await.map_err(|error| Refusal::failed(&error))??;
    let mut answer = explanation.to_json();
    if let Some(members) = answer.as_object_mut() {
        members.insert("lines".to_owned(), explanation.lines().into());
    }
    let head = [("content-type", "application/json")];
    Ok((head, AppendHeaders(fresh()), answer.to_string()).into_response())
}

/// Reads the parameters; `zid` is the id of this node, which sends the message if none is named.
fn message(query: &str, zid: &str) -> Result<Message, String> {
    let parameter = |name: &str| {
        let mut entries = query.split('&').filter_map(|entry| entry.split_once('='));
        let (_, value) = entries.find(|(known, _)| *known == name)?;
        let value = percent_decode_str(value).decode_utf8().ok()?;
        Some(value.into_owned()).filter(|value| !value.is_empty())
    };
    let id = |name: &str| {
        let text = parameter(name);
        let id = text.map(|text| match text.parse::<ZenohId>() {
            Ok(zid) => Ok(zid.to_string()),
            Err(_) => Err(format!("{name}: {text:?} is no id of a node")),
        });
        id.transpose()
    };
    let key = parameter("key").ok_or("the parameter key is missing or no text")?;
    KeyExpr::new(key.as_str()).map_err(|error| format!("key: {error}"))?;
    Ok(Message {
        kind: parameter("kind").map_or(Ok(zonda_explain::Kind::Put), |kind| kind.parse())?,
        from: id("from")?.unwrap_or_else(|| zid.to_owned()),
        to: id("to")?,
        key,
    })
}

/// The admin spaces, as far as a client may read them.
struct Asker {
    shared: Arc<Shared>,
    client: Client,
    runtime: Handle,
    /// End of the time for all queries.
    until: Instant,
    /// The answer to the client if a query is refused.
    refusal: Mutex<Option<Refusal>>,
}

impl Asker {
    fn replies(&self, selector: &str) -> Result<Vec<Reply>, Refusal> {
        let (key, parameters) = selector.split_once('?').unwrap_or((selector, ""));
        let key = KeyExpr::new(key.to_owned()).map_err(|error| Refusal::bad(error.to_string()))?;
        let selection = Selection::of_key(key, parameters);
        let left = self.until.saturating_duration_since(Instant::now());
        let values = self
            .shared
            .values(&self.client, &selection, Scope::Admin(left));
        match left.is_zero() {
            true => Err(Refusal::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "the routers do not answer in time (services/http/limits/answer_ms)",
            )),
            false => self.runtime.block_on(values),
        }
    }
}

impl Admin for Asker {
    fn ask(&self, selector: &str) -> Result<Vec<(String, String)>, ExplainError> {
        let replies = self.replies(selector).map_err(|refusal| {
            let text = refusal.to_string();
            let mut kept = self.refusal.lock().unwrap_or_else(PoisonError::into_inner);
            *kept = Some(refusal);
            ExplainError::Ask(text)
        })?;
        let samples = replies.iter().filter_map(|reply| reply.result().ok());
        let mut texts: Vec<(String, String)> = samples
            .map(|sample| {
                let zid = sample.key_expr().as_str().split('/').nth(1);
                let text = String::from_utf8_lossy(&sample.payload().to_bytes()).into_owned();
                (zid.unwrap_or_default().to_owned(), text)
            })
            .collect();
        texts.sort();
        Ok(texts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_describe_a_message() {
        let read = |query| message(query, "c0ffee");
        let whole = read("key=demo%2Fa%3Db&from=a1&to=b2&kind=query").expect("a message");
        assert_eq!((&*whole.key, &*whole.from), ("demo/a=b", "a1"));
        assert_eq!(
            (whole.to.as_deref(), whole.kind.name()),
            (Some("b2"), "query")
        );
        let short = read("key=demo&from=&to=").expect("a message");
        assert_eq!((&*short.from, short.to), ("c0ffee", None));
        for wrong in ["", "key=%ff", "key=a//b", "key=a&to=x;y", "key=a&kind=poem"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
