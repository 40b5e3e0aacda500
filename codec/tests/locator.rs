// SPDX-License-Identifier: MIT OR Apache-2.0
//! Endpoints and locators: every vector of layer `locator`, the reference's parser as an oracle, and the errors.

use proptest::prelude::*;
use zenoh_protocol::core::EndPoint;
use zonda_codec::locator::is_wire_locator;
use zonda_codec::{Endpoint, EndpointError, Locator};
use zonda_testkit::json;

#[test]
fn every_vector_agrees() {
    let all = json::golden_vectors();
    let mut checked = 0;
    for vector in all.iter().filter(|vector| vector["layer"] == "locator") {
        let name = vector["name"].as_str().expect("a name");
        let input = name
            .strip_prefix("locator_")
            .expect("the name holds the input");
        let hex: String = input.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(Some(hex.as_str()), vector["hex"].as_str(), "{name}");

        let endpoint = input.parse::<Endpoint>().ok();
        let expected = &vector["decoded"];
        assert_eq!(
            endpoint.as_ref().map(Endpoint::as_str),
            expected["endpoint"].as_str(),
            "{name}"
        );
        let locator = endpoint.as_ref().map(Endpoint::locator);
        assert_eq!(
            locator.as_ref().map(Locator::as_str),
            expected["locator"].as_str(),
            "{name}"
        );
        if let Some(locator) = locator {
            assert_eq!(locator.as_str().parse(), Ok(locator.clone()), "{name}");
        }
        checked += 1;
    }
    assert_eq!(checked, 14);
}

#[test]
fn parts_are_found() {
    let endpoint: Endpoint = "quic/h:1?rel=0;;prio=1-3;x#b=1|2;a;b=3".parse().unwrap();
    assert_eq!(endpoint.as_str(), "quic/h:1?prio=1-3;rel=0;x#a;b=1|2;b=3");
    assert_eq!(
        (endpoint.proto(), endpoint.address().as_str()),
        ("quic", "h:1")
    );
    assert_eq!(endpoint.metadata().get("rel"), Some("0"));
    assert_eq!(endpoint.metadata().get("x"), Some(""));
    assert_eq!(endpoint.metadata().get("a"), None);
    assert_eq!(endpoint.config().get("b"), Some("1|2"));
    assert_eq!(endpoint.config().get("rel"), None);
    assert_eq!(endpoint.metadata().iter().count(), 3);
    assert_eq!(endpoint.config().iter().count(), 3);

    let locator = endpoint.locator();
    assert_eq!(locator.as_str(), "quic/h:1?prio=1-3;rel=0;x");
    assert_eq!(
        (locator.proto(), locator.address().as_str()),
        ("quic", "h:1")
    );
    assert_eq!(locator.metadata().get("prio"), Some("1-3"));
    assert_eq!(Endpoint::from(locator.clone()).locator(), locator);

    let path: Endpoint = "unixsock-stream//tmp/x.sock".parse().unwrap();
    assert_eq!(
        (path.proto(), path.address().as_str()),
        ("unixsock-stream", "/tmp/x.sock")
    );
}

#[test]
fn a_bound_address_replaces_the_asked_one() {
    let asked: Endpoint = "tcp/[::]:0?rel=1#so_sndbuf=1".parse().unwrap();
    let bound = asked.with_address("[::]:40123").unwrap();
    assert_eq!(bound.as_str(), "tcp/[::]:40123?rel=1#so_sndbuf=1");
    assert!(matches!(
        asked.with_address(""),
        Err(EndpointError::NoAddress { .. })
    ));
}

#[test]
fn the_wire_limit_is_exact() {
    let fits = format!("tcp/{}", "h".repeat(251));
    assert_eq!(fits.parse::<Locator>().unwrap().as_str().len(), 255);
    assert!(
        format!("{fits}#{}=1", "long".repeat(100))
            .parse::<Endpoint>()
            .is_ok()
    );
    let long = format!("{fits}h");
    assert!(matches!(
        long.parse::<Locator>(),
        Err(EndpointError::TooLong { length: 256, .. })
    ));
    assert!(matches!(
        long.parse::<Endpoint>(),
        Err(EndpointError::TooLong { length: 256, .. })
    ));
}

#[test]
fn errors_say_what_where_and_what_to_try() {
    let cases = [
        (
            "",
            "endpoint \"\" names no protocol: write protocol/address, such as tcp/127.0.0.1:7447",
        ),
        (
            "localhost:7447",
            "endpoint \"localhost:7447\" names no protocol: write protocol/address, such as tcp/127.0.0.1:7447",
        ),
        (
            "/a",
            "endpoint \"/a\" names no protocol: write protocol/address, such as tcp/127.0.0.1:7447",
        ),
        (
            "tcp://localhost:7447",
            "endpoint \"tcp://localhost:7447\" has ':' in its protocol at byte 3: write protocol/address without `://`, such as tcp/127.0.0.1:7447",
        ),
        (
            "tcp/?rel=1",
            "endpoint \"tcp/?rel=1\" has no address at byte 4: write protocol/address, such as tcp/127.0.0.1:7447",
        ),
        (
            "tcp/h:1?",
            "endpoint \"tcp/h:1?\" has nothing after `?`: add key=value there, or remove the `?`",
        ),
        (
            "tcp/h:1?a=1#;",
            "endpoint \"tcp/h:1?a=1#;\" has nothing after `#`: add key=value there, or remove the `#`",
        ),
        (
            "tcp/h:1?a=1;=2\n",
            "endpoint \"tcp/h:1?a=1;=2\\n\" has `=2\\n` after `?`, a value without a key: write key=value",
        ),
        (
            "tcp/h:1#a=1?rel=1",
            "endpoint \"tcp/h:1#a=1?rel=1\" has `?` after `#`: metadata goes before the configuration, as in tcp/host:7447?rel=1#iface=lo",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(text.parse::<Endpoint>().unwrap_err().to_string(), expected);
    }
    assert_eq!(
        "tcp/h:1#a=1".parse::<Locator>().unwrap_err().to_string(),
        "locator \"tcp/h:1#a=1\" has a `#` part: local options belong to an endpoint, remove them here"
    );
    let long = format!("tcp/{}", "é".repeat(200));
    let shown = long.parse::<Endpoint>().unwrap_err().to_string();
    assert!(
        shown.contains("is 404 bytes before any `#`, more than 255"),
        "{shown}"
    );
    assert!(shown.len() < 250 && shown.lines().count() == 1, "{shown}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// Texts that the reference parses are parsed here to equal texts, apart from texts that are
    /// refused on purpose: an empty address, and a protocol that is not a plain word.
    #[test]
    fn the_reference_agrees(text in "(tcp|udp|t)?/?[ab:/]{0,4}(\\?[ab=;|1?]{0,8})?(#[ab=;|1?#]{0,8})?") {
        let ours = text.parse::<Endpoint>();
        let theirs = text.parse::<EndPoint>().ok();
        let refused = matches!(ours, Err(EndpointError::NoAddress { .. } | EndpointError::BadProtocol { .. }));
        if !refused {
            prop_assert_eq!(
                ours.as_ref().ok().map(Endpoint::as_str),
                theirs.as_ref().map(|endpoint| endpoint.as_str()),
                "{}", text
            );
        }
        if let Ok(endpoint) = ours {
            let theirs = theirs.unwrap();
            prop_assert_eq!(endpoint.proto(), theirs.protocol().as_str());
            prop_assert_eq!(endpoint.address(), theirs.address().as_str());
            let (metadata, config) = (theirs.metadata(), theirs.config());
            prop_assert_eq!(endpoint.metadata().get("a"), metadata.get("a"));
            prop_assert_eq!(endpoint.config().get("a"), config.get("a"));
            let locator = endpoint.locator();
            let theirs = theirs.to_locator();
            prop_assert_eq!(locator.as_str(), theirs.as_str());
            prop_assert_eq!(endpoint.as_str().parse::<Endpoint>().unwrap(), endpoint.clone());
        }
    }

    /// In a message the reference takes exactly the texts it would write itself.
    #[test]
    fn locators_in_messages_are_those_of_the_reference(
        text in "(tcp|t:|)/?[ab:/]{0,4}(\\?[ab=;|1?]{0,8})?(#[ab=]{0,3})?"
    ) {
        let theirs = text.parse::<zenoh_protocol::core::Locator>();
        let expected = theirs.is_ok_and(|locator| locator.as_str() == text);
        prop_assert_eq!(is_wire_locator(&text), expected, "{}", text);
        if let Ok(locator) = text.parse::<Locator>() {
            prop_assert!(is_wire_locator(locator.as_str()));
        }
    }

    #[test]
    fn no_text_panics(text in any::<String>()) {
        let _ = (text.parse::<Endpoint>(), text.parse::<Locator>());
        let _ = format!("tcp/{text}").parse::<Endpoint>();
    }
}
