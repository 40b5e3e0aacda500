// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cost of idle connected clients for the router.

use std::time::{Duration, Instant};

use zonda_program::Failure;

use super::clients::Clients;
use super::host::Host;
use super::host::PATIENCE;
use crate::record::Better::{Lower, Neither};
use crate::record::Round;
use crate::roles::Roles;

/// Runs one round: connects all clients, and watches the router for a while.
pub fn measure(roles: Roles<'_>, count: usize, seconds: Duration) -> Result<Round, Failure> {
    let mut host = Host::start(roles, count, &[])?;
    let clients = Clients::gather(roles.interrupt)?;
    // the one-time cost of the first client is not counted
    let first = clients.connect(host.address(), 1)?;
    host.settle(PATIENCE)?;
    let before = (host.cpu(), host.memory());
    let clients = clients.connect(host.address(), count)?;
    host.settle(PATIENCE)?;
    let connecting = host.cpu_since(before.0);
    let begin = (Instant::now(), host.cpu());
    roles.interrupt.rest_until(begin.0 + seconds)?;
    let used = (begin.0.elapsed(), host.cpu_since(begin.1));
    let memory = host.memory() - before.1;
    host.check()?;
    let share = |used: Duration, of: Duration| used.as_secs_f64() / of.as_secs_f64();
    let each = count as f64;
    let mut figures = Round::default();
    figures.add("cpu_idle", "%", Lower, 100.0 * share(used.1, used.0));
    figures.add("memory_each", "KiB", Lower, memory / 1024.0 / each);
    let micros = connecting.as_secs_f64() * 1e6;
    figures.add("cpu_connect_each", "us", Lower, micros / each);
    let threads = host.footprint().threads.unwrap_or_default();
    figures.add("threads", "", Neither, threads as f64);
    drop((first, clients));
    Ok(figures)
}
