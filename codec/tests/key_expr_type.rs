// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `KeyExpr` type: borrowing and sharing, joining, and error texts.

use std::collections::HashMap;
use std::sync::Arc;

use zonda_codec::key_expr::{canonize, validate};
use zonda_codec::{KeyExpr, KeyExprError};

#[test]
fn borrowed_text_stays_where_it_is() {
    let text = String::from("demo/a");
    let key = KeyExpr::new(&text).unwrap();
    assert_eq!(key.as_str().as_ptr(), text.as_ptr());
    assert_eq!(key.borrowed().as_str().as_ptr(), text.as_ptr());
    let canonical = KeyExpr::autocanonize(text.as_str()).unwrap();
    assert_eq!(canonical.as_str().as_ptr(), text.as_ptr());
}

#[test]
fn shared_text_is_never_copied_again() {
    let text: Arc<str> = "demo/*".into();
    let key = KeyExpr::from_shared(text.clone()).unwrap();
    let owned = key.clone().into_owned();
    assert_eq!(owned.as_str().as_ptr(), text.as_ptr());
    let back: Arc<str> = owned.into();
    assert!(Arc::ptr_eq(&back, &text));
    assert!(KeyExpr::from_shared("demo//x".into()).is_err());
}

#[test]
fn a_map_is_asked_with_text() {
    let mut map = HashMap::new();
    map.insert(KeyExpr::new("demo/a").unwrap().into_owned(), 1);
    assert_eq!(map.get("demo/a"), Some(&1));
    assert_eq!(
        map.get(&KeyExpr::new(String::from("demo/a")).unwrap()),
        Some(&1)
    );
}

#[test]
fn joining_canonizes_and_concatenation_does_not() {
    let key = KeyExpr::new("demo/**").unwrap();
    assert_eq!(key.join("*").unwrap(), "demo/*/**");
    assert_eq!(key.concat("/x").unwrap(), "demo/**/x");
    assert!(matches!(
        key.join("/x"),
        Err(KeyExprError::EmptyChunk { at: 8, .. })
    ));
    assert!(matches!(
        key.concat("x"),
        Err(KeyExprError::StarInChunk { .. })
    ));
    let star = KeyExpr::new("demo/*").unwrap();
    assert_eq!(
        star.concat("*").unwrap_err().to_string(),
        "key expression \"demo/*\" followed by \"*\" would join their wildcards: put a `/` between them"
    );
}

#[test]
fn conversions_check() {
    assert_eq!("a/*".parse::<KeyExpr<'static>>().unwrap(), "a/*");
    assert_eq!(KeyExpr::try_from(String::from("a")).unwrap(), "a");
    assert!(KeyExpr::try_from("").is_err());
    assert_eq!(String::from(KeyExpr::new("a").unwrap()), "a");
    let mut keys = [KeyExpr::new("b").unwrap(), KeyExpr::new("a").unwrap()];
    keys.sort();
    assert_eq!(format!("{keys:?} {}", keys[0]), "[ke`a`, ke`b`] a");
}

#[test]
fn errors_say_what_where_and_what_to_try() {
    for (text, expected) in [
        (
            "",
            "key expression is empty: give at least one chunk, such as `demo` or `**`",
        ),
        (
            "/a",
            "key expression \"/a\" has an empty chunk at byte 0: remove the extra `/`",
        ),
        (
            "a/",
            "key expression \"a/\" has an empty chunk at byte 2: remove the extra `/`",
        ),
        (
            "é/b?c",
            "key expression \"é/b?c\" has `?` at byte 4: `#` and `?` are reserved, use another character",
        ),
        (
            "a/b*",
            "key expression \"a/b*\" has `*` inside a chunk at byte 3: write `$*` there, or make `*` or `**` a chunk of its own",
        ),
        (
            "a$b",
            "key expression \"a$b\" has `$` without `*` at byte 1: `$` is only allowed in `$*`",
        ),
        (
            "a\n$*$*",
            "key expression \"a\\n$*$*\" is not canonical, `$*` is repeated at byte 2: write it once, or canonize the key",
        ),
        (
            "a/$*",
            "key expression \"a/$*\" is not canonical, a chunk is just `$*` at byte 2: write `*`, or canonize the key",
        ),
        (
            "**/*",
            "key expression \"**/*\" is not canonical, `**` is followed by `*` or `**` at byte 3: put `*` first and `**` once, or canonize the key",
        ),
    ] {
        assert_eq!(validate(text).unwrap_err().to_string(), expected);
    }
    let long = format!("{}//b", "aé".repeat(1000));
    let shown = canonize(&long).unwrap_err().to_string();
    assert!(
        shown.len() < 250 && shown.contains("(3003 bytes)") && shown.contains("byte 3001"),
        "{shown}"
    );
}
