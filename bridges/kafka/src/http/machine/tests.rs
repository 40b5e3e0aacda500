// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conversations give the same results however they are cut, and no input of a client does harm.

use zonda_transport::link::AddressGroup;

use super::*;
use crate::http::Budget;

/// Steps that a machine made of a conversation.
#[derive(Debug, PartialEq, Eq, Clone)]
enum Said {
    Continue,
    Request(Target, Vec<u8>, Option<String>, bool),
    Refuse(Answer),
}

fn limits() -> Limits {
    Limits {
        head_bytes: 512,
        body_bytes: 1000,
        ..Limits::default()
    }
}

/// Feeds parts as a connection does, with the bytes that were not taken in front of the next part;
/// returns all steps.
fn feed<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> (Vec<Said>, Machine) {
    feed_within(&Budget::new(4096), parts)
}

/// Feeds parts with a budget for bodies.
fn feed_within<'p>(
    budget: &Budget,
    parts: impl IntoIterator<Item = &'p [u8]>,
) -> (Vec<Said>, Machine) {
    let mut machine = Machine::new(limits(), budget.share(AddressGroup::THIS_MACHINE));
    let (mut said, mut waiting) = (Vec::new(), Vec::new());
    for part in parts {
        waiting.extend_from_slice(part);
        loop {
            let (used, step) = machine.step(&waiting);
            let what = match step {
                Step::More => None,
                Step::Continue => Some(Said::Continue),
                Step::Request(request) => Some(Said::Request(
                    request.target,
                    request.body.to_vec(),
                    request.content_type.map(str::to_owned),
                    request.last,
                )),
                Step::Refuse(answer) => Some(Said::Refuse(answer)),
            };
            waiting.drain(..used);
            match what {
                Some(what) => said.push(what),
                None => break,
            }
        }
        assert!(waiting.len() < limits().head_bytes, "nothing piles up");
    }
    (said, machine)
}

fn whole(input: &[u8]) -> Vec<Said> {
    feed(input.chunks(64)).0
}

fn published(body: &[u8]) -> Said {
    Said::Request(Target::Publish, body.to_vec(), None, false)
}

#[test]
fn a_conversation_is_the_same_however_it_is_cut() {
    let input = b"\r\nPOST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nfirst\
        PUT /x HTTP/1.1\r\nhost:a\r\nCONTENT-TYPE: text/plain\r\ntransfer-encoding: chunked\r\n\r\n3\r\nsec\r\n3\r\nond\r\n0\r\n\r\n\
        GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n\
        DELETE / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nskip\
        POST / HTTP/1.0\r\nContent-Length: 4\r\n\r\nlastignored";
    let expected = [
        published(b"first"),
        Said::Request(
            Target::Publish,
            b"second".to_vec(),
            Some("text/plain".to_owned()),
            false,
        ),
        Said::Request(Target::Metrics, vec![], None, false),
        Said::Request(Target::NotAllowed, b"skip".to_vec(), None, false),
        Said::Request(Target::Publish, b"last".to_vec(), None, true),
    ];
    for step in 1..200 {
        let budget = Budget::new(4096);
        let (said, _machine) = feed_within(&budget, input.chunks(step));
        assert_eq!(said, expected, "in parts of {step} bytes");
        assert_eq!(budget.left(), 4096, "no body is kept");
    }
    for cut in 1..200 {
        let (front, behind) = input.split_at(cut);
        let parts = [front].into_iter().chain(behind.chunks(97));
        assert_eq!(feed(parts).0, expected, "cut at {cut}");
    }
}

#[test]
fn a_client_that_asks_first_gets_leave_once() {
    let head: &[u8] =
        b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    let (said, machine) = feed([head, b"h", b"i"]);
    assert_eq!(said, [Said::Continue, published(b"hi")]);
    assert!(!machine.is_within());
    let (said, _) = feed([&[head, b"hi"].concat()[..]]);
    assert_eq!(said, [published(b"hi")], "the body is there already");
}

#[test]
fn who_stops_within_a_request_is_known() {
    for part in [
        &b"PO"[..],
        b"POST / HTTP/1.1\r\nHost: a\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nfirs",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3",
    ] {
        let (said, machine) = feed([part]);
        assert!(
            said.is_empty() && machine.is_within(),
            "{}",
            part.escape_ascii()
        );
    }
    assert!(!feed([]).1.is_within());
}

/// Returns byte sequences that two parsers may read differently, and requests of web pages.
fn requests_of_strangers() -> Vec<(String, Answer)> {
    let with = |fields: &str| format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n");
    vec![
        (
            "POST / HTTP/1.1\nHost: a\r\nContent-Length: 1\r\n\r\n".to_owned(),
            Answer::BadRequest,
        ),
        (with("Content-Length: 1\nX: y"), Answer::BadRequest),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\n".to_owned(),
            Answer::BadRequest,
        ),
        (
            with("Transfer-Encoding: chunked") + "1;a\rb\r\n",
            Answer::BadRequest,
        ),
        (
            with("Transfer-Encoding: chunked") + "1\r\r\n",
            Answer::BadRequest,
        ),
        (
            with("Origin: http://evil.example\r\nContent-Length: 1"),
            Answer::Forbidden,
        ),
    ]
}

/// Returns malformed requests, each with the expected answer.
fn bad_requests() -> Vec<(String, Answer)> {
    let long = format!("POST /{} HTTP/1.1\r\n", "a".repeat(600));
    let many = format!("POST / HTTP/1.1\r\n{}\r\n", "a:b\r\n".repeat(65));
    let with = |fields: &str| format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n");
    vec![
        ("GET /\r\n".to_owned(), Answer::BadRequest),
        (
            "GET / HTTP/0.9\r\n\r\n".to_owned(),
            Answer::VersionNotSupported,
        ),
        (
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
            Answer::VersionNotSupported,
        ),
        ("\u{16}\u{3}\u{1}\u{2}".to_owned(), Answer::BadRequest),
        (
            "POST / HTTP/1.1\r\nHost : a\r\n\r\n".to_owned(),
            Answer::BadRequest,
        ),
        (
            "POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n".to_owned(),
            Answer::BadRequest,
        ),
        (with("Host: b\r\nContent-Length: 1"), Answer::BadRequest),
        (long, Answer::HeadTooLarge),
        (many, Answer::HeadTooLarge),
        (with("X: y"), Answer::LengthRequired),
        (with("Content-Length: 1001"), Answer::TooLarge),
        (
            with("Content-Length: 99999999999999999999999"),
            Answer::TooLarge,
        ),
        (with("Content-Length: -1"), Answer::BadRequest),
        (with("Content-Length: +1"), Answer::BadRequest),
        (with("Content-Length: 1, 1"), Answer::BadRequest),
        (with("Content-Length:"), Answer::BadRequest),
        (
            with("Content-Length: 1\r\nContent-Length: 1"),
            Answer::BadRequest,
        ),
        (
            with("Content-Length: 1\r\nTransfer-Encoding: chunked"),
            Answer::BadRequest,
        ),
        (
            with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
            Answer::BadRequest,
        ),
        (
            with("Transfer-Encoding: gzip, chunked"),
            Answer::NotImplemented,
        ),
        (
            "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(),
            Answer::BadRequest,
        ),
        (
            with("Expect: a-miracle\r\nContent-Length: 1"),
            Answer::ExpectationFailed,
        ),
        (
            with("Transfer-Encoding: chunked") + "3e9\r\n",
            Answer::TooLarge,
        ),
        (
            with("Transfer-Encoding: chunked") + "zz\r\n",
            Answer::BadRequest,
        ),
    ]
}

#[test]
fn each_bad_request_has_its_answer() {
    for (input, answer) in bad_requests().into_iter().chain(requests_of_strangers()) {
        assert_eq!(whole(input.as_bytes()), [Said::Refuse(answer)], "{input}");
    }
}

#[test]
fn a_head_without_end_is_refused_when_the_buffer_is_full() {
    let (said, _) = feed(
        b"POST / HTTP/1.1\r\nX: "
            .chunks(5)
            .chain([&[b'a'; 492][..]]),
    );
    assert_eq!(said, [Said::Refuse(Answer::HeadTooLarge)]);
}

#[test]
fn bodies_that_all_connections_keep_have_a_limit() {
    let budget = Budget::new(600);
    let head: &[u8] = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\n";
    let mut machine = Machine::new(limits(), budget.share(AddressGroup::THIS_MACHINE));
    assert_eq!(machine.step(head), (head.len(), Step::More));
    assert_eq!(budget.left(), 600, "a length that is claimed costs nothing");
    assert_eq!(machine.step(&[b'a'; 500]), (500, Step::More));
    assert_eq!(
        machine.step(&[b'a'; 200]),
        (200, Step::Refuse(Answer::Busy))
    );
    drop(machine);
    assert_eq!(budget.left(), 600);
}

#[test]
fn nothing_follows_the_last_request() {
    let one = "POST / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\nContent-Length: 1\r\n\r\na";
    for step in [1, 7, 1000] {
        let input = one.repeat(2);
        let (said, _) = feed(input.as_bytes().chunks(step));
        let last = Said::Request(Target::Publish, b"a".to_vec(), None, true);
        assert_eq!(said, [last]);
    }
}

/// A pseudo-random sequence, from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % limit
    }
}

#[test]
fn mutilated_conversations_end_in_answers_and_say_the_same_however_they_are_cut() {
    let good = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nfirst\
        PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nsec\r\n3\r\nond\r\n0\r\n\r\n";
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..3000 {
        let mut input = good.to_vec();
        for _ in 0..=random.below(4) {
            let at = random.below(input.len());
            match random.below(3) {
                0 => drop(input.remove(at)),
                1 => input[at] = b"\r\n:; 0a\x00\xff"[random.below(9)],
                _ => input.insert(at, b"\r\n:; 0a\x00\xff"[random.below(9)]),
            }
        }
        let expected = feed([&input[..]]).0;
        let step = 1 + random.below(40);
        let cut = feed(input.chunks(step)).0;
        assert_eq!(cut, expected, "round {round}, parts of {step} bytes");
    }
}
