// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lengths that are longer written than they have to be: what the router reads in one way and forwards, others must
//! not read in another way.

use super::words::{drop_put, subscriber};
use crate::roles::Stage;
use crate::world::{Bounds, Load, Setup, World, seconds};

/// Publications on a key of its own. The first ends with an empty payload whose length is written as `80 00`; the next
/// are alike, with lengths behind the `80` that mean one thing to the one who takes the `80` for a part of the head,
/// and another to everybody else. Behind that length lie messages in the router's name.
pub fn smuggler(stage: &Stage) {
    stage.say("attacking");
    let empty = drop_put("attack/own", b"");
    // what must not reach others as the router's own words: the end of the link, and declarations
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
        // how long the head is that the router writes is not known: every place is tried
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
        // and a short one, for as long as the body has room in one byte of length
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
    let Some(mut world) = World::for_finding("S1", Setup::router()) else {
        return;
    };
    world.honest(Load::usual());
    world.quiet(seconds(1.5));
    let attack = world.attack("smuggler", "");
    attack.said("attacking");
    world.attacked(seconds(3.0));
    world.verdict().holds(&Bounds::USUAL);
}
