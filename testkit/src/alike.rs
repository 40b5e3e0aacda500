// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs in a row of PUSHes: they yield the messages that reading one by one yields.

use zonda_codec::{NetworkMessage, Push, PushRun, Reader, short::Short};

use crate::spelling::Speller;

/// Reads the content of a frame: with the recogniser of runs, and one by one.
pub fn runs(data: &[u8]) {
    read_both_ways(data);
}

/// Checks rows that are mostly alike, in any spelling: the input that the recogniser exists for.
pub fn likeness(choices: &[u8]) {
    let Some((&count, choices)) = choices.split_first() else {
        return;
    };
    let mut speller = Speller::legal(choices);
    speller.alike(usize::from(count) % 64);
    let row = speller.take();
    read_both_ways(&row);
    // a batch may end anywhere
    read_both_ways(&row[..row.len() - row.len().min(usize::from(count))]);
}

/// Reads as a router does; returns how many messages came by runs.
pub fn read_both_ways(data: &[u8]) -> usize {
    let mut reader = Reader::new(data);
    let mut by_runs = 0;
    while let Some(byte) = reader.peek() {
        if !NetworkMessage::starts(byte) {
            break;
        }
        let start = reader;
        let Ok((first, raw)) = Push::decode_with_raw(&mut reader) else {
            reader = start;
            match NetworkMessage::decode(&mut reader) {
                Ok(_) => continue,
                Err(_) => break,
            }
        };
        if let Some(run) = PushRun::following(start, &first, raw, reader) {
            by_runs += compare(first, run, &mut reader);
        }
    }
    by_runs
}

/// Compares the messages that `run` yields after `push` with those that `reader` reads; returns
/// their number.
fn compare<'a>(push: Push<'a>, mut run: PushRun<'a>, reader: &mut Reader<'a>) -> usize {
    let mut template = push;
    let mut count = 0;
    let again = run.clone();
    while let Some(next) = run.next() {
        let (push, raw) = Push::decode_with_raw(reader).expect("the run has read it");
        next.write_to(&mut template);
        assert_eq!(template, push);
        assert_eq!(next.raw_body, raw);
        assert_eq!(run.reader().position(), reader.position());
        assert_eq!(*run.timestamp(), next.timestamp);
        let short = next.short();
        assert_eq!(short.is_some(), next.payload.len() <= Short::BYTES_MAX);
        assert!(short.is_none_or(|short| short.as_slice() == next.payload));
        count += 1;
    }
    assert!(count > 0, "a run has messages");
    assert_eq!(again.count(), count, "a run can be gone over again");
    count
}
