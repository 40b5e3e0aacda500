// SPDX-License-Identifier: MIT OR Apache-2.0
//! The flags for the connections of a node, common to every program here.

use std::path::PathBuf;
use std::process;

use clap::Args;
use zonda::config::{Flag, RuntimeKind, Sources, WhatAmI};
use zonda::{Config, OpenError, Operation, Session, Wait};

use crate::{Failure, print, terminal, values::endpoint};

/// Returns the help of `--runtime`, with the names that this program knows.
fn runtime_help() -> String {
    let (names, default) = (RuntimeKind::available_names(), RuntimeKind::default());
    format!("Runtime of the node's tasks, of {names} [default: {default}]")
}

/// Connections of a program and the runtime of its node.
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
    /// Neither search for nodes by multicast nor answer their searches
    #[arg(long, hide_short_help = true)]
    pub no_multicast_scouting: bool,
    /// Configuration file (JSON5) [default: the one that ZENOH_CONFIG names]; ZONDA_CFG and other flags win over it
    #[arg(short, long, value_name = "FILE", hide_short_help = true)]
    pub config: Option<PathBuf>,
    /// One configuration value, key/path:json5 (repeatable); wins over everything else
    #[arg(long, value_name = "KEY:VALUE", hide_short_help = true)]
    pub cfg: Vec<String>,
    /// Tell everything that is wrong with the configuration or has no effect, and exit: 0 if nothing is wrong, else 2
    #[arg(long, hide_short_help = true)]
    pub check_config: bool,
    /// Print each value that takes effect and where it comes from, and exit
    #[arg(long, hide_short_help = true)]
    pub print_config: bool,
    /// Runtime of the node's tasks
    #[arg(long, value_name = "NAME", help = runtime_help(), hide_short_help = true)]
    pub runtime: Option<String>,
    /// Print one JSON object per line instead of text
    #[arg(long)]
    pub json: bool,
}

impl Connection {
    /// Opens a session by these flags, and [logs](terminal::log).
    pub fn open(&self) -> Result<Session, Failure> {
        let config = self.to_config()?;
        terminal::log();
        zonda::open(config)
            .typed()
            .wait()
            .map_err(|error| match error {
                OpenError::Config { .. } | OpenError::NoEndpoint => {
                    Failure::Usage(error.to_string())
                }
                _ => Failure::from(error),
            })
    }

    /// Returns the configuration that results from the file, the environment and the flags. With
    /// `--check-config` or `--print-config` the program ends here.
    pub fn to_config(&self) -> Result<Config, Failure> {
        let sources = self.sources();
        if self.check_config {
            let mut examined = sources.examine();
            examined.try_sockets();
            let lines = examined.lines(&[], self.json);
            lines.iter().for_each(|line| print(format_args!("{line}")));
            process::exit(examined.exit_code().into());
        }
        let config = sources.load().map_err(|p| Failure::Usage(p.to_string()))?;
        if self.print_config {
            for value in config.effective() {
                match self.json {
                    true => print(format_args!("{}", value.to_json())),
                    false => print(format_args!("{value}")),
                }
            }
            process::exit(0);
        }
        Ok(config)
    }

    fn sources(&self) -> Sources<'_> {
        // Each flag stands for a key of the configuration.
        let mut flags = Vec::new();
        if let Some(mode) = self.mode {
            flags.push(Flag::text("--mode", "mode", mode));
        }
        for (name, key, endpoints) in [
            ("--connect", "connect/endpoints", &self.connect),
            ("--listen", "listen/endpoints", &self.listen),
        ] {
            if !endpoints.is_empty() {
                flags.push(Flag::texts(name, key, endpoints));
            }
        }
        if self.no_multicast_scouting {
            let flag = "--no-multicast-scouting";
            flags.push(Flag::new(flag, "scouting/multicast/enabled", "false"));
        }
        if let Some(runtime) = &self.runtime {
            flags.push(Flag::text("--runtime", "runtime", runtime));
        }
        // Together with the file, `--cfg` and the environment.
        Sources {
            file: self.config.clone(),
            flags,
            arguments: &self.cfg,
            ..Sources::default()
        }
        .with_environment()
    }
}
