// SPDX-License-Identifier: MIT OR Apache-2.0
//! The message path on one thread, without a driver and without results that depend on a clock: the
//! program that `tests/instructions` runs under callgrind.
//!
//! ```text
//! zonda-probe [--seed copy|syscall] [--messages MOST] [CASE...]
//! zonda-probe --about
//! ```
//!
//! Everything that is measured lies between two calls of [`boundary`], at which callgrind writes
//! its counts out; the names and numbers of messages are printed at the end, in the order of the
//! parts. A seed adds work to each message that the counts must show.
#![forbid(unsafe_code)]

mod cases;
mod seed;
mod wire;

use std::hint::black_box;
use std::process::ExitCode;

use seed::Seed;

/// Marks the start of a part for callgrind. The argument keeps two calls from becoming one.
#[inline(never)]
pub fn boundary(number: usize) {
    black_box(number);
}

/// The parts that were measured, in their order.
#[derive(Default)]
pub struct Parts {
    measured: Vec<(String, u64)>,
    boundaries: usize,
}

impl Parts {
    /// Measures `work` as a part of `case`, which handles `messages` messages.
    pub fn measure(&mut self, case: &str, messages: u64, work: impl FnOnce()) {
        boundary(self.boundaries);
        work();
        boundary(self.boundaries + 1);
        self.boundaries += 2;
        self.measured.push((case.to_owned(), messages));
    }
}

fn run(arguments: &[String]) -> Result<(), String> {
    // Arguments: flags, and names of cases.
    let (mut seed, mut most) = (Seed::None, u64::MAX);
    let mut wanted = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--about" => {
                println!("{}", about());
                return Ok(());
            }
            "--seed" => seed = rest.next().ok_or("--seed needs copy or syscall")?.parse()?,
            "--messages" => {
                let number = rest.next().and_then(|n| n.parse().ok());
                most = number.ok_or("--messages needs a number")?;
            }
            name => wanted.push(name.to_owned()),
        }
    }
    // The wanted cases, or all of them.
    let mut parts = Parts::default();
    for case in cases::all(seed, most) {
        if wanted.is_empty() || wanted.iter().any(|name| *name == case.name) {
            case.run(&mut parts)?;
        }
    }
    if parts.measured.is_empty() {
        let known: Vec<&str> = cases::all(seed, most)
            .iter()
            .map(|case| case.name)
            .collect();
        return Err(format!("no such case: try one of {}", known.join(", ")));
    }
    // Callgrind's parts belong to these lines in their order.
    for (case, messages) in &parts.measured {
        println!("{messages} {case}");
    }
    Ok(())
}

/// Returns the properties of the processor that the counts depend on: the target features of the
/// build and the features that the C library detects.
fn about() -> String {
    let compiled = [
        ("sse4.2", cfg!(target_feature = "sse4.2")),
        ("avx2", cfg!(target_feature = "avx2")),
        ("avx512f", cfg!(target_feature = "avx512f")),
    ];
    let names = compiled
        .iter()
        .filter(|(_, has)| *has)
        .map(|(name, _)| *name);
    let names: Vec<&str> = std::iter::once(std::env::consts::ARCH)
        .chain(names)
        .collect();
    format!("{}\n{}", names.join(" "), found())
}

#[cfg(target_arch = "x86_64")]
fn found() -> String {
    let found = [
        ("avx2", std::arch::is_x86_feature_detected!("avx2")),
        ("avx512f", std::arch::is_x86_feature_detected!("avx512f")),
        ("ermsb", std::arch::is_x86_feature_detected!("ermsb")),
    ];
    let found: Vec<&str> = found.iter().filter(|(_, has)| *has).map(|f| f.0).collect();
    found.join(" ")
}

#[cfg(not(target_arch = "x86_64"))]
fn found() -> String {
    "nothing asked".into()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("zonda-probe: {error}");
            ExitCode::from(2)
        }
    }
}
