// SPDX-License-Identifier: MIT OR Apache-2.0

//! The standard output of a program. This module writes every line of it.
//!
//! If the reader closes its end of a pipe (`| head -1`), the program ends silently with exit code
//! 0. After any other failure, such as a full disk, output is lost: the program prints an error on
//! standard error and ends with exit code 1.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};
use std::process;

use super::terminal::plain;

/// Writer to standard output. It never returns an error, but ends the program as the module
/// documentation describes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Output;

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(io::stdout()
            .write(bytes)
            .unwrap_or_else(|error| end(&error)))
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush().unwrap_or_else(|error| end(&error));
        Ok(())
    }
}

/// Prints one line at once, of [characters that can be seen](plain).
pub fn print(line: Arguments<'_>) {
    let line = line.to_string();
    let mut out = io::stdout().lock();
    written(writeln!(out, "{}", plain(&line)).and_then(|()| out.flush()));
}

/// Returns the number of columns of the terminal that standard output is; `None` if it is none.
pub fn terminal_width() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(io::stdout())?;
    Some(width.0.into())
}

/// Writes bytes to standard output at once, as they are.
pub fn write(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    written(out.write_all(bytes).and_then(|()| out.flush()));
}

/// Prints one line as [`print()`] does, on standard error.
pub fn complain(line: Arguments<'_>) {
    // A failure is ignored, because there is no other output to report it to.
    let _ = writeln!(io::stderr(), "{}", plain(&line.to_string()));
}

/// Ends the program if standard output has failed.
pub fn written(result: io::Result<()>) {
    if let Err(error) = result {
        end(&error);
    }
}

fn end(error: &io::Error) -> ! {
    if error.kind() == ErrorKind::BrokenPipe {
        process::exit(0);
    }
    complain(format_args!(
        "error: cannot write to standard output: {error}"
    ));
    process::exit(1)
}
