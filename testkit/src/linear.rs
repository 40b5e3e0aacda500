// SPDX-License-Identifier: MIT OR Apache-2.0
//! Check of a history of one key: is there an order in which a register gives these answers?
//!
//! The search is that of Wing and Gong: an operation may come next if no other one that is left has
//! ended before it began. States that were searched are not searched again. A crash may undo writes
//! that were not acknowledged before it, the last ones first, and no other.

use std::collections::{HashSet, VecDeque};

/// Steps of a search, at most.
const STEPS_MAX: usize = 4_000_000;

/// Value of a key; `None` if it has none.
pub type Register = Option<u64>;

/// Effect or answer of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A write, or a deletion.
    Write(Register),
    /// A read, with its answer.
    Read(Register),
    /// An end of the process that keeps the register.
    Crash,
}

/// An operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Time of its beginning.
    pub begin: u64,
    /// Time of its answer; `None` if none came: it takes effect at any later time before the next
    /// crash, or never. Each value is written once.
    pub end: Option<u64>,
    /// Effect or answer.
    pub action: Action,
}

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// There is such an order.
    Linear,
    /// There is none.
    Broken,
    /// The search was too long.
    Undecided,
}

/// State of the register after some operations.
#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    /// Number of words of operations that are all done, which `done` begins behind.
    skipped: usize,
    /// Operations that are done, a bit for each.
    done: VecDeque<u64>,
    /// Value on the disk, and those after it, which a crash may undo.
    values: Vec<Register>,
}

impl State {
    fn has(&self, number: usize) -> bool {
        let word = number / 64;
        let at = word.checked_sub(self.skipped);
        let bits = at.map(|at| self.done.get(at).copied().unwrap_or(0));
        bits.is_none_or(|bits| bits >> (number % 64) & 1 == 1)
    }

    /// Returns the number before which all operations are done.
    fn first(&self) -> usize {
        self.skipped * 64
    }

    fn current(&self) -> Register {
        self.values.last().copied().flatten()
    }

    /// Returns the state with more operations done, and these values.
    fn with(&self, numbers: impl Iterator<Item = usize>, values: Vec<Register>) -> State {
        let (mut skipped, mut done) = (self.skipped, self.done.clone());
        for number in numbers.filter(|number| !self.has(*number)) {
            let at = number / 64 - skipped;
            done.resize(done.len().max(at + 1), 0);
            done[at] |= 1 << (number % 64);
        }
        while done.front() == Some(&u64::MAX) {
            done.pop_front();
            skipped += 1;
        }
        State {
            skipped,
            done,
            values,
        }
    }

    /// Returns the states after an operation; none if its answer is not that of the register.
    fn after(&self, number: usize, history: &[Operation]) -> Vec<State> {
        let operation = &history[number];
        let with = |values| vec![self.with([number].into_iter(), values)];
        match operation.action {
            Action::Read(answer) if answer != self.current() => Vec::new(),
            Action::Read(_) => with(self.values.clone()),
            Action::Write(value) if operation.end.is_some() => with(vec![value]),
            Action::Write(value) => with([&self.values[..], &[value]].concat()),
            Action::Crash => {
                // Writes that were not answered before have no effect any more.
                let begun = |number: &usize| history[*number].begin <= operation.begin;
                let before = (self.first()..history.len()).take_while(begun);
                let lost = before.filter(|before| history[*before].end.is_none());
                let done: Vec<_> = lost.chain([number]).collect();
                let each = self.values.iter().rev();
                each.map(|value| self.with(done.iter().copied(), vec![*value]))
                    .collect()
            }
        }
    }
}

/// Returns the time by which an operation has its effect: that of its answer, or of the first one
/// that shows its value. `None` for an operation that may have no effect.
fn deadline(operation: &Operation, history: &[Operation]) -> Option<u64> {
    let shown = |it: &&Operation| match operation.action {
        Action::Write(Some(value)) => it.action == Action::Read(Some(value)),
        _ => false,
    };
    let shown = history.iter().filter(shown).filter_map(|it| it.end);
    operation.end.or_else(|| shown.min())
}

/// Returns the first deadline of operations that are sorted by their begin. One that begins after the
/// deadline of another one has a later one, or it is a write whose value was read before.
fn first_deadline(
    left: impl Iterator<Item = usize>,
    history: &[Operation],
    deadlines: &[Option<u64>],
) -> Option<u64> {
    let mut first = None;
    for number in left {
        if first.is_some_and(|first| history[number].begin > first) {
            break;
        }
        first = first.into_iter().chain(deadlines[number]).min();
    }
    first
}

/// Checks the history of one key, which has no value at its beginning. A read without an answer
/// means nothing, and is left out, as is a write without an answer whose value no read shows.
pub fn check(history: &[Operation]) -> Verdict {
    let mut sorted = history.to_vec();
    sorted.sort_by_key(|operation| operation.begin);
    let means = |it: &Operation| {
        let may_be_seen = it.action == Action::Write(None);
        may_be_seen || deadline(it, history).is_some()
    };
    sorted.retain(means);
    let history = &sorted[..];
    let deadlines: Vec<_> = history.iter().map(|it| deadline(it, history)).collect();
    let begin = State {
        skipped: 0,
        done: VecDeque::new(),
        values: vec![None],
    };
    let mut open = vec![begin];
    let mut seen = HashSet::new();
    while let Some(state) = open.pop() {
        let left = || (state.first()..history.len()).filter(|number| !state.has(*number));
        let Some(first) = first_deadline(left(), history, &deadlines) else {
            return Verdict::Linear;
        };
        if seen.len() > STEPS_MAX {
            return Verdict::Undecided;
        }
        let next = left().take_while(|number| history[*number].begin <= first);
        // The last one of them is tried first: those that were answered, from the oldest on.
        let (unanswered, answered): (Vec<_>, Vec<_>) =
            next.partition(|number| history[*number].end.is_none());
        for number in unanswered.into_iter().chain(answered.into_iter().rev()) {
            for after in state.after(number, history) {
                if seen.insert(after.clone()) {
                    open.push(after);
                }
            }
        }
    }
    Verdict::Broken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use crate::by_chance;

    fn write(begin: u64, end: u64, value: u64) -> Operation {
        let action = Action::Write(Some(value));
        let end = Some(end);
        Operation { begin, end, action }
    }

    fn deletion(begin: u64, end: u64) -> Operation {
        let action = Action::Write(None);
        let end = Some(end);
        Operation { begin, end, action }
    }

    fn read(begin: u64, end: u64, value: Register) -> Operation {
        let action = Action::Read(value);
        let end = Some(end);
        Operation { begin, end, action }
    }

    fn lost(operation: Operation) -> Operation {
        Operation {
            end: None,
            ..operation
        }
    }

    fn crash(begin: u64, end: u64) -> Operation {
        let (action, end) = (Action::Crash, Some(end));
        Operation { begin, end, action }
    }

    #[test]
    fn orders_that_exist_are_found() {
        let (one, two) = (write(0, 10, 1), write(5, 15, 2));
        let deletion = deletion(20, 30);
        for history in [
            &[][..],
            &[read(0, 1, None)],
            &[one, two, read(16, 17, Some(1))],
            &[one, two, read(16, 17, Some(2))],
            &[one, read(1, 2, None), read(3, 4, Some(1))],
            // A write without an answer takes effect late, or never.
            &[lost(one), read(20, 21, None), read(30, 31, Some(1))],
            &[lost(one), read(20, 21, None)],
            &[
                one,
                lost(deletion),
                read(40, 41, Some(1)),
                read(50, 51, None),
            ],
            // One that was seen and not acknowledged is lost by a crash.
            &[
                lost(one),
                read(2, 3, Some(1)),
                crash(4, 5),
                read(6, 7, None),
            ],
        ] {
            assert_eq!(check(history), Verdict::Linear, "{history:?}");
        }
    }

    #[test]
    fn what_no_register_answers_is_broken() {
        let deletion = deletion(20, 30);
        let (one, two) = (write(0, 10, 1), write(11, 15, 2));
        for history in [
            &[read(0, 1, Some(1))][..],
            // A stale read, a lost write, a deletion that comes back.
            &[one, two, read(16, 17, Some(1))],
            &[one, read(16, 17, None)],
            &[one, deletion, read(31, 32, Some(1))],
            // Two reads that see two writes in two orders.
            &[
                write(0, 100, 1),
                write(0, 100, 2),
                read(10, 20, Some(1)),
                read(30, 40, Some(2)),
                read(50, 60, Some(1)),
            ],
            // A crash undoes nothing that was acknowledged, and nothing before it.
            &[one, crash(20, 21), read(30, 31, None)],
            &[lost(one), two, crash(20, 21), read(30, 31, None)],
            &[
                lost(one),
                crash(4, 5),
                read(6, 7, Some(1)),
                read(8, 9, None),
            ],
        ] {
            assert_eq!(check(history), Verdict::Broken, "{history:?}");
        }
    }

    /// Returns the history of a register, with each answer at a random place of its operation.
    fn history(random: &mut Random) -> Vec<Operation> {
        let (mut values, mut time, mut history) = (vec![None], 0, Vec::new());
        for number in 1..30 {
            time += 4;
            let (begin, end) = (time - random.below(9).min(time as usize) as u64, time);
            let end = end + random.below(9) as u64;
            let mut operation = read(begin, end, values.last().copied().flatten());
            match random.below(8) {
                0..3 => {
                    values = vec![Some(number)];
                    operation.action = Action::Write(Some(number));
                }
                3 => {
                    values.push(Some(number));
                    operation = lost(write(time, end, number));
                }
                4 => {
                    values = vec![values[random.below(values.len())]];
                    operation.action = Action::Crash;
                }
                _ => {}
            }
            history.push(operation);
        }
        history
    }

    #[test]
    fn histories_of_a_register_pass_and_those_with_a_wrong_answer_do_not() {
        let mut broken = 0;
        by_chance(300, |random| {
            let mut history = history(random);
            assert_eq!(check(&history), Verdict::Linear, "{history:?}");
            let reads = |it: &&mut Operation| matches!(it.action, Action::Read(_));
            if let Some(operation) = history.iter_mut().rfind(reads) {
                operation.action = Action::Read(Some(99));
                assert_eq!(check(&history), Verdict::Broken, "{history:?}");
                broken += 1;
            }
        });
        assert!(broken > 200, "{broken}");
    }
}
