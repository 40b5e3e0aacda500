// SPDX-License-Identifier: MIT OR Apache-2.0

//! Figures of the HTTP server: the memory of clients of events, the time that an event takes to
//! each of many clients, and the processor time of an open page. They are measured on request alone, by an
//! optimised build on a quiet machine:
//!
//! ```sh
//! ZONDA_LONG=1 cargo test --release -p zonda-services --test services figures -- --nocapture
//! ```

use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::net::TcpStream;
use tokio::runtime::Builder;
use zonda::bytes::Encoding;
use zonda::{Config, Session, Wait};

use crate::served::{Served, alone_with, started_on};

/// Environment variable that makes a process of [`a_process_of_clients`]: a path of events and an
/// address, or `neighbours` and an endpoint, and a number.
const CLIENTS: &str = "ZONDA_HTTP_CLIENTS";
/// Idle clients whose memory is measured.
const IDLE: usize = 10_000;
/// Clients of the measurement of times, and the events a second that each gets.
const BUSY: usize = 1000;
const EVENTS_PER_SECOND: u32 = 100;
const SECONDS: u32 = 5;
/// Neighbours that an open page shows.
const NEIGHBOURS: usize = 1000;
/// Time for which processor time is measured.
const SPAN: Duration = Duration::from_secs(10);

/// Clients in a process of their own, so that the memory of this one is that of the server.
struct Clients {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    _input: ChildStdin,
}

impl Clients {
    /// Starts clients of events, and waits until all of them have the head of their answer.
    fn of_events(served: &Served, path: &str, count: usize) -> Clients {
        Clients::start(&format!("{path} {} {count}", served.address))
    }

    fn start(what: &str) -> Clients {
        let mut program = Command::new(std::env::current_exe().unwrap());
        let program = program.args(["--exact", "figures::a_process_of_clients", "--nocapture"]);
        let program = program.env(CLIENTS, what);
        let program = program.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = program.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let input = child.stdin.take().unwrap();
        let mut clients = Clients {
            child,
            lines,
            _input: input,
        };
        clients.line("open");
        clients
    }

    /// Returns the rest of the next line that begins with a word.
    fn line(&mut self, word: &str) -> String {
        loop {
            let line = self.lines.next().expect("the clients have ended").unwrap();
            if let Some(rest) = line.strip_prefix(word) {
                return rest.trim().to_owned();
            }
        }
    }

    fn end(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    since.as_micros().try_into().unwrap()
}

/// Returns the times at which the events in a text were published. The rest of the text, which is no
/// whole line, stays.
fn times(text: &mut String) -> Vec<u64> {
    let end = text.rfind('\n').map_or(0, |at| at + 1);
    let whole: String = text.drain(..end).collect();
    let value = |line: &str| {
        let (_, value) = line.split_once("\"value\":")?;
        let digits = value.trim_start_matches('"');
        let end = digits.find(|c: char| !c.is_ascii_digit())?;
        digits[..end].parse().ok()
    };
    let data = whole.lines().filter(|line| line.starts_with("data:"));
    data.filter_map(value).collect()
}

/// Source of events.
#[derive(Clone)]
struct Whence {
    path: String,
    address: SocketAddr,
}

/// Reads the events of one client for good.
async fn read_events(whence: Whence, opened: Arc<Mutex<usize>>, seen: Arc<Mutex<Vec<u64>>>) {
    let stream = TcpStream::connect(whence.address).await.unwrap();
    let path = whence.path;
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n");
    stream.writable().await.unwrap();
    assert_eq!(stream.try_write(request.as_bytes()).unwrap(), request.len());
    let (mut text, mut buffer, mut is_open) = (String::new(), [0; 4096], false);
    loop {
        stream.readable().await.unwrap();
        let length = match stream.try_read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => length,
            Err(_) => continue,
        };
        text.push_str(std::str::from_utf8(&buffer[..length]).unwrap());
        if !is_open && text.contains("\r\n\r\n") {
            assert!(text.starts_with("HTTP/1.1 200 "), "{text}");
            is_open = true;
            *opened.lock().unwrap() += 1;
        }
        let now = now_us();
        let times = times(&mut text);
        let waits = times.iter().map(|published| now.saturating_sub(*published));
        seen.lock().unwrap().extend(waits);
    }
}

/// Prints how long events were under way.
fn report(mut waits: Vec<u64>) {
    waits.sort_unstable();
    let at = |part: usize| waits[(waits.len() * part / 1000).min(waits.len() - 1)];
    let (p50, p99, most) = (at(500), at(990), at(1000));
    println!("waits p50 {p50} us, p99 {p99} us, most {most} us");
}

/// Opens clients of a node, and keeps them.
fn open_neighbours(endpoint: &str, count: usize) {
    let open = |_| {
        let config = Config::client([endpoint]).with("scouting/multicast/enabled", "false");
        zonda::open(config).wait().unwrap()
    };
    let _sessions: Vec<Session> = (0..count).map(open).collect();
    println!("open");
    loop {
        std::thread::park();
    }
}

/// Is a process of clients if it is started as one: they get events until all have come.
#[test]
fn a_process_of_clients() {
    let Ok(what) = std::env::var(CLIENTS) else {
        return;
    };
    let parts: Vec<&str> = what.split(' ').collect();
    let [path, address, count] = parts[..] else {
        panic!("{what}");
    };
    let count = count.parse().unwrap();
    if path == "neighbours" {
        return open_neighbours(address, count);
    }
    let whence = Whence {
        path: path.to_owned(),
        address: address.parse().unwrap(),
    };
    let all = count * (EVENTS_PER_SECOND * SECONDS) as usize;
    let opened = Arc::new(Mutex::new(0));
    let seen = Arc::new(Mutex::new(Vec::with_capacity(all)));
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        // Some hundred at a time, as the server's queue of new connections is short.
        for begun in 1..=count {
            tokio::spawn(read_events(
                whence.clone(),
                Arc::clone(&opened),
                Arc::clone(&seen),
            ));
            while begun - *opened.lock().unwrap() > 200
                || (begun == count && *opened.lock().unwrap() < count)
            {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        println!("open");
        while seen.lock().unwrap().len() < all {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        report(std::mem::take(&mut *seen.lock().unwrap()));
        std::future::pending::<()>().await;
    });
}

fn server() -> Option<Served> {
    std::env::var_os("ZONDA_LONG")?;
    let config = Config::peer()
        .with("services/http/listen", "'127.0.0.1:0'")
        .with("services/http/limits/connections", "12000")
        .with("services/http/limits/event_clients", "12000");
    // The clients have one address, which may have three quarters of the neighbours.
    let session = alone_with("transport/unicast/max_sessions", "2000");
    Some(started_on(&config, session).unwrap())
}

/// Returns the bytes of memory that this process holds.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.unwrap().trim().trim_end_matches(" kB");
    kib.parse::<u64>().unwrap() * 1024
}

#[test]
fn an_idle_client_of_events_takes_little_memory() {
    let Some(served) = server() else {
        return;
    };
    Clients::of_events(&served, "/figures/**", 100).end();
    let before = resident();
    let clients = Clients::of_events(&served, "/figures/**", IDLE);
    let each = (resident() - before) / IDLE as u64;
    println!("{IDLE} idle clients of events take {each} B each");
    assert!(each <= 40 * 1024, "{each} B");
    clients.end();
    served.stop();
}

#[test]
fn each_of_many_clients_gets_each_event() {
    let Some(served) = server() else {
        return;
    };
    let mut clients = Clients::of_events(&served, "/figures/**", BUSY);
    let begin = Instant::now();
    for number in 0..EVENTS_PER_SECOND * SECONDS {
        let due = begin + Duration::from_secs(1) * number / EVENTS_PER_SECOND;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let put = served.session.put("figures/time", now_us().to_string());
        let put = put.encoding(Encoding::TEXT_PLAIN);
        put.wait().unwrap();
    }
    let waits = clients.line("waits");
    println!("{BUSY} clients at {EVENTS_PER_SECOND} events a second: {waits}");
    clients.end();
    served.stop();
}

/// Returns the processor time of this process so far.
fn processor_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    // The name in parentheses may have spaces; hundredths of a second are the fields 14 and 15.
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let hundredths = |at: usize| fields[at].parse::<u64>().unwrap();
    Duration::from_millis((hundredths(11) + hundredths(12)) * 10)
}

/// Returns the part of a processor that this process uses.
fn load() -> f64 {
    let before = processor_time();
    std::thread::sleep(SPAN);
    (processor_time() - before).as_secs_f64() / SPAN.as_secs_f64()
}

#[test]
fn an_open_page_costs_little() {
    let Some(served) = server() else {
        return;
    };
    let endpoint = served.session.info().locators()[0].to_string();
    let neighbours = Clients::start(&format!("neighbours {endpoint} {NEIGHBOURS}"));
    let without = load();
    let page = Clients::of_events(&served, "/@page/updates", 1);
    let with = load();
    println!(
        "{NEIGHBOURS} neighbours: {:.2} % of a processor without a page, {:.2} % with one",
        without * 100.0,
        with * 100.0
    );
    page.end();
    neighbours.end();
    served.stop();
}
