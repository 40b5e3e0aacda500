// SPDX-License-Identifier: MIT OR Apache-2.0

//! Plugins of the reference whose work a program does, as the services of a daemon do.

use zonda_router::node::ServedPlugin;

use crate::{Config, Session};

impl Session {
    /// Has `take_over` called with each new configuration of this session's node in which the
    /// section `plugins/NAME` differs: of a write through the admin space, and of a reload. An error,
    /// in one line, refuses all of the change. Dropping the result ends this.
    ///
    /// # Blocking
    /// `take_over` may block: it is called on a thread that serves no links, and one call at a time.
    ///
    /// ```
    /// # use zonda::{Config, Wait};
    /// let session = zonda::open(Config::peer()).wait()?;
    /// let served = session.serve_plugin("lamps", |config| match config.plugin_json("lamps") {
    ///     Some(_) => Ok(()),
    ///     None => Err("`plugins/lamps` cannot be removed".to_owned()),
    /// });
    /// # drop(served);
    /// # Ok::<(), zonda::Error>(())
    /// ```
    #[must_use = "dropping it ends the registration"]
    pub fn serve_plugin(
        &self,
        plugin: &'static str,
        take_over: impl Fn(&Config) -> Result<(), String> + Send + Sync + 'static,
    ) -> ServedPlugin {
        self.node().serve_plugin(plugin, take_over)
    }
}
