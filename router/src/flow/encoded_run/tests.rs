// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sheets with and without room.

use zonda_codec::{Encode, NodeId, Push, PushBody, Put, Qos, Reader, WireExpr};
use zonda_transport::protocol::tx::SHARE_BYTES_MIN;

use super::*;

#[test]
fn a_sheet_holds_all_copies_or_there_is_none() {
    let head = |key| PushHead::new(WireExpr::full(key), Qos::DATA, NodeId::ITSELF);
    for (payload, fits) in [([1; 8].as_slice(), true), (&[1; 2000], false)] {
        let push = Push::new(WireExpr::full("key"), PushBody::Put(Put::new(payload)));
        let bytes = push.to_vec().expect("a form").repeat(30);
        let start = Reader::new(&bytes);
        let mut reader = start;
        let (push, raw) = Push::decode_with_raw(&mut reader).expect("a push");
        let run = PushRun::following(start, &push, raw, reader).expect("they are alike");
        let stencil = head("a").stencil(None, SHARE_BYTES_MIN, &run);
        let mut paper = Vec::new();
        let Some(sheet) = EncodedRun::write(head("a"), &stencil, run.clone(), &mut paper) else {
            assert!(!fits);
            continue;
        };
        assert!(fits && sheet.is_for(&head("a")) && sheet.end.clone().next().is_none());
        assert!(!sheet.is_for(&head("b")));
        let count = run.count() as u64;
        let mut buffer = [0; 1000];
        let mut writer = Writer::new(&mut buffer);
        assert_eq!(sheet.copy(&mut writer), (count, true));
        let one = writer.written().len() / count as usize;
        let mut small = Writer::new(&mut buffer[..one * count as usize - 1]);
        assert_eq!((sheet.copy(&mut small), small.position()), ((0, false), 0));
    }
}
