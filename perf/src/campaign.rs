// SPDX-License-Identifier: MIT OR Apache-2.0
//! A campaign: every scenario with every system, in interleaved rounds, into the cells of one
//! record. The sub-commands are presets of it.

use std::fmt;
use std::path::Path;

use serde_json::{Map, Value, json};
use zonda_program::{Failure, Interrupt, complain, print_lines};

use super::link::Paths;
use super::machine;
use super::numbers::{counted, of_rounds, short};
use super::progress::Progress;
use super::record::{Cell, Record, Round, is_chosen, is_output};
use super::scenario::{Scenario, distinct};
use super::surroundings::{ENDS_EARLY, interrupt, note, warn_of_surroundings};
use super::system::{Span, System};

/// Seconds for starting and ending the programs of a round.
const AROUND: f64 = 0.5;

/// One system in one scenario, and its results.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The scenario.
    pub scenario: Scenario,
    /// The system whose programs run.
    pub system: System,
    /// The duration of a round.
    pub span: Span,
    /// The figures so far.
    pub cell: Cell,
    /// A prefix of the scenario in names.
    label: &'static str,
    has_failed: bool,
}

impl Entry {
    /// Creates an entry without figures. `label` distinguishes the kinds of scenarios of one
    /// record.
    pub fn new(label: &'static str, scenario: Scenario, system: &System, span: Span) -> Self {
        let mut cell = Cell::new(system.name.as_str(), format!("{label}{}", scenario.case()));
        cell.x = scenario.x();
        Entry {
            scenario,
            system: system.clone(),
            span,
            cell,
            label,
            has_failed: false,
        }
    }

    /// Returns the name of the entry's scenario.
    pub fn title(&self) -> String {
        format!("{}{}", self.label, self.scenario)
    }

    /// Returns true if both are systems of one comparison.
    pub fn is_beside(&self, other: &Entry) -> bool {
        self.scenario == other.scenario && self.label == other.label
    }

    /// Returns true if every word of one of the `filters`, if there are any, is part of the entry's
    /// name.
    pub fn is_wanted(&self, filters: &[String]) -> bool {
        is_chosen(&self.to_string(), filters)
    }

    /// Runs one round and returns its summary; `None` if the user ends the run. A failed entry is
    /// not run again.
    fn round(&mut self, campaign: &Campaign<'_>, interrupt: &Interrupt) -> Option<String> {
        if self.has_failed {
            return Some("not tried again".into());
        }
        match (campaign.measure)(self, interrupt) {
            Ok(mut round) => {
                // samples are large: keep them only if the record does
                if !campaign.keeps_samples {
                    round.nanos_times.clear();
                    round.messages_at_nanos.clear();
                }
                // the figures of interest depend on the scenario
                let text = match (&self.scenario, round.figure("rate")) {
                    (Scenario::Flow(_), Some(rate)) => format!("{} msg/s", short(rate)),
                    (Scenario::Trips(_) | Scenario::Raw(_), _) => round.line(&["p50", "p99"]),
                    _ => round.line(&[]),
                };
                let fault = round.fault.as_ref().map(|fault| format!(", {fault}"));
                let text = text + &fault.unwrap_or_default();
                self.cell.append(round);
                Some(text)
            }
            // the signal has ended the programs as well
            Err(_) if interrupt.happened() => None,
            Err(error) => {
                self.has_failed = true;
                self.cell.fail(error.to_string());
                Some(error.to_string())
            }
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.title(), self.system.name)
    }
}

/// Returns an entry for each scenario and each system that supports it.
pub fn entries(
    label: &'static str,
    scenarios: &[Scenario],
    systems: &[System],
    span: impl Fn(&Scenario) -> Span,
) -> Vec<Entry> {
    let mut all = Vec::new();
    for scenario in scenarios {
        let able = systems.iter().filter(|s| s.refusal(scenario).is_none());
        all.extend(able.map(|system| Entry::new(label, *scenario, system, span(scenario))));
    }
    all
}

/// Settings of a campaign.
pub struct Campaign<'a> {
    /// The sub-command's name in the record.
    pub tool: &'static str,
    /// Settings that change the meaning of the figures, in addition to those in the cells.
    pub settings: Map<String, Value>,
    /// Rounds of each entry.
    pub rounds: u32,
    /// The file of the record.
    pub json: Option<&'a Path>,
    /// True to list the entries instead of measuring them.
    pub is_list: bool,
    /// True if the record keeps latencies and readings.
    pub keeps_samples: bool,
    /// Measures an entry once.
    pub measure: &'a Measure<'a>,
}

/// A function that measures an entry once.
pub type Measure<'a> = dyn Fn(&Entry, &Interrupt) -> Result<Round, Failure> + 'a;

/// Returns the settings common to all presets, as a record keeps them.
pub fn settings(rounds: u32, span: Span, runtime: Value) -> Map<String, Value> {
    named([
        ("rounds", json!(rounds)),
        ("seconds", json!(span.seconds)),
        ("warm_up", json!(span.warm_up)),
        ("runtime", runtime),
    ])
}

/// Returns values by their names, as a record keeps settings.
pub fn named<const N: usize>(values: [(&str, Value); N]) -> Map<String, Value> {
    Map::from_iter(values.map(|(name, value)| (name.to_owned(), value)))
}

/// Result of a campaign.
#[derive(Debug)]
pub struct Outcome {
    /// The entries with their figures.
    pub entries: Vec<Entry>,
    /// The record with the cells of all entries.
    pub record: Record,
    planned: u32,
    is_whole: bool,
    /// True if the record goes to standard output and all other text does not.
    is_record_output: bool,
}

impl Campaign<'_> {
    /// Measures all rounds; `None` if the entries are only listed.
    pub fn run(&self, mut entries: Vec<Entry>) -> Result<Option<Outcome>, Failure> {
        if self.is_list {
            for entry in &entries {
                match entry.span.seconds > 0.0 {
                    true => print_lines(format_args!("{entry} ({} s)", entry.span.seconds)),
                    // a round is a number of bytes or messages, not a duration
                    false => print_lines(format_args!("{entry}")),
                }
            }
            print_lines(format_args!("{}", self.length(&entries)));
            return Ok(None);
        }
        if let Some(file) = self.json {
            // an unwritable file fails here and not after minutes of work
            Record::reserve(file)?;
        }
        let interrupt = interrupt()?;
        let _paths = Paths;
        let mut settings = self.settings.clone();
        // raw round trips carry their own transport
        let linked = entries
            .iter()
            .filter(|e| !matches!(e.scenario, Scenario::Raw(_)));
        let links = linked.map(|entry| entry.system.link);
        if let [link] = distinct(links)[..] {
            settings.insert("link".into(), json!(link.name()));
        }
        let mut record = Record::begin(self.tool, settings);
        // measure
        warn_of_surroundings();
        note(&format!("{}; {ENDS_EARLY}", self.length(&entries)));
        let is_whole = self.measure(&mut entries, &interrupt);
        // collect the cells
        record.cells = entries.iter().map(|entry| entry.cell.clone()).collect();
        record.load_average_after = machine::load_average();
        let planned = self.rounds;
        if !is_whole {
            // an entry that was never measured would be a row of dashes
            entries.retain(|entry| entry.cell.measured() > 0 || entry.cell.note.is_some());
        }
        Ok(Some(Outcome {
            entries,
            record,
            planned,
            is_whole,
            is_record_output: self.json.is_some_and(is_output),
        }))
    }

    /// Returns the expected duration, in words.
    fn length(&self, entries: &[Entry]) -> String {
        let seconds = entries
            .iter()
            .map(|e| e.span.warm_up + e.span.seconds + AROUND);
        let seconds = seconds.sum::<f64>() * f64::from(self.rounds);
        let about = match seconds {
            s if s < 90.0 => format!("{:.0} s", s.ceil()),
            s => format!("{:.0} min", (s / 60.0).ceil()),
        };
        let cells = counted(entries.len(), "cell");
        let rounds = counted(self.rounds as usize, "round");
        format!("{cells} in {rounds}, about {about}")
    }

    /// Runs all rounds; returns false if the user ended them early.
    fn measure(&self, entries: &mut [Entry], interrupt: &Interrupt) -> bool {
        let orders = (0..self.rounds as usize).map(|round| turns(entries, round, Entry::is_beside));
        let orders: Vec<usize> = orders.flatten().collect();
        let mut progress = Progress::new(orders.len());
        for at in orders {
            let entry = &mut entries[at];
            let what = entry.to_string();
            progress.begin(&what);
            match entry.round(self, interrupt) {
                Some(outcome) if !interrupt.happened() => progress.step(&what, &outcome),
                _ => return false,
            }
        }
        true
    }
}

/// Returns the order of a round: compared entries follow each other, and each round begins with
/// another one of them, so that no entry always follows the same one.
pub fn turns<E>(entries: &[E], round: usize, are_beside: impl Fn(&E, &E) -> bool) -> Vec<usize> {
    let mut order = Vec::new();
    let mut rest: Vec<usize> = (0..entries.len()).collect();
    while let Some(&first) = rest.first() {
        let is_beside = |at: &usize| are_beside(&entries[first], &entries[*at]);
        let (mut beside, others): (Vec<usize>, Vec<usize>) = rest.into_iter().partition(is_beside);
        let turn = round % beside.len().max(1);
        beside.rotate_left(turn);
        order.append(&mut beside);
        rest = others;
    }
    order
}

impl Outcome {
    /// Returns the rounds behind the figures, in words.
    pub fn rounds(&self) -> String {
        let counts = self.entries.iter().map(|entry| entry.cell.measured());
        of_measured(counts, self.planned, self.is_whole)
    }

    /// Prints the tables below one line about the machine.
    pub fn print(&self, tables: &str) {
        let text = format!("{}\n{tables}", machine::summary());
        match self.is_record_output {
            true => text
                .lines()
                .for_each(|line| complain(format_args!("{line}"))),
            false => print_lines(format_args!("{text}")),
        }
    }

    /// Writes the record; fails if a cell failed or the user ended the run early.
    pub fn finish(&self, json: Option<&Path>) -> Result<(), Failure> {
        if let Some(file) = json {
            self.record.write(file)?;
        }
        verdict(&self.entries, self.is_whole)
    }
}

/// Returns the rounds behind figures, in words, from the number in each cell.
fn of_measured(
    counts: impl Iterator<Item = usize> + Clone,
    planned: u32,
    is_whole: bool,
) -> String {
    if is_whole {
        return of_rounds(planned);
    }
    let least = counts.clone().min().unwrap_or(0);
    let most = counts.max().unwrap_or(0);
    let measured = match least == most {
        true => most.to_string(),
        false => format!("{least} to {most}"),
    };
    format!("interrupted: {measured} of {planned} rounds")
}

fn verdict(entries: &[Entry], is_whole: bool) -> Result<(), Failure> {
    let (mut failed, mut faulty) = (0, Vec::new());
    // cells that failed, and cells with faulty messages
    for entry in entries {
        let Some(why) = &entry.cell.note else {
            continue;
        };
        note(&format!("{entry}: {why}"));
        match entry.has_failed {
            true => failed += 1,
            false => faulty.push(format!("{entry} ({why})")),
        }
    }
    // faulty messages take precedence
    let all = entries.len();
    if let Some(first) = faulty.first() {
        let count = faulty.len();
        return Err(Failure::Run(format!(
            "messages went wrong in {count} of {all} cells: {first}"
        )));
    }
    match (failed, is_whole) {
        (0, true) => Ok(()),
        (0, false) => Err(Failure::Run("interrupted: only a part was measured".into())),
        _ => Err(Failure::Run(format!(
            "{failed} of {all} cells could not be measured"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::scenario::flow::{Flow, Service};
    use super::super::scenario::{Topology, distinct};
    use super::super::system::{BARE, Kind};
    use super::*;

    #[test]
    fn an_interrupted_run_says_what_was_measured_and_not_what_was_planned() {
        let counts = |all: &'static [usize]| all.iter().copied();
        assert_eq!(of_measured(counts(&[3, 3]), 3, true), "median of 3 rounds");
        let part = of_measured(counts(&[1, 1, 0]), 3, false);
        assert_eq!(part, "interrupted: 0 to 1 of 3 rounds");
        assert_eq!(
            of_measured(counts(&[2]), 3, false),
            "interrupted: 2 of 3 rounds"
        );
    }

    #[test]
    fn everybody_beside_each_other_is_first_in_turn() {
        let entries = ["a1", "b1", "a2", "a3", "b2"];
        let order = |round| {
            let turns = turns(&entries, round, |a, b| a[..1] == b[..1]);
            turns.into_iter().map(|at| entries[at]).collect::<Vec<_>>()
        };
        assert_eq!(order(0), ["a1", "a2", "a3", "b1", "b2"]);
        assert_eq!(order(1), ["a2", "a3", "a1", "b2", "b1"]);
        assert_eq!(order(3), ["a1", "a2", "a3", "b2", "b1"]);
        assert_eq!(distinct([3, 1, 3]), [3, 1]);
    }

    fn entry() -> Entry {
        let flow = Flow {
            topology: Topology::Routed,
            publishers: 1,
            subscribers: 1,
            keys: None,
            service: Service::default(),
            size: 8,
        };
        let span = Span::new(0.5, 1.0);
        let bare = System::new(BARE, Kind::Bare);
        Entry::new("throughput ", Scenario::Flow(flow), &bare, span)
    }

    #[test]
    fn filters_look_at_scenario_and_system() {
        let wanted = |filter: &str| entry().is_wanted(&[filter.to_owned()]);
        assert!(entry().is_wanted(&[]) && wanted("ROUTED 8b") && wanted("bare"));
        assert!(!wanted("zonda") && !wanted("ping") && !wanted("p2p 8B"));
    }

    #[test]
    fn one_lost_message_fails_the_run_and_is_named() {
        let (good, mut bad, mut broken) = (entry(), entry(), entry());
        let alone = std::slice::from_ref(&good);
        assert!(verdict(alone, true).is_ok());
        assert!(verdict(alone, false).is_err());
        bad.cell.note = Some("of 9 messages 1 lost".into());
        broken.cell.fail("it did not start");
        broken.has_failed = true;
        let text = |entries: &[Entry]| match verdict(entries, true) {
            Err(failure) => failure.to_string(),
            Ok(()) => String::new(),
        };
        assert_eq!(
            text(&[good.clone(), broken.clone(), bad]),
            "messages went wrong in 1 of 3 cells: throughput routed 8B bare sockets (of 9 messages 1 lost)"
        );
        assert_eq!(text(&[good, broken]), "1 of 2 cells could not be measured");
    }
}
