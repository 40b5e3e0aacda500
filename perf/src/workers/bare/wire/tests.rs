// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests: both ends of every protocol that is compiled in read and write at the same time.

use clap::ValueEnum;

use super::*;
use crate::link::Paths;

#[test]
fn every_link_carries_both_ways_at_once() {
    let _paths = Paths;
    let all = Link::value_variants().iter().copied();
    for link in all.filter(|link| is_available(*link)) {
        let settings = link.settings();
        let means = LinkMaterial { settings };
        let place: Place = link.endpoint(0).parse().expect("a place");
        let listener = means.listen(&place).expect("listen");
        let to = listener.place().expect("an address");
        assert_eq!(to.link, link);
        let echo = std::thread::spawn(move || {
            let mut wire = listener.accept().expect("accept");
            let mut writer = wire.writer().expect("a writer");
            let mut block = [0; 100_000];
            while let Ok(n @ 1..) = wire.read(&mut block)
                && writer.write_all(&block[..n]).is_ok()
            {
                if block[..n].ends_with(b"end") {
                    break;
                }
            }
            // kept until all was read: the end of a connection may overtake the data
            (wire, writer)
        });
        let mut wire = means.connect(&to).expect("connect");
        let mut writer = wire.writer().expect("a writer");
        let mut answer = [0; 50_000];
        for round in 0..4_u8 {
            writer.write_all(&[round; 50_000]).expect("write");
            wire.read_exact(&mut answer).expect("read");
            assert!(answer.iter().all(|&byte| byte == round), "{link:?}");
        }
        writer.write_all(b"end").expect("write");
        wire.read_exact(&mut answer[..3]).expect("read");
        drop(echo.join().expect("the other side"));
    }
}

#[test]
fn places_are_read() {
    let place = |text: &str| text.parse::<Place>().map(|place| place.to_string());
    assert_eq!(place("127.0.0.1:7"), Ok("tcp/127.0.0.1:7".into()));
    assert_eq!(place("udp/[::1]:7"), Ok("udp/[::1]:7".into()));
    let beside = |text: &str| {
        text.parse::<Place>()
            .map(|place| place.beside().to_string())
    };
    assert_eq!(beside("ws/127.0.0.1:7"), Ok("ws/127.0.0.1:0".into()));
    #[cfg(unix)]
    assert_eq!(
        beside("unixsock-stream/a"),
        Ok("unixsock-stream/a.back".into())
    );
    for wrong in ["", "nowhere", "smoke/127.0.0.1:7", "tls/7"] {
        assert!(wrong.parse::<Place>().is_err(), "{wrong}");
    }
}
