// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules against text that belongs to one machine, and links without a public target.

use super::none;
use super::source::{File, Source, files, place, sources};

/// Prefixes of paths that exist on one machine only, in halves so that this file does not contain
/// them.
const MACHINE_PATHS: [[&str; 2]; 6] = [
    ["/wo", "rk/"],
    ["/tm", "p/"],
    ["/ho", "me/"],
    ["/ro", "ot/"],
    ["/Use", "rs/"],
    ["C:", "\\"],
];

/// Files that contain a machine's path for a reason.
const WITH_REASON: [(&str, &str); 2] = [
    (
        "codec/tests/locator.rs",
        "addresses of sockets in the file system",
    ),
    (
        "tests/golden/vectors.json",
        "recorded addresses of sockets in the file system",
    ),
];

/// Hosts that links may lead to.
const HOSTS: [&str; 8] = [
    "github.com",
    "zenoh.io",
    // the study of HTTP in, Kafka out
    "shbhmrzd.github.io",
    "docs.rs",
    "crates.io",
    "www.apache.org",
    "doc.rust-lang.org",
    // the name of the language of pictures
    "www.w3.org",
];

fn machine_paths(file: &File) -> Vec<String> {
    let mut places = Vec::new();
    for path in MACHINE_PATHS.map(|halves| halves.concat()) {
        for (at, _) in file.text.match_indices(&path) {
            // a key or a wire path may have such a part in its middle
            let is_start =
                !file.text[..at].ends_with(|c: char| c.is_alphanumeric() || "_*}-.@".contains(c));
            if is_start {
                places.push(place(&file.path, &file.text, at));
            }
        }
    }
    places
}

fn strange_links(file: &File) -> Vec<String> {
    let mut places = Vec::new();
    for (at, scheme) in file.text.match_indices("://") {
        let before = &file.text[..at];
        if !before.ends_with("http") && !before.ends_with("https") {
            continue;
        }
        let after = &file.text[at + scheme.len()..];
        let host = after
            .split(|c: char| !c.is_alphanumeric() && !".-".contains(c))
            .next()
            .unwrap_or("");
        // a scheme without a host leads nowhere, as in a format of addresses
        if host.is_empty() {
            continue;
        }
        // the domain that is reserved for examples has no hosts
        let is_nobodys = host.to_ascii_lowercase().ends_with(".example");
        let is_local = matches!(host, "127.0.0.1" | "localhost") || is_nobodys;
        if !is_local && !HOSTS.contains(&host.trim_end_matches('.')) {
            places.push(format!("{} {host}", place(&file.path, &file.text, at)));
        }
    }
    places
}

/// Words that leave open who acts. In halves, as this file is checked as well.
const RIDDLES: [[&str; 2]; 3] = [["who", "ever"], ["who", "m"], ["to", "ld"]];

/// Returns true if prose contains such a word, except in names of the code.
fn is_riddle(prose: &str) -> bool {
    let spoken: String = prose.split('`').step_by(2).collect();
    let mut words = spoken.split(|c: char| !c.is_alphanumeric() && c != '_');
    let riddles = RIDDLES.map(|halves| halves.concat());
    words.any(|word| riddles.contains(&word.to_lowercase()))
}

/// Returns the lines of prose with such words.
fn riddling<'t>(path: &str, lines: impl Iterator<Item = Option<&'t str>>) -> Vec<String> {
    let numbered = lines.enumerate();
    let found = numbered.filter(|(_, prose)| prose.is_some_and(is_riddle));
    found
        .map(|(number, _)| format!("{path}:{}", number + 1))
        .collect()
}

/// Returns the comments of the product with such words.
fn riddles(file: &File) -> Vec<String> {
    let is_product = |path: &str| path.starts_with("src/") || path.contains("/src/");
    let is_test = |path: &str| path.contains("/tests") || path.ends_with("tests.rs");
    let others = ["benches/", "fuzz/", "peers/", "tests/"];
    if !is_product(&file.path)
        || is_test(&file.path)
        || others.iter().any(|folder| file.path.starts_with(folder))
    {
        return Vec::new();
    }
    let comments = file.text.lines().map(|line| Some(line.split_once("//")?.1));
    riddling(&file.path, comments)
}

/// Returns the documents for users and developers with such words.
fn riddles_of_documents(file: &File) -> Vec<String> {
    let is_document =
        file.path.ends_with(".md") && (file.path.starts_with("docs/") || !file.path.contains('/'));
    match is_document {
        true => riddling(&file.path, file.text.lines().map(Some)),
        false => Vec::new(),
    }
}

/// Returns the texts of the product with such words: error messages, help, meanings of keys. A
/// literal without a space is a name.
fn riddles_of_texts(source: &Source) -> Vec<String> {
    let quotes: Vec<usize> = (source.product.match_indices('"'))
        .map(|(at, _)| at)
        .collect();
    let mut places = Vec::new();
    for ends in quotes.chunks_exact(2) {
        let text = &source.text[ends[0] + 1..ends[1]];
        if text.contains(' ') && is_riddle(text) {
            places.push(source.place(ends[0]));
        }
    }
    places
}

#[test]
fn comments_name_who_acts() {
    let places: Vec<_> = files().iter().flat_map(riddles).collect();
    none(
        "a comment names the actor: the writer, the driver, the peer",
        &places,
    );
}

#[test]
fn documents_name_who_acts() {
    let places: Vec<_> = files().iter().flat_map(riddles_of_documents).collect();
    none("a document names the actor", &places);
}

#[test]
fn texts_name_who_acts() {
    let places: Vec<_> = sources().iter().flat_map(riddles_of_texts).collect();
    none("an error and a help text name the actor", &places);
}

#[test]
fn no_path_of_somebodys_machine_is_written_down() {
    let has_reason = |file: &&File| WITH_REASON.iter().any(|(path, _)| *path == file.path);
    let places: Vec<_> = files()
        .iter()
        .filter(|f| !has_reason(f))
        .flat_map(machine_paths)
        .collect();
    none(
        "paths come from the caller or from std::env::temp_dir()",
        &places,
    );
}

#[test]
fn links_lead_to_public_places() {
    let places: Vec<_> = files().iter().flat_map(strange_links).collect();
    none("a link leads to a host that words.rs knows", &places);
}

#[test]
fn reasons_are_still_needed() {
    for (path, reason) in WITH_REASON {
        let file = files().iter().find(|f| f.path == path);
        let file = file.unwrap_or_else(|| panic!("{path} is gone ({reason})"));
        assert!(
            !machine_paths(file).is_empty(),
            "{path} needs no exception any more ({reason})"
        );
    }
}

#[test]
fn the_words_are_seen() {
    let file = |text: &str| File {
        path: "x".into(),
        text: text.to_owned(),
    };
    let riddle = |text: &str| File {
        path: "x/src/y.rs".into(),
        text: text.to_owned(),
    };
    for word in RIDDLES.map(|halves| halves.concat()) {
        assert_eq!(
            riddles(&riddle(&format!("a\n/// {word} asks"))),
            ["x/src/y.rs:2"]
        );
        assert!(riddles(&riddle(&format!("{word} // `{word}`"))).is_empty());
        let document = |path: &str| File {
            path: path.into(),
            text: format!("a\n{word} asks"),
        };
        assert_eq!(
            riddles_of_documents(&document("docs/y.md")),
            ["docs/y.md:2"]
        );
        assert!(riddles_of_documents(&document("tests/y.md")).is_empty());
        let text = format!("a(\"{word}\", \"{word} asks\", r#\"it asks\"#)");
        let found = riddles_of_texts(&Source::new("x/src/y.rs", &text));
        assert_eq!(found, ["x/src/y.rs:1"]);
    }
    let path = MACHINE_PATHS[0].concat();
    assert_eq!(machine_paths(&file(&format!("a\nsee {path}b"))), ["x:2"]);
    assert!(machine_paths(&file(&format!("key net{path}b"))).is_empty());
    let link = |host: &str| file(&["see https", "://", host, "/x"].concat());
    assert_eq!(strange_links(&link("mirror.net")), ["x:1 mirror.net"]);
    assert!(strange_links(&link("docs.rs")).is_empty());
}
