// SPDX-License-Identifier: MIT OR Apache-2.0
//! Moves of the adversary: each is a hostile action for a short time, with chance in every part of
//! it.
//!
//! A move may do anything that the protocol forbids and a router must withstand. It does not do to
//! honest clients what the protocol permits to any client: it neither publishes on their keys, nor
//! answers their queries, nor declares tokens in their names.

mod compressed;
mod doors;
mod ext;
mod framing;
mod groups;
mod mesh;
mod questions;
mod readers;
mod tables;

use std::time::{Duration, Instant};

use zonda_codec::{Declaration, Qos, ResponseFinal, ZenohId};

use super::adversary::Field;
use super::chance::Chance;
use super::words::{
    declare, drop_put, interest, key_id, no_subscriber, put, queryable, request, subscriber, token,
};
use crate::hand::{Hand, bytes};
use crate::roles::Stage;

/// State and means of a move.
pub struct Game<'a> {
    pub stage: &'a Stage,
    pub chance: Chance,
    /// Deadline of the move.
    pub end: Instant,
    /// Ids of honest clients.
    pub ids: &'a [ZenohId],
    /// Addresses of the routers.
    pub field: &'a Field,
    /// Stage in front of the second router.
    pub far: &'a Stage,
}

pub type Move = fn(&mut Game<'_>);

/// All moves by name.
pub const MOVES: &[(&str, Move)] = &[
    ("noise", framing::noise),
    ("spellings", framing::spellings),
    ("frozen", readers::frozen),
    ("slow", readers::slow),
    ("churn", tables::churn),
    ("wild keys", tables::wild_keys),
    ("half messages", framing::half_messages),
    ("huge messages", framing::huge_messages),
    ("lying lengths", framing::lying_lengths),
    ("handshakes", doors::handshakes),
    ("squatting", doors::squatting),
    ("tiny batches", doors::tiny_batches),
    ("long leases", doors::long_leases),
    ("questions without end", questions::questions_without_end),
    ("answers to nobody", questions::answers_to_nobody),
    ("gossip", doors::gossip),
    ("storm", doors::storm),
    ("closing early", framing::closing_early),
    ("interests", tables::interests),
    ("numbers", framing::numbers),
    ("unfinished", framing::unfinished),
    ("leaving much behind", readers::leaving_much_behind),
    ("slow logins", doors::slow_logins),
    ("web pages", doors::web_pages),
    ("undeclared ids", framing::undeclared_ids),
    ("interests in oneself", tables::interests_in_oneself),
    ("unanswered questions", questions::unanswered_questions),
    ("lying router", mesh::lying_router),
    ("flood of link states", mesh::flood_of_link_states),
    ("large link states", mesh::large_link_states),
    ("circle of routers", mesh::circle_of_routers),
    ("visits of routers", mesh::visits_of_routers),
    ("forged numbers", ext::forged_numbers),
    ("false sources", ext::false_sources),
    ("mute answerers", ext::mute_answerers),
    ("questions to caches", ext::questions_to_caches),
    ("contradicting members", groups::contradicting_members),
    ("flood of joins", groups::flood_of_joins),
    ("expanding batches", compressed::expanding_batches),
    ("broken blocks", compressed::broken_blocks),
];

impl Game<'_> {
    /// Returns true while the move has time left.
    fn goes_on(&self) -> bool {
        Instant::now() < self.end && !self.stage.is_over()
    }

    /// Waits for a random time; returns true if the move has time left.
    fn dawdles(&mut self, ms_max: usize) -> bool {
        let pause = Duration::from_millis(self.chance.up_to(ms_max) as u64);
        !self.stage.pause(pause) && self.goes_on()
    }

    /// Connects from an address of the attacker's kind, mostly to the first router.
    fn visitor(&mut self) -> Option<Hand> {
        let from = *self
            .chance
            .one_of(&["127.0.0.1", "127.66.0.1", "127.66.0.2", "127.77.7.7"]);
        let stage = if self.chance.one_in(4) {
            self.far
        } else {
            self.stage
        };
        let hand = stage.visitor_from(from)?;
        hand.stream
            .set_read_timeout(Some(Duration::from_secs(2)))
            .ok()?;
        hand.stream
            .set_write_timeout(Some(Duration::from_millis(500)))
            .ok()?;
        Some(hand)
    }

    /// Connects and is admitted.
    fn guest(&mut self) -> Option<Hand> {
        let mut hand = self.visitor()?;
        hand.is_let_in().then_some(hand)
    }

    fn key(&mut self) -> String {
        let number = self.chance.up_to(1000);
        match self.chance.below(8) {
            0 => "attack/**".to_owned(),
            1 => format!("attack/*/{number}"),
            2 => format!("**/attack{number}/**"),
            3 => format!("attack/{number}/$*x/**"),
            4 => format!("attack/{}", vec!["a"; number / 8 + 1].join("/")),
            5 => format!("attack/{}", "k".repeat(number * 16 + 1)),
            _ => format!("attack/{number}"),
        }
    }

    /// Returns one valid message of any kind.
    fn message(&mut self) -> Vec<u8> {
        let key = self.key();
        let id = self.chance.up_to(500) as u32;
        let payload = {
            let length = self.chance.up_to(4000);
            self.chance.bytes(length)
        };
        match self.chance.below(12) {
            0 => subscriber(id, &key),
            1 => no_subscriber(id),
            2 => queryable(id, &format!("attack/{id}")),
            3 => token(id, &key),
            4 => key_id(id as u16 + 1, &key),
            5 => interest(id, &key, id.is_multiple_of(2)),
            6 => request(id, &key),
            7 => bytes(&ResponseFinal {
                rid: id,
                qos: Qos::REQUEST,
                timestamp: None,
            }),
            8 => declare(Declaration::UndeclareQueryable { id, key: None }),
            9 => put(&key, &payload),
            _ => drop_put(&key, &payload),
        }
    }
}
