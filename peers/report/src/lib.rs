// SPDX-License-Identifier: MIT OR Apache-2.0
//! Helpers of the programs of all peers: the printing of lines, the end of a program, and the
//! measurement of one way.

use std::collections::BTreeMap;
use std::fmt::{Arguments, Display};
use std::io::{ErrorKind, Write};
use std::time::{Duration, Instant};
use std::{process, thread};

use serde_json::json;

/// Time that a program stays after its result, so that its resource usage can be read.
pub const LINGER: Duration = Duration::from_secs(2);

/// Time after which a message counts as lost, where losses are possible.
const LOST: Duration = Duration::from_millis(200);

/// Ends the program for a failure at run time (exit code 1).
pub fn fail(what: impl Display, why: impl Display) -> ! {
    end(format_args!("{what}: {why}"), 1)
}

/// Ends the program with one line, with line breaks of the library's text removed.
pub fn end(text: Arguments<'_>, code: i32) -> ! {
    let text = text.to_string();
    let words: Vec<&str> = text.split_whitespace().collect();
    eprintln!("error: {}", words.join(" "));
    process::exit(code)
}

/// Prints one line and flushes it; a closed pipe ends the program quietly, any other failure with
/// exit code 1.
pub fn line(text: Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    if let Err(error) = writeln!(out, "{text}").and_then(|()| out.flush()) {
        if error.kind() != ErrorKind::BrokenPipe {
            fail("standard output", error);
        }
        process::exit(0);
    }
}

/// Sends a message and waits until it comes, again and again, prints one line of JSON and stays for
/// a while. `comes` waits for it for the given time at most.
pub fn one_way(
    seconds: Duration,
    warm_up: Duration,
    mut send: impl FnMut(),
    mut comes: impl FnMut(Duration) -> bool,
) {
    let (mut times, mut sent, mut lost) = (BTreeMap::new(), 0_u64, 0_u64);
    let (mut begun, mut is_warm) = (Instant::now(), false);
    loop {
        // One message at a time, from its send to its arrival.
        let left = Instant::now();
        send();
        let is_here = comes(LOST);
        let came = Instant::now();
        // Times count only after the warm-up.
        if !is_warm && came - begun >= warm_up {
            line(format_args!("{}", json!({"event": "measuring"})));
            (is_warm, begun) = (true, Instant::now());
        } else if is_warm {
            sent += 1;
            if is_here {
                let took = rounded((came - left).as_nanos() as u64);
                *times.entry(took).or_insert(0_u64) += 1;
            } else {
                lost += 1;
            }
            if came - begun >= seconds {
                break;
            }
        }
    }
    // The result in one line.
    let told = json!({
        "event": "latency",
        "seconds": begun.elapsed().as_secs_f64(),
        "planned": sent,
        "sent": sent,
        "lost": lost,
        "nanos_times": times.into_iter().collect::<Vec<_>>(),
    });
    line(format_args!("{told}"));
    thread::sleep(LINGER);
}

/// Rounds to three significant digits.
pub fn rounded(nanos: u64) -> u64 {
    let unit = 10_u64.pow(nanos.checked_ilog10().unwrap_or(0).saturating_sub(2));
    (nanos + unit / 2) / unit * unit
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn figures_keep_three_digits() {
        let all = [0, 7, 999, 1004, 1005, 123_456_789].map(rounded);
        assert_eq!(all, [0, 7, 999, 1000, 1010, 123_000_000]);
    }
}
