// SPDX-License-Identifier: MIT OR Apache-2.0
//! The yardstick of throughput for any number of senders and receivers, with the messages of
//! [`framing`](super::framing). Every sender has a separate connection to every receiver, so that a
//! message is never cut; through the relay a receiver has one connection for each sender, and the
//! relay copies the bytes of a sender to its connection of every receiver.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use clap::Args;

use super::framing::{Outgoing, Window};
use super::relay::copy;
use super::wire::{LinkMaterial, Place, Wire};
use super::{Side, announce, is_end};
use crate::workers::reporter::{Arrived, Reporter};
use crate::workers::timing::Pacer;

/// Flags of the receiver.
#[derive(Args, Clone, Debug)]
pub struct Subscribe {
    /// Payload of a message in bytes
    size: usize,
    /// Number of connections, one for each sender
    #[arg(long, value_name = "N", default_value_t = 1)]
    links: u16,
    /// Milliseconds between two counts
    #[arg(long, value_name = "MS", default_value_t = 10)]
    period: u64,
    /// A stream of bytes without any framing, of which each SIZE count as a message
    #[arg(long)]
    stream: bool,
    #[command(flatten)]
    side: Side,
}

/// Flags of the sender.
#[derive(Args, Clone, Debug)]
pub struct Publish {
    /// Payload of a message in bytes
    size: usize,
    /// Connect to this endpoint (repeatable)
    #[arg(long, value_name = "ENDPOINT", required = true)]
    connect: Vec<Place>,
    /// A stream of bytes without any framing, written SIZE at a time
    #[arg(long)]
    stream: bool,
    /// Messages per second, each written alone [default: as many as the link takes]
    #[arg(long, value_name = "N")]
    pace: Option<u32>,
    #[command(flatten)]
    means: LinkMaterial,
}

/// Sends messages to every address until one of the receivers leaves.
pub fn publish(options: &Publish) -> io::Result<()> {
    let connect = |to| options.means.connect(to);
    let wires = options.connect.iter().map(connect);
    let mut wires = wires.collect::<io::Result<Vec<_>>>()?;
    announce(&[])?;
    let batch = options.connect.iter().find_map(|to| to.link.batch());
    // at a pace, no message waits for another one
    let batch = options.pace.map_or(batch, |_| Some(0));
    let mut outgoing = Outgoing::new(options.size, batch)?;
    let mut pacer = Pacer::new(options.pace);
    let plain = options.stream.then(|| vec![7; options.size]);
    loop {
        pacer.wait();
        outgoing.fill();
        for wire in &mut wires {
            let written = match &plain {
                Some(bytes) => wire.write_all(bytes),
                None => outgoing.write_to(wire),
            };
            match written {
                Err(e) if is_end(&e) => return Ok(()),
                other => other?,
            }
        }
    }
}

/// Counts messages until the senders leave.
pub fn subscribe(options: &Subscribe) -> io::Result<()> {
    let wires = options.side.open(options.links)?;
    let counters: Arc<[Counter]> = wires.iter().map(|_| Counter::default()).collect();
    let counted = Arc::clone(&counters);
    let period = Duration::from_millis(options.period);
    let arrived = Reporter::start(options.size, period, move || sum(&counted));
    let size = options.stream.then_some(options.size);
    let threads: Vec<_> = wires
        // one thread for each connection
        .into_iter()
        .enumerate()
        .map(|(at, wire)| {
            let (counters, arrived) = (Arc::clone(&counters), arrived.clone());
            thread::spawn(move || match size {
                Some(size) => count_bytes(wire, &counters[at], size),
                None => count(wire, &counters, at, &arrived),
            })
        })
        .collect();
    for thread in threads {
        // a thread that panicked has reported it
        thread.join().unwrap_or(Ok(()))?;
    }
    Ok(())
}

/// The message count of one connection, alone on its cache lines.
#[derive(Default)]
#[repr(align(128))]
struct Counter(AtomicU64);

fn sum(counters: &[Counter]) -> u64 {
    counters.iter().map(|c| c.0.load(Relaxed)).sum()
}

/// Counts the bytes of a stream in messages of `size` bytes.
fn count_bytes(mut wire: Wire, counter: &Counter, size: usize) -> io::Result<()> {
    let (mut block, mut bytes) = (vec![0; size], 0);
    loop {
        match wire.read(&mut block) {
            Ok(0) => return Ok(()),
            Ok(n) => bytes += n,
            Err(e) if is_end(&e) => return Ok(()),
            Err(e) => return Err(e),
        }
        counter.0.store((bytes / size) as u64, Relaxed);
    }
}

fn count(mut wire: Wire, counters: &[Counter], at: usize, arrived: &Arrived) -> io::Result<()> {
    let mut window = Window::new();
    let mut total = 0;
    loop {
        match wire.read(window.room()) {
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

/// Flags of the relay.
#[derive(Args, Clone, Debug)]
pub struct Forward {
    /// Address to which the senders connect
    place: Place,
    /// Number of senders
    #[arg(long, value_name = "N", default_value_t = 1)]
    senders: u16,
    /// Number of receivers
    #[arg(long, value_name = "N", default_value_t = 1)]
    receivers: u16,
    #[command(flatten)]
    means: LinkMaterial,
}

/// Listens on a place for the senders (front) and on a second one of the same kind for the
/// receivers (back), and copies the bytes of each sender to every receiver. Receivers connect one
/// after another, each once for every sender.
pub fn forward(options: &Forward) -> io::Result<()> {
    let front = options.means.listen(&options.place)?;
    let back = options.means.listen(&options.place.beside())?;
    announce(&[&front, &back])?;
    let mut of_sender: Vec<Vec<Wire>> = (0..options.senders).map(|_| Vec::new()).collect();
    for _ in 0..options.receivers {
        for outgoing in &mut of_sender {
            outgoing.push(back.accept()?);
        }
    }
    let threads: Vec<_> = of_sender
        .into_iter()
        .map(|outgoing| {
            let incoming = front.accept()?;
            Ok(thread::spawn(move || copy(incoming, outgoing)))
        })
        .collect::<io::Result<_>>()?;
    for thread in threads {
        // a thread that panicked has reported it
        thread.join().unwrap_or(Ok(()))?;
    }
    Ok(())
}
