// SPDX-License-Identifier: MIT OR Apache-2.0
//! Table of `docs/reference/interop.md`: the test of each feature in each position against each release. It
//! is generated from the rows of [`crate::features`], and every name in it must be that of a test.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use crate::environment::{Release, of_release};
use crate::features::{Cells, Feature, MESHES, POSITIONS, SECTIONS};

const HEAD: &str = include_str!("matrix/head.md");

/// Returns the names of all tests of this program.
fn tests() -> BTreeSet<String> {
    let program = std::env::current_exe().expect("this program");
    let output = Command::new(program).arg("--list").output();
    let listed = output.expect("it can be run again").stdout;
    let lines = String::from_utf8_lossy(&listed);
    let names = lines.lines().filter_map(|line| line.strip_suffix(": test"));
    names.map(str::to_owned).collect()
}

/// Returns the tests of a feature in a position.
fn named(feature: &Feature, position: usize, release: Release) -> Vec<String> {
    let in_scenes = |case: &str| {
        let scenes = POSITIONS[position].scenes.iter();
        scenes
            .map(|scene| format!("{}::{scene}::{case}", release.module()))
            .collect()
    };
    match feature.cells {
        Cells::Case(case) => in_scenes(case),
        Cells::Tests(cells) => match cells[position] {
            Ok(test) => vec![of_release(test, release)],
            Err(_) => Vec::new(),
        },
    }
}

/// Returns the text of a cell. The scenes are in the table's head.
fn shown(feature: &Feature, position: usize, release: Release) -> String {
    match feature.cells {
        Cells::Case(case) => format!("`{case}`"),
        Cells::Tests(cells) => match cells[position] {
            Ok(test) => format!("`{}`", of_release(test, release)),
            Err(reason) => reason.to_owned(),
        },
    }
}

fn table(text: &mut String, release: Release) {
    // Head: positions and their scenes.
    let version = release.version();
    let _ = write!(text, "\n## {version}\n\n| |");
    for position in POSITIONS {
        let _ = write!(text, " {} |", position.name);
    }
    text.push_str("\n|---|");
    text.push_str(&"---|".repeat(POSITIONS.len()));
    let _ = write!(text, "\n| tests begin with `{}::` and |", release.module());
    for position in POSITIONS {
        let scenes = position.scenes.iter().map(|scene| format!("`{scene}::`"));
        let _ = write!(text, " {} |", scenes.collect::<Vec<_>>().join(", "));
    }
    text.push('\n');
    // A row for each feature, in sections.
    for (section, features) in SECTIONS {
        let _ = write!(text, "| **{section}** |");
        text.push_str(&" |".repeat(POSITIONS.len()));
        text.push('\n');
        for feature in *features {
            let _ = write!(text, "| {} |", feature.name);
            for position in 0..POSITIONS.len() {
                let _ = write!(text, " {} |", shown(feature, position, release));
            }
            text.push('\n');
        }
    }
}

fn table_of_meshes(text: &mut String, release: Release) {
    text.push_str("\n| routers in a mesh | test |\n|---|---|\n");
    for mesh in MESHES {
        let cell = match mesh.since <= release {
            true => format!("`{}`", of_release(mesh.test, release)),
            false => mesh.reason.to_owned(),
        };
        let _ = writeln!(text, "| {} | {cell} |", mesh.name);
    }
}

fn document() -> String {
    let mut text = HEAD.to_owned();
    let versions = Release::ALL.map(Release::version).join(", ");
    text = text.replace("{versions}", &versions);
    for release in Release::ALL.into_iter().rev() {
        table(&mut text, release);
        table_of_meshes(&mut text, release);
    }
    text
}

#[test]
fn the_document_is_what_the_tests_are() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/interop.md");
    let document = document();
    if std::env::var_os("ZONDA_WRITE_DOCS").is_some() {
        std::fs::write(&file, &document).expect("the folder of the documentation is writable");
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        found == document,
        "docs/reference/interop.md is not what the tests are; write it anew with: \
         ZONDA_WRITE_DOCS=1 cargo test --test interop matrix"
    );
}

#[test]
fn every_cell_is_a_test() {
    let tests = tests();
    let mut missing = Vec::new();
    for release in Release::ALL {
        for (_, features) in SECTIONS {
            for feature in *features {
                let cells = (0..POSITIONS.len()).flat_map(|p| named(feature, p, release));
                missing.extend(cells.filter(|name| !tests.contains(name)));
            }
        }
        let meshes = MESHES.iter().filter(|mesh| mesh.since <= release);
        let meshes = meshes.map(|mesh| of_release(mesh.test, release));
        missing.extend(meshes.filter(|name| !tests.contains(name)));
    }
    assert_eq!(
        missing, [""; 0],
        "these stand in the table and are no tests"
    );
}

#[test]
fn every_test_in_a_scene_is_in_the_table() {
    let mut shown = BTreeSet::new();
    for (_, features) in SECTIONS {
        shown.extend(features.iter().filter_map(|feature| match feature.cells {
            Cells::Case(case) => Some(case),
            Cells::Tests(_) => None,
        }));
    }
    let newest = format!("{}::", Release::NEWEST.module());
    let tests = tests();
    let cases = tests.iter().filter_map(|test| {
        let test = test.strip_prefix(&newest)?;
        test.split_once("::").map(|(_, case)| case)
    });
    let forgotten: BTreeSet<&str> = cases.filter(|case| !shown.contains(case)).collect();
    assert!(forgotten.is_empty(), "{forgotten:?} are in no row");
}
