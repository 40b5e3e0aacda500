// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda record`: records publications, for `zonda replay`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use zonda::Wait;
use zonda::sample::Sample;
use zonda_program::{Connection, Failure, Interrupt, Output, complain, plain, seconds};

use super::operands::OnKey;
use super::recording::{Head, Message, messages};
use super::show::NOTICE;
use super::start::Start;

/// Time between two reports of the tool.
const PROGRESS: Duration = Duration::from_secs(10);

const HELP: &str = "\
Examples:
  zonda record 'robot/**' -e tcp/127.0.0.1:7447 > walk.jsonl             until Ctrl-C
  zonda record 'robot/**' -e tcp/127.0.0.1:7447 -o walk.jsonl --seconds 60
  zonda replay walk.jsonl -e tcp/127.0.0.1:7447                          publishes it again

A recording is text: one JSON object per line, with the seconds since the beginning, the key and the payload. The first line has the \
time of the beginning (UTC); a message that carries a timestamp keeps it.

Exit code: 0 when done, also by Ctrl-C; 1 for a failure at run time; 2 for bad usage.";

/// Record publications with the times at which they came.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Record {
    #[command(flatten)]
    what: OnKey,
    /// The file to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Leave after so many messages [default: never]
    #[arg(short, long, value_name = "MESSAGES")]
    number: Option<u64>,
    /// Leave after this time [default: never]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    seconds: Option<Duration>,
    #[command(flatten)]
    connection: Connection,
}

impl Record {
    /// Records until Ctrl-C, the number or the time.
    pub fn run(self) -> Result<(), Failure> {
        let interrupt = Interrupt::listen()?;
        let key = self.what.or_all()?;
        let mut tape = Tape::new(self.output()?);
        tape.line(&serde_json::to_string(&Head::new(&key))?)?;
        tape.out.flush()?;
        let session = self.connection.open()?;
        let subscriber = session.declare_subscriber(&key).wait()?;
        let mut start = Start::new(&session, false);
        let end = self.seconds.map(zonda_runtime::after);
        let left = |tape: &Tape| self.number.is_none_or(|most| tape.messages < most);
        let is_over = || end.is_some_and(|end| Instant::now() >= end);
        while left(&tape) && !interrupt.happened() && !is_over() {
            start.look();
            match subscriber.recv_timeout(NOTICE)? {
                Some(sample) => tape.add(&sample)?,
                // No message comes for a moment: other programs can read the file so far.
                None => tape.out.flush()?,
            }
            tape.say_progress();
        }
        tape.out.flush()?;
        complain(format_args!("{}", tape.summary()));
        subscriber.undeclare().wait()?;
        Ok(session.close().wait()?)
    }

    fn output(&self) -> Result<Box<dyn Write>, Failure> {
        let Some(path) = &self.output else {
            return Ok(Box::new(Output));
        };
        let file = File::create(path);
        let file =
            file.map_err(|e| Failure::doing(format_args!("cannot write {}", path.display()), e))?;
        Ok(Box::new(file))
    }
}

/// A recording that is being written.
struct Tape {
    out: BufWriter<Box<dyn Write>>,
    start: Instant,
    messages: u64,
    bytes: usize,
    said: Instant,
}

impl Tape {
    fn new(out: Box<dyn Write>) -> Self {
        Tape {
            out: BufWriter::new(out),
            start: Instant::now(),
            messages: 0,
            bytes: 0,
            said: Instant::now(),
        }
    }

    /// Writes an object in printable characters, as a recording may go to a terminal. The escapes
    /// are JSON's: nothing is lost.
    fn line(&mut self, line: &str) -> Result<(), Failure> {
        Ok(writeln!(self.out, "{}", plain(line))?)
    }

    fn add(&mut self, sample: &Sample) -> Result<(), Failure> {
        let at = self.start.elapsed().as_secs_f64();
        self.messages += 1;
        self.bytes += sample.payload().len();
        self.line(&Message::new(sample, at).line()?)
    }

    fn say_progress(&mut self) {
        if self.said.elapsed() >= PROGRESS {
            self.said = Instant::now();
            complain(format_args!("{} so far", self.summary()));
        }
    }

    fn summary(&self) -> String {
        let (messages, bytes) = (messages(self.messages), self.bytes);
        format!("recorded {messages} ({bytes} bytes)")
    }
}
