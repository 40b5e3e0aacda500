// SPDX-License-Identifier: MIT OR Apache-2.0
//! Room is checked before anything changes; short and long copies are the same copy.

use super::*;

#[test]
fn copies_of_every_length_arrive() {
    let source: Vec<u8> = (0..200).collect();
    for length in 0..source.len() {
        let mut buffer = [0xee; 210];
        let mut writer = Writer::new(&mut buffer);
        writer.bytes(&source[..length]).expect("it fits");
        assert_eq!(writer.written(), &source[..length]);
        assert!(buffer[length..].iter().all(|&byte| byte == 0xee));
    }
}

#[test]
fn what_does_not_fit_changes_nothing() {
    let mut buffer = [0; 4];
    let mut writer = Writer::new(&mut buffer);
    writer.u8(1).expect("room");
    assert_eq!(writer.bytes_vle(&[0; 3]), Err(EncodeError::NoRoom));
    assert_eq!(writer.bytes(&[0; 4]), Err(EncodeError::NoRoom));
    assert_eq!(writer.vle(u64::MAX), Err(EncodeError::NoRoom));
    assert_eq!(writer.position(), 1);
    assert_eq!(writer.vle(1 << 20), Ok(()));
    assert_eq!(writer.u8(0), Err(EncodeError::NoRoom));
    assert_eq!(writer.remaining(), 0);
}

#[test]
fn failed_groups_rewind() {
    let mut buffer = [0; 2];
    let mut writer = Writer::new(&mut buffer);
    let result = writer.all_or_nothing(|writer| {
        writer.u8(1)?;
        writer.u16_le(2)
    });
    assert_eq!((result, writer.position()), (Err(EncodeError::NoRoom), 0));
}

#[test]
fn long_numbers_are_written_alike_by_both_ways() {
    for value in [
        0,
        1 << 55,
        (1 << 56) - 1,
        1 << 56,
        0x6a1f_93c2_0815_4711,
        u64::MAX,
    ] {
        for room in [8, 9, 12] {
            let (mut one, mut other) = ([0; 12], [0; 12]);
            let mut ordinary = Writer::new(&mut one[..room]);
            let mut long = Writer::new(&mut other[..room]);
            assert_eq!(ordinary.vle(value), long.vle_long(value));
            assert_eq!(ordinary.written(), long.written());
        }
    }
}

#[test]
fn a_front_has_the_number_in_its_place() {
    let block: [u8; 24] = std::array::from_fn(|i| i as u8 + 100);
    let value = 0x6a1f_93c2_0815_4711;
    let number = LongNumber::new(value).expect("nine bytes");
    let mut expected = block.to_vec();
    Writer::new(&mut expected[5..14]).vle(value).expect("room");
    let mut buffer = [0; 40];
    let mut writer = Writer::new(&mut buffer);
    let put = |writer: &mut Writer<'_>, at| writer.front_around(&block, 20, at, number);
    assert_eq!(put(&mut writer, 5), Ok(()));
    assert_eq!(writer.written(), &expected[..20]);
    let no_room = Err(EncodeError::NoRoom);
    for at in [16, usize::MAX, 5] {
        assert_eq!(put(&mut writer, at), no_room, "20 of 24 bytes are left");
    }
    assert_eq!(writer.front_around(&[0; 9], 10, 0, number), no_room);
    assert_eq!(writer.position(), 20);
}

#[test]
fn numbers_in_a_row_are_as_each_by_itself() {
    assert_eq!(LongNumber::new((1 << 56) - 1), None);
    for first in [1 << 56, (7 << 56) - 300, (1 << 63) - 20_000] {
        let mut number = LongNumber::new(first).expect("nine bytes");
        for value in first..first + 40_000 {
            assert_eq!(Some(number), LongNumber::new(value));
            number = number.next();
        }
    }
    let last = LongNumber::new(u64::MAX).expect("nine bytes");
    assert_eq!(last.next(), last);
}
