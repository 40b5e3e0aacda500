// SPDX-License-Identifier: MIT OR Apache-2.0
//! The processes of a measurement: started here, read line by line, and always ended here, whatever
//! happens in between.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use zonda_program::{Failure, Interrupt};

/// The interval at which a wait for a line checks for Ctrl-C.
const NOTICE: Duration = Duration::from_millis(50);
/// The number of lines of a program's standard error that are kept for the report of its death.
const TAIL_LINES: usize = 4;
/// The time limit for the last output of a dead program.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A program to start.
#[derive(Clone, Debug)]
pub struct Program {
    /// The name in reports.
    pub name: String,
    /// The executable.
    pub executable: PathBuf,
    /// The program's command line.
    pub arguments: Vec<String>,
}

/// The next output of a program.
#[derive(Debug, PartialEq)]
pub enum ProgramOutput {
    /// A line of its standard output.
    Line(String),
    /// No line before the deadline.
    Nothing,
    /// The program has closed its output or ended.
    End,
}

/// A running program. Dropping it ends the program.
pub struct Process {
    name: String,
    child: Child,
    lines: Receiver<String>,
    errors: Arc<Mutex<VecDeque<String>>>,
    errors_end: Receiver<()>,
    interrupt: Interrupt,
}

impl Process {
    /// Starts `program` with its output and errors piped to this process. The program's standard
    /// input is a pipe that closes when this process dies, so that workers end with it.
    pub fn start(program: &Program, interrupt: &Interrupt) -> Result<Self, Failure> {
        // start it with pipes for input, output and errors
        let mut child = Command::new(&program.executable)
            // the environment must not change the configuration given by the arguments
            .env_remove("ZENOH_CONFIG")
            .env_remove("ZONDA_CFG")
            .args(&program.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| {
                let (name, file) = (&program.name, program.executable.display());
                Failure::Run(format!("cannot start {name} ({file}): {error}"))
            })?;
        // a thread for each output
        let (line, lines) = channel();
        if let Some(out) = child.stdout.take() {
            thread::spawn(move || each_line(out, |text| line.send(text).is_ok()));
        }
        let errors = Arc::new(Mutex::new(VecDeque::new()));
        let (end, errors_end) = channel();
        if let Some(err) = child.stderr.take() {
            let tail = Arc::clone(&errors);
            thread::spawn(move || {
                each_line(err, |text| keep(&tail, text));
                // the receiver may be gone
                let _ = end.send(());
            });
        }
        Ok(Process {
            name: program.name.clone(),
            child,
            lines,
            errors,
            errors_end,
            interrupt: interrupt.clone(),
        })
    }

    /// Returns its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the next line of its output, if there is one before `until`; fails if the user ends
    /// the run.
    pub fn line(&mut self, until: Instant) -> Result<ProgramOutput, Failure> {
        loop {
            self.interrupt.check()?;
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left.min(NOTICE)) {
                Ok(line) => return Ok(ProgramOutput::Line(line)),
                Err(RecvTimeoutError::Disconnected) => return Ok(ProgramOutput::End),
                Err(RecvTimeoutError::Timeout) if left <= NOTICE => {
                    return Ok(ProgramOutput::Nothing);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Parses its next line, which must come within `patience`: `duty` names its task until then,
    /// `expected` the line.
    pub fn reply<T>(
        &mut self,
        patience: Duration,
        [duty, expected]: [&str; 2],
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, Failure> {
        match self.line(Instant::now() + patience)? {
            ProgramOutput::Line(line) => parse(&line).ok_or_else(|| self.nonsense(line, expected)),
            ProgramOutput::Nothing => Err(self.late(duty, patience)),
            ProgramOutput::End => Err(self.died()),
        }
    }

    /// Returns the error of a program that has ended too early.
    pub fn died(&mut self) -> Failure {
        let status = match self.wait_briefly() {
            Some(status) => status.to_string(),
            None => "closed its output".to_owned(),
        };
        // its error pipe ends with it, unless it has left child processes
        let _ = self.errors_end.recv_timeout(LAST_WORDS);
        let tail = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let tail: Vec<&str> = tail.iter().map(String::as_str).collect();
        let words = match tail.is_empty() {
            true => "it said nothing".to_owned(),
            false => tail.join(" | "),
        };
        Failure::Run(format!("{} ended early ({status}): {words}", self.name))
    }

    /// Returns the error of a program that was too late.
    pub fn late(&self, what: &str, after: Duration) -> Failure {
        late(&self.name, what, after)
    }

    /// Returns the error of a program that has printed an unexpected line.
    pub fn nonsense(&self, line: String, expected: &str) -> Failure {
        let name = &self.name;
        Failure::Run(format!(
            "{name} said {line:?} where {expected} was expected"
        ))
    }

    /// Sends a line to the program on its standard input.
    pub fn tell(&mut self, line: &str) -> Result<(), Failure> {
        let told = match &mut self.child.stdin {
            Some(input) => writeln!(input, "{line}").and_then(|()| input.flush()),
            None => Ok(()),
        };
        told.map_err(|_| self.died())
    }

    /// Returns true while the program has not ended.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    fn wait_briefly(&mut self) -> Option<ExitStatus> {
        let until = Instant::now() + LAST_WORDS;
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(2)),
                Ok(status) => return status,
                Err(_) => return None,
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // an error means that the program has ended already
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (pid {})", self.name, self.pid())
    }
}

/// Returns the error of a `program` that did not do `what` in time.
pub fn late(program: &str, what: &str, after: Duration) -> Failure {
    Failure::Run(format!("{program} did not {what} within {after:?}"))
}

fn keep(tail: &Mutex<VecDeque<String>>, text: String) -> bool {
    let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
    if tail.len() == TAIL_LINES {
        tail.pop_front();
    }
    if !text.trim().is_empty() {
        tail.push_back(text.trim().to_owned());
    }
    true
}

/// Calls `take` with each line until the end, an error, or a return value of false.
fn each_line(from: impl Read, mut take: impl FnMut(String) -> bool) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while matches!(read_line(&mut from, &mut line), Ok(true)) {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        if !take(text) {
            return;
        }
        line.clear();
    }
}

fn read_line(from: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    Ok(from.read_until(b'\n', line)? > 0)
}
