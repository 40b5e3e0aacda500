// SPDX-License-Identifier: MIT OR Apache-2.0

//! Routers that another one accepts as such: those whose certificates are for a name that it
//! trusts.

use crate::authority::{Authority, Pair};
use crate::pair::until;
use crate::traffic::port;
use zonda::config::WhatAmI;
use zonda::{Config, Session, Wait};

const HOSTS: &[&str] = &["localhost", "127.0.0.1"];

/// Returns the end of an endpoint at which both ends show a certificate of the authority.
fn options(authority: &Authority, side: &str, shown: &Pair) -> String {
    let (ca, Pair { certificate, key }) = (authority.ca(), shown);
    format!(
        "#enable_mtls=true;root_ca_certificate_file={ca};{side}_certificate_file={certificate};{side}_private_key_file={key}"
    )
}

fn dial(role: WhatAmI, to: &str) -> Result<Session, String> {
    let config = Config::default().with_mode(role);
    let config = config
        .with("connect/endpoints", &format!("[{to:?}]"))
        .with("connect/timeout_ms", "0")
        .with("connect/exit_on_failure", "true");
    let opened = zonda::open(config).wait();
    opened.map_err(|error| error.to_string())
}

#[test]
fn a_router_is_trusted_by_the_name_in_its_certificate() {
    let authority = Authority::new();
    let server = options(&authority, "listen", &authority.sign("server", HOSTS));
    let shown = |name: &str| options(&authority, "connect", &authority.sign(name, &[name]));
    let (known, stranger) = (shown("r2.mesh"), shown("r3.mesh"));
    for protocol in ["tls", "quic", "wss"] {
        let house = Config::router()
            .listen([format!("{protocol}/127.0.0.1:0{server}")])
            .with("routing/router/trusted", "[{cert_names: ['r2.mesh']}]");
        let house = zonda::open(house).wait().expect("it listens");
        let to = |shown: &str| format!("{protocol}/127.0.0.1:{}{shown}", port(&house));
        let refused = dial(WhatAmI::Router, &to(&stranger)).expect_err("another name");
        assert!(
            refused.contains("refused") || refused.contains("turned"),
            "{refused}"
        );
        let client = dial(WhatAmI::Client, &to(&stranger)).expect("a client may have any name");
        let router = dial(WhatAmI::Router, &to(&known)).expect("it is named");
        until("both are linked", || house.info().links().len() == 2);
        drop((client, router));
    }
}

#[test]
fn names_of_certificates_that_no_listener_asks_for_are_refused() {
    let config = Config::router()
        .listen(["tcp/127.0.0.1:0"])
        .with("routing/router/trusted", "[{cert_names: ['r2.mesh']}]");
    let refused = zonda::open(config).wait().expect_err("nobody can show one");
    assert!(refused.to_string().contains("enable_mtls"), "{refused}");
}
