// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda record`: records publications, for `zonda replay`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use zonda::Wait;
use zonda_program::{Connection, Failure, Interrupt, complain, seconds};

use super::operands::OnKey;
use super::recording::{Head, Message};
use super::show::NOTICE;
use super::start::Start;
use super::tape::Tape;

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
        let mut tape = Tape::create(self.output.as_deref(), "recorded")?;
        let began = Instant::now();
        tape.begin(&Head::new(&key))?;
        tape.flush()?;
        let session = self.connection.open()?;
        let subscriber = session.declare_subscriber(&key).wait()?;
        let mut start = Start::new(&session, false);
        let end = self.seconds.map(zonda_runtime::after);
        let left = |tape: &Tape| self.number.is_none_or(|most| tape.messages() < most);
        let is_over = || end.is_some_and(|end| Instant::now() >= end);
        while left(&tape) && !interrupt.happened() && !is_over() {
            start.look();
            match subscriber.recv_timeout(NOTICE)? {
                Some(sample) => {
                    let at = began.elapsed().as_secs_f64();
                    tape.add(&Message::new(&sample, at), sample.payload().len())?;
                }
                // No message comes for a moment: other programs can read the file so far.
                None => tape.flush()?,
            }
            tape.say_progress();
        }
        tape.flush()?;
        complain(format_args!("{}", tape.summary()));
        subscriber.undeclare().wait()?;
        Ok(session.close().wait()?)
    }
}
