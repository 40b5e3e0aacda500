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
    /// Whether compressed batches are offered and agreed to. Default: no.
    pub compression: bool,
    /// Whether bare messages are offered and agreed to; not together with priorities. Default: no.
    pub low_latency: bool,
}

/// What the two sides of a link agreed on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkOptions {
    /// The user that the opener has proved to be; `None` where the acceptor did not ask.
    pub user: Option<Arc<str>>,
    /// Batches may be compressed.
    pub compression: bool,
    /// Bare messages: no priorities, no fragments.
    pub low_latency: bool,
}

/// What stands in front of the messages on a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// Batches: a length of 16 bits.
    #[default]
    Plain,
    /// Batches that may be compressed: a length of 16 bits and a byte of flags.
    Compressed,
    /// Single messages: each has a length of 32 bits.
    Bare,
}

impl Framing {
    /// Whether messages stand alone.
    pub(crate) fn is_bare(self) -> bool {
        self == Framing::Bare
    }

    /// Bytes in front of the first message of what is written at once; a bare message brings its own.
    pub(crate) fn prefix_bytes(self) -> usize {
        match self {
            Framing::Plain => 2,
            Framing::Compressed => 3,
            Framing::Bare => 0,
        }
    }
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
        let named = [
            (self.compression, "compression"),
            (self.low_latency, "lowlatency"),
        ];
        let named = named.iter().filter(|(is_set, _)| *is_set);
        user.into_iter()
            .chain(named.map(|(_, name)| (*name).to_owned()))
            .collect()
    }

    /// How messages are framed: where both are agreed on, bare messages win and nothing is compressed.
    #[must_use]
    pub fn framing(&self) -> Framing {
        match self {
            _ if self.low_latency => Framing::Bare,
            _ if self.compression => Framing::Compressed,
            _ => Framing::Plain,
        }
    }
}
