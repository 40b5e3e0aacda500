// SPDX-License-Identifier: MIT OR Apache-2.0

//! Events over HTTP, as browsers and as clients that never read get them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use zonda::{Config, Wait};

use crate::served::{SOON, Served, ask, count, started, until};

fn config() -> Config {
    Config::peer().with("services/http/listen", "'127.0.0.1:0'")
}

/// A client that reads its events.
struct Listener {
    reader: BufReader<TcpStream>,
    status: String,
}

impl Listener {
    fn open(served: &Served, path: &str, head: &str) -> Listener {
        let mut stream = TcpStream::connect(served.address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        let accept = "Accept: text/event-stream, */*";
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{accept}\r\n{head}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut status = String::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if line.trim().is_empty() {
                break;
            }
            status += &line;
        }
        Listener { reader, status }
    }

    /// Returns the lines of the next event, without the framing of HTTP.
    fn next(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            let length = self.reader.read_line(&mut line).unwrap();
            assert!(length > 0, "the stream has ended: {lines:?}");
            let line = line.trim_end().to_owned();
            let is_size = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_hexdigit());
            match line.as_str() {
                "" if lines.is_empty() => {}
                "" => return lines,
                _ if is_size => {}
                _ => lines.push(line),
            }
        }
    }
}

fn clients(served: &Served) -> u64 {
    count(served, "zonda_http_event_clients")
}

#[test]
fn publications_are_events_with_their_timestamps() {
    let served = started(&config()).unwrap();
    let mut listener = Listener::open(&served, "/demo/**", "");
    assert!(
        listener.status.starts_with("HTTP/1.1 200 "),
        "{}",
        listener.status
    );
    assert!(
        listener
            .status
            .contains("content-type: text/event-stream\r\n")
    );
    assert_eq!(listener.next(), ["retry: 2000"]);
    let json = served
        .session
        .put("demo/a", "{\"x\":\n1}")
        .encoding("application/json");
    json.wait().unwrap();
    served.session.delete("demo/a").wait().unwrap();
    let put = listener.next();
    let timestamp = put[1].strip_prefix("id: ").unwrap().to_owned();
    let data = format!(
        r#"data: {{"key":"demo/a","value":{{"x": 1}},"encoding":"application/json","timestamp":"{timestamp}"}}"#
    );
    assert_eq!(put, ["event: PUT", &format!("id: {timestamp}"), &data]);
    let delete = listener.next();
    assert_eq!(delete[0], "event: DELETE");
    assert!(delete[2].contains(r#""value":null"#), "{delete:?}");
    // A client that leaves is noticed, and its subscriber is gone.
    drop(listener);
    until("the client has left", || {
        served.session.put("demo/a", "x").wait().unwrap();
        clients(&served) == 0
    });
    served.stop();
}

#[test]
fn a_client_gets_the_state_first_if_it_asks_and_what_it_missed_when_it_returns() {
    let served = started(&config()).unwrap();
    let times: Vec<_> = (0..3).map(|_| served.session.new_timestamp()).collect();
    let stored = times.clone();
    let queryable = served.session.declare_queryable("demo/**");
    let queryable = queryable.callback(move |query| {
        for index in [2, 0, 1] {
            let key = format!("demo/{index}");
            query
                .reply(key, "old")
                .timestamp(stored[index])
                .wait()
                .unwrap();
        }
    });
    let _queryable = queryable.wait().unwrap();
    // The cache of an advanced publisher has the last one, too, and one of its own.
    let (own, shared) = (served.session.new_timestamp(), times[2]);
    let cache = served.session.declare_queryable("demo/2/@adv/pub/a1/1/_");
    let cache = cache.callback(move |query| {
        query
            .reply("demo/2", "old")
            .timestamp(shared)
            .wait()
            .unwrap();
        query
            .reply("demo/2", "older")
            .timestamp(own)
            .wait()
            .unwrap();
    });
    let _cache = cache.wait().unwrap();
    let ids = |path: &str, head: &str, number: usize| -> Vec<String> {
        let mut listener = Listener::open(&served, path, head);
        assert_eq!(listener.next(), ["retry: 2000"]);
        served.session.put("demo/new", "new").wait().unwrap();
        (0..number).map(|_| listener.next()[1].clone()).collect()
    };
    let known: Vec<String> = times.iter().map(|time| format!("id: {time}")).collect();
    assert_eq!(ids("/demo/**?_initial", "", 4)[..3], known);
    // The client has the first value already.
    let last = format!("Last-Event-ID: {}\r\n", times[0]);
    let missed = [known[1].clone(), known[2].clone(), format!("id: {own}")];
    assert_eq!(ids("/demo/**", &last, 4)[..3], missed);
    assert!(!known.contains(&ids("/demo/**", "Last-Event-ID: nonsense\r\n", 1)[0]));
    served.stop();
}

#[test]
fn a_client_that_never_reads_is_dropped_and_no_other_one_waits() {
    let served = started(&config().with("services/http/limits/event_bytes", "100000")).unwrap();
    let mut good = Listener::open(&served, "/demo/**", "");
    assert_eq!(good.next(), ["retry: 2000"]);
    let mut bad = TcpStream::connect(served.address).unwrap();
    bad.write_all(b"GET /demo/** HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
        .unwrap();
    until("both are here", || clients(&served) == 2);
    let value = "x".repeat(20_000);
    let begin = Instant::now();
    while count(&served, "zonda_http_event_clients_dropped_total") == 0 {
        let put = served
            .session
            .put("demo/a", value.as_str())
            .encoding("text/plain");
        put.wait().unwrap();
        assert!(good.next()[2].contains("xxx"), "the other one gets each");
        assert!(begin.elapsed() < SOON, "nothing is dropped");
    }
    until("one is left", || clients(&served) == 1);
    // Its connection ends once it has read what the system holds.
    bad.set_read_timeout(Some(SOON)).unwrap();
    let mut rest = Vec::new();
    let _ = bad.read_to_end(&mut rest);
    served
        .session
        .put("demo/a", "last")
        .encoding("text/plain")
        .wait()
        .unwrap();
    assert!(good.next()[2].contains("last"));
    served.stop();
}

#[test]
fn a_value_larger_than_the_bound_is_for_clients_that_wait() {
    let served = started(&config().with("services/http/limits/event_bytes", "1000")).unwrap();
    let mut listener = Listener::open(&served, "/demo/a", "");
    assert_eq!(listener.next(), ["retry: 2000"]);
    let value = "x".repeat(50_000);
    let put = served
        .session
        .put("demo/a", value.as_str())
        .encoding("text/plain");
    put.wait().unwrap();
    assert!(listener.next()[2].len() > 50_000);
    served.stop();
}

#[test]
fn clients_of_events_are_bounded_and_do_not_take_the_places_of_others() {
    let limits = config()
        .with("services/http/limits/event_clients", "20")
        .with("services/http/limits/connections", "2");
    let served = started(&limits).unwrap();
    let open: Vec<Listener> = (0..20)
        .map(|_| Listener::open(&served, "/demo/**", ""))
        .collect();
    assert!(
        open.iter()
            .all(|listener| listener.status.contains(" 200 "))
    );
    let refused = Listener::open(&served, "/demo/**", "Connection: close\r\n");
    assert!(refused.status.contains(" 503 "), "{}", refused.status);
    assert_eq!(count(&served, "zonda_http_errors_total{status=\"503\"}"), 1);
    // Requests have room, and a client that leaves makes some.
    assert_eq!(ask(&served, "GET /healthz", &[], "").status, 200);
    drop(open);
    until("all have left", || {
        served.session.put("demo/a", "x").wait().unwrap();
        clients(&served) == 0
    });
    until("a place is free", || {
        Listener::open(&served, "/demo/**", "")
            .status
            .contains(" 200 ")
    });
    served.stop();
}

#[test]
fn events_on_what_is_no_key_are_refused() {
    let served = started(&config()).unwrap();
    let accept = ["Accept: text/event-stream"];
    assert_eq!(ask(&served, "GET /demo//a", &accept, "").status, 400);
    assert_eq!(clients(&served), 0);
    served.stop();
}
