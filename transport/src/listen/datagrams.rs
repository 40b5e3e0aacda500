// SPDX-License-Identifier: MIT OR Apache-2.0
//! Listening where there are no connections: one task takes the datagrams of all peers that are not
//! connected. It answers an InitSyn without keeping state; a peer that returns the cookie gets a
//! socket of its own, if it is admitted.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use zonda_runtime::{Runtime, Socket, oneshot};

use super::Admission;
use super::accept::{
    Admitted, BATCH_BYTES_MAX, ListenerState, ListeningSocket, Reservation, TURN, turned_away,
    unless,
};
use super::answers::Answers;
use super::counters::count;
use super::pending::Entry;
use crate::link::{AddressPair, Flow, Link, LinkAddress, UdpListenerHandle};
use crate::protocol::handshake::{AcceptStep, Acceptor, HandshakeError, Step};
use crate::protocol::parameters::Established;

/// Number of remembered links of a listener from which on ended ones are removed.
const LOOK_FROM: usize = 64;

/// Listening socket, and the links that it accepted.
pub(super) struct Counter {
    desk: UdpListenerHandle,
    address: LinkAddress,
    table: Mutex<Table>,
    answers: Mutex<Answers>,
}

#[derive(Default)]
struct Table {
    /// Newest link of each pair of a peer's address and a listener's address.
    links: HashMap<AddressPair, Known>,
    /// Pairs of addresses whose peers are being admitted.
    entering: HashSet<AddressPair>,
    /// Number of links from which on the ended ones are removed.
    look_at: usize,
}

/// Link, and the message that opened it.
struct Known {
    open_syn: Vec<u8>,
    open_ack: Vec<u8>,
    flow: Weak<Flow>,
}

/// Peer that has returned its cookie.
struct VerifiedPeer {
    way: AddressPair,
    open_syn: Vec<u8>,
    established: Established,
    acceptor: Acceptor,
}

impl Counter {
    /// # Errors
    /// The errors of the system.
    pub(super) fn new(
        listener: &Socket,
        address: &LinkAddress,
        endpoint: &zonda_codec::Endpoint,
    ) -> io::Result<Counter> {
        let seed = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Counter {
            desk: UdpListenerHandle::beside(listener, endpoint)?,
            address: address.clone(),
            table: Mutex::default(),
            answers: Mutex::new(Answers::new(seed)),
        })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers an unverified address, within the budget of its network; true if it did.
    fn answer(&self, datagram: &[u8], way: AddressPair) -> bool {
        let answers = self.answers.lock();
        let mut answers = answers.unwrap_or_else(PoisonError::into_inner);
        let admits = answers.admit(way.from.ip(), datagram.len(), Instant::now());
        drop(answers);
        if admits {
            self.desk.say(datagram, way);
        }
        admits
    }

    /// Answers a peer that repeats the message that opened its link. False if it has no link opened
    /// by that message.
    fn repeats(&self, datagram: &[u8], way: AddressPair) -> bool {
        let table = self.table();
        let known = table.links.get(&way);
        let known = known.filter(|known| known.open_syn == datagram);
        let Some(flow) = known.and_then(|known| known.flow.upgrade()) else {
            return false;
        };
        let answer = known.map_or(Vec::new(), |known| known.open_ack.clone());
        drop(table);
        flow.say(&answer);
        true
    }

    /// Ends the link that an address has, if any, and returns its socket for the next one.
    fn replace(&self, way: AddressPair) -> Option<Socket> {
        let known = self.table().links.remove(&way);
        let flow = known.and_then(|known| known.flow.upgrade())?;
        flow.end();
        flow.socket().ok()
    }

    fn remember(&self, way: AddressPair, known: Known) {
        let mut table = self.table();
        table.links.insert(way, known);
        if table.links.len() > table.look_at.max(LOOK_FROM) {
            table.links.retain(|_, known| known.flow.strong_count() > 0);
            table.look_at = 2 * table.links.len();
        }
    }
}

/// Mark of a peer that is being admitted, removed on drop.
struct AdmittingPeer {
    counter: Arc<Counter>,
    way: AddressPair,
}

impl AdmittingPeer {
    /// Returns `None` if the peer is being admitted already.
    fn of(counter: &Arc<Counter>, way: AddressPair) -> Option<AdmittingPeer> {
        counter.table().entering.insert(way).then(|| AdmittingPeer {
            counter: Arc::clone(counter),
            way,
        })
    }
}

impl Drop for AdmittingPeer {
    fn drop(&mut self) {
        self.counter.table().entering.remove(&self.way);
    }
}

impl<R: Runtime, A: Admission> ListenerState<R, A> {
    /// Receives from all peers that are not connected until the listener is stopped, then closes
    /// the socket.
    pub(super) async fn receive_all(
        self: Arc<Self>,
        mut door: Box<ListeningSocket<R>>,
        counter: Counter,
        mut stopped: oneshot::Receiver<()>,
    ) {
        let counter = Arc::new(counter);
        let mut room = vec![0; UdpListenerHandle::ROOM];
        let mut in_a_row = 0;
        loop {
            // Wait for datagrams, or for the stop.
            let take = || counter.desk.receive(&mut room);
            let taken = self.runtime.take_from(&mut door.listener, take);
            let Ok(taken) = unless(&mut stopped, taken).await else {
                return;
            };
            match taken {
                Ok(arrived) => {
                    // Process each datagram, cut to the longest message of a handshake.
                    for datagram in room[..arrived.bytes].chunks(arrived.length) {
                        let longest = datagram.len().min(BATCH_BYTES_MAX);
                        self.hear_datagram(&counter, &datagram[..longest], arrived.way);
                    }
                }
                Err(error) => {
                    // Pause after a failure that other attempts would share.
                    let pause = self.after_failure(&error);
                    let wait = self.runtime.sleep_until(Instant::now() + pause);
                    if !pause.is_zero() && unless(&mut stopped, wait).await.is_err() {
                        return;
                    }
                }
            }
            // Yield to other tasks after several calls in a row.
            in_a_row += 1;
            if in_a_row >= TURN {
                in_a_row = 0;
                self.runtime.yield_now().await;
            }
        }
    }

    /// Handles the datagram of a peer that is not connected, or wants to connect again.
    fn hear_datagram(self: &Arc<Self>, counter: &Arc<Counter>, datagram: &[u8], way: AddressPair) {
        if datagram.is_empty() || counter.repeats(datagram, way) {
            return;
        }
        let bearer = way.from.to_string().into_bytes();
        let local = self.parameters();
        let mut acceptor = Acceptor::forgetful(local, Arc::clone(&self.key), bearer);
        acceptor.set_epoch(self.epoch());
        let Some(nonce) = self.nonce() else {
            return;
        };
        acceptor.set_nonce(nonce);
        let mut out = Vec::new();
        match acceptor.handle_batch(datagram, &mut out) {
            Ok(AcceptStep::Continue) => self.note_answered(counter.answer(&out, way)),
            Ok(AcceptStep::Admit(established)) => {
                let newcomer = VerifiedPeer {
                    way,
                    open_syn: datagram.to_vec(),
                    established,
                    acceptor,
                };
                self.enter(counter, newcomer);
            }
            Err(error) => {
                // A datagram that is no message at all gets no answer: it may be meant for another
                // program.
                if !matches!(error, HandshakeError::Undecodable { .. }) {
                    self.note_answered(counter.answer(&out, way));
                }
                self.failed(&counter.address.protocol().remote(Some(way.from)), error);
            }
        }
    }

    /// Counts a datagram that stays unanswered because of its network's budget.
    fn note_answered(&self, is_answered: bool) {
        if !is_answered {
            count(&self.counters.unanswered);
        }
    }

    /// Starts the task that admits a peer.
    fn enter(self: &Arc<Self>, counter: &Arc<Counter>, newcomer: VerifiedPeer) {
        let remote = counter.address.protocol().remote(Some(newcomer.way.from));
        // Register the peer, in place of another one if there are too many.
        let Some(entering) = AdmittingPeer::of(counter, newcomer.way) else {
            return;
        };
        let Some(Entry {
            ticket,
            mut ended,
            evicted,
        }) = self.pending.enter(remote.group())
        else {
            return;
        };
        ticket.note_heard();
        if evicted {
            self.note_evicted(&remote);
        }
        let reception = Arc::clone(self);
        let counter = Arc::clone(counter);
        let task = "zonda-handshake";
        self.runtime.spawn_brief(task, move || async move {
            // Admit the peer within its time, unless it is evicted.
            let opening = reception.open(&counter, newcomer, &remote);
            let bounded = reception
                .runtime
                .timeout_at(zonda_runtime::after(reception.accept_timeout), opening);
            let outcome = unless(&mut ended, bounded).await;
            drop((ticket, entering));
            reception.conclude(&remote, Step::Finished, outcome);
        });
    }

    /// Asks the owner to admit a peer, and creates its socket and its link.
    async fn open(
        self: &Arc<Self>,
        counter: &Arc<Counter>,
        newcomer: VerifiedPeer,
        remote: &LinkAddress,
    ) -> Result<Admitted<A>, HandshakeError> {
        let VerifiedPeer {
            way,
            open_syn,
            established,
            mut acceptor,
        } = newcomer;
        // The peer has connected again, so it does not know its old link any more.
        let old = counter.replace(way);
        self.admission.before_admit(&established, remote).await;
        let mut out = Vec::new();
        if let Err(reason) = self.admission.admit(&established, remote) {
            acceptor.refuse(reason, &mut out);
            counter.desk.say(&out, way);
            return Err(turned_away(&established, reason));
        }
        let reserved = Reservation {
            admission: Arc::clone(&self.admission),
            established: Some(established.clone()),
        };
        acceptor.admit(&mut out);
        let socket = match old {
            Some(socket) => socket,
            None => self.connect(counter, way)?,
        };
        let (reception, own) = (Arc::downgrade(self), Arc::downgrade(counter));
        let hand_back = Box::new(move |datagram: &[u8]| {
            if let (Some(reception), Some(counter)) = (reception.upgrade(), own.upgrade()) {
                reception.hear_datagram(&counter, datagram, way);
            }
        });
        let (stream, local, flow) = counter.desk.accepted(socket, hand_back)?;
        flow.say(&out);
        let known = Known {
            open_syn,
            open_ack: out,
            flow: Arc::downgrade(&flow),
        };
        counter.remember(way, known);
        Ok(Admitted {
            link: Link {
                stream,
                established,
                local,
                remote: remote.clone(),
                unread: Vec::new(),
            },
            reserved,
        })
    }

    fn connect(self: &Arc<Self>, counter: &Arc<Counter>, way: AddressPair) -> io::Result<Socket> {
        let mut astray = Vec::new();
        let socket = {
            // The table is locked: one peer is connected at a time.
            let _table = counter.table();
            let note = |datagram: &[u8], from| astray.push((datagram.to_vec(), from));
            counter.desk.connect(way, note)?
        };
        for (datagram, from) in astray {
            self.hear_datagram(counter, &datagram, from);
        }
        Ok(socket)
    }
}
