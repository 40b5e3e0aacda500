// SPDX-License-Identifier: MIT OR Apache-2.0

//! Links over WebSocket within TLS: only authorized clients are let in.

use crate::authority::{Authority, Pair};
use crate::traffic::{check_traffic, port};
use zonda::{Config, Session, Wait};

const HOSTS: &[&str] = &["localhost", "127.0.0.1"];

/// Returns an endpoint whose options are the texts themselves.
fn listen_at(shown: &Pair, more: &str) -> String {
    let Pair { certificate, key } = shown;
    format!(
        "wss/127.0.0.1:0#listen_certificate_file={certificate};listen_private_key_file={key}{more}"
    )
}

fn listener(shown: &Pair, more: &str) -> Session {
    let config = Config::peer().listen([listen_at(shown, more)]);
    zonda::open(config).wait().expect("it listens")
}

fn dial(to: &str) -> Result<Session, String> {
    let config = Config::client([to]).with("connect/timeout_ms", "0");
    let opened = zonda::open(config).wait();
    opened.map_err(|error| error.to_string())
}

#[test]
fn who_speaks_less_is_refused() {
    let authority = Authority::new();
    let far = listener(&authority.sign("server", HOSTS), "");
    let trusted = format!("#root_ca_certificate_file={}", authority.ca());
    let refused = dial(&format!("tls/localhost:{}{trusted}", port(&far))).expect_err("no frames");
    assert!(refused.contains("tls/localhost"), "{refused}");
    let text = dial(&format!("wss/localhost:{}", port(&far))).expect_err("not trusted");
    assert!(text.contains("set root_ca_certificate"), "{text}");
}

#[test]
fn both_ends_show_a_certificate_where_both_have_to() {
    let authority = Authority::new();
    let own = authority.sign("client", &["client"]);
    let mtls = format!(
        "enable_mtls=true;root_ca_certificate_file={}",
        authority.ca()
    );
    let far = listener(&authority.sign("server", HOSTS), &format!(";{mtls}"));
    let at = format!("wss/localhost:{}#{mtls}", port(&far));
    let Pair { certificate, key } = &own;
    let to = format!("{at};connect_certificate_file={certificate};connect_private_key_file={key}");
    let near = dial(&to).expect("trusted");
    check_traffic(&near, &far, &[8, 70_000]);
    dial(&at).expect_err("it shows none");
}

#[test]
fn what_answers_without_a_websocket_is_said() {
    let authority = Authority::new();
    let shown = authority.sign("server", HOSTS);
    let plain = listen_at(&shown, "").replace("wss/", "tls/");
    let far = zonda::open(Config::peer().listen([plain])).wait();
    let far = far.expect("it listens");
    let (port, ca) = (port(&far), authority.ca());
    let to = format!("wss/localhost:{port}#root_ca_certificate_file={ca}");
    let text = dial(&to).expect_err("it is no WebSocket");
    assert!(text.contains("wss/localhost"), "{text}");
}
