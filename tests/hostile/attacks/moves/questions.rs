// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queries, and replies that belong to none.

use std::time::Duration;

use zonda_codec::{
    Declaration, PushBody, Put, Qos, Query, QueryableInfo, Reply, Request, Response, ResponseBody,
    ResponseFinal, Target, WireExpr,
};

use super::Game;
use crate::attacks::words::{declare, queryable, request};
use crate::hand::{Hand, bytes};

/// Sends queries to its own queryables, which never reply.
pub fn questions_without_end(game: &mut Game<'_>) {
    let Some(mut answering) = game.guest() else {
        return;
    };
    answering.frame(&queryable(1, "attack/silent"));
    let Some(mut asking) = game.guest() else {
        return;
    };
    for rid in 0.. {
        let messages = (0..50).map(|n| request(rid * 50 + n, "attack/silent"));
        if !game.goes_on() || !asking.messages(messages) {
            return;
        }
        asking.swallow();
        if game.chance.one_in(3) {
            answering.swallow();
        }
    }
}

/// Sends replies and ends of queries that never existed.
pub fn answers_to_nobody(game: &mut Game<'_>) {
    let Some(mut guest) = game.guest() else {
        return;
    };
    while game.goes_on() {
        let ends = (0..100).map(|_| {
            bytes(&ResponseFinal {
                rid: game.chance.up_to(u32::MAX as usize) as u32,
                qos: Qos::REQUEST,
                timestamp: None,
            })
        });
        let ends: Vec<Vec<u8>> = ends.collect();
        if !guest.messages(ends) {
            return;
        }
        guest.swallow();
    }
}

/// Opens queryables that promise everything, and reply nothing, too much, on other keys, or close;
/// queries them with every target, budget and time.
pub fn unanswered_questions(game: &mut Game<'_>) {
    let Some(mut asking) = game.guest() else {
        return;
    };
    let mut answering: Vec<Hand> = Vec::new();
    for rid in 0.. {
        // Some queryables, replaced when they leave.
        if answering.len() < 5
            && let Some(mut guest) = game.guest()
        {
            guest.frame(&promise(game));
            answering.push(guest);
        }
        // Queries in rows.
        let messages: Vec<Vec<u8>> = (0..20).map(|n| asked(game, rid * 20 + n)).collect();
        if !game.goes_on() || !asking.messages(messages) {
            return;
        }
        // Random replies, with a queryable lost at times.
        for guest in &mut answering {
            for _ in 0..game.chance.below(5) {
                guest.frame(&answered(game));
            }
            guest.swallow();
        }
        if game.chance.one_in(5) && !answering.is_empty() {
            answering.remove(game.chance.below(answering.len())).reset();
        }
        if !game.chance.one_in(4) {
            asking.swallow();
        }
    }
}

/// Returns a declaration of a queryable with arbitrary promises.
fn promise(game: &mut Game<'_>) -> Vec<u8> {
    let keys = ["attack/asked/**", "attack/asked/1", "attack/**"];
    declare(Declaration::Queryable {
        id: 1,
        wire_expr: WireExpr::full(game.chance.one_of::<&str>(&keys)),
        info: QueryableInfo {
            complete: game.chance.one_in(2),
            distance: game.chance.next() as u16,
        },
    })
}

fn asked(game: &mut Game<'_>, rid: u32) -> Vec<u8> {
    let keys = ["attack/asked/*", "attack/asked/1", "attack/asked/nothing"];
    let parameters = "_anyke;_time=[now(-1h)..]".repeat(game.chance.up_to(20));
    let query = Query {
        parameters: &parameters,
        ..Query::default()
    };
    let targets = [Target::BestMatching, Target::All, Target::AllComplete];
    bytes(&Request {
        target: *game.chance.one_of(&targets),
        budget: game
            .chance
            .one_in(2)
            .then(|| 1 + game.chance.up_to(1000) as u32),
        timeout: game
            .chance
            .one_in(2)
            .then(|| Duration::from_millis(game.chance.up_to(1 << 40) as u64)),
        ..Request::new(
            rid,
            WireExpr::full(game.chance.one_of::<&str>(&keys)),
            query,
        )
    })
}

/// Returns a random reply or end; the router's query ids are small.
fn answered(game: &mut Game<'_>) -> Vec<u8> {
    let rid = game.chance.up_to(10_000) as u32;
    if game.chance.one_in(2) {
        return bytes(&ResponseFinal {
            rid,
            qos: Qos::REQUEST,
            timestamp: None,
        });
    }
    let keys = ["attack/asked/1", "attack/asked/**", "honest/elsewhere", ""];
    let payload = vec![7; game.chance.up_to(20_000)];
    bytes(&Response {
        rid,
        wire_expr: WireExpr::full(game.chance.one_of::<&str>(&keys)),
        qos: Qos::REQUEST,
        timestamp: None,
        responder: None,
        ts_stack: None,
        body: ResponseBody::Reply(Reply {
            consolidation: Default::default(),
            unknown: Default::default(),
            payload: PushBody::Put(Put::new(&payload)),
        }),
    })
}
