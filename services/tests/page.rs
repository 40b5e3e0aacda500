// SPDX-License-Identifier: MIT OR Apache-2.0

//! The live page, as browsers get it.

#![cfg(unix)]

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;
use zonda::{Config, Wait};

use crate::served::{Answer, SOON, Served, ask, started, started_on, until};

const HTML: &str = "Accept: text/html,application/xhtml+xml,*/*;q=0.8";

const FILES: [&str; 8] = [
    "page.css", "page.js", "forms.js", "graph.js", "keys.js", "rates.js", "rows.js", "tree.js",
];

fn config() -> Config {
    Config::peer().with("services/http/listen", "'127.0.0.1:0'")
}

fn serve() -> Served {
    started(&config()).unwrap()
}

/// A page that gets updates.
struct Page(BufReader<TcpStream>);

impl Page {
    fn open(served: &Served) -> Page {
        let mut stream = TcpStream::connect(served.address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        let request = b"GET /@page/updates HTTP/1.1\r\nHost: localhost\r\n\r\n";
        stream.write_all(request).unwrap();
        Page(BufReader::new(stream))
    }

    fn next(&mut self) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "no more updates");
            if let Some(data) = line.strip_prefix("data: ") {
                return serde_json::from_str(data).unwrap();
            }
        }
    }
}

#[test]
fn a_browser_gets_the_page_and_others_the_text() {
    let served = serve();
    let page = ask(&served, "GET /", &[HTML], "");
    assert!(page.status == 200 && page.body.starts_with("<!doctype html>"));
    assert!(page.head.contains("vary: accept"), "{}", page.head);
    let text = ask(&served, "GET /", &["Accept: */*"], "");
    assert!(text.body.starts_with("Zonda, a router"), "{}", text.body);
    for file in FILES {
        assert_eq!(
            ask(&served, &format!("GET /@page/{file}"), &[], "").status,
            200
        );
        assert_eq!(
            ask(&served, &format!("PUT /@page/{file}"), &[], "x").status,
            405
        );
    }
    assert_eq!(ask(&served, "GET /@page/other", &[], "").status, 404);
    served.stop();
}

#[test]
fn the_page_runs_its_own_files_only() {
    let served = serve();
    let files = FILES.map(|file| format!("GET /@page/{file}"));
    for request in files.iter().map(String::as_str).chain(["GET /"]) {
        let Answer { head, body, .. } = ask(&served, request, &[HTML], "");
        assert!(head.contains("content-security-policy: default-src 'none'; script-src 'self'"));
        assert!(!head.contains("unsafe") && head.contains("x-content-type-options: nosniff"));
        assert!(head.contains("cache-control: no-store"), "{head}");
        for word in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "eval(",
            "style=",
            "onclick=",
        ] {
            assert!(!body.contains(word), "{request} has {word}");
        }
    }
    served.stop();
}

#[test]
fn strangers_get_nothing() {
    let served = serve();
    for request in ["GET /", "GET /@page/page.js", "GET /@page/updates"] {
        assert_eq!(
            ask(&served, request, &[HTML, "Host: evil.example"], "").status,
            403
        );
    }
    served.stop();
}

#[test]
fn the_page_needs_the_credentials_of_the_server() {
    let name = format!("zonda-page-{}", std::process::id());
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, "secret-token\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let path = format!("{:?}", file.to_str().unwrap());
    let served = started(&config().with("services/http/auth/token_file", &path)).unwrap();
    std::fs::remove_file(file).unwrap();
    let token = "Authorization: Bearer secret-token";
    for request in [
        "GET /",
        "GET /@page/page.js",
        "GET /@page/updates",
        "PUT /demo/a",
    ] {
        assert_eq!(ask(&served, request, &[HTML], "").status, 401, "{request}");
    }
    for request in ["GET /", "GET /@page/page.js", "PUT /demo/a"] {
        assert_eq!(ask(&served, request, &[HTML, token], "").status, 200);
    }
    served.stop();
}

#[test]
fn updates_count_drops_by_reason() {
    let rules = "{enabled: true, default_permission: 'allow', \
        rules: [{id: 'closed', permission: 'deny', messages: ['put'], key_exprs: ['demo/closed']}], \
        subjects: [{id: 'all'}], policies: [{rules: ['closed'], subjects: ['all']}]}";
    let served = started_on(
        &config(),
        crate::served::alone_with("access_control", rules),
    )
    .unwrap();
    let mut page = Page::open(&served);
    assert_eq!(page.next()["drops"], serde_json::json!([]));
    assert_eq!(ask(&served, "PUT /demo/closed", &[], "x").status, 403);
    let begin = std::time::Instant::now();
    let drops = loop {
        let drops = page.next()["drops"].clone();
        if drops.as_array().is_some_and(|drops| !drops.is_empty()) {
            break drops;
        }
        assert!(begin.elapsed() < SOON, "no drop is counted");
    };
    let expected = serde_json::json!([
        {"filter": "access_control", "what": "ingress put", "count": 1},
        {"filter": "access_control", "what": "rule closed", "count": 1},
    ]);
    assert_eq!(drops, expected);
    served.stop();
}

#[test]
fn updates_name_a_neighbour_while_it_is_there() {
    let served = serve();
    let locator = served.session.info().locators().wait()[0].to_string();
    let mut page = Page::open(&served);
    let first = page.next();
    assert_eq!(first["zid"], served.session.zid().to_string());
    assert_eq!(first["links"].as_array().map(Vec::len), Some(0));
    let client = zonda::open(Config::client([locator])).wait().unwrap();
    let zid = client.zid().to_string();
    until("the client is a neighbour", || {
        !served.session.info().links().is_empty()
    });
    let link = loop {
        let update = page.next();
        if let Some(link) = update["links"].get(0) {
            break link.clone();
        }
    };
    assert_eq!(
        (link["zid"].as_str(), link["role"].as_str()),
        (Some(&*zid), Some("client"))
    );
    for number in [
        "sent",
        "sent_bytes",
        "queued",
        "queued_bytes",
        "dropped",
        "full",
    ] {
        assert!(link[number].is_u64(), "{number} of {link}");
    }
    // What the node does not count is null.
    for number in ["received", "received_bytes"] {
        let value = &link[number];
        assert!(value.is_u64() || value.is_null(), "{number} of {link}");
    }
    assert_eq!(first["links_left_out"], 0);
    client.close().wait().unwrap();
    served.stop();
}
