// SPDX-License-Identifier: MIT OR Apache-2.0
//! Endpoints of datagrams, and the stream that they are above.

use super::*;

#[test]
fn groups_and_repetition_are_refused_in_one_line() {
    for (text, what) in [
        ("udp/224.0.0.1:7446", "not supported yet"),
        ("udp/[ff02::1]:7446", "not supported yet"),
        ("udp/127.0.0.1:1?rel=1", "not supported yet"),
        ("udp/127.0.0.1", "has no port"),
    ] {
        let endpoint: Endpoint = text.parse().expect("an endpoint");
        let problem = check(&endpoint).expect_err(text).to_string();
        assert!(problem.contains(what), "{text}: {problem}");
        assert!(!problem.contains('\n'), "{text}: {problem}");
    }
    for text in ["udp/127.0.0.1:1", "udp/127.0.0.1:1?rel=0", "udp/[::]:0"] {
        check(&text.parse().expect("an endpoint")).expect(text);
    }
}
