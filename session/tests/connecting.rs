// SPDX-License-Identifier: MIT OR Apache-2.0

//! The time for which a session tries to listen and to connect, and its opening without success:
//! `timeout_ms`, `retry` and `exit_on_failure` of `listen` and `connect`.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use crate::pair::{LONG, alone, until};
use socket2::{Domain, Socket, Type};
use zonda::{Config, OpenError, Operation, Session, Wait};

const QUICK: &str = "{ period_init_ms: 10, period_max_ms: 20 }";

/// Returns an endpoint without a listener, which no other process can take as long as the socket is
/// held.
pub fn nobody() -> (Socket, String) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let any: SocketAddr = (Ipv4Addr::LOCALHOST, 0).into();
    socket.bind(&any.into()).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    (socket, format!("tcp/{address}"))
}

/// Configures a peer that listens nowhere.
fn quiet(connect: &str) -> Config {
    Config::peer()
        .listen([] as [&str; 0])
        .connect([connect])
        .with("connect/retry", QUICK)
}

fn opened(config: Config) -> Result<Session, OpenError> {
    zonda::open(config).typed().wait()
}

/// Releases the port that `held` listens on, a while after the call.
fn released_later(held: TcpListener) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        std::thread::park_timeout(Duration::from_millis(100));
        drop(held);
    })
}

/// Opens a peer that listens at `endpoint`, which `held` holds, a while after the call.
fn there_later(held: Socket, endpoint: &str) -> std::thread::JoinHandle<Session> {
    let config = Config::peer().listen([endpoint]);
    std::thread::spawn(move || {
        std::thread::park_timeout(Duration::from_millis(100));
        drop(held);
        opened(config).unwrap()
    })
}

fn is_linked(session: &Session) -> bool {
    !session.info().links().is_empty()
}

#[test]
fn a_peer_that_must_connect_fails_where_nobody_answers() {
    let (_held, endpoint) = nobody();
    let must = quiet(&endpoint).with("connect/exit_on_failure", "true");
    for limit in ["0", "150", "{ peer: 150 }"] {
        let begin = Instant::now();
        let error = opened(must.clone().with("connect/timeout_ms", limit)).unwrap_err();
        assert!(matches!(error, OpenError::Connect { .. }), "{error:?}");
        assert!(error.to_string().contains(&endpoint), "{error}");
        assert!(begin.elapsed() < LONG, "{limit}");
    }
    let own = format!("{endpoint}#exit_on_failure=true");
    assert!(opened(quiet(&own).with("connect/timeout_ms", "0")).is_err());
}

#[test]
fn a_peer_that_must_connect_waits_for_the_other() {
    for limit in ["-1", "20000"] {
        let (held, endpoint) = nobody();
        let there = there_later(held, &endpoint);
        let config = quiet(&endpoint)
            .with("connect/exit_on_failure", "true")
            .with("connect/timeout_ms", limit);
        let session = opened(config).unwrap();
        assert!(is_linked(&session), "{limit}");
        assert!(session.info().unreached().is_empty());
        drop(there.join().unwrap());
    }
}

#[test]
fn a_peer_that_tries_once_gives_up_and_is_open() {
    let (held, endpoint) = nobody();
    let session = opened(quiet(&endpoint).with("connect/timeout_ms", "0")).unwrap();
    drop(held);
    let other = opened(Config::peer().listen([&endpoint])).unwrap();
    let told = session.info().unreached();
    assert_eq!(told.len(), 1);
    assert!(told[0].reason.is_some(), "{told:?}");
    // A third peer comes in at once, the one that has given up does not.
    let third = opened(quiet(&endpoint)).unwrap();
    until("the third is connected", || is_linked(&third));
    assert!(!is_linked(&session));
    until("the other knows", || other.info().links().len() == 1);
}

#[test]
fn a_peer_that_tried_once_and_was_connected_comes_back() {
    let first = alone();
    let endpoint = first.info().locators().remove(0).to_string();
    let session = opened(quiet(&endpoint).with("connect/timeout_ms", "0")).unwrap();
    assert!(is_linked(&session));
    first.close().wait().unwrap();
    until("the link is gone", || !is_linked(&session));
    let mut second = None;
    until("the port is free again", || {
        second = opened(Config::peer().listen([&endpoint])).ok();
        second.is_some()
    });
    until("the link is back", || is_linked(&session));
}

/// The acceptor may learn of the link after it has sent its close to all known neighbours.
#[test]
fn a_link_that_comes_while_a_session_closes_is_closed_too() {
    for _ in 0..20 {
        let first = alone();
        let endpoint = first.info().locators().remove(0).to_string();
        let session = opened(quiet(&endpoint)).unwrap();
        let begin = Instant::now();
        first.close().wait().unwrap();
        assert!(begin.elapsed() < LONG / 4, "{:?}", begin.elapsed());
        until("the link is gone", || !is_linked(&session));
    }
}

#[test]
fn a_client_that_need_not_connect_opens_and_connects_later() {
    let (held, endpoint) = nobody();
    let client = Config::client([&endpoint]).with("connect/retry", QUICK);
    assert!(opened(client.clone()).is_err());
    let session = opened(client.with("connect/exit_on_failure", "false")).unwrap();
    assert_eq!(session.info().unreached()[0].endpoint.to_string(), endpoint);
    drop(held);
    let _other = opened(Config::peer().listen([&endpoint])).unwrap();
    until("the client is connected", || is_linked(&session));
    // The routes know of the link a moment before the opener does.
    until("nothing is unreached", || {
        session.info().unreached().is_empty()
    });
}

#[test]
fn one_of_a_group_is_enough() {
    let (first, second) = (alone(), alone());
    let (_held, nobody) = nobody();
    let place = |session: &Session| session.info().locators().remove(0).to_string();
    let (one, two) = (place(&first), place(&second));
    let group = |locators: &[&String]| {
        let group = format!("[{{ strategy: 'oneOf', locators: {locators:?} }}]");
        opened(quiet(&nobody).with("connect/endpoints", &group)).unwrap()
    };
    let session = group(&[&nobody, &one, &two]);
    until("it is connected", || is_linked(&session));
    // The routes know of the link a moment before the opener does.
    until("nothing is unreached", || {
        session.info().unreached().is_empty()
    });
    let status = session.info().endpoints();
    let connected: Vec<bool> = status.iter().map(|s| s.connected).collect();
    assert_eq!(connected, [false, true, false]);
    assert!(status[0].last_failure.is_some() && status[2].attempts == 0);
    // The other session takes its place.
    first.close().wait().unwrap();
    until("it is connected anew", || {
        session
            .info()
            .links()
            .iter()
            .any(|link| link.zid == second.zid())
    });
}

#[test]
fn a_port_that_comes_free_is_waited_for() {
    for limit in ["-1", "20000"] {
        let held = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("tcp/{}", held.local_addr().unwrap());
        let config = Config::peer()
            .listen([&endpoint])
            .with("listen/retry", QUICK)
            .with("listen/timeout_ms", limit);
        let freed = released_later(held);
        let session = opened(config).unwrap();
        assert_eq!(session.info().locators()[0].to_string(), endpoint);
        freed.join().unwrap();
    }
}

#[test]
fn a_port_that_stays_taken_is_named_when_the_time_is_over() {
    let held = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("tcp/{}", held.local_addr().unwrap());
    let config = Config::peer()
        .listen([&endpoint])
        .with("listen/retry", QUICK)
        .with("listen/timeout_ms", "100");
    let error = opened(config).unwrap_err();
    assert!(matches!(error, OpenError::Listen { .. }), "{error:?}");
    assert!(error.to_string().contains(&endpoint), "{error}");
}

#[test]
fn a_port_that_is_not_needed_is_listened_on_when_it_comes_free() {
    let held = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("tcp/{}", held.local_addr().unwrap());
    let optional = Config::peer()
        .listen([endpoint.as_str(), "tcp/127.0.0.1:0"])
        .with("listen/retry", QUICK)
        .with("listen/exit_on_failure", "false");
    let once = opened(optional.clone()).unwrap();
    let again = opened(optional.with("listen/timeout_ms", "-1")).unwrap();
    let own = [format!("{endpoint}#exit_on_failure=false")];
    let by_option = opened(Config::peer().listen(own)).unwrap();
    assert!(by_option.info().locators().is_empty());
    assert_eq!(again.info().locators().len(), 1);
    drop(held);
    until("it listens", || again.info().locators().len() == 2);
    assert_eq!(once.info().locators().len(), 1);
    let guest = opened(quiet(&endpoint)).unwrap();
    until("it is reached there", || is_linked(&guest));
    again.close().wait().unwrap();
    assert!(again.info().locators().is_empty());
}

#[test]
fn a_session_names_whom_it_is_connected_to_by_role() {
    let router = opened(Config::router().listen(["tcp/127.0.0.1:0"])).unwrap();
    // Without gossip, as peers that learn of each other would connect, too.
    let deaf = || {
        let config = Config::peer().listen(["tcp/127.0.0.1:0"]);
        opened(config.with("scouting/gossip/enabled", "false")).unwrap()
    };
    let (peer, session) = (deaf(), deaf());
    let (client, other) = {
        let endpoint = session.info().locators().remove(0).to_string();
        let client = opened(Config::client([&endpoint])).unwrap();
        let at = |session: &Session| session.info().locators().remove(0).to_string();
        let config = quiet(&endpoint).connect([&endpoint, &at(&router), &at(&peer)]);
        (client, opened(config).unwrap())
    };
    until("all are linked", || other.info().links().len() == 3);
    let info = other.info();
    assert_eq!(info.zid().wait(), other.zid());
    assert_eq!(
        info.routers_zid().wait().collect::<Vec<_>>(),
        [router.zid()]
    );
    let mut peers = [peer.zid(), session.zid()];
    peers.sort_unstable();
    assert_eq!(info.peers_zid().wait().collect::<Vec<_>>(), peers);
    assert_eq!(info.transports().wait().count(), 3);
    // A client is neither.
    until("the client is linked", || session.info().links().len() == 2);
    let names = session.info();
    assert_eq!(names.routers_zid().wait().count(), 0);
    assert_eq!(names.peers_zid().wait().collect::<Vec<_>>(), [other.zid()]);
    let known: Vec<_> = names.transports().wait().map(|t| *t.zid()).collect();
    assert!(known.contains(&client.zid()));
}

/// Two names of one node are dialled at the same time: one link stands, and the node refuses the
/// other, or this one does. Neither endpoint counts as one that was not reached.
#[test]
fn a_node_that_is_linked_already_is_reached_by_every_name() {
    let there = opened(Config::peer().listen(["tcp/127.0.0.1:0"])).unwrap();
    let address = there.info().locators()[0].to_string();
    let by_name = address.replace("127.0.0.1", "localhost");
    for _ in 0..10 {
        let config = Config::peer().listen([] as [&str; 0]);
        let session = opened(config.connect([&address, &by_name])).unwrap();
        until("each endpoint was tried", || {
            let unreached = session.info().unreached();
            is_linked(&session) && unreached.iter().all(|one| one.reason.is_some())
        });
        assert_eq!(session.info().unreached(), []);
        session.close().wait().unwrap();
    }
}
