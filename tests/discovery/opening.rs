// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conditions that `open` waits for.

use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

use zonda::config::WhatAmI;
use zonda::{Config, Wait};

use crate::namespace::{Network, inside};
use crate::scene::{Tally, endpoint, linked, open, peer, router, told, until};

/// Returns an endpoint that accepts connections and never sends anything.
fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let at = listener.local_addr().expect("its address");
    (listener, format!("tcp/{at}"))
}

#[test]
fn a_peer_returns_with_its_first_link_not_with_all() {
    let alive = open(told(peer()));
    let (_held, silent) = silent();
    for role in [WhatAmI::Peer, WhatAmI::Router] {
        for endpoints in [[&silent, &endpoint(&alive)], [&endpoint(&alive), &silent]] {
            // if it waited for both endpoints, it would wait for this one
            let config = told(peer()).with_mode(role).with("scouting/delay", "60000");
            let session = open(config.connect(endpoints));
            assert!(linked(&session).contains(&alive.zid()));
            until("one is tried on", || session.info().unreached().len() == 1);
            session.close().wait().expect("it closes");
        }
    }
}

#[test]
fn an_open_peer_has_heard_what_the_other_declared() {
    let other = open(told(peer()));
    let _all: Vec<_> = (0..500)
        .map(|n| other.declare_subscriber(format!("all/{n}")).wait())
        .collect();
    let config = told(peer()).with("scouting/delay", "60000");
    let session = open(config.connect([endpoint(&other)]));
    let matches = |key: String| {
        let publisher = session.declare_publisher(key).wait().expect("it is open");
        let status = publisher.matching_status().wait().unwrap();
        status.matching()
    };
    assert!(matches("all/499".into()), "known as soon as it is open");
    assert!(!matches("all/500".into()), "and nothing is guessed");
}

#[test]
fn nothing_is_awaited_where_nothing_can_come() {
    let begin = Instant::now();
    let delay = Duration::from_secs(60);
    for config in [Config::peer(), Config::router()] {
        let config = told(config.listen(["tcp/127.0.0.1:0"])).with("scouting/delay", "60000");
        open(config);
    }
    let (_held, silent) = silent();
    let impatient = told(peer())
        .with("scouting/delay", "60000")
        .with("open/return_conditions/connect_scouted", "false");
    open(impatient.connect([&silent]));
    assert!(begin.elapsed() < delay, "it waited");
}

#[test]
fn what_is_impossible_is_refused_with_the_configuration() {
    for (key, value, word) in [
        (
            "scouting/multicast/address",
            "'10.0.0.1:7446'",
            "multicast address",
        ),
        (
            "scouting/multicast/address",
            "'224.0.0.224'",
            "multicast address",
        ),
        (
            "scouting/multicast/autoconnect_strategy",
            "'never'",
            "greater-zid",
        ),
        (
            "scouting/gossip/autoconnect_strategy",
            "{peer: {to_boss: 'always'}}",
            "to_boss",
        ),
        ("scouting/gossip/target", "['client']", "router and peer"),
    ] {
        let config = told(peer()).with(key, value);
        let error = zonda::open(config).wait().expect_err(value).to_string();
        assert!(error.contains(key) && error.contains(word), "{error}");
    }
}

#[test]
fn a_short_delay_is_all_that_is_waited_for_nobody() {
    let (_held, silent) = silent();
    let session = open(told(peer()).with("scouting/delay", "1").connect([&silent]));
    assert!(linked(&session).is_empty());
    until("the attempt is known", || {
        session.info().unreached().len() == 1
    });
}

/// Bounds the time that an application waits for at its start, with the default configuration.
/// Other programs may take the processor, so the best of many runs counts.
#[test]
fn a_loopback_endpoint_is_open_within_five_milliseconds() {
    let body = || {
        for role in [WhatAmI::Client, WhatAmI::Peer, WhatAmI::Router] {
            for config in [Config::default(), told(Config::default())] {
                let config = config.with_mode(role).listen(["tcp/127.0.0.1:0"]);
                until("one is open in time", || opens_in_time(&config));
            }
        }
    };
    let name = "opening::a_loopback_endpoint_is_open_within_five_milliseconds";
    inside(name, Network::Usual, body);
}

/// Limit of an optimised build. Without optimisation it is several times as much, and still less than any delay of discovery.
const OPEN_MAX: Duration = Duration::from_millis(if cfg!(debug_assertions) { 25 } else { 5 });

/// Opens a session beside a router whose mesh is at rest: routers take their time with changes that follow each other.
fn opens_in_time(config: &Config) -> bool {
    let other = open(router());
    let config = config.clone().connect([&endpoint(&other)]);
    let begin = Instant::now();
    let session = open(config);
    let taken = begin.elapsed();
    assert!(linked(&session).contains(&other.zid()));
    session.close().wait().expect("it closes");
    taken <= OPEN_MAX
}

/// A program that opens a session, puts a value and ends reaches each peer that is there, not only the
/// one that it is linked to first.
#[test]
fn what_a_short_program_puts_reaches_every_peer() {
    const RUNS: u64 = 20;
    let name = "opening::what_a_short_program_puts_reaches_every_peer";
    inside(name, Network::Usual, || {
        let peers = [(); 4].map(|()| open(Config::peer()));
        let tallies = peers
            .each_ref()
            .map(|peer| Tally::of(peer, "short/program"));
        until("the peers are a mesh", || {
            peers
                .iter()
                .all(|peer| linked(peer).len() == peers.len() - 1)
        });
        for run in 0..RUNS {
            let session = open(Config::peer());
            let put = session.put("short/program", run.to_le_bytes().to_vec());
            put.wait().expect("it is open");
            session.close().wait().expect("it closes");
        }
        for (place, tally) in tallies.iter().enumerate() {
            let all: Vec<u64> = (0..RUNS).collect();
            until(&format!("peer {place} has every value"), || {
                tally.numbers() == all
            });
        }
    });
}
