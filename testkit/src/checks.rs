// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks, one function per fuzz target. Each asserts more than "no panic": an accepted message
//! encodes again, all or nothing, and decodes to the same; a cut message is refused; key relations
//! agree with a table of all positions.

use zonda_codec::key_expr::{canonize, includes, intersects, literal_prefix, validate};
use zonda_codec::linkstate::LinkStates;
use zonda_codec::{
    Encode, Fragment, LinkState, LinkStateList, NetworkMessage, Ntp64, OamBody, Push, PushBody,
    PushHead, Reader, ScoutingMessage, Timestamp, TransportMessage, Writer, ZenohId,
};

/// Reads a whole batch: transport messages, and behind a frame's header the network messages in it.
pub fn transport(data: &[u8]) {
    let mut reader = Reader::new(data);
    while !reader.is_empty() {
        let before = reader.remaining();
        let Ok(message) = TransportMessage::decode(&mut reader) else {
            return;
        };
        assert!(reader.remaining() < before, "a message takes bytes");
        assert_eq!(reader.position(), data.len() - reader.remaining());
        check_transport(&message);
        if let TransportMessage::Frame(_) = message {
            while reader.peek().is_some_and(NetworkMessage::starts) {
                match NetworkMessage::decode(&mut reader) {
                    Ok(message) => check_network(&message),
                    Err(_) => return,
                }
            }
        }
    }
}

/// Reads one network message, and once more as a router does when it is a push.
pub fn network(data: &[u8]) {
    let mut reader = Reader::new(data);
    let decoded = NetworkMessage::decode(&mut reader);
    if let Some(&first) = data.first().filter(|_| decoded.is_ok()) {
        assert!(NetworkMessage::starts(first));
    }
    let mut raw_reader = Reader::new(data);
    match (Push::decode_with_raw(&mut raw_reader), decoded) {
        (Ok((push, raw)), Ok(message)) => {
            assert_eq!(NetworkMessage::Push(push), message);
            assert_eq!(raw_reader.position(), reader.position());
            assert!(data[..reader.position()].ends_with(raw));
            check_forwarding(&push, raw);
            check_network(&message);
        }
        (Err(_), Ok(message)) => {
            assert!(!matches!(message, NetworkMessage::Push(_)));
            check_network(&message);
        }
        (Ok(_), Err(error)) => panic!("a push that is no network message: {error}"),
        (Err(_), Err(_)) => {}
    }
}

/// Reads one scouting datagram.
pub fn scouting(data: &[u8]) {
    let mut reader = Reader::new(data);
    let Ok(message) = ScoutingMessage::decode(&mut reader) else {
        return;
    };
    let bytes = encoded(&message);
    let mut reader = Reader::new(&bytes);
    assert_eq!(ScoutingMessage::decode(&mut reader), Ok(message));
    assert!(reader.is_empty());
    for cut in cuts(&bytes) {
        assert!(ScoutingMessage::decode(&mut Reader::new(cut)).is_err());
    }
}

/// Reads two key expressions separated by a zero byte (the second defaults to the first).
pub fn key_expr(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (a, b) = text.split_once('\0').unwrap_or((text, text));
    let (Some(a), Some(b)) = (check_spelling(a), check_spelling(b)) else {
        return;
    };
    let (a, b) = (a.as_str(), b.as_str());
    assert!(intersects(a, a) && includes(a, a) && intersects(b, b) && includes(b, b));
    let meet = intersects(a, b);
    assert_eq!(meet, intersects(b, a), "{a:?} meets {b:?}");
    for (x, y) in [(a, b), (b, a)] {
        let cover = includes(x, y);
        assert!(!cover || meet, "{x:?} covers {y:?}, so they meet");
        assert_eq!(cover, table::covers(x, y), "{x:?} covers {y:?}");
    }
    assert_eq!(meet, table::meets(a, b), "{a:?} meets {b:?}");
}

/// Returns the canonical spelling of the text, after checking its invariants.
fn check_spelling(text: &str) -> Option<String> {
    let valid = validate(text).is_ok();
    let Ok(canonical) = canonize(text) else {
        assert!(!valid, "{text:?} is valid but has no canonical form");
        return None;
    };
    assert_eq!(valid, canonical == text, "{text:?} against {canonical:?}");
    assert_eq!(validate(&canonical), Ok(()));
    assert_eq!(canonize(&canonical).as_deref(), Ok(&*canonical));
    let (prefix, rest) = literal_prefix(&canonical);
    assert!(!prefix.contains('*') && format!("{prefix}{rest}") == canonical);
    Some(canonical.into_owned())
}

/// Encodes the message, and checks that a buffer that is too small is refused and left unchanged.
fn encoded<M: Encode>(message: &M) -> Vec<u8> {
    let bytes = message.to_vec().expect("what was decoded has a wire form");
    for room in [0, bytes.len() / 2, bytes.len().saturating_sub(1)] {
        let mut buffer = vec![0xa5; 3 + room];
        let mut writer = Writer::new(&mut buffer);
        writer.bytes(&[1, 2, 3]).expect("room for three bytes");
        if room < bytes.len() {
            assert!(
                message.encode(&mut writer).is_err(),
                "{room} bytes are too few"
            );
        }
        assert_eq!(writer.written(), [1, 2, 3]);
    }
    let mut buffer = vec![0xa5; 3 + bytes.len()];
    let mut writer = Writer::new(&mut buffer);
    writer.bytes(&[1, 2, 3]).expect("room for three bytes");
    assert!(message.encode(&mut writer).is_ok(), "exactly enough room");
    assert_eq!(writer.written()[3..], bytes);
    bytes
}

/// Returns some true prefixes of an encoded message. A message contains its own end, so no prefix
/// is a message.
fn cuts(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lengths = [0, 1, bytes.len() / 2, bytes.len().saturating_sub(1)];
    lengths
        .into_iter()
        .filter(|length| *length < bytes.len())
        .map(|length| &bytes[..length])
}

fn check_transport(message: &TransportMessage<'_>) {
    let bytes = encoded(message);
    let mut reader = Reader::new(&bytes);
    assert_eq!(TransportMessage::decode(&mut reader), Ok(*message));
    assert!(reader.is_empty());
    if let TransportMessage::Fragment(Fragment { .. }) = message {
        return; // Takes whatever is left of the batch, so it has no end of its own.
    }
    for cut in cuts(&bytes) {
        assert!(TransportMessage::decode(&mut Reader::new(cut)).is_err());
    }
}

fn check_network(message: &NetworkMessage<'_>) {
    let bytes = encoded(message);
    let mut reader = Reader::new(&bytes);
    assert_eq!(NetworkMessage::decode(&mut reader), Ok(*message));
    assert!(reader.is_empty());
    for cut in cuts(&bytes) {
        assert!(NetworkMessage::decode(&mut Reader::new(cut)).is_err());
    }
    if let NetworkMessage::Oam(oam) = message
        && let OamBody::Buf(body) = oam.body
    {
        check_link_states(body);
    }
}

fn check_link_states(body: &[u8]) {
    let Ok(list) = LinkStateList::decode(&mut Reader::new(body)) else {
        return;
    };
    let states: Vec<LinkState<'_>> = list.iter().collect();
    assert_eq!(states.len(), list.len());
    let bytes = encoded(&LinkStates(&states));
    let mut reader = Reader::new(&bytes);
    let again = LinkStateList::decode(&mut reader).expect("what we encode is a list");
    assert!(reader.is_empty());
    assert!(again.iter().eq(states));
}

/// Forwards a push as a router does: a new head before the raw body, with and without a timestamp
/// of its own.
fn check_forwarding(push: &Push<'_>, raw: &[u8]) {
    let now = Timestamp::new(Ntp64(0x1234_5678_9abc_def0), ZenohId::random_from(7));
    for stamp in [None, Some(now)] {
        let head = PushHead::new(push.wire_expr, push.qos, push.node_id);
        let mut forwarded = encoded(&head.passing(push, raw, stamp));
        let mut expected = *push;
        if let PushBody::Put(put) = &mut expected.body {
            forwarded.extend_from_slice(put.payload);
            put.timestamp = stamp.or(put.timestamp);
        }
        assert_eq!(decoded_push(&forwarded), expected);
    }
}

fn decoded_push(bytes: &[u8]) -> Push<'_> {
    let mut reader = Reader::new(bytes);
    let (push, _) = Push::decode_with_raw(&mut reader).expect("what we write is a push");
    assert!(reader.is_empty());
    push
}

/// Key relations by a table over all pairs of positions: slow, but plainly the rules, and without
/// any search order.
mod table {
    /// Returns true if some key matches both.
    pub(super) fn meets(a: &str, b: &str) -> bool {
        let (a, b): (Vec<&str>, Vec<&str>) = (a.split('/').collect(), b.split('/').collect());
        reaches_end(a.len(), b.len(), |i, j| {
            let (x, y) = (a.get(i), b.get(j));
            let (many_x, many_y) = (x == Some(&"**"), y == Some(&"**"));
            let met =
                matches!((x, y), (Some(x), Some(y)) if !many_x && !many_y && chunks_meet(x, y));
            Steps {
                first: many_x || (many_y && x.is_some_and(|x| !verbatim(x))),
                second: many_y || (many_x && y.is_some_and(|y| !verbatim(y))),
                both: met,
            }
        })
    }

    /// Returns true if `a` includes every key that `b` includes.
    pub(super) fn covers(a: &str, b: &str) -> bool {
        let (a, b): (Vec<&str>, Vec<&str>) = (a.split('/').collect(), b.split('/').collect());
        reaches_end(a.len(), b.len(), |i, j| {
            let (x, y) = (a.get(i), b.get(j));
            let many = x == Some(&"**");
            let covered =
                matches!((x, y), (Some(x), Some(y)) if !many && *y != "**" && chunk_covers(x, y));
            Steps {
                first: many,
                second: many && y.is_some_and(|y| !verbatim(y)),
                both: covered,
            }
        })
    }

    /// Positions that may advance from a pair of positions.
    struct Steps {
        first: bool,
        second: bool,
        both: bool,
    }

    /// Returns true if the pair of ends can be reached from the pair of starts.
    fn reaches_end(rows: usize, columns: usize, steps: impl Fn(usize, usize) -> Steps) -> bool {
        let mut row = vec![false; columns + 1];
        row[0] = true;
        for i in 0..=rows {
            let mut next = vec![false; columns + 1];
            for j in 0..=columns {
                if !row[j] {
                    continue;
                }
                if i == rows && j == columns {
                    return true;
                }
                let step = steps(i, j);
                next[j] |= step.first;
                if j < columns {
                    row[j + 1] |= step.second;
                    next[j + 1] |= step.both;
                }
            }
            row = next;
        }
        false
    }

    fn verbatim(chunk: &str) -> bool {
        chunk.starts_with('@')
    }

    fn chunks_meet(x: &str, y: &str) -> bool {
        if x == y || verbatim(x) || verbatim(y) {
            return x == y;
        }
        let (x, y) = (letters(x), letters(y));
        reaches_end(x.len(), y.len(), |i, j| {
            let (p, q) = (x.get(i), y.get(j));
            let (any_p, any_q) = (p == Some(&None), q == Some(&None));
            Steps {
                first: any_p || (any_q && p.is_some()),
                second: any_q || (any_p && q.is_some()),
                both: !any_p && !any_q && p.is_some() && p == q,
            }
        })
    }

    fn chunk_covers(x: &str, y: &str) -> bool {
        if x == y || verbatim(x) || verbatim(y) {
            return x == y;
        }
        let (x, y) = (letters(x), y.as_bytes());
        reaches_end(x.len(), y.len(), |i, j| {
            let any = x.get(i) == Some(&None);
            Steps {
                first: any,
                second: any,
                both: !any && j < y.len() && x.get(i) == y.get(j).copied().map(Some).as_ref(),
            }
        })
    }

    /// Returns the bytes of a chunk, with `None` for `$*` and for a chunk `*`.
    fn letters(chunk: &str) -> Vec<Option<u8>> {
        let chunk = if chunk == "*" { "$*" } else { chunk };
        let mut letters = Vec::new();
        for (index, literal) in chunk.split("$*").enumerate() {
            if index > 0 {
                letters.push(None);
            }
            letters.extend(literal.bytes().map(Some));
        }
        letters
    }
}
