// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transport and arguments of the three programs.

use std::io::Read;
use std::{process, thread};

use message_io::network::Transport;
pub use peers_report::{fail, line, one_way};

/// The transport of that name, and where: `tcp/127.0.0.1:0`, as Zonda writes endpoints. `framed` is TCP with messages.
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

/// The name that [`endpoint`] reads.
pub fn name(transport: Transport) -> &'static str {
    match transport {
        Transport::Tcp => "tcp",
        Transport::FramedTcp => "framed",
        Transport::Udp => "udp",
        Transport::Ws => "ws",
    }
}

/// The argument at that place.
pub fn argument(at: usize, what: &str) -> String {
    std::env::args()
        .nth(at)
        .unwrap_or_else(|| fail("usage", format_args!("{what} is missing")))
}

/// The number at that place.
pub fn number<N: std::str::FromStr>(at: usize, what: &str) -> N {
    let text = argument(at, what);
    text.parse()
        .unwrap_or_else(|_| fail(&text, format_args!("{what} is a number")))
}

/// The program ends when its standard input does.
pub fn end_with_parent() {
    thread::spawn(|| {
        let mut nothing = [0; 64];
        let mut input = std::io::stdin().lock();
        while input.read(&mut nothing).is_ok_and(|n| n > 0) {}
        process::exit(0);
    });
}
