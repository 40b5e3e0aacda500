// SPDX-License-Identifier: MIT OR Apache-2.0
//! Circles of files: a file that imports another one, which imports the first again, cannot be read
//! alone. A circle of a few files that work on one type is acceptable; a larger one is not.

use std::collections::{BTreeMap, BTreeSet};

use super::imports::imports;
use super::none;
use super::source::{Source, find, sources};

/// Maximum number of files in a circle.
const FILES_MAX: usize = 5;

/// Maximum number of re-exports that are followed from a name to the file that defines it.
const EXPORTS_MAX: usize = 4;

/// Files of one crate, by the paths of their modules.
struct Crate<'s> {
    files: BTreeMap<String, &'s Source>,
    /// Names that a module re-exports, with their definitions.
    exports: BTreeMap<String, String>,
}

impl<'s> Crate<'s> {
    /// Collects the product files below `folder`, which ends with `src/`.
    fn new(folder: &str, sources: impl IntoIterator<Item = &'s Source>) -> Crate<'s> {
        let of_crate = sources.into_iter().filter(|source| !source.is_test());
        let named = of_crate.filter_map(|s| Some((module(s.path.strip_prefix(folder)?), s)));
        let mut krate = Crate {
            files: named.collect(),
            exports: BTreeMap::new(),
        };
        let exported = krate.files.iter().flat_map(|(module, source)| {
            let given_away = used(source).filter(|import| import.is_export);
            given_away.map(move |import| {
                let name = format!("{module}::{}", last(&import.name));
                (
                    name,
                    absolute(module, &import.path)
                        .unwrap_or_else(|| format!("{module}::{}", import.path)),
                )
            })
        });
        krate.exports = exported.collect();
        krate
    }

    /// Returns the files that each file imports.
    fn arrows(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let of_file = |(module, source): (&String, &&'s Source)| {
            let imported = used(source).filter(|import| !import.is_export);
            let mut paths: Vec<String> = imported.map(|import| import.path).collect();
            paths.extend(written_out(&source.product));
            let files = paths.iter().filter_map(|path| self.file(module, path));
            let others = files.filter(|path| *path != source.path);
            (source.path.as_str(), others.collect())
        };
        self.files.iter().map(of_file).collect()
    }

    /// Returns the file that defines the item at `path` as seen from `module`.
    fn file(&self, module: &str, path: &str) -> Option<&'s str> {
        let first = path.split("::").next().unwrap_or(path);
        let child = format!("{module}::{first}");
        let mut path = match absolute(module, path) {
            Some(path) => path,
            None if self.files.contains_key(&child) => format!("{module}::{path}"),
            None => return None,
        };
        for _ in 0..EXPORTS_MAX {
            match self.exports.get(&path) {
                Some(definition) => path = definition.clone(),
                None => break,
            }
        }
        loop {
            if let Some(source) = self.files.get(&path) {
                return Some(&source.path);
            }
            path.truncate(path.rfind("::")?);
        }
    }
}

/// An imported name.
struct Import {
    path: String,
    /// Name that it has where it is imported.
    name: String,
    /// True for a re-export (`pub use`).
    is_export: bool,
}

fn used(source: &Source) -> impl Iterator<Item = Import> {
    imports(&source.product).into_iter().map(|import| {
        let line = source.product[..import.at].rsplit('\n').next();
        Import {
            path: import.path,
            name: import.name,
            is_export: line.is_some_and(|line| line.trim_start().starts_with("pub")),
        }
    })
}

/// Returns the paths that are written in the code itself.
fn written_out(product: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for start in ["crate::", "super::"] {
        for at in find(product, start) {
            if product[..at].ends_with("::") {
                continue;
            }
            let end = product[at..].find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
            let end = end.map_or(product.len(), |end| at + end);
            // The prefix of a tree is no path.
            if product[end..].starts_with('{') {
                continue;
            }
            let path = &product[at..end];
            paths.push(path.trim_end_matches(':').to_owned());
        }
    }
    paths
}

/// Returns the path of the module in a file, `crate` for that of the crate itself.
fn module(file: &str) -> String {
    let stem = file.trim_end_matches(".rs").trim_end_matches("/mod");
    match stem {
        "lib" | "main" => "crate".to_owned(),
        stem => format!("crate::{}", stem.replace('/', "::")),
    }
}

/// Returns a path from the crate's root; `None` for one that begins with a name.
fn absolute(module: &str, path: &str) -> Option<String> {
    let (mut base, mut rest) = (module, path);
    if rest == "crate" || rest.starts_with("crate::") {
        return Some(rest.to_owned());
    }
    if let Some(below) = rest.strip_prefix("self::") {
        return Some(format!("{base}::{below}"));
    }
    while let Some(below) = rest.strip_prefix("super") {
        base = base.rsplit_once("::")?.0;
        rest = below.trim_start_matches("::");
        if rest.is_empty() {
            return Some(base.to_owned());
        }
    }
    (base.len() < module.len()).then(|| format!("{base}::{rest}"))
}

fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

/// Returns each set of files that reach each other, the largest first.
fn circles<'a>(arrows: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Vec<BTreeSet<&'a str>> {
    let reached = |from: &'a str| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(file) = open.pop() {
            let next = arrows.get(file).into_iter().flatten();
            open.extend(next.filter(|next| seen.insert(**next)));
        }
        seen
    };
    let reached: BTreeMap<&str, BTreeSet<&str>> = arrows.keys().map(|f| (*f, reached(f))).collect();
    let mut found: Vec<BTreeSet<&str>> = Vec::new();
    for (file, seen) in &reached {
        let is_back = |other: &&&str| reached.get(**other).is_some_and(|r| r.contains(file));
        let circle: BTreeSet<&str> = seen.iter().filter(is_back).copied().collect();
        if circle.len() > 1 && !found.contains(&circle) {
            found.push(circle);
        }
    }
    found.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    found
}

#[test]
fn circles_of_files_are_small() {
    let folders = sources().iter().filter_map(|source| {
        let (folder, _) = source.path.split_once("src/")?;
        (!source.is_test()).then_some(folder)
    });
    let folders: BTreeSet<&str> = folders.collect();
    assert!(folders.len() > 7, "only {folders:?}");
    let mut places = Vec::new();
    for folder in folders {
        let krate = Crate::new(&format!("{folder}src/"), sources());
        let max = FILES_MAX;
        let large = circles(&krate.arrows())
            .into_iter()
            .filter(|c| c.len() > max);
        places.extend(
            large.map(|circle| format!("{} files, {max} may be: {circle:?}", circle.len())),
        );
    }
    none(
        "files import each other in a small circle or in none",
        &places,
    );
}

#[test]
fn the_rule_of_circles_can_fail() {
    let files = [
        Source::new("a/src/lib.rs", "mod b;\nmod c;\nmod d;\nuse b::B;"),
        Source::new(
            "a/src/b.rs",
            "use crate::c::{C, self};\nfn f() { let _ = c::x(); }",
        ),
        Source::new("a/src/c/mod.rs", "mod e;\npub use e::E;\nuse super::d::D;"),
        Source::new("a/src/c/e.rs", "fn f() { crate::b::g(); }"),
        Source::new(
            "a/src/d.rs",
            "use crate::c::E;\n#[cfg(test)]\nmod tests { use crate::B; }",
        ),
    ];
    let krate = Crate::new("a/src/", &files);
    let found = circles(&krate.arrows());
    let circle = ["a/src/b.rs", "a/src/c/e.rs", "a/src/c/mod.rs", "a/src/d.rs"];
    assert_eq!(found, [BTreeSet::from(circle)]);
}
