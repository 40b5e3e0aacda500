// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a link may have beyond the plain protocol: what a node is willing to ([`LocalOptions`]) and what both sides agreed
//! on ([`LinkOptions`]). The default of both is nothing.

use std::sync::Arc;

use super::auth::{Credentials, Users};
use super::certificate::CertificateNames;
use super::multilink::{NodeKey, PeerKey};

/// What a node is willing to have on its links.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocalOptions {
    /// Shown to acceptors that ask for a user. Default: none.
    pub credentials: Option<Credentials>,
    /// The users that this node lets in; everybody where there is no list. Default: no list.
    pub users: Option<Users>,
    /// Whether compressed batches are offered and agreed to. Default: no.
    pub compression: bool,
    /// Whether bare messages are offered and agreed to; not together with priorities. Default: no.
    pub low_latency: bool,
    /// Shown to prove that further links come from this node; one link to each node where there is none. Default: none.
    pub multilink: Option<NodeKey>,
}

/// What the two sides of a link agreed on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkOptions {
    /// Batches may be compressed.
    pub compression: bool,
    /// Bare messages: no priorities, no fragments.
    pub low_latency: bool,
    /// Rarely there, and copied with every step of a handshake.
    pub(crate) proven: Option<Arc<Proven>>,
}

/// What one side has proved to the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Proven {
    user: Option<Arc<str>>,
    multilink: Option<PeerKey>,
    certificate: Option<CertificateNames>,
}

/// What stands in front of the messages on a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Framing {
    /// Batches: a length of 16 bits.
    #[default]
    Plain = 2,
    /// Batches that may be compressed: a length of 16 bits and a byte of flags.
    Compressed = 3,
    /// Single messages: each has a length of 32 bits.
    Bare = 0,
}

impl Framing {
    /// Whether messages stand alone.
    pub(crate) fn is_bare(self) -> bool {
        self == Framing::Bare
    }

    /// Bytes in front of the first message of what is written at once; a bare message brings its own.
    #[inline]
    pub(crate) fn prefix_bytes(self) -> usize {
        usize::from(self as u8)
    }
}

impl LinkOptions {
    /// The same with what was proved.
    pub(crate) fn proving(self, user: Option<Arc<str>>, multilink: Option<PeerKey>) -> Self {
        let proven = Proven {
            user,
            multilink,
            certificate: None,
        };
        let is_any = proven != Proven::default();
        LinkOptions {
            proven: is_any.then(|| Arc::new(proven)),
            ..self
        }
    }

    /// Notes what the certificate says that the peer has shown, if it has.
    pub(super) fn certify(&mut self, names: Option<Box<CertificateNames>>) {
        if let Some(names) = names {
            let proven = self.proven.as_deref().cloned().unwrap_or_default();
            self.proven = Some(Arc::new(Proven {
                certificate: Some(*names),
                ..proven
            }));
        }
    }

    /// Tells if two links have the same options and the same owner. Certificates may differ: one of the links may have none.
    #[must_use]
    pub fn are_alike(&self, other: &LinkOptions) -> bool {
        (self.compression, self.low_latency) == (other.compression, other.low_latency)
            && (self.user(), self.multilink()) == (other.user(), other.multilink())
    }

    /// The names in the certificate that the peer has shown; `None` on a link without TLS, and where the listener asks for none.
    #[must_use]
    pub fn certificate(&self) -> Option<&CertificateNames> {
        self.proven.as_ref()?.certificate.as_ref()
    }

    /// The user that the opener has proved to be; `None` where the acceptor did not ask.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.proven.as_ref()?.user.as_deref()
    }

    /// The peer's key, where there may be several links to it.
    #[must_use]
    pub fn multilink(&self) -> Option<&PeerKey> {
        self.proven.as_ref()?.multilink.as_ref()
    }

    /// What it has, in words; empty for a plain link.
    ///
    /// ```
    /// use zonda_transport::protocol::options::LinkOptions;
    ///
    /// let mut options = LinkOptions::default();
    /// options.compression = true;
    /// assert_eq!(options.names(), ["compression"]);
    /// ```
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let user = self.user().map(|user| format!("user {user}"));
        let named = [
            (self.compression, "compression"),
            (self.low_latency, "lowlatency"),
            (self.multilink().is_some(), "multilink"),
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
