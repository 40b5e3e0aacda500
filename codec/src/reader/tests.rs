// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers at every boundary, in long and short inputs, and the borders of the input.

use super::*;
use crate::writer::{Writer, vle_len};

fn boundaries() -> impl Iterator<Item = u64> {
    (0..64)
        .flat_map(|bit| [(1u64 << bit).wrapping_sub(1), 1 << bit, (1 << bit) + 1])
        .chain([u64::MAX])
}

#[test]
fn numbers_survive_the_round_trip_with_and_without_room_behind_them() {
    for value in boundaries() {
        for slack in [0, 1, 20] {
            let mut buffer = vec![0xff; vle_len(value) + slack];
            let mut writer = Writer::new(&mut buffer);
            writer.vle(value).expect("it fits");
            assert_eq!(writer.position(), vle_len(value), "{value}");
            let length = writer.position();
            buffer.truncate(length);
            for padding in [0, 1, 20] {
                let mut input = buffer.clone();
                input.resize(length + padding, 0x80);
                let mut reader = Reader::new(&input);
                assert_eq!(reader.z64(), Ok(value));
                assert_eq!(reader.position(), length);
            }
        }
    }
}

#[test]
fn cut_numbers_are_errors() {
    for value in boundaries() {
        let mut buffer = [0; 9];
        let mut writer = Writer::new(&mut buffer);
        writer.vle(value).expect("nine bytes hold any number");
        let written = writer.written();
        for cut in 0..written.len() {
            let mut reader = Reader::new(&written[..cut]);
            assert!(reader.z64().is_err(), "{value} cut to {cut}");
        }
    }
}

#[test]
fn non_minimal_numbers_are_accepted() {
    assert_eq!(Reader::new(&[0x80, 0x80, 0x00]).z64(), Ok(0));
    assert_eq!(
        Reader::new(&[0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00]).z64(),
        Ok(1)
    );
}

#[test]
fn widths_are_bounded_or_truncating() {
    let input = [0x80, 0x80, 0x04]; // 65536
    assert!(matches!(
        Reader::new(&input).z16(),
        Err(DecodeError::TooLarge {
            value: 65536,
            max: 65535,
            ..
        })
    ));
    assert_eq!(Reader::new(&input).v16(), Ok(0));
    assert_eq!(Reader::new(&input).z32(), Ok(65536));
    assert!(Reader::new(&[0x80, 0x02]).z8().is_err());
    assert_eq!(Reader::new(&[0xff; 9]).v32(), Ok(u32::MAX));
}

#[test]
fn lengths_beyond_the_input_are_errors() {
    assert!(Reader::new(&[3, 1, 2]).bytes_z64().is_err());
    assert!(Reader::new(&[0xff; 9]).bytes_z64().is_err());
    assert!(Reader::new(&[2, 0xc3, 0x28]).str_z64().is_err());
    assert_eq!(Reader::new(&[2, b'o', b'k', 9]).str_z8(), Ok("ok"));
}

#[test]
fn marks_give_the_bytes_between() {
    let mut reader = Reader::new(&[1, 2, 3, 4]);
    let start = reader;
    assert_eq!(reader.take(3), Ok(&[1, 2, 3][..]));
    assert_eq!(reader.since(start), &[1, 2, 3]);
    assert_eq!(start.since(reader), &[] as &[u8]);
    assert_eq!(
        (reader.position(), reader.remaining(), reader.peek()),
        (3, 1, Some(4))
    );
}

#[test]
fn sections_count_positions_in_the_whole_input() {
    let mut reader = Reader::new(&[9, 2, 7, 8, 5]);
    reader.u8().expect("a byte");
    let mut section = reader.section_z32().expect("two bytes");
    assert_eq!((section.position(), section.u8()), (2, Ok(7)));
    assert_eq!(section.rest(), &[8]);
    assert!(matches!(
        section.u8(),
        Err(DecodeError::Truncated { offset: 4, .. })
    ));
    assert_eq!(reader.u8(), Ok(5));
}
