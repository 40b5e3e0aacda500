// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flag of the tools that publish: times that a message collects on its way.

use clap::Args;
use zonda::timestamp_stack::{TimestampInstrumentation, TimestampInstrumentationBuilder};

/// Times of a publication.
#[derive(Args, Clone, Copy, Debug)]
pub struct Stamps {
    /// Collect the times at which nodes on the way handle the message, for `zonda trace --stack`
    #[arg(long)]
    stack: bool,
}

impl Stamps {
    /// Returns the points at which times are recorded; `None` without the flag.
    pub fn points(self) -> Option<TimestampInstrumentation> {
        self.stack.then(every_point).flatten()
    }
}

/// Returns all points at which nodes record a time.
pub fn every_point() -> Option<TimestampInstrumentation> {
    let builder = TimestampInstrumentationBuilder::new();
    let builder = builder.set_send(true).set_route(true).set_receive(true);
    builder.build().ok()
}
