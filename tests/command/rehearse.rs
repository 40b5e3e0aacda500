// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of `zonda rehearse`: a plan in, tables, JSON and a page out.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::program::{run, zonda};

/// Writes a file of this test's own, with this text.
fn file(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("zonda-{}-{name}", std::process::id()));
    fs::write(&path, text).expect("a file");
    path
}

const PLAN: &str = "{ topology: { shape: 'ring', routers: 4, clients: 1 }, load: { subscribe: ['a/**'], publish: ['a/{node}'] } }";

#[test]
fn a_plan_is_rehearsed() {
    let (plan, page) = (file("ring.json5", PLAN), file("ring.html", ""));
    let names = [&plan, &page].map(|path| path.to_str().expect("a name").to_owned());
    let done = run(&zonda(), &["rehearse", &names[0], "--html", &names[1]]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.contains("busiest links"), "{done:?}");
    assert!(fs::read_to_string(&page).expect("a page").contains("<svg"));
    let done = run(&zonda(), &["rehearse", &names[0], "--json"]);
    let outcome: Value = serde_json::from_str(&done.out).expect("JSON");
    assert_eq!(outcome["load"]["delivered"], 16);
    assert_eq!(outcome["after_loss"]["missing"], 0);
    let bad = file("bad.json5", "{ topology: { routers: 1 }, lod: {} }");
    let done = run(&zonda(), &["rehearse", bad.to_str().expect("a name")]);
    assert_eq!(done.code, Some(1));
    assert!(done.err.contains("lod"), "{done:?}");
    for path in [plan, page, bad] {
        fs::remove_file(path).expect("it is there");
    }
}
