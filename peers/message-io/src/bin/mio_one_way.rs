// SPDX-License-Identifier: MIT OR Apache-2.0
//! `mio_one_way SIZE ENDPOINT SECONDS WARM_UP`: sends a message and polls until it is there, sender and receiver on one thread,
//! again and again, as message-io's own benchmark does. Prints one line of JSON.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use message_io::network::{self, Endpoint, NetEvent, NetworkController, NetworkProcessor};
use message_io_peers::{LINGER, argument, end_with_parent, endpoint, fail, line, number};

/// How long one poll may take.
const POLL: Duration = Duration::from_millis(1);
/// A message that is not there by then is lost.
const LOST: Duration = Duration::from_millis(200);

fn main() {
    end_with_parent();
    let (size, at): (usize, _) = (number(1, "the size"), argument(2, "where to listen"));
    let [seconds, warm_up] = [(3, "the seconds"), (4, "the warm-up")]
        .map(|(at, what)| Duration::from_secs_f64(number(at, what)));
    let (controller, mut processor, to) = connect(&at);
    let message = vec![0xff; size];
    let (mut times, mut sent, mut lost) = (BTreeMap::new(), 0_u64, 0_u64);
    let mut begun = Instant::now();
    let mut is_warm = false;
    loop {
        let left = Instant::now();
        controller.send(to, &message);
        let mut missing = size;
        while missing > 0 && left.elapsed() < LOST {
            processor.process_poll_event(Some(POLL), |event| {
                if let NetEvent::Message(_, data) = event {
                    missing = missing.saturating_sub(data.len());
                }
            });
        }
        let came = Instant::now();
        if !is_warm && came - begun >= warm_up {
            line(format_args!(r#"{{"event":"measuring"}}"#));
            (is_warm, begun) = (true, Instant::now());
        } else if is_warm {
            sent += 1;
            match missing {
                0 => {
                    *times
                        .entry(rounded((came - left).as_nanos() as u64))
                        .or_insert(0_u64) += 1
                }
                _ => lost += 1,
            }
            if came - begun >= seconds {
                break;
            }
        }
    }
    let told = serde_json::json!({
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

/// Both ends of a connection; it needs somebody to poll while it is made.
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

/// Three significant digits.
fn rounded(nanos: u64) -> u64 {
    let unit = 10_u64.pow(nanos.checked_ilog10().unwrap_or(0).saturating_sub(2));
    (nanos + unit / 2) / unit * unit
}
