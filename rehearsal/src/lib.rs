// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

//! Rehearses a network before it is built: whole networks of the tables that real nodes route with, in one process, on a
//! virtual clock. A [`Plan`] says who there is, which of them are linked, and what they declare and publish; a [`Rehearsal`] says
//! how long it takes until all know what there is, what that costs each link and each router, and who is cut off by
//! the loss of which link.
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
