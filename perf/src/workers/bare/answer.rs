// SPDX-License-Identifier: MIT OR Apache-2.0
//! The answering side of the round trip yardstick.

use std::io::{self, Read, Write};

use super::wire::Wire;
use super::{Side, is_end};

/// Bytes read at a time by the answering side.
const BLOCK: usize = 1 << 20;

/// Sends back every message.
pub fn pong(side: &Side) -> io::Result<()> {
    let mut stream: Wire = side.open_one()?;
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
