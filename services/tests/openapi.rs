// SPDX-License-Identifier: MIT OR Apache-2.0

//! The description of the REST interface, against what the server accepts.

use serde_json::Value;
use zonda::{Config, Wait};

use crate::served::{Answer, Served, ask, started};

const METHODS: [&str; 8] = [
    "get", "head", "post", "put", "patch", "delete", "options", "trace",
];

fn serve() -> Served {
    let config = Config::peer().with("services/http/listen", "'127.0.0.1:0'");
    started(&config.with("services/http/limits/body_bytes", "10")).unwrap()
}

fn description(served: &Served) -> Value {
    let answer = ask(served, "GET /openapi.json", &[], "");
    assert_eq!(answer.status, 200);
    assert!(answer.head.contains("content-type: application/json"));
    serde_json::from_str(&answer.body).expect("JSON")
}

/// Returns the description of a response, behind a reference if it is one.
fn response<'d>(all: &'d Value, operation: &'d Value, status: u16) -> Option<&'d Value> {
    let found = operation["responses"].get(status.to_string())?;
    match found["$ref"].as_str() {
        Some(reference) => all.pointer(reference.strip_prefix('#')?),
        None => Some(found),
    }
}

/// Asserts that an answer is described: its status and its content type.
fn assert_described(all: &Value, operation: &Value, answer: &Answer, what: &str) {
    let described = response(all, operation, answer.status);
    let described = described.unwrap_or_else(|| panic!("{what}: {}", answer.status));
    let mut lines = answer.head.lines();
    let kind = lines.find_map(|line| line.strip_prefix("content-type: "));
    let Some(kind) = kind.filter(|_| !answer.body.is_empty()) else {
        return;
    };
    let kind = kind.split(';').next().unwrap_or("");
    let content = &described["content"];
    let is_known = content.get(kind).or(content.get("*/*")).is_some();
    assert!(is_known, "{what}: {} with {kind}", answer.status);
}

#[test]
fn each_method_of_each_path_is_described_or_refused() {
    let served = serve();
    let queryable = served.session.declare_queryable("demo/**");
    let queryable = queryable.callback(|query| {
        for key in ["demo/a", "demo/b"] {
            // An error means that the query does not ask for this key.
            let _ = query.reply(key, "value").encoding("text/plain").wait();
        }
    });
    let _queryable = queryable.wait().unwrap();
    let all = description(&served);
    let paths = all["paths"].as_object().expect("paths");
    assert_eq!(paths.len(), 6);
    for (path, operations) in paths {
        for method in METHODS {
            let upper = method.to_uppercase();
            let path = path.replace("{key}", "demo/a");
            let request = format!("{upper} {path}");
            let answer = ask(&served, &request, &[], "");
            let Some(operation) = operations.get(method) else {
                // An operation that is not described is refused, or has no effect.
                let is_harmless = ["HEAD", "OPTIONS"].contains(&upper.as_str());
                let is_refused = [404, 405].contains(&answer.status);
                assert!(is_refused || is_harmless, "{request}: {}", answer.status);
                continue;
            };
            assert_eq!(answer.status, 200, "{request}");
            assert_described(&all, operation, &answer, &request);
        }
    }
    served.stop();
}

#[test]
fn the_key_of_the_description_has_a_pattern() {
    let served = serve();
    let all = description(&served);
    let pattern = all.pointer("/components/parameters/key/schema/pattern");
    assert!(
        pattern.is_some_and(|pattern| pattern.as_str().is_some_and(|text| text.ends_with('$')))
    );
    // A method that `/` does not have is refused as such.
    let refused = ask(&served, "PUT /", &[], "");
    assert!(
        refused.status == 405 && refused.head.contains("allow: get"),
        "{}",
        refused.head
    );
    served.stop();
}

#[test]
fn each_kind_of_answer_is_described() {
    let served = serve();
    let queryable = served.session.declare_queryable("demo/**");
    let queryable = queryable.callback(|query| {
        for key in ["demo/a", "demo/b"] {
            // An error means that the query does not ask for this key.
            let _ = query.reply(key, "value").encoding("text/plain").wait();
        }
    });
    let _queryable = queryable.wait().unwrap();
    let all = description(&served);
    let key = &all["paths"]["/{key}"];
    let html = "Accept: text/html";
    let coded = "Content-Encoding: gzip";
    let elsewhere = "Origin: http://evil.example";
    for (method, rest, head, body, status) in [
        ("get", "demo/*", "", "", 200),
        ("get", "demo/a?_raw", "", "", 200),
        ("get", "demo/*?_raw", "", "", 300),
        ("get", "demo/a", html, "", 200),
        ("get", "demo//a", "", "", 400),
        ("get", "demo/a", elsewhere, "", 403),
        ("post", "demo/*?_raw", "", "x", 300),
        ("post", "demo/a", coded, "x", 415),
        ("put", "demo/a", "", "x", 200),
        ("put", "demo//a", "", "x", 400),
        ("put", "demo/a", "", "more than ten bytes", 413),
        ("patch", "demo/a", coded, "x", 415),
        ("delete", "demo/a$", "", "", 400),
        ("delete", "demo/a", elsewhere, "", 403),
    ] {
        let request = format!("{} /{rest}", method.to_uppercase());
        let head: &[&str] = if head.is_empty() { &[] } else { &[head] };
        let answer = ask(&served, &request, head, body);
        assert_eq!(answer.status, status, "{request} {head:?}");
        assert_described(&all, &key[method], &answer, &request);
    }
    served.stop();
}
