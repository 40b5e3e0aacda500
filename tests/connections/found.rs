// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events about nodes that were found by gossip, rather than configured.

use zonda::session::RefusalKind;
use zonda::{Config, Session, Wait};

use crate::scene::{endpoint, events, listening, next_refusal, quick, until, with_users};

/// Opens a peer with a user, which learns of other nodes from a common neighbour.
fn hears_of(common: &Session, send_to: &str) -> Session {
    let victim = quick(Config::peer())
        .with("transport/auth/usrpwd/user", "'bob'")
        .with("transport/auth/usrpwd/password", "'secret'")
        .with("transport/auth/usrpwd/send_to", send_to)
        .listen([] as [&str; 0])
        .connect([endpoint(common)]);
    zonda::open(victim).wait().expect("it opens")
}

/// A node that requests the proof of a password can use it elsewhere, so a node that was found gets
/// none: it could log in as the user at the node whose challenge it passed on.
#[test]
fn a_node_that_was_found_is_not_shown_the_user() {
    let common = listening(Config::peer());
    let stranger = with_users("bob:secret\n", &[endpoint(&common)]);
    let events = events(&stranger);
    let victim = hears_of(&common, "'endpoints'");
    let (_, reason) = next_refusal(&events);
    assert_eq!(reason.kind, RefusalKind::Authentication, "{reason}");
    assert!(reason.text.contains("gave no user name"), "{reason}");
    assert_eq!(victim.info().links().len(), 1);
}

#[test]
fn it_is_where_that_is_wanted() {
    let common = listening(Config::peer());
    let _stranger = with_users("bob:secret\n", &[endpoint(&common)]);
    let victim = hears_of(&common, "'all'");
    until("it is let in", || victim.info().links().len() == 2);
    let names: Vec<String> = victim
        .info()
        .links()
        .iter()
        .flat_map(|link| link.options.names())
        .collect();
    assert_eq!(names, ["user bob"]);
}
