// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reactions of the running daemon to signals: it reloads the list of users, or prints its state.

use std::time::{Duration, Instant};

use zonda_codec::WhatAmI;
use zonda_router::node::Node;

/// Reloads what can be reloaded; returns a line with the result, and with what needs a restart.
pub(super) fn reload(node: &Node) -> String {
    const REST: &str =
        "certificates are read again when their files change, everything else needs a restart";
    match node.reload_users() {
        Ok(Some(count)) => format!(
            "SIGHUP: the list of users was read again, {count} may connect from now on; {REST}"
        ),
        Ok(None) => format!("SIGHUP: there is no list of users to read again; {REST}"),
        Err(error) => format!(
            "SIGHUP: the list of users is not read again, the old one stays: {error}; {REST}"
        ),
    }
}

/// Returns the state of a node in one line.
pub(super) fn report(node: &Node, since: Instant) -> String {
    let links = node.links();
    let count = |role: WhatAmI| links.iter().filter(|link| link.whatami == role).count();
    let usage = node.usage();
    let refused: u64 = node.turned_away().iter().map(|reason| reason.count).sum();
    let listening: Vec<String> = node.locators().iter().map(ToString::to_string).collect();
    format!(
        "SIGUSR1: {} {}, up {}, listening on {}; links: {} to routers, {} to peers, {} to clients; connections refused: \
         {refused}; slow consumers closed: {}; memory: {} of {} bytes",
        node.role(),
        node.zid(),
        span(since.elapsed()),
        if listening.is_empty() {
            "nothing".to_owned()
        } else {
            listening.join(", ")
        },
        count(WhatAmI::Router),
        count(WhatAmI::Peer),
        count(WhatAmI::Client),
        node.slow_consumers(),
        usage.held,
        usage.budget,
    )
}

fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{minutes} min"),
        3_600..86_400 => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        for (seconds, text) in [
            (3, "3 s"),
            (61, "1 min"),
            (7_500, "2 h 5 min"),
            (180_000, "2 d 2 h"),
        ] {
            assert_eq!(span(Duration::from_secs(seconds)), text);
        }
    }
}
