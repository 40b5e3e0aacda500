// SPDX-License-Identifier: MIT OR Apache-2.0
//! Proof of an opener that it knows its password, without sending it.
//!
//! ```text
//! InitSyn   0x02  unit   there is a user
//! InitAck   0x22  vle    nonce
//! OpenSyn   0x42  bytes  user (vle length, bytes), proof (vle length, bytes)
//! OpenAck   0x02  unit   the user is known
//!
//! proof = HMAC-SHA3-256(key: nonce as 8 bytes, little-endian; message: password)
//! ```
//! Each is the one extension with id 2 in the chain that the authentication extension of the
//! message holds. The acceptor keeps the nonce in the cookie, and the cookie is valid for the
//! connection on which it was issued.

use std::sync::Arc;

use hmac::{Hmac, Mac};
use sha3::Sha3_256;
use zonda_codec::{RawExtensions, Reader, Writer, extension::ExtensionBody};

use crate::protocol::auth::{Credentials, USER_BYTES_MAX, Users};

/// Id of user and password among the methods of authentication.
const ID: u8 = 0x02;
const KEY_UNIT: u8 = 0x02;
const KEY_NONCE: u8 = 0x22;
const KEY_PROOF: u8 = 0x42;

/// Bytes of a proof.
const PROOF_BYTES: usize = 32;

/// Maximum characters of a peer's user name that are shown.
const SHOWN_CHARS_MAX: usize = 64;

/// Reason for refusing a user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthProblem {
    /// The peer gave no user, or announced a user and gave no proof.
    #[error(
        "the peer gave no user name; set transport/auth/usrpwd/user and transport/auth/usrpwd/password on its side"
    )]
    Missing,
    /// No user of that name is on the list.
    #[error(
        "user {user:?} is not in transport/auth/usrpwd/dictionary_file; add it there, or correct transport/auth/usrpwd/user on its side"
    )]
    UnknownUser {
        /// Name given by the peer, cut if it is long.
        user: String,
    },
    /// The proof is not that of the user's password.
    #[error(
        "the password of user {user:?} is wrong; correct transport/auth/usrpwd/password on its side, or the line in dictionary_file here"
    )]
    WrongPassword {
        /// Name of the user.
        user: String,
    },
    /// The user has other ids, or the id belongs to another user.
    #[error(
        "user {user:?} may not have this id; add the id to that user in transport/auth/usrpwd/ids, or set `id` on its side"
    )]
    WrongId {
        /// Name of the user.
        user: String,
    },
    /// The bytes of the user and its proof cannot be decoded.
    #[error("the user and proof that the peer sent cannot be decoded: {what}; update the peer")]
    Malformed {
        /// The fault in it.
        what: &'static str,
    },
}

impl AuthProblem {
    /// Returns the user name that the peer sent, if it did.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        match self {
            AuthProblem::UnknownUser { user }
            | AuthProblem::WrongPassword { user }
            | AuthProblem::WrongId { user } => Some(user),
            AuthProblem::Missing | AuthProblem::Malformed { .. } => None,
        }
    }
}

/// Content by which InitSyn announces an opener with credentials, and OpenAck confirms an admitted
/// one.
pub(super) const UNIT: &[u8] = &[KEY_UNIT];

/// Returns the challenge for InitAck.
pub(super) fn challenge(nonce: u64) -> Vec<u8> {
    let mut chain = vec![KEY_NONCE];
    put_vle(nonce, &mut chain);
    chain
}

/// Returns the nonce of InitAck's challenge; `None` where InitAck has no challenge.
pub(super) fn nonce(chain: Option<&[u8]>) -> Result<Option<u64>, AuthProblem> {
    match find(chain)? {
        None => Ok(None),
        Some(ExtensionBody::Number(nonce)) => Ok(Some(nonce)),
        Some(_) => Err(malformed("the nonce is no number")),
    }
}

/// Returns the answer for OpenSyn.
pub(super) fn answer(credentials: &Credentials, nonce: u64) -> Vec<u8> {
    let proof = proof(nonce, credentials.password().bytes());
    let proof = proof.finalize().into_bytes();
    let mut body = Vec::new();
    for field in [credentials.user().as_bytes(), &proof] {
        put_vle(field.len() as u64, &mut body);
        body.extend_from_slice(field);
    }
    let mut chain = vec![KEY_PROOF];
    put_vle(body.len() as u64, &mut chain);
    chain.append(&mut body);
    chain
}

/// Returns true if InitSyn announces a user, or OpenAck confirms one.
pub(super) fn is_there(chain: Option<&[u8]>) -> Result<bool, AuthProblem> {
    match find(chain)? {
        None => Ok(false),
        Some(ExtensionBody::Unit) => Ok(true),
        Some(_) => Err(malformed("the first word carries something")),
    }
}

/// Returns the user that OpenSyn has proved. The time of the check does not distinguish an unknown
/// user from a wrong password.
pub(super) fn verify(
    users: &Users,
    nonce: u64,
    chain: Option<&[u8]>,
) -> Result<Arc<str>, AuthProblem> {
    // Decode user and proof.
    let body = match find(chain)? {
        None => return Err(AuthProblem::Missing),
        Some(ExtensionBody::Bytes(body)) => body,
        Some(_) => return Err(malformed("the proof is not in bytes")),
    };
    let mut r = Reader::new(body);
    let cut = |_| malformed("it ends too early");
    let user = r.bytes_z32().map_err(cut)?;
    let given = r.bytes_z32().map_err(cut)?;
    if user.len() > USER_BYTES_MAX {
        return Err(malformed("the user name is too long"));
    }
    if given.len() != PROOF_BYTES || !r.is_empty() {
        return Err(malformed("the proof has another length"));
    }
    // Compute a proof for an unknown user as well, so that both cases take the same time.
    let known = std::str::from_utf8(user)
        .ok()
        .and_then(|user| users.find(user));
    let password = known
        .as_ref()
        .map_or(&b"nobody"[..], |(_, password)| password.bytes());
    let fits = proof(nonce, password).verify_slice(given).is_ok();
    match known {
        Some((user, _)) if fits => Ok(user),
        Some(_) => Err(AuthProblem::WrongPassword { user: shown(user) }),
        None => Err(AuthProblem::UnknownUser { user: shown(user) }),
    }
}

fn proof(nonce: u64, password: &[u8]) -> Hmac<Sha3_256> {
    let mut mac = <Hmac<Sha3_256> as Mac>::new_from_slice(&nonce.to_le_bytes())
        .expect("a key may have any length");
    mac.update(password);
    mac
}

/// Finds the extension of this method in the chain; other ones are skipped.
fn find(chain: Option<&[u8]>) -> Result<Option<ExtensionBody<'_>>, AuthProblem> {
    let Some(chain) = chain else {
        return Ok(None);
    };
    let chain =
        RawExtensions::from_chain(chain).map_err(|_| malformed("it is no chain of extensions"))?;
    let mut ours = chain.iter().filter(|extension| extension.id() == ID);
    let found = ours.next().map(|extension| extension.body);
    match ours.next() {
        Some(_) => Err(malformed("it is there twice")),
        None => Ok(found),
    }
}

fn malformed(what: &'static str) -> AuthProblem {
    AuthProblem::Malformed { what }
}

fn shown(user: &[u8]) -> String {
    let text = String::from_utf8_lossy(user);
    text.chars().take(SHOWN_CHARS_MAX).collect()
}

fn put_vle(value: u64, out: &mut Vec<u8>) {
    let mut room = [0; 9];
    let mut writer = Writer::new(&mut room);
    writer.vle(value).expect("no number needs more");
    out.extend_from_slice(writer.written());
}

#[cfg(test)]
mod tests;
