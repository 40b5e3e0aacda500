// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flags of `zonda-kafka bridge`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use zonda_program::{Failure, Interrupt, complain, print, print_lines};

use super::config::BridgeConfig;
use super::running::Bridge;

/// Carry messages between keys and topics.
///
/// Each message is carried at least once: what is not delivered within the limit goes to the key for dead letters.
#[derive(Args, Clone, Debug)]
pub struct BridgeArgs {
    /// Configuration file (JSON5)
    #[arg(short, long, value_name = "FILE")]
    pub config: PathBuf,
    /// Tell everything that is wrong with the configuration, and exit: 0 if nothing is wrong, else 2
    #[arg(long)]
    pub check_config: bool,
    /// Time to wait at the end until the broker has taken all queued messages, in seconds
    #[arg(long, value_name = "S", default_value_t = 30)]
    pub end_seconds: u32,
}

impl BridgeArgs {
    /// Forwards until Ctrl-C.
    pub fn run(&self) -> Result<(), Failure> {
        // The configuration, with all of its problems at once.
        let file = self.config.display();
        let text = std::fs::read_to_string(&self.config)
            .map_err(|error| Failure::Usage(format!("{file}: {error}")))?;
        let config = match BridgeConfig::from_json5(&text) {
            Ok(config) => config,
            Err(mut problems) => {
                let last = problems.pop().unwrap_or_default();
                for problem in problems {
                    complain(format_args!("error: {file}: {}", problem.trim()));
                }
                return Err(Failure::Usage(format!("{file}: {last}")));
            }
        };
        if self.check_config {
            return Ok(());
        }
        // Messages are carried until the signal.
        let interrupt = Interrupt::listen()?;
        let bridge = Bridge::start(&config)?;
        print(format_args!("carrying: {config:?}"));
        interrupt.wait();
        // The end, with the final counters.
        let ending = bridge.end(Duration::from_secs(u64::from(self.end_seconds)));
        print_lines(format_args!("{}", ending.metrics));
        match ending.lost {
            0 => Ok(()),
            lost => Err(Failure::Run(format!(
                "{lost} messages were neither delivered nor published as dead letters"
            ))),
        }
    }
}
