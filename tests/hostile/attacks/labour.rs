// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processor exhaustion: short messages that cause much work, such as keys that take long to
//! compare, declarations and interests that multiply, queries for everything, churn.

use std::time::Duration;

use zonda_codec::{
    Declaration, Interest, InterestMode, InterestOptions, NetworkMessage, Qos, WireExpr,
};

use super::words::{
    crowd, interest, keep_alive, key_id, narrow, no_subscriber, put, queryable, read_beside,
    request, subscriber, token,
};
use crate::hand::{Hand, bytes};
use crate::roles::Stage;
use crate::world::{Bounds, Flow, Load, Setup, World, seconds};

/// Returns the two numbers in the argument.
fn numbers(stage: &Stage) -> (usize, usize) {
    let mut numbers = stage
        .argument
        .split(' ')
        .map(|n| n.parse().expect("a number"));
    let mut next = || numbers.next().expect("two numbers");
    (next(), next())
}

/// Waits until the router has done all earlier work of this guest.
fn settle(guest: &mut Hand) {
    assert!(guest.is_served());
}

/// Declares subscribers on keys of many chunks, wild in every second, and publishes on such keys.
/// The argument has the chunks of a key and the number of keys.
pub fn keys_of_many_chunks(stage: &Stage) {
    let (chunks, count) = numbers(stage);
    let mut guest = stage.guest();
    let chain = vec!["**/a"; chunks / 2].join("/");
    let key = |number: usize| format!("**/{number}/{chain}/attack");
    guest.messages((0..count).map(|number| subscriber(number as u32, &key(number))));
    keep_alive(stage, &guest);
    read_beside(stage, &guest);
    stage.say("attacking");
    for number in 0.. {
        let asked = guest.frame(&put(&key(count + number), b"x"));
        if !asked || stage.pause(Duration::from_millis(100)) {
            break;
        }
    }
    stage.wait();
}

/// Declares subscribers, and interests that each request one declaration for all of them, which
/// exclude the guest's own; another guest declares a subscriber that all of these cover, again and
/// again. The argument is the number of each.
pub fn interests_in_one_for_all(stage: &Stage) {
    let (subscribers, interests) = numbers(stage);
    let mut asker = stage.guest();
    read_beside(stage, &asker);
    let key = |number: usize| format!("attack/s{number}/**");
    asker.messages((0..subscribers).map(|id| subscriber(id as u32, &key(id))));
    let all = |number: usize| format!("attack/**/n{number}/**");
    asker.messages((0..interests).map(|id| interest(id as u32 + 1, &all(id), true)));
    keep_alive(stage, &asker);
    let mut guest = stage.guest();
    read_beside(stage, &guest);
    stage.say("attacking");
    stage.while_on(|| {
        guest.frame(&subscriber(1, "attack/**"))
            && guest.frame(&no_subscriber(1))
            && !stage.pause(Duration::from_millis(50))
    });
    stage.wait();
}

/// Declares subscribers, as many as the argument says, and sends ever new interests that cover all
/// of them, each in one declaration for all, or in each.
pub fn interests_in_what_it_has(stage: &Stage) {
    let mut guest = stage.guest();
    read_beside(stage, &guest);
    keep_alive(stage, &guest);
    let count = stage.number(20_000) as u32;
    guest.messages((0..count).map(|id| subscriber(id, &format!("attack/s{id}/**"))));
    settle(&mut stage.guest());
    stage.say("attacking");
    let mut id = 0;
    stage.while_on(|| {
        let some = (0..100).map(|_| {
            id += 1;
            interest(id % 10_000, &format!("attack/**/n{id}/**"), id % 2 == 0)
        });
        guest.messages(some.collect::<Vec<_>>())
    });
    stage.say(&format!("interests {id}"));
    stage.wait();
}

/// Fills a large table, then publishes on ever new keys with wild chunks.
pub fn wild_puts(stage: &Stage) {
    large_table(stage, |guest, number| {
        guest.frame(&put(&format!("**/attack/{number}"), b"x"))
    });
}

/// Fills a large table, then queries everything.
pub fn wild_questions(stage: &Stage) {
    large_table(stage, |guest, number| guest.frame(&request(number, "**/t")));
}

fn large_table(stage: &Stage, mut act: impl FnMut(&mut Hand, u32) -> bool) {
    let count = stage.number(20_000) as u32;
    let mut guest = stage.guest();
    read_beside(stage, &guest);
    guest.messages((0..count).map(|id| subscriber(id, &format!("attack/s/{id}/t"))));
    guest.messages((0..count).map(|id| queryable(id, &format!("attack/q/{id}/t"))));
    guest.messages((0..count).map(|id| token(id, &format!("attack/l/{id}/t"))));
    let mut other = stage.guest();
    keep_alive(stage, &other);
    keep_alive(stage, &guest);
    settle(&mut other);
    read_beside(stage, &other);
    stage.say("attacking");
    let mut number = 0;
    stage.while_on(|| {
        number += 1;
        act(&mut other, number)
    });
    stage.wait();
}

/// Opens as many neighbours as the argument says, interested in all declarations, and one that
/// declares and undeclares many entities in each of its frames. Reports in how many batches one of
/// the neighbours received how many declarations.
pub fn many_who_listen_to_churn(stage: &Stage) {
    const DECLARATIONS: u32 = 4000;
    // Interested neighbours, one of which counts its batches.
    let mut guests: Vec<Hand> = (0..stage.number(200)).map(|_| stage.guest()).collect();
    for guest in &mut guests {
        guest.frame(&interest(1, "attack/**", false));
        settle(guest);
    }
    let mut listener = guests.pop().expect("there is one");
    keep_alive(stage, &listener);
    crowd(stage, guests);
    // Declarations and undeclarations of another neighbour.
    let mut guest = stage.guest();
    stage.say("attacking");
    let ids = 0..DECLARATIONS / 2;
    guest.messages(
        ids.clone()
            .map(|id| subscriber(id, &format!("attack/{id}"))),
    );
    guest.messages(ids.map(no_subscriber));
    // Batches until every declaration has come.
    let (mut told, mut batches) = (0, 0);
    while told < DECLARATIONS {
        batches += 1;
        let is_there = listener.read_batch(|message| {
            told += u32::from(matches!(
                message,
                NetworkMessage::Declare(declare) if !matches!(declare.body, Declaration::KeyExpr { .. })
            ));
        });
        assert!(is_there, "the listener was cut off");
    }
    stage.say(&format!("batches {batches}"));
    stage.wait();
}

/// Returns different patterns that a word matches.
fn patterns(word: &str) -> Vec<String> {
    let mut all = vec!["*".to_owned(), word.to_owned()];
    for from in 0..=word.len() {
        for to in 0..from {
            all.push(format!("{}$*{}", &word[..to], &word[from..]));
        }
    }
    all
}

/// Opens as many neighbours as the argument says, each interested in tokens on ten thousand
/// patterns that one key matches.
pub fn many_interests_in_one_key(stage: &Stage) {
    let (firsts, seconds) = (patterns("honest"), patterns("usual"));
    // Each guest declares interests on combinations of patterns.
    let guests: Vec<Hand> = (0..stage.number(3))
        .map(|_| {
            let mut guest = stage.guest();
            read_beside(stage, &guest);
            keep_alive(stage, &guest);
            let thirds = patterns("alive");
            let keys = firsts.iter().flat_map(|first| {
                let both = seconds
                    .iter()
                    .map(move |second| format!("{first}/{second}"));
                let thirds = &thirds;
                both.flat_map(move |both| thirds.iter().map(move |third| format!("{both}/{third}")))
            });
            let asked = keys.take(10_000).enumerate().map(|(id, key)| {
                bytes(&Interest {
                    id: id as u32,
                    mode: InterestMode::CurrentFuture,
                    options: InterestOptions::TOKENS | InterestOptions::KEYEXPRS,
                    wire_expr: Some(WireExpr::full(&key)),
                    qos: Qos::DECLARE,
                    timestamp: None,
                    node_id: 0,
                })
            });
            guest.messages(asked);
            guest
        })
        .collect();
    stage.say("attacking");
    stage.wait();
    drop(guests);
}

/// Opens as many sessions as the argument says, and one that queries the admin space again and
/// again.
pub fn admin_space(stage: &Stage) {
    crowd(
        stage,
        (0..stage.number(200)).map(|_| stage.guest()).collect(),
    );
    let mut guest = stage.guest();
    read_beside(stage, &guest);
    stage.say("attacking");
    let mut number = 0;
    stage.while_on(|| {
        number += 1;
        guest.frame(&request(number, "@/**"))
    });
    stage.wait();
}

/// Declares and undeclares subscribers and key ids with a table of entities behind them, each
/// change of which may invalidate the cached routes of other neighbours.
pub fn churn_with_a_table(stage: &Stage) {
    let mut guest = stage.guest();
    narrow(&guest);
    read_beside(stage, &guest);
    let count = stage.number(20_000) as u32;
    guest.messages((0..count).map(|id| subscriber(id, &format!("attack/{id}/t"))));
    settle(&mut stage.guest());
    stage.say("attacking");
    let toggles = (0..500_u32).flat_map(|id| {
        let id = id + count;
        [
            subscriber(id, "attack/today"),
            key_id(1, "attack/id"),
            no_subscriber(id),
        ]
    });
    let toggles: Vec<Vec<u8>> = toggles.collect();
    stage.while_on(|| guest.messages(toggles.iter().cloned()));
    stage.wait();
}

#[track_caller]
fn harmless(attack: &str, argument: &str) {
    let mut world = World::open(Setup::router());
    world.honest(Load::usual());
    world.quiet(seconds(1.0));
    let attack = world.attack(attack, argument);
    attack.said("attacking");
    world.attacked(seconds(3.0));
    world.verdict().holds(&Bounds::USUAL);
}

/// Keys of 40 kB.
#[test]
fn s3_keys_of_many_chunks() {
    harmless("keys_of_many_chunks", "16000 100");
}

/// Keys of as many chunks as are allowed, and many such keys.
#[test]
fn s3_keys_of_some_chunks() {
    harmless("keys_of_many_chunks", "120 4000");
}

#[test]
fn s3_interests_in_one_for_all() {
    let mut world = World::open(Setup::router());
    // these keys must have no other subscriber: the first one would be the answer
    world.honest(Load {
        everything: false,
        ..Load::usual()
    });
    world.quiet(seconds(1.0));
    let attack = world.attack("interests_in_one_for_all", "2000 8000");
    attack.said("attacking");
    world.attacked(seconds(3.0));
    world.verdict().holds(&Bounds::USUAL);
}

/// A neighbour's own entities are not searched for its interests.
#[test]
fn s40_interests_in_what_it_has_itself() {
    let mut world = World::open(Setup::router());
    // A subscriber to everything would be the answer at once.
    world.honest(Load {
        everything: false,
        ..Load::usual()
    });
    world.quiet(seconds(1.0));
    let attack = world.attack("interests_in_what_it_has", "");
    attack.said("attacking");
    world.attacked(seconds(3.0));
    world.verdict().holds(&Bounds::USUAL);
}

#[test]
fn s16_wild_puts() {
    harmless("wild_puts", "");
}

#[test]
fn s16_wild_questions() {
    harmless("wild_questions", "");
}

/// A neighbour with a few interests is sent a change before neighbours with thousands of matching
/// interests, and the client that made the change does not wait for them.
#[test]
fn s16_many_interests_in_one_key() {
    let mut world = World::open(Setup::router());
    world.honest(Load::usual());
    world.quiet(seconds(1.0));
    let attack = world.attack("many_interests_in_one_key", "20");
    attack.said("attacking");
    world.attacked(seconds(4.0));
    world.verdict().holds(&Bounds::USUAL);
}

#[test]
fn s16_many_who_listen_to_churn() {
    let mut world = World::open(Setup::router());
    world.honest(Load::usual());
    world.quiet(seconds(1.0));
    let attack = world.attack("many_who_listen_to_churn", "10");
    attack.said("attacking");
    world.attacked(seconds(3.0));
    let batches: u32 = attack.said("batches ").parse().expect("a number");
    assert!(
        batches < 1000,
        "{batches} batches for 4000 declarations in some frames"
    );
    world.verdict().holds(&Bounds::USUAL);
}

#[test]
fn s16_admin_space() {
    harmless("admin_space", "400");
}

#[test]
fn s17_churn_beside_a_fast_source() {
    let mut world = World::open(Setup::router());
    let flows = vec![Flow::block(8, 0), Flow::drop(8, 100).priority(1)];
    world.honest(Load::of("load", flows));
    world.quiet(seconds(2.0));
    let attack = world.attack("churn_with_a_table", "");
    attack.said("attacking");
    world.attacked(seconds(3.0));
    world.verdict().holds(&Bounds::USUAL);
}
