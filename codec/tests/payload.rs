// SPDX-License-Identifier: MIT OR Apache-2.0
//! Payloads: every conversion that promises not to copy is checked by comparing addresses.

use bytes::Bytes;
use zonda_codec::Payload;
use zonda_codec::ZSlice;
use zonda_codec::payload::shared_part;

#[test]
fn taking_over_owned_memory_copies_nothing() {
    let bytes = vec![7u8; 1000];
    let address = bytes.as_ptr();
    let payload = Payload::from(bytes);
    assert_eq!(payload.as_ptr(), address);
    assert_eq!(payload.clone().as_ptr(), address);

    let boxed = vec![7u8; 1000].into_boxed_slice();
    let address = boxed.as_ptr();
    assert_eq!(Payload::from(boxed).as_ptr(), address);

    let text = String::from("some text");
    let address = text.as_ptr();
    let payload = Payload::from(text);
    assert_eq!(payload.as_ptr(), address);
    assert_eq!(payload.to_str(), Ok("some text"));
}

#[test]
fn bytes_become_a_payload_and_come_back_at_the_same_address() {
    let bytes = Bytes::from(vec![1u8, 2, 3, 4, 5, 6]).slice(1..);
    let address = bytes.as_ptr();
    let payload = Payload::from(bytes.clone());
    assert_eq!(payload.as_ptr(), address);
    assert_eq!(payload, bytes);

    let part = payload.subslice(2..4).unwrap();
    assert_eq!(part.as_ptr(), address.wrapping_add(2));
    let back = Bytes::from(part);
    assert_eq!(back.as_ptr(), address.wrapping_add(2));
    assert_eq!(back.as_ref(), [4, 5]);
}

#[test]
fn a_payload_becomes_bytes_at_the_same_address() {
    let payload = Payload::from(vec![9u8; 100]).subslice(10..).unwrap();
    let address = payload.as_ptr();
    let bytes = Bytes::from(payload);
    assert_eq!((bytes.as_ptr(), bytes.len()), (address, 90));
    // Many round trips: neither a copy nor a growing chain of owners.
    let mut bytes = bytes;
    for _ in 0..1000 {
        bytes = Bytes::from(Payload::from(bytes));
    }
    assert_eq!((bytes.as_ptr(), bytes.len()), (address, 90));
}

#[test]
fn static_bytes_are_not_copied() {
    static TEXT: &[u8] = b"forever";
    let payload = Payload::from(Bytes::from_static(TEXT));
    assert_eq!(payload.as_ptr(), TEXT.as_ptr());
    assert_eq!(Bytes::from(payload).as_ptr(), TEXT.as_ptr());
}

#[test]
fn slices_of_the_wire_buffer_pass_through() {
    let slice = ZSlice::from(vec![1u8, 2, 3]);
    let address = slice.as_slice().as_ptr();
    let payload = Payload::from(slice);
    assert_eq!(payload.as_ptr(), address);
    let slice = ZSlice::from(payload);
    assert_eq!(slice.as_slice().as_ptr(), address);
}

#[test]
fn borrowed_memory_is_copied() {
    let bytes = [1u8, 2, 3];
    let payload = Payload::from(&bytes[..]);
    assert_ne!(payload.as_ptr(), bytes.as_ptr());
    assert_eq!(payload, bytes);
    assert_eq!(Payload::from(&bytes), Payload::from("\x01\x02\x03"));
}

#[test]
fn a_borrowed_part_shares_its_block() {
    let block = ZSlice::from((0..100u8).collect::<Vec<_>>());
    let window = block.subslice(10..90).unwrap();
    for (start, end) in [(0, 80), (0, 1), (79, 80), (20, 30), (5, 5), (80, 80)] {
        let part = &window.as_slice()[start..end];
        let shared = shared_part(&window, part);
        assert_eq!(shared.as_slice(), part);
        assert_eq!(shared.as_slice().as_ptr(), part.as_ptr(), "{start}..{end}");
    }
}

#[test]
fn a_foreign_part_is_copied() {
    let block = ZSlice::from((0..100u8).collect::<Vec<_>>());
    let window = block.subslice(10..90).unwrap();
    let foreign = vec![5u8; 40];
    let outside = [
        &block.as_slice()[..20],
        &block.as_slice()[80..],
        &foreign[..],
    ];
    for part in outside {
        let copy = shared_part(&window, part);
        assert_eq!(copy.as_slice(), part);
        assert_ne!(copy.as_slice().as_ptr(), part.as_ptr());
    }
    assert_eq!(shared_part(&window, &[]).len(), 0);
    assert_eq!(
        shared_part(&ZSlice::empty(), &foreign).as_slice(),
        &foreign[..]
    );
}

#[test]
fn empty_and_out_of_range() {
    let empty = Payload::default();
    assert!(empty.is_empty() && Bytes::from(empty.clone()).is_empty());
    assert_eq!(empty, Payload::from(Bytes::new()));
    assert!(
        Bytes::from(
            Payload::from(Bytes::from_static(b"abc"))
                .subslice(3..)
                .unwrap()
        )
        .is_empty()
    );
    let payload = Payload::from("abc");
    assert!(payload.subslice(2..5).is_none());
    assert!(Payload::from(&[0xff]).to_str().is_err());
}

#[test]
fn debug_is_short() {
    assert_eq!(
        format!("{:?}", Payload::from("a\n\"")),
        "Payload(3 bytes, \"a\\n\\\"\")"
    );
    assert!(format!("{:?}", Payload::from(vec![0u8; 1 << 20])).len() < 200);
}
