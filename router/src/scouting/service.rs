// SPDX-License-Identifier: MIT OR Apache-2.0

//! The thread that sends SCOUTs and answers them.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mio::net::UdpSocket;
use mio::{Events, Interest, Poll, Token, Waker};
use parking_lot::Mutex;
use zonda_codec::{Encode, Hello, PROTOCOL_VERSION, Reader, Roles, Scout, ScoutingMessage};
use zonda_config::interfaces::{self, Known, host_of, is_meant};

use crate::{
    scouting::{
        news::{News, SETTLE},
        port,
        report::{InterfaceReport, ScoutReport, Use},
    },
    table::scouting::{Asking, Host},
};

/// Maximum number of datagrams read from one socket before the next socket.
const DATAGRAMS_PER_TURN: usize = 64;

/// Maximum length of a datagram.
const DATAGRAM_BYTES_MAX: usize = 65_536;

/// Tokens of the waker and of the sockets. The thread ignores them: it reads all sockets after
/// every wait.
const WAKER: Token = Token(0);
const SOCKET: Token = Token(1);
const NEWS: Token = Token(2);

/// Options of scouting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The group and port.
    pub group: SocketAddr,
    /// Maximum number of IP hops of a datagram.
    pub ttl: u32,
    /// Names or addresses of the interfaces to use; empty for all.
    pub interfaces: Vec<String>,
    /// True if the service reads SCOUTs of other nodes.
    pub listen: bool,
}

/// The owner of a service. The thread `zonda-scout` makes all calls, one at a time.
pub trait ScoutHandler: Send + 'static {
    /// Returns the roles for a SCOUT that is due; `None` stops sending until [`Service::ask`].
    fn asks(&self) -> Option<Roles>;

    /// Receives the answer of a node.
    fn hello(&self, hello: &Hello<'_>, source: SocketAddr);

    /// Returns the answer to a SCOUT of another node, if any.
    fn answer(&self, scout: &Scout, source: SocketAddr, host: &Host) -> Option<Vec<u8>>;

    /// Receives the changed list of interfaces.
    fn host_changed(&self, host: &Host);
}

/// Running scouting. Dropping it ends the thread within milliseconds, without waiting for it.
#[derive(Debug)]
pub struct Service(Arc<Control>);

#[derive(Debug)]
struct Control {
    waker: Waker,
    stops: AtomicBool,
    asks: AtomicBool,
    report: Mutex<ScoutReport>,
}

impl Service {
    /// Starts the thread, which opens the sockets and, if `asks`, sends the first SCOUT at once.
    ///
    /// # Errors
    /// The system has no thread or descriptor left. Faults of an interface are in the
    /// [report](Service::report).
    pub fn start(options: Options, asks: bool, party: impl ScoutHandler) -> io::Result<Service> {
        let poll = Poll::new()?;
        let control = Arc::new(Control {
            waker: Waker::new(poll.registry(), WAKER)?,
            stops: AtomicBool::new(false),
            asks: AtomicBool::new(asks),
            report: Mutex::new(ScoutReport {
                group: options.group,
                interfaces: Vec::new(),
            }),
        });
        // The thread owns the sockets, and opens them when it starts.
        let worker = Worker {
            news: News::open(poll.registry(), NEWS),
            poll,
            control: Arc::clone(&control),
            options,
            party,
            known: Vec::new(),
            host: Host::default(),
            ports: Vec::new(),
            asking: Asking::default(),
            roles: Roles::default(),
            buffer: vec![0; DATAGRAM_BYTES_MAX],
        };
        let thread = std::thread::Builder::new().name("zonda-scout".into());
        thread.spawn(move || worker.run())?;
        Ok(Service(control))
    }

    /// Restarts the sequence of SCOUTs: the first now, further ones with growing pauses.
    pub fn ask(&self) {
        self.0.asks.store(true, Ordering::Release);
        self.0.wake();
    }

    /// Returns the report of the service so far.
    pub fn report(&self) -> ScoutReport {
        self.0.report.lock().clone()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.0.stops.store(true, Ordering::Release);
        self.0.wake();
    }
}

impl Control {
    fn wake(&self) {
        if let Err(error) = self.waker.wake() {
            tracing::warn!("scouting cannot be woken: {error}");
        }
    }
}

/// The sockets of one interface.
struct Port {
    name: String,
    own: IpAddr,
    /// The address and port of its SCOUTs.
    asks_from: Option<SocketAddr>,
    asking: UdpSocket,
    hearing: Option<UdpSocket>,
    report: InterfaceReport,
}

struct Worker<P> {
    poll: Poll,
    news: News,
    control: Arc<Control>,
    options: Options,
    party: P,
    known: Vec<Known>,
    host: Host,
    ports: Vec<Port>,
    asking: Asking,
    /// The roles in the last SCOUT.
    roles: Roles,
    /// Buffer for one datagram.
    buffer: Vec<u8>,
}

impl<P: ScoutHandler> Worker<P> {
    fn run(mut self) {
        let mut events = Events::with_capacity(16);
        self.look(None);
        let mut look_at = Instant::now() + self.news.look_after();
        while !self.control.stops.load(Ordering::Acquire) {
            let now = Instant::now();
            // The owner asked for a new sequence of SCOUTs.
            if self.control.asks.swap(false, Ordering::AcqRel) {
                self.asking.begin(now);
            }
            // Interfaces have changed, or a poll of them is due; a new one restarts the SCOUTs.
            if self.news.take() {
                look_at = look_at.min(now + SETTLE);
            }
            if now >= look_at {
                look_at = now + self.news.look_after();
                if self.look(now.checked_sub(SETTLE)) {
                    self.asking.begin(now);
                }
            }
            if self.asking.is_due(now) {
                self.ask();
            }
            // The thread sleeps until a datagram arrives or the next step is due.
            let is_more = self.read_all();
            let next = self.asking.deadline().into_iter().chain([look_at]);
            let wait = match is_more {
                true => Duration::ZERO,
                false => next
                    .map(|at| at.saturating_duration_since(Instant::now()))
                    .min()
                    .unwrap_or(SETTLE),
            };
            if let Err(error) = self.poll.poll(&mut events, Some(wait))
                && error.kind() != io::ErrorKind::Interrupted
            {
                return tracing::warn!("scouting ends: {error}");
            }
        }
    }

    /// Lists the interfaces, newer than `earliest` or from the cache, and opens and closes sockets
    /// for those that came and went. Returns true if one came.
    fn look(&mut self, earliest: Option<Instant>) -> bool {
        let found = match earliest {
            Some(_) => interfaces::since(earliest),
            None => interfaces::all(),
        };
        let known = match found {
            Ok(known) => known,
            Err(error) => {
                tracing::warn!("no scouting, as the interfaces are unknown: {error}");
                return false;
            }
        };
        if !self.known.is_empty() && self.known == *known {
            return false;
        }
        // Interfaces that are still there keep their sockets; new ones get sockets.
        let mut has_come = false;
        self.known.clone_from(&known);
        self.host = host_of(&known);
        let mut reports = Vec::new();
        let before = std::mem::take(&mut self.ports);
        let mut before: Vec<Option<Port>> = before.into_iter().map(Some).collect();
        for known in &*known {
            let own = match self.fitness(known) {
                Ok(own) => own,
                Err(why) => {
                    reports.push(report_of(known, Use::Skipped(why)));
                    continue;
                }
            };
            let name = &known.interface.name;
            let mut same = before.iter_mut().filter(|port| {
                port.as_ref()
                    .is_some_and(|p| p.name == *name && p.own == own)
            });
            match same.next().and_then(Option::take) {
                Some(port) => self.ports.push(port),
                None => match self.open(known, own) {
                    Ok(port) => {
                        has_come = true;
                        self.ports.push(port);
                    }
                    Err(why) => reports.push(report_of(known, Use::Skipped(why))),
                },
            }
        }
        // Configured names without an interface, and the used interfaces, complete the report.
        for name in self.missing() {
            let why = Use::Skipped("there is no such interface".to_owned());
            reports.push(InterfaceReport::new(&name, Vec::new(), why));
        }
        reports.extend(self.ports.iter().map(|port| port.report.clone()));
        self.complain(&reports);
        self.control.report.lock().interfaces = reports;
        self.party.host_changed(&self.host);
        has_come
    }

    /// Returns the address by which an interface is used, or the reason why it is not.
    fn fitness(&self, known: &Known) -> Result<IpAddr, String> {
        let Known {
            interface,
            is_up,
            has_multicast,
        } = known;
        let wanted = &self.options.interfaces;
        let is_named = wanted.iter().any(|name| is_meant(name, known));
        let own = port::own_address(interface, self.options.group);
        match own {
            _ if !wanted.is_empty() && !is_named => {
                Err("not chosen (scouting/multicast/interface)".to_owned())
            }
            _ if !is_up => Err("it is down".to_owned()),
            None if self.options.group.is_ipv4() => Err("it has no IPv4 address".to_owned()),
            None => Err("it has no IPv6 address".to_owned()),
            _ if !is_named && !has_multicast && !interface.is_loopback => {
                Err("it has no multicast".to_owned())
            }
            Some(own) => Ok(own),
        }
    }

    fn open(&self, known: &Known, own: IpAddr) -> Result<Port, String> {
        let interface = &known.interface;
        let registry = self.poll.registry();
        // The socket for SCOUTs is required; one that receives the group's datagrams is not.
        let Options { group, ttl, .. } = self.options;
        let mut asking = port::asking(interface, own, group, ttl).map_err(|e| e.to_string())?;
        let registered = registry.register(&mut asking, SOCKET, Interest::READABLE);
        registered.map_err(|e| e.to_string())?;
        let mut report = report_of(known, Use::Used);
        let mut hearing = None;
        if self.options.listen {
            match port::hearing(interface, own, group) {
                Ok(mut socket) => {
                    let registered = registry.register(&mut socket, SOCKET, Interest::READABLE);
                    registered.map_err(|e| e.to_string())?;
                    hearing = Some(socket);
                }
                Err(trouble) => report.usage = Use::Deaf(trouble.to_string()),
            }
        }
        Ok(Port {
            name: interface.name.clone(),
            own,
            asks_from: asking.local_addr().ok(),
            asking,
            hearing,
            report,
        })
    }

    /// Returns the configured names that match no interface.
    fn missing(&self) -> Vec<String> {
        let wanted = self.options.interfaces.iter();
        let is_missing = |name: &&String| !self.known.iter().any(|known| is_meant(name, known));
        wanted.filter(is_missing).cloned().collect()
    }

    /// Logs each failure of an interface once, and nothing about interfaces that are skipped as
    /// usual.
    fn complain(&self, reports: &[InterfaceReport]) {
        let said = self.control.report.lock().interfaces.clone();
        for report in reports {
            let (Use::Deaf(why) | Use::Skipped(why)) = &report.usage else {
                continue;
            };
            let is_new = !said
                .iter()
                .any(|r| r.name == report.name && r.usage == report.usage);
            let is_chosen = !self.options.interfaces.is_empty() && !why.starts_with("not chosen");
            let is_failure = why.starts_with("cannot");
            if is_new && (is_chosen || is_failure) {
                tracing::warn!("no scouting on {}: {why}", report.name);
            }
        }
    }

    fn ask(&mut self) {
        let Some(roles) = self.party.asks() else {
            return self.asking.stop();
        };
        self.roles = roles;
        let scout = Scout {
            version: PROTOCOL_VERSION,
            what: roles,
            zid: None,
        };
        let Ok(bytes) = scout.to_vec() else {
            return;
        };
        let group = self.options.group;
        for port in &mut self.ports {
            port.report.asked += 1;
            port.send(&bytes, group);
        }
        self.publish();
    }

    /// Reads datagrams of all sockets, a bounded number from each; returns true if there may be
    /// more.
    fn read_all(&mut self) -> bool {
        let (mut is_more, mut has_news) = (false, false);
        let mut buffer = std::mem::take(&mut self.buffer);
        for index in 0..self.ports.len() {
            for hears in [false, true] {
                let mut read = 0;
                while let Some((len, source)) = self.receive(index, hears, &mut buffer) {
                    has_news = true;
                    read += 1;
                    let datagram = buffer.get(..len).unwrap_or(&[]);
                    self.handle(index, hears, datagram, source);
                    if read >= DATAGRAMS_PER_TURN {
                        is_more = true;
                        break;
                    }
                }
            }
        }
        self.buffer = buffer;
        if has_news {
            self.publish();
        }
        is_more
    }

    fn receive(&self, index: usize, hears: bool, buffer: &mut [u8]) -> Option<(usize, SocketAddr)> {
        let port = self.ports.get(index)?;
        let socket = match hears {
            true => port.hearing.as_ref()?,
            false => &port.asking,
        };
        loop {
            match socket.recv_from(buffer) {
                // Each answer to a closed port comes back as an error.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                received => return received.ok(),
            }
        }
    }

    fn handle(&mut self, index: usize, hears: bool, datagram: &[u8], source: SocketAddr) {
        let is_own = self.ports.iter().any(|p| p.asks_from == Some(source));
        let Some(port) = self.ports.get_mut(index) else {
            return;
        };
        match ScoutingMessage::decode(&mut Reader::new(datagram)) {
            Ok(ScoutingMessage::Hello(hello)) if !hears => {
                if self.roles.contains(hello.whatami) {
                    port.report.answers += 1;
                    self.party.hello(&hello, source);
                }
            }
            Ok(ScoutingMessage::Scout(scout)) if hears && !is_own => {
                port.report.heard += 1;
                if let Some(answer) = self.party.answer(&scout, source, &self.host) {
                    port.report.answered += 1;
                    port.send(&answer, source);
                }
            }
            Ok(_) => {}
            Err(_) => port.report.malformed += 1,
        }
    }

    /// Copies the counters into the public report.
    fn publish(&self) {
        let mut report = self.control.report.lock();
        for port in &self.ports {
            let mut same = report.interfaces.iter_mut().filter(|r| r.name == port.name);
            if let Some(shown) = same.next() {
                shown.clone_from(&port.report);
            }
        }
    }
}

impl Port {
    /// Sends a datagram; a failure is counted, and the datagram is lost.
    fn send(&mut self, bytes: &[u8], to: SocketAddr) {
        if let Err(error) = self.asking.send_to(bytes, to) {
            self.report.failed += 1;
            self.report.last_failure = Some(error.to_string());
        }
    }
}

fn report_of(known: &Known, usage: Use) -> InterfaceReport {
    let addresses = known.interface.addresses.iter().map(|a| a.ip).collect();
    InterfaceReport::new(&known.interface.name, addresses, usage)
}
