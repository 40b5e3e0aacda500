// SPDX-License-Identifier: MIT OR Apache-2.0

//! Registration of a program that does the work of a plugin.

use std::{
    fmt,
    sync::{Arc, Weak},
};

use super::{handle::Node, shared::Shared};
use crate::config::Config;

/// Registration of a program that does the work of a plugin. Dropping it ends it.
pub struct ServedPlugin {
    plugin: &'static str,
    node: Weak<Shared>,
}

impl fmt::Debug for ServedPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ServedPlugin");
        shown.field("plugin", &self.plugin).finish_non_exhaustive()
    }
}

impl Drop for ServedPlugin {
    fn drop(&mut self) {
        if let Some(node) = self.node.upgrade() {
            node.running.plugins().remove(self.plugin);
        }
    }
}

impl Node {
    /// Has `take_over` called with each new configuration in which the section of a plugin differs,
    /// before the node takes the values over. An error, in one line, refuses all of the change.
    /// There is one such function for each plugin, and a later one replaces it.
    ///
    /// # Blocking
    /// `take_over` may block: the node calls it on a thread that serves no links, and one at a time.
    #[must_use = "dropping it ends the registration"]
    pub fn serve_plugin(
        &self,
        plugin: &'static str,
        take_over: impl Fn(&Config) -> Result<(), String> + Send + Sync + 'static,
    ) -> ServedPlugin {
        let plugins = self.shared.running.plugins();
        plugins.add(plugin, Arc::new(take_over));
        ServedPlugin {
            plugin,
            node: self.shared.this.clone(),
        }
    }
}
