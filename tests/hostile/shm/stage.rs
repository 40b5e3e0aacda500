// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scene of these cases: a router in a process of its own, a publisher and a subscriber that share memory with it, and
//! a subscriber that does not.

use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use zonda::pubsub::{Publisher, Subscriber};
use zonda::qos::CongestionControl;
use zonda::sample::Sample;
use zonda::shm::ShmProvider;
use zonda::{Config, Session, Wait};

use crate::scene::{LONG, until};
use crate::world::{Process, Setup};

/// Key of the honest publisher.
const KEY: &str = "honest/shared";

/// Bytes of its large payloads.
const SIZE: usize = 100_000;

/// Begin of the router's line about payloads that it refuses.
const REFUSES: &str = "payloads in shared memory that this node refuses";

/// Returns the next sample.
pub fn next(subscriber: &Subscriber) -> Sample {
    let sample = subscriber.recv_timeout(LONG).expect("open");
    sample.expect("it arrives")
}

pub struct Stage {
    router: Process,
    pub address: SocketAddr,
    publisher: Publisher<'static>,
    provider: Option<ShmProvider>,
    near: Subscriber,
    far: Subscriber,
    sessions: [Session; 3],
    zid: String,
}

impl Stage {
    /// Starts a router with its defaults.
    pub fn open() -> Stage {
        Stage::of(Setup::router())
    }

    /// Starts a router, and waits until honest payloads pass.
    pub fn of(setup: Setup) -> Stage {
        let (router, port) = setup.start(0);
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let client = || Config::client([format!("tcp/{address}")]);
        let open = |config: Config| zonda::open(config).wait().expect("the router is there");
        let plain = client().with("transport/shared_memory/enabled", "false");
        let sessions = [open(client()), open(client()), open(plain)];
        let [from, near, far] = &sessions;
        let subscribe = |session: &Session| session.declare_subscriber(KEY).wait().expect("open");
        let (near, far) = (subscribe(near), subscribe(far));
        let publisher = from.declare_publisher(KEY);
        let publisher = publisher.congestion_control(CongestionControl::Block);
        let zids = from.info().routers_zid().wait();
        let stage = Stage {
            router,
            address,
            publisher: publisher.wait().expect("open"),
            provider: from.shm_provider(4 << 20).ok(),
            near,
            far,
            zid: zids.map(|zid| zid.to_string()).next().expect("a router"),
            sessions,
        };
        until("both subscribers are known", || {
            stage.publisher.put("known").wait().expect("it is sent");
            let has_come = |subscriber: &Subscriber| subscriber.try_recv().expect("open").is_some();
            has_come(&stage.near) && has_come(&stage.far)
        });
        stage
    }

    /// Publishes a payload that receives its number, and returns what the sharing subscriber got.
    #[track_caller]
    fn pass(&self, number: u8, is_loan: bool) -> Sample {
        let bytes = vec![number; SIZE];
        let lent = self.provider.as_ref().filter(|_| is_loan);
        let put = match lent.and_then(|provider| provider.loan(SIZE).ok()) {
            Some(mut loan) => {
                loan.copy_from_slice(&bytes);
                self.publisher.put(loan)
            }
            None => self.publisher.put(bytes),
        };
        put.wait().expect("the router takes it");
        let due = |subscriber: &Subscriber| loop {
            let sample = next(subscriber);
            let payload = sample.payload().to_bytes();
            // what was sent before the attack ended may still come
            if payload.len() == SIZE && payload.iter().all(|byte| *byte == number) {
                break sample;
            }
        };
        let near = due(&self.near);
        due(&self.far);
        near
    }

    /// Asserts that honest payloads pass, to subscribers that share memory and to ones that do not; returns the number of those that the
    /// sharing one got in shared memory, of twenty.
    #[track_caller]
    pub fn honest_pass(&mut self) -> usize {
        static NUMBER: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(1);
        let numbers = 0..20;
        let shared = numbers.filter(|round| {
            let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            self.pass(number.max(1), round % 2 == 0).payload().is_shm()
        });
        let shared = shared.count();
        assert!(self.router.is_running(), "{:#?}", self.router.errors());
        let links = self.sessions.iter().map(|session| session.info().links());
        assert!(
            links.clone().all(|links| links.len() == 1),
            "an honest link was lost"
        );
        shared
    }

    /// Asserts that honest payloads pass and lie in shared memory.
    #[track_caller]
    pub fn is_well(&mut self) {
        assert_eq!(self.honest_pass(), 20, "payloads lie in shared memory");
    }

    /// Waits until honest payloads lie in shared memory again.
    #[track_caller]
    pub fn recovers(&mut self) {
        until("payloads lie in shared memory again", || {
            let shared = self.honest_pass();
            shared == 20
        });
    }

    /// Returns a metric of the router: the sum of the lines that begin with this, a name with or without its labels.
    pub fn metric(&self, name: &str) -> u64 {
        let key = format!("@/{}/router/metrics", self.zid);
        let replies = self.sessions[2].get(&key).wait().expect("it is asked");
        let reply = replies.recv().expect("an answer");
        let sample = reply.result().expect("a value");
        let text = sample.payload().to_bytes();
        let text = String::from_utf8_lossy(&text);
        let found = text.lines().filter_map(|line| line.rsplit_once(' '));
        let found = found.filter(|(known, _)| known.starts_with(name));
        let values = found.map(|(_, value)| value.parse::<u64>().expect("a number"));
        values.sum()
    }

    /// Returns the number of handshakes that ended as malformed.
    pub fn malformed(&self) -> u64 {
        self.metric("zonda_introductions_total{result=\"malformed\"")
    }

    /// Returns the number of payloads and segments that were refused for a reason.
    pub fn refused(&self, reason: &str) -> u64 {
        self.metric(&format!("zonda_shm_refused_total{{reason=\"{reason}\"}}"))
    }

    /// Waits until a metric is as expected.
    #[track_caller]
    pub fn until_metric(&self, name: &str, expected: impl Fn(u64) -> bool) {
        until(name, || {
            std::thread::sleep(Duration::from_millis(20));
            expected(self.metric(name))
        });
    }

    /// Returns the number of lines of the router about payloads that it refuses.
    pub fn lines_about_refused(&self) -> usize {
        let lines = self.router.errors();
        lines.iter().filter(|line| line.contains(REFUSES)).count()
    }

    /// Returns the router's lines.
    pub fn lines(&self) -> Vec<String> {
        self.router.errors()
    }

    /// Returns the router's resident memory in bytes.
    pub fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.router.pid()));
        let status = status.expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let line = line.expect("a line").trim().trim_end_matches(" kB");
        line.parse::<u64>().expect("a number") * 1024
    }

    /// Returns the numbers of the segments that the router maps.
    pub fn mapped(&self) -> Vec<u32> {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.router.pid()));
        let maps = maps.expect("it runs");
        let names = maps.lines().filter_map(|line| line.split_once("/dev/shm/"));
        let numbers = names.filter_map(|(_, name)| name.split_once(".zenoh"));
        numbers
            .filter_map(|(number, _)| number.parse().ok())
            .collect()
    }

    /// Returns a subscriber that shares memory with the router, to `attack/**`.
    pub fn overheard(&self) -> Subscriber {
        self.attacked(&self.sessions[1])
    }

    /// Returns a subscriber that shares no memory with the router, to `attack/**`.
    pub fn overheard_far(&self) -> Subscriber {
        self.attacked(&self.sessions[2])
    }

    fn attacked(&self, session: &Session) -> Subscriber {
        let subscriber = session
            .declare_subscriber("attack/**")
            .wait()
            .expect("open");
        let put = |key: &str| {
            let put = self.sessions[0].put(key, "");
            let put = put.congestion_control(CongestionControl::Block).wait();
            put.expect("it is sent");
        };
        until("it is known", || {
            put("attack/known");
            subscriber.try_recv().expect("open").is_some()
        });
        // the last of what was sent to find out
        put("attack/last");
        while next(&subscriber).key_expr().as_str() != "attack/last" {}
        subscriber
    }

    /// Publishes plain payloads of 5000 bytes from the session without shared memory, on this key.
    pub fn publish_plain(&self, key: &str, count: usize) {
        for number in 0..count {
            let put = self.sessions[2].put(key, vec![number as u8; 5000]);
            let put = put.congestion_control(CongestionControl::Block).wait();
            put.expect("it is sent");
        }
    }

    /// Ends the router by a kill, and returns its segments.
    pub fn killed(self) -> Vec<u32> {
        let mapped = self.mapped();
        self.router.signal("KILL");
        mapped
    }
}
