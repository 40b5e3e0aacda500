// SPDX-License-Identifier: MIT OR Apache-2.0
//! Receiving side of one connection: bytes in, requests out. It is independent of runtime and
//! socket.

use super::budget::{Body, Share};
use super::chunks::{Chunks, Progress};
use super::head::{Framing, Head};
use super::{Answer, Limits};

pub use super::head::Target;

/// A whole request.
#[derive(Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// Resource that it is about.
    pub target: Target,
    /// Content of the request.
    pub body: &'a [u8],
    /// Type of the body, as the client sent it.
    pub content_type: Option<&'a str>,
    /// True if the connection ends with the answer.
    pub last: bool,
}

/// Next step of a connection.
#[derive(Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// No step before more bytes arrive.
    More,
    /// The client waits for `100 Continue` before it sends the body.
    Continue,
    /// A request.
    Request(Request<'a>),
    /// Bytes whose meaning a server must not guess: the answer, which is the connection's last.
    Refuse(Answer),
}

#[derive(Debug)]
enum State {
    /// Before a request, or in its head.
    Head,
    /// In a body of which this many bytes are to come.
    Length(Head, Body, usize),
    /// In a chunked body.
    Chunked(Head, Body, Chunks),
    /// Returned to the caller; its memory is released by the next step.
    GivenOut(Head, Body),
    /// After the last request.
    Ended,
}

/// Receiving side of one connection.
///
/// ```
/// use zonda_kafka::http::{Budget, Limits, Machine, Step};
/// use zonda_transport::link::AddressGroup;
///
/// let mut machine = Machine::new(Limits::default(), Budget::new(1 << 20).share(AddressGroup::THIS_MACHINE));
/// let bytes = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi";
/// let (used, step) = machine.step(bytes);
/// assert_eq!(used, bytes.len());
/// assert!(matches!(step, Step::Request(request) if request.body == b"hi"));
/// ```
#[derive(Debug)]
pub struct Machine {
    limits: Limits,
    /// Memory share of the bodies.
    share: Share,
    state: State,
    /// Bytes of an unfinished head that were parsed: it is parsed again only when a line of it has
    /// ended since.
    seen: usize,
    /// The head of a request whose body was in the input as a whole.
    at_once: Option<Head>,
}

impl Machine {
    /// Creates a machine before the first byte of a connection.
    pub fn new(limits: Limits, share: Share) -> Machine {
        Machine {
            limits,
            share,
            state: State::Head,
            seen: 0,
            at_once: None,
        }
    }

    /// Returns true if a request has begun that is not whole.
    pub fn is_within(&self) -> bool {
        self.seen > 0 || matches!(self.state, State::Length(..) | State::Chunked(..))
    }

    /// Processes `input`, which begins with the first byte that was not taken yet; returns how many
    /// bytes were taken, and the resulting step. Call it again with the rest until it returns
    /// [`Step::More`].
    pub fn step<'a>(&'a mut self, input: &'a [u8]) -> (usize, Step<'a>) {
        if let State::GivenOut(head, _) = &self.state {
            self.state = match head.last {
                true => State::Ended,
                false => State::Head,
            };
        }
        match self.state {
            State::Head => self.head(input),
            State::Length(..) | State::Chunked(..) => self.body(input, 0),
            State::GivenOut(..) | State::Ended => (input.len(), Step::More),
        }
    }

    fn refuse<'a>(&mut self, used: usize, answer: Answer) -> (usize, Step<'a>) {
        self.state = State::Ended;
        self.seen = 0;
        (used, Step::Refuse(answer))
    }

    fn head<'a>(&'a mut self, input: &'a [u8]) -> (usize, Step<'a>) {
        // A head is parsed again only once a line of it has ended, or when it reaches its limit.
        let unseen = &input[self.seen.min(input.len())..];
        let is_worth_it = self.seen == 0 || unseen.contains(&b'\n');
        if input.is_empty() || !(is_worth_it || input.len() >= self.limits.head_bytes) {
            return (0, Step::More);
        }
        let (bytes, head) = match Head::read(input, &self.limits) {
            Ok(Some(read)) => read,
            Ok(None) => {
                self.seen = input.len();
                return (0, Step::More);
            }
            Err(answer) => return self.refuse(input.len(), answer),
        };
        // The head is whole.
        self.seen = 0;
        let behind = &input[bytes..];
        // A body that is whole in the input is borrowed; another one is collected across calls.
        match head.framing {
            Framing::Length(length) if length <= behind.len() => {
                if head.last {
                    self.state = State::Ended;
                }
                let head = self.at_once.insert(head);
                let request = request(head, &behind[..length]);
                return (bytes + length, Step::Request(request));
            }
            Framing::Length(length) => {
                let expects = head.expects && behind.is_empty();
                self.state = State::Length(head, Body::new(&self.share), length);
                if expects {
                    return (bytes, Step::Continue);
                }
            }
            Framing::Chunked => {
                let expects = head.expects && behind.is_empty();
                self.state = State::Chunked(head, Body::new(&self.share), Chunks::new());
                if expects {
                    return (bytes, Step::Continue);
                }
            }
        }
        self.body(input, bytes)
    }

    /// Continues with a body, from `from` on.
    fn body<'a>(&'a mut self, input: &'a [u8], from: usize) -> (usize, Step<'a>) {
        let rest = &input[from..];
        let taken = match &mut self.state {
            State::Length(_, body, left) => {
                let part = &rest[..rest.len().min(*left)];
                *left -= part.len();
                let progress = match *left {
                    0 => Progress::Done,
                    _ => Progress::More,
                };
                match body.append(part) {
                    true => Ok((part.len(), progress)),
                    false => Err(Answer::Busy),
                }
            }
            State::Chunked(_, body, chunks) => chunks.take(rest, body, self.limits.body_bytes),
            State::Head | State::GivenOut(..) | State::Ended => Ok((0, Progress::More)),
        };
        match taken {
            Ok((used, Progress::More)) => (from + used, Step::More),
            Ok((used, Progress::Done)) => self.give_out(from + used),
            Err(answer) => self.refuse(input.len(), answer),
        }
    }

    fn give_out<'a>(&'a mut self, used: usize) -> (usize, Step<'a>) {
        self.state = match std::mem::replace(&mut self.state, State::Ended) {
            State::Length(head, body, _) | State::Chunked(head, body, _) => {
                State::GivenOut(head, body)
            }
            other => other,
        };
        match &self.state {
            State::GivenOut(head, body) => (used, Step::Request(request(head, body.bytes()))),
            _ => (used, Step::More),
        }
    }
}

fn request<'a>(head: &'a Head, body: &'a [u8]) -> Request<'a> {
    Request {
        target: head.target,
        body,
        content_type: head.content_type.as_deref(),
        last: head.last,
    }
}

#[cfg(test)]
mod tests;
