// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rules of key expressions as naive recursion: obviously the specification, exponential in the worst case. Only for
//! small keys.

/// Returns true if some name belongs to both.
pub fn intersects(a: &str, b: &str) -> bool {
    lists_meet(&split(a), &split(b))
}

/// Returns true if every name of `b` belongs to `a`.
pub fn includes(a: &str, b: &str) -> bool {
    list_covers(&split(a), &split(b))
}

/// Returns the canonical spelling, if there is one, found by rewriting one step at a time until
/// nothing changes.
pub fn canonize(text: &str) -> Option<String> {
    let mut chunks: Vec<String> = text.split('/').map(str::to_owned).collect();
    for chunk in &mut chunks {
        while chunk.contains("$*$*") {
            *chunk = chunk.replace("$*$*", "$*");
        }
        if chunk == "$*" {
            "*".clone_into(chunk);
        }
    }
    while let Some(at) = chunks
        .windows(2)
        .position(|pair| pair[0] == "**" && matches!(pair[1].as_str(), "*" | "**"))
    {
        if chunks[at + 1] == "**" {
            chunks.remove(at);
        } else {
            chunks.swap(at, at + 1);
        }
    }
    let canonical = chunks.join("/");
    is_canonical(&canonical).then_some(canonical)
}

/// Returns true if the text follows the grammar, rule by rule.
pub fn is_canonical(text: &str) -> bool {
    let chunks = split(text);
    let pairs_fit = chunks
        .windows(2)
        .all(|pair| pair[0] != "**" || !matches!(pair[1], "*" | "**"));
    let chunk_fits = |chunk: &&str| {
        let bare = chunk.replace("$*", "");
        matches!(*chunk, "*" | "**")
            || (!chunk.is_empty()
                && *chunk != "$*"
                && !chunk.contains("$*$*")
                && !bare.contains(['*', '$', '#', '?']))
    };
    // Removing `$*` must not make another `$*` out of the characters around it, as in `$$**`.
    let dollars_fit = text
        .match_indices('$')
        .all(|(at, _)| text[at + 1..].starts_with('*'));
    let stars_fit = chunks
        .iter()
        .filter(|chunk| !matches!(**chunk, "*" | "**"))
        .all(|chunk| chunk.matches('*').count() == chunk.matches("$*").count());
    pairs_fit && dollars_fit && stars_fit && chunks.iter().all(chunk_fits)
}

fn split(key: &str) -> Vec<&str> {
    key.split('/').collect()
}

fn verbatim(chunk: &str) -> bool {
    chunk.starts_with('@')
}

fn lists_meet(a: &[&str], b: &[&str]) -> bool {
    match (a, b) {
        ([], rest) | (rest, []) => rest.iter().all(|chunk| *chunk == "**"),
        (["**", a_rest @ ..], [y, b_rest @ ..]) if *y != "**" => {
            lists_meet(a_rest, b) || (!verbatim(y) && lists_meet(a, b_rest))
        }
        ([x, a_rest @ ..], ["**", b_rest @ ..]) => {
            lists_meet(a, b_rest)
                || (!verbatim(x) && lists_meet(a_rest, b))
                || (*x == "**" && lists_meet(a_rest, b))
        }
        ([x, a_rest @ ..], [y, b_rest @ ..]) => chunks_meet(x, y) && lists_meet(a_rest, b_rest),
    }
}

fn list_covers(a: &[&str], b: &[&str]) -> bool {
    match (a, b) {
        _ if a == b => true,
        ([], _) => false,
        (["**", a_rest @ ..], _) => {
            list_covers(a_rest, b)
                || b.split_first()
                    .is_some_and(|(y, b_rest)| !verbatim(y) && list_covers(a, b_rest))
        }
        (_, [] | ["**", ..]) => false,
        ([x, a_rest @ ..], [y, b_rest @ ..]) => chunk_covers(x, y) && list_covers(a_rest, b_rest),
    }
}

fn chunks_meet(x: &str, y: &str) -> bool {
    x == y
        || (!verbatim(x) && !verbatim(y))
            && (x == "*" || y == "*" || globs_meet(x.as_bytes(), y.as_bytes()))
}

fn chunk_covers(x: &str, y: &str) -> bool {
    x == y
        || (!verbatim(x) && !verbatim(y)) && (x == "*" || glob_covers(x.as_bytes(), y.as_bytes()))
}

fn globs_meet(x: &[u8], y: &[u8]) -> bool {
    match (x, y) {
        ([b'$', b'*', x_rest @ ..], _) => {
            globs_meet(x_rest, y)
                || match y {
                    [] => false,
                    [b'$', b'*', y_rest @ ..] | [_, y_rest @ ..] => globs_meet(x, y_rest),
                }
        }
        (_, [b'$', b'*', ..]) => globs_meet(y, x),
        ([p, x_rest @ ..], [q, y_rest @ ..]) => p == q && globs_meet(x_rest, y_rest),
        ([], []) => true,
        _ => false,
    }
}

/// Returns true if `x` covers `y`, which is taken letter by letter.
fn glob_covers(x: &[u8], y: &[u8]) -> bool {
    match (x, y) {
        ([b'$', b'*', x_rest @ ..], _) => {
            glob_covers(x_rest, y)
                || y.split_first()
                    .is_some_and(|(_, rest)| glob_covers(x, rest))
        }
        ([p, x_rest @ ..], [q, y_rest @ ..]) => p == q && glob_covers(x_rest, y_rest),
        ([], []) => true,
        _ => false,
    }
}
