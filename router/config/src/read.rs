// SPDX-License-Identifier: MIT OR Apache-2.0

//! Readers that convert a value in force into the type of a settings field: one function per type,
//! named in the rows of the table. Values were checked against their kinds when they were set, so a
//! value of the wrong kind cannot occur.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    str::FromStr,
    time::Duration,
};

use zonda_codec::{Endpoint, KeyExpr, Resolution, Roles, WhatAmI, ZenohId};

use crate::{
    access::{self, AccessMode, AccessPolicy, AccessRule, AccessSubject, Permission},
    check,
    downsampling::{self, DownsamplingItem},
    low_pass::{self, LowPassRule},
    network::{self, NetworkRule},
    publication::{self, PublicationRule},
    shown::without_secrets,
    trusted::{self, Trusted},
    user_ids,
    value::Value,
    weights,
};
use zonda_table::scouting::Strategy;

/// The value of a configuration for one key.
pub struct Found {
    /// The value in force for the role.
    pub value: Value,
    /// True if the value was set, false for a default.
    pub is_set: bool,
    /// The node's role.
    pub role: WhatAmI,
}

/// Time limit for attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeLimit {
    /// One attempt, no retry.
    Once,
    /// Attempts are repeated for at most this long.
    For(Duration),
    /// Attempts are repeated for ever.
    Forever,
}

impl TimeLimit {
    /// Returns true if another attempt is allowed after `elapsed`.
    pub fn allows(self, elapsed: Duration) -> bool {
        match self {
            TimeLimit::Once => false,
            TimeLimit::For(limit) => elapsed < limit,
            TimeLimit::Forever => true,
        }
    }
}

/// Rules that decide which of two nodes connects to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Strategies {
    /// Towards a router.
    pub to_router: Strategy,
    /// Towards a peer.
    pub to_peer: Strategy,
}

/// Variable that, set to `off`, changes the default of `scouting/multicast/enabled` to false: for
/// machines that must not send datagrams to their network unasked, and for tests. A value in the
/// configuration takes precedence.
const MULTICAST_SWITCH: &str = "ZONDA_MULTICAST_SCOUTING";

/// The reference's group and port.
const GROUP: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(224, 0, 0, 224)), 7446);

pub fn flag(found: &Found) -> bool {
    found.value == Value::Bool(true)
}

fn whole(found: &Found) -> Option<u64> {
    match found.value {
        Value::Number(n) if n >= 0.0 => Some(n as u64),
        _ => None,
    }
}

pub fn count64(found: &Found) -> u64 {
    whole(found).unwrap_or(0)
}

pub fn count(found: &Found) -> usize {
    optional(found).unwrap_or(0)
}

pub fn count32(found: &Found) -> u32 {
    count64(found).try_into().unwrap_or(u32::MAX)
}

pub fn count16(found: &Found) -> u16 {
    count64(found).try_into().unwrap_or(u16::MAX)
}

pub fn optional(found: &Found) -> Option<usize> {
    whole(found).map(|n| n.try_into().unwrap_or(usize::MAX))
}

/// Reads a count whose default differs from the reference's.
pub fn if_set(found: &Found) -> Option<usize> {
    found.is_set.then(|| count(found))
}

pub fn factor(found: &Found) -> f64 {
    match found.value {
        Value::Number(n) => n,
        _ => 1.0,
    }
}

pub fn millis(found: &Found) -> Duration {
    Duration::from_millis(count64(found))
}

pub fn micros(found: &Found) -> Duration {
    Duration::from_micros(count64(found))
}

pub fn optional_millis(found: &Found) -> Option<Duration> {
    whole(found).map(Duration::from_millis)
}

pub fn time_limit(found: &Found) -> TimeLimit {
    match found.value {
        Value::Number(n) if n < 0.0 => TimeLimit::Forever,
        Value::Number(n) if n > 0.0 => TimeLimit::For(Duration::from_millis(n as u64)),
        _ => TimeLimit::Once,
    }
}

pub fn text(found: &Found) -> Option<String> {
    check::as_text(&found.value).map(str::to_owned)
}

pub fn texts(found: &Found) -> Option<Vec<String>> {
    match &found.value {
        Value::List(items) => {
            let texts = items.iter().filter_map(|i| check::as_text(&i.value));
            Some(texts.map(str::to_owned).collect())
        }
        _ => None,
    }
}

fn is(found: &Found, choice: &str) -> bool {
    check::as_text(&found.value) == Some(choice)
}

pub fn is_pause(found: &Found) -> bool {
    is(found, "pause")
}

pub fn is_any(found: &Found) -> bool {
    is(found, "any")
}

pub fn is_init(found: &Found) -> bool {
    is(found, "init")
}

pub fn is_bytes(found: &Found) -> bool {
    is(found, "bytes")
}

pub fn is_all(found: &Found) -> bool {
    is(found, "all")
}

/// Returns the metadata that the node shows to other nodes.
pub fn metadata(found: &Found) -> String {
    without_secrets("metadata", &found.value).to_string()
}

pub fn json(found: &Found) -> String {
    found.value.to_string()
}

pub fn parsed<T: FromStr>(found: &Found) -> Option<T> {
    check::as_text(&found.value)?.parse().ok()
}

pub fn parsed_or_default<T: FromStr + Default>(found: &Found) -> T {
    parsed(found).unwrap_or_default()
}

pub fn role(found: &Found) -> WhatAmI {
    parsed(found).unwrap_or(WhatAmI::Peer)
}

pub fn roles(found: &Found) -> Roles {
    let names = texts(found).unwrap_or_default();
    names.iter().filter_map(|name| name.parse().ok()).collect()
}

pub fn key_expr(found: &Found) -> Option<KeyExpr<'static>> {
    KeyExpr::try_from(text(found)?).ok()
}

pub fn downsampling(found: &Found) -> Vec<DownsamplingItem> {
    downsampling::list(&found.value).unwrap_or_default()
}

pub fn low_pass(found: &Found) -> Vec<LowPassRule> {
    low_pass::rules(&found.value).unwrap_or_default()
}

pub fn permission(found: &Found) -> Permission {
    match is(found, "allow") {
        true => Permission::Allow,
        false => Permission::Deny,
    }
}

pub fn access_mode(found: &Found) -> AccessMode {
    match check::as_text(&found.value) {
        Some("strict") => AccessMode::Strict,
        Some("audit") => AccessMode::Audit,
        _ => AccessMode::Normal,
    }
}

pub fn access_rules(found: &Found) -> Option<Vec<AccessRule>> {
    access::rules(&found.value).unwrap_or_default()
}

pub fn access_subjects(found: &Found) -> Option<Vec<AccessSubject>> {
    access::subjects(&found.value).unwrap_or_default()
}

pub fn access_policies(found: &Found) -> Option<Vec<AccessPolicy>> {
    access::policies(&found.value).unwrap_or_default()
}

pub fn publications(found: &Found) -> Vec<PublicationRule> {
    publication::rules(&found.value).unwrap_or_default()
}

pub fn network(found: &Found) -> Vec<NetworkRule> {
    network::rules(&found.value).unwrap_or_default()
}

pub fn weights(found: &Found) -> Vec<(ZenohId, u16)> {
    weights::weights(&found.value).unwrap_or_default()
}

pub fn trusted(found: &Found) -> Option<Vec<Trusted>> {
    trusted::trusted(&found.value).unwrap_or_default()
}

pub fn user_ids(found: &Found) -> Vec<(String, Vec<ZenohId>)> {
    user_ids::user_ids(&found.value).unwrap_or_default()
}

pub fn cpus(found: &Found) -> Vec<usize> {
    check::cpus(&found.value).unwrap_or_default()
}

pub fn endpoints(found: &Found) -> Vec<Endpoint> {
    check::endpoints(&found.value).unwrap_or_default()
}

/// The endpoints that a node connects to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConnectGroups {
    /// Groups with one connection each: every endpoint is a group of its own, except for groups
    /// `oneOf`. A client has one group of all endpoints.
    pub one_of: Vec<Vec<Endpoint>>,
    /// Groups `allOf` of a client: one link by each endpoint to the neighbour that the client
    /// connected to.
    pub together: Vec<Vec<Endpoint>>,
}

pub fn connect_groups(found: &Found) -> ConnectGroups {
    let groups = check::groups(&found.value).unwrap_or_default();
    let mut wanted = ConnectGroups::default();
    if found.role == WhatAmI::Client {
        let all = groups.iter().flat_map(|group| group.endpoints.clone());
        wanted.one_of.push(all.collect());
        let together = groups.into_iter().filter(|group| group.is_all);
        wanted.together = together.map(|group| group.endpoints).collect();
        return wanted;
    }
    for group in groups {
        match group.is_all {
            false => wanted.one_of.push(group.endpoints),
            true => wanted
                .one_of
                .extend(group.endpoints.into_iter().map(|e| vec![e])),
        }
    }
    wanted
}

pub fn key_exprs(found: &Found) -> Vec<KeyExpr<'static>> {
    let texts = texts(found).unwrap_or_default().into_iter();
    texts
        .filter_map(|text| KeyExpr::try_from(text).ok())
        .collect()
}

/// Returns a resolution with the configured width of sequence numbers, and request ids of 32 bits,
/// the widest.
pub fn resolution(found: &Found) -> Resolution {
    let frame_sn = match check::as_text(&found.value) {
        Some("8bit") => 0,
        Some("16bit") => 1,
        Some("64bit") => 3,
        _ => 2,
    };
    let requests = Resolution::default().bits() & 0b1100;
    Resolution::from_bits(requests | frame_sn)
}

pub fn multicast_enabled(found: &Found) -> bool {
    flag(found) && (found.is_set || !multicast_is_switched_off())
}

/// Returns true if the environment turns multicast off for nodes whose configuration does not set
/// it.
pub fn multicast_is_switched_off() -> bool {
    std::env::var(MULTICAST_SWITCH).is_ok_and(|value| value == "off")
}

/// Reads a multicast group with its port.
pub fn group(found: &Found) -> Option<SocketAddr> {
    parsed(found).filter(|at: &SocketAddr| at.ip().is_multicast() && at.port() != 0)
}

pub fn group_or_default(found: &Found) -> SocketAddr {
    group(found).unwrap_or(GROUP)
}

/// Reads the names of interfaces; an empty list stands for all.
pub fn interfaces(found: &Found) -> Vec<String> {
    let text = check::as_text(&found.value).unwrap_or_default();
    let names = text.split(',').map(str::trim).filter(|n| !n.is_empty());
    let names: Vec<String> = names.map(str::to_owned).collect();
    match names.iter().any(|name| name == "auto") {
        true => Vec::new(),
        false => names,
    }
}

pub fn strategies_or_default(found: &Found) -> Strategies {
    strategies(found).unwrap_or_default()
}

/// Reads the strategies towards routers and peers: one for both or one each, for all roles or per
/// role. `Err` has the text that is not a strategy.
pub fn strategies(found: &Found) -> Result<Strategies, String> {
    // The value for the node's role, if it was given per role.
    let role = found.role.to_string();
    let value = match check::per_role(&found.value) {
        Some(mut members) => members
            .find(|(name, _)| *name == role)
            .map_or(&Value::Null, |(_, own)| own),
        None => &found.value,
    };
    // One text for both, or an object with one for each target.
    let mut strategies = Strategies::default();
    match value {
        Value::Null => {}
        Value::Text(_) => {
            let both = strategy(value)?;
            (strategies.to_router, strategies.to_peer) = (both, both);
        }
        Value::Object(members) => {
            for (name, member) in members {
                let strategy = || strategy(&member.value);
                match name.as_str() {
                    "to_router" => strategies.to_router = strategy()?,
                    "to_peer" => strategies.to_peer = strategy()?,
                    // Clients open their links themselves, so this strategy is checked only.
                    "to_client" => strategy().map(drop)?,
                    other => return Err(other.to_owned()),
                }
            }
        }
        other => return Err(other.to_string()),
    }
    Ok(strategies)
}

fn strategy(value: &Value) -> Result<Strategy, String> {
    match check::as_text(value) {
        Some("always") => Ok(Strategy::Always),
        Some("greater-zid") => Ok(Strategy::GreaterZid),
        _ => Err(value.to_string()),
    }
}
