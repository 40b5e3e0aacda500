// SPDX-License-Identifier: MIT OR Apache-2.0
//! An attacker in the role of a router that announces anything. It claims the ids of honest
//! routers, their links and the declarations made at them; it does not offer a better path between
//! two of them, which any router may do.

use std::time::{SystemTime, UNIX_EPOCH};

use zonda_codec::{
    Declaration, Declare, Encode, LinkState, LinkStates, NodeId, Numbers, Priority, Push, PushBody,
    Put, WhatAmI, WireExpr, ZenohId,
};

use super::Game;
use crate::attacks::adversary::ROUTERS;
use crate::attacks::chance::Chance;
use crate::attacks::words::{in_parts, link_states_of, narrow, subscriber};
use crate::hand::{Hand, bytes};

/// First number of an invented router: the attacker itself has 0, the honest routers have the
/// numbers behind it.
const INVENTED: u64 = 1 + ROUTERS.len() as u64;

impl Game<'_> {
    /// Connects and is admitted as a router.
    fn router(&mut self) -> Option<Hand> {
        let mut hand = self.visitor()?;
        hand.parameters.whatami = WhatAmI::Router;
        hand.is_let_in().then_some(hand)
    }
}

/// Returns the id that belongs to a number in the attacker's announcements.
fn id_of(number: u64, own: ZenohId) -> ZenohId {
    match number {
        0 => own,
        1..INVENTED => ROUTERS[number as usize - 1].parse().expect("an id"),
        _ => ZenohId::random_from(u128::from(number) << 64),
    }
}

/// Returns the count of changes that the attacker claims for a router.
fn changes(chance: &mut Chance) -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = since.expect("after 1970").as_millis() as u64;
    match chance.below(7) {
        0 => chance.up_to(1000) as u64,
        1 => now + 1_000_000,
        2 => 1 << 60,
        3 => u64::MAX,
        4 => chance.next(),
        _ => now + chance.up_to(1000) as u64,
    }
}

/// Returns states of `count` routers among `routers`, each with up to `links` links.
fn states(chance: &mut Chance, own: ZenohId, count: usize, routers: u64, links: usize) -> Vec<u8> {
    let mut numbers = |most: u64| -> Vec<u64> {
        let length = chance.up_to(links);
        (0..length).map(|_| chance.next() % most).collect()
    };
    // Lists of links and weights, of equal lengths only by chance.
    let lists: Vec<_> = (0..count)
        .map(|_| (numbers(routers), numbers(1 << 16)))
        .collect();
    let states: Vec<LinkState<'_>> = lists
        .iter()
        .map(|(links, weights)| {
            let number = chance.up_to(routers as usize - 1) as u64;
            let roles = [None, Some(WhatAmI::Router), Some(WhatAmI::Peer)];
            LinkState {
                psid: number,
                sn: changes(chance),
                zid: (!chance.one_in(10)).then(|| id_of(number, own)),
                whatami: *chance.one_of(&roles),
                is_gateway: chance.one_in(10),
                marks_trees: !chance.one_in(4),
                links: Numbers::new(links),
                weights: (links.len() == weights.len()).then(|| Numbers::new(weights)),
                ..LinkState::default()
            }
        })
        .collect();
    // The message, in some cases with a changed byte.
    let mut body = LinkStates(&states).to_vec().expect("it has a wire form");
    if chance.one_in(8) && !body.is_empty() {
        let at = chance.below(body.len());
        body[at] = chance.next() as u8;
    }
    link_states_of(&body)
}

/// Returns a declaration, or its end, of a router that the attacker names by its number.
fn declared(game: &mut Game<'_>) -> Vec<u8> {
    let id = game.chance.up_to(20) as u32;
    let keys = ["honest/**", "attack/**", "honest/usual/0", "attack/mesh/1"];
    let wire_expr = WireExpr::full(game.chance.one_of::<&str>(&keys));
    let key = Some(wire_expr);
    let on_attack = WireExpr::full("attack/mesh/2");
    let body = match game.chance.below(6) {
        0 => Declaration::UndeclareSubscriber { id, key },
        1 => Declaration::UndeclareQueryable { id, key },
        2 => Declaration::UndeclareToken { id, key },
        // Honest clients would receive replies to their queries and tokens on their keys.
        3 => Declaration::Token {
            id,
            wire_expr: on_attack,
        },
        4 => Declaration::Queryable {
            id,
            wire_expr: on_attack,
            info: Default::default(),
        },
        _ => Declaration::Subscriber { id, wire_expr },
    };
    let node_id = game.chance.up_to(20) as u16;
    bytes(&Declare {
        node_id,
        ..Declare::new(body)
    })
}

/// Returns a publication in the name of an honest router, which is not its source. Its key is no
/// honest one: on those any client may publish in its own name.
fn forged(chance: &mut Chance) -> Vec<u8> {
    let key = WireExpr::full("attack/mesh/1");
    let router = 1 + chance.below(ROUTERS.len()) as u16;
    let trees = match chance.one_in(2) {
        true => 0,
        false => chance.next() as u16,
    };
    let node_id = NodeId::marked(router, trees);
    bytes(&Push {
        node_id,
        ..Push::new(key, PushBody::Put(Put::new(b"x")))
    })
}

/// Leaves in one of three ways.
fn leave(chance: &mut Chance, mut router: Hand) {
    match chance.below(3) {
        0 => router.reset(),
        1 => router.send(&[0x03, 0x00]),
        _ => drop(router),
    }
}

/// Returns link states with the ids of honest and invented routers, so that later messages may name
/// them by number.
fn introduction(own: ZenohId) -> Vec<u8> {
    let states: Vec<LinkState<'_>> = (0..INVENTED + 3)
        .map(|number| LinkState {
            psid: number,
            sn: 1,
            zid: Some(id_of(number, own)),
            whatami: Some(WhatAmI::Router),
            ..LinkState::default()
        })
        .collect();
    link_states_of(&bytes(&LinkStates(&states)))
}

/// Announces anything about itself, honest routers and invented ones, declares in their names, and
/// leaves.
pub fn lying_router(game: &mut Game<'_>) {
    while game.goes_on() {
        let Some(mut router) = game.router() else {
            continue;
        };
        // Numbers get their ids first.
        let own = router.zid();
        router.frame(&introduction(own));
        // Forged publications, declarations, or link states.
        for _ in 0..game.chance.up_to(100) {
            let message = match game.chance.below(6) {
                0 => forged(&mut game.chance),
                1 | 2 => declared(game),
                _ => {
                    let count = 1 + game.chance.up_to(6);
                    let chance = &mut game.chance;
                    states(chance, own, count, INVENTED + 3, 5)
                }
            };
            if !in_parts(&mut router, &message, Priority::Control) || !game.dawdles(20) {
                break;
            }
            router.swallow();
        }
        leave(&mut game.chance, router);
    }
}

/// Announces many invented routers, each of which changes as often as the attacker can send.
pub fn flood_of_link_states(game: &mut Game<'_>) {
    let Some(mut router) = game.router() else {
        return;
    };
    let own = router.zid();
    let routers = INVENTED + 1 + game.chance.up_to(1000) as u64;
    let first = states(&mut game.chance, own, routers as usize, routers, 20);
    in_parts(&mut router, &first, Priority::Control);
    while game.goes_on() {
        let changes: Vec<Vec<u8>> = (0..200)
            .map(|_| states(&mut game.chance, own, 1, routers, 3))
            .collect();
        if !router.messages(changes) {
            return;
        }
        router.swallow();
    }
}

/// Sends thousands of states with hundreds of links in one message.
pub fn large_link_states(game: &mut Game<'_>) {
    while game.goes_on() {
        let Some(mut router) = game.router() else {
            continue;
        };
        let own = router.zid();
        for _ in 0..game.chance.below(6) {
            let (count, routers) = (game.chance.up_to(3000), 4 + game.chance.up_to(2000) as u64);
            let links = game.chance.up_to(400);
            let message = states(&mut game.chance, own, count, routers, links);
            if !in_parts(&mut router, &message, Priority::Control) || !game.dawdles(200) {
                break;
            }
            router.swallow();
        }
        leave(&mut game.chance, router);
    }
}

/// Announces invented routers in a circle, each of which subscribes to honest keys: messages for
/// them are read or left.
pub fn circle_of_routers(game: &mut Game<'_>) {
    while game.goes_on() {
        let Some(mut router) = game.router() else {
            continue;
        };
        // Some routers do not read the answers.
        let own = router.zid();
        let reads = !game.chance.one_in(4);
        if !reads {
            narrow(&router);
        }
        // Link states that close a circle.
        let length = 2 + game.chance.up_to(30) as u64;
        let ring = INVENTED..INVENTED + length;
        let next = |number: u64| match number + 1 == ring.end {
            true => ring.start,
            false => number + 1,
        };
        let links: Vec<[u64; 3]> = ring.clone().map(|number| [0, next(number), 1]).collect();
        let all: Vec<u64> = [1].into_iter().chain(ring.clone()).collect();
        let state = |number, links| LinkState {
            psid: number,
            sn: 1 << 50,
            zid: Some(id_of(number, own)),
            whatami: Some(WhatAmI::Router),
            links: Numbers::new(links),
            ..LinkState::default()
        };
        // The attacker's own state, an honest router's, and those of the circle.
        let mut said = vec![state(0, &all), state(1, &[])];
        said.extend(
            ring.clone()
                .zip(&links)
                .map(|(number, links)| state(number, links)),
        );
        in_parts(
            &mut router,
            &link_states_of(&bytes(&LinkStates(&said))),
            Priority::Control,
        );
        // Each router of the circle subscribes to honest keys.
        router.messages(ring.map(|number| {
            let wire_expr = WireExpr::full("honest/**");
            let body = Declaration::Subscriber { id: 1, wire_expr };
            let node_id = number as u16;
            bytes(&Declare {
                node_id,
                ..Declare::new(body)
            })
        }));
        // The session lasts for a random time.
        while game.dawdles(50) && router.is_kept_alive() && !game.chance.one_in(30) {
            if reads {
                router.swallow();
            }
        }
        leave(&mut game.chance, router);
    }
}

/// Connects as a router, subscribes to everything or to nothing, and leaves; under one id or under
/// many.
pub fn visits_of_routers(game: &mut Game<'_>) {
    let own = ZenohId::random_from(u128::from(game.chance.next()));
    while game.goes_on() {
        let Some(mut router) = game.visitor() else {
            continue;
        };
        router.parameters.whatami = WhatAmI::Router;
        if game.chance.one_in(2) {
            router.parameters.zid = own;
        }
        if !router.is_let_in() {
            continue;
        }
        for id in 0..game.chance.below(4) as u32 {
            let key = *game.chance.one_of(&["honest/**", "**", "attack/**"]);
            router.frame(&subscriber(id, key));
        }
        leave(&mut game.chance, router);
    }
}
