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

/// The plan of the help delivers as it is written. A plan whose keys do not match gets a note.
#[test]
fn the_plan_of_the_help_delivers() {
    let help = run(&zonda(), &["rehearse", "--help"]).out;
    let plan = help.split_once("A plan is JSON5:\n").map(|(_, plan)| plan);
    let plan = plan.and_then(|plan| plan.split("\n\n").next());
    let of_help = file("help.json5", plan.expect("the plan of the help"));
    let apart = PLAN.replace("'a/{node}'", "'b/{node}'");
    let apart = file("apart.json5", &apart);
    let note = "note: no subscriber of the plan wants what is published";
    for (path, delivers) in [(of_help, true), (apart, false)] {
        let done = run(&zonda(), &["rehearse", path.to_str().expect("a name")]);
        assert_eq!(done.code, Some(0), "{done:?}");
        assert_eq!(done.err.contains(note), !delivers, "{done:?}");
        let load = done.out.lines().find(|line| line.starts_with("| load "));
        let cells: Vec<&str> = load.expect("a row").split('|').map(str::trim).collect();
        assert_ne!(cells[3], "0", "published: {done:?}");
        assert_eq!((cells[4] != "0", cells[5]), (delivers, "0"), "{done:?}");
        fs::remove_file(path).expect("it is there");
    }
}

/// The page names the nodes, has the tables and the plan, and marks the links whose loss cuts off
/// more than one node: those between the routers of a line, none in a ring.
#[test]
fn a_page_shows_the_network_and_its_tables() {
    for (shape, wide) in [("line", 3), ("ring", 0)] {
        let text = PLAN.replace("ring", shape);
        let (plan, page) = (file(&format!("{shape}-page.json5"), &text), file(shape, ""));
        let names = [&plan, &page].map(|path| path.to_str().expect("a name").to_owned());
        let done = run(&zonda(), &["rehearse", &names[0], "--html", &names[1]]);
        assert_eq!(done.code, Some(0), "{done:?}");
        let shown = fs::read_to_string(&page).expect("a page");
        assert_eq!(shown.matches("class=\"bridge\"").count(), wide, "{shown}");
        for part in [
            ">r0</text>",
            ">r0c0</text>",
            "<th>delivered</th>",
            "<th>busiest links</th>",
            "prefers-color-scheme: dark",
            &text.replace('<', "&lt;"),
            &format!("zonda {}", env!("CARGO_PKG_VERSION")),
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        for path in [plan, page] {
            fs::remove_file(path).expect("it is there");
        }
    }
}

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
