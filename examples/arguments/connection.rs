// SPDX-License-Identifier: MIT OR Apache-2.0
//! The flags by which a program says how its node connects, the same for every program here.

use std::io;
use std::path::PathBuf;

use clap::Args;
use tracing_subscriber::EnvFilter;
use zonda::config::{RuntimeKind, WhatAmI};
use zonda::{Config, OpenError, Session, Wait};

use super::{Failure, values::endpoint};

/// The help of `--runtime`, with the names that this program knows.
fn runtime_help() -> String {
    let (names, default) = (RuntimeKind::available_names(), RuntimeKind::default());
    format!("What the node's tasks run on, of {names} [default: {default}]")
}

/// How a program connects and what its node runs on.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Connection")]
pub struct Connection {
    /// Role of the node: client, peer or router [default: peer]
    #[arg(short, long, value_name = "ROLE")]
    pub mode: Option<WhatAmI>,
    /// Endpoint to connect to, such as tcp/127.0.0.1:7447 (repeatable)
    #[arg(short = 'e', long, value_name = "ENDPOINT", value_parser = endpoint)]
    pub connect: Vec<String>,
    /// Endpoint to listen on, such as tcp/127.0.0.1:0 (repeatable)
    #[arg(short, long, value_name = "ENDPOINT", value_parser = endpoint)]
    pub listen: Vec<String>,
    /// Neither look for others by multicast nor answer those who do
    #[arg(long)]
    pub no_multicast_scouting: bool,
    /// Configuration file (JSON5); other flags win over it
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// One configuration value, key/path:json5 (repeatable); wins over everything else
    #[arg(long, value_name = "KEY:VALUE")]
    pub cfg: Vec<String>,
    /// What the node's tasks run on
    #[arg(long, value_name = "NAME", help = runtime_help())]
    pub runtime: Option<String>,
    /// Print one JSON object per line instead of text
    #[arg(long)]
    pub json: bool,
}

impl Connection {
    /// Opens a session as these flags say, and [logs](log).
    pub fn open(&self) -> Result<Session, Failure> {
        let config = self.to_config()?;
        log();
        zonda::open(config).wait().map_err(|error| match error {
            OpenError::Config { .. } | OpenError::NoEndpoint => Failure::Usage(error.to_string()),
            _ => Failure::from(error),
        })
    }

    /// The configuration: the file first, then the flags, then `--cfg`.
    pub fn to_config(&self) -> Result<Config, Failure> {
        let mut config = match &self.config {
            Some(file) => Config::from_file(file).map_err(|e| usage("--config", e))?,
            None => Config::default(),
        };
        if let Some(mode) = self.mode {
            config.set_mode(mode);
        }
        for (flag, key, endpoints) in [
            ("--connect", "connect/endpoints", &self.connect),
            ("--listen", "listen/endpoints", &self.listen),
        ] {
            if !endpoints.is_empty() {
                let list = serde_json::json!(endpoints).to_string();
                config
                    .insert_json5(key, &list)
                    .map_err(|e| usage(flag, e))?;
            }
        }
        if self.no_multicast_scouting {
            let flag = "--no-multicast-scouting";
            config
                .insert_json5("scouting/multicast/enabled", "false")
                .map_err(|e| usage(flag, e))?;
        }
        if let Some(runtime) = &self.runtime {
            let name = serde_json::json!(runtime).to_string();
            config
                .insert_json5("runtime", &name)
                .map_err(|e| usage("--runtime", e))?;
        }
        for pair in &self.cfg {
            config
                .insert_argument(pair)
                .map_err(|e| usage("--cfg", e))?;
        }
        Ok(config)
    }
}

fn usage(flag: &str, error: impl std::fmt::Display) -> Failure {
    Failure::Usage(format!("{flag}: {error}"))
}

/// Log lines go to standard error, by `RUST_LOG`.
pub fn log() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    // an error means that somebody else logs already
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .log_internal_errors(false)
        .try_init();
}
