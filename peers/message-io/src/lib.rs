// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transport and arguments of the three programs.

use std::io::Read;
use std::{process, thread};

use message_io::network::Transport;
pub use peers_report::{fail, line, one_way};

/// Parses an endpoint as Zonda writes it, such as `tcp/127.0.0.1:0`, into transport and address.
/// `framed` is TCP with messages.
pub fn endpoint(text: &str) -> (Transport, &str) {
    let (name, address) = text.split_once('/').unwrap_or((text, ""));
    let transport = match name {
        "tcp" => Transport::Tcp,
        "framed" => Transport::FramedTcp,
        "udp" => Transport::Udp,
        "ws" => Transport::Ws,
        _ => fail(
            text,
            "expected tcp, framed, udp or ws, a slash and an address",
        ),
    };
    (transport, address)
}

/// Returns the name that [`endpoint`] reads.
pub fn name(transport: Transport) -> &'static str {
    match transport {
        Transport::Tcp => "tcp",
        Transport::FramedTcp => "framed",
        Transport::Udp => "udp",
        Transport::Ws => "ws",
    }
}

/// Returns the argument at that place.
pub fn argument(at: usize, what: &str) -> String {
    std::env::args()
        .nth(at)
        .unwrap_or_else(|| fail("usage", format_args!("{what} is missing")))
}

/// Returns the number at that place.
pub fn number<N: std::str::FromStr>(at: usize, what: &str) -> N {
    let text = argument(at, what);
    text.parse()
        .unwrap_or_else(|_| fail(&text, format_args!("{what} is a number")))
}

/// Ends the program when its standard input ends.
pub fn end_with_parent() {
    thread::spawn(|| {
        let mut nothing = [0; 64];
        let mut input = std::io::stdin().lock();
        while input.read(&mut nothing).is_ok_and(|n| n > 0) {}
        process::exit(0);
    });
}
