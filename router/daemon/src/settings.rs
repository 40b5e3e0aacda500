// SPDX-License-Identifier: MIT OR Apache-2.0

//! Conversion of flags into a configuration.

use zonda_program::{Failure, terminal};
use zonda_router::config::{Config, ConfigError, Examined, Flag, Problem, Sources};

use crate::arguments::DaemonArgs;

/// Defaults that only the daemon has.
const DEFAULTS: &[(&str, &str)] = &[("mode", "'router'"), ("adminspace/enabled", "true")];

impl DaemonArgs {
    /// Returns the configuration of these flags.
    ///
    /// # Errors
    /// The file cannot be read, or a value of any source is refused.
    ///
    /// # Blocking
    /// Reads the file.
    pub fn to_config(&self) -> Result<Config, Failure> {
        let config = self.examine().into_config();
        config.map_err(|problem| Failure::Usage(problem.to_string()))
    }

    /// Returns the configuration of these flags, and its faults.
    ///
    /// # Blocking
    /// Reads the file, and those that it names.
    pub fn examine(&self) -> Examined {
        let sources = Sources {
            defaults: DEFAULTS,
            file: self.config.clone(),
            flags: self.flags(),
            arguments: &self.cfg,
            plugins: zonda_services::PLUGINS,
            ..Sources::default()
        };
        let mut examined = sources.with_environment().for_router().examine();
        let services = zonda_services::check(&examined.config);
        let filter = examined.config.settings().log_filter;
        let faults = [
            services.err().map(|error| error.to_string()),
            filter.and_then(|filter| terminal::check_filter(&filter).err()),
        ];
        for reason in faults.into_iter().flatten() {
            examined.problems.push(Problem {
                from: origin(&examined.config, &reason),
                error: ConfigError::Combination { reason },
                more: 0,
            });
        }
        examined
    }

    fn flags(&self) -> Vec<Flag> {
        let mut flags = Vec::new();
        if let Some(mode) = self.mode {
            flags.push(Flag::text("--mode", "mode", mode));
        }
        if let Some(id) = self.zid {
            flags.push(Flag::text("--zid", "id", id));
        }
        for (name, key, endpoints) in [
            ("--listen", "listen/endpoints", &self.listen),
            ("--connect", "connect/endpoints", &self.connect),
        ] {
            if !endpoints.is_empty() {
                flags.push(Flag::texts(name, key, endpoints));
            }
        }
        if let Some(runtime) = self.runtime {
            flags.push(Flag::text("--runtime", "runtime", runtime));
        }
        if let Some(address) = self.metrics_port {
            let flag = "--metrics-port";
            flags.push(Flag::text(flag, "services/metrics/listen", address));
        }
        if let Some(address) = self.http_port {
            flags.push(Flag::text("--http-port", "services/http/listen", address));
        }
        flags.extend(self.rest());
        flags.extend(self.switches());
        flags
    }

    /// Returns the keys that the reference's flag sets, as there: the plugin is required then.
    fn rest(&self) -> Vec<Flag> {
        let Some(port) = &self.rest_http_port else {
            return Vec::new();
        };
        let is_asked_for = !port.eq_ignore_ascii_case("none");
        if !is_asked_for && zonda_services::PLUGINS.is_empty() {
            return Vec::new();
        }
        let (flag, required) = ("--rest-http-port", "plugins/rest/__required__");
        vec![
            Flag::text(flag, "plugins/rest/http_port", port),
            Flag::new(flag, required, is_asked_for.to_string()),
        ]
    }

    /// Returns the keys that flags without a value set.
    fn switches(&self) -> Vec<Flag> {
        let mut switches = Vec::new();
        if self.no_multicast_scouting {
            let flag = "--no-multicast-scouting";
            switches.push(Flag::new(flag, "scouting/multicast/enabled", "false"));
        }
        if self.no_timestamp {
            let flag = "--no-timestamp";
            switches.push(Flag::new(flag, "timestamping/enabled", "false"));
        }
        if let Some(rights) = self.adminspace_permissions {
            for (key, allowed) in [
                ("adminspace/permissions/read", rights.read()),
                ("adminspace/permissions/write", rights.write()),
            ] {
                let flag = "--adminspace-permissions";
                switches.push(Flag::new(flag, key, allowed.to_string()));
            }
        }
        switches
    }

    /// Returns one line for each flag and each configuration value that has no effect yet.
    pub fn warnings(&self, config: &Config) -> Vec<String> {
        let mut lines = self.flags_without_effect();
        lines.extend(without_session(config));
        lines.extend(zonda_services::warnings(config));
        lines.extend(config.warnings().iter().map(ToString::to_string));
        lines
    }

    /// Returns one line for each flag that has no effect yet.
    pub(super) fn flags_without_effect(&self) -> Vec<String> {
        // Each option of the reference's daemon that is only accepted.
        let mut lines = Vec::new();
        let mut unsupported = |flag: String, why: &str| lines.push(format!("{flag}: {why}"));
        for plugin in &self.plugin {
            unsupported(format!("--plugin {plugin}"), "plugins are not loaded yet");
        }
        for directory in &self.plugin_search_dir {
            let flag = format!("--plugin-search-dir {}", directory.display());
            unsupported(flag, "plugins are not loaded yet");
        }
        if self.stats {
            unsupported("--stats".into(), "counters are not published yet");
        }
        lines
    }
}

/// Returns the origin of the first key that a line names in backticks, or of the section that it is set in.
fn origin(config: &Config, line: &str) -> String {
    let mut key = line.split('`').nth(1).unwrap_or_default();
    while !config.is_set(key) {
        match key.rsplit_once('/') {
            Some((section, _)) => key = section,
            None => break,
        }
    }
    config.origin(key).to_string()
}

/// Returns a warning if a value is set that only sessions use; the daemon has no session.
pub(super) fn without_session(config: &Config) -> Option<String> {
    let text =
        "`namespace`: has no effect: keys of a daemon and its services are those of the network";
    config.is_set("namespace").then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use zonda_codec::WhatAmI;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        daemon: DaemonArgs,
    }

    fn read(line: &str) -> DaemonArgs {
        let words = std::iter::once("zondad").chain(line.split_whitespace());
        match Cli::try_parse_from(words) {
            Ok(cli) => cli.daemon,
            Err(e) => panic!("{e}"),
        }
    }

    #[test]
    fn nothing_asked_is_a_router_on_the_usual_port() {
        let config = read("").to_config().expect("defaults");
        assert_eq!(config.mode(), WhatAmI::Router);
        let listen: Vec<String> = config
            .settings()
            .listen_endpoints
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(listen, ["tcp/[::]:7447"]);
        assert!(config.settings().timestamping);
    }

    #[test]
    fn flags_reach_the_configuration() {
        let args = read(
            "-l tcp/127.0.0.1:0 -l tcp/[::1]:0 -e tcp/localhost:7448 -i a1b2 --no-timestamp \
             --no-multicast-scouting --cfg transport/link/tx/lease:5000",
        );
        let config = args.to_config().expect("all of these are valid");
        assert_eq!(config.settings().listen_endpoints.len(), 2);
        assert_eq!(config.settings().connect_endpoints().count(), 1);
        assert_eq!(
            config.settings().id.expect("an id was given").to_string(),
            "a1b2"
        );
        for one_name in ["--zid a1b2", "--id a1b2"] {
            assert_eq!(read(one_name).zid, args.zid, "{one_name}");
        }
        assert!(!config.settings().timestamping);
        assert_eq!(config.settings().lease.as_secs(), 5);
        assert_eq!(args.warnings(&config), Vec::<String>::new());
    }

    #[test]
    fn cfg_wins_over_flags() {
        let args = read("-l tcp/127.0.0.1:1 --cfg listen/endpoints:['tcp/127.0.0.1:2']");
        let config = args.to_config().expect("valid");
        assert_eq!(
            config.settings().listen_endpoints[0].to_string(),
            "tcp/127.0.0.1:2"
        );
    }

    #[test]
    fn what_is_not_supported_is_one_line_each() {
        let args = read("-P rest -P storage_manager:/x --plugin-search-dir /a --stats");
        let config = args.to_config().expect("no refusal");
        let lines = args.warnings(&config);
        assert_eq!(lines.len(), 4, "{lines:#?}");
        assert!(lines.iter().all(|l| !l.contains('\n')));
        for quiet in ["--rest-http-port none", "--rest-http-port None"] {
            let args = read(quiet);
            assert!(args.warnings(&args.to_config().expect("valid")).is_empty());
        }
        let port = read("--rest-http-port").rest_http_port;
        assert_eq!(port.as_deref(), Some("8000"));
    }

    #[test]
    fn refusals_name_the_flag_and_the_value() {
        for (line, words) in [
            ("--cfg nonsense", "--cfg: \"…\""),
            (
                "--cfg listen/endpoint:[]",
                "did you mean `listen/endpoints`",
            ),
            ("--cfg mode:'boss'", "`mode`"),
            ("-c /no/such/file", "/no/such/file"),
        ] {
            let error = read(line).to_config().expect_err(line);
            assert!(matches!(error, Failure::Usage(_)), "{error:?}");
            let text = error.to_string();
            assert!(text.contains(words) && !text.contains('\n'), "{text}");
        }
    }

    #[test]
    fn malformed_flags_are_told_in_one_line() {
        for (line, words) in [
            ("-l 127.0.0.1:7447", "--listen"),
            ("-i xyz", "--zid"),
            ("-m boss", "--mode"),
            ("--listn tcp/[::]:1", "--listen"),
        ] {
            let words_of_line = std::iter::once("zondad").chain(line.split_whitespace());
            let Err(error) = Cli::try_parse_from(words_of_line) else {
                panic!("{line}")
            };
            let text = zonda_program::one_line(&error);
            assert!(text.contains(words) && !text.contains('\n'), "{text}");
        }
    }
}
