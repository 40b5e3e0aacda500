// SPDX-License-Identifier: MIT OR Apache-2.0

//! Names of objects: no two entries share one.

use object_store::path::Path;

use crate::Table;
use crate::escape::{escape, unescape};

/// First chunk of the names of all objects but those of values.
pub const HIDDEN: &str = ".zonda";
/// Object in that folder that shows the place of a storage.
const MARK: &str = "storage";
/// Stands for the empty name.
const EMPTY: &str = "%";
/// Longest name of an object, in bytes.
const LENGTH_MAX: usize = 1024;

fn folder(table: Table) -> &'static str {
    match table {
        Table::Live => "",
        Table::Deleted => "deleted",
        Table::Patterns => "patterns",
        Table::Past => "past",
    }
}

/// Returns the path of the object of an entry, below a prefix.
///
/// # Errors
/// The reason why the name has none.
pub fn path_of(prefix: &str, table: Table, name: &str) -> Result<Path, &'static str> {
    let mut path = String::with_capacity(prefix.len() + name.len() + 20);
    for first in match table {
        Table::Live => [prefix, "", ""],
        table => [prefix, HIDDEN, folder(table)],
    } {
        if !first.is_empty() {
            path.push_str(first);
            path.push('/');
        }
    }
    if name.is_empty() {
        path.push_str(EMPTY);
    }
    for (at, chunk) in name.split('/').enumerate() {
        match (chunk.is_empty(), name.is_empty()) {
            (true, true) => {}
            (true, false) => return Err("it has an empty chunk"),
            (false, _) => {
                path.push_str(if at > 0 { "/" } else { "" });
                escape(&mut path, chunk, is_special);
            }
        }
    }
    if path.len() > LENGTH_MAX {
        return Err("it is too long for the name of an object");
    }
    Path::parse(path).map_err(|_| "it is no name of an object")
}

/// Returns the path of the object that shows that a storage has its place below a prefix.
pub fn mark_of(prefix: &str) -> Path {
    let chunks = prefix.split('/').chain([HIDDEN, MARK]);
    Path::from_iter(chunks.filter(|chunk| !chunk.is_empty()))
}

/// Returns the prefixes that a prefix is below, from the empty one on.
pub fn prefixes_above(prefix: &str) -> impl Iterator<Item = &str> {
    let empty = Some("").filter(|_| !prefix.is_empty());
    let ends = prefix.match_indices('/').map(|(at, _)| &prefix[..at]);
    empty.into_iter().chain(ends)
}

/// Returns the prefix of another storage, below this prefix, that an object belongs to.
pub fn place_below<'a>(prefix: &str, path: &'a str) -> Option<&'a str> {
    let (place, _) = path.split_once(&format!("/{HIDDEN}/"))?;
    let is_below = prefixes_above(place).any(|above| above == prefix);
    is_below.then_some(place)
}

/// Returns true if a character has a meaning in paths, or is one that servers refuse.
fn is_special(c: char, at: usize) -> bool {
    let is_odd = matches!(c, '%' | '\\' | '*' | '?' | '#' | '"' | '<' | '>' | '|');
    is_odd || c.is_control() || (c == '.' && at == 0)
}

/// Returns the table and the name of an object below a prefix; `None` for one of another program
/// that no entry has.
pub fn name_of(prefix: &str, path: &str) -> Option<(Table, String)> {
    let rest = match prefix {
        "" => path,
        prefix => path.strip_prefix(prefix)?.strip_prefix('/')?,
    };
    let hidden = rest
        .strip_prefix(HIDDEN)
        .and_then(|it| it.strip_prefix('/'));
    let (table, escaped) = match hidden {
        None => (Table::Live, rest),
        Some(hidden) => {
            let (first, escaped) = hidden.split_once('/')?;
            let mut tables = Table::ALL.into_iter();
            let of_folder = |table: &Table| *table != Table::Live && folder(*table) == first;
            (tables.find(of_folder)?, escaped)
        }
    };
    let name = match escaped {
        EMPTY => String::new(),
        escaped => unescape(escaped)?,
    };
    // Only the one spelling that this store writes.
    let spelled = path_of(prefix, table, &name).ok()?;
    (spelled.as_ref() == path).then_some((table, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_and_stay_below_their_prefix() {
        for prefix in ["", "p", "p/q"] {
            for table in Table::ALL {
                for name in [
                    "",
                    "a",
                    "a/b",
                    ".zonda/deleted/a",
                    "..",
                    "../a",
                    "%",
                    "P/**",
                    "a\0b",
                    "ä",
                    "a b",
                    "%41",
                ] {
                    let path = path_of(prefix, table, name).expect("a path");
                    let found = name_of(prefix, path.as_ref());
                    assert_eq!(found, Some((table, name.to_owned())), "{path}");
                }
            }
        }
        assert!(path_of("", Table::Live, "a//b").is_err());
        assert!(path_of("", Table::Live, "a/").is_err());
        assert!(path_of("p", Table::Live, &"x".repeat(1023)).is_err());
    }

    #[test]
    fn places_of_other_storages_are_known() {
        let above: Vec<_> = prefixes_above("a/b/c").collect();
        assert_eq!(above, ["", "a", "a/b"]);
        assert_eq!(prefixes_above("").next(), None);
        for prefix in ["a/b", "p", "x/y/z"] {
            let mark = mark_of(prefix);
            assert_eq!(name_of(prefix, mark.as_ref()), None);
            assert_eq!(place_below(prefix, mark.as_ref()), None);
            assert_eq!(place_below("", mark.as_ref()), Some(prefix));
        }
        assert_eq!(mark_of("").as_ref(), ".zonda/storage");
        assert_eq!(place_below("", ".zonda/storage"), None);
        assert_eq!(place_below("a", "a/b/.zonda/past/x"), Some("a/b"));
        assert_eq!(place_below("a", "ab/.zonda/storage"), None);
        assert_eq!(place_below("a", "a/b"), None);
    }

    #[test]
    fn objects_of_other_programs_are_served_or_left_alone() {
        let of = |path| name_of("p", path);
        assert_eq!(of("p/image.png"), Some((Table::Live, "image.png".into())));
        for path in [
            "p",
            "q/a",
            "px",
            "p/%zz",
            "p/%41",
            "p/.hidden",
            "p/.zonda/x/a",
        ] {
            assert_eq!(of(path), None, "{path}");
        }
    }
}
