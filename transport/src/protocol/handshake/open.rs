// SPDX-License-Identifier: MIT OR Apache-2.0
//! Opening side of a handshake.

use zonda_codec::{
    InitAck, InitExt, InitSyn, OpenAck, OpenExt, OpenSyn, PROTOCOL_VERSION, TransportMessage,
    ZenohId,
    transport::reason::{GENERIC, MAX_LINKS},
};

use super::{HandshakeError, Step, answer, decode, is_invalid, name, password, put};
use crate::protocol::auth::Credentials;
use crate::protocol::multilink::{self, PeerKey};
use crate::protocol::options::LinkOptions;
use crate::protocol::parameters::{Established, LEASE_MAX, LocalParameters, initial_sn, is_within};
use crate::protocol::shared::{Offered, SharedMemory};

/// Effect of a batch on an [`Opener`].
#[derive(Clone, Debug, PartialEq)]
pub enum OpenStep {
    /// Another batch must arrive; send `out` if it holds anything.
    Continue,
    /// The link is open.
    Done(Established),
}

/// Opening side of a handshake: [`start`](Opener::start), then a batch at a time.
#[derive(Clone, Debug)]
pub struct Opener {
    local: LocalParameters,
    expected: Option<ZenohId>,
    step: Step,
    /// Agreed parameters, known from InitAck on; the lease and the peer's first sequence number
    /// come with OpenAck.
    agreed: Option<Established>,
    /// Nonce with which the acceptor asked this node to prove its user.
    nonce: Option<u64>,
    /// Key of the acceptor, once several links are agreed on.
    peer: Option<PeerKey>,
    /// State of the offer of shared memory, once the acceptor has taken it.
    shared: Option<Offered>,
}

impl Opener {
    /// Creates an opener that offers `local`. With `expected` it accepts only the node of that id.
    pub fn new(local: LocalParameters, expected: Option<ZenohId>) -> Self {
        Opener {
            local,
            expected,
            step: Step::InitAck,
            agreed: None,
            nonce: None,
            peer: None,
            shared: None,
        }
    }

    /// Returns the message that the opener waits for, for the error on a timeout.
    pub fn step(&self) -> Step {
        self.step
    }

    /// Replaces `out` by the first batch to send.
    pub fn start(&mut self, out: &mut Vec<u8>) {
        // Offer several links by showing the own key.
        let mut key = Vec::new();
        if let Some(own) = &self.local.options.multilink {
            own.public().write(&mut key);
        }
        let segment = self.local.shared().map(SharedMemory::offer);
        // Offer all that this node has.
        let syn = InitSyn {
            version: PROTOCOL_VERSION,
            whatami: self.local.whatami,
            zid: self.local.zid,
            resolution: self.local.resolution,
            batch_size: self.local.batch_size,
            ext: InitExt {
                qos: self.local.qos && self.local.qos_link.is_none(),
                qos_link: self.local.qos_link.filter(|_| self.local.qos),
                patch: self.local.patch,
                multilink: self.local.options.multilink.is_some().then_some(&key),
                low_latency: self.offers_low_latency(),
                compression: self.local.options.compression,
                shm: segment.as_deref(),
                region_name: self.local.options.region_name.as_deref(),
                auth: self
                    .local
                    .options
                    .credentials
                    .is_some()
                    .then_some(password::UNIT),
            },
        };
        put(&syn, out);
    }

    /// Processes one batch of the acceptor and replaces `out` by the batch to send, which may be
    /// empty.
    ///
    /// # Errors
    /// The handshake is over; `out` holds the Close to send before the link is dropped, if any.
    pub fn handle_batch(
        &mut self,
        batch: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<OpenStep, HandshakeError> {
        out.clear();
        if batch.is_empty() {
            return Ok(OpenStep::Continue);
        }
        self.advance(batch, out).inspect_err(|error| {
            self.step = Step::Finished;
            answer(error, out);
        })
    }

    fn advance(&mut self, batch: &[u8], out: &mut Vec<u8>) -> Result<OpenStep, HandshakeError> {
        match (self.step, decode(batch, self.step)?, self.agreed.take()) {
            (step, TransportMessage::Close(close), agreed) => {
                Err(self.refused(step, close.reason, agreed))
            }
            // Check the answer of the acceptor, and send the proofs.
            (Step::InitAck, TransportMessage::InitAck(ack), _) => {
                let agreed = self.check(&ack)?;
                let proof = self.prove(&ack)?;
                let shown = self.show(&ack)?;
                let shared = self.share(&ack, &agreed);
                let syn = OpenSyn {
                    lease: self.local.lease,
                    initial_sn: agreed.initial_sn_tx,
                    cookie: ack.cookie,
                    ext: OpenExt {
                        auth: proof.as_deref(),
                        multilink: shown.as_deref(),
                        shm: shared.as_deref(),
                        ..OpenExt::default()
                    },
                };
                put(&syn, out);
                self.agreed = Some(agreed);
                self.step = Step::OpenAck;
                Ok(OpenStep::Continue)
            }
            // Check the confirmation.
            (Step::OpenAck, TransportMessage::OpenAck(ack), Some(agreed)) => {
                let established = self.complete(agreed, &ack)?;
                self.step = Step::Finished;
                Ok(OpenStep::Done(established))
            }
            (step, other, _) => Err(HandshakeError::Unexpected {
                step,
                found: name(&other),
            }),
        }
    }

    /// Checks the acceptor's answer against the offer.
    fn check(&self, ack: &InitAck<'_>) -> Result<Established, HandshakeError> {
        // Check version and id.
        if ack.version != PROTOCOL_VERSION {
            return Err(HandshakeError::Version {
                theirs: ack.version,
            });
        }
        if ack.zid == self.local.zid {
            return Err(HandshakeError::OwnId);
        }
        if let Some(expected) = self.expected.filter(|expected| *expected != ack.zid) {
            return Err(HandshakeError::WrongId {
                expected,
                found: ack.zid,
            });
        }
        // Check that no parameter exceeds the offer.
        if !is_within(ack.resolution, self.local.resolution) {
            return Err(exceeds(
                "resolution",
                ack.resolution.bits(),
                0,
                self.local.resolution.bits(),
            ));
        }
        let batch_size_min = self.local.batch_size_floor();
        if ack.batch_size < batch_size_min {
            return Err(HandshakeError::BatchSize {
                step: Step::InitAck,
                value: ack.batch_size,
                min: batch_size_min,
            });
        }
        if ack.ext.patch > self.local.patch {
            return Err(exceeds("patch level", ack.ext.patch, 0, self.local.patch));
        }
        let qos = self.check_features(&ack.ext)?;
        let mask = ack.resolution.frame_sn_mask();
        Ok(Established {
            zid: ack.zid,
            whatami: ack.whatami,
            batch_size: ack.batch_size.min(self.local.batch_size),
            sn_mask: mask,
            qos,
            patch: ack.ext.patch,
            lease: self.local.lease,
            remote_lease: LEASE_MAX,
            initial_sn_tx: initial_sn(&self.local.zid, &ack.zid, mask),
            initial_sn_rx: 0,
            options: LinkOptions {
                compression: ack.ext.compression,
                low_latency: ack.ext.low_latency,
                qos_link: ack.ext.qos_link,
                ..LinkOptions::default()
            },
        })
    }

    /// Returns the proof of this node's user, if the acceptor asks for one. An acceptor that does
    /// not ask admits every user.
    fn prove(&mut self, ack: &InitAck<'_>) -> Result<Option<Vec<u8>>, HandshakeError> {
        let step = Step::InitAck;
        let Some(credentials) = &self.local.options.credentials else {
            return Ok(None);
        };
        self.nonce =
            password::nonce(ack.ext.auth).map_err(|_| HandshakeError::Confirmation { step })?;
        Ok(self.nonce.map(|nonce| password::answer(credentials, nonce)))
    }

    /// Returns the acceptor's challenge, decrypted and encrypted again with its key, if it agrees
    /// to several links.
    fn show(&mut self, ack: &InitAck<'_>) -> Result<Option<Vec<u8>>, HandshakeError> {
        let (Some(own), Some(body)) = (&self.local.options.multilink, ack.ext.multilink) else {
            return Ok(None);
        };
        let shown = multilink::read_init_ack(body).and_then(|(peer, encrypted)| {
            let shown = own.encrypt(&peer, own.decrypt(encrypted)?)?;
            Some((peer, shown))
        });
        let (peer, shown) = shown.ok_or(HandshakeError::Feature {
            step: Step::InitAck,
            what: "the challenge of several links",
        })?;
        self.peer = Some(peer);
        let mut body = Vec::new();
        multilink::put_bytes(&shown, &mut body);
        Ok(Some(body))
    }

    /// Returns the proof that this node shares memory with the acceptor, if it does.
    fn share(&mut self, ack: &InitAck<'_>, agreed: &Established) -> Option<Vec<u8>> {
        let (memory, body) = self.local.shared().zip(ack.ext.shm)?;
        if self.peer.is_some() || agreed.options.low_latency {
            return None;
        }
        let (offered, proof) = memory.prove(body)?;
        self.shared = Some(offered);
        Some(proof)
    }

    fn complete(
        &mut self,
        agreed: Established,
        ack: &OpenAck<'_>,
    ) -> Result<Established, HandshakeError> {
        let step = Step::OpenAck;
        super::check_open(step, ack.lease, ack.initial_sn, agreed.sn_mask)?;
        if self.nonce.is_some() && !password::is_there(ack.ext.auth).unwrap_or(false) {
            return Err(HandshakeError::Confirmation { step });
        }
        let credentials = self.local.options.credentials.as_ref();
        let user = credentials.filter(|_| self.nonce.is_some());
        let peer = self.peer.clone().filter(|_| ack.ext.multilink.is_some());
        let mut options = agreed.options.clone();
        let offered = self.shared.take().zip(ack.ext.shm);
        options.shared = (self.local.shared().zip(offered))
            .and_then(|(memory, (offered, body))| memory.complete(offered, body));
        Ok(Established {
            remote_lease: self.local.accepted_lease(ack.lease),
            initial_sn_rx: ack.initial_sn,
            options: options.proving(user.map(Credentials::shared_user), peer),
            ..agreed
        })
    }

    /// Returns the meaning of a Close at this step: a node that refuses unknown users gives no
    /// reason.
    fn refused(&self, step: Step, reason: u8, agreed: Option<Established>) -> HandshakeError {
        match (step, &self.local.options.credentials, agreed) {
            (Step::InitAck, None, _) if reason == GENERIC => HandshakeError::CredentialsWanted,
            (Step::OpenAck, Some(credentials), Some(agreed))
                if reason == GENERIC && self.nonce.is_some() =>
            {
                HandshakeError::CredentialsRefused {
                    zid: agreed.zid,
                    user: credentials.user().to_owned(),
                }
            }
            (Step::OpenAck, _, Some(Established { zid, .. })) if reason == MAX_LINKS => {
                HandshakeError::Linked { zid }
            }
            _ => HandshakeError::Refused { reason },
        }
    }

    /// Returns true if bare messages are offered, which exclude priorities.
    fn offers_low_latency(&self) -> bool {
        self.local.options.low_latency && !self.local.qos
    }

    /// Refuses only features that change the bytes on the link and were not offered; shared memory,
    /// authentication, further links and region names have no effect unless this side takes part.
    fn check_features(&self, ext: &InitExt<'_>) -> Result<bool, HandshakeError> {
        let refuse = |what| {
            Err(HandshakeError::Feature {
                step: Step::InitAck,
                what,
            })
        };
        // An acceptor with a priority range answers the plain offer of priorities with that range.
        let qos = ext.qos || ext.qos_link.is_some();
        match ext {
            _ if ext.qos && ext.qos_link.is_some() => refuse("QoS with and without a range"),
            _ if ext.qos_link.is_some_and(is_invalid) => refuse("an invalid QoS range"),
            _ if qos && !self.local.qos => refuse("QoS"),
            _ if ext.low_latency && !self.offers_low_latency() => refuse("low latency"),
            _ if ext.low_latency && qos => refuse("low latency with QoS"),
            _ if ext.compression && !self.local.options.compression => refuse("compression"),
            _ => Ok(qos),
        }
    }
}

fn exceeds<T: Into<u64>>(what: &'static str, value: T, min: T, max: T) -> HandshakeError {
    let (value, min, max) = (value.into(), min.into(), max.into());
    HandshakeError::Parameter {
        step: Step::InitAck,
        what,
        value,
        min,
        max,
    }
}
