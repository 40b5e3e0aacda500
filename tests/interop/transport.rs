// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parameters that two neighbours agree on below the messages: sizes, widths, features that one
//! side lacks, a link that idles, traffic that crosses.

use zonda::config::WhatAmI;

use crate::environment::{self, Release, release};
use crate::message::{Message, Pattern, Service};
use crate::party::{Party, Setup};
use crate::proxy::{Proxy, Said, Speaker};
use crate::router::Router;
use crate::scene::{self, Scene};
use crate::wait::until;

/// Options of the reference's client that ours must live with.
const THEIR_OPTIONS: &[&[(&str, &str)]] = &[
    &[("transport/unicast/qos/enabled", "false")],
    &[("transport/unicast/compression/enabled", "true")],
    &[
        ("transport/unicast/qos/enabled", "false"),
        ("transport/unicast/lowlatency", "true"),
    ],
    &[("transport/unicast/max_links", "3")],
    &[("transport/shared_memory/enabled", "false")],
    &[("transport/link/tx/batch_size", "1024")],
    &[("transport/link/tx/sequence_number_resolution", "\"8bit\"")],
    &[
        ("transport/link/tx/batch_size", "1100"),
        ("transport/link/tx/sequence_number_resolution", "\"16bit\""),
        ("transport/unicast/qos/enabled", "false"),
    ],
];

/// Options of ours that the reference must live with.
const OUR_OPTIONS: &[&[(&str, &str)]] = &[
    &[("transport/unicast/qos/enabled", "false")],
    &[("transport/link/tx/batch_size", "1024")],
    &[("transport/link/tx/sequence_number_resolution", "\"8bit\"")],
    &[
        ("transport/link/tx/batch_size", "512"),
        ("transport/link/tx/sequence_number_resolution", "\"64bit\""),
        ("transport/unicast/qos/enabled", "false"),
    ],
];

fn with_options(endpoint: &str, options: &[(&'static str, &'static str)]) -> Setup {
    Setup {
        options: options.to_vec(),
        ..Setup::client(endpoint)
    }
}

/// Passes small and large messages, enough for sequence numbers of eight bits to wrap around.
fn exchange(from: &Party, to: &Party, context: &str) {
    let subscription = to.subscribe("transport/*");
    let counting = to.count("numbered");
    let publisher = from.matched_publisher("transport/x");
    for (seed, len) in [(0, 5), (1, 5000), (2, 300_000)] {
        publisher.publish(&Message::put(Pattern { len, seed }));
        let seen = subscription.next();
        assert!(seen.carries(Pattern { len, seed }), "{context}: {seen:?}");
    }
    let publisher = from.matched_publisher("numbered");
    publisher.publish_numbered(600, 300).done();
    counting.reaches(600);
}

#[test]
fn their_options_are_agreed_on_with_our_router() {
    if environment::python().is_some() {
        let router = Router::process();
        let other = Party::Ours(Setup::client(&router.endpoint).ours());
        for options in THEIR_OPTIONS {
            let theirs = with_options(&router.endpoint, options).theirs();
            let theirs = Party::Theirs(theirs);
            exchange(&theirs, &other, &format!("{options:?}"));
            exchange(&other, &theirs, &format!("{options:?}"));
        }
        assert_eq!(router.complaints(), [""; 0]);
    }
}

#[test]
fn our_options_are_agreed_on_with_their_router() {
    if environment::python().is_some() {
        let router = Router::theirs();
        let other = Party::Ours(Setup::client(&router.endpoint).ours());
        for options in OUR_OPTIONS {
            let ours = Party::Ours(with_options(&router.endpoint, options).ours());
            exchange(&ours, &other, &format!("{options:?}"));
            exchange(&other, &ours, &format!("{options:?}"));
        }
        assert_eq!(router.complaints(), [""; 0]);
    }
}

/// Checks that a link without publications stays open by keep-alives, in both directions.
fn an_idle_link_lives(
    router: Router,
    client: fn(&Setup) -> Party,
    options: &[(&'static str, &'static str)],
) {
    let proxy = Proxy::to(&router.endpoint);
    let client = client(&with_options(&proxy.endpoint, options));
    let other = Party::Ours(Setup::client(&router.endpoint).ours());
    let subscription = client.subscribe("idle");
    let publisher = other.matched_publisher("idle");
    for speaker in [Speaker::Dialler, Speaker::Listener] {
        // four in a lease: these outlast two leases
        until("nine keep-alives", || {
            let said = proxy.said(speaker);
            assert!(!said.contains(&Said::Close), "{said:?}");
            said.iter().filter(|s| **s == Said::KeepAlive).count() >= 9
        });
    }
    publisher.publish(&Message::put(Pattern::short(1)));
    assert!(subscription.next().carries(Pattern::short(1)));
}

const SHORT_LEASE: (&str, &str) = ("transport/link/tx/lease", "1200");

#[test]
fn an_idle_link_to_our_router_lives() {
    if environment::python().is_some() {
        let router = Router::process_with(&["--cfg", "transport/link/tx/lease:1200"]);
        let theirs = |setup: &Setup| Party::Theirs(setup.theirs());
        an_idle_link_lives(router, theirs, &[SHORT_LEASE]);
    }
}

#[test]
fn an_idle_link_to_their_router_lives() {
    if environment::python().is_some() {
        let endpoint = crate::router::free_endpoint();
        let setup = Setup {
            options: vec![SHORT_LEASE],
            ..Setup::listening(WhatAmI::Router, &endpoint)
        };
        let ours = |setup: &Setup| Party::Ours(setup.ours());
        an_idle_link_lives(Router::of_theirs(&setup), ours, &[SHORT_LEASE]);
    }
}

/// Publishes in both directions as fast as possible: neither side waits for the other for ever.
fn floods_cross(scene: &Scene) {
    const MANY: u64 = 3000;
    const LEN: usize = 4096;
    let counts = [scene.from.count("flood/to"), scene.to.count("flood/from")];
    let publishers = [
        scene.from.matched_publisher("flood/from"),
        scene.to.matched_publisher("flood/to"),
    ];
    // the reference's processes publish by themselves, so they begin first
    let [first, second] = match &scene.to {
        Party::Theirs(_) => [1, 0],
        Party::Ours(_) => [0, 1],
    };
    let begun = publishers[first].publish_numbered(MANY, LEN);
    publishers[second].publish_numbered(MANY, LEN).done();
    begun.done();
    for count in counts {
        count.reaches(MANY);
    }
}

#[test]
fn crossing_floods_do_not_block_each_other() {
    if environment::python().is_some() {
        for scene in [
            scene::theirs_our_router_theirs,
            scene::theirs_our_router_ours,
            scene::ours_their_router_theirs,
            scene::ours_dials_theirs,
            scene::theirs_dials_ours,
        ] {
            let scene = scene();
            floods_cross(&scene);
            assert_eq!(scene.complaints(), [""; 0]);
        }
    }
}

/// Keys of many bytes and of many alphabets, subscribed and published.
#[test]
fn long_and_strange_keys_arrive() {
    if environment::python().is_some() {
        let long = format!("{}end", format!("{}/", "long".repeat(60)).repeat(250));
        for scene in [
            scene::theirs_our_router_ours,
            scene::ours_our_router_theirs,
            scene::ours_their_router_ours,
            scene::ours_dials_theirs,
            scene::theirs_dials_ours,
        ] {
            let scene = scene();
            // releases before 1.10 fail at keys that do not begin with ASCII
            let foreign = if release() == Release::NEWEST {
                "ключ/値/🗝"
            } else {
                "the ключ/値/🗝"
            };
            for key in [foreign, "a b/c+d/%2F", &long] {
                let subscription = scene.to.subscribe(key);
                let publisher = scene.from.matched_publisher(key);
                publisher.publish(&Message::put(Pattern::short(1)));
                scene.from.publish(key, Service::BLOCK, &Message::delete());
                for delete in [false, true] {
                    let seen = subscription.next();
                    assert_eq!((seen.key.as_str(), seen.delete), (key, delete));
                }
                subscription.undeclare();
            }
            assert_eq!(scene.complaints(), [""; 0]);
        }
    }
}

/// Hundreds of subscribers and publishers, each with a key of its own.
#[test]
fn many_declarations_arrive() {
    if environment::python().is_some() {
        for scene in [
            scene::theirs_our_router_ours,
            scene::ours_our_router_theirs,
            scene::ours_their_router_ours,
            scene::ours_dials_theirs,
            scene::theirs_dials_ours,
        ] {
            let scene = scene();
            let each = |i: usize| format!("many/{}/{i}", i % 7);
            let subscriptions: Vec<_> = (0..300).map(|i| scene.to.subscribe(&each(i))).collect();
            let publishers: Vec<_> = (0..300)
                .map(|i| scene.from.matched_publisher(&each(i)))
                .collect();
            for (i, publisher) in publishers.iter().enumerate() {
                publisher.publish(&Message::put(Pattern::short(i as u64)));
            }
            for (i, subscription) in subscriptions.iter().enumerate() {
                let seen = subscription.next();
                assert_eq!(seen.key, each(i));
                assert!(seen.carries(Pattern::short(i as u64)));
                assert!(subscription.try_next().is_none());
            }
            assert_eq!(scene.complaints(), [""; 0]);
        }
    }
}

crate::environment::against_older! {
    their_options_are_agreed_on_with_our_router
    our_options_are_agreed_on_with_their_router
    an_idle_link_to_our_router_lives
    an_idle_link_to_their_router_lives
    crossing_floods_do_not_block_each_other
    long_and_strange_keys_arrive
    many_declarations_arrive
}
