// SPDX-License-Identifier: MIT OR Apache-2.0

//! A process that is forked while a session is open: each operation there fails at once with this
//! reason, and the session of the parent is undisturbed. One test in a process of its own, since a
//! fork copies all of it.
#![cfg(unix)]

mod pair;

use std::time::{Duration, Instant};

use fork::Fork;
use pair::{LONG, connected_to, until_matched};
use zonda::config::{RuntimeKind, WhatAmI};
use zonda::handlers::{RecvError, RingChannel};
use zonda::pubsub::{Publisher, Subscriber};
use zonda::qos::CongestionControl;
use zonda::query::{Querier, Queryable};
use zonda::{CloseError, Config, DeclareError, GetError, Operation, PublishError, Session, Wait};

const SAID: &str =
    "this process was forked off after the session was opened: open a session here, or fork before";

/// Returns the faults that the child finds.
fn faults(
    kind: RuntimeKind,
    session: Session,
    publisher: &Publisher,
    subscriber: Subscriber,
    asked: (Querier<'_>, Queryable),
) -> Vec<String> {
    let mut faults = Vec::new();
    let mut check = |right: bool, what: &str| {
        if !right {
            faults.push(what.to_owned());
        }
    };
    let published = publisher.put("from the child").typed().wait();
    check(published == Err(PublishError::Forked), "publisher.put");
    let published = session.put("demo/other", "x").typed().wait();
    check(published == Err(PublishError::Forked), "session.put");
    let said = PublishError::Forked.to_string();
    check(said == SAID, "the text");
    let declared = session.declare_subscriber("demo/**").typed().wait();
    check(
        matches!(declared, Err(DeclareError::Forked)),
        "declare_subscriber",
    );
    let declared = session.declare_publisher("demo/key").typed().wait();
    check(
        matches!(declared, Err(DeclareError::Forked)),
        "declare_publisher",
    );
    queries(&session, asked, &mut check);
    check(subscriber.recv().err() == Some(RecvError::Forked), "recv");
    check(
        subscriber.try_recv().err() == Some(RecvError::Forked),
        "try_recv",
    );
    let discovery = session.info().discovery();
    check(discovery.scouting.is_none(), "discovery");
    check(
        session.is_closed() && session.info().links().is_empty(),
        "info",
    );
    check(
        session.close().typed().wait() == Err(CloseError::Forked),
        "close",
    );
    drop(subscriber);
    drop(session);
    // A session of the child works where the runtime can be started a second time.
    let own = zonda::open(
        Config::peer()
            .listen(["tcp/127.0.0.1:0"])
            .with_runtime(kind),
    )
    .wait();
    let may_fail = matches!(kind, RuntimeKind::Smol | RuntimeKind::AsyncStd);
    match own {
        Ok(own) => {
            let heard = own
                .declare_subscriber("own")
                .with(RingChannel::new(3))
                .wait();
            check(own.put("own", "x").wait().is_ok(), "its put");
            let heard = heard.ok().and_then(|heard| heard.recv().ok());
            check(heard.is_some(), "a session of its own");
            check(own.close().wait().is_ok(), "its close");
        }
        Err(error) => check(may_fail, &format!("open: {error}")),
    }
    faults
}

/// Returns the faults of queries that the child finds.
fn queries(
    session: &Session,
    (querier, queryable): (Querier<'_>, Queryable),
    check: &mut impl FnMut(bool, &str),
) {
    let declared = session.declare_queryable("demo/**").typed().wait();
    let is_forked = matches!(declared, Err(DeclareError::Forked));
    check(is_forked, "declare_queryable");
    let declared = session.declare_querier("demo/key").typed().wait();
    let is_forked = matches!(declared, Err(DeclareError::Forked));
    check(is_forked, "declare_querier");
    let get = session.get("demo/key").typed().wait();
    check(matches!(get, Err(GetError::Forked)), "get");
    let get = querier.get().typed().wait();
    check(matches!(get, Err(GetError::Forked)), "querier.get");
    let query = queryable.recv();
    check(query.err() == Some(RecvError::Forked), "queryable.recv");
    drop((querier, queryable));
}

fn forked_while_open(kind: RuntimeKind) {
    let a = zonda::open(
        scouting(Config::peer())
            .listen(["tcp/127.0.0.1:0"])
            .with_runtime(kind),
    )
    .wait()
    .unwrap();
    let b = connected_to(&a, Config::client([] as [&str; 0]).with_runtime(kind));
    let subscriber = b.declare_subscriber("demo/**").wait().unwrap();
    let own = a.declare_subscriber("nothing/**").wait().unwrap();
    let queryable = a.declare_queryable("asked").wait().unwrap();
    let querier = a.declare_querier("asked").wait().unwrap();
    let publisher = a
        .declare_publisher("demo/key")
        .congestion_control(CongestionControl::Block)
        .wait()
        .unwrap();
    until_matched(&publisher);
    publisher.put("before").wait().unwrap();
    match fork::fork().unwrap() {
        Fork::Child => {
            let asked = (querier, queryable);
            let faults = faults(kind, a.clone(), &publisher, own, asked);
            for fault in &faults {
                eprintln!("in the child, on {kind}: {fault}");
            }
            // The child must not return: the test harness's threads are missing.
            std::process::exit(i32::from(!faults.is_empty()));
        }
        Fork::Parent(child) => {
            let deadline = Instant::now() + LONG;
            let status = loop {
                if let Some(status) = fork::waitpid_nohang(child).unwrap() {
                    break status;
                }
                assert!(Instant::now() < deadline, "the child hangs on {kind}");
                std::thread::sleep(Duration::from_millis(1));
            };
            assert_eq!(status, 0, "the child's outcome on {kind}");
        }
    }
    publisher.put("after").wait().unwrap();
    for expected in ["before", "after"] {
        let sample = subscriber.recv_timeout(LONG).unwrap().expect(expected);
        assert_eq!(sample.payload().try_to_string().unwrap(), expected);
    }
    let replies = querier.get().wait().unwrap();
    let query = queryable.recv_timeout(LONG).unwrap().expect("a query");
    query.reply("asked", "after").wait().unwrap();
    drop(query);
    assert_eq!(replies.iter().filter(|r| r.result().is_ok()).count(), 1);
    assert_eq!(a.info().links().len(), 1);
    if cfg!(target_os = "linux") {
        let scout = zonda::scout(WhatAmI::Peer, scouting(Config::default()));
        let hello = scout.wait().unwrap().recv_timeout(LONG).unwrap();
        assert_eq!(hello.map(|hello| hello.zid()), Some(a.zid()));
    }
    a.close().wait().unwrap();
}

/// Scouts on this machine only, in a group without any other member.
fn scouting(config: Config) -> Config {
    config
        .with("scouting/multicast/enabled", "true")
        .with("scouting/multicast/interface", "'127.0.0.1'")
        .with("scouting/multicast/address", "'224.0.0.225:17446'")
        .with("scouting/delay", "0")
}

#[test]
fn a_process_forked_off_from_an_open_session_is_told() {
    for kind in RuntimeKind::available() {
        forked_while_open(kind);
    }
}
