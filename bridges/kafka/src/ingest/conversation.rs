// SPDX-License-Identifier: MIT OR Apache-2.0
//! State of one connection without its socket: bytes in, answers out, in the order of the requests.
//! All runtimes share it.

use std::collections::VecDeque;
use std::sync::Arc;

use zonda_transport::link::AddressGroup;

use super::service::Service;
use crate::http::{Answer, Machine, Step};
use crate::producer::Delivery;
use crate::sink::Offer;

/// Maximum bytes of waiting answers for which another request for the counters is served.
const METRICS_MAX: usize = 16 * 1024;

/// Maximum memory for answers that a connection keeps.
const KEPT_MAX: usize = 16 * 1024;

/// An answer that waits for earlier answers.
enum Later {
    /// The broker decides.
    Undecided(Delivery, bool),
    /// A known answer.
    Decided(Answer, bool),
    /// A whole response with a body.
    Bytes(Vec<u8>),
}

/// Requests and answers of one connection.
pub struct Conversation {
    machine: Machine,
    service: Arc<Service>,
    out: Vec<u8>,
    later: VecDeque<Later>,
    ended: bool,
    /// The client has requested the end, and sends nothing more.
    is_agreed: bool,
}

impl Conversation {
    /// Creates a conversation with a client at one of these addresses, before the first byte.
    pub fn new(service: &Arc<Service>, group: AddressGroup) -> Conversation {
        Conversation {
            machine: Machine::new(service.limits, service.bodies.share(group)),
            service: Arc::clone(service),
            out: Vec::new(),
            later: VecDeque::new(),
            ended: false,
            is_agreed: false,
        }
    }

    /// Processes the bytes that arrived, from the first byte that was not taken yet; returns how
    /// many bytes it took. Bytes behind the last request of the connection are not taken.
    pub fn take(&mut self, input: &[u8]) -> usize {
        let mut used = 0;
        while !self.ended {
            // The next step of the parser decides about an answer.
            let (bytes, step) = self.machine.step(&input[used..]);
            used += bytes;
            let (answer, last) = match step {
                Step::More => return used,
                Step::Continue => {
                    self.push(Later::Bytes(b"HTTP/1.1 100 Continue\r\n\r\n".to_vec()));
                    continue;
                }
                Step::Request(request) => {
                    let last = request.last || self.service.is_stopping();
                    let taken = self.service.take(&request);
                    (self.ended, self.is_agreed) = (last, request.last);
                    match taken {
                        Some(Offer::Now(answer)) => (answer, last),
                        // The broker answers later; the queue keeps the order of requests.
                        Some(Offer::Later(delivery)) => {
                            self.later.push_back(Later::Undecided(delivery, last));
                            continue;
                        }
                        None if self.is_talkative() => (Answer::Busy, last),
                        None => {
                            let metrics = metrics(&self.service.metrics(), last);
                            self.push(Later::Bytes(metrics));
                            continue;
                        }
                    }
                }
                Step::Refuse(answer) => {
                    self.ended = true;
                    (answer, true)
                }
            };
            self.push(Later::Decided(answer, last));
        }
        used
    }

    /// Returns true if the unwritten output has reached the limit for another answer with the
    /// counters.
    fn is_talkative(&self) -> bool {
        let waits = |later: &Later| matches!(later, Later::Bytes(_));
        self.out.len() > METRICS_MAX || self.later.iter().any(waits)
    }

    /// Writes an answer at once if none is before it.
    fn push(&mut self, answer: Later) {
        match self.later.is_empty() {
            true => self.write(answer),
            false => self.later.push_back(answer),
        }
    }

    fn write(&mut self, answer: Later) {
        match answer {
            Later::Decided(answer, last) => {
                self.service.counts.answer(answer);
                answer.write(last, &mut self.out);
            }
            Later::Bytes(bytes) => self.out.extend_from_slice(&bytes),
            Later::Undecided(..) => {}
        }
    }

    /// Waits for the pending answers of the broker.
    pub async fn settle(&mut self) {
        while let Some(later) = self.later.pop_front() {
            let decided = match later {
                Later::Undecided(delivery, last) => {
                    let answer = match delivery.await {
                        Some(Ok(())) => Answer::Accepted,
                        Some(Err(_)) | None => Answer::NotDelivered,
                    };
                    Later::Decided(answer, last)
                }
                decided => decided,
            };
            self.write(decided);
        }
    }

    /// Takes the answers, to be written as they are. Return the memory with
    /// [`Conversation::written`].
    pub fn output(&mut self) -> Option<Vec<u8>> {
        (!self.out.is_empty()).then(|| std::mem::take(&mut self.out))
    }

    /// Takes a buffer back, to use it again.
    pub fn written(&mut self, mut out: Vec<u8>) {
        if out.capacity() <= KEPT_MAX {
            out.clear();
            self.out = out;
        }
    }

    /// Returns true if no request follows: the connection ends when the answers are written.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// Returns true if the client has requested the end, so that it sends nothing more.
    pub fn is_agreed(&self) -> bool {
        self.is_agreed
    }

    /// Returns true if a request has begun that is not whole.
    pub fn is_within(&self) -> bool {
        self.machine.is_within()
    }

    /// Answers a request that was not finished in time.
    pub fn time_out(&mut self) {
        self.ended = true;
        self.push(Later::Decided(Answer::Timeout, true));
    }
}

/// Returns an answer with the counters.
fn metrics(text: &str, last: bool) -> Vec<u8> {
    let close = if last { "Connection: close\r\n" } else { "" };
    format!(
        "HTTP/1.1 200 OK\r\n{close}Content-Type: application/openmetrics-text; version=1.0.0\r\nContent-Length: {}\r\n\r\n{text}",
        text.len()
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::Sink;

    fn conversation() -> Conversation {
        Conversation::new(
            &Arc::new(Service::new(Sink::Nowhere)),
            AddressGroup::THIS_MACHINE,
        )
    }

    fn answers(conversation: &mut Conversation) -> String {
        String::from_utf8(conversation.output().expect("answers")).expect("text")
    }

    #[test]
    fn nothing_behind_the_last_request_is_answered() {
        let mut conversation = conversation();
        let last = "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 1\r\n\r\na";
        let taken = conversation.take(last.repeat(2).as_bytes());
        assert_eq!(taken, last.len());
        assert!(conversation.is_ended() && conversation.is_agreed());
        let answers = answers(&mut conversation);
        assert_eq!(answers.matches("HTTP/1.1 202").count(), 1, "{answers}");
    }

    #[test]
    fn counters_asked_for_again_and_again_take_no_memory() {
        let mut conversation = conversation();
        let asked = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n".repeat(1000);
        assert_eq!(conversation.take(asked.as_bytes()), asked.len());
        let answers = answers(&mut conversation);
        assert_eq!(answers.matches("HTTP/1.1 ").count(), 1000);
        assert!(answers.contains("HTTP/1.1 503"));
        assert!(answers.len() < 20 * METRICS_MAX, "{}", answers.len());
        conversation.written(answers.into_bytes());
        assert!(conversation.out.capacity() <= KEPT_MAX);
    }
}
