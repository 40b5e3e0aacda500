// SPDX-License-Identifier: MIT OR Apache-2.0
//! Users and passwords: each side admits the other's users, and neither admits unknown ones.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};

use zonda::config::WhatAmI;

use crate::environment;
use crate::message::{Message, Pattern};
use crate::party::{Party, Setup};
use crate::reference::Reference;
use crate::router::{Router, free_endpoint};

const USER: &str = "transport/auth/usrpwd/user";
const PASSWORD: &str = "transport/auth/usrpwd/password";
const DICTIONARY: &str = "transport/auth/usrpwd/dictionary_file";

const BOB: &[(&str, &str)] = &[(USER, "\"bob\""), (PASSWORD, "\"secret\"")];
const WRONG: &[&[(&str, &str)]] = &[
    &[],
    &[(USER, "\"bob\""), (PASSWORD, "\"Secret\"")],
    &[(USER, "\"carl\""), (PASSWORD, "\"secret\"")],
];

/// Returns a file of users, another one for each call: tests against several releases of the
/// reference run at once.
fn dictionary() -> PathBuf {
    static WRITTEN: AtomicUsize = AtomicUsize::new(0);
    let name = format!(
        "users-{}-{}",
        process::id(),
        WRITTEN.fetch_add(1, Ordering::Relaxed)
    );
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, "bob:secret\nann:other\n").expect("room for it");
    let private = fs::Permissions::from_mode(0o600);
    fs::set_permissions(&path, private).expect("the file is ours");
    path
}

fn client(endpoint: &str, options: &[(&'static str, &'static str)]) -> Setup {
    let mut options = options.to_vec();
    options.push(("connect/timeout_ms", "0"));
    Setup {
        options,
        ..Setup::client(endpoint)
    }
}

fn exchange(a: &Party, b: &Party) {
    for (from, to) in [(a, b), (b, a)] {
        let subscription = to.subscribe("auth/*");
        let publisher = from.matched_publisher("auth/x");
        publisher.publish(&Message::put(Pattern::short(1)));
        assert!(subscription.next().carries(Pattern::short(1)));
    }
}

#[test]
fn our_router_lets_their_users_in() {
    if environment::python().is_some() {
        let users = dictionary();
        let users = format!("{DICTIONARY}:{:?}", users.display().to_string());
        let router = Router::process_with(&["--cfg", &users]);
        let theirs = Party::Theirs(client(&router.endpoint, BOB).theirs());
        let ours = Party::Ours(client(&router.endpoint, BOB).ours());
        exchange(&theirs, &ours);
        for options in WRONG {
            let setup = client(&router.endpoint, options);
            let refused = setup.try_theirs_in(&Reference::start());
            assert!(refused.is_err(), "{options:?}");
        }
        let told = router.complaints();
        assert!(
            told.iter().any(|line| line.contains("was refused: ")),
            "{told:?}"
        );
        assert!(!told.iter().any(|line| line.contains("ecret")), "{told:?}");
    }
}

#[test]
fn their_router_lets_our_users_in() {
    if environment::python().is_some() {
        let users = format!("{:?}", dictionary().display().to_string());
        let endpoint = free_endpoint();
        let setup = Setup {
            options: vec![(DICTIONARY, users.leak())],
            ..Setup::listening(WhatAmI::Router, &endpoint)
        };
        let router = Router::of_theirs(&setup);
        let ours = Party::Ours(client(&router.endpoint, BOB).ours());
        let theirs = Party::Theirs(client(&router.endpoint, BOB).theirs());
        exchange(&ours, &theirs);
        for options in WRONG {
            let error = client(&router.endpoint, options).try_ours().err();
            let error = error.expect("it is refused").to_string();
            assert!(error.contains("transport/auth/usrpwd/user"), "{error}");
            assert!(!error.contains("ecret"), "{error}");
        }
    }
}

crate::environment::against_older! {
    our_router_lets_their_users_in
    their_router_lets_our_users_in
}
