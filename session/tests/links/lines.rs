// SPDX-License-Identifier: MIT OR Apache-2.0

//! Errors of endpoints that cannot be used: one line each, with the endpoint, the fault and a
//! remedy.

use std::fs;
use std::path::PathBuf;

use zonda::{Config, Wait};

/// A directory that is deleted with its owner.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let name = format!("zonda-lines-{name}-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        fs::create_dir_all(&directory).expect("a directory");
        Place(directory)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("text").to_owned()
    }

    #[cfg(feature = "tls")]
    fn file(&self, name: &str, content: &[u8]) -> String {
        fs::write(self.path(name), content).expect("room for it");
        self.path(name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // files that stay do no harm
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the error of opening a session with this configuration; nothing if it opens.
fn line(config: Config) -> String {
    let config = config
        .with("connect/timeout_ms", "0")
        .with("listen/exit_on_failure", "true")
        .with("transport/unicast/open_timeout", "200");
    match zonda::open(config).wait() {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    }
}

fn listening(at: &str) -> String {
    line(Config::peer().listen([at]))
}

fn connecting(at: &str) -> String {
    line(Config::client([at]))
}

/// Checks the errors of a listening and of a connecting session about an endpoint, behind its name.
fn check(at: &str, expected: &str) {
    for text in [listening(at), connecting(at)] {
        let behind = text.split_once(at).map_or("", |(_, behind)| behind);
        assert!(behind.contains(expected), "{at}: {text}");
        assert!(!text.contains('\n'), "{at}: {text}");
    }
}

const WRITE: &str = "; write HOST:PORT, such as 127.0.0.1:7447 or [::1]:7447";

#[test]
fn endpoints_that_cannot_be() {
    for (at, expected) in [
        (
            "carrier-pigeon/roof:1",
            ": protocol \"carrier-pigeon\" is not supported; use one of: ",
        ),
        (
            "TCP/127.0.0.1:1",
            ": protocol \"TCP\" is not supported; use one of: ",
        ),
        ("udp/127.0.0.1", ": address \"127.0.0.1\" has no port"),
        ("udp/:7447", ": address \":7447\" has no host"),
        (
            "udp/127.0.0.1:99999",
            ": address \"127.0.0.1:99999\" has a port outside 0..=65535",
        ),
        (
            "tcp/::1:7447",
            ": address \"::1:7447\" is an IPv6 address without brackets",
        ),
    ] {
        check(at, expected);
        if expected.contains("address") {
            check(at, WRITE);
        }
    }
}

#[cfg(unix)]
#[test]
fn paths_that_cannot_be_used() {
    use std::os::unix::net::UnixListener;

    let place = Place::new("paths");
    let at = |name: &str| format!("unixsock-stream/{}", place.path(name));
    let long = at(&"a".repeat(100));
    check(
        &long,
        "is longer than the system allows, or has a zero byte",
    );
    check(&long, "; write unixsock-stream/PATH, such as ");
    check(&at("directory/"), "is a directory");
    fs::write(place.path("file"), "precious").expect("room for it");
    drop(UnixListener::bind(place.path("dead")).expect("free"));
    let foreign = UnixListener::bind(place.path("foreign")).expect("free");
    let ours = zonda::open(Config::peer().listen([at("ours")])).wait();
    let in_use = ": address in use; is another router running? take another path";
    for (name, expected) in [
        ("no/where", ": no such file or directory"),
        (
            "file",
            ": entity already exists; what is there is no socket: take another path, or remove it",
        ),
        ("foreign", in_use),
        ("ours", in_use),
    ] {
        let (at, text) = (at(name), listening(&at(name)));
        assert_eq!(text, format!("cannot listen on {at}{expected}"));
    }
    let nobody = "; check that a router or peer listens there";
    for (name, expected) in [
        ("no/where", ": no such file or directory"),
        ("file", ": connection refused"),
        ("dead", ": connection refused"),
    ] {
        let (at, text) = (at(name), connecting(&at(name)));
        assert_eq!(text, format!("cannot connect to {at}{expected}{nobody}"));
    }
    // The new listener takes over the socket file of one that has crashed.
    assert_eq!(listening(&at("dead")), "");
    let kept = fs::read_to_string(place.path("file")).expect("still there");
    assert_eq!(kept, "precious");
    drop((foreign, ours));
}

#[test]
fn an_address_to_come_from_that_is_not_there() {
    for (at, reason) in [
        (
            "udp/127.0.0.1:9#bind=192.0.2.1:0",
            "cannot assign requested address",
        ),
        (
            "tcp/127.0.0.1:9#bind=192.0.2.1:0",
            "cannot assign requested address",
        ),
        ("udp/[::1]:9#bind=127.0.0.1:0", ""),
    ] {
        let text = connecting(at);
        let start = format!("cannot connect to {at}: {reason}");
        assert!(text.starts_with(&start), "{text}");
        let advice = "; `bind` has to be a free address of this machine, of the same family as the other end's";
        assert!(text.ends_with(advice), "{text}");
    }
}

/// Parts of keys and certificates that are missing or cannot be read, at the end that shows them.
#[cfg(feature = "tls")]
#[test]
fn pieces_that_cannot_be_read() {
    use crate::authority::Authority;

    let place = Place::new("pieces");
    let authority = Authority::new();
    let one = authority.sign("one", &["127.0.0.1"]);
    let whole = fs::read(&one.certificate).expect("it is there");
    let encrypted =
        b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIF\n-----END ENCRYPTED PRIVATE KEY-----\n";
    let (none, folder) = (place.path("none"), place.path(""));
    let binary = place.file("binary", &[0, 255, 3, 4]);
    let cut = place.file("cut.pem", &whole[..200]);
    let torn = place.file("torn.pem", b"-----BEGIN CERTIFICATE\nMIIF\n");
    let encrypted = place.file("encrypted.key", encrypted);
    let missing = "cannot be read: no such file or directory";
    let no_certificate =
        "has no certificate in it; a PEM file has one in -----BEGIN CERTIFICATE-----";
    let ends_early = "is no PEM: it ends before -----END CERTIFICATE-----";
    let is_torn = "is no PEM: a line with -----BEGIN does not end in -----";
    let no_key = "has no private key in it: no section of that kind is in it";
    let is_encrypted = "is an encrypted key, which is not supported; decrypt it first";
    for (piece, file, expected) in [
        ("certificate", &none, missing),
        ("certificate", &folder, "cannot be read: is a directory"),
        ("certificate", &binary, no_certificate),
        ("certificate", &one.key, no_certificate),
        ("certificate", &cut, ends_early),
        ("certificate", &torn, is_torn),
        ("private_key", &none, missing),
        ("private_key", &binary, no_key),
        ("private_key", &encrypted, is_encrypted),
    ] {
        for side in ["listen", "connect"] {
            let setting = format!("{side}_{piece}");
            let mut options = [
                format!("{side}_certificate_file={}", one.certificate),
                "enable_mtls=true".to_owned(),
                format!("{side}_private_key_file={}", one.key),
                format!("root_ca_certificate_file={}", authority.ca()),
            ];
            options[if piece == "certificate" { 0 } else { 2 }] = format!("{setting}_file={file}");
            options.sort();
            let at = format!("tls/127.0.0.1:0#{}", options.join(";"));
            let text = match side {
                "listen" => listening(&at),
                _ => connecting(&at),
            };
            let expected = format!("{at}: {setting} {file} {expected}");
            assert!(text.ends_with(&expected) && !text.contains('\n'), "{text}");
        }
    }
}

/// Keys that are needed and not named, and one of another certificate.
#[cfg(feature = "tls")]
#[test]
fn keys_that_do_not_belong_together() {
    let authority = crate::authority::Authority::new();
    let one = authority.sign("one", &["127.0.0.1"]);
    let two = authority.sign("two", &["127.0.0.1"]);
    let both = |key: &str| {
        let certificate = &one.certificate;
        format!("listen_certificate_file={certificate};listen_private_key_file={key}")
    };
    let not_there = |piece: &str| format!("{piece} is needed for TLS and not there; set it");
    let foreign = &two.key;
    for (options, expected) in [
        (String::new(), not_there("listen_certificate")),
        (
            format!("#{}", both(foreign)),
            format!("listen_private_key {foreign} does not belong to listen_certificate"),
        ),
        (
            format!("#enable_mtls=true;{}", both(&one.key)),
            not_there("root_ca_certificate"),
        ),
    ] {
        let at = format!("tls/127.0.0.1:0{options}");
        assert_eq!(listening(&at), format!("cannot listen on {at}: {expected}"));
    }
}

/// No error, list or configuration shows a private key in an endpoint.
#[cfg(feature = "tls")]
#[test]
fn a_key_in_an_endpoint_is_shown_nowhere() {
    for option in ["raw", "base64"] {
        let at = format!(
            "tls/127.0.0.1:0#listen_private_key_{option}=cHJlY2lvdXM;listen_certificate_file=/none"
        );
        let config = Config::peer().listen([&at]);
        let effective = config.effective();
        let shown = [
            listening(&at),
            connecting(&at.replace("listen_", "connect_")),
            listening(&format!("{at};enable_mtls=maybe")),
            format!("{config} {config:?}"),
            effective.iter().map(ToString::to_string).collect(),
        ];
        for text in shown {
            assert!(text.contains("(hidden)"), "{text}");
            assert!(!text.contains("cHJl"), "{text}");
        }
    }
}
