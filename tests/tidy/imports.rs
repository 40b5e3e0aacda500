// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a file imports, every path written out: `use a::{b, c::{self, d}}` is `a::b`, `a::c`, `a::c::d`.

use super::source::find;

/// Each imported path, with the offset of its `use`.
pub fn imports(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for at in find(code, "use") {
        let tree = &code[at + 3..];
        if let Some(end) = tree.find(';') {
            let tree: String = tree[..end].split_whitespace().collect::<Vec<_>>().join(" ");
            let mut paths = Vec::new();
            expand("", &tree, &mut paths);
            found.extend(paths.into_iter().map(|path| (at, path)));
        }
    }
    found
}

fn expand(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let Some((head, inside)) = tree.split_once('{') else {
        let name = tree.split(" as ").next().unwrap_or(tree).trim();
        let path = format!("{prefix}{name}");
        return paths.push(path.trim_end_matches("::self").to_owned());
    };
    let prefix = format!("{prefix}{}", head.trim());
    let inside = inside.rsplit_once('}').map_or(inside, |(inside, _)| inside);
    let (mut depth, mut from) = (0, 0);
    for (at, c) in inside.char_indices().chain([(inside.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !inside[from..at].trim().is_empty() {
                    expand(&prefix, &inside[from..at], paths);
                }
                from = at + 1;
            }
            _ => {}
        }
    }
}

#[test]
fn trees_are_written_out() {
    let code =
        "use a::b;\nuse std::{\n    net,\n    time::{self, Instant as Clock},\n};\npub use c::*;";
    let paths: Vec<_> = imports(code).into_iter().map(|(_, path)| path).collect();
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
}
