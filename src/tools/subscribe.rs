// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda sub`: prints the samples on a key expression.

use clap::Args;
use serde_json::json;
use zonda::Wait;
use zonda::sample::Sample;
use zonda_program::{Connection, Failure, Interrupt, print};

use super::operands::OnKey;
use super::show::{self, Look, each};
use super::start::Start;

const HELP: &str = "\
Examples:
  zonda sub 'demo/**' -l tcp/127.0.0.1:7450                from all that connect here
  zonda sub 'demo/**' -m client -e tcp/127.0.0.1:7447      from all that are connected to that router
  zonda sub demo/map -n 1 --raw > map.png                  the bytes of one value, and nothing else

Exit code: 0 when done, also by Ctrl-C; 1 for a failure at run time; 2 for bad usage.";

/// Print what is published on a key expression.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Subscribe {
    /// Keys to subscribe to; all if none is given
    #[command(flatten)]
    what: OnKey,
    /// Leave after so many samples [default: never]
    #[arg(short, long, value_name = "SAMPLES")]
    number: Option<u64>,
    #[command(flatten)]
    look: Look,
    #[command(flatten)]
    connection: Connection,
}

impl Subscribe {
    /// Prints until Ctrl-C or the number.
    pub fn run(self) -> Result<(), Failure> {
        let interrupt = Interrupt::listen()?;
        let key = self.what.or_all()?;
        let session = self.connection.open()?;
        let subscriber = session.declare_subscriber(&key).wait()?;
        let mut start = Start::new(&session, self.connection.json);
        let next = |patience| {
            start.look();
            subscriber.recv_timeout(patience)
        };
        each(self.number, &interrupt, next, |sample| {
            self.show(&sample);
            Ok(())
        })?;
        subscriber.undeclare().wait()?;
        session.close().wait()?;
        Ok(())
    }

    fn show(&self, sample: &Sample) {
        if self.connection.json {
            let mut line = show::sample(sample);
            line["priority"] = json!(format!("{:?}", sample.priority()));
            line["express"] = json!(sample.express());
            return print(format_args!("{line}"));
        }
        self.look.show(sample);
    }
}
