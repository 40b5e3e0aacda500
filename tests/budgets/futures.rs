// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sizes of the futures on the message path: each lies in one piece of memory for as long as its
//! connection or call lives, and is moved as a whole when it starts. A test bounds them; this
//! command prints them:
//!
//! ```text
//! cargo test --test budgets future -- --nocapture
//! ```

use std::collections::BTreeMap;
use std::future::{Future, IntoFuture};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use zonda::config::{RuntimeOptions, WhatAmI, ZenohId};
use zonda::qos::{CongestionControl, Reliability};
use zonda::{Config, Wait};
use zonda_codec::{Encoding, KeyExpr, NetworkMessage, Push, Qos};
use zonda_router::node::{Node, Publication, SampleKind, Value};
use zonda_router::table::Locality;
use zonda_runtime::{Runtime, Socket, TokioRuntime, block_on};
use zonda_transport::dial::open_link;
use zonda_transport::driver::{self, Drive, Ended, Handler};
use zonda_transport::link::{Link, LinkAddress};
use zonda_transport::listen::{Admission, listen};
use zonda_transport::outbox::{DirectSocket, Outbox};
use zonda_transport::protocol::parameters::{Established, LocalParameters};
use zonda_transport::protocol::rx::{Context, Deliver, Receiver};
use zonda_transport::protocol::timers::Timers;

use crate::scene::{Line, until};

/// Maximum bytes of a future, by its name here. The session's own are boxed: they hold a future of
/// the node.
const BOUNDS: [(&str, usize); 12] = [
    ("task zonda-accept", 2048),
    ("task zonda-handshake", 5760),
    ("task zonda-rx", 4096),
    ("task zonda-tx", 1536),
    ("transport open_link", 2304),
    ("node open", 3344),
    ("node publish_async", 1056),
    ("publisher face publish_async", 1056),
    ("session open", 16),
    ("publisher put().await", 64),
    ("publisher put_async", 96),
    ("subscriber recv_async", 64),
];

/// Sizes so far, in bytes.
#[derive(Clone, Default)]
struct Sizes(Arc<Mutex<BTreeMap<String, usize>>>);

impl Sizes {
    fn note(&self, name: impl Into<String>, bytes: usize) {
        let mut sizes = self.0.lock().expect("nobody panics with it");
        let size = sizes.entry(name.into()).or_default();
        *size = bytes.max(*size);
    }

    /// Records a future's size and returns the future.
    fn future<F: Future>(&self, name: &str, future: F) -> F {
        self.note(name, size_of_val(&future));
        future
    }

    fn of(&self, name: &str) -> Option<usize> {
        let sizes = self.0.lock().expect("nobody panics with it");
        sizes.get(name).copied()
    }
}

/// A runtime that records the sizes of the tasks that it runs.
#[derive(Clone)]
struct Watched {
    inner: TokioRuntime,
    sizes: Sizes,
}

impl Runtime for Watched {
    type Read = <TokioRuntime as Runtime>::Read;
    type Write = <TokioRuntime as Runtime>::Write;
    type Listener = <TokioRuntime as Runtime>::Listener;
    type Timer = <TokioRuntime as Runtime>::Timer;

    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn spawn<M, F>(&self, task: &'static str, make: M)
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        self.sizes.note(format!("task {task}"), size_of::<F>());
        self.inner.spawn(task, make);
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.inner.block_on(future)
    }

    fn adopt_shared(&self, stream: Arc<Socket>) -> io::Result<(Self::Read, Self::Write)> {
        self.inner.adopt_shared(stream)
    }

    fn release(&self, read: Self::Read, write: Self::Write) -> io::Result<Arc<Socket>> {
        self.inner.release(read, write)
    }

    fn connect(
        &self,
        socket: Socket,
        to: SocketAddr,
    ) -> impl Future<Output = io::Result<Socket>> + Send {
        self.inner.connect(socket, to)
    }

    fn listen(&self, listener: Socket) -> io::Result<Self::Listener> {
        self.inner.listen(listener)
    }

    fn accept(
        &self,
        listener: &mut Self::Listener,
    ) -> impl Future<Output = io::Result<(Socket, Option<SocketAddr>)>> + Send {
        self.inner.accept(listener)
    }

    fn take_from<T, F>(
        &self,
        listener: &mut Self::Listener,
        take: F,
    ) -> impl Future<Output = io::Result<T>> + Send
    where
        T: Send,
        F: FnMut() -> io::Result<T> + Send,
    {
        self.inner.take_from(listener, take)
    }

    fn resolve(
        &self,
        host: String,
        port: u16,
    ) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send {
        self.inner.resolve(host, port)
    }

    fn sleep_until(&self, deadline: Instant) -> impl Future<Output = ()> + Send {
        self.inner.sleep_until(deadline)
    }

    fn precise_timer(&self) -> Self::Timer {
        self.inner.precise_timer()
    }

    fn yield_now(&self) -> impl Future<Output = ()> + Send {
        self.inner.yield_now()
    }
}

/// Delivery that ignores all messages.
struct Idle;

impl Deliver for Idle {
    fn push(&mut self, _push: &Push<'_>, _raw_body: &[u8], _context: &Context<'_>) {}

    fn message(&mut self, _message: NetworkMessage<'_>, _context: &Context<'_>) {}
}

impl Handler for Idle {
    async fn burst_end(&mut self) {}

    fn closed(&mut self, _ended: Ended) {}
}

/// Handler that drives every accepted link.
struct Door(Watched);

impl Admission for Door {
    fn admit(&self, _established: &Established, _remote: &LinkAddress) -> Result<(), u8> {
        Ok(())
    }

    fn accepted(&self, link: Link, _listener: &zonda_codec::Endpoint) {
        drive(&self.0, link);
    }
}

/// Starts the two tasks of a link.
fn drive(runtime: &Watched, link: Link) -> Arc<Outbox> {
    let direct = DirectSocket::of(&link.stream);
    let outbox = Arc::new(Outbox::new(&link.established, 1 << 20, direct));
    let lease = Duration::from_secs(10);
    let drive = Drive {
        stream: link.stream,
        unread: link.unread,
        receiver: Receiver::new(&link.established, 1 << 20),
        timers: Timers::new(Instant::now(), lease, 4, link.established.remote_lease),
        outbox: Arc::clone(&outbox),
    };
    driver::spawn(runtime, drive, Idle);
    outbox
}

/// Runs both sides of a link on a runtime that records the sizes of futures.
fn watch_a_link(sizes: &Sizes) {
    // A runtime that records each future.
    let options = RuntimeOptions::default();
    let inner = TokioRuntime::start_current_thread(&options).expect("a runtime");
    let runtime = Watched {
        inner,
        sizes: sizes.clone(),
    };
    let parameters = |number: u128| {
        let zid = ZenohId::random_from(number);
        LocalParameters::new(zid, WhatAmI::Peer)
    };
    // The listening side.
    let here = "tcp/127.0.0.1:0".parse().expect("an endpoint");
    let door = Arc::new(Door(runtime.clone()));
    let listening = listen(&runtime, &here, parameters(1), door).expect("a port");
    let there = listening.locators().first().expect("one").to_string();
    let there = there.parse().expect("an endpoint");
    // The connecting side.
    let local = parameters(2);
    let dial = open_link(&runtime, &there, &local, Duration::from_secs(30));
    let link = block_on(sizes.future("transport open_link", dial)).expect("a link");
    let outbox = drive(&runtime, link);
    // Both tasks have been spawned, and so recorded.
    until("both tasks of the link run", || {
        sizes.of("task zonda-rx").is_some() && sizes.of("task zonda-tx").is_some()
    });
    outbox.abort();
}

/// Runs the calls of a node and of a session.
fn watch_the_calls(sizes: &Sizes) {
    // Calls of a node.
    let config = || Config::peer().listen(["tcp/127.0.0.1:0"]);
    let node = block_on(sizes.future("node open", Node::open(config()))).expect("a node");
    let key = KeyExpr::try_from("line/x").expect("a key");
    let publication = Publication {
        kind: SampleKind::Put,
        payload: Value::Borrowed(b"12345678"),
        encoding: Encoding::default(),
        attachment: None,
        timestamp: None,
        source_info: None,
        qos: Qos::DATA,
        reliability: Reliability::Reliable,
        points: 0,
    };
    let limit = Duration::from_secs(1);
    let publish = node.publish_async(&key, Locality::Any, &publication, limit);
    block_on(sizes.future("node publish_async", publish)).expect("published");
    let face = node.declare_publisher(&key).expect("declared");
    let publish = face.publish_async(&publication, limit);
    block_on(sizes.future("publisher face publish_async", publish)).expect("published");
    let close = node.close(limit);
    block_on(sizes.future("node close", close)).expect("closed");

    // Calls of a session.
    let open = zonda::open(config()).into_future();
    let session = block_on(sizes.future("session open", open)).expect("a session");
    let subscriber = session.declare_subscriber("line/*").wait().expect("open");
    let publisher = session
        .declare_publisher("line/x")
        .congestion_control(CongestionControl::Block)
        .wait()
        .expect("open");
    let put = publisher.put("12345678").into_future();
    block_on(sizes.future("publisher put().await", put)).expect("published");
    let put = publisher.put_async("12345678");
    block_on(sizes.future("publisher put_async", put)).expect("published");
    let receive = subscriber.recv_async();
    block_on(sizes.future("subscriber recv_async", receive)).expect("a sample");
    let close = session.close().into_future();
    block_on(sizes.future("session close", close)).expect("closed");
}

#[test]
fn futures_are_no_larger_than_allowed() {
    let sizes = Sizes::default();
    watch_a_link(&sizes);
    watch_the_calls(&sizes);
    let seen = sizes.0.lock().expect("nobody panics with it").clone();
    for (name, bytes) in &seen {
        println!("{bytes:>6} bytes: {name}");
    }
    for (name, most) in BOUNDS {
        let bytes = seen.get(name);
        let bytes = bytes.unwrap_or_else(|| panic!("{name} is not among {seen:?}"));
        assert!(
            *bytes <= most,
            "{name} has {bytes} bytes, {most} are allowed"
        );
    }
}

/// A session's put that needs no waiting allocates no future; this test checks the sizes,
/// `allocations` the count.
#[test]
fn futures_of_a_put_are_a_few_words() {
    let line = Line::direct();
    let publisher = line.publisher(false);
    let put = publisher.put("12345678");
    assert!(size_of_val(&put) <= 96, "{}", size_of_val(&put));
}
