// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules for documents: the map of folders in the readme is complete, and links have targets.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::none;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the folders at the top that belong to the project.
fn folders() -> Vec<String> {
    let ignored = read(&root().join(".gitignore"));
    let is_ignored = |name: &str| ignored.lines().any(|line| line.trim_matches('/') == name);
    let entries = fs::read_dir(root()).expect("the folder of the project");
    let entries = entries.map(|entry| entry.expect("an entry"));
    let folders = entries.filter(|entry| entry.path().is_dir());
    folders
        .map(|folder| folder.file_name().to_string_lossy().into_owned())
        .filter(|name| !name.starts_with('.') && !is_ignored(name))
        .collect()
}

/// Folders with documents.
const FOLDERS: [&str; 11] = [
    "",
    "docs/guides",
    "docs/concepts",
    "docs/reference",
    "docs/records",
    "docs/records/measurements",
    "bridges/kafka",
    "loom",
    "fuzz",
    "peers/zenoh",
    "peers/message-io",
];

/// Returns the documents in [`FOLDERS`].
fn documents() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in FOLDERS.map(|folder| root().join(folder)) {
        let entries = fs::read_dir(folder).expect("a folder");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        found.extend(paths.filter(|path| path.extension().is_some_and(|end| end == "md")));
    }
    found
}

/// Returns the targets of a document's links that stay within the project.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1);
    let targets = targets.filter_map(|rest| Some(rest.split_once(')')?.0));
    let files = targets.map(|target| target.split('#').next().unwrap_or_default());
    files
        .filter(|file| !file.is_empty() && !file.contains(':') && !file.contains(' '))
        .collect()
}

fn missing(map: &str, folders: &[String]) -> Vec<String> {
    let named = |name: &String| map.contains(&format!("`{name}/"));
    folders
        .iter()
        .filter(|name| !named(name))
        .cloned()
        .collect()
}

#[test]
fn the_readme_names_every_folder() {
    let readme = read(&root().join("README.md"));
    let (_, map) = readme.split_once("## Folders").expect("the map of folders");
    assert!(folders().len() > 8, "{:?}", folders());
    none("a folder is on the map", &missing(map, &folders()));
    assert_eq!(missing("`codec/`", &["codec".into(), "x".into()]), ["x"]);
}

#[test]
fn links_lead_to_files() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = read(&document);
        let folder = document.parent().expect("it lies in a folder");
        let lost = links(&text).into_iter();
        let lost = lost.filter(|file| !folder.join(file).exists());
        broken.extend(lost.map(|file| format!("{}: {file}", document.display())));
    }
    none("a link leads to a file", &broken);
    let text = "[a](b.md#c) and [d](https://github.com) and [f](#g)";
    assert_eq!(links(text), ["b.md"]);
}

#[test]
fn each_document_lies_in_one_of_four_folders() {
    let entries = fs::read_dir(root().join("docs")).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let names: BTreeSet<_> = names
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    let folders = ["concepts", "guides", "records", "reference"].map(str::to_owned);
    assert_eq!(names, BTreeSet::from(folders));
}

#[test]
fn pictures_are_well_formed() {
    let entries = fs::read_dir(root().join("docs/records/measurements")).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let pictures: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "svg"))
        .collect();
    assert!(!pictures.is_empty());
    for picture in pictures {
        if let Err(error) = roxmltree::Document::parse(&read(&picture)) {
            panic!("{}: {error}", picture.display());
        }
    }
}
