// SPDX-License-Identifier: MIT OR Apache-2.0
//! The yardstick of a round trip: write a message, read it back.

use std::io::{self, Read, Write};

use super::{Side, is_end};
use crate::round_trips::{Pace, measure};

/// Bytes read at a time by the answering side.
const BLOCK: usize = 1 << 20;

/// Sends `size` bytes at a time and waits for their return.
pub fn ping(side: &Side, size: usize, pace: &Pace) -> io::Result<()> {
    let mut stream = side.open()?;
    let message = vec![1; size];
    let mut answer = message.clone();
    measure(pace, || {
        stream.write_all(&message)?;
        stream.read_exact(&mut answer)
    })
}

/// Sends back whatever comes.
pub fn pong(side: &Side) -> io::Result<()> {
    let mut stream = side.open()?;
    let mut block = vec![0; BLOCK];
    loop {
        let n = match stream.read(&mut block) {
            Ok(0) => return Ok(()),
            Ok(n) => n,
            Err(e) if is_end(&e) => return Ok(()),
            Err(e) => return Err(e),
        };
        match stream.write_all(&block[..n]) {
            Err(e) if is_end(&e) => return Ok(()),
            other => other?,
        }
    }
}
