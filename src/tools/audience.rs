// SPDX-License-Identifier: MIT OR Apache-2.0
//! The subscribers of a tool's publications.

use std::thread;
use std::time::{Duration, Instant};

use zonda::Wait;
use zonda::pubsub::Publisher;
use zonda_program::complain;

/// Time that a router has to report the subscribers it knows.
const LONGEST: Duration = Duration::from_secs(1);
/// Delay within which the router's report is noticed.
const NOTICE: Duration = Duration::from_millis(1);

/// Waits until it is known if there is a subscriber to the publications.
pub fn settle(publisher: &Publisher<'_>) {
    let deadline = Instant::now() + LONGEST;
    while publisher.has_route() && !has_subscriber(publisher) && Instant::now() < deadline {
        thread::sleep(NOTICE);
    }
}

fn has_subscriber(publisher: &Publisher<'_>) -> bool {
    publisher
        .matching_status()
        .wait()
        .is_ok_and(|status| status.matching())
}

/// Prints a warning if a message will reach no subscriber although the node is connected.
pub fn tell(publisher: &Publisher<'_>) {
    if !publisher.has_route() {
        let key = publisher.key_expr();
        complain(format_args!("note: no subscriber to {key}"));
    }
}
