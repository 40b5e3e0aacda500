// SPDX-License-Identifier: MIT OR Apache-2.0

//! Keys over HTTP: queries, publications, and what browsers and curl get.

use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use zonda::sample::{Sample, SampleKind};
use zonda::{Config, Wait};
use zonda_services::StartError;

use crate::served::{SOON, Served, ask, started};

fn config() -> Config {
    Config::peer().with("services/http/listen", "'127.0.0.1:0'")
}

fn serve() -> Served {
    started(&config()).unwrap()
}

/// Subscribes to a key in the session of the node.
fn samples(served: &Served, key: &str) -> Receiver<Sample> {
    let (sender, receiver) = channel();
    let subscriber = served.session.declare_subscriber(key.to_owned());
    let subscriber = subscriber.callback(move |sample| drop(sender.send(sample)));
    subscriber.background().wait().unwrap();
    receiver
}

/// Answers each query on a key with values on these keys.
fn answering(
    served: &Served,
    key: &str,
    values: &'static [(&'static str, &'static str, &'static str)],
) {
    let queryable = served.session.declare_queryable(key.to_owned());
    let mut queryable = queryable
        .callback(move |query| {
            for (key, value, encoding) in values {
                let reply = query.reply(*key, *value).encoding(*encoding);
                // An error means that the query does not ask for this key.
                let _ = reply.wait();
            }
        })
        .wait()
        .unwrap();
    queryable.set_background(true);
}

#[test]
fn put_patch_and_delete_publish() {
    let served = serve();
    let got = samples(&served, "demo/**");
    for (request, head, body) in [
        (
            "PUT /demo/a",
            &["Content-Type: Text/Plain; charset=utf-8"][..],
            "hello",
        ),
        ("PATCH /demo/a%20b", &["Content-Type: my/own"], "{}"),
        ("PUT /demo/none", &[], ""),
        ("DELETE /demo/a", &[], ""),
    ] {
        let answer = ask(&served, request, head, body);
        assert_eq!(
            (answer.status, answer.body.as_str()),
            (200, ""),
            "{request}"
        );
    }
    let shown = |sample: Sample| {
        let payload = sample.payload().try_to_string().unwrap().into_owned();
        let (kind, encoding) = (sample.kind(), sample.encoding().to_string());
        (kind, sample.key_expr().to_string(), payload, encoding)
    };
    for (kind, key, payload, encoding) in [
        (
            SampleKind::Put,
            "demo/a",
            "hello",
            "text/plain;charset=utf-8",
        ),
        (SampleKind::Put, "demo/a b", "{}", "my/own"),
        (SampleKind::Put, "demo/none", "", "zenoh/bytes"),
        (SampleKind::Delete, "demo/a", "", "zenoh/bytes"),
    ] {
        let expected = (
            kind,
            key.to_owned(),
            payload.to_owned(),
            encoding.to_owned(),
        );
        assert_eq!(shown(got.recv_timeout(SOON).unwrap()), expected);
    }
    served.stop();
}

#[test]
fn a_get_is_a_query_whose_replies_are_json() {
    let served = serve();
    answering(
        &served,
        "demo/**",
        &[
            ("demo/a", "hello", "text/plain"),
            ("demo/b", "{\"x\": [1, 2]}", "application/json"),
            ("demo/c", "raw", "zenoh/bytes"),
        ],
    );
    let answer = ask(&served, "GET /demo/**", &[], "");
    assert_eq!(answer.status, 200);
    assert!(
        answer.head.contains("content-type: application/json\r\n"),
        "{}",
        answer.head
    );
    let mut items: Vec<serde_json::Value> = serde_json::from_str(&answer.body).unwrap();
    items.sort_by_key(|item| item["key"].to_string());
    assert_eq!(
        serde_json::Value::from(items),
        serde_json::json!([
            {"key": "demo/a", "value": "hello", "encoding": "text/plain", "timestamp": null},
            {"key": "demo/b", "value": {"x": [1, 2]}, "encoding": "application/json", "timestamp": null},
            {"key": "demo/c", "value": "cmF3", "encoding": "zenoh/bytes", "timestamp": null},
        ])
    );
    let one = r#"[{"key":"demo/a","value":"hello","encoding":"text/plain","timestamp":null}]"#;
    assert_eq!(ask(&served, "GET /demo/a", &[], "").body, one);
    let nothing = ask(&served, "GET /other", &[], "");
    assert_eq!((nothing.status, nothing.body.as_str()), (200, "[]"));
    // The head alone.
    let head = ask(&served, "HEAD /demo/a", &[], "");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    served.stop();
}

#[test]
fn a_query_has_the_parameters_and_the_body_of_its_request() {
    let served = serve();
    let (sender, asked) = channel();
    let queryable = served.session.declare_queryable("demo/ask");
    let _queryable = queryable
        .callback(move |query| {
            let payload = query
                .payload()
                .map(|p| p.try_to_string().unwrap().into_owned());
            let encoding = query.encoding().map(ToString::to_string);
            let parameters = query.parameters().as_str().to_owned();
            sender.send((parameters, payload, encoding)).unwrap();
        })
        .wait()
        .unwrap();
    let text = |text: &str| Some(text.to_owned());
    for (request, head, body, expected) in [
        (
            "GET /demo/ask?a=1&b=2;c=%5B3%5D",
            &[][..],
            "",
            ("a=1&b=2;c=[3]", None, None),
        ),
        (
            "GET /demo/ask",
            &["Content-Type: text/plain"],
            "x",
            ("", text("x"), text("text/plain")),
        ),
        (
            "POST /demo/ask?_raw",
            &[],
            "y",
            ("_raw", text("y"), text("zenoh/bytes")),
        ),
    ] {
        assert_eq!(ask(&served, request, head, body).status, 200, "{request}");
        let (parameters, payload, encoding) = expected;
        let expected = (parameters.to_owned(), payload, encoding);
        assert_eq!(asked.recv_timeout(SOON).unwrap(), expected, "{request}");
    }
    served.stop();
}

#[test]
fn raw_is_the_one_value_itself_or_a_list_to_choose_from() {
    let served = serve();
    const PAGE: &str = "<script>alert(1)</script>";
    answering(&served, "one", &[("one", PAGE, "text/html;charset=utf-8")]);
    answering(
        &served,
        "two/*",
        &[("two/a", "a", "text/plain"), ("two/b", "b", "my own")],
    );
    let error = served.session.declare_queryable("error");
    let _error =
        error.callback(|query| query.reply_err("no").encoding("text/plain").wait().unwrap());
    let _error = _error.wait().unwrap();
    let one = ask(&served, "GET /one?_raw", &[], "");
    assert_eq!((one.status, one.body.as_str()), (200, PAGE));
    for line in [
        "content-type: text/html;charset=utf-8\r\n",
        "content-security-policy: sandbox\r\n",
        "x-content-type-options: nosniff\r\n",
    ] {
        assert!(one.head.contains(line), "{}", one.head);
    }
    let two = ask(&served, "GET /two/**?_raw", &[], "");
    let list: Vec<serde_json::Value> = serde_json::from_str(&two.body).unwrap();
    assert_eq!((two.status, list.len()), (300, 2));
    // An encoding that is no media type is no content type.
    let own = ask(&served, "GET /two/b?x;_raw", &[], "");
    assert_eq!((own.status, own.body.as_str()), (200, "b"));
    assert!(!own.head.contains("\ncontent-type:"), "{}", own.head);
    let failed = ask(&served, "GET /error?_raw", &[], "");
    assert_eq!((failed.status, failed.body.as_str()), (500, "no"));
    let listed = ask(&served, "GET /error", &[], "");
    let text = r#"[{"key":"ERROR","value":"no","encoding":"text/plain","timestamp":null}]"#;
    assert_eq!((listed.status, listed.body.as_str()), (200, text));
    let none = ask(&served, "GET /none?_raw", &[], "");
    assert_eq!((none.status, none.body.as_str()), (200, ""));
    let kind = "content-type: application/octet-stream";
    assert!(none.head.contains(kind), "{}", none.head);
    served.stop();
}

#[test]
fn nothing_of_a_key_or_a_value_is_markup() {
    let served = serve();
    answering(
        &served,
        "x/**",
        &[("x/<b>&", "<script>\"'</script>", "text/html")],
    );
    let head = ["Accept: text/html,application/xhtml+xml;q=0.9"];
    let answer = ask(&served, "GET /x/**", &head, "");
    let html = "<dl>\n<dt>x/&lt;b&gt;&amp;</dt>\n<dd>&lt;script&gt;&quot;&#39;&lt;/script&gt;</dd>\n</dl>\n";
    assert_eq!((answer.status, answer.body.as_str()), (200, html));
    assert!(
        answer
            .head
            .contains("content-security-policy: default-src 'none'; sandbox")
    );
    served.stop();
}

#[test]
fn local_is_this_node() {
    let served = serve();
    let zid = served.session.zid();
    let queryable = served.session.declare_queryable(format!("@/{zid}/test"));
    let queryable = queryable.callback(|query| {
        query
            .reply(query.key_expr().clone(), "here")
            .wait()
            .unwrap();
    });
    let _queryable = queryable.wait().unwrap();
    assert_eq!(ask(&served, "GET /@/local/test?_raw", &[], "").body, "here");
    served.stop();
}

#[test]
fn a_large_answer_ends_at_its_limit() {
    let served = started(&config().with("services/http/limits/answer_bytes", "100000")).unwrap();
    let value: Arc<str> = "x".repeat(1000).into();
    let queryable = served.session.declare_queryable("big/**");
    let queryable = queryable.callback(move |query| {
        for i in 0..1000 {
            // An error means that the query has been ended.
            let _ = query.reply(format!("big/{i}"), &*value).wait();
        }
    });
    let _queryable = queryable.wait().unwrap();
    let answer = ask(&served, "GET /big/**", &[], "");
    assert_eq!(answer.status, 500);
    assert!(answer.body.contains("answer_bytes"), "{}", answer.body);
    served.stop();
}

#[test]
fn probes_and_counters_are_here_and_the_root_is_no_key() {
    let served = serve();
    assert_eq!(ask(&served, "GET /healthz", &[], "").body, "ok\n");
    assert_eq!(ask(&served, "GET /readyz", &[], "").body, "ready\n");
    assert!(
        ask(&served, "GET /metrics", &[], "")
            .body
            .ends_with("# EOF\n")
    );
    let plain = ask(&served, "GET /metrics", &["Accept: text/plain"], "");
    assert!(
        plain
            .head
            .contains("content-type: text/plain; version=0.0.4"),
        "{}",
        plain.head
    );
    assert!(
        plain
            .body
            .contains("# TYPE zonda_http_requests_total counter\n")
    );
    assert!(ask(&served, "GET /", &[], "").body.contains("/metrics"));
    assert_eq!(ask(&served, "PUT /", &[], "x").status, 405);
    served.session.close().wait().unwrap();
    assert_eq!(ask(&served, "GET /readyz", &[], "").status, 503);
    assert_eq!(ask(&served, "PUT /demo/a", &[], "x").status, 500);
    assert_eq!(ask(&served, "GET /demo/a", &[], "").status, 500);
    served.stop();
}

#[test]
fn pages_of_listed_origins_may_use_it_and_no_others() {
    let config = config().with("services/http/cors/origins", "['https://app.example']");
    let served = started(&config).unwrap();
    let app = "Origin: https://app.example";
    let preflight = [
        app,
        "Access-Control-Request-Method: PUT",
        "Access-Control-Request-Headers: content-type",
    ];
    let answer = ask(&served, "OPTIONS /demo/a", &preflight, "");
    assert_eq!(answer.status, 200);
    for line in [
        "access-control-allow-origin: https://app.example\r\n",
        "access-control-allow-methods: get,head,post,put,patch,delete\r\n",
        "content-type",
    ] {
        assert!(answer.head.contains(line), "{}", answer.head);
    }
    let put = ask(&served, "PUT /demo/a", &[app], "x");
    assert_eq!(put.status, 200);
    assert!(
        put.head
            .contains("access-control-allow-origin: https://app.example\r\n")
    );
    let evil = ["Origin: https://evil.example"];
    assert_eq!(ask(&served, "POST /demo/a", &evil, "x").status, 403);
    assert_eq!(ask(&served, "OPTIONS /demo/a", &evil, "").status, 403);
    served.stop();
}

#[cfg(unix)]
fn private_file(name: &str, text: &str) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = std::env::temp_dir().join(format!("zonda-{name}-{}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    path
}

#[cfg(unix)]
#[test]
fn only_those_with_credentials_are_served_but_probes_need_none() {
    let (users, tokens) = (
        private_file("users", "bob:secret\n"),
        private_file("tokens", "t0ken\n"),
    );
    let secured = config()
        .with("services/http/auth/dictionary_file", &format!("{users:?}"))
        .with("services/http/auth/token_file", &format!("{tokens:?}"));
    let served = started(&secured).unwrap();
    let refused = ask(&served, "GET /demo/a", &[], "");
    assert_eq!(refused.status, 401);
    assert!(
        refused.head.contains("www-authenticate: basic"),
        "{}",
        refused.head
    );
    for (credentials, status) in [
        ("Authorization: Basic Ym9iOnNlY3JldA==", 200),
        ("Authorization: Bearer t0ken", 200),
        ("Authorization: Basic Ym9iOndyb25n", 401),
        ("Authorization: Bearer secret", 401),
    ] {
        let answer = ask(&served, "PUT /demo/a", &[credentials], "x");
        assert_eq!(answer.status, status, "{credentials}");
    }
    assert_eq!(ask(&served, "GET /metrics", &[], "").status, 401);
    assert_eq!(ask(&served, "GET /healthz", &[], "").status, 200);
    assert_eq!(ask(&served, "GET /%68ealthz", &[], "").status, 401);
    served.stop();
    // A file that others may read is refused.
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&users, std::fs::Permissions::from_mode(0o644)).unwrap();
    let error = started(&secured).err().expect("others may read it");
    assert!(error.to_string().contains("dictionary_file"), "{error}");
    std::fs::remove_file(&users).unwrap();
    std::fs::remove_file(&tokens).unwrap();
}

#[test]
fn it_does_not_listen_openly_unless_it_is_told_to() {
    let open = config().with("services/http/listen", "'0.0.0.0:0'");
    let error = started(&open).err().expect("it is open");
    assert!(matches!(error, StartError::Config(_)), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("services/http/auth") && !text.contains('\n'),
        "{text}"
    );
    let told = open.with("services/http/open", "true");
    assert_eq!(zonda_services::warnings(&told).len(), 1);
    started(&told).unwrap().stop();
    assert!(zonda_services::warnings(&config()).is_empty());
}

#[test]
fn curl_speaks_with_it() {
    let served = serve();
    answering(&served, "demo/a", &[("demo/a", "hello", "text/plain")]);
    let got = samples(&served, "demo/a");
    let base = format!("http://127.0.0.1:{}", served.address.port());
    let curl = |arguments: &[&str]| {
        let mut command = Command::new("curl");
        command.args(["-sS", "--max-time", "20"]).args(arguments);
        command.output().ok()
    };
    let url = format!("{base}/demo/a");
    let Some(output) = curl(&[
        "-X",
        "PUT",
        "-H",
        "content-type: text/plain",
        "-d",
        "hello",
        &url,
    ]) else {
        return eprintln!("SKIPPED: there is no curl on this machine");
    };
    assert!(
        output.status.success() && output.stdout.is_empty(),
        "{output:?}"
    );
    let sample = got.recv_timeout(SOON).unwrap();
    assert_eq!(sample.encoding().to_string(), "text/plain");
    let raw = curl(&[&format!("{url}?_raw")]).unwrap();
    assert_eq!(raw.stdout, b"hello");
    let json = curl(&[&url]).unwrap();
    let one = r#"[{"key":"demo/a","value":"hello","encoding":"text/plain","timestamp":null}]"#;
    assert_eq!(String::from_utf8(json.stdout).unwrap(), one);
    // A body that curl announces with Expect: 100-continue.
    let large = "x".repeat(2 << 20);
    let file = std::env::temp_dir().join(format!("zonda-curl-{}", std::process::id()));
    std::fs::write(&file, &large).unwrap();
    let upload = curl(&["-T", file.to_str().unwrap(), &url]).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(upload.status.success(), "{upload:?}");
    assert_eq!(got.recv_timeout(SOON).unwrap().payload().len(), large.len());
    served.stop();
}

#[cfg(feature = "https")]
#[test]
fn https_shows_the_certificate_of_the_node() {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let folder = std::env::temp_dir().join(format!("zonda-https-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (certificate, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    std::fs::write(&certificate, certified.cert.pem()).unwrap();
    std::fs::write(&key, certified.signing_key.serialize_pem()).unwrap();
    let without = config().with("services/http/tls", "true");
    let error = started(&without).err().expect("no certificate");
    assert!(error.to_string().contains("listen_certificate"), "{error}");
    let secured = without
        .with(
            "transport/link/tls/listen_certificate",
            &format!("{certificate:?}"),
        )
        .with("transport/link/tls/listen_private_key", &format!("{key:?}"));
    let served = started(&secured).unwrap();
    assert!(served.running[0].status().starts_with("HTTPS on "));
    let port = served.address.port();
    for (protocol, text) in [("--http1.1", "ok\n1.1"), ("--http2", "ok\n2")] {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--max-time", "20", protocol, "--cacert"])
            .arg(&certificate);
        curl.arg(format!("https://localhost:{port}/healthz"));
        curl.args(["--resolve", &format!("localhost:{port}:127.0.0.1")]);
        curl.args(["-w", "%{http_version}"]);
        match curl.output() {
            Ok(output) => assert_eq!(output.stdout, text.as_bytes(), "{output:?}"),
            Err(_) => eprintln!("SKIPPED: there is no curl on this machine"),
        }
    }
    // A client without TLS gets no answer.
    assert_eq!(ask(&served, "GET /healthz", &[], "").status, 0);
    served.stop();
    std::fs::remove_dir_all(&folder).unwrap();
}
