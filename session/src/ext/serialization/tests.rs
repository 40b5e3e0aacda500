// SPDX-License-Identifier: MIT OR Apache-2.0

//! The documented bytes, every kind of value, and bytes that are none.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Debug;

use super::*;

/// Checks that the value becomes these bytes, and that they become the value again.
fn is(value: &(impl Serialize + Deserialize + PartialEq + Debug), hex: &str) {
    let bytes = z_serialize(value);
    let text: Vec<String> = bytes
        .as_slice()
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    assert_eq!(text.concat(), hex.replace(' ', ""), "{value:?}");
    assert_eq!(z_deserialize(&bytes).as_ref(), Ok(value));
}

fn fails<T: Deserialize + Debug>(bytes: &[u8]) {
    let read = z_deserialize::<T>(&ZBytes::from(bytes));
    assert!(read.is_err(), "{bytes:x?} is {read:?}");
}

#[test]
fn values_are_the_documented_bytes() {
    is(&1_234_566i32, "86 d6 12 00");
    is(&-49_245i32, "a3 3f ff ff");
    is(&"test".to_owned(), "04 74 65 73 74");
    let mixed = (500u16, 1234.0f32, "test".to_owned());
    is(&mixed, "f401 00409a44 0474657374");
    let longs = vec![-100i64, 500, 100_000, -20_000_000];
    is(
        &longs,
        "04 9cffffffffffffff f401000000000000 a086010000000000 00d3cefeffffffff",
    );
    let pairs = vec![("s1".to_owned(), 10i16), ("s2".to_owned(), -10_000)];
    is(&pairs, "02 02 7331 0a00 02 7332 f0d8");
    is(&VarInt(300usize), "ac 02");
    is(&VarInt(0usize), "00");
    is(&VarInt(usize::MAX), "ffffffffffffffffff 01");
}

#[test]
fn every_kind_of_value_comes_back() {
    is(&(true, false), "01 00");
    is(&(), "");
    is(&[1u8, 2, 3], "03 01 02 03");
    is(&[(), ()], "02");
    is(&(i8::MIN, u8::MAX), "80 ff");
    is(
        &(1u128, -1i128),
        &format!("01{}{}", "00".repeat(15), "ff".repeat(16)),
    );
    is(&(0.5f64, [f32::MAX]), "000000000000e03f 01 ffff7f7f");
    is(&vec![7u16; 3].into_boxed_slice(), "03 0700 0700 0700");
    is(&BTreeSet::from([2u8, 1]), "02 01 02");
    is(&BTreeMap::from([(1u8, true), (2, false)]), "02 01 01 02 00");
    is(&HashSet::from([5u32]), "01 05000000");
    is(
        &HashMap::from([("k".to_owned(), vec![1u8])]),
        "01 01 6b 01 01",
    );
    let many = (1u8, 2u8, 3u8, 4u8, 5u8, 6u8, 7u8, 8u8);
    is(&(many, many), "0102030405060708 0102030405060708");
    let same = [
        z_serialize("ab"),
        z_serialize(&Cow::Borrowed("ab")),
        z_serialize(&ZBytes::from("ab")),
        z_serialize(&Cow::Borrowed(b"ab".as_slice())),
    ];
    assert!(same.iter().all(|bytes| bytes.as_slice() == b"\x02ab"));
}

#[test]
fn what_is_no_value_is_an_error() {
    fails::<u32>(&[1, 2, 3]);
    fails::<u32>(&[1, 2, 3, 4, 5]);
    fails::<()>(&[0]);
    fails::<bool>(&[2]);
    fails::<String>(&[2, 0xc3, 0x28]);
    fails::<String>(&[5, b'a']);
    fails::<[u8; 2]>(&[3, 1, 2, 3]);
    fails::<VarInt<usize>>(&[0x80; 11]);
    fails::<VarInt<usize>>(&[255, 255, 255, 255, 255, 255, 255, 255, 255, 2]);
}

#[test]
fn a_count_that_is_a_lie_costs_nothing() {
    let mut lie = z_serialize(&VarInt(usize::MAX)).as_slice().to_vec();
    fails::<Vec<u64>>(&lie);
    fails::<Vec<String>>(&lie);
    fails::<Vec<()>>(&lie);
    fails::<HashSet<u8>>(&lie);
    fails::<BTreeMap<String, String>>(&lie);
    lie.push(1);
    let bytes = ZBytes::from(lie);
    let mut deserializer = ZDeserializer::new(&bytes);
    assert!(deserializer.deserialize_iter::<u8>().is_err());
    let large = z_serialize(&(VarInt(1usize << 24), vec![0u8; 1 << 24]));
    fails::<Vec<[f64; 1024]>>(large.as_slice());
    let mut deserializer = ZDeserializer::new(&large);
    let values = deserializer.deserialize_iter::<[f64; 1024]>();
    let values: Vec<_> = values.expect("a count").collect();
    assert!(values.len() < 1 << 12 && matches!(values.last(), Some(Err(_))));
    let bytes = z_serialize(&(VarInt(3usize), 1u8));
    let mut deserializer = ZDeserializer::new(&bytes);
    let mut values = deserializer.deserialize_iter::<u8>().expect("a count");
    assert_eq!((values.next(), values.len()), (Some(Ok(1)), 2));
    assert_eq!(
        (values.next(), values.len()),
        (Some(Err(ZDeserializeError)), 0)
    );
}

#[test]
fn what_is_not_read_of_a_sequence_is_skipped() {
    let mut serializer = ZSerializer::new();
    serializer.serialize_iter([1u16, 2, 3]);
    serializer.serialize("end");
    let bytes = ZBytes::from(serializer);
    let mut deserializer = ZDeserializer::new(&bytes);
    let first = deserializer
        .deserialize_iter::<u16>()
        .expect("a count")
        .next();
    assert_eq!(first, Some(Ok(1)));
    assert_eq!(deserializer.deserialize(), Ok("end".to_owned()));
    assert!(deserializer.done());
}
