// SPDX-License-Identifier: MIT OR Apache-2.0
//! Key expressions against the recorded answers of the reference: every vector of layer `keyexpr`, none skipped.

use serde_json::Value;
use zonda_codec::key_expr::{canonize, includes, intersects, validate};
use zonda_testkit::json;

fn vectors(layer: &str) -> Vec<Value> {
    json::golden_vectors()
        .into_iter()
        .filter(|vector| vector["layer"] == layer)
        .collect()
}

#[test]
fn every_vector_agrees() {
    let (mut canons, mut relations) = (0, 0);
    for vector in vectors("keyexpr") {
        let name = vector["name"].as_str().expect("a name");
        let fields = &vector["decoded"];
        let a = fields["a"].as_str().expect("a key");
        match fields["op"].as_str() {
            Some("canon") => {
                canons += 1;
                assert_eq!(
                    Some(validate(a).is_ok()),
                    fields["valid"].as_bool(),
                    "{name}"
                );
                let canonical = canonize(a).ok();
                assert_eq!(canonical.as_deref(), fields["canon"].as_str(), "{name}");
            }
            Some("relation") => {
                relations += 1;
                let b = fields["b"].as_str().expect("a key");
                validate(a).and(validate(b)).expect(name);
                assert_eq!(
                    Some(intersects(a, b)),
                    fields["intersects"].as_bool(),
                    "{name}: {a} {b}"
                );
                assert_eq!(
                    Some(includes(a, b)),
                    fields["includes"].as_bool(),
                    "{name}: {a} {b}"
                );
            }
            other => panic!("{name}: unknown operation {other:?}"),
        }
    }
    assert_eq!((canons, relations), (50, 315));
}

/// The table of the specification's section 8.
#[test]
fn table_of_the_specification() {
    for (a, b, meet, cover) in [
        ("a/**", "a", true, true),
        ("a/*", "a", false, false),
        ("**", "@a", false, false),
        ("**/@b", "@b", true, true),
        ("a/**", "a/@b", false, false),
        ("a/**", "a/**/@b/**", false, false),
        ("@a/**", "@a", true, true),
        ("*/**", "**", true, false),
        ("x/a$*d$*e", "x/ade", true, true),
        ("x/a$*d$*e", "x/a$*e", true, false),
        ("x/$*d", "x/$*e", false, false),
        ("ab$*cd", "abxxcxxcd", true, true),
    ] {
        assert_eq!(intersects(a, b), meet, "{a} meets {b}");
        assert_eq!(includes(a, b), cover, "{a} covers {b}");
    }
}
