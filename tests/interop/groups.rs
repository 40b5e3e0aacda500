// SPDX-License-Identifier: MIT OR Apache-2.0
//! Multicast groups with members of both implementations, in networks of the tests' own. The
//! reference has shared memory switched off: it would send the address of a payload to the whole
//! group.

use std::time::Duration;

use zonda::Wait;
use zonda::config::WhatAmI;

use crate::environment::{of_release, python, release};
use crate::message::{Message, Pattern, Service};
use crate::namespace::{Network, inside};
use crate::party::{Party, Setup, Subscription};
use crate::reference::Reference;
use crate::router::Router;
use crate::wait::{LONG, until_within};

const GROUP: &str = "udp/224.0.0.225:7447#iface=lo";

const OPTIONS: [(&str, &str); 2] = [
    ("transport/shared_memory/enabled", "false"),
    ("transport/multicast/join_interval", "300"),
];

fn member(role: WhatAmI, more: &[&str]) -> Setup {
    let mut setup = Setup::listening(role, GROUP);
    setup.listen.extend(more.iter().map(ToString::to_string));
    setup.options = OPTIONS.to_vec();
    setup
}

fn grouped(test: &str, body: impl FnOnce()) {
    if python().is_some() {
        inside(&of_release(test, release()), Network::Loopback, body);
    }
}

/// Publishes the message until it is received: a new node is not known everywhere yet, and
/// datagrams get lost.
fn reaches(from: &Party, to: &Subscription, message: &Message) {
    until_within(LONG, "it is heard", || {
        from.publish("test/group", Service::BLOCK, message);
        let wait = Duration::from_millis(100);
        std::iter::from_fn(|| to.next_within(wait))
            .any(|seen| seen.delete == message.delete && seen.carries(message.pattern))
    });
}

fn all_reach(from: &Party, to: &Subscription) {
    for len in [1, 1000, 8192, 20_000, 65_000] {
        reaches(from, to, &Message::put(Pattern { len, seed: 3 }));
    }
    reaches(from, to, &Message::delete());
}

fn each_way(one: &Party, other: &Party) {
    for (from, to) in [(one, other), (other, one)] {
        all_reach(from, &to.subscribe("test/**"));
    }
}

#[test]
fn members_of_both_kinds_hear_each_other() {
    grouped("groups::members_of_both_kinds_hear_each_other", || {
        let process = Reference::start();
        let theirs = Party::Theirs(member(WhatAmI::Peer, &[]).theirs_in(&process));
        let ours = Party::Ours(member(WhatAmI::Peer, &[]).ours());
        each_way(&ours, &theirs);
        assert_eq!(process.complaints(), [""; 0]);
    });
}

#[test]
fn our_router_bridges_their_member_and_clients() {
    grouped(
        "groups::our_router_bridges_their_member_and_clients",
        || {
            let at = "tcp/127.0.0.1:7447";
            let router = member(WhatAmI::Router, &[at]).ours();
            let process = Reference::start();
            let theirs = Party::Theirs(member(WhatAmI::Peer, &[]).theirs_in(&process));
            let ours = Party::Ours(Setup::client(at).ours());
            each_way(&ours, &theirs);
            assert_eq!(process.complaints(), [""; 0]);
            router.close().wait().expect("it closes");
        },
    );
}

#[test]
fn their_router_bridges_our_member_and_clients() {
    grouped(
        "groups::their_router_bridges_our_member_and_clients",
        || {
            let at = "tcp/127.0.0.1:7447";
            let router = Router::of_theirs(&member(WhatAmI::Router, &[at]));
            let ours = Party::Ours(member(WhatAmI::Peer, &[]).ours());
            let client = Party::Ours(Setup::client(at).ours());
            each_way(&ours, &client);
            assert_eq!(router.complaints(), [""; 0]);
        },
    );
}
