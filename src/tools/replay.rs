// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda replay`: publishes the recording of `zonda record`, at the times at which the messages
//! came.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use zonda::qos::CongestionControl;
use zonda::{Session, Wait};
use zonda_program::{Connection, Failure, Interrupt, REACH_HELP, Reach, complain, priority};

use super::recording::{FORMAT, Head, Message, messages};
use super::sum;

/// Time between two reports of the tool.
const PROGRESS: Duration = Duration::from_secs(10);

/// Limit of the time of a message in a recording, in seconds: ten years.
const LONGEST: f64 = 315_360_000.0;

const EXAMPLES: &str = "\
Examples:
  zonda replay walk.jsonl -e tcp/127.0.0.1:7447                at the times at which the messages came
  zonda replay walk.jsonl --speed 4 --times 10 -e tcp/127.0.0.1:7447
  zonda replay walk.jsonl --fast -e tcp/127.0.0.1:7447         as fast as they can be sent

";

/// Publish a recording again.
#[derive(Args, Clone, Debug)]
#[command(after_help = [EXAMPLES, REACH_HELP].concat())]
pub struct Replay {
    /// The recording; - is standard input
    file: PathBuf,
    /// Speed, as a multiple of the recorded one
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = speed)]
    speed: f64,
    /// As fast as the messages can be sent
    #[arg(long, conflicts_with = "speed")]
    fast: bool,
    /// Number of passes; 0 repeats until Ctrl-C
    #[arg(long, value_name = "N", default_value = "1")]
    times: u64,
    #[command(flatten)]
    connection: Connection,
}

fn speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if (0.001..=1000.0).contains(&factor) => Ok(factor),
        _ => Err("expected a number between 0.001 and 1000; see --fast".to_owned()),
    }
}

/// Progress of the tool.
struct Progress {
    messages: u64,
    said: Instant,
}

impl Replay {
    /// Publishes until the end of the recording or Ctrl-C.
    pub fn run(self) -> Result<(), Failure> {
        let interrupt = Interrupt::listen()?;
        if self.is_input() && self.times != 1 {
            return Err(Failure::Usage(
                "standard input can be read once: --times needs a file".to_owned(),
            ));
        }
        // An invalid file is reported before the session connects.
        let mut recording = Recording::open(&self.file)?;
        let session = self.connection.open()?;
        let mut reach = Reach::insist(&session)?;
        let mut progress = Progress {
            messages: 0,
            said: Instant::now(),
        };
        let mut done = 0;
        while !interrupt.happened() {
            self.play(recording, &session, &interrupt, &mut progress)?;
            reach.tell(&session);
            done += 1;
            if done == self.times {
                break;
            }
            recording = Recording::open(&self.file)?;
        }
        complain(format_args!("published {}", messages(progress.messages)));
        let reached = reach.finish(&session);
        sum::close(&session)?;
        reached
    }

    fn is_input(&self) -> bool {
        self.file == Path::new("-")
    }

    fn play(
        &self,
        mut recording: Recording,
        session: &Session,
        interrupt: &Interrupt,
        progress: &mut Progress,
    ) -> Result<(), Failure> {
        let start = Instant::now();
        while let Some(message) = recording.next()? {
            // Wait for the time of the message.
            if !self.fast {
                let after = recording.since_first(message.at) / self.speed;
                let due = start + Duration::from_secs_f64(after);
                interrupt.wait_until(due);
            }
            if interrupt.happened() {
                return Ok(());
            }
            // Publish it, and report the progress now and then.
            publish(&message, session).map_err(|failure| recording.wrong(failure))?;
            progress.messages += 1;
            if progress.said.elapsed() >= PROGRESS {
                progress.said = Instant::now();
                complain(format_args!(
                    "published {} so far",
                    messages(progress.messages)
                ));
            }
        }
        Ok(())
    }
}

fn publish(message: &Message, session: &Session) -> Result<(), Failure> {
    let urgency = priority(&message.priority.to_string()).map_err(Failure::Run)?;
    let attachment = message.attachment().map_err(Failure::Run)?;
    if message.delete {
        let delete = session.delete(&message.key).attachment(attachment);
        let delete = delete.priority(urgency).express(message.express);
        delete.congestion_control(CongestionControl::Block).wait()?;
        return Ok(());
    }
    let payload = message.payload().map_err(Failure::Run)?;
    let put = session.put(&message.key, payload).attachment(attachment);
    let put = put.encoding(message.encoding.as_str());
    let put = put.priority(urgency).express(message.express);
    put.congestion_control(CongestionControl::Block).wait()?;
    Ok(())
}

/// A recording that is being read, line by line.
struct Recording {
    name: String,
    lines: io::Lines<Box<dyn BufRead>>,
    /// The number of the line that was read last.
    line: u64,
    /// Seconds at which the replay begins: the time of the first message, where the wall clock of 0
    /// is known; else 0.
    first: Option<f64>,
}

impl Recording {
    fn open(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        // `-` is standard input.
        let input: Box<dyn BufRead> = match path == Path::new("-") {
            true => Box::new(BufReader::new(io::stdin())),
            false => {
                let file = File::open(path);
                Box::new(BufReader::new(file.map_err(|e| {
                    Failure::doing(format_args!("cannot read {name}"), e)
                })?))
            }
        };
        let mut recording = Recording {
            name,
            lines: input.lines(),
            line: 0,
            first: Some(0.0),
        };
        // The head is the first line. If it has a start time, times count from the first message.
        let head: Option<Head> = recording.read()?;
        match head {
            Some(head) if head.zonda_recording == FORMAT => {
                if head.started.is_some() {
                    recording.first = None;
                }
                Ok(recording)
            }
            Some(head) => Err(recording.wrong(format_args!(
                "format {}, this program knows {FORMAT}",
                head.zonda_recording
            ))),
            None => Err(recording.wrong("it is empty, and no recording")),
        }
    }

    /// Returns the seconds after the beginning of the replay for a message at `at`, which is never
    /// before it.
    fn since_first(&mut self, at: f64) -> f64 {
        (at - *self.first.get_or_insert(at)).max(0.0)
    }

    /// Reads the next message.
    fn next(&mut self) -> Result<Option<Message>, Failure> {
        let message: Option<Message> = self.read()?;
        match message {
            Some(message) if !(0.0..=LONGEST).contains(&message.at) => {
                Err(self.wrong(format_args!("{} is no time", message.at)))
            }
            message => Ok(message),
        }
    }

    fn read<T: serde::de::DeserializeOwned>(&mut self) -> Result<Option<T>, Failure> {
        self.line += 1;
        match self.lines.next() {
            None => Ok(None),
            Some(Err(error)) => Err(self.wrong(error)),
            Some(Ok(line)) => serde_json::from_str(&line)
                .map(Some)
                .map_err(|error| self.wrong(error)),
        }
    }

    /// Creates a failure because of the line that was read last.
    fn wrong(&self, what: impl std::fmt::Display) -> Failure {
        Failure::Run(format!("{}:{}: {what}", self.name, self.line))
    }
}
