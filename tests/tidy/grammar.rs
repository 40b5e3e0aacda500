// SPDX-License-Identifier: MIT OR Apache-2.0
//! The grammar of comments: their first words, and the words that `GLOSSARY.md` replaces.

use std::collections::BTreeSet;

use super::none;
use super::source::{File, files};

/// First words that name neither a thing nor an action.
const HEADS: [&str; 9] = [
    "What", "Who", "Whose", "Whether", "Where", "How", "That", "Those", "The same",
];

const GLOSSARY: &str = include_str!("../../GLOSSARY.md");

/// The first column of the table below a heading of the glossary, without its head and its rule.
fn column(heading: &str) -> Vec<&'static str> {
    let (_, below) = GLOSSARY
        .split_once(heading)
        .expect("a heading of the glossary");
    let table = below.lines().skip_while(|line| !line.starts_with('|'));
    let rows = table.take_while(|line| line.starts_with('|')).skip(2);
    rows.filter_map(|row| row.split('|').nth(1))
        .map(|cell| cell.trim().trim_matches('`'))
        .collect()
}

/// A line of a comment and its number.
struct Line<'t> {
    number: usize,
    text: &'t str,
    /// It begins a comment or a paragraph of one.
    is_first: bool,
}

fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut follows = false;
    text.lines().zip(1..).filter_map(move |(line, number)| {
        let comment = line.trim_start().strip_prefix("//");
        let text = comment.map(|c| c.trim_start_matches(['/', '!']).trim());
        let is_first = !follows;
        follows = text.is_some_and(|text| !text.is_empty());
        Some(Line {
            number,
            text: text?,
            is_first,
        })
    })
}

fn is_rust(file: &&File) -> bool {
    file.path.ends_with(".rs")
}

fn heads(file: &File) -> Vec<String> {
    let begins = |text: &str, head: &str| {
        let rest = text.strip_prefix(head);
        rest.is_some_and(|rest| rest.starts_with(' '))
    };
    let bad = lines(&file.text)
        .filter(|line| line.is_first && HEADS.iter().any(|head| begins(line.text, head)));
    bad.map(|line| format!("{}:{}", file.path, line.number))
        .collect()
}

fn unused(file: &File, words: &[&str]) -> Vec<String> {
    let has = |text: &str| {
        // Names of the code stand between back-ticks.
        let spoken: String = text.to_lowercase().split('`').step_by(2).collect();
        let spoken: Vec<&str> = spoken.split(|c: char| !c.is_alphanumeric()).collect();
        let spoken = format!(" {} ", spoken.join(" "));
        words
            .iter()
            .any(|word| spoken.contains(&format!(" {word} ")))
    };
    let bad = lines(&file.text).filter(|line| has(line.text));
    bad.map(|line| format!("{}:{}", file.path, line.number))
        .collect()
}

#[test]
fn comments_begin_with_a_noun_or_a_verb() {
    let places: Vec<_> = files().iter().filter(is_rust).flat_map(heads).collect();
    none("a comment begins with a noun or a verb", &places);
}

#[test]
fn comments_use_the_words_of_the_glossary() {
    let words = column("## Not used");
    assert!(words.contains(&"nobody"), "the table is read: {words:?}");
    let places: Vec<_> = files()
        .iter()
        .filter(is_rust)
        .flat_map(|file| unused(file, &words))
        .collect();
    none("GLOSSARY.md has another word", &places);
}

#[test]
fn the_glossary_has_each_word_once_and_in_order() {
    let words = column("## Words");
    assert!(words.len() >= 60, "{} words", words.len());
    let sorted: BTreeSet<&str> = words.iter().copied().collect();
    assert_eq!(words, sorted.into_iter().collect::<Vec<_>>());
}

#[test]
fn the_grammar_is_seen() {
    let file = |text: &str| File {
        path: "x.rs".into(),
        text: text.to_owned(),
    };
    assert_eq!(
        heads(&file("/// Whether it is\n/// What\n///\n/// Where it is")),
        ["x.rs:1", "x.rs:4"]
    );
    assert!(heads(&file("/// Whatever\n// a\n// How")).is_empty());
    let words = ["those who", "no one"];
    assert_eq!(
        unused(&file("a\n  // for those who\n// `those who`"), &words),
        ["x.rs:2"]
    );
}
