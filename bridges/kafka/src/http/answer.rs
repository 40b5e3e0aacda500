// SPDX-License-Identifier: MIT OR Apache-2.0
//! Answers of the server, with their reasons.

/// An answer to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// 202: the message was accepted.
    Accepted,
    /// 400: the request cannot be understood.
    BadRequest,
    /// 403: the request comes from a web page.
    Forbidden,
    /// 404: nothing to read is at this path.
    NotFound,
    /// 405: a message is published by POST or PUT.
    MethodNotAllowed,
    /// 408: the request was not finished in time.
    Timeout,
    /// 411: a body without a length.
    LengthRequired,
    /// 413: a body beyond the limit, or a message beyond the broker's.
    TooLarge,
    /// 417: an expectation other than `100-continue`.
    ExpectationFailed,
    /// 431: request line and headers beyond the limit.
    HeadTooLarge,
    /// 500: the sink refused the message for a reason of its own.
    Failed,
    /// 501: a transfer coding other than `chunked`.
    NotImplemented,
    /// 502: the broker did not acknowledge the message (with acknowledgement by the broker).
    NotDelivered,
    /// 503: the queue is full, or the server ends.
    Busy,
    /// 505: a version other than 1.0 and 1.1.
    VersionNotSupported,
}

/// Maximum bytes of an answer.
const ROOM: usize = 128;

/// Number of answers.
pub const STATUSES: usize = Answer::ALL.len();

impl Answer {
    /// All answers, in the order of their codes.
    pub const ALL: [Answer; 15] = [
        Answer::Accepted,
        Answer::BadRequest,
        Answer::Forbidden,
        Answer::NotFound,
        Answer::MethodNotAllowed,
        Answer::Timeout,
        Answer::LengthRequired,
        Answer::TooLarge,
        Answer::ExpectationFailed,
        Answer::HeadTooLarge,
        Answer::Failed,
        Answer::NotImplemented,
        Answer::NotDelivered,
        Answer::Busy,
        Answer::VersionNotSupported,
    ];

    /// Returns the number of the status.
    pub fn code(self) -> u16 {
        match self {
            Answer::Accepted => 202,
            Answer::BadRequest => 400,
            Answer::Forbidden => 403,
            Answer::NotFound => 404,
            Answer::MethodNotAllowed => 405,
            Answer::Timeout => 408,
            Answer::LengthRequired => 411,
            Answer::TooLarge => 413,
            Answer::ExpectationFailed => 417,
            Answer::HeadTooLarge => 431,
            Answer::Failed => 500,
            Answer::NotImplemented => 501,
            Answer::NotDelivered => 502,
            Answer::Busy => 503,
            Answer::VersionNotSupported => 505,
        }
    }

    /// Returns the index in [`Answer::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// Returns the status line and the headers of this status alone.
    fn head(self) -> &'static str {
        match self {
            Answer::Accepted => "HTTP/1.1 202 Accepted\r\n",
            Answer::BadRequest => "HTTP/1.1 400 Bad Request\r\n",
            Answer::Forbidden => "HTTP/1.1 403 Forbidden\r\n",
            Answer::NotFound => "HTTP/1.1 404 Not Found\r\n",
            Answer::MethodNotAllowed => "HTTP/1.1 405 Method Not Allowed\r\nAllow: POST, PUT\r\n",
            Answer::Timeout => "HTTP/1.1 408 Request Timeout\r\n",
            Answer::LengthRequired => "HTTP/1.1 411 Length Required\r\n",
            Answer::TooLarge => "HTTP/1.1 413 Content Too Large\r\n",
            Answer::ExpectationFailed => "HTTP/1.1 417 Expectation Failed\r\n",
            Answer::HeadTooLarge => "HTTP/1.1 431 Request Header Fields Too Large\r\n",
            Answer::Failed => "HTTP/1.1 500 Internal Server Error\r\n",
            Answer::NotImplemented => "HTTP/1.1 501 Not Implemented\r\n",
            Answer::NotDelivered => "HTTP/1.1 502 Bad Gateway\r\n",
            Answer::Busy => "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n",
            Answer::VersionNotSupported => "HTTP/1.1 505 HTTP Version Not Supported\r\n",
        }
    }

    /// Appends the whole answer. `last` announces that the connection ends with it.
    pub fn write(self, last: bool, out: &mut Vec<u8>) {
        // room for the whole answer at once
        out.reserve(ROOM);
        out.extend_from_slice(self.head().as_bytes());
        if last {
            out.extend_from_slice(b"Connection: close\r\n");
        }
        out.extend_from_slice(b"Content-Length: 0\r\n\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_begins_with_its_number_and_ends_with_an_empty_line() {
        for (index, answer) in Answer::ALL.into_iter().enumerate() {
            assert_eq!(answer.index(), index);
            let mut out = Vec::new();
            answer.write(true, &mut out);
            assert!(out.len() <= ROOM, "{answer:?}");
            let text = String::from_utf8(out).expect("ASCII");
            assert!(text.starts_with(&format!("HTTP/1.1 {} ", answer.code())));
            assert!(text.ends_with("\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"));
        }
    }
}
