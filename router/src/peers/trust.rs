// SPDX-License-Identifier: MIT OR Apache-2.0

//! Trust in routers of this router's mesh. A router decides where messages of other nodes go, so
//! this node refuses a router that it does not trust. A router that this node connects to is
//! trusted, because the configuration names it.

use std::net::SocketAddr;

use zonda_codec::{Endpoint, WhatAmI, transport::reason};
use zonda_transport::protocol::parameters::Established;

use crate::{
    config::{Settings, Trusted},
    node::limits::{ConnectionLimits, Limit, Reached},
};

/// Most names of a certificate in a log line.
const NAMES_SHOWN: usize = 4;

/// Returns true if a router meets all conditions of an item.
fn is_meant(trusted: &Trusted, established: &Established, listener: &Endpoint) -> bool {
    let zid = &established.zid;
    let user = established.options.user();
    let is_user = |users: &Vec<String>| user.is_some_and(|user| users.iter().any(|u| u == user));
    let certificate = established.options.certificate();
    let is_named = |names: &Vec<String>| {
        certificate.is_some_and(|shown| names.iter().any(|name| shown.has(name)))
    };
    let is_here = |listeners: &Vec<Endpoint>| {
        let mut listeners = listeners.iter();
        listeners.any(|one| one.proto() == listener.proto() && one.address() == listener.address())
    };
    trusted.zids.as_ref().is_none_or(|zids| zids.contains(zid))
        && trusted.users.as_ref().is_none_or(is_user)
        && trusted.cert_names.as_ref().is_none_or(is_named)
        && trusted.listeners.as_ref().is_none_or(is_here)
}

/// Returns the text for a router in the log: its id and proven identity, spelled like a rule.
fn named(established: &Established) -> String {
    let (zid, options) = (established.zid, &established.options);
    let user = options.user().map(|user| format!("user {user:?}"));
    let certificate = options.certificate().and_then(|shown| {
        let names: Vec<&str> = shown.all().take(NAMES_SHOWN).collect();
        (!names.is_empty()).then(|| format!("certificate {names:?}"))
    });
    let proven: Vec<String> = user.into_iter().chain(certificate).collect();
    match proven.is_empty() {
        true => zid.to_string(),
        false => format!("{zid} ({})", proven.join(", ")),
    }
}

/// Refuses a router that is not trusted.
pub(crate) fn check(
    settings: &Settings,
    limits: &ConnectionLimits,
    established: &Established,
    listener: &Endpoint,
) -> Result<(), u8> {
    let are_routers = settings.mode == WhatAmI::Router && established.whatami == WhatAmI::Router;
    let Some(trusted) = settings.trusted.as_ref().filter(|_| are_routers) else {
        return Ok(());
    };
    if trusted
        .iter()
        .any(|one| is_meant(one, established, listener))
    {
        return Ok(());
    }
    let (limit, who) = (Limit::Untrusted, named(established));
    limits.note(&Reached { limit, who });
    Err(reason::INVALID)
}

/// Warns once if strangers may take part in the routing of this router.
pub(crate) fn tell_of_open_mesh(settings: &Settings) {
    if settings.mode != WhatAmI::Router || settings.trusted.is_some() {
        return;
    }
    let mut open = settings.listen_endpoints.iter();
    if let Some(endpoint) = open.find(|endpoint| is_open(settings, endpoint)) {
        tracing::warn!(
            "any node that reaches {}/{} may join as a router, and decide where messages of other nodes go: name the routers in \
             routing/router/trusted, [] for none",
            endpoint.proto(),
            endpoint.address()
        );
    }
}

/// Returns true if strangers can connect there: from other machines, without a name or a
/// certificate.
fn is_open(settings: &Settings, endpoint: &Endpoint) -> bool {
    let address = endpoint.address();
    let is_local = match address.parse::<SocketAddr>() {
        Ok(address) => address.ip().to_canonical().is_loopback(),
        Err(_) => address.starts_with("localhost:"),
    };
    let is_of_machine =
        ["unixsock-stream", "unixpipe", "serial", "vsock"].contains(&endpoint.proto());
    let asks_for_certificates = settings.asks_for_certificates(endpoint);
    !is_local && !is_of_machine && !asks_for_certificates && !settings.has_users()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[test]
    fn an_endpoint_is_open_if_other_machines_reach_it() {
        let settings = Config::router().settings();
        for (endpoint, expected) in [
            ("tcp/127.0.0.1:7447", false),
            ("tcp/127.1.2.3:7447", false),
            ("tcp/[::1]:7447", false),
            ("tcp/[::ffff:127.0.0.1]:7447", false),
            ("tcp/localhost:7447", false),
            ("unixsock-stream/a", false),
            ("tcp/0.0.0.0:7447", true),
            ("tcp/[::]:7447", true),
            ("udp/10.0.0.1:7447", true),
            ("tcp/localhost.example:7447", true),
        ] {
            let parsed: Endpoint = endpoint.parse().expect(endpoint);
            assert_eq!(is_open(&settings, &parsed), expected, "{endpoint}");
        }
    }
}
