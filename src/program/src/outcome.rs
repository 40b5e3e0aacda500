// SPDX-License-Identifier: MIT OR Apache-2.0
//! End of a program: exit code 0 when all went well, 1 for a failure at run time, 2 for bad usage,
//! with one line on standard error, and a second one if there is a hint. Failures of output:
//! [`output`](crate::output).

use std::env;
use std::error::Error;
use std::fmt::{self, Arguments};
use std::process::{self, ExitCode};

use clap::Parser;
use clap::error::ErrorKind;

pub use crate::one_line::one_line;
use crate::output::{complain, print, written};
use crate::{fitted, mistyped};

/// Error of a program that ends without having done its work.
#[derive(Debug)]
pub enum Failure {
    /// The command line or a configuration value is wrong: exit code 2.
    Usage(String),
    /// Something failed while the program ran: exit code 1.
    Run(String),
    /// The result is that there is none, which the program has printed already: exit code 1.
    NoResult,
}

impl Failure {
    /// Returns the exit code that a shell sees.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Usage(_) => 2,
            Failure::Run(_) | Failure::NoResult => 1,
        }
    }

    /// Creates a failure at run time from `error` and the action that failed.
    pub fn doing(what: impl fmt::Display, error: impl fmt::Display) -> Self {
        Failure::Run(format!("{what}: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Failure::Usage(text) | Failure::Run(text) => text,
            Failure::NoResult => "no result",
        };
        f.write_str(&text.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

/// Any library error that reaches the end of a program is a failure at run time.
impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(c) = cause {
            let c_text = c.to_string();
            if !text.contains(&c_text) {
                text = format!("{text}: {c_text}");
            }
            cause = c.source();
        }
        Failure::Run(text)
    }
}

/// Reads the command line and runs `program` with it.
pub fn run<P: Parser>(program: impl FnOnce(P) -> Result<(), Failure>) -> ExitCode {
    finish(program(parse()))
}

/// Turns the result into the exit code, after printing the failure.
pub fn finish(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !matches!(failure, Failure::NoResult) {
                print_error(&failure.to_string());
            }
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Prints an error in one line, and the name that was probably meant in a second one: `hint: ...`.
fn print_error(error: &str) {
    let parts = error.rsplit_once("; did you mean ");
    let parts = parts.and_then(|(text, end)| Some((text, end.rsplit_once('?')?)));
    match parts {
        Some((text, (name, rest))) => {
            complain(format_args!("error: {text}{rest}"));
            complain(format_args!("hint: did you mean {name}?"));
        }
        None => complain(format_args!("error: {error}")),
    }
}

/// Parses the command line as `P`. Help and version are printed in full and end the program;
/// a usage error ends it with one line, a hint if there is one, and exit code 2.
pub fn parse<P: Parser>() -> P {
    let mut command = fitted(P::command());
    let parsed = command.try_get_matches_from_mut(env::args_os());
    let parsed = parsed.and_then(|matches| P::from_arg_matches(&matches));
    parsed.unwrap_or_else(|mut error| {
        // Help and version.
        if !error.use_stderr() {
            written(error.print());
            process::exit(0);
        }
        // A usage error, in one line.
        if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            let _ = error.print();
        } else {
            mistyped::leave_out_hidden(&mut error, &command, env::args().skip(1));
            let text = one_line(&error);
            match mistyped::meant(&error, &command, env::args().skip(1)) {
                Some(meant) => {
                    let text = text.split(';').next().unwrap_or(&text);
                    print_error(&format!("{text}; did you mean '{meant}'?"));
                }
                None => print_error(&text),
            }
        }
        process::exit(2)
    })
}

/// Prints text of several lines, each as [`print()`] does.
pub fn print_lines(text: Arguments<'_>) {
    let text = text.to_string();
    text.lines().for_each(|line| print(format_args!("{line}")));
}
