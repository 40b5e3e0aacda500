// SPDX-License-Identifier: MIT OR Apache-2.0
//! `mio_sub SIZE ENDPOINT`: counts messages of SIZE bytes, or in a stream the bytes of as many, and
//! prints the count from time to time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use message_io::network::NetEvent;
use message_io::node;
use message_io_peers::{argument, end_with_parent, endpoint, fail, line, name, number};

/// Time between two counts.
const PERIOD: Duration = Duration::from_millis(10);

fn main() {
    end_with_parent();
    let (size, at): (u64, _) = (number(1, "the size"), argument(2, "where to listen"));
    let (transport, address) = endpoint(&at);
    let (handler, listener) = node::split::<()>();
    // Listen, and count in the background.
    let (_, bound) = handler
        .network()
        .listen(transport, address)
        .unwrap_or_else(|e| fail(&at, e));
    let bytes = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&bytes);
    // A line with the count in each period.
    thread::spawn(move || {
        let start = Instant::now();
        loop {
            thread::sleep(PERIOD);
            let messages = counted.load(Ordering::Relaxed) / size;
            if messages > 0 {
                let nanos = start.elapsed().as_nanos();
                line(format_args!(
                    r#"{{"event":"count","messages":{messages},"nanos":{nanos}}}"#
                ));
            }
        }
    });
    let own = name(transport);
    line(format_args!(
        r#"{{"event":"ready","listening":["{own}/{bound}"]}}"#
    ));
    // The bytes of all messages.
    let mut total = 0;
    listener.for_each(move |event| {
        if let NetEvent::Message(_, data) = event.network() {
            total += data.len() as u64;
            bytes.store(total, Ordering::Relaxed);
        }
    });
}
