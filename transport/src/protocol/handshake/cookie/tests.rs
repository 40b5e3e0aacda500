// SPDX-License-Identifier: MIT OR Apache-2.0
//! Round trips of cookies, and changes that invalidate them.

use zonda_codec::Priority;

use super::*;

fn agreement(zid_bytes: usize) -> Agreement {
    Agreement {
        zid: ZenohId::from_le_bytes(&vec![0xa5; zid_bytes]).expect("a valid id"),
        whatami: WhatAmI::Peer,
        resolution: Resolution::from_bits(0x0a),
        batch_size: 49_152,
        qos: true,
        low_latency: zid_bytes % 3 == 1,
        compression: zid_bytes % 5 == 1,
        patch: 1,
        qos_link: (zid_bytes % 7 == 2)
            .then(|| QosLink::new(Some((Priority::RealTime, Priority::Data)), None)),
        multilink: zid_bytes.is_multiple_of(4).then(|| PeerKey {
            n: vec![7; 64].into(),
            e: vec![1, 0, 1].into(),
        }),
        nonce: zid_bytes.is_multiple_of(2).then_some(u64::MAX - 5),
    }
}

#[test]
fn a_cookie_returns_what_was_agreed() {
    let key = CookieKey::new([7; 32]);
    for zid_bytes in 1..=16 {
        let cookie = seal(&key, 9, &[], &agreement(zid_bytes));
        assert!(cookie.len() <= 59 + 69, "{} bytes", cookie.len());
        assert_eq!(unseal(&key, 9, &[], &cookie), Some(agreement(zid_bytes)));
    }
}

#[test]
fn any_change_makes_it_worthless() {
    let key = CookieKey::new([7; 32]);
    let cookie = seal(&key, 9, &[], &agreement(16));
    for bit in 0..cookie.len() * 8 {
        let mut changed = cookie.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(unseal(&key, 9, &[], &changed), None, "bit {bit}");
    }
    for length in 0..cookie.len() {
        assert_eq!(
            unseal(&key, 9, &[], &cookie[..length]),
            None,
            "cut to {length}"
        );
    }
    let longer = [cookie.clone(), vec![0]].concat();
    assert_eq!(unseal(&key, 9, &[], &longer), None);
    assert_eq!(
        unseal(&CookieKey::new([8; 32]), 9, &[], &cookie),
        None,
        "a foreign key"
    );
}

#[test]
fn it_ages_after_one_epoch() {
    let key = CookieKey::new([7; 32]);
    for sealed in [0, 9, u32::MAX] {
        let cookie = seal(&key, sealed, &[], &agreement(4));
        assert!(unseal(&key, sealed, &[], &cookie).is_some());
        assert!(unseal(&key, sealed.wrapping_add(1), &[], &cookie).is_some());
        assert!(unseal(&key, sealed.wrapping_add(2), &[], &cookie).is_none());
        assert!(
            unseal(&key, sealed.wrapping_sub(1), &[], &cookie).is_none(),
            "from the future"
        );
    }
}

#[test]
fn the_key_is_not_printed() {
    assert_eq!(
        format!("{:?}", CookieKey::new([7; 32])),
        "CookieKey(secret)"
    );
}
