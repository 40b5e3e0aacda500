// SPDX-License-Identifier: MIT OR Apache-2.0
//! Client of the measurement: a blocking socket, a request at a time.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Time limit for an answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Buffer size, more than any answer with its head.
const ANSWER: usize = 4096;

/// A connection to a server.
pub struct Client {
    stream: TcpStream,
    answer: Vec<u8>,
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// As the system has them; `AddrNotAvailable` when no port is left.
    ///
    /// # Blocking
    /// Until the server's system has taken the connection.
    pub fn connect(address: SocketAddr) -> io::Result<Client> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Client {
            stream,
            answer: vec![0; ANSWER],
        })
    }

    /// Sends a request and returns the status of its answer.
    ///
    /// # Errors
    /// The connection ended, no answer came within 30 s, or it is none of HTTP/1.1.
    ///
    /// # Blocking
    /// Until the answer is there.
    pub fn request(&mut self, request: &[u8]) -> io::Result<u16> {
        self.stream.write_all(request)?;
        let mut filled = 0;
        loop {
            let read = self.stream.read(&mut self.answer[filled..])?;
            if read == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            filled += read;
            if let Some((status, bytes)) = whole(&self.answer[..filled])? {
                return match bytes == filled {
                    true => Ok(status),
                    false => Err(nonsense("more than one answer")),
                };
            }
        }
    }

    /// Waits for the server to end the connection, so that the port of the client is free at once.
    ///
    /// # Errors
    /// It sends something more, or does not end the connection within 30 s.
    ///
    /// # Blocking
    /// Until the server has.
    pub fn await_end(mut self) -> io::Result<()> {
        match self.stream.read(&mut self.answer)? {
            0 => Ok(()),
            _ => Err(nonsense("more than one answer")),
        }
    }
}

/// Returns a request that publishes `body`; `is_last` requests the end of the connection behind it.
pub fn post(body: &[u8], is_last: bool) -> Vec<u8> {
    let connection = if is_last { "Connection: close\r\n" } else { "" };
    let length = body.len();
    let head =
        format!("POST / HTTP/1.1\r\nHost: perf\r\n{connection}Content-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// Returns status and length of an answer if it is whole.
fn whole(bytes: &[u8]) -> io::Result<Option<(u16, usize)>> {
    let Some(head) = bytes.windows(4).position(|part| part == b"\r\n\r\n") else {
        return match bytes.len() < ANSWER {
            true => Ok(None),
            false => Err(nonsense("an answer without end")),
        };
    };
    let text = std::str::from_utf8(&bytes[..head]).map_err(|_| nonsense("no text"))?;
    let status = text.get(9..12).and_then(|code| code.parse().ok());
    let status = status.ok_or_else(|| nonsense("no status"))?;
    let mut lengths = text
        .lines()
        .filter_map(|line| line.strip_prefix("Content-Length: "));
    let body: usize = match lengths.next() {
        Some(length) => length.parse().map_err(|_| nonsense("no length"))?,
        None => 0,
    };
    let all = head + 4 + body;
    Ok((bytes.len() >= all).then_some((status, all)))
}

fn nonsense(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("the server sent {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_with_its_body() {
        let answer = b"HTTP/1.1 503 Busy\r\nContent-Length: 3\r\n\r\nabc";
        for cut in 0..answer.len() {
            assert!(matches!(whole(&answer[..cut]), Ok(None)), "{cut}");
        }
        assert_eq!(whole(answer).expect("an answer"), Some((503, answer.len())));
        assert!(whole(b"garbage that is none\r\n\r\n").is_err());
    }
}
