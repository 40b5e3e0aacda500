// SPDX-License-Identifier: MIT OR Apache-2.0
//! Neighbours that declare, query and publish more than makes sense.

use std::collections::HashMap;

use zonda_codec::{
    Declaration, Declare, Interest, InterestMode, InterestOptions, Mapping, NetworkMessage, Push,
    PushBody, Put, Qos, Query, Request, WireExpr,
};

use crate::hand::{Hand, bytes};
use crate::scene::{LONG, Scene, until};

const MANY: u32 = 100_000;

fn subscriber(id: u32, key: &str) -> Vec<u8> {
    bytes(&Declare::new(Declaration::Subscriber {
        id,
        wire_expr: WireExpr::full(key),
    }))
}

fn key_id(id: u16, expr: WireExpr<'_>) -> Vec<u8> {
    bytes(&Declare::new(Declaration::KeyExpr {
        id,
        wire_expr: expr,
    }))
}

fn push(expr: WireExpr<'_>) -> Vec<u8> {
    bytes(&Push::new(expr, PushBody::Put(Put::new(b"x"))))
}

/// Asserts that the guest is still served, and that nothing of it remains when it leaves.
#[track_caller]
fn is_served_and_forgotten(scene: &Scene, mut guest: Hand) {
    assert!(guest.is_served());
    scene.is_well();
    let zid = guest.zid();
    drop(guest);
    until("the face is forgotten", || scene.link(zid).is_none());
    scene.is_well();
}

#[test]
fn a_flood_of_subscriptions() {
    let scene = Scene::open();
    let mut guest = scene.guest();
    assert!(guest.messages((0..MANY).map(|id| subscriber(id, &format!("flood/{id}/*")))));
    is_served_and_forgotten(&scene, guest);
}

#[test]
fn a_flood_of_key_ids() {
    let scene = Scene::open();
    let mut guest = scene.guest();
    let texts = (0..MANY).map(|number| format!("flood/{number}"));
    assert!(
        guest.messages(
            texts
                .enumerate()
                .map(|(id, text)| key_id(id as u16, WireExpr::full(&text)))
        )
    );
    assert!(guest.is_served());
    let ignored = scene.link(guest.zid()).expect("connected").ignored;
    assert!(
        ignored.id_conflicts > 0,
        "ids that were given out before keep their meaning: {ignored:?}"
    );
    is_served_and_forgotten(&scene, guest);
}

#[test]
fn keys_that_take_long_to_read() {
    let scene = Scene::open();
    let mut guest = scene.guest();
    let long = "k".repeat(60_000);
    let stars = vec!["**/$*a$*"; 6000].join("/");
    let chunks = vec!["*"; 4000].join("/");
    let dollars = format!("{}$*", "$*a".repeat(2500));
    let doubles = vec!["a/**"; 1600].join("/");
    for (id, key) in [&long, &stars, &chunks, &dollars, &doubles]
        .into_iter()
        .enumerate()
    {
        assert!(guest.frame(&subscriber(id as u32, key)));
        assert!(guest.frame(&key_id(id as u16 + 1, WireExpr::full(key))));
        assert!(guest.frame(&push(WireExpr::full(key))));
    }
    assert!(guest.is_served());
    let ignored = scene.link(guest.zid()).expect("connected").ignored;
    let refused = (ignored.bad_keys, ignored.bad_pushes);
    assert_eq!(
        refused,
        (8, 4),
        "what holds too much `$*`, or too many chunks: {ignored:?}"
    );
    is_served_and_forgotten(&scene, guest);
}

/// Keys with as many chunks and wildcards as are allowed, each against all other ones.
#[test]
fn wild_keys_against_wild_keys() {
    let scene = Scene::open();
    let mut guest = scene.guest();
    let one = format!("{}/**/$*b$*/", vec!["a"; 14].join("/"));
    let key = |number: u32| format!("**/{number}/**/{}{number}", one.repeat(15));
    assert!(guest.messages((0..10).map(|id| subscriber(id, &key(id)))));
    assert!(guest.messages((0..10).map(|number| push(WireExpr::full(&key(number))))));
    assert!(guest.is_served());
    let many = format!("{}/**/", ["a"; 7].join("/"));
    let long = |number: u32| format!("**/{number}/**/{}{number}", many.repeat(31));
    assert!(guest.frame(&subscriber(20, &long(20))));
    assert!(guest.frame(&push(WireExpr::full(&long(1)))));
    assert!(guest.is_served());
    let ignored = scene.link(guest.zid()).expect("connected").ignored;
    let refused = (ignored.bad_keys, ignored.bad_pushes);
    assert_eq!(refused, (0, 0), "they are within the limits");
    is_served_and_forgotten(&scene, guest);
}

/// A prefix and a suffix that each have a wire form, and together have none.
#[test]
fn a_key_whose_parts_together_are_too_long() {
    let scene = Scene::open();
    let mut watcher = scene.guest();
    watcher.subscribe(1, "**");
    assert!(watcher.is_served());
    let mut guest = scene.guest();
    for length in [8000, 40_000, 65_000] {
        let prefix = "p".repeat(length);
        let suffix = format!("/{}", "s".repeat(length));
        let id = (length / 100) as u16;
        assert!(guest.frame(&key_id(id, WireExpr::full(&prefix))));
        let expr = |mapping| WireExpr {
            scope: id,
            suffix: &suffix,
            mapping,
        };
        for mapping in [Mapping::Sender, Mapping::Receiver] {
            assert!(guest.frame(&push(expr(mapping))));
            let declaration = Declaration::Subscriber {
                id: 7,
                wire_expr: expr(mapping),
            };
            assert!(guest.frame(&bytes(&Declare::new(declaration))));
        }
    }
    let whole = push(WireExpr::full("the/end"));
    assert!(guest.frame(&whole));
    let arrived = watcher.read_until(|message| match message {
        NetworkMessage::Push(push) => {
            assert!(push.wire_expr.suffix.len() <= 65_535);
            push.wire_expr.suffix.ends_with("the/end") || push.wire_expr.suffix.is_empty()
        }
        _ => false,
    });
    assert!(arrived);
    is_served_and_forgotten(&scene, guest);
}

fn interest(id: u32, mode: InterestMode) -> Vec<u8> {
    bytes(&Interest {
        id,
        mode,
        options: InterestOptions::SUBSCRIBERS,
        wire_expr: None,
        qos: Qos::DECLARE,
        timestamp: None,
        node_id: 0,
    })
}

#[test]
fn a_flood_of_interests() {
    let scene = Scene::open();
    let mut guest = scene.guest();
    let mut asking = guest.other();
    let asked = std::thread::spawn(move || {
        let last = bytes(&Request::new(1, WireExpr::full("last"), Query::default()));
        let questions = (1000..1000 + MANY).map(|id| interest(id, InterestMode::CurrentFuture));
        asking.messages(questions.chain([last]))
    });
    let mut finals = 0_u32;
    let answered = guest.read_until(|message| {
        finals += u32::from(matches!(message, NetworkMessage::Declare(declare) if declare.body == Declaration::Final));
        matches!(message, NetworkMessage::ResponseFinal(_))
    });
    assert!(answered && asked.join().expect("no panic"));
    let ignored = scene.link(guest.zid()).expect("connected").ignored;
    assert!(
        ignored.over_limit > 0,
        "there is a limit: {finals} {ignored:?}"
    );
    assert_eq!(finals, MANY, "what is beyond it has its end as well");
    let zid = guest.zid();
    drop(guest);
    until("the face is forgotten", || scene.link(zid).is_none());
    scene.is_well();
}

/// Sends ever more queries without reading: the router's queue for it has a limit, and then the
/// link is closed.
#[test]
fn questions_without_listening() {
    let scene = Scene::open();
    let mut crowd = scene.quiet_guest();
    let key = |id| format!("crowd/{id}/{}", "long".repeat(50));
    assert!(crowd.messages((0..1000).map(|id| subscriber(id, &key(id)))));
    assert!(crowd.is_served());
    let mut guest = scene.quiet_guest();
    until("it is known", || scene.link(guest.zid()).is_some());
    // Each is answered with all of the crowd. The guest may still be sending when its link is
    // closed.
    guest.messages((1..=1000).map(|id| interest(id, InterestMode::CurrentFuture)));
    until("it is given up", || scene.link(guest.zid()).is_none());
    assert!(crowd.is_served());
    scene.is_rid_of(&mut guest);
}

/// A guest requests more in one frame than can be sent in a minute, and reads all it gets. No
/// honest node waits for long during that time.
#[test]
fn questions_with_listening() {
    const READ: u32 = 200;
    let scene = Scene::open();
    let mut crowd = scene.quiet_guest();
    let key = |id| format!("crowd/{id}/{}", "long".repeat(50));
    assert!(crowd.messages((0..1000).map(|id| subscriber(id, &key(id)))));
    assert!(crowd.is_served());
    let mut guest = scene.quiet_guest();
    let questions = (1..=8000).map(|id| interest(id, InterestMode::CurrentFuture));
    assert!(guest.frame(&questions.collect::<Vec<_>>().concat()));
    let zid = guest.zid();
    let reading = std::thread::spawn(move || {
        let (mut told, mut finals) = (0, 0);
        let read = guest.read_until(|message| {
            if let NetworkMessage::Declare(declare) = message {
                match declare.body {
                    Declaration::Final => finals += 1,
                    _ => told += 1,
                }
            }
            finals == READ
        });
        (read, told, guest)
    });
    let silence = scene.longest_silence(|| reading.is_finished());
    let (read, told, guest) = reading.join().expect("no panic");
    assert!(read && told >= 1000 * READ, "answers come whole: {told}");
    assert!(silence < LONG / 15, "no honest message for {silence:?}");
    assert!(crowd.is_served());
    // The guest leaves in the middle of its answers.
    drop(guest);
    until("the face is forgotten", || scene.link(zid).is_none());
    scene.is_well();
}

#[test]
fn what_never_was() {
    let scene = Scene::open();
    let mut guest = scene.guest();
    let unknown = |scope| WireExpr {
        scope,
        suffix: "",
        mapping: Mapping::Sender,
    };
    for id in [0, 1, 77, u16::MAX] {
        let ends = [
            Declaration::UndeclareKeyExpr { id },
            Declaration::UndeclareSubscriber {
                id: u32::from(id),
                key: None,
            },
            Declaration::UndeclareQueryable {
                id: u32::from(id),
                key: None,
            },
            Declaration::UndeclareToken {
                id: u32::from(id),
                key: Some(unknown(id)),
            },
            Declaration::Subscriber {
                id: u32::from(id),
                wire_expr: unknown(id),
            },
            Declaration::Queryable {
                id: u32::from(id),
                wire_expr: unknown(id),
                info: Default::default(),
            },
            Declaration::Final,
        ];
        assert!(ends.into_iter().all(|end| guest.declare(end)));
        for mapping in [Mapping::Sender, Mapping::Receiver] {
            for suffix in ["", "/x", "a//b", "#", "**/**"] {
                assert!(guest.frame(&push(WireExpr {
                    scope: id,
                    suffix,
                    mapping
                })));
            }
        }
        assert!(guest.frame(&interest(u32::from(id), InterestMode::Final)));
    }
    assert!(guest.is_served());
    let ignored = scene.link(guest.zid()).expect("connected").ignored;
    assert!(
        ignored.unknown_ids >= 12 && ignored.bad_keys >= 4 && ignored.bad_pushes >= 20,
        "{ignored:?}"
    );
    is_served_and_forgotten(&scene, guest);
}

#[test]
fn every_request_has_exactly_one_end() {
    let scene = Scene::open();
    let mut guest = scene.guest();
    const REQUESTS: u32 = 2000;
    let keys = ["some/key", "**", "a//b", "@/**", ""];
    assert!(guest.messages((0..REQUESTS).map(|rid| {
        let key = keys[rid as usize % keys.len()];
        bytes(&Request::new(rid, WireExpr::full(key), Query::default()))
    })));
    let mut ends: HashMap<u32, u32> = HashMap::new();
    assert!(guest.read_until(|message| {
        if let NetworkMessage::ResponseFinal(end) = message {
            *ends.entry(end.rid).or_default() += 1;
        }
        ends.len() == REQUESTS as usize
    }));
    // One more, whose end follows all other ends.
    assert!(guest.frame(&bytes(&Request::new(
        REQUESTS,
        WireExpr::full("last"),
        Query::default()
    ))));
    assert!(guest.read_until(|message| {
        let NetworkMessage::ResponseFinal(end) = message else {
            return false;
        };
        assert_eq!(end.rid, REQUESTS, "no second end");
        true
    }));
    assert!(ends.values().all(|&count| count == 1));
    is_served_and_forgotten(&scene, guest);
}
