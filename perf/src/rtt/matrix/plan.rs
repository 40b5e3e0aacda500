// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cells of the matrix.

use crate::campaign::Entry;
use crate::rtt::backend::Backend;
use crate::scenario::rates::Pace;
use crate::scenario::raw::{Pacing, Raw, Transport};
use crate::scenario::{Scenario, distinct};
use crate::system::{Kind, Span, System};

/// The kernel's echo, as a column next to those of the backends.
pub const ECHO: &str = "icmp";

/// Returns the column of that name.
pub fn framework(name: &str) -> Option<&'static str> {
    let backends = Backend::ALL.into_iter().map(Backend::name);
    backends.chain([ECHO]).find(|known| *known == name)
}

/// The plan of a matrix.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Columns, the names of backends and [`ECHO`], in the order of the tables.
    pub frameworks: Vec<&'static str>,
    /// Transports of the backends.
    pub transports: Vec<Transport>,
    /// Pacings.
    pub pacings: Vec<Pacing>,
    /// Numbers of tasks.
    pub tasks: Vec<u32>,
    /// Rates, ascending.
    pub rates: Vec<Pace>,
}

impl Plan {
    /// Sorts the plan in ascending order, without duplicates.
    pub fn in_order(mut self) -> Self {
        self.tasks.sort_unstable();
        self.rates.sort_by(Pace::order);
        Plan {
            frameworks: distinct(self.frameworks),
            transports: distinct(self.transports),
            pacings: distinct(self.pacings),
            tasks: distinct(self.tasks),
            rates: distinct(self.rates),
        }
    }

    /// Returns all cells in the order of the tables, each with its duration.
    pub fn entries(&self, span: impl Fn(&Raw) -> Span) -> Vec<Entry> {
        let mut all = Vec::new();
        for case in self.cases() {
            let frameworks = self.frameworks.iter();
            let here = frameworks.filter(|name| **name != ECHO || self.has_echo(&case));
            all.extend(here.map(|name| entry(name, case, span(&case))));
        }
        all
    }

    fn cases(&self) -> Vec<Raw> {
        let mut all = Vec::new();
        for &transport in &self.transports {
            for &pacing in &self.pacings {
                for &tasks in &self.tasks {
                    all.extend(self.rates.iter().map(|&rate| Raw {
                        transport,
                        pacing,
                        tasks,
                        rate,
                    }));
                }
            }
        }
        all
    }

    /// Returns true if the echo is measured in this case: the kernel has no tasks, transports or
    /// pacings, so it is measured once for each rate.
    fn has_echo(&self, case: &Raw) -> bool {
        let first = (
            self.transports.first(),
            self.pacings.first(),
            self.tasks.first(),
        );
        first == (Some(&case.transport), Some(&case.pacing), Some(&case.tasks))
    }
}

/// Creates a cell of the column `framework`.
pub fn entry(framework: &'static str, case: Raw, span: Span) -> Entry {
    let system = System::new(framework, Kind::Raw(framework));
    Entry::new("", Scenario::Raw(case), &system, span)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::turns;

    fn entries() -> Vec<Entry> {
        let plan = Plan {
            frameworks: vec!["std", "smol", ECHO],
            transports: vec![Transport::Tcp, Transport::Udp],
            pacings: vec![Pacing::Exact, Pacing::Seed],
            tasks: vec![10, 0, 10],
            rates: [10.0, 100.0, 1e3, 1e4, 1e5].map(Pace::Rate).to_vec(),
        };
        let span = Span::new(0.1, 0.3);
        plan.in_order().entries(|_| span)
    }

    #[test]
    fn every_cell_is_there_once() {
        let names: Vec<String> = entries().iter().map(Entry::to_string).collect();
        assert_eq!(names.len(), 2 * 2 * 2 * 2 * 5 + 5);
        assert_eq!(distinct(names.clone()).len(), names.len());
        assert_eq!(names[0], "tcp exact 10/s 0 tasks std");
    }

    #[test]
    fn another_framework_begins_each_time() {
        let all = entries();
        let first = |round| turns(&all, round, Entry::is_beside)[0];
        assert_eq!([first(0), first(1), first(2)], [0, 1, 2]);
        assert_eq!(all[2].system.name, ECHO);
    }
}
