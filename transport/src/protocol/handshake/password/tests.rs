// SPDX-License-Identifier: MIT OR Apache-2.0
//! The proof as the reference computes it, both sides against each other, and peers without a valid
//! proof.

use std::sync::Arc;

use zonda_codec::{
    Encode, InitAck, InitExt, InitSyn, OpenAck, OpenExt, OpenSyn, Reader, TransportMessage, WhatAmI,
};

use super::*;
use crate::protocol::auth::UserIds;
use crate::protocol::handshake::{
    AcceptStep, Acceptor, CookieKey, HandshakeError, OpenStep, Opener, Step,
};
use crate::protocol::options::LocalOptions;
use crate::protocol::parameters::{Established, LocalParameters};

const NONCE: u64 = 3_329_703_591_549_493_073;
const GENERIC: &[u8] = &[0x03, 0x00];

fn bob(password: &str) -> Option<Credentials> {
    Some(Credentials::new("bob", password).expect("a user"))
}

fn users() -> Users {
    "bob:secret\nann:other".parse().expect("a list")
}

fn node(zid: &str, options: LocalOptions) -> LocalParameters {
    LocalParameters {
        options: Arc::new(options),
        ..LocalParameters::new(zid.parse().expect("an id"), WhatAmI::Peer)
    }
}

fn opener(credentials: Option<Credentials>) -> Opener {
    let options = LocalOptions {
        credentials,
        ..LocalOptions::default()
    };
    Opener::new(node("d7", options), None)
}

fn acceptor(users: Option<Users>, nonce: u64) -> Acceptor {
    let options = LocalOptions {
        users,
        ..LocalOptions::default()
    };
    acceptor_with(options, nonce)
}

fn acceptor_with(options: LocalOptions, nonce: u64) -> Acceptor {
    let key = Arc::new(CookieKey::new([3; 32]));
    let mut acceptor = Acceptor::new(node("a1", options), key);
    acceptor.set_nonce(nonce);
    acceptor
}

fn decode(batch: &[u8]) -> TransportMessage<'_> {
    TransportMessage::decode(&mut Reader::new(batch)).expect("a message")
}

/// Returns the end of a handshake: both sides' result, or the error of the side that failed first
/// and its last batch.
fn run(
    mut opener: Opener,
    mut acceptor: Acceptor,
    mut edit: impl FnMut(Step, &mut Vec<u8>),
) -> Result<(Established, Established), (HandshakeError, Vec<u8>)> {
    let (mut forth, mut back) = (Vec::new(), Vec::new());
    opener.start(&mut forth);
    edit(Step::InitSyn, &mut forth);
    let mut admitted = None;
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

/// Replaces the authentication extension of OpenSyn.
fn answering(chain: Option<Vec<u8>>) -> impl FnMut(Step, &mut Vec<u8>) {
    move |step, batch| {
        if step == Step::OpenSyn {
            let sent = batch.clone();
            let TransportMessage::OpenSyn(syn) = decode(&sent) else {
                panic!("{sent:02x?}")
            };
            let ext = OpenExt {
                auth: chain.as_deref(),
                ..syn.ext
            };
            *batch = OpenSyn { ext, ..syn }.to_vec().expect("a wire form");
        }
    }
}

fn problem(outcome: Result<(Established, Established), (HandshakeError, Vec<u8>)>) -> AuthProblem {
    match outcome {
        Err((HandshakeError::Unauthenticated { zid, problem }, out)) => {
            assert_eq!(zid.to_string(), "d7");
            assert_eq!(out, GENERIC);
            problem
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_proof_is_that_of_the_reference() {
    let chain = answer(&bob("secret").expect("a user"), NONCE);
    let hex: String = chain.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        hex,
        "422503626f6220bdb776f68e1b6f0f49a61f20358ad84bac659a4de724d432b9555d01f13bfa9a"
    );
    let asked = challenge(u64::MAX);
    assert_eq!(nonce(Some(&asked)), Ok(Some(u64::MAX)));
    assert_eq!(challenge(5), [0x22, 5]);
}

#[test]
fn a_user_who_knows_the_password_gets_in() {
    let (open, accept) = run(
        opener(bob("secret")),
        acceptor(Some(users()), NONCE),
        |_, _| {},
    )
    .expect("it is the password");
    assert_eq!(open.options.user(), Some("bob"));
    assert_eq!(accept.options.user(), Some("bob"));
}

#[test]
fn nobody_is_asked_where_everybody_may_come() {
    for credentials in [None, bob("any")] {
        let (open, accept) = run(opener(credentials), acceptor(None, 0), |_, _| {}).expect("open");
        assert_eq!((open.options.user(), accept.options.user()), (None, None));
    }
}

#[test]
fn a_user_with_ids_gets_in_with_these_and_no_other_user_does() {
    let meet = |ids: &[(&str, &str)]| {
        let each = ids.iter().map(|(user, zid)| {
            let zid = zid.parse().expect("an id");
            ((*user).to_owned(), vec![zid])
        });
        let options = LocalOptions {
            users: Some(users()),
            user_ids: UserIds::new(each),
            ..LocalOptions::default()
        };
        run(
            opener(bob("secret")),
            acceptor_with(options, NONCE),
            |_, _| {},
        )
    };
    // The opener's id is d7.
    for ids in [
        &[("bob", "d7")][..],
        &[("bob", "a2"), ("bob", "d7")],
        &[("ann", "a2")],
    ] {
        assert!(meet(ids).is_ok(), "{ids:?}");
    }
    let wrong = AuthProblem::WrongId { user: "bob".into() };
    for ids in [&[("bob", "a2")][..], &[("ann", "d7")]] {
        assert_eq!(problem(meet(ids)), wrong, "{ids:?}");
    }
}

#[test]
fn a_wrong_user_or_password_is_told_on_both_sides() {
    let guess = |credentials| run(opener(credentials), acceptor(Some(users()), 7), |_, _| {});
    assert_eq!(problem(guess(None)), AuthProblem::Missing);
    let wrong = AuthProblem::WrongPassword { user: "bob".into() };
    assert_eq!(problem(guess(bob("Secret"))), wrong);
    let carl = Credentials::new("carl", "secret").expect("a user");
    let unknown = AuthProblem::UnknownUser {
        user: "carl".into(),
    };
    assert_eq!(problem(guess(Some(carl))), unknown);

    let mut turned_away = opener(None);
    let mut out = Vec::new();
    turned_away.start(&mut out);
    let error = turned_away
        .handle_batch(GENERIC, &mut out)
        .expect_err("closed");
    assert_eq!(error, HandshakeError::CredentialsWanted);
    let outcome = run(
        opener(bob("x")),
        acceptor(Some(users()), 7),
        |step, batch| {
            // Replaced as by an acceptor that sends the confirmation unasked.
            if step == Step::OpenAck {
                *batch = GENERIC.to_vec();
            }
            if step == Step::OpenSyn {
                answering(Some(answer(&bob("secret").expect("a user"), 7)))(step, batch);
            }
        },
    );
    let (error, _) = outcome.expect_err("closed");
    let text = error.to_string();
    assert!(text.contains("a1") && text.contains("bob"), "{text}");
    assert!(text.contains("transport/auth/usrpwd/password"), "{text}");
    assert!(!text.contains("secret"), "{text}");
}

#[test]
fn an_answer_counts_for_its_own_connection_only() {
    let mut recorded = None;
    let good = run(
        opener(bob("secret")),
        acceptor(Some(users()), 1),
        |step, batch| {
            if step == Step::OpenSyn {
                recorded = Some(batch.clone());
            }
        },
    );
    assert!(good.is_ok());
    let recorded = recorded.expect("it was sent");
    let again = run(
        opener(bob("guess")),
        acceptor(Some(users()), 2),
        |step, batch| {
            if step == Step::OpenSyn {
                *batch = recorded.clone();
            }
        },
    );
    let (error, out) = again.expect_err("a cookie of another connection");
    assert_eq!((error, &out[..]), (HandshakeError::Cookie, &[3, 2][..]));
    // the same user's proof for another nonce
    let stale = answer(&bob("secret").expect("a user"), 1);
    let outcome = run(
        opener(bob("x")),
        acceptor(Some(users()), 2),
        answering(Some(stale)),
    );
    let wrong = AuthProblem::WrongPassword { user: "bob".into() };
    assert_eq!(problem(outcome), wrong);
}

#[test]
fn what_cannot_be_an_answer_is_refused() {
    let good = answer(&bob("secret").expect("a user"), 7);
    let twice = {
        let mut first = good.clone();
        first[0] |= 0x80;
        [first, good.clone()].concat()
    };
    let with_body = |body: &[u8]| {
        let mut chain = vec![KEY_PROOF];
        put_vle(body.len() as u64, &mut chain);
        chain.extend_from_slice(body);
        chain
    };
    let long_name = {
        let mut body = Vec::new();
        put_vle(3000, &mut body);
        body.resize(body.len() + 3000, b'u');
        body.push(32);
        body.resize(body.len() + 32, 0);
        with_body(&body)
    };
    let mut cases = vec![
        twice,
        long_name,
        vec![KEY_UNIT],
        challenge(7),
        with_body(b""),
        with_body(b"\x03bob"),
        with_body(b"\x03bob\x00"),
        with_body(&[b"\x03bob\x20", &[0; 33][..]].concat()),
        vec![0xff, 0xff],
    ];
    cases.extend((1..good.len()).map(|cut| good[..cut].to_vec()));
    for chain in cases {
        let outcome = run(
            opener(bob("x")),
            acceptor(Some(users()), 7),
            answering(Some(chain.clone())),
        );
        let problem = problem(outcome);
        assert!(
            matches!(problem, AuthProblem::Malformed { .. }),
            "{problem}: {chain:02x?}"
        );
    }
    let outcome = run(
        opener(bob("x")),
        acceptor(Some(users()), 7),
        answering(None),
    );
    assert_eq!(problem(outcome), AuthProblem::Missing);
    // The flag of mandatory extensions changes nothing: this one is understood.
    for bit in (0..good.len() * 8).filter(|bit| *bit != 4) {
        let mut changed = good.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let outcome = run(
            opener(bob("x")),
            acceptor(Some(users()), 7),
            answering(Some(changed)),
        );
        problem(outcome);
    }
}

#[test]
fn a_stranger_without_a_first_word_is_not_asked() {
    for (auth, missing) in [
        (None, true),
        (Some(&[][..]), true),
        (Some(&[0x01][..]), true),
        (Some(&[0x22, 5][..]), false),
        (Some(&[0x82, 0x02][..]), false),
        (Some(&[0x82][..]), false),
    ] {
        let outcome = run(
            opener(bob("secret")),
            acceptor(Some(users()), 7),
            |step, batch| {
                if step == Step::InitSyn {
                    let sent = batch.clone();
                    let TransportMessage::InitSyn(syn) = decode(&sent) else {
                        panic!("{sent:02x?}")
                    };
                    let ext = InitExt { auth, ..syn.ext };
                    *batch = InitSyn { ext, ..syn }.to_vec().expect("a wire form");
                }
            },
        );
        assert_eq!(
            problem(outcome) == AuthProblem::Missing,
            missing,
            "{auth:?}"
        );
    }
}

#[test]
fn an_acceptor_that_asks_must_confirm() {
    let outcome = run(
        opener(bob("secret")),
        acceptor(Some(users()), 7),
        |step, batch| {
            if step == Step::OpenAck {
                let sent = batch.clone();
                let TransportMessage::OpenAck(ack) = decode(&sent) else {
                    panic!("{sent:02x?}")
                };
                let ext = OpenExt::default();
                *batch = OpenAck { ext, ..ack }.to_vec().expect("a wire form");
            }
        },
    );
    let (error, out) = outcome.expect_err("no confirmation");
    let step = Step::OpenAck;
    assert_eq!(
        (error, &out[..]),
        (HandshakeError::Confirmation { step }, GENERIC)
    );
    let outcome = run(
        opener(bob("secret")),
        acceptor(Some(users()), 7),
        |step, batch| {
            if step == Step::InitAck {
                let sent = batch.clone();
                let TransportMessage::InitAck(ack) = decode(&sent) else {
                    panic!("{sent:02x?}")
                };
                let auth = Some(&[0x42, 0][..]);
                let ext = InitExt { auth, ..ack.ext };
                *batch = InitAck { ext, ..ack }.to_vec().expect("a wire form");
            }
        },
    );
    let (error, _) = outcome.expect_err("no number");
    let step = Step::InitAck;
    assert_eq!(error, HandshakeError::Confirmation { step });
}
