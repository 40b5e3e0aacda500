// SPDX-License-Identifier: MIT OR Apache-2.0
//! The yardstick of throughput for any number of senders and receivers, with the messages of [`framing`](super::framing).
//! Every sender reaches every receiver by a connection of its own, so that a message is never cut; through the relay a
//! receiver has one connection for each sender, and the relay copies the bytes of a sender to its connection of every
//! receiver.

use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use clap::Args;

use super::framing::{Outgoing, Window};
use super::relay::copy;
use super::{Side, announce, is_end};
use crate::workers::reporter::{Arrived, Reporter};

/// Flags of the receiver.
#[derive(Args, Clone, Debug)]
pub struct Subscribe {
    /// Payload of a message in bytes
    size: usize,
    /// How many connections there are, one for each sender
    #[arg(long, value_name = "N", default_value_t = 1)]
    links: u16,
    /// Milliseconds between two counts
    #[arg(long, value_name = "MS", default_value_t = 10)]
    period: u64,
    #[command(flatten)]
    side: Side,
}

/// Sends messages of `size` bytes to every address until one of them leaves.
pub fn publish(size: usize, addresses: &[SocketAddr]) -> io::Result<()> {
    let mut streams = addresses
        .iter()
        .map(TcpStream::connect)
        .collect::<io::Result<Vec<_>>>()?;
    announce(&[])?;
    for stream in &streams {
        stream.set_nodelay(true)?;
    }
    let mut outgoing = Outgoing::new(size)?;
    loop {
        outgoing.fill();
        for stream in &mut streams {
            match outgoing.write_to(stream) {
                Err(e) if is_end(&e) => return Ok(()),
                other => other?,
            }
        }
    }
}

/// Counts messages until the senders leave.
pub fn subscribe(options: &Subscribe) -> io::Result<()> {
    let streams = options.side.open(options.links)?;
    let counters: Arc<[Counter]> = streams.iter().map(|_| Counter::default()).collect();
    let counted = Arc::clone(&counters);
    let period = Duration::from_millis(options.period);
    let arrived = Reporter::start(options.size, period, move || sum(&counted));
    let threads: Vec<_> = streams
        .into_iter()
        .enumerate()
        .map(|(at, stream)| {
            let (counters, arrived) = (Arc::clone(&counters), arrived.clone());
            thread::spawn(move || count(stream, &counters, at, &arrived))
        })
        .collect();
    for thread in threads {
        // a thread that panicked has said so itself
        thread.join().unwrap_or(Ok(()))?;
    }
    Ok(())
}

/// Messages of one connection, alone on its cache lines.
#[derive(Default)]
#[repr(align(128))]
struct Counter(AtomicU64);

fn sum(counters: &[Counter]) -> u64 {
    counters.iter().map(|c| c.0.load(Relaxed)).sum()
}

fn count(
    mut stream: TcpStream,
    counters: &[Counter],
    at: usize,
    arrived: &Arrived,
) -> io::Result<()> {
    let mut window = Window::new();
    let mut total = 0;
    loop {
        match stream.read(window.room()) {
            Ok(0) => return Ok(()),
            Ok(n) => window.filled(n),
            Err(e) if is_end(&e) => return Ok(()),
            Err(e) => return Err(e),
        }
        let messages = window.look_through();
        if messages == 0 {
            continue;
        }
        total += messages;
        if let Some(own) = counters.get(at) {
            own.0.store(total, Relaxed);
        }
        if let Some(arrived) = arrived {
            arrived.arrived(|| sum(counters));
        }
    }
}

/// Listens twice on `address`, for the senders (front) and for the receivers (back), and copies what
/// comes from each sender to every receiver. Receivers connect one after another, each once for every
/// sender.
pub fn forward(address: SocketAddr, senders: u16, receivers: u16) -> io::Result<()> {
    let front = TcpListener::bind(address)?;
    let back = TcpListener::bind(SocketAddr::new(address.ip(), 0))?;
    announce(&[&front, &back])?;
    let accept = |listener: &TcpListener| {
        let stream = listener.accept()?.0;
        stream.set_nodelay(true)?;
        Ok::<_, io::Error>(stream)
    };
    let mut of_sender: Vec<Vec<TcpStream>> = (0..senders).map(|_| Vec::new()).collect();
    for _ in 0..receivers {
        for outgoing in &mut of_sender {
            outgoing.push(accept(&back)?);
        }
    }
    let threads: Vec<_> = of_sender
        .into_iter()
        .map(|outgoing| {
            let incoming = accept(&front)?;
            Ok(thread::spawn(move || copy(incoming, outgoing)))
        })
        .collect::<io::Result<_>>()?;
    for thread in threads {
        // a thread that panicked has said so itself
        thread.join().unwrap_or(Ok(()))?;
    }
    Ok(())
}
