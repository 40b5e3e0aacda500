// SPDX-License-Identifier: MIT OR Apache-2.0

//! The live page, as browsers get it.

#![cfg(unix)]

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;
use zonda::{Config, Wait};

use crate::served::{Answer, LOG, SOON, Served, ask, started, started_on, until};

const HTML: &str = "Accept: text/html,application/xhtml+xml,*/*;q=0.8";

const FILES: [&str; 10] = [
    "page.css",
    "page.js",
    "forms.js",
    "explain.js",
    "log.js",
    "graph.js",
    "keys.js",
    "rates.js",
    "rows.js",
    "tree.js",
];

fn config() -> Config {
    Config::peer().with("services/http/listen", "'127.0.0.1:0'")
}

fn serve() -> Served {
    started(&config()).unwrap()
}

/// A page that gets updates.
struct Page {
    stream: BufReader<TcpStream>,
    /// Events of the log that came so far.
    logged: Vec<Value>,
}

impl Page {
    fn open(served: &Served) -> Page {
        let mut stream = TcpStream::connect(served.address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        let request = b"GET /@page/updates HTTP/1.1\r\nHost: localhost\r\n\r\n";
        stream.write_all(request).unwrap();
        Page {
            stream: BufReader::new(stream),
            logged: Vec::new(),
        }
    }

    fn next(&mut self) -> Value {
        loop {
            let mut line = String::new();
            assert!(
                self.stream.read_line(&mut line).unwrap() > 0,
                "no more updates"
            );
            if let Some(data) = line.strip_prefix("data: ") {
                let value: Value = serde_json::from_str(data).unwrap();
                if value.get("zid").is_some() {
                    return value;
                }
                self.logged.push(value);
            }
        }
    }

    /// Returns the first event of the log.
    fn log(&mut self) -> Value {
        let begin = std::time::Instant::now();
        while self.logged.is_empty() {
            self.next();
            assert!(begin.elapsed() < SOON, "no event of the log");
        }
        self.logged.remove(0)
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
    let own = ["Host: localhost:1", "Origin: http://localhost:1", token];
    for request in ["GET /", "GET /@page/page.js", "PUT /demo/a"] {
        assert_eq!(ask(&served, request, &[HTML, token], "").status, 200);
        assert_eq!(ask(&served, request, &own, "").status, 200, "{request}");
    }
    served.stop();
}

#[test]
fn the_page_publishes_nothing_without_credentials() {
    let own = ["Host: localhost:1", "Origin: http://localhost:1"];
    let changes = [
        "PUT /demo/a",
        "PATCH /demo/a",
        "DELETE /demo/a",
        "POST /demo/a",
    ];
    let served = serve();
    assert_eq!(Page::open(&served).next()["may_publish"], false);
    for request in changes {
        let answer = ask(&served, request, &own, "x");
        assert_eq!(answer.status, 403, "{request}");
        assert!(
            answer.body.contains("services/http/auth"),
            "{}",
            answer.body
        );
        // A program is no page.
        assert_eq!(ask(&served, request, &[], "x").status, 200, "{request}");
    }
    assert_eq!(ask(&served, "GET /demo/a", &own, "").status, 200);
    served.stop();
    // An owner may open the server, or list the origin.
    for (key, value) in [
        ("services/http/open", "true"),
        ("services/http/cors/origins", "['http://localhost:1']"),
    ] {
        let served = started(&config().with(key, value)).unwrap();
        for request in changes {
            assert_eq!(ask(&served, request, &own, "x").status, 200, "{key}");
        }
        served.stop();
    }
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
    // Counts that the node does not have are null.
    for number in ["received", "received_bytes"] {
        let value = &link[number];
        assert!(value.is_u64() || value.is_null(), "{number} of {link}");
    }
    assert_eq!(first["links_left_out"], 0);
    client.close().wait().unwrap();
    served.stop();
}

/// Returns a router whose admin space answers, with these rules.
pub fn router(rules: &str) -> zonda::Session {
    let config = Config::router().listen(["tcp/127.0.0.1:0"]);
    let config = config.with("scouting/multicast/enabled", "false");
    let config = config.with("adminspace/enabled", "true");
    let config = config.with("access_control", rules);
    zonda::open(config).wait().unwrap()
}

/// Returns rules that deny a kind of message on a key.
fn denying(message: &str, key: &str) -> String {
    format!(
        "{{enabled: true, default_permission: 'allow', \
        rules: [{{id: 'closed', permission: 'deny', messages: ['{message}'], key_exprs: ['{key}']}}], \
        subjects: [{{id: 'all'}}], policies: [{{rules: ['closed'], subjects: ['all']}}]}}"
    )
}

fn explained(served: &Served, parameters: &str) -> (u16, Value) {
    let request = format!("GET /@page/explain?{parameters}");
    let Answer { status, body, .. } = ask(served, &request, &[], "");
    (
        status,
        serde_json::from_str(&body).unwrap_or(Value::String(body)),
    )
}

#[test]
fn the_page_explains_the_way_of_a_message_and_what_stops_it() {
    let session = router(&denying("put", "demo/closed"));
    let served = started_on(&config().with("adminspace/enabled", "true"), session).unwrap();
    let locator = served.session.info().locators().wait()[0].to_string();
    let client = zonda::open(Config::client([locator])).wait().unwrap();
    let subscriber = client.declare_subscriber("demo/*").wait().unwrap();
    let (node, zid) = (served.session.zid(), client.zid());
    let begin = std::time::Instant::now();
    let told = loop {
        let (status, told) = explained(&served, &format!("key=demo%2Fa&to={zid}"));
        assert_eq!(status, 200, "{told}");
        if told["arrives"] == true {
            break told;
        }
        assert!(begin.elapsed() < SOON, "{told}");
    };
    let lines = serde_json::json!([
        format!("router {node} gets it from {node}"),
        format!("  sends it to client {zid}"),
        "    access_control: allowed by the default permission".to_owned(),
        format!("demo/a arrives at client {zid}"),
    ]);
    assert_eq!(told["lines"], lines);
    let (_, told) = explained(&served, &format!("key=demo/closed&from={zid}"));
    let text = told["lines"].to_string();
    assert!(
        told["arrives"] == false && text.contains("access_control: denied by rule"),
        "{told}"
    );
    for wrong in ["", "key=a//b", "key=a&from=nobody", "key=a&kind=poem"] {
        assert_eq!(explained(&served, wrong).0, 400, "{wrong}");
    }
    drop(subscriber);
    client.close().wait().unwrap();
    served.stop();
}

#[test]
fn a_client_without_the_right_to_read_routers_gets_no_explanation() {
    let session = router(&denying("query", "@/*/router/**"));
    let served = started_on(&config(), session).unwrap();
    let (status, text) = explained(&served, "key=demo/a");
    assert_eq!(status, 403);
    assert!(
        text.to_string().contains("access_control: query on"),
        "{text}"
    );
    served.stop();
}

#[test]
fn the_log_is_for_clients_that_may_read_the_admin_space() {
    LOG.push(
        7,
        "WARN",
        "zonda",
        "a line <b>of a test</b>, password: hunter2",
    );
    let open = config().with("adminspace/enabled", "true");
    let served = started_on(&open, router("{enabled: false}")).unwrap();
    let mut page = Page::open(&served);
    let told = page.log();
    let lines = told["lines"].as_array().unwrap();
    let line = { lines.iter() }.find(|line| line["at_ms"] == 7).unwrap();
    assert_eq!(line["text"], "a line <b>of a test</b>, password:…");
    // A later line comes once, and alone.
    LOG.push(8, "WARN", "zonda", "a later line");
    let later = page.log();
    let later = later["lines"].as_array().unwrap();
    assert!(later.iter().any(|line| line["text"] == "a later line"));
    assert!(later.iter().all(|line| line["at_ms"] != 7), "{later:?}");
    served.stop();
    // Without the admin space, and without the right to this key of it.
    let served = serve();
    let told = Page::open(&served).log();
    assert!(
        told["denied"].as_str().unwrap().contains("adminspace"),
        "{told}"
    );
    served.stop();
    let session = router(&denying("query", "@/*/*/log"));
    let served = started_on(&open, session).unwrap();
    let told = Page::open(&served).log();
    assert!(
        told["denied"].as_str().unwrap().contains("access_control"),
        "{told}"
    );
    assert_eq!(told["lines"], Value::Null);
    served.stop();
}
