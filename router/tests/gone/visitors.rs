// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clients that connect one at a time, get a message, and leave, while a publisher stays.

use zonda_codec::{Declaration, Mapping, Qos, WireExpr};

use crate::{address_of, alone, descriptors, guest::Guest, open, resident, router, until};

/// Key ids of the publisher.
const IDS: u16 = 1100;

fn key(scope: u16) -> WireExpr<'static> {
    WireExpr {
        scope,
        suffix: "",
        mapping: Mapping::Sender,
    }
}

fn publisher(address: std::net::SocketAddr) -> Guest {
    let mut publisher = Guest::connect(address);
    for id in 1..=IDS {
        let key = format!("news/{id}");
        let wire_expr = WireExpr::full(&key);
        assert!(publisher.declare(Declaration::KeyExpr { id, wire_expr }));
    }
    publisher
}

/// The node uses one descriptor for a link; the client's end is another one.
#[test]
fn a_link_takes_one_descriptor() {
    let _alone = alone();
    let node = open(router());
    let address = address_of(&node);
    let first = Guest::connect(address);
    until("it is connected", || node.links().len() == 1);
    let before = descriptors();
    let guests: Vec<Guest> = (0..50).map(|_| Guest::connect(address)).collect();
    until("all are connected", || node.links().len() == 51);
    until("two for each", || {
        descriptors() <= before + 2 * guests.len()
    });
    drop(first);
}

/// Each client subscribes to a key id of its own, so the route of that id leads to it alone.
#[test]
fn routes_to_visitors_hold_no_sockets() {
    let _alone = alone();
    let node = open(router());
    let address = address_of(&node);
    let mut publisher = publisher(address);
    let mut first = None;
    for id in 1..=300 {
        let mut visitor = Guest::connect(address);
        assert!(visitor.subscribe(1, "news/**") && visitor.is_served());
        assert!(publisher.put([key(id)], Qos::DATA, b"hello") && visitor.gets_a_push());
        let zid = visitor.zid;
        drop(visitor);
        until("it is gone", || {
            node.links().iter().all(|link| link.zid != zid)
        });
        if id == 20 {
            first = Some(descriptors());
        }
    }
    let allowed = first.expect("there were 20") + 4;
    assert!(publisher.keep_alive());
    until("no more descriptors than after 20", || {
        descriptors() <= allowed
    });
}

/// Clients that read nothing leave with megabytes queued for them.
#[test]
fn routes_to_visitors_hold_no_queues() {
    let _alone = alone();
    let node = open(router());
    let address = address_of(&node);
    let mut publisher = publisher(address);
    let mut first = None;
    for id in 1..=120 {
        let mut visitor = Guest::connect(address);
        assert!(visitor.subscribe(1, "news/**") && visitor.is_served());
        assert!(publisher.put([key(id); 64], Qos::DATA, &[7; 50_000]));
        let waits = |link: &zonda_router::node::LinkStatus| {
            let queued: usize = link.priorities.iter().map(|p| p.queued_bytes).sum();
            link.zid == visitor.zid && queued >= 400_000
        };
        until("much is queued", || node.links().iter().any(waits));
        let zid = visitor.zid;
        drop(visitor);
        until("it is gone", || {
            node.links().iter().all(|link| link.zid != zid)
        });
        if id == 20 {
            first = Some(resident());
        }
    }
    let first = first.expect("there were 20");
    until("no more memory than after 20", || {
        resident() < first + (24 << 20)
    });
}
