// SPDX-License-Identifier: MIT OR Apache-2.0

//! Times of connections that a reload changes.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use zonda_transport::{protocol::parameters::SharedLease, sync::Mutex};

use crate::config::{Retry, Settings};

/// Times in force for connections that open from now on, and for attempts to connect.
pub(crate) struct Times {
    lease: SharedLease,
    keep_alive_divisor: AtomicU32,
    connect_retry: Mutex<Retry>,
}

impl Times {
    pub(crate) fn new(settings: &Settings) -> Times {
        Times {
            lease: SharedLease::new(settings.lease),
            keep_alive_divisor: AtomicU32::new(settings.keep_alive_divisor),
            connect_retry: Mutex::new(settings.connect_retry()),
        }
    }

    /// Takes over the times of other settings.
    pub(crate) fn replace(&self, settings: &Settings) {
        self.lease.set(settings.lease);
        let divisor = settings.keep_alive_divisor;
        self.keep_alive_divisor.store(divisor, Ordering::Relaxed);
        *self.connect_retry.lock() = settings.connect_retry();
    }

    /// Returns the lease that this node announces.
    pub(crate) fn lease(&self) -> Duration {
        self.lease.get()
    }

    /// Returns the lease as listeners share it.
    pub(crate) fn shared_lease(&self) -> SharedLease {
        self.lease.clone()
    }

    /// Returns the number of signs of life in a lease.
    pub(crate) fn keep_alive_divisor(&self) -> u32 {
        self.keep_alive_divisor.load(Ordering::Relaxed)
    }

    /// Returns the pauses between attempts to connect.
    pub(crate) fn connect_retry(&self) -> Retry {
        *self.connect_retry.lock()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use crate::{Config, node::Node};

    use super::*;

    fn opened(config: Config) -> Node {
        zonda_runtime::block_on(Node::open(config)).expect("it opens")
    }

    /// Returns the leases that the node's neighbours have announced.
    fn leases(node: &Node) -> Vec<u64> {
        let state = node.shared.state.lock();
        let leases = state.faces.values().map(|face| face.lease.as_millis());
        leases.map(|lease| lease as u64).collect()
    }

    #[test]
    fn connections_get_the_lease_in_force_when_they_open() {
        let config = |lease: u32| {
            let config = Config::router().listen(["tcp/127.0.0.1:0", "udp/127.0.0.1:0"]);
            config.with("transport/link/tx/lease", &lease.to_string())
        };
        let router = opened(config(5000));
        let locators = router.locators();
        let client = |proto: &str| {
            let mut locators = locators.iter().map(ToString::to_string);
            let locator = locators.find(|locator| locator.starts_with(proto));
            opened(Config::client([locator.expect("it listens")]))
        };
        let first = client("tcp");
        let reloaded = router.reload(&config(7000)).expect("it is valid");
        assert_eq!(reloaded.changed, ["transport/link/tx/lease"]);
        assert!(reloaded.needs_restart.is_empty());
        assert_eq!(leases(&first), [5000], "an open link keeps its own");
        for proto in ["tcp", "udp"] {
            let client = client(proto);
            assert_eq!(leases(&client), [7000], "{proto}");
            assert_eq!(client.shared.times.lease(), Duration::from_secs(10));
        }
    }

    #[test]
    fn a_shorter_pause_between_attempts_ends_one_that_is_under_way() {
        let config = |pause: u32| {
            let config = Config::router().listen([] as [&str; 0]);
            // No program listens there.
            let config = config.connect(["tcp/127.0.0.1:1"]);
            let pause = pause.to_string();
            let config = config.with("connect/retry/period_init_ms", &pause);
            config.with("connect/retry/period_max_ms", &pause)
        };
        let router = opened(config(3_600_000));
        let attempts = || {
            router
                .endpoints()
                .iter()
                .map(|one| one.attempts)
                .sum::<u64>()
        };
        let until = |count: u64| {
            let begin = Instant::now();
            while attempts() < count {
                assert!(begin.elapsed() < Duration::from_secs(20), "{count}");
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        until(1);
        let reloaded = router.reload(&config(5)).expect("it is valid");
        assert_eq!(reloaded.changed.len(), 2, "{reloaded:?}");
        until(5);
    }
}
