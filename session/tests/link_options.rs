// SPDX-License-Identifier: MIT OR Apache-2.0

//! Features of links beyond the plain protocol, between two sessions over loopback.

use std::io::Write;
use std::time::Duration;

use zonda::{Config, Session, Wait};

use crate::pair::{connected_to, until, until_matched};

const USER: &str = "transport/auth/usrpwd/user";
const PASSWORD: &str = "transport/auth/usrpwd/password";
const DICTIONARY: &str = "transport/auth/usrpwd/dictionary_file";

/// A file of users, deleted when it is dropped.
struct Dictionary(std::path::PathBuf);

impl Dictionary {
    fn with(name: &str, lines: &str) -> Dictionary {
        let path = std::env::temp_dir().join(format!("zonda-{name}-{}", std::process::id()));
        let mut options = std::fs::OpenOptions::new();
        options.create(true).truncate(true).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path).expect("a place for it");
        file.write_all(lines.as_bytes()).expect("room for it");
        Dictionary(path)
    }

    fn json(&self) -> String {
        format!("{:?}", self.0.display().to_string())
    }
}

impl Drop for Dictionary {
    fn drop(&mut self) {
        // a file that stays does no harm
        let _ = std::fs::remove_file(&self.0);
    }
}

fn listener(settings: &[(&str, &str)]) -> Session {
    let config = Config::peer().listen(["tcp/127.0.0.1:0"]);
    zonda::open(with(config, settings))
        .wait()
        .expect("a listening peer opens")
}

fn with(config: Config, settings: &[(&str, &str)]) -> Config {
    settings
        .iter()
        .fold(config, |config, (key, json)| config.with(key, json))
}

fn client(of: &Session, settings: &[(&str, &str)]) -> Result<Session, String> {
    let address = of.info().locators().remove(0);
    let config = with(Config::client([&address]), settings);
    let opened = zonda::open(config.with("connect/timeout_ms", "0")).wait();
    opened.map_err(|error| error.to_string())
}

/// Exchanges small and large messages, in both directions.
fn exchange(a: &Session, b: &Session, largest: usize) {
    for (from, to) in [(a, b), (b, a)] {
        let (sent, arrived) = std::sync::mpsc::channel();
        let subscriber = to
            .declare_subscriber("options/*")
            .callback(move |sample| {
                let bytes = sample.payload().to_bytes().into_owned();
                // an error means that the test has failed already
                let _ = sent.send(bytes);
            })
            .wait()
            .expect("it is open");
        let publisher = from.declare_publisher("options/x").wait().expect("open");
        until_matched(&publisher);
        for len in [0, 1, 40, 5000, 30_000, 300_000] {
            if len > largest {
                continue;
            }
            for byte in [Some(7), None] {
                let body: Vec<u8> = match byte {
                    Some(byte) => vec![byte; len],
                    None => (0..len).map(noise).collect(),
                };
                publisher.put(body.clone()).wait().expect("it is taken");
                let came = arrived.recv_timeout(Duration::from_secs(20));
                assert!(came.expect("it arrives") == body, "{len} bytes");
            }
        }
        subscriber.undeclare().wait().expect("open");
        until("nobody listens any more", || {
            !crate::pair::matched(&publisher)
        });
    }
}

/// Returns bytes that no compression makes shorter.
fn noise(at: usize) -> u8 {
    let mixed = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29))
        .wrapping_mul(0xbf58_476d_1ce4_e5b9)
        .to_be_bytes()[0]
}

/// Returns the features of the only link of a session.
fn options(session: &Session) -> Vec<String> {
    let links = session.info().links();
    assert_eq!(links.len(), 1, "{links:?}");
    links[0].options.names()
}

#[test]
fn users_get_in_with_their_password_only() {
    let dictionary = Dictionary::with("users", "bob:secret\nann:other\n");
    let router = listener(&[(DICTIONARY, &dictionary.json())]);
    let bob = client(&router, &[(USER, "'bob'"), (PASSWORD, "'secret'")]).expect("bob is known");
    exchange(&bob, &router, 300_000);
    assert_eq!(options(&bob), ["user bob"]);
    assert_eq!(options(&router), ["user bob"]);
    bob.close().wait().expect("it closes");

    for (settings, says) in [
        (&[][..], "transport/auth/usrpwd/user"),
        (
            &[(USER, "'bob'"), (PASSWORD, "'other'")],
            "refused user \"bob\"",
        ),
        (
            &[(USER, "'carl'"), (PASSWORD, "'secret'")],
            "refused user \"carl\"",
        ),
    ] {
        let error = client(&router, settings).expect_err("it is refused");
        assert!(error.contains(says) && !error.contains('\n'), "{error}");
        assert!(
            !error.contains("secret") && !error.contains("other"),
            "{error}"
        );
    }
}

#[test]
fn credentials_do_no_harm_where_nobody_asks() {
    let router = listener(&[]);
    let address = Config::peer().listen([] as [&str; 0]);
    let bob = with(address, &[(USER, "'bob'"), (PASSWORD, "'secret'")]);
    let bob = connected_to(&router, bob);
    exchange(&bob, &router, 5000);
    assert_eq!(options(&bob), [""; 0]);
}

#[test]
fn a_bad_list_of_users_is_refused_when_the_node_opens() {
    for (lines, says) in [("bob", "line 1"), ("", "no user"), ("bob:", "empty")] {
        let dictionary = Dictionary::with(&format!("bad-{}", lines.len()), lines);
        let config = Config::peer().listen(["tcp/127.0.0.1:0"]);
        let opened = zonda::open(config.with(DICTIONARY, &dictionary.json())).wait();
        let error = opened.expect_err("it is refused").to_string();
        assert!(
            error.contains(says) && error.contains("dictionary_file"),
            "{error}"
        );
    }
}

const COMPRESSION: &[(&str, &str)] = &[("transport/unicast/compression/enabled", "true")];
const LOW_LATENCY: &[(&str, &str)] = &[
    ("transport/unicast/lowlatency", "true"),
    ("transport/unicast/qos/enabled", "false"),
];

#[cfg(feature = "compression")]
#[test]
fn batches_are_compressed_where_both_want_it() {
    let router = listener(COMPRESSION);
    let eager = client(&router, COMPRESSION).expect("both want it");
    exchange(&eager, &router, 300_000);
    assert_eq!(options(&eager), ["compression"]);
    assert_eq!(options(&router), ["compression"]);
    eager.close().wait().expect("it closes");
    let plain = client(&router, &[]).expect("one side is enough to do without");
    exchange(&plain, &router, 300_000);
    assert_eq!(options(&plain), [""; 0]);
}

#[cfg(feature = "compression")]
#[test]
fn compressed_messages_are_shorter() {
    let router = listener(COMPRESSION);
    let eager = client(&router, COMPRESSION).expect("both want it");
    let (sent, arrived) = std::sync::mpsc::channel();
    let _subscriber = router
        .declare_subscriber("options/z")
        .callback(move |sample| {
            // an error means that the test has failed already
            let _ = sent.send(sample.payload().len());
        })
        .wait()
        .expect("open");
    let publisher = eager.declare_publisher("options/z").wait().expect("open");
    until_matched(&publisher);
    let before = eager.info().links()[0].sent.bytes;
    for _ in 0..20 {
        publisher
            .put(vec![7; 1_000_000])
            .wait()
            .expect("it is taken");
        let came = arrived.recv_timeout(Duration::from_secs(20));
        assert_eq!(came, Ok(1_000_000));
    }
    let bytes = eager.info().links()[0].sent.bytes - before;
    assert!(bytes < 400_000, "{bytes} bytes for 20 MB of sevens");
}

#[test]
fn bare_messages_pass_where_both_want_them() {
    let router = listener(LOW_LATENCY);
    let eager = client(&router, LOW_LATENCY).expect("both want it");
    exchange(&eager, &router, 60_000);
    assert_eq!(options(&eager), ["lowlatency"]);
    assert_eq!(options(&router), ["lowlatency"]);
    eager.close().wait().expect("it closes");
    let plain = client(&router, &[]).expect("one side is enough to do without");
    exchange(&plain, &router, 300_000);
    assert_eq!(options(&plain), [""; 0]);
}

#[test]
fn what_does_not_fit_a_bare_message_is_refused_to_the_caller() {
    let router = listener(LOW_LATENCY);
    let eager = client(&router, LOW_LATENCY).expect("both want it");
    let subscriber = router.declare_subscriber("options/x").wait().expect("open");
    let publisher = eager.declare_publisher("options/x").wait().expect("open");
    until_matched(&publisher);
    for len in [65_536, 70_000, 10_000_000] {
        let refused = publisher.put(vec![7; len]).wait();
        let error = refused.expect_err("it is too long").to_string();
        assert!(error.contains("transport/unicast/lowlatency"), "{error}");
        assert!(error.contains(&router.zid().to_string()), "{error}");
    }
    publisher.put(vec![7; 60_000]).wait().expect("it fits");
    let sample = subscriber.recv_timeout(Duration::from_secs(20));
    let sample = sample.expect("it is open").expect("it arrives");
    assert_eq!(sample.payload().len(), 60_000);
    assert_eq!(eager.info().links()[0].sent.refused_too_long, 3);
}

#[test]
fn bare_messages_and_priorities_exclude_each_other() {
    let config = Config::peer().with("transport/unicast/lowlatency", "true");
    let error = zonda::open(config).wait().expect_err("refused").to_string();
    assert!(error.contains("transport/unicast/qos/enabled"), "{error}");
}

#[test]
fn a_quiet_link_with_options_stays() {
    for settings in [COMPRESSION, LOW_LATENCY] {
        let mut settings = settings.to_vec();
        settings.push(("transport/link/tx/lease", "800"));
        let router = listener(&settings);
        let eager = client(&router, &settings).expect("both want it");
        let link = |session: &Session| session.info().links().first().map(|l| l.local.clone());
        let (before, bytes) = (link(&eager), eager.info().links()[0].sent.bytes);
        // a keep-alive has at least three bytes: so many outlast two leases
        until("ten keep-alives", || {
            eager
                .info()
                .links()
                .first()
                .is_some_and(|l| l.sent.bytes >= bytes + 50)
        });
        assert_eq!(link(&eager), before, "the same link");
        exchange(&eager, &router, 5000);
    }
}
