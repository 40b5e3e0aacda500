// SPDX-License-Identifier: MIT OR Apache-2.0
//! Observations of an attack, and the bounds for them.

use std::fmt::{self, Display, Formatter};

use super::{Report, Sighting};

const MIB: u64 = 1 << 20;

/// Maximum usual delay that is subtracted: a slower machine is no excuse.
const USUAL_MS_MAX: u64 = 250;

/// Maximum delay that is subtracted for processors that other processes use.
const QUEUED_MS_MAX: u64 = 250;

/// Returns the delay that the machine, not the router, may cause within a time: a message wakes
/// four threads on its way, each of which may oversleep, and the router's threads wait for a
/// processor.
pub fn machine_ms(oversleep_ms: u64, queued_ms: u64) -> u64 {
    4 * oversleep_ms + queued_ms.min(QUEUED_MS_MAX)
}

/// Costs that an attack may have. The usual ones are what Zonda promises; a case that allows more
/// gives a reason.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The worst silence of honest clients. Delays by the machine are allowed in addition: the
    /// silence without the attack, and [`machine_ms`] of the same seconds.
    pub silence_ms: u64,
    /// Worst silence of flows of messages of 1 MiB; [`Bounds::silence_ms`] without it. They have the
    /// lowest priority, which gets the processor time that the other flows leave: the time within the
    /// silence for which a thread on their way waited for a processor is allowed in full.
    pub large_silence_ms: Option<u64>,
    /// Messages per second of each flow, relative to those without the attack.
    pub throughput: f64,
    /// Growth of the router's memory: its budget and 64 MiB.
    pub growth_mib: u64,
    /// Descriptors beyond one for each connection.
    pub descriptors: u64,
    /// Lines in the router's log.
    pub lines: u64,
}

impl Bounds {
    pub const USUAL: Bounds = Bounds {
        silence_ms: 250,
        large_silence_ms: None,
        throughput: 0.6,
        growth_mib: 64,
        descriptors: 64,
        lines: 100,
    };
}

/// Number of the last lines of the router's log that are printed.
const LINES_SHOWN: usize = 20;

/// Observations during an attack.
pub struct Verdict {
    /// Reports of each honest process: its name, the time without and with the attack.
    pub honest: Vec<(String, Report, Report)>,
    pub quiet: Sighting,
    pub attacked: Sighting,
    /// The router's log.
    pub log: Vec<String>,
    /// Log of the router behind it.
    pub far_log: Vec<String>,
    /// Lines of the honest processes about themselves.
    pub said: Vec<String>,
}

impl Verdict {
    /// Returns the worst silence of any honest client under the attack.
    pub fn silence_ms(&self) -> u64 {
        let all = self.honest.iter().map(|(_, _, r)| r.worst_silence_ms());
        all.max().unwrap_or(0)
    }

    /// Returns the worst silence without the machine's delays, apart from large messages.
    pub fn excess_ms(&self) -> u64 {
        let all = self.honest.iter().map(|(_, _, r)| r.excess_ms);
        all.max().unwrap_or(0)
    }

    /// Returns the process with that silence, and all its silences in the same time.
    pub fn excess_of(&self) -> String {
        let worst = self.honest.iter().max_by_key(|(_, _, r)| r.excess_ms);
        worst.map_or(String::new(), |(name, _, r)| {
            format!("{name}: {}", r.excess_of)
        })
    }

    /// Returns the worst silence of flows of large messages without the machine's delays.
    pub fn large_excess_ms(&self) -> u64 {
        let all = self.honest.iter().map(|(_, _, r)| r.large_excess_ms);
        all.max().unwrap_or(0)
    }

    /// Returns the worst silence without the attack.
    fn usual_ms(&self) -> u64 {
        let all = self
            .honest
            .iter()
            .map(|(_, quiet, _)| quiet.worst_silence_ms());
        all.max().unwrap_or(0).min(USUAL_MS_MAX)
    }

    /// Returns the worst ratio of all flows at all subscribers: messages per second with the
    /// attack, divided by those without. For a flow without a fixed rate the divisor is reduced by
    /// the processor time that other processes took during the attack.
    pub fn throughput(&self) -> f64 {
        let mut worst = f64::INFINITY;
        let left = (self.attacked.left() / self.quiet.left()).min(1.0);
        for (_, quiet, attacked) in &self.honest {
            let before = quiet.seen.iter().flatten();
            let after = attacked.seen.iter().flatten();
            let seen = before.zip(after).zip(quiet.rates.iter().cycle());
            for ((before, after), rate) in seen.filter(|((b, _), _)| b.received > 0) {
                let before = before.received as f64 / quiet.seconds;
                // a few messages in a short time may be one more than the rate allows
                let before = match *rate {
                    0 => before * left,
                    rate => before.min(rate.into()),
                };
                worst = worst.min(after.received as f64 / attacked.seconds / before);
            }
        }
        worst
    }

    pub fn growth_mib(&self) -> u64 {
        self.attacked.memory.saturating_sub(self.quiet.memory) / MIB
    }

    /// Returns the messages that were lost (under Block), doubled, reordered, forged, refused or
    /// unanswered, in words.
    fn wrongs(&self) -> Vec<String> {
        // the second router dialled the first one
        let lost = self.far_log.iter();
        let lost = lost.filter(|line| line.contains("lost the link to"));
        let mut wrongs: Vec<String> = lost.cloned().collect();
        for (name, quiet, report) in &self.honest {
            let mut wrong = |count: u64, what: &str| {
                if count > 0 {
                    wrongs.push(format!("{name}: {count} {what}"));
                }
            };
            // both times, with and without the attack
            for report in [quiet, report] {
                wrong(report.forged, "forged");
                wrong(report.links_lost, "links lost");
                wrong(report.refused, "puts refused");
                wrong(report.unanswered, "questions without their answer");
                for (subscriber, flows) in report.seen.iter().enumerate() {
                    for (flow, seen) in flows.iter().enumerate() {
                        let place =
                            |what| format!("{what} of flow {flow} at subscriber {subscriber}");
                        // losses count under Block only
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

    /// Prints the figures, and fails with all violations of the bounds.
    #[track_caller]
    pub fn holds(&self, bounds: &Bounds) {
        println!("{self}");
        let broken = self.broken(bounds);
        assert!(broken.is_empty(), "beyond the bounds: {broken:#?}\n{self}");
    }

    /// Returns all violations of the bounds.
    pub fn broken(&self, bounds: &Bounds) -> Vec<String> {
        let mut broken = self.harm(bounds);
        if self.throughput() < bounds.throughput {
            let (throughput, least) = (self.throughput(), bounds.throughput);
            broken.push(format!(
                "throughput x{throughput:.3}, x{least} is the least"
            ));
        }
        broken
    }

    /// Returns the exceeded bounds, except throughput, which takes a while to be measured.
    pub fn harm(&self, bounds: &Bounds) -> Vec<String> {
        let mut broken = self.wrongs();
        let mut check = |what: &str, seen: u64, most: u64| {
            if seen > most {
                broken.push(format!("{seen} {what}, {most} are allowed"));
            }
        };
        let silence = bounds.silence_ms + self.usual_ms();
        check("ms of silence", self.excess_ms(), silence);
        let large = bounds.large_silence_ms.unwrap_or(bounds.silence_ms) + self.usual_ms();
        let what = "ms of silence of large messages";
        check(what, self.large_excess_ms(), large);
        check("MiB more memory", self.growth_mib(), bounds.growth_mib);
        let beyond = self.attacked.descriptors_beyond.max(0) as u64;
        check(
            "descriptors beyond one for each connection",
            beyond,
            bounds.descriptors,
        );
        check("lines in the log", self.log.len() as u64, bounds.lines);
        if self.log.len() as u64 > bounds.lines {
            broken.extend(self.log.iter().rev().take(5).cloned());
        }
        broken
    }

    /// Returns the verdict in a line.
    pub fn in_short(&self) -> String {
        format!(
            "silence {} ms (beyond the machine's: {}, large messages {}), throughput x{:.3}, memory +{} MiB, {} descriptors with {} connections, {} lines of log",
            self.silence_ms(),
            self.excess_ms(),
            self.large_excess_ms(),
            self.throughput(),
            self.growth_mib(),
            self.attacked.descriptors,
            self.attacked.connections,
            self.log.len(),
        )
    }
}

impl Display for Verdict {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // honest processes, without and with the attack
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
        // the router's usage
        for (when, seen) in [("without", &self.quiet), ("attacked", &self.attacked)] {
            writeln!(
                f,
                "  router {when}: {} MiB, {} descriptors with {} connections ({} beyond one each), {:.2} s of processor, {} ms without one, {:.2} s elsewhere",
                seen.memory / MIB,
                seen.descriptors,
                seen.connections,
                seen.descriptors_beyond,
                seen.processor,
                seen.queued_ms,
                seen.elsewhere,
            )?;
        }
        // last lines of the logs
        let last = self.log.len().saturating_sub(LINES_SHOWN);
        for line in &self.log[last..] {
            writeln!(f, "  log: {line}")?;
        }
        for (lines, whose) in [(&self.far_log, "far log"), (&self.said, "honest")] {
            let last = lines.len().saturating_sub(LINES_SHOWN);
            for line in &lines[last..] {
                writeln!(f, "  {whose}: {line}")?;
            }
        }
        write!(f, "  verdict: {}", self.in_short())
    }
}
