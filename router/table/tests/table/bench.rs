// SPDX-License-Identifier: MIT OR Apache-2.0

//! A table with simulated neighbours: they write bytes or a line of text, and what they get is
//! bytes, decoded to lines of text. A key in a line is `demo/a` in full, `1+/a` behind an id of the
//! sender of the line, or `1-/a` behind an id of its receiver.

use std::collections::HashMap;
use std::sync::Arc;

use zonda_codec::{
    Declaration, Declare, Encode, Interest, InterestMode, InterestOptions, KeyExpr, LinkStateList,
    Mapping, NetworkMessage, Oam, OamBody, Qos, QueryableInfo, Reader, WhatAmI, WireExpr, ZenohId,
};
use zonda_table::{
    Action, FaceId, FaceInfo, FaceKind, ForwardingTable, Limits, Notice, OwnRef, Route, Validity,
};

/// A table, its session's face, and the messages that its neighbours have not read yet.
pub struct Bench {
    pub table: ForwardingTable,
    pub local: FaceId,
    inboxes: HashMap<FaceId, Vec<Vec<u8>>>,
    notices: HashMap<u32, Vec<Notice>>,
}

impl Bench {
    pub fn new(role: WhatAmI) -> Self {
        Bench::with_limits(role, Limits::default())
    }

    /// Creates the table of a node with this id.
    pub fn named(number: u128, role: WhatAmI) -> Self {
        Bench::of(zid(number), role, Limits::default())
    }

    pub fn with_limits(role: WhatAmI, limits: Limits) -> Self {
        Bench::of(zid(0xa1), role, limits)
    }

    fn of(zid: ZenohId, role: WhatAmI, limits: Limits) -> Self {
        let mut table = ForwardingTable::with_limits(zid, role, limits);
        let info = FaceInfo {
            zid,
            whatami: role,
            kind: FaceKind::Local,
        };
        let local = table.add_face(info, &mut Vec::new());
        Bench {
            table,
            local,
            inboxes: HashMap::new(),
            notices: HashMap::new(),
        }
    }

    pub fn connect(&mut self, number: u128, whatami: WhatAmI) -> FaceId {
        let info = FaceInfo {
            zid: zid(number),
            whatami,
            kind: FaceKind::Remote,
        };
        self.act(|table, actions| table.add_face(info, actions))
    }

    /// Cuts a connection, and removes at once what the neighbour had declared.
    pub fn cut(&mut self, face: FaceId) {
        self.lose(face);
        self.act(|table, actions| while table.sweep(actions) {});
    }

    /// Cuts a connection.
    pub fn lose(&mut self, face: FaceId) {
        self.act(|table, actions| table.remove_face(face, actions));
        self.inboxes.remove(&face);
    }

    /// Returns a reference to an entity of the session.
    pub fn own(&self, id: u32) -> OwnRef {
        let face = self.local;
        OwnRef { face, id }
    }

    /// Runs `act` on the table, and delivers the resulting messages and notices.
    pub fn act<T>(&mut self, act: impl FnOnce(&mut ForwardingTable, &mut Vec<Action>) -> T) -> T {
        let mut actions = Vec::new();
        let result = act(&mut self.table, &mut actions);
        for action in actions {
            match action {
                Action::Send { face, bytes } => {
                    assert_ne!(face, self.local, "the session gets no messages");
                    self.inboxes.entry(face).or_default().push(bytes);
                }
                Action::Notify { listener, notice } => {
                    self.notices.entry(listener).or_default().push(notice);
                }
            }
        }
        result
    }

    /// Passes the bytes of control messages from a neighbour to the table.
    pub fn receive(&mut self, face: FaceId, bytes: &[u8]) {
        let mut reader = Reader::new(bytes);
        while !reader.is_empty() {
            let message = NetworkMessage::decode(&mut reader).expect("a message");
            self.act(|table, actions| match &message {
                NetworkMessage::Declare(declare) => table.handle_declare(face, declare, actions),
                NetworkMessage::Interest(interest) => {
                    table.handle_interest(face, interest, actions);
                    while table.answer_on(face, actions) {}
                }
                NetworkMessage::Oam(oam) => hear_oam(table, face, oam, actions),
                other => panic!("{other:?} is not for the table"),
            });
        }
    }

    /// Passes a declaration to the table.
    pub fn declare(&mut self, face: FaceId, interest_id: Option<u32>, body: Declaration<'_>) {
        let declare = Declare {
            interest_id,
            ..Declare::new(body)
        };
        self.receive(face, &encoded(&declare));
    }

    pub fn subscribe(&mut self, face: FaceId, id: u32, key: &str) {
        let wire_expr = WireExpr::full(key);
        self.declare(face, None, Declaration::Subscriber { id, wire_expr });
    }

    pub fn unsubscribe(&mut self, face: FaceId, id: u32) {
        self.declare(
            face,
            None,
            Declaration::UndeclareSubscriber { id, key: None },
        );
    }

    pub fn interest(
        &mut self,
        face: FaceId,
        id: u32,
        mode: InterestMode,
        letters: &str,
        key: Option<&str>,
    ) {
        let interest = Interest {
            id,
            mode,
            options: options(letters),
            wire_expr: key.map(WireExpr::full),
            qos: Qos::DECLARE,
            timestamp: None,
            node_id: 0,
        };
        self.receive(face, &encoded(&interest));
    }

    /// Takes what a neighbour got since the last call, as bytes.
    pub fn bytes(&mut self, face: FaceId) -> Vec<u8> {
        self.messages(face).concat()
    }

    /// Takes what a neighbour got since the last call, message by message.
    pub fn messages(&mut self, face: FaceId) -> Vec<Vec<u8>> {
        self.inboxes.remove(&face).unwrap_or_default()
    }

    /// Takes what a neighbour got since the last call, one line per message.
    pub fn lines(&mut self, face: FaceId) -> Vec<String> {
        let bytes = self.bytes(face);
        let mut reader = Reader::new(&bytes);
        let mut lines = Vec::new();
        while !reader.is_empty() {
            lines.push(line(
                &NetworkMessage::decode(&mut reader).expect("a message"),
            ));
        }
        lines
    }

    /// Takes the notices of a listener of the session since the last call.
    pub fn notices(&mut self, listener: u32) -> Vec<Notice> {
        self.notices.remove(&listener).unwrap_or_default()
    }

    /// Takes the notices of a listener since the last call, one line per notice.
    pub fn told(&mut self, listener: u32) -> Vec<String> {
        let notices = self.notices(listener).into_iter();
        let line = |notice| match notice {
            Notice::Token { key, alive: true } => format!("+{key}"),
            Notice::Token { key, alive: false } => format!("-{key}"),
            Notice::Matching(matching) => format!("matching {matching}"),
            Notice::End { complete } => format!("end {complete}"),
            other => panic!("{other:?}"),
        };
        notices.map(line).collect()
    }

    /// Returns the route of a message: `face-number:key` per neighbour in the order given, then the
    /// local ids.
    pub fn route(
        &self,
        from: FaceId,
        key: &str,
        publisher: Option<u32>,
    ) -> (Vec<(FaceId, String)>, Vec<u32>) {
        let Route { hops, local } = self.table.route(from, &key_expr(key), publisher);
        let hops = hops.iter().map(|hop| (hop.face, text(&hop.wire_expr())));
        (hops.collect(), local)
    }
}

impl Bench {
    /// Returns true if a route on `key` that is computed now is still valid after `change`.
    pub fn holds(&mut self, key: &str, change: impl FnOnce(&mut Bench)) -> bool {
        let validity = self.kept(key);
        change(self);
        validity.holds()
    }

    /// Computes the session's route on `key`, and returns its validity.
    pub fn kept(&mut self, key: &str) -> Arc<Validity> {
        let key = key_expr(key).into_owned();
        let mut search = self.table.begin_route(self.local, key, None);
        while self.table.search_route(&mut search).is_none() {}
        search.validity()
    }
}

/// Encodes a message.
pub fn encoded(message: &impl Encode) -> Vec<u8> {
    message.to_vec().expect("it has a wire form")
}

pub fn zid(number: u128) -> ZenohId {
    ZenohId::random_from(number)
}

pub fn key_expr(key: &str) -> KeyExpr<'_> {
    KeyExpr::new(key).expect("a key expression")
}

/// Parses `KSQTA` as interest options.
pub fn options(letters: &str) -> InterestOptions {
    letters
        .chars()
        .fold(InterestOptions::default(), |options, letter| {
            options
                | match letter {
                    'K' => InterestOptions::KEYEXPRS,
                    'S' => InterestOptions::SUBSCRIBERS,
                    'Q' => InterestOptions::QUERYABLES,
                    'T' => InterestOptions::TOKENS,
                    'A' => InterestOptions::AGGREGATE,
                    other => panic!("no option {other}"),
                }
        })
}

/// Formats a key as its sender wrote it.
pub fn text(expr: &WireExpr<'_>) -> String {
    match (expr.scope, expr.mapping) {
        (0, _) => expr.suffix.to_owned(),
        (scope, Mapping::Sender) => format!("{scope}+{}", expr.suffix),
        (scope, Mapping::Receiver) => format!("{scope}-{}", expr.suffix),
    }
}

fn line(message: &NetworkMessage<'_>) -> String {
    match message {
        NetworkMessage::Declare(declare) => {
            assert_eq!((declare.qos, declare.node_id), (Qos::DECLARE, 0));
            let body = declaration(&declare.body);
            match declare.interest_id {
                Some(id) => format!("@{id} {body}"),
                None => body,
            }
        }
        NetworkMessage::Interest(interest) => {
            assert_eq!(interest.qos, Qos::DECLARE);
            let letters: String = "KSQTA"
                .chars()
                .filter(|letter| interest.options.contains(options(&letter.to_string())))
                .collect();
            let key = interest.wire_expr.as_ref().map_or(String::new(), text);
            let line = format!(
                "interest {} {:?} {letters} {key}",
                interest.id, interest.mode
            );
            line.trim_end().to_owned()
        }
        NetworkMessage::Oam(oam) => format!("oam {}", oam.id),
        other => panic!("{other:?} is not from the table"),
    }
}

fn declaration(body: &Declaration<'_>) -> String {
    match body {
        Declaration::KeyExpr { id, wire_expr } => format!("keyexpr {id} {}", text(wire_expr)),
        Declaration::UndeclareKeyExpr { id } => format!("unkeyexpr {id}"),
        Declaration::Subscriber { id, wire_expr } => format!("sub {id} {}", text(wire_expr)),
        Declaration::UndeclareSubscriber { id, key: None } => format!("unsub {id}"),
        Declaration::Queryable {
            id,
            wire_expr,
            info,
        } => format!("queryable {id} {}{}", text(wire_expr), promise(info)),
        Declaration::UndeclareQueryable { id, key: None } => format!("unqueryable {id}"),
        Declaration::Token { id, wire_expr } => format!("token {id} {}", text(wire_expr)),
        Declaration::UndeclareToken { id, key: None } => format!("untoken {id}"),
        Declaration::UndeclareToken { id, key: Some(key) } => format!("untoken {id} {}", text(key)),
        Declaration::Final => "final".into(),
        other => panic!("{other:?} carries a key"),
    }
}

fn promise(info: &QueryableInfo) -> String {
    let complete = if info.complete { " complete" } else { "" };
    match info.distance {
        0 => complete.into(),
        distance => format!("{complete} distance {distance}"),
    }
}

/// Parses bytes as the specification writes them: hexadecimal, and text in quotes.
pub fn wire(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (place, part) in text.split('\'').enumerate() {
        if place % 2 == 1 {
            bytes.extend(part.bytes());
            continue;
        }
        let digits: String = part.split_whitespace().collect();
        for at in (0..digits.len()).step_by(2) {
            bytes.push(u8::from_str_radix(&digits[at..at + 2], 16).expect("two digits"));
        }
    }
    bytes
}

pub fn none() -> Vec<String> {
    Vec::new()
}

pub fn queryable<'a>(id: u32, key: &'a str, complete: bool, distance: u16) -> Declaration<'a> {
    Declaration::Queryable {
        id,
        wire_expr: WireExpr::full(key),
        info: QueryableInfo { complete, distance },
    }
}

pub fn token(id: u32, key: &str) -> Declaration<'_> {
    Declaration::Token {
        id,
        wire_expr: WireExpr::full(key),
    }
}

/// Handles an OAM message; the table uses link states only.
fn hear_oam(table: &mut ForwardingTable, face: FaceId, oam: &Oam<'_>, actions: &mut Vec<Action>) {
    if let (Oam::LINK_STATE, OamBody::Buf(body)) = (oam.id, oam.body)
        && let Ok(states) = LinkStateList::decode(&mut Reader::new(body))
    {
        table.handle_link_states(face, &states, actions);
    }
}
