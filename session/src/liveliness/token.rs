// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tokens: a session announces that it is alive.

use std::fmt;

use zonda_codec::{KeyExpr, KeyExprError};
use zonda_router::node::{DeclareError, Node, TokenId};

use crate::callback_group::Ended;
use crate::handle::Session;
use crate::wait::{Operation, ready_at_once};

/// A token under construction; made by [`Liveliness::declare_token`](super::Liveliness::declare_token).
#[derive(Debug)]
#[must_use = "nothing is declared before .await or .wait()"]
pub struct LivelinessTokenBuilder<'a, 'b> {
    pub(super) session: &'a Session,
    pub(super) key: Result<KeyExpr<'b>, KeyExprError>,
}

impl Operation for LivelinessTokenBuilder<'_, '_> {
    type Given = LivelinessToken;
    type Refusal = DeclareError;

    /// Declares the token; does not block.
    fn perform(self) -> Result<Self::Given, Self::Refusal> {
        let key = self.key?.into_owned();
        let node = self.session.node().clone();
        let id = node.declare_token(&*self.session.outgoing(&key)?)?;
        Ok(LivelinessToken { node, id, key })
    }
}

ready_at_once!([] LivelinessTokenBuilder<'_, '_>);

/// Announces that its session is alive on its key, until it is dropped, which does not block. It
/// does not keep the session open; when that is closed, or cannot be reached, the token is gone for
/// other nodes.
///
/// ```
/// # use zonda::{Config, Wait};
/// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
/// let token = session.liveliness().declare_token("robots/7").wait()?;
/// assert_eq!(token.key_expr().as_str(), "robots/7");
/// token.undeclare().wait()?;
/// # Ok::<(), zonda::Error>(())
/// ```
#[must_use = "it is undeclared at once: keep it in a variable"]
pub struct LivelinessToken {
    node: Node,
    id: TokenId,
    key: KeyExpr<'static>,
}

impl LivelinessToken {
    /// Returns the key.
    pub fn key_expr(&self) -> &KeyExpr<'static> {
        &self.key
    }

    /// Ends it, as dropping it does; never blocks and never fails.
    pub fn undeclare(self) -> Ended {
        drop(self);
        Ended::now()
    }
}

impl Drop for LivelinessToken {
    fn drop(&mut self) {
        self.node.undeclare_token(self.id);
    }
}

impl fmt::Debug for LivelinessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LivelinessToken")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
