// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the kinds of the keys of `scouting` do not say, checked when a configuration is validated.

use zonda_codec::WhatAmI;

use crate::config::{
    Config, ConfigError,
    read::{self, Found},
};

impl Config {
    /// Checks the multicast group, the strategies of connecting, and that gossip is not for clients.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub(super) fn check_discovery(&self) -> Result<(), ConfigError> {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use zonda_codec::{Roles, WhatAmI};

    use crate::{
        config::Config,
        table::scouting::Strategy::{Always, GreaterZid},
    };

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
