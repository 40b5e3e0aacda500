// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scouting by multicast, both roles.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use zonda::config::{RuntimeKind, WhatAmI};
use zonda::scouting::{Scout, Use};
use zonda::{Config, OpenError, Operation, Session, Wait};

use crate::namespace::{ADDRESS, Network, inside};
use crate::scene::{LONG, Tally, are_linked, endpoint, linked, open, peer, router, until};

#[test]
fn peers_on_loopback_find_each_other() {
    inside(
        "scouting::peers_on_loopback_find_each_other",
        Network::Loopback,
        || {
            let (one, other) = (open(peer()), open(peer()));
            until("both are linked", || are_linked(&one, &other));
            let tally = Tally::of(&other, "found");
            let publisher = one.declare_publisher("found").wait().expect("it is open");
            until("it is matched", || {
                let status = publisher.matching_status().wait().unwrap();
                status.matching()
            });
            for number in 0..100u64 {
                let put = publisher.put(number.to_le_bytes().to_vec());
                put.wait().expect("it is open");
            }
            tally.await_count(100);
            assert_eq!(tally.numbers(), (0..100).collect::<Vec<_>>());
            assert_eq!(one.info().links().len(), 1, "one link, whoever dialled");
        },
    );
}

#[test]
fn every_runtime_scouts() {
    inside("scouting::every_runtime_scouts", Network::Loopback, || {
        for runtime in RuntimeKind::available() {
            let one = open(peer().with_runtime(runtime));
            let other = open(peer().with_runtime(runtime));
            until(runtime.name(), || are_linked(&one, &other));
            one.close().wait().expect("it closes");
            until("it is gone", || linked(&other).is_empty());
            other.close().wait().expect("it closes");
        }
        until("no thread is left", || scouting_threads() == 0);
    });
}

#[test]
fn many_peers_become_a_mesh() {
    inside("scouting::many_peers_become_a_mesh", Network::Usual, || {
        let config = || Config::peer().with("scouting/delay", "0");
        let peers: Vec<Session> = (0..8).map(|_| open(config())).collect();
        for (at, one) in peers.iter().enumerate() {
            for other in peers.iter().skip(at + 1) {
                until("all are linked", || are_linked(one, other));
            }
        }
        for peer in &peers {
            until("one link each", || peer.info().links().len() == 7);
        }
    });
}

#[test]
fn a_router_on_loopback_is_found_whatever_interface_was_asked_on() {
    let name = "scouting::a_router_on_loopback_is_found_whatever_interface_was_asked_on";
    inside(name, Network::TwoSubnets, || {
        let router = open(router());
        for interface in ["lo", "z0", "z1", ADDRESS, "auto"] {
            let config = Config::client([] as [&str; 0]).with(
                "scouting/multicast/interface",
                &serde_json::json!(interface).to_string(),
            );
            let scout = zonda::scout(WhatAmI::Router, config.clone());
            let scout = scout.wait().expect("it starts");
            let hello = scout.recv_timeout(LONG).expect("it is open");
            let hello = hello.unwrap_or_else(|| panic!("{interface}: {}", scout.report()));
            assert_eq!(
                (hello.zid(), hello.whatami()),
                (router.zid(), WhatAmI::Router)
            );
            let locators: Vec<String> = hello.locators().iter().map(|l| l.to_string()).collect();
            assert_eq!(locators, [endpoint(&router)], "{interface}");
            let client = open(config);
            assert_eq!(linked(&client), BTreeSet::from([router.zid()]));
        }
        assert_eq!(router.info().discovery().scouts.unreachable, 0);
    });
}

#[test]
fn a_wildcard_is_told_as_addresses_that_lead_there() {
    let name = "scouting::a_wildcard_is_told_as_addresses_that_lead_there";
    inside(name, Network::Usual, || {
        let router = open(Config::router().listen(["tcp/[::]:0"]));
        let port = endpoint(&router);
        let port = port.rsplit(':').next().expect("a port");
        let config = Config::default().with("scouting/multicast/interface", "'z0'");
        let scout = zonda::scout(WhatAmI::Router, config).wait();
        let scout = scout.expect("it starts");
        let hello = scout.recv_timeout(LONG).expect("it is open");
        let hello = hello.expect("it answers");
        let told: Vec<String> = hello.locators().iter().map(|l| l.to_string()).collect();
        for address in [ADDRESS, "127.0.0.1"] {
            assert!(told.contains(&format!("tcp/{address}:{port}")), "{told:?}");
        }
        assert!(
            told.iter()
                .all(|l| !l.contains("0.0.0.0") && !l.contains("[::]"))
        );
    });
}

#[test]
fn who_listens_nowhere_is_seen() {
    let name = "scouting::who_listens_nowhere_is_seen";
    inside(name, Network::Loopback, || {
        for config in [Config::peer(), Config::router()] {
            let silent = open(config.listen([] as [&str; 0]));
            let what = silent.info().whatami();
            let scout = zonda::scout(what, Config::default());
            let scout = scout.wait().expect("it starts");
            let hello = scout.recv_timeout(LONG).expect("it is open");
            let hello = hello.unwrap_or_else(|| panic!("{what}: {}", scout.report()));
            let zid = silent.zid();
            assert_eq!((hello.zid(), hello.locators().len()), (zid, 0));
            let shown = format!("Hello {{ zid: {zid}, whatami: {what:?}, locators: [] }}");
            assert_eq!(
                (hello.to_string(), format!("{hello:?}")),
                (shown.clone(), shown)
            );
        }
    });
}

#[test]
fn a_client_without_anybody_says_where_it_asked() {
    let name = "scouting::a_client_without_anybody_says_where_it_asked";
    inside(name, Network::Usual, || {
        let config = Config::client([] as [&str; 0]).with("scouting/timeout", "200");
        let error = zonda::open(config.clone())
            .typed()
            .wait()
            .expect_err("nobody is there");
        assert!(matches!(error, OpenError::NoNodeFound { .. }), "{error:?}");
        let text = error.to_string();
        assert!(!text.contains('\n'), "{text}");
        for word in [
            "200ms",
            "z0",
            "lo",
            "224.0.0.224:7446",
            "connect/endpoints",
            "z1",
        ] {
            assert!(text.contains(word), "{text} lacks {word}");
        }
        let patient = open(config.with("connect/exit_on_failure", "false"));
        assert!(linked(&patient).is_empty());
        let router = open(router());
        until("it is found later", || {
            linked(&patient).contains(&router.zid())
        });
        let off = Config::client([] as [&str; 0]).with("scouting/multicast/enabled", "false");
        let error = zonda::open(off)
            .typed()
            .wait()
            .expect_err("it is told nobody");
        assert_eq!(error, OpenError::NoEndpoint);
    });
}

#[test]
fn a_client_looks_for_another_router_when_its_own_is_gone() {
    let name = "scouting::a_client_looks_for_another_router_when_its_own_is_gone";
    inside(name, Network::Loopback, || {
        let first = open(router());
        let client = open(Config::client([] as [&str; 0]));
        assert!(linked(&client).contains(&first.zid()));
        let second = open(router());
        first.close().wait().expect("it closes");
        until("it has the other", || {
            linked(&client).contains(&second.zid())
        });
        assert_eq!(linked(&client).len(), 1);
    });
}

#[test]
fn a_group_of_ipv6_does_as_well() {
    let name = "scouting::a_group_of_ipv6_does_as_well";
    inside(name, Network::Usual, || {
        let config = || {
            let config = Config::peer().listen(["tcp/[::]:0"]);
            config.with("scouting/multicast/address", "'[ff02::224]:7446'")
        };
        let (one, other) = (open(config()), open(config()));
        until("both are linked", || are_linked(&one, &other));
    });
}

#[test]
fn no_network_keeps_nobody_from_opening() {
    let name = "scouting::no_network_keeps_nobody_from_opening";
    inside(name, Network::Nothing, || {
        let config = Config::peer().listen([] as [&str; 0]);
        let session = open(config.with("scouting/delay", "0"));
        until("it has looked", || {
            let status = session.info().discovery();
            status
                .scouting
                .is_some_and(|report| !report.interfaces.is_empty())
        });
        let report = session.info().discovery().scouting.expect("it scouts");
        let skipped = |usage: &Use| matches!(usage, Use::Skipped(_));
        assert!(
            report.interfaces.iter().all(|i| skipped(&i.usage)),
            "{report:?}"
        );
        let config = Config::client([] as [&str; 0]).with("scouting/timeout", "50");
        let error = zonda::open(config).wait().expect_err("nobody is there");
        assert!(
            error.to_string().contains("no interface can be used"),
            "{error}"
        );
    });
}

#[test]
fn an_interface_that_is_not_there_is_said_and_left_out() {
    let name = "scouting::an_interface_that_is_not_there_is_said_and_left_out";
    inside(name, Network::Loopback, || {
        let config = || peer().with("scouting/multicast/interface", "'lo, wlan7'");
        let (one, other) = (open(config()), open(config()));
        until("both are linked", || are_linked(&one, &other));
        let report = one.info().discovery().scouting.expect("it scouts");
        let missing = report.interfaces.iter().find(|i| i.name == "wlan7");
        let why = Use::Skipped("there is no such interface".to_owned());
        assert_eq!(missing.map(|i| &i.usage), Some(&why));
    });
}

#[test]
fn closing_ends_scouting_at_once() {
    inside(
        "scouting::closing_ends_scouting_at_once",
        Network::Usual,
        || {
            let sessions: Vec<Session> = (0..5).map(|_| open(router())).collect();
            until("all have sockets", || bound_to_the_group() == 10);
            assert_eq!(scouting_threads(), 5);
            for session in &sessions {
                session.close().wait().expect("it closes");
            }
            until("no thread is left", || scouting_threads() == 0);
            assert_eq!(bound_to_the_group(), 0);
        },
    );
}

#[test]
fn the_command_shows_who_is_there_and_why_nobody_is() {
    let name = "scouting::the_command_shows_who_is_there_and_why_nobody_is";
    inside(name, Network::Usual, || {
        let run = |arguments: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_zonda"));
            let output = command.arg("scout").args(arguments).output();
            let output = output.expect("the command is built beside this test");
            let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
            (
                output.status.code(),
                text(output.stdout),
                text(output.stderr),
            )
        };
        let (code, out, err) = run(&["--timeout", "0.1", "--explain"]);
        assert_eq!(code, Some(1), "{err}");
        assert_eq!(err.lines().count(), 1, "{err}");
        assert!(err.contains("no router|peer answered"), "{err}");
        assert!(out.contains("z0 (10.249.62.1"), "{out}");
        assert!(out.contains("left out, it has no IPv4 address"), "{out}");
        let router = open(router());
        until("it hears the group", || bound_to_the_group() == 2);
        let (code, out, err) = run(&["--timeout", "2", "--what", "router", "--json", "--explain"]);
        assert_eq!((code, err.as_str()), (Some(0), ""));
        let lines: Vec<serde_json::Value> = out
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        assert_eq!(lines[0]["event"], "hello");
        assert_eq!(lines[0]["zid"], router.zid().to_string());
        assert_eq!(lines[0]["locators"][0], endpoint(&router));
        let report = lines.last().expect("a report");
        assert_eq!(
            (&report["event"], &report["nodes"]),
            (&"report".into(), &1.into())
        );
        router.close().wait().expect("it closes");
        // A router's addresses come in another order by each interface; it is one router, and the
        // command need not look on.
        let everywhere = open(
            Config::router().listen(["tcp/127.0.0.1:0".to_owned(), format!("tcp/{ADDRESS}:0")]),
        );
        assert!(everywhere.info().locators().len() > 1);
        until("it hears the group", || bound_to_the_group() == 2);
        let begun = Instant::now();
        let (code, out, err) = run(&["--what", "router"]);
        assert_eq!((code, err.as_str()), (Some(0), ""));
        assert_eq!(out.lines().count(), 1, "{out}");
        assert!(
            begun.elapsed() < Duration::from_secs(2),
            "{:?}",
            begun.elapsed()
        );
        let (code, _, err) = run(&["--what", "boss"]);
        assert_eq!(code, Some(2), "{err}");
    });
}

#[test]
fn who_does_not_listen_to_the_group_is_not_found() {
    let name = "scouting::who_does_not_listen_to_the_group_is_not_found";
    inside(name, Network::Loopback, || {
        let deaf = open(router().with("scouting/multicast/listen", "false"));
        let hearing = open(router());
        let scout = zonda::scout(WhatAmI::Router, Config::default()).wait();
        let scout = scout.expect("it starts");
        let mut seen = BTreeSet::new();
        // the answer to the second Scout comes a second after the first
        while seen.len() < 2 && scout.report().interfaces.iter().all(|i| i.asked < 2) {
            if let Ok(Some(hello)) = scout.recv_timeout(Duration::from_millis(20)) {
                seen.insert(hello.zid());
            }
        }
        assert_eq!(seen, BTreeSet::from([hearing.zid()]));
        assert!(deaf.info().discovery().scouting.is_none());
    });
}

/// Counts the threads of this process that scout.
fn scouting_threads() -> usize {
    let tasks = fs::read_dir("/proc/self/task").expect("Linux has it");
    let names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.trim() == "zonda-scout").count()
}

/// Counts the sockets of this network that are bound to the group's port.
fn bound_to_the_group() -> usize {
    let table = fs::read_to_string("/proc/self/net/udp").expect("Linux has it");
    let port = format!(":{:04X} ", 7446);
    let local = table.lines().skip(1).filter(|line| {
        let address = line.split_whitespace().nth(1).unwrap_or("");
        format!("{address} ").ends_with(&port)
    });
    local.count()
}

/// A callback that opens a session, publishes there, ends its own search and panics harms no other search.
#[test]
fn a_callback_may_do_anything() {
    let name = "scouting::a_callback_may_do_anything";
    inside(name, Network::Loopback, || {
        let router = open(router());
        let tally = Tally::of(&router, "found");
        let slot = Arc::<Mutex<Option<Scout<()>>>>::default();
        let (own, address) = (slot.clone(), endpoint(&router));
        let scout = zonda::scout(WhatAmI::Router, Config::default()).callback(move |hello| {
            let taken = own.lock().expect("nobody panics with it").take();
            let Some(scout) = taken else { return };
            assert_eq!(hello.locators()[0].to_string(), address);
            let client = open(Config::client([&address]));
            let put = client.put("found", 7u64.to_le_bytes().to_vec());
            put.wait().expect("it is open");
            client.close().wait().expect("it closes");
            scout.stop();
            panic!("a bad callback (this panic belongs to the test)");
        });
        let scout = scout.wait().expect("it starts");
        *slot.lock().expect("nobody panics with it") = Some(scout);
        tally.await_count(1);
        until("its thread is gone", || Arc::strong_count(&slot) == 1);
        assert_eq!(tally.numbers(), [7]);
    });
}
