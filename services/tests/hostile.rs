// SPDX-License-Identifier: MIT OR Apache-2.0

//! Requests that are wrong on purpose: each gets a status and a counter, and later ones are served.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use zonda::Config;
use zonda_services::http::BODY_TIME;

use crate::served::{SOON, Served, ask, count, exchange, started, status, until};

fn serve() -> Served {
    let config = Config::peer().with("services/http/listen", "'127.0.0.1:0'");
    started(&config.with("services/http/limits/body_bytes", "1000")).unwrap()
}

/// Returns the statuses of all answers to these bytes.
fn statuses(served: &Served, bytes: &str) -> Vec<String> {
    let text = exchange(served.address, bytes.as_bytes());
    let parts = text.split("HTTP/1.1 ").skip(1);
    let statuses = parts.map(|part| part.get(..3).unwrap_or("").to_owned());
    statuses.collect()
}

#[test]
fn two_lengths_or_two_framings_are_refused() {
    let served = serve();
    let hidden = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    for lines in [
        "Content-Length: 4\r\nContent-Length: 5\r\n",
        "Content-Length: 4, 5\r\n",
        "Content-Length: +4\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 0x4\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Content-Length: 4\r\n folded: x\r\n",
        "X: a\0b\r\n",
        ": no name\r\n",
    ] {
        let request = format!("PUT /demo/a HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n");
        let got = statuses(&served, &format!("{request}0\r\n\r\n{hidden}"));
        assert_eq!(got, ["400"], "{lines:?}");
    }
    // The length is not looked at beside chunks, and the connection ends behind the request.
    for lines in [
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
    ] {
        let request = format!("PUT /demo/a HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n");
        let got = statuses(&served, &format!("{request}0\r\n\r\n{hidden}"));
        assert_eq!(got, ["200"], "{lines:?}");
    }
    assert!(count(&served, "zonda_http_heads_refused_total") >= 8);
    served.stop();
}

#[test]
fn wrong_chunks_are_refused() {
    let served = serve();
    for body in [
        "zz\r\n",
        "fffffffffffffffffff\r\nx",
        "5\r\nhello!!\r\n0\r\n\r\n",
        "-5\r\nhello\r\n",
    ] {
        let head = "PUT /demo/a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
        let got = statuses(&served, &format!("{head}{body}"));
        assert!(
            got.is_empty() || got == ["400"] || got == ["413"],
            "{body:?}: {got:?}"
        );
    }
    let good = "PUT /demo/a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    assert_eq!(statuses(&served, good), ["200"]);
    served.stop();
}

#[test]
fn what_is_no_request_line_gets_an_error() {
    let served = serve();
    for bytes in [
        "GET /demo/a\r\n\r\n",
        "GET /demo/a HTTP/0.9\r\n\r\n",
        "GET /demo/a HTTP/3.0\r\n\r\n",
        "GET  /demo/a HTTP/1.1\r\n\r\n",
        "GET /a b HTTP/1.1\r\n\r\n",
        "G\u{7f}T /a HTTP/1.1\r\n\r\n",
        "\r\n\r\n\r\n\u{0}",
        "\u{16}\u{3}\u{1} a handshake of TLS\r\n\r\n",
    ] {
        let got = statuses(&served, bytes);
        assert!(got.is_empty() || got == ["400"], "{bytes:?}: {got:?}");
    }
    // Without the name of a host, or with two.
    assert_eq!(statuses(&served, "GET /a HTTP/1.0\r\n\r\n").len(), 0);
    for (request, head) in [
        ("GET /demo/a", &["Host: evil.example"][..]),
        ("GET http://evil.example/demo/a", &[]),
        ("GET /demo/a", &["Host: localhost", "Host: localhost"]),
    ] {
        assert_eq!(
            ask(&served, request, head, "").status,
            403,
            "{request} {head:?}"
        );
    }
    assert_eq!(count(&served, "zonda_http_errors_total{status=\"403\"}"), 4);
    served.stop();
}

#[test]
fn heads_that_are_too_large_are_refused() {
    let served = serve();
    let long = "x".repeat(1 << 20);
    let many = "X: y\r\n".repeat(200);
    for request in [
        format!("GET /{long} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        format!("GET /a HTTP/1.1\r\nHost: localhost\r\nX: {long}\r\n\r\n"),
        format!("GET /a HTTP/1.1\r\nHost: localhost\r\n{many}\r\n"),
        long.clone(),
    ] {
        let got = statuses(&served, &request);
        let is_refused = got.is_empty() || ["400", "414", "431"].contains(&got[0].as_str());
        assert!(is_refused, "{got:?}");
    }
    served.stop();
}

#[test]
fn keys_that_are_none_and_tricks_with_paths_get_400() {
    let served = serve();
    let wrong = [
        "//",
        "/demo/",
        "//demo",
        "/demo//a",
        "/a/../b",
        "/a/%2e%2E/b",
        "/./a",
        "/demo/%",
        "/demo/%4",
        "/demo/%zz",
        "/demo/%ff",
        "/demo/%c0%ae",
        "/a%23b",
        "/a%3Fb",
        "/a$b",
        "/**/**",
        "/a**",
        "/a?x=%zz",
        "/a?%ff",
        "*",
    ];
    for path in wrong {
        for request in [
            format!("GET {path}"),
            format!("PUT {path}"),
            format!("DELETE {path}"),
        ] {
            let answer = ask(&served, &request, &[], "");
            assert_eq!(answer.status, 400, "{request}");
            // One line, whatever the key.
            assert_eq!(answer.body.lines().count(), 1, "{request}: {}", answer.body);
        }
    }
    let lines = ask(&served, "GET /a%0d%0aSet-Cookie:%20x$", &[], "");
    assert_eq!((lines.status, lines.body.lines().count()), (400, 1));
    assert!(!lines.head.contains("set-cookie"), "{}", lines.head);
    let errors = count(&served, "zonda_http_errors_total{status=\"400\"}");
    assert_eq!(errors, wrong.len() as u64 * 3 + 1);
    served.stop();
}

#[test]
fn bodies_and_methods_that_are_not_taken_have_their_statuses() {
    let served = serve();
    let (long, kind) = (
        "x".repeat(1001),
        format!("Content-Type: a/{}", "b".repeat(300)),
    );
    assert_eq!(ask(&served, "PUT /demo/a", &[], &long).status, 413);
    assert_eq!(ask(&served, "GET /demo/a", &[], &long).status, 413);
    let chunked = ["Transfer-Encoding: chunked"];
    let head = "PUT /demo/a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    let endless = format!("{head}{}\r\n\r\n3e9\r\n{long}\r\n0\r\n\r\n", chunked[0]);
    assert_eq!(statuses(&served, &endless), ["413"]);
    assert_eq!(
        ask(&served, "PUT /demo/a", &["Content-Encoding: gzip"], "x").status,
        415
    );
    assert_eq!(ask(&served, "PUT /demo/a", &[&kind], "x").status, 400);
    for method in ["TRACE", "CONNECT", "PROPFIND"] {
        let answer = ask(&served, &format!("{method} /demo/a"), &[], "");
        assert!([400, 405].contains(&answer.status), "{method}: {answer:?}");
    }
    assert_eq!(
        ask(&served, "PUT /demo/a", &[], &"x".repeat(1000)).status,
        200
    );
    served.stop();
}

#[test]
fn bodies_that_come_slowly_have_a_bound_together() {
    let config = Config::peer().with("services/http/listen", "'127.0.0.1:0'");
    let large = 40 << 20;
    let config = config.with("services/http/limits/body_bytes", &large.to_string());
    let served = started(&config).unwrap();
    let begin = |length: usize| {
        let mut client = TcpStream::connect(served.address).unwrap();
        let head = "PUT /demo/a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
        let head = format!("{head}Content-Length: {length}\r\n\r\nx");
        client.write_all(head.as_bytes()).unwrap();
        client
    };
    let held = [begin(large), begin(large)];
    until("one of them is refused", || {
        count(&served, "zonda_http_errors_total{status=\"503\"}") == 1
    });
    assert_eq!(ask(&served, "PUT /demo/a", &[], "small").status, 200);
    drop(held);
    served.stop();
}

#[test]
fn a_body_that_does_not_come_ends_with_408_and_requests_behind_each_other_are_answered() {
    let served = serve();
    let mut slow = TcpStream::connect(served.address).unwrap();
    slow.set_read_timeout(Some(BODY_TIME + SOON)).unwrap();
    let begin = Instant::now();
    slow.write_all(b"PUT /demo/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhell")
        .unwrap();
    // Several requests on another connection are answered while it waits.
    let one = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let last = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let got = statuses(&served, &format!("{}{last}", one.repeat(50)));
    assert_eq!(got, vec!["200"; 51]);
    let mut answer = [0; 64];
    let length = slow.read(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer[..length]);
    assert_eq!(status(&answer), "408", "{answer}");
    assert!(begin.elapsed() >= BODY_TIME, "{:?}", begin.elapsed());
    served.stop();
}
