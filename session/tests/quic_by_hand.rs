// SPDX-License-Identifier: MIT OR Apache-2.0

//! Peers of QUIC that are played by hand: the streams and datagrams of a link as such a peer sees
//! them, and a peer that misbehaves costs its own link at most.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::QuicClientConfig;
use quinn::rustls::pki_types::CertificateDer;
use quinn::rustls::pki_types::pem::PemObject;
use quinn::rustls::{ClientConfig, RootCertStore};
use zonda::qos::Priority;
use zonda::{Session, Wait};
use zonda_codec::{
    Declaration, Declare, Encode, FrameHeader, InitExt, InitSyn, Mapping, OpenExt, OpenSyn, Push,
    PushBody, Put, Reader, Reliability, Resolution, TransportMessage, WhatAmI, WireExpr, ZenohId,
};

use crate::authority::Authority;
use crate::pair::{LONG, until};
use crate::quic::{HOSTS, dial, listening};
use crate::traffic::{check_each, check_traffic, port};

/// Returns a client of QUIC that is no node.
pub fn stranger(ca: &str, speaks: &[u8]) -> quinn::Endpoint {
    client(config(ca, speaks))
}

fn client(config: quinn::ClientConfig) -> quinn::Endpoint {
    let mut endpoint =
        quinn::Endpoint::client(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a socket");
    endpoint.set_default_client_config(config);
    endpoint
}

fn config(ca: &str, speaks: &[u8]) -> quinn::ClientConfig {
    let mut trusted = RootCertStore::empty();
    let authority = CertificateDer::from_pem_file(ca).expect("a certificate");
    trusted.add(authority).expect("an authority");
    let provider = Arc::new(quinn::rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.expect("versions").with_root_certificates(trusted);
    let mut config = config.with_no_client_auth();
    config.alpn_protocols = vec![speaks.to_vec()];
    let config = QuicClientConfig::try_from(config).expect("for QUIC");
    quinn::ClientConfig::new(Arc::new(config))
}

/// Carrier of the batches of a hand.
enum Carrier {
    /// The bidirectional stream, and the additional ones.
    Streams(Vec<quinn::SendStream>, quinn::RecvStream),
    Datagrams,
}

/// A client that has done the handshake.
struct Hand {
    _endpoint: quinn::Endpoint,
    connection: quinn::Connection,
    carrier: Carrier,
    next_sn: [u32; 8],
    /// Flags stand in front of each batch.
    is_compressed: bool,
}

fn bytes(message: &impl Encode) -> Vec<u8> {
    message.to_vec().expect("it has a wire form")
}

fn framed(batch: &[u8]) -> Vec<u8> {
    let length = u16::try_from(batch.len()).expect("a batch");
    [&length.to_le_bytes(), batch].concat()
}

async fn read_batch(stream: &mut quinn::RecvStream) -> Vec<u8> {
    let mut prefix = [0; 2];
    stream.read_exact(&mut prefix).await.expect("a length");
    let mut batch = vec![0; u16::from_le_bytes(prefix).into()];
    stream.read_exact(&mut batch).await.expect("a batch");
    batch
}

impl Hand {
    async fn connect(ca: &str, to: SocketAddr, speaks: &[u8]) -> Hand {
        Hand::at(stranger(ca, speaks), to, speaks).await
    }

    async fn at(endpoint: quinn::Endpoint, to: SocketAddr, speaks: &[u8]) -> Hand {
        let connection = endpoint.connect(to, "localhost").expect("a name");
        let connection = connection.await.expect("a connection");
        let carrier = match speaks {
            b"hq-29" => Carrier::Datagrams,
            _ => {
                let (out, back) = connection.open_bi().await.expect("a stream");
                let mut streams = vec![out];
                for _ in 1..8 {
                    streams.push(connection.open_uni().await.expect("it is let"));
                }
                Carrier::Streams(streams, back)
            }
        };
        let mut hand = Hand {
            _endpoint: endpoint,
            connection,
            carrier,
            next_sn: [0; 8],
            is_compressed: false,
        };
        hand.is_compressed = hand.introduce().await;
        hand
    }

    /// Returns the next batch of the first stream, or the next datagram.
    async fn answer(&mut self) -> Vec<u8> {
        match &mut self.carrier {
            Carrier::Streams(_, back) => read_batch(back).await,
            Carrier::Datagrams => {
                let datagram = self.connection.read_datagram().await;
                datagram.expect("an answer").to_vec()
            }
        }
    }

    /// Performs the handshake; returns true if the two ends have agreed on compression.
    async fn introduce(&mut self) -> bool {
        let zid = ZenohId::random_from(u128::from(self.connection.stable_id() as u64) | 1 << 100);
        let init = InitSyn {
            version: 9,
            whatami: WhatAmI::Client,
            zid,
            resolution: Resolution::default(),
            batch_size: 1150,
            ext: InitExt {
                qos: true,
                compression: true,
                ..InitExt::default()
            },
        };
        self.send(0, &bytes(&init)).await;
        let answer = self.answer().await;
        let mut reader = Reader::new(&answer);
        let Ok(TransportMessage::InitAck(agreed)) = TransportMessage::decode(&mut reader) else {
            panic!("no answer: {answer:x?}");
        };
        let compression = agreed.ext.compression;
        let open = OpenSyn {
            lease: Duration::from_secs(10),
            initial_sn: 0,
            cookie: agreed.cookie,
            ext: OpenExt::default(),
        };
        self.send(0, &bytes(&open)).await;
        let answer = self.answer().await;
        let opened = TransportMessage::decode(&mut Reader::new(&answer));
        assert!(
            matches!(opened, Ok(TransportMessage::OpenAck(_))),
            "{opened:?}"
        );
        compression
    }

    /// Sends a batch, which is not packed, on this stream.
    async fn send(&mut self, stream: usize, batch: &[u8]) {
        let flags: &[u8] = if self.is_compressed { &[0] } else { &[] };
        let batch = [flags, batch].concat();
        match &mut self.carrier {
            Carrier::Streams(streams, _) => self::send(&mut streams[stream], &framed(&batch)).await,
            Carrier::Datagrams => {
                // it may be lost for good by now
                let _ = self.connection.send_datagram(batch.into());
            }
        }
    }

    fn stream(&mut self, stream: usize) -> &mut quinn::SendStream {
        match &mut self.carrier {
            Carrier::Streams(streams, _) => &mut streams[stream],
            Carrier::Datagrams => panic!("there are none"),
        }
    }

    /// Returns a frame with this message.
    fn frame(&mut self, priority: Priority, message: &impl Encode) -> Vec<u8> {
        let sn = &mut self.next_sn[priority as usize];
        let header = FrameHeader {
            reliability: Reliability::Reliable,
            priority,
            sn: *sn,
        };
        *sn += 1;
        [bytes(&header), bytes(message)].concat()
    }

    /// Returns a frame with a message on the key of an id.
    fn push_on(&mut self, id: u16, priority: Priority, payload: &[u8]) -> Vec<u8> {
        let expr = WireExpr {
            scope: id,
            suffix: "",
            mapping: Mapping::Sender,
        };
        let body = PushBody::Put(Put::new(payload));
        self.frame(priority, &Push::new(expr, body))
    }

    /// Declares an id, in its place.
    async fn declare(&mut self, id: u16, key: &str) {
        let declaration = Declare::new(Declaration::KeyExpr {
            id,
            wire_expr: WireExpr::full(key),
        });
        let batch = self.frame(Priority::Control, &declaration);
        self.send(0, &batch).await;
    }

    fn push(&mut self, priority: Priority) -> Vec<u8> {
        let body = PushBody::Put(Put::new(b"by hand"));
        self.frame(priority, &Push::new(WireExpr::full("test/hand"), body))
    }

    /// Returns true if the other end ends the connection.
    async fn is_hung_up_on(&self) -> bool {
        let closed = tokio::time::timeout(LONG, self.connection.closed());
        closed.await.is_ok()
    }
}

async fn send(stream: &mut quinn::SendStream, bytes: &[u8]) {
    stream.write_all(bytes).await.expect("it is sent");
}

/// A listener, an honest client of it, and its address.
struct Scene {
    authority: Authority,
    far: Session,
    near: Session,
    to: SocketAddr,
    runtime: tokio::runtime::Runtime,
}

impl Scene {
    fn open(metadata: &str) -> Scene {
        Scene::open_with(metadata, false)
    }

    fn open_with(metadata: &str, compression: bool) -> Scene {
        let authority = Authority::new();
        let shown = authority.sign("server", HOSTS);
        let config = listening(&format!("quic/127.0.0.1:0{metadata}"), &shown);
        let compression = compression.to_string();
        let config = config.with("transport/unicast/compression/enabled", &compression);
        let far = zonda::open(config).wait().expect("it listens");
        let to = SocketAddr::from(([127, 0, 0, 1], port(&far)));
        let ca = authority.ca();
        let near = dial(
            &format!("quic/{to}{metadata}"),
            &[("root_ca_certificate", &ca)],
        );
        // A wait on the thread of the test does not stop the hands.
        let runtime = tokio::runtime::Builder::new_multi_thread();
        Scene {
            near: near.expect("a link"),
            authority,
            far,
            to,
            runtime: { runtime }
                .worker_threads(1)
                .enable_all()
                .build()
                .expect("a runtime"),
        }
    }

    async fn hand(&self, speaks: &[u8]) -> Hand {
        Hand::connect(&self.authority.ca(), self.to, speaks).await
    }

    /// Checks that the listener has no link but that of the honest one.
    fn is_rid_of_others(&self) {
        let zid = self.near.zid();
        until("only the honest one is there", || {
            let links = self.far.info().links();
            links.len() == 1 && links[0].zid == zid
        });
    }
}

#[test]
fn each_priority_has_a_stream_of_its_own_both_ways() {
    let scene = Scene::open("");
    let heard = scene.far.declare_subscriber("test/hand").wait();
    let heard = heard.expect("a subscriber");
    scene.runtime.block_on(async {
        let mut hand = scene.hand(b"zenoh-ms").await;
        // No message waits behind one that has its own stream: the last of them brings its message
        // first.
        for priority in Priority::ALL.into_iter().rev() {
            let batch = hand.push(priority);
            hand.send(priority as usize, &batch).await;
        }
        let wanted = Declare::new(Declaration::Subscriber {
            id: 1,
            wire_expr: WireExpr::full("test/wanted"),
        });
        let wanted = hand.frame(Priority::Data, &wanted);
        hand.send(5, &wanted).await;
        for priority in &Priority::ALL[1..] {
            let mut put = None;
            until("the subscriber is known", || {
                let publisher = scene.far.declare_publisher("test/wanted");
                let publisher = publisher.priority(*priority).wait().expect("a publisher");
                let is_matched = publisher
                    .matching_status()
                    .wait()
                    .is_ok_and(|s| s.matching());
                put = is_matched.then(|| publisher.put("wanted").wait());
                is_matched
            });
            put.expect("matched").expect("it is sent");
        }
        for place in 1..=7 {
            let stream = tokio::time::timeout(LONG, hand.connection.accept_uni());
            let mut stream = stream.await.expect("in time").expect("a stream");
            assert_eq!(stream.id().index() + 1, place);
            let batch = tokio::time::timeout(LONG, read_batch(&mut stream)).await;
            let batch = batch.expect("in time");
            match TransportMessage::decode(&mut Reader::new(&batch)).expect("a message") {
                TransportMessage::Frame(frame) => assert_eq!(frame.priority as u64, place),
                other => panic!("{other:?}"),
            }
        }
    });
    for _ in Priority::ALL {
        assert!(heard.recv_timeout(LONG).expect("open").is_some());
    }
}

/// The ids that messages name are declared in another stream than that of the messages, which may
/// be behind. No message is lost for that, in whatever pieces the declaration comes.
#[test]
fn messages_wait_for_a_declaration_that_comes_after_them() {
    check_waiting(&Scene::open(""), false);
}

/// Compressed batches hide their priority from the carrier, and a peer spreads them over its
/// streams all the same.
#[test]
fn compressed_messages_wait_for_a_declaration_that_comes_after_them() {
    check_waiting(&Scene::open_with("", true), true);
}

fn check_waiting(scene: &Scene, is_compressed: bool) {
    let heard = scene.far.declare_subscriber("test/late/**").wait();
    let heard = heard.expect("a subscriber");
    scene.runtime.block_on(async {
        let mut hand = scene.hand(b"zenoh-ms").await;
        assert_eq!(hand.is_compressed, is_compressed);
        for round in 1..=20_u16 {
            for count in 0..50_u16 {
                let payload = (round * 100 + count).to_string();
                let batch = hand.push_on(round, Priority::Data, payload.as_bytes());
                hand.send(5, &batch).await;
            }
            // Another priority does not wait, and shows that the messages have come.
            let urgent = hand.push(Priority::RealTime);
            hand.send(1, &urgent).await;
            if round % 2 == 0 {
                until("the messages have come and wait", || {
                    let links = scene.far.info().links();
                    let held = links.iter().map(|link| link.held);
                    held.sum::<u64>() >= u64::from(round / 2)
                });
            }
            hand.declare(round, &format!("test/late/{round}")).await;
            for count in 0..50_u16 {
                let sample = heard.recv_timeout(LONG).expect("open").expect("it comes");
                assert_eq!(sample.key_expr().as_str(), format!("test/late/{round}"));
                let payload = String::from_utf8_lossy(sample.payload().as_slice()).into_owned();
                assert_eq!(payload, (round * 100 + count).to_string());
            }
        }
    });
    scene.is_rid_of_others();
}

/// Counts of the listener for all links but the honest client's: ignored messages on unknown keys, and held ones.
fn refused(scene: &Scene) -> (u64, u64) {
    let links = scene.far.info().links();
    let others = links.iter().filter(|link| link.zid != scene.near.zid());
    others.fold((0, 0), |(ignored, held), link| {
        (ignored + link.ignored.bad_pushes, held + link.held)
    })
}

/// Limit of the bytes that a peer can send in its streams while the node uses none of them: the
/// bytes in QUIC, on their way to the receiver, and waiting there.
const WAITING_BYTES_MAX: usize = 4 << 20;

/// A peer that names ids in all priorities and declares none of them is stopped, and costs neither
/// memory nor time of other peers.
#[test]
fn who_declares_no_ids_is_stopped_and_costs_nobody_else() {
    let scene = Scene::open("");
    let heard = scene.far.declare_subscriber("test/hand").wait();
    let heard = heard.expect("a subscriber");
    scene.runtime.block_on(async {
        let mut hand = scene.hand(b"zenoh-ms").await;
        let (mut sent, mut stopped) = (0, None);
        for priority in Priority::ALL[1..].iter().cycle() {
            let batch = hand.push_on(9, *priority, &[7; 1000]);
            let sending = hand.send(*priority as usize, &batch);
            if (tokio::time::timeout(Duration::from_secs(1), sending).await).is_err() {
                stopped = Some(*priority);
                break;
            }
            sent += batch.len();
            assert!(sent <= WAITING_BYTES_MAX, "it may go on after {sent} bytes");
        }
        // The other links are open, and the peer's declarations arrive.
        check_traffic(&scene.near, &scene.far, &[8, 5000]);
        hand.declare(1, "test/hand").await;
        until("its time is over", || {
            let (ignored, held) = refused(&scene);
            ignored > 7 && held >= 7
        });
        // In a stream that was not stopped within a batch, later messages do not wait for this id again.
        let mut others = Priority::ALL[1..].iter();
        let other = *others.find(|other| Some(**other) != stopped).expect("one");
        for batch in [hand.push_on(9, other, b"never"), hand.push(other)] {
            hand.send(other as usize, &batch).await;
        }
        let sample = heard.recv_timeout(LONG).expect("open").expect("it comes");
        assert_eq!(sample.payload().as_slice(), b"by hand");
    });
    check_traffic(&scene.near, &scene.far, &[8, 5000]);
    scene.is_rid_of_others();
}

/// Messages on the wrong stream, without an end, or given up cost their sender its link at most.
#[test]
fn who_misuses_its_streams_costs_only_itself() {
    let scene = Scene::open("");
    let heard = scene.far.declare_subscriber("test/hand").wait();
    let heard = heard.expect("a subscriber");
    scene.runtime.block_on(async {
        let mut wrong = scene.hand(b"zenoh-ms").await;
        for priority in [Priority::DataLow, Priority::RealTime] {
            let batch = wrong.push(priority);
            wrong.send(3, &batch).await;
        }
        // Useless, and harmless.
        wrong.stream(4).finish().expect("open");
        let mut unfinished = scene.hand(b"zenoh-ms").await;
        send(unfinished.stream(6), &60_000_u16.to_le_bytes()).await;
        send(unfinished.stream(6), &[5; 1000]).await;
        let batch = unfinished.push(Priority::Data);
        unfinished.send(5, &batch).await;
        // The streams that were agreed on, and no more.
        let more = unfinished.connection.open_uni();
        let more = tokio::time::timeout(Duration::from_millis(200), more).await;
        assert!(more.is_err(), "one stream too many");
        let mut reset = scene.hand(b"zenoh-ms").await;
        send(reset.stream(2), &[9]).await;
        reset.stream(2).reset(1_u32.into()).expect("open");
        let mut noise = scene.hand(b"zenoh-ms").await;
        noise.send(7, &[0x1f; 100]).await;
        assert!(reset.is_hung_up_on().await && noise.is_hung_up_on().await);
        // The other links are open still, and the listener has time for all of them.
        for _ in 0..3 {
            assert!(heard.recv_timeout(LONG).expect("open").is_some());
        }
        check_traffic(&scene.near, &scene.far, &[8, 5000]);
    });
    scene.is_rid_of_others();
    check_traffic(&scene.near, &scene.far, &[8, 5000]);
}

/// A peer that has room for a few bytes, and keeps the connection up, does not keep the bytes that
/// its link had still to send.
#[test]
fn who_takes_nothing_is_hung_up_on() {
    let scene = Scene::open("");
    let speaks = b"zenoh-ms";
    let mut config = config(&scene.authority.ca(), speaks);
    let mut windows = quinn::TransportConfig::default();
    windows.stream_receive_window(2048_u32.into());
    windows.keep_alive_interval(Some(Duration::from_secs(1)));
    config.transport_config(Arc::new(windows));
    let publisher = scene.far.declare_publisher("test/wanted");
    let publisher = publisher.wait().expect("a publisher");
    scene.runtime.block_on(async {
        let mut poor = Hand::at(client(config), scene.to, speaks).await;
        let wanted = Declare::new(Declaration::Subscriber {
            id: 1,
            wire_expr: WireExpr::full("test/wanted"),
        });
        let wanted = poor.frame(Priority::Data, &wanted);
        poor.send(5, &wanted).await;
        until("the subscriber is known", || {
            let status = publisher.matching_status().wait();
            status.is_ok_and(|status| status.matching())
        });
        for _ in 0..20 {
            publisher.put(vec![0; 60_000]).wait().expect("it is sent");
        }
        // The node ends the link of a peer that sends invalid bytes.
        poor.send(0, &[0x1f; 100]).await;
        // The node lingers for 10 s of this.
        let closed = tokio::time::timeout(3 * LONG, poor.connection.closed());
        assert!(closed.await.is_ok(), "it is kept");
    });
    scene.is_rid_of_others();
}

#[test]
fn who_misuses_datagrams_costs_only_itself() {
    let scene = Scene::open("?rel=0");
    let heard = scene.far.declare_subscriber("test/hand").wait();
    let heard = heard.expect("a subscriber");
    scene.runtime.block_on(async {
        let mut honest = scene.hand(b"hq-29").await;
        for _ in 0..100 {
            let batch = honest.push(Priority::Data);
            honest.send(0, &batch).await;
        }
        let mut noise = scene.hand(b"hq-29").await;
        noise.send(0, &[]).await;
        noise.send(0, &[0x1f; 100]).await;
        assert!(noise.is_hung_up_on().await);
        // Streams are not for such links.
        let opening = tokio::time::timeout(Duration::from_millis(200), honest.connection.open_bi());
        assert!(opening.await.is_err(), "a stream");
    });
    assert!(heard.recv_timeout(LONG).expect("open").is_some());
    scene.is_rid_of_others();
    check_each(&scene.near, &scene.far, &[8, 5000]);
}
