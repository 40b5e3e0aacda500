// SPDX-License-Identifier: MIT OR Apache-2.0

//! Messages of a router, as real ones sent them, and their effect on another one.

use zonda_codec::{Encode, LinkStates, NetworkMessage, Numbers, Oam, OamBody, Reader};

use zonda_codec::{LinkState, LinkStateList};

use super::{hearing::Leads, *};

fn id(byte: u8) -> ZenohId {
    ZenohId::from_le_bytes(&[byte]).expect("an id")
}

const A1: u8 = 0xa1;
const B2: u8 = 0xb2;
const C3: u8 = 0xc3;

fn face(index: u32) -> FaceId {
    FaceId {
        index,
        generation: 0,
    }
}

/// The bytes of a capture, in which `L` stands for one locator.
fn bytes(capture: &str) -> Vec<u8> {
    let locator = "tcp/127.0.0.1:18601".as_bytes();
    let mut bytes = Vec::new();
    for word in capture.split_whitespace() {
        match word {
            "|" => {}
            "L" => {
                bytes.extend([1, 19]);
                bytes.extend(locator);
            }
            hex => {
                let digits = (0..hex.len()).step_by(2);
                let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex");
                bytes.extend(digits.map(byte));
            }
        }
    }
    bytes
}

fn a1() -> Network {
    Network::new(id(A1), WhatAmI::Router)
}

/// Gives the network a message; returns its result, and the messages that it sends.
fn hear(network: &mut Network, from: FaceId, capture: &str) -> (Heard, Vec<(FaceId, Vec<u8>)>) {
    hear_led(network, from, capture, |_| None)
}

/// Gives the network a message with trees that lead to a neighbour.
fn hear_led(
    network: &mut Network,
    from: FaceId,
    capture: &str,
    leads: impl Leads,
) -> (Heard, Vec<(FaceId, Vec<u8>)>) {
    rest(network);
    let (bytes, mut actions) = (bytes(capture), Vec::new());
    let states = LinkStateList::decode(&mut Reader::new(&bytes)).expect("link states");
    let heard = network.hear(from, &states, leads, &mut actions);
    (heard, sent(&actions))
}

/// Ends all pauses.
fn rest(network: &mut Network) {
    for link in &mut network.links {
        link.pace = Pace::Over;
    }
}

/// Returns the bodies of the messages.
fn sent(actions: &[Action]) -> Vec<(FaceId, Vec<u8>)> {
    let body = |action: &Action| {
        let Action::Send { face, bytes } = action else {
            panic!("{action:?} is no message");
        };
        let message = NetworkMessage::decode(&mut Reader::new(bytes)).expect("a message");
        let NetworkMessage::Oam(Oam {
            body: OamBody::Buf(body),
            ..
        }) = message
        else {
            panic!("{message:?} has no link states");
        };
        (*face, body.to_vec())
    };
    actions.iter().map(body).collect()
}

fn add_link(network: &mut Network, at: FaceId, zid: u8) -> Vec<(FaceId, Vec<u8>)> {
    rest(network);
    let mut actions = Vec::new();
    assert!(network.add_link(at, id(zid), &mut actions));
    sent(&actions)
}

/// Returns the pairs of routers that are linked.
fn links(network: &Network) -> Vec<[ZenohId; 2]> {
    let edges = network.edges();
    let named = |number| network.zid(number).expect("it has a number");
    let mut links: Vec<_> = edges.iter().map(|edge| edge.ends.map(named)).collect();
    links.sort_unstable();
    links
}

const HELLO_OF_B2: &str = "02 | 07 00 02 01b2 01 L 01 01 | 03 01 00 01a1 01 00";

#[test]
fn a_neighbour_and_one_behind_it_come_and_go() {
    let (mut network, b2) = (a1(), face(1));
    let sent = add_link(&mut network, b2, B2);
    let hello = bytes("02 | 8320 00 02 01a1 01 01 01 | 03 01 00 01b2 01 00");
    assert_eq!(sent, [(b2, hello)]);
    assert!(links(&network).is_empty(), "b2 has not said so yet");
    assert!(hear(&mut network, b2, HELLO_OF_B2).0.is_news);
    assert_eq!(links(&network), [[id(A1), id(B2)]]);
    let placeholder = "02 | 03 02 00 01c3 01 00 | 06 00 03 01 L 02 01 02";
    let (heard, answer) = hear(&mut network, b2, placeholder);
    assert!(heard.is_news);
    assert_eq!(answer, [(b2, bytes("01 | 01 02 00 01c3 00"))]);
    assert_eq!(links(&network), [[id(A1), id(B2)]]);
    hear(&mut network, b2, "01 | 07 02 02 01c3 01 L 01 00");
    let both = [[id(A1), id(B2)], [id(B2), id(C3)]];
    assert_eq!(links(&network), both);
    assert_eq!(network.node_of(b2, 2), Some(id(C3)));
    // Old states change nothing.
    let (heard, answer) = hear(&mut network, b2, "01 | 06 00 02 01 L 01 01");
    assert!(!heard.is_news && answer.is_empty());
    hear(&mut network, b2, "01 | 06 00 04 01 L 01 01");
    assert_eq!(links(&network), [[id(A1), id(B2)]]);
    assert_eq!(network.number(&id(C3)), None);
    let mut actions = Vec::new();
    assert!(network.remove_link(b2, &mut actions));
    assert!(actions.is_empty() && network.others().next().is_none());
}

#[test]
fn others_hear_what_a_neighbour_says() {
    let (mut network, b2, c3) = (a1(), face(1), face(2));
    add_link(&mut network, b2, B2);
    hear(&mut network, b2, HELLO_OF_B2);
    let sent = add_link(&mut network, c3, C3);
    let graph = "03 | 8320 00 03 01a1 01 02 01 02 | 03 01 02 01b2 01 01 00 | 03 02 00 01c3 01 00";
    let news = "02 | 8220 00 03 01 02 01 02 | 03 02 00 01c3 01 00";
    assert_eq!(sent, [(c3, bytes(graph)), (b2, bytes(news))]);
    let hello = "02 | 07 00 02 01c3 01 L 01 01 | 03 01 00 01a1 01 00";
    let (_, sent) = hear(&mut network, c3, hello);
    assert_eq!(sent, [(b2, bytes("01 | 02 02 02 01 01 00"))]);
    // A number that was free is reused for another router, and introduced again.
    let mut actions = Vec::new();
    network.remove_link(c3, &mut actions);
    let d4 = face(3);
    let sent = add_link(&mut network, d4, 0xd4);
    let (_, told) = sent
        .iter()
        .find(|(to, _)| *to == b2)
        .expect("b2 hears of it");
    assert_eq!(
        *told,
        bytes("02 | 8220 00 05 01 02 01 02 | 03 02 00 01d4 01 00")
    );
}

#[test]
fn weights_are_told_and_heard() {
    let (mut network, b2) = (a1(), face(1));
    network.set_weights(HashMap::from([(id(B2), 7)]));
    let sent = add_link(&mut network, b2, B2);
    let hello = bytes("02 | 8b20 00 02 01a1 01 01 01 07 | 03 01 00 01b2 01 00");
    assert_eq!(sent, [(b2, hello)]);
    let hello = "02 | 0f 00 02 01b2 01 L 01 01 09 | 03 01 00 01a1 01 00";
    hear(&mut network, b2, hello);
    let edges = network.edges();
    assert_eq!(edges.len(), 1);
    assert_eq!(edges[0].weight, 9.046_973_004_526_686);
}

#[test]
fn what_a_neighbour_says_of_itself_counts_after_a_restart() {
    let (mut network, b2, c3) = (a1(), face(1), face(2));
    add_link(&mut network, b2, B2);
    hear(&mut network, b2, HELLO_OF_B2);
    add_link(&mut network, c3, C3);
    hear(
        &mut network,
        c3,
        "02 | 07 00 02 01c3 01 L 01 01 | 03 01 00 01a1 01 00",
    );
    let again = face(3);
    add_link(&mut network, again, B2);
    let mut actions = Vec::new();
    assert!(
        !network.remove_link(b2, &mut actions),
        "a newer link stands"
    );
    assert!(links(&network).contains(&[id(A1), id(B2)]));
    // c3 sends a state of the former b2, with a higher count.
    hear(&mut network, c3, "01 | 03 02 7f 01b2 01 00");
    assert_eq!(links(&network), [[id(A1), id(C3)]]);
    let hello = "02 | 07 00 01 01b2 01 L 01 01 | 03 01 00 01a1 01 00";
    hear(&mut network, again, hello);
    assert_eq!(links(&network).len(), 2, "its count begins anew");
}

#[test]
fn a_number_may_stand_for_somebody_else() {
    let (mut network, b2) = (a1(), face(1));
    add_link(&mut network, b2, B2);
    hear(&mut network, b2, HELLO_OF_B2);
    hear(
        &mut network,
        b2,
        "02 | 03 02 00 01c3 01 00 | 06 00 03 01 L 02 01 02",
    );
    let (heard, _) = hear(
        &mut network,
        b2,
        "02 | 06 00 04 01 L 02 01 02 | 03 02 01 01d4 01 00",
    );
    assert!(heard.is_renumbered);
    assert_eq!(network.node_of(b2, 2), Some(id(0xd4)));
    assert_eq!(network.number(&id(C3)), None);
}

/// Returns the body of a message with these states.
fn list(states: &[LinkState<'_>]) -> Vec<u8> {
    LinkStates(states).to_vec().expect("it fits")
}

#[test]
fn what_is_too_much_is_ignored() {
    let (mut network, b2) = (a1(), face(1));
    add_link(&mut network, b2, B2);
    let numbers: Vec<u64> = (1..5000).collect();
    let mut states: Vec<LinkState<'_>> = (1..5000_u64)
        .map(|number| LinkState {
            psid: number,
            sn: u64::MAX,
            zid: Some(ZenohId::random_from(u128::from(number) + 1000)),
            ..LinkState::default()
        })
        .collect();
    states.push(LinkState {
        psid: 0,
        sn: u64::MAX,
        zid: Some(id(B2)),
        links: Numbers::new(&numbers),
        ..LinkState::default()
    });
    states.push(LinkState {
        psid: u64::MAX,
        sn: 1,
        zid: Some(id(C3)),
        ..LinkState::default()
    });
    let (bytes, mut actions) = (list(&states), Vec::new());
    let states = LinkStateList::decode(&mut Reader::new(&bytes)).expect("link states");
    network.hear(b2, &states, |_: &ZenohId| None, &mut actions);
    assert!(network.size() <= ROUTERS_MAX);
    assert!(network.over_limit() > 0);
    assert_eq!(network.number(&id(C3)), None);
    // A router that was not introduced, and a state of this node itself.
    let (heard, _) = hear(
        &mut network,
        b2,
        "02 | 02 fe7f 05 01 00 | 03 05 7f 01a1 01 00",
    );
    assert!(!heard.is_news);
    assert_eq!(network.zid(ITSELF), Some(id(A1)));
}

/// Returns a1 linked to b2, behind which c3 is, and to d4.
fn between_b2_and_d4() -> (Network, FaceId, FaceId) {
    let (mut network, b2, d4) = (a1(), face(1), face(2));
    add_link(&mut network, b2, B2);
    let line = "03 | 07 00 02 01b2 01 L 02 01 02 | 03 01 00 01a1 01 00 | 03 02 05 01c3 01 01 00";
    hear(&mut network, b2, line);
    add_link(&mut network, d4, 0xd4);
    hear(
        &mut network,
        d4,
        "02 | 07 00 02 01d4 01 L 01 01 | 03 01 00 01a1 01 00",
    );
    (network, b2, d4)
}

/// Message of d4 about c3: its count, and that it has no links.
const DENIED: &str = "01 | 03 07 ff01 01c3 01 00";

#[test]
fn a_claim_is_told_to_the_neighbour_that_leads_there_and_not_believed() {
    let (mut network, b2, d4) = between_b2_and_d4();
    let before = links(&network);
    assert!(before.contains(&[id(B2), id(C3)]));
    let leads = |zid: &ZenohId| (*zid == id(C3)).then_some(id(B2));
    let (heard, told) = hear_led(&mut network, d4, DENIED, leads);
    assert!(!heard.is_news && network.is_in_doubt());
    assert_eq!(told, [(b2, bytes("01 | 02 02 ff01 01 00"))]);
    assert_eq!(links(&network), before);
    // c3 has refuted it.
    let refuted = "01 | 02 02 8002 01 01 00";
    let (heard, _) = hear_led(&mut network, b2, refuted, leads);
    assert!(heard.is_news && !network.is_in_doubt());
    assert_eq!(links(&network), before);
}

#[test]
fn a_claim_that_is_not_refuted_is_believed() {
    let (mut network, _, d4) = between_b2_and_d4();
    let leads = |zid: &ZenohId| (*zid == id(C3)).then_some(id(B2));
    hear_led(&mut network, d4, DENIED, leads);
    let (start, mut actions) = (Instant::now(), Vec::new());
    network.look(start, &mut actions);
    network.look(start + std::time::Duration::from_millis(1999), &mut actions);
    assert!(network.is_in_doubt());
    let heard = network.look(start + std::time::Duration::from_secs(2), &mut actions);
    assert!(heard.is_news && !network.is_in_doubt());
    assert!(!links(&network).contains(&[id(B2), id(C3)]));
}

#[test]
fn what_is_said_of_this_node_itself_is_refuted() {
    let (mut network, b2, d4) = between_b2_and_d4();
    let own = network.itself_mut().sn;
    let (_, told) = hear(&mut network, d4, "01 | 03 01 ff01 01a1 01 00");
    assert_eq!(network.itself_mut().sn, 256);
    let refuted: Vec<FaceId> = told.iter().map(|(to, _)| *to).collect();
    assert!(own < 256 && refuted == [b2, d4]);
    // The neighbour already has the id of that router.
    let (_, told) = hear(&mut network, d4, "01 | 03 01 ff01 01a1 01 00");
    assert!(told.is_empty());
}

#[test]
fn a_neighbour_that_counts_from_one_is_spoken_for() {
    let (mut network, b2, d4) = between_b2_and_d4();
    let before = links(&network);
    let (_, told) = hear(&mut network, d4, "01 | 03 05 ffff7f 01b2 01 00");
    assert_eq!(links(&network), before);
    let to: Vec<FaceId> = told.iter().map(|(to, _)| *to).collect();
    assert_eq!(to, [d4], "the one who said so hears what is true");
    let b2_number = network.number(&id(B2)).expect("it is known");
    assert_eq!(network.node(b2_number).expect("it is known").sn, 1 << 21);
    // The neighbour's own state counts, and is sent with a greater count.
    hear(&mut network, b2, "01 | 06 00 03 01 L 01 01");
    assert_eq!(
        network.node(b2_number).expect("it is known").sn,
        (1 << 21) + 1
    );
}

#[test]
fn counts_far_ahead_of_the_clock_are_not_believed() {
    let (mut network, _, d4) = between_b2_and_d4();
    network.set_clock(1 << 20);
    let over_limit = network.over_limit();
    let (heard, told) = hear(&mut network, d4, "01 | 03 07 ffffffffffffffffff 01c3 01 00");
    assert!(!heard.is_news && told.is_empty());
    assert_eq!(network.over_limit(), over_limit + 1);
    let before = network.itself_mut().sn;
    hear(&mut network, d4, "01 | 03 01 ffffffffffffffffff 01a1 01 00");
    assert_eq!(network.itself_mut().sn, before);
}

/// The clock of the router is at 20 s past 1970, that of the router behind its neighbour at a day
/// in 2026.
#[test]
fn a_router_whose_clock_is_not_set_knows_those_behind_its_neighbour() {
    let (mut network, b2) = (a1(), face(1));
    network.set_clock(20_000);
    add_link(&mut network, b2, B2);
    let begun = 1_795_000_000_000;
    let said = |psid, sn, zid, links| LinkState {
        psid,
        sn,
        zid: Some(id(zid)),
        whatami: Some(WhatAmI::Router),
        links,
        ..LinkState::default()
    };
    let states = [
        said(0, begun, B2, Numbers::new(&[1, 2])),
        said(1, 0, A1, Numbers::new(&[])),
        said(2, begun, C3, Numbers::new(&[0])),
    ];
    let bytes = list(&states);
    let states = LinkStateList::decode(&mut Reader::new(&bytes)).expect("link states");
    network.hear(b2, &states, |_: &ZenohId| None, &mut Vec::new());
    assert!(links(&network).contains(&[id(B2), id(C3)]));
}

/// Routers further away believe the claim a second later.
#[test]
fn a_claim_about_a_neighbour_that_counts_from_one_is_refuted_within_a_second() {
    let (mut network, _, d4) = between_b2_and_d4();
    let before = links(&network);
    hear(&mut network, d4, "01 | 03 05 04 01b2 01 00");
    let (start, mut actions) = (Instant::now(), Vec::new());
    network.look(start, &mut actions);
    network.look(start + std::time::Duration::from_millis(999), &mut actions);
    assert!(network.is_in_doubt());
    network.look(start + std::time::Duration::from_secs(1), &mut actions);
    assert!(!network.is_in_doubt());
    assert_eq!(links(&network), before);
    let b2 = network.number(&id(B2)).expect("it is known");
    assert_eq!(network.node(b2).expect("it is known").sn, 5);
}
