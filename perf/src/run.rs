// SPDX-License-Identifier: MIT OR Apache-2.0
//! What every measurement does around its rounds: it says what makes its figures worth less and how long it takes, lets
//! the contenders take turns, and says in the end whether all could be measured.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use zonda_program::{Failure, Interrupt};

use super::machine;
use super::progress::Progress;

/// What Ctrl-C does, behind the length of a run.
pub const ENDS_EARLY: &str = "Ctrl-C ends it early and keeps what there is";

/// Takes over Ctrl-C.
pub fn interrupt() -> Result<Interrupt, Failure> {
    Interrupt::listen().map_err(|e| Failure::doing("catching Ctrl-C", e))
}

/// One line on standard error, for what is no failure.
pub fn note(text: &str) {
    // a closed standard error is no reason to stop
    let _ = writeln!(io::stderr(), "note: {text}");
}

/// Says what makes the figures worth less.
pub fn warn_of_surroundings() {
    if cfg!(debug_assertions) {
        note("this is a debug build; for real figures build with --release");
    }
    let load = machine::load_average()
        .and_then(|l| l.first().copied())
        .unwrap_or(0.0);
    if load > 0.3 * machine::cores() as f64 {
        note(&format!(
            "load average {load:.1} on {} CPUs: other programs disturb these figures",
            machine::cores()
        ));
    }
}

/// How long it takes, in words. A round of all cells takes `seconds`.
pub fn length(cells: usize, rounds: u32, seconds: f64) -> String {
    let minutes = (seconds * f64::from(rounds) / 60.0).ceil();
    format!("{cells} cells in {rounds} rounds, about {minutes} min")
}

/// The order of a round: those that are beside each other follow each other, and each round begins with another one of
/// them, so that nobody always has the same neighbour in front.
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

/// Measures each entry in the `orders` of the rounds, with its progress; false if the user ended that early.
pub fn all<E>(
    entries: &mut [E],
    orders: &[Vec<usize>],
    interrupt: &Interrupt,
    name: impl Fn(&E) -> String,
    mut measure: impl FnMut(&mut E) -> Result<String, Failure>,
) -> Result<bool, Failure> {
    let mut progress = Progress::new(orders.iter().map(Vec::len).sum());
    for &at in orders.iter().flatten() {
        let Some(entry) = entries.get_mut(at) else {
            continue;
        };
        let what = name(entry);
        progress.begin(&what);
        let outcome = measure(entry);
        if interrupt.happened() {
            return Ok(false);
        }
        progress.step(&what, &outcome?);
    }
    Ok(true)
}

/// A failure if one of the cells had trouble, each of which is noted.
pub fn verdict(troubles: impl IntoIterator<Item = Option<String>>) -> Result<(), Failure> {
    let (mut cells, mut failed) = (0, 0);
    for trouble in troubles {
        cells += 1;
        if let Some(trouble) = trouble {
            note(&trouble);
            failed += 1;
        }
    }
    match failed {
        0 => Ok(()),
        n => Err(Failure::Run(format!(
            "{n} of {cells} cells could not be measured"
        ))),
    }
}

/// A failure if the user ended the run early.
pub fn whole(is_whole: bool) -> Result<(), Failure> {
    match is_whole {
        true => Ok(()),
        false => Err(Failure::Run("interrupted: only a part was measured".into())),
    }
}

/// A file cannot be written; the flag `other` would name another one.
pub fn cannot_write(file: &Path, error: impl fmt::Display, other: &str) -> Failure {
    Failure::Run(format!(
        "cannot write {}: {error}; {other} writes elsewhere",
        file.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }

    #[test]
    fn trouble_fails_a_run() {
        assert!(verdict([None, None]).is_ok() && whole(true).is_ok());
        let failure = verdict([None, Some("it did not start".into())]);
        let failure = failure.expect_err("one has failed").to_string();
        assert_eq!(failure, "1 of 2 cells could not be measured");
        assert!(whole(false).is_err());
        assert_eq!(length(4, 5, 30.0), "4 cells in 5 rounds, about 3 min");
    }
}
