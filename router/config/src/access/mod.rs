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
pub use policy::{AccessPolicy, policies};
pub use rule::{AccessRule, rules};
pub use subject::{AccessSubject, subjects};
pub(crate) use traps::{Trap, traps};

use crate::{rule::unique_items, value::Value};

/// Reads the items of a list, each with `read`; `None` for null. `word` is the name of an item in
/// errors, `id` returns the id of one.
///
/// # Errors
/// The errors of [`unique_items`].
fn list<T>(
    word: &str,
    value: &Value,
    read: impl Fn(&Value) -> Result<T, String>,
    id: impl Fn(&T) -> Option<&str>,
) -> Result<Option<Vec<T>>, String> {
    match value {
        Value::Null => Ok(None),
        value => unique_items(word, value, read, id).map(Some),
    }
}

/// Returns a name that is not empty.
fn name(text: &str) -> Result<String, String> {
    match text.trim().is_empty() {
        true => Err("an empty text names nothing".into()),
        false => Ok(text.to_owned()),
    }
}
