// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was seen, and what is allowed.

use std::fmt::{self, Display, Formatter};

use super::{Report, Sighting};

const MIB: u64 = 1 << 20;

/// A machine that does worse than this to everybody is no excuse.
const ALLOWANCE_MS_MAX: u64 = 1000;

/// What an attack may cost. The usual ones are what Zonda promises; a case that allows more says why.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The worst silence of honest clients. What the machine does to everybody is added: the silence that was there
    /// without the attack, and four times what a sleeping thread overslept, since a message wakes four threads on
    /// its way.
    pub silence_ms: u64,
    /// Messages per second of each flow beside those without the attack.
    pub throughput: f64,
    /// Growth of the router's memory: its budget and 64 MiB.
    pub growth_mib: u64,
    /// Descriptors beyond two for each connection.
    pub descriptors: i64,
    /// Lines in the router's log.
    pub lines: usize,
}

impl Bounds {
    pub const USUAL: Bounds = Bounds {
        silence_ms: 250,
        throughput: 0.6,
        growth_mib: 64,
        descriptors: 64,
        lines: 100,
    };
}

/// What was seen.
pub struct Verdict {
    /// For each honest process: its name, the time without and with the attack.
    pub honest: Vec<(String, Report, Report)>,
    pub quiet: Sighting,
    pub attacked: Sighting,
    /// The router's log.
    pub log: Vec<String>,
}

impl Verdict {
    /// The worst silence of anybody honest under the attack.
    pub fn silence_ms(&self) -> u64 {
        let all = self.honest.iter().map(|(_, _, r)| r.worst_silence_ms());
        all.max().unwrap_or(0)
    }

    /// What of that the machine may have done.
    fn allowance_ms(&self) -> u64 {
        let all = self
            .honest
            .iter()
            .map(|(_, quiet, attacked)| quiet.worst_silence_ms() + 4 * attacked.oversleep_ms);
        all.max().unwrap_or(0).min(ALLOWANCE_MS_MAX)
    }

    /// The worst of all flows at all subscribers: messages per second with the attack, by those without.
    pub fn throughput(&self) -> f64 {
        let mut worst = f64::INFINITY;
        for (_, quiet, attacked) in &self.honest {
            let before = quiet.seen.iter().flatten();
            let after = attacked.seen.iter().flatten();
            for (before, after) in before.zip(after).filter(|(b, _)| b.received > 0) {
                let before = before.received as f64 / quiet.seconds;
                worst = worst.min(after.received as f64 / attacked.seconds / before);
            }
        }
        worst
    }

    pub fn growth_mib(&self) -> u64 {
        self.attacked.memory.saturating_sub(self.quiet.memory) / MIB
    }

    /// What was lost (under Block), doubled, reordered, forged, refused or unanswered, in words.
    fn wrongs(&self) -> Vec<String> {
        let mut wrongs = Vec::new();
        for (name, quiet, report) in &self.honest {
            let mut wrong = |count: u64, what: &str| {
                if count > 0 {
                    wrongs.push(format!("{name}: {count} {what}"));
                }
            };
            for report in [quiet, report] {
                wrong(report.forged, "forged");
                wrong(report.refused, "puts refused");
                wrong(report.unanswered, "questions without their answer");
                for (subscriber, flows) in report.seen.iter().enumerate() {
                    for (flow, seen) in flows.iter().enumerate() {
                        let place =
                            |what| format!("{what} of flow {flow} at subscriber {subscriber}");
                        if report.blocks.get(flow) == Some(&true) {
                            wrong(seen.lost, &place("lost"));
                        }
                        wrong(seen.doubled, &place("doubled"));
                        wrong(seen.reordered, &place("reordered"));
                    }
                }
            }
        }
        wrongs
    }

    /// Prints the figures, and fails with all that is beyond the bounds.
    #[track_caller]
    pub fn holds(&self, bounds: &Bounds) {
        println!("{self}");
        let mut broken = self.wrongs();
        let mut check = |holds: bool, what: String| {
            if !holds {
                broken.push(what);
            }
        };
        let (silence, allowance) = (self.silence_ms(), self.allowance_ms());
        check(
            silence <= bounds.silence_ms + allowance,
            format!(
                "silence of {silence} ms, {} and {allowance} for the machine are allowed",
                bounds.silence_ms
            ),
        );
        check(
            self.throughput() >= bounds.throughput,
            format!(
                "throughput x{:.3}, x{} is the least",
                self.throughput(),
                bounds.throughput
            ),
        );
        check(
            self.growth_mib() <= bounds.growth_mib,
            format!(
                "{} MiB more memory, {} are allowed",
                self.growth_mib(),
                bounds.growth_mib
            ),
        );
        let beyond = self.attacked.descriptors_beyond;
        check(
            beyond <= bounds.descriptors,
            format!(
                "{beyond} descriptors beyond two for each connection, {} are allowed",
                bounds.descriptors
            ),
        );
        check(
            self.log.len() <= bounds.lines,
            format!(
                "{} lines in the log, {} are allowed; the last ones: {:#?}",
                self.log.len(),
                bounds.lines,
                self.log.iter().rev().take(5).collect::<Vec<_>>()
            ),
        );
        assert!(broken.is_empty(), "beyond the bounds: {broken:#?}\n{self}");
    }
}

impl Display for Verdict {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (name, quiet, attacked) in &self.honest {
            for (when, report) in [("without", quiet), ("attacked", attacked)] {
                writeln!(
                    f,
                    "  {name} {when} ({:.1} s): silence {} ms, put {} ms, answer {} ms, token {} ms, oversleep {} ms, published {:?}",
                    report.seconds,
                    report.worst_silence_ms(),
                    report.put_ms,
                    report.question_ms,
                    report.token_ms,
                    report.oversleep_ms,
                    report.published,
                )?;
                for (subscriber, flows) in report.seen.iter().enumerate() {
                    write!(f, "    subscriber {subscriber}:")?;
                    for flow in flows {
                        write!(f, " {} (silent {} ms)", flow.received, flow.silence_ms)?;
                    }
                    writeln!(f)?;
                }
            }
        }
        for (when, seen) in [("without", &self.quiet), ("attacked", &self.attacked)] {
            writeln!(
                f,
                "  router {when}: {} MiB, {} descriptors with {} connections ({} beyond two each), {:.2} s of processor",
                seen.memory / MIB,
                seen.descriptors,
                seen.connections,
                seen.descriptors_beyond,
                seen.processor,
            )?;
        }
        write!(
            f,
            "  verdict: silence {} ms (machine {}), throughput x{:.3}, memory +{} MiB, {} lines of log",
            self.silence_ms(),
            self.allowance_ms(),
            self.throughput(),
            self.growth_mib(),
            self.log.len(),
        )
    }
}
