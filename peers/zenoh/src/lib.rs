// SPDX-License-Identifier: MIT OR Apache-2.0
//! Connection flags of the five programs, the session made from them, the printing of lines and the
//! failure of a program. Everything goes through the reference's stable public API.

pub mod latency;

pub use peers_report::{fail, line};

use std::fmt::Arguments;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use peers_report::end;
use zenoh::qos::Priority;
use zenoh::{Config, Session, Wait};

/// Key of the throughput programs.
pub const KEY_THR: &str = "test/thr";
/// Key of `z_ping`'s messages.
pub const KEY_PING: &str = "test/ping";
/// Key of `z_pong`'s answers.
pub const KEY_PONG: &str = "test/pong";

/// The role a node plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    Client,
    Peer,
    Router,
}

/// The connection flags every program takes.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Connection")]
pub struct Common {
    /// Role of the node [default: peer; zenohd: router]
    #[arg(short, long, value_enum)]
    pub mode: Option<Mode>,
    /// Endpoint to connect to, such as tcp/127.0.0.1:7447 (repeatable)
    #[arg(short = 'e', long, value_name = "ENDPOINT")]
    pub connect: Vec<String>,
    /// Endpoint to listen on, such as tcp/127.0.0.1:0 (repeatable)
    #[arg(short, long, value_name = "ENDPOINT")]
    pub listen: Vec<String>,
    /// Neither search for nodes by multicast nor answer their searches
    #[arg(long)]
    pub no_multicast_scouting: bool,
    /// Configuration file (JSON5)
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// One configuration value, key/path:json5 (repeatable; applied last)
    #[arg(long, value_name = "KEY:JSON5")]
    pub cfg: Vec<String>,
}

impl Common {
    /// Returns the configuration: file first, then the flags, then `extra` (key, JSON5), then
    /// `--cfg`. `usual` is the mode where neither flag nor file names one.
    ///
    /// Ends the program with exit code 2 if a value is refused.
    pub fn configuration(&self, usual: Mode, extra: &[(&str, &str)]) -> Config {
        // The file, or the defaults.
        let mut config = match &self.config {
            Some(file) => Config::from_file(file)
                .unwrap_or_else(|e| usage(format_args!("--config {}: {e}", file.display()))),
            None => Config::default(),
        };
        // The mode: flag, file, then the program's usual one.
        let named = config.get_json("mode").is_ok_and(|mode| mode != "null");
        if self.mode.is_some() || !named {
            let name = match self.mode.unwrap_or(usual) {
                Mode::Client => "client",
                Mode::Peer => "peer",
                Mode::Router => "router",
            };
            set(&mut config, "--mode", "mode", &json(name));
        }
        // Flags of connections.
        if !self.connect.is_empty() {
            set(
                &mut config,
                "--connect",
                "connect/endpoints",
                &json(&self.connect),
            );
        }
        if !self.listen.is_empty() {
            set(
                &mut config,
                "--listen",
                "listen/endpoints",
                &json(&self.listen),
            );
        }
        if self.no_multicast_scouting {
            set(
                &mut config,
                "--no-multicast-scouting",
                "scouting/multicast/enabled",
                "false",
            );
        }
        // Settings of the program, and arbitrary ones last.
        for (key, value) in extra {
            set(&mut config, "built-in setting", key, value);
        }
        for pair in &self.cfg {
            let Some((key, value)) = pair.split_once(':') else {
                usage(format_args!("--cfg {pair}: expected key/path:json5"));
            };
            let key = key.strip_prefix('/').unwrap_or(key);
            set(&mut config, "--cfg", key, value);
        }
        config
    }

    /// Opens the session; ends the program with exit code 1 if that fails.
    pub fn open(&self, usual: Mode, extra: &[(&str, &str)]) -> Session {
        zenoh::init_log_from_env_or("error");
        zenoh::open(self.configuration(usual, extra))
            .wait()
            .unwrap_or_else(|e| fail("cannot open the session", e))
    }
}

fn set(config: &mut Config, flag: &str, key: &str, value: &str) {
    if let Err(e) = config.insert_json5(key, value) {
        usage(format_args!("{flag}: {key} = {value} is not accepted: {e}"));
    }
}

fn json<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("strings always become JSON")
}

/// Parses a priority: 1 (most urgent) to 7 (least).
pub fn priority(text: &str) -> Result<Priority, String> {
    let number: u8 = text.parse().map_err(|_| "expected 1 to 7".to_owned())?;
    Priority::try_from(number).map_err(|_| "expected 1 (most urgent) to 7 (least)".into())
}

/// Ends the program for bad usage (exit code 2).
pub fn usage(what: Arguments<'_>) -> ! {
    end(what, 2)
}

/// Returns a payload of `size` bytes with some variety in it.
pub fn payload(size: usize) -> Vec<u8> {
    (0..size).map(|i| (i % 251) as u8).collect()
}

/// Returns the smallest sample that at least `share` (0 to 1) of the sorted samples do not exceed.
pub fn percentile(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::percentile;

    #[test]
    fn percentiles_are_samples() {
        let v: Vec<f64> = (1..=1000).map(f64::from).collect();
        let found = [0.5, 0.9, 0.99, 0.999, 1.0].map(|p| percentile(&v, p));
        assert_eq!(found, [500.0, 900.0, 990.0, 999.0, 1000.0]);
        assert_eq!(percentile(&[7.0], 0.5), 7.0);
    }
}
