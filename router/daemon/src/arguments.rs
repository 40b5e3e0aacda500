// SPDX-License-Identifier: MIT OR Apache-2.0

//! The flags of the daemon. Flags of the reference keep their names and meanings; those without an
//! effect yet are accepted and reported, so that start scripts keep working.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use zonda_codec::{Endpoint, WhatAmI, ZenohId};
use zonda_router::config::parse_endpoint;
use zonda_runtime::RuntimeKind;

/// Returns the help of `--runtime`, with the names of the available runtimes.
fn runtime_help() -> String {
    let (names, default) = (RuntimeKind::available_names(), RuntimeKind::default());
    format!("Runtime of the node's tasks, of {names} [default: {default}]")
}

/// Parses a port of this machine, or an address and a port.
fn http_address(text: &str) -> Result<SocketAddr, String> {
    let port = text
        .parse()
        .map(|port: u16| (Ipv4Addr::LOCALHOST, port).into());
    port.or_else(|_| text.parse())
        .map_err(|_| format!("{text} is no port and no ADDRESS:PORT"))
}

const HELP: &str = "\
Examples, behind zondad or zonda router:
  -l tcp/0.0.0.0:7447 -l tcp/[::1]:7448   listen on two addresses
  -c zenoh.json5 --check-config           what of a file takes effect
  -c zenoh.json5 -m router                whatever mode the file says

Exit code: 0 after SIGINT or SIGTERM; 1 for a failure at run time, such as an address that is taken; 2 for bad usage or \
a bad configuration.";

/// The command line of the router daemon.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = HELP)]
pub struct DaemonArgs {
    /// Endpoints to listen on; none means port 7447 of every interface.
    #[arg(
        short,
        long,
        value_name = "ENDPOINT",
        value_parser = parse_endpoint,
        help_heading = "Connection",
        help = "Endpoint to listen on, such as tcp/0.0.0.0:7447 or tcp/[::1]:0 (repeatable)\n\
                [default: tcp/[::]:7447]"
    )]
    pub listen: Vec<Endpoint>,
    /// Endpoint of another router to connect to (repeatable)
    #[arg(
        short = 'e',
        long,
        value_name = "ENDPOINT",
        value_parser = parse_endpoint,
        help_heading = "Connection"
    )]
    pub connect: Vec<Endpoint>,
    /// Role of the node: router, peer or client [default: router]
    #[arg(short, long, value_name = "ROLE", help_heading = "Connection")]
    pub mode: Option<WhatAmI>,
    /// Id of the node, up to 32 hexadecimal digits [default: random]
    #[arg(
        short = 'i',
        long,
        visible_alias = "id",
        value_name = "HEX",
        help_heading = "Connection"
    )]
    pub zid: Option<ZenohId>,
    /// Neither search for nodes by multicast nor answer their searches
    #[arg(long, help_heading = "Connection")]
    pub no_multicast_scouting: bool,

    /// Configuration file (JSON5) [default: the one that ZENOH_CONFIG names]; ZONDA_CFG and other flags win over it
    #[arg(short, long, value_name = "FILE", help_heading = "Configuration")]
    pub config: Option<PathBuf>,
    /// One configuration value, key/path:json5 (repeatable); wins over everything else
    #[arg(long, value_name = "KEY:VALUE", help_heading = "Configuration")]
    pub cfg: Vec<String>,
    /// Tell everything that is wrong with the configuration or has no effect, and exit: 0 if nothing is wrong, else 2
    #[arg(long, help_heading = "Configuration")]
    pub check_config: bool,
    /// Print each value that takes effect and where it comes from, and exit
    #[arg(long, help_heading = "Configuration")]
    pub print_config: bool,
    /// Do not stamp messages that come without a timestamp
    #[arg(long, help_heading = "Configuration")]
    pub no_timestamp: bool,
    /// Permissions of other nodes in the admin space
    #[arg(
        long,
        value_name = "RIGHTS",
        value_enum,
        help_heading = "Configuration"
    )]
    pub adminspace_permissions: Option<Permissions>,

    /// Runtime of the node's tasks
    #[arg(long, value_name = "NAME", help = runtime_help(), help_heading = "Runtime and output")]
    pub runtime: Option<RuntimeKind>,
    /// Print one JSON object per line instead of text
    #[arg(long, help_heading = "Runtime and output")]
    pub json: bool,

    /// Serve /metrics on this port of 127.0.0.1, or on ADDRESS:PORT
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = http_address, help_heading = "Services")]
    pub metrics_port: Option<SocketAddr>,
    /// Serve REST, events, /metrics and probes over HTTP on this port of 127.0.0.1, or on ADDRESS:PORT
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = http_address, help_heading = "Services")]
    pub http_port: Option<SocketAddr>,
    /// Serve them as zenohd does: on this port of EVERY interface, without credentials; or on HOST:PORT, or none [default: 8000]
    #[arg(long, value_name = "SOCKET", num_args = 0..=1, default_missing_value = "8000", help_heading = "Services")]
    pub rest_http_port: Option<String>,

    /// Plugin to load (accepted, no effect yet; repeatable)
    #[arg(
        short = 'P',
        long,
        value_name = "NAME[:PATH]",
        help_heading = "Accepted for compatibility"
    )]
    pub plugin: Vec<String>,
    /// Folder of plugins (accepted, no effect yet; repeatable)
    #[arg(long, value_name = "DIR", help_heading = "Accepted for compatibility")]
    pub plugin_search_dir: Vec<PathBuf>,
    /// Count messages per link (accepted, no effect yet)
    #[arg(long, help_heading = "Accepted for compatibility")]
    pub stats: bool,
}

/// Rights of other nodes in the admin space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Permissions {
    /// Read.
    R,
    /// Write.
    W,
    /// Read and write.
    Rw,
    /// Nothing.
    None,
}

impl Permissions {
    /// Returns true if reading is allowed.
    pub fn read(self) -> bool {
        matches!(self, Permissions::R | Permissions::Rw)
    }

    /// Returns true if writing is allowed.
    pub fn write(self) -> bool {
        matches!(self, Permissions::W | Permissions::Rw)
    }
}
