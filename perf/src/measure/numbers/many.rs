// SPDX-License-Identifier: MIT OR Apache-2.0
//! A great number of distinct subscriptions: the router's cost to declare, hold and remove them,
//! and their effect on other clients.

use std::time::{Duration, Instant};

use zonda_codec::{Declaration, WireExpr};
use zonda_program::Failure;

use super::clients::{Client, Clients};
use super::flow::Pair;
use super::host::Host;
use super::host::PATIENCE;
use crate::record::Better::Lower;
use crate::record::Round as Figures;
use crate::roles::Roles;

/// A lease long enough that no client is dropped where other programs take nearly all of the
/// machine.
const PATIENT: [&str; 1] = ["transport/link/tx/lease:60000"];
/// Number of turns between the two routers.
const TURNS: u32 = 5;

/// Size and duration of a round.
pub struct Plan {
    /// Subscriptions in all.
    pub subscriptions: u32,
    /// Sessions that share them.
    pub sessions: u32,
    /// The time for which messages are watched.
    pub seconds: Duration,
}

impl Plan {
    /// Returns the number of subscriptions of a session.
    fn share(&self, session: u32) -> u32 {
        let one_more = session < self.subscriptions % self.sessions;
        self.subscriptions / self.sessions + u32::from(one_more)
    }
}

/// Returns the key of a subscription of a session.
pub fn subscription(session: u32, number: u32) -> String {
    let (line, sensor) = (number / 100, number % 100);
    format!("plant/{session}/line/{line}/sensor/{sensor}")
}

/// The state of one round.
struct Round<'a> {
    plan: &'a Plan,
    clients: &'a Clients,
    /// The router with all subscriptions, and the two clients that probe it.
    host: Host,
    pair: Pair<'a>,
    figures: Figures,
}

/// Runs one round: declarations, routing, a wildcard subscription and departure, one after the
/// other.
pub fn measure(plan: &Plan, roles: Roles<'_>) -> Result<Figures, Failure> {
    // the clients, and a router with one subscription to compare with
    let clients = &Clients::gather(roles.interrupt)?;
    let lone = Host::start(roles, 2, &PATIENT)?;
    let lone_pair = Pair::connect(clients, &lone)?;
    let host = Host::start(roles, plan.sessions as usize, &PATIENT)?;
    let pair = Pair::connect(clients, &host)?;
    let mut round = Round {
        plan,
        clients,
        host,
        pair,
        figures: Figures::default(),
    };
    // the steps of the round
    let sessions = round.declare()?;
    round.route(&lone, &lone_pair)?;
    drop((lone_pair, lone));
    let wildcard = round.subscribe_to_all()?;
    round.leave(sessions)?;
    drop(wildcard);
    Ok(round.figures)
}

impl Round<'_> {
    /// Lets all sessions declare at the same time.
    fn declare(&mut self) -> Result<Vec<Client>, Failure> {
        let sessions = self.plan.sessions;
        let clients = self
            .clients
            .connect(self.host.address(), sessions as usize)?;
        self.host.settle(PATIENCE)?;
        let before = (Instant::now(), self.host.cpu(), self.host.memory());
        for (session, client) in (0..).zip(&clients) {
            let share = self.plan.share(session);
            let keys = (0..share).map(move |n| subscription(session, n));
            self.clients.declare(client, keys);
        }
        self.clients.all_answered(&clients, PATIENCE)?;
        let elapsed = before.0.elapsed();
        self.host.settle(PATIENCE)?;
        let used = self.host.cpu_since(before.1);
        let held = self.host.memory() - before.2;
        let all = f64::from(self.plan.subscriptions);
        let figures = &mut self.figures;
        figures.add("declare_cpu", "s", Lower, used.as_secs_f64());
        figures.add("declare_time", "s", Lower, elapsed.as_secs_f64());
        figures.add("memory_each", "B", Lower, held / all);
        Ok(clients)
    }

    /// Compares the cost of a message with that in a router with a single subscription.
    fn route(&mut self, lone: &Host, lone_pair: &Pair) -> Result<(), Failure> {
        let window = self.plan.seconds / (2 * TURNS);
        let (mut one, mut many) = (0.0, 0.0);
        for _ in 0..TURNS {
            one += lone_pair.cost(lone, window)?;
            many += self.pair.cost(&self.host, window)?;
        }
        let turns = f64::from(TURNS);
        self.figures
            .add("route_cpu_one", "ns/msg", Lower, one / turns);
        self.figures
            .add("route_cpu_many", "ns/msg", Lower, many / turns);
        Ok(())
    }

    /// Subscribes a client to a wildcard over all keys, and measures the time until it receives its
    /// first publication.
    fn subscribe_to_all(&mut self) -> Result<Client, Failure> {
        let (host, clients) = (&self.host, self.clients);
        let client = clients.connect(host.address(), 1)?.remove(0);
        let (elapsed, used) = self.pair.with_probes(|| {
            let before = (Instant::now(), host.cpu());
            client.say(Declaration::Subscriber {
                id: 1,
                wire_expr: WireExpr::full("plant/**"),
            })?;
            clients.until("serve a wildcard subscription", PATIENCE, || {
                Ok(client.seen.first().is_some())
            })?;
            let first = client.seen.first().unwrap_or(before.0);
            Ok((first - before.0, host.cpu_since(before.1)))
        })?;
        // figures
        let figures = &mut self.figures;
        figures.add("wildcard_time", "ms", Lower, millis(elapsed));
        figures.add("wildcard_cpu", "ms", Lower, millis(used));
        Ok(client)
    }

    /// Closes all sessions at once, while the pair continues.
    fn leave(&mut self, sessions: Vec<Client>) -> Result<(), Failure> {
        let (interrupt, host) = (&self.clients.interrupt, &mut self.host);
        let wait = || interrupt.rest_until(Instant::now() + self.plan.seconds / 3);
        let (usual, ()) = self.pair.longest_wait(wait)?;
        let (longest, used) = self.pair.longest_wait(|| {
            let before = host.cpu();
            sessions.iter().for_each(Client::leave);
            host.settle(PATIENCE)?;
            Ok(host.cpu_since(before))
        })?;
        let held = host.memory();
        let figures = &mut self.figures;
        figures.add("leave_cpu", "s", Lower, used.as_secs_f64());
        figures.add("wait_usual", "ms", Lower, millis(usual));
        figures.add("wait_leaving", "ms", Lower, millis(longest));
        figures.add("memory_after", "MiB", Lower, held / f64::from(1 << 20));
        Ok(())
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_subscription_is_declared_once() {
        for (subscriptions, sessions) in [(1, 1), (10, 3), (1000, 7), (250, 250)] {
            let plan = Plan {
                subscriptions,
                sessions,
                seconds: Duration::ZERO,
            };
            let keys: HashSet<String> = (0..sessions)
                .flat_map(|s| (0..plan.share(s)).map(move |n| subscription(s, n)))
                .collect();
            assert_eq!(keys.len(), subscriptions as usize);
            let mut keys = keys.iter();
            assert!(keys.all(|key| zonda_codec::KeyExpr::new(key.as_str()).is_ok()));
        }
    }
}
