// SPDX-License-Identifier: MIT OR Apache-2.0

//! Bad input and impossible requests: typed errors in one line that name the fault and its place.

use std::net::TcpListener;
use std::time::Instant;

use crate::pair::{LONG, alone};
use zonda::bytes::{Encoding, ZBytes};
use zonda::session::RefusalKind;
use zonda::{Config, DeclareError, OpenError, Operation, PublishError, Session, Wait};

#[test]
fn invalid_keys_are_refused_where_they_are_used() {
    let session = alone();
    for bad in ["", "/a", "a//b", "a/b/", "a#b", "a*"] {
        let error = session.put(bad, "x").typed().wait().unwrap_err();
        assert!(matches!(error, PublishError::Key(_)), "{bad}: {error}");
        let error = session.delete(bad).typed().wait().unwrap_err();
        assert!(matches!(error, PublishError::Key(_)), "{bad}: {error}");
        let error = session.declare_subscriber(bad).typed().wait().unwrap_err();
        assert!(matches!(error, DeclareError::Key(_)), "{bad}: {error}");
        let error = session.declare_publisher(bad).typed().wait().unwrap_err();
        assert!(matches!(error, DeclareError::Key(_)), "{bad}: {error}");
        assert!(session.declare_keyexpr(bad).wait().is_err());
        let line = zonda::Error::from(error).to_string();
        assert!(!line.is_empty() && !line.contains('\n'));
    }
}

/// Neighbours would ignore them, and the user would not know why nothing arrives.
#[test]
fn keys_beyond_the_limits_are_refused_where_they_are_used() {
    let session = alone();
    let chunks = vec!["a"; 16_385].join("/");
    let globs = vec!["a$*"; 33].join("/");
    let long = format!("{}$*", "x".repeat(1023));
    for bad in [&chunks, &globs, &long] {
        let error = session.put(bad, "x").typed().wait().unwrap_err();
        assert!(matches!(error, PublishError::KeyOverLimit(_)), "{error}");
        let error = session.declare_subscriber(bad).typed().wait().unwrap_err();
        assert!(matches!(error, DeclareError::KeyOverLimit(_)), "{error}");
        let error = session.declare_publisher(bad).typed().wait().unwrap_err();
        assert!(matches!(error, DeclareError::KeyOverLimit(_)), "{error}");
        let line = zonda::Error::from(error).to_string();
        assert!(line.contains("exceeds the limit of") && !line.contains('\n'));
    }
    let good = format!("{}a", format!("{}/", "x".repeat(250)).repeat(255));
    session.put(&good, "x").wait().unwrap();
    let whole = "x".repeat(65_535);
    session.put(&whole, "x").wait().unwrap();
    let _subscriber = session.declare_subscriber(&good).wait().unwrap();
}

/// A neighbour closes the link over a larger one, so it is refused here, unless this node is
/// configured to accept as much.
#[test]
fn a_payload_beyond_the_limit_is_refused_with_the_limit() {
    // never written to, so this takes no memory
    let huge = ZBytes::from(vec![0; 1 << 30]);
    let too_large = |session: &Session| match session.put("a", huge.clone()).typed().wait() {
        Err(PublishError::TooLarge { size, limit }) => Some((size, limit)),
        other => {
            other.unwrap();
            None
        }
    };
    let limit = (1 << 30) - (1 << 16);
    assert_eq!(too_large(&alone()), Some((1 << 30, limit)));
    let config = Config::peer().with("transport/link/rx/max_message_size", "2147483648");
    let session = zonda::open(config.listen(["tcp/127.0.0.1:0"])).wait();
    assert_eq!(too_large(&session.unwrap()), None);
}

#[test]
fn a_schema_the_wire_cannot_say_is_refused() {
    let session = alone();
    let encoding = Encoding::TEXT_PLAIN.with_schema("x".repeat(256));
    let error = session
        .put("demo", "x")
        .encoding(&encoding)
        .typed()
        .wait()
        .unwrap_err();
    assert_eq!(error, PublishError::SchemaTooLong { len: 256 });
    let publisher = session
        .declare_publisher("demo")
        .encoding(encoding)
        .wait()
        .unwrap();
    assert_eq!(
        publisher.try_put("x"),
        Err(PublishError::SchemaTooLong { len: 256 })
    );
}

#[test]
fn a_port_in_use_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("tcp/{}", taken.local_addr().unwrap());
    let error = zonda::open(Config::peer().listen([&endpoint]))
        .typed()
        .wait()
        .unwrap_err();
    assert!(matches!(error, OpenError::Listen { .. }), "{error:?}");
    assert!(error.to_string().contains(&endpoint), "{error}");
}

#[test]
fn a_client_without_a_router_fails_at_once() {
    let begin = Instant::now();
    let error = zonda::open(Config::client([] as [&str; 0]))
        .typed()
        .wait()
        .unwrap_err();
    assert_eq!(error, OpenError::NoEndpoint);
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let endpoint = format!("tcp/{free}");
    let error = zonda::open(Config::client([&endpoint]))
        .typed()
        .wait()
        .unwrap_err();
    let OpenError::Connect { reason, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(reason.kind, RefusalKind::ConnectionRefused);
    assert!(error.to_string().contains(&endpoint), "{error}");
    assert!(begin.elapsed() < LONG / 4);
}

#[test]
fn a_refused_configuration_is_an_open_error() {
    let error = zonda::open(Config::peer().listen(["nonsense"]))
        .typed()
        .wait()
        .unwrap_err();
    assert!(error.to_string().contains("listen/endpoints"), "{error}");
    let error = zonda::open(Config::peer().with("conect", "{}"))
        .typed()
        .wait()
        .unwrap_err();
    assert!(
        error.to_string().contains("did you mean `connect`?"),
        "{error}"
    );
}

#[test]
fn a_peer_opens_without_anybody_to_connect_to() {
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let config = Config::peer()
        .listen(["tcp/127.0.0.1:0"])
        .connect([format!("tcp/{free}")]);
    let session = zonda::open(config).wait().unwrap();
    session.put("demo", "nobody hears").wait().unwrap();
    session.close().wait().unwrap();
}
