// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that a router holds for each subscription and for each connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use zonda::config::AnyRuntime;
use zonda::{Config, Session, Wait};
use zonda_codec::{Declaration, Declare, WhatAmI, WireExpr, ZenohId};
use zonda_router::node::Node;
use zonda_router::table::{Action, FaceId, FaceInfo, FaceKind, ForwardingTable};

use crate::counting::held;
use crate::scene::{thread, until};

const SUBSCRIPTIONS: u32 = 20_000;
const FACES: u32 = 20;

/// Creates a router's table with clients that have declared a subscription on each of
/// `SUBSCRIPTIONS` keys.
fn table(key: impl Fn(u32, u32) -> String) -> (ForwardingTable, Vec<FaceId>) {
    let mut table = ForwardingTable::new(ZenohId::random_from(1), WhatAmI::Router);
    let nobody: &mut Vec<Action> = &mut Vec::new();
    let faces: Vec<FaceId> = (0..FACES)
        .map(|number| {
            let info = FaceInfo {
                zid: ZenohId::random_from(2 + u128::from(number)),
                whatami: WhatAmI::Client,
                kind: FaceKind::Remote,
            };
            table.add_face(info, nobody)
        })
        .collect();
    for id in 0..SUBSCRIPTIONS / FACES {
        for (number, face) in (0..).zip(&faces) {
            let key = key(number, id);
            let wire_expr = WireExpr::full(&key);
            let declare = Declare::new(Declaration::Subscriber { id, wire_expr });
            table.handle_declare(*face, &declare, nobody);
        }
    }
    assert!(nobody.is_empty());
    (table, faces)
}

#[test]
fn a_subscription_takes_few_bytes_and_gives_them_back() {
    let sensor = |face: u32, id: u32| format!("plant/{face}/line/{}/sensor/{}", id / 100, id % 100);
    // Each key has two chunks of its own, one of them too long to be stored inline.
    let device =
        |face: u32, id: u32| format!("plant/{face}/a-device-with-a-long-name-{id}/temperature");
    for (shape, most) in [
        (&sensor as &dyn Fn(u32, u32) -> String, 150),
        (&device, 290),
    ] {
        let before = held();
        let (mut table, faces) = table(shape);
        let each = (held() - before) / i64::from(SUBSCRIPTIONS);
        assert!(
            (50..=most).contains(&each),
            "{each} bytes for each as {}",
            shape(7, 1234)
        );
        let nobody: &mut Vec<Action> = &mut Vec::new();
        let (last, others) = faces.split_last().expect("there are some");
        for face in others {
            table.remove_face(*face, nobody);
        }
        while table.sweep(nobody) {}
        let left = held() - before;
        let own = i64::from(SUBSCRIPTIONS / FACES) * each;
        // The rest is spread over pages that removed faces have left.
        assert!(left < 40 * own, "{left} bytes are left for one of {FACES}");
        table.remove_face(*last, nobody);
        while table.sweep(nobody) {}
        let left = held() - before;
        assert!(left < 64 * 1024, "{left} bytes are left when all are gone");
    }
}

/// Returns the bytes that the thread of this runtime holds.
fn held_by(runtime: &AnyRuntime) -> i64 {
    // A task that allocates here and nowhere else.
    let (tell, told) = sync_channel(1);
    runtime.spawn("probe", move || async move {
        // The test waits for it below.
        let _ = tell.send(held());
    });
    told.recv_timeout(Duration::from_secs(30))
        .expect("the runtime runs")
}

#[test]
fn an_idle_connection_takes_little_also_after_it_was_busy() {
    const CLIENTS: usize = 20;
    const EACH_MAX: i64 = 24 * 1024;
    // A keep-alive each tenth of a second.
    let lease = |mut config: Config| {
        config
            .insert_json5("transport/link/tx/lease", "400")
            .expect("a known key");
        config
    };
    let router_thread = thread();
    let config = lease(Config::router().listen(["tcp/127.0.0.1:0"]))
        .with_runtime_handle(router_thread.clone());
    let router = zonda_runtime::block_on(Node::open(config)).expect("a router");
    let place = router.locators().remove(0).to_string();
    let client_thread = thread();
    let client = || -> Session {
        let config = lease(Config::client([&place])).with_runtime_handle(client_thread.clone());
        zonda::open(config).wait().expect("a client")
    };
    let first = client();
    let before = held_by(&router_thread);
    let clients: Vec<Session> = (0..CLIENTS).map(|_| client()).collect();
    let each = || (held_by(&router_thread) - before) / CLIENTS as i64;
    until("the connections are idle", || {
        router.links().len() == CLIENTS + 1 && each() <= EACH_MAX
    });

    // No message may be left on its way to a subscriber that does not read it.
    let said = Arc::new(AtomicUsize::new(0));
    for client in &clients {
        let said = Arc::clone(&said);
        client
            .declare_subscriber("talk")
            .callback(move |_| {
                said.fetch_add(1, Ordering::Relaxed);
            })
            .background()
            .wait()
            .expect("open");
    }
    let publishers: Vec<_> = clients
        .iter()
        .map(|client| client.declare_publisher("talk").wait().expect("open"))
        .collect();
    for publisher in &publishers {
        until("the publisher is matched", || {
            let status = publisher.matching_status().wait().unwrap();
            status.matching()
        });
        for _ in 0..30 {
            publisher.put(vec![7; 1000]).wait().expect("it is taken");
        }
    }
    until("something was said", || {
        said.load(Ordering::Relaxed) > CLIENTS
    });
    until("the connections are idle again", || each() <= EACH_MAX);
    drop(first);
}
