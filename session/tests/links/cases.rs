// SPDX-License-Identifier: MIT OR Apache-2.0

//! Cases that every kind of link has to pass, through the public interface alone.

use zonda::config::RuntimeKind;
use zonda::sample::SampleKind;
use zonda::{Config, Session, Wait};

use super::place::Place;
use crate::pair::{LONG, until};
use crate::traffic::{check_each, check_question, check_traffic};

/// Sizes without fragments, with fragments, without again.
const SIZES: &[usize] = &[0, 8, 70_000, 9];

const HAS_COMPRESSION: bool = cfg!(feature = "compression");

fn open(config: Config) -> Session {
    zonda::open(config).wait().expect("it opens")
}

/// Opens a session that listens at the place.
fn listening(place: &Place, runtime: RuntimeKind, config: Config) -> Session {
    listening_at(&place.listen, place, runtime, config)
}

/// Opens a session that listens at this endpoint, once the previous session has left it.
fn listening_at(at: &str, place: &Place, runtime: RuntimeKind, config: Config) -> Session {
    let config = place.settled(config.listen([at]), runtime);
    let mut opened = None;
    until("the place is free", || {
        opened = zonda::open(config.clone()).wait().ok();
        opened.is_some()
    });
    opened.expect("the loop ended")
}

fn locator(of: &Session) -> String {
    of.info().locators().remove(0).to_string()
}

/// Opens a session that is connected to `to`; returns when both know.
fn dialling(place: &Place, runtime: RuntimeKind, config: Config, to: &Session) -> Session {
    let session = open(place.settled(config.connect([&locator(to)]), runtime));
    let linked = |a: &Session, b: &Session| a.info().links().iter().any(|l| l.zid == b.zid());
    until("both see the link", || {
        linked(&session, to) && linked(to, &session)
    });
    session
}

fn nowhere() -> Config {
    Config::client([] as [&str; 0])
}

fn check(place: &Place, first: &Session, second: &Session) {
    match place.is_lossy {
        true => check_each(first, second, SIZES),
        false => check_traffic(first, second, SIZES),
    }
    check_question(first, second);
}

/// Publications of all sizes both ways, a query and its reply; both ends report the locators of the
/// link.
pub fn everything_passes(place: &Place, runtime: RuntimeKind) {
    let far = listening(place, runtime, Config::peer());
    let near = dialling(place, runtime, nowhere(), &far);
    let link = near.info().links().remove(0);
    // Without the listener's properties of its links, such as `?rel=0`.
    let at = locator(&far);
    let at = at.split('?').next();
    assert_eq!(Some(link.remote.to_string().as_str()), at);
    for session in [&near, &far] {
        let local = session.info().links().remove(0).local.to_string();
        assert!(local.starts_with(&format!("{}/", place.kind)), "{local}");
    }
    check(place, &near, &far);
}

/// All traffic between two clients of a router; a token ends with the link of its owner.
pub fn a_router_passes_everything_on(place: &Place, runtime: RuntimeKind) {
    let router = listening(place, runtime, Config::router());
    let first = dialling(place, runtime, nowhere(), &router);
    let second = dialling(place, runtime, nowhere(), &router);
    check(place, &first, &second);
    let alive = second
        .liveliness()
        .declare_subscriber("alive/*")
        .history(true)
        .wait()
        .expect("a subscriber");
    let token = first.liveliness().declare_token("alive/first").wait();
    let token = token.expect("a token");
    let next = || alive.recv_timeout(LONG).expect("open").expect("in time");
    assert_eq!(next().kind(), SampleKind::Put);
    first.close().wait().expect("it closes");
    assert_eq!(next().kind(), SampleKind::Delete);
    drop(token);
}

/// A session finds a listener again that has ended and begun anew at its old place, and sends to
/// it.
pub fn a_listener_comes_back(place: &Place, runtime: RuntimeKind) {
    let first = listening(place, runtime, Config::peer());
    let at = locator(&first);
    let quick = nowhere().with("connect/retry", "{ period_init_ms: 10, period_max_ms: 50 }");
    let quick = match place.is_lossy {
        // A lost first message is repeated after a second: the next attempt comes before that.
        true => quick.with("transport/unicast/open_timeout", "300"),
        false => quick,
    };
    let near = dialling(place, runtime, quick, &first);
    let subscriber = near
        .declare_subscriber("down")
        .wait()
        .expect("a subscriber");
    first.close().wait().expect("it closes");
    drop(first);
    let second = listening_at(&at, place, runtime, Config::peer());
    until("a message comes down", || {
        second.put("down", "again").wait().expect("it is sent");
        subscriber.try_recv().expect("open").is_some()
    });
}

/// Compression and low latency, where the kind and the build have them.
pub fn what_is_agreed_on_holds(place: &Place, runtime: RuntimeKind) {
    let compression: &[_] = &[("transport/unicast/compression/enabled", "true")];
    let lowlatency: &[_] = &[
        ("transport/unicast/lowlatency", "true"),
        ("transport/unicast/qos/enabled", "false"),
    ];
    for (name, settings, is_there) in [
        ("compression", compression, HAS_COMPRESSION),
        ("lowlatency", lowlatency, !place.is_lossy),
    ] {
        let with = |config: Config| {
            let settings = settings.iter();
            settings.fold(config, |config, (key, json)| config.with(key, json))
        };
        let far = listening(place, runtime, with(Config::peer()));
        let near = dialling(place, runtime, with(nowhere()), &far);
        let agreed = near.info().links().remove(0).options.names();
        assert_eq!(
            agreed.iter().any(|found| found == name),
            is_there,
            "{agreed:?}"
        );
        // Bare messages are not cut into fragments.
        let sizes: &[_] = match name {
            "lowlatency" => &[0, 8, 125, 5000, 40_000, 9],
            _ => &[0, 8, 125, 5000, 65_000, 70_000, 9],
        };
        match place.is_lossy {
            true => check_each(&near, &far, sizes),
            false => check_traffic(&near, &far, sizes),
        }
    }
}

/// An endpoint without a listener: the text names the place and stays one line.
pub fn nobody_there_is_one_line(place: &Place, runtime: RuntimeKind) {
    let far = listening(place, runtime, Config::peer());
    let at = locator(&far);
    far.close().wait().expect("it closes");
    drop(far);
    let near = place
        .settled(Config::client([&at]), runtime)
        .with("connect/timeout_ms", "0")
        .with("transport/unicast/open_timeout", "100");
    let text = match zonda::open(near).wait() {
        Ok(_) => panic!("somebody listens at {at}"),
        Err(error) => error.to_string(),
    };
    assert!(text.contains(&at) && !text.contains('\n'), "{text}");
}

/// An endpoint of a kind that the configuration leaves out is refused, both by a dialling session
/// and by a listening one.
pub fn a_kind_that_is_not_allowed_is_one_line(place: &Place, runtime: RuntimeKind) {
    let other = if place.kind == "tcp" { "udp" } else { "tcp" };
    for config in [
        Config::client([&place.listen]),
        Config::peer().listen([&place.listen]),
    ] {
        let config = place.settled(config, runtime);
        let config = config.with("transport/link/protocols", &format!("['{other}']"));
        let text = match zonda::open(config).wait() {
            Ok(_) => panic!("{} is used", place.kind),
            Err(error) => error.to_string(),
        };
        let names = text.contains(place.kind) && text.contains("transport/link/protocols");
        assert!(names && !text.contains('\n'), "{text}");
    }
}
