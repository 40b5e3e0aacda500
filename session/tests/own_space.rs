// SPDX-License-Identifier: MIT OR Apache-2.0

//! Keys of a session's own connections, as the session itself reads them.

use std::time::Duration;

use serde_json::Value;
use zonda::sample::{Sample, SampleKind};
use zonda::{Config, Session, Wait};

use crate::pair::until;

const SOON: Duration = Duration::from_secs(20);

fn peer() -> Session {
    let config = Config::peer().listen(["tcp/127.0.0.1:0"]);
    zonda::open(config).wait().expect("it opens")
}

fn shown(session: &Session, key: &str) -> Vec<(String, Value)> {
    let replies = session.get(key).wait().expect("open");
    let replies = replies.iter().map(|reply| {
        let sample = reply.into_result().expect("a sample");
        let value = serde_json::from_slice(&sample.payload().to_bytes()).expect("JSON");
        (sample.key_expr().to_string(), value)
    });
    replies.collect()
}

#[test]
fn a_session_reads_its_own_connections() {
    let near = peer();
    let own = format!("@/{}/session/transport/unicast", near.zid());
    assert_eq!(shown(&near, &format!("{own}/**")), []);
    let transports = near.declare_subscriber(format!("{own}/*")).wait().unwrap();
    let links = near.declare_subscriber(format!("{own}/*/link/*"));
    let links = links.wait().unwrap();
    let far = Config::client([near.info().locators()[0].to_string()]);
    let far = zonda::open(far).wait().unwrap();
    let transport = format!("{own}/{}", far.zid());
    let next = |from: &zonda::pubsub::Subscriber| -> Sample {
        from.recv_timeout(SOON).unwrap().expect("an event")
    };
    // A connection comes with its link, and both are there to be read.
    let (came, link) = (next(&transports), next(&links));
    assert_eq!(
        (came.kind(), link.kind()),
        (SampleKind::Put, SampleKind::Put)
    );
    assert_eq!(came.key_expr().as_str(), transport);
    let link_key = link.key_expr().to_string();
    assert!(
        link_key.starts_with(&format!("{transport}/link/")),
        "{link_key}"
    );
    let all = shown(&near, &format!("{own}/**"));
    assert_eq!(all.len(), 2, "{all:?}");
    assert_eq!(all[0].0, transport);
    assert_eq!(all[0].1["zid"], far.zid().to_string());
    assert_eq!(all[0].1["whatami"], "client");
    assert_eq!(all[1].0, link_key);
    assert_eq!(all[1].1["is_streamed"], true);
    assert_eq!(shown(&near, &transport), all[..1]);
    // The other node reads them not.
    assert_eq!(shown(&far, &format!("{own}/**")), []);
    // Both go.
    far.close().wait().unwrap();
    let (went, link) = (next(&transports), next(&links));
    assert_eq!(
        (went.kind(), link.kind()),
        (SampleKind::Delete, SampleKind::Delete)
    );
    assert_eq!(
        (went.key_expr().as_str(), link.key_expr().as_str()),
        (&*transport, &*link_key)
    );
    until("nothing is shown", || {
        shown(&near, &format!("{own}/**")).is_empty()
    });
}

/// The admin space does not list the queryable.
#[test]
fn other_nodes_hear_of_no_queryable() {
    let config = Config::router().with("adminspace/enabled", "true");
    let config = config.listen(["tcp/127.0.0.1:0"]);
    let session = zonda::open(config).wait().unwrap();
    let own = format!("@/{}/session/**", session.zid());
    assert_eq!(shown(&session, &own), []);
    let declared = format!("@/{}/router/queryable/**", session.zid());
    assert_eq!(shown(&session, &declared), []);
}
