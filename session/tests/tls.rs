// SPDX-License-Identifier: MIT OR Apache-2.0

//! Encrypted links: all traffic passes them, and only authorized peers are let in.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::authority::{Authority, Pair};
use crate::pair::{LONG, until};
use crate::traffic::{check_traffic, port};
use zonda::{Config, Session, Wait};

const HOSTS: &[&str] = &["localhost", "127.0.0.1", "::1"];

fn tls(config: Config, settings: &[(&str, &str)]) -> Config {
    settings.iter().fold(config, |config, (key, value)| {
        let value = match *value {
            "true" | "false" => (*value).to_owned(),
            path => format!("{path:?}"),
        };
        config.with(&format!("transport/link/tls/{key}"), &value)
    })
}

fn listener(at: &str, shown: &Pair, more: &[(&str, &str)]) -> Session {
    let config = tls(
        Config::peer().listen([at]),
        &[
            ("listen_certificate", &shown.certificate),
            ("listen_private_key", &shown.key),
        ],
    );
    zonda::open(tls(config, more)).wait().expect("it listens")
}

fn dial(to: &str, settings: &[(&str, &str)]) -> Result<Session, String> {
    let config = tls(Config::client([to]), settings);
    let opened = zonda::open(config.with("connect/timeout_ms", "0")).wait();
    opened.map_err(|error| error.to_string())
}

const SIZES: &[usize] = &[0, 8, 5000, 70_000, 1 << 20, 9];

#[test]
fn everything_passes_a_link_whose_listener_shows_a_certificate() {
    let authority = Authority::new();
    let shown = authority.sign("server", HOSTS);
    for (listen, host) in [
        ("tls/localhost:0", "localhost"),
        ("tls/127.0.0.1:0", "127.0.0.1"),
        ("tls/[::1]:0", "[::1]"),
    ] {
        let far = listener(listen, &shown, &[]);
        let to = format!("tls/{host}:{}", port(&far));
        let near = dial(&to, &[("root_ca_certificate", &authority.ca())]).expect(&to);
        let link = &near.info().links()[0];
        assert!(
            link.remote.to_string().starts_with("tls/"),
            "{}",
            link.remote
        );
        check_traffic(&near, &far, SIZES);
    }
}

#[test]
fn both_ends_show_a_certificate_where_both_have_to() {
    let authority = Authority::new();
    let shown = authority.sign("server", HOSTS);
    let own = authority.sign("client", &["client"]);
    let ca = authority.ca();
    let mtls = [
        ("enable_mtls", "true"),
        ("root_ca_certificate", ca.as_str()),
    ];
    let far = listener("tls/127.0.0.1:0", &shown, &mtls);
    let to = format!("tls/127.0.0.1:{}", port(&far));
    let named = |pair: &Pair| {
        let mut settings = mtls.to_vec();
        let text = |text: &str| -> &'static str { text.to_owned().leak() };
        settings.push(("connect_certificate", text(&pair.certificate)));
        settings.push(("connect_private_key", text(&pair.key)));
        settings
    };
    let near = dial(&to, &named(&own)).expect("trusted");
    check_traffic(&near, &far, SIZES);
    let refused = dial(&to, &[("root_ca_certificate", &ca)]).expect_err("it shows none");
    assert!(refused.contains(&to), "{refused}");
    assert!(refused.contains("connect_certificate"), "{refused}");
    let mine = Authority::new();
    let foreign = mine.sign("foreign", &["client"]);
    let refused = dial(&to, &named(&foreign)).expect_err("not trusted");
    assert!(refused.contains(&to), "{refused}");
    assert!(refused.contains("trusts no authority"), "{refused}");
}

#[test]
fn what_is_wrong_with_a_certificate_is_said() {
    let authority = Authority::new();
    let (ca, other) = (authority.ca(), Authority::new());
    let cases = [
        (
            authority.sign("name", &["router.example"]),
            ca.as_str(),
            "is for router.example, and not for localhost",
        ),
        (authority.sign_expired("old", HOSTS), &ca, "expired"),
        (other.sign("other", HOSTS), &ca, "set root_ca_certificate"),
    ];
    for (shown, ca, expected) in cases {
        let far = listener("tls/127.0.0.1:0", &shown, &[]);
        let to = format!("tls/localhost:{}", port(&far));
        let trusted = [("root_ca_certificate", ca)];
        let text = dial(&to, &trusted).expect_err(expected);
        assert!(text.contains(expected) && text.contains(&to), "{text}");
        let any = [trusted[0], ("verify_name_on_connect", "false")];
        assert_eq!(
            dial(&to, &any).is_ok(),
            expected.contains("router"),
            "{expected}"
        );
    }
}

#[test]
fn a_listener_needs_keys_that_fit_and_says_which_do_not() {
    let authority = Authority::new();
    let (one, two) = (authority.sign("one", HOSTS), authority.sign("two", HOSTS));
    let open = |settings: &[(&str, &str)]| {
        let config = tls(Config::peer().listen(["tls/127.0.0.1:0"]), settings);
        let opened = zonda::open(config.with("listen/exit_on_failure", "true")).wait();
        opened.expect_err("it cannot listen").to_string()
    };
    for (settings, expected) in [
        (
            vec![],
            "listen_certificate is needed for TLS and not there; set it",
        ),
        (
            vec![("listen_certificate", "/nowhere.pem")],
            "listen_certificate /nowhere.pem cannot be read: no such file",
        ),
        (
            vec![
                ("listen_certificate", one.key.as_str()),
                ("listen_private_key", &one.key),
            ],
            "has no certificate in it",
        ),
        (
            vec![
                ("listen_certificate", &one.certificate),
                ("listen_private_key", &one.certificate),
            ],
            "has no private key in it",
        ),
        (
            vec![
                ("listen_certificate", &one.certificate),
                ("listen_private_key", &two.key),
            ],
            "does not belong to listen_certificate",
        ),
    ] {
        let text = open(&settings);
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn who_does_not_speak_tls_delays_nobody() {
    let authority = Authority::new();
    let shown = authority.sign("server", HOSTS);
    let far = listener("tls/127.0.0.1:0", &shown, &[]);
    let at: SocketAddr = ([127, 0, 0, 1], port(&far)).into();
    let connect = || TcpStream::connect(at).expect("it listens");
    let silent: Vec<_> = (0..50).map(|_| connect()).collect();
    let mut noisy: Vec<_> = (0..50).map(|_| connect()).collect();
    for (index, stream) in noisy.iter_mut().enumerate() {
        // Half of them begin as TLS does.
        let start: &[u8] = if index % 2 == 0 {
            b"GET / HTTP/1.1\r\n\r\n"
        } else {
            &[22, 3, 1, 2, 0]
        };
        stream.write_all(start).expect("it takes it");
    }
    let begin = Instant::now();
    let to = format!("tls/{at}");
    let near = dial(&to, &[("root_ca_certificate", &authority.ca())]).expect("in time");
    assert!(
        begin.elapsed() < Duration::from_secs(5),
        "{:?}",
        begin.elapsed()
    );
    let mut answer = Vec::new();
    let ended = noisy[0].read_to_end(&mut answer);
    assert!(ended.is_err() || answer.len() < 20, "{answer:?}");
    drop((near, silent));
    let refused = dial(&format!("tcp/{at}"), &[]).expect_err("it is encrypted");
    assert!(refused.contains(&format!("tcp/{at}")), "{refused}");
    let plain = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = plain.local_addr().expect("bound");
    let server = std::thread::spawn(move || {
        let (mut stream, _) = plain.accept().expect("a connection");
        let _ = stream.write_all(b"220 mail.example ready\r\n");
        std::thread::sleep(Duration::from_millis(200));
    });
    let text = dial(&format!("tls/{at}"), &[]).expect_err("it speaks something else");
    assert!(text.contains("does not speak TLS"), "{text}");
    server.join().expect("it ends");
}

#[test]
fn a_certificate_is_renewed_without_a_restart() {
    let authority = Authority::new();
    let shown = authority.sign("server", &["first.example"]);
    let far = listener("tls/127.0.0.1:0", &shown, &[]);
    let to = format!("tls/localhost:{}", port(&far));
    let ca = authority.ca();
    let trusted = [("root_ca_certificate", ca.as_str())];
    dial(&to, &trusted).expect_err("it is for another host");
    std::thread::sleep(Duration::from_millis(20));
    std::fs::write(&shown.certificate, "nonsense").expect("room");
    std::thread::sleep(Duration::from_millis(1100));
    let text = dial(&to, &trusted).expect_err("the old one is shown still");
    assert!(text.contains("first.example"), "{text}");
    authority.sign("server", HOSTS);
    until("the new one is shown", || {
        std::thread::sleep(Duration::from_millis(200));
        dial(&to, &trusted).is_ok()
    });
}

#[test]
fn a_link_ends_with_the_certificate_where_that_is_asked_for() {
    let authority = Authority::new();
    let shown = authority.sign_for("server", HOSTS, 6);
    let far = listener("tls/127.0.0.1:0", &shown, &[]);
    let (ca, to) = (authority.ca(), format!("tls/localhost:{}", port(&far)));
    let open = |ends: &str| {
        let settings = [
            ("root_ca_certificate", ca.as_str()),
            ("close_link_on_expiration", ends),
        ];
        // A short lease, as the clock is read with each keep-alive.
        let config = tls(Config::client([&to]), &settings).with("transport/link/tx/lease", "2000");
        zonda::open(config).wait().expect("valid still")
    };
    let (ending, staying) = (open("true"), open("false"));
    let events = ending.info().link_events_listener().wait();
    let events = events.expect("a listener");
    let event = events.recv_timeout(LONG).expect("open").expect("in time");
    let reason = event.reason().expect("it is lost").to_string();
    let expected =
        "the peer's certificate has expired (transport/link/tls/close_link_on_expiration)";
    assert_eq!(reason, expected);
    assert_eq!(staying.info().links().len(), 1);
}

/// Returns the output of OpenSSL about a handshake with this listener; `None` where it is not
/// installed.
fn openssl(of: &Session, more: &[&str]) -> Option<String> {
    let output = std::process::Command::new("openssl")
        .args(["s_client", "-verify_return_error", "-connect"])
        .arg(format!("127.0.0.1:{}", port(of)))
        .args(more)
        .stdin(std::process::Stdio::null())
        .output();
    let output = output.ok()?;
    let said = [output.stdout, output.stderr].concat();
    Some(String::from_utf8_lossy(&said).into_owned())
}

/// Another implementation of TLS is the judge: versions, the chain, names, and authorized clients.
#[test]
fn openssl_finds_what_the_listener_shows() {
    let authority = Authority::new();
    let (shown, own) = (
        authority.sign("server", HOSTS),
        authority.sign("client", &["client"]),
    );
    let ca = authority.ca();
    let mtls = [("enable_mtls", "true"), ("root_ca_certificate", &*ca)];
    let one = listener("tls/127.0.0.1:0", &shown, &[]);
    let both = listener("tls/127.0.0.1:0", &shown, &mtls);
    let trusting = ["-CAfile", &*ca, "-verify_ip", "127.0.0.1"];
    let certified = ["-cert", &*own.certificate, "-key", &*own.key];
    let stranger = Authority::new();
    let other = stranger.ca();
    for (to, more, expected) in [
        (
            &one,
            &[&trusting[..], &["-tls1_3"]].concat(),
            "New, TLSv1.3, Cipher is",
        ),
        (&one, &trusting.to_vec(), "Verify return code: 0 (ok)"),
        (
            &one,
            &[&trusting[..], &["-tls1_2"]].concat(),
            "New, TLSv1.2, Cipher is",
        ),
        (
            &one,
            &[&trusting[..], &["-tls1_1"]].concat(),
            "New, (NONE), Cipher is (NONE)",
        ),
        (
            &one,
            &[&trusting[..], &["-alpn", "h2"]].concat(),
            "No ALPN negotiated",
        ),
        (
            &one,
            &vec!["-CAfile", &*ca, "-verify_hostname", "other"],
            "mismatch",
        ),
        (&one, &vec!["-CAfile", &*other], "verify error"),
        (
            &both,
            &[&trusting[..], &certified].concat(),
            "Verify return code: 0 (ok)",
        ),
        (
            &both,
            &[&trusting[..], &["-tls1_2"]].concat(),
            "alert protocol version",
        ),
        (
            &both,
            &trusting.to_vec(),
            "Acceptable client certificate CA names",
        ),
    ] {
        let Some(said) = openssl(to, more) else {
            return eprintln!("SKIPPED: what OpenSSL says: it is not installed");
        };
        assert!(said.contains(expected), "{more:?}: {said}");
    }
    // A client without a certificate learns of it by its first read.
    let refused = dial(
        &format!("tls/127.0.0.1:{}", port(&both)),
        &[("root_ca_certificate", &ca)],
    );
    refused.expect_err("it shows no certificate");
}

/// Runs OpenSSL as a listener, and returns its output about the handshake of a node with these
/// settings. `None` where it is not installed.
fn openssl_listens(shown: &Pair, more: &[&str], settings: &[(&str, &str)]) -> Option<String> {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = free.local_addr().expect("bound");
    drop(free);
    let mut server = std::process::Command::new("openssl")
        .args(["s_server", "-naccept", "1", "-accept", &at.to_string()])
        .args(["-cert", &shown.certificate, "-key", &shown.key])
        .args(more)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .ok()?;
    let mut said = server.stdout.take().expect("piped");
    // OpenSSL prints `ACCEPT` when it listens.
    let mut heard = Vec::new();
    while !heard.ends_with(b"ACCEPT") {
        let mut byte = [0];
        said.read_exact(&mut byte).expect("it listens");
        heard.push(byte[0]);
    }
    // Within TLS no node speaks the protocol.
    let config = tls(Config::client([format!("tls/{at}")]), settings);
    let config = config.with("transport/unicast/open_timeout", "1500");
    let opened = zonda::open(config.with("connect/timeout_ms", "0")).wait();
    opened.expect_err("it does not answer");
    let mut rest = Vec::new();
    said.read_to_end(&mut rest).expect("an end");
    server.wait().expect("it ends");
    Some(String::from_utf8_lossy(&rest).into_owned())
}

/// Another implementation of TLS is the judge of this node when it dials.
#[test]
fn openssl_finds_what_the_dialling_end_shows() {
    let authority = Authority::new();
    let shown = authority.sign("server", HOSTS);
    let own = authority.sign("client", &["client"]);
    let ca = authority.ca();
    let trusting = [("root_ca_certificate", ca.as_str())];
    let certified = [
        trusting[0],
        ("enable_mtls", "true"),
        ("connect_certificate", own.certificate.as_str()),
        ("connect_private_key", own.key.as_str()),
    ];
    let asks = ["-Verify", "1", "-verify_return_error", "-CAfile", &*ca];
    for (more, settings, expected) in [
        (&["-tls1_3"][..], &trusting[..], "CIPHER is TLS_"),
        (&["-tls1_2"], &trusting, "CIPHER is ECDHE-"),
        (&asks, &certified, "Client certificate"),
    ] {
        let Some(said) = openssl_listens(&shown, more, settings) else {
            return eprintln!("SKIPPED: what OpenSSL says: it is not installed");
        };
        assert!(said.contains(expected), "{more:?}: {said}");
        assert!(!said.contains("verify error"), "{said}");
    }
}
