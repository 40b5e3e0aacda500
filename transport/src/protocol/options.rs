// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a link may have beyond the plain protocol: what a node is willing to ([`LocalOptions`]) and what both sides agreed
//! on ([`LinkOptions`]). The default of both is nothing.

use std::sync::Arc;

use super::auth::{Credentials, Users};

/// What a node is willing to have on its links.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocalOptions {
    /// Shown to acceptors that ask for a user. Default: none.
    pub credentials: Option<Credentials>,
    /// Those whom this node lets in; everybody where there is no list. Default: no list.
    pub users: Option<Users>,
}

/// What the two sides of a link agreed on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkOptions {
    /// The user that the opener has proved to be; `None` where the acceptor did not ask.
    pub user: Option<Arc<str>>,
}

impl LinkOptions {
    /// What it has, in words; empty for a plain link.
    ///
    /// ```
    /// use zonda_transport::protocol::options::LinkOptions;
    ///
    /// let mut options = LinkOptions::default();
    /// options.user = Some("bob".into());
    /// assert_eq!(options.names(), ["user bob"]);
    /// ```
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let user = self.user.as_ref().map(|user| format!("user {user}"));
        user.into_iter().collect()
    }
}
