// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parsing of the request line and the headers: the framing of the body, and the answers to
//! requests that cannot be served.

use std::mem::MaybeUninit;

use httparse::{Error, Header, Status};

use super::{Answer, Limits};

/// Maximum number of headers of one request.
const HEADERS_MAX: usize = 64;

/// Resource of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A request to publish its body.
    Publish,
    /// A request for the counters.
    Metrics,
    /// A request for an unknown resource.
    Missing,
    /// A method that the resource does not support.
    NotAllowed,
}

/// Framing of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    Length(usize),
    Chunked,
}

/// Part of a head that is kept.
#[derive(Debug)]
pub(super) struct Head {
    pub target: Target,
    pub framing: Framing,
    /// True if the connection ends with this request.
    pub last: bool,
    /// True if the client waits for `100 Continue` before it sends the body.
    pub expects: bool,
    pub content_type: Option<Box<str>>,
}

/// Fields that affect the framing, collected while headers are parsed.
#[derive(Default)]
struct Fields<'h> {
    length: Option<usize>,
    chunked: bool,
    hosts: usize,
    close: bool,
    keep_alive: bool,
    expects: bool,
    has_origin: bool,
    content_type: Option<&'h [u8]>,
}

impl<'h> Fields<'h> {
    fn read(headers: &[Header<'h>]) -> Result<Fields<'h>, Answer> {
        let mut fields = Fields::default();
        for header in headers {
            fields.meet(header.name, header.value)?;
        }
        Ok(fields)
    }

    fn meet(&mut self, name: &str, value: &'h [u8]) -> Result<(), Answer> {
        // the length selects the name, so that most headers cost one comparison
        match name.len() {
            4 if name.eq_ignore_ascii_case("host") => self.hosts += 1,
            6 if name.eq_ignore_ascii_case("origin") => self.has_origin = true,
            6 if name.eq_ignore_ascii_case("expect") => {
                if !value.eq_ignore_ascii_case(b"100-continue") {
                    return Err(Answer::ExpectationFailed);
                }
                self.expects = true;
            }
            10 if name.eq_ignore_ascii_case("connection") => {
                for option in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
                    self.close |= option.eq_ignore_ascii_case(b"close");
                    self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            12 if name.eq_ignore_ascii_case("content-type") => self.content_type = Some(value),
            14 if name.eq_ignore_ascii_case("content-length") => {
                let length = digits(value).ok_or(Answer::BadRequest)?;
                if self.length.replace(length).is_some() {
                    return Err(Answer::BadRequest);
                }
            }
            17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                if self.chunked {
                    return Err(Answer::BadRequest);
                }
                if !value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                    return Err(Answer::NotImplemented);
                }
                self.chunked = true;
            }
            _ => {}
        }
        Ok(())
    }
}

/// Parses a length: decimal digits and nothing else. A length beyond `usize` counts as any other
/// that is too large.
fn digits(value: &[u8]) -> Option<usize> {
    let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(value).ok().filter(|_| is_number)?;
    Some(text.parse().unwrap_or(usize::MAX))
}

impl Head {
    /// Reads a head from the front of `input`, with its length in bytes; `None` when it is not whole.
    ///
    /// # Errors
    /// The answer to one that is malformed, too large, or asks for what the server does not do.
    pub(super) fn read(input: &[u8], limits: &Limits) -> Result<Option<(usize, Head)>, Answer> {
        let mut headers = [const { MaybeUninit::<Header<'_>>::uninit() }; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut []);
        let bytes = match request.parse_with_uninit_headers(input, &mut headers) {
            Ok(Status::Complete(bytes)) if bytes <= limits.head_bytes => bytes,
            Ok(Status::Partial) if input.len() < limits.head_bytes => return Ok(None),
            Ok(_) | Err(Error::TooManyHeaders) => return Err(Answer::HeadTooLarge),
            Err(Error::Version) => return Err(Answer::VersionNotSupported),
            Err(_) => return Err(Answer::BadRequest),
        };
        // A bare LF ends a line for this server and perhaps not for a proxy before it, or the other
        // way round.
        let mut lines = input[..bytes].split(|byte| *byte == b'\n').rev();
        lines.next();
        if !lines.all(|line| line.ends_with(b"\r")) {
            return Err(Answer::BadRequest);
        }
        let fields = Fields::read(request.headers)?;
        if fields.has_origin && !limits.any_origin {
            return Err(Answer::Forbidden);
        }
        let method = request.method.unwrap_or_default();
        let is_1_1 = request.version == Some(1);
        let target = target(method, request.path.unwrap_or_default());
        let head = Head::new(&fields, target, is_1_1)?;
        if let Framing::Length(length) = head.framing
            && length > limits.body_bytes
        {
            return Err(Answer::TooLarge);
        }
        Ok(Some((bytes, head)))
    }

    fn new(fields: &Fields<'_>, target: Target, is_1_1: bool) -> Result<Head, Answer> {
        if fields.hosts > 1 || (is_1_1 && fields.hosts == 0) {
            return Err(Answer::BadRequest);
        }
        let framing = match (fields.length, fields.chunked) {
            // two lengths contradict each other, and the choice between them decides where the next
            // request begins
            (Some(_), true) => return Err(Answer::BadRequest),
            (None, true) if !is_1_1 => return Err(Answer::BadRequest),
            (None, true) => Framing::Chunked,
            (Some(length), false) => Framing::Length(length),
            (None, false) if target == Target::Publish => return Err(Answer::LengthRequired),
            (None, false) => Framing::Length(0),
        };
        let content_type = fields
            .content_type
            .and_then(|v| std::str::from_utf8(v).ok());
        Ok(Head {
            target,
            framing,
            last: fields.close || (!is_1_1 && !fields.keep_alive),
            expects: fields.expects && is_1_1,
            content_type: content_type.map(Box::from),
        })
    }
}

fn target(method: &str, path: &str) -> Target {
    match method {
        "POST" | "PUT" => Target::Publish,
        "GET" if path == "/metrics" => Target::Metrics,
        "GET" => Target::Missing,
        _ => Target::NotAllowed,
    }
}
