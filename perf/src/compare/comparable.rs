// SPDX-License-Identifier: MIT OR Apache-2.0
//! Comparability of two records: both must measure the same on the same machine. The versions may
//! differ, as this is what a user compares; machine, build and settings may not.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::record::Record;

/// Fields of the machine that must be equal.
const MACHINE: [&str; 4] = ["cpu", "cores", "kernel", "arch"];
/// Fields of the build that must be equal.
const BUILD: [&str; 2] = ["profile", "debug_assertions"];

/// Returns every reason why the two cannot be compared, with both values.
pub fn differences(before: &Record, after: &Record) -> Vec<String> {
    let mut all = Vec::new();
    if before.schema != after.schema {
        all.push(differing("schema", before.schema, after.schema));
    }
    if before.tool != after.tool {
        all.push(differing("tool", &before.tool, &after.tool));
    }
    // machine and build
    for (what, fields, before, after) in [
        ("machine", &MACHINE[..], &before.machine, &after.machine),
        ("build", &BUILD, &before.build, &after.build),
    ] {
        let fields = fields.iter().copied();
        all.extend(fields.filter_map(|name| field(what, name, before.get(name), after.get(name))));
    }
    // settings, of which either record may lack some
    let (before, after) = (&before.settings, &after.settings);
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let settings = names.into_iter();
    // records from before this setting are of TCP
    let tcp = Value::from("tcp");
    let absent = |name: &str| (name == "link").then_some(&tcp);
    all.extend(settings.filter_map(|name| {
        let of = |settings: &'_ Map<String, Value>| settings.get(name).or(absent(name)).cloned();
        field("setting", name, of(before).as_ref(), of(after).as_ref())
    }));
    all
}

fn field(what: &str, name: &str, before: Option<&Value>, after: Option<&Value>) -> Option<String> {
    let (before, after) = (
        before.unwrap_or(&Value::Null),
        after.unwrap_or(&Value::Null),
    );
    (before != after).then(|| differing(&format!("{what} {name}"), before, after))
}

fn differing(what: &str, before: impl std::fmt::Display, after: impl std::fmt::Display) -> String {
    format!("{what} is {before} and {after}")
}
