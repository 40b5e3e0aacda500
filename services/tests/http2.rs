// SPDX-License-Identifier: MIT OR Apache-2.0

//! HTTP/2: the same routes and limits, for clients that choose it.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Instant;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use zonda::{Config, Wait};
use zonda_services::http::{BODY_TIME, HEAD_TIME, STREAMS_MAX};

use crate::served::{SOON, Served, ask, count, started, until};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const BODY_BYTES: usize = 1000;

/// Kinds of frames.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;

/// Head of `GET /` on `localhost`.
const GET_HEAD: &[u8] = b"\x82\x86\x84\x41\x09localhost";

fn serve() -> Served {
    let config = Config::peer().with("services/http/listen", "'127.0.0.1:0'");
    let bytes = BODY_BYTES.to_string();
    let config = config.with("services/http/limits/body_bytes", &bytes);
    started(&config.with("services/http/limits/event_clients", "2")).unwrap()
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// Sends the preface and these frames; returns the kinds of frames that come until the end.
fn exchange(served: &Served, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    let mut writer = stream.try_clone().unwrap();
    let mut bytes = PREFACE.to_vec();
    bytes.extend(frame(SETTINGS, 0, 0, &[]));
    bytes.extend(frames.concat());
    let sender = std::thread::spawn(move || {
        // An error means that the server has ended the connection.
        let _ = writer.write_all(&bytes);
    });
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
    }
    sender.join().unwrap();
    let mut kinds = Vec::new();
    let mut rest = &answer[..];
    while let Some((head, after)) = rest.split_first_chunk::<9>() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        kinds.push(head[3]);
        rest = after.get(length as usize..).unwrap_or_default();
    }
    kinds
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(SOON, future).await.expect("in time") })
}

async fn connect(served: &Served) -> SendRequest<Body> {
    let stream = tokio::net::TcpStream::connect(served.address).await;
    let io = TokioIo::new(stream.unwrap());
    let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    sender
}

async fn send(
    to: &mut SendRequest<Body>,
    request: &str,
    headers: &[(&str, &str)],
    body: &'static [u8],
) -> Result<(StatusCode, HeaderMap, Bytes), hyper::Error> {
    let (method, path) = request.split_once(' ').unwrap();
    let mut request = Request::builder()
        .method(method)
        .uri(format!("http://localhost{path}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    to.ready().await?;
    let answer = to.send_request(request.body(body.into()).unwrap()).await?;
    let (head, body) = answer.into_parts();
    let body = to_bytes(Body::new(body), usize::MAX).await.unwrap();
    Ok((head.status, head.headers, body))
}

#[test]
fn requests_of_one_connection_have_the_answers_of_http_1() {
    let served = serve();
    let queryable = served.session.declare_queryable("demo/a");
    let queryable = queryable.callback(|query| {
        query.reply("demo/a", "hello").wait().unwrap();
    });
    let _queryable = queryable.wait().unwrap();
    run(async {
        let mut one = connect(&served).await;
        for (request, body, status, text) in [
            ("GET /healthz", &b""[..], 200, "ok\n"),
            ("GET /demo/a?_raw", b"", 200, "hello"),
            ("PUT /demo/b", b"value", 200, ""),
            ("DELETE /demo/b", b"", 200, ""),
            ("GET /demo//b", b"", 400, ""),
            ("PUT /demo/b", &[0; BODY_BYTES + 1], 413, ""),
        ] {
            let (code, _, got) = send(&mut one, request, &[], body).await.unwrap();
            assert_eq!(code.as_u16(), status, "{request}");
            assert!(text.is_empty() || got == text, "{request}: {got:?}");
        }
        let hosts = [("host", "evil.example"), ("origin", "http://evil.example")];
        for header in hosts {
            let (code, _, _) = send(&mut one, "GET /", &[header], b"").await.unwrap();
            assert_eq!(code, StatusCode::FORBIDDEN, "{header:?}");
        }
    });
    served.stop();
}

#[test]
fn each_stream_of_events_takes_a_place_and_frees_it() {
    let served = serve();
    run(async {
        let mut one = connect(&served).await;
        let events = |path: &str| {
            let request = Request::get(format!("http://localhost{path}"));
            let request = request.header("accept", "text/event-stream");
            request.body(Body::empty()).unwrap()
        };
        let first = one.send_request(events("/demo/a")).await.unwrap();
        let second = one.send_request(events("/demo/b")).await.unwrap();
        let third = one.send_request(events("/demo/c")).await.unwrap();
        assert_eq!(
            (first.status(), second.status()),
            (StatusCode::OK, StatusCode::OK)
        );
        assert_eq!(third.status(), StatusCode::SERVICE_UNAVAILABLE);
        drop((first, third));
        let gauge = || count(&served, "zonda_http_event_clients");
        while gauge() != 1 {
            tokio::task::yield_now().await;
        }
        let again = one.send_request(events("/demo/c")).await.unwrap();
        assert_eq!(again.status(), StatusCode::OK);
        drop((again, second));
        while gauge() != 0 {
            tokio::task::yield_now().await;
        }
        // The connection serves other requests.
        let (code, _, _) = send(&mut one, "GET /healthz", &[], b"").await.unwrap();
        assert_eq!(code, StatusCode::OK);
    });
    served.stop();
}

#[test]
fn what_is_wrong_on_purpose_ends_the_connection_with_a_counter() {
    let served = serve();
    let resets: Vec<Vec<u8>> = (0..5000_u32)
        .flat_map(|number| {
            let stream = 2 * number + 1;
            let cancel = frame(RESET, 0, stream, &8_u32.to_be_bytes());
            [frame(HEADERS, 5, stream, GET_HEAD), cancel]
        })
        .collect();
    // A head without an end.
    let endless = std::iter::once(frame(HEADERS, 1, 1, GET_HEAD))
        .chain((0..2000).map(|_| frame(CONTINUATION, 0, 1, &[0x0f, 0x00, 0x01, b'x'].repeat(100))))
        .collect();
    for (what, frames) in [
        ("rapid resets", resets),
        ("a head without an end", endless),
        ("a body before a head", vec![frame(DATA, 1, 1, b"x")]),
        ("an even stream", vec![frame(HEADERS, 5, 2, GET_HEAD)]),
        (
            "a head that is no HPACK",
            vec![frame(HEADERS, 5, 1, &[0xff; 30])],
        ),
        (
            "a frame that is too long",
            vec![frame(DATA, 1, 1, &[0; 70_000])],
        ),
    ] {
        let before = count(&served, "zonda_http_heads_refused_total");
        let kinds = exchange(&served, &frames);
        assert!(
            kinds.is_empty() || kinds.contains(&GOAWAY),
            "{what}: {kinds:?}"
        );
        until(what, || {
            count(&served, "zonda_http_heads_refused_total") > before
        });
        assert_eq!(ask(&served, "GET /healthz", &[], "").status, 200, "{what}");
    }
    served.stop();
}

#[test]
fn slow_beginnings_and_slow_bodies_end() {
    let served = serve();
    let begin = Instant::now();
    let mut part = TcpStream::connect(served.address).unwrap();
    part.set_read_timeout(Some(SOON)).unwrap();
    part.write_all(&PREFACE[..7]).unwrap();
    assert_eq!(part.read(&mut [0; 1]).unwrap_or(0), 0);
    assert!(begin.elapsed() < HEAD_TIME * 2);
    // A client that begins, and then neither asks nor answers.
    assert!(!exchange(&served, &[]).is_empty());
    // More requests than the limit wait for their bodies, which do not come.
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    let put = b"\x42\x03PUT\x86\x44\x02/a\x41\x09localhost";
    let mut bytes = PREFACE.to_vec();
    bytes.extend(frame(SETTINGS, 0, 0, &[]));
    bytes.extend((0..=STREAMS_MAX).flat_map(|n| frame(HEADERS, 4, 2 * n + 1, put)));
    let begin = Instant::now();
    stream.write_all(&bytes).unwrap();
    let (mut answered, mut refused) = (0, 0);
    while answered < STREAMS_MAX {
        let mut head = [0; 9];
        stream.read_exact(&mut head).unwrap();
        let length = usize::from(head[1]) << 8 | usize::from(head[2]);
        let mut payload = vec![0; length];
        stream.read_exact(&mut payload).unwrap();
        if head[3] == PING {
            stream.write_all(&frame(PING, 1, 0, &payload)).unwrap();
        }
        answered += u32::from(head[3] == HEADERS);
        refused += u32::from(head[3] == RESET && answered == 0);
    }
    assert_eq!(refused, 1, "the one above the limit");
    assert!(begin.elapsed() >= BODY_TIME);
    assert_eq!(
        count(&served, "zonda_http_errors_total{status=\"408\"}"),
        u64::from(STREAMS_MAX)
    );
    served.stop();
}

#[test]
fn curl_knows_the_protocol_beforehand() {
    let served = serve();
    let url = format!("http://127.0.0.1:{}/healthz", served.address.port());
    let mut curl = Command::new("curl");
    curl.args(["-sS", "--max-time", "20", "--http2-prior-knowledge"]);
    let Ok(output) = curl.args(["-w", "%{http_version}", &url]).output() else {
        return eprintln!("no curl here");
    };
    let error = String::from_utf8_lossy(&output.stderr);
    if error.contains("not support") || error.contains("unknown") {
        return eprintln!("curl has no HTTP/2");
    }
    assert_eq!(String::from_utf8_lossy(&output.stdout), "ok\n2", "{error}");
    served.stop();
}
