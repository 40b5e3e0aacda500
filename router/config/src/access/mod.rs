// SPDX-License-Identifier: MIT OR Apache-2.0

//! Access control: the rules, subjects and policies of `access_control`, and their combination.

mod control;
mod permission;
mod policy;
mod rule;
mod subject;
mod traps;

pub use control::{AccessControl, AccessGrant, AccessProblem};
pub use permission::{AccessMode, Permission};
pub(crate) use policy::POLICY;
pub use policy::{AccessPolicy, policies};
pub use rule::{AccessRule, rules};
pub(crate) use subject::SUBJECT;
pub use subject::{AccessSubject, subjects};
pub(crate) use traps::{Trap, traps};

use std::collections::HashSet;

/// Adds an id to those of a list.
///
/// # Errors
/// The list has it already.
fn unique(ids: &mut HashSet<String>, id: &str) -> Result<(), String> {
    match ids.insert(id.to_owned()) {
        true => Ok(()),
        false => Err(format!("the id {id:?} is repeated")),
    }
}

/// Returns a name that is not empty.
fn name(text: &str) -> Result<String, String> {
    match text.trim().is_empty() {
        true => Err("an empty text names nothing".into()),
        false => Ok(text.to_owned()),
    }
}
