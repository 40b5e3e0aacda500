// SPDX-License-Identifier: MIT OR Apache-2.0
//! A recording that is being written.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde::Serialize;
use zonda_program::{Failure, Output, complain, plain};

use super::progress::Progress;
use super::recording::{Message, messages};

/// A recording that is being written.
pub struct Tape {
    out: BufWriter<Box<dyn Write>>,
    /// Word for its messages: recorded, exported.
    done: &'static str,
    messages: u64,
    bytes: usize,
    progress: Progress,
}

impl Tape {
    /// Begins a recording in a file, or on standard output.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn create(path: Option<&Path>, done: &'static str) -> Result<Self, Failure> {
        let out: Box<dyn Write> = match path {
            None => Box::new(Output),
            Some(path) => {
                let file = File::create(path);
                Box::new(file.map_err(|error| {
                    Failure::doing(format_args!("cannot write {}", path.display()), error)
                })?)
            }
        };
        Ok(Tape {
            out: BufWriter::new(out),
            done,
            messages: 0,
            bytes: 0,
            progress: Progress::new(),
        })
    }

    /// Writes the head.
    pub fn begin(&mut self, head: &impl Serialize) -> Result<(), Failure> {
        self.line(&serde_json::to_string(head)?)
    }

    /// Writes an object in printable characters, as a recording may go to a terminal. The escapes
    /// are JSON's: nothing is lost.
    fn line(&mut self, line: &str) -> Result<(), Failure> {
        Ok(writeln!(self.out, "{}", plain(line))?)
    }

    /// Writes a message with a payload of so many bytes.
    pub fn add(&mut self, message: &Message, bytes: usize) -> Result<(), Failure> {
        self.messages += 1;
        self.bytes += bytes;
        self.line(&message.line()?)
    }

    /// Returns the number of messages so far.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// Writes what waits: other programs can read the file so far.
    pub fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }

    /// Writes what waits, and gives a file the name that it has once it is whole.
    ///
    /// # Errors
    /// The file cannot be written, or renamed.
    pub fn finish(&mut self, names: Option<(&Path, &Path)>) -> Result<(), Failure> {
        self.flush()?;
        let Some((from, to)) = names else {
            return Ok(());
        };
        let written = File::open(from).and_then(|file| file.sync_all());
        let renamed = written.and_then(|()| std::fs::rename(from, to));
        renamed
            .map_err(|error| Failure::doing(format_args!("cannot write {}", to.display()), error))
    }

    /// Reports the messages so far, from time to time.
    pub fn say_progress(&mut self) {
        if self.progress.is_due() {
            complain(format_args!("{} so far", self.summary()));
        }
    }

    /// Describes the messages so far.
    pub fn summary(&self) -> String {
        let (messages, bytes) = (messages(self.messages), self.bytes);
        format!("{} {messages} ({bytes} bytes)", self.done)
    }
}
