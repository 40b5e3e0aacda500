// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs of the built programs: to their end, or line by line with a deadline.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Time limit for every step of a program.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// Returns the path of the `zonda` command.
pub fn zonda() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_zonda"))
}

/// Returns the path of an example, which is built into a folder next to the command.
pub fn example(name: &str) -> PathBuf {
    let folder = zonda().parent().map(|bin| bin.join("examples"));
    let file = folder.expect("the command lies in a folder").join(name);
    let file = file.with_extension(std::env::consts::EXE_EXTENSION);
    assert!(
        file.is_file(),
        "{} is not built: cargo build --examples",
        file.display()
    );
    file
}

/// End of a program.
#[derive(Debug)]
pub struct Ended {
    /// Exit code; `None` if a signal killed the program.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Ended {
    /// Returns the lines of standard error, without the warning that the other end has closed the
    /// link: a receiver that has all its samples may end before the sender does.
    pub fn own_errors(&self) -> Vec<&str> {
        let lines = self.err.lines();
        lines
            .filter(|line| !line.contains(": lost the link to "))
            .collect()
    }
}

/// Runs a program to its end, with nothing on its standard input.
pub fn run(program: &Path, arguments: &[&str]) -> Ended {
    let mut running = Running::start(program, arguments);
    drop(running.input.take());
    let status = running.end();
    let out: Vec<String> = running.lines.iter().collect();
    let err: Vec<String> = running.errors.iter().collect();
    Ended {
        code: status.code(),
        out: out.join("\n"),
        err: err.join("\n"),
    }
}

/// A running program. Dropping it ends it.
pub struct Running {
    child: Child,
    /// Standard input of the program.
    pub input: Option<ChildStdin>,
    /// Lines of its standard output.
    pub lines: Receiver<String>,
    /// Lines of its standard error.
    pub errors: Receiver<String>,
}

impl Running {
    /// Starts a program.
    pub fn start(program: &Path, arguments: &[&str]) -> Running {
        let mut child = Command::new(program)
            .args(arguments)
            .env_remove("ZENOH_CONFIG")
            .env_remove("ZONDA_CFG")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("{} does not start: {e}", program.display()));
        let lines = each_line(child.stdout.take().expect("it is piped"));
        let errors = each_line(child.stderr.take().expect("it is piped"));
        let input = child.stdin.take();
        Running {
            child,
            input,
            lines,
            errors,
        }
    }

    /// Returns its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the next line of its output.
    pub fn line(&mut self) -> String {
        self.lines.recv_timeout(DEADLINE).unwrap_or_else(|_| {
            let errors: Vec<String> = self.errors.try_iter().collect();
            panic!("no line came; on standard error: {errors:?}")
        })
    }

    /// Returns the next line of its standard error.
    pub fn error(&mut self) -> String {
        let line = self.errors.recv_timeout(DEADLINE);
        line.expect("a line on standard error")
    }

    /// Returns the first line for which `wanted` holds.
    pub fn line_where(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        while start.elapsed() < DEADLINE {
            let line = self.line();
            if wanted(&line) {
                return line;
            }
        }
        panic!("the line did not come");
    }

    /// Returns the part of a later line that follows `prefix`.
    pub fn after(&mut self, prefix: &str) -> String {
        let line = self.line_where(|l| l.starts_with(prefix));
        line.strip_prefix(prefix).unwrap_or_default().to_owned()
    }

    /// Waits until it ends by itself.
    pub fn end(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it is our child") {
                return status;
            }
            if start.elapsed() > DEADLINE {
                let out: Vec<String> = self.lines.try_iter().collect();
                let err: Vec<String> = self.errors.try_iter().collect();
                panic!("still running after {DEADLINE:?}; output {out:?}, errors {err:?}");
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Sends it a signal, such as `TERM`.
    #[cfg(unix)]
    pub fn signal(&self, name: &str) {
        let pid = self.pid().to_string();
        let sent = Command::new("kill")
            .args([&format!("-{name}"), &pid])
            .status();
        assert!(
            sent.is_ok_and(|s| s.success()),
            "cannot send {name} to {pid}"
        );
    }
}

impl Running {
    /// Kills the program. Its output can still be read.
    pub fn stop(&mut self) {
        // an error means that it has ended already
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Runs a program whose standard output has lost its reader: the pipe is closed before it writes.
pub fn run_unread(program: &Path, arguments: &[&str]) -> Ended {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    run_into(program, arguments, writer)
}

/// Runs a program that writes its standard output to a full disk.
#[cfg(target_os = "linux")]
pub fn run_full(program: &Path, arguments: &[&str]) -> Ended {
    let full = std::fs::File::options().write(true).open("/dev/full");
    run_into(program, arguments, full.expect("a disk that is full"))
}

fn run_into(program: &Path, arguments: &[&str], writer: impl Into<Stdio>) -> Ended {
    let out = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(Stdio::piped())
        .output();
    let out = out.unwrap_or_else(|e| panic!("{} does not start: {e}", program.display()));
    let err = String::from_utf8_lossy(&out.stderr).into_owned();
    Ended {
        code: out.status.code(),
        out: String::new(),
        err,
    }
}

fn each_line(from: impl Read + Send + 'static) -> Receiver<String> {
    let (line, lines) = channel();
    thread::spawn(move || {
        for text in BufReader::new(from).lines() {
            let Ok(text) = text else { return };
            if line.send(text).is_err() {
                return;
            }
        }
    });
    lines
}
