// SPDX-License-Identifier: MIT OR Apache-2.0

//! The metrics service, as scrapers and as hostile clients see it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use zonda::Config;
use zonda_services::http::{CONNECTIONS_MAX, HEAD_TIME};
use zonda_services::{StartError, start_all};

use crate::served::{SOON, Served, alone, exchange, get, started, status};

/// Number of slow clients; both ends are in this process, which may have 1024 descriptors.
const CLIENTS: usize = 400;

fn config(listen: &str) -> Config {
    Config::peer().with("services/metrics/listen", &format!("{listen:?}"))
}

fn serve() -> Served {
    started(&config("127.0.0.1:0")).unwrap()
}

#[test]
fn a_scraper_gets_well_formed_text_of_the_right_type() {
    let served = serve();
    let answer = get(served.address, "/metrics", "localhost");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert_eq!(status(head), "200");
    let kind = "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert!(head.contains(kind), "{head}");
    // Each family is declared before its samples, once, and samples follow in one block.
    let lines: Vec<&str> = body
        .strip_suffix("# EOF\n")
        .expect("an end")
        .lines()
        .collect();
    let mut families: Vec<(&str, &str)> = Vec::new();
    for line in &lines {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(
                families.iter().all(|(other, _)| *other != name),
                "{name} twice"
            );
            assert!(["counter", "gauge", "info"].contains(&kind), "{line}");
            families.push((name, kind));
            continue;
        }
        let (name, kind) = families.last().expect("a type comes first");
        if let Some(rest) = line.strip_prefix("# HELP ") {
            assert_eq!(rest.split(' ').next(), Some(*name));
            continue;
        }
        let suffix = match *kind {
            "counter" => "_total",
            "info" => "_info",
            _ => "",
        };
        let rest = line.strip_prefix(&format!("{name}{suffix}")).expect(line);
        assert!(rest.starts_with([' ', '{']), "{line}");
        assert!(
            line.rsplit(' ').next().unwrap().parse::<u64>().is_ok(),
            "{line}"
        );
    }
    assert!(families.len() > 10 && body.contains("zonda_http_requests_total 1\n"));
    assert!(get(served.address, "/", "[::1]:1").contains("/metrics"));
    served.stop();
}

/// HTTP/1.0, in which the answer is not in chunks.
#[test]
fn a_scraper_that_takes_gzip_gets_it() {
    let served = serve();
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    let request = b"GET /metrics HTTP/1.0\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n";
    stream.write_all(request).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap();
    let (head, body) = answer.split_at(end + 4);
    let head = std::str::from_utf8(head).unwrap();
    assert!(head.contains("content-encoding: gzip"), "{head}");
    let mut text = String::new();
    flate2::read::GzDecoder::new(body)
        .read_to_string(&mut text)
        .unwrap();
    assert!(
        text.ends_with("# EOF\n") && text.len() > 4 * body.len(),
        "{text}"
    );
    served.stop();
}

#[test]
fn wrong_requests_get_an_error_each() {
    let served = serve();
    let address = served.address;
    assert_eq!(status(&get(address, "/metric", "localhost")), "404");
    assert_eq!(status(&get(address, "/metrics", "evil.example")), "403");
    let post = b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";
    assert_eq!(status(&exchange(address, post)), "405");
    let large = b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\nConnection: close\r\n\r\n";
    assert_eq!(status(&exchange(address, large)), "413");
    let giant = format!(
        "GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n",
        "x".repeat(1 << 20)
    );
    assert!(["431", "none"].contains(&status(&exchange(address, giant.as_bytes()))));
    assert!(["400", "none"].contains(&status(&exchange(address, b"\x16\x03\x01 no HTTP\r\n\r\n"))));
    assert_eq!(status(&get(address, "/metrics", "127.0.0.1")), "200");
    served.stop();
}

#[test]
fn names_of_the_configuration_are_known() {
    let config = config("127.0.0.1:0").with("services/metrics/hosts", r#"["router.lan"]"#);
    let served = started(&config).unwrap();
    assert_eq!(status(&get(served.address, "/", "router.lan:9090")), "200");
    assert_eq!(status(&get(served.address, "/", "other.lan")), "403");
    served.stop();
}

#[test]
fn slow_and_many_clients_leave_room_for_others_in_bounded_time() {
    let served = serve();
    let begin = Instant::now();
    let slow: Vec<TcpStream> = (0..CLIENTS)
        .filter_map(|_| {
            let mut stream = TcpStream::connect(served.address).ok()?;
            // An error means that the server has closed it already.
            let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\n");
            Some(stream)
        })
        .collect();
    // The server drops the slow ones after the limit for heads, and serves again.
    while status(&get(served.address, "/", "localhost")) != "200" {
        assert!(begin.elapsed() < HEAD_TIME + SOON, "no room");
        std::thread::yield_now();
    }
    let text = get(served.address, "/metrics", "localhost");
    let refused = text.lines().find_map(|line| {
        let count = line.strip_prefix("zonda_http_connections_refused_total ")?;
        count.parse::<usize>().ok()
    });
    assert!(refused.expect("a counter") >= slow.len() - CONNECTIONS_MAX);
    let slow_heads = text.lines().find_map(|line| {
        let count = line.strip_prefix("zonda_http_heads_refused_total ")?;
        count.parse::<usize>().ok()
    });
    assert!(slow_heads.expect("a counter") >= 1);
    drop(slow);
    served.stop();
}

#[test]
fn it_stops_at_once_while_clients_wait_and_frees_its_port() {
    let served = serve();
    let address = served.address;
    let mut open = TcpStream::connect(address).unwrap();
    open.write_all(b"GET / HTTP/1.1\r\n").unwrap();
    let begin = Instant::now();
    served.stop();
    assert!(begin.elapsed() < HEAD_TIME, "{:?}", begin.elapsed());
    open.set_read_timeout(Some(SOON)).unwrap();
    assert!(matches!(open.read(&mut [0]), Ok(0) | Err(_)));
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn a_port_that_is_taken_is_an_error_unless_the_service_is_not_required() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let error = started(&config(&listen)).err().expect("it is taken");
    let text = error.to_string();
    assert!(matches!(error, StartError::System(_)), "{text}");
    assert!(
        text.contains(&format!("cannot listen on {listen}")),
        "{text}"
    );
    let lenient = config(&listen).with("services/metrics/__required__", "false");
    let none = start_all(&lenient, || Ok::<_, zonda::Error>(alone()), None).unwrap();
    assert!(none.is_empty());
    let wrong = started(&config("9090")).err().expect("no address");
    assert!(matches!(wrong, StartError::Config(_)), "{wrong}");
}
