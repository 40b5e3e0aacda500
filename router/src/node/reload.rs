// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reload of the configuration of a running node.

use std::sync::Arc;

use crate::{
    config::{Config, ConfigError, is_reloaded, is_writable},
    filter::reload_filters,
    peers::renewal::Renewal,
};

use super::{handle::Node, shared::Shared};

/// Result of [`Node::reload`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reloaded {
    /// Keys whose new values are in force now.
    pub changed: Vec<String>,
    /// Keys whose new values need a restart: the old ones stay in force.
    pub needs_restart: Vec<String>,
    /// Number of routers of the mesh. What they have declared so far was not decided about again;
    /// their messages are.
    pub routers: usize,
    /// Number of listeners that have read their certificates again.
    pub certificates: usize,
    /// Number of neighbours whose earlier declarations were refused, and were too many to be
    /// remembered: they have to declare them again.
    pub forgotten: usize,
}

impl Node {
    /// Takes over values from another configuration: those below `access_control`, `downsampling`,
    /// `low_pass_filter` and `qos/network`, the endpoints of `listen` and of `connect` (unless the
    /// node is a client), and the keys and certificates of `transport/link/tls`. No link ends, and
    /// no message is lost unless the new rules drop it.
    ///
    /// The new rules decide about messages at once, then about the declarations that neighbours have
    /// made so far, also about those that the old rules refused. New endpoints are listened on, or
    /// connected to; those that are gone accept no more links, or are not connected to again. Later
    /// connections get the new certificates, whose files are read again in any case.
    ///
    /// # Errors
    /// The first fault: of the configuration, of a file, or of an address to listen on. Nothing was
    /// taken over.
    ///
    /// # Blocking
    /// Waits for another reload that is under way. Reads files, and looks up host names. Takes
    /// milliseconds for each neighbour with many declarations, while the node forwards messages.
    ///
    /// ```
    /// # zonda_runtime::block_on(async {
    /// use zonda_router::{Config, node::Node};
    ///
    /// let node = Node::open(Config::router()).await.unwrap();
    /// let mut config = Config::router();
    /// config.insert_json5("low_pass_filter", "[{size_limit: 1024, flows: ['ingress'],
    ///     messages: ['put'], key_exprs: ['**']}]").unwrap();
    /// let reloaded = node.reload(&config).unwrap();
    /// assert_eq!(reloaded.changed, ["low_pass_filter"]);
    /// assert!(reloaded.needs_restart.is_empty());
    /// # node.close(std::time::Duration::from_secs(1)).await.unwrap();
    /// # });
    /// ```
    pub fn reload(&self, config: &Config) -> Result<Reloaded, ConfigError> {
        self.shared.reload(config)
    }
}

impl Shared {
    /// Takes over values, as [`Node::reload`] describes.
    pub(crate) fn reload(self: &Arc<Self>, config: &Config) -> Result<Reloaded, ConfigError> {
        config.validate()?;
        if self.is_forked() {
            return Ok(Reloaded::default());
        }
        // Files are read, and names looked up, without the lock of the values, which queries take.
        let _turn = self.running.turn();
        let mut next = self.running.values();
        // The endpoints of another role are not for this one.
        let is_other_role = next.differing_keys(config).iter().any(|key| key == "mode");
        let is_taken = |key: &str| match is_other_role {
            true => is_writable(key),
            false => is_reloaded(key, self.role),
        };
        next.reload(config, is_taken);
        next.validate()?;
        let renewal = Renewal::prepare(self, next.settings())?;
        let mut reloaded = self.take_over(|running| {
            let different = running.differing_keys(config);
            running.reload(config, is_taken);
            let (changed, needs_restart) = different.into_iter().partition(|key| is_taken(key));
            Ok(Reloaded {
                changed,
                needs_restart,
                ..Reloaded::default()
            })
        })?;
        reloaded.certificates = renewal.apply(self);
        Ok(reloaded)
    }

    /// Takes over the value of one key, or of several keys from an object if `key` is empty. If a
    /// changed one needs a restart, it is named, and nothing was taken over.
    ///
    /// # Errors
    /// The fault of the value; nothing was taken over.
    pub(crate) fn write(&self, key: &str, value: &str) -> Result<Reloaded, ConfigError> {
        self.take_over(|running| {
            let written = match key {
                "" => running.replaced(value)?,
                _ => running.values().with(key, value),
            };
            written.validate()?;
            let different = running.differing_keys(&written);
            let (mut changed, needs_restart): (Vec<_>, Vec<_>) =
                different.into_iter().partition(|key| is_writable(key));
            match needs_restart.is_empty() {
                true => running.reload(&written, is_writable),
                false => changed.clear(),
            }
            Ok(Reloaded {
                changed,
                needs_restart,
                ..Reloaded::default()
            })
        })
    }

    /// Changes the running configuration, and takes over the filters if keys of theirs have changed.
    /// The lock keeps one change from undoing another one that is under way.
    fn take_over(
        &self,
        change: impl FnOnce(&mut Config) -> Result<Reloaded, ConfigError>,
    ) -> Result<Reloaded, ConfigError> {
        if self.is_forked() {
            return Ok(Reloaded::default());
        }
        let mut running = self.running.lock();
        let mut reloaded = change(&mut running)?;
        if reloaded.changed.iter().any(|key| is_writable(key)) {
            let skipped = reload_filters(self, &running.settings());
            reloaded.routers = skipped.routers;
            reloaded.forgotten = skipped.incomplete;
        }
        Ok(reloaded)
    }
}
