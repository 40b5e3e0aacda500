// SPDX-License-Identifier: MIT OR Apache-2.0
//! A process of the reference: `peer.py`, driven by lines of JSON; see there for the commands.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use crate::environment;
use crate::wait::LONG;

/// Lines of its log that are not about the other side: tests do not let it wait for scouting, nor
/// listen needlessly.
const OWN_AFFAIRS: [&str; 2] = [
    "Scouting delay elapsed before start conditions are met",
    "Starting with no listener endpoints",
];

/// A process with any number of the reference's sessions. Dropping it kills it.
pub struct Reference {
    child: RefCell<Child>,
    input: RefCell<ChildStdin>,
    lines: Receiver<Value>,
    errors: Receiver<String>,
    /// Samples that were read while another line was expected, by subscriber.
    samples: RefCell<HashMap<String, VecDeque<Value>>>,
    /// Lines that were neither answers nor samples.
    log: RefCell<Vec<String>>,
    /// Number of the last command.
    last: Cell<u64>,
    /// Number of names that were given.
    named: Cell<u64>,
    /// True if it was ended on purpose.
    killed: Cell<bool>,
}

impl Reference {
    /// Starts a process. The caller has made sure that there is an [environment](environment::python).
    pub fn start() -> Rc<Reference> {
        // the script in the interpreter of the release
        let python = environment::python().expect("the test was to be skipped");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop/peer.py");
        let mut child = Command::new(python)
            .args(["-u", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("{} does not start: {e}", python.display()));
        // lines that are no JSON are log lines
        let parsed = |line: String| serde_json::from_str(&line).unwrap_or(Value::String(line));
        let reference = Reference {
            lines: each_line(child.stdout.take().expect("it is piped"), parsed),
            errors: each_line(child.stderr.take().expect("it is piped"), |line| line),
            input: RefCell::new(child.stdin.take().expect("it is piped")),
            child: RefCell::new(child),
            samples: RefCell::default(),
            log: RefCell::default(),
            last: Cell::new(0),
            named: Cell::new(0),
            killed: Cell::new(false),
        };
        // the first answer shows that it runs
        reference.answer(0);
        Rc::new(reference)
    }

    /// Returns a name that is unique in this process.
    pub fn fresh(&self, what: &str) -> String {
        self.named.set(self.named.get() + 1);
        format!("{what} {}", self.named.get())
    }

    /// Runs a command; returns its answer, or its error.
    pub fn try_call(&self, verb: &str, command: Value) -> Result<Value, String> {
        let answer = self.answer(self.begin(verb, command));
        match answer.get("error").and_then(Value::as_str) {
            Some(error) => Err(error.to_owned()),
            None => Ok(answer),
        }
    }

    /// Sends a command; its number identifies the [answer](Reference::answer).
    pub fn begin(&self, verb: &str, mut command: Value) -> u64 {
        let n = self.last.get() + 1;
        self.last.set(n);
        command["n"] = json!(n);
        command["do"] = json!(verb);
        let written = writeln!(self.input.borrow_mut(), "{command}");
        assert!(
            written.is_ok(),
            "the reference is gone: {:?}",
            self.last_words()
        );
        n
    }

    /// Runs a command.
    pub fn call(&self, verb: &str, command: Value) -> Value {
        let what = format!("{verb} {command}");
        self.try_call(verb, command)
            .unwrap_or_else(|error| panic!("{what}: {error}"))
    }

    /// Returns the next sample of a subscriber.
    pub fn sample(&self, subscriber: &str, deadline: Instant) -> Option<Value> {
        loop {
            let queued = self
                .samples
                .borrow_mut()
                .get_mut(subscriber)
                .and_then(VecDeque::pop_front);
            if queued.is_some() {
                return queued;
            }
            let wait = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(wait) {
                Ok(line) => self.keep(line),
                Err(RecvTimeoutError::Timeout) => return None,
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("the reference ended: {:?}", self.last_words())
                }
            }
        }
    }

    /// Waits for the answer to the latest command.
    pub fn answer(&self, n: u64) -> Value {
        let deadline = Instant::now() + LONG;
        loop {
            let wait = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(wait) {
                Ok(line) if line["n"] == n => return line,
                Ok(line) => self.keep(line),
                Err(error) => panic!("no answer ({error}): {:?}", self.last_words()),
            }
        }
    }

    fn keep(&self, line: Value) {
        let Some(name) = line["sample"].as_str().map(str::to_owned) else {
            // the reference writes its log there too
            self.log.borrow_mut().push(line.to_string());
            return;
        };
        self.samples
            .borrow_mut()
            .entry(name)
            .or_default()
            .push_back(line);
    }

    /// Returns its complaints so far: violations of the protocol by the other side.
    pub fn complaints(&self) -> Vec<String> {
        if !self.killed.get() {
            // its answer comes after everything that it logged before
            self.call("hash", json!({"len": 0, "seed": 0}));
        }
        let mut complaints = self.last_words();
        complaints.retain(|line| !OWN_AFFAIRS.iter().any(|own| line.contains(own)));
        complaints
    }

    /// Kills it without a Close.
    pub fn kill(&self) {
        self.killed.set(true);
        let mut child = self.child.borrow_mut();
        child.kill().expect("it runs");
        child.wait().expect("it is this process's child");
    }

    /// Takes its log, and its lines on standard error.
    fn last_words(&self) -> Vec<String> {
        self.log.borrow_mut().extend(self.errors.try_iter());
        self.log.take()
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        let child = self.child.get_mut();
        // an error means that it has ended already
        let _ = child.kill();
        let _ = child.wait();
        if thread::panicking() {
            eprintln!("the reference said: {:?}", self.last_words());
        }
    }
}

/// Reads lines on a thread of its own, so that their writer never waits.
pub fn each_line<T: Send + 'static>(
    from: impl Read + Send + 'static,
    make: impl Fn(String) -> T + Send + 'static,
) -> Receiver<T> {
    let (line, lines) = channel();
    thread::spawn(move || {
        for text in BufReader::new(from).lines() {
            let Ok(text) = text else { return };
            if line.send(make(text)).is_err() {
                return;
            }
        }
    });
    lines
}
