// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lengths that are encoded longer than necessary: the router that forwards a message and its
//! receivers must parse it alike.

use std::collections::HashMap;

use zonda_codec::{Declaration, NetworkMessage, PushBody, WireExpr};

use super::words::{drop_put, key_id, subscriber};
use crate::hand::Hand;
use crate::roles::Stage;
use crate::world::{Bounds, Load, Setup, World, seconds};

/// Publishes on a key of its own. The first ends with an empty payload whose length is written as
/// `80 00`; the next are alike, with lengths behind the `80` that mean one thing to a parser that
/// takes the `80` for a part of the head, and another to all other parsers. Behind that length are
/// messages in the router's name.
pub fn smuggler(stage: &Stage) {
    stage.say("attacking");
    let empty = drop_put("attack/own", b"");
    // messages that must not reach subscribers as the router's own: the end of the link, and
    // declarations
    let close = [0x03, 0x00];
    let hidden = [
        drop_put("attack/hidden", b"open").repeat(4),
        close.repeat(20),
        subscriber(1, "attack/hidden").repeat(4),
    ];
    for round in 0.. {
        let mut guest = stage.visitor();
        if stage.is_over() || !guest.is_let_in() {
            break;
        }
        // the length of the router's head is unknown: every position is tried
        let padding = vec![0x41; round % 128];
        let (head, length) = empty.split_at(empty.len() - 1);
        assert_eq!(length, [0]);
        let mut run = Vec::new();
        run.extend_from_slice(head);
        run.extend_from_slice(&[0x80, 0x00]);
        run.extend_from_slice(head);
        run.extend_from_slice(&[0x80, 0x01, 0x41]);
        let body = [padding.as_slice(), &hidden[round / 128 % 3]].concat();
        run.extend_from_slice(head);
        run.push(0x80);
        run.extend_from_slice(&[body.len() as u8 | 0x80, (body.len() >> 7) as u8]);
        run.extend_from_slice(&body);
        guest.frame(&run);
        // and a short one, as long as one byte is enough for the body's length
        let short = &body[..body.len().min(120)];
        let mut run = Vec::new();
        run.extend_from_slice(head);
        run.extend_from_slice(&[0x80, 0x00]);
        run.extend_from_slice(head);
        run.extend_from_slice(&[0x80, 0x01, 0x41]);
        run.extend_from_slice(head);
        run.extend_from_slice(&[0x80, short.len() as u8]);
        run.extend_from_slice(short);
        guest.frame(&run);
    }
    stage.wait();
}

#[test]
fn s1_overlong_lengths() {
    let mut world = World::open(Setup::router());
    world.honest(Load::usual());
    world.quiet(seconds(1.0));
    let attack = world.attack("smuggler", "");
    attack.said("attacking");
    world.attacked(seconds(3.0));
    world.verdict().holds(&Bounds::USUAL);
}

/// Key of the attackers below, and the content of their last message.
const OWN: &str = "plant/own";
const END: &str = "plant/end";

/// Returns the messages that are hidden in a payload.
fn hidden() -> [Vec<u8>; 3] {
    [
        vec![0x03, 0x00],
        drop_put("plant/forged", b"nobody said so"),
        subscriber(7, "plant/**"),
    ]
}

/// Returns a payload of 128 bytes: the first length of two bytes whose low bits are those of an
/// empty one.
fn with_hidden(hidden: &[u8]) -> Vec<u8> {
    let mut payload = [b"A", hidden].concat();
    payload.resize(128, b' ');
    payload
}

/// Sends the three messages of the finding, on a key that is a text, and on one that is a number.
pub fn length_of_nothing(stage: &Stage) {
    let mut guest = stage.guest();
    guest.frame(&key_id(1, OWN));
    let text = drop_put(OWN, b"");
    let (text, _) = text.split_at(text.len() - 1);
    for head in [text, &[0x5d, 1, 1]] {
        for hidden in hidden() {
            let long = [head, &[0x80, 0x01], &with_hidden(&hidden)].concat();
            let nothing = [head, &[0x80, 0x00]].concat();
            guest.frame(&[nothing.as_slice(), &long, &long, &nothing, &nothing].concat());
        }
    }
    guest.frame(&drop_put(END, b""));
    stage.say("done");
    stage.wait();
}

/// Sends an extension longer than its field: the reference continues to parse behind the field, at
/// the length of a longer payload.
pub fn surplus_in_an_extension(stage: &Stage) {
    for hidden in hidden() {
        let mut guest = stage.guest();
        guest.frame(&key_id(1, OWN));
        let source_info = [0x00, 7, 1, 1, 4];
        let lie = [&[0x5d, 1, 0x81, 0x41, 5], &source_info[..], &[1, b'x']].concat();
        guest.frame(&[lie.as_slice(), &with_hidden(&hidden)].concat());
        assert!(guest.is_hung_up_on(), "that is no message");
    }
    stage.guest().frame(&drop_put(END, b""));
    stage.say("done");
    stage.wait();
}

/// Returns the keys and values that a subscriber to `plant/**` receives until the end, each decoded
/// by itself.
fn overheard(world: &mut World, attack: &str) -> Vec<(String, Vec<u8>)> {
    // a subscriber that decodes each message by itself
    let mut strict = Hand::connected(world.address);
    strict.subscribe(1, "plant/**");
    assert!(strict.is_served());
    let attack = world.attack(attack, "");
    attack.said("done");
    let mut told = HashMap::new();
    let mut heard = Vec::new();
    // keys in full, by the ids that the router has declared
    let key = |told: &HashMap<u16, String>, expr: &WireExpr<'_>| match expr.scope {
        0 => expr.suffix.to_owned(),
        scope => format!("{}{}", told[&scope], expr.suffix),
    };
    // only declarations of keys, and puts, may arrive
    let is_whole = strict.read_until(|message| {
        match message {
            NetworkMessage::Declare(declare) => match &declare.body {
                Declaration::KeyExpr { id, wire_expr } => {
                    let key = key(&told, wire_expr);
                    told.insert(*id, key);
                }
                other => panic!("the router declares {other:?} to one who asked for nothing"),
            },
            NetworkMessage::Push(push) => {
                let PushBody::Put(put) = push.body else {
                    panic!("nobody has deleted anything");
                };
                heard.push((key(&told, &push.wire_expr), put.payload.to_vec()));
            }
            other => panic!("nobody has sent {other:?}"),
        }
        heard.last().is_some_and(|(key, _)| key == END)
    });
    assert!(is_whole, "the link was closed in the router's name");
    heard.pop();
    heard
}

#[test]
fn s1_a_strict_subscriber_reads_what_was_sent() {
    let mut world = World::open(Setup::router());
    let mut due = Vec::new();
    for _ in 0..2 {
        for hidden in hidden() {
            let long = with_hidden(&hidden);
            due.extend([vec![], long.clone(), long, vec![], vec![]]);
        }
    }
    let due: Vec<_> = due
        .into_iter()
        .map(|value| (OWN.to_owned(), value))
        .collect();
    assert_eq!(overheard(&mut world, "length_of_nothing"), due);
}

#[test]
fn s1_an_extension_ends_where_its_field_ends() {
    let mut world = World::open(Setup::router());
    assert_eq!(overheard(&mut world, "surplus_in_an_extension"), []);
}
