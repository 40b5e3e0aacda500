// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes of a measurement. They end when their standard input ends: then the program that
//! started them is gone.

use std::io::BufRead;

use clap::Args;
use rdkafka::mocking::MockCluster;
use zonda_perf::tools::end_with_parent;
use zonda_program::{Failure, Interrupt, print};

use crate::ingest::IngestArgs;

/// Line on standard input that ends the server cleanly.
pub(super) const END: &str = "end";

/// A server that is measured.
#[derive(Args, Clone, Debug)]
pub struct ServerWorker {
    /// As `ingest` has them.
    #[command(flatten)]
    pub ingest: IngestArgs,
}

impl ServerWorker {
    /// Serves until its standard input requests the end.
    ///
    /// # Errors
    /// As [`IngestArgs::run`].
    ///
    /// # Blocking
    /// Until then.
    pub fn run(&self) -> Result<(), Failure> {
        let interrupt = Interrupt::listen()?;
        let end = interrupt.clone();
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                match line.as_deref() {
                    Ok(END) => end.raise(),
                    _ => break,
                }
            }
            std::process::exit(0);
        });
        self.ingest.serve(&interrupt)
    }
}

/// A broker of the client library's own, which keeps the last of its messages in memory.
#[derive(Args, Clone, Debug)]
pub struct BrokerWorker {}

impl BrokerWorker {
    /// Runs it, after a line with its address.
    ///
    /// # Errors
    /// It cannot be started.
    ///
    /// # Blocking
    /// Until the standard input ends, with which the process ends.
    pub fn run(&self) -> Result<(), Failure> {
        let cluster = MockCluster::new(1).map_err(|error| Failure::Run(error.to_string()))?;
        print(format_args!("{}", cluster.bootstrap_servers()));
        end_with_parent();
        loop {
            std::thread::park();
        }
    }
}
