// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda tls`: certificates for trying encrypted links.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use zonda_program::certificates::{Certificate, DAYS, make};
use zonda_program::{Failure, print_lines};

/// Explanation below the files.
const HELP: &str = "\
Example:
  zonda tls init certs --host robot.lan     certificates for nodes that are reached as robot.lan, localhost, 127.0.0.1 or ::1

The keys of the certificates, and that of the authority which signs them, are files that only you can read. The authority's key can \
sign more: keep it safe, or remove it once it has signed all that you need.

Exit code: 0 when all files are there; 1 when they cannot be written, or one of them exists; 2 for bad usage.";

/// Make certificates for trying links that are encrypted.
#[derive(Subcommand, Clone, Debug)]
pub enum Tls {
    /// Make an authority, and a certificate for a node that listens and for one that connects
    Init(Init),
}

/// The certificates, in a directory.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Init {
    /// The directory for the files; it is made if it is not there
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// A host name or address under which the listening node is reached, beside localhost, 127.0.0.1 and ::1; several times if
    /// there are several
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
}

impl Tls {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Tls::Init(init) => init.run(),
        }
    }
}

impl Init {
    fn run(self) -> Result<(), Failure> {
        // The own names of the machine are always included.
        let mut hosts = self.host.clone();
        let own = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        hosts.extend(own.into_iter().filter(|own| !self.host.contains(own)));
        let made = make(&hosts).map_err(|error| {
            Failure::Usage(format!(
                "no certificate can be for {}: {error}",
                hosts.join(", ")
            ))
        })?;
        // No file is overwritten.
        let at = &self.directory;
        std::fs::create_dir_all(at).map_err(|error| {
            Failure::doing(
                format_args!("cannot make the directory {}", at.display()),
                error,
            )
        })?;
        for Certificate { name, .. } in &made {
            for path in [
                at.join(format!("{name}.pem")),
                at.join(format!("{name}.key")),
            ] {
                if path.exists() {
                    let path = path.display();
                    let text = format!("{path} exists; take another directory, or remove it");
                    return Err(Failure::Run(text));
                }
            }
        }
        // Private keys are readable for their owner only.
        for Certificate {
            name,
            certificate,
            key,
        } in &made
        {
            write(&at.join(format!("{name}.pem")), certificate, 0o644)?;
            write(&at.join(format!("{name}.key")), key, 0o600)?;
        }
        print_lines(format_args!("{}", lines(at, &hosts)));
        Ok(())
    }
}

/// Returns the next steps with the files.
fn lines(at: &Path, hosts: &[String]) -> String {
    let at = std::path::absolute(at).unwrap_or_else(|_| at.to_owned());
    let at = at.display();
    format!(
        "An authority, and what it signed for {DAYS} days, are in {at}.\n\
         The node that listens, reached as {}:\n\
         \x20 zonda router -l tls/0.0.0.0:7447 \\\n\
         \x20   --cfg 'transport/link/tls/listen_certificate:\"{at}/server.pem\"' \\\n\
         \x20   --cfg 'transport/link/tls/listen_private_key:\"{at}/server.key\"'\n\
         A node that connects:\n\
         \x20 zonda sub -m client -k 'demo/**' -e tls/{}:7447 \\\n\
         \x20   --cfg 'transport/link/tls/root_ca_certificate:\"{at}/ca.pem\"'\n\
         To let in only nodes that show a certificate too, add to the first\n\
         \x20   --cfg transport/link/tls/enable_mtls:true --cfg 'transport/link/tls/root_ca_certificate:\"{at}/ca.pem\"'\n\
         and to those that connect\n\
         \x20   --cfg transport/link/tls/enable_mtls:true --cfg 'transport/link/tls/connect_certificate:\"{at}/client.pem\"' \\\n\
         \x20   --cfg 'transport/link/tls/connect_private_key:\"{at}/client.key\"'",
        hosts.join(", "),
        hosts[0],
    )
}

/// Writes a file that does not exist yet.
fn write(path: &Path, text: &str, mode: u32) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.create_new(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    let written = options
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Failure::doing(format_args!("cannot write {}", path.display()), error))
}
