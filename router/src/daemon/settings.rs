// SPDX-License-Identifier: MIT OR Apache-2.0

//! From flags to a configuration: the file first, then the flags, then `--cfg`.

use zonda_codec::WhatAmI;

use super::arguments::DaemonArgs;
use super::failure::DaemonError;
use crate::Config;

impl DaemonArgs {
    /// The configuration these flags ask for.
    ///
    /// # Errors
    /// The file cannot be read, or a value in it or behind `--cfg` is refused.
    ///
    /// # Blocking
    /// Reads the file.
    pub fn to_config(&self) -> Result<Config, DaemonError> {
        let mut config = match &self.config {
            Some(file) => {
                Config::from_file(file).map_err(|e| DaemonError::config("--config", &e))?
            }
            None => Config::default(),
        };
        match self.mode {
            Some(mode) => config.set_mode(mode),
            None if !config.is_set("mode") => config.set_mode(WhatAmI::Router),
            None => {}
        }
        if let Some(id) = self.id {
            config.set_id(Some(id));
        }
        if !self.listen.is_empty() {
            config = config.listen(self.listen.iter().map(ToString::to_string));
        }
        if !self.connect.is_empty() {
            config = config.connect(self.connect.iter().map(ToString::to_string));
        }
        if let Some(runtime) = self.runtime {
            config = config.with_runtime(runtime);
        }
        for (key, value) in self.switches() {
            config
                .insert_json5(key, value)
                .map_err(|e| DaemonError::config(key, &e))?;
        }
        for argument in &self.cfg {
            config
                .insert_argument(argument)
                .map_err(|e| DaemonError::config("--cfg", &e))?;
        }
        config
            .validate()
            .map_err(|e| DaemonError::config("configuration", &e))?;
        Ok(config)
    }

    /// What the flags without a value of their own mean in the configuration.
    fn switches(&self) -> Vec<(&'static str, &'static str)> {
        let truth = |yes: bool| if yes { "true" } else { "false" };
        let mut switches = Vec::new();
        if self.no_multicast_scouting {
            switches.push(("scouting/multicast/enabled", "false"));
        }
        if self.no_timestamp {
            switches.push(("timestamping/enabled", "false"));
        }
        if let Some(rights) = self.adminspace_permissions {
            switches.push(("adminspace/permissions/read", truth(rights.read())));
            switches.push(("adminspace/permissions/write", truth(rights.write())));
        }
        switches
    }

    /// One line for each flag that has no effect yet, and for each configuration value of that kind.
    pub fn warnings(&self, config: &Config) -> Vec<String> {
        let mut lines = Vec::new();
        let mut unsupported = |flag: String, why: &str| lines.push(format!("{flag}: {why}"));
        if let Some(port) = &self.rest_http_port {
            let port = port.as_deref().unwrap_or("8000");
            if !port.eq_ignore_ascii_case("none") {
                unsupported(
                    format!("--rest-http-port {port}"),
                    "there is no REST interface yet",
                );
            }
        }
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
        lines.extend(config.warnings().iter().map(ToString::to_string));
        lines
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

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
            .listen_endpoints()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(listen, ["tcp/[::]:7447"]);
        assert!(config.timestamping());
    }

    #[test]
    fn flags_reach_the_configuration() {
        let args = read(
            "-l tcp/127.0.0.1:0 -l tcp/[::1]:0 -e tcp/localhost:7448 -i a1b2 --no-timestamp \
             --no-multicast-scouting --cfg transport/link/tx/lease:5000",
        );
        let config = args.to_config().expect("all of these are valid");
        assert_eq!(config.listen_endpoints().len(), 2);
        assert_eq!(config.connect_endpoints().len(), 1);
        assert_eq!(config.id().expect("an id was given").to_string(), "a1b2");
        assert!(!config.timestamping());
        assert_eq!(config.lease().as_secs(), 5);
        assert_eq!(args.warnings(&config), Vec::<String>::new());
    }

    #[test]
    fn cfg_wins_over_flags() {
        let args = read("-l tcp/127.0.0.1:1 --cfg listen/endpoints:['tcp/127.0.0.1:2']");
        let config = args.to_config().expect("valid");
        assert_eq!(config.listen_endpoints()[0].to_string(), "tcp/127.0.0.1:2");
    }

    #[test]
    fn what_is_not_supported_is_one_line_each() {
        let args = read(
            "--rest-http-port 8000 -P rest -P storage_manager:/x --plugin-search-dir /a --stats",
        );
        let config = args.to_config().expect("no refusal");
        let lines = args.warnings(&config);
        assert_eq!(lines.len(), 5, "{lines:#?}");
        assert!(lines.iter().all(|l| !l.contains('\n')));
        for quiet in ["--rest-http-port none", "--rest-http-port None"] {
            let args = read(quiet);
            assert!(args.warnings(&args.to_config().expect("valid")).is_empty());
        }
        assert_eq!(read("--rest-http-port").rest_http_port, Some(None));
    }

    #[test]
    fn refusals_name_the_flag_and_the_value() {
        for (line, words) in [
            ("--cfg nonsense", "--cfg: \"nonsense\""),
            (
                "--cfg listen/endpoint:[]",
                "did you mean `listen/endpoints`",
            ),
            ("--cfg mode:'boss'", "`mode`"),
            ("-c /no/such/file", "/no/such/file"),
        ] {
            let error = read(line).to_config().expect_err(line);
            assert!(matches!(error, DaemonError::Usage(_)), "{error:?}");
            let text = error.to_string();
            assert!(text.contains(words) && !text.contains('\n'), "{text}");
        }
    }

    #[test]
    fn malformed_flags_are_told_in_one_line() {
        for (line, words) in [
            ("-l 127.0.0.1:7447", "--listen"),
            ("-i xyz", "--id"),
            ("-m boss", "--mode"),
            ("--listn tcp/[::]:1", "--listen"),
        ] {
            let words_of_line = std::iter::once("zondad").chain(line.split_whitespace());
            let Err(error) = Cli::try_parse_from(words_of_line) else {
                panic!("{line}")
            };
            let text = super::super::one_line(&error);
            assert!(text.contains(words) && !text.contains('\n'), "{text}");
        }
    }
}
