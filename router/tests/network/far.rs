// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries whose answering node, or a router on the way to it, is lost: they end when the loss is
//! known, before their timeout.

use std::time::Duration;

use zonda_codec::WhatAmI::{Client, Router};

use crate::world::World;

/// Two clients at the ends of a line of four routers.
const LINE: (&[zonda_codec::WhatAmI], &[(usize, usize)]) = (
    &[Router, Router, Router, Router, Client, Client],
    &[(1, 0), (2, 1), (3, 2), (4, 0), (5, 3)],
);

/// Time below the timeout of a query.
const SOON: Duration = Duration::from_secs(1);

#[test]
fn a_question_ends_when_a_link_on_its_way_is_lost() {
    for lost in 0..LINE.1.len() {
        for seed in 0..5 {
            let mut world = World::new(seed, LINE);
            world.act(5, |node, actions| node.answer(1, "far/away", actions));
            world.rest();
            let rid = world.ask(4, "far/away");
            while world.asked.is_empty() {
                let next = world.next_event().expect("it is on its way");
                world.run_until(next);
            }
            world.break_now(lost);
            let until = world.now() + SOON;
            world.run_until(until);
            let question = &world.nodes[4].questions[&rid];
            assert!(question.ended, "seed {seed}: link {lost} is lost");
            assert_eq!(world.nodes[4].table.open_queries(), 0);
        }
    }
}
