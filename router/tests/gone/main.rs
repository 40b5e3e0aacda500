// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is kept of those who are gone: nothing but counts. A router in this process, clients played by hand, and what the
//! process holds by its own account and by the system's.
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

/// By then anything must have happened, also on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// Descriptors and memory are the whole process's: one case at a time.
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

/// Descriptors that this process has.
fn descriptors() -> usize {
    let open = std::fs::read_dir("/proc/self/fd").expect("there is one");
    open.count()
}

/// Bytes of memory that this process holds.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").expect("there is one");
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0_usize) * 4096
}
