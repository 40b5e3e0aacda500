// SPDX-License-Identifier: MIT OR Apache-2.0
//! A second publisher of the asking session that keeps its link full of large samples, at the
//! default priority.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use zonda::bytes::ZBytes;
use zonda::qos::{CongestionControl, Priority};
use zonda::{Session, Wait};
use zonda_program::{Failure, pattern};

/// The key of the load.
pub const KEY_LOAD: &str = "test/load";

/// A load that lasts as long as the process.
pub struct Load {
    size: u64,
    samples: Arc<AtomicU64>,
}

/// A reading of the amount of load.
pub struct Mark {
    at: Instant,
    samples: u64,
}

impl Load {
    /// Begins to publish samples of `size` bytes.
    pub fn start(session: &Session, size: usize) -> Result<Load, Failure> {
        let publisher = session
            .declare_publisher(KEY_LOAD)
            .congestion_control(CongestionControl::Block)
            .priority(Priority::Data)
            .wait()?;
        let payload = ZBytes::from(pattern(size));
        let samples = Arc::new(AtomicU64::new(0));
        let done = Arc::clone(&samples);
        thread::Builder::new()
            .name("load".into())
            .spawn(move || {
                // the session ends with the process, and with it this thread
                while publisher.put(payload.clone()).wait().is_ok() {
                    done.fetch_add(1, Ordering::Relaxed);
                }
            })
            .map_err(|e| Failure::doing("cannot start the load", e))?;
        let size = size as u64;
        Ok(Load { size, samples })
    }

    /// Reads the amount of load.
    pub fn mark(&self) -> Mark {
        Mark {
            at: Instant::now(),
            samples: self.samples.load(Ordering::Relaxed),
        }
    }

    /// Returns the bytes per second that the link has taken since `mark`.
    pub fn rate_since(&self, mark: &Mark) -> f64 {
        let now = self.mark();
        let bytes = (now.samples - mark.samples) * self.size;
        bytes as f64 / (now.at - mark.at).as_secs_f64().max(1e-9)
    }
}
