// SPDX-License-Identifier: MIT OR Apache-2.0

//! Multicast groups on loopback: each member receives the messages of the other ones, whatever else
//! is sent there.

use std::net::{SocketAddr, SocketAddrV6, UdpSocket};
use std::time::{Duration, Instant};

use crate::pair::{LONG, until};
use zonda::config::RuntimeKind;
use zonda::pubsub::Subscriber;
use zonda::qos::{CongestionControl, Priority};
use zonda::sample::{Sample, SampleKind};
use zonda::{Config, Session, Wait};

/// The number of the loopback interface.
const LOOPBACK: u32 = 1;

/// A group for this test alone.
struct Group {
    at: SocketAddr,
}

impl Group {
    fn new() -> Group {
        let free = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let port = free.local_addr().expect("bound").port();
        Group {
            at: ([224, 0, 0, 225], port).into(),
        }
    }

    fn endpoint(&self) -> String {
        format!("udp/{}#iface=lo", self.at)
    }

    fn member(&self, config: Config) -> Session {
        let config = config
            .listen([self.endpoint()])
            .with("transport/multicast/join_interval", "200");
        zonda::open(config).wait().expect("it is in the group")
    }

    /// Opens nodes each of which knows all other ones.
    fn members<const N: usize>(&self) -> [Session; N] {
        let members: [Session; N] = std::array::from_fn(|_| self.member(Config::peer()));
        for member in &members {
            until("all are there", || others(member) >= N - 1);
        }
        members
    }

    /// Returns a member that is no node.
    fn stranger(&self) -> Stranger {
        self.stranger_at([127, 0, 0, 1])
    }

    /// Returns a member at another address of this machine.
    fn stranger_at(&self, at: [u8; 4]) -> Stranger {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::DGRAM, None);
        let socket = socket.expect("a socket");
        let own = std::net::Ipv4Addr::LOCALHOST;
        socket.set_multicast_if_v4(&own).expect("loopback");
        socket
            .bind(&SocketAddr::from((at, 0)).into())
            .expect("bound");
        Stranger {
            socket: socket.into(),
            to: self.at,
        }
    }
}

struct Stranger {
    socket: UdpSocket,
    to: SocketAddr,
}

impl Stranger {
    fn says(&self, datagram: &[u8]) {
        self.socket.send_to(datagram, self.to).expect("sent");
    }

    /// Sends a JOIN: role 0 is a router, 1 a peer, 2 a client; the lease is in seconds.
    fn joins(&self, role: u8, id: u8, lease: u8) {
        self.says(&[0xa7, 9, role, id, lease, 5, 5, 0x27, 1]);
    }

    /// Sends a frame with a put of `x` on `test/x`.
    fn puts(&self, sn: u8) {
        let key = b"test/x";
        let mut frame = vec![0x25, sn, 0x7d, 0, key.len() as u8];
        frame.extend_from_slice(key);
        frame.extend_from_slice(&[1, 1, b'x']);
        self.says(&frame);
    }
}

/// A group gets everything without a declaration, so the admin space lists none.
#[test]
fn a_group_is_no_subscriber_of_the_admin_space() {
    let group = Group::new();
    let router = group.member(Config::router().with("adminspace/enabled", "true"));
    let member = group.member(Config::peer());
    until("both are there", || others(&router) + others(&member) >= 2);
    let declared = format!("@/{}/router/subscriber/**", router.zid());
    let keys = || -> Vec<String> {
        let replies = router.get(&declared).wait().expect("open");
        let keys = replies
            .iter()
            .map(|r| r.into_result().expect("a row").key_expr().to_string());
        keys.collect()
    };
    assert_eq!(keys(), [""; 0]);
    let _subscriber = listens(&router, "test/x");
    assert_eq!(
        keys(),
        [format!("@/{}/router/subscriber/test/x", router.zid())]
    );
}

fn others(of: &Session) -> usize {
    of.info()
        .groups()
        .iter()
        .map(|group| group.members.len())
        .sum()
}

fn listens(session: &Session, key: &'static str) -> Subscriber {
    session
        .declare_subscriber(key)
        .wait()
        .expect("a subscriber")
}

fn next(subscriber: &Subscriber) -> Sample {
    let received = subscriber.recv_timeout(LONG).expect("it is open");
    received.expect("a sample in time")
}

/// Puts until `to` gets a sample with this payload: earlier ones may have been lost, or sent before
/// it could receive.
fn until_heard(from: &Session, to: &Subscriber, key: &str, value: &str) {
    until("it is heard", || {
        from.put(key, value).wait().expect("it is sent");
        // Samples of other nodes go with it: unread ones would fill the queues of the nodes that wait for theirs.
        let next = || to.recv_timeout(Duration::from_millis(50)).expect("open");
        std::iter::from_fn(next).any(|s| s.payload().to_bytes() == value.as_bytes())
    });
}

/// Counts how often each of these values was received until `last` came.
fn until_last(subscriber: &Subscriber, last: &str) -> Vec<String> {
    let mut all = Vec::new();
    while all.last().is_none_or(|value| value != last) {
        let payload = next(subscriber)
            .payload()
            .try_to_string()
            .expect("text")
            .into_owned();
        all.push(payload);
    }
    all
}

#[test]
fn three_members_hear_each_other() {
    three_hear_each_other(&Group::new());
}

#[test]
fn three_members_hear_each_other_over_ipv6() {
    let ip = "ff01::225".parse().expect("an address");
    let is_there = UdpSocket::bind("[::1]:0")
        .and_then(|socket| socket.connect(SocketAddrV6::new(ip, 7447, 0, LOOPBACK)));
    if let Err(error) = is_there {
        return eprintln!("SKIPPED: no IPv6 groups on loopback: {error}");
    }
    let mut group = Group::new();
    group.at = SocketAddr::new(ip.into(), group.at.port());
    three_hear_each_other(&group);
}

fn three_hear_each_other(group: &Group) {
    let members: [Session; 3] = group.members();
    let subscribers = members.each_ref().map(|member| listens(member, "test/**"));
    for (index, member) in members.iter().enumerate() {
        for size in [1, 5000, 8192, 20_000, 200_000] {
            let value = vec![index as u8; size];
            member.put("test/a", value.clone()).wait().expect("sent");
            for subscriber in &subscribers {
                let sample = next(subscriber);
                assert_eq!(sample.kind(), SampleKind::Put);
                assert_eq!(sample.payload().to_bytes(), value);
            }
        }
        member.delete("test/a").wait().expect("sent");
        for subscriber in &subscribers {
            assert_eq!(next(subscriber).kind(), SampleKind::Delete);
        }
    }
    let [first, second, third] = members;
    third.close().wait().expect("it closes");
    for left in [&first, &second] {
        until("one has said goodbye", || others(left) == 1);
    }
}

#[test]
fn who_is_silent_is_gone_after_its_lease() {
    let group = Group::new();
    let [member] = group.members();
    let subscriber = listens(&member, "test/**");
    let stranger = group.stranger();
    stranger.joins(1, 7, 1);
    until("it is there", || others(&member) == 1);
    stranger.puts(5);
    assert_eq!(next(&subscriber).payload().to_bytes(), b"x".as_slice());
    until("it is gone", || others(&member) == 0);
    assert_eq!(member.info().groups()[0].counts.expired, 1);
    // The stranger's messages belong to no member now.
    stranger.puts(6);
    until("it is counted", || {
        member.info().groups()[0].counts.unknown == 1
    });
}

#[test]
fn nothing_that_is_said_ends_a_group() {
    let group = Group::new();
    let [first, second] = group.members();
    let subscriber = listens(&second, "test/**");
    let stranger = group.stranger();
    for length in [0, 1, 2, 7, 100, 4096, 60_000] {
        for byte in 0..=255 {
            stranger.says(&vec![byte; length]);
        }
    }
    until("the last of them is there", || {
        // A client, a contradiction of an earlier JOIN, another version, this node's own id; once
        // more if the receiving socket was full and lost one of them.
        stranger.joins(2, 9, 10);
        stranger.joins(1, 7, 10);
        stranger.joins(1, 8, 10);
        stranger.joins(1, 8, 20);
        stranger.says(&[0xa7, 8, 1, 8, 10, 5, 5, 0x27, 1]);
        let counts = second.info().groups()[0].counts;
        others(&second) == 2 && counts.refused + counts.contradicting >= 2
    });
    // Another priority, a sequence number beyond the resolution, an invalid message, then a valid
    // one.
    stranger.says(&[0xa5, 5, 0x31, 4, 0x7d, 0, 1, b'x', 1, 1, b'x']);
    stranger.says(&[
        0x25, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x7d, 0, 1, b'x', 1, 1, b'x',
    ]);
    stranger.says(&[0x25, 5, 0xff, 0xff]);
    // A payload in shared memory.
    stranger.says(&[
        0x25, 6, 0x7d, 0, 6, b't', b'e', b's', b't', b'/', b's', 0x81, 0x12, 1, 1, 7, 0xa0, 0x9c, 1,
    ]);
    // A key by its number, which was never declared here.
    stranger.says(&[0x25, 7, 0x5d, 1, 1, 1, b'x']);
    stranger.puts(9);
    let heard = next(&subscriber);
    assert_eq!(heard.payload().to_bytes(), b"x".as_slice());
    until_heard(&first, &subscriber, "test/y", "still there");
    let counts = second.info().groups()[0].counts;
    assert!(
        counts.malformed > 3
            && counts.refused >= 1
            && counts.refused + counts.contradicting >= 2
            && counts.misplaced >= 1,
        "{counts:?}"
    );
    until("what the second one declares is counted", || {
        first.info().groups()[0].counts.declarations > 0
    });
}

#[test]
fn a_group_has_room_for_so_many() {
    let group = Group::new();
    let config = Config::peer().with("transport/multicast/max_sessions", "2");
    let member = group.member(config);
    let strangers: Vec<Stranger> = (0..4).map(|_| group.stranger()).collect();
    let mut id = 0;
    until("there are too many", || {
        for stranger in &strangers {
            id = id % 4 + 1;
            stranger.joins(1, id, 10);
        }
        member.info().groups()[0].counts.over_limit > 0
    });
    assert_eq!(others(&member), 2);
}

#[test]
fn every_runtime_is_in_a_group() {
    let group = Group::new();
    let member = group.member(Config::peer());
    let subscriber = listens(&member, "test/there");
    for kind in RuntimeKind::available() {
        let other = group.member(Config::peer().with_runtime(kind));
        let back = listens(&other, "test/back");
        until_heard(&other, &subscriber, "test/there", kind.name());
        until_heard(&member, &back, "test/back", kind.name());
        other.close().wait().expect("it closes");
        until("it is gone", || others(&member) == 0);
    }
}

#[test]
fn members_have_priorities_and_hear_those_who_have_none() {
    let group = Group::new();
    let urgent = || Config::peer().with("transport/multicast/qos/enabled", "true");
    let (first, second) = (group.member(urgent()), group.member(urgent()));
    let subscriber = listens(&second, "test/**");
    for priority in [Priority::RealTime, Priority::Data, Priority::Background] {
        until("it is heard", || {
            let put = first.put("test/a", "x").priority(priority);
            put.wait().expect("it is sent");
            let wait = Duration::from_millis(50);
            let received = subscriber.recv_timeout(wait).expect("it is open");
            received.is_some_and(|sample| sample.priority() == priority)
        });
    }
    let plain = group.member(Config::peer());
    until_heard(&plain, &subscriber, "test/b", "plain");
}

/// Opens a node that is in the group and listens, and returns also its endpoint.
fn bridge(group: &Group, config: Config) -> (Session, String) {
    let config = config
        .listen([group.endpoint(), "tcp/127.0.0.1:0".to_owned()])
        .with("transport/multicast/join_interval", "200");
    let node = zonda::open(config).wait().expect("it listens");
    let locators = node.info().locators();
    let mut places = locators.iter().map(ToString::to_string);
    let tcp = places.find(|place| place.starts_with("tcp/"));
    (node, tcp.expect("it listens there"))
}

#[test]
fn a_router_bridges_a_group_and_nothing_comes_twice() {
    let group = Group::new();
    let (router, tcp) = bridge(&group, Config::router());
    let client = zonda::open(Config::client([&tcp]))
        .wait()
        .expect("connected");
    let [alone, both] = [&[][..], &[tcp.as_str()][..]].map(|to| {
        let member = group.member(Config::peer().connect(to.iter().copied()));
        until("the router is there", || others(&member) >= 1);
        member
    });
    until("all are there", || {
        others(&router) == 2 && others(&alone) == 2 && others(&both) == 2
    });
    let sessions = [&router, &client, &alone, &both];
    let subscribers = sessions.map(|session| listens(session, "test/**"));
    for (index, session) in sessions.into_iter().enumerate() {
        // Until their declarations are known everywhere.
        for subscriber in &subscribers {
            until_heard(session, subscriber, "test/a", &format!("{index} begins"));
        }
    }
    for (index, session) in sessions.into_iter().enumerate() {
        for round in 0..5 {
            let value = format!("{index} {round}");
            session.put("test/a", value.as_str()).wait().expect("sent");
            let mut heard = subscribers.each_ref().map(|to| until_last(to, &value));
            for heard in &mut heard {
                heard.retain(|value| !value.ends_with("begins"));
                assert_eq!(heard.len(), 1, "{heard:?}");
            }
        }
    }
    std::thread::sleep(Duration::from_millis(100));
    for subscriber in &subscribers {
        assert_eq!(
            subscriber
                .try_recv()
                .expect("open")
                .map(|s| s.payload().to_bytes().to_vec()),
            None
        );
    }
}

#[test]
fn a_peer_bridges_a_group_for_its_clients() {
    let group = Group::new();
    let (bridge, tcp) = bridge(&group, Config::peer());
    let client = zonda::open(Config::client([&tcp]))
        .wait()
        .expect("connected");
    let member = group.member(Config::peer());
    until("all are there", || {
        others(&bridge) == 1 && others(&member) == 1
    });
    let (at_client, at_member) = (listens(&client, "test/**"), listens(&member, "test/**"));
    until_heard(&client, &at_member, "test/a", "from the client");
    until_heard(&member, &at_client, "test/b", "from the member");
}

/// Bytes of a message that a slow group takes a while to send.
const LARGE: usize = 1 << 20;

/// Publishes so many large messages under Block, as a client of a router whose group takes `pace`
/// bytes a second. Returns the router.
fn publish_beside_a_slow_group(pace: u32, messages: u8, is_subscribed: bool) -> Session {
    let group = Group::new();
    let slow = format!("{};pace={pace}", group.endpoint());
    let config = Config::router().listen([slow, "tcp/127.0.0.1:0".to_owned()]);
    let router = zonda::open(config).wait().expect("it listens");
    let locators = router.info().locators();
    let mut places = locators.iter().map(ToString::to_string);
    let tcp = places.find(|place| place.starts_with("tcp/")).expect("tcp");
    let client = || {
        zonda::open(Config::client([&tcp]))
            .wait()
            .expect("connected")
    };
    let (source, taker) = (client(), client());
    let taken = is_subscribed.then(|| listens(&taker, "test/large"));
    let publisher = source.declare_publisher("test/large");
    let publisher = publisher.congestion_control(CongestionControl::Block);
    let publisher = publisher.wait().expect("declared");
    if let Some(taken) = &taken {
        until_heard(&source, taken, "test/large", "begins");
    }
    for number in 0..messages {
        let put = publisher.put(vec![number; LARGE]).wait();
        put.expect("it does not wait for long");
        if let Some(taken) = &taken {
            // Some of the first samples may be left.
            while next(taken).payload().to_bytes().first() != Some(&number) {}
        }
    }
    router
}

fn lost_to_groups(router: &Session) -> u64 {
    let groups = router.info().groups();
    groups.iter().map(|group| group.sent.dropped).sum()
}

/// The members of a group ask for nothing: subscribers do not wait for it.
#[test]
fn a_slow_group_does_not_hold_up_subscribers() {
    let begin = Instant::now();
    let router = publish_beside_a_slow_group(500_000, 48, true);
    let elapsed = begin.elapsed();
    assert!(elapsed < Duration::from_secs(20), "{elapsed:?}");
    assert!(lost_to_groups(&router) > 0);
}

/// A source without other takers is as fast as the group, and the group gets everything.
#[test]
fn a_group_alone_is_waited_for() {
    let begin = Instant::now();
    // 16 MiB of them may wait in shared memory.
    let router = publish_beside_a_slow_group(16_000_000, 56, false);
    let elapsed = begin.elapsed();
    assert!(elapsed > Duration::from_secs(1), "{elapsed:?}");
    assert_eq!(lost_to_groups(&router), 0);
}

#[test]
fn a_group_has_a_locator_and_a_free_port_if_it_asks_for_one() {
    let at = |endpoint: String| Config::peer().listen([endpoint]);
    let open = |endpoint| {
        zonda::open(at(endpoint))
            .wait()
            .expect("it is in the group")
    };
    let first = open("udp/224.0.0.225:0#iface=lo".to_owned());
    let locators: Vec<String> = first
        .info()
        .locators()
        .iter()
        .map(|at| at.to_string())
        .collect();
    let [locator] = &locators[..] else {
        panic!("where the group is: {locators:?}");
    };
    let port = locator.strip_prefix("udp/224.0.0.225:").expect(locator);
    assert_ne!(port, "0");
    let second = open(format!("{locator}#iface=lo"));
    let subscriber = listens(&second, "test/**");
    until_heard(&first, &subscriber, "test/a", "at the port that was chosen");
}

#[test]
fn a_group_is_for_peers_and_routers_and_is_not_connected_to() {
    let at = Group::new().endpoint();
    let error = zonda::open(Config::client([] as [&str; 0]).listen([&at])).wait();
    let error = error.expect_err("a client").to_string();
    assert!(error.contains("client") && error.contains(&at), "{error}");
    let error = zonda::open(Config::client([&at])).wait();
    let error = error.expect_err("nobody to connect to").to_string();
    assert!(error.contains("listen/endpoints"), "{error}");
}

/// A datagram of nine bytes a minute must not keep a router from new members.
#[test]
fn who_claims_to_be_a_router_does_not_silence_the_one_that_is_there() {
    let group = Group::new();
    let router = group.member(Config::router());
    let first = group.member(Config::peer());
    until("the router is there", || others(&first) == 1);
    group.stranger().joins(0, 9, 60);
    until("the claim is heard", || {
        router.info().groups()[0].counts.refused > 0
    });
    let second = group.member(Config::peer());
    until("the router introduces itself on", || {
        let members = second.info().groups().remove(0).members;
        members.iter().any(|member| member.zid == router.zid())
    });
}

#[test]
fn a_crowd_of_one_address_leaves_room_for_those_of_others() {
    let group = Group::new();
    let config = Config::peer().with("transport/multicast/max_sessions", "8");
    let member = group.member(config);
    let subscriber = listens(&member, "test/**");
    let crowd: Vec<Stranger> = (0..20).map(|_| group.stranger()).collect();
    let counts = || member.info().groups()[0].counts;
    until("there are too many", || {
        for (id, stranger) in crowd.iter().enumerate() {
            stranger.joins(1, 10 + id as u8, 60);
        }
        counts().over_limit > 0 || others(&member) == 8
    });
    assert_eq!(others(&member), 6, "three quarters of eight places");
    let honest = group.stranger_at([127, 0, 0, 2]);
    until("it is heard", || {
        honest.joins(1, 99, 10);
        honest.puts(6);
        subscriber
            .recv_timeout(Duration::from_millis(50))
            .expect("it is open")
            .is_some()
    });
    for at in 3..7 {
        group.stranger_at([127, 0, 0, at]).joins(1, at, 60);
    }
    until("the crowd has made room", || counts().evicted > 0);
    assert_eq!(others(&member), 8);
}

/// Each contradiction would begin the member anew, with new numbers and a line of the log.
#[test]
fn a_member_that_contradicts_itself_begins_anew_once_in_a_while() {
    let group = Group::new();
    let [member] = group.members();
    let stranger = group.stranger();
    stranger.joins(1, 8, 10);
    until("it is there", || others(&member) == 1);
    let counts = || member.info().groups()[0].counts;
    until("contradictions are counted", || {
        for lease in 11..31 {
            stranger.joins(1, 8, lease);
        }
        counts().contradicting > 100
    });
    assert_eq!(others(&member), 1);
}
