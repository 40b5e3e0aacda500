// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sending as fast as the link takes messages, and its rate.

use std::time::Instant;

use clap::Args;
use zonda::qos::Priority;

use super::print_rate;
use zonda_program::{self as program, Failure, Interrupt};

/// The flags that say what is sent.
#[derive(Args)]
pub struct Sending {
    /// Payload of a message in bytes
    pub size: usize,
    /// Priority, 1 (most urgent) to 7 (least)
    #[arg(short, long, default_value = "5", value_parser = program::priority)]
    pub priority: Priority,
    /// Send each message at once instead of batching
    #[arg(long)]
    pub express: bool,
    /// Print the rate of sending
    #[arg(short = 't', long)]
    print: bool,
    /// Messages between two printed rates
    #[arg(short, long, value_name = "MESSAGES", default_value_t = 100_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    number: u64,
}

impl Sending {
    /// Sends until Ctrl-C, without a pause; `put` sends one message.
    pub fn until(
        &self,
        interrupt: &Interrupt,
        as_json: bool,
        put: impl Fn() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut sent = 0;
        let mut since = Instant::now();
        while !interrupt.happened() {
            put()?;
            sent += 1;
            if self.print && sent == self.number {
                print_rate(sent, since.elapsed().as_secs_f64(), as_json);
                sent = 0;
                since = Instant::now();
            }
        }
        Ok(())
    }
}
