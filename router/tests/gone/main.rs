// SPDX-License-Identifier: MIT OR Apache-2.0
//! State for clients that have left: nothing but counters remains. The tests run a router in this
//! process and clients without a node, and compare the process's memory by its own account and by
//! the system's.
#![cfg(target_os = "linux")]

mod budget;
mod guest;
mod model;
mod visitors;

use std::{
    net::SocketAddr,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use zonda_router::{config::Config, node::Node};

/// Deadline for any event, also on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// Lock for tests of descriptors and memory, which belong to the whole process.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for a condition, with a deadline.
#[track_caller]
fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !condition() {
        assert!(Instant::now() < deadline, "not within {LONG:?}: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn router() -> Config {
    Config::router().listen(["tcp/127.0.0.1:0"])
}

fn open(config: Config) -> Node {
    zonda_runtime::block_on(Node::open(config)).expect("the router opens")
}

fn address_of(node: &Node) -> SocketAddr {
    let locators = node.locators();
    locators[0].address().parse().expect("a socket address")
}

/// Returns the number of open descriptors of this process.
fn descriptors() -> usize {
    let open = std::fs::read_dir("/proc/self/fd").expect("there is one");
    open.count()
}

/// Returns the resident memory of this process in bytes.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").expect("there is one");
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0_usize) * 4096
}
