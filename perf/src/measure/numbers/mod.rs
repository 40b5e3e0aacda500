// SPDX-License-Identifier: MIT OR Apache-2.0
//! One round of a scenario with great numbers of clients or subscriptions.

mod clients;
mod flow;
mod host;
mod idle;
mod many;
mod watch;

use std::time::Duration;

use zonda_program::Failure;

use crate::record::Round;
use crate::roles::Roles;
use crate::scenario::Numbers;

/// Runs one round.
pub fn measure(roles: Roles<'_>, numbers: Numbers) -> Result<Round, Failure> {
    // each connection takes a descriptor at both ends; the started programs inherit the limit
    zonda_router::descriptors::raise();
    let seconds = Duration::from_secs_f64(roles.span.seconds);
    match numbers {
        Numbers::Connections(count) => idle::measure(roles, count as usize, seconds),
        Numbers::Subscriptions(subscriptions, sessions) => {
            let plan = many::Plan {
                subscriptions,
                sessions,
                seconds,
            };
            many::measure(&plan, roles)
        }
    }
}

pub use many::subscription;
