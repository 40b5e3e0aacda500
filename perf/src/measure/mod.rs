// SPDX-License-Identifier: MIT OR Apache-2.0
//! One round of one system in one scenario, by fresh processes.

mod account;
mod counter;
mod flow;
mod numbers;
mod trips;

use zonda_program::{Failure, Interrupt};

use super::campaign::Entry;
use super::footprint::Footprint;
use super::processes::Footprints;
use super::record::Better::{Lower, Neither};
use super::record::Round;
use super::roles::Roles;
use super::scenario::Scenario;

pub use account::ACCOUNT;
pub use numbers::subscription;

/// The programs in the order in which a message passes them.
pub const ROLES: [&str; 3] = ["sender", "router", "receiver"];

/// Measures an entry once.
pub fn measure(entry: &Entry, interrupt: &Interrupt) -> Result<Round, Failure> {
    let roles = Roles {
        system: &entry.system,
        scenario: &entry.scenario,
        span: entry.span,
        interrupt,
    };
    match &entry.scenario {
        Scenario::Flow(flow) => flow::measure(roles, flow),
        Scenario::Trips(trips) => trips::measure(roles, trips),
        Scenario::Numbers(numbers) => numbers::measure(roles, *numbers),
        Scenario::Raw(_) => unreachable!("its sides are started by the matrix"),
    }
}

/// Adds the resources that the processes of each role used between two readings: CPU time and
/// context switches for each of the role's `messages`, threads and memory at the end.
fn add_usage(
    round: &mut Round,
    before: &Footprints,
    after: &Footprints,
    messages: impl Fn(&str) -> f64,
) {
    for role in ROLES {
        let of_role = |(of, _): &&(&'static str, Footprint)| *of == role;
        let each = |all: &'_ Footprints| -> Vec<Footprint> {
            all.iter().filter(of_role).map(|(_, f)| *f).collect()
        };
        let (before, after) = (each(before), each(after));
        if after.is_empty() {
            continue;
        }
        // usage divided by messages, and peak values
        let share = |figure: fn(&Footprint) -> Option<f64>| -> Option<f64> {
            let both = before.iter().zip(&after);
            let used =
                both.map(|(before, after)| Some((figure(after)? - figure(before)?).max(0.0)));
            Some(used.sum::<Option<f64>>()? / messages(role))
        };
        let sleeps = share(|f| Some(f.switches?.sleeps as f64));
        let preemptions = share(|f| Some(f.switches?.preemptions as f64));
        let most = |figure: fn(&Footprint) -> Option<u64>| {
            let figures = after.iter().filter_map(figure);
            figures.max().map(|figure| figure as f64)
        };
        let cpu = share(|f| Some(f.cpu?.as_nanos() as f64));
        round.add_of(["cpu", role], "ns/msg", Lower, cpu);
        round.add_of(["rss", role], "KiB", Lower, most(|f| f.peak_kib));
        round.add_of(["resident", role], "KiB", Neither, most(|f| f.rss_kib));
        round.add_of(["threads", role], "", Neither, most(|f| f.threads));
        round.add_of(["sleeps", role], "1/msg", Neither, sleeps);
        round.add_of(["preemptions", role], "1/msg", Neither, preemptions);
    }
}
