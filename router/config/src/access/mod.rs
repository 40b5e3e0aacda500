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

use std::collections::HashSet;

use crate::{rule::items, value::Value};

/// Reads the items of a list, each with `read`; `None` for null. `word` is the name of an item in
/// errors, `id` returns the id of one.
///
/// # Errors
/// The fault of the first invalid item, or of the first one with the id of another one, after its
/// number; or the form that was expected instead of a list.
fn list<T>(
    word: &str,
    value: &Value,
    read: impl Fn(&Value) -> Result<T, String>,
    id: impl Fn(&T) -> Option<&str>,
) -> Result<Option<Vec<T>>, String> {
    if *value == Value::Null {
        return Ok(None);
    }
    let mut ids = HashSet::new();
    let unique = |value: &Value| {
        let item = read(value)?;
        match id(&item).map(str::to_owned) {
            Some(id) if ids.contains(&id) => return Err(format!("the id {id:?} is repeated")),
            Some(id) => ids.insert(id),
            None => true,
        };
        Ok(item)
    };
    items(word, value, unique).map(Some)
}

/// Returns a name that is not empty.
fn name(text: &str) -> Result<String, String> {
    match text.trim().is_empty() {
        true => Err("an empty text names nothing".into()),
        false => Ok(text.to_owned()),
    }
}
