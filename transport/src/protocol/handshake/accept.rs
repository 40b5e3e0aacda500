// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accepting side of a handshake. The acceptor keeps no state of the peer between InitAck and
//! OpenSyn: the agreed parameters travel in the authenticated cookie. An offer of shared memory is its only state, on
//! links within a host.

use std::sync::Arc;

use zonda_codec::{
    InitAck, InitExt, InitSyn, OpenAck, OpenExt, OpenSyn, PROTOCOL_VERSION, QosLink,
    TransportMessage,
};

use super::cookie::{Agreement, CookieKey, seal, unseal};
use super::{
    AuthProblem, HandshakeError, Step, answer, decode, is_invalid, name, password, put, write_close,
};
use crate::protocol::multilink::{self, PeerKey};
use crate::protocol::options::LinkOptions;
use crate::protocol::parameters::{Established, LocalParameters, initial_sn};
use crate::protocol::shared::{Offered, SharedLink, WrongProof};

/// Effect of a batch on an [`Acceptor`].
#[derive(Clone, Debug, PartialEq)]
pub enum AcceptStep {
    /// Another batch must arrive; send `out` if it holds anything.
    Continue,
    /// The peer has returned a valid cookie: decide, then call [`Acceptor::admit`] or
    /// [`Acceptor::refuse`].
    Admit(Established),
}

/// Content of the answer to a peer that waits to be admitted.
#[derive(Clone, Debug)]
struct Waiting {
    initial_sn: u32,
    /// Set if the connection to the peer may have several links.
    multilink: bool,
    /// Counters of shared memory, for the peer.
    shared: Option<Vec<u8>>,
}

/// Accepting side of one handshake.
#[derive(Clone, Debug)]
pub struct Acceptor {
    local: LocalParameters,
    key: Arc<CookieKey>,
    epoch: u32,
    step: Step,
    /// Number with which the peer has to prove its user, where users are required.
    nonce: u64,
    /// Peer that cookies are issued to, where the acceptor keeps no other state of it.
    bearer: Option<Vec<u8>>,
    /// First sequence number of this side, set once the peer waits to be admitted.
    waiting: Option<Waiting>,
    /// State of the peer's offer of shared memory.
    offered: Option<Offered>,
}

impl Acceptor {
    /// Creates an acceptor that agrees to at most `local` and seals its cookies with `key`.
    pub fn new(local: LocalParameters, key: Arc<CookieKey>) -> Self {
        Acceptor {
            local,
            key,
            epoch: 0,
            step: Step::InitSyn,
            nonce: 0,
            bearer: None,
            waiting: None,
            offered: None,
        }
    }

    /// Creates an acceptor for one message, of a peer of which no state is kept between its two
    /// messages: either message may be the first. A cookie is valid only for the `bearer` that it
    /// was issued to, such as a peer's address.
    pub fn forgetful(local: LocalParameters, key: Arc<CookieKey>, bearer: Vec<u8>) -> Self {
        Acceptor {
            bearer: Some(bearer),
            ..Acceptor::new(local, key)
        }
    }

    /// Returns the step that the acceptor waits for, for the error on a timeout.
    pub fn step(&self) -> Step {
        self.step
    }

    /// Sets the current epoch, a number that rises with time at the caller's pace. A cookie is
    /// valid in the epoch it was sealed in and in the next one. Without this call cookies do not
    /// age.
    pub fn set_epoch(&mut self, epoch: u32) {
        self.epoch = epoch;
    }

    /// Sets the nonce with which the peer has to prove its user: a number from a secure random
    /// source, another one for each connection. It must be set where
    /// [users](crate::protocol::options::LocalOptions::users) are required, or several links
    /// allowed.
    pub fn set_nonce(&mut self, nonce: u64) {
        self.nonce = nonce;
    }

    /// Processes one batch of the opener and replaces `out` by the batch to send, which may be
    /// empty.
    ///
    /// # Errors
    /// The handshake is over; `out` holds the Close to send before the link is dropped, if any.
    pub fn handle_batch(
        &mut self,
        batch: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<AcceptStep, HandshakeError> {
        out.clear();
        if batch.is_empty() {
            return Ok(AcceptStep::Continue);
        }
        self.advance(batch, out).inspect_err(|error| {
            self.step = Step::Finished;
            self.waiting = None;
            answer(error, out);
        })
    }

    /// Replaces `out` by the OpenAck that opens the link. Without an [`Admit`](AcceptStep::Admit)
    /// before, `out` stays empty.
    pub fn admit(&mut self, out: &mut Vec<u8>) {
        out.clear();
        if let Some(Waiting {
            initial_sn,
            multilink,
            shared,
        }) = self.waiting.take()
        {
            put(
                &OpenAck {
                    lease: self.local.lease,
                    initial_sn,
                    ext: OpenExt {
                        auth: self.asks().then_some(password::UNIT),
                        multilink: multilink.then_some(&[]),
                        shm: shared.as_deref(),
                        ..OpenExt::default()
                    },
                },
                out,
            );
        }
    }

    /// Replaces `out` by the Close that refuses the peer for `reason`.
    pub fn refuse(&mut self, reason: u8, out: &mut Vec<u8>) {
        self.step = Step::Finished;
        self.waiting = None;
        write_close(reason, out);
    }

    fn advance(&mut self, batch: &[u8], out: &mut Vec<u8>) -> Result<AcceptStep, HandshakeError> {
        match (self.step, decode(batch, self.step)?) {
            (_, TransportMessage::Close(close)) => Err(HandshakeError::Refused {
                reason: close.reason,
            }),
            // Answer InitSyn with the agreed parameters.
            (Step::InitSyn, TransportMessage::InitSyn(syn)) => {
                self.acknowledge(&syn, out)?;
                self.step = Step::OpenSyn;
                Ok(AcceptStep::Continue)
            }
            // Verify the cookie of OpenSyn; the owner decides next.
            (step, TransportMessage::OpenSyn(syn))
                if step == Step::OpenSyn || self.may_come_back() =>
            {
                let mut established = self.recognise(&syn)?;
                let shared = self.share(&syn)?.unzip();
                established.options.shared = shared.0;
                self.waiting = Some(Waiting {
                    initial_sn: established.initial_sn_tx,
                    multilink: established.options.multilink().is_some(),
                    shared: shared.1,
                });
                self.step = Step::Finished;
                Ok(AcceptStep::Admit(established))
            }
            (step, other) => Err(HandshakeError::Unexpected {
                step,
                found: name(&other),
            }),
        }
    }

    /// Returns true if a peer may retry because this acceptor has sent it no answer.
    fn may_come_back(&self) -> bool {
        self.bearer.is_some() && self.step == Step::InitSyn
    }

    fn bearer(&self) -> &[u8] {
        self.bearer.as_deref().unwrap_or(&[])
    }

    /// Writes the InitAck: the narrower of both sides' parameters, and the offered features that
    /// this side has as well.
    fn acknowledge(&mut self, syn: &InitSyn<'_>, out: &mut Vec<u8>) -> Result<(), HandshakeError> {
        // Refuse other versions and batches that are too small.
        if syn.version != PROTOCOL_VERSION {
            return Err(HandshakeError::Version {
                theirs: syn.version,
            });
        }
        let batch_size = syn.batch_size.min(self.local.batch_size);
        let batch_size_min = self.local.batch_size_floor();
        if batch_size < batch_size_min {
            return Err(HandshakeError::BatchSize {
                step: Step::InitSyn,
                value: batch_size,
                min: batch_size_min,
            });
        }
        // Reduce the offer to the features of this side.
        let range = check_priorities(&syn.ext)?.filter(|_| self.local.qos);
        let options = Arc::clone(&self.local.options);
        let qos = self.local.qos && (syn.ext.qos || range.is_some());
        let low_latency = options.low_latency && !self.local.qos && syn.ext.low_latency && !qos;
        let (multilink, keys) = self.meet(syn, low_latency)?.unzip();
        let is_plain = multilink.is_none() && !low_latency;
        let segment = if is_plain { self.take_offer(syn) } else { None };
        let agreement = Agreement {
            zid: syn.zid,
            whatami: syn.whatami,
            resolution: syn.resolution.min(self.local.resolution),
            batch_size,
            qos,
            low_latency,
            compression: options.compression && syn.ext.compression,
            patch: syn.ext.patch.min(self.local.patch),
            qos_link: range,
            nonce: (self.asks() || multilink.is_some()).then_some(self.nonce),
            multilink,
        };
        // Write the answer, with the agreement in the cookie.
        let challenge = self.challenge(syn)?;
        let ack = InitAck {
            version: PROTOCOL_VERSION,
            whatami: self.local.whatami,
            zid: self.local.zid,
            resolution: agreement.resolution,
            batch_size,
            cookie: &seal(&self.key, self.epoch, self.bearer(), &agreement),
            ext: InitExt {
                qos: agreement.qos && range.is_none(),
                qos_link: range,
                patch: agreement.patch,
                auth: challenge.as_deref(),
                multilink: keys.as_deref(),
                low_latency: agreement.low_latency,
                compression: agreement.compression,
                shm: segment.as_deref(),
                region_name: self.local.options.region_name.as_deref(),
            },
        };
        put(&ack, out);
        Ok(())
    }

    /// Takes the offer of an opener whose segment this node can open; returns the answer.
    fn take_offer(&mut self, syn: &InitSyn<'_>) -> Option<Vec<u8>> {
        let (memory, body) = self.local.shared().zip(syn.ext.shm)?;
        let (offered, answer) = memory.acknowledge(body)?;
        self.offered = Some(offered);
        Some(answer)
    }

    /// Returns the shared memory of a link whose opener has proved that it can open this node's segment, and the answer
    /// to it.
    fn share(
        &mut self,
        syn: &OpenSyn<'_>,
    ) -> Result<Option<(SharedLink, Vec<u8>)>, HandshakeError> {
        let (Some(offered), Some(body)) = (self.offered.take(), syn.ext.shm) else {
            return Ok(None);
        };
        let Some(memory) = self.local.shared() else {
            return Ok(None);
        };
        memory
            .admit(offered, body)
            .map_err(|WrongProof| HandshakeError::Feature {
                step: Step::OpenSyn,
                what: "the proof of shared memory",
            })
    }

    /// Returns true if this node admits known users only.
    fn asks(&self) -> bool {
        self.local.options.users.is_some()
    }

    /// Returns the challenge with which the opener has to prove its user. An opener that announces
    /// no user is refused.
    fn challenge(&self, syn: &InitSyn<'_>) -> Result<Option<Vec<u8>>, HandshakeError> {
        if !self.asks() {
            return Ok(None);
        }
        let problem = match password::is_there(syn.ext.auth) {
            Ok(true) => return Ok(Some(password::challenge(self.nonce))),
            Ok(false) => AuthProblem::Missing,
            Err(problem) => problem,
        };
        let zid = syn.zid;
        Err(HandshakeError::Unauthenticated { zid, problem })
    }

    /// Returns the key of an opener that wants several links, and the extension of InitAck for it.
    /// A connection with bare messages has one link.
    fn meet(
        &self,
        syn: &InitSyn<'_>,
        low_latency: bool,
    ) -> Result<Option<(PeerKey, Vec<u8>)>, HandshakeError> {
        let (Some(own), Some(body)) = (&self.local.options.multilink, syn.ext.multilink) else {
            return Ok(None);
        };
        if low_latency {
            return Ok(None);
        }
        let peer = multilink::read_init_syn(body);
        let answer = peer.and_then(|peer| {
            let encrypted = own.encrypt(&peer, self.key.challenge(self.nonce))?;
            let mut answer = Vec::new();
            own.public().write(&mut answer);
            multilink::put_bytes(&encrypted, &mut answer);
            Some((peer, answer))
        });
        answer.map(Some).ok_or(HandshakeError::Feature {
            step: Step::InitSyn,
            what: "the key of several links",
        })
    }

    /// Returns the key of an opener that has proved to be its owner.
    fn meet_again(
        &self,
        agreed: &Agreement,
        syn: &OpenSyn<'_>,
    ) -> Result<Option<PeerKey>, HandshakeError> {
        let (Some(own), Some(peer)) = (&self.local.options.multilink, &agreed.multilink) else {
            return Ok(None);
        };
        let nonce = self.own_nonce(agreed)?;
        let shown = syn.ext.multilink.and_then(multilink::read_open_syn);
        let shown = shown.and_then(|encrypted| own.decrypt(encrypted));
        match shown == Some(self.key.challenge(nonce)) {
            true => Ok(Some(peer.clone())),
            false => Err(HandshakeError::Feature {
                step: Step::OpenSyn,
                what: "the proof of several links",
            }),
        }
    }

    /// Returns the nonce of this connection, or the one in the cookie where the acceptor keeps no
    /// state.
    fn own_nonce(&self, agreed: &Agreement) -> Result<u64, HandshakeError> {
        let is_own = |nonce: &u64| self.bearer.is_some() || *nonce == self.nonce;
        agreed.nonce.filter(is_own).ok_or(HandshakeError::Cookie)
    }

    /// Returns the user that the opener has proved to be. A cookie of another connection, and the
    /// proof with it, are not valid here.
    fn identify(
        &self,
        agreed: &Agreement,
        syn: &OpenSyn<'_>,
    ) -> Result<Option<Arc<str>>, HandshakeError> {
        let Some(users) = &self.local.options.users else {
            return Ok(None);
        };
        let nonce = self.own_nonce(agreed)?;
        let user = password::verify(users, nonce, syn.ext.auth).and_then(|user| {
            match self.local.options.user_ids.admit(&user, agreed.zid) {
                true => Ok(user),
                false => Err(AuthProblem::WrongId {
                    user: user.to_string(),
                }),
            }
        });
        user.map(Some)
            .map_err(|problem| HandshakeError::Unauthenticated {
                zid: agreed.zid,
                problem,
            })
    }

    /// Returns true if this acceptor could have agreed to this. A cookie may come from another
    /// listener of the node, which has the same key and offers more.
    fn offers(&self, agreed: &Agreement) -> bool {
        let (local, options) = (&self.local, &self.local.options);
        agreed.batch_size <= local.batch_size
            && agreed.batch_size >= local.batch_size_floor()
            && agreed.resolution.min(local.resolution) == agreed.resolution
            && agreed.patch <= local.patch
            && agreed.qos <= local.qos
            && agreed.low_latency <= options.low_latency
            && agreed.compression <= options.compression
    }

    fn recognise(&self, syn: &OpenSyn<'_>) -> Result<Established, HandshakeError> {
        // Verify the cookie.
        let agreed = unseal(&self.key, self.epoch, self.bearer(), syn.cookie);
        let agreed = agreed
            .filter(|agreed| self.offers(agreed))
            .ok_or(HandshakeError::Cookie)?;
        if agreed.zid == self.local.zid {
            return Err(HandshakeError::OwnId);
        }
        // Verify the fields of OpenSyn, and the proofs of the opener.
        let mask = agreed.resolution.frame_sn_mask();
        super::check_open(Step::OpenSyn, syn.lease, syn.initial_sn, mask)?;
        let user = self.identify(&agreed, syn)?;
        let multilink = self.meet_again(&agreed, syn)?;
        Ok(Established {
            zid: agreed.zid,
            whatami: agreed.whatami,
            batch_size: agreed.batch_size,
            sn_mask: mask,
            qos: agreed.qos,
            patch: agreed.patch,
            lease: self.local.lease,
            remote_lease: self.local.accepted_lease(syn.lease),
            initial_sn_tx: initial_sn(&self.local.zid, &agreed.zid, mask),
            initial_sn_rx: syn.initial_sn,
            options: LinkOptions {
                compression: agreed.compression,
                low_latency: agreed.low_latency,
                qos_link: agreed.qos_link,
                ..LinkOptions::default()
            }
            .proving(user, multilink),
        })
    }
}

/// Returns the priority range that the opener asks for, if any. This side has none of its own and
/// adopts it.
fn check_priorities(ext: &InitExt<'_>) -> Result<Option<QosLink>, HandshakeError> {
    let refuse = |what| {
        Err(HandshakeError::Feature {
            step: Step::InitSyn,
            what,
        })
    };
    let Some(range) = ext.qos_link else {
        return Ok(None);
    };
    match ext.qos {
        true => refuse("QoS with and without a range"),
        _ if is_invalid(range) => refuse("an invalid QoS range"),
        _ => Ok(Some(range)),
    }
}
