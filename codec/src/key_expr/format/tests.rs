// SPDX-License-Identifier: MIT OR Apache-2.0
//! Formats: parsing, writing and reading of keys.

use super::*;

type Tested = Result<(), Box<dyn std::error::Error>>;

#[test]
fn what_is_a_format() -> Tested {
    let format = KeFormat::new("a/${a:*}/b/$#{b:**#}}#/c")?;
    let [first, second] = format.segments() else {
        panic!("{format:?}")
    };
    assert_eq!(
        (first.prefix, first.id(), first.pattern().as_str()),
        ("a/", "a", "*")
    );
    assert_eq!((second.prefix, second.id()), ("/b/", "b"));
    assert_eq!(second.default().map(keyexpr::as_str), Some("}"));
    assert_eq!(second.prefix().map(keyexpr::as_str), Some("b"));
    assert_eq!(format.suffix, "/c");
    assert_eq!(format.to_string(), "a/${a:*}/b/$#{b:**#}}#/c");
    assert_eq!(KeyExpr::try_from(&format)?, "a/*/b/**/c");
    for wrong in [
        "",
        "/",
        "a/",
        "a//${b:*}",
        "a${b:*}",
        "${b:*}a",
        "${b:*}/",
        "${b}",
        "${b:}",
        "${b:*",
        "${b:a#c}",
        "$x",
        "$",
        "$#",
        "*/${b:*}",
        "a$*/${b:*}",
        "${b:*}/**",
        "${b:*}/${b:*}",
        "**/${a:**}/${b:**}/**",
        "/${b:*}",
        "${a:*}//${b:*}",
        "${a:*}${b:*}",
    ] {
        assert!(KeFormat::new(wrong).is_err(), "{wrong}");
    }
    Ok(())
}

#[test]
fn values_become_keys() -> Tested {
    let format = KeFormat::new("a/${a:*}/b/$#{b:**}#/c")?;
    let mut formatter = format.formatter();
    formatter.set("a", 1)?;
    let missing = formatter.build().unwrap_err();
    let said = "part b of a/${a:*=1}/b/${b:**}/c has no value";
    assert_eq!(missing.to_string(), said);
    for (b, key) in [("hi/there", "a/1/b/hi/there/c"), ("", "a/1/b/c")] {
        assert_eq!(formatter.set("b", b)?.build()?, key);
        assert_eq!(formatter.get("b"), Some(b));
    }
    for (id, value, problem) in [
        ("a", "", FormatSetError::PatternNotMatched),
        ("a", "1/2", FormatSetError::PatternNotMatched),
        ("a", "1//2", FormatSetError::PatternNotMatched),
        ("x", "1", FormatSetError::InvalidId),
    ] {
        assert_eq!(formatter.set(id, value).err(), Some(problem));
    }
    assert_eq!((formatter.get("a"), formatter.get("b")), (None, Some("")));
    assert_eq!(formatter.clear().get("b"), None);
    let format = KeFormat::new("${a:*#x}/${b:**}")?;
    let mut formatter = format.formatter();
    assert_eq!(KeyExpr::try_from(formatter.set("b", "")?)?, "x");
    Ok(())
}

#[test]
fn keys_become_values() -> Tested {
    for a in ["${a:*}", "a/${a:*}"] {
        for b in ["b/${b:**}", "${b:**}"] {
            for end in ["", "/c"] {
                let text = format!("{a}/{b}{end}");
                let format = KeFormat::new(&text)?;
                for value in ["hello", "hello/there", ""] {
                    let mut formatter = format.formatter();
                    let key = formatter.set("a", "hi")?.set("b", value)?.build()?;
                    let parsed = format.parse(&key)?;
                    assert_eq!(parsed.iter().count(), 2);
                    assert_eq!(
                        (parsed.get("a")?, parsed.get("b")?),
                        ("hi", value),
                        "{text}"
                    );
                    assert!(parsed.get("c").is_err());
                }
            }
        }
    }
    for (format, key, values) in [
        ("${a:**}/${b:**}", "a/b/c", ["a/b/c", ""]),
        ("${a:**}/${b:**}", "**", ["**", "**"]),
        ("hi/${a:there}/${b:**}", "hi/**", ["**", "**"]),
        ("hi/${a:there}/@/${b:**}", "hi/**/@", ["**", ""]),
        ("${a:**}/-/${b:**}", "hey/-/-/there", ["hey/-", "there"]),
    ] {
        let format = KeFormat::new(format)?;
        let parsed = format.parse(keyexpr::new(key)?)?;
        let found: Vec<&str> = (&parsed)
            .into_iter()
            .map(|(_, value)| value.map_or("", keyexpr::as_str))
            .collect();
        assert_eq!(found, values, "{format} {key}");
    }
    for (format, key) in [
        ("a/${b:*}", "a/b/c"),
        ("a/${b:*}", "b/c"),
        ("a/${b:*}/c", "a/b"),
        ("${a:x}", "y"),
        ("a/b", "a/c"),
    ] {
        let format = KeFormat::new(format)?;
        assert!(format.parse(keyexpr::new(key)?).is_err(), "{format} {key}");
    }
    assert!(KeFormat::new("a/b")?.parse(keyexpr::new("a/*")?).is_ok());
    Ok(())
}
