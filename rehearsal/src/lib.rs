// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

//! Rehearses a network before it is built: whole networks of the tables that real nodes route with,
//! in one process, on a virtual clock. A [`Plan`] has the nodes, their links, and what they declare
//! and publish; a [`Rehearsal`] finds how long it takes until all nodes have all declarations, the
//! cost for each link and router, and the nodes that the loss of each link cuts off.
//!
//! ```
//! use zonda_rehearsal::{Plan, Rehearsal};
//!
//! let plan = Plan::parse("{ topology: { shape: 'ring', routers: 5, clients: 2 } }").unwrap();
//! let outcome = Rehearsal::new(&plan).run(&mut |_, _| {});
//! assert!(outcome.bridges.iter().all(|bridge| bridge.cut_off.len() == 1), "a ring has a way around");
//! ```

mod bridges;
mod load;
mod outcome;
mod page;
mod plan;
mod rehearsal;
mod topology;
mod world;

pub use outcome::{Bridge, Change, Delivery, LinkUse, Outcome, RouterUse};
pub use page::{About, page};
pub use plan::{Plan, PlanError};
pub use rehearsal::{Rehearsal, STAGES};
