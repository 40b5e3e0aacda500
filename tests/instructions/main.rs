// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions that a message costs, counted by callgrind: the counts in
//! `benches/instructions.json` hold within two percent, either way, so an extra copy or system call
//! is noticed.
//!
//! Counts depend on the compiler and the C library. If these differ from the recorded ones, only
//! the relations between counts are checked; without valgrind nothing is.
#![cfg(target_os = "linux")]

mod callgrind;
mod probe;
mod record;

use std::io::Write;
use std::sync::OnceLock;

use probe::{Cost, Costs, costs, count};
use record::{BOUND_PERCENT, Surroundings, is_off};

/// Text about recording new counts.
const ANEW: &str = "if that is meant to be, benches/instructions.sh --record puts them on record";

/// Returns true if counting is possible, and prints a line otherwise.
fn can_count() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| {
        let can = callgrind::version().is_some();
        if !can {
            note("instructions are not counted: valgrind is not installed");
        }
        can
    })
}

/// Prints a line past the test harness, which captures the output of passing tests.
fn note(text: &str) {
    // a closed standard error is no reason to fail
    let _ = std::io::stderr().write_all(format!("note: {text}\n").as_bytes());
}

fn line(name: &str, now: Option<&Cost>, recorded: Option<&Cost>) -> String {
    let figures = |cost: Option<&Cost>| match cost {
        Some(c) => format!(
            "{:.1} + {:.1} + {:.1} instructions, {:.3} system calls",
            c.own, c.memory, c.other, c.system_calls
        ),
        None => "nothing".into(),
    };
    format!("{name}: {}; on record {}", figures(now), figures(recorded))
}

/// Returns the cases whose cost is not the recorded one.
fn differing(now: &Costs, recorded: &Costs, with_library: bool) -> Vec<String> {
    let mut names: Vec<&String> = now.keys().chain(recorded.keys()).collect();
    names.sort();
    names.dedup();
    let differs = |name: &&&String| {
        let (Some(now), Some(recorded)) = (now.get(**name), recorded.get(**name)) else {
            return true;
        };
        let total = with_library && is_off(now.instructions(), recorded.instructions());
        total || is_off(now.own, recorded.own) || is_off(now.system_calls, recorded.system_calls)
    };
    let wrong = names.iter().filter(differs);
    wrong
        .map(|name| line(name, now.get(*name), recorded.get(*name)))
        .collect()
}

#[test]
fn counts_are_those_on_record() {
    if !can_count() {
        return;
    }
    let here = Surroundings::here();
    if std::env::var_os("ZONDA_INSTRUCTIONS").is_some_and(|value| value == "record") {
        record::write(&here, costs());
        return note("benches/instructions.json is written");
    }
    let (there, recorded) = record::read();
    if let Some(difference) = here.differs(&there) {
        return note(&format!(
            "counts are not compared with those on record: {difference}"
        ));
    }
    let library = here.library_differs(&there);
    if let Some(difference) = &library {
        note(&format!(
            "counts of the C library are not compared with those on record: {difference}"
        ));
    }
    let wrong = differing(costs(), &recorded, library.is_none());
    assert!(
        wrong.is_empty(),
        "more than {BOUND_PERCENT} % off; {ANEW}:\n{}",
        wrong.join("\n")
    );
}

/// Returns the cost of each case with an extra added to every message.
fn seeded(seed: &str) -> Vec<(String, Cost, Cost)> {
    let seeded = count(&["--seed", seed]);
    let pair = |(name, cost): (&String, &Cost)| (name.clone(), *cost, seeded[name]);
    costs().iter().map(pair).collect()
}

/// Returns true in the long run, which also checks that these tests can fail.
fn is_long() -> bool {
    let is_long = std::env::var_os("ZONDA_LONG").is_some();
    if !is_long {
        println!("SKIPPED: a test of the long run (./check --long, or ZONDA_LONG=1)");
    }
    is_long
}

#[test]
fn an_extra_copy_is_noticed() {
    if !is_long() || !can_count() {
        return;
    }
    for (name, clean, seeded) in seeded("copy") {
        assert!(
            is_off(seeded.instructions(), clean.instructions()),
            "{}",
            line(&name, Some(&seeded), Some(&clean))
        );
    }
}

#[test]
fn an_extra_system_call_is_noticed() {
    if !is_long() || !can_count() {
        return;
    }
    for (name, clean, seeded) in seeded("syscall") {
        assert!(
            is_off(seeded.system_calls, clean.system_calls),
            "{}",
            line(&name, Some(&seeded), Some(&clean))
        );
    }
}

#[test]
fn what_one_count_says_about_another_holds_everywhere() {
    if !can_count() {
        return;
    }
    let all = costs();
    let own = |name: &str| all[name].own;
    let difference = own("put 16 B") - own("put 8 B");
    assert!(difference.abs() <= 8.0, "8 more bytes cost {difference}");
    let session = own("put 8 B") - own("node put 8 B");
    assert!(
        (0.0..own("node put 8 B") / 4.0).contains(&session),
        "the session costs {session}"
    );
    // an extra copy of the payload would be counted there
    let memory = all["put 64 KiB"].memory;
    assert!(
        memory < 2000.0,
        "{memory} to move the memory of a payload that is not copied"
    );
    for (name, cost) in all {
        let writes = match name.as_str() {
            "put express 64 B" => 1.0,
            // One write and one read of the clock, which is a system call here only.
            "put 64 KiB" => 2.0,
            _ => 0.05,
        };
        assert!(
            cost.system_calls <= writes,
            "{}",
            line(name, Some(cost), None)
        );
    }
}

#[test]
fn the_cost_of_a_message_does_not_depend_on_how_many_there_are() {
    if !can_count() {
        return;
    }
    // so many messages that the cost of a batch itself does not matter
    for (name, few) in count(&[
        "--messages",
        "1000",
        "put 8 B",
        "deliver 8 B",
        "forward 8 B",
    ]) {
        let many = costs()[&name];
        assert!(
            !is_off(few.own, many.own),
            "{}",
            line(&name, Some(&few), Some(&many))
        );
    }
}

#[test]
fn what_differs_from_the_record_is_named() {
    let cost = |own| Cost {
        own,
        memory: 10.0,
        other: 5.0,
        system_calls: 0.0,
    };
    let costs = |own| Costs::from([("put".to_owned(), cost(own))]);
    assert!(differing(&costs(100.0), &costs(101.0), true).is_empty());
    assert_eq!(differing(&costs(100.0), &costs(103.0), true).len(), 1);
    assert_eq!(differing(&costs(100.0), &Costs::new(), true).len(), 1);
    let mut other = costs(100.0);
    other.get_mut("put").expect("it is there").memory = 20.0;
    assert_eq!(differing(&other, &costs(100.0), true).len(), 1);
    assert!(differing(&other, &costs(100.0), false).is_empty());
}
