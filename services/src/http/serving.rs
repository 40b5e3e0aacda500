// SPDX-License-Identifier: MIT OR Apache-2.0

//! A service that is one HTTP server, while it runs.

use zonda::session::Sample;
use zonda::{Config, Session, Wait};

use crate::Running;

use super::{Credentials, Server};

/// A server, and the session that its routes use.
pub(crate) struct Serving {
    /// Name of the service.
    pub name: &'static str,
    pub server: Server,
    pub session: Session,
    /// Reads the files of credentials, if the server has any.
    pub read: Option<ReadCredentials>,
}

/// Function that reads the files of credentials.
pub(crate) type ReadCredentials = Box<dyn Fn() -> Result<Credentials, String> + Send>;

impl Running for Serving {
    fn name(&self) -> &'static str {
        self.name
    }

    fn status(&self) -> String {
        self.server.status()
    }

    fn metrics(&self) -> Vec<Sample> {
        self.server.counts().samples()
    }

    fn renew(&self, config: &Config) -> Result<(), String> {
        self.server.renew(config)
    }

    fn reload_credentials(&self) -> Option<Result<usize, String>> {
        let read = self.read.as_ref()?;
        Some(read().map(|credentials| self.server.replace_credentials(credentials)))
    }

    fn stop(self: Box<Self>) {
        let Serving {
            server, session, ..
        } = *self;
        server.stop();
        // A failure is ignored: the node may be closed already.
        let _ = session.close().wait();
    }
}
