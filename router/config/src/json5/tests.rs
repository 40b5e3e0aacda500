// SPDX-License-Identifier: MIT OR Apache-2.0

//! Comparison of the parser with another one on valid and invalid texts, and tests of truncated and
//! deep ones.

use crate::json5::parse;

#[test]
fn json5_agrees_with_another_reader() {
    let texts = [
        "{}",
        "[]",
        "null",
        "true",
        "-0x1F",
        "+1",
        ".5",
        "5.",
        "1e3",
        "1E-2",
        "'a\\'b'",
        "\"\\u00e9\\x41\\\n\"",
        "{a:1,'b':2,\"c\":[1,2,],}",
        "// c\n[1, /* x */ 2]",
        "{$a_1: {b: null}}",
        "\"\\ud83d\\ude00\"",
        "{",
        "[1 2]",
        "{a}",
        "{a:}",
        "'x",
        "01x",
        "--1",
        "[,]",
        "{,}",
        "tru",
        "1 2",
        "/*",
        "\"\\u12\"",
        "'\n'",
        "",
        "0x",
        "1e",
        "-",
        "+.",
        "{1a: 2}",
        "\"\\ud800\"",
    ];
    for text in texts {
        let ours = parse(text).map(|v| v.value.to_string());
        let theirs = ::json5::from_str::<serde_json::Value>(text);
        assert_eq!(
            ours.is_ok(),
            theirs.is_ok(),
            "{text:?}: {ours:?} against {theirs:?}"
        );
        if let (Ok(ours), Ok(theirs)) = (ours, theirs) {
            let ours: serde_json::Value = serde_json::from_str(&ours).unwrap();
            assert_eq!(same_numbers(ours), same_numbers(theirs), "{text:?}");
        }
    }
}

/// Makes 1 and 1.0 equal.
fn same_numbers(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value::*;
    match value {
        Number(n) => n.as_f64().into(),
        Array(items) => items.into_iter().map(same_numbers).collect(),
        Object(members) => members
            .into_iter()
            .map(|(k, v)| (k, same_numbers(v)))
            .collect(),
        other => other,
    }
}

#[test]
fn deep_nesting_is_an_error_and_nothing_worse() {
    let deep = "[".repeat(100_000);
    let error = parse(&deep).unwrap_err();
    assert_eq!(error.reason, "nested deeper than 64 levels");
    let cut: String = "{a:[{b:'x',c:0x1f}]} // ü".into();
    for (end, _) in cut.char_indices() {
        let _ = parse(&cut[..end]);
    }
}

#[test]
fn each_value_of_a_long_text_has_its_line() {
    // comments, texts of several lines and nested values count, too
    let item = "{a: [1,\n 2], /* x\n\n */ b: 'y\\\nz'}, // w\n";
    let text = format!("[\n{}]", item.repeat(500));
    let crate::value::Value::List(items) = parse(&text).expect("a list").value else {
        panic!("a list")
    };
    assert_eq!(items.len(), 500);
    for (number, item) in items.iter().enumerate() {
        let first = 2 + 5 * number as u32;
        assert_eq!(item.line, first);
        let crate::value::Value::Object(members) = &item.value else {
            panic!("an object")
        };
        let lines = members.iter().map(|(_, member)| member.line);
        assert_eq!(lines.collect::<Vec<_>>(), [first, first + 3]);
    }
}
