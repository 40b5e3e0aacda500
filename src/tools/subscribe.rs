// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda sub`: prints what is published on a key expression.

use clap::Args;
use serde_json::json;
use zonda::Wait;
use zonda::key_expr::KeyExpr;
use zonda::sample::Sample;
use zonda_program::{Connection, Failure, Interrupt, key_expr, print};

use super::show::{self, behind, each, ready, text};

const HELP: &str = "\
Examples:
  zonda sub -k 'demo/**' -l tcp/127.0.0.1:7450                from all that connect here
  zonda sub -k 'demo/**' -m client -e tcp/127.0.0.1:7447      from all that are connected to that router

Exit code: 0 when done, also by Ctrl-C; 1 for a failure at run time; 2 for bad usage.";

/// Print what is published on a key expression.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Subscribe {
    /// Key expression to subscribe to
    #[arg(short, long, default_value = "**", value_parser = key_expr)]
    key: KeyExpr<'static>,
    /// Leave after so many samples [default: never]
    #[arg(short, long, value_name = "SAMPLES")]
    number: Option<u64>,
    #[command(flatten)]
    connection: Connection,
}

impl Subscribe {
    /// Prints until Ctrl-C or the number.
    pub fn run(self) -> Result<(), Failure> {
        let interrupt = Interrupt::listen()?;
        let session = self.connection.open()?;
        let subscriber = session.declare_subscriber(&self.key).wait()?;
        if self.connection.json {
            ready(&session);
        }
        let next = |patience| subscriber.recv_timeout(patience);
        each(self.number, &interrupt, next, |sample| {
            show(&sample, self.connection.json);
            Ok(())
        })?;
        subscriber.undeclare().wait()?;
        session.close().wait()?;
        Ok(())
    }
}

fn show(sample: &Sample, as_json: bool) {
    if as_json {
        let mut line = show::sample(sample);
        line["priority"] = json!(format!("{:?}", sample.priority()));
        line["express"] = json!(sample.express());
        return print(format_args!("{line}"));
    }
    let attachment = behind(sample.attachment());
    print(format_args!(
        "{} {}: {}{attachment}",
        sample.kind(),
        sample.key_expr(),
        text(sample.payload())
    ));
}
