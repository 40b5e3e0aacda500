// SPDX-License-Identifier: MIT OR Apache-2.0

//! Generator of the documentation's table of keys. `ZONDA_WRITE_DOCS=1 cargo test -p zonda-config
//! documented` writes the file; without the variable the test fails if the file differs.

use std::fmt::Write;
use std::path::Path;

use zonda_transport::link::LINK_OPTIONS;

use crate::{
    check::in_words,
    json5,
    kind::{Key, Kind, Support},
    rows::ROWS,
};

const HEAD: &str = "\
# Configuration keys

Every key that a configuration may have: those of the reference, and `runtime*`, `isolation/*`, `limits/*`, `log/*`, `services/*` and `close_timeout_ms`, which are this project's own. An unknown key is an error that
names the nearest valid one. Nothing is ignored silently: what is not honoured is a warning, with the file and the line.

Values come from these places, the later wins: the program's defaults, the file (`-c FILE`, else the one that the environment variable
`ZENOH_CONFIG` names), the environment variable `ZONDA_CFG` (`key/path:json5;key/path:json5`), flags, `--cfg 'key/path:json5'`. `zondad` also follows the
variables of ROS 2's router: `ZENOH_ROUTER_CONFIG_URI` names a file that goes before the one of `ZENOH_CONFIG`, and `ZENOH_CONFIG_OVERRIDE`
(`key/path=json5;key/path=json5`) wins over the file ([ros2.md](../guides/ros2.md)).

`zondad`, `zonda` and the examples tell with `--check-config` what is wrong, and with `--print-config` the values that take effect, each with where it comes from; secrets, and
whatever a free-form section has below `private`, are hidden. A check opens every file that is named (certificates, keys, the list of users, `__config__` of plugins), sees whether keys and
certificates belong together, and whether the addresses, interfaces and directories to listen with are there; it takes no port. It ends as a start would, with the same text and exit code:
0 if nothing is wrong, 2 where the configuration or a file that it names is, 1 where this machine lacks what is listened on.

A daemon does not start where `plugins/NAME/__required__` is `true`, unless `zondad` does the work of that plugin itself (`rest`, `storage_manager`), or `plugins_loading/enabled` is set to `false`.

A key with *by role* may be given as `{router: .., peer: .., client: ..}`.

What happens with a key is in the column *here*: **yes** it is honoured; **only** with the value named; **no**, any value but the default is
a warning; **gone**, it has no effect in the reference either.

This file is made by `ZONDA_WRITE_DOCS=1 cargo test -p zonda-config documented`.

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
        // Available runtimes depend on the features.
        let line = row(key).replace(&in_words(Kind::Runtime), "the name of a runtime");
        let _ = write!(text, "{line}");
        text
    })
}

#[test]
fn every_key_is_documented_as_it_is() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/configuration.md");
    let document = document();
    if std::env::var_os("ZONDA_WRITE_DOCS").is_some() {
        std::fs::write(&file, &document).expect("the folder of the documentation is writable");
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        found == document,
        "docs/reference/configuration.md is not what the table of keys says; write it anew with: \
         ZONDA_WRITE_DOCS=1 cargo test -p zonda-config documented"
    );
}

/// Markers around the table of options in the page about links.
const OPTIONS: (&str, &str) = ("<!-- options -->\n", "<!-- end of options -->\n");

fn options() -> String {
    let head = "| option | after | kinds of link | meaning |\n|---|---|---|---|\n".to_owned();
    LINK_OPTIONS.iter().fold(head, |mut text, option| {
        let kinds = match option.kinds {
            [] => "all".to_owned(),
            kinds => format!("`{}`", kinds.join("`, `")),
        };
        let meaning = option.meaning.replace('|', "\\|");
        let (name, part) = (option.name, option.part);
        let _ = writeln!(text, "| `{name}` | `{part}` | {kinds} | {meaning} |");
        text
    })
}

#[test]
fn every_option_of_an_endpoint_is_documented_as_it_is() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/concepts/links.md");
    let page = std::fs::read_to_string(&file).expect("the page about links");
    let (before, rest) = page.split_once(OPTIONS.0).expect("the table begins");
    let (found, after) = rest.split_once(OPTIONS.1).expect("the table ends");
    let options = options();
    if std::env::var_os("ZONDA_WRITE_DOCS").is_some() {
        let page = [before, OPTIONS.0, &options, OPTIONS.1, after].concat();
        return std::fs::write(&file, page).expect("the folder of the documentation is writable");
    }
    assert!(
        found == options,
        "the options in docs/concepts/links.md are not those of the table in zonda-transport; write them anew with: \
         ZONDA_WRITE_DOCS=1 cargo test -p zonda-config documented"
    );
}

#[test]
fn every_key_has_a_meaning() {
    assert!(ROWS.iter().all(|key| !key.meaning.is_empty()));
}
