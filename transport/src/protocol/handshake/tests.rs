// SPDX-License-Identifier: MIT OR Apache-2.0
//! Both halves against each other, against the reference's own bytes, and against bad ones.

use std::sync::Arc;

use zonda_codec::{
    InitAck, InitExt, InitSyn, OpenAck, OpenSyn, Priority, QosLink, Reliability, Resolution,
    WhatAmI,
};

use super::*;
use crate::protocol::options::LocalOptions;
use crate::protocol::parameters::{BATCH_SIZE_MIN, Established, LEASE_MAX, LocalParameters};

/// The Close that refuses invalid messages.
const INVALID: &[u8] = &[0x03, 0x02];
const GENERIC: &[u8] = &[0x03, 0x00];

fn local(zid: &str, whatami: WhatAmI) -> LocalParameters {
    LocalParameters::new(zid.parse().expect("a valid id"), whatami)
}

fn client() -> LocalParameters {
    local("d7", WhatAmI::Client)
}

fn router() -> LocalParameters {
    local("a1", WhatAmI::Router)
}

fn acceptor(local: LocalParameters) -> Acceptor {
    Acceptor::new(local, Arc::new(CookieKey::new([3; 32])))
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(pair).collect()
}

/// Runs both halves against each other; `edit` may change each batch on its way.
fn run(
    opener: LocalParameters,
    accepting: LocalParameters,
    mut edit: impl FnMut(Step, &mut Vec<u8>),
) -> Result<(Established, Established), (Step, HandshakeError, Vec<u8>)> {
    let mut opener = Opener::new(opener, None);
    let mut acceptor = acceptor(accepting);
    let (mut forth, mut back) = (Vec::new(), Vec::new());
    opener.start(&mut forth);
    edit(Step::InitSyn, &mut forth);
    let mut at_acceptor = None;
    loop {
        let step = acceptor.step();
        match acceptor.handle_batch(&forth, &mut back) {
            Ok(AcceptStep::Continue) => edit(Step::InitAck, &mut back),
            Ok(AcceptStep::Admit(established)) => {
                at_acceptor = Some(established);
                acceptor.admit(&mut back);
                edit(Step::OpenAck, &mut back);
            }
            Err(error) => return Err((step, error, back)),
        }
        let step = opener.step();
        match opener.handle_batch(&back, &mut forth) {
            Ok(OpenStep::Continue) => edit(Step::OpenSyn, &mut forth),
            Ok(OpenStep::Done(established)) => {
                return Ok((established, at_acceptor.expect("admitted before OpenAck")));
            }
            Err(error) => return Err((step, error, forth)),
        }
    }
}

/// Replaces one message of the handshake by `message`.
fn instead(at: Step, message: impl Encode) -> impl FnMut(Step, &mut Vec<u8>) {
    move |step, batch| {
        if step == at {
            *batch = message.to_vec().expect("it has a wire form");
        }
    }
}

#[test]
fn both_sides_agree_on_the_same() {
    let (open, accept) = run(client(), router(), |_, _| {}).expect("a plain handshake");
    assert_eq!(open.zid, router().zid);
    assert_eq!(open.whatami, WhatAmI::Router);
    assert_eq!(accept.zid, client().zid);
    assert_eq!(accept.whatami, WhatAmI::Client);
    assert_eq!(
        (open.initial_sn_tx, open.initial_sn_rx),
        (102_104_470, 245_048_022)
    );
    assert_eq!(
        (accept.initial_sn_tx, accept.initial_sn_rx),
        (245_048_022, 102_104_470)
    );
    assert_eq!((open.batch_size, accept.batch_size), (65535, 65535));
    assert!(open.qos && accept.qos);
    assert_eq!((open.patch, accept.patch), (1, 1));
    assert_eq!(open.remote_lease, Duration::from_secs(10));
}

#[test]
fn the_narrower_of_each_parameter_wins() {
    let sizes = [40, 1000, 65535];
    let resolutions = [0x00, 0x01, 0x06, 0x0a, 0x0f];
    for (size_a, size_b) in sizes
        .iter()
        .flat_map(|a| sizes.iter().map(move |b| (*a, *b)))
    {
        for (bits_a, bits_b) in resolutions
            .iter()
            .flat_map(|a| resolutions.map(|b| (*a, b)))
        {
            for flags in 0..16_u8 {
                let [qos_a, qos_b, patch_a, patch_b] = [1, 2, 4, 8].map(|bit| flags & bit != 0);
                let with = |mut own: LocalParameters, size, bits, qos, patch: bool| {
                    own.batch_size = size;
                    own.batch_size_min = BATCH_SIZE_MIN;
                    own.resolution = Resolution::from_bits(bits);
                    (own.qos, own.patch) = (qos, patch.into());
                    own
                };
                let a = with(client(), size_a, bits_a, qos_a, patch_a);
                let b = with(router(), size_b, bits_b, qos_b, patch_b);
                let (open, accept) = run(a, b, |_, _| {}).expect("compatible sides");
                for side in [&open, &accept] {
                    assert_eq!(side.batch_size, size_a.min(size_b));
                    let mask = Resolution::from_bits(bits_a & 3).frame_sn_mask();
                    let other = Resolution::from_bits(bits_b & 3).frame_sn_mask();
                    assert_eq!(side.sn_mask, mask.min(other));
                    assert_eq!(side.qos, qos_a && qos_b);
                    assert_eq!(side.patch, u8::from(patch_a && patch_b));
                    assert!(side.initial_sn_tx <= side.sn_mask);
                }
            }
        }
    }
}

/// The client's two messages as captured from the reference; this node does not agree to shared
/// memory.
#[test]
fn the_references_client_is_answered() {
    let mut acceptor = acceptor(router());
    let mut out = Vec::new();
    let syn = bytes("c1 09 02 d7 0a c8ff 81 c2 05 f591b3d701 27 01");
    assert_eq!(
        acceptor.handle_batch(&syn, &mut out),
        Ok(AcceptStep::Continue)
    );
    let (head, tail) = (bytes("e1 09 00 a1 0a c8ff"), bytes("81 27 01"));
    assert!(out.starts_with(&head) && out.ends_with(&tail), "{out:02x?}");
    let cookie = out[head.len()..out.len() - tail.len()].to_vec();
    let open = [bytes("c2 0a 96fbd730"), cookie, bytes("42 05 0102030405")].concat();
    let Ok(AcceptStep::Admit(established)) = acceptor.handle_batch(&open, &mut out) else {
        panic!("not admitted: {out:02x?}");
    };
    assert!(out.is_empty(), "nothing is said before the decision");
    assert_eq!(established.batch_size, 65480);
    assert_eq!(established.initial_sn_rx, 102_104_470);
    acceptor.admit(&mut out);
    assert_eq!(out, bytes("62 0a d6c5ec74"));
    acceptor.admit(&mut out);
    assert!(out.is_empty(), "a peer is admitted once");
}

/// The router's messages as captured from the reference, and the minimal ones of a router.
#[test]
fn the_references_router_is_understood() {
    let mut opener = Opener::new(client(), Some(router().zid));
    let mut out = Vec::new();
    opener.start(&mut out);
    assert_eq!(out, bytes("81 09 02 d7 81 27 01"));
    let ack = bytes("e1 09 00 a1 0a 00c0 03 aabbcc 81 c2 02 0102 27 01");
    assert_eq!(opener.handle_batch(&ack, &mut out), Ok(OpenStep::Continue));
    assert_eq!(out, bytes("42 0a 96fbd730 03 aabbcc"));
    let open = bytes("e2 0a d6c5ec74 42 01 00");
    let Ok(OpenStep::Done(established)) = opener.handle_batch(&open, &mut out) else {
        panic!("not open");
    };
    assert_eq!(established.batch_size, 49152);
    assert!(established.qos);

    let mut opener = Opener::new(client(), None);
    assert_eq!(
        opener.handle_batch(&bytes("21 09 00 a1 01 55"), &mut out),
        Ok(OpenStep::Continue)
    );
    let Ok(OpenStep::Done(plain)) = opener.handle_batch(&bytes("62 0a e587f235"), &mut out) else {
        panic!("not open");
    };
    assert_eq!(
        (plain.qos, plain.patch, plain.batch_size),
        (false, 0, 65535)
    );
}

fn syn() -> InitSyn<'static> {
    InitSyn::new(WhatAmI::Client, client().zid)
}

fn ack() -> InitAck<'static> {
    InitAck {
        version: 9,
        whatami: WhatAmI::Router,
        zid: router().zid,
        resolution: Resolution::default(),
        batch_size: 65535,
        cookie: &[1],
        ext: InitExt::default(),
    }
}

/// Replaces the step's batch by `message`; returns the error, and the batch in answer.
fn refused(at: Step, message: Vec<u8>) -> (HandshakeError, Vec<u8>) {
    let (step, error, out) = run(client(), router(), |step, batch| {
        if step == at {
            batch.clone_from(&message);
        }
    })
    .expect_err("to be refused");
    assert_eq!(step, at);
    (error, out)
}

#[test]
fn the_acceptor_refuses_what_it_cannot_agree_to() {
    let (error, out) = refused(
        Step::InitSyn,
        InitSyn {
            version: 8,
            ..syn()
        }
        .to_vec()
        .expect("it has a wire form"),
    );
    assert_eq!(
        (error, &out[..]),
        (HandshakeError::Version { theirs: 8 }, INVALID)
    );
    let (error, out) = refused(
        Step::InitSyn,
        InitSyn {
            batch_size: 31,
            ..syn()
        }
        .to_vec()
        .expect("it has a wire form"),
    );
    assert!(
        matches!(
            error,
            HandshakeError::BatchSize {
                value: 31,
                min: 1024,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(out, INVALID);
    let both = InitExt {
        qos: true,
        qos_link: Some(QosLink::new(None, None)),
        ..InitExt::default()
    };
    let (error, out) = refused(
        Step::InitSyn,
        InitSyn { ext: both, ..syn() }
            .to_vec()
            .expect("it has a wire form"),
    );
    assert!(matches!(error, HandshakeError::Feature { .. }), "{error}");
    assert_eq!(out, GENERIC);
}

/// The sender of a message has a cost for each batch, for which its other receivers wait.
#[test]
fn both_sides_refuse_batches_below_their_own_minimum() {
    let sized = |own: LocalParameters, batch_size, batch_size_min| LocalParameters {
        batch_size,
        batch_size_min,
        ..own
    };
    let (step, error, out) =
        run(sized(client(), 1023, 32), router(), |_, _| {}).expect_err("too small");
    assert_eq!((step, &out[..]), (Step::InitSyn, INVALID));
    assert!(
        error.to_string().contains("limits/batch_bytes_min"),
        "{error}"
    );
    let (step, error, _) =
        run(client(), sized(router(), 1023, 32), |_, _| {}).expect_err("too small");
    assert_eq!(step, Step::InitAck);
    assert!(
        error.to_string().contains("limits/batch_bytes_min"),
        "{error}"
    );
    for (opener, acceptor) in [(1024, 1024), (1024, 65_535), (65_535, 1024)] {
        let (open, _) = run(
            sized(client(), opener, 1024),
            sized(router(), acceptor, 1024),
            |_, _| {},
        )
        .expect("the minimum will do");
        assert_eq!(open.batch_size, 1024);
    }
    let small = run(
        sized(client(), 512, 1024),
        sized(router(), 512, 1024),
        |_, _| {},
    );
    assert!(small.is_ok(), "a node accepts what it offers itself");
}

#[test]
fn the_acceptor_refuses_what_is_not_its_turn() {
    let (error, out) = refused(Step::InitSyn, vec![0x1f]);
    assert!(
        matches!(error, HandshakeError::Undecodable { .. }),
        "{error}"
    );
    assert_eq!(out, INVALID);
    let (error, out) = refused(Step::InitSyn, vec![0x04]);
    let unexpected = HandshakeError::Unexpected {
        step: Step::InitSyn,
        found: "KeepAlive",
    };
    assert_eq!((error, &out[..]), (unexpected, INVALID));
    let (error, _) = refused(
        Step::InitSyn,
        [syn().to_vec().expect("it has a wire form"), vec![0x04]].concat(),
    );
    assert_eq!(
        error,
        HandshakeError::Trailing {
            step: Step::InitSyn,
            count: 1
        }
    );
    let (error, out) = refused(Step::InitSyn, vec![0x03, 0x05]);
    assert_eq!(
        (error, out),
        (HandshakeError::Refused { reason: 5 }, Vec::new())
    );
    let (error, out) = refused(Step::OpenSyn, bytes("42 0a 00 02 1234"));
    assert_eq!((error, &out[..]), (HandshakeError::Cookie, INVALID));
}

#[test]
fn the_acceptor_checks_what_open_says() {
    let edit = |lease: Duration, initial_sn: u32| {
        move |step: Step, batch: &mut Vec<u8>| {
            if step == Step::OpenSyn {
                let sent = batch.clone();
                let Ok(TransportMessage::OpenSyn(open)) = decode(&sent, step) else {
                    panic!()
                };
                *batch = OpenSyn {
                    lease,
                    initial_sn,
                    ..open
                }
                .to_vec()
                .expect("it has a wire form");
            }
        }
    };
    let second = Duration::from_secs(1);
    let (_, error, out) = run(client(), router(), edit(second, 1 << 28)).expect_err("too wide");
    assert!(
        matches!(
            error,
            HandshakeError::Parameter {
                max: 0x0fff_ffff,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(out, INVALID);
    let (_, error, _) = run(client(), router(), edit(Duration::ZERO, 0)).expect_err("no lease");
    assert!(
        matches!(
            error,
            HandshakeError::Parameter {
                value: 0,
                min: 1,
                ..
            }
        ),
        "{error}"
    );
    let (_, accept) = run(client(), router(), edit(LEASE_MAX * 2, 0)).expect("a long lease is cut");
    assert_eq!(accept.remote_lease, router().remote_lease_max);
    let patient = LocalParameters {
        remote_lease_max: LEASE_MAX * 2,
        ..router()
    };
    let (_, accept) = run(client(), patient, edit(LEASE_MAX * 2, 0)).expect("a long lease is cut");
    assert_eq!(accept.remote_lease, LEASE_MAX);
}

/// The smaller size counts, whatever the acceptor answers, as in the reference.
#[test]
fn the_opener_takes_no_larger_batches_than_it_offered() {
    let narrow = LocalParameters {
        batch_size: 8192,
        ..client()
    };
    let wider = |step, batch: &mut Vec<u8>| {
        if step == Step::InitAck {
            let said = batch.clone();
            let Ok(TransportMessage::InitAck(ack)) = decode(&said, step) else {
                panic!("an InitAck: {said:02x?}");
            };
            let batch_size = u16::MAX;
            let ack = InitAck { batch_size, ..ack };
            *batch = ack.to_vec().expect("it has a wire form");
        }
    };
    let (open, _) = run(narrow, router(), wider).expect("a handshake");
    assert_eq!(open.batch_size, 8192);
}

#[test]
fn the_opener_refuses() {
    let features = |edit: fn(&mut InitExt<'static>)| {
        let mut ext = InitExt::default();
        edit(&mut ext);
        InitAck { ext, ..ack() }
    };
    let wide = InitAck {
        resolution: Resolution::from_bits(0x0b),
        ..ack()
    };
    let cases: [(InitAck<'_>, &[u8]); 9] = [
        (
            InitAck {
                version: 10,
                ..ack()
            },
            INVALID,
        ),
        (wide, INVALID),
        (
            InitAck {
                batch_size: 7,
                ..ack()
            },
            INVALID,
        ),
        (features(|ext| ext.patch = 2), INVALID),
        (features(|ext| ext.low_latency = true), GENERIC),
        (features(|ext| ext.compression = true), GENERIC),
        (features(|ext| ext.qos = true), GENERIC),
        (
            features(|ext| ext.qos_link = Some(QosLink::new(None, None))),
            GENERIC,
        ),
        (
            InitAck {
                zid: client().zid,
                ..ack()
            },
            &[0x03, 0x07],
        ),
    ];
    for (message, close) in cases {
        let plain = LocalParameters {
            qos: false,
            ..client()
        };
        let (step, error, out) =
            run(plain, router(), instead(Step::InitAck, message)).expect_err("to be refused");
        assert_eq!(step, Step::InitAck);
        assert_eq!(out, close, "{error}");
    }
}

#[test]
fn the_opener_refuses_at_the_last_step() {
    let late = OpenAck {
        lease: Duration::from_secs(1),
        initial_sn: u32::MAX,
        ext: Default::default(),
    };
    let (step, error, _) = run(client(), router(), instead(Step::OpenAck, late)).expect_err("wide");
    assert_eq!(step, Step::OpenAck);
    assert!(matches!(error, HandshakeError::Parameter { .. }), "{error}");
    let (_, error, out) = run(client(), router(), |step, batch| {
        if step == Step::OpenAck {
            *batch = vec![0x03, 0x04];
        }
    })
    .expect_err("closed");
    let zid = router().zid;
    assert_eq!((error, out), (HandshakeError::Linked { zid }, Vec::new()));
}

#[test]
fn the_wrong_node_is_told_apart() {
    let expected = "bb".parse().expect("a valid id");
    let mut opener = Opener::new(client(), Some(expected));
    let mut out = Vec::new();
    let error = opener
        .handle_batch(&ack().to_vec().expect("it has a wire form"), &mut out)
        .expect_err("another node");
    assert_eq!(
        error,
        HandshakeError::WrongId {
            expected,
            found: router().zid
        }
    );
    assert_eq!(out, INVALID);
    let again = opener
        .handle_batch(&ack().to_vec().expect("it has a wire form"), &mut out)
        .expect_err("it is over");
    assert!(
        matches!(
            again,
            HandshakeError::Unexpected {
                step: Step::Finished,
                ..
            }
        ),
        "{again}"
    );
}

/// The acceptor detects it when the cookie returns, as in the reference.
#[test]
fn a_node_does_not_connect_to_itself() {
    let mut acceptor = acceptor(client());
    let mut out = Vec::new();
    assert_eq!(
        acceptor.handle_batch(&syn().to_vec().expect("it has a wire form"), &mut out),
        Ok(AcceptStep::Continue)
    );
    let Ok(TransportMessage::InitAck(answer)) = decode(&out, Step::InitAck) else {
        panic!()
    };
    let open = OpenSyn {
        lease: Duration::from_secs(1),
        initial_sn: 0,
        cookie: answer.cookie,
        ext: Default::default(),
    }
    .to_vec()
    .expect("it has a wire form");
    assert_eq!(
        acceptor.handle_batch(&open, &mut out),
        Err(HandshakeError::OwnId)
    );
    assert_eq!(out, [0x03, 0x07]);
    let (step, error, _) = run(client(), client(), |_, _| {}).expect_err("the opener is first");
    assert_eq!((step, error), (Step::InitAck, HandshakeError::OwnId));
}

#[test]
fn unsupported_offers_are_not_echoed() {
    let all = InitExt {
        qos: true,
        shm: Some(&[1]),
        auth: Some(&[2]),
        multilink: Some(&[0]),
        low_latency: true,
        compression: true,
        patch: 7,
        region_name: Some("north"),
        ..InitExt::default()
    };
    let mut out = Vec::new();
    let message = InitSyn { ext: all, ..syn() }
        .to_vec()
        .expect("it has a wire form");
    assert_eq!(
        acceptor(router()).handle_batch(&message, &mut out),
        Ok(AcceptStep::Continue)
    );
    let Ok(TransportMessage::InitAck(answer)) = decode(&out, Step::InitAck) else {
        panic!()
    };
    assert_eq!(
        answer.ext,
        InitExt {
            qos: true,
            patch: 1,
            ..InitExt::default()
        }
    );
    let range = Some(QosLink::from_bits(0x2802 | 1 << 3));
    let message = InitSyn {
        ext: InitExt {
            qos_link: range,
            ..InitExt::default()
        },
        ..syn()
    };
    assert_eq!(
        acceptor(router()).handle_batch(&message.to_vec().expect("it has a wire form"), &mut out),
        Ok(AcceptStep::Continue)
    );
    let Ok(TransportMessage::InitAck(answer)) = decode(&out, Step::InitAck) else {
        panic!()
    };
    assert_eq!(
        (answer.ext.qos, answer.ext.qos_link),
        (false, range),
        "taken over"
    );
}

/// The opener names the priorities and the reliability of a link, and the acceptor adopts them.
#[test]
fn both_ends_know_what_a_link_is_for() {
    let range = Some((Priority::RealTime, Priority::InteractiveLow));
    for (terms, priorities, reliability) in [
        (QosLink::new(range, None), Some((1, 3)), None),
        (
            QosLink::new(range, Some(Reliability::BestEffort)),
            Some((1, 3)),
            Some(Reliability::BestEffort),
        ),
        (
            QosLink::new(None, Some(Reliability::Reliable)),
            None,
            Some(Reliability::Reliable),
        ),
    ] {
        let opener = LocalParameters {
            qos_link: Some(terms),
            ..client()
        };
        let (one, other) = run(opener, router(), |_, _| {}).expect("they agree");
        for end in [one, other] {
            assert!(end.qos);
            assert_eq!(end.options.priorities(), priorities);
            assert_eq!(end.options.reliability(), reliability);
        }
        let without = LocalParameters {
            qos: false,
            qos_link: Some(terms),
            ..client()
        };
        let (one, other) = run(without, router(), |_, _| {}).expect("they agree");
        for end in [one, other] {
            assert_eq!((end.qos, end.options.qos_link), (false, None));
        }
    }
    let backwards = QosLink::from_bits(0b010 | 5 << 3 | 1 << 11);
    let message = InitAck {
        ext: InitExt {
            qos_link: Some(backwards),
            ..InitExt::default()
        },
        ..ack()
    };
    let refused = run(client(), router(), instead(Step::InitAck, message));
    let (step, error, _) = refused.expect_err("no range");
    assert_eq!(step, Step::InitAck);
    assert!(
        error.to_string().contains("an invalid QoS range"),
        "{error}"
    );
}

/// Each side tells the name of its region, if it has one.
#[test]
fn a_region_is_named_in_both_directions() {
    let of = |node: LocalParameters, name: &str| LocalParameters {
        options: Arc::new(LocalOptions {
            region_name: Some(name.into()),
            ..LocalOptions::default()
        }),
        ..node
    };
    let mut named = Vec::new();
    let look = |step, bytes: &mut Vec<u8>| {
        let ext = match decode(bytes, step) {
            Ok(TransportMessage::InitSyn(syn)) => syn.ext,
            Ok(TransportMessage::InitAck(ack)) => ack.ext,
            _ => return,
        };
        named.push(ext.region_name.map(str::to_owned));
    };
    run(of(client(), "field"), of(router(), "plant"), look).expect("they agree");
    assert_eq!(named, [Some("field".to_owned()), Some("plant".to_owned())]);
}

#[test]
fn a_refused_peer_is_told_why() {
    for reason in [2, 4] {
        let mut acceptor = acceptor(router());
        let mut out = Vec::new();
        acceptor.refuse(reason, &mut out);
        assert_eq!(out, [0x03, reason]);
        acceptor.admit(&mut out);
        assert!(out.is_empty());
    }
}

#[test]
fn a_cookie_is_good_for_two_epochs() {
    for (later, good) in [(0, true), (1, true), (2, false)] {
        let (mut opener, mut acceptor) = (Opener::new(client(), None), acceptor(router()));
        let (mut forth, mut back) = (Vec::new(), Vec::new());
        acceptor.set_epoch(100);
        opener.start(&mut forth);
        assert_eq!(
            acceptor.handle_batch(&forth, &mut back),
            Ok(AcceptStep::Continue)
        );
        assert_eq!(
            opener.handle_batch(&back, &mut forth),
            Ok(OpenStep::Continue)
        );
        acceptor.set_epoch(100 + later);
        assert_eq!(acceptor.handle_batch(&forth, &mut back).is_ok(), good);
    }
}

/// All listeners of a node use the same key for their cookies.
#[test]
fn a_cookie_of_a_listener_that_offers_more_is_refused() {
    let narrow = LocalParameters {
        batch_size: 8192,
        ..router()
    };
    let bare = LocalParameters {
        qos: false,
        ..router()
    };
    for local in [narrow, bare] {
        let mut opener = Opener::new(client(), None);
        let (mut forth, mut back) = (Vec::new(), Vec::new());
        opener.start(&mut forth);
        let mut other = acceptor(local);
        for listener in [&mut other, &mut acceptor(router())] {
            let step = listener.handle_batch(&forth, &mut back);
            assert_eq!(step, Ok(AcceptStep::Continue));
        }
        let step = opener.handle_batch(&back, &mut forth);
        assert_eq!(step, Ok(OpenStep::Continue));
        let step = other.handle_batch(&forth, &mut back);
        assert_eq!(step, Err(HandshakeError::Cookie));
    }
}

#[test]
fn no_change_of_any_bit_or_length_does_harm() {
    for target in [Step::InitSyn, Step::InitAck, Step::OpenSyn, Step::OpenAck] {
        for change in 0..2000_usize {
            let outcome = run(client(), router(), |step, batch| {
                if step == target && change < 1000 {
                    batch.truncate(change);
                } else if step == target && (change - 1000) / 8 < batch.len() {
                    batch[(change - 1000) / 8] ^= 1 << (change % 8);
                }
                // A message cut to nothing is an empty batch, which both sides skip.
                if batch.is_empty() {
                    *batch = vec![0x03, 0x00];
                }
            });
            if let Err((_, error, out)) = outcome {
                let close = out.is_empty() || (out.len() == 2 && out[0] == 0x03);
                assert!(close, "{error}: {out:02x?}");
                assert!(!error.to_string().contains('\n'), "one line");
            }
        }
    }
}

#[test]
fn empty_batches_change_nothing() {
    let (mut out, mut acceptor) = (vec![9], acceptor(router()));
    assert_eq!(
        acceptor.handle_batch(&[], &mut out),
        Ok(AcceptStep::Continue)
    );
    assert!(out.is_empty());
    assert_eq!(acceptor.step(), Step::InitSyn);
    assert_eq!(
        Opener::new(client(), None).handle_batch(&[], &mut out),
        Ok(OpenStep::Continue)
    );
}

/// Compression and bare messages: on where both want them, and bare messages only where neither wants priorities.
#[test]
fn options_are_on_where_both_want_them() {
    for flags in 0..64_u8 {
        let bit = |index: u8| flags & 1 << index != 0;
        let with = |mut own: LocalParameters, first| {
            let options = Arc::make_mut(&mut own.options);
            options.compression = bit(first);
            options.low_latency = bit(first + 1);
            own.qos = bit(first + 2);
            own
        };
        let (a, b) = (with(client(), 0), with(router(), 3));
        let bare = |own: &LocalParameters| own.options.low_latency && !own.qos;
        let (compression, low_latency) = (bit(0) && bit(3), bare(&a) && bare(&b));
        let (open, accept) = run(a, b, |_, _| {}).expect("compatible sides");
        for side in [open, accept] {
            assert_eq!(side.options.compression, compression, "{flags:06b}");
            assert_eq!(side.options.low_latency, low_latency, "{flags:06b}");
        }
    }
}
