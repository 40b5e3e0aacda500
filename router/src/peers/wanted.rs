// SPDX-License-Identifier: MIT OR Apache-2.0

//! Endpoints and certificates that the configuration wants now: a reload changes them.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use zonda_codec::Endpoint;
use zonda_transport::link::LinkSettings;

use crate::config::Settings;

/// Wish to be connected to one of some endpoints. It ends when a reload removes it.
#[derive(Debug)]
pub(super) struct Upkeep {
    endpoints: Vec<Endpoint>,
    ended: AtomicBool,
}

impl Upkeep {
    pub(super) fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// Returns true if a reload has removed it.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }
}

/// Parts of the configuration that a running node changes, as they are in force.
pub(super) struct Wanted {
    links: LinkSettings,
    listen: Vec<Endpoint>,
    /// Groups of endpoints of which one is to be connected.
    connect: Vec<Vec<Endpoint>>,
    upkeeps: Vec<Arc<Upkeep>>,
}

impl Wanted {
    pub(super) fn new(settings: &Settings) -> Wanted {
        Wanted {
            links: settings.links(),
            listen: settings.listen_endpoints.clone(),
            connect: settings.connect_groups.one_of.clone(),
            upkeeps: Vec::new(),
        }
    }

    /// Returns the options of later links and listeners.
    pub(super) fn links(&self) -> LinkSettings {
        self.links.clone()
    }

    /// Returns true if this node is to listen there.
    pub(super) fn listens_at(&self, endpoint: &Endpoint) -> bool {
        self.listen.contains(endpoint)
    }

    /// Returns true if this node is to be connected to one of these endpoints, or to the only one
    /// among others.
    pub(super) fn connects_to(&self, endpoints: &[Endpoint]) -> bool {
        self.connect.iter().any(|group| group == endpoints)
    }

    /// Begins the upkeep of a connection.
    pub(super) fn keep(&mut self, endpoints: Vec<Endpoint>) -> Arc<Upkeep> {
        let upkeep = Arc::new(Upkeep {
            ended: AtomicBool::new(!self.connects_to(&endpoints)),
            endpoints,
        });
        self.upkeeps.push(Arc::clone(&upkeep));
        upkeep
    }

    /// Takes over the options of links and the endpoints to listen on.
    pub(super) fn replace_listeners(&mut self, links: LinkSettings, listen: Vec<Endpoint>) {
        (self.links, self.listen) = (links, listen);
    }

    /// Takes over the groups of endpoints to connect to: ends the upkeep of those that are gone, and
    /// returns the new ones.
    pub(super) fn replace_connections(&mut self, groups: &[Vec<Endpoint>]) -> Vec<Vec<Endpoint>> {
        let former = std::mem::replace(&mut self.connect, groups.to_vec());
        self.upkeeps.retain(|upkeep| {
            let stays = groups.contains(&upkeep.endpoints);
            upkeep.ended.store(!stays, Ordering::Release);
            stays
        });
        let new = groups.iter().filter(|group| !former.contains(group));
        new.cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[test]
    fn an_upkeep_ends_when_its_endpoints_are_gone() {
        let group = |port: u16| {
            let endpoint: Endpoint = format!("tcp/127.0.0.1:{port}").parse().expect("valid");
            vec![endpoint]
        };
        let config = Config::router().connect(["tcp/127.0.0.1:1", "tcp/127.0.0.1:2"]);
        let mut wanted = Wanted::new(&config.settings());
        let (one, two) = (wanted.keep(group(1)), wanted.keep(group(2)));
        let unwanted = wanted.keep(group(3));
        assert!(!one.has_ended() && !two.has_ended() && unwanted.has_ended());
        let new = wanted.replace_connections(&[group(2), group(3)]);
        assert_eq!(new, [group(3)]);
        assert!(one.has_ended() && !two.has_ended());
        // An endpoint that comes back is a new wish, and the old one stays ended.
        assert_eq!(
            wanted.replace_connections(&[group(1), group(2)]),
            [group(1)]
        );
        assert!(one.has_ended() && !wanted.keep(group(1)).has_ended());
    }
}
