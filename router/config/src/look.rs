// SPDX-License-Identifier: MIT OR Apache-2.0

//! Check of the local files, addresses and interfaces that a configuration names. Programs run it
//! before they start; `--check-config` also tries the next steps of a start.

use std::fs::File;

use zonda_codec::{Endpoint, WhatAmI};
use zonda_transport::{
    dial::DialError,
    link::{EndpointUse, Protocol, check_credentials, is_group},
    listen::{ListenError, try_listening},
};

use crate::{ConfigError, Examined, TimeLimit, interfaces};

/// Keys below `transport/link/tls` that name files.
const TLS_FILES: [&str; 5] = [
    "root_ca_certificate",
    "listen_certificate",
    "listen_private_key",
    "connect_certificate",
    "connect_private_key",
];

impl Examined {
    /// Reads the keys and certificates of every endpoint. A fault of a listener, or of all
    /// endpoints of a client, is a problem; a fault that the node would retry until it is mended is
    /// a hint.
    pub(super) fn check_keys_and_certificates(&mut self) {
        let settings = self.config.settings();
        let links = settings.links();
        // Listeners: a fault is a problem unless the node may run without the listener.
        for endpoint in &settings.listen_endpoints {
            if Protocol::of(endpoint).is_err() {
                continue;
            }
            match check_credentials(endpoint, &links, EndpointUse::Listen) {
                Ok(concern) => self.hints.extend(concern),
                Err(problem) => {
                    let endpoint = endpoint.clone();
                    let must = settings.listen_must_succeed(&endpoint)
                        && settings.listen_timeout == TimeLimit::Once;
                    let error = ListenError::Endpoint { endpoint, problem };
                    self.note_at("listen/endpoints", error.to_string(), must);
                }
            }
        }
        // Endpoints to connect to: a fault is a problem only if it leaves a client without any
        // endpoint.
        let endpoints: Vec<&Endpoint> = settings.connect_endpoints().collect();
        let mut broken = Vec::new();
        for endpoint in &endpoints {
            if Protocol::of(endpoint).is_ok()
                && let Err(problem) = check_credentials(endpoint, &links, EndpointUse::Connect)
            {
                let endpoint = (*endpoint).clone();
                broken.push(DialError::Endpoint { endpoint, problem }.to_string());
            }
        }
        let must = settings.mode == WhatAmI::Client
            && broken.len() == endpoints.len()
            && endpoints
                .first()
                .is_some_and(|first| settings.connect_must_succeed(first));
        for error in broken {
            self.note_at("connect/endpoints", error, must);
        }
        self.check_files_of_later_links();
    }

    /// Opens the files of keys and certificates that no endpoint needs: nodes that are found later
    /// may. A file that another line names is not named again.
    fn check_files_of_later_links(&mut self) {
        for name in TLS_FILES {
            let key = format!("transport/link/tls/{name}");
            let json = self.config.get_json(&key).unwrap_or_default();
            let Ok(Some(file)) = serde_json::from_str::<Option<String>>(&json) else {
                continue;
            };
            let Err(error) = File::open(&file) else {
                continue;
            };
            let named = format!("{name} {file}");
            let problems = self.problems.iter().map(ToString::to_string);
            let mut lines = problems.chain(self.hints.iter().cloned());
            if !lines.any(|line| line.contains(&named)) {
                self.hints.push(format!(
                    "cannot read {file} ({key}): {error}; no endpoint needs it yet"
                ));
            }
        }
    }

    fn note_at(&mut self, key: &str, reason: String, is_problem: bool) {
        match is_problem {
            true => {
                let from = self.config.origin(key).to_string();
                self.note(&from, ConfigError::Combination { reason });
            }
            false => self.hints.push(reason),
        }
    }

    /// Tries the next steps of a start without taking a port: checks that the addresses, interfaces
    /// and directories to listen with exist. A failure that would end a start goes to `failures`,
    /// any other to `hints`.
    ///
    /// # Blocking
    /// Resolves host names.
    pub fn try_sockets(&mut self) {
        if !self.problems.is_empty() {
            return;
        }
        let settings = self.config.settings();
        let links = settings.links();
        // Endpoints to listen on.
        for endpoint in &settings.listen_endpoints {
            let failure = match is_group(endpoint) {
                true => missing_interface(endpoint, "listen on"),
                false => try_listening(endpoint, &links).err().map(|e| e.to_string()),
            };
            let must = settings.listen_must_succeed(endpoint)
                && settings.listen_timeout == TimeLimit::Once;
            match must {
                true => self.failures.extend(failure),
                false => self.hints.extend(failure),
            }
        }
        // Endpoints to connect to: only interfaces can be checked without a connection.
        for endpoint in settings.connect_endpoints() {
            self.hints.extend(missing_interface(endpoint, "connect to"));
        }
        // Interfaces for scouting.
        let scouting = settings.scouting();
        if scouting.enabled {
            let missing = scouting.interfaces.iter().filter(|name| !is_there(name));
            let hints = missing.map(|name| {
                format!("`scouting/multicast/interface`: no scouting on {name}: there is no such interface")
            });
            self.hints.extend(hints);
        }
    }
}

/// Returns an error text if the interface in the endpoint's options does not exist.
fn missing_interface(endpoint: &Endpoint, what: &str) -> Option<String> {
    let name = endpoint.config().get("iface")?;
    let locator = endpoint.locator();
    (!is_there(name))
        .then(|| format!("cannot {what} {locator}: interface {name}: there is no such interface"))
}

/// Returns true if this machine has an interface with that name or address.
fn is_there(name: &str) -> bool {
    // The system gave no list, so the interface may exist.
    interfaces::all().map_or(true, |list| interfaces::is_among(name, &list))
}

#[cfg(test)]
mod tests {
    use crate::Sources;

    /// Returns the lines of a check, and its exit code.
    fn check(arguments: &[&str]) -> (String, u8) {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let sources = Sources {
            arguments: &arguments,
            ..Sources::default()
        };
        let mut examined = sources.examine();
        examined.try_sockets();
        (examined.lines(&[], false).join("\n"), examined.exit_code())
    }

    #[test]
    #[cfg(feature = "tls")]
    fn a_listener_without_its_certificate_is_found_before_it_starts() {
        let listen = "listen/endpoints:['tls/127.0.0.1:0']";
        let (said, code) = check(&["mode:'router'", listen]);
        assert_eq!(code, 2, "{said}");
        assert!(said.contains("listen_certificate is needed"), "{said}");
        let (said, code) = check(&[
            "mode:'router'",
            listen,
            "transport/link/tls:{listen_certificate: 'nofile.pem', listen_private_key: 'nofile.key'}",
        ]);
        assert_eq!(code, 2, "{said}");
        assert!(
            said.contains("listen_certificate nofile.pem cannot be read"),
            "{said}"
        );
        let (said, code) = check(&["mode:'router'", listen, "listen/exit_on_failure:false"]);
        assert!(
            code == 0 && said.starts_with("warning: cannot listen"),
            "{said}"
        );
        let root = "transport/link/tls/root_ca_certificate:'nofile.pem'";
        let connect = "connect/endpoints:['tls/127.0.0.1:1']";
        for (mode, expected) in [("mode:'client'", 2), ("mode:'peer'", 0)] {
            let (said, code) = check(&[mode, root, connect]);
            assert_eq!(code, expected, "{said}");
            assert!(said.contains("root_ca_certificate nofile.pem"), "{said}");
        }
    }

    #[test]
    fn a_file_that_no_endpoint_needs_yet_is_opened_too() {
        let tcp = "listen/endpoints:['tcp/127.0.0.1:0']";
        for name in super::TLS_FILES {
            let (said, code) = check(&[
                "mode:'router'",
                tcp,
                &format!("transport/link/tls/{name}:'nofile.pem'"),
            ]);
            let named = format!("cannot read nofile.pem (transport/link/tls/{name}): ");
            assert!(code == 0 && said.contains(&named), "{said}");
            assert_eq!(said.matches("nofile").count(), 1, "{said}");
        }
    }

    #[test]
    fn an_address_or_interface_that_is_not_there_is_found_before_a_start() {
        for (endpoint, words) in [
            (
                "tcp/192.0.2.1:0",
                "no interface of this machine has this address",
            ),
            (
                "udp/192.0.2.1:0",
                "no interface of this machine has this address",
            ),
            (
                "unixsock-stream//no/such/folder/z.sock",
                "cannot listen on unixsock-stream",
            ),
            (
                "udp/224.0.0.225:7447#iface=none77",
                "there is no such interface",
            ),
        ] {
            let (said, code) =
                check(&["mode:'router'", &format!("listen/endpoints:['{endpoint}']")]);
            assert_eq!(code, 1, "{endpoint}: {said}");
            assert!(said.contains(words), "{endpoint}: {said}");
        }
        let (said, code) = check(&["mode:'router'", "listen/endpoints:['tcp/127.0.0.1:0']"]);
        assert!(code == 0 && said.starts_with("ok"), "{said}");
        let (said, code) = check(&[
            "scouting/multicast/enabled:true",
            "scouting/multicast/interface:'none77'",
        ]);
        assert_eq!(code, 0, "{said}");
        assert!(said.contains("no scouting on none77"), "{said}");
    }
}
