// SPDX-License-Identifier: MIT OR Apache-2.0

//! Typed reading of the sections `scouting` and `open`, resolved for the node's role.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use zonda_codec::{Roles, WhatAmI};

use crate::{
    config::{Config, ConfigError, json5::Value, value},
    table::scouting::{Autoconnect, Strategy},
};

/// Set to `off`, it changes the default of `scouting/multicast/enabled` to false, as for machines that shall not send
/// anything to their network unasked, and for tests. What a configuration says wins.
const SWITCH: &str = "ZONDA_MULTICAST_SCOUTING";

/// The reference's group and port.
const GROUP: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(224, 0, 0, 224)), 7446);

/// How a node finds others by multicast, and is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoutingConfig {
    /// Whether it does. Default: yes.
    pub enabled: bool,
    /// The multicast group and port. Default: `224.0.0.224:7446`.
    pub address: SocketAddr,
    /// The interfaces to use, each by its name or by one of its addresses; empty for all. Default: all.
    pub interfaces: Vec<String>,
    /// How many routers a datagram may pass. Default: 1.
    pub ttl: u32,
    /// How long a client without endpoints looks for a router before `open` gives up. Default: 3 s.
    pub timeout: Duration,
    /// How long `open` waits at most for the first connection of a peer. Default: 500 ms.
    pub delay: Duration,
    /// Whether it answers those who look for it. Default: yes.
    pub listen: bool,
    /// The nodes that it connects to. Default: of a router none, else all.
    pub autoconnect: Autoconnect,
}

/// How a node tells others of each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GossipConfig {
    /// Whether it does. Default: yes.
    pub enabled: bool,
    /// Whether it passes on what it heard of nodes that are not its neighbours. Default: no.
    pub multihop: bool,
    /// The roles it tells. Default: routers and peers.
    pub target: Roles,
    /// The nodes that it connects to. Default: of a router none, else all.
    pub autoconnect: Autoconnect,
}

impl Config {
    /// How the node finds others by multicast, and is found.
    ///
    /// ```
    /// let config = zonda_router::Config::peer().with("scouting/multicast/interface", "'lo,eth0'");
    /// assert_eq!(config.scouting().interfaces, ["lo", "eth0"]);
    /// assert_eq!(config.scouting().address.to_string(), "224.0.0.224:7446");
    /// ```
    pub fn scouting(&self) -> ScoutingConfig {
        ScoutingConfig {
            enabled: self.multicast_enabled(),
            address: self.group().unwrap_or(GROUP),
            interfaces: self.interfaces(),
            ttl: self.count("scouting/multicast/ttl").try_into().unwrap_or(1),
            timeout: self.millis("scouting/timeout"),
            delay: self.millis("scouting/delay"),
            listen: self.flag("scouting/multicast/listen"),
            autoconnect: self.autoconnect("scouting/multicast"),
        }
    }

    /// How the node tells others of each other.
    pub fn gossip(&self) -> GossipConfig {
        GossipConfig {
            enabled: self.flag("scouting/gossip/enabled"),
            multihop: self.flag("scouting/gossip/multihop"),
            target: self.roles("scouting/gossip/target"),
            autoconnect: self.autoconnect("scouting/gossip"),
        }
    }

    /// Whether `open` of a peer waits for the first connection, at most for the scouting delay. Default: yes.
    pub fn open_awaits_connection(&self) -> bool {
        self.flag("open/return_conditions/connect_scouted")
    }

    /// Whether a peer counts as connected, while `open` waits, only once it has sent its declarations. Default: yes.
    pub fn open_awaits_declarations(&self) -> bool {
        self.flag("open/return_conditions/declares")
    }

    /// Whether `open` of a client without endpoints fails when it finds nobody. Default: yes.
    pub fn must_connect(&self) -> bool {
        self.flag("connect/exit_on_failure")
    }

    fn multicast_enabled(&self) -> bool {
        let path = "scouting/multicast/enabled";
        let is_off = || std::env::var(SWITCH).is_ok_and(|value| value == "off");
        match self.is_set(path) {
            true => self.flag(path),
            false => self.flag(path) && !is_off(),
        }
    }

    fn group(&self) -> Option<SocketAddr> {
        let address = self.text("scouting/multicast/address")?.parse().ok();
        address.filter(|at: &SocketAddr| at.ip().is_multicast() && at.port() != 0)
    }

    fn interfaces(&self) -> Vec<String> {
        let text = self
            .text("scouting/multicast/interface")
            .unwrap_or_default();
        let names = text.split(',').map(str::trim).filter(|n| !n.is_empty());
        let names: Vec<String> = names.map(str::to_owned).collect();
        match names.iter().any(|name| name == "auto") {
            true => Vec::new(),
            false => names,
        }
    }

    fn roles(&self, path: &str) -> Roles {
        let Value::List(items) = self.value(path) else {
            return Roles::default();
        };
        let role = |text: &str| text.parse::<WhatAmI>().ok();
        let names = items.iter().filter_map(|item| value::as_text(&item.value));
        names.filter_map(role).collect()
    }

    fn autoconnect(&self, section: &str) -> Autoconnect {
        let (to_router, to_peer) = self.strategies(section).unwrap_or_default();
        Autoconnect {
            roles: self.roles(&format!("{section}/autoconnect")),
            to_router,
            to_peer,
        }
    }

    /// The strategies towards routers and peers: one for both, one each, or either of it per role. `Err` with what else
    /// was found.
    fn strategies(&self, section: &str) -> Result<(Strategy, Strategy), String> {
        let value = self.value(&format!("{section}/autoconnect_strategy"));
        let role = self.mode().to_string();
        let value = match value::per_role(&value) {
            Some(mut members) => members
                .find(|(name, _)| *name == role)
                .map_or(Value::Null, |(_, own)| own.clone()),
            None => value.clone(),
        };
        match &value {
            Value::Null => Ok(Default::default()),
            Value::Text(_) => strategy(&value).map(|one| (one, one)),
            Value::Object(members) => {
                let (mut to_router, mut to_peer) = Default::default();
                for (name, member) in members {
                    match name.as_str() {
                        "to_router" => to_router = strategy(&member.value)?,
                        "to_peer" => to_peer = strategy(&member.value)?,
                        // links to clients are the clients' to open
                        "to_client" => strategy(&member.value).map(drop)?,
                        other => return Err(other.to_owned()),
                    }
                }
                Ok((to_router, to_peer))
            }
            other => Err(other.to_string()),
        }
    }

    /// What the kinds of the keys do not say.
    pub(super) fn check_discovery(&self) -> Result<(), ConfigError> {
        let refused = |key: &str, found: String, expected: &str| ConfigError::Value {
            key: key.to_owned(),
            line: self.settings.get(key).and_then(|setting| setting.line),
            found,
            expected: expected.to_owned(),
        };
        let key = "scouting/multicast/address";
        if self.group().is_none() {
            let found = self.value(key).to_string();
            return Err(refused(
                key,
                found,
                "a multicast address and port such as \"224.0.0.224:7446\"",
            ));
        }
        for section in ["scouting/multicast", "scouting/gossip"] {
            self.strategies(section).map_err(|found| {
                let key = format!("{section}/autoconnect_strategy");
                let expected = "always or greater-zid, as one text or as {to_router: .., to_peer: ..}, \
                                for all roles or as {peer: ..}";
                refused(&key, found, expected)
            })?;
        }
        let key = "scouting/gossip/target";
        match self.roles(key).contains(WhatAmI::Client) {
            true => Err(refused(key, "client".to_owned(), "router and peer only")),
            false => Ok(()),
        }
    }
}

fn strategy(value: &Value) -> Result<Strategy, String> {
    match value::as_text(value) {
        Some("always") => Ok(Strategy::Always),
        Some("greater-zid") => Ok(Strategy::GreaterZid),
        _ => Err(value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_the_reference_s() {
        let scouting = Config::peer()
            .with("scouting/multicast/enabled", "true")
            .scouting();
        assert!(scouting.enabled && scouting.listen && scouting.interfaces.is_empty());
        assert_eq!((scouting.address, scouting.ttl), (GROUP, 1));
        assert_eq!(
            (scouting.timeout, scouting.delay),
            (Duration::from_secs(3), Duration::from_millis(500))
        );
        assert_eq!(scouting.autoconnect.roles, Roles::ALL);
        let gossip = Config::peer().gossip();
        assert!(gossip.enabled && !gossip.multihop);
        assert_eq!(gossip.target, WhatAmI::Router | WhatAmI::Peer);
        assert_eq!(gossip.autoconnect.roles, Roles::ALL);
        let router = Config::router();
        assert!(router.scouting().autoconnect.roles.is_empty() && router.scouting().listen);
        assert!(router.gossip().autoconnect.roles.is_empty());
    }

    #[test]
    fn a_strategy_is_for_all_or_by_target_or_by_role() {
        let key = "scouting/multicast/autoconnect_strategy";
        let both = |value: &str| {
            let config = Config::peer().with(key, value);
            config.validate().map_err(|error| error.to_string())?;
            let policy = config.scouting().autoconnect;
            Ok::<_, String>((policy.to_router, policy.to_peer))
        };
        use Strategy::{Always, GreaterZid};
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
    fn interfaces_are_named_one_by_one() {
        let named = |value: &str| {
            let config = Config::peer().with("scouting/multicast/interface", value);
            config.scouting().interfaces
        };
        assert_eq!(named("'auto'"), [""; 0]);
        assert_eq!(named("'eth0'"), ["eth0"]);
        assert_eq!(named("' eth0, 192.168.7.2 '"), ["eth0", "192.168.7.2"]);
    }
}
