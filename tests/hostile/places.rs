// SPDX-License-Identifier: MIT OR Apache-2.0
//! Addresses that are taken, closed, or missing: one line with the problem, the address, and a
//! hint.

use std::fmt::Display;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use zonda::{Config, Wait};

use crate::scene::{Scene, node, router, until};

/// Returns a port of this machine without a listener.
fn closed_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    listener.local_addr().expect("bound").port()
}

#[track_caller]
fn is_one_line_about(error: &impl Display, words: &[&str]) {
    let text = error.to_string();
    assert!(!text.contains('\n') && !text.ends_with('.'), "{text}");
    for word in words {
        assert!(text.contains(word), "{text:?} does not say {word:?}");
    }
}

#[test]
fn a_port_in_use() {
    let scene = Scene::open();
    let place = format!("tcp/{}", scene.address);
    let error = node(Config::router().listen([&place])).expect_err("the port is taken");
    is_one_line_about(&error, &[&place, "in use"]);
    let error = zonda::open(Config::peer().listen([&place]))
        .wait()
        .expect_err("the port is taken");
    is_one_line_about(&error, &[&place, "in use"]);
    scene.is_well();
}

#[test]
fn an_address_that_is_not_ours() {
    let error = node(Config::router().listen(["tcp/192.0.2.1:7447"])).expect_err("not ours");
    is_one_line_about(&error, &["tcp/192.0.2.1:7447"]);
}

#[test]
fn a_router_that_is_not_there() {
    let place = format!("tcp/127.0.0.1:{}", closed_port());
    let begin = Instant::now();
    let error = zonda::open(Config::client([&place]))
        .wait()
        .expect_err("nobody listens");
    assert!(begin.elapsed() < Duration::from_secs(10));
    is_one_line_about(&error, &[&place, "refused"]);
}

#[test]
fn a_name_that_nobody_has() {
    let place = "tcp/no-such-host.invalid:7447";
    let error = zonda::open(Config::client([place]))
        .wait()
        .expect_err("no such host");
    is_one_line_about(&error, &[place]);
}

#[test]
fn malformed_places_and_keys() {
    for place in [
        "tcp",
        "tcp/",
        "127.0.0.1:7447",
        "tcp/127.0.0.1:99999",
        "smoke/1.2.3.4:5",
    ] {
        let error = zonda::open(Config::client([place]))
            .wait()
            .expect_err(place);
        is_one_line_about(&error, &[place]);
    }
    let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"]))
        .wait()
        .expect("a peer");
    for key in ["", "/a", "a/", "a//b", "a#b", "a?b", "a$b"] {
        let error = session.put(key, "x").wait().expect_err(key).to_string();
        assert!(!error.contains('\n'), "{error}");
        assert!(session.declare_subscriber(key).wait().is_err());
        assert!(session.declare_publisher(key).wait().is_err());
    }
    let too_long = "k".repeat(65_536);
    assert!(session.put(&too_long, "x").wait().is_err());
    assert!(session.declare_subscriber(&too_long).wait().is_err());
    assert!(session.declare_publisher(&too_long).wait().is_err());
}

/// A program listens there that does not speak the protocol.
#[test]
fn a_stranger_in_the_routers_place() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let place = format!("tcp/{}", listener.local_addr().expect("bound"));
    let stranger = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the session");
        std::io::Write::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .expect("writable");
    });
    let error = zonda::open(Config::client([&place]))
        .wait()
        .expect_err("no router");
    is_one_line_about(&error, &[&place]);
    stranger.join().expect("no panic");
}

/// A router that cannot reach a neighbour opens nevertheless, and serves.
#[test]
fn a_neighbour_that_is_not_there() {
    let place = format!("tcp/127.0.0.1:{}", closed_port());
    let scene = Scene::of(router().connect([&place]));
    scene.is_well();
    let late = TcpListener::bind(place.trim_start_matches("tcp/")).expect("free again");
    late.set_nonblocking(true).expect("a socket");
    until("it is tried again", || late.accept().is_ok());
    scene.is_well();
}
