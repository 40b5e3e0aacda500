// SPDX-License-Identifier: MIT OR Apache-2.0
//! Encodes or decodes one message many times, ours or the reference's, and prints nothing: a program to be
//! counted. `benches/instructions.sh` runs it under callgrind at two counts and takes the difference.
//!
//! ```text
//! codec_instructions <ours|theirs> <push8|push8-block|push1k|declare|request> <encode|decode> <count>
//! ```

#[path = "../benches/cases/mod.rs"]
mod cases;

use std::{hint::black_box, process::ExitCode};

use cases::{Case, Ours, Theirs};

fn run(arguments: &[String]) -> Result<(), String> {
    let [side, case, direction, count] = arguments else {
        return Err("expected: ours|theirs CASE encode|decode COUNT".to_owned());
    };
    let case = Case::named(case).ok_or_else(|| {
        let known: Vec<&str> = Case::ALL.iter().map(|case| case.name()).collect();
        format!("no case {case:?}: try one of {}", known.join(", "))
    })?;
    let count: u64 = count
        .parse()
        .map_err(|_| format!("count {count:?} is not a number"))?;
    match (side.as_str(), direction.as_str()) {
        ("ours", "encode") => {
            let mut ours = Ours::new(case);
            (0..count).for_each(|_| {
                black_box(ours.encode());
            });
        }
        ("ours", "decode") => {
            let ours = Ours::new(case);
            (0..count).for_each(|_| ours.decode());
        }
        ("theirs", "encode") => {
            let mut theirs = Theirs::new(case);
            (0..count).for_each(|_| {
                black_box(theirs.encode());
            });
        }
        ("theirs", "decode") => {
            let mut theirs = Theirs::new(case);
            (0..count).for_each(|_| theirs.decode());
        }
        _ => {
            return Err(format!(
                "no {side:?} {direction:?}: ours|theirs, encode|decode"
            ));
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("codec_instructions: {error}");
            ExitCode::from(2)
        }
    }
}
