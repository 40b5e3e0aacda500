// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reload of the configuration of a running node.

use std::sync::Arc;

use crate::{
    config::{Config, ConfigError, is_of_plugins, is_reloaded, is_writable},
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
    /// node is a client), the keys and certificates of `transport/link/tls`, `connect/retry`, `lease`
    /// and `keep_alive` of `transport/link/tx` for connections from now on, and the plugins that the
    /// program [serves](Node::serve_plugin). No link ends, and no message is lost unless the new rules
    /// drop it. `log/filter` is the program's affair.
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
        let now = next.values();
        let is_other_role = next.differing_keys(config).iter().any(|key| key == "mode");
        let has_plugins = self.running.plugins().take_all(&now, config);
        let is_taken = |key: &str| match is_other_role {
            _ if is_of_plugins(key) => has_plugins || config.is_idle_plugin(key),
            true => is_writable(key),
            false => is_reloaded(key, self.role),
        };
        next.reload(config, is_taken);
        next.validate()?;
        let renewal = Renewal::prepare(self, next.settings())?;
        if has_plugins {
            self.running.plugins().hand_over(&now, &next)?;
        }
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

    /// Takes over the value of one key, or of several keys from an object if `key` is empty; without
    /// a value the default. If a changed one needs a restart, it is named, and nothing was taken
    /// over.
    ///
    /// # Errors
    /// The fault of the value, or the refusal of a plugin's program; nothing was taken over.
    ///
    /// # Blocking
    /// While a program takes over the configuration of its plugin ([`Plugins::may_take`]).
    ///
    /// [`Plugins::may_take`]: super::plugins::Plugins::may_take
    pub(crate) fn write(&self, key: &str, value: Option<&str>) -> Result<Reloaded, ConfigError> {
        let write = |running: &Config| -> Result<Config, ConfigError> {
            let written = match (key, value) {
                ("", Some(object)) => running.replaced(object)?,
                (key, Some(value)) => running.written(key, value)?,
                (key, None) => running.without(key)?,
            };
            written.validate()?;
            Ok(written)
        };
        if !self.running.plugins().may_take(key) {
            return self.take_over(|running| self.take_written(running, &write(running)?));
        }
        let _turn = self.running.turn();
        let now = self.running.values();
        let next = write(&now)?;
        if self.needing_restart(&now, &next).is_empty() {
            self.running.plugins().hand_over(&now, &next)?;
        }
        self.take_over(|running| self.take_written(running, &write(running)?))
    }

    /// Takes over all that differs, unless a key needs a restart.
    fn take_written(
        &self,
        running: &mut Config,
        written: &Config,
    ) -> Result<Reloaded, ConfigError> {
        let needs_restart = self.needing_restart(running, written);
        let mut changed = Vec::new();
        if needs_restart.is_empty() {
            changed = running.differing_keys(written);
            running.reload(written, |key| is_writable(key) || is_of_plugins(key));
        }
        Ok(Reloaded {
            changed,
            needs_restart,
            ..Reloaded::default()
        })
    }

    /// Returns the keys that differ, and that a running node does not take over.
    fn needing_restart(&self, now: &Config, next: &Config) -> Vec<String> {
        let has_all = self.running.plugins().take_all(now, next);
        let is_plugins = |key: &str| is_of_plugins(key) && (has_all || next.is_idle_plugin(key));
        let is_taken = |key: &str| is_writable(key) || is_plugins(key);
        let mut keys = now.differing_keys(next);
        keys.retain(|key| !is_taken(key));
        keys
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
