// SPDX-License-Identifier: MIT OR Apache-2.0
//! `mio_one_way SIZE ENDPOINT SECONDS WARM_UP`: sends a message and polls until it arrives, sender
//! and receiver on one thread, again and again, as message-io's own benchmark does. Prints one line
//! of JSON.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use message_io::network::{self, Endpoint, NetEvent, NetworkController, NetworkProcessor};
use message_io_peers::{argument, end_with_parent, endpoint, fail, number, one_way};

/// Time limit of one poll.
const POLL: Duration = Duration::from_millis(1);

fn main() {
    end_with_parent();
    let (size, at): (usize, _) = (number(1, "the size"), argument(2, "where to listen"));
    let [seconds, warm_up] = [(3, "the seconds"), (4, "the warm-up")]
        .map(|(at, what)| Duration::from_secs_f64(number(at, what)));
    let (controller, mut processor, to) = connect(&at);
    let message = vec![0xff; size];
    let send = || {
        controller.send(to, &message);
    };
    let comes = |patience| {
        let (waiting, mut missing) = (Instant::now(), size);
        while missing > 0 && waiting.elapsed() < patience {
            processor.process_poll_event(Some(POLL), |event| {
                if let NetEvent::Message(_, data) = event {
                    missing = missing.saturating_sub(data.len());
                }
            });
        }
        missing == 0
    };
    one_way(seconds, warm_up, send, comes);
}

/// Returns both ends of a connection; a second thread polls while it is made.
fn connect(at: &str) -> (NetworkController, NetworkProcessor, Endpoint) {
    let (transport, address) = endpoint(at);
    let (controller, mut processor) = network::split();
    let is_connecting = Arc::new(AtomicBool::new(true));
    let goes_on = Arc::clone(&is_connecting);
    let polling = thread::spawn(move || {
        while goes_on.load(Ordering::Relaxed) {
            processor.process_poll_event(Some(POLL), |_| ());
        }
        processor
    });
    let connected = controller
        .listen(transport, address)
        .and_then(|(_, bound)| controller.connect_sync(transport, bound));
    let (to, _) = connected.unwrap_or_else(|e| fail(at, e));
    is_connecting.store(false, Ordering::Relaxed);
    let processor = polling.join();
    (controller, processor.expect("polling does not panic"), to)
}
