// SPDX-License-Identifier: MIT OR Apache-2.0
//! Attackers in processes of their own, and the cases that watch what they do to others ([`crate::world`]).

mod silence;

use crate::roles::Stage;

/// What an attacker does.
pub type Attack = fn(&Stage);

/// All attackers by name.
pub const ATTACKS: &[(&str, Attack)] = &[("silent_guest", silence::silent_guest)];
