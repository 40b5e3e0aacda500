// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which cells there are, and in which order they are measured: round by round, and within a round all
//! frameworks one after the other in the same case, beginning with another one each time, so that what
//! disturbs the machine disturbs all of them alike.

use std::fmt;

use super::rate::Rate;
use crate::rtt::arguments::Transport;
use crate::rtt::backend::Backend;
use crate::rtt::pacing::Pacing;

/// A column: a backend, or the kernel's echo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framework {
    /// A program of ours answers.
    Runs(Backend),
    /// The kernel answers.
    Icmp,
}

impl Framework {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Framework::Runs(backend) => backend.name(),
            Framework::Icmp => "icmp",
        }
    }
}

/// What the frameworks are compared in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    /// What the messages travel by. The kernel's echo stands beside any.
    pub transport: Transport,
    /// Who decides when the next message is due.
    pub pacing: Pacing,
    /// Tasks beside the ping.
    pub tasks: u32,
    /// Messages wanted per second.
    pub rate: Rate,
}

/// One cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key {
    /// The column.
    pub framework: Framework,
    /// The rest.
    pub case: Case,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let case = &self.case;
        write!(
            f,
            "{} {} {} {}/s {} tasks",
            self.framework.name(),
            case.transport,
            case.pacing.name(),
            case.rate,
            case.tasks
        )
    }
}

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Columns, in the order of the tables.
    pub frameworks: Vec<Framework>,
    /// Transports of the backends.
    pub transports: Vec<Transport>,
    /// Pacings.
    pub pacings: Vec<Pacing>,
    /// Numbers of tasks.
    pub tasks: Vec<u32>,
    /// Rates, ascending.
    pub rates: Vec<Rate>,
}

impl Plan {
    /// What is compared at one transport, pacing and number of tasks, by ascending rate.
    pub fn at_each_rate(
        &self,
        transport: Transport,
        pacing: Pacing,
        tasks: u32,
    ) -> impl Iterator<Item = Case> {
        self.rates.iter().map(move |&rate| Case {
            transport,
            pacing,
            tasks,
            rate,
        })
    }

    /// All cells of one round. `turn` is the number of the round.
    pub fn round(&self, turn: usize) -> Vec<Key> {
        let mut keys = Vec::new();
        for (number, case) in self.cases().into_iter().enumerate() {
            let mut of_case: Vec<Key> = self
                .frameworks
                .iter()
                .filter(|f| **f != Framework::Icmp || self.has_echo(&case))
                .map(|&framework| Key { framework, case })
                .collect();
            let first = (turn + number) % of_case.len().max(1);
            of_case.rotate_left(first);
            keys.append(&mut of_case);
        }
        keys
    }

    /// Leaves the first of those that were named twice.
    pub fn forget_repeats(&mut self) {
        forget(&mut self.frameworks);
        forget(&mut self.transports);
        forget(&mut self.pacings);
        forget(&mut self.tasks);
        forget(&mut self.rates);
    }

    fn cases(&self) -> Vec<Case> {
        let mut cases = Vec::new();
        for &transport in &self.transports {
            for &pacing in &self.pacings {
                for &tasks in &self.tasks {
                    cases.extend(self.at_each_rate(transport, pacing, tasks));
                }
            }
        }
        cases
    }

    /// The kernel knows neither tasks nor transports nor pacings: it is measured once for each rate.
    fn has_echo(&self, case: &Case) -> bool {
        let first = (
            self.transports.first(),
            self.pacings.first(),
            self.tasks.first(),
        );
        first == (Some(&case.transport), Some(&case.pacing), Some(&case.tasks))
    }
}

fn forget<T: PartialEq + Clone>(list: &mut Vec<T>) {
    let mut first: Vec<T> = Vec::new();
    for entry in list.drain(..) {
        if !first.contains(&entry) {
            first.push(entry);
        }
    }
    *list = first;
}

#[cfg(test)]
mod tests {
    use super::super::rate;
    use super::*;

    fn plan() -> Plan {
        Plan {
            frameworks: vec![
                Framework::Runs(Backend::Std),
                Framework::Runs(Backend::Smol),
                Framework::Icmp,
            ],
            transports: vec![Transport::Tcp, Transport::Udp],
            pacings: vec![Pacing::Exact, Pacing::Seed],
            tasks: vec![0, 10],
            rates: rate::QUICK.to_vec(),
        }
    }

    #[test]
    fn every_cell_is_there_once() {
        let keys = plan().round(0);
        assert_eq!(keys.len(), 2 * 2 * 2 * 2 * 5 + 5);
        for (at, key) in keys.iter().enumerate() {
            assert!(!keys[..at].contains(key), "{key} is there twice");
        }
    }

    #[test]
    fn another_framework_begins_each_time() {
        let first: Vec<Framework> = (0..3).map(|turn| plan().round(turn)[0].framework).collect();
        assert_eq!(first, plan().frameworks);
        let names: Vec<String> = plan().round(1).iter().map(Key::to_string).take(2).collect();
        assert_eq!(
            names,
            ["smol tcp exact 10/s 0 tasks", "icmp tcp exact 10/s 0 tasks"]
        );
    }
}
