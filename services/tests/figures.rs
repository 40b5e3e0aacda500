// SPDX-License-Identifier: MIT OR Apache-2.0

//! Figures of the HTTP server: the memory of clients of events, the time that an event takes to
//! each of many clients, and the rate of requests. They are measured on request alone, by an
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
use zonda::{Config, Wait};

use crate::served::{Served, started};

/// Environment variable that makes a process of [`a_process_of_clients`]: an address and a number.
const CLIENTS: &str = "ZONDA_HTTP_CLIENTS";
/// Idle clients whose memory is measured.
const IDLE: usize = 10_000;
/// Clients of the measurement of times, and the events a second that each gets.
const BUSY: usize = 1000;
const EVENTS_PER_SECOND: u32 = 100;
const SECONDS: u32 = 5;

/// Clients in a process of their own, so that the memory of this one is that of the server.
struct Clients {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    _input: ChildStdin,
}

impl Clients {
    /// Starts them, and waits until all of them have the head of their answer.
    fn start(served: &Served, count: usize) -> Clients {
        let mut program = Command::new(std::env::current_exe().unwrap());
        let program = program.args(["--exact", "figures::a_process_of_clients", "--nocapture"]);
        let program = program.env(CLIENTS, format!("{} {count}", served.address));
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

/// Reads the events of one client for good.
async fn read_events(address: SocketAddr, opened: Arc<Mutex<usize>>, seen: Arc<Mutex<Vec<u64>>>) {
    let stream = TcpStream::connect(address).await.unwrap();
    let request =
        "GET /figures/** HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n";
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

/// Is a process of clients if it is started as one: they get events until all have come.
#[test]
fn a_process_of_clients() {
    let Ok(what) = std::env::var(CLIENTS) else {
        return;
    };
    let (address, count) = what.split_once(' ').unwrap();
    let (address, count): (SocketAddr, usize) = (address.parse().unwrap(), count.parse().unwrap());
    let all = count * (EVENTS_PER_SECOND * SECONDS) as usize;
    let opened = Arc::new(Mutex::new(0));
    let seen = Arc::new(Mutex::new(Vec::with_capacity(all)));
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        // Some hundred at a time, as the server's queue of new connections is short.
        for begun in 1..=count {
            tokio::spawn(read_events(address, Arc::clone(&opened), Arc::clone(&seen)));
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
    Some(started(&config).unwrap())
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
    Clients::start(&served, 100).end();
    let before = resident();
    let clients = Clients::start(&served, IDLE);
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
    let mut clients = Clients::start(&served, BUSY);
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
