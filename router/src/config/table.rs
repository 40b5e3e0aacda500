// SPDX-License-Identifier: MIT OR Apache-2.0

//! The table of every key in the documentation, made from the table of keys. `ZONDA_WRITE_DOCS=1 cargo test -p
//! zonda-router documented` writes it; the test without the variable fails when the file differs.

use std::fmt::Write;
use std::path::Path;

use crate::config::{
    check::in_words,
    json5,
    kind::{Key, Kind, Support},
    rows::ROWS,
};

const HEAD: &str = "\
# Configuration keys

Every key that a configuration may have: those of the reference, and `runtime*`, `isolation/*`, `limits/*` and `close_timeout_ms`, which are this project's own. An unknown key is an error that
names the nearest valid one. Nothing is ignored silently: what is not honoured is a warning, with the file and the line.

Values come from these places, the later wins: the program's defaults, the file (`-c FILE`, else the one that the environment variable
`ZENOH_CONFIG` names), the environment variable `ZONDA_CFG` (`key/path:json5;key/path:json5`), flags, `--cfg 'key/path:json5'`. `zondad`,
`zonda` and the examples tell with `--check-config` what is wrong (exit code 0 if nothing, else 2) and with `--print-config` the values that take
effect, each with where it comes from. A key with *by role* may be given as `{router: .., peer: .., client: ..}`.

What happens with a key is in the column *here*: **yes** it is honoured; **only** with the value named; **no**, any value but the default is
a warning; **gone**, it has no effect in the reference either.

This file is made by `ZONDA_WRITE_DOCS=1 cargo test -p zonda-router documented`.

| key | takes | by role | default | here | what it is |
|---|---|---|---|---|---|
";

fn row(key: &Key) -> String {
    let default = json5::parse(key.default).map(|located| located.value.to_string());
    let here = match key.support {
        Support::Full => "yes".to_owned(),
        Support::Only(value, instead) => format!("only `{value}`: {instead}"),
        Support::Not(instead) => format!("no: {instead}"),
        Support::Gone => "gone".to_owned(),
    };
    format!(
        "| `{}` | {} | {} | `{}` | {} | {} |\n",
        key.path,
        in_words(key.kind).replace('|', "\\|"),
        if matches!(key.kind, Kind::PerRole(_)) {
            "yes"
        } else {
            ""
        },
        default.unwrap_or_default(),
        here,
        key.meaning
    )
}

fn document() -> String {
    ROWS.iter().fold(HEAD.to_owned(), |mut text, key| {
        // the kinds of runtimes depend on the features
        let line = row(key).replace(&in_words(Kind::Runtime), "the name of a runtime");
        let _ = write!(text, "{line}");
        text
    })
}

#[test]
fn every_key_is_documented_as_it_is() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/configuration.md");
    let document = document();
    if std::env::var_os("ZONDA_WRITE_DOCS").is_some() {
        std::fs::write(&file, &document).expect("the folder of the documentation is writable");
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        found == document,
        "docs/configuration.md is not what the table of keys says; write it anew with: \
         ZONDA_WRITE_DOCS=1 cargo test -p zonda-router documented"
    );
}

#[test]
fn every_key_has_a_meaning() {
    assert!(ROWS.iter().all(|key| !key.meaning.is_empty()));
}
