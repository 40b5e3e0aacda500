// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of the project, and the Rust files with their code separated from text and tests.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use super::lexer;

/// Paths that are built or recorded, not written: folders, and the file `.git` of a worktree.
const SKIPPED: [&str; 6] = ["target", ".git", "corpus", "artifacts", "found", "coverage"];

/// A text file of the project.
pub struct File {
    /// Path relative to the root, with `/`.
    pub path: String,
    pub text: String,
}

/// A Rust file.
pub struct Source {
    pub path: String,
    pub text: String,
    /// Text without comments and the contents of literals.
    pub code: String,
    /// Text of `code` without parts that only tests see; empty in a test file.
    pub product: String,
}

/// Returns every text file, in the order of their paths.
pub fn files() -> &'static [File] {
    static FILES: OnceLock<Vec<File>> = OnceLock::new();
    FILES.get_or_init(|| {
        let mut files = Vec::new();
        collect(Path::new(env!("CARGO_MANIFEST_DIR")), "", &mut files);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files
    })
}

/// Returns every Rust file.
pub fn sources() -> &'static [Source] {
    static SOURCES: OnceLock<Vec<Source>> = OnceLock::new();
    SOURCES.get_or_init(|| {
        let rust = files().iter().filter(|f| f.path.ends_with(".rs"));
        rust.map(|f| Source::new(&f.path, &f.text)).collect()
    })
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<File>) {
    for entry in fs::read_dir(folder).expect("a folder of the project can be read") {
        let entry = entry.expect("a folder of the project can be read");
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        let kind = entry.file_type().expect("the kind of a file");
        if SKIPPED.contains(&name.as_str()) {
            continue;
        }
        if kind.is_dir() {
            collect(&entry.path(), &format!("{path}/"), files);
        } else if kind.is_file()
            && let Ok(text) = fs::read_to_string(entry.path())
        {
            files.push(File { path, text });
        }
    }
}

impl Source {
    /// Creates the file `path` that holds `text`.
    pub fn new(path: &str, text: &str) -> Source {
        let code = lexer::code(text);
        let product = if is_test_file(path) {
            String::new()
        } else {
            without_tests(&code)
        };
        Source {
            path: path.to_owned(),
            text: text.to_owned(),
            code,
            product,
        }
    }

    /// Returns `path:line` of an offset in `code` or `product`.
    pub fn place(&self, offset: usize) -> String {
        place(&self.path, &self.code, offset)
    }

    /// Returns true if the whole file is for tests.
    pub fn is_test(&self) -> bool {
        is_test_file(&self.path)
    }
}

/// Returns `path:line` of an offset in `text`.
pub fn place(path: &str, text: &str, offset: usize) -> String {
    let before = &text.as_bytes()[..offset];
    let line = 1 + before.iter().filter(|b| **b == b'\n').count();
    format!("{path}:{line}")
}

/// Returns the offsets at which `token` stands in `code`, as a word of its own at those ends that
/// are letters.
pub fn find<'t>(code: &'t str, token: &'t str) -> impl Iterator<Item = usize> + 't {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(token)
        .map(|(at, _)| at)
        .filter(move |at| {
            let before = code[..*at].ends_with(is_word) && token.starts_with(is_word);
            let after = code[at + token.len()..].starts_with(is_word) && token.ends_with(is_word);
            !before && !after
        })
}

fn is_test_file(path: &str) -> bool {
    let mut parts = path.split('/');
    path.ends_with("tests.rs")
        || parts.any(|part| matches!(part, "tests" | "benches" | "fuzz" | "testkit"))
}

fn without_tests(code: &str) -> String {
    let mut bytes = code.as_bytes().to_vec();
    for attribute in [
        "#[cfg(test)]",
        "#[cfg(all(test",
        "#[cfg(any(test",
        "#[test]",
    ] {
        // further attributes belong to the item
        for at in find(code, attribute) {
            let mut item = at + attribute.len();
            while let Some(next) =
                code[item..].find(|c: char| !c.is_whitespace() && c != ')' && c != ']')
                && code[item + next..].starts_with('#')
            {
                item += next + code[item + next..].find(']').unwrap_or(0) + 1;
            }
            // the item is blanked, with its lines kept
            let end = lexer::item_end(code.as_bytes(), item);
            for byte in &mut bytes[at..end] {
                if *byte != b'\n' {
                    *byte = b' ';
                }
            }
        }
    }
    String::from_utf8(bytes).expect("whole items are blanked")
}

#[test]
fn the_project_is_looked_at() {
    let has = |path: &str| files().iter().any(|f| f.path == path);
    for path in [
        "Cargo.toml",
        "README.md",
        ".ci/run",
        "tests/tidy/source.rs",
        "router/src/lib.rs",
    ] {
        assert!(has(path), "{path} is not looked at");
    }
    // a folder, or in a worktree a file
    let git = |f: &&File| f.path == ".git" || f.path.starts_with(".git/");
    assert_eq!(files().iter().find(git).map(|f| &f.path), None);
    assert!(
        !has("Cargo.lock/") && sources().len() > 150,
        "only {} sources",
        sources().len()
    );
}

#[test]
fn code_for_tests_is_told_apart() {
    let text =
        "fn a() {}\n#[cfg(test)]\n#[allow(x)]\nmod tests {\n    fn b() { c() }\n}\nfn d() {}\n";
    let source = Source::new("codec/src/x.rs", text);
    assert!(source.product.contains("fn a") && source.product.contains("fn d"));
    assert!(!source.product.contains("fn b") && source.code.contains("fn b"));
    assert_eq!(source.product.len(), text.len());
    assert_eq!(source.place(text.find("fn d").unwrap()), "codec/src/x.rs:7");
    assert!(Source::new("codec/src/x/tests.rs", text).product.is_empty());
    assert!(Source::new("codec/tests/x.rs", text).product.is_empty());
}

#[test]
fn tokens_are_words() {
    assert_eq!(
        find("async asynch my_async", "async").collect::<Vec<_>>(),
        [0]
    );
    assert_eq!(
        find("a.await b.awaiting", ".await").collect::<Vec<_>>(),
        [1]
    );
    assert_eq!(
        find("thread::spawn my_thread::x", "thread::").collect::<Vec<_>>(),
        [0]
    );
}
