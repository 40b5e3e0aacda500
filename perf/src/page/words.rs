// SPDX-License-Identifier: MIT OR Apache-2.0
//! The words of a page: names of cases, and the summary of speeds.

use crate::record::{Cell, Record};

/// The system that is compared with each other one.
const OWN: &str = "zonda";

/// Words in names of cases, and their texts on a page.
const WORDS: [(&str, &str); 7] = [
    ("p2p", "peer to peer"),
    ("routed", "through a router"),
    ("ping", "round trip"),
    ("latency", "round trip"),
    ("back-to-back", "back to back"),
    ("queue", "received from a queue"),
    ("callback", "received by a callback"),
];

/// Names of protocols.
const PROTOCOLS: [(&str, &str); 6] = [
    ("udp", "UDP"),
    ("tcp", "TCP"),
    ("ws", "WebSocket"),
    ("tls", "TLS"),
    ("quic", "QUIC"),
    ("icmp", "ICMP"),
];

/// Descriptions of systems, for the page's legend.
const SYSTEMS: [(&str, &str); 7] = [
    ("zonda", "by a session, as applications are"),
    ("node", "by the node's own calls below a session"),
    ("bare sockets", "blocking sockets with the least framing"),
    ("bare", "blocking sockets with the least framing"),
    (
        "native",
        "the protocol by blocking sockets, without a library for messages",
    ),
    ("message-io", "programs on the crate message-io"),
    ("zenoh", "programs on the crate zenoh"),
];

/// Returns the name of a case in words, with a capital letter.
pub fn case(name: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut is_open = false;
    for word in name.split_whitespace() {
        let known = WORDS.iter().find(|(known, _)| *known == word);
        let words = known.map_or_else(|| spaced(word), |(_, words)| (*words).to_owned());
        match parts.last_mut().filter(|_| is_open && known.is_none()) {
            Some(last) => *last += &format!(" {words}"),
            None => parts.push(words),
        }
        is_open = known.is_none();
    }
    capital(&parts.join(", "))
}

/// Formats `64B` as `64 B`, and names of protocols in their usual spelling.
fn spaced(word: &str) -> String {
    if let Some((_, name)) = PROTOCOLS.iter().find(|(known, _)| *known == word) {
        return (*name).to_owned();
    }
    let digits = word.len() - word.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = word.split_at(digits);
    match !number.is_empty() && matches!(unit, "B" | "KiB" | "MiB" | "GiB") {
        true => format!("{number} {unit}"),
        false => word.to_owned(),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// Splits the names of several cases into their common words and the differing ones.
pub fn apart(names: &[&str]) -> (String, Vec<String>) {
    let split: Vec<Vec<&str>> = names
        .iter()
        .map(|n| n.split_whitespace().collect())
        .collect();
    // common words at the front, then at the end, leaving one word to each name
    let shortest = split.iter().map(Vec::len).min().unwrap_or(0);
    let common = |at: &dyn Fn(&[&str], usize) -> Option<String>, most: usize| {
        let same = |n: &usize| {
            split
                .windows(2)
                .all(|two| at(&two[0], *n) == at(&two[1], *n))
        };
        (0..most).take_while(same).count()
    };
    let most = if names.len() > 1 {
        shortest.saturating_sub(1)
    } else {
        0
    };
    let front = common(&|words, n| words.get(n).map(|w| (*w).to_owned()), most);
    let from_end = |words: &[&str], n: usize| words.iter().rev().nth(n).map(|w| (*w).to_owned());
    let back = common(&from_end, most - front);
    // the words in between differ
    let middle = |words: &Vec<&str>| {
        let own = words.get(front..words.len() - back).unwrap_or_default();
        case(&own.join(" "))
    };
    let rest = split.first().map_or_else(String::new, |words| {
        let back = words.len().saturating_sub(back);
        [words.get(..front), words.get(back..)]
            .map(Option::unwrap_or_default)
            .concat()
            .join(" ")
    });
    (case(&rest), split.iter().map(middle).collect())
}

/// Returns a description of each system of the record.
pub fn legend(systems: &[String]) -> String {
    let about = |system: &String| {
        let known = SYSTEMS.iter().find(|(name, _)| name == system)?;
        Some(format!("{system}: {}. ", known.1))
    };
    systems.iter().filter_map(about).collect()
}

/// Returns this project's speed in multiples of each other system's, over all common cases; empty
/// if it was not measured.
pub fn summary(record: &Record, systems: &[String]) -> Vec<String> {
    if !systems.iter().any(|system| system == OWN) {
        return Vec::new();
    }
    // other forms of this project's system are not compared
    let others = systems.iter().filter(|system| !system.starts_with(OWN));
    let said = others.filter_map(|other| {
        let rate = range(
            record,
            other,
            |cell| {
                cell.x
                    .as_ref()
                    .filter(|x| x.name == "size")
                    .and(cell.median("rate"))
            },
            false,
        );
        let time = range(record, other, |cell| cell.median("p50"), true);
        let parts = [
            rate.map(|range| format!("{range} times the messages per second")),
            time.map(|range| format!("round trips or latencies {range} times as fast")),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| format!("{OWN} beside {other}: {}.", parts.join("; ")))
    });
    said.collect()
}

/// Returns the least and the greatest ratio over the cells that both systems have.
fn range(
    record: &Record,
    other: &str,
    figure: impl Fn(&Cell) -> Option<f64>,
    is_time: bool,
) -> Option<String> {
    let own = record.cells.iter().filter(|cell| cell.system == OWN);
    let ratios = own.filter_map(|cell| {
        let beside = record.cells.iter().find(|beside| {
            beside.system == other && beside.case == cell.case && beside.x == cell.x
        });
        let (own, other) = figure(cell).zip(figure(beside?))?;
        let ratio = if is_time { other / own } else { own / other };
        ratio.is_finite().then_some(ratio)
    });
    let ratios: Vec<f64> = ratios.collect();
    let least = ratios.iter().copied().reduce(f64::min)?;
    let most = ratios.iter().copied().reduce(f64::max)?;
    let [least, most] = [least, most].map(|ratio| format!("{ratio:.2}"));
    Some(match least == most {
        true => least,
        false => format!("{least} to {most}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_have_names_in_words() {
        for (name, words) in [
            ("p2p", "Peer to peer"),
            ("throughput p2p", "Throughput, peer to peer"),
            (
                "ping routed 64B back-to-back queue",
                "Round trip, through a router, 64 B, back to back, received from a queue",
            ),
            (
                "udp one thread 1B back to back",
                "UDP one thread 1 B back to back",
            ),
            ("", ""),
        ] {
            assert_eq!(case(name), words);
        }
    }

    #[test]
    fn what_cases_have_in_common_is_said_once() {
        let (common, names) = apart(&["udp p2p", "framed tcp p2p"]);
        assert_eq!(
            (common.as_str(), names),
            (
                "Peer to peer",
                vec!["UDP".to_owned(), "Framed TCP".to_owned()]
            )
        );
        let (common, names) = apart(&["ping p2p 64B queue", "ping routed 64B queue"]);
        assert_eq!(common, "Round trip, 64 B, received from a queue");
        assert_eq!(names, ["Peer to peer", "Through a router"]);
        assert_eq!(apart(&["p2p"]).1, ["Peer to peer"]);
    }
}
