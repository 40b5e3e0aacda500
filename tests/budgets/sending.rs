// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work of a put on its own thread: locks and writes, without the help of any other thread.

use std::time::Instant;

use zonda::bytes::ZBytes;
use zonda_transport::outbox::TICK;

use crate::scene::Line;

#[test]
fn an_express_put_is_one_write_by_its_own_thread() {
    let line = Line::direct();
    let publisher = line.publisher(true);
    let payload = ZBytes::from(vec![7; 64]);
    line.pump(100, 1, || Line::put(&publisher, &payload));
    let before = line.sent();
    const PUTS: u64 = 500;
    line.pump(PUTS, 1, || Line::put(&publisher, &payload));
    let after = line.sent();
    assert_eq!(
        after.writes_driver, before.writes_driver,
        "the driver has no part in it"
    );
    let writes = after.writes_direct - before.writes_direct;
    // A keep-alive is a write as well; one is due every 2.5 s.
    assert!(
        (PUTS..PUTS + 5).contains(&writes),
        "{writes} writes for {PUTS} puts"
    );
}

#[test]
fn a_burst_is_written_in_large_pieces() {
    let line = Line::direct();
    let publisher = line.publisher(false);
    let payload = ZBytes::from(vec![7; 8]);
    line.pump(1000, 1000, || Line::put(&publisher, &payload));
    let before = line.sent();
    const PUTS: u64 = 10_000;
    let begin = Instant::now();
    line.pump(PUTS, PUTS, || Line::put(&publisher, &payload));
    let ticks = u64::try_from(begin.elapsed().as_nanos() / TICK.as_nanos()).expect("not that long");
    let after = line.sent();
    let writes =
        after.writes_direct + after.writes_driver - before.writes_direct - before.writes_driver;
    // One for each full batch, and one for each tick that the burst lasted, however slow the machine is.
    let batches = PUTS * 18 / 60_000 + 1;
    let most = batches + ticks + 20;
    assert!(
        writes <= most.min(PUTS / 2),
        "{writes} writes for {PUTS} puts in {ticks} ticks"
    );
    let bytes = after.bytes - before.bytes;
    assert!(bytes <= 18 * PUTS, "{bytes} bytes for {PUTS} puts of 8");
}

#[cfg(debug_assertions)]
mod locks {
    use super::*;
    use zonda_transport::sync::{LockCounts, taken};

    use crate::scene::taken_by;

    /// Number of periodic events of the node apart from messages: leases, keep-alives, memory.
    const NOW_AND_THEN: u64 = 40;

    /// Connections of a router share its state. A message on a route that is known takes the locks
    /// of its egress connection, and no other one: with more processors more connections are served
    /// at once.
    #[test]
    fn a_router_takes_no_lock_that_all_connections_share() {
        const MESSAGES: u64 = 2000;
        let line = Line::routed();
        for size in [8, 1024, 65_536] {
            let publisher = line.publisher(false);
            let payload = ZBytes::from(vec![7; size]);
            let put = || Line::put(&publisher, &payload);
            line.pump(500, 1, put);
            let before = taken_by(line.router_thread());
            line.pump(MESSAGES, 20, put);
            let after = taken_by(line.router_thread());
            let (node, locked) = (after.node - before.node, after.locked - before.locked);
            println!("{size} B: {node} of {locked} locks were the node's, {MESSAGES} messages");
            assert!(node <= NOW_AND_THEN, "{node} for {MESSAGES} of {size} B");
            assert!(
                locked <= 8 * MESSAGES,
                "{locked} for {MESSAGES} of {size} B"
            );
        }
    }

    /// Returns the locks that each of many puts took.
    fn by_putting(line: &Line, express: bool) -> Vec<LockCounts> {
        let publisher = line.publisher(express);
        let payload = ZBytes::from(vec![7; 8]);
        // By then all declarations of the neighbour have arrived, and the route is cached.
        line.pump(500, 1, || Line::put(&publisher, &payload));
        let mut all = Vec::with_capacity(2000);
        line.pump(2000, 200, || {
            let before = taken();
            Line::put(&publisher, &payload);
            let after = taken();
            all.push(LockCounts {
                locked: after.locked - before.locked,
                tried: after.tried - before.tried,
                node: after.node - before.node,
            });
        });
        all
    }

    #[test]
    fn a_put_takes_the_lane_and_nothing_else() {
        let line = Line::direct();
        let puts = by_putting(&line, false);
        assert!(puts.iter().all(|put| put.locked >= 1), "the lane's");
        let queued = puts.iter().filter(|put| put.tried == 0);
        for put in queued.clone() {
            assert_eq!(
                put.locked, 1,
                "a put that waits for company takes its lane, once"
            );
            assert_eq!(put.node, 0, "nothing that others share");
        }
        assert!(
            queued.count() * 10 >= puts.len() * 5,
            "most puts of a burst wait for company"
        );
        for put in puts.iter().filter(|put| put.tried > 0) {
            // The lane to put, the writer's election, the lane again to take the ready batch; once
            // more if more came.
            assert!(put.tried <= 2 && put.locked <= 4, "{put:?}");
        }
    }

    #[test]
    fn an_express_put_takes_its_lane_and_the_exit() {
        let line = Line::direct();
        for put in by_putting(&line, true) {
            assert!((1..=2).contains(&put.tried) && put.locked <= 4, "{put:?}");
        }
    }
}
