// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bounds of the route cache, and what it evicts.

use zonda_codec::WhatAmI;
use zonda_transport::protocol::parameters::Established;

use super::*;
use crate::table::{FaceInfo, FaceKind, ForwardingTable};

pub(crate) fn outbox() -> Arc<Outbox> {
    let established = Established::plain("a1".parse().expect("a valid id"), WhatAmI::Client);
    Arc::new(Outbox::new(&established, 1 << 20, None))
}

fn route(key: &str, outboxes: &[&Arc<Outbox>]) -> Arc<Route> {
    let zid = "a1".parse().expect("a valid id");
    let mut table = ForwardingTable::new(zid, WhatAmI::Router);
    let info = FaceInfo {
        zid,
        whatami: WhatAmI::Client,
        kind: FaceKind::Remote,
    };
    let face = table.add_face(info, &mut Vec::new());
    let hop = |outbox: &&Arc<Outbox>| {
        let spelling = table::Hop {
            face,
            scope: 1,
            mapping: Mapping::Sender,
            suffix: Default::default(),
            node_id: NodeId::ITSELF,
        };
        Hop::new(Arc::clone(outbox), zid, spelling)
    };
    Arc::new(Route {
        validity: Default::default(),
        key: KeyExpr::new(key.to_owned()).expect("a key"),
        remote: outboxes.iter().map(hop).collect(),
        local: Default::default(),
        filtered: None,
    })
}

fn expr(scope: u16, suffix: &str) -> WireExpr<'_> {
    WireExpr {
        scope,
        suffix,
        mapping: Mapping::Sender,
    }
}

#[test]
fn routes_to_the_gone_are_dropped_whatever_they_are_found_by() {
    let mut cache = RouteCache::new(64 << 20, Arc::default());
    let (stays, goes) = (outbox(), outbox());
    let suffixes = ["", "/text", "whole/key"];
    for number in 0..3000 {
        let suffix = format!("{}{number}", suffixes[2]);
        let found_by = [
            expr(number, suffixes[0]),
            expr(number, suffixes[1]),
            expr(0, &suffix),
        ];
        for (at, expr) in found_by.iter().enumerate() {
            let outboxes: &[_] = match (usize::from(number) + at) % 2 {
                0 => &[&stays],
                _ => &[&stays, &goes],
            };
            cache.put(expr, route("k", outboxes));
        }
    }
    let (all, of_the_gone) = (Arc::strong_count(&stays) - 1, Arc::strong_count(&goes) - 1);
    assert_eq!((all, of_the_gone), (9000, 4500));
    cache.sweep(0);
    goes.abort();
    for _ in 0..9000 / SWEEP_MAX + 7 {
        cache.sweep(1);
    }
    assert_eq!(Arc::strong_count(&goes), 1, "none is left");
    assert_eq!(Arc::strong_count(&stays) - 1, 4500, "the others stay");
    let known = (0..3000).filter(|n| cache.get(&expr(*n, "")).is_some());
    assert_eq!(known.count(), 1500);
}

#[test]
fn routes_take_no_more_memory_than_they_may() {
    const MAX: usize = 1 << 20;
    let mut cache = RouteCache::new(MAX, Arc::default());
    let neighbours: Vec<_> = std::iter::repeat_with(outbox).take(20).collect();
    let outboxes: Vec<_> = neighbours.iter().collect();
    let key = "k".repeat(4000);
    for number in 1..2000 {
        cache.put(&expr(number, ""), route(&key, &outboxes));
        let text = format!("text/{number}");
        cache.put(&expr(0, &text), route(&key, &outboxes));
        let memory = cache.memory();
        assert!(memory <= MAX + 64 * 1024, "{memory} bytes after {number}");
        let last = [expr(number, ""), expr(0, &text)];
        assert!(last.iter().all(|expr| cache.get(expr).is_some()));
    }
    // routes that were evicted hold no outbox
    let kept = Arc::strong_count(&neighbours[0]);
    assert!(kept * 8000 <= 2 * MAX, "{kept} routes");
}
