// SPDX-License-Identifier: MIT OR Apache-2.0
//! Imports of a file, every path written out: `use a::{b, c::{self, d}}` is `a::b`, `a::c`,
//! `a::c::d`.

use super::source::find;

/// An imported path.
pub struct Import {
    /// Offset of its `use`.
    pub at: usize,
    pub path: String,
    /// Name that it has from there on.
    pub name: String,
}

/// Returns each imported path.
pub fn imports(code: &str) -> Vec<Import> {
    let mut found = Vec::new();
    for at in find(code, "use") {
        let tree = &code[at + 3..];
        if let Some(end) = tree.find(';') {
            let tree: String = tree[..end].split_whitespace().collect::<Vec<_>>().join(" ");
            expand(at, "", &tree, &mut found);
        }
    }
    found
}

fn expand(at: usize, prefix: &str, tree: &str, found: &mut Vec<Import>) {
    // A path without braces is one import.
    let Some((head, inside)) = tree.split_once('{') else {
        let (item, renamed) = tree.split_once(" as ").unwrap_or((tree, ""));
        let path = format!("{prefix}{}", item.trim());
        let path = path.trim_end_matches("::self").to_owned();
        let own = path.rsplit("::").next().unwrap_or(&path);
        let name = if renamed.is_empty() { own } else { renamed }
            .trim()
            .to_owned();
        return found.push(Import { at, path, name });
    };
    let prefix = format!("{prefix}{}", head.trim());
    let inside = inside.rsplit_once('}').map_or(inside, |(inside, _)| inside);
    // Parts between commas at the outer level, each with the prefix.
    let (mut depth, mut from) = (0, 0);
    for (end, c) in inside.char_indices().chain([(inside.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !inside[from..end].trim().is_empty() {
                    expand(at, &prefix, &inside[from..end], found);
                }
                from = end + 1;
            }
            _ => {}
        }
    }
}

#[test]
fn trees_are_written_out() {
    let code =
        "use a::b;\nuse std::{\n    net,\n    time::{self, Instant as Clock},\n};\npub use c::*;";
    let paths: Vec<_> = imports(code).into_iter().map(|i| i.path).collect();
    assert_eq!(
        paths,
        [
            "a::b",
            "std::net",
            "std::time",
            "std::time::Instant",
            "c::*"
        ]
    );
    let names: Vec<_> = imports(code).into_iter().map(|i| i.name).collect();
    assert_eq!(names, ["b", "net", "time", "Clock", "*"]);
}
