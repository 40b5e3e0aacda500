// SPDX-License-Identifier: MIT OR Apache-2.0

//! Validation beyond the kinds of keys: values that cannot be used, and values that have no effect.

use zonda_codec::{Endpoint, WhatAmI};
use zonda_transport::link::{Protocol, idle_options};

use crate::{
    Config, ConfigError, Origin, Settings, Warning,
    access::{Trap, traps},
    check::link_kinds,
    default_of,
    downsampling::unreached,
    keys,
    kind::{Key, Support},
    read::{self, Found},
    shown::without_secrets,
    value::Value,
};

/// The key that turns access control on.
const ACCESS_CONTROL: &str = "access_control/enabled";

/// Keys of authentication by keys.
const KEYS: [&str; 4] = [
    "transport/auth/pubkey/public_key_pem",
    "transport/auth/pubkey/private_key_pem",
    "transport/auth/pubkey/public_key_file",
    "transport/auth/pubkey/private_key_file",
];

impl Config {
    /// Lists the settings that are not (fully) honoured yet; empty if every setting takes effect.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for (path, setting) in &self.settings {
            let Some(key) = keys::find(path).or_else(|| keys::subtree_of(path)) else {
                continue;
            };
            let Some(value) = self.idle_part(path, setting) else {
                continue;
            };
            if let Some(text) = complaint(key, path, &value) {
                warnings.push(Warning {
                    key: path.clone(),
                    origin: setting.origin.clone(),
                    line: setting.line,
                    text,
                });
            }
        }
        warnings.extend(self.idle_options());
        warnings.extend(self.access_traps());
        warnings.extend(self.unreached_rates());
        // In the order of the file.
        warnings.sort_by_key(|warning| warning.line);
        warnings
    }

    /// Returns warnings about access control that probably does not do what its author wants.
    fn access_traps(&self) -> Vec<Warning> {
        let control = self.settings().access_control();
        let Ok(Some(control)) = control else {
            return Vec::new();
        };
        let warning = |trap: Trap| Warning {
            key: trap.key.to_owned(),
            origin: self.origin(trap.key),
            line: self.settings.get(trap.key).and_then(|setting| setting.line),
            text: trap.text,
        };
        traps(&control).into_iter().map(warning).collect()
    }

    /// Returns a warning about a rate that no message reaches.
    fn unreached_rates(&self) -> Option<Warning> {
        let key = "downsampling";
        Some(Warning {
            text: unreached(&self.settings().downsampling)?,
            key: key.to_owned(),
            origin: self.origin(key),
            line: self.settings.get(key).and_then(|setting| setting.line),
        })
    }

    /// Returns warnings about accepted options of endpoints that have no effect.
    fn idle_options(&self) -> Vec<Warning> {
        let settings = self.settings();
        let connect = settings
            .connect_endpoints()
            .map(|e| ("connect/endpoints", e));
        let listen = settings
            .listen_endpoints
            .iter()
            .map(|e| ("listen/endpoints", e));
        let warning = |key: &str, endpoint: &Endpoint, option: String| Warning {
            key: key.to_owned(),
            origin: self.origin(key),
            line: self.settings.get(key).and_then(|setting| setting.line),
            text: format!("{}: {option}", endpoint.locator()),
        };
        let of = |(key, endpoint): (&str, &Endpoint)| {
            let idle = idle_options(endpoint).into_iter();
            idle.map(|option| warning(key, endpoint, option))
                .collect::<Vec<_>>()
        };
        connect.chain(listen).flat_map(of).collect()
    }

    /// Checks for errors of builder methods, incomplete access control, contradicting
    /// options of links, and endpoints whose protocol `transport/link/protocols` does not allow.
    ///
    /// # Errors
    /// The first fault.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if let Some(refused) = &self.refused {
            return Err(refused.clone());
        }
        let settings = self.settings();
        self.check_access_control(&settings)?;
        self.check_keys()?;
        settings.check_options()?;
        self.check_discovery()?;
        let Some(allowed) = &settings.protocols else {
            return Ok(());
        };
        let is_refused = |e: &Endpoint| !allowed.iter().any(|p| p == e.proto());
        let allowed = allowed.join(", ");
        let expected = format!("one of the protocols {allowed} (transport/link/protocols)");
        match self.endpoint_where(is_refused, &expected) {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    /// Returns the error of an endpoint whose protocol this build does not have. Programs end with
    /// it; the node itself continues with its other endpoints.
    pub(super) fn unreachable(&self) -> Option<(Origin, ConfigError)> {
        let supported = link_kinds().join(", ");
        let expected = format!("one of the protocols that this build has: {supported}");
        self.endpoint_where(|endpoint| Protocol::of(endpoint).is_err(), &expected)
    }

    /// Returns an error for the first endpoint of this node's role that `is_wrong`, and its origin.
    fn endpoint_where(
        &self,
        is_wrong: impl Fn(&Endpoint) -> bool,
        expected: &str,
    ) -> Option<(Origin, ConfigError)> {
        let settings = self.settings();
        let connect = settings.connect_endpoints().find(|e| is_wrong(e));
        let listen = settings.listen_endpoints.iter().find(|e| is_wrong(e));
        let (key, found) = match (connect, listen) {
            (Some(endpoint), _) => ("connect/endpoints", endpoint),
            (None, Some(endpoint)) => ("listen/endpoints", endpoint),
            (None, None) => return None,
        };
        let error = ConfigError::Value {
            key: key.to_owned(),
            line: self.settings.get(key).and_then(|setting| setting.line),
            found: found.to_string(),
            expected: expected.to_owned(),
        };
        Some((self.origin(key), error))
    }

    /// Checks that access control is complete if it is on.
    fn check_access_control(&self, settings: &Settings) -> Result<(), ConfigError> {
        let Err(problem) = settings.access_control() else {
            return Ok(());
        };
        // an absent list has no place, but the key that asks for it has
        let (key, found) = match self.settings.get(problem.key) {
            Some(_) => (problem.key, problem.found),
            None => {
                let found = format!("true, but `{}` is {}", problem.key, problem.found);
                (ACCESS_CONTROL, found)
            }
        };
        Err(ConfigError::Value {
            key: key.to_owned(),
            line: self.settings.get(key).and_then(|setting| setting.line),
            found,
            expected: problem.expected,
        })
    }

    /// Checks that a node to which others connect has no keys to authenticate by: its author wants
    /// unknown neighbours to be turned away.
    fn check_keys(&self) -> Result<(), ConfigError> {
        let set = KEYS.into_iter().find(|key| self.is_set(key));
        let Some(key) = set.filter(|_| self.mode() != WhatAmI::Client) else {
            return Ok(());
        };
        Err(ConfigError::Value {
            key: key.to_owned(),
            line: self.settings.get(key).and_then(|setting| setting.line),
            found: "set".to_owned(),
            expected: "nothing: keys authenticate no neighbour (Zenoh's nodes do not read their known_keys_file, and \
                       turn away all that show a key); use transport/auth/usrpwd, or transport/link/tls/enable_mtls"
                .to_owned(),
        })
    }

    /// Checks the multicast group, the strategies of connecting, and that gossip is not for clients.
    ///
    /// # Errors
    /// The first value that cannot be used.
    fn check_discovery(&self) -> Result<(), ConfigError> {
        // `check` returns an error if the value of `key` has a problem.
        let refused = |key: &str, found: String, expected: &str| ConfigError::Value {
            key: key.to_owned(),
            line: self.settings.get(key).and_then(|setting| setting.line),
            found,
            expected: expected.to_owned(),
        };
        let check =
            |key: &str, problem: &dyn Fn(&Found) -> Option<String>, expected: &str| match problem(
                &self.found(key),
            ) {
                Some(found) => Err(refused(key, found, expected)),
                None => Ok(()),
            };
        // The values: group, strategies, target of gossip.
        check(
            "scouting/multicast/address",
            &|found| read::group(found).is_none().then(|| read::json(found)),
            "a multicast address and port such as \"224.0.0.224:7446\"",
        )?;
        for section in ["scouting/multicast", "scouting/gossip"] {
            check(
                &format!("{section}/autoconnect_strategy"),
                &|found| read::strategies(found).err(),
                "always or greater-zid, as one text or as {to_router: .., to_peer: ..}, \
                 for all roles or as {peer: ..}",
            )?;
        }
        check(
            "scouting/gossip/target",
            &|found| {
                let has_clients = read::roles(found).contains(WhatAmI::Client);
                has_clients.then(|| "client".to_owned())
            },
            "router and peer only",
        )
    }
}

/// Maximum length of a value in a warning.
const SHOWN_CHARS: usize = 120;

/// Returns the warning about a setting that is not honoured.
fn complaint(key: &Key, path: &str, value: &Value) -> Option<String> {
    let shown = without_secrets(path, value).to_string();
    let text = match key.support {
        Support::Only(honoured, instead) if shown != honoured => instead,
        Support::Not(_) if is_empty(value) => return None,
        Support::Not(instead) if path != key.path || !same(value, &default_of(key)) => instead,
        Support::Gone if is_old_default(path, value) => return None,
        Support::Gone => "the reference has given it up, too; remove it",
        Support::Full | Support::Only(..) | Support::Not(_) => return None,
    };
    let shown = match shown.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", shown.get(..end).unwrap_or("")),
        None => shown,
    };
    Some(format!("{shown} has no effect: {text}"))
}

/// Returns true if a section is empty.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.is_empty(),
        Value::List(items) => items.is_empty(),
        _ => false,
    }
}

/// Returns true if the value of a removed key asks for what the node does anyway.
fn is_old_default(path: &str, value: &Value) -> bool {
    match (path.rsplit('/').next(), value) {
        (_, Value::Null) => true,
        (Some("mode"), Value::Text(mode)) => mode == "peer_to_peer",
        (Some("peer" | "linkstate"), Value::Object(members)) => members
            .iter()
            .all(|(name, member)| is_old_default(name, &member.value)),
        (Some("transport_weights"), Value::List(weights)) => weights.is_empty(),
        _ => false,
    }
}

/// Compares values without their lines.
fn same(a: &Value, b: &Value) -> bool {
    a.to_string() == b.to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use zonda_codec::{Roles, WhatAmI};

    use crate::Config;
    use zonda_table::scouting::Strategy::{Always, GreaterZid};

    #[test]
    fn the_defaults_are_the_reference_s() {
        let scouting = Config::peer()
            .with("scouting/multicast/enabled", "true")
            .settings()
            .scouting();
        assert!(scouting.enabled && scouting.listen && scouting.interfaces.is_empty());
        assert_eq!(scouting.address.to_string(), "224.0.0.224:7446");
        assert_eq!(scouting.ttl, 1);
        assert_eq!(
            (scouting.timeout, scouting.delay),
            (Duration::from_secs(3), Duration::from_millis(500))
        );
        assert_eq!(scouting.autoconnect.roles, Roles::ALL);
        let gossip = Config::peer().settings().gossip();
        assert!(gossip.enabled && !gossip.multihop);
        assert_eq!(gossip.target, WhatAmI::Router | WhatAmI::Peer);
        assert_eq!(gossip.autoconnect.roles, Roles::ALL);
        let router = Config::router();
        assert!(
            router.settings().scouting().autoconnect.roles.is_empty()
                && router.settings().scouting().listen
        );
        assert!(router.settings().gossip().autoconnect.roles.is_empty());
    }

    #[test]
    fn a_strategy_is_for_all_or_by_target_or_by_role() {
        let key = "scouting/multicast/autoconnect_strategy";
        let both = |value: &str| {
            let config = Config::peer().with(key, value);
            config.validate().map_err(|error| error.to_string())?;
            let policy = config.settings().scouting().autoconnect;
            Ok::<_, String>((policy.to_router, policy.to_peer))
        };
        assert_eq!(both("'greater-zid'"), Ok((GreaterZid, GreaterZid)));
        assert_eq!(both("{to_peer: 'greater-zid'}"), Ok((Always, GreaterZid)));
        assert_eq!(
            both("{peer: 'greater-zid', router: 'always'}"),
            Ok((GreaterZid, GreaterZid))
        );
        assert_eq!(both("{router: 'greater-zid'}"), Ok((Always, Always)));
        assert_eq!(
            both("{peer: {to_router: 'greater-zid'}}"),
            Ok((GreaterZid, Always))
        );
        for bad in [
            "'sometimes'",
            "{peer: 'sometimes'}",
            "{to_boss: 'always'}",
            "7",
        ] {
            let error = both(bad).expect_err(bad);
            assert!(
                error.contains("greater-zid") && !error.contains('\n'),
                "{error}"
            );
        }
    }

    #[test]
    fn an_endpoint_of_no_known_protocol_is_found_with_its_place() {
        let config = Config::from_json5("{\n connect: { endpoints: ['tcp/h:1', 'http/h:1'] } }");
        let config = config.expect("well formed");
        assert_eq!(config.validate(), Ok(()), "a node goes on with the others");
        let (_, error) = config.unreachable().expect("http leads nowhere");
        let error = error.to_string();
        assert!(
            error.starts_with("line 2: `connect/endpoints` is http/h:1, expected one of"),
            "{error}"
        );
        assert!(Config::client(["tcp/h:1"]).unreachable().is_none());
    }

    #[test]
    fn old_defaults_and_empty_sections_give_no_warning() {
        for text in [
            "{routing: {peer: {mode: 'peer_to_peer'}}}",
            "{routing: {peer: {mode: 'peer_to_peer', linkstate: {transport_weights: []}}}}",
            "{plugins: {}, plugins_loading: {search_dirs: []}, downsampling: []}",
        ] {
            let config = Config::from_json5(text).expect(text);
            assert_eq!(config.warnings(), [], "{text}");
        }
        for text in [
            "{routing: {peer: {mode: 'linkstate'}}}",
            "{plugins: {rest: {}}}",
            "{listen: {endpoints: ['tcp/[::]:1?rel=0']}, mode: 'router'}",
        ] {
            let config = Config::from_json5(text).expect(text);
            assert_eq!(config.warnings().len(), 1, "{text}");
        }
    }

    #[test]
    fn interfaces_are_named_one_by_one() {
        let named = |value: &str| {
            let config = Config::peer().with("scouting/multicast/interface", value);
            config.settings().scouting().interfaces
        };
        assert_eq!(named("'auto'"), [""; 0]);
        assert_eq!(named("'eth0'"), ["eth0"]);
        assert_eq!(named("' eth0, 192.168.7.2 '"), ["eth0", "192.168.7.2"]);
    }
}
