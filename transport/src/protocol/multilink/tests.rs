// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys, challenges and both sides of a handshake that agrees on several links.

use std::sync::Arc;

use zonda_codec::{Encode, OpenExt, OpenSyn, Reader, TransportMessage, WhatAmI};

use super::*;
use crate::protocol::handshake::{
    AcceptStep, Acceptor, CookieKey, HandshakeError, OpenStep, Opener, Step,
};
use crate::protocol::options::LocalOptions;
use crate::protocol::parameters::{Established, LocalParameters};

fn key(seed: u8) -> NodeKey {
    NodeKey::from_seed([seed; 32]).expect("it is built in")
}

fn node(zid: &str, multilink: Option<NodeKey>) -> LocalParameters {
    LocalParameters {
        options: Arc::new(LocalOptions {
            multilink,
            ..LocalOptions::default()
        }),
        ..LocalParameters::new(zid.parse().expect("an id"), WhatAmI::Peer)
    }
}

type Agreed = Result<(Established, Established), (HandshakeError, Vec<u8>)>;

fn run(
    (opener, acceptor): (Option<NodeKey>, Option<NodeKey>),
    mut edit: impl FnMut(Step, &mut Vec<u8>),
) -> Agreed {
    let mut opener = Opener::new(node("d7", opener), None);
    let mut acceptor = Acceptor::new(node("a1", acceptor), Arc::new(CookieKey::new([3; 32])));
    acceptor.set_nonce(77);
    let (mut forth, mut back, mut admitted) = (Vec::new(), Vec::new(), None);
    opener.start(&mut forth);
    edit(Step::InitSyn, &mut forth);
    loop {
        match acceptor.handle_batch(&forth, &mut back) {
            Ok(AcceptStep::Continue) => edit(Step::InitAck, &mut back),
            Ok(AcceptStep::Admit(established)) => {
                admitted = Some(established);
                acceptor.admit(&mut back);
                edit(Step::OpenAck, &mut back);
            }
            Err(error) => return Err((error, back)),
        }
        match opener.handle_batch(&back, &mut forth) {
            Ok(OpenStep::Continue) => edit(Step::OpenSyn, &mut forth),
            Ok(OpenStep::Done(established)) => {
                return Ok((established, admitted.expect("admitted before")));
            }
            Err(error) => return Err((error, forth)),
        }
    }
}

#[test]
fn keys_look_as_everybodys() {
    let mut bytes = Vec::new();
    key(1).public().write(&mut bytes);
    assert_eq!(bytes.len(), 1 + 64 + 1 + 3, "{bytes:02x?}");
    assert_eq!((bytes[0], &bytes[65..]), (64, &[3, 1, 0, 1][..]));
    assert_eq!(read_init_syn(&bytes).as_ref(), Some(key(1).public()));
    assert_ne!(key(1).public(), key(2).public());
    assert_eq!(format!("{:?}", key(1)), "NodeKey");
}

#[test]
fn a_challenge_is_read_by_the_one_it_is_for() {
    let (a, b) = (key(1), key(2));
    for challenge in [0, 1, 77, u64::MAX] {
        let encrypted = a.encrypt(b.public(), challenge).expect("a key");
        assert_eq!(b.decrypt(&encrypted), Some(challenge));
        assert_eq!(a.decrypt(&encrypted), None);
        assert_eq!(b.decrypt(&encrypted[1..]), None);
        assert_eq!(b.decrypt(&[]), None);
    }
}

#[test]
fn both_sides_know_each_others_key() {
    let (open, accept) = run((Some(key(1)), Some(key(2))), |_, _| {}).expect("both want it");
    assert_eq!(open.options.multilink(), Some(key(2).public()));
    assert_eq!(accept.options.multilink(), Some(key(1).public()));
    for keys in [(None, Some(key(2))), (Some(key(1)), None), (None, None)] {
        let (open, accept) = run(keys, |_, _| {}).expect("one link is enough");
        assert_eq!(
            (open.options.multilink(), accept.options.multilink()),
            (None, None)
        );
    }
}

#[test]
fn whoever_cannot_read_the_challenge_is_refused() {
    let proofs: [Option<Vec<u8>>; 5] = [
        None,
        Some(vec![]),
        Some(vec![0]),
        Some([&[64][..], &[7; 64]].concat()),
        Some(vec![65, 1]),
    ];
    for proof in proofs {
        let outcome = run((Some(key(1)), Some(key(2))), |step, batch| {
            if step == Step::OpenSyn {
                let sent = batch.clone();
                let message = TransportMessage::decode(&mut Reader::new(&sent));
                let Ok(TransportMessage::OpenSyn(syn)) = message else {
                    panic!("{sent:02x?}")
                };
                let ext = OpenExt {
                    multilink: proof.as_deref(),
                    ..syn.ext
                };
                *batch = OpenSyn { ext, ..syn }.to_vec().expect("a wire form");
            }
        });
        let (error, out) = outcome.expect_err("no proof");
        assert!(matches!(error, HandshakeError::Feature { .. }), "{error}");
        assert_eq!(out, [3, 0]);
    }
}

#[test]
fn what_is_no_key_is_refused() {
    for body in [
        &[][..],
        &[0],
        &[1, 7],
        &[1, 0, 1, 0],
        &[1, 7, 1, 3, 0],
        &[0x40, 1],
    ] {
        let parsed = read_init_syn(body);
        let usable = parsed.and_then(|peer| key(1).encrypt(&peer, 7));
        assert_eq!(usable, None, "{body:02x?}");
    }
}
