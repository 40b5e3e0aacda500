// SPDX-License-Identifier: MIT OR Apache-2.0
//! The yardstick of one way: both ends of a connection on one thread, which sends a message and
//! then reads it.

use std::io::{self, Read, Write};
use std::thread;
use std::time::Instant;

use clap::Args;

use super::framing::header;
use super::wire::{LinkMaterial, Place};
use crate::workers::closed_loop::{OneWayMessage, go_one_way};
use crate::workers::timing::Timing;

/// Flags of the worker.
#[derive(Args, Clone, Debug)]
pub struct OneWay {
    /// Payload of a message in bytes
    size: usize,
    /// Address to listen on; port 0 chooses a free one
    #[arg(long, value_name = "ENDPOINT")]
    listen: Place,
    /// Without any framing
    #[arg(long)]
    stream: bool,
    #[command(flatten)]
    means: LinkMaterial,
    #[command(flatten)]
    timing: Timing,
}

/// Measures, and prints the result.
pub fn measure(options: &OneWay) -> io::Result<()> {
    let means = options.means.clone();
    let listener = means.listen(&options.listen)?;
    let to = listener.place()?;
    // a handshake needs two threads
    let sender = thread::spawn(move || means.connect(&to));
    let mut receiver = listener.accept()?;
    let sender = sender.join();
    let mut sender = sender.unwrap_or_else(|_| Err(io::ErrorKind::NotConnected.into()))?;
    // the link's own messages need no header
    let has_own_messages = options.listen.link.batch().is_some();
    let head = match options.stream || has_own_messages {
        true => Vec::new(),
        false => header(options.size)?.to_vec(),
    };
    let message = [head, vec![7; options.size]].concat();
    let mut came = vec![0; message.len()];
    // measure
    let report = go_one_way(&options.timing, || {
        let sent = Instant::now();
        sender.write_all(&message)?;
        receiver.read_exact(&mut came)?;
        Ok::<_, io::Error>(OneWayMessage {
            sent,
            came: Some(Instant::now()),
        })
    })?;
    report.hand_over();
    Ok(())
}
