// SPDX-License-Identifier: MIT OR Apache-2.0
//! The short way into a lane: one more small message into the frame that is open already, on a link that is hot. It is
//! the way of nearly all messages of a dense stream, and free of everything that the others need.

use std::sync::atomic::Ordering;

use zonda_codec::{Priority, Reliability};

use crate::{
    protocol::tx::{Lane, Outgoing, Pushed, ShortHead, Tail},
    sync::BriefGuard,
};

use super::{Outbox, Refused, pace::Turn};

/// A message for any number of neighbours, each of which gets it behind a head of its own.
pub trait Offered {
    /// Which lane it takes.
    fn priority(&self) -> Priority;
    /// Which of the lane's two channels carries it.
    fn reliability(&self) -> Reliability;
    /// Whether it is written at once.
    fn is_express(&self) -> bool;
    /// The payload.
    fn payload(&self) -> Tail<'_>;
}

impl Outbox {
    /// As [`Outbox::push`] and [`Outbox::settle`] together. `payload` is the message's, as bytes. Tells whether the
    /// message is with the socket already.
    ///
    /// # Errors
    /// [`Refused`]; the message was not queued.
    #[inline(always)]
    pub fn offer<O: Offered>(
        &self,
        head: &ShortHead,
        message: &O,
        payload: &[u8],
    ) -> Result<bool, Refused> {
        let index = self.lane_index(message.priority());
        let mut lane = self.lanes[index].lock();
        if self.closed.load(Ordering::Relaxed)
            || !lane.append_short(message.reliability(), head, payload)
        {
            return self.offer_long(index, lane, head, message);
        }
        drop(lane);
        if message.is_express() {
            return Ok(self.flush());
        }
        match self.pace.turn() {
            Turn::Leave => Ok(false),
            turn => Ok(self.settle_turn(turn, Pushed::Open)),
        }
    }

    /// The long way: the message begins a frame or a batch, is large, or is refused.
    #[inline(never)]
    fn offer_long<O: Offered>(
        &self,
        index: usize,
        lane: BriefGuard<'_, Lane>,
        head: &ShortHead,
        message: &O,
    ) -> Result<bool, Refused> {
        let outgoing = Outgoing {
            reliability: message.reliability(),
            head,
            payload: message.payload(),
        };
        let pushed = self.push_into(index, lane, &outgoing)?;
        Ok(self.settle(pushed, message.is_express()))
    }
}
