// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tests of scouting without sockets: times, answers, attempts.

use core::net::IpAddr;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use proptest::prelude::{
    Just, any, prop, prop_assert, prop_assert_eq, prop_assume, prop_oneof, proptest,
};
use proptest::strategy::Strategy as Values;
use zonda_codec::{Locator, WhatAmI, ZenohId};

use super::*;

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn locators(texts: &[&str]) -> Vec<Locator> {
    texts
        .iter()
        .map(|t| t.parse().expect("a locator"))
        .collect()
}

fn interface(name: &str, addresses: &[(&str, &str)]) -> Interface {
    let address = |(own, mask): &(&str, &str)| Address {
        ip: ip(own),
        mask: Some(ip(mask)),
    };
    Interface {
        name: name.to_owned(),
        index: 1,
        is_loopback: name == "lo",
        addresses: addresses.iter().map(address).collect(),
    }
}

fn host() -> Host {
    Host(vec![
        interface(
            "lo",
            &[
                ("127.0.0.1", "255.0.0.0"),
                ("::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ],
        ),
        interface(
            "eth0",
            &[
                ("192.168.7.2", "255.255.255.0"),
                ("fe80::1", "ffff:ffff:ffff:ffff::"),
            ],
        ),
        interface(
            "eth1",
            &[
                ("10.0.0.9", "255.0.0.0"),
                ("fd00::9", "ffff:ffff:ffff:ffff::"),
            ],
        ),
    ])
}

fn told(source: &str, listening: &[&str]) -> Vec<String> {
    let told = host().locators_for(ip(source), &locators(listening));
    told.iter().map(Locator::to_string).collect()
}

#[test]
fn scouts_are_sent_after_0_1_3_7_15_23_seconds() {
    let begin = Instant::now();
    let mut asking = Asking::default();
    assert!(!asking.is_active() && !asking.is_due(begin));
    asking.begin(begin);
    let mut sent = Vec::new();
    while let Some(at) = asking
        .deadline()
        .filter(|at| *at < begin + Duration::from_secs(32))
    {
        assert!(at == begin || !asking.is_due(at - Duration::from_millis(1)));
        assert!(asking.is_due(at) && !asking.is_due(at));
        sent.push((at - begin).as_secs());
    }
    assert_eq!(sent, [0, 1, 3, 7, 15, 23, 31]);
    // a machine that slept for an hour sends one SCOUT
    let late = begin + Duration::from_secs(3600);
    assert!(asking.is_due(late) && !asking.is_due(late));
    asking.stop();
    assert_eq!(asking.deadline(), None);
}

#[test]
fn loopback_is_told_on_this_machine_only() {
    let loopback = ["tcp/127.0.0.1:7447"];
    for here in [
        "127.0.0.1",
        "192.168.7.2",
        "10.0.0.9",
        "fd00::9",
        "::ffff:10.0.0.9",
    ] {
        assert_eq!(told(here, &loopback), loopback, "{here}");
    }
    for elsewhere in ["192.168.7.3", "8.8.8.8", "fd00::8"] {
        assert_eq!(told(elsewhere, &loopback), [""; 0], "{elsewhere}");
    }
}

#[test]
fn wildcards_become_addresses_the_nearest_first() {
    let v4 = ["tcp/10.0.0.9:1", "tcp/127.0.0.1:1", "tcp/192.168.7.2:1"];
    let sorted = |mut list: Vec<String>| {
        list.sort();
        list
    };
    assert_eq!(sorted(told("127.0.0.1", &["tcp/0.0.0.0:1"])), v4);
    assert_eq!(told("127.0.0.1", &["tcp/0.0.0.0:1"])[0], "tcp/127.0.0.1:1");
    assert_eq!(
        told("192.168.7.2", &["tcp/0.0.0.0:1"])[0],
        "tcp/192.168.7.2:1"
    );
    let near = ["tcp/10.0.0.9:1", "tcp/192.168.7.2:1"];
    assert_eq!(told("10.1.2.3", &["tcp/0.0.0.0:1"]), near);
    let all = told("192.168.7.77", &["tcp/[::]:1"]);
    assert_eq!(
        all,
        ["tcp/192.168.7.2:1", "tcp/10.0.0.9:1", "tcp/[fd00::9]:1"]
    );
}

#[test]
fn what_is_given_stays_as_it_is() {
    let given = [
        "tcp/robot.local:7447?prio=1-3",
        "tcp/192.168.7.2:7447?rel=1",
    ];
    let mut here = told("8.8.8.8", &given);
    here.sort();
    let mut expected = given;
    expected.sort_unstable();
    assert_eq!(here, expected);
    let path = ["unixsock-stream//run/zonda.sock"];
    assert_eq!(told("127.0.0.1", &path), path);
    assert_eq!(told("8.8.8.8", &path), [""; 0]);
}

#[test]
fn an_answer_leaves_by_the_interface_that_leads_there() {
    let host = host();
    let name = |source: &str| host.interface_towards(ip(source)).map(|i| i.name.as_str());
    assert_eq!(name("192.168.7.40"), Some("eth0"));
    assert_eq!(name("10.9.9.9"), Some("eth1"));
    assert_eq!(name("127.0.0.1"), Some("lo"));
    assert_eq!(name("8.8.8.8"), None);
}

proptest! {
    /// A SCOUT from this machine gets an answer, whatever the node listens on; one from elsewhere
    /// gets no loopback locator, and no answer only if the node listens on loopback only.
    #[test]
    fn no_answer_is_empty_that_need_not_be(
        listening in prop::collection::vec(
            prop::sample::select(vec![
                "tcp/127.0.0.1:1", "tcp/[::1]:2", "tcp/0.0.0.0:3", "tcp/[::]:4", "tcp/192.168.7.2:5", "tcp/10.0.0.9:6",
            ]),
            1..5,
        ),
        here in prop::sample::select(vec!["127.0.0.1", "127.0.0.5", "192.168.7.2", "10.0.0.9", "::1", "fd00::9"]),
        elsewhere in any::<[u8; 4]>(),
    ) {
        prop_assert!(!told(here, &listening).is_empty());
        let elsewhere = IpAddr::from(elsewhere);
        prop_assume!(!host().is_here(elsewhere));
        let told = told(&elsewhere.to_string(), &listening);
        let is_local = |l: &&str| l.starts_with("tcp/127.") || l.starts_with("tcp/[::1]");
        prop_assert_eq!(told.is_empty(), listening.iter().all(is_local));
        prop_assert!(told.iter().all(|l| !is_local(&l.as_str())));
        prop_assert!(told.len() <= LOCATORS_MAX);
        let distinct: HashSet<_> = told.iter().collect();
        prop_assert_eq!(distinct.len(), told.len());
    }
}

#[test]
fn more_than_is_told_is_left_out() {
    let many: Vec<String> = (1..=100).map(|n| format!("tcp/10.0.0.9:{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(told("10.0.0.1", &many).len(), LOCATORS_MAX);
}

#[test]
fn answers_are_bounded_and_come_back() {
    let begin = Instant::now();
    let mut answering = HelloBudget::default();
    let count = |answering: &mut HelloBudget, now: Instant| {
        (0..10_000).filter(|_| answering.may_answer(now)).count()
    };
    assert_eq!(count(&mut answering, begin), 500);
    assert_eq!(count(&mut answering, begin), 0);
    let tenth = begin + Duration::from_millis(100);
    assert_eq!(count(&mut answering, tenth), 50);
    assert_eq!(
        count(&mut answering, tenth + Duration::from_secs(3600)),
        500
    );
    // with a SCOUT every millisecond, every second one is answered
    let mut now = tenth + Duration::from_secs(7200);
    count(&mut answering, now);
    let mut answered = 0;
    for _ in 0..1000 {
        now += Duration::from_millis(1);
        answered += usize::from(answering.may_answer(now));
    }
    assert!((499..=500).contains(&answered), "{answered}");
}

fn zid(number: u128) -> ZenohId {
    ZenohId::random_from(number)
}

fn found(number: u128, whatami: WhatAmI) -> Found {
    Found {
        zid: zid(number),
        whatami,
        locators: locators(&["tcp/10.0.0.1:7447"]),
        teller: None,
    }
}

fn candidates(limits: CandidateLimits) -> Candidates {
    Candidates::new(zid(5), limits)
}

fn nobody(_: &ZenohId) -> Link {
    Link::None
}

#[test]
fn one_attempt_at_a_node_at_a_time_and_each_failure_makes_the_next_later() {
    let begin = Instant::now();
    let mut candidates = candidates(CandidateLimits::default());
    let mut attempts = Vec::new();
    let mut now = begin;
    candidates.hear(found(9, WhatAmI::Peer), now);
    while let Some(at) = candidates.deadline() {
        now = now.max(at);
        assert_eq!(candidates.due(now, nobody).len(), 1);
        attempts.push((now - begin).as_secs());
        candidates.hear(found(9, WhatAmI::Peer), now);
        assert_eq!(candidates.due(now, nobody), [], "one is under way");
        candidates.ended(&zid(9), Link::None, now);
        if candidates.is_empty() {
            break;
        }
        candidates.hear(found(9, WhatAmI::Peer), now);
        assert_eq!(candidates.due(now, nobody), [], "news do not hurry");
    }
    assert_eq!(attempts, [0, 1, 3, 7, 15, 31, 63, 123]);
    let counts = candidates.counts();
    assert_eq!(
        (counts.attempts, counts.failures, counts.given_up),
        (8, 8, 1)
    );
    assert!(candidates.is_empty());
    candidates.hear(found(9, WhatAmI::Peer), now);
    assert_eq!(candidates.due(now, nobody).len(), 1, "heard of again");
}

#[test]
fn of_two_that_fail_together_the_greater_is_earlier() {
    let now = Instant::now();
    let pause_of = |own: u128, other: u128| {
        let mut candidates = Candidates::new(zid(own), CandidateLimits::default());
        candidates.hear(found(other, WhatAmI::Peer), now);
        candidates.due(now, nobody);
        candidates.ended(&zid(other), Link::None, now);
        candidates.deadline().expect("it is tried again") - now
    };
    assert!(pause_of(9, 5) < pause_of(5, 9));
}

#[test]
fn only_the_greater_prefers_its_own_link_and_not_for_long() {
    let now = Instant::now();
    let mut greater = Candidates::new(zid(9), CandidateLimits::default());
    let mut lesser = Candidates::new(zid(5), CandidateLimits::default());
    greater.hear(found(5, WhatAmI::Peer), now);
    lesser.hear(found(9, WhatAmI::Peer), now);
    assert!(!greater.prefers_own(&zid(5), now), "it did not dial yet");
    greater.due(now, nobody);
    lesser.due(now, nobody);
    assert!(greater.prefers_own(&zid(5), now));
    assert!(!lesser.prefers_own(&zid(9), now));
    assert!(!greater.prefers_own(&zid(5), now + Duration::from_millis(500)));
}

#[test]
fn the_lesser_waits_for_its_own_attempt_but_not_for_long() {
    let now = Instant::now();
    let mut greater = Candidates::new(zid(9), CandidateLimits::default());
    let mut lesser = Candidates::new(zid(5), CandidateLimits::default());
    greater.hear(found(5, WhatAmI::Peer), now);
    lesser.hear(found(9, WhatAmI::Peer), now);
    assert_eq!(lesser.waits_for_own_until(&zid(9), now), None, "no attempt");
    greater.due(now, nobody);
    lesser.due(now, nobody);
    assert_eq!(greater.waits_for_own_until(&zid(5), now), None);
    let end = now + Duration::from_millis(500);
    assert_eq!(lesser.waits_for_own_until(&zid(9), now), Some(end));
    assert_eq!(lesser.waits_for_own_until(&zid(9), end), None);
    lesser.ended(&zid(9), Link::Up, now);
    assert_eq!(lesser.waits_for_own_until(&zid(9), now), None, "it ended");
}

#[test]
fn a_lost_link_is_restored_unless_it_lasted_and_was_ended_in_an_orderly_way() {
    let now = Instant::now();
    // Of two nodes that connect to each other at once, each may close the link that the other one kept.
    for (parting, lasted, restored) in [
        (LinkEnding::Broken, 1999, true),
        (LinkEnding::Broken, 2000, true),
        (LinkEnding::Closed, 1999, true),
        (LinkEnding::Closed, 2000, false),
        (LinkEnding::Goodbye, 1, false),
        (LinkEnding::Goodbye, 2000, false),
    ] {
        let mut candidates = candidates(CandidateLimits::default());
        candidates.hear(found(9, WhatAmI::Peer), now);
        candidates.due(now, nobody);
        candidates.ended(&zid(9), Link::Up, now);
        assert_eq!(candidates.deadline(), None);
        let end = now + Duration::from_millis(lasted);
        candidates.lost(&zid(9), parting, end);
        let later = end + Duration::from_secs(1);
        let attempts = candidates.due(later, nobody).len();
        assert_eq!(attempts, usize::from(restored), "{parting:?} {lasted}");
    }
}

#[test]
fn a_link_is_expected_until_the_first_attempt_has_ended() {
    let now = Instant::now();
    let after = |link: Option<Link>| {
        let mut candidates = candidates(CandidateLimits::default());
        candidates.hear(found(9, WhatAmI::Peer), now);
        let before = candidates.expects_links(now, nobody);
        candidates.due(now, nobody);
        let during = candidates.expects_links(now, nobody);
        assert_eq!((before, during), (true, true), "due, and under way");
        if let Some(link) = link {
            candidates.ended(&zid(9), link, now);
        }
        candidates
    };
    assert!(!after(Some(Link::Up)).expects_links(now, nobody), "linked");
    let failed = after(Some(Link::None));
    assert!(!failed.expects_links(now, nobody), "it has failed once");
    let later = failed.deadline().expect("it is tried again");
    assert!(!failed.expects_links(later, nobody), "no first attempt");
    let coming = after(Some(Link::Coming));
    assert!(coming.expects_links(now, nobody), "the node opens a link");
    assert!(!coming.expects_links(now, |_| Link::Up), "which is up now");
}

/// Programs that publish a message and stop are no attack, however many come from one address: no
/// attempt fails.
#[test]
fn nodes_that_come_and_say_goodbye_use_up_no_budget() {
    let mut now = Instant::now();
    let mut candidates = candidates(CandidateLimits::default());
    for number in 10..60 {
        let place = format!("tcp/10.0.0.1:{}", 40_000 + number);
        let visitor = Found {
            locators: locators(&[&place]),
            ..found(number, WhatAmI::Peer)
        };
        let locator = visitor.locators[0].clone();
        candidates.hear(visitor, now);
        match number % 2 {
            // its own link comes first
            0 => assert!(candidates.due(now, |_| Link::Up).is_empty()),
            _ => {
                assert_eq!(candidates.due(now, nobody).len(), 1);
                assert!(candidates.begin(&zid(number), &locator, now));
            }
        }
        now += Duration::from_millis(100);
        candidates.lost(&zid(number), LinkEnding::Goodbye, now);
        if number % 2 == 1 {
            assert!(candidates.has_left(&zid(number)));
            candidates.tried(&locator, Outcome::Declined, now);
            candidates.ended(&zid(number), Link::None, now);
        }
        assert!(
            candidates
                .due(now + Duration::from_secs(5), nobody)
                .is_empty()
        );
    }
    let counts = candidates.counts();
    assert_eq!((counts.failures, counts.failed_too_often), (0, 0));
    assert_eq!((candidates.len(), candidates.under_way()), (0, 0));
}

#[test]
fn routers_come_first_and_what_is_linked_or_coming_is_left_alone() {
    let now = Instant::now();
    let mut candidates = candidates(CandidateLimits {
        attempts_max: 2,
        ..CandidateLimits::default()
    });
    for (number, whatami) in [(1, WhatAmI::Peer), (2, WhatAmI::Peer), (3, WhatAmI::Router)] {
        candidates.hear(found(number, whatami), now);
    }
    candidates.hear(found(4, WhatAmI::Router), now);
    let link = |node: &ZenohId| match *node == zid(3) {
        true => Link::Up,
        false if *node == zid(4) => Link::Coming,
        false => Link::None,
    };
    let due: Vec<ZenohId> = candidates.due(now, link).iter().map(|a| a.zid).collect();
    assert_eq!(due, [zid(1), zid(2)]);
    candidates.ended(&zid(1), Link::Up, now);
    let due: Vec<ZenohId> = candidates.due(now, nobody).iter().map(|a| a.zid).collect();
    assert_eq!(due, [zid(4)], "it did not come after all");
}

#[test]
fn a_policy_names_roles_and_who_begins() {
    let policy = Autoconnect {
        roles: WhatAmI::Peer | WhatAmI::Router,
        to_router: Strategy::Always,
        to_peer: Strategy::GreaterZid,
    };
    let (low, high) = (zid(5), zid(9));
    assert!(policy.permits(low, high, WhatAmI::Router));
    assert!(policy.permits(high, low, WhatAmI::Peer) && !policy.permits(low, high, WhatAmI::Peer));
    assert!(!policy.permits(high, low, WhatAmI::Client));
    assert!(!policy.permits(low, low, WhatAmI::Router), "not to itself");
    assert!(!Autoconnect::default().permits(high, low, WhatAmI::Peer));
}

#[derive(Debug, Clone)]
enum Step {
    Hear(u128),
    Due,
    End(usize, bool),
    Lose(u128, bool),
    Wait(u64),
}

fn step() -> impl Values<Value = Step> {
    prop_oneof![
        (1..40u128).prop_map(Step::Hear),
        Just(Step::Due),
        (any::<usize>(), any::<bool>()).prop_map(|(at, ok)| Step::End(at, ok)),
        (1..40u128, any::<bool>()).prop_map(|(n, good)| Step::Lose(n, good)),
        (0..5000u64).prop_map(Step::Wait),
    ]
}

proptest! {
    /// Whatever is found and however attempts end: never two at one node, never more at once or
    /// stored than allowed.
    #[test]
    fn attempts_stay_within_their_limits(steps in prop::collection::vec(step(), 1..200)) {
        let limits = CandidateLimits { nodes_max: 20, attempts_max: 3, failures_max: 4, ..CandidateLimits::default() };
        let mut candidates = candidates(limits);
        let (mut now, mut under_way, mut up) = (Instant::now(), Vec::new(), HashMap::new());
        for step in steps {
            match step {
                Step::Hear(number) => {
                    candidates.hear(found(number, WhatAmI::Peer), now);
                }
                Step::Due => {
                    let link = |node: &ZenohId| match up.contains_key(node) {
                        true => Link::Up,
                        false => Link::None,
                    };
                    for attempt in candidates.due(now, link) {
                        prop_assert!(!under_way.contains(&attempt.zid) && attempt.zid != zid(5));
                        prop_assert!(!up.contains_key(&attempt.zid));
                        under_way.push(attempt.zid);
                    }
                }
                Step::End(at, is_linked) if !under_way.is_empty() => {
                    let ended = under_way.remove(at % under_way.len());
                    if is_linked {
                        up.insert(ended, ());
                    }
                    candidates.ended(&ended, if is_linked { Link::Up } else { Link::None }, now);
                }
                Step::End(..) => {}
                Step::Lose(number, for_good) => {
                    if up.remove(&zid(number)).is_some() {
                        let parting = match for_good {
                            true => LinkEnding::Closed,
                            false => LinkEnding::Broken,
                        };
                        candidates.lost(&zid(number), parting, now);
                    }
                }
                Step::Wait(millis) => now += Duration::from_millis(millis),
            }
            prop_assert_eq!(candidates.under_way(), under_way.len());
            prop_assert!(under_way.len() <= 3 && candidates.len() <= 20);
        }
        let counts = candidates.counts();
        prop_assert!(counts.failures <= counts.attempts);
    }
}

#[test]
fn more_nodes_than_are_remembered_are_counted() {
    let now = Instant::now();
    let mut candidates = candidates(CandidateLimits {
        nodes_max: 3,
        ..CandidateLimits::default()
    });
    for number in 10..20 {
        candidates.hear(found(number, WhatAmI::Peer), now);
    }
    assert_eq!((candidates.len(), candidates.counts().over_limit), (3, 7));
}

/// Makes the attempts that are due for so many seconds, each of which ends at once; counts those at
/// each place.
fn attempts(
    candidates: &mut Candidates,
    seconds: u64,
    mut outcome: impl FnMut(&ZenohId, &Locator) -> Outcome,
) -> HashMap<Locator, usize> {
    let (start, mut tried) = (Instant::now(), HashMap::new());
    for tick in 0..seconds * 100 {
        let now = start + Duration::from_millis(tick * 10);
        for attempt in candidates.due(now, nobody) {
            let mut is_linked = false;
            for locator in &attempt.locators {
                if !is_linked && candidates.begin(&attempt.zid, locator, now) {
                    *tried.entry(locator.clone()).or_default() += 1;
                    let outcome = outcome(&attempt.zid, locator);
                    is_linked = outcome == Outcome::Found;
                    candidates.tried(locator, outcome, now);
                }
            }
            candidates.ended(
                &attempt.zid,
                if is_linked { Link::Up } else { Link::None },
                now,
            );
        }
    }
    tried
}

/// Finds so many nodes that one neighbour names, with their places.
fn named(candidates: &mut Candidates, count: u128, place: impl Fn(u128) -> Vec<Locator>) {
    for number in 0..count {
        let found = Found {
            locators: place(number),
            teller: Some(zid(7)),
            ..found(1000 + number, WhatAmI::Peer)
        };
        candidates.hear(found, Instant::now());
    }
}

/// One message that named 200 nodes at one place caused 2080 connections there within 25 s.
#[test]
fn a_place_where_nobody_is_is_tried_a_handful_of_times() {
    for answer in [Outcome::Failed, Outcome::Other(zid(3)), Outcome::Declined] {
        let mut candidates = candidates(CandidateLimits::default());
        let place = "tcp/10.0.0.1:80";
        named(&mut candidates, 200, |_| locators(&[place, place]));
        let tried = attempts(&mut candidates, 25, |_, _| answer);
        let most = match answer {
            Outcome::Failed => 5,
            Outcome::Declined => 25,
            _ => 1,
        };
        let tried: usize = tried.values().sum();
        assert!((1..=most).contains(&tried), "{answer:?}: {tried}");
    }
}

#[test]
fn one_address_is_not_searched_for_open_ports() {
    let mut candidates = candidates(CandidateLimits::default());
    named(&mut candidates, 2000, |number| {
        let at = |port: u128| format!("tcp/10.0.0.1:{port}");
        locators(&[&at(2 * number + 1), &at(2 * number + 2)])
    });
    let tried = attempts(&mut candidates, 25, |_, _| Outcome::Failed);
    assert_eq!(tried.values().sum::<usize>(), 16);
    assert!(candidates.counts().failed_too_often > 0);
}

#[test]
fn one_neighbour_causes_no_more_than_so_many_failures() {
    let mut candidates = candidates(CandidateLimits::default());
    named(&mut candidates, 5000, |number| {
        locators(&[&format!("tcp/10.0.{}.{}:1", number / 250, number % 250)])
    });
    assert_eq!(candidates.len(), 2500, "as many as one may name");
    let tried = attempts(&mut candidates, 25, |_, _| Outcome::Failed);
    assert_eq!(tried.values().sum::<usize>(), 64);
}

/// Nodes at the places they are reported at are connected to at once, however many one neighbour names.
#[test]
fn a_large_honest_network_is_connected_to_at_once() {
    let mut candidates = candidates(CandidateLimits::default());
    named(&mut candidates, 500, |number| {
        locators(&[&format!("tcp/10.0.0.1:{}", number + 1)])
    });
    let tried = attempts(&mut candidates, 1, |_, _| Outcome::Found);
    assert_eq!(tried.len(), 500);
}

/// A node that was restarted under another id is found at its old place.
#[test]
fn a_node_that_was_started_anew_is_found_where_another_was() {
    let mut candidates = candidates(CandidateLimits::default());
    let now = Instant::now();
    candidates.hear(found(20, WhatAmI::Peer), now);
    let tried = attempts(&mut candidates, 1, |_, _| Outcome::Other(zid(21)));
    assert_eq!(tried.values().sum::<usize>(), 1);
    candidates.hear(found(21, WhatAmI::Peer), now);
    let tried = attempts(&mut candidates, 1, |node, _| match *node == zid(21) {
        true => Outcome::Found,
        false => Outcome::Other(zid(21)),
    });
    assert_eq!(tried.values().sum::<usize>(), 1);
}
