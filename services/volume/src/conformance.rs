// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tests that every volume has to pass.
//!
//! ```
//! use zonda_volume::{Memory, Options, conformance};
//!
//! conformance::passes(&Memory, || Options::default());
//! ```

use std::ops::ControlFlow;

use bytes::Bytes;
use zonda_codec::{Ntp64, Timestamp, ZenohId};

use crate::{Entry, OpenError, Options, Store, StoreError, Table, Value, Volume};

/// Names that a careless store would confuse, or look for in other places.
const ODD_NAMES: &[&str] = &[
    "", "a", "a/", "a/b", "a.b", "..", "../a", "a/../b", "/a", "A", "ä", "a%2Fb", "%", "*", "a\0b",
    "con", "a b", ".", "~", "\\a", "日本",
];

/// Payload beyond every page and buffer.
const LARGE: usize = 3 << 20;

/// Runs all tests; `place` returns the options of an empty place at each call.
///
/// # Panics
/// A test fails.
pub fn passes(volume: &dyn Volume, place: impl Fn() -> Options) {
    what_is_stored_is_read(volume, &place());
    names_are_kept_apart(volume, &place());
    scans_go_in_order(volume, &place());
    changes_survive_a_commit(volume, &place());
    a_place_is_open_once(volume, &place());
    unknown_options_are_refused(volume, &place());
}

fn open(volume: &dyn Volume, options: &Options) -> Box<dyn Store> {
    let opened = volume.open(options);
    opened.unwrap_or_else(|error| panic!("{} does not open: {error}", volume.name()))
}

fn entry(time: u64, payload: &[u8]) -> Entry {
    let id = ZenohId::from_le_bytes(&[7]).expect("an id");
    let value = Value {
        payload: Bytes::copy_from_slice(payload),
        encoding: "text/plain".into(),
    };
    Entry::new(Timestamp::new(Ntp64(time << 32), id), Some(value))
}

fn put(store: &mut dyn Store, name: &str, entry: Entry) {
    let put = store.put(Table::Live, name, entry);
    put.unwrap_or_else(|error| panic!("put of {name:?}: {error}"));
}

fn get(store: &mut dyn Store, table: Table, name: &str) -> Option<Entry> {
    let found = store.get(table, name);
    found.unwrap_or_else(|error| panic!("get of {name:?}: {error}"))
}

fn names(store: &mut dyn Store, table: Table, from: &str, most: usize) -> Vec<String> {
    let mut names = Vec::new();
    let scanned = store.scan(table, from, &mut |name, _| {
        names.push(name.to_owned());
        match names.len() < most {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    scanned.unwrap_or_else(|error| panic!("scan from {from:?}: {error}"));
    names
}

fn what_is_stored_is_read(volume: &dyn Volume, options: &Options) {
    let mut store = open(volume, options);
    assert_eq!(get(&mut *store, Table::Live, "a"), None);
    for payload in [&b""[..], b"1", &vec![0xa5; LARGE]] {
        put(&mut *store, "a", entry(1, payload));
        assert_eq!(get(&mut *store, Table::Live, "a"), Some(entry(1, payload)));
        store.commit().expect("a commit");
        assert_eq!(get(&mut *store, Table::Live, "a"), Some(entry(1, payload)));
    }
    // Tables are apart, and a deletion has no value.
    assert_eq!(get(&mut *store, Table::Deleted, "a"), None);
    let deleted = Entry {
        value: None,
        ..entry(2, b"")
    };
    store
        .put(Table::Deleted, "a", deleted.clone())
        .expect("a put");
    assert_eq!(get(&mut *store, Table::Deleted, "a"), Some(deleted));
    store.remove(Table::Live, "a").expect("a removal");
    store
        .remove(Table::Live, "never")
        .expect("a removal of nothing");
    assert_eq!(get(&mut *store, Table::Live, "a"), None);
    assert!(store.get(Table::Deleted, "a").expect("a get").is_some());
    store.close().expect("it closes");
}

fn names_are_kept_apart(volume: &dyn Volume, options: &Options) {
    let mut store = open(volume, options);
    let long = "long/".repeat(13_000) + "end";
    let mut kept = Vec::new();
    for (time, name) in ODD_NAMES.iter().copied().chain([&*long]).enumerate() {
        let entry = entry(time as u64, name.as_bytes());
        match store.put(Table::Live, name, entry) {
            Ok(()) => kept.push((time, name)),
            Err(StoreError::Name { .. }) => {}
            Err(error) => panic!("put of {name:?}: {error}"),
        }
    }
    for is_committed in [false, true] {
        for (time, name) in &kept {
            let found = get(&mut *store, Table::Live, name);
            let expected = entry(*time as u64, name.as_bytes());
            assert!(
                found == Some(expected),
                "{name:?} (committed: {is_committed})"
            );
        }
        store.commit().expect("a commit");
    }
    assert!(
        kept.len() > ODD_NAMES.len() / 2,
        "it keeps {} names",
        kept.len()
    );
    assert_eq!(store.len(Table::Live), Ok(kept.len() as u64));
    store.close().expect("it closes");
}

fn scans_go_in_order(volume: &dyn Volume, options: &Options) {
    let mut store = open(volume, options);
    for name in ["b/1", "a", "c", "b"] {
        put(&mut *store, name, entry(1, b""));
    }
    store.commit().expect("a commit");
    // Changes that are not committed are seen in their place.
    put(&mut *store, "b/0", entry(1, b""));
    put(&mut *store, "b", entry(2, b""));
    store.remove(Table::Live, "c").expect("a removal");
    let all = ["a", "b", "b/0", "b/1"];
    assert_eq!(names(&mut *store, Table::Live, "", usize::MAX), all);
    assert_eq!(names(&mut *store, Table::Live, "b", usize::MAX), all[1..]);
    assert_eq!(names(&mut *store, Table::Live, "b/", 1), ["b/0"]);
    assert_eq!(names(&mut *store, Table::Live, "c", 1), [""; 0]);
    assert_eq!(names(&mut *store, Table::Patterns, "", 1), [""; 0]);
    assert_eq!(store.len(Table::Live), Ok(4));
    store.close().expect("it closes");
}

fn changes_survive_a_commit(volume: &dyn Volume, options: &Options) {
    let mut store = open(volume, options);
    let is_durable = store.durability().is_some();
    put(&mut *store, "kept", entry(1, b"1"));
    put(&mut *store, "gone", entry(1, b"1"));
    store
        .put(Table::Patterns, "P/**", entry(1, b"1"))
        .expect("a put");
    store.commit().expect("a commit");
    store.remove(Table::Live, "gone").expect("a removal");
    store.commit().expect("a commit");
    put(&mut *store, "late", entry(2, b"2"));
    store.close().expect("it closes");
    let mut store = open(volume, options);
    let names = names(&mut *store, Table::Live, "", usize::MAX);
    match is_durable {
        true => assert_eq!(names, ["kept", "late"]),
        false => assert_eq!(names, [""; 0]),
    }
    assert_eq!(
        get(&mut *store, Table::Patterns, "P/**").is_some(),
        is_durable
    );
    store.close().expect("it closes");
}

fn a_place_is_open_once(volume: &dyn Volume, options: &Options) {
    let store = open(volume, options);
    if store.durability().is_some() {
        let second = volume.open(options).map(|_| ());
        assert!(matches!(second, Err(OpenError::InUse { .. })), "{second:?}");
    }
    store.close().expect("it closes");
    open(volume, options).close().expect("it opens again");
}

fn unknown_options_are_refused(volume: &dyn Volume, options: &Options) {
    let options = options.clone().with("no_such_option", 1);
    for refused in [volume.check(&options), volume.open(&options).map(|_| ())] {
        let error = refused.expect_err("an unknown option").to_string();
        assert!(
            error.contains("no_such_option") && !error.contains('\n'),
            "{error}"
        );
    }
}
