// SPDX-License-Identifier: MIT OR Apache-2.0

//! Remote sessions over WebSocket: a client of its own, and hostile frames.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};
use zonda::session::Node;
use zonda::{Config, Session, Wait};
use zonda_services::{Running, start_all};

const SOON: Duration = Duration::from_secs(20);

/// A node with the server, and a session to look from.
struct Served {
    node: Node,
    session: Session,
    running: Vec<Box<dyn Running>>,
    address: SocketAddr,
}

impl Served {
    async fn start(config: Config) -> Served {
        Served::start_on(Config::peer(), config).await
    }

    /// Starts the services on a node of its own configuration.
    async fn start_on(own: Config, config: Config) -> Served {
        let own = own.listen(["tcp/127.0.0.1:0"]);
        let own = own.with("scouting/multicast/enabled", "false");
        let node = Node::open(own).await.unwrap();
        let of_services = node.clone();
        let session = move || Session::from_node(&of_services, Config::default());
        let running = start_all(&config, session, None);
        let running = running.unwrap();
        let status = running[0].status();
        let (_, address) = status.split_once(" on ").unwrap();
        let session = Session::from_node(&node, Config::default()).unwrap();
        Served {
            node,
            session,
            address: address.parse().unwrap(),
            running,
        }
    }

    async fn stop(self) {
        let running = self.running;
        tokio::task::spawn_blocking(|| running.into_iter().for_each(Running::stop))
            .await
            .unwrap();
        self.node.close(SOON).await.unwrap();
    }

    /// Returns a counter of the page `/metrics`.
    async fn counter(&self, name: &str) -> u64 {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let line = answer.lines().find(|line| line.starts_with(name)).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    }

    async fn reaches(&self, name: &str, value: u64) {
        let until = Instant::now() + SOON;
        while self.counter(name).await != value {
            assert!(Instant::now() < until, "{name} is not {value}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

fn config() -> Config {
    let config = Config::peer().with("services/http/listen", "'127.0.0.1:0'");
    config.with("services/http/remote_api", "true")
}

/// A client that writes bytes.
struct Client {
    socket: WebSocketStream<TcpStream>,
    number: u32,
}

impl Client {
    async fn open(address: SocketAddr, path: &str) -> Client {
        let stream = TcpStream::connect(address).await.unwrap();
        let uri = format!("ws://{address}{path}");
        let (socket, _) = client_async(uri, stream).await.unwrap();
        Client { socket, number: 0 }
    }

    /// Opens a session of a user with the password `x`, in base64 with the name.
    #[cfg(unix)]
    async fn open_as(address: SocketAddr, user: &str) -> Client {
        let stream = TcpStream::connect(address).await.unwrap();
        let mut request = format!("ws://{address}/").into_client_request().unwrap();
        let value = format!("Basic {user}").parse().unwrap();
        request.headers_mut().insert("authorization", value);
        let (socket, _) = client_async(request, stream).await.unwrap();
        Client { socket, number: 0 }
    }

    async fn send(&mut self, bytes: &[u8]) {
        let message = Message::Binary(bytes.to_vec().into());
        self.socket.send(message).await.unwrap();
    }

    /// Sends a message without a number.
    async fn tell(&mut self, kind: u8, body: &[u8]) {
        self.send(&[&[kind], body].concat()).await;
    }

    /// Sends a message with a number, and returns the kind and body of its answer.
    async fn ask(&mut self, kind: u8, body: &[u8]) -> (u8, Vec<u8>) {
        let number = self.number.to_le_bytes();
        self.number += 1;
        self.send(&[&[kind | 0x80], &number[..], body].concat())
            .await;
        loop {
            let message = self.next().await;
            if message[0] & 0x80 != 0 {
                assert_eq!(message[1..5], number);
                return (message[0] & 0x7f, message[5..].to_vec());
            }
        }
    }

    async fn next(&mut self) -> Vec<u8> {
        loop {
            match tokio::time::timeout(SOON, self.socket.next()).await {
                Ok(Some(Ok(Message::Binary(bytes)))) => return bytes.to_vec(),
                Ok(Some(Ok(Message::Ping(_)))) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Returns the code with which the server closes.
    async fn closed(&mut self) -> Option<CloseCode> {
        loop {
            match tokio::time::timeout(SOON, self.socket.next())
                .await
                .unwrap()
            {
                Some(Ok(Message::Close(frame))) => return frame.map(|frame| frame.code),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return None,
            }
        }
    }
}

fn text(text: &str) -> Vec<u8> {
    [&[text.len() as u8], text.as_bytes()].concat()
}

/// A put on a key, without the kind: no encoding, no attachment, no time, default service.
fn put(key: &str, payload: &[u8]) -> Vec<u8> {
    assert!(payload.len() < 128);
    let head = [text(key), vec![payload.len() as u8], payload.to_vec()].concat();
    [&head[..], &[0, 0, 0, 0, 0, 0xa5]].concat()
}

/// A declaration with a number, without the kind.
fn entity(id: u8, key: &str, more: &[u8]) -> Vec<u8> {
    [&[id, 0, 0, 0], &text(key)[..], more].concat()
}

/// A get on a key with a limit of 10 s, without the kind: no parameters, no value, default service.
fn get(id: u8, key: &str) -> Vec<u8> {
    let more = [&[0, 0, 0, 0, 0xa5, 0x10], &10_000_u32.to_le_bytes()[..]].concat();
    entity(id, key, &more)
}

const OK: u8 = 1;
const ERROR: u8 = 2;

#[tokio::test]
async fn a_client_opens_subscribes_puts_and_leaves() {
    let served = Served::start(config()).await;
    for path in ["/", "/remote-api"] {
        let mut client = Client::open(served.address, path).await;
        let (kind, name) = client.ask(25, &[]).await;
        assert_eq!((kind, name.len()), (0, 37));
        let subscriber = [&7_u32.to_le_bytes()[..], &text("demo/**"), &[2]].concat();
        assert_eq!(client.ask(2, &subscriber).await, (OK, vec![2]));
        assert_eq!(client.ask(2, &subscriber).await.0, ERROR);
        client.tell(14, &put("demo/a", b"hello")).await;
        let sample = client.next().await;
        let body = [
            &text("demo/a")[..],
            &text("hello"),
            &[0, 0, 0, 0, 0, 0, 0xa5],
        ]
        .concat();
        assert_eq!(sample, [&[5, 7, 0, 0, 0], &body[..]].concat());
        served.reaches("zonda_remote_sessions{", 1).await;
        client.socket.close(None).await.unwrap();
        served.reaches("zonda_remote_sessions{", 0).await;
    }
    served.stop().await;
}

#[tokio::test]
async fn queries_pass_both_ways_and_end() {
    let served = Served::start(config()).await;
    let mut client = Client::open(served.address, "/").await;
    let queryable = [&1_u32.to_le_bytes()[..], &text("demo/q"), &[1, 2]].concat();
    assert_eq!(client.ask(4, &queryable).await, (OK, vec![4]));
    // The node asks the client.
    let replies = served.session.get("demo/q?a=1").await.unwrap();
    let query = client.next().await;
    let head = [
        &[6, 1, 0, 0, 0, 0, 0, 0, 0],
        &text("demo/q")[..],
        &text("a=1"),
    ]
    .concat();
    assert_eq!(query, [&head[..], &[0, 0, 0, 1]].concat());
    client
        .tell(21, &[&[0; 4], &put("demo/q", b"answer")[..]].concat())
        .await;
    client.tell(24, &[0; 4]).await;
    let replies = tokio::task::spawn_blocking(move || replies.iter().collect::<Vec<_>>());
    let replies = replies.await.unwrap();
    let sample = replies[0].result().unwrap();
    assert_eq!(
        (replies.len(), sample.payload().as_slice()),
        (1, &b"answer"[..])
    );
    // The client asks the node.
    let answering = served.session.declare_queryable("demo/r");
    let answering = answering.callback(|query| query.reply("demo/r", "yes").wait().unwrap());
    let _answering = answering.await.unwrap();
    client.tell(18, &get(9, "demo/r")).await;
    let reply = client.next().await;
    let body = [&text("demo/r")[..], &text("yes")].concat();
    assert_eq!(
        reply[..6 + body.len()],
        [&[7, 9, 0, 0, 0, 1], &body[..]].concat()
    );
    assert_eq!(client.next().await, [8, 9, 0, 0, 0]);
    served.stop().await;
}

#[tokio::test]
async fn bad_requests_are_errors_and_the_session_goes_on() {
    let served =
        Served::start(config().with("services/http/limits/remote_declarations", "2")).await;
    let mut client = Client::open(served.address, "/").await;
    for kind in [1, 3, 5, 7, 9, 11, 27, 34, 36, 28, 30] {
        assert_eq!(client.ask(kind, &[5, 0, 0, 0]).await.0, ERROR, "{kind}");
    }
    assert_eq!(client.ask(24, &[0; 4]).await.0, ERROR);
    let token = |id: u8, key: &str| [&[id, 0, 0, 0], &text(key)[..]].concat();
    assert_eq!(client.ask(8, &token(1, "a//b")).await.0, ERROR);
    for (id, kind) in [(1, OK), (2, OK), (3, ERROR)] {
        assert_eq!(
            client.ask(8, &token(id, "demo/alive")).await.0,
            kind,
            "{id}"
        );
    }
    assert_eq!(client.ask(9, &[1, 0, 0, 0]).await.0, OK);
    assert_eq!(client.ask(8, &token(4, "demo/alive")).await.0, OK);
    // A get on a key that is none ends, too.
    client.tell(18, &get(9, "a//b")).await;
    assert_eq!(client.next().await[..6], [7, 9, 0, 0, 0, 0]);
    assert_eq!(client.next().await, [8, 9, 0, 0, 0]);
    served.stop().await;
}

#[tokio::test]
async fn hostile_messages_end_their_session_alone() {
    let served = Served::start(config().with("services/http/limits/body_bytes", "1000")).await;
    let mut other = Client::open(served.address, "/").await;
    assert_eq!(other.ask(25, &[]).await.0, 0);
    let huge = vec![0; 1001];
    let long = [14, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    let cases: &[(&[u8], CloseCode)] = &[
        (&[], CloseCode::Invalid),
        (&[0x80 | 25, 1, 2], CloseCode::Invalid),
        (&[37], CloseCode::Invalid),
        (&[127], CloseCode::Invalid),
        (&[25, 0], CloseCode::Invalid),
        (&[14, 200], CloseCode::Invalid),
        (&long, CloseCode::Invalid),
        (&[2, 0, 0, 0, 0, 1, b'a', 3], CloseCode::Invalid),
        (&[8, 0, 0, 0, 0, 1, 0xff], CloseCode::Invalid),
        (&huge, CloseCode::Size),
    ];
    for (bytes, code) in cases {
        let mut client = Client::open(served.address, "/").await;
        client.send(bytes).await;
        assert_eq!(client.closed().await, Some(*code), "{bytes:?}");
    }
    let mut client = Client::open(served.address, "/").await;
    client
        .socket
        .send(Message::Text("hello".into()))
        .await
        .unwrap();
    assert_eq!(client.closed().await, Some(CloseCode::Unsupported));
    let count = cases.len() as u64 + 1;
    served
        .reaches("zonda_remote_sessions_malformed_total", count)
        .await;
    assert_eq!(other.ask(25, &[]).await.0, 0);
    served.stop().await;
}

#[tokio::test]
async fn a_client_that_does_not_read_is_dropped_and_others_go_on() {
    let served = Served::start(config().with("services/http/limits/remote_bytes", "100000")).await;
    let (mut slow, mut quick) = (
        Client::open(served.address, "/").await,
        Client::open(served.address, "/").await,
    );
    let subscriber = [&7_u32.to_le_bytes()[..], &text("demo/**"), &[2]].concat();
    assert_eq!(slow.ask(2, &subscriber).await.0, OK);
    assert_eq!(quick.ask(2, &subscriber).await.0, OK);
    let until = Instant::now() + SOON;
    while served.counter("zonda_remote_sessions_slow_total").await == 0 {
        assert!(Instant::now() < until, "the client was not dropped");
        for _ in 0..20 {
            served.session.put("demo/a", vec![0; 50_000]).await.unwrap();
            assert_eq!(quick.next().await[0], 5);
        }
    }
    served.reaches("zonda_remote_sessions{", 1).await;
    served.stop().await;
}

#[tokio::test]
async fn a_page_of_another_origin_or_name_opens_no_session() {
    let served = Served::start(config().with("services/http/limits/remote_sessions", "1")).await;
    let refused = async |name: &'static str, value: &'static str| {
        let stream = TcpStream::connect(served.address).await.unwrap();
        let mut request = format!("ws://{}/", served.address)
            .into_client_request()
            .unwrap();
        request.headers_mut().insert(name, value.parse().unwrap());
        match client_async(request, stream).await {
            Err(Error::Http(answer)) => answer.status().as_u16(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(refused("origin", "https://evil.example").await, 403);
    assert_eq!(refused("host", "evil.example").await, 403);
    assert_eq!(refused("sec-websocket-version", "12").await, 400);
    let mut first = Client::open(served.address, "/").await;
    assert_eq!(first.ask(25, &[]).await.0, 0);
    assert_eq!(refused("x-none", "x").await, 503);
    served
        .reaches("zonda_remote_sessions_refused_total", 1)
        .await;
    served.stop().await;
}

#[tokio::test]
async fn the_configuration_of_the_reference_starts_a_server() {
    let config = Config::peer().with("plugins", "{remote_api: {websocket_port: '127.0.0.1:0'}}");
    let served = Served::start(config).await;
    assert_eq!(served.running[0].name(), "remote_api");
    let mut client = Client::open(served.address, "/").await;
    assert_eq!(client.ask(25, &[]).await.0, 0);
    let (kind, info) = client.ask(12, &[]).await;
    assert_eq!((kind, info.len()), (4, 19));
    served.stop().await;
}

/// Rules that allow a user everything below `demo/open`, and to look for more.
#[cfg(unix)]
const RULES: &str = "{
    enabled: true, default_permission: 'deny',
    rules: [
        {id: 'open', permission: 'allow', flows: ['ingress', 'egress'], key_exprs: ['demo/open/**'],
         messages: ['put', 'delete', 'query', 'reply', 'declare_queryable', 'liveliness_token']},
        {id: 'look', permission: 'allow', flows: ['ingress'], key_exprs: ['demo/**'],
         messages: ['query', 'declare_subscriber', 'liveliness_query',
                    'declare_liveliness_subscriber']},
        {id: 'report', permission: 'allow', messages: ['query'], flows: ['ingress'],
         key_exprs: ['@/**']},
    ],
    subjects: [{id: 'ann', usernames: ['ann'], link_protocols: ['http']}],
    policies: [{rules: ['open', 'look', 'report'], subjects: ['ann']}]}";

#[cfg(unix)]
const ANN: &str = "YW5uOng=";
#[cfg(unix)]
const BOB: &str = "Ym9iOng=";

/// Starts the services on a node with the rules.
#[cfg(unix)]
async fn ruled(name: &str) -> Served {
    let users = crate::access::private_file(name, "ann:x\nbob:x\n");
    let config = config().with("services/http/auth/dictionary_file", &format!("{users:?}"));
    let own = Config::peer().with("access_control", RULES);
    let served = Served::start_on(own, config).await;
    std::fs::remove_file(users).unwrap();
    served
}

#[cfg(unix)]
#[tokio::test]
async fn a_request_that_the_rules_deny_is_an_error_that_names_the_rule() {
    let served = ruled("remote-requests").await;
    let (sender, received) = std::sync::mpsc::channel();
    let subscriber = served.session.declare_subscriber("demo/**");
    let subscriber = subscriber.callback(move |sample| {
        drop(sender.send(sample.key_expr().to_string()));
    });
    let _subscriber = subscriber.await.unwrap();
    let mut bob = Client::open_as(served.address, BOB).await;
    let mut ann = Client::open_as(served.address, ANN).await;
    let refused = |answer: (u8, Vec<u8>), key: &str| {
        let text = String::from_utf8_lossy(&answer.1).into_owned();
        assert_eq!(answer.0, ERROR, "{key}: {text}");
        assert!(
            text.contains("access_control") && text.contains(key),
            "{text}"
        );
    };
    refused(bob.ask(14, &put("demo/open/a", b"x")).await, "demo/open/a");
    refused(ann.ask(14, &put("demo/closed", b"x")).await, "demo/closed");
    let delete = [&text("demo/closed")[..], &[0, 0, 0xa5]].concat();
    refused(ann.ask(15, &delete).await, "demo/closed");
    // A publisher is judged by what it publishes.
    let publisher = entity(1, "demo/closed", &[0, 0, 0, 0xa5]);
    assert_eq!(ann.ask(0, &publisher).await.0, OK);
    let body = [1, 0, 0, 0, 1, b'x', 0, 0, 0];
    refused(ann.ask(16, &body).await, "demo/closed");
    refused(ann.ask(2, &entity(2, "other/**", &[2])).await, "other/**");
    refused(
        ann.ask(4, &entity(3, "demo/closed", &[1, 2])).await,
        "demo/closed",
    );
    refused(
        ann.ask(8, &entity(4, "demo/closed", &[])).await,
        "demo/closed",
    );
    refused(ann.ask(10, &entity(5, "other/**", &[0])).await, "other/**");
    // The neighbours of the node are seen by those that may get its report.
    let report = format!("@/{}/peer", served.session.zid());
    for kind in [12, 31, 32] {
        refused(ann.ask(kind, &[]).await, &report);
    }
    // A get that is denied ends with an error.
    ann.tell(18, &get(9, "other/a")).await;
    let answer = ann.next().await;
    assert_eq!(answer[..6], [7, 9, 0, 0, 0, 0]);
    assert!(String::from_utf8_lossy(&answer).contains("other/a"));
    assert_eq!(ann.next().await, [8, 9, 0, 0, 0]);
    assert_eq!(ann.ask(14, &put("demo/open/a", b"x")).await.0, OK);
    // Of all these, only the last put was published.
    assert_eq!(received.recv_timeout(SOON).unwrap(), "demo/open/a");
    assert!(received.try_recv().is_err());
    // A reload takes effect on the open session.
    let without = Config::peer().with("access_control", "{enabled: false}");
    served.node.reload(&without).unwrap();
    assert_eq!(ann.ask(14, &put("demo/closed", b"x")).await.0, OK);
    assert_eq!(received.recv_timeout(SOON).unwrap(), "demo/closed");
    served.stop().await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_client_gets_no_message_that_the_rules_keep_from_it() {
    let served = ruled("remote-messages").await;
    let mut ann = Client::open_as(served.address, ANN).await;
    // samples
    assert_eq!(ann.ask(2, &entity(1, "demo/**", &[2])).await.0, OK);
    for key in ["demo/closed", "demo/open/a"] {
        served.session.put(key, "x").await.unwrap();
    }
    let sample = ann.next().await;
    assert_eq!(sample[..5], [5, 1, 0, 0, 0]);
    assert_eq!(sample[5..17], text("demo/open/a"));
    assert_eq!(ann.ask(3, &[1, 0, 0, 0]).await.0, OK);
    // liveliness
    assert_eq!(ann.ask(10, &entity(2, "demo/**", &[0])).await.0, OK);
    let liveliness = served.session.liveliness();
    let _closed = liveliness.declare_token("demo/closed").await.unwrap();
    let _open = liveliness.declare_token("demo/open/t").await.unwrap();
    assert_eq!(ann.next().await[5..17], text("demo/open/t"));
    ann.tell(
        20,
        &[&entity(3, "demo/**", &[]), &10_000_u32.to_le_bytes()[..]].concat(),
    )
    .await;
    assert_eq!(ann.next().await[6..18], text("demo/open/t"));
    assert_eq!(ann.next().await, [8, 3, 0, 0, 0]);
    // replies
    let queryable = served.session.declare_queryable("demo/*/r");
    let queryable = queryable.callback(|query| {
        for key in ["demo/closed/r", "demo/open/r"] {
            query.reply(key, "x").wait().unwrap();
        }
    });
    let queryable = queryable.await.unwrap();
    ann.tell(18, &get(4, "demo/*/r")).await;
    assert_eq!(ann.next().await[6..18], text("demo/open/r"));
    assert_eq!(ann.next().await, [8, 4, 0, 0, 0]);
    drop(queryable);
    // queries
    assert_eq!(ann.ask(4, &entity(5, "demo/open/q", &[1, 2])).await.0, OK);
    let replies = served.session.get("demo/*/q").await.unwrap();
    let replies = tokio::task::spawn_blocking(move || replies.iter().count());
    assert_eq!(replies.await.unwrap(), 0);
    let _replies = served.session.get("demo/open/q").await.unwrap();
    let query = ann.next().await;
    assert_eq!(query[0], 6);
    assert_eq!(query[9..21], text("demo/open/q"));
    served.stop().await;
}
