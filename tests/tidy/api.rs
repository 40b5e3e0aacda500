// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reference's API, item by item: equal items, items that differ and the difference, missing
//! items and the reason. All but the equal ones are in `session/tests/api/here.txt`. The
//! documentation page and the probes are generated from that file and the list of the reference's
//! items. The tests of sessions compile the probes: they fail if an item is missing that is listed
//! as present, or the other way round.
//!
//! `ZONDA_WRITE_DOCS=1 cargo test -p zonda-command --test tidy api` writes all of them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

const FOLDER: &str = "session/tests/api";
const REFERENCE: &str = include_str!("../../session/tests/api/reference.txt");
const HERE: &str = include_str!("../../session/tests/api/here.txt");
const PAGE: &str = include_str!("api/page.md");
const PROBES: &str = "\
// SPDX-License-Identifier: MIT OR Apache-2.0

//! Probes, written by `ZONDA_WRITE_DOCS=1 cargo test -p zonda-command --test tidy api`.

use super::*;

";

/// A public item of the reference.
#[derive(Clone, Copy)]
struct Item {
    kind: &'static str,
    path: &'static str,
    /// Types that its parameters take, if it is a function.
    given: &'static str,
}

impl Item {
    /// Returns its name in `here.txt`: a field and a method may have the same path.
    fn key(&self) -> String {
        match self.kind {
            "field" => format!("{}.{}", parent(self.path), name(self.path)),
            _ => self.path.to_owned(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Same,
    Different(&'static str),
    Missing(&'static str),
}

/// Content of `here.txt`: for a kind of line, texts by paths.
struct Notes(BTreeMap<(&'static str, &'static str), &'static str>);

impl Notes {
    fn read() -> Self {
        let lines = HERE
            .lines()
            .filter(|line| !line.starts_with('#') && !line.is_empty());
        Notes(
            lines
                .map(|line| {
                    let mut parts = line.splitn(3, '\t');
                    let mut part = || parts.next().unwrap_or_else(|| panic!("too short: {line}"));
                    ((part(), part()), part())
                })
                .collect(),
        )
    }

    fn get(&self, word: &'static str, path: &'static str) -> Option<&'static str> {
        self.0.get(&(word, path)).copied()
    }

    /// Returns the line about an item or, with a star at its end, about all that begin so; the
    /// longest counts.
    fn state(&self, path: &str) -> State {
        let meets = |name: &str| match name.strip_suffix('*') {
            Some(beginning) => path.starts_with(beginning),
            None => path == name,
        };
        let lines = self.0.iter().filter(|((word, name), _)| {
            matches!(*word, "missing" | "different" | "same") && meets(name)
        });
        let longest = lines.max_by_key(|((_, name), _)| (name.len(), !name.ends_with('*')));
        match longest {
            Some((("missing", _), why)) => State::Missing(why),
            Some((("different", _), how)) => State::Different(how),
            _ => State::Same,
        }
    }

    /// Returns the argument for a parameter whose type the caller may choose.
    fn argument(&self, taken: &str) -> &'static str {
        if taken == "_" {
            return "any()";
        }
        let lines = self.0.iter().filter(|((word, _), _)| *word == "argument");
        let fitting = lines.filter(|((_, beginning), _)| taken.starts_with(beginning));
        let longest = fitting.max_by_key(|((_, beginning), _)| beginning.len());
        longest
            .unwrap_or_else(|| panic!("no argument for {taken}"))
            .1
    }

    /// Returns the type that stands for one with parameters, or for an implementer of the trait.
    fn of(&self, path: &'static str) -> String {
        let parent = parent(path);
        let named = self.get("type", parent).map(str::to_owned);
        named.unwrap_or_else(|| here(parent))
    }
}

fn items() -> Vec<Item> {
    let line = |line: &'static str| {
        let mut parts = line.split('\t');
        let mut part = || parts.next().unwrap_or_default();
        Item {
            kind: part(),
            path: part(),
            // how it is written comes between
            given: parts.nth(1).unwrap_or_default(),
        }
    };
    REFERENCE.lines().map(line).collect()
}

fn parent(path: &'static str) -> &'static str {
    path.rsplit_once("::").map_or("", |(parent, _)| parent)
}

fn name(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or_default()
}

/// Returns the path here of an item of the reference's.
fn here(path: &str) -> String {
    match path.strip_prefix("zenoh_ext") {
        Some(rest) => format!("zonda::ext{rest}"),
        None => path.replacen("zenoh", "zonda", 1),
    }
}

/// Returns true if it belongs to a type or a trait, rather than to a module.
fn is_member(item: &Item) -> bool {
    let kinds = [
        "method",
        "field",
        "variant",
        "constant of a type",
        "type of a trait",
    ];
    kinds.contains(&item.kind)
}

/// Returns code that compiles if an item exists.
fn probe(item: &Item, notes: &Notes) -> String {
    if let Some(own) = notes.get("probe", item.path) {
        return own.to_owned();
    }
    let (path, of, name) = (here(item.path), notes.of(item.path), name(item.path));
    match item.kind {
        "field" => format!("let _ = |it: {of}| used(it.{name});"),
        "method" => {
            let given: Vec<&str> = match item.given {
                "" => Vec::new(),
                given => given
                    .split(';')
                    .map(|taken| notes.argument(taken))
                    .collect(),
            };
            format!("let _ = || used(<{of}>::{name}({}));", given.join(", "))
        }
        "type of a trait" => format!("let _: Option<<{of}>::{name}>;"),
        "constant of a type" => format!("let _ = <{of}>::{name};"),
        "variant" => format!("use {path} as _;"),
        _ => format!("use {path} as _;"),
    }
}

fn without_parameters(path: &str) -> &str {
    path.split('<').next().unwrap_or(path)
}

/// Returns code that compiles if an item does not exist; `None` for a field, and for the members of
/// a missing item.
fn counterprobe(item: &Item, notes: &Notes) -> Option<String> {
    let (of, name) = (notes.of(item.path), name(item.path));
    if notes.get("unprobed", item.path).is_some()
        || matches!(notes.state(parent(item.path)), State::Missing(_))
    {
        return None;
    }
    // An item of a trait has the form `type as trait`.
    let (of, from) = match of.split_once(" as ") {
        Some((of, from)) => (
            of.to_owned(),
            format!("use {from} as _; ", from = without_parameters(from)),
        ),
        None => (of, String::new()),
    };
    let is_value = matches!(item.kind, "function" | "constant" | "static");
    let module = here(parent(item.path));
    match item.kind {
        "field" | "macro" | "type of a trait" => None,
        "method" => Some(format!(
            "{from}trait Here {{ fn {name}() -> Absent {{ Absent }} }} impl<T: ?Sized> Here for T {{}} let _: fn() -> Absent = <{of}>::{name};"
        )),
        "constant of a type" | "variant" => Some(format!(
            "{from}trait Here {{ const {name}: Absent = Absent; }} impl<T: ?Sized> Here for T {{}} let _: Absent = <{of}>::{name};"
        )),
        _ if is_value => Some(format!(
            "mod other {{ pub const {name}: () = (); }} use other::*; use {module}::*; let _: () = {name};"
        )),
        _ => Some(format!(
            "mod other {{ pub type {name} = (); }} use other::*; use {module}::*; let _: {name};"
        )),
    }
}

/// Returns the probes of a crate, a function each.
fn probes(krate: &str) -> String {
    let (notes, mut text) = (Notes::read(), PROBES.to_owned());
    for item in items() {
        if item.path.split("::").next() != Some(krate) {
            continue;
        }
        let body = match notes.state(&item.key()) {
            State::Missing(_) => counterprobe(&item, &notes),
            State::Same | State::Different(_) => Some(probe(&item, &notes)),
        };
        if let Some(body) = body {
            let function = format!("{}_{}", item.kind, item.path);
            let function = function.replace("::", "_").replace(' ', "_");
            let _ = writeln!(text, "fn {function}() {{ {body} }}");
        }
    }
    text
}

/// Returns how many items of each crate are equal, differ, are missing.
fn counts() -> String {
    let notes = Notes::read();
    let mut text =
        "| crate | items | same | different | missing |\n|---|--:|--:|--:|--:|\n".to_owned();
    for krate in ["zenoh", "zenoh_ext"] {
        let states = items()
            .into_iter()
            .filter(|item| item.path.split("::").next() == Some(krate));
        let states: Vec<State> = states.map(|item| notes.state(&item.key())).collect();
        let count = |is: fn(&State) -> bool| states.iter().filter(|state| is(state)).count();
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {} |",
            krate.replace('_', "-"),
            states.len(),
            count(|state| *state == State::Same),
            count(|state| matches!(state, State::Different(_))),
            count(|state| matches!(state, State::Missing(_)))
        );
    }
    text
}

/// Returns the exceptions, one row for adjacent ones with a common reason.
fn exceptions() -> String {
    let notes = Notes::read();
    let mut text = String::new();
    for (title, is_missing) in [("What differs", false), ("What is missing", true)] {
        // Items with a common reason, in the order of their first one.
        let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
        for item in items() {
            let reason = match notes.state(&item.key()) {
                State::Missing(why) if is_missing => why,
                State::Different(how) if !is_missing => how,
                _ => continue,
            };
            // Members of a missing item are not repeated.
            if is_missing
                && matches!(notes.state(parent(item.path)), State::Missing(same) if same == reason)
            {
                continue;
            }
            match groups.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, paths)) => paths.push(item.path),
                None => groups.push((reason, vec![item.path])),
            }
        }
        // A table for each title.
        let _ = write!(text, "## {title}\n\n| item | here |\n|---|---|\n");
        for (reason, paths) in groups {
            let _ = writeln!(text, "| {} | {reason} |", shortened(&paths));
        }
        text.push('\n');
    }
    text
}

/// Returns paths for a cell: adjacent paths of one owner name it once.
fn shortened(paths: &[&'static str]) -> String {
    let (mut text, mut owner) = (String::new(), "");
    for path in paths {
        let comma = if text.is_empty() { "" } else { ", " };
        let shown = if parent(path) == owner {
            name(path)
        } else {
            path
        };
        let _ = write!(text, "{comma}`{shown}`");
        owner = parent(path);
    }
    text
}

/// Returns all items, a list for each module and each type.
fn listing() -> String {
    let notes = Notes::read();
    let (mut text, mut last) = ("## All items\n".to_owned(), "");
    for item in items() {
        // Members are listed behind their type.
        let owner = match is_member(&item) {
            true => parent(item.path),
            false => item.path,
        };
        if owner != last {
            let _ = write!(text, "\n- ");
            last = owner;
        } else {
            text.push_str(", ");
        }
        // Deviations are marked.
        let mark = match notes.state(&item.key()) {
            State::Same => "",
            State::Different(_) => " (different)",
            State::Missing(_) => " (missing)",
        };
        let shown = match is_member(&item) {
            true => name(item.path),
            false => item.path,
        };
        let _ = write!(text, "`{shown}`{mark}");
    }
    text.push('\n');
    text
}

fn page() -> String {
    let page = PAGE.replace("{counts}", &counts());
    format!("{page}\n{}{}", exceptions(), listing())
}

/// Asserts that a file has this content, or writes it.
fn written(path: &str, document: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("ZONDA_WRITE_DOCS").is_some() {
        std::fs::write(&file, document).expect("its folder is writable");
    }
    assert!(
        std::fs::read_to_string(&file).unwrap_or_default() == document,
        "{path} is not what {FOLDER}/here.txt says; write it anew with: \
         ZONDA_WRITE_DOCS=1 cargo test -p zonda-command --test tidy api"
    );
}

#[test]
fn the_page_is_what_the_probes_prove() {
    written("docs/reference/migrating-api.md", &page());
    written(&format!("{FOLDER}/zenoh.rs"), &probes("zenoh"));
    written(&format!("{FOLDER}/zenoh_ext.rs"), &probes("zenoh_ext"));
}

#[test]
fn every_exception_is_about_an_item() {
    let items = items();
    for ((word, path), text) in Notes::read().0 {
        let about = |item: &Item| match path.strip_suffix('*') {
            Some(beginning) => item.key().starts_with(beginning),
            None => item.key() == path,
        };
        let known = [
            "missing",
            "different",
            "same",
            "probe",
            "type",
            "unprobed",
            "argument",
        ];
        assert!(known.contains(&word), "{word} is no kind of line");
        assert!(
            word == "argument" || items.iter().any(about),
            "{path} is no item of the reference's"
        );
        assert!(
            word == "unprobed" || !text.is_empty(),
            "nothing is said about {path}"
        );
    }
}
