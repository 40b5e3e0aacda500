// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda replay`: publishes the recording of `zonda record`, at the times at which the messages
//! came.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use zonda::qos::CongestionControl;
use zonda::{Session, Wait};
use zonda_program::{Connection, Failure, Interrupt, REACH_HELP, Reach, complain, priority};

use super::progress::Progress;
use super::recording::{Message, Recording, messages};
use super::sum;

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

/// Messages that are published, and the reports of their number and of missing receivers.
struct Published {
    messages: u64,
    progress: Progress,
    reach: Reach,
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
        let mut published = Published {
            messages: 0,
            progress: Progress::new(),
            reach: Reach::insist(&session)?,
        };
        let mut done = 0;
        while !interrupt.happened() {
            self.play(recording, &session, &interrupt, &mut published)?;
            done += 1;
            if done == self.times {
                break;
            }
            recording = Recording::open(&self.file)?;
        }
        complain(format_args!("published {}", messages(published.messages)));
        let reached = published.reach.finish(&session);
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
        published: &mut Published,
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
            // Publish it, and report the progress now and then. Afterwards the receiver may have left
            // with the message it waited for.
            published.reach.tell(session);
            publish(&message, session).map_err(|failure| recording.wrong(failure))?;
            published.messages += 1;
            if published.progress.is_due() {
                let messages = messages(published.messages);
                complain(format_args!("published {messages} so far"));
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
