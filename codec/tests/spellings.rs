// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every message in every spelling: it is read, as the reference reads it, to the fields of its
//! shortest form. Runs yield the messages that reading one by one yields.

use std::panic::catch_unwind;

use proptest::prelude::*;
use zenoh_buffers::ZSlice;
use zenoh_codec::{RCodec, Zenoh080};
use zonda_codec::{DecodeError, NetworkMessage, Push, Reader, ScoutingMessage, TransportMessage};
use zonda_testkit::json::{self, hex};
use zonda_testkit::spelling::{self, Speller};
use zonda_testkit::{alike, checks, reference};

/// Returns the message that the reference reads at the start of these bytes, and the number of
/// bytes it takes.
fn theirs(bytes: &[u8]) -> Option<(serde_json::Value, usize)> {
    let mut slice = ZSlice::from(bytes.to_vec());
    let message: zenoh_protocol::network::NetworkMessage = Zenoh080::new().read(&mut slice).ok()?;
    let left = zenoh_buffers::reader::Reader::remaining(&slice);
    Some((reference::network(&message), bytes.len() - left))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn network_messages_are_read_as_the_reference_reads_them(
        choices in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut speller = Speller::legal(&choices);
        speller.network();
        let bytes = speller.take();
        checks::network(&bytes);
        let mut reader = Reader::new(&bytes);
        let ours = NetworkMessage::decode(&mut reader);
        let ours = ours.map_err(|error| TestCaseError::fail(format!("{error}: {}", hex(&bytes))))?;
        prop_assert!(reader.is_empty(), "bytes are left of {}", hex(&bytes));
        let read = Some((json::network(&ours), bytes.len()));
        prop_assert_eq!(theirs(&bytes), read, "{}", hex(&bytes));
    }

    /// Bytes that are no message but are accepted here endanger the nodes they are forwarded to.
    #[test]
    fn lies_are_taken_by_nobody_or_by_both_alike(
        choices in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut speller = Speller::lying(&choices);
        speller.network();
        let bytes = speller.take();
        checks::network(&bytes);
        let mut reader = Reader::new(&bytes);
        if let Ok(ours) = NetworkMessage::decode(&mut reader) {
            let read = Some((json::network(&ours), reader.position()));
            prop_assert_eq!(theirs(&bytes), read, "{}", hex(&bytes));
        }
    }

    #[test]
    fn transport_messages_are_read_in_every_spelling(
        choices in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut speller = Speller::legal(&choices);
        speller.transport();
        let bytes = speller.take();
        checks::transport(&bytes);
        let ours = TransportMessage::decode(&mut Reader::new(&bytes));
        prop_assert!(ours.is_ok(), "{:?}: {}", ours, hex(&bytes));
    }

    #[test]
    fn scouting_messages_are_read_in_every_spelling(
        choices in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut speller = Speller::legal(&choices);
        speller.scouting();
        let bytes = speller.take();
        checks::scouting(&bytes);
        let ours = ScoutingMessage::decode(&mut Reader::new(&bytes));
        prop_assert!(ours.is_ok(), "{:?}: {}", ours, hex(&bytes));
    }
}

/// Rows of messages that are alike, from seeds: messages that the recogniser reads equal those that
/// are read one by one, and most of them are recognised.
#[test]
fn runs_are_what_one_by_one_would_be_in_every_spelling() {
    let (mut messages, mut by_runs) = (0, 0);
    for seed in 0..4000 {
        let choices = spelling::choices(seed, 2000);
        let mut speller = Speller::legal(&choices);
        let ends = speller.alike(40);
        let row = speller.take();
        let read = catch_unwind(|| alike::read_both_ways(&row));
        by_runs += read.unwrap_or_else(|_| panic!("seed {seed}: {}", hex(&row)));
        messages += ends.len();
        let mut reader = Reader::new(&row);
        for end in ends {
            Push::decode_with_raw(&mut reader).expect("a push");
            assert_eq!(reader.position(), end);
        }
    }
    let share = 100 * by_runs / messages;
    assert!(share > 30, "{share} % of the messages came by runs");
}

/// Returns a PUSH of the source info `section`, with `length` as its length field, and of the value
/// "x".
fn with_source_info(length: u8, section: &[u8]) -> Vec<u8> {
    let head = [0x1d, 1, 0x81, 0x41, length];
    [&head, section, &[1, b'x']].concat()
}

/// The reference reads a source info without a look at the length in front of it. A router that
/// obeys the length would forward bytes that the reference reads as something else: here a value
/// that extends over the next message.
#[test]
fn an_extension_ends_where_its_field_ends() {
    let section = [0x00, 7, 1, 1];
    let honest = with_source_info(4, &section);
    assert!(NetworkMessage::decode(&mut Reader::new(&honest)).is_ok());
    assert!(theirs(&honest).is_some());

    // behind the field: the length of a value of 40 bytes, for readers that ignore the length field
    let lie = with_source_info(5, &[0x00, 7, 1, 1, 40]);
    let followed = [lie.clone(), vec![0x20; 50]].concat();
    let (_, taken) = theirs(&followed).expect("the reference reads it");
    assert!(taken > lie.len(), "it takes {taken} bytes of what follows");
    let ours = Push::decode_with_raw(&mut Reader::new(&followed));
    let surplus = DecodeError::Invalid {
        field: "surplus in an extension",
        value: 1,
        offset: 9,
    };
    assert_eq!(ours, Err(surplus));
}

/// A reader that knows shared memory reads the body behind this extension in another way than one that skips it.
#[test]
fn a_question_in_shared_memory_is_refused() {
    let question = [
        0x1c, 1, 1, 0x83, 0x84, 0x43, 52, 0, 1, 1, 5, 50, 0xaa, 0x3e, 0, 0,
    ];
    let ours = NetworkMessage::decode(&mut Reader::new(&question));
    let refused = DecodeError::SharedMemory { end: 16 };
    assert_eq!(ours, Err(refused));
    assert_eq!(theirs(&question), None);
}
