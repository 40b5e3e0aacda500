// SPDX-License-Identifier: MIT OR Apache-2.0
//! An attacker that does nothing: the bounds hold without an attack.

use crate::roles::Stage;
use crate::world::{Bounds, Load, Setup, World, seconds};

/// Connects, is admitted, and then stays silent.
pub fn silent_guest(stage: &Stage) {
    let _guest = stage.guest();
    stage.say("attacking");
    stage.wait();
}

#[test]
fn a_silent_guest_harms_nobody() {
    let mut world = World::open(Setup::router());
    world.honest(Load::usual());
    world.quiet(seconds(1.0));
    let attack = world.attack("silent_guest", "");
    attack.said("attacking");
    world.attacked(seconds(1.5));
    drop(attack);
    world.verdict().holds(&Bounds::USUAL);
}
