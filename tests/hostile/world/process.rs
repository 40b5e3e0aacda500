// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes whose lines are read as they come. Dropping one ends it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time limit for an expected line of a process, also on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// Maximum number of kept lines of a log; all lines are counted.
const KEPT: usize = 2000;

/// Lines of a process on standard error.
#[derive(Default)]
struct Log {
    lines: Vec<String>,
    count: usize,
}

pub struct Process {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Lines that were read while another line was expected.
    early: RefCell<VecDeque<String>>,
    log: Arc<Mutex<Log>>,
}

impl Process {
    /// Starts a process whose lines all count.
    pub fn start(command: &mut Command) -> Process {
        Process::marked(command, "")
    }

    /// Starts a process whose lines count only with this mark, which is removed.
    pub fn marked(command: &mut Command, mark: &'static str) -> Process {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("{command:?} does not start: {e}"));
        let (sender, lines) = channel();
        let output = child.stdout.take().expect("it is piped");
        each_line(output, move |line| {
            if let Some((_, line)) = line.split_once(mark) {
                // the receiver may be gone
                let _ = sender.send(line.to_owned());
            }
        });
        let log = Arc::new(Mutex::new(Log::default()));
        let noted = Arc::clone(&log);
        each_line(child.stderr.take().expect("it is piped"), move |line| {
            let mut log = noted.lock().unwrap_or_else(PoisonError::into_inner);
            log.count += 1;
            if log.lines.len() < KEPT {
                log.lines.push(line);
            }
        });
        let input = child.stdin.take();
        Process {
            child,
            input,
            lines,
            early: RefCell::default(),
            log,
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line that begins with `what`; returns the rest of it. Other lines are kept for
    /// later.
    #[track_caller]
    pub fn said(&self, what: &str) -> String {
        let mut early = self.early.borrow_mut();
        if let Some(at) = early.iter().position(|line| line.starts_with(what)) {
            let line = early.remove(at).expect("it is there");
            return line[what.len()..].to_owned();
        }
        let deadline = Instant::now() + LONG;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if line.starts_with(what) => return line[what.len()..].to_owned(),
                Ok(line) => early.push_back(line),
                Err(RecvTimeoutError::Timeout) => {
                    panic!(
                        "{what:?} was not said within {LONG:?}: {:#?}",
                        self.errors()
                    )
                }
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("it ended without {what:?}: {:#?}", self.errors())
                }
            }
        }
    }

    /// Returns true if a line that begins with `what` has come so far.
    pub fn has_said(&self, what: &str) -> bool {
        let mut early = self.early.borrow_mut();
        early.extend(self.lines.try_iter());
        early.iter().any(|line| line.starts_with(what))
    }

    /// Returns the latest line that begins with `what`, without that. Earlier lines are dropped.
    pub fn latest(&self, what: &str) -> String {
        let mut early = self.early.borrow_mut();
        early.extend(self.lines.try_iter());
        let line = early.iter().rev().find_map(|line| line.strip_prefix(what));
        let line = line.unwrap_or_default().to_owned();
        early.retain(|kept| !kept.starts_with(what));
        early.push_back(format!("{what}{line}"));
        line
    }

    /// Writes a line to its standard input.
    pub fn tell(&mut self, line: &str) {
        let input = self.input.as_mut().expect("it is open");
        // if it has ended, the next expected line does not come
        let _ = writeln!(input, "{line}");
        let _ = input.flush();
    }

    /// Sends it a signal, by name.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args(["-s", name, &self.pid().to_string()])
            .status();
        assert!(sent.is_ok_and(|status| status.success()), "no {name}");
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("it is our child").is_none()
    }

    /// Waits until it ends by itself; returns true if it succeeded.
    #[track_caller]
    pub fn ended(&mut self) -> bool {
        crate::scene::until("the process ends", || !self.is_running());
        let status = self.child.wait().expect("it is our child");
        if !status.success() {
            eprintln!("{:#?}", self.errors());
        }
        status.success()
    }

    /// Returns the first lines of its standard error; the last one counts the lines that are not
    /// kept.
    pub fn errors(&self) -> Vec<String> {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = log.lines.clone();
        for _ in lines.len()..log.count {
            lines.push(String::new());
        }
        lines
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // the end of its input ends a role
        self.input = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn each_line(from: impl Read + Send + 'static, mut take: impl FnMut(String) + Send + 'static) {
    std::thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        while matches!(from.read_until(b'\n', &mut line), Ok(1..)) {
            take(String::from_utf8_lossy(&line).trim_end().to_owned());
            line.clear();
        }
    });
}
