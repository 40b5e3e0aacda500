// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages that have no wire form: their error differs from that of a buffer that is too small,
//! and no part is written.

use zonda_codec::{
    Declaration, Declare, Encode, EncodeError, Encoding, InitAck, InitExt, Locators, OpenExt,
    OpenSyn, Push, PushBody, Put, Resolution, WhatAmI, WireExpr, Writer, ZenohId,
};

const LONGEST: usize = u16::MAX as usize;

/// Checks that one byte less has a wire form, and that this has none, in a buffer of any size.
#[track_caller]
fn just_too_long(fits: &dyn Encode, exceeds: &dyn Encode) {
    assert!(fits.to_vec().is_ok());
    assert_eq!(exceeds.to_vec(), Err(EncodeError::TooLong));
    let mut room = vec![0; 4 * LONGEST];
    let mut writer = Writer::new(&mut room);
    writer.u8(7).expect("room");
    assert_eq!(exceeds.encode(&mut writer), Err(EncodeError::TooLong));
    assert_eq!(writer.written(), [7], "nothing of it was written");
}

fn push(key: &str) -> Push<'_> {
    Push::new(WireExpr::full(key), PushBody::Put(Put::new(b"x")))
}

#[test]
fn keys_beyond_sixteen_bits() {
    let (fits, exceeds) = ("k".repeat(LONGEST), "k".repeat(LONGEST + 1));
    just_too_long(&push(&fits), &push(&exceeds));
    let subscriber = |key| {
        Declare::new(Declaration::Subscriber {
            id: 1,
            wire_expr: WireExpr::full(key),
        })
    };
    just_too_long(&subscriber(&fits), &subscriber(&exceeds));
}

#[test]
fn a_key_too_long_is_told_even_where_a_shorter_one_would_have_no_room() {
    let key = "k".repeat(LONGEST + 1);
    let mut room = [0; 16];
    assert_eq!(
        push(&key).encode(&mut Writer::new(&mut room)),
        Err(EncodeError::TooLong)
    );
    assert_eq!(
        push("a/longer/key/than/that").encode(&mut Writer::new(&mut room)),
        Err(EncodeError::NoRoom)
    );
}

#[test]
fn schemas_beyond_eight_bits() {
    let bytes = [b's'; 256];
    let put = |schema| {
        let encoding = Encoding {
            id: 3,
            schema: Some(schema),
        };
        Push::new(
            WireExpr::full("k"),
            PushBody::Put(Put {
                encoding,
                ..Put::new(b"x")
            }),
        )
    };
    just_too_long(&put(&bytes[..255]), &put(&bytes));
}

#[test]
fn cookies_beyond_sixteen_bits() {
    let bytes = vec![1; LONGEST + 1];
    let ack = |cookie| InitAck {
        version: 9,
        whatami: WhatAmI::Router,
        zid: ZenohId::random_from(5),
        resolution: Resolution::default(),
        batch_size: 65_535,
        cookie,
        ext: InitExt::default(),
    };
    just_too_long(&ack(&bytes[..LONGEST]), &ack(&bytes));
    let open = |cookie| OpenSyn {
        lease: std::time::Duration::from_secs(10),
        initial_sn: 1,
        cookie,
        ext: OpenExt::default(),
    };
    just_too_long(&open(&bytes[..LONGEST]), &open(&bytes));
}

#[test]
fn locators_beyond_eight_bits() {
    let text = format!("tcp/{}:1", "h".repeat(255));
    let hello = |locators| zonda_codec::Hello {
        version: 9,
        whatami: WhatAmI::Router,
        zid: ZenohId::random_from(5),
        locators,
    };
    just_too_long(
        &hello(Locators::new(&[&text[..255]])),
        &hello(Locators::new(&[&text[..256]])),
    );
}

#[test]
fn payloads_beyond_thirty_two_bits() {
    let mut room = [0; 64];
    let mut writer = Writer::new(&mut room);
    let longest = u32::MAX as usize;
    assert_eq!(Put::new(&[]).encode_head(longest, &mut writer), Ok(()));
    assert_eq!(
        Put::new(&[]).encode_head(longest + 1, &mut writer),
        Err(EncodeError::TooLong)
    );
}
